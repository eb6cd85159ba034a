//! Memory pools.
//!
//! Memory of a pool goes back to the device when it is freed; what a device would keep is counted.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use cuda_abi::{Result, Status};

use crate::memory::{Allocation, Kind};
use crate::{fresh_id, lock};

/// What memory a pool has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PoolPlace {
    /// That of a device, by its number.
    Device(usize),
    /// At one address for host and devices.
    Managed,
    /// Page-locked memory of the host.
    Host,
}

/// When memory that was freed may be used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// When events order the free before the allocation.
    FollowEventDependencies,
    /// When the free happens to be done.
    Opportunistic,
    /// When the driver adds a dependency that makes it so.
    InternalDependencies,
}

/// What may be asked of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolAttribute {
    /// Whether memory is used again so: 0 or 1.
    Reuse(Reuse),
    /// Bytes that are kept when nothing uses them.
    ReleaseThreshold,
    /// Bytes that are taken of the device now.
    Reserved,
    /// Most bytes that were taken.
    MostReserved,
    /// Bytes in use now.
    Used,
    /// Most bytes that were in use.
    MostUsed,
}

/// A pool.
#[derive(Debug)]
pub struct Pool {
    /// Its number.
    pub id: u64,
    /// What memory it has.
    pub place: PoolPlace,
    /// Most bytes that it may have; 0 is any number.
    most: u64,
    reuse: [AtomicU64; 3],
    threshold: AtomicU64,
    usage: Mutex<Usage>,
    /// Whether its memory may be given to other processes, and whether it came from one.
    pub(crate) exportable: AtomicBool,
    pub(crate) imported: AtomicBool,
    /// Other devices that may access its memory, by number.
    pub(crate) access: Mutex<BTreeSet<usize>>,
    /// Addresses of blocks that a stream freed, by the stream and the blocks' size: its next ones of that size.
    free: Mutex<HashMap<(u64, u64), BTreeSet<u64>>>,
}

/// Bytes: in use, and reserved of the device.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    used: u64,
    /// Those that `cudaFree` freed, which a device goes on counting as used.
    lost: u64,
    most_used: u64,
    reserved: u64,
    most_reserved: u64,
}

/// Bytes that a pool takes of its device at once.
const CHUNK: u64 = 32 << 20;
/// Bytes to which sizes of blocks are rounded up.
const BLOCK: u64 = 512;
/// Sizes and streams of which blocks are remembered.
const MOST_FREE: usize = 4096;

impl Pool {
    fn new(place: PoolPlace, most: u64) -> Arc<Pool> {
        Arc::new(Pool {
            id: fresh_id(),
            place,
            most,
            reuse: [const { AtomicU64::new(1) }; 3],
            threshold: AtomicU64::new(0),
            usage: Mutex::default(),
            exportable: AtomicBool::new(false),
            imported: AtomicBool::new(false),
            access: Mutex::default(),
            free: Mutex::default(),
        })
    }

    /// The value of an attribute.
    pub fn attribute(&self, attribute: PoolAttribute) -> u64 {
        let usage = *lock(&self.usage);
        match attribute {
            PoolAttribute::Reuse(reuse) => self.reuse[reuse as usize].load(SeqCst),
            PoolAttribute::ReleaseThreshold => self.threshold.load(SeqCst),
            PoolAttribute::Reserved => usage.reserved,
            PoolAttribute::MostReserved => usage.most_reserved,
            PoolAttribute::Used => usage.used + usage.lost,
            PoolAttribute::MostUsed => usage.most_used,
        }
    }

