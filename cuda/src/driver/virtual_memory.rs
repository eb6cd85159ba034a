//! Virtual memory management: memory without an address, and reserved addresses.

use std::fs::File;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::sync::Arc;

use cuda_abi::driver::{MemAccessDesc, MemAllocationProp, MemLocation};
use cuda_abi::numbers::allocation::PINNED;
use cuda_abi::numbers::handle_type::{FABRIC, POSIX_FILE_DESCRIPTOR, WINDOWS};
use cuda_abi::numbers::{access as flag, location};
use runtime::virtual_memory::{Access, GRANULARITY, Physical, Wanted, Who, is_size};
use runtime::{Holds, Kind, Multicast, Pages, Result, Status};

use crate::driver::device::{device_at, device_of};
use crate::ffi::{Handle, get, list, put};
use crate::object;
use crate::state::{self, addresses};

/// Which bits of the flags of memory say how it is compressed, and the one way that there is.
const COMPRESSION: u64 = 0xff;
const GENERIC_COMPRESSION: u64 = 1;
/// Which bits say what memory is for (`CUmemAllocationProp.allocFlags.usage`), and that it is for arrays
/// (`CU_MEM_CREATE_USAGE_TILE_POOL`).
const USAGE_AT: u32 = 16;
const USAGE: u64 = 0xffff;
const TILE_POOL: u64 = 1;

/// What flags of a description say.
fn access_of(flags: u32) -> Result<Access> {
    match flags {
        flag::NONE => Ok(Access::None),
        flag::READ => Ok(Access::Read),
        flag::READ_WRITE => Ok(Access::ReadWrite),
        _ => Err(Status::INVALID_VALUE),
    }
}

fn flags_of(access: Access) -> u32 {
    match access {
        Access::None => flag::NONE,
        Access::Read => flag::READ,
        Access::ReadWrite => flag::READ_WRITE,
    }
}

/// The device that memory of a place counts as, and whether the place is the host. Of the host one node is known.
fn place_of(place: MemLocation) -> Result<(i32, bool)> {
    match place {
        MemLocation { kind: location::HOST, .. } | MemLocation { kind: location::HOST_NUMA, id: 0 } => {
            Ok((0, true))
        }
        _ => device_at(place).map(|device| (device, false)),
    }
}

/// Whether memory for other processes can be asked for so: Windows has handles of its own, other hosts have them only where a
/// daemon of NVIDIA's runs, and nobody has the other bits.
pub(crate) fn check_handle_types(types: u64) -> Result {
    let has = |types_of: u32| types & u64::from(types_of) != 0;
    if has(WINDOWS) {
        return Err(Status::INVALID_VALUE);
    }
    if has(FABRIC) { Err(Status::NOT_PERMITTED) } else { Ok(()) }
}

fn find(handle: Handle) -> Result<Arc<Physical>> {
    state::runtime()?;
    object::find(handle)
}

