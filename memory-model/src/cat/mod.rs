//! Models from files, in the cat language as herd7 and Dartagnan read it.
//!
//! A file defines sets and relations over the events of an execution and says what must hold of them:
//!
//! ```
//! use memory_model::{Options, cat, check, parse};
//! use std::sync::Arc;
//!
//! let file = "PTX
//! let com = rf | co | fr
//! acyclic po-loc | com as sc-per-location
//! acyclic rf | addr | data | ctrl as no-thin-air
//! empty rmw & (fre; coe) as atomicity";
//! let model = cat::load("weak.cat", file, &cat::no_includes).expect("a well-formed model");
//! let test = parse("PTX CoRR\n{ x=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | ld.weak r0, x ;\n\
//!     | ld.weak r1, x ;\nexists (1:r0 == 1 /\\ 1:r1 == 0)\n").expect("a well-formed test");
//! let verdict = check(&test, &Options { file: Some(Arc::new(model)), ..Options::default() });
//! assert_eq!(verdict.verdict, "forbidden");
//! ```
//!
//! The language is herd7's: definitions, recursive ones and functions; sets, relations, tuples, constants and collections of them;
//! `match`, `if`, `try`, `forall`, procedures; `include`; `acyclic`, `irreflexive`, `empty`, each with `~` and `flag`; `show` and
//! `debug`, which are ignored. A file is read once, before any execution is looked at: what it decides by the members of a
//! relation is refused. Names have the meaning that they have in the language that the header names (`names`).
//!
//! What a file leaves open is settled thus:
//! * **Coherence order.** In a file whose header names `PTX`, `co` is any strict partial order of the
//!   writes to each location, initial writes first; in others it is total. Where a file only demands that `co` contain
//!   something (`empty r \ co`, `empty r \ (co | co^-1)`), the least such order is taken, which allows the most.
//! * **`sync_fence`** is a strict order in which each pair of `fence.sc` with scopes that include each other is related.
//! * **Barriers.** A file that uses `syncbar` has the published models' barriers with quorums, and a failed `cas`
//!   writes the old value back. Otherwise barriers have phases and a failed `cas` does not write, as in the manual.
//! * **Values** never justify themselves in a circle, whatever the file says.
//! * **Races** are what raises a `flag`; without one, conflicting accesses that `morally-strong` and `cause` leave
//!   unordered.

mod builtin;
mod coherence;
mod elaborate;
mod lexer;
mod names;
mod parser;
mod syntax;
mod value;

use crate::explore::Search;
use crate::explore::engine::{Engine, Found};
use crate::litmus::{Code, Diagnostic, Span};
use crate::model::algebra::*;
use crate::model::{BarrierSemantics, Model, Races, rewrite};
use crate::skeleton::{Skeleton, Unrolling};
use crate::until::Until;
use elaborate::{Elaborated, elaborate};
use std::fmt;
use std::sync::Arc;
use syntax::Role;

/// Reads an included file, given its name as it is written and the name of the file that includes it; gives its name
/// and text, or why that cannot be.
pub type Reader<'a> = dyn Fn(&str, &str) -> Result<(String, String), String> + 'a;

/// The [`Reader`] of files that include nothing.
///
/// # Errors
/// Always.
pub fn no_includes(_: &str, _: &str) -> Result<(String, String), String> {
    Err("nothing can be included here".to_owned())
}

/// The text of a model that the crate ships as a file, too: `isa.cat`, `cat-7.5.cat`, `cat-6.0.cat`, `sc.cat`; and those of source languages, `scoped-rc11.cat`
/// and `opencl.cat`. Other
/// files can include them.
pub fn shipped(name: &str) -> Option<&'static str> {
    Some(match name {
        "isa.cat" => include_str!("../../models/isa.cat"),
        "cat-7.5.cat" => include_str!("../../models/cat-7.5.cat"),
        "cat-6.0.cat" => include_str!("../../models/cat-6.0.cat"),
        "scoped-rc11.cat" => include_str!("../../models/scoped-rc11.cat"),
        "opencl.cat" => include_str!("../../models/opencl.cat"),
        "sc.cat" => include_str!("../../models/sc.cat"),
        _ => return None,
    })
}

/// A model from a file.
#[derive(Debug, Clone)]
pub struct CatModel {
    name: String,
    model: Model,
}

impl CatModel {
    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    pub fn model(&self) -> &Model {
        &self.model
    }
}

impl PartialEq for CatModel {
    /// Models are the same if they come from the same reading of a file.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for CatModel {}

/// A mistake in a model.
#[derive(Debug, Clone)]
pub struct ModelError {
    /// The file with the mistake, which may be an included one.
    pub file: String,
    /// Its text.
    pub text: Arc<str>,
    /// What is wrong, and where.
    pub diagnostic: Diagnostic,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.render(&self.file, &self.text))
    }
}

impl std::error::Error for ModelError {}

