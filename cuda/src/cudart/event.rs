//! Events.

use crate::driver::event as driver;
use crate::ffi::Handle;

rt! {
    fn cudaEventCreate(event: *mut Handle) {
        crate::cudart::context::ensure()?;
        crate::cudart::error::of(driver::cuEventCreate(event, 0))
    }
}

rt_as_driver! {
    cudaEventCreateWithFlags = driver::cuEventCreate, (event: *mut Handle, flags: u32);
    cudaEventDestroy = driver::cuEventDestroy_v2, (event: Handle);
    cudaEventQuery = driver::cuEventQuery, (event: Handle);
    cudaEventSynchronize = driver::cuEventSynchronize, (event: Handle);
    cudaEventElapsedTime = driver::cuEventElapsedTime_v2, (ms: *mut f32, from: Handle, to: Handle);
    cudaEventElapsedTime_v2 = driver::cuEventElapsedTime_v2, (ms: *mut f32, from: Handle, to: Handle);
}

rt_as_stream! {
    cudaEventRecord cudaEventRecord_ptsz =
        driver::cuEventRecord, driver::cuEventRecord_ptsz, (event: Handle, stream: Handle);
    cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz =
        driver::cuEventRecordWithFlags, driver::cuEventRecordWithFlags_ptsz,
        (event: Handle, stream: Handle, flags: u32);
}
