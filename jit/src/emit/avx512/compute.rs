//! Lane operations.

use super::*;
use crate::emit::predicates::of_floats;
use crate::liveness::{result, sources};
use isa::CmpOp;
use semantics::formula::{self, Compared, Float, Formula, Integer};
use semantics::lanes::{Operands, combine};

/// One instruction of three operands, the last of any kind.
macro_rules! three {
    ($self:ident, $method:ident, $to:expr, $a:expr, $b:expr) => {
        match $b {
            Source::Register(b) => $self.a.$method(Z[$to], Z[$a], Z[b])?,
            Source::Memory(b) => $self.a.$method(Z[$to], Z[$a], b)?,
        }
    };
}

impl Emitter<'_> {
    /// Computes rows of a result.
    pub(in crate::emit) fn compute_avx512(
        &mut self,
        formula: Formula,
        operands: &Operands,
        guard: Pred,
    ) -> Done {
        let Some(width) = result(formula) else { return Ok(()) };
        let count = self.lines(width);
        // Before anything is computed, as the host may have to.
        for (slot, width) in sources(formula, operands) {
            if !self.is_uniform(slot) {
                for number in 0..self.lines(width) {
                    self.fetch(slot, width, number)?;
                }
            }
        }
        if let Formula::Select(_) = formula {
            self.halves_of(operands.pred[2])?;
        }
        let mut new = [0; 4];
        for register in &mut new[..count as usize] {
            *register = self.new_register()?;
        }
        let checks =
            matches!(formula, Formula::Float(_, Width::Double) | Formula::FusedMultiplyAdd(Width::Double));
        if checks {
            self.predicate = None;
        }
        for number in 0..count {
            self.line_of(formula, operands, number, new[number as usize])?;
            if checks {
                let unordered = if number == 0 { k6 } else { k7 };
                let register = Z[new[number as usize]];
                self.a.vcmppd(unordered, register, register, 3)?;
                if number != 0 {
                    self.a.korb(k6, k6, k7)?;
                }
            }
        }
        let resumes = match checks {
            true => {
                let (host, resume) = (self.a.create_label(), self.a.create_label());
                self.a.kortestb(k6, k6)?;
                self.a.jne(host)?;
                Some((host, resume, self.file.clone()))
            }
            false => None,
        };
        for number in 0..count {
            let raw = self.is_raw(formula, operands, number);
            self.finish(operands.dst, width, number, new[number as usize], guard, raw)?;
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

    /// Half a line of words as doubles.
    fn widen(&mut self, from: usize, upper: bool, signed: bool, to: usize) -> Done {
        let half = if upper {
            self.a.vextracti64x4(Y[to], Z[from], 1)?;
            to
        } else {
            from
        };
        if signed { self.a.vpmovsxdq(Z[to], Y[half]) } else { self.a.vpmovzxdq(Z[to], Y[half]) }
    }

    /// Computes a line of the result.
    fn line_of(&mut self, formula: Formula, o: &Operands, number: u32, to: usize) -> Done {
        use Width::{Double, Word};
        let [a, b, c, _] = o.src;
        match formula {
            Formula::Copy(width) => {
                let from = self.fetch(a, width, number)?;
                self.a.vmovdqa64(Z[to], Z[from])?;
            }
            Formula::Not(width) => {
                let from = self.fetch(a, width, number)?;
                self.a.vpternlogd(Z[S0], Z[S0], Z[S0], 0xff)?;
                self.a.vpxord(Z[to], Z[from], Z[S0])?;
            }
            Formula::Integer(Integer::ShiftLeft | Integer::ShiftRight | Integer::ShiftRightSigned, _) => {
                self.shift(formula, o, number, to)?;
            }
            Formula::Integer(op, width) => {
                let a = self.fetch(a, width, number)?;
                let b = self.source(b, width, number)?;
                self.integer(op, width, to, a, b)?;
            }
            Formula::MultiplyAdd(width) => {
                let a = self.fetch(a, width, number)?;
                let b = self.source(b, width, number)?;
                self.integer(Integer::Multiply, width, S0, a, b)?;
                let c = self.source(c, width, number)?;
                self.integer(Integer::Add, width, to, S0, c)?;
            }
            Formula::MultiplyWide { signed, add } => {
                let upper = number % 2 == 1;
                let a = self.fetch(a, Word, number / 2)?;
                self.widen(a, upper, false, S0)?;
                let b = match self.source(b, Word, number / 2)? {
                    Source::Register(b) => {
                        self.widen(b, upper, false, S1)?;
                        Source::Register(S1)
                    }
                    // Pairs of equal words, of which the lower one counts.
                    Source::Memory(_) => Source::Memory(qword_bcst(r14 + 128 * b.row() as i32)),
                };
                let product = if add { S0 } else { to };
                if signed {
                    three!(self, vpmuldq, product, S0, b);
                } else {
                    three!(self, vpmuludq, product, S0, b);
                }
                if add {
                    let c = self.source(c, Double, number)?;
                    three!(self, vpaddq, to, S0, c);
                }
            }
            Formula::Extend { signed } => {
                let from = self.fetch(a, Word, number / 2)?;
                self.widen(from, number % 2 == 1, signed, to)?;
            }
            Formula::Truncate | Formula::Upper => {
                for half in 0..2 {
                    let from = self.fetch(a, Double, 2 * number + half)?;
                    let part = [S0, S1][half as usize];
                    if formula == Formula::Upper {
                        self.a.vpsrlq(Z[part], Z[from], 32)?;
                        self.a.vpmovqd(Y[part], Z[part])?;
                    } else {
                        self.a.vpmovqd(Y[part], Z[from])?;
                    }
                }
                self.a.vinserti64x4(Z[to], Z[S0], Y[S1], 1)?;
            }
            Formula::Pack => {
                let low = self.fetch(a, Word, number / 2)?;
                self.widen(low, number % 2 == 1, false, S0)?;
                let high = self.fetch(b, Word, number / 2)?;
                self.widen(high, number % 2 == 1, false, S1)?;
                self.a.vpsllq(Z[S1], Z[S1], 32)?;
                self.a.vporq(Z[to], Z[S0], Z[S1])?;
            }
            Formula::Offset => {
                let from = self.fetch(a, Double, number)?;
                self.a.mov(rax, o.imm)?;
                self.a.vpbroadcastq(Z[S0], rax)?;
                self.a.vpaddq(Z[to], Z[from], Z[S0])?;
            }
            Formula::Logic3 => {
                let a = self.fetch(a, Word, number)?;
                let b = self.fetch(b, Word, number)?;
                let c = self.source(c, Word, number)?;
                self.a.vmovdqa64(Z[to], Z[a])?;
                let table = u32::from(formula::table(o.imm));
                match c {
                    Source::Register(c) => self.a.vpternlogd(Z[to], Z[b], Z[c], table)?,
                    Source::Memory(c) => self.a.vpternlogd(Z[to], Z[b], c, table)?,
                }
            }
            Formula::Float(float, width) => {
                let a = self.fetch(a, width, number)?;
                let b = self.source(b, width, number)?;
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
                let a = self.fetch(a, width, number)?;
                let b = self.fetch(b, width, number)?;
                let c = self.source(c, width, number)?;
                self.a.vmovdqa64(Z[to], Z[a])?;
                match width {
                    Word => three!(self, vfmadd213ps, to, b, c),
                    Double => three!(self, vfmadd213pd, to, b, c),
                }
            }
            Formula::Select(width) => {
                // `k5` and `k6` hold the predicate without its negation.
                let negated = o.pred[2] != Pred::register(o.pred[2].index(), false);
                let [yes, no] = if negated { [b, a] } else { [a, b] };
                let no = self.fetch(no, width, number)?;
                let yes = self.source(yes, width, number)?;
                let mask = match width {
                    Word => [k5, k6][number as usize],
                    Double => {
                        let half = [k5, k6][number as usize / 2];
                        if number % 2 == 1 {
                            self.a.kshiftrw(k7, half, 8)?;
                            k7
                        } else {
                            half
                        }
                    }
                };
                match (width, yes) {
                    (Word, Source::Register(yes)) => self.a.vpblendmd(Z[to].k(mask), Z[no], Z[yes])?,
                    (Word, Source::Memory(yes)) => self.a.vpblendmd(Z[to].k(mask), Z[no], yes)?,
                    (Double, Source::Register(yes)) => self.a.vpblendmq(Z[to].k(mask), Z[no], Z[yes])?,
                    (Double, Source::Memory(yes)) => self.a.vpblendmq(Z[to].k(mask), Z[no], yes)?,
                }
            }
            Formula::Compare(..) | Formula::Predicate(_) => {}
        }
        Ok(())
    }

    fn integer(&mut self, op: Integer, width: Width, to: usize, a: usize, b: Source) -> Done {
        use Integer as I;
        use Width::{Double, Word};
        match (op, width) {
            (I::Add, Word) => three!(self, vpaddd, to, a, b),
            (I::Add, Double) => three!(self, vpaddq, to, a, b),
            (I::Subtract, Word) => three!(self, vpsubd, to, a, b),
            (I::Subtract, Double) => three!(self, vpsubq, to, a, b),
            (I::Multiply, Word) => three!(self, vpmulld, to, a, b),
            (I::Multiply, Double) => three!(self, vpmullq, to, a, b),
            (I::And, Word) => three!(self, vpandd, to, a, b),
            (I::And, Double) => three!(self, vpandq, to, a, b),
            (I::Or, Word) => three!(self, vpord, to, a, b),
            (I::Or, Double) => three!(self, vporq, to, a, b),
            (I::Xor, Word) => three!(self, vpxord, to, a, b),
            (I::Xor, Double) => three!(self, vpxorq, to, a, b),
            (I::MinSigned, Word) => three!(self, vpminsd, to, a, b),
            (I::MinSigned, Double) => three!(self, vpminsq, to, a, b),
            (I::MinUnsigned, Word) => three!(self, vpminud, to, a, b),
            (I::MinUnsigned, Double) => three!(self, vpminuq, to, a, b),
            (I::MaxSigned, Word) => three!(self, vpmaxsd, to, a, b),
            (I::MaxSigned, Double) => three!(self, vpmaxsq, to, a, b),
            (I::MaxUnsigned, Word) => three!(self, vpmaxud, to, a, b),
            (I::MaxUnsigned, Double) => three!(self, vpmaxuq, to, a, b),
            (I::ShiftLeft | I::ShiftRight | I::ShiftRightSigned, _) => {}
        }
        Ok(())
    }

    fn shift(&mut self, formula: Formula, o: &Operands, number: u32, to: usize) -> Done {
        use Width::{Double, Word};
        let Formula::Integer(op, width) = formula else { return Ok(()) };
        let a = self.fetch(o.src[0], width, number)?;
        if let Some(amount) = self.known(o.src[1]) {
            let amount = (amount as u32).min(255);
            return match (op, width) {
                (Integer::ShiftLeft, Word) => self.a.vpslld(Z[to], Z[a], amount),
                (Integer::ShiftLeft, Double) => self.a.vpsllq(Z[to], Z[a], amount),
                (Integer::ShiftRight, Word) => self.a.vpsrld(Z[to], Z[a], amount),
                (Integer::ShiftRight, Double) => self.a.vpsrlq(Z[to], Z[a], amount),
                (_, Word) => self.a.vpsrad(Z[to], Z[a], amount),
                (_, Double) => self.a.vpsraq(Z[to], Z[a], amount),
            };
        }
        let by = match width {
            Word => self.source(o.src[1], Word, number)?,
            Double => {
                let by = self.fetch(o.src[1], Word, number / 2)?;
                self.widen(by, number % 2 == 1, false, S0)?;
                Source::Register(S0)
            }
        };
        match (op, width) {
            (Integer::ShiftLeft, Word) => three!(self, vpsllvd, to, a, by),
            (Integer::ShiftLeft, Double) => three!(self, vpsllvq, to, a, by),
            (Integer::ShiftRight, Word) => three!(self, vpsrlvd, to, a, by),
            (Integer::ShiftRight, Double) => three!(self, vpsrlvq, to, a, by),
            (_, Word) => three!(self, vpsravd, to, a, by),
            (_, Double) => three!(self, vpsravq, to, a, by),
        }
        Ok(())
    }

    /// The halves of the register of a predicate to `k5` and `k6`.
    fn halves_of(&mut self, predicate: Pred) -> Done {
        if self.predicate != Some(predicate.index()) {
            self.halves(predicate.index())?;
            self.predicate = Some(predicate.index());
        }
        Ok(())
    }

    /// Compares; the predicates get the answers.
    pub(in crate::emit) fn compare_avx512(
        &mut self,
        cmp: CmpOp,
        compared: Compared,
        width: Width,
        o: &Operands,
        guard: Pred,
    ) -> Done {
        // The first line of each half, then the second one where there is one.
        let masks = match width {
            Width::Word => [k5, k6, k7, k7],
            Width::Double => [k5, k7, k6, k7],
        };
        self.predicate = None;
        for number in 0..self.lines(width) {
            let a = self.fetch(o.src[0], width, number)?;
            let b = self.source(o.src[1], width, number)?;
            let to = masks[number as usize];
            macro_rules! compare {
                ($method:ident, $how:expr) => {
                    match b {
                        Source::Register(b) => self.a.$method(to, Z[a], Z[b], $how)?,
                        Source::Memory(b) => self.a.$method(to, Z[a], b, $how)?,
                    }
                };
            }
            match (compared, width) {
                (Compared::Signed, Width::Word) => compare!(vpcmpd, of_integers(cmp)),
                (Compared::Signed, Width::Double) => compare!(vpcmpq, of_integers(cmp)),
                (Compared::Unsigned, Width::Word) => compare!(vpcmpud, of_integers(cmp)),
                (Compared::Unsigned, Width::Double) => compare!(vpcmpuq, of_integers(cmp)),
                (Compared::Float, Width::Word) => compare!(vcmpps, of_floats(cmp)),
                (Compared::Float, Width::Double) => compare!(vcmppd, of_floats(cmp)),
            }
            if width == Width::Double && number % 2 == 1 {
                let half = masks[number as usize - 1];
                self.a.kunpckbw(half, k7, half)?;
            }
        }
        self.a.kunpckwd(k7, k6, k5)?;
        self.a.kmovd(eax, k7)?;
        self.compared(o, guard)?;
        let first = o.pred[0].index();
        let combined = o.imm & 3;
        if guard == Pred::TRUE && combined == combine::NONE && first != 0 && first != o.pred[1].index() {
            self.predicate = Some(first);
        }
        Ok(())
    }
}

/// The comparison of `vpcmp`.
fn of_integers(cmp: CmpOp) -> u32 {
    match cmp {
        CmpOp::Eq => 0,
        CmpOp::Lt | CmpOp::Lo => 1,
        CmpOp::Le | CmpOp::Ls => 2,
        CmpOp::Ge | CmpOp::Hs => 5,
        CmpOp::Gt | CmpOp::Hi => 6,
        _ => 4,
    }
}
