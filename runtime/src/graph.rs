//! Graphs: operations with dependencies, made by hand or by capture, and their executable copies.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use sim_core::Backend;

use crate::device::Device;
use crate::engine::Op;
use crate::operation::Operation;
use crate::status::{Result, Status};
use crate::{fresh_id, lock};

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number, unique in the process.
    pub id: u64,
    /// What it does.
    pub operation: Operation,
    /// Numbers of the nodes that it waits for.
    pub after: Vec<u64>,
    /// Disabled nodes of an executable graph do nothing.
    pub enabled: bool,
}

/// A graph.
#[derive(Debug)]
pub struct Graph {
    /// Its number.
    pub id: u64,
    nodes: Mutex<Vec<Node>>,
    /// Its executable copy, if it allocates: there may be one at a time.
    instance: Mutex<Weak<ExecGraph>>,
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Arc<Graph> {
        Arc::new(Graph { id: fresh_id(), nodes: Mutex::default(), instance: Mutex::default() })
    }

    /// Adds a node after others; returns its number.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a node is not of this graph or named twice, or a graph would hold itself.
    pub fn add(&self, operation: Operation, after: &[u64]) -> Result<u64> {
        if let Operation::Child(child) = &operation
            && child.holds(self.id)
        {
            return Err(Status::INVALID_VALUE);
        }
        let mut nodes = lock(&self.nodes);
        let mut seen = HashSet::new();
        let known = |id: &u64| nodes.iter().any(|node| node.id == *id);
        if !after.iter().all(|id| known(id) && seen.insert(*id)) {
            return Err(Status::INVALID_VALUE);
        }
        let id = fresh_id();
        nodes.push(Node { id, operation, after: after.to_vec(), enabled: true });
        Ok(id)
    }

    fn holds(&self, id: u64) -> bool {
        self.id == id
            || self.nodes().iter().any(|node| match &node.operation {
                Operation::Child(child) => child.holds(id),
                _ => false,
            })
    }

    /// Whether it allocates or frees.
    pub fn has_memory(&self) -> bool {
        let nodes = lock(&self.nodes);
        nodes.iter().any(|node| matches!(node.operation, Operation::Allocate(_) | Operation::Free(_)))
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
        let mut nodes = lock(&self.nodes);
        set_operation(nodes.iter_mut().find(|node| node.id == id), operation)
    }

    /// Removes a node and its edges.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is not of this graph, `NOT_SUPPORTED` if the graph allocates.
    pub fn remove(&self, id: u64) -> Result {
        if self.has_memory() {
            return Err(Status::NOT_SUPPORTED);
        }
        let mut nodes = lock(&self.nodes);
        let at = nodes.iter().position(|node| node.id == id).ok_or(Status::INVALID_VALUE)?;
        nodes.remove(at);
        for node in nodes.iter_mut() {
            node.after.retain(|after| *after != id);
        }
        Ok(())
    }

    /// Adds or removes edges.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a node is not of this graph, an edge is there already or not there;
    /// `NOT_SUPPORTED` for removing from a graph that allocates.
    pub fn edges(&self, edges: &[(u64, u64)], add: bool) -> Result {
        if !add && self.has_memory() {
            return Err(Status::NOT_SUPPORTED);
        }
        let mut nodes = lock(&self.nodes);
        let mut changed = nodes.clone();
        for &(from, to) in edges {
            let known = changed.iter().any(|node| node.id == from);
            let node = changed.iter_mut().find(|node| node.id == to).filter(|_| known && from != to);
            let node = node.ok_or(Status::INVALID_VALUE)?;
            let at = node.after.iter().position(|after| *after == from);
            match (at, add) {
                (None, true) => node.after.push(from),
                (Some(at), false) => drop(node.after.remove(at)),
                _ => return Err(Status::INVALID_VALUE),
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
            node.after = node.after.iter().filter_map(|id| map.get(id).copied()).collect();
            if let Operation::Child(child) = &node.operation {
                node.operation = Operation::Child(child.duplicate().0);
            }
        }
        (Arc::new(Graph { id: fresh_id(), nodes: Mutex::new(nodes), instance: Mutex::default() }), map)
    }

    /// Whether all of `open` are among `ends` or come before one of them.
    pub(crate) fn joins(&self, open: &[u64], ends: &[u64]) -> bool {
        let nodes = self.nodes();
        let by_id: HashMap<u64, &Node> = nodes.iter().map(|node| (node.id, node)).collect();
        let mut reached: HashSet<u64> = HashSet::new();
        let mut list = ends.to_vec();
        while let Some(id) = list.pop() {
            if reached.insert(id) {
                list.extend(by_id.get(&id).into_iter().flat_map(|node| node.after.iter().copied()));
            }
        }
        open.iter().all(|id| reached.contains(id))
    }
}

fn can_be_disabled(operation: &Operation) -> bool {
    matches!(operation, Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_))
}

