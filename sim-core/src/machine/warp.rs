//! A warp: its lanes, the groups they run in, and their call frames.
//!
//! Lanes that are at the same position with the same call chain run together as a [`Group`]. Groups
//! split at divergent branches and merge when they meet. The group deepest in calls, then lowest in
//! the layout runs first, so that groups meet soon; a group that has run long gives way to the one
//! that waited longest, so that every lane makes progress (independent thread scheduling).

use std::cmp::Reverse;

use super::frame::{Frame, FrameId, ROOT};
use super::in_flight::InFlight;
use super::warpgroup::Pending;
use crate::code::{Code, CodeFunction};
use semantics::lanes::{LaneMask, Row};

/// What a group waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    Ready,
    /// Nothing: it runs. What its entry says besides is out of date.
    Running,
    /// A block barrier, by number. The group stands behind the instruction already.
    Barrier(u8),
    /// A warp-level operation: the lanes of this member mask.
    Members(LaneMask),
    /// The barrier of the cluster. The group stands behind the instruction already.
    Cluster,
    /// The other warps of the warpgroup. The group stands at the instruction.
    Warpgroup,
}

/// Lanes that run together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    pub position: u32,
    pub lanes: LaneMask,
    pub frame: FrameId,
    pub wait: Wait,
    /// When it last ran, in warp time.
    pub last_run: u64,
}

impl Group {
    /// One of the kernel itself that has not run yet.
    pub(crate) fn of_kernel(position: u32, lanes: LaneMask) -> Group {
        Group { position, lanes, frame: ROOT, wait: Wait::Ready, last_run: 0 }
    }

    /// One that is executing the instruction at a position.
    pub(crate) fn executing(position: u32, lanes: LaneMask, frame: FrameId) -> Group {
        Group { position, lanes, frame, wait: Wait::Running, last_run: 0 }
    }
}

/// Rows that frames lie in: of one function, for lanes of different call chains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: u32,
    end: u32,
    function: u32,
    frames: u32,
}

/// A warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Warp {
    /// Special registers, then frames.
    pub rows: Vec<Row>,
    pub predicates: Vec<LaneMask>,
    /// Local memory: word `w` of lane `l` is `local[w].0[l]`.
    pub local: Vec<Row>,
    pub frames: Vec<Frame>,
    /// The first free one.
    free_frame: Option<FrameId>,
    /// The rows of all frames but the first, in order; no two overlap.
    spans: Vec<Span>,
    pub groups: Vec<Group>,
    /// Begun and not done yet.
    pub in_flight: InFlight,
    /// `wgmma` only.
    pub pending: Pending,
    /// Registers a thread, once `setmaxnreg` has changed them.
    pub registers: Option<u32>,
    /// Lanes that exist.
    pub lanes: LaneMask,
    pub exited: LaneMask,
    /// Lanes ended by a fault.
    pub faulted: LaneMask,
    /// Lanes that have arrived at the barrier of the cluster since it last completed.
    pub cluster_arrived: LaneMask,
    /// Lanes that have arrived there and not waited yet.
    pub cluster_owing: LaneMask,
    /// Warp time: instructions run.
    pub clock: u64,
    /// When its lanes parted, or the group that had waited longest last got its turn.
    pub busy_from: u64,
    /// When the slice of the group that runs began, and whether something in it may wait for another thread.
    pub slice_from: u64,
    pub waited: bool,
    /// Index of the warp in its block.
    pub index: u32,
}

/// Instructions a group runs before others that are ready get a turn, when it may wait for them.
pub(crate) const SLICE: u64 = 256;
/// Instructions that the groups of a warp run by place before the one that waited longest gets a turn, though nothing seems to
/// wait for another thread.
pub(crate) const BUSY: u64 = 65_536;

/// Limits of what a thread may use; far above CUDA's own.
pub(crate) const MAX_LOCAL_BYTES: u32 = 512 << 10;
const MAX_ROWS: usize = 1 << 19;
const MAX_DEPTH: u32 = 1 << 14;

impl Warp {
    /// The registers and local memory of a warp at the kernel's start.
    pub(crate) fn reset_registers(&mut self, code: &Code) {
        let kernel = &code.functions[0];
        let specials = code.warp_specials.len();
        self.rows.resize(specials + kernel.rows as usize, Row::ZERO);
        self.predicates.resize(kernel.predicates as usize, 0);
        self.local.clear();
        self.clear_registers(kernel, specials);
    }

