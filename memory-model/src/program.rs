//! Litmus programs as data: threads with their placement, locations, instructions, and the question asked.
//!
//! A [`Litmus`] comes from [`crate::parse`] or is built by hand (a lowering of real PTX does that).
//! Every instruction keeps the text of the line it came from, because explanations speak in those lines.

pub use isa::{MemOrder, Proxy, Scope};

use crate::litmus::Span;
use std::fmt;

/// Index of a location in [`Program::locations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocId(pub u16);

/// Index of a register in [`Thread::registers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegId(pub u16);

/// Where a thread runs. Two threads are in one CTA when all three numbers agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Device number.
    pub gpu: u32,
    /// Cluster within the device; `None` makes each CTA its own cluster.
    pub cluster: Option<u32>,
    /// CTA within the device.
    pub cta: u32,
}

impl Placement {
    /// The narrowest scope that holds a thread placed here and one placed at `other`.
    pub fn narrowest_common_scope(&self, other: &Placement) -> Scope {
        if self.gpu != other.gpu {
            Scope::Sys
        } else if self.cta == other.cta && self.cluster == other.cluster {
            Scope::Cta
        } else if self.cluster.is_some() && self.cluster == other.cluster {
            Scope::Cluster
        } else {
            Scope::Gpu
        }
    }
}

/// A source operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// An integer.
    Const(i64),
    /// A register of the thread.
    Reg(RegId),
    /// The address of a location.
    Address(LocId),
}

/// The object part of an address operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// A location by name.
    Loc(LocId),
    /// The location whose address a register holds.
    Reg(RegId),
}

/// What a memory instruction accesses: `count` scalars of `bytes` bytes, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The object.
    pub base: Base,
    /// Bytes from the start of the object.
    pub offset: u32,
    /// Size of one scalar in bytes (1, 2, 4 or 8); `None` is the whole location.
    pub bytes: Option<u8>,
    /// The proxy through which the access is made.
    pub proxy: Proxy,
    /// Memory order.
    pub order: MemOrder,
    /// Scope; `None` exactly for weak accesses.
    pub scope: Option<Scope>,
}

/// Arithmetic of registers and of atomics, on 64-bit two's complement integers that wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    /// Signed; division by zero gives zero.
    Div,
    And,
    Or,
    Xor,
    Min,
    Max,
    /// PTX `atom.inc`: the old value plus one, or zero once the old value reaches the operand (unsigned).
    Inc,
    /// PTX `atom.dec`: the old value less one, or the operand when the old value is zero or above it.
    Dec,
    /// The right operand; `atom.exch`.
    Second,
    /// Bytes of the left operand that the right operand selects: `low byte + 16 * count`.
    Extract,
    /// The left operand shifted left by as many bits.
    Shl,
    /// State of an mbarrier after as many more arrivals as the right operand says.
    MbarrierArrive,
    /// Whether an mbarrier in the left state has completed the phase of parity right.
    MbarrierTest,
    /// Sum of two `.f32`, held as their bits, rounded to nearest even.
    AddF32,
    /// The same with subnormal numbers taken as zeros of their sign, as atomics of global memory do.
    AddF32Ftz,
    /// Sum of two `.f64`, held as their bits.
    AddF64,
}

impl BinOp {
    /// The value of `a op b`.
    pub fn eval(self, a: i64, b: i64) -> i64 {
        match self {
            BinOp::Add => a.wrapping_add(b),
            BinOp::Sub => a.wrapping_sub(b),
            BinOp::Mul => a.wrapping_mul(b),
            BinOp::Div => a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a }),
            BinOp::And => a & b,
            BinOp::Or => a | b,
            BinOp::Xor => a ^ b,
            BinOp::Min => a.min(b),
            BinOp::Max => a.max(b),
            BinOp::Inc => {
                if (a as u64) >= (b as u64) {
                    0
                } else {
                    a.wrapping_add(1)
                }
            }
            BinOp::Dec => {
                if a == 0 || (a as u64) > (b as u64) {
                    b
                } else {
                    a.wrapping_sub(1)
                }
            }
            BinOp::Second => b,
            BinOp::Extract => {
                let (low, count) = (b & 15, (b >> 4) & 15);
                let shifted = (a as u64).checked_shr(low as u32 * 8).unwrap_or(0);
                if count >= 8 { shifted as i64 } else { (shifted & ((1 << (8 * count)) - 1)) as i64 }
            }
            BinOp::Shl => a.checked_shl(b as u32).unwrap_or(0),
            BinOp::MbarrierArrive => {
                (0..b.clamp(0, 1 << 16)).fold(Mbarrier::from_bits(a), |state, _| state.arrive()).to_bits()
            }
            BinOp::MbarrierTest => i64::from(Mbarrier::from_bits(a).phase & 1 != (b & 1) as u32),
            BinOp::AddF32 => add_f32(a, b, |x| x),
            BinOp::AddF32Ftz => add_f32(a, b, |x| if x.is_subnormal() { 0f32.copysign(x) } else { x }),
            BinOp::AddF64 => {
                let sum = f64::from_bits(a as u64) + f64::from_bits(b as u64);
                (if sum.is_nan() { f64::NAN } else { sum }).to_bits() as i64
            }
        }
    }
}

