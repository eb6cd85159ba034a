//! A launch that has begun ends, whatever comes of it.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use runtime::{KernelCall, Module, Operation, Status, compile};
use sim_core::{Dim3, Launch};

const TEXT: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry fine(.param .u32 a) { ret; }
.visible .entry stops(.param .u32 a) { trap; }
.visible .entry panics(.param .u32 a) { ret; }
";

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
        let linked = compile(&[("text.ptx".into(), TEXT.into())]).unwrap();
        let module = Module::load(&context, linked, None).unwrap();
        let function = module.function(kernel).unwrap();
        let launch = Launch {
            kernel: kernel.into(),
            grid: Dim3::ONE,
            cluster: None,
            block: Dim3::ONE,
            shared_bytes: 0,
            params: vec![0; bytes],
            cooperative: false,
        };
        let call = Operation::Kernel(Arc::new(KernelCall { function, launch }));
        assert_eq!(context.run(&context.legacy, call), status, "{kernel}");
        let [begun, ended] = &program.launches;
        assert_eq!((begun.load(SeqCst), ended.load(SeqCst)), (1, 1), "{kernel} with {bytes} bytes");
    }
}
