//! Arrays, and copies into and out of them.

use std::sync::Arc;

use cuda_abi::driver::{Array3DDescriptor, ArrayDescriptor, ArrayMemoryRequirements, ArraySparseProperties};
use runtime::{Array, ArrayShape, Backing, Element, MipmappedArray, Result, Status, TILE_BYTES};

use crate::driver::copy::{Side, When, submit};
use crate::ffi::{Handle, NullStream, get, put};
use crate::object;
use crate::state::{self, uncaptured};

/// What a descriptor says.
fn shape_of(said: &Array3DDescriptor) -> Result<ArrayShape> {
    let element = Element::of_number(said.format, said.channels)?;
    let Array3DDescriptor { width, height, depth, flags, .. } = *said;
    Ok(ArrayShape { width, height, depth, element, flags })
}

/// A new array of the current context.
pub(crate) fn create(shape: impl FnOnce() -> Result<ArrayShape>) -> Result<Handle> {
    let context = uncaptured()?;
    let new = Array::create(&context, shape()?)?;
    Ok(object::insert(new.id, new))
}

/// A new mipmapped array of the current context.
pub(crate) fn create_mipmapped(shape: impl FnOnce() -> Result<ArrayShape>, levels: u32) -> Result<Handle> {
    let context = uncaptured()?;
    let new = MipmappedArray::create(&context, shape()?, levels)?;
    Ok(object::insert(new.id, new))
}

/// The descriptor of an array.
pub(crate) fn descriptor_of(shape: &ArrayShape) -> Array3DDescriptor {
    let ArrayShape { width, height, depth, element, flags } = *shape;
    let (format, channels) = (element.number(), element.channels);
    Array3DDescriptor { width, height, depth, format, channels, flags }
}

/// `CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL`
const ONE_TAIL: u32 = 1;

/// What an array is asked that a program puts memory behind; others, and levels, answer nothing.
fn sparse_of(backing: Option<&Arc<Backing>>) -> Result<ArraySparseProperties> {
    let said = backing.and_then(|backing| backing.sparse()).ok_or(Status::INVALID_VALUE)?;
    Ok(ArraySparseProperties {
        tile: said.tile.map(|extent| extent as u32),
        first_of_tail: said.first_of_tail,
        tail_bytes: said.tail_bytes,
        flags: if said.one_tail && said.tail_bytes > 0 { ONE_TAIL } else { 0 },
        reserved: [0; 4],
    })
}

fn requirements_of(backing: Option<&Arc<Backing>>, device: i32) -> Result<ArrayMemoryRequirements> {
    state::device(device)?;
    let needed = backing.and_then(|backing| backing.needed()).ok_or(Status::INVALID_VALUE)?;
    Ok(ArrayMemoryRequirements { size: needed as usize, alignment: TILE_BYTES as usize, reserved: [0; 4] })
}

fn copy(
    null: NullStream,
    to: (Option<Handle>, u64, Side),
    from: (Option<Handle>, u64, Side),
    bytes: usize,
    (stream, when): (Handle, When),
) -> Result {
    let (context, stream) = state::stream(stream, null)?;
    context.check()?;
    let find = |array| object::find::<Arc<Array>>(array).map_err(|_| Status::INVALID_VALUE);
    let end = |(array, at, side): (Option<Handle>, u64, Side)| match array {
        Some(array) => find(array)?.bytes(at as usize, bytes),
        None => crate::driver::copy::place(&context, at, bytes as u64, side),
    };
    let copy = runtime::Copy::linear(end(to)?, end(from)?, bytes as u64);
    submit(&context, &stream, copy, when)
}

