//! Sub-cores issue instructions, one a cycle.

use crate::code::{Constant, Does, Unit};
use crate::machine::{Issued, Machine, Outcome, up, wake};
use crate::sm::{Seat, Stall, SubCore};
use crate::work::Access;

/// Lines of constants of which the instruction says the offset, and not the address.
const SAID: u32 = 1 << 31;

impl SubCore {
    /// When the warp of a seat can be issued.
    fn ready(&self, seat: &Seat) -> f64 {
        let free = self.free[seat.unit as usize];
        if free > seat.when { free } else { seat.when }
    }
}

impl Machine<'_> {
    /// A sub-core issues an instruction, if it can.
    pub(crate) fn core(&mut self, number: u32, now: f64) {
        let core = &self.cores[number as usize];
        // Which warps are ready is as good as chance: what follows has no branches.
        const NONE: usize = usize::MAX;
        let (mut oldest, mut same, mut count, mut next) = (NONE, NONE, 0, f64::INFINITY);
        for (at, seat) in core.seats.iter().enumerate() {
            let ready = core.ready(seat);
            let can = ready <= now;
            count += u32::from(can);
            oldest = if can && oldest == NONE { at } else { oldest };
            same = if can && seat.warp == core.last { at } else { same };
            let later = if can { f64::INFINITY } else { ready };
            next = if later < next { later } else { next };
        }
        if count > 1 {
            next = now;
        }
        // Greedy, then the oldest.
        let best = if same == NONE { oldest } else { same };
        let best = core.seats.get(best).map(|seat| (best, *seat));
        if let Some((at, Seat { warp: index, when, .. })) = best {
            self.issue(number, (index, when), now);
            // What has been issued may be ready again.
            let core = &self.cores[number as usize];
            if let Some(seat) = core.seats.get(at).filter(|seat| seat.warp == index) {
                next = next.min(core.ready(seat));
            }
            next = next.max(now + 1.0);
        }
        if next.is_finite() {
            wake(&mut self.events, &mut self.cores, number, up(next));
        }
    }

    /// A warp that was ready from a time on issues its next instruction.
    fn issue(&mut self, core: u32, (index, when): (u32, f64), now: f64) {
        let warp = &mut self.warps[index as usize];
        let at = warp.op;
        let code = self.code;
        let op = &code[at as usize];
        let unit = op.unit as usize;
        // What it waited for.
        let stalls = &mut self.stalls[at as usize];
        let waited = (when - warp.issued - 1.0).max(0.0);
        let busy = self.cores[core as usize].units[unit];
        let after = (now - when.max(warp.issued + 1.0)).max(0.0);
        stalls[warp.stall as usize] += waited;
        stalls[if busy >= now { Stall::Throttle } else { Stall::NotSelected } as usize] += after;
        stalls[Stall::Selected as usize] += 1.0;
        self.resident += now - warp.issued;
        self.issued_by[core as usize] += 1;
        warp.issued = now;
        // A unit that is free in the middle of a cycle does not lose the rest of it.
        let core_of = &mut self.cores[core as usize];
        let begins = if core_of.free[unit] == now { busy } else { now };
        let busy_until = begins + self.intervals[unit] * f64::from(op.weight);
        core_of.units[unit] = busy_until;
        core_of.free[unit] = up(busy_until);
        core_of.last = index;

        let issued = Issued { index, at, op, now, busy_until };
        let outcome = self.execute(issued);
        let warp = &mut self.warps[index as usize];
        if let Some(board) = op.control.write {
            let board = usize::from(board);
            warp.boards[board] = warp.boards[board].max(outcome.result);
            warp.far[board] = outcome.far;
            if matches!(op.does, Does::CopiesDone | Does::BulkDone) {
                warp.missing.push((board as u8, outcome.result));
            }
        }
        if let Some(board) = op.control.read {
            let board = usize::from(board);
            warp.boards[board] = warp.boards[board].max(outcome.read);
        }
        self.advance(core, index, outcome);
    }

    /// What an instruction does that has been issued.
    fn execute(&mut self, issued: Issued<'_>) -> Outcome {
        let chip = self.chip;
        let Issued { index, op, now, .. } = issued;
        let latency = self.latencies[op.unit as usize];
        let mut outcome = Outcome {
            ready: now + f64::from(op.control.stall.max(1)),
            stall: Stall::Wait,
            result: now + latency,
            read: now + chip.shared.read,
            far: false,
            sleeps: false,
        };
        match op.does {
            Does::Compute | Does::Exit => {}
            Does::Meets => outcome.wait_until(now + chip.fetch.meet, Stall::Wait),
            Does::Prints => {
                let done = self.prints(index, now);
                outcome.wait_until(done, Stall::Wait);
            }
            Does::JumpsFar => outcome.wait_until(now + chip.fetch.indirect, Stall::Wait),
            Does::Load | Does::Store | Does::Atomic { .. } | Does::Copy | Does::Texture { .. } => {
                (outcome.result, outcome.read, outcome.far) = self.access(issued);
                self.meet(issued, &mut outcome);
            }
            Does::Shuffle => {
                let begins = self.multiprocessor(index).serve(now, chip.shared.wavefront);
                outcome.result = begins + chip.shared.shuffle;
            }
            Does::Barrier { number, threads, waits } => {
                self.barrier(index, number, threads, waits, now, &mut outcome);
            }
            Does::Forgets => self.multiprocessor(index).forget(now, chip),
            Does::Fence { device } => {
                let stores = if device { self.warps[index as usize].stores } else { now };
                outcome.ready = (now + chip.barrier.fence[usize::from(device)]).max(stores);
                outcome.stall = Stall::Membar;
            }
            Does::Product | Does::ProductsDone | Does::CopiesDone | Does::BulkDone | Does::Missing { .. } => {
                self.completion(issued, &mut outcome);
            }
            Does::Bulk { tensor } => self.bulk(issued, tensor, &mut outcome),
            Does::Arrives | Does::ArrivesCopied | Does::Awaits => self.phase(issued, &mut outcome),
            Does::ClusterArrives | Does::ClusterWaits => self.cluster(issued, &mut outcome),
        }
        match (op.constant, self.constant(issued)) {
            (_, None) => {}
            (Some(Constant::Program(_)), Some(there)) if op.unit != Unit::Constant => {
                outcome.wait_until(there, Stall::Constant);
            }
            (_, Some(there)) => outcome.result = there + latency,
        }
        outcome
    }

    /// When the constant is there that an instruction reads, if that is not known before it is issued.
    fn constant(&mut self, issued: Issued<'_>) -> Option<f64> {
        let Issued { index, op, now, .. } = issued;
        let of = op.constant?;
        let next = if of == Constant::Program(None) { self.next_access(issued) } else { None };
        let number = self.residents[self.warps[index as usize].resident as usize].multiprocessor;
        let multiprocessor = &mut self.multiprocessors[number as usize];
        let (chip, behind, group) = (self.chip, &mut self.constants_behind, multiprocessor.asker.group);
        let constants = &mut multiprocessor.constants;
        Some(match of {
            Constant::Launch(_) if op.unit != Unit::Constant => return None,
            Constant::Launch(offset) => constants.of_launch(chip, behind, group, offset, now).max(now),
            Constant::Program(Some(offset)) => {
                let line = SAID | u32::from(offset / chip.constant.line);
                constants.of_program(chip, behind, group, line, now)
            }
            Constant::Program(None) => match next? {
                Access::Constants { line, words } => {
                    let others = f64::from(words.max(1) - 1);
                    let begins = constants.read(chip, words, now);
                    constants.of_program(chip, behind, group, line & !SAID, begins)
                        + others * chip.constant.word
                }
                _ => return None,
            },
        })
    }

    /// A warp goes on to its next instruction, which it can issue when it is ready for it.
    fn advance(&mut self, core: u32, index: u32, outcome: Outcome) {
        let Outcome { ready, stall, sleeps, .. } = outcome;
        let warp = &mut self.warps[index as usize];
        warp.op += 1;
        let mut ready = ready;
        let mut jumps = false;
        if let Some((first, _)) = warp.again.take_if(|of| of.1 == warp.op) {
            jumps = true;
            warp.op = first;
        } else if warp.op >= warp.steps[warp.step as usize].end {
            warp.step += 1;
            match warp.steps.get(warp.step as usize) {
                Some(step) => {
                    jumps = step.first != warp.op;
                    warp.op = step.first;
                }
                None => return self.warp_ended(core, index, ready),
            }
        }
        if jumps || warp.op.is_multiple_of(8) {
            // What follows is fetched before it is wanted.
            let has = self.cores[core as usize].nearest.has(warp.op);
            if jumps {
                let fetch = &self.chip.fetch;
                ready = ready.max(warp.issued + fetch.jump + if has { 0.0 } else { fetch.near });
            }
        }
        let op = &self.code[warp.op as usize];
        let number = self.residents[warp.resident as usize].multiprocessor;
        let multiprocessor = &mut self.multiprocessors[number as usize];
        let (mut when, mut why) = (ready, stall);
        for board in 0..6 {
            if op.control.wait >> board & 1 != 0 && warp.boards[board] > when {
                when = warp.boards[board];
                why = if warp.far[board] { Stall::LongScoreboard } else { Stall::ShortScoreboard };
            }
        }
        let fetched = multiprocessor.fetched(self.chip, &mut self.code_behind, warp.op, ready);
        if fetched > when {
            (when, why) = (fetched, Stall::NoInstruction);
        }
        if op.unit != Unit::Constant
            && let Some(Constant::Launch(offset)) = op.constant
        {
            let (group, behind) = (multiprocessor.asker.group, &mut self.constants_behind);
            let there = multiprocessor.constants.of_launch(self.chip, behind, group, offset, when);
            if there > when {
                (when, why) = (there, Stall::Constant);
            }
        }
        warp.stall = why;
        let seat = &mut self.cores[core as usize].seats[warp.seat as usize];
        seat.unit = op.unit;
        seat.when = if sleeps { f64::INFINITY } else { up(when) };
    }
}
