//! Ctrl-C and SIGTERM under `warpgrind exec`: the launch that runs says where it stands, then the signal has its effect.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use libc::{SIGINT, SIGTERM, c_int};
use signal_hook::low_level::{emulate_default_handler, register};

/// How long a launch may take to say where it stands.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What launches look at to see whether they shall end.
pub(crate) static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The signal that came.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Launches that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A semaphore of C, which a handler may post.
struct Semaphore(MaybeUninit<libc::sem_t>);

// SAFETY: semaphores are made to be used by several threads.
unsafe impl Sync for Semaphore {}
// SAFETY: as above.
unsafe impl Send for Semaphore {}

static CAME: OnceLock<Box<Semaphore>> = OnceLock::new();

/// From here on a signal whose effect nobody has changed first ends the launch that runs, with a report. A program that
/// handles it itself, before or later, does.
pub(crate) fn watch() {
    let came = CAME.get_or_init(|| {
        let mut semaphore = Box::new(Semaphore(MaybeUninit::uninit()));
        // SAFETY: the place is a semaphore's, which never moves.
        unsafe { libc::sem_init(semaphore.0.as_mut_ptr(), 0, 0) };
        semaphore
    });
    let wait = || {
        // SAFETY: the semaphore was made above and is never removed.
        while unsafe { libc::sem_wait(came.0.as_ptr().cast_mut()) } != 0 {}
        let since = Instant::now();
        while RUNNING.load(SeqCst) > 0 && since.elapsed() < LAST_WORDS {
            std::thread::sleep(Duration::from_millis(1));
        }
        end();
    };
    if std::thread::Builder::new().name("warpgrind-signal".into()).spawn(wait).is_err() {
        return;
    }
    let process = std::process::id();
    for signal in [SIGINT, SIGTERM].into_iter().filter(|&signal| is_default(signal)) {
        let asked = ASKED.clone();
        let handler = move || {
            // A child of `fork` has no thread that waits; who asks twice does not want to wait.
            if std::process::id() != process || asked.swap(true, SeqCst) {
                let _ = emulate_default_handler(signal);
            }
            SIGNAL.store(signal, SeqCst);
            // SAFETY: the semaphore is there, and a handler may post it.
            unsafe { libc::sem_post(came.0.as_ptr().cast_mut()) };
        };
        // SAFETY: the handler calls only what a handler may: atomics, `getpid`, `sem_post`, the default effect.
        let _ = unsafe { register(signal, handler) };
    }
}

fn is_default(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call only fills the structure.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: it has been filled.
    known && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

/// A launch begins.
pub(crate) fn begins() {
    RUNNING.fetch_add(1, SeqCst);
}

/// A launch has ended, whatever came of it, and said what there was to say.
pub(crate) fn ended() {
    RUNNING.fetch_sub(1, SeqCst);
    if ASKED.load(SeqCst) && SIGNAL.load(SeqCst) != 0 {
        end();
    }
}

/// Lets the signal have its effect.
fn end() {
    let _ = emulate_default_handler(SIGNAL.load(SeqCst));
}
