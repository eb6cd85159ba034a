//! The common loads and stores, straight from memory to registers.
//!
//! One scalar of 4 or 8 bytes a lane, vectors of them, or an atomic on one word, at addresses that lie inside the allocation which the same
//! instruction accessed last, or inside the block's shared memory. Everything else, and every fault,
//! takes the general way in [`super::access`]; both give the same results.
//!
//! Rows are read and written as whole vectors here: a vector read of a row that was just written in
//! parts would wait until all parts have left the store buffer.

mod atomic;
mod vector;
mod whole;

use super::at::{Addresses, At};
use super::masks::each_lane;
use crate::code::{AccessSpace, Simple, Spread};
use crate::event::{Memory, Shape};
use crate::machine::Machine;
use crate::observer::Observer;
use crate::tools::{Event, Wants, WarpRanges};
use jit::Window;
#[cfg(target_arch = "x86_64")]
use semantics::lanes::SimdLevel;
use semantics::lanes::{FULL, LaneMask, Registers, WARP_SIZE};
use semantics::window;
#[cfg(target_arch = "x86_64")]
use vector::{Avx2, Avx512};
use vector::{HALF, HALF_FULL, Plain, Vectors, get, halves, set, splat};

/// How the active addresses of half a warp lie to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// Lane `i` at the first address plus `i` elements.
    Unit,
    /// All lanes at the first address.
    Same,
}

/// Finds the pattern of each half; `None` if one has neither. `equal` compares lanes with the pattern.
#[inline(always)]
fn patterns(lanes: LaneMask, unit: LaneMask, same: impl FnOnce() -> LaneMask) -> Option<[Pattern; 2]> {
    let unit = unit | !lanes;
    if unit == FULL {
        return Some([Pattern::Unit; 2]);
    }
    let same = same() | !lanes;
    let (unit, same) = (halves(unit), halves(same));
    let pattern = |half: usize| match (unit[half], same[half]) {
        (HALF_FULL, _) => Some(Pattern::Unit),
        (_, HALF_FULL) => Some(Pattern::Same),
        _ => None,
    };
    Some([pattern(0)?, pattern(1)?])
}

/// What tools are told of a warp's addresses.
#[inline(always)]
fn shape(lanes: LaneMask, patterns: [Pattern; 2]) -> Shape {
    let [a, b] = patterns.map(|pattern| pattern == Pattern::Unit);
    if lanes == FULL { Shape::Halves(a, b) } else { Shape::Any }
}

/// Memory that an access may touch.
#[derive(Clone, Copy)]
struct Range {
    base: u64,
    size: u64,
    words: *mut u32,
}

/// The address that an access with this address register and offset has.
#[inline(always)]
fn reach<const WIDE: bool>(address: u64, offset: u64) -> u64 {
    let address = address.wrapping_add(offset);
    if WIDE { address } else { u64::from(address as u32) }
}

/// The addresses of all lanes.
///
/// # Safety
/// The register must have 32 elements, of two words if `WIDE`.
#[inline(always)]
unsafe fn addresses_of<const WIDE: bool>(register: *const u32, offset: u64) -> Addresses {
    let mut addresses = [0; WARP_SIZE];
    for (lane, to) in addresses.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let own =
            unsafe { if WIDE { *register.cast::<u64>().add(lane) } else { u64::from(*register.add(lane)) } };
        *to = reach::<WIDE>(own, offset);
    }
    addresses
}

/// Does an access if it is inside `range`; false if nothing was done.
///
/// # Safety
/// The CPU must have the level; `range.words` must be valid for `range.size` bytes and aligned for
/// words; decoding set `simple` only for registers of `SIZE` bytes.
#[inline(always)]
unsafe fn transfer<
    O: Observer,
    V: Vectors,
    const STORE: bool,
    const SIZE: u64,
    const WORDS: usize,
    const WIDE: bool,
