//! A tensor map's fields.

use isa::ScalarType;

/// Most dimensions of a tensor.
pub(crate) const RANK: usize = 5;

/// The type of a tensor's elements, in the order of the driver's enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the manual's names")]
pub enum ElementType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
}

impl ElementType {
    /// All, in the order of `CUtensorMapDataType`.
    pub const ALL: [ElementType; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// In the order of `tensormap.replace` (ISA 9.7.9.26).
    pub const OF_PTX: [ElementType; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::F32 | Self::F64 | Self::Bf16 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz
        )
    }

    /// Whether a reduction flushes subnormals to zero.
    pub const fn flushes(self) -> bool {
        matches!(self, Self::F32Ftz | Self::Tf32Ftz)
    }

    /// The type that a reduction of its elements computes with.
    pub const fn scalar(self) -> ScalarType {
        match self {
            Self::U8 => ScalarType::U8,
            Self::U16 => ScalarType::U16,
            Self::U32 => ScalarType::U32,
            Self::S32 => ScalarType::S32,
            Self::U64 => ScalarType::U64,
            Self::S64 => ScalarType::S64,
            Self::F16 => ScalarType::F16,
            Self::Bf16 => ScalarType::Bf16,
            Self::F64 => ScalarType::F64,
            Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => ScalarType::F32,
        }
    }
}

/// Whether channels are interleaved in slices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "bytes of a slice")]
pub enum Interleave {
    None,
    B16,
    B32,
}

/// How 16-byte pieces change places in shared memory (ISA 5.5.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "bytes of the span in which pieces change places")]
pub enum Swizzle {
    None,
    B32,
    B64,
    B128,
}

impl Swizzle {
    /// All, in the order of the driver's and the manual's enumerations.
    pub const ALL: [Swizzle; 4] = [Self::None, Self::B32, Self::B64, Self::B128];

    /// Bytes of a row of the box that it allows; `None` for any.
    pub const fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::B32 => Some(32),
            Self::B64 => Some(64),
            Self::B128 => Some(128),
        }
    }

    /// Where the byte goes that without it would lie at this address of shared memory.
    pub const fn apply(self, address: u64) -> u64 {
        let rows = match self {
            Self::None => 0,
            Self::B32 => 1,
            Self::B64 => 3,
            Self::B128 => 7,
        };
        address ^ (address >> 7 & rows) << 4
    }
}

impl Interleave {
    /// All, in the order of the driver's and the manual's enumerations.
    pub const ALL: [Interleave; 3] = [Self::None, Self::B16, Self::B32];

    /// Bytes of a slice of channels; `None` where they are not interleaved.
    pub const fn slice(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::B16 => Some(16),
            Self::B32 => Some(32),
        }
    }
}

/// Which elements a copy takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// A box of the tensor.
    Tiled {
        /// Its extents, in elements.
        extents: [u32; RANK],
    },
    /// Pixels of an image, one after the other within a bounding box (ISA 5.5.4).
    Im2col {
        /// The box's corner with the lowest coordinates, from the image's: width, height, depth.
        lower: [i32; 3],
        /// The box's corner with the highest coordinates, from the image's.
        upper: [i32; 3],
        /// Channels of a pixel.
        channels: u32,
        /// Pixels of a copy.
        pixels: u32,
    },
}

/// What describes a tensor to a copy. Dimensions count from the innermost one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// The elements' type.
    pub element: ElementType,
    /// Dimensions: 1 to 5.
    pub rank: u32,
    /// Address of the first element.
    pub address: u64,
    /// Elements in each dimension; 1 beyond the rank. With interleaved channels: width, height and depth, slices of
    /// channels, images.
    pub extents: [u64; RANK],
    /// Bytes from one element to the next in each dimension but the innermost.
    pub strides: [u64; RANK - 1],
    /// Which elements a copy takes.
    pub mode: Mode,
    /// Elements from one that is taken to the next; 1 beyond the rank.
    pub steps: [u32; RANK],
    /// Slices of channels.
    pub interleave: Interleave,
    /// How shared memory is laid out.
    pub swizzle: Swizzle,
    /// What stands for elements outside the tensor is a NaN, not zero.
    pub fill_nan: bool,
}

impl TensorMap {
    /// What 128 zeros are to `tensormap.replace`: a tiled map of one byte at address 0.
    pub(crate) fn of_zeros() -> TensorMap {
        TensorMap::tiled(ElementType::U8, 0, &[1], &[], &[1])
    }

    /// A tiled map without anything special.
    pub fn tiled(
        element: ElementType,
        address: u64,
        extents: &[u64],
        strides: &[u64],
        tile: &[u32],
    ) -> TensorMap {
        let mut map = TensorMap {
            element,
            rank: extents.len().min(RANK) as u32,
            address,
            extents: [1; RANK],
            strides: [0; RANK - 1],
            mode: Mode::Tiled { extents: [1; RANK] },
            steps: [1; RANK],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            fill_nan: false,
        };
        map.extents.iter_mut().zip(extents).for_each(|(to, &from)| *to = from);
        map.strides.iter_mut().zip(strides).for_each(|(to, &from)| *to = from);
        let mut extents = [1; RANK];
        extents.iter_mut().zip(tile).for_each(|(to, &from)| *to = from);
        map.mode = Mode::Tiled { extents };
        map
    }

    /// What stands for elements outside the tensor: a pattern of 16 bits, again and again, as an H200 fills.
    pub(crate) fn fill(&self) -> u16 {
        if self.fill_nan { 0x7ff7 } else { 0 }
    }

    /// Whether a load rounds elements ([`round_to_tf32`]).
    pub(crate) fn rounds(&self) -> bool {
        matches!(self.element, ElementType::Tf32 | ElementType::Tf32Ftz)
    }
}

/// To the nearest tf32, as a tensor copy does it on an H200; every NaN becomes one.
pub(crate) fn round_to_tf32(bits: u32) -> u32 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return 0x7fff_e000;
    }
    (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff
}
