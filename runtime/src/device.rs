//! Devices.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use sim_core::{Backend, DeviceConfig, Simulator};

use crate::backing::Backings;
use crate::engine::Engine;
use crate::host::Host;
use crate::lock;
use crate::memory::{Kind, Memory};
use crate::pool::Pools;
use crate::texture::Objects;
use crate::tree::{Context, Device, Watches};

/// Bytes that every host has.
const LITTLE: u64 = 1 << 30;

impl Device {
    /// A device with nothing on it. It knows no others yet.
    pub(crate) fn new(
        index: usize,
        config: DeviceConfig,
        engine: Arc<Engine>,
        pools: Arc<Pools>,
        host: Arc<dyn Host>,
    ) -> Device {
        Device {
            index,
            simulator: Simulator::new(config),
            engine,
            memory: Memory::default(),
            objects: Objects::default(),
            backings: Backings::default(),
            pools,
            host,
            contexts: Mutex::default(),
            primary: Mutex::default(),
            allocations: AtomicU64::new(0),
            without_address: AtomicU64::new(0),
            memory_is_shared: AtomicBool::new(false),
            watching: Mutex::default(),
            fault: AtomicU32::new(0),
            all: OnceLock::new(),
        }
    }

    /// Bytes of memory, and how many of them are in use, memory without an address included.
    pub fn memory_usage(&self) -> (u64, u64) {
        let (total, used) = self.simulator.memory_usage();
        (total, used + self.without_address.load(SeqCst))
    }

    /// Shows it the devices of the process, itself among them.
    pub(crate) fn meet(self: &Arc<Self>, all: &[Arc<Device>]) {
        let _ = self.all.set(all.iter().map(Arc::downgrade).collect());
        let asked = Arc::downgrade(self);
        self.simulator.set_elsewhere(move |address| asked.upgrade()?.explain_elsewhere(address));
    }

    /// A new context.
    pub fn create_context(self: &Arc<Self>, flags: u32) -> Arc<Context> {
        let context = Context::new(self.clone(), flags);
        let mut contexts = lock(&self.contexts);
        contexts.retain(|context| context.strong_count() > 0);
        contexts.push(Arc::downgrade(&context));
        context
    }

    /// The devices of the process, this one first.
    pub fn all(self: &Arc<Self>) -> Vec<Arc<Device>> {
        let others = self.all.get().into_iter().flatten().filter_map(Weak::upgrade);
        let others = others.filter(|other| other.index != self.index);
        std::iter::once(self.clone()).chain(others).collect()
    }

    /// The device that knows an address, this one first.
    pub fn owner(self: &Arc<Self>, address: u64) -> Option<Arc<Device>> {
        if self.memory.find(address).is_some() {
            return Some(self.clone());
        }
        self.all().into_iter().find(|device| device.memory.find(address).is_some())
    }

    /// Contexts in use of all devices.
    pub fn all_contexts(&self) -> Vec<Arc<Context>> {
        let devices = self.all.get().into_iter().flatten().filter_map(Weak::upgrade);
        devices.flat_map(|device| device.contexts()).collect()
    }

    /// Contexts that are in use.
    pub fn contexts(&self) -> Vec<Arc<Context>> {
        let contexts = lock(&self.contexts).iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
        contexts.into_iter().filter(|context| !context.is_destroyed()).collect()
    }

    /// The first fault of a kernel. It stays: a process cannot use the device any more.
    ///
    /// # Errors
    /// Its code.
    pub fn check(&self) -> Result {
        match self.fault.load(SeqCst) {
            0 => Ok(()),
            fault => Err(Status(fault)),
        }
    }

    pub(crate) fn set_fault(&self, status: Status) {
        let _ = self.fault.compare_exchange(0, status.0, SeqCst, SeqCst);
    }

    /// Waits for all contexts.
    pub fn drain(&self) {
        for context in self.contexts() {
            context.drain();
        }
    }

    /// The primary context with one more user; made if there is none.
    ///
    /// # Errors
    /// The device's fault, if there is none.
    pub fn retain_primary(self: &Arc<Self>) -> Result<Arc<Context>> {
        let mut primary = lock(&self.primary);
        if primary.context.is_none() {
            self.check()?;
        }
        primary.retained += 1;
        let flags = primary.flags;
        Ok(primary.context.get_or_insert_with(|| self.create_context(flags)).clone())
    }

