//! The program around the library: its memory, its functions, its output, and what is reported of launches.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reports::finding::{self, Sources};
use reports::{LaunchJson, stats, summary};
use runtime::{Allocation, Context, Host, Kind, Launched, Picked, Result};

use crate::driver::host_memory;
use crate::save;
use crate::settings::{Pick, Settings};

/// This process.
#[derive(Debug)]
pub(crate) struct Program;

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

impl Pick {
    /// Whether the next launch of a kernel is picked.
    fn takes(&self, kernel: &str) -> bool {
        static FITTING: AtomicU64 = AtomicU64::new(0);
        if self.filter.as_ref().is_some_and(|filter| !kernel.contains(filter.as_str())) {
            return false;
        }
        let at = FITTING.fetch_add(1, SeqCst);
        at >= self.skip && self.count.is_none_or(|count| at - self.skip < count)
    }
}

/// The file that launches of this process are noted in.
fn record(line: &[u8]) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let folder = Settings::of_process().session.as_ref()?;
        let path = folder.join(format!("{}.jsonl", std::process::id()));
        OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
    });
    if let Some(file) = file {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // The parent may be gone.
        let _ = file.write_all(line).and_then(|()| file.write_all(b"\n"));
    }
}

/// Writes to standard error, without colours if it is no terminal.
fn say(text: &str) {
    let mut to = std::io::stderr().lock();
    let text = if to.is_terminal() { text.into() } else { anstream::adapter::strip_str(text).to_string() };
    // Nobody is left to be told when this fails.
    let _ = to.write_all(text.as_bytes());
}

impl Host for Program {
    fn read(&self, address: u64, bytes: usize, take: &mut dyn FnMut(&[u8])) {
        // SAFETY: the program gave the address as the source of a copy of so many bytes.
        take(unsafe { std::slice::from_raw_parts(address as *const u8, bytes) });
    }

    fn write(&self, address: u64, bytes: usize, give: &mut dyn FnMut(&mut [u8])) {
        // SAFETY: the program gave the address as the destination of a copy of so many bytes.
        give(unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) });
    }

    fn call(&self, function: u64, argument: u64) {
        // SAFETY: the program gave the address as that of a function of this type.
        let function = unsafe {
            std::mem::transmute::<*const c_void, unsafe extern "C" fn(*mut c_void)>(function as *const c_void)
        };
        // SAFETY: as above.
        unsafe { function(argument as *mut c_void) };
    }

    fn shared(&self, context: &Arc<Context>, bytes: u64) -> Result<u64> {
        host_memory::allocate(context, bytes as usize, Kind::Managed, 1)
    }

    fn release(&self, memory: &Allocation) {
        host_memory::give_back(memory);
    }

    fn print(&self, text: &[u8]) {
        // The program's own output goes through C's buffer, so this does too.
        // SAFETY: `stdout` is C's, and the bytes are readable.
        unsafe {
            libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
            libc::fflush(stdout);
        }
    }

    fn pick(&self, kernel: &str) -> Picked {
        let settings = Settings::of_process();
        let picked = settings.pick.takes(kernel);
        Picked { options: if picked { settings.checked.clone() } else { settings.plain.clone() }, picked }
    }

    fn launching(&self, launching: &runtime::Launching<'_>) {
        if let Some(folder) = &Settings::of_process().save
            && let Err(problem) = save::save(folder, launching)
        {
            self.warn(&format!("the launch of `{}` is not saved: {problem}", launching.launch.kernel));
        }
    }

    fn launched(&self, launched: &Launched<'_>) {
        let settings = Settings::of_process();
        let sources = Sources { module: launched.module, root: None };
        let Launched { launch, options, report, picked, .. } = *launched;
        if !report.findings.is_empty() {
            let mut text = String::new();
            for finding in &report.findings {
                text += &(finding::message(finding, &sources).render() + "\n");
            }
            text += &summary(launch, options, report);
            say(&text);
            if let Some(folder) = &settings.session {
                // The parent looks for it.
                let _ = File::create(folder.join("found"));
            }
        }
        if picked && settings.stats {
            say(&format!(
                "{}{}",
                if report.findings.is_empty() { summary(launch, options, report) } else { String::new() },
                stats::table(&launch.kernel, report)
            ));
        }
        if picked && settings.record {
            let document = LaunchJson::new(launch, options, report, &sources);
            record(&serde_json::to_vec(&document).unwrap_or_default());
        }
    }

    fn warn(&self, text: &str) {
        say(&format!("warpgrind: {text}\n"));
    }
}
