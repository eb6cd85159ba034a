//! Memory that host and device share: page-locked, mapped, managed, registered.

use std::ptr::NonNull;

use runtime::{Allocation, Context, Kind, Result, Status};

use crate::ffi::{Handle, put};
use crate::state::{healthy, uncaptured};

/// Size of a page, and of what mappings are rounded up to.
pub(crate) const PAGE: usize = 4096;

/// Unmaps what a context left.
pub(crate) fn give_back(memory: &Allocation) {
    crate::driver::advice::forget(memory.base);
    if matches!(memory.kind, Kind::Managed | Kind::Host) {
        let size = (memory.size as usize).next_multiple_of(PAGE);
        // SAFETY: it was mapped when it was allocated, and the device has given it back.
        unsafe { libc::munmap(memory.base as *mut _, size) };
    }
}

/// Frees an allocation of one of these kinds.
pub(crate) fn free(context: &Context, base: u64, wanted: impl Fn(&Allocation) -> bool) -> Result {
    let freed = context.free(base, wanted)?;
    context.device.pools.freed_at_once(&freed);
    give_back(&freed);
    Ok(())
}

/// `CU_MEMHOSTALLOC_PORTABLE`, `DEVICEMAP`, `WRITECOMBINED`
const HOST_FLAGS: u32 = 7;
/// `CU_MEMHOSTREGISTER_PORTABLE`, `DEVICEMAP`, `IOMEMORY`, `READ_ONLY`
const REGISTER_FLAGS: u32 = 15;
const READ_ONLY: u32 = 8;

fn register(start: *mut u8, bytes: usize, flags: u32) -> Result {
    let context = uncaptured()?;
    let start = NonNull::new(start).ok_or(Status::INVALID_VALUE)?;
    if bytes == 0 || flags & !REGISTER_FLAGS != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let memory = &context.device.memory;
    let (first, last) = (start.as_ptr() as u64, start.as_ptr() as u64 + (bytes as u64 - 1));
    if let Some(found) = memory.find(first).or_else(|| memory.find(last)) {
        // What CUDA allocated itself is not the program's to register.
        let registered = found.kind == Kind::Registered;
        return Err(if registered { Status::HOST_MEMORY_ALREADY_REGISTERED } else { Status::INVALID_VALUE });
    }
    context.show(first, bytes as u64, Kind::Registered, flags & !READ_ONLY, "registered memory")?;
    if flags & READ_ONLY != 0 {
        context.set_read_only(first, bytes as u64);
    }
    Ok(())
}

api! {
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32) {
        let context = uncaptured()?;
        if address.is_null() || !matches!(flags, 1 | 2) {
            return Err(Status::INVALID_VALUE);
        }
        put(address, context.share(bytes as u64, Kind::Managed, flags)?)
    }

    fn cuMemAllocHost_v2(address: *mut u64, bytes: usize) {
        let context = uncaptured()?;
        if address.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(address, if bytes == 0 { 0 } else { context.share(bytes as u64, Kind::Host, 0)? })
    }

    fn cuMemHostAlloc(address: *mut u64, bytes: usize, flags: u32) {
        let context = uncaptured()?;
        if address.is_null() || flags & !HOST_FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(address, if bytes == 0 { 0 } else { context.share(bytes as u64, Kind::Host, flags)? })
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
        // All of it is mapped, under unified addressing; managed memory is nothing else.
        const MAPPED: u32 = 2;
        let found = context.device.memory.find(host).ok_or(Status::INVALID_VALUE)?;
        match found.kind {
            Kind::Host | Kind::Registered => put(flags, found.flags | MAPPED),
            Kind::Managed => put(flags, MAPPED),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuMemHostRegister(start: *mut u8, bytes: usize, flags: u32) {
        register(start, bytes, flags)
    }

    fn cuMemHostRegister_v2(start: *mut u8, bytes: usize, flags: u32) {
        register(start, bytes, flags)
    }

    fn cuMemHostUnregister(start: u64) {
        let context = uncaptured()?;
        // In memory that is known, registered or not, it is another mistake than outside.
        let known = start == 0 || context.device.memory.find(start).is_some();
        let wrong = if known { Status::INVALID_VALUE } else { Status::HOST_MEMORY_NOT_REGISTERED };
        context.free(start, |a| a.kind == Kind::Registered).map_err(|_| wrong)?;
        Ok(())
    }
}

stream_api! {
    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz (null;
        stream: Handle, address: u64, bytes: usize, flags: u32
    ) {
        let (context, stream) = crate::state::stream(stream, null)?;
        stream.refuse_in_own_capture()?;
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
