//! Special registers (ISA 10).

use crate::Component;

/// A special register (ISA 10). A bare `%tid` is a vector of four.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the manual's names")]
pub enum SpecialRegister {
    Tid(Component),
    Ntid(Component),
    Ctaid(Component),
    Nctaid(Component),
    Clusterid(Component),
    Nclusterid(Component),
    ClusterCtaid(Component),
    ClusterNctaid(Component),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    /// `%pm0` to `%pm7`
    Pm(u8),
    /// `%pm0_64` to `%pm7_64`
    Pm64(u8),
    /// `%envreg0` to `%envreg31`
    Envreg(u8),
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    TotalSmemSize,
    DynamicSmemSize,
    AggrSmemSize,
    ReservedSmemOffsetBegin,
    ReservedSmemOffsetEnd,
    ReservedSmemOffsetCap,
    /// `%reserved_smem_offset_0` and `_1`
    ReservedSmemOffset(u8),
    CurrentGraphExec,
}

impl std::fmt::Display for SpecialRegister {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use SpecialRegister as R;
        let name = match self {
            R::Tid(at) => return write!(f, "%tid.{at}"),
            R::Ntid(at) => return write!(f, "%ntid.{at}"),
            R::Ctaid(at) => return write!(f, "%ctaid.{at}"),
            R::Nctaid(at) => return write!(f, "%nctaid.{at}"),
            R::Clusterid(at) => return write!(f, "%clusterid.{at}"),
            R::Nclusterid(at) => return write!(f, "%nclusterid.{at}"),
            R::ClusterCtaid(at) => return write!(f, "%cluster_ctaid.{at}"),
            R::ClusterNctaid(at) => return write!(f, "%cluster_nctaid.{at}"),
            R::Pm(number) => return write!(f, "%pm{number}"),
            R::Pm64(number) => return write!(f, "%pm{number}_64"),
            R::Envreg(number) => return write!(f, "%envreg{number}"),
            R::ReservedSmemOffset(number) => return write!(f, "%reserved_smem_offset_{number}"),
            R::ClusterCtarank => "%cluster_ctarank",
            R::ClusterNctarank => "%cluster_nctarank",
            R::IsExplicitCluster => "%is_explicit_cluster",
            R::Laneid => "%laneid",
            R::Warpid => "%warpid",
            R::Nwarpid => "%nwarpid",
            R::Smid => "%smid",
            R::Nsmid => "%nsmid",
            R::Gridid => "%gridid",
            R::LanemaskEq => "%lanemask_eq",
            R::LanemaskLe => "%lanemask_le",
            R::LanemaskLt => "%lanemask_lt",
            R::LanemaskGe => "%lanemask_ge",
            R::LanemaskGt => "%lanemask_gt",
            R::Clock => "%clock",
            R::ClockHi => "%clock_hi",
            R::Clock64 => "%clock64",
            R::Globaltimer => "%globaltimer",
            R::GlobaltimerLo => "%globaltimer_lo",
            R::GlobaltimerHi => "%globaltimer_hi",
            R::TotalSmemSize => "%total_smem_size",
            R::DynamicSmemSize => "%dynamic_smem_size",
            R::AggrSmemSize => "%aggr_smem_size",
            R::ReservedSmemOffsetBegin => "%reserved_smem_offset_begin",
            R::ReservedSmemOffsetEnd => "%reserved_smem_offset_end",
            R::ReservedSmemOffsetCap => "%reserved_smem_offset_cap",
            R::CurrentGraphExec => "%current_graph_exec",
        };
        f.write_str(name)
    }
}
