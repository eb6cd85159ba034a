//! Back in time: what is looked for backwards is looked for in windows that grow, each from a checkpoint.

use std::sync::atomic::Ordering::Relaxed;

use isa::LaneMask;
use sim_core::{AccessKind, Until};

use super::{Debugger, Focus, Reached, Reason, Spot, Step, Wanted};
use crate::error::Result;
use crate::expression::Bound;
use crate::format::{self, Format};
use crate::watch::Hit;

impl Debugger<'_, '_, '_> {
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
    pub(super) fn stand(&mut self, time: u64, focus: Focus) {
        self.back(time);
        self.session.run(Until::Decided);
        self.focus = focus;
        self.frame = 0;
    }

    /// Has somebody look wherever the lanes of which steps are stand between two times, in order.
    fn pass(&mut self, from: u64, to: u64, focus: Focus, lanes: LaneMask, look: &mut dyn FnMut(&Self, Spot)) {
        let wanted = Wanted { follow: Some((focus.warp, lanes)), ..Wanted::NOTHING };
        // Where it stands may be one itself.
        self.session.run(Until::Decided);
        if from == self.time()
            && from < to
            && let Some(spot) = self.spot_here(focus, lanes)
        {
            look(self, spot);
        }
        while let Reached::Followed = self.run_on(to, &wanted) {
            if self.time() >= to {
                break;
            }
            if let Some(spot) = self.spot_here(focus, lanes) {
                look(self, spot);
            }
        }
    }

    /// The places of the focus between two times, the latest last.
    fn spots(&mut self, from: u64, to: u64, focus: Focus) -> Vec<Spot> {
        let mut spots = Vec::new();
        self.pass(from, to, focus, self.stepped(), &mut |_, spot| spots.push(spot));
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
        let place = |spot: &Spot| (spot.time, spot.lane);
        // What was seen of later windows comes behind.
        let mut later: Vec<Spot> = Vec::new();
        let found = self.last(|debugger, from, to| {
            let mut spots = debugger.spots(from, to, focus);
            spots.append(&mut later);
            later = spots;
            let complete = from == 0;
            let candidates = later.iter().rev().filter(|spot| match step {
                Step::InstructionOver => spot.depth.0 <= depth.0,
                Step::LineOver | Step::Past => {
                    spot.depth.0 <= depth.0 && (spot.depth.0 < depth.0 || spot.depth.1 <= depth.1)
                }
                _ => true,
            });
            match step {
                Step::Instruction | Step::InstructionOver => candidates.filter(begins).map(place).next(),
                Step::Out => later
                    .iter()
                    .rev()
                    .find(|spot| {
                        spot.depth.0 < depth.0
                            || depth.1 > 1 && spot.depth.0 == depth.0 && spot.depth.1 < depth.1
                    })
                    .map(place),
                Step::Line | Step::LineOver | Step::Past => {
                    let mut candidates = candidates.filter(|spot| spot.line.is_some() || depth.1 == 0);
                    let last = candidates.next()?;
                    let same = |spot: &Spot| {
                        (spot.line, spot.depth) == (last.line, last.depth) && last.line.is_some()
                    };
                    let mut first = last;
                    for spot in candidates {
                        if !same(spot) {
                            return Some(place(first));
                        }
                        first = spot;
                    }
                    complete.then(|| place(first))
                }
            }
        });
        match found {
            Ok(Some((time, lane))) => {
                self.stand(time, Focus { lane, ..focus });
                None
            }
            Ok(None) => {
                self.stand(0, focus);
                Some(Reason::Beginning)
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

    /// Goes back to the instruction of the thread in focus that last changed what is in registers.
    fn last_change(&mut self, bound: &Bound) -> Result<Reason> {
        let (now, focus) = (self.time(), self.focus);
        // Frames are counted from the outermost one: those above come and go.
        let here = self.spot(focus).ok_or_else(|| self.no_thread())?;
        let depth = here.depth.0.saturating_sub(self.physical() as u32);
        let held = |debugger: &Self, spot: &Spot| {
            let frame = spot.depth.0.checked_sub(depth)?;
            debugger.with_lane(focus, frame as usize, &mut |at| at.scalar(bound)).ok()
        };
        let mut later = Some(self.with(|at| at.scalar(bound))?);
        let found = self.last(|debugger, from, to| {
            let (mut last, mut first) = (None, None);
            let mut before: Option<(Spot, u128)> = None;
            debugger.pass(from, to, focus, 1 << focus.lane, &mut |debugger, spot| {
                let value = held(debugger, &spot);
                if let (Some((spot, old)), Some(new)) = (&before, value)
                    && *old != new
                {
                    last = Some((spot.clone(), *old, new));
                }
                first = first.or(value);
                before = value.map(|value| (spot, value));
            });
            if let (Some((spot, old)), Some(new)) = (before, later)
                && old != new
            {
                last = Some((spot, old, new));
            }
            later = first.or(later);
            last
        });
        let shown = |bits| format::scalar(&bound.ty, bits, Format::Natural);
        match found {
            Ok(Some((spot, old, new))) => {
                self.stand(spot.time, focus);
                // A callee that returns changes what its caller has.
                let own = spot.depth.0.saturating_sub(depth) as usize;
                let frames = self.frames().unwrap_or_default();
                self.frame = frames.iter().position(|frame| frame.physical == own).unwrap_or(0);
                let kind = AccessKind::Write;
                let (warp, lanes, position) = (focus.warp, 1 << focus.lane, spot.position);
                let hit = Hit { range: 0, warp, lanes, position, kind, address: 0, bytes: 0 };
                Ok(Reason::Watchpoint { id: 0, hit, old: shown(old), new: shown(new) })
            }
            Ok(None) => {
                self.stand(now, focus);
                Ok(Reason::Beginning)
            }
            Err(reason) => {
                self.stand(now, focus);
                Ok(reason)
            }
        }
    }

    /// Goes back to the last write, or access, of what an expression lies at: who wrote this, and from where? Of what is in
    /// registers, to the instruction of the thread in focus that changed it last.
    ///
    /// # Errors
    /// The expression has no value here.
    pub fn last_write(&mut self, text: &str, reads: bool) -> Result<Reason> {
        let (now, focus) = (self.time(), self.focus);
        let (bound, _) = self.bind(text)?;
        if !bound.is_in_memory() && bound.ty.is_scalar() {
            return self.last_change(&bound);
        }
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
}
