//! Global memory: allocations, where they lie, and what is wrong with an address outside them.

use std::collections::HashMap;
use std::fs::File;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::{Cells, Written, host};
use crate::error::Error;
use semantics::window;

/// What an allocation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllocationKind {
    /// `Backend::alloc`
    Buffer,
    /// Memory of the host at its own address, which the host may access at any time.
    Host,
    /// Memory of another device or another process, which this one may access.
    Peer,
    /// A `.global` variable.
    Global,
    /// A `.const` variable: read-only for kernels.
    Const,
    /// The heap of `malloc` in kernels; blocks in it are tracked apart.
    Heap,
    /// Parameters of launches by kernels on their way: apart from what programs allocate, and not counted.
    Parameters,
}

/// Whether an allocation may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Live,
    Freed,
}

/// A range of global memory.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub size: u64,
    pub kind: AllocationKind,
    pub state: State,
    /// Its name in findings.
    pub label: Arc<str>,
    pub cells: Arc<Cells>,
    /// Which bytes were written; only when initialisation is tracked.
    pub written: Option<Arc<Written>>,
    /// Addresses that this device may only read, beside all of a constant.
    pub read_only: Vec<Range<u64>>,
}

impl Allocation {
    pub(crate) fn end(&self) -> u64 {
        self.base + self.size
    }

    /// Whether kernels may write to all of it.
    pub(crate) fn is_writable(&self) -> bool {
        self.kind != AllocationKind::Const && self.read_only.is_empty()
    }

    /// Whether kernels may write to these bytes of it.
    pub(crate) fn allows_writes(&self, address: u64, bytes: u64) -> bool {
        self.kind != AllocationKind::Const && self.allows_copies(address, bytes)
    }

    /// Whether the host may have these bytes of it written, as it has those of constants.
    fn allows_copies(&self, address: u64, bytes: u64) -> bool {
        let apart = |part: &Range<u64>| address >= part.end || address.saturating_add(bytes) <= part.start;
        self.read_only.iter().all(apart)
    }

    /// Whether it is memory of another device or process.
    pub(super) fn is_shown(&self) -> bool {
        self.kind == AllocationKind::Peer
    }

    /// `buffer "x" (4096 bytes at 0x7f…)`
    pub(crate) fn describe(&self) -> String {
        let kind = match self.kind {
            AllocationKind::Buffer | AllocationKind::Host => "buffer",
            AllocationKind::Peer => "peer buffer",
            AllocationKind::Global => "variable",
            AllocationKind::Const => "constant",
            AllocationKind::Heap => "device heap",
            AllocationKind::Parameters => "memory",
        };
        format!("{kind} `{}` ({} bytes at {:#x})", self.label, self.size, self.base)
    }
}

/// Addresses that stand for memory of several devices: what `multimem` instructions access there lies at each replica.
#[derive(Clone, Debug)]
pub(crate) struct Multicast {
    pub base: u64,
    pub size: u64,
    /// Where the memory of each device begins.
    pub replicas: Arc<[u64]>,
    /// Whether kernels may write.
    pub writable: bool,
}

/// Allocations in order of address, freed ones included as long as their place is not reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllocationTable {
    pub list: Vec<Allocation>,
    pub multicast: Vec<Multicast>,
}

impl AllocationTable {
    /// The allocation with the highest base at or below `address`.
    pub(crate) fn at_or_below(&self, address: u64) -> Option<usize> {
        self.list.partition_point(|allocation| allocation.base <= address).checked_sub(1)
    }

    /// The live allocation that holds all of `bytes` bytes at `address`.
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<&Allocation> {
        let allocation = &self.list[self.at_or_below(address)?];
        let inside = address.checked_add(bytes)? <= allocation.end();
        (inside && allocation.state == State::Live).then_some(allocation)
    }

    /// The multicast memory that an address lies in.
    pub(crate) fn multicast(&self, address: u64) -> Option<&Multicast> {
        self.multicast.iter().find(|found| address.wrapping_sub(found.base) < found.size)
    }

