//! A program that forks before it uses CUDA, leaves without cleaning up, closes the library, and uses CUDA when it exits.

mod support;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use support::{PTX, at, call, driver, out, runtime};

/// Adds in a stream that nobody waits for; what is in memory then.
fn work() -> Option<u32> {
    let (mut context, mut module, mut add, mut data, mut stream) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut good = call(driver(), "cuInit", &[0]) == 0;
    let mut ok = |name: &str, arguments: &[u64]| good &= call(driver(), name, arguments) == 0;
    ok("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    ok("cuCtxSetCurrent", &[context]);
    ok("cuModuleLoadData", &[out(&mut module), at(PTX.to_bytes_with_nul())]);
    ok("cuModuleGetFunction", &[out(&mut add), module, at(c"add".to_bytes_with_nul())]);
    ok("cuMemAlloc_v2", &[out(&mut data), 4096]);
    ok("cuMemsetD32_v2", &[data, 1, 1024]);
    ok("cuStreamCreate", &[out(&mut stream), 0]);
    let (n, value) = (1024u32, 2u32);
    let params = [at(&data), at(&n), at(&value)];
    for _ in 0..20 {
        ok("cuLaunchKernel", &[add, 4, 1, 1, 256, 1, 1, 0, stream, at(&params), 0]);
    }
    let mut word = 0u32;
    ok("cuMemcpyDtoH_v2", &[out(&mut word), data + 4000, 4]);
    for _ in 0..20 {
        ok("cuLaunchKernel", &[add, 4, 1, 1, 256, 1, 1, 0, stream, at(&params), 0]);
    }
    good.then_some(word)
}

#[test]
fn programs_fork_leave_and_close_the_library() {
    // The library is loaded before the fork and used after it.
    driver();
    for _ in 0..3 {
        // SAFETY: the child uses nothing that another thread may hold, and leaves by `exit`.
        match unsafe { libc::fork() } {
            0 => std::process::exit(if work() == Some(41) { 7 } else { 1 }),
            child => {
                let mut status = 0;
                // SAFETY: the child was made above.
                unsafe { libc::waitpid(child, &mut status, 0) };
                assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
            }
        }
    }
    assert_eq!(work(), Some(41));
    // SAFETY: the handle is that of the library.
    assert_eq!(unsafe { libc::dlclose(driver() as *mut _) }, 0);
    // What was queued runs on, and the library is there as before.
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(call(runtime(13), "cudaDeviceSynchronize", &[]), 0);
}

/// A stream that captures when the program exits, and the exit handlers that found all well.
static CAPTURING: AtomicU64 = AtomicU64::new(0);
static GOOD: AtomicU32 = AtomicU32::new(0);

/// Everything with what a thread has: its contexts, its own stream, a configuration, a capture of its own.
extern "C" fn at_exit() {
    let (mut context, mut device, mut graph, mut dims) = (0u64, 0u32, 0u64, [0u32; 6]);
    let ok = |name: &str, arguments: &[u64]| call(driver(), name, arguments) == 0;
    let rt = |name: &str, arguments: &[u64]| call(runtime(13), name, arguments) == 0;
    let capturing = CAPTURING.swap(0, SeqCst);
    let good = (capturing == 0 || ok("cuStreamEndCapture", &[capturing, out(&mut graph)]))
        && work() == Some(41)
        && ok("cuCtxGetCurrent", &[out(&mut context)])
        && ok("cuCtxPopCurrent_v2", &[out(&mut context)])
        && ok("cuCtxPushCurrent_v2", &[context])
        && ok("cuStreamSynchronize_ptsz", &[0])
        && rt("cudaGetDevice", &[out(&mut device)])
        && rt("__cudaPushCallConfiguration", &[1 << 32 | 1, 1, 1 << 32 | 1, 1, 0, 0])
        && rt(
            "__cudaPopCallConfiguration",
            &[out(&mut dims), out(&mut dims[3]), out(&mut graph), out(&mut graph)],
        )
        && rt("cudaDeviceSynchronize", &[]);
    // The last one answers for all, without the handlers that are left.
    match GOOD.fetch_add(u32::from(good), SeqCst) {
        // SAFETY: nothing is left to be done.
        count if count + u32::from(good) == 2 => unsafe { libc::_exit(7) },
        _ if good => {}
        // SAFETY: as above.
        _ => unsafe { libc::_exit(1) },
    }
}

/// Asks a child process to be the program that exits.
const EXITING: &str = "WARPGRIND_TEST_EXITING";

#[test]
fn exiting() {
    if std::env::var_os(EXITING).is_none() {
        return;
    }
    driver();
    runtime(13);
    // One that runs after the library's own, one before.
    // SAFETY: the function takes nothing and does not unwind.
    unsafe { libc::atexit(at_exit) };
    let mut stream = 0u64;
    let good = work() == Some(41)
        && call(driver(), "cuStreamCreate", &[out(&mut stream), 1]) == 0
        && call(driver(), "cuStreamBeginCapture_v2", &[stream, 1]) == 0;
    CAPTURING.store(stream, SeqCst);
    // SAFETY: as above.
    unsafe { libc::atexit(at_exit) };
    std::process::exit(if good { 0 } else { 2 })
}

#[test]
fn exit_handlers_use_cuda() {
    let mut child = std::process::Command::new(std::env::current_exe().expect("a path"));
    let output = child.args(["--exact", "exiting"]).env(EXITING, "1").output().expect("a process");
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
}
