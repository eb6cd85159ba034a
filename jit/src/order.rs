//! Where runs of several warps must wait for each other, to be as if all made each step together.
//!
//! One warp runs after the other from a position on. That cannot be told from all of them making the first step, then
//! all the second, as long as no memory is accessed that one of them wrote, nor written that one of them accessed. Where
//! warps go different ways, those at the lower position come first: what the others access has to wait for them, and what
//! they access themselves behind the place where others may stand. A warp whose own lanes part goes on alone until they meet
//! again, before all others.

use std::ops::Range;

use crate::context::MEETING;
use crate::program::{Effect, Kind, Program, Space, Step};
use semantics::lanes::Pred;

/// Steps between a branch and where its ways meet that are looked at, at most.
const FAR: usize = 4096;

/// Accesses by their number: those whose windows tell what memory they access, as a set of bits.
type Windowed = u64;

/// Before which steps a run of one of several warps ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Waits {
    /// By position: before it in any case.
    pub always: Vec<bool>,
    /// Positions before which it ends if the window of the step there meets one of the windows of these; [`MEETING`] of them
    /// at most.
    pub meeting: Vec<Meeting>,
}

/// A position, and those whose windows its own may meet.
pub(crate) type Meeting = (u32, Vec<u32>);

impl Waits {
    /// By position: whether a run may end before its step.
    pub(crate) fn at(&self, position: usize) -> bool {
        self.always[position] || self.meeting(position).is_some()
    }

    /// Its place among those where that depends on windows.
    pub(crate) fn meeting(&self, position: usize) -> Option<usize> {
        self.meeting.binary_search_by_key(&(position as u32), |(at, _)| *at).ok()
    }
}

/// What a run may have done since it began.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Past {
    /// But for accesses with a number.
    effect: Effect,
    accesses: Windowed,
    /// The lowest position at which warps may stand that went another way.
    others: u32,
}

/// Whether a run ends before a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Never,
    Always,
    /// If its window meets one of those.
    Meeting(Windowed),
}

impl Past {
    const NONE: Past = Past {
        effect: Effect { reads: 0, writes: 0, updates: 0, parts: false },
        accesses: 0,
        others: u32::MAX,
    };

    /// Whether something can be done now, by this warp before all others.
    fn wait(self, effect: Effect, number: Option<usize>, at: u32, all: &[Effect]) -> Wait {
        if !effect.accesses() {
            return Wait::Never;
        }
        if self.others <= at {
            return Wait::Always;
        }
        // Lanes that part go on once all warps have come so far.
        if effect.parts {
            return Wait::Never;
        }
        let meets = |which: &usize| self.accesses >> which & 1 != 0 && effect.conflicts(all[*which]);
        let meeting = (0..all.len()).filter(meets).fold(0, |meeting, which| meeting | 1 << which);
        match number {
            _ if self.effect.conflicts(effect) => Wait::Always,
            _ if meeting == 0 => Wait::Never,
            // The same one of another turn.
            Some(number) if meeting >> number & 1 == 0 => Wait::Meeting(meeting),
            _ => Wait::Always,
        }
    }

    fn then(self, effect: Effect, number: Option<usize>, at: u32, all: &[Effect]) -> Past {
        let from = match self.wait(effect, number, at, all) {
            Wait::Always => Past::NONE,
            Wait::Never | Wait::Meeting(_) => self,
        };
        let effect = Effect { parts: false, ..effect };
        match number {
            Some(number) => Past { accesses: from.accesses | 1 << number, ..from },
            None => Past { effect: from.effect.and(effect), ..from },
        }
    }

    fn beside(self, other: u32) -> Past {
        Past { others: self.others.min(other), ..self }
    }

    fn or(self, other: Past) -> Past {
        Past {
            effect: self.effect.and(other.effect),
            accesses: self.accesses | other.accesses,
            others: self.others.min(other.others),
        }
    }
}

/// Whether a step accesses memory of its window alone, unless the host does it.
fn is_windowed(step: &Step) -> bool {
    match &step.kind {
        Kind::Access(access) => access.space == Space::Hinted,
        Kind::Atomic(atomic) => atomic.access.space == Space::Hinted,
        _ => false,
    }
}

/// The positions between a branch at which lanes part and where they meet again; nothing if they may leave the code before.
fn aside(program: &Program, branch: usize, target: usize) -> Option<Range<usize>> {
    let (mut low, mut high) = (target.min(branch + 1), target.max(branch + 1));
    let mut looked = (low, low);
    // Grows in both directions until nothing leads out.
    while looked != (low, high) {
        if high - low > FAR {
            return None;
        }
        let new = (low..looked.0).chain(looked.1.max(low)..high);
        looked = (low, high);
        for at in new {
            match program.steps.get(at)?.kind {
                Kind::Branch(to) => {
                    low = low.min(to as usize);
                    high = high.max(to as usize);
                }
                Kind::Barrier | Kind::Arrive(_) | Kind::Exit | Kind::Leave(_) => return None,
                _ => {}
            }
        }
    }
    Some(low..high)
}

/// What lanes do that part at a branch until they meet again. Where no thread waits for another, but for accesses through
/// windows: there lanes that part may come after whole warps, which go on without knowing whether any will.
fn done_aside(program: &Program, branch: usize, target: usize) -> Effect {
    let Some(between) = aside(program, branch, target) else { return Effect::ALL };
    let steps = program.steps[between].iter().filter(|step| program.waits || !is_windowed(step));
    let effect = steps.fold(Effect::default(), |effect, step| effect.and(step.effect));
    Effect { parts: true, ..effect }
}

