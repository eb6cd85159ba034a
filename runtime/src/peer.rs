//! Which contexts and devices may access the memory of which others.
//!
//! Plain memory of a context is shown to the devices of the contexts that enabled access to it; memory of a pool to the
//! devices that the pool names, mapped memory to those that its mapping names. Variables of modules are for their own
//! device only, as an H200 has it.

use std::sync::Arc;

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::memory::{Allocation, Kind};
use crate::tree::{Context, Device};
use crate::{fresh_id, lock};

impl Device {
    /// Another device of the process, by its number.
    ///
    /// # Errors
    /// `INVALID_DEVICE`.
    pub fn numbered(self: &Arc<Self>, index: usize) -> Result<Arc<Device>> {
        self.all().into_iter().find(|device| device.index == index).ok_or(Status::INVALID_DEVICE)
    }

    /// The device that an address of device memory belongs to; this one for memory of the host.
    pub fn at(self: &Arc<Self>, address: u64) -> Arc<Device> {
        if self.has(address) {
            return self.clone();
        }
        self.all().into_iter().find(|device| device.has(address)).unwrap_or_else(|| self.clone())
    }

    fn has(&self, address: u64) -> bool {
        self.simulator.config().global_addresses.contains(&address)
    }

    /// The allocation that an address lies in, on whatever device, this one first.
    pub fn find(self: &Arc<Self>, address: u64) -> Option<Allocation> {
        self.memory.find(address).or_else(|| self.owner(address)?.memory.find(address))
    }

    /// The allocation that holds a range, on whatever device.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub fn range(self: &Arc<Self>, address: u64, bytes: u64) -> Result<Allocation> {
        self.owner(address).ok_or(Status::INVALID_VALUE)?.memory.range(address, bytes)
    }

    /// Whether calls of the program may use an address: it is not that of graph memory which is not allocated.
    pub fn is_live(self: &Arc<Self>, address: u64) -> bool {
        self.owner(address).is_none_or(|owner| owner.memory.is_live(address))
    }

    /// Shows memory of this device to kernels of another one.
    pub(crate) fn show_to(&self, other: &Device, base: u64) {
        self.share_memory();
        other.share_memory();
        self.simulator.share(base, &other.simulator);
    }

    /// Whose an address is that this device does not know: a sentence, and what would help.
    pub(crate) fn explain_elsewhere(self: &Arc<Self>, address: u64) -> Option<(String, String)> {
        let owner = self.owner(address).filter(|owner| owner.index != self.index)?;
        let found = owner.memory.find(address)?;
        let what = owner.simulator.describe(address)?;
        let (own, other) = (self.index, owner.index);
        let help = match found.kind {
            Kind::Pool(_) => format!("`cudaMemPoolSetAccess` gives device {own} access to the pool"),
            Kind::Virtual => format!("`cuMemSetAccess` gives device {own} access to the mapping"),
            Kind::Variable => "variables of a module can be accessed by their own device alone".into(),
            _ => format!(
                "`cudaDeviceEnablePeerAccess({other}, 0)`, called while device {own} is current, enables it"
            ),
        };
        Some((format!("it lies in {what} of device {other}, to which device {own} has no peer access"), help))
    }
}

/// Whether memory is what peer access of contexts is about.
fn is_plain(allocation: &Allocation) -> bool {
    matches!(allocation.kind, Kind::Device | Kind::Imported)
}

