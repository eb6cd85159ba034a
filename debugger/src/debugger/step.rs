//! Steps forward of the thread in focus, or of its warp.

use isa::LaneMask;

use super::{Debugger, Focus, Reached, Reason, Spot, Step, Wanted};
use crate::error::{Error, Result};
use crate::points::Stepping;
use crate::program::Chain;

impl Debugger<'_, '_, '_> {
    /// Where a thread is.
    pub(super) fn spot(&self, focus: Focus) -> Option<Spot> {
        let look = self.session.look();
        let group = look.block(focus.warp.block)?.warp(focus.warp.warp)?.group(focus.lane)?;
        let position = group.position();
        let place = self.program.place(position)?;
        Some(Spot {
            time: self.time(),
            lane: focus.lane,
            position,
            depth: (group.depth(), place.cuda.len()),
            line: place.cuda.first().map(|(line, _)| *line),
        })
    }

    /// Whose instructions are stepped through, of the warp in focus.
    pub(super) fn stepped(&self) -> LaneMask {
        match self.points.settings.stepping {
            Stepping::Lane => 1 << self.focus.lane,
            Stepping::Warp => LaneMask::MAX,
        }
    }

    /// Where those run next of which steps are; nowhere if others run. The thread in focus is named where it is among them.
    pub(super) fn spot_here(&self, focus: Focus, lanes: LaneMask) -> Option<Spot> {
        let running = self.session.running().filter(|running| running.warp == focus.warp)?;
        let own = running.lanes & lanes;
        let lane = if own >> focus.lane & 1 != 0 { focus.lane } else { own.trailing_zeros() };
        (own != 0).then(|| self.spot(Focus { lane, ..focus }))?
    }

    /// Runs until the focus is about to execute another instruction of the code; breakpoints and the like end it before.
    fn advance(&mut self, over: Option<u32>) -> Result<Spot, Reason> {
        let (focus, lanes) = (self.focus, self.stepped());
        let mut wanted = Wanted { follow: Some((focus.warp, lanes)), ..Wanted::ALL };
        if let Some(depth) = over
            && let Some(to) = self.return_to(focus, depth)
        {
            // A callee runs as a whole.
            wanted.follow = None;
            wanted.extra = vec![to];
        }
        loop {
            // The instruction itself first: behind it the thread may be gone.
            let is_here = self.spot_here(focus, lanes).is_some();
            let limit = if is_here && wanted.follow.is_some() { self.time() + 1 } else { u64::MAX };
            let first = Wanted { follow: None, ..Wanted::ALL };
            let reached = self.run_on(limit, if limit == u64::MAX { &wanted } else { &first });
            match reached {
                Reached::Break(running) if wanted.extra.contains(&running.position) => {
                    let spot = self.spot_here(focus, lanes);
                    if let Some(spot) = spot.filter(|spot| over.is_none_or(|depth| spot.depth.0 <= depth)) {
                        return Ok(spot);
                    }
                    if let Some(reason) = self.arrived(Reached::Break(running)) {
                        return Err(reason);
                    }
                }
                other => {
                    if let Some(reason) = self.arrived(other) {
                        return Err(reason);
                    }
                }
            }
            if wanted.follow.is_some()
                && let Some(spot) = self.spot_here(focus, lanes)
            {
                return Ok(spot);
            }
            if !self.is_any(focus, lanes) {
                return Err(if self.session.is_over() { Reason::Ended } else { Reason::Exited });
            }
        }
    }

    /// Whether one of some lanes of a warp is still there.
    fn is_any(&self, focus: Focus, lanes: LaneMask) -> bool {
        let look = self.session.look();
        let warp = look.block(focus.warp.block).and_then(|block| block.warp(focus.warp.warp));
        warp.is_some_and(|warp| warp.groups().iter().any(|group| group.lanes() & lanes != 0))
    }

    /// Where a thread goes on when the frames above so many are gone.
    fn return_to(&self, focus: Focus, depth: u32) -> Option<u32> {
        let look = self.session.look();
        let group = look.block(focus.warp.block)?.warp(focus.warp.warp)?.group(focus.lane)?;
        let frames = group.frames();
        let above = frames.len().checked_sub(depth as usize)?;
        if above == 0 {
            return None;
        }
        Some(frames.get(above)?.position() + 1)
    }

    /// Steps with the thread in focus, or with its warp, so many times.
    ///
    /// # Errors
    /// The thread is not there.
    pub fn step(&mut self, step: Step, times: u64) -> Result<Reason> {
        self.look_at_watched();
        for _ in 0..times {
            if let Some(reason) = self.step_once(step)? {
                return Ok(reason);
            }
        }
        self.frame = 0;
        Ok(Reason::Stepped)
    }

    fn step_once(&mut self, step: Step) -> Result<Option<Reason>> {
        let from = self.spot(self.focus).ok_or_else(|| self.no_thread())?;
        if step == Step::Out && from.depth == (1, from.depth.1.min(1)) {
            return Err(Error::refused("\"finish\" not meaningful in the outermost frame"));
        }
        // The line of its own frame that the thread was in.
        let outer = |spot: &Spot| self.program.place(spot.position).map(|place| place.cuda.clone());
        let chain = outer(&from);
        loop {
            let over = match step {
                Step::InstructionOver | Step::LineOver | Step::Past => Some(from.depth.0),
                Step::Out => Some(if from.depth.1 > 1 { from.depth.0 } else { from.depth.0 - 1 }),
                _ => None,
            };
            let deeper = over.filter(|depth| self.spot(self.focus).is_some_and(|spot| spot.depth.0 > *depth));
            let spot = match self.advance(deeper) {
                Ok(spot) => spot,
                Err(reason) => return Ok(Some(reason)),
            };
            self.focus.lane = spot.lane;
            let begins = self.program.place(spot.position).is_some_and(|place| place.begins);
            let is_over = match step {
                Step::Instruction => begins,
                Step::InstructionOver => begins && spot.depth.0 <= from.depth.0,
                Step::Out => match from.depth.1 > 1 {
                    true => {
                        spot.depth.0 < from.depth.0
                            || spot.depth.0 == from.depth.0 && spot.depth.1 < from.depth.1
                    }
                    false => spot.depth.0 < from.depth.0,
                },
                Step::Line => {
                    spot.line.is_some() && (spot.line, spot.depth) != (from.line, from.depth)
                        || from.line.is_none() && begins
                }
                Step::LineOver | Step::Past => {
                    let own = self.program.place(spot.position).map(|place| place.cuda.clone());
                    let line = |chain: &Option<Chain>| {
                        let chain = chain.as_ref()?;
                        let at = chain.len().checked_sub(from.depth.1.max(1))?;
                        chain.get(at).map(|(line, _)| *line)
                    };
                    let (now, was) = (line(&own), line(&chain));
                    let is_other = match step {
                        Step::Past => now > was,
                        _ => now != was,
                    };
                    let left = spot.depth.0 < from.depth.0 || spot.depth.1 < from.depth.1;
                    from.line.is_none() && begins && spot.depth.0 <= from.depth.0
                        || spot.line.is_some()
                            && spot.depth.0 <= from.depth.0
                            && (left || now.is_some() && is_other)
                }
            };
            if is_over {
                return Ok(None);
            }
        }
    }
}
