//! Loads, stores and atomics.

use ptx_frontend::{
    Address, AddressBase, FunctionKind, MemOrder, Modifier, Modifiers, Op, Opcode, Operand, ScalarType,
    Scope, StateSpace,
};

use super::compiler::Part;
use super::{Decoder, Refusal, rows_of};
use crate::code::*;
use semantics::lanes::{Pred, Slot};

/// Base, offset and space of an address operand.
pub(super) struct Place {
    pub space: AccessSpace,
    pub address: Slot,
    pub address_rows: u8,
    pub spread: Spread,
    pub offset: i64,
}

impl Place {
    /// An access there of elements of `size` bytes, by no short way.
    pub(super) fn access(
        self,
        size: u8,
        order: MemOrder,
        elements: SlotList,
        element: RegisterSlot,
    ) -> Access {
        let Place { space, address, address_rows, spread, offset } = self;
        let strong = order != MemOrder::Weak;
        Access {
            space,
            size,
            signed: false,
            strong,
            spins: false,
            order,
            scope: Scope::Sys,
            asynchronous: Asynchronous::No,
            address_rows,
            address,
            spread,
            offset,
            elements,
            element,
            unread: 0,
            simple: Simple::No,
        }
    }
}

impl Decoder<'_> {
    pub(super) fn place(&mut self, op: &Op, operand: Operand) -> Result<Place, Refusal> {
        self.place_in(op.space(), operand)
    }

    /// Where an address operand points, if the instruction names `space`.
    pub(super) fn place_in(&mut self, space: StateSpace, operand: Operand) -> Result<Place, Refusal> {
        let Operand::Address(Address { base, offset }) = operand else {
            return Err(format!("an address operand of this kind: {operand:?}"));
        };
        let is_entry = self.function.kind == FunctionKind::Entry;
        let space = match space {
            StateSpace::Global => AccessSpace::Global,
            StateSpace::Const => AccessSpace::Const,
            StateSpace::Shared => AccessSpace::Shared,
            StateSpace::SharedCluster => AccessSpace::Cluster,
            StateSpace::Local => AccessSpace::Local,
            // `.param` by register address is a kernel's, or a device function's frame.
            StateSpace::Param if is_entry => AccessSpace::Param,
            StateSpace::Param => AccessSpace::Local,
            StateSpace::Generic => AccessSpace::Generic,
            StateSpace::Reg => return Err("memory access to register space".into()),
        };
        // A register of zeros, for accesses that take the address of lanes without asking for `rows`.
        let none = match base {
            AddressBase::Register(_) => Slot::frame(0),
            _ => self.bits(0, 2),
        };
        let mut spread = self.strides.as_ref().map_or(Spread::Any, |strides| strides.of(base));
        Ok(match base {
            AddressBase::Register(id) => {
                let mut register = self.allocation.slot(id);
                // Of an f64 nobody knows the upper half.
                if offset == 0
                    && let Some(from @ ScalarType::F32) =
                        self.converted.get(&(self.at, Part::Address)).copied()
                {
                    let to = ScalarType::S32;
                    register = self.integer(Pred::TRUE, Modifier::Rmi, to, from, register.slot)?;
                    spread = Spread::Any;
                }
                Place { space, address: register.slot, address_rows: register.rows, spread, offset }
            }
            AddressBase::Absolute => Place { space, address: none, address_rows: 0, spread, offset },
            AddressBase::Variable(id) => {
                if let Some(&start) = self.locals.get(&id) {
                    let offset = i64::from(start).wrapping_add(offset);
                    return Ok(Place {
                        space: AccessSpace::Frame,
                        address: none,
                        address_rows: 0,
                        spread,
                        offset,
                    });
                }
                let variable = &self.module.variables[id.index()];
                match variable.space {
                    StateSpace::Global | StateSpace::Const => {
                        let address = self.constant(Constant::Variable(id, 0, 2));
                        let space = if variable.space == StateSpace::Const {
                            AccessSpace::Const
                        } else {
                            AccessSpace::Global
                        };
                        Place { space, address, address_rows: 2, spread, offset }
                    }
                    StateSpace::Shared => {
                        let start = self.code.shared.offsets.get(&id).copied().unwrap_or(0);
                        let offset = i64::from(start).wrapping_add(offset);
                        Place { space: AccessSpace::Shared, address: none, address_rows: 0, spread, offset }
                    }
                    StateSpace::Param => {
                        let offset = (variable.offset as i64).wrapping_add(offset);
                        Place { space: AccessSpace::Param, address: none, address_rows: 0, spread, offset }
                    }
                    space => return Err(format!("access to a variable in {space} space")),
                }
            }
        })
    }

    /// The registers of a scalar or vector operand.
    pub(super) fn elements(
        &mut self,
        guard: Pred,
        operand: Operand,
        ty: ScalarType,
        store: bool,
    ) -> Result<SlotList, Refusal> {
        let body = self.body;
        let single = [operand];
        let operands = match operand {
            Operand::Vector(list) => body.elements(list),
            _ => &single[..],
        };
        let mut slots = Vec::with_capacity(operands.len());
        for &operand in operands {
            slots.push(match operand {
                Operand::Register(id) => self.allocation.slot(id),
                Operand::Sink if !store => RegisterSlot { slot: Slot::frame(0), rows: 0 },
                other => RegisterSlot { slot: self.source(guard, other, ty)?, rows: rows_of(ty) },
            });
        }
        let list = SlotList { start: self.code.slots.len() as u32, len: slots.len() as u32 };
        self.code.slots.extend(slots);
        Ok(list)
    }

    /// How many elements at the end of a vector nothing reads; one less than all at most.
    fn unread(&self, value: Operand) -> u8 {
        let Operand::Vector(list) = value else { return 0 };
        let elements = self.body.elements(list);
        let is_unread = |element: &&Operand| match **element {
            Operand::Register(id) => !self.fixed.read[id.index()],
            element => matches!(element, Operand::Sink),
        };
        let unread = elements.iter().rev().take_while(is_unread).count();
        unread.min(elements.len().saturating_sub(1)) as u8
    }

    fn access(
        &mut self,
        guard: Pred,
        op: &Op,
        address: Operand,
        value: Operand,
        store: bool,
    ) -> Result<Access, Refusal> {
        let ty = op.ty(0).ok_or("a memory access without a type")?;
        let place = self.place(op, address)?;
        let elements = self.elements(guard, value, ty, store)?;
        let order = op.order().unwrap_or(MemOrder::Weak);
        let element = self.code.slots[elements.start as usize];
        let access = place.access(ty.bytes() as u8, order, elements, element);
        let list = &self.code.slots[elements.start as usize..];
        let simple = simple(ty, list);
        let (signed, scope) = (ty.is_signed(), op.scope().unwrap_or(Scope::Sys));
        let spins = self.spinning.get(self.at as usize).copied().unwrap_or(false);
        Ok(Access { signed, scope, simple, spins, ..access })
    }

    pub(super) fn load(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let &[value, address, ..] = operands else { return Err(format!("`{op}` with these operands")) };
        let mut access = self.access(guard, op, address, value, false)?;
        access.unread = self.unread(value);
        // Parameters of the kernel are constants of the launch.
        let Access { space, address, address_rows, spread, offset, size, signed, .. } = access;
        let slots = access.elements.start as usize..;
        let slots = self.code.slots[slots][..access.elements.len as usize].to_vec();
        let constants: Option<Vec<Constant>> = (slots.iter().enumerate())
            .map(|(at, slot)| {
                let offset = offset.checked_add(at as i64 * i64::from(size))?;
                let place = Place { space, address, address_rows, spread, offset };
                self.parameter(&place, size, signed, slot.rows)
            })
            .collect();
        if let Some(constants) = constants {
            for (slot, constant) in slots.iter().zip(constants).filter(|(slot, _)| slot.rows != 0) {
                let constant = self.constant(constant);
                self.copy_register(guard, slot.rows, slot.slot, constant);
            }
            return Ok(());
        }
        self.emit(guard, Action::Load(access));
        Ok(())
    }

    /// The part of the kernel's parameters that an element is, if it is known.
    pub(super) fn parameter(&self, place: &Place, size: u8, signed: bool, rows: u8) -> Option<Constant> {
        let known = place.space == AccessSpace::Param && place.address_rows == 0;
        let start = u32::try_from(place.offset).ok().filter(|_| known)?;
        let end = start.checked_add(size.into())?;
        (u64::from(end) <= self.function.param_bytes).then_some(Constant::Param(start, size, signed, rows))
    }

    pub(super) fn store(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let &[address, value, ..] = operands else { return Err(format!("`{op}` with these operands")) };
        let mut access = self.access(guard, op, address, value, true)?;
        if let Some(&from) = self.converted.get(&(self.at, Part::Stored)) {
            self.convert(guard, op, from, &mut access)?;
        }
        if op.has(Modifier::Mmio) && op.has(Modifier::Release) {
            access.order = MemOrder::Release;
        }
        self.emit(guard, Action::Store(access));
        Ok(())
    }

    /// Makes a store write floats converted to integers of its type: `cvt.rzi`.
    fn convert(
        &mut self,
        guard: Pred,
        op: &Op,
        from: ScalarType,
        access: &mut Access,
    ) -> Result<(), Refusal> {
        let to = match op.ty(0).ok_or("a memory access without a type")? {
            ScalarType::B8 => ScalarType::U8,
            ScalarType::B16 => ScalarType::U16,
            ScalarType::B32 => ScalarType::U32,
            ty => ty,
        };
        for at in 0..access.elements.len {
            let index = (access.elements.start + at) as usize;
            let slot = self.code.slots[index].slot;
            self.code.slots[index] = self.integer(guard, Modifier::Rzi, to, from, slot)?;
        }
        access.element = self.code.slots[access.elements.start as usize];
        Ok(())
    }

    /// A float of an instruction, converted for it to an integer.
    pub(super) fn integer(
        &mut self,
        guard: Pred,
        rounding: Modifier,
        to: ScalarType,
        from: ScalarType,
        source: Slot,
    ) -> Result<RegisterSlot, Refusal> {
        let op = self.module.op(&self.body.instructions[self.at as usize]);
        let cvt = op.instead(Opcode::Cvt, [rounding, Modifier::Type(to), Modifier::Type(from)]);
        let bound = semantics::bind(&cvt, semantics::Written { operands: &[], pair: false });
        let bound = bound.ok_or_else(|| format!("`{cvt}`"))?;
        let rows = rows_of(to);
        let slot = self.temporary(rows);
        self.unary(guard, bound.fns, slot, source, bound.imm);
        Ok(RegisterSlot { slot, rows })
    }

    /// `set` with a guard. Where the guard is false, one that gives a float leaves what [`super::Rewrite::GuardedSet`]
    /// says.
    pub(super) fn guarded_set(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        self.lane_operation(guard, op, operands)?;
        let (integer, float) = match op.ty(0) {
            Some(ty @ ScalarType::F32) => (ScalarType::S32, ty),
            Some(ty @ (ScalarType::F16 | ScalarType::Bf16)) => (ScalarType::S16, ty),
            _ => return Ok(()),
        };
        let abs = op.instead(Opcode::Abs, [Modifier::Type(integer)]);
        let cvt = op.instead(Opcode::Cvt, [Modifier::Rn, Modifier::Type(float), Modifier::Type(integer)]);
        for op in [abs, cvt] {
            self.lane_operation(guard.negate(), &op, &[operands[0]; 2])?;
        }
        Ok(())
    }

    /// `multimem.ld_reduce`, `multimem.st`, `multimem.red`: the access to the memory of one device, done for each.
    pub(super) fn multimem(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        if op.has(Modifier::LdReduce) {
            self.load(guard, op, operands)?;
        } else if op.has(Modifier::St) {
            self.store(guard, op, operands)?;
        } else {
            self.atomic(guard, op, operands)?;
        }
        let last = self.code.insts.len() - 1;
        let what = match self.code.insts[last].action {
            Action::Load(load) => {
                let (from, len) = (load.elements.start as usize, load.elements.len);
                let mut slots = Vec::new();
                for at in from..from + len as usize {
                    let rows = rows_of(op.ty(0).unwrap_or(ScalarType::B32)).max(self.code.slots[at].rows);
                    slots.push(RegisterSlot { slot: self.temporary(rows), rows });
                }
                let elements = SlotList { start: self.code.slots.len() as u32, len };
                let element = slots[0];
                self.code.slots.extend(slots);
                Multimem::LoadReduce {
                    load,
                    next: Access { elements, element, ..load },
                    op: atomic_operation(op)?,
                    ty: op.ty(0).unwrap_or(ScalarType::B32),
                    widened: op.has(Modifier::AccF32),
                }
            }
            Action::Store(store) => Multimem::Store(store),
            Action::Atomic(atomic) => Multimem::Reduce(atomic),
            _ => return Ok(()),
        };
        let index = self.code.multimems.len() as u32;
        self.code.multimems.push(what);
        self.code.insts[last].action = Action::Multimem(index);
        Ok(())
    }

    pub(super) fn atomic(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let ty = op.ty(0).ok_or("an atomic without a type")?;
        let returns = op.opcode == Opcode::Atom;
        let kind = atomic_operation(op)?;
        let computes = match ty {
            ScalarType::F32 | ScalarType::F64 => kind == AtomicOp::Add,
            ScalarType::F16 | ScalarType::Bf16 | ScalarType::F16x2 | ScalarType::Bf16x2 => {
                matches!(kind, AtomicOp::Add | AtomicOp::Min | AtomicOp::Max)
            }
            ty => !ty.is_float(),
        };
        if !computes {
            return Err(format!("`{op}`"));
        }
        let (destination, rest) = match operands {
            // Nobody reads it.
            [Operand::Register(id), rest @ ..] if returns && !self.fixed.read[id.index()] => {
                (Operand::Sink, rest)
            }
            [d, rest @ ..] if returns => (*d, rest),
            rest => (Operand::Sink, rest),
        };
        let [address, sources @ ..] = rest else { return Err(format!("`{op}` with these operands")) };
        let wanted = if kind == AtomicOp::Cas { 2 } else { 1 };
        let sources = sources.get(..wanted).ok_or_else(|| format!("`{op}` with these operands"))?;
        let place = self.place(op, *address)?;
        // Destinations, then the elements of each source, follow each other in the slot table.
        let count = match sources[0] {
            Operand::Vector(list) => list.len,
            _ => 1,
        };
        let mut slots = Vec::new();
        for operand in std::iter::once(&destination).chain(sources) {
            let list = match (operand, *operand) {
                (Operand::Sink, _) => {
                    slots.extend((0..count).map(|_| RegisterSlot { slot: Slot::frame(0), rows: 0 }));
                    continue;
                }
                (_, operand) => self.elements(guard, operand, ty, !std::ptr::eq(&operand, &destination))?,
            };
            slots.extend_from_slice(&self.code.slots[list.start as usize..][..list.len as usize]);
        }
        let elements = SlotList { start: self.code.slots.len() as u32, len: count };
        let element = slots[0];
        self.code.slots.extend(slots);
        let order = op.order().unwrap_or(MemOrder::Relaxed);
        let scope = op.scope().unwrap_or(Scope::Gpu);
        let mut access =
            Access { strong: true, scope, ..place.access(ty.bytes() as u8, order, elements, element) };
        let [_, sources @ ..] = &self.code.slots[elements.start as usize..] else {
            return Err(format!("`{op}` with these operands"));
        };
        let words = element.rows <= 1 && sources.iter().all(|slot| slot.rows == 1);
        let spaces = [AccessSpace::Shared, AccessSpace::Global, AccessSpace::Generic];
        if ty.bytes() == 4 && count == 1 && words && spaces.contains(&access.space) {
            access.simple = Simple::Four;
        }
        self.emit(guard, Action::Atomic(Atomic { access, op: kind, ty, returns, keeps_subnormals: false }));
        Ok(())
    }
}

