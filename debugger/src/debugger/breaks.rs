//! Breakpoints and watchpoints in the code that runs: where they are, and which of them are reached.

use std::sync::Arc;

use isa::LaneMask;
use sim_core::{Running, Session};

use super::{Debugger, Focus, Reason};
use crate::error::{Error, Result};
use crate::expression::{At, Bound, Here, parse};
use crate::format::{self, Format, Style};
use crate::points::{Breakpoint, Location, Threads, Watchpoint};
use crate::types::Space;
use crate::watch::{Hit, Range};

impl Debugger<'_, '_, '_> {
    /// Finds breakpoints and their conditions in the code that runs.
    pub fn resolve(&mut self) {
        let mut breakpoints = std::mem::take(&mut self.points.breakpoints);
        for point in &mut breakpoints {
            let (places, line) = match point.location.find(&self.program) {
                Ok((places, line)) => (places, Some(line)),
                Err(_) => (Vec::new(), None),
            };
            let condition = |position: u32| {
                let text = point.condition.as_deref()?;
                self.bind_at(text, position).ok().map(|(bound, _)| Arc::new(bound))
            };
            let places = places.into_iter().map(|position| (position, condition(position))).collect();
            (point.places, point.line) = (places, line);
        }
        self.points.breakpoints = breakpoints;
    }

    /// Adds a breakpoint. One whose place is not in this code stays, for code that has it.
    ///
    /// # Errors
    /// The condition cannot be read, or has names that are not known there.
    pub fn add_breakpoint(
        &mut self,
        location: Location,
        text: &str,
        condition: Option<&str>,
        threads: Option<Threads>,
        temporary: bool,
    ) -> Result<&Breakpoint> {
        if let (Some(condition), Ok((places, _))) = (condition, location.find(&self.program)) {
            for position in places {
                let (_, parsed) = self.bind_at(condition, position)?;
                if parsed.across.is_some() {
                    return Err(Error::refused("a condition is of each thread; it is no table across them"));
                }
            }
        } else if let Some(condition) = condition {
            parse(condition, &|_| false)?;
        }
        let id = self.points.next_id();
        self.points.breakpoints.push(Breakpoint {
            id,
            location,
            text: text.to_owned(),
            condition: condition.map(str::to_owned),
            threads,
            temporary,
            enabled: true,
            ignore: 0,
            hits: 0,
            places: Vec::new(),
            line: None,
        });
        self.resolve();
        Ok(&self.points.breakpoints[self.points.breakpoints.len() - 1])
    }

    /// Watches what an expression of the selected frame lies at.
    ///
    /// # Errors
    /// It is not in memory, or cannot be read.
    pub fn add_watchpoint(&mut self, text: &str, reads: bool, writes: bool) -> Result<u32> {
        let (bound, _) = self.bind(text)?;
        let (range, last) = self.with(|at| {
            let (space, address) = at.address(&bound).map_err(|error| match error {
                Error::Refused(_) => Error::refused(format!(
                    "cannot watch \"{text}\": it is not in memory; `reverse-watch` says which instruction changed it last"
                )),
                other => other,
            })?;
            let range = self.range(space, address, bound.ty.bytes())?;
            let mut byte = [0];
            at.read(space, address, &mut byte)?;
            Ok((range, format::value(at, &at.value(&bound)?, Format::Natural, Style::default()).ok()))
        })?;
        let id = self.points.next_id();
        let ty = bound.ty;
        let format = Format::Natural;
        let text = text.to_owned();
        let point = Watchpoint { id, text, range, ty, format, reads, writes, enabled: true, hits: 0, last };
        self.points.watchpoints.push(point);
        Ok(id)
    }

    fn range(&self, space: Space, address: u64, bytes: u64) -> Result<Range> {
        use sim_core::{Memory, window};
        let owner = Some((self.focus.warp, self.focus.lane));
        if bytes == 0 {
            return Err(Error::refused("nothing to watch: it has no bytes"));
        }
        let (memory, owner, address) = match (space, window::of(address)) {
            (Space::Shared, _) => (Memory::Shared, owner, address),
            (Space::Local, _) => (Memory::Local, owner, address),
            (Space::Param, _) | (Space::Generic, window::Window::Param(_)) => {
                return Err(Error::refused("parameters of a kernel do not change"));
            }
            (Space::Generic, window::Window::Shared(offset)) => (Memory::Shared, owner, offset),
            (Space::Generic, window::Window::Local(offset)) => (Memory::Local, owner, offset),
            (Space::Generic, window::Window::Global) => (Memory::Global, None, address),
        };
        Ok(Range { memory, owner, address, bytes })
    }

    /// What a range holds now, as a type.
    pub(super) fn held(&self, range: &Range, ty: &crate::types::Type, format: Format) -> String {
        let space = match range.memory {
            sim_core::Memory::Global => Space::Generic,
            sim_core::Memory::Shared => Space::Shared,
            sim_core::Memory::Local => Space::Local,
        };
        let focus = match range.owner {
            Some((warp, lane)) => Focus { warp, lane },
            None => self.focus,
        };
        let shown = self.with_lane(focus, 0, &mut |at| {
            format::value(at, &at.value_at(ty, space, range.address)?, format, Style::default())
        });
        shown.unwrap_or_else(|error| format!("<{error}>"))
    }

    pub(super) fn positions(&self) -> Vec<u32> {
        let enabled = self.points.breakpoints.iter().filter(|point| point.enabled);
        enabled.flat_map(|point| point.places.iter().map(|(position, _)| *position)).collect()
    }

    /// Which breakpoints are reached by lanes that are about to execute an instruction: their numbers and those lanes.
    /// `counts`: they are reached for the user.
    pub(super) fn reached(
        &mut self,
        running: Running,
        counts: bool,
    ) -> (Vec<u32>, LaneMask, Option<(u32, Error)>) {
        let mut breakpoints = std::mem::take(&mut self.points.breakpoints);
        let (mut ids, mut all) = (Vec::new(), 0);
        let mut failed = None;
        for point in breakpoints.iter_mut().filter(|point| point.enabled) {
            let Some((_, condition)) =
                point.places.iter().find(|(position, _)| *position == running.position)
            else {
                continue;
            };
            let mut lanes = match point.threads {
                Some(threads) if threads.warp == running.warp => running.lanes & threads.lanes,
                Some(_) => 0,
                None => running.lanes,
            };
            if point.condition.is_some() && lanes != 0 {
                match condition {
                    Some(condition) => match self.lanes_where(running, lanes, condition) {
                        Ok(holds) => lanes = holds,
                        Err(error) => failed = Some((point.id, error)),
                    },
                    None => {
                        failed = Some((
                            point.id,
                            Error::refused("its condition has names that are not known here"),
                        ))
                    }
                }
            }
            if lanes == 0 {
                continue;
            }
            if counts && point.ignore > 0 {
                point.ignore -= 1;
                point.hits += 1;
                continue;
            }
            point.hits += u64::from(counts);
            ids.push(point.id);
            all |= lanes;
        }
        if counts {
            breakpoints.retain(|point| !(point.temporary && ids.contains(&point.id)));
        }
        self.points.breakpoints = breakpoints;
        (ids, all, failed)
    }

    /// Whether lanes that are about to execute an instruction reach a breakpoint, or one whose condition cannot be computed.
    pub(super) fn is_reached(&mut self, running: Running) -> bool {
        let (ids, _, failed) = self.reached(running, false);
        !ids.is_empty() || failed.is_some()
    }

    fn lanes_where(&self, running: Running, lanes: LaneMask, condition: &Bound) -> Result<LaneMask> {
        let look = self.session.look();
        let gone = || Error::NoThread("the thread is not there".into());
        let block = look.block(running.warp.block).ok_or_else(gone)?;
        let warp = block.warp(running.warp.warp).ok_or_else(gone)?;
        let group = warp.group(running.lanes.trailing_zeros()).ok_or_else(gone)?;
        let frame = group.frame();
        let session: &Session<'_, '_> = self.session;
        let mut at = At { session, here: Some(Here { block, warp, frame }), lane: 0 };
        let mut holds = 0;
        let mut left = lanes;
        while left != 0 {
            at.lane = left.trailing_zeros();
            left &= left - 1;
            holds |= LaneMask::from(at.is_true(condition)?) << at.lane;
        }
        Ok(holds)
    }

    /// Which of the watchpoints a hit is of, and what that held before and holds now.
    pub(super) fn watched(&mut self, hits: &[Hit]) -> Option<Reason> {
        let hit = *hits.first()?;
        let point = self.points.watchpoints.get(hit.range)?.clone();
        let new = self.held(&point.range, &point.ty, point.format);
        let old = point.last.unwrap_or_else(|| "<unknown>".into());
        let kept = &mut self.points.watchpoints[hit.range];
        kept.hits += 1;
        kept.last = Some(new.clone());
        Some(Reason::Watchpoint { id: point.id, hit, old, new })
    }

    /// What watched memory holds is known from here on.
    pub(super) fn look_at_watched(&mut self) {
        for at in 0..self.points.watchpoints.len() {
            let point = &self.points.watchpoints[at];
            let held = self.held(&point.range, &point.ty, point.format);
            self.points.watchpoints[at].last = Some(held);
        }
    }
}
