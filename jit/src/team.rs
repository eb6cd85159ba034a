//! Runs of one warp, and of several together: which stretch of code comes next.
//!
//! Lanes that part at a branch stand aside until those at the lower position meet them (thread frontiers). Of several
//! warps those at the lowest position run, one after the other, each until it has to wait for the others; one whose lanes
//! part stands until the others have come so far, and then runs alone until its lanes have met. A barrier that all
//! have reached is passed.

use crate::context::{Aside, CALLED, Context, EXITED, MOVED, PARTED, Progress, Runner};
use crate::host::Compiled;
use semantics::lanes::LaneMask;

/// Warps of a block.
const MOST: usize = 32;

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

    /// Goes two ways at the branch at its position, which is counted: the lower one.
    fn part(&mut self, target: u32, taken: LaneMask) {
        let rest = self.lanes & !taken;
        let through = self.position + 1;
        let ways = [(target, taken), (through, rest)];
        let [low, high] = if target < through { ways } else { [ways[1], ways[0]] };
        self.ran.parted += 1;
        if self.aside.is_empty() {
            self.parted_at = self.ran.steps;
        }
        (self.position, self.lanes) = low;
        match self.aside.iter_mut().find(|other| other.position == high.0) {
            Some(other) => other.lanes |= high.1,
            None => self.aside.push(Aside { position: high.0, lanes: high.1, last_run: self.ran.steps }),
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

/// Where the runners of a team stand, side by side, so that the lowest is found at once.
struct Places {
    /// Behind all others those at exits.
    positions: [u32; MOST],
    /// Who has not all lanes.
    partial: u32,
    /// Barriers that were passed and are not yet among what runners did.
    passed: u64,
}

/// Those of a team that run next.
#[derive(Clone, Copy)]
struct Lowest {
    position: u32,
    /// Where the next ones stand.
    next: u32,
    /// Who they are, and how many.
    runners: u32,
    count: usize,
}

impl Lowest {
    #[inline(always)]
    fn of(positions: impl Iterator<Item = u32> + Clone) -> Lowest {
        // As it mostly is.
        let mut rest = positions.clone();
        if let Some(first) = rest.next()
            && rest.all(|position| position == first)
        {
            let count = positions.count();
            return Lowest { position: first, next: u32::MAX, runners: u32::MAX >> (MOST - count), count };
        }
        let mut lowest = Lowest { position: u32::MAX, next: u32::MAX, runners: 0, count: 0 };
        for (at, position) in positions.enumerate() {
            if position > lowest.position {
                lowest.next = lowest.next.min(position);
            } else {
                if position < lowest.position {
                    lowest = Lowest { position, next: lowest.position, runners: 0, count: 0 };
                }
                lowest.runners |= 1 << at;
                lowest.count += 1;
            }
        }
        lowest
    }
}

/// About what each of so many runners gets of some steps. A division would take as long as a short stretch of code.
#[inline(always)]
fn share(steps: u64, count: usize) -> u64 {
    const PARTS: [u64; MOST + 1] = {
        let mut parts = [1 << 32; MOST + 1];
        let mut count = 2;
        while count <= MOST {
            parts[count] = (1u64 << 32).div_ceil(count as u64);
            count += 1;
        }
        parts
    };
    (steps.min(u64::from(u32::MAX >> 1)) * PARTS[count]) >> 32
}

impl Places {
    /// The lowest of the first so many.
    #[inline(always)]
    fn lowest(&self, count: usize) -> Lowest {
        Lowest::of(self.positions[..count].iter().copied())
    }
}

impl Compiled {
    /// Runs a warp, or a group of its lanes, for at most so many steps, up to a position; if `until_whole`, no further
    /// than until no lanes stand aside. Once lanes have stood aside for `patience` steps, it is the caller who decides.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    pub unsafe fn run_alone(
        &self,
        context: &mut Context,
        runner: &mut Runner,
        stop: u32,
        (most, patience): (u64, u64),
        until_whole: bool,
    ) {
        context.first = runner;
        // SAFETY: the caller's.
        unsafe { self.go_alone(context, runner, stop, (most, patience), until_whole) }
    }

    /// The same for one of several.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    unsafe fn go_alone(
        &self,
        context: &mut Context,
        runner: &mut Runner,
        stop: u32,
        (most, patience): (u64, u64),
        until_whole: bool,
    ) {
        context.together = 0;
        let last = runner.ran.steps + most;
        let rest = |runner: &Runner| {
            let last = match runner.aside[..] {
                [] => last,
                _ => last.min(runner.parted_at.saturating_add(patience)),
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
            let round = [&raw mut *runner, std::ptr::null_mut()];
            // SAFETY: the caller's.
            if !unsafe { self.go(context, runner.position, round.as_ptr(), runner.lanes == LaneMask::MAX) } {
                return;
            }
            runner.position &= !EXITED;
            match runner.end {
                PARTED => {
                    runner.ran.threads -= u64::from((runner.lanes & !runner.taken).count_ones());
                    let awaits = self.awaits(runner.position);
                    runner.part(self.target(runner.position), runner.taken);
                    if awaits {
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
        let lowest = Lowest::of(runners.iter().take(MOST).map(|runner| runner.position));
        self.begins(lowest.position, lowest.next, share(most, lowest.count), lowest.count > 1)
    }

    /// Runs warps as if all made each step together, for about so many steps in all: first so many of them as `team` says up
    /// to a barrier, then the next ones. `all`: they are all of their block, pass its barriers and may end it.
    ///
    /// # Safety
    /// The rows and predicates of the runners must be valid for all slots of the program, rows of the frame for writes;
    /// the context's windows for all positions, and each for its bytes as long as the generation is fresh; `call` must be
    /// sound for `host`; the functions of [`Program::lanes`](crate::Program::lanes) for the CPU and for those slots.
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
        let team = team.clamp(1, MOST);
        // Several teams meet at each barrier, one passes it by itself.
        let one = runners.len() <= team;
        loop {
            let mut stand = None;
            for team in runners.chunks_mut(team) {
                // SAFETY: the caller's.
                let reached = unsafe { self.run_team(context, team, &mut left, all && one, &mut progress) };
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
            pass(runners, 1);
            left -= runners.len() as i64;
            progress.barriers += 1;
            runners.iter_mut().for_each(|runner| runner.position += 1);
        }
    }

    /// Runs one team; where all of it stand, if that is at a barrier or their ends. `all`: it passes barriers, which are counted.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    unsafe fn run_team(
        &self,
        context: &mut Context,
        runners: &mut [Runner],
        left: &mut i64,
        all: bool,
        progress: &mut Progress,
    ) -> Option<Stand> {
        let mut places = Places { positions: [u32::MAX; MOST], partial: 0, passed: 0 };
        for (at, runner) in runners.iter().enumerate() {
            places.positions[at] = self.marked(runner.position);
            places.partial |= u32::from(runner.lanes != LaneMask::MAX) << at;
        }
        // SAFETY: the caller's.
        let stand = unsafe { self.run_places(context, runners, &mut places, left, all, progress) };
        pass(runners, places.passed);
        for (runner, position) in runners.iter_mut().zip(places.positions) {
            runner.position = position & !EXITED;
        }
        stand
    }

    /// A position, behind all others if it is an exit.
    fn marked(&self, position: u32) -> u32 {
        if self.is_exit(position) { position | EXITED } else { position }
    }

    /// Runs one team that stands at some places.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`].
    #[inline(always)]
    unsafe fn run_places(
        &self,
        context: &mut Context,
        runners: &mut [Runner],
        places: &mut Places,
        left: &mut i64,
        all: bool,
        progress: &mut Progress,
    ) -> Option<Stand> {
        let members = runners.len();
        let everyone = u32::MAX >> (MOST - members);
        let mut round = [std::ptr::null_mut(); MOST + 1];
        // Who is in the round.
        let mut listed = 0;
        let mut lowest = places.lowest(members);
        loop {
            if *left <= 0 {
                return None;
            }
            let Lowest { position: low, next, runners: here, count } = lowest;
            if low & EXITED != 0 {
                return Some(Stand::End);
            }
            if self.is_barrier(low) {
                if here != everyone {
                    return None;
                }
                if !all {
                    return Some(Stand::Barrier(low));
                }
                lowest.position = self.marked(low + 1);
                places.positions[..members].fill(lowest.position);
                *left -= members as i64;
                (places.passed, progress.barriers) = (places.passed + 1, progress.barriers + 1);
                continue;
            }
            let most = share(*left as u64, count);
            if !self.fits(low, next, most) {
                return None;
            }
            if here != listed {
                let mut rest = here;
                for place in &mut round[..count] {
                    *place = &raw mut runners[rest.trailing_zeros() as usize];
                    rest &= rest - 1;
                }
                (round[count], listed) = (std::ptr::null_mut(), here);
            }
            (context.stop, context.most, context.together) = (next, most, (count > 1).into());
            // SAFETY: the caller's.
            if !unsafe { self.go(context, low, round.as_ptr(), here & places.partial == 0) } {
                return None;
            }
            let begun = *left;
            *left -= context.total as i64;
            if context.ends == MOVED {
                let mut rest = here;
                // SAFETY: one of the runners, none of which is borrowed here.
                let position = |runner: *mut Runner| unsafe { (*runner).position };
                let first = position(round[0]);
                let mut alike = true;
                for &runner in &round[..count] {
                    let position = position(runner);
                    alike &= position == first;
                    places.positions[rest.trailing_zeros() as usize] = position;
                    rest &= rest - 1;
                }
                lowest = match alike && here == everyone {
                    true => Lowest { position: first, ..lowest },
                    false => places.lowest(members),
                };
                if context.total == 0 {
                    return None;
                }
                continue;
            }
            let total = context.total;
            let (mut called, mut parted, mut rest) = (false, 0, here);
            for &runner in &round[..count] {
                // SAFETY: one of the runners, none of which is borrowed here.
                let runner = unsafe { &mut *runner };
                places.positions[rest.trailing_zeros() as usize] = runner.position;
                rest &= rest - 1;
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
            if parted > 0 {
                pass(runners, std::mem::take(&mut places.passed));
                // They were borrowed: the round is made anew.
                listed = 0;
            }
            // Those whose lanes part go on alone, in the order in which they came to do so; the others count as if they stood
            // at the branch.
            let mut alone = 0;
            for _ in 0..parted {
                let here = runners.iter_mut().enumerate().filter(|(_, runner)| runner.parted.is_some());
                let Some((at, runner)) = here.min_by_key(|(_, runner)| runner.went) else { break };
                let taken = runner.parted.take().unwrap_or_default();
                let before = runner.ran.steps;
                runner.ran.steps += 1;
                runner.ran.branches += 1;
                runner.ran.threads += u64::from(taken.count_ones());
                let awaits = self.awaits(runner.position);
                runner.part(self.target(runner.position), taken);
                let at_branch = begun - (count as u64 * runner.went) as i64 - alone;
                if !awaits {
                    let most = (at_branch.max(0) as u64, context.patience);
                    // SAFETY: the caller's.
                    unsafe { self.go_alone(context, runner, u32::MAX, most, true) };
                }
                runner.count_lanes();
                places.positions[at] = self.marked(runner.position);
                let own = (runner.ran.steps - before) as i64;
                *left -= own;
                alone += own - 1;
                progress.ahead = (at_branch - (own - 1) - *left).max(0) as u64;
                if runner.called.is_some() || !runner.aside.is_empty() {
                    return None;
                }
            }
            if called || total == 0 && parted == 0 {
                return None;
            }
            lowest = places.lowest(members);
        }
    }
}

/// Runners passed so many barriers, or have exited.
fn pass(runners: &mut [Runner], count: u64) {
    for runner in runners {
        runner.ran.steps += count;
        runner.ran.threads += count * runner.width;
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
        warp.part(9, 0x0f);
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
        warp.part(3, 0b110);
        assert_eq!(state(&warp), (3, 0b110, vec![(8, 1)]));
        warp.position = 7;
        warp.part(3, 0b100);
        assert_eq!(state(&warp), (3, 0b100, vec![(8, 0b011)]));
    }
}
