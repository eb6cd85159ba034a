//! What a warp executes when its lanes go their ways through machine code: where it splits, and where convergence barriers
//! (`BSSY`, `BSYNC`) put it together.

use super::follow::{Follower, Step};
use super::graph::{Graph, Leave};
use super::listing::Listing;

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
    /// Blocks in the order in which they were executed, each with how many lanes did, if that is to be known.
    pub sequence: Option<Vec<(u32, u32)>>,
}

struct Group {
    lanes: Lanes,
    /// Waits at a convergence barrier, or (16) for its warp.
    waits: Option<u8>,
}

const WARP: u8 = 16;

/// Lanes of a warp.
struct Warp<'a> {
    graph: &'a Graph,
    listing: &'a Listing,
    follower: &'a Follower<'a>,
    paths: [&'a [Step]; 32],
    at: [u32; 32],
    groups: Vec<Group>,
    /// By barrier, by lane: who takes part.
    barriers: [[Lanes; 32]; 16],
    saved: Vec<(u8, [Lanes; 32])>,
    live: Lanes,
}

fn each(lanes: Lanes) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}

/// Adds what a warp executes, so many times.
pub fn replay<'a>(
    graph: &'a Graph,
    listing: &'a Listing,
    follower: &'a Follower<'a>,
    paths: [&'a [Step]; 32],
    times: u64,
    counts: &mut Counts,
) {
    let live = (0..32).filter(|&lane| !paths[lane].is_empty()).fold(0, |all, lane| all | 1 << lane);
    if live == 0 {
        return;
    }
    let groups = vec![Group { lanes: live, waits: None }];
    let barriers = [[0; 32]; 16];
    let mut warp =
        Warp { graph, listing, follower, paths, at: [0; 32], groups, barriers, saved: Vec::new(), live };
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

impl Warp<'_> {
    /// Runs lanes that stand at one block until they split, wait or end.
    fn run(&mut self, mut lanes: Lanes, times: u64, counts: &mut Counts) {
        while lanes != 0 {
            let lead = lanes.trailing_zeros() as usize;
            let Some(step) = self.paths[lead].get(self.at[lead] as usize).copied() else { return };
            let block = &self.graph.blocks[step.block as usize];
            self.count(step.block, lanes, times, counts);
            let mut waits = None;
            for of in &self.listing.instructions[block.first as usize..block.end as usize] {
                let Some(barrier) = of.barrier().filter(|&barrier| barrier < WARP) else {
                    if of.base() == "WARPSYNC" {
                        waits = Some(WARP);
                    }
                    continue;
                };
                let own = &mut self.barriers[usize::from(barrier)];
                match of.base() {
                    "BSSY" => each(lanes).for_each(|lane| own[lane] = lanes),
                    "BREAK" => {
                        own.iter_mut().for_each(|members| *members &= !lanes);
                        each(lanes).for_each(|lane| own[lane] = 0);
                    }
                    "BMOV" if of.has("CLEAR") => self.saved.push((barrier, *own)),
                    "BMOV" => {
                        if let Some(at) = self.saved.iter().rposition(|(saved, _)| *saved == barrier) {
                            let (_, saved) = self.saved.remove(at);
                            each(lanes).for_each(|lane| own[lane] = saved[lane]);
                        }
                    }
                    "BSYNC" => waits = Some(barrier),
                    _ => {}
                }
            }
            // On to the next block of each.
            let mut ended = 0;
            let mut ways: Vec<(u32, Lanes)> = Vec::new();
            for lane in each(lanes) {
                self.at[lane] += 1;
                match self.paths[lane].get(self.at[lane] as usize) {
                    None => ended |= 1 << lane,
                    Some(next) => match ways.iter_mut().find(|(block, _)| *block == next.block) {
                        Some((_, lanes)) => *lanes |= 1 << lane,
                        None => ways.push((next.block, 1 << lane)),
                    },
                }
            }
            let executed = &mut counts.blocks[step.block as usize];
            if ways.len() + usize::from(ended != 0) > 1 {
                executed.divergent += times;
            }
            let through = match &block.leave {
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
            if let Some(barrier) = waits {
                let lanes = lanes & !ended;
                if lanes != 0 {
                    self.groups.push(Group { lanes, waits: Some(barrier) });
                    self.released();
                }
                return;
            }
            match &ways[..] {
                [] => return,
                [(_, only)] => lanes = *only,
                _ => {
                    self.groups.extend(ways.iter().map(|(_, lanes)| Group { lanes: *lanes, waits: None }));
                    return;
                }
            }
        }
    }

    fn count(&self, block: u32, lanes: Lanes, times: u64, counts: &mut Counts) {
        let covers = self.follower.covers(block);
        counts.sequence.as_mut().into_iter().for_each(|list| list.push((block, lanes.count_ones())));
        let executed = &mut counts.blocks[block as usize];
        executed.warps += times;
        executed.threads += times * u64::from(lanes.count_ones());
        if covers.iter().any(|cover| cover.optional) {
            executed.optional.resize(covers.len(), (0, 0));
            let steps = each(lanes).filter_map(|lane| self.paths[lane].get(self.at[lane] as usize));
            executed.perhaps |= steps.fold(0, |all, step| all | step.perhaps);
            for (at, (threads, warps)) in executed.optional.iter_mut().enumerate() {
                let does = |lane: &usize| {
                    let step = self.paths[*lane].get(self.at[*lane] as usize);
                    step.is_some_and(|step| step.done >> at.min(31) & 1 != 0)
                };
                let on = each(lanes).filter(does).count() as u64;
                *threads += times * on;
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
                each(own).fold(0, |all, lane| all | self.barriers[usize::from(barrier)][lane])
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
        let lane = lanes.trailing_zeros() as usize;
        self.paths[lane].get(self.at[lane] as usize).map(|step| step.block)
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