api! {
    fn cuArrayCreate_v2(array: *mut Handle, shape: *const ArrayDescriptor) {
        let ArrayDescriptor { width, height, format, channels } = get(shape)?;
        let said = Array3DDescriptor { width, height, depth: 0, format, channels, flags: 0 };
        put(array, create(|| shape_of(&said))?)
    }

    fn cuArray3DCreate_v2(array: *mut Handle, shape: *const Array3DDescriptor) {
        let said = get(shape)?;
        put(array, create(|| shape_of(&said))?)
    }

    fn cuArrayGetDescriptor_v2(shape: *mut ArrayDescriptor, array: Handle) {
        let array: Arc<Array> = object::find(array)?;
        let Array3DDescriptor { width, height, format, channels, .. } = descriptor_of(&array.shape);
        put(shape, ArrayDescriptor { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(shape: *mut Array3DDescriptor, array: Handle) {
        let array: Arc<Array> = object::find(array)?;
        put(shape, descriptor_of(&array.shape))
    }

    fn cuArrayDestroy(array: Handle) {
        let found: Arc<Array> = object::find(array)?;
        let context = uncaptured()?;
        object::remove::<Arc<Array>>(array)?;
        found.free(&context)
    }

    fn cuMipmappedArrayCreate(array: *mut Handle, shape: *const Array3DDescriptor, levels: u32) {
        let said = get(shape)?;
        put(array, create_mipmapped(|| shape_of(&said), levels)?)
    }

    fn cuMipmappedArrayGetLevel(level: *mut Handle, array: Handle, number: u32) {
        let found: Arc<MipmappedArray> = object::find(array)?;
        let found = found.levels.get(number as usize).ok_or(Status::INVALID_VALUE)?;
        if object::find::<Arc<Array>>(object::handle(found.id)).is_err() {
            object::insert(found.id, found.clone());
        }
        put(level, object::handle(found.id))
    }

    fn cuMipmappedArrayDestroy(array: Handle) {
        // A device tells the two apart by what is in the memory of a handle.
        let found: Arc<MipmappedArray> = object::find(array).map_err(|_| Status::CONTEXT_IS_DESTROYED)?;
        let context = uncaptured()?;
        object::remove::<Arc<MipmappedArray>>(array)?;
        for level in &found.levels {
            let _ = object::remove::<Arc<Array>>(object::handle(level.id));
        }
        found.free(&context)
    }

    fn cuMipmappedArrayGetSparseProperties(properties: *mut ArraySparseProperties, array: Handle) {
        state::runtime()?;
        let found = object::find::<Arc<MipmappedArray>>(array).map_err(|_| Status::INVALID_VALUE)?;
        put(properties, sparse_of(found.backing())?)
    }

    fn cuMipmappedArrayGetMemoryRequirements(
        requirements: *mut ArrayMemoryRequirements,
        array: Handle,
        device: i32,
    ) {
        state::runtime()?;
        let found = object::find::<Arc<MipmappedArray>>(array).map_err(|_| Status::INVALID_VALUE)?;
        put(requirements, requirements_of(found.backing(), device)?)
    }

    fn cuArrayGetPlane(plane: *mut Handle, array: Handle, _index: u32) {
        // No array has planes.
        object::find::<Arc<Array>>(array)?;
        let _ = plane;
        Err(Status::INVALID_VALUE)
    }

    fn cuArrayGetSparseProperties(properties: *mut ArraySparseProperties, array: Handle) {
        state::runtime()?;
        let found = object::find::<Arc<Array>>(array).map_err(|_| Status::INVALID_VALUE)?;
        put(properties, sparse_of(found.backing())?)
    }

    fn cuArrayGetMemoryRequirements(requirements: *mut ArrayMemoryRequirements, array: Handle, device: i32) {
        state::runtime()?;
        let found = object::find::<Arc<Array>>(array).map_err(|_| Status::INVALID_VALUE)?;
        put(requirements, requirements_of(found.backing(), device)?)
    }
}

stream_api! {
    fn cuMemcpyHtoA_v2 | cuMemcpyHtoA_v2_ptds (null; to: Handle, offset: usize, from: u64, bytes: usize) {
        copy(null, (Some(to), offset as u64, Side::Device), (None, from, Side::Host), bytes, (0, When::Now))
    }
    fn cuMemcpyAtoH_v2 | cuMemcpyAtoH_v2_ptds (null; to: u64, from: Handle, offset: usize, bytes: usize) {
        copy(null, (None, to, Side::Host), (Some(from), offset as u64, Side::Device), bytes, (0, When::Now))
    }
    fn cuMemcpyHtoAAsync_v2 | cuMemcpyHtoAAsync_v2_ptsz (null;
        to: Handle, offset: usize, from: u64, bytes: usize, stream: Handle
    ) {
        copy(null, (Some(to), offset as u64, Side::Device), (None, from, Side::Host), bytes, (stream, When::Later))
    }
    fn cuMemcpyAtoHAsync_v2 | cuMemcpyAtoHAsync_v2_ptsz (null;
        to: u64, from: Handle, offset: usize, bytes: usize, stream: Handle
    ) {
        copy(null, (None, to, Side::Host), (Some(from), offset as u64, Side::Device), bytes, (stream, When::Later))
    }
    fn cuMemcpyDtoA_v2 | cuMemcpyDtoA_v2_ptds (null; to: Handle, offset: usize, from: u64, bytes: usize) {
        copy(null, (Some(to), offset as u64, Side::Device), (None, from, Side::Device), bytes, (0, When::Now))
    }
    fn cuMemcpyAtoD_v2 | cuMemcpyAtoD_v2_ptds (null; to: u64, from: Handle, offset: usize, bytes: usize) {
        copy(null, (None, to, Side::Device), (Some(from), offset as u64, Side::Device), bytes, (0, When::Now))
    }
    fn cuMemcpyAtoA_v2 | cuMemcpyAtoA_v2_ptds (null;
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize
    ) {
        let (to, from) = ((Some(to), to_offset as u64, Side::Device), (Some(from), from_offset as u64, Side::Device));
        copy(null, to, from, bytes, (0, When::Now))
    }
}
