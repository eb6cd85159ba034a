//! The program's address space, for the runtime.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::ptr::NonNull;

use runtime::{Holds, Pages, Result, Status};
use sim_core::Simulator;

use crate::host::Program;
use crate::memory_file::file_in_memory;

/// Maps pages: where the system likes, or at `hint` if that is free.
fn map(hint: u64, bytes: u64, protection: i32) -> Result<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new private mapping touches nothing else.
    let at = unsafe { libc::mmap(hint as *mut c_void, bytes as usize, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(Status::OUT_OF_MEMORY) } else { Ok(at as u64) }
}

/// Takes mapped pages away.
fn unmap(address: u64, bytes: u64) {
    // SAFETY: the callers mapped them, and nobody uses them.
    unsafe { libc::munmap(address as *mut c_void, bytes as usize) };
}

/// What files are called: of device memory with the device's number behind it.
const DEVICE: &str = "warpgrind-device-";
const HOST: &str = "warpgrind-host";
const MULTICAST: &str = "warpgrind-multicast";

impl Pages for Program {
    fn map(&self, bytes: u64) -> Result<u64> {
        map(0, bytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn discard(&self, address: u64, bytes: u64) {
        // SAFETY: the runtime asks for what `map` returned, whose contents nobody needs.
        unsafe { libc::madvise(address as *mut c_void, bytes as usize, libc::MADV_DONTNEED) };
    }

    fn show(&self, device: &Simulator, address: u64, bytes: u64, what: &str) -> Result {
        let start = NonNull::new(address as *mut u8).ok_or(Status::INVALID_VALUE)?;
        // SAFETY: the runtime shows what it has mapped, and frees it at the device before that ends; what the program
        // registered stays until it takes it back, as CUDA asks.
        unsafe { device.adopt(start, bytes, what) }?;
        Ok(())
    }

    fn reserve(&self, bytes: u64, alignment: u64, wanted: u64) -> Result<u64> {
        if wanted != 0 && wanted.is_multiple_of(alignment) {
            let at = map(wanted, bytes, libc::PROT_NONE)?;
            if at == wanted {
                return Ok(at);
            }
            unmap(at, bytes);
        }
        let whole = bytes.checked_add(alignment).ok_or(Status::OUT_OF_MEMORY)?;
        let at = map(0, whole, libc::PROT_NONE)?;
        let base = at.next_multiple_of(alignment);
        if base > at {
            unmap(at, base - at);
        }
        if at + whole > base + bytes {
            unmap(base + bytes, at + whole - base - bytes);
        }
        Ok(base)
    }

    fn unreserve(&self, address: u64, bytes: u64) {
        unmap(address, bytes);
    }

    fn file(&self, bytes: u64, holds: Holds) -> Result<File> {
        let name = match holds {
            Holds::Device(device) => format!("{DEVICE}{device}"),
            Holds::Host => HOST.into(),
            Holds::Multicast => MULTICAST.into(),
        };
        file_in_memory(&name, bytes).map_err(|_| Status::OUT_OF_MEMORY)
    }

    fn held_by(&self, file: &File) -> Option<Holds> {
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        let name = path.to_str()?.strip_prefix("/memfd:")?.split(' ').next()?;
        match name {
            HOST => Some(Holds::Host),
            MULTICAST => Some(Holds::Multicast),
            _ => Some(Holds::Device(name.strip_prefix(DEVICE)?.parse().ok()?)),
        }
    }

    fn opened(&self, process: u32, descriptor: u32, inode: u64) -> Option<File> {
        let path = format!("/proc/{process}/fd/{descriptor}");
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        let same = file.metadata().is_ok_and(|found| found.ino() == inode);
        (same && self.held_by(&file).is_some()).then_some(file)
    }

    fn put_behind(&self, address: u64, bytes: u64, file: Option<&File>) -> Result {
        let (protection, flags, descriptor) = match file {
            Some(file) => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1),
        };
        let flags = flags | libc::MAP_FIXED;
        // SAFETY: the range is part of a reservation, which nobody else maps into.
        let mapped =
            unsafe { libc::mmap(address as *mut c_void, bytes as usize, protection, flags, descriptor, 0) };
        if mapped == libc::MAP_FAILED { Err(Status::OUT_OF_MEMORY) } else { Ok(()) }
    }
}
