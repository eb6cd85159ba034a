//! The formats of `printf` in kernels: those of C without `%n`, sizes other than `h`, `l` and `ll`, and a
//! precision from an argument (`%.*f`). What a device does not know it prints as it stands.

/// A conversion: what stands between `%` and its letter.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    /// How many `h` stand before the letter.
    short: u32,
    letter: u8,
}

/// Widest field and longest precision that are honoured.
const MAX_FIELD: usize = 1 << 15;

/// Writes formatted text; returns the number of arguments taken. `argument(offset, bytes)` reads
/// from the argument buffer, whose elements are aligned to their size; `string` reads a string.
pub(crate) fn format(
    out: &mut Vec<u8>,
    format: &[u8],
    argument: impl Fn(u64, u32) -> Option<u64>,
    string: impl Fn(u64) -> Option<Vec<u8>>,
) -> u32 {
    let mut offset = 0u64;
    let mut count = 0;
    let mut next = |bytes: u32| {
        offset = offset.next_multiple_of(u64::from(bytes));
        let value = argument(offset, bytes).unwrap_or(0);
        offset += u64::from(bytes);
        count += 1;
        value
    };
    let mut at = 0;
    while let Some(&byte) = format.get(at) {
        let start = at;
        at += 1;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(&flag) = format.get(at) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            at += 1;
        }
        let number = |at: &mut usize| {
            let mut value = 0;
            while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
                value = (value * 10 + usize::from(digit - b'0')).min(MAX_FIELD);
                *at += 1;
            }
            value
        };
        let width_is_given = format.get(at) == Some(&b'*');
        if width_is_given {
            at += 1;
        } else {
            spec.width = number(&mut at);
        }
        if format.get(at) == Some(&b'.') {
            at += 1;
            spec.precision = Some(number(&mut at));
        }
        while let Some(modifier) = format.get(at).filter(|byte| matches!(byte, b'h' | b'l')) {
            spec.long |= *modifier == b'l';
            spec.short += u32::from(*modifier == b'h');
            at += 1;
        }
        let Some(&letter) = format.get(at) else {
            out.extend_from_slice(&format[start..]);
            break;
        };
        at += 1;
        spec.letter = letter;
        if !b"%diuxXocspfFeEgGaA".contains(&letter) {
            out.extend_from_slice(&format[start..at]);
            continue;
        }
        if width_is_given {
            let width = next(4) as i32;
            spec.left |= width < 0;
            spec.width = (width.unsigned_abs() as usize).min(MAX_FIELD);
        }
        match letter {
            b'%' => out.push(b'%'),
            b'd' | b'i' => {
                let value = if spec.long { next(8) as i64 } else { i64::from(next(4) as i32) };
                let value = match spec.short {
                    0 => value,
                    1 => i64::from(value as i16),
                    _ => i64::from(value as i8),
                };
                integer(out, &spec, value < 0, value.unsigned_abs());
            }
            b'u' | b'x' | b'X' | b'o' => {
                let value = if spec.long { next(8) } else { next(4) };
                let value = match spec.short {
                    0 => value,
                    1 => u64::from(value as u16),
                    _ => u64::from(value as u8),
                };
                integer(out, &spec, false, value);
            }
            b'c' => pad(out, &spec, &[next(4) as u8]),
            b's' => {
                let address = next(8);
                let mut text = match address {
                    // The GNU C library shows it as a whole or not at all.
                    0 if spec.precision.is_some_and(|most| most < 6) => Vec::new(),
                    0 => b"(null)".to_vec(),
                    _ => string(address).unwrap_or_default(),
                };
                text.truncate(spec.precision.unwrap_or(text.len()));
                pad(out, &spec, &text);
            }
            b'p' => match next(8) {
                0 => pad(out, &spec, b"(nil)"),
                value => integer(out, &spec, false, value),
            },
            _ => float(out, &spec, f64::from_bits(next(8))),
        }
    }
    count
}

fn pad(out: &mut Vec<u8>, spec: &Spec, text: &[u8]) {
    let fill = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.resize(out.len() + fill, b' ');
    }
    out.extend_from_slice(text);
    if spec.left {
        out.resize(out.len() + fill, b' ');
    }
}

