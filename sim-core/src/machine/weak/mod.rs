//! What weak memory remembers: values that are not yet or no longer the latest, and loads that are outstanding.
//!
//! [`state`] decides what a thread sees; [`window`] how far a load may be put off. Only [`RunOptions::weak`] brings it
//! into play: no access then takes the fast way to global memory, because no allocation is ever hinted at.
//!
//! [`RunOptions::weak`]: crate::RunOptions::weak

mod state;
mod window;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::code::Code;
pub(crate) use state::{Latest, Place, State, Strength};

/// Histories and views of a launch.
#[derive(Debug)]
pub(crate) struct WeakMemory {
    state: Mutex<State>,
    /// By position: how far a load may be put off.
    pub(crate) late: Vec<Option<u32>>,
}

impl WeakMemory {
    pub(crate) fn new(seed: u64, code: &Code) -> Self {
        WeakMemory { state: Mutex::new(State::new(seed)), late: window::windows(code) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
