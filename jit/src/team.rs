//! Runs of one warp, and of several together: which stretch of code comes next.
//!
//! Lanes that part at a branch stand aside until those at the lower position meet them (thread frontiers). Of several
//! warps those at the lowest position run, one after the other, each until it has to wait for the others; one whose lanes
//! part stands until the others have come so far, and then runs alone until its lanes have met. A barrier that all
//! have reached is passed.

use crate::context::{
    APART, Aside, CALLED, Context, EXITED, MOST, MOVED, PARTED, PARTS, Progress, Runner, Until, WAITING,
    share,
};
use crate::host::Compiled;
use crate::lowest::Lowest;
use semantics::lanes::LaneMask;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Where all warps of a team stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    Barrier(u32),
    /// At exits.
    End,
}

impl Runner {
    /// The lowest position at which lanes stand aside.
    fn lowest(&self) -> Option<usize> {
        (0..self.aside.len()).min_by_key(|&at| self.aside[at].position)
    }

    /// Passed so many barriers.
    #[inline(always)]
    fn pass(&mut self, barriers: u64) {
        self.ran.steps += barriers;
        self.ran.threads += barriers * self.width;
    }

    /// Goes two ways at the branch at its position, which is counted: the lower one, for so long while others stand aside.
    fn part(&mut self, target: u32, taken: LaneMask, patience: u64) {
        let rest = self.lanes & !taken;
        let through = self.position + 1;
        let ways = [(target, taken), (through, rest)];
        let [low, high] = if target < through { ways } else { [ways[1], ways[0]] };
        self.ran.parted += 1;
        if self.aside.is_empty() {
            (self.parted_at, self.patience, self.reads) = (self.ran.steps, patience, 0);
        }
        self.patience = self.patience.min(patience);
        (self.position, self.lanes) = low;
        self.stand_aside(Aside { position: high.0, lanes: high.1, last_run: self.ran.steps });
    }

    /// Lanes that parted in code stand aside.
    fn stand_apart(&mut self, wary: u64) {
        self.end &= !APART;
        let behind = self.behind;
        for (at, lanes) in behind.lanes.into_iter().enumerate().filter(|(_, lanes)| *lanes != 0) {
            let last_run = self.ran.steps - (self.went - behind.left_after[at]);
            if self.aside.is_empty() {
                self.parted_at = last_run;
                // The other kind stays only if the host ended the run.
                (self.patience, self.reads) = if at == 0 { (behind.patience, self.reads) } else { (wary, 0) };
            }
            self.stand_aside(Aside { position: behind.meetings[at], lanes, last_run });
        }
    }

    fn stand_aside(&mut self, one: Aside) {
        match self.aside.iter_mut().find(|other| other.position == one.position) {
            Some(other) => other.lanes |= one.lanes,
            None => self.aside.push(one),
        }
    }

    /// Meets those that stand aside where it has come, or lets those go on that are behind.
    fn meet(&mut self) {
        while let Some(lowest) = self.lowest() {
            let Aside { position, lanes, .. } = self.aside[lowest];
            if position > self.position {
                return;
            }
            if position == self.position {
                self.lanes |= lanes;
                self.aside.swap_remove(lowest);
                continue;
            }
            match self.aside.iter_mut().find(|other| other.position == self.position) {
                Some(others) => {
                    others.lanes |= self.lanes;
                    self.aside.swap_remove(lowest);
                }
                None => {
                    let last_run = self.ran.steps;
                    self.aside[lowest] = Aside { position: self.position, lanes: self.lanes, last_run };
                }
            }
            (self.position, self.lanes) = (position, lanes);
        }
    }
}

/// The numbers of ones, from the lowest on.
fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let one = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (one < MOST).then_some(one)
    })
}

