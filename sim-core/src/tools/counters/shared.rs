//! Wavefronts of shared memory: how often its 32 banks of four bytes are asked for one access of a warp.
//!
//! The rules are an H200's, found with some hundred patterns of addresses for each width (`testdata/counters`).

use std::ops::RangeInclusive;

use super::rules::Rule;
use semantics::lanes::LaneMask;

const BANKS: usize = 32;
/// Bytes of a word of each bank.
const ROW: u64 = 4 * BANKS as u64;
/// Rows that are looked at together.
const ROWS: usize = 64;

/// What an access of shared memory costs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Wavefronts {
    /// As the hardware counts them (`l1tex__data_pipe_lsu_wavefronts_mem_shared…`).
    pub(super) hardware: u64,
    /// As Nsight Compute derives them from addresses (`smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared…`).
    pub(super) derived: u64,
    /// Those beyond one a part (`l1tex__data_bank_conflicts_pipe_lsu_mem_shared…`); of [`Rule::Loop`] those of its loads.
    pub(super) conflicts: u64,
    /// How few there could be (`memory_l1_wavefronts_shared_ideal`).
    pub(super) ideal: u64,
    /// Of loads that are part of an emulated atomic: [`Rule::Loop`].
    pub(super) loads: u64,
}

/// The lanes of a part of a warp.
fn part(first: usize, count: usize) -> LaneMask {
    (LaneMask::MAX >> (32 - count)) << first
}

/// The lanes of a mask, the lowest first.
fn each_of(lanes: LaneMask) -> impl Iterator<Item = usize> {
    (0..32).filter(move |&lane| lanes >> lane & 1 != 0)
}

/// The words of an access.
fn words(address: u64, bytes: u32) -> RangeInclusive<u64> {
    address / 4..=(address + u64::from(bytes.max(1)) - 1) / 4
}

/// The most words that a bank is asked for by some lanes; one that was asked for already costs nothing.
fn most_words(addresses: &[u64; 32], lanes: LaneMask, bytes: u32) -> u64 {
    if lanes == 0 {
        return 0;
    }
    let first = addresses[lanes.trailing_zeros() as usize & 31];
    // By row of a word of each bank: which banks are asked for theirs. Most accesses are within 32 rows of the first one.
    let lowest = (first / ROW).wrapping_sub(ROWS as u64 / 2);
    let mut rows = [0u32; ROWS];
    let (mut used, mut left, mut before) = (0u64, lanes, !first);
    while left != 0 {
        let address = addresses[left.trailing_zeros() as usize & 31];
        left &= left - 1;
        if address == before {
            continue;
        }
        before = address;
        let (mut word, last) = words(address, bytes).into_inner();
        loop {
            let row = (word / BANKS as u64).wrapping_sub(lowest);
            if row >= ROWS as u64 {
                return most_words_apart(addresses, lanes, bytes);
            }
            rows[row as usize] |= 1 << (word % BANKS as u64);
            used |= 1 << row;
            if word == last {
                break;
            }
            word += 1;
        }
    }
    // How many rows ask a bank, a bit of that number after the other.
    let mut sums = [0u32; 7];
    while used != 0 {
        let mut carry = rows[used.trailing_zeros() as usize];
        used &= used - 1;
        for sum in &mut sums {
            (*sum, carry) = (*sum ^ carry, *sum & carry);
            if carry == 0 {
                break;
            }
        }
    }
    // Of the banks with the highest bits so far.
    let mut banks = u32::MAX;
    let mut most = 0;
    for (bit, sum) in sums.iter().enumerate().rev() {
        if banks & sum != 0 {
            banks &= sum;
            most |= 1 << bit;
        }
    }
    most
}

/// The same of words that may be anywhere.
fn most_words_apart(addresses: &[u64; 32], lanes: LaneMask, bytes: u32) -> u64 {
    let mut all: Vec<u64> = each_of(lanes).flat_map(|lane| words(addresses[lane], bytes)).collect();
    all.sort_unstable();
    all.dedup();
    let mut counts = [0u64; BANKS];
    all.iter().for_each(|word| counts[(word % BANKS as u64) as usize] += 1);
    counts.into_iter().max().unwrap_or(0)
}

