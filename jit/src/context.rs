//! What compiled code and its caller tell each other.

use semantics::lanes::{LaneMask, Row};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

/// Warps of a team: of a block there are no more.
pub(crate) const MOST: usize = 32;

/// Memory that accesses may touch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Window {
    /// First address.
    pub base: u64,
    /// Bytes; 0 for none.
    pub size: u64,
    /// Its words.
    pub words: *mut u32,
    /// Whether stores may.
    pub writable: bool,
}

impl Window {
    /// Whether both are memory, and none of one is the other's, under whatever address.
    pub(crate) fn is_apart(&self, other: &Window) -> bool {
        let (own, others) = (self.words as u64, other.words as u64);
        let ends_before = |a: u64, size: u64, b: u64| b.checked_sub(a).is_some_and(|far| far >= size);
        self.size != 0
            && other.size != 0
            && (ends_before(own, self.size, others) || ends_before(others, other.size, own))
    }

    /// No memory.
    pub const NONE: Window = Window { base: 0, size: 0, words: std::ptr::null_mut(), writable: false };
}

/// Barriers of a block.
pub const BARRIERS: usize = 16;

/// A barrier that waits for a count of threads, as far as warps of a team have come to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Counted {
    /// How many threads it waits for; 0 if none has come.
    pub expected: u32,
    /// How many have come; a warp counts whole.
    pub come: u32,
    /// Which members of the team have come, and which wait.
    pub arrived: u32,
    /// See [`Counted::arrived`].
    pub waiting: u32,
}

/// Does what the step at a position does with these lanes of [`Context::current`], on the rows in memory. Returns 0 if the
/// next step follows; 1 ends the run in the step, 2 before it.
pub type Call = unsafe extern "C" fn(host: *mut c_void, position: u32, lanes: LaneMask) -> u32;

/// What all runs of compiled code are told, and registers of the one that goes on.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Context {
    /// Offsets of lanes by elements of words and doubles, for addresses of words and of doubles.
    pub(crate) tables: Tables,
    /// First row of the constants.
    pub constants: *mut Row,
    /// By position: the memory that the instruction accessed last.
    pub windows: *const Window,
    /// The block's memory.
    pub shared: Window,
    /// Windows hold as long as this word has this value.
    pub generation: *const u64,
    /// See [`Context::generation`].
    pub fresh: u64,
    /// What [`Context::call`] is given.
    pub host: *mut c_void,
    /// Does what is not compiled.
    pub call: Call,
    /// By number of a wait that depends on windows: whether nobody has to wait there, as they are apart.
    pub(crate) apart: [bool; MEETING],
    /// How often windows have changed, and had when they were compared.
    pub changes: u64,
    pub(crate) compared: u64,
    /// Steps of a warp after which lanes that stand aside may get their turn before others meet them.
    pub patience: u64,
    /// The same where a thread may wait for another meanwhile.
    pub wary: u64,
    /// Whether no other thread accesses memory meanwhile.
    pub exclusive: bool,
    /// The block's barriers that wait for a count of threads, and how many it may be; 0 if code is to leave them to its caller.
    /// All warps of the block that live must be in one team then.
    pub counted: [Counted; BARRIERS],
    /// See [`Context::counted`].
    pub most_counted: u32,
    /// How many of them were completed.
    pub(crate) completed: u64,
    /// How often something was done that a thread may use to wait for another, in all.
    pub reads: u64,
    /// Loads of loops that do nothing but wait, in all; each of [`SPINS`] is the caller's.
    pub spins: u64,
    /// Steps after which a loop ends.
    pub(crate) most: u64,
    /// What happened.
    pub(crate) ran: Stretch,
    /// Lanes that run, and how many.
    pub(crate) lanes: LaneMask,
    /// The position that the run does not pass.
    pub(crate) stop: u32,
    /// Not 0 if other warps run from the same position on, as if all made each step together: the run ends before a
    /// step that has to wait for them.
    pub(crate) together: u32,
    pub(crate) width: u64,
    /// Who runs, and the first of those that run together.
    pub(crate) runner: *mut Runner,
    pub(crate) first: *const Runner,
    /// The team: who is in it, and before which positions they stand; [`EXITED`] is added to those at exits, [`WAITING`] to those
    /// that wait. Words that are
    /// atomic are read one by one, as code has just written them: a vector of them would have to wait for the cache.
    pub(crate) team: [*mut Runner; MOST],
    pub(crate) positions: [AtomicU32; MOST],
    /// The part of the team whose round it is: who is the first, who runs next, who no longer now, and who not in this round.
    pub(crate) begin: u32,
    pub(crate) turn: u32,
    pub(crate) last: u32,
    pub(crate) end: u32,
    /// Those of the round whose lanes parted and are still to meet again, each by itself.
    pub(crate) parted: u32,
    /// Lanes that parted from those that run.
    pub(crate) behind: Behind,
    /// Where their code begins, for whole warps and for any lanes.
    pub(crate) entries: [*const u8; 2],
    /// Steps of the round, and all of its ends.
    pub(crate) total: u64,
    pub(crate) ends: u32,
    /// By position: rounds of whole warps that code begins by itself, where all of a round have come to one place; null if it
    /// is to return.
    pub(crate) rounds: *const Round,
    /// Steps that were left for all when the round began, and what each of those in it gets of them: see [`share`].
    pub(crate) left: i64,
    pub(crate) part: u64,
    /// The same of the whole team, which goes on together where those of the round come to `stop`; 0 if not all others stand
    /// there.
    pub(crate) joined_part: u64,
    /// The team's size; and once more if it passes barriers, else 0.
    pub(crate) members: u32,
    pub(crate) passing: u32,
    /// Barriers that were passed, and are not yet among what the members did.
    pub(crate) passed: u64,
}

