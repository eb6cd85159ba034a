//! Texture and surface objects.

use std::sync::Arc;

use cuda_abi::driver::{MemoryResource, ResourceDesc, ResourceViewDesc, TextureDesc};
use runtime::objects::{create_surface, create_texture, destroy_object};
use runtime::texture::{Object, Resource, Sampling, View};
use runtime::{Array, Element, MipmappedArray, Result, Status};

use crate::ffi::{Handle, get, put};
use crate::object;
use crate::state::healthy;

/// The kinds of resources (`CUresourcetype`, `cudaResourceType`).
pub(crate) const ARRAY: u32 = 0;
pub(crate) const MIPMAPPED_ARRAY: u32 = 1;
pub(crate) const LINEAR: u32 = 2;
pub(crate) const PITCHED: u32 = 3;

/// The array or mipmapped array of a handle.
pub(crate) fn arrays(kind: u32, handle: Handle) -> Result<Resource> {
    if kind == ARRAY {
        Ok(Resource::Array(object::find::<Arc<Array>>(handle)?))
    } else {
        Ok(Resource::Mipmapped(object::find::<Arc<MipmappedArray>>(handle)?))
    }
}

/// Memory as a resource: linear, or with a pitch.
pub(crate) fn memory(
    kind: u32,
    address: u64,
    element: Element,
    width_or_bytes: usize,
    height: usize,
    pitch: usize,
) -> Resource {
    if kind == LINEAR {
        Resource::Linear { address, element, bytes: width_or_bytes }
    } else {
        Resource::Pitched { address, element, extent: [width_or_bytes, height], pitch }
    }
}

fn resource_of(said: &ResourceDesc) -> Result<Resource> {
    if said.flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    match said.kind {
        ARRAY | MIPMAPPED_ARRAY => arrays(said.kind, said.resource[0]).map_err(|_| Status::INVALID_VALUE),
        LINEAR | PITCHED => {
            let [address, words, width_or_bytes, height, pitch, ..] = said.resource;
            let element = Element::of_number(words as u32, (words >> 32) as u32)?;
            Ok(memory(said.kind, address, element, width_or_bytes as usize, height as usize, pitch as usize))
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The kind of a resource and the handle of its array.
pub(crate) fn kind_of(resource: &Resource) -> (u32, Handle) {
    match resource {
        Resource::Array(array) => (ARRAY, object::handle(array.id)),
        Resource::Mipmapped(array) => (MIPMAPPED_ARRAY, object::handle(array.id)),
        Resource::Linear { .. } => (LINEAR, 0),
        Resource::Pitched { .. } => (PITCHED, 0),
    }
}

fn described(resource: &Resource) -> ResourceDesc {
    let (kind, array) = kind_of(resource);
    let mut words = [0; 16];
    words[0] = array;
    let (address, element, rest) = match *resource {
        Resource::Linear { address, element, bytes } => (address, element, [bytes, 0, 0]),
        Resource::Pitched { address, element, extent, pitch } => {
            (address, element, [extent[0], extent[1], pitch])
        }
        _ => return ResourceDesc { kind, resource: words, flags: 0 },
    };
    words[0] = address;
    words[1] = u64::from(element.channels) << 32 | u64::from(element.number());
    for (word, value) in words[2..].iter_mut().zip(rest) {
        *word = value as u64;
    }
    ResourceDesc { kind, resource: words, flags: 0 }
}

fn sampling_of(said: &TextureDesc) -> Sampling {
    let TextureDesc { address, filter, flags, anisotropy, mipmap_filter, bias, clamp, border, .. } = *said;
    Sampling { address, filter, flags, anisotropy, mipmap_filter, bias, clamp, border }
}

/// What a view's descriptor says.
pub(crate) fn view_of(said: &ResourceViewDesc) -> View {
    let ResourceViewDesc { format, extent, levels, layers } = *said;
    View { format, extent, levels, layers }
}

/// The descriptor of a view.
pub(crate) fn view_desc(view: &View) -> ResourceViewDesc {
    let View { format, extent, levels, layers } = *view;
    ResourceViewDesc { format, extent, levels, layers }
}

/// The object of a handle, whose array is still there.
pub(crate) fn object_of(handle: Handle, texture: bool) -> Result<Object> {
    let found = healthy()?.device.objects.get(handle)?;
    let (kind, array) = kind_of(&found.resource);
    if found.sampling.is_some() != texture || kind <= MIPMAPPED_ARRAY && arrays(kind, array).is_err() {
        return Err(Status::INVALID_VALUE);
    }
    Ok(found)
}

const _: () = assert!(size_of::<ResourceDesc>() == 144 && size_of::<TextureDesc>() == 104);
const _: () = assert!(size_of::<MemoryResource>() == 40);

api! {
    fn cuTexObjectCreate(
        to: *mut Handle, resource: *const ResourceDesc, texture: *const TextureDesc, view: *const ResourceViewDesc
    ) {
        let context = healthy()?;
        let sampling = sampling_of(&get(texture)?);
        let resource = resource_of(&get(resource)?)?;
        let view = if view.is_null() { None } else { Some(view_of(&get(view)?)) };
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, create_texture(&context, resource, sampling, view)?)
    }

    fn cuTexObjectDestroy(handle: Handle) {
        destroy_object(&*healthy()?, handle)
    }

    fn cuTexObjectGetResourceDesc(to: *mut ResourceDesc, handle: Handle) {
        put(to, described(&object_of(handle, true)?.resource))
    }

    fn cuTexObjectGetTextureDesc(to: *mut TextureDesc, handle: Handle) {
        let said = object_of(handle, true)?.sampling.unwrap_or_default();
        let Sampling { address, filter, flags, anisotropy, mipmap_filter, bias, clamp, border } = said;
        put(to, TextureDesc { address, filter, flags, anisotropy, mipmap_filter, bias, clamp, border, reserved: [0; 12] })
    }

    fn cuTexObjectGetResourceViewDesc(to: *mut ResourceViewDesc, handle: Handle) {
        let object = object_of(handle, true)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // Without one a device leaves what is there.
        object.view.map_or(Ok(()), |view| put(to, view_desc(&view)))
    }

    fn cuSurfObjectCreate(to: *mut Handle, resource: *const ResourceDesc) {
        let context = healthy()?;
        let resource = resource_of(&get(resource)?)?;
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(to, create_surface(&context, resource)?)
    }

    fn cuSurfObjectDestroy(handle: Handle) {
        destroy_object(&*healthy()?, handle)
    }

    fn cuSurfObjectGetResourceDesc(to: *mut ResourceDesc, handle: Handle) {
        put(to, described(&object_of(handle, false)?.resource))
    }
}
