//! Graphs: operations with dependencies, made by hand or by capture, and their executable copies.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::condition::Condition;
use crate::device::Device;
use crate::engine::Op;
use crate::graph_run::make_launchable;
use crate::operation::{Operation, PlacedMemory};
use crate::{fresh_id, lock};

/// An edge into a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The number of the node that it comes from.
    pub from: u64,
    /// What it waits for.
    pub kind: EdgeKind,
}

/// What an edge waits for, as `CUgraphEdgeData` says it. All of the node before it is one of the ways in which a
/// device may take every kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct EdgeKind {
    /// Where it leaves the node: 0 is its end; of a kernel 1 is the point that it triggers, 2 its launch.
    pub port: u8,
    /// Whether the kernel behind it waits for the one before by itself.
    pub programmatic: bool,
}

impl Edge {
    /// An edge that waits for the end of a node.
    pub fn full(from: u64) -> Edge {
        Edge { from, kind: EdgeKind::default() }
    }
}

/// Something of the program's with counted references.
pub trait Counted: Send + Sync + std::fmt::Debug {
    /// Its number.
    fn id(&self) -> u64;

    /// Adds references.
    fn retain(&self, count: i64);

    /// Takes references away. Functions of the program may run.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there are not so many.
    fn release(&self, count: i64) -> Result;
}

/// References that a graph, a copy of it or an executable graph holds; a copy holds as many, and all are given back
/// when it goes.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<(Arc<dyn Counted>, i64)>);

impl Held {
    fn add(&mut self, object: &Arc<dyn Counted>, count: i64) {
        match self.0.iter_mut().find(|(other, _)| other.id() == object.id()) {
            Some((_, held)) => *held += count,
            None => self.0.push((object.clone(), count)),
        }
    }

    fn take(&mut self, id: u64, count: i64) -> Result {
        let at = self.0.iter().position(|(object, held)| object.id() == id && *held >= count);
        let at = at.ok_or(Status::INVALID_VALUE)?;
        self.0[at].1 -= count;
        if self.0[at].1 == 0 {
            self.0.remove(at);
        }
        Ok(())
    }
}

impl Clone for Held {
    fn clone(&self) -> Held {
        self.0.iter().for_each(|(object, count)| object.retain(*count));
        Held(self.0.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (object, count) in &self.0 {
            let _ = object.release(*count);
        }
    }
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number, unique in the process.
    pub id: u64,
    /// What it does.
    pub operation: Operation,
    /// Edges from the nodes that it waits for.
    pub after: Vec<Edge>,
    /// Disabled nodes of an executable graph do nothing.
    pub enabled: bool,
}

/// A graph.
#[derive(Debug)]
pub struct Graph {
    /// Its number.
    pub id: u64,
    nodes: Mutex<Vec<Node>>,
    /// What it keeps alive.
    held: Mutex<Held>,
    /// Its executable copy, if it allocates: there may be one at a time.
    instance: Mutex<Weak<ExecGraph>>,
    /// Whether a node of another graph took it over.
    moved: AtomicBool,
    /// Conditions that were made for its nodes.
    conditions: Mutex<Vec<Arc<Condition>>>,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Arc<Graph> {
        Graph::of(Vec::new(), Held::default())
    }

    fn of(nodes: Vec<Node>, held: Held) -> Arc<Graph> {
        let (nodes, held) = (Mutex::new(nodes), Mutex::new(held));
        Arc::new(Graph {
            id: fresh_id(),
            nodes,
            held,
            instance: Mutex::default(),
            moved: AtomicBool::new(false),
            conditions: Mutex::default(),
        })
    }

    /// Keeps a condition that was made for a node of it.
    pub(crate) fn keep(&self, condition: &Arc<Condition>) {
        lock(&self.conditions).push(condition.clone());
    }

    /// Whether each condition that was made for a node, in it and the graphs in it, has its node.
    fn has_all_conditional_nodes(&self) -> bool {
        lock(&self.conditions).iter().all(|condition| condition.is_used.load(SeqCst))
            && self.children().iter().all(|child| child.has_all_conditional_nodes())
    }

    /// Lets it hold references to an object, which are there already.
    pub fn hold(&self, object: &Arc<dyn Counted>, count: i64) {
        lock(&self.held).add(object, count);
    }

    /// Lets it hold fewer references to an object, for the caller to give back.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it does not hold so many.
    pub fn let_go(&self, object: u64, count: i64) -> Result {
        lock(&self.held).take(object, count)
    }

