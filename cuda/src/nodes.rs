//! The files that programs look for before they ask a driver. To them there is one in `/dev` for each device, and none of a real one,
//! and `/proc/driver/nvidia/version` says which driver there is.
//!
//! `libwarpgrind_files.so`, which is loaded before the program, jumps here from functions of the C library. Of files in `/dev` only
//! questions whether and what they are are answered, as for `/dev/null` or for no file: nobody can open them, as no driver is
//! behind them. That of the version is read as any file.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::memory_file::file_in_memory;
use crate::nvml::DRIVER_VERSION;
use crate::settings::Settings;

/// Where there is no file.
const NONE: &CStr = c"/dev/nvidia-none";

const VERSION: &[u8] = b"/proc/driver/nvidia/version";

/// What answers for a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// The file of another path.
    Of(&'static CStr),
    /// The text of the driver's version.
    Version,
}

/// What answers for a path on a machine with so many devices; `None` for paths of others.
fn answer(path: &[u8], devices: impl FnOnce() -> usize) -> Option<Answer> {
    match path {
        VERSION => return Some(Answer::Version),
        b"/proc/driver/nvidia" => return Some(Answer::Of(c"/proc")),
        _ => {}
    }
    let name = path.strip_prefix(b"/dev/nvidia")?;
    let is_there = match name {
        b"ctl" | b"-uvm" => true,
        _ => {
            let digits = std::str::from_utf8(name).ok().filter(|text| !text.starts_with('+'));
            digits?.parse::<usize>().ok()? < devices()
        }
    };
    Some(Answer::Of(if is_there { c"/dev/null" } else { NONE }))
}

/// A file that is nowhere but in memory, with the driver's version in the words of NVIDIA's.
fn version() -> std::io::Result<File> {
    let mut file = file_in_memory("version", 0)?;
    let module = format!("NVIDIA UNIX {} Kernel Module  {DRIVER_VERSION}", std::env::consts::ARCH);
    writeln!(file, "NVRM version: {module}  simulated by Warpgrind")?;
    Ok(file)
}

/// Calls a function with the path that answers for one.
///
/// # Safety
/// `path` is null or a text.
unsafe fn instead<R>(path: u64, function: impl FnOnce(u64) -> R) -> R {
    if path == 0 {
        return function(path);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(path as *const c_char) };
    match answer(text.to_bytes(), || Settings::of_process().devices) {
        None => function(path),
        Some(Answer::Of(other)) => function(other.as_ptr() as u64),
        Some(Answer::Version) => {
            let file = version().ok();
            let path = file.as_ref().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
            let path = path.and_then(|path| CString::new(path).ok());
            function(path.as_deref().unwrap_or(NONE).as_ptr() as u64)
        }
    }
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
unsafe fn ask(name: &CStr, known: &AtomicUsize, arguments: [u64; 5], path: usize) -> c_int {
    let Some(function) = real(name, known) else {
        // SAFETY: the place is the thread's own.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
        return -1;
    };
    let call = |other: u64| {
        let [a, b, c, d, e] = std::array::from_fn(|at| if at == path { other } else { arguments[at] });
        // SAFETY: the caller's promise; the path is another text.
        unsafe { function(a, b, c, d, e) }
    };
    // SAFETY: the caller's promise.
    unsafe { instead(arguments[path], call) }
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

/// Opens a file, by the system's own call: what allocates memory may open files before it can look for a function.
///
/// # Safety
/// `path` is null or a text.
unsafe fn opened(folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the program opened this path in this way.
    let open = |path: u64| unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) as c_int };
    // SAFETY: the caller's promise.
    unsafe {
        match path.is_null() || CStr::from_ptr(path).to_bytes() != VERSION {
            true => open(path as u64),
            false => instead(path as u64, open),
        }
    }
}

/// Functions that open a file, with and without a folder. Those that end in `_2` have no mode, and create nothing.
macro_rules! opens {
    ($($in_folder:ident $alone:ident)*) => {$(
        #[unsafe(export_name = concat!("warpgrind_", stringify!($in_folder)))]
        unsafe extern "C" fn $in_folder(folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
            // SAFETY: the program called the function of this name with these arguments.
            unsafe { opened(folder, path, flags, mode) }
        }

        #[unsafe(export_name = concat!("warpgrind_", stringify!($alone)))]
        unsafe extern "C" fn $alone(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
            // SAFETY: as above.
            unsafe { opened(libc::AT_FDCWD, path, flags, mode) }
        }
    )*};
}

opens! {
    openat open
    openat64 open64
    __openat_2 __open_2
    __openat64_2 __open64_2
}

/// Opens a stream as the C library's function of a name does.
///
/// # Safety
/// As for `fopen`.
unsafe fn stream(name: &CStr, known: &AtomicUsize, path: *const c_char, mode: *const c_char) -> *mut c_void {
    type Open = unsafe extern "C" fn(u64, *const c_char) -> *mut c_void;
    let Some(function) = real(name, known) else { return std::ptr::null_mut() };
    // SAFETY: `fopen` takes two pointers and gives one.
    let function = unsafe { std::mem::transmute::<Function, Open>(function) };
    // SAFETY: the caller's promise.
    unsafe {
        match path.is_null() || CStr::from_ptr(path).to_bytes() != VERSION {
            true => function(path as u64, mode),
            false => instead(path as u64, |path| function(path, mode)),
        }
    }
}

#[unsafe(export_name = "warpgrind_fopen")]
unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the program called the function of this name with these arguments.
    unsafe { stream(c"fopen", &KNOWN, path, mode) }
}

#[unsafe(export_name = "warpgrind_fopen64")]
unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: as above.
    unsafe { stream(c"fopen64", &KNOWN, path, mode) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_node_a_device() {
        let of_two = |path: &str| answer(path.as_bytes(), || 2);
        for path in ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"] {
            assert_eq!(of_two(path), Some(Answer::Of(c"/dev/null")), "{path}");
        }
        assert_eq!(of_two("/dev/nvidia2"), Some(Answer::Of(NONE)));
        assert_eq!(of_two("/proc/driver/nvidia/version"), Some(Answer::Version));
        for path in ["/dev/nvidia", "/dev/nvidia+1", "/dev/nvidia0/x", "dev/nvidia0", "/dev/null", ""] {
            assert_eq!(of_two(path), None, "{path}");
        }
    }
}