    /// The same where there were those of another block.
    #[inline(always)]
    pub(crate) fn clear_registers(&mut self, kernel: &CodeFunction, specials: usize) {
        // Only registers that may be read before they are written need a defined value.
        for &row in &kernel.exposed_rows {
            self.rows[specials + row as usize] = Row::ZERO;
        }
        for &predicate in &kernel.exposed_predicates {
            self.predicates[predicate as usize] = 0;
        }
        self.predicates[0] = LaneMask::MAX;
        if kernel.local_bytes > 0 {
            let words = (kernel.local_start() + kernel.local_bytes) as usize / 4;
            self.local.clear();
            self.local.resize(words, Row::ZERO);
        }
    }

    /// Puts the warp at the kernel's start, but for [`Warp::reset_registers`]; keeps its buffers.
    pub(crate) fn reset(&mut self, code: &Code, index: u32, lanes: LaneMask) {
        let kernel = &code.functions[0];
        let local_start = kernel.local_start();
        self.frames.clear();
        self.frames.push(Frame {
            function: 0,
            return_to: u32::MAX,
            site: u32::MAX,
            parent: ROOT,
            rows: 0,
            predicates: 0,
            local_start,
            local_end: local_start + kernel.local_bytes,
            depth: 0,
            references: 2,
            called: None,
            next: None,
        });
        self.free_frame = None;
        self.spans.clear();
        self.groups.clear();
        self.groups.push(Group::of_kernel(kernel.start, lanes));
        self.in_flight.clear();
        self.pending.clear();
        self.registers = None;
        self.lanes = lanes;
        self.exited = !lanes;
        self.faulted = 0;
        (self.cluster_arrived, self.cluster_owing) = (0, 0);
        self.clock = 0;
        self.index = index;
    }

    /// Leaves no values in its buffers.
    pub(crate) fn empty(&mut self) {
        self.rows.clear();
        self.predicates.clear();
        self.local.clear();
    }

    pub(crate) fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// Lanes that have neither exited nor faulted.
    pub(crate) fn live(&self) -> LaneMask {
        self.lanes & !self.exited
    }

    /// Lanes that have exited by themselves.
    pub(crate) fn left(&self) -> LaneMask {
        self.lanes & self.exited & !self.faulted
    }

    /// Enters a function with some lanes: the frame of the callee, shared with groups that made the
    /// same call. `None` when the call chain or local memory is too deep.
    ///
    /// Frames of other call chains may lie in the same rows and predicates, for other lanes: only
    /// what belongs to these lanes may be set.
    pub(crate) fn enter(
        &mut self,
        code: &Code,
        caller: FrameId,
        function: u32,
        return_to: u32,
        site: u32,
        lanes: LaneMask,
    ) -> Option<FrameId> {
        let callee = &code.functions[function as usize];
        let parent = *self.frame(caller);
        let above = &code.functions[parent.function as usize];
        let local_start = parent.local_end.checked_next_multiple_of(callee.local_align)?;
        let mut next = parent.called;
        while let Some(id) = next {
            let frame = *self.frame(id);
            if frame.return_to == return_to && frame.function == function && frame.local_start == local_start
            {
                self.predicates[frame.predicates as usize] |= lanes;
                return Some(id);
            }
            next = frame.next;
        }
        let (rows, span) = self.free_rows(function, parent.rows + above.rows, callee.rows);
        let frame = Frame {
            function,
            return_to,
            site,
            parent: caller,
            rows,
            predicates: parent.predicates + above.predicates,
            local_start,
            local_end: local_start.checked_add(callee.local_bytes)?,
            depth: parent.depth + 1,
            references: 0,
            called: None,
            next: parent.called,
        };
        let rows = code.warp_specials.len() + (frame.rows + callee.rows) as usize;
        if frame.depth > MAX_DEPTH || frame.local_end > MAX_LOCAL_BYTES || rows > MAX_ROWS {
            return None;
        }
        if self.rows.len() < rows {
            self.rows.resize(rows, Row::ZERO);
        }
        let predicates = (frame.predicates + callee.predicates) as usize;
        if self.predicates.len() < predicates {
            self.predicates.resize(predicates, 0);
        }
        self.predicates[frame.predicates as usize] |= lanes;
        self.reserve_local(frame.local_end);
        match self.spans.get_mut(span).filter(|other| (other.start, other.function) == (frame.rows, function))
        {
            Some(other) => other.frames += 1,
            None if callee.rows == 0 => {}
            None => {
                let end = frame.rows + callee.rows;
                self.spans.insert(span, Span { start: frame.rows, end, function, frames: 1 });
            }
        }
        let id = match self.free_frame {
            Some(id) => {
                self.free_frame = self.frame(id).next;
                self.frames[id.0 as usize] = frame;
                id
            }
            None => {
                self.frames.push(frame);
                FrameId(self.frames.len() as u32 - 1)
            }
        };
        let parent = &mut self.frames[caller.0 as usize];
        parent.references += 1;
        parent.called = Some(id);
        Some(id)
    }

