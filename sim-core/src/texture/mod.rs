//! Textures and surfaces: what an object describes, and what a read through it gives, as an H200 computes it.
//!
//! Everything here is plain data and arithmetic. [`Texels`] is where the bytes come from; operations (`ops/texture.rs`)
//! check the accesses that it makes. The manual says little about the arithmetic (CUDA programming guide, "Texture
//! Fetching"); what is here was measured on an H200 and compared with it bit for bit.

mod anisotropy;
mod blocks;
mod coordinate;
mod cube;
mod filter;
mod format;
mod half;
mod lod;
mod sample;
mod srgb;
mod surface;
mod table;
mod together;

pub use blocks::{Blocks, SIDE as BLOCK_SIDE};
pub use coordinate::AddressMode;
pub(crate) use cube::major_axis;
pub use format::{Channel, Format};
pub(crate) use format::{stored_fraction, stored_half};
pub(crate) use sample::{Fetch, Lod, Texels, fetch, gather, integer};
pub(crate) use surface::place;
pub use table::Object;
pub(crate) use table::{Found, Objects, Tables};
pub(crate) use together::{Coordinates, Detail, Faces, Memory, Reads, Results, Together, plan};

/// The shape of what a texture or surface reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Texels of linear memory, by number (`cudaResourceTypeLinear`).
    Linear,
    /// A row.
    OneD,
    /// Rows.
    TwoD,
    /// Slices.
    ThreeD,
    /// Layers of one row.
    OneDLayered,
    /// Layers of rows.
    TwoDLayered,
    /// Six faces.
    Cube,
    /// Cubes.
    CubeLayered,
}

impl Shape {
    /// All of them, with their names in launch files.
    pub const ALL: [(Shape, &'static str); 8] = [
        (Shape::Linear, "linear"),
        (Shape::OneD, "1d"),
        (Shape::TwoD, "2d"),
        (Shape::ThreeD, "3d"),
        (Shape::OneDLayered, "1d_layered"),
        (Shape::TwoDLayered, "2d_layered"),
        (Shape::Cube, "cube"),
        (Shape::CubeLayered, "cube_layered"),
    ];

    /// Its name in launch files.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(shape, _)| *shape == self).map_or("", |(_, name)| name)
    }

    /// Whether its third dimension counts layers or faces, which have no neighbours.
    pub const fn is_layered(self) -> bool {
        matches!(self, Self::OneDLayered | Self::TwoDLayered | Self::Cube | Self::CubeLayered)
    }
}

/// One mipmap level: where it lies and how large it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// The address of its first texel.
    pub base: u64,
    /// Texels a row, rows, and slices or layers: at least 1 each.
    pub extent: [u32; 3],
    /// Bytes from one row, be it of blocks, to the next.
    pub pitch: u64,
    /// Bytes from one slice or layer to the next.
    pub slice: u64,
}

/// What a texture or surface reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// Its shape.
    pub shape: Shape,
    /// Its texels.
    pub format: Format,
    /// Its levels, the largest first; at least one.
    pub levels: Vec<Level>,
    /// What it is a view of.
    pub whole: Whole,
    /// Whether it is an array: its memory belongs to nobody else, and only copies, textures and surfaces reach it.
    pub opaque: bool,
}

/// What a view is a part of; an image that is none is its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole {
    /// The extent of the largest level, which steps of coordinates are measured by.
    pub extent: [u32; 3],
    /// What number the view's first level has.
    pub first: u32,
    /// Layers that there are from the view's first one on. A view may say more; cubes that are not there read as zeros.
    pub layers: u32,
}

impl Whole {
    /// What is no view, of such a largest level.
    pub const fn of(extent: [u32; 3]) -> Self {
        Self { extent, first: 0, layers: extent[2] }
    }
}

/// How texels are chosen and combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// The nearest one.
    Point,
    /// Those around, weighted by distance.
    Linear,
}

impl Filter {
    /// Both, with their names in launch files.
    pub const ALL: [(Filter, &'static str); 2] = [(Filter::Point, "point"), (Filter::Linear, "linear")];
}

/// How a texture is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// What coordinates outside mean, by dimension.
    pub address: [AddressMode; 3],
    /// Within a level.
    pub filter: Filter,
    /// Between levels.
    pub mipmap_filter: Filter,
    /// Whether coordinates run from 0 to 1.
    pub normalized: bool,
    /// Whether integers are read as such, and not as fractions of their largest value.
    pub integers: bool,
    /// Whether the first three channels are decoded as sRGB.
    pub srgb: bool,
    /// Whether linear filtering reaches over the edges of a cube's faces.
    pub seamless: bool,
    /// Added to the level of detail.
    pub bias: f32,
    /// The smallest and the largest level of detail.
    pub clamp: [f32; 2],
    /// The colour of [`AddressMode::Border`]: bits of floats, or of integers where those are read.
    pub border: [u32; 4],
    /// The most samples along the longer axis of what a pixel covers; 0 and 1: one.
    pub anisotropy: u32,
}

/// The nearest texel, clamped, by its number.
impl Default for Sampler {
    fn default() -> Self {
        Self {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            mipmap_filter: Filter::Point,
            normalized: false,
            integers: false,
            srgb: false,
            seamless: false,
            bias: 0.0,
            clamp: [0.0; 2],
            border: [0; 4],
            anisotropy: 0,
        }
    }
}

impl Sampler {
    /// Whether it combines texels, be it that one has all the weight.
    pub(crate) fn filters(&self) -> bool {
        [self.filter, self.mipmap_filter] != [Filter::Point; 2]
    }
}

/// A texture object.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    /// What it reads.
    pub image: Image,
    /// How.
    pub sampler: Sampler,
}
