//! `--tool racecheck`: the simulator's events into the memory model's race detector, its races into findings.
//!
//! The simulator tells a [`Tool`] what a launch does and knows no memory model; the detector
//! ([`memory_model::race`]) judges accesses and knows no simulator. This crate is between them and holds no state
//! of its own but the races found, grouped by the two instructions.
//!
//! ```
//! use sim_core::RunOptions;
//! let options = RunOptions { tools: vec![racecheck::tool()], ..RunOptions::default() };
//! assert!(options.tools[0].is_ordered());
//! ```
//!
//! # What is told
//! Accesses of global and shared memory with their order and scope, fences, `bar.warp.sync`, block barriers by
//! phase. `.volatile` and `.mmio` are relaxed accesses of system scope, as the PTX manual has it (8.2.2). Operations
//! on mbarrier objects are atomics of their order, so that they synchronise as any release and acquire does. Operations of the
//! asynchronous proxy are accesses of threads of their own, from their issue until somebody has waited for them; what
//! they read must have been fenced for their proxy, and so must tensor maps that a kernel writes.
//!
//! # Limits
//! The reads of `cp.async` are seen where it is issued; its writes count until they were waited for, or until the arrive of
//! an mbarrier that follows them. A wait on an mbarrier counts for what has completed there, also if it says that the phase
//! is not over. Of two `fence.sc` one comes first in the schedule that was run; only what must be so in every schedule is used.

mod copies;
mod homes;
mod operations;
mod text;

use copies::{Copies, Copy, Hit};
use homes::{DISTRIBUTED, Homes};
use memory_model::RaceClass;
use memory_model::program::{MemOrder, Scope};
use memory_model::race::{Access, Detector, Kind, Missing, Pattern, Race, Settings, Shape, Side, Space};
use operations::{Operations, Party, VIEWS};
use rustc_hash::FxHashMap;
use sim_core::tools::{Context, Event, LaunchShape, LaunchView, Summary, Wants, WarpId};
use sim_core::{
    AccessKind, Asynchronous, CodePlace, Completion, Dim3, Finding, FindingKind, GroupStep, Groups as Copied,
    Memory, ThreadId, Tool, ToolFactory, WarpAccess,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Makes a race detector for each launch.
pub fn tool() -> ToolFactory {
    ToolFactory::new(Racecheck::new)
}

/// What checking a launch took; see [`measured_tool`].
#[derive(Debug, Default)]
pub struct Footprint {
    /// The most bytes that the detector held.
    pub held: AtomicUsize,
    /// Bytes of global memory that the launch touched.
    pub touched: AtomicUsize,
}

/// The same, measuring the memory it takes, for benchmarks: that costs time of its own.
pub fn measured_tool(footprint: Arc<Footprint>) -> ToolFactory {
    ToolFactory::new(move |shape| Racecheck { footprint: Some(footprint.clone()), ..Racecheck::new(shape) })
}

/// Which access of a race belongs to an asynchronous operation under way, and what would complete that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum UnderWay {
    Neither,
    Earlier(Completion),
    Later(Completion),
    Both(Completion),
    /// The later one, which sees what the earlier one wrote through another proxy.
    Unfenced(Completion),
    /// The later one, which reads its tensor map so.
    StaleMap,
}

/// `cp.async`
const COPIES: Completion = Completion::Groups(Copied::Copies);

/// Equal races: the two instructions and what they do there.
type Key = (FindingKind, u32, u32, bool, bool, UnderWay);

struct Group {
    first: Race,
    count: u64,
    /// Threads of the later accesses: block, warp, lane.
    threads: Vec<(u32, u32, u32)>,
}

/// Threads kept a group.
const THREADS: usize = 256;

struct Racecheck {
    detector: Detector,
    /// The clusters, where they have more than one block.
    clusters: Option<Clusters>,
    /// Shared memory that not only the threads of its block access, if there is such.
    homes: Option<Homes>,
    /// Operations of the asynchronous proxy, if there are such.
    operations: Option<Operations>,
    copies: Copies,
    seed: u64,
    groups: Groups,
    /// More blocks than the detector can number.
    too_many: bool,
    footprint: Option<Arc<Footprint>>,
}

