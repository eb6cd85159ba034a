//! The runtime: all devices of a process.

use std::sync::Arc;

use cuda_abi::{Result, Status};
use sim_core::DeviceConfig;

use crate::engine::Engine;
use crate::host::Host;
use crate::pool::Pools;
use crate::tree::Device;
use crate::virtual_memory::AddressSpace;

/// All devices of a process.
#[derive(Debug)]
pub struct Runtime {
    /// The devices.
    pub devices: Vec<Arc<Device>>,
    /// The memory pools.
    pub pools: Arc<Pools>,
    /// Reserved addresses and memory without any.
    pub addresses: Arc<AddressSpace>,
}

/// Addresses of device memory: below all that a 64-bit Linux gives to a program unasked, so that no
/// pointer of the host is one of the device by accident.
const ADDRESSES: std::ops::Range<u64> = 0x2000_0000_0000..0x5000_0000_0000;

impl Runtime {
    /// So many devices alike.
    pub fn new(config: &DeviceConfig, count: usize, host: Arc<dyn Host>) -> Runtime {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let engine = Engine::new(cores);
        let pools: Arc<Pools> = Arc::default();
        let share = (ADDRESSES.end - ADDRESSES.start) / count.max(1) as u64;
        let device = |index: usize| {
            let start = ADDRESSES.start + share * index as u64;
            let config = DeviceConfig { global_addresses: start..start + share, ..config.clone() };
            Arc::new(Device::new(index, config, engine.clone(), pools.clone(), host.clone()))
        };
        let devices: Vec<Arc<Device>> = (0..count).map(device).collect();
        for device in &devices {
            device.meet(&devices);
        }
        Runtime { devices, pools, addresses: Arc::new(AddressSpace::new(host)) }
    }

    /// A device by its number.
    ///
    /// # Errors
    /// `INVALID_DEVICE`.
    pub fn device(&self, index: i32) -> Result<&Arc<Device>> {
        let index = usize::try_from(index).map_err(|_| Status::INVALID_DEVICE)?;
        self.devices.get(index).ok_or(Status::INVALID_DEVICE)
    }
}
