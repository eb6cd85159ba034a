//! Nodes of graphs: adding them, reading and changing what they do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cuda_abi::driver::{
    BatchMemOp, BatchMemOpNodeParams, HostNodeParams, KernelNodeParams, Memcpy3D, MemsetNodeParams,
};
use cuda_abi::numbers::memory_type;
use runtime::{
    Conditional, Event, ExecGraph, Function, Graph, LaunchConfig, Operation, Result, Status, check_node_free,
    has_same_memory,
};
use sim_core::Dim3;

use crate::driver::context::context_or_current;
use crate::driver::copy::describe;
use crate::driver::function::{function, function_handle};
use crate::driver::graph::{edges_of, graph_handle, kind_of_memory, node_handle};
use crate::driver::hints;
use crate::driver::launch::{call, pack};
use crate::driver::memory::fill;
use crate::driver::stream::word;
use crate::driver::updates::{make_updatable, set_handle, with};
use crate::ffi::{Handle, get, list, put};
use crate::object::{self, NodeRef};
use crate::state::{self, current};

/// What nodes were described with, so that it can be asked for.
#[derive(Clone, Debug)]
enum Described {
    Copy(Memcpy3D),
    Batch(BatchMemOpNodeParams),
    /// Handles of the graphs of a conditional node.
    Bodies(#[expect(dead_code, reason = "the program holds a pointer to them")] Arc<[Handle]>),
    /// Pointers to arguments, and the arguments.
    Kernel(#[expect(dead_code, reason = "the program holds pointers into both")] (Arc<[u64]>, Arc<[u8]>)),
}

static DESCRIBED: Mutex<Option<HashMap<u64, Described>>> = Mutex::new(None);

fn describe_node(id: u64, as_: Described) {
    let mut table = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    table.get_or_insert_with(HashMap::new).insert(id, as_);
}

/// Forgets what was said of a node that is gone.
pub(crate) fn forget(id: u64) {
    if let Some(table) = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        table.remove(&id);
    }
    crate::driver::graph_memory::forget(id);
    hints::forget(id);
}

fn description(id: u64) -> Option<Described> {
    DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&id).cloned()
}

/// A kernel node's operation.
unsafe fn kernel(params: *const KernelNodeParams, has_kernel: bool) -> Result<Operation> {
    // SAFETY: null or the structure; older ones end before the kernel.
    let asked = unsafe {
        match has_kernel {
            true => get(params)?,
            false => {
                let words: [u64; 7] = get(params.cast())?;
                let mut full = KernelNodeParams::default();
                std::ptr::copy_nonoverlapping(words.as_ptr(), (&raw mut full).cast(), words.len());
                full
            }
        }
    };
    let function = function(if asked.func == 0 { asked.kernel } else { asked.func })?;
    let dim = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
    let config = LaunchConfig {
        grid: dim(asked.grid),
        block: dim(asked.block),
        cluster: None,
        shared: asked.shared,
        cooperative: false,
    };
    // SAFETY: the program describes a launch.
    let packed = unsafe { pack(&function, asked.params as *const u64, asked.extra as *const u64) }?;
    call(function, &config, packed)
}

unsafe fn kernel_params(node: &NodeRef, to: *mut KernelNodeParams, has_kernel: bool) -> Result {
    let Operation::Kernel(call) = node.graph.node(node.id)?.operation else {
        return Err(Status::INVALID_VALUE);
    };
    let bytes: Arc<[u8]> = call.launch.params.as_slice().into();
    let pointers = call.function.params.iter().map(|one| bytes.as_ptr() as u64 + one.offset as u64);
    let pointers: Arc<[u64]> = pointers.collect();
    let (grid, block) = (call.launch.grid, call.launch.block);
    let params = KernelNodeParams {
        func: function_handle(&call.function),
        grid: [grid.x, grid.y, grid.z],
        block: [block.x, block.y, block.z],
        shared: call.launch.shared_bytes,
        params: pointers.as_ptr() as u64,
        extra: 0,
        kernel: 0,
        context: 0,
    };
    describe_node(node.id, Described::Kernel((pointers, bytes)));
    // SAFETY: null or room for the structure; older ones end before the kernel.
    unsafe {
        match has_kernel {
            true => put(to, params),
            false => put(to.cast(), std::mem::transmute_copy::<KernelNodeParams, [u64; 7]>(&params)),
        }
    }
}

