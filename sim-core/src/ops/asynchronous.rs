//! Asynchronous operations (ISA 9.7.9.25.1): what tools hear of their issue, their groups, and the fences of their proxy.
//! When each is done is [`super::in_flight`]'s.

use super::at;
use super::at::{Addresses, At, Direction};
use super::flow::Flow;
use super::masks::each_lane;
use crate::code::{Access, Completion, GroupStep, Groups};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::warp::Group;
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use isa::{MemOrder, Scope};
use semantics::lanes::{LaneMask, Registers};

impl<O: Observer> Machine<'_, '_, O> {
    /// `st.async` and `red.async` are for the blocks of a cluster: without one a device does not know them.
    pub(crate) fn issue_store(
        &mut self,
        registers: &Registers,
        group: &Group,
        active: LaneMask,
        barrier: &Access,
    ) -> Flow {
        if !self.worker.grid.is_cluster_launch() {
            let text = "an asynchronous store to shared memory in a launch without clusters";
            return Flow::fault(Fault::new(FindingKind::IllegalInstruction, active, text));
        }
        if self.wants(Wants::ASYNCHRONOUS) {
            let at = at(barrier, Direction::Atomic, group, active);
            let addresses = self.addresses(registers, at);
            self.tell_of_issue(at, Completion::Mbarrier, &addresses);
        }
        Flow::Next
    }

    /// Tells tools that lanes issue an asynchronous operation, if they want to hear; `at` and `addresses`: its mbarrier.
    pub(super) fn tell_of_issue(&mut self, at: At<'_>, completion: Completion, addresses: &Addresses) {
        if !self.wants(Wants::ASYNCHRONOUS) {
            return;
        }
        let own = self.cta.index;
        let mut rest = at.lanes;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize & 31;
            let place = |address: u64| match completion {
                Completion::Mbarrier => self.offset_in_shared(at.access.space, address),
                Completion::Groups(_) => None,
            };
            let found = place(addresses[first]);
            let peer = found.and_then(|(peer, _)| peer);
            let (mut lanes, mut offsets) = (0, [0; 32]);
            each_lane(rest, |lane| {
                let here = place(addresses[lane]);
                if here.and_then(|(peer, _)| peer) == peer {
                    lanes |= 1 << lane;
                    offsets[lane] = here.map_or(0, |(_, offset)| offset);
                }
            });
            rest &= !lanes;
            let home = peer.and_then(|rank| self.peers.get(rank)).map_or(own, |peer| peer.index);
            let event = Event::Issued { warp: self.warp_id(), lanes, completion, home, addresses: &offsets };
            self.tell_of(Wants::ASYNCHRONOUS, at.frame, peer, &event);
        }
    }

    /// `fence.proxy.async`: all of the simulator's accesses go through one proxy.
    pub(crate) fn proxy_fence(&mut self, group: &Group, active: LaneMask) -> Flow {
        let event = Event::ProxyFence { warp: self.warp_id(), lanes: active };
        self.tell(Wants::ASYNCHRONOUS, group.frame, &event);
        Flow::Next
    }

    /// `fence.proxy.tensormap::generic.acquire`, which acquires as other fences do, too.
    pub(crate) fn map_fence(
        &mut self,
        registers: &Registers,
        group: &Group,
        active: LaneMask,
        map: &Access,
        scope: Scope,
    ) -> Flow {
        let flow = self.fence(group, active, MemOrder::Acquire, scope);
        if self.wants(Wants::ASYNCHRONOUS) {
            let addresses = self.addresses(registers, at(map, Direction::Load, group, active));
            let event = Event::MapFence { warp: self.warp_id(), lanes: active, addresses: &addresses };
            self.tell(Wants::ASYNCHRONOUS, group.frame, &event);
        }
        flow
    }

    /// Asynchronous operations are grouped or waited for; mostly they are done already.
    pub(crate) fn group_step(
        &mut self,
        group: &Group,
        active: LaneMask,
        groups: Groups,
        step: GroupStep,
    ) -> Flow {
        if self.defers() {
            self.step_groups(active, groups, step);
        } else if groups == Groups::Copies && self.worker.grid.code.copies_again {
            self.copy_again(active, step);
        }
        let event = Event::Grouped { warp: self.warp_id(), lanes: active, groups, step };
        self.tell(Wants::ASYNCHRONOUS, group.frame, &event);
        Flow::Next
    }
}
