//! The ways of threads through the PTX of a kernel: runs of instructions that follow each other.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sim_core::tools::{Context, Event, LaunchView, Round, Summary, Wants, rounds};
use sim_core::{AccessKind, Memory, Tool, WarpAccess};

/// Runs that a block's warps may have before nothing more is kept of them.
const MOST_RUNS: usize = 1 << 24;

/// Runs of all different ways of a launch that are kept; warps that have more are lost.
const MOST_KEPT: usize = 1 << 25;

/// Positions from the first to behind the last.
pub type Run = (u32, u32);

/// How often a thread goes round the loop that ptxas makes of an atomic operation on shared memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Turns {
    /// The operation.
    pub position: u32,
    /// How often it tries to swap the word.
    pub swaps: u8,
    /// Whether it then reads it once more, and leaves as there is nothing to change.
    pub leaves: bool,
}

/// A quotient, root or reciprocal for whose operands ptxas has no short way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Long {
    /// The operation.
    pub position: u32,
    /// How often the thread had executed it before; [`Long::ALL`]: it is so each time.
    pub number: u32,
    /// It is zero that is divided.
    pub zero: bool,
}

impl Long {
    /// See [`Long::number`].
    pub const ALL: u32 = u32::MAX;
}

/// The way of a thread: what it executes, its turns of such loops in their order, none at all where it is through all of
/// them at once, and what takes it long.
type Way = (Vec<Run>, Vec<Turns>, Vec<Long>);

/// What a position of a kernel is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// Its line in the PTX.
    pub line: u32,
    /// Its opcode: `ld.global.u32`.
    pub op: String,
}

/// The ways of all threads of a launch.
#[derive(Clone, Default, Debug)]
pub struct Ways {
    /// Different ways of threads.
    pub ways: Vec<Vec<Run>>,
    /// By way: the turns of its loops around a compare-and-swap, if it is not through each of them at once.
    pub turns: Vec<Vec<Turns>>,
    /// By way: its operations that take the long way, by position.
    pub long: Vec<Vec<Long>>,
    /// Warps: the way of each lane, plus one, 0 where there is no thread; and how many warps have these.
    pub warps: Vec<([u32; 32], u64)>,
    /// Warps of which too much would have to be kept.
    pub lost: u64,
    /// All instructions.
    pub positions: Vec<Position>,
    /// By block and warp, in their order: which of `warps` it is. Empty, if nobody wanted to know.
    pub each: Vec<(u64, u32, u32)>,
}

impl Ways {
    /// Leaves out all but the last turn of loops in which threads wait for others ([`super::spins`]), which are given as lines of
    /// the PTX; says how many turns of threads these were.
    pub fn without_waiting(&mut self, loops: &[RangeInclusive<u32>]) -> u64 {
        let place = |line: u32| self.positions.iter().position(|of| of.line == line).map(|at| at as u32);
        let spins = loops.iter().filter_map(|lines| Some((place(*lines.start())?, place(*lines.end())? + 1)));
        let spins: Vec<Run> = spins.collect();
        if spins.is_empty() {
            return 0;
        }
        let mut known: HashMap<Way, u32> = HashMap::new();
        let mut ways: Vec<Way> = Vec::new();
        let mut numbers = vec![0];
        let mut turns = Vec::new();
        self.turns.resize(self.ways.len(), Vec::new());
        self.long.resize(self.ways.len(), Vec::new());
        let own = std::mem::take(&mut self.turns).into_iter().zip(std::mem::take(&mut self.long));
        for (way, (own, long)) in std::mem::take(&mut self.ways).into_iter().zip(own) {
            let (way, left_out) = last_turns(&way, &spins);
            turns.push(left_out);
            let way = (way, own, long);
            numbers.push(*known.entry(way.clone()).or_insert_with(|| {
                ways.push(way);
                ways.len() as u32
            }));
        }
        self.take(ways);
        let mut all = 0;
        let mut kinds: HashMap<[u32; 32], u32> = HashMap::new();
        let mut warps: Vec<([u32; 32], u64)> = Vec::new();
        let mut places = Vec::new();
        for (warp, count) in std::mem::take(&mut self.warps) {
            let own = warp.iter().filter_map(|way| turns.get((*way as usize).checked_sub(1)?));
            all += count * own.sum::<u64>();
            let warp = warp.map(|way| numbers[way as usize]);
            let kind = *kinds.entry(warp).or_insert_with(|| {
                warps.push((warp, 0));
                warps.len() as u32 - 1
            });
            warps[kind as usize].1 += count;
            places.push(kind);
        }
        self.warps = warps;
        self.each.iter_mut().for_each(|(_, _, kind)| *kind = places[*kind as usize]);
        all
    }

