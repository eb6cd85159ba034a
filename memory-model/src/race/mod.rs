//! A data-race detector for one execution: scoped vector clocks over every access.
//!
//! The caller reports what the warps of a launch do, in an order in which every read returns the latest
//! write; the detector keeps causality order (PTX ISA 8.9) exactly, and says of each access whether it races
//! (8.7.1) with an earlier one: they overlap, one of them writes, they are not morally strong, and causality
//! does not order them. So it knows what hardware-minded detectors do not: scopes, release and acquire patterns
//! through atomics of other threads, observation without synchronisation, lanes that go on alone, and that two
//! relaxed atomics of sufficient scope never race.
//!
//! It judges the execution that it is shown; another schedule may race where this one does not.
//!
//! # What to report
//! * every access of a warp ([`Detector::access`]) and fences ([`Detector::fence`]);
//! * `bar.warp.sync` ([`Detector::synchronize_warp`]); other warp-level operations order no memory;
//! * barriers of a CTA: [`Detector::arrive`] for each arrival, [`Detector::complete`] when it opens;
//! * the end of a CTA ([`Detector::end_cta`]).
//!
//! A detector serves one launch: whatever came before it is ordered, by the edges of kernel start and end.
//!
//! # How
//! `clock` has vector clocks compressed by warp and CTA, on the maps of `tree`; `threads` the clocks and epochs of a CTA's warps and its
//! barriers; `sync` release and acquire patterns through memory; `state` decides, for the past of one word, what
//! an access means, and `crowd` keeps strong accesses of very many threads as one clock; `states` numbers these pasts; `shadow` has a
//! cell a word, with the number of its past, and steps through them for whole warps at once; `table` has words that everybody
//! reads, or accesses strongly; `touch` finds the words of an access; `pending` holds reads of shared memory back for as long as nobody has to know of
//! them; `handover` remembers who saw what, to explain races.
//!
//! # Exactness
//! What is reported is a race in the execution shown. Of each word the first race is found, with these exceptions:
//! an access may be forgotten once a write that comes after it has overwritten the place, and is then taken to be
//! ordered before whoever observes that write; of the reads of a word by more than 256 groups of warps, of
//! writes that were observed and overwritten beyond 32, and of atomics of more than four CTAs before one of narrower scope, some
//! are forgotten ([`Detector::shortened`]), and so is who observed those but for the first eight. Of a word that more than 64
//! groups of warps of several CTAs only read, and of any that several CTAs read once 4,096 reads had to be added to lists as no
//! other word's was, four readers are kept, two of them since a thread learned of another CTA last: a write that comes after all of these and not after
//! others is not found to race. Of a word that is only accessed strongly, with scopes that hold everybody, by as many or once 4,096
//! reads or atomics had to be added to lists, two readers and the newest write are kept, and the CTAs that may have observed it: an
//! ordinary read by a thread of these is taken to come after it. Once 16,384 atomics had to be added to chains, only the newest of a
//! chain is kept. Lanes whose atomics meet at one word in one instruction are judged as if each might be the first. After its first
//! race a word's past is the racing access alone, as far as its bytes go.
//!
//! # Limits
//! All accesses are taken to be of the generic proxy. A launch has at most 2^26 warps; beyond that, or after
//! 2^32 epochs in all, [`Detector::exhausted`] says so and nothing more is judged.
//!
//! ```
//! use memory_model::program::{MemOrder, Scope};
//! use memory_model::race::{Access, Detector, Kind, Pattern, Settings, Shape, Space};
//!
//! let shape = Shape::line(1, 1);
//! let mut detector = Detector::new(shape, Settings::default());
//! let mut does = |cta, kind, address, order, scope| {
//!     let access = Access {
//!         cta, warp: 0, lanes: 1, space: Space::Global, addresses: &[address; 32], pattern: Pattern::Any,
//!         bytes: 4, elements: 1, kind, writing: 1, order, scope, site: 0,
//!     };
//!     detector.access(&access);
//!     detector.take_races().pop()
//! };
//! // Message passing at gpu scope between two CTAs ...
//! assert!(does(0, Kind::Write, 0, MemOrder::Weak, None).is_none());
//! assert!(does(0, Kind::Write, 4, MemOrder::Release, Some(Scope::Gpu)).is_none());
//! assert!(does(1, Kind::Read, 4, MemOrder::Acquire, Some(Scope::Gpu)).is_none());
//! assert!(does(1, Kind::Read, 0, MemOrder::Weak, None).is_none());
//! // ... and the same acquiring at cta scope: the accesses of the flag race already.
//! let race = does(2, Kind::Read, 4, MemOrder::Acquire, Some(Scope::Cta)).expect("scope too narrow");
//! assert_eq!(race.class.as_str(), "insufficient scope");
//! ```

