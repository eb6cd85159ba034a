//! Operations: what each does to a warp, a family a file. An operation does its work and says how control goes on
//! ([`flow::Flow`]); it does not know who runs next, nor which engine runs it.

mod access;
mod accumulators;
mod asynchronous;
mod at;
mod atomic;
pub(crate) mod barrier;
mod bulk;
mod call;
mod cluster;
pub(crate) mod collective;
mod control;
mod copy;
mod fast;
mod fence;
pub(crate) mod flow;
mod in_flight;
mod launches;
mod masks;
mod matrix;
mod multimem;
mod printf;
mod quotient;
mod runtime;
mod shared;
mod special;
mod surface;
mod texture;
mod view;
mod warpgroup;
mod weak;

use at::{At, Checked, Direction};
use flow::{Flow, On};
use masks::write_uniform;

use crate::code::{Access, Action, Asynchronous, Atomic};
use crate::machine::Machine;
use crate::machine::warp::Group;
use crate::machine::worker::HEAVY;
use crate::observer::Observer;
use crate::tools::Wants;
use semantics::lanes::{LaneMask, Registers};

/// Whether an uncommon operation of a whole warp leaves it whole: it goes on with the next instruction, or ends.
#[inline(always)]
pub(crate) fn keeps_whole(action: &Action) -> bool {
    matches!(
        action,
        Action::Copy(_)
            | Action::BulkCopy(_)
            | Action::ReplaceField(_)
            | Action::IssueStore(_)
            | Action::Groups(..)
            | Action::ProxyFence
            | Action::MapFence(..)
            | Action::Texture(_)
            | Action::Fence(..)
            | Action::ActiveMask(_)
            | Action::LocalAddress(..)
    )
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Does what the instruction at which a group stands does with its active lanes, of which there is one. `ran`:
    /// instructions of this turn up to this one.
    ///
    /// Operations on lanes and branches are the engines' own.
    #[inline(always)]
    pub(crate) fn operate(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        action: &Action,
        ran: u64,
    ) -> Flow {
        match action {
            Action::Load(access) => self.operate_load(registers, group, active, access),
            Action::Store(access) => self.operate_store(registers, group, active, access),
            Action::Atomic(atomic) => self.operate_atomic(registers, group, active, atomic),
            Action::Barrier(barrier) => self.barrier(registers, group, active, barrier),
            Action::Nothing => Flow::Next,
            _ => self.operate_rarely(registers, group, active, action, ran),
        }
    }

    /// The operations that are not common enough to lie in an engine's loop.
    #[inline(never)]
    pub(crate) fn operate_rarely(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        action: &Action,
        ran: u64,
    ) -> Flow {
        match action {
            Action::ClusterBarrier(step) => self.cluster_barrier(group, active, *step),
            Action::Warp(op) => self.warp_operation(registers, group, active, op),
            Action::Copy(index) => self.operate_copy(registers, group, active, *index),
            Action::Multimem(index) => self.multimem(registers, group, active, *index),
            Action::BulkCopy(index) => self.bulk_copy(registers, group, active, *index),
            Action::ReplaceField(index) => self.replace_field(registers, group, active, *index),
            Action::Groups(groups, step) => self.group_step(group, active, *groups, *step),
            Action::ProxyFence => self.proxy_fence(group, active),
            Action::MapFence(map, scope) => self.map_fence(registers, group, active, map, *scope),
            Action::Fence(order, scope) => self.fence(group, active, *order, *scope),
            Action::Matrix(index) => match self.matrix(registers, group, active, *index) {
                Ok(true) => self.spent(group, HEAVY),
                Ok(false) => Flow::Wait(On::Members(self.warp().live())),
                Err(fault) => Flow::Fault(fault),
            },
            Action::Touch(index) => {
                self.touch(group, active, *index);
                Flow::Next
            }
            Action::Warpgroup(step) => self.warpgroup_step(registers, group, active, *step),
            Action::Call(call) => {
                self.leave_rest(group, active);
                self.enter(group, call.function, call.site)
            }
            Action::CallIndirect(target, call) => {
                self.call_indirect(registers, group, active, *target, call.site)
            }
            Action::CallRuntime(function, call) => {
                match self.call_runtime(registers, group, active, *function, call.site) {
                    Ok(()) => self.spent(group, HEAVY),
                    Err(fault) => Flow::Fault(fault),
                }
            }
            Action::Texture(index) => match self.operate_texture(registers, group, active, *index) {
                Flow::Next => self.spent(group, HEAVY),
                flow => flow,
            },
            Action::Return => self.return_from(group, active),
            Action::Exit => self.exit(group, active),
            Action::BranchIndexed(index, table) => {
                self.branch_indexed(registers, group, active, *index, *table)
            }
            Action::Alloca(to, size, align) => match self.alloca(registers, group, active, *size, *align) {
                Ok(address) => {
                    write_uniform(registers, *to, active, u64::from(address));
                    Flow::Next
                }
                Err(fault) => Flow::Fault(fault),
            },
            Action::StackSave(to) => {
                let end = self.warp().frame(group.frame).local_end;
                write_uniform(registers, *to, active, u64::from(end));
                Flow::Next
            }
            Action::StackRestore(from) => {
                self.stack_restore(registers, group, active, *from);
                Flow::Next
            }
            Action::ActiveMask(to) => {
                registers.write(*to, active, &[active; 32]);
                Flow::Next
            }
            Action::LocalAddress(to, offset) => {
                let start = i64::from(self.warp().frame(group.frame).local_start);
                write_uniform(registers, *to, active, start.wrapping_add(*offset) as u64);
                Flow::Next
            }
            Action::ReadSpecial(special, to) => {
                let value = self.changing_special(*special, ran);
                write_uniform(registers, *to, active, value);
                Flow::Next
            }
            Action::IssueStore(barrier) => self.issue_store(registers, group, active, barrier),
            Action::Sleep => self.sleep(group),
            Action::Trap => self.trap(active),
            Action::Breakpoint => self.breakpoint(active),
            Action::Unsupported(index) => self.unsupported(active, *index),
            Action::Load(_)
            | Action::Store(_)
            | Action::Atomic(_)
            | Action::Barrier(_)
            | Action::Lanes(..)
            | Action::BeforeBranch(..)
            | Action::Branch(_)
            | Action::Nothing => Flow::Next,
        }
    }

    #[inline(always)]
    pub(crate) fn operate_load(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        access: &Access,
    ) -> Flow {
        let at = at(access, Direction::Load, group, active);
        if self.defers() && self.begins_copy(group.position) {
            return Flow::Next;
        }
        if self.weak().is_some() {
            match self.put_off(registers, &at) {
                Ok(true) => {
                    group.position += 1;
                    return Flow::Jump;
                }
                Ok(false) => {}
                Err(fault) => return Flow::Fault(fault),
            }
        }
        if access.strong && self.wants(Wants::MBARRIERS) {
            self.tell_of_question(registers, &at);
        }
        let done = self.load(registers, &at);
        if access.spins && done.is_ok() && self.worker.spin() {
            group.position += 1;
            return Flow::EndTurn;
        }
        self.accessed(group, done)
    }

    #[inline(always)]
    pub(crate) fn operate_store(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        access: &Access,
    ) -> Flow {
        if self.defers() && access.asynchronous != Asynchronous::No {
            self.put_under_way(group, active);
            return Flow::Next;
        }
        let done = self.store(registers, &at(access, Direction::Store, group, active));
        self.accessed(group, done)
    }

    #[inline(always)]
    pub(crate) fn operate_atomic(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        atomic: &Atomic,
    ) -> Flow {
        if self.defers() && atomic.access.asynchronous != Asynchronous::No {
            self.put_under_way(group, active);
            return Flow::Next;
        }
        let done = self.atomic(registers, at(&atomic.access, Direction::Atomic, group, active), atomic);
        self.accessed(group, done)
    }

    /// An access is done; with tools it may have taken long.
    #[inline(always)]
    fn accessed(&mut self, group: &mut Group, done: Checked) -> Flow {
        match done {
            Ok(()) if O::ACTIVE => self.spent(group, HEAVY),
            Ok(()) => Flow::Next,
            Err(fault) => Flow::Fault(fault),
        }
    }

    fn operate_copy(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        index: u32,
    ) -> Flow {
        let copy = &self.worker.grid.code.copies[index as usize];
        if let Some(fault) = self.wrong_size(registers, active, copy) {
            self.note(group, fault);
        }
        if self.defers() {
            self.put_under_way(group, active);
            return Flow::Next;
        }
        match self.copy(registers, at(&copy.from, Direction::Load, group, active), copy) {
            Ok(()) => {
                if copy.again {
                    self.remember_copy(registers, group, active, copy);
                }
                self.spent(group, HEAVY)
            }
            Err(fault) => Flow::Fault(fault),
        }
    }

    /// After an instruction that may take long: the launch may be over.
    #[inline(always)]
    pub(crate) fn spent(&mut self, group: &mut Group, work: u64) -> Flow {
        if self.worker.spend(work) {
            group.position += 1;
            return Flow::Switch;
        }
        Flow::Next
    }

    /// Lanes whose guard is false go on alone when the others leave the straight path.
    fn leave_rest(&mut self, group: &mut Group, active: LaneMask) {
        let rest = group.lanes & !active;
        if rest != 0 {
            let position = group.position + 1;
            self.warp_mut().fork(group, position, rest);
            group.lanes = active;
        }
    }
}

#[inline(always)]
fn at<'a>(access: &'a Access, direction: Direction, group: &Group, lanes: LaneMask) -> At<'a> {
    At { access, direction, lanes, peer: None, position: group.position, frame: group.frame }
}
