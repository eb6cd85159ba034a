//! What the tests of several crates share.
//!
//! * [`part`]: how much of what takes long is tried.
//! * [`random`]: numbers from a seed.
//! * [`litmus`]: random litmus tests, as text.
//! * `samples` (feature `samples`): instructions made from the instruction table.
//! * `case` (feature `cases`): the grammar of the instruction tests in `testdata/`, whose README describes it; `executor`
//!   runs a case on any backend, and `levels` is a backend that is the simulator at each SIMD level and with several jobs.
//! * `device` (feature `device`): the frame of test programs that run on a real device.
//!
//! Each is behind a feature, so that the tests of a crate build no crate above it. Here a wrong test panics: that is how
//! tests say what is wrong.
#![forbid(unsafe_code)]

#[cfg(feature = "cases")]
pub mod case;
#[cfg(feature = "device")]
pub mod device;
#[cfg(feature = "cases")]
pub mod executor;
#[cfg(feature = "cases")]
pub mod levels;
pub mod litmus;
pub mod random;
#[cfg(feature = "samples")]
pub mod samples;

/// What is tried of many: all of them, or each `every`th in a build that is not optimised, where all would take minutes.
///
/// ```
/// let tried: Vec<u32> = testkit::part(4, 0..8).collect();
/// assert_eq!(tried.len(), if cfg!(debug_assertions) { 2 } else { 8 });
/// ```
pub fn part<T>(every: usize, many: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    many.into_iter().step_by(if cfg!(debug_assertions) { every } else { 1 })
}
