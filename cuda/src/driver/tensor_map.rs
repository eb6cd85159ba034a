//! Tensor maps (CUDA driver API, "Tensor Map Object Management"): what a map holds is the simulator's, the bytes are
//! opaque to a program.

use std::ffi::c_void;

use runtime::{Result, Status};
use sim_core::{ElementType, Interleave, Mode, Swizzle, TENSOR_MAP_BYTES, TensorMap};

use crate::ffi::{get, list, put};

/// `CUtensorMap`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Opaque([u8; TENSOR_MAP_BYTES]);

/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`, the last of its kind.
const LAST_PROMOTION: u32 = 3;

/// The last of `CUtensorMapIm2ColWideMode`.
const LAST_WIDE_MODE: u32 = 1;

/// What all kinds of maps have.
struct Common {
    element: u32,
    rank: u32,
    address: *mut c_void,
    extents: *const u64,
    strides: *const u64,
    steps: *const u32,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

fn nth<T: Copy>(all: &[T], number: u32) -> Result<T> {
    all.get(number as usize).copied().ok_or(Status::INVALID_VALUE)
}

/// The first elements of a list of `count`, and `rest` in the place of others.
///
/// # Safety
/// The list must have so many elements, if it is not null.
unsafe fn padded<T: Copy, const N: usize>(from: *const T, count: usize, rest: T) -> Result<[T; N]> {
    // SAFETY: the caller's.
    let given = unsafe { list(from, count) }?;
    Ok(std::array::from_fn(|at| given.get(at).copied().unwrap_or(rest)))
}

/// The map that is asked for, if there can be one.
///
/// # Safety
/// Lists have as many elements as the rank says.
unsafe fn asked(to: *mut Opaque, common: &Common, mode: impl FnOnce() -> Result<Mode>) -> Result<TensorMap> {
    let rank = common.rank as usize;
    // A driver does not look at the alignment of the map, nor at the address beyond its own.
    if to.is_null() || common.strides.is_null() || !(1..=5).contains(&rank) {
        return Err(Status::INVALID_VALUE);
    }
    if common.promotion > LAST_PROMOTION || common.fill > 1 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller's.
    let map = unsafe {
        TensorMap {
            element: nth(&ElementType::ALL, common.element)?,
            rank: common.rank,
            address: common.address as u64,
            extents: padded(common.extents, rank, 1)?,
            strides: if rank > 1 { padded(common.strides, rank - 1, 0)? } else { [0; 4] },
            mode: mode()?,
            steps: padded(common.steps, rank, 1)?,
            interleave: nth(&Interleave::ALL, common.interleave)?,
            swizzle: nth(&Swizzle::ALL, common.swizzle)?,
            fill_nan: common.fill == 1,
        }
    };
    map.check().map_err(|_| Status::INVALID_VALUE)?;
    Ok(map)
}

/// # Safety
/// As for [`asked`].
unsafe fn encode(to: *mut Opaque, common: &Common, mode: impl FnOnce() -> Result<Mode>) -> Result {
    // SAFETY: the caller's.
    unsafe {
        let map = asked(to, common, mode)?;
        put(to, Opaque(map.to_bytes()))
    }
}

api! {
    fn cuTensorMapEncodeTiled(
        map: *mut Opaque,
        element: u32,
        rank: u32,
        address: *mut c_void,
        extents: *const u64,
        strides: *const u64,
        box_extents: *const u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        promotion: u32,
        fill: u32,
    ) {
        let common =
            Common { element, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill };
        encode(map, &common, || Ok(Mode::Tiled { extents: padded(box_extents, rank as usize, 1)? }))
    }

    fn cuTensorMapEncodeIm2col(
        map: *mut Opaque,
        element: u32,
        rank: u32,
        address: *mut c_void,
        extents: *const u64,
        strides: *const u64,
        lower: *const i32,
        upper: *const i32,
        channels: u32,
        pixels: u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        promotion: u32,
        fill: u32,
    ) {
        let common =
            Common { element, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill };
        encode(map, &common, || {
            let spatial = (rank as usize).checked_sub(2).filter(|&count| count > 0).ok_or(Status::INVALID_VALUE)?;
            let (lower, upper) = (padded(lower, spatial, 0)?, padded(upper, spatial, 0)?);
            Ok(Mode::Im2col { lower, upper, channels, pixels })
        })
    }

    /// Copies that take such a map are of later devices than sm_90: here, as there, it is checked, and is no map to any copy.
    fn cuTensorMapEncodeIm2colWide(
        map: *mut Opaque,
        element: u32,
        rank: u32,
        address: *mut c_void,
        extents: *const u64,
        strides: *const u64,
        lower: i32,
        upper: i32,
        channels: u32,
        pixels: u32,
        steps: *const u32,
        interleave: u32,
        mode: u32,
        swizzle: u32,
        promotion: u32,
        fill: u32,
    ) {
        let common =
            Common { element, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill };
        if mode > LAST_WIDE_MODE {
            return Err(Status::INVALID_VALUE);
        }
        asked(map, &common, || Ok(Mode::Im2col { lower: [lower, 0, 0], upper: [upper, 0, 0], channels, pixels }))?;
        put(map, Opaque([0xff; TENSOR_MAP_BYTES]))
    }

    fn cuTensorMapReplaceAddress(map: *mut Opaque, address: *mut c_void) {
        // A driver looks at nothing but the address, and at that as if there were no slices of 32 bytes.
        let (Opaque(mut bytes), address) = (get(map)?, address as u64);
        if address == 0 || !TensorMap::may_begin_at(address) {
            return Err(Status::INVALID_VALUE);
        }
        TensorMap::move_to(&mut bytes, address);
        put(map, Opaque(bytes))
    }
}
