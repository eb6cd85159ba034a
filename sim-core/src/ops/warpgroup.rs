//! `wgmma` (ISA 9.7.15) and `setmaxnreg` (9.7.19.5).
//!
//! # When a product is made
//! `wgmma.mma_async` is one operation of four warps. On a device it begins when the last of them comes to it, and the others
//! stand still until then: what a warp has written before is seen by all, whether or not a barrier says so. Here each
//! computes its own 16 rows from then on, which is as early as a program can allow: until the operation is waited for
//! neither registers nor shared memory may change. The operation as a whole is complete when all four have issued it;
//! `wgmma.wait_group` waits for that, so that a single warp may tell others that shared memory is free again.

use std::cell::RefCell;

use super::at;
use super::at::{At, Checked, Direction};
use super::flow::{Flow, On};
use crate::code::{
    Access, AccessSpace, Asynchronous, Completion, GroupStep, Groups, RegisterSlot, WarpgroupStep,
};
use crate::event::{self, Memory};
use crate::finding::{Finding, FindingKind};
use crate::machine::Machine;
use crate::machine::fault::{Fault, place};
use crate::machine::warp::{Group, Wait};
use crate::machine::warpgroup::{Came, Issued, WARPS};
use crate::machine::worker::HEAVY;
use crate::observer::Observer;
use crate::tools::Wants;
use semantics::lanes::{FULL, LaneMask, Registers, Slot, WARP_SIZE};
use semantics::matrix::panel::{Accumulators, COLUMNS, Panel};
use semantics::matrix::warpgroup::{CHUNK, Descriptor, Operand, Rows, Shape, Warpgroup};

/// What a descriptor must be.
const ONE_DESCRIPTOR: &str = "all threads of a warpgroup must give the same";

impl<O: Observer> Machine<'_, '_, O> {
    /// An instruction of a warpgroup that a group reaches with these lanes active.
    pub(crate) fn warpgroup_step(
        &mut self,
        registers: &mut Registers,
        group: &mut Group,
        active: LaneMask,
        step: WarpgroupStep,
    ) -> Flow {
        if active != FULL {
            match self.converged(group, active, step.name()) {
                Ok(true) => {}
                Ok(false) => return Flow::Wait(On::Members(self.warp().live())),
                Err(fault) => return Flow::Fault(fault),
            }
        }
        match step {
            WarpgroupStep::Multiply(index) => {
                let code = self.worker.grid.code;
                match self.issue(registers, group, active, &code.warpgroups[index as usize]) {
                    Ok(true) => self.spent(group, HEAVY),
                    Ok(false) => Flow::Wait(On::Warpgroup),
                    Err(fault) => Flow::Fault(fault),
                }
            }
            WarpgroupStep::Fence => {
                self.warp_mut().pending.fences += 1;
                Flow::Next
            }
            WarpgroupStep::Commit => {
                let issued = self.issued();
                self.warp_mut().pending.commit(issued);
                self.group_step(group, active, Groups::Warpgroup, GroupStep::Commit)
            }
            WarpgroupStep::Wait(most) => {
                let done = self.warp().pending.up_to(most);
                if self.cta.warpgroups.get(self.index / WARPS).is_some_and(|team| team.complete() < done) {
                    return Flow::Wait(On::Warpgroup);
                }
                self.warp_mut().pending.finish(most, done);
                self.group_step(group, active, Groups::Warpgroup, GroupStep::Wait(most))
            }
            WarpgroupStep::Registers(count, more) => {
                self.set_registers(group, active, count, more);
                Flow::Next
            }
        }
    }

    /// Operations that the warp has issued.
    pub(super) fn issued(&self) -> u64 {
        self.cta.warpgroups.get(self.index / WARPS).map_or(0, |team| team.issued(self.index % WARPS))
    }

