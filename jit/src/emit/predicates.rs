//! Lane operations: which of them is how computed, and what is done with predicates.

use super::*;
use crate::liveness::flushes;
use isa::{CmpOp, IntRounding};
use semantics::formula::{Formula, Logic};
use semantics::lanes::{Operands, combine};

impl Emitter<'_> {
    pub(super) fn compute(&mut self, formula: Formula, operands: &Operands, guard: Pred) -> Done {
        if let Some(flushing) = flushes(formula) {
            self.set_flushing(flushing)?;
        }
        if guard != Pred::TRUE {
            self.guard(guard)?;
        }
        match formula {
            Formula::Compare(cmp, compared, width) if self.avx512 => {
                self.compare_avx512(cmp, compared, width, operands, guard)
            }
            Formula::Compare(cmp, compared, width) => {
                self.compare_avx2(cmp, compared, width, operands)?;
                self.compared(operands, guard)
            }
            Formula::Predicate(logic) => self.logic(logic, operands, guard),
            _ if self.avx512 => self.compute_avx512(formula, operands, guard),
            _ => self.compute_avx2(formula, operands, guard),
        }
    }

    /// Predicates get the result of a comparison in `eax`, and its complement.
    pub(super) fn compared(&mut self, o: &Operands, guard: Pred) -> Done {
        let combined = o.imm & 3;
        if combined != combine::NONE {
            self.load_predicate(edx, o.pred[2])?;
        }
        for (which, to) in o.pred[..2].iter().enumerate().filter(|(_, to)| to.index() != 0) {
            self.a.mov(ecx, eax)?;
            if which == 1 {
                self.a.not(ecx)?;
            }
            match combined {
                combine::AND => self.a.and(ecx, edx)?,
                combine::OR => self.a.or(ecx, edx)?,
                combine::XOR => self.a.xor(ecx, edx)?,
                _ => {}
            }
            self.set_predicate(*to, guard)?;
        }
        Ok(())
    }

    /// Sets a predicate register to `ecx` for the lanes of the step.
    pub(super) fn set_predicate(&mut self, to: Pred, guard: Pred) -> Done {
        let place = dword_ptr(r15 + 4 * to.index() as i32);
        if self.masked() || guard != Pred::TRUE {
            self.a.mov(esi, place)?;
            self.a.xor(ecx, esi)?;
            self.a.and(ecx, if guard == Pred::TRUE { ebp } else { r11d })?;
            self.a.xor(ecx, esi)?;
        }
        if self.predicate == Some(to.index()) {
            self.predicate = None;
        }
        self.a.mov(place, ecx)
    }

    fn logic(&mut self, logic: Logic, o: &Operands, guard: Pred) -> Done {
        if o.pred[0].index() == 0 {
            return Ok(());
        }
        self.load_predicate(ecx, o.pred[2])?;
        if let Logic::And | Logic::Or | Logic::Xor = logic {
            self.load_predicate(edx, o.pred[1])?;
        }
        match logic {
            Logic::And => self.a.and(ecx, edx)?,
            Logic::Or => self.a.or(ecx, edx)?,
            Logic::Xor => self.a.xor(ecx, edx)?,
            Logic::Not => self.a.not(ecx)?,
            Logic::Copy => {}
        }
        self.set_predicate(o.pred[0], guard)
    }
}

/// The comparison of `vcmp`, quiet.
pub(super) const fn of_floats(cmp: CmpOp) -> u32 {
    match cmp {
        CmpOp::Eq => 0,
        CmpOp::Ne => 12,
        CmpOp::Lt | CmpOp::Lo => 17,
        CmpOp::Le | CmpOp::Ls => 18,
        CmpOp::Ge | CmpOp::Hs => 29,
        CmpOp::Gt | CmpOp::Hi => 30,
        CmpOp::Equ => 8,
        CmpOp::Neu => 4,
        CmpOp::Ltu => 25,
        CmpOp::Leu => 26,
        CmpOp::Gtu => 22,
        CmpOp::Geu => 21,
        CmpOp::Num => 7,
        CmpOp::Nan => 3,
    }
}

/// The rounding of `vround` and `vrndscale`.
pub(super) const fn nearest(rounding: IntRounding) -> u32 {
    match rounding {
        IntRounding::Rni => 0,
        IntRounding::Rmi => 1,
        IntRounding::Rpi => 2,
        IntRounding::Rzi => 3,
    }
}