impl Racecheck {
    fn new(launch: &LaunchShape) -> Self {
        let shape = Shape {
            threads_per_cta: launch.block.count() as u32,
            grid: launch.grid,
            cluster: launch.cluster,
        };
        let settings = Settings { sc_fences_are_ordered: false };
        Self {
            detector: Detector::new(shape, settings),
            clusters: Clusters::of(launch),
            homes: (launch.cluster.count() > 1 || launch.asynchronous).then(Homes::default),
            operations: launch.asynchronous.then(|| Operations::new(launch.grid.count())),
            copies: Copies::default(),
            seed: launch.seed,
            groups: Groups::default(),
            footprint: None,
            too_many: launch.grid.count() > u128::from(u32::MAX),
        }
    }

    /// Lanes arrive at the barrier of their cluster, or leave it: an atomic on it, or a read.
    fn at_cluster_barrier(&mut self, warp: WarpId, lanes: u32, kind: Kind, order: MemOrder) {
        let Some(clusters) = &self.clusters else { return };
        let barrier = clusters.barrier(warp.block);
        let view = self.operations.as_ref().map(|operations| (operations.view(warp.block), barrier | VIEWS));
        for (cta, address) in [(warp.block as u32, barrier)].into_iter().chain(view) {
            self.detector.access(&Access {
                cta,
                warp: warp.warp,
                lanes,
                space: Space::Global,
                addresses: &[address; 32],
                pattern: Pattern::Same,
                bytes: 4,
                elements: 1,
                kind,
                writing: lanes,
                order,
                scope: Some(Scope::Cluster),
                site: 0,
            });
        }
    }

    /// The races found now. `completed`: the later access is the write of a `cp.async` that was waited for.
    #[cold]
    fn collect(&mut self, completed: bool) {
        let Self { detector, groups, operations, .. } = self;
        detector.visit_races(|race| groups.add_of(operations.as_ref(), race, completed));
    }
}

/// The clusters of a launch.
struct Clusters {
    grid: Dim3,
    cluster: Dim3,
}

/// Where the barriers of clusters lie, which nobody else accesses: to the detector they are words.
const BARRIERS: u64 = 1 << 62;

impl Clusters {
    fn of(launch: &LaunchShape) -> Option<Self> {
        (launch.cluster.count() > 1).then_some(Self { grid: launch.grid, cluster: launch.cluster })
    }

    /// The word that the barrier of a block's cluster is.
    fn barrier(&self, block: u64) -> u64 {
        let (at, size) = (self.grid.position(block), self.cluster);
        let cluster = Dim3::new(at.x / size.x, at.y / size.y, at.z / size.z);
        BARRIERS | self.grid.index(cluster) << 3
    }
}

/// The memory that a race is about, and the address in it.
fn place_of(race: &Race) -> (Memory, u64) {
    match race.space {
        Space::Global if race.address >= DISTRIBUTED => (Memory::Shared, race.address & u64::from(u32::MAX)),
        Space::Global => (Memory::Global, race.address),
        Space::Shared => (Memory::Shared, race.address),
    }
}

/// Groups that are found without hashing.
const LAST: usize = 16;

/// The races found, by what they are.
#[derive(Default)]
struct Groups {
    groups: Vec<(Key, Group)>,
    index: FxHashMap<Key, usize>,
    /// Those added to last: races alike mostly follow one another.
    last: [usize; LAST],
}

