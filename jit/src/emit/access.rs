//! Loads and stores: which way one goes. The ways themselves are the targets'.

use super::*;
use crate::context::SPINS;
use crate::emit::window::{Look, Place};
use crate::program::{Access, Spread};

/// Registers of an access: of its address by line, if all lines are in some, of its elements, and others that are free.
pub(super) struct Places {
    pub address: [usize; 4],
    pub element: [[usize; 8]; 4],
    pub spare: [usize; 2],
}

/// What is moved: by which access, where in memory, in which registers, and where what cannot be done goes.
#[derive(Clone, Copy)]
pub(super) struct Moving<'a> {
    pub access: &'a Access,
    pub place: Place,
    pub places: &'a Places,
    pub host: CodeLabel,
}

/// What a target does of an access. Whatever it cannot do goes to the host.
pub(super) trait Target {
    /// Puts into registers what all ways need.
    fn places(emitter: &mut Emitter<'_>, access: &Access, guarded: bool) -> Done<Places>;

    /// Puts into registers what the addresses are looked for in.
    fn addresses(emitter: &mut Emitter<'_>, access: &Access) -> Done<[usize; 4]>;

    /// The addresses of the first lanes of both halves to `rax` and `rcx`; elsewhere if not all addresses of a half follow
    /// its first one, with so many bytes from one to the next.
    fn alike(
        emitter: &mut Emitter<'_>,
        access: &Access,
        places: &Places,
        step: u32,
        other: CodeLabel,
    ) -> Done;

    /// Moves two halves of elements that follow each other, at addresses in `rax` and `rcx`.
    fn consecutive(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done;

    /// Loads the elements of one lane for each half.
    fn equal(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done;

    /// Loads the elements at one address for all lanes, or stores the last lane's there; the address is in `rax`.
    fn one(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done;

    /// Moves two halves of elements with a step between them that [`strides`] knows, at addresses in `rax` and `rcx`.
    fn strided(emitter: &mut Emitter<'_>, of: Moving<'_>, step: u32) -> Done;

    /// Moves elements at any addresses.
    fn scattered(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done;

    /// Moves elements of lanes' own memory that lie in rows of their own.
    fn columns(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done;

    /// The places of lanes to the context, behind `rdi`; to the host if one of these lanes, or of all that run, is not inside,
    /// or not a multiple of the size.
    fn places_inside(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        lanes: Option<AsmRegister32>,
        host: CodeLabel,
    ) -> Done;
}

/// What is looked for first in the addresses of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sought {
    /// Nothing.
    Nothing,
    /// Nothing, as all are one.
    One,
    /// Whether they are equal.
    Equal,
    /// Whether each follows the one before, so many bytes on.
    Follow(u32),
    /// The same with memory between them.
    Apart(u32),
}

/// Bytes from element to element of a size that [`Target::strided`] can move.
fn strides(bytes: u32) -> &'static [u32] {
    match bytes {
        4 => &[8, 16],
        8 => &[16],
        _ => &[],
    }
}

impl Emitter<'_> {
    pub(super) fn access<T: Target>(&mut self, written: &Access, guard: Pred) -> Done {
        let together = written.together();
        let access = together.as_ref().unwrap_or(written);
        let sought = self.sought(access);
        // Of what has one address one line is enough, but narrow elements are taken apart line by line.
        self.uniform &= sought == Sought::One && together.is_none();
        if let Space::Local | Space::Frame = written.space {
            return self.local::<T>(written, guard);
        }
        let guarded = guard != Pred::TRUE;
        if guarded {
            self.guard(guard)?;
        }
        let places = self.places::<T>(written, access, guarded)?;
        // Its masks are needed.
        self.predicate = None;
        let look = match sought {
            Sought::Nothing | Sought::One => Look::First(None),
            Sought::Follow(step) | Sought::Apart(step) => self.look(access, step, guarded)?,
            Sought::Equal => self.look(access, access.stride(), guarded)?,
        };
        let (host, mut resume, mut moved) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label());
        let before = self.file.clone();
        self.unless_all_take_part(guard, resume, host)?;
        if access.spins {
            self.looks_for_long(host)?;
        }
        let place = self.window(access, host)?;
        if sought == Sought::One {
            self.first_address(access)?;
            T::one(self, Moving { access, place, places: &places, host })?;
        } else {
            self.looked_for::<T>(access, place, &places, sought, look, [moved, host])?;
        }
        self.a.set_label(&mut moved)?;
        self.a.nop()?;
        self.moved(written, &places, guarded)?;
        for (counts, counter) in
            [(access.polls, offset_of!(Context, reads)), (access.spins, offset_of!(Context, spins))]
        {
            if counts {
                self.a.inc(qword_ptr(at(counter)))?;
            }
        }
        self.a.set_label(&mut resume)?;
        self.a.nop()?;
        self.or_host(host, resume, before, guard);
        Ok(())
    }

    /// Moves elements the way that their addresses turn out to lie; elsewhere when they are moved, or to the host.
    fn looked_for<T: Target>(
        &mut self,
        access: &Access,
        place: Place,
        places: &Places,
        sought: Sought,
        look: Look,
        [moved, host]: [CodeLabel; 2],
    ) -> Done {
        let mut scattered = self.a.create_label();
        // What is not inside as a whole may still be for the lanes that run.
        let outside = if self.masked() { scattered } else { host };
        if let Sought::Apart(step) = sought {
            self.alike::<T>(access, places, look, step, scattered)?;
            T::strided(self, Moving { access, place, places, host: scattered }, step)?;
            self.prefetch(access, place, step, look)?;
            self.a.jmp(moved)?;
        }
        let ways: &[bool] = match sought {
            Sought::Follow(_) => &[true, false],
            Sought::Equal => &[false, true],
            Sought::Apart(_) | Sought::Nothing | Sought::One => &[],
        };
        for (at, &follow) in ways.iter().enumerate() {
            let mut other = if at == 0 { self.a.create_label() } else { scattered };
            if follow {
                self.alike::<T>(access, places, look, access.stride(), other)?;
                T::consecutive(self, Moving { access, place, places, host: outside })?;
                self.prefetch(access, place, access.stride(), look)?;
            } else if !access.store {
                self.alike::<T>(access, places, look, 0, other)?;
                T::equal(self, Moving { access, place, places, host: outside })?;
            } else if self.avx512 && !self.masked() && access.is_scalar() {
                self.alike::<T>(access, places, look, 0, other)?;
                self.store_last(access, place, places.element[0], outside)?;
            } else {
                continue;
            }
            self.a.jmp(moved)?;
            if at == 0 {
                self.a.set_label(&mut other)?;
                self.a.nop()?;
            }
        }
        self.a.set_label(&mut scattered)?;
        self.a.nop()?;
        T::scattered(self, Moving { access, place, places, host })
    }

    /// Puts into registers what all ways have in common, before they part; `access` is what is moved for the written one.
    pub(super) fn places<T: Target>(
        &mut self,
        written: &Access,
        access: &Access,
        guarded: bool,
    ) -> Done<Places> {
        let places = T::places(self, access, guarded)?;
        let together = written.together().is_some();
        if together && access.store {
            self.put_together(written, &places)?;
        } else if together && guarded {
            // If no lane takes part they stay as they are.
            for slot in written.registers() {
                for number in 0..self.lines(Width::Word) {
                    self.fetch(slot, Width::Word, number)?;
                }
            }
        }
        Ok(places)
    }

    /// What follows where all ways have met again.
    pub(super) fn moved(&mut self, written: &Access, places: &Places, guarded: bool) -> Done {
        match (written.store, written.together()) {
            (true, _) => Ok(()),
            (false, None) => {
                self.loaded_elements(written, places, guarded);
                Ok(())
            }
            (false, Some(_)) => self.take_apart(written, places, guarded),
        }
    }

    /// To the host if the next load of a loop that does nothing but wait ends the turn.
    fn looks_for_long(&mut self, host: CodeLabel) -> Done {
        const { assert!(SPINS.is_power_of_two()) };
        self.a.mov(ecx, dword_ptr(at(offset_of!(Context, spins))))?;
        self.a.inc(ecx)?;
        self.a.test(ecx, SPINS as i32 - 1)?;
        self.a.je(host)
    }

    /// Behind a guarded step if no lane takes part, to the host if only some do.
    pub(super) fn unless_all_take_part(&mut self, guard: Pred, resume: CodeLabel, host: CodeLabel) -> Done {
        if guard == Pred::TRUE {
            return Ok(());
        }
        let label = self.a.create_label();
        self.a.cmp(r11d, ebp)?;
        self.a.jne(label)?;
        self.cold.push(Cold::Mixed { label, resume, host });
        Ok(())
    }

    /// The first addresses of halves that are alike, if they are, as was found before or is now.
    pub(super) fn alike<T: Target>(
        &mut self,
        access: &Access,
        places: &Places,
        look: Look,
        step: u32,
        other: CodeLabel,
    ) -> Done {
        match look {
            Look::Known(known) => self.recall(known, step, other),
            Look::First(place) => {
                T::alike(self, access, places, step, other)?;
                if step > 0 {
                    self.step_from_last_turn(access, look)?;
                }
                self.keep(place, step)
            }
        }
    }

    /// Whether an access needs the address of one lane alone.
    pub(super) fn moves_one(&self, access: &Access) -> bool {
        self.sought(access) == Sought::One
    }

    /// What is to be looked for in the addresses of an access.
    fn sought(&self, access: &Access) -> Sought {
        let step = access.stride();
        if let Space::Local | Space::Frame = access.space {
            return Sought::Follow(step);
        }
        match access.spread {
            // Lanes that do not run may have anything.
            Spread::Uniform if !self.masked() && (!access.store || access.is_scalar()) => Sought::One,
            Spread::Uniform | Spread::Stride(0) => Sought::Equal,
            Spread::Stride(apart) if i64::from(apart) != i64::from(step) => match u32::try_from(apart) {
                Ok(apart) if self.avx512 && access.is_scalar() && strides(access.bytes).contains(&apart) => {
                    Sought::Apart(apart)
                }
                _ => Sought::Nothing,
            },
            Spread::Any | Spread::Stride(_) => Sought::Follow(step),
        }
    }

    /// The address of the first lane to `rax`.
    fn first_address(&mut self, access: &Access) -> Done {
        let line = self.line(access.address, 0);
        match (self.file.peek(line), access.address_width) {
            (Some(register), Width::Double) => self.a.vmovq(rax, X[register]),
            (Some(register), Width::Word) => self.a.vmovd(eax, X[register]),
            (None, Width::Double) => self.a.mov(rax, qword_ptr(self.place(line))),
            (None, Width::Word) => self.a.mov(eax, dword_ptr(self.place(line))),
        }
    }

    /// Narrow elements to the words that they are together (AVX-512).
    fn put_together(&mut self, written: &Access, places: &Places) -> Done {
        let (bits, each) = (8 * written.bytes, (4 / written.bytes) as usize);
        for (which, slot) in written.elements.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            for number in 0..self.lines(Width::Word) {
                let from = self.fetch(slot, Width::Word, number)?;
                let to = places.element[which / each][number as usize];
                let (part, first) = (which % each, which % each == 0);
                let own = if first { to } else { avx512::S0 };
                self.field(0, bits, false, from, own)?;
                if !first {
                    self.a.vpslld(Z[own], Z[own], part as u32 * bits)?;
                    self.a.vpord(Z[to], Z[to], Z[own])?;
                }
            }
        }
        Ok(())
    }

    /// Narrow elements out of the words that they are together (AVX-512).
    fn take_apart(&mut self, written: &Access, places: &Places, guarded: bool) -> Done {
        let (bits, each) = (8 * written.bytes, (4 / written.bytes) as usize);
        for (which, slot) in written.elements.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            self.forget_shape(slot, 1);
            for number in 0..self.lines(Width::Word) {
                let line = self.line(slot, number);
                let to = match guarded {
                    true => self.fetch(slot, Width::Word, number)?,
                    false => self.new_register()?,
                };
                let from = places.element[which / each][number as usize];
                self.field((which % each) as u32 * bits, bits, written.signed, from, to)?;
                self.file.forget(line);
                self.file.put(to, Held::new(line, Width::Word, number, true));
            }
        }
        Ok(())
    }

    /// Registers hold what was loaded.
    fn loaded_elements(&mut self, access: &Access, places: &Places, guarded: bool) {
        let width = access.width();
        for (slot, registers) in access.elements.iter().zip(&places.element) {
            let Some(slot) = *slot else { continue };
            self.forget_shape(slot, width.rows());
            for number in 0..self.computed(width) {
                let line = self.line(slot, number);
                let register = registers[number as usize];
                // A guarded step loads into the line itself.
                if guarded && self.file.peek(line) == Some(register) {
                    self.file.put(register, Held::new(line, width, number, true));
                } else {
                    self.hold(slot, width, number, register, false);
                }
            }
        }
    }
}
