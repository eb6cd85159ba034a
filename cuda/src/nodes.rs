//! The files in `/dev` that programs look for before they ask a driver: to them there is one for each device, and none of a
//! real one.
//!
//! Only questions whether and what a file is are answered, as for `/dev/null` or for no file: `libwarpgrind_files.so`, which is loaded before
//! the program, jumps here from the C library's functions for that. Nobody can open them, as no driver is behind them.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::settings::Settings;

/// Where there is no file.
const NONE: &CStr = c"/dev/nvidia-none";

/// The path that answers for that of a node, on a machine with so many devices; `None` for other paths.
fn answer(path: &[u8], devices: impl FnOnce() -> usize) -> Option<&'static CStr> {
    let name = path.strip_prefix(b"/dev/nvidia")?;
    let is_there = match name {
        b"ctl" | b"-uvm" => true,
        _ => {
            let digits = std::str::from_utf8(name).ok().filter(|text| !text.starts_with('+'));
            digits?.parse::<usize>().ok()? < devices()
        }
    };
    Some(if is_there { c"/dev/null" } else { NONE })
}

/// The path to ask the C library about.
///
/// # Safety
/// `path` is null or a text.
unsafe fn instead(path: u64) -> u64 {
    if path == 0 {
        return path;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(path as *const c_char) };
    let other = answer(text.to_bytes(), || Settings::of_process().devices);
    other.map_or(path, |other| other.as_ptr() as u64)
}

/// A function with up to five arguments in registers.
type Function = unsafe extern "C" fn(u64, u64, u64, u64, u64) -> c_int;

/// The C library's own function. It is behind this library in the order in which the program's are searched, so that its name is not
/// enough.
fn real(name: &CStr, known: &AtomicUsize) -> Option<Function> {
    let mut address = known.load(Relaxed);
    if address == 0 {
        // SAFETY: the C library is loaded, and a name is given.
        address = unsafe {
            let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                return None;
            }
            libc::dlsym(library, name.as_ptr()) as usize
        };
        known.store(address, Relaxed);
    }
    // SAFETY: the functions below take as many arguments or fewer, none of them a float.
    (address != 0).then(|| unsafe { std::mem::transmute::<usize, Function>(address) })
}

/// Asks the C library.
///
/// # Safety
/// The arguments are those of the function; that of number `path` is null or a text.
unsafe fn ask(name: &CStr, known: &AtomicUsize, mut arguments: [u64; 5], path: usize) -> c_int {
    let Some(function) = real(name, known) else {
        // SAFETY: the place is the thread's own.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
        return -1;
    };
    // SAFETY: the caller's promise.
    unsafe {
        arguments[path] = instead(arguments[path]);
        let [a, b, c, d, e] = arguments;
        function(a, b, c, d, e)
    }
}

/// Functions by the number of the argument that is the path.
macro_rules! asks {
    ($($name:ident $path:literal)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($name)))]
        unsafe extern "C" fn $name(a: u64, b: u64, c: u64, d: u64, e: u64) -> c_int {
            static KNOWN: AtomicUsize = AtomicUsize::new(0);
            let name = const {
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without zero bytes"),
                }
            };
            // SAFETY: the program called the function of this name with these arguments.
            unsafe { ask(name, &KNOWN, [a, b, c, d, e], $path) }
        }
    )*};
}

asks! {
    access 0
    faccessat 1
    stat 0
    stat64 0
    lstat 0
    lstat64 0
    fstatat 1
    fstatat64 1
    __xstat 1
    __xstat64 1
    __lxstat 1
    __lxstat64 1
    __fxstatat 2
    __fxstatat64 2
    statx 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_node_a_device() {
        let of_two = |path: &str| answer(path.as_bytes(), || 2);
        for path in ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"] {
            assert_eq!(of_two(path), Some(c"/dev/null"), "{path}");
        }
        assert_eq!(of_two("/dev/nvidia2"), Some(NONE));
        for path in ["/dev/nvidia", "/dev/nvidia+1", "/dev/nvidia0/x", "dev/nvidia0", "/dev/null", ""] {
            assert_eq!(of_two(path), None, "{path}");
        }
    }
}
