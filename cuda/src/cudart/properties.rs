//! `cudaDeviceProp` in its three layouts.

use cuda_abi::numbers::device_attribute as a;
use runtime::{Device, Result, attributes};

use crate::driver::device::uuid;

/// Which fields the structure has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// `cudaGetDeviceProperties` before 12.0.
    Cuda11,
    /// `cudaGetDeviceProperties_v2` of 12.
    Cuda12,
    /// Of 13, which has fewer.
    Cuda13,
}

/// A field by the attributes that it holds.
enum Field {
    /// `int`s.
    Int(&'static [i32]),
    /// A `size_t`.
    Size(i32),
    /// The same in kilobytes that attribute numbers lack: the device's memory.
    Memory,
    /// An `int` that only 11 and 12 have.
    Old(i32),
}

use Field::{Int, Memory, Old, Size};

/// The fields after name, UUID and LUID, in order.
const FIELDS: &[Field] = &[
    Memory,
    Size(a::MAX_SHARED_MEMORY_PER_BLOCK),
    Int(&[a::MAX_REGISTERS_PER_BLOCK, a::WARP_SIZE]),
    Size(a::MAX_PITCH),
    Int(&[
        a::MAX_THREADS_PER_BLOCK,
        a::MAX_BLOCK_DIM_X,
        a::MAX_BLOCK_DIM_Y,
        a::MAX_BLOCK_DIM_Z,
        a::MAX_GRID_DIM_X,
        a::MAX_GRID_DIM_Y,
        a::MAX_GRID_DIM_Z,
    ]),
    Old(a::CLOCK_RATE),
    Size(a::TOTAL_CONSTANT_MEMORY),
    Int(&[a::COMPUTE_CAPABILITY_MAJOR, a::COMPUTE_CAPABILITY_MINOR]),
    Size(a::TEXTURE_ALIGNMENT),
    Size(a::TEXTURE_PITCH_ALIGNMENT),
    Old(a::GPU_OVERLAP),
    Int(&[a::MULTIPROCESSOR_COUNT]),
    Old(a::KERNEL_EXEC_TIMEOUT),
    Int(&[a::INTEGRATED, a::CAN_MAP_HOST_MEMORY]),
    Old(a::COMPUTE_MODE),
    Int(&[a::MAXIMUM_TEXTURE1D_WIDTH, a::MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH]),
    // Textures of one dimension in linear memory.
    Old(a::MAXIMUM_TEXTURE1D_LINEAR_WIDTH),
    Int(&[
        a::MAXIMUM_TEXTURE2D_WIDTH,
        a::MAXIMUM_TEXTURE2D_HEIGHT,
        a::MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
        a::MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT,
        a::MAXIMUM_TEXTURE2D_LINEAR_WIDTH,
        a::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT,
        a::MAXIMUM_TEXTURE2D_LINEAR_PITCH,
        a::MAXIMUM_TEXTURE2D_GATHER_WIDTH,
        a::MAXIMUM_TEXTURE2D_GATHER_HEIGHT,
        a::MAXIMUM_TEXTURE3D_WIDTH,
        a::MAXIMUM_TEXTURE3D_HEIGHT,
        a::MAXIMUM_TEXTURE3D_DEPTH,
        a::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
        a::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
        a::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE,
        a::MAXIMUM_TEXTURECUBEMAP_WIDTH,
        a::MAXIMUM_TEXTURE1D_LAYERED_WIDTH,
        a::MAXIMUM_TEXTURE1D_LAYERED_LAYERS,
        a::MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
        a::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
        a::MAXIMUM_TEXTURE2D_LAYERED_LAYERS,
        a::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
        a::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS,
    ]),
    Int(&[
        a::MAXIMUM_SURFACE1D_WIDTH,
        a::MAXIMUM_SURFACE2D_WIDTH,
        a::MAXIMUM_SURFACE2D_HEIGHT,
        a::MAXIMUM_SURFACE3D_WIDTH,
        a::MAXIMUM_SURFACE3D_HEIGHT,
        a::MAXIMUM_SURFACE3D_DEPTH,
        a::MAXIMUM_SURFACE1D_LAYERED_WIDTH,
        a::MAXIMUM_SURFACE1D_LAYERED_LAYERS,
        a::MAXIMUM_SURFACE2D_LAYERED_WIDTH,
        a::MAXIMUM_SURFACE2D_LAYERED_HEIGHT,
        a::MAXIMUM_SURFACE2D_LAYERED_LAYERS,
        a::MAXIMUM_SURFACECUBEMAP_WIDTH,
        a::MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH,
        a::MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS,
    ]),
    Size(a::SURFACE_ALIGNMENT),
    Int(&[
        a::CONCURRENT_KERNELS,
        a::ECC_ENABLED,
        a::PCI_BUS_ID,
        a::PCI_DEVICE_ID,
        a::PCI_DOMAIN_ID,
        a::TCC_DRIVER,
        a::ASYNC_ENGINE_COUNT,
        a::UNIFIED_ADDRESSING,
    ]),
    Old(a::MEMORY_CLOCK_RATE),
    Int(&[
        a::GLOBAL_MEMORY_BUS_WIDTH,
        a::L2_CACHE_SIZE,
        a::MAX_PERSISTING_L2_CACHE_SIZE,
        a::MAX_THREADS_PER_MULTIPROCESSOR,
        a::STREAM_PRIORITIES_SUPPORTED,
        a::GLOBAL_L1_CACHE_SUPPORTED,
        a::LOCAL_L1_CACHE_SUPPORTED,
    ]),
    Size(a::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    Int(&[
        a::MAX_REGISTERS_PER_MULTIPROCESSOR,
        a::MANAGED_MEMORY,
        a::MULTI_GPU_BOARD,
        a::MULTI_GPU_BOARD_GROUP_ID,
        a::HOST_NATIVE_ATOMIC_SUPPORTED,
    ]),
    Old(a::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
    Int(&[
        a::PAGEABLE_MEMORY_ACCESS,
        a::CONCURRENT_MANAGED_ACCESS,
        a::COMPUTE_PREEMPTION_SUPPORTED,
        a::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
        a::COOPERATIVE_LAUNCH,
    ]),
    // Cooperative launch over several devices.
    Old(a::COOPERATIVE_MULTI_DEVICE_LAUNCH),
    Size(a::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    Int(&[
        a::PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
        a::DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
        a::MAX_BLOCKS_PER_MULTIPROCESSOR,
        a::MAX_ACCESS_POLICY_WINDOW_SIZE,
    ]),
    Size(a::RESERVED_SHARED_MEMORY_PER_BLOCK),
];

/// What 12 has on top, and 13 with some more.
const NEWER: &[i32] = &[
    a::HOST_REGISTER_SUPPORTED,
    a::SPARSE_CUDA_ARRAY_SUPPORTED,
    a::READ_ONLY_HOST_REGISTER_SUPPORTED,
    a::TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,
    a::MEMORY_POOLS_SUPPORTED,
    a::GPU_DIRECT_RDMA_SUPPORTED,
    a::GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
    a::GPU_DIRECT_RDMA_WRITES_ORDERING,
    a::MEMPOOL_SUPPORTED_HANDLE_TYPES,
    a::DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
    a::IPC_EVENT_SUPPORTED,
    a::CLUSTER_LAUNCH,
    a::UNIFIED_FUNCTION_POINTERS,
];
const NEWEST: &[i32] = &[
    a::NUMA_CONFIG,
    a::NUMA_ID,
    a::MPS_ENABLED,
    a::HOST_NUMA_ID,
    a::GPU_PCI_DEVICE_ID,
    a::GPU_PCI_SUBSYSTEM_ID,
    a::HOST_NUMA_MULTINODE_IPC_SUPPORTED,
];

/// The bytes of the structure.
pub(crate) fn of(device: &Device, layout: Layout) -> Result<Vec<u8>> {
    let config = device.simulator.config();
    let value = |number: i32| attributes::attribute(config, device.index, number);
    let mut bytes = vec![0u8; 256];
    let name = config.name.as_bytes();
    let length = name.len().min(255);
    bytes[..length].copy_from_slice(&name[..length]);
    bytes.extend(uuid(device.index));
    // LUID and its mask belong to Windows.
    bytes.extend([0; 12]);
    let size = |bytes: &mut Vec<u8>, value: u64| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(value.to_le_bytes());
    };
    for field in FIELDS {
        match field {
            Memory => size(&mut bytes, config.global_memory),
            Size(number) => size(&mut bytes, value(*number)? as u64),
            Int(numbers) => {
                for &number in *numbers {
                    bytes.extend(value(number)?.to_le_bytes());
                }
            }
            Old(number) if layout != Layout::Cuda13 => bytes.extend(value(*number)?.to_le_bytes()),
            Old(_) => {}
        }
    }
    let (newer, total): (&[&[i32]], usize) = match layout {
        Layout::Cuda11 => (&[], 728),
        Layout::Cuda12 => (&[NEWER], 1032),
        Layout::Cuda13 => (&[NEWER, NEWEST], 1008),
    };
    for &number in newer.iter().copied().flatten() {
        bytes.extend(value(number)?.to_le_bytes());
    }
    bytes.resize(total, 0);
    Ok(bytes)
}
