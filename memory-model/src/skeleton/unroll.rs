//! Paths: how one thread unrolls.

use super::operands::{addresses_taken, deciding_registers, live_registers};
use super::{
    BarrierUse, Compare, Guard, Leaf, Node, Skeleton, Template, TooLarge, Tree, Unrolling, Value, ValueId,
};
use crate::event::{Event, Kind};
use crate::program::{
    BarMode, BinOp, Cmp, LocId, MemOrder, Observable, Op, Operand, Program, ProxyFence, RegId, Region, Scope,
};

/// A value with the reads it depends on, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tracked {
    pub(super) value: ValueId,
    pub(super) deps: Vec<usize>,
}

pub(super) fn merge(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut out = [a, b].concat();
    out.sort_unstable();
    out.dedup();
    out
}

/// The state of a path under construction.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) pc: usize,
    pub(super) node: usize,
    pub(super) registers: Vec<Tracked>,
    pub(super) ctrl: Vec<usize>,
    pub(super) position: u32,
    /// Entries of loop heads since an enclosing head was entered, by instruction.
    pub(super) entries: Vec<(usize, u32)>,
    pub(super) visits: Vec<Visit>,
    /// Writes and barriers so far, without silent writes.
    pub(super) effects: u32,
    pub(super) reads: Vec<usize>,
    /// Writes that change nothing.
    pub(super) silent: Vec<usize>,
    /// How comparisons turned out on the path.
    pub(super) facts: Vec<Compare>,
    pub(super) occurrences: Vec<((bool, bool, usize), u32)>,
}

/// A past visit of a loop head.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) pc: usize,
    /// Registers still needed.
    pub(super) needed: Vec<ValueId>,
    pub(super) effects: u32,
    /// Reads and silent writes before it.
    pub(super) reads: usize,
    pub(super) silent: usize,
}

pub(super) struct Unroller<'a> {
    pub(super) skeleton: &'a mut Skeleton,
    pub(super) program: &'a Program,
    pub(super) thread: usize,
    pub(super) unrolling: Unrolling,
    pub(super) tree: Tree,
    pub(super) heads: Vec<bool>,
    /// Instructions between a loop head and a jump back to it.
    pub(super) in_loop: Vec<bool>,
    pub(super) live: Vec<Vec<bool>>,
    pub(super) addresses: Vec<LocId>,
}

impl<'a> Unroller<'a> {
    pub(super) fn new(
        skeleton: &'a mut Skeleton,
        program: &'a Program,
        thread: usize,
        observed: &[Observable],
        unrolling: Unrolling,
    ) -> Self {
        let code = &program.threads[thread].code;
        let mut heads = vec![false; code.len() + 1];
        let mut in_loop = vec![false; code.len() + 1];
        for (pc, instr) in code.iter().enumerate() {
            if let Op::Branch { target, .. } | Op::Goto { target } = instr.op
                && target <= pc
            {
                heads[target] = true;
                in_loop[target..=pc].fill(true);
            }
        }
        let live = match unrolling.outcomes {
            true => live_registers(program, thread, observed),
            false => deciding_registers(program, thread),
        };
        let addresses = addresses_taken(program);
        let tree = Tree::default();
        Self { skeleton, program, thread, unrolling, tree, heads, in_loop, live, addresses }
    }

    pub(super) fn run(mut self) -> Result<Tree, TooLarge> {
        let initial: Vec<i64> = self.program.threads[self.thread]
            .initial
            .iter()
            .map(|&operand| Skeleton::operand_constant(operand))
            .collect();
        let registers = initial
            .into_iter()
            .map(|v| Tracked { value: self.skeleton.constant(v), deps: Vec::new() })
            .collect();
        let root = self.node(None, Guard::True)?;
        let state = State {
            pc: 0,
            node: root,
            registers,
            ctrl: Vec::new(),
            position: 0,
            entries: Vec::new(),
            visits: Vec::new(),
            effects: 0,
            reads: Vec::new(),
            silent: Vec::new(),
            facts: Vec::new(),
            occurrences: Vec::new(),
        };
        let mut pending = vec![state];
        while let Some(state) = pending.pop() {
            self.advance(state, &mut pending)?;
        }
        Ok(self.tree)
    }

