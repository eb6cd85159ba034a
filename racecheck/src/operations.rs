//! Operations of the asynchronous proxy (ISA 8.6, 9.7.9.25.1): bulk copies, `st.async`, `wgmma`.
//!
//! To the detector each is done by a thread of its own, an *agent*, that begins when the operation is issued, knowing what
//! its issuer knows, and that somebody knows of only who has waited for it. So whoever touches what it writes, or writes
//! what it reads, and has not waited, races with it, the issuer included; there is nothing more to it.
//!
//! Operations that one wait completes share an agent: those of an mbarrier object, of a thread's bulk groups (one for
//! what they read, one for what they write), of a warpgroup.
//!
//! # Proxies
//! An operation sees what others have written through the generic proxy only after a `fence.proxy.async` that comes after
//! the write and before the issue (8.6). What each thread knows to be fenced is kept as a second set of threads, *views*: they
//! synchronise as their threads do, at places of their own, but take in what these know at such fences only. Views read what
//! operations read.
//!
//! # Tensor maps
//! A copy sees of a map in global memory what threads of its block have fenced for it (`fence.proxy.tensormap`, 8.9.5). Of
//! each map of each block an agent knows what they knew then, and reads the map where a copy does; it is ordered with
//! nothing else.
//!
//! # Places
//! Agents and views are blocks beyond those of the grid. Synchronisation that no program sees goes through words that no
//! program can address ([`HIDDEN`], [`VIEWS`]).

use memory_model::program::{MemOrder, Scope};
use memory_model::race::{Access, Detector, Kind, Pattern, Space};
use rustc_hash::FxHashMap;
use sim_core::{Completion, GroupStep, Groups, WarpId};

/// Words through which agents synchronise.
const HIDDEN: u64 = 1 << 60;
/// Where views synchronise instead of where their threads do.
pub(crate) const VIEWS: u64 = 1 << 61;
/// Warps of a warpgroup.
const WARPGROUP: usize = 4;
/// Bytes of a tensor map, at multiples of which it lies.
const MAP_BYTES: u64 = 128;
/// Blocks that the detector can number: each has a warp.
const MOST_BLOCKS: u128 = 1 << 26;
/// Groups that are told apart; of waits that leave more, so many are taken to be left.
const GROUPS: u32 = 64;

/// What one agent does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Agent {
    /// What completes at an mbarrier: the block that it lies in, its offset.
    Mbarrier(u64, u64),
    BulkReads,
    BulkWrites,
    Warpgroup,
    /// What a block sees of a tensor map, by its address.
    Map(u64),
}

impl Agent {
    fn completion(self) -> Completion {
        match self {
            Agent::Mbarrier(..) | Agent::Map(_) => Completion::Mbarrier,
            Agent::BulkReads | Agent::BulkWrites => Completion::Groups(Groups::Bulk),
            Agent::Warpgroup => Completion::Groups(Groups::Warpgroup),
        }
    }
}

/// Who does something, to the detector.
#[derive(Clone, Copy)]
struct Who {
    cta: u32,
    warp: u32,
}

/// What a block of the detector's stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Party {
    /// Threads of a block.
    Threads,
    /// What operations see of generic accesses.
    View,
    /// Operations, and what completes them.
    Operations(Completion),
    /// What copies see of a tensor map.
    Map,
}

/// Words of a warp of an agent: what they are for.
#[derive(Clone, Copy)]
enum Word {
    /// What its issuers know.
    Issue,
    /// What the issuers' views have read.
    Seen,
    /// Completed at an mbarrier.
    Phase,
    /// Up to now.
    Now,
    /// Up to a group.
    Group(u32),
    /// Of a warp of a warpgroup: before its operation of this number.
    Before(usize, u64),
}

impl Word {
    fn number(self) -> u64 {
        match self {
            Word::Issue => 0,
            Word::Seen => 1,
            Word::Phase => 2,
            Word::Now => 3,
            Word::Group(group) => 4 + u64::from(group % GROUPS),
            Word::Before(warp, operation) => 128 + 64 * warp as u64 + operation % 64,
        }
    }
}

