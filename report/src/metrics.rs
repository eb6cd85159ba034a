//! What tools measured, for people and as JSON.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table, presets};
use ptx_frontend::Module;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use sim_core::tools::counts;
use sim_core::{InstructionMetrics, Metric, Metrics};

use crate::metric_names::of;
use crate::name::readable;
use crate::place::CodePlaceJson;
use crate::stats::{grouped, percent};

/// What a tool measured of a launch.
#[derive(Serialize, Debug)]
pub struct MetricsJson {
    tool: &'static str,
    totals: Named,
    instructions: Vec<InstructionJson>,
}

#[derive(Serialize, Debug)]
struct InstructionJson {
    place: CodePlaceJson,
    metrics: Named,
}

/// An object of names and numbers, in their order.
#[derive(Debug)]
struct Named(Vec<Metric>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|metric| map.serialize_entry(&metric.name, &metric.value))?;
        map.end()
    }
}

impl MetricsJson {
    /// With the texts of its places, which are in `module`.
    pub fn new(metrics: &Metrics, module: &Module) -> Self {
        let instruction = |of: &InstructionMetrics| InstructionJson {
            place: CodePlaceJson::new(&of.place, module),
            metrics: Named(of.metrics.clone()),
        };
        Self {
            tool: metrics.tool,
            totals: Named(metrics.totals.clone()),
            instructions: metrics.instructions.iter().map(instruction).collect(),
        }
    }
}

/// Lines that are named for each number.
const LINES: usize = 3;

/// Numbers whose lines are shown: what costs and can be avoided.
const SHOWN_BY_LINE: &[&str] =
    &[counts::DIVERGENT, counts::EXCESSIVE_SECTORS, counts::EXCESSIVE_WAVEFRONTS, counts::EXCESSIVE_LOCAL];

/// A table of what a tool measured of a launch, numbers other than 0, and the lines where the most of what could be avoided
/// is.
pub fn table(kernel: &str, metrics: &Metrics, module: &Module) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for metric in metrics.totals.iter().filter(|metric| metric.value != 0 && !of(&metric.name).is_detail) {
        table.add_row(vec![format!("  {}", metric.name), grouped(metric.value), remark(metric, metrics)]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{}\n", readable(kernel));
    table.lines().for_each(|line| text += &format!("{}\n", line.trim_end()));
    text + &lines(metrics, module)
}

/// The lines that have the most of what costs and can be avoided.
pub fn lines(metrics: &Metrics, module: &Module) -> String {
    let mut text = String::new();
    for name in SHOWN_BY_LINE {
        let lines = by_line(name, metrics, module);
        if !lines.is_empty() {
            text += &format!("  most of {name}\n");
        }
        let total = metrics.total(name).unwrap_or(0).max(1);
        for (line, value) in lines.iter().take(LINES) {
            let share = *value as f64 * 100.0 / total as f64;
            text += &format!("    {line}: {} ({share:.0} %)\n", grouped(*value));
        }
    }
    text
}

/// How a number relates to another one.
fn remark(metric: &Metric, metrics: &Metrics) -> String {
    let ratio = |of: &str, unit: &str| match metrics.total(of) {
        Some(of) if of != 0 => format!("{:.1} {unit}", metric.value as f64 / of as f64),
        _ => String::new(),
    };
    if [counts::THREADS, counts::THREADS_ON].contains(&&*metric.name) {
        return ratio(counts::EXECUTED, "of 32 lanes");
    }
    if metric.name == counts::DIVERGENT {
        return percent(metric.value, metrics.total(counts::BRANCHES).unwrap_or(0));
    }
    let pairs = [("_sectors_", "sectors a request"), ("_wavefronts_", "wavefronts a request")];
    for (part, unit) in pairs {
        if metric.name.contains("shared_op") && part == "_wavefronts_" {
            let kind = metric.name.rsplit_once("_op_").map_or("", |(_, kind)| kind);
            return ratio(&counts::shared_requests(kind.trim_end_matches(".sum")), unit);
        }
        if part == "_sectors_" && metric.name.contains("_op_") && metric.name.contains(part) {
            return ratio(&metric.name.replace(part, "_requests_"), unit);
        }
    }
    String::new()
}

/// A number by line of the CUDA source, or of the PTX where that is not known: the largest first.
fn by_line(name: &str, metrics: &Metrics, module: &Module) -> Vec<(String, u64)> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for of in &metrics.instructions {
        let Some(metric) = of.metrics.iter().find(|metric| metric.name == name) else { continue };
        let line = match of.place.cuda.first() {
            Some(cuda) => format!("{}:{}", cuda.file, cuda.line),
            None => {
                let file = module.sources.get(of.place.source.0 as usize).map_or("", |source| &source.name);
                format!("{file}:{}", of.line)
            }
        };
        *lines.entry(line).or_default() += metric.value;
    }
    let mut lines: Vec<(String, u64)> = lines.into_iter().collect();
    lines.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
    lines
}
