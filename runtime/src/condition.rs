//! Values that kernels set while a graph runs, by which the graphs of conditional nodes run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};

use crate::{fresh_id, lock};

/// A value that decides what a conditional node runs.
#[derive(Debug)]
pub struct Condition {
    /// What kernels know it by.
    pub handle: u64,
    /// The number of the graph that it was made for.
    pub graph: u64,
    /// The value at each launch, if it gets one.
    default: Option<u32>,
    value: AtomicU32,
    /// Whether a node was to be made with it. A second one cannot be, whatever came of the first.
    pub(crate) is_used: AtomicBool,
}

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`
const ASSIGN_DEFAULT: u32 = 1;

type Conditions = Mutex<HashMap<u64, Weak<Condition>>>;

/// All conditions by handle.
fn conditions() -> &'static Conditions {
    static CONDITIONS: OnceLock<Conditions> = OnceLock::new();
    CONDITIONS.get_or_init(Conditions::default)
}

impl Condition {
    /// A condition; with its value at each launch, if it gets one.
    ///
    /// # Errors
    /// `INVALID_VALUE` for flags that there are not.
    pub(crate) fn new(graph: u64, default: u32, flags: u32) -> Result<Arc<Condition>> {
        if flags & !ASSIGN_DEFAULT != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let condition = Arc::new(Condition {
            handle: fresh_id(),
            graph,
            default: (flags == ASSIGN_DEFAULT).then_some(default),
            value: AtomicU32::new(default),
            is_used: AtomicBool::new(false),
        });
        let mut all = lock(conditions());
        all.retain(|_, other| other.strong_count() > 0);
        all.insert(condition.handle, Arc::downgrade(&condition));
        Ok(condition)
    }

    /// The condition of a handle, for a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is none, or there was to be a node with it.
    pub fn take(handle: u64) -> Result<Arc<Condition>> {
        let found = Condition::find(handle).filter(|found| !found.is_used.swap(true, SeqCst));
        found.ok_or(Status::INVALID_VALUE)
    }

    /// The condition of a handle.
    pub fn find(handle: u64) -> Option<Arc<Condition>> {
        lock(conditions()).get(&handle)?.upgrade()
    }

    /// Gives it a value.
    pub fn set(&self, value: u32) {
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
