//! A stand-in for the CUDA driver whose device does nothing, to test what is said of drivers and devices that go wrong.
//!
//! `hardware.rs` compiles it as a dynamic library for each `--cfg` below. Memory is the host's; kernels complete without
//! running, or fault.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// What every call returns after a fault.
static BROKEN: AtomicU32 = AtomicU32::new(0);
/// How much the compiler was told to optimise, and how often something was launched.
static LEVEL: AtomicU32 = AtomicU32::new(4);
static LAUNCHES: AtomicU32 = AtomicU32::new(0);

fn result() -> u32 {
    BROKEN.load(Ordering::SeqCst)
}

#[cfg(dropin)]
#[unsafe(no_mangle)]
pub static warpgrind_dropin: u32 = 1;

#[unsafe(no_mangle)]
pub extern "system" fn cuInit(_: c_uint) -> u32 {
    if cfg!(no_device) { 100 } else { 0 }
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    unsafe { *version = 12040 };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuGetErrorName(code: u32, text: *mut *const c_char) -> u32 {
    let name = match code {
        2 => c"CUDA_ERROR_OUT_OF_MEMORY",
        100 => c"CUDA_ERROR_NO_DEVICE",
        218 => c"CUDA_ERROR_INVALID_PTX",
        222 => c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        700 => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        _ => c"CUDA_ERROR_OTHER",
    };
    unsafe { *text = name.as_ptr() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuGetErrorString(_: u32, text: *mut *const c_char) -> u32 {
    unsafe { *text = c"what the driver says of it".as_ptr() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuDeviceGetCount(count: *mut c_int) -> u32 {
    unsafe { *count = 1 };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuDeviceGet(device: *mut c_int, _: c_int) -> u32 {
    unsafe { *device = 0 };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuDeviceGetName(name: *mut c_char, _: c_int, _: c_int) -> u32 {
    let text = c"Idle Device";
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), name, text.count_bytes() + 1) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> u32 {
    unsafe { *bytes = 8 << 30 };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, _: c_int) -> u32 {
    let answer = match which {
        16 => 10,
        75 => if cfg!(old_device) { 7 } else { 9 },
        76 => 0,
        _ => 49152,
    };
    unsafe { *value = answer };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuCtxCreate_v2(context: *mut *mut c_void, _: c_uint, _: c_int) -> u32 {
    unsafe { *context = std::ptr::without_provenance_mut(1) };
    result()
}

macro_rules! does_nothing {
    ($($name:ident($($ty:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "system" fn $name($(_: $ty),*) -> u32 {
                result()
            }
        )*
    };
}

does_nothing! {
    cuCtxDestroy_v2(*mut c_void);
    cuCtxSetCurrent(*mut c_void);
    cuCtxSynchronize();
    cuCtxSetLimit(c_uint, usize);
    cuStreamQuery(*mut c_void);
    cuMemUnmap(u64, usize);
    cuMemRelease(u64);
    cuMemMap(u64, usize, usize, u64, u64);
    cuMemSetAccess(u64, usize, *const c_void, usize);
    cuModuleUnload(*mut c_void);
    cuFuncSetAttribute(*mut c_void, c_int, c_int);
    cuLinkCreate_v2(c_uint, *mut c_uint, *mut *mut c_void, *mut *mut c_void);
    cuLinkAddData_v2(*mut c_void, c_int, *mut c_void, usize, *const c_char, c_uint, *mut c_uint, *mut *mut c_void);
    cuLinkComplete(*mut c_void, *mut *mut c_void, *mut usize);
    cuLinkDestroy(*mut c_void);
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32 {
    unsafe { (*free, *total) = (100, 8 << 30) };
    result()
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> u32 {
    unsafe { *pointer = Vec::<u64>::with_capacity(bytes / 8 + 1).leak().as_mut_ptr() as u64 };
    if cfg!(no_memory) { 2 } else { result() }
}

#[unsafe(no_mangle)]
pub extern "system" fn cuMemFree_v2(_: u64) -> u32 {
    result()
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> u32 {
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to as *mut u8, bytes) };
    result()
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> u32 {
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.cast::<u8>(), bytes) };
    let launches = LAUNCHES.load(Ordering::SeqCst);
    let wrong = cfg!(optimises) && LEVEL.load(Ordering::SeqCst) > 0 || cfg!(always_wrong);
    if bytes > 0 && launches > 0 && (wrong || cfg!(restless)) {
        unsafe { *to.cast::<u8>() ^= if wrong { 1 } else { launches as u8 } };
    }
    result()
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> u32 {
    unsafe { std::ptr::write_bytes(to as *mut u8, value, count) };
    result()
}

does_nothing! {
    cuMemsetD16_v2(u64, u16, usize);
    cuMemsetD32_v2(u64, c_uint, usize);
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemGetAllocationGranularity(bytes: *mut usize, _: *const c_void, _: c_int) -> u32 {
    unsafe { *bytes = 4096 };
    result()
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemAddressReserve(pointer: *mut u64, bytes: usize, _: usize, _: u64, _: u64) -> u32 {
    unsafe { *pointer = Vec::<u64>::with_capacity(bytes / 8).leak().as_mut_ptr() as u64 };
    result()
}

#[unsafe(no_mangle)]
pub extern "system" fn cuMemAddressFree(_: u64, _: usize) -> u32 {
    result()
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuMemCreate(handle: *mut u64, _: usize, _: *const c_void, _: u64) -> u32 {
    unsafe { *handle = 1 };
    if cfg!(no_memory) { 2 } else { result() }
}

/// Options 5 and 6 are the buffer of the compiler's log and its size; 7 is the level of optimisation.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    _: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> u32 {
    for at in 0..count as usize {
        if unsafe { *options.add(at) } == 7 {
            LEVEL.store(unsafe { *values.add(at) } as usize as u32, Ordering::SeqCst);
        }
    }
    let say = |text: &std::ffi::CStr| unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), (*values).cast::<c_char>(), text.count_bytes() + 1);
    };
    unsafe { *module = std::ptr::without_provenance_mut(1) };
    if cfg!(old_ptx) {
        say(c"ptxas application ptx input, line 1; fatal : Unsupported .version 9.0");
        return 222;
    }
    if cfg!(refuses) {
        say(c"ptxas application ptx input, line 7; error : no");
        return 218;
    }
    result()
}

#[unsafe(no_mangle)]
pub extern "system" fn cuModuleGetGlobal_v2(_: *mut u64, _: *mut usize, _: *mut c_void, _: *const c_char) -> u32 {
    500
}

#[unsafe(no_mangle)]
pub unsafe extern "system" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    _: *mut c_void,
    _: *const c_char,
) -> u32 {
    unsafe { *function = std::ptr::without_provenance_mut(1) };
    result()
}

#[unsafe(no_mangle)]
pub extern "system" fn cuTensorMapEncodeTiled() -> u32 {
    1
}

#[unsafe(no_mangle)]
pub extern "system" fn cuTensorMapEncodeIm2col() -> u32 {
    1
}

#[cfg(not(old))]
#[unsafe(no_mangle)]
pub extern "system" fn cuLaunchKernelEx(
    _: *const c_void,
    _: *mut c_void,
    _: *mut *mut c_void,
    _: *mut *mut c_void,
) -> u32 {
    if cfg!(dies) {
        std::process::exit(3);
    }
    LAUNCHES.fetch_add(1, Ordering::SeqCst);
    if cfg!(faults) {
        BROKEN.store(700, Ordering::SeqCst);
    }
    0
}
