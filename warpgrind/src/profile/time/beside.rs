//! What a launch does beside its warps, for the recorder: bulk copies, and mbarriers with their phases.
//!
//! Which phase an operation belongs to follows from the order in which the operations of a launch were done, and so does how
//! many make a phase complete. A block may go from one worker to another, so all workers share what is known of blocks.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numerics::mbarrier::{self, MbarrierOp};
use sim_core::{AccessKind, WarpAccess, WarpId};
use timing::work::{Access, Operation, Phase, Piece, Way};

use super::asked::Asked;
use super::waits::Waits;

/// An mbarrier.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    bits: u64,
    /// The phase that it is in, and that before, if there is one.
    now: u32,
    before: Option<u32>,
}

/// A bulk copy that is being told of.
#[derive(Debug)]
struct Copy {
    warp: WarpId,
    position: u32,
    way: Way,
    pieces: Vec<Piece>,
    arrives: Vec<Phase>,
}

/// What is told of a block that has not finished.
#[derive(Default, Debug)]
struct Open {
    /// By warp: operations, each with the position of its instruction.
    warps: Vec<Vec<(u32, Told)>>,
}

impl Open {
    fn told(&mut self, warp: u32) -> &mut Vec<(u32, Told)> {
        let at = warp as usize;
        if self.warps.len() <= at {
            self.warps.resize_with(at + 1, Vec::new);
        }
        &mut self.warps[at]
    }
}

#[derive(Debug)]
enum Told {
    /// With the lanes that arrive.
    Arrives(u32, Vec<Phase>),
    Awaits(Option<Phase>, u64),
    Copies(Way, Vec<Piece>, Vec<Phase>),
    Remote,
}

/// What all workers know of the blocks of a launch.
#[derive(Default, Debug)]
pub(super) struct Known {
    open: HashMap<u64, Open>,
    /// By block and address.
    barriers: HashMap<(u64, u64), Barrier>,
    /// By block: how many arrive at each phase.
    phases: HashMap<u64, Vec<u32>>,
}

/// What a worker hears of.
#[derive(Default, Debug)]
pub(super) struct Beside {
    known: Arc<Mutex<Known>>,
    /// Who issues a copy, and the copy.
    issuer: Option<WarpId>,
    copy: Option<Copy>,
}

impl Beside {
    /// Of a worker that shares what is known with others.
    pub(super) fn new(known: &Arc<Mutex<Known>>) -> Self {
        Beside { known: Arc::clone(known), issuer: None, copy: None }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something else happens: a copy that was told of is all there.
    pub(super) fn others(&mut self) {
        if self.issuer.is_some() {
            self.close();
        }
    }

    /// A warp issues a copy: what it accesses follows.
    pub(super) fn issued(&mut self, warp: WarpId) {
        self.close();
        self.issuer = Some(warp);
    }

    /// It accesses global memory.
    pub(super) fn copies(&mut self, of: &WarpAccess<'_>) {
        let warp = WarpId { block: of.block, warp: of.warp };
        let way = match of.kind {
            AccessKind::Read => Way::In,
            AccessKind::Write => Way::Out,
            AccessKind::Atomic | AccessKind::Reduction => Way::Reduces,
        };
        let (position, pieces, arrives) = (of.position, Vec::new(), Vec::new());
        let copy = self.copy.get_or_insert(Copy { warp, position, way, pieces, arrives });
        for lane in (0..32).filter(|lane| of.lanes >> lane & 1 != 0) {
            let address = of.addresses[lane as usize];
            for sector in address / 32..=(address + u64::from(of.bytes.max(1)) - 1) / 32 {
                let (line, bit) = (sector / 4, 1 << (sector % 4));
                // A copy goes on where it was, or in another row.
                match copy.pieces.last_mut() {
                    Some(piece) if *piece >> 4 == line => *piece |= bit,
                    _ => copy.pieces.push(line << 4 | bit),
                }
            }
        }
    }

    /// A copy that all was told of is one of its block's operations, or the same for another block that it goes to, too.
    fn close(&mut self) {
        self.issuer = None;
        let Some(Copy { warp, position, way, pieces, arrives }) = self.copy.take() else { return };
        let mut known = self.known();
        let told = known.told(warp);
        match told.last_mut() {
            Some((at, Told::Copies(Way::In, before, phases)))
                if *at == position
                    && *before == pieces
                    && !phases.iter().any(|phase| arrives.iter().any(|own| own.block == phase.block)) =>
            {
                phases.extend(arrives);
            }
            _ => told.push((position, Told::Copies(way, pieces, arrives))),
        }
    }

    /// Lanes of a warp operate on mbarriers.
    pub(super) fn mbarrier(
        &mut self,
        (warp, position): (WarpId, u32),
        home: u64,
        op: MbarrierOp,
        lanes: u32,
        [addresses, operands]: [&[u64; 32]; 2],
    ) {
        let mut known = self.known();
        let Known { phases, barriers, .. } = &mut *known;
        let mut told: Vec<Phase> = Vec::new();
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let (address, operand) = (addresses[lane as usize], operands[lane as usize] as u32);
            let phases = phases.entry(home).or_default();
            let mut fresh = || {
                phases.push(0);
                phases.len() as u32 - 1
            };
            let barrier = barriers.entry((home, address)).or_insert_with(|| Barrier {
                bits: 0,
                now: fresh(),
                before: None,
            });
            let bits = mbarrier::apply(op, barrier.bits, operand);
            let phase = Phase { block: home, number: barrier.now };
            match op {
                MbarrierOp::Init | MbarrierOp::InitV1 | MbarrierOp::Invalidate => {
                    *barrier = Barrier { bits, now: fresh(), before: None };
                    continue;
                }
                _ if (bits ^ barrier.bits) >> 63 != 0 => {
                    *barrier = Barrier { bits, now: fresh(), before: Some(barrier.now) };
                }
                _ => barrier.bits = bits,
            }
            // What only expects more does not complete a phase.
            let counts = !matches!(op, MbarrierOp::Expect | MbarrierOp::ExpectTx);
            if counts && told.last() != Some(&phase) {
                phases[phase.number as usize] += 1;
                told.push(phase);
            }
        }
        if op == MbarrierOp::CompleteTx {
            drop(known);
            let issuer = self.issuer;
            match &mut self.copy {
                Some(copy) => copy.arrives.extend(told),
                // A copy of nothing, or within the cluster.
                None => {
                    let pieces = Vec::new();
                    self.copy =
                        issuer.map(|warp| Copy { warp, position, way: Way::In, pieces, arrives: told });
                }
            }
            return;
        }
        if matches!(op, MbarrierOp::Init | MbarrierOp::InitV1 | MbarrierOp::Invalidate) {
            return;
        }
        // All lanes of an instruction are one arrival. Those at other blocks' are told one after the other.
        let of = known.told(warp);
        match of.last_mut() {
            Some((at, Told::Arrives(before, phases))) if *at == position && *before & lanes == 0 => {
                *before |= lanes;
                phases.extend(told);
            }
            _ => of.push((position, Told::Arrives(lanes, told))),
        }
    }