    /// `wgmma.mma_async`; false if the warp has to wait for the others of its warpgroup.
    fn issue(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        active: LaneMask,
        op: &Warpgroup,
    ) -> Checked<bool> {
        let (team, rank) = (self.index / WARPS, self.index % WARPS);
        let first = WARPS * team;
        let whole = self
            .cta
            .warps
            .get(first..first + WARPS)
            .is_some_and(|warps| warps.iter().all(|warp| warp.lanes == FULL));
        if !whole {
            let threads = self.worker.grid.launch.block.count();
            let text = format!("`wgmma.mma_async` in warp {} of a block of {threads} threads", self.index);
            let fault = Fault::new(FindingKind::WarpSyncMismatch, active, text).note(format!(
                "warps {first} to {} make up its warpgroup and must execute it together",
                first + 3
            ));
            return Err(Box::new(fault));
        }
        match self.cta.warpgroups[team].comes(rank) {
            Came::Waits => return Ok(false),
            Came::Last => self.wake_warpgroup(team),
            Came::Woken => {}
        }
        self.use_registers(group, active, op);
        let shape = &op.shape;
        let mut descriptors = [0; 2];
        if let Rows::Shared(a) = shape.a {
            descriptors[0] = self.descriptor(registers, group, active, a, "A");
        }
        descriptors[1] = self.descriptor(registers, group, active, shape.b, "B");
        let touched = self.multiply_rows(registers, op, descriptors, active)?;
        self.tell_of_reads(group, active, &touched);
        let operation = Issued { position: group.position, descriptors };
        let before = self.cta.warpgroups[team].complete();
        let other = self.cta.warpgroups[team].issue(rank, operation);
        if other != operation {
            self.differs(group, active, operation, other);
        }
        if self.cta.warpgroups[team].complete() != before {
            self.wake_warpgroup(team);
        }
        Ok(true)
    }

    /// Warps that wait for the others of their warpgroup look again.
    fn wake_warpgroup(&mut self, team: usize) {
        for warp in self.cta.warps.iter_mut().skip(WARPS * team).take(WARPS) {
            let waits = |group: &&mut Group| group.wait == Wait::Warpgroup;
            warp.groups.iter_mut().filter(waits).for_each(|group| group.wait = Wait::Ready);
        }
    }

    /// Two warps of a warpgroup issue different operations.
    #[cold]
    fn differs(&mut self, group: &Group, active: LaneMask, operation: Issued, other: Issued) {
        let apart = operation.position != other.position;
        let text = if apart {
            "warps of one warpgroup execute different `wgmma.mma_async`".into()
        } else {
            let at = usize::from(operation.descriptors[0] == other.descriptors[0]);
            let (name, [one, two]) = (["A", "B"][at], [operation, other].map(|o| o.descriptors[at]));
            format!(
                "the descriptor of {name} is {one:#018x}, and {two:#018x} in another warp of the warpgroup"
            )
        };
        let mut fault = Fault::new(FindingKind::UndefinedBehavior, active, text);
        if !apart {
            fault = fault.note(ONE_DESCRIPTOR);
        }
        let grid = self.worker.grid;
        let finding = grid.finding(self.cta, self.index, group.frame, group.position, fault);
        let other_place = apart.then(|| place(grid.code, None, other.position));
        self.found(Finding { other_place, ..finding });
    }

    /// A descriptor, which all lanes must have alike; that of the first one.
    fn descriptor(
        &mut self,
        registers: &Registers,
        group: &Group,
        active: LaneMask,
        operand: Operand,
        name: &str,
    ) -> u64 {
        let lanes = registers.read::<u64>(operand.descriptor);
        if let Some(other) = lanes.iter().find(|&&lane| lane != lanes[0]) {
            let text = format!(
                "the descriptor of {name} is {:#018x} in lane 0 and {other:#018x} in another",
                lanes[0]
            );
            let fault = Fault::new(FindingKind::UndefinedBehavior, active, text).note(ONE_DESCRIPTOR);
            self.note(group, fault);
        }
        lanes[0]
    }

