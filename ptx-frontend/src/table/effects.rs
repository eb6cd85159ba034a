//! What an instruction does: which operands it writes, and what beyond registers it touches.

use isa::{Modifier, Modifiers, Opcode};

use super::expect::Expect;

/// What kind of work an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    /// Arithmetic and comparisons of the types it names.
    Arithmetic,
    /// Elementary functions, which `.f32` has a unit for.
    Elementary,
    /// Bits, as such.
    Bits,
    /// Conversions between types.
    Conversion,
    /// Values where they are, or one of two.
    Move,
    /// Addresses: what space they are in, whose they are.
    Address,
    /// Matrices in registers, or of a warpgroup.
    Matrix,
    /// Memory, in any space.
    Memory,
    /// Order and waiting: fences, barriers, the ends of asynchronous operations.
    Synchronization,
    /// Values that the lanes of a warp give each other.
    Exchange,
    /// Which instruction is next, and when.
    Control,
    /// Anything else: hints, policies, counters.
    Other,
}

/// What the rows of a section do besides computing registers, and what kind of work that is if it does not follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Does(u8, Option<Work>);

impl Does {
    pub(super) const NOTHING: Does = Does(0, None);
    /// Reads memory, in any space or proxy.
    pub(super) const READS: Does = Does(1, None);
    /// Writes memory.
    pub(super) const WRITES: Does = Does(2, None);
    /// Both.
    pub(super) const UPDATES: Does = Does(3, None);
    /// Orders accesses, or meets or waits for other threads.
    pub(super) const SYNCHRONIZES: Does = Does(4, None);
    /// Completes later than the instruction.
    pub(super) const ASYNCHRONOUS: Does = Does(8, None);
    /// Decides which instruction is next.
    pub(super) const JUMPS: Does = Does(16, None);
    /// Something else that is seen: a hint, a trap, time, the stack.
    pub(super) const OTHER: Does = Does(32, None);
    /// Adds to what its destination holds.
    pub(super) const ACCUMULATES: Does = Does(64, None);

    /// Both; of two kinds of work the other's.
    pub(super) const fn and(self, other: Does) -> Does {
        Does(self.0 | other.0, if other.1.is_some() { other.1 } else { self.1 })
    }

    /// The same as work of a kind.
    pub(super) const fn work(self, work: Work) -> Does {
        Does(self.0, Some(work))
    }

    /// The kind of work: what was said, or what follows from the rest.
    pub(super) const fn kind(self) -> Work {
        match self.1 {
            Some(work) => work,
            None if self.has(Does::UPDATES) => Work::Memory,
            None if self.has(Does::SYNCHRONIZES) => Work::Synchronization,
            None if self.has(Does::JUMPS) => Work::Control,
            None if self.has(Does::OTHER) => Work::Other,
            None => Work::Arithmetic,
        }
    }

    const fn has(self, other: Does) -> bool {
        self.0 & other.0 != 0
    }
}

/// What an instruction does, by its row of the table.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .u32 %r<3>;\n.reg .u64 %a;\n\
///     atom.global.add.u32 %r0, [%a], %r1; }";
/// let module = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into())).module.expect("valid");
/// let body = module.functions[0].body.as_ref().expect("defined");
/// let effects = module.op(&body.instructions[0]).effects;
/// assert!(effects.writes_operand(0) && !effects.writes_operand(1));
/// assert!(effects.reads_memory() && effects.writes_memory() && !effects.is_pure());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effects {
    /// Positions of the operands that are written, one bit each.
    written: u16,
    does: Does,
    carry_in: bool,
    carry_out: bool,
}

impl Effects {
    pub(super) fn new(opcode: Opcode, modifiers: &[Modifier], does: Does, expected: &[Expect]) -> Self {
        let written = expected.iter().zip(0..u16::BITS).filter(|(expect, _)| expect.flags.destination);
        Self {
            written: written.fold(0, |written, (_, at)| written | 1 << at),
            does,
            carry_in: matches!(opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc),
            carry_out: modifiers.has(Modifier::Cc),
        }
    }

    /// Whether the operand at a position is written; both registers of a pair, all elements of a vector are. Of
    /// a `call` its operands say it: results stand in a list before what is called.
    pub const fn writes_operand(self, at: usize) -> bool {
        at < u16::BITS as usize && self.written >> at & 1 != 0
    }

    /// Whether what is written is read, too: the accumulators of `wgmma`.
    pub const fn accumulates(self) -> bool {
        self.does.has(Does::ACCUMULATES)
    }

    /// Whether the carry flag is read (ISA 9.7.2).
    pub const fn reads_carry(self) -> bool {
        self.carry_in
    }

    /// Whether the carry flag is written.
    pub const fn writes_carry(self) -> bool {
        self.carry_out
    }

    /// Whether memory is read, in any space and through any proxy.
    pub const fn reads_memory(self) -> bool {
        self.does.has(Does::READS)
    }

    /// Whether memory is written.
    pub const fn writes_memory(self) -> bool {
        self.does.has(Does::WRITES)
    }

    /// Whether accesses are ordered, or other threads met or waited for: fences, barriers, warp-level operations,
    /// mbarriers, waits for asynchronous operations.
    pub const fn synchronizes(self) -> bool {
        self.does.has(Does::SYNCHRONIZES)
    }