/// The most lanes that ask a bank: atomics at one word go one after the other.
fn most_lanes(addresses: &[u64; 32], lanes: LaneMask, bytes: u32) -> u64 {
    let mut counts = [0u64; BANKS];
    for word in each_of(lanes).flat_map(|lane| words(addresses[lane], bytes)) {
        counts[(word % BANKS as u64) as usize] += 1;
    }
    counts.into_iter().max().unwrap_or(0)
}

/// How many wavefronts lanes need at least, each with `bytes`.
fn least(lanes: LaneMask, bytes: u32) -> u64 {
    (u64::from(lanes.count_ones()) * u64::from(bytes.max(4))).div_ceil(4 * BANKS as u64)
}

/// Whether lanes whose numbers differ by `apart` are at one address, or one of them takes no part.
fn in_pairs(addresses: &[u64; 32], lanes: LaneMask, part: LaneMask, apart: usize) -> bool {
    each_of(lanes & part).all(|lane| {
        let other = lane ^ apart;
        lanes >> other & 1 == 0 || addresses[lane] == addresses[other]
    })
}

/// The sum over parts of `each` lanes, and how many of them have a lane that takes part.
fn by_parts(lanes: LaneMask, each: usize, mut cost: impl FnMut(LaneMask) -> u64) -> (u64, u64) {
    let parts = (0..32).step_by(each).map(|first| lanes & part(first, each)).filter(|&part| part != 0);
    parts.fold((0, 0), |(sum, count), part| (sum + cost(part), count + 1))
}

/// What an access costs that is made as `rule` says; `changing` are lanes whose atomic leaves another value than it found.
pub(super) fn wavefronts(
    addresses: &[u64; 32],
    lanes: LaneMask,
    changing: LaneMask,
    bytes: u32,
    store: bool,
    rule: Rule,
) -> Wavefronts {
    let each = match bytes {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let plain = |(sum, parts): (u64, u64), bytes| Wavefronts {
        hardware: sum,
        derived: sum,
        conflicts: sum - parts,
        ideal: least(lanes, bytes).min(sum),
        loads: 0,
    };
    match rule {
        Rule::Atomic => plain(by_parts(lanes, each, |lanes| most_lanes(addresses, lanes, bytes)), bytes),
        Rule::CompareAndSwap => {
            // Both operands are sent: all goes twice.
            let once = plain(by_parts(lanes, each, |lanes| most_lanes(addresses, lanes, bytes)), bytes);
            let ideal = 2 * once.ideal;
            Wavefronts { hardware: 2 * once.hardware, derived: 2 * once.derived, ideal, ..once }
        }
        Rule::Loop { picks } => {
            in_a_loop(addresses, &rounds(addresses, lanes, changing, bytes, picks), bytes, each)
        }
        Rule::Rows => plain(by_parts(lanes, 8, |lanes| most_words(addresses, lanes, bytes)), bytes),
        // Lanes that add one to a word are counted together.
        Rule::Increment => plain((most_words(addresses, lanes, bytes), 1), bytes),
        _ if each != 32 && !store => wide_load(addresses, lanes, bytes, each),
        _ => plain(by_parts(lanes, each, |lanes| most_words(addresses, lanes, bytes)), bytes),
    }
}

/// A load of 8 or 16 bytes: halves or quarters of a warp go one after the other. Where neighbours have the same address, or
/// lanes that are two apart, in all of the warp, two of them go together. What Nsight Compute derives asks that of the two
/// alone, and that no bank is then asked twice.
fn wide_load(addresses: &[u64; 32], lanes: LaneMask, bytes: u32, each: usize) -> Wavefronts {
    let count = 32 / (2 * each);
    let (mut together, mut apart) = ([0, 0], [0, 0]);
    let (mut derived, mut neighbours, mut second) = (0, true, true);
    for first in (0..count).map(|at| 2 * each * at) {
        let both = part(first, 2 * each);
        let whole = most_words(addresses, lanes & both, bytes);
        let parts = [first, first + each].map(|at| most_words(addresses, lanes & part(at, each), bytes));
        let paired = [1, 2].map(|apart| in_pairs(addresses, lanes, both, apart));
        neighbours &= paired[0];
        second &= paired[1];
        together[0] += whole;
        together[1] += u64::from(whole != 0);
        apart[0] += parts[0] + parts[1];
        apart[1] += parts.iter().filter(|&&part| part != 0).count() as u64;
        let merged = whole <= 1 && (paired[0] || paired[1]);
        derived += if merged { whole } else { parts[0] + parts[1] };
    }
    let [hardware, parts] = if neighbours || second { together } else { apart };
    let ideal = least(lanes, bytes).min(derived);
    Wavefronts { hardware, derived, conflicts: hardware - parts, ideal, loads: 0 }
}

/// A round of a loop around a compare-and-swap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// Lanes that read the word.
    pub loads: LaneMask,
    /// Lanes that then try to swap it; the others leave the loop.
    pub swaps: LaneMask,
    /// Those of them that succeed, and leave.
    pub done: LaneMask,
}

