//! Arrays: device memory with a shape, and copies into and out of them.

use std::sync::Arc;

use cuda_abi::driver::{ArrayMemoryRequirements, ArraySparseProperties};
use cuda_abi::runtime::{ChannelFormatDesc, Extent};
use runtime::{Area, Array, ArrayShape, Copy, Element, Format, Result, Status};

use crate::cudart::context::ensure;
use crate::cudart::memory::{pitch_fits, sides};
use crate::driver::array as driver;
use crate::driver::copy::{Side, When, place, submit};
use crate::driver::device as driver_device;
use crate::ffi::{Handle, NullStream, get, put, put_wanted};
use crate::object;
use crate::start;
use crate::state;

/// The element that channels describe.
pub(crate) fn element_of(channels: ChannelFormatDesc) -> Result<Element> {
    let count = channels.bits.iter().take_while(|&&bits| bits != 0).count();
    let alike = channels.bits[..count].iter().all(|&bits| bits == channels.bits[0]);
    let rest = channels.bits[count..].iter().all(|&bits| bits == 0);
    let normalized = |bytes: u8, signed: bool| {
        if signed { Format::SignedNormalized(bytes) } else { Format::UnsignedNormalized(bytes) }
    };
    let format = match (channels.kind, channels.bits[0]) {
        (kind @ 5..=16, 8 | 16) => {
            let (place, bytes) = ((kind - 5) % 6, channels.bits[0] as u8 / 8);
            if [1, 2, 4][place as usize % 3] != count || place / 3 + 1 != u32::from(bytes) {
                return Err(Status::INVALID_CHANNELS);
            }
            normalized(bytes, kind > 10)
        }
        // Blocks of texels have the numbers of the driver's formats.
        (kind @ 17..=30, _) => {
            let element = Element::of_number(FIRST_BLOCKS + kind - 17, count as u32);
            return element.map_err(|status| {
                if status == Status::INVALID_VALUE { Status::INVALID_CHANNELS } else { status }
            });
        }
        (PACKED, _) if channels.bits == PACKED_BITS => return Element::new(Format::Packed, 4),
        (0, bits @ (8 | 16 | 32)) => Format::Signed(bits as u8 / 8),
        (1, bits @ (8 | 16 | 32)) => Format::Unsigned(bits as u8 / 8),
        (2, bits @ (16 | 32)) => Format::Float(bits as u8 / 8),
        _ => return Err(Status::INVALID_CHANNELS),
    };
    if !alike || !rest {
        return Err(Status::INVALID_CHANNELS);
    }
    Element::new(format, count as u32).map_err(|_| Status::INVALID_CHANNELS)
}

/// The kind of packed channels, and their bits.
const PACKED: u32 = 31;
const PACKED_BITS: [i32; 4] = [10, 10, 10, 2];

/// The driver's number of the first block-compressed format.
const FIRST_BLOCKS: u32 = 0x91;

pub(crate) fn channels_of(element: Element) -> ChannelFormatDesc {
    let sizes = |bytes: u8| element.channels.ilog2() + 3 * u32::from(bytes - 1);
    let kind = match element.format {
        Format::Signed(_) => 0,
        Format::Unsigned(_) => 1,
        Format::Float(_) => 2,
        Format::UnsignedNormalized(bytes) => 5 + sizes(bytes),
        Format::SignedNormalized(bytes) => 11 + sizes(bytes),
        Format::Packed => return ChannelFormatDesc { bits: PACKED_BITS, kind: PACKED },
        Format::Compressed { .. } => 17 + element.number() - FIRST_BLOCKS,
    };
    let mut bits = [0; 4];
    bits[..element.channels as usize].fill(8 * element.format.bytes() as i32);
    ChannelFormatDesc { bits, kind }
}

unsafe fn create(
    to: *mut Handle,
    channels: *const ChannelFormatDesc,
    extent: [usize; 3],
    flags: u32,
) -> Result {
    ensure()?;
    // SAFETY: null or the structure.
    let channels = unsafe { get(channels) }?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let element = element_of(channels)?;
    let [width, height, depth] = extent;
    let new = driver::create(|| Ok(ArrayShape { width, height, depth, element, flags }))?;
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, new) }
}

fn find(array: Handle) -> Result<Arc<Array>> {
    object::find(array)
}

/// Rows of an array or of memory with a pitch.
#[derive(Clone, Copy)]
pub(crate) enum Rows {
    /// An array, with a start: bytes and rows.
    Array(Handle, usize, usize),
    /// An address and a pitch.
    Memory(u64, usize),
}

