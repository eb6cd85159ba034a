//! `fence`, `membar` (ISA 9.7.13.4).

use std::sync::atomic::{Ordering, fence};

use ptx_frontend::{MemOrder, Scope};

use super::flow::Flow;
use crate::machine::Machine;
use crate::machine::warp::Group;
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::LaneMask;

impl<O: Observer> Machine<'_, '_, O> {
    /// A fence of the host, which is stronger than any of a device.
    pub(crate) fn fence(&mut self, group: &Group, active: LaneMask, order: MemOrder, scope: Scope) -> Flow {
        fence(match order {
            MemOrder::Sc => Ordering::SeqCst,
            MemOrder::Acquire => Ordering::Acquire,
            MemOrder::Release => Ordering::Release,
            _ => Ordering::AcqRel,
        });
        if self.weak().is_some() {
            self.weak_fence(active, order, scope);
        }
        let event = Event::Fence { warp: self.warp_id(), lanes: active, order, scope };
        self.tell(Wants::FENCES, group.frame, &event);
        Flow::Next
    }
}