    /// The first rows from `rows` on for a frame of a function, and where its span is or belongs. Wide
    /// registers mix the lanes of their rows, so lanes of other call chains are only safe from a frame in
    /// the same rows if it is of the same function.
    fn free_rows(&self, function: u32, mut rows: u32, need: u32) -> (u32, usize) {
        let mut at = match self.spans.last() {
            Some(last) if last.end > rows => self.spans.partition_point(|span| span.end <= rows),
            _ => self.spans.len(),
        };
        while let Some(span) = self.spans.get(at)
            && span.start < rows + need
            && (span.start, span.function) != (rows, function)
        {
            rows = span.end;
            at += 1;
        }
        (rows, at)
    }

    /// Nobody is left in a frame.
    fn free(&mut self, id: FrameId) {
        let frame = *self.frame(id);
        let at = match self.spans.last() {
            Some(last) if last.start == frame.rows => self.spans.len() - 1,
            _ => self.spans.partition_point(|span| span.start < frame.rows),
        };
        let of_frame = |span: &&mut Span| (span.start, span.function) == (frame.rows, frame.function);
        if let Some(span) = self.spans.get_mut(at).filter(of_frame) {
            span.frames -= 1;
            if span.frames == 0 {
                self.spans.remove(at);
            }
        }
        // Few frames are called from one: at most one a lane.
        let (mut before, mut next) = (None, self.frame(frame.parent).called);
        while let Some(other) = next
            && other != id
        {
            (before, next) = (next, self.frame(other).next);
        }
        match before {
            None => self.frames[frame.parent.0 as usize].called = frame.next,
            Some(FrameId(before)) => self.frames[before as usize].next = frame.next,
        }
        self.frames[id.0 as usize].next = self.free_frame;
        self.free_frame = Some(id);
    }

    /// Makes local memory reach up to a byte offset.
    pub(crate) fn reserve_local(&mut self, end: u32) {
        let words = end.div_ceil(4) as usize;
        if self.local.len() < words {
            self.local.resize(words, Row::ZERO);
        }
    }

    /// One group more is in a frame.
    pub(crate) fn hold(&mut self, id: FrameId) {
        self.frames[id.0 as usize].references += 1;
    }

    /// One group less is in a frame; frees it and its callers as far as nobody is left.
    pub(crate) fn release(&mut self, mut id: FrameId) {
        loop {
            let frame = &mut self.frames[id.0 as usize];
            frame.references -= 1;
            if frame.references > 0 || id == ROOT {
                return;
            }
            let parent = frame.parent;
            self.free(id);
            id = parent;
        }
    }

    /// Where a group is, for people: at the barrier it waits for, not behind it.
    pub(crate) fn place(group: &Group) -> u32 {
        group.position - u32::from(matches!(group.wait, Wait::Barrier(_) | Wait::Cluster))
    }

    /// Its lanes part: a slice begins. Slices count by the warp's time from there on, whoever runs it.
    pub(crate) fn part_at(&mut self, now: u64) {
        (self.busy_from, self.slice_from, self.waited) = (now, now, false);
    }

    /// Another slice begins now; `fair`: of the group that waited longest.
    pub(crate) fn begin_slice(&mut self, fair: bool) {
        let busy_from = if fair { self.clock } else { self.busy_from };
        (self.busy_from, self.slice_from, self.waited) = (busy_from, self.clock, false);
    }

    /// When the slice of the running group ends; never if there is no other group.
    #[inline]
    pub(crate) fn slice_end(&self) -> u64 {
        if self.groups.len() > 1 { (self.slice_from + SLICE).min(self.busy_from + BUSY) } else { u64::MAX }
    }

    /// Ends a slice that is over; whether the group that waited longest is to run next.
    #[inline]
    pub(crate) fn ends_slice(&mut self) -> bool {
        if self.clock < self.slice_end() {
            return false;
        }
        let fair = self.waited || self.clock >= self.busy_from + BUSY;
        self.begin_slice(fair);
        fair
    }

    /// The ready group to run: by place, or the one that waited longest.
    #[inline]
    pub(crate) fn choose(&self, fair: bool) -> Option<usize> {
        if let [group] = &self.groups[..] {
            return (group.wait == Wait::Ready).then_some(0);
        }
        let ready = self.groups.iter().enumerate().filter(|(_, group)| group.wait == Wait::Ready);
        // Of those that have waited for as long, too, the place decides: in which order they are kept depends on the engine.
        let place = |group: &Group| (Reverse(self.frame(group.frame).depth), group.position);
        let order = |group: &Group| (if fair { group.last_run } else { 0 }, place(group));
        ready.min_by_key(|(_, group)| order(group)).map(|(at, _)| at)
    }

