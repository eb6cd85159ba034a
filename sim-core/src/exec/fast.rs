//! The common loads and stores, straight from memory to registers.
//!
//! One scalar of 4 or 8 bytes a lane, at addresses that lie inside the allocation which the same
//! instruction accessed last, or inside the block's shared memory. Everything else, and every fault,
//! takes the general way in [`super::access`]; both give the same results.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::access::At;
use super::step::Machine;
use crate::code::AccessSpace;
use crate::lanes::{FULL, LaneMask, Registers, SimdLevel, Slot, WARP_SIZE};
use crate::memory::window;
use crate::observer::{Memory, Observer, Shape};

/// The allocation that an instruction accessed last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hint {
    /// First address.
    pub base: u64,
    /// Bytes; 0 when there is no hint.
    pub size: u64,
    /// The words of the allocation, kept alive by the worker's snapshot.
    pub words: *const AtomicU32,
    /// Whether kernels may write to it.
    pub writable: bool,
}

impl Hint {
    pub(crate) const NONE: Hint = Hint { base: 0, size: 0, words: std::ptr::null(), writable: false };
}

/// How the addresses of a warp lie to each other.
enum Pattern {
    /// Lane `i` at this address plus `i` elements.
    Unit(u64),
    /// All lanes at this address.
    Same(u64),
    /// Each half of the warp at consecutive elements, or at one address: blocks 16 threads wide.
    Halves([Half; 2]),
    /// Anything else: lowest and highest address.
    Scattered(u64, u64),
}

impl Pattern {
    /// What an observer is told.
    #[inline(always)]
    fn shape(&self) -> Shape {
        match self {
            Pattern::Unit(_) => Shape::Unit,
            Pattern::Same(_) => Shape::Same,
            Pattern::Halves([a, b]) => Shape::Halves(a.unit, b.unit),
            Pattern::Scattered(..) => Shape::Any,
        }
    }
}

/// Half a warp: whether its addresses are consecutive, and the first.
#[derive(Clone, Copy)]
struct Half {
    unit: bool,
    first: u64,
}

/// Lanes of half a warp.
const HALF: usize = WARP_SIZE / 2;

/// Finds the pattern of 16 lanes.
#[inline(always)]
fn half<const SIZE: u64>(at: &[u64]) -> Option<Half> {
    let first = at[0];
    let (mut unit, mut same) = (0, 0);
    for (lane, &address) in at.iter().enumerate() {
        unit |= address.wrapping_sub(first) ^ (lane as u64 * SIZE);
        same |= address ^ first;
    }
    let aligned = first & (SIZE - 1) == 0;
    (aligned && (unit == 0 || same == 0)).then_some(Half { unit: unit == 0, first })
}

/// Finds the pattern of the active lanes; `None` if an address is no multiple of the size.
#[inline(always)]
fn pattern<const SIZE: u64>(at: &[u64; WARP_SIZE], lanes: LaneMask) -> Option<Pattern> {
    let lane = lanes.trailing_zeros() as usize & (WARP_SIZE - 1);
    let first = at[lane];
    let start = first.wrapping_sub(lane as u64 * SIZE);
    let (mut unit, mut same) = (0, 0);
    for (lane, &address) in at.iter().enumerate() {
        let on = if lanes >> lane & 1 != 0 { u64::MAX } else { 0 };
        unit |= (address.wrapping_sub(start) ^ (lane as u64 * SIZE)) & on;
        same |= (address ^ first) & on;
    }
    if unit == 0 {
        return (first & (SIZE - 1) == 0).then_some(Pattern::Unit(start));
    }
    if same == 0 {
        return (first & (SIZE - 1) == 0).then_some(Pattern::Same(first));
    }
    if lanes == FULL
        && let (Some(low), Some(high)) = (half::<SIZE>(&at[..HALF]), half::<SIZE>(&at[HALF..]))
    {
        return Some(Pattern::Halves([low, high]));
    }
    let (mut low, mut high) = (first, first);
    for (lane, &address) in at.iter().enumerate() {
        let address = if lanes >> lane & 1 != 0 { address } else { first };
        low = low.min(address);
        high = high.max(address);
    }
    // `same` holds every bit in which addresses differ.
    ((same | first) & (SIZE - 1) == 0).then_some(Pattern::Scattered(low, high))
}

