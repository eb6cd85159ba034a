//! Runs of one warp, and of several together: which stretch of code comes next.
//!
//! Lanes that part at a branch stand aside until those at the lower position meet them (thread frontiers). Of several
//! warps those at the lowest position run, one after the other, each until it has to wait for the others; one whose lanes
//! part stands until the others have come so far, and then runs alone until its lanes have met. A barrier that all
//! have reached is passed.

use crate::context::{CALLED, Context, MOVED, PARTED, Runner};
use crate::host::Compiled;
use semantics::lanes::LaneMask;

/// Warps of a block.
const MOST: usize = 32;

impl Runner {
    #[inline(always)]
    fn count_lanes(&mut self) {
        self.width = if self.lanes == LaneMask::MAX { 32 } else { self.lanes.count_ones().into() };
    }

    /// The lowest position at which lanes stand aside.
    fn lowest(&self) -> Option<usize> {
        (0..self.aside.len()).min_by_key(|&at| self.aside[at].0)
    }

    /// Goes two ways at the branch at its position, which is counted: the lower one.
    fn part(&mut self, target: u32, taken: LaneMask) {
        let rest = self.lanes & !taken;
        let through = self.position + 1;
        let ways = [(target, taken), (through, rest)];
        let [low, high] = if target < through { ways } else { [ways[1], ways[0]] };
        self.ran.parted += 1;
        (self.position, self.lanes) = low;
        match self.aside.iter_mut().find(|(position, _)| *position == high.0) {
            Some((_, lanes)) => *lanes |= high.1,
            None => self.aside.push(high),
        }
    }

    /// Meets those that stand aside where it has come, or lets those go on that are behind.
    fn meet(&mut self) {
        while let Some(lowest) = self.lowest() {
            let (position, lanes) = self.aside[lowest];
            if position > self.position {
                return;
            }
            if position == self.position {
                self.lanes |= lanes;
                self.aside.swap_remove(lowest);
                continue;
            }
            match self.aside.iter_mut().find(|(other, _)| *other == self.position) {
                Some((_, others)) => {
                    *others |= self.lanes;
                    self.aside.swap_remove(lowest);
                }
                None => self.aside[lowest] = (self.position, self.lanes),
            }
            (self.position, self.lanes) = (position, lanes);
        }
    }
}

