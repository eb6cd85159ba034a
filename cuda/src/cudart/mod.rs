//! The runtime interface: the driver's in the primary context of the thread's device, kernels and
//! variables by the addresses that the compiler registers.

mod array;
pub(crate) mod context;
mod device;
pub(crate) mod error;
mod event;
mod graph;
mod launch;
mod library;
mod memory;
mod properties;
pub(crate) mod register;
mod stream;
