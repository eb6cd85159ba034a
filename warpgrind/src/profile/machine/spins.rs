//! Loops in which threads wait for what others write: each turn reads the same memory, and nothing that it computes is there
//! in the next one. How often one goes around is up to when the others write, and no two runs on a device agree.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use ptx_frontend::{
    Body, Function, FunctionKind, Instruction, Modifier, Modifiers, Module, Opcode, Operand, RegId,
};

use super::operands::registers;

/// The most instructions of such a loop.
const LONGEST: usize = 64;

/// The loops of a function, as places of its instructions.
pub fn loops(module: &Module, body: &Body) -> Vec<Range<usize>> {
    turns(module, body).filter(|turn| waits(module, body, turn.clone())).collect()
}

/// The same as lines of the PTX, of all functions of a module.
pub fn lines(module: &Module) -> Vec<RangeInclusive<u32>> {
    let of = |function: &Function| {
        let source = &module.sources[function.source.0 as usize];
        let body = function.body.as_ref()?;
        let line = |at: usize| source.line_column(body.instructions[at].span.start).0;
        Some(loops(module, body).into_iter().map(move |turn| line(turn.start)..=line(turn.end - 1)).collect())
    };
    module.functions.iter().filter_map(of).flat_map(|list: Vec<_>| list).collect()
}

/// What the threads of a kernel do that depends on how far others are by then.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Meets {
    /// They wait for others in [`loops`].
    pub waits: bool,
    /// They try a compare-and-swap again with what they read: [`is_tried`].
    pub tries: bool,
    /// Blocks take work from each other, or go round loops until others have done theirs.
    pub hands_out: bool,
}

impl Meets {
    /// Of a function by itself.
    fn of(module: &Module, function: &Function) -> Meets {
        let Some(body) = &function.body else { return Meets::default() };
        Meets {
            waits: !loops(module, body).is_empty(),
            tries: (0..body.instructions.len()).any(|at| is_tried(module, body, at)),
            hands_out: hands_out(module, body) || polls(module, body),
        }
    }

    /// Both.
    pub fn and(self, other: Meets) -> Meets {
        Meets {
            waits: self.waits || other.waits,
            tries: self.tries || other.tries,
            hands_out: self.hands_out || other.hands_out,
        }
    }
}

/// By kernel of a module: what it and the functions do that it may call, which may be any.
pub fn meets(module: &Module) -> BTreeMap<String, Meets> {
    let is_kernel = |function: &&Function| function.kind == FunctionKind::Entry;
    let called = module.functions.iter().filter(|function| !is_kernel(function));
    let called = called.fold(Meets::default(), |all, function| all.and(Meets::of(module, function)));
    let kernels = module.functions.iter().filter(is_kernel);
    kernels.map(|kernel| (kernel.name.to_string(), called.and(Meets::of(module, kernel)))).collect()
}

/// Whether an instruction is a compare-and-swap in a loop that tries it again with what was read: what it compares is computed
/// there.
pub fn is_tried(module: &Module, body: &Body, at: usize) -> bool {
    let of = &body.instructions[at];
    let op = module.op(of);
    if op.opcode != Opcode::Atom || !op.modifiers.has(Modifier::Cas) {
        return false;
    }
    let Some(Operand::Register(compared)) = body.operands(of).get(2) else { return false };
    let computes = |of: &Instruction| {
        let op = module.op(of);
        let operands = body.operands(of);
        let mut writes = false;
        for (_, operand) in operands.iter().enumerate().filter(|(at, _)| op.effects.writes_operand(*at)) {
            registers(body, operand, &mut |id| writes |= id == *compared);
        }
        let constant = op.opcode == Opcode::Mov && matches!(operands.get(1), Some(Operand::Integer(_)));
        writes && !constant
    };
    turns(module, body).any(|turn| turn.contains(&at) && body.instructions[turn].iter().any(computes))
}

/// Whether blocks take work from each other: an atomic operation on global memory says in a loop what is done next, so that who
/// comes sooner does more of it.
fn hands_out(module: &Module, body: &Body) -> bool {
    let takes = |at: usize| {
        let op = module.op(&body.instructions[at]);
        let counts = [Modifier::Add, Modifier::Inc, Modifier::Dec].iter().any(|of| op.modifiers.has(*of));
        let elsewhere = op.modifiers.has(Modifier::Shared) || op.modifiers.has(Modifier::SharedCta);
        let tells = matches!(body.operands(&body.instructions[at]).first(), Some(Operand::Register(_)));
        op.opcode == Opcode::Atom && counts && !elsewhere && tells
    };
    let taken: Vec<usize> = (0..body.instructions.len()).filter(|&at| takes(at)).collect();
    !taken.is_empty() && rounds(module, body).any(|turn| taken.iter().any(|at| turn.contains(at)))
}

