//! What a program has its devices do as a timeline: the trace events that Perfetto and Chrome's `about:tracing` read.

use std::collections::BTreeMap;

use protocol::operations::{Doing, Id, Note, Side};
use serde_json::{Value as Json, json};
use warpgrind::profile::time::{Chip, Timed};

use super::timeline::{Engine, Placed, Takes, place};

/// The processes under which streams, copies and multiprocessors are shown, those of each device.
const STREAMS: usize = 1;
const COPIES: usize = 2;
const MULTIPROCESSORS: usize = 3;
const KINDS: usize = 3;

/// Blocks of a multiprocessor that are shown beside each other, at most.
const LANES: usize = 64;

/// A launch as it is shown.
pub(super) struct Shown<'a> {
    pub(super) kernel: String,
    pub(super) timed: &'a Timed,
    /// The share of the device's multiprocessors that it fills.
    pub(super) share: f64,
}

impl Shown<'_> {
    fn args(&self) -> Json {
        let (blocks, all) = self.timed.blocks;
        json!({ "cycles": self.timed.elapsed.round(), "blocks": blocks, "of": all })
    }
}

/// Launches by the operations that they are: each with those that it launched itself behind it.
pub(super) type Launches<'a> = BTreeMap<Id, Vec<Shown<'a>>>;

/// The events, in microseconds: when each operation of a stream is done and where, and when each block of a kernel is on which
/// multiprocessor. Of a launch that was not timed only the place in its stream is known.
pub(super) fn events(chip: &Chip, notes: &[Note], launches: &Launches<'_>) -> Json {
    let takes = |id: Id| {
        let all = launches.get(&id)?;
        let cycles = all.iter().map(|of| of.timed.elapsed).sum();
        Some(Takes { cycles, share: all.iter().map(|of| of.share).fold(0.0, f64::max) })
    };
    let mut trace = Trace { chip, events: Vec::new(), threads: BTreeMap::new(), blocks: Vec::new() };
    let placed = place(chip, notes, takes);
    // Streams are numbered in the order in which they are used; the legacy default stream is the first.
    let mut streams: BTreeMap<(usize, u32), Vec<u64>> = BTreeMap::new();
    for at in placed.iter().filter(|at| at.of.what != Doing::Other) {
        let device = Device { process: at.of.id.0, index: at.of.device };
        let stream = match at.of.stream {
            None => 0,
            Some(stream) => {
                let known = streams.entry((device.index, device.process)).or_default();
                let number = known.iter().position(|&of| of == stream).unwrap_or_else(|| {
                    known.push(stream);
                    known.len() - 1
                });
                number + 1
            }
        };
        trace.operation(device, stream, at, launches.get(&at.of.id).map_or(&[], |all| all));
    }
    trace.finish()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Device {
    index: usize,
    process: u32,
}

struct Trace<'a> {
    chip: &'a Chip,
    events: Vec<Json>,
    /// Names of what is shown, by device, kind and number.
    threads: BTreeMap<(Device, usize, usize), String>,
    blocks: Vec<Block>,
}

/// When a block is on a multiprocessor.
struct Block {
    device: Device,
    multiprocessor: u32,
    name: String,
    from: f64,
    to: f64,
}