/// Of each lane of a warp of an agent, a word.
fn words(agent: Who, word: Word) -> [u64; 32] {
    let start = HIDDEN | u64::from(agent.cta) << 27 | u64::from(agent.warp) << 22 | word.number() << 3;
    std::array::from_fn(|lane| start | (lane as u64) << 17)
}

fn synchronize(detector: &mut Detector, who: Who, lanes: u32, at: &[u64; 32], kind: Kind) {
    detector.access(&Access {
        cta: who.cta,
        warp: who.warp,
        lanes,
        space: Space::Global,
        addresses: at,
        pattern: Pattern::Any,
        bytes: 4,
        elements: 1,
        kind,
        writing: lanes,
        order: if kind == Kind::Read { MemOrder::Acquire } else { MemOrder::Release },
        scope: Some(Scope::Sys),
        site: 0,
    });
}

fn release(detector: &mut Detector, who: Who, lanes: u32, at: &[u64; 32]) {
    synchronize(detector, who, lanes, at, Kind::Write);
}

fn acquire(detector: &mut Detector, who: Who, lanes: u32, at: &[u64; 32]) {
    synchronize(detector, who, lanes, at, Kind::Read);
}

/// The operations whose issue was told last.
struct Current {
    warp: WarpId,
    /// Lanes, who reads for them, and who writes.
    parts: Vec<(u32, Who, Who)>,
    completion: Completion,
    /// The view has read something that those who write here later must know of.
    seen: bool,
}

/// A warp's part in its warpgroup.
#[derive(Default)]
struct Multiplying {
    issued: u64,
    /// Operations issued when each group was committed.
    groups: Vec<u64>,
}

/// All operations of a launch that issues some.
pub(crate) struct Operations {
    /// The number of the first view; those of agents come behind the views.
    blocks: u32,
    numbers: FxHashMap<(u64, Agent), u32>,
    /// By number.
    agents: Vec<(u64, Agent)>,
    current: Option<Current>,
    /// What waiting threads have to read, by mbarrier: who completes something there.
    barriers: FxHashMap<(u64, u64), Who>,
    /// Groups of bulk copies that each lane has committed.
    bulk: FxHashMap<WarpId, [u32; 32]>,
    multiplying: FxHashMap<WarpId, Multiplying>,
    /// Instructions that read, by position.
    readers: FxHashMap<u32, Completion>,
}

impl Operations {
    /// Of a grid of so many blocks. Of more than the detector can number, nothing is judged.
    pub(crate) fn new(blocks: u128) -> Self {
        Self {
            blocks: blocks.min(MOST_BLOCKS) as u32,
            numbers: FxHashMap::default(),
            agents: Vec::new(),
            current: None,
            barriers: FxHashMap::default(),
            bulk: FxHashMap::default(),
            multiplying: FxHashMap::default(),
            readers: FxHashMap::default(),
        }
    }

    /// What a block of the detector's stands for, and the block of the grid.
    pub(crate) fn party(&self, cta: u32) -> (Party, u32) {
        if cta < self.blocks {
            return (Party::Threads, cta);
        }
        if cta < 2 * self.blocks {
            return (Party::View, cta - self.blocks);
        }
        match self.agents.get((cta - 2 * self.blocks) as usize) {
            Some((block, Agent::Map(_))) => (Party::Map, *block as u32),
            Some((block, agent)) => (Party::Operations(agent.completion()), *block as u32),
            None => (Party::Threads, cta),
        }
    }

    /// What completes an operation that reads, by the position of its instruction.
    pub(crate) fn reader(&self, site: u32) -> Completion {
        self.readers.get(&site).copied().unwrap_or(Completion::Mbarrier)
    }

    /// The number of a block's view.
    pub(crate) fn view(&self, block: u64) -> u32 {
        self.blocks.saturating_add(block as u32)
    }

    fn view_of(&self, warp: WarpId) -> Who {
        Who { cta: self.view(warp.block), warp: warp.warp }
    }