/// Copies rows between arrays and memory.
fn rows(
    to: Rows,
    from: Rows,
    [width, height]: [usize; 2],
    kind: u32,
    how: (Handle, NullStream, When),
) -> Result {
    ensure()?;
    let (to_side, from_side) = sides(kind)?;
    // Arrays are on the device.
    let fits = |rows: &Rows, side: Side| !matches!(rows, Rows::Array(..)) || side != Side::Host;
    for rows in [&to, &from] {
        match rows {
            Rows::Array(array, ..) => drop(find(*array)?),
            Rows::Memory(_, pitch) => pitch_fits(*pitch, width, height)?,
        }
    }
    if !fits(&to, to_side) || !fits(&from, from_side) {
        return Err(Status::INVALID_DIRECTION);
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    let (context, stream) = state::stream(how.0, how.1)?;
    context.check()?;
    let area = |rows: Rows, side: Side| match rows {
        Rows::Array(array, x, y) => find(array)?.area([x, y, 0], [width, height, 1]),
        Rows::Memory(address, pitch) => {
            let last = pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(width));
            let bytes = last.ok_or(Status::INVALID_VALUE)? as u64;
            Ok(Area { place: place(&context, address, bytes, side)?, pitch: pitch as u64, slice: bytes })
        }
    };
    let (to, from): (Result<Area>, Result<Area>) = (area(to, to_side), area(from, from_side));
    submit(
        &context,
        &stream,
        Copy { from: from?, to: to?, width: width as u64, height: height as u64, depth: 1 },
        how.2,
    )
}

/// Copies bytes that go on from row to row of an array, as the oldest functions do.
fn bytes(
    (array, x, y): (Handle, usize, usize),
    memory: u64,
    count: usize,
    kind: u32,
    (to_array, stream, null, when): (bool, Handle, NullStream, When),
) -> Result {
    let found = find(array)?;
    let row = found.shape.row();
    let (mut x, mut y, mut done) = (x, y, 0);
    if x >= row && count > 0 {
        return Err(Status::INVALID_VALUE);
    }
    while done < count {
        // A part of a row first, whole rows then.
        let whole = if x == 0 { (count - done) / row } else { 0 };
        let (width, height) = if whole > 0 { (row, whole) } else { ((count - done).min(row - x), 1) };
        let (inside, outside) = (Rows::Array(array, x, y), Rows::Memory(memory + done as u64, width));
        let (to, from) = if to_array { (inside, outside) } else { (outside, inside) };
        rows(to, from, [width, height], kind, (stream, null, when))?;
        done += width * height;
        (x, y) = (if x + width == row { 0 } else { x + width }, y + height);
    }
    Ok(())
}

rt! {
    fn cudaMallocArray(to: *mut Handle, channels: *const ChannelFormatDesc, width: usize, height: usize, flags: u32) {
        create(to, channels, [width, height, 0], flags)
    }

    fn cudaMalloc3DArray(to: *mut Handle, channels: *const ChannelFormatDesc, extent: Extent, flags: u32) {
        let Extent { width, height, depth } = extent;
        create(to, channels, [width, height, depth], flags)
    }

    fn cudaFreeArray(array: Handle) {
        ensure()?;
        if array == 0 { Ok(()) } else { crate::cudart::error::of(driver::cuArrayDestroy(array)) }
    }

    fn cudaMallocMipmappedArray(
        to: *mut Handle, channels: *const ChannelFormatDesc, extent: Extent, levels: u32, flags: u32
    ) {
        ensure()?;
        let channels = get(channels)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let element = element_of(channels)?;
        let Extent { width, height, depth } = extent;
        put(to, driver::create_mipmapped(|| Ok(ArrayShape { width, height, depth, element, flags }), levels)?)
    }

    fn cudaGetMipmappedArrayLevel(level: *mut Handle, array: Handle, number: u32) {
        ensure()?;
        crate::cudart::error::of(driver::cuMipmappedArrayGetLevel(level, array, number))
    }

    fn cudaFreeMipmappedArray(array: Handle) {
        ensure()?;
        if array == 0 { Ok(()) } else { crate::cudart::error::of(driver::cuMipmappedArrayDestroy(array)) }
    }

    fn cudaGetChannelDesc(to: *mut ChannelFormatDesc, array: Handle) {
        ensure()?;
        put(to, channels_of(find(array)?.shape.element))
    }

    fn cudaArrayGetInfo(channels: *mut ChannelFormatDesc, extent: *mut Extent, flags: *mut u32, array: Handle) {
        ensure()?;
        let shape = find(array)?.shape;
        put_wanted(channels, channels_of(shape.element));
        put_wanted(extent, Extent { width: shape.width, height: shape.height, depth: shape.depth });
        put_wanted(flags, shape.flags);
        Ok(())
    }

    fn cudaDeviceGetTexture1DLinearMaxWidth(width: *mut usize, channels: *const ChannelFormatDesc, device: i32) {
        start::initialize();
        let element = element_of(get(channels)?)?;
        let (format, channels) = (element.number(), element.channels);
        crate::cudart::error::of(driver_device::cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, device))
    }
}

