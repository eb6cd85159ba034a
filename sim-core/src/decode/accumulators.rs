//! Which instructions touch registers of `wgmma.mma_async` where that may be wrong (ISA 9.7.15.7): while an operation is not
//! waited for, or with no `wgmma.fence` on the way to one. The machine is told of those alone, and decides; where a kernel
//! is right there are hardly any.

use ptx_frontend::{Body, Instruction, Modifier, Modifiers, Module, Opcode, Operand, RegId};
use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::liveness::Uses;
use super::patience::Patience;
use crate::code::{Touch, TouchKind};

/// Bits of all blocks above which a body is not looked at: it would take too long.
const MOST: usize = 1 << 24;

/// What an instruction is to these registers.
enum Role {
    /// `wgmma.mma_async`
    Multiply,
    /// `wgmma.fence`
    Fence,
    /// `wgmma.wait_group 0`
    WaitForAll,
    /// `mov` from one to another: the value keeps what is known of it.
    Copy(usize, usize),
    Other,
}

/// The registers of a function that `wgmma` multiplies or adds to, by number, and who touches them.
#[derive(Default)]
pub(super) struct Accumulators {
    /// Numbers from 0.
    numbers: FxHashMap<RegId, usize>,
    /// In order of their numbers.
    pub(super) registers: Vec<RegId>,
    /// What is to be told before an instruction.
    pub(super) touches: FxHashMap<u32, Vec<Touch>>,
}

/// A set of numbers.
type Set = Box<[u64]>;

fn has(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 != 0
}

fn put(set: &mut [u64], at: usize, value: bool) {
    let bit = 1 << (at % 64);
    set[at / 64] = set[at / 64] & !bit | if value { bit } else { 0 };
}

/// Adds a set to another; whether that changed it.
fn join(to: &mut [u64], from: &[u64]) -> bool {
    to.iter_mut().zip(from).fold(false, |changed, (to, from)| {
        let before = std::mem::replace(to, *to | from);
        changed | (before != *to)
    })
}

impl Accumulators {
    pub(super) fn new<P: Patience>(
        module: &Module,
        body: &Body,
        flow: &Flow,
        patience: &P,
    ) -> Result<Self, P::Ended> {
        let mut all = Accumulators::default();
        for inst in body.instructions.iter().filter(|inst| multiplies(module, inst)) {
            for register in operands(body, inst) {
                let next = all.registers.len();
                if *all.numbers.entry(register).or_insert(next) == next {
                    all.registers.push(register);
                }
            }
        }
        let words = all.registers.len().div_ceil(64);
        if all.registers.is_empty() || 64 * words * flow.blocks.len() > MOST {
            return Ok(Accumulators::default());
        }
        let pending = all.pending(module, body, flow, words, patience)?;
        let exposed = all.exposed(module, body, flow, words, patience)?;
        for &block in &flow.order {
            let range = flow.blocks[block as usize].start..flow.blocks[block as usize].end;
            patience.spend(range.len() * words)?;
            // What is exposed behind each instruction, from the last on.
            let mut behind: Vec<Set> = Vec::with_capacity(range.len());
            let mut now = exposed[block as usize].clone();
            for at in range.clone().rev() {
                behind.push(now.clone());
                all.back_through(module, body, at, &mut now);
            }
            let mut now = pending[block as usize].clone();
            for (at, behind) in range.zip(behind.iter().rev()) {
                let touches = all.told(module, body, at, &now, behind);
                if !touches.is_empty() {
                    all.touches.insert(at, touches);
                }
                all.through(module, body, at, &mut now);
            }
        }
        Ok(all)
    }

    /// The number of a register.
    pub(super) fn number(&self, register: RegId) -> Option<u32> {
        self.numbers.get(&register).map(|&number| number as u32)
    }

    fn role(&self, module: &Module, body: &Body, inst: &Instruction) -> Role {
        let op = module.op(inst);
        match (op.opcode, body.operands(inst)) {
            (Opcode::Wgmma, _) if op.has(Modifier::Fence) => Role::Fence,
            (Opcode::Wgmma, [Operand::Integer(0)]) => Role::WaitForAll,
            (Opcode::Wgmma, [_, _, ..]) => Role::Multiply,
            (Opcode::Mov, [Operand::Register(to), Operand::Register(from)]) => {
                match (self.numbers.get(to), self.numbers.get(from)) {
                    (Some(&to), Some(&from)) => Role::Copy(to, from),
                    _ => Role::Other,
                }
            }
            _ => Role::Other,
        }
    }