/// The bits of a sum; `flush` is applied to operands and result. Every NaN is the canonical one of PTX.
fn add_f32(a: i64, b: i64, flush: fn(f32) -> f32) -> i64 {
    let sum = flush(f32::from_bits(a as u32)) + flush(f32::from_bits(b as u32));
    i64::from(if sum.is_nan() { 0x7fff_ffff } else { flush(sum).to_bits() })
}

/// The state of an mbarrier object as this crate stores it in one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mbarrier {
    /// Phases completed so far.
    pub phase: u32,
    /// Arrivals that make a phase.
    pub expected: u16,
    /// Arrivals that the current phase still lacks.
    pub pending: u16,
}

impl Mbarrier {
    /// A fresh object that expects `count` arrivals a phase.
    pub fn new(count: u16) -> Self {
        Self { phase: 0, expected: count, pending: count }
    }

    /// The state stored in a location.
    pub fn from_bits(bits: i64) -> Self {
        Self { phase: (bits >> 32) as u32, expected: (bits >> 16) as u16, pending: bits as u16 }
    }

    /// The inverse of [`Self::from_bits`].
    pub fn to_bits(self) -> i64 {
        (i64::from(self.phase) << 32) | (i64::from(self.expected) << 16) | i64::from(self.pending)
    }

    /// The state after one arrival.
    #[must_use]
    pub fn arrive(self) -> Self {
        if self.pending <= 1 {
            Self { phase: self.phase.wrapping_add(1), pending: self.expected, ..self }
        } else {
            Self { pending: self.pending - 1, ..self }
        }
    }
}

/// A comparison of signed integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Cmp {
    /// Whether `a cmp b`.
    pub fn eval<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }

    /// The spelling used in conditions.
    pub fn as_str(self) -> &'static str {
        match self {
            Cmp::Eq => "==",
            Cmp::Ne => "!=",
            Cmp::Lt => "<",
            Cmp::Le => "<=",
            Cmp::Gt => ">",
            Cmp::Ge => ">=",
        }
    }
}

/// What an atomic does with the value it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RmwOp {
    /// Writes `old op operand`; exchange is [`BinOp::Second`].
    Apply(BinOp, Operand),
    /// Writes the second operand if the old value equals the first.
    Cas(Operand, Operand),
}

/// Which fence across proxies (PTX ISA 9.7.13.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProxyFence {
    /// `fence.proxy.alias`.
    Alias,
    /// The fence between the generic proxy and this one, both ways.
    To(Proxy),
    /// `fence.proxy.PROXY::generic.release`: ordering from the generic proxy to this one begins.
    Release(Proxy, Scope),
    /// `fence.proxy.PROXY::generic.acquire`: it ends.
    Acquire(Proxy, Scope),
}

