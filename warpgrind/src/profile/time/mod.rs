//! How long a launch takes on a chip: what its warps execute of the machine code, and what they ask the memory for
//! ([`record`]), through the model of `timing`.

mod amount;
mod asked;
mod banks;
mod beside;
pub mod record;
mod sample;
mod waits;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use timing::chip::{Chip, ChipError, Copying};
use timing::code::{Constant, Does, Op, Unit};
pub use timing::work::Stay;
use timing::work::{Block, Step, Warp, Work};
pub use timing::{Reason, Time};

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::limit::Limit;
use super::machine::Sequence;
use super::machine::listing::Listing;
use super::machine::loops;
use super::machine::ways::Ways;
use super::residency::Residency;
use record::{Asked, Recorded};
use sample::GoesOn;
pub use sample::{MOST_BLOCKS, ROUNDS, Timing};

/// Why it is not known how long a launch takes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Untimed {
    /// Nobody asked.
    #[error("nobody asked")]
    NotAsked,
    /// There is no machine code, or it was not followed.
    #[error("there is no machine code of which the way of all warps is known")]
    NotFollowed,
    /// The disassembler does not list what instructions wait for.
    #[error("the machine code is listed without its control information")]
    NoControl,
    /// The model does not know what some of it takes.
    #[error("the model does not know what `{0}` takes")]
    Unknown(String),
    /// A signal or the time limit came before the model was done.
    #[error("the work for it was ended before it was done")]
    Ended,
    /// The accesses of its blocks are more than is kept.
    #[error("its blocks access too much to be kept: `--sample` takes fewer of them")]
    TooMuch,
}

/// What a launch takes.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Of the blocks that were timed.
    pub time: Time,
    /// Cycles from the launch's begin to its end, with the blocks that were not timed.
    pub elapsed: f64,
    /// How many these were, of how many.
    pub blocks: (u64, u64),
    /// Where not all were timed: how much longer, as a share of all, the launch would be said to take from the first half of the
    /// blocks that say how it goes on.
    pub sampling: Option<f64>,
    /// Whether the machine code is of our making, as NVIDIA's assembler was not there.
    pub lowered: bool,
    /// By machine instruction: the line of the PTX that it was made of, from 1; 0 is none.
    pub lines: Vec<u32>,
    /// The numbers, by Nsight Compute's names.
    pub values: Vec<(String, f64)>,
}

/// Kinds of instructions of which ptxas does not say the line, and keeps the order: each kind is one place.
#[derive(Clone, Copy)]
enum Ordered {
    Arrives,
    Awaits,
    ArrivesCopied,
    Bulk,
    Texture,
    SurfaceLoad,
    SurfaceStore,
}

impl Ordered {
    const COUNT: u32 = 7;

    /// Of a machine instruction.
    fn of_machine(of: &super::machine::listing::Instruction) -> Option<Self> {
        Some(match of.base() {
            "SYNCS" if of.has("ARRIVE") => Self::Arrives,
            "SYNCS" if of.has("PHASECHK") => Self::Awaits,
            "ARRIVES" => Self::ArrivesCopied,
            "UBLKCP" | "UBLKRED" | "UTMALDG" | "UTMASTG" | "UTMAREDG" => Self::Bulk,
            "TEX" | "TLD" | "TLD4" => Self::Texture,
            "SULD" => Self::SurfaceLoad,
            "SUST" => Self::SurfaceStore,
            _ => return None,
        })
    }

    /// Of an opcode of the PTX with its modifiers.
    fn of_ptx(op: &str) -> Option<Self> {
        let has = |part: &str| op.split('.').any(|own| own == part);
        Some(match op.split('.').next()? {
            "mbarrier" if has("test_wait") || has("try_wait") => Self::Awaits,
            "mbarrier" => Self::Arrives,
            "cp" if has("bulk") => Self::Bulk,
            "cp" if has("mbarrier") => Self::ArrivesCopied,
            "tex" | "tld4" => Self::Texture,
            "suld" => Self::SurfaceLoad,
            "sust" => Self::SurfaceStore,
            _ => return None,
        })
    }
}