    /// These are its ways.
    fn take(&mut self, ways: impl IntoIterator<Item = Way>) {
        for (way, turns, long) in ways {
            self.ways.push(way);
            self.turns.push(turns);
            self.long.push(long);
        }
    }
}

/// A way without the turns of loops but the last, and how many are left out.
fn last_turns(way: &[Run], spins: &[Run]) -> (Vec<Run>, u64) {
    let mut kept: Vec<Run> = Vec::with_capacity(way.len());
    let mut turns = 0;
    for &(first, end) in way {
        let before = kept.last().map(|last| last.1);
        let within = |spin: &Run| before.is_some_and(|before| spin.0 < before && before <= spin.1);
        if spins.iter().any(|spin| spin.0 == first && within(spin)) {
            turns += 1;
            while let Some(last) = kept.pop() {
                if (last.0..last.1).contains(&first) {
                    kept.extend((last.0 < first).then_some((last.0, first)));
                    break;
                }
            }
        }
        match kept.last_mut() {
            Some(last) if last.1 == first => last.1 = end,
            _ => kept.push((first, end)),
        }
    }
    (kept, turns)
}

/// Where the ways of a launch are left, those of all its grids.
pub type Found = Arc<Mutex<Vec<(Arc<str>, Ways)>>>;

/// The tool that hears them.
#[derive(Debug)]
pub struct Watch {
    found: Found,
    instructions: u32,
    /// The number of each is its place, plus one.
    ways: IndexSet<Way, FxBuildHasher>,
    /// By position of an atomic operation: whether it is such a loop.
    loops: HashMap<u32, bool>,
    /// Different warps: their number, and how many there are.
    warps: FxHashMap<[u32; 32], (u32, u64)>,
    /// Block, warp and number of each, if that is to be known.
    each: Option<Vec<(u64, u32, u32)>>,
    /// Runs of all ways.
    kept: usize,
    lost: u64,
}

/// What is told of the warps of a block.
#[derive(Default)]
pub struct Told {
    warps: Vec<Vec<(u32, Run)>>,
    /// By warp: rounds of the loops that it goes round, and of which position they are.
    rounds: Vec<Vec<(u32, Vec<Round>)>>,
    /// By warp: quotients and roots with who executes them, for whom they take long, and who of these divides zero.
    quotients: Vec<Vec<(u32, [u32; 3])>>,
    count: usize,
}

impl Told {
    /// The turns of a lane.
    fn turns(&self, warp: usize, lane: usize) -> Vec<Turns> {
        let count = |rounds: &[Round], of: fn(&Round) -> u32| {
            rounds.iter().filter(|round| of(round) >> lane & 1 != 0).count()
        };
        let turns = self.rounds.get(warp).into_iter().flatten().filter_map(|(position, rounds)| {
            let (loads, swaps) = (count(rounds, |of| of.loads), count(rounds, |of| of.swaps));
            let leaves = loads > swaps;
            (loads > 0).then(|| Turns { position: *position, swaps: swaps.min(255) as u8, leaves })
        });
        let turns: Vec<Turns> = turns.collect();
        if turns.iter().all(|of| of.swaps == 1 && !of.leaves) { Vec::new() } else { turns }
    }
}

