//! Numbers by Nsight Compute's names, from how often machine instructions were executed. Which instruction is of which kind and
//! pipe was found from recordings of an H200 (`testdata/counters`).

use super::listing::{Instruction, Listing};
use super::{Count, Followed};

/// What of an instruction's executions is summed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    /// Warps.
    Warps,
    /// Warps of which a lane takes part, and those of which none does.
    Some,
    None,
    /// Lanes, those that take part, and those that a guard leaves out.
    Lanes,
    On,
    Off,
    /// Warps that go one way, and those that go two.
    Together,
    Apart,
}

/// One number: its name, what is summed, and over which instructions.
type Row = (&'static str, Of, fn(&Instruction) -> bool);

macro_rules! base {
    ($($name:literal)|+) => { |of| matches!(of.base(), $($name)|+) };
}

/// Instructions that go elsewhere and are no end.
fn branch(of: &Instruction) -> bool {
    matches!(of.base(), "BRA" | "BRX" | "JMP" | "CALL" | "RET")
}

/// Instructions of the unit for convergence and branches, but branches.
fn convergence(of: &Instruction) -> bool {
    matches!(of.base(), "BSSY" | "BSYNC" | "BREAK" | "CALL" | "EXIT" | "RET" | "WARPSYNC" | "BRX" | "YIELD")
}

fn all(_: &Instruction) -> bool {
    true
}

fn half(of: &Instruction) -> bool {
    matches!(of.base(), "HADD2" | "HMUL2" | "HFMA2")
}

/// `HFMA2` that the matrix unit does.
fn matrix_half(of: &Instruction) -> bool {
    of.base() == "HFMA2" && of.has("MMA")
}

fn hmma(of: &Instruction) -> bool {
    of.base() == "HMMA" || matrix_half(of)
}

fn compares(of: &Instruction) -> bool {
    of.has("CAS") || of.has("CAST")
}

/// A load, store or atomic.
fn accesses(of: &Instruction) -> bool {
    let base = of.base();
    matches!(base, "LD" | "LDG" | "LDS" | "LDL" | "LDSM" | "ST" | "STG" | "STS" | "STL" | "STSM")
        || matches!(base, "ATOM" | "ATOMG" | "ATOMS" | "RED" | "REDG")
}

/// Bits that a lane accesses.
fn bits(of: &Instruction) -> u32 {
    let has = |names: &[&str]| names.iter().any(|name| of.has(name));
    match () {
        () if matches!(of.base(), "LDSM" | "STSM") => 128,
        () if has(&["U8", "S8"]) => 8,
        () if has(&["U16", "S16"]) => 16,
        () if has(&["64", "S64", "F64"]) => 64,
        () if has(&["128"]) => 128,
        () => 32,
    }
}

fn uniform(of: &Instruction) -> bool {
    of.base().starts_with('U') && !matches!(of.base(), "UBLKCP" | "UCGABAR_ARV" | "UCGABAR_WAIT")
}

const ROWS: &[Row] = &[
    ("smsp__inst_executed.sum", Of::Warps, all),
    ("smsp__inst_executed_shader_cs.sum", Of::Warps, all),
    ("smsp__thread_inst_executed.sum", Of::Lanes, all),
    ("smsp__sass_thread_inst_executed.sum", Of::Lanes, all),
    ("smsp__thread_inst_executed_pred_on.sum", Of::On, all),
    ("smsp__sass_thread_inst_executed_pred_on.sum", Of::On, all),
    ("smsp__thread_inst_executed_pred_off.sum", Of::Off, all),
    ("smsp__inst_executed_op_branch.sum", Of::Warps, |of| {
        branch(of) || matches!(of.base(), "EXIT" | "BSYNC" | "WARPSYNC" | "YIELD")
    }),
    ("smsp__sass_inst_executed_op_branch.sum", Of::Warps, branch),
    ("smsp__sass_branch_targets.sum", Of::Warps, branch),
    ("smsp__sass_branch_targets_threads_uniform.sum", Of::Together, branch),
    ("smsp__sass_branch_targets_threads_divergent.sum", Of::Apart, branch),
    ("smsp__inst_executed_op_global_ld.sum", Of::Warps, base!("LDG")),
    ("smsp__inst_executed_op_global_st.sum", Of::Warps, base!("STG")),
    ("smsp__inst_executed_op_global_red.sum", Of::Warps, base!("REDG" | "RED")),
    ("smsp__inst_executed_op_generic_ld.sum", Of::Warps, base!("LD")),
    ("smsp__inst_executed_op_generic_st.sum", Of::Warps, base!("ST")),
    ("smsp__inst_executed_op_generic_atom.sum", Of::Warps, base!("ATOM" | "ATOMG")),
    ("smsp__inst_executed_op_local_ld.sum", Of::Warps, base!("LDL")),
    ("smsp__inst_executed_op_local_st.sum", Of::Warps, base!("STL")),
    ("smsp__inst_executed_op_shared_ld.sum", Of::Warps, base!("LDS")),
    ("smsp__inst_executed_op_shared_st.sum", Of::Warps, base!("STS")),
    ("smsp__inst_executed_op_shared_atom.sum", Of::Warps, base!("ATOMS")),
    ("smsp__inst_executed_op_shared_atom_dot_alu.sum", Of::Warps, |of| of.base() == "ATOMS" && !compares(of)),
    ("smsp__inst_executed_op_shared_atom_dot_cas.sum", Of::Warps, |of| of.base() == "ATOMS" && compares(of)),
    ("smsp__inst_executed_op_ldc.sum", Of::Warps, base!("LDC")),
    ("smsp__inst_executed_op_ldgsts.sum", Of::Warps, base!("LDGSTS")),
    ("smsp__inst_executed_op_ldsm.sum", Of::Warps, base!("LDSM")),
    ("smsp__inst_executed_op_global_ld_pred_on_any.sum", Of::Some, base!("LDG")),
    ("smsp__inst_executed_op_global_st_pred_on_any.sum", Of::Some, base!("STG")),
    ("smsp__inst_executed_op_global_red_pred_on_any.sum", Of::Some, base!("REDG" | "RED")),
    ("smsp__inst_executed_op_generic_ld_pred_on_any.sum", Of::Some, base!("LD")),
    ("smsp__inst_executed_op_generic_st_pred_on_any.sum", Of::Some, base!("ST")),
    ("smsp__inst_executed_op_generic_atom_pred_on_any.sum", Of::Some, base!("ATOM" | "ATOMG")),
    ("smsp__inst_executed_op_local_ld_pred_on_any.sum", Of::Some, base!("LDL")),
    ("smsp__inst_executed_op_local_st_pred_on_any.sum", Of::Some, base!("STL")),
    ("smsp__inst_executed_op_shared_ld_pred_on_any.sum", Of::Some, base!("LDS")),
    ("smsp__inst_executed_op_shared_st_pred_on_any.sum", Of::Some, base!("STS")),
    ("smsp__inst_executed_op_shared_atom_pred_on_any.sum", Of::Some, base!("ATOMS")),
    ("smsp__inst_executed_op_shared_atom_dot_alu_pred_on_any.sum", Of::Some, |of| {
        of.base() == "ATOMS" && !compares(of)
    }),
    ("smsp__inst_executed_op_shared_atom_dot_cas_pred_on_any.sum", Of::Some, |of| {
        of.base() == "ATOMS" && compares(of)
    }),
    ("smsp__inst_executed_op_ldc_pred_on_any.sum", Of::Some, base!("LDC")),
    ("smsp__inst_executed_op_ldgsts_pred_on_any.sum", Of::Some, base!("LDGSTS")),
    ("smsp__inst_executed_op_ldsm_pred_on_any.sum", Of::Some, base!("LDSM")),
    ("smsp__inst_executed_op_global_ld_pred_off_all.sum", Of::None, base!("LDG")),
    ("smsp__inst_executed_op_global_st_pred_off_all.sum", Of::None, base!("STG")),
    ("smsp__inst_executed_op_generic_ld_pred_off_all.sum", Of::None, base!("LD")),
    ("smsp__inst_executed_op_generic_st_pred_off_all.sum", Of::None, base!("ST")),
    ("smsp__inst_executed_op_shared_ld_pred_off_all.sum", Of::None, base!("LDS")),
    ("smsp__inst_executed_op_shared_st_pred_off_all.sum", Of::None, base!("STS")),
    ("smsp__inst_executed_op_ldc_pred_off_all.sum", Of::None, base!("LDC")),
    ("smsp__inst_executed_op_ldgsts_pred_off_all.sum", Of::None, base!("LDGSTS")),
    ("smsp__inst_executed_pipe_adu.sum", Of::Warps, |of| {
        let waits = matches!(of.base(), "BAR" | "ERRBAR" | "SYNCS" | "UCGABAR_ARV" | "RET" | "BRX" | "MATCH")
            || of.base() == "WARPSYNC" && !of.has("ALL");
        waits || matches!(of.base(), "LDC" | "S2UR" | "REDUX" | "B2R") || of.base() == "S2R" && !of_lanes(of)
    }),
    ("smsp__inst_executed_pipe_alu.sum", Of::Warps, |of| {
        let moves =
            matches!(of.base(), "CS2R" | "MOV" | "P2R" | "R2P" | "R2UR" | "SEL" | "FSEL" | "PRMT" | "VOTE");
        let compares = matches!(of.base(), "FSETP" | "FSET" | "ISETP" | "PLOP3" | "HSETP2" | "HSET2");
        let computes =
            matches!(of.base(), "IABS" | "IADD3" | "LEA" | "LOP3" | "SHF" | "VIADDMNMX" | "VIMNMX" | "IMNMX");
        let floats =
            matches!(of.base(), "F2FP" | "FMNMX" | "HMNMX2" | "I2FP" | "VABSDIFF" | "VABSDIFF4" | "ELECT");
        moves || compares || computes || floats
    }),
    ("smsp__inst_executed_pipe_cbu.sum", Of::Warps, convergence),
    ("smsp__inst_executed_pipe_cbu_pred_on_any.sum", Of::Some, convergence),
    ("smsp__inst_executed_pipe_cbu_pred_off_all.sum", Of::None, convergence),
    ("smsp__inst_executed_pipe_fma.sum", Of::Warps, |of| {
        matches!(of.base(), "FADD" | "FFMA" | "FMUL" | "IMAD" | "VIADD" | "IDP")
            || half(of) && !matrix_half(of)
    }),
    ("smsp__inst_executed_pipe_fma_type_fp16.sum", Of::Warps, |of| half(of) && !matrix_half(of)),
    ("smsp__inst_executed_pipe_fp64.sum", Of::Warps, base!("DADD" | "DFMA" | "DMUL" | "DSETP" | "DMNMX")),
    ("smsp__inst_executed_pipe_lsu.sum", Of::Warps, |of| {
        let moves =
            matches!(of.base(), "SHFL" | "MEMBAR" | "LDGSTS" | "MOVM" | "CCTL" | "LDGDEPBAR" | "FENCE");
        accesses(of) || moves || of.base() == "S2R" && of_lanes(of)
    }),
    ("smsp__inst_executed_pipe_tensor.sum", Of::Warps, |of| {
        hmma(of) || matches!(of.base(), "IMMA" | "DMMA" | "BMMA")
    }),
    ("smsp__inst_executed_pipe_tensor_op_hmma.sum", Of::Warps, hmma),
    ("smsp__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", Of::Warps, matrix_half),
    ("smsp__inst_executed_pipe_tensor_op_imma.sum", Of::Warps, base!("IMMA")),
    ("smsp__inst_executed_pipe_uniform.sum", Of::Warps, |of| {
        uniform(of) && !matches!(of.base(), "ULDC" | "UMOV")
    }),
    ("smsp__inst_executed_pipe_xu.sum", Of::Warps, |of| {
        matches!(of.base(), "BREV" | "F2F" | "F2I" | "FCHK" | "FLO" | "FRND" | "I2F" | "MUFU" | "POPC")
    }),
    ("smsp__sass_inst_executed_op_atom.sum", Of::Some, base!("ATOM" | "ATOMG" | "ATOMS")),
    (
        "smsp__sass_inst_executed_op_global.sum",
        Of::Some,
        base!("LDG" | "STG" | "ATOMG" | "REDG" | "LD" | "ST" | "ATOM" | "RED"),
    ),
    ("smsp__sass_inst_executed_op_global_atom.sum", Of::Some, base!("ATOMG" | "ATOM")),
    ("smsp__sass_inst_executed_op_global_ld.sum", Of::Some, base!("LDG" | "LD")),
    ("smsp__sass_inst_executed_op_global_red.sum", Of::Some, base!("REDG" | "RED")),
    ("smsp__sass_inst_executed_op_global_st.sum", Of::Some, base!("STG" | "ST")),
    ("smsp__sass_inst_executed_op_ld.sum", Of::Warps, base!("LD" | "LDG" | "LDL" | "LDS" | "LDSM")),
    ("smsp__sass_inst_executed_op_st.sum", Of::Warps, base!("ST" | "STG" | "STL" | "STS" | "STSM")),
    ("smsp__sass_inst_executed_op_local.sum", Of::Some, base!("LDL" | "STL" | "LD" | "ST")),
    ("smsp__sass_inst_executed_op_local_ld.sum", Of::Some, base!("LDL" | "LD")),
    ("smsp__sass_inst_executed_op_local_st.sum", Of::Some, base!("STL" | "ST")),
    ("smsp__sass_inst_executed_op_ldgsts.sum", Of::Some, base!("LDGSTS")),
    ("smsp__sass_inst_executed_op_ldsm.sum", Of::Some, base!("LDSM")),
    (
        "smsp__sass_inst_executed_op_shared.sum",
        Of::Some,
        base!("LDS" | "STS" | "ATOMS" | "LDSM" | "STSM" | "LD" | "ST" | "ATOM"),
    ),
    ("smsp__sass_inst_executed_op_shared_atom.sum", Of::Some, base!("ATOMS" | "ATOM")),
    ("smsp__sass_inst_executed_op_shared_ld.sum", Of::Some, base!("LDS" | "LD")),
    ("smsp__sass_inst_executed_op_shared_st.sum", Of::Some, base!("STS" | "ST")),
    ("smsp__sass_inst_executed_op_memory_8b.sum", Of::Warps, |of| {
        (accesses(of) || of.base() == "LDGSTS") && bits(of) == 8
    }),
    ("smsp__sass_inst_executed_op_memory_16b.sum", Of::Warps, |of| {
        (accesses(of) || of.base() == "LDGSTS") && bits(of) == 16
    }),
    ("smsp__sass_inst_executed_op_memory_32b.sum", Of::Warps, |of| {
        (accesses(of) || of.base() == "LDGSTS") && bits(of) == 32
    }),
    ("smsp__sass_inst_executed_op_memory_64b.sum", Of::Warps, |of| {
        (accesses(of) || of.base() == "LDGSTS") && bits(of) == 64
    }),
    ("smsp__sass_inst_executed_op_memory_128b.sum", Of::Warps, |of| {
        (accesses(of) || of.base() == "LDGSTS") && bits(of) == 128
    }),
    (
        "smsp__sass_thread_inst_executed_op_bit_pred_on.sum",
        Of::On,
        base!("BREV" | "P2R" | "PLOP3" | "PRMT" | "R2P" | "SEL"),
    ),
    ("smsp__sass_thread_inst_executed_op_control_pred_on.sum", Of::On, |of| {
        branch(of)
            || convergence(of)
            || matches!(of.base(), "ERRBAR" | "CGAERRBAR" | "YIELD" | "BMOV" | "BPT" | "NANOSLEEP")
            || matches!(of.base(), "UCGABAR_ARV" | "UCGABAR_WAIT")
    }),
    (
        "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
        Of::On,
        base!("F2F" | "F2FP" | "F2I" | "FRND" | "I2F" | "I2FP"),
    ),
    ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", Of::On, base!("DADD")),
    ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", Of::On, base!("DFMA")),
    ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", Of::On, base!("DMUL")),
    ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", Of::On, base!("FADD")),
    ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", Of::On, base!("FFMA")),
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", Of::On, base!("FMUL")),
    ("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", Of::On, base!("HADD2")),
    ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", Of::On, base!("HFMA2")),
    ("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", Of::On, base!("HMUL2")),
    ("smsp__sass_thread_inst_executed_op_fp16_pred_on.sum", Of::On, |of| {
        half(of) || matches!(of.base(), "HMMA" | "HMNMX2" | "HSETP2" | "HSET2")
    }),
    ("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", Of::On, |of| {
        matches!(of.base(), "FADD" | "FFMA" | "FMUL" | "FSEL" | "FSETP" | "FSET" | "FMNMX" | "MUFU" | "FCHK")
    }),
    (
        "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum",
        Of::On,
        base!("DADD" | "DFMA" | "DMUL" | "DSETP" | "DMNMX"),
    ),
    ("smsp__sass_thread_inst_executed_op_integer_pred_on.sum", Of::On, |of| {
        let adds = matches!(
            of.base(),
            "IABS" | "IADD3" | "IMAD" | "LEA" | "VIADD" | "VIADDMNMX" | "VIMNMX" | "IMNMX"
        );
        let counts = matches!(of.base(), "FLO" | "POPC" | "IMMA" | "IDP");
        adds || counts || matches!(of.base(), "ISETP" | "LOP3" | "SHF")
    }),
    ("smsp__sass_thread_inst_executed_op_inter_thread_communication_pred_on.sum", Of::On, |of| {
        matches!(of.base(), "MATCH" | "REDUX" | "SHFL" | "VOTE" | "VOTEU" | "UBLKCP")
    }),
    ("smsp__sass_thread_inst_executed_op_memory_pred_on.sum", Of::On, |of| {
        accesses(of) || matches!(of.base(), "LDC" | "MEMBAR" | "CCTL" | "LDGSTS" | "UBLKCP" | "QSPC")
    }),
    ("smsp__sass_thread_inst_executed_op_misc_pred_on.sum", Of::On, |of| {
        matches!(
            of.base(),
            "B2R"
                | "BAR"
                | "CS2R"
                | "MOV"
                | "MOVM"
                | "NOP"
                | "R2UR"
                | "S2R"
                | "S2UR"
                | "SYNCS"
                | "FENCE"
                | "LEPC"
        ) || matches!(of.base(), "ENDCOLLECTIVE" | "ELECT" | "DEPBAR" | "VABSDIFF" | "VABSDIFF4")
    }),
    ("smsp__sass_thread_inst_executed_op_uniform_pred_on.sum", Of::On, |of| {
        uniform(of) && of.base() != "VOTEU"
    }),
    (
        "smsp__sass_thread_inst_executed_ops_dadd_dmul_dfma_pred_on.sum",
        Of::On,
        base!("DADD" | "DFMA" | "DMUL"),
    ),
    (
        "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.sum",
        Of::On,
        base!("FADD" | "FFMA" | "FMUL"),
    ),
    ("smsp__sass_thread_inst_executed_ops_hadd_hmul_hfma_pred_on.sum", Of::On, half),
];

/// Whether a special register is one that the unit for loads and stores knows.
fn of_lanes(of: &Instruction) -> bool {
    of.special().is_some_and(|register| {
        register.starts_with("SR_TID") || matches!(register, "SR_LANEID" | "SR_LTMASK")
    })
}

/// Accesses of generic addresses, which may be in any memory.
fn generic(name: &str, of: &Instruction) -> bool {
    let by_memory = ["_op_global", "_op_local", "_op_shared"].iter().any(|part| name.contains(part));
    by_memory && name.starts_with("smsp__sass_inst") && matches!(of.base(), "LD" | "ST" | "ATOM" | "RED")
}

fn value(of: Of, count: &Count) -> Option<u64> {
    Some(match of {
        Of::Warps => count.warps,
        Of::Lanes => count.threads,
        Of::Together => count.warps - count.divergent.min(count.warps),
        Of::Apart => count.divergent,
        Of::Some => count.on?.1,
        Of::None => count.warps - count.on?.1.min(count.warps),
        Of::On => count.on?.0,
        Of::Off => count.threads - count.on?.0.min(count.threads),
    })
}

/// The numbers of a launch; those are missing that depend on what is not known.
pub fn metrics(listing: &Listing, followed: &Followed) -> Vec<(&'static str, u64)> {
    let sum = |(name, of, takes): &Row| {
        let executed =
            listing.instructions.iter().zip(&followed.counts).filter(|(_, count)| count.warps != 0);
        let mut taken = executed.filter(|(instruction, _)| takes(instruction));
        let total = taken.try_fold(0u64, |sum, (instruction, count)| {
            if generic(name, instruction) {
                return None;
            }
            Some(sum.saturating_add(value(*of, count)?))
        });
        total.map(|total| (*name, total))
    };
    ROWS.iter().filter_map(sum).collect()
}

/// How many lanes of a warp take part in an instruction, on average: all that are there, and those that no guard leaves out.
pub fn ratios(metrics: &[(&'static str, u64)]) -> Vec<(&'static str, f64)> {
    let of = |name: &str| metrics.iter().find(|(known, _)| *known == name).map(|(_, value)| *value as f64);
    let Some(warps) = of("smsp__inst_executed.sum").filter(|&warps| warps > 0.0) else { return Vec::new() };
    let list = [
        ("smsp__thread_inst_executed_per_inst_executed.ratio", "smsp__thread_inst_executed.sum"),
        (
            "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
            "smsp__thread_inst_executed_pred_on.sum",
        ),
    ];
    list.into_iter().filter_map(|(name, threads)| Some((name, of(threads)? / warps))).collect()
}

/// The names of all numbers that there may be.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|(name, _, _)| *name)
}

/// Warps and threads by opcode, with its modifiers or without, the most executed first.
pub fn by_opcode(listing: &Listing, followed: &Followed) -> Vec<(String, u64, u64)> {
    let mut list: std::collections::BTreeMap<&str, (u64, u64)> = std::collections::BTreeMap::new();
    for (of, count) in listing.instructions.iter().zip(&followed.counts).filter(|(_, count)| count.warps != 0)
    {
        let (warps, threads) = list.entry(of.base()).or_default();
        *warps += count.warps;
        *threads += count.threads;
    }
    let mut list: Vec<_> =
        list.into_iter().map(|(name, (warps, threads))| (name.to_owned(), warps, threads)).collect();
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_of_machine_code_are_known() {
        for name in super::names() {
            assert!(!reports::metric_names::of(name).what.is_empty(), "{name}");
        }
    }
}