    /// Whether the operation completes later than the instruction.
    pub const fn is_asynchronous(self) -> bool {
        self.does.has(Does::ASYNCHRONOUS)
    }

    /// Whether the instruction decides which one is next.
    pub const fn transfers_control(self) -> bool {
        self.does.has(Does::JUMPS)
    }

    /// What kind of work it is.
    pub const fn work(self) -> Work {
        self.does.kind()
    }

    /// Whether nothing is done but computing what is written. The carry flag counts as written down.
    pub const fn is_pure(self) -> bool {
        self.does.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::table::OperandRole;
    use crate::table::form::forms;

    /// By opcode: which operands its forms write (by position) and what else they do: read memory, write memory,
    /// synchronise, complete asynchronously, jump, something other, accumulate.
    fn letters() -> BTreeMap<&'static str, String> {
        let mut found: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for form in forms() {
            for modifiers in form.samples() {
                for effects in form.effects(&modifiers) {
                    let flags = [
                        (effects.reads_memory(), 'r'),
                        (effects.writes_memory(), 'w'),
                        (effects.synchronizes(), 's'),
                        (effects.is_asynchronous(), 'a'),
                        (effects.transfers_control(), 'j'),
                        (effects.does.has(Does::OTHER), 'o'),
                        (effects.accumulates(), '+'),
                    ];
                    let places = (0..16)
                        .filter(|&at| effects.writes_operand(at))
                        .map(|at| char::from(b'0' + at as u8));
                    let word: String =
                        places.chain(flags.iter().filter(|(is, _)| *is).map(|&(_, letter)| letter)).collect();
                    let word = if word.is_empty() { "-".to_owned() } else { word };
                    let words = found.entry(form.opcode().text()).or_default();
                    if !words.contains(&word) {
                        words.push(word);
                    }
                }
            }
        }
        found
            .into_iter()
            .map(|(opcode, mut words)| {
                words.sort_unstable();
                (opcode, words.join(" "))
            })
            .collect()
    }

    /// Read off the manual's syntax lines (ISA 9.7). Everything else computes its first operand and does no more.
    #[test]
    fn opcodes_do_what_the_manual_says() {
        let expected = "\
activemask: 0s
alloca: 0o
applypriority: o
atom: 0rw
bar: 0s s
barrier: 0s s
bra: j
brkpt: o
brx: j
call: j
clusterlaunchcontrol: 0 wa
cp: o rwa rwsa s
discard: w
elect: 0s
exit: j
fence: s
griddepcontrol: s
ld: 0r
ldmatrix: 0rs
ldu: 0r
match: 0s
mbarrier: 0 01rs 0r 0rs 0rws rws w
membar: s
mma: 0s
movmatrix: 0s
multimem: 0r rw rwa w
nanosleep: o
pmevent: o
prefetch: o
prefetchu: o
red: rw rwa
redux: 0s
ret: j
setmaxnreg: o
shfl: 0s
st: w wa
stackrestore: o
stacksave: 0o
stmatrix: ws
suld: 0r
sured: rw
sust: w
tcgen05: 01ra 0ra rwa s wa ws
tensormap: rw rws
tex: 0r
tld4: 0r
trap: jo
vote: 0s
wgmma: 0ra+ s
wmma: 0rs 0s ws
";
        let others: String = letters()
            .iter()
            .filter(|(_, words)| *words != "0")
            .map(|(opcode, words)| format!("{opcode}: {words}\n"))
            .collect();
        assert_eq!(others, expected);
    }

    /// What is work of a kind that does not follow from the rest, by the manual's sections: some that are known.
    #[test]
    fn opcodes_are_the_work_of_their_sections() {
        let expected = [
            (Work::Elementary, "cos div ex2 lg2 rcp rsqrt sin sqrt tanh"),
            (Work::Bits, "and bfe bfi bfind bmsk brev clz cnot fns lop3 not or popc prmt shf shl shr xor"),
            (Work::Conversion, "cvt"),
            (Work::Move, "mov selp"),
            (Work::Address, "cvta getctarank isspacep mapa"),
            (Work::Matrix, "mma movmatrix wgmma wmma"),
            (Work::Exchange, "activemask elect match redux shfl vote"),
            (Work::Control, "bra brkpt brx call exit nanosleep ret trap"),
        ];
        for (work, opcodes) in expected {
            for opcode in opcodes.split(' ') {
                let mut forms = forms().filter(|form| form.opcode().text() == opcode);
                assert!(forms.any(|form| form.work() == work), "{opcode}: {work:?}");
            }
        }
    }

    /// The operands that are written are the manual's `d`, `p`, `q` and results with names of their own; nothing is written
    /// where the manual has a constant, an address or a label.
    #[test]
    fn written_operands_are_registers() {
        for form in forms() {
            for modifiers in form.samples() {
                for (effects, operands) in form.effects(&modifiers).zip(form.operand_kinds(&modifiers)) {
                    for (at, operand) in operands.iter().enumerate() {
                        let is_destination = operand.role == OperandRole::Destination;
                        assert_eq!(
                            effects.writes_operand(at),
                            is_destination,
                            "{}: {}",
                            form.notation(),
                            operand.name
                        );
                    }
                }
            }
        }
    }
}
