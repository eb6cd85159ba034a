//! The codes by which CUDA's interfaces report errors: numbers, names, sentences, and which of them the simulator's errors
//! and findings are.

use std::ffi::CStr;

use serde::{Deserialize, Serialize};
use sim_core::{FindingKind, LaunchError};

/// A `CUresult` or a `cudaError_t`: the two have the same numbers for the same errors, and the second has some more.
///
/// A driver may answer with a code that is not in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Status(pub u32);

/// What functions of CUDA return.
pub type Result<T = ()> = std::result::Result<T, Status>;

/// What is known of a code.
#[derive(Debug)]
pub struct Known {
    /// The code.
    pub status: Status,
    /// Its name in the driver's interface, if it is one of that.
    pub driver: Option<&'static CStr>,
    /// Its name in the runtime interface, if it is one of that.
    pub runtime: Option<&'static CStr>,
    /// A sentence.
    pub text: &'static CStr,
}

/// A literal with a zero byte at its end; `None` for no text.
const fn c(text: &'static str) -> Option<&'static CStr> {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) if text.is_empty() => None,
        Ok(text) => Some(text),
        Err(_) => panic!("a zero byte in a name"),
    }
}

macro_rules! codes {
    (
        both { $($value:literal $name:ident $runtime:literal $text:literal)* }
        runtime { $($more_value:literal $more:ident $more_runtime:literal $more_text:literal)* }
    ) => {
        impl Status {
            /// No error.
            pub const SUCCESS: Status = Status(0);
            $(#[doc = $text] pub const $name: Status = Status($value);)*
            $(#[doc = $more_text] pub const $more: Status = Status($more_value);)*

            /// All codes.
            pub const ALL: &[Known] = &[
                Known {
                    status: Status(0),
                    driver: Some(c"CUDA_SUCCESS"),
                    runtime: Some(c"cudaSuccess"),
                    text: c"no error",
                },
                $(Known {
                    status: Status($value),
                    driver: c(concat!("CUDA_ERROR_", stringify!($name), "\0")),
                    runtime: c(concat!($runtime, "\0")),
                    text: c(concat!($text, "\0")).expect("a sentence"),
                },)*
                $(Known {
                    status: Status($more_value),
                    driver: None,
                    runtime: c(concat!($more_runtime, "\0")),
                    text: c(concat!($more_text, "\0")).expect("a sentence"),
                },)*
            ];
        }
    };
}

codes! {
    both {
        1 INVALID_VALUE "cudaErrorInvalidValue" "invalid argument"
        2 OUT_OF_MEMORY "cudaErrorMemoryAllocation" "out of memory"
        3 NOT_INITIALIZED "cudaErrorInitializationError" "initialization error"
        4 DEINITIALIZED "cudaErrorCudartUnloading" "driver shutting down"
        5 PROFILER_DISABLED "cudaErrorProfilerDisabled" "profiler disabled while using external profiling tool"
        6 PROFILER_NOT_INITIALIZED "cudaErrorProfilerNotInitialized" "profiler not initialized: call cudaProfilerInitialize()"
        7 PROFILER_ALREADY_STARTED "cudaErrorProfilerAlreadyStarted" "profiler already started"
        8 PROFILER_ALREADY_STOPPED "cudaErrorProfilerAlreadyStopped" "profiler already stopped"
        34 STUB_LIBRARY "cudaErrorStubLibrary" "CUDA driver is a stub library"
        36 CALL_REQUIRES_NEWER_DRIVER "cudaErrorCallRequiresNewerDriver" "API call is not supported in the installed CUDA driver"
        46 DEVICE_UNAVAILABLE "cudaErrorDevicesUnavailable" "CUDA-capable device(s) is/are busy or unavailable"
        100 NO_DEVICE "cudaErrorNoDevice" "no CUDA-capable device is detected"
        101 INVALID_DEVICE "cudaErrorInvalidDevice" "invalid device ordinal"
        102 DEVICE_NOT_LICENSED "cudaErrorDeviceNotLicensed" "device doesn't have valid Grid license"
        200 INVALID_IMAGE "cudaErrorInvalidKernelImage" "device kernel image is invalid"
        201 INVALID_CONTEXT "cudaErrorDeviceUninitialized" "invalid device context"
        202 CONTEXT_ALREADY_CURRENT "" "context already current"
        205 MAP_FAILED "cudaErrorMapBufferObjectFailed" "mapping of buffer object failed"
        206 UNMAP_FAILED "cudaErrorUnmapBufferObjectFailed" "unmapping of buffer object failed"
        207 ARRAY_IS_MAPPED "cudaErrorArrayIsMapped" "array is mapped"
        208 ALREADY_MAPPED "cudaErrorAlreadyMapped" "resource already mapped"
        209 NO_BINARY_FOR_GPU "cudaErrorNoKernelImageForDevice" "no kernel image is available for execution on the device"
        210 ALREADY_ACQUIRED "cudaErrorAlreadyAcquired" "resource already acquired"
        211 NOT_MAPPED "cudaErrorNotMapped" "resource not mapped"
        212 NOT_MAPPED_AS_ARRAY "cudaErrorNotMappedAsArray" "resource not mapped as array"
        213 NOT_MAPPED_AS_POINTER "cudaErrorNotMappedAsPointer" "resource not mapped as pointer"
        214 ECC_UNCORRECTABLE "cudaErrorECCUncorrectable" "uncorrectable ECC error encountered"
        215 UNSUPPORTED_LIMIT "cudaErrorUnsupportedLimit" "limit is not supported on this architecture"
        216 CONTEXT_ALREADY_IN_USE "cudaErrorDeviceAlreadyInUse" "exclusive-thread device already in use by a different thread"
        217 PEER_ACCESS_UNSUPPORTED "cudaErrorPeerAccessUnsupported" "peer access is not supported between these two devices"
        218 INVALID_PTX "cudaErrorInvalidPtx" "a PTX JIT compilation failed"
        219 INVALID_GRAPHICS_CONTEXT "cudaErrorInvalidGraphicsContext" "invalid OpenGL or DirectX context"
        220 NVLINK_UNCORRECTABLE "cudaErrorNvlinkUncorrectable" "uncorrectable NVLink error detected during the execution"
        221 JIT_COMPILER_NOT_FOUND "cudaErrorJitCompilerNotFound" "PTX JIT compiler library not found"
        222 UNSUPPORTED_PTX_VERSION "cudaErrorUnsupportedPtxVersion" "the provided PTX was compiled with an unsupported toolchain."
        223 JIT_COMPILATION_DISABLED "cudaErrorJitCompilationDisabled" "PTX JIT compilation was disabled"
        224 UNSUPPORTED_EXEC_AFFINITY "cudaErrorUnsupportedExecAffinity" "the provided execution affinity is not supported"
        225 UNSUPPORTED_DEVSIDE_SYNC "cudaErrorUnsupportedDevSideSync" "the provided PTX contains unsupported call to cudaDeviceSynchronize"
        226 CONTAINED "cudaErrorContained" "Invalid access of peer GPU memory over nvlink or a hardware error"
        300 INVALID_SOURCE "cudaErrorInvalidSource" "device kernel image is invalid"
        301 FILE_NOT_FOUND "cudaErrorFileNotFound" "file not found"
        302 SHARED_OBJECT_SYMBOL_NOT_FOUND "cudaErrorSharedObjectSymbolNotFound" "shared object symbol not found"
        303 SHARED_OBJECT_INIT_FAILED "cudaErrorSharedObjectInitFailed" "shared object initialization failed"
        304 OPERATING_SYSTEM "cudaErrorOperatingSystem" "OS call failed or operation not supported on this OS"
        400 INVALID_HANDLE "cudaErrorInvalidResourceHandle" "invalid resource handle"
        401 ILLEGAL_STATE "cudaErrorIllegalState" "the operation cannot be performed in the present state"
        402 LOSSY_QUERY "cudaErrorLossyQuery" "attempted introspection would be semantically lossy"
        500 NOT_FOUND "cudaErrorSymbolNotFound" "named symbol not found"
        600 NOT_READY "cudaErrorNotReady" "device not ready"
        700 ILLEGAL_ADDRESS "cudaErrorIllegalAddress" "an illegal memory access was encountered"
        701 LAUNCH_OUT_OF_RESOURCES "cudaErrorLaunchOutOfResources" "too many resources requested for launch"
        702 LAUNCH_TIMEOUT "cudaErrorLaunchTimeout" "the launch timed out and was terminated"
        703 LAUNCH_INCOMPATIBLE_TEXTURING "cudaErrorLaunchIncompatibleTexturing" "launch uses incompatible texturing mode"
        704 PEER_ACCESS_ALREADY_ENABLED "cudaErrorPeerAccessAlreadyEnabled" "peer access is already enabled"
        705 PEER_ACCESS_NOT_ENABLED "cudaErrorPeerAccessNotEnabled" "peer access has not been enabled"
        708 PRIMARY_CONTEXT_ACTIVE "cudaErrorSetOnActiveProcess" "cannot set while device is active in this process"
        709 CONTEXT_IS_DESTROYED "cudaErrorContextIsDestroyed" "context is destroyed"
        710 ASSERT "cudaErrorAssert" "device-side assert triggered"
        711 TOO_MANY_PEERS "cudaErrorTooManyPeers" "peer mapping resources exhausted"
        712 HOST_MEMORY_ALREADY_REGISTERED "cudaErrorHostMemoryAlreadyRegistered" "part or all of the requested memory range is already mapped"
        713 HOST_MEMORY_NOT_REGISTERED "cudaErrorHostMemoryNotRegistered" "pointer does not correspond to a registered memory region"
        714 HARDWARE_STACK_ERROR "cudaErrorHardwareStackError" "hardware stack error"
        715 ILLEGAL_INSTRUCTION "cudaErrorIllegalInstruction" "an illegal instruction was encountered"
        716 MISALIGNED_ADDRESS "cudaErrorMisalignedAddress" "misaligned address"
        717 INVALID_ADDRESS_SPACE "cudaErrorInvalidAddressSpace" "operation not supported on global/shared address space"
        718 INVALID_PC "cudaErrorInvalidPc" "invalid program counter"
        719 LAUNCH_FAILED "cudaErrorLaunchFailure" "unspecified launch failure"
        720 COOPERATIVE_LAUNCH_TOO_LARGE "cudaErrorCooperativeLaunchTooLarge" "too many blocks in cooperative launch"
        721 TENSOR_MEMORY_LEAK "cudaErrorTensorMemoryLeak" "tensor memory not completely freed"
        800 NOT_PERMITTED "cudaErrorNotPermitted" "operation not permitted"
        801 NOT_SUPPORTED "cudaErrorNotSupported" "operation not supported"
        802 SYSTEM_NOT_READY "cudaErrorSystemNotReady" "system not yet initialized"
        803 SYSTEM_DRIVER_MISMATCH "cudaErrorSystemDriverMismatch" "system has unsupported display driver / cuda driver combination"
        804 COMPAT_NOT_SUPPORTED_ON_DEVICE "cudaErrorCompatNotSupportedOnDevice" "forward compatibility was attempted on non supported HW"
        805 MPS_CONNECTION_FAILED "cudaErrorMpsConnectionFailed" "MPS client failed to connect to the MPS control daemon or the MPS server"
        806 MPS_RPC_FAILURE "cudaErrorMpsRpcFailure" "the remote procedural call between the MPS server and the MPS client failed"
        807 MPS_SERVER_NOT_READY "cudaErrorMpsServerNotReady" "MPS server is not ready to accept new MPS client requests"
        808 MPS_MAX_CLIENTS_REACHED "cudaErrorMpsMaxClientsReached" "the hardware resources required to create MPS client have been exhausted"
        809 MPS_MAX_CONNECTIONS_REACHED "cudaErrorMpsMaxConnectionsReached" "the hardware resources required to support device connections have been exhausted"
        810 MPS_CLIENT_TERMINATED "cudaErrorMpsClientTerminated" "the MPS client has been terminated by the server"
        811 CDP_NOT_SUPPORTED "cudaErrorCdpNotSupported" "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"
        812 CDP_VERSION_MISMATCH "cudaErrorCdpVersionMismatch" "unsupported interaction between different versions of CUDA Dynamic Parallelism"
        900 STREAM_CAPTURE_UNSUPPORTED "cudaErrorStreamCaptureUnsupported" "operation not permitted when stream is capturing"
        901 STREAM_CAPTURE_INVALIDATED "cudaErrorStreamCaptureInvalidated" "operation failed due to a previous error during capture"
        902 STREAM_CAPTURE_MERGE "cudaErrorStreamCaptureMerge" "operation would result in a merge of separate capture sequences"
        903 STREAM_CAPTURE_UNMATCHED "cudaErrorStreamCaptureUnmatched" "capture was not ended in the same stream as it began"
        904 STREAM_CAPTURE_UNJOINED "cudaErrorStreamCaptureUnjoined" "capturing stream has unjoined work"
        905 STREAM_CAPTURE_ISOLATION "cudaErrorStreamCaptureIsolation" "dependency created on uncaptured work in another stream"
        906 STREAM_CAPTURE_IMPLICIT "cudaErrorStreamCaptureImplicit" "operation would make the legacy stream depend on a capturing blocking stream"
        907 CAPTURED_EVENT "cudaErrorCapturedEvent" "operation not permitted on an event last recorded in a capturing stream"
        908 STREAM_CAPTURE_WRONG_THREAD "cudaErrorStreamCaptureWrongThread" "attempt to terminate a thread-local capture sequence from another thread"
        909 TIMEOUT "cudaErrorTimeout" "wait operation timed out"
        910 GRAPH_EXEC_UPDATE_FAILURE "cudaErrorGraphExecUpdateFailure" "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"
        911 EXTERNAL_DEVICE "cudaErrorExternalDevice" "an async error has occured in external entity outside of CUDA"
        912 INVALID_CLUSTER_SIZE "cudaErrorInvalidClusterSize" "a kernel launch error has occurred due to cluster misconfiguration"
        913 FUNCTION_NOT_LOADED "cudaErrorFunctionNotLoaded" "the function handle is not loaded when calling an API that requires a loaded function"
        914 INVALID_RESOURCE_TYPE "cudaErrorInvalidResourceType" "one or more resources passed in are not valid resource types for the operation"
        915 INVALID_RESOURCE_CONFIGURATION "cudaErrorInvalidResourceConfiguration" "one or more resources are insufficient or non-applicable for the operation"
        916 KEY_ROTATION "" "an error happened during the key rotation sequence"
        999 UNKNOWN "cudaErrorUnknown" "unknown error"
    }
    runtime {
        9 INVALID_CONFIGURATION "cudaErrorInvalidConfiguration" "invalid configuration argument"
        12 INVALID_PITCH "cudaErrorInvalidPitchValue" "invalid pitch argument"
        13 INVALID_SYMBOL "cudaErrorInvalidSymbol" "invalid device symbol"
        16 INVALID_HOST_POINTER "cudaErrorInvalidHostPointer" "invalid host pointer"
        17 INVALID_DEVICE_POINTER "cudaErrorInvalidDevicePointer" "invalid device pointer"
        18 INVALID_TEXTURE "cudaErrorInvalidTexture" "invalid texture reference"
        19 INVALID_TEXTURE_BINDING "cudaErrorInvalidTextureBinding" "texture is not bound to a pointer"
        20 INVALID_CHANNELS "cudaErrorInvalidChannelDescriptor" "invalid channel descriptor"
        21 INVALID_DIRECTION "cudaErrorInvalidMemcpyDirection" "invalid copy direction for memcpy"
        22 ADDRESS_OF_CONSTANT "cudaErrorAddressOfConstant" "invalid address of constant"
        23 TEXTURE_FETCH_FAILED "cudaErrorTextureFetchFailed" "fetch from texture failed"
        24 TEXTURE_NOT_BOUND "cudaErrorTextureNotBound" "cannot fetch from a texture that is not bound"
        25 SYNCHRONIZATION_ERROR "cudaErrorSynchronizationError" "incorrect use of __syncthreads()"
        26 INVALID_FILTER_SETTING "cudaErrorInvalidFilterSetting" "linear filtering not supported for non-float type"
        27 INVALID_NORM_SETTING "cudaErrorInvalidNormSetting" "read as normalized float not supported for data type"
        28 MIXED_DEVICE_EXECUTION "cudaErrorMixedDeviceExecution" "device emulation mode and device execution mode cannot be mixed"
        31 NOT_YET_IMPLEMENTED "cudaErrorNotYetImplemented" "feature not yet implemented"
        32 MEMORY_VALUE_TOO_LARGE "cudaErrorMemoryValueTooLarge" "memory size or pointer value too large to fit in 32 bit"
        35 INSUFFICIENT_DRIVER "cudaErrorInsufficientDriver" "CUDA driver version is insufficient for CUDA runtime version"
        37 INVALID_SURFACE "cudaErrorInvalidSurface" "invalid surface reference"
        43 DUPLICATE_VARIABLE_NAME "cudaErrorDuplicateVariableName" "duplicate global variable looked up by string name"
        44 DUPLICATE_TEXTURE_NAME "cudaErrorDuplicateTextureName" "duplicate texture looked up by string name"
        45 DUPLICATE_SURFACE_NAME "cudaErrorDuplicateSurfaceName" "duplicate surface looked up by string name"
        49 INCOMPATIBLE_DRIVER_CONTEXT "cudaErrorIncompatibleDriverContext" "incompatible driver context"
        52 MISSING_CONFIGURATION "cudaErrorMissingConfiguration" "__global__ function call is not configured"
        53 PRIOR_LAUNCH_FAILURE "cudaErrorPriorLaunchFailure" "unspecified launch failure in prior launch"
        65 LAUNCH_MAX_DEPTH_EXCEEDED "cudaErrorLaunchMaxDepthExceeded" "launch would exceed maximum depth of nested launches"
        66 LAUNCH_FILE_SCOPED_TEX "cudaErrorLaunchFileScopedTex" "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"
        67 LAUNCH_FILE_SCOPED_SURF "cudaErrorLaunchFileScopedSurf" "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"
        68 SYNC_DEPTH_EXCEEDED "cudaErrorSyncDepthExceeded" "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"
        69 LAUNCH_PENDING_COUNT_EXCEEDED "cudaErrorLaunchPendingCountExceeded" "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"
        98 INVALID_DEVICE_FUNCTION "cudaErrorInvalidDeviceFunction" "invalid device function"
        103 SOFTWARE_VALIDITY_NOT_ESTABLISHED "cudaErrorSoftwareValidityNotEstablished" "integrity checks failed"
        127 STARTUP_FAILURE "cudaErrorStartupFailure" "startup failure in cuda runtime"
        10000 API_FAILURE_BASE "cudaErrorApiFailureBase" "api failure base"
    }
}

impl Status {
    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// What is known of it.
    pub fn known(self) -> Option<&'static Known> {
        Self::ALL.iter().find(|known| known.status == self)
    }

    /// The code that a finding which stopped a kernel leaves in its context.
    pub fn of_finding(kind: FindingKind) -> Status {
        match kind.cuda_error() {
            Some(number) => Status(number),
            None if kind == FindingKind::Unsupported => Status::NOT_SUPPORTED,
            None => Status::LAUNCH_FAILED,
        }
    }
}

impl From<sim_core::Error> for Status {
    fn from(error: sim_core::Error) -> Self {
        use sim_core::Error as E;
        match error {
            E::NoSuchKernel { .. } | E::NoSuchVariable(_) => Status::NOT_FOUND,
            E::OutOfMemory { .. } | E::HostMemory { .. } => Status::OUT_OF_MEMORY,
            E::UndefinedSymbol(_) => Status::SHARED_OBJECT_SYMBOL_NOT_FOUND,
            E::Unsupported(_) => Status::NOT_SUPPORTED,
            E::InvalidLaunch(error) => error.into(),
            E::InvalidAddress(_) => Status::INVALID_VALUE,
            _ => Status::UNKNOWN,
        }
    }
}

impl From<LaunchError> for Status {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Resources => Status::LAUNCH_OUT_OF_RESOURCES,
            LaunchError::Cooperative { .. } => Status::COOPERATIVE_LAUNCH_TOO_LARGE,
            error if error.is_of_clusters() => Status::INVALID_CLUSTER_SIZE,
            _ => Status::INVALID_VALUE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_once_and_have_names() {
        for (at, known) in Status::ALL.iter().enumerate() {
            assert!(known.driver.is_some() || known.runtime.is_some(), "{known:?}");
            assert!(Status::ALL[..at].iter().all(|other| other.status != known.status), "{known:?}");
            assert!(
                Status::ALL[..at]
                    .iter()
                    .all(|other| known.runtime.is_none() || other.runtime != known.runtime)
            );
        }
        let known = Status::ILLEGAL_ADDRESS.known().unwrap();
        assert_eq!(
            (known.driver, known.runtime),
            (Some(c"CUDA_ERROR_ILLEGAL_ADDRESS"), Some(c"cudaErrorIllegalAddress"))
        );
        assert_eq!(Status::INVALID_PITCH.known().unwrap().driver, None);
        assert!(Status(11).known().is_none());
    }

    #[test]
    fn faults_leave_codes_that_are_known() {
        for &kind in FindingKind::ALL {
            let status = Status::of_finding(kind);
            assert!(status != Status::SUCCESS && status.known().is_some(), "{kind:?}");
        }
    }
}
