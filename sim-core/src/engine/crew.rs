//! Threads that help with a launch. They are kept between launches: to start one takes as long as many a launch.

use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads of one launch at a time: as its blocks may wait for another launch, none has to wait for a thread.
struct Crew {
    threads: ThreadPool,
    /// The process that started them: a fork has none of them.
    process: u32,
}

/// Crews without a launch.
static IDLE: Mutex<Vec<Crew>> = Mutex::new(Vec::new());

/// Crews that are kept, at most.
const KEPT: usize = 4;

impl Crew {
    /// One of at least so many threads; none if the host starts no more of them.
    fn call(others: usize) -> Option<Crew> {
        let process = std::process::id();
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(foreign) = idle.iter().position(|crew| crew.process != process) {
            std::mem::forget(idle.swap_remove(foreign));
        }
        let enough = |crew: &Crew| crew.threads.current_num_threads() >= others;
        if let Some(at) = idle.iter().position(enough) {
            return Some(idle.swap_remove(at));
        }
        drop(idle);
        let name = |at| format!("warpgrind worker {at}");
        let threads = ThreadPoolBuilder::new().num_threads(others).thread_name(name).build().ok()?;
        Some(Crew { threads, process })
    }

    fn dismiss(self) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(self);
        // The smallest one goes.
        if idle.len() > KEPT
            && let Some(at) = (0..idle.len()).min_by_key(|&at| idle[at].threads.current_num_threads())
        {
            let crew = idle.swap_remove(at);
            drop(idle);
            drop(crew);
        }
    }
}

/// Does some work on this thread and on so many others, and waits for all of them. With fewer where the host has no more.
pub(super) fn together(others: usize, work: impl Fn() + Sync) {
    let Some(crew) = (others > 0).then(|| Crew::call(others)).flatten() else { return work() };
    crew.threads.in_place_scope(|scope| {
        for _ in 0..others {
            // Who wakes late is not waited for: another takes its part.
            scope.spawn(|_| work());
        }
        work();
    });
    crew.dismiss();
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::together;

    #[test]
    fn all_of_several_launches_run_at_the_same_time() {
        for _ in 0..20 {
            let (all, ran) = (Barrier::new(8), AtomicUsize::new(0));
            let launch = || {
                together(3, || {
                    all.wait();
                    ran.fetch_add(1, Relaxed);
                });
            };
            std::thread::scope(|scope| {
                scope.spawn(launch);
                launch();
            });
            assert_eq!(ran.into_inner(), 8);
        }
    }
}
