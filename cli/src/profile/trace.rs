//! Launches as a timeline: the trace events that Perfetto and Chrome's `about:tracing` read.

use serde_json::{Value as Json, json};
use warpgrind::profile::time::{Chip, Timed};

/// The process under which launches are shown; multiprocessors have the next one.
const LAUNCHES: u32 = 1;
const MULTIPROCESSORS: u32 = 2;

/// Launches one after the other, each with its kernel's name: when it runs, and when each of its blocks is on which multiprocessor,
/// in microseconds. What was not timed is left out.
pub(super) fn events<'a>(chip: &Chip, launches: impl Iterator<Item = (String, &'a Timed)>) -> Json {
    let name = |pid: u32, name: &str| json!({ "name": "process_name", "ph": "M", "pid": pid, "args": { "name": name } });
    let mut events = vec![name(LAUNCHES, "launches"), name(MULTIPROCESSORS, "multiprocessors")];
    let microseconds = |cycles: f64| cycles / chip.clock * 1e6;
    let mut begins = 0.0;
    let mut used = vec![false; chip.multiprocessors as usize];
    for (kernel, timed) in launches {
        let time = &timed.time;
        let (blocks, all) = timed.blocks;
        events.push(json!({
            "name": kernel, "ph": "X", "pid": LAUNCHES, "tid": 0,
            "ts": microseconds(begins), "dur": microseconds(time.elapsed),
            "args": { "cycles": time.elapsed.round(), "blocks": blocks, "of": all },
        }));
        let first = begins + chip.launch.before;
        for stay in &time.blocks {
            if let Some(used) = used.get_mut(stay.multiprocessor as usize) {
                *used = true;
            }
            events.push(json!({
                "name": format!("{kernel} block {}", stay.block), "ph": "X",
                "pid": MULTIPROCESSORS, "tid": stay.multiprocessor,
                "ts": microseconds(first + stay.from), "dur": microseconds(stay.to - stay.from),
            }));
        }
        begins += time.elapsed;
    }
    let named = used.iter().enumerate().filter(|(_, used)| **used).map(|(number, _)| {
        json!({
            "name": "thread_name", "ph": "M", "pid": MULTIPROCESSORS, "tid": number,
            "args": { "name": format!("SM {number}") },
        })
    });
    events.extend(named.collect::<Vec<_>>());
    json!({ "traceEvents": events, "displayTimeUnit": "ns" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpgrind::profile::time::{Stay, Time};

    #[test]
    fn blocks_lie_within_their_launch() {
        let blocks = vec![Stay { block: 7, multiprocessor: 3, from: 0.0, to: 990.0 }];
        let time = Time { elapsed: 3960.0, blocks, ..Time::default() };
        let timed = Timed {
            time,
            blocks: (1, 1),
            sampling: None,
            lowered: false,
            lines: Vec::new(),
            values: Vec::new(),
        };
        let launches = [("k".to_owned(), &timed), ("k".to_owned(), &timed)];
        let trace = events(&Chip::h200(), launches.into_iter());
        let of = |pid: u32| -> Vec<(f64, f64)> {
            let all = trace["traceEvents"].as_array().unwrap().iter();
            let own = all.filter(|event| event["pid"] == pid && event["ph"] == "X");
            own.map(|event| (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap())).collect()
        };
        assert_eq!(of(LAUNCHES), [(0.0, 2.0), (2.0, 2.0)]);
        for ((launch, lasts), (block, stays)) in of(LAUNCHES).into_iter().zip(of(MULTIPROCESSORS)) {
            assert!(launch < block && block + stays < launch + lasts);
        }
    }
}
