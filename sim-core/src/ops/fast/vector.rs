//! What the fast way needs of each SIMD level: comparing addresses with a pattern, and moving words
//! between memory and registers.
//!
//! Memory may be accessed by other threads at the same time, so no Rust access may be wider than a cell.
//! The vector moves are inline assembly: to Rust they are the accesses of an opaque program, word by word.
//! x86-64 vector accesses access aligned words and double words as single-copy atomic relaxed accesses would.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::memory::{load_double, store_double};
use semantics::lanes::{FULL, LaneMask, WARP_SIZE};

/// Lanes of half a warp. Blocks are often 16 threads wide, and a vector register holds 16 words.
pub(crate) const HALF: usize = WARP_SIZE / 2;

/// All lanes of a half.
pub(crate) const HALF_FULL: u16 = u16::MAX;

/// One SIMD level.
///
/// # Safety
/// Of all functions: the CPU must have the level; rows are valid for 32 elements.
pub(crate) trait Vectors {
    /// Lanes whose word is `start` of its half plus `STEP` times the lane's number in the half.
    unsafe fn equal32<const STEP: u64>(row: *const u32, start: [u32; 2]) -> LaneMask;

    /// The same for double words.
    unsafe fn equal64<const STEP: u64>(row: *const u64, start: [u64; 2]) -> LaneMask;

    /// Copies the elements, of `WORDS` words, of the lanes of half a warp.
    ///
    /// # Safety
    /// Both sides must be valid for the elements in `lanes`; others are not accessed.
    unsafe fn copy<const WORDS: usize>(from: *const u32, to: *mut u32, lanes: u16);

    /// Reads the element of `WORDS` words at each lane's byte offset into a row.
    ///
    /// # Safety
    /// Offsets of `lanes` must be inside `memory`; others are not accessed.
    unsafe fn gather<const WORDS: usize>(
        memory: *const u32,
        offsets: &[u64; WARP_SIZE],
        row: *mut u32,
        lanes: LaneMask,
    );
}

/// Calls `body` for each lane of a mask.
#[inline(always)]
pub(crate) fn each(mut lanes: u32, mut body: impl FnMut(usize)) {
    while lanes != 0 {
        body(lanes.trailing_zeros() as usize);
        lanes &= lanes - 1;
    }
}

/// Reads an element of `WORDS` words, at most two, that other threads may access, as one access.
///
/// # Safety
/// It must be inside a memory, and aligned.
#[inline(always)]
pub(crate) unsafe fn get<const WORDS: usize>(at: *const u32) -> u64 {
    // SAFETY: the caller's; all accesses of other threads are atomic too.
    unsafe {
        match WORDS {
            2 => load_double(at),
            _ => u64::from(AtomicU32::from_ptr(at.cast_mut()).load(Relaxed)),
        }
    }
}

/// Writes an element likewise.
///
/// # Safety
/// As for [`get`].
#[inline(always)]
pub(crate) unsafe fn set<const WORDS: usize>(at: *mut u32, value: u64) {
    // SAFETY: as in `get`.
    unsafe {
        match WORDS {
            2 => store_double(at, value),
            _ => AtomicU32::from_ptr(at).store(value as u32, Relaxed),
        }
    }
}

#[inline(always)]
unsafe fn gather_words<const WORDS: usize>(
    memory: *const u32,
    offsets: &[u64; WARP_SIZE],
    row: *mut u32,
    lanes: LaneMask,
) {
    each(lanes, |lane| {
        let from = memory.wrapping_byte_add(offsets[lane] as usize);
        // SAFETY: the caller's: active lanes are inside, the row has 32 elements.
        unsafe {
            let value = get::<WORDS>(from);
            match WORDS {
                2 => *row.cast::<u64>().add(lane) = value,
                _ => *row.add(lane) = value as u32,
            }
        }
    });
}

/// What every target can do.
pub(crate) struct Plain;

