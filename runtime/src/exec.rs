//! Executable copies of graphs.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::area::{Area, Place};
use crate::condition::Condition;
use crate::counted::Held;
use crate::engine::Op;
use crate::graph::{ordered, set_operation};
use crate::operation::{Graph, Node, Operation};
use crate::pieces::{self, Piece};
use crate::tree::Device;
use crate::{fresh_id, lock};

/// A graph that can be launched.
#[derive(Debug)]
pub struct ExecGraph {
    /// Its number.
    pub id: u64,
    /// The flags it was made with: 1 frees what an earlier launch left.
    pub flags: u64,
    /// Nodes in an order in which each comes after what it waits for.
    pub(crate) nodes: Mutex<Vec<Node>>,
    /// The conditions of its nodes, and of the graphs in them.
    pub(crate) conditions: Mutex<Vec<Arc<Condition>>>,
    /// What it keeps alive, until its last launch is over.
    pub(crate) held: Mutex<Arc<Held>>,
    /// The last launch, which the next one waits for.
    pub(crate) last: Mutex<Option<Arc<Op>>>,
    /// What kernels that may launch it know it by.
    pub(crate) handle: OnceLock<u64>,
    /// A kernel launched it, and it has not begun.
    pub(crate) is_asked_for: AtomicBool,
    /// Lasts as long as it does, for the graph that it is a copy of.
    pub(crate) life: Arc<()>,
}

/// Whether a second launch frees what the first one left.
const AUTO_FREE: u64 = 1;
/// Whether kernels may launch it.
pub(crate) const DEVICE_LAUNCH: u64 = 4;

/// Whether the graphs of conditional nodes have only such nodes as they may have.
fn bodies_are_possible(nodes: &[Node]) -> bool {
    fn may_be_there(graph: &Graph) -> bool {
        lock(&graph.nodes).iter().all(|node| {
            let is_pageable = |area: &Area| !matches!(area.place, Place::Device(_));
            let simple = match &node.operation {
                Operation::Copy(copy) => !is_pageable(&copy.from) && !is_pageable(&copy.to),
                operation => {
                    matches!(operation, Operation::Kernel(_) | Operation::Fill(_) | Operation::Empty)
                }
            };
            let graphs = node.operation.children();
            simple || !graphs.is_empty() && graphs.iter().all(|graph| may_be_there(graph))
        })
    }
    nodes.iter().all(|node| match &node.operation {
        Operation::Conditional(conditional) => conditional.bodies.iter().all(|body| may_be_there(body)),
        Operation::Child(child) => bodies_are_possible(&lock(&child.nodes)),
        _ => true,
    })
}

/// Whether a node is such as a graph may have that kernels launch (CUDA programming guide, "Device graph launch").
fn may_be_launched_by_kernels(node: &Node) -> bool {
    match &node.operation {
        // They launch graphs, and ask nothing else of the device runtime.
        Operation::Kernel(call) => !call.launches().uses_runtime,
        Operation::Copy(_) | Operation::Fill(_) => true,
        Operation::Child(child) => {
            let nodes = lock(&child.nodes);
            !nodes.is_empty() && nodes.iter().all(may_be_launched_by_kernels)
        }
        _ => false,
    }
}

/// Why a graph cannot be made executable, in the numbers of `CUgraphInstantiateResult`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Impossible {
    /// Something else.
    Other = 1,
    /// A cycle.
    Structure = 2,
    /// A node that it may not have.
    Node = 3,
    /// A condition without its node.
    Condition = 5,
}

fn can_be_disabled(operation: &Operation) -> bool {
    matches!(operation, Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_))
}

impl ExecGraph {
    /// An executable copy of a graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has a cycle, `NOT_SUPPORTED` if it has a copy already and allocates, has conditions or nodes
    /// that kernels may update.
    pub fn new(graph: &Graph, flags: u64) -> Result<Arc<ExecGraph>> {
        if graph.is_moved() {
            return Err(Status::NOT_SUPPORTED);
        }
        if !graph.has_all_conditional_nodes() || !bodies_are_possible(&lock(&graph.nodes)) {
            return Err(Status::INVALID_VALUE);
        }
        let nodes = graph.frozen();
        let launchable = || !nodes.is_empty() && nodes.iter().all(may_be_launched_by_kernels);
        if flags & DEVICE_LAUNCH != 0 && (flags & AUTO_FREE != 0 || !launchable()) {
            return Err(Status::INVALID_VALUE);
        }
        // Memory has one address, a condition one value, and a node that kernels update one state.
        let alone = graph.has_memory() || graph.has_conditions() || graph.is_updatable();
        let mut instance = lock(&graph.instance);
        if alone && instance.strong_count() > 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        lock(&graph.instantiated).extend(graph.places());
        let nodes = ordered(&nodes)?;
        describe(&nodes);
        let conditions = Mutex::new(lock(&graph.conditions).clone());
        let (nodes, held) = (Mutex::new(nodes), Mutex::new(Arc::new(lock(&graph.held).clone())));
        let exec = Arc::new(ExecGraph {
            id: fresh_id(),
            flags,
            nodes,
            conditions,
            held,
            last: Mutex::default(),
            handle: OnceLock::new(),
            is_asked_for: AtomicBool::new(false),
            life: Arc::default(),
        });
        if alone {
            *instance = Arc::downgrade(&exec.life);
        }
        Ok(exec)
    }

