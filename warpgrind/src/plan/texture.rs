//! Textures and surfaces of launch files: `[textures.NAME]` and `[surfaces.NAME]`.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sim_core::{
    AddressMode, Blocks, Channel, DevicePtr, Filter, Format, Image, Level, Sampler, Texture, TextureObject,
    TextureShape, Whole,
};
use toml::{Spanned, Value};

use super::argument::{Arg, parse_arg};
use super::{Place, PlanError};
use crate::names::{closest, quoted_list};

/// A texture or a surface.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectPlan {
    /// The handle that kernels know it by; the next one that is free if none is said.
    pub handle: Option<u64>,
    /// The `.texref` or `.surfref` of the module that stands for it.
    pub reference: Option<String>,
    /// What it reads: a level's address is that within the buffer of the same position in `levels`.
    pub image: Image,
    /// Where each level lies.
    pub levels: Vec<Arg>,
    /// How it is read; surfaces have none.
    pub sampler: Option<Sampler>,
    /// Where it is defined.
    pub place: Place,
}

impl ObjectPlan {
    /// The object, with the addresses that `address` says of its buffers.
    ///
    /// # Errors
    /// Those of `address`.
    pub(crate) fn object<E>(
        &self,
        address: impl Fn(&str) -> Result<DevicePtr, E>,
    ) -> Result<TextureObject, E> {
        let mut image = self.image.clone();
        for (level, at) in image.levels.iter_mut().zip(&self.levels) {
            if let Arg::Reference { name, offset } = at {
                level.base = address(name)?.wrapping_add(*offset);
            }
        }
        Ok(match self.sampler {
            Some(sampler) => TextureObject::Texture(Arc::new(Texture { image, sampler })),
            None => TextureObject::Surface(Arc::new(image)),
        })
    }
}

/// An object as the file has it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    shape: String,
    #[serde(rename = "type")]
    channel: String,
    #[serde(default = "one")]
    channels: u8,
    #[serde(default)]
    array: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fractions: bool,
    levels: Vec<DescribedLevel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<DescribedWhole>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sampler: Option<DescribedSampler>,
}

