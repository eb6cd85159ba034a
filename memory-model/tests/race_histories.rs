//! The detector against the obvious one: a vector clock a thread, and everything that was ever done to each word.
//!
//! Random programs of whole warps: rows, halves, broadcasts and scattered addresses of all sizes, atomics, barriers of a
//! CTA and of some of its warps, `bar.warp.sync`, release and acquire through flags. Of every word both must find the
//! same first race. (`race_detector.rs` compares single threads with the relations of the memory model itself.)

use memory_model::program::{MemOrder, Scope};
use memory_model::race::{Access, Detector, Kind, Pattern, Settings, Shape, Space};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use testkit::random::Random;

/// One access of one thread to the bytes of one word.
#[derive(Clone)]
struct Past {
    thread: usize,
    epoch: u32,
    step: usize,
    /// The whole element: its address and bytes.
    range: (u64, u64),
    /// Bytes of the word.
    mask: u32,
    writes: bool,
    atomic: bool,
    scope: Option<Scope>,
    /// What had been observed by it: indices into the word's history.
    observed: Rc<HashSet<usize>>,
}

type Word = (bool, usize, u64);

/// The obvious detector.
struct Naive {
    shape: Shape,
    /// By thread: how far it knows each.
    clocks: Vec<Vec<u32>>,
    words: HashMap<Word, Vec<Past>>,
    flags: HashMap<u64, Vec<u32>>,
    /// By word: steps that may be reported, and the first one that must be.
    possible: BTreeMap<Word, BTreeSet<usize>>,
    certain: BTreeMap<Word, usize>,
}

impl Naive {
    fn new(shape: Shape, ctas: usize) -> Self {
        let threads = ctas * shape.threads_per_cta as usize;
        let mut clocks = vec![vec![0; threads]; threads];
        (0..threads).for_each(|thread| clocks[thread][thread] = 1);
        Self {
            shape,
            clocks,
            words: HashMap::new(),
            flags: HashMap::new(),
            possible: BTreeMap::new(),
            certain: BTreeMap::new(),
        }
    }

    fn cta(&self, thread: usize) -> usize {
        thread / self.shape.threads_per_cta as usize
    }

    fn learn(&mut self, thread: usize, other: &[u32]) {
        self.clocks[thread].iter_mut().zip(other).for_each(|(mine, theirs)| *mine = *theirs.max(mine));
    }

    /// Those that wait know what those that arrive did.
    fn meet(&mut self, arrive: &[usize], wait: &[usize]) {
        let mut all = vec![0; self.clocks.len()];
        for &thread in arrive {
            self.clocks[thread].iter().zip(&mut all).for_each(|(theirs, all)| *all = *theirs.max(all));
        }
        wait.iter().for_each(|&thread| self.learn(thread, &all));
        arrive.iter().for_each(|&thread| self.clocks[thread][thread] += 1);
    }

    fn morally_strong(&self, a: &Past, b: &Past) -> bool {
        let holds = |scope: Option<Scope>| match scope {
            None => false,
            Some(Scope::Cta | Scope::Cluster) => self.cta(a.thread) == self.cta(b.thread),
            Some(_) => true,
        };
        a.range == b.range && holds(a.scope) && holds(b.scope)
    }

    fn comes_before(&self, history: &[Past], earlier: usize, later: &Past) -> bool {
        let knows =
            |past: &Past| past.thread == later.thread || self.clocks[later.thread][past.thread] >= past.epoch;
        knows(&history[earlier])
            || history.iter().any(|other| other.observed.contains(&earlier) && knows(other))
    }

    /// Whether an access is after another one that comes before it, as it was when it was made.
    fn access(&mut self, word: Word, mut new: Past) {
        let history = self.words.remove(&word).unwrap_or_default();
        let newest = history.iter().rposition(|past| past.writes && past.mask & new.mask != 0);
        if let Some(newest) = newest
            && (!new.writes || new.atomic)
        {
            let past = &history[newest];
            let own = past.thread == new.thread && past.range == new.range;
            if self.morally_strong(past, &new) || own && new.scope.is_some() {
                let mut observed = if past.atomic { (*past.observed).clone() } else { HashSet::new() };
                observed.insert(newest);
                new.observed = Rc::new(observed);
            }
        }
        let races = |k: usize| {
            let past = &history[k];
            past.mask & new.mask != 0
                && (past.writes || new.writes)
                && !self.morally_strong(past, &new)
                // What an atomic observes comes before the write that it is.
                && !(new.atomic && new.observed.contains(&k))
                && !self.comes_before(&history, k, &new)
        };
        // A write of the same bytes that came after it, and comes before this access, may have taken its place.
        let forgotten = |k: usize| {
            (k + 1..history.len()).any(|l| {
                let later = &history[l];
                later.writes
                    && history[k].mask & !later.mask == 0
                    && (self.comes_before(&history, l, &new) || new.observed.contains(&l))
            })
        };
        let racing: Vec<usize> = (0..history.len()).filter(|&k| races(k)).collect();
        let certain = racing.iter().any(|&k| !forgotten(k));
        if !racing.is_empty() {
            self.possible.entry(word).or_default().insert(new.step);
        }
        if certain {
            self.certain.entry(word).or_insert(new.step);
        }
        let mut history = history;
        history.push(new);
        self.words.insert(word, history);
    }
}