>(
    machine: &mut Machine<'_, '_, O>,
    registers: &mut Registers,
    at: &At<'_>,
    lanes: LaneMask,
    range: Range,
) -> bool {
    let access = at.access;
    let row = registers.words(access.element.slot);
    let offset = access.offset as u64;
    // Address 0 stands for none: decoding gave such an access a constant row of zeros.
    let address = registers.words(access.address);
    let parts = halves(lanes);
    // The first active lane of each half, its address, and what lane 0 of the half would have.
    let first =
        parts.map(|part| if part == HALF_FULL { 0 } else { part.trailing_zeros() as usize & (HALF - 1) });
    let own: [u64; 2] = std::array::from_fn(|half| {
        let lane = HALF * half + first[half];
        // SAFETY: the lane is below 32, the address register has `WIDE` words a lane.
        unsafe { if WIDE { *address.cast::<u64>().add(lane) } else { u64::from(*address.add(lane)) } }
    });
    let start: [u64; 2] = std::array::from_fn(|half| own[half].wrapping_sub(first[half] as u64 * SIZE));
    // SAFETY: rows have 32 elements; the level is the caller's promise.
    let (unit, same) = unsafe {
        let uniform = !STORE && access.spread == Spread::Uniform;
        let unit = if uniform {
            0
        } else if WIDE {
            V::equal64::<SIZE>(address.cast(), start)
        } else {
            V::equal32::<SIZE>(address, start.map(|start| start as u32))
        };
        let same = move || {
            if uniform {
                FULL
            } else if WIDE {
                V::equal64::<0>(address.cast(), own)
            } else {
                V::equal32::<0>(address, own.map(|own| own as u32))
            }
        };
        (unit, same)
    };
    let place = |address: u64| reach::<WIDE>(address, offset).wrapping_sub(range.base);
    // SAFETY: the address register has 32 elements.
    let all = || unsafe { addresses_of::<WIDE>(address, offset) };
    let memory = if WIDE { Memory::Global } else { Memory::Shared };
    if let Some(patterns) = patterns(lanes, unit, same)
        && (!STORE || patterns == [Pattern::Unit; 2])
    {
        let own = own.map(place);
        let mut fine = true;
        for half in 0..2 {
            let count = match patterns[half] {
                Pattern::Unit if parts[half] == HALF_FULL => HALF as u64,
                Pattern::Unit => {
                    u64::from(16 - parts[half].leading_zeros()).saturating_sub(first[half] as u64)
                }
                Pattern::Same => 1,
            };
            let inside = range.size >= count * SIZE && own[half] <= range.size - count * SIZE;
            // Memory of the host need not begin at a multiple of the size.
            let aligned = own[half].wrapping_add(range.base) & (SIZE - 1) == 0;
            fine &= inside && aligned || parts[half] == 0;
        }
        if !fine {
            return false;
        }
        if machine.wants(Wants::ACCESSES) {
            let shape = shape(lanes, patterns);
            if matches!(shape, Shape::Halves(..)) && machine.worker.observer.ranges_suffice() {
                let ranges = WarpRanges {
                    memory,
                    kind: at.direction.kind(),
                    bytes: at.access.bytes(),
                    starts: own.map(|offset| offset.wrapping_add(range.base)),
                    consecutive: patterns.map(|pattern| pattern == Pattern::Unit),
                    position: at.position,
                    warp: machine.warp_id(),
                };
                machine.tell(Wants::ACCESSES, at.frame, &Event::Ranges(&ranges));
            } else {
                // SAFETY: as above. Not by the closure, which is not compiled for the level.
                let addresses = unsafe { addresses_of::<WIDE>(address, offset) };
                machine.observe(memory, *at, &addresses, shape);
            }
        }
        for half in 0..2 {
            let lanes = parts[half];
            let row = row.wrapping_add(HALF * WORDS * half);
            let memory = range.words.wrapping_byte_add(own[half] as usize);
            // SAFETY: the active lanes were found inside; the row has 32 elements.
            unsafe {
                match patterns[half] {
                    Pattern::Unit => {
                        let memory = memory.wrapping_sub(first[half] * WORDS);
                        if STORE {
                            V::copy::<WORDS>(row, memory, lanes);
                        } else {
                            V::copy::<WORDS>(memory, row, lanes);
                        }
                    }
                    Pattern::Same => {
                        splat::<WORDS>(row, get::<WORDS>(memory), lanes);
                    }
                }
            }
        }
        return true;
    }
    let mut offsets = all();
    for offset in &mut offsets {
        *offset = offset.wrapping_sub(range.base);
    }
    let Some(most) = range.size.checked_sub(SIZE) else { return false };
    let mut bad = 0;
    for (lane, &offset) in offsets.iter().enumerate() {
        let aligned = offset.wrapping_add(range.base) & (SIZE - 1) == 0;
        bad |= u32::from(offset > most || !aligned) << lane;
    }
    if bad & lanes != 0 {
        return false;
    }
    if machine.wants(Wants::ACCESSES) {
        machine.observe(memory, *at, &all(), Shape::Any);
    }
    // SAFETY: the active lanes are inside.
    unsafe {
        if !STORE {
            V::gather::<WORDS>(range.words, &offsets, row, lanes);
            return true;
        }
        // In order of lanes: the last of those at one address wins.
        each_lane(lanes, |lane| {
            let to = range.words.wrapping_byte_add(offsets[lane] as usize);
            let value = match WORDS {
                2 => *row.cast::<u64>().add(lane),
                _ => u64::from(*row.add(lane)),
            };
            set::<WORDS>(to, value);
        });
    }
    true
}

