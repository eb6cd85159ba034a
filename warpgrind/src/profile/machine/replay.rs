//! What a warp executes when its lanes go their ways through machine code: where it splits, and where convergence barriers
//! (`BSSY`, `BSYNC`) put it together.

use super::follow::{Follower, Step};
use super::graph::{Graph, Leave};
use super::listing::{Instruction, Listing};

type Lanes = u32;

/// How often a block was executed.
#[derive(Clone, Default, Debug)]
pub struct Executed {
    /// By warps.
    pub warps: u64,
    /// By threads.
    pub threads: u64,
    /// Threads that leave it by the branch, call or exit at its end.
    pub taken: u64,
    /// Warps of which one did.
    pub taken_by: u64,
    /// Warps whose threads went two ways.
    pub divergent: u64,
    /// By optional cover: threads that do it, and warps of which one does.
    pub optional: Vec<(u64, u64)>,
    /// Optional covers of which one does not know it, as bits.
    pub perhaps: u32,
}

/// Counts by block.
#[derive(Clone, Debug)]
pub struct Counts {
    /// By block.
    pub blocks: Vec<Executed>,
    /// Groups that were let go on though others were missing at a barrier.
    pub forced: u64,
    /// Blocks in the order in which they were executed, each with how many lanes did.
    pub sequence: Vec<(u32, u32)>,
}

struct Group {
    lanes: Lanes,
    /// Waits at a convergence barrier, or (16) for its warp.
    waits: Option<u8>,
}

const WARP: u8 = 16;

/// What an instruction does to a convergence barrier.
#[derive(Clone, Copy)]
enum Converging {
    Joins(u8),
    Leaves(u8),
    Saves(u8),
    Restores(u8),
    /// Waits there, or (16) for the warp.
    Waits(u8),
}

impl Converging {
    fn of(of: &Instruction) -> Option<Self> {
        let Some(barrier) = of.barrier().filter(|&barrier| barrier < WARP) else {
            return (of.base() == "WARPSYNC").then_some(Self::Waits(WARP));
        };
        match of.base() {
            "BSSY" => Some(Self::Joins(barrier)),
            "BREAK" => Some(Self::Leaves(barrier)),
            "BMOV" if of.has("CLEAR") => Some(Self::Saves(barrier)),
            "BMOV" => Some(Self::Restores(barrier)),
            "BSYNC" => Some(Self::Waits(barrier)),
            _ => None,
        }
    }
}

/// What warps of a kernel are replayed with.
pub struct Replay<'a> {
    graph: &'a Graph,
    follower: &'a Follower<'a>,
    /// By block.
    converging: Vec<Vec<Converging>>,
    /// By block: whether it has covers that are optional.
    optional: Vec<bool>,
}

/// Lanes of a warp.
struct Warp<'a> {
    of: &'a Replay<'a>,
    paths: [&'a [Step]; 32],
    /// Those that are the first of their path, and by lane all that have it: these are together whatever happens, so that only the
    /// first is looked at.
    firsts: Lanes,
    alike: [Lanes; 32],
    at: [u32; 32],
    groups: Vec<Group>,
    /// By barrier, by lane: who takes part.
    barriers: [[Lanes; 32]; 16],
    saved: Vec<(u8, [Lanes; 32])>,
    live: Lanes,
    /// Where lanes go on, empty but while that is looked for.
    ways: Vec<(u32, Lanes)>,
}

fn each(lanes: Lanes) -> impl Iterator<Item = usize> {
    let mut left = lanes;
    std::iter::from_fn(move || {
        let lane = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(lane)
    })
}

impl<'a> Replay<'a> {
    /// For a kernel.
    pub fn new(graph: &'a Graph, listing: &Listing, follower: &'a Follower<'a>) -> Self {
        let blocks = graph.blocks.iter();
        let converging = blocks.map(|block| {
            let own = &listing.instructions[block.first as usize..block.end as usize];
            own.iter().filter_map(Converging::of).collect()
        });
        let optional =
            (0..graph.blocks.len() as u32).map(|block| follower.covers(block).iter().any(|of| of.optional));
        Replay { graph, follower, converging: converging.collect(), optional: optional.collect() }
    }

