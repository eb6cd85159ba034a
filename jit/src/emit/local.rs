//! Loads and stores of lanes' own memory: each row of it is one word of all lanes.

use super::access::{Moving, Places, Target};
use super::avx512::HALVES;
use super::*;
use crate::emit::window::Look;
use crate::program::Access;

/// Where in its word an element lies.
#[derive(Clone, Copy)]
enum Shift {
    /// So many bits from its start.
    Known(u32),
    /// As many as `ecx` says.
    Register,
}

impl Emitter<'_> {
    pub(super) fn local<T: Target>(&mut self, written: &Access, guard: Pred) -> Done {
        let together = written.together();
        let access = together.as_ref().unwrap_or(written);
        let guarded = guard != Pred::TRUE;
        if guarded {
            self.guard(guard)?;
        }
        let places = self.places::<T>(written, access, guarded)?;
        self.predicate = None;
        let fixed = access.space == Space::Frame;
        let look = if fixed { Look::First(None) } else { self.look(access, access.stride(), guarded)? };
        let (host, mut resume, mut moved) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label());
        let before = self.file.clone();
        self.unless_all_take_part(guard, resume, host)?;
        let place = self.window(access, host)?;
        if fixed {
            let bytes = access.offset as i32;
            self.a.mov(rdi, place.words)?;
            self.rows(
                access,
                &places,
                rdi + (bytes & !3) * WARP_SIZE as i32,
                Shift::Known(bytes as u32 % 4 * 8),
            )?;
        } else {
            let mut scattered = self.a.create_label();
            self.alike::<T>(access, &places, look, 0, scattered)?;
            self.judge(access, place, access.stride(), host)?;
            self.a.cmp(rax, rcx)?;
            self.a.jne(scattered)?;
            if access.bytes < 4 {
                self.a.mov(ecx, eax)?;
                self.a.and(ecx, 3)?;
                self.a.shl(ecx, 3)?;
                self.a.and(rax, -4)?;
            }
            self.a.shl(rax, WARP_SIZE.trailing_zeros())?;
            self.rows(access, &places, rdi + rax, Shift::Register)?;
            self.a.jmp(moved)?;
            self.a.set_label(&mut scattered)?;
            self.a.nop()?;
            T::columns(self, Moving { access, place, places: &places, host })?;
        }
        self.a.set_label(&mut moved)?;
        self.a.nop()?;
        self.moved(written, &places, guarded)?;
        self.a.set_label(&mut resume)?;
        self.a.nop()?;
        self.or_host(host, resume, before, guard);
        Ok(())
    }

    /// Moves the elements of all lanes, which lie in the same rows from a place on.
    fn rows(&mut self, access: &Access, places: &Places, from: AsmMemoryOperand, shift: Shift) -> Done {
        let line = (4 * WARP_SIZE as u32 / self.per_row()) as i32;
        for (which, element) in places.element[..access.count as usize].iter().enumerate() {
            let row = |row: usize| {
                from + (which as i32 * access.bytes as i32 / 4 + row as i32) * 4 * WARP_SIZE as i32
            };
            for number in 0..self.lines(access.width()) {
                let to = element[number as usize];
                match (access.bytes, access.store) {
                    (4, false) => self.load_vector(to, row(0) + line * number as i32)?,
                    (8, false) => {
                        self.join_words(to, [row(0), row(1)].map(|row| row + line / 2 * number as i32))?;
                    }
                    (_, false) => self.load_part(access, to, row(0) + line * number as i32, shift)?,
                    (4, true) => {
                        let from = self.stored(access, which, element, number)?;
                        self.store_words(from, row(0), number)?;
                    }
                    (8, true) if number.is_multiple_of(2) => {
                        for (at, upper) in [false, true].into_iter().enumerate() {
                            let first = self.stored(access, which, element, number)?;
                            let second = self.stored(access, which, element, number + 1)?;
                            let words = self.split_words([first, second], upper)?;
                            self.store_words(words, row(at), number / 2)?;
                        }
                    }
                    (8, true) => {}
                    (_, true) => {
                        let from = self.stored(access, which, element, number)?;
                        self.store_part(access, from, row(0), number, shift)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The register of a line of an element that is stored: one of the first two scratch registers, if it is in none.
    fn stored(&mut self, access: &Access, which: usize, element: &[usize; 8], number: u32) -> Done<usize> {
        match access.elements[which] {
            Some(slot) if !self.avx512 => self.loaded(slot, number, avx2::S0 + number as usize % 2),
            _ => Ok(element[number as usize]),
        }
    }

    /// Loads a vector of a line's size.
    fn load_vector(&mut self, to: usize, from: AsmMemoryOperand) -> Done {
        match self.avx512 {
            true => self.a.vmovdqu64(Z[to], zmmword_ptr(from)),
            false => self.a.vmovdqu(Y[to], ymmword_ptr(from)),
        }
    }

    /// Writes a line of words to its place in a row, for the lanes that run.
    fn store_words(&mut self, from: usize, row: AsmMemoryOperand, number: u32) -> Done {
        match (self.avx512, self.masked()) {
            (true, false) => self.a.vmovdqu64(zmmword_ptr(row + 64 * number as i32), Z[from]),
            (true, true) => {
                let place = zmmword_ptr(row + 64 * number as i32);
                self.a.vmovdqu32(avx512::Masked::k(place, HALVES[number as usize]), Z[from])
            }
            (false, false) => self.a.vmovdqu(ymmword_ptr(row + 32 * number as i32), Y[from]),
            (false, true) => self.store_words_avx2(from, ymmword_ptr(row + 32 * number as i32), number),
        }
    }

    /// A line of doubles of their words, which lie apart.
    fn join_words(&mut self, to: usize, [low, high]: [AsmMemoryOperand; 2]) -> Done {
        if self.avx512 {
            self.a.vpmovzxdq(Z[to], ymmword_ptr(low))?;
            self.a.vpmovzxdq(Z[avx512::S0], ymmword_ptr(high))?;
            self.a.vpsllq(Z[avx512::S0], Z[avx512::S0], 32)?;
            self.a.vporq(Z[to], Z[to], Z[avx512::S0])
        } else {
            self.a.vpmovzxdq(Y[to], xmmword_ptr(low))?;
            self.a.vpmovzxdq(Y[avx2::S0], xmmword_ptr(high))?;
            self.a.vpsllq(Y[avx2::S0], Y[avx2::S0], 32)?;
            self.a.vpor(Y[to], Y[to], Y[avx2::S0])
        }
    }

    /// The lower or upper words of two lines of doubles, in a scratch register.
    pub(super) fn split_words(&mut self, [first, second]: [usize; 2], upper: bool) -> Done<usize> {
        if self.avx512 {
            for (from, to) in [(first, avx512::S0), (second, avx512::S1)] {
                if upper {
                    self.a.vpsrlq(Z[to], Z[from], 32)?;
                    self.a.vpmovqd(Y[to], Z[to])?;
                } else {
                    self.a.vpmovqd(Y[to], Z[from])?;
                }
            }
            self.a.vinserti64x4(Z[avx512::S0], Z[avx512::S0], Y[avx512::S1], 1)?;
            Ok(avx512::S0)
        } else {
            let words = if upper { 0xdd } else { 0x88 };
            self.a.vshufps(Y[avx2::S0], Y[first], Y[second], words)?;
            self.a.vpermq(Y[avx2::S0], Y[avx2::S0], 0xd8)?;
            Ok(avx2::S0)
        }
    }

    /// Loads a line of elements of one or two bytes, of which each is a part of a word (AVX-512).
    fn load_part(&mut self, access: &Access, to: usize, from: AsmMemoryOperand, shift: Shift) -> Done {
        self.a.vmovdqu64(Z[to], zmmword_ptr(from))?;
        match shift {
            Shift::Known(0) => {}
            Shift::Known(bits) => self.a.vpsrld(Z[to], Z[to], bits)?,
            Shift::Register => {
                self.a.vmovd(X[avx512::S0], ecx)?;
                self.a.vpsrld(Z[to], Z[to], X[avx512::S0])?;
            }
        }
        self.field(0, 8 * access.bytes, access.signed, to, to)
    }

    /// Replaces the parts of words by a line of elements (AVX-512).
    fn store_part(
        &mut self,
        access: &Access,
        from: usize,
        row: AsmMemoryOperand,
        number: u32,
        shift: Shift,
    ) -> Done {
        use avx512::{S0, S1, S2};
        // Ones where the part is, then the element there.
        self.a.vpternlogd(Z[S0], Z[S0], Z[S0], 0xff)?;
        self.a.vpsrld(Z[S0], Z[S0], 32 - 8 * access.bytes)?;
        self.a.vmovdqa64(Z[S1], Z[from])?;
        match shift {
            Shift::Known(0) => {}
            Shift::Known(bits) => {
                self.a.vpslld(Z[S0], Z[S0], bits)?;
                self.a.vpslld(Z[S1], Z[S1], bits)?;
            }
            Shift::Register => {
                self.a.vmovd(X[S2], ecx)?;
                self.a.vpslld(Z[S0], Z[S0], X[S2])?;
                self.a.vpslld(Z[S1], Z[S1], X[S2])?;
            }
        }
        // The element's bits where the ones are, else the old ones.
        self.a.vpternlogd(Z[S0], Z[S1], zmmword_ptr(row + 64 * number as i32), 0xca)?;
        self.store_words(S0, row, number)
    }
}
