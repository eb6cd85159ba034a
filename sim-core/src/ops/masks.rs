//! Lanes by their masks and values.

use crate::code::RegisterSlot;
use semantics::lanes::{FULL, LaneMask, Registers, WARP_SIZE};

/// Calls `body` for each lane of a mask.
#[inline(always)]
pub(crate) fn each_lane(lanes: LaneMask, mut body: impl FnMut(usize)) {
    if lanes == FULL {
        for lane in 0..WARP_SIZE {
            body(lane);
        }
    } else {
        let mut rest = lanes;
        while rest != 0 {
            body(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// The lanes that hold a value.
pub(crate) fn lanes_with<T: PartialEq>(values: &[T; 32], value: T) -> LaneMask {
    (0..32).fold(0, |lanes, lane| lanes | u32::from(values[lane] == value) << lane)
}

/// Writes the same value to the lanes of a register of 1 or 2 rows.
pub(crate) fn write_uniform(registers: &mut Registers, to: RegisterSlot, lanes: LaneMask, value: u64) {
    match to.rows {
        1 => registers.write(to.slot, lanes, &[value as u32; 32]),
        2 => registers.write(to.slot, lanes, &[value; 32]),
        _ => {}
    }
}
