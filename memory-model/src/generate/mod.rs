//! Litmus tests from cycles of relaxation edges, as the diy tool makes them (Alglave, Maranget: diy7), with what PTX adds:
//! scopes, fences by order and scope, atomics, proxies, barriers.
//!
//! A cycle says how an execution would go that no sequentially consistent machine shows: each edge is an order between
//! two events that a model may or may not keep. The test asks whether an execution with all of them is allowed.
//!
//! ```
//! use memory_model::generate::{Cycle, Word};
//! use memory_model::{Options, check, parse};
//!
//! let words: Result<Vec<Word>, _> = "PodWW Rel Rfe Acq PodRR Fre".split(' ').map(str::parse).collect();
//! let cycle = Cycle::new(&words?)?;
//! assert_eq!(cycle.name(), "MP+po-rel+acq-po");
//! let litmus = parse(&cycle.ptx()?).expect("a well-formed test");
//! assert_eq!(check(&litmus, &Options::default()).verdict, "forbidden");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`edge`] has the words, [`Cycle`] puts events between them, [`cycles`] enumerates.

mod cycle;
pub mod edge;
mod name;
mod suite;
mod write;

pub use cycle::{Cycle, CycleError};
pub use edge::{Word, WrongWord};
pub use suite::{Relaxation, cycles, cycles_with, relaxations};

/// Relaxations of the suite that is made if no others are named: communication between blocks; program order alone,
/// with releases and acquires, with either fence, and with each dependency.
pub const SUITE: &str = "Rfe Fre Coe Pod** [Acq PodR*] [Pod*W Rel] [Acq PodRW Rel] Fence.acq_rel.gpud** \
    Fence.sc.gpud** DpAddrd* DpDatadW DpCtrld*";

impl std::error::Error for CycleError {}
impl std::error::Error for WrongWord {}
