//! `warpgrind exec`: a program with the simulated device in place of NVIDIA's driver.
//!
//! The program runs as a child ([`child`]) that finds our [`libraries`] before its own. What its processes
//! did is put together from what they left in the session's folder ([`session`]).

pub(crate) mod child;
mod libraries;
mod session;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use protocol::{Counts, Settings};
use serde_json::{Value, json};

use crate::args::{Color, ExecArgs, Global};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::report::{self, Console, SCHEMA};
use libraries::Libraries;
use session::Folder;

/// How a report is written, by the name of its file.
fn format_of(path: &Path) -> Result<fn(&Value) -> String, Failure> {
    match path.extension().and_then(OsStr::to_str) {
        Some("sarif") => Ok(report::sarif),
        Some("xml") => Ok(report::junit),
        Some("github") => Ok(report::github),
        _ => Err(Failure::usage(format!(
            "the name of {} does not say how the findings are to be written",
            path.display()
        ))
        .help("FILE.sarif, FILE.xml (JUnit) or FILE.github")),
    }
}

/// Runs the program and ends with its status.
pub(crate) fn exec(args: &ExecArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let problem =
        |error: std::io::Error| Failure::usage(format!("cannot make the session's folder: {error}"));
    let session = Folder::make().map_err(problem)?;
    Counts::prepare(session.path()).map_err(problem)?;
    let libraries = Libraries::lay_out(session.path())?;
    let variables = variables(args, global, session.path(), &libraries)?;
    if args.show_env {
        let lines = variables.iter().map(|(name, value)| format!("{name}={}\n", value.display()));
        console.out(lines.collect::<String>());
        // The variables lead into it.
        session.keep().map_err(problem)?;
        return Ok(Exit::Clean);
    }
    // What cannot be written is better known before the program runs for an hour.
    for path in args.json.iter().chain(&args.report) {
        files::can_replace(path)?;
    }
    let write = args.report.as_deref().map(format_of).transpose()?;
    let status = child::run(&args.command, &variables, session.path())?;
    let counts = Counts::read(session.path());
    let code = match args.error_exitcode.filter(|_| counts.findings > 0) {
        Some(code) => i32::from(code),
        None => child::code(status),
    };
    if args.json.is_some() || args.report.is_some() {
        let document = json!({
            "schema": SCHEMA,
            "command": "exec",
            "program": args.command.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>(),
            "exit_code": code,
            "signal": status.signal(),
            "counts": {
                "processes": counts.processes,
                "launches": counts.launches,
                "picked": counts.picked,
                "findings": counts.findings,
            },
            "launches": protocol::launches(session.path()),
        });
        if let Some(path) = &args.json {
            files::replace(path, format!("{document:#}\n").as_bytes())?;
        }
        if let (Some(path), Some(write)) = (&args.report, write) {
            files::replace(path, write(&document).as_bytes())?;
        }
    }
    if counts.findings > 0 || counts.processes == 0 || is_checked(args) {
        console.err(session::line(&counts));
    }
    drop(session);
    console.finish()?;
    std::process::exit(code)
}

/// Whether somebody wants to know what was checked.
fn is_checked(args: &ExecArgs) -> bool {
    !args.tool.is_empty()
        || args.filter.is_some()
        || args.launch_skip.is_some()
        || args.launch_count.is_some()
        || args.error_exitcode.is_some()
        || args.save_launches.is_some()
}

/// `list` with `old` behind it, if there is one.
fn before(list: OsString, old: &str) -> OsString {
    let mut list = list;
    if let Some(old) = std::env::var_os(old).filter(|old| !old.is_empty()) {
        list.push(":");
        list.push(old);
    }
    list
}

/// What the program's environment gets.
fn variables(
    args: &ExecArgs,
    global: &Global,
    session: &Path,
    libraries: &Libraries,
) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let (folder, assembler) = (&libraries.folder, &libraries.assembler);
    let preloaded: Vec<OsString> = libraries.preloaded.iter().map(OsString::from).collect();
    let mut list: Vec<(&'static str, OsString)> = vec![
        ("LD_LIBRARY_PATH", before(folder.into(), "LD_LIBRARY_PATH")),
        ("LD_PRELOAD", before(preloaded.join(OsStr::new(":")), "LD_PRELOAD")),
        // Triton looks for the driver in this folder.
        ("TRITON_LIBCUDA_PATH", folder.into()),
        ("TRITON_PTXAS_PATH", assembler.into()),
        ("TRITON_PTXAS_BLACKWELL_PATH", assembler.into()),
        // Numba's own search for it.
        ("NUMBA_CUDA_DRIVER", folder.join("libcuda.so.1").into()),
    ];
    list.extend(settings(args, global, session)?.variables());
    Ok(list)
}

/// What the library is told.
fn settings(args: &ExecArgs, global: &Global, session: &Path) -> Result<Settings, Failure> {
    let tools: Vec<String> = args.tool.iter().map(|tool| tool.name().into()).collect();
    let save_launches = args.save_launches.as_ref().map(|path| {
        let folder = std::fs::create_dir_all(path).and_then(|()| std::fs::canonicalize(path));
        folder.map_err(|error| Failure::usage(format!("cannot use {}: {error}", path.display())))
    });
    Ok(Settings {
        session: Some(session.into()),
        tools: (!tools.is_empty()).then_some(tools),
        stats: args.stats.then_some(()),
        record: (args.json.is_some() || args.report.is_some()).then_some(()),
        filter: args.filter.clone(),
        launch_skip: args.launch_skip,
        launch_count: args.launch_count,
        seed: (args.seed != 0).then_some(args.seed),
        timeout: args.timeout,
        jobs: (global.jobs != 0).then_some(global.jobs),
        devices: args.devices,
        sm: args.sm,
        multiprocessors: args.multiprocessors,
        memory: args.memory,
        // Only people set it.
        host_memory: None,
        color: match global.color {
            Color::Auto => None,
            Color::Always => Some(protocol::Color::Always),
            Color::Never => Some(protocol::Color::Never),
        },
        save_launches: save_launches.transpose()?,
    })
}
