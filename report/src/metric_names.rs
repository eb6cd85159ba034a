//! What is known of numbers by their names: unit, section, and what they say. The one table of it; the names themselves stand
//! where the numbers are made.

/// Groups of numbers, as Nsight Compute has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// What was launched with which resources.
    Launch,
    /// Blocks on a multiprocessor.
    Occupancy,
    /// Requests, sectors, wavefronts, conflicts.
    Memory,
    /// Instructions and branches.
    Instructions,
    /// Cycles, what warps wait for, the second level of cache and memory.
    Time,
    /// The lines that cost the most of what could be avoided.
    Source,
    /// The machine code, with lines and counts.
    Code,
}

impl Section {
    /// All of them, with their names.
    pub const ALL: [(Section, &'static str); 7] = [
        (Section::Launch, "launch"),
        (Section::Occupancy, "occupancy"),
        (Section::Memory, "memory"),
        (Section::Instructions, "instructions"),
        (Section::Time, "time"),
        (Section::Source, "source"),
        (Section::Code, "code"),
    ];

    /// That of a number.
    pub fn of(name: &str) -> Section {
        of(name).section
    }
}

/// What is known of numbers whose names begin alike.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// How the names begin.
    pub start: &'static str,
    /// `inst`, `sector`, `byte/block`, `%`, or nothing.
    pub unit: &'static str,
    /// Where they are shown.
    pub section: Section,
    /// What they say.
    pub what: &'static str,
    /// They say in another way what others say, to be compared with a device's.
    pub is_detail: bool,
}

const fn name(start: &'static str, unit: &'static str, section: Section, what: &'static str) -> Name {
    Name { start, unit, section, what, is_detail: false }
}

const fn detail(start: &'static str, unit: &'static str, section: Section, what: &'static str) -> Name {
    Name { is_detail: true, ..name(start, unit, section, what) }
}

use Section::{Instructions, Launch, Memory, Occupancy, Time};

const LAUNCHED: &str = "how a kernel was launched, and what its blocks take";
const RESIDENT: &str = "warps that are resident on a multiprocessor at most";

