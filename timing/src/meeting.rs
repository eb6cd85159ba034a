//! Where warps meet beside the barriers of their block: phases of mbarriers, and barriers of clusters.
//!
//! Who arrives at a phase is known before; so a phase has a time at which it is complete, and those that wait for it sleep
//! until then. How often a thread asked in vain does not matter.

use std::collections::HashMap;

use crate::work::Phase;

/// How far something is that several warps, or copies, complete.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meeting {
    arrived: u32,
    /// When the last one arrives, of those that have.
    last: f64,
    /// Warps that sleep until then.
    waiting: Vec<u32>,
}

impl Meeting {
    /// One arrives, which it does at a time; those that go on then, and when, if it was the last one of so many.
    fn arrive(&mut self, at: f64, wanted: u32) -> Option<(f64, Vec<u32>)> {
        self.arrived += 1;
        self.last = self.last.max(at);
        (self.arrived >= wanted).then(|| (self.last, std::mem::take(&mut self.waiting)))
    }
}

/// The phases of the blocks that are there.
#[derive(Default)]
pub(crate) struct Phases {
    /// By block: how many arrive at each phase, and how far it is.
    blocks: HashMap<u64, Vec<(u32, Meeting)>>,
    /// Arrivals at blocks that are not there yet.
    early: Vec<(Phase, f64)>,
}

impl Phases {
    /// A block is placed; what went there before arrives now.
    pub(crate) fn placed(&mut self, block: u64, wanted: &[u32]) {
        if wanted.is_empty() {
            return;
        }
        self.blocks.insert(block, wanted.iter().map(|&wanted| (wanted, Meeting::default())).collect());
        let (own, others) =
            std::mem::take(&mut self.early).into_iter().partition(|(of, _)| of.block == block);
        self.early = others;
        let own: Vec<(Phase, f64)> = own;
        for (phase, at) in own {
            self.arrive(phase, at);
        }
    }

    pub(crate) fn ended(&mut self, block: u64) {
        self.blocks.remove(&block);
    }

    /// An arrival; who goes on, and when, if it was the last.
    pub(crate) fn arrive(&mut self, phase: Phase, at: f64) -> Option<(f64, Vec<u32>)> {
        match self.blocks.get_mut(&phase.block) {
            Some(phases) => {
                let (wanted, meeting) = phases.get_mut(phase.number as usize)?;
                meeting.arrive(at, *wanted)
            }
            None => {
                self.early.push((phase, at));
                None
            }
        }
    }

    /// When a phase is complete. If that is not known yet, the warp sleeps there.
    pub(crate) fn wait(&mut self, phase: Phase, warp: u32) -> Option<f64> {
        let found =
            self.blocks.get_mut(&phase.block).and_then(|phases| phases.get_mut(phase.number as usize));
        let Some((wanted, meeting)) = found else { return Some(0.0) };
        if meeting.arrived >= *wanted {
            return Some(meeting.last);
        }
        meeting.waiting.push(warp);
        None
    }

    /// Those that wait for what does not come.
    pub(crate) fn left(&mut self) -> Vec<u32> {
        let meetings = self.blocks.values_mut().flatten();
        let mut left: Vec<u32> =
            meetings.flat_map(|(_, meeting)| std::mem::take(&mut meeting.waiting)).collect();
        left.sort_unstable();
        left
    }
}

/// The barriers of the clusters that are there.
#[derive(Default)]
pub(crate) struct Clusters {
    of: HashMap<u64, Cluster>,
}

#[derive(Default)]
struct Cluster {
    /// Warps that have not ended; those of blocks that are not placed yet are missing.
    warps: u32,
    placed: u32,
    meeting: Meeting,
    /// When the barrier was complete last, and how often it was.
    complete: (f64, u64),
    /// By warp: how often it has waited.
    waited: HashMap<u32, u64>,
}