impl Compiled {
    /// Runs a warp, or a group of its lanes. Once lanes have stood aside for as long as the context has patience, it is the
    /// caller who decides.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    pub unsafe fn run_alone(&self, context: &mut Context, runner: &mut Runner, until: Until) {
        let runner: *mut Runner = runner;
        (context.first, context.team[0]) = (runner, runner);
        // SAFETY: the caller's.
        unsafe { self.go_alone(context, 0, until) }
    }

    /// The same for the one of the context's team that has this number. It leaves barriers to its caller.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`]; nobody borrows it.
    unsafe fn go_alone(&self, context: &mut Context, number: u32, until: Until) {
        let counted = std::mem::take(&mut context.most_counted);
        // SAFETY: the caller's.
        unsafe { self.go_on_alone(context, number, until) };
        context.most_counted = counted;
    }

    unsafe fn go_on_alone(&self, context: &mut Context, number: u32, until: Until) {
        (context.together, context.rounds) = (0, std::ptr::null());
        let Until { stop, most, whole: until_whole } = until;
        let pointer = context.team[number as usize];
        // SAFETY: the caller's. While code runs, it is that who has it.
        let mut runner = unsafe { &mut *pointer };
        let last = runner.ran.steps + most;
        let rest = |runner: &Runner| {
            let last = match runner.aside[..] {
                [] => last,
                _ => last.min(runner.parted_at.saturating_add(runner.patience)),
            };
            last.saturating_sub(runner.ran.steps)
        };
        loop {
            let near = runner.lowest().map_or(stop, |at| runner.aside[at].position.min(stop));
            let rest_now = rest(runner);
            if !self.fits(runner.position, near, rest_now) {
                return;
            }
            (context.stop, context.most) = (near, rest_now);
            runner.count_lanes();
            let (round, whole) = (number..number + 1, runner.lanes == LaneMask::MAX);
            // Code tells it of lanes that part in it.
            let reads = (!runner.aside.is_empty()).then_some((runner.reads, context.reads));
            // SAFETY: the caller's.
            if !unsafe { self.go(context, runner.position, round, whole) } {
                return;
            }
            // SAFETY: as above.
            runner = unsafe { &mut *pointer };
            runner.position = context.positions[number as usize].load(Relaxed) & !EXITED;
            if let Some((before, begun)) = reads {
                runner.reads = before + (context.reads - begun);
            }
            if runner.end & APART != 0 {
                runner.stand_apart(context.wary);
            }
            match runner.end {
                PARTED => {
                    runner.ran.threads -= u64::from((runner.lanes & !runner.taken).count_ones());
                    let patience = self.patience(context, runner.position);
                    runner.part(self.target(runner.position), runner.taken, patience);
                }
                CALLED => {
                    runner.called = Some(runner.went);
                    return;
                }
                _ if runner.went == 0 => return,
                _ => {}
            }
            // At the end nobody meets: others may have their turn.
            if rest(runner) == 0 {
                return;
            }
            runner.meet();
            if until_whole && runner.aside.is_empty() {
                return;
            }
        }
    }

    /// Whether it is worth to begin where the lowest of runners that run together stand, for about so many steps of all.
    #[inline(always)]
    pub fn begins_for(&self, runners: &[Runner], most: u64) -> bool {
        let position =
            |at| runners.get(at).map_or(u32::MAX, |runner: &Runner| runner.position | waiting(runner));
        let positions = std::array::from_fn(|at| AtomicU32::new(position(at)));
        let members = runners.len().min(MOST);
        // SAFETY: there is code only where the CPU has at least these.
        let lowest = unsafe { Lowest::of(&positions, members) };
        self.begins(lowest.position, lowest.next, share(most, PARTS[lowest.count()]), lowest.count() > 1)
    }

    /// Runs warps as if all made each step together, for about so many steps in all: first so many of them as `team` says up
    /// to a barrier, then the next ones. `all`: they are all of their block, pass its barriers and may end it.
    ///
    /// # Safety
    /// The rows and predicates of the runners must be valid for all slots of the program, rows of the frame for writes;
    /// the context's windows for all positions, and each for its bytes as long as the generation is fresh; `call` must be
    /// sound for `host`; the functions of [`Program::lanes`](crate::Program::lanes) for the CPU and for those slots.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub unsafe fn run_teams(
        &self,
        context: &mut Context,
        runners: &mut [Runner],
        team: usize,
        most: u64,
        all: bool,
    ) -> Progress {
        // SAFETY: the caller's.
        unsafe { self.compare_windows(context) };
        let mut left = most as i64;
        let mut progress = Progress::default();
        context.first = runners.as_ptr();
        context.completed = 0;
        let team = team.clamp(1, MOST);
        // Several teams meet at each barrier, one passes it by itself.
        let one = runners.len() <= team;
        debug_assert!(context.most_counted == 0 || all && one, "all warps of the block are in one team");
        loop {
            let mut stand = None;
            for team in runners.chunks_mut(team) {
                // SAFETY: the caller's.
                let reached = unsafe { self.run_team(context, team, &mut left, all && one, &mut progress) };
                progress.completed = context.completed;
                if reached.is_none() || stand.is_some() && stand != reached {
                    return progress;
                }
                stand = reached;
            }
            if !all || stand.is_none() {
                return progress;
            }
            if stand == Some(Stand::End) {
                return Progress { over: true, ..progress };
            }
            left -= runners.len() as i64;
            progress.barriers += 1;
            for runner in runners.iter_mut() {
                runner.pass(1);
                runner.position += 1;
            }
        }
    }

    /// A position, behind all others if it is an exit.
    fn marked(&self, position: u32) -> u32 {
        if self.is_exit(position) { position | EXITED } else { position }
    }

    /// Runs one team; where all of it stand, if that is at a barrier or their ends. `all`: it passes barriers, which are counted.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn run_team(
        &self,
        context: &mut Context,
        runners: &mut [Runner],
        left: &mut i64,
        all: bool,
        progress: &mut Progress,
    ) -> Option<Stand> {
        // Who has not all lanes.
        let mut partial = 0;
        context.positions = [const { AtomicU32::new(u32::MAX) }; MOST];
        for (at, runner) in runners.iter().enumerate() {
            context.positions[at] = (self.marked(runner.position) | waiting(runner)).into();
            partial |= u32::from(runner.lanes != LaneMask::MAX) << at;
        }
        // From here on runners are borrowed one by one, for code has them, too.
        let (first, members) = (runners.as_mut_ptr(), runners.len());
        for (at, place) in context.team[..members].iter_mut().enumerate() {
            *place = first.wrapping_add(at);
        }
        // SAFETY: the caller's.
        let stand = unsafe { self.run_members(context, (members, partial), left, all, progress) };
        for (runner, position) in runners.iter_mut().zip(&context.positions) {
            let position = position.load(Relaxed);
            (runner.position, runner.waits) = (position & !(EXITED | WAITING), position & WAITING != 0);
        }
        stand
    }

    /// The same for the team of a context, of so many members, some of which have not all lanes.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`]; nobody borrows one of the team.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn run_members(
        &self,
        context: &mut Context,
        (members, partial): (usize, u32),
        left: &mut i64,
        all: bool,
        progress: &mut Progress,
    ) -> Option<Stand> {
        let everyone = u32::MAX >> (MOST - members);
        // Where some may wait for a count, code does not pass barriers of all by itself.
        let passing = if all && context.most_counted == 0 { members as u32 } else { 0 };
        (context.members, context.passing) = (members as u32, passing);
        context.passed = 0;
        let mut lowest = Lowest::of(&context.positions, members);
        let stand = loop {
            if *left <= 0 {
                break None;
            }
            let Lowest { position: low, next, runners: mut here, others } = lowest;
            if low & WAITING != 0 {
                break None;
            }
            if low & EXITED != 0 {
                let waits = |position: &AtomicU32| position.load(Relaxed) & WAITING != 0;
                break (!context.positions[..members].iter().any(waits)).then_some(Stand::End);
            }
            if self.is_barrier(low) {
                if here != everyone || context.counts() {
                    break None;
                }
                if !all {
                    break Some(Stand::Barrier(low));
                }
                context.passed += 1;
                lowest.position = self.marked(low + 1);
                for position in &mut context.positions[..members] {
                    *position = lowest.position.into();
                }
                *left -= members as i64;
                continue;
            }
            let count = lowest.count();
            let most = share(*left as u64, PARTS[count]);
            if !self.fits(low, next, most) {
                break None;
            }
            (context.stop, context.most, context.together) = (next, most, (count > 1).into());
            (context.total, context.ends, context.left) = (0, MOVED, *left);
            let (mut rest, whole) = (here, here & partial == 0);
            // Code begins further rounds where these are a range of the team, or all of it.
            let range = here >> here.trailing_zeros();
            let chained = partial == 0 && range & range.wrapping_add(1) == 0;
            context.rounds = if chained { self.rounds() } else { std::ptr::null() };
            context.part = PARTS[count];
            context.joined_part = if here | others == everyone { PARTS[members] } else { 0 };
            let mut made = true;
            while rest != 0 {
                let first = rest.trailing_zeros();
                let behind = first + (rest >> first).trailing_ones();
                // SAFETY: the caller's.
                made &= unsafe { self.go(context, low, first..behind, whole) };
                rest &= rest.wrapping_add(1 << first);
            }
            if chained {
                here = (everyone >> (members as u32 - context.end)) & (u32::MAX << context.begin);
            }
            let begun = context.left;
            *left = begun - context.total as i64;
            if context.ends == MOVED && context.total != 0 {
                let mut ends =
                    context.positions[..members].iter().rev().map(|position| position.load(Relaxed));
                let end = ends.next().unwrap_or_default();
                lowest = match here == everyone && ends.all(|other| other == end) {
                    true => Lowest { position: end, next: u32::MAX, runners: everyone, others: 0 },
                    false => Lowest::of(&context.positions, members),
                };
                continue;
            }
            if !made || context.ends == MOVED {
                break None;
            }
            progress.barriers += context.passed;
            // SAFETY: the caller's; these ran.
            let goes_on = unsafe {
                pass(&context.team[..members], std::mem::take(&mut context.passed));
                self.end_round(context, here, begun, left, progress)
            };
            if !goes_on {
                break None;
            }
            lowest = Lowest::of(&context.positions, members);
        };
        progress.barriers += context.passed;
        // SAFETY: the caller's.
        unsafe { pass(&context.team[..members], context.passed) };
        stand
    }

    /// What follows a round of these where not all moved only; false if the caller is to look. When it began, so many steps
    /// were left.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`]; these are among the context's team, and borrowed by nobody.
    unsafe fn end_round(
        &self,
        context: &mut Context,
        here: u32,
        begun: i64,
        left: &mut i64,
        progress: &mut Progress,
    ) -> bool {
        let (mut called, mut parted, mut apart) = (false, 0u32, 0u32);
        for at in ones(here) {
            // SAFETY: the caller's.
            let runner = unsafe { &mut *context.team[at] };
            if runner.end & APART != 0 {
                runner.stand_apart(context.wary);
                apart |= u32::from(runner.end != PARTED) << at;
            }
            if runner.end == PARTED {
                runner.ran.steps -= 1;
                runner.ran.branches -= 1;
                runner.ran.threads -= u64::from(runner.lanes.count_ones());
                *left += 1;
                parted |= 1 << at;
            } else if runner.end == CALLED {
                runner.called = Some(runner.went);
                called = true;
            }
        }
        let (count, stood) = (u64::from(here.count_ones()), context.total == 0 && parted == 0);
        // Of those that went on alone in code one has not come to its end: it comes first.
        for at in ones(apart) {
            // SAFETY: the caller's.
            let mut runner = unsafe { &mut *context.team[at] };
            runner.position = context.positions[at].load(Relaxed);
            let before = runner.ran.steps;
            if !called {
                let until = Until { stop: u32::MAX, most: (*left).max(0) as u64, whole: true };
                // SAFETY: the caller's.
                runner = unsafe {
                    self.go_alone(context, at as u32, until);
                    &mut *context.team[at]
                };
            }
            runner.count_lanes();
            context.positions[at] = self.marked(runner.position).into();
            *left -= (runner.ran.steps - before) as i64;
            progress.ahead = 0;
            if runner.called.is_some() || !runner.aside.is_empty() {
                return false;
            }
        }
        // Those whose lanes part go on alone, in the order in which they came to do so; the others count as if they stood
        // at the branch.
        let mut alone = 0;
        // SAFETY: the caller's.
        while let Some(at) = ones(parted).min_by_key(|&at| unsafe { (*context.team[at]).went }) {
            parted &= !(1 << at);
            // SAFETY: the caller's.
            let mut runner = unsafe { &mut *context.team[at] };
            runner.position = context.positions[at].load(Relaxed);
            let (taken, before) = (runner.taken, runner.ran.steps);
            runner.ran.steps += 1;
            runner.ran.branches += 1;
            runner.ran.threads += u64::from(taken.count_ones());
            let patience = self.patience(context, runner.position);
            runner.part(self.target(runner.position), taken, patience);
            let at_branch = begun - (count * runner.went) as i64 - alone;
            let until = Until { stop: u32::MAX, most: at_branch.max(0) as u64, whole: true };
            // SAFETY: the caller's.
            runner = unsafe {
                self.go_alone(context, at as u32, until);
                &mut *context.team[at]
            };
            runner.count_lanes();
            context.positions[at] = self.marked(runner.position).into();
            let own = (runner.ran.steps - before) as i64;
            *left -= own;
            alone += own - 1;
            progress.ahead = (at_branch - (own - 1) - *left).max(0) as u64;
            if runner.called.is_some() || !runner.aside.is_empty() {
                return false;
            }
        }
        !called && !stood
    }
}