/// A memory of words that lanes read and write at byte offsets known to be inside and aligned.
trait Words: Copy {
    /// # Safety
    /// `index` must be inside.
    unsafe fn get(self, index: usize) -> u32;
    /// # Safety
    /// `index` must be inside.
    unsafe fn set(self, index: usize, value: u32);
    /// Copies words out. `LEVEL` is a [`SimdLevel`].
    /// # Safety
    /// The words must be inside, `to` valid for as many.
    unsafe fn copy_out<const LEVEL: u8, const COUNT: usize>(self, index: usize, to: *mut u32);
    /// Copies words in.
    /// # Safety
    /// As [`Words::copy_out`], with `from`.
    unsafe fn copy_in<const LEVEL: u8, const COUNT: usize>(self, index: usize, from: *const u32);
}

/// Global memory: cells that other threads may access at the same time.
#[derive(Clone, Copy)]
struct Shared(*const AtomicU32);

/// Memory of one block.
#[derive(Clone, Copy)]
struct Private(*mut u32);

/// Copies 64-byte blocks between cells and registers with vector instructions. To Rust these are
/// the accesses of an opaque program, word by word; x86-64 loads and stores of aligned words inside
/// a vector access are single-copy atomic, as relaxed accesses of the words would be.
///
/// # Safety
/// Both ranges must be valid for `COUNT` words, a multiple of 16; the CPU must have the level.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_vector<const LEVEL: u8, const COUNT: usize>(from: *const u8, to: *mut u8) {
    for block in 0..COUNT / 16 {
        // SAFETY: within the ranges of the caller.
        unsafe {
            let (from, to) = (from.add(64 * block), to.add(64 * block));
            if LEVEL == SimdLevel::Avx512 as u8 {
                std::arch::asm!(
                    "vmovdqu64 zmm16, [{from}]",
                    "vmovdqu64 [{to}], zmm16",
                    from = in(reg) from,
                    to = in(reg) to,
                    out("xmm16") _,
                    options(nostack, preserves_flags)
                );
            } else {
                std::arch::asm!(
                    "vmovdqu ymm14, [{from}]",
                    "vmovdqu ymm15, [{from} + 32]",
                    "vmovdqu [{to}], ymm14",
                    "vmovdqu [{to} + 32], ymm15",
                    from = in(reg) from,
                    to = in(reg) to,
                    out("xmm14") _,
                    out("xmm15") _,
                    options(nostack, preserves_flags)
                );
            }
        }
    }
}

impl Words for Shared {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> u32 {
        // SAFETY: the caller's.
        unsafe { (*self.0.add(index)).load(Relaxed) }
    }

    #[inline(always)]
    unsafe fn set(self, index: usize, value: u32) {
        // SAFETY: the caller's.
        unsafe { (*self.0.add(index)).store(value, Relaxed) }
    }

    #[inline(always)]
    unsafe fn copy_out<const LEVEL: u8, const COUNT: usize>(self, index: usize, to: *mut u32) {
        #[cfg(target_arch = "x86_64")]
        if LEVEL != SimdLevel::Baseline as u8 {
            // SAFETY: the caller's.
            return unsafe { copy_vector::<LEVEL, COUNT>(self.0.add(index).cast(), to.cast()) };
        }
        for at in 0..COUNT {
            // SAFETY: the caller's.
            unsafe { *to.add(at) = self.get(index + at) };
        }
    }

    #[inline(always)]
    unsafe fn copy_in<const LEVEL: u8, const COUNT: usize>(self, index: usize, from: *const u32) {
        #[cfg(target_arch = "x86_64")]
        if LEVEL != SimdLevel::Baseline as u8 {
            // SAFETY: the caller's; cells may be written through shared references.
            return unsafe { copy_vector::<LEVEL, COUNT>(from.cast(), self.0.add(index).cast_mut().cast()) };
        }
        for at in 0..COUNT {
            // SAFETY: the caller's.
            unsafe { self.set(index + at, *from.add(at)) };
        }
    }
}

impl Words for Private {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> u32 {
        // SAFETY: the caller's.
        unsafe { *self.0.add(index) }
    }

    #[inline(always)]
    unsafe fn set(self, index: usize, value: u32) {
        // SAFETY: the caller's.
        unsafe { *self.0.add(index) = value }
    }

    #[inline(always)]
    unsafe fn copy_out<const LEVEL: u8, const COUNT: usize>(self, index: usize, to: *mut u32) {
        // SAFETY: the caller's; registers are not shared memory.
        unsafe { std::ptr::copy_nonoverlapping(self.0.add(index), to, COUNT) }
    }

    #[inline(always)]
    unsafe fn copy_in<const LEVEL: u8, const COUNT: usize>(self, index: usize, from: *const u32) {
        // SAFETY: the caller's; registers are not shared memory.
        unsafe { std::ptr::copy_nonoverlapping(from, self.0.add(index), COUNT) }
    }
}

