//! Lane operations: one warp instruction over 32 lanes of registers.
//!
//! Registers are rows of 32 words: a 32-bit (or narrower) register is one row, a 64-bit one two
//! rows read as `[u64; 32]`, a 128-bit one four rows read as `[u128; 32]`. Predicates are lane
//! masks. A semantic function is a pure function of one lane; the *shapes* here turn it into a
//! loop over lanes, compiled for several SIMD levels, one of which is chosen at run time.
//!
//! Invariants: bits of a word above a narrow value are unspecified and never read; lanes outside
//! the mask keep their value; semantics never see whether other lanes are active.

mod shapes;

pub(crate) use shapes::combine;
pub use shapes::{Lane, Map1, Map2, Map3, MapRows, Test2};
pub(crate) use shapes::{map_rows, map1, map2, map3, test2};

/// One bit a lane.
pub type LaneMask = u32;

/// All 32 lanes.
pub const FULL: LaneMask = u32::MAX;

/// Lanes of a warp.
pub const WARP_SIZE: usize = 32;

/// 32 words, one a lane.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct Row(pub [u32; WARP_SIZE]);

impl Row {
    /// All lanes zero.
    pub const ZERO: Row = Row([0; WARP_SIZE]);

    /// The same word in all lanes.
    pub const fn splat(value: u32) -> Row {
        Row([value; WARP_SIZE])
    }
}

/// Where the lanes of an operand live. Bits 31:30 choose the base, the rest is a row index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(u32);

impl Slot {
    const INDEX: u32 = (1 << 30) - 1;

    /// A row of the current call frame.
    pub const fn frame(row: u32) -> Slot {
        Slot(row)
    }

    /// A row of the warp that no frame moves: special registers.
    pub const fn warp(row: u32) -> Slot {
        Slot(row | 1 << 30)
    }

    /// A row shared by all warps of a launch: constants and kernel parameters.
    pub const fn constant(row: u32) -> Slot {
        Slot(row | 2 << 30)
    }

    /// The row index.
    pub const fn row(self) -> u32 {
        self.0 & Self::INDEX
    }

    /// Whether it is a constant.
    pub const fn is_constant(self) -> bool {
        self.0 >> 30 == 2
    }

    /// Whether it is a row of the warp.
    pub const fn is_warp(self) -> bool {
        self.0 >> 30 == 1
    }

    /// The slot `rows` further on.
    pub const fn offset(self, rows: u32) -> Slot {
        Slot(self.0 + rows)
    }
}

/// A predicate operand: a register of the frame, possibly negated, or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pred(u32);

impl Pred {
    /// Always true.
    pub const TRUE: Pred = Pred(0);
    /// Always false.
    pub const FALSE: Pred = Pred(1 << 31);

    /// Predicate register `index` of the frame. Index 0 is the constant true, never allocated.
    pub const fn register(index: u32, negated: bool) -> Pred {
        Pred(index | (negated as u32) << 31)
    }

    /// The register index.
    pub const fn index(self) -> u32 {
        self.0 & !(1 << 31)
    }

    const fn flip(self) -> LaneMask {
        0u32.wrapping_sub(self.0 >> 31)
    }

    /// The opposite.
    pub const fn negate(self) -> Pred {
        Pred(self.0 ^ 1 << 31)
    }
}

/// The registers of a warp as the current frame sees them.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    bases: [*mut Row; 3],
    predicates: *mut LaneMask,
}

impl Registers {
    /// A view on the rows of `frame` and of the warp, on the constants, and on the frame's predicates.
    ///
    /// # Safety
    /// While the view is used, `frame`, `warp`, `constants` and `predicates` must be valid for every
    /// slot and predicate index of the code that runs, constants for reads only, and nothing else
    /// may access them.
    pub unsafe fn new(
        frame: *mut Row,
        warp: *mut Row,
        constants: *const Row,
        predicates: *mut LaneMask,
    ) -> Self {
        Self { bases: [frame, warp, constants.cast_mut()], predicates }
    }

