//! Graphs: operations with dependencies, made by hand or by capture.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};

use crate::condition::Condition;
use crate::counted::{Counted, Held};
use crate::edge::{Edge, EdgeKind};
use crate::operation::{Graph, Node, Operation};
use crate::{fresh_id, lock};

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Arc<Graph> {
        Graph::of(Vec::new(), Held::default(), HashMap::new())
    }

    fn of(nodes: Vec<Node>, held: Held, copied: HashMap<u64, u64>) -> Arc<Graph> {
        let (nodes, held) = (Mutex::new(nodes), Mutex::new(held));
        Arc::new(Graph {
            id: fresh_id(),
            nodes,
            held,
            instance: Mutex::default(),
            moved: AtomicBool::new(false),
            around: OnceLock::new(),
            copied,
            conditions: Mutex::default(),
            asked_for_memory: AtomicBool::new(false),
            instantiated: Mutex::default(),
        })
    }

    /// A condition for a node of it or of a graph around it, of which the outermost one keeps it: with the value at each
    /// launch, if it gets one.
    ///
    /// # Errors
    /// `INVALID_VALUE` for flags that there are not.
    pub fn condition(self: &Arc<Self>, default: u32, flags: u32) -> Result<Arc<Condition>> {
        let outermost = self.outermost();
        let mut conditions = lock(&outermost.conditions);
        let condition = Condition::new(conditions.len() as u64 + 1, default, flags)?;
        conditions.push(condition.clone());
        Ok(condition)
    }

    /// The condition of a handle, for a node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is none, or a node has it.
    pub fn unused_condition(self: &Arc<Self>, handle: u64) -> Result<Arc<Condition>> {
        let outermost = self.outermost();
        let conditions = lock(&outermost.conditions);
        let found = Condition::find(&conditions, handle).filter(|found| !found.is_used());
        found.cloned().ok_or(Status::INVALID_VALUE)
    }

    /// Whether each condition that was made for a node has its node.
    pub(crate) fn has_all_conditional_nodes(&self) -> bool {
        lock(&self.conditions).iter().all(|condition| condition.is_used())
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

    /// Says whose node took it over.
    pub fn lies_in(&self, around: &Arc<Graph>) {
        let _ = self.around.set(Arc::downgrade(around));
    }

    /// The outermost of the graphs around it, or itself.
    pub fn outermost(self: &Arc<Self>) -> Arc<Graph> {
        match self.around.get().and_then(Weak::upgrade) {
            Some(around) => around.outermost(),
            None => self.clone(),
        }
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

    /// Whether it or a graph in it allocates or frees. A node that was refused is enough, as on an H200.
    pub fn has_memory(&self) -> bool {
        if self.asked_for_memory.load(SeqCst) {
            return true;
        }
        let nodes = lock(&self.nodes);
        nodes.iter().any(|node| match &node.operation {
            Operation::Allocate(_) | Operation::Free(_) => true,
            operation => operation.children().iter().any(|child| child.has_memory()),
        })
    }

    /// Whether it or a graph in it has nodes that kernels may update.
    pub fn is_updatable(&self) -> bool {
        lock(&self.nodes).iter().any(|node| {
            let operation = &node.operation;
            operation.updatable().is_some() || operation.children().iter().any(|child| child.is_updatable())
        })
    }

    /// Whether conditions were made for it, with or without their nodes.
    pub fn has_conditions(&self) -> bool {
        !lock(&self.conditions).is_empty()
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
        if nodes[at].operation.updatable().is_some() {
            return Err(Status::NOT_SUPPORTED);
        }
        let removed = nodes.remove(at);
        if let Operation::Conditional(conditional) = &removed.operation {
            conditional.condition.set_used(false);
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

    /// A copy with nodes of its own.
    pub fn duplicate(&self) -> Arc<Graph> {
        let mut nodes = self.nodes();
        let map: HashMap<u64, u64> = nodes.iter().map(|node| (node.id, fresh_id())).collect();
        for node in &mut nodes {
            node.id = map[&node.id];
            node.after.retain(|edge| map.contains_key(&edge.from));
            node.after.iter_mut().for_each(|edge| edge.from = map[&edge.from]);
            node.operation = node.operation.with_children(|child| child.duplicate()).alone();
        }
        Graph::of(nodes, lock(&self.held).clone(), map)
    }

    /// The copy of a node of the graph that this one is a copy of, as long as it is there.
    pub fn copy_of(&self, node: u64) -> Option<u64> {
        let copy = *self.copied.get(&node)?;
        self.node(copy).is_ok().then_some(copy)
    }

    /// Its nodes as they are now, with their numbers: later changes of the graphs in it do not reach them.
    pub(crate) fn frozen(&self) -> Vec<Node> {
        let mut nodes = self.nodes();
        nodes.iter_mut().for_each(Node::freeze);
        nodes
    }

    /// Whether all of `open` are among `ends` or come before one of them.
    pub(crate) fn joins(&self, open: &[Edge], ends: &[Edge]) -> bool {
        let before = self.before(ends);
        open.iter().all(|edge| before.contains(&edge.from))
    }

    /// The nodes from which edges come, and all that come before them.
    pub(crate) fn before(&self, edges: &[Edge]) -> HashSet<u64> {
        let nodes = self.nodes();
        let by_id: HashMap<u64, &Node> = nodes.iter().map(|node| (node.id, node)).collect();
        let mut reached: HashSet<u64> = HashSet::new();
        let mut list: Vec<u64> = edges.iter().map(|edge| edge.from).collect();
        while let Some(id) = list.pop() {
            if reached.insert(id) {
                let before = by_id.get(&id).into_iter().flat_map(|node| &node.after);
                list.extend(before.map(|edge| edge.from));
            }
        }
        reached
    }
}

impl Node {
    /// Gives it copies of its graphs, with the same numbers, which later changes do not reach.
    pub(crate) fn freeze(&mut self) {
        self.operation = self.operation.with_children(|child| {
            let held = lock(&child.held).clone();
            Graph::of(child.frozen(), held, HashMap::new())
        });
    }
}

impl EdgeKind {
    /// Whether an edge of this kind may lead from one operation to another: all but full ones leave kernels, and only
    /// kernels wait for others by themselves.
    fn joins(self, from: &Operation, to: &Operation) -> bool {
        let from_kernel = matches!(from, Operation::Kernel(_));
        let kernels = from_kernel && matches!(to, Operation::Kernel(_));
        match (self.port, self.programmatic) {
            (0, false) => true,
            (1, programmatic) => kernels && programmatic,
            (2, true) => kernels,
            (2, false) => from_kernel,
            _ => false,
        }
    }
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
pub(crate) fn set_operation(node: Option<&mut Node>, operation: Operation) -> Result<Operation> {
    let node = node.ok_or(Status::INVALID_VALUE)?;
    if std::mem::discriminant(&node.operation) != std::mem::discriminant(&operation) {
        return Err(Status::INVALID_VALUE);
    }
    if !same_shape(&node.operation, &operation) {
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    Ok(std::mem::replace(&mut node.operation, operation))
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
