//! The interpreter's loop: runs the groups of one warp.

use std::sync::atomic::{Ordering, fence};

use ptx_frontend::MemOrder;

use super::access::{At, Direction};
use super::barrier::Arrival;
use super::cta::Cta;
use super::fault::Fault;
use super::warp::{FrameId, Group, ROOT, Wait, Warp};
use super::worker::{HEAVY, Worker};
use crate::code::Action;
use crate::finding::FindingKind;
use crate::lanes::{LaneMask, Pred, Registers};
use crate::observer::Observer;
use crate::watch::WarpId;

/// One warp of one block on one worker.
pub(super) struct Machine<'a, 'g, O> {
    pub worker: &'a mut Worker<'g, O>,
    pub cta: &'a mut Cta,
    /// The warp.
    pub index: usize,
    /// It stops as soon as the warp is whole: see [`Warp::is_whole`].
    pub until_whole: bool,
}

/// Why a warp stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// Its turn is over.
    Slice,
    /// None of its groups can run: all wait, or all lanes are gone.
    Blocked,
    /// The launch ends.
    Stopped,
}

/// Why a group stopped.
enum Event {
    /// It stands where it should wait for others, or its slice is over.
    Switch,
    /// It asked to let others run.
    GiveWay,
    /// Loads that it put off stay outstanding while other warps run.
    Late,
    /// Its lanes exited or faulted.
    Gone,
    /// It arrived at a barrier with these active lanes.
    Barrier(LaneMask),
    /// The whole warp arrived at a barrier and waits; its entry says so.
    Waits,
    /// It waits for other lanes.
    Members(LaneMask),
    Fault(Box<Fault>),
}

/// Instructions a group runs before others that are ready get a turn, when it may wait for them.
const GROUP_SLICE: u64 = 256;
/// The same when it does nothing that could wait for another thread.
const BUSY_GROUP_SLICE: u64 = 65_536;

/// What a call counts as, of the instructions between two looks at the clock: memory may grow.
const CALL: u64 = 64;

impl<O: Observer> Machine<'_, '_, O> {
    #[inline(always)]
    pub(super) fn warp(&self) -> &Warp {
        &self.cta.warps[self.index]
    }

    #[inline(always)]
    pub(super) fn warp_mut(&mut self) -> &mut Warp {
        &mut self.cta.warps[self.index]
    }

    /// What watchers call this warp.
    pub(super) fn warp_id(&self) -> WarpId {
        WarpId { block: self.cta.index, warp: self.index as u32 }
    }

    /// The registers as a frame of this warp sees them.
    pub(super) fn registers(&mut self, frame: FrameId) -> Registers {
        self.registers_of(self.index, frame)
    }

    /// The registers as a frame of some warp sees them.
    pub(super) fn registers_of(&mut self, warp: usize, frame: FrameId) -> Registers {
        let specials = self.worker.grid.code.warp_specials.len();
        let warp = &mut self.cta.warps[warp];
        let frame = warp.frame(frame);
        // The parts that are needed: a copy as a whole would wait for the writes of its fields.
        let (first_row, first_predicate) = (frame.rows as usize, frame.predicates as usize);
        let rows = warp.rows.as_mut_ptr();
        // SAFETY: `reset` and `enter` sized the rows and predicates for the specials and every frame;
        // decoding numbered slots within them. The view is not used beyond the next change of frames,
        // and rows and predicates are not accessed otherwise while it is.
        unsafe {
            Registers::new(
                rows.add(specials + first_row),
                rows,
                self.worker.grid.constants.as_ptr(),
                warp.predicates.as_mut_ptr().add(first_predicate),
            )
        }
    }

    /// Reports something that does not stop the thread.
    pub(super) fn note(&mut self, group: &Group, fault: Fault) {
        self.worker.grid.report(self.cta, self.index, group.frame, group.position, fault);
    }

    /// Runs the warp for about so many warp instructions; returns why it stopped and how many it ran.
    pub(super) fn run_warp(&mut self, slice: u64) -> (Pause, u64) {
        let mut left = slice as i64;
        let pause = self.run_groups(&mut left);
        (pause, (slice as i64 - left) as u64)
    }