/// Sign and prefix, zeros, digits.
fn number(out: &mut Vec<u8>, spec: &Spec, prefix: &str, digits: &str, zero: bool) {
    let length = prefix.len() + digits.len();
    if zero && spec.zero && !spec.left && length < spec.width {
        let zeros = "0".repeat(spec.width - length);
        pad(out, spec, format!("{prefix}{zeros}{digits}").as_bytes());
    } else {
        pad(out, spec, format!("{prefix}{digits}").as_bytes());
    }
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn integer(out: &mut Vec<u8>, spec: &Spec, negative: bool, value: u64) {
    let digits = match spec.letter {
        b'x' | b'p' => format!("{value:x}"),
        b'X' => format!("{value:X}"),
        b'o' => format!("{value:o}"),
        _ => format!("{value}"),
    };
    let digits = match spec.precision {
        Some(0) if value == 0 => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    };
    let signed_prefix;
    let prefix = match spec.letter {
        b'p' => {
            signed_prefix = format!("{}0x", sign(spec, false));
            &signed_prefix
        }
        b'x' if spec.alternate && value != 0 => "0x",
        b'X' if spec.alternate && value != 0 => "0X",
        b'o' if spec.alternate && !digits.starts_with('0') => "0",
        b'd' | b'i' => sign(spec, negative),
        _ => "",
    };
    number(out, spec, prefix, &digits, spec.precision.is_none());
}

/// `1.5e+03`: digits after the point, and at least two of the exponent.
fn exponent(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{mantissa}{point}e{sign}{digits:0>2}")
}

/// `0x1.8p+1`
fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let bits = value.to_bits();
    let mut fraction = bits & ((1 << 52) - 1);
    let biased = (bits >> 52 & 0x7ff) as i32;
    let (mut lead, mut exponent) = if biased == 0 { (0u64, -1022) } else { (1, biased - 1023) };
    if value == 0.0 {
        exponent = 0;
    }
    let mut digits = 13;
    if let Some(precision) = precision.filter(|&precision| precision < 13) {
        // Round to nearest, ties to even.
        let drop = 4 * (13 - precision as u32);
        let whole = lead << 52 | fraction;
        let half = 1u64 << (drop - 1);
        let low = whole & ((1 << drop) - 1);
        let mut kept = whole >> drop;
        if low > half || low == half && kept & 1 != 0 {
            kept += 1;
        }
        let whole = kept << drop;
        lead = whole >> 52;
        fraction = whole & ((1 << 52) - 1);
        digits = precision;
    }
    let text = format!("{fraction:013x}");
    let text = match precision {
        Some(precision) if precision > 13 => format!("{text:0<precision$}"),
        Some(_) => text[..digits].to_string(),
        None => text.trim_end_matches('0').to_string(),
    };
    let point = if text.is_empty() && !alternate { "" } else { "." };
    format!("{lead}{point}{text}p{exponent:+}")
}

