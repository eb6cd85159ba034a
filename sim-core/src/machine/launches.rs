//! What the kernels of a grid launch, kept until the grid is over: parameters on their way, streams, events and errors,
//! and the launches in the order in which they will run.
//!
//! A child may run at any time after its launch, and nothing but a tail launch sees it end (CUDA programming guide,
//! "Dynamic parallelism"), so a grid's children run when the grid is over, one after the other, each with its own
//! children before the next one: that keeps the order of every stream and event, since an event is recorded before
//! a stream waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_frontend::FuncId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::Code;
use crate::config::DeviceConfig;
use crate::error::{Error, LaunchError};
use crate::finding::CodePlace;
use crate::launch::Launch;
use crate::memory::{AllocationKind, GlobalMemory};

/// The kernels that a kernel may launch: those of its module.
pub(crate) trait Kernels: Sync {
    /// The kernel at an address, with its bytes of parameters.
    fn find(&self, address: u64) -> Option<(FuncId, u64)>;

    /// Its code.
    fn code(&self, kernel: FuncId) -> Result<std::sync::Arc<Code>, Error>;

    /// Whether a launch is possible.
    fn check(&self, code: &Code, launch: &Launch) -> Result<(), Error>;
}

/// A launch that waits for the end of the grid it is of.
#[derive(Debug)]
pub(crate) struct Queued {
    /// What.
    pub launch: Launch,
    /// The call that launched it.
    pub place: CodePlace,
    /// Block that launched it.
    block: u64,
    /// Only after the grid's other launches, and what those launch.
    pub tail: bool,
}

/// A launch whose parameters are being written.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// What it will be; without a kernel only memory was asked for.
    pub launch: Option<Launch>,
    pub bytes: u64,
}

/// Memory of a launch and all that it launches: parameters, and texts of errors.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Allocations, and what is left of the last one.
    chunks: Vec<u64>,
    next: u64,
    left: u64,
    /// Given back, by bytes.
    free: FxHashMap<u64, Vec<u64>>,
    texts: FxHashMap<(u32, bool), u64>,
}

/// Alignment of parameters, and bytes that are allocated at once.
const ALIGNMENT: u64 = 64;
const CHUNK: u64 = 64 << 10;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffers {
    /// So many bytes.
    pub(crate) fn take(&self, memory: &GlobalMemory, bytes: u64) -> Result<u64, Error> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or(LaunchError::Resources)?;
        let mut inner = lock(&self.0);
        if let Some(again) = inner.free.get_mut(&bytes).and_then(Vec::pop) {
            return Ok(again);
        }
        if inner.left < bytes {
            let chunk = bytes.max(CHUNK);
            let start = memory.alloc(chunk, "parameters of launches by kernels", AllocationKind::Buffer)?;
            inner.chunks.push(start);
            (inner.next, inner.left) = (start, chunk);
        }
        inner.next += bytes;
        inner.left -= bytes;
        Ok(inner.next - bytes)
    }

    /// Gives bytes back.
    pub(crate) fn give(&self, start: u64, bytes: u64) {
        let bytes = bytes.max(1).next_multiple_of(ALIGNMENT);
        lock(&self.0).free.entry(bytes).or_default().push(start);
    }

    /// Where a text lies that is known by a number and a word.
    pub(crate) fn text(&self, memory: &GlobalMemory, key: (u32, bool), text: &str) -> Result<u64, Error> {
        if let Some(&known) = lock(&self.0).texts.get(&key) {
            return Ok(known);
        }
        let start = self.take(memory, text.len() as u64 + 1)?;
        memory.with_range(start, text.len() as u64 + 1, "write", |allocation, at| {
            let bytes = [text.as_bytes(), &[0]].concat();
            if let Some(written) = &allocation.written {
                written.set(at, bytes.len() as u64);
            }
            allocation.cells.write(at, &bytes);
        })?;
        lock(&self.0).texts.insert(key, start);
        Ok(start)
    }

    /// Frees all of it.
    pub(crate) fn free(self, memory: &GlobalMemory) {
        let inner = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        for start in inner.chunks {
            let _ = memory.free(start);
        }
    }
}

/// What the threads of a grid launch.
pub(crate) struct Launches<'a> {
    pub kernels: &'a dyn Kernels,
    pub buffers: &'a Buffers,
    state: Mutex<State>,
}

