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
    Access as Move, Atomic as Update, Commuting, Compiled, Context, Effect, Exchange, Kind, Memories,
    Program, Progress, Runner, Space, Step, Update as Op, Uses, Vote, Width, Window,
};
use smallvec::SmallVec;

use crate::code::{
    Access, AccessSpace, Action, Asynchronous, Atomic, AtomicOp, Barrier, Code, CodeFunction, Constant, Inst,
    Matrix, Simple, WarpOp, WarpOpKind,
};
use crate::machine::Machine;
use crate::machine::frame::ROOT;
use crate::machine::warp::{BUSY, Group, Wait};
use crate::machine::worker::Worker;
use crate::memory::Hint;
use crate::observer::Observer;
use crate::ops::collective::shuffle_source;
use crate::ops::flow::Flow;
use semantics::lanes::{LaneMask, Operands, Pred, Registers, Row, Slot, WARP_SIZE};

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
const LEAST: [u32; 2] = [6, 8];

/// Memories that warps share.
const SHARED: Memories = 1;
const GLOBAL: Memories = 2;

/// What of a kernel is compiled.
fn program(code: &Code, least: [u32; 2]) -> Program {
    let Some(kernel) = code.functions.first() else { return Program::default() };
    // What a thread may use to wait for another.
    let waits = |inst: &Inst| match &inst.action {
        Action::Load(access) => access.strong,
        Action::Atomic(atomic) => atomic.is_read(),
        Action::Sleep | Action::ReadSpecial(..) => true,
        _ => false,
    };
    let mut program = Program {
        rows: kernel.rows,
        least,
        all: least[0] <= 1,
        waits: code.insts.iter().any(waits),
        local: greatest_local(kernel),
        ..Program::default()
    };
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
                    None => Kind::Call(Uses::Slots(used_by_lanes(operands))),
                }
            }
            Action::Load(access) => accessed(code, access, false, program.local),
            Action::Store(access) => accessed(code, access, true, program.local),
            Action::Branch(target) if *target < kernel.end => Kind::Branch(*target),
            Action::Nothing => Kind::Nothing,
            Action::ActiveMask(_) | Action::LocalAddress(..) | Action::Fence(..) => Kind::Call(Uses::All),
            Action::Return | Action::Exit if inst.guard == Pred::TRUE => Kind::Exit,
            Action::Return | Action::Exit => Kind::Leave(Uses::Slots(Vec::new())),
            Action::Barrier(barrier) if barrier.whole.is_some() && inst.guard == Pred::TRUE => Kind::Barrier,
            Action::Barrier(barrier) => Kind::Leave(Uses::Slots(read_by_barrier(barrier))),
            Action::Atomic(atomic) => {
                let uses = Uses::Slots(read_by_atomic(code, atomic));
                match atomic.op {
                    AtomicOp::Mbarrier(_) => Kind::Leave(uses),
                    _ if atomic.access.asynchronous != Asynchronous::No => Kind::Leave(uses),
                    _ => updated(code, atomic).map_or(Kind::Call(uses), Kind::Atomic),
                }
            }
            Action::Warp(op) if inst.guard == Pred::TRUE && is_of_known_lanes(op) => {
                match exchanged(op, &program.known) {
                    Some(exchange) => Kind::Exchange(exchange),
                    None => Kind::Call(Uses::Slots(
                        op.src.into_iter().chain(op.dst).map(|slot| (slot, 2)).collect(),
                    )),
                }
            }
            Action::Matrix(_) if inst.guard == Pred::TRUE => Kind::Call(Uses::All),
            _ => Kind::Leave(Uses::All),
        };
        program.steps.push(Step { guard: inst.guard, kind, effect: effect(code, position) });
    }
    program
}

/// The greatest variable of a kernel's local memory that begins with a word, from its first byte to behind its last.
fn greatest_local(kernel: &CodeFunction) -> [u32; 2] {
    let begin = kernel.local_start();
    let variables = kernel.locals.iter().map(|&(start, end, _)| [begin + start, begin + end]);
    variables.filter(|[start, _]| start % 4 == 0).max_by_key(|[start, end]| end - start).unwrap_or_default()
}

