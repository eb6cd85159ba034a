//! Element types of buffers and scalars: parsing, printing and comparing single values.
//!
//! A value is its bits in a `u64`, little end first, whatever its type.

use half::{bf16, f16};

use super::ArrayError;
use crate::names::closest;

macro_rules! elements {
    ($($name:ident $text:literal $bytes:literal $npy:literal $($alias:literal)*;)*) => {
        /// The type of a scalar or of one element of a buffer.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Element {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Element {
            /// All types.
            pub const ALL: &'static [Element] = &[$(Element::$name),*];

            /// The name shown.
            pub const fn name(self) -> &'static str {
                match self { $(Element::$name => $text,)* }
            }

            /// The type of this name; PTX's names (`s32`, `b32`) are accepted beside numpy's.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text $(| $alias)* => Some(Element::$name),)* _ => None }
            }

            /// Size in bytes.
            pub const fn bytes(self) -> usize {
                match self { $(Element::$name => $bytes,)* }
            }

            /// The type code of the `.npy` format.
            pub const fn npy(self) -> &'static str {
                match self { $(Element::$name => $npy,)* }
            }
        }
    };
}

elements! {
    U8 "u8" 1 "|u1" "b8" "uint8" "bool";
    U16 "u16" 2 "<u2" "b16" "uint16";
    U32 "u32" 4 "<u4" "b32" "uint32";
    U64 "u64" 8 "<u8" "b64" "uint64";
    I8 "i8" 1 "|i1" "s8" "int8";
    I16 "i16" 2 "<i2" "s16" "int16";
    I32 "i32" 4 "<i4" "s32" "int32";
    I64 "i64" 8 "<i8" "s64" "int64";
    F16 "f16" 2 "<f2" "float16";
    Bf16 "bf16" 2 "<V2" "bfloat16";
    F32 "f32" 4 "<f4" "float32";
    F64 "f64" 8 "<f8" "float64";
    E4m3 "e4m3" 1 "|V1";
    E5m2 "e5m2" 1 "|V1";
}

