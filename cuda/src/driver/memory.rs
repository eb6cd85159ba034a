//! Device memory: allocation and filling.

use std::sync::Arc;

use cuda_abi::driver::MemLocation;
use runtime::{Context, Fill, Kind, Operation, Result, Status, Stream, StreamKind};

use sim_core::Backend;

use crate::driver::advice::{advise, location, managed, place, prefetch, prefetched, range_attribute};
use crate::driver::host_memory;
use crate::ffi::{Handle, NullStream, list, put, put_wanted};
use crate::state::{self, healthy, uncaptured};

/// Bytes to which rows of pitched memory are rounded up.
const PITCH: usize = 512;

/// A fill of rows, checked.
pub(crate) fn fill(context: &Context, asked: Fill) -> Result<Operation> {
    let operation = shaped(asked)?;
    if let Operation::Fill(fill) = &operation {
        if !context.reaches(fill.to) {
            return Err(Status::INVALID_VALUE);
        }
        context.device.range(fill.to, fill.bytes())?;
    }
    Ok(operation)
}

/// A fill of rows that are possible, wherever they lie.
fn shaped(fill: Fill) -> Result<Operation> {
    if fill.width == 0 || fill.height == 0 {
        return Ok(Operation::Empty);
    }
    let rows = fill.pitch.checked_mul(fill.height - 1).ok_or(Status::INVALID_VALUE)?;
    rows.checked_add(fill.row_bytes()).ok_or(Status::INVALID_VALUE)?;
    let element = u64::from(fill.element);
    if !fill.to.is_multiple_of(element)
        || fill.height > 1 && !fill.pitch.is_multiple_of(element)
        || fill.height > 1 && fill.pitch < fill.row_bytes()
    {
        return Err(Status::INVALID_VALUE);
    }
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
    if stream.capture().is_some() {
        // Where a captured fill goes is looked at when its graph is made executable.
        return match shaped(asked)? {
            Operation::Empty => Ok(()),
            fill => context.enqueue(&stream, fill),
        };
    }
    // A driver comes to the stream before it comes to the memory, and to nothing where there is nothing to fill.
    if asked.width > 0 && asked.height > 0 && stream.kind == StreamKind::Legacy {
        context.refuse_in_capture()?;
    }
    if !context.device.is_live(to) {
        return Err(Status::INVALID_VALUE);
    }
    match fill(&context, asked)? {
        Operation::Empty => Ok(()),
        fill => context.enqueue(&stream, fill),
    }
}

/// A fill that the program waits for, if the host can see the memory.
pub(crate) fn set_now(
    null: NullStream,
    to: u64,
    pitch: usize,
    element: u32,
    value: u32,
    width: usize,
    height: usize,
) -> Result {
    set(state::stream(0, null)?, to, pitch, element, value, width, height)?;
    wait_if_shared(null, to)
}

/// Waits for a fill of memory that the host can see.
pub(crate) fn wait_if_shared(null: NullStream, filled: u64) -> Result {
    let (context, stream) = state::stream(0, null)?;
    let shared = context.device.find(filled).is_some_and(|a| a.kind.is_host());
    if shared { context.synchronize_stream(&stream) } else { Ok(()) }
}

/// Frees device memory of any kind that `cuMemFree` takes.
pub(crate) fn free(context: &Context, address: u64) -> Result {
    if address == 0 {
        return Ok(());
    }
    let memory = &context.device.memory;
    if memory.find(address).is_some_and(|found| found.kind == Kind::Graph && found.base == address) {
        if !memory.set_freed(address) {
            return Err(Status::INVALID_VALUE);
        }
        context.device.drain();
        return Ok(context.device.simulator.free(address)?);
    }
    let wanted = |a: &runtime::Allocation| {
        matches!(a.kind, Kind::Device | Kind::Pool(_) | Kind::Managed) || context.device.pools.of(a).is_some()
    };
    host_memory::free(context, address, wanted)
}

/// Allocates rows; returns the address and the pitch.
pub(crate) fn allocate_rows(context: &Context, width: usize, height: usize) -> Result<(u64, usize)> {
    let pitch = width.checked_next_multiple_of(PITCH).ok_or(Status::OUT_OF_MEMORY)?;
    let bytes = pitch.checked_mul(height).ok_or(Status::OUT_OF_MEMORY)?;
    Ok((context.allocate(bytes as u64, Kind::Device, "pitched allocation")?, pitch))
}

