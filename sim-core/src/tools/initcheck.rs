//! `--tool initcheck`: reads of bytes that nothing has written.

use super::event::{Event, Wants, WarpId};
use super::tool::{Context, Report, Tool};
use crate::event::{AccessKind, Memory, Shape, WarpAccess};
use crate::finding::FindingKind;
use crate::memory::Written;
use semantics::lanes::LaneMask;

/// Reports reads of what nothing has written. What is known of global memory is the simulator's, since it outlives
/// launches and copies of the host write, too.
#[derive(Clone, Copy, Default, Debug)]
pub struct Initcheck;

/// What was written of a block's own memory.
#[derive(Default)]
pub struct BlockMemory {
    shared: Written,
    /// By warp: for each byte of local memory, lanes that wrote it.
    local: Vec<Vec<LaneMask>>,
}

impl BlockMemory {
    /// A warp's local memory, of so many bytes at least.
    fn local(&mut self, warp: u32, bytes: usize) -> &mut [LaneMask] {
        let warp = warp as usize;
        if self.local.len() <= warp {
            self.local.resize_with(warp + 1, Vec::new);
        }
        let local = &mut self.local[warp];
        if local.len() < bytes {
            local.resize(bytes, 0);
        }
        local
    }
}

/// An access, as far as it matters here.
struct Touched {
    memory: Memory,
    reads: bool,
    writes: bool,
    bytes: u64,
    lanes: LaneMask,
    warp: u32,
    position: u32,
}

impl Touched {
    fn new(
        memory: Memory,
        kind: AccessKind,
        bytes: u32,
        lanes: LaneMask,
        warp: u32,
        position: u32,
    ) -> Touched {
        Touched {
            memory,
            reads: kind != AccessKind::Write,
            writes: kind != AccessKind::Read,
            bytes: bytes.into(),
            lanes,
            warp,
            position,
        }
    }

    /// Whether nothing of a range is missing; then it is marked as written, if it is.
    fn range(&self, written: &Written, at: u64, bytes: u64) -> bool {
        let fine = !self.reads || written.all(at, bytes);
        if fine && self.writes {
            written.set(at, bytes);
        }
        fine
    }

    /// The same of ranges of the memory that is accessed; false if they must be looked at lane by lane.
    fn ranges(&self, ranges: [(u64, u64); 2], block: &BlockMemory, context: &dyn Context) -> bool {
        // Mostly they are one.
        let [(start, bytes), (next, more)] = ranges;
        let whole = [(start, bytes + more)];
        let ranges = match next.wrapping_sub(start) {
            gap if gap == bytes => &whole[..],
            0 if bytes == more => &ranges[..1],
            _ => &ranges[..],
        };
        ranges.iter().all(|&(start, bytes)| match self.memory {
            Memory::Global => {
                context.written(start, bytes).is_some_and(|(written, at)| self.range(written, at, bytes))
            }
            Memory::Shared => self.range(&block.shared, start, bytes),
            Memory::Local => false,
        })
    }

    /// Looks at each lane: those that read what was never written.
    fn each(&self, addresses: &[u64; 32], block: &mut BlockMemory, context: &dyn Context) -> LaneMask {
        let bytes = self.bytes;
        let lanes = || (0..32).filter(|lane| self.lanes >> lane & 1 != 0);
        let mut bad = 0;
        match self.memory {
            Memory::Global => {
                let own = |lane: usize| context.written(addresses[lane], bytes);
                // Mostly all are in one allocation, which is looked for once.
                let start = lanes().map(|lane| addresses[lane]).min().unwrap_or(0);
                let end = lanes().map(|lane| addresses[lane].saturating_add(bytes)).max().unwrap_or(0);
                let common = context.written(start, end - start);
                for lane in lanes() {
                    let here = common.map(|(written, at)| (written, at + (addresses[lane] - start)));
                    let Some((written, at)) = here.or_else(|| own(lane)) else { continue };
                    bad |= u32::from(self.reads && !written.all(at, bytes)) << lane;
                    if self.writes {
                        written.set(at, bytes);
                    }
                }
            }
            Memory::Shared => {
                for lane in lanes() {
                    bad |= u32::from(self.reads && !block.shared.all(addresses[lane], bytes)) << lane;
                }
                if self.writes {
                    lanes().for_each(|lane| block.shared.set(addresses[lane], bytes));
                }
            }
            Memory::Local => {
                let end = lanes().map(|lane| addresses[lane] + bytes).max().unwrap_or(0);
                let local = block.local(self.warp, end as usize);
                for lane in lanes() {
                    let range = addresses[lane] as usize..(addresses[lane] + bytes) as usize;
                    for lanes in &mut local[range] {
                        bad |= u32::from(self.reads && *lanes >> lane & 1 == 0) << lane;
                        *lanes |= u32::from(self.writes) << lane;
                    }
                }
            }
        }
        bad
    }

