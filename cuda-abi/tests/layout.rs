//! Structures are as large as those of CUDA 13.0's headers, where a C compiler was asked.

use cuda_abi::{driver as d, runtime as r};

macro_rules! sizes {
    ($($ty:ty = $bytes:literal;)*) => {$(assert_eq!(size_of::<$ty>(), $bytes, stringify!($ty));)*};
}

#[test]
fn structures_have_the_sizes_of_the_headers() {
    sizes! {
        d::Memcpy2D = 128;
        d::Memcpy3D = 200;
        d::KernelNodeParams = 72;
        d::MemsetNodeParams = 40;
        d::HostNodeParams = 16;
        d::BatchMemOp = 48;
        d::BatchMemOpNodeParams = 32;
        d::MemAllocNodeParams = 120;
        d::GraphInstantiateParams = 32;
        d::CtxCreateParams = 24;
        d::LaunchConfig = 56;
        d::LaunchAttribute = 72;
        d::MemLocation = 8;
        d::MemAccessDesc = 12;
        d::MemAllocationProp = 32;
        d::MemPoolProps = 88;
        d::MemcpyAttributes = 24;
        d::Memcpy3DOperand = 40;
        d::Memcpy3DBatchOp = 112;
        d::Array3DDescriptor = 40;
        d::ArrayDescriptor = 24;
        d::DevResource = 144;
        r::Dim3 = 12;
        r::LaunchConfig = 56;
        r::KernelNodeParams = 56;
        r::FuncAttributes = 144;
        r::ChannelFormatDesc = 20;
        r::PitchedPtr = 32;
        r::Extent = 24;
        r::Memcpy3DParms = 160;
        r::Memcpy3DPeerParms = 168;
        // CUDA 13 reserves 64 bytes behind it.
        r::PointerAttributes = 24;
    }
    assert_eq!(std::mem::offset_of!(d::DevResource, multiprocessors), 96);
    assert_eq!(std::mem::offset_of!(d::MemPoolProps, most), 24);
}