    /// The first row of a slot.
    #[inline(always)]
    fn row(&self, slot: Slot) -> *mut Row {
        // SAFETY: the constructor's contract: the slot is in range of its base. The tag is 0 to 2.
        unsafe { (*self.bases.get_unchecked((slot.0 >> 30) as usize)).add(slot.row() as usize) }
    }

    /// The words of a register, to be moved as they are.
    #[inline(always)]
    pub(crate) fn words(&mut self, slot: Slot) -> *mut u32 {
        self.row(slot).cast()
    }

    /// All lanes of an operand.
    #[inline(always)]
    pub fn read<T: Lane>(&self, slot: Slot) -> [T; WARP_SIZE] {
        let from = self.row(slot).cast::<T::Word>();
        let mut lanes = [T::default(); WARP_SIZE];
        for (at, lane) in lanes.iter_mut().enumerate() {
            // SAFETY: a slot of type T has T::ROWS rows, that is 32 words of T::Word, suitably aligned.
            *lane = T::from_word(unsafe { *from.add(at) });
        }
        lanes
    }

    /// One lane of an operand.
    #[inline(always)]
    pub fn lane<T: Lane>(&self, slot: Slot, lane: usize) -> T {
        debug_assert!(lane < WARP_SIZE);
        // SAFETY: as in `read`; the lane is below 32.
        T::from_word(unsafe { *self.row(slot).cast::<T::Word>().add(lane & (WARP_SIZE - 1)) })
    }

    /// Sets one lane.
    #[inline(always)]
    pub fn set_lane<T: Lane>(&mut self, slot: Slot, lane: usize, value: T) {
        debug_assert!(!slot.is_constant());
        // SAFETY: as in `lane`; destinations are never constants.
        unsafe { *self.row(slot).cast::<T::Word>().add(lane & (WARP_SIZE - 1)) = value.to_word() }
    }

    /// Sets the lanes of `mask`.
    #[inline(always)]
    pub fn write<T: Lane>(&mut self, slot: Slot, mask: LaneMask, lanes: &[T; WARP_SIZE]) {
        debug_assert!(!slot.is_constant());
        let to = self.row(slot).cast::<T::Word>();
        if mask == FULL {
            for (at, lane) in lanes.iter().enumerate() {
                // SAFETY: as in `read`; destinations are never constants.
                unsafe { *to.add(at) = lane.to_word() };
            }
        } else {
            for (at, lane) in lanes.iter().enumerate() {
                // SAFETY: as above.
                unsafe {
                    let old = *to.add(at);
                    *to.add(at) = if mask >> at & 1 != 0 { lane.to_word() } else { old };
                }
            }
        }
    }

    /// Value of a predicate in all lanes.
    #[inline(always)]
    pub fn predicate(&self, pred: Pred) -> LaneMask {
        // SAFETY: the constructor's contract: the index is in range.
        unsafe { *self.predicates.add(pred.index() as usize) ^ pred.flip() }
    }

    /// Sets the lanes of `mask` of a predicate register; index 0 stands for no destination.
    #[inline(always)]
    pub fn set_predicate(&mut self, pred: Pred, mask: LaneMask, value: LaneMask) {
        if pred.index() == 0 {
            return;
        }
        // SAFETY: as in `predicate`.
        unsafe {
            let to = self.predicates.add(pred.index() as usize);
            *to = *to & !mask | value & mask;
        }
    }
}

/// The operands of a lane operation. Which are used is the shape's business.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// Destination.
    pub dst: Slot,
    /// Sources; destinations of further results come after them.
    pub src: [Slot; 3],
    /// Predicates: sources first, then destinations.
    pub pred: [Pred; 3],
    /// Immediate flags or values of the form.
    pub imm: u32,
}

impl Default for Operands {
    fn default() -> Self {
        Self { dst: Slot::frame(0), src: [Slot::frame(0); 3], pred: [Pred::TRUE; 3], imm: 0 }
    }
}

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
