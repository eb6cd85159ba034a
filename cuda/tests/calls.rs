//! Calls of both interfaces against what an H200 answered, and whether every implemented function is among them.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use support::script::{Case, Machine, cases};

/// Says which case a child process runs: file, case, form of the null stream, and the file for its answers.
const CASE: &str = "WARPGRIND_TEST_CASE";

/// Runs one case when it is asked to, in a process that [`compare`] starts.
#[test]
fn child() {
    let Ok(asked) = std::env::var(CASE) else { return };
    let parts: Vec<&str> = asked.split('\n').collect();
    let case =
        cases().into_iter().find(|case| case.file == parts[0] && case.name == parts[1]).expect("a case");
    let mut machine = Machine::new(case.runtime, parts[2] == "thread");
    let mut text = String::new();
    for (at, step) in case.steps.iter().enumerate() {
        let answer = machine.step(&step.words);
        if let Some(answer) = answer {
            writeln!(text, "{at} {answer}").expect("a string");
            std::fs::write(parts[3], &text).expect("a file");
        }
    }
    std::fs::write(parts[3], text + "end\n").expect("a file");
    // Without exit handlers, which would wait for streams that wait for ever.
    // SAFETY: all answers are in the file.
    unsafe { libc::_exit(0) };
}

/// What a case answers here that differs from the record.
fn differences(case: &Case, form: &str, scratch: &std::path::Path) -> Vec<String> {
    let answers = scratch.join(format!("{}-{}-{form}", case.file, case.name));
    let asked = format!("{}\n{}\n{form}\n{}", case.file, case.name, answers.display());
    let mut child = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "child", "--nocapture"])
        .env(CASE, asked)
        .env("WARPGRIND_DEVICES", case.devices.to_string())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a process");
    let mut patience = 600;
    let status = loop {
        match child.try_wait().expect("a process") {
            Some(status) => break status.to_string(),
            None if patience == 0 => {
                let _ = child.kill();
                let _ = child.wait();
                break "it hangs".into();
            }
            None => {
                patience -= 1;
                std::thread::sleep(Duration::from_millis(if patience > 500 { 5 } else { 50 }));
            }
        }
    };
    let text = std::fs::read_to_string(&answers).unwrap_or_default();
    let found: BTreeMap<usize, &str> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(at, a)| Some((at.parse().ok()?, a)))
        .collect();
    let mut list = Vec::new();
    for (at, step) in case.steps.iter().enumerate() {
        let place = format!("{}:{} {form} `{}`", case.file, step.line, step.words.join(" "));
        match (found.get(&at), step.expected(form == "thread")) {
            (Some(answer), Some(expected)) if *answer != expected => {
                list.push(format!("{place}: {answer}, on the device {expected}"));
            }
            (Some(answer), None) if step.line == 0 && *answer != "0" => {
                list.push(format!("{place}: {answer}"))
            }
            _ => {}
        }
    }
    if !text.ends_with("end\n") {
        let next = found.keys().next_back().map_or(0, |last| last + 1);
        let step = &case.steps[next.min(case.steps.len() - 1)];
        list.push(format!(
            "{}:{} {form}, at or after `{}`: {status}",
            case.file,
            step.line,
            step.words.join(" ")
        ));
    }
    list
}

/// Runs the cases of which one in `of` is `part`.
fn compare(part: usize, of: usize) {
    let scratch = tempfile::tempdir().expect("a folder");
    let only = std::env::var("WARPGRIND_ONLY").ok();
    let wanted =
        |case: &Case| only.as_ref().is_none_or(|only| format!("{}:{}", case.file, case.name).contains(only));
    let mut list = Vec::new();
    for case in cases().iter().filter(|case| wanted(case)).skip(part).step_by(of) {
        for form in ["legacy", "thread"].into_iter().take(if case.legacy { 1 } else { 2 }) {
            list.extend(differences(case, form, scratch.path()));
        }
    }
    assert!(list.is_empty(), "{} answers differ from the device's:\n{}", list.len(), list.join("\n"));
}