    fn run_groups(&mut self, left: &mut i64) -> Pause {
        let mut fair = false;
        let mut busy = 0;
        while *left > 0 && !(self.until_whole && self.warp().is_whole()) {
            let chosen = match self.worker.random.as_mut().map(|random| (random.below(4), random.next())) {
                Some((0, pick)) => {
                    // It runs on from where it stands, also behind others.
                    fair = true;
                    let ready = |(_, group): &(usize, &Group)| group.wait == Wait::Ready;
                    let groups = &self.warp().groups;
                    let count = groups.iter().enumerate().filter(ready).count();
                    let nth = pick as usize % count.max(1);
                    groups.iter().enumerate().filter(ready).nth(nth).map(|(at, _)| at)
                }
                _ => self.warp().choose(fair),
            };
            let Some(chosen) = chosen else { return Pause::Blocked };
            let warp = self.warp_mut();
            let mut group = warp.start(chosen);
            let alone = warp.groups.len() == 1;
            let waits = self.worker.waits;
            let most = if alone { *left as u64 } else { (*left as u64).min(GROUP_SLICE) };
            let (ran, event) = self.run_group(&mut group, most, fair);
            *left -= ran as i64;
            let warp = self.warp_mut();
            let chosen = warp.running();
            warp.clock += ran;
            group.last_run = warp.clock;
            self.cta.clock += ran;
            // A group that used its slice gives way to others: at once if it may wait for them.
            busy += ran;
            let used = match event {
                Event::Switch => ran >= most && !alone,
                Event::GiveWay => !alone,
                _ => false,
            };
            fair = used && (self.worker.waits > waits || busy > BUSY_GROUP_SLICE);
            if fair {
                busy = 0;
            }
            match event {
                Event::Switch | Event::GiveWay => self.warp_mut().stop(chosen, &group, Wait::Ready),
                Event::Late => {
                    self.warp_mut().stop(chosen, &group, Wait::Ready);
                    *left = 0;
                }
                Event::Gone => {
                    let warp = self.warp_mut();
                    warp.groups.swap_remove(chosen);
                    warp.release(group.frame);
                    self.complete_collectives();
                    self.recheck_barriers();
                }
                Event::Waits => {
                    self.warp_mut().groups[chosen].last_run = group.last_run;
                    return Pause::Blocked;
                }
                Event::Barrier(active) => {
                    if let Err(fault) = self.arrive(chosen, &mut group, active) {
                        self.fault(chosen, &group, *fault);
                    }
                }
                Event::Members(members) => {
                    self.warp_mut().stop(chosen, &group, Wait::Members(members));
                    self.complete_collectives();
                }
                Event::Fault(fault) => {
                    self.fault(chosen, &group, *fault);
                    self.complete_collectives();
                    self.recheck_barriers();
                }
            }
            if self.worker.grid.stop.load(Ordering::Relaxed) {
                return Pause::Stopped;
            }
        }
        Pause::Slice
    }

    /// Ends a group that faulted: the lanes at fault are reported, the others go with them.
    pub(super) fn fault(&mut self, at: usize, group: &Group, fault: Fault) {
        self.note(group, fault);
        self.cta.faulted = true;
        let warp = self.warp_mut();
        warp.groups.swap_remove(at);
        warp.exited |= group.lanes;
        warp.faulted |= group.lanes;
        warp.release(group.frame);
    }

