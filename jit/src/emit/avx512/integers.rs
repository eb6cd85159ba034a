//! Integers.

use super::*;
use crate::emit::double;
use semantics::formula::Integer;
use semantics::lanes::Operands;

impl Emitter<'_> {
    /// The quotient of words; anything where the divisor is zero.
    pub(super) fn divide(&mut self, signed: bool, o: &Operands, number: u32, to: usize) -> Done {
        let [a, b, ..] = o.src;
        let uniform = self.is_uniform(b);
        if uniform {
            // The reciprocal, and one bit more: a product is not below its quotient then, nor as great as the next integer.
            self.a.vmovd(X[S1], dword_ptr(r14 + 128 * b.row() as i32))?;
            match signed {
                true => self.a.vcvtdq2pd(X[S1], X[S1])?,
                false => self.a.vcvtudq2pd(X[S1], X[S1])?,
            }
            self.a.vmovq(X[S0], qword_ptr(at(double(context::ONE))))?;
            self.a.vdivsd(X[S0], X[S0], X[S1])?;
            self.a.vmovq(rax, X[S0])?;
            self.a.inc(rax)?;
            self.a.vpbroadcastq(Z[S1], rax)?;
        }
        let a = self.fetch(a, Width::Word, number)?;
        let divisor = self.fetch(b, Width::Word, number)?;
        for upper in [false, true] {
            let half = self.half(a, upper, S0)?;
            match signed {
                true => self.a.vcvtdq2pd(Z[S0], Y[half])?,
                false => self.a.vcvtudq2pd(Z[S0], Y[half])?,
            }
            if uniform {
                self.a.vmulpd(Z[S0], Z[S0], Z[S1])?;
            } else {
                let half = self.half(divisor, upper, S1)?;
                match signed {
                    true => self.a.vcvtdq2pd(Z[S1], Y[half])?,
                    false => self.a.vcvtudq2pd(Z[S1], Y[half])?,
                }
                self.a.vdivpd(Z[S0], Z[S0], Z[S1])?;
            }
            let quotient = if upper { S0 } else { to };
            match signed {
                true => self.a.vcvttpd2dq(Y[quotient], Z[S0])?,
                false => self.a.vcvttpd2udq(Y[quotient], Z[S0])?,
            }
        }
        self.a.vinserti64x4(Z[to], Z[to], Y[S0], 1)
    }

    /// How many bits of words are set: of each byte by its halves, and these together.
    pub(super) fn ones(&mut self, from: usize, to: usize) -> Done {
        let low = |emitter: &mut Self, to: usize| {
            emitter.a.vpandd(Z[to], Z[to], dword_bcst(at(word(context::HALF_BYTES))))
        };
        let table = offset_of!(Context, tables) + offset_of!(Tables, ones_of_halves);
        self.a.vbroadcasti32x4(Z[S0], xmmword_ptr(at(table)))?;
        self.a.vpsrld(Z[S1], Z[from], 4)?;
        low(self, S1)?;
        self.a.vmovdqa64(Z[to], Z[from])?;
        low(self, to)?;
        self.a.vpshufb(Z[to], Z[S0], Z[to])?;
        self.a.vpshufb(Z[S1], Z[S0], Z[S1])?;
        self.a.vpaddb(Z[to], Z[to], Z[S1])?;
        self.a.vpbroadcastd(Z[S1], dword_ptr(at(word(context::BYTES_OF_ONE))))?;
        self.a.vpmaddubsw(Z[to], Z[to], Z[S1])?;
        self.a.vpbroadcastd(Z[S1], dword_ptr(at(word(context::HALVES_OF_ONE))))?;
        self.a.vpmaddwd(Z[to], Z[to], Z[S1])
    }

    /// Bytes of two words, by number, the second one's from 4 on.
    pub(super) fn bytes(&mut self, bytes: [u8; 4], from: [usize; 2], to: usize) -> Done {
        let has = |number: usize| bytes.iter().any(|&byte| usize::from(byte / 4) == number);
        for number in [0, 1].into_iter().filter(|&number| has(number)) {
            // What the other word has is a zero.
            let places: [u32; 16] = std::array::from_fn(|word| {
                u32::from_le_bytes(bytes.map(|byte| match usize::from(byte / 4) == number {
                    true => 4 * (word as u8 % 4) + byte % 4,
                    false => 0x80,
                }))
            });
            let places = self.pooled(places);
            let part = if number == 1 && has(0) { S0 } else { to };
            self.a.vpshufb(Z[part], Z[from[number]], zmmword_ptr(places))?;
        }
        if has(0) && has(1) { self.a.vpord(Z[to], Z[to], Z[S0]) } else { Ok(()) }
    }

    /// Products of bytes, added up with a word.
    pub(super) fn dot_product(&mut self, signed: [bool; 2], from: [usize; 2], c: usize, to: usize) -> Done {
        for (lower, sum) in [(true, S2), (false, to)] {
            for ((from, signed), part) in from.into_iter().zip(signed).zip([S0, S1]) {
                let mut from = from;
                if lower {
                    self.a.vpsllw(Z[part], Z[from], 8)?;
                    from = part;
                }
                match signed {
                    true => self.a.vpsraw(Z[part], Z[from], 8)?,
                    false => self.a.vpsrlw(Z[part], Z[from], 8)?,
                }
            }
            self.a.vpmaddwd(Z[sum], Z[S0], Z[S1])?;
        }
        self.a.vpaddd(Z[to], Z[to], Z[S2])?;
        self.a.vpaddd(Z[to], Z[to], Z[c])
    }

    /// Products of words, and sums with others.
    pub(super) fn multiply(
        &mut self,
        factors: [Slot; 2],
        addend: Option<Slot>,
        number: u32,
        to: usize,
    ) -> Done {
        use Width::Word;
        let [a, b] = factors;
        let from = self.fetch(a, Word, number)?;
        // Registers are found before the scratch ones are in use.
        let factor = self.source(b, Word, number)?;
        let addend = addend.map(|addend| self.source(addend, Word, number)).transpose()?;
        let product = if addend.is_some() { S0 } else { to };
        let near = self.near_power(b);
        match near {
            None => three!(self, vpmulld, product, from, factor),
            Some((1, 1)) => self.a.vpaddd(Z[product], Z[from], Z[from])?,
            Some((power, _)) => self.a.vpslld(Z[product], Z[from], power)?,
        }
        match near {
            Some((_, 1)) => self.a.vpaddd(Z[product], Z[product], Z[from])?,
            Some((_, -1)) => self.a.vpsubd(Z[product], Z[product], Z[from])?,
            _ => {}
        }
        if let Some(addend) = addend {
            three!(self, vpaddd, to, product, addend);
        }
        Ok(())
    }

    pub(super) fn integer(&mut self, op: Integer, width: Width, to: usize, a: usize, b: Source) -> Done {
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

    /// Shifts a line, which may be the first scratch register if it is of words.
    pub(super) fn shift(
        &mut self,
        op: Integer,
        width: Width,
        a: usize,
        by: Slot,
        number: u32,
        to: usize,
    ) -> Done {
        use Width::{Double, Word};
        if let Some(amount) = self.known(by) {
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
            Word => self.source(by, Word, number)?,
            Double => {
                let by = self.fetch(by, Word, number / 2)?;
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
}
