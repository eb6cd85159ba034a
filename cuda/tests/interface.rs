//! The driver and the runtime interface as C programs call them, without any compiler of NVIDIA's.

mod support;

use support::{PTX, at, call, driver, out, runtime};

fn ok(name: &str, arguments: &[u64]) {
    assert_eq!(call(driver(), name, arguments), 0, "{name}");
}

fn rt(library: usize, name: &str, arguments: &[u64]) {
    assert_eq!(call(library, name, arguments), 0, "{name}");
}

/// The primary context on this thread, and the test module in it.
fn start() -> u64 {
    ok("cuInit", &[0]);
    let (mut context, mut module) = (0u64, 0u64);
    ok("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    ok("cuCtxSetCurrent", &[context]);
    ok("cuModuleLoadData", &[out(&mut module), at(PTX.to_bytes_with_nul())]);
    module
}

fn function(module: u64, name: &std::ffi::CStr) -> u64 {
    let mut function = 0u64;
    ok("cuModuleGetFunction", &[out(&mut function), module, at(name.to_bytes_with_nul())]);
    function
}

fn allocate(bytes: u64) -> u64 {
    let mut address = 0u64;
    ok("cuMemAlloc_v2", &[out(&mut address), bytes]);
    address
}

fn read(address: u64, count: usize) -> Vec<u32> {
    let mut words = vec![0u32; count];
    ok("cuMemcpyDtoH_v2", &[at(&words[..]), address, 4 * count as u64]);
    std::mem::take(&mut words)
}

const GRID: [u64; 7] = [4, 1, 1, 256, 1, 1, 0];

fn launch(function: u64, stream: u64, params: &[u64]) -> u32 {
    let mut arguments = vec![function];
    arguments.extend(GRID);
    arguments.extend([stream, at(params), 0]);
    call(driver(), "cuLaunchKernel", &arguments)
}

#[test]
fn launches_in_all_three_forms() {
    let _alone = support::alone();
    let module = start();
    let add = function(module, c"add");
    let data = allocate(4096);
    ok("cuMemsetD32_v2", &[data, 7, 1024]);
    let (n, value) = (1000u32, 3u32);
    let params = [at(&data), at(&n), at(&value)];
    assert_eq!(launch(add, 0, &params), 0);
    // One packed buffer: an address and two words.
    let mut packed = data.to_le_bytes().to_vec();
    packed.extend(n.to_le_bytes());
    packed.extend(value.to_le_bytes());
    let size = packed.len();
    let extra = [1, at(&packed[..]), 2, at(&size), 0];
    let mut arguments = vec![add];
    arguments.extend(GRID);
    arguments.extend([0, 0, at(&extra)]);
    ok("cuLaunchKernel", &arguments);
    // A configuration: seven words, a stream, attributes and their number.
    let config: [u32; 14] = [4, 1, 1, 256, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    ok("cuLaunchKernelEx", &[at(&config), add, at(&params), 0]);
    let words = read(data, 1024);
    assert!(words[..1000].iter().all(|&word| word == 16) && words[1000..].iter().all(|&word| word == 7));

    let (mut address, mut bytes) = (0u64, 0u64);
    let name = c"counter".to_bytes_with_nul();
    ok("cuModuleGetGlobal_v2", &[out(&mut address), out(&mut bytes), module, at(name)]);
    assert_eq!((bytes, read(address, 1)[0]), (4, 5));
    let mut registers = 0i32;
    ok("cuFuncGetAttribute", &[out(&mut registers), 4, add]);
    assert!(registers >= 16);
    ok("cuMemFree_v2", &[data]);
}

#[test]
fn wrong_arguments_give_the_codes_of_cuda() {
    let _alone = support::alone();
    let module = start();
    let add = function(module, c"add");
    let mut handle = 0u64;
    let error = |name: &str, arguments: &[u64]| call(driver(), name, arguments);
    assert_eq!(
        error("cuModuleGetFunction", &[out(&mut handle), module, at(c"none".to_bytes_with_nul())]),
        500
    );
    assert_eq!(
        error("cuModuleLoadData", &[out(&mut handle), at(c".version 8.0 garbage".to_bytes_with_nul())]),
        218
    );
    let mut machine_code = [0u8; 64];
    machine_code[..4].copy_from_slice(b"\x7fELF");
    assert_eq!(error("cuModuleLoadData", &[out(&mut handle), at(&machine_code)]), 209);
    assert_eq!(
        error("cuModuleGetFunction", &[out(&mut handle), 0xdead_beef, at(c"add".to_bytes_with_nul())]),
        400
    );
    assert_eq!(error("cuStreamSynchronize", &[0x1234_5678]), 400);
    assert_eq!(error("cuEventRecord", &[add, 0]), 400);
    assert_eq!(error("cuMemFree_v2", &[0x1000]), 1);
    assert_eq!(error("cuMemAlloc_v2", &[out(&mut handle), 1 << 50]), 2);
    assert_eq!(error("cuDeviceGet", &[out(&mut handle), 99]), 101);
    assert_eq!(error("cuLaunchKernel", &[add, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]), 1);
    assert_eq!(error("cuLaunchKernel", &[add, 1, 1, 1, 2048, 1, 1, 0, 0, 0, 0]), 1);
    let data = allocate(64);
    let words = [0u32; 32];
    assert_eq!(error("cuMemcpyHtoD_v2", &[data, at(&words), 128]), 1);
    assert_eq!(error("cuMemcpyDtoH_v2", &[at(&words), data + 60, 8]), 1);
    ok("cuMemFree_v2", &[data]);
    assert_eq!(error("cuMemFree_v2", &[data]), 1);
    assert_eq!(error("cuMemcpyHtoD_v2", &[data, at(&words), 4]), 1);
    let mut name = 0u64;
    ok("cuGetErrorName", &[700, out(&mut name)]);
    // SAFETY: a name is a string that stays.
    let name = unsafe { std::ffi::CStr::from_ptr(name as *const _) };
    assert_eq!(name, c"CUDA_ERROR_ILLEGAL_ADDRESS");
}

#[test]
fn streams_events_and_graphs() {
    let _alone = support::alone();
    let module = start();
    let add = function(module, c"add");
    let data = allocate(4096);
    let (mut one, mut two, mut event, mut graph, mut exec) = (0u64, 0u64, 0u64, 0u64, 0u64);
    ok("cuStreamCreate", &[out(&mut one), 1]);
    ok("cuStreamCreateWithPriority", &[out(&mut two), 1, (-2i64) as u64]);
    ok("cuEventCreate", &[out(&mut event), 0]);
    let (n, value) = (1024u32, 1u32);
    let params = [at(&data), at(&n), at(&value)];
    ok("cuMemsetD32Async", &[data, 0, 1024, one]);
    for round in 0..40 {
        let (stream, other) = if round % 2 == 0 { (one, two) } else { (two, one) };
        assert_eq!(launch(add, stream, &params), 0);
        ok("cuEventRecord", &[event, stream]);
        ok("cuStreamWaitEvent", &[other, event, 0]);
    }
    ok("cuStreamSynchronize", &[one]);
    assert!(read(data, 1024).iter().all(|&word| word == 40));
    // A stream that waits for a word which the program writes by another stream.
    ok("cuStreamWaitValue32_v2", &[one, data, 99, 1]);
    ok("cuMemsetD32Async", &[data + 4, 1, 1023, one]);
    assert_eq!(call(driver(), "cuStreamQuery", &[one]), 600);
    ok("cuStreamWriteValue32_v2", &[two, data, 99, 0]);
    ok("cuStreamSynchronize", &[one]);
    assert_eq!(read(data, 3), [99, 1, 1]);

    ok("cuStreamBeginCapture_v2", &[one, 0]);
    ok("cuMemsetD32Async", &[data, 5, 1024, one]);
    assert_eq!(launch(add, one, &params), 0);
    // Waiting ends a capture.
    assert_eq!(call(driver(), "cuStreamSynchronize", &[one]), 900);
    assert_eq!(call(driver(), "cuStreamEndCapture", &[one, out(&mut graph)]), 901);
    ok("cuStreamBeginCapture_v2", &[one, 0]);
    ok("cuMemsetD32Async", &[data, 5, 1024, one]);
    assert_eq!(launch(add, one, &params), 0);
    ok("cuStreamEndCapture", &[one, out(&mut graph)]);
    ok("cuGraphInstantiateWithFlags", &[out(&mut exec), graph, 0]);
    ok("cuGraphLaunch", &[exec, one]);
    ok("cuStreamSynchronize", &[one]);
    assert!(read(data, 1024).iter().all(|&word| word == 6));
    let (mut count, mut nodes) = (2usize, [0u64; 2]);
    ok("cuGraphGetNodes", &[graph, out(&mut nodes), out(&mut count)]);
    let mut kind = 9u32;
    ok("cuGraphNodeGetType", &[nodes[1], out(&mut kind)]);
    assert_eq!((count, kind), (2, 0));
    ok("cuGraphNodeSetEnabled", &[exec, nodes[1], 0]);
    ok("cuGraphLaunch", &[exec, one]);
    ok("cuCtxSynchronize", &[]);
    assert!(read(data, 1024).iter().all(|&word| word == 5));
    for (name, handle) in [
        ("cuGraphExecDestroy", exec),
        ("cuGraphDestroy", graph),
        ("cuStreamDestroy_v2", one),
        ("cuStreamDestroy_v2", two),
        ("cuEventDestroy_v2", event),
    ] {
        ok(name, &[handle]);
        // Graphs have another code than the rest.
        let gone = if name.contains("Graph") { 1 } else { 400 };
        assert_eq!(call(driver(), name, &[handle]), gone, "{name} twice");
    }
}

#[test]
fn memory_that_host_and_device_share() {
    let _alone = support::alone();
    let module = start();
    let add = function(module, c"add");
    let (mut managed, mut pinned) = (0u64, 0u64);
    ok("cuMemAllocManaged", &[out(&mut managed), 4096, 1]);
    ok("cuMemHostAlloc", &[out(&mut pinned), 4096, 2]);
    for address in [managed, pinned] {
        // SAFETY: the driver gave so many bytes.
        let words = unsafe { std::slice::from_raw_parts_mut(address as *mut u32, 1024) };
        for (at, word) in words.iter_mut().enumerate() {
            *word = at as u32;
        }
        let (n, value) = (1024u32, 100u32);
        assert_eq!(launch(add, 0, &[at(&address), at(&n), at(&value)]), 0);
        ok("cuCtxSynchronize", &[]);
        assert!(words.iter().enumerate().all(|(at, &word)| word == at as u32 + 100));
        let mut kind = 0u32;
        ok("cuPointerGetAttribute", &[out(&mut kind), 2, address + 8]);
        assert_eq!(kind, if address == managed { 2 } else { 1 });
    }
    ok("cuMemFreeHost", &[pinned]);
    ok("cuMemFree_v2", &[managed]);
    let mut own = vec![1u32; 1024];
    ok("cuMemHostRegister_v2", &[at(&own[..]), 4096, 0]);
    assert_eq!(call(driver(), "cuMemHostRegister_v2", &[at(&own[..]), 4096, 0]), 712);
    ok("cuMemsetD32_v2", &[at(&own[..]), 8, 1024]);
    ok("cuMemHostUnregister", &[at(&own[..])]);
    assert_eq!(call(driver(), "cuMemHostUnregister", &[at(&own[..])]), 713);
    own.push(0);
    assert!(own[..1024].iter().all(|&word| word == 8));
    let mut kind = 0u32;
    assert_eq!(call(driver(), "cuPointerGetAttribute", &[out(&mut kind), 2, at(&own[..])]), 1);
}

/// A pool that nobody asked for has a handle all the same.
#[test]
fn memory_leads_to_its_pool() {
    let _alone = support::alone();
    start();
    let (mut memory, mut pool, mut used) = (0u64, 0u64, 0u64);
    ok("cuMemAllocAsync", &[out(&mut memory), 1000, 0]);
    ok("cuPointerGetAttribute", &[out(&mut pool), 17, memory]);
    ok("cuMemPoolGetAttribute", &[pool, 7, out(&mut used)]);
    assert!(used >= 1000, "{used}");
    ok("cuMemFreeAsync", &[memory, 0]);
}

/// A fatbin with one uncompressed PTX text, in the wrapper that nvcc registers.
fn fatbin() -> (Vec<u8>, [u64; 3]) {
    let text = PTX.to_bytes_with_nul();
    let mut entry = vec![0u8; 64];
    entry[0] = 1;
    entry[4] = 64;
    entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
    entry[28] = 80;
    entry.extend(text);
    let mut image = 0xba55_ed50u32.to_le_bytes().to_vec();
    image.extend([1, 0, 16, 0]);
    image.extend((entry.len() as u64).to_le_bytes());
    image.extend(entry);
    let wrapper = [0x1_4662_43b1, at(&image[..]), 0];
    (image, wrapper)
}

#[test]
fn the_runtime_interface_registers_launches_and_keeps_errors() {
    let _alone = support::alone();
    for version in [13, 12] {
        let library = runtime(version);
        let (image, wrapper) = fatbin();
        let (image, wrapper) = (Box::leak(image.into_boxed_slice()), Box::leak(Box::new(wrapper)));
        assert!(!image.is_empty());
        let register = support::symbol(library, "__cudaRegisterFatBinary").expect("exported");
        // SAFETY: the function takes the wrapper and returns a handle.
        let register = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(u64) -> u64>(register) };
        // SAFETY: the wrapper and the image stay.
        let handle = unsafe { register(at(wrapper)) };
        // Any address stands for the kernel; this one also keeps the versions apart.
        let stub = at(Box::leak(Box::new(version)));
        let name = at(c"add".to_bytes_with_nul());
        call(library, "__cudaRegisterFunction", &[handle, stub, 0, name, u32::MAX.into()]);
        let mut data = 0u64;
        rt(library, "cudaMalloc", &[out(&mut data), 4096]);
        rt(library, "cudaMemset", &[data, 0, 4096]);
        let (n, value) = (1024u32, 9u32);
        let params = [at(&data), at(&n), at(&value)];
        // dim3 passes as two registers: x and y, z.
        let (grid, block) = ([4 | 1 << 32, 1], [256 | 1 << 32, 1]);
        rt(library, "cudaLaunchKernel", &[stub, grid[0], grid[1], block[0], block[1], at(&params), 0, 0]);
        let words = vec![0u32; 1024];
        rt(library, "cudaMemcpy", &[at(&words[..]), data, 4096, 2]);
        assert!(std::hint::black_box(&words).iter().all(|&word| word == 9));
        // An impossible launch leaves its error for one question.
        let bad = [stub, grid[0], grid[1], 4096 | 1 << 32, 1, at(&params), 0, 0];
        let error = if version == 12 { 9 } else { 1 };
        assert_eq!(call(library, "cudaLaunchKernel", &bad), error);
        assert_eq!(call(library, "cudaPeekAtLastError", &[]), error);
        assert_eq!(call(library, "cudaGetLastError", &[]), error);
        assert_eq!(call(library, "cudaGetLastError", &[]), 0);
        assert_eq!(
            call(library, "cudaLaunchKernel", &[0x77, grid[0], grid[1], block[0], block[1], 0, 0, 0]),
            400
        );
        assert_eq!(call(library, "cudaMemcpy", &[data, at(&words[..]), 4, 9]), 21);
        let mut properties = vec![0u8; 1100];
        let get = if version == 12 { "cudaGetDeviceProperties_v2" } else { "cudaGetDeviceProperties" };
        rt(library, get, &[out(&mut properties[0]), 0]);
        let int = |at: usize| i32::from_le_bytes(properties[at..at + 4].try_into().expect("four bytes"));
        // Offsets of `major`, `multiProcessorCount` and `clusterLaunch` in the headers of 12 and 13.
        let offsets = if version == 12 { [360, 388, 772] } else { [360, 384, 748] };
        assert_eq!(offsets.map(int), [9, 132, 1], "{version}");
        rt(library, "cudaFree", &[data]);
        rt(library, "cudaFree", &[0]);
    }
}

/// Launches over 8 streams and 4 threads with allocations that come and go: none is lost.
#[test]
fn soak() {
    let _alone = support::alone();
    let module = start();
    let count = function(module, c"count");
    let mut context = 0u64;
    ok("cuCtxGetCurrent", &[out(&mut context)]);
    let launches: u64 = std::env::var("WARPGRIND_SOAK").ok().and_then(|n| n.parse().ok()).unwrap_or(4000);
    let total = allocate(4);
    ok("cuMemsetD32_v2", &[total, 0, 1]);
    // Streams that do not block do not wait for it by themselves.
    ok("cuCtxSynchronize", &[]);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                ok("cuCtxSetCurrent", &[context]);
                let mut streams = [0u64; 2];
                for stream in &mut streams {
                    ok("cuStreamCreate", &[out(stream), thread % 2]);
                }
                let params = [at(&total)];
                let mut random = thread + 1;
                for at_launch in 0..launches / 4 {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let stream = streams[(random >> 33) as usize % 2];
                    if random >> 60 == 0 {
                        let mut memory = 0u64;
                        ok("cuMemAllocAsync", &[out(&mut memory), 256 + (random >> 50), stream]);
                        ok("cuMemsetD8Async", &[memory, 1, 256, stream]);
                        ok("cuMemFreeAsync", &[memory, stream]);
                    }
                    let arguments = [count, 1, 1, 1, 1, 1, 1, 0, stream, at(&params), 0];
                    ok("cuLaunchKernel", &arguments);
                    if at_launch % 1000 == 999 {
                        ok("cuStreamSynchronize", &[stream]);
                    }
                }
                for stream in streams {
                    ok("cuStreamSynchronize", &[stream]);
                    ok("cuStreamDestroy_v2", &[stream]);
                }
            });
        }
    });
    assert_eq!(u64::from(read(total, 1)[0]), launches / 4 * 4);
    ok("cuMemFree_v2", &[total]);
}

