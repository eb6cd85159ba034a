//! What the shapes cannot leave to the compiler's vectoriser, for each SIMD level.

use super::{LaneMask, WARP_SIZE};

/// What the shapes cannot leave to the compiler's vectoriser.
pub trait Level {
    /// Bit `i` is the top bit of lane `i`.
    fn sign_mask(lanes: &[u32; WARP_SIZE]) -> LaneMask;

    /// Replaces the lanes of `mask` of a register of 1 or 2 rows.
    ///
    /// # Safety
    /// Both pointers must be valid for the words of so many rows.
    unsafe fn merge(to: *mut u32, from: *const u32, rows: u32, mask: LaneMask);

    /// The integer parts of numbers below 2^31; of others some number. `as` has limits that cost as much again as
    /// all else.
    fn truncate(numbers: &[f32; 16]) -> [i32; 16];
}

/// The target's own.
pub struct Baseline;

impl Level for Baseline {
    #[inline(always)]
    fn sign_mask(lanes: &[u32; WARP_SIZE]) -> LaneMask {
        lanes.iter().enumerate().fold(0, |mask, (at, lane)| mask | (lane >> 31) << at)
    }

    #[inline(always)]
    unsafe fn merge(to: *mut u32, from: *const u32, rows: u32, mask: LaneMask) {
        for at in 0..WARP_SIZE * rows as usize {
            let on = 0u32.wrapping_sub(mask >> (at / rows as usize) & 1);
            // SAFETY: the caller's.
            unsafe { *to.add(at) = *to.add(at) & !on | *from.add(at) & on };
        }
    }

    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    fn truncate(numbers: &[f32; 16]) -> [i32; 16] {
        use std::arch::x86_64::{_mm_cvttps_epi32, _mm_loadu_ps, _mm_storeu_si128};
        let mut integers = [0; 16];
        for at in [0, 4, 8, 12] {
            // SAFETY: SSE2 is part of the target; four from each of these on are within the arrays.
            unsafe {
                let part = _mm_cvttps_epi32(_mm_loadu_ps(numbers.as_ptr().add(at)));
                _mm_storeu_si128(integers.as_mut_ptr().add(at).cast(), part);
            }
        }
        integers
    }

    #[inline(always)]
    #[cfg(not(target_arch = "x86_64"))]
    fn truncate(numbers: &[f32; 16]) -> [i32; 16] {
        numbers.map(|number| number as i32)
    }
}

/// AVX2.
#[cfg(target_arch = "x86_64")]
pub struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    #[inline(always)]
    fn sign_mask(lanes: &[u32; WARP_SIZE]) -> LaneMask {
        use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_loadu_si256, _mm256_movemask_ps};
        let part = |at: usize| {
            // SAFETY: only code compiled for this level calls this; 8 lanes from 0, 8, 16 and 24 on
            // are within the array.
            unsafe {
                let lanes = _mm256_loadu_si256(lanes.as_ptr().add(at).cast());
                (_mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u32) << at
            }
        };
        part(0) | part(8) | part(16) | part(24)
    }

    #[inline(always)]
    unsafe fn merge(to: *mut u32, from: *const u32, rows: u32, mask: LaneMask) {
        use std::arch::x86_64::*;
        for part in 0..4 * rows {
            // The bit of each word's lane.
            let bits: [u32; 8] = std::array::from_fn(|word| 1 << ((8 * part + word as u32) / rows));
            // SAFETY: the caller's; only code compiled for this level calls this.
            unsafe {
                let at = 8 * part as usize;
                let bits = _mm256_loadu_si256(bits.as_ptr().cast());
                let on = _mm256_and_si256(_mm256_set1_epi32(mask as i32), bits);
                let on = _mm256_cmpeq_epi32(on, bits);
                let old = _mm256_loadu_si256(to.add(at).cast());
                let new = _mm256_loadu_si256(from.add(at).cast());
                _mm256_storeu_si256(to.add(at).cast(), _mm256_blendv_epi8(old, new, on));
            }
        }
    }

    #[inline(always)]
    fn truncate(numbers: &[f32; 16]) -> [i32; 16] {
        use std::arch::x86_64::{_mm256_cvttps_epi32, _mm256_loadu_ps, _mm256_storeu_si256};
        let mut integers = [0; 16];
        for at in [0, 8] {
            // SAFETY: only code compiled for this level calls this; eight from each of these on are within the arrays.
            unsafe {
                let part = _mm256_cvttps_epi32(_mm256_loadu_ps(numbers.as_ptr().add(at)));
                _mm256_storeu_si256(integers.as_mut_ptr().add(at).cast(), part);
            }
        }
        integers
    }
}

/// AVX-512.
#[cfg(target_arch = "x86_64")]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Level for Avx512 {
    #[inline(always)]
    fn sign_mask(lanes: &[u32; WARP_SIZE]) -> LaneMask {
        use std::arch::x86_64::{_mm512_loadu_si512, _mm512_movepi32_mask};
        let part = |at: usize| {
            // SAFETY: as for AVX2, with 16 lanes from 0 and 16 on.
            unsafe {
                let lanes = _mm512_loadu_si512(lanes.as_ptr().add(at).cast());
                u32::from(_mm512_movepi32_mask(lanes)) << at
            }
        };
        part(0) | part(16)
    }

    #[inline(always)]
    unsafe fn merge(to: *mut u32, from: *const u32, rows: u32, mask: LaneMask) {
        use std::arch::x86_64::*;
        for part in 0..2 * rows {
            // SAFETY: as for AVX2.
            unsafe {
                let at = 16 * part as usize;
                let old = _mm512_loadu_si512(to.add(at).cast());
                let new = _mm512_loadu_si512(from.add(at).cast());
                let merged = if rows == 1 {
                    _mm512_mask_mov_epi32(old, (mask >> (16 * part)) as u16, new)
                } else {
                    _mm512_mask_mov_epi64(old, (mask >> (8 * part)) as u8, new)
                };
                _mm512_storeu_si512(to.add(at).cast(), merged);
            }
        }
    }

    #[inline(always)]
    fn truncate(numbers: &[f32; 16]) -> [i32; 16] {
        use std::arch::x86_64::{_mm512_cvttps_epi32, _mm512_loadu_ps, _mm512_storeu_si512};
        let mut integers = [0; 16];
        // SAFETY: as for AVX2, with all sixteen.
        unsafe {
            let all = _mm512_cvttps_epi32(_mm512_loadu_ps(numbers.as_ptr()));
            _mm512_storeu_si512(integers.as_mut_ptr().cast(), all);
        }
        integers
    }
}
