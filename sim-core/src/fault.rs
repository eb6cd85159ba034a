//! What a device says of a fault: CUDA's error of each kind of finding, and which errors are one class.
//!
//! These are the only tables of it: the simulated driver answers with [`FindingKind::cuda_error`], a real device's
//! answer is read with [`FindingKind::of_cuda_error`], and the two are compared by [`FaultClass`].

use crate::finding::FindingKind;

/// What a device can tell faults apart by: the error of the driver, or no end at all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FaultClass {
    /// An address that cannot be accessed or run: data, a stack that grew too far, code that is none.
    IllegalAddress,
    /// An address that is not aligned.
    Misaligned,
    /// An address in a space that the instruction cannot reach.
    WrongSpace,
    /// A failed assertion.
    Assertion,
    /// A stop by the kernel itself, by the device's heap, or by an instruction that cannot be run as it is.
    Trap,
    /// No end: the device waits for ever.
    NoProgress,
}

/// CUDA's errors of faults: the class of each, and the kind that stands for it. A device says no more than that: an
/// illegal address is given as out of bounds, whether it was null, freed or behind the end.
const ERRORS: [(u32, FaultClass, FindingKind); 9] = [
    (700, FaultClass::IllegalAddress, FindingKind::OutOfBounds),
    (702, FaultClass::NoProgress, FindingKind::LimitReached),
    (710, FaultClass::Assertion, FindingKind::AssertionFailed),
    (714, FaultClass::IllegalAddress, FindingKind::StackOverflow),
    (715, FaultClass::Trap, FindingKind::Trap),
    (716, FaultClass::Misaligned, FindingKind::Misaligned),
    (717, FaultClass::WrongSpace, FindingKind::WrongSpace),
    // An H200 gives it for a call between two instructions, and 700 for a call of data.
    (718, FaultClass::IllegalAddress, FindingKind::InvalidTarget),
    (719, FaultClass::Trap, FindingKind::Trap),
];

/// Classes by their stable names; the last name is one that older recordings have.
const NAMES: [(&str, FaultClass); 7] = [
    ("illegal-address", FaultClass::IllegalAddress),
    ("misaligned", FaultClass::Misaligned),
    ("wrong-space", FaultClass::WrongSpace),
    ("assertion", FaultClass::Assertion),
    ("trap", FaultClass::Trap),
    ("no-progress", FaultClass::NoProgress),
    ("invalid-target", FaultClass::IllegalAddress),
];

impl FaultClass {
    /// The stable name used in reports and recordings.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, class)| *class == self).map_or("", |(name, _)| name)
    }

    /// The class of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, class)| *class)
    }
}

impl FindingKind {
    /// The number of the error that a device leaves (`CUresult`); `None` for what stops no device.
    pub const fn cuda_error(self) -> Option<u32> {
        Some(match self {
            // A device sees a stack that grew too far, a call of data, and `free` of what is not in its heap as an access
            // that is not possible.
            Self::OutOfBounds
            | Self::NullPointer
            | Self::UseAfterFree
            | Self::PeerAccess
            | Self::WriteToReadOnly
            | Self::StackOverflow
            | Self::InvalidTarget
            | Self::InvalidFree => 700,
            // A device waits for ever; this is what a watchdog would say.
            Self::Deadlock | Self::BarrierMismatch | Self::LimitReached => 702,
            Self::AssertionFailed => 710,
            // A lane that its own mask leaves out, on an H200 where masks differ or the compiler's optimiser is off.
            Self::WarpSyncMismatch | Self::IllegalInstruction => 715,
            Self::Misaligned => 716,
            Self::WrongSpace => 717,
            Self::Trap | Self::Breakpoint | Self::DoubleFree | Self::ClusterAddress | Self::WrongMbarrier => {
                719
            }
            Self::Unsupported
            | Self::InternalError
            | Self::UninitializedRead
            | Self::UndefinedBehavior
            | Self::IgnoredValue
            | Self::DataRace
            | Self::WarpRace
            | Self::ScopeRace
            | Self::MissingProxyFence
            | Self::MixedSizeRace => return None,
        })
    }

    /// The kind that an error of a device stands for; `None` if it is not about a kernel's fault.
    pub fn of_cuda_error(number: u32) -> Option<Self> {
        row(number).map(|&(_, _, kind)| kind)
    }

    /// How a device shows it, if it notices it; `None` for what stops no device.
    pub fn class(self) -> Option<FaultClass> {
        row(self.cuda_error()?).map(|&(_, class, _)| class)
    }
}

fn row(number: u32) -> Option<&'static (u32, FaultClass, FindingKind)> {
    ERRORS.iter().find(|(known, _, _)| *known == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_one_error_and_one_class() {
        for &kind in FindingKind::ALL {
            let of_simulator = matches!(kind, FindingKind::Unsupported | FindingKind::InternalError);
            assert_eq!(kind.cuda_error().is_some(), kind.is_fault() && !of_simulator, "{kind:?}");
            assert_eq!(
                kind.class().is_some(),
                kind.cuda_error().is_some(),
                "{kind:?} has an error of the table"
            );
        }
        for (number, class, kind) in ERRORS {
            assert_eq!(
                kind.class(),
                Some(class),
                "what a device says with {number} is compared with its own class"
            );
            assert_eq!(FindingKind::of_cuda_error(number), Some(kind));
            assert_eq!(FaultClass::from_name(class.name()), Some(class));
        }
        assert_eq!(FindingKind::of_cuda_error(1), None, "a wrong argument is no fault of a kernel");
        assert_eq!(FaultClass::from_name("invalid-target"), Some(FaultClass::IllegalAddress));
    }

    /// Read off an H200.
    #[test]
    fn faults_are_those_of_a_device() {
        for (kind, error, class) in [
            (FindingKind::NullPointer, 700, "illegal-address"),
            (FindingKind::StackOverflow, 700, "illegal-address"),
            (FindingKind::InvalidTarget, 700, "illegal-address"),
            (FindingKind::AssertionFailed, 710, "assertion"),
            (FindingKind::WarpSyncMismatch, 715, "trap"),
            (FindingKind::Misaligned, 716, "misaligned"),
            (FindingKind::WrongSpace, 717, "wrong-space"),
            (FindingKind::Trap, 719, "trap"),
            (FindingKind::Breakpoint, 719, "trap"),
            (FindingKind::Deadlock, 702, "no-progress"),
        ] {
            assert_eq!(
                (kind.cuda_error(), kind.class().map(FaultClass::name)),
                (Some(error), Some(class)),
                "{kind:?}"
            );
        }
    }
}
