//! Barriers that wait for a count of threads, as compiled code has them while all warps of a block are in it.

use crate::machine::cta::{BARRIERS, Cta};
use crate::machine::frame::ROOT;
use crate::machine::squad::Squad;
use crate::machine::warp::{Wait, Warp};
use jit::Counted;
use semantics::lanes::WARP_SIZE;

/// A block's barriers, by number.
pub(super) struct Barriers {
    pub counted: [Counted; BARRIERS],
    /// Threads that one can wait for.
    pub most: u32,
}

/// Whether a warp, all of it, waits at a barrier: at which.
pub(super) fn waits_at(warp: &Warp) -> Option<u8> {
    match (&warp.groups[..], warp.live()) {
        ([group], live) if group.frame == ROOT && group.lanes == live => match group.wait {
            Wait::Barrier(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// Whether whole warps have come to each of the barriers to which anybody has, and they wait for a count.
pub(super) fn are_counted(cta: &Cta) -> bool {
    (0..BARRIERS).filter(|id| cta.open_barriers >> id & 1 != 0).all(|id| {
        let barrier = &cta.barriers[id];
        let whole = |(&come, warp): (&u32, &Warp)| come == 0 || warp.live() & !come == 0;
        barrier.expected.is_some()
            && !barrier.reduction
            && barrier.extra == 0
            && barrier.arrived.iter().zip(&cta.warps).all(whole)
    })
}

impl Barriers {
    /// Those of a block, of whose warps these are in code.
    pub(super) fn of(cta: &Cta, squad: &Squad) -> Barriers {
        let counted = std::array::from_fn(|id| {
            let barrier = &cta.barriers[id];
            let Some(expected) = barrier.expected.filter(|_| barrier.active) else {
                return Counted::default();
            };
            let members = |is: &dyn Fn(usize) -> bool| {
                let those = squad.warps.iter().enumerate().filter(|(_, warp)| is(**warp));
                those.fold(0, |members, (member, _)| members | 1 << member)
            };
            let arrived = members(&|warp| barrier.arrived[warp] != 0);
            let waiting = members(&|warp| waits_at(&cta.warps[warp]) == Some(id as u8));
            Counted { expected, come: barrier.count(&cta.warps), arrived, waiting }
        });
        Barriers { counted, most: (cta.warps.len() * WARP_SIZE) as u32 }
    }

    /// Leaves them to the interpreter.
    pub(super) fn put(&self, cta: &mut Cta, squad: &Squad) {
        for (id, counted) in self.counted.iter().enumerate() {
            let barrier = &mut cta.barriers[id];
            if counted.expected == 0 {
                if barrier.active {
                    barrier.reset();
                    cta.open_barriers &= !(1 << id);
                }
                continue;
            }
            if !barrier.active {
                barrier.open(cta.warps.len());
                barrier.expected = Some(counted.expected);
                cta.open_barriers |= 1 << id;
            }
            barrier.come = counted.come;
            // Of those that have exited, some had come since it was complete, unless others make up the count.
            if counted.come == counted.arrived.count_ones() * WARP_SIZE as u32 {
                barrier.arrived.fill(0);
            }
            for (member, (&warp, runner)) in squad.warps.iter().zip(&squad.runners).enumerate() {
                let come = counted.arrived >> member & 1 != 0;
                barrier.arrived[warp] = if come { runner.lanes } else { 0 };
                if counted.waiting >> member & 1 != 0
                    && let [group] = &mut cta.warps[warp].groups[..]
                {
                    group.wait = Wait::Barrier(id as u8);
                }
            }
        }
    }
}
