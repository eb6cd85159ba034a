//! Loads and stores: moves of consecutive, equal and other addresses.

use super::*;
use crate::emit::access::{Moving, Places, Target};
use crate::emit::atomic::{OPERANDS, PLACES, TURN};
use crate::emit::window::Place;
use crate::emit::{double, word};
use crate::program::{Access, Space};

impl Target for Moves {
    fn places(emitter: &mut Emitter<'_>, access: &Access, guarded: bool) -> Done<Places> {
        let address = Self::addresses(emitter, access)?;
        let mut places = Places { address, element: [[0; 8]; 4], spare: [0; 2] };
        let width = access.width();
        for at in 0..access.count as usize {
            let lines = if access.store { emitter.lines(width) } else { emitter.computed(width) };
            for number in 0..lines {
                places.element[at][number as usize] = match access.elements[at] {
                    Some(slot) if access.store || guarded => emitter.fetch(slot, width, number)?,
                    _ => emitter.new_register()?,
                };
            }
        }
        if access.space == Space::Local {
            places.spare = [emitter.new_register()?, emitter.new_register()?];
        }
        Ok(places)
    }

    fn addresses(emitter: &mut Emitter<'_>, access: &Access) -> Done<[usize; 4]> {
        let mut address = [0; 4];
        if access.space == Space::Frame || emitter.moves_one(access) {
            return Ok(address);
        }
        for number in 0..emitter.lines(access.address_width) {
            address[number as usize] = emitter.fetch(access.address, access.address_width, number)?;
        }
        Ok(address)
    }

    fn alike(
        emitter: &mut Emitter<'_>,
        access: &Access,
        places: &Places,
        step: u32,
        other: CodeLabel,
    ) -> Done {
        emitter.halves_alike(access, places.address, step, other)
    }

    fn consecutive(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        match (access.count, access.bytes) {
            (1, 4 | 8) => emitter.consecutive(access, place, places.element[0], host),
            (1, _) => emitter.consecutive_narrow(access, place, places.element[0], host),
            // A mask for each word would have to be made.
            _ if emitter.masked() => emitter.a.jmp(host),
            _ => emitter.consecutive_vectors(access, place, &places.element, host),
        }
    }

    fn equal(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.equal(access, place, &places.element, host)
    }

    fn one(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.judge_one(access, place, host)?;
        if access.store {
            let last = emitter.lines(access.width()) as usize - 1;
            return emitter.store_last_of(access, places.element[0][last], rax);
        }
        emitter.load_for_all(access, &places.element, [rax; 2])
    }

    fn strided(emitter: &mut Emitter<'_>, of: Moving<'_>, step: u32) -> Done {
        let Moving { access, place, places, host: outside } = of;
        emitter.judge(access, place, 16 * step, outside)?;
        for (half, from) in [rdi + rax, rdi + rcx].into_iter().enumerate() {
            let each = access.width().rows() as usize;
            let element = &places.element[0][each * half..each * (half + 1)];
            match access.store {
                true => emitter.store_strided(half, element, from, step)?,
                false => emitter.load_strided(half, element, from, step)?,
            }
        }
        Ok(())
    }

    fn scattered(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        if access.count > 1 || access.bytes < 4 && access.store {
            return emitter.lane_after_lane(access, place, places, host);
        }
        emitter.scattered(access, place, places.address, places.element[0], host)
    }

    fn columns(emitter: &mut Emitter<'_>, of: Moving<'_>) -> Done {
        let Moving { access, place, places, host } = of;
        emitter.columns(access, place, places, host)
    }

    fn places_inside(
        emitter: &mut Emitter<'_>,
        access: &Access,
        place: Place,
        lanes: Option<AsmRegister32>,
        host: CodeLabel,
    ) -> Done {
        emitter.inside(access, place, lanes, host)?;
        for number in 0..emitter.lines(access.address_width) {
            let own = Z[emitter.fetch(access.address, access.address_width, number)?];
            let to = zmmword_ptr(at(PLACES + 64 * number as usize));
            match access.address_width {
                Width::Word => emitter.a.vpaddd(Z[S2], own, Z[S0])?,
                Width::Double => emitter.a.vpaddq(Z[S2], own, Z[S0])?,
            }
            emitter.a.vmovdqa64(to, Z[S2])?;
        }
        Ok(())
    }
}

