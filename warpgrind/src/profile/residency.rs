//! How many blocks of a launch are resident on a multiprocessor, and how the driver divides its memory into shared memory and
//! the first level of the cache.

use sim_core::tools::counts;
use sim_core::{BlockLimits, DeviceConfig};

use super::Value;
use super::assemble::Resources;

/// What the driver may make of a multiprocessor's memory: KiB of shared memory (`cuda_occupancy.h`, compute capability 9.0).
const CARVEOUTS: [u32; 9] = [8, 16, 32, 64, 100, 132, 164, 196, 228];
/// Room for twice the blocks that fit is made up to here.
const GENEROUS: u32 = 132 << 10;
/// Barriers of a multiprocessor.
const BARRIERS: u32 = 64;

/// Blocks of a launch on a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Residency {
    threads: u32,
    resources: Resources,
    dynamic: u32,
    /// Bytes that a block takes, those reserved for the driver with it.
    pub allocated: u32,
    /// Bytes of shared memory that the driver configures.
    pub configured: u32,
    /// How many blocks fit by each resource: by shared memory, of what is configured.
    pub limits: BlockLimits,
    /// How many fit by their barriers.
    pub by_barriers: u32,
}

impl Residency {
    /// Of blocks with so many threads and bytes of dynamic shared memory.
    pub fn of(device: &DeviceConfig, threads: u32, resources: &Resources, dynamic: u32) -> Self {
        let shared = resources.shared.saturating_add(dynamic);
        let unit = device.shared_reserved.saturating_add(shared).div_ceil(128).saturating_mul(128);
        let most = device.block_limits(threads, resources.registers, shared);
        let by_barriers = (BARRIERS / resources.barriers.max(1)).min(most.blocks);
        let configured = configured(device, threads, most, by_barriers, unit);
        let limits = BlockLimits { shared: configured / unit.max(1), ..most };
        let resources = *resources;
        Residency { threads, resources, dynamic, allocated: unit, configured, limits, by_barriers }
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads.div_ceil(32)
    }

    /// Blocks that are resident together.
    pub fn blocks(&self) -> u32 {
        self.limits.resident().min(self.by_barriers)
    }

    /// The numbers, by Nsight Compute's names.
    pub(super) fn values(&self, device: &DeviceConfig, blocks: u64) -> Vec<Value> {
        let warps = self.threads.div_ceil(32).max(1);
        let most_warps = device.threads_per_multiprocessor / 32;
        let registers = (self.resources.registers.max(16) * 32).next_multiple_of(256) * warps;
        let resident = self.blocks();
        let active = resident * warps;
        let waves = blocks as f64 / f64::from((device.multiprocessors * resident).max(1));
        let static_shared = self.resources.shared;
        let list: [(&str, f64); 22] = [
            (counts::GRID_SIZE, blocks as f64),
            (counts::BLOCK_SIZE, self.threads.into()),
            ("launch__thread_count", blocks as f64 * f64::from(self.threads)),
            ("launch__registers_per_thread", self.resources.registers.max(16).into()),
            ("launch__registers_per_thread_allocated", f64::from(registers) / f64::from(self.threads.max(1))),
            ("launch__shared_mem_per_block_static", static_shared.into()),
            ("launch__shared_mem_per_block_dynamic", self.dynamic.into()),
            ("launch__shared_mem_per_block_driver", device.shared_reserved.into()),
            (
                "launch__shared_mem_per_block",
                f64::from(static_shared) + f64::from(self.dynamic) + f64::from(device.shared_reserved),
            ),
            ("launch__shared_mem_per_block_allocated", self.allocated.into()),
            ("launch__shared_mem_config_size", self.configured.into()),
            ("launch__barrier_count", self.resources.barriers.into()),
            ("launch__occupancy_limit_blocks", self.limits.blocks.into()),
            ("launch__occupancy_limit_barriers", self.by_barriers.into()),
            ("launch__occupancy_limit_warps", self.limits.warps.into()),
            ("launch__occupancy_limit_registers", self.limits.registers.into()),
            ("launch__occupancy_limit_shared_mem", self.limits.shared.into()),
            ("launch__waves_per_multiprocessor", waves),
            ("launch__sm_count", device.multiprocessors.into()),
            (counts::WARPS_LAUNCHED, blocks as f64 * f64::from(warps)),
            ("sm__maximum_warps_avg_per_active_cycle", active.into()),
            (
                "sm__maximum_warps_per_active_cycle_pct",
                100.0 * f64::from(active) / f64::from(most_warps.max(1)),
            ),
        ];
        list.into_iter().map(|(name, value)| Value::new(name, value)).collect()
    }
}

/// Bytes of shared memory that the driver configures for blocks of `unit` bytes each, as it was seen to on an H200: room for
/// as many blocks as fit otherwise, and for twice as many if that takes no more than 132 KiB.
fn configured(device: &DeviceConfig, threads: u32, most: BlockLimits, by_barriers: u32, unit: u32) -> u32 {
    let all = device.shared_per_multiprocessor;
    let holding = |bytes: u32| {
        let fits = CARVEOUTS.iter().map(|kib| kib << 10).find(|&carveout| carveout >= bytes);
        fits.unwrap_or(all).min(all)
    };
    if unit <= device.shared_reserved {
        return holding((4 * most.warps).min(most.blocks).saturating_mul(unit));
    }
    let fitting = most.warps.min(most.registers).min(most.blocks).min(all / unit).min(by_barriers).max(1);
    let twice = if threads > 768 { fitting } else { (2 * fitting).min(most.blocks).min(by_barriers) };
    match twice.saturating_mul(unit) {
        bytes if bytes <= GENEROUS => holding(bytes),
        _ if twice > fitting => holding(fitting.saturating_mul(unit)).max(GENEROUS.min(all)),
        _ => holding(fitting.saturating_mul(unit)),
    }
}
