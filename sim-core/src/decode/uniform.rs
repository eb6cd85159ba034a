//! Which registers are uniform: in all warps of a block, or in all lanes of a warp, that stand at one place.
//!
//! A register is uniform if it is computed from what is uniform, and nowhere do ways meet again that threads took for
//! different values of something that is not (divergence analysis; Karrenberg and Hack, CC 2012).

use isa::{MemOrder, SpecialRegister};
use ptx_frontend::{
    Address, AddressBase, Body, Function, FunctionKind, Instruction, Modifier, Modifiers, Module, Op, Opcode,
    Operand, RegId, StateSpace, Work,
};

use super::flow::Flow;
use super::liveness::{Sets, Uses};
use super::patience::Patience;

/// Words of bits beyond which nothing is looked at: all may vary then.
const MOST: usize = 1 << 22;

/// The same for all looks at where ways meet: a tenth of a second.
const MOST_WORK: usize = 1 << 26;

/// Among whom a register is uniform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// The warps of a block, as long as the lanes of each stay together and all take their ways in the order of the layout.
    Block,
    /// The lanes of a warp that stand at one place, whatever the order in which others went: who has parted may meet again
    /// anywhere, one of them a turn of a loop ahead.
    Warp,
}

/// What of a function is uniform.
pub(super) struct Uniform {
    /// By register, as bits: whether it may vary.
    varies: Vec<u64>,
    /// By instruction: whether it is a branch at which threads may part.
    pub parts: Vec<bool>,
    /// By instruction: whether all compute one value with it who make it together.
    pub computes: Vec<bool>,
}

/// What is looked at for each of whom something is uniform among.
pub(super) struct Divergence<'a> {
    module: &'a Module,
    function: &'a Function,
    body: &'a Body,
    flow: &'a Flow,
    words: usize,
    /// Nothing where all may vary.
    meeting: Option<Meeting<'a>>,
}

impl<'a> Divergence<'a> {
    pub(super) fn new<P: Patience>(
        module: &'a Module,
        function: &'a Function,
        body: &'a Body,
        flow: &'a Flow,
        patience: &P,
    ) -> Result<Self, P::Ended> {
        let words = function.registers.len().div_ceil(64);
        // Whoever calls a function may give each lane other arguments.
        if function.kind != FunctionKind::Entry || words.saturating_mul(flow.blocks.len()) > MOST {
            return Ok(Divergence { module, function, body, flow, words, meeting: None });
        }
        let live = Sets::new(module, body, flow, words, &[], patience)?.live_in;
        let mut written = vec![0u64; words * flow.blocks.len()];
        let mut uses = Uses::default();
        for (block, written) in flow.blocks.iter().zip(written.chunks_exact_mut(words.max(1))) {
            patience.spend((block.end - block.start) as usize)?;
            for inst in &body.instructions[block.start as usize..block.end as usize] {
                uses.collect(module, body, inst);
                uses.writes.iter().for_each(|register| _ = add(written, register.index()));
            }
        }
        let meeting = Some(Meeting { flow, live, written, words });
        Ok(Divergence { module, function, body, flow, words, meeting })
    }

    /// What is uniform among these.
    pub(super) fn among<P: Patience>(&self, among: Among, patience: &P) -> Result<Uniform, P::Ended> {
        let Divergence { module, function, body, flow, words, ref meeting } = *self;
        let count = body.instructions.len();
        let nothing = || Uniform {
            varies: vec![u64::MAX; words],
            parts: vec![true; count],
            computes: vec![false; count],
        };
        let Some(meeting) = meeting else { return Ok(nothing()) };
        if among == Among::Warp && parts_elsewhere(module, body) {
            return Ok(nothing());
        }
        let after = match among {
            Among::Block => post_dominators(flow, patience)?,
            Among::Warp => vec![None; flow.blocks.len()],
        };
        let rules = Rules { function, body };
        let mut uses = Uses::default();
        let mut varies = vec![0u64; words];
        let mut parts = vec![false; count];
        let mut work = 0usize;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &flow.order {
                let of = &flow.blocks[block as usize];
                patience.spend((of.end - of.start) as usize)?;
                for at in of.start..of.end {
                    let inst = &body.instructions[at as usize];
                    let op = module.op(inst);
                    uses.collect(module, body, inst);
                    let reads_what_varies = uses.reads.iter().any(|register| has(&varies, register.index()));
                    if reads_what_varies || !rules.keeps_uniform(op, inst) {
                        for register in &uses.writes {
                            changed |= add(&mut varies, register.index());
                        }
                    }
                    let branches = matches!(op.opcode, Opcode::Bra | Opcode::Brx);
                    if branches && reads_what_varies && !std::mem::replace(&mut parts[at as usize], true) {
                        work = work.saturating_add(flow.blocks.len() * (1 + words));
                        if work > MOST_WORK {
                            return Ok(nothing());
                        }
                        changed |= meeting.vary(block, after[block as usize], &mut varies, patience)?;
                    }
                }
            }
        }
        let computes = body.instructions.iter().map(|inst| {
            uses.collect(module, body, inst);
            let varies = uses.reads.iter().any(|register| has(&varies, register.index()));
            let op = module.op(inst);
            !varies && (rules.keeps_uniform(op, inst) || loads_at_once(op))
        });
        let computes = computes.collect();
        Ok(Uniform { varies, parts, computes })
    }
}