    /// Says where an address lies with respect to the nearest live allocation.
    pub(crate) fn nearest(&self, address: u64, bytes: u64) -> String {
        let live = |allocation: &&Allocation| allocation.state == State::Live && allocation.size > 0;
        let split = self.list.partition_point(|allocation| allocation.base <= address);
        let below = self.list[..split].iter().rev().find(live);
        let above = self.list[split..].iter().find(live);
        let below = below
            .map(|allocation| (address.saturating_add(bytes).saturating_sub(allocation.end()), allocation));
        let above = above.map(|allocation| (allocation.base - address, allocation));
        match (below, above) {
            (Some((distance, allocation)), other) if other.is_none_or(|(other, _)| distance <= other) => {
                if address < allocation.end() {
                    let inside = allocation.end() - address;
                    format!(
                        "only the first {inside} of the {bytes} bytes lie inside {}",
                        allocation.describe()
                    )
                } else {
                    format!("{} bytes after the end of {}", address - allocation.end(), allocation.describe())
                }
            }
            (_, Some((distance, allocation))) => {
                format!("{distance} bytes before {}", allocation.describe())
            }
            _ => "there is no allocation at all".into(),
        }
    }
}

/// A consistent view of the allocations; cheap to take, and to check for staleness.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub table: Arc<AllocationTable>,
    pub generation: u64,
}

/// What is where.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) table: Arc<AllocationTable>,
    /// Next address of constants, of everything else in pages of its own, and in the page that small blocks share.
    next_const: u64,
    next: u64,
    shared: Range<u64>,
    used: u64,
    /// Freed allocations in order of freeing, so that the oldest is forgotten first.
    freed: std::collections::VecDeque<u64>,
}

#[derive(Debug)]
struct Inner {
    layout: Layout,
    end: u64,
    /// Devices that an allocation is shown to, by its first address.
    viewers: HashMap<u64, Vec<Weak<GlobalMemory>>>,
}

impl Deref for Inner {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        &self.layout
    }
}

impl DerefMut for Inner {
    fn deref_mut(&mut self) -> &mut Layout {
        &mut self.layout
    }
}

/// What says of an address that this device does not know whose it is, in a sentence and a note.
pub(crate) struct Elsewhere(Box<dyn Fn(u64) -> Option<(String, String)> + Send + Sync>);

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
    }
}

/// All global memory of a device.
#[derive(Debug)]
pub(crate) struct GlobalMemory {
    inner: Mutex<Inner>,
    elsewhere: OnceLock<Elsewhere>,
    generation: AtomicU64,
    /// Whether some memory could ever only be read: until then nobody looks for it.
    has_read_only: AtomicBool,
    total: u64,
    track_initialization: bool,
}

/// Freed allocations that are remembered, to tell a use after free from a wild access.
const REMEMBERED_FREES: usize = 4096;
/// Alignment of allocations, as CUDA's.
const ALIGNMENT: u64 = 512;
/// Bytes left free between two allocations at least: a device leaves none, but an access just behind one is found.
const GAP: u64 = 512;
/// Pages of the device, and the largest blocks that share one.
const PAGE: u64 = 2 << 20;
const SMALL: u64 = 1 << 20;

impl Inner {
    /// A place where nothing ever was. As on a device, small blocks share pages, others begin one.
    fn place(&mut self, size: u64, kind: AllocationKind) -> Option<u64> {
        let after = |base: u64| base.checked_add(size)?.checked_add(GAP)?.checked_next_multiple_of(ALIGNMENT);
        if matches!(kind, AllocationKind::Const | AllocationKind::Parameters) {
            let base = self.next_const;
            self.next_const = after(base).filter(|&next| next <= window::CONST.end)?;
            return Some(base);
        }
        if size <= SMALL
            && let Some(next) = after(self.shared.start).filter(|&next| next <= self.shared.end)
        {
            return Some(std::mem::replace(&mut self.shared.start, next));
        }
        let base = self.next.checked_next_multiple_of(PAGE)?;
        let next = after(base)?;
        let end = next.checked_next_multiple_of(PAGE).filter(|&end| end <= self.end)?;
        self.next = end;
        if size <= SMALL {
            self.shared = next..end;
        }
        Some(base)
    }

    /// The place of what another device shows here.
    fn view(&self, base: u64) -> Option<usize> {
        let at = self.table.at_or_below(base)?;
        let found = &self.table.list[at];
        let shown = found.base == base && found.state == State::Live && found.kind == AllocationKind::Peer;
        shown.then_some(at)
    }

