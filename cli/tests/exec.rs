//! `warpgrind exec` from outside. The program that it runs is this test itself, in the role of [`client`]: it opens
//! `libcuda.so.1` as programs do and loads PTX from `testdata`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use serde_json::Value;

#[path = "support/driver.rs"]
mod driver;

use driver::{Driver, root, to};

/// What the client does; not set: nothing, it is only a test that passes.
const ROLE: &str = "WARPGRIND_TEST_ROLE";

/// `warpgrind exec OPTIONS -- this test in a role`, to be run in the repository's root.
fn exec(options: &[&str], role: &str) -> Command {
    let mut command = warpgrind(options);
    command.arg("--").arg(std::env::current_exe().unwrap()).args(["--exact", "client", "--nocapture", "-q"]);
    command.env(ROLE, role);
    command
}

fn warpgrind(options: &[&str]) -> Command {
    named("exec", options)
}

/// `warpgrind COMMAND OPTIONS`
fn named(name: &str, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(root()).arg(name).args(options).env_remove("LD_LIBRARY_PATH");
    command
}

/// `warpgrind profile OPTIONS -- this test in a role`
fn profile(options: &[&str], role: &str) -> Output {
    let mut command = named("profile", options);
    command.arg("--").arg(std::env::current_exe().unwrap()).args(["--exact", "client", "--nocapture", "-q"]);
    command.env(ROLE, role).output().unwrap()
}

