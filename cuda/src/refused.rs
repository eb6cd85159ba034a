//! Functions that are not implemented: each says so once and returns an error.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use runtime::Status;

/// A function of the driver interface that is implemented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its name without version.
    pub base: &'static str,
    /// The CUDA version from which on this form is meant.
    pub version: u32,
    /// Whether the null stream is the thread's own.
    pub per_thread: bool,
    /// Its code; the type does not matter.
    pub address: unsafe extern "C" fn(),
}

/// Says once that a function is not implemented.
pub(crate) fn report(name: &'static str) {
    static SAID: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_with(HashSet::new).insert(name) {
        eprintln!("warpgrind: `{name}` is not supported; it returns an error");
    }
}

/// Defines functions that refuse. Their arguments do not matter: the caller passes and removes them.
macro_rules! refuse {
    (driver $($name:ident)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        extern "C" fn $name() -> u32 {
            report(stringify!($name));
            Status::NOT_SUPPORTED.0
        }
    )*};
    (nvml $($name:ident)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        extern "C" fn $name() -> u32 {
            cuda_abi::nvml::Return::NOT_SUPPORTED.0
        }
    )*};
    (cupti $($name:ident)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        extern "C" fn $name() -> u32 {
            crate::cupti::Answer::NOT_SUPPORTED.0
        }
    )*};
    (runtime $($name:ident)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        extern "C" fn $name() -> u32 {
            report(stringify!($name));
            crate::cudart::error::keep(Status::NOT_SUPPORTED)
        }
    )*};
}

include!(concat!(env!("OUT_DIR"), "/refused.rs"));
