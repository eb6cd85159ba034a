//! Atomics on one word a lane, straight on memory: in the block's shared memory, or in the allocation that the
//! same instruction accessed last. Everything else, and every fault, goes the general way in
//! [`crate::ops::atomic`]; both give the same results.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ptx_frontend::ScalarType as S;

use super::{Range, WARP_SIZE};
use crate::code::Simple;
use crate::code::{AccessSpace, Atomic, AtomicOp, RegisterSlot};
use crate::machine::Machine;
use crate::observer::Observer;
use crate::ops::at::At;
use crate::ops::atomic::combine;
#[cfg(target_arch = "x86_64")]
use semantics::lanes::SimdLevel;
use semantics::lanes::{FULL, LaneMask, Registers};

/// Where the lanes' words are, and what the operation takes and leaves.
#[derive(Clone, Copy)]
struct Work {
    lanes: LaneMask,
    /// The first of them.
    first: usize,
    /// There are several, all at one word.
    together: bool,
    /// No other thread accesses the words meanwhile.
    alone: bool,
    /// See [`combine`].
    global: bool,
    /// Rows of operands, and of the result if there is one.
    b: *const u32,
    c: *const u32,
    old: *mut u32,
}

/// The words of the lanes if all of those in `lanes` are inside `range`, and aligned; and whether they are one.
///
/// # Safety
/// The register must have 32 elements, of two words if `WIDE`.
#[inline(always)]
unsafe fn places<const WIDE: bool>(
    address: *const u32,
    offset: u64,
    range: Range,
    lanes: LaneMask,
) -> Option<([*mut u32; WARP_SIZE], bool)> {
    let most = range.size.checked_sub(4)?;
    let first = lanes.trailing_zeros() as usize & (WARP_SIZE - 1);
    let mut places = [std::ptr::null_mut(); WARP_SIZE];
    // 32-bit addresses are compared as such: half as many vectors. Shared memory is smaller than 4 GB.
    macro_rules! check {
        ($word:ty) => {{
            let (offset, base) = (offset as $word, range.base as $word);
            // SAFETY: the caller's promise.
            let own = unsafe { *address.cast::<[$word; WARP_SIZE]>() };
            let start = own[first];
            let (mut highest, mut bits, mut other) = (0, 0, 0);
            for lane in 0..WARP_SIZE {
                let own = if lanes >> lane & 1 != 0 { own[lane] } else { start };
                let place = own.wrapping_add(offset).wrapping_sub(base);
                highest = place.max(highest);
                bits |= own.wrapping_add(offset);
                other |= own ^ start;
                places[lane] = range.words.wrapping_byte_add(place as usize);
            }
            (highest as u64 <= most && bits & 3 == 0).then_some((places, other == 0))
        }};
    }
    if WIDE { check!(u64) } else { check!(u32) }
}

/// Replaces words by a function of them, of the first operand's and of the second's; keeps the old ones if
/// `RETURNS`.
///
/// # Safety
/// The places of `work.lanes` must be words that all threads access as atomics; `work` has rows of 32 words, and a
/// result if `RETURNS`.
#[inline(always)]
unsafe fn perform<const RETURNS: bool>(atomic: &Atomic, work: Work, places: &[*mut u32; WARP_SIZE]) {
    let Work { lanes, first, together, alone, global, b, c, old } = work;
    // Text, not closures: what is called per lane must be a part of its loop, with its variables in registers.
    macro_rules! each {
        ($lane:ident, $body:expr) => {
            if lanes == FULL {
                for $lane in 0..WARP_SIZE {
                    $body
                }
            } else {
                let mut rest = lanes;
                while rest != 0 {
                    let $lane = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    $body
                }
            }
        };
    }
    macro_rules! word {
        ($lane:expr) => {
            // SAFETY: the caller's promise.
            unsafe { AtomicU32::from_ptr(places[$lane]) }
        };
    }
    // A result may lie in the row of an operand: it is written once the lane's operands are used.
    macro_rules! keep {
        ($lane:expr, $value:expr) => {{
            let value = $value;
            if RETURNS {
                // SAFETY: the caller's promise.
                unsafe { *old.add($lane) = value };
            }
        }};
    }
    macro_rules! run {
        ($op:expr, $ty:expr, $instruction:expr) => {{
            let instruction: Option<&fn(&AtomicU32, u32) -> u32> = $instruction;
            macro_rules! new {
                ($old:expr, $lane:expr) => {{
                    // SAFETY: rows have 32 words.
                    let (b, c) = unsafe { (*b.add($lane), *c.add($lane)) };
                    combine($op, $ty, global, u64::from($old), b.into(), c.into()) as u32
                }};
            }
            // Tries `$new`, of what is there as `$now`, until nothing came between; the old value.
            macro_rules! exchange {
                ($word:expr, $now:ident, $new:expr) => {{
                    let mut $now = $word.load(Relaxed);
                    loop {
                        let new = $new;
                        match $word.compare_exchange_weak($now, new, Relaxed, Relaxed) {
                            Ok(_) => break $now,
                            Err(other) => $now = other,
                        }
                    }
                }};
            }
            if together && alone {
                let word = word!(first);
                let mut now = word.load(Relaxed);
                each!(lane, {
                    let new = new!(now, lane);
                    keep!(lane, now);
                    now = new;
                });
                word.store(now, Relaxed);
            } else if together {
                // Tried again and again: the operands stay until it is done.
                let mut found = [0; WARP_SIZE];
                let word = word!(first);
                exchange!(word, start, {
                    let mut now = start;
                    each!(lane, {
                        found[lane] = now;
                        now = new!(now, lane);
                    });
                    now
                });
                each!(lane, keep!(lane, found[lane]));
            } else if alone {
                each!(lane, {
                    let word = word!(lane);
                    let now = word.load(Relaxed);
                    word.store(new!(now, lane), Relaxed);
                    keep!(lane, now);
                });
            } else if let Some(instruction) = instruction {
                // SAFETY: rows have 32 words.
                each!(lane, keep!(lane, instruction(word!(lane), unsafe { *b.add(lane) })));
            } else {
                each!(lane, keep!(lane, exchange!(word!(lane), now, new!(now, lane))));
            }
        }};
    }
    // With the operation known, its loop is a few instructions.
    macro_rules! common {
        ($($op:ident $ty:ident $($instruction:ident)?),*) => {
            match (atomic.op, atomic.ty) {
                $((AtomicOp::$op, S::$ty) => {
                    let list: &[fn(&AtomicU32, u32) -> u32] =
                        &[$(|word, b| word.$instruction(b, Relaxed))?];
                    run!(AtomicOp::$op, S::$ty, list.first());
                })*
                (op, ty) => run!(op, ty, None),
            }
        };
    }
    common!(
        Add U32 fetch_add, Add S32 fetch_add, Add F32, Min U32, Min S32, Max U32, Max S32, And B32 fetch_and,
        Or B32 fetch_or, Xor B32 fetch_xor, Exch B32 swap, Cas B32, Inc U32
    );
}

