//! A program unrolled: for each thread the tree of its paths, with every event that can happen on them.
//!
//! Values stay symbolic (they depend on what reads return), so a path forks only where control does: at
//! branches, at `cas` (success or failure), at addresses held by registers, and at barriers (open or not).
//! Each event lies on exactly one path prefix, which makes its dependencies and its predecessors in program
//! order fixed.
//!
//! # Loops
//! A loop is unrolled `bound` times, unless an iteration comes back to its head with nothing changed: no
//! write and no barrier on the way, and the same values in all registers that are still needed. Such an
//! iteration could be repeated or left out at will. Leaving it out loses no outcome, since every axiom only
//! forbids and an execution with fewer reads and fences violates fewer; so the path ends there, as a
//! [`Leaf::Spin`], which only matters to termination. An atomic that writes the value it read counts as no
//! write here if all other threads access the location morally strongly: then nothing can come between what it
//! reads and what it writes, and whoever reads its write could as well read what it read. (In a loop the path
//! forks by whether an exchange, and, or, min or max changes anything; adding zero never does.) Where only the
//! ends of threads matter, registers that decide nothing, such as a count of attempts, may change.

mod access;
mod operands;
mod unroll;

pub(crate) use operands::deciding_registers;

use crate::event::{Cell, Event, Kind};
use crate::program::{
    Base, BinOp, Cmp, LocId, MemOrder, Observable, Op, Operand, Program, Proxy, Region, Scope, address_value,
};
use rustc_hash::FxHashMap;

/// Index of a symbolic value.
pub type ValueId = usize;

/// A symbolic value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value {
    /// A number.
    Const(i64),
    /// What a read event returns.
    Read(usize),
    /// An operation on two values.
    Bin(BinOp, ValueId, ValueId),
}

/// A comparison of two symbolic values, as it must turn out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compare {
    /// The comparison.
    pub cmp: Cmp,
    /// Left value.
    pub a: ValueId,
    /// Right value.
    pub b: ValueId,
    /// Whether it must hold or fail.
    pub holds: bool,
}

/// When a path continues into a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// Always.
    True,
    /// When all comparisons turn out as they must.
    Compare(Vec<Compare>),
    /// When the barrier that this event waits for opens.
    Opens(usize),
    /// When it never does.
    Blocked(usize),
}

/// How a path ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// The thread ends with these register values.
    Done(Vec<ValueId>),
    /// The thread may repeat an iteration for ever.
    Spin {
        /// Reads of the iteration, which return what they return here.
        reads: Vec<usize>,
        /// Writes of the iteration that write what was there; they do not happen on this path.
        dropped: Vec<usize>,
    },
    /// The thread waits at a barrier for ever.
    Blocked,
    /// The loop bound is reached.
    Cut,
    /// An assumption failed; the execution does not count.
    Discard,
    /// A register used as an address does not hold one.
    Fault,
}

/// A straight stretch of a path.
#[derive(Debug, Clone)]
pub struct Node {
    /// The stretch before it.
    pub parent: Option<usize>,
    /// When it is entered from there.
    pub guard: Guard,
    /// Its events in program order, as indices into [`Skeleton::events`].
    pub events: Vec<usize>,
    /// Stretches after it; their guards exclude each other and cover all cases.
    pub children: Vec<usize>,
    /// How the path ends, for nodes without children.
    pub leaf: Option<Leaf>,
}

/// What a barrier event takes part in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierUse {
    /// A barrier of the cluster rather than of the CTA.
    pub cluster: bool,
    /// The dialect's label.
    pub instance: i64,
    /// The barrier's number, where the dialect gives it.
    pub id: Option<ValueId>,
    /// How many arrivals open it, where the program says so.
    pub count: Option<ValueId>,
    /// Waits for the barrier to open.
    pub waits: bool,
    /// Arrives at it.
    pub arrives: bool,
    /// How often the same instruction (or, of a cluster barrier, any arrival or wait) precedes it on the path.
    pub occurrence: u32,
}

/// An event that can happen.
#[derive(Debug, Clone)]
pub struct Template {
    /// The event; its value is filled in once known.
    pub event: Event,
    /// Thread and node; initial writes have none.
    pub node: Option<(usize, usize)>,
    /// Value read or written.
    pub value: ValueId,
    /// The read half of the same atomic, for write halves.
    pub rmw_read: Option<usize>,
    /// Reads that the address depends on.
    pub addr: Vec<usize>,
    /// Reads that the value depends on.
    pub data: Vec<usize>,
    /// Reads that decided branches before the event.
    pub ctrl: Vec<usize>,
    /// Barrier events only.
    pub barrier: Option<BarrierUse>,
}

/// A unit of memory that accesses touch as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellInfo {
    /// Physical location.
    pub physical: LocId,
    /// First byte.
    pub offset: u32,
    /// Number of bytes.
    pub bytes: u32,
    /// Its initial write, an index into [`Skeleton::events`].
    pub init: usize,
}

