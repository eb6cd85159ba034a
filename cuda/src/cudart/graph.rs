//! Graphs: the driver's, with kernels by address and copies by direction.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use cuda_abi::driver::{
    GraphInstantiateParams, HostNodeParams, KernelNodeParams, MemAllocNodeParams, Memcpy3D, MemsetNodeParams,
};
use cuda_abi::runtime as abi;
use runtime::{ExecGraph, Graph, Operation, Result, Status};
use sim_core::Dim3;

use crate::cudart::context::ensure;
use crate::cudart::error::of;
use crate::cudart::memory::{node_copy, of_volume, symbol_bytes, volume_of};
use crate::cudart::register::function;
use crate::driver::copy::describe;
use crate::driver::launch::{call, pack};
use crate::driver::node::{add, change, change_exec, copying};
use crate::driver::{graph as driver, memory_node, node as driver_node, user_object as driver_user};
use crate::ffi::{Handle, get, put};
use crate::object::{self, NodeRef};

unsafe fn kernel(params: *const abi::KernelNodeParams) -> Result<Operation> {
    let context = ensure()?;
    // SAFETY: null or the structure.
    let asked = unsafe { get(params) }?;
    let function = function(&context, asked.function)?;
    let config = runtime::LaunchConfig {
        grid: Dim3::from(asked.grid),
        block: Dim3::from(asked.block),
        cluster: None,
        shared: asked.shared,
        cooperative: false,
    };
    // SAFETY: the program describes a launch.
    let packed = unsafe { pack(&function, asked.params, asked.extra) }?;
    call(function, &config, packed)
}

unsafe fn volume(params: *const abi::Memcpy3DParms) -> Result<Operation> {
    let context = ensure()?;
    // SAFETY: null or the structure.
    let asked = volume_of(&unsafe { get(params) }?)?;
    copying(describe(&context, &asked)?)
}

/// `cudaGraphNodeParams`: the kind, three words, and what the kind needs.
type NodeParams = [u64; 32];

/// The operation that general parameters describe.
unsafe fn general(params: *const NodeParams) -> Result<Operation> {
    ensure()?;
    // SAFETY: null or the structure.
    let kind = unsafe { get(params.cast::<u32>()) }?;
    let body = params.cast::<u64>().wrapping_add(2);
    // SAFETY: as above; kernels and copies have structures of their own, the rest is the driver's.
    unsafe {
        match kind {
            0 => kernel(body.cast()),
            // Flags and three reserved words stand before the copy.
            1 => volume(body.wrapping_add(2).cast()),
            _ => driver_node::general(params),
        }
    }
}

/// What a node that is neither a kernel's nor a copy's was made with, behind the first two words of general parameters.
///
/// # Safety
/// There is room for the parameters of any node.
unsafe fn put_general(node: Handle, body: *mut u64) -> Result {
    let found: NodeRef = object::find(node)?;
    // SAFETY: the caller's promise.
    unsafe {
        match found.graph.node(found.id)?.operation {
            Operation::Fill(_) => of(driver_node::cuGraphMemsetNodeGetParams(node, body.cast())),
            Operation::Host { .. } => of(driver_node::cuGraphHostNodeGetParams(node, body.cast())),
            Operation::Child(child) => put(body, driver::graph_handle(&child)),
            Operation::Wait(event) | Operation::Record(event) => put(body, object::handle(event.id)),
            Operation::Allocate(_) => of(memory_node::cuGraphMemAllocNodeGetParams(node, body.cast())),
            Operation::Free(address) => put(body, address),
            Operation::Batch(_) | Operation::WaitValue { .. } | Operation::WriteValue { .. } => {
                of(driver_node::cuGraphBatchMemOpNodeGetParams(node, body.cast()))
            }
            Operation::Conditional(conditional) => {
                put(body, conditional.condition.handle)?;
                put(body.wrapping_add(1).cast(), [conditional.kind as u32, conditional.bodies.len() as u32])
            }
            Operation::Kernel(_)
            | Operation::Copy(_)
            | Operation::Callback(_)
            | Operation::Empty
            | Operation::Map(_) => Ok(()),
        }
    }
}

fn linear(to: u64, from: u64, bytes: usize, kind: u32) -> Result<Operation> {
    Ok(Operation::Copy(Arc::new(node_copy(to, from, bytes, kind)?)))
}

/// Where handles are put.
type Handles = *mut Handle;

