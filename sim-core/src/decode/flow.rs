//! Control flow of a body: basic blocks and the order they are laid out in.
//!
//! The interpreter runs the lane group with the lowest position first, so groups meet again where
//! positions are in topological order and no block that leaves a loop stands before the loop's
//! blocks (thread frontiers; Diamos et al., MICRO 2011).

use ptx_frontend::{Body, Instruction, Module, Opcode, Operand};

use super::patience::Patience;

/// A run of instructions entered at the top and left at the bottom.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// First instruction.
    pub start: u32,
    /// One past the last instruction.
    pub end: u32,
    /// Blocks that may follow; the fall-through, if any, is the last.
    pub successors: Vec<u32>,
    /// Whether control can leave at the bottom into the next block of the text.
    pub falls_through: bool,
}

/// Blocks in order of the text, and the order of layout.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub blocks: Vec<Block>,
    /// Block of each instruction; one more entry for the end of the body.
    pub block_of: Vec<u32>,
    /// Reachable blocks in layout order; the first is the entry.
    pub order: Vec<u32>,
}

/// Instruction indices that a control instruction may jump to.
fn targets(body: &Body, inst: &Instruction) -> Vec<u32> {
    let mut to = Vec::new();
    for operand in body.operands(inst) {
        match *operand {
            Operand::Label(label) => to.push(body.labels[label.index()].target),
            Operand::BranchTargets(list) => to.extend(
                body.branch_targets[list.index()].iter().map(|label| body.labels[label.index()].target),
            ),
            _ => {}
        }
    }
    to
}

impl Flow {
    pub(crate) fn new<P: Patience>(module: &Module, body: &Body, patience: &P) -> Result<Flow, P::Ended> {
        let count = body.instructions.len();
        let mut leader = vec![false; count + 1];
        leader[0] = true;
        leader[count] = true;
        for label in &body.labels {
            leader[label.target as usize] = true;
        }
        let ends_block = |opcode: Opcode| {
            matches!(opcode, Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
        };
        for (at, inst) in body.instructions.iter().enumerate() {
            if ends_block(module.op(inst).opcode) {
                leader[at + 1] = true;
            }
        }
        let mut blocks = Vec::new();
        let mut block_of = vec![0; count + 1];
        let mut start = 0;
        for at in 0..=count {
            if at > start && leader[at] {
                blocks.push(Block {
                    start: start as u32,
                    end: at as u32,
                    successors: vec![],
                    falls_through: true,
                });
                start = at;
            }
            block_of[at] = blocks.len() as u32;
        }
        // The end of the body is an empty block: an implicit `ret`.
        blocks.push(Block {
            start: start as u32,
            end: count as u32,
            successors: vec![],
            falls_through: false,
        });
        for at in 0..blocks.len() {
            let block = &blocks[at];
            let Some(last) = block.end.checked_sub(1).filter(|_| block.end > block.start) else { continue };
            let inst = &body.instructions[last as usize];
            let mut successors = Vec::new();
            let mut falls = true;
            match module.op(inst).opcode {
                Opcode::Bra | Opcode::Brx => {
                    successors.extend(targets(body, inst).iter().map(|&to| block_of[to as usize]));
                    falls = inst.guard.is_some();
                }
                Opcode::Ret | Opcode::Exit | Opcode::Trap => falls = inst.guard.is_some(),
                _ => {}
            }
            if falls && at + 1 < blocks.len() {
                successors.push(at as u32 + 1);
            }
            patience.spend(1 + successors.len())?;
            let block = &mut blocks[at];
            block.falls_through = falls && at + 1 < block_of.len();
            block.successors = successors;
        }
        let order = layout(&blocks, patience)?;
        Ok(Flow { blocks, block_of, order })
    }
}

/// Reverse postorder in which loops stay together: successors inside the innermost loop are
/// visited last, so they come first.
fn layout<P: Patience>(blocks: &[Block], patience: &P) -> Result<Vec<u32>, P::Ended> {
    let first = reverse_postorder(blocks, |_| 0, patience)?;
    let depth = loop_depths(blocks, &first);
    reverse_postorder(blocks, |block| depth[block as usize], patience)
}

fn reverse_postorder<P: Patience>(
    blocks: &[Block],
    depth: impl Fn(u32) -> u32,
    patience: &P,
) -> Result<Vec<u32>, P::Ended> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    let sorted = |block: u32| {
        let mut next = blocks[block as usize].successors.clone();
        // Visited first is laid out last: leave loops first; among equals the textual order.
        next.sort_by_key(|&to| (depth(to), std::cmp::Reverse(to)));
        next
    };
    let mut stack = vec![(0u32, sorted(0), 0usize)];
    seen[0] = true;
    while let Some((block, next, at)) = stack.last_mut() {
        match next.get(*at) {
            Some(&to) => {
                *at += 1;
                if !std::mem::replace(&mut seen[to as usize], true) {
                    patience.spend(1 + blocks[to as usize].successors.len())?;
                    let successors = sorted(to);
                    stack.push((to, successors, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    Ok(order)
}

/// How many natural loops each block is in (approximately for irreducible flow).
fn loop_depths(blocks: &[Block], order: &[u32]) -> Vec<u32> {
    let mut position = vec![u32::MAX; blocks.len()];
    for (at, &block) in order.iter().enumerate() {
        position[block as usize] = at as u32;
    }
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for &block in order {
        for &to in &blocks[block as usize].successors {
            predecessors[to as usize].push(block);
        }
    }
    let mut depth = vec![0; blocks.len()];
    let mut work = 0usize;
    let mut mark = vec![u32::MAX; blocks.len()];
    for &header in order {
        let back: Vec<u32> = predecessors[header as usize]
            .iter()
            .copied()
            .filter(|&from| position[from as usize] >= position[header as usize])
            .collect();
        if back.is_empty() {
            continue;
        }
        // Blocks that reach a back edge without leaving through the header.
        mark[header as usize] = header;
        depth[header as usize] += 1;
        let mut stack = back;
        while let Some(block) = stack.pop() {
            if mark[block as usize] == header || position[block as usize] < position[header as usize] {
                continue;
            }
            mark[block as usize] = header;
            depth[block as usize] += 1;
            work += 1;
            stack.extend(&predecessors[block as usize]);
        }
        // Deeply nested hostile flow: order is only a matter of speed, so stop refining it.
        if work > 64 * blocks.len() + 4096 {
            break;
        }
    }
    depth
}
