//! Lines of rows: where they are, in registers and memory.

use super::*;
use crate::liveness::{may_be_raw, sources, takes_raw};
use semantics::formula::Formula;
use semantics::lanes::Operands;

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

    /// Lines of a register that the step computes: the first one, if all are the same.
    pub(super) fn computed(&self, width: Width) -> u32 {
        if self.uniform { 1 } else { self.lines(width) }
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

    /// Of a constant next to a power of two which that is, and what it is more: a product with it is a shift and a sum, sooner there
    /// than a product on Intel's processors.
    pub(super) fn near_power(&self, slot: Slot) -> Option<(u32, i32)> {
        let constant = self.known(slot)? as u32;
        [0, 1, -1].into_iter().find_map(|more| {
            let power = constant.wrapping_add_signed(-more);
            (constant != 0 && power.is_power_of_two()).then(|| (power.trailing_zeros(), more))
        })
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

    /// Every word that is no number becomes the one that the device gives.
    fn canonical(&mut self, register: usize) -> Done {
        if let Some(held) = &mut self.file.held[register] {
            held.raw = false;
        }
        if self.avx512 {
            self.a.vcmpps(k7, Z[register], Z[register], 3)?;
            self.a.vpbroadcastd(Z[register].k7(), dword_ptr(at(NAN)))
        } else {
            self.a.vcmpps(Y[avx2::S0], Y[register], Y[register], 3)?;
            self.a.vblendvps(Y[register], Y[register], ymmword_ptr(at(NAN)), Y[avx2::S0])
        }
    }

    /// The same where it matters which bits say so, for what a step reads.
    pub(super) fn settle(&mut self, position: u32) -> Done {
        let program = self.program;
        let step = &program.steps[position as usize];
        let settle = |emitter: &mut Self, slot: Slot, width: Width| -> Done {
            for number in 0..emitter.lines(width) {
                if let Some(register) = emitter.file.peek(emitter.line(slot, number))
                    && emitter.file.held[register].is_some_and(|held| held.raw)
                {
                    emitter.canonical(register)?;
                }
            }
            Ok(())
        };
        match &step.kind {
            Kind::Compute(formula, operands) if !takes_raw(*formula) => {
                for (slot, width) in sources(*formula, operands) {
                    settle(self, slot, width)?;
                }
            }
            Kind::Access(access) => {
                settle(self, access.address, access.address_width)?;
                // Lanes that sit out keep what they have.
                if access.store || step.guard != Pred::TRUE {
                    for slot in access.registers() {
                        settle(self, slot, access.width())?;
                    }
                }
            }
            Kind::Atomic(atomic) => {
                for (slot, width) in atomic.slots() {
                    settle(self, slot, width)?;
                }
            }
            Kind::Exchange(exchange) => {
                for slot in exchange.slots() {
                    settle(self, slot, Width::Word)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Registers hold no more than runs can load that begin at a position: these may come another way, on which lanes have got
    /// different values, or bits that are no float's.
    pub(super) fn as_in_memory(&mut self, position: u32) -> Done {
        let program = self.program;
        self.split(|Held { line, .. }| {
            line.is_frame() && program.uniform_rows.binary_search(&line.row).is_err()
        })?;
        for register in 0..self.file.count() {
            let Some(held) = self.file.held[register].as_mut().filter(|held| held.raw) else { continue };
            if self.liveness.is_live(position, held.line.row) {
                self.canonical(register)?;
            } else {
                held.raw = false;
            }
        }
        Ok(())
    }

    /// Whether a line of a result that was just computed may hold any bits that say that it is no number.
    pub(super) fn is_raw(&self, formula: Formula, operands: &Operands, number: u32) -> bool {
        let Formula::Copy(Width::Word) = formula else { return may_be_raw(formula) };
        let from = self.file.peek(self.line(operands.src[0], number));
        from.is_some_and(|from| self.file.held[from].is_some_and(|held| held.raw))
    }

    /// Before some lanes of an old line are replaced: both become canonical unless both need not be, as bits that say that a
    /// float is no number may be anything else elsewhere. Whether neither is.
    pub(super) fn both_raw(&mut self, new: usize, raw: bool, old: Option<usize>) -> Done<bool> {
        let was_raw = old.is_some_and(|old| self.file.held[old].is_some_and(|held| held.raw));
        match (raw, was_raw, old) {
            (true, false, _) => self.canonical(new)?,
            (false, true, Some(old)) => self.canonical(old)?,
            _ => {}
        }
        Ok(raw && was_raw)
    }

    /// Writes a line to memory.
    pub(super) fn store(&mut self, from: usize, held: Held) -> Done {
        if held.raw {
            self.canonical(from)?;
        }
        match (self.avx512, self.masked()) {
            (true, true) => return self.store_masked(from, held),
            (false, true) => return self.store_masked_avx2(from, held),
            (_, false) => {}
        }
        // Rows lie one behind the other, and so do their lines.
        let bytes = 128 / self.per_row();
        for number in 0..if held.uniform { self.lines(held.width) } else { 1 } {
            let place = self.place(held.line) + (bytes * number) as i32;
            match self.avx512 {
                true => self.a.vmovdqa64(zmmword_ptr(place), Z[from])?,
                false => self.a.vmovdqa(ymmword_ptr(place), Y[from])?,
            }
        }
        Ok(())
    }

    /// Registers that hold what all lines of some have hold one line each from now on.
    pub(super) fn split(&mut self, which: impl Fn(&Held) -> bool) -> Done {
        for register in 0..self.file.count() {
            let Some(held) = self.file.held[register].filter(|held| held.uniform && which(held)) else {
                continue;
            };
            self.file.put(register, held.uniform(false));
            self.file.pin(register);
            for number in 1..self.lines(held.width) {
                let line = Line {
                    row: held.line.row + number / self.per_row(),
                    part: number % self.per_row(),
                    ..held.line
                };
                let to = self.new_register()?;
                self.move_line(to, register)?;
                self.file.put(to, Held::new(line, held.width, number, held.dirty).raw(held.raw));
            }
        }
        Ok(())
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
    pub(super) fn finish(
        &mut self,
        slot: Slot,
        width: Width,
        number: u32,
        new: usize,
        guard: Pred,
        mut raw: bool,
    ) -> Done {
        let line = self.line(slot, number);
        self.forget_shape(slot, width.rows());
        if guard != Pred::TRUE {
            if self.avx512 {
                return self.merge(slot, width, number, new, raw);
            }
            let old = self.file.peek(line);
            raw = self.both_raw(new, raw, old)?;
            self.merge_avx2(line, width, number, new)?;
        }
        self.hold(slot, width, number, new, raw);
        Ok(())
    }

    /// A register has the new value of a line, or of all lines of what it is of.
    pub(super) fn hold(&mut self, slot: Slot, width: Width, number: u32, new: usize, raw: bool) {
        let line = self.line(slot, number);
        if self.uniform {
            for number in 0..self.lines(width) {
                self.file.forget(self.line(slot, number));
            }
        }
        self.file.forget(line);
        self.file.put(new, Held::new(line, width, number, true).raw(raw).uniform(self.uniform));
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
        self.split(|held| to.held.iter().flatten().any(|other| !other.uniform && held.is(other.line)))?;
        let mut moves = Vec::new();
        for register in 0..self.file.count() {
            let Some(held) = self.file.held[register] else { continue };
            match to.held.iter().position(|other| other.is_some_and(|other| other.line == held.line)) {
                Some(other) => {
                    if held.raw && to.held[other].is_some_and(|to| !to.raw) {
                        self.canonical(register)?;
                    }
                    if other != register {
                        moves.push((other, register));
                    }
                }
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
        match (self.masked(), self.avx512) {
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
