//! Memory: allocation, copies, fills, symbols, pointers.

use std::ffi::c_void;
use std::sync::Arc;

use cuda_abi::driver::{
    MemAccessDesc, MemLocation, MemPoolProps, Memcpy3D, Memcpy3DBatchOp, MemcpyAttributes,
};
use cuda_abi::numbers::memory_type;
use cuda_abi::runtime::{Extent, Memcpy3DParms, Memcpy3DPeerParms, PitchedPtr, PointerAttributes};
use runtime::{Area, Array, Context, Copy, Kind, Place, Result, Status};

use crate::cudart::context::{ensure, healthy};
use crate::cudart::register::variable;
use crate::driver::copy::{Side, When, linear, place, submit};
use crate::driver::host_memory;
use crate::driver::memory::{allocate_rows, free, set, set_now, wait_if_shared};
use crate::driver::pointer::owner;
use crate::driver::{
    advice, copy as driver_copy, host_memory as driver_host, memory as driver_memory, pool as driver_pool,
};
use crate::ffi::{Handle, NullStream, get, put};
use crate::object;
use crate::state;

/// The context for what may not be done while a stream captures.
fn uncaptured() -> Result<Arc<Context>> {
    let context = healthy()?;
    runtime::refuse_unsafe()?;
    Ok(context)
}

/// What a direction says about destination and source.
pub(crate) fn sides(kind: u32) -> Result<(Side, Side)> {
    match kind {
        0 => Ok((Side::Host, Side::Host)),
        1 => Ok((Side::Device, Side::Host)),
        2 => Ok((Side::Host, Side::Device)),
        3 => Ok((Side::Device, Side::Device)),
        4 => Ok((Side::Any, Side::Any)),
        _ => Err(Status::INVALID_DIRECTION),
    }
}

/// A copy as the driver describes it.
pub(crate) fn volume_of(copy: &Memcpy3DParms) -> Result<Memcpy3D> {
    let (to, from) = sides(copy.kind)?;
    let kind = |side: Side, array: Handle| match side {
        _ if array != 0 => memory_type::ARRAY,
        Side::Host => memory_type::HOST,
        Side::Device | Side::Peer => memory_type::DEVICE,
        Side::Any => memory_type::UNIFIED,
    };
    // With an array, its positions and the width are elements, of which a block has several.
    let element = |array: Handle| match array {
        0 => Ok((1, 1)),
        _ => object::find::<Arc<Array>>(array)
            .map(|array| (array.shape.element.bytes(), array.shape.element.side())),
    };
    let ((src_element, src_side), (dst_element, dst_side)) =
        (element(copy.src_array)?, element(copy.dst_array)?);
    let bytes = |count: usize, element: usize| count.checked_mul(element).ok_or(Status::INVALID_VALUE);
    let side = src_side.max(dst_side);
    let width = bytes(copy.extent.width.div_ceil(side), src_element.max(dst_element))?;
    // What is not said to be on a device is no array.
    if copy.src_array != 0 && matches!(from, Side::Host) || copy.dst_array != 0 && matches!(to, Side::Host) {
        return Err(Status::INVALID_VALUE);
    }
    let rows = copy.extent.height.saturating_mul(copy.extent.depth);
    let sides = [(&copy.src, copy.src_at[0]), (&copy.dst, copy.dst_at[0])];
    // The bounds of an array come first, and are the driver's to check.
    let has_array = copy.src_array != 0 || copy.dst_array != 0;
    for (memory, x) in sides {
        if !has_array && memory.address != 0 {
            pitch_fits(memory.pitch, width.saturating_add(x), rows)?;
        }
    }
    Ok(Memcpy3D {
        src_array: copy.src_array,
        dst_array: copy.dst_array,
        src_x: bytes(copy.src_at[0] / src_side, src_element)?,
        src_y: copy.src_at[1] / src_side,
        src_z: copy.src_at[2],
        src_type: kind(from, copy.src_array),
        src_host: copy.src.address,
        src_device: copy.src.address,
        src_pitch: copy.src.pitch,
        src_height: copy.src.height,
        dst_x: bytes(copy.dst_at[0] / dst_side, dst_element)?,
        dst_y: copy.dst_at[1] / dst_side,
        dst_z: copy.dst_at[2],
        dst_type: kind(to, copy.dst_array),
        dst_host: copy.dst.address,
        dst_device: copy.dst.address,
        dst_pitch: copy.dst.pitch,
        dst_height: copy.dst.height,
        width,
        height: copy.extent.height.div_ceil(side),
        depth: copy.extent.depth,
        ..Memcpy3D::default()
    })
}

