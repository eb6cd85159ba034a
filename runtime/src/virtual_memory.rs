//! Virtual memory management: addresses that are reserved, memory without an address, and one behind the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use cuda_abi::{Result, Status};
use sim_core::Backend;

use crate::backing::TileMemory;
use crate::host::Host;
use crate::memory::{Allocation, Kind};
use crate::pages::Holds;
use crate::tree::Device;
use crate::{fresh_id, lock};

/// What sizes and addresses are multiples of.
pub const GRANULARITY: u64 = 2 << 20;

/// What a device may do with a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read and write.
    ReadWrite,
}

/// Who accesses a mapping.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Who {
    /// A device, by number.
    Device(usize),
    /// The host, which reaches memory of its own alone.
    Host,
}

/// What memory without an address is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// To be given to other processes as a file.
    pub exportable: bool,
    /// To be compressed.
    pub compressed: bool,
    /// To be the host's.
    pub of_host: bool,
    /// To be put behind arrays, tile by tile, and never at an address.
    pub tile_pool: bool,
}

/// Memory without an address.
#[derive(Debug)]
pub struct Physical {
    /// Its number.
    pub id: u64,
    /// Bytes.
    pub size: u64,
    /// The device that it is of; of the host's, the first.
    pub device: Arc<Device>,
    /// Whether it is the host's.
    pub of_host: bool,
    /// Whether it may be given to other processes as a file.
    pub exportable: bool,
    /// Whether another process, or this one, gave it as a file.
    pub imported: bool,
    /// Whether a device would keep it compressed, which nobody sees.
    pub compressed: bool,
    /// Whether it is for arrays, tile by tile, and not for addresses.
    pub is_tile_pool: bool,
    file: File,
    /// Handles of the program.
    references: AtomicU32,
}

impl Physical {
    /// Adds a handle of the program.
    pub fn retain(&self) {
        self.references.fetch_add(1, SeqCst);
    }

    /// Takes a handle of the program away; whether it was the last. Mappings keep the memory.
    pub fn release(&self) -> bool {
        self.references.fetch_sub(1, SeqCst) == 1
    }

    /// Whether handles of it can be had: what came from a file has none.
    pub fn may_be_given(&self) -> bool {
        self.exportable && !self.imported
    }

    /// The file that it consists of.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// A file for other processes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was not made for that, or came from a file; `OPERATING_SYSTEM`.
    pub fn export(&self) -> Result<File> {
        if !self.may_be_given() {
            return Err(Status::INVALID_VALUE);
        }
        self.file.try_clone().map_err(|_| Status::OPERATING_SYSTEM)
    }
}

impl TileMemory for Physical {
    fn id(&self) -> u64 {
        self.id
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> Result {
        self.file.read_exact_at(bytes, offset).map_err(|_| Status::OPERATING_SYSTEM)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result {
        self.file.write_all_at(bytes, offset).map_err(|_| Status::OUT_OF_MEMORY)
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if !self.of_host {
            self.device.without_address.fetch_sub(self.size, SeqCst);
        }
    }
}

#[derive(Debug)]
struct Mapping {
    size: u64,
    physical: Arc<Physical>,
    /// What those may do with it who were named.
    access: BTreeMap<Who, Access>,
}

impl Mapping {
    fn access(&self, who: Who) -> Access {
        self.access.get(&who).copied().unwrap_or(Access::None)
    }
}

#[derive(Debug, Default)]
struct Reservation {
    size: u64,
    mappings: BTreeMap<u64, Mapping>,
    /// What a device's simulator knows, by its first address.
    shown: BTreeMap<usize, BTreeMap<u64, Piece>>,
}

/// Neighbouring mappings that a device may access.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    size: u64,
    /// Addresses that it may only read.
    read_only: Vec<Range<u64>>,
}

impl Reservation {
    /// What a device may access, by its first address.
    fn accessible(&self, device: usize) -> BTreeMap<u64, Piece> {
        let mut pieces: BTreeMap<u64, Piece> = BTreeMap::new();
        let device = Who::Device(device);
        let may = |mapping: &Mapping| mapping.access(device) != Access::None;
        for (&base, mapping) in self.mappings.iter().filter(|(_, mapping)| may(mapping)) {
            let end = base + mapping.size;
            let read_only = (mapping.access(device) == Access::Read).then_some(base..end);
            match pieces.last_entry() {
                Some(mut last) if *last.key() + last.get().size == base => {
                    last.get_mut().size += mapping.size;
                    last.get_mut().read_only.extend(read_only);
                }
                _ => {
                    pieces.insert(
                        base,
                        Piece { size: mapping.size, read_only: read_only.into_iter().collect() },
                    );
                }
            }
        }
        pieces
    }

