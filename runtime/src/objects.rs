//! Texture and surface objects of contexts: made of descriptors, known by handles.

use cuda_abi::{Result, Status};
use sim_core::{Backend, Image, Texture};

use crate::attributes::attribute;
use crate::lock;
use crate::texture::{Object, Resource, Sampling, View};
use crate::tree::Context;

/// What the simulator reads of a resource on a context's device.
fn image(context: &Context, resource: &Resource) -> Result<(Image, bool)> {
    let device = &context.device;
    resource.image(|number| {
        attribute(device.simulator.config(), device.index, number).map(|value| value as usize)
    })
}

/// Makes a texture object; returns its handle.
///
/// # Errors
/// `INVALID_VALUE` for descriptors that a device does not take.
pub fn create_texture(
    context: &Context,
    resource: Resource,
    sampling: Sampling,
    view: Option<View>,
) -> Result<u64> {
    context.check()?;
    let (mut image, fraction) = image(context, &resource)?;
    if let Some(view) = &view {
        image = view.of(image, &resource)?;
    }
    let sampler = sampling.sampler(&image, fraction, &resource)?;
    let device = &context.device;
    let handle = device.simulator.add_texture(Texture { image, sampler });
    lock(&device.objects.0).insert(handle, Object { resource, sampling: Some(sampling), view });
    Ok(handle)
}

/// A texture for a reference, which no table of objects has; its handle.
pub(crate) fn bound_texture(context: &Context, resource: Resource, sampling: Sampling) -> Result<u64> {
    let (image, fraction) = image(context, &resource)?;
    let sampler = sampling.sampler(&image, fraction, &resource)?;
    Ok(context.device.simulator.add_texture(Texture { image, sampler }))
}

/// The same of a surface.
pub(crate) fn bound_surface(context: &Context, resource: Resource) -> Result<u64> {
    let (image, _) = image(context, &resource)?;
    Ok(context.device.simulator.add_surface(image))
}

/// Makes a surface object; returns its handle.
///
/// # Errors
/// `INVALID_VALUE` for what is no array.
pub fn create_surface(context: &Context, resource: Resource) -> Result<u64> {
    context.check()?;
    if !matches!(resource, Resource::Array(_)) {
        return Err(Status::INVALID_VALUE);
    }
    let (image, _) = image(context, &resource)?;
    let device = &context.device;
    let handle = device.simulator.add_surface(image);
    lock(&device.objects.0).insert(handle, Object { resource, sampling: None, view: None });
    Ok(handle)
}

/// Ends a texture or surface object, if there is one of this handle; a device says nothing otherwise. Launches that were asked
/// for before still read it, as programs expect that destroy what they have just launched with.
///
/// # Errors
/// The context's fault.
pub fn destroy_object(context: &Context, handle: u64) -> Result {
    context.check()?;
    let device = context.device.clone();
    lock(&device.objects.0).remove(&handle);
    context.afterwards(move || {
        device.simulator.remove_object(handle);
    });
    Ok(())
}
