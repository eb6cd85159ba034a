//! Multicast objects: memory of several devices behind one address, for this process and for others.
//!
//! Which devices an object has and what is bound is on a [`Board`], which processes share. Each has the memory of all parts
//! at addresses of its own, and looks at the board again before it launches something.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};

use cuda_abi::{Result, Status};

use crate::board::{Board, Known, Part};
use crate::tree::{Device, Watches};
use crate::virtual_memory::{Access, AddressSpace, GRANULARITY, Physical, Stands, Who, is_size};
use crate::{fresh_id, lock};

/// A part that this process sees: where all of its devices see the whole of the memory.
#[derive(Debug)]
struct Seen {
    part: Part,
    address: u64,
    physical: Arc<Physical>,
}

/// Addresses that stand for a part of an object.
#[derive(Debug)]
struct Mapped {
    size: u64,
    offset: u64,
    /// Devices that may access it, and whether they may write.
    access: BTreeMap<usize, bool>,
}

#[derive(Debug, Default)]
struct State {
    /// By the number of the part.
    seen: BTreeMap<u64, Seen>,
    /// By the first address.
    mapped: BTreeMap<u64, Mapped>,
    /// Of the board, when it was looked at last.
    changes: u64,
    /// Its handle is gone.
    is_released: bool,
}

/// Memory of several devices that `multimem` instructions access together.
#[derive(Debug)]
pub struct Multicast {
    /// Its number.
    pub id: u64,
    /// Bytes.
    pub size: u64,
    board: Board,
    addresses: Arc<AddressSpace>,
    /// The devices of this process.
    devices: Vec<Arc<Device>>,
    /// Whether it may be given to other processes.
    exportable: bool,
    /// Whether others may have it.
    is_shared: AtomicBool,
    state: Mutex<State>,
}

impl Multicast {
    /// An object for so many devices.
    ///
    /// # Errors
    /// `INVALID_VALUE` for no devices and sizes that are no multiple of [`GRANULARITY`], `OUT_OF_MEMORY`.
    pub fn new(
        addresses: &Arc<AddressSpace>,
        devices: &[Arc<Device>],
        size: u64,
        count: u32,
        exportable: bool,
    ) -> Result<Arc<Self>> {
        if !is_size(size) || count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let board = Board::new(addresses.multicast_file()?, size, count)?;
        Ok(Self::of(addresses, devices, board, size, exportable, false))
    }

    /// One that another process, or this one, has given as a file.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is no such file.
    pub fn import(addresses: &Arc<AddressSpace>, devices: &[Arc<Device>], file: &File) -> Result<Arc<Self>> {
        let own = addresses.opened(std::process::id(), file.as_raw_fd() as u32, inode(file)?);
        let board = Board::of(own.ok_or(Status::INVALID_VALUE)?)?;
        let size = board.known()?.size;
        Ok(Self::of(addresses, devices, board, size, true, true))
    }

    fn of(
        addresses: &Arc<AddressSpace>,
        devices: &[Arc<Device>],
        board: Board,
        size: u64,
        exportable: bool,
        is_shared: bool,
    ) -> Arc<Self> {
        let new = Arc::new(Self {
            id: fresh_id(),
            size,
            board,
            addresses: addresses.clone(),
            devices: devices.to_vec(),
            exportable,
            is_shared: is_shared.into(),
            state: Mutex::default(),
        });
        for device in devices {
            let watching: Weak<dyn Watches> = Arc::<Self>::downgrade(&new);
            lock(&device.watching).push(watching);
        }
        new
    }

    /// The file for another process.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was not made for that, `OPERATING_SYSTEM`.
    pub fn export(&self) -> Result<File> {
        if !self.exportable {
            return Err(Status::INVALID_VALUE);
        }
        self.is_shared.store(true, SeqCst);
        self.board.file()
    }

    /// Adds a device.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is one already, or there are as many as the object is for.
    pub fn add(&self, device: &Device) -> Result {
        self.board.change(|known| {
            if known.devices.len() as u32 == known.count || known.devices.contains(&device.index) {
                return Err(Status::INVALID_VALUE);
            }
            known.devices.push(device.index);
            Ok(())
        })
    }