unsafe fn copy(params: *const Memcpy3D) -> Result<(Operation, Memcpy3D)> {
    // SAFETY: null or the structure.
    let asked = unsafe { get(params) }?;
    Ok((copying(describe(&*current()?, &asked)?)?, asked))
}

/// The operation of a node that copies: a device takes none that copies nothing.
pub(crate) fn copying(copy: runtime::Copy) -> Result<Operation> {
    if copy.bytes() == 0 { Err(Status::INVALID_VALUE) } else { Ok(Operation::Copy(Arc::new(copy))) }
}

unsafe fn set(params: *const MemsetNodeParams) -> Result<Operation> {
    // SAFETY: null or the structure.
    let asked = unsafe { get(params) }?;
    if !matches!(asked.element, 1 | 2 | 4) || asked.width == 0 || asked.height == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let pitch = if asked.height > 1 { asked.pitch as u64 } else { 0 };
    let described = runtime::Fill {
        to: asked.dst,
        pitch,
        value: asked.value,
        element: asked.element,
        width: asked.width as u64,
        height: asked.height as u64,
    };
    fill(&*current()?, described)
}

unsafe fn host(params: *const HostNodeParams) -> Result<Operation> {
    // SAFETY: null or the structure.
    let asked = unsafe { get(params) }?;
    if asked.function == 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Operation::Host { function: asked.function, argument: asked.argument })
}

fn event(event: Handle) -> Result<Arc<Event>> {
    object::find(event).map_err(|_| Status::INVALID_VALUE)
}

/// How the driver describes a copy.
fn describe_copy(copy: &runtime::Copy) -> Memcpy3D {
    let side = |area: &runtime::Area| match area.place {
        runtime::Place::Device(address) => (memory_type::UNIFIED, address),
        runtime::Place::Host(address) => (memory_type::HOST, address),
        runtime::Place::Bytes(ref bytes) => (memory_type::HOST, bytes.as_ptr() as u64),
    };
    let rows = |area: &runtime::Area| (area.slice / area.pitch.max(1)) as usize;
    let ((src_type, src), (dst_type, dst)) = (side(&copy.from), side(&copy.to));
    Memcpy3D {
        src_type,
        src_host: src,
        src_device: src,
        src_pitch: copy.from.pitch as usize,
        src_height: rows(&copy.from),
        dst_type,
        dst_host: dst,
        dst_device: dst,
        dst_pitch: copy.to.pitch as usize,
        dst_height: rows(&copy.to),
        width: copy.width as usize,
        height: copy.height as usize,
        depth: copy.depth as usize,
        ..Memcpy3D::default()
    }
}

unsafe fn batch(params: *const BatchMemOpNodeParams) -> Result<Operation> {
    // SAFETY: null or the structure.
    let asked = unsafe { get(params) }?;
    if asked.flags != 0 || asked.count > 256 {
        return Err(Status::INVALID_VALUE);
    }
    let context = context_or_current(asked.context)?;
    // SAFETY: the program said how many there are.
    let list = unsafe { list(asked.operations as *const BatchMemOp, asked.count as usize) }?;
    let list: Result<Vec<Operation>> =
        list.iter().filter_map(|operation| word(&context, operation).transpose()).collect();
    Ok(Operation::Batch(list?.into()))
}

