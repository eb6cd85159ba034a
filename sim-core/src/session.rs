//! A launch that runs step by step: it stands still where one asks, and can go back.

mod change;
mod view;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::code::Code;
use crate::engine;
use crate::error::Error;
use crate::finding::{CodePlace, Finding};
use crate::launch::{Dim3, Launch, LaunchReport};
use crate::machine::checkpoint::Checkpoint;
use crate::machine::fault::place;
use crate::machine::grid::Grid;
use crate::machine::pauses::Pauses;
use crate::machine::warp::{Group, Wait, Warp};
use crate::machine::worker::Worker;
use crate::memory::Contents;
use crate::observer::{Observer, Tools};
use crate::tools::{Wants, WarpId};
use semantics::lanes::LaneMask;

pub use change::Change;
pub use view::{AllocationView, BarrierView, BlockView, FrameView, GroupView, Look, WaitsFor, WarpView};

/// How far a launch is to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// To its end, unless it stands still before: because a tool asks for it
    /// ([`Context::pause`](crate::tools::Context::pause)), or as the session was told ([`Session::break_at`],
    /// [`Session::follow`], [`Session::pause_at_findings`]), which holds for the others, too.
    End,
    /// Until it has run so many warp instructions in all. A comparison and the branch on it count as two and are done as one.
    Instructions(u64),
    /// Until so many more events of some kinds were told, and the instruction that tells the last is done.
    Events(Wants, u64),
    /// Until it is decided which lanes run next ([`Session::running`]), and before they do.
    Decided,
}

/// Why a launch stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It is over.
    Ended,
    /// It has come as far as it was to, or a tool asked for it.
    Paused,
}

/// A group of lanes of a warp in the middle of its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Running {
    /// The warp.
    pub warp: WarpId,
    /// The lanes that run together.
    pub lanes: LaneMask,
    /// Position of the instruction that they execute next, in [`Session::code`].
    pub position: u32,
}

/// A launch that runs step by step, for debuggers: [`Simulator::launch_stepwise`](crate::Simulator::launch_stepwise) gives
/// one to its caller.
///
/// It runs on one worker, the warps of a block one by one. Where it stood still changes nothing of what it does: it goes on
/// with the very turn that it was in.
pub struct Session<'s, 'g> {
    worker: &'s mut Worker<'g, Tools>,
    /// Of the checkpoint that was taken or restored last.
    memory: Option<Contents>,
    over: bool,
    looked: view::Held<'g>,
}

/// Runs a grid as `direct` says, and then what it leaves.
pub(crate) fn run(
    grid: Grid<'_>,
    tools: Tools,
    direct: &mut dyn FnMut(&mut Session<'_, '_>),
) -> LaunchReport {
    let mut worker = Worker::new(&grid, tools);
    worker.pauses = Pauses::never(true);
    let mut session =
        Session { worker: &mut worker, memory: None, over: false, looked: view::Held::default() };
    direct(&mut session);
    while session.run(Until::End) == Stop::Paused {}
    let (stats, tools) = worker.finish();
    engine::report(grid, stats, Some(tools))
}

