//! Initialisation, version, errors, devices.

use std::ffi::{CStr, c_char};

use cuda_abi::Known;
use runtime::{Element, Result, Status, attributes};

use crate::ffi::{get, put, put_text, put_wanted, text};
use crate::start;
use crate::state;
use crate::version::VERSION;

/// Writes what is known of an error code, or null.
///
/// # Safety
/// `to` is null or writable.
unsafe fn name_of(
    code: u32,
    text: impl Fn(&Known) -> Option<&'static CStr>,
    to: *mut *const c_char,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        match Status(code).known().and_then(text) {
            Some(text) => put(to, text.as_ptr()),
            None => {
                put_wanted(to, std::ptr::null());
                Err(Status::INVALID_VALUE)
            }
        }
    }
}

/// The UUID of a device: fixed bytes and its number.
pub(crate) fn uuid(index: usize) -> [u8; 16] {
    let mut uuid = *b"warpgrind H200\0\0";
    uuid[15] = index as u8;
    uuid
}

/// The PCI address of a device.
pub(crate) fn pci_bus_id(index: usize) -> String {
    format!("0000:{:02X}:00.0", index + 1)
}

/// What a link between two H200 of one host has (`CUdevice_P2PAttribute`).
fn peer_attribute(number: u32) -> Result<i32> {
    Ok(match number {
        // The rank of its speed among the links of the device: the best.
        1 => 0,
        // Accesses, atomics, arrays of the other device, and only parts of the atomics.
        2..=4 => 1,
        5 => 0,
        _ => return Err(Status::INVALID_VALUE),
    })
}

api! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let runtime = start::initialize();
        if runtime.devices.is_empty() { Err(Status::NO_DEVICE) } else { Ok(()) }
    }

    fn cuDriverGetVersion(version: *mut i32) {
        put(version, VERSION)
    }

    fn cuGetErrorName(code: u32, name: *mut *const c_char) {
        name_of(code, |known| known.driver, name)
    }

    fn cuGetErrorString(code: u32, sentence: *mut *const c_char) {
        name_of(code, |known| known.driver.map(|_| known.text), sentence)
    }

    fn cuDeviceGetCount(count: *mut i32) {
        put(count, state::runtime()?.devices.len() as i32)
    }

    fn cuDeviceGet(device: *mut i32, ordinal: i32) {
        state::device(ordinal)?;
        put(device, ordinal)
    }

    fn cuDeviceGetName(name: *mut c_char, length: i32, device: i32) {
        let device = state::device(device)?;
        put_text(name, usize::try_from(length).unwrap_or(0), &device.simulator.config().name)
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) {
        put(bytes, state::device(device)?.simulator.config().global_memory as usize)
    }

    fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) {
        let device = state::device(device)?;
        put(value, attributes::attribute(device.simulator.config(), device.index, attribute)?)
    }

    fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: i32) {
        let sm = i32::from(state::device(device)?.simulator.config().sm);
        put(major, sm / 10)?;
        put(minor, sm % 10)
    }

    fn cuDeviceGetUuid(id: *mut [u8; 16], device: i32) {
        put(id, uuid(state::device(device)?.index))
    }

    fn cuDeviceGetUuid_v2(id: *mut [u8; 16], device: i32) {
        put(id, uuid(state::device(device)?.index))
    }

    fn cuDeviceGetLuid(_luid: *mut c_char, _mask: *mut u32, device: i32) {
        // Identifiers of Windows' display driver.
        state::device(device)?;
        Err(Status::NOT_SUPPORTED)
    }

    fn cuDeviceGetPCIBusId(id: *mut c_char, length: i32, device: i32) {
        let (device, length) = (state::device(device)?, usize::try_from(length).unwrap_or(0));
        // An identifier that is cut off is none.
        if length <= pci_bus_id(device.index).len() {
            return Err(Status::INVALID_VALUE);
        }
        put_text(id, length, &pci_bus_id(device.index))
    }

    fn cuDeviceGetByPCIBusId(device: *mut i32, id: *const c_char) {
        let id = text(id)?.to_uppercase();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if device.is_null() || !id.split([':', '.']).all(digits) || !id.contains(':') {
            return Err(Status::INVALID_VALUE);
        }
        let found = state::runtime()?.devices.iter().find(|d| {
            let full = pci_bus_id(d.index);
            id == full || full.strip_prefix("0000:") == Some(&id)
        });
        put(device, found.ok_or(Status::INVALID_DEVICE)?.index as i32)
    }

    fn cuDeviceGetProperties(properties: *mut [i32; 12], device: i32) {
        let device = state::device(device)?;
        let value = |number| attributes::attribute(device.simulator.config(), device.index, number);
        let mut values = [0; 12];
        let numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        for (to, number) in values.iter_mut().zip(numbers) {
            *to = value(number)?;
        }
        put(properties, values)?;
        // Clock and texture alignment follow.
        put(properties.cast::<i32>().wrapping_add(12), value(13)?)?;
        put(properties.cast::<i32>().wrapping_add(13), value(14)?)
    }

    fn cuDeviceGetExecAffinitySupport(supported: *mut i32, _kind: u32, device: i32) {
        state::device(device)?;
        put(supported, 0)
    }

    fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        state::device(device)?;
        state::device(peer)?;
        put(can, i32::from(device != peer))
    }

    fn cuDeviceGetP2PAttribute(value: *mut i32, attribute: u32, from: i32, to: i32) {
        state::device(from)?;
        state::device(to)?;
        if from == to {
            return Err(Status::INVALID_DEVICE);
        }
        put(value, peer_attribute(attribute)?)
    }

    fn cuProfilerInitialize(_config: *const c_char, _output: *const c_char, _mode: u32) {
        // CUDA 12.0 took it away: so the driver API's page of it says.
        Err(Status::NOT_SUPPORTED)
    }

    fn cuProfilerStart() {
        state::current().map(|_| ())
    }

    fn cuProfilerStop() {
        state::current().map(|_| ())
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(width: *mut usize, format: u32, channels: u32, device: i32) {
        state::device(device)?;
        let element = Element::of_number(format, channels)?.bytes();
        put(width, (1usize << 30).min((1 << 32) / element))
    }

    fn cuFlushGPUDirectRDMAWrites(target: u32, _scope: u32) {
        // Nothing is written from elsewhere.
        state::healthy()?;
        if target == 0 { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }
}

/// The device that a location names.
///
/// # Safety
/// `location` is null or readable.
pub(crate) unsafe fn device_of(location: *const cuda_abi::driver::MemLocation) -> Result<i32> {
    // SAFETY: the caller's promise.
    device_at(unsafe { get(location) }?)
}

/// The same, of a location by value.
pub(crate) fn device_at(location: cuda_abi::driver::MemLocation) -> Result<i32> {
    match location.kind {
        1 => state::device(location.id).map(|device| device.index as i32),
        _ => Err(Status::INVALID_VALUE),
    }
}
