//! Machine instructions that a launch executes: the ways of its threads through the PTX ([`ways`]), followed through what
//! ptxas makes of it ([`listing`]).
//!
//! Values, masks and branches are the interpreter's. What is looked for is the path of each thread through the machine code:
//! the cheapest one that meets the instructions of its PTX blocks ([`anchors`]) in their order ([`mod@follow`]). Warps then
//! execute the paths of their lanes, split where these part, and are put together by the convergence barriers ([`replay`]).

pub mod anchors;
pub mod detours;
pub mod follow;
pub mod graph;
pub mod listing;
pub mod loops;
pub mod lower;
pub mod merged;
pub mod metrics;
pub mod operands;
pub mod replay;
pub mod spins;
pub mod ways;
pub mod wide;

use std::borrow::Cow;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use anchors::Anchors;
use detours::Detours;
use follow::{Follower, Path, Step, Stuck};
use graph::Graph;
use listing::Listing;
use loops::Loops;
use replay::{Counts, Executed, Replay};
use ways::Ways;

use super::limit::Limit;

/// How often one machine instruction was executed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// By warps.
    pub warps: u64,
    /// By threads, whether its guard let them take part or not.
    pub threads: u64,
    /// Threads that its guard let take part, and warps of which one did; nothing where that depends on values that the PTX
    /// does not say.
    pub on: Option<(u64, u64)>,
    /// Warps whose threads went two ways at it.
    pub divergent: u64,
}

/// What was found of a launch.
#[derive(Clone, Debug)]
pub struct Followed {
    /// By instruction of the listing.
    pub counts: Vec<Count>,
    /// Warps whose way was found, and those whose was not. Where most were found, the others are taken to be like them, and
    /// count so.
    pub warps: (u64, u64),
    /// Of the latter, those of which too much would have had to be kept.
    pub unkept: u64,
    /// Instructions of the PTX that the threads of warps executed whose way was found, and of others that were kept.
    pub work: (u64, u64),
    /// How often threads could have gone another way that does the same.
    pub guesses: u64,
    /// How often warps were put together without a barrier that says so.
    pub forced: u64,
}

impl Followed {
    /// Whether the way of each warp is known.
    pub fn is_whole(&self) -> bool {
        self.warps.1 == 0 && self.warps.0 > 0
    }

    /// Whether so much is known that the rest may be taken to be like it: most of the warps, and most of what they do.
    pub fn is_known(&self) -> bool {
        let kept = self.warps.1 - self.unkept.min(self.warps.1);
        self.warps.0 > 0 && kept <= self.warps.0 && self.work.1 <= self.work.0
    }

    /// Counts the warps whose way was not found as if they were like the others, but for how much they do.
    fn fill(&mut self) {
        if self.warps.1 == 0 || !self.is_known() {
            return;
        }
        let share = |(found, lost): (u64, u64)| (found + lost) as f64 / found.max(1) as f64;
        let kept = self.warps.1 - self.unkept.min(self.warps.1);
        let unkept = share((self.warps.0 + kept, self.unkept));
        let all = |count: u64| (count as f64 * share(self.work) * unkept).round() as u64;
        for count in &mut self.counts {
            let Count { warps, threads, on, divergent } = *count;
            let on = on.map(|(threads, warps)| (all(threads), all(warps)));
            *count = Count { warps: all(warps), threads: all(threads), on, divergent: all(divergent) };
        }
    }
}

/// How often places of PTX blocks are thought over.
const MOST_THOUGHTS: u32 = 4096;

/// Blocks of which one is tried elsewhere where a trace gets stuck.
const MOST_SUSPECTS: usize = 6;

