//! Arrays in the device memory of contexts.

use std::sync::Arc;

use cuda_abi::Result;

use crate::array::{Array, MipmappedArray};
use crate::attributes::attribute;
use crate::backing::Backing;
use crate::fresh_id;
use crate::memory::Kind;
use crate::shape::{ArrayShape, array_flags};
use crate::tree::Context;

fn attributes(context: &Context) -> impl Fn(i32) -> Result<usize> {
    let device = &context.device;
    |number| attribute(device.simulator.config(), device.index, number).map(|value| value as usize)
}

/// What a program puts behind the levels of an array that was made in so many bytes, if it does.
fn backing_of(
    context: &Context,
    levels: Vec<(ArrayShape, u64)>,
    is_mipmapped: bool,
    bytes: u64,
) -> Result<Option<Arc<Backing>>> {
    if levels[0].0.flags & (array_flags::SPARSE | array_flags::DEFERRED) == 0 {
        return Ok(None);
    }
    let device = &context.device;
    Backing::new(&device.backings, &device.simulator, levels, is_mipmapped, bytes).map(Some)
}

/// Gives the memory of an array back, after waiting for all streams.
fn free(context: &Context, base: u64, backing: Option<&Arc<Backing>>) -> Result {
    if let Some(backing) = backing {
        context.device.drain();
        backing.end(&context.device.backings, &context.device.simulator)?;
    }
    context.free(base, |found| found.kind == Kind::Device).map(|_| ())
}

impl Array {
    /// An array in a context's device memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for shapes that the device does not take, `NOT_SUPPORTED`, `OUT_OF_MEMORY`, the context's fault.
    pub fn create(context: &Context, shape: ArrayShape) -> Result<Arc<Self>> {
        let size = shape.size(attributes(context))?;
        let base = context.allocate(size, Kind::Device, "array")?;
        let backing = backing_of(context, vec![(shape, base)], false, size)?;
        Ok(Arc::new(Self { id: fresh_id(), shape, base, is_level: false, backing }))
    }

    /// Gives its memory back, after waiting for all streams.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was freed.
    pub fn free(&self, context: &Context) -> Result {
        // A device takes it for done, too.
        if self.is_level {
            return Ok(());
        }
        free(context, self.base, self.backing.as_ref())
    }
}

impl MipmappedArray {
    /// A mipmapped array of `levels` levels, of at least one and as many as its size has.
    ///
    /// # Errors
    /// Those of [`Array::create`].
    pub fn create(context: &Context, shape: ArrayShape, levels: u32) -> Result<Arc<Self>> {
        shape.size(attributes(context))?;
        let shapes: Vec<ArrayShape> =
            (0..levels.clamp(1, shape.most_levels())).map(|level| shape.level(level)).collect();
        let bytes =
            |shape: &ArrayShape| (shape.row() * shape.rows() * shape.depth.max(1)).next_multiple_of(512);
        let size = shapes.iter().map(bytes).sum::<usize>() as u64;
        let base = context.allocate(size, Kind::Device, "mipmapped array")?;
        let mut next = base;
        let places = shapes.into_iter().map(|shape| {
            let base = next;
            next += bytes(&shape) as u64;
            (shape, base)
        });
        let places: Vec<(ArrayShape, u64)> = places.collect();
        let level = |&(shape, base): &(ArrayShape, u64)| {
            Arc::new(Array { id: fresh_id(), shape, base, is_level: true, backing: None })
        };
        let levels = places.iter().map(level).collect();
        let backing = backing_of(context, places, true, size)?;
        Ok(Arc::new(Self { id: fresh_id(), shape, levels, backing }))
    }

    /// Gives its memory back, after waiting for all streams.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was freed.
    pub fn free(&self, context: &Context) -> Result {
        free(context, self.levels[0].base, self.backing.as_ref())
    }
}
