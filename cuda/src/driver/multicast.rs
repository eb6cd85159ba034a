//! Multicast objects: memory of several devices behind one address.

use std::sync::Arc;

use cuda_abi::driver::MulticastObjectProp;
use cuda_abi::numbers::handle_type::POSIX_FILE_DESCRIPTOR;
use runtime::virtual_memory::{GRANULARITY, Physical};
use runtime::{Multicast, Result, Status};

use crate::driver::virtual_memory::check_handle_types;
use crate::ffi::{Handle, get, put};
use crate::object;
use crate::state::{self, addresses};

fn find(object: Handle) -> Result<Arc<Multicast>> {
    state::runtime()?;
    object::find(object)
}

/// Properties that can be. A device that no switch joins to others has no such objects.
unsafe fn properties(from: *const MulticastObjectProp) -> Result<MulticastObjectProp> {
    // SAFETY: null or the structure.
    let asked = unsafe { get(from) }?;
    if asked.flags != 0 || asked.devices == 0 {
        return Err(Status::INVALID_VALUE);
    }
    check_handle_types(asked.handle_types)?;
    if !state::device(0)?.simulator.config().multicast {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok(asked)
}

api! {
    fn cuMulticastCreate(to: *mut Handle, asked: *const MulticastObjectProp) {
        let runtime = state::runtime()?;
        let asked = properties(asked)?;
        if to.is_null() || asked.devices as usize > runtime.devices.len() {
            return Err(Status::INVALID_VALUE);
        }
        let exportable = asked.handle_types & u64::from(POSIX_FILE_DESCRIPTOR) != 0;
        let (addresses, devices) = (&runtime.addresses, &runtime.devices);
        let object = Multicast::new(addresses, devices, asked.size as u64, asked.devices, exportable)?;
        put(to, object::insert(object.id, object))
    }

    fn cuMulticastAddDevice(object: Handle, device: i32) {
        find(object)?.add(state::device(device)?)
    }

    fn cuMulticastBindMem(object: Handle, offset: usize, memory: Handle, skip: usize, size: usize, flags: u64) {
        let object = find(object)?;
        let physical: Arc<Physical> = object::find(memory)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        object.bind(offset as u64, &physical, skip as u64, size as u64)
    }

    fn cuMulticastBindAddr(object: Handle, offset: usize, address: u64, size: usize, flags: u64) {
        let object = find(object)?;
        let addresses = addresses()?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let (base, _) = addresses.mapping_of(address).ok_or(Status::INVALID_VALUE)?;
        object.bind(offset as u64, &addresses.physical_of(address)?, address - base, size as u64)
    }

    fn cuMulticastUnbind(object: Handle, device: i32, offset: usize, size: usize) {
        let object = find(object)?;
        object.unbind(state::device(device)?.index, offset as u64, size as u64)
    }

    fn cuMulticastGetGranularity(to: *mut usize, asked: *const MulticastObjectProp, option: u32) {
        state::runtime()?;
        properties(asked)?;
        if to.is_null() || option > 1 {
            return Err(Status::INVALID_VALUE);
        }
        put(to, GRANULARITY as usize)
    }
}