fn run(options: &[&str], role: &str) -> Output {
    exec(options, role).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the client printed, without the words of the test's frame.
fn said(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().filter_map(|line| line.strip_prefix("client: ").map(String::from)).collect()
}

/// The program that `warpgrind exec` runs in the other tests.
#[test]
fn client() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let saxpy = "testdata/ptx/sm_90-lineinfo/saxpy.ptx";
    match &*role {
        "good" => Driver::three_launches(),
        "bounds" => {
            let (driver, module) = Driver::start(saxpy);
            let (x, y) = (driver.buffer(4000, Some(1.0)), driver.buffer(4000, Some(1.0)));
            println!("client: {}", driver.saxpy(module, 1001, x, y));
            println!("client: {}", driver.call(c"cuMemAlloc_v2", &[to(&mut { x }), 4]));
        }
        "peer" => {
            let (driver, module) = Driver::start(saxpy);
            let y = driver.buffer(4000, Some(1.0));
            let (mut own, mut other) = (0u64, 0u64);
            driver.ok(c"cuCtxGetCurrent", &[to(&mut own)]);
            driver.ok(c"cuDevicePrimaryCtxRetain", &[to(&mut other), 1]);
            driver.ok(c"cuCtxSetCurrent", &[other]);
            let x = driver.buffer(4000, Some(1.0));
            driver.ok(c"cuCtxSetCurrent", &[own]);
            println!("client: {}", driver.saxpy(module, 1000, x, y));
        }
        "read only" => {
            let (driver, module) = Driver::start(saxpy);
            let x = driver.buffer(4000, Some(1.0));
            #[repr(align(4096))]
            struct Pages([u8; 4096]);
            let pages = Box::new(Pages([0; 4096]));
            let y = pages.0.as_ptr() as u64;
            // `CU_MEMHOSTREGISTER_READ_ONLY`
            driver.ok(c"cuMemHostRegister_v2", &[y, 4096, 8]);
            println!("client: {}", driver.saxpy(module, 1000, x, y));
        }
        "unwritten" => {
            let (driver, module) = Driver::start(saxpy);
            let (x, y) = (driver.buffer(4000, None), driver.buffer(4000, Some(1.0)));
            println!("client: {}", driver.saxpy(module, 1000, x, y));
        }
        "race" => {
            let (driver, module) = Driver::start("testdata/ptx/racecheck/flag.ptx");
            let (a, b) = (driver.buffer(256, Some(0.0)), driver.buffer(256, Some(0.0)));
            driver.launch(module, c"flag_no_acquire", 2, 1, &[a, b]);
            println!("client: {}", driver.call(c"cuCtxSynchronize", &[]));
        }
        "branches" => {
            let (driver, module) = Driver::start("cli/tests/data/branches.ptx");
            driver.launch(module, c"branches", 1, 64, &[]);
            println!("client: {}", driver.call(c"cuCtxSynchronize", &[]));
        }
        "the second first" => {
            let (driver, module) = Driver::start(saxpy);
            let (x, y) = (driver.buffer(4000, Some(1.0)), driver.buffer(4000, Some(0.5)));
            let (mut waits, mut other, mut go) = (0u64, 0u64, 0u64);
            driver.ok(c"cuMemAllocHost_v2", &[to(&mut go), 4]);
            for stream in [&mut waits, &mut other] {
                // `CU_STREAM_NON_BLOCKING`
                driver.ok(c"cuStreamCreate", &[to(stream), 1]);
            }
            // Until it is 1 or more.
            driver.ok(c"cuStreamWaitValue32_v2", &[waits, go, 1, 0]);
            let arguments = [1000, u64::from(2f32.to_bits()), x, y];
            driver.launch_in(waits, module, c"saxpy", [4, 256], &arguments);
            driver.launch_in(other, module, c"saxpy", [8, 128], &arguments);
            driver.ok(c"cuStreamSynchronize", &[other]);
            // SAFETY: the memory is there.
            unsafe { (go as *mut u32).write_volatile(1) };
            driver.ok(c"cuCtxSynchronize", &[]);
        }
        "pointers" => {
            let (driver, module) = Driver::start("cli/tests/data/pointers.ptx");
            let (values, out, table) =
                (driver.buffer(16, None), driver.buffer(16, None), driver.buffer(32, None));
            let put = |address: u64, bytes: &[u8]| {
                driver.ok(c"cuMemcpyHtoD_v2", &[address, bytes.as_ptr() as u64, bytes.len() as u64]);
            };
            let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
            put(values, &[10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0]);
            put(table, &words(&[values + 12, values + 8, values + 4, values]));
            let (mut extra, mut size) = (0u64, 0u64);
            let name = c"extra".as_ptr() as u64;
            driver.ok(c"cuModuleGetGlobal_v2", &[to(&mut extra), to(&mut size), module, name]);
            put(extra, &words(&[values + 4]));
            let mut function = 0u64;
            driver.ok(c"cuModuleGetFunction", &[to(&mut function), module, c"gather".as_ptr() as u64]);
            let view = [out, 4];
            let parameters = [view.as_ptr() as u64, std::ptr::from_ref(&table) as u64];
            let parameters = parameters.as_ptr() as u64;
            driver.ok(c"cuLaunchKernel", &[function, 1, 1, 1, 32, 1, 1, 0, 0, parameters, 0]);
            let mut got = [0u32; 4];
            driver.ok(c"cuMemcpyDtoH_v2", &[got.as_mut_ptr() as u64, out, 16]);
            println!("client: {got:?}");
        }
        "refused" => {
            let (driver, _) = Driver::start(saxpy);
            let mut handle = 1u64;
            let image = b"\x7fELF\0\0\0\0\0\0\0\0\0\0\0\0";
            let cubin = driver.call(c"cuModuleLoadData", &[to(&mut handle), image.as_ptr() as u64]);
            let proof = driver.call(c"cuGetExportTable", &[to(&mut handle), image.as_ptr() as u64]);
            println!("client: {cubin} {proof}");
        }
        "wait" | "wait with a child" => {
            let session = std::env::var("WARPGRIND_SESSION").unwrap();
            let child = (role != "wait").then(|| Command::new("sleep").arg("60").spawn().unwrap());
            let child = child.map_or(String::new(), |child| format!("{} ", child.id()));
            println!("client: waiting {child}{} {session}", std::process::id());
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        "endless" => {
            let (driver, module) = Driver::start("cli/tests/data/endless.ptx");
            let mut begun = 0u64;
            driver.ok(c"cuMemAllocHost_v2", &[to(&mut begun), 4]);
            driver.launch(module, c"endless", 2, 64, &[begun]);
            // SAFETY: the memory is there, and the kernel writes to it.
            while unsafe { (begun as *const u32).read_volatile() } == 0 {
                std::thread::yield_now();
            }
            println!("client: running");
            driver.call(c"cuCtxSynchronize", &[]);
            println!("client: after the end");
        }
        "nothing" => {}
        _ => panic!("{role}"),
    }
}

#[test]
fn status_output_and_signals_pass_through() {
    let output = run(&[], "good");
    assert_eq!((output.status.code(), said(&output)), (Some(3), vec!["6.5 6.5".to_string()]));
    assert_eq!(text(&output.stderr), "");

    let output = warpgrind(&["--", "sh", "-c", "kill -SEGV $$"]).output().unwrap();
    assert_eq!(output.status.code(), Some(128 + libc::SIGSEGV));
    // A signal to `warpgrind` reaches the program.
    let mut waiting = Waiting::start("wait", &std::env::temp_dir());
    assert_eq!(waiting.end(libc::SIGTERM).code(), Some(128 + libc::SIGTERM));
    assert!(!waiting.session.exists(), "the session's folder is left");
}

#[test]
fn launches_of_a_program_are_profiled() {
    let loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let output = profile(&["--metrics", loads, "--launch-skip", "1", "--format", "json"], "good");
    // The program ends with 3, on purpose; what it prints does not stand between the numbers.
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("client: 6.5 6.5") && said.contains("ended with exit status: 3"), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let launches = document["launches"].as_array().unwrap();
    assert_eq!((launches.len(), &launches[1]["kernel"]), (2, &Value::from("saxpy")));
    assert_eq!(launches[1]["metrics"][loads], 250);

    let output = profile(&["--metrics", loads], "branches");
    let (said, shown) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(shown.contains("branches: grid (1, 1, 1), block (64, 1, 1)"), "{shown}");
}

#[test]
fn numbers_are_said_in_the_form_that_is_asked_for() {
    let names = "smsp__warps_launched.sum,sm__warps_launched.sum,smsp__warps_launched.avg,no__such.sum";
    let output = profile(&["--metrics", names, "--launch-count", "1", "--format", "json"], "good");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let of = |name: &str| document["launches"][0]["metrics"][name].as_f64();
    let warps = of("smsp__warps_launched.sum").expect("warps");
    assert_eq!(of("sm__warps_launched.sum"), Some(warps));
    assert_eq!(of("smsp__warps_launched.avg"), Some(warps / 528.0));
    assert!(text(&output.stderr).contains("it is not known: `no__such.sum`"), "{}", text(&output.stderr));
}

#[test]
fn programs_with_nothing_to_profile_say_so() {
    let said = |options: &[&str], role: &str| {
        let output = profile(options, role);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        text(&output.stderr)
    };
    assert!(said(&[], "nothing").contains("error: the program used no CUDA device"));
    let picked = said(&["--kernel", "gemm"], "branches");
    assert!(picked.contains("the program launched 1 kernel, none of which was picked by `gemm`"), "{picked}");
    let skipped = said(&["--launch-skip", "7"], "branches");
    assert!(skipped.contains("the program launched 1 kernel, and all were passed over"), "{skipped}");
    // What cannot be started is said once.
    let output = named("profile", &["--", "./no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).matches("error:").count(), 1, "{}", text(&output.stderr));
}

#[test]
fn a_device_s_numbers_are_recorded_and_shown() {
    let (loads, ncu) = ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "cli/tests/data/tools/ncu");
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("ncu.csv");
    let kept = page.to_str().unwrap();
    let options = [
        "--record",
        kept,
        "--ncu",
        ncu,
        "--metrics",
        loads,
        "--kernel",
        "saxpy",
        "--launch-count",
        "2",
        "--no-time",
    ];
    let output = profile(&options, "good");
    let (said, shown) = (text(&output.stderr), text(&output.stdout));
    // The program itself ends with 3.
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains(&format!("--metrics {loads} ")), "{said}");
    assert!(said.contains("--kernel-name regex:.*saxpy.* --launch-count 2 "), "{said}");
    assert!(shown.contains("250  200  +25.00 %"), "{shown}");
    assert_eq!(
        shown.matches("the imported page has no such launch, or no more of them").count(),
        1,
        "{shown}"
    );
    // What is kept is what `--import` reads.
    assert!(std::fs::read_to_string(&page).unwrap().contains(loads));
    let output = profile(&["--import", kept, "--metrics", loads, "--launch-count", "2", "--no-time"], "good");
    assert_eq!(text(&output.stdout), shown);
}

#[test]
fn without_a_device_nothing_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("ncu.csv");
    let record = |ncu: &str| {
        let mut command = named("profile", &["--record", page.to_str().unwrap(), "--ncu", ncu]);
        let output = command.env("WARPGRIND_TEST_NO_DEVICE", "1").args(["--", "true"]).output().unwrap();
        assert_eq!((output.status.code(), page.exists()), (Some(6), false));
        text(&output.stderr)
    };
    let said = record("cli/tests/data/tools/ncu");
    assert!(said.contains("counted no launch: No CUDA-capable device\n"), "{said}");
    assert!(record("no/such/ncu").contains("cannot run no/such/ncu: "));
    // None is found.
    let mut command = named("profile", &["--record", page.to_str().unwrap(), "--", "true"]);
    for variable in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "HOME"] {
        command.env_remove(variable);
    }
    if !Path::new("/usr/local/cuda/bin/ncu").exists() {
        let output = command.env("PATH", "/no/such/folder").output().unwrap();
        assert_eq!(output.status.code(), Some(6));
        assert!(text(&output.stderr).contains("error: ncu is not found\n"), "{}", text(&output.stderr));
    }
}

