//! Values of all lanes: decoded, and weighted sums of them.

use super::super::coordinate::WEIGHT_BITS;
use super::super::filter::{self, Adder};
use super::super::format::Kind;
use super::{Channel, Row, mask};
use semantics::lanes::{FULL, LaneMask, WARP_SIZE};

impl Kind {
    /// Does something with a kind that the compiler knows, so that loops over lanes do not ask.
    #[inline(always)]
    pub(super) fn known<T>(self, body: impl Fn(Kind) -> T) -> T {
        match self {
            Self::Unsigned(1) => body(Self::Unsigned(1)),
            Self::Unsigned(_) => body(Self::Unsigned(2)),
            Self::Signed(1) => body(Self::Signed(1)),
            Self::Signed(_) => body(Self::Signed(2)),
            Self::Half => body(Self::Half),
            // Both are what their bits are.
            Self::Single | Self::Integer(Channel::Unsigned(_) | Channel::Signed(4)) => body(Self::Single),
            kind => body(kind),
        }
    }

    /// What reads give for values alone: as [`Kind::result`].
    #[inline(always)]
    pub(super) fn results(self, values: &Row<u32>) -> Row<u32> {
        self.known(
            #[inline(always)]
            |kind| {
                let mut results = [0; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    results[lane] = kind.result(values[lane]);
                }
                results
            },
        )
    }

    /// What reads give for weighted values, `N` of each level, and the lanes that are done: as [`Kind::filtered`] of plain kinds.
    #[inline(always)]
    pub(super) fn all_filtered<const N: usize, const ALL: usize>(
        self,
        weights: &[Row<u32>; ALL],
        values: &[Row<u32>; ALL],
        results: &mut Row<u32>,
    ) -> LaneMask {
        match self {
            Self::Single => return Adder::SINGLE.all::<N, ALL, true>(weights, values, results),
            Self::Half => return Adder::HALF.all::<N, ALL, false>(weights, values, results),
            _ => {}
        }
        let mut sums = [0i64; WARP_SIZE];
        for (weights, values) in weights.iter().zip(values) {
            for lane in 0..WARP_SIZE {
                sums[lane] += i64::from(weights[lane] as i32 * values[lane] as i32);
            }
        }
        *results = self.known(
            #[inline(always)]
            |kind| {
                let mut results = [0; WARP_SIZE];
                for lane in 0..WARP_SIZE {
                    results[lane] = kind.fraction(sums[lane], WEIGHT_BITS);
                }
                results
            },
        );
        FULL
    }
}

/// What a slice's texels come to: their sum, and the exponent of the largest.
#[derive(Clone, Copy)]
struct Slice {
    sum: f64,
    exponent: i32,
    /// Whether any counts.
    seen: bool,
}

#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Adder {
    /// Sums of weighted floats, rounded to as many digits, and the lanes that are done: neither infinities nor NaN. `N` of them are
    /// of one level. `FLUSHES`: of f32, what is below the normal ones counts as nothing.
    #[inline(always)]
    fn all<const N: usize, const ALL: usize, const FLUSHES: bool>(
        self,
        weights: &[Row<u32>; ALL],
        values: &[Row<u32>; ALL],
        results: &mut Row<u32>,
    ) -> LaneMask {
        // Of two times two texels, as far as there are as many.
        const MOST: usize = 4;
        let digits = self.digits as i32;
        let below = self.guard as i32 + digits - 1;
        // Biased exponents of the smallest normal numbers.
        let smallest = if FLUSHES { 1 } else { 127 + filter::SMALLEST_HALF };
        let mut usual = [true; WARP_SIZE];
        for lane in 0..WARP_SIZE {
            let mut negative = true;
            let mut is_usual = true;
            let mut all = Slice { sum: 0.0, exponent: smallest - 127, seen: false };
            for level in 0..ALL / N {
                let mut slices = [all; 2];
                for (slice, to) in slices.iter_mut().enumerate().take(N.div_ceil(MOST)) {
                    let corners = level * N + MOST * slice..level * N + N.min(MOST * slice + MOST);
                    let mut largest = 0;
                    for corner in corners.clone() {
                        let size = values[corner][lane] & 0x7fff_ffff;
                        is_usual &= size < 0x7f80_0000;
                        let counts = weights[corner][lane] != 0 && (!FLUSHES || size >= 0x0080_0000);
                        largest = largest.max(if counts { size } else { 0 });
                        negative &= weights[corner][lane] == 0 || values[corner][lane] >> 31 != 0;
                    }
                    let exponent = ((largest >> 23) as i32).max(smallest) - 127;
                    let scale = power(below - exponent);
                    let mut sum = 0.0;
                    for corner in corners {
                        let bits = values[corner][lane];
                        let counts = !FLUSHES || bits & 0x7fff_ffff >= 0x0080_0000;
                        let value = f64::from(f32::from_bits(bits));
                        let value = if counts { value } else { 0.0 };
                        sum += (value * scale).trunc() * f64::from(weights[corner][lane]);
                    }
                    // In units of the last bit of weights.
                    let sum = sum * power(exponent - below - WEIGHT_BITS as i32);
                    *to = Slice { sum, exponent, seen: largest != 0 };
                }
                // A volume's slices are added at once, and planes to what was before; no read has both.
                let first = if level == 0 { slices[0] } else { self.added(all, slices[0]) };
                let both = N > MOST;
                all = if both { self.added(first, slices[1]) } else { first };
            }
            let Slice { sum, .. } = all;
            let size = sum.abs();
            let first = (size.to_bits() >> 52) as i32 - 1023;
            let mut last = first - digits + 1;
            if !FLUSHES {
                last = last.max(filter::SMALLEST_HALF - digits + 1);
            }
            let rounded = (size * power(-last) + 0.5).floor() * power(last);
            let rounded = if FLUSHES && rounded < f64::from(f32::MIN_POSITIVE) { 0.0 } else { rounded };
            let rounded = if !FLUSHES && rounded >= 65536.0 { f64::INFINITY } else { rounded };
            let sign = u32::from(if size == 0.0 { negative } else { sum < 0.0 }) << 31;
            let rounded = if size == 0.0 { 0.0 } else { rounded };
            results[lane] = sign | (rounded as f32).to_bits();
            usual[lane] = is_usual;
        }
        mask(|lane| usual[lane])
    }

    /// Two sums as one, each rounded down to the bits that the larger one's exponent leaves.
    #[inline(always)]
    fn added(self, a: Slice, b: Slice) -> Slice {
        let exponent = a.exponent.max(b.exponent);
        let last = self.aligned(exponent);
        let aligned = |slice: Slice| (slice.sum * power(-last)).floor();
        let sum = (aligned(a) + aligned(b)) * power(last);
        // One alone stays as it is.
        let sum = match (a.seen, b.seen) {
            (true, true) => sum,
            (true, false) => a.sum,
            _ => b.sum,
        };
        Slice { sum, exponent, seen: a.seen || b.seen }
    }
}
