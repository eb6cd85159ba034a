//! Global memory: allocations, where they lie, and what is wrong with an address outside them.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Cells, Written, host, window};
use crate::error::Error;

/// What an allocation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllocationKind {
    /// `Backend::alloc`
    Buffer,
    /// Memory of the host at its own address, which the host may access at any time.
    Host,
    /// A `.global` variable.
    Global,
    /// A `.const` variable: read-only for kernels.
    Const,
    /// The heap of `malloc` in kernels; blocks in it are tracked apart.
    Heap,
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
}

impl Allocation {
    pub(crate) fn end(&self) -> u64 {
        self.base + self.size
    }

    /// `buffer "x" (4096 bytes at 0x7f…)`
    pub(crate) fn describe(&self) -> String {
        let kind = match self.kind {
            AllocationKind::Buffer | AllocationKind::Host => "buffer",
            AllocationKind::Global => "variable",
            AllocationKind::Const => "constant",
            AllocationKind::Heap => "device heap",
        };
        format!("{kind} `{}` ({} bytes at {:#x})", self.label, self.size, self.base)
    }
}

/// Allocations in order of address, freed ones included as long as their place is not reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllocationTable {
    pub list: Vec<Allocation>,
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

#[derive(Debug)]
struct Inner {
    table: Arc<AllocationTable>,
    /// Next address of constants, of everything else in pages of its own, and in the page that small blocks share.
    next_const: u64,
    next: u64,
    shared: Range<u64>,
    end: u64,
    used: u64,
    /// Freed allocations in order of freeing, so that the oldest is forgotten first.
    freed: std::collections::VecDeque<u64>,
}

/// All global memory of a device.
#[derive(Debug)]
pub(crate) struct GlobalMemory {
    inner: Mutex<Inner>,
    generation: AtomicU64,
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
        if kind == AllocationKind::Const {
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

    /// Adds an allocation to the table.
    fn insert(&mut self, allocation: Allocation) {
        let list = &mut Arc::make_mut(&mut self.table).list;
        let at = list.partition_point(|other| other.base < allocation.base);
        list.insert(at, allocation);
    }
}

impl GlobalMemory {
    pub(crate) fn new(total: u64, addresses: Range<u64>, track_initialization: bool) -> GlobalMemory {
        let inner = Inner {
            table: Arc::default(),
            next_const: window::CONST.start,
            next: addresses.start + (1 << 24),
            shared: 0..0,
            end: addresses.end,
            used: 0,
            freed: Default::default(),
        };
        GlobalMemory { inner: Mutex::new(inner), generation: AtomicU64::new(0), total, track_initialization }
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
        inner.used += size;
        // Variables without an initial value are zeros, so only these start out unwritten.
        let unwritten = matches!(kind, AllocationKind::Buffer | AllocationKind::Heap);
        let written = (self.track_initialization && unwritten).then(|| Arc::new(Written::none(size)));
        inner.insert(Allocation {
            base,
            size,
            kind,
            state: State::Live,
            label: label.into(),
            cells,
            written,
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
        let allocation = Allocation { base, size, kind, state: State::Live, label, cells, written: None };
        let table = Arc::make_mut(&mut inner.table);
        // The host may have been given the place of something freed again.
        table.list.retain(|other| other.state == State::Live || !(overlaps(other) || other.base == base));
        inner.insert(allocation);
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(base)
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
        let table = Arc::make_mut(&mut inner.table);
        let allocation = &mut table.list[index];
        allocation.state = State::Freed;
        host::give_back(allocation.size);
        let size = if allocation.kind == AllocationKind::Host { 0 } else { allocation.size };
        if let Some(cells) = Cells::zeroed(0) {
            allocation.cells = Arc::new(cells);
            allocation.written = None;
        }
        inner.used -= size;
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
        Ok(())
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