    /// Gives back all references that it and the graphs in it hold.
    pub fn let_all_go(&self) {
        drop(std::mem::take(&mut *lock(&self.held)));
        self.children().iter().for_each(|child| child.let_all_go());
    }

    /// The graphs in its nodes.
    pub fn children(&self) -> Vec<Arc<Graph>> {
        let nodes = lock(&self.nodes);
        nodes.iter().flat_map(|node| node.operation.children().iter().cloned()).collect()
    }

    /// Marks it as taken over by a node; false if it was already.
    pub fn take_over(&self) -> bool {
        !self.moved.swap(true, SeqCst)
    }

    /// Whether a node of another graph took it over.
    pub fn is_moved(&self) -> bool {
        self.moved.load(SeqCst)
    }

    /// Adds a node after others; returns its number.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a node is not of this graph or named twice, or a graph would hold itself.
    pub fn add(&self, operation: Operation, after: &[Edge]) -> Result<u64> {
        if operation.children().iter().any(|child| child.holds(self.id)) {
            return Err(Status::INVALID_VALUE);
        }
        let mut nodes = lock(&self.nodes);
        let mut seen = HashSet::new();
        let can_end = |edge: &Edge| {
            let from = nodes.iter().find(|node| node.id == edge.from);
            from.is_some_and(|from| edge.kind.joins(&from.operation, &operation))
        };
        if !after.iter().all(|edge| can_end(edge) && seen.insert(edge.from)) {
            return Err(Status::INVALID_VALUE);
        }
        let id = fresh_id();
        nodes.push(Node { id, operation, after: after.to_vec(), enabled: true });
        Ok(id)
    }

    fn holds(&self, id: u64) -> bool {
        self.id == id
            || self.nodes().iter().any(|node| node.operation.children().iter().any(|child| child.holds(id)))
    }

    /// Whether it or a graph in it allocates or frees.
    pub fn has_memory(&self) -> bool {
        let nodes = lock(&self.nodes);
        nodes.iter().any(|node| match &node.operation {
            Operation::Allocate(_) | Operation::Free(_) => true,
            operation => operation.children().iter().any(|child| child.has_memory()),
        })
    }

    /// Whether it or a graph in it has conditional nodes.
    pub fn has_conditions(&self) -> bool {
        let is_conditional = |node: &Node| matches!(node.operation, Operation::Conditional(_));
        lock(&self.nodes).iter().any(is_conditional)
            || self.children().iter().any(|child| child.has_conditions())
    }

