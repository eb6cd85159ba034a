//! Where bytes lie that are copied: a place, and how far it is from row to row.

use std::sync::Arc;

/// Where one side of a copy lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Device memory, or host memory that the device knows.
    Device(u64),
    /// Pageable memory of the program.
    Host(u64),
    /// Bytes that were taken from the program when the copy was asked for.
    Bytes(Arc<[u8]>),
}

/// One side of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Area {
    /// Its first byte.
    pub place: Place,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice to the next.
    pub slice: u64,
}
