//! Events and candidate executions.

use crate::program::{LocId, MemOrder, Proxy, Region, Scope};

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The hypothetical write before all threads (PTX ISA 8.2.6).
    Init,
    /// A read; also the read half of an atomic.
    Read,
    /// A write; also the write half of an atomic.
    Write,
    /// A memory fence.
    Fence,
    /// `fence.proxy.alias`.
    AliasFence,
    /// Another proxy fence; the event's proxy is the one it fences. Those of one direction release or acquire.
    ProxyFence,
    /// A barrier operation that waits (`sync`, `red`, `barrier.cluster.wait`).
    BarrierWait,
    /// A barrier operation that only arrives.
    BarrierArrive,
}

/// The bytes that an event touches.
///
/// Accesses to a location that overlap partially are split at the bytes where any of them begins or ends, so
/// that two events of one location either touch the same bytes or none in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Physical location.
    pub physical: LocId,
    /// Virtual address.
    pub address: LocId,
    /// First byte within the location.
    pub offset: u32,
    /// Whether it is in local memory, which a source language has besides global memory.
    pub local: bool,
    /// First byte and number of bytes of the whole access that this event is a part of. Morally strong
    /// operations need complete overlap, which is equality of these.
    pub access: (u32, u32),
}

/// One event of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// Index of the thread; initial writes have none.
    pub thread: Option<usize>,
    /// Position in program order: two for each instruction, the second that of writes of atomics. Elements of a
    /// vector access share one.
    pub position: u32,
    /// Index of the instruction in the thread's code.
    pub instr: usize,
    /// Bytes touched by a memory operation.
    pub cell: Option<Cell>,
    /// Proxy of the access or of the fence.
    pub proxy: Proxy,
    /// Weak, relaxed, acquire or release of a memory operation (halves of an atomic have their share); the
    /// order of a fence.
    pub order: MemOrder,
    /// Scope of a strong operation, of a fence, and `cta` or `cluster` of a barrier.
    pub scope: Option<Scope>,
    /// What a fence or a barrier orders.
    pub region: Region,
    /// Half of a reduction (`red`).
    pub reduction: bool,
    /// Made by `barrier.cluster.arrive.relaxed`: waits for it but orders nothing.
    pub relaxed_arrive: bool,
    /// Part of the iteration in which its thread spins for ever.
    pub spinning: bool,
    /// Value read or written.
    pub value: i64,
}

impl Event {
    /// Whether it is a read or a write (initial writes included).
    pub fn is_memory(&self) -> bool {
        matches!(self.kind, Kind::Init | Kind::Read | Kind::Write)
    }

    /// Whether it writes memory.
    pub fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Init | Kind::Write)
    }

    /// Whether it is strong (PTX ISA 8.4): a memory fence, or a memory operation that is not weak; also a proxy
    /// fence that releases or acquires.
    pub fn is_strong(&self) -> bool {
        match self.kind {
            Kind::Read | Kind::Write | Kind::ProxyFence => self.order != MemOrder::Weak,
            Kind::Fence => true,
            _ => false,
        }
    }
}

/// A pair of event indices.
pub type Edge = (usize, usize);

/// A candidate execution: events with what the search chose for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Execution {
    /// Events: initial writes, then the threads in turn, each in program order.
    pub events: Vec<Event>,
    /// Narrowest scope that holds two threads, by thread indices.
    pub common_scope: Vec<Vec<Scope>>,
    /// Read half to write half of one atomic.
    pub rmw: Vec<Edge>,
    /// Address dependencies.
    pub addr: Vec<Edge>,
    /// Data dependencies.
    pub data: Vec<Edge>,
    /// Control dependencies.
    pub ctrl: Vec<Edge>,
    /// Reads-from: write to read.
    pub rf: Vec<Edge>,
    /// Chosen orientations of pairs of writes.
    pub co: Vec<Edge>,
    /// Chosen orientations of pairs of `fence.sc`.
    pub sc: Vec<Edge>,
    /// Synchronisation by barriers: arrival to wait.
    pub bar: Vec<Edge>,
    /// Barrier operation to barrier operation that can only happen later; it must stay acyclic.
    pub bar_order: Vec<Edge>,
    /// The write whose value each observed cell holds in the end.
    pub finals: Vec<usize>,
    /// The pair of conflicting accesses that is asked to be unordered, when races are looked for.
    pub race: Vec<Edge>,
}

impl Execution {
    /// Whether each of two events has a scope that includes the other's thread.
    pub fn scopes_include_each_other(&self, a: usize, b: usize) -> bool {
        let (ea, eb) = (&self.events[a], &self.events[b]);
        match (ea.thread, eb.thread, ea.scope, eb.scope) {
            (Some(ta), Some(tb), Some(sa), Some(sb)) => {
                let common = self.common_scope[ta][tb];
                common <= sa && common <= sb
            }
            _ => false,
        }
    }

    /// Whether two events are in one CTA.
    pub fn same_cta(&self, a: usize, b: usize) -> bool {
        self.within(Scope::Cta, a, b)
    }

    /// Whether the threads of two events have a scope of that width in common.
    pub fn within(&self, scope: Scope, a: usize, b: usize) -> bool {
        match (self.events[a].thread, self.events[b].thread) {
            (Some(ta), Some(tb)) => self.common_scope[ta][tb] <= scope,
            _ => false,
        }
    }

    /// Whether `a` precedes `b` in program order. The scalars of a vector have no order.
    pub fn program_order(&self, a: usize, b: usize) -> bool {
        let (ea, eb) = (&self.events[a], &self.events[b]);
        let scalar = |e: &Event| e.cell.map(|c| (c.physical, c.access));
        ea.thread.is_some()
            && ea.thread == eb.thread
            && ea.position < eb.position
            && (ea.position / 2 != eb.position / 2 || scalar(ea) == scalar(eb))
    }

    /// Whether two memory operations touch the same physical bytes.
    pub fn same_location(&self, a: usize, b: usize) -> bool {
        match (&self.events[a].cell, &self.events[b].cell) {
            (Some(ca), Some(cb)) => ca.physical == cb.physical && ca.offset == cb.offset,
            _ => false,
        }
    }

    /// Whether two memory operations touch the same bytes through the same virtual address.
    pub fn same_address(&self, a: usize, b: usize) -> bool {
        match (&self.events[a].cell, &self.events[b].cell) {
            (Some(ca), Some(cb)) => ca.address == cb.address && ca.offset == cb.offset,
            _ => false,
        }
    }

    /// Whether two memory operations at one address belong to accesses of the same bytes.
    pub fn complete_overlap(&self, a: usize, b: usize) -> bool {
        match (&self.events[a].cell, &self.events[b].cell) {
            (Some(ca), Some(cb)) => self.same_address(a, b) && ca.access == cb.access,
            _ => false,
        }
    }
}
