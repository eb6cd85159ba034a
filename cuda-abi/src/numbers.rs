//! Numbers of attributes, options and kinds, as the enumerations of `cuda.h` have them.
#![allow(missing_docs, reason = "the enumerations' own names")]

/// `CUmemorytype`
pub mod memory_type {
    pub const HOST: u32 = 1;
    pub const DEVICE: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const UNIFIED: u32 = 4;
}

/// `CUmemLocationType`
pub mod location {
    pub const INVALID: u32 = 0;
    pub const DEVICE: u32 = 1;
    pub const HOST: u32 = 2;
    pub const HOST_NUMA: u32 = 3;
    pub const HOST_NUMA_CURRENT: u32 = 4;
}

/// `CUmemAllocationType`
pub mod allocation {
    pub const PINNED: u32 = 1;
    pub const MANAGED: u32 = 2;
}

/// `CUmemAllocationHandleType`, a set of bits.
pub mod handle_type {
    pub const POSIX_FILE_DESCRIPTOR: u32 = 1;
    pub const WINDOWS: u32 = 2 | 4;
    pub const FABRIC: u32 = 8;
}

/// `CUmemAccess_flags`
pub mod access {
    pub const NONE: u32 = 0;
    pub const READ: u32 = 1;
    pub const READ_WRITE: u32 = 3;
}

/// `CUfunction_attribute`
pub mod function_attribute {
    pub const MAX_THREADS_PER_BLOCK: i32 = 0;
    pub const SHARED_SIZE_BYTES: i32 = 1;
    pub const CONST_SIZE_BYTES: i32 = 2;
    pub const LOCAL_SIZE_BYTES: i32 = 3;
    pub const NUM_REGS: i32 = 4;
    pub const PTX_VERSION: i32 = 5;
    pub const BINARY_VERSION: i32 = 6;
    pub const CACHE_MODE_CA: i32 = 7;
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: i32 = 9;
    pub const CLUSTER_SIZE_MUST_BE_SET: i32 = 10;
    pub const REQUIRED_CLUSTER_WIDTH: i32 = 11;
    pub const REQUIRED_CLUSTER_HEIGHT: i32 = 12;
    pub const REQUIRED_CLUSTER_DEPTH: i32 = 13;
    pub const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: i32 = 14;
    pub const CLUSTER_SCHEDULING_POLICY_PREFERENCE: i32 = 15;
}

/// `CUlaunchAttributeID`
pub mod launch_attribute {
    pub const IGNORE: u32 = 0;
    pub const ACCESS_POLICY_WINDOW: u32 = 1;
    pub const COOPERATIVE: u32 = 2;
    pub const SYNCHRONIZATION_POLICY: u32 = 3;
    pub const CLUSTER_DIMENSION: u32 = 4;
    pub const CLUSTER_SCHEDULING_POLICY_PREFERENCE: u32 = 5;
    pub const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;
    pub const PROGRAMMATIC_EVENT: u32 = 7;
    pub const PRIORITY: u32 = 8;
    pub const MEM_SYNC_DOMAIN_MAP: u32 = 9;
    pub const MEM_SYNC_DOMAIN: u32 = 10;
    pub const PREFERRED_CLUSTER_DIMENSION: u32 = 11;
    pub const LAUNCH_COMPLETION_EVENT: u32 = 12;
    pub const DEVICE_UPDATABLE_KERNEL_NODE: u32 = 13;
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: u32 = 14;
    pub const NVLINK_UTIL_CENTRIC_SCHEDULING: u32 = 16;
}

/// `CUjit_option`
pub mod jit_option {
    pub const MAX_REGISTERS: u32 = 0;
    pub const INFO_LOG_BUFFER: u32 = 3;
    pub const INFO_LOG_BUFFER_SIZE_BYTES: u32 = 4;
    pub const ERROR_LOG_BUFFER: u32 = 5;
    pub const ERROR_LOG_BUFFER_SIZE_BYTES: u32 = 6;
    pub const OPTIMIZATION_LEVEL: u32 = 7;
}

/// `CUjitInputType`
pub mod jit_input {
    pub const CUBIN: u32 = 0;
    pub const PTX: u32 = 1;
    pub const FATBINARY: u32 = 2;
}

/// `CUdevResourceType`
pub mod resource {
    pub const SM: u32 = 1;
}

