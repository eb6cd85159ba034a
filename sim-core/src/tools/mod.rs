//! Tools: what looks on while a launch runs, through one trait, [`Tool`]. What a tool hears are [`Event`]s, of which it
//! chooses ([`Wants`]); a launch is given tools by [`RunOptions::tools`](crate::RunOptions).
//!
//! memcheck is none of them: whether an access may happen is judged always, where it happens.

mod counters;
mod event;
mod initcheck;
mod launch;
mod sectors;
mod synccheck;
mod tool;
mod traffic;

pub use counters::{
    Counters, Round, counter_names, is_combined, names as counts, rounds, shared_wavefronts, tag_turns,
};
pub use event::{Event, Wants, WarpId, WarpRanges};
pub use initcheck::Initcheck;
pub use launch::{InstructionView, LaunchShape, LaunchView};
pub use synccheck::Synccheck;
pub(crate) use tool::{AnyTool, BlockParts};
pub use tool::{Context, Report, Summary, Tool, ToolFactory};
pub(crate) use traffic::Traffic;
