//! Devices and the versions.

use std::ffi::{c_char, c_void};
use std::sync::atomic::Ordering::SeqCst;

use runtime::{Status, attributes};

use crate::cudart::context::{self, ensure, make_current};
use crate::cudart::properties::{self, Layout};
use crate::driver::context as driver_context;
use crate::driver::device as driver_device;
use crate::driver::graph_memory as driver_graph_memory;
use crate::driver::{logs, several};
use crate::ffi::{NullStream, put, put_wanted, text};
use crate::start;
use crate::state;
use crate::version::VERSION;

unsafe fn write_properties(to: *mut u8, index: i32, layout: Layout) -> runtime::Result {
    start::initialize();
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
    null: NullStream,
    status: *mut u32,
) -> runtime::Result {
    // SAFETY: null or a string.
    let name = unsafe { text(name) }?;
    if to.is_null() || flags > 2 {
        return Err(Status::INVALID_VALUE);
    }
    // By default, the form is that of the caller.
    let own = flags == 2 || flags == 0 && null == NullStream::PerThread;
    let found = crate::driver::entry::find(name, version, own);
    let newer = crate::driver::entry::find(name, u32::MAX, own).is_some();
    // SAFETY: null or for the results: found, not found, or only in a later version.
    unsafe {
        put_wanted(status, if found.is_some() { 0 } else { 1 + u32::from(newer) });
        put(to, found.map_or(std::ptr::null(), |entry| entry.address as *const c_void))
    }
}

rt! {
    fn cudaGetDeviceCount(count: *mut i32) {
        let devices = start::initialize().devices.len() as i32;
        put(count, devices)?;
        if devices == 0 { Err(Status::NO_DEVICE) } else { Ok(()) }
    }

    fn cudaGetDevice(device: *mut i32) {
        start::initialize();
        put(device, context::device())
    }

    fn cudaSetDevice(device: i32) {
        make_current(device).map(|_| ())
    }

    fn cudaInitDevice(device: i32, _device_flags: u32, flags: u32) {
        start::initialize();
        let device = state::device(device)?;
        let _ = flags;
        if device.primary().is_none() {
            device.retain_primary().map_err(|_| Status::DEVICE_UNAVAILABLE)?;
        }
        Ok(())
    }

    fn cudaSetValidDevices(devices: *const i32, count: i32) {
        start::initialize();
        for device in crate::ffi::list(devices, usize::try_from(count).map_err(|_| Status::INVALID_VALUE)?)? {
            state::device(device)?;
        }
        Ok(())
    }

    fn cudaSetDeviceFlags(flags: u32) {
        start::initialize();
        if !driver_context::are_flags(flags) {
            return Err(Status::INVALID_VALUE);
        }
        state::device(context::device())?.set_primary_flags(flags);
        Ok(())
    }

    fn cudaGetDeviceFlags(flags: *mut u32) {
        start::initialize();
        put(flags, ensure()?.flags.load(SeqCst) | 8)
    }

    fn cudaDeviceSynchronize() {
        ensure()?.synchronize()
    }

    fn cudaThreadSynchronize() {
        ensure()?.synchronize()
    }

    fn cudaDeviceReset() {
        start::initialize();
        driver_context::reset_primary(context::device())
    }

    fn cudaThreadExit() {
        start::initialize();
        driver_context::reset_primary(context::device())
    }

    fn cudaDriverGetVersion(version: *mut i32) {
        put(version, VERSION)
    }

    fn cudaRuntimeGetVersion(version: *mut i32) {
        put(version, 13_000)
    }

    fn cudaRuntimeGetVersion_cuda12(version: *mut i32) {
        put(version, 12_090)
    }

    fn cudaDeviceGetAttribute(value: *mut i32, number: i32, device: i32) {
        start::initialize();
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

    fn cudaChooseDevice(device: *mut i32, wanted: *const u8) {
        start::initialize();
        state::device(0)?;
        if wanted.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put(device, 0)
    }

    fn cudaDeviceGetByPCIBusId(device: *mut i32, id: *const c_char) {
        start::initialize();
        crate::cudart::error::of(driver_device::cuDeviceGetByPCIBusId(device, id))
    }

    fn cudaDeviceGetPCIBusId(id: *mut c_char, length: i32, device: i32) {
        start::initialize();
        crate::cudart::error::of(driver_device::cuDeviceGetPCIBusId(id, length, device))
    }

    fn cudaDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        start::initialize();
        crate::cudart::error::of(driver_device::cuDeviceCanAccessPeer(can, device, peer))
    }

    fn cudaDeviceGetP2PAttribute(value: *mut i32, number: u32, from: i32, to: i32) {
        start::initialize();
        crate::cudart::error::of(driver_device::cuDeviceGetP2PAttribute(value, number, from, to))
    }

    fn cudaDeviceFlushGPUDirectRDMAWrites(target: u32, scope: u32) {
        ensure()?;
        crate::cudart::error::of(driver_device::cuFlushGPUDirectRDMAWrites(target, scope))
    }

    fn cudaDeviceGetGraphMemAttribute(device: i32, number: u32, value: *mut u64) {
        ensure()?;
        crate::cudart::error::of(driver_graph_memory::cuDeviceGetGraphMemAttribute(device, number, value))
    }

    fn cudaDeviceSetGraphMemAttribute(device: i32, number: u32, value: *const u64) {
        ensure()?;
        crate::cudart::error::of(driver_graph_memory::cuDeviceSetGraphMemAttribute(device, number, value))
    }

    fn cudaDeviceGraphMemTrim(device: i32) {
        ensure()?;
        crate::cudart::error::of(driver_graph_memory::cuDeviceGraphMemTrim(device))
    }

    fn cudaSetDoubleForDevice(_value: *mut f64) {
        // Devices have doubles of the same format.
        Ok(())
    }

    fn cudaSetDoubleForHost(_value: *mut f64) {
        Ok(())
    }

    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        let own = ensure()?;
        state::device(peer)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        own.check()?;
        own.enable_peer_access(&context::primary(peer)?)
    }

    fn cudaDeviceDisablePeerAccess(peer: i32) {
        let own = ensure()?;
        let peer = state::device(peer)?.primary().ok_or(Status::PEER_ACCESS_NOT_ENABLED)?;
        own.disable_peer_access(&peer)
    }

    fn cudaProfilerStart() {
        Ok(())
    }

    fn cudaProfilerStop() {
        Ok(())
    }
}

