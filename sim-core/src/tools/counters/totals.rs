//! What the counts of a launch are called.

use isa::Opcode;

use super::class::{Class, class};
use super::rules::{self, Rule};
use super::{Accesses, Counters, Sums};
use crate::event::{AccessKind, Memory};
use crate::metrics::{InstructionMetrics, Metric, Metrics};
use crate::tools::launch::LaunchView;

const EXCESSIVE_SECTORS: &str = "derived__memory_l2_theoretical_sectors_global_excessive";
const EXCESSIVE_WAVEFRONTS: &str = "derived__memory_l1_wavefronts_shared_excessive";
const EXCESSIVE_LOCAL: &str = "ptx__local_sectors_excessive.sum";

/// Adds what accesses of a kind counted to the metrics that have it.
fn add(to: &mut Named, accesses: &Accesses) {
    let Sums { requests, units, derived, ideal, conflicts, lines, others, bytes } = accesses.sums;
    let mut add = |name: String, value: u64| to.add(name, value);
    let excess = derived - ideal.min(derived);
    let kind = match accesses.kind {
        AccessKind::Read => "ld",
        AccessKind::Write => "st",
        AccessKind::Reduction => "red",
        AccessKind::Atomic if accesses.made.reduces => "red",
        AccessKind::Atomic => "atom",
    };
    match (accesses.memory, accesses.made.rule) {
        (_, Rule::Bulk) => {
            if accesses.kind == AccessKind::Read {
                add(BULK.into(), bytes);
            }
        }
        (_, Rule::Synchronization | Rule::Constant) => {}
        (Memory::Global, rule @ (Rule::Copy | Rule::Bypass)) => {
            let how = if rule == Rule::Copy { "access" } else { "bypass" };
            add("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum".into(), requests);
            add("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum".into(), units);
            add("l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum".into(), requests);
            for name in ["", &format!("_cache_{how}")] {
                add(format!("smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts{name}.sum"), requests);
            }
            if rule == Rule::Copy {
                copied(&mut add, how, derived);
                add("memory_l2_theoretical_sectors_global_ideal".into(), ideal);
                add(EXCESSIVE_SECTORS.into(), excess);
            }
            add("memory_l1_tag_requests_global".into(), lines);
        }
        (Memory::Global, _) => {
            add(format!("l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum"), requests);
            add(format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum"), units);
            add(format!("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{kind}.sum"), derived);
            add(format!("l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_{kind}.sum"), others);
            add("memory_l2_theoretical_sectors_global".into(), derived);
            add("memory_l2_theoretical_sectors_global_ideal".into(), ideal);
            add("memory_l1_tag_requests_global".into(), lines);
            add(EXCESSIVE_SECTORS.into(), excess);
        }
        (Memory::Shared, rule) => {
            let (unit, derived_kind) = match (rule, accesses.kind) {
                (Rule::Copy | Rule::Bypass, _) => ("ldgsts", "ldgsts"),
                (Rule::Rows, AccessKind::Read) => ("ld", "ldsm"),
                (Rule::Rows, _) => ("st", "stsm"),
                (_, AccessKind::Read) => ("ld", "ld"),
                (_, AccessKind::Write) => ("st", "st"),
                _ => ("atom", "atom"),
            };
            add(format!("ptx__shared_requests_op_{derived_kind}.sum"), requests);
            add(
                format!("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{derived_kind}.sum"),
                derived,
            );
            match rule {
                Rule::Copy | Rule::Bypass => {
                    let how = if rule == Rule::Copy { "access" } else { "bypass" };
                    let name = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts_cache";
                    add(format!("{name}_{how}.sum"), derived);
                    add(
                        "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum".into(),
                        conflicts,
                    );
                    add("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum".into(), conflicts);
                }
                _ => {
                    add(format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{unit}.sum"), units);
                    let unit = if rule == Rule::Loop { "ld" } else { unit };
                    add(format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{unit}.sum"), conflicts);
                    add("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum".into(), conflicts);
                }
            }
            if rule == Rule::Bypass {
                copied(&mut add, "bypass", others);
                let ideal = bytes.div_ceil(32).min(others);
                add("memory_l2_theoretical_sectors_global_ideal".into(), ideal);
                add(EXCESSIVE_SECTORS.into(), others - ideal);
            }
            if rule == Rule::Rows {
                let name = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op";
                add(format!("{name}_{derived_kind}.sum"), conflicts);
            }
            if rule == Rule::Loop {
                add("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum".into(), others);
                add("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum".into(), others);
            }
            let loads = if rule == Rule::Loop { others } else { 0 };
            add("memory_l1_wavefronts_shared".into(), derived + loads);
            add("memory_l1_wavefronts_shared_ideal".into(), ideal);
            add(EXCESSIVE_WAVEFRONTS.into(), (derived + loads).saturating_sub(ideal));
        }
        (Memory::Local, _) => {
            let kind = if accesses.kind == AccessKind::Read { "ld" } else { "st" };
            add(format!("ptx__local_requests_op_{kind}.sum"), requests);
            add(format!("ptx__local_sectors_op_{kind}.sum"), units);
            add(EXCESSIVE_LOCAL.into(), excess);
        }
    }
}

/// Sectors that `cp.async` reads.
fn copied(add: &mut impl FnMut(String, u64), how: &str, sectors: u64) {
    for name in ["", &format!("_cache_{how}")] {
        add(format!("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts{name}.sum"), sectors);
    }
    add("memory_l2_theoretical_sectors_global".into(), sectors);
}

/// Sums by name, in the order in which names first come.
#[derive(Default)]
struct Named(Vec<Metric>);

impl Named {
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
        let mut own = Named::default();
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
            add(&mut totals, accesses);
            add(&mut own, accesses);
        }
        own.0.retain(|metric| metric.value != 0);
        own.0.sort_by(|a, b| a.name.cmp(&b.name));
        let place = launch.place(at);
        instructions.push(InstructionMetrics { line: launch.line(&place), place, metrics: own.0 });
    }
    Metrics { tool: "counters", totals: totals.0, instructions }
}

/// All names, with nothing counted.
fn empty() -> Named {
    let mut sums = Named::default();
    let launched = ["launch__grid_size", "launch__block_size", "smsp__warps_launched.sum"];
    launched.into_iter().for_each(|name| sums.add(name, 0));
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
    let plain = rules::Made { rule: Rule::Plain, reduces: false, combined: false };
    let kinds = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic, AccessKind::Reduction];
    let mut none = |memory, kind, rule| {
        let made = rules::Made { rule, ..plain };
        add(&mut sums, &Accesses { memory, kind, next: 0, made, sums: Sums::default() });
    };
    for memory in [Memory::Global, Memory::Shared, Memory::Local] {
        kinds.into_iter().for_each(|kind| none(memory, kind, Rule::Plain));
    }
    for rule in [Rule::Copy, Rule::Bypass] {
        none(Memory::Global, AccessKind::Read, rule);
        none(Memory::Shared, AccessKind::Write, rule);
    }
    [AccessKind::Read, AccessKind::Write].into_iter().for_each(|kind| none(Memory::Shared, kind, Rule::Rows));
    sums.add(BULK, 0);
    sums
}

fn executed(class: Class) -> String {
    format!("ptx__inst_executed_op_{}.sum", class.name())
}

fn executed_by_threads(class: Class) -> String {
    format!("ptx__thread_inst_executed_op_{}_pred_on.sum", class.name())
}
