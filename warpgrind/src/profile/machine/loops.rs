//! Loops around a compare-and-swap that ptxas makes of atomic operations on shared memory. A way through machine code that does
//! what the PTX does goes round them once; how often a thread does is known from the words that the lanes of its warp change.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::follow::{Path, Step};
use super::graph::{Graph, Leave};
use super::listing::{Instruction, Listing};
use super::ways::{Position, Turns};

/// The loops of a kernel.
pub struct Loops {
    /// By the PTX line of the operation.
    of_line: HashMap<u32, Vec<Loop>>,
    /// By position of the PTX: its line.
    lines: Vec<u32>,
}

struct Loop {
    /// From that which reads the word to that which swaps it.
    blocks: Range<u32>,
    /// How many of the first of them one goes through who leaves in their middle.
    head: u32,
}

/// Whether an instruction is the compare-and-swap of such a loop.
pub fn swaps(of: &Instruction) -> bool {
    of.base() == "ATOMS" && of.has("CAST") && of.has("SPIN")
}

impl Loops {
    /// Of machine code, with what the positions of the PTX are.
    pub fn of(listing: &Listing, graph: &Graph, positions: &[Position]) -> Self {
        let mut of_line: HashMap<u32, Vec<Loop>> = HashMap::new();
        for (number, block) in (0..).zip(&graph.blocks) {
            let list = &listing.instructions[block.first as usize..block.end as usize];
            let Some(swap) = list.iter().find(|of| swaps(of)) else { continue };
            let Leave::To(to) = &block.leave else { continue };
            let Some(&first) = to.iter().find(|&&to| to <= number) else { continue };
            let leaves = |of: &u32| match &graph.blocks[*of as usize].leave {
                Leave::To(to) => to.iter().any(|to| !(first..=number).contains(to)),
                _ => true,
            };
            let head = (first..number).find(leaves).map_or(number - first, |at| at - first + 1);
            of_line.entry(swap.line).or_default().push(Loop { blocks: first..number + 1, head });
        }
        Loops { of_line, lines: positions.iter().map(|position| position.line).collect() }
    }

    /// A way with the turns of its loops.
    pub fn with_turns<'a>(&self, path: &'a Path, turns: &[Turns]) -> Cow<'a, Path> {
        if turns.is_empty() || self.of_line.is_empty() {
            return Cow::Borrowed(path);
        }
        let mut left: HashMap<u32, VecDeque<Turns>> = HashMap::new();
        for of in turns {
            let line = self.lines.get(of.position as usize).copied().unwrap_or(0);
            left.entry(line).or_default().push_back(*of);
        }
        let all: Vec<(u32, &Loop)> =
            self.of_line.iter().flat_map(|(line, list)| list.iter().map(|of| (*line, of))).collect();
        let mut steps = Vec::with_capacity(path.steps.len());
        let mut at = 0;
        while let Some(step) = path.steps.get(at) {
            let found = all.iter().find(|(_, of)| of.blocks.start == step.block);
            let next = found.and_then(|(line, of)| Some((of, left.get_mut(line)?.pop_front()?)));
            let Some((of, turns)) = next else {
                steps.push(*step);
                at += 1;
                continue;
            };
            let once = path.steps[at..].iter().take_while(|step| of.blocks.contains(&step.block)).count();
            let once = &path.steps[at..at + once.min(of.blocks.len())];
            at += once.len();
            let plain = |block| Step { block, done: 0, perhaps: 0 };
            let of_block =
                |block: u32| once.iter().find(|step| step.block == block).copied().unwrap_or(plain(block));
            for _ in 0..turns.swaps {
                steps.extend(of.blocks.clone().map(of_block));
            }
            if turns.leaves {
                steps.extend(of.blocks.clone().take(of.head as usize).map(of_block));
            }
        }
        Cow::Owned(Path { steps, guesses: path.guesses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::machine::listing;

    #[test]
    fn a_way_goes_round_as_often_as_is_known() {
        // A minimum: it reads, leaves if there is nothing to change, swaps, and tries again.
        let code = "\
kernel k
1 S2R SR_TID.X
1 LDS.64
0 @0 BRA +3
0 ATOMS.CAST.SPIN.64
0 @0 BRA -3
0 BSYNC B0
1 EXIT
";
        let listing = listing::read(code).unwrap().remove("k").unwrap();
        let graph = Graph::of(&listing);
        let positions = [1, 2, 3].map(|line| Position { line, op: "atom".into() });
        let loops = Loops::of(&listing, &graph, &positions);
        let step = |block| Step { block, done: 0, perhaps: 0 };
        let path = Path { steps: [0, 1, 3, 4].map(step).to_vec(), guesses: 0 };
        let blocks = |swaps, leaves| {
            let turns = [Turns { position: 1, swaps, leaves }];
            let way = loops.with_turns(&path, &turns);
            way.steps.iter().map(|step| step.block).collect::<Vec<_>>()
        };
        assert_eq!(blocks(2, false), [0, 1, 2, 1, 2, 3, 4]);
        assert_eq!(blocks(1, true), [0, 1, 2, 1, 3, 4]);
        assert_eq!(blocks(0, true), [0, 1, 3, 4]);
        assert_eq!(*loops.with_turns(&path, &[]), path);
    }
}