/// The machine code as the model knows it, and the places whose accesses its instructions make.
struct Code {
    ops: Vec<Op>,
    sources: Vec<Option<u32>>,
    /// By position of the PTX: the place.
    place_of: Vec<Option<u32>>,
    places: usize,
}

impl Code {
    fn of(listing: &Listing, ways: &Ways) -> Self {
        let tried = |line: u32| {
            let of = ways.positions.iter().find(|position| position.line == line);
            of.is_some_and(|position| !position.op.split('.').any(|part| part == "cas"))
        };
        let op = |of: &super::machine::listing::Instruction| {
            let mut op = Op::new(&of.opcode, &of.operands, of.control);
            // One that a guard leaves out reads nothing.
            op.repeats &= of.guard.is_none();
            // A compare-and-swap that is none in the PTX is in a loop that is none there.
            op.tries |= of.base().starts_with("ATOM") && of.has("CAS") && tried(of.line);
            op
        };
        let mut ops: Vec<Op> = listing.instructions.iter().map(op).collect();
        for (at, _) in (0..).zip(&listing.instructions).filter(|(_, of)| loops::swaps(of)) {
            // The loop's end is the next branch back.
            let behind = (at..).zip(&listing.instructions[at as usize..]);
            let mut back =
                behind.filter_map(|(end, of)| Some((*of.targets.iter().find(|&&to| to <= at)?, end + 1)));
            ops[at as usize].again = back.next();
        }
        let mut places: BTreeMap<u32, u32> = BTreeMap::new();
        let accesses = |op: &Op| {
            op.constant == Some(Constant::Program(None))
                || op.unit == Unit::Memory
                    && !matches!(op.does, Does::Shuffle | Does::Compute | Does::Forgets)
        };
        for (of, _) in listing.instructions.iter().zip(&ops).filter(|(of, op)| accesses(op) && of.line != 0) {
            let next = Ordered::COUNT + places.len() as u32;
            places.entry(of.line).or_insert(next);
        }
        // What such a loop reads before it compares is no access of its own.
        let loops: BTreeSet<u32> =
            listing.instructions.iter().zip(&ops).filter(|(_, op)| op.tries).map(|(of, _)| of.line).collect();
        let has = |of: &super::machine::listing::Instruction, op: &Op| {
            accesses(op) && !(matches!(op.does, Does::Load) && loops.contains(&of.line))
        };
        let sources = listing.instructions.iter().zip(&ops).map(|(of, op)| match Ordered::of_machine(of) {
            Some(kind) => Some(kind as u32),
            None => places.get(&of.line).copied().filter(|_| has(of, op)),
        });
        let place_of = ways.positions.iter().map(|position| match Ordered::of_ptx(&position.op) {
            Some(kind) => Some(kind as u32),
            None => places.get(&position.line).copied(),
        });
        let places = places.len() + Ordered::COUNT as usize;
        Code { sources: sources.collect(), place_of: place_of.collect(), places, ops }
    }
}

/// The blocks of a launch.
struct Blocks<'a> {
    code: &'a Code,
    asked: &'a BTreeMap<u64, Asked>,
    /// By block: its warps' kinds.
    kinds: Vec<Vec<u32>>,
    sequence: &'a dyn Fn(u32) -> Sequence,
    limit: &'a Limit,
    known: RefCell<Known>,
}

/// The steps of warps.
#[derive(Default)]
struct Known {
    by_kind: FxHashMap<u32, Arc<[Step]>>,
    /// How many steps these are.
    count: usize,
}

/// Steps that are kept, of warps that may be many times there.
const MOST_KNOWN: usize = 1 << 22;

