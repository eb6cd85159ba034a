//! The functions of CUDA's device runtime by which kernels launch (CUDA programming guide, "Dynamic parallelism",
//! "Device graph launch", "Conditional graph nodes").

use ptx_frontend::FuncId;

use super::at::Checked;
use crate::around::{GraphLaunch, NodeUpdate};
use crate::code::{CallSite, Code, LaunchFunction, ParamSlot};
use crate::error::{Error, LaunchError};
use crate::finding::FindingKind;
use crate::launch::{Dim3, Launch};
use crate::machine::Machine;
use crate::machine::fault::{Fault, place};
use crate::machine::frame::{FrameId, ROOT};
use crate::machine::launches::{Prepared, Thread, most_threads};
use crate::machine::warp::Group;
use crate::observer::Observer;
use crate::tools::{Event, Wants};
use semantics::lanes::Registers;

/// Codes of `cudaError_t`.
mod codes {
    pub(super) const INVALID_VALUE: u32 = 1;
    pub(super) const MEMORY_ALLOCATION: u32 = 2;
    pub(super) const INVALID_CONFIGURATION: u32 = 9;
    pub(super) const PENDING_LAUNCHES: u32 = 69;
    pub(super) const INVALID_DEVICE: u32 = 101;
    pub(super) const UNSUPPORTED_LIMIT: u32 = 215;
    pub(super) const OUT_OF_RESOURCES: u32 = 701;
    pub(super) const INVALID_CLUSTER_SIZE: u32 = 912;
}

/// Launches that may wait, unless the program sets `cudaLimitDevRuntimePendingLaunchCount`.
const MOST_PENDING: u64 = 2048;
/// The number of that limit.
const PENDING_LIMIT: i32 = 4;

/// Streams that have a meaning of their own.
const NULL_STREAM: u64 = 0;
const LEGACY_STREAM: u64 = 1;
const PER_THREAD_STREAM: u64 = 2;
const TAIL_LAUNCH: u64 = 3;
const FIRE_AND_FORGET: u64 = 4;
const GRAPH_TAIL_LAUNCH: u64 = 0x0100_0000_0000_0000;
const GRAPH_FIRE_AND_FORGET: u64 = 0x0200_0000_0000_0000;
const GRAPH_AS_SIBLING: u64 = 0x0300_0000_0000_0000;

/// `cudaStreamNonBlocking`, which a kernel's streams are whatever they are asked to be; `cudaEventDisableTiming`, which its
/// events must be.
const NON_BLOCKING: u32 = 1;
const DISABLE_TIMING: u32 = 2;
const BLOCKING_SYNC: u32 = 1;

/// What is asked of the device besides its attributes (`ptx-frontend/src/device_runtime/launches.cu`).
const DEVICE: i32 = -1;
const COUNT: i32 = -2;
const VERSION: i32 = -3;
/// What the device runtime of CUDA 12 and 13 answers.
const VERSION_OF_RUNTIME: u64 = 6000;

/// A call by one lane.
#[derive(Clone, Copy)]
struct One<'a> {
    site: &'a CallSite,
    frame: FrameId,
    position: u32,
    lane: usize,
    thread: Thread,
}

/// A code, as the device runtime's negative answers.
fn refused(code: u32) -> u64 {
    (-i64::from(code)) as u64
}

