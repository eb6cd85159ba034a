//! From a program to machine code.
//!
//! Registers: `rbx` the context, `r12` to `r14` the rows of the frame, of the warp and of the constants, `r15` the
//! predicates, `ebp` the lanes that run; `r8`, `r9`, `r10` count steps, branches and idle lanes; `r11d` are the lanes of a
//! guarded step. `zmm29` to `zmm31` and `k7` are scratch, `k5` and `k6` the halves of one predicate, `k1` to `k4` the
//! lanes from 0, 16, 8 and 24 on, where not all run.
//!
//! A program is compiled for whole warps, or for any lanes: lines in registers are right for those lanes only then, and written
//! back under their mask. The code of both jumps into each other's as runners follow.

mod access;
mod arrival;
mod atomic;
mod avx2;
mod avx512;
mod layout;
mod lines;
mod local;
mod parting;
mod predicates;
mod rounds;
mod window;

use iced_x86::code_asm::*;
use iced_x86::{BlockEncoderOptions, IcedError};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Range;

use crate::context::{self, CALLED, Context, EXITED, MOVED, PARTED, Ran, Runner, Stretch, Tables};
use crate::lanes;
use crate::liveness::Liveness;
use crate::order::{self, Meeting, Waits};
use crate::program::{Kind, Program, Space};
use crate::registers::{File, Held, Line};
use semantics::formula::Width;
use semantics::lanes::{Pred, SimdLevel, Slot, WARP_SIZE};

pub(crate) use layout::has_avx2;

type Done<T = ()> = Result<T, IcedError>;

/// Machine code.
pub(crate) struct Code {
    pub bytes: Vec<u8>,
    /// By position: where it is entered; 0 where not.
    pub entries: Vec<u32>,
    /// By position of a branch: where lanes that part there go on until they meet again; 0 where they leave code.
    pub parted: Vec<u32>,
    /// By position: steps from there to the end of the block.
    pub blocks: Vec<u32>,
    /// By position: steps from there to the end of the block or the first one in it that waits.
    pub reach: Vec<u32>,
    /// By position: whether it is worth to enter there, for a warp alone and for one of several.
    pub worth: Vec<[bool; 2]>,
    /// Waits that depend on windows.
    pub meeting: Vec<Meeting>,
}

const Z: [AsmRegisterZmm; 32] = [
    zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9, zmm10, zmm11, zmm12, zmm13, zmm14, zmm15,
    zmm16, zmm17, zmm18, zmm19, zmm20, zmm21, zmm22, zmm23, zmm24, zmm25, zmm26, zmm27, zmm28, zmm29, zmm30,
    zmm31,
];
const Y: [AsmRegisterYmm; 32] = [
    ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13, ymm14, ymm15,
    ymm16, ymm17, ymm18, ymm19, ymm20, ymm21, ymm22, ymm23, ymm24, ymm25, ymm26, ymm27, ymm28, ymm29, ymm30,
    ymm31,
];
const X: [AsmRegisterXmm; 32] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14, xmm15,
    xmm16, xmm17, xmm18, xmm19, xmm20, xmm21, xmm22, xmm23, xmm24, xmm25, xmm26, xmm27, xmm28, xmm29, xmm30,
    xmm31,
];
const STEPS: usize = offset_of!(Context, ran) + offset_of!(Stretch, steps);
const BRANCHES: usize = offset_of!(Context, ran) + offset_of!(Stretch, branches);
const IDLE: usize = offset_of!(Context, ran) + offset_of!(Stretch, idle);
/// A word's sign, a double's.
const SIGN: usize = offset_of!(Context, tables) + offset_of!(Tables, word_signs);
const DOUBLE_SIGN: usize = offset_of!(Context, tables) + offset_of!(Tables, double_signs);
const NAN: usize = offset_of!(Context, tables) + offset_of!(Tables, nan);
/// The control word of floats that keeps subnormals, and the one that flushes them.
const CONTROLS: [usize; 2] = {
    let first = offset_of!(Context, tables) + offset_of!(Tables, controls);
    [first, first + 4]
};

