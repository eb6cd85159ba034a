//! What the kernels of a module need, and what in them cannot be run, without running them.

use ptx_frontend::{Linkage, Module, SourceId, Span, StateSpace};
use std::sync::Arc;

use crate::code::{Action, Code};
use crate::decode::decode;
use semantics::lanes::SimdLevel;

/// What is known about a kernel before it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// Its name.
    pub name: Arc<str>,
    /// 32-bit registers a thread, as estimated for the residency of blocks.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u64,
    /// Bytes of local memory of the kernel's own frame; functions that it calls have theirs.
    pub local_bytes: u64,
    /// Whether it, or a function that it may call, launches kernels or graphs.
    pub launches: bool,
    /// What it would be refused for when reached, with the place: its own instructions and those of
    /// all functions that it may call.
    pub unsupported: Vec<Unsupported>,
}

/// Something that the simulator refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// Which PTX text.
    pub source: SourceId,
    /// The instruction or declaration.
    pub span: Span,
    /// What it is.
    pub what: String,
}

/// Decodes every kernel of the module, in order of definition.
///
/// ```
/// let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { .shared .b32 s[4]; .reg .b32 r; ld.shared.b32 r, [s]; ret; }";
/// let module = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into())).module.unwrap();
/// let kernels = sim_core::inspect(&module.into());
/// assert_eq!((&*kernels[0].name, kernels[0].shared_bytes), ("k", 16));
/// assert!(kernels[0].unsupported.is_empty());
/// ```
pub fn inspect(module: &Arc<Module>) -> Vec<KernelInfo> {
    let level = SimdLevel::detect();
    module
        .kernels()
        .map(|(id, kernel)| {
            let code = decode(module, id, level, crate::Compiler::default());
            let mut unsupported = undefined(module);
            unsupported.extend(refused(&code));
            KernelInfo {
                name: (&*kernel.name).into(),
                registers: code.registers,
                shared_bytes: code.shared.static_bytes.into(),
                local_bytes: code.functions.first().map_or(0, |frame| frame.local_bytes.into()),
                launches: code.launches.kernels || code.launches.graphs,
                unsupported,
            }
        })
        .collect()
}

/// Variables that only another module could define; a module with one cannot be loaded.
fn undefined(module: &Module) -> Vec<Unsupported> {
    module
        .variables
        .iter()
        .filter(|v| v.linkage == Linkage::Extern && matches!(v.space, StateSpace::Global | StateSpace::Const))
        .map(|variable| Unsupported {
            source: variable.source,
            span: variable.span,
            what: format!("variable `{}`, which no module defines", variable.name),
        })
        .collect()
}

fn refused(code: &Code) -> impl Iterator<Item = Unsupported> + '_ {
    code.insts.iter().zip(&code.meta).filter_map(|(inst, meta)| {
        let Action::Unsupported(index) = inst.action else { return None };
        let function = &code.module.functions[code.functions[meta.function as usize].id.index()];
        let instruction = function.body.as_ref()?.instructions.get(meta.instruction as usize)?;
        Some(Unsupported {
            source: function.source,
            span: instruction.span,
            what: code.unsupported[index as usize].clone(),
        })
    })
}
