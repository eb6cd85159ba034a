//! Measures the drop-in as a program sees it: start-up, launches, copies, and a soak.
//!
//! `cargo build --release -p warpgrind-cli -p warpgrind-cuda --examples`, then
//! `target/release/warpgrind exec -- target/release/examples/measure [start | launch | copy | soak | run]`.
//! Without an argument it does all but `run`, which launches one kernel that computes for a while, to be
//! compared with `warpgrind run`.

use std::ffi::{CStr, c_void};
use std::time::{Duration, Instant};

type Call = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

/// The driver library.
struct Driver(*mut c_void);

// SAFETY: a library that stays open may be used from all threads.
unsafe impl Sync for Driver {}

impl Driver {
    fn open() -> Driver {
        // SAFETY: the name is a string.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "no libcuda.so.1: run it with `warpgrind exec`");
        Driver(library)
    }

    fn function(&self, name: &CStr) -> Call {
        // SAFETY: the library is open, the name is a string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        // SAFETY: functions of the driver take integers and pointers; further arguments do no harm.
        unsafe { std::mem::transmute::<*mut c_void, Call>(address) }
    }

    /// Calls a function and expects success.
    fn call(&self, name: &CStr, arguments: &[u64]) {
        call(self.function(name), name, arguments);
    }
}

fn call(function: Call, name: &CStr, arguments: &[u64]) {
    let mut a = [0; 11];
    a[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: callers give what the function takes.
    let status = unsafe { function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]) };
    assert_eq!(status, 0, "{name:?}");
}

fn out<T>(value: &mut T) -> u64 {
    std::ptr::from_mut(value) as u64
}

fn at<T: ?Sized>(value: &T) -> u64 {
    std::ptr::from_ref(value).cast::<u8>() as u64
}

const PTX: &CStr = c"
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry count(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %d<1>;
    ld.param.u64 %d0, [to];
    atom.global.add.u32 %r0, [%d0], 1;
    ret;
}
.visible .entry busy(.param .u64 to, .param .u32 rounds)
{
    .reg .pred %p;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %d<3>;
    ld.param.u64 %d0, [to];
    ld.param.u32 %r0, [rounds];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.rn.f32.u32 %f0, %r4;
    mov.f32 %f1, 0f3F000000;
again:
    fma.rn.f32 %f0, %f0, %f1, %f1;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p, %r0, 0;
    @%p bra again;
    mul.wide.u32 %d1, %r4, 4;
    add.u64 %d2, %d0, %d1;
    st.global.f32 [%d2], %f0;
    ret;
}
";

/// The module in the primary context, which is made current.
fn start(driver: &Driver) -> u64 {
    let (mut context, mut module) = (0u64, 0u64);
    driver.call(c"cuInit", &[0]);
    driver.call(c"cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    driver.call(c"cuCtxSetCurrent", &[context]);
    driver.call(c"cuModuleLoadData", &[out(&mut module), at(PTX.to_bytes_with_nul())]);
    module
}

fn kernel(driver: &Driver, module: u64, name: &CStr) -> u64 {
    let mut function = 0u64;
    driver.call(c"cuModuleGetFunction", &[out(&mut function), module, at(name.to_bytes_with_nul())]);
    function
}

fn allocate(driver: &Driver, bytes: u64) -> u64 {
    let mut address = 0u64;
    driver.call(c"cuMemAlloc_v2", &[out(&mut address), bytes]);
    address
}

fn micros(time: Duration, count: u32) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(count)
}

fn measure_start() {
    let begin = Instant::now();
    let driver = Driver::open();
    let opened = begin.elapsed();
    let module = start(&driver);
    let loaded = begin.elapsed();
    let nothing = kernel(&driver, module, c"nothing");
    driver.call(c"cuLaunchKernel", &[nothing, 1, 1, 1, 32, 1, 1]);
    driver.call(c"cuCtxSynchronize", &[]);
    let launched = begin.elapsed();
    println!("library opened          {:8.2} ms", opened.as_secs_f64() * 1e3);
    println!("… module loaded         {:8.2} ms", loaded.as_secs_f64() * 1e3);
    println!("… first launch done     {:8.2} ms", launched.as_secs_f64() * 1e3);
    let again = Instant::now();
    let mut module = 0u64;
    driver.call(c"cuModuleLoadData", &[out(&mut module), at(PTX.to_bytes_with_nul())]);
    let nothing = kernel(&driver, module, c"nothing");
    driver.call(c"cuLaunchKernel", &[nothing, 1, 1, 1, 32, 1, 1]);
    driver.call(c"cuCtxSynchronize", &[]);
    println!("loaded and launched again{:7.2} ms", again.elapsed().as_secs_f64() * 1e3);
}

