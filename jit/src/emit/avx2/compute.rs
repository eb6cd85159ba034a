//! Lane operations.

use super::*;
use crate::emit::double;
use crate::emit::predicates::{nearest, of_floats};
use crate::liveness::{is_checked, result};
use isa::{CmpOp, IntRounding};
use semantics::formula::{self, Compared, Float, Format, Formula, Integer, Sign, Unary};
use semantics::lanes::Operands;

/// One instruction of three operands, the last of any kind.
macro_rules! three {
    ($self:ident, $method:ident, $to:expr, $a:expr, $b:expr) => {
        match $b {
            Source::Register(b) => $self.a.$method(Y[$to], Y[$a], Y[b])?,
            Source::Memory(b) => $self.a.$method(Y[$to], Y[$a], b)?,
        }
    };
}

impl Emitter<'_> {
    /// Computes rows of a result.
    pub(in crate::emit) fn compute_avx2(
        &mut self,
        formula: Formula,
        operands: &Operands,
        guard: Pred,
    ) -> Done {
        let Some(width) = result(formula) else { return Ok(()) };
        let count = self.computed(width);
        let mut new = [0; 8];
        for number in 0..count {
            new[number as usize] = self.new_register()?;
            self.line_avx2(formula, operands, number, new[number as usize])?;
        }
        let new = &new[..count as usize];
        let checks = is_checked(formula);
        let mut resumes = None;
        if checks {
            for (number, &new) in new.iter().enumerate() {
                let to = if number == 0 { S1 } else { S0 };
                self.a.vcmppd(Y[to], Y[new], Y[new], 3)?;
                if number != 0 {
                    self.a.vorpd(Y[S1], Y[S1], Y[S0])?;
                }
            }
            let (host, resume) = (self.a.create_label(), self.a.create_label());
            self.a.vptest(Y[S1], Y[S1])?;
            self.a.jne(host)?;
            resumes = Some((host, resume, self.file.clone()));
        }
        for (number, &new) in new.iter().enumerate() {
            let raw = self.is_raw(formula, operands, number as u32);
            self.finish(operands.dst, width, number as u32, new, guard, raw)?;
        }
        // The host does what is no number.
        if let Some((label, mut resume, before)) = resumes {
            self.a.set_label(&mut resume)?;
            self.a.nop()?;
            self.or_host(label, resume, before, guard);
        }
        Ok(())
    }

    /// The words of a line of doubles as doubles.
    fn widen_avx2(&mut self, slot: Slot, number: u32, signed: bool, to: usize) -> Done {
        match (self.half_avx2(slot, number, to)?, signed) {
            (Source::Memory(half), true) => self.a.vpmovsxdq(Y[to], half),
            (Source::Memory(half), false) => self.a.vpmovzxdq(Y[to], half),
            (Source::Register(half), true) => self.a.vpmovsxdq(Y[to], X[half]),
            (Source::Register(half), false) => self.a.vpmovzxdq(Y[to], X[half]),
        }
    }

    /// The words of a line of doubles, where they are or in the lower half of a register: of this one, if they are an upper
    /// half.
    fn half_avx2(&mut self, slot: Slot, number: u32, otherwise: usize) -> Done<Source> {
        let line = self.line(slot, number / 2);
        Ok(match self.file.peek(line) {
            None => Source::Memory(xmmword_ptr(self.place(line) + 16 * (number % 2) as i32)),
            Some(from) if number.is_multiple_of(2) => Source::Register(from),
            Some(from) => {
                self.a.vextracti128(X[otherwise], Y[from], 1)?;
                Source::Register(otherwise)
            }
        })
    }

    /// The smaller or greater one of two floats, of which the operands may be the first two scratch registers.
    fn extremum(&mut self, least: bool, width: Width, a: usize, b: usize, to: usize) -> Done {
        // Each order gives its second operand where both are equal: zeros whose signs are combined.
        match (width, least) {
            (Width::Word, true) => {
                self.a.vminps(Y[S2], Y[a], Y[b])?;
                self.a.vminps(Y[to], Y[b], Y[a])?;
                self.a.vorps(Y[to], Y[to], Y[S2])?;
            }
            (Width::Word, false) => {
                self.a.vmaxps(Y[S2], Y[a], Y[b])?;
                self.a.vmaxps(Y[to], Y[b], Y[a])?;
                self.a.vandps(Y[to], Y[to], Y[S2])?;
            }
            (Width::Double, true) => {
                self.a.vminpd(Y[S2], Y[a], Y[b])?;
                self.a.vminpd(Y[to], Y[b], Y[a])?;
                self.a.vorpd(Y[to], Y[to], Y[S2])?;
            }
            (Width::Double, false) => {
                self.a.vmaxpd(Y[S2], Y[a], Y[b])?;
                self.a.vmaxpd(Y[to], Y[b], Y[a])?;
                self.a.vandpd(Y[to], Y[to], Y[S2])?;
            }
        }
        for (tested, other) in [(b, a), (a, b)] {
            match width {
                Width::Word => {
                    self.a.vcmpps(Y[S2], Y[tested], Y[tested], 3)?;
                    self.a.vblendvps(Y[to], Y[to], Y[other], Y[S2])?;
                }
                Width::Double => {
                    self.a.vcmppd(Y[S2], Y[tested], Y[tested], 3)?;
                    self.a.vblendvpd(Y[to], Y[to], Y[other], Y[S2])?;
                }
            }
        }
        Ok(())
    }

    /// A float whose subnormal values become zeros: where it is, if it need not, else in this register.
    fn flushed_avx2(&mut self, format: Format, from: Source, otherwise: usize) -> Done<Source> {
        if format != Format::SingleFlushed {
            return Ok(from);
        }
        let from = self.in_register(from, otherwise)?;
        self.a.vbroadcastss(Y[S2], dword_ptr(at(word(context::ONE))))?;
        self.a.vmulps(Y[otherwise], Y[from], Y[S2])?;
        Ok(Source::Register(otherwise))
    }

    fn sign_avx2(&mut self, sign: Sign, width: Width, from: Source, to: usize) -> Done {
        match (sign, width) {
            (Sign::Negate, _) => {
                self.a.vpxor(Y[S0], Y[S0], Y[S0])?;
                match width {
                    Width::Word => three!(self, vpsubd, to, S0, from),
                    Width::Double => three!(self, vpsubq, to, S0, from),
                }
                Ok(())
            }
            (Sign::Magnitude, Width::Word) => {
                let from = self.in_register(from, S0)?;
                self.a.vpabsd(Y[to], Y[from])
            }
            (Sign::Magnitude, Width::Double) => {
                // The complement plus one where the sign is set.
                let from = self.in_register(from, S0)?;
                self.a.vpxor(Y[S1], Y[S1], Y[S1])?;
                self.a.vpcmpgtq(Y[S1], Y[S1], Y[from])?;
                self.a.vpxor(Y[to], Y[from], Y[S1])?;
                self.a.vpsubq(Y[to], Y[to], Y[S1])
            }
        }
    }

    fn unary_avx2(&mut self, unary: Unary, format: Format, from: Source, to: usize) -> Done {
        use Width::{Double, Word};
        let width = format.width();
        let signs = ymmword_ptr(at(SIGNS[usize::from(width == Double)]));
        // Roots and reciprocals flush their operands themselves.
        let from = match unary {
            Unary::SquareRoot | Unary::Reciprocal => from,
            _ => self.flushed_avx2(format, from, S1)?,
        };
        match (unary, width) {
            (Unary::Negate, _) => {
                self.a.vmovdqa(Y[S0], signs)?;
                three!(self, vpxor, to, S0, from);
            }
            (Unary::Magnitude, _) => {
                self.a.vmovdqa(Y[S0], signs)?;
                three!(self, vpandn, to, S0, from);
            }
            (Unary::Reciprocal, Word) => {
                self.a.vbroadcastss(Y[S0], dword_ptr(at(word(context::ONE))))?;
                three!(self, vdivps, to, S0, from);
            }
            (Unary::Reciprocal, Double) => {
                self.a.vbroadcastsd(Y[S0], qword_ptr(at(double(context::ONE))))?;
                three!(self, vdivpd, to, S0, from);
            }
            (Unary::SquareRoot | Unary::Round(_) | Unary::Saturate, _) => {
                let from = self.in_register(from, S0)?;
                match (unary, width) {
                    (Unary::Round(rounding), Word) => {
                        self.a.vroundps(Y[to], Y[from], 8 | nearest(rounding))?;
                    }
                    (Unary::Round(rounding), Double) => {
                        self.a.vroundpd(Y[to], Y[from], 8 | nearest(rounding))?;
                    }
                    (Unary::Saturate, _) => {
                        // The second operand where the first one is no number, or both are zeros.
                        self.a.vpxor(Y[S2], Y[S2], Y[S2])?;
                        self.a.vmaxps(Y[to], Y[from], Y[S2])?;
                        self.a.vbroadcastss(Y[S2], dword_ptr(at(word(context::ONE))))?;
                        self.a.vminps(Y[to], Y[to], Y[S2])?;
                    }
                    (_, Word) => self.a.vsqrtps(Y[to], Y[from])?,
                    (_, Double) => self.a.vsqrtpd(Y[to], Y[from])?,
                }
            }
        }
        Ok(())
    }

    /// Computes a line of the result.
    fn line_avx2(&mut self, formula: Formula, o: &Operands, number: u32, to: usize) -> Done {
        use Width::{Double, Word};
        let [a, b, c, _] = o.src;
        match formula {
            Formula::Copy(_) => {
                let from = self.loaded(a, number, to)?;
                if from != to {
                    self.a.vmovdqa(Y[to], Y[from])?;
                }
            }
            Formula::Not(_) => {
                let from = self.source_of(a, number);
                self.a.vpcmpeqd(Y[S0], Y[S0], Y[S0])?;
                three!(self, vpxor, to, S0, from);
            }
            Formula::Integer(
                op @ (Integer::ShiftLeft | Integer::ShiftRight | Integer::ShiftRightSigned),
                width,
            ) => {
                let a = self.loaded(a, number, S0)?;
                self.shift_avx2(op, width, a, b, number, to)?;
            }
            Formula::Half(op, signed) => {
                let a = self.loaded(a, number, S0)?;
                self.field_avx2(0, 16, signed, a, S0)?;
                if let Integer::ShiftRight | Integer::ShiftRightSigned = op {
                    return self.shift_avx2(op, Word, S0, b, number, to);
                }
                let b = self.loaded(b, number, S1)?;
                self.field_avx2(0, 16, signed, b, S1)?;
                self.integer_avx2(op, Word, to, S0, Source::Register(S1))?;
            }
            Formula::Integer(Integer::Multiply, width) => self.multiply_avx2(width, [a, b], number, to)?,
            Formula::Integer(op, width) => {
                let a = self.loaded(a, number, S0)?;
                let b = self.source_of(b, number);
                self.integer_avx2(op, width, to, a, b)?;
            }
            Formula::MultiplyAdd(width) => {
                self.multiply_avx2(width, [a, b], number, to)?;
                let c = self.source_of(c, number);
                self.integer_avx2(Integer::Add, width, to, to, c)?;
            }
            Formula::MultiplyWide { signed, add } => {
                self.widen_avx2(a, number, false, S0)?;
                self.widen_avx2(b, number, false, S1)?;
                if signed {
                    self.a.vpmuldq(Y[to], Y[S0], Y[S1])?;
                } else {
                    self.a.vpmuludq(Y[to], Y[S0], Y[S1])?;
                }
                if add {
                    let c = self.source_of(c, number);
                    three!(self, vpaddq, to, to, c);
                }
            }
            Formula::Extend { bits: 32, signed } => self.widen_avx2(a, number, signed, to)?,
            Formula::Extend { bits, signed } => {
                self.widen_avx2(a, number, false, to)?;
                self.field_avx2(0, bits, signed, to, to)?;
                if signed {
                    // The sign of each lower word fills the upper one.
                    self.a.vpsrad(Y[S0], Y[to], 31)?;
                    self.a.vpsllq(Y[S0], Y[S0], 32)?;
                    self.a.vpor(Y[to], Y[to], Y[S0])?;
                }
            }
            Formula::Truncate | Formula::Upper => {
                let words = if formula == Formula::Upper { 0xdd } else { 0x88 };
                let low = self.loaded(a, 2 * number, S0)?;
                match self.source_of(a, 2 * number + 1) {
                    Source::Register(high) => self.a.vshufps(Y[to], Y[low], Y[high], words)?,
                    Source::Memory(high) => self.a.vshufps(Y[to], Y[low], high, words)?,
                }
                self.a.vpermq(Y[to], Y[to], 0xd8)?;
            }
            Formula::Pack => {
                self.widen_avx2(a, number, false, S0)?;
                self.widen_avx2(b, number, false, S1)?;
                self.a.vpsllq(Y[S1], Y[S1], 32)?;
                self.a.vpor(Y[to], Y[S0], Y[S1])?;
            }
            Formula::Offset => {
                let from = self.source_of(a, number);
                self.a.mov(rax, o.imm)?;
                self.a.vmovq(X[S0], rax)?;
                self.a.vpbroadcastq(Y[S0], X[S0])?;
                three!(self, vpaddq, to, S0, from);
            }
            Formula::Logic3 => {
                // f(a, b, c) = f(0, b, c) ^ (a & (f(0, b, c) ^ f(1, b, c))).
                let table = formula::table(o.imm);
                let (b, c) = (self.loaded(b, number, S0)?, self.loaded(c, number, S1)?);
                let (zero, one) = (table & 15, table >> 4);
                self.logic2(zero ^ one, b, c, to)?;
                let a = self.source_of(a, number);
                three!(self, vpand, to, to, a);
                self.logic2(zero, b, c, S2)?;
                self.a.vpxor(Y[to], Y[to], Y[S2])?;
            }
            Formula::Float(float @ (Float::Minimum | Float::Maximum), format, _) => {
                let (a, b) = (self.source_of(a, number), self.source_of(b, number));
                let (a, b) = (self.flushed_avx2(format, a, S0)?, self.flushed_avx2(format, b, S1)?);
                let (a, b) = (self.in_register(a, S0)?, self.in_register(b, S1)?);
                self.extremum(float == Float::Minimum, format.width(), a, b, to)?;
            }
            Formula::Float(float, format, _) => {
                let a = self.loaded(a, number, S0)?;
                let b = self.source_of(b, number);
                match (float, format.width()) {
                    (Float::Add, Word) => three!(self, vaddps, to, a, b),
                    (Float::Subtract, Word) => three!(self, vsubps, to, a, b),
                    (Float::Multiply, Word) => three!(self, vmulps, to, a, b),
                    (Float::Add, Double) => three!(self, vaddpd, to, a, b),
                    (Float::Subtract, Double) => three!(self, vsubpd, to, a, b),
                    (Float::Multiply, Double) => three!(self, vmulpd, to, a, b),
                    (Float::Divide, Word) => three!(self, vdivps, to, a, b),
                    (Float::Divide, Double) => three!(self, vdivpd, to, a, b),
                    (Float::Minimum | Float::Maximum, _) => {}
                }
            }
            Formula::FusedMultiplyAdd(format, _, minus) => {
                let a = self.loaded(a, number, to)?;
                if a != to {
                    self.a.vmovdqa(Y[to], Y[a])?;
                }
                let b = self.loaded(b, number, S0)?;
                let c = self.source_of(c, number);
                match (format.width(), minus) {
                    (Word, [false, false]) => three!(self, vfmadd213ps, to, b, c),
                    (Word, [false, true]) => three!(self, vfmsub213ps, to, b, c),
                    (Word, [true, false]) => three!(self, vfnmadd213ps, to, b, c),
                    (Word, [true, true]) => three!(self, vfnmsub213ps, to, b, c),
                    (Double, [false, false]) => three!(self, vfmadd213pd, to, b, c),
                    (Double, [false, true]) => three!(self, vfmsub213pd, to, b, c),
                    (Double, [true, false]) => three!(self, vfnmadd213pd, to, b, c),
                    (Double, [true, true]) => three!(self, vfnmsub213pd, to, b, c),
                }
            }
            Formula::Unary(unary, format) => {
                let from = self.source_of(a, number);
                self.unary_avx2(unary, format, from, to)?;
            }
            Formula::Sign(sign, width) => {
                let from = self.source_of(a, number);
                self.sign_avx2(sign, width, from, to)?;
            }
            Formula::MultiplyHigh { signed } => {
                let (a, b) = (self.loaded(a, number, S0)?, self.loaded(b, number, S1)?);
                self.a.vpsrlq(Y[S2], Y[a], 32)?;
                self.a.vpsrlq(Y[to], Y[b], 32)?;
                if signed {
                    self.a.vpmuldq(Y[S2], Y[S2], Y[to])?;
                    self.a.vpmuldq(Y[to], Y[a], Y[b])?;
                } else {
                    self.a.vpmuludq(Y[S2], Y[S2], Y[to])?;
                    self.a.vpmuludq(Y[to], Y[a], Y[b])?;
                }
                // The upper halves of the even words' products, and those of the odd ones' where they are.
                self.a.vpsrlq(Y[to], Y[to], 32)?;
                self.a.vpblendd(Y[to], Y[to], Y[S2], 0xaa)?;
            }
            Formula::Funnel { left, wrap } => {
                if let Some(amount) = self.known(c) {
                    let amount = if wrap { amount as u32 & 31 } else { (amount as u32).min(32) };
                    let (up, down) = if left { (amount, 32 - amount) } else { (32 - amount, amount) };
                    let (a, b) = (self.loaded(a, number, S0)?, self.loaded(b, number, S1)?);
                    self.a.vpslld(Y[S1], Y[b], up)?;
                    self.a.vpsrld(Y[to], Y[a], down)?;
                } else {
                    let c = self.loaded(c, number, S2)?;
                    let limit = if wrap { context::THIRTY_ONE } else { context::THIRTY_TWO };
                    self.a.vpbroadcastd(Y[S1], dword_ptr(at(word(limit))))?;
                    match wrap {
                        true => self.a.vpand(Y[S2], Y[c], Y[S1])?,
                        false => self.a.vpminud(Y[S2], Y[c], Y[S1])?,
                    }
                    self.a.vpbroadcastd(Y[S1], dword_ptr(at(word(context::THIRTY_TWO))))?;
                    self.a.vpsubd(Y[S1], Y[S1], Y[S2])?;
                    let (up, down) = if left { (S2, S1) } else { (S1, S2) };
                    let a = self.loaded(a, number, S0)?;
                    self.a.vpsrlvd(Y[to], Y[a], Y[down])?;
                    let b = self.loaded(b, number, S0)?;
                    self.a.vpsllvd(Y[S1], Y[b], Y[up])?;
                }
                self.a.vpor(Y[to], Y[to], Y[S1])?;
            }
            Formula::Field { first, bits, signed } => {
                let from = self.loaded(a, number, S0)?;
                self.field_avx2(first, bits, signed, from, to)?;
            }
            Formula::Join { bits } => {
                let a = self.loaded(a, number, S0)?;
                self.field_avx2(0, bits, false, a, S0)?;
                let b = self.loaded(b, number, S1)?;
                self.a.vpslld(Y[to], Y[b], bits)?;
                self.a.vpor(Y[to], Y[to], Y[S0])?;
            }
            Formula::CopySign(width) => {
                let signs = ymmword_ptr(at(SIGNS[usize::from(width == Double)]));
                let (a, b) = (self.loaded(a, number, S0)?, self.loaded(b, number, S1)?);
                self.a.vpand(Y[S2], Y[a], signs)?;
                self.a.vmovdqa(Y[to], signs)?;
                self.a.vpandn(Y[to], Y[to], Y[b])?;
                self.a.vpor(Y[to], Y[to], Y[S2])?;
            }
            Formula::ToFloat { bits: bits @ ..32, signed, to: Word } => {
                let from = self.loaded(a, number, S0)?;
                self.field_avx2(0, bits, signed, from, to)?;
                self.a.vcvtdq2ps(Y[to], Y[to])?;
            }
            Formula::ToFloat { bits: bits @ ..32, signed, to: Double } => {
                let from = match self.half_avx2(a, number, S0)? {
                    Source::Register(from) => from,
                    Source::Memory(place) => {
                        self.a.vmovdqa(X[S0], place)?;
                        S0
                    }
                };
                self.field_avx2(0, bits, signed, from, S0)?;
                self.a.vcvtdq2pd(Y[to], X[S0])?;
            }
            Formula::ToFloat { signed: true, to: Word, .. } => match self.source_of(a, number) {
                Source::Register(from) => self.a.vcvtdq2ps(Y[to], Y[from])?,
                Source::Memory(from) => self.a.vcvtdq2ps(Y[to], from)?,
            },
            Formula::ToFloat { signed: false, to: Word, .. } => {
                // Both halves are exact, so that only their sum is rounded.
                let from = self.loaded(a, number, S0)?;
                self.a.vpsrld(Y[S1], Y[from], 16)?;
                self.a.vpslld(Y[to], Y[from], 16)?;
                self.a.vpsrld(Y[to], Y[to], 16)?;
                self.a.vcvtdq2ps(Y[S1], Y[S1])?;
                self.a.vcvtdq2ps(Y[to], Y[to])?;
                self.a.vbroadcastss(Y[S2], dword_ptr(at(word(context::TWO_TO_16))))?;
                self.a.vmulps(Y[S1], Y[S1], Y[S2])?;
                self.a.vaddps(Y[to], Y[S1], Y[to])?;
            }
            Formula::ToFloat { signed: true, to: Double, .. } => match self.half_avx2(a, number, to)? {
                Source::Register(half) => self.a.vcvtdq2pd(Y[to], X[half])?,
                Source::Memory(half) => self.a.vcvtdq2pd(Y[to], half)?,
            },
            Formula::ToFloat { signed: false, to: Double, .. } => {
                self.widen_avx2(a, number, false, to)?;
                self.a.vbroadcastsd(Y[S0], qword_ptr(at(double(context::TWO_TO_52))))?;
                self.a.vpor(Y[to], Y[to], Y[S0])?;
                self.a.vsubpd(Y[to], Y[to], Y[S0])?;
            }
            Formula::ToInteger { from: Word, bits, signed, rounding } => {
                let from = self.loaded(a, number, S0)?;
                let mut whole = from;
                if rounding != IntRounding::Rzi {
                    self.a.vroundps(Y[to], Y[from], 8 | nearest(rounding))?;
                    whole = to;
                }
                // What is too great becomes the least integer, whose bits are the complement of the greatest one's.
                self.a.vbroadcastss(Y[S1], dword_ptr(at(word(context::TWO_TO_31))))?;
                self.a.vcmpps(Y[S1], Y[whole], Y[S1], 29)?;
                self.a.vcmpps(Y[S2], Y[from], Y[from], 7)?;
                self.a.vcvttps2dq(Y[to], Y[whole])?;
                self.a.vpxor(Y[to], Y[to], Y[S1])?;
                self.a.vpand(Y[to], Y[to], Y[S2])?;
                if bits < 32 {
                    // The nearest narrow one is the nearest word's.
                    let [least, greatest] = context::limits(bits, signed);
                    self.a.vpbroadcastd(Y[S1], dword_ptr(at(word(least))))?;
                    self.a.vpmaxsd(Y[to], Y[to], Y[S1])?;
                    self.a.vpbroadcastd(Y[S1], dword_ptr(at(word(greatest))))?;
                    self.a.vpminsd(Y[to], Y[to], Y[S1])?;
                }
            }
            Formula::ToInteger { from: Double, rounding, .. } => {
                for (half, part) in [to, S1].into_iter().enumerate() {
                    let mut whole = self.loaded(a, 2 * number + half as u32, S0)?;
                    if rounding != IntRounding::Rzi {
                        self.a.vroundpd(Y[S0], Y[whole], 8 | nearest(rounding))?;
                        whole = S0;
                    }
                    // What is no number stays so as the second operand.
                    self.a.vbroadcastsd(Y[S2], qword_ptr(at(double(context::GREATEST))))?;
                    self.a.vminpd(Y[S0], Y[S2], Y[whole])?;
                    self.a.vbroadcastsd(Y[S2], qword_ptr(at(double(context::LEAST))))?;
                    self.a.vmaxpd(Y[S0], Y[S2], Y[S0])?;
                    self.a.vcvttpd2dq(X[part], Y[S0])?;
                }
                self.a.vinserti128(Y[to], Y[to], X[S1], 1)?;
            }
            Formula::Resize { to: Double } => match self.half_avx2(a, number, to)? {
                Source::Register(half) => self.a.vcvtps2pd(Y[to], X[half])?,
                Source::Memory(half) => self.a.vcvtps2pd(Y[to], half)?,
            },
            Formula::Resize { to: Word } => {
                for (half, part) in [to, S1].into_iter().enumerate() {
                    let from = self.loaded(a, 2 * number + half as u32, S0)?;
                    self.a.vcvtpd2ps(X[part], Y[from])?;
                }
                self.a.vinserti128(Y[to], Y[to], X[S1], 1)?;
            }
            Formula::Select(width) => {
                let negated = o.pred[2] != Pred::register(o.pred[2].index(), false);
                let [yes, no] = if negated { [b, a] } else { [a, b] };
                self.a.vpbroadcastd(Y[S0], dword_ptr(r15 + 4 * o.pred[2].index() as i32))?;
                self.spread(S0, width, number)?;
                let no = self.loaded(no, number, S1)?;
                match self.source_of(yes, number) {
                    Source::Register(yes) => self.a.vpblendvb(Y[to], Y[no], Y[yes], Y[S0])?,
                    Source::Memory(yes) => self.a.vpblendvb(Y[to], Y[no], yes, Y[S0])?,
                }
            }
            // Those are the host's.
            Formula::FromHalf(_)
            | Formula::ToHalf(_)
            | Formula::Halves(..)
            | Formula::ToHalves(_)
            | Formula::Insert { .. }
            | Formula::Bytes(_)
            | Formula::DotProduct(_)
            | Formula::Divide { .. }
            | Formula::Approximate(..)
            | Formula::Ones
            | Formula::LeadingZeros => {}
            Formula::Compare(..) | Formula::Predicate(_) => {}
        }
        Ok(())
    }

    /// A function of two words' bits: bit `2 b + c` of its table is what it gives.
    fn logic2(&mut self, table: u8, b: usize, c: usize, to: usize) -> Done {
        let ones = |emitter: &mut Self| emitter.a.vpcmpeqd(Y[to], Y[to], Y[to]);
        // Those that give 0 for two zeros, and the complement of the others.
        let complement = table & 1 != 0;
        match if complement { !table & 15 } else { table } {
            0b0000 => return if complement { ones(self) } else { self.a.vpxor(Y[to], Y[to], Y[to]) },
            0b1000 => self.a.vpand(Y[to], Y[b], Y[c])?,
            0b0100 => self.a.vpandn(Y[to], Y[c], Y[b])?,
            0b0010 => self.a.vpandn(Y[to], Y[b], Y[c])?,
            0b0110 => self.a.vpxor(Y[to], Y[b], Y[c])?,
            0b1110 => self.a.vpor(Y[to], Y[b], Y[c])?,
            0b1100 => self.a.vmovdqa(Y[to], Y[b])?,
            _ => self.a.vmovdqa(Y[to], Y[c])?,
        }
        if complement {
            // One more scratch register: the constant is in memory.
            self.a.vpxor(Y[to], Y[to], ymmword_ptr(at(ONES)))?;
        }
        Ok(())
    }

    /// `a` may be the first scratch register.
    fn integer_avx2(&mut self, op: Integer, width: Width, to: usize, a: usize, b: Source) -> Done {
        use Integer as I;
        use Width::{Double, Word};
        match (op, width) {
            (I::Add, Word) => three!(self, vpaddd, to, a, b),
            (I::Add, Double) => three!(self, vpaddq, to, a, b),
            (I::Subtract, Word) => three!(self, vpsubd, to, a, b),
            (I::Subtract, Double) => three!(self, vpsubq, to, a, b),
            (I::Multiply, Word) => three!(self, vpmulld, to, a, b),
            (I::Multiply, Double) => {
                // The lower product, and the two crossed ones in the upper half.
                let b = self.in_register(b, S1)?;
                self.a.vpshufd(Y[S2], Y[b], 0xb1)?;
                self.a.vpmulld(Y[S2], Y[S2], Y[a])?;
                self.a.vpsrlq(Y[to], Y[S2], 32)?;
                self.a.vpaddd(Y[S2], Y[to], Y[S2])?;
                self.a.vpsllq(Y[S2], Y[S2], 32)?;
                self.a.vpmuludq(Y[to], Y[a], Y[b])?;
                self.a.vpaddq(Y[to], Y[to], Y[S2])?;
            }
            (I::And, _) => three!(self, vpand, to, a, b),
            (I::Or, _) => three!(self, vpor, to, a, b),
            (I::Xor, _) => three!(self, vpxor, to, a, b),
            (I::MinSigned, Word) => three!(self, vpminsd, to, a, b),
            (I::MinUnsigned, Word) => three!(self, vpminud, to, a, b),
            (I::MaxSigned, Word) => three!(self, vpmaxsd, to, a, b),
            (I::MaxUnsigned, Word) => three!(self, vpmaxud, to, a, b),
            (I::MinSigned | I::MinUnsigned | I::MaxSigned | I::MaxUnsigned, Double) => {
                let b = self.in_register(b, S1)?;
                if let I::MinUnsigned | I::MaxUnsigned = op {
                    self.a.vpxor(Y[S2], Y[b], ymmword_ptr(at(SIGNS[1])))?;
                    self.a.vpxor(Y[to], Y[a], ymmword_ptr(at(SIGNS[1])))?;
                    self.a.vpcmpgtq(Y[S2], Y[to], Y[S2])?;
                } else {
                    self.a.vpcmpgtq(Y[S2], Y[a], Y[b])?;
                }
                let smaller = matches!(op, I::MinSigned | I::MinUnsigned);
                let [yes, no] = if smaller { [b, a] } else { [a, b] };
                self.a.vblendvpd(Y[to], Y[no], Y[yes], Y[S2])?;
            }
            (I::ShiftLeft | I::ShiftRight | I::ShiftRightSigned, _) => {}
        }
        Ok(())
    }

    fn in_register(&mut self, source: Source, otherwise: usize) -> Done<usize> {
        match source {
            Source::Register(register) => Ok(register),
            Source::Memory(place) => {
                self.a.vmovdqa(Y[otherwise], place)?;
                Ok(otherwise)
            }
        }
    }

    fn multiply_avx2(&mut self, width: Width, [a, b]: [Slot; 2], number: u32, to: usize) -> Done {
        let near = self.near_power(b).filter(|_| width == Width::Word);
        let from = self.loaded(a, number, S0)?;
        let Some((power, more)) = near else {
            let b = self.source_of(b, number);
            return self.integer_avx2(Integer::Multiply, width, to, from, b);
        };
        match (power, more) {
            (1, 1) => self.a.vpaddd(Y[to], Y[from], Y[from])?,
            _ => self.a.vpslld(Y[to], Y[from], power)?,
        }
        match more {
            0 => Ok(()),
            1 => self.a.vpaddd(Y[to], Y[to], Y[from]),
            _ => self.a.vpsubd(Y[to], Y[to], Y[from]),
        }
    }

    /// Some bits of words, extended.
    fn field_avx2(&mut self, first: u32, bits: u32, signed: bool, from: usize, to: usize) -> Done {
        self.a.vpslld(Y[to], Y[from], 32 - first - bits)?;
        match signed {
            true => self.a.vpsrad(Y[to], Y[to], 32 - bits),
            false => self.a.vpsrld(Y[to], Y[to], 32 - bits),
        }
    }

    /// Shifts a line, which may be the first scratch register.
    fn shift_avx2(
        &mut self,
        op: Integer,
        width: Width,
        a: usize,
        amount: Slot,
        number: u32,
        to: usize,
    ) -> Done {
        use Width::{Double, Word};
        // There is no signed shift of doubles: the others are complemented before and behind.
        let signed = (op, width) == (Integer::ShiftRightSigned, Double);
        let from = if signed {
            self.a.vpxor(Y[S2], Y[S2], Y[S2])?;
            self.a.vpcmpgtq(Y[S2], Y[S2], Y[a])?;
            self.a.vpxor(Y[to], Y[a], Y[S2])?;
            to
        } else {
            a
        };
        if let Some(amount) = self.known(amount) {
            let amount = (amount as u32).min(255);
            match (op, width) {
                (Integer::ShiftLeft, Word) => self.a.vpslld(Y[to], Y[from], amount)?,
                (Integer::ShiftLeft, Double) => self.a.vpsllq(Y[to], Y[from], amount)?,
                (Integer::ShiftRight, Word) => self.a.vpsrld(Y[to], Y[from], amount)?,
                (_, Word) => self.a.vpsrad(Y[to], Y[from], amount)?,
                (_, Double) => self.a.vpsrlq(Y[to], Y[from], amount)?,
            }
        } else {
            let by = match width {
                Word => self.source_of(amount, number),
                Double => {
                    self.widen_avx2(amount, number, false, S1)?;
                    Source::Register(S1)
                }
            };
            match (op, width) {
                (Integer::ShiftLeft, Word) => three!(self, vpsllvd, to, from, by),
                (Integer::ShiftLeft, Double) => three!(self, vpsllvq, to, from, by),
                (Integer::ShiftRight, Word) => three!(self, vpsrlvd, to, from, by),
                (_, Word) => three!(self, vpsravd, to, from, by),
                (_, Double) => three!(self, vpsrlvq, to, from, by),
            }
        }
        if signed { self.a.vpxor(Y[to], Y[to], Y[S2]) } else { Ok(()) }
    }

    /// The lanes for which a comparison holds to `eax`.
    pub(in crate::emit) fn compare_avx2(
        &mut self,
        cmp: CmpOp,
        compared: Compared,
        width: Width,
        o: &Operands,
    ) -> Done {
        let mut complement = false;
        for number in 0..self.lines(width) {
            let a = self.loaded(o.src[0], number, S0)?;
            let b = self.source_of(o.src[1], number);
            if let Compared::Float | Compared::FloatFlushed = compared {
                let how = of_floats(cmp);
                match (width, b) {
                    (Width::Word, Source::Register(b)) => self.a.vcmpps(Y[S0], Y[a], Y[b], how)?,
                    (Width::Word, Source::Memory(b)) => self.a.vcmpps(Y[S0], Y[a], b, how)?,
                    (Width::Double, Source::Register(b)) => self.a.vcmppd(Y[S0], Y[a], Y[b], how)?,
                    (Width::Double, Source::Memory(b)) => self.a.vcmppd(Y[S0], Y[a], b, how)?,
                }
            } else {
                let (mut a, mut b, mut compared) = (a, b, compared);
                // Halves in the upper ones of words are ordered like those.
                if let Compared::SignedHalf | Compared::UnsignedHalf = compared {
                    let signed = compared == Compared::SignedHalf;
                    compared = if signed { Compared::Signed } else { Compared::Unsigned };
                    let from = self.in_register(b, S1)?;
                    self.a.vpslld(Y[S0], Y[a], 16)?;
                    self.a.vpslld(Y[S1], Y[from], 16)?;
                    (a, b) = (S0, Source::Register(S1));
                }
                complement = self.compare_integers(cmp, compared, width, a, b)?;
            }
            match width {
                Width::Word => self.a.vmovmskps(ecx, Y[S0])?,
                Width::Double => self.a.vmovmskpd(ecx, Y[S0])?,
            }
            if number == 0 {
                self.a.mov(eax, ecx)?;
            } else {
                self.a.shl(ecx, 32 / self.lines(width) * number)?;
                self.a.or(eax, ecx)?;
            }
        }
        if complement { self.a.not(eax) } else { Ok(()) }
    }

    /// Compares a line, of which the first operand may be the first scratch register, into that; whether the complement of
    /// the comparison holds there.
    fn compare_integers(
        &mut self,
        cmp: CmpOp,
        compared: Compared,
        width: Width,
        a: usize,
        b: Source,
    ) -> Done<bool> {
        if let CmpOp::Eq | CmpOp::Ne = cmp {
            match width {
                Width::Word => three!(self, vpcmpeqd, S0, a, b),
                Width::Double => three!(self, vpcmpeqq, S0, a, b),
            }
            return Ok(cmp == CmpOp::Ne);
        }
        let (mut a, mut b) = (a, self.in_register(b, S1)?);
        if compared == Compared::Unsigned {
            let signs = ymmword_ptr(at(SIGNS[usize::from(width == Width::Double)]));
            self.a.vpxor(Y[S0], Y[a], signs)?;
            self.a.vpxor(Y[S1], Y[b], signs)?;
            (a, b) = (S0, S1);
        }
        let (greater, complement) = match cmp {
            CmpOp::Gt | CmpOp::Hi => ([a, b], false),
            CmpOp::Le | CmpOp::Ls => ([a, b], true),
            CmpOp::Lt | CmpOp::Lo => ([b, a], false),
            _ => ([b, a], true),
        };
        match width {
            Width::Word => self.a.vpcmpgtd(Y[S0], Y[greater[0]], Y[greater[1]])?,
            Width::Double => self.a.vpcmpgtq(Y[S0], Y[greater[0]], Y[greater[1]])?,
        }
        Ok(complement)
    }
}

/// All ones.
const ONES: usize = offset_of!(Context, tables) + offset_of!(Tables, ones);
/// The signs of words and of doubles.
const SIGNS: [usize; 2] = [
    offset_of!(Context, tables) + offset_of!(Tables, word_signs),
    offset_of!(Context, tables) + offset_of!(Tables, double_signs),
];
