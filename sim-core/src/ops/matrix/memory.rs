//! Fragments and rows of matrices between registers and memory: `wmma.load`, `wmma.store`, `ldmatrix`,
//! `stmatrix`. Every access goes the way of `ld` and `st`, so it is checked and told like theirs.

use super::{Place, slots};
use crate::code::{Access, AccessSpace, RegisterSlot};
use crate::code::{FragmentAccess, RowsAccess};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::fault::Fault;
use crate::observer::Observer;
use crate::ops::at::{Addresses, At, Checked, Direction};
use semantics::lanes::{FULL, LaneMask, Registers, WARP_SIZE};
use semantics::matrix::{Chunk, transpose};
use semantics::window::{self, Window};

/// Registers a lane that a fragment has at most.
const REGISTERS: usize = 8;

impl FragmentAccess {
    /// Addresses of a chunk: `bases` are those of the matrix, `strides` elements from row to row.
    fn addresses(&self, chunk: &Chunk, bases: &Addresses, strides: &[u32; WARP_SIZE]) -> Addresses {
        std::array::from_fn(|lane| {
            let (major, minor) = self.lanes[lane];
            let major = u64::from(major + chunk.place.0) * u64::from(strides[lane]);
            let bits = major * u64::from(self.bits) + u64::from(minor + chunk.place.1);
            bases[lane].wrapping_add(bits / 8)
        })
    }

    /// The access of a chunk.
    fn access_of(&self, chunk: &Chunk, all: &[RegisterSlot]) -> Access {
        let mut access = self.access;
        if self.whole() {
            access.elements = chunk.elements;
            access.element = all[chunk.elements.start as usize];
        }
        access
    }

    /// Whether chunks are whole registers that move as they are.
    fn whole(&self) -> bool {
        self.access.size >= 4 && !self.transposed
    }
}

impl<O: Observer> Machine<'_, '_, O> {
    fn bases(&self, registers: &Registers, access: &Access, place: Place) -> Addresses {
        let at = At {
            access,
            direction: Direction::Load,
            lanes: FULL,
            peer: None,
            position: place.position,
            frame: place.frame,
        };
        self.addresses(registers, at)
    }

    /// Moves the elements of an access at these addresses.
    fn transfer_at(
        &mut self,
        registers: &mut Registers,
        access: &Access,
        direction: Direction,
        lanes: LaneMask,
        place: Place,
        addresses: &mut Addresses,
    ) -> Checked {
        let at = At { access, direction, lanes, peer: None, position: place.position, frame: place.frame };
        self.move_at(registers, at, addresses)
    }

    /// `wmma.load`
    pub(crate) fn load_fragment(
        &mut self,
        registers: &mut Registers,
        fragment: &FragmentAccess,
        place: Place,
    ) -> Checked {
        let code = self.worker.grid.code;
        let bases = self.bases(registers, &fragment.access, place);
        let strides = registers.read::<u32>(fragment.stride);
        let mut words = [[0u32; WARP_SIZE]; REGISTERS];
        for chunk in &fragment.chunks {
            let access = fragment.access_of(chunk, &code.slots);
            let mut addresses = fragment.addresses(chunk, &bases, &strides);
            self.transfer_at(registers, &access, Direction::Load, FULL, place, &mut addresses)?;
            if !fragment.whole() {
                let pieces = registers.read::<u32>(access.element.slot);
                let pieces = if fragment.transposed { transpose(&pieces) } else { pieces };
                for (word, piece) in words[chunk.register as usize % REGISTERS].iter_mut().zip(pieces) {
                    *word |= piece << chunk.shift;
                }
            }
        }
        let slots = slots(&code.slots, fragment.registers);
        if !fragment.whole() {
            for (slot, word) in slots.iter().zip(&words) {
                if slot.rows == 1 {
                    registers.write(slot.slot, FULL, word);
                }
            }
        }
        for &(to, from) in &fragment.copies {
            let (to, from) = (slots[to as usize], usize::from(from));
            if to.rows == 1 && fragment.whole() && slots[from].rows == 1 {
                let word = registers.read::<u32>(slots[from].slot);
                registers.write(to.slot, FULL, &word);
            } else if to.rows == 1 {
                registers.write(to.slot, FULL, &words[from % REGISTERS]);
            }
        }
        Ok(())
    }

