//! `--tool counters`: what a launch executed, by instruction: warp and thread instructions, requests and sectors of global
//! memory, wavefronts of shared memory, branches.
//!
//! Numbers that mean the same on a device have Nsight Compute's names. A kernel's own instructions are PTX here, of which
//! ptxas makes others: what counts those begins with `ptx__`.

mod class;
mod global;
pub mod names;
mod rules;
mod shared;
mod totals;

use super::event::{Event, Wants, WarpId, WarpRanges};
use super::launch::{InstructionView, LaunchShape, LaunchView};
use super::sectors::{half_sectors, sectors};
use super::tool::{Context, Summary, Tool};
use crate::event::{AccessKind, Memory, WarpAccess};
use crate::sums::sums;
use rules::{Made, Rule};
use semantics::lanes::LaneMask;
pub use shared::Round;
pub use totals::counter_names;

/// Counts by instruction; what the numbers are called is the matter of [`names`].
#[derive(Clone, Debug)]
pub struct Counters {
    /// One a position, and one behind the last.
    positions: Vec<Position>,
    accesses: Vec<Accesses>,
    /// The access that was told last, if nothing was told since: of one instruction several parts may be.
    last: Option<Last>,
    source: Option<Source>,
    warps_a_block: u64,
    shape: LaunchShape,
    blocks: u64,
}

/// What an instruction did.
#[derive(Clone, Copy, Default, Debug)]
struct Position {
    /// Times that a warp executed it, and threads that did, less those of the position before.
    warps: i64,
    threads: i64,
    /// Threads that its guard left out.
    off: u64,
    /// Times that it split a warp.
    diverged: u64,
    /// Its accesses: index of the first kind, plus one.
    accesses: u32,
}

/// Accesses of one kind that an instruction made.
#[derive(Clone, Copy, Debug)]
struct Accesses {
    memory: Memory,
    kind: AccessKind,
    /// Index of the next kind, plus one.
    next: u32,
    /// What the instruction is made into.
    made: Made,
    sums: Sums,
}

/// Sums over the accesses of an instruction.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    requests: u64,
    /// Sectors of global and local memory, wavefronts of shared memory, as the hardware counts them.
    units: u64,
    /// The same, as one derives them from the addresses alone.
    derived: u64,
    /// How few could do.
    ideal: u64,
    /// Bank conflicts of shared memory.
    conflicts: u64,
    /// Lines of global memory.
    lines: u64,
    /// Wavefronts of the tags that global memory is looked up in; of shared memory, those of loads that a loop around a
    /// compare-and-swap makes.
    others: u64,
    /// Bytes of all lanes.
    bytes: u64,
}

sums!(Sums: requests units derived ideal conflicts lines others bytes);

/// A part of an instruction's access.
#[derive(Clone, Copy, Debug)]
struct Last {
    warp: WarpId,
    position: u32,
    memory: Memory,
    kind: AccessKind,
    lanes: LaneMask,
    /// Lanes whose atomic leaves another value than it found.
    changing: LaneMask,
}

/// What a `cp.async` reads, until it is told what it writes.
#[derive(Clone, Copy, Debug)]
struct Source {
    warp: WarpId,
    position: u32,
    lanes: LaneMask,
    addresses: [u64; 32],
}

/// How often the banks of shared memory are asked for a load, a store or an atomic that is no loop of a warp, as the hardware
/// counts it.
pub fn shared_wavefronts(
    addresses: &[u64; 32],
    lanes: LaneMask,
    bytes: u32,
    store: bool,
    of: Option<InstructionView<'_>>,
) -> u64 {
    shared::wavefronts(addresses, lanes, 0, bytes, store, rules::made(of).rule).hardware
}

/// The rounds of an atomic on shared memory of which ptxas makes a loop around a compare-and-swap, if it is one; `changing` are
/// lanes that leave another value than they find.
pub fn rounds(
    addresses: &[u64; 32],
    [lanes, changing]: [LaneMask; 2],
    bytes: u32,
    of: Option<InstructionView<'_>>,
) -> Option<Vec<Round>> {
    match rules::made(of).rule {
        Rule::Loop { picks } => Some(shared::rounds(addresses, lanes, changing, bytes, picks)),
        _ => None,
    }
}

/// How many turns the tags of the first level take for lines: in one, they find one of each of their four parts.
pub fn tag_turns(lines: impl Iterator<Item = u64>) -> u64 {
    let mut turns = [0; 4];
    lines.for_each(|line| turns[global::part(line)] += 1);
    turns.into_iter().max().unwrap_or(0)
}

