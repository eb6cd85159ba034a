//! Which values a symbolic value can have, before anything is chosen.

use super::chains::Chain;
use crate::program::BinOp;
use crate::skeleton::{Skeleton, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Most values that are listed, except of cells that only atomics with constants change.
const MAX_LISTED: usize = 16;

/// The possible values of one symbolic value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Domain {
    /// These.
    Listed(BTreeSet<i64>),
    /// Some between these two.
    Between(i64, i64),
}

impl Default for Domain {
    fn default() -> Self {
        Domain::Listed(BTreeSet::new())
    }
}

impl Domain {
    /// All numbers of that many bits.
    pub(super) fn of_width(width: usize) -> Self {
        let high = i64::MAX >> (64 - width.clamp(1, 64));
        Domain::Between(!high, high)
    }

    fn one(value: i64) -> Self {
        Domain::Listed(BTreeSet::from([value]))
    }

    /// The least and the greatest; `None` if there is none.
    fn hull(&self) -> Option<(i64, i64)> {
        match self {
            Domain::Listed(values) => Some((*values.first()?, *values.last()?)),
            Domain::Between(low, high) => Some((*low, *high)),
        }
    }

    /// Adds the values of another one.
    pub(super) fn join(&mut self, other: &Domain) {
        match (&mut *self, other) {
            (Domain::Listed(mine), Domain::Listed(more)) => {
                let limit = MAX_LISTED.max(mine.len()).max(more.len());
                mine.extend(more);
                if mine.len() > limit {
                    *self =
                        self.hull().map_or(Domain::Between(0, 0), |(low, high)| Domain::Between(low, high));
                }
            }
            _ => {
                let (Some(a), Some(b)) = (self.hull(), other.hull()) else {
                    if self.hull().is_none() {
                        *self = other.clone();
                    }
                    return;
                };
                *self = Domain::Between(a.0.min(b.0), a.1.max(b.1));
            }
        }
    }

    /// Bits that hold every value between its ends.
    pub(super) fn width(&self) -> usize {
        self.hull().map_or(1, |(low, high)| width(low).max(width(high)))
    }

    /// The results of an operation.
    pub(super) fn apply(op: BinOp, a: &Domain, b: &Domain, same: bool) -> Domain {
        if let (Domain::Listed(x), Domain::Listed(y)) = (a, b) {
            let pairs = if same { x.len() } else { x.len() * y.len() };
            if pairs <= MAX_LISTED * MAX_LISTED {
                let results: BTreeSet<i64> = match same {
                    true => x.iter().map(|&v| op.eval(v, v)).collect(),
                    false => x.iter().flat_map(|&v| y.iter().map(move |&w| op.eval(v, w))).collect(),
                };
                if results.len() <= MAX_LISTED.max(x.len()).max(y.len()) {
                    return Domain::Listed(results);
                }
            }
        }
        match (a.hull(), b.hull()) {
            (Some(a), Some(b)) => {
                let (low, high) = interval(op, a, b);
                Domain::Between(low, high)
            }
            _ => Domain::default(),
        }
    }
}

