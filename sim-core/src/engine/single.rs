//! The interpreter's loop: runs the groups of one warp.

use std::sync::atomic::Ordering;

use super::Pause;
use crate::code::Action;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::ROOT;
use crate::machine::kept::CompiledFunction;
use crate::machine::turn::{GroupTurn, WarpTurn};
use crate::machine::warp::{Group, SLICE, Wait};
use crate::observer::Observer;
use crate::ops::flow::{Flow, On};
use crate::tools::{Event, Wants};
use jit::{Runner, Until};
use semantics::lanes::{LaneMask, Pred};

impl<O: Observer> Machine<'_, '_, O> {
    /// Runs the warp for about so many warp instructions; returns why it stopped and how many it ran.
    pub(crate) fn run_warp(&mut self, slice: u64) -> (Pause, u64) {
        let mut turn = WarpTurn::new(self.index, slice, self.worker.waits);
        let pause = self.run_turn(&mut turn);
        (pause, turn.ran())
    }

    /// The ready group of the warp to run.
    fn choose_group(&mut self, turn: &mut WarpTurn) -> Option<usize> {
        match self.worker.random.as_mut().map(|random| (random.below(4), random.next())) {
            Some((0, pick)) => {
                // It runs on from where it stands, also behind others.
                turn.fair = true;
                let ready = |(_, group): &(usize, &Group)| group.wait == Wait::Ready;
                let groups = &self.warp().groups;
                let count = groups.iter().enumerate().filter(ready).count();
                let nth = pick as usize % count.max(1);
                groups.iter().enumerate().filter(ready).nth(nth).map(|(at, _)| at)
            }
            _ => self.warp().choose(turn.fair),
        }
    }

    /// Runs the groups of the warp for the rest of its turn.
    pub(crate) fn run_turn(&mut self, turn: &mut WarpTurn) -> Pause {
        loop {
            let (mut group, mut now) = match if O::ACTIVE { turn.group.take() } else { None } {
                Some(rest) => {
                    let warp = self.warp_mut();
                    (warp.start(warp.running()), rest)
                }
                None => {
                    if turn.left <= 0 || self.until_whole && self.warp().is_whole() {
                        return Pause::Slice;
                    }
                    if self.worker.is_to_pause() {
                        return Pause::Still;
                    }
                    let warp = self.warp_mut();
                    turn.fair |= warp.ends_slice();
                    let Some(chosen) = self.choose_group(turn) else { return Pause::Blocked };
                    let (waits, random) = (self.worker.waits, self.worker.random.is_some());
                    let warp = self.warp_mut();
                    let group = warp.start(chosen);
                    let slice = warp.slice_end().saturating_sub(warp.clock).max(1);
                    // What a group does out of its order ends where its slice does, however engines divide turns; but a
                    // random schedule's.
                    let out_of_order = turn.fair && warp.groups.len() > 1 && !random;
                    let most = if out_of_order { slice } else { slice.min(turn.left as u64) };
                    let stop = warp.next_stop(group.frame);
                    (group, GroupTurn { most, until_look: most, stop, waits })
                }
            };
            let (ran, flow) = self.run_group(&mut group, &mut now, turn.fair);
            turn.left -= ran as i64;
            let warp = self.warp_mut();
            let chosen = warp.running();
            warp.clock += ran;
            self.cta.clock += ran;
            if let Flow::Pause = flow {
                self.warp_mut().stop(chosen, &group, Wait::Running);
                now.most = now.most.saturating_sub(ran);
                turn.group = Some(now);
                return Pause::Still;
            }
            let waited = self.worker.waits > now.waits;
            group.last_run = self.warp().clock;
            let warp = self.warp_mut();
            warp.waited |= waited;
            turn.fair = matches!(flow, Flow::GiveWay);
            if turn.fair {
                warp.begin_slice(true);
            }
            match flow {
                Flow::Next | Flow::Jump | Flow::Switch | Flow::GiveWay | Flow::Pause => {
                    self.warp_mut().stop(chosen, &group, Wait::Ready);
                }
                Flow::EndTurn => {
                    self.warp_mut().stop(chosen, &group, Wait::Ready);
                    turn.end();
                }
                Flow::Exit => {
                    let warp = self.warp_mut();
                    warp.groups.swap_remove(chosen);
                    warp.release(group.frame);
                    self.complete_collectives();
                    self.recheck_barriers();
                }
                Flow::Wait(On::Barrier(id)) => {
                    self.warp_mut().stop(chosen, &group, Wait::Barrier(id));
                    return Pause::Blocked;
                }
                Flow::Wait(On::Cluster) => {
                    self.warp_mut().stop(chosen, &group, Wait::Cluster);
                    return Pause::Blocked;
                }
                Flow::Wait(On::Arrival(active)) => {
                    if let Err(fault) = self.arrive(chosen, &mut group, active) {
                        self.fault(chosen, &group, *fault);
                    }
                }
                Flow::Wait(On::Members(members)) => {
                    self.warp_mut().stop(chosen, &group, Wait::Members(members));
                    self.complete_collectives();
                }
                Flow::Wait(On::Warpgroup) => {
                    self.warp_mut().stop(chosen, &group, Wait::Warpgroup);
                }
                Flow::Fault(fault) => {
                    self.fault(chosen, &group, *fault);
                    self.complete_collectives();
                    self.recheck_barriers();
                }
            }
            if self.worker.grid.stop.load(Ordering::Relaxed) {
                return Pause::Stopped;
            }
        }
    }

