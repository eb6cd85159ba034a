//! A sign of life on a terminal while something takes long.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Quiet until this much time has passed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does `work`; shows `what` with the time passed on standard error, if `wanted` and that is a
/// terminal, once it takes more than a second.
pub(crate) fn during<T>(wanted: bool, what: String, work: impl FnOnce() -> T) -> T {
    if !wanted || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what).with_elapsed(PATIENCE);
            // The default style is the fallback for a template that does not parse.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            let _ = wait.recv();
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}

/// How many of many are done: a bar on standard error, if that is a terminal, once all take more than a second.
#[derive(Debug)]
pub(crate) struct Counted {
    bar: ProgressBar,
    wanted: bool,
    begun: Instant,
}

impl Counted {
    /// Of so many `things`, if it is `wanted`.
    pub(crate) fn new(wanted: bool, length: usize, things: &str) -> Counted {
        let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::hidden());
        let template = format!("{{bar:30}} {{pos}} of {{len}} {things}, {{eta}} left");
        // The default style is the fallback for a template that does not parse.
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Counted { bar, wanted: wanted && length > 1, begun: Instant::now() }
    }

    /// One more is done.
    pub(crate) fn done(&self) {
        self.show();
        self.bar.inc(1);
    }

    /// One more is done; what it prints does not run into the bar.
    pub(crate) fn step<T>(&self, print: impl FnOnce() -> T) -> T {
        self.show();
        let result = self.bar.suspend(print);
        self.bar.inc(1);
        result
    }

    fn show(&self) {
        if self.wanted && self.begun.elapsed() >= PATIENCE && self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_prints_whether_there_is_a_bar_or_not() {
        for wanted in [false, true] {
            let counted = Counted::new(wanted, 3, "files");
            let printed: Vec<u32> = (0..5).map(|at| counted.step(|| at)).collect();
            assert_eq!(printed, [0, 1, 2, 3, 4]);
        }
    }
}
