//! The barrier of a cluster: `barrier.cluster` (ISA 9.7.13.4).

use std::sync::atomic::{Ordering, fence};

use ptx_frontend::MemOrder;

use super::flow::{Flow, On};
use crate::code::ClusterStep;
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::cta::Cta;
use crate::machine::fault::Fault;
use crate::machine::frame::ROOT;
use crate::machine::warp::{Group, Wait};
use crate::observer::Observer;
use crate::tools::{Event, Wants, WarpId};
use semantics::lanes::LaneMask;

impl<O: Observer> Machine<'_, '_, O> {
    pub(crate) fn cluster_barrier(&mut self, group: &mut Group, active: LaneMask, step: ClusterStep) -> Flow {
        match step {
            ClusterStep::Arrive(order) => self.arrive_at_cluster(group, active, order),
            ClusterStep::Wait => self.wait_for_cluster(group, active),
        }
    }

    fn arrive_at_cluster(&mut self, group: &mut Group, active: LaneMask, order: MemOrder) -> Flow {
        let again = self.warp().cluster_owing & active;
        if again != 0 {
            let text = "`barrier.cluster.arrive` again, without the `wait` that belongs to the one before";
            self.note(group, Fault::new(FindingKind::UndefinedBehavior, again, text));
        }
        if order == MemOrder::Release {
            fence(Ordering::Release);
        }
        let event = Event::ClusterArrived { warp: self.warp_id(), lanes: active, order };
        self.tell(Wants::BARRIERS, group.frame, &event);
        let warp = self.warp_mut();
        warp.cluster_arrived |= active;
        warp.cluster_owing |= active;
        self.complete_cluster();
        Flow::Next
    }

    fn wait_for_cluster(&mut self, group: &mut Group, active: LaneMask) -> Flow {
        let warp = self.warp_mut();
        let without = active & !warp.cluster_owing;
        warp.cluster_owing &= !active;
        let waits = active & warp.cluster_arrived;
        if without != 0 {
            let text = "`barrier.cluster.wait` without a `barrier.cluster.arrive` before it";
            self.note(group, Fault::new(FindingKind::UndefinedBehavior, without, text));
        }
        let rest = active & !waits & !without;
        if rest != 0 {
            self.tell_of_cluster(self.warp_id(), rest);
        }
        if waits == 0 {
            return Flow::Next;
        }
        self.leave_rest(group, waits);
        group.position += 1;
        Flow::Wait(On::Cluster)
    }

    /// Completes the barrier if every thread of the cluster that has not exited has arrived, and one has.
    pub(crate) fn complete_cluster(&mut self) {
        let come = |cta: &Cta| cta.warps.iter().all(|warp| warp.live() & !warp.cluster_arrived == 0);
        let any = |cta: &Cta| cta.warps.iter().any(|warp| warp.cluster_arrived != 0);
        let complete =
            come(self.cta) && self.peers.iter().all(come) && (any(self.cta) || self.peers.iter().any(any));
        if !complete {
            return;
        }
        self.worker.stats.barriers += 1;
        let heard = self.wants(Wants::BARRIERS);
        let mut told: Vec<(WarpId, LaneMask)> = Vec::new();
        for cta in std::iter::once(&mut *self.cta).chain(self.peers.iter_mut()) {
            for (index, warp) in cta.warps.iter_mut().enumerate() {
                warp.cluster_arrived = 0;
                for group in warp.groups.iter_mut().filter(|group| group.wait == Wait::Cluster) {
                    group.wait = Wait::Ready;
                    if heard {
                        told.push((WarpId { block: cta.index, warp: index as u32 }, group.lanes));
                    }
                }
            }
        }
        told.into_iter().for_each(|(warp, lanes)| self.tell_of_cluster(warp, lanes));
    }

    /// Tells tools of lanes for which the barrier is complete.
    fn tell_of_cluster(&mut self, warp: WarpId, lanes: LaneMask) {
        self.tell(Wants::BARRIERS, ROOT, &Event::ClusterWaited { warp, lanes });
    }
}