/// Whether threads go round a loop that reads what others write in theirs: how many turns it takes depends on how far the
/// others are. A turn does more than to wait, as it writes too.
fn polls(module: &Module, body: &Body) -> bool {
    const STRONG: [Modifier; 4] =
        [Modifier::Volatile, Modifier::Relaxed, Modifier::Acquire, Modifier::Release];
    let does = |turn: &Range<usize>, opcode: Opcode| {
        body.instructions[turn.clone()].iter().any(|ptx| {
            let op = module.op(ptx);
            let elsewhere = op.modifiers.has(Modifier::Shared) || op.modifiers.has(Modifier::SharedCta);
            op.opcode == opcode && !elsewhere && STRONG.iter().any(|of| op.modifiers.has(*of))
        })
    };
    rounds(module, body).any(|turn| does(&turn, Opcode::Ld) && does(&turn, Opcode::St))
}

/// Whether a function is that by which threads print.
pub fn prints(function: &Function) -> bool {
    &*function.name == "vprintf"
}

/// Lines of the text at which it is called.
pub fn printing(module: &Module) -> BTreeSet<u32> {
    let calls = |body: &Body, ptx: &ptx_frontend::Instruction| {
        body.operands(ptx).iter().any(|operand| match operand {
            Operand::Function(id) => prints(&module.functions[id.0 as usize]),
            _ => false,
        })
    };
    let lines = module.functions.iter().flat_map(|function| {
        let source = &module.sources[function.source.0 as usize];
        let body = function.body.iter();
        body.flat_map(move |body| {
            let calls = body.instructions.iter().filter(move |ptx| calls(body, ptx));
            calls.map(|ptx| source.line_column(ptx.span.start).0)
        })
    });
    lines.collect()
}

/// Ranges of instructions that end with a branch to their beginning, if they are short.
fn turns<'a>(module: &'a Module, body: &'a Body) -> impl Iterator<Item = Range<usize>> + 'a {
    rounds(module, body).filter(|turn| turn.len() <= LONGEST)
}

/// Ranges of instructions that end with a branch to their beginning.
fn rounds<'a>(module: &'a Module, body: &'a Body) -> impl Iterator<Item = Range<usize>> + 'a {
    let ends =
        |at: usize| target(module, body, at).filter(|target| *target <= at).map(|target| target..at + 1);
    (0..body.instructions.len()).filter_map(ends)
}

/// Where an instruction branches to.
fn target(module: &Module, body: &Body, at: usize) -> Option<usize> {
    let of = &body.instructions[at];
    if module.op(of).opcode != Opcode::Bra {
        return None;
    }
    body.operands(of).iter().find_map(|operand| match operand {
        Operand::Label(id) => Some(body.labels.get(id.0 as usize)?.target as usize),
        _ => None,
    })
}

/// Whether a turn changes nothing, and reads what others may have changed.
fn waits(module: &Module, body: &Body, turn: Range<usize>) -> bool {
    let mut reads = false;
    // Registers that an earlier turn may have written, and those that this one has.
    let mut before: BTreeSet<RegId> = BTreeSet::new();
    let mut written: BTreeSet<RegId> = BTreeSet::new();
    for of in &body.instructions[turn.clone()] {
        let op = module.op(of);
        let asks = [Modifier::TestWait, Modifier::TryWait].iter().any(|&modifier| op.modifiers.has(modifier));
        match op.opcode {
            Opcode::Bra | Opcode::Fence | Opcode::Membar | Opcode::Nanosleep | Opcode::Vote => {}
            Opcode::Ld | Opcode::Atom => reads = true,
            Opcode::Mbarrier if asks => reads = true,
            _ if op.effects.is_pure() && !op.effects.reads_carry() => {}
            _ => return false,
        }
        let Uses { read, own } = uses(module, body, of);
        before.extend(read.difference(&written));
        written.extend(own);
    }
    let carried: BTreeSet<RegId> = before.intersection(&written).copied().collect();
    reads && (carried.is_empty() || only_delays(module, body, turn, &carried))
}