/// A thread's paths; node 0 is the root.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// All nodes, parents before children.
    pub nodes: Vec<Node>,
}

/// How to unroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unrolling {
    /// How often a loop body may be entered.
    pub bound: u32,
    /// How often an iteration that changes nothing may be repeated before the path ends as a spin.
    pub idle_iterations: u32,
    /// Whether a `cas` that fails writes the old value back.
    pub failed_cas_writes: bool,
    /// Whether final values are asked for, or only how threads end: then what decides nothing does not tell
    /// iterations apart.
    pub outcomes: bool,
    /// Most events in all.
    pub max_events: usize,
    /// Most nodes in all.
    pub max_nodes: usize,
}

/// A program unrolled.
#[derive(Debug, Clone, Default)]
pub struct Skeleton {
    /// Symbolic values; operands before uses.
    pub values: Vec<Value>,
    /// Every event that can happen; initial writes first, then thread by thread.
    pub events: Vec<Template>,
    /// Paths of each thread.
    pub trees: Vec<Tree>,
    /// Memory.
    pub cells: Vec<CellInfo>,
    /// Narrowest scope that holds two threads.
    pub common_scope: Vec<Vec<Scope>>,
    /// Whether some accesses overlap partially.
    pub mixed_size: bool,
    /// Size in bytes of the scalars of each physical location, for `x[i]`.
    pub element_bytes: Vec<u32>,
    /// Writes that do not happen on the paths to these leaves although they lie on them.
    pub droppers: FxHashMap<usize, Vec<usize>>,
    index: FxHashMap<Value, ValueId>,
}

/// The program is too large to unroll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge(pub String);

impl Skeleton {
    /// Unrolls a program. Registers in `observed` are needed at the end.
    ///
    /// # Errors
    /// When there are more events or nodes than the limits allow.
    pub fn new(program: &Program, observed: &[Observable], unrolling: Unrolling) -> Result<Self, TooLarge> {
        let mut skeleton = Skeleton {
            common_scope: program
                .threads
                .iter()
                .map(|a| {
                    program.threads.iter().map(|b| a.placement.narrowest_common_scope(&b.placement)).collect()
                })
                .collect(),
            ..Skeleton::default()
        };
        skeleton.memory(program);
        for thread in 0..program.threads.len() {
            let tree = unroll::Unroller::new(&mut skeleton, program, thread, observed, unrolling).run()?;
            for (leaf, node) in tree.nodes.iter().enumerate() {
                if let Some(Leaf::Spin { dropped, .. }) = &node.leaf {
                    for &write in dropped {
                        skeleton.droppers.entry(write).or_default().push(leaf);
                    }
                }
            }
            skeleton.trees.push(tree);
        }
        Ok(skeleton)
    }

    /// The symbolic value, made if it is new. Operations on constants are done at once.
    pub fn value(&mut self, value: Value) -> ValueId {
        let value = match value {
            Value::Bin(op, a, b) => match (self.values[a], self.values[b]) {
                (Value::Const(a), Value::Const(b)) => Value::Const(op.eval(a, b)),
                (_, right) if op == BinOp::Second => right,
                _ => value,
            },
            _ => value,
        };
        if let Some(&known) = self.index.get(&value) {
            return known;
        }
        self.values.push(value);
        self.index.insert(value, self.values.len() - 1);
        self.values.len() - 1
    }

    fn constant(&mut self, value: i64) -> ValueId {
        self.value(Value::Const(value))
    }

    fn operand_constant(operand: Operand) -> i64 {
        match operand {
            Operand::Const(c) => c,
            Operand::Address(loc) => address_value(loc),
            Operand::Reg(_) => 0,
        }
    }

