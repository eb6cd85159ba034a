//! What device the simulator is.

use std::ops::Range;

use isa::Dim3;

use crate::error::LaunchError;
use semantics::window;

/// Limits and properties of the simulated device.
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Name.
    pub name: String,
    /// Compute capability times ten: 90 for sm_90.
    pub sm: u16,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of global memory.
    pub global_memory: u64,
    /// Bytes of shared memory a multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// Bytes of shared memory a block may ask for.
    pub shared_per_block: u32,
    /// Bytes of shared memory that the system reserves a block.
    pub shared_reserved: u32,
    /// 32-bit registers a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Threads a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Blocks a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Threads a block.
    pub threads_per_block: u32,
    /// Largest extents of a block.
    pub block: Dim3,
    /// Largest extents of a grid.
    pub grid: Dim3,
    /// Bytes of shared memory that a launch may ask for without saying so before.
    pub shared_unasked: u32,
    /// Bytes of constant memory.
    pub constant: u32,
    /// Blocks of the largest cluster that every device of the architecture takes.
    pub portable_cluster: u32,
    /// Blocks of the largest cluster that this device takes from kernels that allow it.
    pub largest_cluster: u32,
    /// Multiprocessors that are given together to a part of the device.
    pub multiprocessor_unit: u32,
    /// Bytes in which parts of the second-level cache are set aside.
    pub persisting_unit: u64,
    /// Bytes of it that can be set aside at most.
    pub largest_persisting: u64,
    /// Bytes of the heap that kernels allocate from.
    pub heap: u64,
    /// Whether a switch joins it to other devices, which then have multicast objects together.
    pub multicast: bool,
    /// Remembers which bytes of memory were written, for [`Initcheck`](crate::tools::Initcheck).
    pub track_initialization: bool,
    /// Addresses handed out for global memory.
    pub global_addresses: Range<u64>,
    /// Whether a product and a sum that leave their rounding open become one fma where NVIDIA's compiler makes one of
    /// them, which rounds once: what a device shows, unless it was told not to.
    pub contraction: bool,
    /// Whether instructions of which the optimiser of NVIDIA's compiler makes something else do that: what a device shows
    /// unless its optimiser is off. What leaves the manual is a [`crate::Rewrite`].
    pub as_optimised: bool,
    /// Whether code is decoded for debuggers: each register keeps its value to the end of its function
    /// ([`CodeFunction::registers`](crate::code::CodeFunction)), and a launch can stand still before each instruction.
    pub inspectable: bool,
    /// Clock in kHz, for `%clock` and `%globaltimer`.
    pub clock_khz: u32,
}

impl DeviceConfig {
    /// An NVIDIA H200.
    pub fn h200() -> Self {
        Self {
            name: "NVIDIA H200".into(),
            sm: 90,
            multiprocessors: 132,
            global_memory: 150_754_820_096,
            shared_per_multiprocessor: 233_472,
            shared_per_block: 232_448,
            shared_reserved: 1024,
            registers_per_multiprocessor: 65_536,
            threads_per_multiprocessor: 2048,
            blocks_per_multiprocessor: 32,
            threads_per_block: 1024,
            block: Dim3::new(1024, 1024, 64),
            grid: Dim3::new(i32::MAX as u32, 65_535, 65_535),
            shared_unasked: 48 << 10,
            constant: 64 << 10,
            portable_cluster: 8,
            largest_cluster: 16,
            multiprocessor_unit: 8,
            persisting_unit: 3_932_160,
            largest_persisting: 39_321_600,
            heap: 8 << 20,
            multicast: false,
            track_initialization: false,
            global_addresses: window::GLOBAL,
            contraction: true,
            as_optimised: false,
            inspectable: false,
            clock_khz: 1_980_000,
        }
    }

    /// What is done as NVIDIA's compiler does it.
    pub(crate) fn compiler(&self) -> crate::Compiler {
        crate::Compiler {
            contraction: self.contraction,
            as_optimised: self.as_optimised,
            inspectable: self.inspectable,
        }
    }

    /// Blocks of a kernel that fit on a multiprocessor. Registers are an estimate, and never a reason for none.
    pub fn blocks_per_sm(&self, threads: u32, registers: u32, shared_bytes: u32) -> u32 {
        let limits = self.block_limits(threads, registers, shared_bytes);
        BlockLimits { registers: limits.registers.max(1), ..limits }.resident()
    }

    /// Threads of a block at most, by their registers.
    pub fn threads_by_registers(&self, registers: u32) -> u32 {
        let a_warp = (registers.clamp(16, 255) * 32).next_multiple_of(256);
        self.registers_per_multiprocessor / a_warp / 4 * 4 * 32
    }

