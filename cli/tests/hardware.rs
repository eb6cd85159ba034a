//! `devices`, `compare` and `record` where there is no device: with drivers that do nothing (`fake_driver/driver.rs`),
//! and with recordings of a real one.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn warpgrind(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(root()).env_remove("WARPGRIND_LIBCUDA").args(args).output().unwrap()
}

/// The library of a driver that does this.
fn driver(what: &str) -> String {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap());
    // Tests run side by side; each compiles its own.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let path = folder.path().join(format!("lib{what}{}.so", COUNT.fetch_add(1, Ordering::Relaxed)));
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver/driver.rs");
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "fake", "--cap-lints", "allow"])
        .args(["-C", "panic=abort", "--cfg", what, "-o"])
        .arg(&path)
        .arg(source)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path.display().to_string()
}

/// Runs and checks exit code and a part of the messages.
fn check(args: &[&str], exit: i32, parts: &[&str]) {
    let output = warpgrind(args);
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(exit), "{args:?}: {text}");
    for part in parts {
        assert!(text.contains(part), "{args:?}: `{part}` is not in {text}");
    }
}

const SAXPY: &str = "cli/tests/data/mismatch.toml";

#[test]
fn drivers_that_do_not_do_are_named() {
    for (what, part) in [
        ("no_device", "found no device"),
        ("dropin", "is Warpgrind's own stand-in for the CUDA driver"),
        ("old", "is too old: it lacks cuLaunchKernelEx"),
    ] {
        let library = driver(what);
        check(&["devices", "--driver", &library], 6, &[part, &library]);
        check(&["compare", SAXPY, "--driver", &library], 6, &[part]);
    }
    check(
        &["devices", "--driver", "/no/such/libcuda.so"],
        6,
        &["was not found: /no/such/libcuda.so (no such file)"],
    );
}