    /// A warp asks whether the phase that it wants is complete. Of questions that follow each other the last one is answered.
    pub(super) fn asks(&self, warp: WarpId, position: u32, home: u64, address: u64) {
        let mut known = self.known();
        let before = known.barriers.get(&(home, address)).and_then(|barrier| barrier.before);
        let phase = before.map(|number| Phase { block: home, number });
        let told = known.told(warp);
        match told.last_mut() {
            Some((at, Told::Awaits(known, of))) if *at == position && *of == address => *known = phase,
            _ => told.push((position, Told::Awaits(phase, address))),
        }
    }

    /// A warp accesses the shared memory of another block.
    pub(super) fn remote(&self, warp: WarpId, position: u32) {
        self.known().told(warp).push((position, Told::Remote));
    }

    /// A block has finished: what was told of it is its own.
    pub(super) fn finished(&self, block: u64, asked: &mut Asked, waits: &Waits) {
        let mut known = self.known();
        if !asked.spun.is_empty() {
            waits.finished(block, asked, known.phases.entry(block).or_default());
        }
        known.barriers.retain(|(home, _), _| *home != block);
        let warps = known.open.remove(&block).unwrap_or_default().warps;
        drop(known);
        let each = (0..).zip(warps).flat_map(|(warp, told)| told.into_iter().map(move |of| (warp, of)));
        for (warp, (position, told)) in each {
            let access = match told {
                Told::Remote => Access::Remote,
                Told::Arrives(_, phases) => asked.operation(Operation::Arrives(phases)),
                Told::Awaits(phase, _) => asked.operation(Operation::Awaits(phase)),
                Told::Copies(way, pieces, arrives) => {
                    let range = (asked.pieces.len() as u32, pieces.len() as u32);
                    asked.pieces.extend(pieces);
                    asked.operation(Operation::Copies { pieces: range, way, arrives })
                }
            };
            asked.told(warp).push((position, access));
        }
    }

    /// All blocks have finished.
    pub(super) fn complete(&self, blocks: &mut BTreeMap<u64, Asked>) {
        let known = std::mem::take(&mut *self.known());
        for (block, phases) in known.phases {
            if let Some(asked) = blocks.get_mut(&block) {
                asked.phases = phases;
            }
        }
    }
}

impl Known {
    fn told(&mut self, warp: WarpId) -> &mut Vec<(u32, Told)> {
        self.open.entry(warp.block).or_default().told(warp.warp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_waits_for_the_phase_that_was_complete_then() {
        let known = Arc::default();
        // A block goes from one worker to another.
        let (mut one, mut other) = (Beside::new(&known), Beside::new(&known));
        let warp = |warp| WarpId { block: 4, warp };
        let of = |operand| [[64u64; 32], [operand; 32]];
        let [addresses, count] = of(1);
        one.mbarrier((warp(0), 1), 4, MbarrierOp::Init, 1, [&addresses, &count]);
        one.asks(warp(1), 7, 4, 64);
        one.mbarrier((warp(0), 2), 4, MbarrierOp::Arrive, 1, [&addresses, &count]);
        other.asks(warp(1), 7, 4, 64);
        other.mbarrier((warp(0), 3), 4, MbarrierOp::Arrive, 1, [&addresses, &count]);
        let mut asked = Asked::default();
        other.finished(4, &mut asked, &Waits::default());
        let first = Phase { block: 4, number: 1 };
        let second = Phase { block: 4, number: 2 };
        let wanted = [
            Operation::Arrives(vec![first]),
            Operation::Arrives(vec![second]),
            Operation::Awaits(Some(first)),
        ];
        assert_eq!(asked.operations, wanted, "the question that was in vain is forgotten");
        let mut blocks = BTreeMap::from([(4, asked)]);
        one.complete(&mut blocks);
        assert_eq!(blocks[&4].phases[1..3], [1, 1]);
    }
}