/// Whether all lanes of a warp-level operation name the same ones.
fn is_of_known_lanes(op: &WarpOp) -> bool {
    op.members.is_none_or(|slot| slot.is_constant())
}

/// What a warp-level operation of all lanes exchanges, if that is known now.
fn exchanged(op: &WarpOp, known: &[(Slot, u64)]) -> Option<Exchange> {
    let known = |slot: Slot| known.iter().find(|(known, _)| *known == slot).map(|&(_, value)| value as u32);
    if op.members.is_some_and(|slot| known(slot) != Some(LaneMask::MAX)) {
        return None;
    }
    Some(match op.kind {
        WarpOpKind::Sync => Exchange::Nothing,
        WarpOpKind::Shuffle(mode) => {
            let (b, c) = (known(op.src[1])?, known(op.src[2])?);
            let of = |lane: usize| shuffle_source(mode, lane as u32, b, c);
            let whose = |lane: usize| match of(lane) {
                (source, true) => source as u8,
                _ => lane as u8,
            };
            let inside = (0..WARP_SIZE).fold(0, |mask, lane| mask | u32::from(of(lane).1) << lane);
            let (sources, flag) = (std::array::from_fn(whose), (op.pred_dst, inside));
            Exchange::Permute { from: op.src[0], to: op.dst, sources, flag }
        }
        WarpOpKind::VoteBallot => Exchange::Ballot(op.pred, op.dst?),
        WarpOpKind::VoteAll => Exchange::Vote(op.pred, Vote::All, op.pred_dst),
        WarpOpKind::VoteAny => Exchange::Vote(op.pred, Vote::Any, op.pred_dst),
        WarpOpKind::VoteUni => Exchange::Vote(op.pred, Vote::Uniform, op.pred_dst),
        _ => return None,
    })
}

/// What an instruction means for other warps of the block.
fn effect(code: &Code, position: u32) -> Effect {
    use AccessSpace::{Cluster, Const, Frame, Global, Local, Param, Shared};
    let memories = |access: &Access| match access.space {
        Const | Frame | Local | Param => 0,
        Shared | Cluster => SHARED,
        Global => GLOBAL,
        AccessSpace::Generic => SHARED | GLOBAL,
    };
    let both = |memories| Effect { reads: memories, writes: memories, ..Effect::default() };
    match &code.insts[position as usize].action {
        Action::Load(access) => Effect { reads: memories(access), ..Effect::default() },
        Action::Store(access) => Effect { writes: memories(access), ..Effect::default() },
        Action::Atomic(atomic) => match commuting(atomic) {
            Some(how) => Effect::updating(memories(&atomic.access), how),
            None => both(memories(&atomic.access)),
        },
        Action::Matrix(index) => match &code.matrices[*index as usize] {
            Matrix::Multiply(_) | Matrix::Transpose(..) => Effect::default(),
            Matrix::Load(_) | Matrix::LoadRows(_) => Effect { reads: SHARED | GLOBAL, ..Effect::default() },
            Matrix::Store(_) | Matrix::StoreRows(_) => both(SHARED | GLOBAL),
        },
        Action::Branch(_) => Effect { parts: code.meta[position as usize].parts, ..Effect::default() },
        _ => Effect::default(),
    }
}

/// What operations an atomic commutes with, if nobody is told what it finds.
fn commuting(atomic: &Atomic) -> Option<Commuting> {
    use ptx_frontend::ScalarType as S;
    if atomic.is_read() {
        return None;
    }
    Some(match (atomic.op, atomic.ty) {
        (AtomicOp::Add, S::U32 | S::S32) => Commuting::Add,
        (AtomicOp::And, S::B32) => Commuting::And,
        (AtomicOp::Or, S::B32) => Commuting::Or,
        (AtomicOp::Xor, S::B32) => Commuting::Xor,
        (AtomicOp::Min, S::U32) => Commuting::Minimum,
        (AtomicOp::Max, S::U32) => Commuting::Maximum,
        (AtomicOp::Min, S::S32) => Commuting::MinimumSigned,
        (AtomicOp::Max, S::S32) => Commuting::MaximumSigned,
        _ => return None,
    })
}