/// The path of each trace, as far as there is one; which block of the PTX is where is thought over until they fit.
fn paths<'a>(
    graph: &'a Graph,
    listing: &Listing,
    anchors: &mut Anchors,
    traces: &[Vec<u32>],
    limit: &'a Limit,
) -> (Follower<'a>, Vec<Option<Path>>) {
    let mut follower = Follower::new(graph, listing, anchors, limit);
    let mut paths: Vec<Option<Path>> = vec![None; traces.len()];
    let mut is_known = vec![false; traces.len()];
    let (mut thoughts, mut at) = (0, 0);
    while let Some(next) = (at..traces.len()).chain(0..at).find(|&next| !is_known[next]) {
        at = next;
        if limit.is_over() {
            break;
        }
        match follower.follow(&traces[at]) {
            // What has no place though it should have one may be anywhere.
            Ok(_) if traces[at].iter().any(|&ptx| anchors.is_lost(ptx)) => {}
            Ok(path) => paths[at] = Some(path),
            Err(stuck) => {
                thoughts += 1;
                let better = (thoughts < MOST_THOUGHTS)
                    .then(|| reconsidered((graph, listing, limit), anchors, &traces[at], &stuck))
                    .flatten();
                if let Some((ptx, other)) = better {
                    let sites = [anchors.sites(ptx), other.sites(ptx)].concat();
                    *anchors = other;
                    follower = Follower::new(graph, listing, anchors, limit);
                    // Paths that have nothing to do with it are what they were.
                    for (known, (path, trace)) in is_known.iter_mut().zip(paths.iter_mut().zip(traces)) {
                        let meets = |step: &Step| sites.contains(&step.block);
                        if path.as_ref().is_none_or(|path| path.steps.iter().any(meets))
                            || trace.contains(&ptx)
                        {
                            (*known, *path) = (false, None);
                        }
                    }
                    continue;
                }
            }
        }
        is_known[at] = true;
    }
    (follower, paths)
}

/// Where a trace got stuck, the places of blocks with another one for a suspect, which it says: one that is somewhere still, and
/// with which the trace comes the furthest, and of those the one of which the least was known.
fn reconsidered(
    (graph, listing, limit): (&Graph, &Listing, &Limit),
    anchors: &Anchors,
    trace: &[u32],
    stuck: &Stuck,
) -> Option<(u32, Anchors)> {
    let mut best: Option<((bool, u32), u32, Anchors)> = None;
    for &ptx in stuck.suspects.iter().take(MOST_SUSPECTS) {
        let mut other = anchors.clone();
        if !other.reconsider(ptx) {
            continue;
        }
        let is_somewhere = !other.is_lost(ptx);
        let came = match Follower::new(graph, listing, &other, limit).follow(trace) {
            Ok(_) => u32::MAX,
            Err(stuck) => stuck.at,
        };
        if best.as_ref().is_none_or(|best| (is_somewhere, came) > best.0) {
            best = Some(((is_somewhere, came), ptx, other));
        }
    }
    best.map(|(_, ptx, other)| (ptx, other))
}

/// Lines of which one lane of a warp does the work of all: it is found with a vote, as the highest one.
fn elections(listing: &Listing) -> BTreeSet<u32> {
    let with = |bases: [&str; 2]| -> BTreeSet<u32> {
        let list = listing.instructions.iter().filter(|of| bases.contains(&of.base()));
        list.map(|of| of.line).collect()
    };
    with(["VOTEU", "VOTE"]).intersection(&with(["UFLO", "FLO"])).copied().collect()
}

/// What the machine code's instructions are in the order in which a warp executes them: first, behind the last, lanes.
pub type Sequence = Vec<(u32, u32, u32)>;

/// Steps of sequences that are kept; those of further warps are found again for each who asks.
const MOST_KEPT: usize = 1 << 22;

/// The sequence of blocks that a warp executes, each by so many lanes.
fn together(graph: &Graph, blocks: impl Iterator<Item = (u32, u32)>) -> Sequence {
    let mut sequence = Sequence::new();
    for (block, lanes) in blocks {
        let block = &graph.blocks[block as usize];
        match sequence.last_mut() {
            Some(last) if last.1 == block.first && last.2 == lanes => last.1 = block.end,
            _ => sequence.push((block.first, block.end, lanes)),
        }
    }
    sequence
}

/// Follows the ways of a launch through a kernel's machine code.
pub fn follow(listing: &Listing, ways: &Ways) -> Followed {
    follow_and(listing, ways, &Limit::default(), |_| {})
}