    /// Ends a group that faulted: the lanes at fault are reported, the others go with them.
    pub(crate) fn fault(&mut self, at: usize, group: &Group, fault: Fault) {
        self.note(group, fault);
        self.cta.faulted = true;
        self.worker.grid.faulted.store(true, Ordering::Relaxed);
        let warp = self.warp_mut();
        warp.groups.swap_remove(at);
        warp.exited |= group.lanes;
        warp.faulted |= group.lanes;
        warp.release(group.frame);
    }

    /// The first position from `position` on before which some lanes stand still, behind so many instructions of the run.
    #[inline(always)]
    fn next_break(&self, position: u32, lanes: LaneMask, ran: u64) -> u32 {
        if !O::ACTIVE {
            return u32::MAX;
        }
        let breaks = &self.worker.pauses.breaks;
        let follows = breaks.followed(self.cta.index, self.index) & lanes != 0;
        breaks.from(position, follows, self.worker.stats.warp_instructions + ran)
    }

    /// Whether the launch is to stand still behind the instruction that runs.
    #[inline(always)]
    fn is_asked_to_pause(&self) -> bool {
        O::ACTIVE && self.worker.pauses.is_asked()
    }

    /// Whether some lanes are about to execute an instruction before which the launch stands still.
    fn is_at_break(
        &self,
        position: u32,
        stop: u32,
        lanes: LaneMask,
        counts: &Counts,
        most: u64,
        fair: bool,
    ) -> bool {
        self.next_break(position, lanes, counts.ran) == position
            && run_end(position, stop, most.saturating_sub(counts.ran), fair) > position
    }

    /// Ends a run before `end`; another starts at `next` with `lanes`.
    #[inline(always)]
    fn close(&mut self, counts: &mut Counts, end: u32, next: u32, lanes: LaneMask) {
        if O::ACTIVE {
            self.tell_of_run(counts.start, end, 1, lane_count(counts.lanes));
            self.tell_of_way(self.index, counts.lanes, counts.start, end);
        }
        counts.close(end, next, lanes);
    }

