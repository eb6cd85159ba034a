//! Barriers of blocks.

use crate::machine::{Machine, Outcome, up, wake};
use crate::sm::Stall;

impl Machine<'_> {
    /// A barrier of the block.
    pub(crate) fn barrier(
        &mut self,
        index: u32,
        number: u8,
        threads: Option<u32>,
        waits: bool,
        now: f64,
        outcome: &mut Outcome,
    ) {
        let interval = self.chip.barrier.interval;
        let unit = &mut self.multiprocessor(index).barriers;
        let arrives = unit.max(now) + interval;
        *unit = arrives;
        outcome.sleeps = waits;
        self.arrive(index, number, threads, waits, arrives);
        // Whoever comes last goes on with the others.
        let when = self.seat(index).map_or(f64::INFINITY, |seat| seat.when);
        if waits && when.is_finite() {
            outcome.sleeps = false;
            outcome.wait_until(when, Stall::Barrier);
        }
    }

    /// A warp arrives at a barrier of its block; if all are there, those that wait go on.
    fn arrive(&mut self, index: u32, number: u8, threads: Option<u32>, stays: bool, at: f64) {
        let slot = self.warps[index as usize].resident;
        let resident = &mut self.residents[slot as usize];
        let wanted = threads.map_or(resident.left, |threads| threads.div_ceil(32));
        let barrier = match resident.barriers.iter().position(|barrier| barrier.0 == number) {
            Some(at) => at,
            None => {
                resident.barriers.push((number, 0, 0.0, Vec::new()));
                resident.barriers.len() - 1
            }
        };
        let (_, count, last, waiting) = &mut resident.barriers[barrier];
        *count += 1;
        *last = last.max(at);
        if stays {
            waiting.push(index);
        }
        let full = *count >= wanted;
        self.set_ready(index, f64::INFINITY);
        if full {
            self.release(slot, barrier);
        }
    }

    pub(crate) fn release(&mut self, slot: u32, barrier: usize) {
        let resident = &mut self.residents[slot as usize];
        let (_, _, last, waiting) = resident.barriers.swap_remove(barrier);
        let at = up(last + self.chip.barrier.latency);
        let first = resident.multiprocessor * 4;
        for index in waiting {
            self.warps[index as usize].stall = Stall::Barrier;
            self.set_ready(index, at);
        }
        (first..first + 4).for_each(|core| wake(&mut self.events, &mut self.cores, core, at));
    }

    /// Lets all go on that wait at barriers; whether there were any.
    pub(crate) fn release_all(&mut self) -> bool {
        let slots = 0..self.residents.len() as u32;
        let mut left = self.phases.left();
        left.extend(self.clusters.left());
        let mut any = !left.is_empty();
        self.go_on(left, self.last);
        for slot in slots {
            while self.residents[slot as usize].left > 0 && !self.residents[slot as usize].barriers.is_empty()
            {
                any |= !self.residents[slot as usize].barriers[0].3.is_empty();
                self.release(slot, 0);
            }
        }
        any
    }
}
