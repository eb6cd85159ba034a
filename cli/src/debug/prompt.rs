//! The prompt of one launch: reads commands, and says where the launch stands.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

use debugger::format::Format;
use debugger::program::Line;
use debugger::{Debugger, Focus, Reason};
use reports::finding::{self, Sources};
use sim_core::{AccessKind, Dim3};

use super::input::Input;
use crate::report::Console;

/// What outlives a launch.
pub(super) struct Kept<'a> {
    pub(super) input: Input,
    pub(super) console: &'a Console,
    pub(super) source_root: Option<PathBuf>,
    /// What is shown whenever it stands still.
    pub(super) displays: Vec<Display>,
    /// By breakpoint or watchpoint: what is done when it is reached.
    pub(super) commands: HashMap<u32, Vec<String>>,
    /// Lines of a listing.
    pub(super) lines: u32,
    pub(super) stops_at_findings: bool,
    /// Launches are copies of those that a program waits with.
    pub(super) of_program: bool,
    /// Texts of CUDA sources that were looked for.
    pub(super) texts: HashMap<String, Option<(String, Vec<String>)>>,
}

impl<'a> Kept<'a> {
    pub(super) fn new(input: Input, console: &'a Console, source_root: Option<PathBuf>) -> Self {
        Self {
            input,
            console,
            source_root,
            displays: Vec::new(),
            commands: HashMap::new(),
            lines: 10,
            stops_at_findings: true,
            of_program: false,
            texts: HashMap::new(),
        }
    }
}

/// An expression that is shown whenever a launch stands still.
pub(super) struct Display {
    pub(super) id: u32,
    pub(super) text: String,
    pub(super) format: Format,
}

/// How a prompt ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// The launch goes on to its end, and then the next one begins.
    Continue,
    /// This one goes on to its end, as do all later ones, and nobody is asked.
    Detach,
    /// Everything ends.
    Quit,
}

/// The prompt of a launch.
pub(super) struct Prompt<'p, 'k, 's, 'g> {
    pub(super) debugger: Debugger<'p, 's, 'g>,
    pub(super) kept: &'p mut Kept<'k>,
    /// It has not run yet.
    pub(super) fresh: bool,
    /// What was listed: a line of the text, the first one, and the one behind the last.
    pub(super) listed: Option<(Line, u32, u32)>,
    /// Where `x` goes on, and how.
    pub(super) examined: Option<(debugger::types::Space, u64, usize, Format, u8)>,
    /// Bytes of the kernel's output that were shown.
    printed: usize,
    /// The focus that was told last.
    pub(super) told: Option<Focus>,
}

/// Lanes as ranges: `0-3,7`.
pub(super) fn mask_text(mask: u32) -> String {
    let mut text = String::new();
    let mut lane = 0;
    while lane < 32 {
        if mask >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let first = lane;
        while lane < 31 && mask >> (lane + 1) & 1 != 0 {
            lane += 1;
        }
        if !text.is_empty() {
            text.push(',');
        }
        match lane - first {
            0 => write!(text, "{first}"),
            _ => write!(text, "{first}-{lane}"),
        }
        .unwrap_or_default();
        lane += 1;
    }
    if text.is_empty() { "none".into() } else { text }
}

/// The colours of functions, of places in files, and of what is executed next; only terminals get them.
pub(super) const FUNCTION: &str = "33";
pub(super) const FILE: &str = "32";
pub(super) const MARK: &str = "1;36";

/// A text in a colour.
pub(super) fn painted(text: &str, colour: &str) -> String {
    format!("\u{1b}[{colour}m{text}\u{1b}[0m")
}

/// `(x,y,z)`, as cuda-gdb writes it.
pub(super) fn dim(at: Dim3) -> String {
    format!("({},{},{})", at.x, at.y, at.z)
}

