//! Memory and its addresses apart: reserving, mapping and allowing access.
//!
//! Memory is a file without a name, so that it can be mapped at several addresses and passed to other processes.
//! What is mapped and may be accessed is shown to the simulator as memory at its own address; neighbouring
//! mappings as one piece, so that copies may cross their borders.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_abi::driver::{MemAccessDesc, MemAllocationProp, MemLocation};
use cuda_abi::numbers::allocation::PINNED;
use cuda_abi::numbers::handle_type::POSIX_FILE_DESCRIPTOR;
use runtime::{Allocation, Device, Kind, Result, Status, fresh_id};
use sim_core::Backend;

use crate::driver::device::{device_at, device_of};
use crate::ffi::{Handle, get, list, put};
use crate::object;
use crate::state;

/// Memory without an address.
#[derive(Debug)]
pub(crate) struct Physical {
    id: u64,
    size: u64,
    device: i32,
    /// Kinds of handles for other processes that it may be given as.
    handles: u32,
    file: File,
    /// Handles of the program.
    references: AtomicU32,
}

#[derive(Debug)]
struct Mapping {
    size: u64,
    physical: Arc<Physical>,
    /// 0 none, 1 for reading, 3 for all.
    access: u32,
}

#[derive(Debug, Default)]
struct Reservation {
    size: u64,
    mappings: BTreeMap<u64, Mapping>,
    /// Pieces that the simulator knows: first address and bytes.
    shown: BTreeMap<u64, u64>,
}

/// Reserved addresses by the first one.
static RESERVED: Mutex<BTreeMap<u64, Reservation>> = Mutex::new(BTreeMap::new());
/// Bytes of all memory of this kind, of all devices.
static IN_USE: AtomicU64 = AtomicU64::new(0);

/// What sizes and addresses are multiples of.
const GRANULARITY: u64 = 2 << 20;

fn reserved() -> MutexGuard<'static, BTreeMap<u64, Reservation>> {
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory that was made without an address.
pub(crate) fn bytes_in_use() -> u64 {
    IN_USE.load(SeqCst)
}

impl Drop for Physical {
    fn drop(&mut self) {
        IN_USE.fetch_sub(self.size, SeqCst);
    }
}

/// The reservation that an address lies in: its first address and bytes.
pub(crate) fn reservation_of(address: u64) -> Option<(u64, u64)> {
    let table = reserved();
    let (&base, found) = table.range(..=address).next_back()?;
    (address - base < found.size).then_some((base, found.size))
}

/// The mapping that an address lies in: its first address and bytes.
pub(crate) fn mapping_of(address: u64) -> Option<(u64, u64)> {
    let table = reserved();
    let (_, found) = table.range(..=address).next_back()?;
    let (&base, mapping) = found.mappings.range(..=address).next_back()?;
    (address - base < mapping.size).then_some((base, mapping.size))
}

fn new_physical(size: u64, device: i32, handles: u32, file: File) -> Arc<Physical> {
    IN_USE.fetch_add(size, SeqCst);
    Arc::new(Physical { id: fresh_id(), size, device, handles, file, references: AtomicU32::new(1) })
}

fn create(size: u64, properties: &MemAllocationProp) -> Result<Arc<Physical>> {
    if properties.kind != PINNED || size == 0 || !size.is_multiple_of(GRANULARITY) {
        return Err(Status::INVALID_VALUE);
    }
    if properties.handle_types & !POSIX_FILE_DESCRIPTOR != 0 {
        return Err(Status::NOT_SUPPORTED);
    }
    let device = device_at(properties.location)?;
    let (total, used) = state::device(device)?.simulator.memory_usage();
    if size > total.saturating_sub(used).saturating_sub(bytes_in_use()) {
        return Err(Status::OUT_OF_MEMORY);
    }
    // SAFETY: the name is a string; the result is a file or an error.
    let descriptor = unsafe { libc::memfd_create(c"warpgrind".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(Status::OUT_OF_MEMORY);
    }
    // SAFETY: it was opened above, and nobody else has it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(size).map_err(|_| Status::OUT_OF_MEMORY)?;
    Ok(new_physical(size, device, properties.handle_types, file))
}

/// Maps `size` bytes at an address that is reserved: nothing, or a file.
fn map_at(address: u64, size: u64, file: Option<&File>) -> Result {
    let (protection, flags, descriptor) = match file {
        Some(file) => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd()),
        None => (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1),
    };
    // SAFETY: the range is part of a reservation, which nobody else maps into.
    let mapped = unsafe {
        libc::mmap(address as *mut c_void, size as usize, protection, flags | libc::MAP_FIXED, descriptor, 0)
    };
    if mapped == libc::MAP_FAILED { Err(Status::OUT_OF_MEMORY) } else { Ok(()) }
}

