//! The debug adapter: our own messages, a client that vanishes, messages that are none, and a client library that is not ours.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

#[path = "support/conversation.rs"]
mod conversation;

use conversation::Conversation;

/// The binary with paths from the root of the repository.
fn adapter(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.args(args).current_dir("..").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn over(mut child: Child) {
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}

const OVERRUN: &str = "cli/tests/data/debug/gemm_overrun.toml";

#[test]
fn what_cannot_be_is_answered() {
    let mut child = adapter(&["dap"]).spawn().unwrap();
    let mut dap = Conversation::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    assert_eq!(dap.ask("stackTrace", json!({"threadId": 1}))["success"], false);
    assert_eq!(dap.ask("launch", json!({"files": ["nowhere.ptx"]}))["success"], false);
    assert_eq!(dap.ask("launch", json!({"files": [OVERRUN], "grid": "x"}))["success"], false);
    assert_eq!(dap.ask("launch", json!({}))["success"], false);
    dap.begin(json!({"files": [OVERRUN], "stopOnEntry": true}));
    let lines = json!([{"line": 0}, {"line": 99999}, {"line": 21, "condition": "1 +"}, {"line": 21, "hitCondition": "x"}]);
    let answer =
        dap.ask("setBreakpoints", json!({"source": {"path": "gemm_overrun.cu"}, "breakpoints": lines}));
    let verified = |answer: &Value| -> Vec<bool> {
        answer["body"]["breakpoints"].as_array().unwrap().iter().map(|one| one["verified"] == true).collect()
    };
    assert_eq!(verified(&answer), [false; 4]);
    let answer =
        dap.ask("setBreakpoints", json!({"source": {"path": "other.cu"}, "breakpoints": [{"line": 3}]}));
    assert_eq!(verified(&answer), [false], "code that was never loaded");
    let answer = dap.ask("setFunctionBreakpoints", json!({"breakpoints": [{"name": "nothing"}]}));
    assert_eq!(verified(&answer), [false]);
    dap.send("configurationDone", json!({}));
    assert_eq!(dap.receive()["success"], true);
    assert_eq!(dap.event("stopped")["reason"], "entry");
    for (command, arguments) in [
        ("frobnicate", json!({})),
        ("stackTrace", json!({"threadId": 1_000_000})),
        ("stackTrace", json!({"threadId": 0})),
        ("variables", json!({"variablesReference": 77})),
        ("evaluate", json!({"expression": "1 +"})),
        ("evaluate", json!({"expression": "nosuch"})),
        ("readMemory", json!({"memoryReference": "x", "count": 4})),
        ("disassemble", json!({"memoryReference": "", "instructionCount": 4})),
        ("exceptionInfo", json!({"threadId": 1})),
        ("stepOut", json!({"threadId": 1})),
        ("next", json!({"threadId": 3})),
    ] {
        let answer = dap.ask(command, arguments);
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    let nothing = dap.ask("readMemory", json!({"memoryReference": "0x10", "count": 4}));
    assert_eq!(nothing["body"]["unreadableBytes"], 4);
    let outside = dap.ask(
        "disassemble",
        json!({"memoryReference": "0x0", "instructionOffset": -2, "instructionCount": 3}),
    );
    assert_eq!(outside["body"]["instructions"].as_array().unwrap().len(), 3);
    assert_eq!(dap.ask("disconnect", json!({}))["success"], true);
    drop(dap);
    over(child);
}

#[test]
fn a_client_that_vanishes_ends_it_even_while_a_kernel_runs() {
    // One that never ends by itself.
    for leaves in [true, false] {
        let mut child = adapter(&["dap"]).spawn().unwrap();
        let mut dap = Conversation::new(child.stdout.take().unwrap(), child.stdin.take().unwrap());
        dap.begin(json!({"files": ["cli/tests/data/endless.ptx"], "args": ["u32[1]=0"]}));
        dap.send("configurationDone", json!({}));
        assert_eq!(dap.receive()["success"], true);
        if leaves {
            drop(dap);
        } else {
            dap.send("pause", json!({"threadId": 1}));
            assert_eq!(dap.event("stopped")["reason"], "pause");
            assert_eq!(dap.receive()["command"], "pause");
            drop(dap);
        }
        over(child);
    }
}

#[test]
fn what_is_no_message_ends_it() {
    for text in [
        "Content-Length: x\r\n\r\n",
        "Content-Length: 7\r\n\r\nnothing",
        "\u{0}\u{1}",
        "Content-Length: 2\r\n\r\n[]",
    ] {
        let mut child = adapter(&["dap"]).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        over(child);
    }
}

#[test]
fn it_listens_at_an_address() {
    let mut child = adapter(&["dap", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("listening on ").unwrap();
    let stream = TcpStream::connect(address).unwrap();
    let mut dap = Conversation::new(stream.try_clone().unwrap(), stream);
    dap.begin(json!({"files": [OVERRUN]}));
    let answer = dap.ask("setFunctionBreakpoints", json!({"breakpoints": [{"name": "gemm_overrun"}]}));
    assert_eq!(answer["body"]["breakpoints"][0]["verified"], true);
    dap.send("configurationDone", json!({}));
    assert_eq!(dap.receive()["success"], true);
    assert_eq!(dap.event("stopped")["reason"], "breakpoint");
    assert_eq!(dap.ask("terminate", json!({}))["success"], true);
    drop(dap);
    over(child);
}

/// A session of a client that is not ours, which a script leads.
fn session(mut interpreter: Command, script: &str) {
    let done = interpreter.arg(script).arg(env!("CARGO_BIN_EXE_warpgrind")).current_dir("..").output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn knows(mut interpreter: Command, text: &str, missing: &str) -> bool {
    let knows = interpreter.arg(text).output().is_ok_and(|knows| knows.status.success());
    if !knows {
        eprintln!("SKIPPED: {missing}");
    }
    knows
}

#[test]
fn a_client_library_of_python_that_is_not_ours() {
    let name = std::env::var("WARPGRIND_DAP_PYTHON").unwrap_or_else(|_| "python3".into());
    let missing =
        format!("{name} has no dap-python (pip install dap-python; WARPGRIND_DAP_PYTHON names another)");
    let mut asks = Command::new(&name);
    asks.arg("-c");
    if knows(asks, "import dap", &missing) {
        session(Command::new(name), "cli/tests/dap/client.py");
    }
}

#[test]
fn a_client_library_of_node_that_is_not_ours() {
    let package = "@vscode/debugadapter-testsupport";
    let missing = format!(
        "node does not find {package} (npm install {package}; WARPGRIND_DAP_NODE names the node_modules folder)"
    );
    let node = || {
        let mut node = Command::new("node");
        if let Some(folder) = std::env::var_os("WARPGRIND_DAP_NODE") {
            node.env("NODE_PATH", folder);
        }
        node
    };
    let mut asks = node();
    asks.arg("-e");
    if knows(asks, &format!("require('{package}')"), &missing) {
        session(node(), "cli/tests/dap/client.js");
    }
}

#[test]
fn neovim() {
    let missing = "there is no nvim, or WARPGRIND_NVIM_DAP does not name a folder with nvim-dap";
    let plugin = std::env::var("WARPGRIND_NVIM_DAP").unwrap_or_default();
    let is_there = std::path::Path::new(&plugin).join("lua/dap.lua").is_file();
    if !is_there || !knows(Command::new("nvim"), "--version", missing) {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    let mut nvim = Command::new("nvim");
    nvim.args(["--headless", "-u", "NONE", "--cmd", &format!("set runtimepath^={plugin}")]);
    nvim.args(["-c", "luafile cli/tests/dap/neovim.lua"]).env("WARPGRIND", env!("CARGO_BIN_EXE_warpgrind"));
    let done = nvim.current_dir("..").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
