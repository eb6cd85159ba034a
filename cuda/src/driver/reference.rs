//! Texture and surface references of modules.

use std::ffi::c_char;
use std::sync::Arc;

use cuda_abi::driver::ArrayDescriptor;
use runtime::texture::Resource;
use runtime::{Array, MipmappedArray, Module, Result, Status, SurfaceReference, TextureReference};

use crate::driver::texture::{PITCHED, memory};
use crate::ffi::{Handle, get, put, put_wanted, text};
use crate::object;
use crate::state::healthy;

/// What memory that a texture reads is a multiple of.
const ALIGNMENT: u64 = 512;
/// `CU_TRSF_READ_AS_INTEGER`, `NORMALIZED_COORDINATES`, `SRGB`, `DISABLE_TRILINEAR_OPTIMIZATION`
const FLAGS: u32 = 0x33;

fn texture(of: Handle) -> Result<Arc<TextureReference>> {
    healthy()?;
    object::find(of)
}

fn surface(of: Handle) -> Result<Arc<SurfaceReference>> {
    healthy()?;
    object::find(of)
}

fn axis(dimension: i32) -> Result<usize> {
    usize::try_from(dimension).ok().filter(|&axis| axis < 3).ok_or(Status::INVALID_VALUE)
}

/// Binds consecutive memory; how far the first texel lies behind an address that hardware takes.
unsafe fn set_address(offset: *mut usize, of: Handle, address: u64, bytes: usize) -> Result {
    let reference = texture(of)?;
    let beyond = address % ALIGNMENT;
    if offset.is_null() && beyond != 0 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: null or for the result.
    unsafe { put_wanted(offset, beyond as usize) };
    if bytes == 0 {
        return reference.set_resource(None);
    }
    let bytes = bytes.checked_add(beyond as usize).ok_or(Status::INVALID_VALUE)?;
    let element = reference.element()?;
    reference.set_resource(Some(Resource::Linear { address: address - beyond, element, bytes }))
}

unsafe fn set_rows(of: Handle, shape: *const ArrayDescriptor, address: u64, pitch: usize) -> Result {
    let reference = texture(of)?;
    // SAFETY: null or the structure.
    let shape = unsafe { get(shape) }?;
    reference.set_format(shape.format, shape.channels)?;
    let element = reference.element()?;
    reference.set_resource(Some(memory(PITCHED, address, element, shape.width, shape.height, pitch)))
}

