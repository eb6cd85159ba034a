//! Arrays of Python whose memory kernels have as it is.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use sim_core::{DevicePtr, Simulator};

use crate::error::LaunchError;

/// Bytes of a word of the simulator's memory.
const WORD: usize = 4;

/// Arrays that a device has, by address. As long as one is here, Python neither moves nor frees its memory.
#[derive(Default)]
pub(crate) struct Adopted {
    arrays: Mutex<HashMap<DevicePtr, PyBuffer<u8>>>,
}

/// Where an array's memory begins, which was looked at.
#[derive(Clone, Copy)]
pub(crate) struct Start(NonNull<u8>);

impl Adopted {
    fn arrays(&self) -> MutexGuard<'_, HashMap<DevicePtr, PyBuffer<u8>>> {
        self.arrays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no array is here, so that nothing but kernels accesses memory while they run.
    pub(crate) fn is_empty(&self) -> bool {
        self.arrays().is_empty()
    }

    /// The beginning of an array that can be adopted.
    pub(crate) fn start(&self, _: Python<'_>, bytes: &PyBuffer<u8>) -> PyResult<Start> {
        let refused = |why: &str| {
            let advice = "`module.array` copies it to the device";
            Err(LaunchError::new_err(format!("the array cannot be mapped: {why}\nhelp: {advice}")))
        };
        if bytes.readonly() {
            return refused("it is read-only");
        }
        if !bytes.is_c_contiguous() {
            return refused("its elements do not lie one after the other");
        }
        let start = bytes.buf_ptr().cast::<u8>();
        match NonNull::new(start) {
            Some(start) if bytes.len_bytes() > 0 => {
                let whole = |number: usize| number.is_multiple_of(WORD);
                if !whole(start.as_ptr().addr()) || !whole(bytes.len_bytes()) {
                    return refused("its address and its size in bytes must be multiples of four");
                }
                Ok(Start(start))
            }
            _ => refused("it is empty"),
        }
    }

    /// Makes an array kernels' memory.
    pub(crate) fn adopt(
        &self,
        device: &Simulator,
        Start(start): Start,
        bytes: PyBuffer<u8>,
        name: &str,
    ) -> PyResult<DevicePtr> {
        // SAFETY: `start` found whole words there that may be written. The buffer's view keeps them where they are until
        // `forget`, which comes after the memory was freed with no launch running, or until the device is gone:
        // its session is dropped before this.
        let adopted = unsafe { device.adopt(start, bytes.len_bytes() as u64, name) };
        let address = adopted.map_err(|error| LaunchError::new_err(error.to_string()))?;
        self.arrays().insert(address, bytes);
        Ok(address)
    }

    /// Gives an array back, whose memory was freed on the device.
    pub(crate) fn forget(&self, address: DevicePtr) -> Option<PyBuffer<u8>> {
        self.arrays().remove(&address)
    }
}
