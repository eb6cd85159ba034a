//! Programs under `warpgrind debug` and `warpgrind dap`. The program is this test itself, in the role of [`client`].

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

#[path = "support/conversation.rs"]
mod conversation;
#[path = "support/driver.rs"]
mod driver;

use conversation::Conversation;
use driver::{Driver, root};

/// What the client does; not set: nothing, it is only a test that passes.
const ROLE: &str = "WARPGRIND_TEST_ROLE";

/// The program that is debugged in the other tests.
#[test]
fn client() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let saxpy = "testdata/ptx/sm_90-lineinfo/saxpy.ptx";
    let buffers = |driver: &Driver| (driver.buffer(4000, Some(1.0)), driver.buffer(4000, Some(0.5)));
    match &*role {
        "three launches" => Driver::three_launches(),
        "prints" => {
            let (driver, module) = Driver::start("testdata/ptx/sm_90-lineinfo/print_assert.ptx");
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input).unwrap();
            println!("client: read {}", input.trim());
            let values = driver.buffer(8, Some(0.0));
            for _ in 0..3 {
                driver.launch(module, c"print_values", 1, 2, &[values, 2]);
                driver.ok(c"cuCtxSynchronize", &[]);
            }
        }
        "two kernels" => {
            let (driver, module) = Driver::start(saxpy);
            let (x, y) = buffers(&driver);
            driver.saxpy(module, 1000, x, y);
            let (driver, module) = Driver::start("cli/tests/data/branches.ptx");
            driver.launch(module, c"branches", 1, 64, &[]);
            driver.ok(c"cuCtxSynchronize", &[]);
            println!("client: both");
        }
        "threads" => {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let (driver, module) = Driver::start(saxpy);
                        let (x, y) = buffers(&driver);
                        assert_eq!(driver.saxpy(module, 1000, x, y), 0);
                    });
                }
            });
            println!("client: all");
        }
        "crash" => {
            let (driver, module) = Driver::start(saxpy);
            let (x, y) = buffers(&driver);
            driver.saxpy(module, 1000, x, y);
            std::process::abort();
        }
        "wait" => {
            let (driver, module) = Driver::start(saxpy);
            let (x, y) = buffers(&driver);
            driver.saxpy(module, 1000, x, y);
            println!("client: waiting {}", std::process::id());
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        "nothing" => {}
        _ => panic!("{role}"),
    }
}

/// The client's command line.
fn program() -> Vec<String> {
    let own = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&own, "--exact", "client", "--nocapture", "-q"].map(String::from).to_vec()
}

fn command(options: &[&str], role: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.current_dir(root()).args(options).env_remove("LD_LIBRARY_PATH").env(ROLE, role);
    command
}

/// `warpgrind debug OPTIONS` with commands, on this test in a role.
fn debug(options: &[&str], commands: &[&str], role: &str) -> Output {
    let mut command = command(&["debug", "--batch"], role);
    command.args(options);
    commands.iter().for_each(|text| {
        command.args(["--ex", text]);
    });
    command.arg("--").args(program()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_stops_before_each_launch_and_goes_on_with_its_results() {
    let commands = ["break saxpy", "run", "print threadIdx.x", "delete", "c", "c", "c", "c", "c", "c"];
    let output = debug(&[], &commands, "three launches");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    for launch in 0..3 {
        assert_eq!(said.matches(&format!("[Launch {launch}: saxpy, grid (4,1,1)")).count(), 1, "{said}");
    }
    assert!(said.contains("\nBreakpoint 1, saxpy at "), "{said}");
    assert!(said.contains("client: 6.5 6.5\n"), "{said}");
    assert!(said.ends_with("[The program exited with status 3, after 3 launches]\n"), "{said}");
}

#[test]
fn breakpoints_hold_for_later_launches_and_modules() {
    let commands = ["break branches", "c", "c", "c", "c", "c"];
    let output = debug(&[], &commands, "two kernels");
    let said = text(&output.stdout);
    let pending = said.find("Breakpoint 1 (branches) pending").unwrap();
    let second = said.find("[Launch 1: branches").unwrap();
    let reached = said.find("\nBreakpoint 1, branches at ").unwrap();
    assert!(pending < second && second < reached, "{said}");
}

#[test]
fn who_quits_ends_the_program() {
    let output = debug(&[], &["continue", "quit"], "three launches");
    let said = text(&output.stdout);
    assert_eq!((output.status.code(), said.matches("[Launch ").count()), (Some(0), 1), "{said}");
    assert!(!said.contains("client:"), "{said}");
}

#[test]
fn launches_are_picked() {
    let output = debug(&["--launch-skip", "1", "--launch-count", "1"], &["c", "c"], "three launches");
    let said = text(&output.stdout);
    assert!(said.ends_with("after 1 launch]\n") && said.contains("client: 6.5 6.5"), "{said}");
    let output = debug(&["--kernel", "other"], &[], "three launches");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("launched 3 kernels, none of which was picked by `other`"), "{said}");
}

#[test]
fn launches_of_several_threads_come_one_after_the_other() {
    let output = debug(&[], &["c"; 8], "threads");
    let said = text(&output.stdout);
    assert_eq!(said.matches("[Launch ").count(), 4, "{said}");
    assert!(said.contains("client: all") && said.ends_with("after 4 launches]\n"), "{said}");
}

#[test]
fn programs_that_launch_nothing_or_crash_say_so() {
    let output = debug(&[], &[], "nothing");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("error: the program used no CUDA device"));
    let output = debug(&[], &["c", "c"], "crash");
    let said = text(&output.stdout);
    assert!(said.ends_with("[The program was ended by signal 6, after 1 launch]\n"), "{said}");
    let output = command(&["debug", "--batch", "--", "./nowhere"], "").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot run ./nowhere: No such file"));
    let output = command(&["debug", "--grid", "4", "--", "./nowhere"], "").output().unwrap();
    assert!(text(&output.stderr).starts_with("error: `--grid` cannot be given with a program"));
}