/// Lanes that stay behind while others run: from branches that lead far, and from the one whose ways meet next.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Behind {
    pub(crate) lanes: [LaneMask; 2],
    /// Where they stand.
    pub(crate) meetings: [u32; 2],
    /// After how many steps of the stretch they came there.
    pub(crate) left_after: [u64; 2],
    /// When the first of those of the first kind came there: [`Context::reads`], and how long others may run.
    pub(crate) reads: u64,
    pub(crate) patience: u64,
}

/// Loads of loops that do nothing but wait after which it is another's turn: what is waited for may come only then.
pub const SPINS: u64 = 64;

/// A round that code may begin with at a position.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Round {
    /// Where its code is; 0 if there is none.
    pub(crate) entry: u64,
    /// Steps from there to the end of the block, and to the first one in it that waits.
    pub(crate) steps: u32,
    pub(crate) reach: u32,
    /// 1 if all pass a barrier before it.
    pub(crate) barriers: u64,
    /// Where code is for lanes that part at the branch there, until they meet again; 0 if there is none.
    pub(crate) parted: u64,
}

/// Steps that are shared at once, at most.
pub(crate) const SHARED: u64 = (u32::MAX >> 1) as u64;

/// By number of runners: the part of steps that each of them gets, in units of 2^-32. A division would take as long as a short
/// stretch of code.
pub(crate) const PARTS: [u64; MOST + 1] = {
    let mut parts = [1 << 32; MOST + 1];
    let mut count = 2;
    while count <= MOST {
        parts[count] = (1u64 << 32).div_ceil(count as u64);
        count += 1;
    }
    parts
};

/// About what each of some runners gets of so many steps, with their [`PARTS`].
#[inline(always)]
pub(crate) fn share(steps: u64, part: u64) -> u64 {
    (steps.min(SHARED) * part) >> 32
}

/// What a stretch of code has done before it calls the host, and where it ends.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Stretch {
    /// Steps.
    pub steps: u64,
    /// Branches among them.
    pub branches: u64,
    /// Lanes that sat out guarded steps, in all.
    pub idle: u64,
}

/// Why a stretch ended: it stands before the step at its position.
pub(crate) const MOVED: u32 = 0;
/// The branch at its position, which is counted, parts the lanes.
pub(crate) const PARTED: u32 = 1;
/// [`Context::call`] ended it, in the step at its position, which is counted.
pub(crate) const CALLED: u32 = 2;
/// Added to others: lanes parted within code, and are still apart.
pub(crate) const APART: u32 = 4;

/// What a warp did.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ran {
    /// Steps.
    pub steps: u64,
    /// Branches among the steps.
    pub branches: u64,
    /// Steps of each lane, in all.
    pub threads: u64,
    /// Branches that parted the lanes.
    pub parted: u64,
}

impl std::ops::AddAssign for Ran {
    #[inline(always)]
    fn add_assign(&mut self, other: Ran) {
        self.steps += other.steps;
        self.threads += other.threads;
        self.branches += other.branches;
        self.parted += other.parted;
    }
}

