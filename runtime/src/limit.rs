//! Limits of contexts.

use cuda_abi::{Result, Status};

/// A limit of a context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit {
    /// Bytes of a thread's stack.
    Stack,
    /// Bytes of the buffer that kernels print into.
    Printing,
    /// Bytes of the heap that kernels allocate from.
    Heap,
    /// Launches from kernels that may wait.
    PendingLaunches,
    /// Bytes that the second-level cache fetches at once.
    Fetching,
    /// Bytes of the second-level cache that stay.
    Persisting,
    /// Shared memory for programs with several processes.
    SharedOfProcesses,
    /// Whether graphics may run beside kernels.
    Graphics,
}

impl Limit {
    /// The limit of a number (`CUlimit`).
    ///
    /// # Errors
    /// `CUDA_ERROR_UNSUPPORTED_LIMIT` and `CUDA_ERROR_INVALID_VALUE`.
    pub fn of(number: u32) -> Result<Limit> {
        Ok(match number {
            0 => Limit::Stack,
            1 => Limit::Printing,
            2 => Limit::Heap,
            4 => Limit::PendingLaunches,
            5 => Limit::Fetching,
            6 => Limit::Persisting,
            7 => Limit::SharedOfProcesses,
            8 => Limit::Graphics,
            3 | 9 => return Err(Status::UNSUPPORTED_LIMIT),
            _ => return Err(Status::INVALID_VALUE),
        })
    }
}
