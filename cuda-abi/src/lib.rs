//! The words of CUDA's C interfaces, once: status codes, structures, numbers of attributes and options.
//!
//! `cuda` speaks them to a program, `device` to NVIDIA's driver; what a code means for the simulator stands here, too.
//!
//! # What it must not know
//! What the functions do.
#![forbid(unsafe_code)]

pub mod driver;
pub mod numbers;
pub mod nvml;
pub mod runtime;
mod status;

pub use status::{Known, Result, Status};

/// A handle as C programs hold it: the bits of a pointer that only the library follows.
pub type Handle = u64;

/// An address in a program's or a device's memory.
pub type Address = u64;
