//! Values that are computed forwards, as numbers of literals.
//!
//! What a read returns follows from the write that it reads from, and what is computed from it follows bit by bit,
//! so the solver computes values forwards as it chooses reads-from edges, and never needs a list of them. Circuits
//! are those of the textbooks. Division, sums of floating-point numbers and the like have none; their results are
//! checked in each model of the solver, and pinned down for the operands found there ([`Encoding::refine`]).

use super::domain::width;
use super::encoding::Encoding;
use super::numbers::{Number, Opaque, Word};
use super::sat::{Lit, Sat};
use crate::program::{BinOp, Cmp};
use crate::skeleton::{Value, ValueId};

/// Gates. Constants are folded by [`Sat::and`].
impl Sat {
    fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let (yes, no) = (self.yes(), self.no());
        match (a, b) {
            _ if a == b => no,
            _ if a == !b => yes,
            (a, b) if a == no => b,
            (a, b) if b == no => a,
            (a, b) if a == yes => !b,
            (a, b) if b == yes => !a,
            _ => {
                let out = self.derived();
                for (x, y, z) in [(a, b, !out), (!a, !b, !out), (a, !b, out), (!a, b, out)] {
                    self.clause(&[x, y, z]);
                }
                out
            }
        }
    }

    fn choose(&mut self, condition: Lit, then: Lit, other: Lit) -> Lit {
        if then == other {
            return then;
        }
        let (a, b) = (self.and(&[condition, then]), self.and(&[!condition, other]));
        self.or(&[a, b])
    }

    /// Sum and carry of three bits.
    fn full_adder(&mut self, a: Lit, b: Lit, carry: Lit) -> (Lit, Lit) {
        let half = self.xor(a, b);
        let sum = self.xor(half, carry);
        let (both, passed) = (self.and(&[a, b]), self.and(&[half, carry]));
        (sum, self.or(&[both, passed]))
    }

    /// The sum of as many bits as the operands have.
    fn sum(&mut self, a: &[Lit], b: &[Lit], mut carry: Lit) -> Vec<Lit> {
        let mut out = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let (sum, next) = self.full_adder(x, y, carry);
            out.push(sum);
            carry = next;
        }
        out
    }

    fn product(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let mut out = vec![self.no(); a.len()];
        for (shift, &by) in b.iter().enumerate() {
            if by == self.no() || self.stopped() {
                continue;
            }
            let mut part = vec![self.no(); shift];
            part.extend(a[..a.len() - shift].iter().map(|&bit| self.and(&[by, bit])));
            out = self.sum(&out, &part, self.no());
        }
        out
    }

    fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let same: Vec<Lit> = a.iter().zip(b).map(|(&x, &y)| !self.xor(x, y)).collect();
        self.and(&same)
    }

    /// `a < b` of unsigned numbers.
    fn below(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut out = self.no();
        for (&x, &y) in a.iter().zip(b) {
            let differ = self.xor(x, y);
            out = self.choose(differ, y, out);
        }
        out
    }

    /// `a < b` of signed numbers.
    fn less(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let flipped = |bits: &[Lit]| {
            let mut bits = bits.to_vec();
            if let Some(sign) = bits.last_mut() {
                *sign = !*sign;
            }
            bits
        };
        self.below(&flipped(a), &flipped(b))
    }

    fn choose_word(&mut self, condition: Lit, then: &[Lit], other: &[Lit]) -> Vec<Lit> {
        then.iter().zip(other).map(|(&t, &o)| self.choose(condition, t, o)).collect()
    }
}

