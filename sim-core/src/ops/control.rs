//! Control: indexed branches, exit, sleep, traps.

use std::sync::atomic::Ordering;

use super::flow::Flow;
use super::masks::lanes_with;
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::warp::Group;
use crate::observer::Observer;
use semantics::lanes::{LaneMask, Registers, Slot};

impl<O: Observer> Machine<'_, '_, O> {
    /// `brx.idx`: a group for each target.
    pub(crate) fn branch_indexed(
        &mut self,
        registers: &Registers,
        group: &mut Group,
        active: LaneMask,
        index: Slot,
        table: u32,
    ) -> Flow {
        self.worker.stats.branches += 1;
        self.leave_rest(group, active);
        let table = &self.worker.grid.code.branch_tables[table as usize];
        let index = registers.read::<u32>(index);
        let mut rest = active;
        let mut outside = 0;
        while rest != 0 {
            let first = index[rest.trailing_zeros() as usize];
            let same = lanes_with(&index, first) & rest;
            rest &= !same;
            match table.get(first as usize) {
                Some(&target) => self.warp_mut().fork(group, target, same),
                None => outside |= same,
            }
        }
        if outside != 0 {
            group.lanes = outside;
            let bad = index[outside.trailing_zeros() as usize];
            let text = format!("`brx.idx` with index {bad}, but the list has {} targets", table.len());
            return Flow::fault(Fault::new(FindingKind::InvalidTarget, outside, text));
        }
        Flow::Exit
    }

    pub(crate) fn exit(&mut self, group: &mut Group, active: LaneMask) -> Flow {
        self.leave_rest(group, active);
        self.warp_mut().exited |= active;
        Flow::Exit
    }

    /// `nanosleep`: whoever is to wake the thread may be another group.
    pub(crate) fn sleep(&mut self, group: &mut Group) -> Flow {
        self.worker.waits += 1;
        if self.warp().groups.len() > 1 {
            group.position += 1;
            return Flow::GiveWay;
        }
        Flow::Next
    }

    pub(crate) fn trap(&mut self, active: LaneMask) -> Flow {
        Flow::fault(Fault::new(FindingKind::Trap, active, "`trap` was executed"))
    }

    pub(crate) fn breakpoint(&mut self, active: LaneMask) -> Flow {
        let text = "`brkpt` was executed and no debugger is attached";
        Flow::fault(Fault::new(FindingKind::Breakpoint, active, text))
    }

    /// An instruction that cannot be executed ends the launch.
    pub(crate) fn unsupported(&mut self, active: LaneMask, index: u32) -> Flow {
        let what = &self.worker.grid.code.unsupported[index as usize];
        let fault = Fault::new(FindingKind::Unsupported, active, format!("{what} is not supported yet"));
        self.worker.grid.stop.store(true, Ordering::Relaxed);
        Flow::fault(fault)
    }
}