impl<'g> Session<'_, 'g> {
    /// Runs on.
    pub fn run(&mut self, until: Until) -> Stop {
        if self.over {
            return Stop::Ended;
        }
        let ran = self.instructions();
        let pauses = &mut self.worker.pauses;
        match until {
            Until::End => pauses.clear(),
            Until::Instructions(instructions) => pauses.set_at(instructions),
            Until::Events(kinds, events) => pauses.set_after(kinds, events),
            Until::Decided => pauses.clear(),
        }
        pauses.breaks.any = until == Until::Decided;
        // Where it stands still already, it need not do so again.
        let turn = self.worker.turn.as_ref().and_then(|turn| turn.warp.as_ref());
        let stands = turn.is_some_and(|warp| warp.group.is_some());
        if stands && until == Until::Decided {
            return Stop::Paused;
        }
        pauses.breaks.passed = stands.then_some(ran);
        self.worker.observer.count(self.worker.pauses.kinds());
        let worker = AssertUnwindSafe(&mut *self.worker);
        if let Err(panic) = catch_unwind(|| { worker }.run()) {
            self.worker.grid.broken(&*panic);
        }
        self.over = self.worker.hand.is_none();
        if self.over { Stop::Ended } else { Stop::Paused }
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Warp instructions that it has run.
    pub fn instructions(&self) -> u64 {
        self.worker.stats.warp_instructions
    }

    /// The lanes that run next, if it stands still in the middle of their turn; otherwise it is not decided yet who does.
    pub fn running(&self) -> Option<Running> {
        let turn = self.worker.turn.as_ref()?;
        let cta = self.worker.hand.as_ref()?.blocks.get(turn.rank)?;
        let index = turn.warp.as_ref()?.index;
        let warp: &Warp = cta.warps.get(index)?;
        let group: &Group = warp.groups.iter().find(|group| group.wait == Wait::Running)?;
        let warp = WarpId { block: cta.index, warp: index as u32 };
        Some(Running { warp, lanes: group.lanes, position: group.position })
    }

    /// Has it stand still before each of the instructions at these positions of [`Session::code`], from the next run on; not
    /// before the one that it stands before already. Those that are not there are none.
    pub fn break_at(&mut self, positions: &[u32]) {
        let instructions = self.code().insts.len();
        self.worker.pauses.breaks.set(positions, instructions);
    }

    /// Has it stand still before each instruction of some lanes of a warp, or does so no longer.
    pub fn follow(&mut self, lanes: Option<(WarpId, LaneMask)>) {
        self.worker.pauses.breaks.followed = lanes;
    }

    /// Whether it is to stand still behind instructions that something is found of, and where nothing can run any more.
    pub fn pause_at_findings(&mut self, pauses: bool) {
        self.worker.pauses.findings = pauses;
    }

    /// The code that it runs.
    pub fn code(&self) -> &Code {
        self.worker.grid.code
    }

    /// What was launched.
    pub fn launch(&self) -> &Launch {
        self.worker.grid.launch
    }

    /// Blocks of a cluster.
    pub fn cluster(&self) -> Dim3 {
        self.worker.grid.cluster
    }

    /// Bytes of shared memory of a block, from the start of the window.
    pub fn shared_bytes(&self) -> u32 {
        self.worker.grid.shared_bytes
    }

    /// Where a position of the code is in the PTX text and in the CUDA source; none is behind its end.
    pub fn place(&self, position: u32) -> Option<CodePlace> {
        let code = self.code();
        code.meta.get(position as usize)?;
        Some(place(code, None, position))
    }

    /// How often anything was found so far, by faults and by tools that report at once.
    pub fn found(&self) -> u64 {
        self.worker.grid.found().count()
    }

    /// What was found so far, in the order in which each was first.
    pub fn findings(&self) -> Vec<Finding> {
        self.worker.grid.found().list().cloned().collect()
    }

    /// What finished blocks printed so far, and those that are resident.
    pub fn output(&self) -> Vec<u8> {
        let mut output = self.worker.grid.printed();
        output.extend(self.look().blocks().flat_map(|block| block.output()));
        output
    }

    /// What it is made of, where it stands.
    pub fn look(&self) -> Look<'_> {
        Look::new(self.worker, &self.looked)
    }

    /// Reads global memory.
    ///
    /// # Errors
    /// The range is not inside an allocation.
    pub fn read(&self, from: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let count = bytes.len() as u64;
        self.worker
            .grid
            .memory
            .with_range(from, count, "read", |allocation, at| allocation.cells.read(at, bytes))
    }

    /// The state that it is in. Takes time in proportion to all that is allocated, and memory to what has changed since the
    /// last one.
    pub fn checkpoint(&mut self) -> Checkpoint {
        let checkpoint = self.worker.checkpoint(self.memory.as_ref());
        self.memory = Some(checkpoint.memory.clone());
        checkpoint
    }

    /// Puts it back to a state that it was in. Tools are not put back: they hear again of what is done again.
    pub fn restore(&mut self, checkpoint: &Checkpoint) {
        self.worker.restore(checkpoint);
        self.worker.pauses.clear();
        self.memory = Some(checkpoint.memory.clone());
        self.over = false;
    }
}
