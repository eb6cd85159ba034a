//! Schedulers: which threads of a grid are sure to go on.
//!
//! The progress models are those of the literature on forward progress (Sorensen, Evrard, Donaldson: GPU Schedulers: How
//! Fair Is Fair Enough?, CONCUR 2018; Sorensen and others: Specifying and Testing GPU Workgroup Progress Models, OOPSLA 2021).
//! What is scheduled is a unit: a block, whose threads go on together, or each thread for itself.

use std::fmt;
use std::str::FromStr;

/// Which units are scheduled fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Progress {
    /// All.
    #[default]
    All,
    /// The one with the lowest number that has not ended (the Heterogeneous System Architecture's promise).
    Hsa,
    /// Those that have made a step (occupancy-bound execution).
    Obe,
    /// Those that have made a step, and the one with the lowest number that has not ended.
    HsaObe,
    /// Those that have made a step, and those with lower numbers (linear occupancy-bound execution).
    Lobe,
    /// None.
    Unfair,
}

/// What it means to be scheduled fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fairness {
    /// To make steps again and again.
    #[default]
    Weak,
    /// To make each step that is possible again and again, so that what can always still happen does.
    Strong,
}

/// What is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Unit {
    /// A block; its threads go on as it does.
    #[default]
    Block,
    /// A thread.
    Thread,
}

/// A scheduler; the default one is weakly fair to all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scheduler {
    /// Which units are scheduled fairly.
    pub progress: Progress,
    /// How.
    pub fairness: Fairness,
    /// What they are.
    pub unit: Unit,
}

const NAMES: [(&str, Progress); 6] = [
    ("fair", Progress::All),
    ("hsa", Progress::Hsa),
    ("obe", Progress::Obe),
    ("hsa-obe", Progress::HsaObe),
    ("lobe", Progress::Lobe),
    ("unfair", Progress::Unfair),
];

impl Scheduler {
    /// Names of all of them, units apart.
    pub const NAMES: [&'static str; 11] = [
        "weak",
        "strong",
        "hsa",
        "hsa-strong",
        "obe",
        "obe-strong",
        "hsa-obe",
        "hsa-obe-strong",
        "lobe",
        "lobe-strong",
        "unfair",
    ];

    /// Whether it is weakly fair to all threads.
    pub fn is_weakly_fair(&self) -> bool {
        (self.progress, self.fairness) == (Progress::All, Fairness::Weak)
    }

    /// Which units are scheduled fairly, as bits, of those that have not ended.
    pub(super) fn fair(&self, alive: u64, started: u64) -> u64 {
        let lowest = alive & alive.wrapping_neg();
        let up_to_highest = match started {
            0 => 0,
            _ => u64::MAX >> started.leading_zeros(),
        };
        alive
            & match self.progress {
                Progress::All => u64::MAX,
                Progress::Hsa => lowest,
                Progress::Obe => started,
                Progress::HsaObe => started | lowest,
                // Units that have ended do not count.
                Progress::Lobe => up_to_highest,
                Progress::Unfair => 0,
            }
    }

    /// Whether it matters to it which units have made a step.
    pub(super) fn remembers(&self) -> bool {
        matches!(self.progress, Progress::Obe | Progress::HsaObe | Progress::Lobe)
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strong = self.fairness == Fairness::Strong;
        match self.progress {
            Progress::All => f.write_str(if strong { "strong" } else { "weak" }),
            progress => {
                let name = NAMES.iter().find(|(_, known)| *known == progress).map_or("", |(name, _)| name);
                write!(f, "{name}{}", if strong { "-strong" } else { "" })
            }
        }
    }
}

impl FromStr for Scheduler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, fairness) = match text {
            "weak" => ("fair", Fairness::Weak),
            "strong" => ("fair", Fairness::Strong),
            _ => text.strip_suffix("-strong").map_or((text, Fairness::Weak), |name| (name, Fairness::Strong)),
        };
        NAMES
            .iter()
            .filter(|_| Self::NAMES.contains(&text))
            .find(|(known, _)| *known == name)
            .map(|&(_, progress)| Self { progress, fairness, unit: Unit::default() })
            .ok_or_else(|| format!("unknown scheduler `{text}`; one of {}", Self::NAMES.join(", ")))
    }
}
