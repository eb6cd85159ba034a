//! Why a request was refused.

/// Why a backend refused a request; nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The module has no kernel of this name.
    #[error("no kernel `{name}` in the module{}", suggestion(.candidates))]
    NoSuchKernel {
        /// The name asked for.
        name: String,
        /// Kernels there are.
        candidates: Vec<String>,
    },
    /// The module has no variable of this name.
    #[error("no variable `{0}` in the module")]
    NoSuchVariable(String),
    /// A launch dimension, size or parameter buffer is impossible.
    #[error("{0}")]
    InvalidLaunch(String),
    /// Not enough device memory.
    #[error("out of device memory: {requested} bytes asked for, {available} of {total} left")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes left.
        available: u64,
        /// Bytes in all.
        total: u64,
    },
    /// Not enough memory on the host for what the device has.
    #[error(
        "out of memory on this host: {requested} bytes of device memory needed, {available} of the host's {total} left"
    )]
    HostMemory {
        /// Bytes needed.
        requested: u64,
        /// Bytes left.
        available: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The range is not inside one live allocation.
    #[error("{0}")]
    InvalidAddress(String),
    /// A symbol that nothing defines.
    #[error(
        "undefined symbol `{0}`: no linked module defines it and the device runtime has none of that name"
    )]
    UndefinedSymbol(String),
    /// The simulator does not support something that is needed before the launch starts.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The device's driver is older than the module needs.
    #[error("the device's driver supports {driver}, which is too old for {needs}; a newer driver takes it{}", lines(.log))]
    DriverTooOld {
        /// What the driver supports.
        driver: String,
        /// What the module needs.
        needs: String,
        /// What the driver's compiler says.
        log: String,
    },
    /// The device's driver does not accept the module; its words.
    #[error("the device's driver refuses the PTX: {0}")]
    ModuleRefused(String),
    /// The device lacks something that the module or launch needs.
    #[error("the device lacks a capability: {0}")]
    MissingCapability(String),
    /// The contents of the device, or the device itself, were lost earlier.
    #[error("{0}")]
    Lost(String),
    /// A failure of the backend itself, with its own words.
    #[error("{0}")]
    Backend(String),
}

fn suggestion(candidates: &[String]) -> String {
    match candidates {
        [] => "; it has no kernel at all".into(),
        list => format!("; it has {}", list.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    }
}

fn lines(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}
