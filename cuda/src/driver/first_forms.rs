//! The first forms of functions, whose addresses and sizes have 32 bits. Contexts that today's functions make do not take them, and
//! those for words in memory CUDA has switched off: both answer as on an H200. Only in a context that the first form of `cuCtxCreate`
//! made does a device let the former work, with addresses below 4 GB, which there are none of here. Their arguments do not matter.

use runtime::{Result, Status};

use crate::ffi::put;
use crate::state;

fn of_another_context() -> Result {
    state::runtime()?;
    Err(Status::INVALID_CONTEXT)
}

fn switched_off() -> Result {
    state::runtime()?;
    Err(Status::NOT_SUPPORTED)
}

macro_rules! answers {
    ($answer:ident: $($name:ident)*) => {
        api! {$(
            fn $name() {
                $answer()
            }
        )*}
    };
}

answers! {
    of_another_context:
    cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor cuMemAlloc cuMemAllocHost cuMemAllocPitch cuMemFree
    cuMemGetAddressRange cuMemGetInfo cuMemHostGetDevicePointer cuMemcpy2D cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D
    cuMemcpy3DAsync cuMemcpyAtoA cuMemcpyAtoD cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA cuMemcpyDtoD cuMemcpyDtoDAsync
    cuMemcpyDtoH cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD cuMemcpyHtoDAsync cuMemsetD16 cuMemsetD2D16
    cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8 cuModuleGetGlobal cuTexRefSetAddress2D
}

answers! {
    switched_off:
    cuStreamBatchMemOp cuStreamBatchMemOp_ptsz cuStreamWaitValue32 cuStreamWaitValue32_ptsz cuStreamWaitValue64
    cuStreamWaitValue64_ptsz cuStreamWriteValue32 cuStreamWriteValue32_ptsz cuStreamWriteValue64 cuStreamWriteValue64_ptsz
}

api! {
    fn cuDeviceTotalMem(bytes: *mut u32, device: i32) {
        let total = state::device(device)?.memory_usage().0;
        put(bytes, u32::try_from(total).unwrap_or(u32::MAX))
    }
}