rt! {
    fn cudaGraphAddKernelNode(
        node: Handles, graph: Handle, after: *const Handle, count: usize, params: *const abi::KernelNodeParams
    ) {
        add(node, graph, after, count, kernel(params)?).map(|_| ())
    }

    fn cudaGraphKernelNodeGetParams(node: Handle, params: *mut abi::KernelNodeParams) {
        let mut found = KernelNodeParams::default();
        if params.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        crate::cudart::error::of(driver_node::cuGraphKernelNodeGetParams_v2(node, &raw mut found))?;
        let dim = |[x, y, z]: [u32; 3]| abi::Dim3 { x, y, z };
        // The function as the program named it, if it did by its address.
        put(params, abi::KernelNodeParams {
            function: crate::cudart::register::address_of(found.func).unwrap_or(found.func),
            grid: dim(found.grid),
            block: dim(found.block),
            shared: found.shared,
            params: found.params as *const u64,
            extra: std::ptr::null(),
        })
    }

    fn cudaGraphMemcpyNodeGetParams(node: Handle, params: *mut abi::Memcpy3DParms) {
        let mut found = Memcpy3D::default();
        if params.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        crate::cudart::error::of(driver_node::cuGraphMemcpyNodeGetParams(node, &raw mut found))?;
        put(params, of_volume(&found)?)
    }

    fn cudaGraphAddNode(
        node: Handles, graph: Handle, after: *const Handle, data: *const u64, count: usize, params: *const NodeParams
    ) {
        driver_node::add_general(node, graph, after, data, count, params, general)
    }

    fn cudaGraphAddNode_v2(
        node: Handles, graph: Handle, after: *const Handle, data: *const u64, count: usize, params: *const NodeParams
    ) {
        driver_node::add_general(node, graph, after, data, count, params, general)
    }

    fn cudaGraphAddNode_cuda12(
        node: Handles, graph: Handle, after: *const Handle, count: usize, params: *const NodeParams
    ) {
        driver_node::add_general(node, graph, after, std::ptr::null(), count, params, general)
    }

    fn cudaGraphConditionalHandleCreate(to: *mut u64, graph: Handle, default: u32, flags: u32) {
        ensure()?;
        crate::cudart::error::of(driver::cuGraphConditionalHandleCreate(to, graph, 0, default, flags))
    }

    fn cudaGraphConditionalHandleCreate_v2(to: *mut u64, graph: Handle, context: Handle, default: u32, flags: u32) {
        ensure()?;
        crate::cudart::error::of(driver::cuGraphConditionalHandleCreate(to, graph, context, default, flags))
    }

    fn cudaGraphGetId(graph: Handle, id: *mut u32) {
        put(id, driver::graph_number(object::find::<Arc<Graph>>(graph)?.id))
    }

    fn cudaGraphExecGetId(exec: Handle, id: *mut u32) {
        put(id, driver::graph_number(object::find::<Arc<ExecGraph>>(exec)?.id))
    }

    fn cudaGraphNodeGetContainingGraph(node: Handle, graph: *mut Handle) {
        put(graph, driver::graph_handle(&object::find::<NodeRef>(node)?.graph))
    }

    fn cudaGraphNodeGetLocalId(node: Handle, id: *mut u32) {
        put(id, driver::graph_number(object::find::<NodeRef>(node)?.id))
    }

    fn cudaGraphNodeGetToolsId(node: Handle, id: *mut u64) {
        put(id, object::find::<NodeRef>(node)?.id)
    }

    fn cudaGraphNodeGetParams(node: Handle, params: *mut NodeParams) {
        let mut kind = 0;
        crate::cudart::error::of(driver::cuGraphNodeGetType(node, &raw mut kind))?;
        put(params, [0; 32])?;
        put(params.cast::<u32>(), kind)?;
        let body = params.cast::<u64>().wrapping_add(2);
        if kind == 0 {
            return crate::cudart::error::of(cudaGraphKernelNodeGetParams(node, body.cast()));
        }
        if kind == 1 {
            return crate::cudart::error::of(cudaGraphMemcpyNodeGetParams(node, body.wrapping_add(2).cast()));
        }
        put_general(node, body)
    }

    fn cudaGraphNodeSetParams(node: Handle, params: *const NodeParams) {
        change(node, general(params)?)
    }

    fn cudaGraphExecNodeSetParams(exec: Handle, node: Handle, params: *const NodeParams) {
        change_exec(exec, node, general(params)?)
    }

    fn cudaGraphAddMemFreeNode(node: Handles, graph: Handle, after: *const Handle, count: usize, address: u64) {
        ensure()?;
        crate::cudart::error::of(memory_node::cuGraphAddMemFreeNode(node, graph, after, count, address))
    }

    fn cudaGraphKernelNodeSetParams(node: Handle, params: *const abi::KernelNodeParams) {
        change(node, kernel(params)?)
    }

    fn cudaGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const abi::KernelNodeParams) {
        change_exec(exec, node, kernel(params)?)
    }

    fn cudaGraphAddMemcpyNode(
        node: Handles, graph: Handle, after: *const Handle, count: usize, params: *const abi::Memcpy3DParms
    ) {
        add(node, graph, after, count, volume(params)?).map(|_| ())
    }

    fn cudaGraphMemcpyNodeSetParams(node: Handle, params: *const abi::Memcpy3DParms) {
        change(node, volume(params)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, params: *const abi::Memcpy3DParms) {
        change_exec(exec, node, volume(params)?)
    }

    fn cudaGraphAddMemcpyNode1D(
        node: Handles, graph: Handle, after: *const Handle, count: usize, to: u64, from: u64, bytes: usize, kind: u32
    ) {
        add(node, graph, after, count, linear(to, from, bytes, kind)?).map(|_| ())
    }

    fn cudaGraphMemcpyNodeSetParams1D(node: Handle, to: u64, from: u64, bytes: usize, kind: u32) {
        change(node, linear(to, from, bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(exec: Handle, node: Handle, to: u64, from: u64, bytes: usize, kind: u32) {
        change_exec(exec, node, linear(to, from, bytes, kind)?)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        node: Handles, graph: Handle, after: *const Handle, count: usize, symbol: u64, from: u64, bytes: usize,
        offset: usize, kind: u32
    ) {
        let to = symbol_bytes(symbol, bytes, offset)?;
        add(node, graph, after, count, linear(to, from, bytes, kind)?).map(|_| ())
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: Handles, graph: Handle, after: *const Handle, count: usize, to: u64, symbol: u64, bytes: usize,
        offset: usize, kind: u32
    ) {
        let from = symbol_bytes(symbol, bytes, offset)?;
        add(node, graph, after, count, linear(to, from, bytes, kind)?).map(|_| ())
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: Handle, symbol: u64, from: u64, bytes: usize, offset: usize, kind: u32
    ) {
        change(node, linear(symbol_bytes(symbol, bytes, offset)?, from, bytes, kind)?)
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: Handle, to: u64, symbol: u64, bytes: usize, offset: usize, kind: u32
    ) {
        change(node, linear(to, symbol_bytes(symbol, bytes, offset)?, bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        exec: Handle, node: Handle, symbol: u64, from: u64, bytes: usize, offset: usize, kind: u32
    ) {
        change_exec(exec, node, linear(symbol_bytes(symbol, bytes, offset)?, from, bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        exec: Handle, node: Handle, to: u64, symbol: u64, bytes: usize, offset: usize, kind: u32
    ) {
        change_exec(exec, node, linear(to, symbol_bytes(symbol, bytes, offset)?, bytes, kind)?)
    }

    fn cudaGraphAddMemsetNode(
        node: Handles, graph: Handle, after: *const Handle, count: usize, params: *const MemsetNodeParams
    ) {
        ensure()?;
        crate::cudart::error::of(driver_node::cuGraphAddMemsetNode(node, graph, after, count, params, 0))
    }

    fn cudaGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const MemsetNodeParams) {
        ensure()?;
        crate::cudart::error::of(driver_node::cuGraphExecMemsetNodeSetParams(exec, node, params, 0))
    }

    fn cudaGraphExecUpdate(exec: Handle, graph: Handle, result: *mut [u64; 3]) {
        ensure()?;
        crate::cudart::error::of(driver::cuGraphExecUpdate_v2(exec, graph, result))
    }

    fn cudaGraphInstantiate_cuda12(exec: Handles, graph: Handle, flags: u64) {
        ensure()?;
        crate::cudart::error::of(driver::cuGraphInstantiateWithFlags(exec, graph, flags))
    }

    fn cudaGraphGetEdges_cuda12(graph: Handle, from: Handles, to: Handles, count: *mut usize) {
        ensure()?;
        crate::cudart::error::of(driver::cuGraphGetEdges(graph, from, to, count))
    }

    fn cudaGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: u32) {
        ensure()?;
        crate::cudart::error::of(driver::cuGraphDebugDotPrint(graph, path, flags))
    }
}

rt_as_driver! {
    cudaGraphCreate = driver::cuGraphCreate, (graph: Handles, flags: u32);
    cudaGraphDestroy = driver::cuGraphDestroy, (graph: Handle);
    cudaGraphClone = driver::cuGraphClone, (clone: Handles, graph: Handle);
    cudaGraphNodeFindInClone = driver::cuGraphNodeFindInClone, (node: Handles, original: Handle, clone: Handle);
    cudaGraphDestroyNode = driver::cuGraphDestroyNode, (node: Handle);
    cudaGraphGetNodes = driver::cuGraphGetNodes, (graph: Handle, nodes: Handles, count: *mut usize);
    cudaGraphGetRootNodes = driver::cuGraphGetRootNodes, (graph: Handle, nodes: Handles, count: *mut usize);
    cudaGraphGetEdges = driver::cuGraphGetEdges_v2, (graph: Handle, from: Handles, to: Handles, data: *mut u64, count: *mut usize);
    cudaGraphGetEdges_v2 = driver::cuGraphGetEdges_v2, (graph: Handle, from: Handles, to: Handles, data: *mut u64, count: *mut usize);
    cudaGraphAddDependencies = driver::cuGraphAddDependencies_v2, (graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize);
    cudaGraphAddDependencies_v2 = driver::cuGraphAddDependencies_v2, (graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize);
    cudaGraphAddDependencies_cuda12 = driver::cuGraphAddDependencies, (graph: Handle, from: *const Handle, to: *const Handle, count: usize);
    cudaGraphRemoveDependencies = driver::cuGraphRemoveDependencies_v2, (graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize);
    cudaGraphRemoveDependencies_v2 = driver::cuGraphRemoveDependencies_v2, (graph: Handle, from: *const Handle, to: *const Handle, data: *const u64, count: usize);
    cudaGraphRemoveDependencies_cuda12 = driver::cuGraphRemoveDependencies, (graph: Handle, from: *const Handle, to: *const Handle, count: usize);
    cudaGraphNodeGetDependencies = driver::cuGraphNodeGetDependencies_v2, (node: Handle, nodes: Handles, data: *mut u64, count: *mut usize);
    cudaGraphNodeGetDependencies_v2 = driver::cuGraphNodeGetDependencies_v2, (node: Handle, nodes: Handles, data: *mut u64, count: *mut usize);
    cudaGraphNodeGetDependencies_cuda12 = driver::cuGraphNodeGetDependencies, (node: Handle, nodes: Handles, count: *mut usize);
    cudaGraphNodeGetDependentNodes = driver::cuGraphNodeGetDependentNodes_v2, (node: Handle, nodes: Handles, data: *mut u64, count: *mut usize);
    cudaGraphNodeGetDependentNodes_v2 = driver::cuGraphNodeGetDependentNodes_v2, (node: Handle, nodes: Handles, data: *mut u64, count: *mut usize);
    cudaGraphNodeGetDependentNodes_cuda12 = driver::cuGraphNodeGetDependentNodes, (node: Handle, nodes: Handles, count: *mut usize);
    cudaGraphNodeGetType = driver::cuGraphNodeGetType, (node: Handle, kind: *mut u32);
    cudaGraphInstantiate = driver::cuGraphInstantiateWithFlags, (exec: Handles, graph: Handle, flags: u64);
    cudaGraphInstantiateWithFlags = driver::cuGraphInstantiateWithFlags, (exec: Handles, graph: Handle, flags: u64);
    cudaGraphInstantiateWithParams = driver::cuGraphInstantiateWithParams, (exec: Handles, graph: Handle, params: *mut GraphInstantiateParams);
    cudaGraphInstantiateWithParams_ptsz = driver::cuGraphInstantiateWithParams, (exec: Handles, graph: Handle, params: *mut GraphInstantiateParams);
    cudaGraphExecDestroy = driver::cuGraphExecDestroy, (exec: Handle);
    cudaGraphExecGetFlags = driver::cuGraphExecGetFlags, (exec: Handle, flags: *mut u64);
    cudaGraphNodeSetEnabled = driver::cuGraphNodeSetEnabled, (exec: Handle, node: Handle, enabled: u32);
    cudaGraphNodeGetEnabled = driver::cuGraphNodeGetEnabled, (exec: Handle, node: Handle, enabled: *mut u32);
    cudaGraphKernelNodeGetAttribute = driver_node::cuGraphKernelNodeGetAttribute, (node: Handle, number: u32, value: *mut [u32; 16]);
    cudaGraphKernelNodeSetAttribute = driver_node::cuGraphKernelNodeSetAttribute, (node: Handle, number: u32, value: *const [u32; 16]);
    cudaGraphKernelNodeCopyAttributes = driver_node::cuGraphKernelNodeCopyAttributes, (to: Handle, from: Handle);
    cudaGraphAddMemAllocNode = memory_node::cuGraphAddMemAllocNode, (node: Handles, graph: Handle, after: *const Handle, count: usize, params: *mut MemAllocNodeParams);
    cudaGraphMemAllocNodeGetParams = memory_node::cuGraphMemAllocNodeGetParams, (node: Handle, params: *mut MemAllocNodeParams);
    cudaGraphMemFreeNodeGetParams = memory_node::cuGraphMemFreeNodeGetParams, (node: Handle, address: *mut u64);
    cudaGraphMemsetNodeGetParams = driver_node::cuGraphMemsetNodeGetParams, (node: Handle, params: *mut MemsetNodeParams);
    cudaGraphMemsetNodeSetParams = driver_node::cuGraphMemsetNodeSetParams, (node: Handle, params: *const MemsetNodeParams);
    cudaGraphAddHostNode = driver_node::cuGraphAddHostNode, (node: Handles, graph: Handle, after: *const Handle, count: usize, params: *const HostNodeParams);
    cudaGraphHostNodeGetParams = driver_node::cuGraphHostNodeGetParams, (node: Handle, params: *mut HostNodeParams);
    cudaGraphHostNodeSetParams = driver_node::cuGraphHostNodeSetParams, (node: Handle, params: *const HostNodeParams);
    cudaGraphExecHostNodeSetParams = driver_node::cuGraphExecHostNodeSetParams, (exec: Handle, node: Handle, params: *const HostNodeParams);
    cudaGraphAddEmptyNode = driver_node::cuGraphAddEmptyNode, (node: Handles, graph: Handle, after: *const Handle, count: usize);
    cudaGraphAddChildGraphNode = driver_node::cuGraphAddChildGraphNode, (node: Handles, graph: Handle, after: *const Handle, count: usize, child: Handle);
    cudaGraphChildGraphNodeGetGraph = driver_node::cuGraphChildGraphNodeGetGraph, (node: Handle, graph: Handles);
    cudaGraphExecChildGraphNodeSetParams = driver_node::cuGraphExecChildGraphNodeSetParams, (exec: Handle, node: Handle, child: Handle);
    cudaGraphAddEventRecordNode = driver_node::cuGraphAddEventRecordNode, (node: Handles, graph: Handle, after: *const Handle, count: usize, event: Handle);
    cudaGraphEventRecordNodeGetEvent = driver_node::cuGraphEventRecordNodeGetEvent, (node: Handle, event: Handles);
    cudaGraphEventRecordNodeSetEvent = driver_node::cuGraphEventRecordNodeSetEvent, (node: Handle, event: Handle);
    cudaGraphExecEventRecordNodeSetEvent = driver_node::cuGraphExecEventRecordNodeSetEvent, (exec: Handle, node: Handle, event: Handle);
    cudaGraphAddEventWaitNode = driver_node::cuGraphAddEventWaitNode, (node: Handles, graph: Handle, after: *const Handle, count: usize, event: Handle);
    cudaGraphEventWaitNodeGetEvent = driver_node::cuGraphEventWaitNodeGetEvent, (node: Handle, event: Handles);
    cudaGraphEventWaitNodeSetEvent = driver_node::cuGraphEventWaitNodeSetEvent, (node: Handle, event: Handle);
    cudaGraphExecEventWaitNodeSetEvent = driver_node::cuGraphExecEventWaitNodeSetEvent, (exec: Handle, node: Handle, event: Handle);
    cudaUserObjectCreate = driver_user::cuUserObjectCreate, (to: Handles, argument: *mut c_void, destroy: Option<unsafe extern "C" fn(*mut c_void)>, count: u32, flags: u32);
    cudaUserObjectRetain = driver_user::cuUserObjectRetain, (object: Handle, count: u32);
    cudaUserObjectRelease = driver_user::cuUserObjectRelease, (object: Handle, count: u32);
    cudaGraphRetainUserObject = driver_user::cuGraphRetainUserObject, (graph: Handle, object: Handle, count: u32, flags: u32);
    cudaGraphReleaseUserObject = driver_user::cuGraphReleaseUserObject, (graph: Handle, object: Handle, count: u32);
}

rt_as_stream! {
    cudaGraphLaunch cudaGraphLaunch_ptsz = driver::cuGraphLaunch, driver::cuGraphLaunch_ptsz, (exec: Handle, stream: Handle);
    cudaGraphUpload cudaGraphUpload_ptsz = driver::cuGraphUpload, driver::cuGraphUpload_ptsz, (exec: Handle, stream: Handle);
}