/// Reads a model.
///
/// # Errors
/// The first mistake: of the language, an unknown name, a set where a relation is wanted, a recursion without meaning,
/// files that include themselves, too large a model, or one that no execution of any program satisfies.
pub fn load(name: &str, text: &str, reader: &Reader<'_>) -> Result<CatModel, Box<ModelError>> {
    let elaborated = elaborate(name, text, reader).map_err(Box::new)?;
    let model = model(&elaborated);
    if let Some(what) = contradiction(&model) {
        let help = "every execution of `st.weak x, 1` alone breaks it";
        let diagnostic = Diagnostic::new(Code::ModelMeaning, Span::new(0, 0), what).with_help(help);
        return Err(Box::new(ModelError { file: name.to_owned(), text: Arc::from(text), diagnostic }));
    }
    Ok(CatModel { name: name.to_owned(), model })
}

fn model(elaborated: &Elaborated) -> Model {
    let published = elaborated.used.contains("syncbar");
    let partial = elaborated.header.iter().any(|word| matches!(word.as_str(), "PTX" | "ptx"));
    let of_role = |wanted: fn(Role) -> bool| {
        elaborated.checks.iter().filter(move |c| wanted(c.role)).map(|c| (c.role, c.axiom.clone()))
    };
    let axioms: Vec<Axiom> = of_role(|role| role == Role::Axiom).map(|(_, axiom)| axiom).collect();
    let flags: Vec<Axiom> = of_role(|role| role != Role::Axiom)
        .map(|(role, axiom)| match role {
            // It is told when the demand does not hold.
            Role::UndefinedUnless => Axiom { demand: axiom.demand.negated(), ..axiom },
            _ => axiom,
        })
        .collect();
    let order = coherence::order(axioms, &flags, partial);
    let mut replaced = rewrite::Replacement::new(BaseRel::Co, order.co.clone());
    let mut with_co = |rel: &Rel| replaced.of(rel);
    let mut axioms = vec![
        irreflexive("coherence is an order", "cat", order.co.clone()),
        // The engine computes values along these.
        acyclic("values from nowhere", "cat", rf() | data()),
    ];
    if elaborated.used.contains("sync_fence") {
        axioms.push(acyclic("sync_fence is an order", "cat", sc()));
    }
    let finished =
        |axiom: Axiom, with_co: &mut dyn FnMut(&Rel) -> Rel| Axiom { rel: with_co(&axiom.rel), ..axiom };
    axioms.extend(order.axioms.into_iter().map(|axiom| finished(axiom, &mut with_co)));
    let flags: Vec<Axiom> = flags.into_iter().map(|axiom| finished(axiom, &mut with_co)).collect();
    let fr = elaborated.relation("fr").unwrap_or_else(names::from_reads);
    let defined = |names: &[&str]| names.iter().find_map(|name| elaborated.relation(name));
    let sync = defined(&["sync", "synchronizes", "sw"]).unwrap_or_else(nothing);
    let cause = defined(&["cause", "causality"]);
    let ms = defined(&["morally-strong", "ms"]).filter(|ms| !rewrite::is_chosen(ms));
    // The manual's where the file has none: what overlaps partly is judged by them.
    let isa = crate::model::ModelName::Isa.model();
    let races = match (&cause, &ms) {
        _ if !flags.is_empty() => Races::Flags(flags),
        (Some(_), Some(_)) => Races::Unordered,
        _ => Races::Undefined(
            "the model's file has no flag, and does not define both `morally-strong` and `cause`".to_owned(),
        ),
    };
    let fences = match &elaborated.ordered {
        Some(pairs) => pairs.clone(),
        None if elaborated.used.contains("sync_fence") => {
            (cross(sc_fences(), sc_fences()) & mutual_scope()).minus(id())
        }
        None => nothing(),
    };
    Model {
        axioms,
        ordered_writes: order.ordered,
        optional_order: order.optional,
        ordered_fences: fences,
        fr: with_co(&fr).named("fr", "cat"),
        sync: with_co(&sync),
        cause: cause.map_or(isa.cause, |cause| with_co(&cause)),
        morally_strong: ms.unwrap_or(isa.morally_strong),
        co: order.co,
        atomic: false,
        races,
        barriers: if published { BarrierSemantics::Quorum } else { BarrierSemantics::Phases },
        failed_cas_writes: published,
    }
}

/// What makes a model forbid everything, if something does.
fn contradiction(model: &Model) -> Option<String> {
    let text = "PTX one\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n";
    let litmus = crate::parse(text).ok()?;
    let unrolling = Unrolling {
        bound: 1,
        idle_iterations: 0,
        failed_cas_writes: model.failed_cas_writes,
        outcomes: true,
        max_events: 64,
        max_nodes: 64,
    };
    let skeleton = Skeleton::new(&litmus.program, &litmus.observables(), unrolling).ok()?;
    let mut engine = Engine::new(&litmus, &skeleton, model, Search::Complete, Until::default()).ok()?;
    engine.keep_rejected(1);
    if !matches!(engine.find(), Found::Nothing) {
        return None;
    }
    let broken = engine.rejected().first().and_then(|rejected| {
        let violation = rejected.violations.first()?;
        engine.compiled().axioms().nth(violation.axiom).map(|axiom| axiom.name.to_string())
    });
    Some(match broken {
        Some(axiom) => format!("the model contradicts itself: no execution satisfies `{axiom}`"),
        None => "the model contradicts itself: no execution satisfies it".to_owned(),
    })
}
