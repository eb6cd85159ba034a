//! What of a kernel is compiled: its instructions as [`jit`] takes them.

use jit::{
    Access as Move, Arrive, Atomic as Update, Commuting, Compiled, Effect, Exchange, Kind, Lanes, Memories,
    Program, Space, Spread, Step, Update as Op, Uses, Vote, Width,
};
use smallvec::SmallVec;

use crate::code::{
    Access, AccessSpace, Action, Asynchronous, Atomic, AtomicOp, Barrier, BarrierKind, Code, CodeFunction,
    Constant, Matrix, Simple, WarpOp, WarpOpKind,
};
use crate::ops::collective::shuffle_source;
use ptx_frontend::MemOrder;
use semantics::lanes::{LaneMask, Operands, Pred, SimdLevel, Slot, WARP_SIZE};

/// Memories that warps share.
const SHARED: Memories = 1;
const GLOBAL: Memories = 2;
/// Barriers that wait for a count: warps may come to them in any order, but for those behind others that went another way.
const BARRIERS: Memories = 4;

/// What of a kernel, or of a function that it calls, is compiled for a level. Code is begun where at least so many steps follow,
/// for a warp alone and for one of several.
pub(super) fn program(code: &Code, function: &CodeFunction, least: [u32; 2], level: SimdLevel) -> Program {
    let mut program = Program {
        rows: function.rows,
        uniform_rows: function.uniform_rows.clone(),
        least,
        all: least[0] <= 1,
        alone: function.start != 0,
        waits: code.insts.iter().any(|inst| inst.action.awaits()),
        ..Program::default()
    };
    let is_kernel = function.start == 0;
    let range = function.start..function.end;
    for constant in &code.constants {
        let slot = Slot::constant(program.uniform.len() as u32);
        if let Constant::Bits(value, _) = *constant {
            program.known.push((slot, value as u64));
        }
        // Some special registers are the lane's.
        let uniform = !matches!(constant, Constant::Special(..));
        program.uniform.extend((0..constant.rows()).map(|_| uniform));
    }
    let mut lanes = Vec::new();
    for position in range.clone() {
        let inst = &code.insts[position as usize];
        let kind = match &inst.action {
            Action::Lanes(run, operands) | Action::BeforeBranch(run, operands) => {
                match code.meta[position as usize].formula.filter(|formula| Compiled::has(*formula, level)) {
                    Some(formula) => Kind::Compute(formula, *operands),
                    None => {
                        lanes.push(Lanes { run: *run, operands: *operands });
                        Kind::Lanes(lanes.len() as u32 - 1, Uses::Slots(used_by_lanes(operands)))
                    }
                }
            }
            Action::Load(access) => accessed(code, function, access, false),
            Action::Store(access) => accessed(code, function, access, true),
            Action::Branch(target) if range.contains(target) => Kind::Branch(*target - range.start),
            Action::Fence(MemOrder::Sc, _) => Kind::Fence,
            // Of the others x86 needs none.
            Action::Fence(..) | Action::Nothing => Kind::Nothing,
            Action::ActiveMask(_) | Action::LocalAddress(..) => Kind::Call(Uses::All),
            Action::Return | Action::Exit if !is_kernel => Kind::Leave(Uses::All),
            Action::Return | Action::Exit if inst.guard == Pred::TRUE => Kind::Exit,
            Action::Return | Action::Exit => Kind::Leave(Uses::Slots(Vec::new())),
            Action::Barrier(barrier) if barrier.whole.is_some() && inst.guard == Pred::TRUE => Kind::Barrier,
            Action::Barrier(Barrier {
                kind: kind @ (BarrierKind::Sync | BarrierKind::Arrive),
                id,
                count: Some(count),
                ..
            }) if inst.guard == Pred::TRUE => {
                Kind::Arrive(Arrive { id: *id, count: *count, waits: *kind == BarrierKind::Sync })
            }
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
        let effect = effect(code, position);
        let uniform = code.meta[position as usize].uniform;
        program.steps.push(Step { guard: inst.guard, kind, effect, uniform, awaits: inst.action.awaits() });
    }
    program.lanes = lanes.into();
    program
}

/// The greatest variable of a frame's local memory that begins with a word, from its first byte to behind its last.
pub(super) fn greatest_local(function: &CodeFunction) -> [u32; 2] {
    let variables = function.locals.iter().map(|&(start, end, _)| [start, end]);
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
        Action::Barrier(Barrier { count: Some(_), .. }) => Effect { reads: BARRIERS, ..Effect::default() },
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
fn accessed(code: &Code, function: &CodeFunction, access: &Access, store: bool) -> Kind {
    // On x86 a move is as strong as any access has to be: fences are others' business.
    let polls = access.strong && !store;
    if access.asynchronous != Asynchronous::No {
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
    let size = i64::from(bytes * count);
    let twice = (1..slots.len()).any(|at| slots[at].rows != 0 && slots[..at].contains(&slots[at]));
    let mut offset = access.offset;
    if access.space == AccessSpace::Frame {
        let [local, _] = greatest_local(function);
        let is_inside = |&(start, end, _): &(u32, u32, _)| {
            offset >= i64::from(start) && offset.saturating_add(size) <= i64::from(end)
        };
        if !function.locals.iter().any(is_inside) {
            return call;
        }
        // Counted from the start of the window; frames begin at multiples of all sizes.
        offset -= i64::from(local);
    }
    if i32::try_from(offset).is_err() || access.offset % size != 0 || twice {
        return call;
    }
    let mut elements = [None; 4];
    for (element, slot) in elements.iter_mut().zip(slots).filter(|(_, slot)| slot.rows != 0) {
        *element = Some(slot.slot);
    }
    let (signed, address) = (access.signed, access.address);
    let spread = access.spread;
    Kind::Access(Move {
        store,
        space,
        polls,
        spins: access.spins,
        bytes,
        signed,
        count,
        address,
        address_width,
        spread,
        offset,
        elements,
    })
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
        spins: false,
        bytes,
        signed,
        count: 1,
        address: access.address,
        address_width,
        spread: Spread::Any,
        offset: access.offset,
        elements: [None; 4],
    };
    let other = operands.get(1).copied().unwrap_or(operands[0]);
    let old = (old.rows != 0).then_some(old.slot);
    Some(Update { access, update, operands: [operands[0], other], old })
}
