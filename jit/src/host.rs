//! Executable memory: the only place that calls host code made at run time.

use std::sync::{Arc, LazyLock, OnceLock};

use memmap2::{Mmap, MmapMut};
use semantics::formula::Formula;
use semantics::lanes::{Registers, Row, SimdLevel};

use crate::context::{Context, Round, Storage, Window};
use crate::emit;
use crate::order::{self, Meeting};
use crate::program::{Kind, Program};

/// Whether vectors of integer products take as long here as on Intel's processors: ten cycles for words, fifteen for double
/// words. On AMD's it is three for both.
pub(crate) fn has_slow_products() -> bool {
    // A hypervisor is asked.
    static SLOW: LazyLock<bool> = LazyLock::new(|| {
        let vendor = std::arch::x86_64::__cpuid(0);
        // "AuthenticAMD"
        (vendor.ebx, vendor.edx, vendor.ecx) != (0x6874_7541, 0x6974_6e65, 0x444d_4163)
    });
    *SLOW
}

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// For whole warps, and for any lanes once there are some.
    whole: Body,
    some: Arc<OnceLock<Option<Body>>>,
    program: Arc<Program>,
    level: SimdLevel,
    positions: Vec<Position>,
    /// By position: what whole warps may go on with together.
    rounds: Vec<Round>,
    /// Waits that depend on windows.
    meeting: Vec<Meeting>,
    /// By position, for a warp alone and for one of several: the first one from there on at which it is worth to begin.
    next: Vec<[u32; 2]>,
}

/// Code of a program.
#[derive(Clone, Debug)]
struct Body {
    memory: Arc<Mmap>,
    /// By position: where code begins; 0 where none does.
    entries: Vec<u32>,
}

impl Body {
    fn new(bytes: &[u8], entries: Vec<u32>) -> Option<Body> {
        let mut memory = MmapMut::map_anon(bytes.len()).ok()?;
        memory.copy_from_slice(bytes);
        Some(Body { memory: Arc::new(memory.make_exec().ok()?), entries })
    }

    /// Where code begins at a position; null if none does.
    #[inline(always)]
    fn entry(&self, position: u32) -> *const u8 {
        self.place(self.entries[position as usize])
    }

    /// Where an offset is; null if it is 0.
    #[inline(always)]
    fn place(&self, offset: u32) -> *const u8 {
        match offset {
            0 => std::ptr::null(),
            // SAFETY: offsets within the memory.
            offset => unsafe { self.memory.as_ptr().add(offset as usize) },
        }
    }
}

const BARRIER: u32 = u32::MAX;
const EXIT: u32 = u32::MAX - 1;

/// What is at a position.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// Whether code begins here.
    begins: bool,
    /// Steps from there to the end of the block, and to the first one in it that waits.
    steps: u32,
    reach: u32,
    /// Where a branch leads, or [`BARRIER`], or [`EXIT`].
    target: u32,
    /// A thread may wait for another before lanes meet again that part here.
    awaits: bool,
}

/// What whole warps that stand at a position go on with, whose lanes have code from a place on if they part there.
fn round(positions: &[Position], whole: &Body, at: usize, parted: u32) -> Round {
    let barriers = u64::from(positions[at].target == BARRIER);
    let to = at + barriers as usize;
    let parted = whole.place(parted).addr() as u64;
    match positions.get(to) {
        Some(&Position { begins: true, steps, reach, .. }) => {
            Round { entry: whole.entry(to as u32).addr() as u64, steps, reach, barriers, parted }
        }
        _ => Round { parted, ..Round::default() },
    }
}

impl Compiled {
    /// Whether there is code for a level, and the CPU has it.
    pub fn can(level: SimdLevel) -> bool {
        level != SimdLevel::Baseline && level <= SimdLevel::detect()
    }

    /// Whether code for a level can have an operation; where not, a function of lanes is to do it.
    pub fn has(formula: Formula, level: SimdLevel) -> bool {
        level == SimdLevel::Avx512 || emit::has_avx2(formula)
    }

    /// Compiles a program; nothing if the host cannot run it, or nothing of it is compiled.
    pub fn new(program: &Program, level: SimdLevel) -> Option<Compiled> {
        if !Compiled::can(level) {
            return None;
        }
        let code = emit::emit(program, level, false)?;
        let mut first = [u32::MAX; 2];
        let mut next = vec![first; code.worth.len()];
        for (at, worth) in code.worth.iter().enumerate().rev() {
            for (first, worth) in first.iter_mut().zip(worth) {
                *first = if *worth { at as u32 } else { *first };
            }
            next[at] = first;
        }
        let place = |at: usize| {
            let (begins, steps, reach) = (code.entries[at] != 0, code.blocks[at], code.reach[at]);
            let target = match program.steps[at].kind {
                Kind::Branch(target) => target,
                Kind::Barrier => BARRIER,
                Kind::Exit => EXIT,
                _ => 0,
            };
            let awaits = match program.steps[at].kind {
                Kind::Branch(target) => order::awaits_aside(program, at, target as usize),
                _ => false,
            };
            Position { begins, steps, reach, target, awaits }
        };
        let positions: Vec<_> = (0..program.steps.len()).map(place).collect();
        let (whole, some) = (Body::new(&code.bytes, code.entries)?, Arc::default());
        let rounds =
            code.parted.iter().enumerate().map(|(at, &parted)| round(&positions, &whole, at, parted));
        let rounds = rounds.collect();
        let program = Arc::new(program.clone());
        Some(Compiled { whole, some, program, level, positions, rounds, meeting: code.meeting, next })
    }

