//! Kernel nodes that kernels may update: an attribute that nodes keep.

use std::sync::Arc;

use runtime::{Graph, KernelCall, Operation, Result, Status, Updatable};

/// Writes a handle where the attribute has it, behind whether the node may be updated.
pub(crate) fn set_handle(value: &mut [u32; 16], handle: u64) {
    *value = [0; 16];
    (value[0], value[2], value[3]) = (1, handle as u32, (handle >> 32) as u32);
}

/// Lets kernels update a kernel node; the handle by which they know it.
pub(crate) fn make_updatable(graph: &Graph, node: u64) -> Result<u64> {
    let Operation::Kernel(call) = graph.node(node)?.operation else { return Err(Status::INVALID_VALUE) };
    if let Some(updatable) = &call.updatable {
        return Ok(updatable.handle);
    }
    let context = call.function.module.context.upgrade().ok_or(Status::CONTEXT_IS_DESTROYED)?;
    let updatable = Updatable::new(context.device.index);
    let handle = updatable.handle;
    graph.set(node, with(&call, Some(updatable)))?;
    Ok(handle)
}

/// A kernel's operation that kernels may update, or not.
pub(crate) fn with(call: &KernelCall, updatable: Option<Arc<Updatable>>) -> Operation {
    Operation::Kernel(Arc::new(KernelCall { updatable, ..call.clone() }))
}
