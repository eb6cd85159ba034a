//! What streams and graphs hold: operations, and the graphs that some of them run, as data.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cuda_abi::{Result, Status};
use sim_core::{Launch, Launches};

use crate::backing::Mapping;
use crate::condition::{Condition, ConditionKind};
use crate::copy::{Copy, Fill};
use crate::counted::Held;
use crate::edge::Edge;
use crate::module::Function;
use crate::tree::{Device, Event};
use crate::updatable::Updatable;

/// A kernel with its launch.
#[derive(Clone, Debug)]
pub struct KernelCall {
    /// The kernel.
    pub function: Arc<Function>,
    /// How it is launched.
    pub launch: Launch,
    /// What kernels have made of it, if it is a node that they may update.
    pub updatable: Option<Arc<Updatable>>,
}

/// How a word of memory is compared by [`Operation::WaitValue`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// The difference is not negative.
    GreaterOrEqual,
    /// Equal.
    Equal,
    /// The conjunction is not zero.
    And,
    /// The negated disjunction is not zero.
    Nor,
}

/// Memory whose address is known before it is there: what a graph allocates when it runs, what a stream gets again.
pub trait PlacedMemory: Send + Sync {
    /// Its first address.
    fn base(&self) -> u64;

    /// Bytes.
    fn bytes(&self) -> u64;

    /// Shows it to kernels, until it is freed.
    ///
    /// # Errors
    /// It is there already.
    fn place(&self, device: &Device) -> Result;
}

/// A function of the program that is told how the stream fares.
pub type Callback = Arc<dyn Fn(Status) + Send + Sync>;

/// An entry of a stream or a node of a graph.
#[derive(Clone)]
pub enum Operation {
    /// Runs a kernel.
    Kernel(Arc<KernelCall>),
    /// Copies.
    Copy(Arc<Copy>),
    /// Fills.
    Fill(Fill),
    /// Calls a function of the program with one argument.
    Host {
        /// Its address.
        function: u64,
        /// The argument.
        argument: u64,
    },
    /// Calls a function of the program, after faults too.
    Callback(Callback),
    /// Nothing: a point that others wait for.
    Empty,
    /// The nodes of another graph.
    Child(Arc<Graph>),
    /// The nodes of graphs that a value chooses.
    Conditional(Arc<Conditional>),
    /// Records an event.
    Record(Arc<Event>),
    /// Waits for an event's last record.
    Wait(Arc<Event>),
    /// Puts memory at its address.
    Allocate(Arc<dyn PlacedMemory>),
    /// Several words in turn.
    Batch(Arc<[Operation]>),
    /// Frees memory: of a graph, or what the table of allocations has forgotten.
    Free(u64),
    /// Changes what is behind an array; never a node.
    Map(Arc<Mapping>),
    /// Waits until a word of 4 or 8 bytes compares.
    WaitValue {
        /// Its address.
        address: u64,
        /// The value.
        value: u64,
        /// Bytes.
        bytes: u32,
        /// How.
        compare: Compare,
    },
    /// Writes a word of 4 or 8 bytes.
    WriteValue {
        /// Its address.
        address: u64,
        /// The value.
        value: u64,
        /// Bytes.
        bytes: u32,
    },
}

/// A conditional node.
#[derive(Clone, Debug)]
pub struct Conditional {
    /// Its value.
    pub condition: Arc<Condition>,
    /// How it takes it.
    pub kind: ConditionKind,
    /// What it runs.
    pub bodies: Vec<Arc<Graph>>,
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
    pub(crate) nodes: Mutex<Vec<Node>>,
    /// What it keeps alive.
    pub(crate) held: Mutex<Held>,
    /// What lasts as long as its executable copy, if there may be one at a time.
    pub(crate) instance: Mutex<Weak<()>>,
    /// Whether a node of another graph took it over.
    pub(crate) moved: AtomicBool,
    /// The graph whose node took it over.
    pub(crate) around: OnceLock<Weak<Graph>>,
    /// Of a copy: its nodes by those of the graph that was copied.
    pub(crate) copied: HashMap<u64, u64>,
    /// Conditions that were made for its nodes and those of the graphs in it; only the outermost graph has them.
    pub(crate) conditions: Mutex<Vec<Arc<Condition>>>,
    /// Whether a node was asked for that allocates or frees, be there one or not.
    pub(crate) asked_for_memory: AtomicBool,
    /// Where its executable copies allocate, also those that are gone or were refused.
    pub(crate) instantiated: Mutex<HashSet<u64>>,
}

