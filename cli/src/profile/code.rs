//! The machine code of a launch: how much of it was followed, and what is said of its instructions.

use comfy_table::{CellAlignment, Table, presets};
use ptx_frontend::{Module, Source};
use serde_json::{Value as Json, json};
use sim_core::Outcome;
use warpgrind::profile::kernels::Executed;
use warpgrind::profile::machine;
use warpgrind::profile::machine::listing::Instruction;
use warpgrind::profile::time::{Reason, Time, Timed};

use super::Launch;

/// Characters of a share of waiting, and what it is for.
const SHARE: usize = 27;
/// Opcodes that are shown.
const SHOWN: usize = 12;

/// What is said of the machine instructions that a launch executed.
pub(super) trait Said {
    /// For programs.
    fn json(&self) -> Json;
    /// The opcodes that were executed the most.
    fn opcodes(&self) -> String;
    /// The machine code, with the lines of PTX and CUDA that its instructions were made of.
    fn source(&self, module: &Module, kernel: &str, timed: Option<&Timed>) -> String;
}

impl Said for Executed {
    fn json(&self) -> Json {
        let (followed, lost) = self.followed.warps;
        let opcodes = machine::metrics::by_opcode(&self.listing, &self.followed);
        let opcodes: serde_json::Map<String, Json> = opcodes
            .into_iter()
            .filter(|_| self.is_known())
            .map(|(name, warps, threads)| (name, json!({ "warps": warps, "threads": threads })))
            .collect();
        json!({
            "instructions": self.listing.instructions.len(),
            "warps_followed": followed,
            "warps_not_followed": lost,
            "guesses": self.followed.guesses,
            "opcodes": opcodes,
        })
    }

    fn opcodes(&self) -> String {
        let list = machine::metrics::by_opcode(&self.listing, &self.followed);
        let all: u64 = list.iter().map(|(_, warps, _)| warps).sum();
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for (name, warps, threads) in list.iter().take(SHOWN) {
            let share = format!("{:.1} %", 100.0 * *warps as f64 / all.max(1) as f64);
            let lanes = format!("{:.1} threads", *threads as f64 / (*warps).max(1) as f64);
            table.add_row([format!("    {name}"), warps.to_string(), share, lanes]);
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        let mut text = String::from("  machine instructions by opcode: warps, share, threads a warp\n");
        table.lines().for_each(|line| text += &format!("{}\n", line.trim_end()));
        if list.len() > SHOWN {
            let rest: u64 = list[SHOWN..].iter().map(|(_, warps, _)| warps).sum();
            text += &format!("     {} others, {rest} together\n", list.len() - SHOWN);
        }
        text
    }

    fn source(&self, module: &Module, kernel: &str, timed: Option<&Timed>) -> String {
        let lines = Lines::of(text_of(module, kernel));
        let mut cuda = None;
        let waits = timed.map(|timed| Waits::of(&timed.time));
        let mut text = String::from("  machine code: warps, threads a warp, ");
        text +=
            if waits.is_some() { "share of waiting and what for, instruction\n" } else { "instruction\n" };
        let mut shown = 0;
        for (at, (of, count)) in self.listing.instructions.iter().zip(&self.followed.counts).enumerate() {
            if of.line != shown && of.line != 0 {
                shown = of.line;
                let (line, place) = lines.at(shown);
                if place.is_some() && place != cuda {
                    cuda = place;
                    text += &format!("  {}\n", lines.cuda(cuda));
                }
                let line: Vec<&str> = line.split_whitespace().collect();
                text += &format!("    PTX {shown}: {}\n", line.join(" "));
            }
            let lanes = match count.warps {
                0 => String::new(),
                warps => format!("{:.1}", count.threads as f64 / warps as f64),
            };
            let line = format!(
                "  {:>10} {lanes:>5}{}  {:04x}  {}",
                count.warps,
                waits.as_ref().map_or(String::new(), |waits| waits.text(at)),
                16 * at,
                instruction(of)
            );
            text += &format!("{}\n", line.trim_end());
        }
        text
    }
}

/// A machine instruction as text.
pub(super) fn instruction(of: &Instruction) -> String {
    let guard = of.guard.map_or(String::new(), |guard| {
        let space = if guard.predicate >= 8 { "UP" } else { "P" };
        format!("@{}{space}{} ", if guard.negated { "!" } else { "" }, guard.predicate % 8)
    });
    format!("{guard}{} {}", of.opcode, of.operands)
}

/// The text that a kernel is in.
pub(super) fn text_of<'a>(module: &'a Module, kernel: &str) -> &'a str {
    let has = |source: &&Source| {
        let words = source.text.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c));
        words.into_iter().any(|word| word == kernel)
    };
    module.sources.iter().find(has).or(module.sources.first()).map_or("", |source| &source.text)
}

