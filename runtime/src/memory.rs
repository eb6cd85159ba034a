//! The allocations of a device as the host sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use crate::status::{Result, Status};

/// What kind of memory an allocation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Device memory.
    Device,
    /// Device memory from a pool, freed in stream order.
    Pool(u64),
    /// Memory of a graph, at its address from the making of the node on.
    Graph,
    /// A range of addresses that was mapped and may be accessed.
    Virtual,
    /// A variable of a module.
    Variable,
    /// Managed memory: one address for host and device.
    Managed,
    /// Page-locked host memory that the runtime allocated.
    Host,
    /// Host memory that the program registered.
    Registered,
}

impl Kind {
    /// Whether the host may access it at its address.
    pub const fn is_host(self) -> bool {
        matches!(self, Kind::Managed | Kind::Host | Kind::Registered)
    }
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// First address, for host and device alike.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// The context that it belongs to.
    pub context: u64,
    /// Flags it was made with.
    pub flags: u32,
    /// Grows with each allocation of the process.
    pub id: u64,
}

/// The allocations of a device by address.
#[derive(Debug, Default)]
pub struct Memory {
    table: RwLock<BTreeMap<u64, Allocation>>,
    /// Memory of graphs that is allocated now, for calls of the program.
    live: RwLock<BTreeSet<u64>>,
}

impl Memory {
    /// Adds an allocation.
    pub fn insert(&self, allocation: Allocation) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).insert(allocation.base, allocation);
    }

    /// The allocation that an address lies in.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = table.range(..=address).next_back()?;
        (address - found.base < found.size.max(1)).then_some(*found)
    }

    /// The allocation that holds a range.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is none.
    pub fn range(&self, address: u64, bytes: u64) -> Result<Allocation> {
        let found = self.find(address).ok_or(Status::INVALID_VALUE)?;
        let inside = (address - found.base).checked_add(bytes).is_some_and(|end| end <= found.size);
        if inside { Ok(found) } else { Err(Status::INVALID_VALUE) }
    }

    /// Marks memory of a graph as allocated, or as freed; false if it was already.
    pub fn set_live(&self, base: u64, live: bool) -> bool {
        let mut set = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live { set.insert(base) } else { set.remove(&base) }
    }

    /// Whether calls of the program may use an address: it is not that of graph memory which is not allocated.
    pub fn is_live(&self, address: u64) -> bool {
        let of_graph = self.find(address).filter(|found| found.kind == Kind::Graph);
        let set = self.live.read().unwrap_or_else(PoisonError::into_inner);
        of_graph.is_none_or(|found| set.contains(&found.base))
    }

    /// All allocations, by address.
    pub fn list(&self) -> Vec<Allocation> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }

    /// Takes an allocation out by its first address, if it is of a wanted kind.
    pub fn remove(&self, base: u64, wanted: impl Fn(&Allocation) -> bool) -> Option<Allocation> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if !table.get(&base).is_some_and(wanted) {
            return None;
        }
        table.remove(&base)
    }

    /// Takes out all allocations of a context.
    pub fn remove_context(&self, context: u64) -> Vec<Allocation> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<Allocation> = table.values().filter(|a| a.context == context).copied().collect();
        for allocation in &gone {
            table.remove(&allocation.base);
        }
        gone
    }
}