/// Addresses of a warp.
fn addresses(random: &mut Random, size: u64, lanes: u32) -> ([u64; 32], Pattern) {
    let start = random.below(12) * 16;
    let at = |f: &dyn Fn(u64) -> u64| std::array::from_fn(|lane| start + f(lane as u64) * size);
    match random.below(9) {
        0..=2 => (at(&|lane| lane), Pattern::Unit),
        3 => (at(&|_| 0), Pattern::Same),
        4 if lanes == u32::MAX => (at(&|lane| lane % 16), Pattern::Halves(true, true)),
        5 if lanes == u32::MAX => (at(&|lane| lane / 16 * 5), Pattern::Halves(false, false)),
        6 => {
            let scattered: Vec<u64> = (0..32).map(|_| random.below(40)).collect();
            (at(&|lane| scattered[lane as usize]), Pattern::Any)
        }
        7 => (at(&|lane| lane), Pattern::Any),
        _ => (at(&|lane| lane * 3), Pattern::Any),
    }
}

struct Run {
    random: Random,
    shape: Shape,
    ctas: usize,
    /// Whether atomics are many and all of a scope that holds everybody: chains get long.
    wide: bool,
    /// Whether threads of different CTAs synchronise.
    flags: bool,
    detector: Detector,
    naive: Naive,
    found: BTreeMap<Word, usize>,
}

impl Run {
    fn exist(&self, warp: u32) -> u32 {
        if (warp + 1) * 32 > self.shape.threads_per_cta { 0xff } else { u32::MAX }
    }

    fn threads(&self, cta: u32, warp: u32, lanes: u32) -> Vec<usize> {
        let first = (cta * self.shape.threads_per_cta + warp * 32) as usize;
        (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| first + lane).collect()
    }

    fn access(&mut self, access: &Access<'_>) {
        self.detector.access(access);
        let step = access.site as usize;
        for race in self.detector.take_races() {
            let shared = race.space == Space::Shared;
            let word = (shared, if shared { race.later.cta as usize } else { 0 }, race.address / 4);
            self.found.entry(word).or_insert(step);
        }
        let threads = self.threads(access.cta, access.warp, access.lanes);
        for (thread, lane) in threads.into_iter().zip((0..32).filter(|lane| access.lanes >> lane & 1 != 0)) {
            for element in 0..u64::from(access.elements) {
                let bytes = u64::from(access.bytes);
                let address = access.addresses[lane] + element * bytes;
                for word in address / 4..(address + bytes).div_ceil(4) {
                    let mask = (0..4)
                        .filter(|byte| (address..address + bytes).contains(&(word * 4 + byte)))
                        .fold(0, |mask, byte| mask | 1 << byte);
                    let shared = access.space == Space::Shared;
                    let atomic = !matches!(access.kind, Kind::Read | Kind::Write);
                    let past = Past {
                        thread,
                        epoch: self.naive.clocks[thread][thread],
                        step,
                        range: (address, bytes),
                        mask,
                        writes: access.kind != Kind::Read,
                        atomic,
                        scope: access.scope,
                        observed: Rc::default(),
                    };
                    self.naive.access((shared, if shared { access.cta as usize } else { 0 }, word), past);
                }
            }
        }
    }