    /// A copy of its nodes, in order of making.
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.nodes).clone()
    }

    /// One node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is not of this graph.
    pub fn node(&self, id: u64) -> Result<Node> {
        lock(&self.nodes).iter().find(|node| node.id == id).cloned().ok_or(Status::INVALID_VALUE)
    }

    /// Changes what a node does.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is not of this graph or of another kind.
    pub fn set(&self, id: u64, operation: Operation) -> Result {
        let old = {
            let mut nodes = lock(&self.nodes);
            set_operation(nodes.iter_mut().find(|node| node.id == id), operation)
        };
        old.map(drop)
    }

    /// Removes a node and its edges; returns the node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is not of this graph, `NOT_SUPPORTED` if the graph allocates.
    pub fn remove(&self, id: u64) -> Result<Node> {
        if self.has_memory() {
            return Err(Status::NOT_SUPPORTED);
        }
        let mut nodes = lock(&self.nodes);
        let at = nodes.iter().position(|node| node.id == id).ok_or(Status::INVALID_VALUE)?;
        let removed = nodes.remove(at);
        if let Operation::Conditional(conditional) = &removed.operation {
            conditional.condition.is_used.store(false, SeqCst);
        }
        for node in nodes.iter_mut() {
            node.after.retain(|edge| edge.from != id);
        }
        Ok(removed)
    }

    /// Adds or removes edges.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a node is not of this graph, an edge is there already or not there, or its kind is not
    /// possible; `NOT_SUPPORTED` for removing from a graph that allocates.
    pub fn edges(&self, edges: &[(Edge, u64)], add: bool) -> Result {
        if !add && self.has_memory() {
            return Err(Status::NOT_SUPPORTED);
        }
        let mut nodes = lock(&self.nodes);
        let mut changed = nodes.clone();
        for &(edge, to) in edges {
            let from = nodes.iter().find(|node| node.id == edge.from).ok_or(Status::INVALID_VALUE)?;
            let node = changed.iter_mut().find(|node| node.id == to).filter(|_| edge.from != to);
            let node = node.ok_or(Status::INVALID_VALUE)?;
            match add {
                true if node.after.iter().all(|other| other.from != edge.from)
                    && edge.kind.joins(&from.operation, &node.operation) =>
                {
                    node.after.push(edge);
                }
                true => return Err(Status::INVALID_VALUE),
                false => {
                    let at = node.after.iter().position(|other| *other == edge);
                    node.after.remove(at.ok_or(Status::INVALID_VALUE)?);
                }
            }
        }
        *nodes = changed;
        Ok(())
    }

    /// A copy with nodes of its own, and how numbers of old nodes map to new ones.
    pub fn duplicate(&self) -> (Arc<Graph>, HashMap<u64, u64>) {
        let mut nodes = self.nodes();
        let map: HashMap<u64, u64> = nodes.iter().map(|node| (node.id, fresh_id())).collect();
        for node in &mut nodes {
            node.id = map[&node.id];
            node.after.retain(|edge| map.contains_key(&edge.from));
            node.after.iter_mut().for_each(|edge| edge.from = map[&edge.from]);
            node.operation = node.operation.with_children(|child| child.duplicate().0);
        }
        (Graph::of(nodes, lock(&self.held).clone()), map)
    }

    /// Its nodes as they are now, with their numbers: later changes of the graphs in it do not reach them.
    fn frozen(&self) -> Vec<Node> {
        let mut nodes = self.nodes();
        for node in &mut nodes {
            node.operation = node.operation.with_children(|child| {
                let held = lock(&child.held).clone();
                Graph::of(child.frozen(), held)
            });
        }
        nodes
    }

    /// Whether all of `open` are among `ends` or come before one of them.
    pub(crate) fn joins(&self, open: &[Edge], ends: &[Edge]) -> bool {
        let nodes = self.nodes();
        let by_id: HashMap<u64, &Node> = nodes.iter().map(|node| (node.id, node)).collect();
        let mut reached: HashSet<u64> = HashSet::new();
        let mut list: Vec<u64> = ends.iter().map(|edge| edge.from).collect();
        while let Some(id) = list.pop() {
            if reached.insert(id) {
                let before = by_id.get(&id).into_iter().flat_map(|node| &node.after);
                list.extend(before.map(|edge| edge.from));
            }
        }
        open.iter().all(|edge| reached.contains(&edge.from))
    }
}

impl EdgeKind {
    /// Whether an edge of this kind may lead from one operation to another: all but full ones join kernels.
    fn joins(self, from: &Operation, to: &Operation) -> bool {
        let kernels = matches!((from, to), (Operation::Kernel(_), Operation::Kernel(_)));
        match (self.port, self.programmatic) {
            (0, false) => true,
            (1, programmatic) => kernels && programmatic,
            (2, _) => kernels,
            _ => false,
        }
    }
}

fn can_be_disabled(operation: &Operation) -> bool {
    matches!(operation, Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_))
}

/// Whether a child graph may take another's place: the same kinds of nodes with the same edges.
fn same_shape(old: &Operation, new: &Operation) -> bool {
    let (old, new) = (old.children(), new.children());
    if old.len() != new.len() {
        return false;
    }
    let kind = |graph: &Graph| {
        graph
            .nodes()
            .iter()
            .map(|node| (std::mem::discriminant(&node.operation), node.after.len()))
            .collect::<Vec<_>>()
    };
    old.iter().zip(new).all(|(old, new)| kind(old) == kind(new))
}

