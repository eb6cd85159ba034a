//! Which lines of rows lie in vector registers, within a basic block or the turns of one.

use semantics::formula::Width;

/// A line: as much of a row as a register holds, by the base of its slot (frame, warp, constants), the row from there and
/// the part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub base: u8,
    pub row: u32,
    pub part: u32,
}

impl Line {
    pub(crate) const FRAME: u8 = 0;

    pub(crate) const fn is_frame(self) -> bool {
        self.base == Line::FRAME
    }
}

/// What a register holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub line: Line,
    /// Of what register it is a part: width, and number of the line from its start.
    pub width: Width,
    pub index: u32,
    /// Memory has an older value.
    pub dirty: bool,
    /// A float of which what is no number may have any bits that say so: memory gets those of the device.
    pub raw: bool,
    /// It is the first one of its register, and all others are the same.
    pub uniform: bool,
    used: u32,
}

impl Held {
    pub(crate) const fn new(line: Line, width: Width, index: u32, dirty: bool) -> Held {
        Held { line, width, index, dirty, raw: false, uniform: false, used: 0 }
    }

    /// The same with a float of which what is no number may have any such bits.
    pub(crate) const fn raw(self, raw: bool) -> Held {
        Held { raw, ..self }
    }

    /// The same for all lines of its register, or for this one alone.
    pub(crate) const fn uniform(self, uniform: bool) -> Held {
        Held { uniform, ..self }
    }

    /// Whether it is what a line has.
    pub(crate) fn is(&self, line: Line) -> bool {
        let rows = self.line.row..self.line.row + self.width.rows();
        self.line == line || self.uniform && self.line.base == line.base && rows.contains(&line.row)
    }
}

/// Vector registers, some of which hold lines.
pub(crate) const REGISTERS: usize = 32;

/// Those that hold lines: the first `count`; the others are scratch.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub held: [Option<Held>; REGISTERS],
    count: usize,
    pinned: u32,
    time: u32,
}

impl File {
    pub(crate) fn new(count: usize) -> File {
        File { held: [None; REGISTERS], count, pinned: 0, time: 0 }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The register of a line; it stays during this step.
    pub(crate) fn find(&mut self, line: Line) -> Option<usize> {
        let at = self.peek(line)?;
        self.pin(at);
        Some(at)
    }

    pub(crate) fn peek(&self, line: Line) -> Option<usize> {
        self.held.iter().position(|held| held.is_some_and(|held| held.is(line)))
    }

    pub(crate) fn pin(&mut self, at: usize) {
        self.pinned |= 1 << at;
        self.touch(at);
    }

    /// It is used now.
    pub(crate) fn touch(&mut self, at: usize) {
        self.time += 1;
        if let Some(held) = &mut self.held[at] {
            held.used = self.time;
        }
    }

    pub(crate) fn unpin_all(&mut self) {
        self.pinned = 0;
    }

    /// A register to be used next, and what it held.
    pub(crate) fn choose(&mut self) -> (usize, Option<Held>) {
        let free = |at: &usize| self.pinned >> at & 1 == 0;
        let empty = (0..self.count).filter(free).find(|&at| self.held[at].is_none());
        let at = empty.unwrap_or_else(|| {
            let oldest = |&at: &usize| self.held[at].map_or(0, |held| held.used);
            (0..self.count).filter(free).min_by_key(oldest).unwrap_or(0)
        });
        let was = self.held[at].take();
        self.pinned |= 1 << at;
        (at, was)
    }

    pub(crate) fn put(&mut self, at: usize, held: Held) {
        self.time += 1;
        self.held[at] = Some(Held { used: self.time, ..held });
    }

    pub(crate) fn forget(&mut self, line: Line) {
        for held in &mut self.held {
            if held.is_some_and(|held| held.is(line)) {
                *held = None;
            }
        }
    }
}
