//! The NVIDIA Management Library: which devices there are, as programs ask before they use one. `libnvidia-ml.so.1` jumps here.
//!
//! What is no property of a simulated device (temperatures, power, utilisation, links, partitions) is not supported, which
//! every program that asks must expect of some boards.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use cuda_abi::numbers::device_attribute as a;
use cuda_abi::nvml::{FieldValue, Memory, MemoryV2, PciInfo, Return, struct_version};
use runtime::attributes;
use sim_core::DeviceConfig;

use crate::driver::device::{pci_bus_id, uuid};
use crate::ffi;
use crate::settings::Settings;
use crate::state;
use crate::version::VERSION;

/// The driver that the simulated one stands for, and its management library.
pub(crate) const DRIVER_VERSION: &str = "580.65.06";
const NVML_VERSION: &str = "13.580.65.06";
/// `NVML_BRAND_NVIDIA`, `NVML_DEVICE_ARCH_HOPPER`
const BRAND_NVIDIA: u32 = 14;
const ARCHITECTURE_HOPPER: u32 = 9;
/// Of an H200: device and vendor, board and vendor.
const PCI_DEVICE: u32 = 0x2335_10de;
const PCI_SUBSYSTEM: u32 = 0x18be_10de;
/// `NVML_CLOCK_GRAPHICS`, `NVML_CLOCK_SM`, `NVML_CLOCK_MEM`
const CLOCKS: [i32; 3] = [a::CLOCK_RATE, a::CLOCK_RATE, a::MEMORY_CLOCK_RATE];
/// `NVML_CLOCK_VIDEO`, the last one, of what is not simulated.
const VIDEO_CLOCK: u32 = 3;
/// Lanes of single precision of a multiprocessor.
const CORES: u32 = 128;
/// The link of an H200: its generation, lanes and transfers a second in millions a lane.
const PCIE_GENERATION: u32 = 5;
const PCIE_LANES: u32 = 16;
const PCIE_SPEED: u32 = 32_000;
/// Memory that a driver keeps for itself: none here.
const RESERVED: u64 = 0;

