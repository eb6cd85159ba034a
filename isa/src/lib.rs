//! The vocabulary of PTX, once for everyone: opcode words and modifiers, types, state spaces, scopes, memory orders,
//! proxies, roundings, comparisons, grids.
//!
//! ```
//! use isa::{MemOrder, Modifier, Modifiers, Opcode, ScalarType, Scope};
//!
//! assert_eq!(Opcode::from_text("ld"), Some(Opcode::Ld));
//! let modifiers = [Modifier::Volatile, Modifier::Global, Modifier::Type(ScalarType::U32)];
//! // ISA 8.4: volatile operations are relaxed ones of system scope.
//! assert_eq!(modifiers.order(), Some(MemOrder::Relaxed));
//! assert_eq!(modifiers.scope(), Some(Scope::Sys));
//! ```
//!
//! # Invariants
//! Nothing of the manual's closed vocabularies stands in a second crate. Every word knows its spelling and can be found
//! by it.
//!
//! # What it must not know
//! Texts, modules, machines: it depends on no other crate.
#![forbid(unsafe_code)]

mod grid;
mod instruction;
mod memory;
mod modes;
mod special;
mod types;

pub use grid::{Component, Dim3, LaneMask};
pub use instruction::{Modifier, Modifiers, Opcode};
pub use memory::{MemOrder, Proxy, Scope, StateSpace};
pub use modes::{CmpOp, IntRounding, Rounding};
pub use special::SpecialRegister;
pub use types::{ScalarType, TypeClass};
