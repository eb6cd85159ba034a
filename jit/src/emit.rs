//! From a program to machine code.
//!
//! Registers: `rbx` the context, `r12` to `r14` the rows of the frame, of the warp and of the constants, `r15` the
//! predicates, `ebp` the lanes that run; `r8`, `r9`, `r10` count steps, branches and idle lanes; `r11d` are the lanes of a
//! guarded step. `zmm29` to `zmm31` and `k7` are scratch, `k5` and `k6` the halves of one predicate, `k1` to `k4` the
//! lanes from 0, 16, 8 and 24 on, where not all run.
//!
//! There are two bodies: one for whole warps, and one for any lanes, in which lines in registers are right for those lanes
//! only and written back under their mask.

mod access;
mod compute;

use iced_x86::code_asm::*;
use iced_x86::{BlockEncoderOptions, IcedError};
use std::collections::BTreeMap;
use std::mem::offset_of;

use crate::context::{Context, Ran, Tables};
use crate::liveness::Liveness;
use crate::order;
use crate::program::{Kind, Program};
use crate::registers::{COUNT, File, Held, Line};
use semantics::formula::Width;
use semantics::lanes::{Pred, Slot};

type Done<T = ()> = Result<T, IcedError>;

/// Machine code.
pub(crate) struct Code {
    pub bytes: Vec<u8>,
    /// By position: where it is entered with all lanes, and with some; 0 where not.
    pub entries: Vec<[u32; 2]>,
    /// By position: steps from there to the end of the block.
    pub blocks: Vec<u32>,
    /// By position: whether it is worth to enter there, for a warp alone and for one of several.
    pub worth: Vec<[bool; 2]>,
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
/// The lanes of quarters of a warp.
const QUARTERS: [AsmRegisterK; 4] = [k1, k3, k2, k4];
/// The lanes of halves.
const HALVES: [AsmRegisterK; 2] = [k1, k2];

/// Compiled steps that make up for the time that a call of the host takes.
const CALL: u32 = 6;
/// Steps that are many.
const MANY: u32 = 64;

/// Scratch.
const S0: usize = 29;
const S1: usize = 30;
const S2: usize = 31;

const STEPS: usize = offset_of!(Context, ran) + offset_of!(Ran, steps);
const BRANCHES: usize = offset_of!(Context, ran) + offset_of!(Ran, branches);
const IDLE: usize = offset_of!(Context, ran) + offset_of!(Ran, idle);
const POSITION: usize = offset_of!(Context, ran) + offset_of!(Ran, position);
const TAKEN: usize = offset_of!(Context, ran) + offset_of!(Ran, taken);
const NAN: usize = offset_of!(Context, tables) + offset_of!(Tables, nan);

/// A place in the context.
fn at(offset: usize) -> AsmMemoryOperand {
    rbx + offset as i32
}

/// An operand of a vector instruction.
#[derive(Clone, Copy)]
enum Source {
    Register(usize),
    Memory(AsmMemoryOperand),
}

/// Lines of a register.
fn lines(width: Width) -> u32 {
    2 * width.rows()
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
    },
    /// The step is guarded and not all lanes take part: those of `r11d` do.
    Mixed {
        label: CodeLabel,
        resume: CodeLabel,
        host: CodeLabel,
    },
    Parted {
        label: CodeLabel,
        position: u32,
    },
    /// The branch of a loop back to its start: not all lanes take it, or no turn is to follow.
    Turned {
        through: CodeLabel,
        full: CodeLabel,
        position: u32,
        from: u32,
        file: Box<File>,
    },
    /// The host ended the run.
    Ended {
        label: CodeLabel,
        position: u32,
        start: u32,
    },
    /// One of several warps waits for the others before a step.
    Waits {
        label: CodeLabel,
        position: u32,
        start: u32,
        file: Box<File>,
    },
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
    /// Not all lanes run.
    masked: bool,
    file: File,
    /// The predicate register whose halves are in `k5` and `k6`.
    predicate: Option<u32>,
    labels: Vec<CodeLabel>,
    /// By position: steps from there to the end of the block.
    blocks: Vec<u32>,
    /// By position: whether a run of one of several warps ends before its step.
    waits: Vec<bool>,
    /// By position: whether it is worth to enter there, for a warp alone and for one of several.
    worth: Vec<[bool; 2]>,
    ways: Vec<Way>,
    /// A loop's further turns are emitted, which nobody enters from outside.
    repeated: bool,
    /// Where a run ends before a position.
    moved: BTreeMap<u32, CodeLabel>,
    cold: Vec<Cold>,
    done: CodeLabel,
    /// The step, and the first of its block.
    position: u32,
    start: u32,
}