    /// Makes a part of a device's memory a part of the object.
    ///
    /// # Errors
    /// `INVALID_VALUE` for parts that are no multiples of [`GRANULARITY`], do not lie inside, or are bound already, and for
    /// memory of other devices; `ILLEGAL_STATE` as long as devices are missing.
    pub fn bind(&self, offset: u64, physical: &Arc<Physical>, skip: u64, size: u64) -> Result {
        let state = &mut *lock(&self.state);
        let inside = |start: u64, of: u64| {
            start.is_multiple_of(GRANULARITY) && start.checked_add(size).is_some_and(|end| end <= of)
        };
        let device = physical.device.index;
        let overlaps = |other: &Part| {
            other.device == device && other.offset < offset + size && offset < other.offset + other.size
        };
        let file = physical.file();
        let (process, descriptor, inode) = (std::process::id(), file.as_raw_fd() as u32, inode(file)?);
        let mut part =
            Part { number: 0, offset, size, device, skip, whole: physical.size, process, descriptor, inode };
        self.board.change(|known| {
            if known.devices.len() as u32 != known.count {
                return Err(Status::ILLEGAL_STATE);
            }
            if !is_size(size)
                || physical.of_host
                || !inside(offset, self.size)
                || !inside(skip, physical.size)
                || !known.devices.contains(&device)
                || known.parts.iter().any(overlaps)
            {
                return Err(Status::INVALID_VALUE);
            }
            part.number = known.number();
            known.parts.push(part);
            Ok(())
        })?;
        let known = self.board.known()?;
        if let Err(status) = self.see(state, &known, &part, physical.clone()) {
            return self.forget(part.number).and(Err(status));
        }
        self.look(state, &known);
        Ok(())
    }

    /// Takes a device's memory out of a part of the object.
    ///
    /// # Errors
    /// `INVALID_VALUE` if nothing is bound there exactly.
    pub fn unbind(&self, device: usize, offset: u64, size: u64) -> Result {
        let state = &mut *lock(&self.state);
        let is_it = |part: &Part| part.device == device && part.offset == offset && part.size == size;
        self.board.change(|known| {
            let found = known.parts.iter().position(is_it).ok_or(Status::INVALID_VALUE)?;
            known.parts.remove(found);
            Ok(())
        })?;
        self.look(state, &self.board.known()?);
        Ok(())
    }

    /// Its handle is gone: it lets go of the memory that is bound, once no addresses stand for it.
    pub fn release(&self) {
        let state = &mut *lock(&self.state);
        state.is_released = true;
        self.let_go(state);
    }

    /// Takes a part off the board.
    fn forget(&self, number: u64) -> Result {
        self.board.change(|known| {
            known.parts.retain(|part| part.number != number);
            Ok(())
        })
    }

    /// Has the devices of this process that belong to the object see the memory of a part.
    fn see(&self, state: &mut State, known: &Known, part: &Part, physical: Arc<Physical>) -> Result {
        let address = self.addresses.reserve(physical.size, 0, 0)?;
        let all: Vec<(Who, Access)> =
            self.members(known).map(|device| (Who::Device(device.index), Access::ReadWrite)).collect();
        let seen = self.addresses.map(address, physical.size, 0, physical.clone());
        let seen = seen.and_then(|()| self.addresses.set_access(address, physical.size, &all));
        let seen_part = Seen { part: *part, address, physical };
        if let Err(status) = seen {
            seen_part.forget(&self.addresses);
            return Err(status);
        }
        state.seen.insert(part.number, seen_part);
        Ok(())
    }

