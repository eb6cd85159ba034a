//! When a check gives up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Somebody's wish that a check ends, which becomes true from another thread. Two are equal if they are the same one's.
///
/// ```
/// use memory_model::{Interrupt, Options, check, parse};
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// let litmus = parse("PTX T\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n").expect("a test");
/// let options = Options { interrupt: Some(Interrupt(Arc::new(AtomicBool::new(true)))), ..Options::default() };
/// assert_eq!(check(&litmus, &options).reason.as_deref(), Some("the check was interrupted"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl PartialEq for Interrupt {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Interrupt {}

/// At a time, or when somebody asks for it; by default never.
#[derive(Debug, Clone, Default)]
pub struct Until {
    deadline: Option<Instant>,
    interrupt: Option<Interrupt>,
}

impl Until {
    /// After so much time from now, or at an interrupt.
    pub fn new(time: Option<Duration>, interrupt: Option<Interrupt>) -> Self {
        Self { deadline: time.and_then(|time| Instant::now().checked_add(time)), interrupt }
    }

    /// Whether somebody asked for it.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|interrupt| interrupt.0.load(Relaxed))
    }

    /// Whether it is time to give up.
    pub fn is_over(&self) -> bool {
        self.is_interrupted() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
