//! What vectors do for atomics of several lanes. On one element they are one update, whose operand is those of all lanes
//! combined; what each lane is told is what was there, combined with the operands of the lanes before it. Where operands do
//! not combine, lane after lane changes it in a register, and memory gets the last value. Extremes, and bits that are set or
//! cleared, are left out where they find what they would make: so do later ones.

use super::*;
use crate::emit::atomic::{OPERANDS, PLACES, TURN};
use crate::program::{Access, Atomic, Update};

/// The lanes that take part, where they are not all.
const TAKE_PART: [AsmRegisterK; 2] = [k5, k6];

/// The operand that leaves an element as it is.
fn neutral(update: Update, width: Width) -> u64 {
    let bits = 32 * width.rows();
    let (ones, sign) = (u64::MAX >> (64 - bits), 1 << (bits - 1));
    match update {
        Update::And | Update::Minimum { signed: false } => ones,
        Update::Minimum { signed: true } => ones ^ sign,
        Update::Maximum { signed: true } => sign,
        _ => 0,
    }
}

/// Whether the element is a float.
fn is_float(atomic: &Atomic) -> bool {
    matches!(atomic.update, Update::AddFloat { .. })
}

/// An instruction for words or doubles.
macro_rules! by_width {
    ($self:ident, $width:expr, $word:ident, $double:ident, $($operand:expr),+) => {
        match $width {
            Width::Word => $self.a.$word($($operand),+)?,
            Width::Double => $self.a.$double($($operand),+)?,
        }
    };
}

