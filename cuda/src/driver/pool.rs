//! Memory pools and allocation in stream order.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use runtime::{Device, Kind, Operation, Result, Status, Stream, fresh_id};

use crate::driver::device::device_of;
use crate::ffi::{Handle, get, put};
use crate::object;
use crate::state::{self, NullStream};
use crate::types::MemLocation;

/// A pool. Memory goes back to the device when it is freed.
#[derive(Debug)]
pub(crate) struct Pool {
    pub id: u64,
    device: i32,
    attributes: [AtomicU64; 9],
}

impl Pool {
    fn new(device: i32) -> Arc<Pool> {
        let pool = Pool { id: fresh_id(), device, attributes: Default::default() };
        for number in [1, 2, 3] {
            pool.attributes[number].store(1, SeqCst);
        }
        Arc::new(pool)
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

fn used(device: &Device, pool: u64) -> u64 {
    let _ = pool;
    device.simulator.memory_usage().1
}

fn allocate(to: *mut u64, bytes: usize, pool: Option<Handle>, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    refuse_capture(&stream)?;
    let pool = match pool {
        Some(pool) => object::find::<Arc<Pool>>(pool)?,
        None => pool_of(context.device.index as i32, false)?,
    };
    if bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let base = context.allocate(bytes as u64, Kind::Pool(pool.id), "stream-ordered allocation")?;
    context.enqueue(&stream, Operation::Allocate(base, bytes as u64))?;
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, base) }
}

/// Memory that graphs own is not supported.
fn refuse_capture(stream: &Stream) -> Result {
    if stream.capture().is_none() {
        return Ok(());
    }
    crate::refused::report("allocation in a captured stream");
    Err(Status::STREAM_CAPTURE_UNSUPPORTED)
}

/// Frees in stream order.
pub(crate) fn free_async(address: u64, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if address == 0 {
        return Ok(());
    }
    refuse_capture(&stream)?;
    // Calls from now on do not know it any more; the stream frees it in its order.
    let freed = context.device.memory.remove(address, |a| matches!(a.kind, Kind::Pool(_) | Kind::Device));
    freed.ok_or(Status::INVALID_VALUE)?;
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
        put(pool, object::handle(pool_of(device, false)?.id))
    }

    fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        state::device(device)?;
        let pool: Arc<Pool> = object::find(pool)?;
        if pool.device != device {
            return Err(Status::INVALID_VALUE);
        }
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        pools.get_or_insert_with(HashMap::new).insert((device, false), pool);
        Ok(())
    }

    fn cuMemPoolCreate(pool: *mut Handle, properties: *const Properties) {
        state::runtime()?;
        let properties = get(properties)?;
        if properties.allocation != 1 {
            return Err(Status::INVALID_VALUE);
        }
        if properties.handles != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let new = Pool::new(device_of(&properties.location)?);
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

    fn cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        state::runtime()?;
        object::find::<Arc<Pool>>(pool).map(|_| ())
    }

    fn cuMemPoolSetAttribute(pool: Handle, number: u32, value: *const c_void) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        let value = match number {
            1..=3 => u64::from(get(value.cast::<u32>())?),
            4 => get(value.cast::<u64>())?,
            // High water marks can be reset.
            6 | 8 if get(value.cast::<u64>())? == 0 => 0,
            _ => return Err(Status::INVALID_VALUE),
        };
        pool.attributes[number as usize].store(value, SeqCst);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: Handle, number: u32, value: *mut c_void) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        match number {
            1..=3 => put(value.cast::<u32>(), pool.attributes[number as usize].load(SeqCst) as u32),
            4 => put(value.cast(), pool.attributes[4].load(SeqCst)),
            5..=8 => put(value.cast(), used(state::device(pool.device)?, pool.id)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const MemLocation) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        put(flags, if device_of(location)? == pool.device { 3 } else { 0 })
    }

    fn cuMemPoolSetAccess(pool: Handle, access: *const [u32; 3], count: usize) {
        state::runtime()?;
        let pool: Arc<Pool> = object::find(pool)?;
        for [kind, id, _flags] in crate::ffi::list(access, count)? {
            let location = MemLocation { kind, id: id as i32 };
            if device_of(&location)? != pool.device {
                return Err(Status::INVALID_DEVICE);
            }
        }
        Ok(())
    }
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
