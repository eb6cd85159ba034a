//! What the simulator and the other side made of a launch file.

use std::collections::BTreeMap;

use super::difference::Difference;
use crate::array::Array;
use crate::run::{LaunchEnd, Outputs};

/// The comparison of two sides.
pub struct Verdict<'a> {
    /// The launches that either side ran.
    pub launches: Vec<LaunchVerdict<'a>>,
    /// Buffers and variables, if both sides completed.
    pub buffers: Vec<BufferVerdict<'a>>,
}

/// A launch on both sides; a side that stopped earlier has none.
pub struct LaunchVerdict<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The simulator's.
    pub simulator: Option<&'a LaunchEnd>,
    /// The device's.
    pub device: Option<&'a LaunchEnd>,
    /// Both ended in the same way.
    pub same_end: bool,
    /// What was printed.
    pub printed: Printed,
}

/// What two launches printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Printed {
    /// The same bytes.
    Equal,
    /// The same lines; their order is not defined.
    OtherOrder,
    /// A line that one side printed more often: the line, on the simulator, on the device.
    Different(String, usize, usize),
    /// A launch that faulted need not print what was written before.
    NotCompared,
}

/// A buffer on both sides.
pub struct BufferVerdict<'a> {
    /// Its name.
    pub name: &'a str,
    /// The simulator's.
    pub simulator: &'a Array,
    /// The device's.
    pub device: &'a Array,
    /// Where they differ.
    pub difference: Difference,
}

impl Verdict<'_> {
    /// Whether nothing differs.
    pub fn agrees(&self) -> bool {
        self.launches
            .iter()
            .all(|launch| launch.same_end && !matches!(launch.printed, Printed::Different(..)))
            && self.buffers.iter().all(|buffer| buffer.difference.differing == 0)
    }

    /// Values compared.
    pub fn values(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.difference.values as u64).sum()
    }
}

/// Compares what the same plan left on both sides.
pub fn compare<'a>(simulator: &'a Outputs, device: &'a Outputs, tolerance: Option<u64>) -> Verdict<'a> {
    let count = simulator.launches.len().max(device.launches.len());
    let launches = (0..count).filter_map(|at| {
        let (one, other) = (simulator.launches.get(at), device.launches.get(at));
        let kernel = &one.or(other)?.kernel;
        let (same_end, printed) = match (one, other) {
            (Some(one), Some(other)) => (one.fault == other.fault, printed(one, other)),
            // The side that stopped earlier was reported with the launch that it stopped at.
            _ => (true, Printed::NotCompared),
        };
        Some(LaunchVerdict { kernel, simulator: one, device: other, same_end, printed })
    });
    let both = simulator.buffers.iter().flatten().zip(device.buffers.iter().flatten());
    let buffers = both.map(|(one, other)| BufferVerdict {
        name: &one.name,
        simulator: &one.array,
        device: &other.array,
        difference: Difference::of(&one.array, &other.array, tolerance),
    });
    Verdict { launches: launches.collect(), buffers: buffers.collect() }
}

fn printed(one: &LaunchEnd, other: &LaunchEnd) -> Printed {
    if one.fault.is_some() || other.fault.is_some() {
        return Printed::NotCompared;
    }
    if one.output == other.output {
        return Printed::Equal;
    }
    let mut counts: BTreeMap<&[u8], (usize, usize)> = BTreeMap::new();
    one.output.split(|&byte| byte == b'\n').for_each(|line| counts.entry(line).or_default().0 += 1);
    other.output.split(|&byte| byte == b'\n').for_each(|line| counts.entry(line).or_default().1 += 1);
    match counts.into_iter().find(|(_, (a, b))| a != b) {
        Some((line, (a, b))) => Printed::Different(String::from_utf8_lossy(line).into_owned(), a, b),
        None => Printed::OtherOrder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::FaultClass;

    fn ended(fault: Option<FaultClass>, output: &str) -> LaunchEnd {
        LaunchEnd { kernel: "k".into(), fault, message: String::new(), output: output.into() }
    }

    fn outputs(launches: &[LaunchEnd]) -> Outputs {
        Outputs { inputs: Vec::new(), launches: launches.to_vec(), buffers: None }
    }

    #[test]
    fn lines_may_come_in_any_order() {
        let check = |a: &str, b: &str| printed(&ended(None, a), &ended(None, b));
        assert_eq!(check("a\nb\n", "a\nb\n"), Printed::Equal);
        assert_eq!(check("a\nb\n", "b\na\n"), Printed::OtherOrder);
        assert_eq!(check("a\na\n", "a\n"), Printed::Different("a".into(), 2, 1));
    }

    #[test]
    fn faults_agree_by_class() {
        let illegal = ended(Some(FaultClass::IllegalAddress), "");
        let trap = ended(Some(FaultClass::Trap), "");
        let fine = ended(None, "");
        for (one, other, agrees) in [
            (&[illegal.clone()][..], &[illegal.clone()][..], true),
            (std::slice::from_ref(&illegal), std::slice::from_ref(&trap), false),
            (std::slice::from_ref(&illegal), &[fine.clone(), fine.clone()], false),
            (&[fine.clone(), trap.clone()], &[fine.clone(), trap.clone()], true),
        ] {
            let (one, other) = (outputs(one), outputs(other));
            assert_eq!(compare(&one, &other, None).agrees(), agrees, "{one:?} {other:?}");
        }
    }
}
