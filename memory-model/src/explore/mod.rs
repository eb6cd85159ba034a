//! Exploration: which executions of a program a model allows.

mod barriers;
mod chains;
mod domain;
mod encode;
pub mod engine;
pub mod lasso;
pub mod oracle;
mod sat;
mod search;
mod words;

pub use search::{Search, conflicts, search_axioms};
