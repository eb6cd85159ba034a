//! Running on, until something is reached.

use std::sync::atomic::Ordering::Relaxed;

use sim_core::Until;

use super::{Debugger, Reached, Reason, Wanted};
use crate::error::Result;
use crate::points::Location;

impl Debugger<'_, '_, '_> {
    /// Runs on, until so many warp instructions have run or something is reached.
    pub(super) fn run_on(&mut self, limit: u64, wanted: &Wanted) -> Reached {
        let mut breaks = if wanted.breakpoints { self.positions() } else { Vec::new() };
        breaks.extend(&wanted.extra);
        self.session.break_at(&breaks);
        self.session.follow(wanted.follow);
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
            self.timeline.pass_changes(self.session);
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
            let most = self.timeline.next_change().map_or(most, |time| time.min(most));
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
                // Where no condition holds it goes on from here: what it stands still at is set up already.
                if breaks.contains(&running.position)
                    && (wanted.extra.contains(&running.position) || self.is_reached(running))
                {
                    return Reached::Break(running);
                }
                let follows = |(warp, lanes)| warp == running.warp && running.lanes & lanes != 0;
                if wanted.follow.is_some_and(follows) {
                    return Reached::Followed;
                }
            }
        }
    }

    /// What a run that stood still means to the user; `None` if it is to go on.
    pub(super) fn arrived(&mut self, reached: Reached) -> Option<Reason> {
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

    /// To the end, whatever is reached on the way; false if it was interrupted.
    pub fn finish(&mut self) -> bool {
        matches!(self.run_on(u64::MAX, &Wanted::NOTHING), Reached::Ended)
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
                && self.spot_here(focus, 1 << focus.lane).is_some()
            {
                self.frame = 0;
                return Ok(Reason::Stepped);
            }
            if let Some(reason) = self.arrived(reached) {
                return Ok(reason);
            }
        }
    }

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
}
