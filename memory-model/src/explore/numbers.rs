//! Numbers as literals: one for each possible value where these are few, one for each bit where they are many.

use super::domain::width;
use super::sat::{Lit, Sat};
use crate::program::BinOp;

/// A value as literals: `literals[i]` says that it is `domain[i]`. Values that nothing needs have none.
#[derive(Debug, Clone, Default)]
pub(super) struct OneHot {
    pub(super) domain: Vec<i64>,
    pub(super) literals: Vec<Lit>,
}

impl OneHot {
    pub(super) fn literal(&self, value: i64) -> Option<Lit> {
        self.domain.binary_search(&value).ok().map(|i| self.literals[i])
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (i64, Lit)> + '_ {
        self.domain.iter().copied().zip(self.literals.iter().copied())
    }
}

/// A value in two's complement, the least bit first; the last one is the sign.
#[derive(Debug, Clone)]
pub(super) struct Word(pub(super) Vec<Lit>);

impl Word {
    pub(super) fn width(&self) -> usize {
        self.0.len()
    }

    /// Bits beyond the last are as the sign.
    pub(super) fn bit(&self, i: usize) -> Lit {
        self.0[i.min(self.0.len() - 1)]
    }

    pub(super) fn bits(&self, width: usize) -> Vec<Lit> {
        (0..width).map(|i| self.bit(i)).collect()
    }

    /// Literals of which one holds exactly if the value is another one.
    pub(super) fn differs(&self, value: i64) -> Vec<Lit> {
        let width = self.width().max(width(value));
        (0..width).map(|i| if value >> i & 1 == 1 { !self.bit(i) } else { self.bit(i) }).collect()
    }

    pub(super) fn number(&self, sat: &Sat) -> i64 {
        (0..64).fold(0, |sum, i| sum | i64::from(sat.is_true(self.bit(i))) << i)
    }
}

/// A number as literals.
#[derive(Debug, Clone)]
pub(super) enum Number {
    Few(OneHot),
    Word(Word),
}

impl Default for Number {
    fn default() -> Self {
        Number::Few(OneHot::default())
    }
}

impl Number {
    /// All literals that say what it is.
    pub(super) fn literals(&self) -> &[Lit] {
        match self {
            Number::Few(few) => &few.literals,
            Number::Word(word) => &word.0,
        }
    }

    /// What it is in the solver's model; `None` if nothing needs it there.
    pub(super) fn read(&self, sat: &Sat) -> Option<i64> {
        match self {
            Number::Few(few) => few.pairs().find(|(_, l)| sat.is_true(*l)).map(|(value, _)| value),
            Number::Word(word) => Some(word.number(sat)),
        }
    }

    /// Literals of which one holds if the value is another one.
    pub(super) fn differs(&self, value: i64) -> Vec<Lit> {
        match self {
            Number::Few(few) => few.literal(value).map(|l| !l).into_iter().collect(),
            Number::Word(word) => word.differs(value),
        }
    }
}

/// An operation without a circuit: its operands and its result.
pub(super) struct Opaque {
    pub(super) op: BinOp,
    pub(super) operands: [Word; 2],
    pub(super) result: Word,
}
