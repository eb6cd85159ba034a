//! What texture and surface objects are made of: what a descriptor says is checked as a device's driver does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use cuda_abi::numbers::device_attribute as a;
use cuda_abi::{Result, Status};
use sim_core::{
    AddressMode, BLOCK_SIDE, Blocks, Channel, Filter, Format as TexelFormat, Image, Level, Sampler,
    TextureShape, Whole,
};

use crate::array::{Array, MipmappedArray};
use crate::lock;
use crate::shape::array_flags::{CUBE, LAYERED};
use crate::shape::{ArrayShape, Element, Format};

/// What a texture or surface reads.
#[derive(Clone, Debug)]
pub enum Resource {
    /// An array.
    Array(Arc<Array>),
    /// A mipmapped array.
    Mipmapped(Arc<MipmappedArray>),
    /// Elements of device memory.
    Linear {
        /// Where.
        address: u64,
        /// The elements.
        element: Element,
        /// Bytes.
        bytes: usize,
    },
    /// Rows of device memory.
    Pitched {
        /// Where.
        address: u64,
        /// The elements.
        element: Element,
        /// Elements a row, and rows.
        extent: [usize; 2],
        /// Bytes from row to row.
        pitch: usize,
    },
}

/// CUDA's flags of a texture (`CU_TRSF_*`).
pub mod texture_flags {
    /// Integers are read as such.
    pub const READ_AS_INTEGER: u32 = 1;
    /// Coordinates run from 0 to 1.
    pub const NORMALIZED: u32 = 2;
    /// sRGB.
    pub const SRGB: u32 = 0x10;
    /// An optimisation that changes nothing here.
    pub const DISABLE_TRILINEAR_OPTIMIZATION: u32 = 0x20;
    /// Filtering over the edges of a cube's faces.
    pub const SEAMLESS: u32 = 0x40;
    /// All that a device takes.
    pub const ALL: u32 = 0x7f;
}

use texture_flags as f;

/// How a texture is read, in CUDA's numbers (`CUDA_TEXTURE_DESC`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sampling {
    /// Address modes: wrap, clamp, mirror, border.
    pub address: [u32; 3],
    /// Point or linear.
    pub filter: u32,
    /// [`texture_flags`].
    pub flags: u32,
    /// The most samples of an anisotropic read.
    pub anisotropy: u32,
    /// Between levels: point or linear.
    pub mipmap_filter: u32,
    /// Added to the level of detail.
    pub bias: f32,
    /// The smallest and largest level of detail.
    pub clamp: [f32; 2],
    /// Bits of the border's colour.
    pub border: [u32; 4],
}

/// What of a resource is read, and as what (`CUDA_RESOURCE_VIEW_DESC`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// The format, by `CUresourceViewFormat`.
    pub format: u32,
    /// Elements.
    pub extent: [usize; 3],
    /// The first and last mipmap level.
    pub levels: [u32; 2],
    /// The first and last layer.
    pub layers: [u32; 2],
}

/// A texture object's descriptors, or a surface object's.
#[derive(Clone, Debug)]
pub struct Object {
    /// What it reads.
    pub resource: Resource,
    /// How; none for surfaces.
    pub sampling: Option<Sampling>,
    /// A part of it.
    pub view: Option<View>,
}

/// The objects of a device by handle.
#[derive(Debug, Default)]
pub struct Objects(pub(crate) Mutex<HashMap<u64, Object>>);

impl Objects {
    /// The descriptors of an object.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is none.
    pub fn get(&self, handle: u64) -> Result<Object> {
        lock(&self.0).get(&handle).cloned().ok_or(Status::INVALID_VALUE)
    }
}

/// Alignment of linear memory that a texture reads.
const ALIGNMENT: u64 = 512;
/// What a pitch is a multiple of.
const PITCH_ALIGNMENT: usize = 32;
/// More layers than any array has.
const MOST_LAYERS: u32 = 1 << 17;

/// Formats of views that are blocks of texels: from this on.
const FIRST_BLOCK_FORMAT: u32 = 0x19;

/// The formats of views by number: the channel, for one, two and four of them in turn.
const VIEW_CHANNELS: [Channel; 8] = [
    Channel::Unsigned(1),
    Channel::Signed(1),
    Channel::Unsigned(2),
    Channel::Signed(2),
    Channel::Unsigned(4),
    Channel::Signed(4),
    Channel::Float(2),
    Channel::Float(4),
];

/// Formats of views that are blocks of texels, by number from [`FIRST_BLOCK_FORMAT`] on.
const VIEW_BLOCKS: [Blocks; 10] = [
    Blocks::Bc1,
    Blocks::Bc2,
    Blocks::Bc3,
    Blocks::Bc4,
    Blocks::Bc4Signed,
    Blocks::Bc5,
    Blocks::Bc5Signed,
    Blocks::Bc6,
    Blocks::Bc6Signed,
    Blocks::Bc7,
];

