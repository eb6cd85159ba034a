//! The shapes of arrays: their elements, extents and flags.

use cuda_abi::numbers::device_attribute as a;
use cuda_abi::{Result, Status};
use sim_core::{BLOCK_SIDE, Blocks};

/// The format of an element's channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Unsigned integers of so many bytes: 1, 2 or 4.
    Unsigned(u8),
    /// Signed integers of so many bytes: 1, 2 or 4.
    Signed(u8),
    /// Floats of so many bytes: 2 or 4.
    Float(u8),
    /// Unsigned integers of so many bytes that are always read as fractions: 1 or 2.
    UnsignedNormalized(u8),
    /// The same with a sign.
    SignedNormalized(u8),
    /// Three fractions of ten bits and one of two.
    Packed,
    /// Blocks of four times four elements.
    Compressed {
        /// How.
        blocks: Blocks,
        /// Whether colours are sRGB.
        srgb: bool,
    },
}

/// A block-compressed format.
const fn compressed(blocks: Blocks, srgb: bool) -> Format {
    Format::Compressed { blocks, srgb }
}

/// CUDA's numbers of the formats (`CUarray_format`), and how many channels those have that have but one number of them.
const FORMATS: [(u32, Format, Option<u32>); 35] = [
    (0x01, Format::Unsigned(1), None),
    (0x02, Format::Unsigned(2), None),
    (0x03, Format::Unsigned(4), None),
    (0x08, Format::Signed(1), None),
    (0x09, Format::Signed(2), None),
    (0x0a, Format::Signed(4), None),
    (0x10, Format::Float(2), None),
    (0x20, Format::Float(4), None),
    (0x50, Format::Packed, Some(4)),
    (0x91, compressed(Blocks::Bc1, false), Some(4)),
    (0x92, compressed(Blocks::Bc1, true), Some(4)),
    (0x93, compressed(Blocks::Bc2, false), Some(4)),
    (0x94, compressed(Blocks::Bc2, true), Some(4)),
    (0x95, compressed(Blocks::Bc3, false), Some(4)),
    (0x96, compressed(Blocks::Bc3, true), Some(4)),
    (0x97, compressed(Blocks::Bc4, false), Some(1)),
    (0x98, compressed(Blocks::Bc4Signed, false), Some(1)),
    (0x99, compressed(Blocks::Bc5, false), Some(2)),
    (0x9a, compressed(Blocks::Bc5Signed, false), Some(2)),
    (0x9b, compressed(Blocks::Bc6, false), Some(3)),
    (0x9c, compressed(Blocks::Bc6Signed, false), Some(3)),
    (0x9d, compressed(Blocks::Bc7, false), Some(4)),
    (0x9e, compressed(Blocks::Bc7, true), Some(4)),
    (0xc0, Format::UnsignedNormalized(1), Some(1)),
    (0xc1, Format::UnsignedNormalized(1), Some(2)),
    (0xc2, Format::UnsignedNormalized(1), Some(4)),
    (0xc3, Format::UnsignedNormalized(2), Some(1)),
    (0xc4, Format::UnsignedNormalized(2), Some(2)),
    (0xc5, Format::UnsignedNormalized(2), Some(4)),
    (0xc6, Format::SignedNormalized(1), Some(1)),
    (0xc7, Format::SignedNormalized(1), Some(2)),
    (0xc8, Format::SignedNormalized(1), Some(4)),
    (0xc9, Format::SignedNormalized(2), Some(1)),
    (0xca, Format::SignedNormalized(2), Some(2)),
    (0xcb, Format::SignedNormalized(2), Some(4)),
];

/// Formats that a device has and this one has not: those of several planes.
const UNSUPPORTED: [std::ops::RangeInclusive<u32>; 2] = [0x9f..=0xb1, 0xcc..=0xff];
/// Their channels.
const PLANE_CHANNELS: u32 = 3;

