//! SIMD levels: what lane loops are compiled for and which of them runs.

use std::sync::OnceLock;

use super::shapes::{run, run_rows};
use super::simd::Baseline;
#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512};
use super::{LaneMask, LaneOp, Operands, Registers, RowOp};

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

/// Work on rows that is compiled for every SIMD level: `run` is to be inlined.
pub trait AtLevel {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run(self) -> Self::Output;
}

/// # Safety
/// No requirement.
unsafe fn baseline<W: AtLevel>(work: W) -> W::Output {
    work.run()
}

/// # Safety
/// The CPU must have the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2<W: AtLevel>(work: W) -> W::Output {
    work.run()
}

/// # Safety
/// The CPU must have the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx512<W: AtLevel>(work: W) -> W::Output {
    work.run()
}

impl SimdLevel {
    /// Does work as compiled for this level, or for what the CPU has of it.
    #[inline]
    pub fn run<W: AtLevel>(self, work: W) -> W::Output {
        static SUPPORTED: OnceLock<SimdLevel> = OnceLock::new();
        // SAFETY: the CPU has the level.
        unsafe {
            match self.min(*SUPPORTED.get_or_init(Self::supported)) {
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx512 => avx512(work),
                #[cfg(target_arch = "x86_64")]
                SimdLevel::Avx2 => avx2(work),
                _ => baseline(work),
            }
        }
    }

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
