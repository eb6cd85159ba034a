//! The language that models are written in: expressions over sets of events and relations between them.
//!
//! A model is a list of axioms over such expressions. Definitions read like the text they formalise:
//!
//! ```
//! use memory_model::model::algebra::*;
//! // ISA 8.9.2: a chain of morally strong reads-from edges through atomic operations.
//! fn observation(ms: &Rel) -> Rel {
//!     let step = ms & rf();
//!     (&step >> (rmw() >> &step).star()).named("observation", "8.9.2")
//! }
//! ```
//!
//! `|` is union, `&` intersection, `>>` composition, `!` the inverse; [`Rel::plus`], [`Rel::star`] and
//! [`Rel::optional`] close; [`only`] is the identity on a set; [`cross`] all pairs of two sets.
//! The models of this crate use [`Rel::minus`] only on relations that do not depend on the search, which keeps every
//! expression monotone in what the search chooses: an axiom violated by a part of an execution is violated by the
//! whole. Models from files may take away anything (the module that evaluates then says why a pair is not related).

use std::borrow::Cow;
use std::ops::{BitAnd, BitOr, Not, Shr};
use std::sync::Arc;

/// A name of a relation or of an axiom: the manual's, or one that a file gives.
pub type Name = Cow<'static, str>;

/// Sets of events that every execution comes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BaseSet {
    /// All events.
    All,
    /// Reads, writes and initial writes.
    Memory,
    /// Reads.
    Read,
    /// Writes, initial writes included.
    Write,
    /// Initial writes.
    Init,
    /// Strong operations.
    Strong,
    /// Acquire reads.
    AcquireRead,
    /// Release writes.
    ReleaseWrite,
    /// Sequentially consistent accesses, which source languages have.
    ScAccess,
    /// Read halves of reductions.
    ReductionRead,
    /// `fence.sc`.
    ScFence,
    /// `fence.acq_rel`.
    AcqRelFence,
    /// `fence.acquire`.
    AcquireFence,
    /// `fence.release`.
    ReleaseFence,
    /// `fence.proxy.alias`.
    AliasFence,
    /// Proxy fences other than alias fences, of both directions.
    ProxyFence,
    /// Proxy fences that release: the beginning of one direction.
    ProxyRelease,
    /// Proxy fences that acquire: its end.
    ProxyAcquire,
    /// Memory operations and memory fences of the generic proxy.
    Generic,
    /// Barrier operations.
    Barrier,
    /// Barrier operations that wait.
    BarrierWait,
    /// Barrier operations that only arrive.
    BarrierArrive,
    /// Memory operations that are weak, initial writes not among them.
    Weak,
    /// Memory operations that are relaxed.
    Relaxed,
    /// Operations and fences of CTA scope.
    ScopeCta,
    /// Of cluster scope.
    ScopeCluster,
    /// Of device scope.
    ScopeGpu,
    /// Of system scope.
    ScopeSys,
    /// Memory operations and proxy fences of the texture proxy.
    Texture,
    /// Of the surface proxy.
    Surface,
    /// Of the constant proxy.
    Constant,
    /// Of the async proxy.
    Async,
    /// Of the tensor map proxy.
    TensorMap,
    /// Of the generic proxy.
    GenericAccess,
    /// Memory operations in local memory.
    LocalMemory,
    /// Fences and barriers that order local memory alone.
    LocalOrder,
    /// Those that order all but local memory.
    GlobalOrder,
    /// Reads of an iteration in which a thread spins for ever (depends on the search).
    SpinRead,
    /// The chosen final writes (depends on the search).
    FinalWrite,
}