#[test]
fn what_a_device_refuses_has_its_cause() {
    for (what, exit, parts) in [
        ("old_ptx", 6, &["supports CUDA 12.4, which is too old for PTX 9.0", "Unsupported .version 9.0"][..]),
        (
            "old_device",
            6,
            &["lacks a capability: the PTX is for sm_90; Idle Device has compute capability 7.0"],
        ),
        ("refuses", 3, &["refuses the PTX", "line 7; error : no"]),
        ("no_memory", 2, &["buffer `x`: out of device memory: 16 bytes asked for, 100 of 8589934592 left"]),
        ("dies", 6, &["the process that used the device ended: exit status: 3"]),
        ("faults", 1, &["ends in another way", "simulator: completed", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"]),
    ] {
        check(&["compare", SAXPY, "--driver", &driver(what)], exit, parts);
    }
}

/// A fault makes the driver useless to its process, which is replaced: the launch files after it are compared.
#[test]
fn a_fault_does_not_end_the_command() {
    let library = driver("faults");
    let fault = "testdata/launches/saxpy_out_of_bounds.toml";
    check(
        &["compare", fault, SAXPY, fault, "--driver", &library],
        1,
        &[
            "agrees with Idle Device (CUDA 12.4): both stop at a fault of class illegal-address",
            "mismatch.toml: differs",
        ],
    );
}

#[test]
fn differences_are_reported() {
    let library = driver("idle");
    check(
        &["devices", "--driver", &library],
        0,
        &["0: Idle Device, compute capability 9.0, 10 multiprocessors, 8.0 GiB"],
    );
    for placement in [&[][..], &["--packed"]] {
        let args = [&["compare", SAXPY, "--driver", &library], placement].concat();
        check(
            &args,
            1,
            &[
                "`y` is not as on Idle Device",
                "first at [0]: 3.0 (0x40400000) on the simulator, 1.0 (0x3f800000) on the device",
            ],
        );
    }
    let output = warpgrind(&["compare", SAXPY, "--driver", &library, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["exit_code"], &document["command"]), (&1.into(), &"compare".into()));
    let file = &document["files"][0];
    assert_eq!(file["device"]["name"], "Idle Device");
    let buffers = file["buffers"].as_array().unwrap();
    let y = buffers.iter().find(|buffer| buffer["name"] == "y").unwrap();
    assert_eq!((&y["values"], &y["first"]["simulator_bits"]), (&4.into(), &"0x40400000".into()));
    let counted: u64 =
        y["histogram"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 4);
    check(&["compare", SAXPY, "--driver", &library, "--tolerance", "0xffffffff"], 0, &["ulp apart"]);
}

/// A kernel that leaves its buffer alone, on devices that do not.
#[test]
fn a_difference_has_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x) { ret; }\n";
    std::fs::write(path("k.ptx"), ptx).unwrap();
    let launch = "modules = [\"k.ptx\"]\n[buffers.x]\ntype = \"u32\"\nshape = 4\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\nargs = [\"x\"]\n";
    std::fs::write(path("k.toml"), launch).unwrap();
    let (launch, recording) = (path("k.toml"), path("k.wgrec"));
    for (what, cause, text) in [
        ("optimises", "optimiser", "with it off (`--device-opt 0`) both agree"),
        ("restless", "order", "the device differs from itself"),
        ("always_wrong", "simulator", "the device gives the same with its optimiser off"),
    ] {
        let library = driver(what);
        check(&["compare", &launch, "--driver", &library], 1, &["`x` is not as on Idle Device", text]);
        let off = if what == "optimises" { 0 } else { 1 };
        check(&["compare", &launch, "--driver", &library, "--device-opt", "0"], off, &["k.toml: "]);
        // The recording knows as much as the device.
        check(&["record", &launch, "-o", &recording, "--driver", &library], 0, &["bytes of Idle Device"]);
        let compare = ["compare", &launch, "--recording", &recording];
        check(&compare, 1, &["`x` is not as on Idle Device", text]);
        check(&[&compare[..], &["--device-opt", "0"]].concat(), off, &["k.toml: "]);
        let level = ["--device-opt", "2"];
        check(&[&compare[..], &level].concat(), 2, &["does not hold level 2 of optimisation"]);
        let output = warpgrind(&[&compare[..], &["--format", "json"]].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["files"][0]["cause"], cause);
    }
    check(&["compare", &launch, "--device-opt", "5"], 2, &["they are 0 to 4"]);
}

#[test]
fn a_recording_is_replaced_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("y.wgrec").display().to_string();
    let library = driver("idle");
    check(
        &["record", SAXPY, "-o", &path, "--driver", &library],
        0,
        &[&path, "bytes of Idle Device (CUDA 12.4)"],
    );
    let good = std::fs::read(&path).unwrap();
    check(&["compare", SAXPY, "--recording", &path], 1, &["`y` is not as on Idle Device"]);
    // A device that fails leaves the old recording, and nothing else, behind.
    for (what, exit) in [("refuses", 3), ("dies", 6), ("no_memory", 2)] {
        check(&["record", SAXPY, "-o", &path, "--driver", &driver(what)], exit, &["not done"]);
    }
    assert_eq!(std::fs::read(&path).unwrap(), good);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    check(
        &["record", SAXPY, "-o", "/no/such/folder/y.wgrec", "--driver", &library],
        2,
        &["cannot write /no/such/folder"],
    );
}

/// Each recording that is checked in agrees with the simulator; what has none is known.
#[test]
fn the_simulator_agrees_with_the_recordings() {
    let names = |folder: &str, ending: &str| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let paths = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == ending));
        let mut names: Vec<String> =
            paths.map(|path| path.file_stem().unwrap().display().to_string()).collect();
        names.sort();
        names
    };
    let recorded = names("testdata/recordings", "wgrec");
    assert!(recorded.len() >= 16, "only {} recordings", recorded.len());
    // A recording of saxpy's four million bytes is large; that of float_order is never twice the same.
    let without: Vec<String> =
        names("testdata/launches", "toml").into_iter().filter(|name| !recorded.contains(name)).collect();
    assert_eq!(without, ["float_order", "saxpy"]);
    let files: Vec<String> = recorded.iter().map(|name| format!("testdata/launches/{name}.toml")).collect();
    let mut args = vec!["compare", "--recording", "testdata/recordings"];
    args.extend(files.iter().map(String::as_str));
    let output = warpgrind(&args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches(": agrees with NVIDIA H200 (CUDA 13.0): ").count(), recorded.len());
}

