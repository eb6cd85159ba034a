//! Device memory: allocation and filling.

use std::sync::Arc;

use runtime::{Context, Fill, Kind, Operation, Result, Status, Stream};

use crate::driver::host_memory;
use crate::ffi::{Handle, put, put_wanted};
use crate::state::{self, NullStream, current, healthy};
use crate::types::MemLocation;

/// Bytes to which rows of pitched memory are rounded up.
const PITCH: usize = 512;

/// A fill of rows, checked.
pub(crate) fn fill(context: &Context, fill: Fill) -> Result<Operation> {
    if fill.width == 0 || fill.height == 0 {
        return Ok(Operation::Empty);
    }
    let rows = fill.pitch.checked_mul(fill.height - 1).ok_or(Status::INVALID_VALUE)?;
    let bytes = rows.checked_add(fill.row_bytes()).ok_or(Status::INVALID_VALUE)?;
    if !fill.to.is_multiple_of(u64::from(fill.element)) || fill.height > 1 && fill.pitch < fill.row_bytes() {
        return Err(Status::INVALID_VALUE);
    }
    context.device.memory.range(fill.to, bytes)?;
    Ok(Operation::Fill(fill))
}

/// A fill in a stream.
pub(crate) fn set(
    stream: (Arc<Context>, Arc<Stream>),
    to: u64,
    pitch: usize,
    element: u32,
    value: u32,
    width: usize,
    height: usize,
) -> Result {
    let (context, stream) = stream;
    context.check()?;
    let pitch = if height > 1 { pitch as u64 } else { 0 };
    let asked = Fill { to, pitch, value, element, width: width as u64, height: height as u64 };
    context.enqueue(&stream, fill(&context, asked)?)
}

/// A fill that the program waits for, if the host can see the memory.
fn set_now(
    null: NullStream,
    to: u64,
    pitch: usize,
    element: u32,
    value: u32,
    width: usize,
    height: usize,
) -> Result {
    let (context, stream) = state::stream(0, null)?;
    set((context.clone(), stream.clone()), to, pitch, element, value, width, height)?;
    let shared = context.device.memory.find(to).is_some_and(|a| a.kind.is_host());
    if shared { context.synchronize_stream(&stream) } else { Ok(()) }
}

/// Frees device memory of any kind that `cuMemFree` takes.
pub(crate) fn free(context: &Context, address: u64) -> Result {
    if address == 0 {
        return Ok(());
    }
    let wanted = |a: &runtime::Allocation| matches!(a.kind, Kind::Device | Kind::Pool(_) | Kind::Managed);
    host_memory::free(context, address, wanted)
}

/// Allocates rows; returns the address and the pitch.
pub(crate) fn allocate_rows(context: &Context, width: usize, height: usize) -> Result<(u64, usize)> {
    let pitch = width.checked_next_multiple_of(PITCH).ok_or(Status::OUT_OF_MEMORY)?;
    let bytes = pitch.checked_mul(height).ok_or(Status::OUT_OF_MEMORY)?;
    Ok((context.allocate(bytes as u64, Kind::Device, "pitched allocation")?, pitch))
}

fn advise(address: u64, bytes: usize, advice: u32) -> Result {
    let context = healthy()?;
    let found = context.device.memory.range(address, bytes as u64)?;
    if found.kind != Kind::Managed || !(1..=6).contains(&advice) {
        return Err(Status::INVALID_VALUE);
    }
    // Advice changes where pages lie, and host and device share them here.
    Ok(())
}

fn prefetch(stream: Handle, null: NullStream, address: u64, bytes: usize) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    let found = context.device.memory.range(address, bytes as u64)?;
    if found.kind != Kind::Managed || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    context.enqueue(&stream, Operation::Empty)
}

api! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        let context = healthy()?;
        if address.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(address, context.allocate(bytes as u64, Kind::Device, "allocation")?)
    }

    fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32) {
        let context = healthy()?;
        if address.is_null() || pitch.is_null() || width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
            return Err(Status::INVALID_VALUE);
        }
        let (base, bytes) = allocate_rows(&context, width, height)?;
        put(address, base)?;
        put(pitch, bytes)
    }

    fn cuMemFree_v2(address: u64) {
        let context = current()?;
        free(&context, address)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let context = healthy()?;
        let (all, used) = context.device.simulator.memory_usage();
        put_wanted(free, (all - used) as usize);
        put_wanted(total, all as usize);
        Ok(())
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) {
        let context = healthy()?;
        let found = context.device.memory.find(address).ok_or(Status::NOT_FOUND)?;
        put_wanted(base, found.base);
        put_wanted(bytes, found.size as usize);
        Ok(())
    }

    fn cuMemAdvise(address: u64, bytes: usize, advice: u32, _device: i32) {
        advise(address, bytes, advice)
    }

    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: u32, _location: MemLocation) {
        advise(address, bytes, advice)
    }

    fn cuMemRangeGetAttribute(data: *mut i32, size: usize, attribute: u32, address: u64, bytes: usize) {
        let context = healthy()?;
        let found = context.device.memory.range(address, bytes as u64)?;
        if found.kind != Kind::Managed || size < 4 {
            return Err(Status::INVALID_VALUE);
        }
        match attribute {
            // Read-mostly: no. Preferred and last prefetched location: none.
            1 => put(data, 0),
            2 | 4 => put(data, -2),
            3 => {
                for at in 0..size / 4 {
                    put(data.wrapping_add(at), -2)?;
                }
                Ok(())
            }
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

macro_rules! fills {
    ($($now:ident $now_ptds:ident $later:ident $later_ptsz:ident $now2:ident $now2_ptds:ident $later2:ident $later2_ptsz:ident $ty:ty;)*) => {
        stream_api! {$(
            fn $now | $now_ptds (null; to: u64, value: $ty, count: usize) {
                set_now(null, to, 0, size_of::<$ty>() as u32, value.into(), count, 1)
            }
            fn $later | $later_ptsz (null; to: u64, value: $ty, count: usize, stream: Handle) {
                set(state::stream(stream, null)?, to, 0, size_of::<$ty>() as u32, value.into(), count, 1)
            }
            fn $now2 | $now2_ptds (null; to: u64, pitch: usize, value: $ty, width: usize, height: usize) {
                set_now(null, to, pitch, size_of::<$ty>() as u32, value.into(), width, height)
            }
            fn $later2 | $later2_ptsz (null;
                to: u64, pitch: usize, value: $ty, width: usize, height: usize, stream: Handle
            ) {
                set(state::stream(stream, null)?, to, pitch, size_of::<$ty>() as u32, value.into(), width, height)
            }
        )*}
    };
}

// One line a width of elements: now, in a stream, rows now, rows in a stream.
fills! {
    cuMemsetD8_v2 cuMemsetD8_v2_ptds cuMemsetD8Async cuMemsetD8Async_ptsz
    cuMemsetD2D8_v2 cuMemsetD2D8_v2_ptds cuMemsetD2D8Async cuMemsetD2D8Async_ptsz u8;
    cuMemsetD16_v2 cuMemsetD16_v2_ptds cuMemsetD16Async cuMemsetD16Async_ptsz
    cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds cuMemsetD2D16Async cuMemsetD2D16Async_ptsz u16;
    cuMemsetD32_v2 cuMemsetD32_v2_ptds cuMemsetD32Async cuMemsetD32Async_ptsz
    cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds cuMemsetD2D32Async cuMemsetD2D32Async_ptsz u32;
}

stream_api! {
    fn cuMemPrefetchAsync | cuMemPrefetchAsync_ptsz (null;
        address: u64, bytes: usize, _device: i32, stream: Handle
    ) {
        prefetch(stream, null, address, bytes)
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz (null;
        address: u64, bytes: usize, _location: MemLocation, _flags: u32, stream: Handle
    ) {
        prefetch(stream, null, address, bytes)
    }
}