/// Relations that every execution comes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BaseRel {
    /// Program order (8.9.1).
    Po,
    /// Same physical bytes.
    Loc,
    /// Same bytes through the same virtual address.
    VLoc,
    /// Complete overlap at the same virtual address (8.2.1).
    Complete,
    /// Each has a scope that includes the other's thread (8.5).
    MutualScope,
    /// Threads of one CTA.
    SameCta,
    /// Threads of one cluster.
    SameCluster,
    /// Threads of one device.
    SameGpu,
    /// One thread.
    Internal,
    /// Same proxy (8.6).
    SameProxy,
    /// Read half to write half of an atomic.
    Rmw,
    /// Address dependency.
    Addr,
    /// Data dependency.
    Data,
    /// Control dependency.
    Ctrl,
    /// Equality.
    Id,
    /// Reads-from (depends on the search).
    Rf,
    /// Chosen order of write pairs (depends on the search).
    Co,
    /// Fence-SC order (depends on the search).
    Sc,
    /// Barrier synchronisation (depends on the search).
    Bar,
    /// Order in which barrier operations can happen (depends on the search).
    BarOrder,
    /// The pair asked to race (depends on the search).
    Race,
}

impl BaseSet {
    /// Whether it depends on what the search chooses.
    pub fn is_chosen(self) -> bool {
        matches!(self, BaseSet::FinalWrite | BaseSet::SpinRead)
    }
}

impl BaseRel {
    /// Whether it depends on what the search chooses.
    pub fn is_chosen(self) -> bool {
        use BaseRel::{Bar, BarOrder, Co, Race, Rf, Sc};
        matches!(self, Rf | Co | Sc | Bar | BarOrder | Race)
    }

    /// How edges of the relation are labelled.
    pub fn name(self) -> &'static str {
        match self {
            BaseRel::Po => "po",
            BaseRel::Loc => "loc",
            BaseRel::VLoc => "vloc",
            BaseRel::Complete => "overlap",
            BaseRel::MutualScope => "scope",
            BaseRel::SameCta => "cta",
            BaseRel::SameCluster => "cluster",
            BaseRel::SameGpu => "gpu",
            BaseRel::Internal => "int",
            BaseRel::SameProxy => "proxy",
            BaseRel::Rmw => "rmw",
            BaseRel::Addr => "addr",
            BaseRel::Data => "data",
            BaseRel::Ctrl => "ctrl",
            BaseRel::Id => "id",
            BaseRel::Rf => "rf",
            BaseRel::Co => "co",
            BaseRel::Sc => "sc",
            BaseRel::Bar => "bar",
            BaseRel::BarOrder => "bar-order",
            BaseRel::Race => "race",
        }
    }
}

/// A set of events.
#[derive(Debug, Clone)]
pub struct Set(pub(super) Arc<SetNode>);

#[derive(Debug)]
pub(super) enum SetNode {
    Base(BaseSet),
    Union(Set, Set),
    Intersection(Set, Set),
    Difference(Set, Set),
}

/// A relation between events.
#[derive(Debug, Clone)]
pub struct Rel(pub(super) Arc<RelNode>);

#[derive(Debug)]
pub(super) enum RelNode {
    Base(BaseRel),
    Only(Set),
    Cross(Set, Set),
    Union(Rel, Rel),
    Intersection(Rel, Rel),
    Minus(Rel, Rel),
    Compose(Rel, Rel),
    Inverse(Rel),
    Plus(Rel),
    Optional(Rel),
    Named {
        inner: Rel,
        name: Name,
        section: Name,
    },
    /// One of the least relations that satisfy a group of definitions.
    Fixed(Arc<Group>, usize),
    /// That relation inside the definitions of the group with this mark.
    Variable(Arc<Mark>, usize),
}

/// Tells groups apart by its address.
#[derive(Debug)]
pub(super) struct Mark;

/// Relations that are defined by one another.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) mark: Arc<Mark>,
    pub(super) bodies: Vec<Rel>,
}

impl From<&Rel> for Rel {
    fn from(r: &Rel) -> Rel {
        r.clone()
    }
}

impl From<&Set> for Set {
    fn from(s: &Set) -> Set {
        s.clone()
    }
}

/// A base set as an expression.
pub fn set(base: BaseSet) -> Set {
    Set(Arc::new(SetNode::Base(base)))
}

/// A base relation as an expression.
pub fn base(base: BaseRel) -> Rel {
    Rel(Arc::new(RelNode::Base(base)))
}

impl Set {
    /// The events of `self` that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: impl Into<Set>) -> Set {
        Set(Arc::new(SetNode::Difference(self.clone(), other.into())))
    }
}

