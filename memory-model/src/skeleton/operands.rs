//! What instructions read and write, and which registers are still needed where.

use crate::program::{Access, Base, LocId, Observable, Op, Operand, Program, RegId, RmwOp};

/// Locations whose address the program uses as a value.
pub(super) fn addresses_taken(program: &Program) -> Vec<LocId> {
    let mut out = Vec::new();
    let mut note = |operand: &Operand| {
        if let Operand::Address(loc) = *operand
            && !out.contains(&loc)
        {
            out.push(loc);
        }
    };
    program.locations.iter().for_each(|l| note(&l.initial));
    for thread in &program.threads {
        thread.initial.iter().for_each(&mut note);
        for instr in &thread.code {
            operands(&instr.op).iter().for_each(&mut note);
        }
    }
    out
}

/// The source operands of an instruction.
fn operands(op: &Op) -> Vec<Operand> {
    let address = |access: &Access| match access.base {
        Base::Reg(r) => Some(Operand::Reg(r)),
        Base::Loc(_) => None,
    };
    match op {
        Op::Mov { src, .. } => vec![*src],
        Op::Bin { a, b, .. } | Op::Branch { a, b, .. } | Op::Assume { a, b, .. } => vec![*a, *b],
        Op::Load { access, .. } => address(access).into_iter().collect(),
        Op::Store { access, src } => src.iter().copied().chain(address(access)).collect(),
        Op::Rmw { access, op, .. } => {
            let operands = match *op {
                RmwOp::Apply(_, a) => vec![a],
                RmwOp::Cas(a, b) => vec![a, b],
            };
            operands.into_iter().chain(address(access)).collect()
        }
        Op::MbarrierTest { access, parity, .. } => [*parity].into_iter().chain(address(access)).collect(),
        Op::Bar { id, count, .. } => id.iter().chain(count).copied().collect(),
        Op::Fence { .. }
        | Op::ProxyFence(_)
        | Op::ClusterArrive { .. }
        | Op::ClusterWait
        | Op::Goto { .. } => Vec::new(),
    }
}

fn destinations(op: &Op) -> Vec<RegId> {
    match op {
        Op::Mov { dst, .. } | Op::Bin { dst, .. } | Op::MbarrierTest { dst, .. } => vec![*dst],
        Op::Load { dst, .. } => dst.clone(),
        Op::Rmw { dst, .. } => dst.iter().copied().collect(),
        _ => Vec::new(),
    }
}

/// For each instruction (and the end) the registers whose values are still needed there.
pub(super) fn live_registers(program: &Program, thread: usize, observed: &[Observable]) -> Vec<Vec<bool>> {
    let thread_code = &program.threads[thread].code;
    let registers = program.threads[thread].registers.len();
    let mut live = vec![vec![false; registers]; thread_code.len() + 1];
    for v in observed {
        if let Observable::Reg(t, RegId(r)) = *v
            && t == thread
            && let Some(slot) = live[thread_code.len()].get_mut(usize::from(r))
        {
            *slot = true;
        }
    }
    loop {
        let mut changed = false;
        for pc in (0..thread_code.len()).rev() {
            let op = &thread_code[pc].op;
            let mut now = match op {
                Op::Goto { target } => live[(*target).min(thread_code.len())].clone(),
                Op::Branch { target, .. } => {
                    let taken = &live[(*target).min(thread_code.len())];
                    live[pc + 1].iter().zip(taken).map(|(a, b)| *a || *b).collect()
                }
                _ => live[pc + 1].clone(),
            };
            for dst in destinations(op) {
                now[usize::from(dst.0)] = false;
            }
            for operand in operands(op) {
                if let Operand::Reg(r) = operand {
                    now[usize::from(r.0)] = true;
                }
            }
            if now != live[pc] {
                live[pc] = now;
                changed = true;
            }
        }
        if !changed {
            return live;
        }
    }
}
