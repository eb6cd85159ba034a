//! Matrix instructions of a warp: all its lanes together (manual 9.7.14).

mod memory;

use super::at::Checked;
use crate::code::Matrix;
use crate::code::{RegisterSlot, SlotList, lanes_text};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::machine::frame::FrameId;
use crate::machine::warp::{Group, Wait};
use crate::observer::Observer;
use semantics::lanes::{FULL, LaneMask, Registers};
use semantics::matrix::panel::{Accumulators, Fragments, Panel};
use semantics::matrix::tile::{Tile, Words};
use semantics::matrix::{Multiply, Operand, Quick, transpose};

/// What memory operations need to know of the instruction that runs.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    position: u32,
    frame: FrameId,
}

impl<O: Observer> Machine<'_, '_, O> {
    /// A matrix instruction that a group reaches with these lanes active; false if it has to wait for
    /// other lanes of the warp.
    pub(crate) fn matrix(
        &mut self,
        registers: &mut Registers,
        group: &Group,
        active: LaneMask,
        index: u32,
    ) -> Checked<bool> {
        let code = self.worker.grid.code;
        let matrix = &code.matrices[index as usize];
        if active != FULL && !self.converged(group, active, matrix.name())? {
            return Ok(false);
        }
        let place = Place { position: group.position, frame: group.frame };
        match matrix {
            Matrix::Multiply(op) => self.multiply(registers, op),
            Matrix::Load(access) => self.load_fragment(registers, access, place)?,
            Matrix::Store(access) => self.store_fragment(registers, access, place)?,
            Matrix::LoadRows(access) => self.load_rows(registers, access, place)?,
            Matrix::StoreRows(access) => self.store_rows(registers, access, place)?,
            Matrix::Transpose(to, from) => {
                if to.rows != 0 {
                    registers.write(to.slot, FULL, &transpose(&registers.read(*from)));
                }
            }
        }
        Ok(true)
    }

    /// Whether an instruction that not all 32 lanes execute may run: true if only lanes that ended by a
    /// fault are missing, false if others are still to come.
    #[cold]
    #[inline(never)]
    pub(crate) fn converged(&self, group: &Group, active: LaneMask, name: &str) -> Checked<bool> {
        let wrong = |text: String| Err(Box::new(Fault::new(FindingKind::WarpSyncMismatch, active, text)));
        let skipped = group.lanes & !active;
        if skipped != 0 {
            let lanes = lanes_text(skipped);
            return wrong(format!("lanes {lanes} skip {name}, which all lanes of the warp must execute"));
        }
        let warp = self.warp();
        if warp.live() & !active != 0 {
            return Ok(false);
        }
        let absent = !warp.lanes;
        if absent != 0 {
            let threads = warp.lanes.count_ones();
            return wrong(format!("{name} in a warp of {threads} threads: all 32 must execute it"));
        }
        let exited = warp.exited & !warp.faulted;
        if exited != 0 {
            let lanes = lanes_text(exited);
            return wrong(format!("lanes {lanes} have exited: {name} needs all lanes of the warp"));
        }
        Ok(true)
    }

    /// If the lanes of the warp have all come to the matrix instruction at which group `at` waits, makes
    /// one group of them.
    pub(crate) fn gather(&mut self, at: usize) -> bool {
        let warp = self.warp_mut();
        let Group { position, frame, .. } = warp.groups[at];
        let here = |group: &Group| {
            matches!(group.wait, Wait::Members(_)) && group.position == position && group.frame == frame
        };
        let come = warp.groups.iter().filter(|group| here(group)).fold(0, |lanes, group| lanes | group.lanes);
        if warp.live() & !come != 0 {
            return false;
        }
        for at in (0..warp.groups.len()).rev() {
            if here(&warp.groups[at]) {
                let group = warp.groups.swap_remove(at);
                warp.put(Group { wait: Wait::Ready, ..group });
            }
        }
        true
    }

    /// An `mma` by the panel.
    fn multiply_quickly(&mut self, registers: &mut Registers, op: &Multiply, quick: &Quick) {
        let code = self.worker.grid.code;
        let panel = self.worker.panel.get_or_insert_with(Panel::new);
        let of = |operand: &Operand| slots(&code.slots, operand.registers);
        let accumulators = Accumulators { from: Some(of(&op.c)), to: of(&op.d) };
        let fragments = Fragments { a: of(&op.a), b: of(&op.b), accumulators };
        // SAFETY: decoding took the functions for a SIMD level that this CPU was found to have.
        unsafe { quick.fns.product(panel, &quick.product, registers, &fragments) };
    }

    /// `mma`, `wmma.mma`
    fn multiply(&mut self, registers: &mut Registers, op: &Multiply) {
        if let Some(quick) = &op.quick {
            return self.multiply_quickly(registers, op, quick);
        }
        let tile = self.worker.tile.get_or_insert_with(Tile::new);
        for (words, operand) in tile.words.iter_mut().zip([&op.a, &op.b, &op.c]) {
            read(registers, &self.worker.grid.code.slots, operand, words);
        }
        if let Some(sparse) = op.sparse {
            tile.metadata = registers.read(sparse.metadata);
        }
        // SAFETY: decoding took the function for a SIMD level that this CPU was found to have.
        unsafe { op.run.run(tile, op) };
        let slots = slots(&self.worker.grid.code.slots, op.d.registers);
        let results = &tile.words[3];
        for (slot, (narrow, wide)) in slots.iter().zip(results.narrow.iter().zip(&results.wide)) {
            match slot.rows {
                1 => registers.write(slot.slot, FULL, narrow),
                2 => registers.write(slot.slot, FULL, wide),
                _ => {}
            }
        }
    }
}

/// The registers of a list.
fn slots(slots: &[RegisterSlot], list: SlotList) -> &[RegisterSlot] {
    &slots[list.start as usize..][..list.len as usize]
}

/// The words of an operand's registers.
fn read(registers: &Registers, all: &[RegisterSlot], operand: &Operand, words: &mut Words) {
    let slots = slots(all, operand.registers);
    for (slot, (narrow, wide)) in slots.iter().zip(words.narrow.iter_mut().zip(&mut words.wide)) {
        match slot.rows {
            1 => *narrow = registers.read(slot.slot),
            2 => *wide = registers.read(slot.slot),
            _ => {}
        }
    }
}
