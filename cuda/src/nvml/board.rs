//! What an H200 is, whatever it does: its clocks, error correction, place in the machine. What a board measures stays unsupported.

use std::ffi::c_char;

use cuda_abi::numbers::device_attribute as a;
use cuda_abi::nvml::{BranchInfo, Choice, PciInfoExt, Pdi, Return, Uuid, struct_version};

use super::{Answer, DRIVER_VERSION, Device, put, put_text, serve};
use crate::ffi;

/// The branch that drivers of 580 are of.
const DRIVER_BRANCH: &str = "r582_49";
/// `NVML_BUS_TYPE_PCIE`
const BUS_PCIE: u32 = 2;
/// A controller of three dimensions.
const PCI_CLASS: (u32, u32) = (3, 2);
/// `NVML_TOPOLOGY_INTERNAL`, `NVML_TOPOLOGY_HOSTBRIDGE`
const SAME_BOARD: u32 = 0;
const SAME_BRIDGE: u32 = 30;
/// `NVML_CLOCK_MEM`
const MEMORY_CLOCK: u32 = 2;
/// `NVML_CLOCK_ID_CUSTOMER_BOOST_MAX`, the last one.
const BOOST_MAX: u32 = 3;
/// The lowest clock of the multiprocessors, and how far apart they are.
const CLOCK_FLOOR: u32 = 345;
const CLOCK_STEP: usize = 15;

/// The version that a structure says it is of, checked.
///
/// # Safety
/// `of` is null or points to a structure that begins with its version.
unsafe fn expect_version<T>(of: *const T, version: u32) -> Answer {
    // SAFETY: the caller's promise.
    let said = unsafe { ffi::get(of.cast::<u32>()) }.map_err(|_| Return::INVALID_ARGUMENT)?;
    if said == struct_version::<T>(version) { Ok(()) } else { Err(Return::ARGUMENT_VERSION_MISMATCH) }
}

/// The highest clock that a customer may ask for; of memory none is said.
fn boosted(device: Device, kind: u32) -> Answer<u32> {
    if kind == MEMORY_CLOCK { Err(Return::NOT_SUPPORTED) } else { device.clock(kind) }
}

/// Writes a list, whose room its count says; how long it is, where there is too little.
///
/// # Safety
/// `count` is null or writable, and `list` null or as long as it says.
unsafe fn put_list(count: *mut u32, list: *mut u32, values: &[u32]) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        let room = ffi::get(count.cast_const()).map_err(|_| Return::INVALID_ARGUMENT)?;
        put(count, values.len() as u32)?;
        if (room as usize) < values.len() || list.is_null() {
            return Err(Return::INSUFFICIENT_SIZE);
        }
        for (at, value) in values.iter().enumerate() {
            put(list.wrapping_add(at), *value)?;
        }
    }
    Ok(())
}

/// Writes the processors that the process may run on, 64 a word: all are as near to each device.
///
/// # Safety
/// `words` is null, or so many are writable.
unsafe fn put_processors(count: u32, words: *mut u64) -> Answer {
    if count == 0 || words.is_null() {
        return Err(Return::INVALID_ARGUMENT);
    }
    // SAFETY: a set of zeros is an empty one, and its size is said.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Err(Return::UNKNOWN);
        }
        set
    };
    for at in 0..count as usize {
        let has = |bit: &usize| {
            let processor = at * 64 + bit;
            // SAFETY: it is one of the set's.
            processor < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(processor, &set) }
        };
        let word = (0..64).filter(has).fold(0, |word, bit| word | 1 << bit);
        // SAFETY: the caller's promise.
        unsafe { put(words.wrapping_add(at), word) }?;
    }
    Ok(())
}