#[test]
fn without_a_device_nothing_is_calibrated() {
    let folder = tempfile::tempdir().unwrap();
    let chip = folder.path().join("chip.toml");
    let calibrate = |options: &[&str]| {
        let mut command = named("profile", &["--calibrate", chip.to_str().unwrap()]);
        let output = command.args(options).env("WARPGRIND_LIBCUDA", "no/such/driver.so").output().unwrap();
        assert!(!chip.exists());
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = calibrate(&[]);
    assert!(code == Some(6) && said.contains("no/such/driver.so"), "{code:?} {said}");
    let (code, said) = calibrate(&["--chip", "no/such/chip.toml"]);
    assert!(code == Some(2) && said.contains("cannot read no/such/chip.toml: "), "{code:?} {said}");
}

#[test]
fn interrupted_kernels_say_where_they_stand() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut child = exec(&[], "endless").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("client: running") {
            line.clear();
            assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0);
        }
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        let output = child.wait_with_output().unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
        assert_eq!((output.status.code(), &*rest), (Some(128 + signal), ""));
        let said = text(&output.stderr);
        assert!(said.contains("still running") && said.contains("block (0, 0, 0)"), "{said}");
    }
}

/// A program that waits under `warpgrind exec`.
struct Waiting {
    child: Child,
    /// The program, and its child if it has one.
    processes: Vec<u32>,
    session: PathBuf,
}

