//! Errors of the runtime interface: codes, names, and the last one of a thread.

use std::cell::Cell;
use std::ffi::{CStr, c_char};

use runtime::{Result, Status};

/// A launch with an impossible grid or block.
pub(crate) const INVALID_CONFIGURATION: Status = Status(9);
/// A pitch that is too small.
pub(crate) const INVALID_PITCH: Status = Status(12);
/// A symbol that was not registered.
pub(crate) const INVALID_SYMBOL: Status = Status(13);
/// Channels of an array that are not possible.
pub(crate) const INVALID_CHANNELS: Status = Status(20);
/// A copy in an unknown direction.
pub(crate) const INVALID_DIRECTION: Status = Status(21);
/// A kernel that was not registered, or is not in any image.
pub(crate) const INVALID_DEVICE_FUNCTION: Status = Status(98);

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The result of a function of the driver.
pub(crate) fn of(code: u32) -> Result {
    if code == 0 { Ok(()) } else { Err(Status(code)) }
}

/// Keeps an error as the thread's last one.
pub(crate) fn keep(status: Status) -> u32 {
    // What is not ready is no error.
    if status != Status::SUCCESS && status != Status::NOT_READY {
        let _ = LAST.try_with(|last| last.set(status.0));
    }
    status.0
}

/// Runs the body of a function, which never unwinds, and keeps its error.
pub(crate) fn serve(name: &str, body: impl FnOnce() -> Result) -> u32 {
    keep(Status(crate::ffi::serve(name, body)))
}

fn last(reset: bool) -> u32 {
    LAST.try_with(|last| if reset { last.replace(0) } else { last.get() }).unwrap_or(0)
}