/// The longest start that fits is a name's.
pub const NAMES: &[Name] = &[
    name("launch__", "", Launch, LAUNCHED),
    name("launch__thread_count", "thread", Launch, LAUNCHED),
    name("launch__registers_per_thread", "register/thread", Launch, LAUNCHED),
    name("launch__shared_mem_per_block", "byte/block", Launch, LAUNCHED),
    name("launch__shared_mem_config_size", "byte", Launch, LAUNCHED),
    name("launch__sm_count", "SM", Launch, LAUNCHED),
    name("launch__occupancy", "block", Occupancy, "blocks that fit on a multiprocessor by one resource"),
    name("launch__waves", "", Occupancy, "how often all multiprocessors are filled"),
    name("sm__maximum_warps_avg", "warp", Occupancy, RESIDENT),
    name("sm__maximum_warps_per_active_cycle_pct", "%", Occupancy, RESIDENT),
    name("smsp__warps_launched", "warp", Launch, "warps"),
    name("l1tex__t_requests", "", Memory, "accesses of warps that ask the first level of the cache"),
    name("l1tex__t_sectors", "sector", Memory, "sectors of 32 bytes that accesses touch"),
    detail("l1tex__t_output_wavefronts", "", Memory, "how often the tags of the first level are asked"),
    detail(
        "l1tex__data_pipe_lsu_wavefronts",
        "",
        Memory,
        "wavefronts of shared memory, as the hardware counts them",
    ),
    name("l1tex__data_bank_conflicts", "", Memory, "wavefronts beyond those that an access needs anyway"),
    detail("memory_", "", Memory, "sums over all kinds of accesses"),
    detail("memory_l2_theoretical_sectors", "sector", Memory, "different sectors that accesses touch"),
    name("derived__memory", "", Memory, "what is beyond the least that the bytes of the lanes need"),
    name("derived__memory_l2", "sector", Memory, "sectors beyond the least that the bytes of the lanes need"),
    name("smsp__sass_l1tex", "", Memory, "accesses, as they follow from addresses"),
    detail("smsp__sass_l1tex_t_", "", Memory, "accesses, as they follow from addresses"),
    detail("smsp__sass_l1tex_t_sectors", "sector", Memory, "sectors, as they follow from addresses"),
    detail("smsp__sass_l1tex_data_bank", "", Memory, "accesses, as they follow from addresses"),
    name("gpc__cycles_elapsed", "cycle", Time, "cycles from a launch's begin to its end"),
    name("gpu__time_duration", "ns", Time, "the same as time"),
    name("sm__cycles_active", "cycle", Time, "cycles in which a multiprocessor has a block"),
    name("sm__warps_active", "%", Time, "warps that are resident, of those that could be"),
    name("sm__inst_issued", "inst/cycle", Time, "instructions that a multiprocessor issues a cycle"),
    name("smsp__issue_active", "cycle", Time, "cycles in which a sub-core issues"),
    name(
        "smsp__average_warps_issue_stalled",
        "",
        Time,
        "warps that wait while one issues, by what they wait for",
    ),
    name("lts__t_sectors", "sector", Time, "sectors that the second level of the cache is asked for"),
    name("lts__t_sector_hit_rate", "%", Time, "of these, those that it has"),
    name("gpu__dram_throughput", "%", Time, "bytes that go to or come from memory, of those that could"),
    name("sm__inst_executed", "inst", Instructions, "machine instructions that warps executed"),
    name("dram__bytes", "byte", Time, "bytes that go to or come from memory"),
    name("ptx__shared", "", Memory, "accesses of shared memory in the PTX"),
    name("ptx__local", "", Memory, "accesses of local memory in the PTX"),
    name("ptx__local_sectors", "sector", Memory, "sectors of local memory in the PTX"),
    name("ptx__bulk", "byte", Memory, "bytes of bulk copies"),
    name("ptx__inst_executed", "inst", Instructions, "PTX instructions that warps executed"),
    name("ptx__thread_inst_executed", "inst", Instructions, "PTX instructions that threads executed"),
    name("ptx__branches", "", Instructions, "branches of the PTX"),
    name("smsp__inst_executed", "inst", Instructions, "machine instructions that warps executed"),
    name("smsp__inst_executed_op", "inst", Instructions, "those of a kind"),
    name("smsp__inst_executed_pipe", "inst", Instructions, "those that go to a pipe"),
    name("smsp__thread_inst_executed", "inst", Instructions, "machine instructions that threads executed"),
    name(
        "smsp__thread_inst_executed_per_inst_executed",
        "",
        Instructions,
        "threads of a warp that are there, on average",
    ),
    name(
        "smsp__thread_inst_executed_pred_on_per_inst_executed",
        "",
        Instructions,
        "threads of a warp that no guard leaves out, on average",
    ),
    name("smsp__sass_inst_executed", "inst", Instructions, "machine instructions by what they do"),
    name(
        "smsp__sass_thread_inst_executed",
        "inst",
        Instructions,
        "machine instructions of threads by what they do",
    ),
    name(
        "smsp__sass_branch_targets",
        "",
        Instructions,
        "branches, and whether the threads of a warp went one way",
    ),
];

const UNKNOWN: Name = name("", "", Instructions, "");

/// What is known of a name.
pub fn of(name: &str) -> Name {
    let fitting = NAMES.iter().filter(|known| name.starts_with(known.start));
    fitting.max_by_key(|known| known.start.len()).copied().unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_start_is_taken() {
        assert_eq!(of("launch__occupancy_limit_warps").section, Occupancy);
        assert_eq!(of("launch__grid_size").section, Launch);
        assert_eq!(of("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum").unit, "sector");
        assert!(of("unknown").what.is_empty());
    }

    #[test]
    fn numbers_of_a_launch_have_their_units() {
        let unit = |name| of(name).unit;
        assert_eq!(unit("launch__shared_mem_per_block_allocated"), "byte/block");
        assert_eq!(unit("launch__registers_per_thread_allocated"), "register/thread");
        assert_eq!((unit("launch__grid_dim_x"), unit("launch__waves_per_multiprocessor")), ("", ""));
        assert_eq!(unit("launch__occupancy_limit_shared_mem"), "block");
        assert_eq!(unit("sm__maximum_warps_per_active_cycle_pct"), "%");
    }

    #[test]
    fn numbers_of_the_counters_are_known() {
        for name in sim_core::tools::counter_names() {
            assert!(!of(&name).what.is_empty(), "{name}");
        }
    }
}
