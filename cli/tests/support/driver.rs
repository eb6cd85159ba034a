//! The driver interface, for tests that are the program which the tool runs.

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The driver as a program sees it.
pub(crate) struct Driver(*mut c_void);

type Call = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

impl Driver {
    /// Opens it, makes a context and loads a PTX file of the repository.
    pub(crate) fn start(module: &str) -> (Driver, u64) {
        // SAFETY: the name is a string.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "no libcuda.so.1");
        let driver = Driver(library);
        let (mut context, mut loaded) = (0u64, 0u64);
        driver.ok(c"cuInit", &[0]);
        driver.ok(c"cuDevicePrimaryCtxRetain", &[to(&mut context), 0]);
        driver.ok(c"cuCtxSetCurrent", &[context]);
        let text = CString::new(std::fs::read(root().join(module)).unwrap()).unwrap();
        driver.ok(c"cuModuleLoadData", &[to(&mut loaded), text.as_ptr() as u64]);
        (driver, loaded)
    }

    pub(crate) fn call(&self, name: &CStr, arguments: &[u64]) -> u32 {
        // SAFETY: the library is open, the name is a string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        let mut a = [0; 11];
        a[..arguments.len()].copy_from_slice(arguments);
        // SAFETY: callers give what the function of this name takes; more arguments do no harm.
        unsafe {
            let function = std::mem::transmute::<*mut c_void, Call>(address);
            function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10])
        }
    }

    pub(crate) fn ok(&self, name: &CStr, arguments: &[u64]) {
        assert_eq!(self.call(name, arguments), 0, "{name:?}");
    }

    /// Device memory with these contents; without any it is left unwritten.
    pub(crate) fn buffer(&self, bytes: u64, contents: Option<f32>) -> u64 {
        let mut address = 0u64;
        self.ok(c"cuMemAlloc_v2", &[to(&mut address), bytes]);
        if let Some(value) = contents {
            self.ok(c"cuMemsetD32_v2", &[address, u64::from(value.to_bits()), bytes / 4]);
        }
        address
    }

    /// Launches a kernel of two blocks or more.
    pub(crate) fn launch(&self, module: u64, kernel: &CStr, grid: u64, block: u64, arguments: &[u64]) {
        self.launch_in(0, module, kernel, [grid, block], arguments);
    }

    /// The same in a stream.
    pub(crate) fn launch_in(
        &self,
        stream: u64,
        module: u64,
        kernel: &CStr,
        [grid, block]: [u64; 2],
        arguments: &[u64],
    ) {
        let mut function = 0u64;
        self.ok(c"cuModuleGetFunction", &[to(&mut function), module, kernel.as_ptr() as u64]);
        let pointers: Vec<u64> =
            arguments.iter().map(|argument| std::ptr::from_ref(argument) as u64).collect();
        self.ok(
            c"cuLaunchKernel",
            &[function, grid, 1, 1, block, 1, 1, 0, stream, pointers.as_ptr() as u64, 0],
        );
    }

    /// What tests of several launches run: three of saxpy, then their result, and status 3.
    #[allow(dead_code, reason = "not every test of programs has it")]
    pub(crate) fn three_launches() -> ! {
        let (driver, module) = Driver::start("testdata/ptx/sm_90-lineinfo/saxpy.ptx");
        let (x, y) = (driver.buffer(4000, Some(1.0)), driver.buffer(4000, Some(0.5)));
        for _ in 0..3 {
            assert_eq!(driver.saxpy(module, 1000, x, y), 0);
        }
        let mut values = vec![0f32; 1000];
        driver.ok(c"cuMemcpyDtoH_v2", &[values.as_mut_ptr() as u64, y, 4000]);
        println!("client: {} {}", values[0], values[999]);
        std::process::exit(3);
    }

    /// `y = a * x + y` for `count` elements, as testdata's saxpy does.
    pub(crate) fn saxpy(&self, module: u64, count: u64, x: u64, y: u64) -> u32 {
        self.launch(module, c"saxpy", 4, 256, &[count, u64::from(2f32.to_bits()), x, y]);
        self.call(c"cuCtxSynchronize", &[])
    }
}

/// The address of a value, as calls take it.
pub(crate) fn to<T>(value: &mut T) -> u64 {
    std::ptr::from_mut(value) as u64
}
