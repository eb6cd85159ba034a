//! The program as a child: how it is started, and signals on their way to it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::exit::Failure;

/// Runs a program to its end. Signals that reach this process and not the program are handed on.
pub(super) fn run(
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Result<ExitStatus, Failure> {
    let (program, rest) = command.split_first().ok_or_else(|| Failure::usage("no program is given"))?;
    // Before the program starts, so that none is lost; it gets the default handlers back.
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]);
    let mut signals = signals.map_err(|error| Failure::usage(format!("cannot handle signals: {error}")))?;
    let started = Command::new(program).args(rest).envs(variables).spawn();
    let mut child = started.map_err(|error| explain(program, &error))?;
    let handle = signals.handle();
    let target = Pid::from_child(&child);
    let forward = std::thread::spawn(move || {
        for number in &mut signals {
            let from_terminal = matches!(number, SIGINT | SIGQUIT) && in_foreground();
            if !from_terminal && let Some(signal) = Signal::from_named_raw(number) {
                // The program may be gone by now.
                let _ = kill_process(target, signal);
            }
        }
    });
    let status = child.wait();
    handle.close();
    // The thread has nothing left to do.
    let _ = forward.join();
    status.map_err(|error| Failure::usage(format!("cannot wait for {}: {error}", program.display())))
}

/// Whether the terminal sends its signals to this process, and so to the program too.
fn in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

fn explain(program: &OsString, error: &std::io::Error) -> Failure {
    let failure = Failure::usage(format!("cannot run {}: {error}", program.display()));
    let path = Path::new(program);
    let is_bare = path.components().count() == 1 && !program.as_encoded_bytes().contains(&b'/');
    match error.kind() {
        std::io::ErrorKind::NotFound if is_bare && path.is_file() => {
            failure.help(format!("it is not on the path; did you mean `./{}`?", program.display()))
        }
        std::io::ErrorKind::NotFound if !is_bare && path.is_file() => {
            failure.help("the file is there; the interpreter that it names is not")
        }
        std::io::ErrorKind::PermissionDenied if path.is_file() => failure.help("the file is not executable"),
        _ => failure,
    }
}

/// The exit status of a shell for it: 128 and the number of the signal that ended the program.
pub(super) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