/// Rows that a barrier reads.
fn read_by_barrier(barrier: &Barrier) -> Vec<(Slot, u32)> {
    let slots = [Some(barrier.id), barrier.count, Some(barrier.dst)];
    slots.into_iter().flatten().map(|slot| (slot, 1)).collect()
}

/// Rows that a lane operation reads, or writes for some lanes: of no operand more than four.
fn used_by_lanes(operands: &Operands) -> Vec<(Slot, u32)> {
    operands.src.iter().chain([&operands.dst]).map(|&slot| (slot, 4)).collect()
}

/// Rows that an atomic reads, or writes for some lanes.
fn read_by_atomic(code: &Code, atomic: &Atomic) -> Vec<(Slot, u32)> {
    let mut slots: Vec<_> =
        atomic.slots(&code.slots).iter().map(|slot| (slot.slot, slot.rows.into())).collect();
    slots.push((atomic.access.address, atomic.access.address_rows.into()));
    slots
}

/// Where an access finds its window, and how wide its address is; nothing if it has none.
fn window_of(access: &Access) -> Option<(Space, Width)> {
    match (access.space, access.address_rows) {
        (AccessSpace::Shared, 2) => Some((Space::Shared, Width::Double)),
        (AccessSpace::Shared, _) => Some((Space::Shared, Width::Word)),
        (AccessSpace::Global | AccessSpace::Const | AccessSpace::Generic, 2) => {
            Some((Space::Hinted, Width::Double))
        }
        (AccessSpace::Frame, _) => Some((Space::Frame, Width::Double)),
        (AccessSpace::Local, 2) => Some((Space::Local, Width::Double)),
        (AccessSpace::Local, 1) => Some((Space::Local, Width::Word)),
        _ => None,
    }
}

/// How a load or store is done.
fn accessed(code: &Code, access: &Access, store: bool, [local, _]: [u32; 2]) -> Kind {
    // Others may wait for it, and it for them: how often is the interpreter's business, but where all are of one block.
    let polls = access.strong && !store;
    if access.strong && access.space != AccessSpace::Shared || access.asynchronous != Asynchronous::No {
        return Kind::Leave(Uses::All);
    }
    let slots = &code.slots[access.elements.start as usize..][..access.elements.len as usize];
    // What it reads, or writes for some lanes.
    let used = slots.iter().map(|slot| (slot.slot, slot.rows.into()));
    let call = Kind::Call(Uses::Slots(used.chain([(access.address, access.address_rows.into())]).collect()));
    let (bytes, count) = match access.simple {
        Simple::Four => (4, 1),
        Simple::Eight => (8, 1),
        Simple::TwoFours => (4, 2),
        Simple::FourFours => (4, 4),
        Simple::TwoEights => (8, 2),
        Simple::No => match (access.size, slots) {
            (1 | 2, slots) if slots.iter().all(|slot| slot.rows == 1) => {
                (u32::from(access.size), slots.len() as u32)
            }
            _ => return call,
        },
    };
    let Some((space, address_width)) = window_of(access) else { return call };
    if count > 1 && bytes < 4 && matches!(space, Space::Local | Space::Frame) {
        return call;
    }
    let size = i64::from(bytes * count);
    let twice = (1..slots.len()).any(|at| slots[at].rows != 0 && slots[..at].contains(&slots[at]));
    let mut offset = access.offset;
    if access.space == AccessSpace::Frame {
        let kernel = &code.functions[0];
        let is_inside = |&(start, end, _): &(u32, u32, _)| {
            offset >= i64::from(start) && offset.saturating_add(size) <= i64::from(end)
        };
        if !kernel.locals.iter().any(is_inside) || local % 16 != 0 {
            return call;
        }
        // Counted from the start of the window.
        offset += i64::from(kernel.local_start()) - i64::from(local);
    }
    if i32::try_from(offset).is_err() || offset % size != 0 || twice {
        return call;
    }
    let mut elements = [None; 4];
    for (element, slot) in elements.iter_mut().zip(slots).filter(|(_, slot)| slot.rows != 0) {
        *element = Some(slot.slot);
    }
    let (signed, address) = (access.signed, access.address);
    Kind::Access(Move { store, space, polls, bytes, signed, count, address, address_width, offset, elements })
}

