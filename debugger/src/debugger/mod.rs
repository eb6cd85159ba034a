//! The debugger of one launch: it goes on and back, and stands still where one asks.
//!
//! Here is what it is made of; what it does is in the files beside: [`breaks`], [`run`], [`step`], [`back`], [`findings`],
//! [`change`] and [`look`].

mod back;
mod breaks;
mod change;
mod findings;
mod look;
mod run;
mod step;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use isa::{Dim3, LaneMask};
use sim_core::{Finding, Running, Session, Until, WarpId};

use crate::error::{Error, Result};
use crate::points::Points;
use crate::program::{Line, Program};
use crate::scope::Symbols;
use crate::timeline::Timeline;
use crate::watch::{Hit, Watcher};

/// A thread: its warp and its lane there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Focus {
    /// The warp.
    pub warp: WarpId,
    /// The lane.
    pub lane: u32,
}

/// Why a launch stands still.
#[derive(Clone, PartialEq, Debug)]
pub enum Reason {
    /// It has not begun.
    Started,
    /// At breakpoints.
    Breakpoints(Vec<u32>),
    /// Something that is watched was accessed: by whom, what it held, and what it holds. `before`: the access is about to be
    /// done, as when going back.
    Watchpoint {
        /// The watchpoint's number.
        id: u32,
        /// Who.
        hit: Hit,
        /// What it held.
        old: String,
        /// What it holds then.
        new: String,
    },
    /// It was to go so far.
    Stepped,
    /// A condition cannot be computed: why. It stands at the breakpoint.
    Condition(u32, Error),
    /// Something is found of the instruction that the focus is about to execute, or nothing can run any more: its number
    /// in [`Debugger::found`].
    Finding(usize),
    /// The thread in focus has exited.
    Exited,
    /// The launch is over.
    Ended,
    /// Somebody wanted it.
    Interrupted,
    /// There is nothing further back.
    Beginning,
}

/// Something that was found, and when.
#[derive(Clone, Debug)]
pub struct Found {
    /// Warp instructions that had run behind it, if that is known.
    pub time: Option<u64>,
    /// Warp instructions that had run before the instruction that it is about, once somebody has looked.
    at: Option<u64>,
    /// The earlier of two accesses that it is about: warp instructions that had run before it, and who does it.
    other: Option<(u64, Focus)>,
    /// What.
    pub findings: Vec<Finding>,
}

/// How far a step goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// To the next instruction of PTX.
    Instruction,
    /// The same, over calls.
    InstructionOver,
    /// To another line.
    Line,
    /// The same, over calls and inlined functions.
    LineOver,
    /// To a line further down in the same function, or out of it: what ends a loop.
    Past,
    /// Out of the function, inlined ones too.
    Out,
}

/// A call frame, those of inlined functions among them.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The function, as a person writes it.
    pub function: String,
    /// Position of the instruction that is executed next in it, or of the call under way.
    pub position: u32,
    /// Its line.
    pub line: Option<Line>,
    /// It is inlined into the next one.
    pub inlined: bool,
    /// How many inlined functions are in it at that position, one in the other.
    pub level: usize,
    /// Its number among frames that are not inlined.
    pub physical: usize,
}

/// Where a step of the focus is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Spot {
    time: u64,
    /// Whose it is: the thread in focus, or of its warp one that runs.
    lane: u32,
    position: u32,
    /// Frames, and inlined ones in the innermost.
    depth: (u32, usize),
    line: Option<Line>,
}

/// What a run stands still at.
struct Wanted {
    breakpoints: bool,
    watchpoints: bool,
    findings: bool,
    /// These lanes of a warp.
    follow: Option<(WarpId, LaneMask)>,
    extra: Vec<u32>,
}

impl Wanted {
    const NOTHING: Wanted =
        Wanted { breakpoints: false, watchpoints: false, findings: false, follow: None, extra: Vec::new() };
    const ALL: Wanted =
        Wanted { breakpoints: true, watchpoints: true, findings: true, follow: None, extra: Vec::new() };
}

/// What a run stood still at.
enum Reached {
    Limit,
    Ended,
    Break(Running),
    Followed,
    Watched(Vec<Hit>),
    Finding(usize),
    Interrupted,
}

/// Most findings whose times are kept.
const FINDINGS: usize = 10_000;
/// Most bytes whose last access is kept while two accesses are looked for.
const PAIRS: usize = 1 << 22;

/// The debugger of a launch that runs step by step.
pub struct Debugger<'d, 's, 'g> {
    session: &'d mut Session<'s, 'g>,
    program: Arc<Program>,
    symbols: Symbols,
    points: &'d mut Points,
    timeline: Timeline,
    watcher: Watcher,
    interrupt: Arc<AtomicBool>,
    focus: Focus,
    /// The selected call frame.
    frame: usize,
    found: Vec<Found>,
    stops_at_findings: bool,
}

