//! Memory: state spaces, allocations, and the cells that parallel blocks share.

mod cell;
mod global;
pub mod window;
mod written;

pub(crate) use cell::{Cells, LockTable};
pub(crate) use global::{Allocation, AllocationKind, GlobalMemory, Snapshot, State};
pub(crate) use written::Written;