/// A format for the simulator, and whether it is always a fraction.
fn texels(element: Element) -> (TexelFormat, bool) {
    let (channel, fraction) = match element.format {
        Format::Unsigned(bytes) => (Channel::Unsigned(bytes), false),
        Format::Signed(bytes) => (Channel::Signed(bytes), false),
        Format::Float(bytes) => (Channel::Float(bytes), false),
        Format::UnsignedNormalized(bytes) => (Channel::Unsigned(bytes), true),
        Format::SignedNormalized(bytes) => (Channel::Signed(bytes), true),
        Format::Packed => (Channel::Packed, true),
        Format::Compressed { blocks, .. } => {
            return (TexelFormat::compressed(blocks, true), !blocks.is_float());
        }
    };
    let format = TexelFormat::plain(channel, element.channels as u8);
    (TexelFormat { fractions: fraction, ..format }, fraction)
}

fn level_of(array: &Array) -> Level {
    let ArrayShape { width, height, depth, .. } = array.shape;
    let pitch = array.shape.row() as u64;
    let extent = [width, height, depth].map(|extent| extent.max(1) as u32);
    Level { base: array.base(), extent, pitch, slice: pitch * array.shape.rows() as u64 }
}

fn shape_of(shape: &ArrayShape) -> TextureShape {
    match shape.flags & (LAYERED | CUBE) {
        0 if shape.depth > 0 => TextureShape::ThreeD,
        0 if shape.height > 0 => TextureShape::TwoD,
        0 => TextureShape::OneD,
        LAYERED if shape.height == 0 => TextureShape::OneDLayered,
        LAYERED => TextureShape::TwoDLayered,
        CUBE => TextureShape::Cube,
        _ => TextureShape::CubeLayered,
    }
}

impl Resource {
    /// What the simulator reads, and whether its integers are always fractions.
    /// `most`: the attributes of a device that say how large it may be.
    pub(crate) fn image(&self, most: impl Fn(i32) -> Result<usize>) -> Result<(Image, bool)> {
        Ok(match self {
            Self::Array(array) => {
                let (format, fraction) = texels(array.shape.element);
                (
                    Image {
                        shape: shape_of(&array.shape),
                        format,
                        whole: Whole::of(level_of(array).extent),
                        levels: vec![level_of(array)],
                        opaque: true,
                    },
                    fraction,
                )
            }
            Self::Mipmapped(array) => {
                let (format, fraction) = texels(array.shape.element);
                let levels: Vec<Level> = array.levels.iter().map(|level| level_of(level)).collect();
                let whole = Whole::of(levels.first().map_or([1; 3], |level| level.extent));
                (Image { shape: shape_of(&array.shape), format, levels, whole, opaque: true }, fraction)
            }
            Self::Linear { address, element, bytes } => {
                if !address.is_multiple_of(ALIGNMENT) {
                    return Err(Status::INVALID_VALUE);
                }
                let (format, fraction) = texels(*element);
                let width = (bytes / element.bytes()).min(most(a::MAXIMUM_TEXTURE1D_LINEAR_WIDTH)?) as u32;
                let level = Level { base: *address, extent: [width, 1, 1], pitch: 0, slice: 0 };
                let whole = Whole::of(level.extent);
                let levels = vec![level];
                (Image { shape: TextureShape::Linear, format, levels, whole, opaque: false }, fraction)
            }
            Self::Pitched { address, element, extent: [width, height], pitch } => {
                let fits = *width <= most(a::MAXIMUM_TEXTURE2D_LINEAR_WIDTH)?
                    && *height <= most(a::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)?
                    && *pitch <= most(a::MAXIMUM_TEXTURE2D_LINEAR_PITCH)?;
                if !address.is_multiple_of(ALIGNMENT) || !pitch.is_multiple_of(PITCH_ALIGNMENT) || !fits {
                    return Err(Status::INVALID_VALUE);
                }
                let (format, fraction) = texels(*element);
                let extent = [(*width).max(1) as u32, (*height).max(1) as u32, 1];
                let level = Level { base: *address, extent, pitch: *pitch as u64, slice: 0 };
                let whole = Whole::of(level.extent);
                (
                    Image { shape: TextureShape::TwoD, format, levels: vec![level], whole, opaque: false },
                    fraction,
                )
            }
        })
    }

    /// Whether it holds sRGB, and can be read as that alone.
    fn is_srgb(&self) -> bool {
        let element = match self {
            Self::Array(array) => array.shape.element,
            Self::Mipmapped(array) => array.shape.element,
            Self::Linear { element, .. } | Self::Pitched { element, .. } => *element,
        };
        matches!(element.format, Format::Compressed { srgb: true, .. })
    }

    const fn is_array(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Mipmapped(_))
    }
}