impl<O: Observer> Machine<'_, '_, O> {
    /// What a call of a lane returns.
    pub(super) fn call_launches(
        &mut self,
        registers: &Registers,
        group: &Group,
        lane: usize,
        function: LaunchFunction,
        site: &CallSite,
    ) -> Checked<u64> {
        use LaunchFunction as F;
        let (frame, position) = (group.frame, group.position);
        let thread = (self.cta.index, (self.index * 32 + lane) as u32);
        let one = One { site, frame, position, lane, thread };
        let argument = |at: usize| {
            site.arguments.get(at).map_or(0, |&slot| self.parameter(registers, frame, slot, lane))
        };
        let launches = self.worker.grid.launches;
        let code = match function {
            F::LastError => {
                let code = launches.error(thread);
                launches.set_error(thread, 0);
                return Ok(code.into());
            }
            F::PeekError => return Ok(launches.error(thread).into()),
            F::SetError => argument(0) as u32,
            F::ErrorName | F::ErrorText => {
                let code = argument(0) as u32;
                return self.error_text(one, code, function == F::ErrorName);
            }
            F::Buffer => {
                let grid = self.extents(registers, one, 1);
                let block = self.extents(registers, one, 2);
                let (kernel, shared) = (argument(0), argument(3) as u32);
                self.is_kernel(one, kernel)?;
                return Ok(match self.prepare(kernel, grid, block, shared) {
                    Ok(buffer) => buffer,
                    Err(code) => {
                        launches.set_error(thread, code);
                        0
                    }
                });
            }
            F::BufferOfSize => {
                let bytes = argument(1);
                return Ok(self.buffer(None, bytes).unwrap_or(0));
            }
            F::Launch => self.launch(one, argument(0), argument(1)),
            F::LaunchKernel => {
                let grid = self.extents(registers, one, 2);
                let block = self.extents(registers, one, 3);
                let (kernel, buffer, shared, stream) =
                    (argument(0), argument(1), argument(4) as u32, argument(5));
                self.launch_kernel(one, kernel, buffer, grid, block, shared, stream)
            }
            F::StreamCreate if argument(0) as u32 > NON_BLOCKING => {
                launches.set_error(thread, codes::INVALID_VALUE);
                return Ok(0);
            }
            F::StreamCreate => return Ok(launches.add_stream()),
            // Blocking waits are the host's; it may ask for them.
            F::EventCreate if argument(0) as u32 & !BLOCKING_SYNC != DISABLE_TIMING => {
                launches.set_error(thread, codes::INVALID_VALUE);
                return Ok(0);
            }
            F::EventCreate => return Ok(launches.add_event()),
            // What is launched into it afterwards still runs.
            F::StreamDestroy if launches.has_stream(argument(0)) => 0,
            F::EventDestroy if launches.remove_event(argument(0)) => 0,
            F::StreamDestroy | F::EventDestroy => codes::INVALID_VALUE,
            F::StreamWait => {
                let known = self.is_stream(argument(0)) && launches.has_event(argument(1));
                if known { 0 } else { codes::INVALID_VALUE }
            }
            F::EventRecord => {
                let known = launches.has_event(argument(0)) && self.is_stream(argument(1));
                if known { 0 } else { codes::INVALID_VALUE }
            }
            F::Device => return self.ask_device(one, argument(0) as i32, argument(1) as i32),
            F::Limit => {
                return Ok(self.limit(argument(0) as i32).unwrap_or(refused(codes::UNSUPPORTED_LIMIT)));
            }
            F::Kernel => return Ok(self.ask_kernel(argument(0), argument(1) as i32).unwrap_or_else(refused)),
            F::Occupancy => {
                let (kernel, threads, shared) = (argument(0), argument(1) as i32, argument(2));
                return Ok(self.occupancy(kernel, threads, shared).unwrap_or_else(refused));
            }
            F::IgnoredValue => {
                self.note_ignored(group, lane, argument(0) as u32);
                return Ok(0);
            }
            F::LaunchGraph => {
                let how = match argument(1) {
                    GRAPH_TAIL_LAUNCH => Some(GraphLaunch::Tail),
                    GRAPH_FIRE_AND_FORGET => Some(GraphLaunch::FireAndForget),
                    GRAPH_AS_SIBLING => Some(GraphLaunch::Sibling),
                    _ => None,
                };
                let Some(around) = &self.worker.grid.options.around else {
                    return Err(self.alone(one, "`cudaGraphLaunch`"));
                };
                return Ok(match how {
                    Some(how) => around.launch_graph(argument(0), how).map_or_else(u64::from, |()| 0),
                    None => codes::INVALID_VALUE.into(),
                });
            }
            F::NodeParameter | F::NodeGrid | F::NodeEnabled => {
                let word = |at| argument(at) as u32;
                let update = match function {
                    F::NodeGrid => NodeUpdate::Grid(Dim3::new(word(1), word(2), word(3))),
                    F::NodeEnabled => NodeUpdate::Enabled(word(1) != 0),
                    _ => NodeUpdate::Parameter { offset: argument(1), bytes: word(2), value: argument(3) },
                };
                let Some(around) = &self.worker.grid.options.around else {
                    return Err(self.alone(one, "an update of a graph's node"));
                };
                return Ok(around.update_node(argument(0), update).map_or_else(u64::from, |()| 0));
            }
            F::SetCondition => {
                let (handle, value) = (argument(0), argument(1) as u32);
                let Some(around) = &self.worker.grid.options.around else {
                    return Err(self.alone(one, "`cudaGraphSetConditional`"));
                };
                if !around.set_condition(handle, value) {
                    let text = format!(
                        "`cudaGraphSetConditional` of {handle:#x}, which is no handle of a condition of its graph"
                    );
                    return Err(Box::new(Fault::new(FindingKind::InvalidTarget, 1 << lane, text)));
                }
                return Ok(0);
            }
        };
        if code != 0 {
            launches.set_error(thread, code);
        }
        Ok(code.into())
    }

