//! What all processes that have a multicast object know of it: a file in memory, which is read and written as a whole.

use std::fs::File;
use std::os::unix::fs::FileExt;

use cuda_abi::{Result, Status};

/// What such a file begins with.
const MAGIC: u64 = u64::from_le_bytes(*b"wg.multi");
/// Words of its head: [`MAGIC`], bytes and devices of the object, changes so far, the number of the next part, devices, parts.
const HEAD: usize = 7;
/// Words of a part.
const WORDS: usize = 9;
/// Devices and parts at most: a file with more is none of ours.
const MOST: u64 = 1 << 16;

/// Memory of one device that is part of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Its number, which no other part of the object has had.
    pub number: u64,
    /// Where in the object it begins.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The device.
    pub device: usize,
    /// Where in the memory it begins.
    pub skip: u64,
    /// Bytes of the memory.
    pub whole: u64,
    /// The process that has the memory, and its descriptor of it.
    pub process: u32,
    /// See [`Part::process`].
    pub descriptor: u32,
    /// The file's number, since descriptors are used again.
    pub inode: u64,
}

impl Part {
    fn words(&self) -> [u64; WORDS] {
        let owner = u64::from(self.process) << 32 | u64::from(self.descriptor);
        let device = self.device as u64;
        [self.number, self.offset, self.size, device, self.skip, self.whole, owner, self.inode, 0]
    }

    fn of(words: &[u64]) -> Option<Part> {
        let &[number, offset, size, device, skip, whole, owner, inode, _] = words else { return None };
        let (process, descriptor) = ((owner >> 32) as u32, owner as u32);
        let device = usize::try_from(device).ok()?;
        Some(Part { number, offset, size, device, skip, whole, process, descriptor, inode })
    }
}

/// What is known of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    /// Bytes of it.
    pub size: u64,
    /// Devices that it is for.
    pub count: u32,
    /// How often it was changed.
    pub changes: u64,
    next: u64,
    /// Devices that were added, by number.
    pub devices: Vec<usize>,
    /// What is bound.
    pub parts: Vec<Part>,
}

impl Known {
    /// The number of a new part.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn words(&self) -> Vec<u64> {
        let counts = [self.devices.len() as u64, self.parts.len() as u64];
        let head = [MAGIC, self.size, u64::from(self.count), self.changes, self.next];
        let devices = self.devices.iter().map(|&device| device as u64);
        let parts = self.parts.iter().flat_map(Part::words);
        head.into_iter().chain(counts).chain(devices).chain(parts).collect()
    }
}

/// The file. Each process, and each import, opens it for itself: locks belong to who opened it.
#[derive(Debug)]
pub(crate) struct Board(File);

impl Board {
    /// A new object's.
    pub(crate) fn new(file: File, size: u64, count: u32) -> Result<Board> {
        let board = Board(file);
        let (devices, parts) = (Vec::new(), Vec::new());
        board.write(&Known { size, count, changes: 0, next: 0, devices, parts })?;
        Ok(board)
    }

    /// One that another process, or this one, has made.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the file is none.
    pub(crate) fn of(file: File) -> Result<Board> {
        let board = Board(file);
        board.read()?;
        Ok(board)
    }

    /// The file, for another process.
    pub(crate) fn file(&self) -> Result<File> {
        self.0.try_clone().map_err(|_| Status::OPERATING_SYSTEM)
    }

    fn take(&self, first: usize, count: usize) -> Result<Vec<u64>> {
        let mut bytes = vec![0; 8 * count];
        self.0.read_exact_at(&mut bytes, 8 * first as u64).map_err(|_| Status::INVALID_VALUE)?;
        Ok(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect())
    }

    fn read(&self) -> Result<Known> {
        let head = self.take(0, HEAD)?;
        let &[MAGIC, size, count, changes, next, devices, parts] = &head[..] else {
            return Err(Status::INVALID_VALUE);
        };
        if devices.max(parts) > MOST {
            return Err(Status::INVALID_VALUE);
        }
        let count = u32::try_from(count).map_err(|_| Status::INVALID_VALUE)?;
        let (devices, parts) = (devices as usize, parts as usize);
        let words = self.take(HEAD, devices + WORDS * parts)?;
        let (devices, parts) = words.split_at(devices);
        let devices = devices.iter().map(|&device| usize::try_from(device).unwrap_or(usize::MAX)).collect();
        let parts = parts.chunks_exact(WORDS).filter_map(Part::of).collect();
        Ok(Known { size, count, changes, next, devices, parts })
    }

    fn write(&self, known: &Known) -> Result {
        let bytes: Vec<u8> = known.words().into_iter().flat_map(u64::to_le_bytes).collect();
        self.0.write_all_at(&bytes, 0).map_err(|_| Status::OUT_OF_MEMORY)
    }

    /// How often it was changed, without waiting for anybody.
    pub(crate) fn changes(&self) -> u64 {
        self.take(3, 1).map_or(0, |words| words[0])
    }

    /// What is known now.
    pub(crate) fn known(&self) -> Result<Known> {
        self.0.lock_shared().map_err(|_| Status::OPERATING_SYSTEM)?;
        let known = self.read();
        let _ = self.0.unlock();
        known
    }

    /// Changes what is known, while nobody else does; if that fails, nothing is changed.
    pub(crate) fn change(&self, body: impl FnOnce(&mut Known) -> Result) -> Result {
        self.0.lock().map_err(|_| Status::OPERATING_SYSTEM)?;
        let changed = self.read().and_then(|mut known| {
            body(&mut known)?;
            known.changes += 1;
            self.write(&known)
        });
        let _ = self.0.unlock();
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u64) -> Part {
        Part {
            number,
            offset: 2 << 20,
            size: 4 << 20,
            device: 3,
            skip: 6 << 20,
            whole: 16 << 20,
            process: 0xffff_fffe,
            descriptor: 0x8000_0001,
            inode: u64::MAX,
        }
    }

    #[test]
    fn what_one_has_changed_another_knows() {
        let name = std::env::temp_dir().join(format!("warpgrind-board-{}", std::process::id()));
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&name).unwrap();
        assert_eq!(Board::of(open()).unwrap_err(), Status::INVALID_VALUE);
        let (one, other) = (Board::new(open(), 8 << 20, 2).unwrap(), Board::of(open()).unwrap());
        one.change(|known| {
            known.devices.push(3);
            let number = known.number();
            known.parts.push(part(number));
            Ok(())
        })
        .unwrap();
        let known = other.known().unwrap();
        assert_eq!((known.size, known.count, known.changes), (8 << 20, 2, 1));
        assert_eq!((known.devices, known.parts), (vec![3], vec![part(1)]));
        // What fails changes nothing, and numbers are not given again.
        assert_eq!(other.change(|_| Err(Status::INVALID_VALUE)), Err(Status::INVALID_VALUE));
        assert_eq!((one.changes(), other.changes()), (1, 1));
        other
            .change(|known| {
                known.parts.clear();
                assert_eq!(known.number(), 2);
                Ok(())
            })
            .unwrap();
        assert_eq!(one.known().unwrap().parts, vec![]);
        // Too many parts are no file of ours.
        open().write_all_at(&u64::MAX.to_le_bytes(), 48).unwrap();
        assert_eq!(Board::of(open()).unwrap_err(), Status::INVALID_VALUE);
        std::fs::remove_file(name).unwrap();
    }
}
