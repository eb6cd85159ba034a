//! What a driver and a device say of themselves.

use serde::{Deserialize, Serialize};

/// The CUDA version that a driver supports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DriverVersion {
    /// 13 of 13.0.
    pub major: u32,
    /// 0 of 13.0.
    pub minor: u32,
}

impl std::fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CUDA {}.{}", self.major, self.minor)
    }
}

/// What a device is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Properties {
    /// Its number, from 0.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Compute capability times ten: 90 for sm_90.
    pub sm: u16,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of shared memory that a block may ask for.
    pub shared_per_block: u32,
}

impl Properties {
    /// `9.0`.
    pub fn capability(&self) -> String {
        format!("{}.{}", self.sm / 10, self.sm % 10)
    }
}
