//! What the blocks of a launch ask the memory for, as they are told of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use numerics::mbarrier::MbarrierOp;
use ptx_frontend::{Modifier, Modifiers, Opcode, StateSpace};
use sim_core::tools::{
    Context, Event, InstructionView, LaunchView, Round, Summary, Wants, is_combined, rounds,
    shared_wavefronts, tag_turns,
};
use sim_core::{AccessKind, Asynchronous, DeviceConfig, Memory, Tool, ToolFactory, WarpId};
use timing::work::{Access, Piece, parts};

pub use super::asked::Asked;
use super::asked::Seen;
use super::banks::Banks;
use super::beside::Beside;
use super::sample::Timing;
use super::waits::Waits;
use crate::profile::machine::wide;

/// What the blocks of a grid asked for, by index; and how many there were of which it was not kept.
#[derive(Clone, Default, Debug)]
pub struct Recorded {
    /// Blocks that were kept.
    pub blocks: BTreeMap<u64, Asked>,
    /// Whether one had more than is kept.
    pub overfull: bool,
    /// Blocks of a cluster.
    pub cluster: u32,
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
    beside: Beside,
    /// Of shared memory, and of the first level.
    banks: [Banks; 2],
    waits: Waits,
    /// Whether accesses of shared memory may be part of wider ones.
    merges: bool,
}

/// What is told of a block.
#[derive(Default)]
pub struct Block {
    asked: Asked,
    keeps: bool,
    /// Warp, position and lanes of the last access: lanes in different allocations are told one after the other.
    last: (u32, u32, u32),
    /// Of the warp and position that read texels: the pieces that they have so far begin there.
    texels: Option<(u32, u32)>,
}

impl Recorder {
    /// What makes recorders of launches that come one after the other, which leave in `found` what of each the blocks asked for that
    /// may be timed, in whole clusters; where the assembler `merges` accesses of shared memory, with what wider ones ask for.
    pub fn factory(found: &Found, timing: &Timing, merges: bool) -> ToolFactory {
        let (found, timing) = (Arc::clone(found), timing.clone());
        let (known, shared) = (Arc::default(), Arc::default());
        ToolFactory::new(move |shape| {
            let cluster = shape.cluster.count() as u32;
            // Registers and shared memory make these no more.
            let threads = u32::try_from(shape.block.count()).unwrap_or(u32::MAX);
            let resident = DeviceConfig::h200().block_limits(threads, 0, 0).resident();
            let most = timing.most(resident).next_multiple_of(u64::from(cluster.max(1)));
            let recorded = Recorded { cluster, ..Recorded::default() };
            let (beside, waits) = (Beside::new(&known), Waits::new(&shared));
            let (found, banks) = (Arc::clone(&found), Default::default());
            Recorder { found, most, recorded, kept: 0, beside, banks, waits, merges }
        })
    }

    fn access(&mut self, of: &Seen<'_>, block: &mut Block, context: &dyn Context) {
        if block.keeps {
            self.keep(of, block, context);
            self.waits.accessed(of, &mut block.asked, context);
        }
    }