impl Waiting {
    fn start(role: &str, temporary: &Path) -> Waiting {
        let mut command = exec(&[], role);
        let mut child =
            command.env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("waiting") {
            line.clear();
            assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0);
        }
        let mut words = line.split_whitespace().rev();
        let session = words.next().unwrap().into();
        let processes = words.map_while(|word| word.parse().ok()).collect();
        Waiting { child, processes, session }
    }

    /// Sends a signal to `warpgrind`.
    fn end(&mut self, signal: i32) -> ExitStatus {
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
        self.child.wait().unwrap()
    }

    /// How many of the processes are still there; what nobody waited for is not.
    fn running(&self) -> usize {
        let is_running = |process: &&u32| {
            let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
        };
        self.processes.iter().filter(is_running).count()
    }
}

#[test]
fn a_killed_session_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let (mut killed, mut other) =
        (Waiting::start("wait with a child", temporary.path()), Waiting::start("wait", temporary.path()));
    assert_eq!((killed.running(), other.running()), (2, 1));
    killed.end(libc::SIGKILL);
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while (killed.running() > 0 || killed.session.exists()) && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(killed.running(), 0, "the program and its child go with it");
    assert!(!killed.session.exists() && other.session.join("lib/libcuda.so.1").exists());
    assert_eq!(other.running(), 1);
    // What is left where nobody could take it away goes with the next session; other folders stay.
    let left = temporary.path().join("warpgrind-left");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("lock"), "").unwrap();
    let output = exec(&[], "nothing").env("TMPDIR", temporary.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!left.exists() && other.session.join("lib/libcuda.so.1").exists());
    other.end(libc::SIGTERM);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}

/// `profile` has `exec` run its program.
#[test]
fn a_killed_profile_leaves_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 300", note.display());
    let mut profile = named("profile", &["--", "sh", "-c", &script])
        .env("TMPDIR", folder.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let wait = || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        std::time::Instant::now() < patience
    };
    while !note.exists() && wait() {}
    let program = Path::new("/proc").join(std::fs::read_to_string(&note).unwrap().trim());
    assert!(program.exists());
    profile.kill().unwrap();
    profile.wait().unwrap();
    while program.exists() && wait() {}
    assert!(!program.exists(), "the program goes with it");
    // Its folder goes with the next session.
    let output = exec(&[], "nothing").env("TMPDIR", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["pid"]);
}

/// A program that passes over signals ends with a profile that does not.
#[test]
fn a_profile_ends_when_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    let script = format!("trap '' TERM INT; echo $$ > {0}.new; mv {0}.new {0}; sleep 300", note.display());
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let _ = std::fs::remove_file(&note);
        let mut profile = named("profile", &["--", "sh", "-c", &script])
            .env("TMPDIR", folder.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let wait = || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            std::time::Instant::now() < patience
        };
        while !note.exists() && wait() {}
        let program = Path::new("/proc").join(std::fs::read_to_string(&note).unwrap().trim());
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(profile.id() as i32, signal) };
        while profile.try_wait().unwrap().is_none() && wait() {}
        assert_eq!(profile.try_wait().unwrap().map(|status| status.code()), Some(Some(128 + signal)));
        while program.exists() && wait() {}
        assert!(!program.exists(), "the program goes with it");
    }
}

/// What `cargo install` gives: the tool without the libraries beside it.
#[test]
fn the_tool_alone_has_the_libraries_inside() {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("bin/warpgrind");
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_warpgrind"), &tool).unwrap();
    let cache = folder.path().join("cache");
    // Unpacked once, used again, and unpacked for the session where nothing can be kept.
    for home in [&*cache, &*cache, Path::new("/dev/null/none")] {
        let mut command = Command::new(&tool);
        command.current_dir(root()).args(["exec", "--"]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "client", "--nocapture", "-q"]).env(ROLE, "good");
        command.env("XDG_CACHE_HOME", home).env_remove("LD_LIBRARY_PATH");
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), said(&output)), (Some(3), vec!["6.5 6.5".to_string()]));
        assert_eq!(text(&output.stderr), "");
    }
    let kept = std::fs::read_dir(cache.join("warpgrind")).unwrap().count();
    assert_eq!(kept, 1);
}