impl Rel {
    pub(super) fn make(node: RelNode) -> Rel {
        Rel(Arc::new(node))
    }

    /// One or more steps.
    #[must_use]
    pub fn plus(&self) -> Rel {
        Rel::make(RelNode::Plus(self.clone()))
    }

    /// At most one step.
    #[must_use]
    pub fn optional(&self) -> Rel {
        Rel::make(RelNode::Optional(self.clone()))
    }

    /// Any number of steps.
    #[must_use]
    pub fn star(&self) -> Rel {
        self.plus().optional()
    }

    /// The pairs of `self` that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: impl Into<Rel>) -> Rel {
        Rel::make(RelNode::Minus(self.clone(), other.into()))
    }

    /// Gives the relation its name in the manual and the section that defines it.
    #[must_use]
    pub fn named(self, name: impl Into<Name>, section: impl Into<Name>) -> Rel {
        Rel::make(RelNode::Named { inner: self, name: name.into(), section: section.into() })
    }
}

/// No pair.
pub fn nothing() -> Rel {
    cross(all().minus(all()), all())
}

/// The identity on a set.
pub fn only(s: impl Into<Set>) -> Rel {
    Rel::make(RelNode::Only(s.into()))
}

/// All pairs of an event of `a` and one of `b`.
pub fn cross(a: impl Into<Set>, b: impl Into<Set>) -> Rel {
    Rel::make(RelNode::Cross(a.into(), b.into()))
}

macro_rules! binary_operator {
    ($type:ident, $node:ident, $trait:ident, $method:ident, $variant:ident) => {
        impl<T: Into<$type>> $trait<T> for $type {
            type Output = $type;
            fn $method(self, other: T) -> $type {
                $type(Arc::new($node::$variant(self, other.into())))
            }
        }
        impl<T: Into<$type>> $trait<T> for &$type {
            type Output = $type;
            fn $method(self, other: T) -> $type {
                $type(Arc::new($node::$variant(self.clone(), other.into())))
            }
        }
    };
}
binary_operator!(Set, SetNode, BitOr, bitor, Union);
binary_operator!(Set, SetNode, BitAnd, bitand, Intersection);
binary_operator!(Rel, RelNode, BitOr, bitor, Union);
binary_operator!(Rel, RelNode, BitAnd, bitand, Intersection);
binary_operator!(Rel, RelNode, Shr, shr, Compose);

impl Not for Rel {
    type Output = Rel;
    fn not(self) -> Rel {
        Rel::make(RelNode::Inverse(self))
    }
}

impl Not for &Rel {
    type Output = Rel;
    fn not(self) -> Rel {
        Rel::make(RelNode::Inverse(self.clone()))
    }
}

