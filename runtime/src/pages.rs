//! What the runtime needs of the process's address space.

use std::fs::File;

use cuda_abi::{Result, Status};
use sim_core::Simulator;

/// What a file is that processes share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Memory of a device, by number, or what is known of it.
    Device(usize),
    /// Memory of the host.
    Host,
    /// What is known of a multicast object.
    Multicast,
}

impl Holds {
    /// The device.
    pub fn device(self) -> Option<usize> {
        if let Holds::Device(device) = self { Some(device) } else { None }
    }
}

/// Memory of the process, by its addresses. A host without any refuses all of it.
pub trait Pages {
    /// Maps fresh zeroed memory, which stays until it is given back.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn map(&self, _bytes: u64) -> Result<u64> {
        Err(Status::NOT_SUPPORTED)
    }

    /// Gives the contents of what [`Pages::map`] returned back; the addresses stay.
    fn discard(&self, _address: u64, _bytes: u64) {}

    /// Shows mapped memory to a device, at its own address. It is freed there before it is unmapped.
    ///
    /// # Errors
    /// It is there already.
    fn show(&self, _device: &Simulator, _address: u64, _bytes: u64, _what: &str) -> Result {
        Err(Status::NOT_SUPPORTED)
    }

    /// Reserves addresses with nothing behind them: at `wanted` if that is possible and not 0.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn reserve(&self, _bytes: u64, _alignment: u64, _wanted: u64) -> Result<u64> {
        Err(Status::NOT_SUPPORTED)
    }

    /// Gives addresses back that [`Pages::reserve`] returned and that have nothing behind them, or memory of [`Pages::map`].
    fn unreserve(&self, _address: u64, _bytes: u64) {}

    /// Memory without an address.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn file(&self, _bytes: u64, _holds: Holds) -> Result<File> {
        Err(Status::NOT_SUPPORTED)
    }

    /// What such a file holds, whichever process made it.
    fn held_by(&self, _file: &File) -> Option<Holds> {
        None
    }

    /// Such a file of a process, by its descriptor and its number, opened anew.
    fn opened(&self, _process: u32, _descriptor: u32, _inode: u64) -> Option<File> {
        None
    }

    /// Puts a file, or nothing, behind reserved addresses.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn put_behind(&self, _address: u64, _bytes: u64, _file: Option<&File>) -> Result {
        Err(Status::NOT_SUPPORTED)
    }
}