fn measure_launch(driver: &Driver) {
    let module = start(driver);
    let nothing = kernel(driver, module, c"nothing");
    let (launch, wait) = (driver.function(c"cuLaunchKernel"), driver.function(c"cuStreamSynchronize"));
    let mut stream = 0u64;
    driver.call(c"cuStreamCreate", &[out(&mut stream), 0]);
    let count = 20_000u32;
    for (what, stream) in [("null stream", 0), ("a stream", stream)] {
        for each in [true, false] {
            let begin = Instant::now();
            for _ in 0..count {
                call(launch, c"cuLaunchKernel", &[nothing, 1, 1, 1, 32, 1, 1, 0, stream]);
                if each {
                    call(wait, c"cuStreamSynchronize", &[stream]);
                }
            }
            let asked = begin.elapsed();
            call(wait, c"cuStreamSynchronize", &[stream]);
            let done = begin.elapsed();
            let how = if each { "waited for" } else { "queued" };
            let (asked, done) = (micros(asked, count), micros(done, count));
            println!("empty launch, {what}, {how}: {done:.2} µs (call {asked:.2} µs)");
        }
    }
}

fn fastest(rounds: usize, mut body: impl FnMut()) -> f64 {
    let one = |_| {
        let begin = Instant::now();
        body();
        begin.elapsed().as_secs_f64()
    };
    (0..rounds).map(one).fold(f64::INFINITY, f64::min)
}

fn measure_copy(driver: &Driver) {
    start(driver);
    println!(
        "{:>8}  {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}  GB/s",
        "bytes", "memcpy", "H2D", "D2H", "pinned", "pinned", "D2D", "memset", "libc's"
    );
    for megabytes in [1usize, 64, 256] {
        let bytes = megabytes << 20;
        let (mut from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
        let (a, b) = (allocate(driver, bytes as u64), allocate(driver, bytes as u64));
        let mut pinned = 0u64;
        driver.call(c"cuMemHostAlloc", &[out(&mut pinned), bytes as u64, 0]);
        // SAFETY: so many bytes were allocated. Pages that nobody wrote would all be the same one.
        unsafe { (pinned as *mut u8).write_bytes(1, bytes) };
        let rounds = 256 / megabytes.max(16) + 2;
        let size = bytes as u64;
        let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
        let plain = fastest(rounds, || {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&to);
        });
        let filled = fastest(rounds, || {
            to.fill(std::hint::black_box(7));
            std::hint::black_box(&to);
        });
        let (h2d, d2h) = (driver.function(c"cuMemcpyHtoD_v2"), driver.function(c"cuMemcpyDtoH_v2"));
        let (d2d, set) = (driver.function(c"cuMemcpyDtoD_v2"), driver.function(c"cuMemsetD8_v2"));
        let wait = || driver.call(c"cuCtxSynchronize", &[]);
        let host = from.as_mut_ptr() as u64;
        let times = [
            fastest(rounds, || call(h2d, c"H2D", &[a, host, size])),
            fastest(rounds, || call(d2h, c"D2H", &[host, a, size])),
            fastest(rounds, || call(h2d, c"H2D", &[a, pinned, size])),
            fastest(rounds, || call(d2h, c"D2H", &[pinned, a, size])),
            fastest(rounds, || {
                call(d2d, c"D2D", &[b, a, size]);
                wait();
            }),
            fastest(rounds, || {
                call(set, c"memset", &[a, 3, size]);
                wait();
            }),
        ];
        print!("{:>5} MB  {:>8.2}", megabytes, rate(plain));
        times.iter().for_each(|&time| print!(" {:>8.2}", rate(time)));
        println!(" {:>8.2}", rate(filled));
        driver.call(c"cuMemFree_v2", &[a]);
        driver.call(c"cuMemFree_v2", &[b]);
        driver.call(c"cuMemFreeHost", &[pinned]);
    }
}

