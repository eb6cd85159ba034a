//! What a debugger sees of a launch that stands still: resident blocks, their warps, the groups that lanes run in, call
//! frames, registers and memory.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::MutexGuard;

use crate::code::{Code, RegisterPlace};
use crate::finding::CodePlace;
use crate::launch::Dim3;
use crate::machine::cta::Cta;
use crate::machine::fault::place;
use crate::machine::frame::{FrameId, ROOT};
use crate::machine::grid::{Grid, Queue};
use crate::machine::warp::{Group, Wait, Warp};
use crate::machine::worker::Worker;
use crate::observer::Tools;
use ptx_frontend::{FuncId, RegId};
use semantics::lanes::{LaneMask, Row, Slot};

/// The clusters that gave way, as long as somebody looks at them: one may look while one looks.
pub(super) type Held<'g> = RefCell<Weak<MutexGuard<'g, Queue>>>;

/// A launch that stands still.
pub struct Look<'a> {
    grid: &'a Grid<'a>,
    hand: &'a [Box<Cta>],
    queue: Rc<MutexGuard<'a, Queue>>,
}

impl<'a> Look<'a> {
    pub(super) fn new<'g>(worker: &'a Worker<'g, Tools>, held: &Held<'g>) -> Self {
        let hand = worker.hand.as_ref().map_or(&[][..], |cluster| &cluster.blocks[..]);
        let again = held.borrow().upgrade();
        let queue = again.unwrap_or_else(|| {
            let queue = Rc::new(worker.grid.waiting());
            *held.borrow_mut() = Rc::downgrade(&queue);
            queue
        });
        Look { grid: worker.grid, hand, queue }
    }

    /// The resident blocks: those of the cluster that runs, then those that gave way. Blocks that have not begun, or are over,
    /// are not there.
    pub fn blocks(&self) -> impl Iterator<Item = BlockView<'_>> {
        let waiting = self.queue.clusters().flat_map(|cluster| &cluster.blocks);
        self.hand.iter().chain(waiting).map(|cta| BlockView { grid: self.grid, cta })
    }

    /// The resident block of a linear index.
    pub fn block(&self, index: u64) -> Option<BlockView<'_>> {
        self.blocks().find(|block| block.index() == index)
    }

    /// The allocations of global memory, in order of their addresses.
    pub fn allocations(&self) -> Vec<AllocationView> {
        let table = self.grid.memory.snapshot().table;
        let live = table.list.iter().filter(|allocation| allocation.state == crate::memory::State::Live);
        live.map(|allocation| AllocationView {
            address: allocation.base,
            bytes: allocation.size,
            label: allocation.label.to_string(),
            description: allocation.describe(),
        })
        .collect()
    }
}

/// An allocation of global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationView {
    /// Its first address.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its name.
    pub label: String,
    /// `buffer "x" (4096 bytes at 0x7f…)`
    pub description: String,
}

/// A resident block.
#[derive(Clone, Copy)]
pub struct BlockView<'a> {
    grid: &'a Grid<'a>,
    cta: &'a Cta,
}

/// A barrier of a block at which something has arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierView {
    /// Its number.
    pub barrier: u8,
    /// Lanes that have arrived, by warp.
    pub arrived: Vec<LaneMask>,
    /// Threads that it waits for; all that have not exited if no number was given.
    pub expected: Option<u32>,
    /// Threads that count as arrived.
    pub count: u32,
}

impl<'a> BlockView<'a> {
    /// Its linear index in the grid.
    pub fn index(&self) -> u64 {
        self.cta.index
    }

    /// Its position in the grid.
    pub fn position(&self) -> Dim3 {
        self.cta.position
    }

    /// Its warps, in order.
    pub fn warps(&self) -> impl Iterator<Item = WarpView<'a>> + use<'a> {
        let (grid, cta) = (self.grid, self.cta);
        cta.warps.iter().map(move |warp| WarpView { grid, warp })
    }