fn one() -> u8 {
    1
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DescribedLevel {
    at: String,
    extent: Vec<u32>,
    #[serde(default)]
    pitch: u64,
    #[serde(default)]
    slice: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DescribedWhole {
    extent: [u32; 3],
    #[serde(default)]
    first: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layers: Option<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct DescribedSampler {
    address: Vec<String>,
    filter: String,
    mipmap_filter: String,
    normalized: bool,
    integers: bool,
    srgb: bool,
    seamless: bool,
    bias: f32,
    clamp: [f32; 2],
    border: [u32; 4],
    anisotropy: u32,
}

impl Default for DescribedSampler {
    fn default() -> Self {
        DescribedSampler::from(Sampler::default())
    }
}

impl From<Sampler> for DescribedSampler {
    fn from(of: Sampler) -> Self {
        DescribedSampler {
            address: of.address.iter().map(|mode| name(&AddressMode::ALL, mode)).collect(),
            filter: name(&Filter::ALL, &of.filter),
            mipmap_filter: name(&Filter::ALL, &of.mipmap_filter),
            normalized: of.normalized,
            integers: of.integers,
            srgb: of.srgb,
            seamless: of.seamless,
            bias: of.bias,
            clamp: of.clamp,
            border: of.border,
            anisotropy: of.anisotropy,
        }
    }
}

/// The most texels by dimension, so that no sum of theirs overflows, and levels.
const MOST: [u32; 3] = [1 << 28, 1 << 17, 1 << 17];
const MOST_LEVELS: usize = 32;
/// The most bytes from one row, and from one slice, to the next.
const MOST_PITCH: u64 = 1 << 32;
const MOST_SLICE: u64 = 1 << 44;

fn known<T: Copy>(all: &[(T, &'static str)], name: &str, what: &str) -> Result<T, PlanError> {
    if let Some((value, _)) = all.iter().find(|(_, known)| *known == name) {
        return Ok(*value);
    }
    let names = || all.iter().map(|(_, known)| *known);
    let error = PlanError::new(format!("there is no {what} `{name}`"));
    Err(match closest(name, names()) {
        Some(close) => error.help(format!("did you mean `{close}`?")),
        None => error.help(format!("there are {}", quoted_list(names()))),
    })
}

fn name<T: PartialEq>(all: &[(T, &'static str)], value: &T) -> String {
    all.iter().find(|(known, _)| known == value).map_or("", |(_, name)| name).into()
}

/// Reads an object of a launch file.
pub(super) fn read(
    described: Spanned<Described>,
    is_surface: bool,
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<ObjectPlan, PlanError> {
    let span = described.span();
    converted(described.into_inner(), is_surface, span.clone()).map_err(|error| {
        let placed = at(span, error.message);
        error.help.into_iter().fold(placed, PlanError::help)
    })
}

fn converted(of: Described, is_surface: bool, span: Range<usize>) -> Result<ObjectPlan, PlanError> {
    let wrong = |text: &str| Err(PlanError::new(text));
    let format = match Blocks::ALL.iter().find(|(_, name)| *name == of.channel) {
        Some(&(blocks, _)) => Format::compressed(blocks, of.channels == 4),
        None => Format::plain(known(&Channel::ALL, &of.channel, "type")?, of.channels),
    };
    if !matches!(of.channels, 1 | 2 | 4) {
        return wrong("`channels` is 1, 2 or 4");
    }
    if format.channel == Channel::Packed && of.channels != 4 {
        return wrong("`u10_10_10_2` is of four `channels`");
    }
    if of.fractions && !matches!(format.channel, Channel::Unsigned(1 | 2) | Channel::Signed(1 | 2)) {
        return wrong("`fractions` are of one or two bytes");
    }
    let format = Format { fractions: format.fractions || of.fractions, ..format };
    if of.levels.is_empty() || of.levels.len() > MOST_LEVELS {
        return wrong("`levels` are one or more, and at most 32");
    }
    let (mut levels, mut places) = (Vec::new(), Vec::new());
    for level in of.levels {
        let Ok((None, place @ Arg::Reference { .. })) = parse_arg(&level.at) else {
            return wrong("a level is at the address of a buffer, such as `&x` or `&x+16`");
        };
        let mut extent = [1; 3];
        if level.extent.is_empty() || level.extent.len() > 3 {
            return wrong("the extent of a level is of one to three numbers");
        }
        extent[..level.extent.len()].copy_from_slice(&level.extent);
        if extent.iter().zip(MOST).any(|(&extent, most)| extent == 0 || extent > most) {
            return wrong("the extent of a level is at least 1 and at most 2^28, 2^17 and 2^17");
        }
        if level.pitch > MOST_PITCH || level.slice > MOST_SLICE {
            return wrong("`pitch` is at most 2^32 bytes, `slice` 2^44");
        }
        places.push(place);
        levels.push(Level { base: 0, extent, pitch: level.pitch, slice: level.slice });
    }
    let sampler = match (of.sampler, is_surface) {
        (Some(_), true) => return wrong("a surface has no `sampler`"),
        (None, true) => None,
        (sampler, false) => {
            let of = sampler.unwrap_or_default();
            let mut address = [AddressMode::Clamp; 3];
            if of.address.len() > 3 {
                return wrong("`address` is of at most three modes");
            }
            for (mode, name) in address.iter_mut().zip(&of.address) {
                *mode = known(&AddressMode::ALL, name, "address mode")?;
            }
            Some(Sampler {
                address,
                filter: known(&Filter::ALL, &of.filter, "filter")?,
                mipmap_filter: known(&Filter::ALL, &of.mipmap_filter, "filter")?,
                normalized: of.normalized,
                integers: of.integers,
                srgb: of.srgb,
                seamless: of.seamless,
                bias: of.bias,
                clamp: of.clamp,
                border: of.border,
                anisotropy: of.anisotropy,
            })
        }
    };
    let shape = known(&TextureShape::ALL, &of.shape, "shape")?;
    let whole = match of.whole {
        None => Whole::of(levels[0].extent),
        Some(DescribedWhole { extent, .. })
            if extent.iter().zip(MOST).any(|(&of, most)| of == 0 || of > most) =>
        {
            return wrong("the extent of the whole image is at least 1 and at most 2^28, 2^17 and 2^17");
        }
        Some(DescribedWhole { extent, first, layers }) => {
            Whole { extent, first: first.min(MOST_LEVELS as u32), layers: layers.unwrap_or(extent[2]) }
        }
    };
    Ok(ObjectPlan {
        handle: of.handle,
        reference: of.reference,
        image: Image { shape, format, whole, levels, opaque: of.array },
        levels: places,
        sampler,
        place: Some(span),
    })
}

/// Writes an object as a launch file has it; `address` writes an address.
pub(super) fn written(of: &ObjectPlan, address: impl Fn(&Arg) -> Value) -> Value {
    let image = &of.image;
    let level = |(level, at): (&Level, &Arg)| DescribedLevel {
        at: address(at).as_str().unwrap_or_default().into(),
        extent: level.extent.into(),
        pitch: level.pitch,
        slice: level.slice,
    };
    let sampler = of.sampler.map(DescribedSampler::from);
    let described = Described {
        handle: of.handle,
        reference: of.reference.clone(),
        shape: name(&TextureShape::ALL, &image.shape),
        channel: match &image.format.blocks {
            Some(blocks) => name(&Blocks::ALL, blocks),
            None => name(&Channel::ALL, &image.format.channel),
        },
        channels: image.format.said_channels(),
        array: image.opaque,
        fractions: image.format.fractions && image.format.channel != Channel::Packed,
        levels: image.levels.iter().zip(&of.levels).map(level).collect(),
        whole: (image.levels.first().map(|level| Whole::of(level.extent)) != Some(image.whole)).then(|| {
            let Whole { extent, first, layers } = image.whole;
            DescribedWhole { extent, first, layers: Some(layers) }
        }),
        sampler,
    };
    Value::try_from(described).unwrap_or_else(|_| Value::Table(toml::Table::new()))
}
