//! Keeping the device's compiler from fusing products and sums.
//!
//! The PTX manual lets an optimiser contract a multiplication and an addition without rounding modifiers into one
//! `fma`, and ptxas does. Which ones, it does not say; the simulator never does. `.rn`, which is what the absence of
//! a modifier means otherwise, forbids it.

use std::borrow::Cow;

/// The text with `.rn` in every floating-point `add`, `sub` and `mul` that has no rounding modifier; borrowed if there
/// is none.
///
/// ```
/// assert_eq!(device::without_contraction("mul.ftz.f32 %a, %b, %c;"), "mul.rn.ftz.f32 %a, %b, %c;");
/// assert_eq!(device::without_contraction("add.u32 x, y, z;"), "add.u32 x, y, z;");
/// ```
pub fn without_contraction(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end =
            bytes[at..].iter().position(|&byte| !is_word(byte)).map_or(bytes.len(), |length| at + length);
        // Bytes of a word are ASCII, so these are character boundaries.
        if may_be_contracted(&text[at..end]) {
            out.push_str(&text[copied..at + 3]);
            out.push_str(".rn");
            copied = at + 3;
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn may_be_contracted(word: &str) -> bool {
    let mut parts = word.split('.');
    let root = parts.next();
    let float = matches!(
        word.rsplit('.').next(),
        Some("f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f32x2" | "f64")
    );
    matches!(root, Some("add" | "sub" | "mul"))
        && float
        && parts.all(|part| !matches!(part, "rn" | "rz" | "rm" | "rp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_contracted_is_changed() {
        for (text, expected) in [
            ("add.f32 a, b, c;\nsub.f64 d, e, f;", "add.rn.f32 a, b, c;\nsub.rn.f64 d, e, f;"),
            ("@%p mul.sat.f32 a,b,c;", "@%p mul.rn.sat.f32 a,b,c;"),
            ("add.f16x2 a,b,c;sub.bf16 a,b,c;", "add.rn.f16x2 a,b,c;sub.rn.bf16 a,b,c;"),
            ("{add.f16 %0,%1,%2;\n}", "{add.rn.f16 %0,%1,%2;\n}"),
        ] {
            assert_eq!(without_contraction(text), expected);
        }
        for text in [
            "mul.rn.f32 a, b, c;",
            "add.rz.ftz.f32 a, b, c;",
            "fma.rn.f32 a, b, c, d;",
            "mul.wide.u32 a, b, c; mul.lo.s32 a, b, c; add.cc.u32 a, b, c;",
            "red.global.add.f32 [a], b; atom.add.f64 a, [b], c;",
            "mov.f32 add, mul; // é",
            "",
        ] {
            assert!(matches!(without_contraction(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