impl View {
    /// The part of an image that it is.
    pub(crate) fn of(&self, mut image: Image, resource: &Resource) -> Result<Image> {
        if !resource.is_array() {
            return Err(Status::INVALID_VALUE);
        }
        let format = match self.format.checked_sub(FIRST_BLOCK_FORMAT) {
            Some(number) => match VIEW_BLOCKS.get(number as usize) {
                Some(&blocks) => TexelFormat::compressed(blocks, false),
                None => return Err(Status::INVALID_VALUE),
            },
            None => {
                let number = self.format.checked_sub(1).ok_or(Status::INVALID_VALUE)? as usize;
                let channel = *VIEW_CHANNELS.get(number / 3).ok_or(Status::INVALID_VALUE)?;
                TexelFormat::plain(channel, [1, 2, 4][number % 3])
            }
        };
        // Levels that a mipmapped array lacks are no error; other arrays have but one.
        let [first, last] = self.levels;
        let has_levels = matches!(resource, Resource::Mipmapped(_));
        if format.bytes() != image.format.bytes() || first > last || last > 0 && !has_levels {
            return Err(Status::INVALID_VALUE);
        }
        // Layers of cubemaps are whole cubes.
        let is_cube = matches!(image.shape, TextureShape::Cube | TextureShape::CubeLayered);
        if self.layers != [0, 0] && (!image.shape.is_layered() || image.shape == TextureShape::Cube) {
            return Err(Status::INVALID_VALUE);
        }
        let [first, last] =
            [first, last].map(|level| (level as usize).min(image.levels.len().saturating_sub(1)));
        // The first level's, also of a view that begins behind it.
        let mut whole = image.levels[0].extent;
        if format.blocks.is_some() && image.format.blocks.is_none() {
            // Elements become blocks.
            for level in &mut image.levels {
                level.extent[..2].iter_mut().for_each(|extent| *extent *= BLOCK_SIDE);
            }
            whole = image.levels[0].extent;
        }
        image.levels = image.levels[first..=last].to_vec();
        image.whole = Whole { first: first as u32, ..Whole::of(whole) };
        let wanted = self.extent.map(|extent| extent.max(1) as u32);
        if wanted[0] != whole[0] || wanted[1] != whole[1] {
            return Err(Status::INVALID_VALUE);
        }
        if image.shape.is_layered() {
            // Layers that the array lacks may be in a view, not be read. Its depth is the array's.
            let [first, last] = self.layers;
            let is_high = image.shape == TextureShape::OneDLayered && self.extent[1] != 0;
            if first > last || wanted[2] != whole[2] || is_high {
                return Err(Status::INVALID_VALUE);
            }
            let slices = if is_cube { 6 } else { 1 };
            image.whole.layers = whole[2].saturating_sub(first.saturating_mul(slices));
            for level in &mut image.levels {
                let before = (u64::from(first) * u64::from(slices)).wrapping_mul(level.slice);
                level.base = level.base.wrapping_add(before);
                level.extent[2] = (last - first).min(MOST_LAYERS / slices - 1).saturating_add(1) * slices;
            }
        }
        image.format = format;
        Ok(image)
    }
}

fn filter(number: u32) -> Result<Filter> {
    match number {
        0 => Ok(Filter::Point),
        1 => Ok(Filter::Linear),
        _ => Err(Status::INVALID_VALUE),
    }
}

impl Sampling {
    /// How the simulator reads an image.
    pub(crate) fn sampler(&self, image: &Image, fraction: bool, resource: &Resource) -> Result<Sampler> {
        let is_mipmapped = matches!(resource, Resource::Mipmapped(_));
        if resource.is_srgb() && self.flags & f::SRGB == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let is_cube = matches!(image.shape, TextureShape::Cube | TextureShape::CubeLayered);
        let seamless = self.flags & f::SEAMLESS != 0;
        if self.flags & !f::ALL != 0 || seamless && !is_cube {
            return Err(Status::INVALID_VALUE);
        }
        let dimensions = match image.shape {
            TextureShape::ThreeD => 3,
            TextureShape::Linear | TextureShape::OneD | TextureShape::OneDLayered => 1,
            _ => 2,
        };
        let mut address = [AddressMode::Clamp; 3];
        for (axis, (mode, number)) in address.iter_mut().zip(self.address).enumerate() {
            *mode = match number {
                0 => AddressMode::Wrap,
                1 => AddressMode::Clamp,
                2 => AddressMode::Mirror,
                3 => AddressMode::Border,
                _ if axis < dimensions => return Err(Status::INVALID_VALUE),
                _ => AddressMode::Clamp,
            };
        }
        Ok(Sampler {
            address,
            filter: filter(self.filter)?,
            // One level alone has nothing to filter.
            mipmap_filter: if is_mipmapped { filter(self.mipmap_filter)? } else { Filter::Point },
            // Levels have but the whole in common.
            normalized: self.flags & f::NORMALIZED != 0 || is_mipmapped,
            integers: self.flags & f::READ_AS_INTEGER != 0 && !fraction,
            srgb: self.flags & f::SRGB != 0,
            seamless,
            bias: self.bias,
            clamp: self.clamp,
            border: self.border,
            anisotropy: self.anisotropy,
        })
    }
}