impl Clusters {
    /// A block of a cluster is placed, with so many warps.
    pub(crate) fn placed(&mut self, cluster: u64, warps: u32) {
        let of = self.of.entry(cluster).or_default();
        of.placed += 1;
        of.warps += warps;
    }

    /// A warp arrives; who goes on, and when, if it was the last.
    pub(crate) fn arrive(&mut self, cluster: u64, blocks: u32, at: f64) -> Option<(f64, Vec<u32>)> {
        let of = self.of.get_mut(&cluster)?;
        of.meeting.arrived += 1;
        of.meeting.last = of.meeting.last.max(at);
        of.complete_if(blocks)
    }

    /// When the barrier that a warp arrived at is complete. If that is not known yet, it sleeps there.
    pub(crate) fn wait(&mut self, cluster: u64, warp: u32) -> Option<f64> {
        let Some(of) = self.of.get_mut(&cluster) else { return Some(0.0) };
        let waited = of.waited.entry(warp).or_default();
        *waited += 1;
        if of.complete.1 >= *waited {
            return Some(of.complete.0);
        }
        of.meeting.waiting.push(warp);
        None
    }

    /// A warp ends: nobody waits for it any longer.
    pub(crate) fn warp_ended(
        &mut self,
        cluster: u64,
        blocks: u32,
        warp: u32,
        at: f64,
    ) -> Option<(f64, Vec<u32>)> {
        let of = self.of.get_mut(&cluster)?;
        of.warps -= 1;
        of.waited.remove(&warp);
        if of.warps == 0 && of.placed >= blocks {
            self.of.remove(&cluster);
            return None;
        }
        if of.meeting.arrived > 0 {
            of.meeting.last = of.meeting.last.max(at);
        }
        of.complete_if(blocks)
    }

    /// Those that wait for what does not come.
    pub(crate) fn left(&mut self) -> Vec<u32> {
        let mut left: Vec<u32> =
            self.of.values_mut().flat_map(|of| std::mem::take(&mut of.meeting.waiting)).collect();
        left.sort_unstable();
        left
    }
}

impl Cluster {
    fn complete_if(&mut self, blocks: u32) -> Option<(f64, Vec<u32>)> {
        if self.placed < blocks || self.meeting.arrived == 0 || self.meeting.arrived < self.warps {
            return None;
        }
        let Meeting { last, waiting, .. } = std::mem::take(&mut self.meeting);
        self.complete = (last, self.complete.1 + 1);
        Some((last, waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_complete_when_all_have_arrived() {
        let mut phases = Phases::default();
        let phase = |number| Phase { block: 3, number };
        assert_eq!(phases.arrive(phase(0), 5.0), None, "the block is not there yet");
        phases.placed(3, &[2, 1]);
        assert_eq!(phases.wait(phase(0), 7), None);
        assert_eq!(phases.arrive(phase(0), 4.0), Some((5.0, vec![7])));
        assert_eq!(phases.wait(phase(0), 8), Some(5.0));
        assert_eq!((phases.wait(phase(1), 9), phases.left()), (None, vec![9]));
        phases.ended(3);
        assert_eq!(phases.wait(phase(1), 9), Some(0.0));
    }

    #[test]
    fn a_cluster_waits_for_all_its_blocks() {
        let mut clusters = Clusters::default();
        clusters.placed(0, 1);
        assert_eq!(clusters.arrive(0, 2, 1.0), None);
        assert_eq!(clusters.wait(0, 5), None);
        clusters.placed(0, 2);
        assert_eq!(clusters.arrive(0, 2, 2.0), None);
        assert_eq!(
            clusters.warp_ended(0, 2, 9, 3.0),
            Some((3.0, vec![5])),
            "who has ended is not waited for"
        );
        assert_eq!(clusters.wait(0, 6), Some(3.0));
        assert_eq!(clusters.wait(0, 5), None, "the next one");
        assert_eq!(clusters.left(), [5]);
    }
}
