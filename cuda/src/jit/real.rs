//! NVIDIA's own libraries, wherever they are installed.

use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// An open library.
#[derive(Debug)]
pub(super) struct Library(*mut c_void);

// SAFETY: a library that stays open may be used from all threads.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// A function with up to six arguments, all of them integers or pointers.
pub(super) type Call = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;

impl Library {
    /// A function by its name.
    pub(super) fn function(&self, name: &str) -> Option<Call> {
        let name = CString::new(name).ok()?;
        // SAFETY: the library is open, the name is a string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        // SAFETY: functions of these libraries take at most six integers or pointers, and in the C calling
        // convention further arguments do no harm.
        (!address.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Call>(address) })
    }
}

/// Calls of these libraries that have not returned.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Whether one of these libraries is at work.
pub(crate) fn is_inside() -> bool {
    INSIDE.load(SeqCst) > 0
}

/// Calls a function of these libraries.
///
/// # Safety
/// The arguments are what it takes.
pub(super) unsafe fn enter(function: Call, a: [u64; 6]) -> u64 {
    INSIDE.fetch_add(1, SeqCst);
    // SAFETY: the caller's promise.
    let result = unsafe { function(a[0], a[1], a[2], a[3], a[4], a[5]) };
    INSIDE.fetch_sub(1, SeqCst);
    result
}

/// NVIDIA's NVRTC, opened once; a message if there is none.
pub(super) fn nvrtc() -> Option<&'static Library> {
    static FOUND: OnceLock<Option<Library>> = OnceLock::new();
    FOUND.get_or_init(|| find("libnvrtc.so")).as_ref()
}

/// NVIDIA's nvJitLink likewise.
pub(super) fn linker() -> Option<&'static Library> {
    static FOUND: OnceLock<Option<Library>> = OnceLock::new();
    FOUND.get_or_init(|| find("libnvJitLink.so")).as_ref()
}

/// The first one on the way, the newer version if there are two in a folder: programs may look for either
/// name, and find ours under both.
fn find(name: &str) -> Option<Library> {
    let files = |folder: &PathBuf| ["13", "12"].map(|version| folder.join(format!("{name}.{version}")));
    let found = folders().iter().flat_map(files).find_map(|path| open(&path));
    if found.is_none() {
        eprintln!("warpgrind: NVIDIA's {name} is not found; CUDA_HOME may name the folder of the toolkit");
    }
    found
}

fn open(path: &Path) -> Option<Library> {
    if !path.is_file() {
        return None;
    }
    let library = load(path)?;
    // SAFETY: the library is open, the name is a string. Only ours have it.
    let ours = unsafe { !libc::dlsym(library, c"warpgrind_shim".as_ptr()).is_null() };
    if ours {
        return None;
    }
    // NVRTC looks for this one by its name alone, and finds it then.
    for entry in std::fs::read_dir(path.parent()?).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so") {
            load(&entry.path());
        }
    }
    Some(Library(library))
}

fn load(path: &Path) -> Option<*mut c_void> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name is a string.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!library.is_null()).then_some(library)
}

/// Where such libraries are: Python's packages, the toolkit's folder, the loader's path, the system.
fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut list = Vec::new();
    for packages in python_packages() {
        let of = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/nvjitlink/lib"];
        list.extend(of.map(|folder| packages.join(folder)));
    }
    for home in ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable) {
        list.extend(["lib64", "lib"].map(|folder| Path::new(&home).join(folder)));
    }
    if let Some(path) = variable("LD_LIBRARY_PATH") {
        list.extend(std::env::split_paths(&path));
    }
    if let Some(prefix) = variable("CONDA_PREFIX") {
        list.push(Path::new(&prefix).join("lib"));
    }
    let system = ["/usr/local/cuda/lib64", "/opt/cuda/lib64", "/usr/lib64", "/usr/lib", "/lib64"];
    list.extend(system.map(PathBuf::from));
    list.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());
    list
}

/// Folders of Python packages that this process has loaded something from, and those of its environment.
fn python_packages() -> BTreeSet<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let loaded = maps.lines().filter_map(|line| {
        let path = &line[line.find('/')?..];
        let end = ["/site-packages/", "/dist-packages/"]
            .iter()
            .find_map(|name| Some(path.find(name)? + name.len()))?;
        Some(PathBuf::from(&path[..end]))
    });
    let mut packages: BTreeSet<PathBuf> = loaded.collect();
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV") {
        let versions = std::fs::read_dir(Path::new(&environment).join("lib")).into_iter().flatten().flatten();
        packages.extend(versions.map(|version| version.path().join("site-packages")));
    }
    packages
}
