//! A sign of life on a terminal while something takes long.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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