    /// Sets an attribute; marks of what was most can be set to what is now, by 0.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what cannot be set.
    pub fn set_attribute(&self, attribute: PoolAttribute, value: u64) -> Result {
        let mut usage = lock(&self.usage);
        match (attribute, value) {
            (PoolAttribute::Reuse(reuse), _) => self.reuse[reuse as usize].store(value, SeqCst),
            (PoolAttribute::ReleaseThreshold, _) => self.threshold.store(value, SeqCst),
            (PoolAttribute::MostReserved, 0) => usage.most_reserved = usage.reserved,
            (PoolAttribute::MostUsed, 0) => usage.most_used = usage.used + usage.lost,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// Whether a device was given access to its memory, by its number. Memory of the host all can access here.
    pub fn is_accessible(&self, device: usize) -> bool {
        self.place == PoolPlace::Device(device) || lock(&self.access).contains(&device)
    }

    /// Remembers a block that a stream frees.
    pub(crate) fn keep(&self, stream: u64, base: u64, bytes: u64) {
        let mut free = lock(&self.free);
        if free.len() >= MOST_FREE {
            free.clear();
        }
        free.entry((stream, bytes.next_multiple_of(BLOCK))).or_default().insert(base);
    }

    /// The lowest block of a size that a stream freed.
    pub(crate) fn again(&self, stream: u64, bytes: u64) -> Option<u64> {
        let (mut free, key) = (lock(&self.free), (stream, bytes.next_multiple_of(BLOCK)));
        let blocks = free.get_mut(&key)?;
        let base = blocks.pop_first();
        if blocks.is_empty() {
            free.remove(&key);
        }
        base
    }

    /// Whether so many bytes more may be in use.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.most == 0 || lock(&self.usage).used.saturating_add(bytes) <= self.most.next_multiple_of(CHUNK)
    }

    /// Counts bytes that were taken, or given back.
    pub(crate) fn count(&self, taken: u64, given_back: u64) {
        let mut usage = lock(&self.usage);
        usage.used = (usage.used + taken).saturating_sub(given_back);
        usage.most_used = usage.most_used.max(usage.used + usage.lost);
        let needed = usage.used.next_multiple_of(CHUNK);
        // Whole pieces are kept, up to the threshold.
        let kept = usage.reserved.min(self.threshold.load(SeqCst) / CHUNK * CHUNK);
        usage.reserved = if given_back > 0 { needed.max(kept) } else { needed.max(usage.reserved) };
        usage.most_reserved = usage.most_reserved.max(usage.reserved);
    }

    /// Counts bytes that were given back in no stream's order.
    fn lose(&self, bytes: u64) {
        self.count(0, bytes);
        lock(&self.usage).lost += bytes;
    }

    /// Gives back what is reserved beyond `keep` and not in use.
    pub fn trim(&self, keep: u64) {
        let mut usage = lock(&self.usage);
        usage.reserved = usage.reserved.min(usage.used.max(keep).next_multiple_of(CHUNK));
    }
}

/// The pools of a process.
#[derive(Debug, Default)]
pub struct Pools {
    /// By number.
    all: Mutex<HashMap<u64, Arc<Pool>>>,
    /// Those that places have: their own (true), and what was set.
    of_places: Mutex<HashMap<(PoolPlace, bool), Arc<Pool>>>,
    /// Pools of allocations that the host may access, by their address.
    shared: Mutex<HashMap<u64, u64>>,
}

impl Pools {
    /// A new pool of at most so many bytes, 0 for any number.
    pub fn create(&self, place: PoolPlace, most: u64) -> Arc<Pool> {
        let pool = Pool::new(place, most);
        lock(&self.all).insert(pool.id, pool.clone());
        pool
    }

    /// Forgets a pool. What is allocated from it stays.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a place's own pool.
    pub fn destroy(&self, pool: &Pool) -> Result {
        let mut of_places = lock(&self.of_places);
        if of_places.get(&(pool.place, true)).is_some_and(|own| own.id == pool.id) {
            return Err(Status::INVALID_VALUE);
        }
        of_places.retain(|_, other| other.id != pool.id);
        lock(&self.all).remove(&pool.id);
        Ok(())
    }

    /// The pool that a place has by itself.
    pub fn own(&self, place: PoolPlace) -> Arc<Pool> {
        lock(&self.of_places).entry((place, true)).or_insert_with(|| self.create(place, 0)).clone()
    }

    /// The pool that a place uses: what was set, or its own.
    pub fn current(&self, place: PoolPlace) -> Arc<Pool> {
        let set = lock(&self.of_places).get(&(place, false)).cloned();
        set.unwrap_or_else(|| self.own(place))
    }

    /// Sets the pool that a place uses.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a pool of another place.
    pub fn set_current(&self, place: PoolPlace, pool: Arc<Pool>) -> Result {
        if pool.place != place {
            return Err(Status::INVALID_VALUE);
        }
        lock(&self.of_places).insert((place, false), pool);
        Ok(())
    }

    /// The number of the pool that an allocation is of.
    pub fn of(&self, allocation: &Allocation) -> Option<u64> {
        match allocation.kind {
            Kind::Pool(id) => Some(id),
            kind if kind.is_host() => lock(&self.shared).get(&allocation.base).copied(),
            _ => None,
        }
    }

    /// The pool of a number, until it is destroyed.
    pub fn find(&self, id: u64) -> Option<Arc<Pool>> {
        lock(&self.all).get(&id).cloned()
    }

    /// Notes of which pool an allocation that the host may access is.
    pub(crate) fn note(&self, base: u64, pool: &Pool) {
        lock(&self.shared).insert(base, pool.id);
    }

