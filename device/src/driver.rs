//! Finding and opening the driver, and what it says of its devices.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuda_abi::Status;
use cuda_abi::numbers::device_attribute as a;

use crate::api::{Api, RawDevice, Refusal};
use crate::error::{CallError, OpenError};
use crate::properties::{DriverVersion, Properties};

/// The environment variable that names the driver's library.
pub const LIBRARY_VARIABLE: &str = "WARPGRIND_LIBCUDA";

/// Where drivers install their library. Full names come first: a replacement that is in the loader's search
/// path under the driver's name does not hide the driver.
const USUAL_PLACES: &[&str] = if cfg!(windows) {
    &["C:\\Windows\\System32\\nvcuda.dll", "nvcuda.dll"]
} else if cfg!(target_os = "linux") {
    &[
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
        "/usr/lib/libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
        "/usr/local/nvidia/lib/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
        "libcuda.so.1",
    ]
} else {
    &[]
};

/// The driver, opened and initialised.
#[derive(Clone, Debug)]
pub struct Driver {
    pub(crate) api: Arc<Api>,
    path: PathBuf,
    version: DriverVersion,
    count: u32,
}

impl Driver {
    /// Opens the driver `library`, or else the one that `WARPGRIND_LIBCUDA` names, or else the first that is
    /// found in the usual places. A library that is named and cannot be used is an error; none other is tried.
    ///
    /// A driver without devices is [`OpenError::NoDevice`].
    pub fn open(library: Option<&Path>) -> Result<Self, OpenError> {
        let said = || std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
        let named = library.map(Path::to_path_buf).or_else(|| said().map(PathBuf::from));
        let places =
            named.map_or_else(|| USUAL_PLACES.iter().map(PathBuf::from).collect(), |path| vec![path]);
        let mut tried = Vec::new();
        let mut dropin = None;
        for path in places {
            match Api::open(&path) {
                Ok(api) => return Self::start(api, path),
                Err(Refusal::DropIn) => dropin = Some(path),
                Err(Refusal::Lacks("cuInit")) => return Err(OpenError::NoDriver(path)),
                Err(Refusal::Lacks(function)) => {
                    return Err(OpenError::DriverTooOld { path, function: function.into() });
                }
                Err(Refusal::NotThere(_)) if path.components().count() > 1 && !path.exists() => {
                    tried.push((path, "no such file".into()));
                }
                Err(Refusal::NotThere(why)) => tried.push((path, why)),
            }
        }
        Err(match dropin {
            Some(path) => OpenError::DropIn(path),
            None => OpenError::LibraryNotFound(tried),
        })
    }

    fn start(api: Api, path: PathBuf) -> Result<Self, OpenError> {
        let mut version: c_int = 0;
        // SAFETY: the pointer is to an int that is written. This call is allowed before `cuInit`.
        let version = unsafe { api.driver_version(&mut version) }
            .ok()
            .map(|()| DriverVersion { major: version as u32 / 1000, minor: version as u32 % 1000 / 10 });
        let failed = |error: CallError| match error.code {
            Status::NO_DEVICE => OpenError::NoDevice { path: path.clone(), stub: false },
            Status::STUB_LIBRARY => OpenError::NoDevice { path: path.clone(), stub: true },
            _ => OpenError::Call { error, version },
        };
        let mut count = 0;
        // SAFETY: no flags are defined; the count is written to an int.
        unsafe { api.init(0).and_then(|()| api.device_count(&mut count)) }.map_err(failed)?;
        match (u32::try_from(count), version) {
            (Ok(count @ 1..), Some(version)) => Ok(Self { api: Arc::new(api), path, version, count }),
            _ => Err(OpenError::NoDevice { path, stub: false }),
        }
    }

    /// The library's file, as it was looked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The CUDA version that it supports.
    pub fn version(&self) -> DriverVersion {
        self.version
    }

    /// What devices there are.
    pub fn devices(&self) -> Result<Vec<Properties>, OpenError> {
        (0..self.count).map(|index| self.properties(index).map(|(_, properties)| properties)).collect()
    }

    pub(crate) fn properties(&self, index: u32) -> Result<(RawDevice, Properties), OpenError> {
        if index >= self.count {
            return Err(OpenError::NoSuchDevice { index, count: self.count });
        }
        self.query(index).map_err(|error| OpenError::Call { error, version: Some(self.version) })
    }

    fn query(&self, index: u32) -> Result<(RawDevice, Properties), CallError> {
        let (mut device, mut memory) = (0, 0);
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: the driver is initialised; every pointer is to a variable of the type that is written, and
        // the size of the name is given.
        unsafe {
            self.api.device_get(&mut device, index as c_int)?;
            self.api.device_name(name.as_mut_ptr(), name.len() as c_int - 1, device)?;
            self.api.device_total(&mut memory, device)?;
        }
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: the device is valid and an int is written.
            unsafe { self.api.device_attribute(&mut value, which, device) }.map(|()| value as u32)
        };
        // SAFETY: the last byte was left zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let properties = Properties {
            index,
            name,
            sm: (attribute(a::COMPUTE_CAPABILITY_MAJOR)? * 10 + attribute(a::COMPUTE_CAPABILITY_MINOR)?)
                as u16,
            multiprocessors: attribute(a::MULTIPROCESSOR_COUNT)?,
            memory: memory as u64,
            shared_per_block: attribute(a::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        };
        Ok((device, properties))
    }
}
