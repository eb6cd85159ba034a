//! Which registers may share a row: liveness over blocks, then a linear scan over the layout.

use ptx_frontend::{Body, Effects, Instruction, Module, Opcode, Operand, OperandList, RegId};
use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::patience::Patience;

/// Registers of an instruction by role.
#[derive(Default)]
pub(crate) struct Uses {
    pub reads: Vec<RegId>,
    pub writes: Vec<RegId>,
}

impl Uses {
    pub(crate) fn collect(&mut self, module: &Module, body: &Body, inst: &Instruction) {
        self.reads.clear();
        self.writes.clear();
        let op = module.op(inst);
        if let Some(guard) = inst.guard {
            self.reads.push(guard.register);
        }
        let operands = body.operands(inst);
        // `call (results), f, (arguments)`: the first of two lists, if it comes before the callee.
        let results = op.opcode == Opcode::Call && matches!(operands.first(), Some(Operand::Vector(_)));
        for (at, operand) in operands.iter().enumerate() {
            let written = op.effects.writes_operand(at) || results && at == 0;
            self.operand(body, operand, written);
            if written && op.effects.accumulates() {
                self.operand(body, operand, false);
            }
        }
    }

    fn operand(&mut self, body: &Body, operand: &Operand, written: bool) {
        match *operand {
            Operand::Register(register) if written => self.writes.push(register),
            Operand::Part(register, _) if written => self.writes.push(register),
            Operand::Register(register)
            | Operand::Negated(register)
            | Operand::Part(register, _)
            | Operand::NegatedPart(register, _) => self.reads.push(register),
            Operand::Address(address) => {
                if let ptx_frontend::AddressBase::Register(register) = address.base {
                    self.reads.push(register)
                }
            }
            Operand::Vector(list) | Operand::Pair(list) => self.list(body, list, written),
            Operand::AddressList(list) => self.list(body, list, false),
            _ => {}
        }
    }

    fn list(&mut self, body: &Body, list: OperandList, written: bool) {
        // Lists nest one level only: a vector inside an address list.
        for operand in body.elements(list) {
            self.operand(body, operand, written);
        }
    }
}

/// First and last layout position at which a register holds a value that may be needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub start: u32,
    pub end: u32,
}

/// Live intervals of all registers over the instructions in layout order, `None` if never named. Without `sets` no two
/// registers share anything.
pub(crate) fn intervals(
    module: &Module,
    body: &Body,
    flow: &Flow,
    registers: usize,
    sets: Option<&Sets>,
) -> Vec<Option<Interval>> {
    let mut intervals: Vec<Option<Interval>> = vec![None; registers];
    let words = registers.div_ceil(64);
    let mut uses = Uses::default();
    let extend = |intervals: &mut Vec<Option<Interval>>, register: usize, at: u32| {
        let interval = intervals[register].get_or_insert(Interval { start: at, end: at });
        interval.start = interval.start.min(at);
        interval.end = interval.end.max(at);
    };
    let Some(Sets { live_in, live_out }) = sets else {
        let end = body.instructions.len() as u32;
        for inst in &body.instructions {
            uses.collect(module, body, inst);
            for register in uses.reads.iter().chain(&uses.writes) {
                intervals[register.index()] = Some(Interval { start: 0, end });
            }
        }
        return intervals;
    };
    // Where each block starts in the layout, and the position behind its last instruction.
    let mut at = 0u32;
    let mut bounds = Vec::with_capacity(flow.blocks.len());
    for &block in &flow.order {
        let Block { start, end } = Block::of(flow, block);
        let first = at;
        for inst in &body.instructions[start..end] {
            uses.collect(module, body, inst);
            for register in uses.reads.iter().chain(&uses.writes) {
                extend(&mut intervals, register.index(), at);
            }
            at += 1;
        }
        bounds.push((block, first, at));
        at += 1;
    }
    // Where a register is live first, and, from behind, where last: each is looked at once.
    let mut seen = vec![0u64; words];
    let see = |intervals: &mut Vec<Option<Interval>>, live: &[u64], seen: &mut [u64], at: u32| {
        for (word, (&live, seen)) in live.iter().zip(seen).enumerate() {
            let mut fresh = live & !*seen;
            *seen |= live;
            while fresh != 0 {
                extend(intervals, word * 64 + fresh.trailing_zeros() as usize, at);
                fresh &= fresh - 1;
            }
        }
    };
    for &(block, first, last) in &bounds {
        let base = block as usize * words;
        see(&mut intervals, &live_in[base..base + words], &mut seen, first);
        see(&mut intervals, &live_out[base..base + words], &mut seen, last);
    }
    seen.fill(0);
    for &(block, first, last) in bounds.iter().rev() {
        let base = block as usize * words;
        see(&mut intervals, &live_out[base..base + words], &mut seen, last);
        see(&mut intervals, &live_in[base..base + words], &mut seen, first);
    }
    intervals
}

/// Registers that are live where blocks begin and end: `words` of bits a block.
pub(super) struct Sets {
    pub(super) live_in: Vec<u64>,
    pub(super) live_out: Vec<u64>,
}

impl Sets {
    /// Those of a body; `None` of very large ones, rather than quadratic work.
    pub(super) fn of<P: Patience>(
        module: &Module,
        body: &Body,
        flow: &Flow,
        registers: usize,
        patience: &P,
    ) -> Result<Option<Self>, P::Ended> {
        let words = registers.div_ceil(64);
        let few = words.saturating_mul(flow.blocks.len()) <= 1 << 24;
        few.then(|| Self::new(module, body, flow, words, &[], patience)).transpose()
    }

