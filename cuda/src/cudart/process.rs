//! Memory, events and pools of one process in another.

use crate::cudart::context::ensure;
use crate::cudart::error::of;
use crate::driver::process as driver;
use crate::driver::process::Shared;
use crate::ffi::Handle;

rt_as_driver! {
    cudaIpcGetMemHandle = driver::cuIpcGetMemHandle, (to: *mut Shared, address: u64);
    cudaIpcOpenMemHandle = driver::cuIpcOpenMemHandle_v2, (to: *mut u64, handle: Shared, flags: u32);
    cudaIpcCloseMemHandle = driver::cuIpcCloseMemHandle, (address: u64);
    cudaIpcGetEventHandle = driver::cuIpcGetEventHandle, (to: *mut Shared, event: Handle);
    cudaIpcOpenEventHandle = driver::cuIpcOpenEventHandle, (to: *mut Handle, handle: Shared);
    cudaMemPoolExportPointer = driver::cuMemPoolExportPointer, (to: *mut Shared, address: u64);
    cudaMemPoolImportPointer = driver::cuMemPoolImportPointer, (to: *mut u64, pool: Handle, share: *const Shared);
}

rt! {
    fn cudaMemPoolExportToShareableHandle(to: *mut i32, pool: Handle, kind: u32, flags: u32) {
        ensure()?;
        of(driver::cuMemPoolExportToShareableHandle(to, pool, kind, flags.into()))
    }

    fn cudaMemPoolImportFromShareableHandle(to: *mut Handle, descriptor: u64, kind: u32, flags: u32) {
        ensure()?;
        of(driver::cuMemPoolImportFromShareableHandle(to, descriptor, kind, flags.into()))
    }
}