macro_rules! base_relations {
    ($($(#[$doc:meta])* $name:ident = $variant:ident;)*) => {
        $($(#[$doc])* pub fn $name() -> Rel { base(BaseRel::$variant) })*
    };
}
base_relations! {
    /// [`BaseRel::Po`].
    po = Po;
    /// [`BaseRel::Loc`].
    loc = Loc;
    /// [`BaseRel::VLoc`].
    vloc = VLoc;
    /// [`BaseRel::Complete`].
    complete_overlap = Complete;
    /// [`BaseRel::MutualScope`].
    mutual_scope = MutualScope;
    /// [`BaseRel::SameCta`].
    same_cta = SameCta;
    /// [`BaseRel::Internal`].
    internal = Internal;
    /// [`BaseRel::SameProxy`].
    same_proxy = SameProxy;
    /// [`BaseRel::Rmw`].
    rmw = Rmw;
    /// [`BaseRel::Addr`].
    addr = Addr;
    /// [`BaseRel::Data`].
    data = Data;
    /// [`BaseRel::Ctrl`].
    ctrl = Ctrl;
    /// [`BaseRel::Id`].
    id = Id;
    /// [`BaseRel::Rf`].
    rf = Rf;
    /// [`BaseRel::Co`].
    chosen_co = Co;
    /// [`BaseRel::Sc`].
    sc = Sc;
    /// [`BaseRel::Bar`].
    bar = Bar;
    /// [`BaseRel::BarOrder`].
    bar_order = BarOrder;
    /// [`BaseRel::Race`].
    race = Race;
}

macro_rules! base_sets {
    ($($(#[$doc:meta])* $name:ident = $variant:ident;)*) => {
        $($(#[$doc])* pub fn $name() -> Set { set(BaseSet::$variant) })*
    };
}
base_sets! {
    /// [`BaseSet::All`].
    all = All;
    /// [`BaseSet::Memory`].
    memory = Memory;
    /// [`BaseSet::Read`].
    reads = Read;
    /// [`BaseSet::Write`].
    writes = Write;
    /// [`BaseSet::Init`].
    init = Init;
    /// [`BaseSet::Strong`].
    strong = Strong;
    /// [`BaseSet::AcquireRead`].
    acquire_reads = AcquireRead;
    /// [`BaseSet::ReleaseWrite`].
    release_writes = ReleaseWrite;
    /// [`BaseSet::ScAccess`].
    sc_accesses = ScAccess;
    /// [`BaseSet::ReductionRead`].
    reduction_reads = ReductionRead;
    /// [`BaseSet::ScFence`].
    sc_fences = ScFence;
    /// [`BaseSet::AcqRelFence`].
    acq_rel_fences = AcqRelFence;
    /// [`BaseSet::AcquireFence`].
    acquire_fences = AcquireFence;
    /// [`BaseSet::ReleaseFence`].
    release_fences = ReleaseFence;
    /// [`BaseSet::AliasFence`].
    alias_fences = AliasFence;
    /// [`BaseSet::ProxyFence`].
    proxy_fences = ProxyFence;
    /// [`BaseSet::ProxyRelease`].
    proxy_releases = ProxyRelease;
    /// [`BaseSet::ProxyAcquire`].
    proxy_acquires = ProxyAcquire;
    /// [`BaseSet::Generic`].
    generic = Generic;
    /// [`BaseSet::Barrier`].
    barriers = Barrier;
    /// [`BaseSet::BarrierWait`].
    barrier_waits = BarrierWait;
    /// [`BaseSet::SpinRead`].
    spin_reads = SpinRead;
    /// [`BaseSet::FinalWrite`].
    final_writes = FinalWrite;
}

/// What an axiom demands of its relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// It relates nothing.
    Empty,
    /// It relates no event to itself.
    Irreflexive,
    /// Its transitive closure relates no event to itself.
    Acyclic,
    /// It relates something.
    NotEmpty,
    /// It relates some event to itself.
    NotIrreflexive,
    /// It has a cycle.
    NotAcyclic,
}

impl Demand {
    /// The demand that holds where this one does not.
    #[must_use]
    pub fn negated(self) -> Demand {
        match self {
            Demand::Empty => Demand::NotEmpty,
            Demand::Irreflexive => Demand::NotIrreflexive,
            Demand::Acyclic => Demand::NotAcyclic,
            Demand::NotEmpty => Demand::Empty,
            Demand::NotIrreflexive => Demand::Irreflexive,
            Demand::NotAcyclic => Demand::Acyclic,
        }
    }
}

/// One axiom.
#[derive(Debug, Clone)]
pub struct Axiom {
    /// Its name in the manual, or in its file.
    pub name: Name,
    /// The section that states it.
    pub section: Name,
    /// What it demands.
    pub demand: Demand,
    /// Of what.
    pub rel: Rel,
}

/// `rel` relates nothing.
pub fn empty(name: &'static str, section: &'static str, rel: Rel) -> Axiom {
    Axiom { name: name.into(), section: section.into(), demand: Demand::Empty, rel }
}

/// `rel` relates no event to itself.
pub fn irreflexive(name: &'static str, section: &'static str, rel: Rel) -> Axiom {
    Axiom { name: name.into(), section: section.into(), demand: Demand::Irreflexive, rel }
}

/// `rel` has no cycle.
pub fn acyclic(name: &'static str, section: &'static str, rel: Rel) -> Axiom {
    Axiom { name: name.into(), section: section.into(), demand: Demand::Acyclic, rel }
}