impl Told {
    /// What takes a lane long.
    fn long(&self, warp: usize, lane: usize) -> Vec<Long> {
        let Some(quotients) = self.quotients.get(warp) else { return Vec::new() };
        let has = |lanes: u32| lanes >> lane & 1 != 0;
        // By position: how often it was executed.
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut list = Vec::new();
        for &(position, [_, long, zeros]) in quotients.iter().filter(|(_, [lanes, ..])| has(*lanes)) {
            let number = counts.entry(position).or_default();
            list.extend(has(long).then_some(Long { position, number: *number, zero: has(zeros) }));
            *number += 1;
        }
        list.sort_unstable();
        let mut whole: Vec<Long> = Vec::with_capacity(list.len());
        for of in list.chunk_by(|one, other| one.position == other.position) {
            let alike = of.iter().all(|long| long.zero == of[0].zero);
            match counts.get(&of[0].position) {
                Some(&count) if alike && count as usize == of.len() => {
                    whole.push(Long { number: Long::ALL, ..of[0] });
                }
                _ => whole.extend_from_slice(of),
            }
        }
        whole
    }
}

impl Watch {
    /// Of a launch of so many instructions.
    pub fn new(found: &Found, instructions: u32) -> Self {
        let found = Arc::clone(found);
        let (ways, warps, loops) = (IndexSet::default(), FxHashMap::default(), HashMap::new());
        Watch { found, instructions, ways, loops, warps, each: None, kept: 0, lost: 0 }
    }

    /// The same, which keeps of each warp what it did.
    pub fn keeping(found: &Found, instructions: u32) -> Self {
        Watch { each: Some(Vec::new()), ..Self::new(found, instructions) }
    }

    /// Counts warps of a kind; its number.
    fn count(&mut self, warp: [u32; 32], times: u64) -> u32 {
        let next = self.warps.len() as u32;
        let (number, count) = self.warps.entry(warp).or_insert((next, 0));
        *count += times;
        *number
    }

    /// The number of a way; 0 if no more are kept.
    fn way(&mut self, way: &Way) -> u32 {
        if let Some(known) = self.ways.get_index_of(way) {
            return known as u32 + 1;
        }
        self.kept += way.0.len() + way.1.len() + way.2.len();
        if self.kept > MOST_KEPT {
            return 0;
        }
        self.ways.insert(way.clone());
        self.ways.len() as u32
    }

    /// An atomic operation on shared memory: its rounds, if it is such a loop.
    fn atomic(&mut self, of: &WarpAccess<'_>, block: &mut Told, context: &dyn Context) {
        let all = || {
            let lanes = [of.lanes, of.changing];
            rounds(of.addresses, lanes, of.bytes, context.instruction(of.position))
        };
        let is_loop = *self.loops.entry(of.position).or_insert_with(|| all().is_some());
        let Some(rounds) = is_loop.then(all).flatten() else { return };
        let at = of.warp as usize;
        if block.rounds.len() <= at {
            block.rounds.resize_with(at + 1, Vec::new);
        }
        block.count += rounds.len();
        block.rounds[at].push((of.position, rounds));
    }

    fn finished(&mut self, number: u64, block: &mut Told) {
        let lost = block.count > MOST_RUNS;
        for at in 0..block.warps.len() {
            let told = std::mem::take(&mut block.warps[at]);
            if told.is_empty() {
                continue;
            }
            if lost {
                self.lost += 1;
                continue;
            }
            let turns: [Vec<Turns>; 32] = std::array::from_fn(|lane| block.turns(at, lane));
            let takes_long =
                block.quotients.get(at).is_some_and(|of| of.iter().any(|(_, [_, long, _])| *long != 0));
            let long: [Vec<Long>; 32] = std::array::from_fn(|lane| match takes_long {
                true => block.long(at, lane),
                false => Vec::new(),
            });
            let mut warp = [0; 32];
            let mut left = told.iter().fold(0, |all, (lanes, _)| all | lanes);
            // Lanes that are told of together have one way.
            while left != 0 {
                let lane = left.trailing_zeros();
                let mut alike = left;
                let mut way: Way = (Vec::new(), Vec::new(), Vec::new());
                for &(lanes, (first, end)) in &told {
                    if lanes >> lane & 1 == 0 {
                        alike &= !lanes;
                        continue;
                    }
                    alike &= lanes;
                    match way.0.last_mut() {
                        Some(last) if last.1 == first => last.1 = end,
                        _ => way.0.push((first, end)),
                    }
                }
                left &= !alike;
                while alike != 0 {
                    let first = alike.trailing_zeros() as usize;
                    way.1.clone_from(&turns[first]);
                    way.2.clone_from(&long[first]);
                    let way = self.way(&way);
                    let same = |lane: &usize| turns[*lane] == turns[first] && long[*lane] == long[first];
                    for lane in (0..32).filter(same) {
                        warp[lane] = if alike >> lane & 1 != 0 { way } else { warp[lane] };
                        alike &= !(1 << lane);
                    }
                }
            }
            if self.kept > MOST_KEPT {
                self.lost += 1;
            } else {
                let kind = self.count(warp, 1);
                self.each.as_mut().into_iter().for_each(|each| each.push((number, at as u32, kind)));
            }
        }
        block.count = 0;
    }
}

