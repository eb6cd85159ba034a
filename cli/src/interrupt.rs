//! Ctrl-C and SIGTERM: what runs ends with a report, and nothing is written after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit::{Exit, Failure};

/// How often signals are looked for while something is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// Whether a signal has asked for the end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    /// Any signal; the simulator looks at it.
    pub(crate) any: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Interrupt {
    /// From here on the first signal only asks; a second one ends the process at once.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let problem = |error: std::io::Error| Failure::usage(format!("cannot handle signals: {error}"));
        let interrupt = Self { any: Arc::default(), terminated: Arc::default() };
        for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
            use signal_hook::flag::{register, register_conditional_shutdown};
            // Handlers run in this order: the first signal finds the flag not set.
            let asked = interrupt.any.clone();
            register_conditional_shutdown(signal, exit.code().into(), asked).map_err(problem)?;
            if signal == SIGTERM {
                register(signal, interrupt.terminated.clone()).map_err(problem)?;
            }
            register(signal, interrupt.any.clone()).map_err(problem)?;
        }
        Ok(interrupt)
    }

    /// How the process ends, if a signal has asked for that.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let terminated = self.terminated.load(Ordering::Relaxed);
        let exit = if terminated { Exit::Terminated } else { Exit::Interrupted };
        self.any.load(Ordering::Relaxed).then_some(exit)
    }

    /// What others send, until all of them are gone or a signal has asked for the end.
    pub(crate) fn until<'a, T>(&'a self, receiver: &'a Receiver<T>) -> impl Iterator<Item = T> + 'a {
        std::iter::from_fn(move || {
            while self.exit().is_none() {
                match receiver.recv_timeout(LOOK) {
                    Ok(sent) => return Some(sent),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            None
        })
    }

    /// An error if a signal has asked for the end.
    pub(crate) fn check(&self, doing: &str) -> Result<(), Failure> {
        match self.exit() {
            Some(exit) => Err(Failure::new(exit, format!("interrupted before {doing}"))),
            None => Ok(()),
        }
    }
}
