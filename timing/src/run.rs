//! The model: blocks are placed, warps issue, until nothing is left.

use crate::chip::Chip;
use crate::code::{Does, Op, Unit};
use crate::events::{Event, Events, PLACE};
use crate::machine::Machine;
use crate::meeting::{Clusters, Phases};
use crate::memory::Memory;
use crate::sm::{Multiprocessor, Stall, SubCore};
use crate::work::{Launch, Stay, Work};
use crate::{constants, fetch};

pub use crate::sm::Stall as Reason;

/// Events between looks at whether anybody wants to know.
const LOOK: u32 = 1 << 12;

/// What a launch took.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Time {
    /// Cycles from the launch's begin to its end (`gpc__cycles_elapsed.max`).
    pub elapsed: f64,
    /// Cycles in which a multiprocessor had a block: in the middle, and the most (`sm__cycles_active`).
    pub active: f64,
    /// The least and the most of a multiprocessor.
    pub active_bounds: [f64; 2],
    /// Instructions that were issued.
    pub issued: u64,
    /// By sub-core, those of a multiprocessor beside each other.
    pub issued_by: Vec<u64>,
    /// Cycles that warps were resident, all together.
    pub resident: f64,
    /// By instruction: cycles that warps waited to issue it, by [`Stall`].
    pub stalls: Vec<[f64; Stall::COUNT]>,
    /// Sectors of the second level that were read, written, changed.
    pub l2_read: u64,
    /// Written.
    pub l2_write: u64,
    /// Changed by atomic operations.
    pub l2_atomic: u64,
    /// Of the sectors that multiprocessors asked for, those that were found.
    pub l2_hit: f64,
    /// Sectors that went to and from multiprocessors.
    pub l2_asked: u64,
    /// Bytes read from memory.
    pub dram_read: u64,
    /// Bytes written to memory.
    pub dram_write: u64,
    /// Those that were written and are not yet there.
    pub dirty: u64,
    /// Bytes of lines that came to the second level, in each of its partitions.
    pub taken: u64,
    /// Where each block was, and when, in the order in which they ended.
    pub blocks: Vec<Stay>,
}

impl Time {
    /// Bytes written to memory where a launch goes on so many times as long. The second level keeps what was used last in sets, to which
    /// lines come as if by chance, so that some are full before others (`testdata/timing/recordings/copies_h200.csv`).
    #[must_use]
    pub fn written(&self, chip: &Chip, scale: f64) -> f64 {
        let known = self.dram_write as f64;
        if scale <= 1.0 {
            return known;
        }
        let l2 = &chip.l2;
        let before = l2.before as f64;
        let new = (known + self.dirty as f64 - before).max(0.0) * scale;
        let ways = f64::from(l2.ways);
        let a_set = |bytes: f64| bytes * ways / (l2.bytes as f64).max(1.0);
        let own = a_set(self.taken as f64 * scale);
        let old = a_set(before);
        let gone = beyond(own, ways) / own.max(f64::MIN_POSITIVE);
        // What was written before goes where there is no room beside that and what was read since.
        let room = ways - a_set(l2.newer as f64) - old;
        let gone_before = (beyond(own, room) - beyond(own, room + old)) / old.max(f64::MIN_POSITIVE);
        let [stays, stays_before] = [new * (1.0 - gone), before * (1.0 - gone_before.clamp(0.0, 1.0))];
        // Half of all lines are in both partitions.
        let most = (l2.dirty as f64 - stays_before).max(0.0) / 1.5;
        let all = if stays > most {
            new - l2.dirty as f64 / 1.5 + before
        } else {
            new - stays + before - stays_before
        };
        all.max(known)
    }
}

/// How much more than so much room is wanted in the mean, where so many come to it by chance in the middle.
fn beyond(middle: f64, room: f64) -> f64 {
    if middle > 20.0 * room.max(1.0) {
        return middle - room;
    }
    let mut chance = (-middle).exp();
    let mut least = 0.0;
    // What there is less than is wanted, and the room that is left then.
    let mut count = 0.0;
    while count < room {
        least += chance * (room - count);
        count += 1.0;
        chance *= middle / count;
    }
    middle - room + least
}

/// How long a launch takes on a chip.
///
/// `work` is asked for the blocks in the order in which they are placed, which is that of their indices.
pub fn run(chip: &Chip, code: &[Op], launch: &Launch, work: &dyn Work) -> Time {
    let count = chip.multiprocessors;
    let l1 = chip.l1.bytes.saturating_sub(launch.shared_bytes).max(8 << 10);
    let rates = chip.units.all();
    let core = SubCore {
        seats: Vec::new(),
        units: [0.0; Unit::COUNT],
        free: [0.0; Unit::COUNT],
        last: u32::MAX,
        scheduled: f64::INFINITY,
        nearest: crate::fetch::Nearest::default(),
    };
    let mut machine = Machine {
        chip,
        code,
        launch,
        work,
        memory: Memory::new(chip),
        multiprocessors: (0..count).map(|number| Multiprocessor::new(chip, number, l1, code.len())).collect(),
        code_behind: fetch::Behind::new(chip, code.len()),
        constants_behind: constants::Behind::new(chip),
        cores: vec![core; 4 * count as usize],
        warps: Vec::new(),
        free_warps: Vec::new(),
        residents: Vec::new(),
        free_residents: Vec::new(),
        events: Events::new(4 * count),
        block: 0,
        placed: f64::NEG_INFINITY,
        begins: 0.0,
        placing: false,
        intervals: rates.map(|rate| rate.interval),
        latencies: rates.map(|rate| rate.latency),
        stalls: vec![[0.0; Stall::COUNT]; code.len()],
        issued_by: vec![0; 4 * count as usize],
        resident: 0.0,
        last: 0.0,
        written: 0.0,
        stays: Vec::new(),
        phases: Phases::default(),
        clusters: Clusters::default(),
        printing: 0.0,
        frame: code
            .iter()
            .map(|op| op.local.map_or(0, |at| u64::from(at + u32::from(op.bytes)) / 4))
            .max()
            .unwrap_or(0),
        clustered: code.iter().any(|op| matches!(op.does, Does::ClusterArrives | Does::ClusterWaits)),
    };
    machine.place_at(0.0);
    machine.run();
    machine.time()
}

