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
    pub const TIMEOUT: Return = Return(10);
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

/// `nvmlPciInfoExt_v1_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PciInfoExt {
    pub version: u32,
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub pci_device_id: u32,
    pub pci_subsystem_id: u32,
    pub base_class: u32,
    pub sub_class: u32,
    pub bus_id: [u8; 32],
}

/// `nvmlSystemDriverBranchInfo_v1_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct BranchInfo {
    pub version: u32,
    pub branch: [u8; 80],
}

/// `nvmlPdi_v1_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Pdi {
    pub version: u32,
    pub value: u64,
}

/// A structure of a version and a value, of which there are several: `nvmlDeviceAddressingMode_v1_t`,
/// `nvmlDeviceCapabilities_v1_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Choice {
    pub version: u32,
    pub value: u32,
}

/// `nvmlUUID_v1_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Uuid {
    pub version: u32,
    /// 1: the value is a text with its end; 2: it is the 16 bytes.
    pub kind: u32,
    pub value: [u8; 41],
}

impl Uuid {
    /// Whether it is the device of a text, `GPU-` and five groups of hexadecimal digits.
    pub fn is(&self, text: &str) -> bool {
        match self.kind {
            1 => CStr::from_bytes_until_nul(&self.value).is_ok_and(|own| own.to_bytes() == text.as_bytes()),
            2 => {
                let digits: String = self.value[..16].iter().map(|byte| format!("{byte:02x}")).collect();
                text.strip_prefix("GPU-").is_some_and(|groups| groups.replace('-', "") == digits)
            }
            _ => false,
        }
    }
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