    /// Reads of instructions that are `dead` do not count.
    pub(super) fn new<P: Patience>(
        module: &Module,
        body: &Body,
        flow: &Flow,
        words: usize,
        dead: &[bool],
        patience: &P,
    ) -> Result<Self, P::Ended> {
        let blocks = flow.blocks.len();
        let mut uses = Uses::default();
        // Upward exposed reads and kills of each block.
        let mut exposed = vec![0u64; words * blocks];
        let mut killed = vec![0u64; words * blocks];
        for &block in &flow.order {
            let base = block as usize * words;
            let Block { start, end } = Block::of(flow, block);
            patience.spend(end - start)?;
            for at in start..end {
                let inst = &body.instructions[at];
                if dead.get(at) == Some(&true) {
                    continue;
                }
                uses.collect(module, body, inst);
                for register in &uses.reads {
                    let (word, bit) = (base + register.index() / 64, 1u64 << (register.index() % 64));
                    if killed[word] & bit == 0 {
                        exposed[word] |= bit;
                    }
                }
                if inst.guard.is_none() {
                    for register in &uses.writes {
                        killed[base + register.index() / 64] |= 1u64 << (register.index() % 64);
                    }
                }
            }
        }
        // live_in = exposed | (live_out & !killed), to a fixpoint in reverse layout order.
        let mut live_in = exposed;
        let mut live_out = vec![0u64; words * blocks];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in flow.order.iter().rev() {
                let base = block as usize * words;
                let successors = &flow.blocks[block as usize].successors;
                patience.spend((1 + successors.len()) * words)?;
                for &next in successors {
                    let from = next as usize * words;
                    for word in 0..words {
                        live_out[base + word] |= live_in[from + word];
                    }
                }
                for word in base..base + words {
                    let value = live_in[word] | live_out[word] & !killed[word];
                    changed |= value != live_in[word];
                    live_in[word] = value;
                }
            }
        }
        Ok(Self { live_in, live_out })
    }
}

/// What is needed: registers where blocks end, and instructions.
pub(crate) struct Live {
    words: usize,
    sets: FxHashMap<u32, Box<[u64]>>,
    dead: Vec<bool>,
    /// The body is too large to tell: everything is needed.
    unknown: bool,
}

impl Live {
    /// Looks behind the instructions whose next ones `leader` marks.
    pub(crate) fn behind<P: Patience>(
        module: &Module,
        body: &Body,
        flow: &Flow,
        registers: usize,
        leader: &[bool],
        patience: &P,
    ) -> Result<Self, P::Ended> {
        let words = registers.div_ceil(64);
        let mut live = Live {
            words,
            sets: FxHashMap::default(),
            dead: vec![false; body.instructions.len()],
            unknown: words.saturating_mul(flow.blocks.len() + leader.len()) > 1 << 22,
        };
        let mut uses = Uses::default();
        let mut changed = !live.unknown;
        while changed {
            changed = false;
            let sets = Sets::new(module, body, flow, words, &live.dead, patience)?;
            for &block in &flow.order {
                let Block { start, end } = Block::of(flow, block);
                patience.spend(words + end - start)?;
                let mut now: Box<[u64]> = sets.live_out[block as usize * words..][..words].into();
                for at in (start..end).rev() {
                    if leader[at + 1] {
                        patience.spend(words)?;
                        live.sets.insert(at as u32 + 1, now.clone());
                    }
                    let inst = &body.instructions[at];
                    uses.collect(module, body, inst);
                    let needed =
                        |register: &RegId| now[register.index() / 64] >> (register.index() % 64) & 1 != 0;
                    if !live.dead[at] && computes(module.op(inst).effects) && !uses.writes.iter().any(needed)
                    {
                        live.dead[at] = true;
                        changed = true;
                    }
                    if live.dead[at] {
                        continue;
                    }
                    if inst.guard.is_none() {
                        for register in &uses.writes {
                            now[register.index() / 64] &= !(1 << (register.index() % 64));
                        }
                    }
                    for register in &uses.reads {
                        now[register.index() / 64] |= 1 << (register.index() % 64);
                    }
                }
            }
        }
        Ok(live)
    }

    /// Whether a register's value is needed where the block ends that comes before an instruction in the text.
    pub(crate) fn at(&self, at: usize, register: RegId) -> bool {
        match self.sets.get(&(at as u32)) {
            Some(set) => set[register.index() / 64] >> (register.index() % 64) & 1 != 0,
            // What is never reached, and the end of the body.
            None => self.unknown || self.words > 0 && at < self.dead.len(),
        }
    }

    /// Whether nothing needs what an instruction computes.
    pub(crate) fn dead(&self, at: usize) -> bool {
        self.dead[at]
    }
}

/// Whether an instruction does nothing but compute its results. The carry flag is one that is not written down.
fn computes(effects: Effects) -> bool {
    effects.is_pure() && !effects.writes_carry()
}

/// The instructions of a block.
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Block {
    pub(super) fn of(flow: &Flow, block: u32) -> Block {
        let block = &flow.blocks[block as usize];
        Block { start: block.start as usize, end: block.end as usize }
    }
}