fn float(out: &mut Vec<u8>, spec: &Spec, value: f64) {
    let upper = spec.letter.is_ascii_uppercase();
    let case = |text: String| if upper { text.to_uppercase() } else { text };
    let negative = value.is_sign_negative();
    let prefix = sign(spec, negative);
    let magnitude = value.abs();
    if !value.is_finite() {
        let text = if value.is_nan() { "nan" } else { "inf" };
        return number(out, spec, prefix, &case(text.into()), false);
    }
    let precision = spec.precision.unwrap_or(6);
    let text = match spec.letter.to_ascii_lowercase() {
        b'f' => {
            let point = if spec.alternate && precision == 0 { "." } else { "" };
            format!("{magnitude:.precision$}{point}")
        }
        b'e' => exponent(magnitude, precision, spec.alternate),
        b'a' => {
            let prefix = format!("{prefix}{}", if upper { "0X" } else { "0x" });
            return number(
                out,
                spec,
                &prefix,
                &case(hexadecimal(magnitude, spec.precision, spec.alternate)),
                true,
            );
        }
        _ => {
            // %g: the shorter of the two, without trailing zeros.
            let precision = precision.max(1);
            let scientific = exponent(magnitude, precision - 1, spec.alternate);
            let power: i32 =
                scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
            let trim = |text: &str| -> String {
                if spec.alternate || !text.contains('.') {
                    return text.into();
                }
                text.trim_end_matches('0').trim_end_matches('.').into()
            };
            if magnitude != 0.0 && (power < -4 || power >= precision as i32) {
                let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
                format!("{}e{power}", trim(mantissa))
            } else {
                let places =
                    if magnitude == 0.0 { precision - 1 } else { (precision as i32 - 1 - power) as usize };
                let point = if spec.alternate && places == 0 { "." } else { "" };
                trim(&format!("{magnitude:.places$}{point}"))
            }
        }
    };
    number(out, spec, prefix, &case(text), true);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats with 8-byte arguments packed as CUDA does.
    fn check(text: &str, arguments: &[(u64, u32)], expected: &str) {
        let mut buffer: Vec<u8> = Vec::new();
        for &(value, bytes) in arguments {
            buffer.resize(buffer.len().next_multiple_of(bytes as usize), 0);
            buffer.extend(&value.to_le_bytes()[..bytes as usize]);
        }
        let mut out = Vec::new();
        let read = |at: u64, bytes: u32| {
            let slice = buffer.get(at as usize..at as usize + bytes as usize)?;
            Some(slice.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        let count = format(&mut out, text.as_bytes(), read, |_| Some(b"text".to_vec()));
        assert_eq!(String::from_utf8_lossy(&out), expected);
        assert_eq!(count as usize, arguments.len());
    }

    #[test]
    fn conversions_are_those_of_c() {
        check("%d|%5d|%-5d|%05d|%+d", &[(7, 4), (7, 4), (7, 4), (7, 4), (7, 4)], "7|    7|7    |00007|+7");
        check("%d %u", &[(-3i64 as u64, 4), (-3i64 as u64, 4)], "-3 4294967293");
        check(
            "%lld %llx %#x %o %X",
            &[(u64::MAX, 8), (255, 8), (255, 4), (8, 4), (171, 4)],
            "-1 ff 0xff 10 AB",
        );
        check("%s|%8s|%.2s|%c|%%", &[(1, 8), (1, 8), (1, 8), (65, 4)], "text|    text|te|A|%");
        let bits = |value: f64| (value.to_bits(), 8);
        check(
            "%f %.2f %8.3f %e",
            &[bits(1.5), bits(-2.345), bits(1e3), bits(12345.678)],
            "1.500000 -2.35 1000.000 1.234568e+04",
        );
        check(
            "%g %g %g %g",
            &[bits(0.0001), bits(1e-5), bits(100000.0), bits(1e6)],
            "0.0001 1e-05 100000 1e+06",
        );
        check("%a %.1a %f", &[bits(1.0), bits(1.96875), bits(f64::NAN)], "0x1p+0 0x2.0p+0 nan");
        check("%d %f", &[(1, 4), bits(2.0)], "1 2.000000");
        check("%hhd %hu %zu %Lf", &[(300, 4), (70000, 4)], "44 4464 %zu %Lf");
        check("%*d|%.*f|%-+5y|%", &[(6, 4), (1, 4)], "     1|%.*f|%-+5y|%");
    }

    /// Formats with arguments, and the result and the text of a device.
    #[test]
    fn an_h200_prints_the_same() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/h200/printf.txt");
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut wrong = Vec::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [template, arguments, result, expected] = fields[..] else { panic!("{line}") };
            let (mut buffer, mut strings): (Vec<u8>, Vec<&str>) = Default::default();
            for argument in arguments.split_terminator(' ') {
                let (kind, value) = argument.split_at(2);
                let integer = || value.parse::<i128>().unwrap_or_else(|_| panic!("{line}")) as u64;
                let bits = match kind {
                    "s:" => {
                        strings.push(value);
                        strings.len() as u64
                    }
                    "f:" => value.parse::<f64>().unwrap_or_else(|_| panic!("{line}")).to_bits(),
                    _ => integer(),
                };
                let size = if kind == "d:" { 4 } else { 8 };
                buffer.resize(buffer.len().next_multiple_of(size), 0);
                buffer.extend(&bits.to_le_bytes()[..size]);
            }
            buffer.resize(512, 0);
            let read = |at: u64, bytes: u32| {
                let slice = buffer.get(at as usize..at as usize + bytes as usize)?;
                Some(slice.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
            };
            let string = |at: u64| Some(strings.get(at as usize - 1)?.as_bytes().to_vec());
            let mut out = Vec::new();
            let count = format(&mut out, template.as_bytes(), read, string);
            if (out.escape_ascii().to_string().as_str(), count.to_string().as_str()) != (expected, result) {
                wrong.push(format!("{line}\t{count} {}", out.escape_ascii()));
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    }
}
