//! Tensor maps among the parameters of a launch: a device needs the bytes of its own driver, which encodes them again.

use sim_core::{ElementType, Interleave, Mode, Swizzle, TENSOR_MAP_BYTES, TensorMap};

use crate::context::Context;
use crate::error::CallError;

/// What a map is aligned to.
const ALIGN: usize = 64;

/// A map as a driver writes it.
#[repr(C, align(64))]
struct Encoded([u8; TENSOR_MAP_BYTES]);

/// Puts the driver's bytes in the place of each map of the simulator's.
pub(crate) fn encode(context: &Context, params: &mut [u8]) -> Result<(), CallError> {
    for at in (0..params.len()).step_by(ALIGN) {
        let Some(bytes) = params.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { break };
        if let Some(map) = TensorMap::from_bytes(bytes) {
            *bytes = encoded(context, &map)?;
        }
    }
    Ok(())
}

fn number<T: PartialEq>(all: &[T], one: &T) -> u32 {
    all.iter().position(|other| other == one).unwrap_or_default() as u32
}

fn encoded(context: &Context, map: &TensorMap) -> Result<[u8; TENSOR_MAP_BYTES], CallError> {
    let mut to = Encoded([0; TENSOR_MAP_BYTES]);
    let element = number(&ElementType::ALL, &map.element);
    let interleave = number(&Interleave::ALL, &map.interleave);
    let swizzle = number(&Swizzle::ALL, &map.swizzle);
    let fill = u32::from(map.fill_nan);
    let place = (&raw mut to).cast();
    let address = std::ptr::without_provenance_mut(map.address as usize);
    let (extents, strides, steps) = (map.extents.as_ptr(), map.strides.as_ptr(), map.steps.as_ptr());
    // SAFETY: a map has room for five dimensions in each list, the most that its rank can be; the driver does not access the
    // tensor. Promotions into the second level of cache are not kept: they change no result.
    unsafe {
        match &map.mode {
            Mode::Tiled { extents: tile } => context.api.map_tiled(
                place,
                element,
                map.rank,
                address,
                extents,
                strides,
                tile.as_ptr(),
                steps,
                interleave,
                swizzle,
                0,
                fill,
            ),
            Mode::Im2col { lower, upper, channels, pixels } => context.api.map_im2col(
                place,
                element,
                map.rank,
                address,
                extents,
                strides,
                lower.as_ptr(),
                upper.as_ptr(),
                *channels,
                *pixels,
                steps,
                interleave,
                swizzle,
                0,
                fill,
            ),
        }
    }?;
    Ok(to.0)
}
