//! Arrays: device memory with a shape, for copies. Kernels read them through textures, which are refused.

use std::sync::Arc;

use cuda_abi::numbers::device_attribute as a;
use cuda_abi::{Result, Status};

use crate::attributes::attribute;
use crate::context::Context;
use crate::copy::{Area, Place};
use crate::fresh_id;
use crate::memory::Kind;

/// The format of an element's channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Unsigned integers of so many bytes: 1, 2 or 4.
    Unsigned(u8),
    /// Signed integers of so many bytes: 1, 2 or 4.
    Signed(u8),
    /// Floats of so many bytes: 2 or 4.
    Float(u8),
}

/// CUDA's numbers of the formats (`CUarray_format`). Compressed and planar ones are not supported.
const FORMATS: [(u32, Format); 8] = [
    (0x01, Format::Unsigned(1)),
    (0x02, Format::Unsigned(2)),
    (0x03, Format::Unsigned(4)),
    (0x08, Format::Signed(1)),
    (0x09, Format::Signed(2)),
    (0x0a, Format::Signed(4)),
    (0x10, Format::Float(2)),
    (0x20, Format::Float(4)),
];

impl Format {
    /// The format of CUDA's number.
    ///
    /// # Errors
    /// `INVALID_VALUE` for others.
    pub fn of_number(number: u32) -> Result<Self> {
        let found = FORMATS.iter().find(|(known, _)| *known == number);
        found.map(|(_, format)| *format).ok_or(Status::INVALID_VALUE)
    }

    /// CUDA's number.
    pub fn number(self) -> u32 {
        FORMATS.iter().find(|(_, format)| *format == self).map_or(0, |(number, _)| *number)
    }

    /// Bytes of a channel.
    pub fn bytes(self) -> usize {
        let (Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Float(bytes)) = self;
        usize::from(bytes)
    }
}

/// An element: its channels and their format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// The format of each channel.
    pub format: Format,
    /// 1, 2 or 4.
    pub channels: u32,
}

impl Element {
    /// An element of so many channels.
    ///
    /// # Errors
    /// `INVALID_VALUE` for other numbers of channels.
    pub fn new(format: Format, channels: u32) -> Result<Self> {
        if matches!(channels, 1 | 2 | 4) { Ok(Self { format, channels }) } else { Err(Status::INVALID_VALUE) }
    }

    /// Its bytes.
    pub fn bytes(self) -> usize {
        self.format.bytes() * self.channels as usize
    }
}

/// The shape of an array: extents in elements, 0 for dimensions that it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayShape {
    /// Elements a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices, layers or faces.
    pub depth: usize,
    /// The elements.
    pub element: Element,
    /// CUDA's flags.
    pub flags: u32,
}

/// Layers, surfaces, cubes, gathers, depth textures: none changes what copies do.
const FLAGS: u32 = 0x1f;

impl ArrayShape {
    /// Bytes of it, if a device with these most extents in one, two and three dimensions takes it.
    fn size(&self, most: [[usize; 3]; 3]) -> Result<u64> {
        let Self { width, height, depth, element, flags } = *self;
        let most = match (height, depth) {
            (0, 0) => most[0],
            (_, 0) => most[1],
            _ => most[2],
        };
        if width == 0 || width > most[0] || height > most[1] || depth > most[2] || depth > 0 && height == 0 {
            return Err(Status::INVALID_VALUE);
        }
        if flags & !FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let rows = height.max(1).checked_mul(depth.max(1));
        let size = rows.and_then(|rows| rows.checked_mul(width)?.checked_mul(element.bytes()));
        size.map(|size| size as u64).ok_or(Status::OUT_OF_MEMORY)
    }

    /// Bytes of a row.
    pub fn row(&self) -> usize {
        self.width * self.element.bytes()
    }
}

/// An array.
#[derive(Debug)]
pub struct Array {
    /// Its number.
    pub id: u64,
    /// Its shape.
    pub shape: ArrayShape,
    base: u64,
}

