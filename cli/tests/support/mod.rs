//! The tool, as tests of its process start it: from the folder of the workspace.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn warpgrind(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).args(args);
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    warpgrind(args).output().unwrap()
}
