//! The counts of a launch, as sums by name.

use isa::Opcode;

use super::class::{Class, class};
use super::names as n;
use super::rules::{self, Rule};
use super::{Accesses, Counters, Sums};
use crate::event::{AccessKind, Memory};
use crate::metrics::{InstructionMetrics, Metric, Metrics};
use crate::tools::launch::LaunchView;

/// Adds what accesses of a kind counted to the metrics that have it.
fn add(to: &mut Named, accesses: &Accesses) {
    let Sums { requests, units, derived, ideal, conflicts, lines, others, bytes } = accesses.sums;
    let mut add = |name: String, value: u64| to.add(name, value);
    let excess = derived - ideal.min(derived);
    let kind = match accesses.kind {
        AccessKind::Read => "ld",
        AccessKind::Write => "st",
        AccessKind::Reduction if accesses.made.rule == Rule::Plain => "red",
        AccessKind::Atomic | AccessKind::Reduction if accesses.made.reduces => "red",
        AccessKind::Atomic | AccessKind::Reduction => "atom",
    };
    match (accesses.memory, accesses.made.rule) {
        (_, Rule::Bulk) => {
            if accesses.kind == AccessKind::Read {
                add(n::BULK_BYTES.into(), bytes);
            }
        }
        (_, Rule::Synchronization | Rule::Constant) => {}
        (_, Rule::Texels(_) | Rule::Surface) => add(n::TEXTURE_REQUESTS.into(), requests),
        (Memory::Global, rule @ (Rule::Copy | Rule::Bypass)) => {
            let how = if rule == Rule::Copy { "access" } else { "bypass" };
            add(n::global("requests", "ld"), requests);
            add(n::global("sectors", "ld"), units);
            add(n::global("output_wavefronts", "ld"), requests);
            for kind in ["ldgsts", &format!("ldgsts_cache_{how}")] {
                add(n::global_by_address("requests", kind), requests);
            }
            if rule == Rule::Copy {
                copied(&mut add, how, derived);
                add(n::IDEAL_SECTORS.into(), ideal);
                add(n::EXCESSIVE_SECTORS.into(), excess);
            }
            add(n::TAG_REQUESTS.into(), lines);
        }
        (Memory::Global, _) => {
            add(n::global("requests", kind), requests);
            add(n::global("sectors", kind), units);
            add(n::global_by_address("sectors", kind), derived);
            add(n::global("output_wavefronts", kind), others);
            add(n::SECTORS.into(), derived);
            add(n::IDEAL_SECTORS.into(), ideal);
            add(n::TAG_REQUESTS.into(), lines);
            add(n::EXCESSIVE_SECTORS.into(), excess);
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
            add(n::shared_requests(derived_kind), requests);
            add(n::wavefronts_by_address(derived_kind), derived);
            match rule {
                Rule::Copy | Rule::Bypass => {
                    let how = if rule == Rule::Copy { "access" } else { "bypass" };
                    add(n::wavefronts_by_address(&format!("ldgsts_cache_{how}")), derived);
                    add(n::conflicts_by_address("ldgsts"), conflicts);
                    add(n::CONFLICTS.into(), conflicts);
                }
                _ => {
                    add(n::wavefronts(unit), units);
                    let unit = if matches!(rule, Rule::Loop { .. }) { "ld" } else { unit };
                    add(n::conflicts(unit), conflicts);
                    add(n::CONFLICTS.into(), conflicts);
                }
            }
            if rule == Rule::Bypass {
                copied(&mut add, "bypass", others);
                let ideal = bytes.div_ceil(32).min(others);
                add(n::IDEAL_SECTORS.into(), ideal);
                add(n::EXCESSIVE_SECTORS.into(), others - ideal);
            }
            if rule == Rule::Rows {
                add(n::conflicts_by_address(derived_kind), conflicts);
            }
            if matches!(rule, Rule::Loop { .. }) {
                add(n::wavefronts_by_address("ld"), others);
                add(n::wavefronts("ld"), others);
            }
            let loads = if matches!(rule, Rule::Loop { .. }) { others } else { 0 };
            add(n::WAVEFRONTS.into(), derived + loads);
            add(n::IDEAL_WAVEFRONTS.into(), ideal);
            add(n::EXCESSIVE_WAVEFRONTS.into(), (derived + loads).saturating_sub(ideal));
        }
        (Memory::Local, _) => {
            let kind = if accesses.kind == AccessKind::Read { "ld" } else { "st" };
            add(n::local("requests", kind), requests);
            add(n::local("sectors", kind), units);
            add(n::EXCESSIVE_LOCAL.into(), excess);
        }
    }
}

/// Sectors that `cp.async` reads.
fn copied(add: &mut impl FnMut(String, u64), how: &str, sectors: u64) {
    for kind in ["ldgsts", &format!("ldgsts_cache_{how}")] {
        add(n::global_by_address("sectors", kind), sectors);
    }
    add(n::SECTORS.into(), sectors);
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

/// All numbers with their names.
pub(super) fn metrics(counters: &Counters, launch: &dyn LaunchView) -> Metrics {
    let mut totals = empty();
    totals.add(n::GRID_SIZE, counters.shape.grid.count() as u64);
    totals.add(n::BLOCK_SIZE, counters.shape.block.count() as u64);
    totals.add(n::WARPS_LAUNCHED, counters.blocks * counters.warps_a_block);
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
        totals.add(n::EXECUTED, warps);
        totals.add(n::THREADS, threads);
        totals.add(n::THREADS_ON, on);
        totals.add(n::executed(class), warps);
        totals.add(n::executed_by_threads(class), on);
        let mut own = Named::default();
        own.add(n::EXECUTED, warps);
        if op.is_some_and(|op| matches!(op.opcode, Opcode::Bra | Opcode::Brx)) {
            totals.add(n::BRANCHES, warps);
            own.add(n::DIVERGENT, position.diverged);
        }
        totals.add(n::DIVERGENT, position.diverged);
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

/// The names of all numbers that are counted.
pub fn counter_names() -> impl Iterator<Item = std::borrow::Cow<'static, str>> {
    empty().0.into_iter().map(|metric| metric.name)
}

/// All names, with nothing counted.
fn empty() -> Named {
    let mut sums = Named::default();
    let general = [n::GRID_SIZE, n::BLOCK_SIZE, n::WARPS_LAUNCHED, n::EXECUTED, n::THREADS, n::THREADS_ON];
    general.into_iter().for_each(|name| sums.add(name, 0));
    for &class in Class::ALL {
        sums.add(n::executed(class), 0);
    }
    for &class in Class::ALL {
        sums.add(n::executed_by_threads(class), 0);
    }
    sums.add(n::BRANCHES, 0);
    sums.add(n::DIVERGENT, 0);
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
    sums.add(n::BULK_BYTES, 0);
    sums.add(n::TEXTURE_REQUESTS, 0);
    sums
}