    /// What may be in use by an operation behind an instruction, from what is before it.
    fn through(&self, module: &Module, body: &Body, at: u32, now: &mut [u64]) {
        let inst = &body.instructions[at as usize];
        match self.role(module, body, inst) {
            Role::Multiply => {
                operands(body, inst).for_each(|register| put(now, self.numbers[&register], true))
            }
            Role::WaitForAll if inst.guard.is_none() => now.fill(0),
            Role::Copy(to, from) => {
                let value = has(now, from) || inst.guard.is_some() && has(now, to);
                put(now, to, value);
            }
            _ => {}
        }
    }

    /// What an operation may use with no fence before it, before an instruction, from what is behind it.
    fn back_through(&self, module: &Module, body: &Body, at: u32, now: &mut [u64]) {
        let inst = &body.instructions[at as usize];
        match self.role(module, body, inst) {
            Role::Multiply => {
                operands(body, inst).for_each(|register| put(now, self.numbers[&register], true))
            }
            Role::Fence if inst.guard.is_none() => now.fill(0),
            Role::Copy(to, from) if has(now, to) => put(now, from, true),
            _ => {}
        }
    }

    /// [`Self::through`] to a fixed point: sets where blocks begin.
    fn pending<P: Patience>(
        &self,
        module: &Module,
        body: &Body,
        flow: &Flow,
        words: usize,
        patience: &P,
    ) -> Result<Vec<Set>, P::Ended> {
        let mut sets = vec![vec![0; words].into_boxed_slice(); flow.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &flow.order {
                let of = &flow.blocks[block as usize];
                patience.spend((of.end - of.start) as usize + (1 + of.successors.len()) * words)?;
                let mut now = sets[block as usize].clone();
                (of.start..of.end).for_each(|at| self.through(module, body, at, &mut now));
                for &next in &of.successors {
                    changed |= join(&mut sets[next as usize], &now);
                }
            }
        }
        Ok(sets)
    }

    /// [`Self::back_through`] to a fixed point: sets where blocks end.
    fn exposed<P: Patience>(
        &self,
        module: &Module,
        body: &Body,
        flow: &Flow,
        words: usize,
        patience: &P,
    ) -> Result<Vec<Set>, P::Ended> {
        let blocks = flow.blocks.len();
        let mut starts: Vec<Set> = vec![vec![0; words].into_boxed_slice(); blocks];
        let mut ends = starts.clone();
        let mut changed = true;
        while changed {
            changed = false;
            for &block in flow.order.iter().rev() {
                let of = &flow.blocks[block as usize];
                patience.spend((of.end - of.start) as usize + (1 + of.successors.len()) * words)?;
                for &next in &of.successors {
                    join(&mut ends[block as usize], &starts[next as usize]);
                }
                let mut now = ends[block as usize].clone();
                (of.start..of.end).rev().for_each(|at| self.back_through(module, body, at, &mut now));
                changed |= join(&mut starts[block as usize], &now);
            }
        }
        Ok(ends)
    }

    /// What is told of an instruction, with what may be in use before it and what is exposed behind it.
    fn told(&self, module: &Module, body: &Body, at: u32, pending: &[u64], exposed: &[u64]) -> Vec<Touch> {
        let inst = &body.instructions[at as usize];
        match self.role(module, body, inst) {
            Role::Copy(to, from) => {
                let told = [to, from].into_iter().any(|at| has(pending, at)) || has(exposed, to);
                let touch = Touch { register: to as u32, kind: TouchKind::Copy(from as u32) };
                return if told { vec![touch] } else { Vec::new() };
            }
            Role::Other => {}
            _ => return Vec::new(),
        }
        let mut uses = Uses::default();
        uses.collect(module, body, inst);
        let of = |list: &[RegId], kind: TouchKind| {
            let numbers = list.iter().filter_map(|register| self.numbers.get(register));
            let told = numbers.filter(|&&at| has(pending, at) || has(exposed, at));
            told.map(|&at| Touch { register: at as u32, kind }).collect::<Vec<_>>()
        };
        let mut touches = of(&uses.reads, TouchKind::Read);
        touches.extend(of(&uses.writes, TouchKind::Write));
        touches
    }
}

fn multiplies(module: &Module, inst: &Instruction) -> bool {
    let op = module.op(inst);
    op.opcode == Opcode::Wgmma && op.effects.accumulates()
}

/// The registers of D and A.
fn operands<'a>(body: &'a Body, inst: &Instruction) -> impl Iterator<Item = RegId> + 'a {
    let lists = body.operands(inst).iter().take(2).filter_map(|operand| match operand {
        Operand::Vector(list) => Some(body.elements(*list)),
        _ => None,
    });
    lists.flatten().filter_map(|operand| match operand {
        Operand::Register(register) => Some(*register),
        _ => None,
    })
}