impl Vectors for Plain {
    #[inline(always)]
    unsafe fn equal32<const STEP: u64>(row: *const u32, start: [u32; 2]) -> LaneMask {
        // SAFETY: the row has 32 words.
        let row = unsafe { &*row.cast::<[u32; WARP_SIZE]>() };
        (0..WARP_SIZE).fold(0, |mask, lane| {
            let wanted = start[lane / HALF].wrapping_add((lane % HALF) as u32 * STEP as u32);
            mask | u32::from(row[lane] == wanted) << lane
        })
    }

    #[inline(always)]
    unsafe fn equal64<const STEP: u64>(row: *const u64, start: [u64; 2]) -> LaneMask {
        // SAFETY: the row has 32 double words.
        let row = unsafe { &*row.cast::<[u64; WARP_SIZE]>() };
        (0..WARP_SIZE).fold(0, |mask, lane| {
            let wanted = start[lane / HALF].wrapping_add((lane % HALF) as u64 * STEP);
            mask | u32::from(row[lane] == wanted) << lane
        })
    }

    #[inline(always)]
    unsafe fn copy<const WORDS: usize>(from: *const u32, to: *mut u32, lanes: u16) {
        let move_element = |lane: usize| {
            let (from, to) = (from.wrapping_add(lane * WORDS), to.wrapping_add(lane * WORDS));
            // SAFETY: the caller's.
            unsafe { set::<WORDS>(to, get::<WORDS>(from)) }
        };
        if lanes == HALF_FULL {
            (0..HALF).for_each(move_element);
        } else {
            each(lanes.into(), move_element);
        }
    }

    #[inline(always)]
    unsafe fn gather<const WORDS: usize>(
        memory: *const u32,
        offsets: &[u64; WARP_SIZE],
        row: *mut u32,
        lanes: LaneMask,
    ) {
        // SAFETY: the caller's.
        unsafe { gather_words::<WORDS>(memory, offsets, row, lanes) }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// 256-bit vectors.
    pub(crate) struct Avx2;

    impl Vectors for Avx2 {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn equal32<const STEP: u64>(row: *const u32, start: [u32; 2]) -> LaneMask {
            (0..4).fold(0, |mask, part| {
                let first = start[part / 2].wrapping_add((part % 2) as u32 * 8 * STEP as u32);
                // SAFETY: the row has 32 words; the CPU has the level.
                let equal = unsafe {
                    let steps = std::array::from_fn::<u32, 8, _>(|lane| lane as u32 * STEP as u32);
                    let steps = _mm256_loadu_si256(steps.as_ptr().cast());
                    let wanted = _mm256_add_epi32(_mm256_set1_epi32(first as i32), steps);
                    let found = _mm256_loadu_si256(row.add(8 * part).cast());
                    _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(found, wanted)))
                };
                mask | (equal as u32) << (8 * part)
            })
        }

