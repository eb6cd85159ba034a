//! `wgmma` and `setmaxnreg` (ISA 9.7.15, 9.7.19.5).

use ptx_frontend::{Modifier, Modifiers, Op, Opcode, Operand as Written, ScalarType};

use super::{Decoder, Refusal};
use crate::code::{Action, TouchKind, WarpgroupStep};
use semantics::lanes::Pred;
use semantics::matrix::panel::{Product, Sums};
use semantics::matrix::warpgroup::{Operand, Rows, Shape, Warpgroup};
use semantics::matrix::{PanelFns, per_register};

/// Bytes of a row of A as stored.
const ROW: u32 = 32;

impl Decoder<'_> {
    /// Instructions of warpgroups; false if it is none.
    pub(super) fn warpgroup(&mut self, guard: Pred, op: &Op, operands: &[Written]) -> Result<bool, Refusal> {
        let step = match (op.opcode, operands) {
            (Opcode::Wgmma, []) if op.has(Modifier::Fence) => WarpgroupStep::Fence,
            (Opcode::Wgmma, []) if op.has(Modifier::CommitGroup) => WarpgroupStep::Commit,
            (Opcode::Wgmma, &[Written::Integer(most)]) if op.has(Modifier::WaitGroup) => {
                WarpgroupStep::Wait(u32::try_from(most).unwrap_or(u32::MAX))
            }
            (Opcode::Wgmma, _) => {
                let shape = self.warpgroup_shape(guard, op, operands)?;
                let index = self.code.warpgroups.len() as u32;
                let registers = [0, 1].map(|at| self.accumulators_of(operands[at]));
                let fns = PanelFns::at(self.level);
                self.code.warpgroups.push(Warpgroup { shape, registers, fns });
                WarpgroupStep::Multiply(index)
            }
            (Opcode::Setmaxnreg, &[Written::Integer(count)]) => {
                WarpgroupStep::Registers(count as u32, op.has(Modifier::Inc))
            }
            _ => return Ok(false),
        };
        self.emit(guard, Action::Warpgroup(step));
        Ok(true)
    }

    /// The numbers of an operand's registers among those that are watched.
    fn accumulators_of(&self, operand: Written) -> Vec<u32> {
        let Written::Vector(list) = operand else { return Vec::new() };
        let numbers = self.body.elements(list).iter().filter_map(|element| match element {
            Written::Register(register) => self.accumulators.number(*register),
            _ => None,
        });
        numbers.map(|number| self.first_accumulator + number).collect()
    }

    /// Tells what the next instruction does to registers of `wgmma`.
    pub(super) fn touch(&mut self, guard: Pred) {
        let Some(mut touches) = self.accumulators.touches.remove(&self.at) else { return };
        for touch in &mut touches {
            touch.register += self.first_accumulator;
            if let TouchKind::Copy(from) = &mut touch.kind {
                *from += self.first_accumulator;
            }
        }
        let index = self.code.touches.len() as u32;
        self.code.touches.push(touches);
        self.emit(guard, Action::Touch(index));
    }

    fn warpgroup_shape(&mut self, guard: Pred, op: &Op, operands: &[Written]) -> Result<Shape, Refusal> {
        let refuse = || format!("`{op}` with these operands");
        let (Some((_, n, k)), Some(d_ty), Some(a_ty), Some(b_ty)) =
            (op.shape(), op.ty(0), op.ty(1), op.ty(2))
        else {
            return Err(refuse());
        };
        let sparse = op.has(Modifier::Sp);
        let stored = u32::from(k) >> u32::from(sparse);
        if stored * a_ty.bits() != 8 * ROW {
            return Err(refuse());
        }
        let product = Product::of(a_ty, b_ty, d_ty, (ROW / 4) as u8).ok_or_else(refuse)?;
        let (&[d, a, b, ref rest @ ..], rest_of_sparse) = (operands, sparse) else { return Err(refuse()) };
        let (metadata, selector, rest) = match *rest {
            [metadata, Written::Integer(selector), ref rest @ ..] if rest_of_sparse => {
                (Some(self.source(guard, metadata, ScalarType::B32)?), Some(selector as u8 & 3), rest)
            }
            ref rest => (None, None, rest),
        };
        let &[scale_d, ref rest @ ..] = rest else { return Err(refuse()) };
        let constant = |at: usize| match rest.get(at) {
            Some(&Written::Integer(value)) => value as i64,
            _ => 0,
        };
        let in_registers = matches!(a, Written::Vector(_));
        let sums = match product.sums {
            Sums::Integer(_) => Sums::Integer(op.has(Modifier::Satfinite)),
            sums => sums,
        };
        let product = Product { selector, sums, negated: constant(0) * constant(1) < 0, ..product };
        let d = self.elements(guard, d, ScalarType::B32, false)?;
        let results = u32::from(n) / if d_ty == ScalarType::F16 { 4 } else { 2 };
        let a = if in_registers {
            let registers = self.elements(guard, a, ScalarType::B32, true)?;
            if registers.len != 4 {
                return Err(refuse());
            }
            Rows::Registers(registers)
        } else {
            let descriptor = self.source(guard, a, ScalarType::B64)?;
            Rows::Shared(Operand { descriptor, across: constant(2) != 0 })
        };
        let across = constant(if in_registers { 2 } else { 3 }) != 0;
        if d.len != results || across && per_register(b_ty) != 2 {
            return Err(refuse());
        }
        Ok(Shape {
            product,
            n,
            a,
            b: Operand { descriptor: self.source(guard, b, ScalarType::B64)?, across },
            d,
            scale_d: self.predicate_source(scale_d)?,
            metadata,
        })
    }
}