    /// Runs a group until it must stop; returns the instructions run.
    fn run_group(&mut self, group: &mut Group, now: &mut GroupTurn, fair: bool) -> (u64, Flow) {
        let code = self.worker.grid.code;
        let insts = &code.insts[..];
        let mut registers = self.registers(group.frame);
        let (mut most, mut stop) = (now.until_look, now.stop);
        // The launch may be to stand still before.
        let until_pause = match O::ACTIVE {
            true => self.worker.pauses.left(self.worker.stats.warp_instructions),
            false => u64::MAX,
        };
        let mut position = group.position;
        let mut lanes = group.lanes;
        let mut counts = Counts::new(position, lanes);
        let begun = self.warp().clock;
        let mut whole = self.warp().groups.len() == 1;
        // Lanes may have parted: a slice begins.
        macro_rules! parted {
            () => {
                if whole && self.warp().groups.len() > 1 {
                    (whole, now.waits) = (false, self.worker.waits);
                    most = most.min(self.warp().slice_end().saturating_sub(begun));
                }
            };
        }
        // Instructions follow each other from the start of a run to its end; what changes the position
        // otherwise, the lanes or `stop` starts a new one.
        let mut end = run_end(position, stop, most.min(until_pause), fair);
        end = end.min(self.next_break(position, lanes, 0));
        // With weak memory, also where loads that were put off must be done.
        let weak = self.weak().is_some();
        if weak {
            end = end.min(self.due(group.frame, lanes));
        }
        // A group whose turn it is out of order does without.
        let mut compiled = self.compiled_of(group.frame).filter(|_| !fair);
        let until = |compiled: Option<&CompiledFunction>, position: u32| {
            compiled.map_or(u32::MAX, |compiled| compiled.next(position, false))
        };
        macro_rules! next_run {
            ($next:expr) => {{
                self.close(&mut counts, position + 1, $next, lanes);
                position = $next;
                end = run_end(position, stop, most.min(until_pause).saturating_sub(counts.ran), fair);
                end = end.min(self.next_break(position, lanes, counts.ran));
                end = end.min(until(compiled, position));
                if self.is_asked_to_pause() {
                    end = position;
                }
                continue;
            }};
        }
        end = end.min(until(compiled, position));
        let flow = loop {
            if position >= end {
                self.close(&mut counts, position, position, lanes);
                let rest = most.saturating_sub(counts.ran);
                if let Some(code) = compiled.filter(|code| code.next(position, false) == position)
                    && position < stop
                    && rest > 0
                {
                    if !code.begins(position, stop, rest, false) {
                        end = run_end(position, stop, rest, fair).min(code.next(position + 1, false));
                        continue;
                    }
                    let storage = self.storage(code, self.index, group.frame);
                    let mut runner = Runner::new(storage, position, lanes);
                    let until_whole = self.until_whole && whole && group.frame == ROOT;
                    let run = Until { stop, most: rest, whole: until_whole };
                    let flow = self.run_compiled(code, group.frame, &mut runner, run);
                    let Runner { ran, called, .. } = runner;
                    let entered = begun + counts.ran;
                    counts.ran += ran.steps;
                    counts.threads += ran.threads;
                    self.worker.stats.branches += ran.branches;
                    self.worker.stats.divergent_branches += ran.parted;
                    (position, lanes) = (runner.position, runner.lanes);
                    (group.position, group.lanes) = (position, lanes);
                    for aside in &runner.aside {
                        group.last_run = entered + aside.last_run;
                        self.warp_mut().fork(group, aside.position, aside.lanes);
                        stop = stop.min(aside.position);
                    }
                    let parts = whole && !runner.aside.is_empty();
                    if parts {
                        self.warp_mut().part_at(entered + runner.parted_at);
                    }
                    parted!();
                    if parts {
                        now.waits -= runner.reads;
                    }
                    if called.is_some() {
                        break flow.unwrap_or(Flow::Switch);
                    }
                    if ran.steps == 0 {
                        end = run_end(position, stop, rest, fair).min(code.next(position + 1, false));
                        continue;
                    }
                    counts.restart(position, lanes);
                    if until_whole && ran.parted > 0 && runner.aside.is_empty() {
                        break Flow::Switch;
                    }
                    end = run_end(position, stop, most.saturating_sub(counts.ran), fair);
                    end = end.min(until(compiled, position));
                    continue;
                }
                if O::ACTIVE && self.is_at_break(position, stop, lanes, &counts, most.min(until_pause), fair)
                {
                    (group.position, group.lanes) = (position, lanes);
                    (now.until_look, now.stop) = (most.saturating_sub(counts.ran), stop);
                    break Flow::Pause;
                }
                if O::ACTIVE && self.worker.pauses.is_due(self.worker.stats.warp_instructions + counts.ran) {
                    (group.position, group.lanes) = (position, lanes);
                    (now.until_look, now.stop) = (most.saturating_sub(counts.ran), stop);
                    break Flow::Pause;
                }
                if weak && self.due(group.frame, lanes) <= position {
                    (group.position, group.lanes) = (position, lanes);
                    if self.waits_on() {
                        break Flow::EndTurn;
                    }
                    if let Err(fault) = self.settle_due(&mut registers, group.frame, lanes, position) {
                        break Flow::Fault(fault);
                    }
                    end = run_end(position, stop, most.min(until_pause).saturating_sub(counts.ran), fair);
                    end = end.min(self.due(group.frame, lanes));
                    end = end.min(self.next_break(position, lanes, counts.ran));
                    continue;
                }
                // Groups that meet in order need no scheduler; what it would do for one alone ends here.
                if counts.ran < most && !fair && self.worker.random.is_none() {
                    let warp = self.warp_mut();
                    let now = warp.clock + counts.ran;
                    if let Some(next) = warp.meet(position, lanes, group.frame, now) {
                        (position, lanes, stop) = next;
                        most = most.min(counts.ran + SLICE);
                        counts.restart(position, lanes);
                        whole = self.warp().groups.len() == 1;
                        if self.until_whole && whole {
                            (group.position, group.lanes) = (position, lanes);
                            break Flow::Switch;
                        }
                        end = run_end(position, stop, most.min(until_pause).saturating_sub(counts.ran), fair);
                        end = end.min(self.next_break(position, lanes, counts.ran));
                        end = end.min(until(compiled, position));
                        continue;
                    }
                }
                (group.position, group.lanes) = (position, lanes);
                break Flow::Switch;
            }
            let mut inst = &insts[position as usize];
            let mut active = lanes;
            if inst.guard != Pred::TRUE {
                active &= registers.predicate(inst.guard);
                if active != lanes {
                    counts.idle += u64::from((lanes & !active).count_ones());
                    self.tell_of_guard(position, lanes & !active);
                    if self.is_asked_to_pause() {
                        end = position + 1;
                    }
                }
            }
            match &inst.action {
                Action::Lanes(run, operands) => {
                    self.tell_of_quotient(self.index, position, operands, &registers, active);
                    // SAFETY: decoding took the function for a SIMD level that this CPU was found to
                    // have, and numbered its slots within this frame.
                    unsafe { run(&mut registers, operands, active) };
                    position += 1;
                    continue;
                }
                Action::BeforeBranch(run, operands) => {
                    self.tell_of_quotient(self.index, position, operands, &registers, active);
                    // SAFETY: as above.
                    unsafe { run(&mut registers, operands, active) };
                    position += 1;
                    // Slices end between the two as well.
                    if position >= end {
                        continue;
                    }
                    inst = &insts[position as usize];
                    active = lanes & registers.predicate(inst.guard);
                    if active != lanes {
                        counts.idle += u64::from((lanes & !active).count_ones());
                        self.tell_of_guard(position, lanes & !active);
                    }
                }
                _ => {}
            }
            if let Action::Branch(target) = inst.action {
                self.worker.stats.branches += 1;
                if active == 0 {
                    position += 1;
                    continue;
                }
                let rest = lanes & !active;
                if rest == 0 {
                    next_run!(target);
                }
                self.worker.stats.divergent_branches += 1;
                self.tell(Wants::INSTRUCTIONS, group.frame, &Event::Diverged { position });
                let [low, high] = two_ways(position, target, active, rest);
                group.position = position;
                group.last_run = begun + counts.ran_at(position);
                self.warp_mut().fork(group, high.0, high.1);
                parted!();
                lanes = low.1;
                stop = stop.min(high.0);
                next_run!(low.0);
            }
            if active == 0 {
                position += 1;
                continue;
            }
            group.position = position;
            group.lanes = lanes;
            group.last_run = begun + counts.ran_at(position);
            match self.operate(&mut registers, group, active, &inst.action, counts.ran_at(position)) {
                Flow::Next => {
                    position += 1;
                    if self.is_asked_to_pause() {
                        end = position;
                    }
                }
                Flow::Jump => {
                    registers = self.registers(group.frame);
                    stop = self.warp().next_stop(group.frame);
                    lanes = group.lanes;
                    parted!();
                    self.close(&mut counts, position + 1, group.position, lanes);
                    position = group.position;
                    compiled = self.compiled_of(group.frame).filter(|_| !fair);
                    end = run_end(position, stop, most.min(until_pause).saturating_sub(counts.ran), fair);
                    end = end.min(self.next_break(position, lanes, counts.ran));
                    end = end.min(until(compiled, position));
                    if weak {
                        end = end.min(self.due(group.frame, lanes));
                    }
                    if self.is_asked_to_pause() {
                        end = position;
                    }
                }
                flow => {
                    self.close(&mut counts, position + 1, position + 1, lanes);
                    break flow;
                }
            }
        };
        let stats = &mut self.worker.stats;
        stats.warp_instructions += counts.ran;
        stats.thread_instructions += counts.threads;
        (counts.ran, flow)
    }
}

