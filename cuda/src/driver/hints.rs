//! Attributes of streams and kernel nodes that were set and mean nothing here: they read back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// `CUlaunchAttributeValue`
pub(crate) type Value = [u32; 16];

/// Whether a window of an access policy is one to an H200: not too large, its ratio of hits no number outside 0 to 1, and misses
/// not those that persist.
pub(crate) fn is_window(value: &Value) -> bool {
    const MOST_BYTES: u64 = 128 << 20;
    const PERSISTING: u32 = 2;
    let bytes = u64::from(value[2]) | u64::from(value[3]) << 32;
    let ratio = f32::from_bits(value[4]);
    bytes <= MOST_BYTES && (ratio.is_nan() || (0.0..=1.0).contains(&ratio)) && value[6] != PERSISTING
}

/// The last attribute that can be set.
const LAST: u32 = 16;

/// By the number of the object, and the attribute's.
type Table = HashMap<(u64, u32), Value>;

static SET: Mutex<Option<Table>> = Mutex::new(None);

fn with_table<T>(body: impl FnOnce(&mut Table) -> T) -> T {
    body(SET.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Table::new))
}

/// What was set.
pub(crate) fn get(object: u64, number: u32) -> Option<Value> {
    with_table(|table| table.get(&(object, number)).copied())
}

/// Sets an attribute.
pub(crate) fn set(object: u64, number: u32, value: Value) {
    with_table(|table| table.insert((object, number), value));
}

/// Sets all that was set for one object for another.
pub(crate) fn copy(from: u64, to: u64) {
    with_table(|table| {
        let own: Vec<((u64, u32), Value)> = table
            .iter()
            .filter(|((object, _), _)| *object == from)
            .map(|(&(_, number), &value)| ((to, number), value))
            .collect();
        table.extend(own);
    });
}

/// Forgets what was set for an object that is gone.
pub(crate) fn forget(object: u64) {
    with_table(|table| {
        for number in 0..=LAST {
            table.remove(&(object, number));
        }
    });
}