/// What is added to the position of one that waits.
fn waiting(runner: &Runner) -> u32 {
    if runner.waits { WAITING } else { 0 }
}

/// Runners passed so many barriers.
///
/// # Safety
/// They exist, and nobody borrows one.
unsafe fn pass(runners: &[*mut Runner], count: u64) {
    for &runner in runners {
        // SAFETY: the caller's.
        unsafe { (*runner).pass(count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Storage, Window};

    fn runner(position: u32, lanes: LaneMask, aside: &[(u32, LaneMask)]) -> Runner {
        let aside = aside.iter().map(|&(position, lanes)| Aside { position, lanes, last_run: 0 });
        let null = std::ptr::null_mut();
        let storage = Storage { rows: [null; 2], predicates: null.cast(), local: Window::NONE };
        let mut runner = Runner::new(storage, position, lanes);
        runner.aside.extend(aside);
        runner
    }

    fn state(runner: &Runner) -> (u32, LaneMask, Vec<(u32, LaneMask)>) {
        let aside = runner.aside.iter().map(|aside| (aside.position, aside.lanes)).collect();
        (runner.position, runner.lanes, aside)
    }

    #[test]
    fn lanes_that_part_take_the_lower_way_and_meet_again() {
        let mut warp = runner(5, 0xff, &[]);
        warp.part(9, 0x0f, 99);
        assert_eq!(state(&warp), (6, 0xf0, vec![(9, 0x0f)]));
        warp.position = 9;
        warp.meet();
        assert_eq!(state(&warp), (9, 0xff, vec![]));
    }

    #[test]
    fn those_behind_go_on_first() {
        let mut warp = runner(20, 1, &[(9, 2), (20, 4), (12, 8)]);
        warp.meet();
        assert_eq!(state(&warp), (9, 2, vec![(12, 8), (20, 5)]));
        // A loop that lanes leave one after the other.
        let mut warp = runner(7, 0b111, &[]);
        warp.part(3, 0b110, 99);
        assert_eq!(state(&warp), (3, 0b110, vec![(8, 1)]));
        warp.position = 7;
        warp.part(3, 0b100, 99);
        assert_eq!(state(&warp), (3, 0b100, vec![(8, 0b011)]));
    }
}
