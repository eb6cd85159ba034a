//! Memory of the host behind that of the device: what is given back, what is used up, what is not there any more.

mod support;

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use support::{PTX, at, call, driver, out};

fn ok(name: &str, arguments: &[u64]) {
    assert_eq!(call(driver(), name, arguments), 0, "{name}");
}

fn start() -> u64 {
    let (mut context, mut module) = (0u64, 0u64);
    ok("cuInit", &[0]);
    ok("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    ok("cuCtxSetCurrent", &[context]);
    ok("cuModuleLoadData", &[out(&mut module), at(PTX.to_bytes_with_nul())]);
    module
}

fn allocate(bytes: u64) -> u64 {
    let mut address = 0u64;
    ok("cuMemAlloc_v2", &[out(&mut address), bytes]);
    address
}

/// Kilobytes of this process in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4
}

/// What a child process is asked to do.
const PART: &str = "WARPGRIND_TEST_PART";

/// Runs a part of this file in a process of its own.
fn child(part: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args(["--exact", "part", "--nocapture"]).env(PART, part);
    command.envs(variables.iter().copied()).output().expect("a process")
}

/// What children do; the status with which they exit.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    let status = match part.as_str() {
        "rounds" => rounds(),
        "registered" => registered(),
        "fill" | "kernel" => used_up(&part),
        "fork" => fork(),
        _ => unreachable!("{part}"),
    };
    std::process::exit(status);
}

