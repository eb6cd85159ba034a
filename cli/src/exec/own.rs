//! `exec` as a child of our own: of commands that want the launches of a program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sim_core::AsyncPolicy;

/// A program whose launches are wanted, and how it is run.
#[derive(Clone, Default, Debug)]
pub(crate) struct Wanted<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [OsString],
    /// The folder that launches are saved in.
    pub(crate) launches: PathBuf,
    /// Where it is written what the program did, once it has ended.
    pub(crate) summary: PathBuf,
    /// Bytes that they may take.
    pub(crate) save_most: Option<u64>,
    /// Where it is noted what the program has its devices do.
    pub(crate) operations: Option<PathBuf>,
    /// The socket at which launches wait.
    pub(crate) hold: Option<PathBuf>,
    /// Part of a kernel's name.
    pub(crate) kernel: Option<&'a str>,
    pub(crate) launch_skip: Option<u64>,
    pub(crate) launch_count: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    /// Launches end with the program, whatever they do.
    pub(crate) kill: bool,
    pub(crate) seed: u64,
    pub(crate) asynchrony: AsyncPolicy,
    /// Workers of its launches; 0 for one a core.
    pub(crate) jobs: usize,
}

impl Wanted<'_> {
    /// The command that runs it, and ends with us.
    ///
    /// # Errors
    /// Our own file cannot be named.
    pub(crate) fn command(&self) -> std::io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("exec").arg("--ends-with").arg(std::process::id().to_string());
        command.arg("--save-launches").arg(&self.launches).arg("--json").arg(&self.summary);
        for (name, path) in [("--hold", &self.hold), ("--operations", &self.operations)] {
            if let Some(path) = path {
                command.arg(name).arg(path);
            }
        }
        let number = |number: u64| (number != 0).then(|| number.to_string());
        let asynchrony = Some(self.asynchrony).filter(|&policy| policy != AsyncPolicy::Eager);
        for (name, value) in [
            ("--filter", self.kernel.map(str::to_owned)),
            ("--launch-skip", self.launch_skip.map(|count| count.to_string())),
            ("--launch-count", self.launch_count.map(|count| count.to_string())),
            ("--timeout", self.timeout.map(|time| format!("{}ms", time.as_millis().max(1)))),
            ("--save-most", self.save_most.map(|bytes| bytes.to_string())),
            ("--seed", number(self.seed)),
            ("--async", asynchrony.map(|policy| policy.name().to_owned())),
            ("--jobs", number(self.jobs as u64)),
        ] {
            if let Some(value) = value {
                command.arg(name).arg(value);
            }
        }
        if self.kill {
            command.arg("--kill");
        }
        command.arg("--").args(self.command);
        Ok(command)
    }
}
