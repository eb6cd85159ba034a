//! Entry points by name and version, and tables that are refused.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use runtime::{Result, Status};

use crate::ffi::{put, put_wanted, text};
use crate::refused::{ENTRIES, Entry};
use crate::version::VERSION;

/// The function that a name, a version and a choice of streams mean.
pub(crate) fn find(name: &str, version: u32, per_thread: bool) -> Option<&'static Entry> {
    let candidates = ENTRIES.iter().filter(|entry| entry.base == name && entry.version <= version);
    // Only some functions have a form for streams of the thread.
    candidates
        .max_by_key(|entry| (entry.per_thread == per_thread, entry.version))
        .filter(|best| best.per_thread == per_thread || !best.per_thread)
}

/// The loaded file that an address lies in.
pub(crate) fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for; what is not found leaves zeros.
    let name = unsafe {
        libc::dladdr(address, info.as_mut_ptr());
        info.assume_init().dli_fname
    };
    // SAFETY: the name is that of a loaded file.
    (!name.is_null()).then(|| PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes())))
}

/// The file of the code that called into this library.
fn asking() -> Option<PathBuf> {
    let mut frames = [std::ptr::null_mut::<c_void>(); 32];
    // SAFETY: the places are writable, and as many as said.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as i32) };
    let own = file_of(warpgrind_dropin as *const c_void);
    let files = frames.iter().take(usize::try_from(count).unwrap_or(0)).map(|&address| file_of(address));
    files.skip_while(|file| *file == own).find_map(|file| file)
}

/// Whether JAX's compiler for CUDA is loaded.
fn is_jax() -> bool {
    std::fs::read_to_string("/proc/self/maps").is_ok_and(|files| files.contains("/xla_cuda_plugin"))
}

/// What is said to a program with NVIDIA's runtime library, by the file of that; nothing where the file does without.
fn refusal(file: Option<&Path>, is_jax: bool) -> Option<String> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (what, help) = match file {
        // NVIDIA's compiler and linker, opened by their paths instead of through our libraries of these names.
        Some(file) if ["libnvrtc.", "libnvJitLink."].iter().any(|own| name(file).starts_with(own)) => {
            return None;
        }
        Some(file) if name(file).starts_with("libcudart.so") => (
            format!("`{}` is NVIDIA's CUDA runtime library", file.display()),
            "Warpgrind's own is used where it is looked for by name: something opens this one by its path",
        ),
        Some(file) if name(file).contains(".so") => (
            format!("`{}` has NVIDIA's CUDA runtime library inside", file.display()),
            if file.parent().is_some_and(|folder| folder.ends_with("cuda/bindings/_internal")) {
                "`python -m warpgrind.cuda_python SCRIPT` runs a script with Warpgrind's own"
            } else if is_jax {
                "with `pip install warpgrind` beside JAX the host computes factorisations and Fourier transforms; convolutions do without"
            } else {
                "What needs this library cannot run"
            },
        ),
        _ => (
            "the program has NVIDIA's CUDA runtime library inside".into(),
            "Build it with `nvcc -cudart shared`: then warpgrind's own libcudart is used",
        ),
    };
    Some(format!(
        "{what}, which asks the driver to prove that it is NVIDIA's. That is not answered, and its calls fail. {help}"
    ))
}

/// Whether somebody asked for proof.
static ASKED: AtomicBool = AtomicBool::new(false);

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;

unsafe fn look_up(
    name: *const c_char,
    to: *mut *const c_void,
    version: i32,
    flags: u64,
    status: *mut u32,
) -> Result {
    // SAFETY: null or a string.
    let name = unsafe { text(name) }?;
    if to.is_null() || flags > 3 || version > VERSION {
        return Err(Status::INVALID_VALUE);
    }
    // Versions below zero are taken for the newest.
    let found = find(name, version.cast_unsigned(), flags & PER_THREAD != 0);
    let known = ENTRIES.iter().any(|entry| entry.base == name);
    // SAFETY: null or for the results. 0 found, 1 no such symbol, 2 only from a later version on.
    unsafe {
        put_wanted(status, if found.is_some() { 0 } else { 1 + u32::from(known) });
        put(to, found.map_or(std::ptr::null(), |entry| entry.address as *const c_void))?;
    }
    if known || !status.is_null() { Ok(()) } else { Err(Status::NOT_FOUND) }
}

api! {
    fn cuGetProcAddress(name: *const c_char, to: *mut *const c_void, version: i32, flags: u64) {
        look_up(name, to, version, flags, std::ptr::null_mut())
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, to: *mut *const c_void, version: i32, flags: u64, status: *mut u32
    ) {
        look_up(name, to, version, flags, status)
    }

    fn cuGetExportTable(table: *mut *const c_void, _id: *const [u8; 16]) {
        if table.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        put_wanted(table, std::ptr::null());
        // NVIDIA's compiler and linker ask too, and do without.
        if !crate::jit::is_inside()
            && !ASKED.load(Relaxed)
            && let Some(refusal) = refusal(asking().as_deref(), is_jax())
            && !ASKED.swap(true, Relaxed)
        {
            eprintln!("warpgrind: {refusal}");
        }
        Err(Status::NOT_SUPPORTED)
    }
}

/// Says that this is the simulator's driver, to whoever wants to know before using it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn warpgrind_dropin() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_library_that_asks() {
        let said = |file: Option<&str>| refusal(file.map(Path::new), false).unwrap_or_default();
        assert!(said(Some("/v/lib/libcudart.so.13")).contains("opens this one by its path"));
        assert!(
            said(Some("/v/lib/libcublasLt.so.13")).starts_with("`/v/lib/libcublasLt.so.13` has NVIDIA's")
        );
        let bindings = "/v/lib/cuda/bindings/_internal/runtime.cpython-311-x86_64-linux-gnu.so";
        assert!(said(Some(bindings)).contains("python -m warpgrind.cuda_python"));
        let of_jax = refusal(Some(Path::new("/v/lib/libcudnn_graph.so.9")), true);
        assert!(of_jax.is_some_and(|said| said.contains("pip install warpgrind")));
        assert!(said(Some("/home/me/app")).contains("-cudart shared"));
        assert!(said(None).contains("-cudart shared"));
    }

    #[test]
    fn compilers_that_do_without_are_not_named() {
        for library in ["/v/lib/libnvrtc.so.13", "/v/lib/libnvJitLink.so.12"] {
            assert_eq!(refusal(Some(Path::new(library)), false), None, "{library}");
        }
    }
}
