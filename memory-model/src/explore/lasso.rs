//! Executions that go round for ever: cycles of sequentially consistent states.
//!
//! Loops that only wait are ends of paths (see [`crate::skeleton`]); loops that write are not, however often they
//! are unrolled. Here the program is run in every order of its steps with memory that everybody sees at once. A
//! set of states that reach each other is an execution that never ends, and a weakly fair one if each thread that
//! is scheduled fairly takes a step in it. Under strong fairness it must be a set that no fair step leaves. Every
//! model here allows what sequential consistency allows, so such a cycle settles the question; that there is none
//! settles it for sequential consistency.

use super::scheduler::{Fairness, Scheduler, Unit};
use crate::program::{
    Access, Base, BinOp, LocId, Op, Operand, Placement, Program, RegId, RmwOp, Thread, address_value,
};
use crate::skeleton::{Skeleton, deciding_registers};
use crate::until::Until;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt;

/// Most states that are visited.
const MAX_STATES: usize = 100_000;
/// Most instructions of one step that touch no memory.
const MAX_LOCAL: usize = 10_000;

/// What goes round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// For each thread that takes part: its number and the lines of what it repeats, ascending.
    pub threads: Vec<(u32, Vec<u32>)>,
}

/// What a search for an execution that never ends came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endless {
    /// There is one.
    Cycle(Cycle),
    /// There is none.
    None,
    /// None was found, and not all states were visited; why.
    Unknown(&'static str),
}

/// Looks for a cycle of sequentially consistent states that the scheduler lets go on for ever.
pub fn endless(program: &Program, skeleton: &Skeleton, scheduler: Scheduler, until: &Until) -> Endless {
    let barrier = |op: &Op| matches!(op, Op::Bar { .. } | Op::ClusterArrive { .. } | Op::ClusterWait);
    if program.threads.iter().flat_map(|t| &t.code).any(|i| barrier(&i.op)) {
        return Endless::Unknown("states of barriers are not searched");
    }
    let machine = Machine::new(program, skeleton, scheduler);
    if machine.units.iter().any(|&unit| unit >= 64) {
        return Endless::Unknown("more than 64 units are scheduled");
    }
    let graph = Graph::explore(&machine, until);
    let component = match scheduler.fairness {
        Fairness::Weak => graph.weakly_fair_component(),
        Fairness::Strong => graph.strongly_fair_component(),
    };
    match (component, graph.complete) {
        (Some(component), _) => Endless::Cycle(graph.cycle(program, &component)),
        (None, true) => Endless::None,
        (None, false) => Endless::Unknown("there are too many states"),
    }
}

/// Program counters, the units that have made a step, registers and memory, in this order.
type State = Box<[i64]>;

struct Machine<'a> {
    program: &'a Program,
    /// Of each physical location: its first byte in memory, and its size.
    places: Vec<(usize, u32)>,
    memory_bytes: usize,
    /// First register of each thread in the state.
    registers: Vec<usize>,
    /// First word of memory in the state.
    memory_start: usize,
    /// By thread and instruction: registers that matter.
    live: Vec<Vec<Vec<bool>>>,
    scheduler: Scheduler,
    /// Of each thread the number of the unit that it is scheduled with.
    units: Vec<u32>,
}

