//! What a launch costs, by Nsight Compute's names: from what it executes ([`sim_core::Metrics`]), from what the machine code
//! takes ([`assemble`]), and from how blocks lie on a device ([`residency`]).

pub mod assemble;
pub mod calibrate;
pub mod csv;
pub mod kernels;
pub mod limit;
pub mod machine;
pub mod ncu;
pub mod residency;
pub mod rollup;
pub mod statements;
pub mod time;

use std::collections::BTreeMap;

pub use reports::metric_names::Section;
use reports::metric_names::of;
use sim_core::tools::counts;
use sim_core::{DeviceConfig, Dim3, Launch, Metrics};

use assemble::Resources;
use machine::Followed;
use machine::listing::Listing;
use residency::Residency;

/// A number with its unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// Nsight Compute's name, or one of ours, which begins with `ptx__`.
    pub name: String,
    /// `inst`, `sector`, `byte`, `%`, or nothing.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
}

impl Value {
    /// With the unit that its name has.
    fn new(name: impl Into<String>, value: f64) -> Self {
        let name = name.into();
        Value { unit: of(&name).unit, name, value }
    }

    /// As it stands in tables: whole numbers as such, others with two digits.
    pub fn text(&self) -> String {
        number(self.value)
    }
}

/// A number as it stands in tables.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 9e15 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// All numbers of a launch, by name.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The kernel's PTX name.
    pub kernel: String,
    /// Blocks.
    pub grid: Dim3,
    /// Threads a block.
    pub block: Dim3,
    /// The numbers, by name.
    pub values: Vec<Value>,
}

impl Profile {
    /// Of a launch with what was counted.
    pub fn new(
        device: &DeviceConfig,
        launch: &Launch,
        resources: &Resources,
        counted: Option<&Metrics>,
    ) -> Self {
        let threads = u32::try_from(launch.block.count()).unwrap_or(u32::MAX);
        let residency = Residency::of(device, threads, resources, launch.shared_bytes);
        let mut values = residency.values(device, launch.grid.count() as u64);
        let mut add = |name: &str, value: f64| values.push(Value::new(name, value));
        for (what, extents) in [("grid", launch.grid), ("block", launch.block)] {
            for (axis, extent) in [("x", extents.x), ("y", extents.y), ("z", extents.z)] {
                add(&format!("launch__{what}_dim_{axis}"), f64::from(extent));
            }
        }
        let cluster = launch.cluster.unwrap_or(Dim3::new(0, 0, 0));
        for (axis, extent) in [("x", cluster.x), ("y", cluster.y), ("z", cluster.z)] {
            add(&format!("launch__cluster_dim_{axis}"), f64::from(extent));
        }
        let size = if launch.cluster.is_some() { cluster.count() as f64 } else { 0.0 };
        add("launch__cluster_size", size);
        for metric in counted.into_iter().flat_map(|metrics| &metrics.totals) {
            if !values.iter().any(|value| value.name == metric.name) {
                values.push(Value::new(&*metric.name, metric.value as f64));
            }
        }
        if let Some(counted) = counted.filter(|_| resources.local_is_known()) {
            for (kind, what) in [("ld", "requests"), ("ld", "sectors"), ("st", "requests"), ("st", "sectors")]
            {
                let ours = counted.total(&counts::local(what, kind)).unwrap_or(0);
                // What ptxas keeps in registers is not accessed.
                let value = if resources.stack == 0 { 0.0 } else { ours as f64 };
                let name = format!("l1tex__t_{what}_pipe_lsu_mem_local_op_{kind}.sum");
                values.push(Value::new(name, value));
            }
        }
        values.sort_by(|a, b| a.name.cmp(&b.name));
        Profile { kernel: launch.kernel.to_string(), grid: launch.grid, block: launch.block, values }
    }

    /// Adds the machine instructions that were executed.
    pub fn add_machine(&mut self, listing: &Listing, followed: &Followed) {
        let metrics = machine::metrics::metrics(listing, followed);
        let ratios = machine::metrics::ratios(&metrics);
        let all = metrics.into_iter().map(|(name, value)| (name, value as f64)).chain(ratios);
        let new: Vec<(&str, f64)> = all.filter(|(name, _)| self.value(name).is_none()).collect();
        self.values.extend(new.into_iter().map(|(name, value)| Value::new(name, value)));
        self.values.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Takes off what was counted too often.
    pub fn take_off(&mut self, numbers: &BTreeMap<String, i64>) {
        for value in &mut self.values {
            let number = numbers.get(&value.name).map_or(0.0, |&number| number as f64);
            value.value = (value.value - number).max(0.0);
        }
    }

    /// Adds numbers that are not there.
    pub fn add(&mut self, numbers: &[(String, f64)]) {
        let new: Vec<&(String, f64)> =
            numbers.iter().filter(|(name, _)| self.value(name).is_none()).collect();
        self.values.extend(new.into_iter().map(|(name, value)| Value::new(name.clone(), *value)));
        self.values.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// The number of a name.
    pub fn value(&self, name: &str) -> Option<f64> {
        let at = self.values.binary_search_by(|value| value.name.as_str().cmp(name)).ok()?;
        Some(self.values[at].value)
    }
}
