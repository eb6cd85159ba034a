//! Where runs of several warps must wait for each other, to be as if all made each step together.
//!
//! One warp runs after the other from a position on. That cannot be told from all of them making the first step, then
//! all the second, as long as they only read; or as one writes once, at first. What a warp reads or writes behind a
//! branch at which others may have gone another way has to wait, for those may come first.

use crate::program::{Effect, Kind, Program};
use semantics::lanes::Pred;

/// What a run may have done since it began.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Past {
    read: bool,
    wrote: bool,
    parted: bool,
}

impl Past {
    /// Whether something can be done now, by this warp before all others.
    fn allows(self, effect: Effect) -> bool {
        match effect {
            Effect::None | Effect::Parts => true,
            Effect::Reads => !self.wrote && !self.parted,
            Effect::Writes => !self.read && !self.wrote && !self.parted,
        }
    }

    fn then(self, effect: Effect) -> Past {
        let from = if self.allows(effect) { self } else { Past::default() };
        match effect {
            Effect::None => from,
            Effect::Reads => Past { read: true, ..from },
            Effect::Writes => Past { wrote: true, ..from },
            Effect::Parts => Past { parted: true, ..from },
        }
    }

    fn or(self, other: Past) -> Past {
        Past {
            read: self.read | other.read,
            wrote: self.wrote | other.wrote,
            parted: self.parted | other.parted,
        }
    }
}

/// By position: whether a run of one of several warps ends before its step.
pub(crate) fn waits(program: &Program) -> Vec<bool> {
    let count = program.steps.len();
    // By position: what may have been done before it since a run began anywhere.
    let mut past = vec![Past::default(); count + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (at, step) in program.steps.iter().enumerate() {
            let then = past[at].then(step.effect);
            let next = match step.kind {
                Kind::Leave(_) => [None; 2],
                Kind::Branch(target) => {
                    [Some(target as usize), Some(at + 1).filter(|_| step.guard != Pred::TRUE)]
                }
                _ => [Some(at + 1), None],
            };
            for to in next.into_iter().flatten() {
                let all = past[to].or(then);
                changed |= std::mem::replace(&mut past[to], all) != all;
            }
        }
    }
    program.steps.iter().zip(past).map(|(step, past)| !past.allows(step.effect)).collect()
}
