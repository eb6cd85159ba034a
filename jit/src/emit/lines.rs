//! Lines of rows: where they are, in registers and memory.

use super::*;

impl Emitter<'_> {
    /// No line in any register.
    pub(super) fn empty(&self) -> File {
        File::new(self.file.count())
    }

    /// Lines of a row.
    pub(super) fn per_row(&self) -> u32 {
        if self.avx512 { 2 } else { 4 }
    }

    /// Lines of a register.
    pub(super) fn lines(&self, width: Width) -> u32 {
        self.per_row() * width.rows()
    }

    /// A place in a row.
    pub(super) fn place(&self, line: Line) -> AsmMemoryOperand {
        let base = [r12, r13, r14][usize::from(line.base)];
        base + (128 * line.row + 128 / self.per_row() * line.part) as i32
    }

    pub(super) fn line(&self, slot: Slot, number: u32) -> Line {
        let base = if slot.is_constant() {
            2
        } else if slot.is_warp() {
            1
        } else {
            Line::FRAME
        };
        let each = self.per_row();
        Line { base, row: slot.row() + number / each, part: number % each }
    }

    /// Whether all lanes of an operand have one value.
    pub(super) fn is_uniform(&self, slot: Slot) -> bool {
        slot.is_constant() && self.program.uniform.get(slot.row() as usize).is_some_and(|uniform| *uniform)
    }

    /// The value of a constant that is known.
    pub(super) fn known(&self, slot: Slot) -> Option<u64> {
        self.program.known.iter().find(|(known, _)| *known == slot).map(|&(_, value)| value)
    }

    /// Loads a line.
    pub(super) fn load_line(&mut self, to: usize, line: Line) -> Done {
        let place = self.place(line);
        if self.avx512 {
            self.a.vmovdqa64(Z[to], zmmword_ptr(place))
        } else {
            self.a.vmovdqa(Y[to], ymmword_ptr(place))
        }
    }

    /// Loads what registers hold.
    pub(super) fn load(&mut self, file: &File) -> Done {
        for (register, held) in file.held.iter().enumerate() {
            if let Some(held) = held {
                self.load_line(register, held.line)?;
            }
        }
        Ok(())
    }

    pub(super) fn move_line(&mut self, to: usize, from: usize) -> Done {
        if self.avx512 { self.a.vmovdqa64(Z[to], Z[from]) } else { self.a.vmovdqa(Y[to], Y[from]) }
    }

    /// Writes a line to memory.
    fn store(&mut self, from: usize, held: Held) -> Done {
        let place = self.place(held.line);
        match (self.avx512, self.masked) {
            (true, false) => self.a.vmovdqa64(zmmword_ptr(place), Z[from]),
            (false, false) => self.a.vmovdqa(ymmword_ptr(place), Y[from]),
            (true, true) => self.store_masked(from, held),
            (false, true) => self.store_masked_avx2(from, held),
        }
    }

    /// A register for something new.
    pub(super) fn new_register(&mut self) -> Done<usize> {
        let (register, was) = self.file.choose();
        if let Some(held) = was
            && held.dirty
            && [0, 1].iter().any(|more| self.liveness.is_live(self.position + more, held.line.row))
        {
            self.store(register, held)?;
        }
        Ok(register)
    }

    /// The register that a line of an operand is in.
    pub(super) fn fetch(&mut self, slot: Slot, width: Width, number: u32) -> Done<usize> {
        let line = self.line(slot, number);
        if let Some(register) = self.file.find(line) {
            return Ok(register);
        }
        let register = self.new_register()?;
        self.load_line(register, line)?;
        self.file.put(register, Held::new(line, width, number, false));
        Ok(register)
    }

    /// A register has the new value of a line of a result, for the lanes of the step.
    pub(super) fn finish(&mut self, slot: Slot, width: Width, number: u32, new: usize, guard: Pred) -> Done {
        let line = self.line(slot, number);
        self.forget_shape(slot, width.rows());
        if guard != Pred::TRUE {
            if self.avx512 {
                return self.merge(slot, width, number, new);
            }
            self.merge_avx2(line, width, number, new)?;
        }
        self.file.forget(line);
        self.file.put(new, Held::new(line, width, number, true));
        Ok(())
    }

    /// Writes back what may be read at two positions.
    pub(super) fn flush(&mut self, next: [u32; 2]) -> Done {
        for register in 0..self.file.count() {
            if let Some(held) = &mut self.file.held[register]
                && std::mem::replace(&mut held.dirty, false)
            {
                let held = *held;
                if next.iter().any(|&next| self.liveness.is_live(next, held.line.row)) {
                    self.store(register, held)?;
                } else {
                    self.file.held[register] = None;
                }
            }
        }
        Ok(())
    }

    /// Makes registers hold what they hold in `to`, where a position follows.
    pub(super) fn arrange(&mut self, to: &File, next: u32) -> Done {
        let mut moves = Vec::new();
        for register in 0..self.file.count() {
            let Some(held) = self.file.held[register] else { continue };
            match to.held.iter().position(|other| other.is_some_and(|other| other.line == held.line)) {
                Some(other) if other == register => {}
                Some(other) => moves.push((other, register)),
                None if held.dirty && self.liveness.is_live(next, held.line.row) => {
                    self.store(register, held)?;
                }
                None => {}
            }
        }
        // A register is written once nothing else is to be read from it.
        let scratch = if self.avx512 { avx512::S0 } else { avx2::S0 };
        while !moves.is_empty() {
            let free = |&(to, _): &(usize, usize)| moves.iter().all(|&(_, from)| from != to);
            match moves.iter().position(free) {
                Some(at) => {
                    let (to, from) = moves.swap_remove(at);
                    self.move_line(to, from)?;
                }
                // All that are left go round; the masked store above is done with the scratch register.
                None => {
                    let (_, from) = moves[0];
                    self.move_line(scratch, from)?;
                    moves[0].1 = scratch;
                }
            }
        }
        for (register, held) in to.held.iter().enumerate() {
            if let Some(held) = held
                && self.file.peek(held.line).is_none()
            {
                self.load_line(register, held.line)?;
            }
        }
        Ok(())
    }

    /// Sets the masks of lanes.
    pub(super) fn lanes(&mut self) -> Done {
        match (self.masked, self.avx512) {
            (false, _) => Ok(()),
            (true, true) => self.lanes_avx512(),
            (true, false) => self.lanes_avx2(),
        }
    }

    /// The same after a call of the host, which leaves no mask register as it was.
    pub(super) fn lanes_again(&mut self) -> Done {
        if self.avx512 { self.lanes() } else { Ok(()) }
    }
}