/// A number of [`context::WORDS`] or [`context::DOUBLES`].
fn word(which: usize) -> usize {
    offset_of!(Context, tables) + offset_of!(Tables, some_words) + 4 * which
}

fn double(which: usize) -> usize {
    offset_of!(Context, tables) + offset_of!(Tables, some_doubles) + 8 * which
}

/// A place in the context.
fn at(offset: usize) -> AsmMemoryOperand {
    rbx + offset as i32
}

/// What is emitted behind the bodies: seldom needed.
enum Cold {
    /// The host does the step; `before` is flushed, `after` is loaded.
    Host {
        label: CodeLabel,
        resume: CodeLabel,
        position: u32,
        start: u32,
        before: Box<File>,
        after: Box<File>,
        guarded: bool,
        flushing: bool,
        /// Others have parted from the lanes.
        apart: bool,
    },
    /// The step is guarded and not all lanes take part: those of `r11d` do.
    Mixed { label: CodeLabel, resume: CodeLabel, host: CodeLabel },
    Parted {
        label: CodeLabel,
        position: u32,
        /// Where lanes that go back to the start of a loop have in registers what they need; what registers hold now.
        back: Option<(Turn, Box<File>)>,
    },
    /// The branch of a loop back to its start: not all lanes take it, or no turn is to follow.
    Turned { through: CodeLabel, full: CodeLabel, position: u32, turn: Turn, file: Box<File> },
    /// The host ended the run.
    Ended { label: CodeLabel, position: u32, start: u32, guard: Pred },
    /// An arrival is the host's; one makes a barrier complete.
    Arrived { leave: CodeLabel, complete: CodeLabel, position: u32, start: u32 },
    /// One of several warps waits for the others before a step.
    Waits { label: CodeLabel, position: u32, start: u32, file: Box<File> },
}

/// A further turn of a loop: where it begins, and what registers hold there.
#[derive(Clone)]
struct Turn {
    from: u32,
    label: CodeLabel,
    file: Box<File>,
}

/// A way into a body from outside, before a step.
struct Way {
    position: u32,
    start: u32,
    file: File,
    to: CodeLabel,
}

struct Emitter<'p> {
    a: CodeAssembler,
    program: &'p Program,
    liveness: &'p Liveness,
    /// AVX-512, or AVX2.
    avx512: bool,
    /// The code is for any lanes; here they are only some of those that it began with, as the others have parted from them.
    partial: bool,
    apart: bool,
    /// All lanes get one value from the step.
    uniform: bool,
    /// Whether subnormal floats are flushed now, and where blocks begin and end.
    flushing: bool,
    flushing_between: bool,
    file: File,
    /// The predicate register whose halves are in `k5` and `k6`.
    predicate: Option<u32>,
    /// What is known of addresses since the block began, or was entered.
    shapes: Vec<window::Shape>,
    labels: Vec<CodeLabel>,
    /// By position: steps from there to the end of the block.
    blocks: Vec<u32>,
    /// By position: steps from there to the end of the block or the first one in it that waits.
    reach: Vec<u32>,
    /// By position: whether it begins a block.
    leaders: &'p [bool],
    /// Before which steps a run of one of several warps ends.
    waits: Waits,
    /// By position: whether it is worth to enter there, for a warp alone and for one of several.
    worth: Vec<[bool; 2]>,
    ways: Vec<Way>,
    /// A loop's further turns are emitted, which nobody enters from outside.
    repeated: bool,
    /// Where a run ends before a position.
    moved: BTreeMap<u32, CodeLabel>,
    cold: Vec<Cold>,
    /// Branches at which lanes part within code, and where that is.
    parted: Vec<(u32, CodeLabel)>,
    /// Words behind the code.
    pool: Vec<(CodeLabel, [u32; 16])>,
    done: CodeLabel,
    begin: CodeLabel,
    /// The step, and the first of its block.
    position: u32,
    start: u32,
}

