//! Codes and structures of the NVIDIA Management Library, laid out as `nvml.h` has them.
#![allow(missing_docs, reason = "names and fields say what they are, as those of `nvml.h` do")]

use std::ffi::CStr;

/// `nvmlReturn_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Return(pub u32);

impl Return {
    pub const SUCCESS: Return = Return(0);
    pub const UNINITIALIZED: Return = Return(1);
    pub const INVALID_ARGUMENT: Return = Return(2);
    pub const NOT_SUPPORTED: Return = Return(3);
    pub const NOT_FOUND: Return = Return(6);
    pub const INSUFFICIENT_SIZE: Return = Return(7);
    pub const ARGUMENT_VERSION_MISMATCH: Return = Return(25);
    pub const UNKNOWN: Return = Return(999);

    /// What `nvmlErrorString` says of it.
    pub fn text(self) -> &'static CStr {
        let known = TEXTS.iter().find(|(code, _)| *code == self.0);
        known.map_or(c"Unknown Error", |(_, text)| text)
    }
}

/// By code: as the library words them.
const TEXTS: [(u32, &CStr); 29] = [
    (0, c"Success"),
    (1, c"Uninitialized"),
    (2, c"Invalid Argument"),
    (3, c"Not Supported"),
    (4, c"Insufficient Permissions"),
    (5, c"Already Initialized"),
    (6, c"Not Found"),
    (7, c"Insufficient Size"),
    (8, c"Insufficient External Power"),
    (9, c"Driver Not Loaded"),
    (10, c"Timeout"),
    (11, c"Interrupt Request Issue"),
    (12, c"NVML Shared Library Not Found"),
    (13, c"Function Not Found"),
    (14, c"Corrupted infoROM"),
    (15, c"GPU is lost"),
    (16, c"GPU requires reset"),
    (17, c"The operating system has blocked the request."),
    (18, c"RM has detected an NVML/RM version mismatch."),
    (19, c"GPU is currently in use"),
    (20, c"Insufficient Memory"),
    (21, c"No Data"),
    (22, c"The requested vgpu operation is not available on target device, because ECC is enabled"),
    (23, c"Insufficient Resources"),
    (24, c"Freq Not Supported"),
    (25, c"Argument Version Mismatch"),
    (26, c"Deprecated"),
    (27, c"Not Ready"),
    (28, c"GPU not found"),
];

/// The number by which a structure says which one it is (`NVML_STRUCT_VERSION`).
pub const fn struct_version<T>(version: u32) -> u32 {
    size_of::<T>() as u32 | version << 24
}

/// `nvmlPciInfo_t`, and what came before it: without the last name, with four words in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PciInfo {
    pub bus_id_legacy: [u8; 16],
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    /// Device and vendor.
    pub pci_device_id: u32,
    pub pci_subsystem_id: u32,
    pub bus_id: [u8; 32],
}

/// `nvmlFieldValue_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FieldValue {
    pub field: u32,
    pub scope: u32,
    /// Microseconds.
    pub timestamp: i64,
    pub latency: i64,
    pub kind: u32,
    /// Whether there is a value.
    pub code: Return,
    pub value: u64,
}

/// `nvmlMemory_t`, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Memory {
    pub total: u64,
    pub free: u64,
    pub used: u64,
}

/// `nvmlMemory_v2_t`, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MemoryV2 {
    pub version: u32,
    pub total: u64,
    pub reserved: u64,
    pub free: u64,
    pub used: u64,
}