impl<'p, 'k, 's, 'g> Prompt<'p, 'k, 's, 'g> {
    pub(super) fn new(mut debugger: Debugger<'p, 's, 'g>, kept: &'p mut Kept<'k>) -> Self {
        debugger.stop_at_findings(kept.stops_at_findings);
        Prompt { debugger, kept, fresh: true, listed: None, examined: None, printed: 0, told: None }
    }

    pub(super) fn out(&self, text: impl AsRef<str>) {
        self.kept.console.out(text);
    }

    // --- Where it stands ---

    /// What the kernel printed since this was asked last.
    pub(super) fn show_output(&mut self) {
        let output = self.debugger.session().output();
        if output.len() > self.printed {
            self.kept.console.out_bytes(&output[self.printed..]);
        }
        // Going back takes output back; it is not shown again until there is more.
        self.printed = self.printed.max(output.len());
    }

    /// `block (0,0,0), thread (3,0,0), warp 0, lane 3`
    pub(super) fn thread_text(&self, focus: Focus) -> String {
        format!(
            "block {}, thread {}, warp {}, lane {}",
            dim(self.debugger.block(focus.warp.block)),
            dim(self.debugger.thread(focus)),
            focus.warp.warp,
            focus.lane
        )
    }

    fn tell_focus(&mut self) {
        let focus = self.debugger.focus();
        if self.told != Some(focus) {
            let text = format!("[Switching focus to {}]\n", self.thread_text(focus));
            self.out(text);
            self.told = Some(focus);
        }
    }

    /// The focus was told by the command itself.
    pub(super) fn focus_is_told(&mut self) {
        self.told = Some(self.debugger.focus());
    }

    /// Whether the commands of breakpoints begin with `silent`.
    fn is_silent(&self, ids: &[u32]) -> bool {
        let mut own = ids.iter().filter_map(|id| self.kept.commands.get(id));
        own.any(|lines| lines.first().is_some_and(|line| line == "silent"))
    }

    /// Says why it stands still, and where; then does what is to be done there.
    pub(super) fn tell(&mut self, reason: &Reason) {
        self.tell_reason(reason);
        let ids = match reason {
            Reason::Breakpoints(ids) => &ids[..],
            Reason::Watchpoint { id, .. } => std::slice::from_ref(id),
            _ => &[],
        };
        if !matches!(reason, Reason::Ended | Reason::Exited) {
            self.show_displays();
        }
        let lines = ids.iter().filter_map(|id| self.kept.commands.get(id)).flatten();
        let lines: Vec<String> = lines.filter(|line| *line != "silent").cloned().collect();
        self.kept.input.give_commands(lines.into_iter());
    }

    /// Shows an expression that is shown whenever it stands still; one that has no value here is left out.
    pub(super) fn show_display(&self, at: usize) {
        let display = &self.kept.displays[at];
        if let Ok(shown) = self.debugger.show(&display.text, display.format) {
            self.out(format!("{}: {} = {shown}\n", display.id, display.text));
        }
    }

    /// Shows all of them.
    pub(super) fn show_displays(&self) {
        (0..self.kept.displays.len()).for_each(|at| self.show_display(at));
    }