/// # Safety
/// The CPU must have the level.
#[inline(always)]
unsafe fn body<O: Observer, V: Vectors, const STORE: bool, const SIZE: u64, const WORDS: usize>(
    machine: &mut Machine<'_, '_, O>,
    registers: &mut Registers,
    at: &At<'_>,
) -> bool {
    let access = at.access;
    // Full warps have their own version of the code.
    macro_rules! transfer {
        ($wide:literal, $range:expr) => {
            // SAFETY: see where the range is made; the rest is the caller's promise.
            unsafe {
                if at.lanes == FULL {
                    transfer::<O, V, STORE, SIZE, WORDS, $wide>(machine, registers, at, FULL, $range)
                } else {
                    transfer::<O, V, STORE, SIZE, WORDS, $wide>(machine, registers, at, at.lanes, $range)
                }
            }
        };
    }
    let range = match (access.space, access.address_rows) {
        // Tools would take it for global memory.
        (AccessSpace::Shared, 2) if O::ACTIVE => return false,
        (AccessSpace::Shared, 2) => machine.shared_range(),
        (AccessSpace::Shared, _) => {
            let range = machine.shared_range();
            return transfer!(false, range);
        }
        _ => match machine.hinted_range(at, STORE) {
            Some(range) => range,
            None => return false,
        },
    };
    transfer!(true, range)
}

macro_rules! levels {
    ($($scalar:ident $vector:ident $level:ty, [$($feature:literal)?];)*) => {$(
        $(#[cfg(target_arch = "x86_64")] #[target_feature(enable = $feature)])?
        unsafe fn $scalar<O: Observer, const STORE: bool>(
            machine: &mut Machine<'_, '_, O>,
            registers: &mut Registers,
            at: &At<'_>,
        ) -> bool {
            // SAFETY: the caller's: the CPU has the level.
            unsafe {
                match at.access.simple {
                    Simple::Four => body::<O, $level, STORE, 4, 1>(machine, registers, at),
                    _ => body::<O, $level, STORE, 8, 2>(machine, registers, at),
                }
            }
        }

        // Apart from scalars, which should not pay for its stack.
        #[inline(never)]
        $(#[cfg(target_arch = "x86_64")] #[target_feature(enable = $feature)])?
        unsafe fn $vector<O: Observer, const STORE: bool>(
            machine: &mut Machine<'_, '_, O>,
            registers: &mut Registers,
            at: &At<'_>,
        ) -> bool {
            // SAFETY: as above.
            unsafe {
                match at.access.simple {
                    Simple::TwoFours => whole::body::<O, STORE, 1, 2>(machine, registers, at),
                    Simple::FourFours => whole::body::<O, STORE, 1, 4>(machine, registers, at),
                    _ => whole::body::<O, STORE, 2, 2>(machine, registers, at),
                }
            }
        }
    )*};
}

levels! {
    baseline baseline_vectors Plain, [];
    avx2 avx2_vectors Avx2, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"];
    avx512 avx512_vectors Avx512, ["avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"];
}

impl<O: Observer> Machine<'_, '_, O> {
    /// The block's shared memory, as far as a program may use it.
    #[inline(always)]
    fn shared_range(&mut self) -> Range {
        // Where code tells blocks apart, a block's variables have its rank in their addresses. Tools are told offsets.
        let ranked = !O::ACTIVE && self.worker.grid.code.clustered;
        let part = if ranked { self.own_part() } else { 0 };
        let shared = &mut self.cta.shared;
        let start = u64::from(window::SHARED_START);
        let size = (shared.len() as u64).saturating_sub(start);
        // Shared memory starts at an aligned address.
        let words = shared.bytes_mut().as_mut_ptr().cast::<u32>().wrapping_byte_add(start as usize);
        Range { base: part + start, size, words }
    }

    /// The same for compiled code.
    pub(crate) fn shared_window(&mut self) -> Window {
        let Range { base, size, words } = self.shared_range();
        Window { base, size, words, writable: true }
    }

    /// The allocation that an instruction with a 64-bit address accessed last, if it may access it still.
    #[inline(always)]
    fn hinted_range(&self, at: &At<'_>, writes: bool) -> Option<Range> {
        let hint = &self.worker.hints[at.position as usize];
        let fresh = !self.worker.grid.memory.is_stale(&self.worker.snapshot);
        if !fresh || at.access.address_rows != 2 || writes && !hint.writable {
            return None;
        }
        // The snapshot keeps the words of the hint alive.
        Some(Range { base: hint.base, size: hint.size, words: hint.words.cast_mut().cast() })
    }

    /// Does an access the fast way if it can; false if nothing was done.
    #[inline(always)]
    pub(crate) fn fast<const STORE: bool>(&mut self, registers: &mut Registers, at: &At<'_>) -> bool {
        macro_rules! at_level {
            ($baseline:ident $avx2:ident $avx512:ident) => {
                // SAFETY: the level is at most what this CPU was found to have.
                unsafe {
                    match self.worker.grid.level {
                        #[cfg(target_arch = "x86_64")]
                        SimdLevel::Avx512 => $avx512::<O, STORE>(self, registers, at),
                        #[cfg(target_arch = "x86_64")]
                        SimdLevel::Avx2 => $avx2::<O, STORE>(self, registers, at),
                        _ => $baseline::<O, STORE>(self, registers, at),
                    }
                }
            };
        }
        match at.access.simple {
            Simple::No => false,
            Simple::Four | Simple::Eight => at_level!(baseline avx2 avx512),
            _ => at_level!(baseline_vectors avx2_vectors avx512_vectors),
        }
    }
}