impl Groups {
    /// Adds a race to those of its kind.
    fn add(&mut self, kind: FindingKind, race: &Race, under_way: UnderWay) {
        let (earlier, later) = (&race.earlier, &race.later);
        let key = (kind, earlier.site, later.site, earlier.writes, later.writes, under_way);
        let last = &mut self.last[(earlier.site ^ later.site.rotate_left(2)) as usize % LAST];
        if self.groups.get(*last).is_none_or(|(known, _)| *known != key) {
            *last = *self.index.entry(key).or_insert(self.groups.len());
            if *last == self.groups.len() {
                self.groups.push((key, Group { first: *race, count: 0, threads: Vec::new() }));
            }
        }
        let group = &mut self.groups[*last].1;
        group.count += u64::from(race.count);
        if group.threads.len() < THREADS {
            group.threads.push((later.cta, later.warp, later.lane));
        }
    }
}

impl Groups {
    /// Adds what the detector found: its blocks may stand for operations.
    fn add_of(&mut self, operations: Option<&Operations>, race: &Race, completed: bool) {
        let mut race = *race;
        let mut under_way = if completed { UnderWay::Later(COPIES) } else { UnderWay::Neither };
        if let Some(operations) = operations {
            let (earlier, later) = (operations.party(race.earlier.cta), operations.party(race.later.cta));
            (race.earlier.cta, race.later.cta) = (earlier.1, later.1);
            under_way = match (earlier.0, later.0) {
                (Party::Threads, Party::Threads) => under_way,
                (Party::Operations(how), Party::Threads) => UnderWay::Earlier(how),
                (Party::View, Party::Threads) => UnderWay::Earlier(operations.reader(race.earlier.site)),
                (Party::Threads, Party::Operations(how)) => UnderWay::Later(how),
                (Party::Threads, Party::View) => UnderWay::Unfenced(operations.reader(race.later.site)),
                (Party::Operations(how), Party::Operations(_)) => UnderWay::Both(how),
                (Party::View, Party::Operations(_)) => UnderWay::Both(operations.reader(race.earlier.site)),
                (Party::Threads | Party::Operations(_), Party::Map) => UnderWay::StaleMap,
                // The operation itself is found to race, too; a map is read by its issuer, too.
                (_, Party::View | Party::Map) | (Party::Map, _) => return,
            };
        }
        let kind = match under_way {
            UnderWay::Neither => kind_of(&race),
            UnderWay::Unfenced(_) | UnderWay::StaleMap => FindingKind::MissingProxyFence,
            _ => FindingKind::DataRace,
        };
        self.add(kind, &race, under_way);
    }
}

/// The race of an access with a copy under way.
fn race_with_copy(access: &WarpAccess<'_>, hit: &Hit) -> Race {
    let cta = access.block as u32;
    let writes = access.kind != AccessKind::Read;
    let scope = scope_if_strong(access);
    Race {
        class: if scope.is_some() { RaceClass::WeakStrong } else { RaceClass::Weak },
        address: hit.address,
        space: Space::Shared,
        earlier: Side {
            cta,
            warp: hit.issuer.0,
            lane: hit.issuer.1,
            site: hit.copy_site,
            writes: true,
            scope: None,
            bytes: hit.copy_bytes as u8,
        },
        later: Side {
            cta,
            warp: access.warp,
            lane: hit.lane,
            site: access.position,
            writes,
            scope,
            bytes: access.element.max(1) as u8,
        },
        missing: Missing::Everything,
        count: 1,
    }
}

/// The scope of a strong access.
fn scope_if_strong(access: &WarpAccess<'_>) -> Option<Scope> {
    match access.order {
        MemOrder::Weak => None,
        _ => Some(access.scope),
    }
}

/// The kind that a race is reported as.
fn kind_of(race: &Race) -> FindingKind {
    let same_warp = race.earlier.cta == race.later.cta && race.earlier.warp == race.later.warp;
    match race.class {
        RaceClass::MixedSize => FindingKind::MixedSizeRace,
        RaceClass::Scope => FindingKind::ScopeRace,
        _ if same_warp => FindingKind::WarpRace,
        _ => FindingKind::DataRace,
    }
}

