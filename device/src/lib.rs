//! A real CUDA device, through its driver, behind the same [`sim_core::Backend`] as the simulator.
//!
//! ```no_run
//! use sim_core::Backend;
//! let device = device::Device::open(&device::Options::default())?;
//! println!("{}", device.name());
//! # Ok::<(), device::OpenError>(())
//! ```
//!
//! The driver is NVIDIA's `libcuda`, opened at run time ([`Driver::open`]), so that nothing here needs CUDA
//! to build or to start. A library that replaces the driver by the simulator exports the symbol
//! `warpgrind_dropin` and is refused: comparing the simulator with itself would prove nothing.
//!
//! # Invariants
//! * Every call into the driver happens in this crate; `unsafe` is confined to `api.rs` (the table of
//!   functions), the modules that call it, and `capture.rs` (redirecting standard streams).
//! * A fault makes the driver useless to the process, so [`Device`] answers with [`sim_core::Error::Lost`] then;
//!   [`DeviceProcess`] leaves the device to another process and starts a new one.
//! * One request at a time: the methods of [`Device`] take a lock.
//!
//! # What it must not know
//! Files other than the driver, terminals, report formats.

mod api;
mod capture;
mod context;
mod contraction;
mod device;
mod driver;
mod error;
mod fault;
mod jit;
mod launch;
mod memory;
mod nvml;
mod options;
mod process;
mod properties;
mod protocol;
mod serve;
mod tensor_map;

pub use contraction::without_contraction;
pub use cuda_abi::Status;
pub use device::Device;
pub use driver::{Driver, LIBRARY_VARIABLE};
pub use error::{CallError, OpenError};
pub use nvml::{Nvml, NvmlDevice, NvmlError};
pub use options::{Contraction, OptLevel, Options, Placement};
pub use process::{DeviceProcess, Server};
pub use properties::{DriverVersion, Properties};
pub use serve::serve;
