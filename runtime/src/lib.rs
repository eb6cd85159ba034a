//! The host side of CUDA over a simulated device: what a driver does, without its C interface.
//!
//! ```text
//! Runtime ── Device ── Context ── Stream, Event, Module, Graph
//!    └─ Engine: operations with dependencies, and the threads that run them
//! ```
//!
//! Streams, events and graphs are ways to say what an [`Operation`] waits for. Everything that a stream
//! can hold is an `Operation`: enqueued, it becomes an [`engine::Op`]; captured, a node of a [`Graph`].
//!
//! # Invariants
//! * Operations of a stream run in order; the legacy default stream and blocking streams wait for each other.
//! * A fault in a kernel stays in its context: later operations do nothing, calls report it.
//! * No lock is held while a kernel or a function of the program runs.
//!
//! # What it must not know
//! C types and handles; the program's memory, which it reaches through [`Host`].
#![forbid(unsafe_code)]

mod area;
mod around;
mod array;
mod array_memory;
pub mod attributes;
mod backing;
mod board;
mod capture;
mod compile;
mod condition;
mod conditional;
mod context;
mod copy;
mod counted;
mod device;
mod edge;
pub mod engine;
mod event;
mod exec;
mod execute;
mod graph;
mod graph_memory;
mod graph_run;
mod graph_update;
mod green;
mod host;
pub mod image;
mod library;
mod limit;
mod memory;
mod module;
mod multicast;
pub mod objects;
mod occupancy;
mod operation;
mod pages;
mod peer;
mod pieces;
mod pool;
mod process;
mod records;
mod reference;
mod runtime;
mod shape;
mod stream;
mod stream_ordered;
mod submit;
pub mod texture;
mod tiles;
mod tree;
mod updatable;
pub mod virtual_memory;

pub use area::{Area, Place};
pub use array::{Array, MipmappedArray};
pub use backing::{Backing, Mapping, Region, TileMemory};
pub use capture::{Capture, CaptureMode, refuse_unsafe, set_thread_mode};
pub use compile::{Linked, check, compile, runs_on};
pub use condition::{Condition, ConditionKind};
pub use copy::{Copy, Fill};
pub use counted::Counted;
pub use cuda_abi::{Result, Status};
pub use edge::{Edge, EdgeKind};
pub use exec::ExecGraph;
pub use graph_memory::{check_node_free, node_memory};
pub use graph_update::{KindOfMemory, Misfit, UpdateFailure, has_same_memory};
pub use green::{Multiprocessors, Split};
pub use host::{Completed, Doing, Host, Launched, Launching, Picked, Prepared, Side, Submitted};
pub use library::{Kernel, Library};
pub use limit::Limit;
pub use memory::{Allocation, Kind, Memory};
pub use module::{Built, Function, Module, Parameter};
pub use multicast::Multicast;
pub use occupancy::{
    LaunchConfig, active_blocks, active_clusters, check_launch, check_old_launch, configured_shared,
    potential_block_size, potential_cluster_size,
};
pub use operation::{Callback, Compare, Conditional, Graph, KernelCall, Node, Operation, PlacedMemory};
pub use pages::{Holds, Pages};
pub use pool::{Pool, PoolAttribute, PoolPlace, Pools, Reuse};
pub use records::SharedRecords;
pub use reference::{SurfaceReference, TextureReference};
pub use runtime::Runtime;
pub use shape::{ArrayShape, Element, Format, array_flags};
pub use tiles::{SparseProperties, TILE_BYTES};
pub use tree::{Context, Device, Event, GreenContext, Stream, StreamKind};
pub use updatable::Updatable;

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that was not given before: handles and ids come from it.
pub fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Locks, whatever happened to other holders: data is consistent between statements.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
