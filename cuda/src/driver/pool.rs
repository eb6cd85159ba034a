//! Memory pools and allocation in stream order.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use runtime::{Kind, Operation, Result, Status, fresh_id};

use crate::driver::device::{device_at, device_of};
use crate::driver::graph_memory;
use crate::ffi::{Handle, get, put};
use crate::object;
use crate::state::{self, NullStream};
use crate::types::MemLocation;

/// A pool. Memory goes back to the device when it is freed; what a device would keep is counted.
#[derive(Debug)]
pub(crate) struct Pool {
    pub id: u64,
    device: i32,
    /// Three ways of reuse and the release threshold, by their numbers.
    attributes: [AtomicU64; 5],
    usage: Mutex<Usage>,
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

impl Pool {
    fn new(device: i32) -> Arc<Pool> {
        let pool = Pool { id: fresh_id(), device, attributes: Default::default(), usage: Mutex::default() };
        for number in [1, 2, 3] {
            pool.attributes[number].store(1, SeqCst);
        }
        Arc::new(pool)
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

/// Tells a pool that an allocation of it is freed.
pub(crate) fn freed(allocation: &runtime::Allocation) {
    if let Kind::Pool(id) = allocation.kind
        && let Ok(pool) = object::find::<Arc<Pool>>(object::handle(id))
    {
        pool.count(0, allocation.size);
    }
}

/// Pools that devices use: their own, and what was set.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// By device, and whether it is the device's own.
type Pools = HashMap<(i32, bool), Arc<Pool>>;

fn pool_of(device: i32, default: bool) -> Result<Arc<Pool>> {
    state::device(device)?;
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_with(HashMap::new);
    if !default && let Some(pool) = pools.get(&(device, false)) {
        return Ok(pool.clone());
    }
    let pool = pools.entry((device, true)).or_insert_with(|| Pool::new(device)).clone();
    object::insert(pool.id, pool.clone());
    Ok(pool)
}

fn allocate(to: *mut u64, bytes: usize, pool: Option<Handle>, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let pool = match pool {
        Some(pool) => object::find::<Arc<Pool>>(pool)?,
        None => pool_of(context.device.index as i32, false)?,
    };
    let base = if bytes == 0 {
        0
    } else if stream.capture().is_some() {
        let memory = graph_memory::new(&context.device, bytes)?;
        let base = memory.base();
        context.enqueue(&stream, Operation::Allocate(memory))?;
        base
    } else {
        let base = context.allocate(bytes as u64, Kind::Pool(pool.id), "stream-ordered allocation")?;
        pool.count(bytes as u64, 0);
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
    let gone = memory.remove(address, |a| matches!(a.kind, Kind::Pool(_) | Kind::Device));
    freed(&gone.ok_or(Status::INVALID_VALUE)?);
    context.enqueue(&stream, Operation::Free(address))
}

/// The properties of a pool, as far as they count.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Properties {
    allocation: u32,
    handles: u32,
    location: MemLocation,
}

api! {
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) {
        put(pool, object::handle(pool_of(device, true)?.id))
    }

    fn cuDeviceGetMemPool(pool: *mut Handle, device: i32) {
        put(pool, object::handle(pool_of(known(device)?, false)?.id))
    }

    fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        set_pool(known(device)?, pool)
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

    fn cuMemPoolCreate(pool: *mut Handle, properties: *const Properties) {
        state::runtime()?;
        let properties = get(properties)?;
        if pool.is_null() || properties.allocation != 1 {
            return Err(Status::INVALID_VALUE);
        }
        if properties.handles != 0 {
            crate::refused::report("cuMemPoolCreate for other processes");
            return Err(Status::NOT_SUPPORTED);
        }
        let new = Pool::new(device_at(properties.location).map_err(|_| Status::INVALID_VALUE)?);
        put(pool, object::insert(new.id, new))
    }

    fn cuMemPoolDestroy(pool: Handle) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = pools.get_or_insert_with(HashMap::new);
        if pools.get(&(pool.device, true)).is_some_and(|default| default.id == pool.id) {
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
        put(flags, if device == pool.device { 3 } else { 0 })
    }

    fn cuMemPoolSetAccess(pool: Handle, access: *const [u32; 3], count: usize) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        for [kind, id, flags] in crate::ffi::list(access, count)? {
            let location = MemLocation { kind, id: id as i32 };
            // The pool's own device always has access, and others cannot be given it.
            if device_at(location)? != pool.device || flags != 3 {
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

/// The device of a location, for allocations of a kind.
unsafe fn located(location: *const MemLocation, kind: u32) -> Result<i32> {
    state::runtime()?;
    // SAFETY: null or the structure.
    let location = unsafe { get(location) }?;
    if kind != 1 {
        return Err(Status::INVALID_VALUE);
    }
    if location.kind != 1 {
        crate::refused::report("memory pools of the host");
        return Err(Status::NOT_SUPPORTED);
    }
    known(location.id)
}

fn set_pool(device: i32, pool: Handle) -> Result {
    let pool: Arc<Pool> = object::find(pool)?;
    if pool.device != device {
        return Err(Status::INVALID_VALUE);
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.get_or_insert_with(HashMap::new).insert((device, false), pool);
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