    /// Runs a group until it must stop; returns the instructions run.
    fn run_group(&mut self, group: &mut Group, mut most: u64, fair: bool) -> (u64, Event) {
        let code = self.worker.grid.code;
        let insts = &code.insts[..];
        let mut registers = self.registers(group.frame);
        let mut stop = self.warp().next_stop(group.frame);
        let mut position = group.position;
        let mut lanes = group.lanes;
        let mut counts = Counts::new(position, lanes);
        // Instructions follow each other from the start of a run to its end; what changes the position
        // otherwise, the lanes or `stop` starts a new one.
        let mut end = run_end(position, stop, most, fair);
        // With weak memory, also where loads that were put off must be done.
        let weak = self.worker.grid.weak.is_some();
        if weak {
            end = end.min(self.due(group.frame, lanes));
        }
        macro_rules! next_run {
            ($next:expr) => {{
                counts.close(position + 1, $next, lanes);
                position = $next;
                end = run_end(position, stop, most.saturating_sub(counts.ran), fair);
                continue;
            }};
        }
        let event = loop {
            if position >= end {
                counts.close(position, position, lanes);
                if weak && self.due(group.frame, lanes) <= position {
                    group.position = position;
                    if self.waits_on() {
                        break Event::Late;
                    }
                    if let Err(fault) = self.settle_due(&mut registers, group.frame, lanes, position) {
                        break Event::Fault(fault);
                    }
                    end = run_end(position, stop, most.saturating_sub(counts.ran), fair);
                    end = end.min(self.due(group.frame, lanes));
                    continue;
                }
                // Groups that meet in order need no scheduler; what it would do for one alone ends here.
                if counts.ran < most && !fair && self.worker.random.is_none() {
                    let warp = self.warp_mut();
                    let now = warp.clock + counts.ran;
                    if let Some(next) = warp.meet(position, lanes, group.frame, now) {
                        (position, lanes, stop) = next;
                        most = most.min(counts.ran + GROUP_SLICE);
                        counts.restart(position, lanes);
                        if self.until_whole && self.warp().groups.len() == 1 {
                            break Event::Switch;
                        }
                        end = run_end(position, stop, most - counts.ran, fair);
                        continue;
                    }
                }
                break Event::Switch;
            }
            let mut inst = &insts[position as usize];
            let mut active = lanes;
            if inst.guard != Pred::TRUE {
                active &= registers.predicate(inst.guard);
                if active != lanes {
                    counts.idle += u64::from((lanes & !active).count_ones());
                }
            }
            match &inst.action {
                Action::Lanes(run, operands) => {
                    // SAFETY: decoding took the function for a SIMD level that this CPU was found to
                    // have, and numbered its slots within this frame.
                    unsafe { run(&mut registers, operands, active) };
                    position += 1;
                    continue;
                }
                Action::BeforeBranch(run, operands) => {
                    // SAFETY: as above.
                    unsafe { run(&mut registers, operands, active) };
                    position += 1;
                    inst = &insts[position as usize];
                    active = lanes & registers.predicate(inst.guard);
                    if active != lanes {
                        counts.idle += u64::from((lanes & !active).count_ones());
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
                let [low, high] = two_ways(position, target, active, rest);
                group.position = position;
                self.warp_mut().fork(group, high.0, high.1);
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
            let at =
                |direction, access| At { access, direction, lanes: active, position, frame: group.frame };
            // Lanes whose guard is false go on alone when the others leave the straight path.
            macro_rules! split_rest {
                () => {
                    let rest = lanes & !active;
                    if rest != 0 {
                        let warp = self.warp_mut();
                        warp.fork(group, position + 1, rest);
                        counts.close(position + 1, position + 1, active);
                        group.lanes = active;
                        lanes = active;
                    }
                };
            }
            // After an instruction that may take long: the launch may be over.
            macro_rules! spend {
                ($work:expr) => {
                    if self.worker.spend($work) {
                        position += 1;
                        break Event::Switch;
                    }
                };
            }
            match &inst.action {
                Action::Lanes(..) | Action::BeforeBranch(..) | Action::Branch(_) | Action::Nothing => {}
                Action::Load(access) => {
                    let at = at(Direction::Load, access);
                    if weak {
                        match self.put_off(&mut registers, &at) {
                            Ok(None) => {}
                            Ok(Some(until)) => {
                                end = end.min(until);
                                position += 1;
                                continue;
                            }
                            Err(fault) => break Event::Fault(fault),
                        }
                    }
                    if let Err(fault) = self.load(&mut registers, &at) {
                        break Event::Fault(fault);
                    }
                    if O::ACTIVE || weak {
                        spend!(HEAVY);
                    }
                }
                Action::Store(access) => {
                    if let Err(fault) = self.store(&mut registers, &at(Direction::Store, access)) {
                        break Event::Fault(fault);
                    }
                    if O::ACTIVE || weak {
                        spend!(HEAVY);
                    }
                }
                Action::Atomic(atomic) => {
                    if let Err(fault) =
                        self.atomic(&mut registers, at(Direction::Atomic, &atomic.access), atomic)
                    {
                        break Event::Fault(fault);
                    }
                    if O::ACTIVE || weak {
                        spend!(HEAVY);
                    }
                }
                Action::Copy(index) => {
                    let copy = &code.copies[*index as usize];
                    if let Some(fault) = self.wrong_size(&registers, active, copy) {
                        self.worker.grid.report(self.cta, self.index, group.frame, position, fault);
                    }
                    let at = at(Direction::Load, &copy.from);
                    if let Err(fault) = self.copy(&mut registers, at, copy) {
                        break Event::Fault(fault);
                    }
                    spend!(HEAVY);
                }
                Action::Fence(order, scope) => {
                    fence(match order {
                        MemOrder::Sc => Ordering::SeqCst,
                        MemOrder::Acquire => Ordering::Acquire,
                        MemOrder::Release => Ordering::Release,
                        _ => Ordering::AcqRel,
                    });
                    if self.worker.grid.weak.is_some() {
                        self.weak_fence(active, *order, *scope);
                    }
                    let warp = self.warp_id();
                    if let Some(watcher) = self.worker.observer.watcher() {
                        watcher.fence(warp, active, *order, *scope);
                    }
                }
                Action::Copies(step) => {
                    let warp = self.warp_id();
                    if let Some(watcher) = self.worker.observer.watcher() {
                        watcher.copies(warp, active, *step);
                    }
                }
                Action::Barrier(barrier) => {
                    let strong = self.worker.grid.weak.is_none();
                    if !strong || !self.is_whole_for_barrier(self.index, active) {
                        break Event::Barrier(active);
                    }
                    match self.arrive_whole(active, barrier, &registers) {
                        Some(Arrival::Last | Arrival::GoesOn) => {}
                        Some(Arrival::Waits(id)) => {
                            position += 1;
                            // From the variables: the group's own fields would have to be written first.
                            if let Some(entry) = self.warp_mut().groups.first_mut() {
                                entry.position = position;
                                entry.lanes = lanes;
                                entry.frame = group.frame;
                                entry.wait = Wait::Barrier(id);
                            }
                            break Event::Waits;
                        }
                        None => break Event::Barrier(active),
                    }
                }
                Action::Warp(op) => {
                    split_rest!();
                    let members = op.members.map_or([active; 32], |slot| registers.read::<u32>(slot));
                    let first = members[active.trailing_zeros() as usize & 31];
                    let others = active & !lanes_with(&members, first);
                    if others != 0 {
                        // Lanes with another mask are another operation, as in tiles of a warp.
                        let warp = self.warp_mut();
                        warp.fork(group, position, others);
                        lanes &= !others;
                        group.lanes = lanes;
                    }
                    match self.collective(group, lanes, first, op) {
                        Ok(true) => {
                            // The rest stands right behind and joins at once.
                            stop = self.warp().next_stop(group.frame);
                            next_run!(position + 1);
                        }
                        Ok(false) => break Event::Members(first),
                        Err(fault) => break Event::Fault(fault),
                    }
                }
                Action::Matrix(index) => match self.matrix(&mut registers, group, active, *index) {
                    Ok(true) => spend!(HEAVY),
                    Ok(false) => break Event::Members(self.warp().live()),
                    Err(fault) => break Event::Fault(fault),
                },
                Action::ActiveMask(dst) => registers.write(*dst, active, &[active; 32]),
                Action::LocalAddress(to, offset) => {
                    let start = i64::from(self.warp().frame(group.frame).local_start);
                    write_uniform(&mut registers, *to, active, start.wrapping_add(*offset) as u64);
                }
                Action::ReadSpecial(special, to) => {
                    let value = self.changing_special(*special, counts.ran_at(position));
                    write_uniform(&mut registers, *to, active, value);
                }
                Action::Alloca(to, size, align) => {
                    match self.alloca(&registers, group, active, *size, *align) {
                        Ok(address) => write_uniform(&mut registers, *to, active, u64::from(address)),
                        Err(fault) => break Event::Fault(fault),
                    }
                }
                Action::StackSave(to) => {
                    let end = self.warp().frame(group.frame).local_end;
                    write_uniform(&mut registers, *to, active, u64::from(end));
                }
                Action::StackRestore(from) => self.stack_restore(&registers, group, active, *from),
                Action::BranchIndexed(index, table) => {
                    self.worker.stats.branches += 1;
                    split_rest!();
                    let table = &code.branch_tables[*table as usize];
                    let index = registers.read::<u32>(*index);
                    let mut rest = active;
                    let mut outside = 0;
                    while rest != 0 {
                        let first = index[rest.trailing_zeros() as usize];
                        let same = lanes_with(&index, first) & rest;
                        rest &= !same;
                        match table.get(first as usize) {
                            Some(&target) => {
                                let warp = self.warp_mut();
                                warp.fork(group, target, same);
                            }
                            None => outside |= same,
                        }
                    }
                    if outside != 0 {
                        group.lanes = outside;
                        let bad = index[outside.trailing_zeros() as usize];
                        let text =
                            format!("`brx.idx` with index {bad}, but the list has {} targets", table.len());
                        break Event::Fault(Box::new(Fault::new(FindingKind::InvalidTarget, outside, text)));
                    }
                    break Event::Gone;
                }
                Action::Call(call) => {
                    split_rest!();
                    if let Err(fault) = self.call(group, call.function, call.site) {
                        break Event::Fault(fault);
                    }
                    registers = self.registers(group.frame);
                    stop = self.warp().next_stop(group.frame);
                    if self.worker.spend(CALL) {
                        counts.close(position + 1, group.position, lanes);
                        position = group.position;
                        break Event::Switch;
                    }
                    next_run!(group.position);
                }
                Action::CallIndirect(target, call) => {
                    split_rest!();
                    let targets = registers.read::<u64>(*target);
                    let first = targets[active.trailing_zeros() as usize];
                    let same = lanes_with(&targets, first) & active;
                    let others = active & !same;
                    if others != 0 {
                        // Each callee is called by its own group.
                        let warp = self.warp_mut();
                        warp.fork(group, position, others);
                        group.lanes = same;
                        lanes = same;
                    }
                    let Some(&function) = self.worker.grid.functions_by_address.get(&first) else {
                        let text =
                            format!("indirect call of {first:#x}, which is not the address of a function");
                        break Event::Fault(Box::new(Fault::new(FindingKind::InvalidTarget, same, text)));
                    };
                    if let Err(fault) = self.call(group, function, call.site) {
                        break Event::Fault(fault);
                    }
                    registers = self.registers(group.frame);
                    stop = self.warp().next_stop(group.frame);
                    if self.worker.spend(CALL) {
                        counts.close(position + 1, group.position, lanes);
                        position = group.position;
                        break Event::Switch;
                    }
                    next_run!(group.position);
                }
                Action::CallRuntime(function, call) => {
                    if let Err(fault) = self.call_runtime(&mut registers, group, active, *function, call.site)
                    {
                        break Event::Fault(fault);
                    }
                    spend!(HEAVY);
                }
                Action::Return if group.frame != ROOT => {
                    split_rest!();
                    self.leave(group);
                    registers = self.registers(group.frame);
                    // Others may be deeper: let the scheduler look.
                    if self.warp().groups.len() > 1 {
                        counts.close(position + 1, group.position, lanes);
                        position = group.position;
                        break Event::Switch;
                    }
                    stop = u32::MAX;
                    next_run!(group.position);
                }
                Action::Return | Action::Exit => {
                    split_rest!();
                    self.warp_mut().exited |= active;
                    break Event::Gone;
                }
                Action::Sleep => {
                    self.worker.waits += 1;
                    if self.warp().groups.len() > 1 {
                        position += 1;
                        break Event::GiveWay;
                    }
                }
                Action::Trap => {
                    let fault = Fault::new(FindingKind::Trap, active, "`trap` was executed");
                    break Event::Fault(Box::new(fault));
                }
                Action::Breakpoint => {
                    let fault = Fault::new(
                        FindingKind::Breakpoint,
                        active,
                        "`brkpt` was executed and no debugger is attached",
                    );
                    break Event::Fault(Box::new(fault));
                }
                Action::Unsupported(index) => {
                    let what = &code.unsupported[*index as usize];
                    let fault =
                        Fault::new(FindingKind::Unsupported, active, format!("{what} is not supported yet"));
                    self.worker.grid.stop.store(true, Ordering::Relaxed);
                    break Event::Fault(Box::new(fault));
                }
            }
            position += 1;
        };
        let stays = matches!(event, Event::Fault(_) | Event::Barrier(_) | Event::Members(_));
        // What the group stands at was executed, except where it went on.
        let executed = !matches!(event, Event::Switch | Event::GiveWay | Event::Late | Event::Waits);
        counts.close(position + u32::from(executed), position, lanes);
        if !stays {
            group.position = position;
        }
        if !matches!(event, Event::Fault(_)) {
            group.lanes = lanes;
        }
        let stats = &mut self.worker.stats;
        stats.warp_instructions += counts.ran;
        stats.thread_instructions += counts.threads;
        (counts.ran, event)
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
pub(super) fn lane_count(lanes: LaneMask) -> u64 {
    if lanes == LaneMask::MAX { 32 } else { lanes.count_ones().into() }
}

/// Where the lanes go that take a branch to `target` and those that do not, the lower place first.
#[inline(always)]
pub(super) fn two_ways(position: u32, target: u32, taken: LaneMask, rest: LaneMask) -> [(u32, LaneMask); 2] {
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

/// The lanes that hold a value.
fn lanes_with<T: PartialEq>(values: &[T; 32], value: T) -> LaneMask {
    (0..32).fold(0, |lanes, lane| lanes | u32::from(values[lane] == value) << lane)
}

/// Writes the same value to the lanes of a register of 1 or 2 rows.
pub(super) fn write_uniform(
    registers: &mut Registers,
    to: crate::code::RegisterSlot,
    lanes: LaneMask,
    value: u64,
) {
    match to.rows {
        1 => registers.write(to.slot, lanes, &[value as u32; 32]),
        2 => registers.write(to.slot, lanes, &[value; 32]),
        _ => {}
    }
}
