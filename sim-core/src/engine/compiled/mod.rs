//! The compiled engine: runs of a warp in host code, as far as there is any.
//!
//! [`program`] says what of a kernel is compiled, [`team`] takes a block's warps there, [`barriers`] those of its barriers that wait
//! for a count of threads. Instructions that are not compiled leave host code, loads and stores that are not
//! of the common kind are done by [`crate::ops`] from within it, and count there as anywhere. It takes no part where
//! somebody looks on, where the schedule is random and where memory is weak.

mod barriers;
mod program;
mod team;

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use jit::{Compiled, Context, Kind, Progress, Runner, SPINS, Storage, Until, Window};
use smallvec::SmallVec;

use crate::code::{Action, Code, CodeFunction};
use crate::machine::Machine;
use crate::machine::frame::{Frame, FrameId, ROOT};
use crate::machine::grid::Grid;
use crate::machine::kept::CompiledFunction;
use crate::machine::warp::{BUSY, Group, SLICE};
use crate::machine::worker::Worker;
use crate::memory::Hint;
use crate::observer::Observer;
use crate::ops::flow::Flow;
use barriers::Barriers;
use program::{greatest_local, program};
use semantics::lanes::{LaneMask, Registers, SimdLevel};

// Code reads hints as windows.
const _: () = assert!(
    size_of::<Hint>() == size_of::<Window>()
        && std::mem::offset_of!(Hint, base) == std::mem::offset_of!(Window, base)
        && std::mem::offset_of!(Hint, size) == std::mem::offset_of!(Window, size)
        && std::mem::offset_of!(Hint, words) == std::mem::offset_of!(Window, words)
        && std::mem::offset_of!(Hint, writable) == std::mem::offset_of!(Window, writable)
);

/// Instructions of a kernel that is compiled, at most: code takes about half a kilobyte an instruction.
const MOST_STEPS: u64 = 20_000;

/// Steps that make it worth to enter code, for a warp alone and for one of several: doing so takes as long as
/// interpreting about so many.
const LEAST: [u32; 2] = [6, 8];

impl CompiledFunction {
    fn new(code: &Code, function: &CodeFunction, least: [u32; 2], level: SimdLevel) -> Option<Self> {
        if u64::from(function.end - function.start) > MOST_STEPS {
            return None;
        }
        let program = program(code, function, least, level);
        let counts = program.steps.iter().any(|step| matches!(step.kind, Kind::Arrive(_)));
        let (code, local) = (Compiled::new(&program, level)?, greatest_local(function));
        Some(CompiledFunction { code, start: function.start, local, counts })
    }

    /// The first position from `position` on, which is one of the function's, at which it is worth to begin; `u32::MAX` if there
    /// is none.
    #[inline(always)]
    pub(super) fn next(&self, position: u32, together: bool) -> u32 {
        self.code.next(position - self.start, together).saturating_add(self.start)
    }

    /// Whether it is worth to begin at a position, and the code there can end before it passes `stop` and after so many steps.
    #[inline(always)]
    pub(super) fn begins(&self, position: u32, stop: u32, most: u64, together: bool) -> bool {
        self.code.begins(position - self.start, stop.saturating_sub(self.start), most, together)
    }
}

/// What [`call`] needs.
struct Host<'x, 'a, 'g, O> {
    machine: &'x mut Machine<'a, 'g, O>,
    function: &'g CompiledFunction,
    frame: FrameId,
    context: *mut Context,
    /// Warps of the runners.
    warps: &'x [usize],
    /// What ended runs, and whose.
    flows: SmallVec<[(usize, Flow); 1]>,
    panic: Option<Box<dyn Any + Send>>,
}

/// What became of a step.
enum Done {
    /// The next one follows.
    Next,
    /// It ended the run.
    Ended(Flow),
    /// It is for another engine.
    Refused,
}