mod access;
mod clock;
mod crowd;
mod handover;
mod pending;
mod shadow;
mod state;
mod states;
mod sync;
mod table;
mod threads;
mod touch;
mod tree;

pub use clock::Shape;

use crate::RaceClass;
use crate::program::{MemOrder, Scope};
use access::{Class, Now, bits as each};
use handover::{Handovers, Strong};
use rustc_hash::FxHashMap;
use shadow::{Cells, Doing, Found, Memo, Shadow};
use std::sync::Arc;
use sync::{Places, Records, Thread};
use threads::{Cta, Versions};
use touch::{class_of, touch};

/// Memory that threads share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory.
    Global,
    /// Shared memory of the CTA of the access.
    Shared,
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// `atom`: reads and writes.
    Atomic,
    /// `red`: reads and writes, but acquires nothing (PTX ISA 8.11.1).
    Reduction,
}

/// How the addresses of the lanes lie to each other, as far as the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pattern {
    /// Nothing is known.
    #[default]
    Any,
    /// All at one address.
    Same,
    /// Lane after lane side by side, active or not.
    Unit,
    /// All lanes are active, and each half of the warp is one of the two: whether it is [`Pattern::Unit`].
    Halves(bool, bool),
}

/// One access of the lanes of a warp.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// Linear index of the CTA.
    pub cta: u32,
    /// Warp in the CTA.
    pub warp: u32,
    /// Lanes that take part.
    pub lanes: u32,
    /// The memory.
    pub space: Space,
    /// Byte address of each lane, a multiple of the size of an element.
    pub addresses: &'a [u64; 32],
    /// What is known of the addresses.
    pub pattern: Pattern,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Elements of a vector access, side by side; each is an access by itself.
    pub elements: u8,
    /// What it does.
    pub kind: Kind,
    /// Lanes whose atomic writes; the others (a `cas` that fails) only read.
    pub writing: u32,
    /// Memory order of the instruction.
    pub order: MemOrder,
    /// Its scope; `None` for weak accesses.
    pub scope: Option<Scope>,
    /// The caller's name for the instruction, reported back.
    pub site: u32,
}

/// One side of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// CTA.
    pub cta: u32,
    /// Warp in the CTA.
    pub warp: u32,
    /// Lane in the warp.
    pub lane: u32,
    /// The caller's name for the instruction.
    pub site: u32,
    /// Whether it writes.
    pub writes: bool,
    /// Its scope if it is strong.
    pub scope: Option<Scope>,
    /// Bytes of the element.
    pub bytes: u8,
}

/// What one looks at first to order the two accesses of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// Nothing leads from one to the other.
    Everything,
    /// The later thread has read, strongly and in scope, what was released after the earlier access, and has not
    /// acquired it.
    Acquire,
    /// The same, but one of the scopes does not hold the other thread.
    Scope,
    /// The later thread has read, strongly, what the earlier one wrote strongly in the same epoch or later, and nothing was
    /// released. (Only the last few such writes are known.)
    Release,
}

/// A race between an earlier access and the one just reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Race {
    /// Its class.
    pub class: RaceClass,
    /// Byte address of the word that both touch.
    pub address: u64,
    /// The memory.
    pub space: Space,
    /// The earlier access.
    pub earlier: Side,
    /// The access just reported.
    pub later: Side,
    /// What would order them; of races alike of two instructions, what would have ordered one of the first.
    pub missing: Missing,
    /// Accesses of lanes of the same instruction that race alike.
    pub count: u32,
}