impl Context {
    /// Lets kernels of this context access the memory of another one.
    ///
    /// # Errors
    /// `PEER_ACCESS_UNSUPPORTED` for contexts of one device, `PEER_ACCESS_ALREADY_ENABLED`.
    pub fn enable_peer_access(self: &Arc<Self>, peer: &Arc<Context>) -> Result {
        if peer.device.index == self.device.index {
            return Err(Status::PEER_ACCESS_UNSUPPORTED);
        }
        if !lock(&self.peers).insert(peer.id) {
            return Err(Status::PEER_ACCESS_ALREADY_ENABLED);
        }
        let mut accessors = lock(&peer.accessors);
        accessors.retain(|accessor| accessor.strong_count() > 0);
        accessors.push(Arc::downgrade(self));
        drop(accessors);
        for allocation in peer.plain_memory() {
            peer.device.show_to(&self.device, allocation.base);
        }
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// `PEER_ACCESS_NOT_ENABLED`.
    pub fn disable_peer_access(&self, peer: &Context) -> Result {
        if !lock(&self.peers).remove(&peer.id) {
            return Err(Status::PEER_ACCESS_NOT_ENABLED);
        }
        self.drain();
        let mut accessors = lock(&peer.accessors);
        accessors.retain(|accessor| accessor.upgrade().is_some_and(|accessor| accessor.id != self.id));
        // Another context of this device may have it still.
        let of_device = |other: &Arc<Context>| other.device.index == self.device.index;
        if accessors.iter().filter_map(std::sync::Weak::upgrade).any(|other| of_device(&other)) {
            return Ok(());
        }
        drop(accessors);
        for allocation in peer.plain_memory() {
            peer.device.simulator.hide(allocation.base, &self.device.simulator);
        }
        Ok(())
    }

    /// Whether kernels and fills of this context may access an address.
    pub fn reaches(&self, address: u64) -> bool {
        if self.device.memory.find(address).is_some() {
            return true;
        }
        let found = self.device.owner(address).and_then(|owner| owner.memory.find(address));
        found.is_none_or(|found| match found.kind {
            Kind::Pool(id) => {
                self.device.pools.find(id).is_some_and(|pool| pool.is_accessible(self.device.index))
            }
            Kind::Variable | Kind::Virtual => false,
            _ => lock(&self.peers).contains(&found.context),
        })
    }

    /// Ends access in both directions, before the context goes.
    pub(crate) fn leave_peers(&self) {
        for other in self.device.all_contexts() {
            if lock(&self.peers).contains(&other.id) {
                let _ = self.disable_peer_access(&other);
            }
            lock(&other.peers).remove(&self.id);
        }
    }

    /// Memory of the program at one address for the host and all devices, which [`Host::release`](crate::Host::release) gives back.
    ///
    /// # Errors
    /// `INVALID_VALUE` for no bytes, `OUT_OF_MEMORY`, the context's fault.
    pub fn share(&self, bytes: u64, kind: Kind, flags: u32) -> Result<u64> {
        self.check()?;
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let address = self.host().map(bytes)?;
        let what = if kind == Kind::Managed { "managed memory" } else { "host memory" };
        self.show(address, bytes, kind, flags, what)
            .inspect_err(|_| self.host().unreserve(address, bytes))?;
        Ok(address)
    }

    /// Shows memory of the program to all devices, as under unified addressing.
    ///
    /// # Errors
    /// `INVALID_VALUE` if some of it is there already.
    pub fn show(&self, address: u64, bytes: u64, kind: Kind, flags: u32, what: &str) -> Result {
        let id = fresh_id();
        for device in self.device.all() {
            device.share_memory();
            let shown = device.host.show(&device.simulator, address, bytes, what);
            shown.map_err(|_| Status::INVALID_VALUE)?;
            device.memory.insert(Allocation {
                base: address,
                size: bytes,
                kind,
                context: self.id,
                flags,
                id,
            });
        }
        Ok(())
    }

    /// Has all devices only read memory of the program that was shown to them.
    pub fn set_read_only(&self, address: u64, bytes: u64) {
        let whole = address..address + bytes;
        for device in self.device.all() {
            device.simulator.set_read_only(address, vec![whole.clone()]);
        }
    }

    fn plain_memory(&self) -> Vec<Allocation> {
        let mine = |allocation: &Allocation| allocation.context == self.id && is_plain(allocation);
        self.device.memory.list().into_iter().filter(mine).collect()
    }

    /// Adds memory of this context's device to the table, and shows it to those who may access it.
    pub(crate) fn add_memory(&self, allocation: Allocation) {
        self.device.memory.insert(allocation);
        if is_plain(&allocation) {
            let accessors = lock(&self.accessors).clone();
            for accessor in accessors.iter().filter_map(std::sync::Weak::upgrade) {
                self.device.show_to(&accessor.device, allocation.base);
            }
        }
    }
}