/// How a thread takes part in a CTA barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarMode {
    /// `bar.sync`: arrives and waits.
    Sync,
    /// `bar.red`: arrives and waits; the reduction is not modelled.
    Red,
    /// `bar.arrive`: arrives only.
    Arrive,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// `dst = a`.
    Mov {
        /// Destination.
        dst: RegId,
        /// Source.
        src: Operand,
    },
    /// `dst = a op b`.
    Bin {
        /// The operation.
        op: BinOp,
        /// Destination.
        dst: RegId,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// `ld`, with one destination for each scalar of a vector.
    Load {
        /// Destinations; one scalar each.
        dst: Vec<RegId>,
        /// What is read.
        access: Access,
    },
    /// `st`, with one source for each scalar of a vector.
    Store {
        /// What is written.
        access: Access,
        /// Sources; one scalar each.
        src: Vec<Operand>,
    },
    /// `atom`, or `red` when there is no destination. A vector atomic is one for each of its scalars, in no
    /// particular order (PTX ISA 8.2.4).
    Rmw {
        /// Destinations, one for each scalar; none makes it a reduction.
        dst: Vec<RegId>,
        /// What is accessed.
        access: Access,
        /// What is computed; one operation for each scalar. A `cas` is no vector.
        ops: Vec<RmwOp>,
    },
    /// `mbarrier.test_wait`: reads the object and gives 1 once the phase of that parity has completed.
    MbarrierTest {
        /// Destination.
        dst: RegId,
        /// The object.
        access: Access,
        /// Parity of the phase waited for.
        parity: Operand,
    },
    /// `fence` and `membar`.
    Fence {
        /// `Acquire`, `Release`, `AcqRel` or `Sc`.
        order: MemOrder,
        /// Its scope; `None` is the thread alone, which only source languages have.
        scope: Option<Scope>,
        /// What it orders.
        region: Region,
    },
    /// `fence.proxy`.
    ProxyFence(ProxyFence),
    /// `bar.{sync,red,arrive}` and `barrier.cta`.
    Bar {
        /// How.
        mode: BarMode,
        /// The first number of the dialect: a label in the published models, the barrier's number in PTX.
        instance: i64,
        /// The barrier's number where the dialect gives it apart from the label.
        id: Option<Operand>,
        /// How many threads make a phase; `None` is all that take part.
        count: Option<Operand>,
        /// What it orders.
        region: Region,
    },
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// `.relaxed`: arrives without ordering anything.
        relaxed: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// Jumps to the instruction with that index when the comparison holds.
    Branch {
        /// The comparison.
        cmp: Cmp,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
        /// Index into [`Thread::code`]; its length means the end.
        target: usize,
    },
    /// Jumps.
    Goto {
        /// Index into [`Thread::code`]; its length means the end.
        target: usize,
    },
    /// Discards executions in which the comparison fails.
    Assume {
        /// The comparison.
        cmp: Cmp,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
}

/// An instruction and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instr {
    /// The instruction.
    pub op: Op,
    /// Its text in the file.
    pub span: Span,
    /// One-based line in the file.
    pub line: u32,
    /// The text, with runs of blanks made one.
    pub text: String,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The number in its name, `P2` is 2.
    pub id: u32,
    /// Where it runs.
    pub placement: Placement,
    /// Names of its registers.
    pub registers: Vec<String>,
    /// Initial value of each register.
    pub initial: Vec<Operand>,
    /// Its instructions.
    pub code: Vec<Instr>,
}

/// One name of a memory location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The name.
    pub name: String,
    /// Initial value; of aliases that of the location they name.
    pub initial: Operand,
    /// The physical location: the first name of it.
    pub physical: LocId,
    /// The virtual address: the first name of it. Two names with one physical location and different
    /// addresses are aliases in the sense of PTX ISA 8.2.2.
    pub address: LocId,
    /// Whether it is in local memory, which a source language has besides global memory.
    pub local: bool,
}

/// Which memory a fence or a barrier orders; PTX's order all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Region {
    /// All.
    #[default]
    All,
    /// What is not local.
    Global,
    /// Local memory, which a source language has besides global memory.
    Local,
}

/// Threads and memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Memory.
    pub locations: Vec<Location>,
    /// Threads, in the order of the columns.
    pub threads: Vec<Thread>,
}

/// The number that stands for the address of a location in registers and memory.
pub fn address_value(loc: LocId) -> i64 {
    0x1_0000_0000 + 0x1000 * (i64::from(loc.0) + 1)
}

/// A part of the final state that a condition may speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Observable {
    /// Register of the thread with that index (not its number).
    Reg(usize, RegId),
    /// A scalar of memory: location and index of the scalar in it.
    Mem(LocId, u32),
}

/// A term of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// An integer.
    Const(i64),
    /// A part of the final state.
    Var(Observable),
}

/// A condition on the final state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cond {
    /// A comparison.
    Cmp(Cmp, Term, Term),
    /// Negation.
    Not(Box<Cond>),
    /// Conjunction.
    And(Box<Cond>, Box<Cond>),
    /// Disjunction.
    Or(Box<Cond>, Box<Cond>),
}

impl Cond {
    /// The value of the condition when `value` gives the observables.
    pub fn eval(&self, value: &dyn Fn(Observable) -> i64) -> bool {
        let term = |t: &Term| match *t {
            Term::Const(c) => c,
            Term::Var(v) => value(v),
        };
        match self {
            Cond::Cmp(cmp, a, b) => cmp.eval(term(a), term(b)),
            Cond::Not(c) => !c.eval(value),
            Cond::And(a, b) => a.eval(value) && b.eval(value),
            Cond::Or(a, b) => a.eval(value) || b.eval(value),
        }
    }