/// An interval that holds the results of an operation on two intervals.
fn interval(op: BinOp, (al, ah): (i64, i64), (bl, bh): (i64, i64)) -> (i64, i64) {
    const ALL: (i64, i64) = (i64::MIN, i64::MAX);
    let wide = i128::from;
    let fitting = |low: i128, high: i128| match (i64::try_from(low), i64::try_from(high)) {
        (Ok(low), Ok(high)) => (low, high),
        _ => ALL,
    };
    // All numbers of as many bits as the operands have.
    let bits = || {
        let needed = [al, ah, bl, bh].into_iter().map(width).max().unwrap_or(64);
        let high = i64::MAX >> (64 - needed.clamp(1, 64));
        if al >= 0 && bl >= 0 { (0, high) } else { (!high, high) }
    };
    match op {
        BinOp::Add => fitting(wide(al) + wide(bl), wide(ah) + wide(bh)),
        BinOp::Sub => fitting(wide(al) - wide(bh), wide(ah) - wide(bl)),
        BinOp::Mul => {
            let corners = [(al, bl), (al, bh), (ah, bl), (ah, bh)].map(|(a, b)| wide(a) * wide(b));
            let [a, b, c, d] = corners;
            fitting(a.min(b).min(c).min(d), a.max(b).max(c).max(d))
        }
        BinOp::Div => {
            let most = wide(al).abs().max(wide(ah).abs());
            fitting(if al >= 0 && bl >= 0 { 0 } else { -most }, most)
        }
        BinOp::And if al >= 0 && bl >= 0 => (0, ah.min(bh)),
        BinOp::And | BinOp::Or | BinOp::Xor => bits(),
        BinOp::Min => (al.min(bl), ah.min(bh)),
        BinOp::Max => (al.max(bl), ah.max(bh)),
        BinOp::Inc if al >= 0 => fitting(0, wide(ah) + 1),
        BinOp::Dec if al >= 0 => (bl.min(0), ah.max(bh)),
        BinOp::Second => (bl, bh),
        // A few bytes of the left operand.
        BinOp::Extract if bl == bh && (bl >> 4) & 15 < 8 => (0, (1 << (8 * ((bl >> 4) & 15))) - 1),
        BinOp::Shl if bl == bh && (0..63).contains(&bl) => fitting(wide(al) << bl, wide(ah) << bl),
        BinOp::MbarrierTest => (0, 1),
        BinOp::AddF32 | BinOp::AddF32Ftz => (0, i64::from(u32::MAX)),
        _ => ALL,
    }
}

/// Bits of a number in two's complement, its sign among them.
pub(super) fn width(value: i64) -> usize {
    65 - if value < 0 { (!value).leading_zeros() } else { value.leading_zeros() } as usize
}

/// The domain of every symbolic value: the least ones closed under reads-from, cut off after as many rounds as
/// an execution has writes. In each round what reads return follows from what was written in the one before. No
/// chain of reads-from and dependencies is longer in an execution without values out of thin air, which every
/// model forbids, so no possible value is lost.
pub(super) fn domains(skeleton: &Skeleton, sources: &[Vec<usize>], chains: &[Chain]) -> Vec<Domain> {
    let mut readable: FxHashMap<usize, Domain> = FxHashMap::default();
    for chain in chains {
        let initial = skeleton.events[skeleton.cells[chain.cell].init].value;
        if let Value::Const(initial) = skeleton.values[initial] {
            for &(write, ..) in &chain.writes {
                if let Some(read) = skeleton.events[write].rmw_read
                    && let Some(values) = chain.readable(initial, write)
                {
                    readable.insert(read, Domain::Listed(values));
                }
            }
        }
    }
    let mut domains: Vec<Domain> = skeleton.values.iter().map(|_| Domain::default()).collect();
    for _ in 0..longest_chain(skeleton) {
        let before = domains.clone();
        for (id, value) in skeleton.values.iter().enumerate() {
            domains[id] = match *value {
                Value::Const(c) => Domain::one(c),
                Value::Read(event) => match readable.get(&event) {
                    Some(values) => values.clone(),
                    None => {
                        let mut union = Domain::default();
                        sources[event].iter().for_each(|&w| union.join(&before[skeleton.events[w].value]));
                        union
                    }
                },
                Value::Bin(op, a, b) => Domain::apply(op, &domains[a], &domains[b], a == b),
            };
            // Results of listed operands may be listed where an earlier round had given up.
            if let Domain::Between(..) = before[id] {
                let current = domains[id].clone();
                domains[id] = before[id].clone();
                domains[id].join(&current);
            }
        }
        if domains == before {
            break;
        }
    }
    domains
}

/// Most writes of one execution, the initial ones counted as one, and a round for what none depends on.
fn longest_chain(skeleton: &Skeleton) -> usize {
    let of_tree = |tree: &crate::skeleton::Tree| {
        let mut longest = vec![0; tree.nodes.len()];
        for (n, node) in tree.nodes.iter().enumerate() {
            let here = node.events.iter().filter(|&&e| skeleton.events[e].event.is_write()).count();
            longest[n] = here + node.parent.map_or(0, |p| longest[p]);
        }
        longest.into_iter().max().unwrap_or(0)
    };
    skeleton.trees.iter().map(of_tree).sum::<usize>() + 2
}
