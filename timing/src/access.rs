//! Accesses of memory that warps make.

use crate::code::Does;
use crate::machine::{Issued, Machine, Outcome};
use crate::memory::Change;
use crate::sm::{Resident, SPILLED, Sees};
use crate::work::{Access, parts};

/// How many warps of a multiprocessor have memory of their threads' own.
const PLACES: u64 = 64;

impl Machine<'_> {
    /// The next turn of the atomic operation that an instruction has just done, if there is one: how often the banks are asked.
    fn next_turn(&mut self, issued: Issued<'_>) -> Option<u16> {
        let (_, cursor, end) = self.cursor(issued)?;
        let warp = &self.warps[issued.index as usize];
        let block = &self.residents[warp.resident as usize].block;
        match (cursor < end).then(|| block.accesses[cursor as usize])? {
            Access::Words { wavefronts, again: true, .. } => {
                self.next_access(issued);
                Some(wavefronts)
            }
            _ => None,
        }
    }

    /// The place in the source of the accesses that an instruction makes, the next of them and where they end.
    fn cursor(&self, issued: Issued<'_>) -> Option<(u32, u32, u32)> {
        let place = self.launch.sources.get(issued.at as usize).copied().flatten()?;
        let warp = &self.warps[issued.index as usize];
        let block = &self.residents[warp.resident as usize].block;
        let cursor = *warp.cursors.get(place as usize)?;
        let end = *block.warps[warp.number as usize].sources.get(place as usize + 1)?;
        Some((place, cursor, end))
    }

    /// The next access that an instruction makes.
    pub(crate) fn next_access(&mut self, issued: Issued<'_>) -> Option<Access> {
        let (place, cursor, end) = self.cursor(issued)?;
        let warp = &mut self.warps[issued.index as usize];
        let block = &self.residents[warp.resident as usize].block;
        // Another try is no access of its own.
        let tries = usize::from(!warp.failed.is_empty() && issued.op.again.is_some());
        let cursor = cursor - tries as u32;
        if cursor == end && issued.op.repeats {
            let first = block.warps[warp.number as usize].sources[place as usize];
            return (first < end).then(|| block.accesses[end as usize - 1]);
        }
        (cursor < end).then(|| {
            warp.cursors[place as usize] = cursor + 1;
            block.accesses[cursor as usize]
        })
    }

    /// An access that waits for what others write does so, and one that others wait for is seen by them a way from the second
    /// level after it is known to be done.
    pub(crate) fn meet(&mut self, issued: Issued<'_>, outcome: &mut Outcome) {
        let warp = &self.warps[issued.index as usize];
        let block = &self.residents[warp.resident as usize].block;
        if block.releases.is_empty() && block.awaits.is_empty() {
            return;
        }
        let place = self.launch.sources.get(issued.at as usize).copied().flatten();
        let cursor = place.and_then(|place| warp.cursors.get(place as usize)?.checked_sub(1));
        let Some(cursor) = cursor else { return };
        let awaits = block.awaits.get(&cursor).copied();
        for phase in block.releases.get(&cursor).cloned().unwrap_or_default() {
            self.arrive_at(phase, outcome.result + self.chip.l2.latency / 2.0);
        }
        match awaits.map(|phase| self.phases.wait(phase, issued.index)) {
            Some(Some(complete)) => outcome.result = outcome.result.max(complete),
            Some(None) => outcome.sleeps = true,
            None => {}
        }
    }

    /// Accesses memory: when the result is there, when the operands have been read, and whether it came from far away.
    pub(crate) fn access(&mut self, issued: Issued<'_>) -> (f64, f64, bool) {
        let chip = self.chip;
        let Issued { index, op, now, .. } = issued;
        let next = self.next_access(issued);
        if let Some(Access::Words { wavefronts, first, count, .. }) = next {
            return self.words(issued, wavefronts, (first, count));
        }
        let warp = &mut self.warps[index as usize];
        let resident = &self.residents[warp.resident as usize];
        let multiprocessor = &mut self.multiprocessors[resident.multiprocessor as usize];
        let block = &resident.block;
        let lanes = warp.steps[warp.step as usize].lanes;
        // What the assembler puts there by itself: the words of a warp's threads lie beside each other, and so do those of warps.
        let frame = self.frame;
        let spilled: [u64; 4] = std::array::from_fn(|word| {
            let words = u64::from(op.local.unwrap_or(0)) / 4 + word as u64;
            let warp_of = u64::from(resident.multiprocessor) * PLACES + u64::from(warp.place);
            (SPILLED + warp_of * frame + words) << 4 | 15
        });
        let spilled = &spilled[..usize::from(op.bytes).div_ceil(4).min(4)];
        match next {
            None if op.local.is_some() => {
                let memory = &mut self.memory;
                // They follow each other, and so lie in different parts of the tags.
                let tags = 1.0;
                if matches!(op.does, Does::Store) {
                    let (read, written) =
                        multiprocessor.store(chip, memory, now, spilled, (tags, false), None);
                    warp.stored(chip, written);
                    (written.done, read, true)
                } else {
                    let data = spilled.len() as f64;
                    let done = multiprocessor.load(chip, memory, now, spilled, [tags, data], Sees::Whole);
                    if op.last_use {
                        spilled
                            .iter()
                            .map(|&piece| parts(piece))
                            .for_each(|(line, sectors)| multiprocessor.l1.forget(line, sectors));
                    }
                    (done, now + chip.shared.read, true)
                }
            }
            Some(Access::Remote) => {
                let start = multiprocessor.serve(now, chip.shared.wavefront);
                (start + chip.cluster.remote, start + chip.shared.read, false)
            }
            None | Some(Access::Operation(_) | Access::Words { .. } | Access::Constants { .. }) => {
                let start = multiprocessor.serve(now, chip.shared.wavefront);
                // It may be the words of a loop around a compare-and-swap that are read.
                warp.compared = start;
                (start + chip.shared.latency, start + chip.shared.read, false)
            }
            Some(Access::Wavefronts(counts)) => {
                let width = usize::from(op.bytes > 4) + usize::from(op.bytes > 8);
                let count = f64::from(counts[width].max(1));
                let start = multiprocessor.serve(now, count * chip.shared.wavefront);
                let last = start + (count - 1.0) * chip.shared.wavefront;
                (last + chip.shared.latency, last + chip.shared.read, false)
            }
            Some(Access::Lines { first, count, tags, together, deep }) => {
                let pieces = &block.pieces[first as usize..first as usize + usize::from(count)];
                let memory = &mut self.memory;
                // The same words are those of as many lanes of the warp.
                let own = index << 12 | lanes << 6 | u32::from(op.bytes);
                match op.does {
                    Does::Store => {
                        let sectors: u32 = pieces.iter().map(|&piece| parts(piece).1.count_ones()).sum();
                        let is_parts = op.local.is_none() && u32::from(op.bytes) * lanes < 32 * sectors;
                        // Lanes may all have written one word.
                        let whole = sectors == 4 * u32::from(count) && !is_parts;
                        let (read, written) = multiprocessor.store(
                            chip,
                            memory,
                            now,
                            pieces,
                            (f64::from(tags.max(1)), whole),
                            is_parts.then_some(own),
                        );
                        warp.stored(chip, written);
                        (written.done, read, true)
                    }
                    Does::Atomic { returns } => {
                        // Turns of a loop that the PTX has are accesses of their own.
                        let turns = if op.tries { together } else { 0 };
                        // Doubles are added in two turns.
                        let deep = if op.doubles { deep.saturating_mul(2) } else { deep };
                        let change = Change { lanes: lanes as u8, together, deep, turns, floats: op.floats };
                        let (written, result, sent) =
                            multiprocessor.change(chip, memory, now, pieces, change);
                        warp.wrote(written);
                        // What waits for others ahead keeps its warp.
                        warp.leaves = warp.leaves.max(sent);
                        (if returns { result } else { written.done }, sent.max(now + chip.shared.read), true)
                    }
                    Does::Texture { samples } => {
                        let groups = f64::from(together);
                        let there = multiprocessor.sample(chip, memory, now, pieces, groups);
                        (there + chip.texture.latency[usize::from(samples)], now + chip.shared.read, true)
                    }
                    _ => {
                        let data = (f64::from(lanes) * f64::from(op.bytes) / 128.0).ceil();
                        // What the assembler has merged asks the banks once for all of it.
                        let busy = data.max(f64::from(deep));
                        let done = multiprocessor.load(
                            chip,
                            memory,
                            now,
                            pieces,
                            [f64::from(tags.max(1)), busy],
                            if op.past { Sees::Nothing } else { Sees::Own(own) },
                        ) + (busy - data) * chip.l1.deep;
                        if matches!(op.does, Does::Copy) {
                            warp.copies = warp.copies.max(done);
                        }
                        (done, now + chip.shared.read, true)
                    }
                }
            }
        }
    }

    /// An atomic operation on shared memory, as [`Machine::access`].
    fn words(&mut self, issued: Issued<'_>, wavefronts: u16, (first, count): (u32, u8)) -> (f64, f64, bool) {
        let Issued { index, op, now, .. } = issued;
        let shared = &self.chip.shared;
        let count_of = |wavefronts: u16| f64::from(wavefronts.max(1)) * shared.wavefront;
        let start = self.multiprocessor(index).serve(now, count_of(wavefronts));
        let mut last = start + count_of(wavefronts) - shared.wavefront;
        if op.again.is_none() {
            // Where the machine code has no loop, the other turns follow at once: each reads and swaps.
            while let Some(wavefronts) = self.next_turn(issued) {
                let begins = last + shared.atomic + shared.latency;
                last = self.multiprocessor(index).serve(begins, count_of(wavefronts));
            }
            return (last + shared.atomic, start + shared.read, false);
        }
        let warp = &mut self.warps[index as usize];
        let Resident { block, words, .. } = &mut self.residents[warp.resident as usize];
        let own = match warp.failed.is_empty() {
            true => block.words[first as usize..first as usize + usize::from(count)].to_vec(),
            false => std::mem::take(&mut warp.failed),
        };
        // Who finds another value than it read tries again.
        for word in own {
            let changed = words.entry(word).or_insert(f64::NEG_INFINITY);
            if *changed > warp.compared {
                warp.failed.push(word);
            } else {
                *changed = start;
            }
        }
        warp.again = op.again.filter(|_| !warp.failed.is_empty());
        (last + shared.atomic, last + shared.read, false)
    }
}
