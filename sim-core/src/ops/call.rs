//! Calls: frames, arguments, the stack.

use super::at::Checked;
use super::flow::Flow;
use super::masks::each_lane;
use super::masks::lanes_with;
use crate::code::{ParamSlot, RegisterSlot};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::{FrameId, ROOT};
use crate::machine::warp::{Group, MAX_LOCAL_BYTES, Wait};
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::{LaneMask, Registers, Slot};

/// What a call counts as, of the instructions between two looks at the clock: memory may grow.
const CALL: u64 = 64;

impl<O: Observer> Machine<'_, '_, O> {
    /// Goes on in a function.
    pub(crate) fn enter(&mut self, group: &mut Group, function: u32, site: u32) -> Flow {
        match self.call(group, function, site) {
            Ok(()) if self.worker.spend(CALL) => Flow::Switch,
            Ok(()) => Flow::Jump,
            Err(fault) => Flow::Fault(fault),
        }
    }

    /// Each callee is called by its own group.
    pub(crate) fn call_indirect(
        &mut self,
        registers: &Registers,
        group: &mut Group,
        active: LaneMask,
        target: Slot,
        site: u32,
    ) -> Flow {
        self.leave_rest(group, active);
        let targets = registers.read::<u64>(target);
        let first = targets[active.trailing_zeros() as usize & 31];
        let same = lanes_with(&targets, first) & active;
        let others = active & !same;
        if others != 0 {
            let position = group.position;
            self.warp_mut().fork(group, position, others);
            group.lanes = same;
        }
        let Some(&function) = self.worker.grid.functions_by_address.get(&first) else {
            let text = format!("indirect call of {first:#x}, which is not the address of a function");
            return Flow::fault(Fault::new(FindingKind::InvalidTarget, same, text));
        };
        self.enter(group, function, site)
    }

    /// `ret`: back to the caller, or the end of the thread.
    pub(crate) fn return_from(&mut self, group: &mut Group, active: LaneMask) -> Flow {
        if group.frame == ROOT {
            return self.exit(group, active);
        }
        self.leave_rest(group, active);
        self.leave(group);
        // Others may be deeper.
        if self.warp().groups.len() > 1 { Flow::Switch } else { Flow::Jump }
    }

    /// Moves a group into a function and its arguments with it.
    pub(crate) fn call(&mut self, group: &mut Group, function: u32, site: u32) -> Checked {
        let code = self.worker.grid.code;
        let caller = group.frame;
        let return_to = group.position + 1;
        let Some(frame) = self.warp_mut().enter(code, caller, function, return_to, site, group.lanes) else {
            let depth = self.warp().frame(caller).depth;
            let text = format!(
                "the call chain is {depth} calls deep and needs more local memory or registers than a thread may have"
            );
            return Err(Box::new(Fault::new(FindingKind::StackOverflow, group.lanes, text)));
        };
        let callee = &code.functions[function as usize];
        let arguments = &code.call_sites[site as usize].arguments;
        if arguments.len() != callee.params.len() {
            let name = &code.module.functions[callee.id.index()].name;
            let text = format!(
                "a call passes {} arguments to `{name}`, which takes {}",
                arguments.len(),
                callee.params.len()
            );
            return Err(Box::new(Fault::new(FindingKind::InvalidTarget, group.lanes, text)));
        }
        self.warp_mut().hold(frame);
        for (from, to) in arguments.iter().zip(&callee.params) {
            self.pass(caller, *from, frame, *to, group.lanes);
        }
        // The caller's frame is kept alive by the callee's.
        self.warp_mut().release(caller);
        group.frame = frame;
        group.position = callee.start;
        Ok(())
    }

    /// Moves a group back to its caller, and the results with it.
    pub(crate) fn leave(&mut self, group: &mut Group) {
        let code = self.worker.grid.code;
        let frame = *self.warp().frame(group.frame);
        let results = &code.call_sites[frame.site as usize].results;
        for (from, to) in code.functions[frame.function as usize].returns.iter().zip(results) {
            self.pass(group.frame, *from, frame.parent, *to, group.lanes);
        }
        self.warp_mut().hold(frame.parent);
        self.warp_mut().release(group.frame);
        group.frame = frame.parent;
        group.position = frame.return_to;
    }

