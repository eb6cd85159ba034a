//! The program as a child: how it is started, signals on their way to it, and its end with this process.
//!
//! ```text
//! exec --starts--> keeper --starts--> program --starts--> its children
//! ```
//! The keeper lives as long as the program. Whatever the program leaves without a parent becomes the keeper's child, so that
//! it can end all of them when `exec` is killed, which cannot do anything then.

use std::ffi::{OsStr, OsString};
use std::io::Error;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
#[cfg(target_os = "linux")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
#[cfg(target_os = "linux")]
use signal_hook::consts::SIGIO;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::args::StartArgs;
use crate::exit::{Exit, Failure};

/// Where the number of the error is left that kept the program from starting.
const NOT_STARTED: &str = "not-started";
/// Where the keeper leaves how the program ended, as `wait` said it.
#[cfg(target_os = "linux")]
const ENDED: &str = "ended";

/// Runs a program to its end. Signals that reach this process and not the program are handed on; if this process is
/// killed, the program and its children are too.
pub(super) fn run(
    command: &[OsString],
    variables: &[(&'static str, OsString)],
    session: &Path,
) -> Result<ExitStatus, Failure> {
    let program = command.first().ok_or_else(|| Failure::usage("no program is given"))?;
    // Before the program starts, so that none is lost; it gets the default handlers back.
    let signals = signals();
    let mut signals = signals.map_err(|error| Failure::usage(format!("cannot handle signals: {error}")))?;
    let note = session.join(NOT_STARTED);
    let set = variables.iter().map(|(name, value)| {
        let mut set = OsString::from(format!("{name}="));
        set.push(value);
        set
    });
    let start = StartArgs {
        parent: std::process::id() as i32,
        note: note.clone(),
        set: set.collect(),
        command: command.to_vec(),
    };
    let verb = if cfg!(target_os = "linux") { "keep-program" } else { "start-program" };
    let mut child = become_later(verb, &start).map_err(|error| explain(program, &error))?;
    let handle = signals.handle();
    let target = Pid::from_child(&child);
    let forward = std::thread::spawn(move || signals.forever().for_each(|number| hand_on(number, target)));
    let status = child.wait();
    handle.close();
    // The thread has nothing left to do.
    let _ = forward.join();
    if let Ok(number) = std::fs::read_to_string(&note) {
        return Err(explain(program, &Error::from_raw_os_error(number.parse().unwrap_or(0))));
    }
    #[cfg(target_os = "linux")]
    if let Some(raw) = std::fs::read_to_string(session.join(ENDED)).ok().and_then(|text| text.parse().ok()) {
        return Ok(ExitStatus::from_raw(raw));
    }
    status.map_err(|error| Failure::usage(format!("cannot wait for {}: {error}", program.display())))
}

/// The signals that are handed on, from here on.
fn signals() -> std::io::Result<Signals> {
    Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])
}

/// Gives a signal to a process, unless it has it from the terminal.
fn hand_on(number: i32, target: Pid) {
    let from_terminal = matches!(number, SIGINT | SIGQUIT) && in_foreground();
    if !from_terminal && let Some(signal) = Signal::from_named_raw(number) {
        // The process may be gone by now.
        let _ = kill_process(target, signal);
    }
}

/// This tool as another process, which is to become the program or to keep it.
fn become_later(verb: &str, start: &StartArgs) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(verb).arg("--parent").arg(start.parent.to_string()).arg("--note").arg(&start.note);
    for set in &start.set {
        let mut argument = OsString::from("--set=");
        argument.push(set);
        command.arg(argument);
    }
    command.arg("--").args(&start.command).spawn()
}

/// Has the system send a signal to this process when its parent is gone; that survives the start of a program.
#[cfg(target_os = "linux")]
fn bind_to_parent(signal: Signal) -> std::io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(signal))?)
}

/// Whether the parent is still the one that started this process.
fn has_parent(parent: i32) -> bool {
    rustix::process::getppid().map(Pid::as_raw_pid) == Some(parent)
}

/// Ends this process when the one is gone that started it.
pub(super) fn end_with(parent: i32) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    bind_to_parent(Signal::KILL)?;
    // It may have been gone before.
    if !has_parent(parent) {
        std::process::exit(128 + SIGTERM);
    }
    Ok(())
}

/// Starts the program and stays beside it. Returns only if that is not possible.
#[cfg(target_os = "linux")]
pub(crate) fn keep(args: &StartArgs) -> Failure {
    let program = args.command.first().expect("the parent names a program");
    match kept(args) {
        Ok(never) => match never {},
        Err(error) => explain(program, &error),
    }
}

#[cfg(target_os = "linux")]
fn kept(args: &StartArgs) -> std::io::Result<std::convert::Infallible> {
    use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
    let mut signals = signals()?;
    signals.add_signal(SIGIO)?;
    // One that nobody hands on: it comes as soon as a thread of the parent ends, when others of it may still be there.
    bind_to_parent(Signal::IO)?;
    set_child_subreaper(Some(getpid()))?;
    if !has_parent(args.parent) {
        std::process::exit(128 + SIGTERM);
    }
    let start = StartArgs { parent: getpid().as_raw_pid(), ..args.clone() };
    let program = Pid::from_child(&become_later("start-program", &start)?);
    let is_abandoned = Arc::new(AtomicBool::new(false));
    let (abandoned, note) = (is_abandoned.clone(), args.note.clone());
    std::thread::spawn(move || {
        for number in signals.forever() {
            if number != SIGIO {
                hand_on(number, program);
                continue;
            }
            abandoned.store(true, SeqCst);
            end_children();
            // What stays is the next session's to take away.
            let _ = note.parent().map(std::fs::remove_dir_all);
            std::process::exit(128 + SIGTERM);
        }
    });
    loop {
        // What the program left behind is waited for, too.
        match wait(WaitOptions::empty()) {
            // When the parent is gone, the other thread ends this process.
            Ok(Some((pid, status))) if pid == program && !is_abandoned.load(SeqCst) => {
                // Without it the parent takes this process' own end for the program's.
                let _ = std::fs::write(args.note.with_file_name(ENDED), status.as_raw().to_string());
                std::process::exit(code(ExitStatus::from_raw(status.as_raw())));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) if is_abandoned.load(SeqCst) => std::thread::park(),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills all children. The children of those become children of this process then, and are killed in their turn.
#[cfg(target_os = "linux")]
fn end_children() {
    let own = std::process::id();
    loop {
        let tasks = std::fs::read_dir(format!("/proc/{own}/task")).into_iter().flatten().flatten();
        let lists =
            tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
        let children: Vec<i32> = lists
            .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        if children.is_empty() {
            return;
        }
        for child in children.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(child, Signal::KILL);
        }
        // The other thread waits for them.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Becomes the program, which ends when its parent does. Returns only if it cannot be started.
pub(crate) fn start(args: &StartArgs) -> Failure {
    let (program, rest) = args.command.split_first().expect("the parent names a program");
    #[cfg(target_os = "linux")]
    let bound = bind_to_parent(Signal::KILL);
    #[cfg(not(target_os = "linux"))]
    let bound = Ok::<(), Error>(());
    let error = match bound {
        Err(error) => error,
        // It was killed before.
        Ok(()) if !has_parent(args.parent) => std::process::exit(128 + SIGTERM),
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
        Ok(()) => std::process::exit(i32::from(Exit::Usage.code())),
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
pub(crate) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
