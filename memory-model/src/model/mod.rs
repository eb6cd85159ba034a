//! Models: each relation and axiom is one definition beside the section that states it.
//!
//! Section numbers are those of chapter 8 of the PTX ISA manual unless a file says otherwise. To add a
//! model, write a function that returns a [`Model`] and give it a name in [`ModelName`]; nothing else of the
//! crate needs to know.

pub mod algebra;
mod cat;
mod eval;
mod isa;
mod reasons;
pub(crate) mod rewrite;
mod sc;

pub use algebra::{Axiom, Demand, Rel, Set};
pub use eval::{Compiled, Evaluation, RelId};
pub use reasons::{Derivation, Violation, Why};

use std::fmt;
use std::str::FromStr;

/// How barriers of a CTA work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierSemantics {
    /// As the ISA has it: arrivals make phases of exactly the expected number, each phase synchronises its
    /// own participants, and the barrier starts afresh.
    Phases,
    /// As the published `.cat` models have it in their tool: no phases; a barrier with a count is open once
    /// at least that many arrivals have been made, and some of them (at least the count) synchronise.
    Quorum,
}

/// What a model calls a race.
#[derive(Debug, Clone)]
pub enum Races {
    /// Conflicting accesses that are neither morally strong nor ordered by causality (8.7.1).
    Unordered,
    /// What raises one of these flags: axioms that hold exactly in such executions.
    Flags(Vec<Axiom>),
    /// It does not say; the reason.
    Undefined(String),
}

/// A memory consistency model.
#[derive(Debug, Clone)]
pub struct Model {
    /// What executions must satisfy.
    pub axioms: Vec<Axiom>,
    /// Pairs of writes that the search orders one way or the other (a static relation, symmetric).
    pub ordered_writes: Rel,
    /// Pairs of `fence.sc`, or of what else a model's file puts in one order, that the search orders (a static relation,
    /// symmetric).
    pub ordered_fences: Rel,
    /// Pairs of writes that the search orders one way or the other or not at all (likewise).
    pub optional_order: Rel,
    /// Coherence order, closed.
    pub co: Rel,
    /// From-reads.
    pub fr: Rel,
    /// Synchronizes-with edges, for pictures.
    pub sync: Rel,
    /// Causality order, which decides races.
    pub cause: Rel,
    /// Morally strong pairs, which decide races.
    pub morally_strong: Rel,
    /// Whether the axioms have morally strong atomics of one location read from one another in a chain, as 8.10.3
    /// does; the search then uses it from the beginning.
    pub atomic: bool,
    /// What a race is.
    pub races: Races,
    /// How barriers work.
    pub barriers: BarrierSemantics,
    /// Whether a `cas` that fails writes the old value back.
    pub failed_cas_writes: bool,
}

/// The models that the crate ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ModelName {
    /// The newest text of the PTX ISA.
    #[default]
    Isa,
    /// The published `ptx-v7.5.cat`.
    Cat75,
    /// The published `ptx-v6.0.cat`.
    Cat60,
    /// Sequential consistency.
    Sc,
}

impl ModelName {
    /// All of them.
    pub const ALL: [ModelName; 4] = [ModelName::Isa, ModelName::Cat75, ModelName::Cat60, ModelName::Sc];

    /// The spelling on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            ModelName::Isa => "isa",
            ModelName::Cat75 => "cat-7.5",
            ModelName::Cat60 => "cat-6.0",
            ModelName::Sc => "sc",
        }
    }

    /// The model itself.
    pub fn model(self) -> Model {
        match self {
            ModelName::Isa => isa::model(),
            ModelName::Cat75 => cat::v7_5(),
            ModelName::Cat60 => cat::v6_0(),
            ModelName::Sc => sc::model(),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.as_str() == s)
            .ok_or_else(|| format!("unknown model `{s}`; one of isa, cat-7.5, cat-6.0, sc"))
    }
}
