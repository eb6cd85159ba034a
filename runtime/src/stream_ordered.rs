//! Allocation from pools, in the order of a stream.

use std::sync::Arc;

use cuda_abi::{Result, Status};

use crate::graph_memory::{check_node_free, freeing, node_memory};
use crate::memory::{Allocation, FOR_ALL, Kind};
use crate::operation::{Operation, PlacedMemory};
use crate::pool::{Pool, PoolPlace};
use crate::tree::Stream;
use crate::tree::{Context, Device};
use crate::{fresh_id, lock};

/// A block of a pool that has the address of one that was freed.
struct Again {
    base: u64,
    bytes: u64,
    pool: Arc<Pool>,
    device: Arc<Device>,
}

impl PlacedMemory for Again {
    fn base(&self) -> u64 {
        self.base
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn place(&self, device: &Device) -> Result {
        device.simulator.alloc_again(self.base, self.bytes, "stream-ordered allocation")?;
        self.pool.show(&self.device, self.base);
        Ok(())
    }
}

impl Pool {
    /// Gives a device access to all of its memory, or takes it.
    ///
    /// # Errors
    /// `INVALID_DEVICE` for taking it from the pool's own device.
    pub fn set_access(&self, device: &Arc<Device>, may: bool) -> Result {
        if self.place == PoolPlace::Device(device.index) {
            return if may { Ok(()) } else { Err(Status::INVALID_DEVICE) };
        }
        let mut access = lock(&self.access);
        let changes = if may { access.insert(device.index) } else { access.remove(&device.index) };
        drop(access);
        let PoolPlace::Device(own) = self.place else { return Ok(()) };
        let owner = device.numbered(own)?;
        if !changes {
            return Ok(());
        }
        if !may {
            device.drain();
        }
        for found in owner.memory.list().iter().filter(|found| found.kind == Kind::Pool(self.id)) {
            if may {
                owner.show_to(device, found.base);
            } else {
                owner.simulator.hide(found.base, &device.simulator);
            }
        }
        Ok(())
    }

    /// Shows new memory of it to the devices that may access it.
    pub(crate) fn show(&self, owner: &Arc<Device>, base: u64) {
        let access = lock(&self.access).clone();
        for device in access.iter().filter_map(|&index| owner.numbered(index).ok()) {
            owner.show_to(&device, base);
        }
    }
}

impl Context {
    /// Allocates from a pool, in the order of a stream.
    ///
    /// # Errors
    /// The context's fault, `OUT_OF_MEMORY`, those of captures.
    pub fn allocate_async(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        bytes: u64,
        pool: &Arc<Pool>,
    ) -> Result<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        if let Some(capture) = stream.capture() {
            let memory = node_memory(&self.device, bytes, &capture.graph, &stream.capture_edges())?;
            let base = memory.base();
            self.enqueue(stream, Operation::Allocate(memory))?;
            return Ok(base);
        }
        if !pool.has_room(bytes) {
            return Err(Status::OUT_OF_MEMORY);
        }
        let base = match pool.place {
            PoolPlace::Device(index) => {
                let device = self.device.numbered(index)?;
                self.allocate_of_device(stream, bytes, pool, &device)?
            }
            place => {
                let kind = if place == PoolPlace::Managed { Kind::Managed } else { Kind::Host };
                let base = self.share(bytes, kind, FOR_ALL)?;
                self.device.pools.note(base, pool);
                base
            }
        };
        pool.count(bytes, 0);
        Ok(base)
    }

    fn allocate_of_device(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        bytes: u64,
        pool: &Arc<Pool>,
        device: &Arc<Device>,
    ) -> Result<u64> {
        self.check()?;
        if pool.is_imported() {
            return Err(Status::INVALID_VALUE);
        }
        let base = match pool.again(stream.id, bytes) {
            Some(base) => {
                // It is there when the stream has freed the one before.
                let (pool, device) = (pool.clone(), device.clone());
                self.enqueue(stream, Operation::Allocate(Arc::new(Again { base, bytes, pool, device })))?;
                base
            }
            None => {
                let base = device.allocate(bytes, "stream-ordered allocation")?;
                pool.show(device, base);
                base
            }
        };
        let (kind, size, id, flags) = (Kind::Pool(pool.id), bytes, fresh_id(), 0);
        device.memory.insert(Allocation { base, size, kind, context: self.id, flags, id });
        Ok(base)
    }

    /// Frees in the order of a stream.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is no allocation that may be freed so, those of captures.
    pub fn free_async(self: &Arc<Self>, stream: &Arc<Stream>, address: u64) -> Result {
        if let Some(capture) = stream.capture() {
            check_node_free(self, &capture.graph, address)?;
            return self.enqueue(stream, Operation::Free(address));
        }
        let device = self.device.owner(address).ok_or(Status::INVALID_VALUE)?;
        let (memory, pools) = (&device.memory, &self.device.pools);
        if memory.find(address).is_some_and(|found| found.kind == Kind::Graph && found.base == address) {
            if !memory.set_freed(address) {
                return Err(Status::INVALID_VALUE);
            }
            return self.enqueue(stream, freeing(&device, address));
        }
        // Calls from now on do not know it any more; the stream frees it in its order.
        let wanted = |a: &Allocation| matches!(a.kind, Kind::Pool(_) | Kind::Device) || pools.of(a).is_some();
        let gone = memory.remove(address, wanted).ok_or(Status::INVALID_VALUE)?;
        pools.freed(&gone);
        if gone.kind.is_host() {
            let owner = self.clone();
            let free = move |_| {
                owner.forget(gone.base);
                owner.host().release(&gone);
            };
            return self.enqueue(stream, Operation::Callback(Arc::new(free)));
        }
        self.enqueue(stream, Operation::Free(address))?;
        if let Kind::Pool(id) = gone.kind
            && let Some(pool) = pools.find(id)
            && !pool.is_imported()
        {
            pool.keep(stream.id, gone.base, gone.size);
        }
        Ok(())
    }
}
