//! `warpgrind exec`: a program with the simulated device in place of NVIDIA's driver.
//!
//! The program runs as a child with a folder of libraries before its own. What its launches do is noted by the
//! library in files of the session's folder, a JSON document a line; they are put together here.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::args::{ExecArgs, Global, Tool};
use crate::exit::{Exit, Failure};
use crate::report::{Console, SCHEMA};

/// Names in the folder, and the files that they stand for.
const LIBRARIES: [(&str, &str); 4] = [
    ("libcuda.so.1", "libwarpgrind_cuda.so"),
    ("libcuda.so", "libwarpgrind_cuda.so"),
    ("libcudart.so.12", "libcudart.so.12"),
    ("libcudart.so.13", "libcudart.so.13"),
];

/// Runs the program and ends with its status.
pub(crate) fn exec(args: &ExecArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    if args.tool.contains(&Tool::Synccheck) {
        return Err(Failure::new(Exit::Unsupported, "`--tool synccheck` is not available yet"));
    }
    let session = tempfile::Builder::new().prefix("warpgrind-").tempdir();
    let session = session.map_err(|error| Failure::usage(format!("cannot make a folder: {error}")))?;
    let folder = session.path().join("lib");
    lay_out(&folder)?;
    let assembler = pass_through(session.path())?;
    let variables = variables(args, global, session.path(), &folder, &assembler)?;
    if args.show_env {
        // What is left behind on purpose: the variables lead into it.
        let _ = session.keep();
        let lines = variables.iter().map(|(name, value)| format!("{name}={}\n", value.display()));
        console.out(lines.collect::<String>());
        return Ok(Exit::Clean);
    }
    let (program, rest) = args.command.split_first().ok_or_else(|| Failure::usage("no program is given"))?;
    let mut command = Command::new(program);
    command.args(rest).envs(variables);
    let status = command
        .status()
        .map_err(|error| Failure::usage(format!("cannot run {}: {error}", program.display())))?;
    let launches = collect(session.path());
    if let Some(path) = &args.json {
        let document = json!({ "schema": SCHEMA, "command": "exec", "launches": launches });
        let text = serde_json::to_vec_pretty(&document).unwrap_or_default();
        std::fs::write(path, text)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let found = session.path().join("found").exists();
    let code = match args.error_exitcode.filter(|_| found) {
        Some(code) => i32::from(code),
        None => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
    };
    drop(session);
    console.finish()?;
    std::process::exit(code)
}

/// Links the libraries under the names that programs look for.
fn lay_out(folder: &Path) -> Result<(), Failure> {
    let problem = |error: std::io::Error| Failure::usage(format!("cannot lay out the libraries: {error}"));
    std::fs::create_dir_all(folder).map_err(problem)?;
    let from = library_folder()?;
    for (name, file) in LIBRARIES {
        std::os::unix::fs::symlink(from.join(file), folder.join(name)).map_err(problem)?;
    }
    Ok(())
}

/// An assembler that hands on the PTX it is given, for frameworks that assemble before they load.
const PTXAS: &str = include_str!("ptxas.sh");

/// Writes [`PTXAS`]; returns where.
fn pass_through(session: &Path) -> Result<PathBuf, Failure> {
    use std::os::unix::fs::PermissionsExt;
    let path = session.join("ptxas");
    std::fs::write(&path, PTXAS)
        .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)))
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

/// Where the libraries are: beside this program, or in `lib` beside its folder.
fn library_folder() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    let program = program.map_err(|error| Failure::usage(format!("where is this program? {error}")))?;
    let here = program.parent().unwrap_or(Path::new("."));
    let candidates = [here.to_path_buf(), here.join("deps"), here.join("../lib"), here.join("..")];
    let complete = |folder: &PathBuf| LIBRARIES.iter().all(|(_, file)| folder.join(file).is_file());
    candidates.into_iter().find(complete).ok_or_else(|| {
        Failure::usage(format!("the libraries are not beside {}", program.display()))
            .help("`cargo build --release` makes them; they stay beside the program when it is copied")
    })
}

/// What the program's environment gets.
fn variables(
    args: &ExecArgs,
    global: &Global,
    session: &Path,
    folder: &Path,
    assembler: &Path,
) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let mut path = folder.as_os_str().to_owned();
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH").filter(|old| !old.is_empty()) {
        path.push(":");
        path.push(old);
    }
    let mut list: Vec<(&'static str, OsString)> = vec![
        ("LD_LIBRARY_PATH", path),
        ("WARPGRIND_SESSION", session.into()),
        // Triton looks for the driver in this folder.
        ("TRITON_LIBCUDA_PATH", folder.into()),
        ("TRITON_PTXAS_PATH", assembler.into()),
        ("TRITON_PTXAS_BLACKWELL_PATH", assembler.into()),
        // Numba's own search for it.
        ("NUMBA_CUDA_DRIVER", folder.join("libcuda.so.1").into()),
    ];
    let mut set = |name, value: Option<String>| {
        if let Some(value) = value {
            list.push((name, value.into()));
        }
    };
    let tool = |tool: &Tool| match tool {
        Tool::Memcheck => "memcheck",
        Tool::Initcheck => "initcheck",
        Tool::Racecheck => "racecheck",
        Tool::Synccheck => "synccheck",
    };
    let tools: Vec<&str> = args.tool.iter().map(tool).collect();
    set("WARPGRIND_TOOL", (!tools.is_empty()).then(|| tools.join(",")));
    set("WARPGRIND_STATS", args.stats.then(|| "1".into()));
    set("WARPGRIND_RECORD", args.json.is_some().then(|| "1".into()));
    set("WARPGRIND_FILTER", args.filter.clone());
    set("WARPGRIND_LAUNCH_SKIP", args.launch_skip.map(|n| n.to_string()));
    set("WARPGRIND_LAUNCH_COUNT", args.launch_count.map(|n| n.to_string()));
    set("WARPGRIND_SEED", (args.seed != 0).then(|| args.seed.to_string()));
    set("WARPGRIND_TIMEOUT_MS", args.timeout.map(|time| time.as_millis().to_string()));
    set("WARPGRIND_JOBS", (global.jobs != 0).then(|| global.jobs.to_string()));
    set("WARPGRIND_DEVICES", args.devices.map(|n| n.to_string()));
    set("WARPGRIND_SM", args.sm.map(|n| n.to_string()));
    set("WARPGRIND_MULTIPROCESSORS", args.multiprocessors.map(|n| n.to_string()));
    set("WARPGRIND_MEMORY", args.memory.map(|n| n.to_string()));
    if let Some(path) = &args.save_launches {
        let folder = std::fs::create_dir_all(path).and_then(|()| std::fs::canonicalize(path));
        let folder =
            folder.map_err(|error| Failure::usage(format!("cannot use {}: {error}", path.display())))?;
        list.push(("WARPGRIND_SAVE_LAUNCHES", folder.into()));
    }
    Ok(list)
}

/// The launches that processes of the program have noted, those of each process in order.
fn collect(session: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(session).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    texts
        .flat_map(|text| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>())
        .collect()
}