/// The runtime's description of a copy that the driver described.
pub(crate) fn of_volume(copy: &Memcpy3D) -> Result<Memcpy3DParms> {
    let element = |array: Handle| match array {
        0 => Ok(1),
        _ => object::find::<Arc<Array>>(array).map(|array| array.shape.element.bytes()),
    };
    let (src_element, dst_element) = (element(copy.src_array)?, element(copy.dst_array)?);
    let rows = |kind: u32, host: u64, device: u64, pitch: usize, height: usize| match kind {
        memory_type::ARRAY => PitchedPtr { address: 0, pitch: 0, width: 0, height: 0 },
        memory_type::HOST => PitchedPtr { address: host, pitch, width: pitch, height },
        _ => PitchedPtr { address: device, pitch, width: pitch, height },
    };
    let direction = match (copy.src_type, copy.dst_type) {
        (memory_type::UNIFIED, _) | (_, memory_type::UNIFIED) => 4,
        (memory_type::HOST, memory_type::HOST) => 0,
        (memory_type::HOST, _) => 1,
        (_, memory_type::HOST) => 2,
        _ => 3,
    };
    Ok(Memcpy3DParms {
        src_array: copy.src_array,
        src_at: [copy.src_x / src_element, copy.src_y, copy.src_z],
        src: rows(copy.src_type, copy.src_host, copy.src_device, copy.src_pitch, copy.src_height),
        dst_array: copy.dst_array,
        dst_at: [copy.dst_x / dst_element, copy.dst_y, copy.dst_z],
        dst: rows(copy.dst_type, copy.dst_host, copy.dst_device, copy.dst_pitch, copy.dst_height),
        extent: Extent {
            width: copy.width / src_element.max(dst_element),
            height: copy.height,
            depth: copy.depth,
        },
        kind: direction,
    })
}

/// The same of a copy between devices.
fn volume_of_peers(copy: &Memcpy3DPeerParms) -> Result<Memcpy3D> {
    peer_devices(copy.dst_device, copy.src_device)?;
    let Memcpy3DPeerParms { src_array, src_at, src, dst_array, dst_at, dst, extent, .. } = *copy;
    volume_of(&Memcpy3DParms { src_array, src_at, src, dst_array, dst_at, dst, extent, kind: 3 })
}

/// The devices of a copy must be there; where memory is, its address tells.
fn peer_devices(to: i32, from: i32) -> Result {
    ensure()?;
    state::device(to)?;
    state::device(from).map(|_| ())
}

fn copy(stream: Handle, null: NullStream, to: u64, from: u64, bytes: usize, kind: u32, when: When) -> Result {
    ensure()?;
    if bytes == 0 {
        return Ok(());
    }
    let (to_side, from_side) = sides(kind)?;
    linear(stream, null, (to, to_side), (from, from_side), bytes, when)
}