/// What counts as order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Each `fence.sc` comes after those that were executed before it (8.9.3). That is so in the execution shown,
    /// but not in all: otherwise a `fence.sc` comes after another one only if it must, because something after the
    /// one was observed before the other; races are found then that the order of two fences hides by chance.
    pub sc_fences_are_ordered: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { sc_fences_are_ordered: true }
    }
}

/// Ended CTAs kept.
const SPARE: usize = 4;
/// What was said of races alike: numbers and site of the two instructions, class, whether they are of one warp, and whether
/// the earlier one writes.
type Explained = [Option<((u16, u32, RaceClass, bool, bool), Missing)>; EXPLAINED];
/// Races whose explanation is kept.
const EXPLAINED: usize = 16;
/// Most warps of a launch.
const MOST_WARPS: u64 = 1 << 26;

/// The detector; see the module's page.
pub struct Detector {
    shape: Shape,
    settings: Settings,
    /// The CTA used last, by number.
    current: Option<(u32, Box<Cta>)>,
    /// The others.
    ctas: FxHashMap<u32, Box<Cta>>,
    /// CTAs that have ended, to be used again.
    #[allow(clippy::vec_box, reason = "CTAs move between the list and the table as boxes")]
    spare: Vec<Box<Cta>>,
    shortened: u64,
    global: Cells,
    places: Places,
    fences: Records,
    handovers: Handovers,
    shadow: Shadow,
    sites: Sites,
    versions: Versions,
    races: Vec<Race>,
    found: Vec<Found>,
    explained: Explained,
    exhausted: bool,
}

impl Detector {
    /// A detector for a launch of this shape.
    pub fn new(shape: Shape, settings: Settings) -> Self {
        Self {
            shape,
            settings,
            current: None,
            ctas: FxHashMap::default(),
            spare: Vec::new(),
            shortened: 0,
            global: Cells::new(false),
            places: Places::default(),
            fences: Records::default(),
            handovers: Handovers::default(),
            shadow: Shadow::default(),
            sites: Sites::default(),
            versions: Versions::default(),
            races: Vec::new(),
            found: Vec::new(),
            explained: Explained::default(),
            exhausted: false,
        }
    }

    /// Forgets the threads of a CTA that has ended; what they did stays known.
    pub fn end_cta(&mut self, cta: u32) {
        let ended = match self.current.take() {
            Some((number, current)) if number == cta => Some(current),
            other => {
                self.current = other;
                self.ctas.remove(&cta)
            }
        };
        if let Some(mut cta) = ended {
            self.shortened += cta.shared.states.shortened;
            if self.spare.len() < SPARE {
                cta.reset(&mut self.versions);
                self.spare.push(cta);
            }
        }
    }

    /// Whether a limit was met, after which nothing is judged any longer.
    pub fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// How often an access of a word was forgotten because there were too many.
    pub fn shortened(&self) -> u64 {
        self.shortened + self.global.states.shortened
    }

    /// Bytes that the detector holds.
    pub fn memory(&self) -> usize {
        let ctas = || self.ctas.values().chain(&self.spare).chain(self.current.iter().map(|(_, cta)| cta));
        let shared: usize = ctas().map(|cta| cta.shared.bytes()).sum();
        let places: usize = ctas().map(|cta| cta.places.bytes()).sum();
        shared + places + self.global.bytes() + self.places.bytes() + self.shadow.bytes()
    }

    /// Bytes of global memory, in whole words, that the detector knows accesses of.
    pub fn touched(&self) -> usize {
        4 * self.global.touched()
    }

    /// The races found since the last call.
    pub fn take_races(&mut self) -> Vec<Race> {
        std::mem::take(&mut self.races)
    }

    /// Takes the races without moving them.
    pub fn visit_races(&mut self, look: impl FnMut(&Race)) {
        self.races.iter().for_each(look);
        self.races.clear();
    }

