//! Findings: when they happen, and going to them and to the earlier of two accesses.

use std::collections::HashMap;

use sim_core::{AccessKind, CodePlace, Finding, FindingKind, ThreadId, Until};

use super::{Debugger, FINDINGS, Focus, Found, PAIRS, Reached, Reason, Wanted};
use crate::error::{Error, Result};

impl Debugger<'_, '_, '_> {
    /// Something was found just now: its number, or none if it was told.
    pub(super) fn discover(&mut self, time: u64, began: u64) -> Option<usize> {
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
    pub(super) fn go_to_finding(&mut self, at: usize) -> Reason {
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

    /// The positions of a place: with a guard an instruction has several, of which a later one is the access.
    fn positions_of(&self, place: &CodePlace) -> Vec<u32> {
        let is_at = |at: &u32| {
            let Some(own) = self.program.place(*at) else { return false };
            let function = self.program.declared(own.function);
            let instruction =
                function.body.as_ref().and_then(|body| body.instructions.get(own.instruction as usize));
            function.source == place.source
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
        let mut reached = self.run_on(u64::MAX, &wanted);
        while let Reached::Break(running) = reached {
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
            // It may stand before the next one already, and would pass it.
            reached = match self.session.running() {
                Some(next) if self.time() > time && wanted.extra.contains(&next.position) => {
                    Reached::Break(next)
                }
                _ => self.run_on(u64::MAX, &wanted),
            };
        }
        None
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