/// A state taken apart.
struct Parts {
    pcs: Vec<usize>,
    started: i64,
    registers: Vec<i64>,
    memory: Vec<u8>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a Program, skeleton: &Skeleton, scheduler: Scheduler) -> Self {
        let mut places = vec![(0, 0); program.locations.len()];
        let mut memory_bytes = 0;
        for (index, place) in places.iter_mut().enumerate() {
            let of_location = skeleton.cells.iter().filter(|c| usize::from(c.physical.0) == index);
            let size = of_location.map(|c| c.offset + c.bytes).max().unwrap_or(0);
            *place = (memory_bytes, size);
            memory_bytes += (size as usize).next_multiple_of(8);
        }
        let mut registers = Vec::new();
        let mut next = program.threads.len() + 1;
        for thread in &program.threads {
            registers.push(next);
            next += thread.registers.len();
        }
        let live = (0..program.threads.len()).map(|t| deciding_registers(program, t)).collect();
        let units = units(program, scheduler.unit);
        Self { program, places, memory_bytes, registers, memory_start: next, live, scheduler, units }
    }

    fn initial(&self) -> State {
        let mut memory = vec![0; self.memory_bytes];
        for (location, &(start, size)) in self.program.locations.iter().zip(&self.places) {
            let bytes = constant(location.initial).to_le_bytes();
            let count = bytes.len().min(size as usize);
            memory[start..start + count].copy_from_slice(&bytes[..count]);
        }
        let threads = &self.program.threads;
        let registers = threads.iter().flat_map(|t| t.initial.iter().map(|&o| constant(o))).collect();
        self.pack(&Parts { pcs: vec![0; threads.len()], started: 0, registers, memory })
    }

    /// Registers that decide nothing any more do not tell states apart.
    fn pack(&self, parts: &Parts) -> State {
        let mut out: Vec<i64> = parts.pcs.iter().map(|&pc| pc as i64).collect();
        out.push(parts.started);
        let first = out.len();
        for (t, &pc) in parts.pcs.iter().enumerate() {
            let from = self.registers[t] - first;
            let live = &self.live[t][pc];
            out.extend(live.iter().zip(&parts.registers[from..]).map(|(&live, &v)| if live { v } else { 0 }));
        }
        let (words, _) = parts.memory.as_chunks::<8>();
        out.extend(words.iter().map(|w| i64::from_le_bytes(*w)));
        out.into()
    }

    fn unpack(&self, state: &State) -> Parts {
        let threads = self.program.threads.len();
        Parts {
            pcs: state[..threads].iter().map(|&pc| pc as usize).collect(),
            started: state[threads],
            registers: state[threads + 1..self.memory_start].to_vec(),
            memory: state[self.memory_start..].iter().flat_map(|w| w.to_le_bytes()).collect(),
        }
    }

    fn done(&self, state: &State, thread: usize) -> bool {
        state[thread] as usize >= self.program.threads[thread].code.len()
    }

    /// Which threads the scheduler is fair to in a state: those of units that it is fair to, but for those that have
    /// ended.
    fn fair(&self, state: &State) -> Vec<bool> {
        let threads = 0..self.program.threads.len();
        let alive =
            threads.clone().filter(|&t| !self.done(state, t)).fold(0, |all, t| all | 1 << self.units[t]);
        let fair = self.scheduler.fair(alive, state[self.program.threads.len()] as u64);
        threads.map(|t| !self.done(state, t) && fair >> self.units[t] & 1 == 1).collect()
    }

    /// Runs a thread up to and including its next access to memory or jump backwards; `None` if its execution
    /// does not count or has no meaning. Adds the instructions run to `ran`.
    fn step(&self, state: &State, thread: usize, ran: &mut Vec<usize>) -> Option<State> {
        let mut parts = self.unpack(state);
        if self.scheduler.remembers() {
            parts.started |= 1 << self.units[thread];
        }
        let code = &self.program.threads[thread].code;
        for _ in 0..MAX_LOCAL {
            let pc = parts.pcs[thread];
            let Some(instruction) = code.get(pc) else { break };
            ran.push(pc);
            parts.pcs[thread] = pc + 1;
            let mut run = Run { machine: self, parts: &mut parts, thread };
            match &instruction.op {
                Op::Mov { dst, src } => run.set(*dst, run.value(*src)),
                Op::Bin { op, dst, a, b } => run.set(*dst, op.eval(run.value(*a), run.value(*b))),
                Op::Branch { cmp, a, b, target } => {
                    if cmp.eval(run.value(*a), run.value(*b)) {
                        parts.pcs[thread] = *target;
                    }
                }
                Op::Goto { target } => parts.pcs[thread] = *target,
                Op::Assume { cmp, a, b } => {
                    if !cmp.eval(run.value(*a), run.value(*b)) {
                        return None;
                    }
                }
                op => {
                    if run.memory(op)? {
                        break;
                    }
                }
            }
            if parts.pcs[thread] <= pc {
                break;
            }
        }
        Some(self.pack(&parts))
    }
}

/// Of each thread the number of its unit, by the order of the first threads of the units.
fn units(program: &Program, unit: Unit) -> Vec<u32> {
    let mut known: Vec<Placement> = Vec::new();
    let number = |(at, thread): (usize, &Thread)| match unit {
        Unit::Thread => at as u32,
        Unit::Block => known.iter().position(|&place| place == thread.placement).unwrap_or_else(|| {
            known.push(thread.placement);
            known.len() - 1
        }) as u32,
    };
    program.threads.iter().enumerate().map(number).collect()
}

fn constant(operand: Operand) -> i64 {
    match operand {
        Operand::Const(c) => c,
        Operand::Address(loc) => address_value(loc),
        Operand::Reg(_) => 0,
    }
}

/// One thread at work on a state.
struct Run<'m, 'a> {
    machine: &'m Machine<'a>,
    parts: &'m mut Parts,
    thread: usize,
}