/// Whether a child graph may take another's place: the same kinds of nodes with the same edges.
fn same_shape(old: &Operation, new: &Operation) -> bool {
    let (Operation::Child(old), Operation::Child(new)) = (old, new) else { return true };
    let (old, new) = (old.nodes(), new.nodes());
    let kind = |nodes: &[Node]| {
        nodes
            .iter()
            .map(|node| (std::mem::discriminant(&node.operation), node.after.len()))
            .collect::<Vec<_>>()
    };
    kind(&old) == kind(&new)
}

fn set_operation(node: Option<&mut Node>, operation: Operation) -> Result {
    let node = node.ok_or(Status::INVALID_VALUE)?;
    if std::mem::discriminant(&node.operation) != std::mem::discriminant(&operation) {
        return Err(Status::INVALID_VALUE);
    }
    if !same_shape(&node.operation, &operation) {
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    node.operation = operation;
    Ok(())
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
    /// The last launch, which the next one waits for.
    pub(crate) last: Mutex<Option<Arc<Op>>>,
}

/// Whether a second launch frees what the first one left.
const AUTO_FREE: u64 = 1;

impl ExecGraph {
    /// An executable copy of a graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the graph has a cycle, `NOT_SUPPORTED` if it allocates and has a copy already.
    pub fn new(graph: &Graph, flags: u64) -> Result<Arc<ExecGraph>> {
        let nodes = ordered(&graph.nodes())?;
        let mut instance = lock(&graph.instance);
        let allocates = graph.has_memory();
        if allocates && instance.strong_count() > 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let exec =
            Arc::new(ExecGraph { id: fresh_id(), flags, nodes: Mutex::new(nodes), last: Mutex::default() });
        if allocates {
            *instance = Arc::downgrade(&exec);
        }
        Ok(exec)
    }

    /// Before a launch: what it allocates and does not free counts as allocated from now on.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an earlier launch left it allocated.
    pub(crate) fn take_memory(&self, device: &Device) -> Result {
        let nodes = lock(&self.nodes);
        let bases = nodes.iter().filter_map(|node| match &node.operation {
            Operation::Allocate(memory) => Some(memory.base()),
            _ => None,
        });
        let freed: HashSet<u64> = nodes
            .iter()
            .filter_map(|node| match &node.operation {
                Operation::Free(base) => Some(*base),
                _ => None,
            })
            .collect();
        for base in bases {
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
        Ok(())
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
        set_operation(lock(&self.nodes).iter_mut().find(|node| node.id == id), operation)
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
        let new = ordered(&graph.nodes()).map_err(|_| fail(None))?;
        let mut nodes = lock(&self.nodes);
        if new.len() != nodes.len() {
            return Err(fail(None));
        }
        let place: HashMap<u64, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id, at)).collect();
        let new_place: HashMap<u64, usize> = new.iter().enumerate().map(|(at, node)| (node.id, at)).collect();
        let places = |after: &[u64], place: &HashMap<u64, usize>| {
            let mut list: Vec<_> = after.iter().map(|id| place.get(id).copied()).collect();
            list.sort_unstable();
            list
        };
        for (old, new) in nodes.iter().zip(&new) {
            let same_kind = std::mem::discriminant(&old.operation) == std::mem::discriminant(&new.operation);
            if !same_kind || places(&old.after, &place) != places(&new.after, &new_place) {
                return Err(fail(Some(new.id)));
            }
        }
        for (old, new) in nodes.iter_mut().zip(new) {
            old.operation = new.operation;
        }
        Ok(())
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
            let ready = node.after.iter().all(|id| done.contains(id));
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
        let b = graph.add(Operation::Empty, &[a]).unwrap();
        assert_eq!(graph.add(Operation::Empty, &[999_999]), Err(Status::INVALID_VALUE));
        assert_eq!(graph.add(Operation::Child(graph.clone()), &[]), Err(Status::INVALID_VALUE));
        assert_eq!(graph.edges(&[(a, b)], true), Err(Status::INVALID_VALUE));
        assert!(ExecGraph::new(&graph, 0).is_ok());
        graph.edges(&[(b, a)], true).unwrap();
        assert_eq!(ExecGraph::new(&graph, 0).unwrap_err(), Status::INVALID_VALUE);
        graph.edges(&[(b, a)], false).unwrap();
        assert!(graph.joins(&[a], &[b]) && !graph.joins(&[b], &[a]));
    }

    #[test]
    fn an_update_needs_the_same_shape() {
        let graph = Graph::new();
        let a = graph.add(Operation::Empty, &[]).unwrap();
        graph.add(Operation::Empty, &[a]).unwrap();
        let exec = ExecGraph::new(&graph, 0).unwrap();
        assert!(exec.update(&graph.duplicate().0).is_ok());
        graph.add(Operation::Empty, &[]).unwrap();
        assert_eq!(exec.update(&graph), Err((Status::GRAPH_EXEC_UPDATE_FAILURE, None)));
    }
}