impl Reservation {
    /// Neighbouring mappings that may be accessed, as pieces.
    fn accessible(&self) -> BTreeMap<u64, u64> {
        let mut pieces: BTreeMap<u64, u64> = BTreeMap::new();
        for (&base, mapping) in self.mappings.iter().filter(|(_, mapping)| mapping.access != 0) {
            match pieces.last_entry() {
                Some(mut last) if *last.key() + *last.get() == base => *last.get_mut() += mapping.size,
                _ => drop(pieces.insert(base, mapping.size)),
            }
        }
        pieces
    }

    /// Shows the simulator what may be accessed now, and nothing else.
    fn show(&mut self, device: &Device) -> Result {
        let wanted = self.accessible();
        let gone: Vec<u64> =
            self.shown.keys().filter(|base| self.shown.get(base) != wanted.get(base)).copied().collect();
        if !gone.is_empty() {
            device.drain();
        }
        for base in gone {
            device.memory.remove(base, |found| found.kind == Kind::Virtual);
            let _ = device.simulator.free(base);
            self.shown.remove(&base);
        }
        device.share_memory();
        for (&base, &size) in &wanted {
            let Some(start) = NonNull::new(base as *mut u8) else { continue };
            if self.shown.contains_key(&base) {
                continue;
            }
            // SAFETY: it is mapped until it is taken out of the reservation, which hides it first.
            unsafe { device.simulator.adopt(start, size, "mapped memory") }?;
            let id = fresh_id();
            device.memory.insert(Allocation { base, size, kind: Kind::Virtual, context: 0, flags: 0, id });
            self.shown.insert(base, size);
        }
        Ok(())
    }

    /// The mappings that fill a range exactly.
    fn filling(&self, address: u64, size: u64) -> Option<Vec<u64>> {
        let mut next = address;
        let mut list = Vec::new();
        while next < address.checked_add(size)? {
            list.push(next);
            next += self.mappings.get(&next)?.size;
        }
        (next == address + size).then_some(list)
    }
}

fn with_reservation<T>(
    address: u64,
    size: u64,
    body: impl FnOnce(&mut Reservation) -> Result<T>,
) -> Result<T> {
    let mut table = reserved();
    let (&base, found) = table.range_mut(..=address).next_back().ok_or(Status::INVALID_VALUE)?;
    let inside = (address - base).checked_add(size).is_some_and(|end| end <= found.size);
    if !inside || size == 0 || !size.is_multiple_of(GRANULARITY) || !address.is_multiple_of(GRANULARITY) {
        return Err(Status::INVALID_VALUE);
    }
    body(found)
}

