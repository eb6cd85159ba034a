//! Warpgrind as a library: CUDA kernels from their PTX, with no GPU.
//!
//! ```
//! use warpgrind::{Array, Launch, Module, Options, Tool};
//!
//! let scale = Module::from_ptx("scale.ptx", "
//!     .version 8.0
//!     .target sm_90
//!     .address_size 64
//!     .visible .entry scale(.param .u64 x, .param .f32 factor) {
//!         .reg .b32 %r<2>;
//!         .reg .f32 %f<3>;
//!         .reg .b64 %rd<3>;
//!         ld.param.u64 %rd0, [x];
//!         ld.param.f32 %f0, [factor];
//!         mov.u32 %r0, %tid.x;
//!         mul.wide.u32 %rd1, %r0, 4;
//!         add.u64 %rd2, %rd0, %rd1;
//!         ld.global.f32 %f1, [%rd2];
//!         mul.f32 %f2, %f1, %f0;
//!         st.global.f32 [%rd2], %f2;
//!         ret;
//!     }")?;
//!
//! // Four threads for four values.
//! let mut x = Array::of(&[1.0f32, 2.0, 3.0, 4.0]);
//! let report = Launch::new("scale").block(4).inout(&mut x).arg(2.5f32).run(&scale)?;
//! assert!(report.is_clean());
//! assert_eq!(x.values::<f32>().unwrap(), [2.5, 5.0, 7.5, 10.0]);
//!
//! // A fifth thread has none: it is found, and said with its place.
//! let options = Options { tools: vec![Tool::Racecheck], ..Options::default() };
//! let report = Launch::new("scale").block(5).inout(&mut x).arg(2.5f32).run_with(&scale, &options)?;
//! let finding = report.findings().next().unwrap();
//! assert_eq!(finding.kind.name(), "out-of-bounds");
//! assert!(report.text(&scale).contains("scale.ptx:14"), "{}", report.text(&scale));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//! * [`module`]: PTX files to one checked [`Module`], kernels by their names.
//! * [`mod@array`]: [`Array`]s of numbers, `.npy` files, descriptions of contents, tolerances.
//! * [`plan`]: what is to run, as launch files say it; read, written, and made from arguments.
//! * [`run`]: a plan on a [`Backend`](sim_core::Backend): launch by launch ([`run::Placed`]) or as a whole ([`Plan::run`]).
//! * [`Launch`]: one launch on arrays, without files; [`Session`]: many of them on one device, whose memory stays.
//! * [`compare`]: two backends, where they differ and whose doing it is; recordings of a device.
//! * [`debug`]: launches of a plan under the debugger.
//! * [`litmus`]: kernels as tests of the memory model, and such tests as kernels.
//!
//! Simulator, reports of launches and findings are the crate `sim-core`'s.
//!
//! # What it must not know
//! Terminals, exit codes, command lines, and where results are kept: it reads files that a plan names, and writes none.
#![forbid(unsafe_code)]

pub mod array;
pub mod compare;
pub mod debug;
pub mod files;
mod launch;
pub mod litmus;
pub mod module;
pub mod names;
pub mod occupancy;
pub mod plan;
pub mod profile;
pub mod run;
mod session;

pub use array::{Array, ArrayError, Element, Tolerance};
pub use compare::CompareError;
pub use compare::recording::RecordingError;
pub use files::FileError;
pub use launch::{Launch, Options};
pub use module::{Module, ModuleError};
pub use plan::{Plan, PlanError};
pub use run::{Report, RunError};
pub use session::Session;
pub use tools::Tool;
