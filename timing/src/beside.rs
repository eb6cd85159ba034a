//! What is done beside the warps, and where they wait for it or for other blocks.

use crate::code::Does;
use crate::machine::{Issued, Machine, Outcome};
use crate::sm::Stall;
use crate::work::{Access, Operation, Phase, Way};

impl Machine<'_> {
    /// A warp prints; when it goes on. Lanes take their room one after the other, whatever multiprocessor they are on.
    pub(crate) fn prints(&mut self, index: u32, now: f64) -> f64 {
        let print = &self.chip.print;
        let warp = &self.warps[index as usize];
        let more = f64::from(warp.steps[warp.step as usize].lanes.max(1)) - 1.0;
        let begins = self.printing.max(now);
        self.printing = begins + print.serial[0] + more * print.serial[1];
        let multiprocessor = self.multiprocessor(index);
        let is_first = !std::mem::replace(&mut multiprocessor.prints, true);
        begins + print.call + more * print.lane + if is_first { print.first } else { 0.0 }
    }

    /// What begins, or waits for, what a warp has had done: products of matrices, copies.
    pub(crate) fn completion(&mut self, issued: Issued<'_>, outcome: &mut Outcome) {
        let Issued { index, op, now, busy_until, .. } = issued;
        let latency = self.latencies[op.unit as usize];
        let warp = &mut self.warps[index as usize];
        match op.does {
            Does::Product => warp.products = warp.products.max(busy_until + latency),
            Does::ProductsDone => outcome.wait_until(warp.products, Stall::ShortScoreboard),
            Does::CopiesDone => outcome.result = outcome.result.max(warp.copies),
            Does::BulkDone => outcome.result = outcome.result.max(warp.bulk),
            Does::Missing { board, most } => {
                warp.missing.retain(|&(_, done)| done > now);
                let mut left: Vec<f64> =
                    warp.missing.iter().filter(|of| of.0 == board).map(|of| of.1).collect();
                left.sort_by(f64::total_cmp);
                if let Some(enough) = left.len().checked_sub(usize::from(most) + 1) {
                    outcome.wait_until(left[enough], Stall::LongScoreboard);
                }
            }
            _ => {}
        }
    }

    /// The next of what is done beside the warps at a place of the source.
    fn operation(&mut self, issued: Issued<'_>) -> Option<Operation> {
        let Some(Access::Operation(number)) = self.next_access(issued) else { return None };
        let resident = &self.residents[self.warps[issued.index as usize].resident as usize];
        resident.block.operations.get(number as usize).cloned()
    }

    /// A bulk copy.
    pub(crate) fn bulk(&mut self, issued: Issued<'_>, tensor: bool, outcome: &mut Outcome) {
        let chip = self.chip;
        let Issued { index, now, .. } = issued;
        let Some(Operation::Copies { pieces: (first, count), way, arrives }) = self.operation(issued) else {
            return;
        };
        let warp = &mut self.warps[index as usize];
        let resident = &self.residents[warp.resident as usize];
        let multiprocessor = &mut self.multiprocessors[resident.multiprocessor as usize];
        let pieces = &resident.block.pieces[first as usize..first as usize + count as usize];
        match way {
            Way::In => {
                let done = multiprocessor.copy_in(chip, &mut self.memory, now, pieces, tensor);
                for phase in arrives {
                    self.arrive_at(phase, done);
                }
            }
            Way::Out | Way::Reduces => {
                let reduces = way == Way::Reduces;
                let (read, written) = multiprocessor.copy_out(chip, &mut self.memory, now, pieces, reduces);
                warp.bulk = warp.bulk.max(read);
                warp.stored(chip, written);
                outcome.read = outcome.read.max(now + chip.shared.read);
            }
        }
    }

    /// An operation on an mbarrier.
    pub(crate) fn phase(&mut self, issued: Issued<'_>, outcome: &mut Outcome) {
        let chip = self.chip;
        let Issued { index, op, now, .. } = issued;
        let begins = self.multiprocessor(index).phase(chip, now);
        outcome.read = begins + chip.shared.read;
        outcome.result = begins + chip.mbarrier.wait;
        match self.operation(issued) {
            Some(Operation::Arrives(phases)) => {
                let copied =
                    if op.does == Does::ArrivesCopied { self.warps[index as usize].copies } else { 0.0 };
                let at = copied.max(begins + chip.mbarrier.arrive);
                phases.into_iter().for_each(|phase| self.arrive_at(phase, at));
            }
            Some(Operation::Awaits(Some(phase))) => match self.phases.wait(phase, index) {
                Some(complete) => {
                    outcome.result = begins.max(complete) + chip.mbarrier.wait;
                    outcome.stall = Stall::Wait;
                }
                None => outcome.sleeps = true,
            },
            _ => {}
        }
    }

    pub(crate) fn arrive_at(&mut self, phase: Phase, at: f64) {
        if let Some((complete, waiting)) = self.phases.arrive(phase, at) {
            self.go_on(waiting, complete + self.chip.mbarrier.wait);
        }
    }

    /// The barrier of the cluster.
    pub(crate) fn cluster(&mut self, issued: Issued<'_>, outcome: &mut Outcome) {
        let Issued { index, op, now, .. } = issued;
        let cluster = self.cluster_of(index);
        let after = self.chip.cluster.barrier;
        if op.does == Does::ClusterArrives {
            if let Some((complete, waiting)) = self.clusters.arrive(cluster.0, cluster.1, now) {
                self.go_on(waiting, complete + after);
            }
            return;
        }
        match self.clusters.wait(cluster.0, index) {
            Some(complete) => outcome.wait_until(complete + after, Stall::Barrier),
            None => outcome.sleeps = true,
        }
    }
}
