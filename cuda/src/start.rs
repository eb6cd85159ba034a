//! The beginning and the end of a process that uses the devices.

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use protocol::libraries;
use runtime::Runtime;

use crate::driver::entry::{file_of, warpgrind_dropin};
use crate::host::Program;
use crate::may_call::watch_forks;
use crate::settings::Settings;
use crate::state;

#[used]
#[unsafe(link_section = ".init_array")]
static HOLD_DRIVER: extern "C" fn() = hold_driver;

/// Loads `libcuda.so.1` from beside this file, so that programs get it by its name whatever they did to the variables. It
/// has a scope of its own: libraries with variables of the names of its functions keep them.
extern "C" fn hold_driver() {
    let own = file_of(warpgrind_dropin as *const c_void).filter(|file| file.ends_with(libraries::CODE));
    let driver = own.map(|file| file.with_file_name(libraries::DRIVER));
    if let Some(Ok(path)) = driver.map(|path| CString::new(path.as_os_str().as_bytes())) {
        // SAFETY: the path ends in a zero byte, and the library only jumps into this one.
        unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    }
}

/// Makes the devices, once.
pub(crate) fn initialize() -> &'static Runtime {
    state::runtime_or(|| {
        // SAFETY: the function takes nothing and does not unwind.
        unsafe { libc::atexit(at_exit) };
        watch_forks();
        crate::process_state::announce();
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
