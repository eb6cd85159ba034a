//! Shared memory that not only the threads of its block access: to the detector it is part of global memory, beyond all
//! addresses.

use rustc_hash::FxHashMap;

/// Where it begins: each block that runs has 4 GiB.
pub(crate) const DISTRIBUTED: u64 = 1 << 63;

/// Where the shared memory of each block lies.
#[derive(Default)]
pub(crate) struct Homes {
    /// The part of each block, and the bytes of it that the block has.
    parts: FxHashMap<u64, (u64, u32)>,
    /// Parts of blocks that have ended.
    free: Vec<u64>,
    used: u64,
    /// Found last.
    last: Option<(u64, u64)>,
}

impl Homes {
    /// A block begins.
    pub(crate) fn start(&mut self, block: u64, bytes: u32) {
        self.start_of(block);
        if let Some(part) = self.parts.get_mut(&block) {
            part.1 = bytes;
        }
    }

    fn start_of(&mut self, block: u64) -> u64 {
        if let Some((last, start)) = self.last
            && last == block
        {
            return start;
        }
        let Self { parts, free, used, .. } = self;
        let (number, _) = *parts.entry(block).or_insert_with(|| {
            let new = free.pop().unwrap_or(*used);
            *used = (*used).max(new + 1);
            (new, 0)
        });
        let start = DISTRIBUTED | number << 32;
        self.last = Some((block, start));
        start
    }

    /// Offsets in the shared memory of a block, as addresses.
    pub(crate) fn addresses(&mut self, block: u64, offsets: &[u64; 32]) -> [u64; 32] {
        let start = self.start_of(block);
        offsets.map(|offset| start | offset)
    }

    /// A block ends, and with it its shared memory: `forget` gets that.
    pub(crate) fn end(&mut self, block: u64, forget: impl FnOnce(u64, u64)) {
        self.last = None;
        if let Some((part, bytes)) = self.parts.remove(&block) {
            forget(DISTRIBUTED | part << 32, bytes.into());
            self.free.push(part);
        }
    }
}
