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

    /// A bit for each number above a limit.
    #[inline(always)]
    fn above(numbers: &[u32; 16], limit: u32) -> u32 {
        numbers.iter().enumerate().fold(0, |all, (at, &number)| all | u32::from(number > limit) << at)
    }

    /// Integers below 2^31 - 64 as `.f32`, toward zero.
    #[inline(always)]
    fn toward_zero(integers: &[i32; 16]) -> [f32; 16] {
        let mut numbers = [0.0; 16];
        for at in 0..16 {
            numbers[at] = integers[at].unsigned_abs() as i32 as f32;
        }
        let back = Self::truncate(&numbers);
        for at in 0..16 {
            let above = u32::from(back[at] as u32 > integers[at].unsigned_abs());
            let sign = integers[at] as u32 & 0x8000_0000;
            numbers[at] = f32::from_bits(numbers[at].to_bits().wrapping_sub(above) | sign);
        }
        numbers
    }

    /// The low halves of words, as `.f16`, in `.f32`.
    #[inline(always)]
    fn of_halves(words: &[u32; 16]) -> [f32; 16] {
        let mut numbers = [0.0; 16];
        for (number, word) in numbers.iter_mut().zip(words) {
            let magnitude = word & 0x7fff;
            // Of integers: a processor takes long for subnormal numbers.
            let subnormal = (magnitude as i32 as f32 * f32::from_bits((127 - 24) << 23)).to_bits();
            let normal = (magnitude << 13) + ((127 - 15) << 23);
            let special = if magnitude < 0x7c00 { normal } else { normal | 0x7f80_0000 };
            let bits = if magnitude < 0x400 { subnormal } else { special };
            *number = f32::from_bits(bits | word << 16 & 0x8000_0000);
        }
        numbers
    }

    /// The larger number of each pair.
    #[inline(always)]
    fn larger(pairs: &[i16; 32]) -> [i32; 16] {
        let mut larger = [0; 16];
        for at in 0..16 {
            larger[at] = i32::from(pairs[2 * at].max(pairs[2 * at + 1]));
        }
        larger
    }

    /// A register as four words of eight columns: lane `4n + t` is word `t` of column `n`.
    #[inline(always)]
    fn words(register: &[u32; WARP_SIZE]) -> [[u32; 8]; 4] {
        std::array::from_fn(|t| std::array::from_fn(|n| register[4 * n + t]))
    }

    /// Two registers as four columns of 16 rows: lane `4g + t` is in column `t`, of the first register in row `g`, of
    /// the second in row `8 + g`.
    #[inline(always)]
    fn columns(registers: [&[u32; WARP_SIZE]; 2]) -> [[u32; 16]; 4] {
        let mut columns = [[0; 16]; 4];
        for (t, column) in columns.iter_mut().enumerate() {
            for g in 0..8 {
                column[g] = registers[0][4 * g + t];
                column[8 + g] = registers[1][4 * g + t];
            }
        }
        columns
    }

    /// The inverse of [`Level::columns`].
    #[inline(always)]
    fn registers(columns: [&[u32; 16]; 4]) -> [[u32; WARP_SIZE]; 2] {
        let mut registers = [[0; WARP_SIZE]; 2];
        for (t, column) in columns.iter().enumerate() {
            for g in 0..8 {
                registers[0][4 * g + t] = column[g];
                registers[1][4 * g + t] = column[8 + g];
            }
        }
        registers
    }
}

