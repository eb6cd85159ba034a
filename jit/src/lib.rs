//! Host code for the instructions of a kernel, or of a function that it calls: what one warp does from a position on, until something comes that is not
//! compiled.
//!
//! A [`Program`] is a list of [`Step`]s, one an instruction, whose lane operations are [`Formula`]s. [`Compiled::new`] makes
//! AVX-512 or AVX2 code of it: a row of 32 words is two or four vector registers. Rows stay in registers within
//! a basic block, and from turn to turn of a loop that is one. Loads and stores are checked against the [`Window`] that the
//! instruction accessed last, and moved; whatever else an instruction may have to do, and each step of kind [`Kind::Call`],
//! is the business of [`Context::call`]. A lane operation that is no formula is called as its function. A [`Runner`] is a
//! warp: one runs alone ([`Compiled::run_alone`]), or several as if all made each step together ([`Compiled::run_teams`]).
//!
//! # Invariants
//! * A compiled step gives the bits that the function bound to its op gives.
//! * Registers of lanes that do not take part keep their values.
//! * Code is only made of a checked `Program`; memory is never writable and executable at once.
//!
//! # What it must not know
//! Blocks and their turns, allocations, PTX: whatever a `Context` does not say.

mod context;
mod program;

// Where calls of the host are those of the System V ABI.
#[cfg(all(target_arch = "x86_64", unix))]
mod emit;
#[cfg(all(target_arch = "x86_64", unix))]
mod host;
#[cfg(all(target_arch = "x86_64", unix))]
mod lanes;
#[cfg(all(target_arch = "x86_64", unix))]
mod liveness;
#[cfg(all(target_arch = "x86_64", unix))]
mod lowest;
#[cfg(all(target_arch = "x86_64", unix))]
mod order;
#[cfg(all(target_arch = "x86_64", unix))]
mod registers;
#[cfg(all(target_arch = "x86_64", unix))]
mod team;

#[cfg(not(all(target_arch = "x86_64", unix)))]
#[path = "elsewhere.rs"]
mod host;

pub use context::{
    Aside, BARRIERS, Call, Context, Counted, Progress, Ran, Runner, SPINS, Storage, Until, Window,
};
pub use host::Compiled;
pub use program::{
    Access, Arrive, Atomic, Commuting, Effect, Exchange, Kind, Lanes, Memories, Program, Space, Spread, Step,
    Update, Updates, Uses, Vote,
};
pub use semantics::formula::{Formula, Width};
