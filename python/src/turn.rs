//! One thing happens on a device at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;

use pyo3::prelude::*;
use sim_core::Poll;

use crate::error::Error;
use crate::wait::LOOK;

/// Whose turn it is.
pub(crate) struct Turns {
    taken: Mutex<Option<ThreadId>>,
    free: Condvar,
    /// Who made it: in a child of that process nobody gives back a turn that was taken at its birth.
    process: u32,
}

/// A turn, until it is dropped; nothing in the middle of a turn of the same thread.
pub(crate) struct Turn<'a>(Option<&'a Turns>);

impl Turns {
    pub(crate) fn new() -> Self {
        Self { taken: Mutex::new(None), free: Condvar::new(), process: std::process::id() }
    }

    /// Waits until it is free, or until `poll` has the wait interrupted. A handler of a signal may launch in the middle of a
    /// launch of its thread, which stands still meanwhile.
    ///
    /// # Errors
    /// It was interrupted, or it would wait for a thread of another process.
    pub(crate) fn take(&self, interrupt: &AtomicBool, poll: Option<&Poll>) -> PyResult<Turn<'_>> {
        let own = std::thread::current().id();
        let mut taken = self.lock()?;
        while let Some(owner) = *taken {
            if self.process != std::process::id() {
                return Err(forked());
            }
            if owner == own {
                return Ok(Turn(None));
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(Error::new_err("the launch was interrupted before it began"));
            }
            taken = self.free.wait_timeout(taken, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(poll) = poll {
                // Handlers of signals may want a turn themselves.
                drop(taken);
                poll.look();
                taken = self.lock()?;
            }
        }
        *taken = Some(own);
        Ok(Turn(Some(self)))
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Option<ThreadId>>> {
        if self.process == std::process::id() {
            return Ok(self.taken.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.taken.try_lock() {
            Ok(taken) => Ok(taken),
            Err(TryLockError::Poisoned(taken)) => Ok(taken.into_inner()),
            Err(TryLockError::WouldBlock) => Err(forked()),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(turns) = self.0 {
            *turns.taken.lock().unwrap_or_else(PoisonError::into_inner) = None;
            turns.free.notify_one();
        }
    }
}

fn forked() -> PyErr {
    let what = "this process was forked while a kernel ran on the module; load the module again in it";
    Error::new_err(what)
}