nvml! {
    fn nvmlSystemGetDriverBranch | (info: *mut BranchInfo, length: u32) {
        expect_version(info.cast_const(), 1)?;
        put_text((&raw mut (*info).branch).cast(), length.min(80), DRIVER_BRANCH)
    }

    fn nvmlDeviceGetEccMode | (device: u64, current: *mut u32, pending: *mut u32) {
        let enabled = Device::of_handle(device)?.attribute(a::ECC_ENABLED)?;
        put(current, enabled)?;
        put(pending, enabled)
    }

    fn nvmlDeviceGetDefaultEccMode | (device: u64, mode: *mut u32) {
        put(mode, Device::of_handle(device)?.attribute(a::ECC_ENABLED)?)
    }

    // Simulated memory loses no bits.
    fn nvmlDeviceGetTotalEccErrors | (device: u64, kind: u32, counter: u32, errors: *mut u64) {
        Device::of_handle(device)?;
        if kind > 1 || counter > 1 {
            return Err(Return::INVALID_ARGUMENT);
        }
        put(errors, 0)
    }

    fn nvmlDeviceGetApplicationsClock
        | nvmlDeviceGetDefaultApplicationsClock
    (device: u64, kind: u32, megahertz: *mut u32) {
        put(megahertz, Device::of_handle(device)?.clock(kind)?)
    }

    fn nvmlDeviceGetMaxCustomerBoostClock | (device: u64, kind: u32, megahertz: *mut u32) {
        put(megahertz, boosted(Device::of_handle(device)?, kind)?)
    }

    fn nvmlDeviceGetClock | (device: u64, kind: u32, id: u32, megahertz: *mut u32) {
        let device = Device::of_handle(device)?;
        put(megahertz, match id {
            ..BOOST_MAX => device.clock(kind)?,
            BOOST_MAX => boosted(device, kind)?,
            _ => return Err(Return::INVALID_ARGUMENT),
        })
    }

    fn nvmlDeviceGetSupportedMemoryClocks | (device: u64, count: *mut u32, megahertz: *mut u32) {
        put_list(count, megahertz, &[Device::of_handle(device)?.clock(MEMORY_CLOCK)?])
    }

    fn nvmlDeviceGetSupportedGraphicsClocks | (device: u64, memory: u32, count: *mut u32, megahertz: *mut u32) {
        let device = Device::of_handle(device)?;
        if memory == 0 {
            return Err(Return::INVALID_ARGUMENT);
        }
        if memory != device.clock(MEMORY_CLOCK)? {
            return Err(Return::NOT_FOUND);
        }
        let clocks: Vec<u32> = (CLOCK_FLOOR..=device.clock(0)?).rev().step_by(CLOCK_STEP).collect();
        put_list(count, megahertz, &clocks)
    }

    fn nvmlDeviceGetPerformanceState | nvmlDeviceGetPowerState (device: u64, state: *mut u32) {
        Device::of_handle(device)?;
        put(state, 0)
    }

    fn nvmlDeviceGetPciInfoExt | (device: u64, info: *mut PciInfoExt) {
        let pci = Device::of_handle(device)?.pci();
        expect_version(info.cast_const(), 1)?;
        let (base_class, sub_class) = PCI_CLASS;
        put(info, PciInfoExt {
            version: struct_version::<PciInfoExt>(1),
            domain: pci.domain,
            bus: pci.bus,
            device: pci.device,
            pci_device_id: pci.pci_device_id,
            pci_subsystem_id: pci.pci_subsystem_id,
            base_class,
            sub_class,
            bus_id: pci.bus_id,
        })
    }

    fn nvmlDeviceGetHandleByUUIDV | (id: *const Uuid, device: *mut u64) {
        expect_version(id, 1)?;
        let id = ffi::get(id).map_err(|_| Return::INVALID_ARGUMENT)?;
        let found = Device::all().find(|device| id.is(&device.uuid())).ok_or(Return::NOT_FOUND)?;
        put(device, found.handle())
    }

    fn nvmlDeviceGetBusType | (device: u64, kind: *mut u32) {
        Device::of_handle(device)?;
        put(kind, BUS_PCIE)
    }

    fn nvmlDeviceGetC2cModeInfoV | (device: u64, linked: *mut u32) {
        Device::of_handle(device)?;
        put(linked, 0)
    }

    fn nvmlDeviceGetAddressingMode | (device: u64, mode: *mut Choice) {
        Device::of_handle(device)?;
        expect_version(mode.cast_const(), 1)?;
        put(mode, Choice { version: struct_version::<Choice>(1), value: 0 })
    }

    fn nvmlDeviceGetCapabilities | (device: u64, has: *mut Choice) {
        Device::of_handle(device)?;
        expect_version(has.cast_const(), 1)?;
        put(has, Choice { version: struct_version::<Choice>(1), value: 0 })
    }

    // The number that an identifier begins with.
    fn nvmlDeviceGetPdi | (device: u64, number: *mut Pdi) {
        let uuid = Device::of_handle(device)?.uuid();
        expect_version(number.cast_const(), 1)?;
        let digits: String = uuid.chars().skip_while(|c| *c != '-').filter(|c| *c != '-').take(16).collect();
        let value = u64::from_str_radix(&digits, 16).map_err(|_| Return::UNKNOWN)?;
        put(number, Pdi { version: struct_version::<Pdi>(1), value })
    }

    // Whether there are any, and how many.
    fn nvmlDeviceGetGridLicensableFeatures_v4
        | nvmlDeviceGetGridLicensableFeatures
    (device: u64, features: *mut [u32; 2]) {
        Device::of_handle(device)?;
        put(features, [0, 0])
    }

    fn nvmlDeviceGetVirtualizationMode | (device: u64, mode: *mut u32) {
        Device::of_handle(device)?;
        put(mode, 0)
    }

    fn nvmlDeviceGetGspFirmwareMode | (device: u64, enabled: *mut u32, default: *mut u32) {
        Device::of_handle(device)?;
        put(enabled, 1)?;
        put(default, 1)
    }

    fn nvmlDeviceGetGspFirmwareVersion | (device: u64, text: *mut c_char) {
        Device::of_handle(device)?;
        // Its callers have room for 64 bytes, as the header says.
        put_text(text, 64, DRIVER_VERSION)
    }

    fn nvmlDeviceGetTopologyCommonAncestor | (device: u64, other: u64, level: *mut u32) {
        let same = Device::of_handle(device)?.index == Device::of_handle(other)?.index;
        put(level, if same { SAME_BOARD } else { SAME_BRIDGE })
    }

    fn nvmlDeviceGetCpuAffinity | (device: u64, count: u32, words: *mut u64) {
        Device::of_handle(device)?;
        put_processors(count, words)
    }

    fn nvmlDeviceGetCpuAffinityWithinScope | (device: u64, count: u32, words: *mut u64, scope: u32) {
        Device::of_handle(device)?;
        // A node or a socket.
        if scope > 1 {
            return Err(Return::INVALID_ARGUMENT);
        }
        put_processors(count, words)
    }

    // All memory is of the machine's first node.
    fn nvmlDeviceGetMemoryAffinity | (device: u64, count: u32, words: *mut u64, scope: u32) {
        Device::of_handle(device)?;
        if scope > 1 || count == 0 || words.is_null() {
            return Err(Return::INVALID_ARGUMENT);
        }
        for at in 0..count as usize {
            put(words.wrapping_add(at), u64::from(at == 0))?;
        }
        Ok(())
    }

    fn nvmlSystemGetProcessName | (process: u32, name: *mut c_char, size: u32) {
        let said = std::fs::read(format!("/proc/{process}/cmdline")).map_err(|_| Return::NOT_FOUND)?;
        let first = said.split(|byte| *byte == 0).next().unwrap_or_default();
        put_text(name, size, &String::from_utf8_lossy(first))
    }
}
