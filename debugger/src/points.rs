//! Breakpoints and watchpoints: what a user asked for, and where that is in the code that runs.

use std::sync::Arc;

use isa::LaneMask;
use sim_core::WarpId;

use crate::error::{Error, Result};
use crate::expression::Bound;
use crate::format::{Format, Style};
use crate::program::{Line, Program};
use crate::types::Type;
use crate::values::Values;
use crate::watch::Range;

/// Where something is in code, as one says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// `FILE:LINE`, of a CUDA source or a PTX text.
    Line(String, u32),
    /// `LINE` of the current file.
    Here(Line),
    /// A kernel or function.
    Function(String),
    /// `*N`: a position of the code.
    Position(u32),
}

impl Location {
    /// Reads one; `current` is the line that the focus is at.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &str, current: Option<Line>) -> Result<Location> {
        let text = text.trim();
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|line| *line > 0);
        if let Some(position) = text.strip_prefix('*') {
            let position = position.trim();
            let parsed = position
                .strip_prefix("0x")
                .map_or_else(|| position.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
            return parsed
                .map(Location::Position)
                .ok_or_else(|| Error::refused(format!("\"{position}\" is no position of an instruction")));
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let line = number(text).ok_or_else(|| Error::refused(format!("\"{text}\" is no line")))?;
            return match current {
                Some(Line::Cuda(file, _)) => Ok(Location::Here(Line::Cuda(file, line))),
                Some(Line::Ptx(file, _)) => Ok(Location::Here(Line::Ptx(file, line))),
                None => Err(Error::refused("there is no current file; say FILE:LINE")),
            };
        }
        if let Some((file, line)) = text.rsplit_once(':')
            && !file.ends_with(':')
            && let Some(line) = number(line)
        {
            return Ok(Location::Line(file.to_owned(), line));
        }
        if text.is_empty() {
            return Err(Error::refused("a place is FILE:LINE, LINE, a kernel or function, or *POSITION"));
        }
        Ok(Location::Function(text.to_owned()))
    }

    /// Where it is in code: the positions, and the line that they are at.
    ///
    /// # Errors
    /// It is not there.
    pub fn find(&self, program: &Program) -> Result<(Vec<u32>, Line)> {
        let none = |text: String| Err(Error::NoCode(text));
        match self {
            Location::Position(position) => match program.place(*position) {
                Some(place) => Ok((vec![*position], place.line())),
                None => none(format!(
                    "no instruction has position {position}; the last one is {}",
                    program.len().saturating_sub(1)
                )),
            },
            Location::Function(name) => match &program.at_function(name)[..] {
                [] => none(format!("function \"{name}\" not defined")),
                positions => Ok((
                    positions.to_vec(),
                    program.place(positions[0]).map_or(Line::Ptx(0, 0), |place| place.line()),
                )),
            },
            Location::Here(line) => {
                let (Line::Cuda(_, number) | Line::Ptx(_, number)) = *line;
                match program.at_line(*line, number) {
                    Some((line, positions)) => Ok((positions, line)),
                    None => none(format!("no code at or behind {}", program.line_text(*line))),
                }
            }
            Location::Line(file, number) => {
                let files = program.files(file);
                if files.is_empty() {
                    return none(format!("no source file named {file}"));
                }
                let found = files.iter().filter_map(|file| program.at_line(*file, *number));
                let mut found: Vec<(Line, Vec<u32>)> = found.collect();
                let Some(first) = found.first().map(|(line, _)| *line) else {
                    return none(format!("no code at or behind line {number} of {file}"));
                };
                found.retain(|(line, _)| matches!(line, Line::Cuda(..)) == matches!(first, Line::Cuda(..)));
                Ok((found.into_iter().flat_map(|(_, positions)| positions).collect(), first))
            }
        }
    }
}

/// Threads that a breakpoint is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// The warp.
    pub warp: WarpId,
    /// The lanes.
    pub lanes: LaneMask,
}

/// A breakpoint.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Its number.
    pub id: u32,
    /// Where, as one says it.
    pub location: Location,
    /// That, as text.
    pub text: String,
    /// A condition.
    pub condition: Option<String>,
    /// Only for these.
    pub threads: Option<Threads>,
    /// It goes when it is reached.
    pub temporary: bool,
    /// Whether it counts.
    pub enabled: bool,
    /// How often it is to be passed.
    pub ignore: u64,
    /// How often it was reached.
    pub hits: u64,
    /// Where that is in the code that runs, and the condition there; nowhere if that code has no such place.
    pub places: Vec<(u32, Option<Arc<Bound>>)>,
    /// The line.
    pub line: Option<Line>,
}

/// Who a step is of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Stepping {
    /// The thread in focus: others run as they come, until it is about to execute another instruction.
    #[default]
    Lane,
    /// The warp in focus, as cuda-gdb has it: whichever of its lanes run next. Where they have parted, the focus goes to those
    /// that do.
    Warp,
}

/// How it is stepped, and how values are shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Settings {
    /// Who steps are of.
    pub stepping: Stepping,
    /// How values are shown.
    pub style: Style,
}

/// A watchpoint.
#[derive(Clone, Debug)]
pub struct Watchpoint {
    /// Its number.
    pub id: u32,
    /// What is watched, as one says it.
    pub text: String,
    /// Where that is.
    pub range: Range,
    /// Its type.
    pub ty: Type,
    /// How it is shown.
    pub format: Format,
    /// Reads are hits.
    pub reads: bool,
    /// Writes are hits.
    pub writes: bool,
    /// Whether it counts.
    pub enabled: bool,
    /// How often it was hit.
    pub hits: u64,
    /// What it held last.
    pub last: Option<String>,
}

/// What a user has asked a launch to stand still at, and the values that were shown. It outlives launches.
#[derive(Clone, Default, Debug)]
pub struct Points {
    /// Breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    /// Watchpoints.
    pub watchpoints: Vec<Watchpoint>,
    /// Values that were shown, and variables of the debugger's own.
    pub values: Values,
    /// How it is stepped and shown.
    pub settings: Settings,
    last: u32,
}

impl Points {
    /// A number that none has.
    pub fn next_id(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// Takes one away; false if there is none of this number.
    pub fn delete(&mut self, id: u32) -> bool {
        let before = self.breakpoints.len() + self.watchpoints.len();
        self.breakpoints.retain(|point| point.id != id);
        self.watchpoints.retain(|point| point.id != id);
        before != self.breakpoints.len() + self.watchpoints.len()
    }

    /// Whether one is to count; false if there is none of this number.
    pub fn enable(&mut self, id: u32, enabled: bool) -> bool {
        let breakpoints =
            self.breakpoints.iter_mut().filter(|point| point.id == id).map(|point| &mut point.enabled);
        let watchpoints =
            self.watchpoints.iter_mut().filter(|point| point.id == id).map(|point| &mut point.enabled);
        breakpoints.chain(watchpoints).map(|own| *own = enabled).count() > 0
    }
}