/// Moves a scalar of every active lane. `at` holds byte offsets.
///
/// # Safety
/// The offsets of active lanes must be inside the memory and multiples of `SIZE`; `slot` must be a
/// register of `SIZE / 4` rows of the frame that `registers` shows.
#[inline(always)]
unsafe fn transfer<W: Words, const STORE: bool, const SIZE: u64, const LEVEL: u8>(
    memory: W,
    registers: &mut Registers,
    slot: Slot,
    lanes: LaneMask,
    at: &[u64; WARP_SIZE],
    pattern: &Pattern,
) {
    let row = registers.words(slot);
    let words = (SIZE / 4) as usize;
    // SAFETY: all by the caller's promise: offsets are inside, and `row` has 32 elements of SIZE bytes.
    unsafe {
        match *pattern {
            Pattern::Unit(start) if lanes == FULL => {
                let index = (start >> 2) as usize;
                match (STORE, SIZE) {
                    (false, 4) => memory.copy_out::<LEVEL, 32>(index, row),
                    (false, _) => memory.copy_out::<LEVEL, 64>(index, row),
                    (true, 4) => memory.copy_in::<LEVEL, 32>(index, row),
                    (true, _) => memory.copy_in::<LEVEL, 64>(index, row),
                }
            }
            Pattern::Same(address) if !STORE => {
                let index = (address >> 2) as usize;
                if SIZE == 4 {
                    registers.write(slot, lanes, &[memory.get(index); WARP_SIZE]);
                } else {
                    let value = u64::from(memory.get(index)) | u64::from(memory.get(index + 1)) << 32;
                    registers.write(slot, lanes, &[value; WARP_SIZE]);
                }
            }
            Pattern::Halves(halves) if !STORE || halves.iter().all(|half| half.unit) => {
                for (at, half) in halves.iter().enumerate() {
                    let index = (half.first >> 2) as usize;
                    let row = row.add(at * HALF * words);
                    match (half.unit, STORE, SIZE) {
                        (true, false, 4) => memory.copy_out::<LEVEL, 16>(index, row),
                        (true, false, _) => memory.copy_out::<LEVEL, 32>(index, row),
                        (true, true, 4) => memory.copy_in::<LEVEL, 16>(index, row),
                        (true, true, _) => memory.copy_in::<LEVEL, 32>(index, row),
                        (false, ..) => {
                            for lane in 0..HALF {
                                for word in 0..words {
                                    *row.add(lane * words + word) = memory.get(index + word);
                                }
                            }
                        }
                    }
                }
            }
            _ if lanes == FULL => {
                for (lane, offset) in at.iter().enumerate() {
                    let index = (offset >> 2) as usize;
                    for word in 0..words {
                        let register = row.add(lane * words + word);
                        if STORE {
                            memory.set(index + word, *register);
                        } else {
                            *register = memory.get(index + word);
                        }
                    }
                }
            }
            _ => {
                let mut rest = lanes;
                while rest != 0 {
                    let lane = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let index = (at[lane] >> 2) as usize;
                    for word in 0..words {
                        let register = row.add(lane * words + word);
                        if STORE {
                            memory.set(index + word, *register);
                        } else {
                            *register = memory.get(index + word);
                        }
                    }
                }
            }
        }
    }
}

/// The lowest and highest address of a pattern over some lanes.
#[inline(always)]
fn bounds<const SIZE: u64>(pattern: &Pattern, lanes: LaneMask) -> (u64, u64) {
    match *pattern {
        Pattern::Unit(start) => {
            let first = u64::from(lanes.trailing_zeros());
            let last = u64::from(31 - lanes.leading_zeros());
            (start.wrapping_add(first * SIZE), start.wrapping_add(last * SIZE))
        }
        Pattern::Same(address) => (address, address),
        Pattern::Halves([a, b]) => {
            let last =
                |half: Half| half.first.wrapping_add(if half.unit { (HALF as u64 - 1) * SIZE } else { 0 });
            // Firsts count for the upper bound too: addresses may wrap around.
            (a.first.min(b.first), a.first.max(b.first).max(last(a)).max(last(b)))
        }
        Pattern::Scattered(low, high) => (low, high),
    }
}

