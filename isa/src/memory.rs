//! State spaces, and the words of the memory consistency model (ISA 5.1, 8).

/// A state space (ISA 5.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StateSpace {
    /// `.reg`
    Reg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`: of a kernel (`.param::entry`) or a device function (`.param::func`)
    Param,
    /// `.shared` and `.shared::cta`
    Shared,
    /// `.shared::cluster`
    SharedCluster,
    /// No space given: a generic address.
    Generic,
}

impl StateSpace {
    /// The space as written after a dot; empty for generic.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Reg => "reg",
            Self::Const => "const",
            Self::Global => "global",
            Self::Local => "local",
            Self::Param => "param",
            Self::Shared => "shared",
            Self::SharedCluster => "shared::cluster",
            Self::Generic => "",
        }
    }
}

impl std::fmt::Display for StateSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if let Self::Generic = self { "generic" } else { self.text() })
    }
}

/// A scope of the memory consistency model (ISA 8.5), narrowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// The threads of one CTA.
    Cta,
    /// The threads of one cluster.
    Cluster,
    /// All threads on one device.
    Gpu,
    /// All threads, of the host too.
    Sys,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

    /// The name without its dot.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Cta => "cta",
            Self::Cluster => "cluster",
            Self::Gpu => "gpu",
            Self::Sys => "sys",
        }
    }

    /// The scope with this name (no dot).
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.text() == text)
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.text())
    }
}

/// The order of a memory operation or fence (ISA 8.4). `.volatile` and `.mmio` are no orders of their own: such
/// operations are relaxed, unless they say more, at system scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemOrder {
    /// `.weak`, the default of `ld` and `st`: takes no part in synchronisation.
    Weak,
    /// `.relaxed`
    Relaxed,
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
    /// `.acq_rel`
    AcqRel,
    /// `.sc`, of fences only.
    Sc,
}

impl MemOrder {
    /// All orders.
    pub const ALL: [MemOrder; 6] =
        [Self::Weak, Self::Relaxed, Self::Acquire, Self::Release, Self::AcqRel, Self::Sc];

    /// The name without its dot.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::Sc => "sc",
        }
    }

    /// The order with this name (no dot).
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.text() == text)
    }

    /// Whether an operation of this order acquires.
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::Sc)
    }

    /// Whether an operation of this order releases.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::Sc)
    }
}

impl std::fmt::Display for MemOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.text())
    }
}

/// A method of memory access (ISA 8.6). Texture, surface and constant are those of the published proxy-aware model; PTX
/// has no fence for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Proxy {
    /// Ordinary loads, stores and atomics.
    Generic,
    /// Texture loads.
    Texture,
    /// Surface loads and stores.
    Surface,
    /// Constant-bank loads.
    Constant,
    /// `cp.async.bulk` and the tensor core's own accesses.
    Async,
    /// Tensor maps.
    TensorMap,
}
