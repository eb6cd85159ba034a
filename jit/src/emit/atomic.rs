//! Atomics: lane after lane, once all places are known to be inside a window.

use super::access::Target;
use super::*;
use crate::program::{Access, Atomic, Space, Update};
use semantics::lanes::WARP_SIZE;

/// Places of lanes in a window, words or doubles as addresses are.
pub(super) const PLACES: usize = offset_of!(Context, tables) + offset_of!(Tables, places);
pub(super) const OPERANDS: [usize; 2] = {
    let first = offset_of!(Context, tables) + offset_of!(Tables, operands);
    [first, first + 8 * WARP_SIZE]
};

/// Lanes that a turn of the loop over all of them does.
pub(super) const TURN: usize = 4;

/// Lanes for which a loop is as fast as vectors.
const FEW: i32 = 8;

/// A general register of both widths.
#[derive(Clone, Copy)]
struct General(AsmRegister32, AsmRegister64);

/// What the element was.
const NOW: General = General(eax, rax);
/// The operand, and then what it becomes.
const NEW: General = General(ecx, rcx);

/// Two operands of one width.
macro_rules! both {
    ($self:ident.$op:ident, $width:expr, $to:expr, $from:expr) => {
        match $width {
            Width::Word => $self.a.$op($to.0, $from.0)?,
            Width::Double => $self.a.$op($to.1, $from.1)?,
        }
    };
}

/// A register and memory.
macro_rules! load {
    ($self:ident.$op:ident, $width:expr, $to:expr, $from:expr) => {
        match $width {
            Width::Word => $self.a.$op($to.0, dword_ptr($from))?,
            Width::Double => $self.a.$op($to.1, qword_ptr($from))?,
        }
    };
}

/// Memory and a register; `locked`: as one step.
macro_rules! store {
    ($self:ident.$op:ident, $width:expr, $to:expr, $from:expr) => {
        match $width {
            Width::Word => $self.a.$op(dword_ptr($to), $from.0)?,
            Width::Double => $self.a.$op(qword_ptr($to), $from.1)?,
        }
    };
    (locked $self:ident.$op:ident, $width:expr, $to:expr, $from:expr) => {
        match $width {
            Width::Word => $self.a.lock().$op(dword_ptr($to), $from.0)?,
            Width::Double => $self.a.lock().$op(qword_ptr($to), $from.1)?,
        }
    };
}

