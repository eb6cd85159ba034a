//! Lane operations.

use super::*;
use crate::emit::double;
use crate::emit::predicates::{nearest, of_floats};
use crate::liveness::{is_checked, result, sources};
use isa::CmpOp;
use isa::IntRounding;
use semantics::formula::{self, Compared, Float, Formula, Half, Integer, Unary};
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
        let checks = is_checked(formula);
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

    /// The register whose lower half is half a line: this one, if that is the upper half.
    fn half(&mut self, from: usize, upper: bool, otherwise: usize) -> Done<usize> {
        if !upper {
            return Ok(from);
        }
        self.a.vextracti64x4(Y[otherwise], Z[from], 1)?;
        Ok(otherwise)
    }

    fn unary(&mut self, unary: Unary, width: Width, from: usize, to: usize) -> Done {
        use Width::{Double, Word};
        match (unary, width) {
            (Unary::Negate, Word) => self.a.vpxord(Z[to], Z[from], dword_bcst(at(SIGN))),
            (Unary::Negate, Double) => self.a.vpxorq(Z[to], Z[from], qword_bcst(at(DOUBLE_SIGN))),
            (Unary::Magnitude, Word) => {
                self.a.vpbroadcastd(Z[S0], dword_ptr(at(SIGN)))?;
                self.a.vpandnd(Z[to], Z[S0], Z[from])
            }
            (Unary::Magnitude, Double) => {
                self.a.vpbroadcastq(Z[S0], qword_ptr(at(DOUBLE_SIGN)))?;
                self.a.vpandnq(Z[to], Z[S0], Z[from])
            }
            (Unary::SquareRoot, Word) => self.a.vsqrtps(Z[to], Z[from]),
            (Unary::SquareRoot, Double) => self.a.vsqrtpd(Z[to], Z[from]),
            (Unary::Reciprocal, Word) => {
                self.a.vbroadcastss(Z[S0], dword_ptr(at(word(context::ONE))))?;
                self.a.vdivps(Z[to], Z[S0], Z[from])
            }
            (Unary::Reciprocal, Double) => {
                self.a.vbroadcastsd(Z[S0], qword_ptr(at(double(context::ONE))))?;
                self.a.vdivpd(Z[to], Z[S0], Z[from])
            }
            (Unary::NegateInteger, _) => {
                self.a.vpxord(Z[S0], Z[S0], Z[S0])?;
                match width {
                    Word => self.a.vpsubd(Z[to], Z[S0], Z[from]),
                    Double => self.a.vpsubq(Z[to], Z[S0], Z[from]),
                }
            }
            (Unary::MagnitudeInteger, Word) => self.a.vpabsd(Z[to], Z[from]),
            (Unary::MagnitudeInteger, Double) => self.a.vpabsq(Z[to], Z[from]),
        }
    }

    /// Half a line of words as doubles.
    fn widen(&mut self, from: usize, upper: bool, signed: bool, to: usize) -> Done {
        let half = self.half(from, upper, to)?;
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
            Formula::Float(float @ (Float::Minimum | Float::Maximum), width) => {
                let a = self.fetch(a, width, number)?;
                let b = self.fetch(b, width, number)?;
                // The sign is that of what was chosen; what is no number is put right behind it.
                let how = if float == Float::Minimum { 4 } else { 5 };
                for (at, (tested, other)) in [(b, a), (a, b)].into_iter().enumerate() {
                    match width {
                        Word => {
                            if at == 0 {
                                self.a.vrangeps(Z[to], Z[a], Z[b], how)?;
                            }
                            self.a.vcmpps(k7, Z[tested], Z[tested], 3)?;
                            self.a.vmovdqa32(Z[to].k7(), Z[other])?;
                        }
                        Double => {
                            if at == 0 {
                                self.a.vrangepd(Z[to], Z[a], Z[b], how)?;
                            }
                            self.a.vcmppd(k7, Z[tested], Z[tested], 3)?;
                            self.a.vmovdqa64(Z[to].k7(), Z[other])?;
                        }
                    }
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
                    (Float::Divide, Word) => three!(self, vdivps, to, a, b),
                    (Float::Divide, Double) => three!(self, vdivpd, to, a, b),
                    (Float::Minimum | Float::Maximum, _) => {}
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
            Formula::Unary(unary, width) => {
                let from = self.fetch(a, width, number)?;
                self.unary(unary, width, from, to)?;
            }
            Formula::MultiplyHigh { signed } => {
                let a = self.fetch(a, Word, number)?;
                let b = match self.source(b, Word, number)? {
                    Source::Register(b) => b,
                    Source::Memory(place) => {
                        self.a.vpbroadcastd(Z[S1], dword_ptr(place))?;
                        S1
                    }
                };
                self.a.vpsrlq(Z[S0], Z[a], 32)?;
                self.a.vpsrlq(Z[S2], Z[b], 32)?;
                if signed {
                    self.a.vpmuldq(Z[S0], Z[S0], Z[S2])?;
                    self.a.vpmuldq(Z[S2], Z[a], Z[b])?;
                } else {
                    self.a.vpmuludq(Z[S0], Z[S0], Z[S2])?;
                    self.a.vpmuludq(Z[S2], Z[a], Z[b])?;
                }
                // The upper halves of the even words' products, and those of the odd ones' where they are.
                self.a.vmovshdup(Z[to], Z[S2])?;
                self.a.mov(eax, 0xaaaa)?;
                self.a.kmovw(k7, eax)?;
                self.a.vmovdqa32(Z[to].k7(), Z[S0])?;
            }
            Formula::Funnel { left, wrap } => {
                let a = self.fetch(a, Word, number)?;
                let b = self.fetch(b, Word, number)?;
                if let Some(amount) = self.known(c) {
                    let amount = if wrap { amount as u32 & 31 } else { (amount as u32).min(32) };
                    let (up, down) = if left { (amount, 32 - amount) } else { (32 - amount, amount) };
                    self.a.vpslld(Z[S0], Z[b], up)?;
                    self.a.vpsrld(Z[to], Z[a], down)?;
                } else {
                    let c = self.fetch(c, Word, number)?;
                    if wrap {
                        self.a.vpandd(Z[S0], Z[c], dword_bcst(at(word(context::THIRTY_ONE))))?;
                    } else {
                        self.a.vpminud(Z[S0], Z[c], dword_bcst(at(word(context::THIRTY_TWO))))?;
                    }
                    self.a.vpbroadcastd(Z[S1], dword_ptr(at(word(context::THIRTY_TWO))))?;
                    self.a.vpsubd(Z[S1], Z[S1], Z[S0])?;
                    let (up, down) = if left { (S0, S1) } else { (S1, S0) };
                    self.a.vpsrlvd(Z[to], Z[a], Z[down])?;
                    self.a.vpsllvd(Z[S0], Z[b], Z[up])?;
                }
                self.a.vpord(Z[to], Z[to], Z[S0])?;
            }
            Formula::Low { bits, signed } => {
                let from = self.fetch(a, Word, number)?;
                self.a.vpslld(Z[to], Z[from], 32 - bits)?;
                match signed {
                    true => self.a.vpsrad(Z[to], Z[to], 32 - bits)?,
                    false => self.a.vpsrld(Z[to], Z[to], 32 - bits)?,
                }
            }
            Formula::ToFloat { from: Word, signed, to: Word } => {
                let from = self.fetch(a, Word, number)?;
                match signed {
                    true => self.a.vcvtdq2ps(Z[to], Z[from])?,
                    false => self.a.vcvtudq2ps(Z[to], Z[from])?,
                }
            }
            Formula::ToFloat { from: Word, signed, to: Double } => {
                let from = self.fetch(a, Word, number / 2)?;
                let half = self.half(from, number % 2 == 1, to)?;
                match signed {
                    true => self.a.vcvtdq2pd(Z[to], Y[half])?,
                    false => self.a.vcvtudq2pd(Z[to], Y[half])?,
                }
            }
            Formula::ToFloat { from: Double, signed, to: Double } => {
                let from = self.fetch(a, Double, number)?;
                match signed {
                    true => self.a.vcvtqq2pd(Z[to], Z[from])?,
                    false => self.a.vcvtuqq2pd(Z[to], Z[from])?,
                }
            }
            Formula::ToFloat { from: Double, signed, to: Word } => {
                for (half, part) in [S0, S1].into_iter().enumerate() {
                    let from = self.fetch(a, Double, 2 * number + half as u32)?;
                    match signed {
                        true => self.a.vcvtqq2ps(Y[part], Z[from])?,
                        false => self.a.vcvtuqq2ps(Y[part], Z[from])?,
                    }
                }
                self.a.vinserti64x4(Z[to], Z[S0], Y[S1], 1)?;
            }
            Formula::ToInteger { from: Word, signed, rounding } => {
                let from = self.fetch(a, Word, number)?;
                let mut whole = from;
                if rounding != IntRounding::Rzi {
                    self.a.vrndscaleps(Z[to], Z[from], 8 | nearest(rounding))?;
                    whole = to;
                }
                if signed {
                    self.a.vcmpps(k7, Z[whole], dword_bcst(at(word(context::TWO_TO_31))), 29)?;
                    self.a.vcvttps2dq(Z[to], Z[whole])?;
                    self.a.vpbroadcastd(Z[to].k7(), dword_ptr(at(NAN)))?;
                    self.a.vcmpps(k7, Z[from], Z[from], 7)?;
                    self.a.vmovdqa32(Z[to].k7().z(), Z[to])?;
                } else {
                    // The second operand where the first one is no number.
                    self.a.vpxord(Z[S0], Z[S0], Z[S0])?;
                    self.a.vmaxps(Z[S0], Z[whole], Z[S0])?;
                    self.a.vcvttps2udq(Z[to], Z[S0])?;
                }
            }
            Formula::ToInteger { from: Double, signed, rounding } => {
                for (half, part) in [S0, S1].into_iter().enumerate() {
                    let from = self.fetch(a, Double, 2 * number + half as u32)?;
                    let mut whole = from;
                    if rounding != IntRounding::Rzi {
                        self.a.vrndscalepd(Z[part], Z[from], 8 | nearest(rounding))?;
                        whole = part;
                    }
                    // What is no number stays so as the second operand.
                    if signed {
                        self.a.vbroadcastsd(Z[S2], qword_ptr(at(double(context::GREATEST))))?;
                        self.a.vminpd(Z[part], Z[S2], Z[whole])?;
                        self.a.vbroadcastsd(Z[S2], qword_ptr(at(double(context::LEAST))))?;
                        self.a.vmaxpd(Z[part], Z[S2], Z[part])?;
                        self.a.vcvttpd2dq(Y[part], Z[part])?;
                    } else {
                        self.a.vcmppd(k7, Z[whole], Z[whole], 3)?;
                        self.a.vpxord(Z[S2], Z[S2], Z[S2])?;
                        self.a.vmaxpd(Z[part], Z[S2], Z[whole])?;
                        self.a.vcvttpd2udq(Y[part], Z[part])?;
                        self.a.vpbroadcastd(Y[part].k7(), dword_ptr(at(SIGN)))?;
                    }
                }
                self.a.vinserti64x4(Z[to], Z[S0], Y[S1], 1)?;
            }
            Formula::FromHalf(Half::F16) => {
                let from = self.fetch(a, Word, number)?;
                self.a.vpmovdw(Y[S0], Z[from])?;
                self.a.vcvtph2ps(Z[to], Y[S0])?;
            }
            Formula::FromHalf(Half::Bf16) => {
                let from = self.fetch(a, Word, number)?;
                self.a.vpslld(Z[to], Z[from], 16)?;
            }
            Formula::ToHalf(half) => {
                let from = self.fetch(a, Word, number)?;
                match half {
                    Half::F16 => {
                        self.a.vcvtps2ph(Y[S0], Z[from], 0)?;
                        self.a.vpmovzxwd(Z[to], Y[S0])?;
                    }
                    Half::Bf16 => {
                        // Half of the last place that stays, less one bit where that is even.
                        self.a.vpsrld(Z[S0], Z[from], 16)?;
                        self.a.vpandd(Z[S0], Z[S0], dword_bcst(at(word(context::BIT))))?;
                        self.a.vpaddd(Z[S0], Z[S0], Z[from])?;
                        self.a.vpaddd(Z[S0], Z[S0], dword_bcst(at(word(context::LESS_THAN_HALF))))?;
                        self.a.vpsrld(Z[to], Z[S0], 16)?;
                    }
                }
                // What is no number is the same in both.
                self.a.vcmpps(k7, Z[from], Z[from], 3)?;
                self.a.vpbroadcastd(Z[to].k7(), dword_ptr(at(word(context::LESS_THAN_HALF))))?;
            }
            Formula::Resize { to: Double } => {
                let from = self.fetch(a, Word, number / 2)?;
                let half = self.half(from, number % 2 == 1, to)?;
                self.a.vcvtps2pd(Z[to], Y[half])?;
            }
            Formula::Resize { to: Word } => {
                for (half, part) in [S0, S1].into_iter().enumerate() {
                    let from = self.fetch(a, Double, 2 * number + half as u32)?;
                    self.a.vcvtpd2ps(Y[part], Z[from])?;
                }
                self.a.vinserti64x4(Z[to], Z[S0], Y[S1], 1)?;
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
            let (mut a, mut b, mut compared) = (a, b, compared);
            // Halves in the upper ones of words are ordered like those.
            if let Compared::SignedHalf | Compared::UnsignedHalf = compared {
                let signed = compared == Compared::SignedHalf;
                compared = if signed { Compared::Signed } else { Compared::Unsigned };
                self.a.vpslld(Z[S0], Z[a], 16)?;
                match b {
                    Source::Register(b) => self.a.vpslld(Z[S1], Z[b], 16)?,
                    Source::Memory(b) => self.a.vpslld(Z[S1], b, 16)?,
                }
                (a, b) = (S0, Source::Register(S1));
            }
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
                (Compared::SignedHalf | Compared::UnsignedHalf, _) => {}
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