#[test]
fn what_a_kernel_prints_is_seen_once_and_the_program_has_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    std::fs::write(&file, "from a file\n").unwrap();
    let printed = "thread 1 of block 0 holds 0";
    // Launches that are debugged to their ends, that are left with `detach`, and later ones.
    for (commands, launches) in [(&["c"; 6][..], 3), (&["detach"], 1), (&["c", "c", "detach"], 2)] {
        let output = debug(&["--input", file.to_str().unwrap()], commands, "prints");
        let said = text(&output.stdout);
        assert_eq!(said.matches(printed).count(), 3, "{said}");
        assert_eq!(said.matches("[Launch ").count(), launches, "{said}");
        assert!(said.contains("client: read from a file"), "{said}");
        assert!(said.ends_with("after 3 launches]\n"), "{said}");
    }
    let output = debug(&["--input", "nowhere"], &[], "prints");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot read nowhere: No such file"));
    // Nobody else reads standard input with `--batch`.
    let mut command = command(&["debug", "--batch", "--ex", "detach"], "prints");
    command.arg("--").args(program()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("client: read from a pipe"));
}

/// The adapter, and a conversation with it.
struct Dap {
    child: std::process::Child,
    talk: Conversation<std::process::ChildStdout, std::process::ChildStdin>,
}

impl Dap {
    /// Launches this test in a role, up to where breakpoints can be set.
    fn launch(role: &str, more: Value) -> Dap {
        let mut child = command(&["dap"], "").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut talk = Conversation::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let program = program();
        let mut launch = json!({"program": program[0], "args": program[1..], "env": {ROLE: role}});
        launch.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        talk.begin(launch);
        Dap { child, talk }
    }

    fn configured(&mut self) {
        self.talk.send("configurationDone", json!({}));
        while self.talk.receive()["command"] != "configurationDone" {}
    }

    fn go_on(&mut self) {
        assert_eq!(self.talk.ask("continue", json!({"threadId": 1}))["success"], true);
    }

    fn over(mut self) {
        drop(self.talk);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn an_editor_stops_at_each_launch() {
    let mut dap = Dap::launch("three launches", json!({"stopOnEntry": true}));
    dap.configured();
    for _ in 0..3 {
        assert_eq!(dap.talk.event("stopped")["reason"], "entry");
        dap.go_on();
    }
    assert_eq!(dap.talk.event("exited")["exitCode"], 3);
    dap.talk.event("terminated");
    let outputs = dap.talk.events.iter().filter(|event| event["event"] == "output");
    let said: String = outputs.map(|event| event["body"]["output"].as_str().unwrap()).collect();
    assert!(said.contains("client: 6.5 6.5"), "{said}");
    dap.over();
}

#[test]
fn an_editor_stops_at_breakpoints_of_all_launches() {
    let mut dap = Dap::launch("three launches", json!({"launchCount": 2}));
    let answer = dap.talk.ask("setFunctionBreakpoints", json!({"breakpoints": [{"name": "saxpy"}]}));
    assert_eq!(answer["body"]["breakpoints"][0]["verified"], true, "{answer}");
    dap.configured();
    assert_eq!(dap.talk.event("stopped")["reason"], "breakpoint");
    assert_eq!(dap.talk.ask("setFunctionBreakpoints", json!({"breakpoints": []}))["success"], true);
    dap.go_on();
    assert_eq!(dap.talk.event("exited")["exitCode"], 3);
    dap.over();
}

#[test]
fn a_program_does_not_outlive_its_editor() {
    for leaves in [true, false] {
        let mut dap = Dap::launch("wait", json!({}));
        dap.configured();
        let pid = loop {
            let said = dap.talk.event("output")["output"].as_str().unwrap().to_owned();
            if let Some(pid) = said.trim().strip_prefix("client: waiting ") {
                break pid.to_owned();
            }
        };
        if leaves {
            assert_eq!(dap.talk.ask("threads", json!({}))["body"]["threads"], json!([]));
            assert_eq!(dap.talk.ask("stackTrace", json!({"threadId": 1}))["success"], false);
            assert_eq!(dap.talk.ask("disconnect", json!({}))["success"], true);
        }
        dap.over();
        // Whoever keeps the program ends it.
        let place = format!("/proc/{pid}/stat");
        let is_there = || std::fs::read_to_string(&place).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..200 {
            if !is_there() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(!is_there(), "the program is still there");
    }
}

#[test]
fn an_editor_is_told_why_there_is_nothing_to_debug() {
    let mut child = command(&["dap"], "").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut talk = Conversation::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let answer = talk.ask("launch", json!({"program": "x", "env": {"A": 1}}));
    assert_eq!(answer["success"], false, "{answer}");
    assert_eq!(talk.ask("launch", json!({"program": "./nowhere"}))["success"], true);
    assert_eq!(talk.event("exited")["exitCode"], 2);
    talk.event("terminated");
    let said: String = talk.events.iter().filter_map(|event| event["body"]["output"].as_str()).collect();
    assert!(said.contains("cannot run ./nowhere"), "{said}");
    drop(talk);
    assert!(child.wait().unwrap().success());
}