    /// One lane releases or acquires through a flag.
    fn flag(&mut self, cta: u32, warp: u32, step: usize) {
        let lane = self.random.below(u64::from(self.exist(warp).count_ones())) as u32;
        let address = 4096 + 4 * self.random.below(3);
        let thread = self.threads(cta, warp, 1 << lane)[0];
        let (kind, order) = self.random.pick(&[
            (Kind::Write, MemOrder::Release),
            (Kind::Read, MemOrder::Acquire),
            (Kind::Atomic, MemOrder::AcqRel),
        ]);
        if kind != Kind::Write {
            let seen = self.naive.flags.get(&address).cloned().unwrap_or_default();
            self.naive.learn(thread, &seen);
        }
        self.access(&Access {
            cta,
            warp,
            lanes: 1 << lane,
            space: Space::Global,
            addresses: &[address; 32],
            pattern: Pattern::Any,
            bytes: 4,
            elements: 1,
            kind,
            writing: u32::MAX,
            order,
            scope: Some(Scope::Gpu),
            site: step as u32,
        });
        if kind != Kind::Read {
            let own = self.naive.clocks[thread].clone();
            let flag = self.naive.flags.entry(address).or_default();
            flag.resize(own.len(), 0);
            let chain = kind == Kind::Atomic;
            for (flag, own) in flag.iter_mut().zip(own) {
                *flag = if chain { own.max(*flag) } else { own };
            }
            self.naive.clocks[thread][thread] += 1;
        }
    }

    /// A barrier of a CTA, or of some of its warps, some of which may only arrive.
    fn barrier(&mut self, cta: u32) {
        let warps = self.shape.warps();
        let all: Vec<usize> = (0..warps).flat_map(|w| self.threads(cta, w, self.exist(w))).collect();
        if self.random.chance(60) {
            let lanes: Vec<u32> = (0..warps).map(|warp| self.exist(warp)).collect();
            self.detector.meet(cta, 0, &lanes);
            self.naive.meet(&all, &all);
            return;
        }
        let whole = self.random.chance(50);
        let (mut arrive, mut wait) = (Vec::new(), Vec::new());
        for warp in 0..warps {
            if whole || self.random.chance(60) {
                let waits = whole || self.random.chance(70);
                self.detector.arrive(cta, warp, self.exist(warp), 1, waits);
                let threads = self.threads(cta, warp, self.exist(warp));
                arrive.extend(&threads);
                if waits {
                    wait.extend(threads);
                }
            }
        }
        self.detector.complete(cta, 1, arrive.len() == all.len());
        self.naive.meet(&arrive, &wait);
    }

    fn step(&mut self, step: usize, writes: u64, strong: u64) {
        let (cta, warp) =
            (self.random.below(self.ctas as u64) as u32, self.random.below(self.shape.warps().into()) as u32);
        let exist = self.exist(warp);
        let lanes = match self.random.below(5) {
            0 => exist & self.random.below(1 << 32) as u32,
            1 => exist & 0xffff,
            _ => exist,
        };
        match self.random.below(20) {
            0 | 1 => return self.barrier(cta),
            2 if lanes != 0 => {
                self.detector.synchronize_warp(cta, warp, lanes);
                let threads = self.threads(cta, warp, lanes);
                return self.naive.meet(&threads, &threads);
            }
            3 if self.flags => return self.flag(cta, warp, step),
            _ => {}
        }
        if lanes == 0 {
            return;
        }
        let (bytes, elements) = self.random.pick(&[
            (4u8, 1u8),
            (4, 1),
            (4, 1),
            (4, 1),
            (8, 1),
            (4, 2),
            (4, 4),
            (2, 1),
            (1, 1),
            (1, 4),
        ]);
        let size = u64::from(bytes) * u64::from(elements);
        let (addresses, pattern) = addresses(&mut self.random, size, lanes);
        let places: HashSet<u64> =
            (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| addresses[lane]).collect();
        // Atomics of several lanes on one word in one instruction have no order.
        let distinct = places.len() as u32 == lanes.count_ones();
        let kind = match self.random.below(100) {
            n if n < writes => Kind::Write,
            n if n < writes + if self.wide { 65 } else { 20 } && bytes == 4 && elements == 1 && distinct => {
                Kind::Atomic
            }
            _ => Kind::Read,
        };
        let strong = kind == Kind::Atomic || bytes >= 4 && self.random.chance(strong);
        let scopes =
            if self.wide { [Scope::Gpu; 4] } else { [Scope::Gpu, Scope::Gpu, Scope::Sys, Scope::Cta] };
        let scope = strong.then(|| self.random.pick(&scopes));
        let space = self.random.pick(&[Space::Global, Space::Shared]);
        self.access(&Access {
            cta,
            warp,
            lanes,
            space,
            addresses: &addresses,
            pattern,
            bytes,
            elements,
            kind,
            writing: u32::MAX,
            order: if strong { MemOrder::Relaxed } else { MemOrder::Weak },
            scope,
            site: step as u32,
        });
    }
}

