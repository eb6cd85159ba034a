//! What the kernels of a graph may reach in one launch of it: its conditions, and graphs to run beside and behind it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::Status;
use sim_core::GraphLaunch;

use crate::condition::Condition;
use crate::exec::{DEVICE_LAUNCH, ExecGraph};
use crate::lock;
use crate::operation::{Node, Operation};

/// A launch of an executable graph that kernels may launch, whose kernels may launch such graphs, or that has conditions.
#[derive(Debug)]
pub(crate) struct GraphRun {
    /// The handle of the graph; 0 if kernels cannot launch it.
    pub handle: u64,
    conditions: Vec<Arc<Condition>>,
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    now: Vec<Arc<ExecGraph>>,
    behind: VecDeque<Arc<ExecGraph>>,
}

type Launchable = Mutex<HashMap<u64, Weak<ExecGraph>>>;

/// The graphs that kernels may launch, by handle.
fn launchable() -> &'static Launchable {
    static LAUNCHABLE: OnceLock<Launchable> = OnceLock::new();
    LAUNCHABLE.get_or_init(Launchable::default)
}

impl ExecGraph {
    /// Gives it its handle, by which kernels may launch it if it was made so.
    pub fn name(self: &Arc<Self>, handle: u64) {
        if self.flags & DEVICE_LAUNCH != 0 && self.handle.set(handle).is_ok() {
            let mut all = lock(launchable());
            all.retain(|_, other| other.strong_count() > 0);
            all.insert(handle, Arc::downgrade(self));
        }
    }
}

/// Whether kernels among nodes launch graphs.
fn launch_graphs(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match &node.operation {
        Operation::Kernel(call) => call.function.module.launches_graphs(),
        operation => operation.children().iter().any(|child| launch_graphs(&lock(&child.nodes))),
    })
}

impl GraphRun {
    /// A launch of a graph, if it has conditions, or its kernels launch graphs or are launched by them.
    pub(crate) fn of(graph: &ExecGraph, nodes: &[Node]) -> Option<Arc<GraphRun>> {
        let handle = graph.handle.get().copied();
        let conditions = graph.conditions();
        let reached = handle.is_some() || !conditions.is_empty() || launch_graphs(nodes);
        let (handle, asked) = (handle.unwrap_or(0), Mutex::default());
        reached.then(|| Arc::new(GraphRun { handle, conditions, asked }))
    }

    /// Gives a condition a value; false if there is none of this handle.
    pub(crate) fn set_condition(&self, handle: u64, value: u32) -> bool {
        let found = Condition::find(&self.conditions, handle);
        found.inspect(|condition| condition.set(value)).is_some()
    }

    /// Asks for a graph to run. One that was asked for and has not begun is not asked for again.
    ///
    /// # Errors
    /// `INVALID_VALUE`, also for a handle that is none.
    pub(crate) fn ask(&self, handle: u64, how: GraphLaunch) -> Result<(), Status> {
        let graph = lock(launchable()).get(&handle).and_then(Weak::upgrade).ok_or(Status::INVALID_VALUE)?;
        // A graph runs once at a time.
        if how != GraphLaunch::Tail && handle == self.handle || graph.is_asked_for.swap(true, SeqCst) {
            return Err(Status::INVALID_VALUE);
        }
        let mut asked = lock(&self.asked);
        match how {
            GraphLaunch::Tail => asked.behind.push_back(graph),
            GraphLaunch::FireAndForget | GraphLaunch::Sibling => asked.now.push(graph),
        }
        Ok(())
    }

    /// What may run now.
    pub(crate) fn take_now(&self) -> Vec<Arc<ExecGraph>> {
        std::mem::take(&mut lock(&self.asked).now)
    }

    /// What runs when the graph is over.
    pub(crate) fn take_behind(&self) -> VecDeque<Arc<ExecGraph>> {
        std::mem::take(&mut lock(&self.asked).behind)
    }
}
