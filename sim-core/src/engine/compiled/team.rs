//! The whole warps of a block in compiled code.

use super::barriers::{Barriers, are_counted, waits_at};
use crate::engine::lockstep::Run;
use crate::engine::single::lane_count;
use crate::machine::Machine;
use crate::machine::frame::ROOT;
use crate::machine::kept::CompiledFunction;
use crate::machine::squad::Squad;
use crate::machine::warp::{Group, Wait};
use crate::observer::Observer;
use crate::ops::flow::Flow;
use jit::{Progress, Ran, Runner};

impl<'g, O: Observer> Machine<'_, 'g, O> {
    /// The kernel's code, if it is likely to pay for the warps of the block together.
    #[inline(always)]
    pub(in crate::engine) fn gainful(&mut self) -> Option<&'g CompiledFunction> {
        let everywhere = self.worker.grid.cold == 0;
        self.compiled().filter(|_| everywhere || self.worker.gain.is_likely())
    }

    /// Whether it is worth to begin code where the first warp of the block stands.
    #[inline(always)]
    pub(in crate::engine) fn stands_at_code(&mut self) -> bool {
        let Some(compiled) = self.gainful() else { return false };
        let warps = &self.cta.warps[..];
        let Some(group) = warps.first().and_then(|warp| warp.groups.first()) else { return false };
        compiled.next(group.position, warps.len() > 1) == group.position
    }

    /// Runs the whole warps of the block in code, `team` at a time up to the same barriers, for about so many instructions in
    /// all. If they are not all warps that live, only the first `team` of them. `None` if no code begins where the lowest
    /// stand, or they stand where they stood. As long as blocks end in code, and leave their warps as they began, the next one
    /// follows in the place of each; what those before it ran is accounted for.
    pub(in crate::engine) fn run_in_code(&mut self, team: usize, left: &mut i64) -> Option<Run> {
        let compiled = self.compiled()?;
        let mut squad = std::mem::take(&mut self.worker.squad);
        squad.clear();
        // Nothing but registers and memory has changed since the block began.
        let mut untouched = !self.worker.grid.code.clustered;
        let mut live = 0;
        // Whether code has barriers that wait for a count; who waits there is in it, too.
        let counts = compiled.counts && self.counts_in_code(team);
        for index in 0..self.cta.warps.len() {
            let warp = &self.cta.warps[index];
            live += usize::from(warp.live() != 0);
            // Of all warps: one that has exited would be missing from the next block.
            untouched &= warp.clock == 0;
            let waits = counts && waits_at(warp).is_some();
            if warp.is_whole() || waits {
                let (position, lanes) = (warp.groups[0].position, warp.groups[0].lanes);
                let storage = self.storage(compiled, index, ROOT);
                squad.enlist(index, storage, position, lanes).waits = waits;
            }
        }
        let all = squad.warps.len() == live && (self.cta.open_barriers == 0 || counts);
        squad.truncate(if all { live } else { team });
        let enough = squad.runners.len() > usize::from(self.cta.warps.len() > 1);
        let together = &squad.runners[..team.min(squad.runners.len())];
        let mut run = None;
        if enough && compiled.code.begins_for(together, (*left).max(0) as u64) {
            let full = *left;
            let before = self.worker.stats.warp_instructions;
            run = self.run_squad(compiled, &mut squad, (team, all, untouched, counts), left);
            let bytes = self.cta.bytes();
            while self.cta.over {
                let ran = (full - std::mem::replace(left, full)) as u64;
                if !self.worker.begin_next(self.cta, (ran, bytes)) {
                    break;
                }
                squad.begin_again(self.worker.grid.code.functions[0].start);
                run = self.run_squad(compiled, &mut squad, (team, all, untouched, counts), left);
            }
            let steps = self.worker.stats.warp_instructions - before;
            self.worker.gain.account(squad.warps.len(), steps);
        }
        self.worker.squad = squad;
        run
    }

    fn run_squad(
        &mut self,
        compiled: &'g CompiledFunction,
        squad: &mut Squad,
        (team, all, untouched, counts): (usize, bool, bool, bool),
        left: &mut i64,
    ) -> Option<Run> {
        let most = (*left).max(0) as u64;
        let mut counted = counts.then(|| Barriers::of(self.cta, squad));
        let Squad { runners, warps } = squad;
        let (Progress { barriers, over, ahead, completed }, mut flows) =
            self.run_compiled_team(compiled, (runners, warps), team, most, all, counted.as_mut());
        // Sums first: each field would wait for its last write.
        let mut sum = Ran::default();
        runners.iter().for_each(|runner| sum += runner.ran);
        let exit = u64::from(over);
        if over {
            sum.steps += runners.len() as u64;
            sum.threads += runners.iter().map(|runner| lane_count(runner.lanes)).sum::<u64>();
        }
        let stats = &mut self.worker.stats;
        stats.warp_instructions += sum.steps;
        stats.thread_instructions += sum.threads;
        stats.branches += sum.branches;
        stats.divergent_branches += sum.parted;
        stats.barriers += barriers + completed;
        self.cta.clock += sum.steps;
        *left -= sum.steps as i64;
        if over && untouched {
            self.cta.over = true;
            return Some(Run::Over);
        }
        for (&warp, runner) in warps.iter().zip(&*runners) {
            self.cta.warps[warp].clock += runner.ran.steps + exit;
            self.stand(warp, runner.position, runner);
        }
        if let Some(counted) = counted {
            counted.put(self.cta, squad);
        }
        let Squad { runners, warps } = squad;
        if over {
            warps.iter().for_each(|&warp| self.end_whole(warp));
            self.recheck_barriers();
            return Some(Run::Over);
        }
        let mut run = if completed > 0 { Run::Released } else { Run::Moved };
        // What ended first comes first.
        flows.sort_by_key(|(at, _)| (runners[*at].called, *at));
        for (at, flow) in flows {
            let (warp, runner) = (warps[at], &runners[at]);
            let goes_on = !matches!(flow, Flow::Fault(_));
            self.leave_aside(warp, runner, runner.position + u32::from(goes_on));
            if let Flow::Fault(fault) = flow {
                self.fault(0, &Group::of_kernel(runner.position, runner.lanes), *fault);
                self.complete_collectives();
                self.recheck_barriers();
                run = Run::Released;
            }
        }
        for (&warp, runner) in warps.iter().zip(&*runners).filter(|(_, runner)| !runner.aside.is_empty()) {
            if runner.called.is_none() {
                self.leave_aside(warp, runner, runner.position);
            }
            // It is as if the others had not gone on yet.
            let mut own = *left + ahead as i64;
            self.make_whole(warp, 0, &mut own);
            *left = own - ahead as i64;
        }
        (sum.steps > 0).then_some(run)
    }

    /// Leaves a warp at a position with the lanes of a runner.
    #[inline(always)]
    fn stand(&mut self, warp: usize, position: u32, runner: &Runner) {
        let warp = &mut self.cta.warps[warp];
        if let Some(entry) = warp.groups.first_mut() {
            (entry.position, entry.lanes, entry.last_run) = (position, runner.lanes, warp.clock);
            entry.wait = Wait::Ready;
        }
    }

    /// Whether all warps of the block can be in code as one team of so many, and its barriers, too.
    fn counts_in_code(&self, team: usize) -> bool {
        let mut live = self.cta.warps.iter().filter(|warp| warp.live() != 0);
        let fits = live.clone().count() <= team;
        fits && live.all(|warp| warp.is_whole() || waits_at(warp).is_some()) && are_counted(self.cta)
    }

    /// Leaves the groups of a warp that was parted in code where the interpreter of single warps looks for them.
    fn leave_aside(&mut self, warp: usize, runner: &Runner, position: u32) {
        self.index = warp;
        self.stand(warp, position, runner);
        let warp = &mut self.cta.warps[warp];
        let entered = warp.clock - runner.ran.steps;
        for aside in &runner.aside {
            let last_run = entered + aside.last_run;
            let parted = Group { last_run, ..Group::of_kernel(position, runner.lanes) };
            warp.fork(&parted, aside.position, aside.lanes);
        }
        warp.part_at(entered + runner.parted_at);
        warp.waited = runner.reads > 0;
    }

    /// A whole warp exits.
    #[inline(always)]
    pub(in crate::engine) fn end_whole(&mut self, warp: usize) {
        let warp = &mut self.cta.warps[warp];
        warp.exited |= warp.lanes;
        warp.groups.clear();
        warp.release(ROOT);
    }
}