    /// Copies a parameter between frames, for some lanes.
    fn pass(
        &mut self,
        from_frame: FrameId,
        from: ParamSlot,
        to_frame: FrameId,
        to: ParamSlot,
        lanes: LaneMask,
    ) {
        self.mark_written(to_frame, to, lanes);
        match (from, to) {
            (ParamSlot::Local { offset: a, size: n }, ParamSlot::Local { offset: b, size: m }) => {
                let warp = self.warp_mut();
                let a = (warp.frame(from_frame).local_start + a) as usize / 4;
                let b = (warp.frame(to_frame).local_start + b) as usize / 4;
                for word in 0..n.min(m).div_ceil(4) as usize {
                    let row = warp.local[a + word];
                    let target = &mut warp.local[b + word];
                    each_lane(lanes, |lane| target.0[lane] = row.0[lane]);
                }
            }
            (ParamSlot::Register(a), ParamSlot::Register(b)) => {
                let words = self.read_register(from_frame, a);
                self.write_register(to_frame, b, lanes, &words);
            }
            (ParamSlot::Register(a), ParamSlot::Local { offset, size }) => {
                let words = self.read_register(from_frame, a);
                let warp = self.warp_mut();
                let first = (warp.frame(to_frame).local_start + offset) as usize / 4;
                for word in 0..size.div_ceil(4).min(2) as usize {
                    let target = &mut warp.local[first + word];
                    each_lane(lanes, |lane| target.0[lane] = (words[lane] >> (32 * word)) as u32);
                }
            }
            (ParamSlot::Local { offset, size }, ParamSlot::Register(b)) => {
                let warp = self.warp();
                let first = (warp.frame(from_frame).local_start + offset) as usize / 4;
                let mut words = [0u64; 32];
                for word in 0..size.div_ceil(4).min(2) as usize {
                    each_lane(lanes, |lane| {
                        words[lane] |= u64::from(warp.local[first + word].0[lane]) << (32 * word);
                    });
                }
                self.write_register(to_frame, b, lanes, &words);
            }
        }
    }

    /// Tells tools that a parameter was given its value.
    #[inline(always)]
    pub(crate) fn mark_written(&mut self, to_frame: FrameId, to: ParamSlot, lanes: LaneMask) {
        if self.wants(Wants::PARAMETERS)
            && let ParamSlot::Local { offset, size } = to
        {
            let offset = self.warp().frame(to_frame).local_start + offset;
            let event = Event::ParameterPassed { warp: self.warp_id(), lanes, offset, bytes: size };
            self.tell(Wants::PARAMETERS, to_frame, &event);
        }
    }

    fn read_register(&mut self, frame: FrameId, register: RegisterSlot) -> [u64; 32] {
        let registers = self.registers(frame);
        match register.rows {
            2 => registers.read(register.slot),
            1 => registers.read::<u32>(register.slot).map(u64::from),
            _ => [0; 32],
        }
    }

    fn write_register(&mut self, frame: FrameId, register: RegisterSlot, lanes: LaneMask, words: &[u64; 32]) {
        let mut registers = self.registers(frame);
        match register.rows {
            2 => registers.write(register.slot, lanes, words),
            1 => registers.write(register.slot, lanes, &words.map(|word| word as u32)),
            _ => {}
        }
    }

    /// `alloca`: the same block for all lanes, as large as the largest asks for.
    pub(crate) fn alloca(
        &mut self,
        registers: &Registers,
        group: &Group,
        lanes: LaneMask,
        size: RegisterSlot,
        align: u32,
    ) -> Checked<u32> {
        let sizes = match size.rows {
            2 => registers.read::<u64>(size.slot),
            _ => registers.read::<u32>(size.slot).map(u64::from),
        };
        let mut most = 0;
        each_lane(lanes, |lane| most = sizes[lane].max(most));
        let align = align.clamp(4, 1 << 16).next_power_of_two();
        let warp = self.warp_mut();
        let start = warp.frame(group.frame).local_end.next_multiple_of(align);
        let end = u64::from(start).saturating_add(most);
        if end > u64::from(MAX_LOCAL_BYTES) {
            let text = format!(
                "`alloca` of {most} bytes: a thread may have {MAX_LOCAL_BYTES} bytes of local memory"
            );
            return Err(Box::new(Fault::new(FindingKind::StackOverflow, lanes, text)));
        }
        warp.frames[group.frame.0 as usize].local_end = end as u32;
        warp.reserve_local(end as u32);
        Ok(start)
    }

    /// `stackrestore`: takes effect when no other group is in the frame.
    pub(crate) fn stack_restore(
        &mut self,
        registers: &Registers,
        group: &Group,
        lanes: LaneMask,
        from: RegisterSlot,
    ) {
        let values = match from.rows {
            2 => registers.read::<u64>(from.slot),
            _ => registers.read::<u32>(from.slot).map(u64::from),
        };
        let mut most = 0;
        each_lane(lanes, |lane| most = values[lane].max(most));
        let alone =
            self.warp().groups.iter().all(|other| other.wait == Wait::Running || other.frame != group.frame);
        let code = self.worker.grid.code;
        let frame = &mut self.warp_mut().frames[group.frame.0 as usize];
        let least = frame.local_start + code.functions[frame.function as usize].local_bytes;
        if alone && most >= u64::from(least) && most <= u64::from(frame.local_end) {
            frame.local_end = most as u32;
        }
    }
}