    /// The lowest position at which a ready group of this frame stands, which the running group
    /// must not pass.
    #[inline]
    pub(crate) fn next_stop(&self, frame: FrameId) -> u32 {
        self.groups
            .iter()
            .filter(|group| group.wait == Wait::Ready && group.frame == frame)
            .map(|group| group.position)
            .min()
            .unwrap_or(u32::MAX)
    }

    /// Whether all its live lanes stand ready at one place of the kernel itself.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        matches!(&self.groups[..], [group] if group.wait == Wait::Ready && group.frame == ROOT)
    }

    /// Takes a group out to run it; its entry stays, marked. Field by field: the entry was written so,
    /// and a copy as a whole would wait for those writes.
    #[inline(always)]
    pub(crate) fn start(&mut self, at: usize) -> Group {
        let entry = &mut self.groups[at];
        entry.wait = Wait::Running;
        Group {
            position: entry.position,
            lanes: entry.lanes,
            frame: entry.frame,
            wait: Wait::Ready,
            last_run: entry.last_run,
        }
    }

    /// Puts a group back into its entry.
    #[inline(always)]
    pub(crate) fn stop(&mut self, at: usize, group: &Group, wait: Wait) {
        let entry = &mut self.groups[at];
        entry.position = group.position;
        entry.lanes = group.lanes;
        entry.frame = group.frame;
        entry.last_run = group.last_run;
        entry.wait = wait;
        if wait == Wait::Ready && self.groups.len() > 1 {
            let group = self.groups.swap_remove(at);
            self.put(group);
        }
    }

    /// The entry of the group that runs.
    #[inline]
    pub(crate) fn running(&self) -> usize {
        self.groups.iter().position(|group| group.wait == Wait::Running).unwrap_or(0)
    }

    /// The running group reached the next ready one of its frame, or passed it: merges them, or lets
    /// that one run on instead, as [`Warp::stop`] and [`Warp::choose`] would. Position, lanes and next
    /// stop of what runs then; `None` when groups of other frames are ready too.
    #[inline]
    pub(crate) fn meet(
        &mut self,
        position: u32,
        lanes: LaneMask,
        frame: FrameId,
        now: u64,
    ) -> Option<(u32, LaneMask, u32)> {
        let (mut lowest, mut twin) = (usize::MAX, usize::MAX);
        let (mut first, mut second) = (u32::MAX, u32::MAX);
        for (at, group) in self.groups.iter().enumerate() {
            if group.wait != Wait::Ready {
                continue;
            }
            if group.frame != frame {
                if self.frame(group.frame).depth >= self.frame(frame).depth {
                    return None;
                }
                // The deepest go first.
                continue;
            }
            if group.position == position {
                twin = at;
            }
            if group.position < first {
                (lowest, first, second) = (at, group.position, first);
            } else {
                second = second.min(group.position);
            }
        }
        if first > position {
            return None;
        }
        let taken = self.groups[lowest].lanes;
        if first == position {
            self.groups.swap_remove(lowest);
            self.frames[frame.0 as usize].references -= 1;
            return Some((position, lanes | taken, second));
        }
        if twin != usize::MAX {
            self.groups[twin].lanes |= lanes;
            self.groups.swap_remove(lowest);
            self.frames[frame.0 as usize].references -= 1;
        } else {
            let entry = &mut self.groups[lowest];
            entry.position = position;
            entry.lanes = lanes;
            entry.last_run = now;
        }
        Some((first, taken, second.min(position)))
    }

    /// Some lanes of a running group, which ran last now, go on elsewhere in the same frame.
    pub(crate) fn fork(&mut self, group: &Group, position: u32, lanes: LaneMask) {
        if self.groups.len() == 1 {
            self.part_at(group.last_run);
        }
        self.hold(group.frame);
        self.put(Group { position, lanes, frame: group.frame, wait: Wait::Ready, last_run: group.last_run });
    }

    /// Adds a group, merging it with one that stands at the same place.
    pub(crate) fn put(&mut self, group: Group) {
        let twin = self.groups.iter_mut().find(|other| {
            other.wait == Wait::Ready
                && group.wait == Wait::Ready
                && other.position == group.position
                && other.frame == group.frame
        });
        match twin {
            Some(other) => {
                other.lanes |= group.lanes;
                other.last_run = other.last_run.min(group.last_run);
                self.release(group.frame);
            }
            None => self.groups.push(group),
        }
    }
}