    /// Tells tools of what an operation reads of shared memory: the warp's rows of A and, once for the four warps, B.
    fn tell_of_reads(&mut self, group: &Group, active: LaneMask, chunks: &[u32]) {
        if chunks.is_empty() {
            return;
        }
        let value = RegisterSlot { slot: Slot::frame(0), rows: 4 };
        let access =
            Access { asynchronous: Asynchronous::Issued, ..Access::weak(AccessSpace::Shared, 16, value) };
        let whole = at(&access, Direction::Load, group, active);
        self.tell_of_issue(whole, Completion::Groups(Groups::Warpgroup), &[0; 32]);
        for chunks in chunks.chunks(WARP_SIZE) {
            let addresses = std::array::from_fn(|lane| chunks.get(lane).map_or(0, |&chunk| chunk.into()));
            let lanes = FULL >> (WARP_SIZE - chunks.len());
            self.observe(Memory::Shared, At { lanes, ..whole }, &addresses, event::Shape::Any);
        }
    }

    /// The warp's 16 rows of the product. Gives the chunks of shared memory that were read, if somebody wants to hear.
    fn multiply_rows(
        &mut self,
        registers: &mut Registers,
        op: &Warpgroup,
        descriptors: [u64; 2],
        active: LaneMask,
    ) -> Checked<Vec<u32>> {
        let heard = self.wants(Wants::ACCESSES);
        let code = self.worker.grid.code;
        let shape = &op.shape;
        let panel = self.worker.panel.get_or_insert_with(Panel::new);
        let fault = |name: &str, at: usize, address: u32| {
            let text = format!("`wgmma.mma_async` reads shared memory at {address:#x}, outside the block's");
            let fault = Fault::new(FindingKind::OutOfBounds, active, text)
                .note(format!("the descriptor of {name} is {:#018x}", descriptors[at]));
            Box::new(fault)
        };
        let touched = heard.then(RefCell::default);
        let first = code.shared.first_used(self.worker.grid.launch.shared_bytes);
        let mut shared = Shared { bytes: self.cta.shared.bytes(), first, touched: touched.as_ref() };
        match shape.a {
            Rows::Registers(list) => {
                for (word, slot) in panel.a.iter_mut().zip(&code.slots[list.start as usize..]) {
                    *word = registers.read(slot.slot);
                }
            }
            Rows::Shared(operand) => {
                let row = 16 * (self.index % WARPS) as u32;
                let descriptor = Descriptor::new(descriptors[0]);
                shared.rows(descriptor, operand.across, row, panel).map_err(|at| fault("A", 0, at))?;
            }
        }
        if let Some(metadata) = shape.metadata {
            panel.metadata = registers.read(metadata);
        }
        // SAFETY: decoding took the functions for a SIMD level that this CPU was found to have.
        unsafe { op.fns.take_rows(panel, &shape.product) };
        let kept = registers.predicate(shape.scale_d) & 1 != 0;
        let slots = &code.slots[shape.d.start as usize..][..shape.d.len as usize];
        let per_block = slots.len() * COLUMNS / usize::from(shape.n).max(1);
        let descriptor = Descriptor::new(descriptors[1]);
        if !self.index.is_multiple_of(WARPS) {
            shared.touched = None;
        }
        for (block, slots) in slots.chunks_exact(per_block.max(1)).enumerate() {
            shared.columns(descriptor, shape, block as u32, panel).map_err(|at| fault("B", 1, at))?;
            let accumulators = Accumulators { from: kept.then_some(slots), to: slots };
            // SAFETY: as above.
            unsafe { op.fns.multiply(panel, &shape.product, registers, accumulators) };
        }
        Ok(touched.map_or_else(Vec::new, RefCell::into_inner))
    }

