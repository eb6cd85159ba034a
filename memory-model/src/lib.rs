//! The PTX memory consistency model: what a program may do, decided exactly, with the reason.
//!
//! A litmus test is a small program of several threads with a question about its final state. [`parse`] reads
//! it, [`check`] answers: under the newest text of the PTX ISA, under the two published `.cat` models, or under
//! sequential consistency ([`model::ModelName`]).
//!
//! ```
//! use memory_model::{Options, check, parse};
//!
//! let text = r#"PTX MP
//! { data=0; flag=0; }
//!  P0@cta 0,gpu 0          | P1@cta 1,gpu 0           ;
//!  st.weak data, 1         | ld.acquire.gpu r0, flag  ;
//!  st.release.gpu flag, 1  | ld.weak r1, data         ;
//! exists (1:r0 == 1 /\ 1:r1 == 0)
//! "#;
//! let litmus = parse(text).expect("a well-formed test");
//! let verdict = check(&litmus, &Options { explain: true, ..Options::default() });
//! assert_eq!((verdict.holds, verdict.verdict), (Some(false), "forbidden"));
//! // The axiom that forbids it, as a cycle in the lines of the test.
//! assert_eq!(verdict.cuts[0].axiom, "Causality");
//! ```
//!
//! # How it works
//! * [`litmus`] parses, [`program`] is the result: threads with their placement in CTAs, clusters and devices.
//! * [`skeleton`] unrolls each thread into the tree of its paths; values stay symbolic.
//! * [`event`] and [`relation`] are executions as the manual speaks of them: events, and relations on them.
//! * [`model`] holds the models. Each relation and axiom is one definition beside its section number, in a
//!   small language of relations ([`model::algebra`]).
//! * [`cat`] reads models from files, in the language of herd7 and Dartagnan.
//! * [`explore`] searches: a SAT solver proposes executions, the model judges them, and the derivation of each
//!   violation becomes a clause ([`explore::engine`]). A slow enumerator ([`explore::oracle`]) is the yardstick
//!   in the tests. Loops that write and come back to where they were are found by [`explore::lasso`], under each [`Scheduler`].
//! * [`generate`] makes tests from cycles of relaxation edges, [`diff`] from all programs of a size.
//! * [`mapping`] judges how compilers map the atomics of source languages to PTX.
//! * [`race`] detects races in one execution of a launch of any size, with scoped vector clocks.
//! * [`until`] says when a check gives up.
//! * [`emit`] writes a test as a PTX kernel, to be run.
//! * [`explain`] shows executions as tables and graphs, and violations as cycles of program lines.
//!
//! # How it is checked
//! Besides published tests with their verdicts, random programs of every construct (`tests/differential.rs`):
//! engine and enumerator agree on each. `WARPGRIND_FUZZ=n cargo test --release --test differential` multiplies
//! their number; a run with `n = 10` compared 71,000 programs under the four models, 46,700 of them for all
//! outcomes, the others for races, endless and divergent executions, and found no disagreement.
//! Programs of up to twelve memory operations whose values feed values (`tests/values.rs`) are all decided: of
//! 60,000, half within a millisecond, 99 % within 50, the slowest in 0.7 seconds. Those that only take turns have
//! the outcomes of their interleavings. Lists of outcomes take 1 to 6 milliseconds an outcome where there are
//! thousands.
//! `tests/hostile.rs` damages tests: 97,000 of them, no panic, nothing that outlasts its time limit.
//!
//! # What can be asked
//! The assertion as written, termination under fair scheduling or another scheduler, freedom from races, and barrier divergence
//! ([`Property`]).
//!
//! # Limits
//! At most 1024 events after unrolling, at most 512 numbers of a barrier that a register names, and a loop bound.
//! What a limit leaves undecided is answered `unknown` with the limit's name, never with a guess. A program with a
//! mixed-size race is `undefined`, as the manual has it.
//!
//! The crate has no I/O and does not panic on any input.
#![forbid(unsafe_code)]

pub mod assembly;
pub mod cat;
mod check;
pub mod diff;
pub mod emit;
pub mod event;
pub mod explain;
pub mod explore;
pub mod generate;
pub mod litmus;
pub mod mapping;
pub mod model;
pub mod program;
pub mod race;
pub mod relation;
pub mod skeleton;
pub mod until;

pub use check::{Limits, Options, Outcome, Property, Race, RaceClass, Verdict, check};
pub use explore::engine::Effort;
pub use explore::scheduler::Scheduler;
pub use litmus::{Diagnostic, parse, parse_nvlitmus, parse_progress};
pub use program::Litmus;
pub use until::Interrupt;
