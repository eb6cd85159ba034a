//! What is compiled: a kernel's instructions, as far as a compiler needs to know them.

use semantics::formula::{Formula, Width};
use semantics::lanes::{LaneFn, LaneMask, Operands, Pred, Slot};
use std::sync::Arc;

/// The instructions of a function, by position from its start.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// One an instruction.
    pub steps: Vec<Step>,
    /// Rows of the frame.
    pub rows: u32,
    /// Those in which all lanes have one value that stand at one place, whichever way they came, in order.
    pub uniform_rows: Vec<u32>,
    /// Code is begun with only where at least so many steps may follow: of a warp alone, of one of several.
    pub least: [u32; 2],
    /// Whether all is compiled, or only what is likely to be faster for it.
    pub all: bool,
    /// Whether warps run it one by one, whoever runs it.
    pub alone: bool,
    /// Whether a thread may wait for another, in the kernel or in what it calls.
    pub waits: bool,
    /// Constants that are known now: the value of every lane, by the slot of the first row.
    pub known: Vec<(Slot, u64)>,
    /// By row of a constant: whether all its lanes have one value.
    pub uniform: Vec<bool>,
    /// Lane operations that code calls.
    pub lanes: Arc<[Lanes]>,
}

/// A lane operation that is no formula.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// What does it.
    pub run: LaneFn,
    /// Of what.
    pub operands: Operands,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// Lanes where this does not hold sit out.
    pub guard: Pred,
    /// What the others do.
    pub kind: Kind,
    /// What it means for other warps.
    pub effect: Effect,
    /// Whether all lanes that make it together get one value from it.
    pub uniform: bool,
    /// Whether a thread may use it to wait for another: lanes that part before it are soon left to the caller, as how far they
    /// go may matter to those they wait for.
    pub awaits: bool,
}

/// Memories that warps share, as a set of bits.
pub type Memories = u8;

/// Operations on memories that warps share, as a set of bits: as many a kind as there are memories.
pub type Updates = u16;

/// Kinds of operations on elements each of which commutes with others of its kind, as nobody is told what it found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the manual's mnemonics")]
pub enum Commuting {
    Add,
    And,
    Or,
    Xor,
    Minimum,
    Maximum,
    MinimumSigned,
    MaximumSigned,
}

/// What a step means for other warps that run together with its own, as if all made each step together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effect {
    /// What it reads of what others may write.
    pub reads: Memories,
    /// What it writes of what others may read or write.
    pub writes: Memories,
    /// What it makes of elements in an order that does not matter.
    pub updates: Updates,
    /// It is a branch at which lanes or warps may go different ways.
    pub parts: bool,
}

impl Effect {
    /// Anything.
    pub const ALL: Effect =
        Effect { reads: Memories::MAX, writes: Memories::MAX, updates: Updates::MAX, parts: true };

    /// An operation on elements of memories, of which nobody is told what it found.
    pub fn updating(memories: Memories, how: Commuting) -> Effect {
        let updates = Updates::from(memories & KIND as Memories) << (KINDS * how as u32);
        Effect { updates, ..Effect::default() }
    }

    /// Whether it matters which of them is done first.
    pub(crate) fn conflicts(self, other: Effect) -> bool {
        let touched = |effect: Effect| effect.reads | effect.writes | updated(effect.updates);
        let kinds = |effect: Effect, memory: Updates| {
            (0..Updates::BITS / KINDS)
                .filter(|kind| effect.updates >> (KINDS * kind) & memory != 0)
                .fold(0, |all, kind| all | 1u32 << kind)
        };
        let both_update = (0..KINDS).any(|memory| {
            let [own, others] = [self, other].map(|effect| kinds(effect, 1 << memory));
            // Of one kind, the same one.
            own != 0 && others != 0 && (own | others).count_ones() > 1
        });
        self.writes & touched(other) != 0
            || other.writes & touched(self) != 0
            || self.reads & updated(other.updates) != 0
            || other.reads & updated(self.updates) != 0
            || both_update
    }

    /// Whether it accesses what others may access.
    pub(crate) fn accesses(self) -> bool {
        self.reads | self.writes != 0 || self.updates != 0
    }

    /// Both.
    pub(crate) fn and(self, other: Effect) -> Effect {
        Effect {
            reads: self.reads | other.reads,
            writes: self.writes | other.writes,
            updates: self.updates | other.updates,
            parts: self.parts | other.parts,
        }
    }
}

