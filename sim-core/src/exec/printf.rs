//! The formats of `printf` in kernels: those of C, without `%n`.

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
const MAX_FIELD: usize = 4096;

/// Writes formatted text; returns the number of arguments taken. `argument(offset, bytes)` reads
/// from the argument buffer, whose elements are aligned to their size; `string` reads a string.
pub(super) fn format(
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
    let mut rest = format.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(&flag) = rest.peek() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            rest.next();
        }
        let number = |rest: &mut std::iter::Peekable<_>, next: &mut dyn FnMut(u32) -> u64| -> i64 {
            let rest: &mut std::iter::Peekable<std::iter::Copied<std::slice::Iter<'_, u8>>> = rest;
            if rest.peek() == Some(&b'*') {
                rest.next();
                return i64::from(next(4) as i32);
            }
            let mut value = 0i64;
            while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
                value = (value * 10 + i64::from(digit - b'0')).min(MAX_FIELD as i64);
            }
            value
        };
        let width = number(&mut rest, &mut next);
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(MAX_FIELD);
        if rest.next_if_eq(&b'.').is_some() {
            let precision = number(&mut rest, &mut next);
            spec.precision = usize::try_from(precision).ok().map(|precision| precision.min(MAX_FIELD));
        }
        while let Some(modifier) = rest.next_if(|byte| matches!(byte, b'h' | b'l')) {
            spec.long |= modifier == b'l';
            spec.short += u32::from(modifier == b'h');
        }
        let Some(letter) = rest.next() else { break };
        spec.letter = letter;
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
                let mut text =
                    if address == 0 { Some(b"(null)".to_vec()) } else { string(address) }.unwrap_or_default();
                text.truncate(spec.precision.unwrap_or(text.len()));
                pad(out, &spec, &text);
            }
            b'p' => {
                let value = next(8);
                pad(out, &spec, format!("{value:#x}").as_bytes());
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                float(out, &spec, f64::from_bits(next(8)))
            }
            // `%zu` and the like, which a device prints as they are.
            other => out.extend([b'%', other]),
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
        b'x' => format!("{value:x}"),
        b'X' => format!("{value:X}"),
        b'o' => format!("{value:o}"),
        _ => format!("{value}"),
    };
    let digits = match spec.precision {
        Some(0) if value == 0 => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    };
    let prefix = match spec.letter {
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
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
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
    let point = if text.is_empty() { "" } else { "." };
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
            return number(out, spec, &prefix, &case(hexadecimal(magnitude, spec.precision)), true);
        }
        _ => {
            // %g: the shorter of the two, without trailing zeros.
            let precision = precision.max(1);
            let scientific = exponent(magnitude, precision - 1, false);
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
                trim(&format!("{magnitude:.places$}"))
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
        check("%*d|%.*f", &[(6, 4), (1, 4), (1, 4), bits(0.25)], "     1|0.2");
        check("%d %f", &[(1, 4), bits(2.0)], "1 2.000000");
        check("%hhd %hu %zu %Lf", &[(300, 4), (70000, 4)], "44 4464 %zu %Lf");
    }
}
