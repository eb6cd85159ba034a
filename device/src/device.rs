//! The device as a [`Backend`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptx_frontend::Module;
use sim_core::{Backend, DevicePtr, Error, Launch, LaunchReport, ModuleId, RunOptions};

use crate::capture;
use crate::context::Context;
use crate::driver::Driver;
use crate::error::{CallError, OpenError};
use crate::fault::{Ended, Stop};
use crate::jit::{Image, Loaded};
use crate::launch;
use crate::memory::Memory;
use crate::options::{Contraction, OptLevel, Options, Placement};
use crate::properties::Properties;

/// A device in use by this process.
///
/// A fault of a kernel makes the driver useless to the whole process: every later call, a new context included,
/// fails with the same error. So does, in effect, a kernel that exceeds [`RunOptions::timeout`], since only the end
/// of the process ends it. Afterwards all requests are answered with [`Error::Lost`]; [`crate::DeviceProcess`]
/// goes on.
#[derive(Debug)]
pub struct Device {
    driver: Driver,
    properties: Properties,
    placement: Placement,
    contraction: Contraction,
    level: OptLevel,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    context: Context,
    modules: HashMap<ModuleId, Loaded>,
    memory: Memory,
    next_module: u32,
    /// Why the device cannot be used any more.
    lost: Option<String>,
}

impl Device {
    /// Opens the driver and a context on a device.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        Self::with_driver(Driver::open(options.library.as_deref())?, options)
    }

    /// The same with a driver that is open already; `options.library` is not used.
    pub fn with_driver(driver: Driver, options: &Options) -> Result<Self, OpenError> {
        let (device, properties) = driver.properties(options.index)?;
        let context = Context::new(driver.api.clone(), device)
            .map_err(|error| OpenError::Call { error, version: Some(driver.version()) })?;
        let state =
            State { context, modules: HashMap::new(), memory: Memory::default(), next_module: 0, lost: None };
        let Options { placement, contraction, level, .. } = *options;
        Ok(Self { driver, properties, placement, contraction, level, state: Mutex::new(state) })
    }

    /// The driver.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// What device it is.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    pub(crate) fn load_image(&self, image: Image) -> Result<ModuleId, Error> {
        let mut state = self.enter()?;
        let image = match self.contraction {
            Contraction::Allowed => image,
            Contraction::Forbidden => image.without_contraction(),
        };
        let loaded =
            Loaded::new(&state.context, &image, self.level, &self.properties, self.driver.version())?;
        for &(pointer, bytes) in loaded.variables.values() {
            state.memory.add_variable(pointer, bytes);
        }
        let id = ModuleId(state.next_module);
        state.next_module += 1;
        state.modules.insert(id, loaded);
        Ok(id)
    }

    /// Whether the range lies in one allocation or variable.
    pub(crate) fn check(&self, at: DevicePtr, bytes: u64) -> Result<(), Error> {
        self.enter()?.memory.check(at, bytes)
    }

    /// Launches and waits, for `limit` at the most.
    pub(crate) fn run(
        &self,
        module: ModuleId,
        launch: &Launch,
        limit: Option<Duration>,
    ) -> Result<Ended, Error> {
        let state = &mut *self.enter()?;
        let loaded = state.modules.get_mut(&module).ok_or_else(|| unknown(module))?;
        let context = &mut state.context;
        let prints = loaded.prints;
        let (function, offsets) = loaded.function(context, launch)?;
        let start = Instant::now();
        let run = || launch::start(context, function, offsets, launch).map(|()| launch::wait(context, limit));
        let (stop, output, errors) =
            if prints { capture::during(run) } else { (run(), Vec::new(), Vec::new()) };
        let ended = Ended { stop: stop?, output, errors, time: start.elapsed() };
        match &ended.stop {
            None => {}
            Some(Stop::TimedOut(_)) => {
                context.stuck = true;
                state.lost = Some("a kernel that did not end in time still runs".into());
            }
            Some(Stop::Failed(error)) => state.lost = Some(format!("a kernel faulted with {}", error.name)),
        }
        Ok(ended)
    }

    /// The state, with the context current on this thread.
    fn enter(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.lost {
            Some(why) => Err(Error::Lost(format!("this process cannot use the device any more: {why}"))),
            None => state.context.enter().map(|()| state).map_err(backend),
        }
    }
}

fn backend(error: CallError) -> Error {
    Error::Backend(error.to_string())
}

impl State {
    fn module(&mut self, module: ModuleId) -> Result<&mut Loaded, Error> {
        self.modules.get_mut(&module).ok_or_else(|| unknown(module))
    }
}

fn unknown(module: ModuleId) -> Error {
    Error::Backend(format!("module {} is not loaded", module.0))
}

impl Backend for Device {
    fn name(&self) -> String {
        self.properties.name.clone()
    }

    fn load(&self, module: Arc<Module>) -> Result<ModuleId, Error> {
        self.load_image(Image::of(&module))
    }

    fn unload(&self, module: ModuleId) -> Result<(), Error> {
        let mut state = self.enter()?;
        let loaded = state.modules.remove(&module).ok_or_else(|| unknown(module))?;
        for &(pointer, _) in loaded.variables.values() {
            state.memory.remove_variable(pointer);
        }
        loaded.unload(&state.context);
        Ok(())
    }

    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        let mut state = self.enter()?;
        let found = state.module(module)?.variables.get(name).copied();
        found.ok_or_else(|| Error::NoSuchVariable(name.into()))
    }

    fn alloc(&self, bytes: u64, _label: &str) -> Result<DevicePtr, Error> {
        let State { context, memory, .. } = &mut *self.enter()?;
        memory.alloc(context, bytes, self.placement)
    }

    fn free(&self, pointer: DevicePtr) -> Result<(), Error> {
        let State { context, memory, .. } = &mut *self.enter()?;
        memory.free(context, pointer)
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        let state = self.enter()?;
        state.memory.check(to, bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the device's range was checked, the host's is that of the slice.
        unsafe { state.context.api.copy_to_device(to, bytes.as_ptr().cast(), bytes.len()) }.map_err(backend)
    }

    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        let state = self.enter()?;
        state.memory.check(from, bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the device's range was checked, the host's is that of the slice.
        unsafe { state.context.api.copy_to_host(bytes.as_mut_ptr().cast(), from, bytes.len()) }
            .map_err(backend)
    }

    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error> {
        let state = self.enter()?;
        state.memory.check(to, bytes)?;
        let count = bytes as usize / pattern.len().max(1);
        let api = &state.context.api;
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the device's range was checked; the driver refuses addresses that are not aligned.
        let filled = unsafe {
            match *pattern {
                [a] => api.fill_8(to, a, count),
                [a, b] => api.fill_16(to, u16::from_le_bytes([a, b]), count),
                [a, b, c, d] => api.fill_32(to, u32::from_le_bytes([a, b, c, d]), count),
                _ => return Err(Error::Backend(format!("a pattern of {} bytes", pattern.len()))),
            }
        };
        filled.map_err(backend)
    }

    /// Runs a launch. Schedule, instruction limit and checks of `options` are the simulator's; the time limit holds
    /// here too, see [`Device`].
    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error> {
        self.run(module, launch, options.timeout)?.report(launch)
    }
}
