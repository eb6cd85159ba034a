//! Vectors of 8 and 16 bytes, straight between memory and registers: one access a lane, then the elements of
//! four lanes change places with those of four registers.

use super::vector::{HALF, HALF_FULL, each, get, halves, set};
use super::{Range, WARP_SIZE, addresses_of};
use crate::code::{AccessSpace, RegisterSlot};
use crate::event::{Memory, Shape};
use crate::machine::Machine;
use crate::memory::Wide;
use crate::observer::Observer;
use crate::ops::at::At;
use crate::tools::Wants;
use semantics::lanes::Registers;

/// 16 bytes of each lane of a half, or four words of each of four registers.
type Block<T> = [[T; 4]; HALF];

/// Exchanges rows and columns of each four by four words.
#[inline(always)]
fn transpose(block: &mut Block<u32>) {
    for four in block.as_chunks_mut::<4>().0 {
        let old = *four;
        for (at, row) in four.iter_mut().enumerate() {
            *row = [old[0][at], old[1][at], old[2][at], old[3][at]];
        }
    }
}

/// The block of four registers: words 4 to 7 of the second are row 5.
#[inline(always)]
fn of_rows(rows: [[u32; HALF]; 4]) -> Block<u32> {
    let mut block = [[0; 4]; HALF];
    for (at, part) in block.iter_mut().enumerate() {
        *part = rows[at % 4].as_chunks::<4>().0[at / 4];
    }
    block
}

/// The four registers of a block.
#[inline(always)]
fn to_rows(block: &Block<u32>) -> [[u32; HALF]; 4] {
    let mut rows = [[0; HALF]; 4];
    for (at, part) in block.iter().enumerate() {
        rows[at % 4].as_chunks_mut::<4>().0[at / 4] = *part;
    }
    rows
}

/// Sets the lanes of a half of a row, as one write where all are set.
///
/// # Safety
/// `row` is valid for the half.
#[inline(always)]
unsafe fn put<T: Copy>(row: *mut T, values: [T; HALF], lanes: u16) {
    // SAFETY: the caller's.
    unsafe {
        if lanes == HALF_FULL {
            *row.cast() = values;
        } else {
            let mut new: [T; HALF] = *row.cast();
            for (lane, value) in values.into_iter().enumerate() {
                new[lane] = if lanes >> lane & 1 != 0 { value } else { new[lane] };
            }
            *row.cast() = new;
        }
    }
}

/// # Safety
/// The CPU must have the level that this is compiled for; decoding set `simple` only for `COUNT` registers of
/// `WORDS` words.
#[inline(always)]
pub(crate) unsafe fn body<O: Observer, const STORE: bool, const WORDS: usize, const COUNT: usize>(
    machine: &mut Machine<'_, '_, O>,
    registers: &mut Registers,
    at: &At<'_>,
) -> bool {
    let (access, grid) = (at.access, machine.worker.grid);
    let wide = grid.wide;
    let bytes = 4 * (WORDS * COUNT) as u64;
    if bytes == 16 && wide == Wide::Locked {
        return false;
    }
    let shared = access.space == AccessSpace::Shared;
    let range = if shared { Some(machine.shared_range()) } else { machine.hinted_range(at, STORE) };
    let Some(Range { base, size, words }) = range else { return false };
    let Some(most) = size.checked_sub(bytes) else { return false };
    let address = registers.words(access.address);
    // SAFETY: the register has 32 elements of so many words; none stands for a row of zeros.
    let mut offsets = unsafe {
        match access.address_rows {
            2 => addresses_of::<true>(address, access.offset as u64),
            _ => addresses_of::<false>(address, access.offset as u64),
        }
    };
    let mut bad = 0;
    for (lane, offset) in offsets.iter_mut().enumerate() {
        let active = 0u64.wrapping_sub(u64::from(at.lanes >> lane & 1));
        let unaligned = *offset & (bytes - 1);
        *offset = offset.wrapping_sub(base);
        bad |= (u64::from(*offset > most) | unaligned) & active;
    }
    if bad != 0 {
        return false;
    }
    if machine.wants(Wants::ACCESSES) {
        let addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| offsets[lane].wrapping_add(base));
        let memory = if shared { Memory::Shared } else { Memory::Global };
        machine.observe(memory, *at, &addresses, Shape::Any);
    }
    let slots = &grid.code.slots[access.elements.start as usize..][..COUNT];
    let row = |registers: &mut Registers, slot: RegisterSlot, half: usize| {
        registers.words(slot.slot).wrapping_add(HALF * WORDS * half)
    };
    let parts = halves(at.lanes);
    for half in 0..2 {
        let lanes = parts[half];
        if lanes == 0 {
            continue;
        }
        let place = |lane: usize| words.wrapping_byte_add(offsets[HALF * half + lane] as usize);
        // SAFETY: the active lanes are inside, and aligned; registers have 32 elements.
        unsafe {
            if WORDS * COUNT == 2 {
                // Two words of a lane.
                let mut pairs = [0u64; HALF];
                if STORE {
                    let low: [u32; HALF] = *row(registers, slots[0], half).cast();
                    let high: [u32; HALF] = *row(registers, slots[1], half).cast();
                    for lane in 0..HALF {
                        pairs[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                    }
                    each(lanes.into(), |lane| set::<2>(place(lane), pairs[lane]));
                    continue;
                }
                each(lanes.into(), |lane| pairs[lane] = get::<2>(place(lane)));
                for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.rows != 0) {
                    let mut values = [0u32; HALF];
                    for lane in 0..HALF {
                        values[lane] = (pairs[lane] >> (32 * index)) as u32;
                    }
                    put(row(registers, *slot, half), values, lanes);
                }
                continue;
            }
            let mut block: Block<u32> = [[0; 4]; HALF];
            if STORE {
                if WORDS == 1 {
                    let rows = std::array::from_fn(|at| *row(registers, slots[at % COUNT], half).cast());
                    block = of_rows(rows);
                    transpose(&mut block);
                } else {
                    let low: [[u32; 2]; HALF] = *row(registers, slots[0], half).cast();
                    let high: [[u32; 2]; HALF] = *row(registers, slots[1], half).cast();
                    for lane in 0..HALF {
                        block[lane] = [low[lane][0], low[lane][1], high[lane][0], high[lane][1]];
                    }
                }
                each(lanes.into(), |lane| {
                    wide.store(place(lane), std::mem::transmute::<[u32; 4], u128>(block[lane]))
                });
                continue;
            }
            let load = |lane: usize| std::mem::transmute::<u128, [u32; 4]>(wide.load(place(lane)));
            if lanes == HALF_FULL {
                (0..HALF).for_each(|lane| block[lane] = load(lane));
            } else {
                each(lanes.into(), |lane| block[lane] = load(lane));
            }
            if WORDS == 1 {
                transpose(&mut block);
                for (slot, values) in slots.iter().zip(to_rows(&block)) {
                    if slot.rows != 0 {
                        put(row(registers, *slot, half), values, lanes);
                    }
                }
            } else {
                for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.rows != 0) {
                    let values = block.map(|part| [part[2 * index], part[2 * index + 1]]);
                    put(row(registers, *slot, half).cast(), values, lanes);
                }
            }
        }
    }
    true
}
