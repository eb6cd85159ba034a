//! The formats of `printf` in kernels: those of C without `%n`, sizes other than `h`, `l` and `ll`, and a
//! precision from an argument (`%.*f`).

/// A conversion: what stands between `%` and its letter.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    /// The width is an argument.
    given_width: bool,
    precision: Option<usize>,
    /// The precision is an argument.
    given_precision: bool,
    /// Bytes of an integer, 4 or 8.
    long: bool,
    /// A float of more than 8 bytes, which nobody passes.
    extended: bool,
    /// How many `h` stand before the letter.
    short: u32,
    letter: u8,
    /// Whether a device takes an argument for it, or writes a percent sign.
    known: bool,
    /// Whether the C library on the host does.
    in_c: bool,
}

/// Widest field and longest precision that are honoured.
const MAX_FIELD: usize = 1 << 15;

/// Conversions that a device knows, with sizes `h`, `l` and `ll`, and those that the C library knows besides.
const LETTERS: &[u8] = b"%diuxXocspfFeEgGaA";
const LETTERS_IN_C: &[u8] = b"CSnmbB";

impl Spec {
    /// Reads a conversion behind its percent sign; where it ends.
    fn read(format: &[u8], mut at: usize) -> (Spec, usize) {
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
        let star = |at: &mut usize| {
            let star = format.get(*at) == Some(&b'*');
            *at += usize::from(star);
            star
        };
        spec.given_width = star(&mut at);
        if !spec.given_width {
            spec.width = number(&mut at);
        }
        if format.get(at) == Some(&b'.') {
            at += 1;
            spec.given_precision = star(&mut at);
            if !spec.given_precision {
                spec.precision = Some(number(&mut at));
            }
        }
        let sizes: [&[u8]; 11] = [b"hh", b"h", b"ll", b"l", b"q", b"L", b"Z", b"z", b"j", b"t", b""];
        let size = sizes.into_iter().find(|size| format[at.min(format.len())..].starts_with(size));
        let size = size.unwrap_or_default();
        at += size.len();
        let Some(&letter) = format.get(at) else { return (spec, at) };
        spec.letter = letter;
        spec.short = size.iter().filter(|&&byte| byte == b'h').count() as u32;
        spec.long = !size.is_empty() && spec.short == 0;
        spec.extended = matches!(size, b"ll" | b"L" | b"q") && spec.is_float();
        let own = matches!(size, b"" | b"h" | b"hh" | b"l" | b"ll");
        spec.known = own && !spec.given_precision && LETTERS.contains(&letter);
        spec.in_c = LETTERS.contains(&letter) || LETTERS_IN_C.contains(&letter);
        (spec, at + 1)
    }

    fn is_float(&self) -> bool {
        b"fFeEgGaA".contains(&self.letter)
    }

    /// Bytes of its argument.
    fn bytes(&self) -> u32 {
        match self.letter {
            b'%' => 0,
            b's' | b'p' => 8,
            _ if self.is_float() || self.long => 8,
            _ => 4,
        }
    }

    fn set_width(&mut self, width: i32) {
        self.left |= width < 0;
        self.width = (width.unsigned_abs() as usize).min(MAX_FIELD);
    }

    /// Writes the value.
    fn write(&self, out: &mut Vec<u8>, value: u64, string: &impl Fn(u64) -> Option<Vec<u8>>) {
        match self.letter {
            b'%' => out.push(b'%'),
            b'd' | b'i' => {
                let value = if self.long { value as i64 } else { i64::from(value as i32) };
                let value = match self.short {
                    0 => value,
                    1 => i64::from(value as i16),
                    _ => i64::from(value as i8),
                };
                integer(out, self, value < 0, value.unsigned_abs());
            }
            b'u' | b'x' | b'X' | b'o' => {
                let value = match self.short {
                    0 if self.long => value,
                    0 => value & u64::from(u32::MAX),
                    1 => u64::from(value as u16),
                    _ => u64::from(value as u8),
                };
                integer(out, self, false, value);
            }
            b'c' | b'C' => pad(out, self, &[value as u8]),
            b's' | b'S' => {
                let mut text = match value {
                    // The GNU C library shows it as a whole or not at all.
                    0 if self.precision.is_some_and(|most| most < 6) => Vec::new(),
                    0 => b"(null)".to_vec(),
                    _ => string(value).unwrap_or_default(),
                };
                text.truncate(self.precision.unwrap_or(text.len()));
                pad(out, self, &text);
            }
            b'p' => match value {
                0 => pad(out, self, b"(nil)"),
                value => integer(out, self, false, value),
            },
            _ if self.is_float() => float(out, self, f64::from_bits(value)),
            _ => {}
        }
    }
}

