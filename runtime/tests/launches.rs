//! A launch that has begun ends, whatever comes of it; and what a cooperative one gets of the device runtime.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use runtime::{Built, Context, KernelCall, Module, Operation, Result, Status, compile};
use sim_core::{Dim3, Launch};

const TEXT: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry fine(.param .u32 a) { ret; }
.visible .entry stops(.param .u32 a) { trap; }
.visible .entry panics(.param .u32 a) { ret; }
";

/// Launches one thread of a kernel with so many bytes of zeros as parameters, and waits.
fn launch(context: &Arc<Context>, text: &str, kernel: &str, bytes: usize, cooperative: bool) -> Result {
    let linked = compile(&[("text.ptx".into(), text.into())], 90).unwrap();
    let module = Module::load(context, linked, Built::default()).unwrap();
    let function = module.function(kernel).unwrap();
    let launch = Launch {
        kernel: kernel.into(),
        grid: Dim3::ONE,
        cluster: None,
        block: Dim3::ONE,
        shared_bytes: 0,
        params: vec![0; bytes],
        cooperative,
    };
    context
        .run(&context.legacy, Operation::Kernel(Arc::new(KernelCall { function, launch, updatable: None })))
}

#[test]
fn whatever_comes_of_a_launch_it_has_ended() {
    // The simulator refuses a parameter buffer of the wrong size; the host panics for a kernel of that name.
    for (kernel, bytes, status) in [
        ("fine", 4, Ok(())),
        ("fine", 3, Err(Status::LAUNCH_FAILED)),
        ("stops", 4, Err(Status::LAUNCH_FAILED)),
        ("panics", 4, Err(Status::UNKNOWN)),
    ] {
        let (program, _runtime, context) = support::context();
        assert_eq!(launch(&context, TEXT, kernel, bytes, false), status, "{kernel}");
        let [begun, ended] = &program.launches;
        assert_eq!((begun.load(SeqCst), ended.load(SeqCst)), (1, 1), "{kernel} with {bytes} bytes");
    }
}

/// A kernel stops if a group is not as it should be.
const GROUPS: &str = ".version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.extern .func (.param .b32 status) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle);
.visible .entry grid()
{
    .reg .b64 %d; .reg .b32 %r; .reg .pred %p;
    .param .b32 scope; .param .b64 handle; .param .b32 flags; .param .b32 status;
    st.param.b32 [scope], 1;
    call (handle), cudaCGGetIntrinsicHandle, (scope);
    ld.param.b64 %d, [handle];
    setp.eq.u64 %p, %d, 0;
    @%p trap;
    st.param.b64 [handle], %d;
    st.param.b32 [flags], 0;
    call (status), cudaCGSynchronize, (handle, flags);
    ld.param.b32 %r, [status];
    setp.ne.u32 %p, %r, 0;
    @%p trap;
    st.param.b32 [scope], 2;
    call (handle), cudaCGGetIntrinsicHandle, (scope);
    ld.param.b64 %d, [handle];
    setp.ne.u64 %p, %d, 0;
    @%p trap;
    ret;
}
.visible .entry grids()
{
    .reg .b32 %r;
    .param .b64 threads; .param .b64 grids; .param .b64 handle; .param .b32 status;
    st.param.b64 [threads], 0;
    st.param.b64 [grids], 0;
    st.param.b64 [handle], 0;
    call (status), cudaCGGetSize, (threads, grids, handle);
    ret;
}
";

#[test]
fn there_is_no_group_of_the_grids_of_several_devices() {
    let (_program, _runtime, context) = support::context();
    assert_eq!(launch(&context, GROUPS, "grid", 0, true), Ok(()));
    assert_eq!(launch(&context, GROUPS, "grids", 0, true), Err(Status::NOT_SUPPORTED));
}
