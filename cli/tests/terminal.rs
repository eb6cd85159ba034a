//! The prompt of `warpgrind debug` on a terminal: completion, history, colours, and what keys do. A pseudo-terminal stands in
//! for a person's.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A terminal with the debugger on it.
struct Terminal {
    keys: File,
    said: Receiver<Vec<u8>>,
    /// What was said and not waited for yet.
    text: String,
    child: Child,
}

impl Terminal {
    /// Nothing where there are no pseudo-terminals.
    fn start(state: &std::path::Path, arguments: &[&str]) -> Option<Terminal> {
        let (mut own, mut theirs) = (0, 0);
        let size = libc::winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the places are ours, and the size is one.
        let done = unsafe {
            libc::openpty(
                &mut own,
                &mut theirs,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                (&raw const size).cast_mut(),
            )
        };
        if done != 0 {
            eprintln!("SKIPPED: there is no pseudo-terminal");
            return None;
        }
        // SAFETY: nobody else has these descriptors.
        let (own, theirs) = unsafe { (File::from_raw_fd(own), OwnedFd::from_raw_fd(theirs)) };
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
        command.arg("debug").args(arguments).current_dir("..");
        command.env("TERM", "xterm-256color").env("XDG_STATE_HOME", state).env_remove("NO_COLOR");
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let child = command.spawn().unwrap();
        // The descriptors of the child's side go with the command.
        drop(command);
        let (sender, said) = channel();
        let mut output = own.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with an error when nobody has the other side any more.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Some(Terminal { keys: own, said, text: String::new(), child })
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until something is said; what came up to it.
    fn until(&mut self, wanted: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.text.find(wanted) {
                let rest = self.text.split_off(at + wanted.len());
                return std::mem::replace(&mut self.text, rest);
            }
            match self.said.recv_timeout(Duration::from_millis(100)) {
                Ok(bytes) => self.text += &String::from_utf8_lossy(&bytes),
                Err(_) => {
                    assert!(begun.elapsed() < Duration::from_secs(60), "no {wanted:?} in {:?}", self.text)
                }
            }
        }
    }

    /// A line, and what is said up to the next prompt.
    fn line(&mut self, text: &str) -> String {
        self.press(text);
        self.press("\r");
        // The line as it was typed, then the answer, then the prompt.
        let mut said = self.until("\n");
        said += &self.until("(warpgrind) ");
        said
    }

    fn over(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

const MEMBERS: &[&str] = &[
    "testdata/ptx/debugger-debug/members.ptx",
    "-b",
    "32",
    "-a",
    "out=f32[32]=0",
    "-a",
    "0.5",
    "--source-root",
    "testdata",
];

#[test]
fn a_person_has_completion_history_and_colours() {
    let state = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(state.path(), MEMBERS) else { return };
    let begun = terminal.until("(warpgrind) ");
    assert!(begun.contains("[Launch 0: members(float*, float)"), "{begun}");
    assert!(begun.contains("\u{1b}[1;32m"), "the prompt has a colour: {begun:?}");

    // Commands, what `info` takes, and names of the program.
    let said = terminal.line("inf\t func\t");
    assert!(said.contains("Box::area(float) const"), "{said}");
    let said = terminal.line("tbreak members.c\t:44");
    assert!(said.contains("Temporary breakpoint 1 at debugger/members.cu:44"), "{said}");
    let said = terminal.line("run");
    assert!(said.contains("\u{1b}[33mmembers(float*, float)\u{1b}[0m"), "{said:?}");
    assert!(said.contains("\u{1b}[1;36m=>\u{1b}[0m"), "{said:?}");
    let said = terminal.line("print box.flags.lev\u{7f}\u{7f}\u{7f}kind");
    assert!(said.contains("$1 = 5"), "{said}");
    let said = terminal.line("print are\t");
    assert!(said.contains("$2 = "), "{said}");

    // The arrow goes back in the history, an empty line does the last command again, Ctrl-C takes a line away.
    let said = terminal.line("\u{1b}[A\u{1b}[A");
    assert!(said.contains("$3 = 5"), "{said}");
    let said = terminal.line("");
    assert!(said.contains("$4 = 5"), "{said}");
    terminal.press("nonsense\u{3}");
    terminal.until("(warpgrind) ");
    let said = terminal.line("commands 9");
    assert!(said.contains("No breakpoint number 9."), "{said}");
    terminal.press("quit\r");
    terminal.over();

    // What was typed is there the next time; the end of the input ends it.
    let Some(mut terminal) = Terminal::start(state.path(), MEMBERS) else { return };
    terminal.until("(warpgrind) ");
    terminal.press("\u{1b}[A\u{1b}[A\r");
    terminal.until("No breakpoint number 9.");
    terminal.until("(warpgrind) ");
    terminal.press("\u{4}");
    terminal.over();
}

#[test]
fn commands_of_a_breakpoint_are_typed_line_by_line() {
    let state = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(state.path(), MEMBERS) else { return };
    terminal.until("(warpgrind) ");
    terminal.line("break members.cu:44");
    terminal.press("commands\r");
    terminal.until(">");
    terminal.press("print box.sides\r");
    terminal.until(">");
    terminal.press("end\r");
    terminal.until("(warpgrind) ");
    let said = terminal.line("run");
    assert!(said.contains("Breakpoint 1, ") && said.contains("$1 = 4"), "{said}");
    terminal.press("\u{4}");
    terminal.over();
}

/// Ctrl-C while a kernel runs has it stand still.
#[test]
fn ctrl_c_interrupts_a_kernel() {
    let state = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(state.path(), &["cli/tests/data/endless.ptx", "-a", "u32[1]=0"])
    else {
        return;
    };
    terminal.until("(warpgrind) ");
    terminal.press("run\r");
    terminal.until("\n");
    std::thread::sleep(Duration::from_millis(300));
    // The terminal is not the child's own: the signal comes as one of a person does.
    // SAFETY: the child is ours and runs.
    unsafe { libc::kill(terminal.child.id() as i32, libc::SIGINT) };
    terminal.until("Interrupted.");
    terminal.until("(warpgrind) ");
    terminal.press("reverse-stepi\r");
    terminal.until("(warpgrind) ");
    terminal.press("quit\r");
    terminal.over();
}

#[test]
fn a_file_of_commands_that_names_itself_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("again");
    std::fs::write(&file, format!("echo again\nsource {}\n", file.display())).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpgrind"));
    command.arg("debug").args(MEMBERS).args(["--batch", "-x"]).arg(&file).current_dir("..");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("does one name itself?"), "{said}");
}
