//! The compiled engine: runs of a warp in host code, as far as there is any.
//!
//! [`program`] says what of a kernel is compiled. Instructions that are not leave host code, loads and stores that are not
//! of the common kind are done by [`crate::ops`] from within it, and count there as anywhere. It takes no part where
//! somebody looks on, where the schedule is random and where memory is weak.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use jit::{
    Access as Move, Compiled, Context, Effect, Exit, Kind, Program, Ran, Space, Step, Uses, Width, Window,
};

use crate::code::{Access, AccessSpace, Action, Asynchronous, Atomic, Barrier, Code, Constant, Simple};
use crate::machine::Machine;
use crate::machine::warp::Group;
use crate::machine::worker::Worker;
use crate::memory::Hint;
use crate::observer::Observer;
use crate::ops::flow::Flow;
use semantics::lanes::{LaneMask, Registers, Slot};

// Code reads hints as windows.
const _: () = assert!(
    size_of::<Hint>() == size_of::<Window>()
        && std::mem::offset_of!(Hint, base) == std::mem::offset_of!(Window, base)
        && std::mem::offset_of!(Hint, size) == std::mem::offset_of!(Window, size)
        && std::mem::offset_of!(Hint, words) == std::mem::offset_of!(Window, words)
        && std::mem::offset_of!(Hint, writable) == std::mem::offset_of!(Window, writable)
);

/// Warp instructions that take as long as compiling one.
const PRICE: u64 = 3000;
/// Instructions of a kernel that is compiled, at most: code takes about half a kilobyte an instruction.
const MOST_STEPS: u64 = 20_000;

/// Steps that make it worth to enter code, for a warp alone and for one of several: doing so takes as long as
/// interpreting about so many.
const LEAST: [u32; 2] = [12, 24];

/// What of a kernel is compiled.
fn program(code: &Code, least: [u32; 2]) -> Program {
    let Some(kernel) = code.functions.first() else { return Program::default() };
    let mut program = Program { rows: kernel.rows, least, ..Program::default() };
    for constant in &code.constants {
        let slot = Slot::constant(program.uniform.len() as u32);
        if let Constant::Bits(value, _) = *constant {
            program.known.push((slot, value as u64));
        }
        // Some special registers are the lane's.
        let uniform = !matches!(constant, Constant::Special(..));
        program.uniform.extend((0..constant.rows()).map(|_| uniform));
    }
    for position in 0..kernel.end {
        let inst = &code.insts[position as usize];
        let kind = match &inst.action {
            Action::Lanes(_, operands) | Action::BeforeBranch(_, operands) => {
                match code.meta[position as usize].formula {
                    Some(formula) => Kind::Compute(formula, *operands),
                    None => Kind::Call,
                }
            }
            Action::Load(access) => accessed(access, false),
            Action::Store(access) => accessed(access, true),
            Action::Branch(target) if *target < kernel.end => Kind::Branch(*target),
            Action::Nothing => Kind::Nothing,
            Action::ActiveMask(_) | Action::LocalAddress(..) => Kind::Call,
            Action::Return | Action::Exit => Kind::Leave(Uses::Slots(Vec::new())),
            Action::Barrier(barrier) => Kind::Leave(Uses::Slots(read_by_barrier(barrier))),
            Action::Atomic(atomic) => Kind::Leave(Uses::Slots(read_by_atomic(code, atomic))),
            _ => Kind::Leave(Uses::All),
        };
        program.steps.push(Step { guard: inst.guard, kind, effect: effect(code, position) });
    }
    program
}

/// What an instruction means for other warps of the block.
fn effect(code: &Code, position: u32) -> Effect {
    let own = |access: &Access| {
        use AccessSpace::{Const, Frame, Local, Param};
        matches!(access.space, Const | Frame | Local | Param)
    };
    match &code.insts[position as usize].action {
        Action::Load(access) if !own(access) => Effect::Reads,
        Action::Store(access) if !own(access) => Effect::Writes,
        Action::Branch(_) if code.meta[position as usize].parts => Effect::Parts,
        _ => Effect::None,
    }
}

/// Rows that a barrier reads.
fn read_by_barrier(barrier: &Barrier) -> Vec<(Slot, u32)> {
    let slots = [Some(barrier.id), barrier.count, Some(barrier.dst)];
    slots.into_iter().flatten().map(|slot| (slot, 1)).collect()
}

/// Rows that an atomic reads, or writes for some lanes.
fn read_by_atomic(code: &Code, atomic: &Atomic) -> Vec<(Slot, u32)> {
    let mut slots: Vec<_> =
        atomic.slots(&code.slots).iter().map(|slot| (slot.slot, slot.rows.into())).collect();
    slots.push((atomic.access.address, atomic.access.address_rows.into()));
    slots
}