    /// A warp by its index in the block.
    pub fn warp(&self, index: u32) -> Option<WarpView<'a>> {
        let warp = self.cta.warps.get(index as usize)?;
        Some(WarpView { grid: self.grid, warp })
    }

    /// Its shared memory, from the start of the window.
    pub fn shared(&self) -> &'a [u8] {
        self.cta.shared.bytes()
    }

    /// What its threads printed and is not written yet.
    pub fn output(&self) -> &'a [u8] {
        &self.cta.output
    }

    /// The barriers at which something has arrived since they last completed.
    pub fn barriers(&self) -> Vec<BarrierView> {
        let barriers = self.cta.barriers.iter().zip(0..).filter(|(barrier, _)| barrier.active);
        barriers
            .map(|(barrier, number)| BarrierView {
                barrier: number,
                arrived: barrier.arrived.clone(),
                expected: barrier.expected,
                count: barrier.count(&self.cta.warps),
            })
            .collect()
    }
}

/// What a group of lanes waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    /// Nothing: it can run, or runs.
    Nothing,
    /// A barrier of its block, by number.
    Barrier(u8),
    /// Lanes of a member mask, at a warp-level operation.
    Lanes(LaneMask),
    /// The barrier of its cluster.
    Cluster,
    /// The other warps of its warpgroup.
    Warpgroup,
}

/// A warp.
#[derive(Clone, Copy)]
pub struct WarpView<'a> {
    grid: &'a Grid<'a>,
    warp: &'a Warp,
}

impl<'a> WarpView<'a> {
    /// Its index in the block.
    pub fn index(&self) -> u32 {
        self.warp.index
    }

    /// Lanes that exist.
    pub fn lanes(&self) -> LaneMask {
        self.warp.lanes
    }

    /// Lanes that have exited by themselves.
    pub fn exited(&self) -> LaneMask {
        self.warp.left()
    }

    /// Lanes that a fault ended.
    pub fn faulted(&self) -> LaneMask {
        self.warp.faulted
    }

    /// The groups that its lanes run in, in order of their lowest lanes.
    pub fn groups(&self) -> Vec<GroupView<'a>> {
        let mut groups: Vec<_> = self.warp.groups.iter().collect();
        groups.sort_by_key(|group| group.lanes.trailing_zeros());
        groups.into_iter().map(|group| GroupView { warp: *self, group }).collect()
    }

    /// The group that a lane runs in.
    pub fn group(&self, lane: u32) -> Option<GroupView<'a>> {
        let group = self.warp.groups.iter().find(|group| group.lanes >> (lane & 31) & 1 != 0)?;
        Some(GroupView { warp: *self, group })
    }

    /// Bytes of a lane's local memory, by their offset into the window; `None` beyond what it has.
    pub fn local(&self, lane: u32, offset: u64, bytes: &mut [u8]) -> Option<()> {
        let lane = lane as usize & 31;
        for (byte, at) in bytes.iter_mut().zip(offset..) {
            let row = self.warp.local.get(usize::try_from(at / 4).ok()?)?;
            *byte = row.0[lane].to_le_bytes()[at as usize % 4];
        }
        Some(())
    }

    fn word(&self, frame: FrameId, slot: Slot, number: usize) -> Option<u32> {
        let row = slot.row() as usize + number / 32;
        let specials = self.grid.code.warp_specials.len();
        let rows: &[Row] = if slot.is_constant() { &self.grid.constants } else { &self.warp.rows };
        let first = match slot.is_constant() || slot.is_warp() {
            true => 0,
            false => specials + self.warp.frame(frame).rows as usize,
        };
        rows.get(first + row).map(|row| row.0[number % 32])
    }
}

/// Lanes of a warp that are at one place.
#[derive(Clone, Copy)]
pub struct GroupView<'a> {
    warp: WarpView<'a>,
    group: &'a Group,
}