    /// Adds what a warp executes, so many times.
    pub fn replay(&self, paths: [&[Step]; 32], times: u64, counts: &mut Counts) {
        let (mut live, mut firsts, mut alike) = (0, 0, [0; 32]);
        for lane in (0..32).filter(|&lane| !paths[lane].is_empty()) {
            let first = each(firsts).find(|&first| std::ptr::eq(paths[first], paths[lane])).unwrap_or(lane);
            live |= 1 << lane;
            firsts |= 1 << first;
            alike[first] |= 1 << lane;
        }
        if live == 0 {
            return;
        }
        let mut warp = Warp {
            of: self,
            paths,
            firsts,
            alike,
            at: [0; 32],
            groups: vec![Group { lanes: live, waits: None }],
            barriers: [[0; 32]; 16],
            saved: Vec::new(),
            live,
            ways: Vec::new(),
        };
        while !warp.groups.is_empty() {
            let Some(next) = warp.groups.iter().rposition(|group| group.waits.is_none()) else {
                warp.force();
                counts.forced += times;
                continue;
            };
            let group = warp.groups.swap_remove(next);
            warp.run(group.lanes, times, counts);
        }
    }
}

impl Warp<'_> {
    /// The first of each path that some lanes have.
    fn each(&self, lanes: Lanes) -> impl Iterator<Item = usize> + use<> {
        each(lanes & self.firsts)
    }

    fn step(&self, lane: usize) -> Option<&Step> {
        self.paths[lane].get(self.at[lane] as usize)
    }

    /// Runs lanes that stand at one block until they split, wait or end.
    fn run(&mut self, mut lanes: Lanes, times: u64, counts: &mut Counts) {
        while lanes != 0 {
            let lead = lanes.trailing_zeros() as usize;
            let Some(block) = self.step(lead).map(|step| step.block) else { return };
            self.count(block, lanes, times, counts);
            let mut waits = None;
            for of in &self.of.converging[block as usize] {
                match *of {
                    Converging::Joins(barrier) => {
                        self.each(lanes).for_each(|lane| self.barriers[usize::from(barrier)][lane] = lanes);
                    }
                    Converging::Leaves(barrier) => {
                        let own = &mut self.barriers[usize::from(barrier)];
                        own.iter_mut().for_each(|members| *members &= !lanes);
                        self.each(lanes).for_each(|lane| self.barriers[usize::from(barrier)][lane] = 0);
                    }
                    Converging::Saves(barrier) => {
                        self.saved.push((barrier, self.barriers[usize::from(barrier)]));
                    }
                    Converging::Restores(barrier) => {
                        if let Some(at) = self.saved.iter().rposition(|(saved, _)| *saved == barrier) {
                            let (_, saved) = self.saved.remove(at);
                            let own = self.each(lanes);
                            own.for_each(|lane| self.barriers[usize::from(barrier)][lane] = saved[lane]);
                        }
                    }
                    Converging::Waits(barrier) => waits = Some(barrier),
                }
            }
            // On to the next block of each.
            let mut ended = 0;
            let mut ways = std::mem::take(&mut self.ways);
            for lane in self.each(lanes) {
                self.at[lane] += 1;
                let alike = self.alike[lane];
                match self.step(lane) {
                    None => ended |= alike,
                    Some(next) => match ways.iter_mut().find(|(block, _)| *block == next.block) {
                        Some((_, lanes)) => *lanes |= alike,
                        None => ways.push((next.block, alike)),
                    },
                }
            }
            let executed = &mut counts.blocks[block as usize];
            if ways.len() + usize::from(ended != 0) > 1 {
                executed.divergent += times;
            }
            let through = match &self.of.graph.blocks[block as usize].leave {
                Leave::To(list) if list.len() > 1 => list.first().copied(),
                Leave::Call { back, conditional: true, .. } => Some(*back),
                Leave::Return(through) | Leave::Exit(through) => *through,
                _ => None,
            };
            let stay = ways.iter().filter(|(next, _)| Some(*next) == through).fold(0, |all, way| all | way.1);
            let taken = lanes & !stay;
            executed.taken += times * u64::from(taken.count_ones());
            executed.taken_by += times * u64::from(taken != 0);
            if ended != 0 {
                self.live &= !ended;
                for own in &mut self.barriers {
                    own.iter_mut().for_each(|members| *members &= !ended);
                }
                self.released();
            }
            lanes = match (waits, &ways[..]) {
                (Some(barrier), _) => {
                    let lanes = lanes & !ended;
                    if lanes != 0 {
                        self.groups.push(Group { lanes, waits: Some(barrier) });
                        self.released();
                    }
                    0
                }
                (None, []) => 0,
                (None, [(_, only)]) => *only,
                (None, several) => {
                    self.groups.extend(several.iter().map(|&(_, lanes)| Group { lanes, waits: None }));
                    0
                }
            };
            ways.clear();
            self.ways = ways;
        }
    }

    fn count(&self, block: u32, lanes: Lanes, times: u64, counts: &mut Counts) {
        counts.sequence.push((block, lanes.count_ones()));
        let executed = &mut counts.blocks[block as usize];
        executed.warps += times;
        executed.threads += times * u64::from(lanes.count_ones());
        if self.of.optional[block as usize] {
            executed.optional.resize(self.of.follower.covers(block).len(), (0, 0));
            // Who does each.
            let mut on = [0; 32];
            for lane in self.each(lanes) {
                let Some(step) = self.step(lane) else { continue };
                executed.perhaps |= step.perhaps;
                each(step.done).for_each(|cover| on[cover] |= self.alike[lane]);
            }
            for (at, (threads, warps)) in executed.optional.iter_mut().enumerate() {
                let on: Lanes = on[at.min(31)];
                *threads += times * u64::from(on.count_ones());
                *warps += times * u64::from(on != 0);
            }
        }
    }

    /// Lets groups go on whose barrier all have reached.
    fn released(&mut self) {
        let mut at = 0;
        while at < self.groups.len() {
            let Some(barrier) = self.groups[at].waits else {
                at += 1;
                continue;
            };
            let own = self.groups[at].lanes;
            let place = self.place(own);
            let alike = |group: &Group| group.waits == Some(barrier) && self.place(group.lanes) == place;
            let here =
                self.groups.iter().filter(|group| alike(group)).fold(0, |all, group| all | group.lanes);
            let members = if barrier == WARP {
                self.live
            } else {
                self.each(own).fold(0, |all, lane| all | self.barriers[usize::from(barrier)][lane])
            };
            if members & self.live & !here != 0 {
                at += 1;
                continue;
            }
            // Those of other rounds of a loop wait on.
            let together = here & (members | own);
            self.groups.retain(|group| !(group.waits == Some(barrier) && group.lanes & together != 0));
            self.groups.push(Group { lanes: together, waits: None });
            at = 0;
        }
    }

    /// The block before which lanes stand.
    fn place(&self, lanes: Lanes) -> Option<u32> {
        self.step(lanes.trailing_zeros() as usize).map(|step| step.block)
    }

    /// All wait: the first goes on, with those that wait where it does.
    fn force(&mut self) {
        let Some(first) = self.groups.first() else { return };
        let (waits, place) = (first.waits, self.place(first.lanes));
        let alike: Vec<bool> = self
            .groups
            .iter()
            .map(|group| group.waits == waits && self.place(group.lanes) == place)
            .collect();
        let mut lanes = 0;
        let mut kept = Vec::new();
        for (group, alike) in std::mem::take(&mut self.groups).into_iter().zip(alike) {
            if alike { lanes |= group.lanes } else { kept.push(group) }
        }
        kept.push(Group { lanes, waits: None });
        self.groups = kept;
    }
}
