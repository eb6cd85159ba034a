//! The program around the library: its memory, its functions, its output, and what is reported of launches.

use std::ffi::c_void;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use protocol::{Color, Count};
use reports::finding::Sources;
use reports::triage::Found;
use reports::{LaunchJson, messages, metrics, readable, stats, summary_of};
use runtime::{Allocation, Completed, Host, Launched, Picked, Prepared, Submitted};

use crate::driver::host_memory;
use crate::may_call::in_callback;
use crate::operations;
use crate::save;
use crate::session;
use crate::settings::{Pick, Settings};
use crate::signals;

/// This process.
#[derive(Debug)]
pub(crate) struct Program;

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// Picked launches that are over.
static OVER: AtomicU64 = AtomicU64::new(0);

impl Pick {
    /// The place of the next launch among those of kernels that fit; none if its kernel does not.
    fn place(&self, kernel: &str) -> Option<u64> {
        static FITTING: AtomicU64 = AtomicU64::new(0);
        let fits = |filter: &String| kernel.contains(filter) || readable(kernel).contains(filter);
        self.filter.as_ref().is_none_or(fits).then(|| FITTING.fetch_add(1, SeqCst))
    }

    /// Whether the launch that has a place is picked.
    fn takes(&self, at: u64) -> bool {
        let over = at >= self.skip && self.count.is_some_and(|count| at - self.skip >= count);
        if over && self.kill && OVER.load(SeqCst) >= self.count.unwrap_or(0) {
            // What the program has printed is its own, and nothing else of it is wanted.
            // SAFETY: both calls are allowed anywhere; no handler of the program runs.
            unsafe {
                libc::fflush(stdout);
                libc::_exit(0);
            }
        }
        at >= self.skip && !over
    }
}

/// Writes to standard error, with colours if it is a terminal or somebody asked for them.
fn say(text: &str) {
    let mut to = std::io::stderr().lock();
    let coloured = match Settings::of_process().color {
        Color::Auto => to.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        Color::Always => true,
        Color::Never => false,
    };
    let text = if coloured { text.into() } else { anstream::adapter::strip_str(text).to_string() };
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
        in_callback(|| unsafe { function(argument as *mut c_void) });
    }

    fn release(&self, memory: &Allocation) {
        host_memory::give_back(memory);
    }

    fn is_mapped(&self, address: u64, bytes: u64) -> bool {
        let start = address / host_memory::PAGE as u64 * host_memory::PAGE as u64;
        let bytes = (address - start + bytes) as usize;
        // Nothing is written: without a file there is nothing to write to, and with one it is asked for, no more.
        // SAFETY: the call changes no memory; it fails if a page is not there.
        let result = unsafe { libc::msync(start as *mut c_void, bytes, libc::MS_ASYNC) };
        result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOMEM)
    }

    fn print(&self, text: &[u8]) {
        // The program's own output goes through C's buffer, so this does too.
        // SAFETY: `stdout` is C's, and the bytes are readable.
        unsafe {
            libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
            libc::fflush(stdout);
        }
    }

    fn hears_of_operations(&self) -> bool {
        operations::are_wanted()
    }

    fn submitted(&self, submitted: &Submitted<'_>) {
        operations::submitted(submitted);
    }

    fn waited(&self, number: u64) {
        operations::waited(number);
    }

    fn called(&self, kernel: &str) -> Option<u64> {
        Settings::of_process().pick.place(kernel)
    }

    fn pick(&self, _kernel: &str, place: Option<u64>) -> Picked {
        let settings = Settings::of_process();
        let picked = place.is_some_and(|place| settings.pick.takes(place));
        session::add(Count::Launches, 1);
        session::add(Count::Picked, u64::from(picked));
        Picked { options: if picked { settings.checked.clone() } else { settings.plain.clone() }, picked }
    }

    fn launching(&self, launching: &runtime::Launching<'_>) -> Prepared {
        let settings = Settings::of_process();
        let Some(folder) = &settings.save else { return Prepared::default() };
        let problem = |launching: &runtime::Launching<'_>, error: std::io::Error| {
            // Of those that have no room the first is told of.
            if session::add(Count::Unsaved, 1) == 0 || error.kind() != std::io::ErrorKind::QuotaExceeded {
                Program.warn(&format!("the launch of `{}` is not saved: {error}", launching.launch.kernel));
            }
        };
        let room = settings.save_most.map(|most| most.saturating_sub(session::count(Count::Saved)));
        let number = launching.place.unwrap_or(0).saturating_sub(settings.pick.skip);
        let saved = match save::save((folder, number), launching, room) {
            Ok(saved) => saved,
            Err(error) => {
                problem(launching, error);
                return Prepared::default();
            }
        };
        operations::saved(launching.number, saved.place());
        if let Some(socket) = &settings.hold {
            let printed = session::hold(socket, saved.place()).unwrap_or_else(|error| {
                let kernel = &launching.launch.kernel;
                Program.warn(&format!("the launch of `{kernel}` is not debugged: {error}"));
                false
            });
            return Prepared { printed, completed: None };
        }
        session::add(Count::Saved, saved.bytes());
        let completed: Completed = Box::new(move |launching| match saved.completed(launching) {
            Ok(bytes) => _ = session::add(Count::Saved, bytes),
            Err(error) => problem(launching, error),
        });
        Prepared { printed: false, completed: Some(completed) }
    }

    fn launched(&self, launched: &Launched<'_>) {
        let settings = Settings::of_process();
        let sources = Sources { module: launched.module, root: None };
        let Launched { launch, options, report, picked, .. } = *launched;
        let judged = settings.policy.judge_all(report, &sources);
        judged.iter().flat_map(|judged| &judged.verdict.entries).for_each(|&entry| session::hit(entry));
        let found = Found::of(report, &judged);
        session::add(Count::Findings, found.new);
        session::add(Count::Known, found.known);
        session::add(Count::Suppressed, found.suppressed);
        let summary = || summary_of(launch, options, report, found);
        if found.new > 0 {
            say(&(messages(report, &judged, &sources, settings.print_suppressions) + &summary()));
        }
        if picked && settings.stats {
            let summary = if found.new > 0 { String::new() } else { summary() };
            say(&(summary + &stats::table(&launch.kernel, report)));
        }
        for measured in &report.metrics {
            say(&metrics::table(&launch.kernel, measured, launched.module));
        }
        // What is found elsewhere belongs into reports, too.
        if settings.record && (picked || !report.findings.is_empty()) {
            session::record(&LaunchJson::judged(launch, options, report, &sources, &judged), picked);
        }
        OVER.fetch_add(u64::from(picked), SeqCst);
    }

    fn begins(&self) {
        signals::begins();
    }

    fn ended(&self) {
        signals::ended();
    }

    fn warn(&self, text: &str) {
        say(&format!("warpgrind: {text}\n"));
    }
}
