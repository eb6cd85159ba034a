//! Litmus files: text to [`Litmus`](crate::program::Litmus).
//!
//! The dialect is that of the Dartagnan tool's PTX tests, with everything those files use around it
//! (comments, quoted lines, missing cells, aliases, proxies, `filter`, `locations`), and with these
//! additions, all spelled as in PTX: `cluster` in placements and scopes, `fence.acquire`, `fence.release`,
//! a bare `fence.<scope>`, `membar`, `.volatile`, `.mmio`, `bar.red`, `barrier.cluster.{arrive,wait}`,
//! `mbarrier.{arrive,test_wait}` on a location declared `b = mbarrier N`, addresses in brackets with a byte
//! offset, addresses held by registers, scalar types (`.u8` to `.b64`), vectors (`.v2`, `.v4`), and
//! `ald`/`ast` for accesses through the async proxy.
//!
//! Tests that begin with `C++` are of the source dialect: the same but for accesses and fences, which are called as in C++
//! (`load.acquire.device`, `exchange.seq_cst`, `fence.release.block`).
//!
//! [`parse_nvlitmus`] reads the `.test` files of NVIDIA's mixed-proxy study, [`parse_progress`] the notation of progress tests.
//!
//! Parsing never panics, and reports as many mistakes as it can in one go.

mod columns;
mod diagnostic;
mod instruction;
mod lexer;
mod nvlitmus;
mod parser;
mod progress;

pub(crate) use columns::columns;
pub use diagnostic::{Code, Diagnostic, Span};
pub use nvlitmus::parse_nvlitmus;
pub use parser::parse;
pub use progress::parse_progress;