/// Machine code that was built with line information carries its PTX.
#[test]
fn a_cubin_runs_from_the_ptx_that_it_carries() {
    let Some(home) = std::env::var_os("CUDA_HOME") else {
        eprintln!("skipped: set CUDA_HOME to the toolkit's folder to run this test");
        return;
    };
    let _alone = support::alone();
    start();
    let folder = tempfile::tempdir().expect("a folder");
    let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&ptx, PTX.to_bytes()).expect("a file");
    let assemble = |options: &[&str]| {
        let assembler = std::path::Path::new(&home).join("bin/ptxas");
        let done = std::process::Command::new(assembler)
            .arg("-arch=sm_90")
            .args(options)
            .args([&ptx, std::path::Path::new("-o"), &cubin])
            .status();
        assert!(done.expect("ptxas").success());
        std::fs::read(&cubin).expect("a cubin")
    };
    let mut module = 0u64;
    let plain = assemble(&[]);
    assert_eq!(call(driver(), "cuModuleLoadData", &[out(&mut module), at(&plain[..])]), 209);
    let lines = assemble(&["-lineinfo"]);
    ok("cuModuleLoadData", &[out(&mut module), at(&lines[..])]);
    let data = allocate(4096);
    ok("cuMemsetD32_v2", &[data, 7, 1024]);
    let (n, value) = (1000u32, 3u32);
    assert_eq!(launch(function(module, c"add"), 0, &[at(&data), at(&n), at(&value)]), 0);
    assert_eq!(read(data, 1001)[998..], [10, 10, 7]);
}
