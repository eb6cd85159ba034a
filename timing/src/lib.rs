//! How long a launch takes on a chip, and what its caches do: from the machine instructions that its warps execute, with the
//! control information that the assembler gave them, and from the lines of memory that they access.
//!
//! * [`code`]: machine instructions, as far as time depends on them.
//! * [`work`]: what a launch executes, a block at a time.
//! * [`chip`]: the numbers of a chip, each with its source, from a TOML file.
//! * [`run()`]: the model: blocks placed on multiprocessors, warps issued by sub-cores, two levels of cache, memory.
//!
//! It is driven by events, not by cycles: all that an instruction waits for is known when it is issued, so that nothing is
//! done while all warps wait. The same work gives the same cycles, whatever else the machine does.
//!
//! This crate must not know of PTX, of files, or of how the work was found.
//!
//! ```
//! # use warpgrind_timing as timing;
//! use timing::{chip::Chip, code::Op, run, work::{Block, Launch, Step, Warp, Work}};
//!
//! struct One;
//! impl Work for One {
//!     fn block(&self, _: u64) -> Block {
//!         let steps = vec![Step { first: 0, end: 2, lanes: 32 }].into();
//!         Block { warps: vec![Warp { steps, ..Warp::default() }], ..Block::default() }
//!     }
//! }
//! let code = [Op::new("FADD", "R0, R0, R0", 0x7e4), Op::new("EXIT", "", 0x7e1)];
//! let launch = Launch { blocks: 1, resident: 32, ..Launch::default() };
//! let time = run(&Chip::h200(), &code, &launch, &One);
//! assert!(time.elapsed > 2_500.0, "{}", time.elapsed);
//! ```

#![forbid(unsafe_code)]

mod access;
mod barrier;
mod beside;
mod cache;
pub mod chip;
pub mod code;
mod constants;
mod events;
mod fetch;
mod issue;
mod machine;
mod meeting;
mod memory;
mod place;
mod run;
mod sm;
pub mod work;

pub use run::{Reason, Time, bounds, run};
