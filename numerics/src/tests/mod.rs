//! Tests against independent references: `rustc_apfloat` for floating point, wide integers for the
//! rest. Operands are random and adversarial; the generator is deterministic.

mod certificate;
mod convert;
mod float;
mod integer;
mod matrices;
mod mma;
mod video;

/// SplitMix64.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A bit pattern of a float format, biased toward what breaks rounding: edges of the format,
    /// few significant bits, long runs of ones, exponents near 1 and near the ends.
    pub(super) fn float(&mut self, exponent_bits: u32, fraction_bits: u32) -> u64 {
        let top = (1u64 << exponent_bits) - 1;
        let bias = top >> 1;
        let ones = (1u64 << fraction_bits) - 1;
        let exponent = match self.below(8) {
            0 => 0,
            1 => self.below(4),
            2 => top - self.below(4).min(top),
            3 | 4 => bias.wrapping_add(self.below(9)).wrapping_sub(4) & top,
            5 => (bias / 2).wrapping_add(self.below(9)) & top,
            _ => self.next() & top,
        };
        let fraction = match self.below(7) {
            0 => 0,
            1 => ones,
            2 => 1u64 << self.below(u64::from(fraction_bits)),
            3 => ones ^ (1u64 << self.below(u64::from(fraction_bits))),
            4 => (ones << self.below(u64::from(fraction_bits))) & ones,
            _ => self.next() & ones,
        };
        (self.below(2) << (exponent_bits + fraction_bits)) | exponent << fraction_bits | fraction
    }

    pub(super) fn f64(&mut self) -> u64 {
        self.float(11, 52)
    }

    pub(super) fn f32(&mut self) -> u32 {
        self.float(8, 23) as u32
    }

    pub(super) fn f16(&mut self) -> u16 {
        self.float(5, 10) as u16
    }

    pub(super) fn bf16(&mut self) -> u16 {
        self.float(8, 7) as u16
    }

    /// An integer biased toward the edges of narrower types.
    pub(super) fn int(&mut self) -> u64 {
        let width = self.below(65) as u32;
        let edge = 1u64.checked_shl(width).unwrap_or(0);
        match self.below(6) {
            0 => edge,
            1 => edge.wrapping_sub(1),
            2 => edge.wrapping_neg(),
            3 => edge.wrapping_add(self.below(5)).wrapping_sub(2),
            4 => self.next() & edge.wrapping_sub(1),
            _ => self.next(),
        }
    }
}

/// Panics with the operation, its operands and both results.
#[track_caller]
pub(super) fn same(got: u64, want: u64, what: &str, operands: &[u64]) {
    assert!(got == want, "{what} of {operands:#x?}: got {got:#x}, reference {want:#x}");
}
