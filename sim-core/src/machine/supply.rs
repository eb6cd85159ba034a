//! Clusters that have not started: workers take several at a time, and give back what they will not start soon.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Has cache lines of its own: workers write to it often, and read what would lie beside it.
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// Most clusters that a worker takes at a time.
const MOST: u64 = 32;

/// Of its share of what is left a worker takes one of so many parts, so that all end together.
const PARTS: u64 = 8;

/// Clusters that have not started.
pub(super) struct Supply {
    /// The next one; beyond the last when all are taken.
    pub(super) next: Apart<AtomicU64>,
    count: u64,
    /// Among how many workers several at a time are shared out; none takes more than one with 0.
    workers: u64,
    /// Those that were given back, and how many ranges they are.
    returned: Mutex<Vec<Range<u64>>>,
    returns: AtomicUsize,
}

impl Supply {
    pub(super) fn new(count: u64, workers: u64) -> Supply {
        let (returned, returns) = (Mutex::default(), AtomicUsize::new(0));
        Supply { next: Apart(AtomicU64::new(0)), count, workers, returned, returns }
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The next one for a worker that took these. To take several spares the line of the counter its way from worker to
    /// worker, and who writes neighbouring blocks' memory writes what was fetched ahead.
    #[inline(always)]
    pub(super) fn start(&self, taken: &mut Range<u64>) -> Option<u64> {
        taken.next().or_else(|| {
            if self.returns.load(Relaxed) > 0
                && let Some(range) = self.take_returned()
            {
                *taken = range;
                return taken.next();
            }
            let left = self.count.saturating_sub(self.next.0.load(Relaxed));
            if left == 0 {
                return None;
            }
            let several = left.checked_div(PARTS * self.workers).map_or(1, |part| part.clamp(1, MOST));
            // Far from wrapping around: each worker asks but once more after the last.
            let first = self.next.0.fetch_add(several, Relaxed);
            *taken = first..self.count.min(first + several);
            taken.next()
        })
    }

    #[cold]
    fn take_returned(&self) -> Option<Range<u64>> {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        // The lowest: others may wait for it, without our knowing.
        let lowest = (0..returned.len()).min_by_key(|&at| returned[at].start);
        let range = lowest.map(|at| returned.swap_remove(at));
        self.returns.store(returned.len(), Relaxed);
        range
    }

    /// Gives back what a worker took and will not start soon: another one may, which the block that runs may even wait for.
    #[cold]
    pub(super) fn give_back(&self, taken: &mut Range<u64>) {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        returned.push(std::mem::take(taken));
        self.returns.store(returned.len(), Relaxed);
    }

    /// Whether there are any for a worker that took these.
    pub(super) fn are_left(&self, taken: &Range<u64>) -> bool {
        !taken.is_empty() || self.next.0.load(Relaxed) < self.count || self.returns.load(Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_starts_once_whoever_takes_it() {
        for (count, workers, shared) in
            [(0, 3, true), (1, 4, true), (31, 2, true), (5000, 1, true), (5000, 5, true), (5000, 5, false)]
        {
            let supply = Supply::new(count, if shared { workers } else { 0 });
            let started = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        let (mut taken, mut mine) = (0..0, Vec::new());
                        while let Some(next) = supply.start(&mut taken) {
                            assert!(taken.end - taken.start < if shared { MOST } else { 1 });
                            mine.push(next);
                            if next % 7 == 0 && !taken.is_empty() {
                                supply.give_back(&mut taken);
                            }
                        }
                        started.lock().unwrap().extend(mine);
                    });
                }
            });
            assert!(!supply.are_left(&(0..0)));
            let mut started = started.into_inner().unwrap();
            started.sort_unstable();
            assert!(started.into_iter().eq(0..count), "{count} clusters, {workers} workers");
        }
    }
}