/// Whether an access of these registers, or sinks, has a short way: registers of the elements' own size.
pub(super) fn simple(ty: ScalarType, elements: &[RegisterSlot]) -> Simple {
    let all = |rows| elements.iter().all(|element| element.rows == rows || element.rows == 0);
    match (ty.bytes(), elements) {
        (4, [RegisterSlot { rows: 1, .. }]) => Simple::Four,
        (8, [RegisterSlot { rows: 2, .. }]) => Simple::Eight,
        (4, [_, _]) if all(1) => Simple::TwoFours,
        (4, [_, _, _, _]) if all(1) => Simple::FourFours,
        (8, [_, _]) if all(2) => Simple::TwoEights,
        _ => Simple::No,
    }
}

/// The operation that the modifiers of `atom`, `red`, `redux` and the bulk reductions name.
pub(super) fn atomic_operation(op: &Op) -> Result<AtomicOp, Refusal> {
    let table = [
        (Modifier::Add, AtomicOp::Add),
        (Modifier::Min, AtomicOp::Min),
        (Modifier::Max, AtomicOp::Max),
        (Modifier::Inc, AtomicOp::Inc),
        (Modifier::Dec, AtomicOp::Dec),
        (Modifier::And, AtomicOp::And),
        (Modifier::Or, AtomicOp::Or),
        (Modifier::Xor, AtomicOp::Xor),
        (Modifier::Exch, AtomicOp::Exch),
        (Modifier::Cas, AtomicOp::Cas),
    ];
    let found = table.into_iter().find(|&(modifier, _)| op.has(modifier));
    found.map(|(_, operation)| operation).ok_or_else(|| format!("`{op}`"))
}