impl Run<'_, '_> {
    fn slot(&self, register: RegId) -> usize {
        self.machine.registers[self.thread] - self.machine.program.threads.len() - 1 + usize::from(register.0)
    }

    fn value(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Reg(register) => self.parts.registers[self.slot(register)],
            other => constant(other),
        }
    }

    fn set(&mut self, register: RegId, value: i64) {
        let slot = self.slot(register);
        self.parts.registers[slot] = value;
    }

    /// The bytes of an element of an access; `None` for an address that is that of no location.
    fn bytes(&mut self, access: &Access, element: u32) -> Option<&mut [u8]> {
        let program = self.machine.program;
        let location = match access.base {
            Base::Loc(location) => location,
            Base::Reg(register) => {
                let address = self.value(Operand::Reg(register));
                let index = (0..program.locations.len()).find(|&l| address_value(LocId(l as u16)) == address);
                LocId(index? as u16)
            }
        };
        let physical = program.locations[usize::from(location.0)].physical;
        let (start, size) = self.machine.places[usize::from(physical.0)];
        let offset = access.offset + element * access.bytes.map_or(0, u32::from);
        let count = access.bytes.map_or_else(|| size.saturating_sub(offset).min(8), u32::from);
        let at = start + offset as usize;
        self.parts.memory.get_mut(at..at + count as usize)
    }

    fn load(&mut self, access: &Access, element: u32) -> Option<i64> {
        let bytes = self.bytes(access, element)?;
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        Some(i64::from_le_bytes(all))
    }

    fn store(&mut self, access: &Access, element: u32, value: i64) -> Option<()> {
        let bytes = self.bytes(access, element)?;
        let count = bytes.len();
        bytes.copy_from_slice(&value.to_le_bytes()[..count]);
        Some(())
    }

    /// Whether the instruction accesses memory, which it then has done.
    fn memory(&mut self, op: &Op) -> Option<bool> {
        match op {
            Op::Load { dst, access } => {
                for (element, &dst) in (0..).zip(dst) {
                    let value = self.load(access, element)?;
                    self.set(dst, value);
                }
            }
            Op::Store { access, src } => {
                for (element, &src) in (0..).zip(src) {
                    self.store(access, element, self.value(src))?;
                }
            }
            Op::Rmw { dst, access, ops } => {
                let mut read = Vec::with_capacity(ops.len());
                for (element, &op) in (0..).zip(ops) {
                    let old = self.load(access, element)?;
                    let new = match op {
                        RmwOp::Apply(op, operand) => Some(op.eval(old, self.value(operand))),
                        RmwOp::Cas(expected, new) => (old == self.value(expected)).then(|| self.value(new)),
                    };
                    if let Some(new) = new {
                        self.store(access, element, new)?;
                    }
                    read.push(old);
                }
                dst.iter().zip(read).for_each(|(&dst, old)| self.set(dst, old));
            }
            Op::MbarrierTest { dst, access, parity } => {
                let state = self.load(access, 0)?;
                self.set(*dst, BinOp::MbarrierTest.eval(state, self.value(*parity)));
            }
            _ => return Some(false),
        }
        Some(true)
    }
}

/// A step of a thread from one state to another.
struct Step {
    thread: usize,
    to: usize,
}

struct Graph<'m, 'a> {
    machine: &'m Machine<'a>,
    states: Vec<State>,
    steps: Vec<Vec<Step>>,
    /// Whether every step of every state is there.
    complete: bool,
}

impl<'m, 'a> Graph<'m, 'a> {
    fn explore(machine: &'m Machine<'a>, until: &Until) -> Self {
        let mut graph = Graph { machine, states: vec![machine.initial()], steps: Vec::new(), complete: true };
        let mut known: FxHashMap<State, usize> = FxHashMap::default();
        known.insert(graph.states[0].clone(), 0);
        let mut ran = Vec::new();
        while graph.steps.len() < graph.states.len() {
            if graph.steps.len().is_multiple_of(1024) && until.is_over() {
                graph.complete = false;
                break;
            }
            let state = graph.states[graph.steps.len()].clone();
            let mut steps = Vec::new();
            for thread in (0..machine.program.threads.len()).filter(|&t| !machine.done(&state, t)) {
                let Some(next) = machine.step(&state, thread, &mut ran) else {
                    // What does not count leaves open what strong fairness would choose.
                    graph.complete &= machine.scheduler.fairness == Fairness::Weak;
                    continue;
                };
                let to = match known.get(&next) {
                    Some(&to) => to,
                    None if graph.states.len() >= MAX_STATES => {
                        graph.complete = false;
                        continue;
                    }
                    None => {
                        known.insert(next.clone(), graph.states.len());
                        graph.states.push(next);
                        graph.states.len() - 1
                    }
                };
                steps.push(Step { thread, to });
            }
            ran.clear();
            graph.steps.push(steps);
        }
        graph.steps.resize_with(graph.states.len(), Vec::new);
        graph
    }

