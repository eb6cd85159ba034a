//! Multicast objects: memory of several devices behind one address.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use cuda_abi::{Result, Status};

use crate::tree::Device;
use crate::virtual_memory::{Access, AddressSpace, GRANULARITY, Physical, Stands, Who, is_size};
use crate::{fresh_id, lock};

/// Memory of one device that is part of an object.
#[derive(Debug)]
struct Binding {
    offset: u64,
    size: u64,
    device: usize,
    /// Where all devices of the object see the whole of the memory, and where in it the part begins.
    seen: u64,
    skip: u64,
    physical: Arc<Physical>,
}

/// Addresses that stand for a part of an object.
#[derive(Debug)]
struct Mapped {
    size: u64,
    offset: u64,
    /// Devices that may access it, and whether they may write.
    access: BTreeMap<usize, bool>,
}

#[derive(Debug, Default)]
struct State {
    devices: Vec<Arc<Device>>,
    bindings: Vec<Binding>,
    /// By the first address.
    mapped: BTreeMap<u64, Mapped>,
    /// Its handle is gone.
    is_released: bool,
}

/// Memory of several devices that `multimem` instructions access together.
#[derive(Debug)]
pub struct Multicast {
    /// Its number.
    pub id: u64,
    /// Bytes.
    pub size: u64,
    /// Devices that it is for.
    count: u32,
    state: Mutex<State>,
}

impl Multicast {
    /// An object for so many devices.
    ///
    /// # Errors
    /// `INVALID_VALUE` for no devices and sizes that are no multiple of [`GRANULARITY`].
    pub fn new(size: u64, count: u32) -> Result<Arc<Self>> {
        if !is_size(size) || count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Arc::new(Self { id: fresh_id(), size, count, state: Mutex::default() }))
    }

    /// Adds a device.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is one already, or there are as many as the object is for.
    pub fn add(&self, device: &Arc<Device>) -> Result {
        let devices = &mut lock(&self.state).devices;
        if devices.len() as u32 == self.count || devices.iter().any(|other| other.index == device.index) {
            return Err(Status::INVALID_VALUE);
        }
        devices.push(device.clone());
        Ok(())
    }

    /// Makes a part of a device's memory a part of the object.
    ///
    /// # Errors
    /// `INVALID_VALUE` for parts that are no multiples of [`GRANULARITY`], do not lie inside, or are bound already, and for
    /// memory of other devices; `ILLEGAL_STATE` as long as devices are missing.
    pub fn bind(
        &self,
        addresses: &AddressSpace,
        offset: u64,
        physical: &Arc<Physical>,
        skip: u64,
        size: u64,
    ) -> Result {
        let state = &mut *lock(&self.state);
        if state.devices.len() as u32 != self.count {
            return Err(Status::ILLEGAL_STATE);
        }
        let inside = |start: u64, of: u64| {
            start.is_multiple_of(GRANULARITY) && start.checked_add(size).is_some_and(|end| end <= of)
        };
        let device = physical.device.index;
        let overlaps = |other: &Binding| {
            other.device == device && other.offset < offset + size && offset < other.offset + other.size
        };
        if !is_size(size)
            || physical.of_host
            || !inside(offset, self.size)
            || !inside(skip, physical.size)
            || !state.devices.iter().any(|member| member.index == device)
            || state.bindings.iter().any(overlaps)
        {
            return Err(Status::INVALID_VALUE);
        }
        let seen = addresses.reserve(physical.size, 0, 0)?;
        let all: Vec<(Who, Access)> =
            state.devices.iter().map(|device| (Who::Device(device.index), Access::ReadWrite)).collect();
        addresses.map(seen, physical.size, 0, physical.clone())?;
        addresses.set_access(seen, physical.size, &all)?;
        let physical = physical.clone();
        state.bindings.push(Binding { offset, size, device, seen, skip, physical });
        state.show();
        Ok(())
    }

    /// Takes a device's memory out of a part of the object.
    ///
    /// # Errors
    /// `INVALID_VALUE` if nothing is bound there exactly.
    pub fn unbind(&self, addresses: &AddressSpace, device: usize, offset: u64, size: u64) -> Result {
        let state = &mut *lock(&self.state);
        let found =
            state.bindings.iter().position(|b| b.device == device && b.offset == offset && b.size == size);
        let binding = state.bindings.remove(found.ok_or(Status::INVALID_VALUE)?);
        state.show();
        binding.forget(addresses);
        Ok(())
    }

    /// Its handle is gone: it lets go of the memory that is bound, once no addresses stand for it.
    pub fn release(&self, addresses: &AddressSpace) {
        let state = &mut *lock(&self.state);
        state.is_released = true;
        state.let_go(addresses);
    }
}