impl Blocks<'_> {
    /// By block: the kinds of its warps. One whose way is not known is taken to be like that of the same number in the block
    /// before, or whichever is known.
    fn kinds_of(&self, ways: &Ways, blocks: u64, warps: u32) -> Vec<Vec<u32>> {
        let mut is_known: FxHashMap<u32, bool> = FxHashMap::default();
        let mut known = |kind: u32| *is_known.entry(kind).or_insert_with(|| !self.steps(kind).is_empty());
        let mut kinds = Vec::new();
        let mut like: Vec<Option<u32>> = vec![None; warps as usize];
        let mut each = ways.each.iter().peekable();
        let any = ways.each.iter().map(|&(_, _, kind)| kind).find(|&kind| known(kind));
        for block in 0..blocks {
            if self.limit.is_over() {
                break;
            }
            let mut of_block = Vec::with_capacity(warps as usize);
            for warp in 0..warps {
                let own = each.next_if(|&&(of, number, _)| (of, number) == (block, warp));
                let own = own.map(|&(_, _, kind)| kind).filter(|&kind| known(kind));
                let place = &mut like[warp as usize];
                *place = own.or(*place);
                of_block.extend(place.or(any));
            }
            kinds.push(of_block);
        }
        kinds
    }

    fn steps(&self, kind: u32) -> Arc<[Step]> {
        let known = &mut *self.known.borrow_mut();
        if let Some(steps) = known.by_kind.get(&kind) {
            return steps.clone();
        }
        let sequence = (self.sequence)(kind);
        let steps: Arc<[Step]> =
            sequence.into_iter().map(|(first, end, lanes)| Step { first, end, lanes }).collect();
        known.count += steps.len();
        if known.count > MOST_KNOWN {
            known.by_kind.clear();
            known.count = steps.len();
        }
        known.by_kind.insert(kind, steps.clone());
        steps
    }
}

/// How much more a launch does than the blocks of it that were timed: instructions that are issued, and what memory is asked for.
#[derive(Clone, Copy)]
struct Scale {
    issued: f64,
    asked: f64,
}

/// Kinds of warps that are looked at for what they do of the machine code; of launches that have more of them the PTX says it.
const MOST_KINDS: usize = 1 << 13;

/// Shares by which blocks differ by chance.
const ALIKE: f64 = 0.02;

impl Blocks<'_> {
    /// How much one of the blocks that were not timed does, as a share of what one of the second half of the others does: instructions,
    /// and accesses of memory. A grid may be larger than what there is to do, or have less to do in each block than in the one before.
    fn share_of_others(&self, ways: &Ways, rest: u64, scale: &mut Scale) -> f64 {
        let timed = self.kinds.len();
        if timed == 0 {
            return 1.0;
        }
        let mut before: Vec<[f64; 2]> = vec![[0.0; 2]];
        for op in &self.code.ops {
            let [issued, asked] = before[before.len() - 1];
            let asks =
                op.unit == Unit::Memory && !matches!(op.does, Does::Shuffle | Does::Compute | Does::Forgets);
            before.push([issued + 1.0, asked + f64::from(u8::from(asks))]);
        }
        let of_kind = |kind: u32| {
            let mut all = [0.0; 2];
            for step in self.steps(kind).iter() {
                let [from, to] = [step.first, step.end].map(|at| before[(at as usize).min(before.len() - 1)]);
                all = [all[0] + to[0] - from[0], all[1] + to[1] - from[1]];
            }
            all
        };
        let known: Vec<[f64; 2]> = match ways.warps.len() {
            count if count > MOST_KINDS => {
                let asks = |at: usize| self.code.place_of.get(at).is_some_and(Option::is_some);
                amount::of_ptx(ways, asks)
            }
            count => {
                let all = 0..count as u32;
                all.map(|kind| if self.limit.is_over() { [0.0; 2] } else { of_kind(kind) }).collect()
            }
        };
        let sum = |blocks: &[Vec<u32>]| {
            blocks.iter().flatten().filter_map(|&kind| known.get(kind as usize)).fold([0.0; 2], plus)
        };
        let all = known.iter().zip(&ways.warps).fold([0.0; 2], |all, (of, &(_, count))| {
            [all[0] + of[0] * count as f64, all[1] + of[1] * count as f64]
        });
        let first = sum(&self.kinds);
        let half = sum(&self.kinds[timed / 2..]);
        let blocks = (timed - timed / 2) as f64;
        let share = |at: usize| {
            let each = half[at] / blocks;
            if each > 0.0 { ((all[at] - first[at]).max(0.0) / rest as f64) / each } else { 1.0 }
        };
        let shares = [share(0), if half[1] > 0.0 { share(1) } else { share(0) }];
        if shares.iter().all(|share| (share - 1.0).abs() < ALIKE) {
            return 1.0;
        }
        for (at, of) in [&mut scale.issued, &mut scale.asked].into_iter().enumerate() {
            if first[at] > 0.0 {
                *of = (all[at] / first[at]).max(1.0);
            }
        }
        f64::midpoint(shares[0], shares[1])
    }
}

