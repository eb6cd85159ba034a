//! Streams and their capture.

use crate::driver::stream::{self as driver, create};
use crate::ffi::Handle;

rt! {
    fn cudaStreamCreate(stream: *mut Handle) {
        crate::cudart::context::ensure()?;
        create(stream, 0, 0)
    }

    fn cudaStreamCreateWithFlags(stream: *mut Handle, flags: u32) {
        crate::cudart::context::ensure()?;
        create(stream, flags, 0)
    }

    fn cudaStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) {
        crate::cudart::context::ensure()?;
        create(stream, flags, priority)
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut u32) {
        crate::cudart::error::of(driver::cuThreadExchangeStreamCaptureMode(mode))
    }
}

rt_as_driver! {
    cudaStreamDestroy = driver::cuStreamDestroy_v2, (stream: Handle);
}

rt_as_stream! {
    cudaStreamSynchronize cudaStreamSynchronize_ptsz =
        driver::cuStreamSynchronize, driver::cuStreamSynchronize_ptsz, (stream: Handle);
    cudaStreamQuery cudaStreamQuery_ptsz = driver::cuStreamQuery, driver::cuStreamQuery_ptsz, (stream: Handle);
    cudaStreamWaitEvent cudaStreamWaitEvent_ptsz =
        driver::cuStreamWaitEvent, driver::cuStreamWaitEvent_ptsz, (stream: Handle, event: Handle, flags: u32);
    cudaStreamGetFlags cudaStreamGetFlags_ptsz =
        driver::cuStreamGetFlags, driver::cuStreamGetFlags_ptsz, (stream: Handle, flags: *mut u32);
    cudaStreamGetPriority cudaStreamGetPriority_ptsz =
        driver::cuStreamGetPriority, driver::cuStreamGetPriority_ptsz, (stream: Handle, priority: *mut i32);
    cudaStreamGetId cudaStreamGetId_ptsz =
        driver::cuStreamGetId, driver::cuStreamGetId_ptsz, (stream: Handle, id: *mut u64);
    cudaStreamGetDevice cudaStreamGetDevice_ptsz =
        driver::cuStreamGetDevice, driver::cuStreamGetDevice_ptsz, (stream: Handle, device: *mut i32);
    cudaStreamCopyAttributes cudaStreamCopyAttributes_ptsz =
        driver::cuStreamCopyAttributes, driver::cuStreamCopyAttributes_ptsz, (to: Handle, from: Handle);
    cudaStreamGetAttribute cudaStreamGetAttribute_ptsz =
        driver::cuStreamGetAttribute, driver::cuStreamGetAttribute_ptsz,
        (stream: Handle, number: u32, value: *mut [u32; 16]);
    cudaStreamSetAttribute cudaStreamSetAttribute_ptsz =
        driver::cuStreamSetAttribute, driver::cuStreamSetAttribute_ptsz,
        (stream: Handle, number: u32, value: *const [u32; 16]);
    cudaStreamIsCapturing cudaStreamIsCapturing_ptsz =
        driver::cuStreamIsCapturing, driver::cuStreamIsCapturing_ptsz, (stream: Handle, capturing: *mut u32);
    cudaStreamBeginCapture cudaStreamBeginCapture_ptsz =
        driver::cuStreamBeginCapture_v2, driver::cuStreamBeginCapture_v2_ptsz, (stream: Handle, mode: u32);
    cudaStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph_ptsz =
        driver::cuStreamBeginCaptureToGraph, driver::cuStreamBeginCaptureToGraph_ptsz,
        (stream: Handle, graph: Handle, nodes: *const Handle, edges: *const u64, count: usize, mode: u32);
    cudaStreamEndCapture cudaStreamEndCapture_ptsz =
        driver::cuStreamEndCapture, driver::cuStreamEndCapture_ptsz, (stream: Handle, graph: *mut Handle);
    cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz =
        driver::cuStreamGetCaptureInfo_v3, driver::cuStreamGetCaptureInfo_v3_ptsz,
        (stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, edges: *mut *const u64, count: *mut usize);
    cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo_v3_ptsz =
        driver::cuStreamGetCaptureInfo_v3, driver::cuStreamGetCaptureInfo_v3_ptsz,
        (stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, edges: *mut *const u64, count: *mut usize);
    cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v2_ptsz =
        driver::cuStreamGetCaptureInfo_v2, driver::cuStreamGetCaptureInfo_v2_ptsz,
        (stream: Handle, capturing: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, count: *mut usize);
    cudaStreamGetCaptureInfo_cuda12 cudaStreamGetCaptureInfo_ptsz_cuda12 =
        driver::cuStreamGetCaptureInfo, driver::cuStreamGetCaptureInfo_ptsz,
        (stream: Handle, capturing: *mut u32, id: *mut u64);
    cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz =
        driver::cuStreamUpdateCaptureDependencies_v2, driver::cuStreamUpdateCaptureDependencies_v2_ptsz,
        (stream: Handle, nodes: *const Handle, edges: *const u64, count: usize, flags: u32);
    cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies_v2_ptsz =
        driver::cuStreamUpdateCaptureDependencies_v2, driver::cuStreamUpdateCaptureDependencies_v2_ptsz,
        (stream: Handle, nodes: *const Handle, edges: *const u64, count: usize, flags: u32);
    cudaStreamUpdateCaptureDependencies_cuda12 cudaStreamUpdateCaptureDependencies_ptsz_cuda12 =
        driver::cuStreamUpdateCaptureDependencies, driver::cuStreamUpdateCaptureDependencies_ptsz,
        (stream: Handle, nodes: *const Handle, count: usize, flags: u32);
}