/// How an atomic is done, if there is code for it.
fn updated(code: &Code, atomic: &Atomic) -> Option<Update> {
    use ptx_frontend::ScalarType as S;
    let access = &atomic.access;
    let slots = atomic.slots(&code.slots);
    // Atomics on constants are faults, on lanes' own memory rare.
    let (space, address_width) = window_of(access).filter(|_| {
        matches!(access.space, AccessSpace::Shared | AccessSpace::Global | AccessSpace::Generic)
    })?;
    let (bytes, signed) = match atomic.ty {
        S::U32 | S::B32 | S::F32 => (4, false),
        S::S32 => (4, true),
        S::U64 | S::B64 | S::F64 => (8, false),
        S::S64 => (8, true),
        _ => return None,
    };
    let float = matches!(atomic.ty, S::F32 | S::F64);
    let update = match atomic.op {
        AtomicOp::Add if float => Op::AddFloat { global: space == Space::Hinted },
        AtomicOp::Exch => Op::Exchange,
        AtomicOp::Cas => Op::CompareExchange,
        _ if float => return None,
        AtomicOp::Add => Op::Add,
        AtomicOp::And => Op::And,
        AtomicOp::Or => Op::Or,
        AtomicOp::Xor => Op::Xor,
        AtomicOp::Min => Op::Minimum { signed },
        AtomicOp::Max => Op::Maximum { signed },
        AtomicOp::Inc if bytes == 4 => Op::Increment,
        AtomicOp::Dec if bytes == 4 => Op::Decrement,
        _ => return None,
    };
    let rows = bytes / 4;
    let old = slots[0];
    let operands: SmallVec<[Slot; 2]> = slots[1..].iter().map(|slot| slot.slot).collect();
    let whole = slots[1..].iter().all(|slot| u32::from(slot.rows) == rows);
    if access.elements.len != 1
        || atomic.keeps_subnormals
        || i32::try_from(access.offset).is_err()
        || access.offset % i64::from(bytes) != 0
        || !whole
        || old.rows != 0 && (u32::from(old.rows) != rows || !old.slot.is_frame())
    {
        return None;
    }
    let access = Move {
        store: true,
        space,
        polls: false,
        bytes,
        signed,
        count: 1,
        address: access.address,
        address_width,
        offset: access.offset,
        elements: [None; 4],
    };
    let other = operands.get(1).copied().unwrap_or(operands[0]);
    let old = (old.rows != 0).then_some(old.slot);
    Some(Update { access, update, operands: [operands[0], other], old })
}

/// What [`call`] needs.
struct Host<'x, 'a, 'g, O> {
    machine: &'x mut Machine<'a, 'g, O>,
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
        machine.index = self.warps[runner];
        let code = machine.worker.grid.code;
        let mut group = group(position, all);
        let flow = match &code.insts[position as usize].action {
            Action::Lanes(run, operands) | Action::BeforeBranch(run, operands) => {
                // SAFETY: decoding took the function for a SIMD level that this CPU was found to have, and numbered its
                // slots within the kernel's frame.
                unsafe { run(registers, operands, lanes) };
                return Done::Next;
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
            if context.changes != machine.worker.hint_changes {
                context.changes = machine.worker.hint_changes;
                if let Some(compiled) = machine.worker.compiled {
                    compiled.compare_windows(context);
                }
            }
        }
        if let Flow::Next = flow { Done::Next } else { Done::Ended(flow) }
    }
}