/// Makes and destroys everything again and again.
fn rounds() -> i32 {
    start();
    let text = PTX.to_bytes_with_nul();
    let mut stream = 0u64;
    ok("cuStreamCreate", &[out(&mut stream), 0]);
    let module = || {
        let (mut module, mut function) = (0u64, 0u64);
        ok("cuModuleLoadData", &[out(&mut module), at(text)]);
        ok("cuModuleGetFunction", &[out(&mut function), module, at(c"add".to_bytes_with_nul())]);
        ok("cuFuncSetBlockShape", &[function, 1, 1, 1]);
        ok("cuModuleUnload", &[module]);
    };
    let library = || {
        let (mut library, mut kernel, mut function) = (0u64, 0u64, 0u64);
        ok("cuLibraryLoadData", &[out(&mut library), at(text), 0, 0, 0, 0, 0, 0]);
        ok("cuLibraryGetKernel", &[out(&mut kernel), library, at(c"add".to_bytes_with_nul())]);
        ok("cuKernelGetFunction", &[out(&mut function), kernel]);
        ok("cuLibraryUnload", &[library]);
    };
    let streams = || {
        let (mut stream, mut event) = (0u64, 0u64);
        // An access policy window of one byte.
        let mut value = [0u32; 16];
        value[2] = 1;
        ok("cuStreamCreate", &[out(&mut stream), 0]);
        ok("cuStreamSetAttribute", &[stream, 1, at(&value)]);
        ok("cuEventCreate", &[out(&mut event), 0]);
        ok("cuEventRecord", &[event, stream]);
        ok("cuStreamWaitEvent", &[stream, event, 0]);
        ok("cuEventDestroy_v2", &[event]);
        ok("cuStreamDestroy_v2", &[stream]);
    };
    let graphs = || {
        let (mut graph, mut parent, mut node, mut clone, mut exec) = (0u64, 0u64, 0u64, 0u64, 0u64);
        ok("cuStreamBeginCapture_v2", &[stream, 2]);
        ok("cuMemsetD8Async", &[allocation_of_rounds(), 0, 16, stream]);
        ok("cuStreamGetCaptureInfo_v2", &[stream, out(&mut exec), 0, 0, out(&mut node), out(&mut clone)]);
        ok("cuStreamEndCapture", &[stream, out(&mut graph)]);
        ok("cuGraphCreate", &[out(&mut parent), 0]);
        ok("cuGraphAddChildGraphNode", &[out(&mut node), parent, 0, 0, graph]);
        ok("cuGraphChildGraphNodeGetGraph", &[node, out(&mut clone)]);
        let (mut count, mut nodes) = (4usize, [0u64; 4]);
        ok("cuGraphGetNodes", &[clone, out(&mut nodes), out(&mut count)]);
        ok("cuGraphClone", &[out(&mut clone), parent]);
        ok("cuGraphInstantiateWithFlags", &[out(&mut exec), parent, 0]);
        ok("cuGraphLaunch", &[exec, stream]);
        ok("cuStreamSynchronize", &[stream]);
        for graph in [graph, parent, clone] {
            ok("cuGraphDestroy", &[graph]);
        }
        ok("cuGraphExecDestroy", &[exec]);
    };
    let memory = || {
        let mut properties = [0u64; 16];
        properties[..2].copy_from_slice(&[1, 1]);
        let (mut pool, mut managed) = (0u64, 0u64);
        ok("cuMemPoolCreate", &[out(&mut pool), at(&properties)]);
        for _ in 0..2 {
            let mut block = 0u64;
            ok("cuMemAllocFromPoolAsync", &[out(&mut block), 1000, pool, stream]);
            ok("cuMemFreeAsync", &[block, stream]);
        }
        ok("cuMemAllocManaged", &[out(&mut managed), 4096, 1]);
        ok("cuMemAdvise", &[managed, 4096, 3, 0]);
        ok("cuMemFree_v2", &[managed]);
        ok("cuMemFree_v2", &[allocate(5 << 20)]);
        ok("cuStreamSynchronize", &[stream]);
        ok("cuMemPoolDestroy", &[pool]);
    };
    let arrays = || {
        let (description, mut array) = ([16u64, 16, 0x1_0000_0020], 0u64);
        ok("cuArrayCreate_v2", &[out(&mut array), at(&description)]);
        ok("cuArrayDestroy", &[array]);
    };
    let contexts = || {
        let (mut context, mut module, mut stream) = (0u64, 0u64, 0u64);
        ok("cuCtxCreate_v2", &[out(&mut context), 0, 0]);
        ok("cuModuleLoadData", &[out(&mut module), at(text)]);
        ok("cuStreamCreate", &[out(&mut stream), 0]);
        allocate(1000);
        ok("cuCtxDestroy_v2", &[context]);
    };
    let parts: [(&str, &dyn Fn()); 7] = [
        ("modules", &module),
        ("libraries", &library),
        ("streams and events", &streams),
        ("graphs", &graphs),
        ("pools and managed memory", &memory),
        ("arrays", &arrays),
        ("contexts", &contexts),
    ];
    // What is remembered of freed memory, for messages, has its most after the first of them.
    let (first, then) = if cfg!(debug_assertions) { (2500, 1500) } else { (5000, 10_000) };
    let mut grown = 0;
    for (name, round) in parts {
        (0..first).for_each(|_| round());
        let before = resident();
        (0..then).for_each(|_| round());
        let more = resident().saturating_sub(before);
        eprintln!("{name}: {more} KB in {then} rounds");
        grown += i32::from(more > 2048);
    }
    grown
}

/// Memory that the graphs of a round fill.
fn allocation_of_rounds() -> u64 {
    static ADDRESS: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *ADDRESS.get_or_init(|| allocate(4096))
}

#[test]
fn what_is_destroyed_is_given_back() {
    let output = child("rounds", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Unmaps memory that is registered, and lets a kernel access it.
fn registered() -> i32 {
    let module = start();
    let (mut add, n, value) = (0u64, 16u32, 1u32);
    ok("cuModuleGetFunction", &[out(&mut add), module, at(c"add".to_bytes_with_nul())]);
    let bytes = 1 << 20;
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new private mapping touches nothing else.
    let data = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) } as u64;
    ok("cuMemHostRegister_v2", &[data, bytes as u64, 0]);
    let params = [at(&data), at(&n), at(&value)];
    ok("cuLaunchKernel", &[add, 1, 1, 1, 32, 1, 1, 0, 0, at(&params), 0]);
    ok("cuCtxSynchronize", &[]);
    // SAFETY: the mapping was made above.
    unsafe { libc::munmap(data as *mut _, bytes) };
    ok("cuLaunchKernel", &[add, 1, 1, 1, 32, 1, 1, 0, 0, at(&params), 0]);
    call(driver(), "cuCtxSynchronize", &[]) as i32 - 600
}

