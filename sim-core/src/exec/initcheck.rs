//! `--tool initcheck`: reads of bytes that nothing has written.

use super::access::{At, Direction, each_lane};
use super::fault::Fault;
use super::step::Machine;
use crate::finding::FindingKind;
use crate::observer::{Memory, Observer};

impl<O: Observer> Machine<'_, '_, O> {
    /// Checks what is read and remembers what is written.
    #[cold]
    pub(super) fn initcheck(&mut self, memory: Memory, at: At<'_>, addresses: &[u64; 32]) {
        let bytes = u64::from(at.access.bytes());
        let reads = at.direction != Direction::Store;
        let writes = at.direction != Direction::Load;
        let mut bad: crate::lanes::LaneMask = 0;
        match memory {
            Memory::Global => {
                let table = &self.worker.snapshot.table;
                each_lane(at.lanes, |lane| {
                    let Some(allocation) = table.find(addresses[lane], bytes) else { return };
                    let Some(written) = &allocation.written else { return };
                    let offset = addresses[lane] - allocation.base;
                    if reads && !written.all(offset, bytes) {
                        bad |= 1 << lane;
                    }
                    if writes {
                        written.set(offset, bytes);
                    }
                });
            }
            Memory::Shared => {
                let written = &self.cta.shared_written;
                each_lane(at.lanes, |lane| {
                    if reads && !written.all(addresses[lane], bytes) {
                        bad |= 1 << lane;
                    }
                });
                if writes {
                    each_lane(at.lanes, |lane| written.set(addresses[lane], bytes));
                }
            }
            Memory::Local => {
                let warp = self.warp_mut();
                let end = warp.local_written.len().max(warp.local.len() * 4);
                warp.local_written.resize(end, 0);
                each_lane(at.lanes, |lane| {
                    let range = addresses[lane] as usize..(addresses[lane] + bytes) as usize;
                    for lanes in &mut warp.local_written[range] {
                        if reads && *lanes >> lane & 1 == 0 {
                            bad |= 1 << lane;
                        }
                        if writes {
                            *lanes |= 1 << lane;
                        }
                    }
                });
            }
        }
        if bad != 0 {
            let address = addresses[bad.trailing_zeros() as usize];
            let (text, note) = match memory {
                Memory::Global => {
                    let table = &self.worker.snapshot.table;
                    let place = table.find(address, bytes).map(|allocation| {
                        format!("{} bytes into {}", address - allocation.base, allocation.describe())
                    });
                    (format!("read of {bytes} bytes at {address:#x} that were never written"), place)
                }
                Memory::Shared => (
                    format!("read of {bytes} bytes at shared address {address:#x} that were never written"),
                    None,
                ),
                Memory::Local => (
                    format!("read of {bytes} bytes at local address {address:#x} that were never written"),
                    None,
                ),
            };
            let mut fault = Fault::new(FindingKind::UninitializedRead, bad, text);
            fault.notes.extend(note);
            self.worker.grid.report(self.cta, self.index, at.frame, at.position, fault);
        }
    }

    /// A block of the device heap is new: what it held before does not count.
    pub(super) fn forget(&self, address: u64, bytes: u64) {
        let table = self.worker.grid.memory.snapshot().table;
        if let Some(allocation) = table.find(address, bytes)
            && let Some(written) = &allocation.written
        {
            written.clear(address - allocation.base, bytes);
        }
    }
}