/// Whether one lane of a warp does an atomic operation for all that take part.
pub fn is_combined(of: Option<InstructionView<'_>>) -> bool {
    rules::made(of).combined
}

impl Counters {
    /// Nothing counted yet.
    pub fn new(shape: &LaunchShape) -> Self {
        Counters {
            positions: vec![Position::default(); shape.instructions as usize + 1],
            accesses: Vec::new(),
            last: None,
            source: None,
            warps_a_block: (shape.block.count() as u64).div_ceil(32),
            shape: *shape,
            blocks: 0,
        }
    }

    /// A run of instructions, each executed by so many warps and threads.
    fn executed(&mut self, first: u32, end: u32, warps: u32, threads: u32) {
        self.last = None;
        let sides =
            [(first, i64::from(warps), i64::from(threads)), (end, -i64::from(warps), -i64::from(threads))];
        for (at, warps, threads) in sides {
            if let Some(position) = self.positions.get_mut(at as usize) {
                position.warps += warps;
                position.threads += threads;
            }
        }
    }

    /// The accesses of a kind of an instruction; those that are new are made as `made` says.
    fn accesses(
        &mut self,
        position: u32,
        memory: Memory,
        kind: AccessKind,
        made: impl FnOnce() -> Made,
    ) -> Option<&mut Accesses> {
        let head = self.positions.get_mut(position as usize)?;
        let mut at = head.accesses;
        while at != 0 {
            let known = &self.accesses[at as usize - 1];
            if known.memory == memory && known.kind == kind {
                return self.accesses.get_mut(at as usize - 1);
            }
            at = known.next;
        }
        let next = head.accesses;
        self.accesses.push(Accesses { memory, kind, next, made: made(), sums: Sums::default() });
        head.accesses = self.accesses.len() as u32;
        self.accesses.last_mut()
    }

    fn ranges(&mut self, of: &WarpRanges, context: &dyn Context) {
        let part = Last {
            warp: of.warp,
            position: of.position,
            memory: of.memory,
            kind: of.kind,
            lanes: LaneMask::MAX,
            changing: 0,
        };
        let sectors = match of.memory {
            Memory::Global => half_sectors(of.bytes.into(), of.starts, of.consecutive),
            _ => 0,
        };
        self.count(part, &of.addresses(), of.bytes, sectors, context);
    }

    fn access(&mut self, of: &WarpAccess<'_>, context: &dyn Context) {
        let part = Last {
            warp: WarpId { block: of.block, warp: of.warp },
            position: of.position,
            memory: of.memory,
            kind: of.kind,
            lanes: of.lanes,
            changing: of.changing,
        };
        let plain = matches!(of.kind, AccessKind::Read | AccessKind::Write);
        let sectors = if of.memory == Memory::Global && plain { sectors(of) } else { 0 };
        self.count(part, of.addresses, of.bytes, sectors, context);
    }

