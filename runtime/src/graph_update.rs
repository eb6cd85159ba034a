//! Updates of executable graphs by graphs (driver API manual, `cuGraphExecUpdate`), and why they fail: what an H200
//! answers for 38 pairs of graphs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cuda_abi::Status;

use crate::area::Place;
use crate::copy::Copy;
use crate::exec::ExecGraph;
use crate::graph::ordered;
use crate::lock;
use crate::operation::{Conditional, Graph, Node, Operation};

/// Why a graph does not fit, as `CUgraphExecUpdateResult` counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// Numbers of nodes, or edges.
    Topology = 2,
    /// What kind of node it is.
    NodeType = 3,
    /// Parameters that must stay.
    Parameters = 5,
    /// Something of the node cannot be updated.
    NotSupported = 6,
    /// A kernel that launches kernels takes the place of one that does not.
    Function = 7,
    /// Attributes of a kernel that must stay.
    Attributes = 8,
}

/// An update that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateFailure {
    /// The error of the call.
    pub status: Status,
    /// Why, unless updates of these graphs are refused at all.
    pub why: Option<Misfit>,
    /// The node of the new graph that does not fit, if it is one.
    pub node: Option<u64>,
    /// What that node waits for, if it is that which differs.
    pub from: Option<u64>,
}

impl UpdateFailure {
    fn of(why: Misfit, node: Option<u64>) -> Self {
        UpdateFailure { status: Status::GRAPH_EXEC_UPDATE_FAILURE, why: Some(why), node, from: None }
    }

    /// `CUgraphExecUpdateResult`
    pub fn result(&self) -> u32 {
        self.why.map_or(0, |why| why as u32)
    }
}

/// Tells kinds of memory apart between which copies may not change: a number for host memory, one for managed
/// memory, one for each device.
pub type KindOfMemory<'a> = &'a dyn Fn(&Place) -> u32;

impl ExecGraph {
    /// Takes over the operations of a graph of the same shape.
    ///
    /// # Errors
    /// `GRAPH_EXEC_UPDATE_FAILURE` for one that does not fit; `NOT_SUPPORTED` where kernels may update nodes, and by a graph
    /// whose memory another executable copy has.
    pub fn update(&self, graph: &Graph, kind: KindOfMemory<'_>) -> Result<(), UpdateFailure> {
        let taken = lock(&graph.instance).upgrade();
        let is_taken = graph.has_memory() && taken.is_some_and(|by| !Arc::ptr_eq(&by, &self.life));
        if is_taken
            || graph.is_updatable()
            || lock(&self.nodes).iter().any(|node| node.operation.updatable().is_some())
        {
            return Err(UpdateFailure { status: Status::NOT_SUPPORTED, why: None, node: None, from: None });
        }
        let cyclic = |_| UpdateFailure::of(Misfit::Topology, None);
        let new = ordered(&graph.frozen()).map_err(cyclic)?;
        let new_held = Arc::new(lock(&graph.held).clone());
        let mut nodes = lock(&self.nodes);
        fits(&nodes, &new, kind)?;
        let mut old = Vec::new();
        for (node, new) in nodes.iter_mut().zip(new) {
            keep_enabled(&node.operation, &new.operation);
            old.push(std::mem::replace(&mut node.operation, new.operation));
        }
        *lock(&self.conditions) = lock(&graph.conditions).clone();
        drop(nodes);
        let old_held = std::mem::replace(&mut *lock(&self.held), new_held);
        drop((old, old_held));
        Ok(())
    }
}

/// Has nodes of graphs in an operation be as enabled as those whose places they take.
fn keep_enabled(old: &Operation, new: &Operation) {
    for (old, new) in old.children().iter().zip(new.children()) {
        let (Ok(before), Ok(after)) = (ordered(&old.nodes()), ordered(&new.nodes())) else { continue };
        let mut nodes = lock(&new.nodes);
        for (old, new) in before.iter().zip(after) {
            keep_enabled(&old.operation, &new.operation);
            if let Some(node) = nodes.iter_mut().find(|node| node.id == new.id) {
                node.enabled = old.enabled;
            }
        }
    }
}

