//! What the counts of a launch are called.

use isa::{Modifier, Modifiers, Opcode, StateSpace};

use super::class::{Class, class};
use super::{Accesses, Counters};
use crate::event::{AccessKind, Memory};
use crate::metrics::{InstructionMetrics, Metric, Metrics};
use crate::tools::launch::LaunchView;

/// The metrics of all memory instructions, in the order in which they are shown: names of those of one kind of access, or
/// of none where an instruction of another unit makes it.
fn names(memory: Memory, kind: AccessKind, of: Unit) -> Option<[&'static str; 3]> {
    use AccessKind as K;
    const GLOBAL: &str = "derived__memory_l2_theoretical_sectors_global_excessive";
    const SHARED: &str = "derived__memory_l1_wavefronts_shared_excessive";
    const LOCAL: &str = "ptx__local_sectors_excessive.sum";
    Some(match (memory, kind, of) {
        (Memory::Global, K::Read, Unit::AsynchronousCopy) => {
            ["ptx__cp_async_requests.sum", "ptx__cp_async_sectors_global.sum", GLOBAL]
        }
        (Memory::Global, K::Read, Unit::LoadStore) => [
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            GLOBAL,
        ],
        (Memory::Global, K::Write, Unit::LoadStore) => [
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            GLOBAL,
        ],
        (Memory::Global, K::Atomic, Unit::LoadStore) => [
            "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
            GLOBAL,
        ],
        (Memory::Global, K::Reduction, Unit::LoadStore) => [
            "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
            GLOBAL,
        ],
        (Memory::Shared, K::Read, Unit::LoadStore) => [
            "ptx__shared_requests_op_ld.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            SHARED,
        ],
        (Memory::Shared, K::Write, Unit::LoadStore) => [
            "ptx__shared_requests_op_st.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            SHARED,
        ],
        (Memory::Shared, K::Write, Unit::AsynchronousCopy) => {
            ["ptx__shared_requests_op_cp_async.sum", "ptx__shared_wavefronts_op_cp_async.sum", SHARED]
        }
        (Memory::Shared, K::Atomic | K::Reduction, Unit::LoadStore) => {
            ["ptx__shared_requests_op_atom.sum", "ptx__shared_wavefronts_op_atom.sum", SHARED]
        }
        (Memory::Local, K::Read, _) => {
            ["ptx__local_requests_op_ld.sum", "ptx__local_sectors_op_ld.sum", LOCAL]
        }
        (Memory::Local, ..) => ["ptx__local_requests_op_st.sum", "ptx__local_sectors_op_st.sum", LOCAL],
        _ => return None,
    })
}

/// What makes an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// The load and store unit.
    LoadStore,
    /// The same, on behalf of `cp.async`.
    AsynchronousCopy,
    /// Bulk copies.
    Bulk,
    /// Operations on mbarrier objects.
    Synchronization,
    /// The constant cache.
    Constant,
}

fn unit(op: Option<&ptx_frontend::Op>) -> Unit {
    let Some(op) = op else { return Unit::LoadStore };
    match op.opcode {
        Opcode::Cp if op.has(Modifier::Bulk) => Unit::Bulk,
        Opcode::Cp => Unit::AsynchronousCopy,
        Opcode::Mbarrier => Unit::Synchronization,
        Opcode::Ld if op.space() == StateSpace::Const => Unit::Constant,
        _ => Unit::LoadStore,
    }
}

/// Sums by name, in the order in which names first come.
#[derive(Default)]
struct Sums(Vec<Metric>);

impl Sums {
    fn add(&mut self, name: impl Into<std::borrow::Cow<'static, str>>, value: u64) {
        let name = name.into();
        match self.0.iter_mut().find(|metric| metric.name == name) {
            Some(metric) => metric.value += value,
            None => self.0.push(Metric { name, value }),
        }
    }
}