impl<'d, 's, 'g> Debugger<'d, 's, 'g> {
    /// That of a launch before its first instruction. `watcher` is the one that the launch has as a tool; `interrupt` makes
    /// what runs stand still soon after it is set.
    pub fn new(
        session: &'d mut Session<'s, 'g>,
        points: &'d mut Points,
        symbols: Symbols,
        watcher: Watcher,
        interrupt: Arc<AtomicBool>,
    ) -> Self {
        let program = Arc::new(Program::new(session.code()));
        let timeline = Timeline::new(session);
        let focus = Focus { warp: WarpId { block: 0, warp: 0 }, lane: 0 };
        let mut debugger = Debugger {
            session,
            program,
            symbols,
            points,
            timeline,
            watcher,
            interrupt,
            focus,
            frame: 0,
            found: Vec::new(),
            stops_at_findings: true,
        };
        debugger.begin();
        debugger.resolve();
        debugger
    }

    /// To a time, from a checkpoint on.
    fn back(&mut self, time: u64) {
        self.watcher.watch(Vec::new());
        self.timeline.back(self.session, time);
    }

    /// To a time.
    fn go(&mut self, time: u64) {
        self.watcher.watch(Vec::new());
        self.timeline.go(self.session, time);
    }

    /// To where it is known who runs first.
    fn begin(&mut self) {
        self.go(0);
        self.session.run(Until::Decided);
        self.focus_on_running();
    }

    /// Whether it stands still where something is found; it does unless it is told not to.
    pub fn stop_at_findings(&mut self, stops: bool) {
        self.stops_at_findings = stops;
    }

    /// Has findings that are known of the launch from an earlier run of it, as tools make them, among those that can be gone
    /// to.
    pub fn expect(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let known = findings.into_iter().map(|finding| Found {
            time: None,
            at: None,
            other: None,
            findings: vec![finding],
        });
        self.found.extend(known.take(FINDINGS));
    }

    /// The code.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The launch.
    pub fn session(&self) -> &Session<'s, 'g> {
        self.session
    }

    /// Breakpoints and watchpoints.
    pub fn points(&self) -> &Points {
        self.points
    }

    /// The same, to change them; [`Debugger::resolve`] afterwards.
    pub fn points_mut(&mut self) -> &mut Points {
        self.points
    }

    /// Warp instructions that have run: the time.
    pub fn time(&self) -> u64 {
        self.session.instructions()
    }

    /// What was found so far, in order of time.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Bytes and number of the checkpoints.
    pub fn checkpoints(&self) -> (u64, usize) {
        (self.timeline.bytes(), self.timeline.len())
    }

    /// The thread in focus.
    pub fn focus(&self) -> Focus {
        self.focus
    }

    /// Position of a warp's lane in its block.
    pub fn thread(&self, focus: Focus) -> Dim3 {
        self.session.launch().block.position(u64::from(focus.warp.warp) * 32 + u64::from(focus.lane))
    }

    /// Position of a block in the grid.
    pub fn block(&self, index: u64) -> Dim3 {
        self.session.launch().grid.position(index)
    }

    /// Puts a thread into focus: by its block and its position there.
    ///
    /// # Errors
    /// There is no such thread in the launch.
    pub fn set_focus(&mut self, block: Dim3, thread: Dim3) -> Result<()> {
        let launch = self.session.launch();
        let inside = |at: Dim3, of: Dim3| at.x < of.x && at.y < of.y && at.z < of.z;
        if !inside(block, launch.grid) {
            return Err(Error::NoThread(format!("there is no block {block} in a grid of {}", launch.grid)));
        }
        if !inside(thread, launch.block) {
            return Err(Error::NoThread(format!(
                "there is no thread {thread} in a block of {}",
                launch.block
            )));
        }
        let linear = launch.block.index(thread);
        let warp = WarpId { block: launch.grid.index(block), warp: (linear / 32) as u32 };
        self.focus = Focus { warp, lane: (linear % 32) as u32 };
        self.frame = 0;
        Ok(())
    }

    /// Selects a call frame of the focus, the innermost is 0.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn set_frame(&mut self, frame: usize) -> Result<()> {
        if frame >= self.frames()?.len() {
            return Err(Error::refused(format!("no frame at level {frame}")));
        }
        self.frame = frame;
        Ok(())
    }

    /// The number of the selected call frame.
    pub fn frame(&self) -> usize {
        self.frame
    }

    fn focus_on(&mut self, warp: WarpId, lanes: LaneMask) {
        let keeps = self.focus.warp == warp && lanes >> self.focus.lane & 1 != 0;
        if !keeps && lanes != 0 {
            self.focus = Focus { warp, lane: lanes.trailing_zeros() };
        }
        self.frame = 0;
    }

    fn focus_on_running(&mut self) {
        if let Some(running) = self.session.running() {
            self.focus_on(running.warp, running.lanes);
        }
    }
}