impl Emitter<'_> {
    /// The addresses of the first lanes of both halves to `rax` and `rcx`; elsewhere if not all addresses of a half follow
    /// its first one with so many bytes from lane to lane.
    fn halves_alike(&mut self, access: &Access, address: [usize; 4], step: u32, other: CodeLabel) -> Done {
        let follow = step > 0;
        let size = if follow { step.trailing_zeros() as usize } else { 0 };
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
                let mask = match (self.masked(), access.address_width) {
                    (false, _) => to,
                    (true, Width::Word) => to.k(HALVES[half]),
                    (true, Width::Double) => to.k(QUARTERS[half * lanes + part]),
                };
                if access.address_width == Width::Double {
                    let expected = if follow {
                        let table = offset_of!(Context, tables) + offset_of!(Tables, doubles);
                        self.a.vpaddq(Z[S1], Z[S0], zmmword_ptr(at(table + 128 * size + 64 * part)))?;
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
        if self.masked() {
            self.same_half()?;
        }
        Ok(())
    }

    /// Moves two halves of consecutive elements.
    fn consecutive(&mut self, access: &Access, place: Place, element: [usize; 8], host: CodeLabel) -> Done {
        self.judge(access, place, 16 * access.stride(), host)?;
        let width = access.width();
        for number in 0..self.lines(width) as usize {
            let each = width.rows() as usize;
            let from = [rax, rcx][number / each];
            let memory = zmmword_ptr(rdi + from + 64 * (number % each) as i32);
            if self.masked() {
                let own = Z[element[number]];
                match (width, access.store) {
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

    /// The same with elements of one or two bytes.
    fn consecutive_narrow(
        &mut self,
        access: &Access,
        place: Place,
        element: [usize; 8],
        host: CodeLabel,
    ) -> Done {
        self.judge(access, place, 16 * access.bytes, host)?;
        for number in 0..2 {
            let memory = rdi + [rax, rcx][number];
            let own = Z[element[number]];
            let to = if self.masked() && !access.store { own.k(HALVES[number]) } else { own };
            let masked = |memory: AsmMemoryOperand| {
                if self.masked() { memory.k(HALVES[number]) } else { memory }
            };
            match (access.store, access.bytes, access.signed) {
                (true, 1, _) => self.a.vpmovdb(masked(xmmword_ptr(memory)), own)?,
                (true, _, _) => self.a.vpmovdw(masked(ymmword_ptr(memory)), own)?,
                (false, 1, false) => self.a.vpmovzxbd(to, xmmword_ptr(memory))?,
                (false, 1, true) => self.a.vpmovsxbd(to, xmmword_ptr(memory))?,
                (false, _, false) => self.a.vpmovzxwd(to, ymmword_ptr(memory))?,
                (false, _, true) => self.a.vpmovsxwd(to, ymmword_ptr(memory))?,
            }
        }
        Ok(())
    }

    /// The indices of a mix to a register, which then gets the words of another one and of a memory or register.
    pub(super) fn mix(&mut self, mix: Mix, to: usize, first: usize, second: Source) -> Done {
        let table = offset_of!(Context, tables) + offset_of!(Tables, mixes) + 64 * mix as usize;
        self.a.vmovdqa64(Z[to], zmmword_ptr(at(table)))?;
        match second {
            Source::Register(second) => self.a.vpermi2d(Z[to], Z[first], Z[second]),
            Source::Memory(second) => self.a.vpermi2d(Z[to], Z[first], second),
        }
    }

    /// Moves two halves of lanes that each have several elements.
    fn consecutive_vectors(
        &mut self,
        access: &Access,
        place: Place,
        element: &[[usize; 8]; 4],
        host: CodeLabel,
    ) -> Done {
        self.judge(access, place, 16 * access.stride(), host)?;
        self.half_of_vectors(access, 0, rdi + rax, element)?;
        self.half_of_vectors(access, 1, rdi + rcx, element)
    }

    /// Moves a half of them that lies from a place on.
    fn half_of_vectors(
        &mut self,
        access: &Access,
        half: usize,
        from: AsmMemoryOperand,
        element: &[[usize; 8]; 4],
    ) -> Done {
        let memory = |at: i32| zmmword_ptr(from + 64 * at);
        let of = |which: usize| element[which][half];
        match (access.bytes, access.count, access.store) {
            (4, 2, false) => {
                self.a.vmovdqu64(Z[S0], memory(0))?;
                self.mix(Mix::Even, of(0), S0, Source::Memory(memory(1)))?;
                self.mix(Mix::Odd, of(1), S0, Source::Memory(memory(1)))?;
            }
            (4, 2, true) => {
                for (at, mix) in [Mix::Lower, Mix::Upper].into_iter().enumerate() {
                    self.mix(mix, S0, of(0), Source::Register(of(1)))?;
                    self.a.vmovdqu64(memory(at as i32), Z[S0])?;
                }
            }
            (4, _, false) => {
                // Two elements of eight lanes in each, then those of sixteen lanes.
                self.a.vmovdqu64(Z[S0], memory(0))?;
                self.mix(Mix::First, of(0), S0, Source::Memory(memory(1)))?;
                self.mix(Mix::Third, of(2), S0, Source::Memory(memory(1)))?;
                self.a.vmovdqu64(Z[S0], memory(2))?;
                self.mix(Mix::First, S1, S0, Source::Memory(memory(3)))?;
                self.mix(Mix::Third, S2, S0, Source::Memory(memory(3)))?;
                for (low, high, other) in [(of(0), of(1), S1), (of(2), of(3), S2)] {
                    self.a.vshufi64x2(Z[high], Z[low], Z[other], 0xee)?;
                    self.a.vinserti64x4(Z[low], Z[low], Y[other], 1)?;
                }
            }
            (4, _, true) => {
                for (part, mix) in [Mix::Lower, Mix::Upper].into_iter().enumerate() {
                    self.mix(mix, S0, of(0), Source::Register(of(1)))?;
                    self.mix(mix, S1, of(2), Source::Register(of(3)))?;
                    for (at, mix) in [Mix::LowerDoubles, Mix::UpperDoubles].into_iter().enumerate() {
                        self.mix(mix, S2, S0, Source::Register(S1))?;
                        self.a.vmovdqu64(memory((2 * part + at) as i32), Z[S2])?;
                    }
                }
            }
            _ => {
                for part in 0..2 {
                    let [low, high] = [0, 1].map(|which| element[which][2 * half + part]);
                    let place = 2 * part as i32;
                    if access.store {
                        for (at, mix) in [Mix::LowerDoubles, Mix::UpperDoubles].into_iter().enumerate() {
                            self.mix(mix, S0, low, Source::Register(high))?;
                            self.a.vmovdqu64(memory(place + at as i32), Z[S0])?;
                        }
                    } else {
                        self.a.vmovdqu64(Z[S0], memory(place))?;
                        self.a.vmovdqu64(Z[S1], memory(place + 1))?;
                        self.a.vpunpcklqdq(Z[low], Z[S0], Z[S1])?;
                        self.a.vpunpckhqdq(Z[high], Z[S0], Z[S1])?;
                        for register in [low, high] {
                            // The doubles of each vector in turn.
                            self.a.vpermq(Z[S2], Z[register], 0xd8)?;
                            self.a.vshufi64x2(Z[register], Z[S2], Z[S2], 0xd8)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Loads the elements of one lane for each half.
    fn equal(&mut self, access: &Access, place: Place, element: &[[usize; 8]; 4], host: CodeLabel) -> Done {
        self.judge(access, place, access.stride(), host)?;
        self.load_for_all(access, element, [rax, rcx])
    }

    /// Loads the elements of one lane for each half, from places behind `rdi`.
    fn load_for_all(&mut self, access: &Access, element: &[[usize; 8]; 4], from: [AsmRegister64; 2]) -> Done {
        let width = access.width();
        for (which, element) in element[..access.count as usize].iter().enumerate() {
            for number in 0..self.computed(width) as usize {
                let from = rdi + from[number / width.rows() as usize];
                let memory = from + (access.bytes * which as u32) as i32;
                match access.bytes {
                    4 => self.a.vpbroadcastd(Z[element[number]], dword_ptr(memory))?,
                    8 => self.a.vpbroadcastq(Z[element[number]], qword_ptr(memory))?,
                    _ => {
                        match (access.bytes, access.signed) {
                            (1, false) => self.a.movzx(esi, byte_ptr(memory))?,
                            (1, true) => self.a.movsx(esi, byte_ptr(memory))?,
                            (_, false) => self.a.movzx(esi, word_ptr(memory))?,
                            (_, true) => self.a.movsx(esi, word_ptr(memory))?,
                        }
                        self.a.vpbroadcastd(Z[element[number]], esi)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Stores the element of the last lane of each half, whose lanes all have one address.
    pub(in crate::emit) fn store_last(
        &mut self,
        access: &Access,
        place: Place,
        element: [usize; 8],
        host: CodeLabel,
    ) -> Done {
        self.judge(access, place, access.stride(), host)?;
        let each = access.width().rows() as usize;
        for (half, offset) in [rax, rcx].into_iter().enumerate() {
            self.store_last_of(access, element[each * half + each - 1], offset)?;
        }
        Ok(())
    }

    /// Stores the last element of a register at a place behind `rdi`.
    fn store_last_of(&mut self, access: &Access, element: usize, offset: AsmRegister64) -> Done {
        self.a.vextracti32x4(X[S0], Z[element], 3)?;
        match access.width() {
            Width::Word => self.a.vpextrd(dword_ptr(rdi + offset), X[S0], 3),
            Width::Double => self.a.vpextrq(qword_ptr(rdi + offset), X[S0], 1),
        }
    }

    /// Loads the elements of half a warp that lie so many bytes apart from a place on, into one register or two.
    fn load_strided(&mut self, half: usize, element: &[usize], from: AsmMemoryOperand, step: u32) -> Done {
        let memory = |at: usize| zmmword_ptr(from + 64 * at as i32);
        for (part, &to) in element.iter().enumerate() {
            let all = if self.masked() { S2 } else { to };
            self.a.vmovdqu64(Z[S0], memory(2 * part))?;
            match (element.len(), step) {
                (1, 8) => self.mix(Mix::Even, all, S0, Source::Memory(memory(1)))?,
                (1, _) => {
                    self.mix(Mix::First, all, S0, Source::Memory(memory(1)))?;
                    self.a.vmovdqu64(Z[S0], memory(2))?;
                    self.mix(Mix::First, S1, S0, Source::Memory(memory(3)))?;
                    self.a.vinserti64x4(Z[all], Z[all], Y[S1], 1)?;
                }
                _ => {
                    self.a.vpunpcklqdq(Z[S0], Z[S0], memory(2 * part + 1))?;
                    // The doubles of each vector in turn.
                    self.a.vpermq(Z[S0], Z[S0], 0xd8)?;
                    self.a.vshufi64x2(Z[all], Z[S0], Z[S0], 0xd8)?;
                }
            }
            match (self.masked(), element.len()) {
                (false, _) => {}
                (true, 1) => self.a.vmovdqa32(Z[to].k(HALVES[half]), Z[all])?,
                (true, _) => self.a.vmovdqa64(Z[to].k(QUARTERS[2 * half + part]), Z[all])?,
            }
        }
        Ok(())
    }

    /// Stores them; what lies between them stays untouched.
    fn store_strided(&mut self, half: usize, element: &[usize], to: AsmMemoryOperand, step: u32) -> Done {
        // The words that elements have of those that lie there, by bits, of all lanes of the half.
        let (first_words, words) = match (element.len(), step) {
            (1, 8) => (0x5555_5555, 1),
            (1, _) => (0x1111_1111_1111_1111u64, 1),
            _ => (0x1111_1111_1111_1111, 3),
        };
        if self.masked() {
            self.a.kmovw(esi, HALVES[half])?;
            self.a.mov(rdx, first_words)?;
            self.a.pdep(rsi, rsi, rdx)?;
            if words == 3 {
                self.a.lea(rsi, rsi + rsi * 2)?;
            }
        } else {
            self.a.mov(esi, (first_words * words) as u32 & 0xffff)?;
            self.a.kmovw(k7, esi)?;
        }
        let doubles = [Mix::LowerDoubles, Mix::UpperDoubles];
        let mut place = 0;
        let mut store = |emitter: &mut Self, from: usize| -> Done {
            if emitter.masked() {
                emitter.a.kmovw(k7, esi)?;
                emitter.a.shr(rsi, 16)?;
            }
            emitter.a.vmovdqu32(zmmword_ptr(to + place).k7(), Z[from])?;
            place += 64;
            Ok(())
        };
        if let &[own] = element {
            for mix in [Mix::Lower, Mix::Upper] {
                self.mix(mix, S0, own, Source::Register(own))?;
                if step == 8 {
                    store(self, S0)?;
                    continue;
                }
                for mix in doubles {
                    self.mix(mix, S1, S0, Source::Register(S0))?;
                    store(self, S1)?;
                }
            }
            return Ok(());
        }
        for &own in element {
            for mix in doubles {
                self.mix(mix, S0, own, Source::Register(own))?;
                store(self, S0)?;
            }
        }
        Ok(())
    }

    /// To the host if an address of these lanes, or of any, is outside or not a multiple of the size. Leaves in the first
    /// scratch register what makes places of addresses, behind `rdi`.
    fn inside(
        &mut self,
        access: &Access,
        place: Place,
        lanes: Option<AsmRegister32>,
        host: CodeLabel,
    ) -> Done {
        let size = access.stride();
        let words = access.address_width == Width::Word;
        // The places of lanes are their addresses plus this.
        self.a.mov(rax, access.offset)?;
        self.a.sub(rax, place.base)?;
        self.a.mov(rdx, place.size)?;
        if size < 4 {
            // The word around it is loaded.
            self.a.and(rdx, -4)?;
            self.a.sub(rdx, 1)?;
        } else {
            self.a.sub(rdx, size as i32)?;
        }
        self.a.jb(host)?;
        self.a.mov(rdi, place.words)?;
        let low = offset_of!(Context, tables) + offset_of!(Tables, low) + 8 * size.trailing_zeros() as usize;
        let count = self.lines(access.address_width);
        if words {
            self.a.vpbroadcastd(Z[S0], eax)?;
            self.a.vpbroadcastd(Z[S1], edx)?;
        } else {
            self.a.vpbroadcastq(Z[S0], rax)?;
            self.a.vpbroadcastq(Z[S1], rdx)?;
        }
        for number in 0..count {
            let own = Z[self.fetch(access.address, access.address_width, number)?];
            if words {
                self.a.vpaddd(Z[S2], own, Z[S0])?;
                self.a.vpcmpud(k7, Z[S2], Z[S1], 6)?;
                self.a.vptestmd(k5, own, dword_bcst(at(low)))?;
            } else {
                self.a.vpaddq(Z[S2], own, Z[S0])?;
                self.a.vpcmpuq(k7, Z[S2], Z[S1], 6)?;
                self.a.vptestmq(k5, own, qword_bcst(at(low)))?;
            }
            self.a.korw(k7, k7, k5)?;
            match (number, lanes) {
                (0, None) => self.a.kmovw(k6, k7)?,
                (_, None) => self.a.korw(k6, k6, k7)?,
                (0, Some(_)) => self.a.kmovw(esi, k7)?,
                (_, Some(_)) => {
                    self.a.kmovw(edx, k7)?;
                    self.a.shl(edx, 32 / count * number)?;
                    self.a.or(esi, edx)?;
                }
            }
        }
        match lanes {
            None => self.a.kortestw(k6, k6)?,
            Some(lanes) => self.a.test(esi, lanes)?,
        }
        self.a.jne(host)
    }

    /// Those of a part's lanes that run, for a gather or a scatter, which clears them.
    fn lanes_to_k7(&mut self, lanes: AsmRegisterK) -> Done {
        if self.masked() { self.a.kmovd(k7, lanes) } else { self.a.kxnorw(k7, k7, k7) }
    }

    /// Moves elements at any addresses.
    fn scattered(
        &mut self,
        access: &Access,
        place: Place,
        address: [usize; 4],
        element: [usize; 8],
        host: CodeLabel,
    ) -> Done {
        self.inside(access, place, self.masked().then_some(ebp), host)?;
        let words = access.address_width == Width::Word;
        // Parts of as many lanes as a line of doubles has, or of words where all is words.
        let parts = if words && access.width() == Width::Word { 2 } else { 4 };
        for part in 0..parts {
            let lanes = if parts == 2 { HALVES[part] } else { QUARTERS[part] };
            if words {
                self.a.vpaddd(Z[S2], Z[address[part * 2 / parts]], Z[S0])?;
                if parts == 4 && part % 2 == 1 {
                    self.a.vextracti64x4(Y[S2], Z[S2], 1)?;
                }
            } else {
                self.a.vpaddq(Z[S2], Z[address[part]], Z[S0])?;
            }
            self.lanes_to_k7(lanes)?;
            if access.bytes < 4 {
                self.gather_narrow(access, words, part, address, element)?;
            } else {
                self.gather(access, words, part, element)?;
            }
        }
        Ok(())
    }

    /// Moves elements of lanes' own memory: of half a warp after the other, word by word.
    fn columns(&mut self, access: &Access, place: Place, places: &Places, host: CodeLabel) -> Done {
        let Places { address, ref element, spare: [base, offsets] } = *places;
        self.inside(access, place, self.masked().then_some(ebp), host)?;
        self.a.vmovdqa64(Z[base], Z[S0])?;
        for half in 0..2 {
            if access.address_width == Width::Word {
                self.a.vpaddd(Z[S2], Z[address[half]], Z[base])?;
            } else {
                for (part, to) in [S2, S1].into_iter().enumerate() {
                    self.a.vpaddq(Z[to], Z[address[2 * half + part]], Z[base])?;
                    self.a.vpmovqd(Y[to], Z[to])?;
                }
                self.a.vinserti64x4(Z[S2], Z[S2], Y[S1], 1)?;
            }
            let mut from = S2;
            if access.bytes < 4 {
                self.a.vpandd(Z[offsets], Z[S2], dword_bcst(at(word(context::WHOLE_WORDS))))?;
                // How far an element is from the start of its word, in bits.
                self.a.vpslld(Z[S2], Z[S2], 3)?;
                self.a.vpandd(Z[S2], Z[S2], dword_bcst(at(word(context::BITS))))?;
                from = offsets;
            }
            // The word of a lane lies behind those of the lanes before it.
            self.a.vpslld(Z[offsets], Z[from], WARP_SIZE.trailing_zeros())?;
            let table = offset_of!(Context, tables) + offset_of!(Tables, words) + 2 * 64;
            self.a.vpaddd(Z[offsets], Z[offsets], zmmword_ptr(at(table)))?;
            for (which, element) in element[..access.count as usize].iter().enumerate() {
                let word = |row: usize| {
                    let row = which * access.bytes as usize / 4 + row;
                    rdi + Z[offsets] + (64 * half + 4 * WARP_SIZE * row) as i32
                };
                match access.bytes {
                    8 => self.column_of_doubles(access, half, element, [word(0), word(1)])?,
                    4 => {
                        self.lanes_to_k7(HALVES[half])?;
                        match access.store {
                            true => self.a.vpscatterdd(zmmword_ptr(word(0)).k7(), Z[element[half]])?,
                            false => self.a.vpgatherdd(Z[element[half]].k7(), zmmword_ptr(word(0)))?,
                        }
                    }
                    _ => self.narrow_column(access, half, element[half], word(0))?,
                }
            }
        }
        Ok(())
    }

    /// The same of doubles, whose words are in two rows.
    fn column_of_doubles(
        &mut self,
        access: &Access,
        half: usize,
        element: &[usize; 8],
        rows: [AsmMemoryOperand; 2],
    ) -> Done {
        let [first, second] = [element[2 * half], element[2 * half + 1]];
        for (row, upper) in rows.into_iter().zip([false, true]) {
            let to = if upper { S1 } else { S0 };
            if access.store {
                self.split_words([first, second], upper)?;
                self.lanes_to_k7(HALVES[half])?;
                self.a.vpscatterdd(zmmword_ptr(row).k7(), Z[S0])?;
            } else {
                self.lanes_to_k7(HALVES[half])?;
                self.a.vpgatherdd(Z[to].k7(), zmmword_ptr(row))?;
            }
        }
        if !access.store {
            for (to, upper) in [(first, false), (second, true)] {
                let low = self.half(S0, upper, to)?;
                self.a.vpmovzxdq(Z[to], Y[low])?;
                let high = self.half(S1, upper, S2)?;
                self.a.vpmovzxdq(Z[S2], Y[high])?;
                self.a.vpsllq(Z[S2], Z[S2], 32)?;
                self.a.vporq(Z[to], Z[to], Z[S2])?;
            }
        }
        Ok(())
    }

    /// The same of narrow elements, which are so many bits from the start of their words as the last scratch register says.
    fn narrow_column(&mut self, access: &Access, half: usize, element: usize, row: AsmMemoryOperand) -> Done {
        let bits = 8 * access.bytes;
        let to = if access.store { S0 } else { element };
        self.lanes_to_k7(HALVES[half])?;
        self.a.vpgatherdd(Z[to].k7(), zmmword_ptr(row))?;
        if !access.store {
            self.a.vpsrlvd(Z[to], Z[to], Z[S2])?;
            return self.field(0, bits, access.signed, to, to);
        }
        // Ones where the element is, then its bits there.
        self.a.vpternlogd(Z[S1], Z[S1], Z[S1], 0xff)?;
        self.a.vpsrld(Z[S1], Z[S1], 32 - bits)?;
        self.a.vpsllvd(Z[S1], Z[S1], Z[S2])?;
        self.a.vpsllvd(Z[S2], Z[element], Z[S2])?;
        self.a.vpternlogd(Z[S1], Z[S2], Z[S0], 0xca)?;
        self.lanes_to_k7(HALVES[half])?;
        self.a.vpscatterdd(zmmword_ptr(row).k7(), Z[S1])
    }

    /// Moves elements at any addresses lane after lane, by way of the context: narrow ones to memory, and those of a lane at
    /// once, as nobody may see half of them.
    fn lane_after_lane(&mut self, access: &Access, place: Place, places: &Places, host: CodeLabel) -> Done {
        let lanes = self.masked().then_some(ebp);
        Moves::places_inside(self, access, place, lanes, host)?;
        // Bytes of a lane, and what they take in the context.
        let (bytes, each) = (access.stride(), access.stride().max(4));
        if access.count == 1 {
            for (half, from) in places.element[0][..2].iter().enumerate() {
                self.a.vmovdqa64(zmmword_ptr(at(OPERANDS[0] + 64 * half)), Z[*from])?;
            }
        } else if access.store {
            self.vectors(access, at(OPERANDS[0]), &places.element)?;
        }
        let mut next = self.a.create_label();
        if self.masked() {
            self.a.mov(edx, ebp)?;
            self.a.set_label(&mut next)?;
            self.a.tzcnt(esi, edx)?;
        } else {
            self.a.xor(esi, esi)?;
            self.a.set_label(&mut next)?;
        }
        for lane in 0..if self.masked() { 1 } else { TURN as i32 } {
            match access.address_width {
                Width::Word => self.a.mov(eax, dword_ptr(rbx + rsi * 4 + (PLACES as i32 + 4 * lane)))?,
                Width::Double => self.a.mov(rax, qword_ptr(rbx + rsi * 8 + (PLACES as i32 + 8 * lane)))?,
            }
            let own = match each {
                4 => rbx + rsi * 4,
                8 => rbx + rsi * 8,
                _ => {
                    self.a.lea(rcx, rsi + rsi)?;
                    rbx + rcx * 8
                }
            } + (OPERANDS[0] as i32 + each as i32 * lane);
            let memory = rdi + rax;
            match (bytes, access.store) {
                (1, _) => {
                    self.a.mov(ecx, dword_ptr(own))?;
                    self.a.mov(byte_ptr(memory), cl)?;
                }
                (2, _) => {
                    self.a.mov(ecx, dword_ptr(own))?;
                    self.a.mov(word_ptr(memory), cx)?;
                }
                (_, store) => {
                    let (from, to) = if store { (own, memory) } else { (memory, own) };
                    if bytes == 8 {
                        self.a.vmovq(X[S0], qword_ptr(from))?;
                        self.a.vmovq(qword_ptr(to), X[S0])?;
                    } else {
                        self.a.vmovdqu32(X[S0], xmmword_ptr(from))?;
                        self.a.vmovdqu32(xmmword_ptr(to), X[S0])?;
                    }
                }
            }
        }
        if self.masked() {
            self.a.blsr(edx, edx)?;
        } else {
            self.a.add(esi, TURN as i32)?;
            self.a.cmp(esi, WARP_SIZE as i32)?;
        }
        self.a.jne(next)?;
        if access.store { Ok(()) } else { self.vectors(access, at(OPERANDS[0]), &places.element) }
    }

    /// Moves the elements of all lanes that lie side by side from a place on.
    fn vectors(&mut self, access: &Access, from: AsmMemoryOperand, element: &[[usize; 8]; 4]) -> Done {
        (0..2).try_for_each(|half| {
            self.half_of_vectors(access, half, from + 16 * access.stride() as i32 * half as i32, element)
        })
    }

    /// Moves the lanes of `k7` of a part whose places are in the last scratch register.
    fn gather(&mut self, access: &Access, words: bool, part: usize, element: [usize; 8]) -> Done {
        let width = access.width();
        let to = element[if width == Width::Word && !words { part / 2 } else { part }];
        match (words, width, access.store) {
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

    /// Loads narrow elements of the lanes of `k7` of a part: the words that they are in, shifted.
    fn gather_narrow(
        &mut self,
        access: &Access,
        words: bool,
        part: usize,
        address: [usize; 4],
        element: [usize; 8],
    ) -> Done {
        let to = element[if words { part } else { part / 2 }];
        if words {
            self.a.vpandd(Z[S1], Z[S2], dword_bcst(at(word(context::WHOLE_WORDS))))?;
            self.a.vpgatherdd(Z[to].k7(), zmmword_ptr(rdi + Z[S1]))?;
            self.a.vpslld(Z[S2], Z[S2], 3)?;
            self.a.vpandd(Z[S2], Z[S2], dword_bcst(at(word(context::BITS))))?;
            self.a.vpsrlvd(Z[to], Z[to], Z[S2])?;
        } else {
            self.a.vpandq(Z[S2], Z[S2], qword_bcst(at(double(context::DOUBLE_WHOLE_WORDS))))?;
            self.a.vpgatherqd(Y[S1].k7(), ymmword_ptr(rdi + Z[S2]))?;
            self.a.vpmovzxdq(Z[S1], Y[S1])?;
            self.a.vpaddq(Z[S2], Z[address[part]], Z[S0])?;
            self.a.vpsllq(Z[S2], Z[S2], 3)?;
            self.a.vpandq(Z[S2], Z[S2], qword_bcst(at(double(context::DOUBLE_BITS))))?;
            self.a.vpsrlvq(Z[S1], Z[S1], Z[S2])?;
            self.a.vpmovqd(Y[S1], Z[S1])?;
            if part.is_multiple_of(2) {
                self.a.vmovdqa64(Y[to], Y[S1])?;
                return Ok(());
            }
            self.a.vinserti64x4(Z[to], Z[to], Y[S1], 1)?;
        }
        let unused = 32 - 8 * access.bytes;
        self.a.vpslld(Z[to], Z[to], unused)?;
        if access.signed { self.a.vpsrad(Z[to], Z[to], unused) } else { self.a.vpsrld(Z[to], Z[to], unused) }
    }
}