impl Element {
    /// Whether values are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64 | Self::E4m3 | Self::E5m2)
    }

    /// Whether values are signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    pub(crate) const fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }

    /// The bits that values of this type occupy.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Least and greatest integer of an integer type.
    pub const fn range(self) -> (i128, i128) {
        match self.is_signed() {
            true => (-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1),
            false => (0, self.mask() as i128),
        }
    }

    /// Parses one number.
    ///
    /// Integers: decimal, `0x`, `0o`, `0b`, with `_` between digits. Floats: decimal, `inf`, `nan`,
    /// and `0x…` for the bits themselves.
    ///
    /// # Errors
    /// [`ArrayError::Value`]: it is no number of this type.
    pub fn parse(self, text: &str) -> Result<u64, ArrayError> {
        let wrong = || ArrayError::Value(format!("`{text}` is not a number of type {}", self.name()));
        if self.is_float() && !is_prefixed(text) {
            let plain = text.replace('_', "");
            // `f32` is parsed as such: by way of f64 it would be rounded twice.
            let bits = match self {
                Self::F32 => plain.parse::<f32>().map_err(|_| wrong())?.to_bits().into(),
                _ => self.encode_f64(plain.parse().map_err(|_| wrong())?),
            };
            return match !self.to_f64(bits).is_finite() && text.contains(|c: char| c.is_ascii_digit()) {
                true => Err(ArrayError::Value(format!("`{text}` is too large for {}", self.name()))),
                false => Ok(bits),
            };
        }
        let value = parse_integer(text).ok_or_else(wrong)?;
        let (low, high) = if self.is_float() { (0, self.mask() as i128) } else { self.range() };
        if value < low || value > high {
            let message = format!("`{text}` does not fit {}, which holds {low} to {high}", self.name());
            return Err(ArrayError::Value(message));
        }
        Ok(value as u64 & self.mask())
    }

    /// The value nearest to `value`; integers are truncated and saturate.
    pub fn encode_f64(self, value: f64) -> u64 {
        match self {
            Self::F16 => f16::from_f64(value).to_bits().into(),
            Self::Bf16 => bf16::from_f64(value).to_bits().into(),
            Self::F32 => (value as f32).to_bits().into(),
            Self::F64 => value.to_bits(),
            Self::E4m3 | Self::E5m2 => self.encode_fp8(value),
            _ => {
                let (low, high) = self.range();
                (value as i128).clamp(low, high) as u64 & self.mask()
            }
        }
    }

    /// The integer as a value: modulo the size for integer types, rounded for floats.
    pub fn encode_integer(self, value: i128) -> u64 {
        if self.is_float() { self.encode_f64(value as f64) } else { value as u64 & self.mask() }
    }

    /// The integer that the bits stand for.
    pub fn to_integer(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        if self.is_signed() && bits >> (self.bits() - 1) == 1 {
            bits as i128 - (1 << self.bits())
        } else {
            bits as i128
        }
    }

    /// The value as f64; 64-bit integers are rounded.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::F64 => f64::from_bits(bits),
            Self::E5m2 => f16::from_bits((bits as u16) << 8).to_f64(),
            Self::E4m3 => {
                let (exponent, mantissa) = ((bits >> 3 & 0xf) as i32, (bits & 7) as f64);
                let magnitude = match (exponent, bits & 7) {
                    (15, 7) => f64::NAN,
                    (0, _) => mantissa * 2f64.powi(-9),
                    _ => (8.0 + mantissa) * 2f64.powi(exponent - 10),
                };
                if bits & 0x80 != 0 { -magnitude } else { magnitude }
            }
            _ => self.to_integer(bits) as f64,
        }
    }

    /// Nearest of the 127 magnitudes, ties to the even code; beyond the largest finite one it
    /// is infinity, or NaN where there is no infinity.
    fn encode_fp8(self, value: f64) -> u64 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let special = if self == Self::E4m3 { 0x7f } else { 0x7c };
        if value.is_nan() {
            return 0x7f;
        }
        let magnitude = value.abs();
        let finite = 0..special;
        let top = self.to_f64(special - 1);
        let step = top - self.to_f64(special - 2);
        if magnitude >= top + step / 2.0 {
            return sign | special;
        }
        let distance = |code: u64| (self.to_f64(code) - magnitude).abs();
        let nearest = finite.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
        sign | nearest.unwrap_or(0)
    }

    /// The value as text: the shortest decimal that gives the same bits back.
    pub fn show(self, bits: u64) -> String {
        match self {
            Self::F32 => format!("{:?}", f32::from_bits(bits as u32)),
            Self::F16 => format!("{:?}", f16::from_bits(bits as u16)),
            Self::Bf16 => format!("{:?}", bf16::from_bits(bits as u16)),
            _ if self.is_float() => format!("{:?}", self.to_f64(bits)),
            _ => self.to_integer(bits).to_string(),
        }
    }

    /// The bits as `0x…` with all digits.
    pub fn hex(self, bits: u64) -> String {
        format!("0x{:0width$x}", bits & self.mask(), width = self.bytes() * 2)
    }

    /// Whether the bits are a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        self.is_float() && self.to_f64(bits).is_nan()
    }

    /// How many representable values lie between two: units in the last place for floats (-0 is
    /// one below +0), the difference for integers. A NaN is `u64::MAX` from everything but a NaN.
    pub fn distance(self, a: u64, b: u64) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => return 0,
            (false, false) => {}
            _ => return u64::MAX,
        }
        let ordered = |bits: u64| {
            if !self.is_float() {
                return self.to_integer(bits);
            }
            let magnitude = (bits & (self.mask() >> 1)) as i128;
            if bits >> (self.bits() - 1) & 1 == 1 { -1 - magnitude } else { magnitude }
        };
        u64::try_from((ordered(a) - ordered(b)).unsigned_abs()).unwrap_or(u64::MAX)
    }

    /// Reads element `at` of packed little-endian bytes.
    ///
    /// # Panics
    /// If the bytes end before it.
    pub fn get(self, bytes: &[u8], at: usize) -> u64 {
        let size = self.bytes();
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[at * size..][..size]);
        u64::from_le_bytes(word)
    }

    /// Appends a value to packed little-endian bytes.
    pub fn push(self, bytes: &mut Vec<u8>, bits: u64) {
        bytes.extend_from_slice(&bits.to_le_bytes()[..self.bytes()]);
    }
}

/// An element type by name, with a suggestion for names of other languages.
///
/// # Errors
/// [`ArrayError::Value`]
pub fn parse_element(name: &str) -> Result<Element, ArrayError> {
    Element::from_name(name).ok_or_else(|| {
        let c_names = [
            ("char", "i8"),
            ("short", "i16"),
            ("int", "i32"),
            ("unsigned", "u32"),
            ("uint", "u32"),
            ("long", "i64"),
            ("size_t", "u64"),
            ("half", "f16"),
            ("float", "f32"),
            ("double", "f64"),
        ];
        let names = Element::ALL.iter().map(|element| element.name());
        let known = c_names.iter().find(|(c, _)| *c == name).map(|&(_, ours)| ours);
        let hint = match known.or_else(|| closest(name, names.clone())) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("the types are {}", names.collect::<Vec<_>>().join(", ")),
        };
        ArrayError::Value(format!("unknown type `{name}`; {hint}"))
    })
}