    /// Why [`ExecGraph::new`] refuses a graph, and for which node.
    pub fn why_not(graph: &Graph, flags: u64) -> (Impossible, Option<u64>) {
        let nodes = graph.nodes();
        let unfit = nodes.iter().find(|node| !may_be_launched_by_kernels(node));
        match unfit {
            _ if ordered(&nodes).is_err() => (Impossible::Structure, None),
            _ if !graph.has_all_conditional_nodes() => (Impossible::Condition, None),
            Some(node) if flags & DEVICE_LAUNCH != 0 => (Impossible::Node, Some(node.id)),
            _ => (Impossible::Other, None),
        }
    }

    /// The conditions of its nodes, and of the graphs in them.
    pub(crate) fn conditions(&self) -> Vec<Arc<Condition>> {
        lock(&self.conditions).clone()
    }

    /// Before a launch in a stream: what it allocates and does not free counts as allocated from now on. Returns how many
    /// pieces of memory it needs only as long as it runs.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an earlier launch left it allocated.
    pub(crate) fn take_memory(&self, device: &Device, stream: u64) -> Result<u64> {
        let mut used = BTreeMap::new();
        memory_of(&lock(&self.nodes), &mut used);
        for (&base, uses) in used.iter().filter(|(_, uses)| uses.allocations > 0) {
            if self.flags & AUTO_FREE != 0 && device.memory.set_freed(base) {
                device.drain();
                device.simulator.free(base)?;
            }
            if device.memory.is_live(base) {
                return Err(Status::INVALID_VALUE);
            }
            if uses.allocations > uses.frees {
                device.memory.set_live(base, uses.bytes);
            }
        }
        // What an earlier graph or the stream allocated and this one frees.
        for (&base, _) in used.iter().filter(|(_, uses)| uses.allocations == 0) {
            device.memory.set_freed(base);
        }
        let taken = used.iter().filter(|(_, uses)| uses.allocations > 0);
        let needed: HashSet<Piece> = taken.flat_map(|(&base, _)| pieces::of(base)).collect();
        if needed.is_empty() {
            return Ok(0);
        }
        device.memory.reserve_for_graphs(&needed, stream);
        Ok(needed.difference(&device.memory.live_pieces()).count() as u64)
    }

    /// What the launches that it is in keep alive.
    pub(crate) fn held(&self) -> Option<Arc<Held>> {
        let held = lock(&self.held).clone();
        let children = lock(&self.nodes).iter().any(|node| !node.operation.children().is_empty());
        (children || !held.is_empty()).then_some(held)
    }

    /// A copy of its nodes.
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.nodes).clone()
    }

    /// Its nodes for a launch, which later changes do not reach.
    pub(crate) fn nodes_of_launch(&self) -> Vec<Node> {
        let mut nodes = self.nodes();
        // Those of other graphs are submitted with the launch.
        let later =
            |node: &&mut Node| matches!(node.operation, Operation::Conditional(_) | Operation::Child(_));
        nodes.iter_mut().filter(later).for_each(Node::freeze);
        nodes
    }

    /// Changes what a node does, by the number it has in the graph, or in a graph of its nodes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node or it is of another kind.
    pub fn set(&self, id: u64, operation: Operation) -> Result {
        let mut operation = Some(operation);
        let old = with_node(&mut lock(&self.nodes), id, &mut |node| {
            let old = operation.take().map(|operation| set_operation(Some(node), operation));
            describe([&*node]);
            old
        });
        old.flatten().unwrap_or(Err(Status::INVALID_VALUE)).map(drop)
    }

    /// One node, by the same number.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node.
    pub fn node(&self, id: u64) -> Result<Node> {
        with_node(&mut lock(&self.nodes), id, &mut |node| node.clone()).ok_or(Status::INVALID_VALUE)
    }

    /// Enables or disables a node: kernels, copies and fills.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node or it cannot be disabled.
    pub fn enable(&self, id: u64, enabled: bool) -> Result {
        let set = with_node(&mut lock(&self.nodes), id, &mut |node| {
            let possible = can_be_disabled(&node.operation);
            if possible {
                node.enabled = enabled;
                if let Some(updatable) = node.operation.updatable() {
                    updatable.enable(enabled);
                }
            }
            possible
        });
        set.filter(|&possible| possible).map(|_| ()).ok_or(Status::INVALID_VALUE)
    }

    /// Whether a node is enabled.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node or it cannot be disabled.
    pub fn is_enabled(&self, id: u64) -> Result<bool> {
        let node = self.node(id)?;
        if can_be_disabled(&node.operation) { Ok(node.enabled) } else { Err(Status::INVALID_VALUE) }
    }
}