    /// Whether there are races to take.
    pub fn has_races(&self) -> bool {
        !self.races.is_empty()
    }

    /// All threads of a CTA that have not exited arrive at a barrier and wait there, so that it completes: the same as
    /// [`Detector::arrive`] of each and [`Detector::complete`]. `lanes` are by warp.
    pub fn meet(&mut self, cta: u32, barrier: u32, lanes: &[u32]) {
        if self.block(cta).is_none() {
            return;
        }
        let (Some((_, block)), versions) = (&mut self.current, &mut self.versions) else { return };
        if block.meet(cta, barrier, lanes, versions) {
            return;
        }
        for (warp, &lanes) in (0..).zip(lanes).filter(|(_, lanes)| **lanes != 0) {
            block.arrive(barrier, warp, lanes, true, versions);
        }
        self.complete(cta, barrier, true);
    }

    /// Makes a CTA the current one; `None` once a limit was met.
    #[inline]
    fn block(&mut self, cta: u32) -> Option<&mut Cta> {
        if self.current.as_ref().is_none_or(|(number, _)| *number != cta) {
            self.switch(cta);
        }
        if self.exhausted { None } else { self.current.as_mut().map(|(_, block)| &mut **block) }
    }

    #[cold]
    fn switch(&mut self, cta: u32) {
        if !self.accepts(cta) {
            return;
        }
        if let Some((number, block)) = self.current.take() {
            self.ctas.insert(number, block);
        }
        let block = self.ctas.remove(&cta).or_else(|| self.spare.pop());
        let block = block.unwrap_or_else(|| Box::new(Cta::new(self.shape, &mut self.versions)));
        self.current = Some((cta, block));
    }

    fn accepts(&mut self, cta: u32) -> bool {
        let warps = (u64::from(cta) + 1) * u64::from(self.shape.warps());
        self.exhausted |= warps > MOST_WARPS
            || self.shape.warps() > 32
            || self.versions.are_used_up()
            || self.sites.are_used_up()
            || self.global.states.is_full();
        !self.exhausted
    }