impl Uniform {
    /// Whether all have one value in a register.
    pub(super) fn has(&self, register: RegId) -> bool {
        !has(&self.varies, register.index())
    }
}

fn has(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 != 0
}

/// Whether it is new.
fn add(set: &mut [u64], at: usize) -> bool {
    let old = set[at / 64];
    set[at / 64] |= 1 << (at % 64);
    set[at / 64] != old
}

/// What makes a value that is uniform of such values.
struct Rules<'a> {
    function: &'a Function,
    body: &'a Body,
}

impl Rules<'_> {
    /// Whether what an instruction writes is uniform if the registers that it reads are.
    fn keeps_uniform(&self, op: &Op, inst: &Instruction) -> bool {
        let operands = self.body.operands(inst);
        let keeps = match op.opcode {
            Opcode::Ld => self.loads_constant(op, operands),
            _ => op.effects.is_pure() && !op.effects.reads_carry(),
        };
        let uniform =
            |operand: &Operand| !matches!(*operand, Operand::Special(special) if !is_uniform(special));
        keeps
            && operands.iter().all(|operand| match *operand {
                Operand::Vector(list) | Operand::Pair(list) => self.body.elements(list).iter().all(uniform),
                _ => uniform(operand),
            })
    }

    /// Whether a load from a uniform address gives all one value, whenever they come.
    fn loads_constant(&self, op: &Op, operands: &[Operand]) -> bool {
        match op.space() {
            StateSpace::Const => true,
            // What a function returned lies in `.param` variables of the body.
            StateSpace::Param => operands.iter().all(|operand| match *operand {
                Operand::Address(Address { base: AddressBase::Variable(id), .. }) => {
                    !self.function.variables.contains(&id)
                }
                _ => true,
            }),
            _ => false,
        }
    }
}

/// Whether lanes that load from a uniform address together get one value; others may get another one later. A generic
/// address may be that of lanes' own memory.
fn loads_at_once(op: &Op) -> bool {
    let weak = op.order().is_none_or(|order| order == MemOrder::Weak) && !op.effects.is_asynchronous();
    op.opcode == Opcode::Ld && weak && matches!(op.space(), StateSpace::Global | StateSpace::Shared)
}

/// Whether all threads of a block read one value.
fn is_uniform(special: SpecialRegister) -> bool {
    use SpecialRegister as R;
    let of_thread = matches!(special, R::Tid(_) | R::Laneid | R::Warpid)
        || matches!(special, R::LanemaskEq | R::LanemaskLe | R::LanemaskLt | R::LanemaskGe | R::LanemaskGt);
    let of_moment = matches!(special, R::Clock | R::ClockHi | R::Clock64 | R::Pm(_) | R::Pm64(_))
        || matches!(special, R::Globaltimer | R::GlobaltimerLo | R::GlobaltimerHi);
    !of_thread && !of_moment
}

/// Whether lanes may part elsewhere than at branches: in functions, or as only some of them are waited for.
fn parts_elsewhere(module: &Module, body: &Body) -> bool {
    let has_body = |operand: &Operand| match *operand {
        Operand::Function(id) => module.functions[id.index()].body.is_some(),
        _ => false,
    };
    let every = |operand: &Operand| matches!(*operand, Operand::Integer(mask) if mask as u32 == u32::MAX);
    body.instructions.iter().any(|inst| {
        let op = module.op(inst);
        let operands = body.operands(inst);
        match op.opcode {
            Opcode::Call => {
                let direct = operands.iter().any(|operand| matches!(operand, Operand::Function(_)));
                !direct || operands.iter().any(has_body)
            }
            // The mask of lanes that wait for each other comes last.
            _ => {
                let waits = op.effects.work() == Work::Exchange || op.has(Modifier::Warp);
                waits && !operands.last().is_some_and(every)
            }
        }
    })
}

/// Where ways meet again.
struct Meeting<'a> {
    flow: &'a Flow,
    /// By block: registers that are live where it begins, and those that it writes; `words` of bits each.
    live: Vec<u64>,
    written: Vec<u64>,
    words: usize,
}

