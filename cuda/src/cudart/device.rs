//! Devices and the versions.

use std::ffi::{c_char, c_void};
use std::sync::atomic::Ordering::SeqCst;

use runtime::{Status, attributes};

use crate::cudart::context::{self, ensure, make_current};
use crate::cudart::properties::{self, Layout};
use crate::driver::context as driver_context;
use crate::driver::device as driver_device;
use crate::ffi::{put, put_wanted, text};
use crate::state;

unsafe fn write_properties(to: *mut u8, index: i32, layout: Layout) -> runtime::Result {
    state::initialize();
    let bytes = properties::of(state::device(index)?, layout)?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the structure has as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

unsafe fn entry_point(
    name: *const c_char,
    to: *mut *const c_void,
    version: u32,
    flags: u64,
    status: *mut u32,
) -> runtime::Result {
    // SAFETY: null or a string.
    let name = unsafe { text(name) }?;
    if to.is_null() || flags > 2 {
        return Err(Status::INVALID_VALUE);
    }
    let found = crate::driver::entry::find(name, version, flags == 2);
    // SAFETY: null or for the results. Without a status, a missing function is an error.
    unsafe {
        put_wanted(status, u32::from(found.is_none()));
        put(to, found.map_or(std::ptr::null(), |entry| entry.address as *const c_void))?;
    }
    if found.is_none() && status.is_null() { Err(Status::NOT_FOUND) } else { Ok(()) }
}

rt! {
    fn cudaGetDeviceCount(count: *mut i32) {
        let devices = state::initialize().devices.len() as i32;
        put(count, devices)?;
        if devices == 0 { Err(Status::NO_DEVICE) } else { Ok(()) }
    }

    fn cudaGetDevice(device: *mut i32) {
        state::initialize();
        put(device, context::device())
    }

    fn cudaSetDevice(device: i32) {
        make_current(device).map(|_| ())
    }

    fn cudaInitDevice(device: i32, _device_flags: u32, flags: u32) {
        state::initialize();
        let device = state::device(device)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        device.primary().map_or_else(|| drop(device.retain_primary()), drop);
        Ok(())
    }

    fn cudaSetValidDevices(devices: *const i32, count: i32) {
        state::initialize();
        for device in crate::ffi::list(devices, usize::try_from(count).map_err(|_| Status::INVALID_VALUE)?)? {
            state::device(device)?;
        }
        Ok(())
    }

    fn cudaSetDeviceFlags(flags: u32) {
        state::initialize();
        if flags & !0xff != 0 {
            return Err(Status::INVALID_VALUE);
        }
        state::device(context::device())?.set_primary_flags(flags);
        Ok(())
    }

    fn cudaGetDeviceFlags(flags: *mut u32) {
        state::initialize();
        put(flags, ensure()?.flags.load(SeqCst) | 8)
    }

    fn cudaDeviceSynchronize() {
        ensure()?.synchronize()
    }

    fn cudaThreadSynchronize() {
        ensure()?.synchronize()
    }

    fn cudaDeviceReset() {
        state::initialize();
        driver_context::reset_primary(context::device())
    }

    fn cudaThreadExit() {
        state::initialize();
        driver_context::reset_primary(context::device())
    }

    fn cudaDriverGetVersion(version: *mut i32) {
        put(version, driver_device::VERSION)
    }

    fn cudaRuntimeGetVersion(version: *mut i32) {
        put(version, 13_000)
    }

    fn cudaRuntimeGetVersion_cuda12(version: *mut i32) {
        put(version, 12_090)
    }

    fn cudaDeviceGetAttribute(value: *mut i32, number: i32, device: i32) {
        state::initialize();
        let device = state::device(device)?;
        put(value, attributes::attribute(device.simulator.config(), device.index, number)?)
    }

    fn cudaGetDeviceProperties(to: *mut u8, device: i32) {
        write_properties(to, device, Layout::Cuda13)
    }

    fn cudaGetDeviceProperties_v2(to: *mut u8, device: i32) {
        write_properties(to, device, Layout::Cuda12)
    }

    fn cudaGetDeviceProperties_cuda12(to: *mut u8, device: i32) {
        write_properties(to, device, Layout::Cuda11)
    }

    fn cudaChooseDevice(device: *mut i32, _wanted: *const u8) {
        state::initialize();
        state::device(0)?;
        put(device, 0)
    }

    fn cudaDeviceGetByPCIBusId(device: *mut i32, id: *const c_char) {
        state::initialize();
        crate::cudart::error::of(driver_device::cuDeviceGetByPCIBusId(device, id))
    }

    fn cudaDeviceGetPCIBusId(id: *mut c_char, length: i32, device: i32) {
        state::initialize();
        crate::cudart::error::of(driver_device::cuDeviceGetPCIBusId(id, length, device))
    }

    fn cudaDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        state::initialize();
        crate::cudart::error::of(driver_device::cuDeviceCanAccessPeer(can, device, peer))
    }

    fn cudaDeviceGetP2PAttribute(value: *mut i32, number: u32, from: i32, to: i32) {
        state::initialize();
        crate::cudart::error::of(driver_device::cuDeviceGetP2PAttribute(value, number, from, to))
    }

    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        ensure()?;
        let peer = state::device(peer)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        Err(if peer.index as i32 == context::device() { Status::INVALID_DEVICE } else { Status::PEER_ACCESS_UNSUPPORTED })
    }

    fn cudaDeviceDisablePeerAccess(peer: i32) {
        ensure()?;
        state::device(peer)?;
        Err(Status::PEER_ACCESS_NOT_ENABLED)
    }

    fn cudaGetDriverEntryPoint(name: *const c_char, to: *mut *const c_void, flags: u64, status: *mut u32) {
        state::initialize();
        entry_point(name, to, driver_device::VERSION as u32, flags, status)
    }

    fn cudaGetDriverEntryPointByVersion(
        name: *const c_char, to: *mut *const c_void, version: u32, flags: u64, status: *mut u32
    ) {
        state::initialize();
        entry_point(name, to, version, flags, status)
    }

    fn cudaProfilerStart() {
        Ok(())
    }

    fn cudaProfilerStop() {
        Ok(())
    }
}

rt_as_driver! {
    cudaDeviceGetLimit = driver_context::cuCtxGetLimit, (value: *mut usize, limit: u32);
    cudaDeviceSetLimit = driver_context::cuCtxSetLimit, (limit: u32, value: usize);
    cudaDeviceGetCacheConfig = driver_context::cuCtxGetCacheConfig, (config: *mut u32);
    cudaDeviceSetCacheConfig = driver_context::cuCtxSetCacheConfig, (config: u32);
    cudaDeviceGetSharedMemConfig = driver_context::cuCtxGetSharedMemConfig, (config: *mut u32);
    cudaDeviceSetSharedMemConfig = driver_context::cuCtxSetSharedMemConfig, (config: u32);
    cudaDeviceGetStreamPriorityRange = driver_context::cuCtxGetStreamPriorityRange, (least: *mut i32, greatest: *mut i32);
    cudaCtxResetPersistingL2Cache = driver_context::cuCtxResetPersistingL2Cache, ();
}
