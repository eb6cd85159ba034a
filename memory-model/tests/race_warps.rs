//! The detector takes the lanes of a warp together where it can; what it finds must be what it finds lane by lane.

use memory_model::program::{MemOrder, Scope};
use memory_model::race::{Access, Detector, Kind, Pattern, Settings, Shape, Space};
use std::collections::BTreeSet;
use testkit::random::Random;

/// Addresses of a warp, and what may be said of them.
fn addresses(random: &mut Random, bytes: u64, lanes: u32) -> ([u64; 32], Pattern) {
    let start = random.below(24) * 16;
    let lane_at = |f: &dyn Fn(u64) -> u64| std::array::from_fn(|lane| start + f(lane as u64) * bytes);
    match random.below(7) {
        0 => (lane_at(&|lane| lane), Pattern::Unit),
        1 => (lane_at(&|_| 0), Pattern::Same),
        2 if lanes == u32::MAX => (lane_at(&|lane| lane % 16), Pattern::Halves(true, true)),
        3 if lanes == u32::MAX => (lane_at(&|lane| lane / 16 * 5), Pattern::Halves(false, false)),
        4 if lanes == u32::MAX => {
            (lane_at(&|lane| if lane < 16 { lane } else { 3 }), Pattern::Halves(true, false))
        }
        5 => {
            let scattered: Vec<u64> = (0..32).map(|_| random.below(40)).collect();
            (lane_at(&|lane| scattered[lane as usize]), Pattern::Any)
        }
        _ => (lane_at(&|lane| lane * 2), Pattern::Any),
    }
}

/// Racy words: the memory, the block it belongs to, the address.
type Words = BTreeSet<(bool, u32, u64)>;

fn take(detector: &mut Detector, words: &mut Words) {
    for race in detector.take_races() {
        let shared = race.space == Space::Shared;
        words.insert((shared, if shared { race.later.cta } else { 0 }, race.address));
    }
}

fn compare(seed: u64) -> usize {
    let mut random = Random(seed);
    let shape = Shape::line([64, 40, 96][random.below(3) as usize], 1);
    let warps = shape.threads_per_cta.div_ceil(32);
    let settings = Settings { sc_fences_are_ordered: random.below(2) == 0 };
    let (mut together, mut apart) = (Detector::new(shape, settings), Detector::new(shape, settings));
    let (mut found, mut expected) = (Words::new(), Words::new());
    // Programs that mostly read find other things than those that write.
    let writes = 1 + random.below(40);
    for step in 0..(20 + random.below(120)) {
        let (cta, warp) = (random.below(2) as u32, random.below(warps.into()) as u32);
        let exist = if (warp + 1) * 32 > shape.threads_per_cta { 0xff } else { u32::MAX };
        let lanes = match random.below(4) {
            0 => exist & random.below(1 << 32) as u32,
            1 => exist & 0xffff,
            _ => exist,
        };
        if lanes == 0 {
            continue;
        }
        match random.below(12) {
            0 => {
                for detector in [&mut together, &mut apart] {
                    for warp in 0..warps {
                        let exist = if (warp + 1) * 32 > shape.threads_per_cta { 0xff } else { u32::MAX };
                        detector.arrive(cta, warp, exist, 0, true);
                    }
                    detector.complete(cta, 0, true);
                }
            }
            1 => {
                for detector in [&mut together, &mut apart] {
                    detector.synchronize_warp(cta, warp, lanes);
                }
            }
            2 => {
                let order = random.pick(&[MemOrder::Sc, MemOrder::AcqRel]);
                for detector in [&mut together, &mut apart] {
                    detector.fence(cta, warp, lanes, order, Scope::Gpu);
                }
            }
            _ => {
                let bytes = random.pick(&[4u8, 4, 4, 4, 8, 2, 1]);
                let (addresses, pattern) = addresses(&mut random, bytes.into(), lanes);
                let kind = match random.below(100) {
                    n if n < writes => Kind::Write,
                    n if n < writes + 12 && bytes >= 4 => Kind::Atomic,
                    _ => Kind::Read,
                };
                // Atomics of several lanes on one word in one instruction have no order; lane by lane they would.
                let places: Vec<u64> =
                    (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| addresses[lane]).collect();
                let distinct = places.iter().collect::<BTreeSet<_>>().len() == places.len();
                let kind = if kind == Kind::Atomic && !distinct { Kind::Read } else { kind };
                let strong = kind == Kind::Atomic || random.below(5) == 0;
                let access = Access {
                    cta,
                    warp,
                    lanes,
                    space: random.pick(&[Space::Global, Space::Shared]),
                    addresses: &addresses,
                    pattern,
                    bytes,
                    elements: 1,
                    kind,
                    writing: u32::MAX,
                    order: match kind {
                        _ if !strong => MemOrder::Weak,
                        Kind::Write => random.pick(&[MemOrder::Relaxed, MemOrder::Release]),
                        Kind::Read => random.pick(&[MemOrder::Relaxed, MemOrder::Acquire]),
                        _ => MemOrder::Relaxed,
                    },
                    scope: strong.then_some(Scope::Gpu),
                    site: step as u32 % 7,
                };
                together.access(&access);
                for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                    apart.access(&Access { lanes: 1 << lane, pattern: Pattern::Any, ..access });
                }
            }
        }
        take(&mut together, &mut found);
        take(&mut apart, &mut expected);
    }
    assert_eq!(found, expected, "seed {seed}");
    found.len()
}