/// The rounds of an atomic that ptxas makes of a load, the operation and a compare-and-swap, again and again until all lanes have
/// succeeded: in each one the lowest lane of a bank tries, of each half of the warp where words have eight bytes, and fails if the
/// other half has changed the word. Who only `picks` the least or the largest value leaves once it would change nothing.
pub(super) fn rounds(
    addresses: &[u64; 32],
    lanes: LaneMask,
    changing: LaneMask,
    bytes: u32,
    picks: bool,
) -> Vec<Round> {
    let same = |lanes: LaneMask, lane: usize| {
        each_of(lanes & ((1 << lane) - 1)).any(|other| addresses[other] == addresses[lane])
    };
    let mut rounds = Vec::new();
    let mut left = lanes;
    while left != 0 {
        let stays = |lane: &usize| !picks || changing >> lane & 1 != 0 || same(left & changing, *lane);
        let swaps = each_of(left).filter(stays).fold(0, |all, lane| all | 1 << lane);
        let mut taken = [0u32; 2];
        let mut done: LaneMask = 0;
        for lane in each_of(swaps) {
            let banks = (0..u64::from(bytes.div_ceil(4))).map(|word| (addresses[lane] / 4 + word) % 32);
            let banks = banks.fold(0u32, |mask, bank| mask | 1 << bank);
            let part = if bytes <= 4 { 0 } else { lane / 16 };
            if taken[part] & banks == 0 {
                taken[part] |= banks;
                done |= u32::from(!same(done & changing, lane)) << lane;
            }
        }
        rounds.push(Round { loads: left, swaps, done });
        left = swaps & !done;
    }
    rounds
}

/// What the rounds of such a loop cost.
fn in_a_loop(addresses: &[u64; 32], rounds: &[Round], bytes: u32, each: usize) -> Wavefronts {
    let mut all = Wavefronts::default();
    for &Round { loads, swaps, .. } in rounds {
        let load = wavefronts(addresses, loads, 0, bytes, false, Rule::Plain);
        let (_, parts) = by_parts(swaps, each, |_| 1);
        all.loads += load.hardware;
        all.conflicts += load.conflicts;
        all.ideal += load.ideal + 2 * parts;
        all.hardware += 2 * parts;
    }
    all.derived = all.hardware;
    all.ideal = all.ideal.min(all.loads + all.hardware);
    all
}