/// What warps that ran together did besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Barriers that all passed.
    pub barriers: u64,
    /// Barriers of [`Context::counted`] that are complete.
    pub completed: u64,
    /// All have exited: a step more for each, which is not among what they did.
    pub over: bool,
    /// Steps that runners made beyond where the one stands whose lanes part, or which went on alone.
    pub ahead: u64,
}

/// When a warp that runs alone is to end its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Until {
    /// Before this position.
    pub stop: u32,
    /// After so many steps.
    pub most: u64,
    /// Once no lanes stand aside.
    pub whole: bool,
}

/// Where a warp has what it works on.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    /// See [`Runner::rows`].
    pub rows: [*mut Row; 2],
    /// See [`Runner::predicates`].
    pub predicates: *mut LaneMask,
    /// See [`Runner::local`].
    pub local: Window,
}

/// A warp that runs code, or a group of its lanes.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Runner {
    /// First row of the frame and of the warp.
    pub rows: [*mut Row; 2],
    /// Predicates of the frame.
    pub predicates: *mut LaneMask,
    /// Lanes' own memory: addresses and size are those of a lane.
    pub local: Window,
    /// The position before which it stands, and the lanes that do.
    pub position: u32,
    /// Whether it waits there, behind a barrier of [`Context::counted`].
    pub waits: bool,
    /// See [`Runner::position`].
    pub lanes: LaneMask,
    /// What it did.
    pub ran: Ran,
    /// How many lanes it has, while it runs.
    pub(crate) width: u64,
    /// Of its last stretch: steps, why it ended, who takes the branch that did.
    pub(crate) went: u64,
    pub(crate) end: u32,
    pub(crate) taken: LaneMask,
    /// If lanes are [`APART`]: who has stayed behind.
    pub(crate) behind: Behind,
    /// [`Context::call`] ended it in the step at its position, which is counted: steps since it last waited for others.
    pub called: Option<u64>,
    /// Lanes that were parted from these, and where they stand.
    pub aside: SmallVec<[Aside; 4]>,
    /// Of [`Ran::steps`], those before its lanes parted, when none stood aside.
    pub parted_at: u64,
    /// How many they may make from there on before it is the caller who decides.
    pub(crate) patience: u64,
    /// How often they have done since what a thread may use to wait for another.
    pub reads: u64,
}

/// Lanes that stand aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aside {
    /// Where they stand.
    pub position: u32,
    /// Who.
    pub lanes: LaneMask,
    /// [`Ran::steps`] when they last ran.
    pub last_run: u64,
}

/// Added to the position of one that stands at an exit, while warps run together, and of one that waits.
pub(crate) const EXITED: u32 = 1 << 31;
pub(crate) const WAITING: u32 = 1 << 30;

impl Runner {
    /// One that has done nothing.
    #[inline(always)]
    pub fn new(storage: Storage, position: u32, lanes: LaneMask) -> Runner {
        let Storage { rows, predicates, local } = storage;
        let (aside, ran) = (SmallVec::new(), Ran::default());
        let mut runner = Runner {
            rows,
            predicates,
            local,
            position,
            waits: false,
            lanes,
            aside,
            parted_at: 0,
            patience: 0,
            reads: 0,
            ran,
            width: 0,
            went: 0,
            end: MOVED,
            taken: 0,
            behind: Behind::default(),
            called: None,
        };
        runner.count_lanes();
        runner
    }

    /// The same warp of another block, which has done nothing.
    #[inline(always)]
    pub fn begin_again(&mut self, position: u32) {
        (self.position, self.waits, self.ran) = (position, false, Ran::default());
        (self.called, self.parted_at, self.reads) = (None, 0, 0);
        self.aside.clear();
    }

    /// Makes it another one that has done nothing.
    #[inline(always)]
    pub fn renew(&mut self, storage: Storage, position: u32, lanes: LaneMask) {
        let Storage { rows, predicates, local } = storage;
        (self.rows, self.predicates, self.local, self.lanes) = (rows, predicates, local, lanes);
        self.begin_again(position);
        self.count_lanes();
    }

    #[inline(always)]
    pub(crate) fn count_lanes(&mut self) {
        self.width = if self.lanes == LaneMask::MAX { 32 } else { self.lanes.count_ones().into() };
    }
}

