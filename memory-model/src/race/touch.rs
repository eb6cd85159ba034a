//! The words that an access touches, and how its lanes are spread over them.

use super::access::{Class, Kind};
use super::shadow::{Cells, Doing, Shadow, Spread};
use super::{Access, Pattern};

/// All lanes of a warp.
const ALL: u32 = u32::MAX;

/// The words of an access of lanes that know the same.
pub(super) fn touch(
    shadow: &mut Shadow,
    cells: &mut Cells,
    access: &Access<'_>,
    strong: Option<usize>,
    doing: &mut Doing<'_, '_>,
) {
    let lanes = doing.now.lanes;
    if access.bytes >= 4 {
        doing.set_class(class_of(0, access.bytes.into(), strong));
    }
    let done = match (access.bytes, u32::from(access.bytes) * u32::from(access.elements)) {
        (4 | 8 | 16, size @ (4 | 8 | 16 | 32)) => words(shadow, cells, access, size / 4, doing),
        (1 | 2, size @ (1 | 2 | 4 | 8 | 16)) if lanes == ALL => {
            parts(shadow, cells, access, size, strong, doing)
        }
        _ => false,
    };
    if !done {
        scattered(shadow, cells, access, strong, doing);
    }
}

/// Lanes of `count` words each, in a simple pattern; false if there is none.
fn words(
    shadow: &mut Shadow,
    cells: &mut Cells,
    access: &Access<'_>,
    count: u32,
    doing: &mut Doing<'_, '_>,
) -> bool {
    let lanes = doing.now.lanes;
    doing.row = !lanes.is_power_of_two();
    let spread = Spread { words_log: count.trailing_zeros(), ..Spread::EVEN };
    let word = |lane: u32| access.addresses[lane as usize & 31] >> 2;
    match pattern_of(access, lanes, 4 * u64::from(count)) {
        Pattern::Unit => {
            let mut rest = lanes;
            while rest != 0 {
                let from = rest.trailing_zeros();
                let run = (!(rest >> from)).trailing_zeros().min(32 - from);
                shadow.side_by_side(cells, word(from), 1 << from, run * count, spread, doing);
                rest &= u32::MAX.checked_shl(from + run).unwrap_or(0);
            }
        }
        Pattern::Same => all_at(shadow, cells, word(lanes.trailing_zeros()), count, lanes, doing),
        Pattern::Halves(a, b) => {
            let [low, high] = [word(0), word(16)];
            if low == high && a && b && doing.kind == Kind::Read {
                shadow.side_by_side(cells, low, 0x1_0001, 16 * count, spread, doing);
                return true;
            }
            for (at, word, unit) in [(0, low, a), (16, high, b)] {
                if unit {
                    shadow.side_by_side(cells, word, 1 << at, 16 * count, spread, doing);
                } else {
                    all_at(shadow, cells, word, count, 0xffff << at, doing);
                }
            }
        }
        Pattern::Any => {
            doing.row = false;
            return false;
        }
    }
    true
}

/// A whole warp whose lanes have elements of less than a word side by side; false if they do not.
fn parts(
    shadow: &mut Shadow,
    cells: &mut Cells,
    access: &Access<'_>,
    size: u32,
    strong: Option<usize>,
    doing: &mut Doing<'_, '_>,
) -> bool {
    let start = access.addresses[0];
    if !start.is_multiple_of(4) || pattern_of(access, ALL, size.into()) != Pattern::Unit {
        return false;
    }
    let spread = Spread {
        lanes_log: (4 / size.min(4)).trailing_zeros(),
        words_log: (size.max(4) / 4).trailing_zeros(),
    };
    for at in (0..4).step_by(access.bytes.into()) {
        doing.set_class(class_of(at.into(), access.bytes.into(), strong));
        shadow.side_by_side(cells, start >> 2, 1 << (at / size), 8 * size, spread, doing);
    }
    true
}

