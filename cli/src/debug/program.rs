//! A program whose launches are debugged.
//!
//! ```text
//! debug --starts--> exec --starts--> program
//!       <--socket: the folder of a launch, which waits until the connection ends--
//! ```
//! The program writes each launch down before it runs it, with the memory that it can reach, and waits. What is debugged
//! is that copy; the program then runs the launch itself, to the same end, since the machine is deterministic. What the kernel
//! printed of the copy it does not print again.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;
use sim_core::AsyncPolicy;

use crate::exec::own;
use crate::exec::session::none_launched;
use crate::exit::Failure;
use crate::folder::Folder;

/// How often somebody who waits for a program should look whether it is still to run.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);
/// How long a killed program may take to go.
const LAST: Duration = Duration::from_secs(2);

/// What is to be run, and which of its launches are wanted.
#[derive(Clone, Default, Debug)]
pub(crate) struct Wanted {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// Changes of its environment: values, or none to take a variable away.
    pub(crate) variables: Vec<(OsString, Option<OsString>)>,
    /// Part of the kernel's name.
    pub(crate) kernel: Option<String>,
    pub(crate) launch_skip: Option<u64>,
    pub(crate) launch_count: Option<u64>,
    pub(crate) seed: u64,
    pub(crate) asynchrony: AsyncPolicy,
    /// Workers of its launches; 0 for one a core.
    pub(crate) jobs: usize,
    /// What it prints comes as [`Event::Output`]; otherwise it goes where our own output goes.
    pub(crate) captured: bool,
    /// What it reads.
    pub(crate) input: Input,
}

/// What a program reads from standard input.
#[derive(Clone, Default, Debug)]
pub(crate) enum Input {
    /// Nothing.
    #[default]
    Nothing,
    /// What we would: nobody else reads it.
    Ours,
    /// A file.
    File(PathBuf),
}

impl Input {
    fn open(&self) -> Result<Stdio, Failure> {
        match self {
            Input::Nothing => Ok(Stdio::null()),
            Input::Ours => Ok(Stdio::inherit()),
            Input::File(path) => match std::fs::File::open(path) {
                Ok(file) => Ok(file.into()),
                Err(error) => Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
            },
        }
    }
}

/// What happens to a program.
#[derive(Debug)]
pub(crate) enum Event {
    /// It stands before a launch.
    Launch(Held),
    /// It printed something, to standard output or to standard error.
    Output(&'static str, Vec<u8>),
    /// It has ended.
    Ended(ExitStatus),
}

/// What the threads around a program tell of it.
enum Told {
    Of(Event),
    /// It has ended, and can be waited for.
    Ended,
}

/// A launch that waits; it runs when this goes.
#[derive(Debug)]
pub(crate) struct Held {
    folder: PathBuf,
    stream: UnixStream,
}

impl Held {
    /// What the kernel prints was shown: the program does not print it again.
    pub(crate) fn was_printed(&self) {
        // One that has gone prints nothing.
        let _ = (&self.stream).write_all(&[protocol::PRINTED]);
    }

