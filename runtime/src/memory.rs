//! The allocations of a device as the host sees them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cuda_abi::{Result, Status};

use crate::engine::Op;
use crate::lock;
use crate::pieces::{self, PIECE, Piece};

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
    /// Device memory of another process.
    Imported,
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

/// The flags of shared memory that is for all contexts (`CU_MEM_ATTACH_GLOBAL`, `CU_MEMHOSTALLOC_PORTABLE`).
pub(crate) const FOR_ALL: u32 = 1;

/// The allocations of a device by address.
#[derive(Debug, Default)]
pub struct Memory {
    table: RwLock<BTreeMap<u64, Allocation>>,
    /// Memory of graphs that is allocated now, for calls of the program: how many bytes are at an address.
    live: RwLock<BTreeMap<u64, u64>>,
    /// First addresses of memory that the program registered.
    registered: RwLock<BTreeSet<u64>>,
    graphs: Mutex<KeptForGraphs>,
}

/// What a device keeps for graphs. Launches in one stream use the same pieces one after the other.
#[derive(Debug, Default)]
struct KeptForGraphs {
    /// Bytes: now, most that were in use, most that were kept.
    bytes: [u64; 3],
    /// By stream the last launch and how many pieces those in the stream need as long as they run.
    running: Vec<(u64, Arc<Op>, u64)>,
}

impl KeptForGraphs {
    /// Pieces that launches need which are not over, in other streams than one.
    fn running_beside(&mut self, stream: Option<u64>) -> u64 {
        self.running.retain(|(_, last, _)| !last.is_done());
        self.running.iter().filter(|(other, ..)| Some(*other) != stream).map(|(.., pieces)| pieces).sum()
    }
}

impl Memory {
    /// Adds an allocation.
    pub fn insert(&self, allocation: Allocation) {
        if allocation.kind == Kind::Registered {
            self.registered.write().unwrap_or_else(PoisonError::into_inner).insert(allocation.base);
        }
        self.table.write().unwrap_or_else(PoisonError::into_inner).insert(allocation.base, allocation);
    }

    /// First addresses of memory that the program registered.
    pub(crate) fn registered(&self) -> Vec<u64> {
        self.registered.read().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn forget_registered(&self, base: u64) {
        self.registered.write().unwrap_or_else(PoisonError::into_inner).remove(&base);
    }

    /// The allocation that an address lies in.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = table.range(..=address).next_back()?;
        let mut found = *found;
        if found.kind == Kind::Graph {
            let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
            found.size = live.get(&found.base).copied().unwrap_or(found.size);
        }
        (address - found.base < found.size.max(1)).then_some(found)
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

    /// Marks so many bytes of memory of a graph as allocated; false if it was already.
    pub(crate) fn set_live(&self, base: u64, bytes: u64) -> bool {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        let Entry::Vacant(place) = live.entry(base) else { return false };
        place.insert(bytes);
        true
    }

    /// Marks memory of a graph as freed; false if it was already.
    pub fn set_freed(&self, base: u64) -> bool {
        self.live.write().unwrap_or_else(PoisonError::into_inner).remove(&base).is_some()
    }

    /// Whether calls of the program may use an address: it is not that of graph memory which is not allocated.
    pub fn is_live(&self, address: u64) -> bool {
        let of_graph = self.find(address).filter(|found| found.kind == Kind::Graph);
        let set = self.live.read().unwrap_or_else(PoisonError::into_inner);
        of_graph.is_none_or(|found| set.contains_key(&found.base))
    }

    /// The pieces in which memory of graphs lies that is allocated now.
    pub(crate) fn live_pieces(&self) -> HashSet<Piece> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let bases: Vec<u64> = live.keys().copied().collect();
        drop(live);
        bases.into_iter().flat_map(pieces::of).collect()
    }

    /// Keeps memory for a launch of a graph in a stream, which needs pieces.
    pub(crate) fn reserve_for_graphs(&self, needed: &HashSet<Piece>, stream: u64) {
        let held = self.live_pieces().difference(needed).count();
        let mut graphs = lock(&self.graphs);
        let running = graphs.running_beside(Some(stream));
        let bytes = (running + held as u64 + needed.len() as u64) * PIECE;
        let now = graphs.bytes[0].max(bytes);
        graphs.bytes = graphs.bytes.map(|most| most.max(now));
    }

    /// Says by what a launch in a stream is over, and how many pieces it needs until then.
    pub(crate) fn graph_runs(&self, stream: u64, last: &Arc<Op>, pieces: u64) {
        let mut graphs = lock(&self.graphs);
        graphs.running_beside(None);
        match graphs.running.iter_mut().find(|(other, ..)| *other == stream) {
            Some((_, op, most)) => (*op, *most) = (last.clone(), pieces.max(*most)),
            None => graphs.running.push((stream, last.clone(), pieces)),
        }
    }

    /// Gives back what is kept for graphs and not in use.
    pub fn trim_graphs(&self) {
        let held = self.live_pieces().len() as u64;
        let mut graphs = lock(&self.graphs);
        let needed = (held + graphs.running_beside(None)) * PIECE;
        graphs.bytes[0] = graphs.bytes[0].min(needed);
    }

    /// Bytes that are kept for graphs, most that were in use, most that were kept.
    pub fn graphs(&self) -> [u64; 3] {
        lock(&self.graphs).bytes
    }

    /// Sets the mark of use, or of what is kept, to what it is now.
    pub fn reset_graph_mark(&self, of_use: bool) {
        let mut graphs = lock(&self.graphs);
        graphs.bytes[if of_use { 1 } else { 2 }] = graphs.bytes[0];
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
        self.forget_registered(base);
        table.remove(&base)
    }

    /// Takes out all allocations of a context.
    pub fn remove_context(&self, context: u64) -> Vec<Allocation> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<Allocation> = table.values().filter(|a| a.context == context).copied().collect();
        for allocation in &gone {
            self.forget_registered(allocation.base);
            table.remove(&allocation.base);
        }
        gone
    }
}
