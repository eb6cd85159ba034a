//! Warps of a block that run together, one instruction of all of them after the other.
//!
//! What the interpreter does once an instruction is then done once for many warps, one warp's results are
//! ready while the others run, and a barrier that all reach costs next to nothing. The warps at the lowest
//! position run until they reach those further on, as the groups of a warp do. Only whole warps take part: one
//! that diverges, calls a function or does something uncommon goes its own way, in [`super::single`], until it
//! is whole again.
//!
//! A schedule like any other; blocks whose schedule is random do without.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::Pause;
use super::single::{lane_count, two_ways};
use crate::code::{Action, Barrier, WarpOp};
use crate::machine::Machine;
use crate::machine::frame::ROOT;
use crate::machine::warp::{Group, Wait};
use crate::observer::Observer;
use crate::ops::barrier::Arrival;
use crate::ops::flow::Flow;
use crate::ops::keeps_whole;
use crate::tools::{Event, Wants};
use semantics::lanes::{FULL, LaneMask, Pred, Registers};

/// Rows of registers that warps running together may have: about half of a first-level cache.
const TEAM_ROWS: usize = 192;
/// Warps that run together at most: those of a block of 1024 threads.
const MOST: usize = 32;
/// The position of a warp that has left.
const LEFT: u32 = u32::MAX;

/// Warps that run together: first those at the lowest position, which run, in order of their index.
struct Team {
    members: SmallVec<[Member; MOST]>,
    /// How many run.
    count: usize,
    /// The lowest position of the others.
    next: u32,
    /// Lanes of those that run.
    width: u64,
}

struct Member {
    /// Index in the block.
    index: usize,
    position: u32,
    lanes: LaneMask,
    registers: Registers,
}

impl Member {
    #[inline(always)]
    fn active(&self, guard: Pred) -> LaneMask {
        if guard == Pred::TRUE { self.lanes } else { self.lanes & self.registers.predicate(guard) }
    }

    /// The group that it is.
    fn group(&self, position: u32) -> Group {
        Group::of_kernel(position, self.lanes)
    }
}

/// What became of a run of instructions.
pub(super) enum Run {
    /// Positions changed: others may be the lowest.
    Moved,
    /// A barrier is complete: more warps can run.
    Released,
    /// All have exited.
    Over,
}

/// What a stretch of running together ended with.
pub(crate) struct Together {
    pub pause: Pause,
    /// Warp instructions run.
    pub ran: u64,
    /// Some warps could run and did not.
    pub left_out: bool,
}

