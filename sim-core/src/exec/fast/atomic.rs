//! Atomics on one word a lane, straight on memory: in the block's shared memory, or in the allocation that the
//! same instruction accessed last. Everything else, and every fault, goes the general way in
//! [`crate::exec::atomic`]; both give the same results.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ptx_frontend::ScalarType as S;

use super::{Range, Simple, WARP_SIZE, addresses_of};
use crate::code::{AccessSpace, Atomic, AtomicOp};
use crate::exec::access::{At, each_lane};
use crate::exec::atomic::combine;
use crate::exec::step::Machine;
#[cfg(target_arch = "x86_64")]
use crate::lanes::SimdLevel;
use crate::lanes::{LaneMask, Registers};
use crate::observer::Observer;

/// A word, and whether no other thread accesses it meanwhile.
#[derive(Clone, Copy)]
struct Cell<'a>(&'a AtomicU32, bool);

impl Cell<'_> {
    /// Replaces it by a function of it; the old value.
    #[inline(always)]
    fn update(self, mut new: impl FnMut(u32) -> u32) -> u32 {
        let Cell(word, alone) = self;
        let mut old = word.load(Relaxed);
        loop {
            let new = new(old);
            if alone {
                word.store(new, Relaxed);
                return old;
            }
            match word.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return old,
                Err(now) => old = now,
            }
        }
    }
}

/// # Safety
/// The CPU must have the level that this is compiled for; decoding set `simple` only for registers of one word.
#[inline(always)]
unsafe fn body<O: Observer>(
    machine: &mut Machine<'_, '_, O>,
    registers: &mut Registers,
    at: &At<'_>,
    atomic: &Atomic,
) -> bool {
    let (access, lanes) = (at.access, at.lanes);
    let grid = machine.worker.grid;
    let shared = access.space == AccessSpace::Shared;
    let range = if shared { Some(machine.shared_range()) } else { machine.hinted_range(at, true) };
    let Some(Range { base, size, words }) = range else { return false };
    let Some(most) = size.checked_sub(4) else { return false };
    let address = registers.words(access.address);
    // SAFETY: the register has 32 elements of so many words; none stands for a row of zeros.
    let mut offsets = unsafe {
        match access.address_rows {
            2 => addresses_of::<true>(address, access.offset as u64),
            _ => addresses_of::<false>(address, access.offset as u64),
        }
    };
    let first = lanes.trailing_zeros() as usize & (WARP_SIZE - 1);
    let start = offsets[first];
    let (mut bad, mut other) = (0, 0);
    for (lane, offset) in offsets.iter_mut().enumerate() {
        let active = 0u64.wrapping_sub(u64::from(lanes >> lane & 1));
        other |= (*offset ^ start) & active;
        let unaligned = *offset & 3;
        *offset = offset.wrapping_sub(base);
        bad |= (u64::from(*offset > most) | unaligned) & active;
    }
    // Sums of floating-point numbers on one cell have a shorter way.
    let together = other == 0 && lanes & (lanes - 1) != 0;
    if bad != 0 || together && atomic.ty == S::F32 {
        return false;
    }
    let alone = shared || grid.exclusive;
    let slots = atomic.slots(&grid.code.slots);
    let b = registers.words(slots[1].slot);
    let c = slots.get(2).map_or(b, |slot| registers.words(slot.slot));
    // SAFETY: registers have 32 words.
    let operand = |row: *mut u32, lane: usize| unsafe { *row.add(lane) };
    // SAFETY: the active lanes are inside, and aligned.
    let cell = |lane: usize| unsafe {
        Cell(AtomicU32::from_ptr(words.wrapping_byte_add(offsets[lane] as usize)), alone)
    };
    let mut old = [0u32; WARP_SIZE];
    // Text, not closures: what is called per lane must be a part of its loop.
    macro_rules! run {
        ($op:expr, $ty:expr, $instruction:expr) => {{
            let instruction: Option<&fn(&AtomicU32, u32) -> u32> = $instruction;
            macro_rules! new {
                ($old:expr, $lane:expr) => {{
                    let (b, c) = (operand(b, $lane).into(), operand(c, $lane).into());
                    combine($op, $ty, !shared, u64::from($old), b, c) as u32
                }};
            }
            if together {
                cell(first).update(|start| {
                    let mut now = start;
                    each_lane(lanes, |lane| {
                        old[lane] = now;
                        now = new!(now, lane);
                    });
                    now
                });
            } else if alone {
                each_lane(lanes, |lane| {
                    let word = cell(lane).0;
                    old[lane] = word.load(Relaxed);
                    word.store(new!(old[lane], lane), Relaxed);
                });
            } else if let Some(instruction) = instruction {
                each_lane(lanes, |lane| old[lane] = instruction(cell(lane).0, operand(b, lane)));
            } else {
                each_lane(lanes, |lane| old[lane] = cell(lane).update(|old| new!(old, lane)));
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
    if slots[0].rows == 1 {
        registers.write(slots[0].slot, lanes, &old);
    }
    true
}

macro_rules! levels {
    ($($name:ident, [$($feature:literal)?];)*) => {$(
        $(#[cfg(target_arch = "x86_64")] #[target_feature(enable = $feature)])?
        unsafe fn $name<O: Observer>(
            machine: &mut Machine<'_, '_, O>,
            registers: &mut Registers,
            at: &At<'_>,
            atomic: &Atomic,
        ) -> bool {
            // SAFETY: the caller's: the CPU has the level.
            unsafe { body(machine, registers, at, atomic) }
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
    pub(in crate::exec) fn fast_atomic(
        &mut self,
        registers: &mut Registers,
        at: &At<'_>,
        atomic: &Atomic,
    ) -> bool {
        // Observers are told more than this has.
        if O::ACTIVE || at.access.simple == Simple::No {
            return false;
        }
        // SAFETY: the level is at most what this CPU was found to have.
        unsafe {
            match self.worker.grid.level {
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx512 => avx512(self, registers, at, atomic),
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx2 => avx2(self, registers, at, atomic),
                _ => baseline(self, registers, at, atomic),
            }
        }
    }
}

const _: () = assert!(LaneMask::BITS as usize == WARP_SIZE);