    /// Reports a fill with zeros where another value was asked for, at the call by the program.
    fn note_ignored(&mut self, group: &Group, lane: usize, value: u32) {
        let grid = self.worker.grid;
        let function = place(grid.code, None, group.position).function;
        let name = function.trim_start_matches("__cudaCDP2").trim_end_matches("_ptsz");
        let text = format!("`cuda{name}` of the value {:#04x}, by a kernel, writes zeros", value & 0xff);
        let note = "CUDA's device runtime drops the value, and so does this simulator; a kernel of one's own can write it";
        let fault = Fault::new(FindingKind::IgnoredValue, 1 << lane, text).note(note);
        let (frame, position) = match group.frame {
            ROOT => (ROOT, group.position),
            library => {
                let library = *self.warp().frame(library);
                (library.parent, library.return_to.saturating_sub(1))
            }
        };
        let finding = grid.finding(self.cta, self.index, frame, position, fault);
        self.found(finding);
    }

    /// Whether there is a kernel at an address. A device accesses what is there.
    fn is_kernel(&self, one: One<'_>, address: u64) -> Checked {
        if self.worker.grid.launches.kernels.find(address).is_some() {
            return Ok(());
        }
        let kind = if address == 0 { FindingKind::NullPointer } else { FindingKind::InvalidTarget };
        let text = format!("launch of {address:#x}, which is not the address of a kernel of this module");
        Err(Box::new(Fault::new(kind, 1 << one.lane, text)))
    }

    /// What only whole programs have.
    fn alone(&self, one: One<'_>, what: &str) -> Box<Fault> {
        let text =
            format!("{what} in a kernel that is launched alone: only a whole program has what it is about");
        Box::new(Fault::new(FindingKind::Unsupported, 1 << one.lane, text))
    }

    /// A `dim3` among the arguments.
    fn extents(&self, registers: &Registers, one: One<'_>, at: usize) -> Dim3 {
        let Some(&slot) = one.site.arguments.get(at) else { return Dim3::ONE };
        match slot {
            ParamSlot::Local { offset, .. } => {
                let word = |word: u32| {
                    let slot = ParamSlot::Local { offset: offset + 4 * word, size: 4 };
                    self.parameter(registers, one.frame, slot, one.lane) as u32
                };
                Dim3::new(word(0), word(1), word(2))
            }
            ParamSlot::Register(_) => Dim3::ONE,
        }
    }

    /// Memory for the parameters of a launch, if that is possible.
    fn prepare(&mut self, address: u64, grid: Dim3, block: Dim3, shared_bytes: u32) -> Result<u64, u32> {
        let (launch, bytes) = self.checked(address, grid, block, shared_bytes)?;
        self.buffer(Some(launch), bytes).ok_or(codes::MEMORY_ALLOCATION)
    }

    fn buffer(&mut self, launch: Option<Launch>, bytes: u64) -> Option<u64> {
        let grid = self.worker.grid;
        let buffer = grid.launches.buffers.take(grid.memory, bytes).ok()?;
        grid.launches.prepare(buffer, Prepared { launch, bytes });
        self.worker.look_again();
        if self.wants(Wants::ALLOCATIONS) {
            self.tell(Wants::ALLOCATIONS, ROOT, &Event::Allocated { address: buffer, bytes });
        }
        Some(buffer)
    }

