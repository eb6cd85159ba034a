//! What the kernels of a grid launch, kept until the grid is over: parameters on their way, streams, events and errors,
//! and the launches in the order in which they will run.
//!
//! A child may run at any time after its launch, and nothing but a tail launch sees it end (CUDA programming guide,
//! "Dynamic parallelism"), so a grid's children run when the grid is over, one after the other, each with its own
//! children before the next one: that keeps the order of every stream and event, since an event is recorded before
//! a stream waits for it.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_frontend::FuncId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::trail::{Lineage, Plain, Race, Trail, race};
use crate::code::Code;
use crate::config::DeviceConfig;
use crate::error::{Error, LaunchError};
use crate::finding::CodePlace;
use crate::launch::Launch;
use crate::memory::{AllocationKind, GlobalMemory};
use crate::tools::Event;

/// The kernels that a kernel may launch: those of its module.
pub(crate) trait Kernels: Sync {
    /// The kernel at an address, with its bytes of parameters.
    fn find(&self, address: u64) -> Option<(FuncId, u64)>;

    /// Its code.
    fn code(&self, kernel: FuncId) -> Result<Arc<Code>, Error>;

    /// Whether a launch is possible.
    fn check(&self, code: &Code, launch: &Launch) -> Result<(), Error>;
}

/// A launch that waits for the end of the grid it is of.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Queued {
    /// What.
    pub launch: Launch,
    /// The call that launched it.
    pub place: CodePlace,
    /// Block that launched it.
    block: u64,
    /// Its number among the launches of the grid that are no tail launches.
    number: u32,
    /// The grids above it, with racecheck.
    pub lineage: Lineage,
    /// Only after the grid's other launches, and what those launch.
    pub tail: bool,
}

/// A launch whose parameters are being written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Prepared {
    /// What it will be; without a kernel only memory was asked for.
    pub launch: Option<Launch>,
    pub bytes: u64,
}

/// Chunks of memory that launches gave back, for later ones.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<u64>>);

/// Memory of a launch and all that it launches: parameters, and texts of errors.
#[derive(Debug)]
pub(crate) struct Buffers<'a> {
    spare: &'a Spare,
    inner: Mutex<Inner>,
}

#[derive(Clone, PartialEq, Debug, Default)]
struct Inner {
    /// Allocations with their bytes, and what is left of the last one.
    chunks: Vec<(u64, u64)>,
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

impl<'a> Buffers<'a> {
    pub(crate) fn new(spare: &'a Spare) -> Self {
        Buffers { spare, inner: Mutex::default() }
    }

    /// So many bytes.
    pub(crate) fn take(&self, memory: &GlobalMemory, bytes: u64) -> Result<u64, Error> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or(LaunchError::Resources)?;
        let mut inner = lock(&self.inner);
        if let Some(again) = inner.free.get_mut(&bytes).and_then(Vec::pop) {
            return Ok(again);
        }
        if inner.left < bytes {
            let chunk = bytes.max(CHUNK);
            let again = if chunk == CHUNK { lock(&self.spare.0).pop() } else { None };
            let name = "parameters of launches by kernels";
            let start = match again {
                Some(start) => start,
                None => memory.alloc(chunk, name, AllocationKind::Parameters)?,
            };
            inner.chunks.push((start, chunk));
            (inner.next, inner.left) = (start, chunk);
        }
        inner.next += bytes;
        inner.left -= bytes;
        Ok(inner.next - bytes)
    }

    /// Gives bytes back.
    pub(crate) fn give(&self, start: u64, bytes: u64) {
        let bytes = bytes.max(1).next_multiple_of(ALIGNMENT);
        lock(&self.inner).free.entry(bytes).or_default().push(start);
    }

    /// Where a text lies that is known by a number and a word.
    pub(crate) fn text(&self, memory: &GlobalMemory, key: (u32, bool), text: &str) -> Result<u64, Error> {
        if let Some(&known) = lock(&self.inner).texts.get(&key) {
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
        lock(&self.inner).texts.insert(key, start);
        Ok(start)
    }

    /// Frees all of it, or keeps it for later launches.
    pub(crate) fn free(self, memory: &GlobalMemory) {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (start, bytes) in inner.chunks {
            match bytes {
                CHUNK => lock(&self.spare.0).push(start),
                _ => drop(memory.free(start)),
            }
        }
    }
}

/// What the threads of a grid launch.
pub(crate) struct Launches<'a> {
    pub kernels: &'a dyn Kernels,
    pub buffers: &'a Buffers<'a>,
    /// The grids above it.
    lineage: &'a Lineage,
    /// What it accesses behind its launches, if that is to be known.
    trail: Option<Mutex<Trail>>,
    /// Launches so far that are no tail launches.
    launched: AtomicU32,
    state: Mutex<State>,
}

