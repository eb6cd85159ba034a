//! Contexts: what owns streams, memory and modules, and what a fault ends.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::engine::{Engine, Op, RunBy};
use crate::host::Host;
use crate::limit::Limit;
use crate::memory::{Allocation, Kind};
use crate::tree::{Context, Device, Stream, StreamKind};
use crate::{fresh_id, lock};

/// Bytes of a thread's stack at most, of the 512 KiB that it has; a driver keeps the others.
const LARGEST_STACK: u64 = (512 << 10) - 576;

/// How many launches from kernels may wait, at least and at most.
const PENDING_LAUNCHES: [u64; 2] = [32, 599_186];

impl Context {
    pub(crate) fn new(device: Arc<Device>, flags: u32) -> Arc<Context> {
        Arc::new_cyclic(|weak| Context {
            id: fresh_id(),
            device,
            flags: AtomicU32::new(flags),
            cache_config: AtomicU32::new(0),
            legacy: Stream::new(weak.clone(), StreamKind::Legacy, 0),
            tenants: Mutex::default(),
            green: OnceLock::new(),
            peers: Mutex::default(),
            accessors: Mutex::default(),
            fault: AtomicU32::new(0),
            refused: AtomicBool::new(false),
            destroyed: AtomicBool::new(false),
            output: Mutex::default(),
            order: Mutex::default(),
            limits: Mutex::default(),
            launches: AtomicU64::new(0),
            printed: AtomicBool::new(false),
        })
    }

    /// The program around.
    pub fn host(&self) -> &dyn Host {
        &*self.device.host
    }