const EXECUTED: &str = "ptx__inst_executed.sum";
const BRANCHES: &str = "ptx__branches.sum";
const DIVERGENT: &str = "ptx__branches_divergent.sum";
const BULK: &str = "ptx__bulk_copy_bytes.sum";

/// All numbers with their names.
pub(super) fn metrics(counters: &Counters, launch: &dyn LaunchView) -> Metrics {
    let mut totals = empty();
    totals.add("launch__grid_size", counters.shape.grid.count() as u64);
    totals.add("launch__block_size", counters.shape.block.count() as u64);
    totals.add("smsp__warps_launched.sum", counters.blocks * counters.warps_a_block);
    let mut instructions = Vec::new();
    let (mut warps, mut threads) = (0i64, 0i64);
    for (at, position) in (0..counters.shape.instructions).zip(&counters.positions) {
        warps += position.warps;
        threads += position.threads;
        let (warps, threads) = (warps.max(0) as u64, threads.max(0) as u64);
        if warps == 0 && position.accesses == 0 {
            continue;
        }
        let op = launch.operation(at);
        let class = class(op);
        let on = threads.saturating_sub(position.off);
        totals.add(EXECUTED, warps);
        totals.add("ptx__thread_inst_executed.sum", threads);
        totals.add("ptx__thread_inst_executed_pred_on.sum", on);
        totals.add(executed(class), warps);
        totals.add(executed_by_threads(class), on);
        let mut own = Sums::default();
        own.add(EXECUTED, warps);
        if op.is_some_and(|op| matches!(op.opcode, Opcode::Bra | Opcode::Brx)) {
            totals.add(BRANCHES, warps);
            own.add(DIVERGENT, position.diverged);
        }
        totals.add(DIVERGENT, position.diverged);
        let mut next = position.accesses;
        while next != 0 {
            let accesses = &counters.accesses[next as usize - 1];
            next = accesses.next;
            add(&mut totals, accesses, unit(op));
            add(&mut own, accesses, unit(op));
        }
        own.0.retain(|metric| metric.value != 0);
        own.0.sort_by(|a, b| a.name.cmp(&b.name));
        let place = launch.place(at);
        instructions.push(InstructionMetrics { line: launch.line(&place), place, metrics: own.0 });
    }
    Metrics { tool: "counters", totals: totals.0, instructions }
}

fn add(sums: &mut Sums, accesses: &Accesses, of: Unit) {
    match names(accesses.memory, accesses.kind, of) {
        Some([requests, units, excess]) => {
            sums.add(requests, accesses.requests);
            sums.add(units, accesses.units);
            sums.add(excess, accesses.units - accesses.ideal);
        }
        None if of == Unit::Bulk && accesses.kind == AccessKind::Read => sums.add(BULK, accesses.bytes),
        None => {}
    }
}

/// All names, with nothing counted.
fn empty() -> Sums {
    let mut sums = Sums::default();
    let general = [EXECUTED, "ptx__thread_inst_executed.sum", "ptx__thread_inst_executed_pred_on.sum"];
    general.into_iter().for_each(|name| sums.add(name, 0));
    for &class in Class::ALL {
        sums.add(executed(class), 0);
    }
    for &class in Class::ALL {
        sums.add(executed_by_threads(class), 0);
    }
    sums.add(BRANCHES, 0);
    sums.add(DIVERGENT, 0);
    let kinds = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic, AccessKind::Reduction];
    for memory in [Memory::Global, Memory::Shared, Memory::Local] {
        for of in [Unit::LoadStore, Unit::AsynchronousCopy] {
            for name in kinds.into_iter().filter_map(|kind| names(memory, kind, of)).flatten() {
                sums.add(name, 0);
            }
        }
    }
    sums.add(BULK, 0);
    sums
}

fn executed(class: Class) -> String {
    format!("ptx__inst_executed_op_{}.sum", class.name())
}

fn executed_by_threads(class: Class) -> String {
    format!("ptx__thread_inst_executed_op_{}_pred_on.sum", class.name())
}