/// Lanes anywhere.
fn scattered(
    shadow: &mut Shadow,
    cells: &mut Cells,
    access: &Access<'_>,
    strong: Option<usize>,
    doing: &mut Doing<'_, '_>,
) {
    let bytes = u64::from(access.bytes);
    if (access.bytes, access.elements) == (4, 1) {
        return shadow.scattered(cells, access.addresses, doing);
    }
    let mut rest = doing.now.lanes;
    while rest != 0 {
        let mut lane = rest.trailing_zeros() as usize;
        let address = access.addresses[lane];
        let mut alike = 1 << lane;
        rest &= rest - 1;
        // Neighbours that read one address are taken together.
        while doing.kind == Kind::Read && rest != 0 {
            lane = rest.trailing_zeros() as usize;
            if access.addresses[lane] != address {
                break;
            }
            alike |= 1 << lane;
            rest &= rest - 1;
        }
        for element in 0..u64::from(access.elements) {
            let address = address + element * bytes;
            if bytes < 4 {
                doing.set_class(class_of(address, access.bytes.into(), strong));
            }
            all_at(shadow, cells, address >> 2, bytes.div_ceil(4) as u32, alike, doing);
        }
    }
}

/// What is known, or else seen, of the addresses of some lanes of so many bytes each.
pub(super) fn pattern_of(access: &Access<'_>, lanes: u32, size: u64) -> Pattern {
    let addresses = access.addresses;
    match access.pattern {
        Pattern::Any => {}
        // Some of the lanes: the halves may be cut.
        Pattern::Halves(..) if lanes != ALL => {}
        Pattern::Halves(true, true) if addresses[16] == addresses[0].wrapping_add(16 * size) => {
            return Pattern::Unit;
        }
        known => return known,
    }
    if lanes != ALL {
        return match partial_shape(addresses, lanes, size) {
            (true, _) => Pattern::Unit,
            (_, true) => Pattern::Same,
            _ => Pattern::Any,
        };
    }
    match shape(addresses, 0, 32, size) {
        (true, _) => return Pattern::Unit,
        (_, true) => return Pattern::Same,
        _ => {}
    }
    let halves = [shape(addresses, 0, 16, size), shape(addresses, 16, 32, size)];
    if halves.iter().all(|half| half.0 || half.1) {
        return Pattern::Halves(halves[0].0, halves[1].0);
    }
    Pattern::Any
}

/// Whether lanes of a range are side by side, and whether they are at one address.
fn shape(addresses: &[u64; 32], from: usize, to: usize, size: u64) -> (bool, bool) {
    let start = addresses[from];
    let (mut unit, mut same) = (0, 0);
    for (i, &address) in (0..).zip(&addresses[from..to]) {
        unit |= address ^ start.wrapping_add(size * i);
        same |= address ^ start;
    }
    (unit == 0, same == 0)
}

/// The same of some lanes.
fn partial_shape(addresses: &[u64; 32], lanes: u32, size: u64) -> (bool, bool) {
    let first = lanes.trailing_zeros() & 31;
    let own = addresses[first as usize];
    let start = own.wrapping_sub(size * u64::from(first));
    let (mut unit, mut same) = (0, 0);
    for (i, &address) in (0u32..).zip(addresses) {
        let active = u64::from(lanes >> i & 1).wrapping_neg();
        unit |= (address ^ start.wrapping_add(size * u64::from(i))) & active;
        same |= (address ^ own) & active;
    }
    (unit == 0, same == 0)
}

/// Lanes access words at once.
fn all_at(
    shadow: &mut Shadow,
    cells: &mut Cells,
    word: u64,
    count: u32,
    lanes: u32,
    doing: &mut Doing<'_, '_>,
) {
    let several = doing.kind == Kind::Write && !lanes.is_power_of_two() && !doing.now.class.is_strong();
    for word in word..word + u64::from(count) {
        if several {
            // They write one after the other, and race: each with the one before it.
            let last = 1 << (31 - lanes.leading_zeros().min(31));
            shadow.word(cells, word, lanes & lanes.wrapping_neg(), doing);
            doing.times = lanes.count_ones() - 1;
            shadow.word(cells, word, last, doing);
            doing.times = 1;
        } else {
            shadow.word(cells, word, lanes, doing);
        }
    }
}

/// The class of an access of some bytes in a word.
pub(super) fn class_of(address: u64, bytes: u32, strong: Option<usize>) -> Class {
    let mask = if bytes >= 4 { 15 } else { ((1u32 << bytes) - 1) << (address & 3) };
    Class::new(mask as u8, bytes.trailing_zeros() as u8, strong)
}