    fn agent(&mut self, block: u64, agent: Agent, warp: u32) -> Who {
        let next = 2 * self.blocks + self.agents.len() as u32;
        let cta = *self.numbers.entry((block, agent)).or_insert(next);
        if cta == next {
            self.agents.push((block, agent));
        }
        Who { cta, warp }
    }

    fn known(&self, block: u64, agent: Agent, warp: u32) -> Option<Who> {
        self.numbers.get(&(block, agent)).map(|&cta| Who { cta, warp })
    }

    /// What the view of the last issuer has read is known to the operations: whoever waits for them knows of it.
    fn close(&mut self, detector: &mut Detector) {
        let Some(current) = self.current.take_if(|current| current.seen) else { return };
        let view = self.view_of(current.warp);
        for (lanes, reads, writes) in current.parts {
            let seen = words(reads, Word::Seen);
            release(detector, view, lanes, &seen);
            acquire(detector, reads, lanes, &seen);
            if reads.cta != writes.cta {
                acquire(detector, writes, lanes, &seen);
            }
        }
    }

    /// Lanes issue an operation each, or all of them one.
    pub(crate) fn issued(
        &mut self,
        detector: &mut Detector,
        warp: WarpId,
        lanes: u32,
        completion: Completion,
        home: u64,
        addresses: &[u64; 32],
    ) {
        self.close(detector);
        let issuer = Who { cta: warp.block as u32, warp: warp.warp };
        let mut parts = Vec::new();
        match completion {
            Completion::Mbarrier => {
                let mut rest = lanes;
                while rest != 0 {
                    let at = addresses[rest.trailing_zeros() as usize & 31];
                    let same = (0..32).filter(|&lane| addresses[lane] == at).fold(0, |m, lane| m | 1 << lane);
                    let agent = self.agent(warp.block, Agent::Mbarrier(home, at), warp.warp);
                    parts.push((rest & same, agent, agent));
                    rest &= !same;
                }
            }
            Completion::Groups(Groups::Warpgroup) => {
                let first = warp.warp / WARPGROUP as u32 * WARPGROUP as u32;
                let agent = self.agent(warp.block, Agent::Warpgroup, first);
                let part = self.multiplying.entry(warp).or_default();
                let number = part.issued;
                part.issued += 1;
                let before = words(agent, Word::Before(warp.warp as usize % WARPGROUP, number));
                detector.synchronize_warp(agent.cta, agent.warp, lanes);
                release(detector, agent, lanes, &before);
                parts.push((lanes, agent, agent));
            }
            Completion::Groups(_) => {
                let reads = self.agent(warp.block, Agent::BulkReads, warp.warp);
                parts.push((lanes, reads, self.agent(warp.block, Agent::BulkWrites, warp.warp)));
            }
        }
        for &(lanes, reads, writes) in &parts {
            let issue = words(reads, Word::Issue);
            release(detector, issuer, lanes, &issue);
            acquire(detector, reads, lanes, &issue);
            if reads.cta != writes.cta {
                acquire(detector, writes, lanes, &issue);
            }
            if completion == Completion::Groups(Groups::Warpgroup) {
                // One operation of all its lanes.
                detector.synchronize_warp(reads.cta, reads.warp, lanes);
                detector.synchronize_warp(self.view(warp.block), warp.warp, lanes);
            }
        }
        self.current = Some(Current { warp, parts, completion, seen: false });
    }

    /// An access of the operation issued last. `races`: takes what the detector has found, if it has.
    pub(crate) fn access(
        &mut self,
        detector: &mut Detector,
        access: &Access<'_>,
        mut races: impl FnMut(&mut Detector, &Self),
    ) {
        let Some(current) = &self.current else { return };
        for &(lanes, reads, writes) in &current.parts {
            let lanes = lanes & access.lanes;
            if lanes == 0 {
                continue;
            }
            let who = if access.kind == Kind::Read { reads } else { writes };
            detector.access(&Access {
                cta: who.cta,
                warp: who.warp,
                lanes,
                writing: lanes & access.writing,
                ..*access
            });
        }
        // What nothing orders no fence orders either.
        let raced = detector.has_races();
        races(detector, self);
        if access.kind == Kind::Read && !raced {
            if !current.seen {
                self.readers.insert(access.site, current.completion);
            }
            let view = self.view_of(WarpId { block: access.cta.into(), warp: access.warp });
            detector.access(&Access { cta: view.cta, warp: view.warp, ..*access });
            races(detector, self);
            if let Some(current) = &mut self.current {
                current.seen = true;
            }
        }
    }

