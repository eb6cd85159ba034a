//! The process as other programs see it: streams, exit codes, files.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use support::{run, warpgrind};

#[test]
fn json_is_all_there_is() {
    for (args, exit) in [
        (&["run", "--format", "json", "testdata/launches/gemm_tiled.toml", "--stats"][..], 0),
        (&["run", "--format", "json", "testdata/launches/saxpy_out_of_bounds.toml"], 5),
        (&["run", "--format", "json", "cli/tests/data/mismatch.toml"], 1),
        (&["run", "--format", "json", "cli/tests/data/invalid.ptx"], 3),
        (&["run", "--format", "json", "no/such.ptx"], 2),
        (&["check", "--format", "json", "cli/tests/data/invalid.ptx", "no/such.ptx"], 2),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(exit), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["exit_code"], exit, "{args:?}");
        assert_eq!(document["schema"], 1);
    }
}

#[test]
fn what_a_kernel_prints_and_results_go_to_standard_output() {
    let output = run(&[
        "run",
        "testdata/ptx/sm_90/saxpy.ptx",
        "-e",
        "saxpy",
        "-b",
        "2",
        "-a",
        "2",
        "-a",
        "2",
        "-a",
        "f32=1,2",
        "-a",
        "y=f32[2]=0>-",
    ]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "y: f32[2] = 2.0 4.0\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("completed"));
}

#[cfg(target_os = "linux")]
#[test]
fn files_without_end() {
    let kernel = "testdata/ptx/sm_90/saxpy.ptx";
    let saxpy = |x: &str| {
        let args =
            ["run", kernel, "-e", "saxpy", "-b", "2", "-a", "2", "-a", "2", "-a", x, "-a", "y=f32[2]=0>-"];
        let output = run(&args);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // Of a device as much is read as the buffer has.
    assert_eq!(saxpy("f32[2]=@/dev/zero").1, "y: f32[2] = 0.0 0.0\n");
    let (code, _, text) = saxpy("f32=@/dev/zero");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("/dev/zero has more than") && text.contains("say how many elements"), "{text}");
    assert_eq!(saxpy("f32[2]=@testdata").0, Some(2));
    for args in
        [&["check", "/dev/zero"][..], &["run", "/dev/zero"], &["run", kernel, "-a", "bytes:@/dev/zero"]]
    {
        let output = run(args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && !text.contains("panic"), "{args:?}: {text}");
    }
}

#[test]
fn files_are_written_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["y.npy", "y.raw"] {
        let path = directory.path().join(name).display().to_string();
        let output = run(&[
            "run",
            "testdata/ptx/sm_90/saxpy.ptx",
            "-e",
            "saxpy",
            "-b",
            "4",
            "-a",
            "4",
            "-a",
            "3",
            "-a",
            "f32[4]=seq",
            "-a",
            &format!("f32[4]=1>{path}"),
        ]);
        assert_eq!(output.status.code(), Some(0));
        let source = if name == "y.npy" { format!("y=@{path}") } else { format!("y=f32=@{path}") };
        let output = run(&[
            "run",
            "testdata/ptx/sm_90/saxpy.ptx",
            "-e",
            "saxpy",
            "-b",
            "4",
            "-a",
            "4",
            "-a",
            "0",
            "-a",
            "f32[4]=seq",
            "-a",
            &source,
            "-p",
            "y",
        ]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "y: f32[4] = 1.0 4.0 7.0 10.0\n");
    }
}

#[test]
fn ptx_may_come_from_standard_input() {
    let mut child = warpgrind(&["check", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b".version 9.0\n.target sm_90\n.entry k() { ret; }").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("-: runs"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = warpgrind(&["man"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let with = |jobs: &str| {
        let launch = "testdata/launches/histogram.toml";
        let output =
            warpgrind(&["run", "--print", "shared:256", launch]).env("WARPGRIND_JOBS", jobs).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    assert_eq!(with("1"), with("4"));
    let wrong = warpgrind(&["run", "x.ptx"]).env("WARPGRIND_JOBS", "many").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn colours_are_used_when_asked_for() {
    let escape = |color| {
        let output = run(&["--color", color, "check", "cli/tests/data/invalid.ptx"]);
        output.stderr.contains(&0x1b)
    };
    assert!(escape("always"));
    assert!(!escape("never"));
    assert!(!escape("auto"), "standard error is no terminal here");
}

#[test]
fn completions_and_manual_are_written() {
    for (args, part) in [
        (&["completions", "bash"][..], "_warpgrind()"),
        (&["completions", "zsh"], "#compdef warpgrind"),
        (&["man"], ".TH warpgrind"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains(part));
    }
}

/// A document without what differs from run to run.
fn timeless(mut document: serde_json::Value) -> serde_json::Value {
    match &mut document {
        serde_json::Value::Object(members) => {
            members.retain(|name, _| name != "time" && name != "jobs");
            members.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    document
}

#[test]
fn launches_give_the_same_at_every_simd_level_and_number_of_jobs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/launches");
    let mut launches: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    launches.sort();
    assert!(launches.len() >= 5, "{launches:?}");
    // How often a block looks whether the others are there, or a compare-and-swap has to be tried again, and which block
    // prints first, depends on the jobs.
    let depends = |name: &str| ["atomics.toml", "cooperative.toml", "print.toml"].contains(&name);
    for name in testkit::part(3, launches) {
        let path = format!("testdata/launches/{name}");
        let run = |level: &str, jobs: &str| {
            let args = ["run", "--format", "json", "--stats", "--jobs", jobs, &path];
            let output = warpgrind(&args).env("WARPGRIND_SIMD", level).output().unwrap();
            timeless(serde_json::from_slice(&output.stdout).unwrap())
        };
        let baseline = run("baseline", "1");
        for (level, jobs) in [("avx2", "1"), ("avx512", "1"), ("avx512", "3")] {
            if jobs != "1" && depends(&name) {
                continue;
            }
            assert_eq!(run(level, jobs), baseline, "{name} with {level} and {jobs} jobs");
        }
    }
}

#[cfg(unix)]
#[test]
fn an_assembler_that_never_answers_is_ended() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ptxas");
    std::fs::write(&path, "#!/bin/sh\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let named = path.to_str().unwrap();
    let output = run(&["profile", "testdata/launches/saxpy.toml", "--ptxas", named, "--timeout", "200ms"]);
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("it was ended before it was done"), "{said}");
}
