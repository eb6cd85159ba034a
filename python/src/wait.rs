//! Work beside the interpreter: its lock is free meanwhile, and signals are looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Error;

/// How often work is left to look for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Does work that an interrupt ends, with the interpreter's lock given back already; waits for its end.
pub(crate) fn watched<T: Send>(
    work: impl FnOnce() -> PyResult<T> + Send,
    interrupt: &AtomicBool,
) -> PyResult<T> {
    let (done, result) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Somebody waits for it, below.
            let _ = done.send(work());
        });
        let mut raised = None;
        loop {
            match result.recv_timeout(LOOK) {
                Ok(result) => return raised.map_or(result, Err),
                Err(RecvTimeoutError::Disconnected) => return Err(failed()),
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        interrupt.store(true, Ordering::Relaxed);
                        raised = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    })
}

/// The same for work that makes its own interrupt.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let interrupt = Arc::new(AtomicBool::new(false));
    py.detach(|| watched(|| work(&interrupt), &interrupt))
}

/// Does work that only its own time limit ends. After a signal nobody waits for it any more.
pub(crate) fn left<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let (done, result) = channel();
    std::thread::spawn(move || {
        // Nobody waits for it after a signal.
        let _ = done.send(work());
    });
    py.detach(move || {
        loop {
            match result.recv_timeout(LOOK) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(failed()),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            }
        }
    })
}

fn failed() -> PyErr {
    Error::new_err("the simulator failed")
}