impl Together {
    /// Nothing can run on, after so many instructions.
    fn over(ran: i64) -> Together {
        Together { pause: Pause::Blocked, ran: ran as u64, left_out: false }
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Runs the whole warps of the block together for about `slice` instructions in all; `None` if there
    /// are fewer than two, of a block that has so many.
    pub(crate) fn run_together(&mut self, slice: u64) -> Option<Together> {
        let (mut left, spins) = (slice as i64, self.worker.spins);
        let mut first = true;
        // A block that code runs from its start to its end needs no team.
        if self.stands_at_code() {
            match self.run_in_code(self.most_together(), &mut left) {
                Some(Run::Over) => return Some(Together::over(slice as i64 - left)),
                Some(_) => first = false,
                None => {}
            }
            if self.worker.grid.stop.load(Ordering::Relaxed) {
                left = 0;
            }
        }
        let mut team = Team { members: SmallVec::new(), count: 0, next: LEFT, width: 0 };
        loop {
            if left <= 0 || self.worker.has_spun(spins) {
                let stopped = self.worker.grid.stop.load(Ordering::Relaxed);
                let pause = if stopped { Pause::Stopped } else { Pause::Slice };
                let ran = (slice as i64 - left) as u64;
                return Some(Together { pause, ran, left_out: self.leaves_out() });
            }
            if !self.assemble(&mut team) {
                return (!first).then_some(Together::over(slice as i64 - left));
            }
            first = false;
            while left > 0 && !self.worker.has_spun(spins) && team.choose() {
                let run = self.run_team(&mut team, &mut left);
                if let Run::Over = run {
                    return Some(Together::over(slice as i64 - left));
                }
                if self.worker.grid.stop.load(Ordering::Relaxed) {
                    left = 0;
                }
                if let Run::Released = run
                    && !self.welcome(&mut team)
                {
                    break;
                }
            }
            self.park_all(&team);
        }
    }

    /// Whether some warps can run besides the whole ones at the lowest position, which run first.
    fn leaves_out(&self) -> bool {
        let warps = &self.cta.warps[..];
        let whole = || warps.iter().filter(|warp| warp.is_whole()).map(|warp| warp.groups[0].position);
        let lowest = whole().min();
        let ready = (0..warps.len()).filter(|&warp| self.cta.can_run(warp)).count();
        ready > whole().filter(|&position| Some(position) == lowest).count()
    }

    /// How many warps may run together.
    fn most_together(&self) -> usize {
        let rows = self.cta.warps.first().map_or(0, |warp| warp.rows.len());
        (TEAM_ROWS / rows.max(1)).clamp(4, MOST)
    }

    /// Makes a team of the warps that can run together; false if there are fewer than two, of a block that has so many.
    fn assemble(&mut self, team: &mut Team) -> bool {
        team.members.clear();
        let most = self.most_together();
        for index in 0..self.cta.warps.len() {
            let warp = &self.cta.warps[index];
            if warp.is_whole() && team.members.len() < most {
                let (lanes, position) = (warp.groups[0].lanes, warp.groups[0].position);
                let registers = self.registers_of(index, ROOT);
                team.members.push(Member { index, position, lanes, registers });
            }
        }
        team.members.len() > usize::from(self.cta.warps.len() > 1)
    }

    /// Members that had left and are whole again run on; false if there are other warps, which may run too.
    fn welcome(&mut self, team: &mut Team) -> bool {
        let all = team.members.len() == self.cta.warps.len();
        if all {
            let left = |member: &&mut Member| member.position == LEFT;
            team.members.iter_mut().filter(left).for_each(|member| self.renew(member));
        }
        all
    }

    /// Takes a member's state from its warp, if that is whole.
    fn renew(&mut self, member: &mut Member) {
        let warp = &self.cta.warps[member.index];
        member.position = LEFT;
        if let ([group], true) = (&warp.groups[..], warp.is_whole()) {
            (member.position, member.lanes) = (group.position, group.lanes);
            member.registers = self.registers_of(member.index, ROOT);
        }
    }

    /// Leaves the state of all members where the interpreter of single warps looks for it.
    fn park_all(&mut self, team: &Team) {
        for member in team.members.iter().filter(|member| member.position != LEFT) {
            self.park(member, member.position);
        }
    }

    /// Leaves a member's state where the interpreter of single warps looks for it.
    fn park(&mut self, member: &Member, position: u32) {
        let warp = &mut self.cta.warps[member.index];
        let clock = warp.clock;
        if let Some(entry) = warp.groups.first_mut() {
            entry.position = position;
            entry.lanes = member.lanes;
            entry.last_run = clock;
        }
    }

    /// A member goes its own way from `position` on until it is whole again, or cannot go on.
    fn part(&mut self, member: &mut Member, position: u32, left: &mut i64) {
        self.park(member, position);
        self.rejoin(member, 1, left);
    }

    /// The warp of a member runs alone for `least` instructions and then until it is whole again.
    fn rejoin(&mut self, member: &mut Member, least: u64, left: &mut i64) {
        self.make_whole(member.index, least, left);
        self.renew(member);
    }

    /// A warp runs alone for `least` instructions and then until it is whole again, or cannot go on.
    pub(super) fn make_whole(&mut self, warp: usize, least: u64, left: &mut i64) {
        self.index = warp;
        let spins = self.worker.spins;
        if least > 0 {
            *left -= self.run_warp(least).1 as i64;
        }
        if *left > 0 && !self.warp().is_whole() && !self.worker.has_spun(spins) {
            self.until_whole = true;
            *left -= self.run_warp(*left as u64).1 as i64;
            self.until_whole = false;
        }
    }

    /// Accounts for the instructions before `end` of a run.
    fn account(&mut self, here: &[Member], width: u64, run: (u32, u32), idle: u64, left: &mut i64) {
        self.tell_of_run(run.0, run.1, here.len(), width);
        if self.wants(Wants::WAYS) {
            here.iter().for_each(|member| self.tell_of_way(member.index, member.lanes, run.0, run.1));
        }
        let each = u64::from(run.1 - run.0);
        let all = each * here.len() as u64;
        let stats = &mut self.worker.stats;
        stats.warp_instructions += all;
        stats.thread_instructions += each * width - idle;
        self.cta.clock += all;
        for member in here {
            self.cta.warps[member.index].clock += each;
        }
        *left -= all as i64;
    }

    /// Runs those at the lowest position until they reach others, or go different ways.
    fn run_team(&mut self, team: &mut Team, left: &mut i64) -> Run {
        let code = self.worker.grid.code;
        let insts = &code.insts[..];
        let (width, next) = (team.width, team.next);
        let compiled = self.gainful();
        let together = team.count > 1;
        let most = ((*left).max(0) as u64).div_ceil(team.count.max(1) as u64);
        let mut start = team.members.first().map_or(LEFT, |member| member.position);
        if compiled.is_some_and(|compiled| compiled.begins(start, next, most, together)) {
            self.park_all(team);
            if let Some(run) = self.run_in_code(self.most_together(), left) {
                team.members.iter_mut().for_each(|member| self.renew(member));
                return run;
            }
        }
        let here = &mut team.members[..team.count];
        let mut position = start;
        let mut idle = 0;
        let count = here.len() as u64;
        // Up to where there is code.
        let until =
            |position: u32| compiled.map_or(next, |compiled| next.min(compiled.next(position, together)));
        let far = |position: u32, left: i64| {
            position.saturating_add((left.max(0) as u64).div_ceil(count).min(1 << 30) as u32)
        };
        let mut end = far(position, *left).min(until(position + 1));
        // Ends the run: all that run stand at a position.
        macro_rules! moved {
            ($end:expr, $to:expr) => {{
                self.account(here, width, (start, $end), idle, left);
                here.iter_mut().for_each(|member| member.position = $to);
            }};
        }
        loop {
            if position >= end {
                moved!(position, position);
                return Run::Moved;
            }
            let mut inst = &insts[position as usize];
            let guard = inst.guard;
            if let Action::Lanes(run, operands) | Action::BeforeBranch(run, operands) = &inst.action {
                // SAFETY: decoding took the function for a SIMD level that this CPU was found to have, and
                // numbered its slots within the kernel's frame.
                let run =
                    |member: &mut Member, active| unsafe { run(&mut member.registers, operands, active) };
                if guard == Pred::TRUE {
                    for member in here.iter_mut() {
                        let lanes = member.lanes;
                        self.tell_of_quotient(member.index, position, operands, &member.registers, lanes);
                        run(member, lanes);
                    }
                } else {
                    for member in here.iter_mut() {
                        let active = member.active(guard);
                        if active != member.lanes {
                            idle += lane_count(member.lanes & !active);
                            self.tell_of_guard(position, member.lanes & !active);
                        }
                        self.tell_of_quotient(member.index, position, operands, &member.registers, active);
                        run(member, active);
                    }
                }
                position += 1;
                // Slices end between a comparison and its branch as well.
                if matches!(inst.action, Action::Lanes(..)) || position >= end {
                    continue;
                }
                inst = &insts[position as usize];
            }
            let guard = inst.guard;
            if let Action::Branch(target) = inst.action {
                self.worker.stats.branches += count;
                let (mut taken, mut through) = (0, 0);
                for member in here.iter() {
                    let active = member.active(guard);
                    if active == member.lanes {
                        taken += 1;
                    } else {
                        idle += lane_count(member.lanes & !active);
                        self.tell_of_guard(position, member.lanes & !active);
                        through += u64::from(active == 0);
                    }
                }
                if through == count {
                    position += 1;
                    continue;
                }
                self.account(here, width, (start, position + 1), idle, left);
                if taken == count {
                    (start, position, idle) = (target, target, 0);
                    end = if *left > 0 { far(target, *left).min(until(target)) } else { target };
                    if target < next {
                        continue;
                    }
                    here.iter_mut().for_each(|member| member.position = target);
                    return Run::Moved;
                }
                for member in here {
                    let active = member.active(guard);
                    if active == member.lanes {
                        member.position = target;
                    } else if active == 0 {
                        member.position = position + 1;
                    } else {
                        self.split(member, active, position, target);
                        self.rejoin(member, 0, left);
                    }
                }
                return Run::Moved;
            }
            // Does an operation that keeps warps whole for each of them; leaves the loop if one did not go on.
            macro_rules! each {
                (|$registers:ident, $group:ident, $active:ident| $operation:expr) => {{
                    let mut gone = 0u32;
                    let mut over = false;
                    for (at, member) in here.iter_mut().enumerate() {
                        let $active = member.active(guard);
                        if $active != member.lanes {
                            idle += lane_count(member.lanes & !$active);
                            self.tell_of_guard(position, member.lanes & !$active);
                        }
                        if $active == 0 {
                            continue;
                        }
                        self.index = member.index;
                        let $group = &mut member.group(position);
                        let $registers = &mut member.registers;
                        match $operation {
                            Flow::Next => {}
                            Flow::Fault(fault) => {
                                self.fault(0, &member.group(position), *fault);
                                self.complete_collectives();
                                self.recheck_barriers();
                                gone |= 1 << at;
                            }
                            _ => over = true,
                        }
                    }
                    position += 1;
                    if gone == 0 && !over {
                        continue;
                    }
                    moved!(position, position);
                    for (at, member) in here.iter_mut().enumerate() {
                        if gone >> at & 1 != 0 {
                            member.position = LEFT;
                        }
                    }
                    return Run::Released;
                }};
            }
            match &inst.action {
                Action::Load(access) => {
                    each!(|registers, group, active| self.operate_load(registers, group, active, access))
                }
                Action::Store(access) => {
                    each!(|registers, group, active| self.operate_store(registers, group, active, access))
                }
                Action::Atomic(atomic) => {
                    each!(|registers, group, active| self.operate_atomic(registers, group, active, atomic))
                }
                Action::Warp(op) if alone(op, here, guard) => {
                    each!(|registers, group, active| self.warp_operation(registers, group, active, op))
                }
                Action::Nothing => position += 1,
                action if keeps_whole(action) || is_of_all_lanes(action, here, guard) => {
                    each!(|registers, group, active| self.operate_rarely(registers, group, active, action, 0))
                }
                Action::Barrier(barrier) => {
                    let whole =
                        |member: &Member| self.is_whole_for_barrier(member.index, member.active(guard));
                    if !here.iter().all(whole) {
                        moved!(position, position);
                        here.iter_mut().for_each(|member| self.part(member, position, left));
                        return Run::Released;
                    }
                    if let Some(id) = barrier.whole
                        && self.cta.open_barriers == 0
                        && here.len() == self.cta.warps.iter().filter(|warp| warp.live() != 0).count()
                    {
                        self.worker.stats.barriers += 1;
                        if O::ACTIVE {
                            self.tell_of_barrier(here, barrier, id, position);
                        }
                        position += 1;
                        continue;
                    }
                    moved!(position + 1, position + 1);
                    return self.arrive_together(here, barrier, position);
                }
                Action::Return | Action::Exit
                    if here.iter().all(|member| [0, member.lanes].contains(&member.active(guard))) =>
                {
                    for member in here.iter() {
                        let off = member.lanes & !member.active(guard);
                        idle += lane_count(off);
                        if off != 0 {
                            self.tell_of_guard(position, off);
                        }
                    }
                    moved!(position + 1, position + 1);
                    for member in here {
                        if member.active(guard) != 0 {
                            self.end_whole(member.index);
                            member.position = LEFT;
                        }
                    }
                    self.recheck_barriers();
                    return Run::Released;
                }
                _ => {
                    moved!(position, position);
                    here.iter_mut().for_each(|member| self.part(member, position, left));
                    return Run::Released;
                }
            }
        }
    }

    /// Whole warps, which stand behind a barrier already, arrive at it one after the other.
    #[inline(never)]
    fn arrive_together(&mut self, here: &mut [Member], barrier: &Barrier, position: u32) -> Run {
        let mut run = Run::Moved;
        for member in here {
            self.index = member.index;
            self.park(member, position + 1);
            match self.arrive_whole(&member.group(position), member.lanes, barrier, &member.registers) {
                Some(Arrival::Waits(id)) => {
                    self.warp_mut().groups[0].wait = Wait::Barrier(id);
                    member.position = LEFT;
                }
                Some(Arrival::GoesOn) => {}
                Some(Arrival::Last) => run = Run::Released,
                None => {
                    let mut group = member.group(position);
                    group.last_run = self.warp().clock;
                    if let Err(fault) = self.arrive(0, &mut group, member.lanes) {
                        self.fault(0, &group, *fault);
                        self.complete_collectives();
                        self.recheck_barriers();
                    }
                    member.position = LEFT;
                    run = Run::Released;
                }
            }
        }
        run
    }

    /// Tells tools that all live threads of the block arrive at a barrier, which thereby completes.
    fn tell_of_barrier(&mut self, here: &[Member], barrier: &Barrier, id: u8, position: u32) {
        if !self.wants(Wants::BARRIERS) {
            return;
        }
        let mut lanes = [0; MOST];
        here.iter().for_each(|member| lanes[member.index % MOST] = member.lanes);
        let lanes = &lanes[..self.cta.warps.len().min(MOST)];
        let (block, aligned) = (self.cta.index, barrier.aligned);
        let event = Event::BarrierOfAll { block, barrier: id, lanes, aligned, position };
        self.tell(Wants::BARRIERS, ROOT, &event);
    }

    /// A warp goes two ways at a branch.
    fn split(&mut self, member: &Member, active: LaneMask, position: u32, target: u32) {
        let rest = member.lanes & !active;
        self.worker.stats.divergent_branches += 1;
        self.tell(Wants::INSTRUCTIONS, ROOT, &Event::Diverged { position });
        let [low, high] = two_ways(position, target, active, rest);
        let warp = &mut self.cta.warps[member.index];
        let group = Group { last_run: warp.clock, ..member.group(position) };
        if let Some(entry) = warp.groups.first_mut() {
            (entry.position, entry.lanes, entry.last_run) = (low.0, low.1, group.last_run);
        }
        warp.fork(&group, high.0, high.1);
    }
}

/// Whether a matrix instruction waits for nobody: all lanes of all warps execute it.
fn is_of_all_lanes(action: &Action, here: &[Member], guard: Pred) -> bool {
    matches!(action, Action::Matrix(_)) && here.iter().all(|member| member.active(guard) == FULL)
}

/// Whether a warp-level operation waits for nobody: whole warps execute it, which nobody else is in, with
/// one mask for all lanes.
fn alone(op: &WarpOp, here: &[Member], guard: Pred) -> bool {
    op.members.is_none_or(|slot| slot.is_constant())
        && here.iter().all(|member| member.active(guard) == member.lanes)
}

impl Team {
    /// Puts those at the lowest position first; false if all have left.
    fn choose(&mut self) -> bool {
        let low = self.members.iter().map(|member| member.position).min().unwrap_or(LEFT);
        if low == LEFT {
            return false;
        }
        (self.count, self.next, self.width) = (0, LEFT, 0);
        for member in &self.members {
            if member.position == low {
                self.count += 1;
                self.width += lane_count(member.lanes);
            } else {
                self.next = self.next.min(member.position);
            }
        }
        let place = |member: &Member| (member.position != low, member.index);
        if !self.members.is_sorted_by_key(place) {
            self.members.sort_unstable_by_key(place);
        }
        true
    }
}