/// Resident memory of the process in MB.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.unwrap_or(0.0) * 4096.0 / 1e6
}

fn soak(driver: &Driver, launches: u64) {
    let module = start(driver);
    let count = kernel(driver, module, c"count");
    let total = allocate(driver, 4);
    driver.call(c"cuMemsetD32_v2", &[total, 0, 1]);
    driver.call(c"cuCtxSynchronize", &[]);
    let mut context = 0u64;
    driver.call(c"cuCtxGetCurrent", &[out(&mut context)]);
    let (before, begin) = (resident(), Instant::now());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                driver.call(c"cuCtxSetCurrent", &[context]);
                let mut streams = [0u64; 2];
                for stream in &mut streams {
                    driver.call(c"cuStreamCreate", &[out(stream), 1]);
                }
                let mut kept: Vec<(u64, u64)> = Vec::new();
                let mut random = 0x9E37_79B9_7F4A_7C15u64 * (thread + 1);
                for round in 0..launches / 4 {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let pick = random >> 33;
                    let stream = streams[(pick & 1) as usize];
                    driver.call(c"cuLaunchKernel", &[count, 1, 1, 1, 1, 1, 1, 0, stream, at(&[at(&total)])]);
                    match pick >> 1 & 7 {
                        0 => {
                            let mut address = 0u64;
                            let bytes = (pick >> 4 & 0xffff) + 1;
                            driver.call(c"cuMemAllocAsync", &[out(&mut address), bytes, stream]);
                            driver.call(c"cuMemsetD8Async", &[address, 1, bytes, stream]);
                            kept.push((address, stream));
                        }
                        1 if !kept.is_empty() => {
                            let (address, stream) = kept.swap_remove((pick >> 4) as usize % kept.len());
                            driver.call(c"cuMemFreeAsync", &[address, stream]);
                        }
                        2 => {
                            let address = allocate(driver, (pick >> 4 & 0xffff) + 1);
                            if round % 64 == 0 {
                                driver.call(c"cuMemFree_v2", &[address]);
                            } else {
                                driver.call(c"cuMemFreeAsync", &[address, stream]);
                            }
                        }
                        _ => {}
                    }
                }
                for (address, stream) in kept {
                    driver.call(c"cuMemFreeAsync", &[address, stream]);
                }
                for stream in streams {
                    driver.call(c"cuStreamSynchronize", &[stream]);
                    driver.call(c"cuStreamDestroy_v2", &[stream]);
                }
            });
        }
    });
    let mut counted = 0u32;
    driver.call(c"cuMemcpyDtoH_v2", &[out(&mut counted), total, 4]);
    assert_eq!(u64::from(counted), launches / 4 * 4, "a write was lost");
    let time = begin.elapsed().as_secs_f64();
    println!(
        "{launches} launches over 8 streams and 4 threads: {time:.2} s; resident {before:.1} MB before, {:.1} MB after",
        resident()
    );
}

/// One launch of a kernel that computes.
fn run(driver: &Driver) {
    let module = start(driver);
    let busy = kernel(driver, module, c"busy");
    let (blocks, threads, rounds) = (1024u64, 256u64, 2000u32);
    let data = allocate(driver, blocks * threads * 4);
    let time = fastest(5, || {
        let parameters = [at(&data), at(&rounds)];
        driver.call(c"cuLaunchKernel", &[busy, blocks, 1, 1, threads, 1, 1, 0, 0, at(&parameters)]);
        driver.call(c"cuCtxSynchronize", &[]);
    });
    println!("busy kernel: {:.2} ms", time * 1e3);
}

fn main() {
    let what = std::env::args().nth(1);
    let what = what.as_deref();
    let all = what.is_none();
    if all || what == Some("start") {
        measure_start();
    }
    let driver = Driver::open();
    if all || what == Some("launch") {
        measure_launch(&driver);
    }
    if all || what == Some("copy") {
        measure_copy(&driver);
    }
    if all || what == Some("soak") {
        soak(&driver, 100_000);
        soak(&driver, 100_000);
    }
    if what == Some("run") {
        run(&driver);
    }
    if what == Some("ptx") {
        print!("{}", PTX.to_string_lossy());
    }
}
