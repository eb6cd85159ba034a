//! Memory: allocation, copies, fills, symbols, pointers.

use std::ffi::c_void;
use std::sync::Arc;

use runtime::{Area, Copy, Kind, Place, Result, Status};

use crate::cudart::context::ensure;
use crate::cudart::error::{INVALID_DIRECTION, INVALID_PITCH};
use crate::cudart::register::variable;
use crate::driver::copy::{Side, When, linear, place, submit};
use crate::driver::host_memory::{self, allocate};
use crate::driver::memory::{allocate_rows, free, set};
use crate::driver::pointer::owner;
use crate::driver::{host_memory as driver_host, memory as driver_memory, pool as driver_pool};
use crate::ffi::{Handle, get, put};
use crate::state::{self, NullStream};
use crate::types::{MemLocation, Memcpy3D, memory_type};

/// What a direction says about destination and source.
pub(crate) fn sides(kind: u32) -> Result<(Side, Side)> {
    match kind {
        0 => Ok((Side::Host, Side::Host)),
        1 => Ok((Side::Device, Side::Host)),
        2 => Ok((Side::Host, Side::Device)),
        3 => Ok((Side::Device, Side::Device)),
        4 => Ok((Side::Any, Side::Any)),
        _ => Err(INVALID_DIRECTION),
    }
}

/// `cudaPitchedPtr`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Pitched {
    address: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// `cudaExtent`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// `cudaMemcpy3DParms`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Params3D {
    src_array: Handle,
    src_at: [usize; 3],
    src: Pitched,
    dst_array: Handle,
    dst_at: [usize; 3],
    dst: Pitched,
    extent: Extent,
    kind: u32,
}

impl Params3D {
    /// The same as the driver describes it. Without arrays, widths and positions are bytes.
    pub(crate) fn driver(&self) -> Result<Memcpy3D> {
        if self.src_array != 0 || self.dst_array != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let (to, from) = sides(self.kind)?;
        let kind = |side: Side| match side {
            Side::Host => memory_type::HOST,
            Side::Device => memory_type::DEVICE,
            Side::Any => memory_type::UNIFIED,
        };
        Ok(Memcpy3D {
            src_x: self.src_at[0],
            src_y: self.src_at[1],
            src_z: self.src_at[2],
            src_type: kind(from),
            src_host: self.src.address,
            src_device: self.src.address,
            src_pitch: self.src.pitch,
            src_height: self.src.height,
            dst_x: self.dst_at[0],
            dst_y: self.dst_at[1],
            dst_z: self.dst_at[2],
            dst_type: kind(to),
            dst_host: self.dst.address,
            dst_device: self.dst.address,
            dst_pitch: self.dst.pitch,
            dst_height: self.dst.height,
            width: self.extent.width,
            height: self.extent.height,
            depth: self.extent.depth,
            ..Memcpy3D::default()
        })
    }
}

/// `cudaPointerAttributes`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PointerAttributes {
    kind: u32,
    device: i32,
    device_pointer: u64,
    host_pointer: u64,
}

fn copy(stream: Handle, null: NullStream, to: u64, from: u64, bytes: usize, kind: u32, when: When) -> Result {
    ensure()?;
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
    if width > to.1 || width > from.1 {
        return Err(INVALID_PITCH);
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
        _ => Err(INVALID_DIRECTION),
    }
}

fn from_symbol(kind: u32) -> Result<Side> {
    match kind {
        2 => Ok(Side::Host),
        3 => Ok(Side::Device),
        4 => Ok(Side::Any),
        _ => Err(INVALID_DIRECTION),
    }
}

