//! What the runtime needs of the process's address space.

use std::fs::File;

use cuda_abi::{Result, Status};
use sim_core::Simulator;

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

    /// Memory of a device without an address.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn file(&self, _bytes: u64, _device: usize) -> Result<File> {
        Err(Status::NOT_SUPPORTED)
    }

    /// The device whose memory such a file is, whichever process made it.
    fn device_of(&self, _file: &File) -> Option<usize> {
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
