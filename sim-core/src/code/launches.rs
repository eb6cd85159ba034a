//! The functions of CUDA's device runtime that launch, and what belongs to them (CUDA programming guide, "Dynamic
//! parallelism", "Device graph launch", "Conditional graph nodes").

/// What a kernel may launch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Launches {
    /// Kernels.
    pub kernels: bool,
    /// Graphs, by `cudaGraphLaunch`: launched outside of a graph it is refused (an H200's driver, 801), whether it comes
    /// to such a call or not.
    pub graphs: bool,
    /// Whether it calls the device runtime for anything but graphs and the texts of errors: then it may not be in a graph that
    /// kernels launch.
    pub uses_runtime: bool,
}

/// A function by which kernels launch, or ask about launches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaunchFunction {
    /// Memory for the parameters of a kernel with its grid: `cudaGetParameterBufferV2`
    Buffer,
    /// Memory for so many bytes of parameters: `cudaGetParameterBuffer`
    BufferOfSize,
    /// `cudaLaunchDeviceV2`
    Launch,
    /// `cudaLaunchDevice`
    LaunchKernel,
    /// `cudaGetLastError`
    LastError,
    /// `cudaPeekAtLastError`
    PeekError,
    /// Makes a code the last error.
    SetError,
    /// `cudaGetErrorName`
    ErrorName,
    /// `cudaGetErrorString`
    ErrorText,
    /// The handle of a new stream.
    StreamCreate,
    /// `cudaStreamDestroy`
    StreamDestroy,
    /// `cudaStreamWaitEvent`
    StreamWait,
    /// The handle of a new event.
    EventCreate,
    /// `cudaEventRecord`
    EventRecord,
    /// `cudaEventDestroy`
    EventDestroy,
    /// An attribute of the device, or what else is asked of it.
    Device,
    /// A limit of the context.
    Limit,
    /// An attribute of a kernel.
    Kernel,
    /// Blocks of a kernel that fit on a multiprocessor.
    Occupancy,
    /// Tells that a fill writes zeros and not the value that it was asked for.
    IgnoredValue,
    /// `cudaGraphLaunch`
    LaunchGraph,
    /// `cudaGraphSetConditional`
    SetCondition,
    /// Updates parameters of a graph's kernel node.
    NodeParameter,
    /// Updates its grid.
    NodeGrid,
    /// Enables or disables it.
    NodeEnabled,
}

impl LaunchFunction {
    /// The function of a name: CUDA's, or one that the library in `ptx-frontend/src/device_runtime` calls.
    pub fn named(name: &str) -> Option<LaunchFunction> {
        use LaunchFunction as F;
        let own = |name: &str| {
            Some(match name {
                "set_error" => F::SetError,
                "stream_create" => F::StreamCreate,
                "event_create" => F::EventCreate,
                "device" => F::Device,
                "limit" => F::Limit,
                "function" => F::Kernel,
                "occupancy" => F::Occupancy,
                "ignored_value" => F::IgnoredValue,
                "node_parameter" => F::NodeParameter,
                "node_grid" => F::NodeGrid,
                "node_enabled" => F::NodeEnabled,
                _ => return None,
            })
        };
        if let Some(name) = name.strip_prefix("__warpgrind_") {
            return own(name);
        }
        if let Some(name) = name.strip_prefix("__cudaCDP2") {
            // Per-thread default streams differ in nothing that a kernel can see.
            return Some(match name.strip_suffix("_ptsz").unwrap_or(name) {
                "GetParameterBufferV2" => F::Buffer,
                "GetParameterBuffer" => F::BufferOfSize,
                "LaunchDeviceV2" => F::Launch,
                "LaunchDevice" => F::LaunchKernel,
                "GetLastError" => F::LastError,
                "PeekAtLastError" => F::PeekError,
                "GetErrorName" => F::ErrorName,
                "GetErrorString" => F::ErrorText,
                "StreamDestroy" => F::StreamDestroy,
                "StreamWaitEvent" => F::StreamWait,
                "EventRecord" => F::EventRecord,
                "EventDestroy" => F::EventDestroy,
                _ => return None,
            });
        }
        Some(match name {
            "cudaGraphLaunch" => F::LaunchGraph,
            "cudaGraphSetConditional" => F::SetCondition,
            _ => return None,
        })
    }
}