/// What warps wait for, by machine instruction.
struct Waits<'a> {
    time: &'a Time,
    all: f64,
}

impl<'a> Waits<'a> {
    fn of(time: &'a Time) -> Self {
        Waits { time, all: time.stalls.iter().map(Self::sum).sum::<f64>().max(1.0) }
    }

    fn sum(stalls: &[f64; Reason::COUNT]) -> f64 {
        stalls.iter().sum()
    }

    /// The share of all waiting that is for an instruction, and what the most of it is for.
    fn text(&self, at: usize) -> String {
        let Some(stalls) = self.time.stalls.get(at) else { return " ".repeat(SHARE) };
        let share = 100.0 * Self::sum(stalls) / self.all;
        if share < 0.05 {
            return " ".repeat(SHARE);
        }
        let most =
            Reason::ALL.iter().max_by(|(a, _), (b, _)| stalls[*a as usize].total_cmp(&stalls[*b as usize]));
        format!("  {share:>4.1} % {:<18}", most.map_or("", |(_, name)| name))
    }
}

/// The lines of a PTX text, and what its `.loc` directives say of them.
#[derive(Default)]
pub(super) struct Lines<'a> {
    /// Of each line its text, and file and line of what it was made of.
    lines: Vec<(&'a str, Option<(u32, u32)>)>,
    files: Vec<(u32, &'a str)>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut files = Vec::new();
        let mut place = None;
        let lines = text.lines().map(|line| {
            let line = line.trim();
            let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
            let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
            match line.split_whitespace().next() {
                Some(".loc") => {
                    let _ = number();
                    place = number().zip(number());
                }
                Some(".file") => {
                    let _ = number();
                    files.extend(number().zip(line.split('"').nth(1)));
                }
                Some(".entry" | ".func" | ".visible" | ".weak") => place = None,
                _ => {}
            }
            (line, place)
        });
        let lines = lines.collect();
        Lines { lines, files }
    }

    pub(super) fn at(&self, line: u32) -> (&'a str, Option<(u32, u32)>) {
        self.lines.get((line as usize).wrapping_sub(1)).copied().unwrap_or(("", None))
    }

    /// The name of a file.
    pub(super) fn file(&self, file: u32) -> &'a str {
        self.files.iter().find(|(number, _)| *number == file).map_or("?", |(_, name)| name)
    }

    /// A place as `FILE:LINE`.
    pub(super) fn cuda(&self, place: Option<(u32, u32)>) -> String {
        place.map_or(String::new(), |(file, line)| format!("{}:{line}", self.file(file)))
    }
}

/// How the time of a launch is known.
pub(super) fn timed_how(timed: &Timed, missing: &str) -> String {
    let code = match timed.lowered {
        true => format!(", machine code estimated, since {missing}"),
        false => String::new(),
    };
    match timed.blocks {
        (all, of) if all >= of => format!("by the model, all blocks{code}"),
        (some, of) => {
            let error = timed
                .sampling
                .map_or(String::new(), |error| format!(" (half of these say {:+.1} %)", 100.0 * error));
            format!("by the model, from the first {some} of {of} blocks{error}{code}")
        }
    }
}

/// How the machine instructions of a launch are known.
pub(super) fn how(launch: &Launch) -> String {
    let Some(executed) = &launch.measured.executed else {
        if launch.outcome != Outcome::Completed {
            return "not known, as it did not complete".into();
        }
        return format!("not known, as {}", launch.missing);
    };
    let (followed, lost) = executed.followed.warps;
    if !executed.is_known() {
        return format!("not known: the way of {lost} of {} warps was not found", followed + lost);
    }
    let guesses = match executed.followed.guesses {
        0 => "without a guess".into(),
        1 => "with 1 guess".into(),
        guesses => format!("with {guesses} guesses"),
    };
    match lost {
        0 => format!("all {followed} warps followed through the machine code, {guesses}"),
        lost => format!(
            "an estimate: {followed} of {} warps followed through the machine code, {guesses}, the others taken to be alike",
            followed + lost
        ),
    }
}
