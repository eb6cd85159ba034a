//! Memory and events that other processes have as well.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cuda_abi::{Result, Status};

use crate::fresh_id;
use crate::memory::{Allocation, Kind};
use crate::pages::Holds;
use crate::pool::{Pool, PoolPlace};
use crate::tree::{Context, Device};

impl Device {
    /// The file that an allocation consists of from now on, for other processes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no allocation begins there; `OUT_OF_MEMORY`.
    pub fn export(self: &Arc<Self>, allocation: &Allocation) -> Result<File> {
        let size = allocation.size.checked_next_multiple_of(4096).ok_or(Status::OUT_OF_MEMORY)?;
        let file = self.host.file(size, Holds::Device(self.index))?;
        // What runs now has the memory where it was.
        for device in self.all() {
            device.share_memory();
            device.drain();
        }
        self.simulator.move_into(allocation.base, &file)?;
        Ok(file)
    }
}

impl Context {
    /// Memory of another process, as memory of this context's device.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the file does not hold so much.
    pub fn open(&self, file: &File, size: u64, kind: Kind, what: &str) -> Result<u64> {
        self.check()?;
        self.device.share_memory();
        let base = self.device.simulator.alloc_of(file, size, what).map_err(|_| Status::INVALID_VALUE)?;
        self.add_memory(Allocation { base, size, kind, context: self.id, flags: 0, id: fresh_id() });
        Ok(base)
    }

    /// Memory of another process, as memory of a pool that came from there.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the file does not hold so much.
    pub fn open_of_pool(&self, file: &File, size: u64, pool: &Arc<Pool>, what: &str) -> Result<u64> {
        self.check()?;
        let PoolPlace::Device(device) = pool.place else { return Err(Status::INVALID_VALUE) };
        let device = self.device.numbered(device)?;
        device.share_memory();
        let base = device.simulator.alloc_of(file, size, what).map_err(|_| Status::INVALID_VALUE)?;
        let (kind, context) = (Kind::Pool(pool.id), self.id);
        device.memory.insert(Allocation { base, size, kind, context, flags: 0, id: fresh_id() });
        pool.show(&device, base);
        Ok(base)
    }

    /// Whether work of it should stop.
    pub(crate) fn is_over(&self) -> bool {
        self.is_destroyed() || self.check().is_err()
    }
}

impl Pool {
    /// Whether its memory may be given to other processes.
    pub fn is_exportable(&self) -> bool {
        self.exportable.load(SeqCst)
    }

    /// Lets its memory be given to other processes.
    pub fn set_exportable(&self) {
        self.exportable.store(true, SeqCst);
    }

    /// Whether it is another process's.
    pub fn is_imported(&self) -> bool {
        self.imported.load(SeqCst)
    }

    /// Makes it another process's: nothing is allocated from it.
    pub fn set_imported(&self) {
        self.imported.store(true, SeqCst);
    }
}
