//! A program that forks before it uses CUDA, leaves without cleaning up, and closes the library.

mod support;

use support::{PTX, at, call, driver, out};

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
    assert_eq!(call(support::runtime(13), "cudaDeviceSynchronize", &[]), 0);
}
