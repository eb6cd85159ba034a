//! At which branches warps of a block that run together may go different ways.
//!
//! A register is uniform if all warps that stand at one place have one value in it: it is computed from what is uniform
//! over the block, and nowhere do ways meet again that warps took for different values of something that is not
//! (divergence analysis; Karrenberg and Hack, CC 2012).

use isa::SpecialRegister;
use ptx_frontend::{Body, Instruction, Modifiers, Module, Op, Opcode, Operand, StateSpace};

use super::flow::Flow;
use super::liveness::{Sets, Uses};
use super::patience::Patience;

/// Words of bits beyond which nothing is looked at: all may vary then.
const MOST: usize = 1 << 22;

/// The same for all looks at where ways meet: a tenth of a second.
const MOST_WORK: usize = 1 << 26;

/// By instruction of a kernel: whether it is a branch at which warps of a block may part.
pub(super) fn parting<P: Patience>(
    module: &Module,
    body: &Body,
    flow: &Flow,
    registers: usize,
    patience: &P,
) -> Result<Vec<bool>, P::Ended> {
    let count = body.instructions.len();
    let words = registers.div_ceil(64);
    if words.saturating_mul(flow.blocks.len()) > MOST {
        return Ok(vec![true; count]);
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
    let meeting = Meeting { flow, live: &live, written: &written, words };
    let after = post_dominators(flow, patience)?;
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
                if reads_what_varies || !keeps_uniform(op, body, inst) {
                    for register in &uses.writes {
                        changed |= add(&mut varies, register.index());
                    }
                }
                let branches = matches!(op.opcode, Opcode::Bra | Opcode::Brx);
                if branches && reads_what_varies && !std::mem::replace(&mut parts[at as usize], true) {
                    work = work.saturating_add(flow.blocks.len() * (1 + words));
                    if work > MOST_WORK {
                        return Ok(vec![true; count]);
                    }
                    changed |= meeting.vary(block, after[block as usize], &mut varies, patience)?;
                }
            }
        }
    }
    Ok(parts)
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

/// Whether what an instruction writes is uniform if the registers that it reads are.
fn keeps_uniform(op: &Op, body: &Body, inst: &Instruction) -> bool {
    let constant = op.opcode == Opcode::Ld && matches!(op.space(), StateSpace::Param | StateSpace::Const);
    let computes = op.effects.is_pure() && !op.effects.reads_carry();
    let uniform = |operand: &Operand| match *operand {
        Operand::Special(special) => is_uniform(special),
        Operand::Vector(list) | Operand::Pair(list) => body
            .elements(list)
            .iter()
            .all(|element| !matches!(*element, Operand::Special(special) if !is_uniform(special))),
        _ => true,
    };
    (constant || computes) && body.operands(inst).iter().all(uniform)
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

/// Where ways meet again.
struct Meeting<'a> {
    flow: &'a Flow,
    /// By block: registers that are live where it begins, and those that it writes; `words` of bits each.
    live: &'a [u64],
    written: &'a [u64],
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

    /// The lines of a kernel's body whose branches may part warps.
    fn check(text: &str, expected: &str) {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 n, .param .u64 a) {{\n\
             .reg .u32 %r<9>; .reg .u64 %a; .reg .pred %p<4>;\n{text}\n}}"
        );
        let parsed = ptx_frontend::parse(Source::new("k.ptx", text.into_bytes()));
        let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let function = &module.functions[0];
        let body = function.body.as_ref().unwrap();
        let flow = match Flow::new(&module, body, &Endless) {
            Ok(flow) => flow,
            Err(never) => match never {},
        };
        let parts = match parting(&module, body, &flow, function.registers.len(), &Endless) {
            Ok(parts) => parts,
            Err(never) => match never {},
        };
        let conditional = body.instructions.iter().zip(&parts).filter(|(inst, _)| {
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
    fn ways_without_an_end_are_fine() {
        check("mov.u32 %r0, %tid.x; LOOP: setp.eq.u32 %p0, %r0, 7; @%p0 bra LOOP; bra LOOP;", "may part");
    }
}
