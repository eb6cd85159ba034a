//! Loads and stores of the PTX that the machine code does fewer of: ptxas makes one access of several whose words lie beside each
//! other, and leaves out what is read already.

use std::collections::{BTreeMap, BTreeSet};

use sim_core::Metrics;

use super::Followed;
use super::listing::{Instruction, Listing};
use super::ways::Ways;

/// Loads and stores of global and shared memory in machine code.
fn accesses(of: &Instruction) -> bool {
    matches!(of.base(), "LD" | "LDG" | "LDS" | "ST" | "STG" | "STS")
}

/// The same in the PTX.
fn is_plain(op: &str) -> bool {
    let has = |part: &str| op.split('.').any(|own| own == part);
    matches!(op.split('.').next(), Some("ld" | "st"))
        && (has("global") || has("shared") || has("shared::cta"))
}

/// What is counted too often by name, as many accesses of the PTX are none of the machine code. Several words that one access has
/// are at places of the same pattern: it takes as many sectors and wavefronts as the access of one of them.
pub fn too_many(
    listing: &Listing,
    followed: &Followed,
    ways: &Ways,
    counted: &Metrics,
) -> BTreeMap<String, u64> {
    let mut done: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    for (of, count) in listing.instructions.iter().zip(&followed.counts).filter(|(of, _)| accesses(of)) {
        let on = if count.warps == 0 { Some(0) } else { count.on.map(|(_, warps)| warps) };
        let all = done.entry(of.line).or_insert(Some(0));
        *all = all.zip(on).map(|(all, on)| all + on);
    }
    let plain: BTreeSet<u32> =
        ways.positions.iter().filter(|of| is_plain(&of.op)).map(|of| of.line).collect();
    let mut list: BTreeMap<String, u64> = BTreeMap::new();
    for of in counted.instructions.iter().filter(|of| plain.contains(&of.line)) {
        let is_count =
            |name: &str| name.starts_with("l1tex__t_requests_") || name.starts_with("ptx__shared_requests_");
        let requests = of.metrics.iter().filter(|metric| is_count(&metric.name));
        let asked: u64 = requests.map(|metric| metric.value).sum();
        let Some(done) = done.get(&of.line).copied().unwrap_or(Some(0)).filter(|&done| done < asked) else {
            continue;
        };
        for metric in of.metrics.iter().filter(|metric| !metric.name.starts_with("ptx__")) {
            let kept = (metric.value as f64 * done as f64 / asked as f64).round() as u64;
            *list.entry(metric.name.to_string()).or_default() += metric.value - kept.min(metric.value);
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::machine::Count;
    use crate::profile::machine::listing;
    use crate::profile::machine::ways::Position;
    use ptx_frontend::{SourceId, Span};
    use sim_core::{CodePlace, InstructionMetrics, Metric};

    fn place() -> CodePlace {
        let (source, span, function) = (SourceId::default(), Span::default(), "k".into());
        CodePlace { source, span, function, callers: Vec::new(), cuda: Vec::new() }
    }

    #[test]
    fn four_words_are_one_access() {
        let listing = listing::read("kernel k\n7 LDS.128\n2 STG.E\n0 EXIT\n").unwrap().remove("k").unwrap();
        let count = Count { warps: 2, threads: 64, on: Some((64, 2)), divergent: 0 };
        let followed = Followed {
            counts: vec![count; 3],
            warps: (2, 0),
            unkept: 0,
            work: (1, 0),
            guesses: 0,
            forced: 0,
        };
        let position = |line, op: &str| Position { line, op: op.into() };
        let ways = Ways {
            positions: vec![
                position(7, "ld.shared.f32"),
                position(8, "ld.shared.f32"),
                position(9, "st.global.u32"),
            ],
            ..Ways::default()
        };
        let of = |line, requests: &'static str, what: &'static str| InstructionMetrics {
            place: place(),
            line,
            metrics: vec![Metric { name: requests.into(), value: 2 }, Metric { name: what.into(), value: 6 }],
        };
        let shared = "ptx__shared_requests_op_ld.sum";
        let counted = Metrics {
            tool: "counters",
            totals: Vec::new(),
            instructions: vec![
                of(7, shared, "wavefronts"),
                of(8, shared, "wavefronts"),
                of(9, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "sectors"),
            ],
        };
        let list = too_many(&listing, &followed, &ways, &counted);
        assert_eq!(list.into_iter().collect::<Vec<_>>(), [("wavefronts".to_owned(), 6)]);
    }
}
