//! Exploration: which executions of a program a model allows.

mod barriers;
mod chains;
mod domain;
mod encode;
mod encoding;
pub mod engine;
mod implied;
pub mod lasso;
mod numbers;
pub mod oracle;
mod sat;
pub mod scheduler;
mod search;
mod universe;
mod words;

pub use search::{Search, conflicts, search_axioms};