impl<'a> GroupView<'a> {
    /// Which.
    pub fn lanes(&self) -> LaneMask {
        self.group.lanes
    }

    /// Position of the instruction that they execute next, or wait at.
    pub fn position(&self) -> u32 {
        Warp::place(self.group)
    }

    /// What they wait for.
    pub fn waits_for(&self) -> WaitsFor {
        match self.group.wait {
            Wait::Ready | Wait::Running => WaitsFor::Nothing,
            Wait::Barrier(number) => WaitsFor::Barrier(number),
            Wait::Members(lanes) => WaitsFor::Lanes(lanes),
            Wait::Cluster => WaitsFor::Cluster,
            Wait::Warpgroup => WaitsFor::Warpgroup,
        }
    }

    /// Their call frames, the innermost first.
    pub fn frames(&self) -> Vec<FrameView<'a>> {
        let (mut id, mut position) = (self.group.frame, self.position());
        let mut frames = Vec::new();
        loop {
            frames.push(FrameView { warp: self.warp, id, position });
            if id == ROOT {
                return frames;
            }
            let frame = self.warp.warp.frame(id);
            (id, position) = (frame.parent, frame.return_to.saturating_sub(1));
        }
    }

    /// The innermost of them.
    pub fn frame(&self) -> FrameView<'a> {
        FrameView { warp: self.warp, id: self.group.frame, position: self.position() }
    }

    /// How many frames there are.
    pub fn depth(&self) -> u32 {
        self.warp.warp.frame(self.group.frame).depth + 1
    }

    /// Where they are, with their callers.
    pub fn place(&self) -> CodePlace {
        place(self.warp.grid.code, Some((self.warp.warp, self.group.frame)), self.position())
    }
}

/// A call frame of a group.
#[derive(Clone, Copy)]
pub struct FrameView<'a> {
    warp: WarpView<'a>,
    id: FrameId,
    position: u32,
}

impl FrameView<'_> {
    /// Position of the instruction that is executed next in it, or of the call that is under way.
    pub fn position(&self) -> u32 {
        self.position
    }

    pub(super) fn id(&self) -> FrameId {
        self.id
    }

    /// Index of its function in [`Code::functions`].
    pub fn index(&self) -> usize {
        self.warp.warp.frame(self.id).function as usize
    }

    /// Its function.
    pub fn function(&self) -> FuncId {
        self.code().functions[self.index()].id
    }

    /// Where the frame begins in local memory: variables of its function lie from there on.
    pub fn local_start(&self) -> u32 {
        self.warp.warp.frame(self.id).local_start
    }

    fn code(&self) -> &Code {
        self.warp.grid.code
    }

    /// What a register holds in a lane: of a predicate 0 or 1. `None` if nothing reads or writes it, or the code was decoded
    /// without [`DeviceConfig::inspectable`](crate::DeviceConfig).
    pub fn register(&self, register: RegId, lane: u32) -> Option<u128> {
        let place = self.code().functions[self.index()].registers.get(register.index())?;
        self.at(*place, lane)
    }

    /// What a place of a register of its function holds in a lane.
    pub fn at(&self, place: RegisterPlace, lane: u32) -> Option<u128> {
        let lane = lane & 31;
        match place {
            RegisterPlace::Nowhere => None,
            RegisterPlace::Predicate(index) => {
                let first = self.warp.warp.frame(self.id).predicates as usize;
                let mask = self.warp.warp.predicates.get(first + index as usize)?;
                Some(u128::from(mask >> lane & 1))
            }
            RegisterPlace::Rows(slot) => {
                let (rows, lane) = (usize::from(slot.rows), lane as usize);
                // Words of wider registers stand together, lane by lane.
                let words =
                    (0..rows).rev().map(|word| self.warp.word(self.id, slot.slot, lane * rows + word));
                words.into_iter().try_fold(0, |value, word| Some(value << 32 | u128::from(word?)))
            }
        }
    }
}
