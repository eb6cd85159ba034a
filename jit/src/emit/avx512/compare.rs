//! Comparisons, and the predicates that they set.

use super::*;
use crate::emit::predicates::of_floats;
use isa::CmpOp;
use semantics::formula::Compared;
use semantics::lanes::{Operands, combine};

impl Emitter<'_> {
    /// The halves of the register of a predicate to `k5` and `k6`.
    pub(super) fn halves_of(&mut self, predicate: Pred) -> Done {
        if self.predicate != Some(predicate.index()) {
            self.halves(predicate.index())?;
            self.predicate = Some(predicate.index());
        }
        Ok(())
    }

    /// Compares; the predicates get the answers.
    pub(in crate::emit) fn compare_avx512(
        &mut self,
        cmp: CmpOp,
        compared: Compared,
        width: Width,
        o: &Operands,
        guard: Pred,
    ) -> Done {
        // The first line of each half, then the second one where there is one.
        let masks = match width {
            Width::Word => [k5, k6, k7, k7],
            Width::Double => [k5, k7, k6, k7],
        };
        self.predicate = None;
        for number in 0..self.lines(width) {
            let a = self.fetch(o.src[0], width, number)?;
            let b = self.source(o.src[1], width, number)?;
            let to = masks[number as usize];
            let (mut a, mut b, mut compared) = (a, b, compared);
            // Halves in the upper ones of words are ordered like those.
            if let Compared::SignedHalf | Compared::UnsignedHalf = compared {
                let signed = compared == Compared::SignedHalf;
                compared = if signed { Compared::Signed } else { Compared::Unsigned };
                self.a.vpslld(Z[S0], Z[a], 16)?;
                match b {
                    Source::Register(b) => self.a.vpslld(Z[S1], Z[b], 16)?,
                    Source::Memory(b) => self.a.vpslld(Z[S1], b, 16)?,
                }
                (a, b) = (S0, Source::Register(S1));
            }
            macro_rules! compare {
                ($method:ident, $how:expr) => {
                    match b {
                        Source::Register(b) => self.a.$method(to, Z[a], Z[b], $how)?,
                        Source::Memory(b) => self.a.$method(to, Z[a], b, $how)?,
                    }
                };
            }
            match (compared, width) {
                (Compared::Signed, Width::Word) => compare!(vpcmpd, of_integers(cmp)),
                (Compared::Signed, Width::Double) => compare!(vpcmpq, of_integers(cmp)),
                (Compared::Unsigned, Width::Word) => compare!(vpcmpud, of_integers(cmp)),
                (Compared::Unsigned, Width::Double) => compare!(vpcmpuq, of_integers(cmp)),
                (Compared::Float | Compared::FloatFlushed, Width::Word) => compare!(vcmpps, of_floats(cmp)),
                (Compared::Float | Compared::FloatFlushed, Width::Double) => compare!(vcmppd, of_floats(cmp)),
                (Compared::SignedHalf | Compared::UnsignedHalf, _) => {}
            }
            if width == Width::Double && number % 2 == 1 {
                let half = masks[number as usize - 1];
                self.a.kunpckbw(half, k7, half)?;
            }
        }
        self.a.kunpckwd(k7, k6, k5)?;
        self.a.kmovd(eax, k7)?;
        self.compared(o, guard)?;
        let first = o.pred[0].index();
        let combined = o.imm & 3;
        if guard == Pred::TRUE && combined == combine::NONE && first != 0 && first != o.pred[1].index() {
            self.predicate = Some(first);
        }
        Ok(())
    }
}

/// The comparison of `vpcmp`.
fn of_integers(cmp: CmpOp) -> u32 {
    match cmp {
        CmpOp::Eq => 0,
        CmpOp::Lt | CmpOp::Lo => 1,
        CmpOp::Le | CmpOp::Ls => 2,
        CmpOp::Ge | CmpOp::Hs => 5,
        CmpOp::Gt | CmpOp::Hi => 6,
        _ => 4,
    }
}
