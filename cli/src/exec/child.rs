//! The program as a child: how it is started, signals on their way to it, and its end with this process.

use std::ffi::{OsStr, OsString};
use std::io::Error;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::args::StartArgs;
use crate::exit::Failure;

/// Where the number of the error is left that kept the program from starting.
const NOT_STARTED: &str = "not-started";

/// Runs a program to its end. Signals that reach this process and not the program are handed on; if this process is
/// killed, the program is too.
pub(super) fn run(
    command: &[OsString],
    variables: &[(&'static str, OsString)],
    session: &Path,
) -> Result<ExitStatus, Failure> {
    let (program, rest) = command.split_first().ok_or_else(|| Failure::usage("no program is given"))?;
    // Before the program starts, so that none is lost; it gets the default handlers back.
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]);
    let mut signals = signals.map_err(|error| Failure::usage(format!("cannot handle signals: {error}")))?;
    let note = session.join(NOT_STARTED);
    let mut starter = Command::new(std::env::current_exe().map_err(|error| explain(program, &error))?);
    starter.arg("start-program").arg("--parent").arg(std::process::id().to_string()).arg("--note").arg(&note);
    for (name, value) in variables {
        let mut set = OsString::from(format!("--set={name}="));
        set.push(value);
        starter.arg(set);
    }
    let started = starter.arg("--").arg(program).args(rest).spawn();
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
    if let Ok(number) = std::fs::read_to_string(&note) {
        return Err(explain(program, &Error::from_raw_os_error(number.parse().unwrap_or(0))));
    }
    status.map_err(|error| Failure::usage(format!("cannot wait for {}: {error}", program.display())))
}

/// Becomes the program, which ends when its parent does. Returns only if it cannot be started.
pub(crate) fn start(args: &StartArgs) -> Failure {
    let (program, rest) = args.command.split_first().expect("the parent names a program");
    // What Linux sends when the parent is gone; that survives the program's start.
    #[cfg(target_os = "linux")]
    let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(Error::from);
    #[cfg(not(target_os = "linux"))]
    let bound = Ok::<(), Error>(());
    let parent = rustix::process::getppid().map(|parent| parent.as_raw_pid());
    let error = match bound {
        Err(error) => error,
        // It was killed before.
        Ok(()) if parent != Some(args.parent) => std::process::exit(128 + SIGTERM),
        Ok(()) => {
            let mut command = Command::new(program);
            for set in &args.set {
                let equals = set.as_bytes().iter().position(|&byte| byte == b'=').unwrap_or(set.len());
                let (name, value) = set.as_bytes().split_at(equals);
                command.env(OsStr::from_bytes(name), OsStr::from_bytes(value.get(1..).unwrap_or_default()));
            }
            command.args(rest).exec()
        }
    };
    // The parent explains it; a note that cannot be left is explained here.
    match std::fs::write(&args.note, error.raw_os_error().unwrap_or(0).to_string()) {
        Ok(()) => std::process::exit(i32::from(crate::exit::Exit::Usage.code())),
        Err(_) => explain(program, &error),
    }
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
