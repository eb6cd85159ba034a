//! Memory pools and allocation in stream order.

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_abi::driver::{MemAccessDesc, MemLocation, MemPoolProps};
use runtime::{Allocation, Device, GraphMemory, Kind, Operation, Result, Status, fresh_id};

use crate::driver::device::{device_at, device_of};
use crate::driver::{graph_memory, host_memory};
use crate::ffi::{Handle, get, put};
use crate::object;
use crate::state::{self, NullStream};

/// What memory a pool has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    Device(i32),
    /// At one address for host and devices.
    Managed,
    Host,
}

impl Place {
    /// The place of allocations of a kind, as `CUmemAllocationType` and `CUmemLocation` say it.
    fn new(kind: u32, location: MemLocation) -> Result<Place> {
        let device = || known(location.id);
        match (kind, location.kind, location.id) {
            (1, 1, _) => Ok(Place::Device(device()?)),
            (1, 2, _) | (1, 3, 0) => Ok(Place::Host),
            (2, 1, _) => device().map(|_| Place::Managed),
            (2, 0 | 2 | 4, _) | (2, 3, 0) => Ok(Place::Managed),
            (2, 5.., _) => Err(Status::NOT_SUPPORTED),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

/// A pool. Memory goes back to the device when it is freed; what a device would keep is counted.
#[derive(Debug)]
pub(crate) struct Pool {
    pub id: u64,
    place: Place,
    /// Three ways of reuse and the release threshold, by their numbers.
    attributes: [AtomicU64; 5],
    usage: Mutex<Usage>,
    /// Addresses of blocks that a stream freed, by the stream and the blocks' size: its next ones of that size.
    free: Mutex<HashMap<(u64, u64), BTreeSet<u64>>>,
}

/// Bytes: in use, and reserved of the device.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    used: u64,
    most_used: u64,
    reserved: u64,
    most_reserved: u64,
}

/// Bytes that a pool takes of its device at once.
const CHUNK: u64 = 32 << 20;
/// Bytes to which sizes of blocks are rounded up.
const BLOCK: u64 = 512;
/// Sizes and streams of which blocks are remembered.
const MOST_FREE: usize = 4096;

/// A block of a pool that has the address of one that was freed.
struct Again {
    base: u64,
    bytes: u64,
}

impl GraphMemory for Again {
    fn base(&self) -> u64 {
        self.base
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn place(&self, device: &Device) -> Result {
        Ok(device.simulator.alloc_again(self.base, self.bytes, "stream-ordered allocation")?)
    }
}

impl Pool {
    fn new(place: Place) -> Arc<Pool> {
        let attributes: [AtomicU64; 5] = Default::default();
        let pool =
            Pool { id: fresh_id(), place, attributes, usage: Mutex::default(), free: Mutex::default() };
        for number in [1, 2, 3] {
            pool.attributes[number].store(1, SeqCst);
        }
        Arc::new(pool)
    }

    fn free(&self) -> MutexGuard<'_, HashMap<(u64, u64), BTreeSet<u64>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a block that a stream frees.
    fn keep(&self, stream: u64, base: u64, bytes: u64) {
        let mut free = self.free();
        if free.len() >= MOST_FREE {
            free.clear();
        }
        free.entry((stream, bytes.next_multiple_of(BLOCK))).or_default().insert(base);
    }

    /// The lowest block of a size that a stream freed.
    fn again(&self, stream: u64, bytes: u64) -> Option<u64> {
        let (mut free, key) = (self.free(), (stream, bytes.next_multiple_of(BLOCK)));
        let blocks = free.get_mut(&key)?;
        let base = blocks.pop_first();
        if blocks.is_empty() {
            free.remove(&key);
        }
        base
    }

    /// Counts bytes that were taken, or given back.
    fn count(&self, taken: u64, given_back: u64) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.used = (usage.used + taken).saturating_sub(given_back);
        usage.most_used = usage.most_used.max(usage.used);
        let needed = usage.used.next_multiple_of(CHUNK);
        // Whole pieces are kept, up to the threshold.
        let kept = usage.reserved.min(self.attributes[4].load(SeqCst) / CHUNK * CHUNK);
        usage.reserved = if given_back > 0 { needed.max(kept) } else { needed.max(usage.reserved) };
        usage.most_reserved = usage.most_reserved.max(usage.reserved);
    }

    /// Gives back what is reserved beyond `keep` and not in use.
    fn trim(&self, keep: u64) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.reserved = usage.reserved.min(usage.used.max(keep).next_multiple_of(CHUNK));
    }
}

/// Pools of allocations that the host may access, by their address.
static SHARED: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None);

fn shared<T>(body: impl FnOnce(&mut HashMap<u64, u64>) -> T) -> T {
    body(SHARED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(HashMap::new))
}