    /// A launch without its parameters, and how many bytes they have.
    fn checked(
        &self,
        address: u64,
        grid: Dim3,
        block: Dim3,
        shared_bytes: u32,
    ) -> Result<(Launch, u64), u32> {
        let launches = self.worker.grid.launches;
        let (id, bytes) = launches.kernels.find(address).ok_or(codes::INVALID_VALUE)?;
        let code = launches.kernels.code(id).map_err(|_| codes::INVALID_VALUE)?;
        let launch = Launch {
            kernel: (&*code.module.functions[id.index()].name).into(),
            grid,
            cluster: None,
            block,
            shared_bytes,
            params: vec![0; bytes as usize],
            cooperative: false,
        };
        launches.kernels.check(&code, &launch).map_err(code_of)?;
        if shared_bytes > self.granted_shared(id, &code) {
            return Err(codes::INVALID_CONFIGURATION);
        }
        Ok((launch, bytes))
    }

    /// Dynamic shared memory that a kernel may have: what the program granted, or what 48 KiB leave.
    fn granted_shared(&self, kernel: FuncId, code: &Code) -> u32 {
        let name = &code.module.functions[kernel.index()].name;
        let around = self.worker.grid.options.around.as_ref();
        let unasked = self.worker.grid.config.shared_unasked.saturating_sub(code.shared.static_bytes);
        match around {
            Some(around) => around.granted_shared(name).unwrap_or(unasked),
            // Nobody could have said.
            None => u32::MAX,
        }
    }

    fn is_stream(&self, stream: u64) -> bool {
        matches!(stream, NULL_STREAM | PER_THREAD_STREAM) || self.worker.grid.launches.has_stream(stream)
    }

    /// Launches what a buffer was prepared for; the code.
    fn launch(&mut self, one: One<'_>, buffer: u64, stream: u64) -> u32 {
        let launches = self.worker.grid.launches;
        let Some(Prepared { launch: Some(mut launch), bytes }) = launches.prepared(buffer) else {
            return codes::INVALID_VALUE;
        };
        self.read_parameters(buffer, &mut launch.params);
        launches.buffers.give(buffer, bytes);
        self.queue(one, launch, stream)
    }

    #[allow(clippy::too_many_arguments, reason = "those of `cudaLaunchDevice`")]
    fn launch_kernel(
        &mut self,
        one: One<'_>,
        kernel: u64,
        buffer: u64,
        grid: Dim3,
        block: Dim3,
        shared_bytes: u32,
        stream: u64,
    ) -> u32 {
        let (mut launch, _) = match self.checked(kernel, grid, block, shared_bytes) {
            Ok(launch) => launch,
            Err(code) => return code,
        };
        if buffer != 0 {
            self.read_parameters(buffer, &mut launch.params);
            let launches = self.worker.grid.launches;
            if let Some(prepared) = launches.prepared(buffer) {
                launches.buffers.give(buffer, prepared.bytes);
            }
        }
        self.queue(one, launch, stream)
    }

    fn read_parameters(&self, buffer: u64, params: &mut [u8]) {
        let bytes = params.len() as u64;
        let read = |allocation: &crate::memory::Allocation, at| allocation.cells.read(at, params);
        // It lies where it was put.
        let _ = self.worker.grid.memory.with_range(buffer, bytes, "read", read);
    }

    fn queue(&mut self, one: One<'_>, launch: Launch, stream: u64) -> u32 {
        let grid = self.worker.grid;
        let tail = stream == TAIL_LAUNCH;
        let known = tail || matches!(stream, FIRE_AND_FORGET | LEGACY_STREAM) || self.is_stream(stream);
        if !known {
            return codes::INVALID_VALUE;
        }
        let most = self.limit(PENDING_LIMIT).unwrap_or(MOST_PENDING);
        let at = place(grid.code, Some((self.warp(), one.frame)), one.position);
        match grid.launches.queue(one.thread, launch, at, tail, most) {
            true => 0,
            false => codes::PENDING_LAUNCHES,
        }
    }

