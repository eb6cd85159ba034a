//! The extension module `warpgrind._native`: modules on simulated devices, as Python sees them.
//!
//! What people use is the Python package in `python/package/warpgrind`, which is written on these classes: arrays, findings and
//! exceptions are made there.
//!
//! # Invariants
//! * The interpreter's lock is free while a kernel runs, and signals are looked at.
//! * No address of host memory is kept beyond a call, but for arrays that are mapped (`mapped.rs`), which stay with it.
//!
//! # What it must not know
//! How anything is computed, and what users call it with: numbers and arrays are taken apart in Python.

mod debug;
mod device;
mod error;
mod litmus;
mod mapped;
mod plan;
mod profile;
mod report;
mod turn;
mod wait;

/// The extension module.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::debug::Debugger;
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::error::{Error, LaunchError, LitmusError, NoDeviceError, PtxError, RecordingError};
    #[pymodule_export]
    use crate::litmus::litmus;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::report::Report;

    /// The version of the workspace.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
