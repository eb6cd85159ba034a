//! The long way of quotients, roots and reciprocals: ptxas brings a function along for operands that are no usual numbers, and a
//! branch calls it. A way through machine code that does what the PTX does leaves it out; who takes it is known from the operands.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::follow::{Path, Step};
use super::graph::{Graph, Leave};
use super::listing::Listing;
use super::ways::{Long, Position};

/// Blocks without a choice before the call, and behind it.
const STRAIGHT: usize = 4;

/// Blocks of a way through a function, at most, and blocks that are looked at for all of them.
const LONGEST: usize = 64;
const MOST_LOOKED: u32 = 1 << 14;

/// The calls of a kernel.
pub struct Detours {
    /// By the block that ends with the branch.
    of_block: HashMap<u32, Detour>,
    /// By position of the PTX: its line.
    lines: Vec<u32>,
}

struct Detour {
    /// The PTX line of the operation.
    line: u32,
    /// What is executed between the block and the next one of those who pass it: in general, and if zero is divided.
    blocks: Through,
    next: u32,
}

/// The ways through a function: the shortest one, and that of zero divided by a number. Operands whose result is known at once leave one
/// after the other, and compute nothing: of floats what is no number, then zeros, then infinities, so that it is the way with the
/// most blocks but one; of doubles, whose reciprocal is computed before that is asked, zeros and infinities leave last.
type Through = [Vec<u32>; 2];

impl Detours {
    /// Of machine code, with what the positions of the PTX are.
    pub fn of(listing: &Listing, graph: &Graph, positions: &[Position]) -> Self {
        let search = Search { listing, graph, through: HashMap::new() };
        let of_block = search.all();
        Detours { of_block, lines: positions.iter().map(|position| position.line).collect() }
    }

    /// A way with what takes it long.
    pub fn with_detours<'a>(&self, path: Cow<'a, Path>, long: &[Long]) -> Cow<'a, Path> {
        if long.is_empty() || self.of_block.is_empty() {
            return path;
        }
        let line = |of: &Long| self.lines.get(of.position as usize).copied().unwrap_or(0);
        let long: HashMap<(u32, u32), bool> =
            long.iter().map(|of| ((line(of), of.number), of.zero)).collect();
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut steps = Vec::with_capacity(path.steps.len());
        for (at, step) in path.steps.iter().enumerate() {
            steps.push(*step);
            let Some(detour) = self.of_block.get(&step.block) else { continue };
            let count = counts.entry(detour.line).or_default();
            let number = std::mem::replace(count, *count + 1);
            let zero = [Long::ALL, number].iter().find_map(|number| long.get(&(detour.line, *number)));
            let passes = path.steps.get(at + 1).is_some_and(|next| next.block == detour.next);
            if let Some(&zero) = zero.filter(|_| passes) {
                let blocks = detour.blocks[usize::from(zero)].iter();
                steps.extend(blocks.map(|&block| Step { block, done: 0, perhaps: 0 }));
            }
        }
        Cow::Owned(Path { steps, guesses: path.guesses })
    }
}

struct Search<'a> {
    listing: &'a Listing,
    graph: &'a Graph,
    /// The ways through each function, if there are any.
    through: HashMap<u32, Option<Through>>,
}

