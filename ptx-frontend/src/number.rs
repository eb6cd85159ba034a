//! Whole numbers of a text.

/// The low 64 bits of a number. As in ptxas one digit may shift bits out, which [`is_cut`] tells; a further
/// one behind a number with its top bit set may not.
pub(crate) fn whole_number(digits: &str, radix: u32) -> Option<u64> {
    digits.chars().try_fold(0u64, |value, digit| {
        let digit = u64::from(digit.to_digit(radix)?);
        (value >> 63 == 0).then(|| value.wrapping_mul(radix.into()).wrapping_add(digit))
    })
}

/// Whether a number keeps only its low 64 bits.
pub(crate) fn is_cut(word: &str) -> bool {
    let digits = word.strip_suffix('U').unwrap_or(word);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', ..] => (digits, 8),
        _ => (digits, 10),
    };
    let all = !digits.is_empty() && digits.bytes().all(|b| (b as char).is_digit(radix));
    all && u64::from_str_radix(digits, radix).is_err() && whole_number(digits, radix).is_some()
}
