//! Copies in one, two and three dimensions.

use std::sync::Arc;

use runtime::{Area, Context, Copy, Operation, Place, Result, Status, Stream};

use crate::driver::array::Array;
use crate::ffi::{Handle, get};
use crate::object;
use crate::state::{self, NullStream};
use crate::types::{Memcpy2D, Memcpy3D, memory_type};

/// What the program says about an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Host,
    Device,
    /// Unified addressing tells.
    Any,
}

/// Where bytes lie.
pub(crate) fn place(context: &Context, address: u64, bytes: u64, side: Side) -> Result<Place> {
    let memory = &context.device.memory;
    match (memory.find(address), side) {
        (None, Side::Device) => Err(Status::INVALID_VALUE),
        (None, _) => {
            let addresses = &context.device.simulator.config().global_addresses;
            // Freed memory of the device; the host has none there.
            if address == 0 || addresses.contains(&address) {
                return Err(Status::INVALID_VALUE);
            }
            Ok(Place::Host(address))
        }
        (Some(found), Side::Host) if !found.kind.is_host() => Err(Status::INVALID_VALUE),
        (Some(found), _) => {
            if found.kind.is_host() && memory.range(address, bytes).is_err() {
                // A buffer that is registered in part.
                return Ok(Place::Host(address));
            }
            memory.range(address, bytes)?;
            Ok(Place::Device(address))
        }
    }
}

/// When a copy is over for the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// When the function returns.
    Now,
    /// In the order of the stream, as far as the program's memory allows.
    Later,
}

/// Largest copy from pageable memory that is kept aside for later; larger ones are waited for.
const STAGED: u64 = 1 << 20;

/// Does a copy in a stream.
pub(crate) fn submit(context: &Arc<Context>, stream: &Arc<Stream>, mut copy: Copy, when: When) -> Result {
    context.check()?;
    if copy.bytes() == 0 {
        return Ok(());
    }
    let from_host = matches!(copy.from.place, Place::Host(_));
    let to_host = matches!(copy.to.place, Place::Host(_));
    let capturing = stream.capture().is_some();
    if let (Place::Host(address), When::Later, false, false) = (&copy.from.place, when, capturing, to_host)
        && copy.height == 1
        && copy.depth == 1
        && copy.width <= STAGED
    {
        let mut bytes: Arc<[u8]> = Arc::from([]);
        context.host().read(*address, copy.width as usize, &mut |from| bytes = from.into());
        copy.from.place = Place::Bytes(bytes);
        return context.enqueue(stream, Operation::Copy(Arc::new(copy)));
    }
    let operation = Operation::Copy(Arc::new(copy));
    let wait = when == When::Now || !capturing && (from_host || to_host);
    if wait { context.run(stream, operation) } else { context.enqueue(stream, operation) }
}

/// A copy of consecutive bytes.
pub(crate) fn linear(
    stream: Handle,
    null: NullStream,
    to: (u64, Side),
    from: (u64, Side),
    bytes: usize,
    when: When,
) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if bytes == 0 {
        return Ok(());
    }
    let to = place(&context, to.0, bytes as u64, to.1)?;
    let from = place(&context, from.0, bytes as u64, from.1)?;
    // Between places of the device nobody waits, as in CUDA.
    let shared = |place: &Place| match place {
        Place::Device(address) => context.device.memory.find(*address).is_some_and(|a| a.kind.is_host()),
        _ => true,
    };
    let when = if shared(&to) || shared(&from) { when } else { When::Later };
    submit(&context, &stream, Copy::linear(to, from, bytes as u64), when)
}

fn area(
    context: &Context,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    start: [usize; 3],
    pitch: [usize; 2],
    size: [usize; 3],
) -> Result<Area> {
    let side = match kind {
        memory_type::HOST => Side::Host,
        memory_type::DEVICE => Side::Device,
        memory_type::UNIFIED => Side::Any,
        memory_type::ARRAY => {
            let array: Arc<Array> = object::find(array)?;
            return array.area(start, size);
        }
        _ => return Err(Status::INVALID_VALUE),
    };
    let [width, height, depth] = size;
    let base = if side == Side::Host { host } else { device };
    let pitch_bytes = if pitch[0] == 0 { width } else { pitch[0] };
    let rows = if pitch[1] == 0 { height } else { pitch[1] };
    let bad = Status::INVALID_VALUE;
    if height > 1 && start[0] + width > pitch_bytes || depth > 1 && start[1] + height > rows {
        return Err(bad);
    }
    let slice = pitch_bytes.checked_mul(rows).ok_or(bad)?;
    let offset = |x: usize, y: usize, z: usize| {
        z.checked_mul(slice)?.checked_add(y.checked_mul(pitch_bytes)?)?.checked_add(x)
    };
    let first = offset(start[0], start[1], start[2]).ok_or(bad)?;
    let last = offset(width, height.saturating_sub(1), depth.saturating_sub(1)).ok_or(bad)?;
    let start = base.checked_add(first as u64).ok_or(bad)?;
    let place = place(context, start, last as u64, side)?;
    Ok(Area { place, pitch: pitch_bytes as u64, slice: slice as u64 })
}