impl Format {
    /// Bytes of a channel, of packed ones in the mean, of compressed elements those that CUDA's runtime gives them.
    pub fn bytes(self) -> usize {
        match self {
            Self::Unsigned(bytes)
            | Self::Signed(bytes)
            | Self::Float(bytes)
            | Self::UnsignedNormalized(bytes)
            | Self::SignedNormalized(bytes) => usize::from(bytes),
            Self::Packed => 1,
            Self::Compressed { blocks, .. } => 1 + usize::from(blocks.is_float()),
        }
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
        let fine = match format {
            Format::Compressed { blocks, .. } if blocks.is_float() => channels == 3,
            Format::Packed => channels == 4,
            _ => matches!(channels, 1 | 2 | 4),
        };
        if fine { Ok(Self { format, channels }) } else { Err(Status::INVALID_VALUE) }
    }

    /// An element of CUDA's number of a format.
    ///
    /// # Errors
    /// `INVALID_VALUE` for what is none, `NOT_SUPPORTED` for formats of several planes.
    pub fn of_number(number: u32, channels: u32) -> Result<Self> {
        if UNSUPPORTED.iter().any(|range| range.contains(&number)) {
            return Err(if channels == PLANE_CHANNELS {
                Status::NOT_SUPPORTED
            } else {
                Status::INVALID_VALUE
            });
        }
        let found = FORMATS
            .iter()
            .find(|(known, _, count)| *known == number && count.is_none_or(|count| count == channels));
        found.map_or(Err(Status::INVALID_VALUE), |(_, format, _)| Self::new(*format, channels))
    }

    /// CUDA's number of its format.
    pub fn number(self) -> u32 {
        let mine = |row: &&(u32, Format, Option<u32>)| {
            row.1 == self.format && row.2.is_none_or(|count| count == self.channels)
        };
        FORMATS.iter().find(mine).map_or(0, |(number, ..)| *number)
    }

    /// Its bytes, or those of a block of them.
    pub fn bytes(self) -> usize {
        match self.format {
            Format::Compressed { blocks, .. } => blocks.bytes() as usize,
            format => format.bytes() * self.channels as usize,
        }
    }

    /// How many of them stand side by side in what has its bytes.
    pub const fn side(self) -> usize {
        match self.format {
            Format::Compressed { .. } => BLOCK_SIDE as usize,
            _ => 1,
        }
    }
}

/// CUDA's flags of an array (`CUDA_ARRAY3D_*`).
pub mod array_flags {
    /// The depth counts layers.
    pub const LAYERED: u32 = 1;
    /// Surfaces may be made of it.
    pub const SURFACE: u32 = 2;
    /// Six faces.
    pub const CUBE: u32 = 4;
    /// For `tld4`.
    pub const GATHER: u32 = 8;
    /// The program puts memory behind it, tile by tile.
    pub const SPARSE: u32 = 0x40;
    /// It waits for its memory.
    pub const DEFERRED: u32 = 0x80;
    /// For video units, which changes nothing here.
    pub const VIDEO: u32 = 0x100;
}

use array_flags::{CUBE, DEFERRED, GATHER, LAYERED, SPARSE, SURFACE, VIDEO};

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

/// The most extents of arrays of a kind.
struct Most([i32; 3]);

/// Those of a volume that is deeper than others may be.
const DEEP: [i32; 3] = [
    a::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
    a::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
    a::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE,
];

impl ArrayShape {
    /// Whether the depth counts layers or faces.
    pub const fn is_layered(&self) -> bool {
        self.flags & (LAYERED | CUBE) != 0
    }