/// Bits of a kind of updates.
const KINDS: u32 = 2;
const KIND: Updates = (1 << KINDS) - 1;

/// The memories of updates.
fn updated(updates: Updates) -> Memories {
    (0..Updates::BITS / KINDS).fold(0, |all, kind| all | (updates >> (KINDS * kind) & KIND) as Memories)
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A lane operation.
    Compute(Formula, Operands),
    /// One of [`Program::lanes`], and what it reads of the frame, or writes for some lanes.
    Lanes(u32, Uses),
    /// A load or store of one element a lane.
    Access(Access),
    /// A read-modify-write of one element a lane, in the order of the lanes.
    Atomic(Atomic),
    /// What the lanes of a warp tell each other: code where all of them run, else something that
    /// [`Context::call`](crate::Context::call) does. It has no guard.
    Exchange(Exchange),
    /// Something that [`Context::call`](crate::Context::call) does, after which the next step follows, and what it reads
    /// of the frame, or writes for some lanes.
    Call(Uses),
    /// A branch to a position.
    Branch(u32),
    /// Nothing.
    Nothing,
    /// What lanes store before it is stored before they load behind it; all else is in order without.
    Fence,
    /// All warps of the block wait for each other here; one alone leaves code, all of them pass.
    Barrier,
    /// A warp comes to a barrier that waits for a count of threads: code where all lanes of a warp of the context's team do, as
    /// long as [`Context::most_counted`](crate::Context::most_counted) allows it; else code ends before it. It has no guard.
    Arrive(Arrive),
    /// The end of all lanes that come here; one warp alone leaves code, all of a block are over.
    Exit,
    /// Something after which compiled code does not go on by itself, and what it reads of the frame.
    Leave(Uses),
}

impl Kind {
    /// Whether code ends before it.
    pub(crate) const fn leaves(&self) -> bool {
        matches!(self, Kind::Barrier | Kind::Exit | Kind::Leave(_))
    }
}

/// A warp comes to a barrier that waits for a count of threads (ISA 9.7.13.1). What the first lane has counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrive {
    /// The barrier's number.
    pub id: Slot,
    /// How many threads it waits for.
    pub count: Slot,
    /// Whether the warp waits.
    pub waits: bool,
}

/// What all lanes of a warp tell each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// They wait for each other.
    Nothing,
    /// Each gets the word of another one.
    Permute {
        /// The words.
        from: Slot,
        /// What each gets.
        to: Option<Slot>,
        /// By lane: whose.
        sources: [u8; 32],
        /// This predicate, if it is one, is set to this.
        flag: (Pred, LaneMask),
    },
    /// All get the predicates of all as a word.
    Ballot(Pred, Slot),
    /// A predicate is set for all.
    Vote(Pred, Vote, Pred),
}

impl Exchange {
    /// Slots that are read or written.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let [a, b] = match *self {
            Exchange::Permute { from, to, .. } => [Some(from), to],
            Exchange::Ballot(_, to) => [Some(to), None],
            Exchange::Nothing | Exchange::Vote(..) => [None; 2],
        };
        a.into_iter().chain(b)
    }

    /// What is written.
    pub(crate) fn result(&self) -> Option<Slot> {
        match *self {
            Exchange::Permute { to, .. } => to,
            Exchange::Ballot(_, to) => Some(to),
            Exchange::Nothing | Exchange::Vote(..) => None,
        }
    }
}

/// What of predicates is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Vote {
    All,
    Any,
    /// All or none.
    Uniform,
}

/// What a step reads of the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Uses {
    /// Anything.
    All,
    /// These slots, of so many rows.
    Slots(Vec<(Slot, u32)>),
}

/// A load or store of up to four elements beside each other: of 4 or 8 bytes into or from registers of that size, or of 1 or
/// 2 bytes, which are extended to words.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Whether it stores.
    pub store: bool,
    /// Which memory.
    pub space: Space,
    /// Whether a thread may wait with it for another one.
    pub polls: bool,
    /// Whether it is of a loop that does nothing else.
    pub spins: bool,
    /// Bytes of an element.
    pub bytes: u32,
    /// Whether a narrow one is extended with its sign.
    pub signed: bool,
    /// Elements: 1, 2 or 4, of 16 bytes together at most.
    pub count: u32,
    /// The address register.
    pub address: Slot,
    /// Its size: doubles are addresses, words are extended with zeros after the offset was added.
    pub address_width: Width,
    /// How it lies in the lanes.
    pub spread: Spread,
    /// Added to the address; a multiple of the size of all elements.
    pub offset: i64,
    /// The elements' registers; what is loaded into none is of no interest.
    pub elements: [Option<Slot>; 4],
}