/// Does something with the node of a number, which may be in a graph of a node; none if there is no such node.
fn with_node<T>(nodes: &mut [Node], id: u64, action: &mut dyn FnMut(&mut Node) -> T) -> Option<T> {
    if let Some(node) = nodes.iter_mut().find(|node| node.id == id) {
        return Some(action(node));
    }
    let mut graphs = nodes.iter().flat_map(|node| node.operation.children());
    graphs.find_map(|graph| with_node(&mut lock(&graph.nodes), id, action))
}

/// Makes nodes what the program describes, whatever kernels have made of them.
fn describe<'a>(nodes: impl IntoIterator<Item = &'a Node>) {
    for node in nodes {
        if let Operation::Kernel(call) = &node.operation {
            call.describe(node.enabled);
        }
        node.operation.children().iter().for_each(|child| describe(lock(&child.nodes).iter()));
    }
}

/// What a graph does with memory at one address.
#[derive(Default)]
struct Uses {
    allocations: u32,
    frees: u32,
    /// Bytes of the last allocation.
    bytes: u64,
}

/// What nodes, which are in order, and the graphs in them allocate and free, by address.
fn memory_of(nodes: &[Node], used: &mut BTreeMap<u64, Uses>) {
    for node in nodes {
        match &node.operation {
            Operation::Allocate(memory) => {
                let uses = used.entry(memory.base()).or_default();
                (uses.allocations, uses.bytes) = (uses.allocations + 1, memory.bytes());
            }
            Operation::Free(base) => used.entry(*base).or_default().frees += 1,
            operation => {
                operation.children().iter().for_each(|child| memory_of(&lock(&child.nodes), used));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::Edge;

    #[test]
    fn cycles_foreign_nodes_and_graphs_in_themselves_are_refused() {
        let graph = Graph::new();
        let a = graph.add(Operation::Empty, &[]).unwrap();
        let b = graph.add(Operation::Empty, &[Edge::full(a)]).unwrap();
        let edge = |from, to| (Edge::full(from), to);
        assert_eq!(graph.add(Operation::Empty, &[Edge::full(999_999)]), Err(Status::INVALID_VALUE));
        assert_eq!(graph.add(Operation::Child(graph.clone()), &[]), Err(Status::INVALID_VALUE));
        assert_eq!(graph.edges(&[edge(a, b)], true), Err(Status::INVALID_VALUE));
        assert!(ExecGraph::new(&graph, 0).is_ok());
        graph.edges(&[edge(b, a)], true).unwrap();
        assert_eq!(ExecGraph::new(&graph, 0).unwrap_err(), Status::INVALID_VALUE);
        graph.edges(&[edge(b, a)], false).unwrap();
        let (a, b) = ([Edge::full(a)], [Edge::full(b)]);
        assert!(graph.joins(&a, &b) && !graph.joins(&b, &a));
    }

    #[test]
    fn an_update_needs_the_same_shape() {
        let graph = Graph::new();
        let a = graph.add(Operation::Empty, &[]).unwrap();
        graph.add(Operation::Empty, &[Edge::full(a)]).unwrap();
        let exec = ExecGraph::new(&graph, 0).unwrap();
        assert!(exec.update(&graph.duplicate(), &|_| 0).is_ok());
        graph.add(Operation::Empty, &[]).unwrap();
        let failure = exec.update(&graph, &|_| 0).unwrap_err();
        assert_eq!((failure.status, failure.node), (Status::GRAPH_EXEC_UPDATE_FAILURE, None));
    }
}