    /// The queue.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.device.engine
    }

    /// The context's fault, if it has one.
    ///
    /// # Errors
    /// The code of the first fault.
    pub fn check(&self) -> Result {
        match self.fault.load(SeqCst) {
            0 if self.destroyed.load(SeqCst) => Err(Status::CONTEXT_IS_DESTROYED),
            0 => Ok(()),
            fault => Err(Status(fault)),
        }
    }

    /// The same; once, that a launch was refused.
    pub(crate) fn answer(&self) -> Result {
        self.check()?;
        if self.refused.swap(false, SeqCst) { Err(Status::NOT_SUPPORTED) } else { Ok(()) }
    }

    pub(crate) fn set_fault(&self, status: Status) {
        self.device.set_fault(status);
        // The first one stays.
        let _ = self.fault.compare_exchange(0, status.0, SeqCst, SeqCst);
        // The other devices of the process are lost as well.
        for other in self.device.all_contexts().iter().filter(|other| other.device.index != self.device.index)
        {
            other.device.set_fault(status);
            let _ = other.fault.compare_exchange(0, status.0, SeqCst, SeqCst);
        }
    }

    /// Whether it was destroyed.
    pub fn is_destroyed(&self) -> bool {
        self.destroyed.load(SeqCst)
    }

    /// Forgets a stream; its operations still run.
    pub fn destroy_stream(&self, stream: &Stream) {
        stream.leave_capture();
        let mut order = lock(&self.order);
        order.streams.retain(|other| other.id != stream.id);
        order.orphans.retain(|op| !op.is_done());
        order.orphans.extend(stream.tail());
    }

    /// Operations at the end of every stream.
    fn tails(&self) -> Vec<Arc<Op>> {
        let order = lock(&self.order);
        let mut list: Vec<Arc<Op>> = order.streams.iter().filter_map(|stream| stream.tail()).collect();
        list.extend(self.legacy.tail());
        list.extend(order.orphans.iter().filter(|op| !op.is_done()).cloned());
        list
    }

    /// Does something once all that was submitted to the device so far is over: at once if that is so.
    pub(crate) fn afterwards(&self, body: impl FnOnce() + Send + 'static) {
        let before: Vec<Arc<Op>> = self
            .device
            .contexts()
            .iter()
            .flat_map(|context| context.tails())
            .filter(|op| !op.is_done())
            .collect();
        if before.is_empty() {
            body();
        } else {
            let (lane, priority) = (self.legacy.id, self.legacy.priority);
            let op = self.engine().submit(lane, priority, &before, Some((Box::new(|_| body()), RunBy::Any)));
            // Who waits for all streams waits for it, too.
            let mut order = lock(&self.order);
            order.orphans.retain(|op| !op.is_done());
            order.orphans.push(op);
        }
    }

    /// Waits until an operation is over.
    pub(crate) fn wait(&self, op: &Op) {
        self.engine().wait(op);
        self.host().waited(op.number());
    }

    /// Waits for all streams, whatever they do.
    pub fn drain(&self) {
        for op in self.tails() {
            self.wait(&op);
        }
        self.flush_output();
    }

    /// Waits for all streams, at most for so long; whether they are idle.
    pub fn drain_for(&self, most: Duration) -> bool {
        let idle = self.tails().iter().all(|op| self.engine().wait_timeout(op, most));
        self.flush_output();
        idle
    }

    /// Prints what kernels have printed.
    pub fn flush_output(&self) {
        let text = std::mem::take(&mut *lock(&self.output));
        if !text.is_empty() {
            self.host().print(&text);
        }
    }

    /// Ends the context: waits for its streams and frees its device memory. What is left is memory of the
    /// host, for the caller to give back.
    pub fn destroy(&self) -> Vec<Allocation> {
        self.drain();
        self.leave_peers();
        self.destroyed.store(true, SeqCst);
        let gone = self.device.memory.remove_context(self.id);
        for allocation in &gone {
            // Variables go with their modules.
            if allocation.kind != Kind::Variable {
                let _ = self.device.simulator.free(allocation.base);
            }
            if allocation.kind.is_host() {
                self.hide(allocation.base);
            }
        }
        let mut order = lock(&self.order);
        order.streams.clear();
        order.orphans.clear();
        gone.into_iter().filter(|allocation| allocation.kind.is_host()).collect()
    }

    /// A limit's value.
    pub fn limit(&self, limit: Limit) -> u64 {
        let default = match limit {
            Limit::Stack => 1024,
            Limit::Printing => 8_650_752,
            Limit::Heap => self.device.simulator.config().heap,
            Limit::PendingLaunches => 2048,
            Limit::Fetching => 64,
            Limit::Persisting => 3 * self.device.simulator.config().persisting_unit,
            Limit::SharedOfProcesses => self.device.simulator.config().shared_per_block.into(),
            Limit::Graphics => 0,
        };
        lock(&self.limits).get(&limit).copied().unwrap_or(default)
    }

    /// Sets a limit, rounded as an H200 does.
    ///
    /// # Errors
    /// `INVALID_VALUE` for impossible values, and for buffers in use.
    pub fn set_limit(&self, limit: Limit, value: u64) -> Result {
        let config = self.device.simulator.config();
        let round =
            |unit: u64, least: u64| Ok(value.min(config.global_memory).next_multiple_of(unit).max(least));
        let value = match limit {
            Limit::Stack if value > LARGEST_STACK => Err(Status::INVALID_VALUE),
            // It is rounded where memory changes with it.
            Limit::Stack if self.limit(limit).next_multiple_of(16) == value.next_multiple_of(16) => Ok(value),
            Limit::Stack => round(16, 0),
            Limit::Printing if self.printed.load(SeqCst) => Err(Status::INVALID_VALUE),
            Limit::Printing => round(256, 512 << 10),
            Limit::Heap => round(64 << 10, 4 << 20),
            Limit::PendingLaunches => Ok(value.clamp(PENDING_LAUNCHES[0], PENDING_LAUNCHES[1])),
            Limit::Fetching if value > 128 => Err(Status::INVALID_VALUE),
            Limit::Persisting if value > config.largest_persisting => Err(Status::INVALID_VALUE),
            Limit::Persisting => round(config.persisting_unit, 0),
            Limit::SharedOfProcesses | Limit::Graphics => Err(Status::NOT_PERMITTED),
            Limit::Fetching => Ok(value),
        }?;
        if limit == Limit::Heap && !self.device.simulator.set_heap(value) {
            return Err(Status::INVALID_VALUE);
        }
        lock(&self.limits).insert(limit, value);
        Ok(())
    }

    /// Allocates device memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for no bytes, `OUT_OF_MEMORY`.
    pub fn allocate(&self, bytes: u64, kind: Kind, what: &str) -> Result<u64> {
        self.check()?;
        if bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let base = self.device.allocate(bytes, what)?;
        let context = self.id;
        self.add_memory(Allocation { base, size: bytes, kind, context, flags: 0, id: fresh_id() });
        Ok(base)
    }

    /// Frees memory of any device after waiting for that device, as `cuMemFree` does. Memory of the host is
    /// returned for the caller to give back.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no such allocation starts there.
    pub fn free(&self, base: u64, wanted: impl Fn(&Allocation) -> bool) -> Result<Allocation> {
        let device = self.device.owner(base).ok_or(Status::INVALID_VALUE)?;
        let found = device.memory.find(base).filter(|a| a.base == base && wanted(a));
        found.ok_or(Status::INVALID_VALUE)?;
        device.drain();
        let allocation = device.memory.remove(base, wanted).ok_or(Status::INVALID_VALUE)?;
        device.simulator.free(base)?;
        if allocation.kind.is_host() {
            self.hide(base);
        }
        Ok(allocation)
    }

    /// Takes memory of the host, which the table of allocations has forgotten, from all devices.
    pub fn forget(&self, base: u64) {
        let _ = self.device.simulator.free(base);
        self.hide(base);
    }

    /// Takes memory of the host from the other devices.
    pub(crate) fn hide(&self, base: u64) {
        for other in self.device.all().iter().skip(1) {
            if other.memory.remove(base, |found| found.kind.is_host()).is_some() {
                other.drain();
                let _ = other.simulator.free(base);
            }
        }
    }

    /// Unloads what libraries have loaded into it, which is about to go.
    pub fn forget_libraries(&self) {
        let tenants = std::mem::take(&mut *lock(&self.tenants));
        tenants.values().filter_map(Weak::upgrade).for_each(|tenant| tenant.leave(self));
    }
}
