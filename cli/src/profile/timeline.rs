//! When a program's devices do what it has them do: kernels take as long as the model says, copies and fills what they take on the
//! chip. What the host takes is left out, but not that it waits.

use std::collections::{HashMap, VecDeque};

use protocol::operations::{Doing, Id, Note, Side, Submission};
use warpgrind::profile::time::{Chip, Copying};

/// Kernels that a device runs at the same time, at most.
const MOST_KERNELS: usize = 128;

/// How long a kernel takes, in cycles, and what share of the device's multiprocessors it fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    pub(super) cycles: f64,
    pub(super) share: f64,
}

/// An operation and when it is done, in cycles.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) of: &'a Submission,
    pub(super) begins: f64,
    pub(super) lasts: f64,
    /// Of a copy or a fill: where it is done.
    pub(super) engine: Option<Engine>,
}

/// What does copies, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Engine {
    In,
    Out,
    Within,
}

impl Engine {
    pub(super) const ALL: [(Engine, &'static str); 3] = [
        (Engine::In, "copies to the device"),
        (Engine::Out, "copies to the host"),
        (Engine::Within, "copies and fills in the device"),
    ];
}

/// What does a copy from one side to another, and how fast. Managed memory lies where it was last: in the device.
fn copying(chip: &Chip, from: Side, to: Side) -> (Engine, Copying) {
    let copies = &chip.copies;
    match (from, to) {
        (Side::Pageable, _) => (Engine::In, copies.pageable_in),
        (_, Side::Pageable) => (Engine::Out, copies.pageable_out),
        (Side::Pinned, _) => (Engine::In, copies.pinned_in),
        (_, Side::Pinned) => (Engine::Out, copies.pinned_out),
        _ => (Engine::Within, copies.device),
    }
}

/// A device while operations are placed.
#[derive(Default)]
struct Device {
    /// When each engine is free.
    free: HashMap<Engine, f64>,
    /// Kernels with their begin, end and share, the last ones.
    kernels: VecDeque<(f64, f64, f64)>,
    /// By stream: when all is done that was submitted to it, and whether it and the legacy default stream wait for each other.
    streams: HashMap<Option<u64>, (f64, bool)>,
}

impl Device {
    /// When an operation can begin, by the order of its stream.
    fn turn(&self, of: &Submission) -> f64 {
        let waits = |stream: &Option<u64>, blocking: bool| {
            *stream == of.stream || of.blocking && blocking && (stream.is_none() || of.stream.is_none())
        };
        let ends = self.streams.iter().filter(|(stream, end)| waits(stream, end.1)).map(|(_, end)| end.0);
        if of.in_order { ends.fold(0.0, f64::max) } else { 0.0 }
    }

    /// When a kernel that is ready can begin: as soon as the others leave it enough multiprocessors, all the time.
    fn begin(&mut self, ready: f64, of: Takes) -> f64 {
        let ends = self.kernels.iter().map(|kernel| kernel.1).filter(|&end| end > ready);
        let mut begins: Vec<f64> = std::iter::once(ready).chain(ends).collect();
        begins.sort_by(f64::total_cmp);
        let fits = |begin: f64| {
            let end = begin + of.cycles;
            let beside = self.kernels.iter().filter(|kernel| kernel.0 < end && kernel.1 > begin);
            beside.map(|kernel| kernel.2).sum::<f64>() + of.share <= 1.0
        };
        // Behind the last one there is nobody beside it.
        let begin =
            begins.iter().copied().find(|&begin| fits(begin)).or(begins.last().copied()).unwrap_or(ready);
        if self.kernels.len() == MOST_KERNELS {
            self.kernels.pop_front();
        }
        self.kernels.push_back((begin, begin + of.cycles, of.share));
        begin
    }