/// The nodes that no other waits for.
fn exits(nodes: &[Node]) -> Vec<u64> {
    let waited_for: HashSet<u64> = nodes.iter().flat_map(|node| &node.after).map(|edge| edge.from).collect();
    nodes.iter().map(|node| node.id).filter(|id| !waited_for.contains(id)).collect()
}

/// Whether nodes may take the place of others, both in order.
fn fits(old: &[Node], new: &[Node], kind: KindOfMemory<'_>) -> Result<(), UpdateFailure> {
    let fail = |why, node| Err(UpdateFailure::of(why, node));
    let (old_exits, new_exits) = (exits(old), exits(new));
    if old.len() != new.len() || old_exits.len() > new_exits.len() {
        return fail(Misfit::Topology, None);
    }
    if old_exits.len() < new_exits.len() {
        return fail(Misfit::Topology, new_exits.first().copied());
    }
    let place = |nodes: &[Node]| -> HashMap<u64, usize> {
        nodes.iter().enumerate().map(|(at, node)| (node.id, at)).collect()
    };
    let (old_place, new_place) = (place(old), place(new));
    // From the ends, as the device looks at them.
    for (old, new) in old.iter().zip(new).rev() {
        if std::mem::discriminant(&old.operation) != std::mem::discriminant(&new.operation) {
            return fail(Misfit::NodeType, Some(new.id));
        }
        if old.after.len() != new.after.len() {
            return fail(Misfit::Topology, Some(new.id));
        }
        let had: Vec<_> = old.after.iter().map(|edge| (old_place.get(&edge.from), edge.kind)).collect();
        let other = new.after.iter().find(|edge| !had.contains(&(new_place.get(&edge.from), edge.kind)));
        if let Some(edge) = other {
            let failure = UpdateFailure::of(Misfit::Topology, Some(new.id));
            return Err(UpdateFailure { from: Some(edge.from), ..failure });
        }
        if let Some(why) = misfit(&old.operation, &new.operation, kind) {
            return fail(why, Some(new.id));
        }
        for (old, new) in old.operation.children().iter().zip(new.operation.children()) {
            let ordered = |graph: &Graph| {
                ordered(&graph.nodes()).map_err(|_| UpdateFailure::of(Misfit::Topology, None))
            };
            fits(&ordered(old)?, &ordered(new)?, kind)?;
        }
    }
    Ok(())
}

/// Whether a copy that takes the place of another one is between the same kinds of memory; true of all else.
pub fn has_same_memory(old: &Operation, new: &Operation, kind: KindOfMemory<'_>) -> bool {
    let kinds = |copy: &Copy| (kind(&copy.from.place), kind(&copy.to.place));
    match (old, new) {
        (Operation::Copy(old), Operation::Copy(new)) => kinds(old) == kinds(new),
        _ => true,
    }
}

/// Why an operation may not take the place of one of the same kind.
fn misfit(old: &Operation, new: &Operation, kind: KindOfMemory<'_>) -> Option<Misfit> {
    match (old, new) {
        (Operation::Kernel(old), Operation::Kernel(new)) => {
            if new.launches_kernels() && !old.launches_kernels() {
                return Some(Misfit::Function);
            }
            (old.launch.cooperative != new.launch.cooperative).then_some(Misfit::Attributes)
        }
        (Operation::Copy(_), Operation::Copy(_)) => {
            (!has_same_memory(old, new, kind)).then_some(Misfit::Parameters)
        }
        // One row may become another one; several keep their extent.
        (Operation::Fill(old), Operation::Fill(new)) => {
            let one_row = old.height <= 1 && new.height <= 1;
            let same = (old.width, old.height) == (new.width, new.height);
            (!one_row && !same).then_some(Misfit::Parameters)
        }
        (Operation::Conditional(old), Operation::Conditional(new)) => {
            let shape = |it: &Conditional| (it.condition.handle, it.kind, it.bodies.len());
            (shape(old) != shape(new)).then_some(Misfit::NotSupported)
        }
        _ => None,
    }
}