fn rows(
    stream: Handle,
    null: NullStream,
    to: (u64, usize),
    from: (u64, usize),
    width: usize,
    height: usize,
    kind: u32,
    when: When,
) -> Result {
    ensure()?;
    let (context, stream) = state::stream(stream, null)?;
    let (to_side, from_side) = sides(kind)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    for (_, pitch) in [to, from] {
        pitch_fits(pitch, width, height)?;
    }
    let area = |(address, pitch): (u64, usize), side| {
        let last = pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(width));
        let bytes = last.ok_or(Status::INVALID_VALUE)? as u64;
        Ok(Area { place: place(&context, address, bytes, side)?, pitch: pitch as u64, slice: bytes })
    };
    let (to, from): (Result<Area>, Result<Area>) = (area(to, to_side), area(from, from_side));
    let copy = Copy { from: from?, to: to?, width: width as u64, height: height as u64, depth: 1 };
    submit(&context, &stream, copy, when)
}

/// Whether rows of so many bytes fit between each other; of one row alone a pitch of 0 says nothing.
///
/// # Errors
/// `INVALID_PITCH`, of one row `INVALID_VALUE`.
pub(crate) fn pitch_fits(pitch: usize, width: usize, rows: usize) -> Result {
    match rows {
        _ if width <= pitch => Ok(()),
        0 => Ok(()),
        1 if pitch == 0 => Ok(()),
        1 => Err(Status::INVALID_VALUE),
        _ => Err(Status::INVALID_PITCH),
    }
}

/// Where a symbol's bytes lie, from an offset on.
pub(crate) fn symbol_bytes(symbol: u64, bytes: usize, offset: usize) -> Result<u64> {
    let (base, size) = variable(&ensure()?, symbol)?;
    let inside = offset.checked_add(bytes).is_some_and(|end| end as u64 <= size);
    if inside { Ok(base + offset as u64) } else { Err(Status::INVALID_VALUE) }
}

fn to_symbol(kind: u32) -> Result<Side> {
    match kind {
        1 => Ok(Side::Host),
        3 => Ok(Side::Device),
        4 => Ok(Side::Any),
        _ => Err(Status::INVALID_DIRECTION),
    }
}

fn from_symbol(kind: u32) -> Result<Side> {
    match kind {
        2 => Ok(Side::Host),
        3 => Ok(Side::Device),
        4 => Ok(Side::Any),
        _ => Err(Status::INVALID_DIRECTION),
    }
}

fn fill_volume(stream: Handle, null: NullStream, to: PitchedPtr, value: i32, extent: Extent) -> Result {
    ensure()?;
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(());
    }
    let slice = to.pitch.checked_mul(to.height).ok_or(Status::INVALID_VALUE)?;
    let all = slice.checked_mul(extent.depth).ok_or(Status::INVALID_VALUE)?;
    to.address.checked_add(all as u64).ok_or(Status::INVALID_VALUE)?;
    for z in 0..extent.depth {
        let start = to.address + (z * slice) as u64;
        let stream = state::stream(stream, null)?;
        set(stream, start, to.pitch, 1, (value & 0xff) as u32, extent.width, extent.height)?;
    }
    Ok(())
}