        #[inline]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn equal64<const STEP: u64>(row: *const u64, start: [u64; 2]) -> LaneMask {
            (0..8).fold(0, |mask, part| {
                let first = start[part / 4].wrapping_add((part % 4) as u64 * 4 * STEP);
                // SAFETY: the row has 32 double words; the CPU has the level.
                let equal = unsafe {
                    let steps = std::array::from_fn::<u64, 4, _>(|lane| lane as u64 * STEP);
                    let steps = _mm256_loadu_si256(steps.as_ptr().cast());
                    let wanted = _mm256_add_epi64(_mm256_set1_epi64x(first as i64), steps);
                    let found = _mm256_loadu_si256(row.add(4 * part).cast());
                    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(found, wanted)))
                };
                mask | (equal as u32) << (4 * part)
            })
        }

        #[inline]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn copy<const WORDS: usize>(from: *const u32, to: *mut u32, lanes: u16) {
            for part in 0..2 * WORDS {
                let (from, to) = (from.wrapping_add(8 * part), to.wrapping_add(8 * part));
                if lanes == HALF_FULL {
                    // SAFETY: the caller's.
                    unsafe {
                        asm!(
                            "vmovdqu {x}, [{from}]",
                            "vmovdqu [{to}], {x}",
                            from = in(reg) from,
                            to = in(reg) to,
                            x = out(ymm_reg) _,
                            options(nostack, preserves_flags)
                        );
                    }
                    continue;
                }
                // Lanes as the sign bits of words, or of double words.
                // SAFETY: the CPU has the level.
                let mask = unsafe {
                    let bits = std::array::from_fn::<u32, 8, _>(|word| 1 << ((8 * part + word) / WORDS));
                    let bits = _mm256_loadu_si256(bits.as_ptr().cast());
                    let lanes = _mm256_set1_epi32(lanes.into());
                    _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bits), bits)
                };
                macro_rules! masked {
                    ($op:literal) => {
                        asm!(
                            concat!($op, " {x}, {mask}, [{from}]"),
                            concat!($op, " [{to}], {mask}, {x}"),
                            from = in(reg) from,
                            to = in(reg) to,
                            mask = in(ymm_reg) mask,
                            x = out(ymm_reg) _,
                            options(nostack, preserves_flags)
                        )
                    };
                }
                // SAFETY: the caller's; elements outside the mask are not accessed.
                unsafe {
                    match WORDS {
                        1 => masked!("vpmaskmovd"),
                        _ => masked!("vpmaskmovq"),
                    }
                }
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn gather<const WORDS: usize>(
            memory: *const u32,
            offsets: &[u64; WARP_SIZE],
            row: *mut u32,
            lanes: LaneMask,
        ) {
            // SAFETY: the caller's.
            unsafe { gather_words::<WORDS>(memory, offsets, row, lanes) }
        }
    }

    /// 512-bit vectors and masks.
    pub(crate) struct Avx512;

    impl Vectors for Avx512 {
        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
        )]
        unsafe fn equal32<const STEP: u64>(row: *const u32, start: [u32; 2]) -> LaneMask {
            (0..2).fold(0, |mask, half| {
                // SAFETY: the row has 32 words; the CPU has the level.
                let equal = unsafe {
                    let steps = std::array::from_fn::<u32, HALF, _>(|lane| lane as u32 * STEP as u32);
                    let steps = _mm512_loadu_si512(steps.as_ptr().cast());
                    let wanted = _mm512_add_epi32(_mm512_set1_epi32(start[half] as i32), steps);
                    _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(row.add(HALF * half).cast()), wanted)
                };
                mask | u32::from(equal) << (HALF * half)
            })
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
        )]
        unsafe fn equal64<const STEP: u64>(row: *const u64, start: [u64; 2]) -> LaneMask {
            (0..4).fold(0, |mask, part| {
                let first = start[part / 2].wrapping_add((part % 2) as u64 * 8 * STEP);
                // SAFETY: the row has 32 double words; the CPU has the level.
                let equal = unsafe {
                    let steps = std::array::from_fn::<u64, 8, _>(|lane| lane as u64 * STEP);
                    let steps = _mm512_loadu_si512(steps.as_ptr().cast());
                    let wanted = _mm512_add_epi64(_mm512_set1_epi64(first as i64), steps);
                    _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(row.add(8 * part).cast()), wanted)
                };
                mask | u32::from(equal) << (8 * part)
            })
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
        )]
        unsafe fn copy<const WORDS: usize>(from: *const u32, to: *mut u32, lanes: u16) {
            for part in 0..WORDS {
                let (from, to) = (from.wrapping_add(16 * part), to.wrapping_add(16 * part));
                if lanes == HALF_FULL {
                    // SAFETY: the caller's.
                    unsafe {
                        asm!(
                            "vmovdqu64 {x}, [{from}]",
                            "vmovdqu64 [{to}], {x}",
                            from = in(reg) from,
                            to = in(reg) to,
                            x = out(zmm_reg) _,
                            options(nostack, preserves_flags)
                        );
                    }
                } else if WORDS == 1 {
                    // SAFETY: the caller's; words outside the mask are not accessed.
                    unsafe {
                        asm!(
                            "vmovdqu32 {x}{{{mask}}}{{z}}, [{from}]",
                            "vmovdqu32 [{to}]{{{mask}}}, {x}",
                            from = in(reg) from,
                            to = in(reg) to,
                            mask = in(kreg) lanes,
                            x = out(zmm_reg) _,
                            options(nostack, preserves_flags)
                        );
                    }
                } else {
                    // SAFETY: as above.
                    unsafe {
                        asm!(
                            "vmovdqu64 {x}{{{mask}}}{{z}}, [{from}]",
                            "vmovdqu64 [{to}]{{{mask}}}, {x}",
                            from = in(reg) from,
                            to = in(reg) to,
                            mask = in(kreg) lanes >> (8 * part) & 0xff,
                            x = out(zmm_reg) _,
                            options(nostack, preserves_flags)
                        );
                    }
                }
            }
        }

        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"
        )]
        unsafe fn gather<const WORDS: usize>(
            memory: *const u32,
            offsets: &[u64; WARP_SIZE],
            row: *mut u32,
            lanes: LaneMask,
        ) {
            for part in 0..4 {
                let lanes = (lanes >> (8 * part) & 0xff) as u16;
                // SAFETY: the caller's; lanes outside the mask are not accessed and keep their value.
                unsafe {
                    let offsets = _mm512_loadu_si512(offsets.as_ptr().add(8 * part).cast());
                    let to = row.add(8 * part * WORDS);
                    if WORDS == 1 {
                        asm!(
                            "vmovdqu {x}, [{to}]",
                            "vpgatherqd {x}{{{mask}}}, [{memory} + {offsets}]",
                            "vmovdqu [{to}], {x}",
                            memory = in(reg) memory,
                            to = in(reg) to,
                            offsets = in(zmm_reg) offsets,
                            mask = inout(kreg) lanes => _,
                            x = out(ymm_reg) _,
                            options(nostack, preserves_flags)
                        );
                    } else {
                        asm!(
                            "vmovdqu64 {x}, [{to}]",
                            "vpgatherqq {x}{{{mask}}}, [{memory} + {offsets}]",
                            "vmovdqu64 [{to}], {x}",
                            memory = in(reg) memory,
                            to = in(reg) to,
                            offsets = in(zmm_reg) offsets,
                            mask = inout(kreg) lanes => _,
                            x = out(zmm_reg) _,
                            options(nostack, preserves_flags)
                        );
                    }
                }
            }
        }
    }
}

