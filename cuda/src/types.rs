//! C structures of the interfaces, laid out as `cuda.h` has them.

use crate::ffi::Handle;

/// `CUDA_MEMCPY2D`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Memcpy2D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_type: u32,
    pub src_host: u64,
    pub src_device: u64,
    pub src_array: Handle,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_type: u32,
    pub dst_host: u64,
    pub dst_device: u64,
    pub dst_array: Handle,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER` with contexts in the reserved fields.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct Memcpy3D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_type: u32,
    pub src_host: u64,
    pub src_device: u64,
    pub src_array: Handle,
    pub src_reserved: u64,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_type: u32,
    pub dst_host: u64,
    pub dst_device: u64,
    pub dst_array: Handle,
    pub dst_reserved: u64,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

impl From<Memcpy2D> for Memcpy3D {
    fn from(copy: Memcpy2D) -> Self {
        Memcpy3D {
            src_x: copy.src_x,
            src_y: copy.src_y,
            src_type: copy.src_type,
            src_host: copy.src_host,
            src_device: copy.src_device,
            src_array: copy.src_array,
            src_pitch: copy.src_pitch,
            dst_x: copy.dst_x,
            dst_y: copy.dst_y,
            dst_type: copy.dst_type,
            dst_host: copy.dst_host,
            dst_device: copy.dst_device,
            dst_array: copy.dst_array,
            dst_pitch: copy.dst_pitch,
            width: copy.width,
            height: copy.height,
            depth: 1,
            ..Memcpy3D::default()
        }
    }
}

/// `CUmemorytype`
pub(crate) mod memory_type {
    pub(crate) const HOST: u32 = 1;
    pub(crate) const DEVICE: u32 = 2;
    pub(crate) const ARRAY: u32 = 3;
    pub(crate) const UNIFIED: u32 = 4;
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct KernelNodeParams {
    pub func: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub params: u64,
    pub extra: u64,
    pub kernel: Handle,
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct MemsetNodeParams {
    pub dst: u64,
    pub pitch: usize,
    pub value: u32,
    pub element: u32,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct HostNodeParams {
    pub function: u64,
    pub argument: u64,
}

/// `CUlaunchConfig`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: Handle,
    pub attributes: *const LaunchAttribute,
    pub attribute_count: u32,
}

/// `CUlaunchAttribute`: 8 bytes of number and padding, 64 bytes of value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchAttribute {
    pub id: u32,
    pub padding: u32,
    pub value: [u32; 16],
}

/// `CUmemLocation`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct MemLocation {
    pub kind: u32,
    pub id: i32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct Array3D {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// `CUDA_ARRAY_DESCRIPTOR`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(crate) struct Array2D {
    pub width: usize,
    pub height: usize,
    pub format: u32,
    pub channels: u32,
}
