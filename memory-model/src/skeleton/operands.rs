//! What instructions read and write, and which registers are still needed where.

use crate::program::{Access, Base, LocId, Observable, Op, Operand, Program, RegId, RmwOp};
use std::collections::BTreeSet;

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
        Op::Rmw { access, ops, .. } => {
            let of_scalar = |op: &RmwOp| match *op {
                RmwOp::Apply(_, a) => vec![a],
                RmwOp::Cas(a, b) => vec![a, b],
            };
            ops.iter().flat_map(of_scalar).chain(address(access)).collect()
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
        Op::Load { dst, .. } | Op::Rmw { dst, .. } => dst.clone(),
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

/// For each instruction of a thread (and the end) the registers whose values can still decide how any thread
/// goes on: which way a branch goes, what is accessed, which barrier is meant. What only ends up in final
/// values is not among them.
pub(crate) fn deciding_registers(program: &Program, thread: usize) -> Vec<Vec<bool>> {
    let deciding = Deciding::new(program);
    let mut live = live_registers(program, thread, &[]);
    for at in &mut live {
        for (register, live) in at.iter_mut().enumerate() {
            *live &= deciding.registers.contains(&(thread, register));
        }
    }
    live
}

/// Registers and memory that control flow depends on, wherever in the program.
struct Deciding<'a> {
    program: &'a Program,
    registers: BTreeSet<(usize, usize)>,
    /// Physical locations.
    memory: BTreeSet<LocId>,
}

impl<'a> Deciding<'a> {
    fn new(program: &'a Program) -> Self {
        let mut deciding = Self { program, registers: BTreeSet::new(), memory: BTreeSet::new() };
        loop {
            let before = (deciding.registers.len(), deciding.memory.len());
            for (thread, code) in program.threads.iter().map(|t| &t.code).enumerate() {
                code.iter().for_each(|instr| deciding.instruction(thread, &instr.op));
            }
            if before == (deciding.registers.len(), deciding.memory.len()) {
                return deciding;
            }
        }
    }

    fn need(&mut self, thread: usize, operand: Operand) {
        if let Operand::Reg(RegId(register)) = operand {
            self.registers.insert((thread, usize::from(register)));
        }
    }

    fn decides(&self, thread: usize, register: RegId) -> bool {
        self.registers.contains(&(thread, usize::from(register.0)))
    }

    /// The locations that an access may touch.
    fn touched(&self, access: &Access) -> Vec<LocId> {
        let locations = &self.program.locations;
        match access.base {
            Base::Loc(loc) => vec![locations[usize::from(loc.0)].physical],
            Base::Reg(_) => locations.iter().map(|l| l.physical).collect(),
        }
    }

    fn instruction(&mut self, thread: usize, op: &Op) {
        let access = match op {
            Op::Load { access, .. }
            | Op::Store { access, .. }
            | Op::Rmw { access, .. }
            | Op::MbarrierTest { access, .. } => Some(access),
            _ => None,
        };
        if let Some(Access { base: Base::Reg(register), .. }) = access {
            self.need(thread, Operand::Reg(*register));
        }
        let touched = access.map_or_else(Vec::new, |access| self.touched(access));
        let in_memory = touched.iter().any(|l| self.memory.contains(l));
        match op {
            Op::Branch { .. } | Op::Assume { .. } | Op::Bar { .. } => {
                operands(op).into_iter().for_each(|o| self.need(thread, o));
            }
            Op::Mov { dst, .. } | Op::Bin { dst, .. } if self.decides(thread, *dst) => {
                operands(op).into_iter().for_each(|o| self.need(thread, o));
            }
            Op::Load { dst, .. } if dst.iter().any(|&r| self.decides(thread, r)) => {
                self.memory.extend(touched);
            }
            Op::Store { src, .. } if in_memory => src.iter().for_each(|&o| self.need(thread, o)),
            // What is there decides whether a `cas` writes.
            Op::Rmw { dst, ops, .. }
                if in_memory
                    || matches!(ops[..], [RmwOp::Cas(..)])
                    || dst.iter().any(|&r| self.decides(thread, r)) =>
            {
                self.memory.extend(touched);
                operands(op).into_iter().for_each(|o| self.need(thread, o));
            }
            Op::MbarrierTest { parity, .. } => {
                self.memory.extend(touched);
                self.need(thread, *parity);
            }
            _ => {}
        }
    }
}
