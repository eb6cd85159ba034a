//! `--tool synccheck`: wrong use of barriers that the simulator can execute all the same.

use smallvec::SmallVec;

use super::event::{Event, Wants};
use super::tool::{Context, Report, Tool};
use crate::code::lanes_text;
use crate::finding::FindingKind;
use numerics::mbarrier::{self, MbarrierOp};
use semantics::lanes::LaneMask;

/// Reports barriers that not all lanes of a warp execute together, and wrong use of mbarrier objects.
#[derive(Clone, Copy, Default, Debug)]
pub struct Synccheck;

/// The arrivals at each barrier of a block since it last completed, by warp.
#[derive(Default)]
pub struct Arrivals(Vec<Vec<Arrived>>);

/// Lanes of a warp that have arrived.
#[derive(Clone, Copy, Default)]
struct Arrived {
    lanes: LaneMask,
    /// The instruction by which the first of them did.
    position: u32,
    /// Whether that needs all lanes of the warp.
    aligned: bool,
}

impl Arrivals {
    fn of(&mut self, barrier: u8, warp: u32) -> &mut Arrived {
        let (barrier, warp) = (usize::from(barrier), warp as usize);
        if self.0.len() <= barrier {
            self.0.resize_with(barrier + 1, Vec::new);
        }
        let warps = &mut self.0[barrier];
        if warps.len() <= warp {
            warps.resize(warp + 1, Arrived::default());
        }
        &mut warps[warp]
    }
}

impl Tool for Synccheck {
    type Block = Arrivals;

    fn wants(&self) -> Wants {
        Wants::BLOCKS | Wants::BARRIERS | Wants::MBARRIERS
    }

    fn event(&mut self, event: &Event<'_>, block: &mut Arrivals, context: &dyn Context) {
        match *event {
            Event::BlockStarted { .. } => block.0.iter_mut().for_each(Vec::clear),
            Event::Arrived { warp, lanes, barrier, aligned, position, .. } => {
                let first = block.of(barrier, warp.warp);
                if first.lanes == 0 {
                    (first.position, first.aligned) = (position, aligned);
                }
                check_arrival(*first, Arrived { lanes, position, aligned }, barrier, warp.warp, context);
                first.lanes |= lanes;
            }
            Event::BarrierCompleted { barrier, .. } => {
                let Some(warps) = block.0.get_mut(usize::from(barrier)) else { return };
                for (warp, come) in (0..).zip(&*warps) {
                    check_completion(*come, barrier, warp, context);
                }
                warps.clear();
            }
            Event::BarrierOfAll { barrier, lanes, aligned, position, .. } => {
                for (warp, &lanes) in (0..).zip(lanes) {
                    check_completion(Arrived { lanes, position, aligned }, barrier, warp, context);
                }
            }
            Event::Mbarrier { warp, lanes, op, addresses, operands, position, .. } => {
                check_mbarriers(op, lanes, addresses, operands, warp.warp, position, context);
            }
            _ => {}
        }
    }
}

/// Lanes arrive at a barrier: of an aligned one all lanes of their warp have to execute the same instruction (ISA
/// 9.7.13.1).
fn check_arrival(first: Arrived, now: Arrived, barrier: u8, warp: u32, context: &dyn Context) {
    if !now.aligned || first.position == now.position {
        return;
    }
    // The same finding whichever came first.
    let (here, other) = if first.position < now.position { (now, first) } else { (first, now) };
    context.report(Report {
        kind: FindingKind::UndefinedBehavior,
        message: format!("lanes of one warp arrive at barrier {barrier} by different instructions"),
        notes: vec!["`bar` and `barrier.aligned` need all lanes of a warp at one instruction".into()],
        warp,
        lanes: here.lanes,
        position: here.position,
        other: Some(other.position),
    });
}

/// A barrier is complete: where an aligned one was executed by some lanes of a warp, the others must not have exited
/// instead (ISA 9.7.13.1: all threads in the warp execute the same instruction).
fn check_completion(come: Arrived, barrier: u8, warp: u32, context: &dyn Context) {
    if come.lanes == 0 || !come.aligned {
        return;
    }
    let gone = context.exited(warp) & !come.lanes;
    if gone == 0 {
        return;
    }
    let note = "`bar` and `barrier.aligned` need all lanes of a warp; only whole warps may exit before";
    context.report(Report {
        kind: FindingKind::UndefinedBehavior,
        message: format!(
            "barrier {barrier} is reached by a part of a warp: lanes {} have exited",
            lanes_text(gone)
        ),
        notes: vec![note.into()],
        warp,
        lanes: come.lanes,
        position: come.position,
        other: None,
    });
}

/// Operations on mbarrier objects of the block, before they are done (ISA 9.7.13.15).
fn check_mbarriers(
    op: MbarrierOp,
    lanes: LaneMask,
    addresses: &[u64; 32],
    operands: &[u32; 32],
    warp: u32,
    position: u32,
    context: &dyn Context,
) {
    // The lanes see each other's operations.
    let mut objects: SmallVec<[(u64, u64); 32]> = SmallVec::new();
    let mut wrong: SmallVec<[(usize, &'static str); 32]> = SmallVec::new();
    for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
        let address = addresses[lane];
        let known = objects.iter().position(|&(other, _)| other == address);
        let known = known.unwrap_or_else(|| {
            let bytes = context.shared().get(address as usize..).and_then(|rest| rest.first_chunk());
            objects.push((address, bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))));
            objects.len() - 1
        });
        let bits = &mut objects[known].1;
        if let Some(text) = mbarrier::misuse(op, *bits, operands[lane]) {
            wrong.push((lane, text));
        }
        *bits = mbarrier::apply(op, *bits, operands[lane]);
    }
    let Some(&(first, text)) = wrong.first() else { return };
    let lanes = wrong.iter().filter(|(_, other)| *other == text).fold(0, |m, (lane, _)| m | 1 << lane);
    let address = addresses[first];
    context.report(Report {
        kind: FindingKind::UndefinedBehavior,
        message: format!("{} of the mbarrier object at shared address {address:#x}: {text}", op.name()),
        notes: Vec::new(),
        warp,
        lanes,
        position,
        other: None,
    });
}
