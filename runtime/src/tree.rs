//! Devices, the contexts on them, their streams and events, as data: each knows what it is in, and what is in it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use sim_core::Simulator;

use crate::backing::Backings;
use crate::edge::Edge;
use crate::engine::{Engine, Op};
use crate::host::Host;
use crate::limit::Limit;
use crate::memory::Memory;
use crate::pool::Pools;
use crate::records::SharedRecords;
use crate::texture::Objects;

/// A simulated device.
pub struct Device {
    /// Its number.
    pub index: usize,
    /// What runs kernels.
    pub simulator: Simulator,
    /// The queue.
    pub engine: Arc<Engine>,
    /// The allocations as the host sees them.
    pub memory: Memory,
    /// The texture and surface objects as the host sees them.
    pub objects: Objects,
    /// The arrays that a program puts memory behind.
    pub(crate) backings: Backings,
    /// The memory pools of the process.
    pub pools: Arc<Pools>,
    /// The program around.
    pub host: Arc<dyn Host>,
    pub(crate) contexts: Mutex<Vec<Weak<Context>>>,
    pub(crate) primary: Mutex<Primary>,
    pub(crate) allocations: AtomicU64,
    /// Bytes of its memory that was made without an address.
    pub(crate) without_address: AtomicU64,
    pub(crate) memory_is_shared: AtomicBool,
    /// What looks at other processes before something is launched.
    pub(crate) watching: Mutex<Vec<Weak<dyn Watches>>>,
    /// What a kernel left in any context of the device; 0 is none.
    pub(crate) fault: AtomicU32,
    /// The devices of the process, this one included.
    pub(crate) all: OnceLock<Vec<Weak<Device>>>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("index", &self.index).finish_non_exhaustive()
    }
}

/// What other processes may change.
pub(crate) trait Watches: Send + Sync {
    /// Has the devices see what there is now.
    fn look_again(&self);
}

/// The context that the runtime interface uses.
#[derive(Debug, Default)]
pub(crate) struct Primary {
    pub(crate) context: Option<Arc<Context>>,
    pub(crate) retained: u32,
    pub(crate) flags: u32,
}

/// A context.
#[derive(Debug)]
pub struct Context {
    /// Its number.
    pub id: u64,
    /// Its device.
    pub device: Arc<Device>,
    /// Flags it was made with.
    pub flags: AtomicU32,
    /// What it prefers of shared memory and first-level cache, by CUDA's numbers.
    pub cache_config: AtomicU32,
    /// The legacy default stream.
    pub legacy: Arc<Stream>,
    /// What has loaded something into it, by its number.
    pub(crate) tenants: Mutex<HashMap<u64, Weak<dyn Tenant>>>,
    /// The green context that it is.
    pub(crate) green: OnceLock<Weak<GreenContext>>,
    /// The contexts whose memory kernels of this one may access, and those that may access this one's.
    pub(crate) peers: Mutex<BTreeSet<u64>>,
    pub(crate) accessors: Mutex<Vec<Weak<Context>>>,
    /// What a fault left; 0 is none.
    pub(crate) fault: AtomicU32,
    /// A launch came to an instruction that is not supported, and nobody was told yet.
    pub(crate) refused: AtomicBool,
    pub(crate) destroyed: AtomicBool,
    pub(crate) output: Mutex<Vec<u8>>,
    pub(crate) order: Mutex<Order>,
    pub(crate) limits: Mutex<HashMap<Limit, u64>>,
    pub(crate) launches: AtomicU64,
    /// Whether a kernel printed: the buffer is in use then.
    pub(crate) printed: AtomicBool,
}

/// What has loaded something into contexts.
pub(crate) trait Tenant: Send + Sync + std::fmt::Debug {
    /// Takes it out of a context that is about to go.
    fn leave(&self, context: &Context);
}

/// The order of a context's streams.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// All streams but the legacy one.
    pub(crate) streams: Vec<Arc<Stream>>,
    /// Last operations of streams that were destroyed.
    pub(crate) orphans: Vec<Arc<Op>>,
}

/// A green context.
#[derive(Debug)]
pub struct GreenContext {
    /// Its number.
    pub id: u64,
    /// How many multiprocessors it was given.
    pub multiprocessors: u32,
    /// The context that its streams and memory are of.
    pub context: Arc<Context>,
}

/// How a stream orders with the legacy default stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// The legacy default stream: waits for all blocking streams, and they for it.
    Legacy,
    /// A blocking stream, per-thread default streams included.
    Blocking,
    /// Independent of the legacy stream.
    NonBlocking,
}

/// A stream.
#[derive(Debug)]
pub struct Stream {
    /// Its number.
    pub id: u64,
    /// Its context.
    pub context: Weak<Context>,
    /// How it orders with the legacy stream.
    pub kind: StreamKind,
    /// Lower is more urgent: 0 to -5.
    pub priority: i32,
    pub(crate) state: Mutex<StreamState>,
}

/// What a stream does at the moment.
#[derive(Debug, Default)]
pub(crate) struct StreamState {
    /// What its next operation waits for.
    pub tail: Option<Arc<Op>>,
    /// Its last operations, the first of which is not done.
    pub pending: VecDeque<Arc<Op>>,
    /// The number of the capture it takes part in, and the edges into its next operation.
    pub capture: Option<(u64, Vec<Edge>)>,
}

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its number.
    pub id: u64,
    /// Its context.
    pub context: Weak<Context>,
    /// The flags it was made with: 2 has no times.
    pub flags: u32,
    /// Its records, if other processes have it as well.
    pub shared: Option<Arc<dyn SharedRecords>>,
    pub(crate) state: Mutex<EventState>,
}

/// What an event marks.
#[derive(Clone, Debug, Default)]
pub(crate) enum EventState {
    #[default]
    Never,
    Recorded(Arc<Op>),
    /// In the capture of a number, behind these edges.
    Captured(u64, Vec<Edge>),
}