impl Trace<'_> {
    fn microseconds(&self, cycles: f64) -> f64 {
        cycles / self.chip.clock * 1e6
    }

    /// Adds an event; which process of the trace it belongs to is known once all devices are.
    fn event(
        &mut self,
        (device, kind, thread): (Device, usize, usize),
        name: &str,
        when: (f64, f64),
        args: Json,
    ) {
        let (begins, lasts) = (self.microseconds(when.0), self.microseconds(when.1));
        self.events.push(json!({
            "name": name, "ph": "X", "ts": begins, "dur": lasts, "tid": thread, "args": args,
            "pid": [device.index, device.process as usize, kind],
        }));
    }

    fn operation(&mut self, device: Device, stream: usize, at: &Placed<'_>, launches: &[Shown<'_>]) {
        let when = (at.begins, at.lasts);
        let (name, mut args) = match (&at.of.what, launches.first()) {
            (Doing::Kernel(_), Some(launch)) => (launch.kernel.clone(), launch.args()),
            (Doing::Kernel(kernel), None) => {
                (reports::readable(kernel).into_owned(), json!({ "time": "not known" }))
            }
            (&Doing::Copy { from, to, bytes }, _) => {
                let args = json!({ "bytes": bytes, "from": side(from), "to": side(to) });
                (format!("copy: {} to {}", side(from), side(to)), args)
            }
            (&Doing::Fill(bytes), _) => ("fill".into(), json!({ "bytes": bytes })),
            (Doing::Other, _) => return,
        };
        if let Some(bytes) = args["bytes"].as_u64().filter(|_| at.lasts > 0.0) {
            args["GB/s"] = json!((bytes as f64 / self.microseconds(at.lasts) / 10.0).round() / 100.0);
        }
        let title = if stream == 0 { "default stream".into() } else { format!("stream {stream}") };
        self.threads.insert((device, STREAMS, stream), title);
        if let Some(number) = Engine::ALL.iter().position(|(engine, _)| Some(*engine) == at.engine) {
            self.threads.insert((device, COPIES, number), Engine::ALL[number].1.into());
            self.event((device, COPIES, number), &name, when, args.clone());
        }
        self.event((device, STREAMS, stream), &name, when, args);
        let mut begins = at.begins;
        for (place, launch) in launches.iter().enumerate() {
            let lasts = launch.timed.elapsed;
            // Within the one that launched it.
            if place > 0 {
                self.event((device, STREAMS, stream), &launch.kernel, (begins, lasts), launch.args());
            }
            self.blocks(device, begins, launch);
            begins += lasts;
        }
    }

    fn blocks(&mut self, device: Device, begins: f64, launch: &Shown<'_>) {
        let first = begins + self.chip.launch.before;
        self.blocks.extend(launch.timed.time.blocks.iter().map(|stay| Block {
            device,
            multiprocessor: stay.multiprocessor,
            name: format!("{} block {}", launch.kernel, stay.block),
            from: first + stay.from,
            to: first + stay.to,
        }));
    }

    /// The blocks of all launches. Those that are on a multiprocessor at the same time lie beside each other.
    fn place_blocks(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.sort_by(|a, b| a.from.total_cmp(&b.from));
        // By multiprocessor: when each lane of it is free.
        let mut lanes: BTreeMap<(Device, u32), Vec<f64>> = BTreeMap::new();
        for block in blocks {
            let lanes = lanes.entry((block.device, block.multiprocessor)).or_default();
            let lane = lanes.iter().position(|&free| free <= block.from).unwrap_or(lanes.len());
            match lanes.get_mut(lane) {
                Some(free) => *free = block.to,
                None => lanes.push(block.to),
            }
            let thread = block.multiprocessor as usize * LANES + lane.min(LANES - 1);
            let track = (block.device, MULTIPROCESSORS, thread);
            self.threads.insert(track, format!("SM {}", block.multiprocessor));
            self.event(track, &block.name, (block.from, block.to - block.from), json!({}));
        }
    }

    fn finish(mut self) -> Json {
        self.place_blocks();
        let mut devices: Vec<Device> = self.threads.keys().map(|(device, ..)| *device).collect();
        devices.dedup();
        let process = |device: Device, kind: usize| {
            let number = devices.iter().position(|&of| of == device).unwrap_or(0);
            number * KINDS + kind
        };
        for event in &mut self.events {
            let part = |at: usize| event["pid"][at].as_u64().unwrap_or(0);
            let device = Device { index: part(0) as usize, process: part(1) as u32 };
            event["pid"] = json!(process(device, part(2) as usize));
        }
        let mut names = Vec::new();
        let name = |what: &str, pid: usize, tid: usize, name: &str| json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "args": { "name": name } });
        let order = |what: &str, pid: usize, tid: usize, at: usize| json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "args": { "sort_index": at } });
        for &device in &devices {
            for (kind, what) in
                [(STREAMS, "streams"), (COPIES, "copies"), (MULTIPROCESSORS, "multiprocessors")]
            {
                let title = match devices.len() {
                    1 => what.to_owned(),
                    _ => format!("{what} of device {} (process {})", device.index, device.process),
                };
                let pid = process(device, kind);
                names.push(name("process_name", pid, 0, &title));
                names.push(order("process_sort_index", pid, 0, pid));
            }
        }
        for ((device, kind, thread), title) in &self.threads {
            names.push(name("thread_name", process(*device, *kind), *thread, title));
            names.push(order("thread_sort_index", process(*device, *kind), *thread, *thread));
        }
        names.append(&mut self.events);
        json!({ "traceEvents": names, "displayTimeUnit": "ns" })
    }
}

