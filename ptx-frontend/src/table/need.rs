//! What a form or modifier asks of the module: the oldest PTX version and the targets that have it.

use smallvec::SmallVec;

use crate::span::Span;
use crate::target::{PtxVersion, Target, TargetKind};

use super::context::Context;

/// One accepted kind of target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// `sm_80`: this and every later architecture.
    AtLeast(u16),
    /// `sm_90a`: this architecture only.
    Exact(Target),
    /// `sm_100f`: architecture- and family-specific targets of this family from this number on.
    Family(u16),
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sm_")?;
        let (digits, kind) = match digits.as_bytes().last()? {
            b'a' => (&digits[..digits.len() - 1], TargetKind::Architecture),
            b'f' => (&digits[..digits.len() - 1], TargetKind::Family),
            _ => (digits, TargetKind::Portable),
        };
        let sm = digits.parse().ok()?;
        Some(match kind {
            TargetKind::Portable => Self::AtLeast(sm),
            TargetKind::Family => Self::Family(sm),
            TargetKind::Architecture => Self::Exact(Target { sm, kind }),
        })
    }

    fn accepts(self, target: Target) -> bool {
        match self {
            Self::AtLeast(sm) => target.sm >= sm,
            Self::Exact(exact) => canonical(exact) == canonical(target),
            Self::Family(sm) => {
                target.kind != TargetKind::Portable
                    && family(target.sm) == family(sm)
                    && canonical_number(target.sm) >= canonical_number(sm)
            }
        }
    }
}

/// `sm_101` was renamed to `sm_110` in PTX 9.0.
const fn canonical_number(sm: u16) -> u16 {
    if sm == 101 { 110 } else { sm }
}

fn canonical(target: Target) -> Target {
    Target { sm: canonical_number(target.sm), ..target }
}

const fn family(sm: u16) -> u16 {
    canonical_number(sm) / 10
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(sm) => write!(f, "sm_{sm}"),
            Self::Exact(target) => target.fmt(f),
            Self::Family(sm) => write!(f, "sm_{sm}f"),
        }
    }
}

/// The oldest version and the targets (any of them; no entry means all).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Need {
    pub(super) version: PtxVersion,
    pub(super) targets: SmallVec<[Pattern; 4]>,
    /// From this version on, gone for this architecture and later ones.
    pub(super) removed: Option<(PtxVersion, u16)>,
}

impl Need {
    /// Nothing is asked.
    pub(super) fn none() -> Self {
        Self { version: PtxVersion::new(1, 0), targets: SmallVec::new(), removed: None }
    }

    /// Parses `8.6`, `8.6 sm_100`, `8.6 sm_100f|sm_110f` or `3.0 sm_30 !6.4:sm_70`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut need = Self::none();
        for (at, word) in text.split_whitespace().enumerate() {
            if at == 0 {
                need.version = version(word)?;
            } else if let Some(removed) = word.strip_prefix('!') {
                let (since, target) = removed.split_once(':')?;
                let Pattern::AtLeast(sm) = Pattern::parse(target)? else { return None };
                need.removed = Some((version(since)?, sm));
            } else {
                for pattern in word.split('|') {
                    need.targets.push(Pattern::parse(pattern)?);
                }
            }
        }
        Some(need)
    }

    pub(super) fn version_met(&self, context: &Context) -> bool {
        context.version >= self.version
    }

    pub(super) fn target_met(&self, context: &Context) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|pattern| pattern.accepts(context.target))
    }

    pub(super) fn is_removed(&self, context: &Context) -> bool {
        self.removed.is_some_and(|(since, sm)| context.version >= since && context.target.sm >= sm)
    }

    pub(super) fn met(&self, context: &Context) -> bool {
        self.version_met(context) && self.target_met(context) && !self.is_removed(context)
    }

    /// The targets as a message names them.
    pub(super) fn target_text(&self) -> String {
        let names: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        match names.as_slice() {
            [] => "any target".to_owned(),
            [one] => one.clone(),
            [init @ .., last] => format!("{} or {last}", init.join(", ")),
        }
    }
}

fn version(text: &str) -> Option<PtxVersion> {
    let (major, minor) = text.split_once('.')?;
    Some(PtxVersion::new(major.parse().ok()?, minor.parse().ok()?))
}

/// What a module lacks for a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Unmet {
    /// The words that need it: opcode or modifier, with its dot.
    pub(super) culprit: String,
    pub(super) span: Span,
    /// The oldest version that would do.
    pub(super) version: PtxVersion,
    /// The targets that would do.
    pub(super) need: Need,
    pub(super) version_met: bool,
    pub(super) target_met: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(sm: u16, kind: TargetKind) -> Target {
        Target { sm, kind }
    }

    fn accepts(need: &str, version: (u8, u8), target: Target) -> bool {
        let context = Context { version: PtxVersion::new(version.0, version.1), target, address_size: 64 };
        Need::parse(need).is_some_and(|need| need.met(&context))
    }

    #[test]
    fn targets_follow_architecture_and_family_rules() {
        use TargetKind::{Architecture, Family, Portable};
        assert!(accepts("7.0 sm_80", (7, 0), target(80, Portable)));
        assert!(!accepts("7.0 sm_80", (6, 5), target(80, Portable)));
        assert!(!accepts("7.0 sm_80", (7, 0), target(75, Portable)));
        assert!(accepts("8.0 sm_90a", (8, 0), target(90, Architecture)));
        assert!(!accepts("8.0 sm_90a", (8, 0), target(90, Portable)));
        assert!(!accepts("8.0 sm_90a", (9, 0), target(100, Architecture)));
        assert!(accepts("8.6 sm_100f", (8, 8), target(103, Architecture)));
        assert!(accepts("8.6 sm_100f", (8, 8), target(103, Family)));
        assert!(!accepts("8.6 sm_100f", (8, 8), target(110, Family)));
        assert!(!accepts("8.6 sm_100f", (8, 8), target(100, Portable)));
        assert!(!accepts("8.6 sm_103f", (8, 8), target(100, Architecture)));
        assert!(accepts("8.6 sm_110f", (8, 6), target(101, Architecture)));
        assert!(accepts("3.0 sm_30 !6.4:sm_70", (6, 3), target(70, Portable)));
        assert!(accepts("3.0 sm_30 !6.4:sm_70", (6, 4), target(62, Portable)));
        assert!(!accepts("3.0 sm_30 !6.4:sm_70", (6, 4), target(70, Portable)));
    }
}
