//! What device the simulator is.

use std::ops::Range;

use crate::memory::window;

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
    /// Largest grid in x; y and z end at 65,535.
    pub grid_x: u32,
    /// Bytes of the heap that kernels allocate from.
    pub heap: u64,
    /// Remembers which bytes of memory were written, for [`crate::RunOptions::initcheck`].
    pub track_initialization: bool,
    /// Addresses handed out for global memory.
    pub global_addresses: Range<u64>,
    /// Whether a product and a sum that leave their rounding open become one fma where NVIDIA's compiler makes one of
    /// them, which rounds once: what a device shows, unless it was told not to.
    pub contraction: bool,
    /// Whether instructions of which the optimiser of NVIDIA's compiler makes something else do that: what a device shows
    /// unless its optimiser is off. What leaves the manual is a [`crate::Rewrite`].
    pub as_optimised: bool,
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
            grid_x: i32::MAX as u32,
            heap: 8 << 20,
            track_initialization: false,
            global_addresses: window::GLOBAL,
            contraction: true,
            as_optimised: false,
            clock_khz: 1_980_000,
        }
    }

    /// What is done as NVIDIA's compiler does it.
    pub(crate) fn compiler(&self) -> crate::Compiler {
        crate::Compiler { contraction: self.contraction, as_optimised: self.as_optimised }
    }

    /// Blocks of a kernel that fit on a multiprocessor (the occupancy rules of the CUDA programming
    /// guide: warps, blocks, registers in units of 256 a warp, shared memory in units of 128 bytes).
    pub fn blocks_per_sm(&self, threads: u32, registers: u32, shared_bytes: u32) -> u32 {
        let warps = threads.div_ceil(32).max(1);
        let by_warps = self.threads_per_multiprocessor / 32 / warps;
        let registers = (registers.clamp(16, 255) * 32).next_multiple_of(256);
        let by_registers = self.registers_per_multiprocessor / registers / warps;
        let shared = (shared_bytes + self.shared_reserved).next_multiple_of(128);
        let by_shared = self.shared_per_multiprocessor / shared;
        by_warps.min(by_registers.max(1)).min(by_shared).min(self.blocks_per_multiprocessor)
    }
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
}