    /// Counts an access, of global memory with the sectors that it touches.
    fn count(&mut self, part: Last, addresses: &[u64; 32], bytes: u32, sectors: u64, context: &dyn Context) {
        // Lanes in different allocations are told one after the other, and are one request.
        let same = |last: &Last| {
            (last.warp, last.position, last.memory, last.kind)
                == (part.warp, part.position, part.memory, part.kind)
                && last.lanes & part.lanes == 0
        };
        let again = self.last.filter(same);
        self.last = Some(Last { lanes: part.lanes | again.map_or(0, |last| last.lanes), ..part });
        let source = self.source;
        let made = || rules::made(context.instruction(part.position));
        let Some(accesses) = self.accesses(part.position, part.memory, part.kind, made) else { return };
        let made = accesses.made;
        match made.rule {
            // These were counted when they were told of.
            Rule::Texels(_) => return,
            Rule::Surface => return accesses.sums.requests += groups(part.lanes, 8),
            _ => {}
        }
        let store = part.kind == AccessKind::Write;
        let lanes = match part.lanes {
            lanes if made.combined => lanes & lanes.wrapping_neg(),
            lanes => lanes,
        };
        let mut sums = match part.memory {
            Memory::Global => {
                let traffic = match part.kind {
                    AccessKind::Read | AccessKind::Write => global::plain(addresses, lanes, bytes, sectors),
                    _ => global::atomic(addresses, lanes, bytes, made.rule == Rule::CompareAndSwap),
                };
                Sums {
                    units: traffic.sectors,
                    derived: traffic.distinct,
                    ideal: traffic.ideal,
                    lines: traffic.lines,
                    others: traffic.wavefronts,
                    ..Sums::default()
                }
            }
            Memory::Shared => {
                let copied = source.filter(|source| {
                    if !matches!(made.rule, Rule::Copy | Rule::Bypass) {
                        return false;
                    }
                    // Reading and writing are one position, or two that follow each other.
                    let near = part.position.wrapping_sub(source.position) <= 1;
                    near && source.warp == part.warp && lanes & !source.lanes == 0
                });
                let wavefronts = match copied {
                    Some(source) if made.rule == Rule::Bypass => {
                        let (sectors, wavefronts) = global::bypassing(&source.addresses, addresses, lanes);
                        let ideal = u64::from(lanes.count_ones() * bytes).div_ceil(128).min(wavefronts);
                        let loads = sectors;
                        shared::Wavefronts {
                            derived: wavefronts,
                            ideal,
                            loads,
                            ..shared::Wavefronts::default()
                        }
                    }
                    Some(source) => shared::copies(&source.addresses, addresses, lanes, bytes),
                    None => shared::wavefronts(addresses, lanes, part.changing, bytes, store, made.rule),
                };
                Sums {
                    units: wavefronts.hardware,
                    derived: wavefronts.derived,
                    ideal: wavefronts.ideal,
                    conflicts: wavefronts.conflicts,
                    others: wavefronts.loads,
                    ..Sums::default()
                }
            }
            Memory::Local => {
                let (requests, sectors, ideal) = global::local(addresses, lanes, bytes);
                Sums { requests, units: sectors, derived: sectors, ideal, ..Sums::default() }
            }
        };
        if part.memory != Memory::Local {
            sums.requests = 1;
        }
        if again.is_some() {
            sums.requests = 0;
        }
        sums.bytes = u64::from(bytes) * u64::from(part.lanes.count_ones());
        accesses.sums += &sums;
        let copies = matches!(made.rule, Rule::Copy | Rule::Bypass) && part.memory == Memory::Global;
        if copies {
            // Parts in different allocations are put together.
            let mut all = *addresses;
            let mut lanes = part.lanes;
            if let (Some(source), Some(_)) = (source, again) {
                (0..32)
                    .filter(|lane| part.lanes >> lane & 1 == 0)
                    .for_each(|lane| all[lane] = source.addresses[lane]);
                lanes |= source.lanes;
            }
            self.source = Some(Source { warp: part.warp, position: part.position, lanes, addresses: all });
        }
    }
}

/// How many groups of so many lanes that follow each other have one that takes part.
fn groups(lanes: LaneMask, width: u8) -> u64 {
    let own = (1u64 << width) - 1;
    (0..32u64).step_by(width.into()).filter(|first| u64::from(lanes) >> first & own != 0).count() as u64
}

impl Tool for Counters {
    type Block = ();

    fn wants(&self) -> Wants {
        Wants::INSTRUCTIONS | Wants::ACCESSES | Wants::RANGES | Wants::BLOCKS | Wants::TEXTURES
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), context: &dyn Context) {
        match *event {
            Event::Executed { first, end, warps, threads } => self.executed(first, end, warps, threads),
            Event::GuardedOff { position, threads } => {
                if let Some(position) = self.positions.get_mut(position as usize) {
                    position.off += u64::from(threads);
                }
            }
            Event::Diverged { position } => {
                if let Some(position) = self.positions.get_mut(position as usize) {
                    position.diverged += 1;
                }
            }
            Event::Ranges(ranges) => self.ranges(ranges, context),
            Event::Access(access) => self.access(access, context),
            Event::Texels { lanes, position, .. } => {
                let made = || rules::made(context.instruction(position));
                let of = self.accesses(position, Memory::Global, AccessKind::Read, made);
                if let Some(Accesses { made: Made { rule: Rule::Texels(width), .. }, sums, .. }) = of {
                    sums.requests += groups(lanes, *width);
                }
            }
            Event::BlockStarted { .. } => self.blocks += 1,
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        for (at, theirs) in other.positions.iter().enumerate() {
            let Some(ours) = self.positions.get_mut(at) else { break };
            ours.warps += theirs.warps;
            ours.threads += theirs.threads;
            ours.off += theirs.off;
            ours.diverged += theirs.diverged;
            let mut next = theirs.accesses;
            while next != 0 {
                let theirs = other.accesses[next as usize - 1];
                next = theirs.next;
                if let Some(ours) = self.accesses(at as u32, theirs.memory, theirs.kind, || theirs.made) {
                    ours.sums += &theirs.sums;
                }
            }
        }
        self.blocks += other.blocks;
    }

    fn finish(self, launch: &dyn LaunchView) -> Summary {
        Summary { metrics: Some(totals::metrics(&self, launch)), ..Summary::default() }
    }
}