#[test]
fn programs_that_cannot_run_are_explained() {
    for (program, part) in [
        ("./no-such-program", "cannot run ./no-such-program"),
        ("Cargo.toml", "did you mean `./Cargo.toml`?"),
        ("./Cargo.toml", "not executable"),
    ] {
        let output = warpgrind(&["--", program]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
    // Nothing was checked, which must not look like success.
    let output = run(&["--error-exitcode", "9"], "nothing");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "warpgrind: the program used no CUDA device\n");
}

#[test]
fn what_is_refused_says_what_to_do() {
    let output = run(&[], "refused");
    assert_eq!(said(&output), ["209 801"]);
    let error = text(&output.stderr);
    assert!(error.contains("embed PTX: `nvcc -arch=sm_90`") && error.contains("-cudart shared"), "{error}");
}

#[test]
fn faults_are_reported_with_the_line_of_the_source() {
    let output = run(&["--error-exitcode", "9", "--tool", "memcheck"], "bounds");
    assert_eq!((output.status.code(), said(&output)), (Some(9), vec!["700".to_string(), "700".into()]));
    let error = text(&output.stderr);
    for part in [
        "error[out-of-bounds]: read of 4 bytes",
        "0 bytes after the end of buffer `allocation #1` (4000 bytes",
        "CUDA source: kernels/saxpy.cu:7\n",
        "block (3, 0, 0), thread (232, 0, 0)",
        "stopped by a fault with 1 finding",
        "warpgrind: 1 launch, 1 finding\n",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn memory_of_another_device_is_told_from_none() {
    let output = run(&["--devices", "2"], "peer");
    assert_eq!(said(&output), ["700"]);
    let error = text(&output.stderr);
    for part in [
        "error[peer-access]: read of 4 bytes at 0x",
        ": it lies in buffer `allocation #1` (4000 bytes at 0x",
        ") of device 1, to which device 0 has no peer access\n",
        "CUDA source: kernels/saxpy.cu:7\n",
        "= note: `cudaDeviceEnablePeerAccess(1, 0)`, called while device 0 is current, enables it\n",
        "stopped by a fault with 1 finding",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn checks_apply_to_whole_programs() {
    for (role, tool, kind) in [
        ("unwritten", "initcheck", "error[uninitialized-read]"),
        ("race", "racecheck", "error[data-race]"),
        ("race", "memcheck,racecheck,initcheck,synccheck", "error[data-race]"),
        ("branches", "synccheck", "error[undefined-behavior]: lanes of one warp arrive at barrier 0"),
    ] {
        let clean = run(&["--tool", "memcheck", "--error-exitcode", "9"], role);
        assert_eq!((clean.status.code(), said(&clean)), (Some(0), vec!["0".to_string()]));
        assert_eq!(text(&clean.stderr), "warpgrind: 1 launch, no findings\n", "{role}");
        let found = run(&["--tool", tool, "--error-exitcode", "9"], role);
        // The program does not notice.
        assert_eq!((found.status.code(), said(&found)), (Some(9), vec!["0".to_string()]), "{role}");
        assert!(text(&found.stderr).contains(kind), "{}", text(&found.stderr));
        // Launches that are not picked are not checked.
        let other = run(&["--tool", tool, "--error-exitcode", "9", "--filter", "other"], role);
        assert_eq!(other.status.code(), Some(0));
        assert_eq!(text(&other.stderr), "warpgrind: 1 launch, 0 of them picked, no findings\n");
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn launches_are_picked_and_written_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let file = path.to_str().unwrap();
    let output =
        run(&["--json", file, "--filter", "axp", "--launch-skip", "1", "--launch-count", "1"], "good");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stderr), "warpgrind: 3 launches, 1 of them picked, no findings\n");
    let document = json(&path);
    assert_eq!((&document["schema"], &document["command"]), (&1.into(), &"exec".into()));
    assert_eq!((&document["exit_code"], &document["signal"]), (&3.into(), &Value::Null));
    assert_eq!((&document["counts"]["launches"], &document["counts"]["picked"]), (&3.into(), &1.into()));
    assert_eq!(document["launches"].as_array().unwrap().len(), 1);
    assert_eq!(document["launches"][0]["kernel"], "saxpy");

    run(&["--json", file], "bounds");
    let finding = &json(&path)["launches"][0]["findings"][0];
    assert_eq!((&finding["kind"], &finding["fault"]), (&"out-of-bounds".into(), &true.into()));
    assert_eq!(finding["place"]["cuda"][0]["line"], 7);

    let output = run(&["--json", "/no/such/folder/report.json"], "good");
    assert_eq!(
        (output.status.code(), said(&output)),
        (Some(2), Vec::new()),
        "found out before the program ran"
    );
}

#[test]
fn a_program_ends_when_the_picked_launches_are_over() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("launches");
    let options = ["--save-launches", saved.to_str().unwrap(), "--launch-count", "2", "--kill"];
    let output = run(&options, "good");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said(&output).is_empty(), "it never came so far as to say what it had");
    assert!(saved.join("0001-saxpy/LAUNCH.toml").exists());
    // One that launches no more ends by itself.
    let output = run(&["--launch-count", "3", "--kill"], "good");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let output = profile(&["--launch-count", "1", "--kill", "--no-time"], "good");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).matches("saxpy: grid").count(), 1);
}