impl Emitter<'_> {
    pub(super) fn atomic<T: Target>(&mut self, atomic: &Atomic, guard: Pred) -> Done {
        let access = &atomic.access;
        let width = access.width();
        let guarded = guard != Pred::TRUE;
        if let Some(flushing) = atomic.flushes() {
            self.set_flushing(flushing)?;
        }
        let (host, mut resume) = (self.a.create_label(), self.a.create_label());
        // Memory gets the old values.
        if let Some(old) = atomic.old {
            self.release(old, width)?;
        }
        // What is in registers is the same on all ways.
        T::addresses(self, access)?;
        if guarded {
            self.guard(guard)?;
            self.a.test(r11d, r11d)?;
            self.a.je(resume)?;
        }
        self.predicate = None;
        for (operand, to) in self.operands(atomic).into_iter().zip(OPERANDS) {
            self.copy_row(operand, width, to)?;
        }
        let before = self.file.clone();
        let place = self.window(access, host)?;
        // Addresses of lanes that sit out may be any.
        let lanes = match (guarded, self.masked()) {
            (true, _) => Some(r11d),
            (_, true) => Some(ebp),
            (false, false) => None,
        };
        T::places_inside(self, access, place, lanes, host)?;
        let left = if self.avx512 { self.by_vectors(atomic, lanes, resume)? } else { lanes };
        self.locked_or_not(access, |emitter, locked| {
            if locked {
                emitter.first_ones_meet(access, left, host)?;
            }
            emitter.each_lane(atomic, left, locked)
        })?;
        self.a.set_label(&mut resume)?;
        self.a.nop()?;
        if let Some(old) = atomic.old {
            self.forget_shape(old, width.rows());
            // The address may have lain there.
            for number in 0..self.lines(width) {
                self.file.forget(self.line(old, number));
            }
        }
        self.or_host(host, resume, before, guard);
        Ok(())
    }

    /// Does something, or the same as one step of the memory, where others may access that meanwhile.
    pub(super) fn locked_or_not(&mut self, access: &Access, does: impl Fn(&mut Self, bool) -> Done) -> Done {
        if access.space != Space::Hinted {
            return does(self, false);
        }
        let (mut locked, mut done) = (self.a.create_label(), self.a.create_label());
        self.a.cmp(byte_ptr(at(offset_of!(Context, exclusive))), 0)?;
        self.a.je(locked)?;
        does(self, false)?;
        self.a.jmp(done)?;
        self.a.set_label(&mut locked)?;
        self.a.nop()?;
        does(self, true)?;
        self.a.set_label(&mut done)?;
        self.a.nop()
    }

    /// What vectors can do of it for these lanes, or for all; those that are left for others, unless it is done.
    fn by_vectors(
        &mut self,
        atomic: &Atomic,
        lanes: Option<AsmRegister32>,
        done: CodeLabel,
    ) -> Done<Option<AsmRegister32>> {
        let (mut few, mut apart) = (self.a.create_label(), self.a.create_label());
        if let Some(lanes) = lanes {
            self.a.popcnt(eax, lanes)?;
            self.a.cmp(eax, FEW)?;
            self.a.jb(few)?;
        }
        match atomic.combines(lanes.is_none()) {
            true => self.on_one_element(atomic, lanes, apart)?,
            false => self.in_turn_on_one_element(atomic, lanes, apart)?,
        }
        self.a.jmp(done)?;
        self.a.set_label(&mut apart)?;
        self.a.nop()?;
        // Where only some lanes do it, they often know that it is not in vain.
        let left = if lanes.is_none() && atomic.is_often_in_vain() {
            self.lanes_that_change(atomic)?;
            self.a.je(done)?;
            Some(esi)
        } else {
            lanes
        };
        self.a.set_label(&mut few)?;
        self.a.nop()?;
        Ok(left)
    }

    fn operands(&self, atomic: &Atomic) -> Vec<Slot> {
        let count = if atomic.update == Update::CompareExchange { 2 } else { 1 };
        atomic.operands[..count].to_vec()
    }

    /// No register holds a row of the frame, which memory does.
    fn release(&mut self, slot: Slot, width: Width) -> Done {
        for number in 0..self.lines(width) {
            let line = self.line(slot, number);
            if let Some(register) = self.file.peek(line) {
                if let Some(held) = self.file.held[register].filter(|held| held.dirty) {
                    self.store(register, held)?;
                }
                self.file.forget(line);
            }
        }
        Ok(())
    }

    /// Copies a row to a place of the context.
    fn copy_row(&mut self, slot: Slot, width: Width, to: usize) -> Done {
        let (scratch, bytes) = if self.avx512 { (avx512::S0, 64) } else { (avx2::S0, 32) };
        for number in 0..self.lines(width) {
            let line = self.line(slot, number);
            let from = match self.file.peek(line) {
                Some(register) => register,
                None => {
                    self.load_line(scratch, line)?;
                    scratch
                }
            };
            let to = at(to + bytes * number as usize);
            match self.avx512 {
                true => self.a.vmovdqa64(zmmword_ptr(to), Z[from])?,
                false => self.a.vmovdqa(ymmword_ptr(to), Y[from])?,
            }
        }
        Ok(())
    }

    /// To the host, which does all lanes in one step, if the first ones have the same place: what others see takes long.
    fn first_ones_meet(&mut self, access: &Access, lanes: Option<AsmRegister32>, host: CodeLabel) -> Done {
        match lanes {
            Some(lanes) => {
                self.a.tzcnt(edx, lanes)?;
                self.a.blsr(ecx, lanes)?;
                // Of one lane the second is behind the table.
                self.a.tzcnt(ecx, ecx)?;
            }
            None => {
                self.a.xor(edx, edx)?;
                self.a.mov(ecx, 1)?;
            }
        }
        match access.address_width {
            Width::Word => {
                self.a.mov(eax, dword_ptr(rbx + rdx * 4 + PLACES as i32))?;
                self.a.cmp(eax, dword_ptr(rbx + rcx * 4 + PLACES as i32))?;
            }
            Width::Double => {
                self.a.mov(rax, qword_ptr(rbx + rdx * 8 + PLACES as i32))?;
                self.a.cmp(rax, qword_ptr(rbx + rcx * 8 + PLACES as i32))?;
            }
        }
        self.a.je(host)
    }

    /// A thread may use what it is told to wait for another.
    pub(super) fn count_read(&mut self, atomic: &Atomic) -> Done {
        match atomic.old {
            Some(_) => self.a.inc(qword_ptr(at(offset_of!(Context, reads)))),
            None => Ok(()),
        }
    }

    /// All lanes do it one after the other, or these; `locked`: others may access memory meanwhile.
    fn each_lane(&mut self, atomic: &Atomic, lanes: Option<AsmRegister32>, locked: bool) -> Done {
        self.count_read(atomic)?;
        let mut turn = self.a.create_label();
        match lanes {
            Some(lanes) => self.a.mov(esi, lanes)?,
            None => self.a.xor(edx, edx)?,
        }
        self.a.set_label(&mut turn)?;
        if lanes.is_some() {
            self.a.tzcnt(edx, esi)?;
            self.lane(atomic, 0, locked)?;
            self.a.blsr(esi, esi)?;
            self.a.jne(turn)?;
        } else {
            for more in 0..TURN {
                self.lane(atomic, more, locked)?;
            }
            self.a.add(edx, TURN as i32)?;
            self.a.cmp(edx, WARP_SIZE as i32)?;
            self.a.jb(turn)?;
        }
        Ok(())
    }

    /// What the lane `edx` does, or so many lanes behind it.
    pub(super) fn lane(&mut self, atomic: &Atomic, more: usize, locked: bool) -> Done {
        let width = atomic.access.width();
        let of_lane = |table: usize, width: Width| match width {
            Width::Word => rbx + rdx * 4 + (table + 4 * more) as i32,
            Width::Double => rbx + rdx * 8 + (table + 8 * more) as i32,
        };
        let place = of_lane(PLACES, atomic.access.address_width);
        match atomic.access.address_width {
            Width::Word => self.a.mov(r11d, dword_ptr(place))?,
            Width::Double => self.a.mov(r11, qword_ptr(place))?,
        }
        let memory = || rdi + r11;
        let [operand, other] = OPERANDS.map(|table| of_lane(table, width));
        match (atomic.update, atomic.old) {
            (Update::Add | Update::And | Update::Or | Update::Xor | Update::Exchange, None) => {
                load!(self.mov, width, NEW, operand);
                match (atomic.update, locked) {
                    (Update::Add, false) => store!(self.add, width, memory(), NEW),
                    (Update::And, false) => store!(self.and, width, memory(), NEW),
                    (Update::Or, false) => store!(self.or, width, memory(), NEW),
                    (Update::Xor, false) => store!(self.xor, width, memory(), NEW),
                    (Update::Add, true) => store!(locked self.add, width, memory(), NEW),
                    (Update::And, true) => store!(locked self.and, width, memory(), NEW),
                    (Update::Or, true) => store!(locked self.or, width, memory(), NEW),
                    (Update::Xor, true) => store!(locked self.xor, width, memory(), NEW),
                    // A store is one step.
                    _ => store!(self.mov, width, memory(), NEW),
                }
                return Ok(());
            }
            (Update::Add, Some(_)) if locked => {
                load!(self.mov, width, NOW, operand);
                store!(locked self.xadd, width, memory(), NOW);
            }
            (Update::CompareExchange, _) if locked => {
                load!(self.mov, width, NOW, operand);
                load!(self.mov, width, NEW, other);
                store!(locked self.cmpxchg, width, memory(), NEW);
            }
            (Update::Exchange, Some(_)) if locked => {
                load!(self.mov, width, NOW, operand);
                store!(self.xchg, width, memory(), NOW);
            }
            (update, _) => {
                load!(self.mov, width, NOW, memory());
                let mut again = self.a.create_label();
                self.a.set_label(&mut again)?;
                load!(self.mov, width, NEW, operand);
                self.update(update, width, other)?;
                if locked {
                    store!(locked self.cmpxchg, width, memory(), NEW);
                    self.a.jne(again)?;
                } else {
                    store!(self.mov, width, memory(), NEW);
                }
            }
        }
        if let Some(old) = atomic.old {
            let row = (128 * old.row()) as usize;
            let to = match width {
                Width::Word => r12 + rdx * 4 + (row + 4 * more) as i32,
                Width::Double => r12 + rdx * 8 + (row + 8 * more) as i32,
            };
            store!(self.mov, width, to, NOW);
        }
        Ok(())
    }

    /// What an element becomes, from what it was and the operand; `other` is the second one. What it was stays.
    fn update(&mut self, update: Update, width: Width, other: AsmMemoryOperand) -> Done {
        let sum = if self.avx512 { avx512::S0 } else { avx2::S0 };
        let addend = sum + 1;
        match update {
            Update::Add => both!(self.add, width, NEW, NOW),
            Update::And => both!(self.and, width, NEW, NOW),
            Update::Or => both!(self.or, width, NEW, NOW),
            Update::Xor => both!(self.xor, width, NEW, NOW),
            Update::Exchange => {}
            Update::CompareExchange => {
                both!(self.cmp, width, NOW, NEW);
                load!(self.mov, width, NEW, other);
                both!(self.cmovne, width, NEW, NOW);
            }
            Update::Minimum { signed } => {
                both!(self.cmp, width, NOW, NEW);
                match signed {
                    true => both!(self.cmovl, width, NEW, NOW),
                    false => both!(self.cmovb, width, NEW, NOW),
                }
            }
            Update::Maximum { signed } => {
                both!(self.cmp, width, NOW, NEW);
                match signed {
                    true => both!(self.cmovg, width, NEW, NOW),
                    false => both!(self.cmova, width, NEW, NOW),
                }
            }
            Update::Increment => {
                // All ones if it is below the operand.
                self.a.cmp(eax, ecx)?;
                self.a.sbb(ecx, ecx)?;
                self.a.inc(eax)?;
                self.a.and(ecx, eax)?;
                self.a.dec(eax)?;
            }
            Update::Decrement => {
                // Zero becomes the greatest one.
                self.a.dec(eax)?;
                self.a.cmp(eax, ecx)?;
                self.a.cmovb(ecx, eax)?;
                self.a.inc(eax)?;
            }
            Update::AddFloat { .. } if width == Width::Word => {
                let mut number = self.a.create_label();
                self.a.vmovd(X[sum], eax)?;
                self.a.vmovd(X[addend], ecx)?;
                self.a.vaddss(X[sum], X[sum], X[addend])?;
                self.a.vmovd(ecx, X[sum])?;
                self.a.vucomiss(X[sum], X[sum])?;
                self.a.jnp(number)?;
                self.a.mov(ecx, dword_ptr(at(NAN)))?;
                self.a.set_label(&mut number)?;
                self.a.nop()?;
            }
            Update::AddFloat { global } => {
                // Of two that are no numbers the host's sum is the first one, quiet, as elsewhere.
                let mut done = self.a.create_label();
                self.a.vmovq(X[sum], rax)?;
                self.a.vmovq(X[addend], rcx)?;
                if global {
                    // As they are: the operand before what was there.
                    self.a.vucomisd(X[addend], X[addend])?;
                    self.a.jp(done)?;
                    let mut number = self.a.create_label();
                    self.a.vucomisd(X[sum], X[sum])?;
                    self.a.jnp(number)?;
                    self.a.mov(rcx, rax)?;
                    self.a.jmp(done)?;
                    self.a.set_label(&mut number)?;
                    self.a.nop()?;
                }
                self.a.vaddsd(X[sum], X[sum], X[addend])?;
                self.a.vmovq(rcx, X[sum])?;
                self.a.set_label(&mut done)?;
                self.a.nop()?;
            }
        }
        Ok(())
    }
}
