//! What compiled code and its caller tell each other.

use semantics::lanes::{LaneMask, Row};
use std::ffi::c_void;

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
    /// No memory.
    pub const NONE: Window = Window { base: 0, size: 0, words: std::ptr::null_mut(), writable: false };
}

/// Does what the step at a position does with these lanes, on the rows in memory. Returns 0 if the next step follows;
/// anything else ends the run.
pub type Call = unsafe extern "C" fn(host: *mut c_void, position: u32, lanes: LaneMask) -> u32;

/// One run of compiled code: its registers, and what came of it.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Context {
    /// Offsets of lanes by elements of words and doubles, for addresses of words and of doubles.
    pub(crate) tables: Tables,
    /// First row of the frame, of the warp and of the constants.
    pub rows: [*mut Row; 3],
    /// Predicates of the frame.
    pub predicates: *mut LaneMask,
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
    /// Steps after which a loop ends.
    pub most: u64,
    /// What happened.
    pub ran: Ran,
    /// Lanes that run, and how many.
    pub lanes: LaneMask,
    /// The position that the run does not pass.
    pub stop: u32,
    /// Not 0 if other warps run from the same position on, as if all made each step together: the run ends before a
    /// step that has to wait for them.
    pub together: u32,
    pub(crate) width: u64,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Ran {
    /// Steps.
    pub steps: u64,
    /// Branches among them.
    pub branches: u64,
    /// Lanes that sat out guarded steps, in all.
    pub idle: u64,
    /// Where it ended.
    pub position: u32,
    /// Of a branch that parted the lanes: those that take it.
    pub taken: LaneMask,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It stands before the step at its position.
    Moved,
    /// The branch at its position, which is counted, parts the lanes.
    Parted,
    /// [`Context::call`] ended it, in the step at its position, which is counted.
    Called,
}

#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Tables {
    /// Lane times 4 and 8, in doubles.
    pub(crate) doubles: [[u64; 32]; 2],
    /// Lane times 4 and 8, in words; halves begin at 0.
    pub(crate) words: [[u32; 16]; 2],
    /// Constants of elements.
    pub(crate) seven: u64,
    pub(crate) three: u64,
    pub(crate) nan: u32,
}

impl Context {
    /// Of no warp.
    ///
    pub fn new(host: *mut c_void, call: Call) -> Context {
        let doubles = [4, 8].map(|size| std::array::from_fn(|lane| lane as u64 % 16 * size));
        let words = [4, 8].map(|size| std::array::from_fn(|lane| lane as u32 * size));
        Context {
            tables: Tables { doubles, words, seven: 7, three: 3, nan: 0x7fff_ffff },
            rows: [std::ptr::null_mut(); 3],
            predicates: std::ptr::null_mut(),
            windows: std::ptr::null(),
            shared: Window::NONE,
            generation: std::ptr::null(),
            fresh: 0,
            host,
            call,
            most: 0,
            ran: Ran::default(),
            lanes: 0,
            stop: u32::MAX,
            together: 0,
            width: 0,
        }
    }
}
