//! What `warpgrind exec` and its library in the program say to each other.
//!
//! ```text
//! exec ──environment ([`Settings`])──> library
//!      <──folder of the session ([`Counts`], notes of launches)──
//! ```
//!
//! The folder has a file of counters that all processes of the program share, and gets a file of JSON documents, one a
//! line, from each process that notes launches; what devices are to do is a file of its own ([`operations`]). The file of counters begins with the [`VERSION`] of all this.
//!
//! # What it must not know
//! Command lines, devices, how libraries are found.
#![forbid(unsafe_code)]

pub mod libraries;
mod notes;
pub mod operations;
mod settings;

pub use notes::{COUNTS, Count, Counts, hits, launches, note, notes_of};
pub use settings::{Color, Settings};

/// What a debugger writes to a launch that waits, before it lets it run: what the kernel prints was shown already.
pub const PRINTED: u8 = b'p';

/// Changes when either side would misunderstand the other.
pub const VERSION: u64 = 5;