/// The number of the pool that an allocation is of.
pub(crate) fn of(allocation: &Allocation) -> Option<u64> {
    match allocation.kind {
        Kind::Pool(id) => Some(id),
        kind if kind.is_host() => shared(|shared| shared.get(&allocation.base).copied()),
        _ => None,
    }
}

/// Tells a pool that an allocation of it is freed.
pub(crate) fn freed(allocation: &Allocation) {
    if let Some(id) = of(allocation) {
        shared(|shared| shared.remove(&allocation.base));
        if let Ok(pool) = object::find::<Arc<Pool>>(object::handle(id)) {
            pool.count(0, allocation.size);
        }
    }
}

/// Pools that places have: their own, and what was set.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// By place, and whether it is the place's own.
type Pools = HashMap<(Place, bool), Arc<Pool>>;

fn pool_of(place: Place, default: bool) -> Result<Arc<Pool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_with(HashMap::new);
    if !default && let Some(pool) = pools.get(&(place, false)) {
        return Ok(pool.clone());
    }
    let pool = pools.entry((place, true)).or_insert_with(|| Pool::new(place)).clone();
    object::insert(pool.id, pool.clone());
    Ok(pool)
}

/// The pool of a device.
fn pool_of_device(device: i32, default: bool) -> Result<Arc<Pool>> {
    state::device(device)?;
    pool_of(Place::Device(device), default)
}

fn allocate(to: *mut u64, bytes: usize, pool: Option<Handle>, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let pool = match pool {
        Some(pool) => object::find::<Arc<Pool>>(pool)?,
        None => pool_of_device(context.device.index as i32, false)?,
    };
    let size = bytes as u64;
    let base = if bytes == 0 {
        0
    } else if stream.capture().is_some() {
        let memory = graph_memory::new(&context.device, bytes)?;
        let base = memory.base();
        context.enqueue(&stream, Operation::Allocate(memory))?;
        base
    } else if let Place::Device(_) = pool.place {
        let kind = Kind::Pool(pool.id);
        let base = match pool.again(stream.id, size) {
            Some(base) => {
                // It is there when the stream has freed the one before.
                context.enqueue(&stream, Operation::Allocate(Arc::new(Again { base, bytes: size })))?;
                let (id, flags) = (fresh_id(), 0);
                let allocation = Allocation { base, size, kind, context: context.id, flags, id };
                context.device.memory.insert(allocation);
                base
            }
            None => context.allocate(size, kind, "stream-ordered allocation")?,
        };
        pool.count(size, 0);
        base
    } else {
        let kind = if pool.place == Place::Managed { Kind::Managed } else { Kind::Host };
        let base = host_memory::allocate(&context, bytes, kind, 1)?;
        shared(|shared| shared.insert(base, pool.id));
        pool.count(size, 0);
        base
    };
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, base) }
}

/// Frees in stream order.
pub(crate) fn free_async(address: u64, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if address == 0 {
        return Ok(());
    }
    if let Some(capture) = stream.capture() {
        graph_memory::check_free(&context, &capture.graph, address)?;
        return context.enqueue(&stream, Operation::Free(address));
    }
    let memory = &context.device.memory;
    if memory.find(address).is_some_and(|found| found.kind == Kind::Graph && found.base == address) {
        if !memory.set_live(address, false) {
            return Err(Status::INVALID_VALUE);
        }
        return context.enqueue(&stream, Operation::Free(address));
    }
    // Calls from now on do not know it any more; the stream frees it in its order.
    let gone = memory.remove(address, |a| matches!(a.kind, Kind::Pool(_) | Kind::Device) || of(a).is_some());
    let gone = gone.ok_or(Status::INVALID_VALUE)?;
    freed(&gone);
    if gone.kind.is_host() {
        let owner = context.clone();
        let free = move |_| {
            owner.forget(gone.base);
            host_memory::give_back(&gone);
        };
        return context.enqueue(&stream, Operation::Callback(Arc::new(free)));
    }
    context.enqueue(&stream, Operation::Free(address))?;
    if let Kind::Pool(id) = gone.kind
        && let Ok(pool) = object::find::<Arc<Pool>>(object::handle(id))
    {
        pool.keep(stream.id, gone.base, gone.size);
    }
    Ok(())
}