    fn keep(&mut self, of: &Seen<'_>, block: &mut Block, context: &dyn Context) {
        let instruction = context.instruction(of.position);
        let opcode = instruction.map(|of| of.op().opcode);
        if block.texels == Some((of.warp.warp, of.position)) {
            return block.texel(of);
        }
        let surface = matches!(opcode, Some(Opcode::Suld | Opcode::Sust | Opcode::Sured));
        let copies = instruction.is_some_and(|of| of.op().opcode == Opcode::Cp);
        let mut lanes = of.lanes;
        let access = match of.memory {
            // Where a copy goes is no access of its own.
            Memory::Shared if copies => return,
            Memory::Shared => {
                let atomic = matches!(of.kind, AccessKind::Atomic | AccessKind::Reduction);
                if atomic
                    && let Some(rounds) = rounds(of.addresses, [lanes, of.changing], of.bytes, instruction)
                {
                    return Self::turns_of_words(of, &rounds, block);
                }
                let store = of.kind == AccessKind::Write;
                let count = |addresses: &[u64; 32], bytes| {
                    let of = shared_wavefronts(addresses, of.lanes, bytes, store, instruction);
                    u16::try_from(of).unwrap_or(u16::MAX)
                };
                let is_plain = matches!(opcode, Some(Opcode::Ld | Opcode::Ldu | Opcode::St));
                let merges = self.merges && is_plain;
                let asked = self.banks[0].asked(of.position, (of.addresses, of.lanes), || {
                    let own = count(of.addresses, of.bytes);
                    [4, 8, 16].map(|bytes| match merges && bytes > of.bytes.max(4) {
                        true => count(&wide::widened(of.addresses, bytes), bytes),
                        false => own,
                    })
                });
                match of.kind {
                    AccessKind::Read | AccessKind::Write => Access::Wavefronts(asked),
                    AccessKind::Atomic | AccessKind::Reduction => {
                        Access::Words { wavefronts: asked[0], first: 0, count: 0, again: false }
                    }
                }
            }
            Memory::Global if instruction.is_some_and(|of| of.op().space() == StateSpace::Const) => {
                let mut words: Vec<u64> =
                    (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| of.addresses[lane]).collect();
                let line = words.first().map_or(0, |first| first / 64) as u32;
                words.sort_unstable();
                words.dedup();
                Access::Constants { line, words: words.len() as u8 }
            }
            Memory::Global | Memory::Local => {
                if is_combined(instruction) {
                    lanes &= lanes.wrapping_neg();
                }
                let mut asked = Gathered::new(&mut block.asked.pieces);
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
                            asked.add(sector);
                        }
                    }
                }
                let first = asked.first as u32;
                let count = (block.asked.pieces.len() - first as usize).min(255) as u8;
                let together = if surface { groups(lanes, 8) } else { together(of, lanes) };
                let deep = match of.kind {
                    AccessKind::Atomic | AccessKind::Reduction => turns(of, lanes),
                    AccessKind::Write => 0,
                    // Of what becomes several machine instructions it is not known which has which words.
                    AccessKind::Read if !local && matches!(opcode, Some(Opcode::Ld | Opcode::Ldu)) => {
                        let asked = self.banks[1].asked(of.position, (of.addresses, lanes), || {
                            let asked = shared_wavefronts(of.addresses, lanes, of.bytes, false, instruction);
                            [u16::try_from(asked).unwrap_or(u16::MAX); 3]
                        });
                        asked[0].min(255) as u8
                    }
                    AccessKind::Read => 0,
                };
                let tags = turns_of_tags(&block.asked.pieces[first as usize..]);
                Access::Lines { first, count, tags, together, deep }
            }
        };
        let again =
            block.last.0 == of.warp.warp && block.last.1 == of.position && block.last.2 & of.lanes == 0;
        let Asked { warps, pieces, .. } = &mut block.asked;
        let told = warps.get_mut(of.warp.warp as usize).filter(|_| again).and_then(|told| told.last_mut());
        if let (
            Some((_, Access::Lines { first, count, tags, deep, .. })),
            Access::Lines { count: more, deep: deeper, .. },
        ) = (told, access)
        {
            *count = count.saturating_add(more);
            *tags = turns_of_tags(&pieces[*first as usize..]);
            *deep = deep.saturating_add(deeper);
            block.last.2 |= of.lanes;
            return;
        }
        block.last = (of.warp.warp, of.position, of.lanes);
        block.asked.told(of.warp.warp).push((of.position, access));
    }

    /// A loop around a compare-and-swap on shared memory: an access for each turn.
    fn turns_of_words(of: &Seen<'_>, rounds: &[Round], block: &mut Block) {
        let swaps = rounds.iter().filter(|round| round.swaps != 0);
        for (turn, Round { swaps, done, .. }) in swaps.enumerate() {
            let first = block.asked.words.len() as u32;
            let changed = (0..32).filter(|lane| (done & of.changing) >> lane & 1 != 0);
            block.asked.words.extend(changed.map(|lane: usize| (of.addresses[lane] / 4) as u32));
            let count = (block.asked.words.len() - first as usize) as u8;
            // Both operands are sent, of each half of the warp where they have eight bytes.
            let parts = if of.bytes > 4 { groups(*swaps, 16) } else { 1 };
            let wavefronts = 2 * u16::from(parts);
            let access = Access::Words { wavefronts, first, count, again: turn > 0 };
            block.asked.told(of.warp.warp).push((of.position, access));
        }
        block.last = (u32::MAX, 0, 0);
    }
}

impl Block {
    /// Lanes of a warp are about to access texels.
    fn texels(&mut self, warp: u32, position: u32, lanes: u32, context: &dyn Context) {
        if !self.keeps {
            return;
        }
        let op = context.instruction(position).map(|of| of.op());
        let is_row = op.is_none_or(|op| {
            !matches!(op.opcode, Opcode::Tex | Opcode::Tld4) || op.has(Modifier::D1) || op.has(Modifier::A1d)
        });
        let first = self.asked.pieces.len() as u32;
        let together = groups(lanes, if is_row { 8 } else { 4 });
        self.asked.told(warp).push((position, Access::Lines { first, count: 0, tags: 1, together, deep: 0 }));
        self.texels = Some((warp, position));
        self.last = (u32::MAX, 0, 0);
    }

