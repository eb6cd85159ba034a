//! The machine: a warp-level SIMT interpreter for checked PTX modules.
//!
//! ```text
//! Module --decode, once a kernel--> Code --launch--> Grid -> Cluster -> Cta -> Warp --> memory --> tools
//! ```
//!
//! # Invariants
//! * A defined result does not depend on the number of jobs, the schedule or the SIMD level.
//! * What decides *whether* an access may happen (bounds, alignment, read-only) is always on.
//! * Nothing on the execution path allocates, hashes or takes a lock.
//! * No kernel can make the process fault: every violation ends as a [`Finding`].
//!
//! # What it must not know
//! Text syntax, terminals, report formats, files, and the host APIs of CUDA.

mod around;
mod backend;
pub mod code;
mod config;
mod decode;
mod engine;
mod error;
mod event;
mod fault;
mod finding;
mod inspect;
mod launch;
mod machine;
mod memory;
mod metrics;
mod observer;
mod ops;
mod options;
mod session;
mod simulator;
mod sums;
mod tensor_map;
mod texture;
pub mod tools;

pub use around::{Around, GraphLaunch, NodeUpdate};
pub use backend::{Backend, ModuleId};
pub use code::{Code, Launches};
pub use config::{BlockLimits, DeviceConfig, check_cluster, check_declared, declared_cluster};
pub use decode::{Compiler, Rewrite, decode, rewrites};
pub use error::{Error, LaunchError};
pub use event::{AccessKind, Asynchronous, Completion, GroupStep, Groups, Memory, Shape, WarpAccess};
pub use fault::FaultClass;
pub use finding::{CodePlace, CudaPlace, Finding, FindingKind, ThreadId};
pub use inspect::{KernelInfo, Unsupported, inspect};

pub use launch::{DevicePtr, Dim3, Launch, LaunchReport, LaunchedGrid, MemoryStats, Outcome, Stats};
pub use machine::checkpoint::Checkpoint;
pub use memory::Written;
pub use memory::host::{HostMemory, host_memory, host_memory_is_spent, limit_host_memory};
pub use metrics::{InstructionMetrics, Metric, Metrics};
pub use options::{AsyncPolicy, Engine, Poll, RunOptions};
pub use semantics::{lanes::SimdLevel, window};
pub use session::{
    AllocationView, BarrierView, BlockView, Change, FrameView, GroupView, Look, Running, Session, Stop,
    Until, WaitsFor, WarpView,
};
pub use simulator::Simulator;
pub use tensor_map::{ElementType, Interleave, Mode, Swizzle, TENSOR_MAP_BYTES, TensorMap, TensorMapError};
pub use texture::{
    AddressMode, BLOCK_SIDE, Blocks, Channel, Filter, Format, Image, Level, Object as TextureObject, Sampler,
    Shape as TextureShape, Texture, Whole,
};
pub use tools::{Tool, ToolFactory, WarpId};