/// What `CUDA_MEMCPY3D` describes.
pub(crate) fn describe(context: &Context, copy: &Memcpy3D) -> Result<Copy> {
    let size = [copy.width, copy.height, copy.depth];
    let from = area(
        context,
        copy.src_type,
        copy.src_host,
        copy.src_device,
        copy.src_array,
        [copy.src_x, copy.src_y, copy.src_z],
        [copy.src_pitch, copy.src_height],
        size,
    )?;
    let to = area(
        context,
        copy.dst_type,
        copy.dst_host,
        copy.dst_device,
        copy.dst_array,
        [copy.dst_x, copy.dst_y, copy.dst_z],
        [copy.dst_pitch, copy.dst_height],
        size,
    )?;
    let [width, height, depth] = size.map(|extent| extent as u64);
    Ok(Copy { from, to, width, height, depth })
}

/// A copy in up to three dimensions.
pub(crate) fn volume(stream: Handle, null: NullStream, copy: &Memcpy3D, when: When) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
        return Ok(());
    }
    submit(&context, &stream, describe(&context, copy)?, when)
}

stream_api! {
    fn cuMemcpy | cuMemcpy_ptds (null; to: u64, from: u64, bytes: usize) {
        linear(0, null, (to, Side::Any), (from, Side::Any), bytes, When::Now)
    }
    fn cuMemcpyAsync | cuMemcpyAsync_ptsz (null; to: u64, from: u64, bytes: usize, stream: Handle) {
        linear(stream, null, (to, Side::Any), (from, Side::Any), bytes, When::Later)
    }
    fn cuMemcpyHtoD_v2 | cuMemcpyHtoD_v2_ptds (null; to: u64, from: u64, bytes: usize) {
        linear(0, null, (to, Side::Device), (from, Side::Host), bytes, When::Now)
    }
    fn cuMemcpyHtoDAsync_v2 | cuMemcpyHtoDAsync_v2_ptsz (null; to: u64, from: u64, bytes: usize, stream: Handle) {
        linear(stream, null, (to, Side::Device), (from, Side::Host), bytes, When::Later)
    }
    fn cuMemcpyDtoH_v2 | cuMemcpyDtoH_v2_ptds (null; to: u64, from: u64, bytes: usize) {
        linear(0, null, (to, Side::Host), (from, Side::Device), bytes, When::Now)
    }
    fn cuMemcpyDtoHAsync_v2 | cuMemcpyDtoHAsync_v2_ptsz (null; to: u64, from: u64, bytes: usize, stream: Handle) {
        linear(stream, null, (to, Side::Host), (from, Side::Device), bytes, When::Later)
    }
    fn cuMemcpyDtoD_v2 | cuMemcpyDtoD_v2_ptds (null; to: u64, from: u64, bytes: usize) {
        linear(0, null, (to, Side::Device), (from, Side::Device), bytes, When::Now)
    }
    fn cuMemcpyDtoDAsync_v2 | cuMemcpyDtoDAsync_v2_ptsz (null; to: u64, from: u64, bytes: usize, stream: Handle) {
        linear(stream, null, (to, Side::Device), (from, Side::Device), bytes, When::Later)
    }
    fn cuMemcpyPeer | cuMemcpyPeer_ptds (null;
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize
    ) {
        same_device(to_context, from_context)?;
        linear(0, null, (to, Side::Device), (from, Side::Device), bytes, When::Now)
    }
    fn cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz (null;
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle
    ) {
        same_device(to_context, from_context)?;
        linear(stream, null, (to, Side::Device), (from, Side::Device), bytes, When::Later)
    }
    fn cuMemcpy2D_v2 | cuMemcpy2D_v2_ptds (null; copy: *const Memcpy2D) {
        volume(0, null, &get(copy)?.into(), When::Now)
    }
    fn cuMemcpy2DUnaligned_v2 | cuMemcpy2DUnaligned_v2_ptds (null; copy: *const Memcpy2D) {
        volume(0, null, &get(copy)?.into(), When::Now)
    }
    fn cuMemcpy2DAsync_v2 | cuMemcpy2DAsync_v2_ptsz (null; copy: *const Memcpy2D, stream: Handle) {
        volume(stream, null, &get(copy)?.into(), When::Later)
    }
    fn cuMemcpy3D_v2 | cuMemcpy3D_v2_ptds (null; copy: *const Memcpy3D) {
        volume(0, null, &get(copy)?, When::Now)
    }
    fn cuMemcpy3DAsync_v2 | cuMemcpy3DAsync_v2_ptsz (null; copy: *const Memcpy3D, stream: Handle) {
        volume(stream, null, &get(copy)?, When::Later)
    }
    fn cuMemcpy3DPeer | cuMemcpy3DPeer_ptds (null; copy: *const Memcpy3D) {
        let copy = get(copy)?;
        same_device(copy.dst_reserved, copy.src_reserved)?;
        volume(0, null, &copy, When::Now)
    }
    fn cuMemcpy3DPeerAsync | cuMemcpy3DPeerAsync_ptsz (null; copy: *const Memcpy3D, stream: Handle) {
        let copy = get(copy)?;
        same_device(copy.dst_reserved, copy.src_reserved)?;
        volume(stream, null, &copy, When::Later)
    }
}

/// Copies between devices are not supported; within one they are copies like others.
fn same_device(to: Handle, from: Handle) -> Result {
    let device = |context: Handle| {
        crate::driver::context::context_or_current(context).map(|context| context.device.index)
    };
    if device(to)? == device(from)? { Ok(()) } else { Err(Status::NOT_SUPPORTED) }
}
