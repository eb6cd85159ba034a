//! What a queue of launches does that a program goes on with: refused launches, and more than there is room for.

mod support;

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use support::{PTX, at, call, driver, out};

/// With an argument other than 0 it comes to an instruction that the simulator does not support.
const REFUSED: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry refused(.param .u32 go)
{
    .reg .pred %p;
    .reg .b32 %r;
    .reg .b64 %at;
    ld.param.u32 %r, [go];
    setp.eq.u32 %p, %r, 0;
    @%p ret;
    cvta.shared.u32 %r, %r;
    st.global.u32 [%at], %r;
    ret;
}
";

fn ok(name: &str, arguments: &[u64]) {
    assert_eq!(call(driver(), name, arguments), 0, "{name}");
}

fn function(text: &CStr, name: &CStr) -> u64 {
    let (mut context, mut module, mut function) = (0u64, 0u64, 0u64);
    ok("cuInit", &[0]);
    ok("cuDevicePrimaryCtxRetain", &[out(&mut context), 0]);
    ok("cuCtxSetCurrent", &[context]);
    ok("cuModuleLoadData", &[out(&mut module), at(text.to_bytes_with_nul())]);
    ok("cuModuleGetFunction", &[out(&mut function), module, at(name.to_bytes_with_nul())]);
    function
}

#[test]
fn an_instruction_that_is_not_supported_costs_one_launch() {
    let _alone = support::alone();
    const NOT_SUPPORTED: u32 = 801;
    let refused = function(REFUSED, c"refused");
    let launch = |stream: u64, go: u32| {
        let params = [at(&go)];
        call(driver(), "cuLaunchKernel", &[refused, 1, 1, 1, 32, 1, 1, 0, stream, at(&params), 0])
    };
    for _ in 0..2 {
        assert_eq!(launch(0, 1), NOT_SUPPORTED);
        assert_eq!(call(driver(), "cuCtxSynchronize", &[]), 0);
        assert_eq!(launch(0, 0), 0);
    }
    // A graph says so when it is waited for, once.
    let (mut stream, mut graph, mut exec) = (0u64, 0u64, 0u64);
    ok("cuStreamCreate", &[out(&mut stream), 0]);
    ok("cuStreamBeginCapture_v2", &[stream, 0]);
    assert_eq!(launch(stream, 1), 0);
    ok("cuStreamEndCapture", &[stream, out(&mut graph)]);
    ok("cuGraphInstantiateWithFlags", &[out(&mut exec), graph, 0]);
    ok("cuGraphLaunch", &[exec, stream]);
    assert_eq!(call(driver(), "cuStreamSynchronize", &[stream]), NOT_SUPPORTED);
    ok("cuStreamSynchronize", &[stream]);
    ok("cuCtxSynchronize", &[]);
    // Memory and other kernels are as before.
    let mut data = 0u64;
    ok("cuMemAlloc_v2", &[out(&mut data), 4096]);
    let add = function(PTX, c"nothing");
    ok("cuLaunchKernel", &[add, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0]);
    ok("cuStreamSynchronize", &[stream]);
}

static OPEN: AtomicBool = AtomicBool::new(false);
static LAUNCHED: AtomicU32 = AtomicU32::new(0);

extern "C" fn wait(_: *mut c_void) {
    while !OPEN.load(SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_full_stream_makes_the_program_wait() {
    let _alone = support::alone();
    let nothing = function(PTX, c"nothing");
    let mut stream = 0u64;
    ok("cuStreamCreate", &[out(&mut stream), 0]);
    ok("cuLaunchHostFunc", &[stream, wait as extern "C" fn(*mut c_void) as usize as u64, 0]);
    let watcher = std::thread::spawn(|| {
        // As soon as no launch is added for a while.
        let (mut seen, mut since) = (0, Instant::now());
        while seen == 0 || since.elapsed() < Duration::from_millis(500) {
            std::thread::sleep(Duration::from_millis(10));
            if seen != LAUNCHED.load(SeqCst) {
                (seen, since) = (LAUNCHED.load(SeqCst), Instant::now());
            }
        }
        OPEN.store(true, SeqCst);
        seen
    });
    for _ in 0..3000 {
        ok("cuLaunchKernel", &[nothing, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0]);
        LAUNCHED.fetch_add(1, SeqCst);
    }
    let waiting = watcher.join().expect("the watcher");
    assert!((1000..1100).contains(&waiting), "{waiting} launches are pending");
    ok("cuStreamSynchronize", &[stream]);
}

#[test]
fn an_event_of_a_context_is_behind_all_its_streams_and_all_of_them_wait_for_it() {
    let _alone = support::alone();
    const NOT_READY: u32 = 600;
    const NON_BLOCKING: u64 = 1;
    const EQUAL: u64 = 1;
    function(REFUSED, c"refused");
    let (mut first, mut second, mut event, mut word) = (0u64, 0u64, 0u64, 0u64);
    ok("cuStreamCreate", &[out(&mut first), NON_BLOCKING]);
    ok("cuStreamCreate", &[out(&mut second), NON_BLOCKING]);
    ok("cuEventCreate", &[out(&mut event), 0]);
    ok("cuMemAllocHost_v2", &[out(&mut word), 4]);
    // SAFETY: the four bytes are the host's, too.
    let word = unsafe { &*(word as *const AtomicU32) };
    word.store(0, SeqCst);
    ok("cuStreamWaitValue32_v2", &[first, at(word), 1, EQUAL]);
    ok("cuCtxRecordEvent", &[0, event]);
    ok("cuCtxWaitEvent", &[0, event]);
    assert_eq!(call(driver(), "cuEventQuery", &[event]), NOT_READY);
    assert_eq!(call(driver(), "cuStreamQuery", &[second]), NOT_READY);
    word.store(1, SeqCst);
    ok("cuStreamSynchronize", &[second]);
    ok("cuEventQuery", &[event]);
}