/// Compiles a program; nothing if it is not to be.
pub(crate) fn emit(program: &Program) -> Option<Code> {
    let liveness = Liveness::new(program);
    let leaders = leaders(program);
    let waits = order::waits(program);
    let (alone, together) = (worth(program, &[]), worth(program, &waits));
    let enough = |worth: &[u32], at: usize, which: usize| worth[at] >= program.least[which].max(1);
    let worth = (0..program.steps.len())
        .map(|at| {
            [leaders[at] && enough(&alone, at, 0), (leaders[at] || waits[at]) && enough(&together, at, 1)]
        })
        .collect();
    let mut assembler = CodeAssembler::new(64).ok()?;
    // Registers above 15 need the other encoding.
    assembler.set_prefer_vex(false);
    let done = assembler.create_label();
    let mut emitter = Emitter {
        a: assembler,
        program,
        liveness: &liveness,
        masked: false,
        file: File::default(),
        predicate: None,
        labels: Vec::new(),
        blocks: blocks(program, &leaders),
        waits,
        worth,
        ways: Vec::new(),
        repeated: false,
        moved: BTreeMap::new(),
        cold: Vec::new(),
        done,
        position: 0,
        start: 0,
    };
    emitter.all(&leaders).ok()
}

/// By position: steps that follow from there on, at most, before code ends or waits, less what calls take; up to [`MANY`].
fn worth(program: &Program, waits: &[bool]) -> Vec<u32> {
    let mut worth = vec![0u32; program.steps.len() + 1];
    let behind = |worth: &[u32], at: usize| match waits.get(at) {
        Some(true) => 0,
        _ => worth.get(at).copied().unwrap_or(0),
    };
    // As often as loops need to count as many.
    for _ in 0..8 {
        for (at, step) in program.steps.iter().enumerate().rev() {
            let next = behind(&worth, at + 1);
            let own = match step.kind {
                Kind::Leave(_) => 0,
                Kind::Branch(target) => {
                    let target = behind(&worth, target as usize);
                    1 + if step.guard == Pred::TRUE { target } else { target.max(next) }
                }
                Kind::Call => next.saturating_sub(CALL),
                _ => 1 + next,
            };
            worth[at] = own.min(MANY);
        }
    }
    worth
}

/// By position: steps from there to the end of the block.
fn blocks(program: &Program, leaders: &[bool]) -> Vec<u32> {
    let mut steps = vec![0; program.steps.len() + 1];
    for at in (0..program.steps.len()).rev() {
        steps[at] = if leaders[at + 1] { 1 } else { steps[at + 1] + 1 };
    }
    steps
}

/// Positions at which blocks begin.
fn leaders(program: &Program) -> Vec<bool> {
    let mut leaders = vec![false; program.steps.len() + 1];
    leaders[0] = true;
    for (at, step) in program.steps.iter().enumerate() {
        match step.kind {
            Kind::Branch(target) => {
                leaders[at + 1] = true;
                if let Some(leader) = leaders.get_mut(target as usize) {
                    *leader = true;
                }
            }
            Kind::Leave(_) => {
                leaders[at] = true;
                leaders[at + 1] = true;
            }
            _ => {}
        }
    }
    leaders
}

