//! Decoding what is very large, or made to take long, ends when whoever waits for it has no patience any more.

use std::convert::Infallible;

use crate::options::Clock;

/// Whoever waits for a kernel to be decoded.
pub(crate) trait Patience {
    /// Why it does not wait any longer.
    type Ended;

    /// Accounts for work: about so many instructions decoded, or words of bits combined.
    fn spend(&self, work: usize) -> Result<(), Self::Ended>;
}

/// Waits as long as it takes.
pub(crate) struct Endless;

impl Patience for Endless {
    type Ended = Infallible;

    fn spend(&self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Patience for Clock<'_> {
    type Ended = String;

    fn spend(&self, work: usize) -> Result<(), String> {
        Clock::spend(self, work)
    }
}
