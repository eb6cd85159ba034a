//! Approximate functions: `numerics::approx` for operands that are nothing special, the host's business for others.

use super::*;
use semantics::formula::{Function, Interpolation};

/// Registers besides the operand's and the result's.
pub(super) const SPARE: usize = 5;

/// Bits of an exponent's place, of a fraction, and of the one as a float.
const EXPONENT: u32 = 23;
const FRACTION: u32 = (1 << EXPONENT) - 1;
const INFINITY: u32 = 255 << EXPONENT;

impl Emitter<'_> {
    /// A word as an operand.
    pub(super) fn constant(&mut self, value: u32) -> AsmMemoryOperand {
        dword_bcst(self.pooled([value; 16]))
    }

    /// A word in all of a register.
    pub(super) fn broadcast(&mut self, value: u32, to: usize) -> Done {
        let place = self.pooled([value; 16]);
        self.a.vpbroadcastd(Z[to], dword_ptr(place))
    }

    /// The lanes of a line whose operand is not one that code has a way for, to `k7`.
    pub(super) fn unusual(&mut self, function: Function, flushes: bool, from: usize) -> Done {
        match function {
            Function::Reciprocal => {
                // Neither are subnormal, nor scaled, nor is the result.
                let (first, count) = (self.constant(1 << 24), self.constant(252 << 24));
                self.a.vpaddd(Z[S0], Z[from], Z[from])?;
                self.a.vpsubd(Z[S0], Z[S0], first)?;
                self.a.vpcmpud(k7, Z[S0], count, 5)
            }
            Function::ReciprocalRoot | Function::Root => {
                let (first, count) =
                    (self.constant(1 << EXPONENT), self.constant(INFINITY - (1 << EXPONENT)));
                self.a.vpsubd(Z[S0], Z[from], first)?;
                if function == Function::Root {
                    self.a.vptestmd(k7, Z[from], Z[from])?;
                    self.a.vpcmpud(k7.k7(), Z[S0], count, 5)
                } else {
                    self.a.vpcmpud(k7, Z[S0], count, 5)
                }
            }
            Function::Power if flushes => self.a.kxorw(k7, k7, k7),
            Function::Power => {
                let least = self.constant((-126.0f32).to_bits());
                self.a.vcmpps(k7, Z[from], least, 17)
            }
        }
    }

    /// A line of a function's results. `spare` are free registers.
    pub(super) fn approximate(
        &mut self,
        function: Function,
        from: usize,
        to: usize,
        spare: [usize; SPARE],
    ) -> Done {
        let [argument, exponent, ..] = spare;
        match function {
            Function::Reciprocal => {
                let fraction = self.constant(FRACTION);
                self.a.vpandd(Z[argument], Z[from], fraction)?;
            }
            Function::ReciprocalRoot | Function::Root => {
                // The exponent, unbiased, is odd where its last bit is not set.
                let (odd, all) = (self.constant(FRACTION + 1), self.constant(2 * FRACTION + 1));
                self.a.vpxord(Z[argument], Z[from], odd)?;
                self.a.vpandd(Z[argument], Z[argument], all)?;
                if function == Function::ReciprocalRoot {
                    self.a.vptestnmd(k5, Z[argument], Z[argument])?;
                }
            }
            Function::Power => {
                // 8.23 fixed point, truncated toward zero; beyond the ends all is as at them.
                self.broadcast((-128.0f32).to_bits(), S0)?;
                self.a.vmaxps(Z[S0], Z[S0], Z[from])?;
                self.broadcast(128.0f32.to_bits(), S1)?;
                self.a.vminps(Z[S0], Z[S1], Z[S0])?;
                let one = self.constant(((1 << EXPONENT) as f32).to_bits());
                self.a.vmulps(Z[S0], Z[S0], one)?;
                self.a.vcvttps2dq(Z[exponent], Z[S0])?;
                // Its fraction is the complement of a negative one's, if that is not zero.
                let (fraction, less) = (self.constant(FRACTION), self.constant(u32::MAX));
                self.a.vptestmd(k7, Z[exponent], fraction)?;
                self.a.vptestmd(k7.k7(), Z[exponent], dword_bcst(at(SIGN)))?;
                self.a.vpaddd(Z[exponent].k7(), Z[exponent], less)?;
                self.a.vpandd(Z[argument], Z[exponent], fraction)?;
            }
        }
        self.interpolate(function.interpolation(), to, spare)?;
        match function {
            Function::Reciprocal => {
                let (exponents, sum) = (self.constant(INFINITY), self.constant(252 << EXPONENT));
                self.a.vpandd(Z[S0], Z[from], exponents)?;
                self.a.vpsubd(Z[to], Z[to], Z[S0])?;
                self.a.vpaddd(Z[to], Z[to], sum)?;
                // With the sign of the operand.
                self.a.vpternlogd(Z[to], Z[from], dword_bcst(at(SIGN)), 0xf8)
            }
            Function::ReciprocalRoot | Function::Root => {
                if function == Function::ReciprocalRoot {
                    let two = self.pooled([2 << EXPONENT; 16]);
                    self.a.vpbroadcastd(Z[to].k5(), dword_ptr(two))?;
                }
                let bias = self.constant(127);
                self.a.vpsrld(Z[S0], Z[from], EXPONENT)?;
                self.a.vpsubd(Z[S0], Z[S0], bias)?;
                self.a.vpsrad(Z[S0], Z[S0], 1)?;
                self.a.vpslld(Z[S0], Z[S0], EXPONENT)?;
                if function == Function::ReciprocalRoot {
                    let sum = self.constant(125 << EXPONENT);
                    self.a.vpsubd(Z[to], Z[to], Z[S0])?;
                    self.a.vpaddd(Z[to], Z[to], sum)
                } else {
                    let sum = self.constant(126 << EXPONENT);
                    self.a.vpaddd(Z[to], Z[to], Z[S0])?;
                    self.a.vptestmd(k7, Z[from], Z[from])?;
                    self.a.vpaddd(Z[to].k7().z(), Z[to], sum)
                }
            }
            Function::Power => {
                let bias = self.constant(126);
                self.a.vpsrad(Z[exponent], Z[exponent], EXPONENT)?;
                self.a.vpaddd(Z[exponent], Z[exponent], bias)?;
                // Zero where the exponent is too small.
                self.a.vptestnmd(k7, Z[exponent], dword_bcst(at(SIGN)))?;
                self.a.vpslld(Z[exponent], Z[exponent], EXPONENT)?;
                self.a.vpaddd(Z[to].k7().z(), Z[to], Z[exponent])?;
                self.a.vcmpps(k7, Z[from], Z[from], 3)?;
                self.a.vpbroadcastd(Z[to].k7(), dword_ptr(at(NAN)))
            }
        }
    }

    /// The significands of arguments, as [`Interpolation`] says; all but the second of the spare registers get other values.
    fn interpolate(&mut self, how: Interpolation, to: usize, spare: [usize; SPARE]) -> Done {
        let [x, _, high, low, square] = spare;
        // The rows of eight lanes each, then what they are made of.
        self.a.mov(rax, how.rows.as_ptr().addr() as u64)?;
        self.a.vpsrld(Z[S0], Z[x], how.bits)?;
        self.a.kxnorw(k7, k7, k7)?;
        self.a.vpgatherdq(Z[high].k7(), zmmword_ptr(rax + Y[S0] * 8))?;
        self.a.vextracti64x4(Y[S0], Z[S0], 1)?;
        self.a.kxnorw(k7, k7, k7)?;
        self.a.vpgatherdq(Z[low].k7(), zmmword_ptr(rax + Y[S0] * 8))?;
        self.mix(Mix::Even, to, high, Source::Register(low))?;
        self.mix(Mix::Odd, S1, high, Source::Register(low))?;
        let rest = self.constant((1 << how.bits) - 1);
        self.a.vpandd(Z[x], Z[x], rest)?;
        // The truncated square: see `square` of the module.
        let nine = self.constant(0x1ff);
        let mut squared = x;
        if how.bits == 16 {
            self.a.vpaddd(Z[S2], Z[x], Z[x])?;
            squared = S2;
        }
        self.a.vpsrld(Z[high], Z[squared], 9)?;
        self.a.vpandd(Z[low], Z[squared], nine)?;
        self.a.vpmaddwd(Z[square], Z[high], Z[high])?;
        self.a.vpsrld(Z[square], Z[square], 1)?;
        for bit in 1..8 {
            let bits = offset_of!(Context, tables) + offset_of!(Tables, word_bits) + 4 * bit as usize;
            self.a.vptestmd(k7, Z[high], dword_bcst(at(bits)))?;
            self.a.vpsrld(Z[S0], Z[low], 9 - bit)?;
            self.a.vpaddd(Z[square].k7(), Z[square], Z[S0])?;
        }
        // The products, and their sum.
        let unused = 32 - Interpolation::C2_BITS;
        self.a.vpsrad(Z[S0], Z[S1], Interpolation::C2_BITS)?;
        self.a.vpslld(Z[S1], Z[S1], unused)?;
        self.a.vpsrad(Z[S1], Z[S1], unused - how.shift2)?;
        self.a.vpmulld(Z[S1], Z[S1], Z[square])?;
        self.a.vpsrld(Z[high], Z[x], 9)?;
        self.a.vpandd(Z[low], Z[x], nine)?;
        self.a.vpmulld(Z[high], Z[high], Z[S0])?;
        self.a.vpmulld(Z[low], Z[low], Z[S0])?;
        let bias = self.constant(how.bias as u32);
        self.a.vpaddd(Z[S1], Z[S1], Z[low])?;
        self.a.vpaddd(Z[S1], Z[S1], bias)?;
        self.a.vpsrad(Z[S1], Z[S1], 9)?;
        self.a.vpaddd(Z[high], Z[high], Z[S1])?;
        self.a.vpslld(Z[to], Z[to], how.shift0 - 9)?;
        self.a.vpaddd(Z[to], Z[to], Z[high])?;
        self.a.vpsrld(Z[to], Z[to], how.shift - 9)
    }
}