impl Compiled {
    /// Runs a warp, or a group of its lanes, for at most so many steps, up to a position; if `until_whole`, no further
    /// than until no lanes stand aside.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    pub unsafe fn run_alone(
        &self,
        context: &mut Context,
        runner: &mut Runner,
        stop: u32,
        most: u64,
        until_whole: bool,
    ) {
        context.together = 0;
        let last = runner.ran.steps + most;
        loop {
            let near = runner.lowest().map_or(stop, |at| runner.aside[at].0.min(stop));
            let rest = last.saturating_sub(runner.ran.steps);
            if !self.fits(runner.position, near, rest) {
                return;
            }
            (context.stop, context.most) = (near, rest);
            runner.count_lanes();
            let round = [&raw mut *runner, std::ptr::null_mut()];
            // SAFETY: the caller's.
            if !unsafe { self.go(context, runner.position, round.as_ptr(), runner.lanes == LaneMask::MAX) } {
                return;
            }
            match runner.end {
                PARTED => {
                    runner.ran.threads -= u64::from((runner.lanes & !runner.taken).count_ones());
                    runner.part(self.target(runner.position), runner.taken);
                    if self.waits {
                        return;
                    }
                }
                CALLED => {
                    runner.called = Some(runner.went);
                    return;
                }
                _ if runner.went == 0 => return,
                _ => {}
            }
            runner.meet();
            if until_whole && runner.aside.is_empty() {
                return;
            }
        }
    }

    /// Runs warps as if all made each step together, for about so many steps in all: first so many of them as `team` says up
    /// to a barrier, then the next ones. `all`: they are all of their block, and pass its barriers. Returns how many were
    /// passed.
    ///
    /// # Safety
    /// The rows and predicates of the runners must be valid for all slots of the program, rows of the frame for writes;
    /// the context's windows for all positions, and each for its bytes as long as the generation is fresh; `call` must be
    /// sound for `host`.
    pub unsafe fn run_teams(
        &self,
        context: &mut Context,
        runners: &mut [Runner],
        team: usize,
        most: u64,
        all: bool,
    ) -> u64 {
        let mut left = most as i64;
        let mut barriers = 0;
        context.ahead = 0;
        for (number, runner) in runners.iter_mut().enumerate() {
            runner.number = number;
            runner.count_lanes();
        }
        loop {
            let mut barrier = None;
            for team in runners.chunks_mut(team.clamp(1, MOST)) {
                // SAFETY: the caller's.
                let reached = unsafe { self.run_team(context, team, &mut left) };
                if reached.is_none() || barrier.is_some() && barrier != reached {
                    return barriers;
                }
                barrier = reached;
            }
            if !all || barrier.is_none() {
                return barriers;
            }
            for runner in runners.iter_mut() {
                runner.position += 1;
                runner.ran.steps += 1;
                runner.ran.threads += runner.width;
            }
            barriers += 1;
            left -= runners.len() as i64;
        }
    }

    /// Runs one team; the barrier at which all of it stand, if they do.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    unsafe fn run_team(&self, context: &mut Context, runners: &mut [Runner], left: &mut i64) -> Option<u32> {
        let mut round = [std::ptr::null_mut(); MOST + 1];
        loop {
            if *left <= 0 {
                return None;
            }
            // Those at the lowest position, and the next one at which others stand.
            let (mut low, mut next, mut count, mut whole) = (u32::MAX, u32::MAX, 0, true);
            for runner in runners.iter_mut() {
                let position = runner.position;
                if position > low {
                    next = next.min(position);
                    continue;
                }
                if position < low {
                    (low, next, count, whole) = (position, low, 0, true);
                }
                round[count] = &raw mut *runner;
                whole &= runner.lanes == LaneMask::MAX;
                count += 1;
            }
            round[count] = std::ptr::null_mut();
            if self.is_barrier(low) {
                return (count == runners.len()).then_some(low);
            }
            let most = (*left as u64).div_ceil(count as u64);
            if !self.fits(low, next, most) {
                return None;
            }
            (context.stop, context.most, context.together) = (next, most, (count > 1).into());
            // SAFETY: the caller's.
            if !unsafe { self.go(context, low, round.as_ptr(), whole) } {
                return None;
            }
            let begun = *left;
            *left -= context.total as i64;
            let (mut called, mut parted) = (false, 0);
            if context.ends != MOVED {
                for &runner in &round[..count] {
                    // SAFETY: one of the runners, none of which is borrowed here.
                    let runner = unsafe { &mut *runner };
                    if runner.end == PARTED {
                        runner.ran.steps -= 1;
                        runner.ran.branches -= 1;
                        runner.ran.threads -= runner.width;
                        runner.parted = Some(runner.taken);
                        (*left, parted) = (*left + 1, parted + 1);
                    } else if runner.end == CALLED {
                        runner.called = Some(runner.went);
                        called = true;
                    }
                }
            }
            let total = context.total;
            // Those whose lanes part go on alone, in the order in which they came to do so; the others count as if they stood
            // at the branch.
            let mut alone = 0;
            for _ in 0..parted {
                let here = runners.iter_mut().filter(|runner| runner.parted.is_some());
                let Some(runner) = here.min_by_key(|runner| runner.went) else { break };
                let taken = runner.parted.take().unwrap_or_default();
                let before = runner.ran.steps;
                runner.ran.steps += 1;
                runner.ran.branches += 1;
                runner.ran.threads += u64::from(taken.count_ones());
                runner.part(self.target(runner.position), taken);
                let at_branch = begun - (count as u64 * runner.went) as i64 - alone;
                if !self.waits {
                    // SAFETY: the caller's.
                    unsafe { self.run_alone(context, runner, u32::MAX, at_branch.max(0) as u64, true) };
                }
                runner.count_lanes();
                let own = (runner.ran.steps - before) as i64;
                *left -= own;
                alone += own - 1;
                context.ahead = (at_branch - (own - 1) - *left).max(0) as u64;
                if runner.called.is_some() || !runner.aside.is_empty() {
                    return None;
                }
            }
            if called || total == 0 && parted == 0 {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(position: u32, lanes: LaneMask, aside: &[(u32, LaneMask)]) -> Runner {
        let null = std::ptr::null_mut();
        let mut runner = Runner::new([null; 2], null.cast(), position, lanes);
        runner.aside.extend_from_slice(aside);
        runner
    }

    fn state(runner: &Runner) -> (u32, LaneMask, &[(u32, LaneMask)]) {
        (runner.position, runner.lanes, &runner.aside)
    }

    #[test]
    fn lanes_that_part_take_the_lower_way_and_meet_again() {
        let mut warp = runner(5, 0xff, &[]);
        warp.part(9, 0x0f);
        assert_eq!(state(&warp), (6, 0xf0, &[(9, 0x0f)][..]));
        warp.position = 9;
        warp.meet();
        assert_eq!(state(&warp), (9, 0xff, &[][..]));
    }

    #[test]
    fn those_behind_go_on_first() {
        let mut warp = runner(20, 1, &[(9, 2), (20, 4), (12, 8)]);
        warp.meet();
        assert_eq!(state(&warp), (9, 2, &[(12, 8), (20, 5)][..]));
        // A loop that lanes leave one after the other.
        let mut warp = runner(7, 0b111, &[]);
        warp.part(3, 0b110);
        assert_eq!(state(&warp), (3, 0b110, &[(8, 1)][..]));
        warp.position = 7;
        warp.part(3, 0b100);
        assert_eq!(state(&warp), (3, 0b100, &[(8, 0b011)][..]));
    }
}
