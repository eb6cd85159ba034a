//! AVX2: a row is four registers, of which there are few: operands that lie in none are memory operands. Masks are vectors.

mod access;
mod compute;

use super::*;

/// Registers that hold lines.
pub(super) const COUNT: usize = 13;
/// Scratch.
pub(super) const S0: usize = 13;
const S1: usize = 14;
const S2: usize = 15;

/// How accesses are made.
pub(super) struct Moves;

/// An operand of a vector instruction.
#[derive(Clone, Copy)]
enum Source {
    Register(usize),
    Memory(AsmMemoryOperand),
}

/// Masks of the lanes of words and of doubles, by line.
const LANES: [usize; 2] = [
    offset_of!(Context, tables) + offset_of!(Tables, word_lanes),
    offset_of!(Context, tables) + offset_of!(Tables, double_lanes),
];
/// The bit of each lane, in words and in doubles.
const BITS: [usize; 2] = [
    offset_of!(Context, tables) + offset_of!(Tables, word_bits),
    offset_of!(Context, tables) + offset_of!(Tables, double_bits),
];

/// The vector of a line in one of the tables.
fn of_line(table: [usize; 2], width: Width, number: u32) -> AsmMemoryOperand {
    let table = table[usize::from(width == Width::Double)];
    ymmword_ptr(at(table + 32 * number as usize))
}

impl Emitter<'_> {
    /// Words of the lanes that a word of bits names, all ones: the bits are in all words of the register.
    fn spread(&mut self, register: usize, width: Width, number: u32) -> Done {
        let bits = of_line(BITS, width, number);
        self.a.vpand(Y[register], Y[register], bits)?;
        match width {
            Width::Word => self.a.vpcmpeqd(Y[register], Y[register], bits),
            Width::Double => self.a.vpcmpeqq(Y[register], Y[register], bits),
        }
    }

    pub(super) fn lanes_avx2(&mut self) -> Done {
        for width in [Width::Word, Width::Double] {
            for number in 0..self.lines(width) {
                self.a.vpbroadcastd(Y[S0], dword_ptr(at(offset_of!(Context, lanes))))?;
                self.spread(S0, width, number)?;
                self.a.vmovdqa(of_line(LANES, width, number), Y[S0])?;
            }
        }
        Ok(())
    }

    /// Writes a line to memory for the lanes that run.
    pub(super) fn store_masked_avx2(&mut self, from: usize, held: Held) -> Done {
        let place = ymmword_ptr(self.place(held.line));
        self.a.vmovdqa(Y[S2], of_line(LANES, held.width, held.index))?;
        self.a.vpmaskmovd(place, Y[S2], Y[from])
    }

    /// Writes a line of words for the lanes that run.
    pub(super) fn store_words_avx2(&mut self, from: usize, place: AsmMemoryOperand, number: u32) -> Done {
        self.a.vmovdqa(Y[S2], of_line(LANES, Width::Word, number))?;
        self.a.vpmaskmovd(place, Y[S2], Y[from])
    }

    /// A new value of a line gets the old one for lanes that sit a guarded step out.
    pub(super) fn merge_avx2(&mut self, line: Line, width: Width, number: u32, new: usize) -> Done {
        self.a.vmovd(X[S2], r11d)?;
        self.a.vpbroadcastd(Y[S2], X[S2])?;
        self.spread(S2, width, number)?;
        let old = match self.operand(line) {
            Source::Register(old) => old,
            Source::Memory(old) => {
                self.a.vmovdqa(Y[S1], old)?;
                S1
            }
        };
        self.a.vpblendvb(Y[new], Y[old], Y[new], Y[S2])
    }

    /// A line, where it is until the next register is chosen: not all of a step's have room at once.
    fn operand(&mut self, line: Line) -> Source {
        match self.file.peek(line) {
            Some(register) => {
                self.file.touch(register);
                Source::Register(register)
            }
            None => Source::Memory(ymmword_ptr(self.place(line))),
        }
    }

    /// A line of an operand, where it is.
    fn source_of(&mut self, slot: Slot, number: u32) -> Source {
        let line = self.line(slot, number);
        self.operand(line)
    }

    /// A line of an operand in a register: this one, if it is in none.
    pub(super) fn loaded(&mut self, slot: Slot, number: u32, otherwise: usize) -> Done<usize> {
        match self.source_of(slot, number) {
            Source::Register(register) => Ok(register),
            Source::Memory(place) => {
                self.a.vmovdqa(Y[otherwise], place)?;
                Ok(otherwise)
            }
        }
    }
}
