//! Blocks come to multiprocessors and leave them.

use std::collections::HashMap;

use crate::code::Unit;
use crate::events::{Event, PLACE};
use crate::machine::{Machine, wake};
use crate::sm::{Resident, Seat, Stall, Warp};
use crate::work::Stay;

impl Machine<'_> {
    pub(crate) fn place_at(&mut self, at: f64) {
        if !self.placing && self.block < self.launch.blocks {
            self.placing = true;
            let launch = &self.chip.launch;
            let is_first = self.block < u64::from(self.chip.multiprocessors);
            let interval = if is_first { launch.first_interval } else { launch.block_interval };
            let at = at.max(self.placed + interval);
            self.events.push(Event { at, what: PLACE });
        }
    }

    /// Places the next block where the fewest are.
    pub(crate) fn place(&mut self, at: f64) {
        self.placing = false;
        let all = self.multiprocessors.iter().enumerate();
        let fewest = all.min_by_key(|(_, of)| of.residents).map(|(number, of)| (number, of.residents));
        let Some((number, residents)) = fewest else { return };
        if residents >= self.launch.resident.max(1) {
            return;
        }
        self.placed = at;
        let index = self.block;
        let block = self.work.block(index);
        self.block += 1;
        let multiprocessor = &mut self.multiprocessors[number];
        if multiprocessor.residents == 0 {
            multiprocessor.since = at;
        }
        multiprocessor.residents += 1;
        let slot = self.free_residents.pop().unwrap_or_else(|| {
            self.residents.push(Resident::default());
            self.residents.len() as u32 - 1
        });
        let launch = &self.chip.launch;
        let is_first = index < self.chip.blocks_at_once(self.launch.resident);
        let after = if is_first { launch.block_start } else { 0.0 };
        let begins = at + after;
        let mut left = 0;
        for (order, warp) in block.warps.iter().enumerate() {
            let Some(first) = warp.steps.first().copied() else { continue };
            let first_of_all = self.begins.max(at);
            self.begins = first_of_all + launch.warp_interval;
            let begins = (begins + order as f64 * launch.warp_start).max(first_of_all + after);
            let number_in_core = multiprocessor.next % 4;
            multiprocessor.next += 1;
            let core = number as u32 * 4 + number_in_core;
            let when = multiprocessor.fetched(self.chip, &mut self.code_behind, first.first, at).max(begins);
            let unit = self.code.get(first.first as usize).map_or(Unit::None, |op| op.unit);
            let seats = &mut self.cores[core as usize].seats;
            let state = Warp {
                steps: warp.steps.clone(),
                step: 0,
                op: first.first,
                stall: Stall::NoInstruction,
                issued: at,
                boards: [0.0; 6],
                far: [false; 6],
                missing: Vec::new(),
                copies: 0.0,
                bulk: 0.0,
                core,
                seat: seats.len() as u32,
                place: multiprocessor.take_place(),
                products: 0.0,
                stores: 0.0,
                leaves: 0.0,
                settles: 0.0,
                compared: 0.0,
                failed: Vec::new(),
                again: None,
                cursors: warp.sources.clone(),
                resident: slot,
                number: order as u32,
            };
            let index = match self.free_warps.pop() {
                Some(index) => {
                    self.warps[index as usize] = state;
                    index
                }
                None => {
                    self.warps.push(state);
                    self.warps.len() as u32 - 1
                }
            };
            seats.push(Seat { warp: index, unit, when });
            left += 1;
            wake(&mut self.events, &mut self.cores, core, when);
        }
        self.phases.placed(index, &block.phases);
        if self.clustered {
            self.clusters.placed(index / u64::from(self.launch.cluster.max(1)), left);
        }
        let stay = Stay { block: index, multiprocessor: number as u32, from: at, to: begins };
        let resident = Resident {
            block,
            multiprocessor: number as u32,
            left,
            ends: begins,
            stay: Some(stay),
            barriers: Vec::new(),
            words: HashMap::new(),
        };
        self.residents[slot as usize] = resident;
        if left == 0 {
            self.free_residents.push(slot);
            self.events.push(Event { at: begins, what: PLACE + 1 + number as u32 });
        }
        self.place_at(at);
    }

    /// A block of a multiprocessor has ended.
    pub(crate) fn ended(&mut self, at: f64, number: u32) {
        let of = &mut self.multiprocessors[number as usize];
        of.residents -= 1;
        if of.residents == 0 {
            of.active += at - of.since;
        }
        self.last = self.last.max(at);
        self.place_at(at + self.chip.launch.turnaround);
    }

    pub(crate) fn warp_ended(&mut self, core: u32, index: u32, at: f64) {
        let (cluster, blocks) = self.cluster_of(index);
        if self.clustered
            && let Some((complete, waiting)) = self.clusters.warp_ended(cluster, blocks, index, at)
        {
            self.go_on(waiting, complete + self.chip.cluster.barrier);
        }
        let warp = &self.warps[index as usize];
        // It does not leave before what it stored has; atomic operations go their way without it.
        let at = at.max(warp.leaves);
        self.written = self.written.max(warp.settles);
        self.resident += (warp.leaves - warp.issued).max(0.0);
        let slot = warp.resident;
        let (place, seat) = (warp.place, warp.seat as usize);
        let seats = &mut self.cores[core as usize].seats;
        seats.remove(seat);
        for behind in &seats[seat..] {
            self.warps[behind.warp as usize].seat -= 1;
        }
        self.multiprocessors[(core / 4) as usize].leave(place);
        self.free_warps.push(index);
        let resident = &mut self.residents[slot as usize];
        resident.left -= 1;
        resident.ends = resident.ends.max(at);
        if resident.left == 0 {
            let (ends, number) = (resident.ends, resident.multiprocessor);
            if let Some(stay) = resident.stay {
                self.phases.ended(stay.block);
                self.stays.push(Stay { to: ends, ..stay });
            }
            *resident = Resident::default();
            self.free_residents.push(slot);
            self.events.push(Event { at: ends, what: PLACE + 1 + number });
        } else {
            // Those at a barrier of the whole block wait for it no longer.
            let left = resident.left;
            while let Some(full) =
                self.residents[slot as usize].barriers.iter().position(|of| of.1 >= left && !of.3.is_empty())
            {
                let last = &mut self.residents[slot as usize].barriers[full].2;
                *last = last.max(at);
                self.release(slot, full);
            }
        }
    }
}
