//! Blocks of machine code, and how control goes from one to another.

use super::listing::{Instruction, Listing};

/// How control leaves a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Leave {
    /// To blocks of the same function: what follows first, if that is one.
    To(Vec<u32>),
    /// Into a function, which returns to the block behind; or past it.
    Call {
        /// Where the function begins.
        function: u32,
        /// The block behind.
        back: u32,
        /// Whether lanes may pass it.
        conditional: bool,
    },
    /// Back to the caller; or on to what follows.
    Return(Option<u32>),
    /// The thread ends; or goes on to what follows.
    Exit(Option<u32>),
}

/// Instructions that follow each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Index of the first one.
    pub first: u32,
    /// That behind the last one.
    pub end: u32,
    /// How control leaves it.
    pub leave: Leave,
}

/// The blocks of a kernel, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// The blocks; control begins in the first.
    pub blocks: Vec<Block>,
}

/// Whether a block ends behind an instruction.
fn ends(of: &Instruction) -> bool {
    matches!(
        of.base(),
        "BRA" | "BRX" | "JMP" | "JMX" | "CALL" | "RET" | "EXIT" | "BSYNC" | "WARPSYNC" | "KILL"
    )
}

impl Graph {
    /// Of a listing.
    pub fn of(listing: &Listing) -> Self {
        let list = &listing.instructions;
        let mut first = vec![false; list.len() + 1];
        first[0] = true;
        for (at, of) in list.iter().enumerate() {
            of.targets.iter().for_each(|&target| first[target as usize] = true);
            first[at + 1] |= ends(of);
        }
        let mut number = vec![0u32; list.len() + 1];
        let mut count = 0;
        for at in 0..=list.len() {
            count += u32::from(first[at] && at > 0);
            number[at] = count;
        }
        let starts: Vec<u32> = (0..list.len() as u32).filter(|&at| first[at as usize]).collect();
        let blocks = starts.iter().enumerate().map(|(at, &start)| {
            let end = starts.get(at + 1).copied().unwrap_or(list.len() as u32);
            let last = &list[end as usize - 1];
            let next = ((end as usize) < list.len()).then(|| number[end as usize]);
            let through = next.filter(|_| last.is_conditional());
            let targets = || last.targets.iter().map(|&target| number[target as usize]);
            let leave = match last.base() {
                "BRA" | "BRX" | "JMP" | "JMX" => {
                    let mut to: Vec<u32> = through.into_iter().chain(targets()).collect();
                    to.dedup();
                    Leave::To(to)
                }
                "CALL" => match (targets().next(), next) {
                    // What is called through a pointer is not known, and listed as the kernel itself.
                    (Some(function), Some(back)) if function != 0 => {
                        Leave::Call { function, back, conditional: last.is_conditional() }
                    }
                    _ => Leave::To(Vec::new()),
                },
                "RET" => Leave::Return(through),
                "EXIT" | "KILL" => Leave::Exit(through),
                _ => Leave::To(next.into_iter().collect()),
            };
            Block { first: start, end, leave }
        });
        Graph { blocks: blocks.collect() }
    }

    /// Whether a block is of no line of the PTX: ptxas brought it along.
    pub fn is_brought(&self, block: u32, listing: &Listing) -> bool {
        listing.instructions[self.blocks[block as usize].end as usize - 1].line == 0
    }

    /// By block: whether control may come back to it, but by calls.
    pub fn in_loops(&self) -> Vec<bool> {
        let to = |block: usize| match &self.blocks[block].leave {
            Leave::To(list) => list.clone(),
            Leave::Call { back, .. } => vec![*back],
            Leave::Return(through) | Leave::Exit(through) => through.iter().copied().collect(),
        };
        let count = self.blocks.len();
        let mut from = vec![Vec::new(); count];
        for block in 0..count {
            to(block).into_iter().for_each(|next| from[next as usize].push(block as u32));
        }
        // Blocks in the order in which all behind them is done.
        let (mut done, mut seen) = (Vec::with_capacity(count), vec![false; count]);
        for first in 0..count {
            let mut open = vec![(first as u32, false)];
            while let Some((block, is_over)) = open.pop() {
                if is_over {
                    done.push(block);
                } else if !std::mem::replace(&mut seen[block as usize], true) {
                    open.push((block, true));
                    open.extend(to(block as usize).into_iter().map(|next| (next, false)));
                }
            }
        }
        // Those that lead to each other, the last one of them at hand.
        let mut of: Vec<Option<u32>> = vec![None; count];
        let mut sizes = vec![0u32; count];
        for &last in done.iter().rev() {
            let mut open = vec![last];
            while let Some(block) = open.pop() {
                if of[block as usize].is_none() {
                    of[block as usize] = Some(last);
                    sizes[last as usize] += 1;
                    open.extend(&from[block as usize]);
                }
            }
        }
        let alone = |block: usize| of[block].is_none_or(|last| sizes[last as usize] < 2);
        (0..count).map(|block| !alone(block) || to(block).contains(&(block as u32))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_of_blocks() {
        let to = |list: &[u32]| Leave::To(list.to_vec());
        let leaves = [to(&[1]), to(&[2, 4]), to(&[1, 3]), to(&[3, 4]), Leave::Exit(None), to(&[4])];
        let blocks = leaves.into_iter().map(|leave| Block { first: 0, end: 1, leave });
        let graph = Graph { blocks: blocks.collect() };
        assert_eq!(graph.in_loops(), [false, true, true, true, false, false]);
        let call = Leave::Call { function: 1, back: 0, conditional: false };
        let blocks = vec![
            Block { first: 0, end: 1, leave: call },
            Block { first: 1, end: 2, leave: Leave::Return(None) },
        ];
        assert_eq!(Graph { blocks }.in_loops(), [true, false]);
    }
}