    /// Shows the simulators of devices what may be accessed now, and nothing else.
    fn show(&mut self, any: &Arc<Device>) -> Result {
        let named = self.mappings.values().flat_map(|mapping| mapping.access.keys());
        let named = named.filter_map(|who| if let Who::Device(index) = who { Some(index) } else { None });
        let devices: BTreeSet<usize> = named.chain(self.shown.keys()).copied().collect();
        for index in devices {
            let wanted = self.accessible(index);
            let device = any.numbered(index)?;
            let shown = self.shown.entry(index).or_default();
            let gone: Vec<u64> =
                shown.keys().filter(|base| shown.get(base) != wanted.get(base)).copied().collect();
            if !gone.is_empty() {
                device.drain();
            }
            for base in gone {
                device.memory.remove(base, |found| found.kind == Kind::Virtual);
                let _ = device.simulator.free(base);
                shown.remove(&base);
            }
            device.share_memory();
            for (base, piece) in wanted {
                if shown.contains_key(&base) {
                    continue;
                }
                let size = piece.size;
                device.host.show(&device.simulator, base, size, "mapped memory")?;
                device.simulator.set_read_only(base, piece.read_only.clone());
                let id = fresh_id();
                device.memory.insert(Allocation {
                    base,
                    size,
                    kind: Kind::Virtual,
                    context: 0,
                    flags: 0,
                    id,
                });
                shown.insert(base, piece);
            }
        }
        Ok(())
    }

    /// The mappings that fill a range exactly.
    fn filling(&self, address: u64, size: u64) -> Option<Vec<u64>> {
        let mut next = address;
        let mut list = Vec::new();
        while next < address.checked_add(size)? {
            list.push(next);
            next += self.mappings.get(&next)?.size;
        }
        (next == address + size).then_some(list)
    }
}

/// What reserved addresses can stand for beside memory.
pub trait Stands: Send + Sync {
    /// Has addresses stand for a part of it; nobody may access it yet.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a part that does not lie inside.
    fn map(&self, address: u64, size: u64, offset: u64) -> Result;
    /// Has addresses stand for nothing any more.
    fn unmap(&self, address: u64);
    /// Says what devices may do with it at an address.
    ///
    /// # Errors
    /// `INVALID_VALUE` for who is no device of its own.
    fn set_access(&self, address: u64, access: &[(Who, Access)]) -> Result;
}

/// Bytes of addresses, and what they stand for.
type StandIn = (u64, Arc<dyn Stands>);

/// The addresses that a process has reserved, and the memory of this kind that it has.
pub struct AddressSpace {
    host: Arc<dyn Host>,
    /// By the first address.
    reserved: Mutex<BTreeMap<u64, Reservation>>,
    /// Addresses behind which are no mappings but something else, with their bytes.
    stand_ins: Mutex<BTreeMap<u64, StandIn>>,
}

impl std::fmt::Debug for AddressSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressSpace").finish_non_exhaustive()
    }
}

impl AddressSpace {
    pub(crate) fn new(host: Arc<dyn Host>) -> Self {
        Self { host, reserved: Mutex::default(), stand_ins: Mutex::default() }
    }

    /// The reservation that an address lies in: its first address and bytes.
    pub fn reservation_of(&self, address: u64) -> Option<(u64, u64)> {
        let table = lock(&self.reserved);
        let (&base, found) = table.range(..=address).next_back()?;
        (address - base < found.size).then_some((base, found.size))
    }

    /// The mapping that an address lies in: its first address and bytes.
    pub fn mapping_of(&self, address: u64) -> Option<(u64, u64)> {
        let table = lock(&self.reserved);
        let (_, found) = table.range(..=address).next_back()?;
        let (&base, mapping) = found.mappings.range(..=address).next_back()?;
        (address - base < mapping.size).then_some((base, mapping.size))
    }

    /// The memory behind an address.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is none.
    pub fn physical_of(&self, address: u64) -> Result<Arc<Physical>> {
        let (base, _) = self.mapping_of(address).ok_or(Status::INVALID_VALUE)?;
        self.with(base, GRANULARITY, |reservation| {
            let mapping = reservation.mappings.get(&base).ok_or(Status::INVALID_VALUE)?;
            Ok(mapping.physical.clone())
        })
    }

    fn physical(
        &self,
        device: &Arc<Device>,
        size: u64,
        wanted: Wanted,
        imported: bool,
        file: File,
    ) -> Arc<Physical> {
        let Wanted { exportable, compressed, of_host, tile_pool } = wanted;
        if !of_host {
            device.without_address.fetch_add(size, SeqCst);
        }
        Arc::new(Physical {
            id: fresh_id(),
            size,
            device: device.clone(),
            of_host,
            exportable,
            imported,
            compressed,
            is_tile_pool: tile_pool,
            file,
            references: AtomicU32::new(1),
        })
    }