impl Machine<'_> {
    fn run(&mut self) {
        let mut looked = 0u32;
        loop {
            while let Some(Event { at, what }) = self.events.pop() {
                looked = looked.wrapping_add(1);
                if looked.is_multiple_of(LOOK) && self.work.is_over() {
                    return;
                }
                match what {
                    PLACE => self.place(at),
                    ended if ended > PLACE => self.ended(at, ended - PLACE - 1),
                    core => {
                        // Those that were overtaken by an earlier one are left out.
                        if self.cores[core as usize].scheduled == at {
                            self.cores[core as usize].scheduled = f64::INFINITY;
                            self.core(core, at);
                        }
                    }
                }
            }
            // Warps that are left wait at barriers that nobody else reaches.
            if !self.release_all() {
                return;
            }
        }
    }

    fn time(self) -> Time {
        let active: Vec<f64> = self.multiprocessors.iter().map(|of| of.active).collect();
        let traffic = self.memory.traffic;
        Time {
            elapsed: self.last.max(self.written) + self.chip.launch.overhead,
            active: active.iter().sum::<f64>() / active.len() as f64,
            active_bounds: bounds(active.iter().copied()),
            issued: self.issued_by.iter().sum(),
            issued_by: self.issued_by,
            resident: self.resident,
            stalls: self.stalls,
            l2_read: traffic.read + self.chip.launch.sectors as u64 + self.code_behind.sectors(),
            l2_write: traffic.write,
            l2_atomic: traffic.atomic,
            l2_hit: if traffic.asked == 0 { 0.0 } else { traffic.hit as f64 / traffic.asked as f64 },
            l2_asked: traffic.asked,
            dram_read: traffic.dram_read + self.code_behind.bytes(),
            dram_write: traffic.dram_write,
            dirty: self.memory.dirty(),
            taken: self.memory.taken(),
            blocks: self.stays,
        }
    }
}

/// The least and the most.
pub fn bounds(of: impl Iterator<Item = f64>) -> [f64; 2] {
    let [least, most] =
        of.fold([f64::INFINITY, 0.0], |[least, most], own| [f64::min(least, own), f64::max(most, own)]);
    [least.min(most), most]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What launches of `testdata/timing/written.cu` had an H100 write, from what a part of them leaves in the second level.
    #[test]
    fn what_is_written_goes_on_once_there_is_no_room() {
        let chip = Chip::h100();
        for (read, written, scale, device) in
            [(0, 16, 16.0, 245_958_000.0), (8, 8, 25.0, 194_200_000.0), (8, 8, 1.5, 0.0)]
        {
            let model = written_by(&chip, [read, written], scale);
            assert!((model - device).abs() <= 0.05 * device + 4e5, "{read} {written} {scale}: {model}");
        }
        let time = Time { dram_write: 7, ..Time::default() };
        assert_eq!(time.written(&chip, 1.0), 7.0);
    }

    /// What a launch has memory write that goes on so many times as one that reads and writes so many MiB.
    fn written_by(chip: &Chip, [read, written]: [u64; 2], scale: f64) -> f64 {
        let mib = |count: u64| count << 20;
        let taken = mib(read + written) * 3 / 2;
        let dirty = chip.l2.before + mib(written);
        Time { dram_read: mib(read), dirty, taken, ..Time::default() }.written(chip, scale)
    }

    /// Copies of so many MiB on an H200, in several passes, and in one, before which nothing was written: `testdata/timing/rewritten.cu`.
    #[test]
    fn some_sets_are_full_before_others() {
        let recording = include_str!("../../testdata/timing/recordings/rewritten_h200.csv");
        let mut compared = 0;
        for row in recording.lines().filter(|row| row.starts_with("copy,")) {
            let cells: Vec<f64> = row.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
            let [mib, one, several] = cells[..] else { panic!("{row}") };
            let mut chip = Chip::h200();
            let part = mib as u64 / 2;
            let model = written_by(&chip, [part, part], mib / part as f64);
            assert!(
                (model - several).abs() < 0.06 * several + 3e5,
                "{mib}: {several} on a device, {model} here"
            );
            (chip.l2.before, chip.l2.newer) = (0, 0);
            let model = written_by(&chip, [part, part], mib / part as f64);
            assert!((model - one).abs() < 0.06 * one + 3e5, "{mib}: {one} on a device, {model} here");
            compared += 1;
        }
        assert_eq!(compared, 5);
    }
}
