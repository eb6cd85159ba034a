//! Libraries that the program loads, and their kernels.

use std::ffi::{c_char, c_void};

use crate::driver::library as driver;
use crate::ffi::Handle;

rt_as_driver! {
    cudaLibraryLoadData = driver::cuLibraryLoadData,
        (library: *mut Handle, image: *const c_void, options: *const u32, values: *const u64, count: u32,
         library_options: *const u32, library_values: *const u64, library_count: u32);
    cudaLibraryLoadFromFile = driver::cuLibraryLoadFromFile,
        (library: *mut Handle, path: *const c_char, options: *const u32, values: *const u64, count: u32,
         library_options: *const u32, library_values: *const u64, library_count: u32);
    cudaLibraryUnload = driver::cuLibraryUnload, (library: Handle);
    cudaLibraryGetKernel = driver::cuLibraryGetKernel, (kernel: *mut Handle, library: Handle, name: *const c_char);
    cudaLibraryGetKernelCount = driver::cuLibraryGetKernelCount, (count: *mut u32, library: Handle);
    cudaLibraryEnumerateKernels = driver::cuLibraryEnumerateKernels, (kernels: *mut Handle, count: u32, library: Handle);
    cudaLibraryGetGlobal = driver::cuLibraryGetGlobal,
        (address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char);
    cudaLibraryGetManaged = driver::cuLibraryGetManaged,
        (address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char);
    cudaLibraryGetUnifiedFunction = driver::cuLibraryGetUnifiedFunction,
        (to: *mut Handle, library: Handle, symbol: *const c_char);
}

rt! {
    fn cudaKernelSetAttributeForDevice(kernel: Handle, number: i32, value: i32, device: i32) {
        crate::cudart::context::ensure()?;
        crate::cudart::error::of(driver::cuKernelSetAttribute(number, value, kernel, device))
    }
}
