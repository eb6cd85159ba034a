//! Lane operations: one warp instruction over 32 lanes of registers.
//!
//! Registers are rows of 32 words: a 32-bit (or narrower) register is one row, a 64-bit one two
//! rows read as `[u64; 32]`, a 128-bit one four rows read as `[u128; 32]`. Predicates are lane
//! masks. A semantic function is a pure function of one lane; the *shapes* here turn it into a
//! loop over lanes, compiled for several SIMD levels, one of which is chosen at run time.
//!
//! Invariants: bits of a word above a narrow value are unspecified and never read; lanes outside
//! the mask keep their value; semantics never see whether other lanes are active.

mod levels;
mod shapes;
mod simd;
mod types;

pub use levels::{AtLevel, LaneFn, LaneFns, SimdLevel};
pub use shapes::combine;
pub use shapes::{LaneOp, RowOp, Tests};
pub use shapes::{flag2, flag3, lane_op, map_rows, map1, map2, map3, map4, select2, test1, test2};
#[cfg(target_arch = "x86_64")]
pub use simd::{Avx2, Avx512};
pub use simd::{Baseline, Level, halves};
pub use types::Lane;

pub use isa::LaneMask;

/// All 32 lanes.
pub const FULL: LaneMask = u32::MAX;

/// Lanes of a warp.
pub const WARP_SIZE: usize = 32;

/// 32 words, one a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// Where the lanes of an operand live: the byte offset of its first row from a base, whose place among
/// the bases stands in bits 4:3, as a byte offset too. Nothing has to be shifted to find a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(u32);

impl Slot {
    const BASE: u32 = 0x18;
    const ROW: u32 = size_of::<Row>().trailing_zeros();

    const fn new(base: u32, row: u32) -> Slot {
        Slot(row << Self::ROW | base << 3)
    }

    /// A row of the current call frame.
    pub const fn frame(row: u32) -> Slot {
        Slot::new(0, row)
    }

    /// A row of the warp that no frame moves: special registers.
    pub const fn warp(row: u32) -> Slot {
        Slot::new(1, row)
    }

    /// A row shared by all warps of a launch: constants and kernel parameters.
    pub const fn constant(row: u32) -> Slot {
        Slot::new(2, row)
    }

    /// The row index.
    pub const fn row(self) -> u32 {
        self.0 >> Self::ROW
    }

    /// Whether it is a constant.
    pub const fn is_constant(self) -> bool {
        self.0 & Self::BASE == Slot::constant(0).0
    }

    /// Whether it is a row of the warp.
    pub const fn is_warp(self) -> bool {
        self.0 & Self::BASE == Slot::warp(0).0
    }

    /// Whether it is a row of the current call frame.
    pub const fn is_frame(self) -> bool {
        self.0 & Self::BASE == 0
    }

    /// The slot `rows` further on.
    pub const fn offset(self, rows: u32) -> Slot {
        Slot(self.0 + (rows << Self::ROW))
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
    /// Less the bits that slots spend on choosing one.
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
        let base = |rows: *mut Row, slot: Slot| rows.wrapping_byte_sub(slot.0 as usize);
        let bases = [
            base(frame, Slot::frame(0)),
            base(warp, Slot::warp(0)),
            base(constants.cast_mut(), Slot::constant(0)),
        ];
        Self { bases, predicates }
    }

    /// Where the rows of the frame, of the warp and of constants begin, and the frame's predicates: for compiled code.
    pub fn places(&self) -> ([*mut Row; 3], *mut LaneMask) {
        let place = |slot| self.row(slot);
        ([place(Slot::frame(0)), place(Slot::warp(0)), place(Slot::constant(0))], self.predicates)
    }

    /// The first row of a slot.
    #[inline(always)]
    fn row(&self, slot: Slot) -> *mut Row {
        // SAFETY: the bits are the byte offset of one of the three bases, which are of pointers' size.
        let base = unsafe { *self.bases.as_ptr().byte_add((slot.0 & Slot::BASE) as usize) };
        base.wrapping_byte_add(slot.0 as usize)
    }

    /// The words of a register, to be moved as they are.
    #[inline(always)]
    pub fn words(&mut self, slot: Slot) -> *mut u32 {
        self.row(slot).cast()
    }

    /// All lanes of an operand, as they are stored.
    #[inline(always)]
    pub fn load<T: Lane>(&self, slot: Slot) -> [T::Word; WARP_SIZE] {
        // SAFETY: a slot of type T has T::ROWS rows, that is 32 words of T::Word, suitably aligned.
        unsafe { *self.row(slot).cast() }
    }

    /// All lanes of an operand.
    #[inline(always)]
    pub fn read<T: Lane>(&self, slot: Slot) -> [T; WARP_SIZE] {
        // A plain loop: `map` of arrays is not always inlined, and then not compiled for the level.
        let words = self.load::<T>(slot);
        let mut lanes = [T::default(); WARP_SIZE];
        let mut at = 0;
        while at < WARP_SIZE {
            lanes[at] = T::from_word(words[at]);
            at += 1;
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

    /// Sets the lanes of `mask` to words as they are stored.
    #[inline(always)]
    pub fn store<T: Lane>(&mut self, slot: Slot, mask: LaneMask, mut words: [T::Word; WARP_SIZE]) {
        debug_assert!(!slot.is_constant());
        let to = self.row(slot).cast::<[T::Word; WARP_SIZE]>();
        if mask != FULL {
            // Whole arrays at a time: a loop of conditional stores would not vectorise.
            // SAFETY: as in `load`.
            let old = unsafe { *to };
            let mut at = 0;
            while at < WARP_SIZE {
                words[at] = if mask & 1 << at != 0 { words[at] } else { old[at] };
                at += 1;
            }
        }
        // SAFETY: as in `load`; destinations are never constants.
        unsafe { *to = words };
    }

    /// Sets the lanes of `mask`.
    #[inline(always)]
    pub fn write<T: Lane>(&mut self, slot: Slot, mask: LaneMask, lanes: &[T; WARP_SIZE]) {
        let mut words = [T::default().to_word(); WARP_SIZE];
        let mut at = 0;
        while at < WARP_SIZE {
            words[at] = lanes[at].to_word();
            at += 1;
        }
        self.store::<T>(slot, mask, words);
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

/// The operands of a lane operation. Which are used is the operation's business.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// Destination.
    pub dst: Slot,
    /// Sources.
    pub src: [Slot; 4],
    /// Predicates: destinations from the front, sources from the back. [`Pred::TRUE`] as a
    /// destination is none.
    pub pred: [Pred; 3],
    /// Immediate values and modifiers of the form.
    pub imm: u64,
}

impl Default for Operands {
    fn default() -> Self {
        Self { dst: Slot::frame(0), src: [Slot::frame(0); 4], pred: [Pred::TRUE; 3], imm: 0 }
    }
}

/// A run in a list of slots that the code of a kernel keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotList {
    /// First index.
    pub start: u32,
    /// Number of slots.
    pub len: u32,
}

/// A register operand with its storage class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterSlot {
    /// Where; meaningless for a sink.
    pub slot: Slot,
    /// Rows: 1, 2 or 4; 0 for `_`.
    pub rows: u8,
}
