//! The device runtime: `vprintf`, `__assertfail`, `malloc`, `free` (CUDA C++ programming guide,
//! "Formatted output", "Assertion", "Dynamic global memory allocation").

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use super::at::Checked;
use super::masks::each_lane;
use super::printf;
use crate::code::{ParamSlot, RuntimeFunction};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::FrameId;
use crate::machine::heap::FreeError;
use crate::machine::warp::Group;
use crate::memory::AllocationKind;
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::{LaneMask, Registers};
use semantics::window;

/// Longest string that a message takes from a kernel's memory.
const MAX_STRING: usize = 4096;
/// Bytes that a launch may print; a device keeps 1 MB of it unless it is told otherwise.
const MAX_OUTPUT: u64 = 64 << 20;

impl<O: Observer> Machine<'_, '_, O> {
    pub(crate) fn call_runtime(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        lanes: LaneMask,
        function: RuntimeFunction,
        site: u32,
    ) -> Checked {
        let code = self.worker.grid.code;
        let site = &code.call_sites[site as usize];
        let argument = |machine: &Self, at: usize, lane: usize| {
            site.arguments.get(at).map_or(0, |&slot| machine.parameter(registers, group.frame, slot, lane))
        };
        let mut results = [0u64; 32];
        match function {
            RuntimeFunction::Launches(function) => {
                let mut rest = lanes;
                while rest != 0 {
                    let lane = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    results[lane] = self.call_launches(registers, group, lane, function, site)?;
                }
            }
            RuntimeFunction::Printf => {
                let mut arguments = [(0, 0); 32];
                each_lane(lanes, |lane| arguments[lane] = (argument(self, 0, lane), argument(self, 1, lane)));
                let mut rest = lanes;
                while rest != 0 {
                    let lane = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let (format, values) = arguments[lane];
                    let Some(format) = self.string(group.frame, lane, format) else {
                        let text = format!("`printf` with a format at {format:#x}, which is not readable");
                        return Err(Box::new(Fault::new(FindingKind::OutOfBounds, 1 << lane, text)));
                    };
                    let mut text = Vec::new();
                    let unreadable = Cell::new(None);
                    let count = printf::format(
                        &mut text,
                        &format,
                        |at, bytes| self.bytes(group.frame, lane, values.wrapping_add(at), bytes),
                        |address| {
                            let string = self.string(group.frame, lane, address);
                            unreadable.set(unreadable.get().or(string.is_none().then_some(address)));
                            string
                        },
                    );
                    if let Some(address) = unreadable.get() {
                        let text = format!("`printf` of a string at {address:#x}, which is not readable");
                        return Err(Box::new(Fault::new(FindingKind::OutOfBounds, 1 << lane, text)));
                    }
                    self.print(&text);
                    results[lane] = u64::from(count);
                }
            }
            RuntimeFunction::AssertFail => {
                let lane = lanes.trailing_zeros() as usize;
                let text = |machine: &Self, at: usize| {
                    let address = argument(machine, at, lane);
                    let bytes = machine.string(group.frame, lane, address).unwrap_or_default();
                    String::from_utf8_lossy(&bytes).into_owned()
                };
                let line = argument(self, 2, lane) as u32;
                let message = format!(
                    "{}:{line}: {}: assertion `{}` failed",
                    text(self, 1),
                    text(self, 3),
                    text(self, 0)
                );
                return Err(Box::new(Fault::new(FindingKind::AssertionFailed, lanes, message)));
            }
            RuntimeFunction::Malloc => {
                let mut sizes = [0; 32];
                each_lane(lanes, |lane| sizes[lane] = argument(self, 0, lane));
                self.place_heap();
                let heap = self.worker.grid.heap;
                each_lane(lanes, |lane| results[lane] = heap.malloc(sizes[lane]).unwrap_or(0));
                let got = (0..32).fold(0, |got, lane| got | u32::from(results[lane] != 0) << lane);
                if self.wants(Wants::ALLOCATIONS) {
                    // The heap may be new, too.
                    self.worker.look_again();
                    each_lane(lanes & got, |lane| {
                        let event = Event::Allocated { address: results[lane], bytes: sizes[lane] };
                        self.tell(Wants::ALLOCATIONS, group.frame, &event);
                    });
                }
            }
            RuntimeFunction::Free => {
                let mut addresses = [0; 32];
                each_lane(lanes, |lane| addresses[lane] = argument(self, 0, lane));
                let heap = self.worker.grid.heap;
                let (mut fault, mut ignored) = (None, None);
                each_lane(lanes, |lane| {
                    let address = addresses[lane];
                    if address != 0
                        && fault.is_none()
                        && let Err(error) = heap.free(address)
                    {
                        let nowhere = format!("`free` of {address:#x}, which no `malloc` returned");
                        let one = |kind, text| Fault::new(kind, 1 << lane, text);
                        let global = matches!(window::of(address), window::Window::Global);
                        match error {
                            FreeError::Double => {
                                let text = format!("`free` of {address:#x}, which was freed before");
                                fault = Some(Box::new(one(FindingKind::DoubleFree, text)));
                            }
                            FreeError::Outside if global => {
                                fault = Some(Box::new(one(FindingKind::InvalidFree, nowhere)));
                            }
                            // An H200 does nothing.
                            FreeError::Inside | FreeError::Outside => {
                                ignored = Some(one(FindingKind::UndefinedBehavior, nowhere));
                            }
                        }
                    }
                });
                if let Some(fault) = ignored {
                    self.note(group, fault);
                }
                if let Some(fault) = fault {
                    return Err(fault);
                }
            }
        }
        if let Some(&to) = site.results.first() {
            self.return_value(registers, group.frame, to, lanes, &results);
        }
        Ok(())
    }