fn side(of: Side) -> &'static str {
    match of {
        Side::Device => "device",
        Side::Pinned => "pinned host memory",
        Side::Pageable => "pageable host memory",
        Side::Managed => "managed memory",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::operations::Submission;
    use warpgrind::profile::time::{Stay, Time};

    fn submission(id: Id, stream: Option<u64>, after: Vec<u64>, what: Doing) -> Submission {
        Submission { id, thread: 0, device: 0, stream, blocking: true, in_order: true, after, what }
    }

    fn timed(blocks: Vec<Stay>) -> Timed {
        Timed {
            time: Time { elapsed: 3960.0, blocks, ..Time::default() },
            elapsed: 3960.0,
            blocks: (1, 1),
            sampling: None,
            lowered: false,
            lines: Vec::new(),
            values: Vec::new(),
        }
    }

    /// What is shown of a kind: track, begin and length.
    fn of(trace: &Json, pid: usize) -> Vec<(u64, f64, f64)> {
        let all = trace["traceEvents"].as_array().unwrap().iter();
        let own = all.filter(|event| event["pid"] == pid && event["ph"] == "X");
        let number = |of: &Json| of.as_f64().unwrap();
        own.map(|event| (event["tid"].as_u64().unwrap(), number(&event["ts"]), number(&event["dur"])))
            .collect()
    }

    #[test]
    fn blocks_lie_within_their_launch_and_beside_each_other() {
        let stay = |block, from, to| Stay { block, multiprocessor: 3, from, to };
        let timed = timed(vec![stay(0, 0.0, 400.0), stay(1, 10.0, 990.0), stay(2, 500.0, 900.0)]);
        let kernel = |number, after| {
            let what = Doing::Kernel("k".into());
            Note::Submitted(submission((0, number), None, after, what))
        };
        let notes = [kernel(0, vec![]), kernel(1, vec![0])];
        let shown = |number| ((0, number), vec![Shown { kernel: "k".into(), timed: &timed, share: 1.0 }]);
        let trace = events(&Chip::h200(), &notes, &[shown(0), shown(1)].into());
        let launches = of(&trace, STREAMS);
        assert_eq!(launches, [(0, 0.0, 2.0), (0, 2.0, 2.0)]);
        let blocks = of(&trace, MULTIPROCESSORS);
        let lanes: Vec<u64> = blocks.iter().map(|block| block.0 - 3 * LANES as u64).collect();
        assert_eq!(lanes, [0, 1, 0, 0, 1, 0]);
        for (launch, blocks) in launches.iter().zip(blocks.chunks(3)) {
            assert!(blocks.iter().all(|of| of.1 > launch.1 && of.1 + of.2 < launch.1 + launch.2));
        }
    }

    #[test]
    fn blocks_of_a_launch_that_began_before_take_lanes_that_are_free_then() {
        let timed = timed(vec![Stay { block: 0, multiprocessor: 0, from: 0.0, to: 400.0 }]);
        let kernel = |number, stream, after| {
            let what = Doing::Kernel("k".into());
            Note::Submitted(submission((0, number), Some(stream), after, what))
        };
        // The third is asked for last and begins with the first.
        let notes = [kernel(0, 1, vec![]), kernel(1, 1, vec![0]), kernel(2, 2, vec![])];
        let shown = |number| ((0, number), vec![Shown { kernel: "k".into(), timed: &timed, share: 0.1 }]);
        let trace = events(&Chip::h200(), &notes, &[shown(0), shown(1), shown(2)].into());
        let lanes: Vec<u64> = of(&trace, MULTIPROCESSORS).iter().map(|block| block.0).collect();
        assert_eq!(lanes, [0, 1, 0]);
    }

    #[test]
    fn copies_are_in_their_stream_and_with_their_engine() {
        let copy = Doing::Copy { from: Side::Device, to: Side::Pageable, bytes: 1 << 24 };
        let id = (7, 2);
        let note = submission(id, Some(11), vec![], copy);
        let trace = events(&Chip::h200(), &[Note::Submitted(note)], &BTreeMap::new());
        let (stream, engine) = (of(&trace, STREAMS), of(&trace, COPIES));
        assert_eq!((stream[0].0, engine[0].0, stream[0].2), (1, 1, engine[0].2));
        let event = &trace["traceEvents"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (&event["args"]["bytes"], &event["args"]["to"]),
            (&json!(1 << 24), &json!("pageable host memory"))
        );
    }
}