    /// A limit; without a program around, what a device has unasked.
    fn limit(&self, number: i32) -> Option<u64> {
        let grid = self.worker.grid;
        match (&grid.options.around, number) {
            (Some(around), _) => around.limit(number),
            (None, 0) => Some(1024),
            (None, 2) => Some(grid.config.heap),
            (None, PENDING_LIMIT) => Some(MOST_PENDING),
            _ => None,
        }
    }

    fn ask_device(&self, one: One<'_>, which: i32, device: i32) -> Checked<u64> {
        let around = self.worker.grid.options.around.as_ref();
        let (own, count) = around.map_or((0, 1), |around| around.device());
        Ok(match which {
            DEVICE => own as u64,
            COUNT => count as u64,
            VERSION => VERSION_OF_RUNTIME,
            // Nothing is preferred.
            ..0 => 0,
            _ => {
                let Some(around) = around else { return Err(self.alone(one, "`cudaDeviceGetAttribute`")) };
                match around.attribute(which) {
                    // A device looks one too far, and knows attribute 0.
                    _ if device == count || which == 0 && (0..count).contains(&device) => 0,
                    _ if !(0..count).contains(&device) => refused(codes::INVALID_DEVICE),
                    // Negative values would look like codes.
                    Some(value) => u64::from(value as u32),
                    None => refused(codes::INVALID_VALUE),
                }
            }
        })
    }

    /// The kernel at an address and its code.
    fn kernel_at(&self, address: u64) -> Result<(FuncId, std::sync::Arc<crate::code::Code>), u32> {
        let kernels = self.worker.grid.launches.kernels;
        let (id, _) = kernels.find(address).ok_or(codes::INVALID_VALUE)?;
        Ok((id, kernels.code(id).map_err(|_| codes::INVALID_VALUE)?))
    }

    /// Registers of a thread of a kernel: as the program is told, or estimated.
    fn kernel_registers(&self, code: &Code) -> u32 {
        let name = &code.module.functions[code.functions[0].id.index()].name;
        self.worker.grid.options.known_registers(name).unwrap_or(code.registers).clamp(16, 255)
    }

    /// Entries of `cudaFuncAttributes` in its order.
    fn ask_kernel(&self, address: u64, which: i32) -> Result<u64, u32> {
        let (_, code) = self.kernel_at(address)?;
        let config = self.worker.grid.config;
        let target = &code.module.target;
        Ok(match which {
            0 => code.shared.static_bytes.into(),
            1 => 0,
            2 => code.functions[0].local_bytes.into(),
            3 => most_threads(config, &code, self.kernel_registers(&code)).into(),
            4 => self.kernel_registers(&code).into(),
            5 => u64::from(target.sm),
            _ => u64::from(config.sm),
        })
    }

    fn occupancy(&self, address: u64, threads: i32, shared: u64) -> Result<u64, u32> {
        let (_, code) = self.kernel_at(address)?;
        let config = self.worker.grid.config;
        let threads =
            u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(codes::INVALID_VALUE)?;
        let shared = shared.saturating_add(code.shared.static_bytes.into());
        if threads > config.threads_per_block || shared > config.shared_per_block.into() {
            return Ok(0);
        }
        Ok(config.blocks_per_sm(threads, self.kernel_registers(&code), shared as u32).into())
    }

    /// Where the name or text of a code lies.
    fn error_text(&mut self, one: One<'_>, code: u32, name: bool) -> Checked<u64> {
        let grid = self.worker.grid;
        let Some(around) = &grid.options.around else {
            return Err(self.alone(one, "the text of an error"));
        };
        let text = around.error(code).map_or(
            "unrecognized error code",
            |(known, text)| {
                if name { known } else { text }
            },
        );
        let at = grid.launches.buffers.text(grid.memory, (code, name), text);
        self.worker.look_again();
        at.map_err(|error| Box::new(Fault::new(FindingKind::OutOfBounds, 1 << one.lane, error.to_string())))
    }
}

/// What a device says of a launch that is not possible.
fn code_of(error: Error) -> u32 {
    match error {
        Error::InvalidLaunch(error) if error.is_of_clusters() => codes::INVALID_CLUSTER_SIZE,
        Error::InvalidLaunch(LaunchError::Resources | LaunchError::Local { .. }) => codes::OUT_OF_RESOURCES,
        _ => codes::INVALID_CONFIGURATION,
    }
}