    /// The primary context, if there is one.
    pub fn primary(&self) -> Option<Arc<Context>> {
        lock(&self.primary).context.clone()
    }

    /// Gives it back; the context if it was the last user's, to be destroyed.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` if nobody has it.
    pub fn release_primary(&self) -> Result<Option<Arc<Context>>> {
        let mut primary = lock(&self.primary);
        primary.retained = primary.retained.checked_sub(1).ok_or(Status::INVALID_CONTEXT)?;
        Ok(if primary.retained == 0 { primary.context.take() } else { None })
    }

    /// Takes the primary context away from all its users, to be destroyed.
    pub fn reset_primary(&self) -> Option<Arc<Context>> {
        lock(&self.primary).context.take()
    }

    /// Flags of the primary context and whether it is in use.
    pub fn primary_state(&self) -> (u32, bool) {
        let primary = lock(&self.primary);
        (primary.flags, primary.context.is_some())
    }

    /// Sets the flags of the primary context.
    pub fn set_primary_flags(&self, flags: u32) {
        let mut primary = lock(&self.primary);
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context.flags.store(flags, SeqCst);
        }
    }

    /// Says that something beside one kernel at a time accesses memory: other streams, the host.
    pub fn share_memory(&self) {
        if !self.memory_is_shared.swap(true, SeqCst) {
            // A kernel that runs now believes it is alone.
            self.drain();
        }
    }

    /// Sees what other processes have changed.
    pub(crate) fn look_again(&self) {
        let mut watching = lock(&self.watching);
        watching.retain(|one| one.strong_count() > 0);
        let watching: Vec<Arc<dyn Watches>> = watching.iter().filter_map(Weak::upgrade).collect();
        watching.iter().for_each(|one| one.look_again());
    }

    /// Takes memory from the device that the program registered and has unmapped since: what accesses it is told
    /// that it was freed.
    pub(crate) fn forget_unmapped(&self) {
        for base in self.memory.registered() {
            let Some(found) = self.memory.find(base) else { continue };
            if self.host.is_mapped(found.base, found.size) {
                continue;
            }
            if self.memory.remove(base, |found| found.kind == Kind::Registered).is_some() {
                let _ = self.simulator.free(base);
                self.host.warn(&format!(
                    "{} bytes of host memory at {base:#x} were registered and are not mapped any more: \
                     `cudaHostUnregister` (`cuMemHostUnregister`) comes before `free` or `munmap`",
                    found.size
                ));
            }
        }
    }

    pub(crate) fn is_memory_shared(&self) -> bool {
        self.memory_is_shared.load(SeqCst)
    }

    /// Says, once, that the program has allocated more than the host can give.
    pub(crate) fn compare_with_host(&self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        let (all, used) = self.simulator.memory_usage();
        if used < LITTLE || SAID.load(SeqCst) {
            return;
        }
        let Some(host) = sim_core::host_memory().filter(|host| used > host.available) else { return };
        if !SAID.swap(true, SeqCst) {
            let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
            self.host.warn(&format!(
                "the program has allocated {} of the device's {}; this host has {}, of which {} are free. Memory that \
                 is not touched costs nothing; the program fails when it touches more than there is. `warpgrind exec \
                 --memory BYTES` (WARPGRIND_MEMORY) makes the device smaller",
                gigabytes(used),
                gigabytes(all),
                gigabytes(host.total),
                gigabytes(host.available),
            ));
        }
    }

    /// Allocates memory that kernels of this device see; the table of allocations does not know it yet.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn allocate(&self, bytes: u64, what: &str) -> Result<u64> {
        let number = self.allocations.fetch_add(1, SeqCst) + 1;
        let base = self.simulator.alloc(bytes, &format!("{what} #{number}")).inspect_err(|error| {
            if let sim_core::Error::HostMemory { .. } = error {
                self.host.warn(&error.to_string());
            }
        })?;
        self.compare_with_host();
        Ok(base)
    }
}
