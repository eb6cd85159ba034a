//! What is to be looked at next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something to look at: a sub-core, or the placement of blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Event {
    pub(crate) at: f64,
    /// A sub-core's number; [`PLACE`]; or behind that, a multiprocessor whose block has ended.
    pub(crate) what: u32,
}

/// Looks at the placement of blocks.
pub(crate) const PLACE: u32 = 1 << 20;

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        // The earliest is the greatest.
        other.at.total_cmp(&self.at).then(other.what.cmp(&self.what))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Cycles that the wheel reaches ahead.
const SPAN: u64 = 1 << 10;

/// Events, the earliest first, of several at a time the one of the lowest number. Almost all are sub-cores in one of the next
/// cycles: these are bits of a wheel, a cycle a row; the others are a heap. A sub-core is in a cycle once.
pub(crate) struct Events {
    heap: BinaryHeap<Event>,
    /// The cycle before which nothing is on the wheel.
    now: u64,
    /// Words a cycle.
    width: usize,
    wheel: Vec<u64>,
    /// Which rows have something.
    rows: [u64; (SPAN / 64) as usize],
}

impl Events {
    /// Of so many sub-cores.
    pub(crate) fn new(cores: u32) -> Self {
        let width = cores.div_ceil(64) as usize;
        let wheel = vec![0; width * SPAN as usize];
        Events { heap: BinaryHeap::new(), now: 0, width, wheel, rows: [0; (SPAN / 64) as usize] }
    }

    pub(crate) fn push(&mut self, event: Event) {
        let Event { at, what } = event;
        let cycle = at as u64;
        let near = cycle >= self.now && cycle - self.now < SPAN && cycle as f64 == at;
        if !near || what as usize >= 64 * self.width {
            return self.heap.push(event);
        }
        let row = cycle % SPAN;
        self.wheel[row as usize * self.width + what as usize / 64] |= 1 << (what % 64);
        self.rows[row as usize / 64] |= 1 << (row % 64);
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let near = self.nearest();
        if let Some(first) = self.heap.peek()
            && near.is_none_or(|(near, ..)| *first > near)
        {
            self.now = self.now.max(first.at as u64);
            return self.heap.pop();
        }
        let (event, row, word) = near?;
        self.now = event.at as u64;
        let words = &mut self.wheel[row * self.width..(row + 1) * self.width];
        words[word] &= words[word] - 1;
        if words[word] == 0 && words.iter().all(|&word| word == 0) {
            self.rows[row / 64] &= !(1 << (row % 64));
        }
        Some(event)
    }

    /// The first on the wheel, its row and its word there.
    fn nearest(&self) -> Option<(Event, usize, usize)> {
        let first = (self.now % SPAN) as usize;
        let count = self.rows.len();
        // From the row of now on, around to the rows before it.
        let row = (0..=count).find_map(|step| {
            let at = (first / 64 + step) % count;
            let later = u64::MAX << (first % 64);
            let mask = match step {
                0 => later,
                _ if step == count => !later,
                _ => u64::MAX,
            };
            let rows = self.rows[at] & mask;
            (rows != 0).then(|| at * 64 + rows.trailing_zeros() as usize)
        })?;
        let words = &self.wheel[row * self.width..(row + 1) * self.width];
        let word = words.iter().position(|&word| word != 0)?;
        let cycle = self.now + (row as u64).wrapping_sub(self.now) % SPAN;
        let what = word as u32 * 64 + words[word].trailing_zeros();
        Some((Event { at: cycle as f64, what }, row, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The wheel gives what a heap of all events gives, but that a sub-core is in a cycle once.
        #[test]
        fn the_earliest_comes_first(
            steps in proptest::collection::vec((0u32..4, 0u32..5000, 0u32..140, any::<bool>()), 1..400),
        ) {
            let mut events = Events::new(132);
            let mut heap = BinaryHeap::new();
            let mut now = 0.0;
            for (kind, ahead, what, pops) in steps {
                let ahead = match kind {
                    0 => f64::from(ahead % 8),
                    1 => f64::from(ahead) / 4.0,
                    2 => f64::from(ahead),
                    // Before what was looked at last.
                    _ => -f64::from(ahead % 3),
                };
                let event = Event { at: f64::max(now + ahead, 0.0), what: if what < 132 { what } else { PLACE + what } };
                events.push(event);
                heap.push(event);
                if pops {
                    let first = heap.pop();
                    while heap.peek() == first.as_ref() {
                        heap.pop();
                    }
                    let own = events.pop();
                    prop_assert_eq!(own, first);
                    while own.is_some_and(|own| events.heap.peek() == Some(&own)) {
                        events.heap.pop();
                    }
                    now = first.map_or(now, |first| first.at);
                }
            }
        }
    }
}
