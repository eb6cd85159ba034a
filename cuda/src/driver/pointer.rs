//! What an address is.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use cuda_abi::numbers::handle_type::POSIX_FILE_DESCRIPTOR;
use runtime::{Allocation, Kind, Result, Status};

use crate::ffi::{get, list, put};
use crate::object;
use crate::state;

/// The allocation that an address lies in, on any device, with the device's number.
pub(crate) fn owner(address: u64) -> Result<Option<(i32, Allocation)>> {
    let devices = &state::runtime()?.devices;
    let found = devices.iter().find_map(|d| d.memory.find(address).map(|a| (d.index, a)));
    let device = |(index, memory): (usize, Allocation)| {
        let index = match memory.kind {
            // All devices know it; it is of the one that was the thread's when it was made.
            kind if kind.is_host() => {
                let made_it = |d: &&std::sync::Arc<runtime::Device>| {
                    d.contexts().iter().any(|c| c.id == memory.context)
                };
                devices.iter().find(made_it).map_or(index, |device| device.index)
            }
            Kind::Virtual => {
                let behind = state::addresses().and_then(|addresses| addresses.physical_of(address));
                behind.map_or(index, |physical| physical.device.index)
            }
            _ => index,
        };
        (index as i32, memory)
    };
    Ok(found.map(device))
}

/// The number of the pool that an allocation is of.
fn pool_of(memory: &Allocation) -> Option<u64> {
    state::runtime().ok()?.pools.of(memory)
}

/// Whether copies of an allocation are synchronous, which changes no result; and sets it. At first those of mapped memory are not.
fn synchronous(memory: &Allocation, set: Option<bool>) -> bool {
    static SAID: Mutex<BTreeMap<u64, bool>> = Mutex::new(BTreeMap::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(set) = set {
        said.insert(memory.base, set);
    }
    said.get(&memory.base).copied().unwrap_or(memory.kind != Kind::Virtual)
}

/// # Safety
/// `data` is null or has room for the attribute.
unsafe fn attribute(data: *mut c_void, number: u32, address: u64, unknown_is_error: bool) -> Result {
    let found = owner(address)?;
    if data.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let Some((device, memory)) = found else {
        if unknown_is_error {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the caller's promise; results are zero, numbers of devices -2.
        return unsafe {
            match number {
                1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => put(data.cast::<u64>(), 0),
                2 | 6 | 8 | 10 | 13 | 15 | 16 | 21 => put(data.cast::<u32>(), 0),
                9 => put(data.cast::<i32>(), -2),
                _ => Err(Status::INVALID_VALUE),
            }
        };
    };
    let host = memory.kind.is_host();
    let is_mapped_of_host = memory.kind == Kind::Virtual
        && state::addresses()?.physical_of(address).is_ok_and(|physical| physical.of_host);
    let is_own_of_host = matches!(memory.kind, Kind::Host | Kind::Registered) || is_mapped_of_host;
    // SAFETY: the caller's promise.
    unsafe {
        match number {
            // Memory of pools is no context's.
            1 if pool_of(&memory).is_some() => put(data.cast::<u64>(), 0),
            1 => put(data.cast(), crate::object::handle(memory.context)),
            3 if memory.kind == Kind::Host && pool_of(&memory).is_some() => Err(Status::INVALID_VALUE),
            2 => put(data.cast::<u32>(), if is_own_of_host { 1 } else { 2 }),
            3 => put(data.cast(), address),
            4 if host || is_mapped_of_host => put(data.cast(), address),
            4 => Err(Status::INVALID_VALUE),
            5 if is_own_of_host => Err(Status::INVALID_VALUE),
            // Of 64 and 32 bits.
            5 => put(data.cast(), memory.id).and_then(|()| put(data.cast::<u32>().wrapping_add(2), 0)),
            6 => put(data.cast(), u32::from(!is_own_of_host && synchronous(&memory, None))),
            7 | 20 => put(data.cast(), memory.id),
            8 => put(data.cast(), u32::from(memory.kind == Kind::Managed)),
            9 => put(data.cast(), device),
            // A handle for other processes can be had of plain device memory, on a device.
            10 => put(data.cast(), u32::from(memory.kind == Kind::Device)),
            15 | 21 => put(data.cast::<u32>(), 0),
            11 | 12 if memory.kind == Kind::Virtual => {
                let (base, size) =
                    state::addresses()?.reservation_of(address).unwrap_or((memory.base, memory.size));
                put(data.cast(), if number == 11 { base } else { size })
            }
            18 | 19 if memory.kind == Kind::Virtual => {
                let (base, size) =
                    state::addresses()?.mapping_of(address).unwrap_or((memory.base, memory.size));
                put(data.cast(), if number == 19 { base } else { size })
            }
            11 | 19 => put(data.cast(), memory.base),
            12 | 18 => put(data.cast(), memory.size),
            13 => put(data.cast::<u32>(), 1),
            14 if memory.kind == Kind::Virtual => {
                let behind = state::addresses()?.physical_of(address);
                let given = behind.is_ok_and(|physical| physical.may_be_given());
                put(data.cast::<u64>(), if given { POSIX_FILE_DESCRIPTOR.into() } else { 0 })
            }
            14 => put(data.cast::<u64>(), 0),
            16 => put(data.cast::<u32>(), 3),
            17 => {
                let id = pool_of(&memory);
                // A place's own pool may not have been asked for.
                if let Some(pool) = id.and_then(|id| state::runtime().ok()?.pools.find(id)) {
                    object::insert(pool.id, pool);
                }
                put(data.cast::<u64>(), id.map_or(0, object::handle))
            }
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

api! {
    fn cuPointerGetAttribute(data: *mut c_void, number: u32, address: u64) {
        attribute(data, number, address, true)
    }

    fn cuPointerGetAttributes(count: u32, numbers: *const u32, data: *const *mut c_void, address: u64) {
        if count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let numbers = list(numbers, count as usize)?;
        for (number, to) in numbers.into_iter().zip(list(data, count as usize)?) {
            attribute(to, number, address, false)?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(value: *const c_void, number: u32, address: u64) {
        let (_, memory) = owner(address)?.ok_or(Status::INVALID_VALUE)?;
        if number != 6 {
            return Err(Status::INVALID_VALUE);
        }
        synchronous(&memory, Some(get(value.cast::<u32>())? != 0));
        Ok(())
    }
}
