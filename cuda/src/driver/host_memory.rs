//! Memory that host and device share: page-locked, mapped, managed, registered.

use std::ptr::NonNull;
use std::sync::Arc;

use runtime::{Allocation, Context, Kind, Result, Status, fresh_id};

use crate::ffi::{Handle, put};
use crate::state::{healthy, uncaptured};

/// Size of a page, and of what mappings are rounded up to.
pub(crate) const PAGE: usize = 4096;

/// Maps zeroed memory and shows it to the device.
pub(crate) fn allocate(context: &Arc<Context>, bytes: usize, kind: Kind, flags: u32) -> Result<u64> {
    context.check()?;
    if bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let size = bytes.checked_next_multiple_of(PAGE).ok_or(Status::OUT_OF_MEMORY)?;
    // SAFETY: a new private mapping touches nothing else.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    let start = match NonNull::new(address.cast::<u8>()) {
        Some(start) if address != libc::MAP_FAILED => start,
        _ => return Err(Status::OUT_OF_MEMORY),
    };
    let what = if kind == Kind::Managed { "managed memory" } else { "host memory" };
    let shown = show(context, start, bytes, kind, flags, what);
    if shown.is_err() {
        // SAFETY: the mapping was made above, and nobody knows it.
        unsafe { libc::munmap(address, size) };
    }
    shown
}

fn show(
    context: &Arc<Context>,
    start: NonNull<u8>,
    bytes: usize,
    kind: Kind,
    flags: u32,
    what: &str,
) -> Result<u64> {
    let id = fresh_id();
    let mut base = start.as_ptr() as u64;
    // All devices see it, as under unified addressing.
    for device in context.device.all() {
        device.share_memory();
        // SAFETY: the memory stays until `give_back`, which follows the end of all launches; memory that the
        // program registered stays until it takes it back, as CUDA asks.
        let shown = unsafe { device.simulator.adopt(start, bytes as u64, what) };
        base = shown.map_err(|_| Status::INVALID_VALUE)?;
        device.memory.insert(Allocation { base, size: bytes as u64, kind, context: context.id, flags, id });
    }
    Ok(base)
}

/// Unmaps what a context left.
pub(crate) fn give_back(memory: &Allocation) {
    crate::driver::advice::forget(memory.base);
    if matches!(memory.kind, Kind::Managed | Kind::Host) {
        let size = (memory.size as usize).next_multiple_of(PAGE);
        // SAFETY: `allocate` mapped it, and the device has given it back.
        unsafe { libc::munmap(memory.base as *mut _, size) };
    }
}

/// Frees an allocation of one of these kinds.
pub(crate) fn free(context: &Context, base: u64, wanted: impl Fn(&Allocation) -> bool) -> Result {
    let freed = context.free(base, wanted)?;
    context.device.pools.freed(&freed);
    give_back(&freed);
    Ok(())
}

/// `CU_MEMHOSTALLOC_PORTABLE`, `DEVICEMAP`, `WRITECOMBINED`
const HOST_FLAGS: u32 = 7;
/// `CU_MEMHOSTREGISTER_PORTABLE`, `DEVICEMAP`, `IOMEMORY`, `READ_ONLY`
const REGISTER_FLAGS: u32 = 15;

fn register(start: *mut u8, bytes: usize, flags: u32) -> Result {
    let context = uncaptured()?;
    let start = NonNull::new(start).ok_or(Status::INVALID_VALUE)?;
    if bytes == 0 || flags & !REGISTER_FLAGS != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let memory = &context.device.memory;
    let (first, last) = (start.as_ptr() as u64, start.as_ptr() as u64 + (bytes as u64 - 1));
    if memory.find(first).is_some() || memory.find(last).is_some() {
        return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
    }
    show(&context, start, bytes, Kind::Registered, flags, "registered memory").map(|_| ())
}

api! {
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32) {
        let context = uncaptured()?;
        if address.is_null() || !matches!(flags, 1 | 2) {
            return Err(Status::INVALID_VALUE);
        }
        put(address, allocate(&context, bytes, Kind::Managed, flags)?)
    }

    fn cuMemAllocHost_v2(address: *mut u64, bytes: usize) {
        let context = uncaptured()?;
        if address.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(address, if bytes == 0 { 0 } else { allocate(&context, bytes, Kind::Host, 0)? })
    }

    fn cuMemHostAlloc(address: *mut u64, bytes: usize, flags: u32) {
        let context = uncaptured()?;
        if address.is_null() || flags & !HOST_FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(address, if bytes == 0 { 0 } else { allocate(&context, bytes, Kind::Host, flags)? })
    }

    fn cuMemFreeHost(address: u64) {
        let context = uncaptured()?;
        if address == 0 {
            return Ok(());
        }
        free(&context, address, |a| a.kind == Kind::Host)
    }

    fn cuMemHostGetDevicePointer_v2(device: *mut u64, host: u64, flags: u32) {
        let context = healthy()?;
        let pinned = |a: &Allocation| matches!(a.kind, Kind::Host | Kind::Registered);
        let found = context.device.memory.find(host).filter(pinned);
        if flags != 0 || found.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        put(device, host)
    }

    fn cuMemHostGetFlags(flags: *mut u32, host: u64) {
        let context = healthy()?;
        let pinned = |a: &Allocation| matches!(a.kind, Kind::Host | Kind::Registered);
        let found = context.device.memory.find(host).filter(pinned);
        // All of it is mapped, under unified addressing.
        put(flags, found.ok_or(Status::INVALID_VALUE)?.flags | 2)
    }

    fn cuMemHostRegister(start: *mut u8, bytes: usize, flags: u32) {
        register(start, bytes, flags)
    }

    fn cuMemHostRegister_v2(start: *mut u8, bytes: usize, flags: u32) {
        register(start, bytes, flags)
    }

    fn cuMemHostUnregister(start: u64) {
        let context = uncaptured()?;
        // Inside of a registered range is another mistake than outside.
        let inside = context.device.memory.find(start).is_some_and(|a| a.base != start);
        let wrong = if start == 0 || inside { Status::INVALID_VALUE } else { Status::HOST_MEMORY_NOT_REGISTERED };
        context.free(start, |a| a.kind == Kind::Registered).map_err(|_| wrong)?;
        Ok(())
    }
}

stream_api! {
    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz (null;
        stream: Handle, address: u64, bytes: usize, flags: u32
    ) {
        let (context, stream) = crate::state::stream(stream, null)?;
        let found = context.device.memory.find(address).filter(|a| a.kind.is_host() && a.base == address);
        // All of an allocation, and one stream only if it is a stream of the program's.
        let whole = found.is_some_and(|a| bytes == 0 || bytes as u64 == a.size);
        let own = stream.kind != runtime::StreamKind::Legacy;
        let possible = matches!(flags, 1 | 2) || flags == 4 && own;
        if !whole || !possible {
            return Err(Status::INVALID_VALUE);
        }
        // Visibility may be wider than asked for.
        Ok(())
    }
}