/// Compiles a program for whole warps, or for any lanes if `partial`; nothing if it is not to be.
pub(crate) fn emit(program: &Program, level: SimdLevel, partial: bool) -> Option<Code> {
    let avx512 = level == SimdLevel::Avx512;
    let supported = layout::supported(program, avx512);
    let priced = if program.all { supported } else { layout::priced(&supported, avx512) };
    let program = &priced;
    let liveness = Liveness::new(program);
    let leaders = layout::leaders(program);
    let waits = order::waits(program);
    let (alone, together) = (layout::worth(program, &[]), layout::worth(program, &waits.always));
    let enough = |worth: &[u32], at: usize, which: usize| worth[at] >= program.least[which].max(1);
    let worth = (0..program.steps.len())
        .map(|at| {
            let begins = (leaders[at] || waits.at(at)) && !program.steps[at].kind.leaves();
            [begins && enough(&alone, at, 0), begins && enough(&together, at, 1)]
        })
        .collect();
    let mut assembler = CodeAssembler::new(64).ok()?;
    // Registers above 15 need the other encoding.
    assembler.set_prefer_vex(!avx512);
    let (done, begin) = (assembler.create_label(), assembler.create_label());
    let flushing = layout::mostly_flushes(program);
    let mut emitter = Emitter {
        a: assembler,
        program,
        liveness: &liveness,
        partial,
        apart: false,
        uniform: false,
        flushing,
        flushing_between: flushing,
        file: File::new(if avx512 { avx512::COUNT } else { avx2::COUNT }),
        avx512,
        predicate: None,
        shapes: Vec::new(),
        labels: Vec::new(),
        blocks: layout::blocks(program, |at| leaders[at]),
        reach: layout::blocks(program, |at| leaders[at] || at < program.steps.len() && waits.at(at)),
        leaders: &leaders,
        waits,
        worth,
        ways: Vec::new(),
        repeated: false,
        moved: BTreeMap::new(),
        cold: Vec::new(),
        parted: Vec::new(),
        pool: Vec::new(),
        done,
        begin,
        position: 0,
        start: 0,
    };
    let code = emitter.all();
    // Whatever it is, a kernel can do without code; here it is a bug.
    debug_assert!(code.is_ok(), "{:?}", code.err());
    code.ok()
}

