//! Whether stores may come between a `cp.async` and the wait for it. Nothing orders such a store and the copy; on a device the
//! copy, which fetches from global memory, comes last. So copies of such a body take effect again where they are waited for
//! ([`crate::ops`]'s `copy.rs`).

use ptx_frontend::{Body, Instruction, Modifier, Modifiers, Module, Opcode, Operand, StateSpace};

use super::flow::Flow;
use super::patience::Patience;

/// What an instruction is to copies under way.
enum Role {
    Copy,
    /// It waits for all.
    Wait,
    /// It may write to shared memory.
    Store,
    Other,
}

fn role(module: &Module, body: &Body, inst: &Instruction) -> Role {
    let op = module.op(inst);
    match op.opcode {
        Opcode::Cp if op.has(Modifier::Bulk) || !op.has(Modifier::Async) => Role::Other,
        Opcode::Cp if op.has(Modifier::WaitAll) => Role::Wait,
        Opcode::Cp if op.has(Modifier::WaitGroup) => match body.operands(inst) {
            [Operand::Integer(0)] => Role::Wait,
            _ => Role::Other,
        },
        Opcode::Cp if op.has(Modifier::CommitGroup) || op.has(Modifier::Mbarrier) => Role::Other,
        Opcode::Cp => Role::Copy,
        Opcode::St | Opcode::Stmatrix | Opcode::Atom | Opcode::Red
            if matches!(op.space(), StateSpace::Shared | StateSpace::SharedCluster | StateSpace::Generic) =>
        {
            Role::Store
        }
        Opcode::Call => Role::Store,
        _ => Role::Other,
    }
}

/// Whether a body has a way from a copy to a store that does not wait for the copy.
pub(super) fn stores_under_copies<P: Patience>(
    module: &Module,
    body: &Body,
    flow: &Flow,
    patience: &P,
) -> Result<bool, P::Ended> {
    let copies = |inst: &Instruction| matches!(role(module, body, inst), Role::Copy);
    if !body.instructions.iter().any(copies) {
        return Ok(false);
    }
    // Whether a copy may be under way where a block begins.
    let mut under_way = vec![false; flow.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &flow.order {
            let of = &flow.blocks[block as usize];
            patience.spend((of.end - of.start) as usize)?;
            let mut now = under_way[block as usize];
            for inst in &body.instructions[of.start as usize..of.end as usize] {
                match role(module, body, inst) {
                    Role::Copy => now = true,
                    Role::Wait if inst.guard.is_none() => now = false,
                    Role::Store if now => return Ok(true),
                    _ => {}
                }
            }
            for &next in &of.successors {
                changed |= now && !std::mem::replace(&mut under_way[next as usize], true);
            }
        }
    }
    Ok(false)
}
