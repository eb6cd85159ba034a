//! Loads and stores: which way one goes. The ways themselves are the targets'.

use super::*;
use crate::emit::window::{Look, Place};
use crate::program::Access;

/// Registers of an access: of its address by line, if all lines are in some, of its elements, and others that are free.
pub(super) struct Places {
    pub address: [usize; 4],
    pub element: [[usize; 8]; 4],
    pub spare: [usize; 2],
}

/// What a target does of an access. Whatever it cannot do goes to the host.
pub(super) trait Target {
    /// Puts into registers what all ways need.
    fn places(emitter: &mut Emitter<'_>, access: &Access, guarded: bool) -> Done<Places>;

    /// Puts into registers what the addresses are looked for in.
    fn addresses(emitter: &mut Emitter<'_>, access: &Access) -> Done<[usize; 4]>;

    /// The addresses of the first lanes of both halves to `rax` and `rcx`; elsewhere if not all addresses of a half follow
    /// its first one, or are equal to it.
    fn alike(
        emitter: &mut Emitter<'_>,
        access: &Access,
        places: &Places,
        follow: bool,
        other: CodeLabel,
    ) -> Done;

    /// Moves two halves of elements that follow each other, at addresses in `rax` and `rcx`.
    fn consecutive(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        places: &Places,
        host: CodeLabel,
    ) -> Done;

    /// Loads the elements of one lane for each half.
    fn equal(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        places: &Places,
        host: CodeLabel,
    ) -> Done;

    /// Moves elements at any addresses.
    fn scattered(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        places: &Places,
        host: CodeLabel,
    ) -> Done;

    /// Moves elements of lanes' own memory that lie in rows of their own.
    fn columns(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        places: &Places,
        host: CodeLabel,
    ) -> Done;

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

impl Emitter<'_> {
    pub(super) fn access<T: Target>(&mut self, written: &Access, guard: Pred) -> Done {
        if let Space::Local | Space::Frame = written.space {
            return self.local::<T>(written, guard);
        }
        let together = written.together();
        let access = together.as_ref().unwrap_or(written);
        let guarded = guard != Pred::TRUE;
        if guarded {
            self.guard(guard)?;
        }
        let places = self.places::<T>(written, access, guarded)?;
        // Its masks are needed.
        self.predicate = None;
        let look = self.look(access, guarded)?;
        let (host, mut resume, mut moved) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label());
        let before = self.file.clone();
        self.unless_all_take_part(guard, resume, host)?;
        if access.polls {
            self.a.inc(qword_ptr(at(offset_of!(Context, reads))))?;
        }
        let place = self.window(access, host)?;
        let (mut other, mut scattered) = (self.a.create_label(), self.a.create_label());
        // What is not inside as a whole may still be for the lanes that run.
        let outside = if self.masked() { scattered } else { host };
        self.alike::<T>(access, &places, look, true, other)?;
        T::consecutive(self, access, place, &places, outside)?;
        self.prefetch(access, look)?;
        self.a.jmp(moved)?;
        self.a.set_label(&mut other)?;
        self.a.nop()?;
        if !access.store {
            self.alike::<T>(access, &places, look, false, scattered)?;
            T::equal(self, access, place, &places, outside)?;
            self.a.jmp(moved)?;
        } else if self.avx512 && !self.masked() && access.count == 1 && access.bytes >= 4 {
            self.alike::<T>(access, &places, look, false, scattered)?;
            self.store_last(access, place, places.element[0], outside)?;
            self.a.jmp(moved)?;
        }
        self.a.set_label(&mut scattered)?;
        self.a.nop()?;
        T::scattered(self, access, place, &places, host)?;
        self.a.set_label(&mut moved)?;
        self.a.nop()?;
        self.moved(written, &places, guarded)?;
        self.a.set_label(&mut resume)?;
        self.a.nop()?;
        self.or_host(host, resume, before, guard);
        Ok(())
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
        follow: bool,
        other: CodeLabel,
    ) -> Done {
        match look {
            Look::Known(known) => self.recall(known, follow, other),
            Look::First(place) => {
                T::alike(self, access, places, follow, other)?;
                if follow {
                    self.step_from_last_turn(access, look)?;
                }
                self.keep(place, follow)
            }
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
            for number in 0..self.lines(width) {
                let line = self.line(slot, number);
                let register = registers[number as usize];
                // A guarded step loads into the line itself.
                if !guarded || self.file.peek(line) != Some(register) {
                    self.file.forget(line);
                }
                self.file.put(register, Held::new(line, width, number, true));
            }
        }
    }
}