/// A group of the kernel itself.
fn group(position: u32, lanes: LaneMask) -> Group {
    Group { position, lanes, frame: ROOT, wait: Wait::Ready, last_run: 0 }
}

/// A warp, or a group of its lanes, for compiled code.
#[inline(always)]
pub(super) fn runner(
    compiled: &Compiled,
    (registers, local): (&Registers, &mut [Row]),
    position: u32,
    lanes: LaneMask,
) -> Runner {
    let ([frame, warp, _], predicates) = registers.places();
    Runner::new([frame, warp], predicates, compiled.local(local), position, lanes)
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
                true => {
                    let least = if grid.cold == 0 { [1; 2] } else { LEAST };
                    Compiled::new(&program(grid.code, least), grid.level)
                }
                false => None,
            });
            self.compiled = compiled.as_ref();
        }
    }
}

impl<'g, O: Observer> Machine<'_, 'g, O> {
    /// Runs a group of the kernel itself from a position on at which code begins, up to a position and for at most so many
    /// instructions. What ended it, if that was an operation.
    pub(super) fn run_compiled(
        &mut self,
        compiled: &Compiled,
        runner: &mut Runner,
        (stop, most): (u32, u64),
    ) -> Option<Flow> {
        let warps = [self.index];
        let mut flows = self.in_code(&warps, |context| {
            // SAFETY: as `in_code` says, for the rows and predicates of this warp.
            unsafe { compiled.run_alone(context, runner, stop, (most, BUSY), false) };
        });
        flows.1.pop().map(|(_, flow)| flow)
    }

    /// Runs whole warps, of these indices, as if all of a team made each step together, for about so many instructions in
    /// all; `all`: they are those of the block that live, pass its barriers and may end it. By how many instructions others are
    /// ahead of one whose lanes parted, whether the block is over, and what ended runs.
    pub(super) fn run_compiled_team(
        &mut self,
        compiled: &Compiled,
        (runners, warps): (&mut [Runner], &[usize]),
        team: usize,
        most: u64,
        all: bool,
    ) -> (u64, bool, SmallVec<[(usize, Flow); 1]>) {
        let ((Progress { barriers, over }, ahead), flows) = self.in_code(warps, |context| {
            // SAFETY: as `in_code` says, for the rows and predicates of these warps.
            let progress = unsafe { compiled.run_teams(context, runners, team, most, all) };
            (progress, context.ahead)
        });
        self.worker.stats.barriers += barriers;
        (ahead, over, flows)
    }

    /// Runs code of warps in a context: hints are kept alive by the snapshot as long as its generation is the current one,
    /// and the block's memory as long as it runs; `call` gets the host that it is for.
    #[inline(always)]
    fn in_code<T>(
        &mut self,
        warps: &[usize],
        run: impl FnOnce(&mut Context) -> T,
    ) -> (T, SmallVec<[(usize, Flow); 1]>) {
        let mut context = match self.worker.context.take() {
            Some(context) => context,
            None => Box::new(Context::new(std::ptr::null_mut(), call::<O>)),
        };
        (context.windows, context.changes) = (self.worker.hints.as_ptr().cast(), self.worker.hint_changes);
        context.shared = self.shared_window();
        (context.exclusive, context.reads, context.patience) = (self.worker.grid.exclusive, 0, BUSY);
        context.generation = self.worker.grid.memory.generation();
        context.fresh = self.worker.snapshot.generation;
        context.constants = self.worker.grid.constants.as_ptr().cast_mut();
        let place: *mut Context = &mut *context;
        let mut host = Host { machine: self, context: place, warps, flows: SmallVec::new(), panic: None };
        context.host = (&raw mut host).cast();
        let result = run(&mut context);
        let Host { flows, panic, .. } = host;
        self.worker.waits += context.reads;
        self.worker.context = Some(context);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        (result, flows)
    }

    /// Where code begins at a position, unless somebody looks on.
    #[inline(always)]
    pub(super) fn compiled(&self) -> Option<&'g Compiled> {
        if O::ACTIVE { None } else { self.worker.compiled }
    }
}
