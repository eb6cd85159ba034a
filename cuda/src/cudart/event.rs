//! Events.

use crate::driver::event as driver;
use crate::ffi::Handle;

unsafe fn elapsed(ms: *mut f32, from: Handle, to: Handle) -> runtime::Result {
    crate::cudart::context::ensure()?;
    if ms.is_null() {
        return Err(runtime::Status::INVALID_VALUE);
    }
    // SAFETY: it is not null; the program gave it for the result.
    crate::cudart::error::of(unsafe { driver::cuEventElapsedTime_v2(ms, from, to) })
}

rt! {
    fn cudaEventElapsedTime(ms: *mut f32, from: Handle, to: Handle) {
        elapsed(ms, from, to)
    }

    fn cudaEventElapsedTime_v2(ms: *mut f32, from: Handle, to: Handle) {
        elapsed(ms, from, to)
    }

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
}

rt_as_stream! {
    cudaEventRecord cudaEventRecord_ptsz =
        driver::cuEventRecord, driver::cuEventRecord_ptsz, (event: Handle, stream: Handle);
    cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz =
        driver::cuEventRecordWithFlags, driver::cuEventRecordWithFlags_ptsz,
        (event: Handle, stream: Handle, flags: u32);
}