#[test]
fn launches_are_numbered_as_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("launches");
    let output = run(&["--save-launches", saved.to_str().unwrap()], "the second first");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let block = |number: u32| {
        let file = saved.join(format!("000{number}-saxpy/LAUNCH.toml"));
        let file = std::fs::read_to_string(file).unwrap();
        file.lines().find_map(|line| line.strip_prefix("block = ")).unwrap().to_owned()
    };
    assert_eq!([block(0), block(1)], ["[256, 1, 1]", "[128, 1, 1]"]);
    let output = profile(&["--launch-count", "1", "--no-time"], "the second first");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("block (256, 1, 1)") && !said.contains("block (128, 1, 1)"), "{said}");
}

#[test]
fn statistics_are_printed_for_picked_launches() {
    let output = run(&["--stats", "--launch-count", "2"], "good");
    let error = text(&output.stderr);
    assert_eq!(error.matches("saxpy: grid (4, 1, 1), block (256, 1, 1): completed\n").count(), 2, "{error}");
    let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("global read 7.8 KiB 375 sectors").count(), 2, "{error}");
}

#[test]
fn launches_that_have_no_room_are_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    // Two buffers of 4,000 bytes, one of which changes.
    let output = run(&["--save-launches", folder.path().to_str().unwrap(), "--save-most", "13k"], "good");
    let error = text(&output.stderr);
    assert_eq!(
        error.matches("is not saved: it takes 8000 bytes").count(),
        1,
        "of two the first is told of: {error}"
    );
    assert!(error.contains("3 launches, 2 not saved"), "{error}");
    let kept = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(kept.collect::<Vec<_>>(), ["0000-saxpy"]);
    let output = profile(&["--save-most", "13k", "--no-time"], "good");
    assert_eq!(text(&output.stdout).matches("saxpy: grid").count(), 1);
    let error = text(&output.stderr);
    assert!(
        error.contains("2 launches are left out, as there is no room") && error.contains("--save-most"),
        "{error}"
    );
    let output = profile(&["--save-most", "1", "--no-time"], "good");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("3 launches are left out"), "{}", text(&output.stderr));
}

#[test]
fn saved_launches_give_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("launches");
    let output = run(&["--save-launches", saved.to_str().unwrap()], "good");
    assert_eq!(output.status.code(), Some(3));
    for number in 0..3 {
        let file = saved.join(format!("000{number}-saxpy/LAUNCH.toml"));
        let again = Command::new(env!("CARGO_BIN_EXE_warpgrind")).arg("run").arg(&file).output().unwrap();
        let shown = text(&again.stdout);
        assert_eq!(again.status.code(), Some(0), "{shown}{}", text(&again.stderr));
        // What the program's launch left is what this one must leave.
        assert!(shown.contains("as expected"), "{shown}");
    }
    // Addresses in structures, buffers and variables lead to the same places.
    let output = run(&["--save-launches", saved.to_str().unwrap()], "pointers");
    assert_eq!(said(&output), ["[60, 50, 40, 30]"], "{}", text(&output.stderr));
    let file = saved.join("0003-gather/LAUNCH.toml");
    let again = Command::new(env!("CARGO_BIN_EXE_warpgrind")).arg("run").arg(&file).output().unwrap();
    let shown = text(&again.stdout);
    assert_eq!(again.status.code(), Some(0), "{shown}{}", text(&again.stderr));
    assert!(
        shown.contains("b0: 16 values of u8 as expected\n") && shown.contains("runs: 4 values"),
        "{shown}"
    );
    let wrong = std::fs::read_to_string(&file).unwrap().replace("&b2+4", "&b2+8");
    std::fs::write(&file, wrong).unwrap();
    let again = Command::new(env!("CARGO_BIN_EXE_warpgrind")).arg("run").arg(&file).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "another address gives another result");

    let output = run(&["--save-launches", saved.to_str().unwrap(), "--filter", "saxpy"], "bounds");
    assert_eq!(output.status.code(), Some(0));
    let again = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
        .arg("run")
        .arg(saved.join("0004-saxpy/LAUNCH.toml"))
        .output();
    let again = again.unwrap();
    assert_eq!(again.status.code(), Some(5));
    assert!(text(&again.stderr).contains("error[out-of-bounds]"), "{}", text(&again.stderr));

    // What kernels may only read they may only read again.
    let other = folder.path().join("read-only");
    let output = run(&["--save-launches", other.to_str().unwrap()], "read only");
    assert_eq!(said(&output), ["700"], "{}", text(&output.stderr));
    let file = other.join("0000-saxpy/LAUNCH.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("read_only = [[0, 4096]]"));
    let again = Command::new(env!("CARGO_BIN_EXE_warpgrind")).arg("run").arg(&file).output().unwrap();
    assert_eq!(again.status.code(), Some(5));
    assert!(text(&again.stderr).contains("error[write-to-read-only]"), "{}", text(&again.stderr));
}