/// Numbers that operations need, by place: as words, and as doubles.
pub(crate) const WORDS: [u32; 18] = [
    1.0f32.to_bits(),
    2_147_483_648.0f32.to_bits(),
    65536.0f32.to_bits(),
    31,
    32,
    !3,
    24,
    1,
    0x7fff,
    0,
    0xff,
    0xffff,
    0x7f,
    !0x7f,
    !0x7fff,
    0x0f0f_0f0f,
    0x0101_0101,
    0x0001_0001,
];
/// Of a place: its word's, and the bits before it in that.
pub(crate) const WHOLE_WORDS: usize = 5;
pub(crate) const BITS: usize = 6;
pub(crate) const BIT: usize = 7;
/// Of the bits that a float of 16 bits does not have; also that which is no number.
pub(crate) const LESS_THAN_HALF: usize = 8;
/// The least and the greatest integer of 8 or 16 bits.
pub(crate) const fn limits(bits: u32, signed: bool) -> [usize; 2] {
    match (bits, signed) {
        (8, false) => [9, 10],
        (8, true) => [13, 12],
        (_, false) => [9, 11],
        (_, true) => [14, 8],
    }
}
/// The lower half of each byte; 1 in each byte, and in each half.
pub(crate) const HALF_BYTES: usize = 15;
pub(crate) const BYTES_OF_ONE: usize = 16;
pub(crate) const HALVES_OF_ONE: usize = 17;
pub(crate) const ONE: usize = 0;
pub(crate) const TWO_TO_31: usize = 1;
pub(crate) const TWO_TO_16: usize = 2;
pub(crate) const THIRTY_ONE: usize = 3;
pub(crate) const THIRTY_TWO: usize = 4;
pub(crate) const DOUBLES: [u64; 7] = [
    1.0f64.to_bits(),
    (i32::MAX as f64).to_bits(),
    (i32::MIN as f64).to_bits(),
    TWO_TO_52_BITS,
    !3,
    24,
    9_223_372_036_854_775_808.0f64.to_bits(),
];
pub(crate) const DOUBLE_WHOLE_WORDS: usize = 4;
pub(crate) const DOUBLE_BITS: usize = 5;
pub(crate) const TWO_TO_63: usize = 6;
pub(crate) const GREATEST: usize = 1;
pub(crate) const LEAST: usize = 2;
/// With a word below it the double that is as much greater.
pub(crate) const TWO_TO_52: usize = 3;
const TWO_TO_52_BITS: u64 = 0x4330_0000_0000_0000;

/// Waits that depend on windows, at most.
pub(crate) const MEETING: usize = 64;

/// Address registers whose lanes a block knows at once.
pub(crate) const SHAPES: usize = 16;

/// Which words of two vectors side by side make one.
#[derive(Clone, Copy)]
pub(crate) enum Mix {
    /// The even ones.
    Even,
    /// The odd ones.
    Odd,
    /// The first of each four, then the second; the third, then the fourth.
    First,
    Third,
    /// One of each in turn, of the lower halves; of the upper ones.
    Lower,
    Upper,
    /// The same by doubles.
    LowerDoubles,
    UpperDoubles,
}

impl Mix {
    fn tables() -> [[u32; 16]; 8] {
        use Mix::*;
        [Even, Odd, First, Third, Lower, Upper, LowerDoubles, UpperDoubles].map(|mix| {
            std::array::from_fn(|at| {
                let at = at as u32;
                let doubles = |from: u32| 2 * (from + at / 4) + 16 * (at / 2 % 2) + at % 2;
                match mix {
                    Even => 2 * at,
                    Odd => 2 * at + 1,
                    First => at % 8 * 4 + at / 8,
                    Third => at % 8 * 4 + at / 8 + 2,
                    Lower => at / 2 + 16 * (at % 2),
                    Upper => 8 + at / 2 + 16 * (at % 2),
                    LowerDoubles => doubles(0),
                    UpperDoubles => doubles(4),
                }
            })
        })
    }
}

