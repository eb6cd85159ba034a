//! What a grid accesses after it launched others, with racecheck: a kernel's child is over before the kernel is, and
//! nothing orders the two otherwise, so the child races with whatever the kernel does behind the launch.
//!
//! Only weak reads and writes of global memory behind a launch are kept, a word at a time; racecheck has a launch run
//! on one worker, so that behind is behind in one order of all accesses.

use std::sync::Arc;

use isa::MemOrder;
use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::event::{AccessKind, Memory};
use crate::tools::Event;
use semantics::lanes::LaneMask;
use semantics::window;

/// Words that are kept of a grid; beyond them races are missed.
const MOST: usize = 1 << 20;

/// Launches before an access, and the position of its instruction.
type Mark = (u32, u32);

/// The last accesses of a word.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Marks {
    read: Mark,
    write: Mark,
}

/// What a running grid accessed behind its launches.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Trail {
    words: FxHashMap<u64, Marks>,
}

/// That of a grid that is over.
#[derive(Debug)]
pub(crate) struct Past {
    words: FxHashMap<u64, Marks>,
    pub code: Arc<Code>,
}

impl PartialEq for Past {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.code, &other.code) && self.words == other.words
    }
}

/// The grids above one, each with the number of the launch that leads to it.
pub(crate) type Lineage = Vec<(Arc<Past>, u32)>;

/// A race with a grid above.
pub(crate) struct Race<'a> {
    pub lane: LaneMask,
    pub address: u64,
    pub writes: bool,
    pub above: &'a Past,
    pub above_writes: bool,
    pub above_position: u32,
}

/// An access of global memory as it matters here: what, bytes a lane, lanes, addresses, position.
pub(crate) struct Plain {
    pub writes: bool,
    pub weak: bool,
    bytes: u64,
    pub lanes: LaneMask,
    addresses: [u64; 32],
    pub position: u32,
}

impl Plain {
    /// That of an event, if it is one.
    pub(crate) fn of(event: &Event<'_>) -> Option<Plain> {
        match event {
            Event::Access(access) if access.memory == Memory::Global => Some(Plain {
                writes: access.kind != AccessKind::Read,
                weak: matches!(access.kind, AccessKind::Read | AccessKind::Write)
                    && access.order == MemOrder::Weak,
                bytes: access.bytes.into(),
                lanes: access.lanes,
                addresses: *access.addresses,
                position: access.position,
            }),
            Event::Ranges(ranges) if ranges.memory == Memory::Global => Some(Plain {
                writes: ranges.kind != AccessKind::Read,
                weak: matches!(ranges.kind, AccessKind::Read | AccessKind::Write),
                bytes: ranges.bytes.into(),
                lanes: LaneMask::MAX,
                addresses: ranges.addresses(),
                position: ranges.position,
            }),
            _ => None,
        }
    }

    /// Words by lane; parameters on their way are nobody else's.
    fn words(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let lanes = (0..32).filter(|lane| self.lanes >> lane & 1 != 0);
        lanes.flat_map(|lane| {
            let first = self.addresses[lane];
            let words = first / 4..(first + self.bytes).div_ceil(4);
            words.filter(move |_| !window::CONST.contains(&first)).map(move |word| (lane, word))
        })
    }
}

impl Trail {
    /// Keeps an access behind so many launches.
    pub(crate) fn add(&mut self, access: &Plain, launches: u32) {
        for (_, word) in access.words() {
            if self.words.len() >= MOST && !self.words.contains_key(&word) {
                continue;
            }
            let marks = self.words.entry(word).or_default();
            *(if access.writes { &mut marks.write } else { &mut marks.read }) = (launches, access.position);
        }
    }

    pub(crate) fn finish(self, code: Arc<Code>) -> Past {
        Past { words: self.words, code }
    }
}

/// The first race of an access with what a grid above did behind the launch that leads here.
pub(crate) fn race<'a>(access: &Plain, lineage: &'a Lineage) -> Option<Race<'a>> {
    for (lane, word) in access.words() {
        for (above, number) in lineage {
            let Some(marks) = above.words.get(&word) else { continue };
            let behind = |mark: Mark| (mark.0 > *number).then_some(mark.1);
            let found = match behind(marks.write) {
                Some(position) => Some((true, position)),
                None => behind(marks.read).filter(|_| access.writes).map(|position| (false, position)),
            };
            if let Some((above_writes, above_position)) = found {
                let (lane, address) = (1 << lane, access.addresses[lane]);
                return Some(Race {
                    lane,
                    address,
                    writes: access.writes,
                    above,
                    above_writes,
                    above_position,
                });
            }
        }
    }
    None
}
