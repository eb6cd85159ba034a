//! What the blocks of a launch ask the memory for, as they are told of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_frontend::Opcode;
use sim_core::tools::{Context, Event, LaunchView, Summary, Wants, is_combined, shared_wavefronts};
use sim_core::{AccessKind, Asynchronous, Memory, Tool, WarpId};
use timing::work::{Access, Piece};

/// An access of a warp, and the position of the instruction that makes it.
type Told = (u32, Access);

/// What a block asked for, by warp.
#[derive(Clone, Default, Debug)]
pub struct Asked {
    /// The accesses of each warp, in their order.
    pub warps: Vec<Vec<Told>>,
    /// The lines of all.
    pub pieces: Vec<Piece>,
}

/// What the blocks of a grid asked for, by index; and how many there were of which it was not kept.
#[derive(Clone, Default, Debug)]
pub struct Recorded {
    /// Blocks that were kept.
    pub blocks: BTreeMap<u64, Asked>,
    /// Whether one had more than is kept.
    pub overfull: bool,
}

/// Where it is left, grid by grid.
pub type Found = Arc<Mutex<Vec<(Arc<str>, Recorded)>>>;

/// Pieces and accesses of a launch that are kept.
const MOST_KEPT: usize = 48 << 20;

/// The tool that hears of them.
#[derive(Debug)]
pub struct Recorder {
    found: Found,
    /// Blocks that are kept: those below.
    most: u64,
    recorded: Recorded,
    kept: usize,
}

/// What is told of a block.
#[derive(Default)]
pub struct Block {
    asked: Asked,
    keeps: bool,
    /// Warp, position and lanes of the last access: lanes in different allocations are told one after the other.
    last: (u32, u32, u32),
}

impl Recorder {
    /// Of a launch, of which the first so many blocks are kept.
    pub fn new(found: &Found, most: u64) -> Self {
        Recorder { found: Arc::clone(found), most, recorded: Recorded::default(), kept: 0 }
    }

    fn access(of: &Seen<'_>, block: &mut Block, context: &dyn Context) {
        if !block.keeps {
            return;
        }
        let instruction = context.instruction(of.position);
        let copies = instruction.is_some_and(|of| of.op().opcode == Opcode::Cp);
        let mut lanes = of.lanes;
        let access = match of.memory {
            // Where a copy goes is no access of its own.
            Memory::Shared if copies => return,
            Memory::Shared => {
                let store = of.kind == AccessKind::Write;
                let count = shared_wavefronts(of.addresses, of.lanes, of.bytes, store, instruction);
                Access::Wavefronts(u16::try_from(count).unwrap_or(u16::MAX))
            }
            Memory::Global | Memory::Local => {
                if is_combined(instruction) {
                    lanes &= lanes.wrapping_neg();
                }
                let first = block.asked.pieces.len() as u32;
                let local = of.memory == Memory::Local;
                for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                    let address = match local {
                        true => local_address(of.warp, lane, of.addresses[lane as usize]),
                        false => of.addresses[lane as usize],
                    };
                    let (bytes, apart) = if local { (4, 128) } else { (u64::from(of.bytes), 0) };
                    let words = if local { u64::from(of.bytes).div_ceil(4) } else { 1 };
                    for word in 0..words {
                        let from = address + word * apart;
                        for sector in from / 32..=(from + bytes.max(1) - 1) / 32 {
                            add(&mut block.asked.pieces, first as usize, sector);
                        }
                    }
                }
                let count = (block.asked.pieces.len() - first as usize).min(255) as u8;
                Access::Lines { first, count, together: together(of, lanes) }
            }
        };
        let at = of.warp.warp as usize;
        if block.asked.warps.len() <= at {
            block.asked.warps.resize_with(at + 1, Vec::new);
        }
        let told = &mut block.asked.warps[at];
        let again =
            block.last.0 == of.warp.warp && block.last.1 == of.position && block.last.2 & of.lanes == 0;
        if let (true, Some((_, Access::Lines { count, .. })), Access::Lines { count: more, .. }) =
            (again, told.last_mut(), access)
        {
            *count = count.saturating_add(more);
            block.last.2 |= of.lanes;
            return;
        }
        block.last = (of.warp.warp, of.position, of.lanes);
        told.push((of.position, access));
    }
}

