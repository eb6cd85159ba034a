//! What the lanes of a whole warp tell each other.

use super::*;
use crate::program::{Exchange, Vote};

impl Emitter<'_> {
    pub(in crate::emit) fn exchange(&mut self, exchange: &Exchange) -> Done {
        match *exchange {
            Exchange::Nothing => Ok(()),
            Exchange::Permute { from, to, sources, flag } => {
                if let Some(to) = to {
                    let halves = [self.fetch(from, Width::Word, 0)?, self.fetch(from, Width::Word, 1)?];
                    for (number, sources) in (0..).zip(sources.as_chunks::<16>().0) {
                        let table = self.pooled(sources.map(u32::from));
                        let new = self.new_register()?;
                        self.a.vmovdqu64(Z[new], zmmword_ptr(table))?;
                        self.a.vpermi2d(Z[new], Z[halves[0]], Z[halves[1]])?;
                        self.finish(to, Width::Word, number, new, Pred::TRUE, false)?;
                    }
                }
                if flag.0.index() == 0 {
                    return Ok(());
                }
                self.a.mov(ecx, flag.1)?;
                self.set_predicate(flag.0, Pred::TRUE)
            }
            Exchange::Ballot(of, to) => {
                self.load_predicate(eax, of)?;
                for number in 0..2 {
                    let new = self.new_register()?;
                    self.a.vpbroadcastd(Z[new], eax)?;
                    self.finish(to, Width::Word, number, new, Pred::TRUE, false)?;
                }
                Ok(())
            }
            Exchange::Vote(of, vote, to) => {
                self.load_predicate(eax, of)?;
                self.a.xor(ecx, ecx)?;
                match vote {
                    Vote::All => {
                        self.a.cmp(eax, -1)?;
                        self.a.sete(cl)?;
                    }
                    Vote::Any => {
                        self.a.test(eax, eax)?;
                        self.a.setne(cl)?;
                    }
                    Vote::Uniform => {
                        self.a.inc(eax)?;
                        self.a.cmp(eax, 1)?;
                        self.a.setbe(cl)?;
                    }
                }
                self.a.neg(ecx)?;
                self.set_predicate(to, Pred::TRUE)
            }
        }
    }

    /// Where words stand behind the code.
    pub(super) fn pooled(&mut self, words: [u32; 16]) -> CodeLabel {
        if let Some((label, _)) = self.pool.iter().find(|(_, pooled)| *pooled == words) {
            return *label;
        }
        let label = self.a.create_label();
        self.pool.push((label, words));
        label
    }
}