#[inline(always)]
fn body<O: Observer, const STORE: bool, const SIZE: u64, const LEVEL: u8>(
    machine: &mut Machine<'_, '_, O>,
    registers: &mut Registers,
    at: &At<'_>,
) -> bool {
    let access = at.access;
    let offset = access.offset as u64;
    if let AccessSpace::Shared = access.space {
        let addresses: [u64; WARP_SIZE] = match access.address_rows {
            1 => {
                let base = registers.read::<u32>(access.address);
                std::array::from_fn(|lane| u64::from(base[lane].wrapping_add(offset as u32)))
            }
            0 => [offset; WARP_SIZE],
            _ => return false,
        };
        let Some(pattern) = pattern::<SIZE>(&addresses, at.lanes) else { return false };
        let (low, high) = bounds::<SIZE>(&pattern, at.lanes);
        let size = machine.cta.shared.len() as u64;
        if low < u64::from(window::SHARED_START) || high.saturating_add(SIZE) > size {
            return false;
        }
        machine.observe(Memory::Shared, *at, &addresses, pattern.shape());
        let memory = Private(machine.cta.shared.bytes_mut().as_mut_ptr().cast());
        // SAFETY: offsets were checked; shared memory starts at an aligned address; decoding set
        // `simple` only for registers of SIZE bytes.
        unsafe {
            transfer::<_, STORE, SIZE, LEVEL>(
                memory,
                registers,
                access.element.slot,
                at.lanes,
                &addresses,
                &pattern,
            );
        }
        return true;
    }
    let mut addresses = match access.address_rows {
        2 => registers.read::<u64>(access.address),
        _ => return false,
    };
    for address in &mut addresses {
        *address = address.wrapping_add(offset);
    }
    let Some(mut pattern) = pattern::<SIZE>(&addresses, at.lanes) else { return false };
    let (low, high) = bounds::<SIZE>(&pattern, at.lanes);
    let hint = machine.worker.hints[at.position as usize];
    let inside = low >= hint.base && high.wrapping_sub(hint.base).saturating_add(SIZE) <= hint.size;
    let fresh = !machine.worker.grid.memory.is_stale(&machine.worker.snapshot);
    if !inside || !fresh || low > high || STORE && !hint.writable {
        return false;
    }
    machine.observe(Memory::Global, *at, &addresses, pattern.shape());
    match &mut pattern {
        Pattern::Unit(start) | Pattern::Same(start) => *start = start.wrapping_sub(hint.base),
        Pattern::Halves(halves) => {
            for half in halves {
                half.first = half.first.wrapping_sub(hint.base);
            }
        }
        Pattern::Scattered(..) => {}
    }
    // Only lanes that are moved one by one need their own offsets.
    let together = match pattern {
        Pattern::Unit(_) => at.lanes == FULL,
        Pattern::Same(_) => !STORE,
        Pattern::Halves(halves) => !STORE || halves.iter().all(|half| half.unit),
        Pattern::Scattered(..) => false,
    };
    if !together {
        for address in &mut addresses {
            *address = address.wrapping_sub(hint.base);
        }
    }
    // SAFETY: offsets were checked against the hint, whose words the snapshot keeps alive.
    unsafe {
        transfer::<_, STORE, SIZE, LEVEL>(
            Shared(hint.words),
            registers,
            access.element.slot,
            at.lanes,
            &addresses,
            &pattern,
        );
    }
    true
}

/// What can take the fast way: decided once, when the instruction is decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Simple {
    /// Nothing.
    #[default]
    No,
    /// A scalar of 4 bytes into a register of 4.
    Four,
    /// A scalar of 8 bytes into a register of 8.
    Eight,
}

macro_rules! levels {
    ($($name:ident $level:expr, [$($feature:literal)?];)*) => {$(
        $(#[cfg(target_arch = "x86_64")] #[target_feature(enable = $feature)])?
        unsafe fn $name<O: Observer, const STORE: bool>(
            machine: &mut Machine<'_, '_, O>,
            registers: &mut Registers,
            at: &At<'_>,
        ) -> bool {
            match at.access.simple {
                Simple::Four => body::<O, STORE, 4, { $level as u8 }>(machine, registers, at),
                Simple::Eight => body::<O, STORE, 8, { $level as u8 }>(machine, registers, at),
                Simple::No => false,
            }
        }
    )*};
}

levels! {
    baseline SimdLevel::Baseline, [];
    avx2 SimdLevel::Avx2, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"];
    avx512 SimdLevel::Avx512, ["avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"];
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Does an access the fast way if it can; false if nothing was done.
    #[inline(always)]
    pub(super) fn fast<const STORE: bool>(&mut self, registers: &mut Registers, at: &At<'_>) -> bool {
        if at.access.simple == Simple::No {
            return false;
        }
        // SAFETY: the level is at most what this CPU was found to have.
        unsafe {
            match self.worker.grid.level {
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx512 => avx512::<O, STORE>(self, registers, at),
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx2 => avx2::<O, STORE>(self, registers, at),
                _ => baseline::<O, STORE>(self, registers, at),
            }
        }
    }
}