impl Access {
    /// How wide the registers are.
    pub fn width(&self) -> Width {
        if self.bytes == 8 { Width::Double } else { Width::Word }
    }

    /// Narrow elements beside each other as the words, or the one half, that they are together.
    pub(crate) fn together(&self) -> Option<Access> {
        let stride = self.stride();
        let bytes = stride.min(4);
        (self.bytes < 4 && self.count > 1).then_some(Access {
            bytes,
            count: stride / bytes,
            signed: false,
            elements: [None; 4],
            ..*self
        })
    }

    /// Bytes of all elements of a lane.
    pub(crate) fn stride(&self) -> u32 {
        self.bytes * self.count
    }

    /// Whether it is one element of a register's size.
    pub(crate) fn is_scalar(&self) -> bool {
        self.count == 1 && self.bytes >= 4
    }

    /// The registers of elements.
    pub fn registers(&self) -> impl Iterator<Item = Slot> {
        self.elements.into_iter().flatten()
    }
}

/// `atom` and `red` on elements of 4 or 8 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    /// The memory; no elements are loaded or stored.
    pub access: Access,
    /// What becomes of an element.
    pub update: Update,
    /// The operand, and what a comparison writes.
    pub operands: [Slot; 2],
    /// What gets the old values.
    pub old: Option<Slot>,
}

impl Atomic {
    /// Slots that are read, or written for some lanes.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Slot, Width)> {
        let width = self.access.width();
        let values = self.operands.into_iter().chain(self.old).map(move |slot| (slot, width));
        values.chain([(self.access.address, self.access.address_width)])
    }

    /// Whether several of them on one element, of all lanes or some, are one update of it: with their operands combined, or
    /// with the last one.
    pub(crate) fn combines(&self, all: bool) -> bool {
        use Update::{Add, And, Exchange, Maximum, Minimum, Or, Xor};
        match self.update {
            Add | And | Or | Xor | Minimum { .. } | Maximum { .. } => true,
            Exchange => all,
            _ => false,
        }
    }

    /// Whether an element soon has a value that most updates leave as it is, and nobody is told what was there.
    pub(crate) fn is_often_in_vain(&self) -> bool {
        use Update::{And, Maximum, Minimum, Or};
        self.old.is_none() && matches!(self.update, And | Or | Minimum { .. } | Maximum { .. })
    }

    /// Whether it must find subnormal floats flushed to zeros, or kept, if that matters.
    pub(crate) fn flushes(&self) -> Option<bool> {
        match self.update {
            Update::AddFloat { global } => Some(global && self.access.bytes == 4),
            _ => None,
        }
    }
}

/// What an atomic makes of an old element and its operand (ISA 9.7.13.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the manual's mnemonics")]
pub enum Update {
    Add,
    And,
    Or,
    Xor,
    Exchange,
    /// The second operand, if the element equals the first one.
    CompareExchange,
    Minimum {
        signed: bool,
    },
    Maximum {
        signed: bool,
    },
    Increment,
    Decrement,
    /// A sum of floats; `global`: as in global memory, where `.f32` flushes subnormals and `.f64` has its own choice of
    /// what is no number.
    AddFloat {
        global: bool,
    },
}

/// How the addresses of a warp's lanes lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Nobody knows.
    Any,
    /// All lanes that make an instruction together have one: for certain.
    Uniform,
    /// So many bytes from lane to lane, as a guess: what is to be looked for first.
    Stride(i32),
}

/// Where an access finds its window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// The window of the instruction: [`Context::windows`](crate::Context::windows).
    Hinted,
    /// The window of the block: [`Context::shared`](crate::Context::shared).
    Shared,
    /// The window of the warp: [`Runner::local`](crate::Runner::local), of which each row is a word of all lanes.
    Local,
    /// The same, from the start of the window on, where there is memory for certain: the address counts for nothing.
    Frame,
}