impl Meeting<'_> {
    /// Adds what varies where the ways from the end of a block meet, at the latest before `last`; whether something is new.
    fn vary<P: Patience>(
        &self,
        block: u32,
        last: Option<u32>,
        varies: &mut [u64],
        patience: &P,
    ) -> Result<bool, P::Ended> {
        let count = self.flow.blocks.len();
        // By block: how many of the ways pass it.
        let mut ways = vec![0u32; count];
        for &first in &self.flow.blocks[block as usize].successors {
            let mut seen = vec![false; count];
            let mut stack = vec![first];
            while let Some(block) = stack.pop() {
                if Some(block) != last && !std::mem::replace(&mut seen[block as usize], true) {
                    ways[block as usize] += 1;
                    patience.spend(1)?;
                    stack.extend(&self.flow.blocks[block as usize].successors);
                }
            }
        }
        let mut needed = vec![0u64; self.words];
        let joins = (0..count).filter(|&at| ways[at] > 1 || last == Some(at as u32));
        for join in joins {
            patience.spend(self.words)?;
            let live = &self.live[join * self.words..][..self.words];
            needed.iter_mut().zip(live).for_each(|(needed, live)| *needed |= live);
        }
        let mut new = false;
        for block in (0..count).filter(|&block| ways[block] > 0) {
            patience.spend(self.words)?;
            let written = &self.written[block * self.words..][..self.words];
            for ((varies, written), needed) in varies.iter_mut().zip(written).zip(&needed) {
                new |= written & needed & !*varies != 0;
                *varies |= written & needed;
            }
        }
        Ok(new)
    }
}

/// By block: the next one that all ways from it pass, if there is one before the end.
///
/// Immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy.
fn post_dominators<P: Patience>(flow: &Flow, patience: &P) -> Result<Vec<Option<u32>>, P::Ended> {
    let count = flow.blocks.len();
    let end = count as u32;
    let mut predecessors = vec![Vec::new(); count + 1];
    for (at, block) in flow.blocks.iter().enumerate() {
        for &to in &block.successors {
            predecessors[to as usize].push(at as u32);
        }
        if block.successors.is_empty() {
            predecessors[count].push(at as u32);
        }
    }
    // Blocks in postorder from the end backwards.
    let mut number = vec![u32::MAX; count + 1];
    let mut order = Vec::new();
    let mut seen = vec![false; count + 1];
    let mut stack = vec![(end, 0)];
    seen[count] = true;
    while let Some((block, at)) = stack.last_mut() {
        patience.spend(1)?;
        match predecessors[*block as usize].get(*at) {
            Some(&from) => {
                *at += 1;
                if !std::mem::replace(&mut seen[from as usize], true) {
                    stack.push((from, 0));
                }
            }
            None => {
                number[*block as usize] = order.len() as u32;
                order.push(*block);
                stack.pop();
            }
        }
    }
    let mut next = vec![u32::MAX; count + 1];
    next[count] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().filter(|block| **block != end) {
            let successors = &flow.blocks[block as usize].successors;
            let successors = if successors.is_empty() { &[end][..] } else { successors };
            patience.spend(successors.len())?;
            let known = successors.iter().copied().filter(|&to| next[to as usize] != u32::MAX);
            let meet = known.reduce(|mut one, mut other| {
                while one != other {
                    if number[one as usize] < number[other as usize] {
                        one = next[one as usize];
                    } else {
                        other = next[other as usize];
                    }
                }
                one
            });
            if let Some(meet) = meet
                && std::mem::replace(&mut next[block as usize], meet) != meet
            {
                changed = true;
            }
        }
    }
    Ok(next[..count].iter().map(|&to| (to < end).then_some(to)).collect())
}

#[cfg(test)]
mod tests {
    use ptx_frontend::Source;

    use super::super::patience::Endless;
    use super::*;

    /// Which branches of a kernel's body may part warps of a block.
    fn check(text: &str, expected: &str) {
        check_among(Among::Block, text, expected);
    }

