//! Arrays: device memory with a shape, for copies, textures and surfaces.

use std::sync::Arc;

use cuda_abi::{Result, Status};

use crate::area::{Area, Place};
use crate::backing::Backing;
use crate::shape::ArrayShape;

/// An array.
#[derive(Debug)]
pub struct Array {
    /// Its number.
    pub id: u64,
    /// Its shape.
    pub shape: ArrayShape,
    pub(crate) base: u64,
    /// Whether it is a level of a mipmapped array, which has its memory.
    pub(crate) is_level: bool,
    /// What a program puts behind it, if it does.
    pub(crate) backing: Option<Arc<Backing>>,
}

impl Array {
    /// The address of its first element.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// What a program puts behind it; a level of a mipmapped array has nothing of its own.
    pub fn backing(&self) -> Option<&Arc<Backing>> {
        self.backing.as_ref()
    }

    /// A part of it: start and size, x in bytes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it is not inside.
    pub fn area(&self, start: [usize; 3], size: [usize; 3]) -> Result<Area> {
        let extent = [self.shape.row(), self.shape.rows(), self.shape.depth.max(1)];
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

/// An array with smaller ones of the same elements, each half the one before.
#[derive(Debug)]
pub struct MipmappedArray {
    /// Its number.
    pub id: u64,
    /// The shape of its first level.
    pub shape: ArrayShape,
    /// Its levels, each an array.
    pub levels: Vec<Arc<Array>>,
    /// What a program puts behind it, if it does.
    pub(crate) backing: Option<Arc<Backing>>,
}

impl MipmappedArray {
    /// What a program puts behind it.
    pub fn backing(&self) -> Option<&Arc<Backing>> {
        self.backing.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Element, Format};

    #[test]
    fn parts_lie_inside() {
        let element = Element::new(Format::Float(4), 2).unwrap();
        let shape = ArrayShape { width: 4, height: 3, depth: 2, element, flags: 0 };
        let array = Array { id: 1, shape, base: 0x1000, is_level: false, backing: None };
        let area = array.area([8, 1, 1], [24, 2, 1]).unwrap();
        assert_eq!(area, Area { place: Place::Device(0x1000 + 96 + 32 + 8), pitch: 32, slice: 96 });
        assert_eq!(array.area([8, 1, 1], [25, 2, 1]), Err(Status::INVALID_VALUE));
        assert_eq!(array.area([0, 2, 0], [1, 2, 1]), Err(Status::INVALID_VALUE));
        assert_eq!(array.area([usize::MAX, 0, 0], [1, 1, 1]), Err(Status::INVALID_VALUE));
        assert_eq!(array.bytes(31, 1), Ok(Place::Device(0x101f)));
        assert!(array.bytes(31, 2).is_err());
    }
}
