//! The attributes of a device by CUDA's names and numbers: one row each, fixed as an H200 has them or of the device's
//! configuration.

use cuda_abi::numbers::device_attribute as a;
use cuda_abi::{Result, Status};
use sim_core::DeviceConfig;

/// Where an attribute's value comes from.
enum Value {
    /// An H200's.
    Fixed(i32),
    /// That of a simulated device.
    Of(fn(&DeviceConfig) -> u32),
    /// One more than the device's number.
    Bus,
    /// The device's number.
    Number,
}

use Value::{Bus, Fixed, Number, Of};

/// All attributes, in the order of their numbers, from 1 on.
const TABLE: [(i32, Value); 147] = [
    (a::MAX_THREADS_PER_BLOCK, Of(|d| d.threads_per_block)),
    (a::MAX_BLOCK_DIM_X, Of(|d| d.block.x.min(d.threads_per_block))),
    (a::MAX_BLOCK_DIM_Y, Of(|d| d.block.y.min(d.threads_per_block))),
    (a::MAX_BLOCK_DIM_Z, Of(|d| d.block.z)),
    (a::MAX_GRID_DIM_X, Of(|d| d.grid.x)),
    (a::MAX_GRID_DIM_Y, Of(|d| d.grid.y)),
    (a::MAX_GRID_DIM_Z, Of(|d| d.grid.z)),
    (a::MAX_SHARED_MEMORY_PER_BLOCK, Of(|d| d.shared_unasked)),
    (a::TOTAL_CONSTANT_MEMORY, Of(|d| d.constant)),
    (a::WARP_SIZE, Fixed(32)),
    (a::MAX_PITCH, Fixed(i32::MAX)),
    (a::MAX_REGISTERS_PER_BLOCK, Of(|d| d.registers_per_multiprocessor)),
    (a::CLOCK_RATE, Of(|d| d.clock_khz)),
    (a::TEXTURE_ALIGNMENT, Fixed(512)),
    (a::GPU_OVERLAP, Fixed(1)),
    (a::MULTIPROCESSOR_COUNT, Of(|d| d.multiprocessors)),
    (a::KERNEL_EXEC_TIMEOUT, Fixed(0)),
    (a::INTEGRATED, Fixed(0)),
    (a::CAN_MAP_HOST_MEMORY, Fixed(1)),
    (a::COMPUTE_MODE, Fixed(0)),
    (a::MAXIMUM_TEXTURE1D_WIDTH, Fixed(131_072)),
    (a::MAXIMUM_TEXTURE2D_WIDTH, Fixed(131_072)),
    (a::MAXIMUM_TEXTURE2D_HEIGHT, Fixed(65_536)),
    (a::MAXIMUM_TEXTURE3D_WIDTH, Fixed(16_384)),
    (a::MAXIMUM_TEXTURE3D_HEIGHT, Fixed(16_384)),
    (a::MAXIMUM_TEXTURE3D_DEPTH, Fixed(16_384)),
    (a::MAXIMUM_TEXTURE2D_LAYERED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, Fixed(32_768)),
    (a::MAXIMUM_TEXTURE2D_LAYERED_LAYERS, Fixed(2048)),
    (a::SURFACE_ALIGNMENT, Fixed(512)),
    (a::CONCURRENT_KERNELS, Fixed(1)),
    (a::ECC_ENABLED, Fixed(1)),
    (a::PCI_BUS_ID, Bus),
    (a::PCI_DEVICE_ID, Fixed(0)),
    (a::TCC_DRIVER, Fixed(0)),
    (a::MEMORY_CLOCK_RATE, Fixed(3_201_000)),
    (a::GLOBAL_MEMORY_BUS_WIDTH, Fixed(6016)),
    (a::L2_CACHE_SIZE, Fixed(62_914_560)),
    (a::MAX_THREADS_PER_MULTIPROCESSOR, Of(|d| d.threads_per_multiprocessor)),
    (a::ASYNC_ENGINE_COUNT, Fixed(3)),
    (a::UNIFIED_ADDRESSING, Fixed(1)),
    (a::MAXIMUM_TEXTURE1D_LAYERED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_TEXTURE1D_LAYERED_LAYERS, Fixed(2048)),
    (a::CAN_TEX2D_GATHER, Fixed(1)),
    (a::MAXIMUM_TEXTURE2D_GATHER_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_TEXTURE2D_GATHER_HEIGHT, Fixed(32_768)),
    (a::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, Fixed(8192)),
    (a::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, Fixed(8192)),
    (a::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, Fixed(32_768)),
    (a::PCI_DOMAIN_ID, Fixed(0)),
    (a::TEXTURE_PITCH_ALIGNMENT, Fixed(32)),
    (a::MAXIMUM_TEXTURECUBEMAP_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, Fixed(2046)),
    (a::MAXIMUM_SURFACE1D_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_SURFACE2D_WIDTH, Fixed(131_072)),
    (a::MAXIMUM_SURFACE2D_HEIGHT, Fixed(65_536)),
    (a::MAXIMUM_SURFACE3D_WIDTH, Fixed(16_384)),
    (a::MAXIMUM_SURFACE3D_HEIGHT, Fixed(16_384)),
    (a::MAXIMUM_SURFACE3D_DEPTH, Fixed(16_384)),
    (a::MAXIMUM_SURFACE1D_LAYERED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_SURFACE1D_LAYERED_LAYERS, Fixed(2048)),
    (a::MAXIMUM_SURFACE2D_LAYERED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_SURFACE2D_LAYERED_HEIGHT, Fixed(32_768)),
    (a::MAXIMUM_SURFACE2D_LAYERED_LAYERS, Fixed(2048)),
    (a::MAXIMUM_SURFACECUBEMAP_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, Fixed(2046)),
    (a::MAXIMUM_TEXTURE1D_LINEAR_WIDTH, Fixed(268_435_456)),
    (a::MAXIMUM_TEXTURE2D_LINEAR_WIDTH, Fixed(131_072)),
    (a::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, Fixed(65_000)),
    (a::MAXIMUM_TEXTURE2D_LINEAR_PITCH, Fixed(2_097_120)),
    (a::MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, Fixed(32_768)),
    (a::MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, Fixed(32_768)),
    (a::COMPUTE_CAPABILITY_MAJOR, Of(|d| u32::from(d.sm / 10))),
    (a::COMPUTE_CAPABILITY_MINOR, Of(|d| u32::from(d.sm % 10))),
    (a::MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, Fixed(32_768)),
    (a::STREAM_PRIORITIES_SUPPORTED, Fixed(1)),
    (a::GLOBAL_L1_CACHE_SUPPORTED, Fixed(1)),
    (a::LOCAL_L1_CACHE_SUPPORTED, Fixed(1)),
    (a::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, Of(|d| d.shared_per_multiprocessor)),
    (a::MAX_REGISTERS_PER_MULTIPROCESSOR, Of(|d| d.registers_per_multiprocessor)),
    (a::MANAGED_MEMORY, Fixed(1)),
    (a::MULTI_GPU_BOARD, Fixed(0)),
    (a::MULTI_GPU_BOARD_GROUP_ID, Number),
    (a::HOST_NATIVE_ATOMIC_SUPPORTED, Fixed(0)),
    (a::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, Fixed(2)),
    (a::PAGEABLE_MEMORY_ACCESS, Fixed(0)),
    (a::CONCURRENT_MANAGED_ACCESS, Fixed(1)),
    (a::COMPUTE_PREEMPTION_SUPPORTED, Fixed(1)),
    (a::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, Fixed(1)),
    (a::CAN_USE_STREAM_MEM_OPS_V1, Fixed(0)),
    (a::CAN_USE_64_BIT_STREAM_MEM_OPS_V1, Fixed(0)),
    (a::CAN_USE_STREAM_WAIT_VALUE_NOR_V1, Fixed(0)),
    (a::COOPERATIVE_LAUNCH, Fixed(1)),
    (a::COOPERATIVE_MULTI_DEVICE_LAUNCH, Fixed(1)),
    (a::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, Of(|d| d.shared_per_block)),
    (a::CAN_FLUSH_REMOTE_WRITES, Fixed(0)),
    (a::HOST_REGISTER_SUPPORTED, Fixed(1)),
    (a::PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, Fixed(0)),
    (a::DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, Fixed(0)),
    // Virtual memory management with file descriptors; other handles are not there. Nobody sees what is compressed.
    (a::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, Fixed(1)),
    (a::HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, Fixed(1)),
    (a::HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, Fixed(0)),
    (a::HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, Fixed(0)),
    (a::MAX_BLOCKS_PER_MULTIPROCESSOR, Of(|d| d.blocks_per_multiprocessor)),
    (a::GENERIC_COMPRESSION_SUPPORTED, Fixed(1)),
    (a::MAX_PERSISTING_L2_CACHE_SIZE, Of(|d| d.largest_persisting as u32)),
    (a::MAX_ACCESS_POLICY_WINDOW_SIZE, Fixed(134_217_728)),
    (a::GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, Fixed(0)),
    (a::RESERVED_SHARED_MEMORY_PER_BLOCK, Of(|d| d.shared_reserved)),
    (a::SPARSE_CUDA_ARRAY_SUPPORTED, Fixed(1)),
    (a::READ_ONLY_HOST_REGISTER_SUPPORTED, Fixed(1)),
    (a::TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, Fixed(0)),
    (a::MEMORY_POOLS_SUPPORTED, Fixed(1)),
    (a::GPU_DIRECT_RDMA_SUPPORTED, Fixed(0)),
    (a::GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, Fixed(0)),
    (a::GPU_DIRECT_RDMA_WRITES_ORDERING, Fixed(0)),
    // File descriptors.
    (a::MEMPOOL_SUPPORTED_HANDLE_TYPES, Fixed(1)),
    (a::CLUSTER_LAUNCH, Fixed(1)),
    (a::DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, Fixed(1)),
    (a::CAN_USE_64_BIT_STREAM_MEM_OPS, Fixed(1)),
    (a::CAN_USE_STREAM_WAIT_VALUE_NOR, Fixed(1)),
    (a::DMA_BUF_SUPPORTED, Fixed(0)),
    (a::IPC_EVENT_SUPPORTED, Fixed(1)),
    (a::MEM_SYNC_DOMAIN_COUNT, Fixed(4)),
    (a::TENSOR_MAP_ACCESS_SUPPORTED, Fixed(1)),
    (a::HANDLE_TYPE_FABRIC_SUPPORTED, Fixed(0)),
    (a::UNIFIED_FUNCTION_POINTERS, Fixed(0)),
    (a::NUMA_CONFIG, Fixed(0)),
    (a::NUMA_ID, Fixed(-1)),
    (a::MULTICAST_SUPPORTED, Of(|d| d.multicast.into())),
    (a::MPS_ENABLED, Fixed(0)),
    (a::HOST_NUMA_ID, Fixed(0)),
    (a::D3D12_CIG_SUPPORTED, Fixed(0)),
    (a::MEM_DECOMPRESS_ALGORITHM_MASK, Fixed(0)),
    (a::MEM_DECOMPRESS_MAXIMUM_LENGTH, Fixed(0)),
    (a::VULKAN_CIG_SUPPORTED, Fixed(0)),
    (a::GPU_PCI_DEVICE_ID, Fixed(0x2335_10de)),
    (a::GPU_PCI_SUBSYSTEM_ID, Fixed(0x18bf_10de)),
    (a::HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, Fixed(1)),
    (a::HOST_NUMA_MEMORY_POOLS_SUPPORTED, Fixed(0)),
    (a::HOST_NUMA_MULTINODE_IPC_SUPPORTED, Fixed(0)),
    (a::HOST_MEMORY_POOLS_SUPPORTED, Fixed(0)),
    (a::HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, Fixed(1)),
    (a::HOST_ALLOC_DMA_BUF_SUPPORTED, Fixed(0)),
    (a::ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, Fixed(0)),
];

