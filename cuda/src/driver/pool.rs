//! Memory pools and allocation in stream order.

use std::ffi::c_void;
use std::sync::Arc;

use cuda_abi::driver::{MemAccessDesc, MemLocation, MemPoolProps};
use cuda_abi::numbers::handle_type::POSIX_FILE_DESCRIPTOR;
use cuda_abi::numbers::{access, allocation, location};
use runtime::{Context, Pool, PoolAttribute, PoolPlace, Result, Reuse, Status, Stream};

use crate::driver::device::{device_at, device_of};
use crate::ffi::{Handle, NullStream, get, put};
use crate::object;
use crate::state;

/// The place of allocations of a kind, as `CUmemAllocationType` and `CUmemLocation` say it.
fn place_of(kind: u32, location: MemLocation) -> Result<PoolPlace> {
    let device = || known(location.id);
    match (kind, location.kind, location.id) {
        (allocation::PINNED, location::DEVICE, _) => device(),
        (allocation::PINNED, location::HOST, _) | (allocation::PINNED, location::HOST_NUMA, 0) => {
            Ok(PoolPlace::Host)
        }
        (allocation::MANAGED, location::DEVICE, _) => device().map(|_| PoolPlace::Managed),
        (allocation::MANAGED, location::INVALID | location::HOST | location::HOST_NUMA_CURRENT, _)
        | (allocation::MANAGED, location::HOST_NUMA, 0) => Ok(PoolPlace::Managed),
        (allocation::MANAGED, 5.., _) => Err(Status::NOT_SUPPORTED),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The attribute of a number (`CUmemPool_attribute`).
fn attribute_of(number: u32) -> Result<PoolAttribute> {
    Ok(match number {
        1 => PoolAttribute::Reuse(Reuse::FollowEventDependencies),
        2 => PoolAttribute::Reuse(Reuse::Opportunistic),
        3 => PoolAttribute::Reuse(Reuse::InternalDependencies),
        4 => PoolAttribute::ReleaseThreshold,
        5 => PoolAttribute::Reserved,
        6 => PoolAttribute::MostReserved,
        7 => PoolAttribute::Used,
        8 => PoolAttribute::MostUsed,
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// The handle of a pool; it is in the table from then on.
fn handle_of(pool: Arc<Pool>) -> Handle {
    object::insert(pool.id, pool)
}

fn find(pool: Handle) -> Result<Arc<Pool>> {
    state::runtime()?;
    object::find(pool)
}

/// A stream that memory is given out or taken back in, outside of captures or as a node.
fn ordered(stream: Handle, null: NullStream) -> Result<(Arc<Context>, Arc<Stream>)> {
    let (context, stream) = state::ordered_stream(stream, null)?;
    if stream.capture().is_none() {
        runtime::refuse_unsafe()?;
    }
    Ok((context, stream))
}

fn allocate(to: *mut u64, bytes: usize, pool: Option<Handle>, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = ordered(stream, null)?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let pool = match pool {
        Some(pool) => object::find::<Arc<Pool>>(pool)?,
        None => context.device.pools.current(PoolPlace::Device(context.device.index)),
    };
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, context.allocate_async(&stream, bytes as u64, &pool)?) }
}

/// Frees in stream order.
pub(crate) fn free_async(address: u64, stream: Handle, null: NullStream) -> Result {
    let (context, stream) = ordered(stream, null)?;
    if address == 0 { Ok(()) } else { context.free_async(&stream, address) }
}

api! {
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) {
        state::device(device)?;
        put(pool, handle_of(state::runtime()?.pools.own(PoolPlace::Device(device as usize))))
    }

    fn cuDeviceGetMemPool(pool: *mut Handle, device: i32) {
        let place = known(device)?;
        put(pool, handle_of(state::runtime()?.pools.current(place)))
    }

    fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        set_pool(known(device)?, pool)
    }

    fn cuMemGetDefaultMemPool(pool: *mut Handle, location: *const MemLocation, kind: u32) {
        let place = located(location, kind)?;
        put(pool, handle_of(state::runtime()?.pools.own(place)))
    }

    fn cuMemGetMemPool(pool: *mut Handle, location: *const MemLocation, kind: u32) {
        let place = located(location, kind)?;
        put(pool, handle_of(state::runtime()?.pools.current(place)))
    }

    fn cuMemSetMemPool(location: *const MemLocation, kind: u32, pool: Handle) {
        set_pool(located(location, kind)?, pool)
    }

    fn cuMemPoolCreate(pool: *mut Handle, properties: *const MemPoolProps) {
        state::runtime()?;
        let properties = get(properties)?;
        let place = place_of(properties.kind, properties.location)?;
        if pool.is_null() || place == PoolPlace::Managed && properties.handle_types != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let for_others = properties.handle_types == POSIX_FILE_DESCRIPTOR;
        if properties.handle_types != 0 && !(for_others && matches!(place, PoolPlace::Device(_))) {
            crate::refused::report("cuMemPoolCreate for other processes with this handle");
            return Err(Status::NOT_SUPPORTED);
        }
        let new = state::runtime()?.pools.create(place, properties.most);
        if for_others {
            new.set_exportable();
        }
        put(pool, handle_of(new))
    }

    fn cuMemPoolDestroy(pool: Handle) {
        let found = find(pool)?;
        state::runtime()?.pools.destroy(&found)?;
        object::remove::<Arc<Pool>>(pool).map(|_| ())
    }

    fn cuMemPoolTrimTo(pool: Handle, keep: usize) {
        find(pool)?.trim(keep as u64);
        Ok(())
    }

    fn cuMemPoolSetAttribute(pool: Handle, number: u32, value: *const c_void) {
        let (pool, attribute) = (find(pool)?, attribute_of(number)?);
        let value = match attribute {
            PoolAttribute::Reuse(_) => u64::from(get(value.cast::<u32>())?),
            _ => get(value.cast::<u64>())?,
        };
        pool.set_attribute(attribute, value)
    }

    fn cuMemPoolGetAttribute(pool: Handle, number: u32, value: *mut c_void) {
        let (pool, attribute) = (find(pool)?, attribute_of(number)?);
        let found = pool.attribute(attribute);
        match attribute {
            PoolAttribute::Reuse(_) => put(value.cast::<u32>(), found as u32),
            _ => put(value.cast(), found),
        }
    }

    fn cuMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const MemLocation) {
        let pool = find(pool)?;
        let device = device_of(location).map_err(|_| Status::INVALID_VALUE)?;
        put(flags, if pool.is_accessible(device as usize) { access::READ_WRITE } else { access::NONE })
    }

    fn cuMemPoolSetAccess(pool: Handle, accesses: *const MemAccessDesc, count: usize) {
        let pool = find(pool)?;
        for MemAccessDesc { location, flags } in crate::ffi::list(accesses, count)? {
            let device = state::device(device_at(location)?)?;
            match flags {
                access::READ_WRITE => pool.set_access(device, true)?,
                access::NONE => pool.set_access(device, false)?,
                access::READ => return Err(Status::NOT_SUPPORTED),
                _ => return Err(Status::INVALID_DEVICE),
            }
        }
        Ok(())
    }
}

/// The place of a device's memory, for calls whose other errors say the same of its number.
fn known(device: i32) -> Result<PoolPlace> {
    state::runtime()?;
    let device = state::device(device).map_err(|_| Status::INVALID_VALUE)?;
    Ok(PoolPlace::Device(device.index))
}

/// The place that a location names, for allocations of a kind.
unsafe fn located(location: *const MemLocation, kind: u32) -> Result<PoolPlace> {
    state::runtime()?;
    // SAFETY: null or the structure.
    let location = unsafe { get(location) }?;
    // The memory node that a thread is at now has no pool of its own.
    if location.kind == location::HOST_NUMA_CURRENT {
        Err(Status::NOT_SUPPORTED)
    } else {
        place_of(kind, location)
    }
}

fn set_pool(place: PoolPlace, pool: Handle) -> Result {
    state::runtime()?.pools.set_current(place, object::find(pool)?)
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
