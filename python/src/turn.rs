//! One thing happens on a device at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::prelude::*;

use crate::error::Error;
use crate::wait::LOOK;

/// Whose turn it is.
pub(crate) struct Turns {
    taken: Mutex<bool>,
    free: Condvar,
    /// Who made it: in a child of that process nobody gives back a turn that was taken at its birth.
    process: u32,
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    pub(crate) fn new() -> Self {
        Self { taken: Mutex::new(false), free: Condvar::new(), process: std::process::id() }
    }

    /// Waits until it is free.
    ///
    /// # Errors
    /// It was interrupted, or it would wait for a thread of another process.
    pub(crate) fn take(&self, interrupt: &AtomicBool) -> PyResult<Turn<'_>> {
        let mut taken = self.lock()?;
        while *taken {
            if self.process != std::process::id() {
                return Err(forked());
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(Error::new_err("the launch was interrupted before it began"));
            }
            taken = self.free.wait_timeout(taken, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken = true;
        Ok(Turn(self))
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, bool>> {
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
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

fn forked() -> PyErr {
    let what = "this process was forked while a kernel ran on the module; load the module again in it";
    Error::new_err(what)
}
