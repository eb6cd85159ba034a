//! What runs kernels: the simulator, or a real device behind the same trait.

use std::sync::Arc;

use ptx_frontend::Module;

use crate::error::Error;
use crate::launch::{DevicePtr, Launch, LaunchReport};
use crate::options::RunOptions;
use crate::texture::Object as TextureObject;

/// A module that a backend has loaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(pub u32);

/// What runs kernels. Methods take `&self`: a backend is shared between host threads.
pub trait Backend: Send + Sync {
    /// A name for messages: `simulator`, or the device's name.
    fn name(&self) -> String;

    /// Loads a checked module: places its variables and resolves its symbols.
    fn load(&self, module: Arc<Module>) -> Result<ModuleId, Error>;

    /// Unloads a module and frees its variables.
    fn unload(&self, module: ModuleId) -> Result<(), Error>;

    /// Address and size in bytes of a module-scope `.global` or `.const` variable.
    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error>;

    /// Allocates `bytes` of global memory, aligned to 512; `label` names it in findings.
    fn alloc(&self, bytes: u64, label: &str) -> Result<DevicePtr, Error>;

    /// Frees what [`Backend::alloc`] returned.
    fn free(&self, pointer: DevicePtr) -> Result<(), Error>;

    /// Copies bytes to the device.
    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error>;

    /// Copies bytes from the device.
    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error>;

    /// Sets `bytes` bytes to the repeated pattern of 1, 2 or 4 bytes.
    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error>;

    /// Has kernels only read these addresses of the allocation that begins at `base`, where a backend can.
    fn set_read_only(&self, _base: DevicePtr, _addresses: Vec<std::ops::Range<u64>>) {}

    /// A texture or surface for launches from now on, under the handle that it had elsewhere if one is said; its handle.
    ///
    /// # Errors
    /// The backend takes none, or the handle cannot be had.
    fn place_object(&self, _object: TextureObject, _handle: Option<u64>) -> Result<u64, Error> {
        Err(Error::Unsupported("textures and surfaces of launch files but on the simulator".into()))
    }

    /// Ends what [`Backend::place_object`] made; false if there is none of this handle.
    fn remove_object(&self, _handle: u64) -> bool {
        false
    }

    /// Binds a `.texref` or `.surfref` of a module to a texture or surface, for launches from now on.
    ///
    /// # Errors
    /// The module is not loaded, or has no such reference.
    fn bind_reference(&self, _module: ModuleId, name: &str, _handle: u64) -> Result<(), Error> {
        Err(Error::NoSuchVariable(name.into()))
    }

    /// Runs a launch to its end. `Err` means that nothing ran; faults are in the report.
    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error>;
}
