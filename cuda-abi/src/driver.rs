//! Structures of the driver interface, laid out as `cuda.h` has them.
#![allow(missing_docs, reason = "fields say what they are, as those of `cuda.h` do")]

use crate::{Address, Handle};

/// `CUDA_MEMCPY2D`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy2D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_type: u32,
    pub src_host: Address,
    pub src_device: Address,
    pub src_array: Handle,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_type: u32,
    pub dst_host: Address,
    pub dst_device: Address,
    pub dst_array: Handle,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER` with contexts in the reserved fields.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Memcpy3D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_type: u32,
    pub src_host: Address,
    pub src_device: Address,
    pub src_array: Handle,
    pub src_reserved: u64,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_type: u32,
    pub dst_host: Address,
    pub dst_device: Address,
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

/// `CUDA_KERNEL_NODE_PARAMS_v2`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct KernelNodeParams {
    pub func: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub params: Address,
    pub extra: Address,
    pub kernel: Handle,
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct MemsetNodeParams {
    pub dst: Address,
    pub pitch: usize,
    pub value: u32,
    pub element: u32,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct HostNodeParams {
    pub function: Address,
    pub argument: u64,
}

/// `CUstreamBatchMemOpParams`: the kind, the address, the value, flags; 48 bytes.
pub type BatchMemOp = [u64; 6];

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BatchMemOpNodeParams {
    pub context: Handle,
    pub count: u32,
    /// Of a [`BatchMemOp`] each.
    pub operations: Address,
    pub flags: u32,
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemAllocNodeParams {
    pub pool: MemPoolProps,
    /// Of a [`MemAccessDesc`] each.
    pub access: Address,
    pub access_count: usize,
    pub bytes: usize,
    pub address: Address,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GraphInstantiateParams {
    pub flags: u64,
    pub upload_stream: Handle,
    pub error_node: Handle,
    pub result: u32,
}

/// `CUctxCreateParams`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CtxCreateParams {
    pub affinity: Address,
    pub affinity_count: i32,
    pub cig: Address,
}

/// `CUlaunchConfig`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
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
pub struct LaunchAttribute {
    pub id: u32,
    pub padding: u32,
    pub value: [u32; 16],
}

/// `CUmemLocation`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MemLocation {
    pub kind: u32,
    pub id: i32,
}

/// `CUmemAccessDesc`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemAccessDesc {
    pub location: MemLocation,
    pub flags: u32,
}

/// `CUmemAllocationProp`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemAllocationProp {
    pub kind: u32,
    pub handle_types: u32,
    pub location: MemLocation,
    pub windows: Address,
    pub flags: u64,
}

/// `CUmemPoolProps`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemPoolProps {
    pub kind: u32,
    pub handle_types: u32,
    pub location: MemLocation,
    pub windows: Address,
    pub most: u64,
    pub reserved: [u64; 7],
}

/// `CUmemcpyAttributes`: when sources are read, hints about places, flags.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemcpyAttributes {
    pub order: u32,
    pub source: MemLocation,
    pub target: MemLocation,
    pub flags: u32,
}

/// `CUmemcpy3DOperand`: a kind and four words. Of a pointer: itself, elements a row, rows a slice; of an
/// array: itself and the start.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy3DOperand {
    pub kind: u32,
    pub words: [u64; 4],
}

/// `CUDA_MEMCPY3D_BATCH_OP`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memcpy3DBatchOp {
    pub from: Memcpy3DOperand,
    pub to: Memcpy3DOperand,
    pub size: [usize; 3],
    pub order: u32,
    pub flags: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Array3DDescriptor {
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
pub struct ArrayDescriptor {
    pub width: usize,
    pub height: usize,
    pub format: u32,
    pub channels: u32,
}

/// `CUDA_RESOURCE_DESC`: its kind, and as many words as the largest of what may follow has.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ResourceDesc {
    pub kind: u32,
    pub resource: [u64; 16],
    pub flags: u32,
}

/// The resource of a [`ResourceDesc`] that is memory: a linear one has bytes where one with a pitch has its width.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct MemoryResource {
    pub address: Address,
    pub format: u32,
    pub channels: u32,
    pub width_or_bytes: usize,
    pub height: usize,
    pub pitch: usize,
}

/// `CUDA_TEXTURE_DESC`
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct TextureDesc {
    pub address: [u32; 3],
    pub filter: u32,
    pub flags: u32,
    pub anisotropy: u32,
    pub mipmap_filter: u32,
    pub bias: f32,
    pub clamp: [f32; 2],
    pub border: [u32; 4],
    pub reserved: [i32; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC` and `cudaResourceViewDesc`, without what is reserved behind it.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct ResourceViewDesc {
    pub format: u32,
    pub extent: [usize; 3],
    pub levels: [u32; 2],
    pub layers: [u32; 2],
}

/// `CUdevResource`: its kind, and for multiprocessors how many, the smallest part and what parts are a
/// multiple of.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DevResource {
    pub kind: u32,
    pub internal: [u32; 23],
    pub multiprocessors: u32,
    pub least: u32,
    pub unit: u32,
    pub rest: [u32; 9],
}

/// `CUmulticastObjectProp`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MulticastObjectProp {
    pub devices: u32,
    pub size: usize,
    pub handle_types: u64,
    pub flags: u64,
}

impl DevResource {
    /// What is not there.
    pub const NONE: Self =
        Self { kind: 0, internal: [0; 23], multiprocessors: 0, least: 0, unit: 0, rest: [0; 9] };
}

/// `CU_DEV_SM_RESOURCE_GROUP_PARAMS`: multiprocessors that one wants, how many of them are to lie together, flags.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct DevSmGroup {
    pub count: u32,
    pub together: u32,
    pub preferred: u32,
    pub flags: u32,
    pub rest: [u32; 12],
}

/// `CUDA_ARRAY_SPARSE_PROPERTIES`
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ArraySparseProperties {
    pub tile: [u32; 3],
    pub first_of_tail: u32,
    pub tail_bytes: u64,
    pub flags: u32,
    pub reserved: [u32; 4],
}

/// `CUDA_ARRAY_MEMORY_REQUIREMENTS`
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ArrayMemoryRequirements {
    pub size: usize,
    pub alignment: usize,
    pub reserved: [u32; 4],
}

/// `CUarrayMapInfo`. The subresource is a box of a level (level, layer, offsets, extents), or of a tail its layer and, behind a
/// gap, an offset and a size of 64 bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ArrayMapInfo {
    pub resource_type: u32,
    pub resource: Handle,
    pub subresource_type: u32,
    pub subresource: ArraySubresource,
    pub operation: u32,
    pub handle_type: u32,
    pub handle: Handle,
    pub offset: u64,
    pub device_mask: u32,
    pub flags: u32,
    pub reserved: [u32; 2],
}

/// What an [`ArrayMapInfo`] is about, in words.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct ArraySubresource(pub [u32; 8]);

const _: () = assert!(size_of::<ArraySparseProperties>() == 48 && size_of::<ArrayMemoryRequirements>() == 32);
const _: () = assert!(size_of::<ArrayMapInfo>() == 96);