macro_rules! nvml {
    ($($(#[$meta:meta])* fn $name:ident | $($other:ident)* ( $($arg:ident : $ty:ty),* $(,)? ) $body:block)*) => {$(
        nvml!(@one $name ($($arg: $ty),*) $body);
        nvml!(@others $name ($($arg: $ty),*) $($other)*);
    )*};
    (@one $name:ident ($($arg:ident : $ty:ty),*) $body:block) => {
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            serve(stringify!($name), || {
                // SAFETY: pointers are null or as NVML's documentation asks, see the crate's front page.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    };
    (@others $name:ident $args:tt $($other:ident)*) => {$(
        nvml!(@other $name $args $other);
    )*};
    (@other $name:ident ($($arg:ident : $ty:ty),*) $other:ident) => {
        #[unsafe(export_name = concat!("warpgrind_", stringify!($other)))]
        unsafe extern "C" fn $other($($arg: $ty),*) -> u32 {
            // SAFETY: the same function under another name.
            unsafe { $name($($arg),*) }
        }
    };
}

mod board;
mod events;

type Answer<T = ()> = Result<T, Return>;

/// How often the library was initialised and not shut down.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// A device of the process; its handle is its number plus one.
#[derive(Clone, Copy)]
struct Device {
    index: usize,
    config: &'static DeviceConfig,
}

impl Device {
    fn of_index(index: usize) -> Answer<Device> {
        let settings = Settings::of_process();
        if index >= settings.devices {
            return Err(Return::INVALID_ARGUMENT);
        }
        Ok(Device { index, config: &settings.device })
    }

    fn of_handle(handle: u64) -> Answer<Device> {
        let index = usize::try_from(handle).ok().and_then(|handle| handle.checked_sub(1));
        Device::of_index(index.ok_or(Return::INVALID_ARGUMENT)?)
    }

    fn all() -> impl Iterator<Item = Device> {
        (0..Settings::of_process().devices).filter_map(|index| Device::of_index(index).ok())
    }

    fn handle(self) -> u64 {
        self.index as u64 + 1
    }

    fn attribute(self, number: i32) -> Answer<u32> {
        let value = attributes::attribute(self.config, self.index, number).map_err(|_| Return::UNKNOWN)?;
        Ok(value.unsigned_abs())
    }

    /// Of a kind of clock, the highest, in MHz.
    fn clock(self, kind: u32) -> Answer<u32> {
        if kind > VIDEO_CLOCK {
            return Err(Return::INVALID_ARGUMENT);
        }
        let number = CLOCKS.get(kind as usize).ok_or(Return::NOT_SUPPORTED)?;
        Ok(self.attribute(*number)? / 1000)
    }

    fn uuid(self) -> String {
        let hex: String = uuid(self.index).iter().map(|byte| format!("{byte:02x}")).collect();
        let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]);
        format!("GPU-{a}-{b}-{c}-{d}-{e}")
    }

    /// Its address on the bus, with a domain of eight digits.
    fn bus_id(self) -> String {
        format!("0000{}", pci_bus_id(self.index))
    }

    fn pci(self) -> PciInfo {
        let mut info = PciInfo {
            bus_id_legacy: [0; 16],
            domain: 0,
            bus: self.index as u32 + 1,
            device: 0,
            pci_device_id: PCI_DEVICE,
            pci_subsystem_id: PCI_SUBSYSTEM,
            bus_id: [0; 32],
        };
        let (short, long) = (pci_bus_id(self.index), self.bus_id());
        info.bus_id_legacy[..short.len()].copy_from_slice(short.as_bytes());
        info.bus_id[..long.len()].copy_from_slice(long.as_bytes());
        info
    }

    /// What this process has allocated; other processes' devices are others.
    fn memory(self) -> Memory {
        let total = self.config.global_memory;
        let used = state::runtime()
            .ok()
            .map_or(0, |runtime| runtime.devices.get(self.index).map_or(0, |device| device.memory_usage().1));
        let used = used.min(total);
        Memory { total, free: total - used, used }
    }
}

/// Writes a result.
///
/// # Safety
/// `to` is null or writable.
unsafe fn put<T>(to: *mut T, value: T) -> Answer {
    // SAFETY: the caller's promise.
    unsafe { ffi::put(to, value) }.map_err(|_| Return::INVALID_ARGUMENT)
}

/// Writes a text with its end, if there is room for all of it.
///
/// # Safety
/// `to` is null, or `size` bytes are writable.
unsafe fn put_text(to: *mut c_char, size: u32, text: &str) -> Answer {
    if to.is_null() {
        return Err(Return::INVALID_ARGUMENT);
    }
    if (size as usize) <= text.len() {
        return Err(Return::INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller's promise.
    unsafe { ffi::put_text(to, size as usize, text) }.map_err(|_| Return::INVALID_ARGUMENT)
}

/// Runs the body of a function; most need the library initialised.
fn serve(name: &str, body: impl FnOnce() -> Answer) -> u32 {
    let begins = name.starts_with("nvmlInit");
    if !begins && USERS.load(SeqCst) == 0 {
        return Return::UNINITIALIZED.0;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Return::SUCCESS.0,
        Ok(Err(code)) => code.0,
        Err(_) => {
            ffi::internal_error(name);
            Return::UNKNOWN.0
        }
    }
}

/// Writes how many processes use a device: none that it knows of.
///
/// # Safety
/// `count` is null or writable.
unsafe fn no_processes(device: u64, count: *mut u32) -> Answer {
    Device::of_handle(device)?;
    // SAFETY: the caller's promise.
    unsafe { put(count, 0) }
}

nvml! {
    fn nvmlInit_v2 | nvmlInit () {
        USERS.fetch_add(1, SeqCst);
        Ok(())
    }

    fn nvmlInitWithFlags | (_flags: u32) {
        USERS.fetch_add(1, SeqCst);
        Ok(())
    }

    fn nvmlShutdown | () {
        let fewer = USERS.fetch_update(SeqCst, SeqCst, |users| users.checked_sub(1));
        fewer.map(|_| ()).map_err(|_| Return::UNINITIALIZED)
    }

    fn nvmlSystemGetDriverVersion | (text: *mut c_char, size: u32) {
        put_text(text, size, DRIVER_VERSION)
    }

    fn nvmlSystemGetNVMLVersion | (text: *mut c_char, size: u32) {
        put_text(text, size, NVML_VERSION)
    }

    fn nvmlSystemGetCudaDriverVersion_v2 | nvmlSystemGetCudaDriverVersion (version: *mut i32) {
        put(version, VERSION)
    }

    fn nvmlUnitGetCount | (count: *mut u32) {
        put(count, 0)
    }

    fn nvmlDeviceGetCount_v2 | nvmlDeviceGetCount (count: *mut u32) {
        put(count, Device::all().count() as u32)
    }

    fn nvmlDeviceGetHandleByIndex_v2 | nvmlDeviceGetHandleByIndex (index: u32, device: *mut u64) {
        put(device, Device::of_index(index as usize)?.handle())
    }

    fn nvmlDeviceGetHandleByUUID | (id: *const c_char, device: *mut u64) {
        let id = ffi::text(id).map_err(|_| Return::INVALID_ARGUMENT)?;
        let has = |device: &Device| {
            let own = device.uuid();
            // Also without what it begins with.
            own == id || own.strip_prefix("GPU-") == Some(id)
        };
        put(device, Device::all().find(has).ok_or(Return::NOT_FOUND)?.handle())
    }

    fn nvmlDeviceGetHandleByPciBusId_v2 | nvmlDeviceGetHandleByPciBusId (id: *const c_char, device: *mut u64) {
        let id = ffi::text(id).map_err(|_| Return::INVALID_ARGUMENT)?.to_uppercase();
        // With a domain of eight digits, of four, or without.
        let found = Device::all().find(|device| {
            let long = device.bus_id();
            [&long[..], &long[4..], &long[9..]].contains(&&*id)
        });
        put(device, found.ok_or(Return::NOT_FOUND)?.handle())
    }

    fn nvmlDeviceGetName | (device: u64, name: *mut c_char, size: u32) {
        put_text(name, size, &Device::of_handle(device)?.config.name)
    }

    fn nvmlDeviceGetUUID | (device: u64, id: *mut c_char, size: u32) {
        put_text(id, size, &Device::of_handle(device)?.uuid())
    }

    fn nvmlDeviceGetIndex | (device: u64, index: *mut u32) {
        put(index, Device::of_handle(device)?.index as u32)
    }

    fn nvmlDeviceGetMinorNumber | (device: u64, number: *mut u32) {
        put(number, Device::of_handle(device)?.index as u32)
    }

    fn nvmlDeviceGetPciInfo_v3 | (device: u64, info: *mut PciInfo) {
        put(info, Device::of_handle(device)?.pci())
    }

    fn nvmlDeviceGetPciInfo_v2 | nvmlDeviceGetPciInfo (device: u64, info: *mut [u32; 13]) {
        let pci = Device::of_handle(device)?.pci();
        let mut words = [0; 13];
        for (word, bytes) in words.iter_mut().zip(pci.bus_id_legacy.as_chunks::<4>().0) {
            *word = u32::from_ne_bytes(*bytes);
        }
        words[4..9].copy_from_slice(&[pci.domain, pci.bus, pci.device, pci.pci_device_id, pci.pci_subsystem_id]);
        put(info, words)
    }

    fn nvmlDeviceGetMemoryInfo | (device: u64, memory: *mut Memory) {
        put(memory, Device::of_handle(device)?.memory())
    }

    fn nvmlDeviceGetMemoryInfo_v2 | (device: u64, memory: *mut MemoryV2) {
        let Memory { total, free, used } = Device::of_handle(device)?.memory();
        let version = ffi::get(memory.cast::<u32>().cast_const()).map_err(|_| Return::INVALID_ARGUMENT)?;
        if version != struct_version::<MemoryV2>(2) {
            return Err(Return::ARGUMENT_VERSION_MISMATCH);
        }
        put(memory, MemoryV2 { version, total, reserved: RESERVED, free, used })
    }

    fn nvmlDeviceGetCudaComputeCapability | (device: u64, major: *mut i32, minor: *mut i32) {
        let sm = i32::from(Device::of_handle(device)?.config.sm);
        put(major, sm / 10)?;
        put(minor, sm % 10)
    }

    fn nvmlDeviceGetArchitecture | (device: u64, architecture: *mut u32) {
        // Others than Hopper are simulated by its rules; there is no number for that.
        match Device::of_handle(device)?.config.sm {
            90 => put(architecture, ARCHITECTURE_HOPPER),
            _ => Err(Return::NOT_SUPPORTED),
        }
    }

    fn nvmlDeviceGetBrand | (device: u64, brand: *mut u32) {
        Device::of_handle(device)?;
        put(brand, BRAND_NVIDIA)
    }

    fn nvmlDeviceGetNumGpuCores | (device: u64, count: *mut u32) {
        put(count, CORES * Device::of_handle(device)?.config.multiprocessors)
    }

    fn nvmlDeviceGetMemoryBusWidth | (device: u64, bits: *mut u32) {
        put(bits, Device::of_handle(device)?.attribute(a::GLOBAL_MEMORY_BUS_WIDTH)?)
    }

    fn nvmlDeviceGetMaxPcieLinkGeneration
        | nvmlDeviceGetCurrPcieLinkGeneration nvmlDeviceGetGpuMaxPcieLinkGeneration
    (device: u64, generation: *mut u32) {
        Device::of_handle(device)?;
        put(generation, PCIE_GENERATION)
    }

    fn nvmlDeviceGetMaxPcieLinkWidth | nvmlDeviceGetCurrPcieLinkWidth (device: u64, lanes: *mut u32) {
        Device::of_handle(device)?;
        put(lanes, PCIE_LANES)
    }

    fn nvmlDeviceGetPcieSpeed | (device: u64, megatransfers: *mut u32) {
        Device::of_handle(device)?;
        put(megatransfers, PCIE_SPEED)
    }

    fn nvmlDeviceGetPcieLinkMaxSpeed | (device: u64, speed: *mut u32) {
        Device::of_handle(device)?;
        put(speed, PCIE_GENERATION)
    }

    fn nvmlDeviceGetFieldValues | (device: u64, count: i32, values: *mut FieldValue) {
        Device::of_handle(device)?;
        let count = usize::try_from(count).map_err(|_| Return::INVALID_ARGUMENT)?;
        for at in 0..count {
            let place = values.wrapping_add(at);
            let asked = ffi::get(place.cast_const()).map_err(|_| Return::INVALID_ARGUMENT)?;
            put(place, FieldValue { code: Return::NOT_SUPPORTED, ..asked })?;
        }
        Ok(())
    }

    fn nvmlDeviceGetMultiGpuBoard | (device: u64, several: *mut u32) {
        Device::of_handle(device)?;
        put(several, 0)
    }

    fn nvmlDeviceGetBoardId | (device: u64, board: *mut u32) {
        put(board, (Device::of_handle(device)?.index as u32 + 1) << 8)
    }

    fn nvmlDeviceOnSameBoard | (device: u64, other: u64, same: *mut i32) {
        put(same, i32::from(Device::of_handle(device)?.index == Device::of_handle(other)?.index))
    }

    fn nvmlDeviceGetComputeMode | (device: u64, mode: *mut u32) {
        Device::of_handle(device)?;
        put(mode, 0)
    }

    fn nvmlDeviceGetPersistenceMode | (device: u64, mode: *mut u32) {
        Device::of_handle(device)?;
        put(mode, 1)
    }

    fn nvmlDeviceGetDisplayMode | nvmlDeviceGetDisplayActive (device: u64, display: *mut u32) {
        Device::of_handle(device)?;
        put(display, 0)
    }

    fn nvmlDeviceGetMigMode | (device: u64, current: *mut u32, pending: *mut u32) {
        Device::of_handle(device)?;
        put(current, 0)?;
        put(pending, 0)
    }

    fn nvmlDeviceGetMaxMigDeviceCount | nvmlDeviceIsMigDeviceHandle (device: u64, partitions: *mut u32) {
        Device::of_handle(device)?;
        put(partitions, 0)
    }

    fn nvmlDeviceGetMaxClockInfo | nvmlDeviceGetClockInfo (device: u64, kind: u32, megahertz: *mut u32) {
        put(megahertz, Device::of_handle(device)?.clock(kind)?)
    }

    fn nvmlDeviceGetComputeRunningProcesses_v3
        | nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses
    (device: u64, count: *mut u32, _processes: *mut c_void) {
        no_processes(device, count)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v3
        | nvmlDeviceGetMPSComputeRunningProcesses_v2 nvmlDeviceGetMPSComputeRunningProcesses
    (device: u64, count: *mut u32, _processes: *mut c_void) {
        no_processes(device, count)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v3
        | nvmlDeviceGetGraphicsRunningProcesses_v2 nvmlDeviceGetGraphicsRunningProcesses
    (device: u64, count: *mut u32, _processes: *mut c_void) {
        no_processes(device, count)
    }

    fn nvmlDeviceGetP2PStatus | (device: u64, other: u64, _what: u32, status: *mut u32) {
        Device::of_handle(device)?;
        Device::of_handle(other)?;
        put(status, 0)
    }
}

/// Needs no initialised library.
#[unsafe(export_name = "warpgrind_nvmlErrorString")]
extern "C" fn nvmlErrorString(code: u32) -> *const c_char {
    Return(code).text().as_ptr()
}
