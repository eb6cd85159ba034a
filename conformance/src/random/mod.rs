//! Random kernels: what single instructions cannot show, because it happens between them.
//!
//! A seed gives a [`Kernel`]: statements that every thread executes with values of its own, in branches,
//! loops, switches and functions, with shared memory, barriers, shuffles, votes, atomics and matrices
//! where the threads that these need are there. Every kernel is well defined: whatever statements are
//! left out, it ends, races with nothing, reads what was written, and every value that it computes is
//! stored. So two backends that differ on one disagree about PTX; [`shrink`] then leaves out what the
//! difference does not need.

mod emit;
mod generate;
mod hashes;
mod instructions;
mod launch;
mod shrink;

pub use emit::Kernel;
pub use hashes::{Hashes, HashesError, Seed};
pub use launch::{fingerprint, run};
pub use shrink::shrink;

/// Something that the threads execute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Statement {
    /// Instructions. `MASK` stands for the threads of the warp that execute them, `L!` begins a label.
    Text(String),
    /// Two ways, by a predicate.
    If { predicate: String, then: Vec<Statement>, other: Vec<Statement> },
    /// A loop.
    Loop { trips: Trips, body: Vec<Statement> },
    /// Four ways, by the low bits of a register.
    Switch { register: String, arms: Vec<Vec<Statement>> },
    /// A call of a function, or of one of two by pointer, by the low bit of a register.
    Call { function: usize, by: Option<String>, words: [String; 2], float: String },
}

/// How often a loop's body is executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trips {
    /// By all threads so often.
    Constant(u32),
    /// By each thread as its register says, one to eight times.
    Register(String),
}

/// Registers of each kind that statements use.
pub(crate) const REGISTERS: [(char, &str, usize); 6] =
    [('r', "b32", 8), ('f', "f32", 6), ('d', "b64", 4), ('g', "f64", 3), ('h', "b16", 6), ('p', "pred", 4)];

/// Threads of a block; there are two blocks.
pub(crate) const BLOCK: u32 = 128;
/// Blocks.
pub(crate) const GRID: u32 = 2;
/// Bytes that a thread reads from the input, and bytes that it writes to the output.
pub(crate) const STRIDE: u32 = 128;
/// Bytes of global memory that are a thread's own.
pub(crate) const OWN: u32 = 64;
/// Cells for atomics of all threads, of eight bytes.
pub(crate) const CELLS: u32 = 16;