    /// Memory of a device without an address.
    ///
    /// # Errors
    /// `INVALID_VALUE` for sizes that are no multiple of [`GRANULARITY`], `OUT_OF_MEMORY`.
    pub fn create(&self, device: &Arc<Device>, size: u64, wanted: Wanted) -> Result<Arc<Physical>> {
        if !is_size(size) {
            return Err(Status::INVALID_VALUE);
        }
        let (total, used) = device.memory_usage();
        if !wanted.of_host && size > total.saturating_sub(used) {
            return Err(Status::OUT_OF_MEMORY);
        }
        let holds = if wanted.of_host { Holds::Host } else { Holds::Device(device.index) };
        let file = self.host.file(size, holds)?;
        Ok(self.physical(device, size, wanted, false, file))
    }

    /// Memory that another process, or this one, has given as a file.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is no such file.
    pub fn import(&self, device: &Arc<Device>, file: File, of_host: bool) -> Result<Arc<Physical>> {
        let size = file.metadata().map_err(|_| Status::INVALID_VALUE)?.len();
        if !is_size(size) {
            return Err(Status::INVALID_VALUE);
        }
        let wanted = Wanted { exportable: true, of_host, ..Wanted::default() };
        Ok(self.physical(device, size, wanted, true, file))
    }

    /// A file for what is known of a multicast object.
    pub(crate) fn multicast_file(&self) -> Result<File> {
        self.host.file(0, Holds::Multicast)
    }

    /// A file of a process, opened anew.
    pub(crate) fn opened(&self, process: u32, descriptor: u32, inode: u64) -> Option<File> {
        self.host.opened(process, descriptor, inode)
    }

    /// Reserves addresses, at `wanted` if they are free.
    ///
    /// # Errors
    /// `INVALID_VALUE` for wrong sizes and alignments, `OUT_OF_MEMORY`.
    pub fn reserve(&self, size: u64, alignment: u64, wanted: u64) -> Result<u64> {
        if !is_size(size) || alignment != 0 && !alignment.is_power_of_two() {
            return Err(Status::INVALID_VALUE);
        }
        let base = self.host.reserve(size, alignment.max(GRANULARITY), wanted)?;
        lock(&self.reserved).insert(base, Reservation { size, ..Reservation::default() });
        Ok(base)
    }

    /// Gives reserved addresses back.
    ///
    /// # Errors
    /// `INVALID_VALUE` if they were not reserved so, or something is behind them.
    pub fn free(&self, address: u64, size: u64) -> Result {
        if lock(&self.stand_ins).range(address..address.saturating_add(size)).next().is_some() {
            return Err(Status::INVALID_VALUE);
        }
        let mut table = lock(&self.reserved);
        let found = table.get(&address).filter(|found| found.size == size && found.mappings.is_empty());
        found.ok_or(Status::INVALID_VALUE)?;
        table.remove(&address);
        self.host.unreserve(address, size);
        Ok(())
    }

    /// Calls a function with the reservation that holds a range.
    fn with<T>(
        &self,
        address: u64,
        size: u64,
        body: impl FnOnce(&mut Reservation) -> Result<T>,
    ) -> Result<T> {
        let mut table = lock(&self.reserved);
        let (&base, found) = table.range_mut(..=address).next_back().ok_or(Status::INVALID_VALUE)?;
        let inside = (address - base).checked_add(size).is_some_and(|end| end <= found.size);
        if !inside || !is_size(size) || !address.is_multiple_of(GRANULARITY) {
            return Err(Status::INVALID_VALUE);
        }
        body(found)
    }

    /// Puts memory behind reserved addresses; nobody may access it yet.
    ///
    /// # Errors
    /// `INVALID_VALUE` if something is there, and for what is for arrays; `NOT_SUPPORTED` for parts of memory.
    pub fn map(&self, address: u64, size: u64, offset: u64, physical: Arc<Physical>) -> Result {
        if physical.is_tile_pool {
            return Err(Status::INVALID_VALUE);
        }
        if offset != 0 || size != physical.size {
            return Err(Status::NOT_SUPPORTED);
        }
        self.with(address, size, |reservation| {
            let overlaps =
                |(&base, other): (&u64, &Mapping)| base < address + size && address < base + other.size;
            if reservation.mappings.iter().any(overlaps) {
                return Err(Status::INVALID_VALUE);
            }
            self.host.put_behind(address, size, Some(&physical.file))?;
            reservation.mappings.insert(address, Mapping { size, physical, access: BTreeMap::new() });
            Ok(())
        })
    }

