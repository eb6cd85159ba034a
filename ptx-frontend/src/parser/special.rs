//! Names of special registers (ISA 10).

use isa::{Component, SpecialRegister};

/// A special register, or one with four components.
#[derive(Clone, Copy)]
pub(super) enum Special {
    Scalar(SpecialRegister),
    Vector(fn(Component) -> SpecialRegister),
}

/// The special register of this name, without a component.
pub(super) fn special(name: &str) -> Option<Special> {
    use SpecialRegister as R;
    let name = name.strip_prefix('%')?;
    let scalar = match name {
        "tid" => return Some(Special::Vector(R::Tid)),
        "ntid" => return Some(Special::Vector(R::Ntid)),
        "ctaid" => return Some(Special::Vector(R::Ctaid)),
        "nctaid" => return Some(Special::Vector(R::Nctaid)),
        "clusterid" => return Some(Special::Vector(R::Clusterid)),
        "nclusterid" => return Some(Special::Vector(R::Nclusterid)),
        "cluster_ctaid" => return Some(Special::Vector(R::ClusterCtaid)),
        "cluster_nctaid" => return Some(Special::Vector(R::ClusterNctaid)),
        "cluster_ctarank" => R::ClusterCtarank,
        "cluster_nctarank" => R::ClusterNctarank,
        "is_explicit_cluster" => R::IsExplicitCluster,
        "laneid" => R::Laneid,
        "warpid" => R::Warpid,
        "nwarpid" => R::Nwarpid,
        "smid" => R::Smid,
        "nsmid" => R::Nsmid,
        "gridid" => R::Gridid,
        "lanemask_eq" => R::LanemaskEq,
        "lanemask_le" => R::LanemaskLe,
        "lanemask_lt" => R::LanemaskLt,
        "lanemask_ge" => R::LanemaskGe,
        "lanemask_gt" => R::LanemaskGt,
        "clock" => R::Clock,
        "clock_hi" => R::ClockHi,
        "clock64" => R::Clock64,
        "globaltimer" => R::Globaltimer,
        "globaltimer_lo" => R::GlobaltimerLo,
        "globaltimer_hi" => R::GlobaltimerHi,
        "total_smem_size" => R::TotalSmemSize,
        "dynamic_smem_size" => R::DynamicSmemSize,
        "aggr_smem_size" => R::AggrSmemSize,
        "reserved_smem_offset_begin" => R::ReservedSmemOffsetBegin,
        "reserved_smem_offset_end" => R::ReservedSmemOffsetEnd,
        "reserved_smem_offset_cap" => R::ReservedSmemOffsetCap,
        "reserved_smem_offset_0" => R::ReservedSmemOffset(0),
        "reserved_smem_offset_1" => R::ReservedSmemOffset(1),
        "current_graph_exec" => R::CurrentGraphExec,
        _ => return numbered(name),
    };
    Some(Special::Scalar(scalar))
}

fn numbered(name: &str) -> Option<Special> {
    let number = |digits: &str, limit: u8| -> Option<u8> {
        let canonical =
            digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
        digits.parse().ok().filter(|&n| canonical && n < limit)
    };
    if let Some(digits) = name.strip_prefix("envreg") {
        return Some(Special::Scalar(SpecialRegister::Envreg(number(digits, 32)?)));
    }
    let digits = name.strip_prefix("pm")?;
    Some(Special::Scalar(match digits.strip_suffix("_64") {
        Some(digits) => SpecialRegister::Pm64(number(digits, 8)?),
        None => SpecialRegister::Pm(number(digits, 8)?),
    }))
}

/// The names of all special registers, for suggestions.
pub(super) const NAMES: &[&str] = &[
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%total_smem_size",
    "%dynamic_smem_size",
    "%aggr_smem_size",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%current_graph_exec",
    "%pm0",
    "%envreg0",
];

/// A component suffix: position, and equally the color names.
pub(super) fn component(suffix: &str) -> Option<Component> {
    Some(match suffix {
        "x" | "r" => Component::X,
        "y" | "g" => Component::Y,
        "z" | "b" => Component::Z,
        "w" | "a" => Component::W,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known() {
        for name in NAMES {
            assert!(special(name).is_some(), "{name}");
        }
        assert!(
            special("%envreg31").is_some()
                && special("%envreg32").is_none()
                && special("%envreg01").is_none()
        );
        assert!(special("%pm7_64").is_some() && special("%pm8").is_none() && special("%r1").is_none());
    }
}