impl Stands for Multicast {
    fn map(&self, address: u64, size: u64, offset: u64) -> Result {
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        if !inside || !offset.is_multiple_of(GRANULARITY) {
            return Err(Status::INVALID_VALUE);
        }
        lock(&self.state).mapped.insert(address, Mapped { size, offset, access: BTreeMap::new() });
        Ok(())
    }

    fn unmap(&self, address: u64, addresses: &AddressSpace) {
        let state = &mut *lock(&self.state);
        if let Some(mapped) = state.mapped.remove(&address) {
            for device in &state.devices {
                device.simulator.set_multicast(address, mapped.size, &[], false);
            }
        }
        state.let_go(addresses);
    }

    fn set_access(&self, address: u64, access: &[(Who, Access)]) -> Result {
        let state = &mut *lock(&self.state);
        let member = |who: &Who| state.devices.iter().any(|device| Who::Device(device.index) == *who);
        if !access.iter().all(|(who, _)| member(who)) {
            return Err(Status::INVALID_VALUE);
        }
        if let Some(mapped) = state.mapped.get_mut(&address) {
            for &(who, access) in access {
                let Who::Device(index) = who else { continue };
                match access {
                    Access::None => mapped.access.remove(&index),
                    Access::Read | Access::ReadWrite => {
                        mapped.access.insert(index, access == Access::ReadWrite)
                    }
                };
            }
        }
        state.show();
        Ok(())
    }
}

impl Binding {
    /// Where the byte at an offset of the object is.
    fn at(&self, offset: u64) -> Option<u64> {
        let inside = offset.checked_sub(self.offset).filter(|&at| at < self.size)?;
        Some(self.seen + self.skip + inside)
    }

    fn forget(self, addresses: &AddressSpace) {
        let size = self.physical.size;
        if addresses.unmap(self.seen, size).is_ok() {
            let _ = addresses.free(self.seen, size);
        }
    }
}

impl State {
    /// Lets go of the memory that is bound if nobody can reach it any more.
    fn let_go(&mut self, addresses: &AddressSpace) {
        if self.is_released && self.mapped.is_empty() {
            for binding in std::mem::take(&mut self.bindings) {
                binding.forget(addresses);
            }
        }
    }

    /// Tells the simulators of devices which addresses stand for which memory: parts that all devices have bound.
    fn show(&self) {
        let edges: BTreeSet<u64> = self
            .bindings
            .iter()
            .flat_map(|binding| [binding.offset, binding.offset + binding.size])
            .collect();
        for (&address, mapped) in &self.mapped {
            let end = mapped.offset + mapped.size;
            let inside = edges.range(mapped.offset..=end).copied();
            let edges: Vec<u64> = [mapped.offset].into_iter().chain(inside).chain([end]).collect();
            for device in &self.devices {
                device.drain();
                device.simulator.set_multicast(address, mapped.size, &[], false);
                let Some(&writable) = mapped.access.get(&device.index) else { continue };
                for pair in edges.windows(2).filter(|pair| pair[0] < pair[1]) {
                    let replicas: Vec<u64> =
                        self.bindings.iter().filter_map(|binding| binding.at(pair[0])).collect();
                    if replicas.len() == self.devices.len() {
                        let start = address + (pair[0] - mapped.offset);
                        device.simulator.set_multicast(start, pair[1] - pair[0], &replicas, writable);
                    }
                }
            }
        }
    }
}