    fn copy(&mut self, ready: f64, engine: Engine, cycles: f64) -> f64 {
        let free = self.free.entry(engine).or_default();
        let begins = free.max(ready);
        *free = begins + cycles;
        begins
    }
}

/// Places operations in the order in which they were submitted: each when those are over that it waits for, and what its thread
/// waited for before. `takes` says how long kernels take, if that is known.
pub(super) fn place<'a>(
    chip: &Chip,
    notes: &'a [Note],
    takes: impl Fn(Id) -> Option<Takes>,
) -> Vec<Placed<'a>> {
    let mut ends: HashMap<Id, f64> = HashMap::new();
    let mut threads: HashMap<(u32, u64), f64> = HashMap::new();
    let mut devices: HashMap<(u32, usize), Device> = HashMap::new();
    let mut list = Vec::new();
    for note in notes {
        let of = match note {
            Note::Submitted(of) => of,
            Note::Waited { operation, thread } => {
                let at = threads.entry((operation.0, *thread)).or_default();
                *at = at.max(ends.get(operation).copied().unwrap_or(0.0));
                continue;
            }
            Note::Saved(..) => continue,
        };
        let process = of.id.0;
        let waits = of.after.iter().filter_map(|&number| ends.get(&(process, number)));
        let ready = waits.chain(threads.get(&(process, of.thread))).copied().fold(0.0, f64::max);
        let device = devices.entry((process, of.device)).or_default();
        let ready = ready.max(device.turn(of));
        let (begins, lasts, engine) = match of.what {
            Doing::Kernel(_) => match takes(of.id) {
                Some(takes) => (device.begin(ready, takes), takes.cycles, None),
                None => (ready, 0.0, None),
            },
            Doing::Copy { from, to, bytes } => {
                let (engine, copying) = copying(chip, from, to);
                let cycles = copying.cycles(bytes);
                (device.copy(ready, engine, cycles), cycles, Some(engine))
            }
            Doing::Fill(bytes) => {
                let cycles = chip.copies.fill.cycles(bytes);
                (device.copy(ready, Engine::Within, cycles), cycles, Some(Engine::Within))
            }
            Doing::Other => (ready, 0.0, None),
        };
        ends.insert(of.id, begins + lasts);
        if of.in_order {
            let end = device.streams.entry(of.stream).or_insert((0.0, of.blocking));
            end.0 = end.0.max(begins + lasts);
        }
        list.push(Placed { of, begins, lasts, engine });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submitted(number: u64, stream: u64, after: &[u64], what: Doing) -> Note {
        let (id, after) = ((1, number), after.to_vec());
        let (stream, blocking) = ((stream != 0).then_some(stream), stream < 10);
        Note::Submitted(Submission {
            id,
            thread: 5,
            device: 0,
            stream,
            blocking,
            in_order: true,
            after,
            what,
        })
    }

    fn kernel(number: u64, stream: u64, after: &[u64]) -> Note {
        submitted(number, stream, after, Doing::Kernel("k".into()))
    }

    fn copy(number: u64, stream: u64, after: &[u64], [from, to]: [Side; 2]) -> Note {
        submitted(number, stream, after, Doing::Copy { from, to, bytes: 1 << 20 })
    }

    fn begins(notes: &[Note], share: f64) -> Vec<(f64, f64)> {
        let takes = |_| Some(Takes { cycles: 1000.0, share });
        place(&Chip::h200(), notes, takes).iter().map(|of| (of.begins, of.begins + of.lasts)).collect()
    }

    #[test]
    fn a_stream_is_one_behind_the_other() {
        let notes = [kernel(0, 1, &[]), kernel(1, 1, &[0]), kernel(2, 2, &[])];
        assert_eq!(begins(&notes, 0.5), [(0.0, 1000.0), (1000.0, 2000.0), (0.0, 1000.0)]);
        // Two that fill the device are not at the same time there.
        assert_eq!(begins(&notes, 1.0), [(0.0, 1000.0), (1000.0, 2000.0), (2000.0, 3000.0)]);
    }

    #[test]
    fn the_default_stream_waits_for_those_that_do_not_say_otherwise() {
        let notes =
            [kernel(0, 1, &[]), kernel(1, 11, &[]), kernel(2, 0, &[]), kernel(3, 1, &[]), kernel(4, 11, &[])];
        let all: Vec<f64> = begins(&notes, 0.1).iter().map(|of| of.0).collect();
        assert_eq!(all, [0.0, 0.0, 1000.0, 2000.0, 1000.0]);
    }

    #[test]
    fn nodes_of_a_graph_have_an_order_of_their_own() {
        let mut notes = [kernel(0, 1, &[]), kernel(1, 1, &[0]), kernel(2, 1, &[0]), kernel(3, 1, &[1, 2])];
        for note in &mut notes[1..3] {
            let Note::Submitted(of) = note else { continue };
            of.in_order = false;
        }
        let all: Vec<f64> = begins(&notes, 0.1).iter().map(|of| of.0).collect();
        assert_eq!(all, [0.0, 1000.0, 1000.0, 2000.0]);
    }

    #[test]
    fn copies_of_one_direction_wait_for_each_other() {
        let (into, out) = ([Side::Pinned, Side::Device], [Side::Device, Side::Pinned]);
        let notes = [copy(0, 1, &[], into), copy(1, 2, &[], into), copy(2, 3, &[], out), kernel(3, 4, &[])];
        let all = begins(&notes, 1.0);
        assert_eq!([all[1].0, all[2].0, all[3].0], [all[0].1, 0.0, 0.0]);
        // A MiB takes some 22 microseconds.
        assert!((21.0..23.0).contains(&(all[0].1 / Chip::h200().clock * 1e6)), "{all:?}");
    }

    #[test]
    fn who_waited_goes_on_later() {
        let waited = Note::Waited { operation: (1, 0), thread: 5 };
        let notes = [kernel(0, 1, &[]), waited, kernel(1, 2, &[])];
        assert_eq!(begins(&notes, 0.1), [(0.0, 1000.0), (1000.0, 2000.0)]);
    }

    #[test]
    fn what_was_not_timed_takes_no_time() {
        let notes = [kernel(0, 1, &[]), kernel(1, 1, &[0])];
        let all = place(&Chip::h200(), &notes, |_| None);
        assert!(all.iter().all(|of| (of.begins, of.lasts) == (0.0, 0.0)));
    }
}
