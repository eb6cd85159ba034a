//! Special registers that change while a kernel runs.

use ptx_frontend::SpecialRegister;

use crate::machine::Machine;
use crate::observer::Observer;

/// `%globaltimer` when a kernel starts: nanoseconds of the Unix time, a day in 2026.
const EPOCH: u64 = 1_767_225_600_000_000_000;

impl<O: Observer> Machine<'_, '_, O> {
    /// Special registers that change while a warp runs; `ran` instructions of this turn are not yet in
    /// the block's clock. Time is the block's own instruction count, so that it never runs backwards and
    /// does not depend on the host. A reading costs some cycles.
    pub(crate) fn changing_special(&mut self, special: SpecialRegister, ran: u64) -> u64 {
        self.cta.clock += 16;
        let clock = self.cta.clock + ran;
        let nanoseconds = EPOCH + clock * 1_000_000 / u64::from(self.worker.grid.config.clock_khz);
        // Reading the time is how a program waits without touching memory.
        self.worker.waits += 1;
        match special {
            SpecialRegister::Clock | SpecialRegister::Clock64 => clock,
            SpecialRegister::ClockHi => clock >> 32,
            SpecialRegister::Globaltimer | SpecialRegister::GlobaltimerLo => nanoseconds,
            SpecialRegister::GlobaltimerHi => nanoseconds >> 32,
            _ => 0,
        }
    }
}
