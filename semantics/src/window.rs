//! The generic address space: where each state space lies in it.
//!
//! `.global`, `.const` and kernel parameter addresses are generic addresses as they are. Shared and
//! local addresses are offsets into their windows.

use std::ops::Range;

use ptx_frontend::FuncId;

/// Start of the shared window.
pub const SHARED: u64 = 0x7e00_0000_0000;
/// Bytes of the shared window.
pub const SHARED_SIZE: u64 = 1 << 32;
/// Log2 of the bytes that a block of a cluster has of the shared window: that of rank `r` begins at
/// `r << SHARED_RANK_SHIFT`. A block's own shared memory is also found at offset 0.
pub const SHARED_RANK_SHIFT: u32 = 24;
/// First offset in shared memory that a program may use: the system reserves 1 KiB on sm_90, whatever target
/// the program was written for.
pub const SHARED_START: u32 = 1024;
/// End of the part of it that is in use (`%reserved_smem_offset_end`).
pub const SHARED_RESERVED_END: u32 = 288;
/// Start of the local window.
pub const LOCAL: u64 = 0x7e80_0000_0000;
/// Bytes of the local window.
pub const LOCAL_SIZE: u64 = 1 << 32;
/// First offset in local memory that is used, so that offset 0 is a null pointer.
pub const LOCAL_START: u32 = 64;
/// Addresses of `.const` variables.
pub const CONST: Range<u64> = 0x7ea0_0000_0000..0x7ea1_0000_0000;
/// Start of the window of kernel parameters, which counts as global (ISA 9.7.9.18).
pub const PARAM: u64 = 0x7ec0_0000_0000;
/// Bytes of the window of kernel parameters.
pub const PARAM_SIZE: u64 = 1 << 16;
/// Addresses handed out for global memory, `.global` variables and the device heap.
pub const GLOBAL: Range<u64> = 0x7f00_0000_0000..0x7fff_0000_0000;
/// Addresses of functions: a code pointer is `CODE + 16 * (function + 1)`.
pub const CODE: u64 = 0x10_0000;

/// The state space that a generic address lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// Shared memory of this block or its cluster, with the offset.
    Shared(u64),
    /// Local memory, with the offset.
    Local(u64),
    /// Kernel parameters, with the offset.
    Param(u64),
    /// Global memory: every other address.
    Global,
}

/// Finds the window of a generic address.
#[inline(always)]
pub const fn of(address: u64) -> Window {
    if address.wrapping_sub(SHARED) < SHARED_SIZE {
        Window::Shared(address - SHARED)
    } else if address.wrapping_sub(LOCAL) < LOCAL_SIZE {
        Window::Local(address - LOCAL)
    } else if address.wrapping_sub(PARAM) < PARAM_SIZE {
        Window::Param(address - PARAM)
    } else {
        Window::Global
    }
}

/// The address by which kernels know a function.
pub const fn function_address(id: FuncId) -> u64 {
    CODE + 16 * (id.0 as u64 + 1)
}
