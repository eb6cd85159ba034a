//! Virtual memory management: memory without an address, and reserved addresses.

use std::fs::File;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::sync::Arc;

use cuda_abi::driver::{MemAccessDesc, MemAllocationProp, MemLocation};
use cuda_abi::numbers::allocation::PINNED;
use cuda_abi::numbers::handle_type::{FABRIC, POSIX_FILE_DESCRIPTOR, WINDOWS};
use cuda_abi::numbers::{access as flag, location};
use runtime::virtual_memory::{Access, GRANULARITY, Physical, Wanted, is_size};
use runtime::{Kind, Multicast, Pages, Result, Status};

use crate::driver::device::{device_at, device_of};
use crate::ffi::{Handle, get, list, put};
use crate::object;
use crate::state::{self, addresses};

/// Which bits of the flags of memory say how it is compressed, and the one way that there is.
const COMPRESSION: u64 = 0xff;
const GENERIC_COMPRESSION: u64 = 1;

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
        device_at(properties.location)?;
        put(to, GRANULARITY as usize)
    }

    fn cuMemCreate(to: *mut Handle, size: usize, properties: *const MemAllocationProp, flags: u64) {
        state::runtime()?;
        let properties = get(properties)?;
        if to.is_null() || flags != 0 || properties.kind != PINNED || !is_size(size as u64) {
            return Err(Status::INVALID_VALUE);
        }
        // Of handles Windows has its own, other hosts only where a daemon of NVIDIA's runs, and nobody the other bits.
        if properties.handle_types & WINDOWS != 0 || properties.flags & COMPRESSION > GENERIC_COMPRESSION {
            return Err(Status::INVALID_VALUE);
        }
        if properties.handle_types & FABRIC != 0 {
            return Err(Status::NOT_PERMITTED);
        }
        let device = state::device(device_at(properties.location)?)?;
        let wanted = Wanted {
            exportable: properties.handle_types & POSIX_FILE_DESCRIPTOR != 0,
            compressed: properties.flags & COMPRESSION == GENERIC_COMPRESSION,
        };
        let physical = addresses()?.create(device, size as u64, wanted)?;
        put(to, object::insert(physical.id, physical))
    }

    fn cuMemRelease(handle: Handle) {
        if let Ok(multicast) = object::find::<Arc<Multicast>>(handle) {
            object::remove::<Arc<Multicast>>(handle)?;
            multicast.release(addresses()?);
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
            location: MemLocation { kind: location::DEVICE, id: physical.device.index as i32 },
            windows: 0,
            flags: if physical.compressed { GENERIC_COMPRESSION } else { 0 },
        })
    }

    fn cuMemExportToShareableHandle(to: *mut i32, handle: Handle, kind: u32, flags: u64) {
        let physical = find(handle)?;
        if to.is_null() || flags != 0 || kind != POSIX_FILE_DESCRIPTOR {
            return Err(Status::INVALID_VALUE);
        }
        put(to, physical.export()?.into_raw_fd())
    }

    fn cuMemImportFromShareableHandle(to: *mut Handle, descriptor: u64, kind: u32) {
        let addresses = addresses()?;
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
        let of = crate::host::Program.device_of(&file).ok_or(Status::INVALID_VALUE)?;
        let physical = addresses.import(state::device(of as i32)?, file)?;
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
        // The host has no access to a device's memory, and can be given none.
        let described = |place: &MemAccessDesc| match (place.location, access_of(place.flags)?) {
            (MemLocation { kind: location::DEVICE, id }, access) => Ok(Some((usize::try_from(id).map_err(|_| Status::INVALID_VALUE)?, access))),
            (MemLocation { kind: location::HOST | location::HOST_NUMA, .. }, Access::None) => Ok(None),
            (MemLocation { kind: location::HOST | location::HOST_NUMA, .. }, _) => Err(Status::NOT_SUPPORTED),
            _ => Err(Status::INVALID_VALUE),
        };
        let access: Result<Vec<_>> = list(access, count)?.iter().map(described).filter_map(Result::transpose).collect();
        addresses.set_access(address, size as u64, &access?)
    }

    fn cuMemGetAccess(flags: *mut u64, location: *const MemLocation, address: u64) {
        let addresses = addresses()?;
        match get(location)?.kind {
            // As a device says it: what the memory's own device may.
            location::HOST => {
                let owner = addresses.physical_of(address)?.device.index;
                let access = addresses.access(address, owner).unwrap_or(Access::None);
                return put(flags, u64::from(flags_of(access)));
            }
            location::HOST_NUMA => return addresses.physical_of(address).and_then(|_| put(flags, u64::from(flag::NONE))),
            _ => {}
        }
        let device = device_of(location)?;
        if let Some((owner, _)) = crate::driver::pointer::owner(address)?.filter(|(_, found)| found.kind != Kind::Virtual) {
            return put(flags, u64::from(if owner == device { flag::READ_WRITE } else { flag::NONE }));
        }
        match addresses.access(address, device as usize) {
            Some(access) => put(flags, u64::from(flags_of(access))),
            None => {
                put(flags, 0)?;
                Err(Status::INVALID_VALUE)
            }
        }
    }
}