    /// A texel of those.
    fn texel(&mut self, of: &Seen<'_>) {
        let Asked { warps, pieces, .. } = &mut self.asked;
        let last = warps.get_mut(of.warp.warp as usize).and_then(|told| told.last_mut());
        let Some((_, Access::Lines { first, count, .. })) = last else { return };
        let mut asked = Gathered::from(pieces, *first as usize);
        for lane in (0..32).filter(|lane| of.lanes >> lane & 1 != 0) {
            let address = of.addresses[lane as usize];
            for sector in address / 32..=(address + u64::from(of.bytes.max(1)) - 1) / 32 {
                asked.add(sector);
            }
        }
        *count = (pieces.len() - *first as usize).min(255) as u8;
    }
}

/// How many groups of so many lanes that follow each other have one that takes part.
fn groups(lanes: u32, width: u32) -> u8 {
    let own = (1u32 << width) - 1;
    (0..32).step_by(width as usize).filter(|first| lanes >> first & own != 0).count() as u8
}

/// The pieces of an access, which are the last of all.
struct Gathered<'a> {
    pieces: &'a mut Vec<Piece>,
    first: usize,
    /// The highest line that is among them.
    highest: Option<u64>,
}

impl<'a> Gathered<'a> {
    /// Those of a new access.
    fn new(pieces: &'a mut Vec<Piece>) -> Self {
        Gathered { first: pieces.len(), highest: None, pieces }
    }

    /// Those of one that began at a place.
    fn from(pieces: &'a mut Vec<Piece>, first: usize) -> Self {
        let highest = pieces[first..].iter().map(|&piece| parts(piece).0).max();
        Gathered { pieces, first, highest }
    }

    fn add(&mut self, sector: u64) {
        let (line, bit) = (sector / 4, 1 << (sector % 4));
        // Most accesses go upwards: then nothing is looked for.
        let is_new = self.highest.is_none_or(|highest| line > highest);
        let own = if is_new { &mut [] } else { &mut self.pieces[self.first..] };
        match own.iter_mut().rev().find(|piece| **piece >> 4 == line) {
            Some(piece) => *piece |= bit,
            None => self.pieces.push(line << 4 | bit),
        }
        self.highest = self.highest.max(Some(line));
    }
}

/// How many turns the tags take for pieces.
fn turns_of_tags(pieces: &[Piece]) -> u8 {
    tag_turns(pieces.iter().map(|&piece| parts(piece).0)).min(255) as u8
}

/// Where a word of a thread's own memory lies: those of a warp's threads beside each other.
fn local_address(warp: WarpId, lane: u32, offset: u64) -> u64 {
    const BASE: u64 = 1 << 52;
    const WARP: u64 = 1 << 24;
    BASE + (warp.block * 32 + u64::from(warp.warp)) * WARP + offset / 4 * 128 + u64::from(lane) * 4
}

/// How many turns the sectors of an atomic operation take, all together: in one, each word of a sector has a lane.
fn turns(of: &Seen<'_>, lanes: u32) -> u8 {
    let own = |lane: u32| of.addresses[lane as usize];
    let active = || (0..32u32).filter(|lane| lanes >> lane & 1 != 0);
    let mut sectors: Vec<(u64, usize)> = Vec::new();
    for lane in active() {
        let same = active().filter(|&other| own(other) == own(lane)).count();
        match sectors.iter_mut().find(|(sector, _)| *sector == own(lane) / 32) {
            Some((_, most)) => *most = same.max(*most),
            None => sectors.push((own(lane) / 32, same)),
        }
    }
    sectors.iter().map(|(_, most)| most).sum::<usize>().min(255) as u8
}

/// The most lanes of an atomic operation that have one word.
fn together(of: &Seen<'_>, lanes: u32) -> u8 {
    let active = || (0..32usize).filter(|lane| lanes >> lane & 1 != 0);
    let same = |lane: usize| active().filter(|&other| of.addresses[other] == of.addresses[lane]).count();
    match of.kind {
        AccessKind::Read | AccessKind::Write => 1,
        AccessKind::Atomic | AccessKind::Reduction => active().map(same).max().unwrap_or(1) as u8,
    }
}

/// Whether an instruction's own accesses are those of something beside the warps: of mbarriers, and of maps of tensors.
fn is_beside(of: InstructionView<'_>) -> bool {
    let op = of.op();
    op.opcode == Opcode::Mbarrier || op.opcode == Opcode::Cp && op.has(Modifier::Bulk)
}

