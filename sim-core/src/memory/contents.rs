//! Global memory as it was: allocations and their bytes, page by page, so that what does not change is kept once.

use std::sync::Arc;

use super::global::{Allocation, AllocationTable, GlobalMemory, Layout, State};
use super::{Cells, Written, host};

/// Bytes of a page.
const PAGE: usize = 4096;

/// A page; nothing is zeros.
type Page = Option<Arc<[u8; PAGE]>>;

/// Bytes, page by page.
#[derive(Clone, Debug)]
struct Pages(Vec<Page>);

impl PartialEq for Pages {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Page, b: &Page| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a.is_none() && b.is_none(),
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| same(a, b))
    }
}

/// Where bytes come from and go to.
trait Bytes {
    fn read(&self, at: u64, bytes: &mut [u8]);
    fn write(&self, at: u64, bytes: &[u8]);
}

impl Bytes for Cells {
    fn read(&self, at: u64, bytes: &mut [u8]) {
        self.read(at, bytes);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.write(at, bytes);
    }
}

impl Bytes for Written {
    fn read(&self, at: u64, bytes: &mut [u8]) {
        self.read(at, bytes);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.write(at, bytes);
    }
}

impl Pages {
    /// So many bytes; pages that are as they were `before` are shared with it.
    fn of(from: &impl Bytes, bytes: u64, before: Option<&Pages>) -> Pages {
        let mut now = [0; PAGE];
        let page = |at: usize| {
            let count = (bytes - (at * PAGE) as u64).min(PAGE as u64) as usize;
            now[count..].fill(0);
            from.read((at * PAGE) as u64, &mut now[..count]);
            let before = before.and_then(|before| before.0.get(at)?.as_ref());
            match before {
                Some(page) if **page == now => Some(page.clone()),
                _ if now == [0; PAGE] => None,
                _ => Some(Arc::new(now)),
            }
        };
        Pages((0..(bytes as usize).div_ceil(PAGE)).map(page).collect())
    }

    /// Writes what has changed since.
    fn restore(&self, to: &impl Bytes, bytes: u64) {
        let mut now = [0; PAGE];
        for (at, page) in self.0.iter().enumerate() {
            let place = (at * PAGE) as u64;
            let count = (bytes - place).min(PAGE as u64) as usize;
            let was = page.as_ref().map_or(&[0; PAGE], |page| &**page);
            to.read(place, &mut now[..count]);
            if now[..count] != was[..count] {
                to.write(place, &was[..count]);
            }
        }
    }

    /// Bytes that it takes beyond what `before` has.
    fn held(&self, before: Option<&Pages>) -> u64 {
        let shared = |at: usize, page: &Arc<[u8; PAGE]>| {
            let before = before.and_then(|before| before.0.get(at)?.as_ref());
            before.is_some_and(|before| Arc::ptr_eq(before, page))
        };
        let own = self.0.iter().enumerate().filter(|(at, page)| matches!(page, Some(p) if !shared(*at, p)));
        own.count() as u64 * PAGE as u64
    }
}

/// What an allocation that may be used holds.
#[derive(Clone, PartialEq, Debug)]
struct Held {
    base: u64,
    bytes: Pages,
    /// Which of them were written.
    written: Option<Pages>,
}

/// All of global memory.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    layout: Layout,
    /// In order of address.
    held: Vec<Held>,
}

impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Allocation, b: &Allocation| {
            (a.base, a.size, a.kind, a.state, &a.label) == (b.base, b.size, b.kind, b.state, &b.label)
        };
        let (a, b) = (&self.layout.table.list, &other.layout.table.list);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)) && self.held == other.held
    }
}

impl Contents {
    fn of(&self, base: u64) -> Option<&Held> {
        let at = self.held.binary_search_by_key(&base, |held| held.base).ok()?;
        self.held.get(at)
    }

    /// Bytes that it takes beyond what `before` has.
    pub(crate) fn held(&self, before: Option<&Contents>) -> u64 {
        let of = |held: &Held| {
            let before = before.and_then(|before| before.of(held.base));
            let written = held.written.as_ref();
            held.bytes.held(before.map(|before| &before.bytes))
                + written.map_or(0, |pages| pages.held(before.and_then(|before| before.written.as_ref())))
        };
        self.held.iter().map(of).sum()
    }
}

fn live(table: &AllocationTable) -> impl Iterator<Item = &Allocation> {
    table.list.iter().filter(|allocation| allocation.state == State::Live)
}