/// `CUdevice_attribute`
pub mod device_attribute {
    pub const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub const MAX_BLOCK_DIM_X: i32 = 2;
    pub const MAX_BLOCK_DIM_Y: i32 = 3;
    pub const MAX_BLOCK_DIM_Z: i32 = 4;
    pub const MAX_GRID_DIM_X: i32 = 5;
    pub const MAX_GRID_DIM_Y: i32 = 6;
    pub const MAX_GRID_DIM_Z: i32 = 7;
    pub const MAX_SHARED_MEMORY_PER_BLOCK: i32 = 8;
    pub const TOTAL_CONSTANT_MEMORY: i32 = 9;
    pub const WARP_SIZE: i32 = 10;
    pub const MAX_PITCH: i32 = 11;
    pub const MAX_REGISTERS_PER_BLOCK: i32 = 12;
    pub const CLOCK_RATE: i32 = 13;
    pub const TEXTURE_ALIGNMENT: i32 = 14;
    pub const GPU_OVERLAP: i32 = 15;
    pub const MULTIPROCESSOR_COUNT: i32 = 16;
    pub const KERNEL_EXEC_TIMEOUT: i32 = 17;
    pub const INTEGRATED: i32 = 18;
    pub const CAN_MAP_HOST_MEMORY: i32 = 19;
    pub const COMPUTE_MODE: i32 = 20;
    pub const MAXIMUM_TEXTURE1D_WIDTH: i32 = 21;
    pub const MAXIMUM_TEXTURE2D_WIDTH: i32 = 22;
    pub const MAXIMUM_TEXTURE2D_HEIGHT: i32 = 23;
    pub const MAXIMUM_TEXTURE3D_WIDTH: i32 = 24;
    pub const MAXIMUM_TEXTURE3D_HEIGHT: i32 = 25;
    pub const MAXIMUM_TEXTURE3D_DEPTH: i32 = 26;
    pub const MAXIMUM_TEXTURE2D_LAYERED_WIDTH: i32 = 27;
    pub const MAXIMUM_TEXTURE2D_LAYERED_HEIGHT: i32 = 28;
    pub const MAXIMUM_TEXTURE2D_LAYERED_LAYERS: i32 = 29;
    pub const SURFACE_ALIGNMENT: i32 = 30;
    pub const CONCURRENT_KERNELS: i32 = 31;
    pub const ECC_ENABLED: i32 = 32;
    pub const PCI_BUS_ID: i32 = 33;
    pub const PCI_DEVICE_ID: i32 = 34;
    pub const TCC_DRIVER: i32 = 35;
    pub const MEMORY_CLOCK_RATE: i32 = 36;
    pub const GLOBAL_MEMORY_BUS_WIDTH: i32 = 37;
    pub const L2_CACHE_SIZE: i32 = 38;
    pub const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 39;
    pub const ASYNC_ENGINE_COUNT: i32 = 40;
    pub const UNIFIED_ADDRESSING: i32 = 41;
    pub const MAXIMUM_TEXTURE1D_LAYERED_WIDTH: i32 = 42;
    pub const MAXIMUM_TEXTURE1D_LAYERED_LAYERS: i32 = 43;
    pub const CAN_TEX2D_GATHER: i32 = 44;
    pub const MAXIMUM_TEXTURE2D_GATHER_WIDTH: i32 = 45;
    pub const MAXIMUM_TEXTURE2D_GATHER_HEIGHT: i32 = 46;
    pub const MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE: i32 = 47;
    pub const MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE: i32 = 48;
    pub const MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE: i32 = 49;
    pub const PCI_DOMAIN_ID: i32 = 50;
    pub const TEXTURE_PITCH_ALIGNMENT: i32 = 51;
    pub const MAXIMUM_TEXTURECUBEMAP_WIDTH: i32 = 52;
    pub const MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH: i32 = 53;
    pub const MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS: i32 = 54;
    pub const MAXIMUM_SURFACE1D_WIDTH: i32 = 55;
    pub const MAXIMUM_SURFACE2D_WIDTH: i32 = 56;
    pub const MAXIMUM_SURFACE2D_HEIGHT: i32 = 57;
    pub const MAXIMUM_SURFACE3D_WIDTH: i32 = 58;
    pub const MAXIMUM_SURFACE3D_HEIGHT: i32 = 59;
    pub const MAXIMUM_SURFACE3D_DEPTH: i32 = 60;
    pub const MAXIMUM_SURFACE1D_LAYERED_WIDTH: i32 = 61;
    pub const MAXIMUM_SURFACE1D_LAYERED_LAYERS: i32 = 62;
    pub const MAXIMUM_SURFACE2D_LAYERED_WIDTH: i32 = 63;
    pub const MAXIMUM_SURFACE2D_LAYERED_HEIGHT: i32 = 64;
    pub const MAXIMUM_SURFACE2D_LAYERED_LAYERS: i32 = 65;
    pub const MAXIMUM_SURFACECUBEMAP_WIDTH: i32 = 66;
    pub const MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH: i32 = 67;
    pub const MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS: i32 = 68;
    pub const MAXIMUM_TEXTURE1D_LINEAR_WIDTH: i32 = 69;
    pub const MAXIMUM_TEXTURE2D_LINEAR_WIDTH: i32 = 70;
    pub const MAXIMUM_TEXTURE2D_LINEAR_HEIGHT: i32 = 71;
    pub const MAXIMUM_TEXTURE2D_LINEAR_PITCH: i32 = 72;
    pub const MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH: i32 = 73;
    pub const MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT: i32 = 74;
    pub const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub const MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH: i32 = 77;
    pub const STREAM_PRIORITIES_SUPPORTED: i32 = 78;
    pub const GLOBAL_L1_CACHE_SUPPORTED: i32 = 79;
    pub const LOCAL_L1_CACHE_SUPPORTED: i32 = 80;
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: i32 = 81;
    pub const MAX_REGISTERS_PER_MULTIPROCESSOR: i32 = 82;
    pub const MANAGED_MEMORY: i32 = 83;
    pub const MULTI_GPU_BOARD: i32 = 84;
    pub const MULTI_GPU_BOARD_GROUP_ID: i32 = 85;
    pub const HOST_NATIVE_ATOMIC_SUPPORTED: i32 = 86;
    pub const SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: i32 = 87;
    pub const PAGEABLE_MEMORY_ACCESS: i32 = 88;
    pub const CONCURRENT_MANAGED_ACCESS: i32 = 89;
    pub const COMPUTE_PREEMPTION_SUPPORTED: i32 = 90;
    pub const CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: i32 = 91;
    pub const CAN_USE_STREAM_MEM_OPS_V1: i32 = 92;
    pub const CAN_USE_64_BIT_STREAM_MEM_OPS_V1: i32 = 93;
    pub const CAN_USE_STREAM_WAIT_VALUE_NOR_V1: i32 = 94;
    pub const COOPERATIVE_LAUNCH: i32 = 95;
    pub const COOPERATIVE_MULTI_DEVICE_LAUNCH: i32 = 96;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: i32 = 97;
    pub const CAN_FLUSH_REMOTE_WRITES: i32 = 98;
    pub const HOST_REGISTER_SUPPORTED: i32 = 99;
    pub const PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: i32 = 100;
    pub const DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: i32 = 101;
    pub const VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: i32 = 102;
    pub const HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: i32 = 103;
    pub const HANDLE_TYPE_WIN32_HANDLE_SUPPORTED: i32 = 104;
    pub const HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED: i32 = 105;
    pub const MAX_BLOCKS_PER_MULTIPROCESSOR: i32 = 106;
    pub const GENERIC_COMPRESSION_SUPPORTED: i32 = 107;
    pub const MAX_PERSISTING_L2_CACHE_SIZE: i32 = 108;
    pub const MAX_ACCESS_POLICY_WINDOW_SIZE: i32 = 109;
    pub const GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: i32 = 110;
    pub const RESERVED_SHARED_MEMORY_PER_BLOCK: i32 = 111;
    pub const SPARSE_CUDA_ARRAY_SUPPORTED: i32 = 112;
    pub const READ_ONLY_HOST_REGISTER_SUPPORTED: i32 = 113;
    pub const TIMELINE_SEMAPHORE_INTEROP_SUPPORTED: i32 = 114;
    pub const MEMORY_POOLS_SUPPORTED: i32 = 115;
    pub const GPU_DIRECT_RDMA_SUPPORTED: i32 = 116;
    pub const GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: i32 = 117;
    pub const GPU_DIRECT_RDMA_WRITES_ORDERING: i32 = 118;
    pub const MEMPOOL_SUPPORTED_HANDLE_TYPES: i32 = 119;
    pub const CLUSTER_LAUNCH: i32 = 120;
    pub const DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED: i32 = 121;
    pub const CAN_USE_64_BIT_STREAM_MEM_OPS: i32 = 122;
    pub const CAN_USE_STREAM_WAIT_VALUE_NOR: i32 = 123;
    pub const DMA_BUF_SUPPORTED: i32 = 124;
    pub const IPC_EVENT_SUPPORTED: i32 = 125;
    pub const MEM_SYNC_DOMAIN_COUNT: i32 = 126;
    pub const TENSOR_MAP_ACCESS_SUPPORTED: i32 = 127;
    pub const HANDLE_TYPE_FABRIC_SUPPORTED: i32 = 128;
    pub const UNIFIED_FUNCTION_POINTERS: i32 = 129;
    pub const NUMA_CONFIG: i32 = 130;
    pub const NUMA_ID: i32 = 131;
    pub const MULTICAST_SUPPORTED: i32 = 132;
    pub const MPS_ENABLED: i32 = 133;
    pub const HOST_NUMA_ID: i32 = 134;
    pub const D3D12_CIG_SUPPORTED: i32 = 135;
    pub const MEM_DECOMPRESS_ALGORITHM_MASK: i32 = 136;
    pub const MEM_DECOMPRESS_MAXIMUM_LENGTH: i32 = 137;
    pub const VULKAN_CIG_SUPPORTED: i32 = 138;
    pub const GPU_PCI_DEVICE_ID: i32 = 139;
    pub const GPU_PCI_SUBSYSTEM_ID: i32 = 140;
    pub const HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: i32 = 141;
    pub const HOST_NUMA_MEMORY_POOLS_SUPPORTED: i32 = 142;
    pub const HOST_NUMA_MULTINODE_IPC_SUPPORTED: i32 = 143;
    pub const HOST_MEMORY_POOLS_SUPPORTED: i32 = 144;
    pub const HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: i32 = 145;
    pub const HOST_ALLOC_DMA_BUF_SUPPORTED: i32 = 146;
    pub const ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED: i32 = 147;
}