    /// Keeps what a thread prints.
    fn print(&mut self, text: &[u8]) {
        let before = self.worker.grid.printed.fetch_add(text.len() as u64, Relaxed);
        if before < MAX_OUTPUT {
            self.cta.output.extend_from_slice(text);
            if before + text.len() as u64 >= MAX_OUTPUT {
                self.cta
                    .output
                    .extend_from_slice(b"\n[the kernel printed more than 64 MiB: the rest is left out]\n");
            }
        }
    }

    /// Makes the heap's memory, at the first `malloc` of the device.
    fn place_heap(&mut self) {
        let grid = self.worker.grid;
        let bytes = grid.heap.wanted().unwrap_or(grid.config.heap);
        if !grid.heap.is_placed()
            && let Ok(start) = grid.memory.alloc(bytes, "malloc heap", AllocationKind::Heap)
        {
            grid.heap.place(start, bytes);
        }
    }

    pub(super) fn parameter(
        &self,
        registers: &Registers,
        frame: FrameId,
        slot: ParamSlot,
        lane: usize,
    ) -> u64 {
        match slot {
            ParamSlot::Register(register) if register.rows == 2 => registers.lane::<u64>(register.slot, lane),
            ParamSlot::Register(register) if register.rows == 1 => {
                u64::from(registers.lane::<u32>(register.slot, lane))
            }
            ParamSlot::Register(_) => 0,
            ParamSlot::Local { offset, size } => {
                let warp = self.warp();
                let first = (warp.frame(frame).local_start + offset) as usize / 4;
                let low = u64::from(warp.local[first].0[lane]);
                if size > 4 { low | u64::from(warp.local[first + 1].0[lane]) << 32 } else { low }
            }
        }
    }

    fn return_value(
        &mut self,
        registers: &mut Registers,
        frame: FrameId,
        to: ParamSlot,
        lanes: LaneMask,
        values: &[u64; 32],
    ) {
        self.mark_written(frame, to, lanes);
        match to {
            ParamSlot::Register(register) if register.rows == 2 => {
                registers.write(register.slot, lanes, values)
            }
            ParamSlot::Register(register) if register.rows == 1 => {
                registers.write(register.slot, lanes, &values.map(|value| value as u32));
            }
            ParamSlot::Register(_) => {}
            ParamSlot::Local { offset, size } => {
                let warp = self.warp_mut();
                let first = (warp.frame(frame).local_start + offset) as usize / 4;
                for word in 0..size.div_ceil(4).min(2) as usize {
                    let row = &mut warp.local[first + word];
                    each_lane(lanes, |lane| row.0[lane] = (values[lane] >> (32 * word)) as u32);
                }
            }
        }
    }

    /// Up to 8 bytes at a generic address; `None` if they are not all readable.
    fn bytes(&self, frame: FrameId, lane: usize, address: u64, count: u32) -> Option<u64> {
        let _ = frame;
        let mut value = 0;
        for at in 0..count {
            value |= u64::from(self.byte(lane, address.wrapping_add(u64::from(at)))?) << (8 * at);
        }
        Some(value)
    }

    fn byte(&self, lane: usize, address: u64) -> Option<u8> {
        match window::of(address) {
            window::Window::Global => {
                // The format strings are in the module's variables; a stale snapshot still has them.
                let allocation = self.worker.snapshot.table.find(address, 1)?;
                Some(allocation.cells.load(address - allocation.base, 1) as u8)
            }
            window::Window::Shared(offset) => self.cta.shared.bytes().get(offset as usize).copied(),
            window::Window::Local(offset) => {
                let row = self.warp().local.get(offset as usize / 4)?;
                Some((row.0[lane] >> (8 * (offset & 3))) as u8)
            }
            window::Window::Param(offset) => self.worker.params.get(offset as usize).copied(),
        }
    }

    /// A NUL-terminated string, cut off at [`MAX_STRING`].
    fn string(&self, _frame: FrameId, lane: usize, address: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < MAX_STRING {
            match self.byte(lane, address.wrapping_add(text.len() as u64))? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Some(text)
    }
}