impl Encoding<'_> {
    /// The bits of a number. What has no value is zero.
    pub(super) fn word(&mut self, number: &Number) -> Word {
        let few = match number {
            Number::Word(word) => return word.clone(),
            Number::Few(few) => few,
        };
        let width = few.domain.iter().map(|&v| width(v)).max().unwrap_or(1);
        let bits = (0..width).map(|i| {
            let set: Vec<Lit> = few.pairs().filter(|(v, _)| v >> i & 1 == 1).map(|(_, l)| l).collect();
            self.sat.or(&set)
        });
        Word(bits.collect())
    }

    /// If all conditions hold, `to` is what `from` is.
    pub(super) fn copies(&mut self, conditions: &[Lit], from: &Number, to: &Number) {
        let not: Vec<Lit> = conditions.iter().map(|&l| !l).collect();
        match (from, to) {
            (Number::Few(from), Number::Few(to)) => {
                for (v, is_v) in from.pairs() {
                    let mut clause = not.clone();
                    clause.push(!is_v);
                    clause.extend(to.literal(v));
                    self.sat.clause(&clause);
                }
            }
            (Number::Few(from), Number::Word(to)) => {
                for (v, is_v) in from.pairs() {
                    for other in to.differs(v) {
                        self.sat.clause(&[&not[..], &[!is_v, !other]].concat());
                    }
                }
            }
            (Number::Word(from), to) => {
                let to = self.word(to);
                for i in 0..from.width().max(to.width()) {
                    let (a, b) = (from.bit(i), to.bit(i));
                    self.sat.clause(&[&not[..], &[!a, b]].concat());
                    self.sat.clause(&[&not[..], &[a, !b]].concat());
                }
            }
        }
    }

    /// `low | high << shift`.
    pub(super) fn word_joined(&mut self, low: &Number, high: &Number, shift: usize) -> Word {
        let (low, high) = (self.word(low), self.word(high));
        let width = low.width().max(high.width() + shift).min(64);
        let no = self.sat.no();
        let bits = (0..width).map(|i| {
            let above = if i < shift { no } else { high.bit(i - shift) };
            self.sat.or(&[low.bit(i), above])
        });
        Word(bits.collect())
    }

    /// The literal of a comparison, right whenever both values are known.
    pub(super) fn word_comparison(&mut self, cmp: Cmp, x: &Number, y: &Number) -> Lit {
        let (x, y) = (self.word(x), self.word(y));
        let width = x.width().max(y.width());
        let (x, y) = (x.bits(width), y.bits(width));
        match cmp {
            Cmp::Eq => self.sat.equal(&x, &y),
            Cmp::Ne => !self.sat.equal(&x, &y),
            Cmp::Lt => self.sat.less(&x, &y),
            Cmp::Ge => !self.sat.less(&x, &y),
            Cmp::Gt => self.sat.less(&y, &x),
            Cmp::Le => !self.sat.less(&y, &x),
        }
    }

    /// The result of an operation, which has that many bits.
    pub(super) fn word_operation(&mut self, op: BinOp, (a, b): (ValueId, ValueId), width: usize) -> Word {
        let constant = match self.skeleton.values[b] {
            Value::Const(c) => Some(c),
            _ => None,
        };
        let (x, y) = (self.values[a].clone(), self.values[b].clone());
        let (x, y) = (self.word(&x), self.word(&y));
        // As many bits of the operands are enough, but comparisons need all of them.
        let wide = width.max(x.width()).max(y.width());
        let (short_x, short_y) = (x.bits(width), y.bits(width));
        let (long_x, long_y) = (x.bits(wide), y.bits(wide));
        let sat = &mut self.sat;
        let (yes, no) = (sat.yes(), sat.no());
        let ones = vec![yes; width];
        let mut one = vec![no; width];
        one[0] = yes;
        let bitwise = |sat: &mut Sat, gate: fn(&mut Sat, Lit, Lit) -> Lit| -> Vec<Lit> {
            short_x.iter().zip(&short_y).map(|(&p, &q)| gate(sat, p, q)).collect()
        };
        let bits: Vec<Lit> = match (op, constant) {
            (BinOp::Add, _) => sat.sum(&short_x, &short_y, no),
            (BinOp::Sub, _) => {
                let negated: Vec<Lit> = short_y.iter().map(|&l| !l).collect();
                sat.sum(&short_x, &negated, yes)
            }
            (BinOp::Mul, _) => sat.product(&short_x, &short_y),
            (BinOp::And, _) => bitwise(sat, |sat, p, q| sat.and(&[p, q])),
            (BinOp::Or, _) => bitwise(sat, |sat, p, q| sat.or(&[p, q])),
            (BinOp::Xor, _) => bitwise(sat, Sat::xor),
            (BinOp::Min | BinOp::Max, _) => {
                let less = sat.less(&long_x, &long_y);
                let first = if op == BinOp::Min { less } else { !less };
                sat.choose_word(first, &short_x, &short_y)
            }
            (BinOp::Inc, _) => {
                let goes_on = sat.below(&long_x, &long_y);
                let next = sat.sum(&short_x, &one, no);
                next.into_iter().map(|bit| sat.and(&[goes_on, bit])).collect()
            }
            (BinOp::Dec, _) => {
                let zero = vec![no; wide];
                let (is_zero, above) = (sat.equal(&long_x, &zero), sat.below(&long_y, &long_x));
                let restarts = sat.or(&[is_zero, above]);
                let next = sat.sum(&short_x, &ones, no);
                sat.choose_word(restarts, &short_y, &next)
            }
            (BinOp::Second, _) => short_y.clone(),
            (BinOp::Extract, Some(c)) => {
                let (low, count) = ((c & 15) as usize * 8, ((c >> 4) & 15) as usize * 8);
                (0..width)
                    .map(|i| if low + i < 64 && (count >= 64 || i < count) { x.bit(low + i) } else { no })
                    .collect()
            }
            (BinOp::Shl, Some(c @ 0..64)) => {
                let by = c as usize;
                (0..width).map(|i| if i < by { no } else { x.bit(i - by) }).collect()
            }
            _ => {
                // Nothing implies them until they are pinned down.
                let result = Word((0..width).map(|_| self.sat.fresh()).collect());
                self.opaque.push(Opaque { op, operands: [x, y], result: result.clone() });
                return result;
            }
        };
        Word(bits)
    }

    /// A word of that width that clauses will make the copy of another one.
    pub(super) fn fresh_word(&mut self, width: usize) -> Word {
        Word((0..width).map(|_| self.sat.derived()).collect())
    }

    /// The operations without a circuit whose results are wrong in the solver's model: literals that say that the
    /// operands are others, and that the result is not the right one.
    pub(super) fn wrong(&self) -> Vec<(Vec<Lit>, Vec<Lit>)> {
        let mut wrong = Vec::new();
        for Opaque { op, operands, result } in &self.opaque {
            let [a, b] = operands.each_ref().map(|word| word.number(&self.sat));
            let spare = 64 - result.width();
            let right = op.eval(a, b) << spare >> spare;
            if right != result.number(&self.sat) {
                let others = [operands[0].differs(a), operands[1].differs(b)].concat();
                wrong.push((others, result.differs(right)));
            }
        }
        wrong
    }

    /// Pins down the operations without a circuit whose results are wrong in the solver's model, for the operands
    /// that they have there; true if there were any.
    pub(super) fn refine(&mut self) -> bool {
        let wrong = self.wrong();
        for (others, differs) in &wrong {
            let these = self.sat.derived();
            self.sat.clause(&[&others[..], &[these]].concat());
            differs.iter().for_each(|&l| self.sat.clause(&[!these, !l]));
        }
        !wrong.is_empty()
    }
}
