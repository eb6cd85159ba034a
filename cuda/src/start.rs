//! The beginning and the end of a process that uses the devices.

use std::sync::Arc;
use std::time::Duration;

use runtime::Runtime;

use crate::host::Program;
use crate::may_call::watch_forks;
use crate::settings::Settings;
use crate::state;

/// Makes the devices, once.
pub(crate) fn initialize() -> &'static Runtime {
    state::runtime_or(|| {
        // SAFETY: the function takes nothing and does not unwind.
        unsafe { libc::atexit(at_exit) };
        watch_forks();
        crate::session::add(protocol::Count::Processes, 1);
        let settings = Settings::of_process();
        if settings.session.is_some() {
            crate::signals::watch();
        }
        Runtime::new(&settings.device, settings.devices, Arc::new(Program))
    })
}

/// How long what is still queued when the program ends may take, so that its faults are seen.
const LAST_WORDS: Duration = Duration::from_secs(5);

extern "C" fn at_exit() {
    crate::ffi::guard("atexit", || {
        if let Ok(runtime) = state::runtime() {
            for context in runtime.devices.iter().flat_map(|device| device.contexts()) {
                context.drain_for(LAST_WORDS);
            }
        }
        Ok(())
    });
}