rt! {
    fn cudaMalloc(to: *mut u64, bytes: usize) {
        let context = ensure()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // No bytes give a null pointer, and no error.
        if bytes > 0 {
            context.check()?;
            runtime::refuse_unsafe()?;
        }
        put(to, if bytes == 0 { 0 } else { context.allocate(bytes as u64, Kind::Device, "cudaMalloc")? })
    }

    fn cudaFree(address: u64) {
        let context = uncaptured()?;
        free(&context, address)
    }

    fn cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) {
        let context = uncaptured()?;
        if to.is_null() || pitch.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let (base, bytes) = if width == 0 || height == 0 { (0, 0) } else { allocate_rows(&context, width, height)? };
        put(to, base)?;
        put(pitch, bytes)
    }

    fn cudaMalloc3D(to: *mut PitchedPtr, extent: Extent) {
        let context = uncaptured()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let Extent { width, height, depth } = extent;
        let lines = height.checked_mul(depth).ok_or(Status::INVALID_VALUE)?;
        let (address, pitch) = if width == 0 || lines == 0 { (0, 0) } else { allocate_rows(&context, width, lines)? };
        put(to, PitchedPtr { address, pitch, width, height })
    }

    fn cudaMallocHost(to: *mut u64, bytes: usize) {
        let context = uncaptured()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, if bytes == 0 { 0 } else { context.share(bytes as u64, Kind::Host, 0)? })
    }

    fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: u32) {
        let context = uncaptured()?;
        if to.is_null() || flags & !7 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(to, if bytes == 0 { 0 } else { context.share(bytes as u64, Kind::Host, flags)? })
    }

    fn cudaFreeHost(address: u64) {
        let context = uncaptured()?;
        if address == 0 { Ok(()) } else { host_memory::free(&context, address, |a| a.kind == Kind::Host) }
    }

    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: u32) {
        let context = uncaptured()?;
        if to.is_null() || !matches!(flags, 1 | 2) {
            return Err(Status::INVALID_VALUE);
        }
        put(to, if bytes == 0 { 0 } else { context.share(bytes as u64, Kind::Managed, flags)? })
    }

    fn cudaPointerGetAttributes(to: *mut PointerAttributes, address: u64) {
        let context = ensure()?;
        let found = owner(address)?;
        put(to, match found {
            None => PointerAttributes { kind: 0, device: -2, device_pointer: 0, host_pointer: address },
            Some((device, memory)) => PointerAttributes {
                kind: match memory.kind {
                    Kind::Host | Kind::Registered => 1,
                    Kind::Managed => 3,
                    _ => 2,
                },
                device,
                device_pointer: if context.reaches(address) { address } else { 0 },
                host_pointer: if memory.kind.is_host() { address } else { 0 },
            },
        })
    }
}

rt_as_driver! {
    cudaMemGetInfo = driver_memory::cuMemGetInfo_v2, (free_: *mut usize, total: *mut usize);
    cudaHostGetDevicePointer = driver_host::cuMemHostGetDevicePointer_v2, (to: *mut u64, host: u64, flags: u32);
    cudaHostGetFlags = driver_host::cuMemHostGetFlags, (flags: *mut u32, host: u64);
    cudaHostRegister = driver_host::cuMemHostRegister_v2, (start: *mut u8, bytes: usize, flags: u32);
    cudaHostUnregister = driver_host::cuMemHostUnregister, (start: u64);
    cudaMemAdvise = driver_memory::cuMemAdvise_v2, (address: u64, bytes: usize, advice: u32, location: MemLocation);
    cudaMemAdvise_v2 = driver_memory::cuMemAdvise_v2, (address: u64, bytes: usize, advice: u32, location: MemLocation);
    cudaMemAdvise_cuda12 = driver_memory::cuMemAdvise, (address: u64, bytes: usize, advice: u32, device: i32);
    cudaMemRangeGetAttributes = driver_memory::cuMemRangeGetAttributes, (data: *const *mut i32, sizes: *const usize, numbers: *const u32, count: usize, address: u64, bytes: usize);
    cudaMemGetDefaultMemPool = driver_pool::cuMemGetDefaultMemPool, (pool: *mut Handle, location: *const MemLocation, kind: u32);
    cudaMemGetMemPool = driver_pool::cuMemGetMemPool, (pool: *mut Handle, location: *const MemLocation, kind: u32);
    cudaMemSetMemPool = driver_pool::cuMemSetMemPool, (location: *const MemLocation, kind: u32, pool: Handle);
    cudaMemRangeGetAttribute = driver_memory::cuMemRangeGetAttribute, (data: *mut i32, size: usize, number: u32, address: u64, bytes: usize);
    cudaDeviceGetDefaultMemPool = driver_pool::cuDeviceGetDefaultMemPool, (pool: *mut Handle, device: i32);
    cudaDeviceGetMemPool = driver_pool::cuDeviceGetMemPool, (pool: *mut Handle, device: i32);
    cudaDeviceSetMemPool = driver_pool::cuDeviceSetMemPool, (device: i32, pool: Handle);
    cudaMemPoolTrimTo = driver_pool::cuMemPoolTrimTo, (pool: Handle, keep: usize);
    cudaMemPoolSetAttribute = driver_pool::cuMemPoolSetAttribute, (pool: Handle, number: u32, value: *const c_void);
    cudaMemPoolGetAttribute = driver_pool::cuMemPoolGetAttribute, (pool: Handle, number: u32, value: *mut c_void);
    cudaMemPoolDestroy = driver_pool::cuMemPoolDestroy, (pool: Handle);
    cudaMemPoolGetAccess = driver_pool::cuMemPoolGetAccess, (flags: *mut u32, pool: Handle, location: *const MemLocation);
    cudaMemPoolSetAccess = driver_pool::cuMemPoolSetAccess, (pool: Handle, access: *const MemAccessDesc, count: usize);
    cudaMemPoolCreate = driver_pool::cuMemPoolCreate, (pool: *mut Handle, properties: *const MemPoolProps);
}