impl Search<'_> {
    fn all(mut self) -> HashMap<u32, Detour> {
        let mut found = HashMap::new();
        for (number, block) in (0..).zip(&self.graph.blocks) {
            let detour = match &block.leave {
                Leave::To(to) if to.len() == 2 => {
                    self.between(to[0], to[1]).or_else(|| self.between(to[1], to[0]))
                }
                &Leave::Call { function, back, conditional: true } => self.through(function).map(|blocks| {
                    let line = self.listing.instructions[block.end as usize - 1].line;
                    Detour { line, blocks, next: back }
                }),
                _ => None,
            };
            found.extend(detour.map(|detour| (number, detour)));
        }
        found
    }

    /// From a block straight to a call of a function that ptxas brought along, and on to another block.
    fn between(&mut self, first: u32, next: u32) -> Option<Detour> {
        let mut blocks = Vec::new();
        let mut at = first;
        let (line, back, through) = loop {
            let block = self.graph.blocks.get(at as usize)?;
            blocks.push(at);
            match &block.leave {
                &Leave::Call { function, back, conditional: false } => {
                    let line = self.listing.instructions[block.end as usize - 1].line;
                    break (line, back, self.through(function)?);
                }
                Leave::To(to) if to.len() == 1 && blocks.len() < STRAIGHT => at = to[0],
                _ => return None,
            }
        };
        let (mut at, mut behind) = (back, Vec::new());
        for _ in 0..STRAIGHT {
            if at == next {
                let blocks = through.map(|inside| [&blocks[..], &inside[..], &behind[..]].concat());
                return Some(Detour { line, blocks, next });
            }
            behind.push(at);
            match &self.graph.blocks.get(at as usize)?.leave {
                Leave::To(to) if to.len() == 1 => at = to[0],
                _ => return None,
            }
        }
        None
    }

    /// The ways through a function that ptxas brought along.
    fn through(&mut self, function: u32) -> Option<Through> {
        if !self.through.contains_key(&function) {
            let ways = self.shortest(function).map(|shortest| {
                let mut exits = BTreeMap::new();
                self.exits(&mut vec![function], &mut exits, &mut 0);
                let later = usize::from(!self.computes(function));
                let zero = exits.into_values().rev().nth(later).unwrap_or_else(|| shortest.clone());
                [shortest, zero]
            });
            self.through.insert(function, ways);
        }
        self.through[&function].clone()
    }

    /// The ways that go on from another one to the end of its function and compute no reciprocal, by how many blocks they have.
    fn exits(&self, way: &mut Vec<u32>, found: &mut BTreeMap<usize, Vec<u32>>, looked: &mut u32) {
        let Some(block) = way.last().and_then(|&last| self.graph.blocks.get(last as usize)) else { return };
        *looked += 1;
        let computes = way.len() > 1 && way.last().is_some_and(|&last| self.computes(last));
        if *looked > MOST_LOOKED || way.len() > LONGEST || computes {
            return;
        }
        match &block.leave {
            Leave::Return(_) => {
                found.entry(way.len()).or_insert_with(|| way.clone());
            }
            Leave::To(to) => {
                for &next in to {
                    if !way.contains(&next) {
                        way.push(next);
                        self.exits(way, found, looked);
                        way.pop();
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether a block computes a reciprocal, or with it.
    fn computes(&self, block: u32) -> bool {
        let block = &self.graph.blocks[block as usize];
        let list = &self.listing.instructions[block.first as usize..block.end as usize];
        list.iter().any(|of| matches!(of.base(), "MUFU" | "DMUL"))
    }

    fn shortest(&self, function: u32) -> Option<Vec<u32>> {
        let graph = self.graph;
        if graph.blocks.len() <= function as usize || !graph.is_brought(function, self.listing) {
            return None;
        }
        let length =
            |block: u32| u64::from(graph.blocks[block as usize].end - graph.blocks[block as usize].first);
        let mut from: HashMap<u32, u32> = HashMap::new();
        let mut heap = BinaryHeap::from([Reverse((length(function), function, function))]);
        while let Some(Reverse((cost, at, before))) = heap.pop() {
            if from.contains_key(&at) {
                continue;
            }
            from.insert(at, before);
            let to: Vec<u32> = match &graph.blocks[at as usize].leave {
                Leave::Return(_) => {
                    let mut way = vec![at];
                    while let Some(&before) = way.last().and_then(|last| from.get(last))
                        && way.last() != Some(&function)
                    {
                        way.push(before);
                    }
                    way.reverse();
                    return Some(way);
                }
                Leave::To(to) => to.clone(),
                Leave::Exit(through) => through.iter().copied().collect(),
                Leave::Call { .. } => Vec::new(),
            };
            heap.extend(to.into_iter().map(|to| Reverse((cost + length(to), to, at))));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::machine::listing;

    #[test]
    fn a_call_is_spliced_in_where_operands_want_it() {
        // A quotient at line 2 with a call behind a branch, twice; the function has a short way and a long one.
        let code = "\
kernel k
1 S2R SR_TID.X
1 FCHK
0 @0 BRA +4
0 MOV
0 CALL.REL.NOINC +4
0 MOV
1 STG.E
1 EXIT
-4 NOP
0 @0 BRA +4
0 @1 BRA +2
0 FFMA
0 FADD
0 RET.REL.NODEC
";
        let listing = listing::read(code).unwrap().remove("k").unwrap();
        let graph = Graph::of(&listing);
        let position = |line| Position { line, op: "div.rn.f32".into() };
        let detours = Detours::of(&listing, &graph, &[position(1), position(2)]);
        let plain = |block| Step { block, done: 0, perhaps: 0 };
        let path = Path { steps: [0, 3, 0, 3].map(plain).into(), guesses: 0 };
        let blocks = |long: &[Long]| -> Vec<u32> {
            detours.with_detours(Cow::Borrowed(&path), long).steps.iter().map(|step| step.block).collect()
        };
        let all: Vec<u32> = (0..graph.blocks.len() as u32).collect();
        assert_eq!(all.len(), 9, "{graph:?}");
        assert_eq!(blocks(&[]), [0, 3, 0, 3]);
        let long = |position, number, zero| [Long { position, number, zero }];
        assert_eq!(blocks(&long(1, 1, false)), [0, 3, 0, 1, 4, 8, 2, 3]);
        assert_eq!(blocks(&long(1, Long::ALL, false)), [0, 1, 4, 8, 2, 3, 0, 1, 4, 8, 2, 3]);
        assert_eq!(blocks(&long(1, 1, true)), [0, 3, 0, 1, 4, 5, 7, 8, 2, 3]);
        assert_eq!(blocks(&long(0, Long::ALL, false)), [0, 3, 0, 3]);
    }

    #[test]
    fn zeros_of_doubles_leave_last() {
        // Behind the reciprocal: what is computed, what is no number, what is neither of a pair of zeros, zero or infinity.
        let code = "\
kernel k
1 MUFU.RCP64H
0 @0 BRA +3
0 MOV
0 CALL.REL.NOINC +3
1 STG.E
1 EXIT
-3 MUFU.RCP64H
0 @0 BRA +3
0 DMUL
0 BRA +8
0 DSETP.NAN
0 @0 BRA +5
0 ISETP
0 @0 BRA +4
0 LOP3.LUT
0 BRA +2
0 LOP3.LUT
0 RET.REL.NODEC
";
        let listing = listing::read(code).unwrap().remove("k").unwrap();
        let graph = Graph::of(&listing);
        let detours = Detours::of(&listing, &graph, &[Position { line: 1, op: "div.rn.f64".into() }]);
        let lines: Vec<u32> = graph.blocks.iter().map(|block| block.first).collect();
        let [usual, zero] = &detours.of_block.values().next().unwrap_or_else(|| panic!("{graph:?}")).blocks;
        let of = |way: &[u32]| way.iter().map(|&block| lines[block as usize]).collect::<Vec<_>>();
        assert_eq!(of(usual), [2, 6, 8, 17], "{graph:?}");
        assert_eq!(of(zero), [2, 6, 10, 12, 14, 17]);
    }
}