    /// The attributes of a device that say how large it may be, if its flags and dimensions agree.
    fn limits(&self) -> Result<Most> {
        let Self { width, height, depth, flags, .. } = *self;
        let is_compressed = matches!(self.element.format, Format::Compressed { .. });
        if is_compressed && flags & SURFACE != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let kind = flags & !(SURFACE | VIDEO | SPARSE | DEFERRED);
        let fits = match kind {
            0 => depth == 0 || height > 0,
            LAYERED => depth > 0,
            CUBE => width == height && depth == 6,
            kind if kind == CUBE | LAYERED => width == height && depth > 0 && depth.is_multiple_of(6),
            GATHER => height > 0 && depth == 0,
            _ => false,
        };
        // Sparse arrays are of two dimensions or three, and neither surfaces nor cubemaps.
        let fits = fits && (flags & SPARSE == 0 || height > 0 && flags & (SURFACE | CUBE | DEFERRED) == 0);
        if width == 0 || !fits || is_compressed && height == 0 {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Most(match kind {
            LAYERED if height == 0 => {
                [a::MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 0, a::MAXIMUM_TEXTURE1D_LAYERED_LAYERS]
            }
            LAYERED => [
                a::MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                a::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                a::MAXIMUM_TEXTURE2D_LAYERED_LAYERS,
            ],
            CUBE => [
                a::MAXIMUM_TEXTURECUBEMAP_WIDTH,
                a::MAXIMUM_TEXTURECUBEMAP_WIDTH,
                a::MAXIMUM_TEXTURECUBEMAP_WIDTH,
            ],
            GATHER => [a::MAXIMUM_TEXTURE2D_GATHER_WIDTH, a::MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 0],
            0 if height == 0 => [a::MAXIMUM_TEXTURE1D_WIDTH, 0, 0],
            0 if depth == 0 => [a::MAXIMUM_TEXTURE2D_WIDTH, a::MAXIMUM_TEXTURE2D_HEIGHT, 0],
            0 => [a::MAXIMUM_TEXTURE3D_WIDTH, a::MAXIMUM_TEXTURE3D_HEIGHT, a::MAXIMUM_TEXTURE3D_DEPTH],
            _ => [
                a::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                a::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                a::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS,
            ],
        }))
    }

