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
}
