//! Where runs of several warps must wait for each other, to be as if all made each step together.
//!
//! One warp runs after the other from a position on. That cannot be told from all of them making the first step, then
//! all the second, as long as no memory is accessed that one of them wrote, nor written that one of them accessed. Where
//! warps go different ways, those at the lower position come first: what the others access has to wait for them, and what
//! they access themselves behind the place where others may stand. A warp whose own lanes part goes on alone until they meet
//! again, before all others.

use crate::program::{Effect, Kind, Memories, Program};
use semantics::lanes::Pred;

/// Steps between a branch and where its ways meet that are looked at, at most.
const FAR: usize = 4096;

/// What a run may have done since it began.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Past {
    read: Memories,
    wrote: Memories,
    /// The lowest position at which warps may stand that went another way.
    others: u32,
}

impl Past {
    const NONE: Past = Past { read: 0, wrote: 0, others: u32::MAX };

    /// Whether something can be done now, by this warp before all others.
    fn allows(self, effect: Effect, at: u32) -> bool {
        let accesses = effect.reads | effect.writes != 0;
        let met = effect.reads & self.wrote | effect.writes & (self.read | self.wrote);
        // Lanes that part go on once all warps have come so far.
        !accesses || (met == 0 || effect.parts) && self.others > at
    }

    fn then(self, effect: Effect, at: u32) -> Past {
        let from = if self.allows(effect, at) { self } else { Past::NONE };
        Past { read: from.read | effect.reads, wrote: from.wrote | effect.writes, ..from }
    }

    fn beside(self, other: u32) -> Past {
        Past { others: self.others.min(other), ..self }
    }

    fn or(self, other: Past) -> Past {
        Past {
            read: self.read | other.read,
            wrote: self.wrote | other.wrote,
            others: self.others.min(other.others),
        }
    }
}

/// What happens between a branch at which lanes part and where they meet again.
fn aside(program: &Program, branch: usize, target: usize) -> Effect {
    let (mut low, mut high) = (target.min(branch + 1), target.max(branch + 1));
    let mut looked = (low, low);
    let mut effect = Effect::default();
    // Grows in both directions until nothing leads out.
    while looked != (low, high) {
        if high - low > FAR {
            return Effect::ALL;
        }
        let new = (low..looked.0).chain(looked.1.max(low)..high);
        looked = (low, high);
        for at in new {
            let Some(step) = program.steps.get(at) else { return Effect::ALL };
            match step.kind {
                Kind::Branch(to) => {
                    low = low.min(to as usize);
                    high = high.max(to as usize);
                }
                Kind::Barrier | Kind::Leave(_) => return Effect::ALL,
                _ => {}
            }
            effect = effect.and(step.effect);
        }
    }
    Effect { parts: true, ..effect }
}

/// By position: whether a run of one of several warps ends before its step.
pub(crate) fn waits(program: &Program) -> Vec<bool> {
    let count = program.steps.len();
    let effects: Vec<_> = program
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| match step.kind {
            Kind::Branch(target) if step.effect.parts && step.guard != Pred::TRUE => {
                aside(program, at, target as usize)
            }
            _ => Effect { parts: false, ..step.effect },
        })
        .collect();
    // By position: what may have been done before it since a run began anywhere.
    let mut past = vec![Past::NONE; count + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (at, step) in program.steps.iter().enumerate() {
            let effect = effects[at];
            let then = past[at].then(effect, at as u32);
            let next = at as u32 + 1;
            let ways = match step.kind {
                Kind::Leave(_) | Kind::Barrier => [None; 2],
                Kind::Branch(target) if step.guard == Pred::TRUE => [Some((target, then)), None],
                Kind::Branch(target) if effect.parts => {
                    let (low, high) = (target.min(next), target.max(next));
                    // Who takes the higher way is behind the others, wherever it leads.
                    [Some((low, then.beside(high))), Some((high, then.beside(0)))]
                }
                Kind::Branch(target) => [Some((target, then)), Some((next, then))],
                _ => [Some((next, then)), None],
            };
            for (to, then) in ways.into_iter().flatten() {
                let past = &mut past[to as usize];
                let all = past.or(then);
                changed |= std::mem::replace(past, all) != all;
            }
        }
    }
    (0..count).map(|at| !past[at].allows(effects[at], at as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Step, Uses};

    const READ: Effect = Effect { reads: 1, writes: 0, parts: false };
    const WRITE: Effect = Effect { reads: 0, writes: 1, parts: false };
    const OTHER: Effect = Effect { reads: 0, writes: 2, parts: false };
    const PARTS: Effect = Effect { reads: 0, writes: 0, parts: true };

    fn step(kind: Kind, effect: Effect) -> Step {
        let guard = if effect.parts { Pred::register(1, false) } else { Pred::TRUE };
        Step { guard, kind, effect }
    }

    fn check(steps: Vec<Step>, expected: &[usize]) {
        let waits = waits(&Program { steps, ..Program::default() });
        let found: Vec<_> = (0..waits.len()).filter(|&at| waits[at]).collect();
        assert_eq!(found, expected);
    }

    fn access(effect: Effect) -> Step {
        step(Kind::Call(Uses::All), effect)
    }

    fn leave() -> Step {
        step(Kind::Leave(Uses::All), Effect::default())
    }

    #[test]
    fn reads_do_not_wait_for_each_other_nor_do_other_memories() {
        check(vec![access(READ), access(READ), access(OTHER), access(WRITE), access(READ), leave()], &[3, 4]);
    }

    #[test]
    fn a_loop_that_writes_waits_once_a_turn() {
        let back = step(Kind::Branch(0), PARTS);
        check(vec![access(READ), access(OTHER), back, leave()], &[1]);
    }

    #[test]
    fn those_behind_a_branch_wait_for_those_that_come_first() {
        // The lower way reads at once; where both have met, and on the higher one, somebody may be behind.
        let over = step(Kind::Branch(3), PARTS);
        check(vec![over, access(READ), access(READ), access(READ), leave()], &[3]);
        // Who leaves a loop early and comes back to its start from an outer one is behind those still in it.
        let (inner, outer) = (step(Kind::Branch(1), PARTS), step(Kind::Branch(0), Effect::default()));
        check(vec![access(READ), step(Kind::Nothing, Effect::default()), inner, outer, leave()], &[0]);
        // What lanes that part may write comes before what others read.
        let over = step(Kind::Branch(2), PARTS);
        check(vec![over, access(WRITE), access(READ), leave()], &[1, 2]);
    }
}
