//! `--tool initcheck`: reads of bytes that nothing has written.

use super::at::{At, Direction};
use super::masks::each_lane;
use crate::event::{Memory, Shape};
use crate::finding::FindingKind;
use crate::lanes::LaneMask;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::memory::Written;
use crate::observer::Observer;

/// The ranges that the lanes access together, if their addresses are known to lie so: start, bytes.
fn ranges(addresses: &[u64; 32], shape: Shape, lanes: LaneMask, bytes: u64) -> Option<[(u64, u64); 2]> {
    let half = |first: usize, unit: bool| (addresses[first], if unit { 16 * bytes } else { bytes });
    match shape {
        Shape::Halves(a, b) => Some([half(0, a), half(16, b)]),
        Shape::Same => Some([(addresses[lanes.trailing_zeros() as usize & 31], bytes); 2]),
        Shape::Unit | Shape::Any => None,
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    /// Checks what is read and remembers what is written.
    pub(crate) fn initcheck(&mut self, memory: Memory, at: At<'_>, addresses: &[u64; 32], shape: Shape) {
        let bytes = u64::from(at.access.bytes());
        let reads = at.direction != Direction::Store;
        let writes = at.direction != Direction::Load;
        // Whole ranges, if nothing is wrong with them.
        let shared = at
            .peer
            .and_then(|rank| self.peers.get(rank))
            .map_or(&self.cta.shared_written, |peer| &peer.shared_written);
        let range = |written: &Written, at: u64, bytes: u64| {
            let fine = !reads || written.all(at, bytes);
            if fine && writes {
                written.set(at, bytes);
            }
            fine
        };
        if let Some(ranges) = ranges(addresses, shape, at.lanes, bytes) {
            let table = &self.worker.snapshot.table;
            let fine = ranges.iter().all(|&(start, bytes)| match memory {
                Memory::Global => table.find(start, bytes).is_some_and(|allocation| {
                    let written = allocation.written.as_ref();
                    written.is_none_or(|written| range(written, start - allocation.base, bytes))
                }),
                Memory::Shared => range(shared, start, bytes),
                Memory::Local => false,
            });
            if fine {
                return;
            }
        }
        let mut bad: LaneMask = 0;
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
                let written = shared;
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
    pub(crate) fn forget(&self, address: u64, bytes: u64) {
        let table = self.worker.grid.memory.snapshot().table;
        if let Some(allocation) = table.find(address, bytes)
            && let Some(written) = &allocation.written
        {
            written.clear(address - allocation.base, bytes);
        }
    }
}
