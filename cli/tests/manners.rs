//! How the program behaves when something is wrong: full disks, signals, odd names, errors as JSON.
#![cfg(unix)]

mod support;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{run, warpgrind};

/// Runs it for a while and sends it a signal, which ends it in that time.
fn run_until(signal: &str, args: &[&str], within: Duration) -> Output {
    let child = warpgrind(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < within);
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A saxpy of four elements with its result in a file.
fn saxpy(output: &str) -> Vec<&str> {
    let file = "testdata/ptx/sm_90/saxpy.ptx";
    vec!["run", file, "-e", "saxpy", "-b", "4", "-a", "4", "-a", "3", "-a", "f32=1,2,3,4", "-a", output]
}

#[test]
fn every_error_of_every_verb_is_json_where_that_is_asked_for() {
    let missing = "no/such/file";
    let verbs: &[&[&str]] = &[
        &["run", missing],
        &["run", "testdata/ptx/sm_90/saxpy.ptx", "-e", "nope"],
        &["run"],
        &["check", missing],
        &["check"],
        &["litmus", missing],
        &["devices", "--driver", missing],
        &["compare", missing],
        &["compare", "testdata/launches/saxpy.toml", "--recording", missing],
        &["record", missing, "-o", "/no/such/folder/x"],
        &["exec", "--", missing],
        &["exec"],
        &["explain", "nope"],
        &["selftest", "numerics", "--only", "nope"],
        &["selftest"],
        &["conformance", "list", "--only", "nope"],
        &["conformance", "verify", missing],
        &["conformance", "report", missing],
        &["conformance", "record", "--simulator", "--only", "bmsk", "-o", "/no/such/folder/x"],
        &["completions", "nope"],
        &["man", "nope"],
        &["nope"],
        &["--nope"],
    ];
    for args in verbs {
        for format in [&["--format", "json"][..], &["--format=json"]] {
            let all = [format, args].concat();
            let output = run(&all);
            let code = output.status.code().unwrap();
            assert_ne!(code, 0, "{all:?}");
            let document: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{all:?}: {error}: {}{}", stdout(&output), stderr(&output)));
            assert_eq!(document["exit_code"], code, "{all:?}");
            assert_eq!(document["schema"], 1, "{all:?}");
            assert_eq!(stderr(&output), "", "{all:?}");
            let said = document["error"]["message"].is_string()
                || ["files", "tests"].iter().any(|list| document[list][0]["error"]["message"].is_string());
            assert!(said, "{all:?}: {document}");
        }
    }
    let known: Value =
        serde_json::from_slice(&run(&["--format", "json", "explain", "e0203"]).stdout).unwrap();
    assert_eq!((&known["codes"][0]["code"], &known["exit_code"]), (&"E0203".into(), &0.into()));
}

#[test]
fn variables_that_are_set_to_nothing_are_not_set() {
    let launch = "testdata/launches/gemm_tiled.toml";
    let empty = |name: &str, args: &[&str]| warpgrind(args).env(name, "").output().unwrap();
    assert_eq!(empty("WARPGRIND_JOBS", &["run", launch]).status.code(), Some(0));
    assert_eq!(empty("WARPGRIND_SIMD", &["run", launch]).status.code(), Some(0));
    let with = empty("WARPGRIND_LIBCUDA", &["devices"]);
    assert_eq!(stderr(&with), stderr(&run(&["devices"])));
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in [&["--help"][..], &["--version"], &["run", "--help"], &["man"], &["completions", "bash"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = warpgrind(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains("cannot write to standard output"), "{args:?}");
        assert_eq!(run(args).status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn control_characters_are_shown_as_escapes() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("a\u{1b}[31m\rb\u{7}.ptx");
    let odd = odd.to_str().unwrap();
    let toml = odd.replace(".ptx", ".toml");
    let good = ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) { ret; }";
    let write = |name: &str, text: &str| std::fs::write(name, text).unwrap();
    let clean = |args: &[&str]| {
        let output = run(args);
        for text in [&output.stdout, &output.stderr] {
            let odd: Vec<u8> = text.iter().copied().filter(|b| b.is_ascii_control() && *b != b'\n').collect();
            assert!(odd.is_empty(), "{args:?}: {:?}", String::from_utf8_lossy(text));
        }
        stdout(&output) + &stderr(&output)
    };
    assert!(clean(&["check", odd]).contains("a\\u{1b}[31m\\rb\\u{7}.ptx"));
    write(odd, good);
    assert!(clean(&["check", odd]).contains("b\\u{7}.ptx: runs"));
    write(odd, &good.replace("ret;", "ret \u{1b}[31m;"));
    clean(&["check", odd]);
    clean(&["run", odd]);
    write(odd, &good.replace("ret;", "// \u{1b}[31m\n st.global.u32 [8], 1;"));
    clean(&["run", odd, "-a", "0"]);
    write(odd, &good.replace("ret;", "{ .reg .b32 %r; ld.global.u32 %r, [%nope]; } // \u{1b}]0;title\u{7}"));
    clean(&["check", odd]);
    write(&toml, "modules = [\"\u{1f}\"]");
    clean(&["run", &toml]);
    write(&toml, "modules = [\"x\\u001b.ptx\"]\n[[launch]]\ngrid=1\nblock=1");
    clean(&["run", &toml]);
    clean(&["compare", &toml]);
    clean(&["litmus", &odd.replace(".ptx", ".litmus")]);
    clean(&["conformance", "verify", odd]);
    clean(&["explain", "\u{1b}[31m"]);
    clean(&["exec", "--", odd]);
    clean(&["run", "testdata/ptx/sm_90/saxpy.ptx", "-e", "\u{1b}[31m"]);
    clean(&["run", "testdata/ptx/sm_90/saxpy.ptx", "-e", "saxpy", "-a", "\u{1b}[31m"]);
    clean(&["run", "testdata/ptx/sm_90/saxpy.ptx", "-p", "\u{1b}[31m", "-e", "saxpy"]);
}

#[test]
fn a_full_disk_leaves_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["y.npy", "y.raw"] {
        let path = folder.path().join(name);
        let output = format!("f32[4]=1>{}", path.display());
        assert_eq!(run(&saxpy(&output)).status.code(), Some(0));
        let old = std::fs::read(&path).unwrap();
        let mut limited = warpgrind(&saxpy(&output));
        // SAFETY: setrlimit and signal may be called between fork and exec.
        unsafe {
            limited.pre_exec(|| {
                let few = libc::rlimit { rlim_cur: 5, rlim_max: 5 };
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                match libc::setrlimit(libc::RLIMIT_FSIZE, &few) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        let failed = limited.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
        assert!(stderr(&failed).contains("cannot write"), "{}", stderr(&failed));
        assert_eq!(std::fs::read(&path).unwrap(), old);
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(names <= 2, "something half-written is left");
    }
    let devices = run(&saxpy("f32[4]=1>/dev/full"));
    assert_eq!(devices.status.code(), Some(2));
    assert_eq!(run(&saxpy("f32[4]=1>/dev/null")).status.code(), Some(0));
}

/// A kernel that never ends: a block of two warps, one at a barrier.
const ENDLESS: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry endless(.param .u64 p)\n{\n\
    .reg .pred %p; .reg .b32 %t; .reg .b64 %d;\nld.param.u64 %d, [p];\nst.global.u32 [%d], 7;\nmov.u32 %t, %tid.x;\n\
    setp.lt.u32 %p, %t, 32;\n@%p bar.sync 0;\nspin: bra spin;\n}\n";

#[test]
fn signals_end_a_run_with_a_report_and_leave_outputs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, saved) = (folder.path().join("endless.ptx"), folder.path().join("y.npy"));
    std::fs::write(&kernel, ENDLESS).unwrap();
    std::fs::write(&saved, "old").unwrap();
    let argument = format!("y=u32[4]=0>{}", saved.display());
    let kernel = kernel.to_str().unwrap();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for json in [false, true] {
            let mut args = vec!["run", kernel, "-g", "3", "-b", "64", "-a", &argument];
            if json {
                args.extend(["--format", "json"]);
            }
            let output = run_until(signal, &args, Duration::from_secs(20));
            assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
            assert_eq!(std::fs::read(&saved).unwrap(), b"old");
            if json {
                let document: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(document["exit_code"], code);
                assert_eq!(document["launches"][0]["outcome"], "limit-reached");
                continue;
            }
            let text = stderr(&output);
            assert!(text.contains("the launch was interrupted"), "{text}");
            assert!(text.contains("endless.ptx:12"), "where the threads stand: {text}");
            assert!(text.contains("endless: interrupted after 0 of 3 blocks"), "{text}");
        }
    }
}

#[test]
fn signals_end_checks_of_litmus_tests_with_what_is_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-model/testdata/large");
    // The second takes much longer than this test.
    let files = ["adds-5x2.litmus", "adds-10-distinct.litmus"].map(|name| folder.join(name));
    let files = files.each_ref().map(|file| file.to_str().unwrap());
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for json in [false, true] {
            let mut args = vec!["litmus", files[0], files[1]];
            if json {
                args.extend(["--format", "json"]);
            }
            let output = run_until(signal, &args, Duration::from_secs(10));
            assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
            if json {
                let document: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(document["exit_code"], code);
                let names: Vec<&Value> =
                    document["tests"].as_array().unwrap().iter().map(|test| &test["name"]).collect();
                assert_eq!(names, ["adds-5x2"]);
                continue;
            }
            assert!(String::from_utf8_lossy(&output.stdout).contains("adds-5x2.litmus: "));
            assert_eq!(stderr(&output), "interrupted after 1 of 2 files\n");
        }
    }
}