/// An access of a warp.
struct Seen<'a> {
    memory: Memory,
    kind: AccessKind,
    addresses: &'a [u64; 32],
    lanes: u32,
    bytes: u32,
    position: u32,
    warp: WarpId,
}

/// Adds a sector to the pieces of an access.
fn add(pieces: &mut Vec<Piece>, first: usize, sector: u64) {
    let (line, bit) = (sector / 4, 1 << (sector % 4));
    match pieces[first..].iter_mut().rev().find(|piece| **piece >> 4 == line) {
        Some(piece) => *piece |= bit,
        None => pieces.push(line << 4 | bit),
    }
}

/// Where a word of a thread's own memory lies: those of a warp's threads beside each other.
fn local_address(warp: WarpId, lane: u32, offset: u64) -> u64 {
    const BASE: u64 = 1 << 52;
    const WARP: u64 = 1 << 24;
    BASE + (warp.block * 32 + u64::from(warp.warp)) * WARP + offset / 4 * 128 + u64::from(lane) * 4
}

/// The most lanes of an atomic operation that have one word.
fn together(of: &Seen<'_>, lanes: u32) -> u8 {
    if matches!(of.kind, AccessKind::Read | AccessKind::Write) {
        return 1;
    }
    let own = |lane: u32| of.addresses[lane as usize];
    let active = || (0..32u32).filter(|lane| lanes >> lane & 1 != 0);
    let same = |lane: u32| active().filter(|&other| own(other) == own(lane)).count();
    active().map(same).max().unwrap_or(1) as u8
}

impl Tool for Recorder {
    type Block = Block;

    fn wants(&self) -> Wants {
        Wants::ACCESSES | Wants::RANGES | Wants::BLOCKS
    }

    fn event(&mut self, event: &Event<'_>, block: &mut Block, context: &dyn Context) {
        match event {
            Event::BlockStarted { block: number, .. } => {
                block.keeps = *number < self.most && self.kept < MOST_KEPT;
                block.last = (u32::MAX, 0, 0);
                block.asked = Asked::default();
            }
            // What a unit does by itself is another matter.
            Event::Access(of) if matches!(of.asynchronous, Asynchronous::No) => {
                let (memory, kind, addresses) = (of.memory, of.kind, of.addresses);
                let warp = WarpId { block: of.block, warp: of.warp };
                let (lanes, bytes, position) = (of.lanes, of.bytes, of.position);
                Self::access(&Seen { memory, kind, addresses, lanes, bytes, position, warp }, block, context);
            }
            Event::Ranges(of) => {
                let (memory, kind, addresses) = (of.memory, of.kind, &of.addresses());
                let (lanes, bytes, position, warp) = (u32::MAX, of.bytes, of.position, of.warp);
                Self::access(&Seen { memory, kind, addresses, lanes, bytes, position, warp }, block, context);
            }
            Event::BlockFinished { block: number } if block.keeps => {
                let asked = std::mem::take(&mut block.asked);
                self.kept += asked.pieces.len() + asked.warps.iter().map(Vec::len).sum::<usize>();
                self.recorded.overfull |= self.kept >= MOST_KEPT;
                self.recorded.blocks.insert(*number, asked);
            }
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        self.recorded.blocks.extend(other.recorded.blocks);
        self.recorded.overfull |= other.recorded.overfull;
    }

    fn finish(self, launch: &dyn LaunchView) -> Summary {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push((launch.kernel(), self.recorded));
        Summary::default()
    }
}