/// Has so many reads of words far away noted that the detector no longer keeps all readers of a word.
fn crowd(detector: &mut Detector) {
    let addresses = std::array::from_fn(|lane| (1 << 20) + 4096 * lane as u64);
    for round in 0..1100 {
        detector.access(&Access {
            cta: round % 2,
            warp: 0,
            lanes: u32::MAX,
            space: Space::Global,
            addresses: &addresses,
            pattern: Pattern::Any,
            bytes: 4,
            elements: 1,
            kind: Kind::Read,
            writing: 0,
            order: MemOrder::Weak,
            scope: None,
            site: 1000 + round / 2 % 2,
        });
    }
}

/// Which programs are compared.
#[derive(Clone, Copy, PartialEq)]
enum Programs {
    Few,
    /// Very many reads were noted before.
    Crowded,
    /// The same, and most accesses are strong.
    Strong,
}

/// Racy words, others, and racy ones that were missed where that is allowed.
fn compare(seed: u64, programs: Programs) -> [usize; 3] {
    let crowded = programs != Programs::Few;
    let mut random = Random(seed);
    let shape = Shape::line(random.pick(&[64, 40, 96]), 1);
    let settings = Settings { sc_fences_are_ordered: random.chance(50) };
    let wide = programs == Programs::Strong || random.chance(15);
    let ctas = if wide || crowded { 8 } else { 1 + random.below(3) as usize };
    let flags = !crowded || random.chance(30);
    let (mut detector, naive) = (Detector::new(shape, settings), Naive::new(shape, ctas));
    let writes = if wide { random.below(3) } else { random.below(30) };
    let (mut strong, steps) = (random.below(2) * 20, 10 + random.below(50));
    if programs == Programs::Strong {
        strong = 80;
    }
    if crowded {
        crowd(&mut detector);
    }
    let mut run = Run { random, shape, ctas, wide, flags, detector, naive, found: BTreeMap::new() };
    for step in 0..steps as usize {
        run.step(step, writes, strong);
    }
    let mut missed = 0;
    for (word, history) in &run.naive.words {
        let (found, certain) = (run.found.get(word), run.naive.certain.get(word));
        let context = || {
            let lines: Vec<String> = history
                .iter()
                .map(|p| format!("{} thread {} {:?} {} {:?}", p.step, p.thread, p.range, p.writes, p.scope))
                .collect();
            format!("seed {seed}, {shape:?}, word {word:?}:\n{}", lines.join("\n"))
        };
        if let Some(found) = found {
            let possible = run.naive.possible.get(word).is_some_and(|steps| steps.contains(found));
            assert!(possible, "step {found} is reported and does not race: {}", context());
        }
        if let Some(certain) = certain
            && found.is_none_or(|found| found > certain)
        {
            // Who has learned of other CTAs may come after the readers that are kept and not after others; and of what strong
            // writes were observed by, CTAs are known.
            let observed = history.iter().any(|past| !past.observed.is_empty());
            assert!(crowded && (flags || observed), "step {certain} is missed: {}", context());
            missed += 1;
        }
    }
    [run.found.len(), run.naive.words.len() - run.found.len(), missed]
}

/// How many of many programs.
fn compare_all(programs: u64, kind: Programs) -> [u64; 4] {
    let programs = programs * std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut sums = [0; 3];
    for seed in 0..programs {
        sums.iter_mut().zip(compare(seed, kind)).for_each(|(sum, n)| *sum += n as u64);
    }
    [programs, sums[0], sums[1], sums[2]]
}

#[test]
fn the_first_race_of_every_word() {
    let [programs, racy, free, _] = compare_all(3000, Programs::Few);
    assert!(racy > 10 * programs && free > 10 * programs, "{racy} racy, {free} free");
}

/// Words that threads of many CTAs read: nothing is invented, and nothing missed before CTAs learn of each other.
#[test]
fn tables() {
    let [programs, racy, free, missed] = compare_all(300, Programs::Crowded);
    assert!(racy > 10 * programs && free > 5 * programs, "{racy} racy, {free} free");
    assert!(missed < racy / 50, "{racy} racy, {missed} missed");
}

/// Words that many threads access strongly: nothing is invented, and little missed.
#[test]
fn strong_words() {
    let [programs, racy, free, missed] = compare_all(300, Programs::Strong);
    assert!(racy > 10 * programs && free > 5 * programs, "{racy} racy, {free} free");
    assert!(missed < racy / 50, "{racy} racy, {missed} missed");
}
