//! Structures of the runtime interface, laid out as `driver_types.h` has them.
#![allow(missing_docs, reason = "fields say what they are, as those of `driver_types.h` do")]

use crate::driver::{self, LaunchAttribute};
use crate::{Address, Handle};

/// `dim3`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(extent: Dim3) -> Self {
        [extent.x, extent.y, extent.z]
    }
}

impl From<Dim3> for sim_core::Dim3 {
    fn from(extent: Dim3) -> Self {
        sim_core::Dim3::new(extent.x, extent.y, extent.z)
    }
}

/// `cudaLaunchConfig_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: usize,
    pub stream: Handle,
    pub attributes: *const LaunchAttribute,
    pub attribute_count: u32,
}

impl From<LaunchConfig> for driver::LaunchConfig {
    fn from(config: LaunchConfig) -> Self {
        driver::LaunchConfig {
            grid: config.grid.into(),
            block: config.block.into(),
            shared: config.shared.min(u32::MAX as usize) as u32,
            stream: config.stream,
            attributes: config.attributes,
            attribute_count: config.attribute_count,
        }
    }
}

/// `cudaKernelNodeParams`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelNodeParams {
    pub function: Address,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: u32,
    pub params: *const u64,
    pub extra: *const u64,
}

/// `cudaFuncAttributes`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FuncAttributes {
    pub shared: usize,
    pub constant: usize,
    pub local: usize,
    pub max_threads: i32,
    pub registers: i32,
    pub ptx_version: i32,
    pub binary_version: i32,
    pub cache_mode: i32,
    pub max_dynamic_shared: i32,
    pub carveout: i32,
    pub cluster_must_be_set: i32,
    pub cluster: [i32; 3],
    pub cluster_policy: i32,
    pub non_portable_cluster: i32,
    pub reserved: [i32; 16],
}

/// `cudaChannelFormatDesc`: bits of four channels, and their kind.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ChannelFormatDesc {
    pub bits: [i32; 4],
    pub kind: u32,
}

/// `cudaResourceDesc`, as far as all versions have it: its kind, and as many words as the largest of what may follow has.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ResourceDesc {
    pub kind: u32,
    pub resource: [u64; 7],
}

/// The resource of a [`ResourceDesc`] that is memory: a linear one has bytes where one with a pitch has its width.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemoryResource {
    pub address: Address,
    pub channels: ChannelFormatDesc,
    pub width_or_bytes: usize,
    pub height: usize,
    pub pitch: usize,
}

/// `cudaTextureDesc`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct TextureDesc {
    pub address: [u32; 3],
    pub filter: u32,
    pub read_mode: u32,
    pub srgb: i32,
    pub border: [u32; 4],
    pub normalized: i32,
    pub anisotropy: u32,
    pub mipmap_filter: u32,
    pub bias: f32,
    pub clamp: [f32; 2],
    pub disable_trilinear_optimization: i32,
    pub seamless: i32,
}

/// `cudaPitchedPtr`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PitchedPtr {
    pub address: Address,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `cudaExtent`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaMemcpy3DParms`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy3DParms {
    pub src_array: Handle,
    pub src_at: [usize; 3],
    pub src: PitchedPtr,
    pub dst_array: Handle,
    pub dst_at: [usize; 3],
    pub dst: PitchedPtr,
    pub extent: Extent,
    pub kind: u32,
}

/// `cudaMemcpy3DPeerParms`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy3DPeerParms {
    pub src_array: Handle,
    pub src_at: [usize; 3],
    pub src: PitchedPtr,
    pub src_device: i32,
    pub dst_array: Handle,
    pub dst_at: [usize; 3],
    pub dst: PitchedPtr,
    pub dst_device: i32,
    pub extent: Extent,
}

/// `cudaPointerAttributes`, without what CUDA 13 reserves behind it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PointerAttributes {
    pub kind: u32,
    pub device: i32,
    pub device_pointer: Address,
    pub host_pointer: Address,
}