impl Tool for Watch {
    type Block = Told;

    fn wants(&self) -> Wants {
        Wants::WAYS | Wants::BLOCKS | Wants::ACCESSES | Wants::RANGES
    }

    fn event(&mut self, event: &Event<'_>, block: &mut Told, context: &dyn Context) {
        match *event {
            Event::BlockStarted { .. } => {
                block.warps.iter_mut().for_each(Vec::clear);
                block.rounds.clear();
                block.quotients.iter_mut().for_each(Vec::clear);
                block.count = 0;
            }
            Event::Went { warp, lanes, first, end } => {
                let at = warp.warp as usize;
                if block.warps.len() <= at {
                    block.warps.resize_with(at + 1, Vec::new);
                }
                let told = &mut block.warps[at];
                match told.last_mut() {
                    Some((same, run)) if *same == lanes && run.1 == first => run.1 = end,
                    _ if block.count > MOST_RUNS => {}
                    _ => {
                        told.push((lanes, (first, end)));
                        block.count += 1;
                    }
                }
            }
            Event::Quotient { warp, position, lanes, long, zeros } if block.count <= MOST_RUNS => {
                let at = warp.warp as usize;
                if block.quotients.len() <= at {
                    block.quotients.resize_with(at + 1, Vec::new);
                }
                block.quotients[at].push((position, [lanes, long, zeros]));
                block.count += 1;
            }
            Event::Access(of)
                if of.memory == Memory::Shared
                    && matches!(of.kind, AccessKind::Atomic | AccessKind::Reduction) =>
            {
                self.atomic(of, block, context);
            }
            Event::BlockFinished { block: number } => self.finished(number, block),
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        let ours: Vec<u32> = other.ways.into_iter().map(|way| self.way(&way)).collect();
        let mut kinds = vec![None; other.warps.len()];
        for (warp, (number, count)) in other.warps {
            if warp.iter().any(|&way| way != 0 && ours[way as usize - 1] == 0) {
                self.lost += count;
                continue;
            }
            let warp = warp.map(|way| way.checked_sub(1).map_or(0, |way| ours[way as usize]));
            kinds[number as usize] = Some(self.count(warp, count));
        }
        if let Some((each, theirs)) = self.each.as_mut().zip(other.each) {
            let known = |(block, warp, kind): (u64, u32, u32)| Some((block, warp, kinds[kind as usize]?));
            each.extend(theirs.into_iter().filter_map(known));
        }
        self.lost += other.lost;
    }

    fn finish(self, launch: &dyn LaunchView) -> Summary {
        let mut ways: Vec<(Way, u32)> = self.ways.into_iter().zip(1..).collect();
        // The order in which they were found depends on how blocks were shared out.
        ways.sort();
        let mut order = vec![0; ways.len() + 1];
        ways.iter().zip(1..).for_each(|((_, number), place)| order[*number as usize] = place);
        let warps = self.warps.into_iter().map(|(warp, of)| (warp.map(|way| order[way as usize]), of));
        let mut warps: Vec<([u32; 32], (u32, u64))> = warps.collect();
        warps.sort();
        let mut places = vec![0; warps.len()];
        warps.iter().zip(0..).for_each(|((_, (number, _)), place)| places[*number as usize] = place);
        let mut each = self.each.unwrap_or_default();
        each.iter_mut().for_each(|(_, _, kind)| *kind = places[*kind as usize]);
        each.sort_unstable();
        let warps = warps.into_iter().map(|(warp, (_, count))| (warp, count)).collect();
        let position = |at| Position {
            line: launch.line(&launch.place(at)),
            op: launch.operation(at).map_or_else(|| "ret".into(), ToString::to_string),
        };
        let positions: Vec<Position> = (0..self.instructions).map(position).collect();
        // What waits for other lanes is tried again.
        let tried = |at: u32| launch.operation(at).is_some_and(|op| op.effects.synchronizes());
        let ways = ways.into_iter().map(|((way, turns, long), _)| {
            let mut whole: Vec<Run> = Vec::with_capacity(way.len());
            for (first, end) in way {
                match whole.last_mut() {
                    Some(last) if last.1 == first + 1 && tried(first) => last.1 = end,
                    _ => whole.push((first, end)),
                }
            }
            (whole, turns, long)
        });
        let mut all = Ways { warps, lost: self.lost, positions, each, ..Ways::default() };
        all.take(ways);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push((launch.kernel(), all));
        Summary::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp(told: &[(u32, Run)]) -> (Vec<Vec<Run>>, [u32; 32]) {
        let mut watch = Watch::new(&Found::default(), 100);
        watch.finished(0, &mut Told { warps: vec![told.to_vec()], count: told.len(), ..Told::default() });
        (watch.ways.into_iter().map(|way| way.0).collect(), *watch.warps.keys().next().unwrap())
    }

    #[test]
    fn lanes_that_part_have_ways_of_their_own() {
        let all = u32::MAX;
        let (ways, lanes) = warp(&[(all, (0, 4)), (1, (4, 6)), (!1, (6, 8)), (all, (8, 9))]);
        assert_eq!(ways, [vec![(0, 6), (8, 9)], vec![(0, 4), (6, 9)]]);
        assert_eq!((lanes[0], lanes[1], lanes[31]), (1, 2, 2));
    }

    #[test]
    fn of_turns_of_waiting_the_last_is_kept() {
        // 0, then a loop of 1 to 3, which is left at its end or in its middle.
        let spins = [(1, 4)];
        assert_eq!(last_turns(&[(0, 4), (1, 4), (1, 6)], &spins), (vec![(0, 6)], 2));
        assert_eq!(last_turns(&[(0, 4), (1, 4), (1, 3), (5, 6)], &spins), (vec![(0, 3), (5, 6)], 2));
        assert_eq!(last_turns(&[(0, 4), (1, 2), (3, 4), (1, 2), (5, 6)], &spins), (vec![(0, 2), (5, 6)], 2));
        let line = |line| Position { line, op: "ld".into() };
        let one = |way| [[way].as_slice(), &[0; 31]].concat().try_into().unwrap();
        let mut ways = Ways {
            ways: vec![vec![(0, 4), (1, 6)], vec![(0, 6)], vec![(0, 1)]],
            warps: vec![(one(1), 1), (one(2), 2), (one(3), 1)],
            positions: (10..16).map(line).collect(),
            each: vec![(0, 0, 1), (0, 1, 2), (1, 0, 0)],
            ..Ways::default()
        };
        assert_eq!(ways.without_waiting(&[11..=13]), 1);
        assert_eq!(ways.ways, [vec![(0, 6)], vec![(0, 1)]]);
        assert_eq!(ways.warps, [(one(1), 3), (one(2), 1)]);
        assert_eq!(ways.each, [(0, 0, 0), (0, 1, 1), (1, 0, 0)]);
    }

    #[test]
    fn threads_that_are_not_there_have_none() {
        let (ways, lanes) = warp(&[(0xff, (0, 4)), (0xff, (2, 4))]);
        assert_eq!(ways, [vec![(0, 4), (2, 4)]]);
        assert_eq!((lanes[7], lanes[8]), (1, 0));
    }
}
