//! Loads and stores: moves of consecutive and equal addresses, loads from any; stores to others are the host's.

use super::*;
use crate::emit::access::{Moving, Places, Target};
use crate::emit::atomic::PLACES;
use crate::emit::window::Place;
use crate::program::Access;

/// What is added to addresses to give places, and the last place, with its sign turned in doubles.
const DELTA: usize = offset_of!(Context, tables) + offset_of!(Tables, delta);
const LAST: usize = offset_of!(Context, tables) + offset_of!(Tables, last);

impl Target for Moves {
    fn places(emitter: &mut Emitter<'_>, access: &Access, guarded: bool) -> Done<Places> {
        let mut places = Places { address: [0; 4], element: [[0; 8]; 4], spare: [0; 2] };
        // Only what is loaded has room.
        if let (false, Some(slot)) = (access.store, access.elements[0]) {
            for number in 0..emitter.computed(access.width()) {
                places.element[0][number as usize] = match guarded {
                    true => emitter.fetch(slot, access.width(), number)?,
                    false => emitter.new_register()?,
                };
            }
        }
        Ok(places)
    }

    fn columns(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { host, .. } = of;
        emitter.a.jmp(host)
    }

    fn addresses(_: &mut Emitter<'_>, _: &Access) -> Done<[usize; 4]> {
        Ok([0; 4])
    }

    fn alike(emitter: &mut Emitter<'_>, access: &Access, _: &Places, step: u32, other: CodeLabel) -> Done {
        emitter.halves_alike_avx2(access, step, other)
    }

    fn consecutive(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.consecutive_avx2(access, place, places.element[0], host)
    }

    fn equal(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.equal_avx2(access, place, places.element[0], host)
    }

    fn one(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.judge_one(access, place, host)?;
        if access.store {
            return emitter.store_last_avx2(access);
        }
        emitter.load_for_all_avx2(access, places.element[0], [rax; 2])
    }

    fn strided(emitter: &mut Emitter<'_>, of: Moving<'_>, _: u32) -> Done {
        let Moving { host: outside, .. } = of;
        emitter.a.jmp(outside)
    }

    fn scattered(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.scattered_avx2(access, place, places.element[0], host)
    }

    fn places_inside(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        lanes: Option<AsmRegister32>,
        host: CodeLabel,
    ) -> Done {
        emitter.inside_avx2(access, place, lanes.unwrap_or(ebp), host)?;
        for number in 0..emitter.lines(access.address_width) {
            let own = emitter.loaded(access.address, number, S0)?;
            match access.address_width {
                Width::Word => emitter.a.vpaddd(Y[S0], Y[own], ymmword_ptr(at(DELTA)))?,
                Width::Double => emitter.a.vpaddq(Y[S0], Y[own], ymmword_ptr(at(DELTA)))?,
            }
            emitter.a.vmovdqa(ymmword_ptr(at(PLACES + 32 * number as usize)), Y[S0])?;
        }
        Ok(())
    }
}

impl Emitter<'_> {
    /// The addresses of the first lanes of both halves to `rax` and `rcx`; elsewhere if not all addresses of a half follow
    /// its first one with so many bytes from lane to lane.
    fn halves_alike_avx2(&mut self, access: &Access, step: u32, other: CodeLabel) -> Done {
        let follow = step > 0;
        let size = if follow { step.trailing_zeros() as usize } else { 0 };
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
                        let table = tables + offset_of!(Tables, doubles) + 128 * size + offset;
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
                if self.masked() {
                    // Those that run and are not as expected.
                    let lanes = of_line(LANES, access.address_width, half * each + part);
                    self.a.vpandn(Y[to], Y[to], lanes)?;
                }
                match (half + part, self.masked()) {
                    (0, _) => {}
                    (_, true) => self.a.vpor(Y[S2], Y[S2], Y[S1])?,
                    (_, false) => self.a.vpand(Y[S2], Y[S2], Y[S1])?,
                }
            }
        }
        if self.masked() {
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
        self.judge(access, place, 64 * access.width().rows(), host)?;
        let each = self.lines(access.width()) / 2;
        for number in 0..2 * each {
            let from = [rax, rcx][(number / each) as usize];
            let memory = ymmword_ptr(rdi + from + 32 * (number % each) as i32);
            if access.store {
                let Some(slot) = access.elements[0] else { continue };
                let own = self.loaded(slot, number, S0)?;
                if self.masked() {
                    self.a.vmovdqa(Y[S1], of_line(LANES, access.width(), number))?;
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
        self.judge(access, place, 4 * access.width().rows(), host)?;
        self.load_for_all_avx2(access, element, [rax, rcx])
    }

    /// Stores the element of the last lane at a place behind `rdi` in `rax`.
    fn store_last_avx2(&mut self, access: &Access) -> Done {
        let Some(slot) = access.elements[0] else { return Ok(()) };
        let last = self.loaded(slot, self.lines(access.width()) - 1, S0)?;
        self.a.vextracti128(X[S0], Y[last], 1)?;
        match access.width() {
            Width::Word => self.a.vpextrd(dword_ptr(rdi + rax), X[S0], 3),
            Width::Double => self.a.vpextrq(qword_ptr(rdi + rax), X[S0], 1),
        }
    }

    /// Loads one element for each half, from places behind `rdi`.
    fn load_for_all_avx2(&mut self, access: &Access, element: [usize; 8], from: [AsmRegister64; 2]) -> Done {
        let each = self.lines(access.width()) / 2;
        for number in 0..self.computed(access.width()) {
            let from = from[(number / each) as usize];
            let to = Y[element[number as usize]];
            match access.width() {
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
        self.inside_avx2(access, place, ebp, host)?;
        for number in 0..self.lines(access.width()) {
            self.gather_avx2(access, number, element[number as usize])?;
        }
        Ok(())
    }

    /// To the host if an address of these lanes is outside or not a multiple of the size.
    fn inside_avx2(&mut self, access: &Access, place: Place, lanes: AsmRegister32, host: CodeLabel) -> Done {
        let size = 4 * access.width().rows();
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
        let count = self.lines(access.address_width);
        self.a.xor(esi, esi)?;
        for number in 0..count {
            let own = self.loaded(access.address, number, S0)?;
            // Bits that have to be zero, at the place of the sign.
            for bit in 0..access.width().rows() + 1 {
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
        self.a.test(esi, lanes)?;
        self.a.jne(host)
    }

    /// Gathers a line.
    fn gather_avx2(&mut self, access: &Access, number: u32, to: usize) -> Done {
        let delta = ymmword_ptr(at(DELTA));
        let (words, double) = (access.address_width == Width::Word, access.width() == Width::Double);
        let mask = |emitter: &mut Self, to: usize, part: Option<u32>| {
            if !emitter.masked() {
                return emitter.a.vpcmpeqd(Y[to], Y[to], Y[to]);
            }
            let lanes = of_line(LANES, access.width(), number);
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