    /// Global memory begins a new life: what was done to it is forgotten.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        self.global.forget(address >> 2, (address + bytes).div_ceil(4));
    }

    /// A fence, or `membar`, of some lanes of a warp.
    pub fn fence(&mut self, cta: u32, warp: u32, lanes: u32, order: MemOrder, scope: Scope) {
        let (shape, scope, number) = (self.shape, level(scope), warp);
        if self.block(cta).is_none() {
            return;
        }
        self.catch_up();
        let (Some((_, block)), versions) = (&mut self.current, &mut self.versions) else { return };
        let Some(warp) = block.warps.get_mut(warp as usize) else { return };
        let sc = order == MemOrder::Sc && self.settings.sc_fences_are_ordered;
        let carries = order == MemOrder::Sc && !self.settings.sc_fences_are_ordered;
        let mut before = if sc { self.fences.seen_by(shape, cta) } else { Default::default() };
        before[scope + 1..].fill(None);
        let before: Vec<Arc<_>> = before.into_iter().flatten().collect();
        for lane in each(lanes) {
            if order.acquires() && warp.fenced.is_some() {
                let read: Vec<_> =
                    warp.fenced()[lane as usize].read[..=scope].iter().flatten().cloned().collect();
                warp.take_in(lane, &read, versions);
            }
            warp.take_in(lane, &before, versions);
            if carries && let Some(carried) = warp.fenced()[lane as usize].carried.clone() {
                let seen = carried.seen_by(shape, cta);
                let seen: Vec<Arc<_>> = seen[..=scope].iter().flatten().cloned().collect();
                warp.take_in(lane, &seen, versions);
            }
        }
        for lane in each(lanes) {
            if order.releases() || sc {
                let published = warp.published(cta, number, lane);
                if sc {
                    self.fences.add(shape, cta, scope, &published);
                }
                if carries {
                    let carried = warp.fenced()[lane as usize].carried.get_or_insert_default();
                    Arc::make_mut(carried).add(shape, cta, scope, &published);
                }
                if order.releases() {
                    warp.fenced()[lane as usize].released[scope] = Some(published);
                }
            }
        }
        if order.releases() || sc {
            warp.step(versions);
        }
    }

    /// Lanes of a warp wait for each other, all at once: `bar.warp.sync`.
    pub fn synchronize_warp(&mut self, cta: u32, warp: u32, lanes: u32) {
        self.block(cta);
        self.catch_up();
        if let (Some((_, block)), versions, false) = (&mut self.current, &mut self.versions, self.exhausted) {
            block.synchronize_warp(cta, warp, lanes, versions);
        }
    }

    /// Lanes of a warp arrive at a barrier of their CTA, and wait there or go on.
    pub fn arrive(&mut self, cta: u32, warp: u32, lanes: u32, barrier: u32, waits: bool) {
        self.block(cta);
        if !waits {
            self.catch_up();
        }
        if let (Some((_, block)), versions, false) = (&mut self.current, &mut self.versions, self.exhausted) {
            block.arrive(barrier, warp, lanes, waits, versions);
        }
    }

    /// A phase of a barrier completes, and those that wait for it go on; arrivals after that belong to the next
    /// phase. `everybody` says that no thread of the CTA is missing which has not exited.
    pub fn complete(&mut self, cta: u32, barrier: u32, everybody: bool) {
        self.block(cta);
        if !self.current.as_ref().is_some_and(|(_, block)| block.is_whole(barrier, everybody)) {
            self.catch_up();
        }
        if let (Some((_, block)), false) = (&mut self.current, self.exhausted) {
            block.complete(cta, barrier, everybody, &mut self.versions);
        }
    }

    /// An access. Races that it completes are there to [take](Detector::take_races): for each word, the newest.
    pub fn access(&mut self, access: &Access<'_>) {
        if self.block(access.cta).is_none() {
            return;
        }
        let Some((_, block)) = &mut self.current else { return };
        let Some(warp) = block.warps.get_mut(access.warp as usize) else { return };
        warp.active |= access.lanes;
        if access.space == Space::Shared {
            if access.kind == Kind::Read && access.order == MemOrder::Weak && self.defer(access) {
                return;
            }
            self.catch_up_before(access);
        }
        let Some((_, block)) = &mut self.current else { return };
        let Some(warp) = block.warps.get_mut(access.warp as usize) else { return };
        let places = match access.space {
            Space::Global => &mut self.places,
            Space::Shared => &mut block.places,
        };
        let strong = access.scope.filter(|_| access.order != MemOrder::Weak);
        let atomic = access.kind != Kind::Write && access.kind != Kind::Read;
        if strong.is_some() {
            let strong = Strong {
                cta: access.cta,
                warp: access.warp,
                epoch: warp.epoch,
                shared_of: (access.space == Space::Shared).then_some(access.cta),
                reads: access.kind != Kind::Write,
                writing: match access.kind {
                    Kind::Read => 0,
                    Kind::Write => access.lanes,
                    _ => access.lanes & access.writing,
                },
                atomic,
            };
            self.handovers.access(&strong, access.lanes, access.addresses);
        }
        let releases =
            |fenced: &[sync::Fenced; 32]| each(access.lanes).any(|lane| fenced[lane as usize].releases());
        let synchronises = strong.is_some()
            && (access.order != MemOrder::Relaxed
                || places.are_near(access.addresses, access.lanes)
                || access.kind != Kind::Read && warp.fenced.as_deref().is_some_and(releases));
        if synchronises {
            let together = access.kind == Kind::Write
                && access.elements == 1
                && access.lanes.count_ones() > 1
                && warp.fenced.is_none()
                && warp.knowing.len() == 1
                && are_at_one(access);
            self.catch_up();
            if together {
                self.synchronising_together(access);
            } else {
                for lane in each(access.lanes) {
                    self.synchronising(&Access { lanes: 1 << lane, ..*access });
                }
                // Once: what the lanes of an instruction release is of one epoch.
                if access.kind != Kind::Read
                    && access.order.releases()
                    && let Some((_, block)) = &mut self.current
                {
                    block.warps[access.warp as usize].step(&mut self.versions);
                }
            }
        } else if atomic && (access.writing & access.lanes != access.lanes || warp.knowing.len() > 1) {
            // Some only read or know more; in the order of the lanes, as they are executed.
            if warp.knowing.len() == 1 && are_apart(access) {
                self.plain(&Access { lanes: access.lanes & access.writing, ..*access });
                self.plain(&Access { lanes: access.lanes & !access.writing, ..*access });
            } else {
                for lane in each(access.lanes) {
                    self.plain(&Access { lanes: 1 << lane, ..*access });
                }
            }
        } else {
            if access.kind != Kind::Read && !places.is_empty() {
                let bytes = u64::from(access.bytes);
                for lane in each(access.lanes) {
                    for element in 0..u64::from(access.elements) {
                        let address = access.addresses[lane as usize] + element * bytes;
                        places.overwritten(address, bytes, false);
                    }
                }
            }
            self.plain(access);
        }
        let renewed = match access.space {
            Space::Global => self.global.states.renew_stamps(),
            Space::Shared => self.current.as_mut().is_some_and(|(_, cta)| cta.shared.states.renew_stamps()),
        };
        if renewed {
            self.shadow.clear(&mut self.global.states);
        }
    }

    /// A strong access of one lane that may take part in a release or acquire pattern. The epoch goes on, to be ended by the
    /// caller if it releases.
    fn synchronising(&mut self, access: &Access<'_>) {
        let lane = access.lanes.trailing_zeros() & 31;
        let shape = self.shape;
        let scope = access.scope.map_or(0, level);
        let thread = Thread { cta: access.cta, number: access.warp * 32 + lane };
        let bytes = u64::from(access.bytes);
        let writing =
            access.kind != Kind::Read && (access.kind == Kind::Write || access.writing >> lane & 1 != 0);
        for element in 0..u64::from(access.elements) {
            let address = access.addresses[lane as usize] + element * bytes;
            let place = (address, access.bytes);
            if matches!(access.kind, Kind::Read | Kind::Atomic) {
                let Some((_, block)) = &mut self.current else { return };
                let Cta { warps, places, .. } = &mut **block;
                let places = if access.space == Space::Global { &mut self.places } else { places };
                let warp = &mut warps[access.warp as usize];
                if let Some(cell) = places.get(place) {
                    let acquires = access.order.acquires();
                    let fenced = &mut warp.fenced()[lane as usize];
                    let taken = cell.read(shape, thread, fenced, scope, acquires);
                    warp.take_in(lane, &taken, &mut self.versions);
                }
            }
            let mut addresses = *access.addresses;
            addresses[lane as usize] = address;
            self.plain(&Access { elements: 1, addresses: &addresses, ..*access });
            if !writing {
                continue;
            }
            let Some((_, block)) = &mut self.current else { return };
            let Cta { warps, places, .. } = &mut **block;
            let places = if access.space == Space::Global { &mut self.places } else { places };
            let warp = &mut warps[access.warp as usize];
            places.overwritten(address, bytes, true);
            let releases = access.order.releases();
            let fenced = warp.fenced.as_ref().map(|f| &f[lane as usize]);
            if !releases && !fenced.is_some_and(sync::Fenced::releases) && places.get(place).is_none() {
                continue;
            }
            let released = releases.then(|| sync::Release {
                lanes: 1 << lane,
                scope,
                epoch: warp.epoch,
                clock: Arc::clone(warp.clock(lane)),
            });
            places.entry(place).write(shape, thread, fenced, scope, released, access.kind != Kind::Write);
        }
    }

    /// Strong writes of one place by lanes that know the same and have fenced nothing: the last one's stays.
    fn synchronising_together(&mut self, access: &Access<'_>) {
        self.plain(access);
        let last = 31 - access.lanes.leading_zeros().min(31);
        let (address, scope) = (access.addresses[last as usize], access.scope.map_or(0, level));
        let Some((_, block)) = &mut self.current else { return };
        let Cta { warps, places, .. } = &mut **block;
        let places = if access.space == Space::Global { &mut self.places } else { places };
        let warp = &mut warps[access.warp as usize];
        places.overwritten(address, access.bytes.into(), true);
        let place = (address, access.bytes);
        let releases = access.order.releases();
        if releases || places.get(place).is_some() {
            let released = releases.then(|| sync::Release {
                lanes: access.lanes,
                scope,
                epoch: warp.epoch,
                clock: Arc::clone(warp.clock(last)),
            });
            let thread = Thread { cta: access.cta, number: access.warp * 32 + last };
            places.entry(place).write(self.shape, thread, None, scope, released, false);
        }
        if releases {
            warp.step(&mut self.versions);
        }
    }

    /// The shadow's part of an access.
    fn plain(&mut self, access: &Access<'_>) {
        let Some((_, block)) = &mut self.current else { return };
        let Cta { warps, shared, .. } = &mut **block;
        let cells = if access.space == Space::Global { &mut self.global } else { shared };
        let warp = &warps[access.warp as usize];
        let strong = access.scope.filter(|_| access.order != MemOrder::Weak).map(level);
        let kind = match access.kind {
            Kind::Read => access::Kind::Read,
            Kind::Write => access::Kind::Write,
            _ if access.writing & access.lanes == 0 => access::Kind::Read,
            _ => access::Kind::Atomic,
        };
        let site = self.sites.number(access.site);
        for knowing in warp.knowing.iter().filter(|k| k.lanes & access.lanes != 0) {
            let mut doing = Doing {
                now: Now {
                    cta: access.cta,
                    warp: access.warp,
                    lanes: access.lanes & knowing.lanes,
                    epoch: warp.epoch,
                    floor: knowing.clock.floor(access.cta),
                    solitary: knowing.clock.knows_only(access.cta),
                    clock: &knowing.clock,
                    class: Class::default(),
                    site,
                    shape: self.shape,
                },
                kind,
                version: knowing.version,
                shared: access.space == Space::Shared,
                row: false,
                fresh: None,
                last: Memo::default(),
                times: 1,
                era: self.versions.learned(),
                found: &mut self.found,
            };
            touch(&mut self.shadow, cells, access, strong, &mut doing);
        }
        if !self.found.is_empty() {
            self.report(access);
        }
    }

    #[cold]
    fn report(&mut self, access: &Access<'_>) {
        let Some((_, block)) = &self.current else { return };
        for found in self.found.drain(..) {
            let past = found.conflict.past;
            let own = access.cta == past.cta && access.warp == found.conflict.warp;
            // Another lane than the one it races with.
            let others = if own { found.lanes & !(1 << found.conflict.lane) } else { found.lanes };
            let lane = if others == 0 { found.lanes } else { others }.trailing_zeros() & 31;
            let scope = access.scope.filter(|_| access.order != MemOrder::Weak);
            let past_scope = past.class.is_strong().then(|| scope_of(past.class.scope()));
            let class = if past.class.bytes() != access.bytes
                || (access.bytes < 4
                    && past.class.mask()
                        != class_of(access.addresses[lane as usize], access.bytes.into(), None).mask())
            {
                RaceClass::MixedSize
            } else {
                match (past_scope.is_some(), scope.is_some()) {
                    (true, true) => RaceClass::Scope,
                    (false, false) => RaceClass::Weak,
                    _ => RaceClass::WeakStrong,
                }
            };
            let conflict = found.conflict;
            let alike = (past.site, access.site, class, own, conflict.writes);
            let known = &mut self.explained[usize::from(past.site) % EXPLAINED];
            let fenced = || block.fenced(Thread { cta: access.cta, number: access.warp * 32 + lane });
            let knows = |clock: &Option<Arc<clock::Clock>>| {
                clock.as_ref().is_some_and(|clock| {
                    clock.missing(past.cta, conflict.warp, 1 << conflict.lane, past.epoch) == 0
                })
            };
            let missing = match *known {
                Some((races, missing)) if races == alike => Some(missing),
                _ => None,
            };
            let missing = missing.unwrap_or_else(|| match fenced() {
                Some(fenced) if fenced.read.iter().any(knows) => Missing::Acquire,
                Some(fenced) if knows(&fenced.out_of_scope) => Missing::Scope,
                _ => {
                    let writer = Thread { cta: past.cta, number: conflict.warp * 32 + conflict.lane };
                    let seen = self.handovers.was_seen(
                        access.cta,
                        access.warp,
                        self.shape.warps(),
                        writer,
                        past.epoch,
                    );
                    if seen { Missing::Release } else { Missing::Everything }
                }
            });
            *known = Some((alike, missing));
            self.races.push(Race {
                class,
                address: 4 * found.word,
                space: access.space,
                earlier: Side {
                    cta: past.cta,
                    warp: conflict.warp,
                    lane: conflict.lane,
                    site: self.sites.site(past.site),
                    writes: conflict.writes,
                    scope: past_scope,
                    bytes: past.class.bytes(),
                },
                later: Side {
                    cta: access.cta,
                    warp: access.warp,
                    lane,
                    site: access.site,
                    writes: access.kind != Kind::Read
                        && (access.kind == Kind::Write || access.writing >> lane & 1 != 0),
                    scope,
                    bytes: access.bytes,
                },
                missing,
                count: found.times,
            });
        }
    }
}