fn plus(one: [f64; 2], other: &[f64; 2]) -> [f64; 2] {
    [one[0] + other[0], one[1] + other[1]]
}

impl Work for Blocks<'_> {
    fn is_over(&self) -> bool {
        self.limit.is_over()
    }

    fn block(&self, index: u64) -> Block {
        let nothing = Asked::default();
        let asked = self.asked.get(&index).unwrap_or(&nothing);
        let Asked { pieces, words, operations, phases, .. } = asked;
        let mut block = Block {
            pieces: pieces.clone(),
            words: words.clone(),
            operations: operations.clone(),
            phases: phases.clone(),
            ..Block::default()
        };
        for (at, &kind) in self.kinds.get(index as usize).into_iter().flatten().enumerate() {
            let place_of = |position: u32| self.code.place_of.get(position as usize).copied().flatten();
            let told = asked.warps.get(at).map_or(&[][..], |told| told);
            let mut own: Vec<(u32, u32, timing::work::Access)> = (0..)
                .zip(told)
                .filter_map(|(number, &(position, access))| Some((place_of(position)?, number, access)))
                .collect();
            own.sort_by_key(|(place, _, _)| *place);
            let start = block.accesses.len() as u32;
            let sources = (0..=self.code.places as u32)
                .map(|place| start + own.partition_point(|(of, _, _)| *of < place) as u32)
                .collect();
            for (_, number, access) in own {
                let (here, of) = (block.accesses.len() as u32, (at as u32, number));
                block.releases.extend(asked.releases.get(&of).map(|phases| (here, phases.clone())));
                block.awaits.extend(asked.awaits.get(&of).map(|phase| (here, *phase)));
                block.accesses.push(access);
            }
            block.warps.push(Warp { steps: self.steps(kind), sources });
        }
        block
    }
}

/// How long a launch of so many blocks takes, of which at most so many are timed, and whose ways were followed; `is_first` says
/// whether it is the first of its process.
///
/// # Errors
/// The model does not know what it executes, too much was asked for, or the limit is over.
pub fn time(
    chip: &Chip,
    listing: &Listing,
    ways: &Ways,
    recorded: &Recorded,
    residency: &Residency,
    (blocks, most, is_first): (u64, u64, bool),
    (sequence, limit): (&dyn Fn(u32) -> Sequence, &Limit),
) -> Result<Timed, Untimed> {
    if let Some(of) = listing.instructions.iter().find(|of| !timing::code::is_known(&of.opcode)) {
        return Err(Untimed::Unknown(of.opcode.clone()));
    }
    if listing.instructions.iter().all(|of| of.control == 0) {
        return Err(Untimed::NoControl);
    }
    if recorded.overfull || recorded.blocks.is_empty() {
        return Err(Untimed::TooMuch);
    }
    let code = Code::of(listing, ways);
    let cluster = u64::from(recorded.cluster.max(1));
    let round = chip.blocks_at_once(residency.blocks());
    let known = most.min(recorded.blocks.len() as u64);
    let timed = sample::timed_blocks(known, blocks, round, cluster);
    let mut work = Blocks {
        code: &code,
        asked: &recorded.blocks,
        kinds: Vec::new(),
        sequence,
        limit,
        known: RefCell::default(),
    };
    work.kinds = work.kinds_of(ways, timed, residency.warps());
    let launch = timing::work::Launch {
        blocks: timed,
        resident: residency.blocks(),
        cluster: recorded.cluster.max(1),
        shared_bytes: residency.configured.into(),
        sources: code.sources.clone(),
    };
    let time = timing::run(chip, &code.ops, &launch, &work);
    let more_blocks = blocks as f64 / timed.max(1) as f64;
    let mut scale = Scale { issued: more_blocks, asked: more_blocks };
    let mut elapsed = time.elapsed;
    let mut sampling = None;
    if timed < blocks {
        let rest = blocks - timed;
        let share = work.share_of_others(ways, rest, &mut scale);
        let more = (rest as f64 * share).round() as u64;
        let before = sample::before_it_is_full(chip, &time, timed, more);
        let mut parts = vec![(before, GoesOn::of(&time.blocks, round))];
        if before < more {
            let full = timing::run(&sample::full(chip), &code.ops, &launch, &work);
            parts.push((more - before, GoesOn::of(&full.blocks, round)));
        }
        let cycles = |&(blocks, of): &(u64, GoesOn)| blocks as f64 * of.each;
        // They have to be placed, whatever they do.
        elapsed += parts.iter().map(cycles).sum::<f64>().max(rest as f64 * chip.launch.block_interval);
        sampling = Some(parts.iter().map(|part| cycles(part) * part.1.error).sum::<f64>() / elapsed);
    }
    if limit.is_over() {
        return Err(Untimed::Ended);
    }
    // It begins later, and takes no longer than others then.
    let before = if is_first { chip.launch.first } else { 0.0 };
    let values = values(chip, &time, elapsed, before, scale);
    let lines = listing.instructions.iter().map(|of| of.line).collect();
    Ok(Timed { time, elapsed, blocks: (timed, blocks), sampling, lowered: false, lines, values })
}