/// What a copy did, as an access of the thread that has now waited for it.
fn write_of<'a>(copy: &'a Copy, space: Space, addresses: &'a [u64; 32]) -> Access<'a> {
    Access {
        cta: copy.warp.block as u32,
        warp: copy.warp.warp,
        lanes: copy.lanes,
        space,
        addresses,
        pattern: Pattern::Any,
        bytes: copy.bytes as u8,
        elements: 1,
        kind: Kind::Write,
        writing: copy.lanes,
        order: MemOrder::Weak,
        scope: None,
        site: copy.site,
    }
}

impl Racecheck {
    fn access(&mut self, access: &WarpAccess<'_>) {
        let space = match access.memory {
            Memory::Global => Space::Global,
            Memory::Shared => Space::Shared,
            // A thread's own.
            Memory::Local => return,
        };
        if space == Space::Shared {
            let groups = &mut self.groups;
            self.copies.access(access, |hit| {
                groups.add(FindingKind::DataRace, &race_with_copy(access, &hit), UnderWay::Earlier(COPIES));
            });
        }
        let distributed;
        let (space, addresses) = match (&mut self.homes, space) {
            (Some(homes), Space::Shared) => {
                distributed = homes.addresses(access.home, access.addresses);
                (Space::Global, &distributed)
            }
            _ => (space, access.addresses),
        };
        let element = access.element.max(1);
        let now = Access {
            cta: access.block as u32,
            warp: access.warp,
            lanes: access.lanes,
            space,
            addresses,
            pattern: match access.shape {
                sim_core::Shape::Any => Pattern::Any,
                sim_core::Shape::Same => Pattern::Same,
                sim_core::Shape::Unit => Pattern::Unit,
                sim_core::Shape::Halves(a, b) => Pattern::Halves(a, b),
            },
            bytes: element as u8,
            elements: (access.bytes / element) as u8,
            kind: match access.kind {
                AccessKind::Read => Kind::Read,
                AccessKind::Write => Kind::Write,
                AccessKind::Atomic => Kind::Atomic,
                AccessKind::Reduction => Kind::Reduction,
            },
            writing: access.writing,
            order: access.order,
            scope: scope_if_strong(access),
            site: access.position,
        };
        if self.operations.is_some() {
            self.beside_operations(access, &now);
        } else {
            self.detector.access(&now);
        }
        if self.detector.has_races() {
            self.collect(false);
        }
    }

    /// An access in a launch that has operations of the asynchronous proxy.
    fn beside_operations(&mut self, access: &WarpAccess<'_>, now: &Access<'_>) {
        let Self { detector, operations, groups, .. } = self;
        let Some(operations) = operations else { return };
        let mut now = *now;
        if access.asynchronous == Asynchronous::Issued {
            let counts = access.kind == AccessKind::Reduction && access.memory == Memory::Shared;
            if !(counts && operations.completes(detector, access.home, access.addresses)) {
                operations.access(detector, &now, |detector, operations| {
                    detector.visit_races(|race| groups.add_of(Some(operations), race, false));
                });
                return;
            }
            // What the issuer did before is not released by it (9.7.13.15.6).
            now.order = MemOrder::Relaxed;
        }
        detector.access(&now);
        if access.asynchronous == Asynchronous::Map && !detector.has_races() {
            operations.map_read(detector, &now);
        }
        if now.order == MemOrder::Weak {
            return;
        }
        let addresses = now.addresses.map(|address| address | VIEWS);
        detector.access(&Access { cta: operations.view(access.block), addresses: &addresses, ..now });
        if access.kind == AccessKind::Read && access.memory == Memory::Shared {
            let warp = WarpId { block: access.block, warp: access.warp };
            operations.looked(detector, warp, access.lanes, access.home, access.addresses);
        }
    }

    fn grouped(&mut self, warp: WarpId, lanes: u32, groups: Copied, step: GroupStep) {
        let Self { detector, homes, copies, .. } = self;
        if groups == Copied::Copies {
            copies.step(warp, lanes, step, |copy| match homes {
                Some(homes) => {
                    let addresses = homes.addresses(warp.block, &copy.addresses);
                    detector.access(&write_of(copy, Space::Global, &addresses));
                }
                None => detector.access(&write_of(copy, Space::Shared, &copy.addresses)),
            });
            if self.detector.has_races() {
                self.collect(true);
            }
        }
        if let Some(operations) = &mut self.operations {
            operations.grouped(&mut self.detector, warp, lanes, groups, step);
        }
    }

