//! Arrays: device memory with a shape, for copies. Kernels read them through textures, which are refused.

use std::sync::Arc;

use cuda_abi::driver::{Array3DDescriptor, ArrayDescriptor};
use runtime::{Area, Kind, Place, Result, Status, fresh_id};

use crate::driver::copy::{Side, When, submit};
use crate::driver::device::element_bytes;
use crate::ffi::{Handle, get, put};
use crate::object;
use crate::state::{self, NullStream, uncaptured};

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    pub id: u64,
    base: u64,
    /// Bytes of an element, with all its channels.
    element: usize,
    pub shape: Array3DDescriptor,
}

impl Array {
    pub(crate) fn new(shape: Array3DDescriptor) -> Result<Arc<Array>> {
        let context = uncaptured()?;
        let element = element_bytes(shape.format, shape.channels).ok_or(Status::INVALID_VALUE)?;
        let Array3DDescriptor { width, height, depth, flags, .. } = shape;
        let most = match (height, depth) {
            (0, 0) => [131_072, 0, 0],
            (_, 0) => [131_072, 65_536, 0],
            _ => [16_384, 16_384, 16_384],
        };
        if width == 0 || width > most[0] || height > most[1] || depth > most[2] || depth > 0 && height == 0 {
            return Err(Status::INVALID_VALUE);
        }
        // Layers and faces of cubes are slices; loads and stores of surfaces and depth textures change nothing here.
        if flags & !0x1f != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let rows = shape.height.max(1).checked_mul(shape.depth.max(1));
        let size = rows.and_then(|rows| rows.checked_mul(shape.width)?.checked_mul(element));
        let size = size.ok_or(Status::OUT_OF_MEMORY)?;
        let base = context.allocate(size as u64, Kind::Device, "array")?;
        Ok(Arc::new(Array { id: fresh_id(), base, element, shape }))
    }

    /// Bytes of an element, with all its channels.
    pub(crate) fn element(&self) -> usize {
        self.element
    }

    fn pitch(&self) -> usize {
        self.shape.width * self.element
    }

    /// A part of it: start and size, x in bytes.
    pub(crate) fn area(&self, start: [usize; 3], size: [usize; 3]) -> Result<Area> {
        let extent = [self.pitch(), self.shape.height.max(1), self.shape.depth.max(1)];
        for axis in 0..3 {
            if start[axis].checked_add(size[axis]).is_none_or(|end| end > extent[axis]) {
                return Err(Status::INVALID_VALUE);
            }
        }
        let (pitch, slice) = (extent[0], extent[0] * extent[1]);
        let first = start[2] * slice + start[1] * pitch + start[0];
        Ok(Area { place: Place::Device(self.base + first as u64), pitch: pitch as u64, slice: slice as u64 })
    }

    /// The place of consecutive bytes of its first row.
    fn bytes(&self, offset: usize, bytes: usize) -> Result<Place> {
        let area = self.area([offset, 0, 0], [bytes, 1, 1])?;
        Ok(area.place)
    }
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
        let shape = get(shape)?;
        let new = Array::new(Array3DDescriptor {
            width: shape.width,
            height: shape.height,
            depth: 0,
            format: shape.format,
            channels: shape.channels,
            flags: 0,
        })?;
        put(array, object::insert(new.id, new))
    }

    fn cuArray3DCreate_v2(array: *mut Handle, shape: *const Array3DDescriptor) {
        let new = Array::new(get(shape)?)?;
        put(array, object::insert(new.id, new))
    }

    fn cuArrayGetDescriptor_v2(shape: *mut ArrayDescriptor, array: Handle) {
        let array: Arc<Array> = object::find(array)?;
        let Array3DDescriptor { width, height, format, channels, .. } = array.shape;
        put(shape, ArrayDescriptor { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(shape: *mut Array3DDescriptor, array: Handle) {
        let array: Arc<Array> = object::find(array)?;
        put(shape, array.shape)
    }

    fn cuArrayDestroy(array: Handle) {
        let found: Arc<Array> = object::find(array)?;
        let context = uncaptured()?;
        object::remove::<Arc<Array>>(array)?;
        context.free(found.base, |a| a.kind == Kind::Device).map(|_| ())
    }

    fn cuArrayGetPlane(plane: *mut Handle, array: Handle, _index: u32) {
        // No array has planes.
        object::find::<Arc<Array>>(array)?;
        let _ = plane;
        Err(Status::INVALID_VALUE)
    }

    fn cuArrayGetSparseProperties(_properties: *mut u64, _array: Handle) {
        // No array is sparse.
        state::runtime()?;
        Err(Status::INVALID_VALUE)
    }

    fn cuArrayGetMemoryRequirements(_requirements: *mut u64, _array: Handle, _device: i32) {
        // No array waits for its memory.
        state::runtime()?;
        Err(Status::INVALID_VALUE)
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
