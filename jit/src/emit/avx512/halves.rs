//! Floats of 16 bits by way of floats of 32, for processors that do not compute with them.

use super::*;
use crate::liveness::sources;
use isa::Rounding;
use semantics::formula::{Formula, Half, Halves};
use semantics::lanes::Operands;

/// Registers besides the result's.
pub(super) const SPARE: usize = 4;

const SIGNS: u32 = 0x8000_8000;
const UPPER: u32 = 0xffff_0000;
/// What is no number, in both halves.
const NAN: u32 = 0x7fff_7fff;

impl Emitter<'_> {
    /// A line of pairs.
    pub(super) fn pairs(
        &mut self,
        op: Halves,
        half: Half,
        o: &Operands,
        number: u32,
        to: usize,
        spare: [usize; SPARE],
    ) -> Done {
        let mut from = [0; 3];
        for (at, (slot, width)) in sources(Formula::Halves(op, half), o).enumerate() {
            from[at] = self.fetch(slot, width, number)?;
        }
        match op {
            Halves::Negate | Halves::Magnitude => {
                self.not_numbers(half, from[0])?;
                let signs = self.constant(SIGNS);
                match op {
                    Halves::Negate => self.a.vpxord(Z[to], Z[from[0]], signs)?,
                    _ => {
                        self.broadcast(SIGNS, S0)?;
                        self.a.vpandnd(Z[to], Z[S0], Z[from[0]])?;
                    }
                }
                self.set_nan(to)
            }
            Halves::Minimum(nan) | Halves::Maximum(nan) => {
                self.extreme(op, nan, half, [from[0], from[1]], to, spare)
            }
            _ if half == Half::F16 && is_x86_feature_detected!("avx512fp16") => {
                let [a, b, c] = from;
                match op {
                    Halves::Add => self.a.vaddph(Z[to], Z[a], Z[b])?,
                    Halves::Subtract => self.a.vsubph(Z[to], Z[a], Z[b])?,
                    Halves::Multiply => self.a.vmulph(Z[to], Z[a], Z[b])?,
                    Halves::MultiplyAdd(minus) => {
                        self.a.vmovdqa64(Z[to], Z[a])?;
                        match minus {
                            [false, false] => self.a.vfmadd213ph(Z[to], Z[b], Z[c])?,
                            [false, true] => self.a.vfmsub213ph(Z[to], Z[b], Z[c])?,
                            [true, false] => self.a.vfnmadd213ph(Z[to], Z[b], Z[c])?,
                            [true, true] => self.a.vfnmsub213ph(Z[to], Z[b], Z[c])?,
                        }
                    }
                    Halves::Minimum(_) | Halves::Maximum(_) | Halves::Negate | Halves::Magnitude => {}
                }
                self.a.vcmpph(k7, Z[to], Z[to], 3)?;
                self.set_nan(to)
            }
            _ => {
                let [other, a, b, c] = spare;
                for (part, result) in [to, other].into_iter().enumerate() {
                    for (from, to) in from.into_iter().zip([a, b, c]) {
                        self.wide(half, part == 1, from, to)?;
                    }
                    self.wide_result(op, half, [a, b, c], result)?;
                    self.narrowed(half, part == 1, result)?;
                }
                match half {
                    Half::F16 => self.a.vinserti64x4(Z[to], Z[to], Y[other], 1),
                    Half::Bf16 => self.a.vpord(Z[to], Z[to], Z[other]),
                }
            }
        }
    }

    /// One half of each pair as a word where the pairs of `.bf16` are, one half of the pairs where those of `.f16` are.
    fn wide(&mut self, half: Half, upper: bool, from: usize, to: usize) -> Done {
        match (half, upper) {
            (Half::F16, false) => self.a.vcvtph2ps(Z[to], Y[from]),
            (Half::F16, true) => {
                self.a.vextracti64x4(Y[to], Z[from], 1)?;
                self.a.vcvtph2ps(Z[to], Y[to])
            }
            (Half::Bf16, false) => self.a.vpslld(Z[to], Z[from], 16),
            (Half::Bf16, true) => {
                let upper = self.constant(UPPER);
                self.a.vpandd(Z[to], Z[from], upper)
            }
        }
    }

    /// A result from which rounding it once more gives what rounding the exact one would: a word has twice the bits of a half
    /// and two, which is enough but for products of two `.bf16`, which may be subnormal, and with sums.
    fn wide_result(&mut self, op: Halves, half: Half, [a, b, c]: [usize; 3], to: usize) -> Done {
        match (op, half) {
            (Halves::Add, _) => return self.a.vaddps(Z[to], Z[a], Z[b]),
            (Halves::Subtract, _) => return self.a.vsubps(Z[to], Z[a], Z[b]),
            (Halves::Multiply, Half::F16) => return self.a.vmulps(Z[to], Z[a], Z[b]),
            _ => {}
        }
        // Rounded to odd: of the two words that it lies between the one whose last bit is set.
        for (to, rounding) in [(S0, Rounding::Rm), (to, Rounding::Rp)] {
            let last = compute::rounding_as(Z[if op == Halves::Multiply { b } else { c }], rounding);
            if op != Halves::Multiply {
                self.a.vmovdqa64(Z[to], Z[a])?;
            }
            match op {
                Halves::MultiplyAdd([false, false]) => self.a.vfmadd213ps(Z[to], Z[b], last)?,
                Halves::MultiplyAdd([false, true]) => self.a.vfmsub213ps(Z[to], Z[b], last)?,
                Halves::MultiplyAdd([true, false]) => self.a.vfnmadd213ps(Z[to], Z[b], last)?,
                Halves::MultiplyAdd([true, true]) => self.a.vfnmsub213ps(Z[to], Z[b], last)?,
                _ => self.a.vmulps(Z[to], Z[a], last)?,
            }
        }
        self.a.vptestmd(k7, Z[S0], dword_bcst(at(word(context::BIT))))?;
        self.a.vmovdqa32(Z[to].k7(), Z[S0])
    }

    /// Words as halves where [`Emitter::wide`] took them from, and zeros beside those of `.bf16`.
    fn narrowed(&mut self, half: Half, upper: bool, from: usize) -> Done {
        self.a.vcmpps(k7, Z[from], Z[from], 3)?;
        match half {
            Half::F16 => {
                let nan = self.pooled([0x7fff_e000; 16]);
                self.a.vpbroadcastd(Z[from].k7(), dword_ptr(nan))?;
                self.a.vcvtps2ph(Y[from], Z[from], 0)
            }
            Half::Bf16 => {
                let nan = self.pooled([0x7fff_0000; 16]);
                self.a.vpbroadcastd(Z[from].k7(), dword_ptr(nan))?;
                self.rounded_to_bf16(from, from)?;
                match upper {
                    false => self.a.vpsrld(Z[from], Z[from], 16),
                    true => {
                        let upper = self.constant(UPPER);
                        self.a.vpandd(Z[from], Z[from], upper)
                    }
                }
            }
        }
    }

    /// Words whose upper halves are rounded to nearest.
    pub(super) fn rounded_to_bf16(&mut self, from: usize, to: usize) -> Done {
        // Half of the last place that stays, less one bit where that is even.
        self.a.vpsrld(Z[S0], Z[from], 16)?;
        self.a.vpandd(Z[S0], Z[S0], dword_bcst(at(word(context::BIT))))?;
        self.a.vpaddd(Z[to], Z[from], Z[S0])?;
        self.a.vpaddd(Z[to], Z[to], dword_bcst(at(word(context::LESS_THAN_HALF))))
    }

    /// The smaller or greater of two, zeros ordered by their signs.
    fn extreme(
        &mut self,
        op: Halves,
        nan: bool,
        half: Half,
        from: [usize; 2],
        to: usize,
        spare: [usize; SPARE],
    ) -> Done {
        let [a, b, ..] = spare;
        // As integers negative ones are in the other order, but for the complement of their magnitudes.
        for (from, to) in from.into_iter().zip([a, b]) {
            self.ordered(from, to)?;
        }
        match op {
            Halves::Minimum(_) => self.a.vpminsw(Z[a], Z[a], Z[b])?,
            _ => self.a.vpmaxsw(Z[a], Z[a], Z[b])?,
        }
        self.ordered(a, to)?;
        if nan {
            for from in from {
                self.not_numbers(half, from)?;
                self.set_nan(to)?;
            }
            return Ok(());
        }
        for (tested, other) in [(from[0], from[1]), (from[1], from[0])] {
            self.not_numbers(half, tested)?;
            self.a.vmovdqu16(Z[to].k7(), Z[other])?;
        }
        // Where both are none, what was chosen is none.
        self.not_numbers(half, to)?;
        self.set_nan(to)
    }

    /// Halves as integers in their order, and back.
    fn ordered(&mut self, from: usize, to: usize) -> Done {
        self.a.vpsraw(Z[S0], Z[from], 15)?;
        self.a.vpsrlw(Z[S0], Z[S0], 1)?;
        self.a.vpxord(Z[to], Z[from], Z[S0])
    }

    /// The halves that are no numbers, to `k7`.
    fn not_numbers(&mut self, half: Half, from: usize) -> Done {
        let infinity: u32 = match half {
            Half::F16 => 0x7c00_7c00,
            Half::Bf16 => 0x7f80_7f80,
        };
        self.broadcast(SIGNS, S0)?;
        self.a.vpandnd(Z[S0], Z[S0], Z[from])?;
        let infinity = self.pooled([infinity; 16]);
        self.a.vpcmpuw(k7, Z[S0], zmmword_ptr(infinity), 6)
    }

    /// The halves of `k7` become the device's NaN.
    fn set_nan(&mut self, to: usize) -> Done {
        let nan = self.pooled([NAN; 16]);
        self.a.vmovdqu16(Z[to].k7(), zmmword_ptr(nan))
    }
}