api! {
    fn cuModuleGetTexRef(to: *mut Handle, module: Handle, name: *const c_char) {
        let module: Arc<Module> = object::find(module)?;
        let reference = module.texture_reference(text(name)?);
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let reference = reference?;
        put(to, object::insert(reference.id, reference))
    }

    fn cuModuleGetSurfRef(to: *mut Handle, module: Handle, name: *const c_char) {
        let module: Arc<Module> = object::find(module)?;
        let reference = module.surface_reference(text(name)?);
        if to.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let reference = reference?;
        put(to, object::insert(reference.id, reference))
    }

    fn cuTexRefCreate(to: *mut Handle) {
        healthy()?;
        let reference = TextureReference::alone();
        put(to, object::insert(reference.id, reference))
    }

    fn cuTexRefDestroy(of: Handle) {
        texture(of)?;
        object::remove::<Arc<TextureReference>>(of).map(|_| ())
    }

    fn cuParamSetTexRef(function: Handle, unit: i32, of: Handle) {
        // The reference of a module is a parameter of all its kernels.
        crate::driver::function::function(function)?;
        texture(of)?;
        if unit < -1 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuTexRefSetArray(of: Handle, array: Handle, _flags: u32) {
        let reference = texture(of)?;
        let array: Arc<Array> = object::find(array)?;
        reference.set_resource(Some(Resource::Array(array)))
    }

    fn cuTexRefSetMipmappedArray(of: Handle, array: Handle, _flags: u32) {
        let reference = texture(of)?;
        let array: Arc<MipmappedArray> = object::find(array)?;
        reference.set_resource(Some(Resource::Mipmapped(array)))
    }

    fn cuTexRefSetAddress(offset: *mut u32, of: Handle, address: u32, bytes: u32) {
        let mut beyond = 0;
        set_address(&mut beyond, of, address.into(), bytes as usize)?;
        put_wanted(offset, beyond as u32);
        Ok(())
    }

    fn cuTexRefSetAddress_v2(offset: *mut usize, of: Handle, address: u64, bytes: usize) {
        set_address(offset, of, address, bytes)
    }

    fn cuTexRefSetAddress2D_v2(of: Handle, shape: *const ArrayDescriptor, address: u64, pitch: usize) {
        set_rows(of, shape, address, pitch)
    }

    fn cuTexRefSetAddress2D_v3(of: Handle, shape: *const ArrayDescriptor, address: u64, pitch: usize) {
        set_rows(of, shape, address, pitch)
    }

    fn cuTexRefSetFormat(of: Handle, format: u32, channels: i32) {
        let channels = u32::try_from(channels).map_err(|_| Status::INVALID_VALUE)?;
        texture(of)?.set_format(format, channels)
    }

    fn cuTexRefSetAddressMode(of: Handle, dimension: i32, mode: u32) {
        let (reference, axis) = (texture(of)?, axis(dimension)?);
        reference.change(|sampling| sampling.address[axis] = mode)
    }

    fn cuTexRefSetFilterMode(of: Handle, mode: u32) {
        texture(of)?.change(|sampling| sampling.filter = mode)
    }

    fn cuTexRefSetMipmapFilterMode(of: Handle, mode: u32) {
        texture(of)?.change(|sampling| sampling.mipmap_filter = mode)
    }

    fn cuTexRefSetMipmapLevelBias(of: Handle, bias: f32) {
        texture(of)?.change(|sampling| sampling.bias = bias)
    }

    fn cuTexRefSetMipmapLevelClamp(of: Handle, least: f32, most: f32) {
        texture(of)?.change(|sampling| sampling.clamp = [least, most])
    }

    fn cuTexRefSetMaxAnisotropy(of: Handle, most: u32) {
        texture(of)?.change(|sampling| sampling.anisotropy = most)
    }

    fn cuTexRefSetBorderColor(of: Handle, color: *const [f32; 4]) {
        let (reference, color) = (texture(of)?, get(color)?);
        reference.change(|sampling| sampling.border = color.map(f32::to_bits))
    }

    fn cuTexRefSetFlags(of: Handle, flags: u32) {
        let reference = texture(of)?;
        if flags & !FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        reference.change(|sampling| sampling.flags = flags)
    }

    fn cuTexRefGetAddress(to: *mut u32, of: Handle) {
        put(to, address_of(&*texture(of)?)? as u32)
    }

    fn cuTexRefGetAddress_v2(to: *mut u64, of: Handle) {
        put(to, address_of(&*texture(of)?)?)
    }

    fn cuTexRefGetArray(to: *mut Handle, of: Handle) {
        match texture(of)?.resource() {
            Some(Resource::Array(array)) => put(to, object::handle(array.id)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuTexRefGetMipmappedArray(to: *mut Handle, of: Handle) {
        match texture(of)?.resource() {
            Some(Resource::Mipmapped(array)) => put(to, object::handle(array.id)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuTexRefGetAddressMode(mode: *mut u32, of: Handle, dimension: i32) {
        put(mode, texture(of)?.sampling().address[axis(dimension)?])
    }

    fn cuTexRefGetFilterMode(mode: *mut u32, of: Handle) {
        put(mode, texture(of)?.sampling().filter)
    }

    fn cuTexRefGetFormat(format: *mut u32, channels: *mut i32, of: Handle) {
        let said = texture(of)?.format();
        put_wanted(format, said.0);
        put_wanted(channels, said.1 as i32);
        Ok(())
    }

    fn cuTexRefGetMipmapFilterMode(mode: *mut u32, of: Handle) {
        put(mode, texture(of)?.sampling().mipmap_filter)
    }

    fn cuTexRefGetMipmapLevelBias(bias: *mut f32, of: Handle) {
        put(bias, texture(of)?.sampling().bias)
    }

    fn cuTexRefGetMipmapLevelClamp(least: *mut f32, most: *mut f32, of: Handle) {
        let [low, high] = texture(of)?.sampling().clamp;
        put(least, low)?;
        put(most, high)
    }

    fn cuTexRefGetMaxAnisotropy(most: *mut i32, of: Handle) {
        put(most, texture(of)?.sampling().anisotropy as i32)
    }

    fn cuTexRefGetBorderColor(color: *mut [f32; 4], of: Handle) {
        put(color, texture(of)?.sampling().border.map(f32::from_bits))
    }

    fn cuTexRefGetFlags(flags: *mut u32, of: Handle) {
        put(flags, texture(of)?.sampling().flags)
    }

    fn cuSurfRefSetArray(of: Handle, array: Handle, flags: u32) {
        let reference = surface(of)?;
        let array: Arc<Array> = object::find(array)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        reference.set_array(array)
    }

    fn cuSurfRefGetArray(to: *mut Handle, of: Handle) {
        let array = surface(of)?.array().ok_or(Status::INVALID_VALUE)?;
        put(to, object::handle(array.id))
    }
}

/// The address that a reference was bound to, or nothing where an address was taken away.
fn address_of(reference: &TextureReference) -> Result<u64> {
    match reference.resource() {
        Some(Resource::Linear { address, .. } | Resource::Pitched { address, .. }) => Ok(address),
        Some(_) => Err(Status::INVALID_VALUE),
        None if reference.was_linear() => Ok(0),
        None => Err(Status::INVALID_VALUE),
    }
}