/// Does what an instruction does, from within compiled code.
///
/// # Safety
/// `host` points to a [`Host`] of this observer that nobody else uses meanwhile.
unsafe extern "C" fn call<O: Observer>(host: *mut c_void, position: u32, lanes: LaneMask) -> u32 {
    // SAFETY: the caller's.
    let host = unsafe { &mut *host.cast::<Host<'_, '_, '_, O>>() };
    let work = AssertUnwindSafe(|| host.step(position, lanes));
    // Nothing unwinds through compiled code.
    match catch_unwind(work) {
        Ok(Done::Next) => 0,
        Ok(Done::Refused) => 2,
        Ok(Done::Ended(flow)) => {
            // SAFETY: the context outlives the run; compiled code does not access it meanwhile.
            let (_, runner) = unsafe { (*host.context).current() };
            host.flows.push((runner, flow));
            1
        }
        Err(panic) => {
            host.panic = Some(panic);
            1
        }
    }
}

impl<O: Observer> Host<'_, '_, '_, O> {
    fn step(&mut self, position: u32, lanes: LaneMask) -> Done {
        // SAFETY: the context outlives the run; compiled code does not access it meanwhile. Rows and predicates are those that
        // slots were numbered for, and the warp's only ones in use.
        let (runner, all, mut registers) = unsafe {
            let context = &*self.context;
            let (runner, number) = context.current();
            let [frame, warp] = runner.rows;
            (number, runner.lanes, Registers::new(frame, warp, context.constants, runner.predicates))
        };
        let (registers, machine) = (&mut registers, &mut *self.machine);
        // SAFETY: as above.
        (machine.worker.waits, machine.worker.spins) =
            unsafe { ((*self.context).reads, (*self.context).spins) };
        machine.index = self.warps[runner];
        let code = machine.worker.grid.code;
        let position = self.function.start + position;
        let mut group = Group { frame: self.frame, ..Group::of_kernel(position, all) };
        let flow = match &code.insts[position as usize].action {
            Action::Lanes(run, operands) | Action::BeforeBranch(run, operands) => {
                // SAFETY: decoding took the function for a SIMD level that this CPU was found to have, and numbered its
                // slots within the kernel's frame.
                unsafe { run(registers, operands, lanes) };
                return Done::Next;
            }
            // The next one ends the turn.
            Action::Load(access) if access.spins && (machine.worker.spins + 1).is_multiple_of(SPINS) => {
                return Done::Refused;
            }
            Action::Load(access) => machine.operate_load(registers, &mut group, lanes, access),
            Action::Store(access) => machine.operate_store(registers, &mut group, lanes, access),
            Action::Atomic(atomic) => machine.operate_atomic(registers, &mut group, lanes, atomic),
            Action::Warp(op) => {
                let members = op.members.map_or(lanes, |slot| registers.lane::<u32>(slot, 0));
                if lanes & !members != 0 || members & machine.warp().live() & !lanes != 0 {
                    return Done::Refused;
                }
                machine.warp_operation(registers, &mut group, lanes, op)
            }
            Action::Matrix(_) if machine.warp().live() != lanes => return Done::Refused,
            action => machine.operate_rarely(registers, &mut group, lanes, action, 0),
        };
        // It may have looked at the allocations again, and accessed other ones.
        // SAFETY: as above; windows are those of the worker.
        unsafe {
            let context = &mut *self.context;
            context.fresh = machine.worker.snapshot.generation;
            (context.reads, context.spins) = (machine.worker.waits, machine.worker.spins);
            if context.changes != machine.worker.hint_changes {
                context.changes = machine.worker.hint_changes;
                self.function.code.compare_windows(context);
            }
        }
        if let Flow::Next = flow { Done::Next } else { Done::Ended(flow) }
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Compiles the kernel once it has run long enough.
    #[inline(always)]
    pub(super) fn warm_up(&mut self) {
        if !O::ACTIVE && self.compiled.is_none() && self.random.is_none() && self.grid.cold != u64::MAX {
            self.compile();
        }
    }

    #[cold]
    fn compile(&mut self) {
        let (grid, kernel) = (self.grid, self.grid.kernel);
        let heat = kernel.heat.load(Relaxed).saturating_add(self.stats.warp_instructions);
        if kernel.compiled[0].get().is_some() || heat >= grid.cold {
            self.compiled = grid.code_of(0);
        }
    }
}

impl<'g> Grid<'g> {
    /// Code of a function, made now if there is none yet.
    fn code_of(&self, function: u32) -> Option<&'g CompiledFunction> {
        let make = || {
            let least = if self.cold == 0 { [1; 2] } else { LEAST };
            CompiledFunction::new(self.code, &self.code.functions[function as usize], least, self.level)
        };
        self.kernel.compiled[function as usize].get_or_init(make).as_ref()
    }
}