    /// Bytes of it, if the attributes of a device allow it.
    pub(crate) fn size(&self, attribute: impl Fn(i32) -> Result<usize>) -> Result<u64> {
        let Most(most) = self.limits()?;
        let fits = |most: [i32; 3]| -> Result<bool> {
            for (extent, number) in [self.width, self.height, self.depth].into_iter().zip(most) {
                if extent > if number == 0 { 0 } else { attribute(number)? } {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let is_volume = most[2] == a::MAXIMUM_TEXTURE3D_DEPTH;
        if !(fits(most)? || is_volume && fits(DEEP)?) {
            return Err(Status::INVALID_VALUE);
        }
        let rows = self.rows().checked_mul(self.depth.max(1));
        let columns = self.width.div_ceil(self.element.side());
        let size = rows.and_then(|rows| rows.checked_mul(columns)?.checked_mul(self.element.bytes()));
        size.map(|size| size as u64).ok_or(Status::OUT_OF_MEMORY)
    }

    /// The shape of a mipmap level: halves of each dimension but layers, at least one.
    pub(crate) fn level(&self, level: u32) -> Self {
        let half = |extent: usize| if extent == 0 { 0 } else { (extent >> level.min(63)).max(1) };
        let depth = if self.is_layered() { self.depth } else { half(self.depth) };
        Self { width: half(self.width), height: half(self.height), depth, ..*self }
    }

    /// The most levels it may have.
    pub(crate) fn most_levels(&self) -> u32 {
        let depth = if self.is_layered() { 0 } else { self.depth };
        self.width.max(self.height).max(depth).max(1).ilog2() + 1
    }

    /// Bytes of a row, be it of blocks.
    pub fn row(&self) -> usize {
        self.width.div_ceil(self.element.side()) * self.element.bytes()
    }

    /// Rows in memory.
    pub fn rows(&self) -> usize {
        self.height.div_ceil(self.element.side()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::attribute;

    fn shape(width: usize, height: usize, depth: usize) -> ArrayShape {
        let element = Element::new(Format::Float(4), 2).unwrap();
        ArrayShape { width, height, depth, element, flags: 0 }
    }

    #[test]
    fn formats_have_numbers_and_sizes() {
        for (number, format, channels) in FORMATS {
            let element = Element::of_number(number, channels.unwrap_or(4)).unwrap();
            assert_eq!((element.format, element.number()), (format, number));
            assert_eq!(Element::of_number(number, 3).is_ok(), channels == Some(3), "{number:#x}");
        }
        assert_eq!(Element::of_number(4, 1), Err(Status::INVALID_VALUE));
        assert_eq!(Element::of_number(0xc0, 2), Err(Status::INVALID_VALUE));
        assert_eq!(Element::of_number(0x9f, 3), Err(Status::NOT_SUPPORTED), "several planes");
        assert_eq!(Element::of_number(0x9f, 1), Err(Status::INVALID_VALUE));
        assert_eq!(Element::of_number(2, 4).unwrap().bytes(), 8);
    }

    #[test]
    fn shapes_are_those_that_a_device_takes() {
        let attribute =
            |number| attribute(&sim_core::DeviceConfig::h200(), 0, number).map(|value| value as usize);
        let size = |shape: ArrayShape| shape.size(attribute);
        assert_eq!(size(shape(100, 0, 0)), Ok(800));
        assert_eq!(size(shape(50, 40, 0)), Ok(16_000));
        assert_eq!(size(shape(10, 10, 10)), Ok(8000));
        for bad in [
            shape(0, 0, 0),
            shape(131_073, 0, 0),
            shape(50, 65_537, 0),
            shape(10, 0, 10),
            shape(10, 10, 32_769),
        ] {
            assert_eq!(size(bad), Err(Status::INVALID_VALUE), "{bad:?}");
        }
        // What an H200 answers, by flags and extents.
        for (flags, extents, fine) in [
            (LAYERED, [6, 6, 6], true),
            (LAYERED, [6, 0, 6], true),
            (LAYERED, [6, 6, 0], false),
            (CUBE, [6, 6, 6], true),
            (CUBE, [6, 6, 12], false),
            (CUBE, [6, 5, 6], false),
            (CUBE | LAYERED, [6, 6, 12], true),
            (CUBE | LAYERED, [6, 6, 5], false),
            (GATHER, [6, 6, 0], true),
            (GATHER, [6, 6, 6], false),
            (GATHER | LAYERED, [6, 6, 6], false),
            (0x10, [6, 6, 0], false),
            (0x20, [6, 6, 0], false),
        ] {
            let [width, height, depth] = extents;
            let shape = ArrayShape { flags, ..shape(width, height, depth) };
            assert_eq!(size(shape).is_ok(), fine, "{flags} {extents:?}");
        }
        let with = |flags, extents: [usize; 3]| {
            let [width, height, depth] = extents;
            size(ArrayShape { flags, ..shape(width, height, depth) })
        };
        assert!(with(SPARSE, [6, 6, 0]).is_ok() && with(DEFERRED, [6, 0, 0]).is_ok());
        for (flags, extents) in [
            (SPARSE, [6, 0, 0]),
            (SPARSE | SURFACE, [6, 6, 0]),
            (SPARSE | CUBE, [6, 6, 6]),
            (SPARSE | DEFERRED, [6, 6, 0]),
            (DEFERRED | GATHER, [6, 6, 6]),
            (SPARSE, [6, 131_073, 0]),
        ] {
            assert_eq!(with(flags, extents), Err(Status::INVALID_VALUE), "{flags:#x} {extents:?}");
        }
        assert_eq!(with(VIDEO | LAYERED, [6, 6, 3]), with(LAYERED, [6, 6, 3]));
        // Deep volumes are narrower.
        assert!(with(0, [1, 2, 32_768]).is_ok() && with(0, [8193, 2, 32_768]).is_err());
    }

    #[test]
    fn levels_halve() {
        let shape = shape(13, 7, 0);
        assert_eq!(shape.most_levels(), 4);
        let extents = |level| (shape.level(level).width, shape.level(level).height, shape.level(level).depth);
        assert_eq!(
            [extents(0), extents(1), extents(2), extents(3)],
            [(13, 7, 0), (6, 3, 0), (3, 1, 0), (1, 1, 0)]
        );
        let layers = ArrayShape { flags: LAYERED, depth: 5, ..shape };
        assert_eq!((layers.level(2).depth, layers.most_levels()), (5, 4));
    }
}