/// Prefetches or discards ranges in a stream. What is discarded may hold anything, so it stays.
unsafe fn batch(
    stream: Handle,
    null: NullStream,
    ranges: (*const u64, *const usize, usize),
    places: Option<(*const MemLocation, *const usize, usize)>,
    flags: u64,
) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    let (addresses, sizes, count) = ranges;
    if flags != 0 || count == 0 || stream.kind == runtime::StreamKind::Legacy {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program said how many there are.
    let (addresses, sizes) = unsafe { (list(addresses, count)?, list(sizes, count)?) };
    let mut destinations = vec![None; count];
    if let Some((locations, first, count)) = places {
        // SAFETY: as above.
        let (locations, first) = unsafe { (list(locations, count)?, list(first, count)?) };
        if first.first() != Some(&0) || first.iter().any(|&first| first >= destinations.len()) {
            return Err(Status::INVALID_VALUE);
        }
        let place = |location| place(location).map_err(|_| Status::INVALID_VALUE);
        let locations = locations.into_iter().map(place).collect::<Result<Vec<_>>>()?;
        // Each location is for the ranges from its first one on, up to the next location's; a range that has passed never comes.
        let mut now = 0;
        for (range, destination) in destinations.iter_mut().enumerate() {
            now += usize::from(range > 0 && first.get(now + 1) == Some(&range));
            *destination = Some(locations[now]);
        }
    }
    let ranges = addresses.into_iter().zip(sizes).zip(destinations);
    let ranges = ranges
        .map(|((address, bytes), to)| Ok((managed(&context, address, bytes)?.base, address, bytes, to)))
        .collect::<Result<Vec<_>>>()?;
    for (base, address, bytes, to) in ranges {
        to.into_iter().for_each(|to| prefetched(base, address, bytes, to));
    }
    context.enqueue(&stream, Operation::Empty)
}

api! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        let context = uncaptured()?;
        if address.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(address, context.allocate(bytes as u64, Kind::Device, "allocation")?)
    }

    fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32) {
        let context = uncaptured()?;
        if address.is_null() || pitch.is_null() || width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
            return Err(Status::INVALID_VALUE);
        }
        let (base, bytes) = allocate_rows(&context, width, height)?;
        put(address, base)?;
        put(pitch, bytes)
    }

    fn cuMemFree_v2(address: u64) {
        state::runtime()?;
        if address == 0 && state::current().is_err() {
            return Ok(());
        }
        let context = uncaptured()?;
        free(&context, address)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let context = healthy()?;
        let (all, used) = context.device.memory_usage();
        put_wanted(free, all.saturating_sub(used) as usize);
        put_wanted(total, all as usize);
        Ok(())
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) {
        let context = healthy()?;
        let mapped = state::addresses()?.mapping_of(address);
        let found = context.device.memory.find(address).map(|found| (found.base, found.size));
        let (start, size) = mapped.or(found).ok_or(Status::NOT_FOUND)?;
        put_wanted(base, start);
        put_wanted(bytes, size as usize);
        Ok(())
    }

    fn cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) {
        advise(address, bytes, advice, location(device))
    }

    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: u32, location: MemLocation) {
        advise(address, bytes, advice, location).map_err(|status| {
            if status == Status::INVALID_DEVICE { Status::INVALID_VALUE } else { status }
        })
    }

    fn cuMemRangeGetAttribute(data: *mut i32, size: usize, attribute: u32, address: u64, bytes: usize) {
        range_attribute(data, size, attribute, address, bytes)
    }

    fn cuMemRangeGetAttributes(
        data: *const *mut i32, sizes: *const usize, attributes: *const u32, count: usize, address: u64, bytes: usize
    ) {
        if count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let (data, sizes) = (list(data, count)?, list(sizes, count)?);
        for ((to, size), number) in data.into_iter().zip(sizes).zip(list(attributes, count)?) {
            range_attribute(to, size, number, address, bytes)?;
        }
        Ok(())
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
        address: u64, bytes: usize, device: i32, stream: Handle
    ) {
        prefetch(stream, null, address, bytes, location(device), 0)
    }

    fn cuMemPrefetchAsync_v2 | cuMemPrefetchAsync_v2_ptsz (null;
        address: u64, bytes: usize, location: MemLocation, flags: u32, stream: Handle
    ) {
        prefetch(stream, null, address, bytes, location, flags)
    }

    fn cuMemPrefetchBatchAsync | cuMemPrefetchBatchAsync_ptsz (null;
        addresses: *const u64, sizes: *const usize, count: usize, places: *const MemLocation, first: *const usize,
        place_count: usize, flags: u64, stream: Handle
    ) {
        batch(stream, null, (addresses, sizes, count), Some((places, first, place_count)), flags)
    }

    fn cuMemDiscardBatchAsync | cuMemDiscardBatchAsync_ptsz (null;
        addresses: *const u64, sizes: *const usize, count: usize, flags: u64, stream: Handle
    ) {
        batch(stream, null, (addresses, sizes, count), None, flags)
    }

    fn cuMemDiscardAndPrefetchBatchAsync | cuMemDiscardAndPrefetchBatchAsync_ptsz (null;
        addresses: *const u64, sizes: *const usize, count: usize, places: *const MemLocation, first: *const usize,
        place_count: usize, flags: u64, stream: Handle
    ) {
        batch(stream, null, (addresses, sizes, count), Some((places, first, place_count)), flags)
    }
}