/// Names by code.
const NAMES: &[(u32, &CStr)] = &[
    (0, c"cudaSuccess"),
    (1, c"cudaErrorInvalidValue"),
    (2, c"cudaErrorMemoryAllocation"),
    (3, c"cudaErrorInitializationError"),
    (4, c"cudaErrorCudartUnloading"),
    (5, c"cudaErrorProfilerDisabled"),
    (6, c"cudaErrorProfilerNotInitialized"),
    (7, c"cudaErrorProfilerAlreadyStarted"),
    (8, c"cudaErrorProfilerAlreadyStopped"),
    (9, c"cudaErrorInvalidConfiguration"),
    (12, c"cudaErrorInvalidPitchValue"),
    (13, c"cudaErrorInvalidSymbol"),
    (16, c"cudaErrorInvalidHostPointer"),
    (17, c"cudaErrorInvalidDevicePointer"),
    (18, c"cudaErrorInvalidTexture"),
    (19, c"cudaErrorInvalidTextureBinding"),
    (20, c"cudaErrorInvalidChannelDescriptor"),
    (21, c"cudaErrorInvalidMemcpyDirection"),
    (22, c"cudaErrorAddressOfConstant"),
    (23, c"cudaErrorTextureFetchFailed"),
    (24, c"cudaErrorTextureNotBound"),
    (25, c"cudaErrorSynchronizationError"),
    (26, c"cudaErrorInvalidFilterSetting"),
    (27, c"cudaErrorInvalidNormSetting"),
    (28, c"cudaErrorMixedDeviceExecution"),
    (31, c"cudaErrorNotYetImplemented"),
    (32, c"cudaErrorMemoryValueTooLarge"),
    (34, c"cudaErrorStubLibrary"),
    (35, c"cudaErrorInsufficientDriver"),
    (36, c"cudaErrorCallRequiresNewerDriver"),
    (37, c"cudaErrorInvalidSurface"),
    (43, c"cudaErrorDuplicateVariableName"),
    (44, c"cudaErrorDuplicateTextureName"),
    (45, c"cudaErrorDuplicateSurfaceName"),
    (46, c"cudaErrorDevicesUnavailable"),
    (49, c"cudaErrorIncompatibleDriverContext"),
    (52, c"cudaErrorMissingConfiguration"),
    (53, c"cudaErrorPriorLaunchFailure"),
    (65, c"cudaErrorLaunchMaxDepthExceeded"),
    (66, c"cudaErrorLaunchFileScopedTex"),
    (67, c"cudaErrorLaunchFileScopedSurf"),
    (68, c"cudaErrorSyncDepthExceeded"),
    (69, c"cudaErrorLaunchPendingCountExceeded"),
    (98, c"cudaErrorInvalidDeviceFunction"),
    (100, c"cudaErrorNoDevice"),
    (101, c"cudaErrorInvalidDevice"),
    (102, c"cudaErrorDeviceNotLicensed"),
    (103, c"cudaErrorSoftwareValidityNotEstablished"),
    (127, c"cudaErrorStartupFailure"),
    (200, c"cudaErrorInvalidKernelImage"),
    (201, c"cudaErrorDeviceUninitialized"),
    (205, c"cudaErrorMapBufferObjectFailed"),
    (206, c"cudaErrorUnmapBufferObjectFailed"),
    (207, c"cudaErrorArrayIsMapped"),
    (208, c"cudaErrorAlreadyMapped"),
    (209, c"cudaErrorNoKernelImageForDevice"),
    (210, c"cudaErrorAlreadyAcquired"),
    (211, c"cudaErrorNotMapped"),
    (212, c"cudaErrorNotMappedAsArray"),
    (213, c"cudaErrorNotMappedAsPointer"),
    (214, c"cudaErrorECCUncorrectable"),
    (215, c"cudaErrorUnsupportedLimit"),
    (216, c"cudaErrorDeviceAlreadyInUse"),
    (217, c"cudaErrorPeerAccessUnsupported"),
    (218, c"cudaErrorInvalidPtx"),
    (219, c"cudaErrorInvalidGraphicsContext"),
    (220, c"cudaErrorNvlinkUncorrectable"),
    (221, c"cudaErrorJitCompilerNotFound"),
    (222, c"cudaErrorUnsupportedPtxVersion"),
    (223, c"cudaErrorJitCompilationDisabled"),
    (224, c"cudaErrorUnsupportedExecAffinity"),
    (225, c"cudaErrorUnsupportedDevSideSync"),
    (226, c"cudaErrorContained"),
    (300, c"cudaErrorInvalidSource"),
    (301, c"cudaErrorFileNotFound"),
    (302, c"cudaErrorSharedObjectSymbolNotFound"),
    (303, c"cudaErrorSharedObjectInitFailed"),
    (304, c"cudaErrorOperatingSystem"),
    (400, c"cudaErrorInvalidResourceHandle"),
    (401, c"cudaErrorIllegalState"),
    (402, c"cudaErrorLossyQuery"),
    (500, c"cudaErrorSymbolNotFound"),
    (600, c"cudaErrorNotReady"),
    (700, c"cudaErrorIllegalAddress"),
    (701, c"cudaErrorLaunchOutOfResources"),
    (702, c"cudaErrorLaunchTimeout"),
    (703, c"cudaErrorLaunchIncompatibleTexturing"),
    (704, c"cudaErrorPeerAccessAlreadyEnabled"),
    (705, c"cudaErrorPeerAccessNotEnabled"),
    (708, c"cudaErrorSetOnActiveProcess"),
    (709, c"cudaErrorContextIsDestroyed"),
    (710, c"cudaErrorAssert"),
    (711, c"cudaErrorTooManyPeers"),
    (712, c"cudaErrorHostMemoryAlreadyRegistered"),
    (713, c"cudaErrorHostMemoryNotRegistered"),
    (714, c"cudaErrorHardwareStackError"),
    (715, c"cudaErrorIllegalInstruction"),
    (716, c"cudaErrorMisalignedAddress"),
    (717, c"cudaErrorInvalidAddressSpace"),
    (718, c"cudaErrorInvalidPc"),
    (719, c"cudaErrorLaunchFailure"),
    (720, c"cudaErrorCooperativeLaunchTooLarge"),
    (721, c"cudaErrorTensorMemoryLeak"),
    (800, c"cudaErrorNotPermitted"),
    (801, c"cudaErrorNotSupported"),
    (802, c"cudaErrorSystemNotReady"),
    (803, c"cudaErrorSystemDriverMismatch"),
    (804, c"cudaErrorCompatNotSupportedOnDevice"),
    (805, c"cudaErrorMpsConnectionFailed"),
    (806, c"cudaErrorMpsRpcFailure"),
    (807, c"cudaErrorMpsServerNotReady"),
    (808, c"cudaErrorMpsMaxClientsReached"),
    (809, c"cudaErrorMpsMaxConnectionsReached"),
    (810, c"cudaErrorMpsClientTerminated"),
    (811, c"cudaErrorCdpNotSupported"),
    (812, c"cudaErrorCdpVersionMismatch"),
    (900, c"cudaErrorStreamCaptureUnsupported"),
    (901, c"cudaErrorStreamCaptureInvalidated"),
    (902, c"cudaErrorStreamCaptureMerge"),
    (903, c"cudaErrorStreamCaptureUnmatched"),
    (904, c"cudaErrorStreamCaptureUnjoined"),
    (905, c"cudaErrorStreamCaptureIsolation"),
    (906, c"cudaErrorStreamCaptureImplicit"),
    (907, c"cudaErrorCapturedEvent"),
    (908, c"cudaErrorStreamCaptureWrongThread"),
    (909, c"cudaErrorTimeout"),
    (910, c"cudaErrorGraphExecUpdateFailure"),
    (911, c"cudaErrorExternalDevice"),
    (912, c"cudaErrorInvalidClusterSize"),
    (913, c"cudaErrorFunctionNotLoaded"),
    (914, c"cudaErrorInvalidResourceType"),
    (915, c"cudaErrorInvalidResourceConfiguration"),
    (999, c"cudaErrorUnknown"),
    (10000, c"cudaErrorApiFailureBase"),
];

