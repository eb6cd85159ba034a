//! Memory: state spaces, allocations, and the cells that parallel blocks share.

mod cell;
mod contents;
mod global;
mod hint;
pub(crate) mod host;
mod wide;
mod written;

pub(crate) use cell::Cells;
pub(crate) use contents::Contents;
pub(crate) use global::{Allocation, AllocationKind, GlobalMemory, Snapshot, State};
pub(crate) use hint::Hint;
pub(crate) use wide::{Wide, load_double, store_double};
pub use written::Written;