    /// The blocks of the detector that a block's threads, and what operations see of them, are.
    fn both(&self, block: u64) -> impl Iterator<Item = u32> + use<> {
        let view = self.operations.as_ref().map(|operations| operations.view(block));
        std::iter::once(block as u32).chain(view)
    }

    fn block_finished(&mut self, block: u64) {
        self.copies.end(block);
        if let Some(operations) = &mut self.operations {
            operations.end(&mut self.detector, block);
        }
        if let Some(homes) = &mut self.homes {
            homes.end(block, |address, bytes| self.detector.forget(address, bytes));
        }
        if let Some(footprint) = &self.footprint {
            footprint.held.fetch_max(self.detector.memory(), Relaxed);
        }
        self.detector.end_cta(block as u32);
    }
}

impl Tool for Racecheck {
    type Block = ();

    const ORDERED: bool = true;

    fn wants(&self) -> Wants {
        let memory = Wants::ACCESSES | Wants::ASYNCHRONOUS | Wants::ALLOCATIONS;
        memory | Wants::FENCES | Wants::WARPS | Wants::BARRIERS | Wants::BLOCKS
    }

    fn event(&mut self, event: &Event<'_>, (): &mut (), _: &dyn Context) {
        match *event {
            Event::Access(access) => self.access(access),
            Event::Issued { warp, lanes, completion, home, addresses } => {
                if let Some(operations) = &mut self.operations {
                    operations.issued(&mut self.detector, warp, lanes, completion, home, addresses);
                }
            }
            Event::Grouped { warp, lanes, groups, step } => self.grouped(warp, lanes, groups, step),
            Event::ProxyFence { warp, lanes } => {
                if let Some(operations) = &self.operations {
                    operations.fenced(&mut self.detector, warp, lanes);
                }
            }
            Event::MapFence { warp, lanes, addresses } => {
                if let Some(operations) = &mut self.operations {
                    operations.map_fenced(&mut self.detector, warp, lanes, addresses);
                }
            }
            Event::Fence { warp, lanes, order, scope } if order != MemOrder::Weak => {
                for cta in self.both(warp.block) {
                    self.detector.fence(cta, warp.warp, lanes, order, scope);
                }
            }
            Event::WarpSynchronized { warp, lanes } => {
                for cta in self.both(warp.block) {
                    self.detector.synchronize_warp(cta, warp.warp, lanes);
                }
            }
            Event::Arrived { warp, lanes, barrier, waits, .. } => {
                for cta in self.both(warp.block) {
                    self.detector.arrive(cta, warp.warp, lanes, barrier.into(), waits);
                }
            }
            Event::BarrierCompleted { block, barrier, everybody } => {
                for cta in self.both(block) {
                    self.detector.complete(cta, barrier.into(), everybody);
                }
            }
            Event::BarrierOfAll { block, barrier, lanes, .. } => {
                for cta in self.both(block) {
                    self.detector.meet(cta, barrier.into(), lanes);
                }
            }
            Event::ClusterArrived { warp, lanes, order } => {
                self.at_cluster_barrier(warp, lanes, Kind::Reduction, order);
            }
            Event::ClusterWaited { warp, lanes } => {
                self.at_cluster_barrier(warp, lanes, Kind::Read, MemOrder::Acquire);
            }
            Event::Allocated { address, bytes } => self.detector.forget(address, bytes),
            Event::BlockStarted { block, shared } => {
                if let Some(homes) = &mut self.homes {
                    homes.start(block, shared);
                }
            }
            Event::BlockFinished { block } => self.block_finished(block),
            _ => {}
        }
    }