impl<'g, O: Observer> Machine<'_, 'g, O> {
    /// Runs a group of the kernel itself from a position on at which code begins. What ended it, if that was an operation.
    pub(super) fn run_compiled(
        &mut self,
        function: &'g CompiledFunction,
        frame: FrameId,
        runner: &mut Runner,
        until: Until,
    ) -> Option<Flow> {
        let (warps, start) = ([self.index], function.start);
        runner.position -= start;
        let until = Until { stop: until.stop.saturating_sub(start), ..until };
        let mut flows = self.in_code(function, frame, &warps, |context| {
            // SAFETY: as `in_code` says, for the rows and predicates of this warp.
            unsafe { function.code.run_alone(context, runner, until) };
        });
        runner.position += start;
        runner.aside.iter_mut().for_each(|aside| aside.position += start);
        flows.1.pop().map(|(_, flow)| flow)
    }

    /// Where a warp has the registers of a frame, and the window of its lanes' own memory: in a variable of that frame, or if it
    /// has none of the nearest caller that has.
    #[inline(always)]
    pub(super) fn storage(&mut self, function: &CompiledFunction, warp: usize, frame: FrameId) -> Storage {
        let registers = self.registers_of(warp, frame);
        let warp = &mut self.cta.warps[warp];
        let of_frame =
            |[from, to]: [u32; 2], Frame { local_start, .. }: &Frame| [local_start + from, local_start + to];
        let mut window = of_frame(function.local, warp.frame(frame));
        if frame != ROOT && function.local == [0; 2] {
            let mut caller = *warp.frame(frame);
            while window[0] == window[1] && caller.depth > 0 {
                caller = *warp.frame(caller.parent);
                let function = &self.worker.grid.code.functions[caller.function as usize];
                window = of_frame(greatest_local(function), &caller);
            }
        }
        function.code.storage(&registers, &mut warp.local, window)
    }

    /// Runs whole warps, of these indices, as if all of a team made each step together, for about so many instructions in
    /// all; `all`: they are those of the block that live, pass its barriers and may end it. How far they came, and what ended runs.
    fn run_compiled_team(
        &mut self,
        compiled: &'g CompiledFunction,
        (runners, warps): (&mut [Runner], &[usize]),
        team: usize,
        most: u64,
        all: bool,
        barriers: Option<&mut Barriers>,
    ) -> (Progress, SmallVec<[(usize, Flow); 1]>) {
        self.in_code(compiled, ROOT, warps, |context| {
            if let Some(barriers) = &barriers {
                (context.counted, context.most_counted) = (barriers.counted, barriers.most);
            }
            // SAFETY: as `in_code` says, for the rows and predicates of these warps.
            let progress = unsafe { compiled.code.run_teams(context, runners, team, most, all) };
            if let Some(barriers) = barriers {
                barriers.counted = context.counted;
            }
            progress
        })
    }

    /// Runs code of warps in a context: hints are kept alive by the snapshot as long as its generation is the current one,
    /// and the block's memory as long as it runs; `call` gets the host that it is for.
    #[inline(always)]
    fn in_code<T>(
        &mut self,
        function: &'g CompiledFunction,
        frame: FrameId,
        warps: &[usize],
        run: impl FnOnce(&mut Context) -> T,
    ) -> (T, SmallVec<[(usize, Flow); 1]>) {
        let mut context = match self.worker.context.take() {
            Some(context) => context,
            None => Box::new(Context::new(std::ptr::null_mut(), call::<O>)),
        };
        // Those of the function's instructions.
        let windows = &self.worker.hints[function.start as usize..];
        (context.windows, context.changes) = (windows.as_ptr().cast(), self.worker.hint_changes);
        context.shared = self.shared_window();
        context.exclusive = self.worker.grid.exclusive;
        (context.patience, context.wary) = (BUSY, SLICE);
        context.most_counted = 0;
        (context.reads, context.spins) = (self.worker.waits, self.worker.spins);
        context.generation = self.worker.grid.memory.generation();
        context.fresh = self.worker.snapshot.generation;
        context.constants = self.worker.grid.constants.as_ptr().cast_mut();
        let place: *mut Context = &mut *context;
        let mut host = Host {
            machine: self,
            function,
            frame,
            context: place,
            warps,
            flows: SmallVec::new(),
            panic: None,
        };
        context.host = (&raw mut host).cast();
        let result = run(&mut context);
        let Host { flows, panic, .. } = host;
        (self.worker.waits, self.worker.spins) = (context.reads, context.spins);
        self.worker.context = Some(context);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        (result, flows)
    }

    /// The kernel's code, unless somebody looks on.
    #[inline(always)]
    pub(super) fn compiled(&self) -> Option<&'g CompiledFunction> {
        if O::ACTIVE { None } else { self.worker.compiled }
    }

    /// The code of the function of a frame, unless somebody looks on.
    #[inline(always)]
    pub(super) fn compiled_of(&self, frame: FrameId) -> Option<&'g CompiledFunction> {
        let kernel = self.compiled();
        match frame == ROOT {
            true => kernel,
            false => kernel.and_then(|_| self.worker.grid.code_of(self.warp().frame(frame).function)),
        }
    }
}
