//! Values that kernels set while a graph runs, by which the graphs of conditional nodes run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use cuda_abi::{Result, Status};

/// A value that decides what a conditional node runs.
#[derive(Debug)]
pub struct Condition {
    /// What kernels know it by: its number among those of the outermost graph, from 1 on. So another graph's handle is taken
    /// for the own one of the same number, as on an H200.
    pub handle: u64,
    /// The value at each launch, if it gets one.
    default: Option<u32>,
    value: AtomicU32,
    /// Whether a node has it.
    is_used: AtomicBool,
}

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`
const ASSIGN_DEFAULT: u32 = 1;

impl Condition {
    /// A condition; with its value at each launch, if it gets one.
    ///
    /// # Errors
    /// `INVALID_VALUE` for flags that there are not.
    pub(crate) fn new(handle: u64, default: u32, flags: u32) -> Result<Arc<Condition>> {
        if flags & !ASSIGN_DEFAULT != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let default_at_launch = (flags == ASSIGN_DEFAULT).then_some(default);
        let (value, is_used) = (AtomicU32::new(default), AtomicBool::new(false));
        Ok(Arc::new(Condition { handle, default: default_at_launch, value, is_used }))
    }

    /// The condition of a handle among those of a graph.
    pub(crate) fn find(conditions: &[Arc<Condition>], handle: u64) -> Option<&Arc<Condition>> {
        conditions.iter().find(|condition| condition.handle == handle)
    }

    /// Says whether a node has it.
    pub fn set_used(&self, is_used: bool) {
        self.is_used.store(is_used, SeqCst);
    }

    /// Whether a node has it.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.load(SeqCst)
    }

    /// Gives it a value.
    pub(crate) fn set(&self, value: u32) {
        self.value.store(value, SeqCst);
    }

    /// Gives it the value of a launch.
    pub(crate) fn reset(&self) {
        if let Some(value) = self.default {
            self.set(value);
        }
    }

    pub(crate) fn value(&self) -> u32 {
        self.value.load(SeqCst)
    }
}

/// How a conditional node takes its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConditionKind {
    /// The first graph if it is not zero, else the second one if there is one.
    If,
    /// The graph again and again, as long as it is not zero.
    While,
    /// The graph of this number, if there is one.
    Switch,
}
