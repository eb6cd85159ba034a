//! Loads and stores: whether all lanes are inside the window, and moves of consecutive, equal and other addresses.

use super::*;
use crate::emit::window::{Look, Place};
use crate::program::Access;

impl Emitter<'_> {
    pub(in crate::emit) fn access(&mut self, access: &Access, guard: Pred) -> Done {
        let guarded = guard != Pred::TRUE;
        if guarded {
            self.guard(guard)?;
        }
        // All that the ways below have in common is done before they part.
        let mut address = [0; 4];
        for number in 0..self.lines(access.address_width) {
            address[number as usize] = self.fetch(access.address, access.address_width, number)?;
        }
        let mut element = [0; 4];
        let count = self.lines(access.width);
        for number in 0..count {
            element[number as usize] = if access.store || guarded {
                self.fetch(access.element, access.width, number)?
            } else {
                self.new_register()?
            };
        }
        // Its masks are needed.
        self.predicate = None;
        let look = self.look(access, guarded)?;
        let (host, mut resume) = (self.a.create_label(), self.a.create_label());
        let before = self.file.clone();
        if guarded {
            let mixed = self.a.create_label();
            self.a.cmp(r11d, ebp)?;
            self.a.jne(mixed)?;
            self.cold.push(Cold::Mixed { label: mixed, resume, host });
        }
        let place = self.window(access, host)?;
        let (mut other, mut scattered) = (self.a.create_label(), self.a.create_label());
        // What is not inside as a whole may still be for the lanes that run.
        let outside = if self.masked { scattered } else { host };
        match look {
            Look::Known(known) => self.recall(known, true, other)?,
            Look::First(place) => {
                self.halves_alike(access, address, true, other)?;
                self.keep(place, true)?;
            }
        }
        self.consecutive(access, place, element, outside)?;
        self.a.jmp(resume)?;
        self.a.set_label(&mut other)?;
        self.a.nop()?;
        if !access.store {
            match look {
                Look::Known(known) => self.recall(known, false, scattered)?,
                Look::First(place) => {
                    self.halves_alike(access, address, false, scattered)?;
                    self.keep(place, false)?;
                }
            }
            self.equal(access, place, element, outside)?;
            self.a.jmp(resume)?;
        }
        self.a.set_label(&mut scattered)?;
        self.a.nop()?;
        self.scattered(access, place, address, element, host)?;
        self.a.set_label(&mut resume)?;
        self.a.nop()?;
        if !access.store {
            self.forget_shape(access.element, access.width.rows());
            for number in 0..count {
                let line = self.line(access.element, number);
                if !guarded {
                    self.file.forget(line);
                }
                self.file.put(element[number as usize], Held::new(line, access.width, number, true));
            }
        }
        let after = self.file.clone();
        let (position, start) = (self.position, self.start);
        let (before, after) = (Box::new(before), Box::new(after));
        self.cold.push(Cold::Host { label: host, resume, position, start, before, after, guarded });
        Ok(())
    }

    /// The addresses of the first lanes of both halves to `rax` and `rcx`; elsewhere if not all addresses of a half follow
    /// its first one element by element, or are equal to it.
    fn halves_alike(&mut self, access: &Access, address: [usize; 4], follow: bool, other: CodeLabel) -> Done {
        let size = usize::from(access.width == Width::Double);
        let lanes = self.lines(access.address_width) as usize / 2;
        for half in 0..2 {
            let to = [rax, rcx][half];
            let first = address[half * lanes];
            if access.address_width == Width::Double {
                self.a.vmovq(to, X[first])?;
                self.a.vpbroadcastq(Z[S0], X[first])?;
            } else {
                self.a.vmovd([eax, ecx][half], X[first])?;
                self.a.vpbroadcastd(Z[S0], X[first])?;
            }
            for part in 0..lanes {
                let own = address[half * lanes + part];
                let to = if half + part == 0 { k6 } else { k7 };
                let mask = match (self.masked, access.address_width) {
                    (false, _) => to,
                    (true, Width::Word) => to.k(HALVES[half]),
                    (true, Width::Double) => to.k(QUARTERS[half * lanes + part]),
                };
                if access.address_width == Width::Double {
                    let expected = if follow {
                        let table = offset_of!(Context, tables) + offset_of!(Tables, doubles);
                        self.a.vpaddq(Z[S1], Z[S0], zmmword_ptr(at(table + 256 * size + 64 * part)))?;
                        S1
                    } else {
                        S0
                    };
                    self.a.vpcmpq(mask, Z[own], Z[expected], 4)?;
                } else {
                    let expected = if follow {
                        let table = offset_of!(Context, tables) + offset_of!(Tables, words);
                        self.a.vpaddd(Z[S1], Z[S0], zmmword_ptr(at(table + 64 * size)))?;
                        S1
                    } else {
                        S0
                    };
                    self.a.vpcmpd(mask, Z[own], Z[expected], 4)?;
                }
                if half + part != 0 {
                    self.a.korw(k6, k6, k7)?;
                }
            }
        }
        self.a.kortestw(k6, k6)?;
        self.a.jne(other)?;
        if self.masked {
            self.same_half()?;
        }
        Ok(())
    }

    /// Moves two halves of consecutive elements.
    fn consecutive(&mut self, access: &Access, place: Place, element: [usize; 4], host: CodeLabel) -> Done {
        self.judge(access, place, 64 * access.width.rows(), host)?;
        for number in 0..self.lines(access.width) as usize {
            let each = access.width.rows() as usize;
            let from = [rax, rcx][number / each];
            let memory = zmmword_ptr(rdi + from + 64 * (number % each) as i32);
            if self.masked {
                let own = Z[element[number]];
                match (access.width, access.store) {
                    (Width::Word, true) => self.a.vmovdqu32(memory.k(HALVES[number]), own)?,
                    (Width::Word, false) => self.a.vmovdqu32(own.k(HALVES[number]), memory)?,
                    (Width::Double, true) => self.a.vmovdqu64(memory.k(QUARTERS[number]), own)?,
                    (Width::Double, false) => self.a.vmovdqu64(own.k(QUARTERS[number]), memory)?,
                }
            } else if access.store {
                self.a.vmovdqu64(memory, Z[element[number]])?;
            } else {
                self.a.vmovdqu64(Z[element[number]], memory)?;
            }
        }
        Ok(())
    }

    /// Loads one element for each half.
    fn equal(&mut self, access: &Access, place: Place, element: [usize; 4], host: CodeLabel) -> Done {
        self.judge(access, place, 4 * access.width.rows(), host)?;
        for number in 0..self.lines(access.width) as usize {
            let from = [rax, rcx][number / access.width.rows() as usize];
            match access.width {
                Width::Word => self.a.vpbroadcastd(Z[element[number]], dword_ptr(rdi + from))?,
                Width::Double => self.a.vpbroadcastq(Z[element[number]], qword_ptr(rdi + from))?,
            }
        }
        Ok(())
    }

    /// Moves elements at any addresses.
    fn scattered(
        &mut self,
        access: &Access,
        place: Place,
        address: [usize; 4],
        element: [usize; 4],
        host: CodeLabel,
    ) -> Done {
        let size = 4 * access.width.rows();
        let words = access.address_width == Width::Word;
        // The places of lanes are their addresses plus this.
        self.a.mov(rax, access.offset)?;
        self.a.sub(rax, place.base)?;
        self.a.mov(rdx, place.size)?;
        self.a.sub(rdx, size as i32)?;
        self.a.jb(host)?;
        self.a.mov(rdi, place.words)?;
        let table = offset_of!(Context, tables);
        let low = table + if size == 8 { offset_of!(Tables, seven) } else { offset_of!(Tables, three) };
        let count = self.lines(access.address_width) as usize;
        if words {
            self.a.vpbroadcastd(Z[S0], eax)?;
            self.a.vpbroadcastd(Z[S1], edx)?;
        } else {
            self.a.vpbroadcastq(Z[S0], rax)?;
            self.a.vpbroadcastq(Z[S1], rdx)?;
        }
        self.a.kxorw(k6, k6, k6)?;
        for number in 0..count {
            let own = Z[address[number]];
            let lanes = if words { HALVES[number] } else { QUARTERS[number] };
            let some = |to: AsmRegisterK| if self.masked { to.k(lanes) } else { to };
            let (outside, unaligned) = (some(k7), some(k5));
            if words {
                self.a.vpaddd(Z[S2], own, Z[S0])?;
                self.a.vpcmpud(outside, Z[S2], Z[S1], 6)?;
                self.a.vptestmd(unaligned, own, dword_bcst(at(low)))?;
            } else {
                self.a.vpaddq(Z[S2], own, Z[S0])?;
                self.a.vpcmpuq(outside, Z[S2], Z[S1], 6)?;
                self.a.vptestmq(unaligned, own, qword_bcst(at(low)))?;
            }
            self.a.korw(k6, k6, k7)?;
            self.a.korw(k6, k6, k5)?;
        }
        self.a.kortestw(k6, k6)?;
        self.a.jne(host)?;
        // Parts of as many lanes as a line of doubles has, or of words where all is words.
        let parts = if words && access.width == Width::Word { 2 } else { 4 };
        for part in 0..parts {
            let lanes = if parts == 2 { HALVES[part] } else { QUARTERS[part] };
            match (words, access.width) {
                (true, _) => {
                    self.a.vpaddd(Z[S2], Z[address[part * 2 / parts]], Z[S0])?;
                    if parts == 4 && part % 2 == 1 {
                        self.a.vextracti64x4(Y[S2], Z[S2], 1)?;
                    }
                }
                (false, _) => self.a.vpaddq(Z[S2], Z[address[part]], Z[S0])?,
            }
            if self.masked {
                self.a.kmovd(k7, lanes)?;
            } else {
                self.a.kxnorw(k7, k7, k7)?;
            }
            self.gather(access, words, part, element)?;
        }
        Ok(())
    }

    /// Moves the lanes of `k7` of a part whose places are in the last scratch register.
    fn gather(&mut self, access: &Access, words: bool, part: usize, element: [usize; 4]) -> Done {
        let to = element[if access.width == Width::Word && !words { part / 2 } else { part }];
        match (words, access.width, access.store) {
            (true, Width::Word, false) => self.a.vpgatherdd(Z[to].k7(), zmmword_ptr(rdi + Z[S2])),
            (true, Width::Word, true) => self.a.vpscatterdd(zmmword_ptr(rdi + Z[S2]).k7(), Z[to]),
            (true, Width::Double, false) => self.a.vpgatherdq(Z[to].k7(), zmmword_ptr(rdi + Y[S2])),
            (true, Width::Double, true) => self.a.vpscatterdq(zmmword_ptr(rdi + Y[S2]).k7(), Z[to]),
            (false, Width::Double, false) => self.a.vpgatherqq(Z[to].k7(), zmmword_ptr(rdi + Z[S2])),
            (false, Width::Double, true) => self.a.vpscatterqq(zmmword_ptr(rdi + Z[S2]).k7(), Z[to]),
            (false, Width::Word, false) => {
                self.a.vpgatherqd(Y[S1].k7(), ymmword_ptr(rdi + Z[S2]))?;
                match part % 2 {
                    0 => self.a.vmovdqa64(Y[to], Y[S1]),
                    _ => self.a.vinserti64x4(Z[to], Z[to], Y[S1], 1),
                }
            }
            (false, Width::Word, true) => {
                let from = if part.is_multiple_of(2) {
                    to
                } else {
                    self.a.vextracti64x4(Y[S1], Z[to], 1)?;
                    S1
                };
                self.a.vpscatterqd(ymmword_ptr(rdi + Z[S2]).k7(), Y[from])
            }
        }
    }
}