/// The halves of words, the low one of each first.
#[inline(always)]
pub fn halves(words: &[u32; 16]) -> [u16; 32] {
    // SAFETY: both are 64 bytes of numbers, and of any bits.
    let halves: [u16; 32] = unsafe { std::mem::transmute(*words) };
    if cfg!(target_endian = "big") { std::array::from_fn(|at| halves[at ^ 1]) } else { halves }
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

    #[inline(always)]
    fn above(numbers: &[u32; 16], limit: u32) -> u32 {
        use std::arch::x86_64::{
            _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_min_epu32,
            _mm256_movemask_ps, _mm256_set1_epi32,
        };
        let part = |at: usize| {
            // SAFETY: as for `truncate`.
            unsafe {
                let numbers = _mm256_loadu_si256(numbers.as_ptr().add(at).cast());
                let least = _mm256_min_epu32(numbers, _mm256_set1_epi32(limit as i32));
                let within = _mm256_castsi256_ps(_mm256_cmpeq_epi32(least, numbers));
                (!_mm256_movemask_ps(within) as u32 & 0xff) << at
            }
        };
        part(0) | part(8)
    }

    #[inline(always)]
    fn larger(pairs: &[i16; 32]) -> [i32; 16] {
        use std::arch::x86_64::{
            _mm256_loadu_si256, _mm256_max_epi32, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_storeu_si256,
        };
        let mut larger = [0i32; 16];
        for at in [0, 8] {
            // SAFETY: as for `truncate`.
            unsafe {
                let pairs = _mm256_loadu_si256(pairs.as_ptr().add(2 * at).cast());
                let low = _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(pairs));
                let part = _mm256_max_epi32(low, _mm256_srai_epi32::<16>(pairs));
                _mm256_storeu_si256(larger.as_mut_ptr().add(at).cast(), part);
            }
        }
        larger
    }

    #[inline(always)]
    fn of_halves(words: &[u32; 16]) -> [f32; 16] {
        use std::arch::x86_64::{
            _mm256_and_si256, _mm256_castsi256_si128, _mm256_cvtph_ps, _mm256_extracti128_si256,
            _mm256_loadu_si256, _mm256_packus_epi32, _mm256_permute4x64_epi64, _mm256_set1_epi32,
            _mm256_storeu_ps,
        };
        let mut numbers = [0.0; 16];
        // SAFETY: as for `truncate`.
        unsafe {
            let low = |at| {
                let words = _mm256_loadu_si256(words.as_ptr().add(at).cast());
                _mm256_and_si256(words, _mm256_set1_epi32(0xffff))
            };
            let halves = _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi32(low(0), low(8)));
            _mm256_storeu_ps(numbers.as_mut_ptr(), _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
            let high = _mm256_extracti128_si256::<1>(halves);
            _mm256_storeu_ps(numbers.as_mut_ptr().add(8), _mm256_cvtph_ps(high));
        }
        numbers
    }
}