/// A thread: linear indices of the block in the grid and of the thread in the block.
pub(crate) type Thread = (u64, u32);

#[derive(Clone, PartialEq, Debug, Default)]
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

/// What the threads of a grid have launched so far, and the memory for it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LaunchesState {
    trail: Option<Trail>,
    launched: u32,
    state: State,
    buffers: Inner,
    spare: Vec<u64>,
}

/// Where handles of streams and events begin: above all that has a meaning of its own, and no addresses.
const HANDLES: u64 = 0x1000;

impl<'a> Launches<'a> {
    pub(crate) fn new(
        kernels: &'a dyn Kernels,
        buffers: &'a Buffers<'a>,
        lineage: &'a Lineage,
        races: bool,
    ) -> Self {
        let (trail, launched) = (races.then(Mutex::default), AtomicU32::new(0));
        Launches { kernels, buffers, lineage, trail, launched, state: Mutex::default() }
    }

    /// Notes what a warp is about to access; a race with a grid above, if it is one.
    pub(crate) fn access(&self, event: &Event<'_>) -> Option<(Plain, Race<'_>)> {
        let trail = self.trail.as_ref()?;
        let launches = self.launched.load(Relaxed);
        if launches == 0 && self.lineage.is_empty() {
            return None;
        }
        let access = Plain::of(event)?;
        if launches > 0 && access.weak {
            lock(trail).add(&access, launches);
        }
        let race = race(&access, self.lineage)?;
        Some((access, race))
    }

    /// All that is known of them now.
    pub(crate) fn state(&self) -> LaunchesState {
        LaunchesState {
            trail: self.trail.as_ref().map(|trail| lock(trail).clone()),
            launched: self.launched.load(Relaxed),
            state: lock(&self.state).clone(),
            buffers: lock(&self.buffers.inner).clone(),
            spare: lock(&self.buffers.spare.0).clone(),
        }
    }

    /// Makes that all that is known.
    pub(crate) fn restore(&self, state: &LaunchesState) {
        if let (Some(trail), Some(was)) = (&self.trail, &state.trail) {
            lock(trail).clone_from(was);
        }
        self.launched.store(state.launched, Relaxed);
        lock(&self.state).clone_from(&state.state);
        lock(&self.buffers.inner).clone_from(&state.buffers);
        lock(&self.buffers.spare.0).clone_from(&state.spare);
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
            let number = if tail { 0 } else { self.launched.fetch_add(1, Relaxed) };
            let lineage = Lineage::new();
            state.queued.push(Queued { launch, place, block: thread.0, number, lineage, tail });
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
    pub(crate) fn finish(self, code: &Arc<Code>) -> Vec<Queued> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (start, prepared) in &state.prepared {
            self.buffers.give(*start, prepared.bytes);
        }
        let mut queued = state.queued;
        if let Some(trail) = self.trail.filter(|_| !queued.is_empty()) {
            let trail = trail.into_inner().unwrap_or_else(PoisonError::into_inner);
            let past = Arc::new(trail.finish(code.clone()));
            for queued in &mut queued {
                queued.lineage.clone_from(self.lineage);
                if !queued.tail {
                    queued.lineage.push((past.clone(), queued.number));
                }
            }
        }
        let shared = state.handles > 0;
        queued.sort_by_key(|queued| (queued.tail, if shared { 0 } else { queued.block }));
        queued
    }
}

/// Threads a block of a kernel may have, by what it declares and by its registers.
pub(crate) fn most_threads(config: &DeviceConfig, code: &Code, registers: u32) -> u32 {
    let tuning = &code.module.functions[code.functions[0].id.index()].tuning;
    let declared = tuning.required_threads.or(tuning.max_threads);
    let declared = declared.map_or(u32::MAX, |[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    declared.min(config.threads_by_registers(registers)).min(config.threads_per_block)
}