/// Sentences of the codes that the driver does not have.
const SENTENCES: &[(u32, &CStr)] = &[
    (9, c"invalid configuration argument"),
    (12, c"invalid pitch argument"),
    (13, c"invalid device symbol"),
    (16, c"invalid host pointer"),
    (17, c"invalid device pointer"),
    (18, c"invalid texture reference"),
    (19, c"texture is not bound to a pointer"),
    (20, c"invalid channel descriptor"),
    (21, c"invalid copy direction for memcpy"),
    (22, c"invalid address of constant"),
    (23, c"fetch from texture failed"),
    (24, c"cannot fetch from a texture that is not bound"),
    (25, c"incorrect use of __syncthreads()"),
    (26, c"linear filtering not supported for non-float type"),
    (27, c"read as normalized float not supported for data type"),
    (28, c"device emulation mode and device execution mode cannot be mixed"),
    (31, c"feature not yet implemented"),
    (32, c"memory size or pointer value too large to fit in 32 bit"),
    (35, c"CUDA driver version is insufficient for CUDA runtime version"),
    (37, c"invalid surface reference"),
    (43, c"duplicate global variable looked up by string name"),
    (44, c"duplicate texture looked up by string name"),
    (45, c"duplicate surface looked up by string name"),
    (49, c"incompatible driver context"),
    (52, c"__global__ function call is not configured"),
    (53, c"unspecified launch failure in prior launch"),
    (65, c"launch would exceed maximum depth of nested launches"),
    (66, c"launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"),
    (67, c"launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"),
    (68, c"cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    (69, c"launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    (98, c"invalid device function"),
    (103, c"integrity checks failed"),
    (127, c"startup failure in cuda runtime"),
    (10000, c"api failure base"),
];

fn in_table(table: &'static [(u32, &'static CStr)], code: u32) -> Option<*const c_char> {
    table.iter().find(|(known, _)| *known == code).map(|(_, text)| text.as_ptr())
}

#[unsafe(export_name = "warpgrind_cudaGetLastError")]
extern "C" fn cudaGetLastError() -> u32 {
    last(true)
}

#[unsafe(export_name = "warpgrind_cudaPeekAtLastError")]
extern "C" fn cudaPeekAtLastError() -> u32 {
    last(false)
}

#[unsafe(export_name = "warpgrind_cudaGetErrorName")]
extern "C" fn cudaGetErrorName(code: u32) -> *const c_char {
    in_table(NAMES, code).unwrap_or(c"unrecognized error code".as_ptr())
}

#[unsafe(export_name = "warpgrind_cudaGetErrorString")]
extern "C" fn cudaGetErrorString(code: u32) -> *const c_char {
    let driver = || crate::driver::device::describe(code).map(|(_, _, text)| text.as_ptr());
    let named = || in_table(NAMES, code).map(|_| c"unknown error".as_ptr());
    let text = in_table(SENTENCES, code).or_else(driver).or_else(named);
    text.unwrap_or(c"unrecognized error code".as_ptr())
}
