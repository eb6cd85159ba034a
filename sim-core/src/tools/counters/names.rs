//! What the numbers are called, each once: Nsight Compute's names where they mean the same, otherwise ones that begin with
//! `ptx__`.

use super::class::Class;

/// Blocks of the grid.
pub const GRID_SIZE: &str = "launch__grid_size";
/// Threads of a block.
pub const BLOCK_SIZE: &str = "launch__block_size";
/// Warps.
pub const WARPS_LAUNCHED: &str = "smsp__warps_launched.sum";
/// Instructions of the PTX, by warps.
pub const EXECUTED: &str = "ptx__inst_executed.sum";
/// The same by threads.
pub const THREADS: &str = "ptx__thread_inst_executed.sum";
/// By threads that no guard leaves out.
pub const THREADS_ON: &str = "ptx__thread_inst_executed_pred_on.sum";
/// Branches, by warps.
pub const BRANCHES: &str = "ptx__branches.sum";
/// Those that split a warp.
pub const DIVERGENT: &str = "ptx__branches_divergent.sum";
/// Bytes that bulk copies read.
pub const BULK_BYTES: &str = "ptx__bulk_copy_bytes.sum";
/// Accesses of textures and surfaces, by four or eight lanes.
pub const TEXTURE_REQUESTS: &str = "l1tex__t_requests_pipe_tex.sum";
/// Lines that accesses of global memory touch.
pub const TAG_REQUESTS: &str = "memory_l1_tag_requests_global";
/// Sectors of global memory.
pub const SECTORS: &str = "memory_l2_theoretical_sectors_global";
/// As many as the bytes of the lanes need.
pub const IDEAL_SECTORS: &str = "memory_l2_theoretical_sectors_global_ideal";
/// Those beyond.
pub const EXCESSIVE_SECTORS: &str = "derived__memory_l2_theoretical_sectors_global_excessive";
/// Wavefronts of shared memory.
pub const WAVEFRONTS: &str = "memory_l1_wavefronts_shared";
/// As many as the bytes of the lanes need.
pub const IDEAL_WAVEFRONTS: &str = "memory_l1_wavefronts_shared_ideal";
/// Those beyond.
pub const EXCESSIVE_WAVEFRONTS: &str = "derived__memory_l1_wavefronts_shared_excessive";
/// Sectors of local memory beyond what the bytes of the lanes need.
pub const EXCESSIVE_LOCAL: &str = "ptx__local_sectors_excessive.sum";

/// Conflicts of banks of shared memory, all kinds of accesses together.
pub(super) const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";

/// Accesses of shared memory of a kind: `ld`, `st`, `atom`, `ldsm`, `stsm`, `ldgsts`.
pub fn shared_requests(kind: &str) -> String {
    format!("ptx__shared_requests_op_{kind}.sum")
}

/// `requests` or `sectors` of local memory in the PTX: `ld` or `st`.
pub fn local(what: &str, kind: &str) -> String {
    format!("ptx__local_{what}_op_{kind}.sum")
}

/// Instructions of a class, by warps.
pub(super) fn executed(class: Class) -> String {
    format!("ptx__inst_executed_op_{}.sum", class.name())
}

/// The same by threads that no guard leaves out.
pub(super) fn executed_by_threads(class: Class) -> String {
    format!("ptx__thread_inst_executed_op_{}_pred_on.sum", class.name())
}

/// `requests`, `sectors` or `output_wavefronts` of global memory, as the first level of the cache counts them.
pub(super) fn global(what: &str, kind: &str) -> String {
    format!("l1tex__t_{what}_pipe_lsu_mem_global_op_{kind}.sum")
}

/// `requests` or `sectors` of global memory, as they follow from addresses.
pub(super) fn global_by_address(what: &str, kind: &str) -> String {
    format!("smsp__sass_l1tex_t_{what}_pipe_lsu_mem_global_op_{kind}.sum")
}

/// Wavefronts of shared memory, as the hardware counts them.
pub(super) fn wavefronts(kind: &str) -> String {
    format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum")
}

/// The same as they follow from addresses.
pub(super) fn wavefronts_by_address(kind: &str) -> String {
    format!("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum")
}

/// Conflicts of banks of shared memory, as the hardware counts them.
pub(super) fn conflicts(kind: &str) -> String {
    format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum")
}

/// The same as they follow from addresses.
pub(super) fn conflicts_by_address(kind: &str) -> String {
    format!("smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum")
}