#[test]
fn what_is_expected_does_not_count_in_any_process() {
    let folder = tempfile::tempdir().unwrap();
    let client = std::env::current_exe().unwrap();
    let of = |role: &str| format!("{ROLE}={role} {} --exact client --nocapture -q", client.display());
    let script = format!("{}; {}", of("race"), of("unwritten"));
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let run = |options: &[&str]| {
        let mut command = warpgrind(&["--tool", "racecheck,initcheck", "--error-exitcode", "9"]);
        let output = command.args(options).args(["--", "sh", "-c", &script]).output().unwrap();
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (code, said) = run(&["--print-suppressions"]);
    assert_eq!(code, 9);
    assert!(said.ends_with("warpgrind: 2 launches in 2 processes, 2 findings\n"), "{said}");
    // What is printed serves as it is, once it has reasons.
    let entries: Vec<&str> = said.split("[[suppression]]").skip(1).collect();
    let entries =
        entries.iter().map(|entry| format!("[[suppression]]{}", entry.split("reason").next().unwrap()));
    let entries: Vec<String> = entries.map(|entry| entry + "reason = \"a test\"\n").collect();
    assert_eq!(entries.len(), 2, "{said}");
    let both = file("both.toml", &entries.concat());
    let (code, said) = run(&["--suppressions", &both, "--unused-suppressions", "error"]);
    assert_eq!((code, &*said), (0, "warpgrind: 2 launches in 2 processes, 2 suppressed findings\n"));

    // One of them, and one that matches nothing.
    let stray = "\n[[suppression]]\nkind = \"trap\"\nreason = \"none\"\n";
    let one = file("one.toml", &(entries[0].clone() + stray));
    let html = folder.path().join("report.html").display().to_string();
    let (code, said) = run(&["--suppressions", &one, "--report", &html]);
    assert_eq!(code, 9);
    let line = 2 + entries[0].lines().count();
    let unused = format!("warpgrind: warning: {one}:{line}: this suppression matches nothing\n");
    assert!(said.contains(&unused) && said.contains("2 processes, 1 finding, 1 suppressed\n"), "{said}");
    assert!(said.contains("error[uninitialized-read]") && !said.contains("error[data-race]"), "{said}");
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("Suppressed: a test") && page.contains("1 finding, 1 suppressed"), "{page}");
    let (code, said) =
        run(&["--suppressions", &both, "--suppressions", &one, "--unused-suppressions", "error"]);
    assert_eq!(code, 9, "{said}");
    assert!(said.contains("warpgrind: error: "), "{said}");
}

#[test]
fn a_baseline_knows_what_all_processes_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.json");
    let baseline = path.to_str().unwrap();
    let sarif = folder.path().join("report.sarif");
    let options = ["--tool", "racecheck,initcheck", "--error-exitcode", "9"];
    let run = |more: &[&str], role: &str| run(&[&options[..], more].concat(), role);
    // A filter that picks nothing hides no finding that is made anyhow.
    let written = run(&["--write-baseline", baseline], "race");
    assert_eq!(written.status.code(), Some(0));
    let said = text(&written.stderr);
    assert!(said.starts_with("warpgrind: 1 finding written to "), "{said}");
    assert!(said.ends_with("warpgrind: 1 launch, 1 known finding\n"), "{said}");
    let known = &json(&path)["findings"];
    assert_eq!((known.as_array().unwrap().len(), &known[0]["kind"]), (1, &"data-race".into()));

    let again = run(&["--baseline", baseline], "race");
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(text(&again.stderr), "warpgrind: 1 launch, 1 known finding\n");
    let other = run(&["--baseline", baseline, "--report", sarif.to_str().unwrap()], "unwritten");
    assert_eq!(other.status.code(), Some(9));
    let said = text(&other.stderr);
    assert!(said.contains("warpgrind: note: data-race in flag_no_acquire at "), "{said}");
    let results = &json(&sarif)["runs"][0]["results"];
    assert_eq!(
        (&results[0]["baselineState"], &results[1]["baselineState"]),
        (&"new".into(), &"absent".into())
    );
    assert_eq!(results[1]["partialFingerprints"]["warpgrind/v1"], known[0]["fingerprint"]);
}

