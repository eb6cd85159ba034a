//! Copies in one, two and three dimensions.

use std::sync::Arc;

use cuda_abi::driver::{Memcpy2D, Memcpy3D, Memcpy3DBatchOp, Memcpy3DOperand, MemcpyAttributes};
use cuda_abi::numbers::memory_type;
use runtime::{
    Area, Array, Context, Copy, Device, Kind, Operation, Place, Result, Status, Stream, StreamKind,
};

use crate::ffi::{Handle, NullStream, get, list, put_wanted};
use crate::object;
use crate::state;

/// What the program says about an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Host,
    Device,
    /// Memory of the device that the program named: it need not be accessible.
    Peer,
    /// Unified addressing tells.
    Any,
}

/// Where bytes lie.
pub(crate) fn place(context: &Context, address: u64, bytes: u64, side: Side) -> Result<Place> {
    let owner = context.device.owner(address);
    let memory = owner.as_ref().map_or(&context.device.memory, |device| &device.memory);
    match (memory.find(address), side) {
        (None, Side::Device | Side::Peer) => Err(Status::INVALID_VALUE),
        (None, _) => {
            // Freed memory of a device; the host has none there.
            let of_device =
                |device: &Arc<Device>| device.simulator.config().global_addresses.contains(&address);
            if address == 0 || context.device.all().iter().any(of_device) {
                return Err(Status::INVALID_VALUE);
            }
            Ok(Place::Host(address))
        }
        (Some(found), _) => {
            if found.kind.is_host() && memory.range(address, bytes).is_err() {
                // A buffer that is registered in part.
                return Ok(Place::Host(address));
            }
            memory.range(address, bytes)?;
            // Plain memory of other devices can be copied, whatever is enabled; memory of pools cannot.
            let of_pool = matches!(found.kind, Kind::Pool(_));
            if of_pool && side != Side::Peer && !context.reaches(address) {
                return Err(Status::INVALID_VALUE);
            }
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
    let live = |area: &Area| match area.place {
        Place::Device(address) => context.device.is_live(address),
        _ => true,
    };
    let all_live = live(&copy.from) && live(&copy.to);
    if !capturing && !all_live {
        return Err(Status::INVALID_VALUE);
    }
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
    // Where the stream takes nothing, that is said before what is wrong with a place.
    let told = |status| match when {
        When::Later => context.takes(&stream).err().unwrap_or(status),
        When::Now => status,
    };
    let to = place(&context, to.0, bytes as u64, to.1).map_err(told)?;
    let from = place(&context, from.0, bytes as u64, from.1).map_err(told)?;
    // Between places of the device nobody waits, as in CUDA.
    let shared = |place: &Place| match place {
        Place::Device(address) => match context.device.memory.find(*address) {
            Some(found) => found.kind.is_host(),
            // Another device's.
            None => true,
        },
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
            let array: Arc<Array> = object::find(array).map_err(|_| Status::INVALID_VALUE)?;
            return array.area(start, size);
        }
        _ => return Err(Status::INVALID_VALUE),
    };
    let [width, height, depth] = size;
    let base = if side == Side::Host { host } else { device };
    let pitch_bytes = if pitch[0] == 0 { width } else { pitch[0] };
    let rows = if pitch[1] == 0 { height } else { pitch[1] };
    let bad = Status::INVALID_VALUE;
    let ends =
        |start: usize, extent: usize, most: usize| start.checked_add(extent).is_none_or(|end| end > most);
    if height > 1 && ends(start[0], width, pitch_bytes) || depth > 1 && ends(start[1], height, rows) {
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
        known(to_context, from_context)?;
        linear(0, null, (to, Side::Peer), (from, Side::Peer), bytes, When::Now)
    }
    fn cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz (null;
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle
    ) {
        known(to_context, from_context)?;
        linear(stream, null, (to, Side::Peer), (from, Side::Peer), bytes, When::Later)
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
        known(copy.dst_reserved, copy.src_reserved)?;
        volume(0, null, &copy, When::Now)
    }
    fn cuMemcpy3DPeerAsync | cuMemcpy3DPeerAsync_ptsz (null; copy: *const Memcpy3D, stream: Handle) {
        let copy = get(copy)?;
        known(copy.dst_reserved, copy.src_reserved)?;
        volume(stream, null, &copy, When::Later)
    }
}

/// The contexts that a copy between devices names must be there.
fn known(to: Handle, from: Handle) -> Result {
    for context in [to, from] {
        crate::driver::context::context_or_current(context)?;
    }
    Ok(())
}

/// Submits copies whose sources are read in the order of the stream, or at once.
fn submit_batch(context: &Arc<Context>, stream: &Arc<Stream>, copy: Copy, order: u32) -> Result {
    match order {
        // In the order of the stream: nothing of the program's memory is kept aside.
        1 => context.enqueue(stream, Operation::Copy(Arc::new(copy))),
        2 => submit(context, stream, copy, When::Now),
        3 => submit(context, stream, copy, When::Later),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The context and the stream of a batch, which is not the legacy one.
fn batch_stream(stream: Handle, null: NullStream) -> Result<(Arc<Context>, Arc<Stream>)> {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    if stream.kind == StreamKind::Legacy { Err(Status::INVALID_VALUE) } else { Ok((context, stream)) }
}

/// Copies of consecutive bytes. `fail` gets the number of the first that is wrong.
pub(crate) unsafe fn batch(
    (to, from, sizes, count): (*const u64, *const u64, *const usize, usize),
    (attributes, first, attribute_count): (*const MemcpyAttributes, *const usize, usize),
    fail: *mut usize,
    (stream, null): (Handle, NullStream),
) -> Result {
    // SAFETY: null or for the result.
    unsafe { put_wanted(fail, usize::MAX) };
    let (context, stream) = batch_stream(stream, null)?;
    if count == 0 || attribute_count == 0 || attribute_count > count {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program said how many there are.
    let (to, from, sizes) = unsafe { (list(to, count)?, list(from, count)?, list(sizes, count)?) };
    // SAFETY: as above.
    let (attributes, first) = unsafe { (list(attributes, attribute_count)?, list(first, attribute_count)?) };
    let starts =
        first.first() == Some(&0) && first.is_sorted() && first.last().is_some_and(|&last| last < count);
    if !starts || attributes.iter().any(|a| !matches!(a.order, 1..=3)) {
        return Err(Status::INVALID_VALUE);
    }
    let mut copies = Vec::with_capacity(count);
    for at in 0..count {
        let bytes = sizes[at] as u64;
        let copy =
            match (place(&context, to[at], bytes, Side::Any), place(&context, from[at], bytes, Side::Any)) {
                (Ok(to), Ok(from)) if bytes > 0 => Copy::linear(to, from, bytes),
                _ => {
                    // SAFETY: null or for the result.
                    unsafe { put_wanted(fail, at) };
                    return Err(Status::INVALID_VALUE);
                }
            };
        let group = first.partition_point(|&start| start <= at) - 1;
        copies.push((copy, attributes[group].order));
    }
    copies.into_iter().try_for_each(|(copy, order)| submit_batch(&context, &stream, copy, order))
}

fn operand(context: &Context, operand: &Memcpy3DOperand, element: usize, size: [usize; 3]) -> Result<Area> {
    let [first, second, third, fourth] = operand.words;
    match operand.kind {
        1 => {
            let bad = Status::INVALID_VALUE;
            let row =
                if second == 0 { size[0] } else { (second as usize).checked_mul(element).ok_or(bad)? };
            area(context, memory_type::UNIFIED, first, first, 0, [0; 3], [row, third as usize], size)
        }
        2 => {
            let array: Arc<Array> = object::find(first)?;
            let x = (second as usize).checked_mul(element).ok_or(Status::INVALID_VALUE)?;
            array.area([x, third as usize, fourth as usize], size)
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Copies in three dimensions. Extents are elements if an array is among the operands, else bytes.
pub(crate) unsafe fn volume_batch(
    count: usize,
    operations: *const Memcpy3DBatchOp,
    fail: *mut usize,
    flags: u64,
    (stream, null): (Handle, NullStream),
) -> Result {
    // SAFETY: null or for the result.
    unsafe { put_wanted(fail, usize::MAX) };
    let (context, stream) = batch_stream(stream, null)?;
    if count == 0 || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program said how many there are.
    let operations = unsafe { list(operations, count) }?;
    let describe = |op: &Memcpy3DBatchOp| -> Result<Copy> {
        let element = |operand: &Memcpy3DOperand| match operand.kind {
            2 => object::find::<Arc<Array>>(operand.words[0]).map(|array| array.shape.element.bytes()),
            _ => Ok(1),
        };
        let element = element(&op.from)?.max(element(&op.to)?);
        let [width, height, depth] = op.size;
        let width = width.checked_mul(element).ok_or(Status::INVALID_VALUE)?;
        if width == 0 || height == 0 || depth == 0 || !matches!(op.order, 1..=3) {
            return Err(Status::INVALID_VALUE);
        }
        let size = [width, height, depth];
        let (from, to) =
            (operand(&context, &op.from, element, size)?, operand(&context, &op.to, element, size)?);
        Ok(Copy { from, to, width: width as u64, height: height as u64, depth: depth as u64 })
    };
    let mut copies = Vec::with_capacity(count);
    for (at, op) in operations.iter().enumerate() {
        copies.push((
            describe(op).inspect_err(|_| {
                // SAFETY: null or for the result.
                unsafe { put_wanted(fail, at) };
            })?,
            op.order,
        ));
    }
    copies.into_iter().try_for_each(|(copy, order)| submit_batch(&context, &stream, copy, order))
}

stream_api! {
    fn cuMemcpyBatchAsync | cuMemcpyBatchAsync_ptsz (null;
        to: *const u64, from: *const u64, sizes: *const usize, count: usize, attributes: *const MemcpyAttributes,
        first: *const usize, attribute_count: usize, fail: *mut usize, stream: Handle
    ) {
        batch((to, from, sizes, count), (attributes, first, attribute_count), fail, (stream, null))
    }

    fn cuMemcpyBatchAsync_v2 | cuMemcpyBatchAsync_v2_ptsz (null;
        to: *const u64, from: *const u64, sizes: *const usize, count: usize, attributes: *const MemcpyAttributes,
        first: *const usize, attribute_count: usize, stream: Handle
    ) {
        let nowhere = std::ptr::null_mut();
        batch((to, from, sizes, count), (attributes, first, attribute_count), nowhere, (stream, null))
    }

    fn cuMemcpy3DBatchAsync | cuMemcpy3DBatchAsync_ptsz (null;
        count: usize, operations: *const Memcpy3DBatchOp, fail: *mut usize, flags: u64, stream: Handle
    ) {
        volume_batch(count, operations, fail, flags, (stream, null))
    }

    fn cuMemcpy3DBatchAsync_v2 | cuMemcpy3DBatchAsync_v2_ptsz (null;
        count: usize, operations: *const Memcpy3DBatchOp, flags: u64, stream: Handle
    ) {
        volume_batch(count, operations, std::ptr::null_mut(), flags, (stream, null))
    }
}
