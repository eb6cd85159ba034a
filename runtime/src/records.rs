//! Events that several processes have.

use std::time::Duration;

/// The records of an event that several processes have, by number in their order.
pub trait SharedRecords: Send + Sync + std::fmt::Debug {
    /// A record was asked for; its number.
    fn ask(&self) -> u64;

    /// A record was reached.
    fn reach(&self, number: u64);

    /// The last one that was asked for; 0 is none.
    fn last(&self) -> u64;

    /// Whether a record, or a later one, was reached.
    fn is_reached(&self, number: u64) -> bool;

    /// What it is to whoever made it.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// How often a record of another process is looked for.
const PERIOD: Duration = Duration::from_micros(50);

/// Waits for a record, as long as nobody says stop.
pub(crate) fn wait_for(records: &dyn SharedRecords, number: u64, stop: impl Fn() -> bool) {
    while !records.is_reached(number) && !stop() {
        std::thread::sleep(PERIOD);
    }
}