#[test]
fn internal_errors_say_what_to_keep() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    assert!(text.contains("report.txt") && !text.contains("CARGO_PKG_REPOSITORY"));
    assert_eq!(env!("CARGO_PKG_REPOSITORY"), "", "an address that does not exist");
}

#[test]
fn addresses_of_buffers_that_come_later_or_are_no_argument() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("k.ptx");
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .global .u32 v = 5;\n\
        .visible .entry k(.param .u64 a, .param .u64 b) {\n.reg .b64 %a, %b; .reg .b32 %r;\nld.param.u64 %a, [a];\n\
        ld.param.u64 %b, [b];\nld.global.u32 %r, [%a];\nst.global.u32 [%b], %r;\nret;\n}\n";
    std::fs::write(&kernel, text).unwrap();
    let kernel = kernel.to_str().unwrap();
    for (args, printed) in [
        (&["-a", "&b+4", "-a", "b=u32=1,2", "-p", "b"][..], "b: u32[2] = 2 2\n"),
        (&["-a", "&x", "-a", "b=u32=1", "--buffer", "x=u32=9", "-p", "b"], "b: u32[1] = 9\n"),
        (&["-a", "&v", "-a", "b=u32=1", "-p", "b"], "b: u32[1] = 5\n"),
        (&["-a", "u32=3", "-a", "&x", "--buffer", "x=u32[2]=0>-"], "x: u32[2] = 3 0\n"),
    ] {
        let output = run(&[&["run", kernel], args].concat());
        assert_eq!(stdout(&output), printed, "{args:?}: {}", stderr(&output));
    }
    for (args, message) in [
        (&["-a", "&x", "-a", "b=u32=1"][..], "there is no buffer `x`"),
        (&["-a", "&x", "-a", "b=u32=1", "--buffer", "x"], "`--buffer x`"),
        (&["-a", "b=u32=1", "-a", "&b", "--buffer", "b=u32=1"], "two buffers are called `b`"),
    ] {
        let output = run(&[&["run", kernel], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["man", "--output", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["warpgrind.1", "warpgrind-run.1", "warpgrind-conformance-verify.1"] {
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    assert!(!folder.path().join("warpgrind-serve-device.1").exists());
    assert!(stdout(&run(&["man", "litmus"])).contains("warpgrind-litmus"));
    assert!(!stdout(&run(&["completions", "zsh"])).contains("serve-device"));
}

#[test]
fn a_variable_that_is_only_declared_holds_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("k.ptx");
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.extern .global .u32 v; .extern .const .b32 c[2];\n\
        .visible .entry k(.param .u64 a) {\n.reg .b64 %a; .reg .b32 %r, %s;\nld.param.u64 %a, [a];\n\
        ld.global.u32 %r, [v];\nld.const.u32 %s, [c+4];\nst.global.v2.u32 [%a], {%r, %s};\nret;\n}\n";
    std::fs::write(&kernel, text).unwrap();
    let output = run(&["run", kernel.to_str().unwrap(), "-a", "y=u32=7,7", "-p", "y"]);
    assert_eq!(stdout(&output), "y: u32[2] = 0 0\n", "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("warning[E0703]").count(), 2, "{}", stderr(&output));
    // An array without a length is defined nowhere.
    std::fs::write(&kernel, text.replace("c[2]", "c[]")).unwrap();
    let output = run(&["run", kernel.to_str().unwrap(), "-a", "y=u32=7,7"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}

#[test]
fn what_is_for_programs_is_refused_where_there_is_a_file() {
    let file = "testdata/launches/saxpy.toml";
    let options: &[(&str, &[&str])] = &[
        ("profile", &["--launch-skip", "1"]),
        ("profile", &["--launch-count", "0"]),
        ("profile", &["--save-most", "1G"]),
        ("profile", &["--record", "page.csv"]),
        ("debug", &["--launch-skip", "1"]),
        ("debug", &["--launch-count", "0"]),
        ("debug", &["--input", "words"]),
    ];
    for (verb, option) in options {
        let output = run(&[&[*verb, file], *option].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{verb} {option:?}: {said}");
        assert!(said.contains("cannot be used with"), "{verb} {option:?}: {said}");
    }
}
