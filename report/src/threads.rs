//! Sets of threads as boxes: a few ranges instead of thousands of positions.

use serde::Serialize;
use sim_core::{Dim3, ThreadId};

/// All positions between two corners, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Span3 {
    /// Lowest x, y, z.
    pub first: [u32; 3],
    /// Highest x, y, z.
    pub last: [u32; 3],
}

impl Span3 {
    fn point(at: Dim3) -> Self {
        let corner = [at.x, at.y, at.z];
        Self { first: corner, last: corner }
    }

    /// Takes in `next` if it continues this box along `axis` and agrees on the other two.
    fn extend(&mut self, next: &Span3, axis: usize) -> bool {
        let others = [0, 1, 2].into_iter().filter(|&other| other != axis);
        let same = others.into_iter().all(|o| self.first[o] == next.first[o] && self.last[o] == next.last[o]);
        let continues = same && self.last[axis].checked_add(1) == Some(next.first[axis]);
        if continues {
            self.last[axis] = next.last[axis];
        }
        continues
    }
}

impl std::fmt::Display for Span3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(")?;
        for axis in 0..3 {
            let (first, last) = (self.first[axis], self.last[axis]);
            f.write_str(if axis > 0 { ", " } else { "" })?;
            if first == last { write!(f, "{first}")? } else { write!(f, "{first}..={last}")? }
        }
        f.write_str(")")
    }
}

/// Threads that are the same in every block of a box.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ThreadGroup {
    /// Positions of the blocks in the grid.
    pub blocks: Span3,
    /// Positions of the threads in each of them.
    pub threads: Vec<Span3>,
}

/// Groups threads into boxes of threads in boxes of blocks.
pub fn group(threads: &[ThreadId]) -> Vec<ThreadGroup> {
    let mut sorted: Vec<&ThreadId> = threads.iter().collect();
    let key = |at: Dim3| (at.z, at.y, at.x);
    sorted.sort_by_key(|id| (key(id.block), key(id.thread)));
    let mut groups: Vec<ThreadGroup> = sorted
        .chunk_by(|a, b| a.block == b.block)
        .map(|ids| ThreadGroup {
            blocks: Span3::point(ids[0].block),
            threads: merge(ids.iter().map(|id| Span3::point(id.thread)).collect()),
        })
        .collect();
    for axis in 0..3 {
        groups =
            fold(groups, |last, next| last.threads == next.threads && last.blocks.extend(&next.blocks, axis));
    }
    groups
}

fn merge(mut boxes: Vec<Span3>) -> Vec<Span3> {
    for axis in 0..3 {
        boxes = fold(boxes, |last, next| last.extend(next, axis));
    }
    boxes
}

/// Merges neighbours while `join` takes the next into the last.
fn fold<T>(list: Vec<T>, join: impl Fn(&mut T, &T) -> bool) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    for next in list {
        if !out.last_mut().is_some_and(|last| join(last, &next)) {
            out.push(next);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(blocks: &[(u32, u32, u32)], threads: &[(u32, u32, u32)]) -> Vec<ThreadId> {
        let all = |&block: &(u32, u32, u32)| {
            threads.iter().map(move |&thread| ThreadId { block: block.into(), thread: thread.into() })
        };
        blocks.iter().flat_map(all).collect()
    }

    #[test]
    fn rows_and_planes_become_boxes() {
        let all: Vec<_> = (0..4).flat_map(|y| (0..8).map(move |x| (x, y, 0))).collect();
        let groups = group(&threads(&[(1, 0, 0), (2, 0, 0)], &all));
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].blocks.to_string(), "(1..=2, 0, 0)");
        assert_eq!(groups[0].threads[0].to_string(), "(0..=7, 0..=3, 0)");
    }

    #[test]
    fn gaps_are_kept() {
        let groups = group(&threads(&[(0, 0, 0)], &[(0, 0, 0), (2, 0, 0), (3, 0, 0)]));
        let shown: Vec<_> = groups[0].threads.iter().map(Span3::to_string).collect();
        assert_eq!(shown, ["(0, 0, 0)", "(2..=3, 0, 0)"]);
    }

    #[test]
    fn blocks_with_other_threads_stay_apart() {
        let mut all = threads(&[(0, 0, 0)], &[(0, 0, 0)]);
        all.extend(threads(&[(1, 0, 0)], &[(5, 0, 0)]));
        assert_eq!(group(&all).len(), 2);
        assert!(group(&[]).is_empty());
    }
}
