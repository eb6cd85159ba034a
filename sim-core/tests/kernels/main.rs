//! Runs every CUDA kernel of `testdata/kernels/` on real input against a plain Rust reference.
//!
//! Bit for bit where the arithmetic is exact or its order is fixed (inputs are small integers where
//! a compiler may contract or reorder), otherwise within a stated error. Every launch runs at each SIMD
//! level and with one job and several, and gives the same.

#[path = "../support/device.rs"]
mod device;

mod arithmetic;
mod arrays;
mod compilers;
mod images;
mod language;
mod math;
mod matrices;
mod sorting;
mod synchronisation;
mod warps;
mod yardstick;
