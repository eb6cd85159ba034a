//! SIMD levels: what lane loops are compiled for and which of them runs.

use super::shapes::{run, run_rows};
use super::{LaneMask, LaneOp, Operands, Registers, RowOp, WARP_SIZE};

/// A lane operation compiled for one SIMD level.
///
/// # Safety
/// The CPU must support the level it was compiled for.
pub type LaneFn = unsafe fn(&mut Registers, &Operands, LaneMask);

/// A lane operation compiled for every SIMD level.
#[derive(Clone, Copy)]
pub struct LaneFns {
    levels: [LaneFn; 3],
}

impl std::fmt::Debug for LaneFns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LaneFns")
    }
}

impl LaneFns {
    /// The version for `level`.
    pub fn at(self, level: SimdLevel) -> LaneFn {
        self.levels[level as usize]
    }
}

/// Instruction set extensions that lane loops are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SimdLevel {
    /// What the target guarantees.
    Baseline,
    /// AVX2, FMA, F16C, BMI.
    Avx2,
    /// AVX-512 F, BW, DQ, VL, CD on top.
    Avx512,
}

impl SimdLevel {
    /// The best level of this CPU, or the one named by `WARPGRIND_SIMD` if the CPU has it.
    pub fn detect() -> SimdLevel {
        let best = Self::supported();
        let wanted = match std::env::var("WARPGRIND_SIMD").as_deref() {
            Ok("baseline") => SimdLevel::Baseline,
            Ok("avx2") => SimdLevel::Avx2,
            _ => best,
        };
        wanted.min(best)
    }

    #[cfg(target_arch = "x86_64")]
    fn supported() -> SimdLevel {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512cd");
        match (avx2, avx512) {
            (true, true) => SimdLevel::Avx512,
            (true, false) => SimdLevel::Avx2,
            _ => SimdLevel::Baseline,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn supported() -> SimdLevel {
        SimdLevel::Baseline
    }
}

/// What the shapes cannot leave to the compiler's vectoriser.
pub(super) trait Level {
    /// Bit `i` is the top bit of lane `i`.
    fn sign_mask(lanes: &[u32; WARP_SIZE]) -> LaneMask;

    /// Replaces the lanes of `mask` of a register of 1 or 2 rows.
    ///
    /// # Safety
    /// Both pointers must be valid for the words of so many rows.
    unsafe fn merge(to: *mut u32, from: *const u32, rows: u32, mask: LaneMask);
}

/// [`SimdLevel::Baseline`]
struct Baseline;

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
}

/// [`SimdLevel::Avx2`]
#[cfg(target_arch = "x86_64")]
struct Avx2;

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
}

/// [`SimdLevel::Avx512`]
#[cfg(target_arch = "x86_64")]
struct Avx512;

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
}

macro_rules! compile {
    ($($(#[$doc:meta])* $make:ident, $shape:ident, $run:ident;)*) => {
        impl LaneFns {
            $(
                $(#[$doc])*
                pub fn $make<O: $shape>() -> LaneFns {
                    // SAFETY (of the function pointers): no requirement beyond the level's features,
                    // which `LaneFns::at` callers establish by `SimdLevel::detect`.
                    unsafe fn baseline<O: $shape>(r: &mut Registers, o: &Operands, mask: LaneMask) {
                        $run::<O, Baseline>(r, o, mask);
                    }
                    #[cfg(target_arch = "x86_64")]
                    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
                    unsafe fn avx2<O: $shape>(r: &mut Registers, o: &Operands, mask: LaneMask) {
                        $run::<O, Avx2>(r, o, mask);
                    }
                    #[cfg(target_arch = "x86_64")]
                    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
                    unsafe fn avx512<O: $shape>(r: &mut Registers, o: &Operands, mask: LaneMask) {
                        $run::<O, Avx512>(r, o, mask);
                    }
                    #[cfg(target_arch = "x86_64")]
                    let levels = [baseline::<O> as LaneFn, avx2::<O>, avx512::<O>];
                    #[cfg(not(target_arch = "x86_64"))]
                    let levels = [baseline::<O> as LaneFn; 3];
                    LaneFns { levels }
                }
            )*
        }
    };
}

compile! {
    /// Compiles a function of one lane for every SIMD level.
    lanes, LaneOp, run;
    /// Compiles a function of whole rows for every SIMD level.
    rows, RowOp, run_rows;
}
