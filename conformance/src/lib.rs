//! Whether the simulator gives a device's bits, form by form.
//!
//! ```text
//! instruction table --Catalog--> cases --kernel--> modules --Backend--> results
//!                                  |                                      |
//!                                  `--operands (seeded by the text)       |--record--> Recording
//!                                                                         `--verify--> Report
//! ```
//!
//! A [`Case`] is one instruction: a form of the table with one choice of modifiers and operands. Its
//! kernel does nothing but load a tuple of operands, execute the instruction and store what it wrote,
//! a thread a tuple, at least [`TUPLES`] of them. A [`Recording`] holds of each case's results a few
//! rows in full and for the rest a code ([`syndrome`]) that not only tells whether they are equal: it
//! finds a single differing result in a run of several hundred, and what the device gave for it.
//!
//! What single instructions cannot show is [`random`]'s: kernels of many of them, from a seed.
//!
//! # Invariants
//! * What a case is, its operands and its place in a recording depend on the text of its instruction
//!   only: other cases may come and go.
//! * What has no case is listed with a reason ([`Catalog::not_covered`]).
//! * Bytes of a recording are never trusted: what is wrong with them is a [`RecordingError`].
//!
//! # What it must not know
//! Terminals, report formats, files, and which backend it is given.

mod case;
mod catalog;
mod constants;
mod kernel;
mod known;
mod numbers;
mod operands;
pub mod random;
mod recording;
mod run;
mod specials;
pub mod syndrome;
mod verify;

pub use case::{Case, Class, PTX_VERSION, TARGET, TUPLES};
pub use catalog::{Catalog, NotCovered};
pub use constants::Results;
pub use known::{Known, KnownError};
pub use recording::{Device, Recording, RecordingError};
pub use run::{Refusal, record};
pub use verify::{Difference, Example, Report, Verdict, verify};