/// Reserves addresses, at `wanted` if they are free.
fn reserve(size: u64, alignment: u64, wanted: u64) -> Result<u64> {
    let alignment = alignment.max(GRANULARITY);
    let whole = size.checked_add(alignment).ok_or(Status::OUT_OF_MEMORY)?;
    let take = |hint: u64, size: u64| {
        // SAFETY: a new mapping without access touches nothing else.
        let at = unsafe {
            libc::mmap(
                hint as *mut c_void,
                size as usize,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED { Err(Status::OUT_OF_MEMORY) } else { Ok(at as u64) }
    };
    // SAFETY: each call gives back a part of what was just mapped.
    let give_back = |at: u64, size: u64| unsafe { libc::munmap(at as *mut c_void, size as usize) };
    if wanted != 0 && wanted.is_multiple_of(alignment) {
        let at = take(wanted, size)?;
        if at == wanted {
            return Ok(at);
        }
        give_back(at, size);
    }
    let at = take(0, whole)?;
    let base = at.next_multiple_of(alignment);
    if base > at {
        give_back(at, base - at);
    }
    if at + whole > base + size {
        give_back(base + size, at + whole - base - size);
    }
    Ok(base)
}

api! {
    fn cuMemGetAllocationGranularity(to: *mut usize, properties: *const MemAllocationProp, option: u32) {
        state::runtime()?;
        let properties = get(properties)?;
        if to.is_null() || option > 1 || properties.kind != PINNED {
            return Err(Status::INVALID_VALUE);
        }
        device_at(properties.location)?;
        put(to, GRANULARITY as usize)
    }

    fn cuMemCreate(to: *mut Handle, size: usize, properties: *const MemAllocationProp, flags: u64) {
        state::runtime()?;
        let properties = get(properties)?;
        if to.is_null() || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let physical = create(size as u64, &properties)?;
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemRelease(handle: Handle) {
        state::runtime()?;
        let physical: Arc<Physical> = object::find(handle)?;
        // Mappings keep the memory.
        if physical.references.fetch_sub(1, SeqCst) == 1 {
            object::remove::<Arc<Physical>>(handle)?;
        }
        Ok(())
    }

    fn cuMemRetainAllocationHandle(to: *mut Handle, address: u64) {
        state::runtime()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let (base, _) = mapping_of(address).ok_or(Status::INVALID_VALUE)?;
        let physical = with_reservation(base, GRANULARITY, |reservation| {
            let mapping = reservation.mappings.get(&base).ok_or(Status::INVALID_VALUE)?;
            Ok(mapping.physical.clone())
        })?;
        physical.references.fetch_add(1, SeqCst);
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemGetAllocationPropertiesFromHandle(to: *mut MemAllocationProp, handle: Handle) {
        state::runtime()?;
        let physical: Arc<Physical> = object::find(handle)?;
        let location = MemLocation { kind: 1, id: physical.device };
        put(to, MemAllocationProp { kind: PINNED, handle_types: physical.handles, location, windows: 0, flags: 0 })
    }

    fn cuMemExportToShareableHandle(to: *mut i32, handle: Handle, kind: u32, flags: u64) {
        state::runtime()?;
        let physical: Arc<Physical> = object::find(handle)?;
        if to.is_null() || flags != 0 || kind != POSIX_FILE_DESCRIPTOR || physical.handles & POSIX_FILE_DESCRIPTOR == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let file = physical.file.try_clone().map_err(|_| Status::OPERATING_SYSTEM)?;
        put(to, file.into_raw_fd())
    }

    fn cuMemImportFromShareableHandle(to: *mut Handle, descriptor: u64, kind: u32) {
        state::runtime()?;
        if to.is_null() || kind != POSIX_FILE_DESCRIPTOR {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: any number is allowed; what is no file gives an error.
        let own = unsafe { libc::fcntl(descriptor as i32, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return Err(Status::UNKNOWN);
        }
        // SAFETY: it was opened above, and nobody else has it.
        let file = unsafe { File::from_raw_fd(own) };
        let size = file.metadata().map_err(|_| Status::INVALID_VALUE)?.len();
        if size == 0 || !size.is_multiple_of(GRANULARITY) {
            return Err(Status::INVALID_VALUE);
        }
        let physical = new_physical(size, 0, POSIX_FILE_DESCRIPTOR, file);
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemAddressReserve(to: *mut u64, size: usize, alignment: usize, wanted: u64, flags: u64) {
        state::runtime()?;
        let size = size as u64;
        let aligned = alignment == 0 || alignment.is_power_of_two();
        if to.is_null() || flags != 0 || size == 0 || !size.is_multiple_of(GRANULARITY) || !aligned {
            return Err(Status::INVALID_VALUE);
        }
        let base = reserve(size, alignment as u64, wanted)?;
        reserved().insert(base, Reservation { size, ..Reservation::default() });
        put(to, base)
    }

    fn cuMemAddressFree(address: u64, size: usize) {
        state::runtime()?;
        let mut table = reserved();
        let found = table.get(&address).filter(|found| found.size == size as u64 && found.mappings.is_empty());
        found.ok_or(Status::INVALID_VALUE)?;
        table.remove(&address);
        // SAFETY: it was reserved, and nothing is mapped there.
        unsafe { libc::munmap(address as *mut c_void, size) };
        Ok(())
    }

    fn cuMemMap(address: u64, size: usize, offset: usize, handle: Handle, flags: u64) {
        state::runtime()?;
        let physical: Arc<Physical> = object::find(handle)?;
        let size = size as u64;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        // Parts of memory cannot be mapped.
        if offset != 0 || size != physical.size {
            return Err(Status::NOT_SUPPORTED);
        }
        with_reservation(address, size, |reservation| {
            let overlaps = |(&base, other): (&u64, &Mapping)| base < address + size && address < base + other.size;
            if reservation.mappings.iter().any(overlaps) {
                return Err(Status::INVALID_VALUE);
            }
            map_at(address, size, Some(&physical.file))?;
            reservation.mappings.insert(address, Mapping { size, physical, access: 0 });
            Ok(())
        })
    }

    fn cuMemUnmap(address: u64, size: usize) {
        state::runtime()?;
        with_reservation(address, size as u64, |reservation| {
            let size = size as u64;
            let inside: Vec<u64> = reservation.mappings.range(address..address + size).map(|(&base, _)| base).collect();
            let ends = inside.last().and_then(|last| Some(last + reservation.mappings.get(last)?.size));
            if ends.is_some_and(|end| end > address + size) {
                return Err(Status::INVALID_VALUE);
            }
            // Nothing mapped is nothing to do.
            let gone: Vec<Mapping> = inside.iter().filter_map(|base| reservation.mappings.remove(base)).collect();
            if let Some(mapping) = gone.first() {
                reservation.show(state::device(mapping.physical.device)?)?;
            }
            map_at(address, size, None)
        })
    }

    fn cuMemSetAccess(address: u64, size: usize, access: *const MemAccessDesc, count: usize) {
        state::runtime()?;
        if count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let access = list(access, count)?;
        with_reservation(address, size as u64, |reservation| {
            let mappings = reservation.filling(address, size as u64).ok_or(Status::INVALID_VALUE)?;
            let device = mappings.first().and_then(|base| reservation.mappings.get(base)).map_or(0, |m| m.physical.device);
            let known = |place: &MemAccessDesc| matches!(place.flags, 0 | 1 | 3) && (place.location.kind, place.location.id) == (1, device);
            // Other devices and the host cannot be given access.
            if !access.iter().all(known) {
                return Err(Status::INVALID_VALUE);
            }
            for base in mappings {
                if let Some(mapping) = reservation.mappings.get_mut(&base) {
                    mapping.access = access.last().map_or(0, |place| place.flags);
                }
            }
            reservation.show(state::device(device)?)
        })
    }

    fn cuMemGetAccess(flags: *mut u64, location: *const MemLocation, address: u64) {
        state::runtime()?;
        let device = device_of(location)?;
        if let Some((owner, _)) = crate::driver::pointer::owner(address)?.filter(|(_, found)| found.kind != Kind::Virtual) {
            return put(flags, if owner == device { 3 } else { 0 });
        }
        let Some((base, _)) = mapping_of(address) else {
            put(flags, 0)?;
            return Err(Status::INVALID_VALUE);
        };
        let access = with_reservation(base, GRANULARITY, |reservation| {
            Ok(reservation.mappings.get(&base).map_or(0, |mapping| if mapping.physical.device == device { mapping.access } else { 0 }))
        })?;
        put(flags, u64::from(access))
    }
}