    /// The operations issued last count their bytes at this mbarrier, if they do; false if not.
    pub(crate) fn completes(&mut self, detector: &mut Detector, home: u64, addresses: &[u64; 32]) -> bool {
        let Some(current) = &self.current else { return false };
        let found: Vec<(u32, Who, u64)> = current
            .parts
            .iter()
            .filter_map(|&(lanes, agent, _)| {
                let at = addresses[lanes.trailing_zeros() as usize & 31];
                let is = self.numbers.get(&(current.warp.block, Agent::Mbarrier(home, at)));
                (is == Some(&agent.cta)).then_some((lanes, agent, at))
            })
            .collect();
        if found.is_empty() {
            return false;
        }
        self.close(detector);
        for (lanes, agent, at) in found {
            // All that complete there take part in one chain.
            let meeting = *self.barriers.entry((home, at)).or_insert(agent);
            let phase = words(Who { warp: 0, ..meeting }, Word::Phase);
            for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                acquire(detector, agent, 1 << lane, &[phase[0]; 32]);
                release(detector, agent, 1 << lane, &[phase[0]; 32]);
            }
        }
        true
    }

    /// Lanes look whether a phase of an mbarrier is complete.
    pub(crate) fn looked(
        &self,
        detector: &mut Detector,
        warp: WarpId,
        lanes: u32,
        home: u64,
        addresses: &[u64; 32],
    ) {
        if self.barriers.is_empty() {
            return;
        }
        let (mut with, mut at) = (0, [0; 32]);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            if let Some(&meeting) = self.barriers.get(&(home, addresses[lane])) {
                at[lane] = words(Who { warp: 0, ..meeting }, Word::Phase)[0];
                with |= 1 << lane;
            }
        }
        self.learn(detector, warp, with, &at);
    }

    /// Threads and their views take in what was released.
    fn learn(&self, detector: &mut Detector, warp: WarpId, lanes: u32, at: &[u64; 32]) {
        if lanes != 0 {
            acquire(detector, Who { cta: warp.block as u32, warp: warp.warp }, lanes, at);
            acquire(detector, self.view_of(warp), lanes, at);
        }
    }

    /// Lanes commit or wait for groups.
    pub(crate) fn grouped(
        &mut self,
        detector: &mut Detector,
        warp: WarpId,
        lanes: u32,
        groups: Groups,
        step: GroupStep,
    ) {
        self.close(detector);
        match groups {
            Groups::Bulk => self.bulk_step(detector, warp, lanes, step),
            Groups::Warpgroup => self.warpgroup_step(detector, warp, lanes, step),
            // What these write is not known to be of the generic proxy or not.
            Groups::Copies if step != GroupStep::Commit => self.fenced(detector, warp, lanes),
            Groups::Copies => {}
        }
    }

    fn bulk_step(&mut self, detector: &mut Detector, warp: WarpId, lanes: u32, step: GroupStep) {
        let agent = |kind| self.known(warp.block, kind, warp.warp);
        let (Some(reads), Some(writes)) = (agent(Agent::BulkReads), agent(Agent::BulkWrites)) else { return };
        let groups = self.bulk.entry(warp).or_insert([0; 32]);
        let both = [reads, writes];
        let (most, of) = match step {
            GroupStep::Commit => {
                for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                    for agent in both {
                        release(detector, agent, 1 << lane, &words(agent, Word::Group(groups[lane])));
                    }
                    groups[lane] += 1;
                }
                return;
            }
            GroupStep::WaitReads(most) => (most, &both[..1]),
            GroupStep::Wait(most) => (most, &both[..]),
            GroupStep::WaitAll => (0, &both[..]),
        };
        let groups = *groups;
        for &agent in of {
            let (mut some, mut at) = (0, [0; 32]);
            for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                if let Some(group) = groups[lane].checked_sub(most.min(GROUPS - 1) + 1) {
                    at[lane] = words(agent, Word::Group(group))[lane];
                    some |= 1 << lane;
                }
            }
            self.learn(detector, warp, some, &at);
        }
    }

    fn warpgroup_step(&mut self, detector: &mut Detector, warp: WarpId, lanes: u32, step: GroupStep) {
        let first = warp.warp / WARPGROUP as u32 * WARPGROUP as u32;
        let Some(agent) = self.known(warp.block, Agent::Warpgroup, first) else { return };
        let part = self.multiplying.entry(warp).or_default();
        let most = match step {
            GroupStep::Commit => {
                part.groups.push(part.issued);
                return;
            }
            GroupStep::Wait(most) | GroupStep::WaitReads(most) => most as usize,
            GroupStep::WaitAll => 0,
        };
        let Some(last) = part.groups.len().checked_sub(most + 1) else { return };
        let complete = part.groups[last];
        part.groups.drain(..last);
        // Whichever lane of the agent's read what.
        detector.synchronize_warp(agent.cta, agent.warp, lanes);
        let now = words(agent, Word::Now);
        release(detector, agent, lanes, &now);
        for rank in 0..WARPGROUP {
            let other = WarpId { warp: first + rank as u32, ..warp };
            let ahead = self.multiplying.get(&other).is_some_and(|other| other.issued > complete);
            let at = if ahead { words(agent, Word::Before(rank, complete)) } else { now };
            self.learn(detector, warp, lanes, &at);
        }
    }

    /// `fence.proxy.async`
    pub(crate) fn fenced(&self, detector: &mut Detector, warp: WarpId, lanes: u32) {
        let view = self.view_of(warp);
        let at = words(view, Word::Now);
        release(detector, Who { cta: warp.block as u32, warp: warp.warp }, lanes, &at);
        acquire(detector, view, lanes, &at);
    }

    /// `fence.proxy.tensormap::generic.acquire`: what lanes know is known of the maps at these addresses.
    pub(crate) fn map_fenced(
        &mut self,
        detector: &mut Detector,
        warp: WarpId,
        lanes: u32,
        addresses: &[u64; 32],
    ) {
        let issuer = Who { cta: warp.block as u32, warp: warp.warp };
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let agent = self.agent(warp.block, Agent::Map(addresses[lane]), 0);
            let at = words(agent, Word::Issue);
            release(detector, issuer, 1 << lane, &at);
            acquire(detector, agent, 1, &[at[lane]; 32]);
        }
    }

    /// Copies read 16 bytes of tensor maps, the first ones of which are at `access`; nothing else has been found to race there.
    pub(crate) fn map_read(&mut self, detector: &mut Detector, access: &Access<'_>) {
        for lane in (0..32).filter(|lane| access.lanes >> lane & 1 != 0) {
            let map = access.addresses[lane] / MAP_BYTES * MAP_BYTES;
            let agent = self.agent(access.cta.into(), Agent::Map(map), 0);
            let at = words(agent, Word::Now);
            release(detector, agent, 1, &[at[lane]; 32]);
            let agent = Who { warp: access.warp, ..agent };
            acquire(detector, agent, 1 << lane, &at);
            detector.access(&Access { cta: agent.cta, lanes: 1 << lane, writing: 0, ..*access });
        }
    }

    /// The threads of a block have exited.
    pub(crate) fn end(&mut self, detector: &mut Detector, block: u64) {
        self.close(detector);
        self.current.take_if(|current| current.warp.block == block);
        detector.end_cta(self.view(block));
        let gone = |warp: &WarpId| warp.block == block;
        self.numbers.retain(|&(of, _), &mut cta| {
            if of == block {
                detector.end_cta(cta);
            }
            of != block
        });
        self.barriers.retain(|&(home, _), _| home != block);
        self.bulk.retain(|warp, _| !gone(warp));
        self.multiplying.retain(|warp, _| !gone(warp));
    }
}
