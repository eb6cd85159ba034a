//! CUDA's driver and runtime interfaces in C, over the simulated devices of [`runtime`].
//!
//! `libcuda.so.1`, `libcudart.so.12` and `.13` and the others that stand in for NVIDIA's jump into this library. [`driver`] and
//! [`cudart`] hold the functions, a file for each subject; [`object`] the handles; [`state`] what the
//! process and its threads have, [`thread`] where a thread has it; [`start`] how a process begins and ends; [`host`] the program around, [`pages`] its
//! address space; [`log`] what calls said was wrong; [`session`] the `warpgrind exec` that started it;
//! [`nvml`] which devices there are, for `libnvidia-ml.so.1`; [`cupti`] the version of CUPTI, [`nodes`]
//! the files of devices. `names/` declares which functions are implemented;
//! `build.rs` makes those that refuse.
//!
//! # Invariants
//! * Nothing unwinds into the program: a panic becomes `CUDA_ERROR_UNKNOWN` and a message.
//! * Handles are numbers in a table; wrong ones give an error, not a crash.
//! * No function claims success for what it did not do.
//!
//! # Safety
//! This is the one crate where pointers come from a C program. They are null, or what CUDA's
//! documentation asks for; null is refused where it has no meaning.
#![allow(non_snake_case, reason = "functions have the names of CUDA")]

#[macro_use]
mod ffi;

/// Where cargo puts the libraries: for the build script of the tool, which takes them from there.
pub const BUILT: &str = env!("WARPGRIND_BUILT");

mod cudart;
mod cupti;
mod driver;
mod host;
mod jit;
mod log;
mod may_call;
mod memory_file;
mod nodes;
mod nvml;
mod object;
mod operations;
mod pages;
mod process_state;
mod refused;
mod save;
mod session;
mod settings;
mod shared_page;
mod signals;
mod start;
mod state;
mod thread;
mod version;
