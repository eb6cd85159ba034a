//! Lane operations.

use super::*;
use crate::emit::predicates::of_floats;
use crate::liveness::result;
use isa::CmpOp;
use semantics::formula::{self, Compared, Float, Formula, Integer};
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
        let count = self.lines(width);
        let mut new = [0; 8];
        for number in 0..count {
            new[number as usize] = self.new_register()?;
            self.line_avx2(formula, operands, number, new[number as usize])?;
        }
        let new = &new[..count as usize];
        let checks =
            matches!(formula, Formula::Float(_, Width::Double) | Formula::FusedMultiplyAdd(Width::Double));
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
            let (position, start, guarded) = (self.position, self.start, guard != Pred::TRUE);
            let after = self.file.clone();
            let (before, after) = (Box::new(before), Box::new(after));
            self.cold.push(Cold::Host { label, resume, position, start, before, after, guarded });
        }
        Ok(())
    }

    /// The words of a line of doubles as doubles.
    fn widen_avx2(&mut self, slot: Slot, number: u32, signed: bool, to: usize) -> Done {
        let line = self.line(slot, number / 2);
        let from = match self.file.peek(line) {
            None => {
                let half = xmmword_ptr(self.place(line) + 16 * (number % 2) as i32);
                return match signed {
                    true => self.a.vpmovsxdq(Y[to], half),
                    false => self.a.vpmovzxdq(Y[to], half),
                };
            }
            Some(from) if number.is_multiple_of(2) => from,
            Some(from) => {
                self.a.vextracti128(X[to], Y[from], 1)?;
                to
            }
        };
        if signed { self.a.vpmovsxdq(Y[to], X[from]) } else { self.a.vpmovzxdq(Y[to], X[from]) }
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
            Formula::Integer(Integer::ShiftLeft | Integer::ShiftRight | Integer::ShiftRightSigned, _) => {
                self.shift_avx2(formula, o, number, to)?;
            }
            Formula::Integer(op, width) => {
                let a = self.loaded(a, number, S0)?;
                let b = self.source_of(b, number);
                self.integer_avx2(op, width, to, a, b)?;
            }
            Formula::MultiplyAdd(width) => {
                let a = self.loaded(a, number, S0)?;
                let b = self.source_of(b, number);
                self.integer_avx2(Integer::Multiply, width, to, a, b)?;
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
            Formula::Extend { signed } => self.widen_avx2(a, number, signed, to)?,
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
            Formula::Float(float, width) => {
                let a = self.loaded(a, number, S0)?;
                let b = self.source_of(b, number);
                match (float, width) {
                    (Float::Add, Word) => three!(self, vaddps, to, a, b),
                    (Float::Subtract, Word) => three!(self, vsubps, to, a, b),
                    (Float::Multiply, Word) => three!(self, vmulps, to, a, b),
                    (Float::Add, Double) => three!(self, vaddpd, to, a, b),
                    (Float::Subtract, Double) => three!(self, vsubpd, to, a, b),
                    (Float::Multiply, Double) => three!(self, vmulpd, to, a, b),
                }
            }
            Formula::FusedMultiplyAdd(width) => {
                let a = self.loaded(a, number, to)?;
                if a != to {
                    self.a.vmovdqa(Y[to], Y[a])?;
                }
                let b = self.loaded(b, number, S0)?;
                let c = self.source_of(c, number);
                match width {
                    Word => three!(self, vfmadd213ps, to, b, c),
                    Double => three!(self, vfmadd213pd, to, b, c),
                }
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

    fn shift_avx2(&mut self, formula: Formula, o: &Operands, number: u32, to: usize) -> Done {
        use Width::{Double, Word};
        let Formula::Integer(op, width) = formula else { return Ok(()) };
        let a = self.loaded(o.src[0], number, S0)?;
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
        if let Some(amount) = self.known(o.src[1]) {
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
                Word => self.source_of(o.src[1], number),
                Double => {
                    self.widen_avx2(o.src[1], number, false, S1)?;
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
            if compared == Compared::Float {
                let how = of_floats(cmp);
                match (width, b) {
                    (Width::Word, Source::Register(b)) => self.a.vcmpps(Y[S0], Y[a], Y[b], how)?,
                    (Width::Word, Source::Memory(b)) => self.a.vcmpps(Y[S0], Y[a], b, how)?,
                    (Width::Double, Source::Register(b)) => self.a.vcmppd(Y[S0], Y[a], Y[b], how)?,
                    (Width::Double, Source::Memory(b)) => self.a.vcmppd(Y[S0], Y[a], b, how)?,
                }
            } else {
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
