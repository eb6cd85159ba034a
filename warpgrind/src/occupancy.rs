//! Occupancy: how many blocks of a kernel fit on a multiprocessor, what limits them, and how that depends on the size of
//! a block.

use sim_core::{BlockLimits, DeviceConfig};

use crate::profile::assemble::Resources;
use crate::profile::residency::Residency;

/// What a block takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockUse {
    /// Threads.
    pub threads: u32,
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes of shared memory, static and dynamic.
    pub shared: u32,
}

/// Blocks of one kind on a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// What each takes.
    pub block: BlockUse,
    /// How many fit by each of the multiprocessor's resources.
    pub limits: BlockLimits,
    /// How many fit into the shared memory that the driver configures for such blocks, which may be less than all.
    pub configured: u32,
    /// How many fit: 0 if not even one does.
    pub blocks: u32,
    /// Warps of theirs.
    pub warps: u32,
    /// Warps that a multiprocessor can hold.
    pub most_warps: u32,
}

impl Occupancy {
    /// Of such blocks on a multiprocessor of a device.
    ///
    /// ```
    /// use sim_core::DeviceConfig;
    /// use warpgrind::occupancy::{BlockUse, Occupancy};
    /// let block = BlockUse { threads: 256, registers: 40, shared: 0 };
    /// let occupancy = Occupancy::of(&DeviceConfig::h200(), block);
    /// assert_eq!((occupancy.blocks, occupancy.warps), (6, 48));
    /// assert_eq!(occupancy.limiting(), ["registers"]);
    /// ```
    pub fn of(device: &DeviceConfig, block: BlockUse) -> Self {
        let limits = device.block_limits(block.threads, block.registers, block.shared);
        let possible = (1..=device.threads_per_block).contains(&block.threads)
            && block.shared <= device.shared_per_block;
        let resources =
            Resources { registers: block.registers, shared: block.shared, ..Resources::default() };
        let configured = Residency::of(device, block.threads, &resources, 0).limits.shared;
        let blocks = if possible { limits.resident() } else { 0 };
        let warps = blocks * block.threads.div_ceil(32);
        Self { block, limits, configured, blocks, warps, most_warps: device.threads_per_multiprocessor / 32 }
    }

    /// The share of the warps that a multiprocessor can hold.
    pub fn share(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.most_warps.max(1))
    }

    /// The resources of which there would have to be more: several if they give out together.
    pub fn limiting(&self) -> Vec<&'static str> {
        let least = self.limits.resident();
        let named = [
            ("blocks", self.limits.blocks),
            ("warps", self.limits.warps),
            ("registers", self.limits.registers),
            ("shared memory", self.limits.shared),
        ];
        named.into_iter().filter(|&(_, limit)| limit == least).map(|(name, _)| name).collect()
    }
}

/// The occupancy for blocks of every number of warps that a device allows, with the same registers and shared memory.
pub fn by_block_size(device: &DeviceConfig, registers: u32, shared: u32) -> Vec<Occupancy> {
    let sizes = (32..=device.threads_per_block).step_by(32);
    sizes.map(|threads| Occupancy::of(device, BlockUse { threads, registers, shared })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_it() {
        let h200 = DeviceConfig::h200();
        let of = |threads, registers, shared| {
            let occupancy = Occupancy::of(&h200, BlockUse { threads, registers, shared });
            (occupancy.blocks, occupancy.limiting())
        };
        assert_eq!(of(256, 32, 0), (8, vec!["warps", "registers"]));
        assert_eq!(of(32, 32, 0), (32, vec!["blocks"]));
        assert_eq!(of(128, 32, 100 << 10), (2, vec!["shared memory"]));
        // Each quarter of the registers holds whole warps only.
        assert_eq!(of(96, 40, 0), (16, vec!["registers"]));
        // More threads, registers or shared memory than any block may have.
        assert_eq!(of(1056, 32, 0).0, 0);
        assert_eq!(of(1024, 255, 0), (0, vec!["registers"]));
        assert_eq!(of(32, 32, 230 << 10).0, 0);
    }

    #[test]
    fn every_size_of_blocks() {
        let curve = by_block_size(&DeviceConfig::h200(), 64, 0);
        assert_eq!(curve.len(), 32);
        assert!(curve.iter().all(|at| at.warps <= 32));
        assert_eq!(curve[31].warps, 32);
    }
}