impl Tool for Recorder {
    type Block = Block;

    fn wants(&self) -> Wants {
        Wants::ACCESSES
            | Wants::RANGES
            | Wants::BLOCKS
            | Wants::TEXTURES
            | Wants::MBARRIERS
            | Wants::ASYNCHRONOUS
    }

    fn event(&mut self, event: &Event<'_>, block: &mut Block, context: &dyn Context) {
        let copying = match event {
            Event::Access(of) => matches!(of.asynchronous, Asynchronous::Issued),
            Event::Mbarrier { op, .. } => *op != MbarrierOp::Ask,
            event => matches!(event, Event::Issued { .. }),
        };
        if !copying {
            self.beside.others();
        }
        match event {
            Event::BlockStarted { block: number, .. } => {
                block.keeps = *number < self.most && self.kept < MOST_KEPT;
                block.last = (u32::MAX, 0, 0);
                block.asked = Asked::default();
                block.texels = None;
            }
            Event::Texels { warp, lanes, position } => block.texels(warp.warp, *position, *lanes, context),
            Event::Issued { warp, .. } => self.beside.issued(*warp),
            // Told as an access, too.
            Event::Mbarrier { op: MbarrierOp::Ask, .. } => {}
            Event::Mbarrier { warp, lanes, op, home, addresses, operands, position } => {
                let of = [addresses, &operands.map(u64::from)];
                self.beside.mbarrier((*warp, *position), *home, *op, *lanes, of);
            }
            Event::Access(of) if matches!(of.asynchronous, Asynchronous::Issued) => {
                let copies = context.instruction(of.position).is_some_and(|of| of.op().opcode == Opcode::Cp);
                if copies && of.memory == Memory::Global {
                    self.beside.copies(of);
                }
            }
            Event::Access(of) if context.instruction(of.position).is_some_and(is_beside) => {
                let op = context.instruction(of.position).map(|of| of.op());
                if of.kind == AccessKind::Read && op.is_some_and(|op| op.opcode == Opcode::Mbarrier) {
                    let warp = WarpId { block: of.block, warp: of.warp };
                    let address = of.addresses[of.lanes.trailing_zeros() as usize & 31];
                    self.beside.asks(warp, of.position, of.home, address);
                }
            }
            Event::Access(of) if of.memory == Memory::Shared && of.home != of.block => {
                self.beside.remote(WarpId { block: of.block, warp: of.warp }, of.position);
            }
            // What a unit does by itself is another matter.
            Event::Access(of) if matches!(of.asynchronous, Asynchronous::No) => {
                let (memory, kind, addresses) = (of.memory, of.kind, of.addresses);
                let warp = WarpId { block: of.block, warp: of.warp };
                let (lanes, changing, bytes, position) = (of.lanes, of.changing, of.bytes, of.position);
                let of = Seen { memory, kind, addresses, lanes, changing, bytes, position, warp };
                self.access(&of, block, context);
            }
            Event::Ranges(of) if context.instruction(of.position).is_some_and(is_beside) => {
                // Full warps ask, and store nothing there.
                self.beside.asks(of.warp, of.position, of.warp.block, of.starts[0]);
            }
            Event::Ranges(of) => {
                let (memory, kind, addresses) = (of.memory, of.kind, &of.addresses());
                let (lanes, bytes, position, warp) = (u32::MAX, of.bytes, of.position, of.warp);
                let of = Seen { memory, kind, addresses, lanes, changing: 0, bytes, position, warp };
                self.access(&of, block, context);
            }
            Event::BlockFinished { block: number } if block.keeps => {
                let mut asked = std::mem::take(&mut block.asked);
                self.beside.finished(*number, &mut asked, &self.waits);
                self.kept += asked.pieces.len() + asked.warps.iter().map(Vec::len).sum::<usize>();
                self.recorded.overfull |= self.kept >= MOST_KEPT;
                self.recorded.blocks.insert(*number, asked);
            }
            Event::BlockFinished { block: number } => {
                self.beside.finished(*number, &mut Asked::default(), &self.waits);
            }
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        self.recorded.blocks.extend(other.recorded.blocks);
        self.recorded.overfull |= other.recorded.overfull;
    }

    fn finish(mut self, launch: &dyn LaunchView) -> Summary {
        self.beside.complete(&mut self.recorded.blocks);
        self.waits.complete(&mut self.recorded.blocks);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push((launch.kernel(), self.recorded));
        Summary::default()
    }
}