/// Lanes `4n` and `4n + 1`, and the others, side by side.
#[cfg(target_arch = "x86_64")]
const PAIRS: [[u32; 16]; 2] = [
    [0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29],
    [2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31],
];

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

    #[inline(always)]
    fn above(numbers: &[u32; 16], limit: u32) -> u32 {
        use std::arch::x86_64::{_mm512_cmpgt_epu32_mask, _mm512_loadu_si512, _mm512_set1_epi32};
        // SAFETY: as for `truncate`.
        unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            _mm512_cmpgt_epu32_mask(numbers, _mm512_set1_epi32(limit as i32)).into()
        }
    }

    #[inline(always)]
    fn toward_zero(integers: &[i32; 16]) -> [f32; 16] {
        use std::arch::x86_64::{
            _MM_FROUND_NO_EXC, _MM_FROUND_TO_ZERO, _mm512_cvt_roundepi32_ps, _mm512_loadu_si512,
            _mm512_storeu_ps,
        };
        let mut numbers = [0.0; 16];
        // SAFETY: as for `truncate`.
        unsafe {
            let integers = _mm512_loadu_si512(integers.as_ptr().cast());
            let all = _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(integers);
            _mm512_storeu_ps(numbers.as_mut_ptr(), all);
        }
        numbers
    }

    #[inline(always)]
    fn larger(pairs: &[i16; 32]) -> [i32; 16] {
        use std::arch::x86_64::{
            _mm512_loadu_si512, _mm512_max_epi32, _mm512_slli_epi32, _mm512_srai_epi32, _mm512_storeu_si512,
        };
        let mut larger = [0i32; 16];
        // SAFETY: as for `truncate`.
        unsafe {
            let pairs = _mm512_loadu_si512(pairs.as_ptr().cast());
            let low = _mm512_srai_epi32::<16>(_mm512_slli_epi32::<16>(pairs));
            let all = _mm512_max_epi32(low, _mm512_srai_epi32::<16>(pairs));
            _mm512_storeu_si512(larger.as_mut_ptr().cast(), all);
        }
        larger
    }

    #[inline(always)]
    fn of_halves(words: &[u32; 16]) -> [f32; 16] {
        use std::arch::x86_64::{
            _mm512_cvtepi32_epi16, _mm512_cvtph_ps, _mm512_loadu_si512, _mm512_storeu_ps,
        };
        let mut numbers = [0.0; 16];
        // SAFETY: as for `truncate`.
        unsafe {
            let halves = _mm512_cvtepi32_epi16(_mm512_loadu_si512(words.as_ptr().cast()));
            _mm512_storeu_ps(numbers.as_mut_ptr(), _mm512_cvtph_ps(halves));
        }
        numbers
    }

    #[inline(always)]
    fn words(register: &[u32; WARP_SIZE]) -> [[u32; 8]; 4] {
        use std::arch::x86_64::{_mm512_loadu_si512, _mm512_permutex2var_epi32, _mm512_storeu_si512};
        let mut words = [[0; 8]; 4];
        for (pair, order) in PAIRS.iter().enumerate() {
            // SAFETY: as for `columns`; two words from 0 and 2 on are sixteen numbers.
            unsafe {
                let order = _mm512_loadu_si512(order.as_ptr().cast());
                let first = _mm512_loadu_si512(register.as_ptr().cast());
                let second = _mm512_loadu_si512(register.as_ptr().add(16).cast());
                let both = _mm512_permutex2var_epi32(first, order, second);
                _mm512_storeu_si512(words.as_mut_ptr().add(2 * pair).cast(), both);
            }
        }
        words
    }

    #[inline(always)]
    fn columns(registers: [&[u32; WARP_SIZE]; 2]) -> [[u32; 16]; 4] {
        use std::arch::x86_64::{
            _mm512_loadu_si512, _mm512_permutex2var_epi32, _mm512_shuffle_i64x2, _mm512_storeu_si512,
        };
        let mut columns = [[0u32; 16]; 4];
        for (pair, order) in PAIRS.iter().enumerate() {
            // SAFETY: only code compiled for this level calls this; sixteen from 0 and 16 on are within the registers,
            // and columns have sixteen.
            unsafe {
                let order = _mm512_loadu_si512(order.as_ptr().cast());
                let lanes = |register: &[u32; WARP_SIZE]| {
                    let first = _mm512_loadu_si512(register.as_ptr().cast());
                    let second = _mm512_loadu_si512(register.as_ptr().add(16).cast());
                    _mm512_permutex2var_epi32(first, order, second)
                };
                // No `map`: it is not always inlined, and then not compiled for the level.
                let (first, second) = (lanes(registers[0]), lanes(registers[1]));
                let even = _mm512_shuffle_i64x2::<0x44>(first, second);
                let odd = _mm512_shuffle_i64x2::<0xee>(first, second);
                _mm512_storeu_si512(columns[2 * pair].as_mut_ptr().cast(), even);
                _mm512_storeu_si512(columns[2 * pair + 1].as_mut_ptr().cast(), odd);
            }
        }
        columns
    }

    #[inline(always)]
    fn registers(columns: [&[u32; 16]; 4]) -> [[u32; WARP_SIZE]; 2] {
        use std::arch::x86_64::{
            _mm512_loadu_si512, _mm512_permutex2var_epi32, _mm512_shuffle_i64x2, _mm512_storeu_si512,
        };
        const PARTS: [[u32; 16]; 2] = [
            [0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27],
            [4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31],
        ];
        let mut registers = [[0u32; WARP_SIZE]; 2];
        // SAFETY: as for `columns`.
        unsafe {
            let column = |at: usize| _mm512_loadu_si512(columns[at].as_ptr().cast());
            let halves = [
                [
                    _mm512_shuffle_i64x2::<0x44>(column(0), column(1)),
                    _mm512_shuffle_i64x2::<0x44>(column(2), column(3)),
                ],
                [
                    _mm512_shuffle_i64x2::<0xee>(column(0), column(1)),
                    _mm512_shuffle_i64x2::<0xee>(column(2), column(3)),
                ],
            ];
            for (register, half) in registers.iter_mut().zip(halves) {
                for (part, order) in PARTS.iter().enumerate() {
                    let order = _mm512_loadu_si512(order.as_ptr().cast());
                    let lanes = _mm512_permutex2var_epi32(half[0], order, half[1]);
                    _mm512_storeu_si512(register.as_mut_ptr().add(16 * part).cast(), lanes);
                }
            }
        }
        registers
    }
}