#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Tables {
    /// Lane times 1, 2, 4, 8 and 16, of half a warp.
    pub(crate) doubles: [[u64; 16]; 5],
    pub(crate) words: [[u32; 16]; 5],
    /// See [`Mix`].
    pub(crate) mixes: [[u32; 16]; 8],
    /// Of an atomic: the places of lanes in the window, and the operands.
    pub(crate) places: [u64; 32],
    pub(crate) operands: [[u64; 32]; 2],
    /// The bit of each lane, in words and in doubles.
    pub(crate) word_bits: [u32; 32],
    pub(crate) double_bits: [u64; 32],
    /// All ones for the lanes that run.
    pub(crate) word_lanes: [u32; 32],
    pub(crate) double_lanes: [u64; 32],
    pub(crate) ones: [u32; 8],
    pub(crate) word_signs: [u32; 8],
    pub(crate) double_signs: [u64; 4],
    /// Of addresses that were looked at: what the first lanes of both halves have, and how the others follow.
    pub(crate) firsts: [[u64; 2]; SHAPES],
    pub(crate) shapes: [u32; SHAPES],
    /// Of an access to any addresses.
    pub(crate) delta: [u64; 4],
    pub(crate) last: [u64; 4],
    /// Words that control the host's floats: subnormals are kept, or flushed.
    pub(crate) controls: [u32; 2],
    /// One less than 1, 2, 4, 8 and 16.
    pub(crate) low: [u64; 5],
    pub(crate) nan: [u32; 8],
    /// Single numbers: [`WORDS`] and [`DOUBLES`].
    pub(crate) some_words: [u32; WORDS.len()],
    pub(crate) some_doubles: [u64; DOUBLES.len()],
    /// How many bits of half a byte are set.
    pub(crate) ones_of_halves: [u8; 16],
}

impl Context {
    /// Of no warp.
    pub fn new(host: *mut c_void, call: Call) -> Context {
        let doubles = std::array::from_fn(|size| std::array::from_fn(|lane| (lane << size) as u64));
        let words = std::array::from_fn(|size| std::array::from_fn(|lane| (lane << size) as u32));
        Context {
            tables: Tables {
                doubles,
                words,
                mixes: Mix::tables(),
                places: [0; 32],
                operands: [[0; 32]; 2],
                word_bits: std::array::from_fn(|lane| 1 << lane),
                double_bits: std::array::from_fn(|lane| 1 << lane),
                word_lanes: [0; 32],
                double_lanes: [0; 32],
                ones: [u32::MAX; 8],
                word_signs: [1 << 31; 8],
                double_signs: [1 << 63; 4],
                firsts: [[0; 2]; SHAPES],
                shapes: [0; SHAPES],
                delta: [0; 4],
                last: [0; 4],
                // All exceptions masked; to nearest.
                controls: [0x1f80, 0x9fc0],
                low: [0, 1, 3, 7, 15],
                nan: [0x7fff_ffff; 8],
                some_words: WORDS,
                some_doubles: DOUBLES,
                ones_of_halves: std::array::from_fn(|half| half.count_ones() as u8),
            },
            constants: std::ptr::null_mut(),
            windows: std::ptr::null(),
            shared: Window::NONE,
            generation: std::ptr::null(),
            fresh: 0,
            host,
            call,
            apart: [false; MEETING],
            changes: 0,
            compared: u64::MAX,
            patience: u64::MAX,
            wary: u64::MAX,
            exclusive: false,
            counted: [Counted::default(); BARRIERS],
            most_counted: 0,
            completed: 0,
            reads: 0,
            spins: 0,
            most: 0,
            ran: Stretch::default(),
            lanes: 0,
            stop: u32::MAX,
            together: 0,
            width: 0,
            runner: std::ptr::null_mut(),
            first: std::ptr::null(),
            team: [std::ptr::null_mut(); MOST],
            positions: [const { AtomicU32::new(u32::MAX) }; MOST],
            begin: 0,
            turn: 0,
            last: 0,
            end: 0,
            parted: 0,
            behind: Behind::default(),
            entries: [std::ptr::null(); 2],
            total: 0,
            ends: 0,
            rounds: std::ptr::null(),
            left: 0,
            part: 0,
            joined_part: 0,
            members: 0,
            passing: 0,
            passed: 0,
        }
    }

    /// Whether anybody has come to a barrier that waits for a count.
    pub(crate) fn counts(&self) -> bool {
        self.most_counted != 0 && self.counted.iter().any(|barrier| barrier.expected != 0)
    }

    /// Who runs, and its number among those that run together.
    ///
    /// # Safety
    /// Only [`Context::call`] may ask, for as long as it runs.
    pub unsafe fn current(&self) -> (&Runner, usize) {
        // SAFETY: code that calls the host runs a runner, which outlives the round.
        let runner = unsafe { &*self.runner };
        (runner, (self.runner.addr() - self.first.addr()) / size_of::<Runner>())
    }
}

// Aligned accesses of whole vectors.
const _: () = assert!(
    std::mem::offset_of!(Tables, places).is_multiple_of(64)
        && std::mem::offset_of!(Tables, word_signs).is_multiple_of(32)
        && std::mem::offset_of!(Tables, double_signs).is_multiple_of(32)
);