/// A thread: linear indices of the block in the grid and of the thread in the block.
pub(crate) type Thread = (u64, u32);

#[derive(Debug, Default)]
struct State {
    queued: Vec<Queued>,
    /// Threads that launched, and how many launches are tail launches.
    launching: FxHashSet<Thread>,
    tails: u64,
    prepared: FxHashMap<u64, Prepared>,
    errors: FxHashMap<Thread, u32>,
    streams: FxHashSet<u64>,
    events: FxHashSet<u64>,
    /// Handles given out.
    handles: u64,
}

/// Where handles of streams and events begin: above all that has a meaning of its own, and no addresses.
const HANDLES: u64 = 0x1000;

impl<'a> Launches<'a> {
    pub(crate) fn new(kernels: &'a dyn Kernels, buffers: &'a Buffers) -> Self {
        Launches { kernels, buffers, state: Mutex::default() }
    }

    /// Keeps what a buffer is for.
    pub(crate) fn prepare(&self, buffer: u64, prepared: Prepared) {
        lock(&self.state).prepared.insert(buffer, prepared);
    }

    /// What a buffer was for.
    pub(crate) fn prepared(&self, buffer: u64) -> Option<Prepared> {
        lock(&self.state).prepared.remove(&buffer)
    }

    /// Adds a launch, if no more wait already. Tail launches all wait. Of the others an H200 runs those of one thread
    /// about as fast as it launches them, and those of many threads are too many at once: one counts a thread.
    pub(crate) fn queue(
        &self,
        thread: Thread,
        launch: Launch,
        place: CodePlace,
        tail: bool,
        most: u64,
    ) -> bool {
        let mut state = lock(&self.state);
        let fits = match tail {
            true => state.tails < most,
            false => (state.launching.len() as u64) < most || state.launching.contains(&thread),
        };
        if fits {
            match tail {
                true => state.tails += 1,
                false => drop(state.launching.insert(thread)),
            }
            state.queued.push(Queued { launch, place, block: thread.0, tail });
        }
        fits
    }

    /// The last error of a thread.
    pub(crate) fn error(&self, thread: Thread) -> u32 {
        lock(&self.state).errors.get(&thread).copied().unwrap_or(0)
    }

    /// Sets it.
    pub(crate) fn set_error(&self, thread: Thread, code: u32) {
        let errors = &mut lock(&self.state).errors;
        match code {
            0 => errors.remove(&thread),
            _ => errors.insert(thread, code),
        };
    }

    /// A new stream.
    pub(crate) fn add_stream(&self) -> u64 {
        let mut state = lock(&self.state);
        state.handles += 1;
        let handle = HANDLES + 16 * state.handles;
        state.streams.insert(handle);
        handle
    }

    /// A new event.
    pub(crate) fn add_event(&self) -> u64 {
        let mut state = lock(&self.state);
        state.handles += 1;
        let handle = HANDLES + 16 * state.handles;
        state.events.insert(handle);
        handle
    }

    /// Whether there is a stream of this handle, among those that the grid made.
    pub(crate) fn has_stream(&self, handle: u64) -> bool {
        lock(&self.state).streams.contains(&handle)
    }

    /// Whether there is an event of this handle.
    pub(crate) fn has_event(&self, handle: u64) -> bool {
        lock(&self.state).events.contains(&handle)
    }

    /// Forgets an event; false if there is none.
    pub(crate) fn remove_event(&self, handle: u64) -> bool {
        lock(&self.state).events.remove(&handle)
    }

    /// The launches, in the order in which they run: tail launches last. Without streams that blocks share the order
    /// is by block, whichever workers ran them.
    pub(crate) fn finish(self) -> Vec<Queued> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (start, prepared) in &state.prepared {
            self.buffers.give(*start, prepared.bytes);
        }
        let mut queued = state.queued;
        let shared = state.handles > 0;
        queued.sort_by_key(|queued| (queued.tail, if shared { 0 } else { queued.block }));
        queued
    }
}

/// Threads a block of a kernel may have, by what it declares and by its registers.
pub(crate) fn most_threads(config: &DeviceConfig, code: &Code) -> u32 {
    let tuning = &code.module.functions[code.functions[0].id.index()].tuning;
    let declared = tuning.required_threads.or(tuning.max_threads);
    let declared = declared.map_or(u32::MAX, |[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    declared.min(config.threads_per_block)
}