    /// How many blocks fit on a multiprocessor by each of its resources. Registers are given to warps in units of 256, and
    /// each of the four parts of a multiprocessor has a quarter of them; shared memory is given in units of 128 bytes.
    pub fn block_limits(&self, threads: u32, registers: u32, shared_bytes: u32) -> BlockLimits {
        const PARTS: u32 = 4;
        let warps = threads.div_ceil(32).max(1);
        let registers = (registers.clamp(16, 255) * 32).next_multiple_of(256);
        let holding = self.registers_per_multiprocessor / PARTS / registers * PARTS;
        // A block is refused whose warps would not fit if each part had as many of them.
        let possible =
            warps.div_ceil(PARTS).saturating_mul(PARTS * registers) <= self.registers_per_multiprocessor;
        let shared = shared_bytes.saturating_add(self.shared_reserved).div_ceil(128).saturating_mul(128);
        BlockLimits {
            blocks: self.blocks_per_multiprocessor,
            warps: self.threads_per_multiprocessor / 32 / warps,
            registers: if possible { holding / warps } else { 0 },
            shared: self.shared_per_multiprocessor / shared.max(1),
        }
    }
}

/// Blocks that fit on a multiprocessor by each of its resources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockLimits {
    /// By the number of blocks itself.
    pub blocks: u32,
    /// By warps.
    pub warps: u32,
    /// By registers.
    pub registers: u32,
    /// By shared memory.
    pub shared: u32,
}

impl BlockLimits {
    /// By all of them.
    pub fn resident(self) -> u32 {
        self.blocks.min(self.warps).min(self.registers).min(self.shared)
    }
}

/// Blocks of a kernel with clusters that a multiprocessor takes at most.
const MOST_IN_CLUSTERS: u32 = 8;

/// Multiprocessors that can hold one cluster, as they are grouped on an H200: graphics processing clusters, of which
/// chips have more or fewer parts, and pairs that stand alone. All have one answer, that of the recorded chip.
const GROUPS: &[u32] = &[18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2];

/// Whether a launch is possible: the one check, of which backends and host interfaces ask the parts that they know.
impl DeviceConfig {
    /// Clusters of so many blocks that are resident at once, of which `blocks` fit on a multiprocessor.
    pub fn resident_clusters(&self, blocks: u32, cluster: Dim3) -> u32 {
        let size = cluster.count();
        let blocks = u128::from(blocks.min(MOST_IN_CLUSTERS));
        let fits = self.groups().into_iter().map(u128::from).filter(|&group| group >= size);
        fits.map(|group| (blocks * group / size) as u32).sum()
    }

    /// The multiprocessors that can hold one cluster.
    fn groups(&self) -> Vec<u32> {
        let mut left = self.multiprocessors;
        if left == GROUPS.iter().sum() {
            return GROUPS.to_vec();
        }
        let mut groups = Vec::new();
        while left > 0 {
            groups.push(left.min(16));
            left -= left.min(16);
        }
        groups
    }

    /// Whether a device takes a grid and a block of these extents.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check_extents(&self, grid: Dim3, block: Dim3) -> Result<(), LaunchError> {
        let within = |dim: Dim3, most: Dim3| dim.x <= most.x && dim.y <= most.y && dim.z <= most.z;
        let threads = block.count();
        if threads == 0 || grid.count() == 0 {
            return Err(LaunchError::Empty { grid, block });
        }
        if threads > u128::from(self.threads_per_block) {
            return Err(LaunchError::Threads { block, threads, most: self.threads_per_block });
        }
        if !within(block, self.block) {
            return Err(LaunchError::Block { block, most: self.block });
        }
        if !within(grid, self.grid) {
            return Err(LaunchError::Grid { grid, most: self.grid });
        }
        Ok(())
    }

    /// Blocks that are resident at once when `blocks` fit on a multiprocessor.
    ///
    /// # Errors
    /// None fits, or not all of a cooperative launch.
    pub fn check_residency(&self, blocks: u32, grid: Dim3, cooperative: bool) -> Result<u64, LaunchError> {
        if blocks == 0 {
            return Err(LaunchError::Resources);
        }
        let resident = u64::from(blocks) * u64::from(self.multiprocessors);
        if cooperative && grid.count() > u128::from(resident) {
            return Err(LaunchError::Cooperative { blocks: grid.count(), resident });
        }
        Ok(resident)
    }
}

