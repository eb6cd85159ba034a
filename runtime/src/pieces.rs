//! Pieces of the memory behind graphs: a device takes memory for a graph in whole ones, and lays its allocations one behind
//! the other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use crate::lock;

/// Bytes of a piece.
pub(crate) const PIECE: u64 = 32 << 20;

/// A graph's number, and that of a piece behind it.
pub(crate) type Piece = (u64, u64);

/// By the address of memory: the graph, and the bytes behind it that are its.
static PLACES: Mutex<BTreeMap<u64, (u64, Range<u64>)>> = Mutex::new(BTreeMap::new());

/// Memory lies in these bytes behind a graph.
pub(crate) fn insert(base: u64, graph: u64, bytes: Range<u64>) {
    lock(&PLACES).insert(base, (graph, bytes));
}

/// Memory is no longer a graph's.
pub(crate) fn remove(base: u64) {
    lock(&PLACES).remove(&base);
}

/// The pieces that memory lies in; none if it is no graph's.
pub(crate) fn of(base: u64) -> impl Iterator<Item = Piece> {
    let place = lock(&PLACES).get(&base).cloned();
    place.into_iter().flat_map(|(graph, bytes)| {
        (bytes.start / PIECE..bytes.end.div_ceil(PIECE)).map(move |piece| (graph, piece))
    })
}
