//! Versions of PTX and architectures.

/// A PTX ISA version, for example 9.0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PtxVersion {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl PtxVersion {
    /// The newest version this front end knows.
    pub const NEWEST: Self = Self::new(9, 5);

    /// `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }
}

impl std::fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The suffix of a target (ISA 11.1.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TargetKind {
    /// `sm_90`: runs on this and later architectures.
    Portable,
    /// `sm_100f`: runs on its family.
    Family,
    /// `sm_90a`: runs on this architecture only.
    Architecture,
}

/// A target architecture such as `sm_90a`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// The number: 90 for `sm_90`.
    pub sm: u16,
    /// The suffix.
    pub kind: TargetKind,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let suffix = match self.kind {
            TargetKind::Portable => "",
            TargetKind::Family => "f",
            TargetKind::Architecture => "a",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}