rt_stream! {
    fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz (null;
        name: *const c_char, to: *mut *const c_void, flags: u64, status: *mut u32
    ) {
        start::initialize();
        entry_point(name, to, VERSION as u32, flags, null, status)
    }

    fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz (null;
        name: *const c_char, to: *mut *const c_void, version: u32, flags: u64, status: *mut u32
    ) {
        start::initialize();
        entry_point(name, to, version, flags, null, status)
    }
}

rt_as_driver! {
    cudaLogsUnregisterCallback = logs::cuLogsUnregisterCallback, (number: crate::ffi::Handle);
    cudaLogsCurrent = logs::cuLogsCurrent, (iterator: *mut u32, flags: u32);
    cudaLogsDumpToFile = logs::cuLogsDumpToFile, (iterator: *mut u32, path: *const c_char, flags: u32);
    cudaLogsDumpToMemory = logs::cuLogsDumpToMemory, (iterator: *mut u32, to: *mut c_char, size: *mut usize, flags: u32);
    cudaLogsRegisterCallback = logs::cuLogsRegisterCallback, (function: Option<crate::log::Hear>, data: u64, to: *mut crate::ffi::Handle);
    cudaDeviceGetP2PAtomicCapabilities = several::cuDeviceGetP2PAtomicCapabilities, (to: *mut u32, operations: *const u32, count: u32, from: i32, peer: i32);
    cudaDeviceGetHostAtomicCapabilities = several::cuDeviceGetHostAtomicCapabilities, (to: *mut u32, operations: *const u32, count: u32, device: i32);
    cudaDeviceRegisterAsyncNotification = several::cuDeviceRegisterAsyncNotification, (device: i32, callback: u64, data: u64, to: *mut crate::ffi::Handle);
    cudaDeviceUnregisterAsyncNotification = several::cuDeviceUnregisterAsyncNotification, (device: i32, handle: crate::ffi::Handle);
    cudaThreadGetLimit = driver_context::cuCtxGetLimit, (value: *mut usize, limit: u32);
    cudaThreadSetLimit = driver_context::cuCtxSetLimit, (limit: u32, value: usize);
    cudaThreadGetCacheConfig = driver_context::cuCtxGetCacheConfig, (config: *mut u32);
    cudaThreadSetCacheConfig = driver_context::cuCtxSetCacheConfig, (config: u32);
    cudaDeviceGetLimit = driver_context::cuCtxGetLimit, (value: *mut usize, limit: u32);
    cudaDeviceSetLimit = driver_context::cuCtxSetLimit, (limit: u32, value: usize);
    cudaDeviceGetCacheConfig = driver_context::cuCtxGetCacheConfig, (config: *mut u32);
    cudaDeviceSetCacheConfig = driver_context::cuCtxSetCacheConfig, (config: u32);
    cudaDeviceGetSharedMemConfig = driver_context::cuCtxGetSharedMemConfig, (config: *mut u32);
    cudaDeviceSetSharedMemConfig = driver_context::cuCtxSetSharedMemConfig, (config: u32);
    cudaDeviceGetStreamPriorityRange = driver_context::cuCtxGetStreamPriorityRange, (least: *mut i32, greatest: *mut i32);
    cudaCtxResetPersistingL2Cache = driver_context::cuCtxResetPersistingL2Cache, ();
}