api! {
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) {
        put(pool, object::handle(pool_of_device(device, true)?.id))
    }

    fn cuDeviceGetMemPool(pool: *mut Handle, device: i32) {
        put(pool, object::handle(pool_of_device(known(device)?, false)?.id))
    }

    fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        set_pool(Place::Device(known(device)?), pool)
    }

    fn cuMemGetDefaultMemPool(pool: *mut Handle, location: *const MemLocation, kind: u32) {
        put(pool, object::handle(pool_of(located(location, kind)?, true)?.id))
    }

    fn cuMemGetMemPool(pool: *mut Handle, location: *const MemLocation, kind: u32) {
        put(pool, object::handle(pool_of(located(location, kind)?, false)?.id))
    }

    fn cuMemSetMemPool(location: *const MemLocation, kind: u32, pool: Handle) {
        set_pool(located(location, kind)?, pool)
    }

    fn cuMemPoolCreate(pool: *mut Handle, properties: *const MemPoolProps) {
        state::runtime()?;
        let properties = get(properties)?;
        let place = Place::new(properties.kind, properties.location)?;
        if pool.is_null() || place == Place::Managed && properties.handle_types != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if properties.handle_types != 0 {
            crate::refused::report("cuMemPoolCreate for other processes");
            return Err(Status::NOT_SUPPORTED);
        }
        let new = Pool::new(place);
        put(pool, object::insert(new.id, new))
    }

    fn cuMemPoolDestroy(pool: Handle) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = pools.get_or_insert_with(HashMap::new);
        if pools.get(&(pool.place, true)).is_some_and(|default| default.id == pool.id) {
            return Err(Status::INVALID_VALUE);
        }
        pools.retain(|_, other| other.id != pool.id);
        object::remove::<Arc<Pool>>(object::handle(pool.id)).map(|_| ())
    }

    fn cuMemPoolTrimTo(pool: Handle, keep: usize) {
        state::runtime()?;
        object::find::<Arc<Pool>>(pool)?.trim(keep as u64);
        Ok(())
    }

    fn cuMemPoolSetAttribute(pool: Handle, number: u32, value: *const c_void) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let value = match number {
            1..=3 => u64::from(get(value.cast::<u32>())?),
            4 => get(value.cast::<u64>())?,
            // High-water marks can be reset.
            6 | 8 if get(value.cast::<u64>())? == 0 => {
                let mut usage = pool.usage.lock().unwrap_or_else(PoisonError::into_inner);
                match number {
                    6 => usage.most_reserved = usage.reserved,
                    _ => usage.most_used = usage.used,
                }
                return Ok(());
            }
            _ => return Err(Status::INVALID_VALUE),
        };
        pool.attributes[number as usize].store(value, SeqCst);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: Handle, number: u32, value: *mut c_void) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let usage = *pool.usage.lock().unwrap_or_else(PoisonError::into_inner);
        match number {
            1..=3 => put(value.cast::<u32>(), pool.attributes[number as usize].load(SeqCst) as u32),
            4 => put(value.cast(), pool.attributes[4].load(SeqCst)),
            5 => put(value.cast(), usage.reserved),
            6 => put(value.cast(), usage.most_reserved),
            7 => put(value.cast(), usage.used),
            8 => put(value.cast(), usage.most_used),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const MemLocation) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let device = device_of(location).map_err(|_| Status::INVALID_VALUE)?;
        put(flags, if pool.place == Place::Device(device) { 3 } else { 0 })
    }

    fn cuMemPoolSetAccess(pool: Handle, access: *const MemAccessDesc, count: usize) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        for MemAccessDesc { location, flags } in crate::ffi::list(access, count)? {
            // The pool's own device always has access, and others cannot be given it.
            let own = !matches!(pool.place, Place::Device(device) if device != device_at(location)?);
            if !own || flags != 3 {
                return Err(Status::INVALID_DEVICE);
            }
        }
        Ok(())
    }
}

/// A device by its number, for calls whose other errors say the same.
fn known(device: i32) -> Result<i32> {
    state::runtime()?;
    state::device(device).map(|_| device).map_err(|_| Status::INVALID_VALUE)
}

/// The place that a location names, for allocations of a kind.
unsafe fn located(location: *const MemLocation, kind: u32) -> Result<Place> {
    state::runtime()?;
    // SAFETY: null or the structure.
    let location = unsafe { get(location) }?;
    // The memory node that a thread is at now has no pool of its own.
    if location.kind == 4 { Err(Status::NOT_SUPPORTED) } else { Place::new(kind, location) }
}

fn set_pool(place: Place, pool: Handle) -> Result {
    let pool: Arc<Pool> = object::find(pool)?;
    if pool.place != place {
        return Err(Status::INVALID_VALUE);
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.get_or_insert_with(HashMap::new).insert((place, false), pool);
    Ok(())
}

stream_api! {
    fn cuMemAllocAsync | cuMemAllocAsync_ptsz (null; address: *mut u64, bytes: usize, stream: Handle) {
        allocate(address, bytes, None, stream, null)
    }

    fn cuMemAllocFromPoolAsync | cuMemAllocFromPoolAsync_ptsz (null;
        address: *mut u64, bytes: usize, pool: Handle, stream: Handle
    ) {
        allocate(address, bytes, Some(pool), stream, null)
    }

    fn cuMemFreeAsync | cuMemFreeAsync_ptsz (null; address: u64, stream: Handle) {
        free_async(address, stream, null)
    }
}
