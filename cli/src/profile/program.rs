//! The launches of a program that is to be measured.

use std::path::{Path, PathBuf};

use crate::args::{Global, ProfileArgs};
use crate::exec::own::Wanted;
use crate::exec::session::none_launched;
use crate::exit::{Exit, Failure};
use crate::folder::Folder;
use crate::report::Console;

/// Launches of a program, as launch files in a folder that goes with this.
pub(super) struct Saved(Folder);

impl Saved {
    pub(super) fn make() -> Result<Self, Failure> {
        let made = Folder::make();
        Ok(Self(made.map_err(|error| Failure::usage(format!("cannot make a folder for launches: {error}")))?))
    }

    /// Runs the program as `exec` does; nothing if it could not be started, which was said.
    pub(super) fn run(
        &self,
        args: &ProfileArgs,
        global: &Global,
        console: &Console,
    ) -> Result<Option<Ran>, Failure> {
        let problem = |error: std::io::Error| Failure::usage(format!("cannot run the program: {error}"));
        let launches = self.0.path().join("launches");
        let summary = self.0.path().join("exec.json");
        let wanted = Wanted {
            command: &args.program,
            launches: launches.clone(),
            summary: summary.clone(),
            kernel: args.kernel.as_deref(),
            launch_skip: args.launch_skip,
            launch_count: args.launch_count,
            timeout: args.timeout,
            kill: args.kill,
            jobs: global.jobs,
            ..Wanted::default()
        };
        let mut command = wanted.command().map_err(problem)?;
        // What the program prints is its own, and does not stand between the numbers.
        command.stdout(std::io::stderr());
        let status = command.status().map_err(problem)?;
        // It is written when the program has ended, however that was.
        let Some(summary) = std::fs::read(&summary).ok().and_then(|text| serde_json::from_slice(&text).ok())
        else {
            return Ok(None);
        };
        let mut files = Vec::new();
        if launches.is_dir() {
            launch_files(&launches, &mut files).map_err(problem)?;
            files.sort();
        }
        if files.is_empty() {
            return Err(none_launched(&summary, args.kernel.as_deref()));
        }
        if status.success() {
            return Ok(Some(Ran { files, exit: Exit::Clean }));
        }
        console
            .err(format!("warpgrind: the program ended with {status}; what it launched before is shown\n"));
        Ok(Some(Ran { files, exit: Exit::Faulted }))
    }
}

/// A program that ended.
pub(super) struct Ran {
    /// Its launches.
    pub(super) files: Vec<PathBuf>,
    /// Whether it ended well.
    pub(super) exit: Exit,
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