#[test]
fn findings_elsewhere_belong_into_reports_and_baselines() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (baseline, report, picked) = (path("b.json"), path("report.json"), path("picked.json"));
    let options =
        ["--filter", "other", "--report", &report, "--json", &picked, "--write-baseline", &baseline];
    let output = run(&options, "bounds");
    assert!(
        text(&output.stderr).ends_with("0 of them picked, 1 known finding\n"),
        "{}",
        text(&output.stderr)
    );
    let read = |name: &str| json(Path::new(name));
    assert_eq!(read(&baseline)["findings"][0]["kind"], "out-of-bounds");
    assert_eq!(read(&report)["launches"][0]["picked"], false);
    assert_eq!(read(&picked)["launches"], serde_json::json!([]));
}

#[test]
fn mistakes_with_expected_findings_are_said_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, "[[suppression]]\nkind = \"trap\"\n").unwrap();
    for (options, said) in [
        (&["--suppressions", file.to_str().unwrap()][..], "the suppression has no `reason`"),
        (&["--baseline", file.to_str().unwrap()], "this is no baseline"),
        (&["--unused-suppressions", "error"], "with `--error-exitcode N`"),
        (&["--report", "report.pdf"], "does not say how the findings are to be written"),
        (&["--report", "/no/such/folder/report.html"], "cannot write"),
        (&["--write-baseline", "/no/such/folder/b.json"], "cannot write"),
    ] {
        let output = run(options, "good");
        assert_eq!((output.status.code(), said_nothing(&output)), (Some(2), true), "{options:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}

/// Whether the program did not run.
fn said_nothing(output: &Output) -> bool {
    said(output).is_empty()
}

#[test]
fn scripts_and_their_children_are_run() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("both.sh");
    let client = std::env::current_exe().unwrap();
    let line = format!("{ROLE}=good {} --exact client --nocapture -q", client.display());
    std::fs::write(&script, format!("#!/bin/sh\n{line} &\n{line}\nwait $!\nexit 4\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let report = folder.path().join("report.json");
    // A path that is relative to the folder it is called from.
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(folder.path()).args(["exec", "--tool", "racecheck", "--json"]).arg(&report);
    let output = command.args(["--", "./both.sh"]).env_remove("LD_LIBRARY_PATH").output().unwrap();
    assert_eq!((output.status.code(), said(&output).len()), (Some(4), 2), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "warpgrind: 6 launches in 2 processes, no findings\n");
    let document = json(&report);
    let processes = document["launches"].as_array().unwrap().iter().map(|launch| launch["process"].as_u64());
    let processes: Vec<Option<u64>> = processes.collect();
    assert!(
        processes.len() == 6 && processes[0] == processes[2] && processes[2] != processes[3],
        "{processes:?}"
    );
}

#[test]
fn the_environment_is_shown_and_serves_without_exec() {
    let output = warpgrind(&["--show-env", "--tool", "racecheck"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    let variables: Vec<(&str, &str)> = shown.lines().filter_map(|line| line.split_once('=')).collect();
    let value =
        |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| *value).unwrap();
    assert_eq!(value("WARPGRIND_TOOL"), "racecheck");
    let session = PathBuf::from(value("WARPGRIND_SESSION"));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "client", "--nocapture", "-q"])
        .env(ROLE, "race")
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    std::fs::remove_dir_all(session).unwrap();
    assert!(text(&output.stderr).contains("error[data-race]"), "{}", text(&output.stderr));
}

/// A kernel that never ends is ended, what it did until then is shown, and it has no time.
#[test]
fn a_profile_of_a_kernel_without_end_ends() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/endless.ptx");
    std::fs::copy(ptx, folder.path().join("endless.ptx")).unwrap();
    let file = folder.path().join("launch.toml");
    let launch = "modules = [\"endless.ptx\"]\n[buffers.begun]\ntype = \"u32\"\nshape = 1\ninit = 0\n\
                  [[launch]]\nkernel = \"endless\"\ngrid = 2\nblock = 32\nargs = [\"begun\"]\n";
    std::fs::write(&file, launch).unwrap();
    for limit in [["--timeout", "200ms"], ["--max-instructions", "10000"]] {
        let begun = std::time::Instant::now();
        let output = named("profile", &[]).arg(&file).args(limit).output().unwrap();
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(5), "{shown}{}", text(&output.stderr));
        assert!(shown.contains("it did not complete ("), "{shown}");
        assert!(!shown.contains("gpc__cycles_elapsed"), "{shown}");
        assert!(begun.elapsed().as_secs() < 20, "{limit:?} took {:?}", begun.elapsed());
    }
}