#[test]
fn warps_are_their_lanes() {
    let programs = 3000 * std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let racy = (0..programs).filter(|&seed| compare(seed) > 0).count();
    assert!(racy as u64 > programs / 4, "{racy}");
}

/// A word that very many warps read, and a block that goes through very many states, stay small.
#[test]
fn memory_is_bounded() {
    let shape = Shape::line(64, 1);
    let mut detector = Detector::new(shape, Settings::default());
    let mut access = |cta, warp, space, kind, addresses: &[u64; 32], site| {
        detector.access(&Access {
            cta,
            warp,
            lanes: u32::MAX,
            space,
            addresses,
            pattern: Pattern::Any,
            bytes: 4,
            elements: 1,
            kind,
            writing: u32::MAX,
            order: MemOrder::Weak,
            scope: None,
            site,
        });
    };
    let mut random = Random(1);
    for cta in 0..2000 {
        let table = std::array::from_fn(|_| 4 * random.below(256));
        access(cta, cta % 2, Space::Global, Kind::Read, &table, 0);
        let own = std::array::from_fn(|lane| 4096 + 128 * u64::from(cta) + 4 * lane as u64);
        access(cta, 0, Space::Global, Kind::Write, &own, 1);
    }
    assert!(detector.take_races().is_empty());
    assert!(detector.memory() < 8 << 20, "{}", detector.memory());
    for round in 0..20_000 {
        let words = std::array::from_fn(|lane| 4 * lane as u64 + 128 * (round % 2));
        for kind in [Kind::Write, Kind::Read] {
            detector.access(&Access {
                cta: 0,
                warp: 0,
                lanes: u32::MAX,
                space: Space::Shared,
                addresses: &words,
                pattern: Pattern::Unit,
                bytes: 4,
                elements: 1,
                kind,
                writing: u32::MAX,
                order: MemOrder::Weak,
                scope: None,
                site: 2,
            });
        }
        detector.synchronize_warp(0, 0, u32::MAX);
    }
    assert!(detector.take_races().is_empty());
    assert!(detector.memory() < 12 << 20, "{}", detector.memory());
}

/// Matrices that many blocks read, and arrays of which little is touched: what is held a byte that is touched.
#[test]
fn memory_of_a_byte() {
    let shape = Shape::line(32, 1);
    let read = |detector: &mut Detector, cta, addresses: &[u64; 32], pattern, site| {
        detector.access(&Access {
            cta,
            warp: 0,
            lanes: u32::MAX,
            space: Space::Global,
            addresses,
            pattern,
            bytes: 4,
            elements: 1,
            kind: Kind::Read,
            writing: 0,
            order: MemOrder::Weak,
            scope: None,
            site,
        });
    };
    let held = |detector: &mut Detector| {
        assert!(detector.take_races().is_empty());
        detector.memory() / detector.touched()
    };
    // Every block reads all rows of one matrix word by word, and the other row by row.
    let mut detector = Detector::new(shape, Settings::default());
    for cta in 0..80 {
        for word in 0..600 * 16 {
            read(&mut detector, cta, &[4 * word; 32], Pattern::Same, 0);
        }
        for row in 0..2048u64 {
            let words = std::array::from_fn(|lane| (1 << 20) + 128 * row + 4 * lane as u64);
            read(&mut detector, cta, &words, Pattern::Unit, 1);
        }
        detector.end_cta(cta);
    }
    assert!(held(&mut detector) < 8, "{}", held(&mut detector));
    // Eight words of every 64, lane by lane.
    let mut detector = Detector::new(shape, Settings::default());
    for at in 0..2048u64 {
        let (warp, word) = (at / 8, at % 8);
        let words = std::array::from_fn(|lane| 8192 * warp + 256 * lane as u64 + 4 * word);
        read(&mut detector, warp as u32, &words, Pattern::Any, 0);
    }
    assert!(held(&mut detector) < 4, "{}", held(&mut detector));
}