/// How a load or store is done.
fn accessed(access: &Access, store: bool) -> Kind {
    // Others may wait for it, and it for them.
    if access.strong || access.asynchronous != Asynchronous::No {
        return Kind::Leave(Uses::All);
    }
    let width = match access.simple {
        Simple::Four => Width::Word,
        Simple::Eight => Width::Double,
        _ => return Kind::Call,
    };
    let (space, address_width) = match (access.space, access.address_rows) {
        (AccessSpace::Shared, 2) => (Space::Shared, Width::Double),
        (AccessSpace::Shared, _) => (Space::Shared, Width::Word),
        (AccessSpace::Global | AccessSpace::Const | AccessSpace::Generic, 2) => {
            (Space::Hinted, Width::Double)
        }
        _ => return Kind::Call,
    };
    let size = 4 * i64::from(width.rows());
    if i32::try_from(access.offset).is_err() || access.offset % size != 0 {
        return Kind::Call;
    }
    let (offset, element, address) = (access.offset, access.element.slot, access.address);
    Kind::Access(Move { store, space, width, address, address_width, offset, element })
}

/// What [`call`] needs.
struct Host<'x, 'a, 'g, O> {
    machine: &'x mut Machine<'a, 'g, O>,
    registers: &'x mut Registers,
    context: *mut Context,
    group: Group,
    flow: Option<Flow>,
    panic: Option<Box<dyn Any + Send>>,
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
        Ok(flow) => host.flow = flow,
        Err(panic) => host.panic = Some(panic),
    }
    (host.flow.is_some() || host.panic.is_some()).into()
}

impl<O: Observer> Host<'_, '_, '_, O> {
    /// Nothing if the next instruction follows.
    fn step(&mut self, position: u32, lanes: LaneMask) -> Option<Flow> {
        let code = self.machine.worker.grid.code;
        self.group.position = position;
        let flow = match &code.insts[position as usize].action {
            Action::Lanes(run, operands) | Action::BeforeBranch(run, operands) => {
                // SAFETY: decoding took the function for a SIMD level that this CPU was found to have, and numbered its
                // slots within the kernel's frame.
                unsafe { run(self.registers, operands, lanes) };
                return None;
            }
            Action::Load(access) => self.machine.operate_load(self.registers, &mut self.group, lanes, access),
            Action::Store(access) => {
                self.machine.operate_store(self.registers, &mut self.group, lanes, access)
            }
            action => self.machine.operate_rarely(self.registers, &mut self.group, lanes, action, 0),
        };
        // It may have looked at the allocations again.
        // SAFETY: the context outlives the run; compiled code does not access it meanwhile.
        unsafe { (*self.context).fresh = self.machine.worker.snapshot.generation };
        if let Flow::Next = flow { None } else { Some(flow) }
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
        let steps = grid.code.functions.first().map_or(0, |kernel| u64::from(kernel.end));
        let enough = if grid.cold == 0 { 0 } else { grid.cold + PRICE * steps };
        let known = kernel.compiled.get().is_some();
        if known || kernel.heat.load(Relaxed).saturating_add(self.stats.warp_instructions) >= enough {
            let compiled = kernel.compiled.get_or_init(|| match steps <= MOST_STEPS {
                true => Compiled::new(&program(grid.code, if grid.cold == 0 { [1; 2] } else { LEAST })),
                false => None,
            });
            self.compiled = compiled.as_ref();
        }
    }
}

impl<'g, O: Observer> Machine<'_, 'g, O> {
    /// Runs a group of the kernel itself from a position on at which code begins; up to a position, and for at most so
    /// many instructions. With others that run `together`, it does nothing that would have to wait for what they do first.
    /// What ended it, if that was an operation.
    pub(super) fn run_compiled(
        &mut self,
        compiled: &Compiled,
        registers: &mut Registers,
        group: Group,
        (stop, most): (u32, u64),
        together: bool,
    ) -> (Exit, Ran, Option<Flow>) {
        let shared = self.shared_window();
        let fresh = self.worker.snapshot.generation;
        let mut context = match self.worker.context.take() {
            Some(context) => context,
            None => Box::new(Context::new(std::ptr::null_mut(), call::<O>)),
        };
        let (rows, predicates) = registers.places();
        (context.rows, context.predicates) = (rows, predicates);
        context.windows = self.worker.hints.as_ptr().cast();
        context.shared = shared;
        context.generation = self.worker.grid.memory.generation();
        (context.fresh, context.most, context.stop) = (fresh, most, stop);
        (context.lanes, context.together) = (group.lanes, together.into());
        let place: *mut Context = &mut *context;
        let mut host = Host { machine: self, registers, context: place, group, flow: None, panic: None };
        context.host = (&raw mut host).cast();
        // SAFETY: rows and predicates are those that slots were numbered for; hints are kept alive by the snapshot as long
        // as its generation is the current one, and the block's memory as long as it runs; `call` gets the host that it
        // is for.
        let exit = unsafe { compiled.run(&mut context, group.position) };
        let Host { flow, panic, .. } = host;
        let ran = context.ran;
        self.worker.context = Some(context);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        (exit, ran, flow)
    }

    /// Where code begins at a position, unless somebody looks on.
    #[inline(always)]
    pub(super) fn compiled(&self) -> Option<&'g Compiled> {
        if O::ACTIVE { None } else { self.worker.compiled }
    }
}
