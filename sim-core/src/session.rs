//! A launch that runs step by step: it stands still where one asks, and can go back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine;
use crate::finding::CodePlace;
use crate::launch::LaunchReport;
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

/// How far a launch is to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// To its end, or until a tool has it stand still ([`Context::pause`](crate::tools::Context::pause)).
    End,
    /// Until it has run so many warp instructions in all. A comparison and the branch on it count as two and are done as one.
    Instructions(u64),
    /// Until so many more events of some kinds were told, and the instruction that tells the last is done.
    Events(Wants, u64),
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// The warp.
    pub warp: WarpId,
    /// The lanes that run together.
    pub lanes: LaneMask,
    /// The instruction that they execute next.
    pub place: CodePlace,
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
}

/// Runs a grid as `direct` says, and then what it leaves.
pub(crate) fn run(
    grid: Grid<'_>,
    tools: Tools,
    direct: &mut dyn FnMut(&mut Session<'_, '_>),
) -> LaunchReport {
    let mut worker = Worker::new(&grid, tools);
    worker.pauses = Pauses::never(true);
    let mut session = Session { worker: &mut worker, memory: None, over: false };
    direct(&mut session);
    while session.run(Until::End) == Stop::Paused {}
    let (stats, tools) = worker.finish();
    engine::report(grid, stats, Some(tools))
}

impl Session<'_, '_> {
    /// Runs on.
    pub fn run(&mut self, until: Until) -> Stop {
        if self.over {
            return Stop::Ended;
        }
        self.worker.pauses = match until {
            Until::End => Pauses::never(true),
            Until::Instructions(instructions) => Pauses::at(instructions),
            Until::Events(kinds, events) => Pauses::after(kinds, events),
        };
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
        let place = place(self.worker.grid.code, Some((warp, group.frame)), group.position);
        Some(Running { warp: WarpId { block: cta.index, warp: index as u32 }, lanes: group.lanes, place })
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
        self.memory = Some(checkpoint.memory.clone());
        self.over = false;
    }
}
