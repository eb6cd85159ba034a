//! The libraries as a program sees them: opened at run time, called by name.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod copies;
pub(crate) mod functions;
pub(crate) mod recorded;
pub(crate) mod script;

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Keeps the tests of a program apart: they share one context, where a capture in global mode
/// forbids other threads to allocate and waiting waits for everyone's work.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder with the libraries, beside the test.
pub(crate) fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("a test is in a folder").to_path_buf()
}

/// Opens a library for the whole process; later lookups of its name find it.
pub(crate) fn open(path: &Path) -> *mut c_void {
    let path = CString::new(path.display().to_string()).expect("no zero byte");
    // SAFETY: the libraries do nothing when they are opened.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        // SAFETY: after an error there is a message.
        let error = unsafe { CStr::from_ptr(libc::dlerror()) };
        panic!("{path:?}: {error:?}");
    }
    library
}

/// The driver library.
pub(crate) fn driver() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| open(&folder().join("libcuda.so.1")) as usize)
}

/// The runtime library of a version.
pub(crate) fn runtime(version: u32) -> usize {
    driver();
    open(&folder().join(format!("libcudart.so.{version}"))) as usize
}

/// The address of a function.
pub(crate) fn symbol(library: usize, name: &str) -> Option<usize> {
    let name = CString::new(name).expect("no zero byte");
    // SAFETY: the library is open.
    let address = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// A function with up to sixteen arguments in registers and on the stack.
type Function = unsafe extern "C" fn(
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
) -> u64;

/// Calls a function that takes integers and pointers.
///
/// # Safety
/// The arguments are what the function takes.
pub(crate) unsafe fn call_at(address: usize, arguments: &[u64]) -> u64 {
    let mut a = [0; 16];
    a[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: in the C calling convention further arguments do no harm; the rest is the caller's promise.
    unsafe {
        let function = std::mem::transmute::<usize, Function>(address);
        function(
            a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14],
            a[15],
        )
    }
}

/// Calls a function by name; its code.
pub(crate) fn call(library: usize, name: &str, arguments: &[u64]) -> u32 {
    let address = symbol(library, name).unwrap_or_else(|| panic!("{name} is not exported"));
    // SAFETY: callers give what the function needs.
    unsafe { call_at(address, arguments) as u32 }
}

/// The address of a value for the result of a call.
pub(crate) fn out<T>(value: &mut T) -> u64 {
    std::ptr::from_mut(value) as u64
}

/// The address of a value for a call.
pub(crate) fn at<T: ?Sized>(value: &T) -> u64 {
    std::ptr::from_ref(value).cast::<u8>() as u64
}

/// Kernels in PTX that the tests launch.
pub(crate) const PTX: &CStr = c"
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.visible .entry add(.param .u64 data, .param .u32 n, .param .u32 value)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [data];
    ld.param.u32 %r0, [n];
    ld.param.u32 %r5, [value];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    mul.wide.u32 %d1, %r4, 4;
    add.u64 %d2, %d0, %d1;
    ld.global.u32 %r6, [%d2];
    add.u32 %r6, %r6, %r5;
    st.global.u32 [%d2], %r6;
    ret;
}
.visible .entry nothing() { ret; }
.visible .entry count(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %d<1>;
    ld.param.u64 %d0, [to];
    atom.global.add.u32 %r0, [%d0], 1;
    ret;
}
";