    /// Adds an allocation to the table.
    fn insert(&mut self, allocation: Allocation) {
        let list = &mut Arc::make_mut(&mut self.table).list;
        let at = list.partition_point(|other| other.base < allocation.base);
        list.insert(at, allocation);
    }
}

impl GlobalMemory {
    pub(crate) fn new(total: u64, addresses: Range<u64>, track_initialization: bool) -> GlobalMemory {
        let layout = Layout {
            table: Arc::default(),
            next_const: window::CONST.start,
            next: addresses.start + (1 << 24),
            shared: 0..0,
            used: 0,
            freed: Default::default(),
        };
        let inner = Inner { layout, end: addresses.end, viewers: HashMap::new() };
        GlobalMemory {
            inner: Mutex::new(inner),
            elsewhere: OnceLock::new(),
            generation: AtomicU64::new(0),
            has_read_only: AtomicBool::new(false),
            total,
            track_initialization,
        }
    }

    /// Sets what says of an address that this device does not know whose it is; the first one stays.
    pub(crate) fn set_elsewhere(
        &self,
        elsewhere: impl Fn(u64) -> Option<(String, String)> + Send + Sync + 'static,
    ) {
        let _ = self.elsewhere.set(Elsewhere(Box::new(elsewhere)));
    }

    /// Whose an address is that this device does not know: a sentence, and a note.
    pub(crate) fn elsewhere(&self, address: u64) -> Option<(String, String)> {
        self.elsewhere.get().and_then(|elsewhere| (elsewhere.0)(address))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // The table is consistent between statements, so a panic elsewhere does not spoil it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current allocations.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        Snapshot { table: inner.table.clone(), generation: self.generation.load(Ordering::Relaxed) }
    }

    /// What is where now.
    pub(super) fn layout(&self) -> Layout {
        self.lock().layout.clone()
    }

    /// Makes that something else; returns what it was.
    pub(super) fn replace_layout(&self, layout: Layout) -> Layout {
        let mut inner = self.lock();
        // Snapshots that were taken meanwhile are out of date, whatever came and went.
        self.generation.fetch_add(1, Ordering::Relaxed);
        std::mem::replace(&mut inner.layout, layout)
    }

    /// The number of the table of allocations, where compiled code looks for it.
    pub(crate) fn generation(&self) -> *const u64 {
        self.generation.as_ptr()
    }

    /// Whether a snapshot is out of date.
    #[inline(always)]
    pub(crate) fn is_stale(&self, snapshot: &Snapshot) -> bool {
        self.generation.load(Ordering::Relaxed) != snapshot.generation
    }

    /// Bytes in all and in use.
    pub(crate) fn usage(&self) -> (u64, u64) {
        (self.total, self.lock().used)
    }

    pub(crate) fn alloc(&self, size: u64, label: &str, kind: AllocationKind) -> Result<u64, Error> {
        let mut inner = self.lock();
        let available = self.total - inner.used;
        let out_of_memory = Error::OutOfMemory { requested: size, available, total: self.total };
        if size > available {
            return Err(out_of_memory);
        }
        let cells = Arc::new(zeroed(size)?);
        let base = inner.place(size, kind).ok_or(out_of_memory)?;
        self.add(&mut inner, base, size, label, kind, cells);
        Ok(base)
    }