    fn report(&self, addresses: &[u64; 32], bad: LaneMask, context: &dyn Context) {
        let (bytes, address) = (self.bytes, addresses[bad.trailing_zeros() as usize & 31]);
        let (space, note) = match self.memory {
            Memory::Global => ("", context.describe(address, bytes)),
            Memory::Shared => ("shared address ", None),
            Memory::Local => ("local address ", None),
        };
        context.report(Report {
            kind: FindingKind::UninitializedRead,
            message: format!("read of {bytes} bytes at {space}{address:#x} that were never written"),
            notes: note.into_iter().collect(),
            warp: self.warp,
            lanes: bad,
            position: self.position,
            other: None,
        });
    }

    fn check(&self, addresses: &[u64; 32], block: &mut BlockMemory, context: &dyn Context) {
        let bad = self.each(addresses, block, context);
        if bad != 0 {
            self.report(addresses, bad, context);
        }
    }
}

/// The ranges that the lanes access together, if their addresses are known to lie so: start, bytes.
fn ranges(access: &WarpAccess<'_>) -> Option<[(u64, u64); 2]> {
    let (addresses, bytes) = (access.addresses, u64::from(access.bytes));
    let half = |first: usize, unit: bool| (addresses[first], if unit { 16 * bytes } else { bytes });
    match access.shape {
        Shape::Halves(a, b) => Some([half(0, a), half(16, b)]),
        Shape::Same => Some([(addresses[access.lanes.trailing_zeros() as usize & 31], bytes); 2]),
        Shape::Unit | Shape::Any => None,
    }
}

impl Tool for Initcheck {
    type Block = BlockMemory;

    const TRACKS_INITIALIZATION: bool = true;

    fn wants(&self) -> Wants {
        Wants::BLOCKS | Wants::ACCESSES | Wants::RANGES | Wants::ALLOCATIONS | Wants::PARAMETERS
    }

    fn event(&mut self, event: &Event<'_>, block: &mut BlockMemory, context: &dyn Context) {
        match *event {
            Event::Ranges(of) => {
                let WarpId { warp, .. } = of.warp;
                let touched = Touched::new(of.memory, of.kind, of.bytes, LaneMask::MAX, warp, of.position);
                if !touched.ranges(of.spans(), block, context) {
                    touched.check(&of.addresses(), block, context);
                }
            }
            Event::Access(of) => {
                let touched = Touched::new(of.memory, of.kind, of.bytes, of.lanes, of.warp, of.position);
                if !ranges(of).is_some_and(|ranges| touched.ranges(ranges, block, context)) {
                    touched.check(of.addresses, block, context);
                }
            }
            Event::BlockStarted { shared, .. } => {
                block.shared = Written::none(shared.into());
                block.local.iter_mut().for_each(Vec::clear);
            }
            Event::ParameterPassed { warp, lanes, offset, bytes } => {
                let range = offset as usize..(offset + bytes) as usize;
                let local = block.local(warp.warp, range.end);
                local[range].iter_mut().for_each(|written| *written |= lanes);
            }
            // What the memory held before does not count.
            Event::Allocated { address, bytes } => {
                if let Some((written, at)) = context.written(address, bytes) {
                    written.clear(at, bytes);
                }
            }
            _ => {}
        }
    }
}