/// Whether all lanes are at one address.
fn are_at_one(access: &Access<'_>) -> bool {
    let first = access.addresses[access.lanes.trailing_zeros() as usize & 31];
    each(access.lanes).all(|lane| access.addresses[lane as usize] == first)
}

/// Whether surely no two lanes touch one word.
fn are_apart(access: &Access<'_>) -> bool {
    let mut taken = [0u64; 16];
    access.elements == 1
        && each(access.lanes).all(|lane| {
            let word = access.addresses[lane as usize] >> 2;
            let (at, bit) = ((word >> 6) as usize % taken.len(), 1 << (word & 63));
            let free = taken[at] & bit == 0;
            taken[at] |= bit;
            free
        })
}

fn level(scope: Scope) -> usize {
    match scope {
        Scope::Cta => 0,
        Scope::Cluster => 1,
        Scope::Gpu => 2,
        Scope::Sys => 3,
    }
}

fn scope_of(level: usize) -> Scope {
    [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys][level & 3]
}

/// Numbers of places in a program.
#[derive(Default)]
struct Sites {
    /// By site, if it is small: its number plus one.
    near: Vec<u16>,
    far: FxHashMap<u32, u16>,
    sites: Vec<u32>,
    /// By site, if it is small: its reads do not wait.
    hasty: Vec<bool>,
}

