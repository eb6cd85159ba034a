//! Floats of 16 bits.

/// The f32 of an f16, NaNs with their bits.
#[inline(always)]
pub(super) fn to_single(bits: u16) -> u32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        0 => sign | (fraction as f32 * 2f32.powi(-24)).to_bits(),
        31 => sign | 0x7f80_0000 | fraction << 13,
        _ => sign | (exponent + 112) << 23 | fraction << 13,
    }
}