impl Emitter<'_> {
    /// All lanes do it, or these, if they have one place; elsewhere if not.
    pub(in crate::emit) fn on_one_element(
        &mut self,
        atomic: &Atomic,
        lanes: Option<AsmRegister32>,
        apart: CodeLabel,
    ) -> Done {
        let some = lanes.is_some();
        self.have_one_place(&atomic.access, lanes, apart)?;
        self.count_read(atomic)?;
        match atomic.old {
            Some(_) => self.scan(atomic, some)?,
            None => self.combine(atomic, some)?,
        }
        self.locked_or_not(&atomic.access, |emitter, locked| emitter.lane(atomic, 0, locked))?;
        atomic.old.map_or(Ok(()), |old| self.tell(atomic, old, some))
    }

    /// The same where operands do not combine: the element is in a register meanwhile.
    pub(in crate::emit) fn in_turn_on_one_element(
        &mut self,
        atomic: &Atomic,
        lanes: Option<AsmRegister32>,
        apart: CodeLabel,
    ) -> Done {
        let access = &atomic.access;
        let width = access.width();
        self.have_one_place(access, lanes, apart)?;
        self.count_read(atomic)?;
        let place = rbx + rdx * (4 * access.address_width.rows()) + PLACES as i32;
        match access.address_width {
            Width::Word => self.a.mov(r11d, dword_ptr(place))?,
            Width::Double => self.a.mov(r11, qword_ptr(place))?,
        }
        self.a.add(rdi, r11)?;
        let (mut again, mut turn) = (self.a.create_label(), self.a.create_label());
        self.a.set_label(&mut again)?;
        // What the element was stays in `rsi`.
        match width {
            Width::Word => self.a.mov(esi, dword_ptr(rdi))?,
            Width::Double => self.a.mov(rsi, qword_ptr(rdi))?,
        }
        match is_float(atomic) {
            true => self.a.vmovq(X[S0], rsi)?,
            false => self.a.mov(rax, rsi)?,
        }
        match lanes {
            Some(_) => self.a.kmovd(r11d, TAKE_PART[0])?,
            None => self.a.xor(edx, edx)?,
        }
        self.a.set_label(&mut turn)?;
        if lanes.is_some() {
            self.a.tzcnt(edx, r11d)?;
            self.change(atomic, 0)?;
            self.a.blsr(r11d, r11d)?;
            self.a.jne(turn)?;
        } else {
            for more in 0..TURN as u32 {
                self.change(atomic, more)?;
            }
            self.a.add(edx, TURN as i32)?;
            self.a.cmp(edx, WARP_SIZE as i32)?;
            self.a.jb(turn)?;
        }
        if is_float(atomic) {
            self.a.vmovq(rax, X[S0])?;
        }
        self.locked_or_not(access, |emitter, locked| match (locked, width) {
            (false, Width::Word) => emitter.a.mov(dword_ptr(rdi), eax),
            (false, Width::Double) => emitter.a.mov(qword_ptr(rdi), rax),
            (true, _) => {
                emitter.a.mov(rcx, rax)?;
                emitter.a.mov(rax, rsi)?;
                match width {
                    Width::Word => emitter.a.lock().cmpxchg(dword_ptr(rdi), ecx)?,
                    Width::Double => emitter.a.lock().cmpxchg(qword_ptr(rdi), rcx)?,
                }
                emitter.a.jne(again)
            }
        })
    }

    /// The lane `edx`, or so many behind it, changes the element in `rax`, or if that is a float in the first scratch register;
    /// it is told what that was.
    fn change(&mut self, atomic: &Atomic, more: u32) -> Done {
        let width = atomic.access.width();
        let bytes = 4 * width.rows();
        let [operand, other] = OPERANDS.map(|table| rbx + rdx * bytes + (table as u32 + bytes * more) as i32);
        if let Some(old) = atomic.old {
            let to = r12 + rdx * bytes + (128 * old.row() + bytes * more) as i32;
            match (is_float(atomic), width) {
                (true, Width::Word) => self.a.vmovd(dword_ptr(to), X[S0])?,
                (true, Width::Double) => self.a.vmovq(qword_ptr(to), X[S0])?,
                (false, Width::Word) => self.a.mov(dword_ptr(to), eax)?,
                (false, Width::Double) => self.a.mov(qword_ptr(to), rax)?,
            }
        }
        match (atomic.update, width) {
            (Update::Increment, _) => {
                // All ones if it is below the operand.
                self.a.cmp(eax, dword_ptr(operand))?;
                self.a.sbb(ecx, ecx)?;
                self.a.inc(eax)?;
                self.a.and(eax, ecx)?;
            }
            (Update::Decrement, _) => {
                // Zero becomes the greatest one.
                self.a.mov(ecx, dword_ptr(operand))?;
                self.a.dec(eax)?;
                self.a.cmp(eax, ecx)?;
                self.a.cmovae(eax, ecx)?;
            }
            (Update::CompareExchange, Width::Word) => {
                self.a.cmp(eax, dword_ptr(operand))?;
                self.a.cmove(eax, dword_ptr(other))?;
            }
            (Update::CompareExchange, Width::Double) => {
                self.a.cmp(rax, qword_ptr(operand))?;
                self.a.cmove(rax, qword_ptr(other))?;
            }
            (Update::AddFloat { .. }, Width::Word) => {
                let mut number = self.a.create_label();
                self.a.vaddss(X[S0], X[S0], dword_ptr(operand))?;
                self.a.vucomiss(X[S0], X[S0])?;
                self.a.jnp(number)?;
                self.a.vmovss(X[S0], dword_ptr(at(NAN)))?;
                self.a.set_label(&mut number)?;
                self.a.nop()?;
            }
            (Update::AddFloat { global }, Width::Double) => {
                // Of two that are no numbers the host's sum is the first one, quiet, as elsewhere.
                let mut done = self.a.create_label();
                self.a.vmovq(X[S1], qword_ptr(operand))?;
                if global {
                    // As they are: the operand before what was there.
                    let (mut number, mut other) = (self.a.create_label(), self.a.create_label());
                    self.a.vucomisd(X[S0], X[S1])?;
                    self.a.jnp(number)?;
                    self.a.vucomisd(X[S1], X[S1])?;
                    self.a.jnp(other)?;
                    self.a.vmovapd(X[S0], X[S1])?;
                    self.a.set_label(&mut other)?;
                    self.a.jmp(done)?;
                    self.a.set_label(&mut number)?;
                    self.a.nop()?;
                }
                self.a.vaddsd(X[S0], X[S0], X[S1])?;
                self.a.set_label(&mut done)?;
                self.a.nop()?;
            }
            (_, Width::Word) => self.a.mov(eax, dword_ptr(operand))?,
            (_, Width::Double) => self.a.mov(rax, qword_ptr(operand))?,
        }
        Ok(())
    }

    /// The first lane to `edx`, and those of `lanes` to masks; elsewhere if they have several places.
    fn have_one_place(&mut self, access: &Access, lanes: Option<AsmRegister32>, apart: CodeLabel) -> Done {
        let width = access.address_width;
        match lanes {
            Some(lanes) => {
                self.a.tzcnt(edx, lanes)?;
                self.a.kmovd(TAKE_PART[0], lanes)?;
                self.a.kshiftrd(TAKE_PART[1], TAKE_PART[0], 16)?;
            }
            None => self.a.xor(edx, edx)?,
        }
        let first = rbx + rdx * (4 * width.rows()) + PLACES as i32;
        by_width!(self, width, vpbroadcastd, vpbroadcastq, Z[S0], first);
        for number in 0..self.lines(width) {
            let differ = match lanes {
                Some(_) => k7.k(self.lanes_of_line(width, number)?),
                None if number == 0 => k6,
                None => k7,
            };
            let places = zmmword_ptr(at(PLACES + 64 * number as usize));
            by_width!(self, width, vpcmpd, vpcmpq, differ, Z[S0], places, 4);
            if lanes.is_some() {
                self.a.kortestw(k7, k7)?;
                self.a.jne(apart)?;
            } else if number > 0 {
                self.a.korw(k6, k6, k7)?;
            }
        }
        if lanes.is_none() {
            self.a.kortestw(k6, k6)?;
            self.a.jne(apart)?;
        }
        Ok(())
    }

    /// The mask of those of a line that take part.
    fn lanes_of_line(&mut self, width: Width, number: u32) -> Done<AsmRegisterK> {
        match width {
            Width::Word => Ok(TAKE_PART[number as usize]),
            Width::Double => {
                self.a.kshiftrw(k7, TAKE_PART[number as usize / 2], 8 * (number % 2))?;
                Ok(k7)
            }
        }
    }

    /// A line of operands; what changes nothing where lanes do not take part.
    fn operands_of_line(&mut self, atomic: &Atomic, some: bool, number: u32, to: usize) -> Done {
        let width = atomic.access.width();
        let operands = zmmword_ptr(at(OPERANDS[0] + 64 * number as usize));
        if !some {
            return self.a.vmovdqa64(Z[to], operands);
        }
        match (neutral(atomic.update, width), width) {
            (0, _) => self.a.vpxord(Z[to], Z[to], Z[to])?,
            (bits, Width::Word) => {
                self.a.mov(eax, bits as u32)?;
                self.a.vpbroadcastd(Z[to], eax)?;
            }
            (bits, Width::Double) => {
                self.a.mov(rax, bits)?;
                self.a.vpbroadcastq(Z[to], rax)?;
            }
        }
        let mask = self.lanes_of_line(width, number)?;
        by_width!(self, width, vmovdqa32, vmovdqa64, Z[to].k(mask), operands);
        Ok(())
    }

    /// The operand of the lane `edx` becomes those of all combined.
    fn combine(&mut self, atomic: &Atomic, some: bool) -> Done {
        let (update, width) = (atomic.update, atomic.access.width());
        let lines = self.lines(width);
        if update == Update::Exchange {
            self.operands_of_line(atomic, some, lines - 1, S0)?;
            return self.last_is_operand(width);
        }
        self.operands_of_line(atomic, some, 0, S0)?;
        let both = |emitter: &mut Self| emitter.both(update, width, Z[S0], Z[S0], Z[S1]);
        for number in 1..lines {
            self.operands_of_line(atomic, some, number, S1)?;
            both(self)?;
        }
        self.a.vextracti64x4(Y[S1], Z[S0], 1)?;
        both(self)?;
        self.a.vextracti32x4(X[S1], Z[S0], 1)?;
        both(self)?;
        self.a.vpshufd(Z[S1], Z[S0], 0x4e)?;
        both(self)?;
        if width == Width::Word {
            self.a.vpshufd(Z[S1], Z[S0], 0xb1)?;
            both(self)?;
        }
        self.first_is_operand(width, S0)
    }

    /// The same; the second operands become those of each lane combined with all before it.
    fn scan(&mut self, atomic: &Atomic, some: bool) -> Done {
        let (update, width) = (atomic.update, atomic.access.width());
        let (lines, lanes) = (self.lines(width), WARP_SIZE as u32 / self.lines(width));
        for number in 0..lines {
            self.operands_of_line(atomic, some, number, S0)?;
            if update != Update::Exchange {
                for far in (0..lanes.trailing_zeros()).map(|power| 1 << power) {
                    self.a.mov(ecx, u32::MAX << far & 0xffff)?;
                    self.a.kmovw(k7, ecx)?;
                    by_width!(self, width, valignd, valignq, Z[S2], Z[S0], Z[S0], lanes - far);
                    self.both(update, width, Z[S0].k7(), Z[S0], Z[S2])?;
                }
                if number > 0 {
                    self.both(update, width, Z[S0], Z[S0], Z[S1])?;
                }
            }
            self.a.vmovdqa64(zmmword_ptr(at(OPERANDS[1] + 64 * number as usize)), Z[S0])?;
            if number + 1 < lines && update != Update::Exchange {
                by_width!(self, width, valignd, valignq, Z[S1], Z[S0], Z[S0], lanes - 1);
                by_width!(self, width, vpbroadcastd, vpbroadcastq, Z[S1], X[S1]);
            }
        }
        self.last_is_operand(width)
    }

    /// The last one of a line is the operand of the lane `edx`.
    fn last_is_operand(&mut self, width: Width) -> Done {
        let lanes = WARP_SIZE as u32 / self.lines(width);
        by_width!(self, width, valignd, valignq, Z[S1], Z[S0], Z[S0], lanes - 1);
        self.first_is_operand(width, S1)
    }

    fn first_is_operand(&mut self, width: Width, from: usize) -> Done {
        let operand = rbx + rdx * (4 * width.rows()) + OPERANDS[0] as i32;
        by_width!(self, width, vmovd, vmovq, operand, X[from]);
        Ok(())
    }

    /// Lanes are told what was there, which is in `rax`, with the operands of all before them.
    fn tell(&mut self, atomic: &Atomic, old: Slot, some: bool) -> Done {
        let (update, width) = (atomic.update, atomic.access.width());
        match width {
            Width::Word => self.a.vpbroadcastd(Z[S2], eax)?,
            Width::Double => self.a.vpbroadcastq(Z[S2], rax)?,
        }
        for number in 0..self.lines(width) {
            let before = OPERANDS[1] + 64 * number as usize - 4 * width.rows() as usize;
            self.a.vmovdqu64(Z[S0], zmmword_ptr(at(before)))?;
            if update != Update::Exchange {
                self.both(update, width, Z[S0], Z[S0], Z[S2])?;
            }
            if number == 0 {
                // Before the first one there is none.
                self.a.mov(ecx, 1)?;
                self.a.kmovw(k7, ecx)?;
                by_width!(self, width, vmovdqa32, vmovdqa64, Z[S0].k7(), Z[S2]);
            }
            let to = zmmword_ptr(self.place(self.line(old, number)));
            let to = if some { to.k(self.lanes_of_line(width, number)?) } else { to };
            by_width!(self, width, vmovdqu32, vmovdqu64, to, Z[S0]);
        }
        Ok(())
    }

    /// Combines operands as updates of one element do.
    fn both(
        &mut self,
        update: Update,
        width: Width,
        to: AsmRegisterZmm,
        a: AsmRegisterZmm,
        b: AsmRegisterZmm,
    ) -> Done {
        match update {
            Update::Add => by_width!(self, width, vpaddd, vpaddq, to, a, b),
            Update::And => by_width!(self, width, vpandd, vpandq, to, a, b),
            Update::Or => by_width!(self, width, vpord, vporq, to, a, b),
            Update::Xor => by_width!(self, width, vpxord, vpxorq, to, a, b),
            Update::Minimum { signed: true } => by_width!(self, width, vpminsd, vpminsq, to, a, b),
            Update::Minimum { signed: false } => by_width!(self, width, vpminud, vpminuq, to, a, b),
            Update::Maximum { signed: true } => by_width!(self, width, vpmaxsd, vpmaxsq, to, a, b),
            Update::Maximum { signed: false } => by_width!(self, width, vpmaxud, vpmaxuq, to, a, b),
            _ => {}
        }
        Ok(())
    }

    /// The lanes of a whole warp whose updates change what is there, to `esi`; elements are as they were.
    pub(in crate::emit) fn lanes_that_change(&mut self, atomic: &Atomic) -> Done {
        let (update, width, wide) = (atomic.update, atomic.access.width(), atomic.access.address_width);
        // As many lanes as a line has of the wider ones of elements and places.
        let each = if (width, wide) == (Width::Word, Width::Word) { 16 } else { 8 };
        for part in 0..WARP_SIZE as u32 / each {
            self.a.kxnorw(k7, k7, k7)?;
            let places = at(PLACES + (each * part * 4 * wide.rows()) as usize);
            self.a.vmovdqu64(Z[S2], zmmword_ptr(places))?;
            match (wide, width) {
                (Width::Word, Width::Word) => self.a.vpgatherdd(Z[S0].k7(), zmmword_ptr(rdi + Z[S2]))?,
                (Width::Word, Width::Double) => self.a.vpgatherdq(Z[S0].k7(), zmmword_ptr(rdi + Y[S2]))?,
                (Width::Double, Width::Word) => self.a.vpgatherqd(Y[S0].k7(), ymmword_ptr(rdi + Z[S2]))?,
                (Width::Double, Width::Double) => self.a.vpgatherqq(Z[S0].k7(), zmmword_ptr(rdi + Z[S2]))?,
            }
            let operands = at(OPERANDS[0] + (each * part * 4 * width.rows()) as usize);
            self.a.vmovdqu64(Z[S1], zmmword_ptr(operands))?;
            self.both(update, width, Z[S1], Z[S0], Z[S1])?;
            by_width!(self, width, vpcmpd, vpcmpq, k7, Z[S0], Z[S1], 4);
            self.a.kmovd(if part == 0 { esi } else { eax }, k7)?;
            if each == 8 {
                self.a.and(if part == 0 { esi } else { eax }, 0xff)?;
            }
            if part > 0 {
                self.a.shl(eax, each * part)?;
                self.a.or(esi, eax)?;
            }
        }
        self.a.test(esi, esi)
    }
}