impl KernelCall {
    /// Whether it may launch kernels.
    pub(crate) fn launches_kernels(&self) -> bool {
        self.launches().kernels
    }

    /// What it may launch.
    pub(crate) fn launches(&self) -> Launches {
        let module = &self.function.module;
        let Some(context) = module.context.upgrade() else { return Launches::default() };
        let code = context.device.simulator.code(module.loaded(), &self.launch.kernel);
        code.map_or(Launches::default(), |code| code.launches)
    }

    /// Makes the launch what it is as a node, whatever kernels have made of that.
    pub(crate) fn describe(&self, enabled: bool) {
        if let Some(updatable) = &self.updatable {
            updatable.describe(&self.launch, enabled);
        }
    }

    /// The launch as it is now; none if it was disabled.
    pub(crate) fn now(&self) -> Option<Cow<'_, Launch>> {
        match &self.updatable {
            Some(updatable) => updatable.now(&self.launch).map(Cow::Owned),
            None => Some(Cow::Borrowed(&self.launch)),
        }
    }
}

impl Node {
    /// Whether it is launched with its graph. Kernels may still enable what they may update.
    pub(crate) fn runs(&self) -> bool {
        self.enabled || self.operation.updatable().is_some()
    }
}

impl Operation {
    /// What kernels have made of it, if they may.
    pub(crate) fn updatable(&self) -> Option<&Arc<Updatable>> {
        match self {
            Operation::Kernel(call) => call.updatable.as_ref(),
            _ => None,
        }
    }

    /// The same as another node, which kernels do not know.
    pub(crate) fn alone(self) -> Operation {
        match self {
            Operation::Kernel(call) if call.updatable.is_some() => {
                Operation::Kernel(Arc::new(KernelCall { updatable: None, ..KernelCall::clone(&call) }))
            }
            other => other,
        }
    }

    /// The graphs that it runs.
    pub fn children(&self) -> &[Arc<Graph>] {
        match self {
            Operation::Child(graph) => std::slice::from_ref(graph),
            Operation::Conditional(conditional) => &conditional.bodies,
            _ => &[],
        }
    }

    /// The same with other graphs in the places of those that it runs.
    pub(crate) fn with_children(&self, other: impl Fn(&Arc<Graph>) -> Arc<Graph>) -> Operation {
        match self {
            Operation::Child(graph) => Operation::Child(other(graph)),
            Operation::Conditional(conditional) => {
                let bodies = conditional.bodies.iter().map(other).collect();
                Operation::Conditional(Arc::new(Conditional { bodies, ..Conditional::clone(conditional) }))
            }
            same => same.clone(),
        }
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operation::Kernel(_) => "Kernel",
            Operation::Copy(_) => "Copy",
            Operation::Fill(_) => "Fill",
            Operation::Host { .. } => "Host",
            Operation::Callback(_) => "Callback",
            Operation::Empty => "Empty",
            Operation::Child(_) => "Child",
            Operation::Conditional(_) => "Conditional",
            Operation::Record(_) => "Record",
            Operation::Wait(_) => "Wait",
            Operation::Allocate(_) => "Allocate",
            Operation::Batch(_) => "Batch",
            Operation::Free(_) => "Free",
            Operation::Map(_) => "Map",
            Operation::WaitValue { .. } => "WaitValue",
            Operation::WriteValue { .. } => "WriteValue",
        })
    }
}
