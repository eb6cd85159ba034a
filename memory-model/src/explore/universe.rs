//! What is known of all events that can happen, before anything is chosen: which pairs an execution orders, and which may race.

use super::search::conflicts;
use crate::event::{Edge, Execution};
use crate::model::{Compiled, Evaluation, Model};
use crate::skeleton::{Skeleton, TooLarge};

/// Static relations between all events that can happen.
pub(super) struct Universe {
    /// Pairs of writes that an execution orders, `a < b`.
    pub(super) writes: Vec<Edge>,
    /// Pairs of [`Model::ordered_fences`](crate::model::Model) that an execution orders, `a < b`.
    pub(super) fences: Vec<Edge>,
    /// Pairs of writes that an execution may order, `a < b`.
    pub(super) optional: Vec<Edge>,
    /// Pairs that race unless causality orders them, `a < b`.
    pub(super) conflicts: Vec<Edge>,
}

impl Universe {
    pub(super) fn new(skeleton: &Skeleton, model: &Model) -> Result<Self, TooLarge> {
        match skeleton.events.len() {
            0..=64 => Ok(Self::with_words::<1>(skeleton, model)),
            65..=256 => Ok(Self::with_words::<4>(skeleton, model)),
            257..=1024 => Ok(Self::with_words::<16>(skeleton, model)),
            n => Err(TooLarge(format!("{n} events; at most 1024 can be explored"))),
        }
    }

    fn with_words<const W: usize>(skeleton: &Skeleton, model: &Model) -> Self {
        let nothing = Model { axioms: Vec::new(), ..model.clone() };
        let conflicts = conflicts(model);
        let (compiled, ids) = Compiled::new(
            &nothing,
            &[],
            &[&model.ordered_writes, &model.ordered_fences, &conflicts, &model.optional_order],
        );
        let execution = Execution {
            events: skeleton.events.iter().map(|t| t.event.clone()).collect(),
            common_scope: skeleton.common_scope.clone(),
            ..Execution::default()
        };
        let mut evaluation = Evaluation::<W>::new();
        evaluation.load(&compiled, &execution, false);
        let pairs = |id: usize| -> Vec<Edge> {
            evaluation.relation(id).pairs().filter(|&(a, b)| a < b && skeleton.compatible(a, b)).collect()
        };
        Self {
            writes: pairs(ids[0]),
            fences: pairs(ids[1]),
            conflicts: pairs(ids[2]),
            optional: pairs(ids[3]),
        }
    }
}