    /// A set of states that reach each other, in which every thread takes a step to which the scheduler is fair.
    fn weakly_fair_component(&self) -> Option<Vec<usize>> {
        let threads = self.machine.program.threads.len();
        self.components(|_, _| true).into_iter().find(|component| {
            let inside: BTreeSet<usize> = component.iter().copied().collect();
            let mut moves = vec![false; threads];
            for &state in component {
                for step in self.steps[state].iter().filter(|s| inside.contains(&s.to)) {
                    moves[step.thread] = true;
                }
            }
            // The states of a component agree on who has ended and who has made a step.
            let fair = self.machine.fair(&self.states[component[0]]);
            moves.contains(&true) && (0..threads).all(|t| moves[t] || !fair[t])
        })
    }

    /// A set of states that reach each other by steps to which the scheduler is fair, and that no such step leaves.
    fn strongly_fair_component(&self) -> Option<Vec<usize>> {
        let fair: Vec<Vec<bool>> = self.states.iter().map(|state| self.machine.fair(state)).collect();
        self.components(|state, step| fair[state][step.thread]).into_iter().find(|component| {
            let inside: BTreeSet<usize> = component.iter().copied().collect();
            component.iter().all(|&state| {
                let fair = &fair[state];
                let steps: Vec<&Step> = self.steps[state].iter().filter(|step| fair[step.thread]).collect();
                // A thread that cannot make its step, or whose step was not followed, settles nothing.
                let all_there = steps.len() == fair.iter().filter(|fair| **fair).count();
                !steps.is_empty() && all_there && steps.iter().all(|step| inside.contains(&step.to))
            })
        })
    }

    /// The strongly connected components by the steps that count (Tarjan's algorithm, without recursion, from every
    /// state).
    fn components(&self, counts: impl Fn(usize, &Step) -> bool) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.states.len();
        let (mut index, mut low) = (vec![NEW; count], vec![0; count]);
        let mut on_stack = vec![false; count];
        let (mut stack, mut calls, mut out) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0;
        let mut roots = 0..count;
        loop {
            let Some((state, edge)) = calls.pop() else {
                match roots.find(|&root| index[root] == NEW) {
                    Some(root) => calls.push((root, 0)),
                    None => return out,
                }
                continue;
            };
            if edge == 0 {
                (index[state], low[state]) = (next, next);
                next += 1;
                stack.push(state);
                on_stack[state] = true;
            }
            match self.steps[state].get(edge) {
                Some(step) => {
                    calls.push((state, edge + 1));
                    if !counts(state, step) {
                        continue;
                    }
                    if index[step.to] == NEW {
                        calls.push((step.to, 0));
                    } else if on_stack[step.to] {
                        low[state] = low[state].min(index[step.to]);
                    }
                }
                None => {
                    if let Some(&(caller, _)) = calls.last() {
                        low[caller] = low[caller].min(low[state]);
                    }
                    if low[state] == index[state] {
                        let mut component = Vec::new();
                        while let Some(member) = stack.pop() {
                            on_stack[member] = false;
                            component.push(member);
                            if member == state {
                                break;
                            }
                        }
                        out.push(component);
                    }
                }
            }
        }
    }

    fn cycle(&self, program: &Program, component: &[usize]) -> Cycle {
        let inside: BTreeSet<usize> = component.iter().copied().collect();
        let mut lines: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); program.threads.len()];
        for &state in component {
            for step in self.steps[state].iter().filter(|s| inside.contains(&s.to)) {
                let mut ran = Vec::new();
                self.machine.step(&self.states[state], step.thread, &mut ran);
                let code = &program.threads[step.thread].code;
                lines[step.thread].extend(ran.into_iter().map(|pc| code[pc].line));
            }
        }
        let of_thread = |(thread, lines): (&Thread, BTreeSet<u32>)| (thread.id, lines.into_iter().collect());
        let threads = program.threads.iter().zip(lines).filter(|(_, lines)| !lines.is_empty());
        Cycle { threads: threads.map(of_thread).collect() }
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (thread, lines)) in self.threads.iter().enumerate() {
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let and = if index == 0 { "" } else { ", " };
            let s = if lines.len() == 1 { "" } else { "s" };
            write!(f, "{and}P{thread} repeats line{s} {}", lines.join(", "))?;
        }
        write!(f, " and memory comes back to the values it had")
    }
}