rt_as_stream! {
    cudaMallocAsync cudaMallocAsync_ptsz =
        driver_pool::cuMemAllocAsync, driver_pool::cuMemAllocAsync_ptsz,
        (to: *mut u64, bytes: usize, stream: Handle);
    cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz =
        driver_pool::cuMemAllocFromPoolAsync, driver_pool::cuMemAllocFromPoolAsync_ptsz,
        (to: *mut u64, bytes: usize, pool: Handle, stream: Handle);
    cudaFreeAsync cudaFreeAsync_ptsz =
        driver_pool::cuMemFreeAsync, driver_pool::cuMemFreeAsync_ptsz, (address: u64, stream: Handle);
    cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz =
        driver_memory::cuMemPrefetchAsync_v2, driver_memory::cuMemPrefetchAsync_v2_ptsz,
        (address: u64, bytes: usize, location: MemLocation, flags: u32, stream: Handle);
    cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz =
        driver_memory::cuMemPrefetchAsync_v2, driver_memory::cuMemPrefetchAsync_v2_ptsz,
        (address: u64, bytes: usize, location: MemLocation, flags: u32, stream: Handle);
    cudaMemPrefetchAsync_cuda12 cudaMemPrefetchAsync_ptsz_cuda12 =
        driver_memory::cuMemPrefetchAsync, driver_memory::cuMemPrefetchAsync_ptsz,
        (address: u64, bytes: usize, device: i32, stream: Handle);
    cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz =
        driver_copy::cuMemcpyBatchAsync_v2, driver_copy::cuMemcpyBatchAsync_v2_ptsz,
        (to: *const u64, from: *const u64, sizes: *const usize, count: usize, attributes: *const MemcpyAttributes, first: *const usize, attribute_count: usize, stream: Handle);
    cudaMemcpyBatchAsync_cuda12 cudaMemcpyBatchAsync_ptsz_cuda12 =
        driver_copy::cuMemcpyBatchAsync, driver_copy::cuMemcpyBatchAsync_ptsz,
        (to: *const u64, from: *const u64, sizes: *const usize, count: usize, attributes: *const MemcpyAttributes, first: *const usize, attribute_count: usize, fail: *mut usize, stream: Handle);
    cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz =
        driver_copy::cuMemcpy3DBatchAsync_v2, driver_copy::cuMemcpy3DBatchAsync_v2_ptsz,
        (count: usize, operations: *const Memcpy3DBatchOp, flags: u64, stream: Handle);
    cudaMemcpy3DBatchAsync_cuda12 cudaMemcpy3DBatchAsync_ptsz_cuda12 =
        driver_copy::cuMemcpy3DBatchAsync, driver_copy::cuMemcpy3DBatchAsync_ptsz,
        (count: usize, operations: *const Memcpy3DBatchOp, fail: *mut usize, flags: u64, stream: Handle);
    cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz =
        driver_memory::cuMemPrefetchBatchAsync, driver_memory::cuMemPrefetchBatchAsync_ptsz,
        (addresses: *const u64, sizes: *const usize, count: usize, places: *const MemLocation, first: *const usize, place_count: usize, flags: u64, stream: Handle);
    cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz =
        driver_memory::cuMemDiscardBatchAsync, driver_memory::cuMemDiscardBatchAsync_ptsz,
        (addresses: *const u64, sizes: *const usize, count: usize, flags: u64, stream: Handle);
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz =
        driver_memory::cuMemDiscardAndPrefetchBatchAsync, driver_memory::cuMemDiscardAndPrefetchBatchAsync_ptsz,
        (addresses: *const u64, sizes: *const usize, count: usize, places: *const MemLocation, first: *const usize, place_count: usize, flags: u64, stream: Handle);
    cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz =
        driver_host::cuStreamAttachMemAsync, driver_host::cuStreamAttachMemAsync_ptsz,
        (stream: Handle, address: u64, bytes: usize, flags: u32);
}