#[test]
fn registered_memory_that_is_gone_is_an_error() {
    let output = child("registered", &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(100), "{text}");
    for part in ["1048576 bytes of host memory", "cuMemHostUnregister", "error[use-after-free]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Allocates more than the host has and fills it.
fn used_up(how: &str) -> i32 {
    let module = start();
    let data = allocate(64 << 30);
    let (mut add, n, value) = (0u64, u32::MAX, 1u32);
    ok("cuModuleGetFunction", &[out(&mut add), module, at(c"add".to_bytes_with_nul())]);
    let params = [at(&data), at(&n), at(&value)];
    // Some of it is there.
    ok("cuMemsetD8_v2", &[data + (60 << 30), 1, 64 << 20]);
    ok("cuCtxSynchronize", &[]);
    match how {
        "fill" => ok("cuMemsetD8_v2", &[data, 1, 64 << 30]),
        _ => {
            // A kernel takes its time for what is left.
            ok("cuMemsetD8_v2", &[data + (32 << 30), 1, 800 << 20]);
            ok("cuLaunchKernel", &[add, 1 << 22, 1, 1, 1024, 1, 1, 0, 0, at(&params), 0]);
        }
    }
    call(driver(), "cuCtxSynchronize", &[]) as i32
}

#[test]
fn a_program_that_takes_more_than_the_host_has_fails() {
    for part in ["fill", "kernel"] {
        let began = Instant::now();
        let output = child(part, &[("WARPGRIND_HOST_MEMORY", "1200000000")]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{part}: {text}");
        assert_eq!(
            text.matches("the program has allocated 68.7 GB of the device's 150.8 GB").count(),
            1,
            "{text}"
        );
        assert!(text.contains("this host has 1.2 GB") && text.contains("used up"), "{part}: {text}");
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    }
}

/// Forks while other threads call CUDA.
fn fork() -> i32 {
    start();
    let mut context = 0u64;
    ok("cuCtxGetCurrent", &[out(&mut context)]);
    for _ in 0..3 {
        std::thread::spawn(move || {
            ok("cuCtxSetCurrent", &[context]);
            loop {
                let mut stream = 0u64;
                ok("cuStreamCreate", &[out(&mut stream), 0]);
                ok("cuMemFree_v2", &[allocate(1000)]);
                ok("cuStreamSynchronize", &[stream]);
                ok("cuStreamDestroy_v2", &[stream]);
            }
        });
    }
    for _ in 0..60 {
        // SAFETY: the child calls nothing that needs another thread, and leaves by `exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // As on a device, a child has no CUDA.
            let (mut stream, mut free) = (0u64, 0u64);
            let codes = [
                call(driver(), "cuInit", &[0]),
                call(driver(), "cuStreamCreate", &[out(&mut stream), 0]),
                call(driver(), "cuMemGetInfo_v2", &[out(&mut free), out(&mut free)]),
                call(driver(), "cuStreamDestroy_v2", &[0x6000_0000_0100]),
            ];
            // SAFETY: exit handlers run, as in any program.
            unsafe { libc::exit(i32::from(codes != [3; 4])) };
        }
        let (until, mut status) = (Instant::now() + Duration::from_secs(20), 0);
        // SAFETY: the child was made above.
        while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
            if Instant::now() > until {
                // SAFETY: as above.
                unsafe { libc::kill(child, libc::SIGKILL) };
                return 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            return 2;
        }
    }
    // SAFETY: the threads are busy, and nothing is left to be done.
    unsafe { libc::_exit(0) }
}

#[test]
fn children_of_a_busy_program_do_not_hang() {
    let output = child("fork", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn memory_of_the_host_is_copied_over_itself() {
    start();
    let numbers = |count: u32| (0..count).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let original = numbers(300_000);
    let half = original.len() / 2 + 4;
    for (to, from) in [(0, half / 2), (half / 2, 0), (4, 0), (0, 4)] {
        let mut bytes = original.clone();
        let base = bytes.as_mut_ptr() as u64;
        ok("cuMemcpy", &[base + to as u64, base + from as u64, half as u64]);
        assert!(bytes[to..to + half] == original[from..from + half], "from {from} to {to}");
    }
}
