//! `warpgrind exec`: a program with the simulated device in place of NVIDIA's driver.
//!
//! The program runs as a child ([`child`]) that finds our [`libraries`] before its own. What its processes
//! did is put together from what they left in the session's folder ([`session`]).

pub(crate) mod child;
mod libraries;
pub(crate) mod own;
pub(crate) mod session;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use protocol::{Counts, Settings};
use reports::triage::{Found, Known, Policy};
use serde_json::{Value, json};
use sim_core::{AsyncPolicy, Engine};

use crate::args::{Color, ExecArgs, Global, Unused, note_engine};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::folder::Folder;
use crate::report::{Console, SCHEMA};
use crate::triage::Triage;
use libraries::Libraries;

/// Runs the program and ends with its status.
pub(crate) fn exec(args: &ExecArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let problem =
        |error: std::io::Error| Failure::usage(format!("cannot make the session's folder: {error}"));
    let triage = Triage::open(&args.findings, console)?;
    if args.findings.unused_suppressions == Unused::Error && args.error_exitcode.is_none() {
        return Err(Failure::usage(
            "`--unused-suppressions error` would change nothing: findings do not, either",
        )
        .help("with `--error-exitcode N` both end the command with that status"));
    }
    let session = Folder::make().map_err(problem)?;
    Counts::prepare(session.path(), triage.policy.entries()).map_err(problem)?;
    std::fs::write(session.path().join(TRIAGE), triage.policy.to_text()).map_err(problem)?;
    let libraries = Libraries::lay_out(session.path())?;
    let variables = variables(args, global, session.path(), &libraries, &triage.policy)?;
    if args.show_env {
        let lines = variables.iter().map(|(name, value)| format!("{name}={}\n", value.display()));
        console.out(lines.collect::<String>());
        // The variables lead into it.
        session.keep().map_err(problem)?;
        return Ok(Exit::Clean);
    }
    // What cannot be written is better known before the program runs for an hour.
    if let Some(path) = &args.json {
        files::can_replace(path)?;
    }
    if let Some(parent) = args.ends_with {
        child::end_with(parent).map_err(problem)?;
    }
    let status = child::run(&args.command, &variables, session.path())?;
    let counts = Counts::read(session.path());
    let launches = match records(args) {
        true => protocol::launches(session.path()),
        false => Vec::new(),
    };
    let found = Found { new: counts.findings, known: counts.known, suppressed: counts.suppressed };
    triage.take(found, protocol::hits(session.path()), known(&launches));
    let code = match args.error_exitcode.filter(|_| counts.findings > 0 || triage.has_wrong()) {
        Some(code) => i32::from(code),
        None => child::code(status),
    };
    let (_, expected) = triage.finish(Exit::Clean)?;
    let document = |launches: Vec<Value>| {
        let mut document = json!({
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
                "known": counts.known,
                "suppressed": counts.suppressed,
                "unsaved": counts.unsaved,
            },
            "launches": launches,
        });
        if let Some(expected) = &expected {
            document["triage"] = json!(expected);
        }
        document
    };
    if let Some(path) = &args.json {
        let picked = launches.iter().filter(|launch| launch["picked"] != false).cloned().collect();
        files::replace(path, format!("{:#}\n", document(picked)).as_bytes())?;
    }
    if args.findings.report.is_some() {
        triage.publish(&document(launches))?;
    }
    let all = counts.findings + counts.known + counts.suppressed;
    if all > 0 || counts.processes == 0 || is_checked(args) {
        console.err(session::line(&counts));
    }
    drop(session);
    console.finish()?;
    std::process::exit(code)
}

/// The file in the session's folder that says what findings are expected.
const TRIAGE: &str = "triage";

/// Whether processes note their launches.
fn records(args: &ExecArgs) -> bool {
    args.json.is_some() || args.findings.report.is_some() || args.findings.write_baseline.is_some()
}