/// Wavefronts of a `cp.async` that goes through the first level: of each part those that reading needs, and those
/// beyond one that writing does.
pub(super) fn copies(from: &[u64; 32], to: &[u64; 32], lanes: LaneMask, bytes: u32) -> Wavefronts {
    let each = match bytes {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let (read, parts) = by_parts(lanes, each, |lanes| most_words(from, lanes, bytes));
    let (written, _) = by_parts(lanes, each, |lanes| most_words(to, lanes, bytes));
    let sum = read + written - parts;
    Wavefronts {
        hardware: sum,
        derived: sum,
        conflicts: sum - parts,
        ideal: least(lanes, bytes).min(sum),
        loads: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u32, lanes: LaneMask, address: impl Fn(u64) -> u64) -> (u64, u64) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let wavefronts = wavefronts(&addresses, lanes, 0, bytes, false, Rule::Plain);
        (wavefronts.hardware, wavefronts.ideal)
    }

    #[test]
    fn strides_of_words() {
        for (stride, expected) in
            [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)]
        {
            assert_eq!(of(4, LaneMask::MAX, |lane| 1024 + 4 * stride * lane).0, expected, "stride {stride}");
        }
        assert_eq!(of(4, 0xffff, |lane| 128 * lane), (16, 1));
        assert_eq!(of(1, LaneMask::MAX, |lane| lane), (1, 1));
    }

    #[test]
    fn banks_are_counted_as_one_by_one() {
        let mut random = testkit::random::Random(1);
        for _ in 0..20_000 {
            let bytes = random.pick(&[1, 2, 4, 8, 16]);
            let (stride, spread) =
                (random.pick(&[0, 1, 2, 4, 8, 31, 32, 33, 1000]), random.pick(&[1, 8, 64, 600, 5000]));
            let base = random.below(1 << 16);
            let addresses: [u64; 32] = std::array::from_fn(|lane| {
                u64::from(bytes)
                    * (base + lane as u64 / random.pick(&[1, 1, 16]) * stride + random.below(spread))
            });
            let lanes = random.next() as u32 | random.pick(&[LaneMask::MAX, 0xffff, 1, 0]);
            let most = most_words(&addresses, lanes, bytes);
            assert_eq!(most, most_words_apart(&addresses, lanes, bytes), "{addresses:?} {lanes:#x} {bytes}");
        }
    }

    #[test]
    fn words_that_are_far_apart_are_told_apart() {
        // Rows 63 and 64 above the lowest one, and one word that two lanes ask for.
        for (last, most) in [(63, 3), (64, 3), (1 << 40, 3)] {
            let row = |lane: u64| [0, 1, 1, last][lane as usize % 4];
            assert_eq!(of(4, LaneMask::MAX, |lane| 128 * row(lane)).0, most, "{last}");
        }
    }

    #[test]
    fn wide_accesses_go_in_parts() {
        assert_eq!(of(8, LaneMask::MAX, |lane| 8 * lane), (2, 2));
        assert_eq!(of(8, LaneMask::MAX, |lane| 8 * (lane / 2)), (1, 1));
        assert_eq!(of(8, LaneMask::MAX, |lane| 8 * (lane % 16)), (2, 2));
        assert_eq!(of(16, LaneMask::MAX, |lane| 16 * lane), (4, 4));
        assert_eq!(of(16, LaneMask::MAX, |_| 64), (2, 2));
        assert_eq!(of(8, LaneMask::MAX, |_| 64), (1, 1));
        assert_eq!(of(16, 1, |_| 64), (1, 1));
        assert_eq!(of(16, LaneMask::MAX, |lane| 128 * lane + 16 * (lane % 8)), (4, 4));
    }

    #[test]
    fn lanes_go_round_until_all_have_swapped() {
        let count = |bytes, changing, picks, address: &dyn Fn(u64) -> u64| {
            let addresses = std::array::from_fn(|lane| address(lane as u64));
            let rounds = rounds(&addresses, LaneMask::MAX, changing, bytes, picks);
            rounds.iter().filter(|round| round.swaps != 0).count()
        };
        // One lane of a bank in each turn, whatever it adds.
        assert_eq!(count(4, LaneMask::MAX, false, &|lane| 4 * lane), 1);
        assert_eq!(count(4, LaneMask::MAX, false, &|lane| 4 * (lane / 2)), 2);
        assert_eq!(count(4, 0, false, &|_| 64), 32);
        assert_eq!(count(4, LaneMask::MAX, false, &|lane| 128 * (lane % 2)), 32);
        // Two of eight bytes, of which the second fails where the first has changed the word.
        assert_eq!(count(8, LaneMask::MAX, false, &|_| 64), 32);
        assert_eq!(count(8, 0, false, &|_| 64), 16);
        // Who would change nothing leaves.
        assert_eq!(count(8, 1, true, &|_| 64), 1);
        assert_eq!(count(8, 0, true, &|_| 64), 0);
        assert_eq!(count(8, LaneMask::MAX, true, &|_| 64), 32);
    }
}
