//! Numbers in other forms than those in which they are counted, as Nsight Compute makes them of its counters: of a whole
//! multiprocessor (`sm__`) instead of its sub-cores (`smsp__`), averages over units, rates, bytes of sectors, and quotients.

use sim_core::DeviceConfig;

use super::Profile;

/// Sub-cores of a multiprocessor.
const SUB_CORES: f64 = 4.0;
/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// A number of a launch that is made of others; nothing, if it is not known how, or one of these is not known.
pub fn value(profile: &Profile, device: &DeviceConfig, name: &str) -> Option<f64> {
    let (base, forms) = name.split_once('.')?;
    if let Some(kind) = base.strip_prefix("l1tex__average_t_sectors_per_request_") {
        return quotient(profile, &format!("l1tex__t_sectors_{kind}"), &format!("l1tex__t_requests_{kind}"));
    }
    match name {
        "smsp__average_inst_executed_per_warp.ratio" => {
            return quotient(profile, "smsp__inst_executed", "smsp__warps_launched");
        }
        "sm__warps_active.avg.per_cycle_active" => {
            let share = profile.value("sm__warps_active.avg.pct_of_peak_sustained_active")?;
            return Some(share / 100.0 * f64::from(device.threads_per_multiprocessor / 32));
        }
        "sm__cycles_elapsed.max"
        | "sm__cycles_elapsed.avg"
        | "smsp__cycles_elapsed.max"
        | "smsp__cycles_elapsed.avg" => {
            return profile.value("gpc__cycles_elapsed.max");
        }
        "smsp__cycles_active.avg" => return profile.value("sm__cycles_active.avg"),
        _ => {}
    }
    let units = match base.split("__").next()? {
        "sm" | "l1tex" => f64::from(device.multiprocessors),
        "smsp" => f64::from(device.multiprocessors) * SUB_CORES,
        // How many others there are is not said.
        _ => f64::NAN,
    };
    if let Some((form, over)) = forms.split_once(".pct_of_peak_sustained_") {
        // A unit that does all it can, cycle by cycle, is 100 %.
        let per_cycle = value(profile, device, &format!("{base}.avg.per_cycle_{over}"))?;
        return Some(100.0 * per_cycle / peak(base)?).filter(|_| matches!(form, "avg" | "sum"));
    }
    let mut forms = forms.split('.');
    let all = sum(profile, base)?;
    let value = match forms.next()? {
        "sum" => all,
        "avg" => all / units,
        _ => return None,
    };
    let over = match forms.next() {
        None => 1.0,
        Some("per_second") => profile.value("gpu__time_duration.sum")? / 1e9,
        Some("per_cycle_elapsed") => profile.value("gpc__cycles_elapsed.max")?,
        Some("per_cycle_active") if units.is_finite() => profile.value("sm__cycles_active.avg")?,
        Some(_) => return None,
    };
    Some(value / over).filter(|value| value.is_finite() && forms.next().is_none())
}

/// What a multiprocessor or a sub-core does in a cycle at the most: as an H100 says of itself, where a launch was profiled with
/// all sections.
fn peak(base: &str) -> Option<f64> {
    let (unit, what) = base.split_once("__")?;
    let all = match what {
        "inst_executed" | "inst_issued" | "issue_active" => 4.0,
        "inst_executed_pipe_fma" | "inst_executed_pipe_cbu" => 4.0,
        "inst_executed_pipe_alu" | "inst_executed_pipe_uniform" | "inst_executed_pipe_fp64" => 2.0,
        "inst_executed_pipe_lsu" | "inst_executed_pipe_cbu_pred_on_any" => 1.0,
        "inst_executed_pipe_xu" | "inst_executed_pipe_adu" => 0.5,
        _ => return None,
    };
    match unit {
        "sm" => Some(all),
        "smsp" => Some(all / SUB_CORES),
        _ => None,
    }
}

/// What was counted, over all units.
fn sum(profile: &Profile, base: &str) -> Option<f64> {
    let of = |name: &str| profile.value(&format!("{name}.sum"));
    let sectors = |name: &str| of(name).map(|sectors| SECTOR * sectors);
    let own = of(base).or_else(|| of(&base.strip_prefix("sm__").map(|rest| format!("smsp__{rest}"))?));
    own.or_else(|| match base {
        "dram__bytes" => Some(of("dram__bytes_read")? + of("dram__bytes_write")?),
        "dram__sectors_read" | "dram__sectors_write" => Some(of(&base.replace("sectors", "bytes"))? / SECTOR),
        _ if base.contains("__t_bytes_") => sectors(&base.replace("__t_bytes_", "__t_sectors_")),
        _ => None,
    })
}

fn quotient(profile: &Profile, of: &str, by: &str) -> Option<f64> {
    let value = sum(profile, of)? / sum(profile, by)?;
    Some(if value.is_finite() { value } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Value;
    use sim_core::Dim3;

    #[test]
    fn forms_of_what_is_counted() {
        let known = [
            ("dram__bytes_read.sum", 6400.0),
            ("dram__bytes_write.sum", 3200.0),
            ("gpc__cycles_elapsed.max", 4000.0),
            ("gpu__time_duration.sum", 2000.0),
            ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 10.0),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 40.0),
            ("sm__cycles_active.avg", 100.0),
            ("smsp__inst_executed.sum", 5280.0),
            ("smsp__warps_launched.sum", 528.0),
        ];
        let values = known.map(|(name, value)| Value { name: name.into(), unit: "", value });
        let (grid, block) = (Dim3::new(1, 1, 1), Dim3::new(1, 1, 1));
        let profile = Profile { kernel: "k".into(), grid, block, values: values.into() };
        let of = |name| value(&profile, &DeviceConfig::h200(), name);
        assert_eq!(of("sm__inst_executed.sum"), Some(5280.0));
        assert_eq!((of("smsp__inst_executed.avg"), of("sm__inst_executed.avg")), (Some(10.0), Some(40.0)));
        assert_eq!(of("sm__inst_executed.avg.per_cycle_active"), Some(0.4));
        assert_eq!(of("smsp__inst_executed.sum.per_cycle_elapsed"), Some(1.32));
        assert_eq!(of("sm__inst_executed.avg.pct_of_peak_sustained_active"), Some(10.0));
        assert_eq!(of("smsp__inst_executed.avg.pct_of_peak_sustained_elapsed"), Some(0.25));
        assert_eq!(of("smsp__warps_launched.avg.pct_of_peak_sustained_active"), None);
        assert_eq!(of("dram__bytes.sum.per_second"), Some(4.8e9));
        assert_eq!(of("dram__sectors_read.sum"), Some(200.0));
        assert_eq!(of("l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"), Some(1280.0));
        assert_eq!(of("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"), Some(4.0));
        assert_eq!(of("smsp__average_inst_executed_per_warp.ratio"), Some(10.0));
        for unknown in ["dram__bytes.avg", "smsp__inst_executed.max", "smsp__inst_executed", "x__y.sum", "x"]
        {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
