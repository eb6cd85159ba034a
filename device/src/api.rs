//! The functions of the driver that are used, loaded by name.
//!
//! Names with a version suffix are the ones that `cuda.h` maps the plain names to; NVIDIA keeps them for good.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use cuda_abi::driver::{LaunchConfig, MemAccessDesc, MemAllocationProp};
use cuda_abi::{Handle, Status};
use libloading::Library;

use crate::error::CallError;

/// `CUdevice`.
pub(crate) type RawDevice = c_int;
/// `CUdeviceptr`.
pub(crate) type Pointer = cuda_abi::Address;
/// `cuGetErrorName`, `cuGetErrorString`.
type ErrorText = unsafe extern "system" fn(u32, *mut *const c_char) -> u32;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($arg:ident: $ty:ty),*);)*) => {
        /// The driver's functions.
        pub(crate) struct Api {
            /// Never closed: the driver has threads of its own, which outlive every context.
            _library: ManuallyDrop<Library>,
            error_name: ErrorText,
            error_text: ErrorText,
            $($name: unsafe extern "system" fn($($ty),*) -> u32,)*
        }

        impl Api {
            /// Loads the functions; the error is the name of one that is missing.
            ///
            /// # Safety
            /// The library is a CUDA driver: its functions have the types of `cuda.h`.
            unsafe fn load(library: Library) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the caller vouches for the type; the pointer is used only while the library,
                    // which is never closed, is there.
                    let $name = unsafe {
                        library.get::<unsafe extern "system" fn($($ty),*) -> u32>($symbol)
                    };
                    let $name = *$name.map_err(|_| $symbol)?;
                )*
                let text = |symbol: &'static str| {
                    // SAFETY: as above.
                    unsafe { library.get::<ErrorText>(symbol) }.map(|function| *function).map_err(|_| symbol)
                };
                let error_name = text("cuGetErrorName")?;
                let error_text = text("cuGetErrorString")?;
                Ok(Self { _library: ManuallyDrop::new(library), error_name, error_text, $($name),* })
            }

            $(
                /// Calls the function of this name; a code other than success is an error.
                ///
                /// # Safety
                /// The arguments are what `cuda.h` asks for.
                pub(crate) unsafe fn $name(&self, $($arg: $ty),*) -> Result<(), CallError> {
                    // SAFETY: the caller vouches for the arguments.
                    let code = unsafe { (self.$name)($($arg),*) };
                    self.checked($symbol, Status(code))
                }
            )*
        }
    };
}

