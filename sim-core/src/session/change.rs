//! What a debugger changes of a launch that stands still.

use super::Session;
use crate::code::RegisterPlace;
use crate::error::Error;
use crate::machine::cta::Cta;
use crate::tools::WarpId;

/// A change of what a launch holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Bytes of global memory.
    Global {
        /// Where.
        address: u64,
        /// What is to be there.
        bytes: Vec<u8>,
    },
    /// Bytes of a block's shared memory.
    Shared {
        /// The block.
        block: u64,
        /// From the start of the window.
        offset: u64,
        /// What is to be there.
        bytes: Vec<u8>,
    },
    /// Bytes of a lane's local memory.
    Local {
        /// The warp.
        warp: WarpId,
        /// The lane.
        lane: u32,
        /// From the start of the window.
        offset: u64,
        /// What is to be there.
        bytes: Vec<u8>,
    },
    /// A register of a lane.
    Register {
        /// The warp.
        warp: WarpId,
        /// The lane.
        lane: u32,
        /// The call frame, the innermost is 0.
        frame: usize,
        /// Where the register is.
        place: RegisterPlace,
        /// What it is to hold.
        bits: u128,
    },
}

fn missing(what: &str) -> Error {
    Error::InvalidAddress(format!("{what} is not there"))
}

fn put(into: &mut [u8], offset: u64, bytes: &[u8]) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    into.get_mut(start..start.checked_add(bytes.len())?)?.copy_from_slice(bytes);
    Some(())
}

impl Session<'_, '_> {
    /// Changes what it holds; it goes on with that. Restoring a checkpoint from before takes the change back.
    ///
    /// # Errors
    /// The memory is not there, the thread is not, or nothing can be written to the register: all lanes read one row of it, as
    /// they do of constants and parameters.
    pub fn change(&mut self, change: &Change) -> Result<(), Error> {
        match change {
            Change::Global { address, bytes } => {
                let count = bytes.len() as u64;
                self.worker.grid.memory.with_range(*address, count, "write", |allocation, at| {
                    allocation.cells.write(at, bytes);
                    if let Some(written) = &allocation.written {
                        written.set(at, count);
                    }
                })
            }
            Change::Shared { block, offset, bytes } => self
                .in_block(*block, |cta| put(cta.shared.bytes_mut(), *offset, bytes))
                .ok_or_else(|| missing("the shared memory")),
            Change::Local { warp, lane, offset, bytes } => self
                .in_block(warp.block, |cta| {
                    let local = &mut cta.warps.get_mut(warp.warp as usize)?.local;
                    let end = usize::try_from(offset.checked_add(bytes.len() as u64)?).ok()?;
                    if end > local.len() * 4 {
                        return None;
                    }
                    for (byte, at) in bytes.iter().zip(*offset as usize..) {
                        let word = &mut local[at / 4].0[*lane as usize & 31];
                        let mut parts = word.to_le_bytes();
                        parts[at % 4] = *byte;
                        *word = u32::from_le_bytes(parts);
                    }
                    Some(())
                })
                .ok_or_else(|| missing("the local memory")),
            Change::Register { warp, lane, frame, place, bits } => {
                self.set_register(*warp, *lane, *frame, *place, *bits).ok_or_else(|| missing("the register"))
            }
        }
    }

    /// Does something with a resident block.
    fn in_block<T>(&mut self, index: u64, change: impl FnOnce(&mut Cta) -> Option<T>) -> Option<T> {
        let hand = self.worker.hand.iter_mut().flat_map(|cluster| &mut cluster.blocks);
        if let Some(cta) = hand.into_iter().find(|cta| cta.index == index) {
            return change(cta);
        }
        let mut queue = self.worker.grid.waiting();
        let cta =
            queue.clusters_mut().flat_map(|cluster| &mut cluster.blocks).find(|cta| cta.index == index)?;
        change(cta)
    }

    fn set_register(
        &mut self,
        id: WarpId,
        lane: u32,
        frame: usize,
        place: RegisterPlace,
        bits: u128,
    ) -> Option<()> {
        let specials = self.code().warp_specials.len();
        let frame = {
            let look = self.look();
            look.block(id.block)?.warp(id.warp)?.group(lane)?.frames().get(frame)?.id()
        };
        self.in_block(id.block, |cta| {
            let warp = cta.warps.get_mut(id.warp as usize)?;
            let (rows, predicates) = (warp.frame(frame).rows, warp.frame(frame).predicates);
            match place {
                RegisterPlace::Nowhere => None,
                RegisterPlace::Predicate(index) => {
                    let mask = warp.predicates.get_mut((predicates + index) as usize)?;
                    *mask = *mask & !(1 << lane) | u32::from(bits != 0) << lane;
                    Some(())
                }
                RegisterPlace::Rows(slot) if slot.slot.is_frame() => {
                    let words = usize::from(slot.rows);
                    for word in 0..words {
                        // Words of wider registers stand together, lane by lane.
                        let number = lane as usize * words + word;
                        let row = specials + rows as usize + slot.slot.row() as usize + number / 32;
                        warp.rows.get_mut(row)?.0[number % 32] = (bits >> (32 * word)) as u32;
                    }
                    Some(())
                }
                RegisterPlace::Rows(_) => None,
            }
        })
    }
}
