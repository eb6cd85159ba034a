//! Expressions of C over registers, variables and memory: parsed, bound to a place in the code, and then evaluated in any
//! number of lanes there.

mod bind;
mod evaluate;
mod parse;

pub(crate) use bind::register;
pub use bind::{Bound, Names, Node, bind, bind_type, load_place};
pub use evaluate::{At, Here, Launched, Stored, Value};
pub(crate) use evaluate::{float, signed};
pub use parse::{Ast, Parsed, parse, parse_type};