functions! {
    init = "cuInit" (flags: c_uint);
    driver_version = "cuDriverGetVersion" (version: *mut c_int);
    device_count = "cuDeviceGetCount" (count: *mut c_int);
    device_get = "cuDeviceGet" (device: *mut RawDevice, ordinal: c_int);
    device_name = "cuDeviceGetName" (name: *mut c_char, size: c_int, device: RawDevice);
    device_total = "cuDeviceTotalMem_v2" (bytes: *mut usize, device: RawDevice);
    device_attribute = "cuDeviceGetAttribute" (value: *mut c_int, attribute: c_int, device: RawDevice);
    ctx_create = "cuCtxCreate_v2" (context: *mut Handle, flags: c_uint, device: RawDevice);
    ctx_destroy = "cuCtxDestroy_v2" (context: Handle);
    ctx_set_current = "cuCtxSetCurrent" (context: Handle);
    ctx_synchronize = "cuCtxSynchronize" ();
    ctx_set_limit = "cuCtxSetLimit" (limit: c_uint, value: usize);
    stream_query = "cuStreamQuery" (stream: Handle);
    mem_info = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize);
    mem_alloc = "cuMemAlloc_v2" (pointer: *mut Pointer, bytes: usize);
    mem_free = "cuMemFree_v2" (pointer: Pointer);
    copy_to_device = "cuMemcpyHtoD_v2" (to: Pointer, from: *const c_void, bytes: usize);
    copy_to_host = "cuMemcpyDtoH_v2" (to: *mut c_void, from: Pointer, bytes: usize);
    fill_8 = "cuMemsetD8_v2" (to: Pointer, value: u8, count: usize);
    fill_16 = "cuMemsetD16_v2" (to: Pointer, value: u16, count: usize);
    fill_32 = "cuMemsetD32_v2" (to: Pointer, value: c_uint, count: usize);
    granularity = "cuMemGetAllocationGranularity" (bytes: *mut usize, prop: *const MemAllocationProp, option: c_int);
    reserve = "cuMemAddressReserve" (pointer: *mut Pointer, bytes: usize, align: usize, at: Pointer, flags: u64);
    unreserve = "cuMemAddressFree" (pointer: Pointer, bytes: usize);
    mem_create = "cuMemCreate" (handle: *mut u64, bytes: usize, prop: *const MemAllocationProp, flags: u64);
    mem_release = "cuMemRelease" (handle: u64);
    mem_map = "cuMemMap" (pointer: Pointer, bytes: usize, offset: usize, handle: u64, flags: u64);
    mem_unmap = "cuMemUnmap" (pointer: Pointer, bytes: usize);
    mem_access = "cuMemSetAccess" (pointer: Pointer, bytes: usize, access: *const MemAccessDesc, count: usize);
    module_load = "cuModuleLoadDataEx" (module: *mut Handle, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void);
    module_unload = "cuModuleUnload" (module: Handle);
    module_global = "cuModuleGetGlobal_v2" (pointer: *mut Pointer, bytes: *mut usize, module: Handle, name: *const c_char);
    module_function = "cuModuleGetFunction" (function: *mut Handle, module: Handle, name: *const c_char);
    function_set = "cuFuncSetAttribute" (function: Handle, attribute: c_int, value: c_int);
    link_create = "cuLinkCreate_v2" (count: c_uint, options: *mut c_uint, values: *mut *mut c_void, state: *mut Handle);
    link_add = "cuLinkAddData_v2" (state: Handle, kind: c_uint, data: *mut c_void, size: usize, name: *const c_char, count: c_uint, options: *mut c_uint, values: *mut *mut c_void);
    link_complete = "cuLinkComplete" (state: Handle, image: *mut *mut c_void, size: *mut usize);
    link_destroy = "cuLinkDestroy" (state: Handle);
    map_tiled = "cuTensorMapEncodeTiled" (map: *mut c_void, element: c_uint, rank: c_uint, address: *mut c_void, extents: *const u64, strides: *const u64, tile: *const c_uint, steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint);
    map_im2col = "cuTensorMapEncodeIm2col" (map: *mut c_void, element: c_uint, rank: c_uint, address: *mut c_void, extents: *const u64, strides: *const u64, lower: *const c_int, upper: *const c_int, channels: c_uint, pixels: c_uint, steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint);
    launch = "cuLaunchKernelEx" (config: *const LaunchConfig, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void);
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// Why a library is no driver.
pub(crate) enum Refusal {
    /// It cannot be opened; the loader's words.
    NotThere(String),
    /// It is our own replacement.
    DropIn,
    /// It lacks this function.
    Lacks(&'static str),
}

impl Api {
    /// Opens the library at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Refusal> {
        // SAFETY: a library's initialisers run when it is opened. That of a CUDA driver asks nothing of its
        // user; that another library is named as the driver is the responsibility of who names it.
        let library = unsafe { Library::new(path) }.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            Refusal::NotThere(cause.unwrap_or_else(|| error.to_string()))
        })?;
        // SAFETY: the symbol is looked up only; what it points to is not used.
        if unsafe { library.get::<*const c_void>("warpgrind_dropin") }.is_ok() {
            return Err(Refusal::DropIn);
        }
        // SAFETY: it calls itself CUDA's driver; a library that has all of the functions' names has their types.
        unsafe { Self::load(library) }.map_err(Refusal::Lacks)
    }

    fn checked(&self, function: &'static str, code: Status) -> Result<(), CallError> {
        if code == Status::SUCCESS {
            return Ok(());
        }
        let words = |get: ErrorText| {
            let mut text = std::ptr::null();
            // SAFETY: the function writes a pointer to a text that lives as long as the library, or null.
            unsafe {
                let found = get(code.0, &mut text) == 0 && !text.is_null();
                found.then(|| std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        Err(CallError {
            function: function.into(),
            code,
            name: words(self.error_name).unwrap_or_else(|| "unknown code".into()),
            text: words(self.error_text).unwrap_or_else(|| "no description".into()),
        })
    }
}