fn kernel_node(node: Handle) -> Result<(NodeRef, Arc<runtime::KernelCall>)> {
    let node = node_of(node)?;
    match node.graph.node(node.id)?.operation {
        Operation::Kernel(call) => Ok((node, call)),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// A kernel node's operation with another launch; what kernels may do with the node stays.
fn recall(
    old: &runtime::KernelCall,
    function: Arc<Function>,
    config: &LaunchConfig,
    params: Vec<u8>,
) -> Result<Operation> {
    match call(function, config, params)? {
        Operation::Kernel(new) if old.updatable.is_some() => Ok(with(&new, old.updatable.clone())),
        other => Ok(other),
    }
}

/// A kernel node's operation with other parameters: the attributes of the node stay.
fn with_attributes(old: Operation, new: Operation) -> Result<Operation> {
    match (old, new) {
        (Operation::Kernel(old), Operation::Kernel(new)) => {
            let config = LaunchConfig {
                grid: new.launch.grid,
                block: new.launch.block,
                cluster: old.launch.cluster,
                shared: new.launch.shared_bytes,
                cooperative: old.launch.cooperative,
            };
            recall(&old, new.function.clone(), &config, new.launch.params.clone())
        }
        (_, new) => Ok(new),
    }
}

/// The attribute by which kernels may update a node.
const UPDATABLE: u32 = 13;

/// What a kernel node's launch says of an attribute.
fn launch_attribute(call: &runtime::KernelCall, number: u32) -> Result<[u32; 16]> {
    let mut value = [0; 16];
    match number {
        2 => value[0] = u32::from(call.launch.cooperative),
        4 => {
            let cluster = call.launch.cluster.unwrap_or(Dim3::new(0, 0, 0));
            value[..3].copy_from_slice(&[cluster.x, cluster.y, cluster.z]);
        }
        UPDATABLE => {
            if let Some(updatable) = &call.updatable {
                set_handle(&mut value, updatable.handle);
            }
        }
        1 | 5 | 8 | 10 | 14 => {}
        // Domains of memory synchronisation: 0 and, for remote ones, 1.
        9 => value[0] = 1 << 8,
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(value)
}

/// Sets an attribute of a kernel node: of the launch, or one that only reads back.
fn set_attribute(node: &NodeRef, old: &runtime::KernelCall, number: u32, mut value: [u32; 16]) -> Result {
    let mut config = LaunchConfig {
        grid: old.launch.grid,
        block: old.launch.block,
        cluster: old.launch.cluster,
        shared: old.launch.shared_bytes,
        cooperative: old.launch.cooperative,
    };
    match number {
        2 => {
            config.cooperative = value[0] != 0;
            hints::set(node.id, number, value);
        }
        4 => config.cluster = (value[..3] != [0; 3]).then(|| Dim3::new(value[0], value[1], value[2])),
        1 if !hints::is_window(&value) => return Err(Status::INVALID_VALUE),
        10 if value[0] > 1 => return Err(Status::INVALID_VALUE),
        14 if value[0] > 100 => return Err(Status::INVALID_VALUE),
        // Priorities beyond the range are its ends.
        8 => value[0] = (value[0] as i32).clamp(-5, 0) as u32,
        1 | 5 | 9 | 10 | 14 | 16 => {}
        _ => return Err(Status::INVALID_VALUE),
    }
    if !matches!(number, 2 | 4) {
        hints::set(node.id, number, value);
        return Ok(());
    }
    node.graph.set(node.id, recall(old, old.function.clone(), &config, old.launch.params.clone())?)
}

/// Adds a node; returns its number.
pub(crate) fn add(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    count: usize,
    operation: Operation,
) -> Result<u64> {
    add_behind(to, graph, after, std::ptr::null(), count, operation)
}

/// The same behind edges of which the data are given.
pub(crate) fn add_behind(
    to: *mut Handle,
    graph: Handle,
    after: *const Handle,
    data: *const u64,
    count: usize,
    operation: Operation,
) -> Result<u64> {
    state::runtime()?;
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let graph: Arc<Graph> = object::find(graph)?;
    check_writes(&operation)?;
    let id = graph.add(operation, &edges_of(&graph, after, data, count)?)?;
    // SAFETY: it is not null; the program gave it for the result.
    unsafe { put(to, node_handle(&graph, id)) }?;
    Ok(id)
}

fn node_of(node: Handle) -> Result<NodeRef> {
    state::runtime()?;
    object::find(node)
}

/// Copies and fills in nodes write to no memory that may only be read.
fn check_writes(operation: &Operation) -> Result {
    match current() {
        Ok(context) if !context.allows_writes(operation) => Err(Status::INVALID_VALUE),
        _ => Ok(()),
    }
}

pub(crate) fn change(node: Handle, operation: Operation) -> Result {
    let node = node_of(node)?;
    check_writes(&operation)?;
    let operation = with_attributes(node.graph.node(node.id)?.operation, operation)?;
    node.graph.set(node.id, operation)
}

pub(crate) fn change_exec(exec: Handle, node: Handle, operation: Operation) -> Result {
    let exec: Arc<ExecGraph> = object::find(exec)?;
    let node = node_of(node)?;
    let id = node.id;
    // Nothing becomes nothing, whosever node it is.
    if matches!(operation, Operation::Empty) && matches!(node.graph.node(id)?.operation, Operation::Empty) {
        return Ok(());
    }
    check_writes(&operation)?;
    let old = exec.node(id)?.operation;
    if !has_same_memory(&old, &operation, &kind_of_memory) {
        return Err(Status::INVALID_VALUE);
    }
    exec.set(id, with_attributes(old, operation)?)
}

/// A graph in a node: a copy, or the graph itself, which the node takes over.
fn child(graph: Handle, ownership: u32) -> Result<Operation> {
    let child: Arc<Graph> = object::find(graph)?;
    match ownership {
        _ if child.is_moved() => Err(Status::NOT_SUPPORTED),
        // A condition is for one graph, and memory has one address.
        _ if child.has_conditions() => Err(Status::NOT_SUPPORTED),
        0 if child.has_memory() => Err(Status::NOT_SUPPORTED),
        0 => Ok(Operation::Child(child.duplicate())),
        1 => Ok(Operation::Child(child)),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The conditional node that parameters describe, if they describe one.
///
/// # Safety
/// The program describes a node.
unsafe fn conditional(graph: &Arc<Graph>, params: *const NodeParams) -> Result<Option<Arc<Conditional>>> {
    let body = params.cast::<u64>().wrapping_add(2);
    let words = body.wrapping_add(1).cast::<u32>();
    // SAFETY: null or the structure: the kind, and behind two words the handle, the kind of condition and a number of graphs.
    unsafe {
        if get(params.cast::<u32>())? != CONDITIONAL {
            return Ok(None);
        }
        let condition = graph.unused_condition(get(body)?)?;
        Conditional::new(condition, get(words)?, get(words.wrapping_add(1))?).map(|made| Some(Arc::new(made)))
    }
}

/// `CU_GRAPH_NODE_TYPE_CONDITIONAL`
const CONDITIONAL: u32 = 13;
/// `CU_GRAPH_NODE_TYPE_MEM_ALLOC`
const ALLOCATION: u32 = 10;
/// `CU_GRAPH_NODE_TYPE_MEM_FREE`
const FREE: u32 = 11;

/// Adds a node that general parameters describe; the last argument reads them.
///
/// # Safety
/// The program describes a node.
pub(crate) unsafe fn add_general(
    node: *mut Handle,
    graph: Handle,
    after: *const Handle,
    data: *const u64,
    count: usize,
    params: *const NodeParams,
    general: unsafe fn(*const NodeParams) -> Result<Operation>,
) -> Result {
    let into: Arc<Graph> = object::find(graph)?;
    // SAFETY: null or the structure.
    unsafe { check_reserved(params) }?;
    // SAFETY: the caller's promise.
    let (conditional, kind) = unsafe { (conditional(&into, params)?, get(params.cast::<u32>())?) };
    let operation = match &conditional {
        Some(conditional) => Operation::Conditional(conditional.clone()),
        None if kind == ALLOCATION => {
            if node.is_null() {
                return Err(Status::INVALID_VALUE);
            }
            let behind = edges_of(&into, after, data, count)?;
            let body = params.cast_mut().cast::<u64>().wrapping_add(2);
            // SAFETY: as above; the node's own structure is behind two words.
            unsafe { crate::driver::graph_memory::allocation(body.cast(), &into, &behind) }?.0
        }
        None if kind == FREE => {
            // SAFETY: as above; the address is behind two words.
            let address = unsafe { get(params.cast::<u64>().wrapping_add(2)) }?;
            check_node_free(&*current()?, &into, address)?;
            Operation::Free(address)
        }
        // SAFETY: as above.
        None => unsafe { general(params) }?,
    };
    let taken_over = match &operation {
        // SAFETY: as above; the second word behind the graph says whether it is taken over.
        Operation::Child(child) if unsafe { get(params.cast::<u32>().wrapping_add(6)) }? == 1 => {
            Some(child.clone())
        }
        _ => None,
    };
    let id = add_behind(node, graph, after, data, count, operation)?;
    if let Some(child) = taken_over {
        child.take_over();
        child.lies_in(&into);
    }
    if let Some(conditional) = conditional {
        conditional.condition.set_used(true);
        conditional.bodies.iter().for_each(|body| body.lies_in(&into));
        let bodies: Arc<[Handle]> = conditional.bodies.iter().map(graph_handle).collect();
        // SAFETY: the caller's promise; the place for the graphs is the third word of the node's own structure.
        unsafe { put(params.cast_mut().cast::<u64>().wrapping_add(4), bodies.as_ptr() as u64) }?;
        describe_node(id, Described::Bodies(bodies));
    }
    Ok(())
}

/// `CUgraphNodeParams`: the kind, three words, and what the kind needs.
pub(crate) type NodeParams = [u64; 32];

/// Whether the words that are kept for later are zero: three behind the kind, and two at the end.
unsafe fn check_reserved(params: *const NodeParams) -> Result {
    // SAFETY: null or the structure.
    let words = unsafe { get(params) }?;
    let reserved = (words[0] >> 32) | words[1] | words[words.len() - 1];
    if reserved == 0 { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// The operation that general parameters describe, where it does not depend on the graph.
pub(crate) unsafe fn general(params: *const NodeParams) -> Result<Operation> {
    // SAFETY: null or the structure.
    let kind = unsafe { get(params.cast::<u32>()) }?;
    let body = params.cast::<u64>().wrapping_add(2);
    // SAFETY: as above; each kind has its own structure behind the first two words.
    unsafe {
        match kind {
            0 => kernel(body.cast(), true),
            // Flags, a reserved word and a context stand before the copy.
            1 => copy(body.wrapping_add(2).cast()).map(|(operation, _)| operation),
            2 => set(body.cast()),
            3 => host(body.cast()),
            4 => child(get(body)?, get(body.wrapping_add(1).cast::<u32>())?),
            5 => Ok(Operation::Empty),
            6 => Ok(Operation::Wait(event(get(body)?)?)),
            7 => Ok(Operation::Record(event(get(body)?)?)),
            11 => {
                let address = get(body)?;
                let of_graph =
                    current()?.device.memory.find(address).is_some_and(|a| a.kind == runtime::Kind::Graph);
                if of_graph { Ok(Operation::Free(address)) } else { Err(Status::INVALID_VALUE) }
            }
            12 => batch(body.cast()),
            8 | 9 => {
                crate::refused::report("nodes of external semaphores");
                Err(Status::NOT_SUPPORTED)
            }
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

api! {
    fn cuGraphAddKernelNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams
    ) {
        add(node, graph, after, count, kernel(params, false)?).map(|_| ())
    }

    fn cuGraphAddKernelNode_v2(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const KernelNodeParams
    ) {
        add(node, graph, after, count, kernel(params, true)?).map(|_| ())
    }

    fn cuGraphKernelNodeGetParams(node: Handle, params: *mut KernelNodeParams) {
        kernel_params(&node_of(node)?, params, false)
    }

    fn cuGraphKernelNodeGetParams_v2(node: Handle, params: *mut KernelNodeParams) {
        kernel_params(&node_of(node)?, params, true)
    }

    fn cuGraphKernelNodeSetParams(node: Handle, params: *const KernelNodeParams) {
        change(node, kernel(params, false)?)
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: *const KernelNodeParams) {
        change(node, kernel(params, true)?)
    }

    fn cuGraphExecKernelNodeSetParams(exec: Handle, node: Handle, params: *const KernelNodeParams) {
        change_exec(exec, node, kernel(params, false)?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: *const KernelNodeParams) {
        change_exec(exec, node, kernel(params, true)?)
    }

    fn cuGraphKernelNodeGetAttribute(node: Handle, number: u32, value: *mut [u32; 16]) {
        let (node, call) = kernel_node(node)?;
        let of_launch = launch_attribute(&call, number)?;
        put(value, hints::get(node.id, number).unwrap_or(of_launch))
    }

    fn cuGraphKernelNodeSetAttribute(node: Handle, number: u32, value: *const [u32; 16]) {
        let (node, call) = kernel_node(node)?;
        let mut asked = get(value)?;
        if number == UPDATABLE {
            return match (asked[0], call.updatable.is_some()) {
                // Once is for good.
                (0, true) => Err(Status::NOT_SUPPORTED),
                (0, false) => Ok(()),
                (1, _) => {
                    set_handle(&mut asked, make_updatable(&node.graph, node.id)?);
                    // The handle goes back, as with a launch.
                    put(value.cast_mut(), asked)
                }
                _ => Err(Status::INVALID_VALUE),
            };
        }
        set_attribute(&node, &call, number, asked)
    }

    fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        let ((to, to_call), (from, from_call)) = (kernel_node(to)?, kernel_node(from)?);
        if to_call.updatable.is_some() || from_call.updatable.is_some() {
            return Err(Status::NOT_SUPPORTED);
        }
        let config = LaunchConfig {
            grid: to_call.launch.grid,
            block: to_call.launch.block,
            cluster: from_call.launch.cluster,
            shared: to_call.launch.shared_bytes,
            cooperative: from_call.launch.cooperative,
        };
        let operation = call(to_call.function.clone(), &config, to_call.launch.params.clone());
        to.graph.set(to.id, operation.map_err(|_| Status::INVALID_VALUE)?)?;
        hints::copy(from.id, to.id);
        Ok(())
    }

    fn cuGraphAddBatchMemOpNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const BatchMemOpNodeParams
    ) {
        let id = add(node, graph, after, count, batch(params)?)?;
        describe_node(id, Described::Batch(get(params)?));
        Ok(())
    }

    fn cuGraphBatchMemOpNodeGetParams(node: Handle, params: *mut BatchMemOpNodeParams) {
        match description(node_of(node)?.id) {
            Some(Described::Batch(described)) => put(params, described),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuGraphBatchMemOpNodeSetParams(node: Handle, params: *const BatchMemOpNodeParams) {
        change(node, batch(params)?)?;
        describe_node(node_of(node)?.id, Described::Batch(get(params)?));
        Ok(())
    }

    fn cuGraphExecBatchMemOpNodeSetParams(exec: Handle, node: Handle, params: *const BatchMemOpNodeParams) {
        change_exec(exec, node, batch(params)?)
    }

    fn cuGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const Memcpy3D, _context: Handle
    ) {
        let (operation, described) = copy(params)?;
        describe_node(add(node, graph, after, count, operation)?, Described::Copy(described));
        Ok(())
    }

    fn cuGraphMemcpyNodeGetParams(node: Handle, params: *mut Memcpy3D) {
        match description(node_of(node)?.id) {
            Some(Described::Copy(described)) => put(params, described),
            // A copy that was captured was not described in this way.
            _ => {
                let node = node_of(node)?;
                match node.graph.node(node.id)?.operation {
                    Operation::Copy(copy) => put(params, describe_copy(&copy)),
                    _ => Err(Status::INVALID_VALUE),
                }
            }
        }
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, params: *const Memcpy3D) {
        let (operation, described) = copy(params)?;
        change(node, operation)?;
        describe_node(node_of(node)?.id, Described::Copy(described));
        Ok(())
    }

    fn cuGraphExecMemcpyNodeSetParams(exec: Handle, node: Handle, params: *const Memcpy3D, _context: Handle) {
        change_exec(exec, node, copy(params)?.0)
    }

    fn cuGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const MemsetNodeParams,
        _context: Handle
    ) {
        add(node, graph, after, count, set(params)?).map(|_| ())
    }

    fn cuGraphMemsetNodeGetParams(node: Handle, params: *mut MemsetNodeParams) {
        let node = node_of(node)?;
        let Operation::Fill(fill) = node.graph.node(node.id)?.operation else { return Err(Status::INVALID_VALUE) };
        put(params, MemsetNodeParams {
            dst: fill.to,
            pitch: fill.pitch as usize,
            value: fill.value,
            element: fill.element,
            width: fill.width as usize,
            height: fill.height as usize,
        })
    }

    fn cuGraphMemsetNodeSetParams(node: Handle, params: *const MemsetNodeParams) {
        change(node, set(params)?)
    }

    fn cuGraphExecMemsetNodeSetParams(exec: Handle, node: Handle, params: *const MemsetNodeParams, _context: Handle) {
        change_exec(exec, node, set(params)?)
    }

    fn cuGraphAddHostNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const HostNodeParams
    ) {
        add(node, graph, after, count, host(params)?).map(|_| ())
    }

    fn cuGraphHostNodeGetParams(node: Handle, params: *mut HostNodeParams) {
        let node = node_of(node)?;
        match node.graph.node(node.id)?.operation {
            Operation::Host { function, argument } => put(params, HostNodeParams { function, argument }),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuGraphHostNodeSetParams(node: Handle, params: *const HostNodeParams) {
        change(node, host(params)?)
    }

    fn cuGraphExecHostNodeSetParams(exec: Handle, node: Handle, params: *const HostNodeParams) {
        change_exec(exec, node, host(params)?)
    }

    fn cuGraphAddEmptyNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize) {
        add(node, graph, after, count, Operation::Empty).map(|_| ())
    }

    fn cuGraphAddChildGraphNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, child_handle: Handle) {
        // The child is copied when the node is made.
        let child: Arc<Graph> = object::find(child_handle)?;
        let parent: Arc<Graph> = object::find(graph)?;
        // Whether it may be a child at all comes first.
        let operation = self::child(child_handle, 0)?;
        if child.id == parent.id {
            return Err(Status::INVALID_VALUE);
        }
        add(node, graph, after, count, operation).map(|_| ())
    }

    fn cuGraphChildGraphNodeGetGraph(node: Handle, graph: *mut Handle) {
        let node = node_of(node)?;
        match node.graph.node(node.id)?.operation {
            Operation::Child(child) => put(graph, crate::driver::graph::graph_handle(&child)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuGraphExecChildGraphNodeSetParams(exec: Handle, node: Handle, child: Handle) {
        change_exec(exec, node, self::child(child, 0)?)
    }

    fn cuGraphAddEventRecordNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event_: Handle) {
        add(node, graph, after, count, Operation::Record(event(event_)?)).map(|_| ())
    }

    fn cuGraphEventRecordNodeGetEvent(node: Handle, to: *mut Handle) {
        let node = node_of(node)?;
        match node.graph.node(node.id)?.operation {
            Operation::Record(event) => put(to, object::handle(event.id)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuGraphEventRecordNodeSetEvent(node: Handle, event_: Handle) {
        change(node, Operation::Record(event(event_)?))
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: Handle, node: Handle, event_: Handle) {
        change_exec(exec, node, Operation::Record(event(event_)?))
    }

    fn cuGraphAddEventWaitNode(node: *mut Handle, graph: Handle, after: *const Handle, count: usize, event_: Handle) {
        add(node, graph, after, count, Operation::Wait(event(event_)?)).map(|_| ())
    }

    fn cuGraphEventWaitNodeGetEvent(node: Handle, to: *mut Handle) {
        let node = node_of(node)?;
        match node.graph.node(node.id)?.operation {
            Operation::Wait(event) => put(to, object::handle(event.id)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuGraphEventWaitNodeSetEvent(node: Handle, event_: Handle) {
        change(node, Operation::Wait(event(event_)?))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: Handle, node: Handle, event_: Handle) {
        change_exec(exec, node, Operation::Wait(event(event_)?))
    }

    fn cuGraphAddNode(
        node: *mut Handle, graph: Handle, after: *const Handle, count: usize, params: *const NodeParams
    ) {
        add_general(node, graph, after, std::ptr::null(), count, params, general)
    }

    fn cuGraphAddNode_v2(
        node: *mut Handle, graph: Handle, after: *const Handle, data: *const u64, count: usize,
        params: *const NodeParams
    ) {
        add_general(node, graph, after, data, count, params, general)
    }

    fn cuGraphNodeSetParams(node: Handle, params: *const NodeParams) {
        change(node, general(params)?)
    }

    fn cuGraphExecNodeSetParams(exec: Handle, node: Handle, params: *const NodeParams) {
        change_exec(exec, node, general(params)?)
    }
}
