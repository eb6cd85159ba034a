//! Operands to slots, and register-to-register instructions.

use ptx_frontend::{
    FunctionKind, Modifier, Modifiers, Op, Operand, ScalarType, SpecialRegister, StateSpace, VarId,
};

use super::compiler::Part;
use super::registers::CARRY;
use super::{Decoder, Refusal, rows_of};
use crate::code::*;
use semantics::formula::{self, Formula, Width};
use semantics::lanes::{LaneFns, Operands, Pred, Slot, map1, map2};
use semantics::window;
use semantics::{self, Role, Written};

/// What remains to be done with a destination after the operation wrote it.
#[must_use]
pub(super) enum Widen {
    Done,
    /// Copy from a temporary into a wider register, extending by the type's sign.
    Into(Slot, RegisterSlot, ScalarType),
}

impl Decoder<'_> {
    pub(super) fn temporary(&mut self, rows: u8) -> Slot {
        let slot = Slot::frame(self.allocation.rows + self.temporaries);
        self.temporaries += u32::from(rows);
        self.most_temporaries = self.most_temporaries.max(self.temporaries);
        slot
    }

    pub(super) fn constant(&mut self, constant: Constant) -> Slot {
        let (pool, code) = (&mut *self.pools, &mut *self.code);
        *pool.constants.entry(constant).or_insert_with(|| {
            let slot = Slot::constant(pool.constant_rows);
            pool.constant_rows += u32::from(constant.rows());
            code.constants.push(constant);
            slot
        })
    }

    pub(super) fn bits(&mut self, value: u128, rows: u8) -> Slot {
        let width = u32::from(rows) * 32;
        let value = if width == 128 { value } else { value & ((1 << width) - 1) };
        self.constant(Constant::Bits(value, rows))
    }

    pub(super) fn lanes(&mut self, guard: Pred, fns: LaneFns, operands: Operands) {
        self.emit(guard, Action::Lanes(fns.at(self.level), operands));
    }

    /// `d = f(a)` into a slot.
    pub(super) fn unary(&mut self, guard: Pred, fns: LaneFns, dst: Slot, a: Slot, imm: u64) {
        self.lanes(guard, fns, Operands { dst, src: [a; 4], imm, ..Operands::default() });
    }

    /// A register of so many rows into another one.
    pub(super) fn copy_register(&mut self, guard: Pred, rows: u8, dst: Slot, a: Slot) {
        self.unary(guard, semantics::copy(rows), dst, a, 0);
        self.computes(match rows {
            1 => Some(Formula::Copy(Width::Word)),
            2 => Some(Formula::Copy(Width::Double)),
            _ => None,
        });
    }

    pub(super) fn binary(&mut self, guard: Pred, fns: LaneFns, dst: Slot, a: Slot, b: Slot) {
        self.lanes(guard, fns, Operands { dst, src: [a, b, b, b], ..Operands::default() });
    }

    /// The lower 32 bits of a row of 64.
    fn low_half(&mut self, guard: Pred, whole: Slot) -> Slot {
        let dst = self.temporary(1);
        self.unary(guard, map1!(|a: u64| -> u32 { a as u32 }), dst, whole, 0);
        self.computes(Some(Formula::Truncate));
        dst
    }

    /// The slot of a source operand read as `ty`.
    pub(super) fn source(&mut self, guard: Pred, operand: Operand, ty: ScalarType) -> Result<Slot, Refusal> {
        let rows = rows_of(ty);
        Ok(match operand {
            Operand::Register(id) => {
                let register = self.allocation.slot(id);
                match (register.rows, rows) {
                    (have, want) if have == want => register.slot,
                    (2, 1) => self.low_half(guard, register.slot),
                    (1, 2) => {
                        let dst = self.temporary(2);
                        let fns = if ty.is_signed() {
                            map1!(|a: i32| -> i64 { a as i64 })
                        } else {
                            map1!(|a: u32| -> u64 { a as u64 })
                        };
                        self.unary(guard, fns, dst, register.slot, 0);
                        self.computes(Some(Formula::Extend { bits: 32, signed: ty.is_signed() }));
                        dst
                    }
                    _ => return Err(format!("a register of another size than `{ty}`")),
                }
            }
            Operand::Integer(value) if ty == ScalarType::F32 || ty == ScalarType::F64 => {
                let value = value as i64 as f64;
                let bits =
                    if ty == ScalarType::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
                self.bits(bits.into(), rows)
            }
            // Sign-extended, as integer constants are 64 bits wide.
            Operand::Integer(value) => self.bits(value as i64 as i128 as u128, rows),
            // For `.f64` too they are the low bits, as ptxas has it.
            Operand::F32(bits) => self.bits(bits.into(), rows),
            Operand::F64(bits) if ty.bits() == 32 => {
                self.bits((f64::from_bits(bits) as f32).to_bits().into(), rows)
            }
            Operand::F64(bits) => self.bits(bits.into(), rows),
            Operand::Special(special) => self.special(guard, special, rows),
            Operand::Variable(id, offset) => self.address_of(guard, id, offset, rows)?,
            Operand::Function(id) => self.constant(Constant::Function(id, rows)),
            Operand::Sink => self.bits(0, rows),
            Operand::Part(..) => return Err("a part of a register as an operand of this instruction".into()),
            other => return Err(format!("{} as an operand of this instruction", kind_of(other))),
        })
    }

    /// The address of a variable in its own state space.
    fn address_of(&mut self, guard: Pred, id: VarId, offset: i64, rows: u8) -> Result<Slot, Refusal> {
        if let Some(&start) = self.locals.get(&id) {
            let dst = self.temporary(rows);
            let at = i64::from(start).wrapping_add(offset);
            self.emit(guard, Action::LocalAddress(RegisterSlot { slot: dst, rows }, at));
            return Ok(dst);
        }
        let variable = &self.module.variables[id.index()];
        Ok(match variable.space {
            StateSpace::Global | StateSpace::Const => self.constant(Constant::Variable(id, offset, rows)),
            StateSpace::Shared => {
                let start = self.code.shared.offsets.get(&id).copied().unwrap_or(0);
                self.shared_address(guard, i64::from(start).wrapping_add(offset) as u64, rows)
            }
            StateSpace::Param if self.function.kind == FunctionKind::Entry => {
                self.bits((variable.offset as i64).wrapping_add(offset) as u128, rows)
            }
            space => return Err(format!("the address of a variable in {space} space here")),
        })
    }

    /// An address in the block's own shared memory: with its rank, where that can be told.
    pub(super) fn shared_address(&mut self, guard: Pred, at: u64, rows: u8) -> Slot {
        if !self.code.clustered {
            return self.bits(at.into(), rows);
        }
        let rank = self.special(guard, SpecialRegister::ClusterCtarank, 1);
        let dst = self.temporary(rows);
        let fns = match rows {
            1 => map1!(|rank: u32, imm| -> u32 {
                (rank << window::SHARED_RANK_SHIFT).wrapping_add(imm as u32)
            }),
            _ => map1!(|rank: u32, imm| -> u64 {
                (u64::from(rank) << window::SHARED_RANK_SHIFT).wrapping_add(imm)
            }),
        };
        self.unary(guard, fns, dst, rank, at);
        dst
    }

    /// The slot of a special register that does not change while a warp runs; others are read into
    /// a temporary.
    pub(super) fn special(&mut self, guard: Pred, special: SpecialRegister, rows: u8) -> Slot {
        use SpecialRegister as R;
        match special {
            R::Tid(_)
            | R::Ctaid(_)
            | R::Clusterid(_)
            | R::ClusterCtaid(_)
            | R::ClusterCtarank
            | R::Warpid
            | R::Smid => {
                let (pools, code) = (&mut *self.pools, &mut *self.code);
                let slot = *pools.specials.entry(special).or_insert_with(|| {
                    code.warp_specials.push(special);
                    Slot::warp(code.warp_specials.len() as u32 - 1)
                });
                if rows == 1 {
                    return slot;
                }
                let dst = self.temporary(2);
                self.unary(guard, map1!(|a: u32| -> u64 { a as u64 }), dst, slot, 0);
                self.computes(Some(Formula::Extend { bits: 32, signed: false }));
                dst
            }
            R::Clock
            | R::ClockHi
            | R::Clock64
            | R::Globaltimer
            | R::GlobaltimerLo
            | R::GlobaltimerHi
            | R::Pm(_)
            | R::Pm64(_) => {
                let slot = self.temporary(rows);
                self.emit(guard, Action::ReadSpecial(special, RegisterSlot { slot, rows }));
                slot
            }
            _ => self.constant(Constant::Special(special, rows)),
        }
    }

    /// A source predicate.
    pub(super) fn predicate_source(&self, operand: Operand) -> Result<Pred, Refusal> {
        Ok(match operand {
            Operand::Register(id) => self.allocation.predicate(id),
            Operand::Negated(id) => self.allocation.predicate(id).negate(),
            Operand::Integer(0) => Pred::FALSE,
            Operand::Integer(_) => Pred::TRUE,
            // No explicit cluster is a constant of the launch; the others are not predicates.
            other => return Err(format!("a predicate operand of this kind: {other:?}")),
        })
    }

    /// A destination predicate; index 0 for `_`.
    pub(super) fn predicate_destination(&self, operand: Operand) -> Result<Pred, Refusal> {
        Ok(match operand {
            Operand::Register(id) => self.allocation.predicate(id),
            Operand::Sink => Pred::TRUE,
            other => return Err(format!("a predicate destination of this kind: {other:?}")),
        })
    }

    /// The slot to write a result of type `ty` to, and what to do afterwards.
    pub(super) fn destination(&mut self, operand: Operand, ty: ScalarType) -> Result<(Slot, Widen), Refusal> {
        let rows = rows_of(ty);
        Ok(match operand {
            Operand::Register(id) => {
                let register = self.allocation.slot(id);
                if register.rows == rows {
                    (register.slot, Widen::Done)
                } else if (register.rows, rows) == (2, 1) {
                    let slot = self.temporary(1);
                    (slot, Widen::Into(slot, register, ty))
                } else {
                    return Err(format!("a destination register of another size than `{ty}`"));
                }
            }
            Operand::Sink => (self.temporary(rows), Widen::Done),
            other => return Err(format!("a destination of this kind: {other:?}")),
        })
    }

    pub(super) fn widen(&mut self, guard: Pred, widen: Widen) {
        if let Widen::Into(from, register, ty) = widen {
            let fns = match (ty.bits(), ty.is_signed()) {
                (8, false) => map1!(|a: u8| -> u64 { a as u64 }),
                (16, false) => map1!(|a: u16| -> u64 { a as u64 }),
                (8, true) => map1!(|a: i8| -> i64 { a as i64 }),
                (16, true) => map1!(|a: i16| -> i64 { a as i64 }),
                (_, false) => map1!(|a: u32| -> u64 { a as u64 }),
                (_, true) => map1!(|a: i32| -> i64 { a as i64 }),
            };
            self.unary(guard, fns, register.slot, from, 0);
            let word = ty.bits() == 32;
            self.computes(word.then_some(Formula::Extend { bits: 32, signed: ty.is_signed() }));
        }
    }

    /// Flattens `d|p` pairs and keeps the rest.
    pub(super) fn flat(&self, operands: &[Operand]) -> smallvec::SmallVec<[Operand; 8]> {
        let mut flat = smallvec::SmallVec::new();
        for operand in operands {
            match *operand {
                Operand::Pair(list) => flat.extend(self.body.elements(list).iter().copied()),
                other => flat.push(other),
            }
        }
        flat
    }

    /// Binds a register-to-register instruction to its semantics.
    pub(super) fn lane_operation(
        &mut self,
        guard: Pred,
        op: &Op,
        operands: &[Operand],
    ) -> Result<(), Refusal> {
        let pair = matches!(operands.first(), Some(Operand::Pair(_)));
        let flat = self.flat(operands);
        let bound =
            semantics::bind(op, Written { operands: &flat, pair }).ok_or_else(|| format!("`{op}`"))?;
        let formula = formula::formula(op, Written { operands: &flat, pair });
        let mut operands = Operands { imm: bound.imm, ..Operands::default() };
        let mut written = flat.iter();
        // Source predicates fill their places from the back.
        let (mut source, mut predicate, mut source_predicate) = (0, 0, operands.pred.len());
        let mut widen = smallvec::SmallVec::<[Widen; 2]>::new();
        for &role in &bound.roles {
            let operand = match role {
                Role::CarryIn | Role::CarryOut => Operand::Sink,
                _ => *written.next().ok_or_else(|| format!("`{op}` with {} operands", flat.len()))?,
            };
            match role {
                Role::Dst(ty) => {
                    let (slot, rest) = self.destination(whole(operand), ty)?;
                    operands.dst = slot;
                    widen.push(rest);
                }
                Role::Src(ty) => {
                    let mut slot = self.source(guard, whole(operand), ty)?;
                    if source == 1
                        && let Some(&from) = self.converted.get(&(self.at, Part::Amount))
                    {
                        let signed = op.ty(0).is_some_and(|ty| ty.is_signed());
                        let to = if signed { ScalarType::S64 } else { ScalarType::U64 };
                        let whole = self.integer(guard, Modifier::Rzi, to, from, slot)?.slot;
                        slot = self.low_half(guard, whole);
                    }
                    operands.src[source] = slot;
                    source += 1;
                }
                Role::PredSrc | Role::CarryIn => {
                    source_predicate -= 1;
                    operands.pred[source_predicate] =
                        if role == Role::CarryIn { CARRY } else { self.predicate_source(operand)? };
                }
                Role::PredDst | Role::CarryOut => {
                    operands.pred[predicate] =
                        if role == Role::CarryOut { CARRY } else { self.predicate_destination(operand)? };
                    predicate += 1;
                }
                Role::Imm(shift) => match operand {
                    Operand::Integer(value) => operands.imm |= value << shift,
                    other => return Err(format!("a constant operand of this kind: {other:?}")),
                },
            }
        }
        self.lanes(guard, bound.fns, operands);
        self.computes(formula);
        for rest in widen {
            self.widen(guard, rest);
        }
        Ok(())
    }

    /// `mov` that packs, unpacks or moves vectors.
    pub(super) fn vector_move(&mut self, guard: Pred, op: &Op, operands: &[Operand]) -> Result<(), Refusal> {
        let ty = op.ty(0).ok_or("`mov` without a type")?;
        match *operands {
            [Operand::Vector(to), Operand::Vector(from)] => {
                let (to, from) = (self.body.elements(to), self.body.elements(from));
                if to.len() != from.len() {
                    return Err("`mov` between vectors of different lengths".into());
                }
                // Through temporaries: source and destination may overlap.
                let mut staged = Vec::new();
                for &operand in from {
                    let source = self.source(guard, operand, ty)?;
                    let copy = self.temporary(rows_of(ty));
                    self.copy_register(guard, rows_of(ty), copy, source);
                    staged.push(copy);
                }
                for (&operand, source) in to.iter().zip(staged) {
                    if operand != Operand::Sink {
                        let (slot, rest) = self.destination(operand, ty)?;
                        self.copy_register(guard, rows_of(ty), slot, source);
                        self.widen(guard, rest);
                    }
                }
                Ok(())
            }
            [Operand::Vector(to), from] => {
                let elements = self.body.elements(to);
                let width = ty.bits() / elements.len() as u32;
                let source = self.source(guard, from, ty)?;
                for (at, &operand) in elements.iter().enumerate() {
                    if operand == Operand::Sink {
                        continue;
                    }
                    let element = bits_type(width).ok_or("`mov` into elements of this size")?;
                    let (slot, rest) = self.destination(operand, element)?;
                    let shift = u64::from(at as u32 * width);
                    let fns = match (ty.bits(), width) {
                        (_, 8) if ty.bits() <= 32 => map1!(|a: u32, imm| -> u8 { (a >> imm) as u8 }),
                        (_, 16) if ty.bits() <= 32 => map1!(|a: u32, imm| -> u16 { (a >> imm) as u16 }),
                        (64, 8) => map1!(|a: u64, imm| -> u8 { (a >> imm) as u8 }),
                        (64, 16) => map1!(|a: u64, imm| -> u16 { (a >> imm) as u16 }),
                        (64, 32) => map1!(|a: u64, imm| -> u32 { (a >> imm) as u32 }),
                        (128, 32) => map1!(|a: u128, imm| -> u32 { (a >> imm) as u32 }),
                        (128, 64) => map1!(|a: u128, imm| -> u64 { (a >> imm) as u64 }),
                        _ => return Err(format!("unpacking `{ty}` into elements of {width} bits")),
                    };
                    self.unary(guard, fns, slot, source, shift);
                    self.computes(match (ty.bits(), width, shift) {
                        (64, 32, 0) => Some(Formula::Truncate),
                        (64, 32, _) => Some(Formula::Upper),
                        (16 | 32, 8 | 16, _) => {
                            Some(Formula::Field { first: shift as u32, bits: width, signed: false })
                        }
                        _ => None,
                    });
                    self.widen(guard, rest);
                }
                Ok(())
            }
            [to, Operand::Vector(from)] => {
                let elements = self.body.elements(from);
                let width = ty.bits() / elements.len() as u32;
                let element = bits_type(width).ok_or("`mov` from elements of this size")?;
                let mut parts = Vec::new();
                for &operand in elements {
                    parts.push(self.source(guard, operand, element)?);
                }
                let (slot, rest) = self.destination(to, ty)?;
                let mut width = width;
                while parts.len() > 1 {
                    let last = parts.len() == 2;
                    let wide = bits_type(2 * width).ok_or("`mov` into a register of this size")?;
                    let fns = match width {
                        8 => map2!(|a: u8, b: u8| -> u16 { a as u16 | (b as u16) << 8 }),
                        16 => map2!(|a: u16, b: u16| -> u32 { a as u32 | (b as u32) << 16 }),
                        32 => map2!(|a: u32, b: u32| -> u64 { a as u64 | (b as u64) << 32 }),
                        64 => map2!(|a: u64, b: u64| -> u128 { a as u128 | (b as u128) << 64 }),
                        _ => return Err(format!("packing elements of {width} bits")),
                    };
                    let mut packed = Vec::new();
                    for pair in parts.chunks_exact(2) {
                        let dst = if last { slot } else { self.temporary(rows_of(wide)) };
                        self.binary(guard, fns, dst, pair[0], pair[1]);
                        self.computes(match width {
                            8 | 16 => Some(Formula::Join { bits: width }),
                            32 => Some(Formula::Pack),
                            _ => None,
                        });
                        packed.push(dst);
                    }
                    parts = packed;
                    width *= 2;
                }
                self.widen(guard, rest);
                Ok(())
            }
            _ => Err("`mov` of this form".into()),
        }
    }

    /// `mov` of a special register that changes, or into a predicate from one.
    pub(super) fn special_move(
        &mut self,
        guard: Pred,
        op: &Op,
        operands: &[Operand],
    ) -> Result<bool, Refusal> {
        let &[to, Operand::Special(special)] = operands else { return Ok(false) };
        if op.ty(0) != Some(ScalarType::Pred) {
            return Ok(false);
        }
        let source = self.special(guard, special, 1);
        let fns = semantics::lanes::test2!(|a: u32, b: u32| { a != b });
        let zero = self.bits(0, 1);
        let pred = [self.predicate_destination(to)?, Pred::TRUE, Pred::TRUE];
        self.lanes(guard, fns, Operands { src: [source, zero, zero, zero], pred, ..Operands::default() });
        Ok(true)
    }
}

/// The register that a video instruction selects a part of.
fn whole(operand: Operand) -> Operand {
    match operand {
        Operand::Part(id, _) | Operand::Negated(id) | Operand::NegatedPart(id, _) => Operand::Register(id),
        other => other,
    }
}

pub(super) fn bits_type(width: u32) -> Option<ScalarType> {
    Some(match width {
        8 => ScalarType::B8,
        16 => ScalarType::B16,
        32 => ScalarType::B32,
        64 => ScalarType::B64,
        128 => ScalarType::B128,
        _ => return None,
    })
}

/// The kind of an operand in words, for refusals.
fn kind_of(operand: Operand) -> &'static str {
    match operand {
        Operand::Vector(_) => "a vector",
        Operand::Pair(_) => "a pair of destinations",
        Operand::Address(_) | Operand::AddressList(_) => "an address in brackets",
        Operand::Label(_) | Operand::BranchTargets(_) => "a label",
        Operand::Prototype(_) => "a call prototype",
        Operand::Negated(_) | Operand::NegatedPart(..) => "a negated register",
        _ => "a constant",
    }
}