/// Bytes of the host that it takes.
fn taken(allocation: &Allocation) -> u64 {
    if allocation.is_shown() { 0 } else { allocation.size }
}

impl GlobalMemory {
    /// What it is now; pages that are as they were `before` are shared with that. Takes time in proportion to all that is
    /// allocated, and memory to what has changed.
    pub(crate) fn contents(&self, before: Option<&Contents>) -> Contents {
        let layout = self.layout();
        let held = live(&layout.table).map(|allocation| {
            let before = before.and_then(|before| before.of(allocation.base));
            let written = allocation.written.as_ref().map(|written| {
                let before = before.and_then(|before| before.written.as_ref());
                Pages::of(&**written, written.bytes(), before)
            });
            let bytes = Pages::of(&*allocation.cells, allocation.size, before.map(|before| &before.bytes));
            Held { base: allocation.base, bytes, written }
        });
        Contents { held: held.collect(), layout }
    }

    /// Makes it what it was: what was allocated since is gone, what was freed since is there. Nobody else uses it meanwhile.
    pub(crate) fn restore(&self, contents: &Contents) {
        let before = self.replace_layout(contents.layout.clone());
        live(&before.table).for_each(|allocation| host::give_back(taken(allocation)));
        live(&contents.layout.table).for_each(|allocation| host::hold(taken(allocation)));
        for allocation in live(&contents.layout.table) {
            let Some(held) = contents.of(allocation.base) else { continue };
            held.bytes.restore(&*allocation.cells, allocation.size);
            if let (Some(written), Some(was)) = (&allocation.written, &held.written) {
                was.restore(&**written, written.bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AllocationKind;
    use super::*;
    use semantics::window;

    #[test]
    #[cfg_attr(miri, ignore = "it looks at megabytes")]
    fn memory_is_put_back_and_only_what_changed_is_kept() {
        let memory = GlobalMemory::new(1 << 30, window::GLOBAL, true);
        let large = memory.alloc(40 * PAGE as u64 + 10, "large", AllocationKind::Buffer).unwrap();
        let small = memory.alloc(3, "small", AllocationKind::Buffer).unwrap();
        let write = |base: u64, at: u64, bytes: &[u8]| {
            memory
                .with_range(base, at + bytes.len() as u64, "write", |allocation, _| {
                    allocation.cells.write(at, bytes);
                    allocation.written.as_ref().unwrap().set(at, bytes.len() as u64);
                })
                .unwrap();
        };
        let read = |base: u64, at: u64, count: usize| {
            let mut bytes = vec![0; count];
            memory
                .with_range(base, at + count as u64, "read", |allocation, _| {
                    allocation.cells.read(at, &mut bytes)
                })
                .unwrap();
            bytes
        };
        let written = |base: u64, at: u64, bytes: u64| {
            memory
                .with_range(base, 1, "read", |found, _| found.written.as_ref().unwrap().all(at, bytes))
                .unwrap()
        };
        write(large, 5, b"before");
        write(large, 40 * PAGE as u64, b"the end..");
        let first = memory.contents(None);
        assert!(first.held(None) >= 2 * PAGE as u64 && first.held(None) <= 4 * PAGE as u64);
        write(large, 7, b"XX");
        write(small, 1, b"yz");
        let second = memory.contents(Some(&first));
        assert!(first != second);
        assert_eq!(
            second.held(Some(&first)),
            3 * PAGE as u64,
            "two pages, and which bytes of one were written"
        );
        // What comes and goes between.
        memory.free(small).unwrap();
        let other = memory.alloc(1 << 22, "other", AllocationKind::Heap).unwrap();
        memory.restore(&first);
        assert_eq!(memory.contents(None), first);
        assert_eq!(
            (read(large, 5, 6), read(large, 40 * PAGE as u64, 9)),
            (b"before".to_vec(), b"the end..".to_vec())
        );
        assert!(memory.snapshot().table.find(other, 1).is_none());
        assert!(read(small, 0, 3) == [0; 3] && !written(small, 1, 1) && written(large, 5, 6));
        // The same place comes again.
        assert_eq!(memory.alloc(1 << 22, "other", AllocationKind::Heap).unwrap(), other);
        memory.restore(&second);
        assert_eq!(memory.contents(Some(&second)), second);
        assert_eq!(memory.contents(Some(&second)).held(Some(&second)), 0);
        assert_eq!((read(large, 5, 6), read(small, 0, 3)), (b"beXXre".to_vec(), b"\0yz".to_vec()));
        assert!(written(small, 1, 2) && !written(small, 0, 1));
    }
}
