//! The NVIDIA Management Library, opened at run time: which devices a machine has, without using one.

use std::ffi::CStr;
use std::path::PathBuf;

use cuda_abi::nvml::{Memory, PciInfo, Return};
use libloading::Library;

/// The name that programs ask for.
const LIBRARY: &str = "libnvidia-ml.so.1";
/// The longest text that the library gives, with its end.
const TEXT: usize = 128;

/// The library, initialised; that of a simulated device, too.
///
/// ```no_run
/// let library = device::Nvml::open()?;
/// for index in 0..library.count()? {
///     let device = library.device(index)?;
///     println!("{}: {}, {} bytes", device.index, device.name, device.total);
/// }
/// # Ok::<(), device::NvmlError>(())
/// ```
#[derive(Debug)]
pub struct Nvml {
    library: Library,
}

/// Why the library says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvmlError {
    /// It is not there.
    #[error("cannot load {}: {why}", path.display())]
    Missing {
        /// What was looked for.
        path: PathBuf,
        /// The loader's words.
        why: String,
    },
    /// A function of it failed, or there is none of this name.
    #[error("`{name}`: {}", code.text().to_string_lossy())]
    Failed {
        /// The function.
        name: &'static str,
        /// What it answered.
        code: Return,
    },
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmlDevice {
    /// Its number.
    pub index: u32,
    /// Its name: `NVIDIA H200`.
    pub name: String,
    /// `GPU-` and 32 hexadecimal digits in five groups.
    pub uuid: String,
    /// Domain, bus and device.
    pub bus_id: String,
    /// Major and minor number.
    pub compute_capability: (i32, i32),
    /// Memory in bytes: all, and what is in use.
    pub total: u64,
    /// Bytes in use.
    pub used: u64,
    /// The highest clock of the multiprocessors and of the memory, in MHz.
    pub clocks: (u32, u32),
    /// Whether its memory corrects errors, if it says so.
    pub ecc: Option<bool>,
}

impl Nvml {
    /// Loads and initialises it.
    ///
    /// # Errors
    /// There is no such library, or it does not start.
    pub fn open() -> Result<Nvml, NvmlError> {
        // SAFETY: the library does nothing when it is opened.
        let library = unsafe { Library::new(LIBRARY) };
        let library =
            library.map_err(|error| NvmlError::Missing { path: LIBRARY.into(), why: error.to_string() })?;
        let library = Nvml { library };
        library.call("nvmlInit_v2", 0, 0, 0)?;
        Ok(library)
    }

    /// Calls a function with up to three arguments, integers or pointers.
    fn call(&self, name: &'static str, a: u64, b: u64, c: u64) -> Result<(), NvmlError> {
        let failed = |code| NvmlError::Failed { name, code };
        // SAFETY: all functions that are called here take at most these arguments, and the callers below pass pointers to what
        // they write.
        let code = unsafe {
            let function = self.library.get::<unsafe extern "C" fn(u64, u64, u64) -> u32>(name.as_bytes());
            function.map_err(|_| failed(Return::NOT_SUPPORTED))?(a, b, c)
        };
        match Return(code) {
            Return::SUCCESS => Ok(()),
            code => Err(failed(code)),
        }
    }

    /// A text that a function writes to a place of some size.
    fn text(&self, name: &'static str, device: Option<u64>) -> Result<String, NvmlError> {
        let mut bytes = [0u8; TEXT];
        let place = bytes.as_mut_ptr() as u64;
        match device {
            Some(device) => self.call(name, device, place, TEXT as u64)?,
            None => self.call(name, place, TEXT as u64, 0)?,
        }
        let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// How many devices there are.
    ///
    /// # Errors
    /// The library's.
    pub fn count(&self) -> Result<u32, NvmlError> {
        let mut count = 0u32;
        self.call("nvmlDeviceGetCount_v2", &raw mut count as u64, 0, 0)?;
        Ok(count)
    }

    /// The driver's version: `580.65.06`.
    ///
    /// # Errors
    /// The library's.
    pub fn driver_version(&self) -> Result<String, NvmlError> {
        self.text("nvmlSystemGetDriverVersion", None)
    }

    /// The CUDA version that the driver has: major and minor.
    ///
    /// # Errors
    /// The library's.
    pub fn cuda_version(&self) -> Result<(i32, i32), NvmlError> {
        let mut version = 0i32;
        self.call("nvmlSystemGetCudaDriverVersion_v2", &raw mut version as u64, 0, 0)?;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// A device by its number.
    ///
    /// # Errors
    /// There is no such device; the library's.
    pub fn device(&self, index: u32) -> Result<NvmlDevice, NvmlError> {
        let mut handle = 0u64;
        self.call("nvmlDeviceGetHandleByIndex_v2", index.into(), &raw mut handle as u64, 0)?;
        let mut pci = PciInfo {
            bus_id_legacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pci_device_id: 0,
            pci_subsystem_id: 0,
            bus_id: [0; 32],
        };
        self.call("nvmlDeviceGetPciInfo_v3", handle, &raw mut pci as u64, 0)?;
        let bus_id = CStr::from_bytes_until_nul(&pci.bus_id).unwrap_or_default();
        let mut memory = Memory { total: 0, free: 0, used: 0 };
        self.call("nvmlDeviceGetMemoryInfo", handle, &raw mut memory as u64, 0)?;
        let (mut major, mut minor) = (0i32, 0i32);
        let place = &raw mut minor as u64;
        self.call("nvmlDeviceGetCudaComputeCapability", handle, &raw mut major as u64, place)?;
        let mut clocks = [0u32; 2];
        for (kind, clock) in [1, 2].into_iter().zip(&mut clocks) {
            // A board may not say.
            let _ = self.call("nvmlDeviceGetMaxClockInfo", handle, kind, &raw mut *clock as u64);
        }
        let (mut ecc, mut pending) = (0u32, 0u32);
        let says = self.call("nvmlDeviceGetEccMode", handle, &raw mut ecc as u64, &raw mut pending as u64);
        Ok(NvmlDevice {
            index,
            name: self.text("nvmlDeviceGetName", Some(handle))?,
            uuid: self.text("nvmlDeviceGetUUID", Some(handle))?,
            bus_id: bus_id.to_string_lossy().into_owned(),
            compute_capability: (major, minor),
            total: memory.total,
            used: memory.used,
            clocks: clocks.into(),
            ecc: says.is_ok().then_some(ecc != 0),
        })
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // Nobody is there to be told.
        let _ = self.call("nvmlShutdown", 0, 0, 0);
    }
}
