//! The debugger of one launch: it goes on and back, and stands still where one asks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use isa::{Dim3, LaneMask};
use sim_core::{AccessKind, CodePlace, Finding, FindingKind, Running, Session, ThreadId, Until, WarpId};

use crate::error::{Error, Result};
use crate::expression::{At, Bound, Here, Parsed, Value, bind, parse};
use crate::format::{self, Format};
use crate::points::{Breakpoint, Location, Points, Threads, Watchpoint};
use crate::program::{Chain, Line, Program};
use crate::scope::{Scope, Symbols};
use crate::timeline::Timeline;
use crate::types::Space;
use crate::watch::{Hit, Range, Watcher};

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
    /// Its number among frames that are not inlined.
    pub physical: usize,
}

/// Where a step of the focus is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Spot {
    time: u64,
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
    follow: Option<Focus>,
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

    /// Finds breakpoints and their conditions in the code that runs.
    pub fn resolve(&mut self) {
        let mut breakpoints = std::mem::take(&mut self.points.breakpoints);
        for point in &mut breakpoints {
            let (places, line) = match point.location.find(&self.program) {
                Ok((places, line)) => (places, Some(line)),
                Err(_) => (Vec::new(), None),
            };
            let condition = |position: u32| {
                let text = point.condition.as_deref()?;
                self.bind_at(text, position).ok().map(|(bound, _)| Arc::new(bound))
            };
            let places = places.into_iter().map(|position| (position, condition(position))).collect();
            (point.places, point.line) = (places, line);
        }
        self.points.breakpoints = breakpoints;
    }

    /// Adds a breakpoint. One whose place is not in this code stays, for code that has it.
    ///
    /// # Errors
    /// The condition cannot be read, or has names that are not known there.
    pub fn add_breakpoint(
        &mut self,
        location: Location,
        text: &str,
        condition: Option<&str>,
        threads: Option<Threads>,
        temporary: bool,
    ) -> Result<&Breakpoint> {
        if let (Some(condition), Ok((places, _))) = (condition, location.find(&self.program)) {
            for position in places {
                let (_, parsed) = self.bind_at(condition, position)?;
                if parsed.across.is_some() {
                    return Err(Error::refused("a condition is of each thread; it is no table across them"));
                }
            }
        } else if let Some(condition) = condition {
            parse(condition, &|_| false)?;
        }
        let id = self.points.next_id();
        self.points.breakpoints.push(Breakpoint {
            id,
            location,
            text: text.to_owned(),
            condition: condition.map(str::to_owned),
            threads,
            temporary,
            enabled: true,
            ignore: 0,
            hits: 0,
            places: Vec::new(),
            line: None,
        });
        self.resolve();
        Ok(&self.points.breakpoints[self.points.breakpoints.len() - 1])
    }

    /// Watches what an expression of the selected frame lies at.
    ///
    /// # Errors
    /// It is not in memory, or cannot be read.
    pub fn add_watchpoint(&mut self, text: &str, reads: bool, writes: bool) -> Result<u32> {
        let (bound, _) = self.bind(text)?;
        let (range, last) = self.with(|at| {
            let (space, address) = at.address(&bound).map_err(|error| match error {
                Error::Refused(_) => Error::refused(format!(
                    "cannot watch \"{text}\": it is not in memory; registers change where instructions write them"
                )),
                other => other,
            })?;
            let range = self.range(space, address, bound.ty.bytes())?;
            let mut byte = [0];
            at.read(space, address, &mut byte)?;
            Ok((range, format::value(at, &at.value(&bound)?, Format::Natural).ok()))
        })?;
        let id = self.points.next_id();
        let ty = bound.ty;
        let format = Format::Natural;
        let text = text.to_owned();
        let point = Watchpoint { id, text, range, ty, format, reads, writes, enabled: true, hits: 0, last };
        self.points.watchpoints.push(point);
        Ok(id)
    }

    fn range(&self, space: Space, address: u64, bytes: u64) -> Result<Range> {
        use sim_core::{Memory, window};
        let owner = Some((self.focus.warp, self.focus.lane));
        if bytes == 0 {
            return Err(Error::refused("nothing to watch: it has no bytes"));
        }
        let (memory, owner, address) = match (space, window::of(address)) {
            (Space::Shared, _) => (Memory::Shared, owner, address),
            (Space::Local, _) => (Memory::Local, owner, address),
            (Space::Param, _) | (Space::Generic, window::Window::Param(_)) => {
                return Err(Error::refused("parameters of a kernel do not change"));
            }
            (Space::Generic, window::Window::Shared(offset)) => (Memory::Shared, owner, offset),
            (Space::Generic, window::Window::Local(offset)) => (Memory::Local, owner, offset),
            (Space::Generic, window::Window::Global) => (Memory::Global, None, address),
        };
        Ok(Range { memory, owner, address, bytes })
    }

    /// What a range holds now, as a type.
    fn held(&self, range: &Range, ty: &crate::types::Type, format: Format) -> String {
        let space = match range.memory {
            sim_core::Memory::Global => Space::Generic,
            sim_core::Memory::Shared => Space::Shared,
            sim_core::Memory::Local => Space::Local,
        };
        let focus = match range.owner {
            Some((warp, lane)) => Focus { warp, lane },
            None => self.focus,
        };
        let shown = self.with_lane(focus, 0, &mut |at| {
            format::value(at, &at.value_at(ty, space, range.address)?, format)
        });
        shown.unwrap_or_else(|error| format!("<{error}>"))
    }

    // --- Running ---

    fn positions(&self) -> Vec<u32> {
        let enabled = self.points.breakpoints.iter().filter(|point| point.enabled);
        enabled.flat_map(|point| point.places.iter().map(|(position, _)| *position)).collect()
    }

    /// Runs on, until so many warp instructions have run or something is reached.
    fn run_on(&mut self, limit: u64, wanted: &Wanted) -> Reached {
        let mut breaks = if wanted.breakpoints { self.positions() } else { Vec::new() };
        breaks.extend(&wanted.extra);
        self.session.break_at(&breaks);
        self.session.follow(wanted.follow.map(|focus| (focus.warp, 1 << focus.lane)));
        let findings = wanted.findings && self.stops_at_findings;
        self.session.pause_at_findings(findings);
        let watched = match wanted.watchpoints {
            true => {
                let enabled = self.points.watchpoints.iter().map(|point| {
                    let on = point.enabled;
                    (point.range, on && point.reads, on && point.writes)
                });
                enabled.collect()
            }
            false => Vec::new(),
        };
        self.watcher.watch(watched);
        let began = self.session.instructions();
        loop {
            if self.session.is_over() {
                return Reached::Ended;
            }
            if self.interrupt.swap(false, Relaxed) {
                return Reached::Interrupted;
            }
            let start = self.session.instructions();
            if start >= limit {
                return Reached::Limit;
            }
            let stood = self.session.running().is_some();
            let known =
                self.found.iter().enumerate().filter(|(_, found)| findings && found.time > Some(start));
            // One that it stands at was told.
            let known = known.filter(|(_, found)| found.at != Some(began));
            let known = known.filter_map(|(at, found)| Some((found.time?, at))).min();
            let most = known.map_or(limit, |(time, _)| time.min(limit));
            let before = self.session.found();
            self.session.run(Until::Instructions(most.min(self.timeline.due())));
            let now = self.session.instructions();
            let hits = self.watcher.take();
            if !hits.is_empty() {
                return Reached::Watched(hits);
            }
            if let Some((time, at)) = known
                && now >= time
            {
                return Reached::Finding(at);
            }
            if findings && self.session.found() > before {
                if let Some(at) = self.discover(now, began) {
                    return Reached::Finding(at);
                }
                continue;
            }
            self.timeline.pass(self.session);
            if self.session.is_over() {
                return Reached::Ended;
            }
            if let Some(running) = self.session.running()
                && (now > start || !stood)
            {
                if breaks.contains(&running.position) {
                    return Reached::Break(running);
                }
                let follows =
                    |focus: Focus| focus.warp == running.warp && running.lanes >> focus.lane & 1 != 0;
                if wanted.follow.is_some_and(follows) {
                    return Reached::Followed;
                }
            }
        }
    }

    /// Something was found just now: its number, or none if it was told.
    fn discover(&mut self, time: u64, began: u64) -> Option<usize> {
        if self.found.iter().any(|found| found.time == Some(time) && found.at == Some(began)) {
            return None;
        }
        if let Some(at) = self.found.iter().position(|found| found.time == Some(time)) {
            return Some(at);
        }
        if self.found.len() >= FINDINGS {
            return None;
        }
        let findings = self.session.findings();
        self.found.push(Found { time: Some(time), at: None, other: None, findings });
        Some(self.found.len() - 1)
    }

    /// Goes to where the finding is about to happen.
    fn go_to_finding(&mut self, at: usize) -> Reason {
        let Some(time) = self.found[at].time else { return Reason::Finding(at) };
        if self.found[at].at.is_none() {
            // Nothing runs where nothing can run any more; other things are found of the last instruction.
            let now = self.found[at].findings.clone();
            let stalls = |finding: &Finding| {
                matches!(
                    finding.kind,
                    FindingKind::Deadlock | FindingKind::BarrierMismatch | FindingKind::WarpSyncMismatch
                )
            };
            self.back(time);
            let before = self.session.findings();
            let stalled = now.iter().any(stalls) && !newer(&before, &now).is_empty();
            let begins = if stalled { time } else { time.saturating_sub(1) };
            self.back(begins);
            let news = newer(&self.session.findings(), &now);
            let found = &mut self.found[at];
            found.at = Some(begins);
            if !news.is_empty() {
                found.findings = news;
            }
        }
        let begins = self.found[at].at.unwrap_or(time);
        self.back(begins);
        if begins < time {
            self.session.run(Until::Decided);
            self.focus_on_running();
            // Of the lanes that run one that it is about.
            let threads =
                self.found[at].findings.first().map(|finding| finding.threads.clone()).unwrap_or_default();
            if let Some(running) = self.session.running() {
                let lanes = (0..32).filter(|lane| running.lanes >> lane & 1 != 0);
                let block = self.block(running.warp.block);
                let mut about = lanes.filter(|lane| {
                    let thread = self.thread(Focus { warp: running.warp, lane: *lane });
                    threads.iter().any(|id| id.block == block && id.thread == thread)
                });
                if let Some(lane) = about.next() {
                    self.focus = Focus { warp: running.warp, lane };
                }
            }
        } else if let Some(id) = self.found[at].findings.first().and_then(|finding| finding.threads.first()) {
            let (block, thread) = (id.block, id.thread);
            // It is one of the launch.
            let _ = self.set_focus(block, thread);
        }
        self.frame = 0;
        Reason::Finding(at)
    }

    /// Which breakpoints are reached by lanes that are about to execute an instruction: their numbers and those lanes.
    /// `counts`: they are reached for the user.
    fn reached(&mut self, running: Running, counts: bool) -> (Vec<u32>, LaneMask, Option<(u32, Error)>) {
        let mut breakpoints = std::mem::take(&mut self.points.breakpoints);
        let (mut ids, mut all) = (Vec::new(), 0);
        let mut failed = None;
        for point in breakpoints.iter_mut().filter(|point| point.enabled) {
            let Some((_, condition)) =
                point.places.iter().find(|(position, _)| *position == running.position)
            else {
                continue;
            };
            let mut lanes = match point.threads {
                Some(threads) if threads.warp == running.warp => running.lanes & threads.lanes,
                Some(_) => 0,
                None => running.lanes,
            };
            if point.condition.is_some() && lanes != 0 {
                match condition {
                    Some(condition) => match self.lanes_where(running, lanes, condition) {
                        Ok(holds) => lanes = holds,
                        Err(error) => failed = Some((point.id, error)),
                    },
                    None => {
                        failed = Some((
                            point.id,
                            Error::refused("its condition has names that are not known here"),
                        ))
                    }
                }
            }
            if lanes == 0 {
                continue;
            }
            if counts && point.ignore > 0 {
                point.ignore -= 1;
                point.hits += 1;
                continue;
            }
            point.hits += u64::from(counts);
            ids.push(point.id);
            all |= lanes;
        }
        if counts {
            breakpoints.retain(|point| !(point.temporary && ids.contains(&point.id)));
        }
        self.points.breakpoints = breakpoints;
        (ids, all, failed)
    }

    fn lanes_where(&self, running: Running, lanes: LaneMask, condition: &Bound) -> Result<LaneMask> {
        let look = self.session.look();
        let gone = || Error::NoThread("the thread is not there".into());
        let block = look.block(running.warp.block).ok_or_else(gone)?;
        let warp = block.warp(running.warp.warp).ok_or_else(gone)?;
        let group = warp.group(running.lanes.trailing_zeros()).ok_or_else(gone)?;
        let frame = group.frame();
        let session: &Session<'_, '_> = self.session;
        let mut at = At { session, here: Some(Here { block, warp, frame }), lane: 0 };
        let mut holds = 0;
        let mut left = lanes;
        while left != 0 {
            at.lane = left.trailing_zeros();
            left &= left - 1;
            holds |= LaneMask::from(at.is_true(condition)?) << at.lane;
        }
        Ok(holds)
    }

    /// Which of the watchpoints a hit is of, and what that held before and holds now.
    fn watched(&mut self, hits: &[Hit]) -> Option<Reason> {
        let hit = *hits.first()?;
        let point = self.points.watchpoints.get(hit.range)?.clone();
        let new = self.held(&point.range, &point.ty, point.format);
        let old = point.last.unwrap_or_else(|| "<unknown>".into());
        let kept = &mut self.points.watchpoints[hit.range];
        kept.hits += 1;
        kept.last = Some(new.clone());
        Some(Reason::Watchpoint { id: point.id, hit, old, new })
    }

    /// What watched memory holds is known from here on.
    fn look_at_watched(&mut self) {
        for at in 0..self.points.watchpoints.len() {
            let point = &self.points.watchpoints[at];
            let held = self.held(&point.range, &point.ty, point.format);
            self.points.watchpoints[at].last = Some(held);
        }
    }

    /// What a run that stood still means to the user; `None` if it is to go on.
    fn arrived(&mut self, reached: Reached) -> Option<Reason> {
        match reached {
            Reached::Limit | Reached::Followed => None,
            Reached::Ended => Some(Reason::Ended),
            Reached::Interrupted => {
                self.session.run(Until::Decided);
                self.focus_on_running();
                Some(Reason::Interrupted)
            }
            Reached::Finding(at) => Some(self.go_to_finding(at)),
            Reached::Watched(hits) => {
                let reason = self.watched(&hits);
                if let Some(hit) = hits.first() {
                    self.focus_on(hit.warp, hit.lanes);
                }
                reason
            }
            Reached::Break(running) => {
                let (ids, lanes, failed) = self.reached(running, true);
                if let Some((id, error)) = failed {
                    self.focus_on(running.warp, running.lanes);
                    return Some(Reason::Condition(id, error));
                }
                if ids.is_empty() {
                    return None;
                }
                self.focus_on(running.warp, lanes);
                Some(Reason::Breakpoints(ids))
            }
        }
    }

    /// Runs on until something is reached.
    pub fn go_on(&mut self) -> Reason {
        self.look_at_watched();
        loop {
            let reached = self.run_on(u64::MAX, &Wanted::ALL);
            if let Some(reason) = self.arrived(reached) {
                return reason;
            }
        }
    }

    /// From the beginning on.
    pub fn restart(&mut self) -> Reason {
        self.begin();
        // A breakpoint at the first instruction counts.
        if let Some(running) = self.session.running()
            && let Some(reason) = self.arrived(Reached::Break(running))
        {
            return reason;
        }
        self.go_on()
    }

    /// Where a thread is.
    fn spot(&self, focus: Focus) -> Option<Spot> {
        let look = self.session.look();
        let group = look.block(focus.warp.block)?.warp(focus.warp.warp)?.group(focus.lane)?;
        let position = group.position();
        let place = self.program.place(position)?;
        Some(Spot {
            time: self.time(),
            position,
            depth: (group.depth(), place.cuda.len()),
            line: place.cuda.first().map(|(line, _)| *line),
        })
    }

    fn is_here(&self, focus: Focus) -> bool {
        self.session
            .running()
            .is_some_and(|running| running.warp == focus.warp && running.lanes >> focus.lane & 1 != 0)
    }

    /// Runs until the focus is about to execute another instruction of the code; breakpoints and the like end it before.
    fn advance(&mut self, over: Option<u32>) -> Result<Spot, Reason> {
        let focus = self.focus;
        let mut wanted = Wanted { follow: Some(focus), ..Wanted::ALL };
        if let Some(depth) = over
            && let Some(to) = self.return_to(focus, depth)
        {
            // A callee runs as a whole.
            wanted.follow = None;
            wanted.extra = vec![to];
        }
        loop {
            // The instruction itself first: behind it the thread may be gone.
            let limit =
                if self.is_here(focus) && wanted.follow.is_some() { self.time() + 1 } else { u64::MAX };
            let first = Wanted { follow: None, ..Wanted::ALL };
            let reached = self.run_on(limit, if limit == u64::MAX { &wanted } else { &first });
            match reached {
                Reached::Break(running) if wanted.extra.contains(&running.position) => {
                    let is_own = running.warp == focus.warp && running.lanes >> focus.lane & 1 != 0;
                    let depth = self.spot(focus).map(|spot| spot.depth.0);
                    if is_own && depth <= over {
                        return self.spot(focus).ok_or(Reason::Exited);
                    }
                    if let Some(reason) = self.arrived(Reached::Break(running)) {
                        return Err(reason);
                    }
                }
                other => {
                    if let Some(reason) = self.arrived(other) {
                        return Err(reason);
                    }
                }
            }
            match self.spot(focus) {
                None => return Err(if self.session.is_over() { Reason::Ended } else { Reason::Exited }),
                Some(spot) if self.is_here(focus) && wanted.follow.is_some() => return Ok(spot),
                Some(_) => {}
            }
        }
    }

    /// Where a thread goes on when the frames above so many are gone.
    fn return_to(&self, focus: Focus, depth: u32) -> Option<u32> {
        let look = self.session.look();
        let group = look.block(focus.warp.block)?.warp(focus.warp.warp)?.group(focus.lane)?;
        let frames = group.frames();
        let above = frames.len().checked_sub(depth as usize)?;
        if above == 0 {
            return None;
        }
        Some(frames.get(above)?.position() + 1)
    }

    /// Steps with the thread in focus, so many times.
    ///
    /// # Errors
    /// The thread is not there.
    pub fn step(&mut self, step: Step, times: u64) -> Result<Reason> {
        self.look_at_watched();
        for _ in 0..times {
            if let Some(reason) = self.step_once(step)? {
                return Ok(reason);
            }
        }
        self.frame = 0;
        Ok(Reason::Stepped)
    }

    fn step_once(&mut self, step: Step) -> Result<Option<Reason>> {
        let from = self.spot(self.focus).ok_or_else(|| self.no_thread())?;
        if step == Step::Out && from.depth == (1, from.depth.1.min(1)) {
            return Err(Error::refused("\"finish\" not meaningful in the outermost frame"));
        }
        // The line of its own frame that the thread was in.
        let outer = |spot: &Spot| self.program.place(spot.position).map(|place| place.cuda.clone());
        let chain = outer(&from);
        loop {
            let over = match step {
                Step::InstructionOver | Step::LineOver => Some(from.depth.0),
                Step::Out => Some(if from.depth.1 > 1 { from.depth.0 } else { from.depth.0 - 1 }),
                _ => None,
            };
            let deeper = over.filter(|depth| self.spot(self.focus).is_some_and(|spot| spot.depth.0 > *depth));
            let spot = match self.advance(deeper) {
                Ok(spot) => spot,
                Err(reason) => return Ok(Some(reason)),
            };
            let begins = self.program.place(spot.position).is_some_and(|place| place.begins);
            let is_over = match step {
                Step::Instruction => begins,
                Step::InstructionOver => begins && spot.depth.0 <= from.depth.0,
                Step::Out => match from.depth.1 > 1 {
                    true => {
                        spot.depth.0 < from.depth.0
                            || spot.depth.0 == from.depth.0 && spot.depth.1 < from.depth.1
                    }
                    false => spot.depth.0 < from.depth.0,
                },
                Step::Line => {
                    spot.line.is_some() && (spot.line, spot.depth) != (from.line, from.depth)
                        || from.line.is_none() && begins
                }
                Step::LineOver => {
                    let own = self.program.place(spot.position).map(|place| place.cuda.clone());
                    let line = |chain: &Option<Chain>| {
                        let chain = chain.as_ref()?;
                        let at = chain.len().checked_sub(from.depth.1.max(1))?;
                        chain.get(at).map(|(line, _)| *line)
                    };
                    let (now, was) = (line(&own), line(&chain));
                    let left = spot.depth.0 < from.depth.0 || spot.depth.1 < from.depth.1;
                    from.line.is_none() && begins && spot.depth.0 <= from.depth.0
                        || spot.line.is_some()
                            && spot.depth.0 <= from.depth.0
                            && (left || now.is_some() && now != was)
                }
            };
            if is_over {
                return Ok(None);
            }
        }
    }

    /// Runs until the thread in focus reaches a place.
    ///
    /// # Errors
    /// The place is not there, or the thread is not.
    pub fn advance_to(&mut self, location: &Location) -> Result<Reason> {
        let focus = self.focus;
        let (places, _) = location.find(&self.program)?;
        self.spot(focus).ok_or_else(|| self.no_thread())?;
        self.look_at_watched();
        let wanted = Wanted { extra: places, ..Wanted::ALL };
        loop {
            let reached = self.run_on(u64::MAX, &wanted);
            if let Reached::Break(running) = reached
                && wanted.extra.contains(&running.position)
                && self.is_here(focus)
            {
                self.frame = 0;
                return Ok(Reason::Stepped);
            }
            if let Some(reason) = self.arrived(reached) {
                return Ok(reason);
            }
        }
    }

    fn no_thread(&self) -> Error {
        let (block, thread) = (self.block(self.focus.warp.block), self.thread(self.focus));
        let look = self.session.look();
        let what = match look.block(self.focus.warp.block).and_then(|block| block.warp(self.focus.warp.warp))
        {
            None if self.session.is_over() => "the launch is over",
            None => "its block is not running",
            Some(warp) if warp.faulted() >> self.focus.lane & 1 != 0 => "a fault ended it",
            Some(_) => "it has exited",
        };
        Error::NoThread(format!("block {block}, thread {thread} is not there: {what}"))
    }

    // --- Back in time ---

    /// Goes to the time when so many warp instructions have run, or to the end.
    pub fn go_to(&mut self, time: u64) -> Reason {
        self.go(time.min(self.session.instructions()));
        let reached = self.run_on(time, &Wanted::NOTHING);
        self.frame = 0;
        match self.arrived(reached) {
            Some(reason) => reason,
            None => {
                if self.spot(self.focus).is_none() {
                    self.focus_on_running();
                }
                Reason::Stepped
            }
        }
    }

    /// Looks for the last of something before now: `scan` runs from a time to another one, and says what it saw last there.
    fn last<T>(
        &mut self,
        mut scan: impl FnMut(&mut Self, u64, u64) -> Option<T>,
    ) -> Result<Option<T>, Reason> {
        let now = self.time();
        let mut to = now;
        let mut width = 256;
        loop {
            let from = to.saturating_sub(width);
            self.back(from);
            if let Some(found) = scan(self, from, to) {
                return Ok(Some(found));
            }
            if self.interrupt.swap(false, Relaxed) {
                return Err(Reason::Interrupted);
            }
            if from == 0 {
                return Ok(None);
            }
            (to, width) = (from, width.saturating_mul(4));
        }
    }

    /// Stands where a thread is about to execute an instruction, at a time when it is.
    fn stand(&mut self, time: u64, focus: Focus) {
        self.back(time);
        self.session.run(Until::Decided);
        self.focus = focus;
        self.frame = 0;
    }

    /// The places of the focus between two times, from which on `enough` says that they suffice, the latest last.
    fn spots(&mut self, from: u64, to: u64, focus: Focus) -> Vec<Spot> {
        let wanted = Wanted { follow: Some(focus), ..Wanted::NOTHING };
        let mut spots = Vec::new();
        // Where it stands may be one itself.
        self.session.run(Until::Decided);
        if from == self.time() && from < to && self.is_here(focus) {
            spots.extend(self.spot(focus));
        }
        while let Reached::Followed = self.run_on(to, &wanted) {
            if self.time() >= to {
                break;
            }
            spots.extend(self.spot(focus));
        }
        spots
    }

    /// Steps back with the thread in focus, so many times.
    ///
    /// # Errors
    /// The thread is not there and never was.
    pub fn step_back(&mut self, step: Step, times: u64) -> Result<Reason> {
        for _ in 0..times {
            if let Some(reason) = self.step_back_once(step) {
                return Ok(reason);
            }
        }
        Ok(Reason::Stepped)
    }

    fn step_back_once(&mut self, step: Step) -> Option<Reason> {
        let (now, focus) = (self.time(), self.focus);
        let here = self.spot(focus);
        let program = self.program.clone();
        let depth = here.as_ref().map_or((u32::MAX, usize::MAX), |spot| spot.depth);
        let begins = |spot: &&Spot| program.place(spot.position).is_some_and(|place| place.begins);
        // What was seen of later windows comes behind.
        let mut later: Vec<Spot> = Vec::new();
        let found = self.last(|debugger, from, to| {
            let mut spots = debugger.spots(from, to, focus);
            spots.append(&mut later);
            later = spots;
            let complete = from == 0;
            let candidates = later.iter().rev().filter(|spot| match step {
                Step::InstructionOver => spot.depth.0 <= depth.0,
                Step::LineOver => {
                    spot.depth.0 <= depth.0 && (spot.depth.0 < depth.0 || spot.depth.1 <= depth.1)
                }
                _ => true,
            });
            match step {
                Step::Instruction | Step::InstructionOver => {
                    candidates.filter(begins).map(|spot| spot.time).next()
                }
                Step::Out => later
                    .iter()
                    .rev()
                    .find(|spot| {
                        spot.depth.0 < depth.0
                            || depth.1 > 1 && spot.depth.0 == depth.0 && spot.depth.1 < depth.1
                    })
                    .map(|spot| spot.time),
                Step::Line | Step::LineOver => {
                    let mut candidates = candidates.filter(|spot| spot.line.is_some() || depth.1 == 0);
                    let last = candidates.next()?;
                    let same = |spot: &Spot| {
                        (spot.line, spot.depth) == (last.line, last.depth) && last.line.is_some()
                    };
                    let mut first = last;
                    for spot in candidates {
                        if !same(spot) {
                            return Some(first.time);
                        }
                        first = spot;
                    }
                    complete.then_some(first.time)
                }
            }
        });
        match found {
            Ok(Some(time)) => {
                self.stand(time, focus);
                None
            }
            Ok(None) => {
                self.stand(0, focus);
                (now == 0 || step != Step::Out).then_some(Reason::Beginning).or(Some(Reason::Beginning))
            }
            Err(reason) => {
                self.stand(now, focus);
                Some(reason)
            }
        }
    }

    /// Goes back to the last time before now at which a breakpoint or watchpoint was reached.
    pub fn go_back(&mut self) -> Reason {
        let now = self.time();
        let wanted = Wanted { breakpoints: true, watchpoints: true, ..Wanted::NOTHING };
        let found = self.last(|debugger, from, to| {
            let mut last = None;
            debugger.session.run(Until::Decided);
            let mut reached = match debugger.session.running() {
                Some(running)
                    if debugger.time() == from && debugger.positions().contains(&running.position) =>
                {
                    Reached::Break(running)
                }
                _ => debugger.run_on(to, &wanted),
            };
            loop {
                let time = debugger.time();
                match reached {
                    Reached::Break(running) if time < to => {
                        let (ids, lanes, failed) = debugger.reached(running, false);
                        if !ids.is_empty() && failed.is_none() {
                            last = Some((time, running.warp, lanes, Reason::Breakpoints(ids)));
                        }
                    }
                    Reached::Watched(hits) if time <= to => {
                        if let Some(hit) = hits.first().copied()
                            && let Some(point) = debugger.points.watchpoints.get(hit.range)
                        {
                            let (id, empty) = (point.id, String::new());
                            let reason = Reason::Watchpoint { id, hit, old: empty.clone(), new: empty };
                            last = Some((time - 1, hit.warp, hit.lanes, reason));
                        }
                    }
                    Reached::Break(_) | Reached::Watched(_) => return last,
                    Reached::Interrupted => {
                        debugger.interrupt.store(true, Relaxed);
                        return last;
                    }
                    _ => return last,
                }
                if time >= to {
                    return last;
                }
                reached = debugger.run_on(to, &wanted);
            }
        });
        match found {
            Ok(Some((time, warp, lanes, reason))) => {
                let reason = self.complete(time, reason);
                self.stand(time, self.focus);
                self.focus_on(warp, lanes);
                reason
            }
            Ok(None) => {
                self.begin();
                Reason::Beginning
            }
            Err(reason) => {
                self.stand(now, self.focus);
                reason
            }
        }
    }

    /// Says of an access at a time what the memory held before and held then.
    fn complete(&mut self, time: u64, reason: Reason) -> Reason {
        let Reason::Watchpoint { id, hit, .. } = reason else { return reason };
        let Some(point) = self.points.watchpoints.iter().find(|point| point.id == id).cloned() else {
            return reason;
        };
        self.back(time);
        let old = self.held(&point.range, &point.ty, point.format);
        self.go(time + 1);
        let new = self.held(&point.range, &point.ty, point.format);
        Reason::Watchpoint { id, hit, old, new }
    }

    /// Goes back to the last write, or access, of what an expression lies at: who wrote this, and from where?
    ///
    /// # Errors
    /// The expression is not in memory.
    pub fn last_write(&mut self, text: &str, reads: bool) -> Result<Reason> {
        let (now, focus) = (self.time(), self.focus);
        self.add_watchpoint(text, reads, true)?;
        let mut others = std::mem::take(&mut self.points.watchpoints);
        self.points.watchpoints.extend(others.pop());
        let breakpoints = std::mem::take(&mut self.points.breakpoints);
        let reason = self.go_back();
        self.points.breakpoints = breakpoints;
        self.points.watchpoints = others;
        if reason == Reason::Beginning {
            self.stand(now, focus);
        }
        Ok(reason)
    }

    /// Goes to a finding: where it is about to happen.
    ///
    /// # Errors
    /// There is none of this number, or it does not happen again.
    pub fn open(&mut self, number: usize) -> Result<Reason> {
        self.locate(number)?;
        Ok(self.go_to_finding(number))
    }

    /// Goes from a finding of two accesses to the earlier one.
    ///
    /// # Errors
    /// There is no such finding, or it is about one access.
    pub fn open_other(&mut self, number: usize) -> Result<Reason> {
        self.locate(number)?;
        match self.found[number].other {
            Some((time, focus)) => {
                self.stand(time, focus);
                Ok(Reason::Stepped)
            }
            None => Err(Error::refused("this finding is about one access")),
        }
    }

    /// The positions of a place.
    fn positions_of(&self, place: &CodePlace) -> Vec<u32> {
        let is_at = |at: &u32| {
            let Some(own) = self.program.place(*at) else { return false };
            let function = self.program.declared(own.function);
            let instruction =
                function.body.as_ref().and_then(|body| body.instructions.get(own.instruction as usize));
            own.begins
                && function.source == place.source
                && instruction.is_some_and(|instruction| instruction.span == place.span)
        };
        (0..self.program.len()).filter(is_at).collect()
    }

    /// Finds when something that is known happens.
    fn locate(&mut self, number: usize) -> Result<()> {
        let missing = || Error::refused(format!("there is no finding {}", number + 1));
        let found = self.found.get(number).ok_or_else(missing)?;
        let (None, Some(finding)) = (found.time, found.findings.first().cloned()) else { return Ok(()) };
        let now = self.time();
        let nowhere = || Error::refused("this finding is about the launch as a whole");
        let place = finding.place.as_ref().ok_or_else(nowhere)?;
        let later = self.positions_of(place);
        let earlier = match (&finding.other_place, finding.kind.is_race()) {
            (Some(place), _) => self.positions_of(place),
            (None, true) => later.clone(),
            (None, false) => Vec::new(),
        };
        self.back(0);
        let is_its_thread = |debugger: &Self, focus: Focus| {
            let (block, thread) = (debugger.block(focus.warp.block), debugger.thread(focus));
            finding.threads.binary_search(&ThreadId { block, thread }).is_ok()
        };
        let at = match earlier.is_empty() {
            true => self.first_at(&later, is_its_thread).map(|(time, _)| (time, None)),
            false => self.first_pair(&earlier, &later, is_its_thread),
        };
        let Some((time, other)) = at else {
            self.stand(now, self.focus);
            return Err(Error::refused("it was not found again"));
        };
        let found = &mut self.found[number];
        (found.time, found.at, found.other) = (Some(time + 1), Some(time), other);
        Ok(())
    }

    /// When one of some threads first executes one of some instructions, from now on.
    fn first_at(&mut self, positions: &[u32], is_its: impl Fn(&Self, Focus) -> bool) -> Option<(u64, Focus)> {
        let wanted = Wanted { extra: positions.to_vec(), ..Wanted::NOTHING };
        while let Reached::Break(running) = self.run_on(u64::MAX, &wanted) {
            let lanes = (0..32).filter(|lane| running.lanes >> lane & 1 != 0);
            let mut own =
                lanes.map(|lane| Focus { warp: running.warp, lane }).filter(|focus| is_its(self, *focus));
            if let Some(focus) = own.next() {
                return Some((self.time(), focus));
            }
        }
        None
    }

    /// The first two accesses to one byte by two threads, one of them a write, the later one by one of some threads: when the
    /// later one is, and when and by whom the earlier one.
    fn first_pair(
        &mut self,
        earlier: &[u32],
        later: &[u32],
        is_its: impl Fn(&Self, Focus) -> bool,
    ) -> Option<(u64, Option<(u64, Focus)>)> {
        let mut last: HashMap<(usize, u64, u64), (u64, Focus, bool)> = HashMap::new();
        let wanted = Wanted { extra: earlier.iter().chain(later).copied().collect(), ..Wanted::NOTHING };
        while let Reached::Break(running) = self.run_on(u64::MAX, &wanted) {
            let time = self.time();
            self.watcher.note(running.warp);
            self.session.break_at(&[]);
            self.session.run(Until::Instructions(time + 1));
            for hit in self.watcher.take().into_iter().filter(|hit| hit.position == running.position) {
                let focus = Focus { warp: hit.warp, lane: hit.lanes.trailing_zeros() };
                let writes = hit.kind != AccessKind::Read;
                // Shared memory is one for each block; a block accesses its own, as a rule.
                let owner = if hit.range == 0 { 0 } else { hit.warp.block };
                for byte in 0..u64::from(hit.bytes) {
                    let key = (hit.range, owner, hit.address.wrapping_add(byte));
                    if later.contains(&hit.position)
                        && let Some((then, other, wrote)) = last.get(&key)
                        && (writes || *wrote)
                        && *other != focus
                        && is_its(self, focus)
                    {
                        return Some((time, Some((*then, *other))));
                    }
                    if earlier.contains(&hit.position) && last.len() < PAIRS {
                        last.insert(key, (time, focus, writes));
                    }
                }
            }
        }
        None
    }

    // --- Looking ---

    /// Does something with a lane of the selected frame.
    fn with<T>(&self, mut look: impl FnMut(&At<'_>) -> Result<T>) -> Result<T> {
        let frames = self.frames().unwrap_or_default();
        let physical = frames.get(self.frame).map_or(0, |frame| frame.physical);
        self.with_lane(self.focus, physical, &mut look)
    }

    /// Does something with a lane, in a frame of its chain of calls.
    ///
    /// # Errors
    /// Those of `look`.
    pub fn with_lane<T>(
        &self,
        focus: Focus,
        frame: usize,
        look_at: &mut dyn FnMut(&At<'_>) -> Result<T>,
    ) -> Result<T> {
        let look = self.session.look();
        let session: &Session<'_, '_> = self.session;
        let here = || {
            let block = look.block(focus.warp.block)?;
            let warp = block.warp(focus.warp.warp)?;
            let frames = warp.group(focus.lane)?.frames();
            let frame = *frames.get(frame).or(frames.first())?;
            Some(Here { block, warp, frame })
        };
        look_at(&At { session, here: here(), lane: focus.lane })
    }

    fn no_thread_of(&self, focus: Focus) -> Error {
        let (block, thread) = (self.block(focus.warp.block), self.thread(focus));
        Error::NoThread(format!(
            "block {block}, thread {thread} is not there: it has exited, or its block is not running"
        ))
    }

    /// The names at a place.
    pub fn scope(&self, position: u32) -> Scope<'_> {
        let function = self.program.place(position).map_or(0, |place| place.function);
        Scope {
            program: &self.program,
            symbols: &self.symbols,
            code: self.session.code(),
            function,
            position,
            time: self.time(),
        }
    }

    /// Binds an expression at a position of the code.
    ///
    /// # Errors
    /// It cannot be read, or a name is unknown there.
    pub fn bind_at(&self, text: &str, position: u32) -> Result<(Bound, Parsed)> {
        let scope = self.scope(position);
        let parsed = parse(text, &|name| crate::expression::Names::type_named(&scope, name).is_some())?;
        Ok((bind(&parsed.ast, &scope)?, parsed))
    }

    /// Binds an expression in the selected frame of the focus; where the thread is not there, at the kernel's beginning.
    ///
    /// # Errors
    /// Those of [`Debugger::bind_at`].
    pub fn bind(&self, text: &str) -> Result<(Bound, Parsed)> {
        let position = match self.frames() {
            Ok(frames) => frames.get(self.frame).map_or(0, |frame| frame.position),
            Err(_) => 0,
        };
        self.bind_at(text, position)
    }

    /// The value of an expression in the selected frame of the focus.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn evaluate(&self, text: &str) -> Result<Value> {
        let (bound, _) = self.bind(text)?;
        self.with(|at| at.value(&bound))
    }

    /// The value of an expression as text.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn show(&self, text: &str, format: Format) -> Result<String> {
        let (bound, _) = self.bind(text)?;
        self.show_bound(&bound, format)
    }

    /// The same of an expression that is bound already.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn show_bound(&self, bound: &Bound, format: Format) -> Result<String> {
        self.with(|at| format::value(at, &at.value(bound)?, format))
    }

    /// The number that an expression is, as an address.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn with_value(&self, bound: &Bound) -> Result<u64> {
        self.with(|at| Ok(at.scalar(bound)? as u64))
    }

    /// What an expression says as an address: where a pointer points to, where an array or a structure lies; and the bytes of
    /// what is there, 1, 2, 4 or 8.
    ///
    /// # Errors
    /// It is none, or cannot be had.
    pub fn address(&self, text: &str) -> Result<(Space, u64, u8)> {
        use crate::types::Type;
        let (bound, _) = self.bind(text)?;
        let unit = |mut ty: &Type| {
            while let Type::Array(of, _) = ty {
                ty = of;
            }
            if matches!(ty.bytes(), 1 | 2 | 8) { ty.bytes() as u8 } else { 4 }
        };
        match &bound.ty {
            Type::Pointer(space, of) => {
                let (space, size) = (*space, unit(of));
                Ok((space, self.with_value(&bound)?, size))
            }
            Type::Array(..) | Type::Struct(_) => {
                let size = unit(&bound.ty);
                let (space, address) = self.with(|at| at.address(&bound))?;
                Ok((space, address, size))
            }
            ty if ty.is_float() => Err(Error::refused("a float is no address")),
            _ => Ok((Space::Generic, self.with_value(&bound)?, 4)),
        }
    }

    /// The values of an expression in all lanes of some warps of the block in focus, as text. Lanes that are elsewhere in the
    /// code have none of a register.
    ///
    /// # Errors
    /// The expression cannot be bound, or no thread of the block is there.
    pub fn across(
        &self,
        bound: &Bound,
        format: Format,
        warps: Option<u32>,
    ) -> Result<Vec<(Focus, Result<String>)>> {
        let function =
            self.with(|at| at.here.map(|here| here.frame.index()).ok_or_else(|| self.no_thread()))?;
        let look = self.session.look();
        let session: &Session<'_, '_> = self.session;
        let block = look.block(self.focus.warp.block).ok_or_else(|| self.no_thread())?;
        let mut rows = Vec::new();
        for warp in block.warps().filter(|warp| warps.is_none_or(|only| warp.index() == only)) {
            for lane in (0..32).filter(|lane| warp.lanes() >> lane & 1 != 0) {
                let id = WarpId { block: block.index(), warp: warp.index() };
                let shown = match warp.group(lane) {
                    None => Err(Error::NoThread("<exited>".into())),
                    Some(group) => {
                        let frames = group.frames();
                        match frames.iter().find(|frame| frame.index() == function) {
                            None => Err(Error::NoValue("<in another function>".into())),
                            Some(frame) => {
                                let at =
                                    At { session, here: Some(Here { block, warp, frame: *frame }), lane };
                                at.value(bound).and_then(|value| format::value(&at, &value, format))
                            }
                        }
                    }
                };
                rows.push((Focus { warp: id, lane }, shown));
            }
        }
        Ok(rows)
    }

    /// Reads memory of the focus.
    ///
    /// # Errors
    /// It is not there.
    pub fn read(&self, space: Space, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.with(|at| at.read(space, address, bytes))
    }

    /// The call frames of the focus, the innermost first.
    ///
    /// # Errors
    /// The thread is not there.
    pub fn frames(&self) -> Result<Vec<Frame>> {
        self.frames_of(self.focus)
    }

    /// Those of a thread.
    ///
    /// # Errors
    /// It is not there.
    pub fn frames_of(&self, focus: Focus) -> Result<Vec<Frame>> {
        let look = self.session.look();
        let block = look.block(focus.warp.block);
        let group =
            block.and_then(|block| block.warp(focus.warp.warp)).and_then(|warp| warp.group(focus.lane));
        let group = group
            .ok_or_else(|| if focus == self.focus { self.no_thread() } else { self.no_thread_of(focus) })?;
        let mut frames = Vec::new();
        for (physical, frame) in group.frames().into_iter().enumerate() {
            let Some(place) = self.program.place(frame.position()) else { continue };
            let own = reports::readable(self.program.function(place.function).0).into_owned();
            let count = place.cuda.len();
            for (at, (line, name)) in place.cuda.iter().enumerate() {
                let inlined = at + 1 < count;
                let function = match name {
                    Some(name) if inlined => reports::readable(name).into_owned(),
                    _ if inlined => "<inlined>".into(),
                    _ => own.clone(),
                };
                frames.push(Frame {
                    function,
                    position: frame.position(),
                    line: Some(*line),
                    inlined,
                    physical,
                });
            }
            if count == 0 {
                let line = Some(place.ptx);
                frames.push(Frame {
                    function: own,
                    position: frame.position(),
                    line,
                    inlined: false,
                    physical,
                });
            }
        }
        Ok(frames)
    }
}

/// What is in a list of findings and was not, or not as often, in an earlier one.
fn newer(before: &[Finding], now: &[Finding]) -> Vec<Finding> {
    let same =
        |a: &Finding, b: &Finding| a.kind == b.kind && a.place == b.place && a.other_place == b.other_place;
    let is_new = |finding: &&Finding| {
        before.iter().find(|other| same(other, finding)).is_none_or(|other| other.count < finding.count)
    };
    now.iter().filter(is_new).cloned().collect()
}
