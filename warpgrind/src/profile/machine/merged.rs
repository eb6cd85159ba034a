//! Loads and stores of the PTX that the machine code does fewer of: ptxas makes one access of several whose words lie beside each
//! other, and leaves out what is read already.

use std::collections::{BTreeMap, BTreeSet};

use sim_core::Metrics;

use super::Followed;
use super::listing::{Instruction, Listing};
use super::ways::Ways;
use super::wide::{self, Wide};

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
/// are at places of the same pattern: it takes as many sectors as the access of one of them, and of shared memory what an access of
/// all of them takes (`wide`). Less than nothing is counted too often where that is more.
pub fn too_many(
    listing: &Listing,
    followed: &Followed,
    ways: &Ways,
    wide: &Wide,
    counted: &Metrics,
) -> BTreeMap<String, i64> {
    let wide = wide::of_lines(listing, wide);
    let mut done: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    for (of, count) in listing.instructions.iter().zip(&followed.counts).filter(|(of, _)| accesses(of)) {
        let on = if count.warps == 0 { Some(0) } else { count.on.map(|(_, warps)| warps) };
        let all = done.entry(of.line).or_insert(Some(0));
        *all = all.zip(on).map(|(all, on)| all + on);
    }
    let plain: BTreeSet<u32> =
        ways.positions.iter().filter(|of| is_plain(&of.op)).map(|of| of.line).collect();
    let mut list: BTreeMap<String, i64> = BTreeMap::new();
    for of in counted.instructions.iter().filter(|of| plain.contains(&of.line)) {
        let is_count =
            |name: &str| name.starts_with("l1tex__t_requests_") || name.starts_with("ptx__shared_requests_");
        let requests = of.metrics.iter().filter(|metric| is_count(&metric.name));
        let asked: u64 = requests.map(|metric| metric.value).sum();
        let wider = wide.get(&of.line);
        let is_other = |&done: &u64| done < asked || wider.is_some() && asked > 0;
        let Some(done) = done.get(&of.line).copied().unwrap_or(Some(0)).filter(is_other) else {
            continue;
        };
        let done = done.min(asked);
        let kept = |all: u64| (all as f64 * done as f64 / asked as f64).round() as i64;
        for metric in of.metrics.iter().filter(|metric| !metric.name.starts_with("ptx__")) {
            let all = wider.map_or(metric.value, |counts| counts.get(&*metric.name).copied().unwrap_or(0));
            *list.entry(metric.name.to_string()).or_default() += metric.value as i64 - kept(all);
        }
        // Numbers that narrow accesses have none of.
        for (name, &all) in wider.copied().into_iter().flatten() {
            if !of.metrics.iter().any(|metric| *name == *metric.name) {
                *list.entry(name.clone()).or_default() -= kept(all);
            }
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
        let list = too_many(&listing, &followed, &ways, &Wide::new(), &counted);
        assert_eq!(list.into_iter().collect::<Vec<_>>(), [("wavefronts".to_owned(), 6)]);
        // What it asks for as a whole is more than what its parts do, and of another kind.
        let counts = [("wavefronts".to_owned(), 8), ("conflicts".to_owned(), 3)].into();
        let wide = Wide::from([(7, [wide::Counts::new(), counts])]);
        let list = too_many(&listing, &followed, &ways, &wide, &counted);
        let all = [("conflicts".to_owned(), -3), ("wavefronts".to_owned(), 4)];
        assert_eq!(list.into_iter().collect::<Vec<_>>(), all);
    }
}
