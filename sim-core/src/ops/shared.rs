//! Shared memory: of the block itself, and of the other blocks of its cluster.
//!
//! Every block of a cluster has a part of the shared window, by rank ([`window::SHARED_RANK_SHIFT`]). `.shared` names the
//! block's own memory only; `.shared::cluster` and generic addresses reach all of them.

use super::access::{extent, transfer};
use super::at::{Addresses, At, Checked, Direction};
use super::masks::each_lane;
use super::view::ByteView;
use crate::code::AccessSpace;
use crate::event::{Memory, Shape};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::observer::Observer;
use semantics::lanes::{LaneMask, Registers};
use semantics::window;

/// Bytes of the part of a block.
const PART: u64 = 1 << window::SHARED_RANK_SHIFT;

impl<O: Observer> Machine<'_, '_, O> {
    pub(crate) fn shared(
        &mut self,
        registers: &mut Registers,
        at: At<'_>,
        addresses: &mut Addresses,
    ) -> Checked {
        let mut rest = at.lanes;
        while rest != 0 {
            let whole = At { lanes: rest, ..at };
            let now = match self.locate_shared(whole, addresses) {
                Ok(now) => now,
                Err(fault) => {
                    let access = self.what_is_read(whole, fault, addresses, "shared address ")?;
                    return self.shared(registers, At { access: &access, ..whole }, addresses);
                }
            };
            if self.is_gone(now, addresses) {
                rest &= !now.lanes;
                continue;
            }
            self.observe(Memory::Shared, now, addresses, Shape::Any);
            let grid = self.worker.grid;
            let mut view = ByteView { bytes: self.shared_bytes(now.peer) };
            transfer(&mut view, registers, &grid.code.slots, now, addresses);
            rest &= !now.lanes;
        }
        Ok(())
    }

    /// Shared memory of a peer by rank, or of the block itself.
    pub(crate) fn shared_bytes(&mut self, peer: Option<usize>) -> &mut [u8] {
        match peer.and_then(|rank| self.peers.get_mut(rank)) {
            Some(peer) => peer.shared.bytes_mut(),
            None => self.cta.shared.bytes_mut(),
        }
    }