    fn add(
        &self,
        inner: &mut Inner,
        base: u64,
        size: u64,
        label: &str,
        kind: AllocationKind,
        cells: Arc<Cells>,
    ) {
        if kind != AllocationKind::Parameters {
            inner.used += size;
        }
        // Variables without an initial value are zeros, so only these start out unwritten.
        let unwritten =
            matches!(kind, AllocationKind::Buffer | AllocationKind::Heap | AllocationKind::Parameters);
        let written = (self.track_initialization && unwritten).then(|| Arc::new(Written::none(size)));
        inner.insert(Allocation {
            base,
            size,
            kind,
            state: State::Live,
            label: label.into(),
            cells,
            written,
            read_only: Vec::new(),
        });
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Allocates where an allocation was that is freed, for allocators of which programs expect it.
    pub(crate) fn alloc_again(&self, base: u64, size: u64, label: &str) -> Result<(), Error> {
        let mut inner = self.lock();
        let available = self.total - inner.used;
        if size > available {
            return Err(Error::OutOfMemory { requested: size, available, total: self.total });
        }
        let overlaps = |other: &Allocation| other.base < base + size && base < other.end();
        if inner.table.list.iter().any(|other| other.state == State::Live && overlaps(other)) {
            return Err(Error::InvalidAddress(format!("{size} bytes at {base:#x}: there is an allocation")));
        }
        let cells = Arc::new(zeroed(size)?);
        Arc::make_mut(&mut inner.table).list.retain(|other| other.base != base);
        inner.freed.retain(|&freed| freed != base);
        self.add(&mut inner, base, size, label, AllocationKind::Buffer, cells);
        Ok(())
    }

    /// Makes memory of the host accessible at its own address. What the host wrote into it is not known,
    /// so all of it counts as written.
    ///
    /// # Safety
    /// As for [`Cells::of_host`], until [`GlobalMemory::free`] and the end of launches that run then.
    pub(crate) unsafe fn adopt(&self, start: NonNull<u8>, size: u64, label: &str) -> Result<u64, Error> {
        let base = start.as_ptr().expose_provenance() as u64;
        let refuse = |text: &str| {
            Err(Error::InvalidAddress(format!("{size} bytes of host memory at {base:#x}: {text}")))
        };
        let Some(end) = base.checked_add(size) else { return refuse("they wrap around") };
        let special = window::SHARED..window::PARAM + window::PARAM_SIZE;
        if !base.is_multiple_of(4) || base < special.end && end > special.start {
            return refuse("not a multiple of four, or where shared and local memory lie");
        }
        let mut inner = self.lock();
        let overlaps = |other: &Allocation| other.base < end && base < other.end();
        if inner.table.list.iter().any(|other| other.state == State::Live && overlaps(other)) {
            return refuse("there is an allocation already");
        }
        host::hold(size);
        // SAFETY: the caller's promise is that of `of_host`.
        let cells = Arc::new(unsafe { Cells::of_host(start, size) });
        let label = label.into();
        let kind = AllocationKind::Host;
        let (state, written, read_only) = (State::Live, None, Vec::new());
        let allocation = Allocation { base, size, kind, state, label, cells, written, read_only };
        let table = Arc::make_mut(&mut inner.table);
        // The host may have been given the place of something freed again.
        table.list.retain(|other| other.state == State::Live || !(overlaps(other) || other.base == base));
        inner.insert(allocation);
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(base)
    }

    /// Has kernels only read parts of the live allocation that begins at an address.
    pub(crate) fn set_read_only(&self, base: u64, parts: Vec<Range<u64>>) {
        let mut inner = self.lock();
        let Some(at) = inner.table.at_or_below(base) else { return };
        let allocation = &mut Arc::make_mut(&mut inner.table).list[at];
        if allocation.base == base && allocation.state == State::Live {
            if !parts.is_empty() {
                self.has_read_only.store(true, Ordering::Relaxed);
            }
            allocation.read_only = parts;
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The parts of the live allocation that begins at an address which kernels may only read.
    pub(crate) fn read_only(&self, base: u64) -> Vec<Range<u64>> {
        let inner = self.lock();
        let found = inner.table.at_or_below(base).map(|at| &inner.table.list[at]);
        let found = found.filter(|found| found.base == base && found.state == State::Live);
        found.map(|found| found.read_only.clone()).unwrap_or_default()
    }

    /// Whether some memory could ever only be read.
    pub(crate) fn has_read_only(&self) -> bool {
        self.has_read_only.load(Ordering::Relaxed)
    }

    /// Whether the host may have a range written; what is no memory forbids nothing.
    pub(crate) fn allows_copies(&self, address: u64, bytes: u64) -> bool {
        !self.has_read_only()
            || self.lock().table.find(address, bytes).is_none_or(|found| found.allows_copies(address, bytes))
    }

    pub(crate) fn free(&self, address: u64) -> Result<(), Error> {
        let mut inner = self.lock();
        let index = inner.table.at_or_below(address).filter(|&at| inner.table.list[at].base == address);
        let Some(index) = index else {
            let nearest = inner.table.nearest(address, 0);
            return Err(Error::InvalidAddress(format!(
                "free of {address:#x}, which no allocation starts at: {nearest}"
            )));
        };
        let allocation = &inner.table.list[index];
        if allocation.state == State::Freed {
            let text = format!("double free of {}", allocation.describe());
            return Err(Error::InvalidAddress(text));
        }
        self.end(&mut inner, index);
        let viewers = inner.viewers.remove(&address).unwrap_or_default();
        drop(inner);
        for viewer in viewers.iter().filter_map(Weak::upgrade) {
            let mut inner = viewer.lock();
            if let Some(index) = inner.view(address) {
                viewer.end(&mut inner, index);
            }
        }
        Ok(())
    }

    /// Ends an allocation; accesses to it are use after free from now on.
    fn end(&self, inner: &mut Inner, index: usize) {
        let allocation = &mut Arc::make_mut(&mut inner.table).list[index];
        let (address, kind) = (allocation.base, allocation.kind);
        allocation.state = State::Freed;
        let size = if allocation.is_shown() { 0 } else { allocation.size };
        host::give_back(size);
        if let Some(cells) = Cells::zeroed(0) {
            allocation.cells = Arc::new(cells);
            allocation.written = None;
        }
        let uncounted = matches!(kind, AllocationKind::Host | AllocationKind::Parameters);
        inner.used -= if uncounted { 0 } else { size };
        inner.freed.push_back(address);
        if inner.freed.len() > REMEMBERED_FREES
            && let Some(oldest) = inner.freed.pop_front()
        {
            let table = Arc::make_mut(&mut inner.table);
            if let Ok(at) = table.list.binary_search_by_key(&oldest, |allocation| allocation.base)
                && table.list[at].state == State::Freed
            {
                table.list.remove(at);
            }
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows an allocation to another device at its address, until it is freed here or hidden there. What is no memory
    /// for others (constants, the heap) and what is shown already stays as it is.
    pub(crate) fn share(&self, base: u64, with: &Arc<GlobalMemory>) {
        let mut inner = self.lock();
        let found = inner.table.at_or_below(base).map(|at| inner.table.list[at].clone());
        let shared = [AllocationKind::Buffer, AllocationKind::Global, AllocationKind::Peer];
        let wanted = |a: &Allocation| a.base == base && a.state == State::Live && shared.contains(&a.kind);
        let Some(allocation) = found.filter(wanted) else { return };
        let viewers = inner.viewers.entry(base).or_default();
        viewers.retain(|viewer| viewer.strong_count() > 0);
        if viewers.iter().any(|viewer| viewer.as_ptr() == Arc::as_ptr(with)) {
            return;
        }
        viewers.push(Arc::downgrade(with));
        drop(inner);
        let mut other = with.lock();
        let (start, end) = (allocation.base, allocation.end());
        let table = Arc::make_mut(&mut other.table);
        table.list.retain(|known| known.state == State::Live || known.base >= end || known.end() <= start);
        other.freed.retain(|&freed| freed != base);
        other.insert(Allocation { kind: AllocationKind::Peer, ..allocation });
        with.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Has addresses stand for memory at each of some others, or for nothing any more if there are none.
    pub(crate) fn set_multicast(&self, base: u64, size: u64, replicas: &[u64], writable: bool) {
        let mut inner = self.lock();
        let multicast = &mut Arc::make_mut(&mut inner.layout.table).multicast;
        multicast.retain(|found| found.base >= base.saturating_add(size) || base >= found.base + found.size);
        if !replicas.is_empty() {
            multicast.push(Multicast { base, size, replicas: replicas.into(), writable });
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes an allocation from a device that it was shown to.
    pub(crate) fn hide(&self, base: u64, from: &Arc<GlobalMemory>) {
        if let Some(viewers) = self.lock().viewers.get_mut(&base) {
            viewers.retain(|viewer| viewer.as_ptr() != Arc::as_ptr(from));
        }
        let mut other = from.lock();
        if let Some(index) = other.view(base) {
            Arc::make_mut(&mut other.table).list.remove(index);
            from.generation.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Moves what an allocation holds into a file, which is what it consists of from now on, for other processes too.
    /// No kernel runs meanwhile.
    pub(crate) fn move_into(&self, base: u64, file: &File) -> Result<(), Error> {
        let refuse = |text: &str| Error::InvalidAddress(format!("no memory at {base:#x} for a file: {text}"));
        let mut inner = self.lock();
        let index = inner.table.at_or_below(base).filter(|&at| inner.table.list[at].base == base);
        let index = index.filter(|&at| inner.table.list[at].state == State::Live);
        let index = index.ok_or_else(|| refuse("no allocation begins there"))?;
        let allocation = &inner.table.list[index];
        let cells = Cells::of_file(file, allocation.size).ok_or_else(|| refuse("the file is too short"))?;
        cells.copy(0, &allocation.cells, 0, allocation.size);
        let cells = Arc::new(cells);
        Arc::make_mut(&mut inner.table).list[index].cells = cells.clone();
        self.generation.fetch_add(1, Ordering::Relaxed);
        let viewers = inner.viewers.get(&base).cloned().unwrap_or_default();
        drop(inner);
        for viewer in viewers.iter().filter_map(Weak::upgrade) {
            let mut inner = viewer.lock();
            if let Some(index) = inner.view(base) {
                Arc::make_mut(&mut inner.table).list[index].cells = cells.clone();
                viewer.generation.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// An allocation that consists of a file, which another process may have as well. It takes no memory of this device.
    pub(crate) fn alloc_of(&self, file: &File, size: u64, label: &str) -> Result<u64, Error> {
        let mut inner = self.lock();
        let out_of_memory = Error::OutOfMemory { requested: size, available: 0, total: self.total };
        let cells = Cells::of_file(file, size).ok_or(out_of_memory.clone())?;
        let base = inner.place(size, AllocationKind::Peer).ok_or(out_of_memory)?;
        let (kind, state, label) = (AllocationKind::Peer, State::Live, label.into());
        let cells = Arc::new(cells);
        inner.insert(Allocation {
            base,
            size,
            kind,
            state,
            label,
            cells,
            written: None,
            read_only: Vec::new(),
        });
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(base)
    }

    /// Runs `body` on the allocation that holds a range, with the offset in it.
    pub(crate) fn with_range<T>(
        &self,
        address: u64,
        bytes: u64,
        what: &str,
        body: impl FnOnce(&Allocation, u64) -> T,
    ) -> Result<T, Error> {
        let table = self.lock().table.clone();
        match table.find(address, bytes) {
            Some(allocation) => Ok(body(allocation, address - allocation.base)),
            None => {
                let nearest = table.nearest(address, bytes);
                Err(Error::InvalidAddress(format!("{what} of {bytes} bytes at {address:#x}: {nearest}")))
            }
        }
    }
}

/// Memory of zeros that the host gives when it is touched.
fn zeroed(size: u64) -> Result<Cells, Error> {
    let cells = Cells::zeroed(size).ok_or_else(|| {
        let host = host::host_memory().unwrap_or(host::HostMemory { total: 0, available: 0 });
        Error::HostMemory { requested: size, available: host.available, total: host.total }
    })?;
    host::hold(size);
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_outside_are_explained() {
        let memory = GlobalMemory::new(1 << 20, window::GLOBAL, false);
        let a = memory.alloc(100, "a", AllocationKind::Buffer).unwrap();
        let b = memory.alloc(8, "b", AllocationKind::Buffer).unwrap();
        let table = memory.snapshot().table;
        assert!(table.find(a, 100).is_some() && table.find(a, 101).is_none());
        assert!(table.nearest(a + 100, 4).starts_with("0 bytes after the end of buffer `a`"));
        assert!(
            table.nearest(a + 98, 4).starts_with("only the first 2 of the 4 bytes lie inside buffer `a`")
        );
        assert!(table.nearest(b - 4, 4).starts_with("4 bytes before buffer `b`"));
        memory.free(a).unwrap();
        assert!(memory.free(a).unwrap_err().to_string().starts_with("double free of buffer `a`"));
        assert!(memory.free(b + 1).is_err());
        assert!(memory.alloc(1 << 20, "c", AllocationKind::Buffer).is_err());
        assert_eq!(memory.usage(), (1 << 20, 8));
    }

    #[test]
    fn what_one_device_shows_another_goes_when_it_is_freed() {
        let range = |at: u64| at << 40..(at + 1) << 40;
        let memory = |at| Arc::new(GlobalMemory::new(1 << 20, range(at), true));
        let (here, there) = (memory(1), memory(2));
        let base = here.alloc(64, "a", AllocationKind::Buffer).unwrap();
        let finds = || there.snapshot().table.find(base, 64).is_some();
        assert!(!finds());
        here.share(base, &there);
        here.share(base, &there);
        assert!(finds() && there.usage().1 == 0);
        let cells = |memory: &GlobalMemory| memory.snapshot().table.find(base, 64).unwrap().cells.clone();
        cells(&there).write(8, &[7]);
        let mut byte = [0];
        cells(&here).read(8, &mut byte);
        assert_eq!(byte, [7]);
        here.hide(base, &there);
        assert!(!finds());
        here.share(base, &there);
        here.free(base).unwrap();
        let table = there.snapshot().table;
        let found = table.at_or_below(base).map(|at| table.list[at].state);
        assert_eq!(found, Some(State::Freed), "an access is a use after free there, too");
        // The address may come again.
        here.alloc_again(base, 32, "b").unwrap();
        here.share(base, &there);
        assert!(there.snapshot().table.find(base, 32).is_some());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files in memory")]
    fn memory_of_a_file_is_what_both_who_have_it_see() {
        let file = std::fs::File::from(tempfile());
        file.set_len(4096).unwrap();
        let (here, there) = (
            GlobalMemory::new(1 << 20, window::GLOBAL, false),
            GlobalMemory::new(1 << 20, window::GLOBAL, false),
        );
        let base = here.alloc(100, "a", AllocationKind::Buffer).unwrap();
        let cells =
            |memory: &GlobalMemory, base| memory.snapshot().table.find(base, 100).unwrap().cells.clone();
        cells(&here, base).write(3, b"before");
        here.move_into(base, &file).unwrap();
        let seen = there.alloc_of(&file, 100, "b").unwrap();
        let mut bytes = [0; 6];
        cells(&there, seen).read(3, &mut bytes);
        assert_eq!(&bytes, b"before");
        cells(&there, seen).write(3, b"after!");
        cells(&here, base).read(3, &mut bytes);
        assert_eq!(&bytes, b"after!");
        assert!(there.alloc_of(&file, 8192, "c").is_err(), "more than the file has");
        assert_eq!(there.usage().1, 0);
        there.free(seen).unwrap();
        assert!(here.move_into(base + 4, &file).is_err());
    }

    fn tempfile() -> std::os::fd::OwnedFd {
        use std::os::fd::FromRawFd;
        // SAFETY: the name is a string, and the descriptor is nobody else's.
        unsafe { std::os::fd::OwnedFd::from_raw_fd(libc::memfd_create(c"test".as_ptr(), 0)) }
    }

    #[test]
    fn small_blocks_share_pages_and_large_ones_begin_them() {
        let memory = GlobalMemory::new(1 << 30, window::GLOBAL, false);
        let mut last = 0;
        for size in [1, 511, 512, 513, SMALL, SMALL, 1, SMALL + 1, PAGE, 3 << 20, 100, PAGE - 1, PAGE + 1] {
            let base = memory.alloc(size, "x", AllocationKind::Buffer).unwrap();
            assert!(base.is_multiple_of(if size > SMALL { PAGE } else { ALIGNMENT }), "{size} at {base:#x}");
            assert!(size > SMALL || base / PAGE == (base + size - 1) / PAGE, "{size} at {base:#x}");
            let table = memory.snapshot().table;
            assert!(table.find(base + size, 1).is_none() && table.find(base - 1, 1).is_none());
            last = base;
        }
        // Freed addresses come again only where somebody asks for them.
        memory.free(last).unwrap();
        assert!(memory.alloc(PAGE + 1, "y", AllocationKind::Buffer).unwrap() > last);
        memory.alloc_again(last, 100, "again").unwrap();
        assert!(memory.alloc_again(last, 100, "again").is_err());
        assert!(memory.snapshot().table.find(last, 100).is_some_and(|found| &*found.label == "again"));
    }
}
