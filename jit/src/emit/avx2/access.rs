//! Loads and stores: moves of consecutive and equal addresses, loads from any; stores to others are the host's.

use super::*;
use crate::emit::window::{Look, Place};
use crate::program::Access;

/// What is added to addresses to give places, and the last place, with its sign turned in doubles.
const DELTA: usize = offset_of!(Context, tables) + offset_of!(Tables, delta);
const LAST: usize = offset_of!(Context, tables) + offset_of!(Tables, last);

impl Emitter<'_> {
    pub(in crate::emit) fn access_avx2(&mut self, access: &Access, guard: Pred) -> Done {
        let guarded = guard != Pred::TRUE;
        if guarded {
            self.guard(guard)?;
        }
        // All that the ways below have in common is done before they part.
        let count = self.lines(access.width);
        let mut element = [0; 8];
        for number in 0..count {
            element[number as usize] = match (access.store, guarded) {
                (true, _) => 0,
                (false, true) => self.fetch(access.element, access.width, number)?,
                (false, false) => self.new_register()?,
            };
        }
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
                self.halves_alike_avx2(access, true, other)?;
                self.keep(place, true)?;
            }
        }
        self.consecutive_avx2(access, place, element, outside)?;
        self.a.jmp(resume)?;
        self.a.set_label(&mut other)?;
        self.a.nop()?;
        if !access.store {
            match look {
                Look::Known(known) => self.recall(known, false, scattered)?,
                Look::First(place) => {
                    self.halves_alike_avx2(access, false, scattered)?;
                    self.keep(place, false)?;
                }
            }
            self.equal_avx2(access, place, element, outside)?;
            self.a.jmp(resume)?;
        }
        self.a.set_label(&mut scattered)?;
        self.a.nop()?;
        self.scattered_avx2(access, place, element, host)?;
        self.a.set_label(&mut resume)?;
        self.a.nop()?;
        if !access.store {
            self.forget_shape(access.element, access.width.rows());
            for number in 0..count {
                let line = self.line(access.element, number);
                self.file.forget(line);
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
    fn halves_alike_avx2(&mut self, access: &Access, follow: bool, other: CodeLabel) -> Done {
        let size = usize::from(access.width == Width::Double);
        let each = self.lines(access.address_width) / 2;
        let tables = offset_of!(Context, tables);
        for half in 0..2 {
            let (wide, narrow) = [(rax, eax), (rcx, ecx)][half as usize];
            let first = self.source_of(access.address, half * each);
            match (access.address_width, first) {
                (Width::Double, Source::Register(first)) => {
                    self.a.vmovq(wide, X[first])?;
                    self.a.vpbroadcastq(Y[S0], X[first])?;
                }
                (Width::Word, Source::Register(first)) => {
                    self.a.vmovd(narrow, X[first])?;
                    self.a.vpbroadcastd(Y[S0], X[first])?;
                }
                (Width::Double, Source::Memory(_)) => {
                    let place = self.place(self.line(access.address, half * each));
                    self.a.mov(wide, qword_ptr(place))?;
                    self.a.vpbroadcastq(Y[S0], qword_ptr(place))?;
                }
                (Width::Word, Source::Memory(_)) => {
                    let place = self.place(self.line(access.address, half * each));
                    self.a.mov(narrow, dword_ptr(place))?;
                    self.a.vpbroadcastd(Y[S0], dword_ptr(place))?;
                }
            }
            for part in 0..each {
                let own = self.source_of(access.address, half * each + part);
                let offset = 32 * part as usize;
                let expected = match (follow, access.address_width) {
                    (false, _) => S0,
                    (true, Width::Double) => {
                        let table = tables + offset_of!(Tables, doubles) + 256 * size + offset;
                        self.a.vpaddq(Y[S1], Y[S0], ymmword_ptr(at(table)))?;
                        S1
                    }
                    (true, Width::Word) => {
                        let table = tables + offset_of!(Tables, words) + 64 * size + offset;
                        self.a.vpaddd(Y[S1], Y[S0], ymmword_ptr(at(table)))?;
                        S1
                    }
                };
                let to = if half + part == 0 { S2 } else { S1 };
                match (access.address_width, own) {
                    (Width::Double, Source::Register(own)) => {
                        self.a.vpcmpeqq(Y[to], Y[expected], Y[own])?;
                    }
                    (Width::Double, Source::Memory(own)) => self.a.vpcmpeqq(Y[to], Y[expected], own)?,
                    (Width::Word, Source::Register(own)) => self.a.vpcmpeqd(Y[to], Y[expected], Y[own])?,
                    (Width::Word, Source::Memory(own)) => self.a.vpcmpeqd(Y[to], Y[expected], own)?,
                }
                if self.masked {
                    // Those that run and are not as expected.
                    let lanes = of_line(LANES, access.address_width, half * each + part);
                    self.a.vpandn(Y[to], Y[to], lanes)?;
                }
                match (half + part, self.masked) {
                    (0, _) => {}
                    (_, true) => self.a.vpor(Y[S2], Y[S2], Y[S1])?,
                    (_, false) => self.a.vpand(Y[S2], Y[S2], Y[S1])?,
                }
            }
        }
        if self.masked {
            self.a.vptest(Y[S2], Y[S2])?;
            self.a.jne(other)?;
            return self.same_half();
        }
        self.a.vpmovmskb(edx, Y[S2])?;
        self.a.cmp(edx, -1)?;
        self.a.jne(other)
    }

    /// Moves two halves of consecutive elements.
    fn consecutive_avx2(
        &mut self,
        access: &Access,
        place: Place,
        element: [usize; 8],
        host: CodeLabel,
    ) -> Done {
        self.judge(access, place, 64 * access.width.rows(), host)?;
        let each = self.lines(access.width) / 2;
        for number in 0..2 * each {
            let from = [rax, rcx][(number / each) as usize];
            let memory = ymmword_ptr(rdi + from + 32 * (number % each) as i32);
            if access.store {
                let own = self.loaded(access.element, number, S0)?;
                if self.masked {
                    self.a.vmovdqa(Y[S1], of_line(LANES, access.width, number))?;
                    self.a.vpmaskmovd(memory, Y[S1], Y[own])?;
                } else {
                    self.a.vmovdqu(memory, Y[own])?;
                }
            } else {
                self.a.vmovdqu(Y[element[number as usize]], memory)?;
            }
        }
        Ok(())
    }

    /// Loads one element for each half.
    fn equal_avx2(&mut self, access: &Access, place: Place, element: [usize; 8], host: CodeLabel) -> Done {
        self.judge(access, place, 4 * access.width.rows(), host)?;
        let each = self.lines(access.width) / 2;
        for number in 0..2 * each {
            let from = [rax, rcx][(number / each) as usize];
            let to = Y[element[number as usize]];
            match access.width {
                Width::Word => self.a.vpbroadcastd(to, dword_ptr(rdi + from))?,
                Width::Double => self.a.vpbroadcastq(to, qword_ptr(rdi + from))?,
            }
        }
        Ok(())
    }

    /// Loads elements at any addresses.
    fn scattered_avx2(
        &mut self,
        access: &Access,
        place: Place,
        element: [usize; 8],
        host: CodeLabel,
    ) -> Done {
        if access.store {
            return self.a.jmp(host);
        }
        let size = 4 * access.width.rows();
        let words = access.address_width == Width::Word;
        // The places of lanes are their addresses plus this.
        self.a.mov(rax, access.offset)?;
        self.a.sub(rax, place.base)?;
        self.a.mov(rdx, place.size)?;
        self.a.sub(rdx, size as i32)?;
        self.a.jb(host)?;
        self.a.mov(rdi, place.words)?;
        for (from, to) in [(rax, DELTA), (rdx, LAST)] {
            self.a.vmovq(X[S0], from)?;
            if words {
                self.a.vpbroadcastd(Y[S0], X[S0])?;
            } else {
                self.a.vpbroadcastq(Y[S0], X[S0])?;
                if to == LAST {
                    let signs = offset_of!(Context, tables) + offset_of!(Tables, double_signs);
                    self.a.vpxor(Y[S0], Y[S0], ymmword_ptr(at(signs)))?;
                }
            }
            self.a.vmovdqa(ymmword_ptr(at(to)), Y[S0])?;
        }
        self.inside(access, host)?;
        for number in 0..self.lines(access.width) {
            self.gather_avx2(access, number, element[number as usize])?;
        }
        Ok(())
    }

    /// To the host if an address is outside or not a multiple of the size.
    fn inside(&mut self, access: &Access, host: CodeLabel) -> Done {
        let words = access.address_width == Width::Word;
        let count = self.lines(access.address_width);
        self.a.xor(esi, esi)?;
        for number in 0..count {
            let own = self.loaded(access.address, number, S0)?;
            // Bits that have to be zero, at the place of the sign.
            for bit in 0..access.width.rows() + 1 {
                let to = if bit == 0 { S2 } else { S1 };
                if words {
                    self.a.vpslld(Y[to], Y[own], 31 - bit)?;
                } else {
                    self.a.vpsllq(Y[to], Y[own], 63 - bit)?;
                }
                if bit != 0 {
                    self.a.vpor(Y[S2], Y[S2], Y[S1])?;
                }
            }
            if words {
                self.a.vpaddd(Y[S0], Y[own], ymmword_ptr(at(DELTA)))?;
                self.a.vpmaxud(Y[S1], Y[S0], ymmword_ptr(at(LAST)))?;
                self.a.vpcmpeqd(Y[S1], Y[S1], ymmword_ptr(at(LAST)))?;
                self.a.vpcmpeqd(Y[S0], Y[S0], Y[S0])?;
                self.a.vpxor(Y[S1], Y[S1], Y[S0])?;
            } else {
                let signs = offset_of!(Context, tables) + offset_of!(Tables, double_signs);
                self.a.vpaddq(Y[S0], Y[own], ymmword_ptr(at(DELTA)))?;
                self.a.vpxor(Y[S0], Y[S0], ymmword_ptr(at(signs)))?;
                self.a.vpcmpgtq(Y[S1], Y[S0], ymmword_ptr(at(LAST)))?;
            }
            self.a.vpor(Y[S2], Y[S2], Y[S1])?;
            if words {
                self.a.vmovmskps(edx, Y[S2])?;
            } else {
                self.a.vmovmskpd(edx, Y[S2])?;
            }
            if number != 0 {
                self.a.shl(edx, 32 / count * number)?;
            }
            self.a.or(esi, edx)?;
        }
        self.a.test(esi, ebp)?;
        self.a.jne(host)
    }

    /// Gathers a line.
    fn gather_avx2(&mut self, access: &Access, number: u32, to: usize) -> Done {
        let delta = ymmword_ptr(at(DELTA));
        let (words, double) = (access.address_width == Width::Word, access.width == Width::Double);
        let mask = |emitter: &mut Self, to: usize, part: Option<u32>| {
            if !emitter.masked {
                return emitter.a.vpcmpeqd(Y[to], Y[to], Y[to]);
            }
            let lanes = of_line(LANES, access.width, number);
            match part {
                None => emitter.a.vmovdqa(Y[to], lanes),
                Some(part) => {
                    let table = LANES[0] + 32 * number as usize + 16 * part as usize;
                    emitter.a.vmovdqa(X[to], xmmword_ptr(at(table)))
                }
            }
        };
        match (words, double) {
            (true, false) => {
                let own = self.loaded(access.address, number, S0)?;
                self.a.vpaddd(Y[S0], Y[own], delta)?;
                mask(self, S1, None)?;
                self.a.vpgatherdd_3(Y[to], ymmword_ptr(rdi + Y[S0]), Y[S1])
            }
            (true, true) => {
                let own = self.loaded(access.address, number / 2, S0)?;
                self.a.vpaddd(Y[S0], Y[own], delta)?;
                if number % 2 == 1 {
                    self.a.vextracti128(X[S0], Y[S0], 1)?;
                }
                mask(self, S1, None)?;
                self.a.vpgatherdq_3(Y[to], ymmword_ptr(rdi + X[S0]), Y[S1])
            }
            (false, true) => {
                let own = self.loaded(access.address, number, S0)?;
                self.a.vpaddq(Y[S0], Y[own], delta)?;
                mask(self, S1, None)?;
                self.a.vpgatherqq_3(Y[to], ymmword_ptr(rdi + Y[S0]), Y[S1])
            }
            (false, false) => {
                for part in 0..2 {
                    let own = self.loaded(access.address, 2 * number + part, S0)?;
                    self.a.vpaddq(Y[S0], Y[own], delta)?;
                    mask(self, S1, Some(part))?;
                    let half = [to, S2][part as usize];
                    self.a.vpgatherqd_3(X[half], xmmword_ptr(rdi + Y[S0]), X[S1])?;
                }
                self.a.vinserti128(Y[to], Y[to], X[S2], 1)
            }
        }
    }
}