/// What a new baseline is to know of these launches.
fn known(launches: &[Value]) -> Vec<Known> {
    let findings = launches.iter().filter_map(|launch| launch["findings"].as_array()).flatten();
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let known = findings.filter(|finding| finding["status"] == "known").map(|finding| {
        let place = &finding["excerpts"][0];
        Known {
            fingerprint: text(&finding["fingerprint"]),
            kind: text(&finding["kind"]),
            kernel: text(&finding["kernel"]),
            file: text(&place["file"]),
            line: place["line"].as_u64().and_then(|line| line.try_into().ok()).unwrap_or(0),
            text: text(&place["text"]).trim().to_owned(),
        }
    });
    known.collect()
}

/// Whether somebody wants to know what was checked.
fn is_checked(args: &ExecArgs) -> bool {
    !args.tool.is_empty()
        || args.filter.is_some()
        || args.launch_skip.is_some()
        || args.launch_count.is_some()
        || args.error_exitcode.is_some()
        || args.save_launches.is_some()
        || args.findings.baseline.is_some()
        || args.findings.write_baseline.is_some()
        || !args.findings.suppressions.is_empty()
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

/// What a variable holds, or else a text.
fn unless_set(name: &str, text: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| text.into())
}

/// Flags of a variable, with those of a list that are not among them, whatever their values.
fn with_flags(name: &str, list: &[&str]) -> OsString {
    let given = std::env::var_os(name).unwrap_or_default();
    let mut flags = given.clone();
    for flag in list {
        let key = flag.split('=').next();
        if !given.to_string_lossy().split_whitespace().any(|given| given.split('=').next() == key) {
            flags.push(if flags.is_empty() { "" } else { " " });
            flags.push(flag);
        }
    }
    flags
}

/// What has XLA make kernels, where it would take machine code: its own that finds out which variant of a kernel is fast, cuDNN's
/// for convolutions, cuBLAS's for some products. Tiles of products it chooses by measuring; those that it takes without are
/// smaller than a matrix instruction on bytes, and such products are wrong.
const XLA_FLAGS: [&str; 3] = [
    "--xla_gpu_autotune_level=0",
    "--xla_disable_hlo_passes=conv-rewriter,cublas-gemm-rewriter",
    "--xla_gpu_override_gemm_autotuner=block_m:32,block_n:32,block_k:32,split_k:1,num_stages:1,num_warps:4,num_ctas:1",
];