    /// Has reserved addresses stand for a part of something; nobody may access it yet.
    ///
    /// # Errors
    /// `INVALID_VALUE` if something is there, or for a part that does not lie inside.
    pub fn map_stand_in(&self, address: u64, size: u64, offset: u64, object: Arc<dyn Stands>) -> Result {
        let overlaps = |base: u64, other: u64| base < address + size && address < base + other;
        self.with(address, size, |reservation| {
            let taken = reservation.mappings.iter().any(|(&base, mapping)| overlaps(base, mapping.size));
            if taken { Err(Status::INVALID_VALUE) } else { Ok(()) }
        })?;
        let mut stand_ins = lock(&self.stand_ins);
        if stand_ins.iter().any(|(&base, &(other, _))| overlaps(base, other)) {
            return Err(Status::INVALID_VALUE);
        }
        stand_ins.insert(address, (size, object.clone()));
        drop(stand_ins);
        let mapped = object.map(address, size, offset);
        if mapped.is_err() {
            lock(&self.stand_ins).remove(&address);
        }
        mapped
    }

    /// What all of a range stands for; nothing if it is memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a part of it.
    fn stand_in(&self, address: u64, size: u64) -> Result<Option<Arc<dyn Stands>>> {
        match lock(&self.stand_ins).get(&address) {
            Some((bytes, object)) if *bytes == size => Ok(Some(object.clone())),
            Some(_) => Err(Status::INVALID_VALUE),
            None => Ok(None),
        }
    }

    /// Takes what is behind addresses away.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a part of a mapping.
    pub fn unmap(&self, address: u64, size: u64) -> Result {
        if let Some(object) = self.stand_in(address, size)? {
            lock(&self.stand_ins).remove(&address);
            object.unmap(address);
            return Ok(());
        }
        self.with(address, size, |reservation| {
            let inside: Vec<u64> =
                reservation.mappings.range(address..address + size).map(|(&base, _)| base).collect();
            let ends = |(&base, mapping): (&u64, &Mapping)| base + mapping.size;
            let last = reservation.mappings.range(address..address + size).next_back().map(ends);
            let before = reservation.mappings.range(..address).next_back().map(ends);
            if last.is_some_and(|end| end > address + size) || before.is_some_and(|end| end > address) {
                return Err(Status::INVALID_VALUE);
            }
            // Nothing mapped is nothing to do.
            let gone: Vec<Mapping> =
                inside.iter().filter_map(|base| reservation.mappings.remove(base)).collect();
            if let Some(mapping) = gone.first() {
                reservation.show(&mapping.physical.device)?;
            }
            self.host.put_behind(address, size, None)
        })
    }

    /// Says who may do what with mappings that fill a range; of two entries for one the last holds.
    ///
    /// # Errors
    /// `INVALID_VALUE` if they do not fill it, or for a device that is not there; `NOT_SUPPORTED` where the host were to have a
    /// device's memory.
    pub fn set_access(&self, address: u64, size: u64, access: &[(Who, Access)]) -> Result {
        if let Some(object) = self.stand_in(address, size)? {
            return object.set_access(address, access);
        }
        self.with(address, size, |reservation| {
            let mappings = reservation.filling(address, size).ok_or(Status::INVALID_VALUE)?;
            let first = mappings.first().and_then(|base| reservation.mappings.get(base));
            let device = first.map(|mapping| mapping.physical.device.clone()).ok_or(Status::INVALID_VALUE)?;
            let of_host =
                |base: &u64| reservation.mappings.get(base).is_some_and(|mapping| mapping.physical.of_host);
            let are_of_host = mappings.iter().all(of_host);
            for (who, access) in access {
                match who {
                    Who::Device(index) => _ = device.numbered(*index).map_err(|_| Status::INVALID_VALUE)?,
                    Who::Host if *access != Access::None && !are_of_host => {
                        return Err(Status::NOT_SUPPORTED);
                    }
                    Who::Host => {}
                }
            }
            for base in mappings {
                if let Some(mapping) = reservation.mappings.get_mut(&base) {
                    mapping.access.extend(access.iter().copied());
                }
            }
            reservation.show(&device)
        })
    }

    /// What somebody may do with the mapping at an address; `None` if there is none.
    pub fn access(&self, address: u64, who: Who) -> Option<Access> {
        let (base, _) = self.mapping_of(address)?;
        let table = lock(&self.reserved);
        let (_, found) = table.range(..=base).next_back()?;
        let mapping = found.mappings.get(&base)?;
        Some(mapping.access(who))
    }
}

/// Whether bytes are a size of memory and of reservations of this kind.
pub fn is_size(bytes: u64) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}
