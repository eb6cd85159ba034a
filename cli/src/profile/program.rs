//! The launches of a program that is to be measured.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use protocol::operations::{Note, operations};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::args::{Global, ProfileArgs};
use crate::exec::own::Wanted;
use crate::exec::session::none_launched;
use crate::exit::{Exit, Failure};
use crate::folder::Folder;
use crate::interrupt::Interrupt;
use crate::report::Console;

/// How often it is looked whether the program has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long a program may take to end once it is asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// Launches of a program, as launch files in a folder that goes with this.
pub(super) struct Saved(Folder);

impl Saved {
    pub(super) fn make() -> Result<Self, Failure> {
        let made = Folder::make();
        Ok(Self(made.map_err(|error| Failure::usage(format!("cannot make a folder for launches: {error}")))?))
    }

    /// Runs the program as `exec` does; nothing if it could not be started, which was said, or a signal asked for the end.
    pub(super) fn run(
        &self,
        args: &ProfileArgs,
        global: &Global,
        console: &Console,
        interrupt: &Interrupt,
    ) -> Result<Option<Ran>, Failure> {
        let problem = |error: std::io::Error| Failure::usage(format!("cannot run the program: {error}"));
        let launches = self.0.path().join("launches");
        let summary = self.0.path().join("exec.json");
        let noted = self.0.path().join("operations");
        let wanted = Wanted {
            command: &args.program,
            launches: launches.clone(),
            summary: summary.clone(),
            operations: args.trace.is_some().then(|| noted.clone()),
            kernel: args.kernel.as_deref(),
            launch_skip: args.launch_skip,
            launch_count: args.launch_count,
            timeout: args.timeout,
            kill: args.kill,
            save_most: args.save_most.or_else(|| half_of_what_is_free(self.0.path())),
            jobs: global.jobs,
            ..Wanted::default()
        };
        let mut command = wanted.command().map_err(problem)?;
        // What the program prints is its own, and does not stand between the numbers.
        command.stdout(std::io::stderr());
        let Some(status) = ended(&mut command.spawn().map_err(problem)?, interrupt).map_err(problem)? else {
            return Ok(None);
        };
        // It is written when the program has ended, however that was.
        let summary =
            std::fs::read(&summary).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let Some(summary) = summary else {
            return Ok(None);
        };
        let mut files = Vec::new();
        if launches.is_dir() {
            launch_files(&launches, &mut files).map_err(problem)?;
            // There may be more than the digits of the folders' names are made for.
            let number = |file: &PathBuf| {
                let own = file.strip_prefix(&launches).ok()?.to_str()?;
                own.split('-').next()?.parse::<u64>().ok()
            };
            files.sort_by_cached_key(|file| (number(file), file.clone()));
        }
        let unsaved = match summary["counts"]["unsaved"].as_u64().unwrap_or(0) {
            0 => None,
            1 => Some("1 launch is".to_owned()),
            count => Some(format!("{count} launches are")),
        };
        if let Some(unsaved) = unsaved {
            let text = format!("{unsaved} left out, as there is no room for the memory that goes with them");
            let help = "--kernel, --launch-skip and --launch-count pick launches, --save-most says how much room there is";
            if files.is_empty() {
                return Err(Failure::usage(text).help(help));
            }
            console.err(format!("warpgrind: {text}; {help}\n"));
        }
        if files.is_empty() {
            return Err(none_launched(&summary, args.kernel.as_deref()));
        }
        let operations = operations(&noted);
        if status.success() {
            return Ok(Some(Ran { files, operations, exit: Exit::Clean }));
        }
        console
            .err(format!("warpgrind: the program ended with {status}; what it launched before is shown\n"));
        Ok(Some(Ran { files, operations, exit: Exit::Faulted }))
    }
}

/// A program that ended.
pub(super) struct Ran {
    /// Its launches.
    pub(super) files: Vec<PathBuf>,
    /// What it had its devices do, if somebody wants to see it.
    pub(super) operations: Vec<Note>,
    /// Whether it ended well.
    pub(super) exit: Exit,
}

/// Half of the bytes that are free where a folder is.
fn half_of_what_is_free(folder: &Path) -> Option<u64> {
    let of = rustix::fs::statvfs(folder).ok()?;
    Some(of.f_bavail.saturating_mul(of.f_frsize) / 2)
}

/// Waits for the program's end. If a signal asks for the end, the program has a while to come to its own, and there is no answer.
fn ended(child: &mut Child, interrupt: &Interrupt) -> std::io::Result<Option<ExitStatus>> {
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(asked.is_none().then_some(status));
        }
        match asked {
            None if interrupt.exit().is_some() => {
                asked = Some(Instant::now());
                // It hands it on. Both may be gone by now.
                let _ = kill_process(Pid::from_child(child), Signal::TERM);
            }
            Some(asked) if asked.elapsed() > PATIENCE => {
                // Its children go with it.
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            _ => std::thread::sleep(LOOK),
        }
    }
}

fn launch_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            launch_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