/// Whether registers that one turn hands to the next say no more than how long it takes: nobody reads them behind the loop, and
/// whether it ends does not follow from them.
fn only_delays(module: &Module, body: &Body, turn: Range<usize>, carried: &BTreeSet<RegId>) -> bool {
    let mut outside = body.instructions.iter().enumerate().filter(|(at, _)| !turn.contains(at));
    if outside.any(|(_, of)| !uses(module, body, of).read.is_disjoint(carried)) {
        return false;
    }
    let branches: Vec<(usize, usize)> =
        turn.clone().filter_map(|at| Some((at, target(module, body, at)?))).collect();
    let is_left_out = |at: usize| branches.iter().any(|&(from, to)| from < at && at < to && to <= turn.end);
    let ends = |at: usize| {
        branches.iter().any(|&(from, to)| from == at && (!turn.contains(&to) || at + 1 == turn.end))
    };
    // What the ends of the loop follow from, from behind.
    let mut decides: BTreeSet<RegId> = BTreeSet::new();
    for at in turn.clone().rev() {
        let of = &body.instructions[at];
        if ends(at) {
            decides.extend(of.guard.map(|guard| guard.register));
        }
        let Uses { read, own } = uses(module, body, of);
        if !own.is_disjoint(&decides) {
            if is_left_out(at) {
                return false;
            }
            decides = &(&decides - &own) | &read;
        }
    }
    decides.is_disjoint(carried)
}

/// Registers of an instruction.
struct Uses {
    read: BTreeSet<RegId>,
    own: BTreeSet<RegId>,
}