    /// `wmma.store`
    pub(crate) fn store_fragment(
        &mut self,
        registers: &mut Registers,
        fragment: &FragmentAccess,
        place: Place,
    ) -> Checked {
        let code = self.worker.grid.code;
        let bases = self.bases(registers, &fragment.access, place);
        let strides = registers.read::<u32>(fragment.stride);
        let slots = slots(&code.slots, fragment.registers);
        for chunk in &fragment.chunks {
            let access = fragment.access_of(chunk, &code.slots);
            let mut addresses = fragment.addresses(chunk, &bases, &strides);
            if !fragment.whole() {
                let word = registers.read::<u32>(slots[chunk.register as usize].slot);
                let word = if fragment.transposed { transpose(&word) } else { word };
                registers.write(access.element.slot, FULL, &word.map(|word| word >> chunk.shift));
            }
            self.transfer_at(registers, &access, Direction::Store, FULL, place, &mut addresses)?;
        }
        Ok(())
    }

    /// Addresses of the rows of an `ldmatrix` or `stmatrix`, and the lanes that give them.
    fn rows(
        &self,
        registers: &Registers,
        rows: &RowsAccess,
        place: Place,
    ) -> Checked<(Addresses, LaneMask, Access)> {
        let mut addresses = self.bases(registers, &rows.access, place);
        let lanes = FULL >> (32 - 8 * rows.registers.len.min(4));
        let mut access = rows.access;
        if access.space == AccessSpace::Generic {
            // Checked here, so that what follows is an access to shared memory.
            let mut wrong = 0;
            for (lane, address) in addresses.iter_mut().enumerate() {
                match window::of(*address) {
                    Window::Shared(offset) => *address = offset,
                    _ => wrong |= 1 << lane,
                }
            }
            let wrong = wrong & lanes;
            if wrong != 0 {
                let address = addresses[wrong.trailing_zeros() as usize & 31];
                let text = format!("a matrix row at {address:#x}, which is not in shared memory");
                return Err(Box::new(Fault::new(FindingKind::WrongSpace, wrong, text)));
            }
            access.space = AccessSpace::Shared;
        }
        Ok((addresses, lanes, access))
    }

    /// `ldmatrix`
    pub(crate) fn load_rows(
        &mut self,
        registers: &mut Registers,
        rows: &RowsAccess,
        place: Place,
    ) -> Checked {
        let (mut addresses, lanes, access) = self.rows(registers, rows, place)?;
        self.transfer_at(registers, &access, Direction::Load, lanes, place, &mut addresses)?;
        let values = registers.read::<u128>(access.element.slot);
        let code = self.worker.grid.code;
        for (matrix, to) in slots(&code.slots, rows.registers).iter().enumerate() {
            let word = std::array::from_fn(|lane| {
                (values[(matrix * 8 + lane / 4) % WARP_SIZE] >> (lane % 4 * 32)) as u32
            });
            let word = if rows.transposed { transpose(&word) } else { word };
            if to.rows == 1 {
                registers.write(to.slot, FULL, &word);
            }
        }
        Ok(())
    }

    /// `stmatrix`
    pub(crate) fn store_rows(
        &mut self,
        registers: &mut Registers,
        rows: &RowsAccess,
        place: Place,
    ) -> Checked {
        let (mut addresses, lanes, access) = self.rows(registers, rows, place)?;
        let mut values = [0u128; WARP_SIZE];
        let code = self.worker.grid.code;
        let list: &[RegisterSlot] = slots(&code.slots, rows.registers);
        for (matrix, from) in list.iter().enumerate() {
            let word = registers.read::<u32>(from.slot);
            let word = if rows.transposed { transpose(&word) } else { word };
            for (lane, &word) in word.iter().enumerate() {
                values[(matrix * 8 + lane / 4) % WARP_SIZE] |= u128::from(word) << (lane % 4 * 32);
            }
        }
        registers.write(access.element.slot, FULL, &values);
        self.transfer_at(registers, &access, Direction::Store, lanes, place, &mut addresses)
    }
}