    /// Tells the pool of an allocation, if it has one, that a stream frees it.
    pub fn freed(&self, allocation: &Allocation) {
        if let Some(pool) = self.take_from(allocation) {
            pool.count(0, allocation.size);
        }
    }

    /// The same where it is freed in no stream's order.
    pub fn freed_at_once(&self, allocation: &Allocation) {
        if let Some(pool) = self.take_from(allocation) {
            pool.lose(allocation.size);
        }
    }

    /// The pool of an allocation, which it is not of any more.
    fn take_from(&self, allocation: &Allocation) -> Option<Arc<Pool>> {
        let id = self.of(allocation)?;
        lock(&self.shared).remove(&allocation.base);
        self.find(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PoolAttribute::{MostReserved, MostUsed, ReleaseThreshold, Reserved, Used};

    #[test]
    fn whole_chunks_are_taken_and_kept_up_to_the_threshold() {
        let pool = Pool::new(PoolPlace::Device(0), 0);
        let now = |pool: &Pool| [Used, MostUsed, Reserved, MostReserved].map(|what| pool.attribute(what));
        pool.count(1000, 0);
        assert_eq!(now(&pool), [1000, 1000, CHUNK, CHUNK]);
        pool.count(2 * CHUNK, 0);
        assert_eq!(now(&pool), [2 * CHUNK + 1000, 2 * CHUNK + 1000, 3 * CHUNK, 3 * CHUNK]);
        pool.set_attribute(ReleaseThreshold, 2 * CHUNK + 5).unwrap();
        pool.count(0, 2 * CHUNK + 1000);
        assert_eq!(now(&pool), [0, 2 * CHUNK + 1000, 2 * CHUNK, 3 * CHUNK]);
        pool.trim(1);
        assert_eq!(pool.attribute(Reserved), CHUNK);
        assert_eq!(pool.set_attribute(MostUsed, 0), Ok(()));
        assert_eq!(pool.attribute(MostUsed), 0);
        assert_eq!(pool.set_attribute(MostUsed, 1), Err(Status::INVALID_VALUE));
        assert_eq!(pool.set_attribute(Used, 0), Err(Status::INVALID_VALUE));
        // As an H200 counts what `cudaFree` frees.
        pool.count(1000, 0);
        pool.lose(1000);
        assert_eq!(now(&pool), [1000, 1000, CHUNK, 3 * CHUNK]);
        pool.count(513, 0);
        assert_eq!(now(&pool)[..2], [1513, 1513]);
        let reuse = PoolAttribute::Reuse(Reuse::Opportunistic);
        assert_eq!(pool.attribute(reuse), 1);
        pool.set_attribute(reuse, 0).unwrap();
        assert_eq!(pool.attribute(reuse), 0);
    }

    #[test]
    fn a_stream_gets_its_own_blocks_again_by_size() {
        let pool = Pool::new(PoolPlace::Device(0), 0);
        pool.keep(1, 0x2000, 512);
        pool.keep(1, 0x1000, 1);
        pool.keep(1, 0x4000, 513);
        assert_eq!(pool.again(2, 512), None);
        assert_eq!(pool.again(1, 100), Some(0x1000));
        assert_eq!(pool.again(1, 512), Some(0x2000));
        assert_eq!(pool.again(1, 512), None);
        assert_eq!(pool.again(1, 1024), Some(0x4000));
    }

    #[test]
    fn a_pool_has_at_most_what_it_was_made_for() {
        let pool = Pool::new(PoolPlace::Device(0), 64 << 20);
        assert!(pool.has_room(64 << 20) && !pool.has_room(128 << 20) && !pool.has_room(u64::MAX));
        pool.count(40 << 20, 0);
        assert!(pool.has_room(20 << 20) && !pool.has_room(30 << 20));
        assert!(Pool::new(PoolPlace::Device(0), 0).has_room(u64::MAX));
    }

    #[test]
    fn places_have_pools_of_their_own() {
        let pools = Pools::default();
        let (device, host) = (PoolPlace::Device(0), PoolPlace::Host);
        let own = pools.own(device);
        assert_eq!(pools.current(device).id, own.id);
        assert_ne!(pools.own(host).id, own.id);
        let other = pools.create(device, 0);
        assert_eq!(pools.set_current(host, other.clone()), Err(Status::INVALID_VALUE));
        pools.set_current(device, other.clone()).unwrap();
        assert_eq!((pools.current(device).id, pools.own(device).id), (other.id, own.id));
        assert_eq!(pools.destroy(&own), Err(Status::INVALID_VALUE));
        pools.destroy(&other).unwrap();
        assert_eq!(pools.current(device).id, own.id);
    }
}