/// The value of attribute `number` of device `index`.
///
/// # Errors
/// `INVALID_VALUE` for numbers that are no attribute.
pub fn attribute(config: &DeviceConfig, index: usize, number: i32) -> Result<i32> {
    let row = usize::try_from(number).ok().and_then(|number| TABLE.get(number.checked_sub(1)?));
    let cut = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    Ok(match &row.ok_or(Status::INVALID_VALUE)?.1 {
        Fixed(value) => *value,
        Of(value) => cut(value(config)),
        Bus => cut(index as u32 + 1),
        Number => cut(index as u32),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_of_cuda_13_has_a_value() {
        let config = DeviceConfig::h200();
        for (at, (number, _)) in TABLE.iter().enumerate() {
            assert_eq!(*number, at as i32 + 1, "rows are found by their place");
        }
        for number in [i32::MIN, -1, 0, 148, i32::MAX] {
            assert_eq!(attribute(&config, 0, number), Err(Status::INVALID_VALUE));
        }
        for (number, value) in [
            (a::MULTIPROCESSOR_COUNT, 132),
            (a::COMPUTE_CAPABILITY_MAJOR, 9),
            (a::MAX_BLOCK_DIM_Z, 64),
            (a::MAX_GRID_DIM_X, i32::MAX),
            (a::MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10),
            (a::PCI_BUS_ID, 3),
        ] {
            assert_eq!(attribute(&config, 2, number), Ok(value), "{number}");
        }
    }
}