api! {
    fn cuMemGetAllocationGranularity(to: *mut usize, properties: *const MemAllocationProp, option: u32) {
        state::runtime()?;
        let properties = get(properties)?;
        if to.is_null() || option > 1 || properties.kind != PINNED {
            return Err(Status::INVALID_VALUE);
        }
        if properties.location.kind != location::HOST_NUMA_CURRENT {
            place_of(properties.location)?;
        }
        put(to, GRANULARITY as usize)
    }

    fn cuMemCreate(to: *mut Handle, size: usize, properties: *const MemAllocationProp, flags: u64) {
        state::runtime()?;
        let properties = get(properties)?;
        if to.is_null() || flags != 0 || properties.kind != PINNED || !is_size(size as u64) {
            return Err(Status::INVALID_VALUE);
        }
        if properties.flags & COMPRESSION > GENERIC_COMPRESSION {
            return Err(Status::INVALID_VALUE);
        }
        check_handle_types(properties.handle_types.into())?;
        let (device, of_host) = place_of(properties.location)?;
        let device = state::device(device)?;
        let exportable = properties.handle_types & POSIX_FILE_DESCRIPTOR != 0;
        let compressed = properties.flags & COMPRESSION == GENERIC_COMPRESSION;
        // Others get memory of a node of the host alone, and nobody compresses it.
        if of_host && (compressed || exportable && properties.location.kind != location::HOST_NUMA) {
            return Err(Status::INVALID_VALUE);
        }
        let tile_pool = properties.flags >> USAGE_AT & USAGE == TILE_POOL;
        let wanted = Wanted { exportable, compressed, of_host, tile_pool };
        let physical = addresses()?.create(device, size as u64, wanted)?;
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemRelease(handle: Handle) {
        if let Ok(multicast) = object::find::<Arc<Multicast>>(handle) {
            object::remove::<Arc<Multicast>>(handle)?;
            multicast.release();
            return Ok(());
        }
        // Mappings keep the memory.
        if find(handle)?.release() {
            object::remove::<Arc<Physical>>(handle)?;
        }
        Ok(())
    }

    fn cuMemRetainAllocationHandle(to: *mut Handle, address: u64) {
        let addresses = addresses()?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let physical = addresses.physical_of(address)?;
        physical.retain();
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemGetAllocationPropertiesFromHandle(to: *mut MemAllocationProp, handle: Handle) {
        let physical = find(handle)?;
        put(to, MemAllocationProp {
            kind: PINNED,
            handle_types: if physical.may_be_given() { POSIX_FILE_DESCRIPTOR } else { 0 },
            location: if physical.of_host {
                MemLocation { kind: location::HOST_NUMA, id: 0 }
            } else {
                MemLocation { kind: location::DEVICE, id: physical.device.index as i32 }
            },
            windows: 0,
            flags: if physical.compressed { GENERIC_COMPRESSION } else { 0 }
                | if physical.is_tile_pool { TILE_POOL << USAGE_AT } else { 0 },
        })
    }

    fn cuMemExportToShareableHandle(to: *mut i32, handle: Handle, kind: u32, flags: u64) {
        let multicast = object::find::<Arc<Multicast>>(handle);
        let physical = if multicast.is_ok() { None } else { Some(find(handle)?) };
        if to.is_null() || flags != 0 || kind != POSIX_FILE_DESCRIPTOR {
            return Err(Status::INVALID_VALUE);
        }
        let file = match physical {
            Some(physical) => physical.export()?,
            None => multicast?.export()?,
        };
        put(to, file.into_raw_fd())
    }

    fn cuMemImportFromShareableHandle(to: *mut Handle, descriptor: u64, kind: u32) {
        let runtime = state::runtime()?;
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
        let (device, of_host) = match crate::host::Program.held_by(&file).ok_or(Status::INVALID_VALUE)? {
            Holds::Device(device) => (device, false),
            Holds::Host => (0, true),
            Holds::Multicast => {
                let object = Multicast::import(&runtime.addresses, &runtime.devices, &file)?;
                return put(to, object::insert(object.id, object));
            }
        };
        let physical = runtime.addresses.import(state::device(device as i32)?, file, of_host)?;
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemAddressReserve(to: *mut u64, size: usize, alignment: usize, wanted: u64, flags: u64) {
        let addresses = addresses()?;
        if to.is_null() || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        put(to, addresses.reserve(size as u64, alignment as u64, wanted)?)
    }

    fn cuMemAddressFree(address: u64, size: usize) {
        addresses()?.free(address, size as u64)
    }

    fn cuMemMap(address: u64, size: usize, offset: usize, handle: Handle, flags: u64) {
        if flags != 0 {
            return find(handle).and(Err(Status::INVALID_VALUE));
        }
        if let Ok(multicast) = object::find::<Arc<Multicast>>(handle) {
            return addresses()?.map_stand_in(address, size as u64, offset as u64, multicast);
        }
        let physical = find(handle)?;
        addresses()?.map(address, size as u64, offset as u64, physical)
    }

    fn cuMemUnmap(address: u64, size: usize) {
        addresses()?.unmap(address, size as u64)
    }

    fn cuMemSetAccess(address: u64, size: usize, access: *const MemAccessDesc, count: usize) {
        let addresses = addresses()?;
        if count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let described = |place: &MemAccessDesc| {
            let who = match place.location {
                MemLocation { kind: location::DEVICE, id } => Who::Device(usize::try_from(id).map_err(|_| Status::INVALID_VALUE)?),
                MemLocation { kind: location::HOST | location::HOST_NUMA, .. } => Who::Host,
                _ => return Err(Status::INVALID_VALUE),
            };
            Ok((who, access_of(place.flags)?))
        };
        let access: Result<Vec<_>> = list(access, count)?.iter().map(described).collect();
        addresses.set_access(address, size as u64, &access?)
    }

    fn cuMemGetAccess(flags: *mut u64, location: *const MemLocation, address: u64) {
        let addresses = addresses()?;
        if let kind @ (location::HOST | location::HOST_NUMA) = get(location)?.kind {
            let memory = addresses.physical_of(address)?;
            // As a device says it: of its memory, what it may itself.
            let who = if memory.of_host || kind == location::HOST_NUMA { Who::Host } else { Who::Device(memory.device.index) };
            let access = addresses.access(address, who).unwrap_or(Access::None);
            return put(flags, u64::from(flags_of(access)));
        }
        let device = device_of(location)?;
        if let Some((owner, _)) = crate::driver::pointer::owner(address)?.filter(|(_, found)| found.kind != Kind::Virtual) {
            return put(flags, u64::from(if owner == device { flag::READ_WRITE } else { flag::NONE }));
        }
        match addresses.access(address, Who::Device(device as usize)) {
            Some(access) => put(flags, u64::from(flags_of(access))),
            None => {
                put(flags, 0)?;
                Err(Status::INVALID_VALUE)
            }
        }
    }
}
