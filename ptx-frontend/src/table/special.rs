//! Types and requirements of the special registers (ISA 10).

use crate::target::PtxVersion;
use isa::SpecialRegister;
use isa::{ScalarType, TypeClass};

/// What the manual says of a special register.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) ty: ScalarType,
    /// The oldest PTX version that has it.
    pub(super) version: PtxVersion,
    /// The oldest target that has it.
    pub(super) sm: u16,
}

/// Type and requirements of a special register.
pub(super) fn about(register: SpecialRegister) -> About {
    use ScalarType::{B32, Pred, U32, U64};
    use SpecialRegister as S;
    let (ty, major, minor, sm) = match register {
        S::Tid(_) | S::Ntid(_) | S::Ctaid(_) | S::Nctaid(_) | S::Clock => (U32, 1, 0, 10),
        S::Gridid => (U64, 1, 0, 10),
        S::Laneid | S::Warpid | S::Smid | S::Nsmid | S::Pm(0..=3) => (U32, 1, 3, 10),
        S::Nwarpid | S::Pm(_) => (U32, 2, 0, 20),
        S::LanemaskEq | S::LanemaskLe | S::LanemaskLt | S::LanemaskGe | S::LanemaskGt => (U32, 2, 0, 20),
        S::Clock64 => (U64, 2, 0, 20),
        S::ClockHi => (U32, 5, 0, 20),
        S::Pm64(_) => (U64, 4, 0, 50),
        S::Envreg(_) => (B32, 2, 1, 10),
        S::Globaltimer => (U64, 3, 1, 30),
        S::GlobaltimerLo | S::GlobaltimerHi => (U32, 3, 1, 30),
        S::Clusterid(_) | S::Nclusterid(_) | S::ClusterCtaid(_) | S::ClusterNctaid(_) => (U32, 7, 8, 90),
        S::ClusterCtarank | S::ClusterNctarank => (U32, 7, 8, 90),
        S::IsExplicitCluster => (Pred, 7, 8, 90),
        S::TotalSmemSize | S::DynamicSmemSize => (U32, 4, 1, 20),
        S::AggrSmemSize => (U32, 8, 1, 90),
        S::ReservedSmemOffsetBegin | S::ReservedSmemOffsetEnd | S::ReservedSmemOffsetCap => (B32, 7, 6, 80),
        S::ReservedSmemOffset(_) => (B32, 7, 6, 80),
        S::CurrentGraphExec => (U64, 8, 0, 50),
    };
    About { ty, version: PtxVersion::new(major, minor), sm }
}

/// Whether it may be read as this type: its own width, for indices and `%gridid` also the widths
/// that older versions had.
pub(super) fn fits(register: SpecialRegister, want: ScalarType) -> bool {
    use SpecialRegister as S;
    let ty = about(register).ty;
    if want == ScalarType::Pred || ty == ScalarType::Pred {
        return want == ty;
    }
    let integer = want.lanes() == 1
        && matches!(want.class(), TypeClass::Bits | TypeClass::Signed | TypeClass::Unsigned);
    let narrow = match register {
        S::Tid(_) | S::Ntid(_) | S::Ctaid(_) | S::Nctaid(_) => want.bits() == 16,
        S::Gridid => matches!(want.bits(), 16 | 32),
        _ => false,
    };
    integer && (want.bits() == ty.bits() || narrow)
}