    /// Divides memory into cells and makes the initial writes.
    fn memory(&mut self, program: &Program) {
        let ranges = access_ranges(program);
        self.element_bytes = vec![8; program.locations.len()];
        for (index, location) in program.locations.iter().enumerate() {
            let physical = LocId(index as u16);
            if location.physical != physical {
                continue;
            }
            let explicit: Vec<(u32, u32)> = ranges
                .iter()
                .filter(|(base, ..)| {
                    base.is_none_or(|b| program.locations[usize::from(b.0)].physical == physical)
                })
                .filter_map(|&(_, offset, bytes, count)| bytes.map(|b| (offset, u32::from(b), count)))
                .flat_map(|(offset, bytes, count)| (0..count).map(move |i| (offset + i * bytes, bytes)))
                .collect();
            let size = explicit.iter().map(|&(o, b)| o + b).max().unwrap_or(8);
            let element = explicit.iter().map(|&(_, b)| b).max().unwrap_or(8);
            self.element_bytes[index] = element;
            let mut cuts: Vec<u32> =
                explicit.iter().flat_map(|&(o, b)| [o, o + b]).chain([0, size]).collect();
            if !explicit.is_empty() && size > 8 {
                cuts.push(8);
            }
            cuts.sort_unstable();
            cuts.dedup();
            let initial = Self::operand_constant(location.initial);
            for pair in cuts.windows(2) {
                let (offset, bytes) = (pair[0], pair[1] - pair[0]);
                let value = match offset {
                    0 if bytes >= 8 => initial,
                    0..8 => BinOp::Extract.eval(initial, i64::from(offset | (bytes << 4))),
                    _ => 0,
                };
                let value = self.constant(value);
                let access = (offset, bytes);
                let cell =
                    Cell { physical, address: location.address, offset, local: location.local, access };
                self.cells.push(CellInfo { physical, offset, bytes, init: self.events.len() });
                self.events.push(Template {
                    event: Event { cell: Some(cell), ..blank(Kind::Init, None, 0, 0) },
                    node: None,
                    value,
                    rmw_read: None,
                    addr: Vec::new(),
                    data: Vec::new(),
                    ctrl: Vec::new(),
                    barrier: None,
                });
            }
        }
    }

    /// Bytes of a scalar access: the offset and length in its physical location.
    fn scalar_range(&self, physical: LocId, offset: u32, bytes: Option<u8>) -> (u32, u32) {
        let size = self.cells.iter().filter(|c| c.physical == physical).map(|c| c.offset + c.bytes).max();
        let whole = size.unwrap_or(8).saturating_sub(offset).clamp(1, 8);
        (offset, bytes.map_or(whole, u32::from))
    }

    /// The cells that a range of a physical location covers.
    pub fn cells_in(&self, physical: LocId, offset: u32, bytes: u32) -> Vec<usize> {
        (0..self.cells.len())
            .filter(|&i| {
                let c = &self.cells[i];
                c.physical == physical && c.offset >= offset && c.offset < offset + bytes
            })
            .collect()
    }

    /// The cells of a part of the final memory, with their distance in bytes from its beginning.
    pub fn observed_cells(&self, program: &Program, loc: LocId, index: u32) -> Vec<(usize, u32)> {
        let Some(location) = program.locations.get(usize::from(loc.0)) else { return Vec::new() };
        let physical = location.physical;
        let element = self.element_bytes[usize::from(physical.0)];
        let start = index.saturating_mul(element);
        self.cells_in(physical, start, element)
            .into_iter()
            .map(|c| (c, self.cells[c].offset - start))
            .collect()
    }

    /// Whether a node lies on the path to another of the same thread, or is it.
    pub fn on_path(&self, thread: usize, ancestor: usize, node: usize) -> bool {
        let nodes = &self.trees[thread].nodes;
        let mut at = Some(node);
        while let Some(n) = at {
            if n == ancestor {
                return true;
            }
            if n < ancestor {
                return false;
            }
            at = nodes[n].parent;
        }
        false
    }

    /// Whether two events can happen in one execution as far as control flow goes.
    pub fn compatible(&self, a: usize, b: usize) -> bool {
        match (self.events[a].node, self.events[b].node) {
            (Some((ta, na)), Some((tb, nb))) if ta == tb => {
                self.on_path(ta, na, nb) || self.on_path(ta, nb, na)
            }
            _ => true,
        }
    }

    /// The index of the cell that a memory event touches.
    pub fn cell_of(&self, event: usize) -> Option<usize> {
        let cell = self.events[event].event.cell?;
        self.cells.iter().position(|c| c.physical == cell.physical && c.offset == cell.offset)
    }
}

/// Every access of a program: location (`None` for an address in a register), offset, bytes, elements.
fn access_ranges(program: &Program) -> Vec<(Option<LocId>, u32, Option<u8>, u32)> {
    let mut out = Vec::new();
    for instr in program.threads.iter().flat_map(|t| &t.code) {
        let (access, count) = match &instr.op {
            Op::Load { access, dst } => (access, dst.len()),
            Op::Store { access, src } => (access, src.len()),
            Op::Rmw { access, ops, .. } => (access, ops.len()),
            Op::MbarrierTest { access, .. } => (access, 1),
            _ => continue,
        };
        let base = match access.base {
            Base::Loc(loc) => Some(loc),
            Base::Reg(_) => None,
        };
        out.push((base, access.offset, access.bytes, count as u32));
    }
    out
}

/// An event without particulars.
fn blank(kind: Kind, thread: Option<usize>, position: u32, instr: usize) -> Event {
    Event {
        kind,
        thread,
        position,
        instr,
        cell: None,
        proxy: Proxy::Generic,
        order: MemOrder::Weak,
        scope: None,
        region: Region::All,
        reduction: false,
        relaxed_arrive: false,
        spinning: false,
        value: 0,
    }
}