    /// `setmaxnreg`: wrong use is a finding; registers are not what limits a simulator.
    fn set_registers(&mut self, group: &Group, active: LaneMask, count: u32, more: bool) {
        let code = self.worker.grid.code;
        let declared = || code.module.functions[code.functions[0].id.index()].tuning.max_registers;
        let before = self.warp().registers.or_else(declared);
        if let Some(before) = before
            && (more && count < before || !more && count > before)
        {
            let (what, how) = if more { ("inc", "more") } else { ("dec", "fewer") };
            let text = format!(
                "`setmaxnreg.{what}` from {before} registers a thread to {count}, which is not {how}"
            );
            self.note(group, Fault::new(FindingKind::UndefinedBehavior, active, text));
        }
        self.warp_mut().registers = Some(count);
    }
}

/// What `wgmma` reads of a block's shared memory, through the asynchronous proxy (ISA 9.7.15.4).
struct Shared<'a> {
    bytes: &'a [u8],
    /// The first byte that a program may use.
    first: u32,
    /// The chunks that were read, if somebody wants to know.
    touched: Option<&'a RefCell<Vec<u32>>>,
}

impl Shared<'_> {
    /// The words of a chunk; the address where there is none.
    fn chunk(&self, address: u32) -> Result<[u32; 4], u32> {
        let bytes: Option<&[u8; CHUNK as usize]> =
            self.bytes.get(address as usize..).and_then(|rest| rest.first_chunk());
        let bytes = bytes.filter(|_| address >= self.first).ok_or(address)?;
        if let Some(touched) = self.touched {
            touched.borrow_mut().push(address);
        }
        let (words, _) = bytes.as_chunks::<4>();
        Ok([words[0], words[1], words[2], words[3]].map(u32::from_le_bytes))
    }

    /// Rows of A from one on, as registers would hold them.
    fn rows(&self, descriptor: Descriptor, across: bool, row: u32, panel: &mut Panel) -> Result<(), u32> {
        for group in 0..16 {
            if across {
                // Eight rows of an element of K.
                for half in 0..2 {
                    let chunk = self.chunk(descriptor.across(row / 8 + half, group))?;
                    for (pair, word) in chunk.into_iter().enumerate() {
                        for (odd, bits) in [word & 0xffff, word >> 16].into_iter().enumerate() {
                            let (k, row) = (group as usize, 2 * pair + odd);
                            let to = &mut panel.a[half as usize + k / 8 * 2][4 * row + k % 8 / 2];
                            *to = if k % 2 == 0 { bits } else { *to | bits << 16 };
                        }
                    }
                }
            } else {
                for half in 0..2 {
                    let chunk = self.chunk(descriptor.along(row + group, half))?;
                    let register = &mut panel.a[(group / 8 + 2 * half) as usize];
                    register[group as usize % 8 * 4..][..4].copy_from_slice(&chunk);
                }
            }
        }
        Ok(())
    }

    /// Eight columns of B.
    fn columns(
        &self,
        descriptor: Descriptor,
        shape: &Shape,
        block: u32,
        panel: &mut Panel,
    ) -> Result<(), u32> {
        let words = shape.product.words_of_b() as u32;
        if shape.b.across {
            for k in 0..2 * words {
                let chunk = self.chunk(descriptor.across(block, k))?;
                let (register, at) = (k / 8, k / 2 % 4);
                let to = &mut panel.fragment[register as usize];
                for (pair, word) in chunk.into_iter().enumerate() {
                    for (odd, bits) in [word & 0xffff, word >> 16].into_iter().enumerate() {
                        let to = &mut to[4 * (2 * pair + odd) + at as usize];
                        *to = if k % 2 == 0 { bits } else { *to | bits << 16 };
                    }
                }
            }
        } else {
            for column in 0..COLUMNS as u32 {
                for chunk in 0..words / 4 {
                    let row = block * COLUMNS as u32 + column;
                    let register = &mut panel.fragment[chunk as usize];
                    register[4 * column as usize..][..4]
                        .copy_from_slice(&self.chunk(descriptor.along(row, chunk))?);
                }
            }
        }
        Ok(())
    }
}
