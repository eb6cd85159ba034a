//! AVX-512: a row is two registers, masks are mask registers.

/// One instruction of three operands, the last of any kind.
macro_rules! three {
    ($self:ident, $method:ident, $to:expr, $a:expr, $b:expr) => {
        match $b {
            Source::Register(b) => $self.a.$method(Z[$to], Z[$a], Z[b])?,
            Source::Memory(b) => $self.a.$method(Z[$to], Z[$a], b)?,
        }
    };
}

mod access;
mod approximate;
mod atomic;
mod compare;
mod compute;
mod exchange;
mod halves;
mod integers;

use super::*;
use crate::context::Mix;

/// Registers that hold lines.
pub(super) const COUNT: usize = 29;
/// Scratch.
pub(super) const S0: usize = 29;
pub(super) const S1: usize = 30;
pub(super) const S2: usize = 31;

/// The lanes of quarters of a warp.
const QUARTERS: [AsmRegisterK; 4] = [k1, k3, k2, k4];
/// The lanes of halves.
pub(super) const HALVES: [AsmRegisterK; 2] = [k1, k2];

/// How accesses are made.
pub(super) struct Moves;

/// An operand of a vector instruction.
#[derive(Clone, Copy)]
enum Source {
    Register(usize),
    Memory(AsmMemoryOperand),
}

impl Emitter<'_> {
    pub(super) fn lanes_avx512(&mut self) -> Done {
        self.a.kmovd(k1, ebp)?;
        self.a.kshiftrd(k3, k1, 8)?;
        self.a.kshiftrd(k2, k1, 16)?;
        self.a.kshiftrd(k4, k1, 24)
    }

    /// Writes a line to memory for the lanes that run.
    pub(super) fn store_masked(&mut self, from: usize, held: Held) -> Done {
        let place = zmmword_ptr(self.place(held.line));
        match held.width {
            Width::Word => self.a.vmovdqa32(place.k(HALVES[held.index as usize]), Z[from]),
            Width::Double => self.a.vmovdqa64(place.k(QUARTERS[held.index as usize]), Z[from]),
        }
    }

    /// A line of an operand, of a constant as memory.
    fn source(&mut self, slot: Slot, width: Width, number: u32) -> Done<Source> {
        let line = self.line(slot, number);
        if self.is_uniform(slot) && self.file.peek(line).is_none() {
            let place = r14 + 128 * slot.row() as i32;
            return Ok(Source::Memory(match width {
                Width::Word => dword_bcst(place),
                Width::Double => qword_bcst(place),
            }));
        }
        Ok(Source::Register(self.fetch(slot, width, number)?))
    }

    /// A line of a result gets a new value for the lanes of a guarded step.
    pub(super) fn merge(&mut self, slot: Slot, width: Width, number: u32, new: usize, raw: bool) -> Done {
        let line = self.line(slot, number);
        let old = self.fetch(slot, width, number)?;
        let raw = self.both_raw(new, raw, Some(old))?;
        let shift = number * if width == Width::Word { 16 } else { 8 };
        self.a.mov(eax, r11d)?;
        if shift != 0 {
            self.a.shr(eax, shift)?;
        }
        self.a.kmovd(k7, eax)?;
        match width {
            Width::Word => self.a.vmovdqa32(Z[old].k7(), Z[new])?,
            Width::Double => self.a.vmovdqa64(Z[old].k7(), Z[new])?,
        }
        self.file.put(old, Held::new(line, width, number, true).raw(raw));
        self.file.pin(old);
        Ok(())
    }

    /// The halves of a predicate register to `k5` and `k6`.
    fn halves(&mut self, index: u32) -> Done {
        let place = r15 + 4 * index as i32;
        self.a.kmovw(k5, word_ptr(place))?;
        self.a.kmovw(k6, word_ptr(place + 2))
    }
}

/// A mask register as a mask of an operand.
pub(super) trait Masked {
    fn k(self, mask: AsmRegisterK) -> Self;
}

macro_rules! masked {
    ($($register:ty)*) => {$(
        impl Masked for $register {
            fn k(self, mask: AsmRegisterK) -> Self {
                match mask {
                    mask if mask == k1 => self.k1(),
                    mask if mask == k2 => self.k2(),
                    mask if mask == k3 => self.k3(),
                    mask if mask == k4 => self.k4(),
                    mask if mask == k5 => self.k5(),
                    mask if mask == k6 => self.k6(),
                    _ => self.k7(),
                }
            }
        }
    )*};
}

masked!(AsmRegisterZmm AsmRegisterK AsmMemoryOperand);