/// Whether lanes that part at a branch may wait for another thread before they meet again.
pub(crate) fn awaits_aside(program: &Program, branch: usize, target: usize) -> bool {
    let awaits = |between: Range<usize>| program.steps[between].iter().any(|step| step.awaits);
    program.waits && aside(program, branch, target).is_none_or(awaits)
}

/// Before which steps a run of one of several warps ends.
pub(crate) fn waits(program: &Program) -> Waits {
    let count = program.steps.len();
    let effects: Vec<_> = program
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| match step.kind {
            Kind::Branch(target) if step.effect.parts && step.guard != Pred::TRUE => {
                done_aside(program, at, target as usize)
            }
            _ => Effect { parts: false, ..step.effect },
        })
        .collect();
    let windowed = (0..count).filter(|&at| is_windowed(&program.steps[at]) && effects[at].accesses());
    let numbered: Vec<usize> = windowed.take(Windowed::BITS as usize).collect();
    let all: Vec<_> = numbered.iter().map(|&at| effects[at]).collect();
    let number = |at: usize| numbered.binary_search(&at).ok();
    // By position: what may have been done before it since a run began anywhere.
    let mut past = vec![Past::NONE; count + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (at, step) in program.steps.iter().enumerate() {
            let effect = effects[at];
            let then = past[at].then(effect, number(at), at as u32, &all);
            let next = at as u32 + 1;
            let ways = match step.kind {
                Kind::Leave(_) | Kind::Barrier | Kind::Exit => [None; 2],
                Kind::Arrive(arrive) if arrive.waits => [None; 2],
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
    let mut waits = Waits::default();
    for (at, past) in past[..count].iter().enumerate() {
        let wait = past.wait(effects[at], number(at), at as u32, &all);
        let full = waits.meeting.len() == MEETING;
        waits.always.push(wait == Wait::Always || wait != Wait::Never && full);
        if let (Wait::Meeting(meeting), false) = (wait, full) {
            let met = (0..all.len()).filter(|which| meeting >> which & 1 != 0);
            waits.meeting.push((at as u32, met.map(|which| numbered[which] as u32).collect()));
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Access, Commuting, Step, Uses};
    use semantics::formula::Width;
    use semantics::lanes::Slot;

    const READ: Effect = Effect { reads: 1, writes: 0, updates: 0, parts: false };
    const WRITE: Effect = Effect { reads: 0, writes: 1, updates: 0, parts: false };
    const OTHER: Effect = Effect { reads: 0, writes: 2, updates: 0, parts: false };
    const PARTS: Effect = Effect { reads: 0, writes: 0, updates: 0, parts: true };

    fn step(kind: Kind, effect: Effect) -> Step {
        let guard = if effect.parts { Pred::register(1, false) } else { Pred::TRUE };
        Step { guard, kind, effect, uniform: false, awaits: false }
    }

    fn check(steps: Vec<Step>, expected: &[usize]) {
        let waits = waits(&Program { steps, ..Program::default() });
        let found: Vec<_> = (0..waits.always.len()).filter(|&at| waits.at(at)).collect();
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

    /// Through a window.
    fn windowed(store: bool) -> Step {
        let access = Access {
            store,
            space: Space::Hinted,
            polls: false,
            spins: false,
            bytes: 4,
            signed: false,
            count: 1,
            address: Slot::frame(0),
            address_width: Width::Double,
            spread: crate::program::Spread::Any,
            offset: 0,
            elements: [None; 4],
        };
        step(Kind::Access(access), if store { WRITE } else { READ })
    }

    fn meeting(steps: Vec<Step>) -> Vec<(u32, Vec<u32>)> {
        let waits = waits(&Program { steps, ..Program::default() });
        assert!(waits.always.iter().all(|always| !always));
        waits.meeting
    }

    #[test]
    fn accesses_through_windows_wait_where_the_windows_meet() {
        let (load, store) = (|| windowed(false), || windowed(true));
        assert_eq!(meeting(vec![load(), load(), store(), leave()]), [(2, vec![0, 1])]);
        assert_eq!(meeting(vec![store(), load(), leave()]), [(1, vec![0])]);
        // A store of another turn of its own loop has the same window.
        let back = step(Kind::Branch(0), Effect { parts: false, ..PARTS });
        check(vec![store(), back, leave()], &[0]);
        // What is not known to be of a window may be anywhere.
        check(vec![access(READ), store(), leave()], &[1]);
    }

    #[test]
    fn operations_of_one_kind_that_tell_nothing_commute() {
        let add = || access(Effect::updating(1, Commuting::Add));
        let back = || step(Kind::Branch(0), PARTS);
        check(vec![add(), add(), back(), leave()], &[]);
        check(vec![add(), access(Effect::updating(1, Commuting::Or)), leave()], &[1]);
        check(vec![add(), access(Effect::updating(2, Commuting::Or)), leave()], &[]);
        check(vec![add(), access(READ), add(), leave()], &[1, 2]);
        check(vec![access(WRITE), add(), leave()], &[1]);
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
        // What lanes that part may write comes before what others read, through windows only where a thread may wait for
        // another.
        let over = || step(Kind::Branch(2), PARTS);
        check(vec![over(), access(WRITE), access(READ), leave()], &[1, 2]);
        let steps = vec![over(), windowed(true), windowed(false), leave()];
        let program = Program { steps, ..Program::default() };
        assert_eq!(waits(&program).always, [false, false, true, false]);
        assert_eq!(waits(&Program { waits: true, ..program }).always, [false, true, true, false]);
    }
}