    /// Adds the observables that occur, in order and without repetition.
    pub fn observables(&self, out: &mut Vec<Observable>) {
        match self {
            Cond::Cmp(_, a, b) => {
                for term in [a, b] {
                    if let Term::Var(v) = *term
                        && !out.contains(&v)
                    {
                        out.push(v);
                    }
                }
            }
            Cond::Not(c) => c.observables(out),
            Cond::And(a, b) | Cond::Or(a, b) => {
                a.observables(out);
                b.observables(out);
            }
        }
    }
}

/// How the assertion quantifies over executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Some execution satisfies the condition.
    Exists,
    /// No execution does.
    NotExists,
    /// Every execution does.
    Forall,
}

/// The question a litmus test asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// How it quantifies.
    pub quantifier: Quantifier,
    /// The condition.
    pub cond: Cond,
}

/// A litmus test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Litmus {
    /// Name in the header.
    pub name: String,
    /// Whether it is written with the atomics of a source language, which models of PTX say nothing of.
    pub source: bool,
    /// Threads and memory.
    pub program: Program,
    /// Only executions whose final state satisfies it count.
    pub filter: Option<Cond>,
    /// The question; a test without one only asks for termination, races and the like.
    pub assertion: Option<Assertion>,
    /// What `locations [...]` lists.
    pub locations: Vec<Observable>,
}

impl Litmus {
    /// Observables of the assertion, the filter and the `locations` list, each once.
    pub fn observables(&self) -> Vec<Observable> {
        let mut out = Vec::new();
        if let Some(assertion) = &self.assertion {
            assertion.cond.observables(&mut out);
        }
        if let Some(filter) = &self.filter {
            filter.observables(&mut out);
        }
        for &v in &self.locations {
            if !out.contains(&v) {
                out.push(v);
            }
        }
        out
    }

    /// The assertion in a notation that litmus files have, such as `exists (1:r0 == 1 && 1:r1 == 0)`.
    pub fn question(&self) -> Option<String> {
        let Assertion { quantifier, cond } = self.assertion.as_ref()?;
        let cond = DisplayCond(self, cond).to_string();
        let bare = !cond.starts_with(['(', '!']);
        let cond = if bare { format!("({cond})") } else { cond };
        Some(format!("{} {cond}", quantifier.as_str()))
    }

    /// How an observable is written: `1:r0`, `x`, `x[2]`.
    pub fn observable_name(&self, v: Observable) -> String {
        match v {
            Observable::Reg(t, r) => {
                let thread = self.program.threads.get(t);
                let name = thread.and_then(|t| t.registers.get(usize::from(r.0)));
                format!("{}:{}", thread.map_or(t as u32, |t| t.id), name.map_or("?", String::as_str))
            }
            Observable::Mem(loc, index) => {
                let name = self.program.locations.get(usize::from(loc.0)).map_or("?", |l| &l.name);
                if index == 0 { name.to_owned() } else { format!("{name}[{index}]") }
            }
        }
    }
}

impl Quantifier {
    /// The spelling in litmus files.
    pub fn as_str(self) -> &'static str {
        match self {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        }
    }
}

/// A condition in a notation that litmus files have, for messages.
pub struct DisplayCond<'a>(pub &'a Litmus, pub &'a Cond);

/// The operands of nested conjunctions, or of nested disjunctions.
fn chain<'a>(cond: &'a Cond, and: bool, out: &mut Vec<&'a Cond>) {
    match cond {
        Cond::And(a, b) if and => {
            chain(a, and, out);
            chain(b, and, out);
        }
        Cond::Or(a, b) if !and => {
            chain(a, and, out);
            chain(b, and, out);
        }
        other => out.push(other),
    }
}

impl fmt::Display for DisplayCond<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DisplayCond(litmus, cond) = *self;
        let term = |t: &Term| match *t {
            Term::Const(c) => c.to_string(),
            Term::Var(v) => litmus.observable_name(v),
        };
        match cond {
            Cond::Cmp(cmp, a, b) => write!(f, "{} {} {}", term(a), cmp.as_str(), term(b)),
            Cond::Not(c) => write!(f, "!({})", DisplayCond(litmus, c)),
            Cond::And(..) | Cond::Or(..) => {
                let and = matches!(cond, Cond::And(..));
                let mut operands = Vec::new();
                chain(cond, and, &mut operands);
                let operands: Vec<String> =
                    operands.into_iter().map(|c| DisplayCond(litmus, c).to_string()).collect();
                write!(f, "({})", operands.join(if and { " && " } else { " || " }))
            }
        }
    }
}