/// Does it if all lanes are inside `range`.
///
/// # Safety
/// The CPU must have the level that this is compiled for; `range.words` must be valid for `range.size` bytes;
/// decoding set `simple` only for registers of one word.
#[inline(always)]
unsafe fn body(
    registers: &mut Registers,
    at: &At<'_>,
    atomic: &Atomic,
    slots: &[RegisterSlot],
    range: Range,
    alone: bool,
) -> bool {
    let (access, lanes) = (at.access, at.lanes);
    let address = registers.words(access.address);
    // Full warps have their own version of the check.
    macro_rules! places {
        ($wide:literal) => {
            // SAFETY: the register has 32 elements of so many words; none stands for a row of zeros.
            unsafe {
                if lanes == FULL {
                    places::<$wide>(address, access.offset as u64, range, FULL)
                } else {
                    places::<$wide>(address, access.offset as u64, range, lanes)
                }
            }
        };
    }
    let found = if access.address_rows == 2 { places!(true) } else { places!(false) };
    let Some((places, same)) = found else { return false };
    let together = same && lanes & (lanes - 1) != 0;
    // Sums of floating-point numbers on one cell have a shorter way.
    if together && atomic.ty == S::F32 {
        return false;
    }
    let slots = atomic.slots(slots);
    let b = registers.words(slots[1].slot);
    let work = Work {
        lanes,
        first: lanes.trailing_zeros() as usize & (WARP_SIZE - 1),
        together,
        alone,
        global: access.space != AccessSpace::Shared,
        b,
        c: slots.get(2).map_or(b, |slot| registers.words(slot.slot)),
        old: registers.words(slots[0].slot),
    };
    // SAFETY: the active lanes are inside, and aligned; registers have 32 words.
    unsafe {
        if slots[0].rows == 1 {
            perform::<true>(atomic, work, &places);
        } else {
            perform::<false>(atomic, work, &places);
        }
    }
    true
}

macro_rules! levels {
    ($($name:ident, [$($feature:literal)?];)*) => {$(
        $(#[cfg(target_arch = "x86_64")] #[target_feature(enable = $feature)])?
        unsafe fn $name(
            registers: &mut Registers,
            at: &At<'_>,
            atomic: &Atomic,
            slots: &[RegisterSlot],
            range: Range,
            alone: bool,
        ) -> bool {
            // SAFETY: the caller's: the CPU has the level.
            unsafe { body(registers, at, atomic, slots, range, alone) }
        }
    )*};
}

levels! {
    baseline, [];
    avx2, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"];
    avx512, ["avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"];
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Does an atomic the fast way if it can; false if nothing was done.
    #[inline(always)]
    pub(crate) fn fast_atomic(&mut self, registers: &mut Registers, at: &At<'_>, atomic: &Atomic) -> bool {
        // Tools are told more than this has.
        if O::ACTIVE || at.access.simple == Simple::No {
            return false;
        }
        let shared = at.access.space == AccessSpace::Shared;
        let range = if shared { Some(self.shared_range()) } else { self.hinted_range(at, true) };
        let Some(range) = range else { return false };
        let grid = self.worker.grid;
        let alone = shared || grid.exclusive;
        let slots = &grid.code.slots[..];
        // SAFETY: the level is at most what this CPU was found to have; a range is memory that lives.
        unsafe {
            match grid.level {
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx512 => avx512(registers, at, atomic, slots, range, alone),
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx2 => avx2(registers, at, atomic, slots, range, alone),
                _ => baseline(registers, at, atomic, slots, range, alone),
            }
        }
    }
}

const _: () = assert!(LaneMask::BITS as usize == WARP_SIZE);