/// Writes formatted text; returns the number of arguments taken. `argument(offset, bytes)` reads
/// from the argument buffer, whose elements are aligned to their size; `string` reads a string.
///
/// A device takes arguments for the conversions that it knows, and has the C library write each of them with all that stands
/// before it. So what it does not know takes an argument there: the first such integer or float has the one of the known
/// conversion, the others print what happens to lie in a register, here zero. Behind the last known one the text stays as it is.
pub(crate) fn format(
    out: &mut Vec<u8>,
    format: &[u8],
    argument: impl Fn(u64, u32) -> Option<u64>,
    string: impl Fn(u64) -> Option<Vec<u8>>,
) -> u32 {
    let mut offset = 0u64;
    let mut next = |bytes: u32| {
        offset = offset.next_multiple_of(u64::from(bytes));
        let value = argument(offset, bytes).unwrap_or(0);
        offset += u64::from(bytes);
        value
    };
    let (mut count, mut start, mut at) = (0, 0, 0);
    while at < format.len() {
        let begins = format[at] == b'%';
        at += 1;
        if !begins {
            continue;
        }
        let (spec, end) = Spec::read(format, at);
        if !spec.known {
            continue;
        }
        let bytes = spec.bytes();
        let width = (spec.given_width && bytes > 0).then(|| next(4) as i32);
        let value = if bytes > 0 { next(bytes) } else { 0 };
        count += u32::from(width.is_some()) + u32::from(bytes > 0);
        piece(out, &format[start..end], width, (value, &spec), &string);
        (start, at) = (end, end);
    }
    out.extend_from_slice(&format[start..]);
    count
}

/// Text up to a known conversion, as the C library writes it with that one's arguments.
fn piece(
    out: &mut Vec<u8>,
    text: &[u8],
    width: Option<i32>,
    (value, known): (u64, &Spec),
    string: &impl Fn(u64) -> Option<Vec<u8>>,
) {
    let is_float = known.is_float();
    // What is passed in registers of integers, and of floats.
    let integers = width.map(|width| width as u64).into_iter().chain((!is_float).then_some(value));
    let (mut integers, mut floats) = (integers, is_float.then_some(value).into_iter());
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'%' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let (mut spec, end) = Spec::read(text, at + 1);
        at = end;
        if !spec.in_c {
            unknown(out, &spec);
            continue;
        }
        if spec.given_width {
            spec.set_width(integers.next().unwrap_or(0) as i32);
        }
        if spec.given_precision {
            spec.precision = usize::try_from(integers.next().unwrap_or(0) as i32).ok();
            spec.precision = spec.precision.map(|precision| precision.min(MAX_FIELD));
        }
        let value = match spec.letter {
            b'%' | b'm' => 0,
            // An H200's host finds no number on its stack.
            _ if spec.extended => (-f64::NAN).to_bits(),
            _ if spec.is_float() => floats.next().unwrap_or(0),
            _ => integers.next().unwrap_or(0),
        };
        spec.write(out, value, string);
    }
}

/// What the C library writes for what it does not know: the conversion, put together again.
fn unknown(out: &mut Vec<u8>, spec: &Spec) {
    out.push(b'%');
    let flags = [
        (spec.alternate, b'#'),
        (spec.plus, b'+'),
        (spec.space && !spec.plus, b' '),
        (spec.left, b'-'),
        (spec.zero && !spec.left, b'0'),
    ];
    out.extend(flags.into_iter().filter_map(|(set, flag)| set.then_some(flag)));
    if spec.width > 0 {
        out.extend(spec.width.to_string().bytes());
    }
    if let Some(precision) = spec.precision {
        out.extend(format!(".{precision}").bytes());
    }
    out.push(spec.letter);
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
        // What only the C library knows takes the argument of the next conversion; what lies behind it is anybody's guess.
        check("%zu|%d", &[(5, 4)], "5|0");
        check("%.3f %zu %f %jd", &[bits(1.5), bits(2.5)], "1.500 0 2.500000 %jd");
        check("%.*f|%f %Lf|%d %hhhd", &[bits(1.5), (7, 4)], "2|0.000000 -nan|7 %hhhd");
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