fn is_prefixed(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']).as_bytes();
    digits.len() > 1 && digits[0] == b'0' && matches!(digits[1], b'x' | b'X' | b'b' | b'B' | b'o' | b'O')
}

/// An integer literal: decimal, `0x`, `0o` or `0b`, with a sign and `_` between digits.
pub fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits),
    };
    // The first character keeps out a second sign, which `from_str_radix` would take.
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn element() -> impl Strategy<Value = Element> {
        proptest::sample::select(Element::ALL)
    }

    proptest! {
        /// What is shown parses to the same bits (NaNs to a NaN).
        #[test]
        fn show_and_parse_agree(element in element(), bits: u64) {
            let bits = bits & element.mask();
            let back = element.parse(&element.show(bits)).unwrap();
            prop_assert!(back == bits || element.is_nan(bits) && element.is_nan(back), "{}", element.show(bits));
        }

        #[test]
        fn hex_parses_for_unsigned_and_floats(element in element(), bits: u64) {
            prop_assume!(!element.is_signed());
            let bits = bits & element.mask();
            prop_assert_eq!(element.parse(&element.hex(bits)).unwrap(), bits);
        }

        #[test]
        fn distance_is_symmetric(element in element(), a: u64, b: u64) {
            let (a, b) = (a & element.mask(), b & element.mask());
            prop_assert_eq!(element.distance(a, b), element.distance(b, a));
            prop_assert_eq!(element.distance(a, a), 0);
        }

        #[test]
        fn no_text_panics(element in element(), text: String) {
            let _ = element.parse(&text);
        }
    }

    #[test]
    fn names_are_found() {
        for &element in Element::ALL {
            assert_eq!(Element::from_name(element.name()), Some(element));
        }
        assert_eq!(Element::from_name("s32"), Some(Element::I32));
        assert_eq!(Element::from_name("int"), None);
    }

    #[test]
    fn integers_are_checked_for_range() {
        assert_eq!(Element::I8.parse("-128").unwrap(), 0x80);
        assert!(Element::I8.parse("128").is_err());
        assert!(Element::U32.parse("-1").is_err());
        assert_eq!(Element::U32.parse("0xffff_ffff").unwrap(), 0xffff_ffff);
        assert_eq!(Element::U64.parse("18446744073709551615").unwrap(), u64::MAX);
        assert!(Element::U64.parse("--1").is_err());
        assert!(Element::U64.parse("0x-1").is_err());
    }

    #[test]
    fn floats_are_rounded_once() {
        assert_eq!(Element::F32.parse("0.1").unwrap(), u64::from(0.1f32.to_bits()));
        assert_eq!(Element::F16.parse("65504").unwrap(), 0x7bff);
        assert!(Element::F16.parse("70000").is_err());
        assert_eq!(Element::F32.parse("-inf").unwrap(), 0xff80_0000);
        assert_eq!(Element::Bf16.parse("0x3f80").unwrap(), 0x3f80);
    }

    #[test]
    fn fp8_follows_the_formats() {
        assert_eq!(Element::E4m3.to_f64(0x7e), 448.0);
        assert_eq!(Element::E4m3.to_f64(0x01), 2f64.powi(-9));
        assert_eq!(Element::E5m2.to_f64(0x7b), 57344.0);
        assert_eq!(Element::E4m3.parse("-1.5").unwrap(), 0xbc);
        // 17 lies between 16 and 18: the even code wins.
        assert_eq!(Element::E4m3.to_f64(Element::E4m3.encode_f64(17.0)), 16.0);
        assert!(Element::E4m3.parse("1000").is_err());
    }

    #[test]
    fn zeros_of_both_signs_are_one_apart() {
        assert_eq!(Element::F32.distance(0, 0x8000_0000), 1);
        assert_eq!(Element::F32.distance(0x3f80_0000, 0x3f80_0002), 2);
        assert_eq!(Element::I32.distance(0xffff_ffff, 1), 2);
        assert_eq!(Element::F32.distance(0x7fc0_0000, 0), u64::MAX);
    }
}
