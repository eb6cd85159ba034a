//! Texture and surface objects.

use cuda_abi::driver::ResourceViewDesc;
use cuda_abi::runtime::{ChannelFormatDesc, ResourceDesc, TextureDesc};
use runtime::objects::{create_surface, create_texture, destroy_object};
use runtime::texture::{Resource, Sampling, texture_flags as f};
use runtime::{Element, Format, Result, Status};

use crate::cudart::array::{channels_of, element_of};
use crate::cudart::context::ensure;
use crate::driver::texture::{
    ARRAY, LINEAR, MIPMAPPED_ARRAY, PITCHED, arrays, kind_of, memory, object_of, view_desc, view_of,
};
use crate::ffi::{Handle, get, put};
use crate::state::healthy;

fn resource_of(said: &ResourceDesc) -> Result<Resource> {
    let words = said.resource;
    match said.kind {
        ARRAY | MIPMAPPED_ARRAY => arrays(said.kind, words[0]),
        LINEAR | PITCHED => {
            let half = |number: usize| (words[number / 2] >> (32 * (number % 2))) as u32;
            let bits = [2, 3, 4, 5].map(|number| half(number) as i32);
            let element = element_of(ChannelFormatDesc { bits, kind: half(6) })?;
            let [width_or_bytes, height, pitch] = [words[4], words[5], words[6]].map(|word| word as usize);
            Ok(memory(said.kind, words[0], element, width_or_bytes, height, pitch))
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

fn described(resource: &Resource) -> ResourceDesc {
    let (kind, array) = kind_of(resource);
    let mut words = [0; 7];
    words[0] = array;
    let (address, element, rest) = match *resource {
        Resource::Linear { address, element, bytes } => (address, element, [bytes, 0, 0]),
        Resource::Pitched { address, element, extent, pitch } => {
            (address, element, [extent[0], extent[1], pitch])
        }
        _ => return ResourceDesc { kind, resource: words },
    };
    let ChannelFormatDesc { bits, kind: channel_kind } = channels_of(element);
    let [x, y, z, w] = bits.map(|bits| bits as u64);
    words = [address, y << 32 | x, w << 32 | z, channel_kind.into(), 0, 0, 0];
    for (word, value) in words[4..].iter_mut().zip(rest) {
        *word = value as u64;
    }
    ResourceDesc { kind, resource: words }
}

fn element(resource: &Resource) -> Element {
    match resource {
        Resource::Array(array) => array.shape.element,
        Resource::Mipmapped(array) => array.shape.element,
        Resource::Linear { element, .. } | Resource::Pitched { element, .. } => *element,
    }
}

/// Element type, and not fractions.
const READ_ELEMENTS: u32 = 0;
/// Fractions of the largest value.
const READ_FRACTIONS: u32 = 1;

fn sampling_of(said: &TextureDesc, element: Element) -> Result<Sampling> {
    let fractions = said.read_mode == READ_FRACTIONS;
    let (integers, small) = match element.format {
        Format::Unsigned(bytes) | Format::Signed(bytes) => (true, bytes < 4),
        // Packed fractions are read as elements: a device's runtime does not count them among fractions.
        Format::Float(_) | Format::Packed => (false, false),
        Format::UnsignedNormalized(_) | Format::SignedNormalized(_) => (false, true),
        Format::Compressed { blocks, .. } => (false, !blocks.is_float()),
    };
    if said.filter == 1 && integers && !(fractions && small) {
        return Err(Status::INVALID_FILTER_SETTING);
    }
    // Fractions in memory are read as fractions always.
    let stored = small && !integers;
    if fractions && !small || !fractions && stored {
        return Err(Status::INVALID_NORM_SETTING);
    }
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(!fractions && integers, f::READ_AS_INTEGER)
        | flag(said.normalized != 0, f::NORMALIZED)
        | flag(said.srgb != 0, f::SRGB)
        | flag(said.disable_trilinear_optimization != 0, f::DISABLE_TRILINEAR_OPTIMIZATION)
        | flag(said.seamless != 0, f::SEAMLESS);
    let TextureDesc { address, filter, border, anisotropy, mipmap_filter, bias, clamp, .. } = *said;
    Ok(Sampling { address, filter, flags, anisotropy, mipmap_filter, bias, clamp, border })
}

rt! {
    fn cudaCreateTextureObject(
        to: *mut Handle, resource: *const ResourceDesc, texture: *const TextureDesc, view: *const ResourceViewDesc
    ) {
        ensure()?;
        let context = healthy()?;
        let resource = get(resource)?;
        let texture = get(texture)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let resource = resource_of(&resource)?;
        let sampling = sampling_of(&texture, element(&resource))?;
        let view = if view.is_null() { None } else { Some(view_of(&get(view)?)) };
        put(to, create_texture(&context, resource, sampling, view)?)
    }

    fn cudaDestroyTextureObject(handle: Handle) {
        ensure()?;
        destroy_object(&*healthy()?, handle)
    }

    fn cudaGetTextureObjectResourceDesc(to: *mut ResourceDesc, handle: Handle) {
        ensure()?;
        put(to, described(&object_of(handle, true)?.resource))
    }

    fn cudaGetTextureObjectTextureDesc(to: *mut TextureDesc, handle: Handle) {
        ensure()?;
        let object = object_of(handle, true)?;
        let said = object.sampling.unwrap_or_default();
        let is = |flag: u32| i32::from(said.flags & flag != 0);
        let integers = matches!(element(&object.resource).format, Format::Unsigned(_) | Format::Signed(_));
        let read_mode = if integers && is(f::READ_AS_INTEGER) == 0 { READ_FRACTIONS } else { READ_ELEMENTS };
        let Sampling { address, filter, anisotropy, mipmap_filter, bias, clamp, border, .. } = said;
        put(to, TextureDesc {
            address,
            filter,
            read_mode,
            srgb: is(f::SRGB),
            border,
            normalized: is(f::NORMALIZED),
            anisotropy,
            mipmap_filter,
            bias,
            clamp,
            disable_trilinear_optimization: is(f::DISABLE_TRILINEAR_OPTIMIZATION),
            seamless: is(f::SEAMLESS),
        })
    }

    fn cudaGetTextureObjectResourceViewDesc(to: *mut ResourceViewDesc, handle: Handle) {
        ensure()?;
        let object = object_of(handle, true)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // Without one a device leaves what is there.
        object.view.map_or(Ok(()), |view| put(to, view_desc(&view)))
    }

    fn cudaCreateSurfaceObject(to: *mut Handle, resource: *const ResourceDesc) {
        ensure()?;
        let context = healthy()?;
        let resource = get(resource)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, create_surface(&context, resource_of(&resource)?)?)
    }

    fn cudaDestroySurfaceObject(handle: Handle) {
        ensure()?;
        destroy_object(&*healthy()?, handle)
    }

    fn cudaGetSurfaceObjectResourceDesc(to: *mut ResourceDesc, handle: Handle) {
        ensure()?;
        put(to, described(&object_of(handle, false)?.resource))
    }
}
