//! Sets of events, which monitors wait on for errors of a board: none ever comes from a simulated one.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cuda_abi::nvml::Return;

use super::{Answer, Device, put, serve};

/// The kinds that an H100 knows: errors of memory, of the driver, of clocks and others.
const SUPPORTED: u64 = 0xff9f;

/// The sets that there are, and the number of the last one.
static SETS: Mutex<(BTreeSet<u64>, u64)> = Mutex::new((BTreeSet::new(), 0));

fn known(set: u64) -> Answer {
    let sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
    if sets.0.contains(&set) { Ok(()) } else { Err(Return::INVALID_ARGUMENT) }
}

nvml! {
    fn nvmlEventSetCreate | (set: *mut u64) {
        let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sets.1 + 1;
        put(set, number)?;
        sets.0.insert(number);
        sets.1 = number;
        Ok(())
    }

    fn nvmlEventSetFree | (set: u64) {
        let mut sets = SETS.lock().unwrap_or_else(PoisonError::into_inner);
        if sets.0.remove(&set) { Ok(()) } else { Err(Return::INVALID_ARGUMENT) }
    }

    fn nvmlEventSetWait_v2 | nvmlEventSetWait (set: u64, _event: *mut c_void, milliseconds: u32) {
        known(set)?;
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        Err(Return::TIMEOUT)
    }

    fn nvmlDeviceGetSupportedEventTypes | (device: u64, kinds: *mut u64) {
        Device::of_handle(device)?;
        put(kinds, SUPPORTED)
    }

    fn nvmlDeviceRegisterEvents | (device: u64, kinds: u64, set: u64) {
        Device::of_handle(device)?;
        known(set)?;
        if kinds & !SUPPORTED == 0 { Ok(()) } else { Err(Return::NOT_SUPPORTED) }
    }
}