/// The same, which says nothing that is of use once the limit is over; if so many warps were followed that the others may be taken to be like them, `then` may ask for the sequence of
/// each of [`Ways::warps`]: that of one whose way was not found is empty.
pub fn follow_and(
    listing: &Listing,
    ways: &Ways,
    limit: &Limit,
    then: impl FnOnce(&dyn Fn(u32) -> Sequence),
) -> Followed {
    let nothing = Count { on: Some((0, 0)), ..Count::default() };
    let mut followed = Followed {
        counts: vec![nothing; listing.instructions.len()],
        warps: (0, ways.lost),
        unkept: ways.lost,
        work: (0, 0),
        guesses: 0,
        forced: 0,
    };
    if listing.instructions.is_empty() || anchors::is_foreign(listing, ways) {
        followed.warps.1 += ways.warps.iter().map(|(_, count)| count).sum::<u64>();
        return followed;
    }
    let graph = Graph::of(listing);
    let mut anchors = Anchors::of(listing, &graph, ways);
    // Ways that differ in turns of loops and in what takes them long alone are followed once.
    let mut runs: FxHashMap<&[ways::Run], usize> = FxHashMap::default();
    let mut traces: Vec<Vec<u32>> = Vec::new();
    let mut trace_of = Vec::with_capacity(ways.ways.len());
    for way in &ways.ways {
        let next = traces.len();
        let trace = *runs.entry(way).or_insert(next);
        if trace == next {
            traces.push(anchors.trace(way));
        }
        trace_of.push(trace);
    }
    let (follower, found) = paths(&graph, listing, &mut anchors, &traces, limit);
    let loops = Loops::of(listing, &graph, &ways.positions);
    let detours = Detours::of(listing, &graph, &ways.positions);
    let paths = trace_of.iter().enumerate().map(|(way, &trace)| {
        let turns = ways.turns.get(way).map_or(&[][..], |turns| turns);
        let long = ways.long.get(way).map_or(&[][..], |long| long);
        found[trace].as_ref().map(|path| detours.with_detours(loops.with_turns(path, turns), long))
    });
    let paths: Vec<Option<Cow<'_, Path>>> = paths.collect();
    let replay = Replay::new(&graph, listing, &follower);
    let nothing =
        || Counts { blocks: vec![Executed::default(); graph.blocks.len()], forced: 0, sequence: Vec::new() };
    let mut counts = nothing();
    // Of as many warps as are kept.
    let (mut sequences, mut kept) = (Vec::new(), 0);
    let path = |way: u32| paths.get(way.checked_sub(1)? as usize)?.as_deref();
    let lengths: Vec<u64> =
        ways.ways.iter().map(|way| way.iter().map(|&(first, end)| u64::from(end - first)).sum()).collect();
    for (number, (warp, times)) in ways.warps.iter().enumerate() {
        if limit.is_over() {
            return followed;
        }
        let each = warp.iter().filter_map(|&way| lengths.get(way.checked_sub(1)? as usize));
        let work = times * each.sum::<u64>();
        if warp.iter().any(|&way| way != 0 && path(way).is_none()) {
            followed.warps.1 += times;
            followed.work.1 += work;
            continue;
        }
        followed.warps.0 += times;
        followed.work.0 += work;
        let guesses: u64 = warp.iter().filter_map(|&way| path(way)).map(|path| path.guesses).sum();
        followed.guesses += times * guesses;
        let lanes: [&[Step]; 32] = warp.map(|way| path(way).map_or(&[][..], |path| &path.steps));
        replay.replay(lanes, *times, &mut counts);
        let sequence = together(&graph, counts.sequence.drain(..));
        kept += sequence.len();
        sequences.resize(number, None);
        sequences.extend((kept <= MOST_KEPT).then_some(Some(sequence)));
    }
    followed.forced = counts.forced;
    let elects = elections(listing);
    for (number, (block, executed)) in graph.blocks.iter().zip(&counts.blocks).enumerate() {
        for at in block.first..block.end {
            let of = &listing.instructions[at as usize];
            let last = at + 1 == block.end;
            let covers = follower.covers(number as u32);
            let ptx = anchors.block_of_line.get(&of.line);
            // Of several that it may do, one does not know which it does.
            let cover = covers.iter().position(|cover| cover.optional && Some(&cover.ptx) == ptx);
            let done = cover.and_then(|cover| {
                let known = covers[cover].times == 1 && executed.perhaps >> cover.min(31) & 1 == 0;
                known.then(|| executed.optional.get(cover).copied().unwrap_or_default())
            });
            let on = if of.guard.is_none() || of.has("DIV") {
                Some((executed.threads, executed.warps))
            } else if executed.warps == 0 {
                Some((0, 0))
            } else if !elects.is_empty()
                && (of.base().starts_with("RED") || of.base().starts_with("ATOM"))
                && done.is_none_or(|(threads, _)| elects.contains(&of.line) || threads == executed.threads)
            {
                // One lane does it for all that take part.
                let warps = done.map_or(executed.warps, |(_, warps)| warps);
                Some((warps, warps))
            } else if last && matches!(of.base(), "BRA" | "EXIT" | "CALL" | "RET" | "BRX") {
                (!of.chooses()).then_some((executed.taken, executed.taken_by))
            } else {
                done
            };
            let count = &mut followed.counts[at as usize];
            *count = Count {
                warps: executed.warps,
                threads: executed.threads,
                on,
                divergent: if last { executed.divergent } else { 0 },
            };
        }
    }
    followed.fill();
    if followed.is_known() {
        then(&|warp| {
            if let Some(Some(known)) = sequences.get(warp as usize) {
                return known.clone();
            }
            let Some((warp, _)) = ways.warps.get(warp as usize) else { return Sequence::new() };
            if warp.iter().any(|&way| way != 0 && path(way).is_none()) {
                return Sequence::new();
            }
            let lanes: [&[Step]; 32] = warp.map(|way| path(way).map_or(&[][..], |path| &path.steps));
            let mut counts = nothing();
            replay.replay(lanes, 1, &mut counts);
            together(&graph, counts.sequence.drain(..))
        });
    }
    followed
}