/// Those that it reads and writes. What is written under a guard may be what was there before.
fn uses(module: &Module, body: &Body, of: &Instruction) -> Uses {
    let op = module.op(of);
    let (mut read, mut own) = (BTreeSet::new(), BTreeSet::new());
    for (at, operand) in body.operands(of).iter().enumerate() {
        let to = if op.effects.writes_operand(at) { &mut own } else { &mut read };
        registers(body, operand, &mut |id| {
            to.insert(id);
        });
    }
    if let Some(guard) = of.guard {
        read.insert(guard.register);
        read.extend(&own);
    }
    Uses { read, own }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of these heads and bodies.
    fn module<'a>(functions: impl IntoIterator<Item = (&'a str, &'a str)>) -> Module {
        let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n".to_string();
        for (head, body) in functions {
            text +=
                &format!("{head}\n{{ .reg .u32 %r<9>; .reg .u64 %d<9>; .reg .pred %p;\n{body}\nret;\n}}\n");
        }
        let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.clone().into()));
        parsed.module.unwrap_or_else(|| panic!("{text}"))
    }

    fn kernel(body: &str) -> Module {
        module([(".entry k()", body)])
    }

    fn of(body: &str) -> Vec<RangeInclusive<u32>> {
        lines(&kernel(body))
    }

    /// What the kernel of a body does.
    fn meets_of(body: &str) -> Meets {
        meets(&kernel(body))["k"]
    }

    #[test]
    fn who_waits_changes_nothing() {
        let flag = "L:\nld.volatile.global.u32 %r0, [%d0];\nsetp.eq.u32 %p, %r0, 0;\n@%p bra L;";
        assert_eq!(of(flag), [7..=9]);
        let lock = "L:\natom.global.cas.b32 %r0, [%d0], 0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra L;";
        assert_eq!(of(lock), [7..=9]);
        let phase = concat!(
            "L:\nmov.u64 %d1, %globaltimer;\nsub.s64 %d2, %d1, %d0;\nsetp.lt.s64 %p, %d2, 9;\n@%p bra M;\nnanosleep.u32 %r1;\nM:\n",
            "mbarrier.try_wait.parity.shared.b64 %p, [%r2], %r3;\n@!%p bra L;"
        );
        assert_eq!(of(phase), [7..=14]);
        let counts = "L:\nld.volatile.global.u32 %r0, [%d0];\nadd.u32 %r1, %r1, 1;\nsetp.eq.u32 %p, %r0, 0;\n@%p bra L;";
        assert!(
            of(&format!("{counts}\nst.global.u32 [%d0], %r1;")).is_empty(),
            "it knows how often it went around"
        );
        let sum = "L:\nmov.u32 %r1, %r0;\natom.global.cas.b32 %r0, [%d0], %r1, 1;\nsetp.ne.u32 %p, %r0, %r1;\n@%p bra L;";
        assert!(of(sum).is_empty(), "it tries again with what it read");
        let patient = |behind: &str| {
            of(&format!(
                concat!(
                    "mov.u32 %r1, 0;\nL:\nsetp.lt.s32 %p, %r1, 16;\n@!%p bra N;\nadd.s32 %r1, %r1, 1;\nbra.uni M;\nN:\nnanosleep.u32 9;\nM:\n",
                    "mbarrier.try_wait.parity.shared.b64 %p, [%r2], %r3;\n@!%p bra L;\n{}"
                ),
                behind
            ))
        };
        assert_eq!(patient(""), [8..=16], "how often it went around says no more than how long it sleeps");
        assert!(patient("st.global.u32 [%d0], %r1;").is_empty(), "it is stored how often it went around");
        let bounded = concat!(
            "L:\nld.volatile.global.u32 %r0, [%d0];\nadd.u32 %r1, %r1, 1;\nsetp.eq.u32 %p, %r0, 0;\n",
            "@!%p bra M;\nsetp.lt.u32 %p, %r1, 9;\n@%p bra L;\nM:"
        );
        assert!(of(bounded).is_empty(), "it goes around so often at most");
        let stores = "L:\nld.volatile.global.u32 %r0, [%d0];\nst.global.u32 [%d1], 1;\nsetp.eq.u32 %p, %r0, 0;\n@%p bra L;";
        assert!(of(stores).is_empty());
    }

    #[test]
    fn work_is_handed_out_where_a_counter_says_what_is_next() {
        let hands = |body: &str| meets_of(body).hands_out;
        let next = |op: &str| {
            let long = "add.u32 %r1, %r1, %r0;\n".repeat(100);
            hands(&format!("L:\n{op}\n{long}setp.lt.u32 %p, %r0, 99;\n@%p bra L;"))
        };
        assert!(next("atom.global.add.u32 %r0, [%d0], 1;"));
        assert!(!next("red.global.add.u32 [%d0], 1;"));
        assert!(!next("atom.shared.add.u32 %r0, [%r2], 1;"));
        assert!(!next("atom.global.max.u32 %r0, [%d0], 1;"));
        assert!(!hands("atom.global.add.u32 %r0, [%d0], 1;"), "it is done once");
    }

    #[test]
    fn who_polls_reads_and_writes_in_a_loop() {
        let polled = |body: &str| meets_of(body).hands_out;
        let turn = |all: &str| polled(&format!("L:\n{all}\nsetp.lt.u32 %p, %r0, 99;\n@%p bra L;"));
        assert!(turn("ld.volatile.global.u32 %r0, [%d0];\nst.volatile.global.u32 [%d1], %r0;"));
        assert!(turn("ld.relaxed.gpu.global.u32 %r0, [%d0];\nst.release.gpu.global.u32 [%d1], %r0;"));
        assert!(
            !turn("ld.volatile.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;"),
            "nobody sees it in time"
        );
        assert!(!turn("ld.volatile.shared.u32 %r0, [%r1];\nst.volatile.global.u32 [%d1], %r0;"));
        assert!(!polled("ld.volatile.global.u32 %r0, [%d0];\nst.volatile.global.u32 [%d1], %r0;"), "no loop");
    }

    #[test]
    fn who_tries_again_compares_what_was_read() {
        let tried = |body: &str| {
            let module = kernel(body);
            let body = module.functions[0].body.as_ref().unwrap();
            (0..body.instructions.len()).filter(|&at| is_tried(&module, body, at)).collect::<Vec<_>>()
        };
        let sum = "L:\nmov.u32 %r1, %r0;\natom.global.cas.b32 %r0, [%d0], %r1, 1;\nsetp.ne.u32 %p, %r0, %r1;\n@%p bra L;";
        assert_eq!(tried(sum), [1]);
        let table = "L:\nmov.u32 %r1, 7;\natom.global.cas.b32 %r0, [%d0], %r1, 1;\nadd.u64 %d0, %d0, 4;\nsetp.ne.u32 %p, %r0, %r1;\n@%p bra L;";
        assert!(tried(table).is_empty(), "it looks for a free place");
        assert!(tried("atom.global.cas.b32 %r0, [%d0], %r1, 1;").is_empty());
        assert_eq!(meets_of(sum), Meets { tries: true, ..Meets::default() });
    }

    #[test]
    fn a_kernel_does_what_it_does_and_functions_do() {
        let wait = "L:\nld.volatile.global.u32 %r0, [%d0];\nsetp.eq.u32 %p, %r0, 0;\n@%p bra L;";
        let all = |functions: &[(&str, &str)]| {
            meets(&module(functions.iter().copied())).into_values().map(|of| of.waits).collect::<Vec<_>>()
        };
        assert_eq!(all(&[(".entry a()", wait), (".entry b()", "")]), [true, false]);
        assert_eq!(all(&[(".func f()", wait), (".entry a()", ""), (".entry b()", "")]), [true, true]);
    }
}