    /// Where a warp has these registers, and its lanes this memory of their own, of whose bytes code has a window.
    #[inline(always)]
    pub fn storage(&self, registers: &Registers, local: &mut [Row], [start, end]: [u32; 2]) -> Storage {
        let ([frame, warp, _], predicates) = registers.places();
        let local = match local.get_mut(start as usize / 4..end.div_ceil(4) as usize) {
            Some(rows) if start < end => Window {
                base: start.into(),
                size: (end - start).into(),
                words: rows.as_mut_ptr().cast(),
                writable: true,
            },
            _ => Window::NONE,
        };
        Storage { rows: [frame, warp], predicates, local }
    }

    /// Whether it is worth to begin at a position, for a warp alone or one of several that run together, and the code there
    /// can end before it passes `stop` and after at most so many steps.
    #[inline(always)]
    pub fn begins(&self, position: u32, stop: u32, most: u64, together: bool) -> bool {
        self.next(position, together) == position && self.fits(position, stop, most)
    }

    /// The first position from `position` on at which it is worth to begin; `u32::MAX` if there is none.
    #[inline(always)]
    pub fn next(&self, position: u32, together: bool) -> u32 {
        self.next.get(position as usize).map_or(u32::MAX, |next| next[usize::from(together)])
    }

    /// Whether code begins at a position that can end before it passes `stop` and after at most so many steps.
    #[inline(always)]
    pub(crate) fn fits(&self, position: u32, stop: u32, most: u64) -> bool {
        self.positions.get(position as usize).is_some_and(|at| {
            at.begins && u64::from(at.steps) <= most && at.reach <= stop.saturating_sub(position)
        })
    }

    /// See [`Context::rounds`].
    pub(crate) fn rounds(&self) -> *const Round {
        self.rounds.as_ptr()
    }

    /// Where the branch at a position leads.
    pub(crate) fn target(&self, position: u32) -> u32 {
        self.positions[position as usize].target
    }

    /// How long lanes that part at a branch may run while others stand aside.
    pub(crate) fn patience(&self, context: &Context, position: u32) -> u64 {
        if self.positions[position as usize].awaits { context.wary } else { context.patience }
    }

    pub(crate) fn is_barrier(&self, position: u32) -> bool {
        self.positions.get(position as usize).is_some_and(|at| at.target == BARRIER)
    }

    pub(crate) fn is_exit(&self, position: u32) -> bool {
        self.positions.get(position as usize).is_some_and(|at| at.target == EXIT)
    }

    /// Finds out which windows are apart, if some have changed.
    ///
    /// # Safety
    /// The context's windows must be valid for all positions.
    #[inline(always)]
    pub unsafe fn compare_windows(&self, context: &mut Context) {
        if context.compared != context.changes && !self.meeting.is_empty() {
            // SAFETY: the caller's.
            unsafe { self.compare_all_windows(context) }
        }
    }

    #[cold]
    unsafe fn compare_all_windows(&self, context: &mut Context) {
        for ((position, others), apart) in self.meeting.iter().zip(&mut context.apart) {
            // SAFETY: the caller's; positions of the program.
            let window = |position: u32| unsafe { &*context.windows.add(position as usize) };
            *apart = others.iter().all(|&other| window(*position).is_apart(window(other)));
        }
        context.compared = context.changes;
    }

    /// Bytes of code.
    pub fn bytes(&self) -> usize {
        let some = self.some.get().and_then(Option::as_ref);
        self.whole.memory.len() + some.map_or(0, |body| body.memory.len())
    }

    /// The code for any lanes, made now if there is none yet.
    fn some(&self) -> Option<&Body> {
        let make = || {
            let code = emit::emit(&self.program, self.level, true)?;
            Body::new(&code.bytes, code.entries)
        };
        self.some.get_or_init(make).as_ref()
    }

    /// Runs those of the context's team in a range, who stand at a position, one after the other, each until its stretch
    /// ends. `whole`: all of them have all lanes. The context knows `stop`, `most` and `together`. What came of it is in the
    /// runners, the context's `positions`, `total` and `ends`, to which it is added. False if the host has no memory for the
    /// code.
    ///
    /// # Safety
    /// As of [`Compiled::run_teams`]; code must begin there that can end before `stop`.
    #[inline(always)]
    pub(crate) unsafe fn go(
        &self,
        context: &mut Context,
        position: u32,
        round: std::ops::Range<u32>,
        whole: bool,
    ) -> bool {
        let start = self.whole.memory.as_ptr();
        let some = if whole { None } else { self.some() };
        context.entries = [&self.whole, some.unwrap_or(&self.whole)].map(|body| body.entry(position));
        if !whole && some.is_none() {
            return false;
        }
        (context.begin, context.turn) = (round.start, round.start);
        (context.last, context.end, context.parted) = (round.end, round.end, 0);
        type Start = unsafe extern "sysv64" fn(*mut Context);
        // SAFETY: the memory holds what `emit` made: at its start a function of this type, at the entries code for it to
        // jump to.
        unsafe { std::mem::transmute::<*const u8, Start>(start)(context) };
        true
    }
}