    /// The same of some threads.
    fn check_among(among: Among, text: &str, expected: &str) {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .u32 x) vote();\n.func twice() {{ ret; }}\n.entry k(.param .u32 n, .param .u64 a) {{\n\
             .reg .u32 %r<9>; .reg .u64 %a; .reg .pred %p<4>;\n{text}\n}}"
        );
        let parsed = ptx_frontend::parse(Source::new("k.ptx", text.into_bytes()));
        let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let function = module.functions.iter().find(|function| &*function.name == "k").unwrap();
        let body = function.body.as_ref().unwrap();
        let flow = match Flow::new(&module, body, &Endless) {
            Ok(flow) => flow,
            Err(never) => match never {},
        };
        let Ok(divergence) = Divergence::new(&module, function, body, &flow, &Endless);
        let Ok(uniform) = divergence.among(among, &Endless);
        let conditional = body.instructions.iter().zip(&uniform.parts).filter(|(inst, _)| {
            matches!(module.op(inst).opcode, Opcode::Bra | Opcode::Brx) && inst.guard.is_some()
        });
        let said: Vec<_> =
            conditional.map(|(_, parts)| if *parts { "may part" } else { "together" }).collect();
        assert_eq!(said.join(", "), expected);
    }

    #[test]
    fn a_loop_that_counts_behind_a_guard_keeps_warps_together() {
        check(
            "ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %p0, %r1, %r0; @%p0 bra END;
             mov.u32 %r2, 0;
             LOOP: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r0; @%p1 bra LOOP;
             END: ret;",
            "may part, together",
        );
    }

    #[test]
    fn what_is_loaded_or_differs_by_thread_may_part_them() {
        check(
            "ld.param.u64 %a, [a]; ld.global.u32 %r0, [%a]; setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
             mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
             mov.u32 %r1, %warpid; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
             END: ret;",
            // One register, one answer.
            "may part, may part, may part",
        );
    }

    #[test]
    fn values_of_ways_that_meet_again_differ() {
        check(
            "mov.u32 %r0, %tid.x; setp.gt.u32 %p0, %r0, 31; mov.u32 %r1, 1; @%p0 bra MEET;
             mov.u32 %r1, 2; mov.u32 %r2, 3; setp.eq.u32 %p1, %r2, 3; @%p1 bra MEET;
             MEET: setp.eq.u32 %p2, %r1, 1; @%p2 bra END;
             END: ret;",
            "may part, together, may part",
        );
    }

    #[test]
    fn counters_of_loops_left_at_different_times_differ_behind_them() {
        check(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
             LOOP: add.u32 %r1, %r1, 1; setp.gt.u32 %p2, %r1, 100; @%p2 bra OUT;
             setp.lt.u32 %p0, %r1, %r0; @%p0 bra LOOP;
             OUT: setp.eq.u32 %p1, %r1, 7; @%p1 bra END;
             END: ret;",
            // The counter is one register, with one answer.
            "may part, may part, may part",
        );
    }

    #[test]
    fn a_loop_gone_on_with_from_its_middle_counts_differently() {
        check(
            "mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
             LOOP: add.u32 %r1, %r1, 1; setp.eq.u32 %p0, %r0, 7; @%p0 bra LOOP;
             setp.lt.u32 %p1, %r1, 100; @%p1 bra LOOP;
             ret;",
            "may part, may part",
        );
    }

    #[test]
    fn lanes_that_parted_meet_again_anywhere() {
        // A counter of a loop within which lanes part is one thing for warps, and many for lanes that went ahead.
        let inside = "mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
             LOOP: setp.eq.u32 %p0, %r0, %r1; @%p0 bra ON; add.u32 %r2, %r2, 1;
             ON: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra LOOP; ret;";
        check_among(Among::Block, inside, "may part, together");
        check_among(Among::Warp, inside, "may part, may part");
        // The same where the loop comes after they parted; not if some have gone for good.
        let before = "mov.u32 %r0, %tid.x; setp.gt.u32 %p0, %r0, 5; @%p0 bra";
        let behind = "mov.u32 %r1, 0;
             LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra LOOP; END: ret;";
        let joined = format!("{before} ON; mov.u32 %r2, 7; ON: {behind}");
        check_among(Among::Warp, &joined, "may part, may part");
        check_among(Among::Warp, &format!("{before} END; {behind}"), "may part, together");
    }

    #[test]
    fn lanes_part_in_functions_and_where_only_some_are_waited_for() {
        let check = |what: &str, expected: &str| {
            let body = "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra LOOP; ret;";
            check_among(Among::Warp, &format!("mov.u32 %r1, 0; LOOP: {what} {body}"), expected);
        };
        check("bar.warp.sync 0xffffffff; bar.sync 0;", "together");
        check("bar.warp.sync 3;", "may part");
        check("{ .param .u32 given; call (given), vote, (); }", "together");
        check("call twice, ();", "may part");
    }

    #[test]
    fn what_a_function_returns_may_vary() {
        let text = "{ .param .u32 given; call (given), vote, (); ld.param.u32 %r0, [given]; }
             setp.ne.u32 %p0, %r0, 0; @%p0 bra END; END: ret;";
        check_among(Among::Warp, text, "may part");
        check_among(Among::Block, text, "may part");
    }

    #[test]
    fn ways_without_an_end_are_fine() {
        check("mov.u32 %r0, %tid.x; LOOP: setp.eq.u32 %p0, %r0, 7; @%p0 bra LOOP; bra LOOP;", "may part");
    }
}
