//! The part of CUDA's device runtime library that is written in PTX here.

use crate::module::Module;
use crate::parser::parse;
use crate::span::Source;

/// What sources of it are called.
pub const DEVICE_RUNTIME: &str = "device_runtime.ptx";
/// Synchronisation of a grid for compilers that do not use cooperative groups' header.
const GRIDS: &str = include_str!("device_runtime/grids.ptx");
/// Launches by kernels; made of `launches.cu` beside it.
const LAUNCHES: &str = include_str!("device_runtime/launches.ptx");

/// Updates of a graph's nodes by kernels; made of `nodes.cu`.
const NODES: &str = include_str!("device_runtime/nodes.ptx");

/// What of it a simulator does by itself, without `__cudaCDP2` and what follows.
const BUILT_IN: &[&str] = &[
    "GetParameterBuffer",
    "LaunchDevice",
    "GetLastError",
    "PeekAtLastError",
    "GetError",
    "StreamDestroy",
    "StreamWaitEvent",
    "EventRecord",
    "EventDestroy",
];

/// Whether a module declares a function of one of these names and none defines it.
fn calls(modules: &[Module], named: impl Fn(&str) -> bool) -> bool {
    let functions = || modules.iter().flat_map(|module| &module.functions).filter(|f| named(&f.name));
    functions().next().is_some() && !functions().any(|function| function.body.is_some())
}

/// Whether a module is NVIDIA's device runtime library, which calls what only a driver has.
fn is_nvidias(module: &Module) -> bool {
    module.functions.iter().any(|f| &*f.name == "__cudaCDP2LaunchDeviceV2" && f.body.is_some())
}

/// Adds what modules need of the device runtime library, in place of NVIDIA's, to be linked with them.
///
/// ```
/// # use ptx_frontend::{Source, add_device_runtime, parse};
/// let text = ".version 9.0\n.target sm_90\n.extern .func (.param .b32 s) __cudaCDP2Malloc(.param .b64 p, .param .b64 n);";
/// let mut modules = vec![parse(Source::new("a.ptx", text.into())).module.unwrap()];
/// add_device_runtime(&mut modules);
/// assert_eq!(modules.len(), 2);
/// ```
pub fn add_device_runtime(modules: &mut Vec<Module>) {
    modules.retain(|module| !is_nvidias(module));
    let mut add = |name: &str, text: &str, named: &dyn Fn(&str) -> bool| {
        if calls(modules, named) {
            modules.extend(parse(Source::new(name, text.into())).module);
        }
    };
    let of_grids = |name: &str| matches!(name, "cudaCGGetIntrinsicHandle" | "cudaCGSynchronize");
    add(DEVICE_RUNTIME, GRIDS, &of_grids);
    add(DEVICE_RUNTIME, NODES, &|name| name.starts_with("cudaGraphKernelNode"));
    add(DEVICE_RUNTIME, LAUNCHES, &|name| {
        name.strip_prefix("__cudaCDP2")
            .is_some_and(|name| !BUILT_IN.iter().any(|known| name.starts_with(known)))
    });
}