    fn node(&mut self, parent: Option<usize>, guard: Guard) -> Result<usize, TooLarge> {
        let others: usize = self.skeleton.trees.iter().map(|t| t.nodes.len()).sum();
        if others + self.tree.nodes.len() >= self.unrolling.max_nodes {
            return Err(TooLarge(format!("more than {} path segments", self.unrolling.max_nodes)));
        }
        let id = self.tree.nodes.len();
        self.tree.nodes.push(Node { parent, guard, events: Vec::new(), children: Vec::new(), leaf: None });
        if let Some(parent) = parent {
            self.tree.nodes[parent].children.push(id);
        }
        Ok(id)
    }

    pub(super) fn end(&mut self, state: &State, leaf: Leaf) {
        self.tree.nodes[state.node].leaf = Some(leaf);
    }

    /// A leaf that is entered under a guard.
    pub(super) fn end_under(&mut self, state: &State, guard: Guard, leaf: Leaf) -> Result<(), TooLarge> {
        let node = self.node(Some(state.node), guard)?;
        self.tree.nodes[node].leaf = Some(leaf);
        Ok(())
    }

    /// Follows one path to its next fork or its end.
    fn advance(&mut self, mut state: State, pending: &mut Vec<State>) -> Result<(), TooLarge> {
        let program = self.program;
        let code = &program.threads[self.thread].code;
        loop {
            if state.pc >= code.len() {
                let registers = state.registers.iter().map(|r| r.value).collect();
                self.end(&state, Leaf::Done(registers));
                return Ok(());
            }
            if self.heads[state.pc]
                && let Some(leaf) = self.enter_head(&mut state)
            {
                self.end(&state, leaf);
                return Ok(());
            }
            let pc = state.pc;
            state.pc += 1;
            state.position += 1;
            match &code[pc].op {
                Op::Mov { dst, src } => {
                    let value = self.read_operand(&state, *src);
                    self.set(&mut state, *dst, value);
                }
                Op::Bin { op, dst, a, b } => {
                    let value = self.binary(&state, *op, *a, *b);
                    self.set(&mut state, *dst, value);
                }
                Op::Goto { target } => state.pc = *target,
                Op::Branch { cmp, a, b, target } => {
                    let (a, b) = (self.read_operand(&state, *a), self.read_operand(&state, *b));
                    let deps = merge(&a.deps, &b.deps);
                    state.ctrl = merge(&state.ctrl, &deps);
                    match self.decided(&state, *cmp, &a, &b) {
                        Some(true) => state.pc = *target,
                        Some(false) => {}
                        None => {
                            for (holds, pc) in [(true, *target), (false, state.pc)] {
                                let compare = Compare { cmp: *cmp, a: a.value, b: b.value, holds };
                                self.fork(&state, vec![compare], pc, pending)?;
                            }
                            return Ok(());
                        }
                    }
                }
                Op::Assume { cmp, a, b } => {
                    let (a, b) = (self.read_operand(&state, *a), self.read_operand(&state, *b));
                    match self.decided(&state, *cmp, &a, &b) {
                        Some(true) => {}
                        Some(false) => {
                            self.end(&state, Leaf::Discard);
                            return Ok(());
                        }
                        None => {
                            let compare = |holds| Compare { cmp: *cmp, a: a.value, b: b.value, holds };
                            let guard = Guard::Compare(vec![compare(false)]);
                            self.end_under(&state, guard, Leaf::Discard)?;
                            self.fork(&state, vec![compare(true)], state.pc, pending)?;
                            return Ok(());
                        }
                    }
                }
                Op::Fence { order, scope, region } => {
                    let blank = self.blank(Kind::Fence, &state, pc);
                    let event = Event { order: *order, scope: *scope, region: *region, ..blank };
                    self.push(&mut state, event, None)?;
                }
                Op::ProxyFence(kind) => {
                    let event = match kind {
                        ProxyFence::Alias => self.blank(Kind::AliasFence, &state, pc),
                        ProxyFence::To(proxy) => {
                            Event { proxy: *proxy, ..self.blank(Kind::ProxyFence, &state, pc) }
                        }
                        ProxyFence::Release(proxy, scope) | ProxyFence::Acquire(proxy, scope) => {
                            let order = match kind {
                                ProxyFence::Release(..) => MemOrder::Release,
                                _ => MemOrder::Acquire,
                            };
                            let blank = self.blank(Kind::ProxyFence, &state, pc);
                            Event { proxy: *proxy, order, scope: Some(*scope), ..blank }
                        }
                    };
                    self.push(&mut state, event, None)?;
                }
                Op::Bar { mode, instance, id, count, region } => {
                    let id = id.map(|o| self.read_operand(&state, o).value);
                    let count = count.map(|o| self.read_operand(&state, o).value);
                    let waits = *mode != BarMode::Arrive;
                    let key = (false, true, pc);
                    let occurrence = occurrence(&mut state, key);
                    let barrier = BarrierUse {
                        cluster: false,
                        instance: *instance,
                        id,
                        count,
                        waits,
                        arrives: true,
                        occurrence,
                    };
                    if self.barrier(&mut state, pc, (Scope::Cta, *region), barrier, pending)? {
                        return Ok(());
                    }
                }
                Op::ClusterArrive { relaxed } => {
                    let occurrence = occurrence(&mut state, (true, true, 0));
                    let barrier = BarrierUse {
                        cluster: true,
                        instance: 0,
                        id: None,
                        count: None,
                        waits: false,
                        arrives: true,
                        occurrence,
                    };
                    self.barrier(&mut state, pc, (Scope::Cluster, Region::All), barrier, pending)?;
                    if *relaxed && let Some(&event) = self.tree.nodes[state.node].events.last() {
                        self.skeleton.events[event].event.relaxed_arrive = true;
                    }
                }
                Op::ClusterWait => {
                    let occurrence = occurrence(&mut state, (true, false, 0));
                    let barrier = BarrierUse {
                        cluster: true,
                        instance: 0,
                        id: None,
                        count: None,
                        waits: true,
                        arrives: false,
                        occurrence,
                    };
                    self.barrier(&mut state, pc, (Scope::Cluster, Region::All), barrier, pending)?;
                    return Ok(());
                }
                Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. } | Op::MbarrierTest { .. } => {
                    self.memory_instruction(state, pc, pending)?;
                    return Ok(());
                }
            }
        }
    }

    /// Notes that a path enters a loop head; gives the leaf if it ends there.
    fn enter_head(&mut self, state: &mut State) -> Option<Leaf> {
        let pc = state.pc;
        let needed: Vec<ValueId> = (0..state.registers.len())
            .filter(|&r| self.live[pc][r])
            .map(|r| state.registers[r].value)
            .collect();
        let same: Vec<&Visit> = state
            .visits
            .iter()
            .filter(|v| v.pc == pc && v.effects == state.effects && v.needed == needed)
            .collect();
        if let Some(last) = same.last()
            && same.len() > self.unrolling.idle_iterations as usize
        {
            return Some(Leaf::Spin {
                reads: state.reads[last.reads..].to_vec(),
                dropped: state.silent[last.silent..].to_vec(),
            });
        }
        let idle = !same.is_empty();
        state.entries.retain(|&(p, _)| p <= pc);
        match state.entries.iter_mut().find(|(p, _)| *p == pc) {
            // Idle iterations are bounded on their own.
            Some(_) if idle => {}
            Some((_, n)) if *n >= self.unrolling.bound => return Some(Leaf::Cut),
            Some((_, n)) => *n += 1,
            None if self.unrolling.bound == 0 => return Some(Leaf::Cut),
            None => state.entries.push((pc, 1)),
        }
        let (effects, reads, silent) = (state.effects, state.reads.len(), state.silent.len());
        state.visits.push(Visit { pc, needed, effects, reads, silent });
        None
    }

    /// How a comparison turns out, where constants or earlier comparisons on the path tell.
    pub(super) fn decided(&self, state: &State, cmp: Cmp, a: &Tracked, b: &Tracked) -> Option<bool> {
        let values = &self.skeleton.values;
        match (values[a.value], values[b.value]) {
            (Value::Const(a), Value::Const(b)) => return Some(cmp.eval(a, b)),
            _ if a.value == b.value => return Some(matches!(cmp, Cmp::Eq | Cmp::Le | Cmp::Ge)),
            _ => {}
        }
        state.facts.iter().find_map(|fact| {
            if (fact.a, fact.b) != (a.value, b.value) {
                return None;
            }
            let equal = match (fact.cmp, fact.holds) {
                (Cmp::Eq, holds) => holds,
                (Cmp::Ne, holds) => !holds,
                _ if fact.cmp == cmp => return Some(fact.holds),
                _ => return None,
            };
            match (equal, cmp) {
                (true, _) => Some(matches!(cmp, Cmp::Eq | Cmp::Le | Cmp::Ge)),
                (false, Cmp::Eq) => Some(false),
                (false, Cmp::Ne) => Some(true),
                _ => None,
            }
        })
    }

    /// A node entered under comparisons, and the path there, on which they are known.
    pub(super) fn under(&mut self, state: &State, compares: Vec<Compare>) -> Result<State, TooLarge> {
        let mut path = state.clone();
        path.facts.extend(&compares);
        for compare in &compares {
            let equal = matches!((compare.cmp, compare.holds), (Cmp::Eq, true) | (Cmp::Ne, false));
            if equal && matches!(self.skeleton.values[compare.b], Value::Const(_)) {
                for register in path.registers.iter_mut().filter(|r| r.value == compare.a) {
                    register.value = compare.b;
                }
            }
        }
        path.node = self.node(Some(state.node), Guard::Compare(compares))?;
        Ok(path)
    }

    /// A copy of the path that continues at `pc` under the comparisons.
    fn fork(
        &mut self,
        state: &State,
        guard: Vec<Compare>,
        pc: usize,
        pending: &mut Vec<State>,
    ) -> Result<(), TooLarge> {
        let path = self.under(state, guard)?;
        pending.push(State { pc, ..path });
        Ok(())
    }

    pub(super) fn read_operand(&mut self, state: &State, operand: Operand) -> Tracked {
        match operand {
            Operand::Reg(RegId(r)) => state.registers[usize::from(r)].clone(),
            other => {
                let value = self.skeleton.constant(Skeleton::operand_constant(other));
                Tracked { value, deps: Vec::new() }
            }
        }
    }

    pub(super) fn set(&mut self, state: &mut State, dst: RegId, value: Tracked) {
        state.registers[usize::from(dst.0)] = value;
    }

    fn binary(&mut self, state: &State, op: BinOp, a: Operand, b: Operand) -> Tracked {
        let (a, b) = (self.read_operand(state, a), self.read_operand(state, b));
        let value = self.skeleton.value(Value::Bin(op, a.value, b.value));
        Tracked { value, deps: merge(&a.deps, &b.deps) }
    }

    pub(super) fn blank(&self, kind: Kind, state: &State, pc: usize) -> Event {
        super::blank(kind, Some(self.thread), state.position * 2, pc)
    }

    /// Adds an event to the path; gives its index.
    pub(super) fn push(
        &mut self,
        state: &mut State,
        event: Event,
        value: Option<Tracked>,
    ) -> Result<usize, TooLarge> {
        let index = self.skeleton.events.len();
        if index >= self.unrolling.max_events {
            return Err(TooLarge(format!("more than {} events", self.unrolling.max_events)));
        }
        let is_read = event.kind == Kind::Read;
        let (value, data) = match value {
            Some(tracked) => (tracked.value, tracked.deps),
            None if is_read => (self.skeleton.value(Value::Read(index)), Vec::new()),
            None => (self.skeleton.constant(0), Vec::new()),
        };
        self.skeleton.events.push(Template {
            event,
            node: Some((self.thread, state.node)),
            value,
            rmw_read: None,
            addr: Vec::new(),
            data,
            ctrl: state.ctrl.clone(),
            barrier: None,
        });
        self.tree.nodes[state.node].events.push(index);
        if is_read {
            state.reads.push(index);
        }
        Ok(index)
    }

    /// A barrier operation; true if the path was forked.
    fn barrier(
        &mut self,
        state: &mut State,
        pc: usize,
        (scope, region): (Scope, Region),
        barrier: BarrierUse,
        pending: &mut Vec<State>,
    ) -> Result<bool, TooLarge> {
        let waits = barrier.waits;
        let kind = if waits { Kind::BarrierWait } else { Kind::BarrierArrive };
        let event = Event { scope: Some(scope), region, ..self.blank(kind, state, pc) };
        let index = self.push(state, event, None)?;
        self.skeleton.events[index].barrier = Some(barrier);
        state.effects += 1;
        if waits {
            self.end_under(state, Guard::Blocked(index), Leaf::Blocked)?;
            let node = self.node(Some(state.node), Guard::Opens(index))?;
            pending.push(State { node, ..state.clone() });
        }
        Ok(waits)
    }
}

fn occurrence(state: &mut State, key: (bool, bool, usize)) -> u32 {
    match state.occurrences.iter_mut().find(|(k, _)| *k == key) {
        Some((_, n)) => {
            *n += 1;
            *n
        }
        None => {
            state.occurrences.push((key, 0));
            0
        }
    }
}
