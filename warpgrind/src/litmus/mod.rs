//! Litmus tests beside the simulator: PTX kernels as tests, and tests as kernels.
//!
//! What the memory model allows is the crate `memory-model`'s to decide. [`kernel`] makes its tests of PTX kernels;
//! [`source`] reads both from texts; [`experiment`] runs tests as kernels, many instances at a time, in an
//! [`environment`] if on a device, which [`tune`] looks for; [`progress`] asks whether their threads end; [`runs`] sets what was seen against what is allowed.

pub mod environment;
pub mod experiment;
pub mod kernel;
pub mod progress;
pub mod runs;
pub mod source;
pub mod tune;