#[cfg(test)]
mod tests {
    use super::*;
    use ways::Position;

    /// PTX instructions, one a line from 1 on, with the ways of the lanes of one warp.
    fn ways(ops: &[&str], lanes: &[&[(u32, u32)]]) -> Ways {
        let positions = ops.iter().zip(1..).map(|(op, line)| Position { line, op: (*op).into() });
        let mut warp = [0; 32];
        (0..lanes.len()).for_each(|lane| warp[lane] = lane as u32 + 1);
        let ways = lanes.iter().map(|way| way.to_vec()).collect();
        Ways { ways, warps: vec![(warp, 1)], positions: positions.collect(), ..Ways::default() }
    }

    fn warps(listing: &str, ways: &Ways) -> (Vec<u64>, Followed) {
        let listing = listing::read(&format!("kernel k\n{listing}")).unwrap().remove("k").unwrap();
        let followed = follow(&listing, ways);
        (followed.counts.iter().map(|count| count.warps).collect(), followed)
    }

    #[test]
    fn an_unrolled_loop_takes_four_turns_at_once() {
        // mov; loop: ld; setp; bra loop; ret: with seven turns, and machine code for four at once and for one.
        let turns = |count: usize| [&[(0, 4)][..], &vec![(1, 4); count - 2], &[(1, 5)]].concat();
        let ptx = ["mov.u32", "ld.global.u32", "setp.ne.s32", "bra", "ret"];
        let code = "\
1 S2R SR_TID.X
0 @0 BRA +7
1 LDG.E
0 LDG.E
0 LDG.E
0 LDG.E
1 ISETP.GT.AND
1 @0 BRA -5
-1 @1 BRA +4
-1 LDG.E
1 ISETP.NE.AND
1 @1 BRA -2
1 EXIT
";
        let way = turns(7);
        let (counts, followed) = warps(code, &ways(&ptx, &[&way]));
        assert_eq!(followed.warps, (1, 0));
        assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 1]);
    }

    #[test]
    fn all_turns_of_a_loop_may_be_there_and_two_in_one_store() {
        // mov; loop: st of eight bytes; setp; bra loop; ld; ret: with four turns, and machine code for all of them.
        let ptx = ["mov.u32", "st.local.f64", "setp.ne.s32", "bra", "ld.global.u32", "ret"];
        let way = [(0, 4), (1, 4), (1, 4), (1, 6)];
        let code = "1 S2R SR_TID.X\n1 STL.128\n0 STL.128\n3 LDG.E\n1 EXIT\n";
        let (counts, followed) = warps(code, &ways(&ptx, &[&way]));
        assert_eq!((counts, followed.warps), (vec![1; 5], (1, 0)));
    }

    #[test]
    fn loads_that_are_made_again_say_nothing_of_where_one_is() {
        // ld; loop: st; setp; bra loop; ret: with three turns, in each of which the value is loaded again.
        let ptx = ["ld.global.nc.u32", "st.global.u32", "setp.ne.s32", "bra", "ret"];
        let way = [(0, 4), (1, 4), (1, 5)];
        let code = |first: &str| {
            format!("{first}\n1 STG.E\n-1 LDG.E.CONSTANT\n2 ISETP.NE.AND\n1 @0 BRA -3\n1 EXIT\n")
        };
        for (first, before) in [("1 LDG.E.CONSTANT", 1), ("1 S2R SR_TID.X", 1)] {
            let (counts, followed) = warps(&code(first), &ways(&ptx, &[&way]));
            assert_eq!((counts, followed.warps), (vec![before, 3, 3, 3, 3, 1], (1, 0)), "{first}");
        }
    }

    #[test]
    fn a_way_runs_round_no_loop_without_doing_something() {
        // Nothing in the machine code's loop says how often it is gone round, but for a store that is done once.
        let ptx = ["setp.ne.s32", "bra", "st.global.u32", "setp.ne.s32", "bra", "ret"];
        let code = "\
1 S2R SR_TID.X
0 @0 BRA +3
2 STG.E
0 MOV
0 MOV
0 @0 BRA -4
1 EXIT
";
        let (counts, followed) = warps(code, &ways(&ptx, &[&[(0, 5), (0, 2), (3, 6)]]));
        assert_eq!((followed.warps, counts[2]), ((1, 0), 1));
        assert_eq!(counts.iter().max(), Some(&1));
    }

    #[test]
    fn lanes_part_and_come_together_at_the_barrier() {
        // setp; bra; st; ret: one lane stores, the other does not.
        let ptx = ["setp.ne.s32", "bra", "st.global.u32", "ld.global.u32", "ret"];
        let code = "\
1 ISETP.NE.AND
1 BSSY B0 +4
0 @0 BRA +2
1 STG.E
0 BSYNC B0
1 LDG.E
1 EXIT
";
        let (counts, followed) = warps(code, &ways(&ptx, &[&[(0, 5)], &[(0, 2), (3, 5)]]));
        assert_eq!(counts, [1, 1, 1, 1, 2, 1, 1]);
        assert_eq!((followed.counts[2].divergent, followed.counts[3].threads), (1, 1));
        assert_eq!((followed.guesses, followed.forced), (0, 0));
    }

    #[test]
    fn guards_are_those_of_the_block_that_they_stand_for() {
        let ptx = ["setp.ne.s32", "bra", "st.global.u32", "ret"];
        let code = "1 ISETP.NE.AND\n2 @0 STG.E\n1 EXIT\n";
        let (_, followed) = warps(code, &ways(&ptx, &[&[(0, 4)], &[(0, 2), (3, 4)]]));
        assert_eq!(followed.counts[1].on, Some((1, 1)));
    }

    #[test]
    fn what_has_no_way_is_said() {
        // A store in the PTX that the machine code has elsewhere: it is executed on no way.
        let ptx = ["setp.ne.s32", "bra", "st.global.u32", "ret"];
        let code = "1 ISETP.NE.AND\n0 EXIT\n2 STG.E\n1 EXIT\n";
        let (_, followed) = warps(code, &ways(&ptx, &[&[(0, 4)]]));
        assert_eq!(followed.warps, (0, 1));
        let (_, followed) = warps("", &ways(&ptx, &[&[(0, 4)]]));
        assert_eq!(followed.warps, (0, 1));
    }

    #[test]
    fn machine_code_of_another_text_has_no_way() {
        // It loads and stores, too, but at lines at which the PTX adds, or has nothing.
        let ptx = ["ld.global.u32", "add.u32", "st.global.u32", "ret"];
        let way: &[(u32, u32)] = &[(0, 4)];
        let code =
            |lines: [u32; 3]| format!("{} LDG.E\n{} IADD3\n{} STG.E\n1 EXIT\n", lines[0], lines[1], lines[2]);
        let all = |lines| warps(&code(lines), &ways(&ptx, &[way])).1.warps;
        // Lines are relative to the one before.
        assert_eq!([all([1, 1, 1]), all([2, 1, 4])], [(1, 0), (0, 1)]);
    }

    #[test]
    fn warps_whose_way_is_not_found_are_like_most() {
        // Three warps pass a store; a fourth one executes it, which the machine code does nowhere.
        let ptx = ["setp.ne.s32", "bra", "st.global.u32", "ret"];
        let mut of = ways(&ptx, &[&[(0, 2), (3, 4)], &[(0, 4)]]);
        let warp = |way| [[way; 1].as_slice(), &[0; 31]].concat().try_into().unwrap();
        of.warps = vec![(warp(1), 3), (warp(2), 1)];
        let listing = listing::read("kernel k\n1 ISETP.NE.AND\n3 EXIT\n-1 STG.E\n1 EXIT\n").unwrap();
        let mut sequences = Vec::new();
        let followed = follow_and(&listing["k"], &of, &Limit::default(), |sequence| {
            sequences = vec![sequence(0), sequence(1)];
        });
        assert_eq!((followed.warps, followed.is_whole(), followed.is_known()), ((3, 1), false, true));
        assert_eq!(followed.counts[0].warps, 4);
        assert_eq!(sequences, [vec![(0, 2, 1)], vec![]]);
    }
}
