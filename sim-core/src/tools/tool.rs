//! The one trait of tools, and what makes them for a launch.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::event::{Event, Wants};
use super::launch::{InstructionView, LaunchShape, LaunchView};
use crate::finding::{Finding, FindingKind};
use crate::launch::MemoryStats;
use crate::memory::Written;
use crate::metrics::Metrics;
use semantics::lanes::LaneMask;

/// A tool: it is told what a launch does, and says at the end what it found.
///
/// Each worker of a launch has one of its own; at the end they are merged into one. What it finds then depends on neither
/// how many there were nor which blocks each ran. A tool that must hear everything in the order in which it happens is
/// [`ORDERED`](Tool::ORDERED): the launch then runs on one worker.
pub trait Tool: Sized + Send + 'static {
    /// What it keeps of a block. It goes with the block from worker to worker, and from one block to the next one on
    /// the same worker, so that [`Event::BlockStarted`] must clear it.
    type Block: Default + Send + 'static;

    /// Hears the events of a launch in one order: what is told first happened first, and a read returns the latest
    /// write that was told before it.
    const ORDERED: bool = false;

    /// Asks which bytes of global memory were written ([`Context::written`]): the simulator must remember it from its
    /// first allocation on ([`DeviceConfig::track_initialization`](crate::DeviceConfig)).
    const TRACKS_INITIALIZATION: bool = false;

    /// What it wants to hear; the same for the whole launch, but that one directed step by step
    /// ([`Session`](crate::Session)) asks again whenever it goes on.
    fn wants(&self) -> Wants;

    /// Something happens that it wants to hear of. `block` is what it keeps of the block, or where shared memory is accessed,
    /// of the block whose that is.
    fn event(&mut self, event: &Event<'_>, block: &mut Self::Block, context: &dyn Context);

    /// Takes what another worker's part of the tool knows. Called in any order; not for [`ORDERED`](Tool::ORDERED) ones.
    fn merge(&mut self, _other: Self) {}

    /// The launch is over.
    fn finish(self, _launch: &dyn LaunchView) -> Summary {
        Summary::default()
    }
}

/// What a tool has to say of a launch.
#[derive(Default, Debug)]
pub struct Summary {
    /// What it found and has not reported yet.
    pub findings: Vec<Finding>,
    /// Memory traffic, for the launch's statistics.
    pub memory: MemoryStats,
    /// What it measured.
    pub metrics: Option<Metrics>,
}

/// What a tool reports where it hears of it.
#[derive(Debug)]
pub struct Report {
    /// What kind.
    pub kind: FindingKind,
    /// One sentence without a full stop.
    pub message: String,
    /// More sentences.
    pub notes: Vec<String>,
    /// Index of the warp in the block.
    pub warp: u32,
    /// Those concerned.
    pub lanes: LaneMask,
    /// Position of the instruction.
    pub position: u32,
    /// That of another one that takes part.
    pub other: Option<u32>,
}

/// What a tool may ask while it hears an event.
pub trait Context {
    /// Reports something about lanes of the block.
    fn report(&self, report: Report);

    /// Has a launch that is directed step by step ([`Session`](crate::Session)) stand still behind the instruction; other
    /// launches go on.
    fn pause(&self);

    /// The instruction at a position; none is the `ret` that a body without one ends with.
    fn instruction(&self, position: u32) -> Option<InstructionView<'_>>;

    /// Lanes of a warp of the block that have exited by themselves.
    fn exited(&self, warp: u32) -> LaneMask;

    /// Shared memory of the block, from the start of the window; where another one's of the cluster is accessed, of that.
    fn shared(&self) -> &[u8];

    /// Which bytes were written of the allocation that holds all of these, if that is known, and the offset of the first
    /// of them in it.
    fn written(&self, address: u64, bytes: u64) -> Option<(&Written, u64)>;

    /// What lies at a global address: `4 bytes into buffer "x"`.
    fn describe(&self, address: u64, bytes: u64) -> Option<String>;
}

/// A [`Tool`] of any type.
pub(crate) trait AnyTool: Send {
    fn wants(&self) -> Wants;
    fn event(&mut self, event: &Event<'_>, block: &mut (dyn Any + Send), context: &dyn Context);
    fn merge(&mut self, other: Box<dyn Any>);
    fn finish(self: Box<Self>, launch: &dyn LaunchView) -> Summary;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// What it keeps of a block.
    fn block(&self) -> Box<dyn Any + Send>;
}

impl<T: Tool> AnyTool for T {
    fn wants(&self) -> Wants {
        Tool::wants(self)
    }

    fn event(&mut self, event: &Event<'_>, block: &mut (dyn Any + Send), context: &dyn Context) {
        // Most keep nothing, and are spared the question what it is.
        if size_of::<T::Block>() == 0 {
            Tool::event(self, event, &mut T::Block::default(), context);
        } else if let Some(block) = block.downcast_mut() {
            Tool::event(self, event, block, context);
        }
    }

    fn merge(&mut self, other: Box<dyn Any>) {
        if let Ok(other) = other.downcast() {
            Tool::merge(self, *other);
        }
    }

    fn finish(self: Box<Self>, launch: &dyn LaunchView) -> Summary {
        Tool::finish(*self, launch)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn block(&self) -> Box<dyn Any + Send> {
        Box::new(T::Block::default())
    }
}

/// What the tools of a launch keep of a block, in their order. It goes with the block and is no part of its state: a
/// copy of a block has none, and blocks are compared without it.
#[derive(Default)]
pub(crate) struct BlockParts(pub(crate) Vec<Box<dyn Any + Send>>);

impl Clone for BlockParts {
    fn clone(&self) -> Self {
        BlockParts::default()
    }
}

impl PartialEq for BlockParts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for BlockParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockParts({})", self.0.len())
    }
}

type Make = dyn Fn(&LaunchShape) -> Box<dyn AnyTool> + Send + Sync;

/// Makes a tool for each worker of each launch.
#[derive(Clone)]
pub struct ToolFactory {
    make: Arc<Make>,
    ordered: bool,
    tracks_initialization: bool,
}

impl ToolFactory {
    /// From a function that makes one.
    pub fn new<T: Tool>(make: impl Fn(&LaunchShape) -> T + Send + Sync + 'static) -> Self {
        ToolFactory {
            make: Arc::new(move |shape| Box::new(make(shape))),
            ordered: T::ORDERED,
            tracks_initialization: T::TRACKS_INITIALIZATION,
        }
    }

    /// [`Tool::ORDERED`]
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// [`Tool::TRACKS_INITIALIZATION`]
    pub fn tracks_initialization(&self) -> bool {
        self.tracks_initialization
    }

    pub(crate) fn make(&self, shape: &LaunchShape) -> Box<dyn AnyTool> {
        (self.make)(shape)
    }
}

impl fmt::Debug for ToolFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolFactory")
    }
}