/// Returns the old operation, which may hold references, for the caller to drop without locks.
fn set_operation(node: Option<&mut Node>, operation: Operation) -> Result<Operation> {
    let node = node.ok_or(Status::INVALID_VALUE)?;
    if std::mem::discriminant(&node.operation) != std::mem::discriminant(&operation) {
        return Err(Status::INVALID_VALUE);
    }
    if !same_shape(&node.operation, &operation) {
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    Ok(std::mem::replace(&mut node.operation, operation))
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct ExecGraph {
    /// Its number.
    pub id: u64,
    /// The flags it was made with: 1 frees what an earlier launch left.
    pub flags: u64,
    /// Nodes in an order in which each comes after what it waits for.
    nodes: Mutex<Vec<Node>>,
    /// What it keeps alive, until its last launch is over.
    held: Mutex<Arc<Held>>,
    /// The last launch, which the next one waits for.
    pub(crate) last: Mutex<Option<Arc<Op>>>,
    /// What kernels that may launch it know it by.
    pub(crate) handle: OnceLock<u64>,
    /// A kernel launched it, and it has not begun.
    pub(crate) is_asked_for: AtomicBool,
}

/// Whether a second launch frees what the first one left.
const AUTO_FREE: u64 = 1;
/// Whether kernels may launch it.
const DEVICE_LAUNCH: u64 = 4;

/// Whether the graphs of conditional nodes have only such nodes as they may have.
fn bodies_are_possible(nodes: &[Node]) -> bool {
    fn may_be_there(graph: &Graph) -> bool {
        lock(&graph.nodes).iter().all(|node| {
            let simple = matches!(
                node.operation,
                Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_) | Operation::Empty
            );
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

/// Whether nodes are such as a graph may have that kernels launch (CUDA programming guide, "Device graph launch").
fn may_be_launched_by_kernels(nodes: &[Node]) -> bool {
    !nodes.is_empty()
        && nodes.iter().all(|node| match &node.operation {
            Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_) => true,
            Operation::Child(child) => may_be_launched_by_kernels(&lock(&child.nodes)),
            _ => false,
        })
}

impl ExecGraph {
    /// An executable copy of a graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has a cycle, `NOT_SUPPORTED` if it allocates and has a copy already.
    pub fn new(graph: &Graph, flags: u64) -> Result<Arc<ExecGraph>> {
        if graph.is_moved() {
            return Err(Status::NOT_SUPPORTED);
        }
        if !graph.has_all_conditional_nodes() || !bodies_are_possible(&lock(&graph.nodes)) {
            return Err(Status::INVALID_VALUE);
        }
        let nodes = ordered(&graph.frozen())?;
        if flags & DEVICE_LAUNCH != 0 && (flags & AUTO_FREE != 0 || !may_be_launched_by_kernels(&nodes)) {
            return Err(Status::INVALID_VALUE);
        }
        let mut instance = lock(&graph.instance);
        let allocates = graph.has_memory();
        if allocates && instance.strong_count() > 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let (nodes, held) = (Mutex::new(nodes), Mutex::new(Arc::new(lock(&graph.held).clone())));
        let exec = Arc::new(ExecGraph {
            id: fresh_id(),
            flags,
            nodes,
            held,
            last: Mutex::default(),
            handle: OnceLock::new(),
            is_asked_for: AtomicBool::new(false),
        });
        if allocates {
            *instance = Arc::downgrade(&exec);
        }
        Ok(exec)
    }

    /// Gives it its handle, by which kernels may launch it if it was made so.
    pub fn name(self: &Arc<Self>, handle: u64) {
        if self.flags & DEVICE_LAUNCH != 0 && self.handle.set(handle).is_ok() {
            make_launchable(handle, self);
        }
    }

    /// The conditions of its nodes, and of the graphs in them.
    pub(crate) fn conditions(&self) -> Vec<Arc<Condition>> {
        let mut found = Vec::new();
        conditions_of(&lock(&self.nodes), &mut found);
        found
    }

    /// Before a launch: what it allocates and does not free counts as allocated from now on.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an earlier launch left it allocated.
    pub(crate) fn take_memory(&self, device: &Device) -> Result {
        let (mut taken, mut freed) = (Vec::new(), HashSet::new());
        memory_of(&lock(&self.nodes), &mut taken, &mut freed);
        let needed: u64 = taken.iter().map(|memory| memory.bytes()).sum();
        for base in taken.iter().map(|memory| memory.base()) {
            if self.flags & AUTO_FREE != 0 && device.memory.set_live(base, false) {
                device.drain();
                device.simulator.free(base)?;
            }
            match freed.contains(&base) {
                true if !device.memory.is_live(base) => {}
                false if device.memory.set_live(base, true) => {}
                _ => return Err(Status::INVALID_VALUE),
            }
        }
        // What an earlier graph or the stream allocated and this one frees.
        for base in &freed {
            device.memory.set_live(*base, false);
        }
        if needed > 0 {
            device.memory.reserve_for_graphs(needed);
        }
        Ok(())
    }

    /// What the launches that it is in keep alive.
    pub(crate) fn held(&self) -> Option<Arc<Held>> {
        let held = lock(&self.held).clone();
        let children = lock(&self.nodes).iter().any(|node| !node.operation.children().is_empty());
        (children || !held.0.is_empty()).then_some(held)
    }

    /// A copy of its nodes.
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.nodes).clone()
    }

    /// Changes what a node does, by the number it has in the graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node or it is of another kind.
    pub fn set(&self, id: u64, operation: Operation) -> Result {
        let old = set_operation(lock(&self.nodes).iter_mut().find(|node| node.id == id), operation);
        old.map(drop)
    }

    /// One node, by the number it has in the graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node.
    pub fn node(&self, id: u64) -> Result<Node> {
        lock(&self.nodes).iter().find(|node| node.id == id).cloned().ok_or(Status::INVALID_VALUE)
    }

    /// Enables or disables a node: kernels, copies and fills.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node or it cannot be disabled.
    pub fn enable(&self, id: u64, enabled: bool) -> Result {
        let mut nodes = lock(&self.nodes);
        let node = nodes.iter_mut().find(|node| node.id == id).ok_or(Status::INVALID_VALUE)?;
        if !can_be_disabled(&node.operation) {
            return Err(Status::INVALID_VALUE);
        }
        node.enabled = enabled;
        Ok(())
    }

    /// Whether a node is enabled.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such node or it cannot be disabled.
    pub fn is_enabled(&self, id: u64) -> Result<bool> {
        let nodes = lock(&self.nodes);
        let node = nodes.iter().find(|node| node.id == id).filter(|node| can_be_disabled(&node.operation));
        node.map(|node| node.enabled).ok_or(Status::INVALID_VALUE)
    }

    /// Takes over the operations of a graph of the same shape.
    ///
    /// # Errors
    /// `GRAPH_EXEC_UPDATE_FAILURE` with the node that differs, if it is one.
    pub fn update(&self, graph: &Graph) -> std::result::Result<(), (Status, Option<u64>)> {
        let fail = |node| (Status::GRAPH_EXEC_UPDATE_FAILURE, node);
        let new = ordered(&graph.frozen()).map_err(|_| fail(None))?;
        let new_held = Arc::new(lock(&graph.held).clone());
        let mut nodes = lock(&self.nodes);
        if new.len() != nodes.len() {
            return Err(fail(None));
        }
        let place: HashMap<u64, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id, at)).collect();
        let new_place: HashMap<u64, usize> = new.iter().enumerate().map(|(at, node)| (node.id, at)).collect();
        let places = |after: &[Edge], place: &HashMap<u64, usize>| {
            let mut list: Vec<_> =
                after.iter().map(|edge| (place.get(&edge.from).copied(), edge.kind)).collect();
            list.sort_unstable();
            list
        };
        for (old, new) in nodes.iter().zip(&new) {
            let same_kind = std::mem::discriminant(&old.operation) == std::mem::discriminant(&new.operation);
            if !same_kind || places(&old.after, &place) != places(&new.after, &new_place) {
                return Err(fail(Some(new.id)));
            }
        }
        let mut old = Vec::new();
        for (node, new) in nodes.iter_mut().zip(new) {
            old.push(std::mem::replace(&mut node.operation, new.operation));
        }
        drop(nodes);
        let old_held = std::mem::replace(&mut *lock(&self.held), new_held);
        drop((old, old_held));
        Ok(())
    }
}

