//! Arrays in the device memory of contexts.

use std::sync::Arc;

use cuda_abi::Result;

use crate::array::{Array, ArrayShape, MipmappedArray};
use crate::attributes::attribute;
use crate::fresh_id;
use crate::memory::Kind;
use crate::tree::Context;

fn attributes(context: &Context) -> impl Fn(i32) -> Result<usize> {
    let device = &context.device;
    |number| attribute(device.simulator.config(), device.index, number).map(|value| value as usize)
}

impl Array {
    /// An array in a context's device memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for shapes that the device does not take, `NOT_SUPPORTED`, `OUT_OF_MEMORY`, the context's fault.
    pub fn create(context: &Context, shape: ArrayShape) -> Result<Arc<Self>> {
        let size = shape.size(attributes(context))?;
        let base = context.allocate(size, Kind::Device, "array")?;
        Ok(Arc::new(Self { id: fresh_id(), shape, base, is_level: false }))
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
        context.free(self.base, |found| found.kind == Kind::Device).map(|_| ())
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
        let base = context.allocate(
            shapes.iter().map(bytes).sum::<usize>() as u64,
            Kind::Device,
            "mipmapped array",
        )?;
        let mut next = base;
        let levels = shapes.into_iter().map(|shape| {
            let base = next;
            next += bytes(&shape) as u64;
            Arc::new(Array { id: fresh_id(), shape, base, is_level: true })
        });
        Ok(Arc::new(Self { id: fresh_id(), shape, levels: levels.collect() }))
    }

    /// Gives its memory back, after waiting for all streams.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was freed.
    pub fn free(&self, context: &Context) -> Result {
        context.free(self.levels[0].base, |found| found.kind == Kind::Device).map(|_| ())
    }
}