    /// The launch file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("LAUNCH.toml")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What stays goes with the session's folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Program {
    exec: Child,
    told: Receiver<Told>,
    kernel: Option<String>,
    folder: Folder,
}

impl Program {
    /// Starts it.
    pub(crate) fn start(wanted: &Wanted) -> Result<Self, Failure> {
        let problem = |error: std::io::Error| Failure::usage(format!("cannot run the program: {error}"));
        let folder = Folder::make().map_err(problem)?;
        let (sender, told) = channel();
        let socket = folder.path().join("held");
        let listener = UnixListener::bind(&socket);
        let listener = listener.map_err(|error| {
            Failure::usage(format!("cannot make the socket {}: {error}", socket.display()))
                .help("TMPDIR may name another folder, with a shorter path")
        })?;
        let launches = sender.clone();
        std::thread::spawn(move || accept(&listener, &launches));

        let saved = own::Wanted {
            command: &wanted.command,
            launches: folder.path().join("launches"),
            summary: summary(folder.path()),
            hold: Some(socket),
            kernel: wanted.kernel.as_deref(),
            launch_skip: wanted.launch_skip,
            launch_count: wanted.launch_count,
            seed: wanted.seed,
            asynchrony: wanted.asynchrony,
            jobs: wanted.jobs,
            ..own::Wanted::default()
        };
        let mut command = saved.command().map_err(problem)?;
        for (name, value) in &wanted.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // What interrupts the debugger does not end the program; as it is not in the foreground, it cannot ask the terminal.
        command.stdin(wanted.input.open()?).process_group(0);
        if wanted.captured {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut exec = command.spawn().map_err(problem)?;
        let (open, closed) = channel::<()>();
        if let Some(output) = exec.stdout.take() {
            forward("stdout", output, sender.clone(), open.clone());
        }
        if let Some(output) = exec.stderr.take() {
            forward("stderr", output, sender.clone(), open.clone());
        }
        drop(open);
        let pid = Pid::from_child(&exec);
        std::thread::spawn(move || {
            // It is left to be waited for, so that its number stays its own.
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            // What it printed comes before; somebody whom it left behind may hold its output open.
            let _ = closed.recv_timeout(LAST);
            // Nobody may be left to be told.
            let _ = sender.send(Told::Ended);
        });
        Ok(Self { exec, told, kernel: wanted.kernel.clone(), folder })
    }

    /// What happens next; nothing if that takes longer.
    pub(crate) fn next(&mut self, patience: Duration) -> Option<Event> {
        match self.told.recv_timeout(patience) {
            Ok(Told::Ended) | Err(RecvTimeoutError::Disconnected) => {
                Some(Event::Ended(self.exec.wait().unwrap_or_default()))
            }
            Ok(Told::Of(event)) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// What `exec` wrote of the program once it had ended; nothing if it could not be started, which was said.
    fn summary(&self) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(summary(self.folder.path())).ok()?).ok()
    }

    /// The signal that ended the program, if one did.
    pub(crate) fn signal(&self) -> Option<i64> {
        self.summary()?["signal"].as_i64()
    }

    /// Why there was nothing to debug; nothing if the program could not be started, which was said.
    pub(crate) fn none_launched(&self) -> Option<Failure> {
        Some(none_launched(&self.summary()?, self.kernel.as_deref()))
    }

    /// Ends the program; it does nothing more, the launch that waits included.
    pub(crate) fn end(mut self, held: Option<Held>) {
        self.kill();
        if let Some(held) = held {
            // Its end of the connection closes when it is gone.
            let _ = held.stream.set_read_timeout(Some(LAST));
            let _ = (&held.stream).read(&mut [0]);
        }
    }

    fn kill(&mut self) {
        // It may have ended. The one that keeps the program ends it then.
        let _ = self.exec.kill();
        let _ = self.exec.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where `exec` writes what the program did, once it has ended.
fn summary(folder: &Path) -> PathBuf {
    folder.join("exec.json")
}

/// Tells of launches that wait.
fn accept(listener: &UnixListener, launches: &Sender<Told>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { return };
        let mut line = Vec::new();
        // One that went before it said anything does not wait.
        if BufReader::new(&stream).read_until(b'\n', &mut line).is_ok() && line.pop() == Some(b'\n') {
            let held = Held { folder: OsStr::from_bytes(&line).into(), stream };
            if launches.send(Told::Of(Event::Launch(held))).is_err() {
                return;
            }
        }
    }
}

/// Tells of output until it ends; `_open` goes then.
fn forward(name: &'static str, mut from: impl Read + Send + 'static, to: Sender<Told>, _open: Sender<()>) {
    std::thread::spawn(move || {
        let _open = _open;
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.send(Told::Of(Event::Output(name, bytes[..count].to_vec()))).is_err() {
                return;
            }
        }
    });
}
