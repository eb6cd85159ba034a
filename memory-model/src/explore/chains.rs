//! Cells that only atomics change, one after the other.
//!
//! Morally strong atomics on one cell read from one another in a chain: atomicity (8.10.3) leaves nothing between a
//! write and the atomic that reads it, and coherence follows observation. If all writes to a cell are such atomics with
//! one commuting operation, the final value takes all of them in, and what one reads is the initial value with some of
//! the others applied.

use super::universe::Universe;
use crate::event::{Edge, Kind};
use crate::program::BinOp;
use crate::skeleton::{Skeleton, Value};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Most values that the atomics of a chain read.
const MAX_READABLE: usize = 4096;

/// A cell that only atomics with one commuting operation change, all pairwise ordered.
pub(super) struct Chain {
    pub(super) cell: usize,
    /// Write halves, with operation and constant operand.
    pub(super) writes: Vec<(usize, BinOp, i64)>,
}

/// Whether applying `a` and `b` in either order is the same, for any operands.
fn commute(a: BinOp, b: BinOp) -> bool {
    match (a, b) {
        (BinOp::Add | BinOp::Sub, BinOp::Add | BinOp::Sub) => true,
        (BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Min | BinOp::Max, _) => a == b,
        _ => false,
    }
}

/// The chains of a program.
pub(super) fn chains(skeleton: &Skeleton, universe: &Universe) -> Vec<Chain> {
    let ordered: FxHashSet<Edge> = universe.writes.iter().copied().collect();
    let mut out = Vec::new();
    'cells: for cell in 0..skeleton.cells.len() {
        let mut writes = Vec::new();
        for (event, template) in skeleton.events.iter().enumerate() {
            if template.event.kind != Kind::Write || skeleton.cell_of(event) != Some(cell) {
                continue;
            }
            let (Some(read), Value::Bin(op, old, operand)) =
                (template.rmw_read, skeleton.values[template.value])
            else {
                continue 'cells;
            };
            let (Value::Read(from), Value::Const(operand)) = (skeleton.values[old], skeleton.values[operand])
            else {
                continue 'cells;
            };
            if from != read {
                continue 'cells;
            }
            writes.push((event, op, operand));
        }
        let linked = writes.iter().enumerate().all(|(i, &(a, op_a, _))| {
            writes[i + 1..].iter().all(|&(b, op_b, _)| {
                commute(op_a, op_b) && (ordered.contains(&(a, b)) || !skeleton.compatible(a, b))
            }) && commute(op_a, op_a)
        });
        if linked && !writes.is_empty() {
            out.push(Chain { cell, writes });
        }
    }
    out
}

impl Chain {
    /// What the atomic with this write half can read: the initial value with some of the others applied. `None`
    /// if that is too much to list.
    pub(super) fn readable(&self, initial: i64, write: usize) -> Option<BTreeSet<i64>> {
        let mut values = BTreeSet::from([initial]);
        for &(other, op, operand) in &self.writes {
            if other != write {
                let more: Vec<i64> = values.iter().map(|&v| op.eval(v, operand)).collect();
                values.extend(more);
            }
            if values.len() > MAX_READABLE {
                return None;
            }
        }
        Some(values)
    }
}