/// The index of the first copy that attributes are of.
static FIRST: usize = 0;

rt! {
    fn cudaMemGetLocationInfo(
        address: u64, bytes: usize, region: usize, sample: usize, places: *mut MemLocation
    ) {
        let context = healthy()?;
        if region == 0 || region > bytes || sample > region || places.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let base = advice::managed(&context, address, bytes)?.base;
        for (number, start) in (0..bytes).step_by(region).enumerate() {
            let place = advice::lies(base, address + start as u64, region.min(bytes - start));
            put(places.wrapping_add(number), place)?;
        }
        Ok(())
    }
}

rt_stream! {
    fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz (
        null; to: u64, from: u64, bytes: usize, attributes: *const MemcpyAttributes, stream: Handle
    ) {
        ensure()?;
        if attributes.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let copy = match null {
            NullStream::Legacy => driver_copy::cuMemcpyBatchAsync_v2,
            NullStream::PerThread => driver_copy::cuMemcpyBatchAsync_v2_ptsz,
        };
        crate::cudart::error::of(copy(&raw const to, &raw const from, &raw const bytes, 1, attributes, &raw const FIRST, 1, stream))
    }

    fn cudaMemcpy3DWithAttributesAsync | cudaMemcpy3DWithAttributesAsync_ptsz (
        null; operation: *const Memcpy3DBatchOp, flags: u64, stream: Handle
    ) {
        ensure()?;
        let copy = match null {
            NullStream::Legacy => driver_copy::cuMemcpy3DBatchAsync_v2,
            NullStream::PerThread => driver_copy::cuMemcpy3DBatchAsync_v2_ptsz,
        };
        crate::cudart::error::of(copy(1, operation, flags, stream))
    }

    fn cudaMemcpy | cudaMemcpy_ptds (null; to: u64, from: u64, bytes: usize, kind: u32) {
        copy(0, null, to, from, bytes, kind, When::Now)
    }
    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz (null; to: u64, from: u64, bytes: usize, kind: u32, stream: Handle) {
        copy(stream, null, to, from, bytes, kind, When::Later)
    }
    fn cudaMemcpy2D | cudaMemcpy2D_ptds (null;
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32
    ) {
        rows(0, null, (to, to_pitch), (from, from_pitch), width, height, kind, When::Now)
    }
    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz (null;
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32, stream: Handle
    ) {
        rows(stream, null, (to, to_pitch), (from, from_pitch), width, height, kind, When::Later)
    }
    fn cudaMemcpy3D | cudaMemcpy3D_ptds (null; params: *const Memcpy3DParms) {
        ensure()?;
        crate::driver::copy::volume(0, null, &volume_of(&get(params)?)?, When::Now)
    }
    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz (null; params: *const Memcpy3DParms, stream: Handle) {
        ensure()?;
        crate::driver::copy::volume(stream, null, &volume_of(&get(params)?)?, When::Later)
    }
    fn cudaMemcpyPeer | cudaMemcpyPeer_ptds (null; to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize) {
        peer_devices(to_device, from_device)?;
        linear(0, null, (to, Side::Peer), (from, Side::Peer), bytes, When::Now)
    }
    fn cudaMemcpyPeerAsync | cudaMemcpyPeerAsync_ptsz (null;
        to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize, stream: Handle
    ) {
        peer_devices(to_device, from_device)?;
        linear(stream, null, (to, Side::Peer), (from, Side::Peer), bytes, When::Later)
    }
    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds (null; params: *const Memcpy3DPeerParms) {
        ensure()?;
        crate::driver::copy::volume(0, null, &volume_of_peers(&get(params)?)?, When::Now)
    }
    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz (null; params: *const Memcpy3DPeerParms, stream: Handle) {
        ensure()?;
        crate::driver::copy::volume(stream, null, &volume_of_peers(&get(params)?)?, When::Later)
    }
    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds (null;
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: u32
    ) {
        let to = symbol_bytes(symbol, bytes, offset)?;
        linear(0, null, (to, Side::Device), (from, to_symbol(kind)?), bytes, When::Now)
    }
    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz (null;
        symbol: u64, from: u64, bytes: usize, offset: usize, kind: u32, stream: Handle
    ) {
        let to = symbol_bytes(symbol, bytes, offset)?;
        linear(stream, null, (to, Side::Device), (from, to_symbol(kind)?), bytes, When::Later)
    }
    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds (null;
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: u32
    ) {
        let from = symbol_bytes(symbol, bytes, offset)?;
        linear(0, null, (to, from_symbol(kind)?), (from, Side::Device), bytes, When::Now)
    }
    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz (null;
        to: u64, symbol: u64, bytes: usize, offset: usize, kind: u32, stream: Handle
    ) {
        let from = symbol_bytes(symbol, bytes, offset)?;
        linear(stream, null, (to, from_symbol(kind)?), (from, Side::Device), bytes, When::Later)
    }
    fn cudaMemset | cudaMemset_ptds (null; to: u64, value: i32, bytes: usize) {
        ensure()?;
        if bytes == 0 {
            return Ok(());
        }
        let (context, stream) = state::stream(0, null)?;
        // On a device it is over before anything that the program asks for next, in whatever stream.
        let idle = context.query_stream(&stream).is_ok();
        set((context.clone(), Arc::clone(&stream)), to, 0, 1, (value & 0xff) as u32, bytes, 1)?;
        let shared = context.device.find(to).is_some_and(|a| a.kind.is_host());
        if idle || shared { context.synchronize_stream(&stream) } else { Ok(()) }
    }
    fn cudaMemsetAsync | cudaMemsetAsync_ptsz (null; to: u64, value: i32, bytes: usize, stream: Handle) {
        ensure()?;
        set(state::stream(stream, null)?, to, 0, 1, (value & 0xff) as u32, bytes, 1)
    }
    fn cudaMemset2D | cudaMemset2D_ptds (null; to: u64, pitch: usize, value: i32, width: usize, height: usize) {
        ensure()?;
        set_now(null, to, pitch, 1, (value & 0xff) as u32, width, height)
    }
    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz (null;
        to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: Handle
    ) {
        ensure()?;
        set(state::stream(stream, null)?, to, pitch, 1, (value & 0xff) as u32, width, height)
    }
    fn cudaMemset3D | cudaMemset3D_ptds (null; to: PitchedPtr, value: i32, extent: Extent) {
        fill_volume(0, null, to, value, extent)?;
        wait_if_shared(null, to.address)
    }
    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz (null; to: PitchedPtr, value: i32, extent: Extent, stream: Handle) {
        fill_volume(stream, null, to, value, extent)
    }
}

/// A copy of consecutive bytes, for graphs.
pub(crate) fn node_copy(to: u64, from: u64, bytes: usize, kind: u32) -> Result<Copy> {
    let context = ensure()?;
    let (to_side, from_side) = sides(kind)?;
    let to: Place = place(&context, to, bytes as u64, to_side)?;
    Ok(Copy::linear(to, place(&context, from, bytes as u64, from_side)?, bytes as u64))
}