    /// Finds the lanes that access the same block's shared memory as the first; their addresses become offsets in it.
    #[inline(always)]
    pub(crate) fn locate_shared<'a>(&self, at: At<'a>, addresses: &mut Addresses) -> Checked<At<'a>> {
        // An address without a rank is the block's own, or that of the first block.
        let own = at.access.space == AccessSpace::Shared
            || !self.worker.grid.code.clustered
            || self.peers.own_rank() == 0;
        if own && self.is_inside_own(at, addresses, 0) {
            return Ok(at);
        }
        let part = self.own_part();
        if part != 0 && self.is_inside_own(at, addresses, part) {
            each_lane(at.lanes, |lane| addresses[lane] -= part);
            return Ok(at);
        }
        self.locate_shared_slowly(at, addresses)
    }

    /// Where the block's own part of the shared window begins: the addresses of its variables lie there in code that tells
    /// blocks apart.
    #[inline(always)]
    pub(super) fn own_part(&self) -> u64 {
        (self.peers.own_rank() as u64) << window::SHARED_RANK_SHIFT
    }

    /// Whether all lanes are inside the block's own memory, if that begins at `part`.
    #[inline(always)]
    fn is_inside_own(&self, at: At<'_>, addresses: &Addresses, part: u64) -> bool {
        let bytes = u64::from(at.access.bytes());
        let (low, high, bits) = extent(addresses, at.lanes);
        let start = part + u64::from(window::SHARED_START);
        let end = part + self.cta.shared.len() as u64;
        low >= start && high.saturating_add(bytes) <= end && bits & (bytes.next_power_of_two() - 1) == 0
    }

    /// The rank whose part an address lies in, if it is a peer's.
    fn peer_of(&self, space: AccessSpace, address: u64) -> Option<usize> {
        let rank = (address >> window::SHARED_RANK_SHIFT) as usize;
        let own = rank == self.peers.own_rank();
        // Where no rank can be told, the addresses of variables have none.
        let any = space != AccessSpace::Shared && self.worker.grid.code.clustered;
        (!own && (any || rank != 0) && rank <= self.peers.count()).then_some(rank)
    }

    /// Whose shared memory an address lies in, a peer's by rank or the block's own, and the offset in it, if that may be
    /// used.
    pub(crate) fn offset_in_shared(&self, space: AccessSpace, address: u64) -> Option<(Option<usize>, u64)> {
        let address = match (space, window::of(address)) {
            (AccessSpace::Generic, window::Window::Shared(offset)) => offset,
            (AccessSpace::Generic, _) => return None,
            _ => address,
        };
        let peer = self.peer_of(space, address);
        if let Some(rank) = peer
            && (space == AccessSpace::Shared || self.peers.get(rank).is_none_or(|peer| peer.is_finished()))
        {
            return None;
        }
        let start = (peer.unwrap_or(self.peers.own_rank()) as u64) << window::SHARED_RANK_SHIFT;
        let offset = if address.wrapping_sub(start) < PART { address - start } else { address };
        (offset >= u64::from(window::SHARED_START)).then_some((peer, offset))
    }

    #[cold]
    #[inline(never)]
    fn locate_shared_slowly<'a>(&self, at: At<'a>, addresses: &mut Addresses) -> Checked<At<'a>> {
        let space = at.access.space;
        let peer = |address: u64| self.peer_of(space, address);
        let first = peer(addresses[at.lanes.trailing_zeros() as usize & 31]);
        let mut lanes = 0;
        each_lane(at.lanes, |lane| lanes |= u32::from(peer(addresses[lane]) == first) << lane);
        let now = At { lanes, peer: first, ..at };
        if let (Some(rank), AccessSpace::Shared) = (first, space) {
            let what = self.shared_access(now, addresses[lanes.trailing_zeros() as usize & 31]);
            let text = format!("{what}, which is that of the block of rank {rank} of the cluster");
            let fault = Fault::new(FindingKind::IllegalInstruction, lanes, text);
            return Err(Box::new(
                fault.note("`.shared` names the block's own memory; `.shared::cluster` reaches others'"),
            ));
        }
        self.locate_block(now, first, addresses)?;
        Ok(now)
    }

    /// Makes addresses offsets in the shared memory of a peer, or of the block itself, and checks them.
    fn locate_block(&self, at: At<'_>, peer: Option<usize>, addresses: &mut Addresses) -> Checked {
        let bytes = u64::from(at.access.bytes());
        let rank = peer.unwrap_or(self.peers.own_rank()) as u64;
        let start = rank << window::SHARED_RANK_SHIFT;
        let block = peer.and_then(|rank| self.peers.get(rank)).unwrap_or(self.cta);
        let size = block.shared.len() as u64;
        let grid = self.worker.grid;
        let first = u64::from(grid.code.shared.first_used(grid.launch.shared_bytes));
        let mut bad: LaneMask = 0;
        let given = *addresses;
        each_lane(at.lanes, |lane| {
            if addresses[lane].wrapping_sub(start) < PART {
                addresses[lane] -= start;
            }
            let address = addresses[lane];
            let fine = address >= first && address.checked_add(bytes).is_some_and(|end| end <= size);
            bad |= u32::from(!fine) << lane;
        });
        if bad != 0 {
            return Err(Box::new(self.shared_fault(At { lanes: bad, peer, ..at }, addresses, &given)));
        }
        self.aligned(at, addresses, "shared address ")?;
        if peer.is_some()
            && block.is_finished()
            && matches!(at.direction, Direction::Load | Direction::Atomic)
        {
            let address = given[at.lanes.trailing_zeros() as usize & 31];
            return Err(Box::new(self.gone(at, rank, address, FindingKind::ClusterAddress)));
        }
        Ok(())
    }

    fn gone(&self, at: At<'_>, rank: u64, address: u64, kind: FindingKind) -> Fault {
        let what = self.shared_access(at, address);
        let text = format!("{what}: the block of rank {rank} of the cluster has exited");
        let note =
            "shared memory lasts as long as its block: a barrier of the cluster before the end keeps it";
        Fault::new(kind, at.lanes, text).note(note)
    }

    /// Whether a block that lanes write to has exited, which is a finding. On a device that is a fault once the block is gone;
    /// programs whose blocks end nearly together get away with it, so here they go on.
    pub(crate) fn is_gone(&mut self, at: At<'_>, offsets: &Addresses) -> bool {
        let Some(rank) = at.peer.filter(|&rank| self.peers.get(rank).is_some_and(|peer| peer.is_finished()))
        else {
            return false;
        };
        let start = (rank as u64) << window::SHARED_RANK_SHIFT;
        let address = start + offsets[at.lanes.trailing_zeros() as usize & 31];
        let fault = self.gone(at, rank as u64, address, FindingKind::UndefinedBehavior);
        self.note(&at.group(), fault);
        true
    }

    fn shared_access(&self, at: At<'_>, address: u64) -> String {
        let bytes = at.access.bytes();
        format!("{} of {bytes} bytes at shared address {address:#x}", at.direction.verb())
    }

    fn shared_fault(&self, at: At<'_>, offsets: &Addresses, addresses: &Addresses) -> Fault {
        let bytes = u64::from(at.access.bytes());
        let lane = at.lanes.trailing_zeros() as usize & 31;
        let (address, offset) = (addresses[lane], offsets[lane]);
        let what = self.shared_access(at, address);
        let size = self.cta.shared.len() as u64;
        let start = u64::from(window::SHARED_START);
        let used = size - start;
        let whose = match at.peer {
            Some(rank) => format!("the shared memory of the block of rank {rank}, which is {used} bytes"),
            None => format!("the block's shared memory of {used} bytes"),
        };
        let rank = offset >> window::SHARED_RANK_SHIFT;
        let blocks = self.peers.count() as u64 + 1;
        let clustered = self.worker.grid.is_cluster_launch();
        if rank >= blocks && rank < 256 && clustered {
            let text = format!("{what}: rank {rank} of a cluster of {blocks} blocks");
            return Fault::new(FindingKind::ClusterAddress, at.lanes, text);
        }
        let text = if offset < start {
            format!("{what}, {} bytes before {whose}", start - offset)
        } else if offset < size {
            format!(
                "{what}: only the first {} bytes lie inside {whose}",
                size.saturating_sub(offset).min(bytes)
            )
        } else {
            format!("{what}, {} bytes after the end of {whose}", offset - size)
        };
        let statics = u64::from(self.worker.grid.code.shared.static_bytes);
        let dynamic = self.worker.grid.launch.shared_bytes;
        let note = format!("{statics} bytes are static shared memory, {dynamic} dynamic");
        // A device takes an address of the part of another block for a wrong operand where there is no cluster.
        let kind =
            if rank > 0 && !clustered { FindingKind::IllegalInstruction } else { FindingKind::OutOfBounds };
        Fault::new(kind, at.lanes, text).note(note)
    }
}