/// Whether a block has the threads that a kernel declares.
///
/// # Errors
/// It has others than required, or more than declared.
pub fn check_declared(kernel: &ptx_frontend::Function, block: Dim3) -> Result<(), LaunchError> {
    let tuning = &kernel.tuning;
    if let Some([x, y, z]) = tuning.required_threads
        && block != Dim3::new(x, y, z)
    {
        let (kernel, required) = (kernel.name.to_string(), Dim3::new(x, y, z));
        return Err(LaunchError::RequiredThreads { kernel, required, block });
    }
    let most = tuning.max_threads.map(|[x, y, z]| u128::from(x) * u128::from(y) * u128::from(z));
    match most {
        Some(most) if block.count() > most => {
            let (kernel, threads) = (kernel.name.to_string(), block.count());
            Err(LaunchError::DeclaredThreads { kernel, most, threads })
        }
        _ => Ok(()),
    }
}

/// The cluster of a launch that is given one or none, for a kernel that may declare its own.
///
/// # Errors
/// The kernel declares another one, fewer blocks, or that one must be given.
pub fn declared_cluster(
    kernel: &ptx_frontend::Function,
    given: Option<Dim3>,
) -> Result<Option<Dim3>, LaunchError> {
    let tuning = &kernel.tuning;
    let name = || kernel.name.to_string();
    let required = tuning.required_cluster.map(|[x, y, z]| Dim3::new(x, y, z));
    match (given, required, tuning.max_cluster_rank) {
        (Some(cluster), Some(required), _) if cluster != required => {
            Err(LaunchError::RequiredCluster { kernel: name(), required, cluster })
        }
        (Some(cluster), _, Some(most)) if cluster.count() > u128::from(most) => {
            Err(LaunchError::DeclaredCluster { kernel: name(), most, cluster })
        }
        (None, None, _) if tuning.explicit_cluster => Err(LaunchError::NoCluster { kernel: name() }),
        _ => Ok(given.or(required)),
    }
}

/// Whether a grid is made of whole clusters.
///
/// # Errors
/// It is not, or a cluster has no block.
pub fn check_cluster(grid: Dim3, cluster: Dim3) -> Result<(), LaunchError> {
    if cluster.count() == 0 {
        return Err(LaunchError::EmptyCluster { cluster });
    }
    let divides = |blocks: u32, by: u32| blocks.is_multiple_of(by);
    let fits = divides(grid.x, cluster.x) && divides(grid.y, cluster.y) && divides(grid.z, cluster.z);
    if fits { Ok(()) } else { Err(LaunchError::Cluster { grid, cluster }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_follows_the_scarcest_resource() {
        let h200 = DeviceConfig::h200();
        assert_eq!(h200.blocks_per_sm(256, 32, 0), 8);
        assert_eq!(h200.blocks_per_sm(1024, 64, 0), 1);
        assert_eq!(h200.blocks_per_sm(32, 16, 0), 32);
        assert_eq!(h200.blocks_per_sm(128, 32, 100 << 10), 2);
    }

    #[test]
    fn a_launch_has_one_check() {
        let h200 = DeviceConfig::h200();
        let dim = Dim3::new;
        for (grid, block, what) in [
            (dim(1, 1, 1), dim(1024, 1, 1), "fine"),
            (dim(i32::MAX as u32, 65_535, 65_535), dim(16, 1, 64), "fine"),
            (dim(0, 1, 1), dim(1, 1, 1), "must not be empty"),
            (dim(1, 1, 1), dim(1, 0, 1), "must not be empty"),
            (dim(1, 1, 1), dim(1025, 1, 1), "has 1025 threads; at most 1024"),
            (dim(1, 1, 1), dim(1, 1, 65), "block (1, 1, 65): at most (1024, 1024, 64)"),
            (dim(1, 65_536, 1), dim(1, 1, 1), "grid (1, 65536, 1): at most (2147483647, 65535, 65535)"),
        ] {
            let found =
                h200.check_extents(grid, block).map_or_else(|error| error.to_string(), |()| "fine".into());
            assert!(found.contains(what), "{found}");
        }
        assert_eq!(h200.check_residency(2, dim(1000, 1, 1), false), Ok(264));
        assert_eq!(h200.check_residency(2, dim(264, 1, 1), true), Ok(264));
        assert!(matches!(
            h200.check_residency(2, dim(265, 1, 1), true),
            Err(LaunchError::Cooperative { .. })
        ));
        assert_eq!(h200.check_residency(0, dim(1, 1, 1), false), Err(LaunchError::Resources));
        assert_eq!(check_cluster(dim(4, 2, 1), dim(2, 2, 1)), Ok(()));
        assert!(
            check_cluster(dim(3, 2, 1), dim(2, 2, 1)).is_err()
                && check_cluster(dim(3, 2, 1), dim(0, 1, 1)).is_err()
        );
        // A cluster lies in one group.
        assert_eq!(
            (h200.resident_clusters(1, dim(16, 1, 1)), h200.resident_clusters(1, dim(2, 1, 1))),
            (7, 66)
        );
    }
}
