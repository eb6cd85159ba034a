//! Numbers that a tool measured, with names; how they are shown is no matter of the simulator.

use std::borrow::Cow;

use crate::finding::CodePlace;

/// One number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// What it counts: Nsight Compute's name where it means the same, otherwise one that begins with `ptx__`.
    pub name: Cow<'static, str>,
    /// The number.
    pub value: u64,
}

/// What one instruction contributed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionMetrics {
    /// The instruction.
    pub place: CodePlace,
    /// Its line in the PTX text.
    pub line: u32,
    /// Numbers other than 0.
    pub metrics: Vec<Metric>,
}

fn add(to: &mut Vec<Metric>, more: Vec<Metric>) {
    // How a launch looks is that of the first grid.
    for metric in more.into_iter().filter(|metric| !metric.name.starts_with("launch__")) {
        match to.iter_mut().find(|own| own.name == metric.name) {
            Some(own) => own.value = own.value.saturating_add(metric.value),
            None => to.push(metric),
        }
    }
}

/// What a tool measured of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// Name of the tool.
    pub tool: &'static str,
    /// Of the whole launch.
    pub totals: Vec<Metric>,
    /// By instruction, in order of position, those that contributed something.
    pub instructions: Vec<InstructionMetrics>,
}

impl Metrics {
    /// Adds what was measured of another grid of the same launch.
    pub(crate) fn add(&mut self, other: Metrics) {
        add(&mut self.totals, other.totals);
        for instruction in other.instructions {
            match self.instructions.iter_mut().find(|own| own.place == instruction.place) {
                Some(own) => add(&mut own.metrics, instruction.metrics),
                None => self.instructions.push(instruction),
            }
        }
    }

    /// The number of a name in the totals.
    pub fn total(&self, name: &str) -> Option<u64> {
        self.totals.iter().find(|metric| metric.name == name).map(|metric| metric.value)
    }
}