fn values(chip: &Chip, time: &Time, elapsed: f64, before: f64, scale: Scale) -> Vec<(String, f64)> {
    let stretch = (elapsed - chip.launch.overhead) / (time.elapsed - chip.launch.overhead).max(1.0);
    let elapsed = elapsed + before;
    let active = time.active * stretch;
    let issued = time.issued as f64;
    let Scale { issued: more, asked: scale } = scale;
    let [read, written] = [time.dram_read as f64 * scale, time.written(chip, scale)];
    let mut list: Vec<(String, f64)> = vec![
        ("gpc__cycles_elapsed.max".into(), elapsed.round()),
        ("gpu__time_duration.sum".into(), (elapsed / chip.clock * 1e9).round()),
        ("sm__cycles_active.avg".into(), active),
        ("sm__cycles_active.min".into(), time.active_bounds[0] * stretch),
        ("sm__cycles_active.max".into(), time.active_bounds[1] * stretch),
        ("smsp__issue_active.sum".into(), (issued * more).round()),
        ("lts__t_sectors_op_read.sum".into(), (time.l2_read as f64 * scale).round()),
        ("lts__t_sectors_op_write.sum".into(), (time.l2_write as f64 * scale).round()),
        ("lts__t_sectors_srcunit_tex.sum".into(), (time.l2_asked as f64 * scale).round()),
        ("lts__t_sector_hit_rate.pct".into(), 100.0 * time.l2_hit),
        ("dram__bytes_read.sum".into(), read.round()),
        ("dram__bytes_write.sum".into(), written.round()),
    ];
    let share = 100.0 * (read + written) / (chip.dram.peak * elapsed / chip.clock);
    list.push(("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed".into(), share));
    let executed = |cores: usize| {
        let each = time.issued_by.chunks(cores).map(|cores| cores.iter().sum::<u64>() as f64 * more);
        timing::bounds(each).map(f64::round)
    };
    for (unit, cores) in [("smsp", 1), ("sm", 4)] {
        let [least, most] = executed(cores);
        list.push((format!("{unit}__inst_executed.min"), least));
        list.push((format!("{unit}__inst_executed.max"), most));
    }
    let cycles = time.active * f64::from(chip.multiprocessors);
    if cycles > 0.0 {
        let warps = 100.0 * time.resident / cycles / 64.0;
        list.push(("sm__warps_active.avg.pct_of_peak_sustained_active".into(), warps));
        let ipc = issued / cycles;
        list.push(("sm__inst_issued.avg.per_cycle_active".into(), ipc));
    }
    for (reason, name) in Reason::ALL {
        let all: f64 = time.stalls.iter().map(|stalls| stalls[reason as usize]).sum();
        let name = format!("smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio");
        list.push((name, if issued > 0.0 { all / issued } else { 0.0 }));
    }
    list
}

/// The numbers that are said of the time of a launch.
pub fn names() -> Vec<String> {
    let time = Time { active: 1.0, ..Time::default() };
    values(&Chip::h200(), &time, 1.0, 0.0, Scale { issued: 1.0, asked: 1.0 })
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}