    fn finish(mut self, launch: &dyn LaunchView) -> Summary {
        if let Some(footprint) = &self.footprint {
            footprint.held.fetch_max(self.detector.memory(), Relaxed);
            footprint.touched.store(self.detector.touched(), Relaxed);
        }
        let mut findings = grouped(std::mem::take(&mut self.groups), self.seed, launch);
        if self.too_many || self.detector.exhausted() {
            let message = "the launch is too large for racecheck: not all of it was checked";
            findings.push(Finding {
                notes: vec!["at most 67 million warps and 65536 memory instructions are told apart".into()],
                help: vec!["check a smaller grid".into()],
                ..Finding::of_launch(FindingKind::Unsupported, launch.kernel(), message.into())
            });
        }
        Summary { findings, ..Summary::default() }
    }
}

/// Files and lines of the CUDA source that an instruction comes from, the innermost first.
type Lines = Vec<(Arc<str>, u32)>;

/// What makes two races one finding: both sides by their lines and whether they write.
type ByLines = (FindingKind, UnderWay, [(Lines, bool); 2]);

/// The races as findings: those of instructions that the same two CUDA lines became, as in an unrolled loop, are one,
/// whichever of the two came first.
fn grouped(groups: Groups, seed: u64, launch: &dyn LaunchView) -> Vec<Finding> {
    let mut groups = groups.groups;
    groups.sort_unstable_by_key(|(key, _)| (key.2, key.1, key.0.name(), key.3, key.4, key.5));
    let lines = |place: &CodePlace| -> Lines {
        place.cuda.iter().map(|cuda| (cuda.file.clone(), cuda.line)).collect()
    };
    let mut findings: Vec<(Finding, Vec<(u32, u32)>)> = Vec::new();
    let mut known: FxHashMap<ByLines, usize> = FxHashMap::default();
    for ((kind, _, _, earlier_writes, later_writes, under_way), group) in groups {
        let new = finding(kind, &group, under_way, seed, launch);
        let (Some(later), Some(earlier)) = (&new.place, &new.other_place) else { continue };
        let mut sides = [(lines(later), later_writes), (lines(earlier), earlier_writes)];
        let told_apart = sides.iter().any(|(lines, _)| lines.is_empty());
        sides.sort_unstable();
        let key = (kind, under_way, sides);
        match known.get(&key).filter(|_| !told_apart) {
            Some(&at) => {
                let (first, others): &mut (Finding, Vec<(u32, u32)>) = &mut findings[at];
                others.push((launch.line(later), launch.line(earlier)));
                first.count += new.count;
                first.threads.extend(new.threads);
                first.threads.sort_unstable();
                first.threads.dedup();
                first.threads.truncate(Finding::MAX_THREADS);
            }
            None => {
                known.insert(key, findings.len());
                findings.push((new, Vec::new()));
            }
        }
    }
    let with_others = |(mut finding, others): (Finding, Vec<(u32, u32)>)| {
        finding.notes.extend(text::other_places(&others));
        finding
    };
    findings.into_iter().map(with_others).collect()
}

fn finding(
    kind: FindingKind,
    group: &Group,
    under_way: UnderWay,
    seed: u64,
    launch: &dyn LaunchView,
) -> Finding {
    let race = &group.first;
    let thread = |side: &Side| launch.thread(side.cta.into(), side.warp, side.lane);
    let (earlier, later) = (thread(&race.earlier), thread(&race.later));
    let (memory, address) = place_of(race);
    let mut threads: Vec<ThreadId> =
        group.threads.iter().map(|&(cta, warp, lane)| launch.thread(cta.into(), warp, lane)).collect();
    threads.sort_unstable();
    threads.dedup();
    let (place, other_place) = (launch.place(race.later.site), launch.place(race.earlier.site));
    Finding {
        kind,
        message: text::message(race, under_way),
        notes: text::notes(race, earlier, later, &launch.describe(memory, address), seed),
        help: text::help(race, under_way),
        kernel: launch.kernel(),
        place: Some(place),
        other_place: Some(other_place),
        threads,
        count: group.count,
    }
}
