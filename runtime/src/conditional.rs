//! Conditional nodes: the graphs that run by a value.

use std::sync::Arc;

use cuda_abi::{Result, Status};

use crate::condition::{Condition, ConditionKind};
use crate::operation::{Conditional, Graph};

impl Conditional {
    /// A node with so many empty graphs.
    ///
    /// # Errors
    /// `INVALID_VALUE` for no such kind, and for a number of graphs that it does not take.
    pub fn new(condition: Arc<Condition>, kind: u32, size: u32) -> Result<Conditional> {
        let kind = match (kind, size) {
            (0, 1 | 2) => ConditionKind::If,
            (1, 1) => ConditionKind::While,
            (2, 1..) => ConditionKind::Switch,
            _ => return Err(Status::INVALID_VALUE),
        };
        let body = || {
            let graph = Graph::new();
            graph.take_over();
            graph
        };
        Ok(Conditional { condition, kind, bodies: (0..size).map(|_| body()).collect() })
    }

    /// What runs next; `round` counts what ran before.
    pub(crate) fn next(&self, round: u64) -> Option<&Arc<Graph>> {
        let value = self.condition.value();
        match self.kind {
            ConditionKind::While => self.bodies.first().filter(|_| value != 0),
            _ if round > 0 => None,
            ConditionKind::If => self.bodies.get(usize::from(value == 0)),
            ConditionKind::Switch => self.bodies.get(value as usize),
        }
    }
}