impl Array {
    /// An array in a context's device memory.
    ///
    /// # Errors
    /// `INVALID_VALUE` for shapes that the device does not take, `OUT_OF_MEMORY`, the context's fault.
    pub fn create(context: &Context, shape: ArrayShape) -> Result<Arc<Self>> {
        let device = &context.device;
        let limit =
            |number| attribute(device.simulator.config(), device.index, number).map(|value| value as usize);
        let line = limit(a::MAXIMUM_TEXTURE1D_WIDTH)?;
        let plane = [limit(a::MAXIMUM_TEXTURE2D_WIDTH)?, limit(a::MAXIMUM_TEXTURE2D_HEIGHT)?];
        let volume = [
            limit(a::MAXIMUM_TEXTURE3D_WIDTH)?,
            limit(a::MAXIMUM_TEXTURE3D_HEIGHT)?,
            limit(a::MAXIMUM_TEXTURE3D_DEPTH)?,
        ];
        let size = shape.size([[line, 0, 0], [plane[0], plane[1], 0], volume])?;
        let base = context.allocate(size, Kind::Device, "array")?;
        Ok(Arc::new(Self { id: fresh_id(), shape, base }))
    }

    /// Gives its memory back, after waiting for all streams.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was freed.
    pub fn free(&self, context: &Context) -> Result {
        context.free(self.base, |found| found.kind == Kind::Device).map(|_| ())
    }

    /// A part of it: start and size, x in bytes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is not inside.
    pub fn area(&self, start: [usize; 3], size: [usize; 3]) -> Result<Area> {
        let extent = [self.shape.row(), self.shape.height.max(1), self.shape.depth.max(1)];
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
    ///
    /// # Errors
    /// `INVALID_VALUE` if they are not inside.
    pub fn bytes(&self, offset: usize, bytes: usize) -> Result<Place> {
        Ok(self.area([offset, 0, 0], [bytes, 1, 1])?.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(width: usize, height: usize, depth: usize) -> ArrayShape {
        let element = Element::new(Format::Float(4), 2).unwrap();
        ArrayShape { width, height, depth, element, flags: 0 }
    }

    #[test]
    fn formats_have_numbers_and_sizes() {
        for (number, format) in FORMATS {
            assert_eq!((Format::of_number(number), format.number()), (Ok(format), number));
        }
        assert_eq!(Format::of_number(4), Err(Status::INVALID_VALUE));
        assert_eq!(Element::new(Format::Unsigned(2), 4).unwrap().bytes(), 8);
        assert_eq!(Element::new(Format::Unsigned(2), 3), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn shapes_are_those_that_a_device_takes() {
        let most = [[100, 0, 0], [50, 40, 0], [10, 10, 10]];
        assert_eq!(shape(100, 0, 0).size(most), Ok(800));
        assert_eq!(shape(50, 40, 0).size(most), Ok(16_000));
        assert_eq!(shape(10, 10, 10).size(most), Ok(8000));
        for bad in [shape(0, 0, 0), shape(101, 0, 0), shape(50, 41, 0), shape(10, 0, 10), shape(10, 10, 11)] {
            assert_eq!(bad.size(most), Err(Status::INVALID_VALUE), "{bad:?}");
        }
        assert_eq!(ArrayShape { flags: 0x20, ..shape(1, 0, 0) }.size(most), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn parts_lie_inside() {
        let array = Array { id: 1, shape: shape(4, 3, 2), base: 0x1000 };
        let area = array.area([8, 1, 1], [24, 2, 1]).unwrap();
        assert_eq!(area, Area { place: Place::Device(0x1000 + 96 + 32 + 8), pitch: 32, slice: 96 });
        assert_eq!(array.area([8, 1, 1], [25, 2, 1]), Err(Status::INVALID_VALUE));
        assert_eq!(array.area([0, 2, 0], [1, 2, 1]), Err(Status::INVALID_VALUE));
        assert_eq!(array.area([usize::MAX, 0, 0], [1, 1, 1]), Err(Status::INVALID_VALUE));
        assert_eq!(array.bytes(31, 1), Ok(Place::Device(0x101f)));
        assert!(array.bytes(31, 2).is_err());
    }
}
