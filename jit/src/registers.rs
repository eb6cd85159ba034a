//! Which lines of rows lie in vector registers, within a basic block or the turns of one.

use semantics::formula::Width;

/// A line: 64 bytes of a row, by the base of its slot (frame, warp, constants) and its number from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub base: u8,
    pub number: u32,
}

impl Line {
    pub(crate) const FRAME: u8 = 0;

    pub(crate) const fn is_frame(self) -> bool {
        self.base == Line::FRAME
    }

    pub(crate) const fn row(self) -> u32 {
        self.number / 2
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
    used: u32,
}

impl Held {
    pub(crate) const fn new(line: Line, width: Width, index: u32, dirty: bool) -> Held {
        Held { line, width, index, dirty, used: 0 }
    }
}

/// Vector registers that hold lines: all but the last three, which are scratch.
pub(crate) const COUNT: usize = 29;

#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub held: [Option<Held>; COUNT],
    pinned: u32,
    time: u32,
}

impl File {
    /// The register of a line; it stays during this step.
    pub(crate) fn find(&mut self, line: Line) -> Option<usize> {
        let at = self.peek(line)?;
        self.pin(at);
        Some(at)
    }

    pub(crate) fn peek(&self, line: Line) -> Option<usize> {
        self.held.iter().position(|held| held.is_some_and(|held| held.line == line))
    }

    pub(crate) fn pin(&mut self, at: usize) {
        self.time += 1;
        self.pinned |= 1 << at;
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
        let empty = (0..COUNT).filter(free).find(|&at| self.held[at].is_none());
        let at = empty.unwrap_or_else(|| {
            let oldest = |&at: &usize| self.held[at].map_or(0, |held| held.used);
            (0..COUNT).filter(free).min_by_key(oldest).unwrap_or(0)
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
            if held.is_some_and(|held| held.line == line) {
                *held = None;
            }
        }
    }
}
