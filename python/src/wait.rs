//! Work beside the interpreter: its lock is free meanwhile, and signals are looked at.
//!
//! Python runs handlers of signals on its main thread alone, and only where that asks. So a thread that has work done
//! hands it to a helper and waits, looking for signals on the way. The helper stays: making a thread for each launch
//! costs more than a short launch. Launches that one thread runs look for signals themselves, on the thread of the caller.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon::ThreadPool;
use sim_core::Poll;

use crate::error::Error;

/// How often work is left to look for signals.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

thread_local! {
    static HELPER: RefCell<Option<Rc<Helper>>> = const { RefCell::new(None) };
}

/// A thread that works for another one.
struct Helper {
    /// Only `None` while it is dropped.
    pool: Option<ThreadPool>,
    /// Who made it: a child of that process has its memory and not its thread.
    process: u32,
}

impl Helper {
    /// This thread's own.
    fn of_this_thread() -> PyResult<Rc<Self>> {
        HELPER.with(|own| {
            let mut own = own.borrow_mut();
            match &*own {
                Some(helper) if helper.is_here() => Ok(helper.clone()),
                _ => {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                    let pool =
                        pool.map_err(|error| Error::new_err(format!("cannot start a thread: {error}")))?;
                    let helper = Rc::new(Self { pool: Some(pool), process: std::process::id() });
                    Ok(own.insert(helper).clone())
                }
            }
        })
    }

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Nobody would hear its end in a child.
        if !self.is_here() {
            std::mem::forget(self.pool.take());
        }
    }
}

/// Does work that an interrupt ends, with the interpreter's lock free; waits for its end.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let helper = Helper::of_this_thread()?;
    let Some(pool) = &helper.pool else { return Err(failed()) };
    let interrupt = Arc::new(AtomicBool::new(false));
    // The pool's own thread does what is spawned; the scope ends once that has.
    let pool: &ThreadPool = pool;
    py.detach(|| {
        pool.in_place_scope(|scope| {
            let (done, result) = channel();
            let asked = &interrupt;
            scope.spawn(move |_| {
                // Somebody waits for it, below.
                let _ = done.send(work(asked));
            });
            let mut raised = None;
            let result = wait(&result, || {
                if raised.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals())
                {
                    interrupt.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
                Ok(())
            });
            raised.map_or(result, Err)
        })
    })
}

/// Does work on this thread that looks for signals itself, with the interpreter's lock free: handing it over and back takes
/// longer than a short launch where the helper sleeps. Other threads than Python's main one see no signals, and must not ask:
/// the interpreter may be gone before they are.
pub(crate) fn on_this_thread<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>, Option<&Poll>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let interrupt = Arc::new(AtomicBool::new(false));
    if !is_main(py)? {
        return py.detach(|| work(&interrupt, None));
    }
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let (asked, error, caller) = (interrupt.clone(), raised.clone(), std::thread::current().id());
    // Another thread of the interpreter may have its lock: it is not asked for more often than needed.
    let last = Mutex::new(Instant::now());
    let poll = Poll::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if std::thread::current().id() != caller || last.elapsed() < LOOK || asked.load(Ordering::Relaxed) {
            return;
        }
        if let Err(signal) = Python::attach(|py| py.check_signals()) {
            *error.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
            asked.store(true, Ordering::Relaxed);
        }
        *last = Instant::now();
    });
    let result = py.detach(|| work(&interrupt, Some(&poll)));
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    raised.map_or(result, Err)
}

/// Whether this is the thread on which Python runs handlers of signals.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}

/// Waits for a result; looks for signals with `look`, whose error ends the wait.
fn wait<T>(result: &Receiver<PyResult<T>>, mut look: impl FnMut() -> PyResult<()>) -> PyResult<T> {
    loop {
        match result.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(failed()),
            Err(RecvTimeoutError::Timeout) => look()?,
        }
    }
}

fn failed() -> PyErr {
    Error::new_err("the simulator failed")
}