impl Emitter<'_> {
    fn all(&mut self, leaders: &[bool]) -> Done<Code> {
        self.prologue()?;
        let mut entries = [const { Vec::new() }; 2];
        for (masked, entries) in [false, true].into_iter().zip(&mut entries) {
            self.masked = masked;
            *entries = self.body(leaders)?;
        }
        self.epilogue()?;
        let result = self.a.assemble_options(0, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let mut offsets = vec![[0; 2]; self.program.steps.len()];
        for (which, entries) in entries.iter().enumerate() {
            for (position, label) in entries {
                offsets[*position as usize][which] = result.label_ip(label)? as u32;
            }
        }
        let (blocks, worth) = (std::mem::take(&mut self.blocks), std::mem::take(&mut self.worth));
        Ok(Code { bytes: result.inner.code_buffer, entries: offsets, blocks, worth })
    }

    fn prologue(&mut self) -> Done {
        for register in [rbp, rbx, r12, r13, r14, r15] {
            self.a.push(register)?;
        }
        self.a.sub(rsp, 8)?;
        self.a.mov(rbx, rdi)?;
        for (number, register) in [r12, r13, r14].into_iter().enumerate() {
            self.a.mov(register, qword_ptr(at(offset_of!(Context, rows) + 8 * number)))?;
        }
        self.a.mov(r15, qword_ptr(at(offset_of!(Context, predicates))))?;
        self.a.mov(ebp, dword_ptr(at(offset_of!(Context, lanes))))?;
        self.a.xor(r8d, r8d)?;
        self.a.xor(r9d, r9d)?;
        self.a.xor(r10d, r10d)?;
        self.a.jmp(rsi)
    }

    /// `eax` says why.
    fn epilogue(&mut self) -> Done {
        let moved: Vec<_> = self.moved.iter().map(|(&position, &label)| (position, label)).collect();
        for (position, mut label) in moved {
            self.a.set_label(&mut label)?;
            self.a.mov(dword_ptr(at(POSITION)), position as i32)?;
            self.a.xor(eax, eax)?;
            self.a.jmp(self.done)?;
        }
        self.a.set_label(&mut self.done)?;
        self.counters(true)?;
        self.a.vzeroupper()?;
        self.a.add(rsp, 8)?;
        for register in [r15, r14, r13, r12, rbx, rbp] {
            self.a.pop(register)?;
        }
        self.a.ret()
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

    /// One body; where it can be entered.
    fn body(&mut self, leaders: &[bool]) -> Done<Vec<(u32, CodeLabel)>> {
        let program = self.program;
        let count = program.steps.len() as u32;
        self.labels = (0..=count).map(|_| self.a.create_label()).collect();
        for position in 0..count {
            self.position = position;
            let step = &program.steps[position as usize];
            if leaders[position as usize] {
                (self.start, self.predicate) = (position, None);
                self.file = File::default();
            }
            if let Kind::Leave(_) = step.kind {
                continue;
            }
            if leaders[position as usize] {
                self.a.set_label(&mut self.labels[position as usize])?;
                self.a.nop()?;
            }
            if let Some(from) = self.repeats(position) {
                self.turn(from, position, None)?;
                self.again(from, position)?;
                continue;
            }
            if let Kind::Branch(target) = step.kind {
                self.file.unpin_all();
                self.before(position)?;
                self.branch(target, step.guard)?;
                continue;
            }
            self.step(position)?;
            if leaders[position as usize + 1] {
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
        self.before(position)?;
        let step = &self.program.steps[position as usize];
        match &step.kind {
            Kind::Compute(formula, operands) => self.compute(*formula, operands, step.guard),
            Kind::Access(access) => self.access(access, step.guard),
            Kind::Call => self.call_step(step.guard),
            Kind::Nothing | Kind::Branch(_) | Kind::Leave(_) => Ok(()),
        }
    }

    /// Where the block begins that a branch ends, if it leads there: that of a loop without others in it.
    fn repeats(&self, position: u32) -> Option<u32> {
        let step = &self.program.steps[position as usize];
        let target = if let Kind::Branch(target) = step.kind { target } else { return None };
        (step.guard != Pred::TRUE && target == self.start && target < position).then_some(target)
    }

    /// The steps of a loop once more, for its second and further turns: what lies in registers stays there.
    fn again(&mut self, from: u32, branch: u32) -> Done {
        for register in 0..COUNT {
            if let Some(held) = &mut self.file.held[register]
                && held.line.is_frame()
            {
                let row = held.line.row();
                held.dirty = (from..branch).any(|at| self.program.steps[at as usize].writes(row));
                if !self.liveness.is_live(from, row) {
                    self.file.held[register] = None;
                }
            }
        }
        let file = self.file.clone();
        let mut label = self.a.create_label();
        self.a.set_label(&mut label)?;
        self.a.nop()?;
        (self.predicate, self.repeated) = (None, true);
        for position in from..branch {
            self.step(position)?;
        }
        self.position = branch;
        self.turn(from, branch, Some((&file, label)))?;
        self.repeated = false;
        Ok(())
    }

    /// The branch of a loop back to its start: goes on behind, or to where the registers hold what they held.
    fn turn(&mut self, from: u32, position: u32, to: Option<(&File, CodeLabel)>) -> Done {
        self.file.unpin_all();
        self.before(position)?;
        self.count(position + 1)?;
        self.a.inc(r9)?;
        self.load_predicate(eax, self.program.steps[position as usize].guard)?;
        let (through, full) = (self.a.create_label(), self.a.create_label());
        if self.masked {
            self.a.and(eax, ebp)?;
            self.a.cmp(eax, ebp)?;
        } else {
            self.a.cmp(eax, -1)?;
        }
        self.a.jne(through)?;
        self.a.lea(rax, r8 + self.blocks[from as usize] as i32)?;
        self.a.cmp(rax, qword_ptr(at(offset_of!(Context, most))))?;
        self.a.ja(full)?;
        let file = Box::new(self.file.clone());
        self.cold.push(Cold::Turned { through, full, position, from, file });
        match to {
            Some((file, label)) => {
                self.arrange(file, from)?;
                self.a.jmp(label)
            }
            None => Ok(()),
        }
    }

    /// Makes registers hold what they hold in `to`, where a position follows.
    fn arrange(&mut self, to: &File, next: u32) -> Done {
        let mut moves = Vec::new();
        for register in 0..COUNT {
            let Some(held) = self.file.held[register] else { continue };
            match to.held.iter().position(|other| other.is_some_and(|other| other.line == held.line)) {
                Some(other) if other == register => {}
                Some(other) => moves.push((other, register)),
                None if held.dirty && self.liveness.is_live(next, held.line.row()) => {
                    self.store(register, held)?;
                }
                None => {}
            }
        }
        // A register is written once nothing else is to be read from it.
        while !moves.is_empty() {
            let free = |&(to, _): &(usize, usize)| moves.iter().all(|&(_, from)| from != to);
            match moves.iter().position(free) {
                Some(at) => {
                    let (to, from) = moves.swap_remove(at);
                    self.a.vmovdqa64(Z[to], Z[from])?;
                }
                // All that are left go round; the masked store above is done with the scratch register.
                None => {
                    let (_, from) = moves[0];
                    self.a.vmovdqa64(Z[S0], Z[from])?;
                    moves[0].1 = S0;
                }
            }
        }
        for (register, held) in to.held.iter().enumerate() {
            if let Some(held) = held
                && self.file.peek(held.line).is_none()
            {
                self.a.vmovdqa64(Z[register], zmmword_ptr(self.place(held.line)))?;
            }
        }
        Ok(())
    }

    /// Where one of several warps waits, and where runs begin, before a step.
    fn before(&mut self, position: u32) -> Done {
        let waits = self.waits[position as usize];
        let enters = self.worth[position as usize] != [false; 2];
        if !waits && !enters {
            return Ok(());
        }
        // Its masks are not those of a run that begins here.
        self.predicate = None;
        if waits {
            let label = self.a.create_label();
            self.a.cmp(dword_ptr(at(offset_of!(Context, together))), 0)?;
            self.a.jne(label)?;
            let file = Box::new(self.file.clone());
            self.cold.push(Cold::Waits { label, position, start: self.start, file });
        }
        if enters && !self.repeated {
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

    /// Loads what registers hold.
    fn load(&mut self, file: &File) -> Done {
        for (held, register) in file.held.iter().zip(Z) {
            if let Some(held) = held {
                self.a.vmovdqa64(register, zmmword_ptr(self.place(held.line)))?;
            }
        }
        Ok(())
    }

    /// Sets the masks of lanes.
    fn lanes(&mut self) -> Done {
        if self.masked {
            self.a.kmovd(k1, ebp)?;
            self.a.kshiftrd(k3, k1, 8)?;
            self.a.kshiftrd(k2, k1, 16)?;
            self.a.kshiftrd(k4, k1, 24)?;
        }
        Ok(())
    }

    /// Counts the steps of the block before `end`.
    fn count(&mut self, end: u32) -> Done {
        match end - self.start {
            0 => Ok(()),
            steps => self.a.add(r8, steps as i32),
        }
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
        step.is_none_or(|step| matches!(step.kind, Kind::Leave(_)))
    }

    /// Goes on at a position; all is flushed and counted.
    fn go(&mut self, target: u32) -> Done {
        let moved = self.moved_to(target);
        if self.leaves(target) {
            return self.a.jmp(moved);
        }
        // A block runs as a whole, or not at all.
        let steps = self.blocks[target as usize];
        if target > self.position {
            self.a.cmp(dword_ptr(at(offset_of!(Context, stop))), (target + steps) as i32)?;
            self.a.jb(moved)?;
        }
        self.a.lea(rax, r8 + steps as i32)?;
        self.a.cmp(rax, qword_ptr(at(offset_of!(Context, most))))?;
        self.a.ja(moved)?;
        if target != self.position + 1 {
            self.a.jmp(self.labels[target as usize])?;
        }
        Ok(())
    }

    fn branch(&mut self, target: u32, guard: Pred) -> Done {
        let next = self.position + 1;
        self.flush(if guard == Pred::TRUE { [target; 2] } else { [target, next] })?;
        self.count(next)?;
        self.a.inc(r9)?;
        if guard == Pred::TRUE {
            return self.go(target);
        }
        self.load_predicate(eax, guard)?;
        let (mut through, parted) = (self.a.create_label(), self.a.create_label());
        if self.masked {
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
        self.cold.push(Cold::Parted { label: parted, position: self.position });
        self.add_width()?;
        self.go(next)
    }

    /// All lanes sat out.
    fn add_width(&mut self) -> Done {
        if self.masked {
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

    /// A place in a row.
    fn place(&self, line: Line) -> AsmMemoryOperand {
        let base = [r12, r13, r14][usize::from(line.base)];
        base + 64 * line.number as i32
    }

    fn line(&self, slot: Slot, number: u32) -> Line {
        let base = if slot.is_constant() {
            2
        } else if slot.is_warp() {
            1
        } else {
            Line::FRAME
        };
        Line { base, number: 2 * slot.row() + number }
    }

    /// Whether all lanes of an operand have one value.
    fn is_uniform(&self, slot: Slot) -> bool {
        slot.is_constant() && self.program.uniform.get(slot.row() as usize).is_some_and(|uniform| *uniform)
    }

    /// The value of a constant that is known.
    fn known(&self, slot: Slot) -> Option<u64> {
        self.program.known.iter().find(|(known, _)| *known == slot).map(|&(_, value)| value)
    }

    /// Writes a line to memory.
    fn store(&mut self, from: usize, held: Held) -> Done {
        let place = self.place(held.line);
        if !self.masked {
            return self.a.vmovdqa64(zmmword_ptr(place), Z[from]);
        }
        self.a.vmovdqa64(Z[S2], zmmword_ptr(place))?;
        match held.width {
            Width::Word => self.a.vmovdqa32(Z[S2].k(HALVES[held.index as usize]), Z[from])?,
            Width::Double => self.a.vmovdqa64(Z[S2].k(QUARTERS[held.index as usize]), Z[from])?,
        }
        self.a.vmovdqa64(zmmword_ptr(place), Z[S2])
    }

    /// A register for something new.
    fn new_register(&mut self) -> Done<usize> {
        let (register, was) = self.file.choose();
        if let Some(held) = was
            && held.dirty
            && [0, 1].iter().any(|more| self.liveness.is_live(self.position + more, held.line.row()))
        {
            self.store(register, held)?;
        }
        Ok(register)
    }

    /// The register that a line of an operand is in.
    fn fetch(&mut self, slot: Slot, width: Width, number: u32) -> Done<usize> {
        let line = self.line(slot, number);
        if let Some(register) = self.file.find(line) {
            return Ok(register);
        }
        let register = self.new_register()?;
        self.a.vmovdqa64(Z[register], zmmword_ptr(self.place(line)))?;
        self.file.put(register, Held::new(line, width, number, false));
        Ok(register)
    }

    /// A line of an operand, of a constant as memory.
    fn source(&mut self, slot: Slot, width: Width, number: u32) -> Done<Source> {
        let line = self.line(slot, number);
        if self.is_uniform(slot) && self.file.peek(line).is_none() {
            let place = r14 + 128 * slot.row() as i32;
            return Ok(Source::Memory(match width {
                Width::Word => dword_bcst(place),
                Width::Double => qword_bcst(place),
            }));
        }
        Ok(Source::Register(self.fetch(slot, width, number)?))
    }

    /// A register has the new value of a line of a result, for the lanes of the step.
    fn finish(&mut self, slot: Slot, width: Width, number: u32, new: usize, guard: Pred) -> Done {
        let line = self.line(slot, number);
        if guard == Pred::TRUE {
            self.file.forget(line);
            self.file.put(new, Held::new(line, width, number, true));
            return Ok(());
        }
        let old = self.fetch(slot, width, number)?;
        let shift = number * if width == Width::Word { 16 } else { 8 };
        self.a.mov(eax, r11d)?;
        if shift != 0 {
            self.a.shr(eax, shift)?;
        }
        self.a.kmovd(k7, eax)?;
        match width {
            Width::Word => self.a.vmovdqa32(Z[old].k7(), Z[new])?,
            Width::Double => self.a.vmovdqa64(Z[old].k7(), Z[new])?,
        }
        self.file.put(old, Held::new(line, width, number, true));
        self.file.pin(old);
        Ok(())
    }

    /// Writes back what may be read at two positions.
    fn flush(&mut self, next: [u32; 2]) -> Done {
        for register in 0..COUNT {
            if let Some(held) = &mut self.file.held[register]
                && std::mem::replace(&mut held.dirty, false)
            {
                let held = *held;
                if next.iter().any(|&next| self.liveness.is_live(next, held.line.row())) {
                    self.store(register, held)?;
                } else {
                    self.file.held[register] = None;
                }
            }
        }
        Ok(())
    }

    /// Calls the host for a step; counters are kept, all else is lost. The lanes are in `edx`.
    fn call_host(&mut self, position: u32, ended: CodeLabel) -> Done {
        self.counters(true)?;
        self.a.mov(rdi, qword_ptr(at(offset_of!(Context, host))))?;
        self.a.mov(esi, position)?;
        self.a.vzeroupper()?;
        self.a.call(qword_ptr(at(offset_of!(Context, call))))?;
        self.counters(false)?;
        self.a.test(eax, eax)?;
        self.a.jne(ended)
    }

    /// A step that is the host's.
    fn call_step(&mut self, guard: Pred) -> Done {
        self.flush([self.position, self.position + 1])?;
        let (mut over, ended) = (self.a.create_label(), self.a.create_label());
        if guard == Pred::TRUE {
            self.a.mov(edx, ebp)?;
        } else {
            self.guard(guard)?;
            self.a.mov(edx, r11d)?;
            self.a.test(edx, edx)?;
            self.a.je(over)?;
        }
        self.call_host(self.position, ended)?;
        self.lanes()?;
        if guard != Pred::TRUE {
            self.a.set_label(&mut over)?;
            self.a.nop()?;
        }
        self.cold.push(Cold::Ended { label: ended, position: self.position, start: self.start });
        self.file = File::default();
        self.predicate = None;
        Ok(())
    }

    fn emit_cold(&mut self) -> Done {
        let mut ends = Vec::new();
        let mut rest = std::mem::take(&mut self.cold);
        while let Some(cold) = rest.pop() {
            match cold {
                Cold::Turned { mut through, mut full, position, from, file } => {
                    self.position = position;
                    self.a.set_label(&mut full)?;
                    self.a.nop()?;
                    self.file = (*file).clone();
                    self.flush([from; 2])?;
                    let moved = self.moved_to(from);
                    self.a.jmp(moved)?;
                    self.a.set_label(&mut through)?;
                    self.a.nop()?;
                    self.file = *file;
                    self.flush([from, position + 1])?;
                    let label = self.a.create_label();
                    self.a.test(eax, eax)?;
                    self.a.jne(label)?;
                    rest.push(Cold::Parted { label, position });
                    self.add_width()?;
                    self.go(position + 1)?;
                    if !self.leaves(position + 1) {
                        let next = self.labels[position as usize + 1];
                        self.a.jmp(next)?;
                    }
                }
                Cold::Host { mut label, resume, position, start, before, after, guarded } => {
                    self.a.set_label(&mut label)?;
                    self.position = position;
                    self.file = *before;
                    self.flush([position, position + 1])?;
                    self.a.mov(edx, if guarded { r11d } else { ebp })?;
                    let ended = self.a.create_label();
                    self.call_host(position, ended)?;
                    ends.push((ended, position, start));
                    self.load(&after)?;
                    self.lanes()?;
                    self.a.jmp(resume)?;
                }
                Cold::Mixed { mut label, resume, host } => {
                    self.a.set_label(&mut label)?;
                    self.a.test(r11d, r11d)?;
                    self.a.jne(host)?;
                    self.a.jmp(resume)?;
                }
                Cold::Parted { mut label, position } => {
                    self.a.set_label(&mut label)?;
                    self.a.mov(dword_ptr(at(TAKEN)), eax)?;
                    self.a.mov(dword_ptr(at(POSITION)), position as i32)?;
                    self.a.mov(eax, 1)?;
                    self.a.jmp(self.done)?;
                }
                Cold::Ended { label, position, start } => ends.push((label, position, start)),
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
        for (mut label, position, start) in ends {
            self.a.set_label(&mut label)?;
            self.a.add(r8, (position + 1 - start) as i32)?;
            self.a.mov(dword_ptr(at(POSITION)), position as i32)?;
            self.a.mov(eax, 2)?;
            self.a.jmp(self.done)?;
        }
        Ok(())
    }

    /// The halves of a predicate register to `k5` and `k6`.
    fn halves(&mut self, index: u32) -> Done {
        let place = r15 + 4 * index as i32;
        self.a.kmovw(k5, word_ptr(place))?;
        self.a.kmovw(k6, word_ptr(place + 2))
    }
}

/// A mask register as a mask of an operand.
trait Masked {
    fn k(self, mask: AsmRegisterK) -> Self;
}

macro_rules! masked {
    ($($register:ty)*) => {$(
        impl Masked for $register {
            fn k(self, mask: AsmRegisterK) -> Self {
                match mask {
                    mask if mask == k1 => self.k1(),
                    mask if mask == k2 => self.k2(),
                    mask if mask == k3 => self.k3(),
                    mask if mask == k4 => self.k4(),
                    mask if mask == k5 => self.k5(),
                    mask if mask == k6 => self.k6(),
                    _ => self.k7(),
                }
            }
        }
    )*};
}

masked!(AsmRegisterZmm AsmRegisterK);
