//! A debugger of launches that goes back.
//!
//! The engine of `warpgrind debug` and `warpgrind dap`, with no terminal and no protocol in it: a [`Debugger`] directs one launch
//! that runs step by step ([`sim_core::Session`]). The machine is deterministic and can be copied, so that going back is
//! going to a checkpoint and doing again what lies between.
//!
//! * [`Debugger`]: running, stepping, going back, findings, the thread in focus.
//! * [`points`]: breakpoints and watchpoints, which outlive launches.
//! * [`expression`], [`types`], [`mod@format`]: C expressions over registers, variables and memory, and their values as text.
//! * [`dwarf`]: variables and types of CUDA C++, from debug information.
//! * [`values`]: values that were shown, as later expressions name them.
//! * [`data`]: values as data, for scripts.
//! * [`program`]: positions of the code and lines of PTX and CUDA.
//! * [`timeline`]: checkpoints, of bounded memory.
//! * [`watch`]: the tool that hears who accesses what.
//!
//! # What it must not know
//! Terminals, protocols, command lines, and how instructions are executed.
#![forbid(unsafe_code)]

pub mod data;
mod debugger;
pub mod dwarf;
mod error;
pub mod expression;
pub mod format;
pub mod points;
pub mod program;
pub mod scope;
pub mod timeline;
pub mod types;
pub mod values;
pub mod watch;

pub use debugger::{Debugger, Focus, Found, Frame, Reason, Step};
pub use error::{Error, Result};