/// Sites that are looked up without hashing.
const NEAR: usize = 1 << 14;

impl Sites {
    #[inline]
    fn number(&mut self, site: u32) -> u16 {
        match self.near.get(site as usize) {
            Some(&number) if number != 0 => number - 1,
            _ => self.new_number(site),
        }
    }

    /// Whether reads there may wait to be noted.
    #[inline]
    fn waits(&self, site: u32) -> bool {
        (site as usize) < NEAR && !self.hasty.get(site as usize).is_some_and(|&hasty| hasty)
    }

    fn waits_no_more(&mut self, site: u32) {
        let site = (site as usize).min(NEAR);
        self.hasty.resize(self.hasty.len().max(site + 1), false);
        self.hasty[site] = true;
    }

    #[cold]
    fn new_number(&mut self, site: u32) -> u16 {
        if let Some(&known) = self.far.get(&site) {
            return known;
        }
        let number = self.sites.len().min(usize::from(u16::MAX) - 1) as u16;
        self.sites.push(site);
        if (site as usize) < NEAR {
            self.near.resize(self.near.len().max(site as usize + 1), 0);
            self.near[site as usize] = number + 1;
        } else {
            self.far.insert(site, number);
        }
        number
    }

    fn are_used_up(&self) -> bool {
        self.sites.len() >= usize::from(u16::MAX)
    }

    fn site(&self, number: u16) -> u32 {
        self.sites.get(usize::from(number)).copied().unwrap_or(u32::MAX)
    }
}