/// Instructions that a group ran. They are counted run by run.
struct Counts {
    /// Where the current run started, and its lanes.
    start: u32,
    lanes: LaneMask,
    /// Lanes that sat out guarded instructions of the run, in all.
    idle: u64,
    /// Warp instructions and thread instructions of the runs before.
    ran: u64,
    threads: u64,
}

/// How many lanes there are. Counting bits is slow on the baseline; nearly always all are set.
#[inline(always)]
pub(crate) fn lane_count(lanes: LaneMask) -> u64 {
    if lanes == LaneMask::MAX { 32 } else { lanes.count_ones().into() }
}

/// Where the lanes go that take a branch to `target` and those that do not, the lower place first.
#[inline(always)]
pub(crate) fn two_ways(position: u32, target: u32, taken: LaneMask, rest: LaneMask) -> [(u32, LaneMask); 2] {
    let ways = [(target, taken), (position + 1, rest)];
    if target <= position { ways } else { [ways[1], ways[0]] }
}

impl Counts {
    fn new(start: u32, lanes: LaneMask) -> Counts {
        Counts { start, lanes, idle: 0, ran: 0, threads: 0 }
    }

    /// Ends a run before `end`; another starts at `next` with `lanes`.
    #[inline(always)]
    fn close(&mut self, end: u32, next: u32, lanes: LaneMask) {
        let count = u64::from(end - self.start);
        self.ran += count;
        self.threads += count * lane_count(self.lanes) - self.idle;
        self.restart(next, lanes);
    }

    /// Starts a run.
    #[inline(always)]
    fn restart(&mut self, start: u32, lanes: LaneMask) {
        (self.start, self.lanes, self.idle) = (start, lanes, 0);
    }

    /// Warp instructions up to the one at `position`, this one included.
    fn ran_at(&self, position: u32) -> u64 {
        self.ran + u64::from(position + 1 - self.start)
    }
}

/// Where a run from `position` on must stop, with `most` instructions left: at the place `stop` of
/// another group, which only a group whose turn it is out of order may be beyond.
#[inline(always)]
fn run_end(position: u32, stop: u32, most: u64, fair: bool) -> u32 {
    let far = position.saturating_add(most.min(u32::MAX.into()) as u32);
    if position < stop {
        far.min(stop)
    } else if fair && position > stop {
        far
    } else {
        position
    }
}