    fn tell_reason(&mut self, reason: &Reason) {
        self.listed = None;
        self.show_output();
        if let Reason::Breakpoints(ids) = reason
            && self.is_silent(ids)
        {
            return;
        }
        if !matches!(reason, Reason::Ended | Reason::Exited) {
            self.tell_focus();
        }
        match reason {
            Reason::Started | Reason::Stepped => self.tell_place(true),
            Reason::Breakpoints(ids) => {
                let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
                self.out(format!("\nBreakpoint {}, ", ids.join(", ")));
                self.tell_place(true);
            }
            Reason::Condition(id, error) => {
                self.out(format!("\nError in testing breakpoint {id}: {error}.\n"));
                self.tell_place(true);
            }
            Reason::Watchpoint { id, hit, old, new } => {
                let point = self.debugger.points().watchpoints.iter().find(|point| point.id == *id);
                let text = point.map(|point| point.text.clone());
                let verb = match hit.kind {
                    AccessKind::Read => "read",
                    AccessKind::Write => "written",
                    AccessKind::Atomic | AccessKind::Reduction => "changed by an atomic",
                };
                let position = hit.position;
                let head = match text {
                    Some(text) => format!("\nWatchpoint {id}: {text} is {verb}"),
                    None => format!("\nIt is {verb}"),
                };
                let by = self.place_text(position);
                let by = format!("{head} by {} at {by}\n", self.lanes_text(hit.warp, hit.lanes));
                self.out(by);
                self.out(match old == new {
                    true => format!("Value = {new}\n"),
                    false => format!("Old value = {old}\nNew value = {new}\n"),
                });
                self.tell_place(false);
            }
            Reason::Finding(at) => self.tell_finding(*at),
            Reason::Exited => {
                let text = format!("[{} has exited]\n", self.thread_text(self.debugger.focus()));
                self.out(text);
            }
            Reason::Ended => {
                let findings = self.debugger.session().findings();
                self.out(format!(
                    "[The launch is over, after {}{}]\n",
                    reports::plural(self.debugger.time(), "warp instruction"),
                    match findings.len() {
                        0 => String::new(),
                        count => format!(", with {}", reports::plural(count as u64, "finding")),
                    }
                ));
            }
            Reason::Interrupted => {
                self.out("\nInterrupted.\n");
                self.tell_place(true);
            }
            Reason::Beginning => {
                self.out("\nNo more history: this is where the launch begins.\n");
                self.tell_place(true);
            }
        }
    }

    /// What a finding says, and where it is about to happen.
    pub(super) fn tell_finding(&mut self, at: usize) {
        let findings = self.debugger.found()[at].findings.clone();
        self.out(format!("\nFinding {}:\n", at + 1));
        for finding in &findings {
            let module = self.debugger.program().module().clone();
            let sources = Sources { module: &module, root: self.kept.source_root.as_deref() };
            let message = finding::message(finding, &sources);
            self.out(message.render());
        }
        self.tell_place(false);
    }

    /// The lanes of a warp: as threads if there is one.
    pub(super) fn lanes_text(&self, warp: sim_core::WarpId, lanes: u32) -> String {
        match lanes.count_ones() {
            1 => self.thread_text(Focus { warp, lane: lanes.trailing_zeros() }),
            count => format!(
                "{count} lanes of block {}, warp {} ({})",
                dim(self.debugger.block(warp.block)),
                warp.warp,
                mask_text(lanes)
            ),
        }
    }

    /// `file:line` of a position, and its instruction.
    pub(super) fn place_text(&self, position: u32) -> String {
        let program = self.debugger.program();
        match program.place(position) {
            Some(place) => match place.cuda.first() {
                Some((line, _)) => format!("{}, {}", program.line_text(*line), program.text(position)),
                None => format!("{}, {}", program.line_text(place.ptx), program.text(position)),
            },
            None => format!("*{position}"),
        }
    }

    /// Function, file and line of the selected frame, and the text of the line. `always`: even where nobody is.
    pub(super) fn tell_place(&mut self, always: bool) {
        let frames = match self.debugger.frames() {
            Ok(frames) => frames,
            Err(error) => {
                if always {
                    self.out(format!("{error}.\n"));
                }
                return;
            }
        };
        let frame = &frames[self.debugger.frame().min(frames.len() - 1)];
        let program = self.debugger.program().clone();
        let place = frame.line.map(|line| program.line_text(line)).unwrap_or_default();
        self.out(format!("{} at {}\n", painted(&frame.function, FUNCTION), painted(&place, FILE)));
        if let Some(line) = frame.line {
            if let Line::Cuda(_, number) = line
                && let Some(text) = self.source_line(line)
            {
                self.out(format!("{number}\t{text}\n"));
            }
            let ptx = program.place(frame.position).map(|place| place.ptx);
            if let Some(Line::Ptx(_, number)) = ptx {
                self.out(format!("{number}\t{} {}\n", painted("=>", MARK), program.text(frame.position)));
            }
        }
    }
}