    /// The devices of this process that belong to the object.
    fn members<'a>(&'a self, known: &'a Known) -> impl Iterator<Item = &'a Arc<Device>> + 'a {
        self.devices.iter().filter(|device| known.devices.contains(&device.index))
    }

    /// Sees what is known now, and nothing else.
    fn look(&self, state: &mut State, known: &Known) {
        state.changes = known.changes;
        let gone: Vec<u64> = state.seen.keys().copied().collect();
        let gone = gone.into_iter().filter(|&number| known.parts.iter().all(|part| part.number != number));
        let gone: Vec<Seen> = gone.filter_map(|number| state.seen.remove(&number)).collect();
        for part in &known.parts {
            if state.seen.contains_key(&part.number) {
                continue;
            }
            // The memory of a process that is gone is gone, too.
            let file = self.addresses.opened(part.process, part.descriptor, part.inode);
            let device = self.devices.iter().find(|device| device.index == part.device);
            let (Some(file), Some(device)) = (file, device) else { continue };
            let Ok(physical) = self.addresses.import(device, file, false) else { continue };
            if physical.size == part.whole {
                let _ = self.see(state, known, part, physical);
            }
        }
        self.show(state, known);
        gone.into_iter().for_each(|seen| seen.forget(&self.addresses));
    }

    /// Lets go of the memory that is bound if nobody of this process can reach it any more. Other processes may have it.
    fn let_go(&self, state: &mut State) {
        if !state.is_released || !state.mapped.is_empty() {
            return;
        }
        for (number, seen) in std::mem::take(&mut state.seen) {
            if !self.is_shared.load(SeqCst) {
                let _ = self.forget(number);
            }
            seen.forget(&self.addresses);
        }
    }

    /// Tells the simulators of devices which addresses stand for which memory: parts that all devices have bound.
    fn show(&self, state: &State, known: &Known) {
        let parts = || state.seen.values().map(|seen| &seen.part);
        let edges: BTreeSet<u64> = parts().flat_map(|part| [part.offset, part.offset + part.size]).collect();
        for (&address, mapped) in &state.mapped {
            let end = mapped.offset + mapped.size;
            let inside = edges.range(mapped.offset..=end).copied();
            let edges: Vec<u64> = [mapped.offset].into_iter().chain(inside).chain([end]).collect();
            for device in self.members(known) {
                device.drain();
                device.simulator.set_multicast(address, mapped.size, &[], false);
                let Some(&writable) = mapped.access.get(&device.index) else { continue };
                for pair in edges.windows(2).filter(|pair| pair[0] < pair[1]) {
                    let replicas: Vec<u64> =
                        state.seen.values().filter_map(|seen| seen.at(pair[0])).collect();
                    if replicas.len() == known.devices.len() {
                        let start = address + (pair[0] - mapped.offset);
                        device.simulator.set_multicast(start, pair[1] - pair[0], &replicas, writable);
                    }
                }
            }
        }
    }
}

impl Watches for Multicast {
    fn look_again(&self) {
        if !self.is_shared.load(SeqCst) {
            return;
        }
        let state = &mut *lock(&self.state);
        if state.changes != self.board.changes()
            && !state.mapped.is_empty()
            && let Ok(known) = self.board.known()
        {
            self.look(state, &known);
        }
    }
}

impl Stands for Multicast {
    fn map(&self, address: u64, size: u64, offset: u64) -> Result {
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        if !inside || !offset.is_multiple_of(GRANULARITY) {
            return Err(Status::INVALID_VALUE);
        }
        lock(&self.state).mapped.insert(address, Mapped { size, offset, access: BTreeMap::new() });
        Ok(())
    }

    fn unmap(&self, address: u64) {
        let state = &mut *lock(&self.state);
        if let Some(mapped) = state.mapped.remove(&address) {
            for device in &self.devices {
                device.simulator.set_multicast(address, mapped.size, &[], false);
            }
        }
        self.let_go(state);
    }

    fn set_access(&self, address: u64, access: &[(Who, Access)]) -> Result {
        let state = &mut *lock(&self.state);
        let known = self.board.known()?;
        let member = |who: &Who| self.members(&known).any(|device| Who::Device(device.index) == *who);
        if !access.iter().all(|(who, _)| member(who)) {
            return Err(Status::INVALID_VALUE);
        }
        if let Some(mapped) = state.mapped.get_mut(&address) {
            for &(who, access) in access {
                let Who::Device(index) = who else { continue };
                match access {
                    Access::None => mapped.access.remove(&index),
                    Access::Read | Access::ReadWrite => {
                        mapped.access.insert(index, access == Access::ReadWrite)
                    }
                };
            }
        }
        self.look(state, &known);
        Ok(())
    }
}

impl Seen {
    /// Where the byte at an offset of the object is.
    fn at(&self, offset: u64) -> Option<u64> {
        let inside = offset.checked_sub(self.part.offset).filter(|&at| at < self.part.size)?;
        Some(self.address + self.part.skip + inside)
    }

    fn forget(self, addresses: &AddressSpace) {
        let size = self.physical.size;
        if addresses.unmap(self.address, size).is_ok() {
            let _ = addresses.free(self.address, size);
        }
    }
}

/// The number of a file.
fn inode(file: &File) -> Result<u64> {
    file.metadata().map(|found| found.ino()).map_err(|_| Status::OPERATING_SYSTEM)
}