fn conditions_of(nodes: &[Node], found: &mut Vec<Arc<Condition>>) {
    for node in nodes {
        if let Operation::Conditional(conditional) = &node.operation {
            found.push(conditional.condition.clone());
        }
        node.operation.children().iter().for_each(|child| conditions_of(&lock(&child.nodes), found));
    }
}

/// What nodes and the graphs in them allocate, and the addresses that they free.
fn memory_of(nodes: &[Node], taken: &mut Vec<Arc<dyn PlacedMemory>>, freed: &mut HashSet<u64>) {
    for node in nodes {
        match &node.operation {
            Operation::Allocate(memory) => taken.push(memory.clone()),
            Operation::Free(base) => drop(freed.insert(*base)),
            operation => {
                operation.children().iter().for_each(|child| memory_of(&lock(&child.nodes), taken, freed));
            }
        }
    }
}

/// The nodes, each after what it waits for, otherwise in order of making.
pub(crate) fn ordered(nodes: &[Node]) -> Result<Vec<Node>> {
    let mut done: HashSet<u64> = HashSet::new();
    let mut list: Vec<Node> = Vec::with_capacity(nodes.len());
    let mut rest: Vec<&Node> = nodes.iter().collect();
    while !rest.is_empty() {
        let before = rest.len();
        rest.retain(|node| {
            let ready = node.after.iter().all(|edge| done.contains(&edge.from));
            if ready {
                done.insert(node.id);
                list.push((*node).clone());
            }
            !ready
        });
        if rest.len() == before {
            return Err(Status::INVALID_VALUE);
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(exec.update(&graph.duplicate().0).is_ok());
        graph.add(Operation::Empty, &[]).unwrap();
        assert_eq!(exec.update(&graph), Err((Status::GRAPH_EXEC_UPDATE_FAILURE, None)));
    }
}
