//! Lane operations.

use super::*;
use crate::emit::double;
use crate::emit::predicates::nearest;
use crate::liveness::{is_checked, result, sources};
use isa::{IntRounding, Rounding};
use semantics::formula::{self, Float, Format, Formula, Half, Integer, Sign, Unary};
use semantics::lanes::Operands;

/// One instruction of three operands that are floats, the first with its mask and the last of any kind, whose result is rounded as
/// is said.
macro_rules! rounded {
    ($self:ident, $method:ident, $to:expr, $a:expr, $b:expr, $rounding:expr) => {
        match $b {
            Source::Register(b) => $self.a.$method($to, Z[$a], rounding_as(Z[b], $rounding))?,
            Source::Memory(b) => $self.a.$method($to, Z[$a], b)?,
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
        let count = self.computed(width);
        // Before anything is computed, as the host may have to.
        for (slot, width) in sources(formula, operands) {
            if !self.is_uniform(slot) {
                // The first lines of a result take up to two of an operand that is wider.
                for number in 0..self.lines(width).min(2 * count) {
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
        let mut spare = [0; approximate::SPARE];
        let spared = match formula {
            Formula::Approximate(..) => approximate::SPARE,
            Formula::Halves(..) => halves::SPARE,
            _ => 0,
        };
        for register in &mut spare[..spared] {
            *register = self.new_register()?;
        }
        for number in 0..count {
            let to = new[number as usize];
            if let Formula::Approximate(function, flushes) = formula {
                let from = self.fetch(operands.src[0], width, number)?;
                self.unusual(function, flushes, from)?;
                self.lanes_of_k7(number, guard)?;
                if number == 0 {
                    self.a.kmovw(k6, k7)?
                } else {
                    self.a.korw(k6, k6, k7)?
                }
                self.approximate(function, from, to, spare)?;
                continue;
            }
            if let Formula::Halves(op, half) = formula {
                let [a, b, c, d, _] = spare;
                self.pairs(op, half, operands, number, to, [a, b, c, d])?;
                continue;
            }
            self.line_of(formula, operands, number, to)?;
            if checks {
                let unordered = if number == 0 { k6 } else { k7 };
                self.a.vcmppd(unordered, Z[to], Z[to], 3)?;
                if number != 0 {
                    self.a.korb(k6, k6, k7)?;
                }
            }
        }
        let resumes = match checks {
            true => {
                let (host, resume) = (self.a.create_label(), self.a.create_label());
                self.a.kortestw(k6, k6)?;
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
            self.or_host(label, resume, before, guard);
        }
        Ok(())
    }

    /// The register whose lower half is half a line: this one, if that is the upper half.
    pub(super) fn half(&mut self, from: usize, upper: bool, otherwise: usize) -> Done<usize> {
        if !upper {
            return Ok(from);
        }
        self.a.vextracti64x4(Y[otherwise], Z[from], 1)?;
        Ok(otherwise)
    }

    /// A line of a float operand, in a register where a direction of rounding is said.
    fn float_source(&mut self, slot: Slot, width: Width, number: u32, rounding: Rounding) -> Done<Source> {
        let source = self.source(slot, width, number)?;
        if rounding != Rounding::Rn && matches!(source, Source::Memory(_)) {
            let place = r14 + 128 * slot.row() as i32;
            match width {
                Width::Word => self.a.vbroadcastss(Z[S0], dword_ptr(place))?,
                Width::Double => self.a.vbroadcastsd(Z[S0], qword_ptr(place))?,
            }
            return Ok(Source::Register(S0));
        }
        Ok(source)
    }

    /// A register of floats to be computed for the lanes that run. What others have may be subnormal, which would take a hundred
    /// times as long on Intel's processors.
    fn of_lanes(&self, register: usize, width: Width, number: u32) -> AsmRegisterZmm {
        let mask = match width {
            Width::Word => HALVES[number as usize],
            Width::Double => QUARTERS[number as usize],
        };
        if self.masked() { Z[register].k(mask).z() } else { Z[register] }
    }

    /// A float whose subnormal values become zeros: this one, if it need not, else the other one.
    fn flushed(&mut self, format: Format, from: usize, otherwise: usize) -> Done<usize> {
        if format != Format::SingleFlushed {
            return Ok(from);
        }
        self.a.vmulps(Z[otherwise], Z[from], dword_bcst(at(word(context::ONE))))?;
        Ok(otherwise)
    }

    fn sign(&mut self, sign: Sign, width: Width, from: usize, to: usize) -> Done {
        match (sign, width) {
            (Sign::Negate, _) => {
                self.a.vpxord(Z[S0], Z[S0], Z[S0])?;
                match width {
                    Width::Word => self.a.vpsubd(Z[to], Z[S0], Z[from]),
                    Width::Double => self.a.vpsubq(Z[to], Z[S0], Z[from]),
                }
            }
            (Sign::Magnitude, Width::Word) => self.a.vpabsd(Z[to], Z[from]),
            (Sign::Magnitude, Width::Double) => self.a.vpabsq(Z[to], Z[from]),
        }
    }

    fn unary(&mut self, unary: Unary, format: Format, number: u32, from: usize, to: usize) -> Done {
        use Width::{Double, Word};
        // Roots and reciprocals flush their operands themselves.
        let from = match unary {
            Unary::SquareRoot | Unary::Reciprocal => from,
            _ => self.flushed(format, from, to)?,
        };
        match (unary, format.width()) {
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
            (Unary::SquareRoot, Word) => self.a.vsqrtps(self.of_lanes(to, Word, number), Z[from]),
            (Unary::SquareRoot, Double) => self.a.vsqrtpd(self.of_lanes(to, Double, number), Z[from]),
            (Unary::Reciprocal, Word) => {
                self.a.vbroadcastss(Z[S0], dword_ptr(at(word(context::ONE))))?;
                self.a.vdivps(self.of_lanes(to, Word, number), Z[S0], Z[from])
            }
            (Unary::Reciprocal, Double) => {
                self.a.vbroadcastsd(Z[S0], qword_ptr(at(double(context::ONE))))?;
                self.a.vdivpd(self.of_lanes(to, Double, number), Z[S0], Z[from])
            }
            (Unary::Round(rounding), Word) => self.a.vrndscaleps(Z[to], Z[from], 8 | nearest(rounding)),
            (Unary::Round(rounding), Double) => self.a.vrndscalepd(Z[to], Z[from], 8 | nearest(rounding)),
            (Unary::Saturate, _) => {
                // The second operand where the first one is no number, or both are zeros.
                self.a.vpxord(Z[S0], Z[S0], Z[S0])?;
                self.a.vmaxps(Z[to], Z[from], Z[S0])?;
                self.a.vminps(Z[to], Z[to], dword_bcst(at(word(context::ONE))))
            }
        }
    }

    /// Some bits of words, extended.
    pub(in crate::emit) fn field(
        &mut self,
        first: u32,
        bits: u32,
        signed: bool,
        mut from: usize,
        to: usize,
    ) -> Done {
        let (above, unused) = (32 - first - bits, 32 - bits);
        if above != 0 {
            self.a.vpslld(Z[to], Z[from], above)?;
            from = to;
        }
        match (unused, signed) {
            (0, _) if from == to => Ok(()),
            (0, _) => self.a.vmovdqa64(Z[to], Z[from]),
            (_, true) => self.a.vpsrad(Z[to], Z[from], unused),
            (_, false) => self.a.vpsrld(Z[to], Z[from], unused),
        }
    }

    /// Words as floats of 16 bits, rounded to nearest.
    fn half_of_word(&mut self, half: Half, from: usize, to: usize) -> Done {
        match half {
            Half::F16 => {
                self.a.vcvtps2ph(Y[S0], Z[from], 0)?;
                self.a.vpmovzxwd(Z[to], Y[S0])?;
            }
            Half::Bf16 => {
                self.rounded_to_bf16(from, to)?;
                self.a.vpsrld(Z[to], Z[to], 16)?;
            }
        }
        // What is no number is the same in both.
        self.a.vcmpps(k7, Z[from], Z[from], 3)?;
        self.a.vpbroadcastd(Z[to].k7(), dword_ptr(at(word(context::LESS_THAN_HALF))))
    }

    /// Half a line of words as doubles.
    pub(super) fn widen(&mut self, from: usize, upper: bool, signed: bool, to: usize) -> Done {
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
            Formula::Integer(
                op @ (Integer::ShiftLeft | Integer::ShiftRight | Integer::ShiftRightSigned),
                width,
            ) => {
                let a = self.fetch(a, width, number)?;
                self.shift(op, width, a, b, number, to)?;
            }
            Formula::Integer(Integer::Multiply, Word) => self.multiply([a, b], None, number, to)?,
            Formula::Integer(op, width) => {
                let a = self.fetch(a, width, number)?;
                let b = self.source(b, width, number)?;
                self.integer(op, width, to, a, b)?;
            }
            Formula::Half(op, signed) => {
                let a = self.fetch(a, Word, number)?;
                self.field(0, 16, signed, a, S0)?;
                if let Integer::ShiftRight | Integer::ShiftRightSigned = op {
                    return self.shift(op, Word, S0, b, number, to);
                }
                let b = self.fetch(b, Word, number)?;
                self.field(0, 16, signed, b, S1)?;
                self.integer(op, Word, to, S0, Source::Register(S1))?;
            }
            Formula::MultiplyAdd(Word) => self.multiply([a, b], Some(c), number, to)?,
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
            Formula::Extend { bits, signed } => {
                let mut from = self.fetch(a, Word, number / 2)?;
                if bits < 32 {
                    self.field(0, bits, signed, from, S0)?;
                    from = S0;
                }
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
            Formula::Float(float @ (Float::Minimum | Float::Maximum), format, _) => {
                let width = format.width();
                let (a, b) = (self.fetch(a, width, number)?, self.fetch(b, width, number)?);
                let (a, b) = (self.flushed(format, a, S0)?, self.flushed(format, b, S1)?);
                // The sign is that of what was chosen. A quiet NaN loses against a number as it should; a signalling one would
                // not, and is made quiet first.
                let how = if float == Float::Minimum { 4 } else { 5 };
                match width {
                    Word => {
                        self.a.vrangeps(Z[S0], Z[a], Z[a], how)?;
                        self.a.vrangeps(Z[S1], Z[b], Z[b], how)?;
                        self.a.vrangeps(Z[to], Z[S0], Z[S1], how)?;
                    }
                    Double => {
                        self.a.vrangepd(Z[S0], Z[a], Z[a], how)?;
                        self.a.vrangepd(Z[S1], Z[b], Z[b], how)?;
                        self.a.vrangepd(Z[to], Z[S0], Z[S1], how)?;
                    }
                }
            }
            Formula::Float(float, format, rounding) => {
                let width = format.width();
                let a = self.fetch(a, width, number)?;
                let b = self.float_source(b, width, number, rounding)?;
                let to = self.of_lanes(to, width, number);
                match (float, width) {
                    (Float::Add, Word) => rounded!(self, vaddps, to, a, b, rounding),
                    (Float::Subtract, Word) => rounded!(self, vsubps, to, a, b, rounding),
                    (Float::Multiply, Word) => rounded!(self, vmulps, to, a, b, rounding),
                    (Float::Add, Double) => rounded!(self, vaddpd, to, a, b, rounding),
                    (Float::Subtract, Double) => rounded!(self, vsubpd, to, a, b, rounding),
                    (Float::Multiply, Double) => rounded!(self, vmulpd, to, a, b, rounding),
                    (Float::Divide, Word) => rounded!(self, vdivps, to, a, b, rounding),
                    (Float::Divide, Double) => rounded!(self, vdivpd, to, a, b, rounding),
                    (Float::Minimum | Float::Maximum, _) => {}
                }
            }
            Formula::FusedMultiplyAdd(format, rounding, minus) => {
                let width = format.width();
                let a = self.fetch(a, width, number)?;
                let b = self.fetch(b, width, number)?;
                let c = self.float_source(c, width, number, rounding)?;
                self.a.vmovdqa64(Z[to], Z[a])?;
                let to = self.of_lanes(to, width, number);
                match (width, minus) {
                    (Word, [false, false]) => rounded!(self, vfmadd213ps, to, b, c, rounding),
                    (Word, [false, true]) => rounded!(self, vfmsub213ps, to, b, c, rounding),
                    (Word, [true, false]) => rounded!(self, vfnmadd213ps, to, b, c, rounding),
                    (Word, [true, true]) => rounded!(self, vfnmsub213ps, to, b, c, rounding),
                    (Double, [false, false]) => rounded!(self, vfmadd213pd, to, b, c, rounding),
                    (Double, [false, true]) => rounded!(self, vfmsub213pd, to, b, c, rounding),
                    (Double, [true, false]) => rounded!(self, vfnmadd213pd, to, b, c, rounding),
                    (Double, [true, true]) => rounded!(self, vfnmsub213pd, to, b, c, rounding),
                }
            }
            Formula::Unary(unary, format) => {
                let from = self.fetch(a, format.width(), number)?;
                self.unary(unary, format, number, from, to)?;
            }
            Formula::Sign(sign, width) => {
                let from = self.fetch(a, width, number)?;
                self.sign(sign, width, from, to)?;
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
            Formula::Field { first, bits, signed } => {
                let from = self.fetch(a, Word, number)?;
                self.field(first, bits, signed, from, to)?;
            }
            Formula::Join { bits } => {
                let a = self.fetch(a, Word, number)?;
                self.field(0, bits, false, a, S0)?;
                let b = self.fetch(b, Word, number)?;
                self.a.vpslld(Z[to], Z[b], bits)?;
                self.a.vpord(Z[to], Z[to], Z[S0])?;
            }
            Formula::Divide { signed, remainder } => {
                self.divide(signed, o, number, to)?;
                let (a, b) = (self.fetch(a, Word, number)?, self.fetch(b, Word, number)?);
                if remainder {
                    self.a.vpmulld(Z[to], Z[to], Z[b])?;
                    self.a.vpsubd(Z[to], Z[a], Z[to])?;
                }
                // All ones where nothing divides.
                self.a.vptestnmd(k7, Z[b], Z[b])?;
                self.a.vpternlogd(Z[to].k7(), Z[to], Z[to], 0xff)?;
            }
            Formula::Ones => {
                let from = self.fetch(a, Word, number)?;
                self.ones(from, to)?;
            }
            Formula::LeadingZeros => {
                let from = self.fetch(a, Word, number)?;
                self.a.vplzcntd(Z[to], Z[from])?;
            }
            Formula::CopySign(width) => {
                let (a, b) = (self.fetch(a, width, number)?, self.fetch(b, width, number)?);
                match width {
                    Word => self.a.vpbroadcastd(Z[to], dword_ptr(at(SIGN)))?,
                    Double => self.a.vpbroadcastq(Z[to], qword_ptr(at(DOUBLE_SIGN)))?,
                }
                // Bits of the first one where the sign is, else of the second one.
                self.a.vpternlogd(Z[to], Z[a], Z[b], 0xca)?;
            }
            Formula::ToFloat { bits: bits @ ..32, signed, to: width } => {
                let from = self.fetch(a, Word, number / width.rows())?;
                self.field(0, bits, signed, from, S0)?;
                match width {
                    Word => self.a.vcvtdq2ps(Z[to], Z[S0])?,
                    Double => {
                        let half = self.half(S0, number % 2 == 1, to)?;
                        self.a.vcvtdq2pd(Z[to], Y[half])?;
                    }
                }
            }
            Formula::ToFloat { bits: 32, signed, to: Word } => {
                let from = self.fetch(a, Word, number)?;
                match signed {
                    true => self.a.vcvtdq2ps(Z[to], Z[from])?,
                    false => self.a.vcvtudq2ps(Z[to], Z[from])?,
                }
            }
            Formula::ToFloat { bits: 32, signed, to: Double } => {
                let from = self.fetch(a, Word, number / 2)?;
                let half = self.half(from, number % 2 == 1, to)?;
                match signed {
                    true => self.a.vcvtdq2pd(Z[to], Y[half])?,
                    false => self.a.vcvtudq2pd(Z[to], Y[half])?,
                }
            }
            Formula::ToFloat { signed, to: Double, .. } => {
                let from = self.fetch(a, Double, number)?;
                match signed {
                    true => self.a.vcvtqq2pd(Z[to], Z[from])?,
                    false => self.a.vcvtuqq2pd(Z[to], Z[from])?,
                }
            }
            Formula::ToFloat { signed, to: Word, .. } => {
                for (half, part) in [S0, S1].into_iter().enumerate() {
                    let from = self.fetch(a, Double, 2 * number + half as u32)?;
                    match signed {
                        true => self.a.vcvtqq2ps(Y[part], Z[from])?,
                        false => self.a.vcvtuqq2ps(Y[part], Z[from])?,
                    }
                }
                self.a.vinserti64x4(Z[to], Z[S0], Y[S1], 1)?;
            }
            Formula::ToInteger { from, bits: 64, signed, rounding } => {
                self.double_integer(a, from, signed, rounding, number, to)?;
            }
            Formula::ToInteger { from: Word, bits, signed, rounding } => {
                // The nearest narrow one is the nearest word's.
                let (narrow, signed) = ((bits < 32).then_some(signed), signed || bits < 32);
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
                if let Some(signed) = narrow {
                    let [least, greatest] = context::limits(bits, signed);
                    self.a.vpmaxsd(Z[to], Z[to], dword_bcst(at(word(least))))?;
                    self.a.vpminsd(Z[to], Z[to], dword_bcst(at(word(greatest))))?;
                }
            }
            Formula::ToInteger { from: Double, signed, rounding, .. } => {
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
                self.half_of_word(half, from, to)?;
            }
            Formula::ToHalves(half) => {
                let (upper, lower) = (self.fetch(a, Word, number)?, self.fetch(b, Word, number)?);
                self.half_of_word(half, upper, S1)?;
                self.a.vpslld(Z[S1], Z[S1], 16)?;
                self.half_of_word(half, lower, to)?;
                self.a.vpord(Z[to], Z[to], Z[S1])?;
            }
            Formula::Insert { first, bits } => {
                let a = self.fetch(a, Word, number)?;
                let b = self.fetch(b, Word, number)?;
                let place = (u32::MAX >> (32 - bits)) << first;
                self.broadcast(place, to)?;
                self.a.vpslld(Z[S0], Z[a], first)?;
                // Where a bit of the place is set that of the second, else of the third.
                self.a.vpternlogd(Z[to], Z[S0], Z[b], 0xca)?;
            }
            Formula::Bytes(bytes) => {
                let from = [self.fetch(a, Word, number)?, self.fetch(b, Word, number)?];
                self.bytes(bytes, from, to)?;
            }
            Formula::DotProduct(signed) => {
                let from = [self.fetch(a, Word, number)?, self.fetch(b, Word, number)?];
                let c = self.fetch(c, Word, number)?;
                self.dot_product(signed, from, c, to)?;
            }
            Formula::Resize { to: Double } => {
                let from = self.fetch(a, Word, number / 2)?;
                let half = self.half(from, number % 2 == 1, to)?;
                self.a.vcvtps2pd(self.of_lanes(to, Double, number), Y[half])?;
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
            Formula::Approximate(..) | Formula::Halves(..) | Formula::Compare(..) | Formula::Predicate(_) => {
            }
        }
        Ok(())
    }

    /// Leaves in `k7` only lanes of a line of words that take part.
    fn lanes_of_k7(&mut self, number: u32, guard: Pred) -> Done {
        if self.masked() {
            self.a.kandw(k7, k7, HALVES[number as usize])?;
        }
        if guard != Pred::TRUE {
            self.a.mov(eax, r11d)?;
            self.a.shr(eax, 16 * number)?;
            self.a.kmovw(k5, eax)?;
            self.a.kandw(k7, k7, k5)?;
        }
        Ok(())
    }

    /// A float to a double's integer. What is no number gives the least one with a sign, whose bits are 2 to the power 63.
    fn double_integer(
        &mut self,
        slot: Slot,
        from: Width,
        signed: bool,
        rounding: IntRounding,
        number: u32,
        to: usize,
    ) -> Done {
        match from {
            Width::Word => {
                let from = self.fetch(slot, Width::Word, number / 2)?;
                let half = self.half(from, number % 2 == 1, S0)?;
                // Exact: what is no number stays so.
                self.a.vcvtps2pd(Z[S0], Y[half])?;
                self.a.vrndscalepd(Z[S0], Z[S0], 8 | nearest(rounding))?;
            }
            Width::Double => {
                let from = self.fetch(slot, Width::Double, number)?;
                self.a.vrndscalepd(Z[S0], Z[from], 8 | nearest(rounding))?;
            }
        }
        if signed {
            self.a.vcvttpd2qq(Z[to], Z[S0])?;
            // All ones but the sign where it is too great.
            self.a.vcmppd(k7, Z[S0], qword_bcst(at(double(context::TWO_TO_63))), 29)?;
            self.a.vpternlogd(Z[S1], Z[S1], Z[S1], 0xff)?;
            self.a.vpsrlq(Z[to].k7(), Z[S1], 1)
        } else {
            self.a.vcmppd(k7, Z[S0], Z[S0], 3)?;
            self.a.vpxord(Z[S1], Z[S1], Z[S1])?;
            self.a.vmaxpd(Z[S0], Z[S1], Z[S0])?;
            self.a.vcvttpd2uqq(Z[to], Z[S0])?;
            self.a.vpbroadcastq(Z[to].k7(), qword_ptr(at(DOUBLE_SIGN)))
        }
    }
}

/// An operand that says how the result is rounded.
pub(super) fn rounding_as(register: AsmRegisterZmm, rounding: Rounding) -> AsmRegisterZmm {
    match rounding {
        Rounding::Rn => register,
        Rounding::Rz => register.rz_sae(),
        Rounding::Rm => register.rd_sae(),
        Rounding::Rp => register.ru_sae(),
    }
}
