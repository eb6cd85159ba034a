//! Texture and surface references: variables of a module that are bound to memory, and textures that are none.
//!
//! A change takes effect for launches that come after it: those before it are waited for.

use std::sync::{Arc, Mutex, Weak};

use cuda_abi::{Result, Status};
use sim_core::{Backend, ModuleId};

use crate::array::Array;
use crate::objects::{bound_surface, bound_texture};
use crate::shape::{Element, array_flags};
use crate::texture::{Resource, Sampling};
use crate::tree::Context;
use crate::{fresh_id, lock};

/// Whose variables the references are.
pub(crate) trait Variables: Send + Sync + std::fmt::Debug {
    /// The context that they are in, if it is still there, and the simulator's number of their module.
    fn place(&self) -> Option<(Arc<Context>, ModuleId)>;
}

/// A variable that refers to a texture or surface.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) module: Weak<dyn Variables>,
    pub(crate) name: Box<str>,
}

impl Target {
    /// Lets launches from now on see a handle there, in place of another one.
    fn bind(&self, new: impl FnOnce(&Context) -> Result<u64>, old: &mut Option<u64>) -> Result {
        let module = self.module.upgrade().ok_or(Status::INVALID_HANDLE)?;
        let (context, loaded) = module.place().ok_or(Status::CONTEXT_IS_DESTROYED)?;
        let handle = new(&context)?;
        context.drain();
        let simulator = &context.device.simulator;
        simulator.bind_reference(loaded, &self.name, handle)?;
        if let Some(old) = old.replace(handle) {
            simulator.remove_object(old);
        }
        Ok(())
    }
}

/// What a texture reference says, with the numbers of CUDA.
#[derive(Clone, Debug)]
struct Said {
    format: (u32, u32),
    resource: Option<Resource>,
    /// Whether an address was set, be it none.
    linear: bool,
    sampling: Sampling,
}

/// A texture reference.
#[derive(Debug)]
pub struct TextureReference {
    /// Its number.
    pub id: u64,
    target: Option<Target>,
    said: Mutex<Said>,
    /// The handle that the variable has.
    bound: Mutex<Option<u64>>,
}

/// `CU_AD_FORMAT_FLOAT`
const FLOAT: u32 = 0x20;
/// `CU_TR_ADDRESS_MODE_CLAMP`
const CLAMP: u32 = 1;

impl TextureReference {
    /// A reference that was bound to nothing yet.
    pub(crate) fn of(target: Option<Target>) -> Arc<Self> {
        let sampling = Sampling { address: [CLAMP; 3], ..Sampling::default() };
        let said = Mutex::new(Said { format: (FLOAT, 1), resource: None, linear: false, sampling });
        Arc::new(Self { id: fresh_id(), target, said, bound: Mutex::default() })
    }

    /// A reference that no module has.
    pub fn alone() -> Arc<Self> {
        Self::of(None)
    }

    /// Numbers of the format and of the channels.
    pub fn format(&self) -> (u32, u32) {
        lock(&self.said).format
    }

    /// Sets them, for memory that has no format of its own.
    ///
    /// # Errors
    /// As [`Element::of_number`].
    pub fn set_format(&self, format: u32, channels: u32) -> Result {
        Element::of_number(format, channels)?;
        lock(&self.said).format = (format, channels);
        Ok(())
    }

    /// The element of that format.
    ///
    /// # Errors
    /// As [`Element::of_number`].
    pub fn element(&self) -> Result<Element> {
        let (format, channels) = self.format();
        Element::of_number(format, channels)
    }

    /// What it reads.
    pub fn resource(&self) -> Option<Resource> {
        lock(&self.said).resource.clone()
    }

    /// Whether the last that was set was an address, or none.
    pub fn was_linear(&self) -> bool {
        lock(&self.said).linear
    }

    /// Sets it; an array brings its format.
    ///
    /// # Errors
    /// `INVALID_VALUE` for memory that a texture cannot read.
    pub fn set_resource(&self, resource: Option<Resource>) -> Result {
        let element = match &resource {
            Some(Resource::Array(array)) => Some(array.shape.element),
            Some(Resource::Mipmapped(array)) => Some(array.shape.element),
            _ => None,
        };
        let before = {
            let mut said = lock(&self.said);
            let before = said.clone();
            said.linear = element.is_none();
            said.resource = resource;
            if let Some(element) = element {
                said.format = (element.number(), element.channels);
            }
            before
        };
        self.bind().inspect_err(|_| *lock(&self.said) = before)
    }

    /// How it reads.
    pub fn sampling(&self) -> Sampling {
        lock(&self.said).sampling
    }

    /// Changes that.
    ///
    /// # Errors
    /// Those of the context.
    pub fn change(&self, change: impl FnOnce(&mut Sampling)) -> Result {
        change(&mut lock(&self.said).sampling);
        // What does not go together is told when memory is set.
        match self.bind() {
            Err(Status::INVALID_VALUE) => Ok(()),
            other => other,
        }
    }

    fn bind(&self) -> Result {
        let Some(target) = &self.target else { return Ok(()) };
        let Said { resource, mut sampling, .. } = lock(&self.said).clone();
        let Some(resource) = resource else { return Ok(()) };
        // What is no mode clamps, and what is no filter takes points, as on an H200.
        for mode in sampling.address.iter_mut().filter(|mode| **mode > 3) {
            *mode = CLAMP;
        }
        for filter in [&mut sampling.filter, &mut sampling.mipmap_filter] {
            *filter = if *filter > 1 { 0 } else { *filter };
        }
        target.bind(|context| bound_texture(context, resource, sampling), &mut lock(&self.bound))
    }
}

/// A surface reference.
#[derive(Debug)]
pub struct SurfaceReference {
    /// Its number.
    pub id: u64,
    target: Target,
    array: Mutex<Option<Arc<Array>>>,
    bound: Mutex<Option<u64>>,
}

impl SurfaceReference {
    /// A reference that was bound to nothing yet.
    pub(crate) fn of(target: Target) -> Arc<Self> {
        Arc::new(Self { id: fresh_id(), target, array: Mutex::default(), bound: Mutex::default() })
    }

    /// The array that it is bound to.
    pub fn array(&self) -> Option<Arc<Array>> {
        lock(&self.array).clone()
    }

    /// Sets it.
    ///
    /// # Errors
    /// `INVALID_VALUE` for an array that was not made for surfaces.
    pub fn set_array(&self, array: Arc<Array>) -> Result {
        if array.shape.flags & array_flags::SURFACE == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let resource = Resource::Array(array.clone());
        self.target.bind(|context| bound_surface(context, resource), &mut lock(&self.bound))?;
        *lock(&self.array) = Some(array);
        Ok(())
    }
}