rt_as_driver! {
    cudaMipmappedArrayGetSparseProperties = driver::cuMipmappedArrayGetSparseProperties,
        (properties: *mut ArraySparseProperties, array: Handle);
    cudaMipmappedArrayGetMemoryRequirements = driver::cuMipmappedArrayGetMemoryRequirements,
        (requirements: *mut ArrayMemoryRequirements, array: Handle, device: i32);
    cudaArrayGetPlane = driver::cuArrayGetPlane, (plane: *mut Handle, array: Handle, index: u32);
    cudaArrayGetSparseProperties = driver::cuArrayGetSparseProperties,
        (properties: *mut ArraySparseProperties, array: Handle);
    cudaArrayGetMemoryRequirements = driver::cuArrayGetMemoryRequirements,
        (requirements: *mut ArrayMemoryRequirements, array: Handle, device: i32);
}

/// Returned through memory, as C returns structures of this size.
#[unsafe(export_name = "warpgrind_cudaCreateChannelDesc")]
extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> ChannelFormatDesc {
    ChannelFormatDesc { bits: [x, y, z, w], kind }
}

rt_stream! {
    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds (null;
        to: Handle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: u32
    ) {
        rows(Rows::Array(to, x, y), Rows::Memory(from, pitch), [width, height], kind, (0, null, When::Now))
    }
    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz (null;
        to: Handle, x: usize, y: usize, from: u64, pitch: usize, width: usize, height: usize, kind: u32, stream: Handle
    ) {
        rows(Rows::Array(to, x, y), Rows::Memory(from, pitch), [width, height], kind, (stream, null, When::Later))
    }
    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds (null;
        to: u64, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32
    ) {
        rows(Rows::Memory(to, pitch), Rows::Array(from, x, y), [width, height], kind, (0, null, When::Now))
    }
    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz (null;
        to: u64, pitch: usize, from: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32, stream: Handle
    ) {
        rows(Rows::Memory(to, pitch), Rows::Array(from, x, y), [width, height], kind, (stream, null, When::Later))
    }
    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds (null;
        to: Handle, to_x: usize, to_y: usize, from: Handle, from_x: usize, from_y: usize, width: usize, height: usize,
        kind: u32
    ) {
        let (to, from) = (Rows::Array(to, to_x, to_y), Rows::Array(from, from_x, from_y));
        rows(to, from, [width, height], kind, (0, null, When::Now))
    }
    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds (null;
        to: Handle, x: usize, y: usize, from: u64, count: usize, kind: u32
    ) {
        ensure()?;
        bytes((to, x, y), from, count, kind, (true, 0, null, When::Now))
    }
    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz (null;
        to: Handle, x: usize, y: usize, from: u64, count: usize, kind: u32, stream: Handle
    ) {
        ensure()?;
        bytes((to, x, y), from, count, kind, (true, stream, null, When::Later))
    }
    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds (null;
        to: u64, from: Handle, x: usize, y: usize, count: usize, kind: u32
    ) {
        ensure()?;
        bytes((from, x, y), to, count, kind, (false, 0, null, When::Now))
    }
    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz (null;
        to: u64, from: Handle, x: usize, y: usize, count: usize, kind: u32, stream: Handle
    ) {
        ensure()?;
        bytes((from, x, y), to, count, kind, (false, stream, null, When::Later))
    }
    fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds (null;
        to: Handle, to_x: usize, to_y: usize, from: Handle, from_x: usize, from_y: usize, count: usize, kind: u32
    ) {
        ensure()?;
        let (target, source) = (find(to)?, find(from)?);
        // Whole rows of both, or a part of one row.
        let row = source.shape.row();
        let (width, height) = if count > row { (row, count / row) } else { (count, 1) };
        let rows_agree = target.shape.row() == row && count.is_multiple_of(row.max(1));
        if count > row && !rows_agree {
            return Err(Status::INVALID_VALUE);
        }
        let (to, from) = (Rows::Array(to, to_x, to_y), Rows::Array(from, from_x, from_y));
        rows(to, from, [width, height], kind, (0, null, When::Now))
    }
}