#[test]
fn answers_are_those_of_a_device() {
    compare(0, 2);
}

#[test]
fn answers_are_those_of_a_device_too() {
    compare(1, 2);
}

/// Functions that cannot fail.
const ALWAYS_GOOD: &[&str] = &[
    "__cudaPushCallConfiguration",
    "__cudaRegisterFatBinary",
    "cudaCreateChannelDesc",
    "cudaCtxResetPersistingL2Cache",
    "cuSurfObjectDestroy",
    "cuTexObjectDestroy",
    "cudaDestroySurfaceObject",
    "cudaDestroyTextureObject",
    "cudaDeviceReset",
    "cudaProfilerStart",
    "cudaProfilerStop",
    "cudaSetDoubleForDevice",
    "cudaSetDoubleForHost",
    "cudaThreadExit",
    "cudaThreadSynchronize",
];

/// Functions that always say no: of arrays with planes, functions for host and device, Windows, the
/// profiler that CUDA 12.0 took away, and NVIDIA's proof. What another process gave is opened in `programs/h200x2`, and
/// errors are heard there; processes are stopped in `checkpoint.rs`.
const NEVER_GOOD: &[&str] = &[
    "cuArrayGetPlane",
    "cuCheckpointProcessCheckpoint",
    "cuCheckpointProcessGetRestoreThreadId",
    "cuCheckpointProcessGetState",
    "cuCheckpointProcessLock",
    "cuCheckpointProcessRestore",
    "cuCheckpointProcessUnlock",
    "cuDeviceGetLuid",
    "cuGetExportTable",
    "cuLibraryGetUnifiedFunction",
    "cuIpcCloseMemHandle",
    "cuIpcOpenEventHandle",
    "cuIpcOpenMemHandle",
    "cuIpcOpenMemHandle_v2",
    "cuMemPoolImportPointer",
    "cudaIpcCloseMemHandle",
    "cudaIpcOpenEventHandle",
    "cudaIpcOpenMemHandle",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaMemPoolImportPointer",
    "cuLogsRegisterCallback",
    "cuLogsUnregisterCallback",
    "cudaLogsRegisterCallback",
    "cudaLogsUnregisterCallback",
    "cuProfilerInitialize",
    "cudaMipmappedArrayGetMemoryRequirements",
    "cudaMipmappedArrayGetSparseProperties",
    "cudaArrayGetMemoryRequirements",
    "cudaArrayGetPlane",
    "cudaArrayGetSparseProperties",
    "cudaLibraryGetUnifiedFunction",
];

#[test]
fn every_implemented_function_is_called_well_and_badly() {
    let plain = |name: &str| name.trim_end_matches("_ptsz").trim_end_matches("_ptds").to_string();
    let implemented: BTreeSet<String> = support::functions::implemented().into_iter().map(plain).collect();
    let (mut good, mut bad) = (BTreeSet::new(), BTreeSet::new());
    for case in cases() {
        for step in &case.steps {
            let Some(name) = step.function() else { continue };
            let answer = step.here.as_deref().or(step.recorded.as_deref());
            match answer {
                Some("0" | "600") | None => good.insert(name.to_string()),
                Some("*") => good.insert(name.to_string()) | bad.insert(name.to_string()),
                Some(_) => bad.insert(name.to_string()),
            };
        }
    }
    let missing = |seen: &BTreeSet<String>, but: &[&str]| -> Vec<String> {
        implemented
            .iter()
            .filter(|name| !seen.contains(*name) && !but.contains(&name.as_str()))
            .cloned()
            .collect()
    };
    let (mut good, bad) = (missing(&good, NEVER_GOOD), missing(&bad, ALWAYS_GOOD));
    // Nobody gets anything of functions of 32-bit addresses any more.
    good.retain(|name| !implemented.contains(&format!("{name}_v2")));
    assert!(good.is_empty() && bad.is_empty(), "no good call of {good:#?}\nno bad call of {bad:#?}");
}