/// Writes one element to the lanes of a half.
///
/// # Safety
/// `row` is valid for 16 elements of `WORDS` words and aligned for them.
#[inline(always)]
pub(crate) unsafe fn splat<const WORDS: usize>(row: *mut u32, value: u64, lanes: u16) {
    // Whole arrays at a time, so that a later read of the row finds one write.
    // SAFETY: the caller's.
    unsafe {
        if WORDS == 1 {
            let row = row.cast::<[u32; HALF]>();
            let old = if lanes == HALF_FULL { [0; HALF] } else { *row };
            let mut new = [value as u32; HALF];
            for lane in 0..HALF {
                new[lane] = if lanes & 1 << lane != 0 { new[lane] } else { old[lane] };
            }
            *row = new;
        } else {
            let row = row.cast::<[u64; HALF]>();
            let old = if lanes == HALF_FULL { [0; HALF] } else { *row };
            let mut new = [value; HALF];
            for lane in 0..HALF {
                new[lane] = if lanes & 1 << lane != 0 { new[lane] } else { old[lane] };
            }
            *row = new;
        }
    }
}

/// Lanes of each half.
#[inline(always)]
pub(crate) const fn halves(lanes: LaneMask) -> [u16; 2] {
    [lanes as u16, (lanes >> HALF) as u16]
}

const _: () = assert!(FULL.count_ones() as usize == WARP_SIZE);