#[test]
fn recordings_of_something_else_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let launch = "testdata/launches/warp.toml";
    let good = std::fs::read(root().join("testdata/recordings/warp.wgrec")).unwrap();
    let mut damaged = good.clone();
    damaged[good.len() / 2] ^= 4;
    let mut sum = good.clone();
    sum[good.len() - 6] ^= 1;
    let zip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    for (bytes, part) in [
        (&good[..good.len() - 9], "the recording is truncated"),
        (&good[..40], "the recording is truncated"),
        (&good[..0], "it is no gzip file"),
        (&damaged, "the recording is damaged"),
        (&sum, "the recording is damaged"),
        (b"\x93NUMPY", "it is no gzip file"),
        (&zip("{\"a\": 1}\n"), "not a recording"),
        (
            &zip("{\"format\":\"warpgrind recording\",\"version\":3,\"new\":0}\n"),
            "version 3 of the format; this program reads versions 1 to 2",
        ),
        (&zip("{\"format\":\"warpgrind recording\",\"version\":1}\n"), "missing field"),
    ] {
        check(&["compare", launch, "--recording", &write("x.wgrec", bytes)], 2, &[part]);
    }
    check(&["compare", launch, "--recording", "no/such.wgrec"], 2, &["cannot read no/such.wgrec"]);

    let other = "testdata/recordings/scan.wgrec";
    check(&["compare", launch, "--recording", other], 2, &["was made with other PTX", "PTX file 0: SHA-256"]);
    let text = std::fs::read_to_string(root().join(launch))
        .unwrap()
        .replace("../ptx", &format!("{}/testdata/ptx", root().display()));
    let recording = "testdata/recordings/warp.wgrec";
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from));
        write("changed.toml", text.replacen(from, to, 1).as_bytes())
    };
    for (from, to, part) in [
        ("randint:13", "randint:12", "buffer `x`: SHA-256"),
        ("[128, 7]", "[7, 128]", "buffer `votes`: SHA-256"),
        ("block = 64", "block = 32", "launch 0 (`warp_votes`): SHA-256"),
        ("\"votes\"]", "\"&votes+4\"]", "launch 0 (`warp_votes`): SHA-256"),
        (
            "[buffers.y]",
            "[buffers.z]\ntype = \"u8\"\nshape = 1\n\n[buffers.y]",
            "buffer `y` recorded where buffer `z` is now",
        ),
    ] {
        check(&["compare", &changed(from, to), "--recording", recording], 2, &["other inputs", part]);
    }
    // What is not about inputs may change.
    check(
        &["compare", &changed("shape = 128\n", "shape = 128\nprint = 4\n"), "--recording", recording],
        0,
        &["agrees"],
    );
}

/// Whatever byte of a recording is wrong, it is refused or says the same.
#[test]
fn no_damage_goes_unnoticed() {
    let folder = tempfile::tempdir().unwrap();
    let launch = "testdata/launches/misaligned.toml";
    let good = std::fs::read(root().join("testdata/recordings/misaligned.wgrec")).unwrap();
    let path = folder.path().join("x.wgrec");
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        let output = warpgrind(&["compare", launch, "--recording", &path.display().to_string()]);
        // gzip's own header holds a time and the kind of system, which mean nothing here.
        let expected = if (4..10).contains(&at) { [0, 2] } else { [2, 2] };
        assert!(expected.contains(&output.status.code().unwrap()), "byte {at}: {output:?}");
    }
}
