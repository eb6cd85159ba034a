//! Cases that were recorded on an H200: what calls of the driver and kernels in PTX give, as one hash a case.
//!
//! The same test records them: with `WARPGRIND_RECORD=FILE` it calls NVIDIA's driver and writes what that gives into
//! the file, from the first case on that the file has not, so that it may be called again where a fault ended it.

use std::fmt::Write as _;
use std::io::Write as _;

use super::{at, call, driver, open, out};

/// FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A driver with a context, ours or NVIDIA's.
pub(crate) struct Driver(usize);

impl Driver {
    fn start(library: usize) -> Driver {
        let driver = Driver(library);
        driver.good("cuInit", &[0]);
        driver.enter();
        driver
    }

    /// Begins anew after a fault.
    fn restart(&self) {
        self.good("cuDevicePrimaryCtxReset_v2", &[0]);
        self.enter();
    }

    fn enter(&self) {
        let mut context = 0u64;
        self.good("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
        self.good("cuCtxSetCurrent", &[context]);
    }

    /// Calls a function; its code.
    pub(crate) fn call(&self, name: &str, arguments: &[u64]) -> u32 {
        call(self.0, name, arguments)
    }

    /// Calls a function that succeeds.
    pub(crate) fn good(&self, name: &str, arguments: &[u64]) {
        let code = self.call(name, arguments);
        assert_eq!(code, 0, "{name}");
    }

    pub(crate) fn alloc(&self, bytes: usize) -> u64 {
        let mut address = 0u64;
        self.good("cuMemAlloc_v2", &[out(&mut address), bytes as u64]);
        address
    }

    pub(crate) fn write(&self, to: u64, bytes: &[u8]) {
        self.good("cuMemcpyHtoD_v2", &[to, at(bytes), bytes.len() as u64]);
    }

    pub(crate) fn read(&self, from: u64, bytes: usize) -> Vec<u8> {
        let mut found = vec![0u8; bytes];
        self.good("cuMemcpyDtoH_v2", &[at(&found[..]), from, bytes as u64]);
        found.truncate(bytes);
        found
    }

    pub(crate) fn module(&self, ptx: &str) -> u64 {
        let text = std::ffi::CString::new(ptx).expect("no zero byte");
        let mut module = 0u64;
        self.good("cuModuleLoadData", &[out(&mut module), text.as_ptr() as u64]);
        module
    }

    pub(crate) fn function(&self, module: u64, name: &str) -> u64 {
        let text = std::ffi::CString::new(name).expect("no zero byte");
        let mut function = 0u64;
        self.good("cuModuleGetFunction", &[out(&mut function), module, text.as_ptr() as u64]);
        function
    }

    /// Launches blocks of 128 threads and waits; the code of a fault.
    pub(crate) fn launch(&self, function: u64, blocks: u32, shared: u32, parameters: &[&[u8]]) -> u32 {
        let places: Vec<u64> = parameters.iter().map(|bytes| at(*bytes)).collect();
        let shape = [u64::from(blocks), 1, 1, 128, 1, 1, u64::from(shared), 0];
        self.good("cuLaunchKernel", &[&[function][..], &shape, &[at(&places[..]), 0]].concat());
        self.call("cuCtxSynchronize", &[])
    }
}

/// What a case gives: bytes, or the code of a fault.
pub(crate) type Given = Result<Vec<u8>, u32>;

/// What the simulator refuses, `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: u32 = 801;

/// A line of a recording: which case it is, and what it gave.
fn line(text: &str, given: &Given) -> String {
    let given = match given {
        Ok(bytes) => format!("{:016x}", hash(bytes)),
        Err(code) => format!("fault {code}"),
    };
    format!("{:08x} {given}", hash(text.as_bytes()) as u32)
}

/// Runs all cases and compares with the recording, or records them. Exactly the cases with the numbers `inexact` differ.
pub(crate) fn check<S, C>(
    recording: &str,
    cases: &[C],
    inexact: &[usize],
    start: impl Fn(&Driver) -> S,
    text: impl Fn(&C) -> String,
    mut run: impl FnMut(&Driver, &mut S, &C) -> Given,
) {
    let recorded: Vec<&str> = recording.lines().collect();
    if let Some(file) = std::env::var_os("WARPGRIND_RECORD") {
        let driver = Driver::start(open("libcuda.so.1".as_ref()) as usize);
        let mut state = start(&driver);
        let done = std::fs::read_to_string(&file).unwrap_or_default().lines().count();
        let mut to = std::fs::File::options().append(true).create(true).open(&file).expect("a file");
        for (number, case) in cases.iter().enumerate().skip(done) {
            let given = run(&driver, &mut state, case);
            let line = line(&text(case), &given);
            writeln!(to, "{line}").expect("a line");
            if recorded.get(number) != Some(&&*line) || inexact.contains(&number) {
                keep(number, &given);
            }
            assert!(given.is_ok(), "a fault ended the context: {}", text(case));
        }
        return;
    }
    assert_eq!(recorded.len(), cases.len(), "as many cases as are recorded");
    let driver = Driver::start(driver());
    let mut state = start(&driver);
    let (mut wrong, mut count) = (String::new(), 0);
    for (number, (case, recorded)) in cases.iter().zip(recorded).enumerate() {
        let text = text(case);
        let key = format!("{:08x} ", hash(text.as_bytes()) as u32);
        assert!(recorded.starts_with(&key), "case {number} is another one than was recorded: {text}");
        let given = run(&driver, &mut state, case);
        let differs = line(&text, &given) != recorded;
        if differs != inexact.contains(&number) {
            count += 1;
            let verdict = if differs { "differs" } else { "is equal, though it is listed as inexact" };
            writeln!(wrong, "{number}: {text}: {verdict}").expect("a string");
        }
        if differs {
            keep(number, &given);
        }
        if given == Err(NOT_SUPPORTED) {
            driver.restart();
            state = start(&driver);
            continue;
        }
        assert!(given.is_ok(), "a fault ended the context: {text}");
    }
    assert!(count == 0, "{count} of {} cases are not as on an H200:\n{wrong}", cases.len());
}

/// With `WARPGRIND_RAW=FOLDER`, what a case gave that differs from the recording or may.
fn keep(number: usize, given: &Given) {
    if let (Some(folder), Ok(bytes)) = (std::env::var_os("WARPGRIND_RAW"), given) {
        let file = std::path::Path::new(&folder).join(number.to_string());
        std::fs::write(file, bytes).expect("a file");
    }
}