/// What the program's environment gets.
fn variables(
    args: &ExecArgs,
    global: &Global,
    session: &Path,
    libraries: &Libraries,
    policy: &Policy,
) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let (folder, assembler) = (&libraries.folder, &libraries.assembler);
    let preloaded: Vec<OsString> = libraries.preloaded.iter().map(OsString::from).collect();
    let mut list: Vec<(&'static str, OsString)> = vec![
        ("LD_LIBRARY_PATH", before(folder.into(), "LD_LIBRARY_PATH")),
        ("LD_PRELOAD", before(preloaded.join(OsStr::new(":")), "LD_PRELOAD")),
        ("PATH", before(libraries.commands.clone().into(), "PATH")),
        // For compilers that the program starts: AOTInductor links with `-lcuda`.
        ("LIBRARY_PATH", before(folder.into(), "LIBRARY_PATH")),
        // Triton looks for the driver in this folder.
        ("TRITON_LIBCUDA_PATH", folder.into()),
        ("TRITON_PTXAS_PATH", assembler.into()),
        ("TRITON_PTXAS_BLACKWELL_PATH", assembler.into()),
        // JAX has XLA assemble with what it finds in this folder, before that of its packages and of a toolkit.
        ("CUDA_ROOT", libraries.toolkit.clone().into()),
        ("XLA_FLAGS", with_flags("XLA_FLAGS", &XLA_FLAGS)),
        // JAX takes most of the memory otherwise.
        ("XLA_PYTHON_CLIENT_PREALLOCATE", unless_set("XLA_PYTHON_CLIENT_PREALLOCATE", "false")),
        // Inductor measures variants of its kernels otherwise, by times that are the simulator's.
        ("TORCHINDUCTOR_DETERMINISTIC", unless_set("TORCHINDUCTOR_DETERMINISTIC", "1")),
        // PyTorch forgets that with the first graph. Where it measures all the same, Triton's way takes as few runs as may be,
        // Inductor's own 200, each behind zeros for a whole cache.
        (
            "TORCHINDUCTOR_FORCE_FILTER_REDUCTION_CONFIGS",
            unless_set("TORCHINDUCTOR_FORCE_FILTER_REDUCTION_CONFIGS", "1"),
        ),
        (
            "TORCHINDUCTOR_USE_EXPERIMENTAL_BENCHMARKER",
            unless_set("TORCHINDUCTOR_USE_EXPERIMENTAL_BENCHMARKER", "0"),
        ),
        // Versions before that setting measure with eager operators whether to pad products of matrices.
        ("TORCHINDUCTOR_SHAPE_PADDING", unless_set("TORCHINDUCTOR_SHAPE_PADDING", "0")),
        // Kernels that PyTorch made for a GPU with the same home are machine code.
        ("USE_PYTORCH_KERNEL_CACHE", unless_set("USE_PYTORCH_KERNEL_CACHE", "0")),
        // PyCUDA and others have nvcc make cubins while they run, which have their PTX with line information alone.
        ("NVCC_APPEND_FLAGS", with_flags("NVCC_APPEND_FLAGS", &["-lineinfo"])),
        // Numba's own search for it.
        ("NUMBA_CUDA_DRIVER", folder.join("libcuda.so.1").into()),
    ];
    if let Ok(architectures) = std::env::var("TORCH_CUDA_ARCH_LIST") {
        list.push(("TORCH_CUDA_ARCH_LIST", with_ptx(&architectures).into()));
    }
    list.extend(settings(args, global, session, policy)?.variables());
    Ok(list)
}

/// What PyTorch compiles extensions for, with PTX for the device where none is asked for: images of containers name machine code alone.
fn with_ptx(architectures: &str) -> String {
    let separated = |c: char| c == ';' || c.is_whitespace();
    match architectures.split(separated).find(|name| name.starts_with("9.0") || *name == "Hopper") {
        _ if architectures.contains("+PTX") => architectures.to_owned(),
        Some(own) => architectures.replacen(own, &format!("{}+PTX", own.replace("Hopper", "9.0")), 1),
        None => format!("{architectures};9.0+PTX"),
    }
}

/// What the library is told.
fn settings(args: &ExecArgs, global: &Global, session: &Path, policy: &Policy) -> Result<Settings, Failure> {
    let option = format!("`--async {}`", args.asynchrony.name());
    tools::check_async(&args.tool, args.asynchrony, &option)?;
    note_engine(args.engine);
    let tools: Vec<String> = args.tool.iter().map(|tool| tool.name().into()).collect();
    let save_launches = args.save_launches.as_ref().map(|path| {
        let folder = std::fs::create_dir_all(path).and_then(|()| std::fs::canonicalize(path));
        folder.map_err(|error| Failure::usage(format!("cannot use {}: {error}", path.display())))
    });
    Ok(Settings {
        session: Some(session.into()),
        tools: (!tools.is_empty()).then_some(tools),
        stats: args.stats.then_some(()),
        record: records(args).then_some(()),
        filter: args.filter.clone(),
        launch_skip: args.launch_skip,
        launch_count: args.launch_count,
        kill: args.kill.then_some(()),
        seed: (args.seed != 0).then_some(args.seed),
        asynchrony: (args.asynchrony != AsyncPolicy::Eager).then(|| args.asynchrony.name().into()),
        engine: (args.engine != Engine::Auto).then(|| args.engine.name().into()),
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
        save_most: args.save_most,
        operations: args.operations.clone(),
        hold: args.hold.clone(),
        triage: (!policy.is_empty()).then(|| session.join(TRIAGE)),
        print_suppressions: args.findings.print_suppressions.then_some(()),
    })
}