fn fill_volume(stream: Handle, null: NullStream, to: Pitched, value: i32, extent: Extent) -> Result {
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
        context.check()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // No bytes give a null pointer, and no error.
        put(to, if bytes == 0 { 0 } else { context.allocate(bytes as u64, Kind::Device, "cudaMalloc")? })
    }

    fn cudaFree(address: u64) {
        let context = ensure()?;
        context.check()?;
        free(&context, address)
    }

    fn cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) {
        let context = ensure()?;
        if to.is_null() || pitch.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let (base, bytes) = if width == 0 || height == 0 { (0, 0) } else { allocate_rows(&context, width, height)? };
        put(to, base)?;
        put(pitch, bytes)
    }

    fn cudaMalloc3D(to: *mut Pitched, extent: Extent) {
        let context = ensure()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let Extent { width, height, depth } = extent;
        let lines = height.checked_mul(depth).ok_or(Status::INVALID_VALUE)?;
        let (address, pitch) = if width == 0 || lines == 0 { (0, 0) } else { allocate_rows(&context, width, lines)? };
        put(to, Pitched { address, pitch, width, height })
    }

    fn cudaMallocHost(to: *mut u64, bytes: usize) {
        let context = ensure()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, if bytes == 0 { 0 } else { allocate(&context, bytes, Kind::Host, 0)? })
    }

    fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: u32) {
        let context = ensure()?;
        if to.is_null() || flags & !7 != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(to, if bytes == 0 { 0 } else { allocate(&context, bytes, Kind::Host, flags)? })
    }

    fn cudaFreeHost(address: u64) {
        let context = ensure()?;
        if address == 0 { Ok(()) } else { host_memory::free(&context, address, |a| a.kind == Kind::Host) }
    }

    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: u32) {
        let context = ensure()?;
        if to.is_null() || !matches!(flags, 1 | 2) {
            return Err(Status::INVALID_VALUE);
        }
        put(to, allocate(&context, bytes, Kind::Managed, flags)?)
    }

    fn cudaPointerGetAttributes(to: *mut PointerAttributes, address: u64) {
        ensure()?;
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
                device_pointer: address,
                host_pointer: if memory.kind.is_host() { address } else { 0 },
            },
        })
    }

    fn cudaMemcpyPeer(to: u64, to_device: i32, from: u64, from_device: i32, bytes: usize) {
        ensure()?;
        if to_device != from_device {
            return Err(Status::NOT_SUPPORTED);
        }
        linear(0, NullStream::Legacy, (to, Side::Device), (from, Side::Device), bytes, When::Now)
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
    cudaMemRangeGetAttribute = driver_memory::cuMemRangeGetAttribute, (data: *mut i32, size: usize, number: u32, address: u64, bytes: usize);
    cudaDeviceGetDefaultMemPool = driver_pool::cuDeviceGetDefaultMemPool, (pool: *mut Handle, device: i32);
    cudaDeviceGetMemPool = driver_pool::cuDeviceGetMemPool, (pool: *mut Handle, device: i32);
    cudaDeviceSetMemPool = driver_pool::cuDeviceSetMemPool, (device: i32, pool: Handle);
    cudaMemPoolTrimTo = driver_pool::cuMemPoolTrimTo, (pool: Handle, keep: usize);
    cudaMemPoolSetAttribute = driver_pool::cuMemPoolSetAttribute, (pool: Handle, number: u32, value: *const c_void);
    cudaMemPoolGetAttribute = driver_pool::cuMemPoolGetAttribute, (pool: Handle, number: u32, value: *mut c_void);
    cudaMemPoolDestroy = driver_pool::cuMemPoolDestroy, (pool: Handle);
    cudaMemPoolGetAccess = driver_pool::cuMemPoolGetAccess, (flags: *mut u32, pool: Handle, location: *const MemLocation);
    cudaMemPoolSetAccess = driver_pool::cuMemPoolSetAccess, (pool: Handle, access: *const [u32; 3], count: usize);
    cudaMemPoolCreate = driver_pool::cuMemPoolCreate, (pool: *mut Handle, properties: *const driver_pool::Properties);
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
    cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz =
        driver_host::cuStreamAttachMemAsync, driver_host::cuStreamAttachMemAsync_ptsz,
        (stream: Handle, address: u64, bytes: usize, flags: u32);
}

rt_stream! {
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
    fn cudaMemcpy3D | cudaMemcpy3D_ptds (null; params: *const Params3D) {
        ensure()?;
        crate::driver::copy::volume(0, null, &get(params)?.driver()?, When::Now)
    }
    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz (null; params: *const Params3D, stream: Handle) {
        ensure()?;
        crate::driver::copy::volume(stream, null, &get(params)?.driver()?, When::Later)
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
        set((context.clone(), Arc::clone(&stream)), to, 0, 1, (value & 0xff) as u32, bytes, 1)?;
        let shared = context.device.memory.find(to).is_some_and(|a| a.kind.is_host());
        if shared { context.synchronize_stream(&stream) } else { Ok(()) }
    }
    fn cudaMemsetAsync | cudaMemsetAsync_ptsz (null; to: u64, value: i32, bytes: usize, stream: Handle) {
        ensure()?;
        set(state::stream(stream, null)?, to, 0, 1, (value & 0xff) as u32, bytes, 1)
    }
    fn cudaMemset2D | cudaMemset2D_ptds (null; to: u64, pitch: usize, value: i32, width: usize, height: usize) {
        ensure()?;
        set(state::stream(0, null)?, to, pitch, 1, (value & 0xff) as u32, width, height)
    }
    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz (null;
        to: u64, pitch: usize, value: i32, width: usize, height: usize, stream: Handle
    ) {
        ensure()?;
        set(state::stream(stream, null)?, to, pitch, 1, (value & 0xff) as u32, width, height)
    }
    fn cudaMemset3D | cudaMemset3D_ptds (null; to: Pitched, value: i32, extent: Extent) {
        fill_volume(0, null, to, value, extent)
    }
    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz (null; to: Pitched, value: i32, extent: Extent, stream: Handle) {
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
