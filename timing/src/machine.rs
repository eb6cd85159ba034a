//! A chip with a launch on it, as data: what is resident, and what is to be looked at next.

use crate::chip::Chip;
use crate::code::{Op, Unit};
use crate::events::{Event, Events};

use crate::meeting::{Clusters, Phases};
use crate::memory::Memory;
use crate::sm::{Multiprocessor, Resident, Seat, Stall, SubCore, Warp};
use crate::work::{Launch, Stay, Work};
use crate::{constants, fetch};

/// The chip with a launch on it.
pub(crate) struct Machine<'a> {
    pub(crate) chip: &'a Chip,
    pub(crate) code: &'a [Op],
    pub(crate) launch: &'a Launch,
    pub(crate) work: &'a dyn Work,
    pub(crate) memory: Memory<'a>,
    pub(crate) multiprocessors: Vec<Multiprocessor>,
    pub(crate) code_behind: fetch::Behind,
    pub(crate) constants_behind: constants::Behind,
    pub(crate) cores: Vec<SubCore>,
    pub(crate) warps: Vec<Warp>,
    pub(crate) free_warps: Vec<u32>,
    pub(crate) residents: Vec<Resident>,
    pub(crate) free_residents: Vec<u32>,
    pub(crate) events: Events,
    /// The next block, and when one was placed last.
    pub(crate) block: u64,
    pub(crate) placed: f64,
    /// When the next warp can begin, on whatever multiprocessor.
    pub(crate) begins: f64,
    /// Whether a placement is among the events.
    pub(crate) placing: bool,
    pub(crate) intervals: [f64; Unit::COUNT],
    pub(crate) latencies: [f64; Unit::COUNT],
    pub(crate) stalls: Vec<[f64; Stall::COUNT]>,
    pub(crate) issued_by: Vec<u64>,
    pub(crate) resident: f64,
    pub(crate) last: f64,
    /// When all is done that was written.
    pub(crate) written: f64,
    pub(crate) stays: Vec<Stay>,
    pub(crate) phases: Phases,
    pub(crate) clusters: Clusters,
    /// When the next lane can take room for what it prints.
    pub(crate) printing: f64,
    /// Whether there is a barrier of clusters.
    pub(crate) clustered: bool,
    /// Words of its own memory that a thread has, by the instructions that say where.
    pub(crate) frame: u64,
}

/// An instruction that is issued.
#[derive(Clone, Copy)]
pub(crate) struct Issued<'a> {
    /// The warp.
    pub(crate) index: u32,
    /// The instruction's index.
    pub(crate) at: u32,
    pub(crate) op: &'a Op,
    pub(crate) now: f64,
    /// When its unit is free again.
    pub(crate) busy_until: f64,
}

/// What becomes of a warp by an instruction.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// When it goes on, and what it waits for until then.
    pub(crate) ready: f64,
    pub(crate) stall: Stall,
    /// When the result is there, and when the operands have been read.
    pub(crate) result: f64,
    pub(crate) read: f64,
    /// Whether the result comes from far away.
    pub(crate) far: bool,
    /// Whether it goes on when somebody else says so.
    pub(crate) sleeps: bool,
}

impl Outcome {
    pub(crate) fn wait_until(&mut self, at: f64, why: Stall) {
        self.ready = self.ready.max(at);
        self.stall = why;
    }
}

/// The next whole number that is not less; as [`f64::ceil`], which is a call where a compiler may not take for granted that the
/// host has an instruction for it.
pub(crate) fn up(at: f64) -> f64 {
    // All larger ones are whole, or no numbers.
    if at.abs() < (1u64 << 52) as f64 {
        let whole = at as i64 as f64;
        if whole < at { whole + 1.0 } else { whole }
    } else {
        at
    }
}

impl Machine<'_> {
    /// Where a warp sits in its sub-core, unless it has ended.
    pub(crate) fn seat(&mut self, index: u32) -> Option<&mut Seat> {
        let warp = &self.warps[index as usize];
        let seat = self.cores[warp.core as usize].seats.get_mut(warp.seat as usize);
        seat.filter(|seat| seat.warp == index)
    }

    /// A warp can be issued from a time on.
    pub(crate) fn set_ready(&mut self, index: u32, at: f64) {
        if let Some(seat) = self.seat(index) {
            seat.when = at;
        }
    }

    /// The multiprocessor of a warp.
    pub(crate) fn multiprocessor(&mut self, index: u32) -> &mut Multiprocessor {
        let resident = self.warps[index as usize].resident;
        let number = self.residents[resident as usize].multiprocessor;
        &mut self.multiprocessors[number as usize]
    }

    /// The cluster of a warp, and how many blocks it has.
    pub(crate) fn cluster_of(&self, index: u32) -> (u64, u32) {
        let resident = &self.residents[self.warps[index as usize].resident as usize];
        let size = u64::from(self.launch.cluster.max(1));
        let number = resident.stay.map_or(0, |stay| stay.block) / size;
        (number, size.min(self.launch.blocks - number * size) as u32)
    }

    /// Warps that slept go on.
    pub(crate) fn go_on(&mut self, warps: Vec<u32>, at: f64) {
        let at = up(at);
        for index in warps {
            let warp = &mut self.warps[index as usize];
            warp.stall = Stall::Barrier;
            let core = warp.core;
            // Who asks while it is in its last instruction is ready no sooner than that says.
            let when = at.max(warp.issued + 1.0);
            self.set_ready(index, when);
            wake(&mut self.events, &mut self.cores, core, when);
        }
    }
}

/// Has a sub-core looked at no later than at a time.
pub(crate) fn wake(events: &mut Events, cores: &mut [SubCore], core: u32, at: f64) {
    let of = &mut cores[core as usize];
    if at < of.scheduled {
        of.scheduled = at;
        events.push(Event { at, what: core });
    }
}