impl Emitter<'_> {
    /// Whether not all lanes run.
    fn masked(&self) -> bool {
        self.partial || self.apart
    }

    fn all(&mut self) -> Done<Code> {
        self.prologue()?;
        let entries = self.body()?;
        self.epilogue()?;
        for (mut label, words) in std::mem::take(&mut self.pool) {
            self.a.set_label(&mut label)?;
            self.a.dd(&words)?;
        }
        let result = self.a.assemble_options(0, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let offsets = |labels: &[(u32, CodeLabel)]| -> Done<Vec<u32>> {
            let mut offsets = vec![0; self.program.steps.len()];
            for (position, label) in labels {
                offsets[*position as usize] = result.label_ip(label)? as u32;
            }
            Ok(offsets)
        };
        let (entries, parted) = (offsets(&entries)?, offsets(&self.parted)?);
        let (blocks, worth) = (std::mem::take(&mut self.blocks), std::mem::take(&mut self.worth));
        let reach = std::mem::take(&mut self.reach);
        let meeting = std::mem::take(&mut self.waits.meeting);
        Ok(Code { bytes: result.inner.code_buffer, entries, parted, blocks, reach, worth, meeting })
    }

    fn prologue(&mut self) -> Done {
        for register in [rbp, rbx, r12, r13, r14, r15] {
            self.a.push(register)?;
        }
        self.a.sub(rsp, 8)?;
        self.a.mov(rbx, rdi)?;
        self.a.mov(r14, qword_ptr(at(offset_of!(Context, constants))))?;
        self.control(false, self.flushing_between)?;
        self.a.mov(esi, dword_ptr(at(offset_of!(Context, turn))))?;
        self.a.jmp(self.begin)
    }

    /// Whether subnormal floats are flushed, and whether they are to be from here on.
    fn control(&mut self, now: bool, flushing: bool) -> Done {
        if now == flushing {
            return Ok(());
        }
        self.a.vldmxcsr(dword_ptr(at(CONTROLS[usize::from(flushing)])))
    }

    /// From here on subnormal floats are flushed, or kept.
    fn set_flushing(&mut self, flushing: bool) -> Done {
        self.control(self.flushing, flushing)?;
        self.flushing = flushing;
        Ok(())
    }

    /// The counters to the context, or back from it.
    fn counters(&mut self, to: bool) -> Done {
        for (register, place) in [(r8, STEPS), (r9, BRANCHES), (r10, IDLE)] {
            if to {
                self.a.mov(qword_ptr(at(place)), register)?;
            } else {
                self.a.mov(register, qword_ptr(at(place)))?;
            }
        }
        Ok(())
    }

    /// The body; where it can be entered.
    fn body(&mut self) -> Done<Vec<(u32, CodeLabel)>> {
        let (program, leaders) = (self.program, self.leaders);
        let count = program.steps.len() as u32;
        self.labels = (0..=count).map(|_| self.a.create_label()).collect();
        for position in 0..count {
            self.position = position;
            let step = &program.steps[position as usize];
            if leaders[position as usize] {
                (self.start, self.predicate) = (position, None);
                self.shapes.clear();
                self.file = self.empty();
            }
            if step.kind.leaves() {
                continue;
            }
            if leaders[position as usize] {
                self.a.set_label(&mut self.labels[position as usize])?;
                self.a.nop()?;
            }
            if let Some(from) = self.repeats(position) {
                self.again(from, position)?;
                continue;
            }
            if let Kind::Branch(target) = step.kind {
                self.file.unpin_all();
                self.before(position)?;
                self.branch(target, step.guard)?;
                continue;
            }
            if let Kind::Arrive(arrive) = step.kind {
                self.file.unpin_all();
                self.before(position)?;
                self.arrive(&arrive)?;
                continue;
            }
            self.step(position)?;
            if leaders[position as usize + 1] {
                self.set_flushing(self.flushing_between)?;
                self.flush([position + 1; 2])?;
                self.count(position + 1)?;
                self.go(position + 1)?;
            }
        }
        let labels = self.enter()?;
        self.emit_cold()?;
        Ok(labels)
    }

    /// What a step that does not branch does.
    fn step(&mut self, position: u32) -> Done {
        self.position = position;
        self.file.unpin_all();
        if !self.apart {
            self.before(position)?;
        }
        self.settle(position)?;
        let step = &self.program.steps[position as usize];
        self.uniform = step.uniform && step.guard == Pred::TRUE && !self.masked();
        if step.guard != Pred::TRUE {
            // Some lanes get something else.
            let written = |held: &Held| held.line.is_frame() && step.writes(held.line.row);
            self.split(written)?;
        }
        match &step.kind {
            Kind::Compute(formula, operands) => self.compute(*formula, operands, step.guard),
            Kind::Access(access) if self.avx512 => self.access::<avx512::Moves>(access, step.guard),
            Kind::Access(access) => self.access::<avx2::Moves>(access, step.guard),
            Kind::Atomic(atomic) if self.avx512 => self.atomic::<avx512::Moves>(atomic, step.guard),
            Kind::Atomic(atomic) => self.atomic::<avx2::Moves>(atomic, step.guard),
            Kind::Exchange(exchange) if self.avx512 && !self.masked() => self.exchange(exchange),
            Kind::Exchange(_) | Kind::Call(_) => self.call_step(step.guard),
            Kind::Lanes(which, _) => self.call_lanes(*which, step.guard),
            Kind::Fence => self.fence(),
            Kind::Nothing
            | Kind::Branch(_)
            | Kind::Barrier
            | Kind::Arrive(_)
            | Kind::Exit
            | Kind::Leave(_) => Ok(()),
        }
    }

    /// Where others may access memory.
    fn fence(&mut self) -> Done {
        let mut over = self.a.create_label();
        self.a.cmp(byte_ptr(at(offset_of!(Context, exclusive))), 0)?;
        self.a.jne(over)?;
        self.a.mfence()?;
        self.a.set_label(&mut over)?;
        self.a.nop()
    }

    /// Where the block begins that a branch ends, if it leads there: that of a loop without others in it.
    fn repeats(&self, position: u32) -> Option<u32> {
        let step = &self.program.steps[position as usize];
        let target = if let Kind::Branch(target) = step.kind { target } else { return None };
        (step.guard != Pred::TRUE && target == self.start && target < position).then_some(target)
    }

    /// The end of a loop's first turn, and its steps once more for further turns: what lies in registers stays there.
    fn again(&mut self, from: u32, branch: u32) -> Done {
        self.file.unpin_all();
        self.before(branch)?;
        let mut file = self.file.clone();
        for register in 0..file.count() {
            if let Some(held) = &mut file.held[register]
                && held.line.is_frame()
            {
                let row = held.line.row;
                held.dirty = (from..branch).any(|at| self.program.steps[at as usize].writes(row));
                if !self.liveness.is_live(from, row) {
                    file.held[register] = None;
                }
            }
        }
        let mut turn = Turn { from, label: self.a.create_label(), file: Box::new(file) };
        self.turned(branch, &turn)?;
        self.file = (*turn.file).clone();
        self.a.set_label(&mut turn.label)?;
        self.a.nop()?;
        (self.predicate, self.repeated) = (None, true);
        self.shapes.clear();
        for position in from..branch {
            self.step(position)?;
        }
        self.position = branch;
        self.file.unpin_all();
        self.before(branch)?;
        self.turned(branch, &turn)?;
        self.repeated = false;
        self.next_turn(&turn)
    }

    /// To a loop's next turn.
    fn next_turn(&mut self, turn: &Turn) -> Done {
        self.arrange(&turn.file, turn.from)?;
        self.a.jmp(turn.label)
    }

    /// To a label if so many steps are no longer left as the block has that begins at a position: it runs as a whole, or not at all.
    fn unless_block_fits(&mut self, from: u32, full: CodeLabel) -> Done {
        self.a.lea(rax, r8 + self.blocks[from as usize] as i32)?;
        self.a.cmp(rax, qword_ptr(at(offset_of!(Context, most))))?;
        self.a.ja(full)
    }

    /// The branch of a loop back to its start: goes on behind, or another turn follows.
    fn turned(&mut self, position: u32, turn: &Turn) -> Done {
        self.set_flushing(self.flushing_between)?;
        self.count(position + 1)?;
        self.a.inc(r9)?;
        self.load_predicate(eax, self.program.steps[position as usize].guard)?;
        let (through, full) = (self.a.create_label(), self.a.create_label());
        if self.masked() {
            self.a.and(eax, ebp)?;
            self.a.cmp(eax, ebp)?;
        } else {
            self.a.cmp(eax, -1)?;
        }
        self.a.jne(through)?;
        self.unless_block_fits(turn.from, full)?;
        let file = Box::new(self.file.clone());
        self.cold.push(Cold::Turned { through, full, position, turn: turn.clone(), file });
        Ok(())
    }

    /// Where one of several warps waits, and where runs begin, before a step.
    fn before(&mut self, position: u32) -> Done {
        let waits = self.waits.at(position as usize);
        let enters = self.leaders[position as usize] || waits;
        if !waits && !enters {
            return Ok(());
        }
        self.set_flushing(self.flushing_between)?;
        // Its masks are not those of a run that begins here.
        self.predicate = None;
        self.shapes.clear();
        if waits {
            let label = self.a.create_label();
            self.a.cmp(dword_ptr(at(offset_of!(Context, together))), 0)?;
            if let Some(meeting) = self.waits.meeting(position as usize) {
                let mut alone = self.a.create_label();
                self.a.je(alone)?;
                self.a.cmp(byte_ptr(at(offset_of!(Context, apart) + meeting)), 0)?;
                self.a.je(label)?;
                self.a.set_label(&mut alone)?;
                self.a.nop()?;
            } else {
                self.a.jne(label)?;
            }
            // One alone goes on to where others of its lanes, or of its block, may stand.
            let reach = self.reach[position as usize];
            self.a.cmp(dword_ptr(at(offset_of!(Context, stop))), (position + reach) as i32)?;
            self.a.jb(label)?;
            let file = Box::new(self.file.clone());
            self.cold.push(Cold::Waits { label, position, start: self.start, file });
        }
        if enters && !self.repeated {
            self.as_in_memory(position)?;
            let mut to = self.a.create_label();
            self.a.set_label(&mut to)?;
            self.a.nop()?;
            self.ways.push(Way { position, start: self.start, file: self.file.clone(), to });
        }
        Ok(())
    }

    /// Ways into a body from outside.
    fn enter(&mut self) -> Done<Vec<(u32, CodeLabel)>> {
        let mut labels = Vec::new();
        for Way { position, start, file, to } in std::mem::take(&mut self.ways) {
            let mut label = self.a.create_label();
            self.a.set_label(&mut label)?;
            self.a.nop()?;
            if self.masked() {
                self.a.mov(rcx, qword_ptr(rdi + offset_of!(Runner, width)))?;
                self.a.mov(dword_ptr(at(offset_of!(Context, lanes))), ebp)?;
                self.a.mov(qword_ptr(at(offset_of!(Context, width))), rcx)?;
            }
            self.lanes()?;
            self.load(&file)?;
            // The block counts its steps where it ends.
            if position > start {
                self.a.sub(r8, (position - start) as i32)?;
            }
            self.a.jmp(to)?;
            labels.push((position, label));
        }
        Ok(labels)
    }

    /// Counts the steps of the block before `end`.
    fn count(&mut self, end: u32) -> Done {
        match end - self.start {
            0 => Ok(()),
            steps => self.a.add(r8, steps as i32),
        }
    }

    /// A position, as runs say that they end there.
    fn marked(&self, position: u32) -> u32 {
        let step = self.program.steps.get(position as usize);
        if step.is_some_and(|step| matches!(step.kind, Kind::Exit)) { position | EXITED } else { position }
    }

    /// The label before which a run ends at a position.
    fn moved_to(&mut self, position: u32) -> CodeLabel {
        if let Some(&label) = self.moved.get(&position) {
            return label;
        }
        let label = self.a.create_label();
        self.moved.insert(position, label);
        label
    }

    /// Whether no code begins at a position.
    fn leaves(&self, position: u32) -> bool {
        let step = self.program.steps.get(position as usize);
        step.is_none_or(|step| step.kind.leaves())
    }

    /// Goes on at a position; all is flushed and counted.
    fn go(&mut self, target: u32) -> Done {
        let moved = self.moved_to(target);
        if self.leaves(target) {
            return self.a.jmp(moved);
        }
        if target > self.position {
            let reach = self.reach[target as usize];
            self.a.cmp(dword_ptr(at(offset_of!(Context, stop))), (target + reach) as i32)?;
            self.a.jb(moved)?;
        }
        self.unless_block_fits(target, moved)?;
        if target != self.position + 1 {
            self.a.jmp(self.labels[target as usize])?;
        }
        Ok(())
    }

    fn branch(&mut self, target: u32, guard: Pred) -> Done {
        let next = self.position + 1;
        self.set_flushing(self.flushing_between)?;
        self.flush(if guard == Pred::TRUE { [target; 2] } else { [target, next] })?;
        self.count(next)?;
        self.a.inc(r9)?;
        if guard == Pred::TRUE {
            return self.go(target);
        }
        self.load_predicate(eax, guard)?;
        let (mut through, parted) = (self.a.create_label(), self.a.create_label());
        if self.masked() {
            self.a.and(eax, ebp)?;
            self.a.cmp(eax, ebp)?;
        } else {
            self.a.cmp(eax, -1)?;
        }
        self.a.jne(through)?;
        self.go(target)?;
        if target == next && !self.leaves(next) {
            // Both ways are one.
            let label = self.labels[next as usize];
            self.a.jmp(label)?;
        }
        self.a.set_label(&mut through)?;
        self.a.test(eax, eax)?;
        self.a.jne(parted)?;
        self.cold.push(Cold::Parted { label: parted, position: self.position, back: None });
        self.add_width()?;
        self.go(next)
    }

    /// All lanes sat out.
    fn add_width(&mut self) -> Done {
        if self.masked() {
            self.a.add(r10, qword_ptr(at(offset_of!(Context, width))))
        } else {
            self.a.add(r10, 32)
        }
    }

    fn load_predicate(&mut self, to: AsmRegister32, predicate: Pred) -> Done {
        self.a.mov(to, dword_ptr(r15 + 4 * predicate.index() as i32))?;
        if predicate != Pred::register(predicate.index(), false) {
            self.a.not(to)?;
        }
        Ok(())
    }

    /// The lanes of a guarded step to `r11d`; those that sit out are counted.
    fn guard(&mut self, guard: Pred) -> Done {
        self.load_predicate(r11d, guard)?;
        self.a.and(r11d, ebp)?;
        self.a.mov(ecx, ebp)?;
        self.a.xor(ecx, r11d)?;
        self.a.popcnt(ecx, ecx)?;
        self.a.add(r10, rcx)
    }

    /// Calls the host for a step; counters are kept, all else is lost. The lanes are in `edx`.
    fn call_host(&mut self, position: u32, ended: CodeLabel) -> Done {
        self.counters(true)?;
        self.a.mov(rdi, qword_ptr(at(offset_of!(Context, host))))?;
        self.a.mov(esi, position)?;
        self.control(self.flushing, false)?;
        self.a.vzeroupper()?;
        self.a.call(qword_ptr(at(offset_of!(Context, call))))?;
        self.counters(false)?;
        self.control(false, self.flushing_between)?;
        self.a.test(eax, eax)?;
        self.a.jne(ended)?;
        self.control(self.flushing_between, self.flushing)
    }

    /// A step that is the host's.
    fn call_step(&mut self, guard: Pred) -> Done {
        let ended = self.a.create_label();
        self.called(guard, |emitter| emitter.call_host(emitter.position, ended))?;
        self.cold.push(Cold::Ended { label: ended, position: self.position, start: self.start, guard });
        Ok(())
    }

    /// A step that is a function of lanes.
    fn call_lanes(&mut self, which: u32, guard: Pred) -> Done {
        let operation = &raw const self.program.lanes[which as usize];
        self.called(guard, |emitter| {
            emitter.counters(true)?;
            emitter.a.mov(rdi, rbx)?;
            emitter.a.mov(rsi, operation.addr() as u64)?;
            emitter.a.mov(rax, lanes::call_lanes as *const () as u64)?;
            emitter.control(emitter.flushing, false)?;
            emitter.a.vzeroupper()?;
            emitter.a.call(rax)?;
            emitter.counters(false)?;
            emitter.control(false, emitter.flushing)
        })
    }

    /// Calls something with lanes in `edx`, if there are any; it finds all rows in memory, and leaves no register as it was.
    fn called(&mut self, guard: Pred, call: impl FnOnce(&mut Self) -> Done) -> Done {
        self.flush([self.position, self.position + 1])?;
        let mut over = self.a.create_label();
        if guard == Pred::TRUE {
            self.a.mov(edx, ebp)?;
        } else {
            self.guard(guard)?;
            self.a.mov(edx, r11d)?;
            self.a.test(edx, edx)?;
            self.a.je(over)?;
        }
        call(self)?;
        self.lanes_again()?;
        if guard != Pred::TRUE {
            self.a.set_label(&mut over)?;
            self.a.nop()?;
        }
        self.file = self.empty();
        self.predicate = None;
        self.shapes.clear();
        Ok(())
    }

    /// The host does the step instead from a label on, where lines lay as `before` says.
    fn or_host(&mut self, label: CodeLabel, resume: CodeLabel, before: File, guard: Pred) {
        self.cold.push(Cold::Host {
            label,
            resume,
            position: self.position,
            start: self.start,
            before: Box::new(before),
            after: Box::new(self.file.clone()),
            guarded: guard != Pred::TRUE,
            flushing: self.flushing,
            apart: self.apart,
        });
    }

    fn emit_cold(&mut self) -> Done {
        let mut ends = Vec::new();
        let mut rest = std::mem::take(&mut self.cold);
        while let Some(cold) = rest.pop().or_else(|| self.cold.pop()) {
            self.flushing = self.flushing_between;
            self.apart = false;
            match cold {
                Cold::Turned { mut through, mut full, position, turn, file } => {
                    self.position = position;
                    let from = turn.from;
                    self.a.set_label(&mut full)?;
                    self.a.nop()?;
                    self.file = (*file).clone();
                    self.flush([from; 2])?;
                    let moved = self.moved_to(from);
                    self.a.jmp(moved)?;
                    self.a.set_label(&mut through)?;
                    self.a.nop()?;
                    self.file = (*file).clone();
                    self.flush([from, position + 1])?;
                    let label = self.a.create_label();
                    self.a.test(eax, eax)?;
                    self.a.jne(label)?;
                    rest.push(Cold::Parted { label, position, back: Some((turn, file)) });
                    self.add_width()?;
                    self.go(position + 1)?;
                    if !self.leaves(position + 1) {
                        let next = self.labels[position as usize + 1];
                        self.a.jmp(next)?;
                    }
                }
                Cold::Host {
                    mut label,
                    resume,
                    position,
                    start,
                    before,
                    after,
                    guarded,
                    flushing,
                    apart,
                } => {
                    self.a.set_label(&mut label)?;
                    (self.position, self.flushing) = (position, flushing);
                    self.apart = apart;
                    self.file = *before;
                    self.flush([position, position + 1])?;
                    self.a.mov(edx, if guarded { r11d } else { ebp })?;
                    let ended = self.a.create_label();
                    self.call_host(position, ended)?;
                    ends.push((ended, position, start, Pred::TRUE));
                    self.load(&after)?;
                    self.lanes_again()?;
                    self.a.jmp(resume)?;
                }
                Cold::Mixed { mut label, resume, host } => {
                    self.a.set_label(&mut label)?;
                    self.a.test(r11d, r11d)?;
                    self.a.jne(host)?;
                    self.a.jmp(resume)?;
                }
                Cold::Parted { mut label, position, back } => {
                    self.a.set_label(&mut label)?;
                    self.a.nop()?;
                    self.part(position, back)?;
                }
                Cold::Arrived { mut leave, mut complete, position, start } => {
                    (self.position, self.start) = (position, start);
                    self.a.set_label(&mut complete)?;
                    self.a.nop()?;
                    self.complete()?;
                    self.count(position + 1)?;
                    let moved = self.moved_to(position + 1);
                    self.a.jmp(moved)?;
                    self.a.set_label(&mut leave)?;
                    self.a.nop()?;
                    self.count(position)?;
                    let moved = self.moved_to(position);
                    self.a.jmp(moved)?;
                }
                Cold::Ended { label, position, start, guard } => ends.push((label, position, start, guard)),
                Cold::Waits { mut label, position, start, file } => {
                    self.a.set_label(&mut label)?;
                    self.a.nop()?;
                    (self.position, self.start, self.file) = (position, start, *file);
                    self.flush([position; 2])?;
                    self.count(position)?;
                    let moved = self.moved_to(position);
                    self.a.jmp(moved)?;
                }
            }
        }
        for (mut label, position, start, guard) in ends {
            self.a.set_label(&mut label)?;
            self.a.add(r8, (position - start) as i32)?;
            // Before the step, or in it.
            let mut inside = self.a.create_label();
            self.a.cmp(eax, 2)?;
            self.a.jne(inside)?;
            if guard != Pred::TRUE {
                self.load_predicate(ecx, guard)?;
                self.a.not(ecx)?;
                self.a.and(ecx, ebp)?;
                self.a.popcnt(ecx, ecx)?;
                self.a.sub(r10, rcx)?;
            }
            self.a.mov(ecx, position)?;
            self.a.mov(eax, MOVED)?;
            self.a.jmp(self.done)?;
            self.a.set_label(&mut inside)?;
            self.a.inc(r8)?;
            self.a.mov(ecx, position)?;
            self.a.mov(eax, CALLED)?;
            self.a.jmp(self.done)?;
        }
        Ok(())
    }
}
