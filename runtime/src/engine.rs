//! The queue of a device: operations in a graph of dependencies, and the threads that run them.
//!
//! Streams, events and graphs are only ways to say which operations an operation waits for. An operation
//! that is ready is run by a worker; at most one worker a core is busy, but an operation that stays ready
//! for some milliseconds gets a thread of its own, so that kernels and host functions that wait for each
//! other make progress. A host thread that waits for an operation runs ready ones of the same lane itself.
//!
//! # Invariants
//! * An operation runs once, after all that it depends on.
//! * No lock is held while an operation runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

/// What an operation does, which is told its number.
pub type Task = Box<dyn FnOnce(u64) + Send>;

/// Which thread may run a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunBy {
    /// Any, one that waits for it included.
    Any,
    /// A worker: the task calls back into the program.
    Worker,
    /// A thread of its own, since it may wait for long.
    OwnThread,
}

/// An operation.
pub struct Op {
    /// Unique in the process; those that were submitted later have a higher one.
    number: u64,
    /// What belongs together: a stream.
    lane: u64,
    /// Lower runs first.
    priority: i32,
    done: AtomicBool,
    finished: OnceLock<Instant>,
    state: Mutex<OpState>,
}

struct OpState {
    /// Dependencies that are not done, and one while they are being counted.
    pending: u32,
    dependents: SmallVec<[Arc<Op>; 2]>,
    task: Option<(Task, RunBy)>,
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Op").field("lane", &self.lane).field("done", &self.is_done()).finish_non_exhaustive()
    }
}

impl Op {
    /// Its number, which no other operation of the process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is over.
    pub fn is_done(&self) -> bool {
        self.done.load(SeqCst)
    }

    /// When it was over.
    pub fn finished(&self) -> Option<Instant> {
        self.finished.get().copied()
    }
}

/// The queue of a device.
#[derive(Debug)]
pub struct Engine {
    pool: Mutex<Pool>,
    work: Condvar,
    waiters: AtomicUsize,
    wait: Mutex<()>,
    done: Condvar,
    workers: usize,
}

#[derive(Debug, Default)]
struct Pool {
    ready: Vec<Arc<Op>>,
    threads: usize,
    idle: usize,
    /// Operations that workers run.
    running: usize,
    /// Grows with each operation taken, to see whether anything moves.
    taken: u64,
}

/// How long an operation stays ready while all workers are busy before it gets another thread.
const PATIENCE: Duration = Duration::from_millis(5);
/// How long an idle thread stays.
const IDLE: Duration = Duration::from_secs(2);
/// Most threads of an engine; a device runs so many kernels at once (CUDA guide, compute capabilities).
const MOST_THREADS: usize = 130;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// An engine without threads; `workers` operations may run at once, more if they wait for each other.
    pub fn new(workers: usize) -> Arc<Engine> {
        Arc::new(Engine {
            pool: Mutex::default(),
            work: Condvar::new(),
            waiters: AtomicUsize::new(0),
            wait: Mutex::new(()),
            done: Condvar::new(),
            workers: workers.max(1),
        })
    }

    /// Adds an operation that waits for `after`. Without a task it only joins what it waits for.
    pub fn submit(
        self: &Arc<Self>,
        lane: u64,
        priority: i32,
        after: &[Arc<Op>],
        task: Option<(Task, RunBy)>,
    ) -> Arc<Op> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let state = OpState { pending: 1, dependents: SmallVec::new(), task };
        let op = Arc::new(Op {
            number: NUMBERS.fetch_add(1, SeqCst),
            lane,
            priority,
            done: AtomicBool::new(false),
            finished: OnceLock::new(),
            state: Mutex::new(state),
        });
        for dependency in after {
            let mut state = lock(&dependency.state);
            if !dependency.is_done() {
                state.dependents.push(op.clone());
                lock(&op.state).pending += 1;
            }
        }
        if let Some(ready) = self.release(op.clone()) {
            self.push(ready);
        }
        op
    }

    /// Takes one dependency from an operation; returns one that became ready, having queued any others.
    fn release(self: &Arc<Self>, op: Arc<Op>) -> Option<Arc<Op>> {
        let mut first = None;
        let mut list: SmallVec<[Arc<Op>; 4]> = SmallVec::new();
        list.push(op);
        while let Some(op) = list.pop() {
            let mut state = lock(&op.state);
            state.pending -= 1;
            if state.pending > 0 {
                continue;
            }
            match state.task.as_ref().map(|(_, by)| *by) {
                None => {
                    drop(state);
                    list.extend(self.complete(&op));
                }
                Some(RunBy::OwnThread) => {
                    let task = state.task.take();
                    drop(state);
                    let engine = self.clone();
                    let run = move || {
                        attempt(task, op.number);
                        engine.finish(&op);
                    };
                    // Without threads nothing can run at all.
                    let _ = std::thread::Builder::new().name("warpgrind wait".into()).spawn(run);
                }
                Some(_) => {
                    drop(state);
                    match first {
                        None => first = Some(op),
                        Some(_) => self.push(op),
                    }
                }
            }
        }
        first
    }

    /// Marks an operation as done; those that wait for it have one dependency less to wait for.
    fn complete(&self, op: &Op) -> SmallVec<[Arc<Op>; 2]> {
        let _ = op.finished.set(Instant::now());
        let dependents = {
            let mut state = lock(&op.state);
            op.done.store(true, SeqCst);
            std::mem::take(&mut state.dependents)
        };
        if self.waiters.load(SeqCst) > 0 {
            drop(lock(&self.wait));
            self.done.notify_all();
        }
        dependents
    }

    /// The same; operations that became ready are queued.
    fn finish(self: &Arc<Self>, op: &Op) {
        for dependent in self.complete(op) {
            if let Some(ready) = self.release(dependent) {
                self.push(ready);
            }
        }
    }

    fn push(self: &Arc<Self>, op: Arc<Op>) {
        let mut pool = lock(&self.pool);
        pool.ready.push(op);
        let (idle, spare) = (pool.idle > 0, pool.threads > pool.running);
        drop(pool);
        if idle {
            self.work.notify_one();
        } else if !spare {
            self.add_thread();
        }
    }

    /// What a worker does.
    fn work(self: &Arc<Self>) {
        let mut pool = lock(&self.pool);
        loop {
            if pool.ready.is_empty() {
                pool.idle += 1;
                let (guard, timeout) =
                    self.work.wait_timeout(pool, IDLE).unwrap_or_else(PoisonError::into_inner);
                pool = guard;
                pool.idle -= 1;
                if timeout.timed_out() && pool.ready.is_empty() {
                    pool.threads -= 1;
                    return;
                }
                continue;
            }
            if pool.running >= self.workers {
                // Enough are busy; this one is only needed if they wait for what is ready.
                let taken = pool.taken;
                pool.idle += 1;
                pool = self.work.wait_timeout(pool, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
                pool.idle -= 1;
                if pool.taken != taken {
                    continue;
                }
            }
            let Some(op) = take(&mut pool, |_| true) else { continue };
            pool.running += 1;
            let grow = !pool.ready.is_empty() && pool.idle == 0;
            drop(pool);
            if grow {
                self.add_thread();
            }
            let mut next = Some(op);
            while let Some(op) = next {
                run(&op);
                next = None;
                for dependent in self.complete(&op) {
                    match (self.release(dependent), &next) {
                        (Some(ready), None) => next = Some(ready),
                        (Some(ready), Some(_)) => self.push(ready),
                        (None, _) => {}
                    }
                }
                if let Some(op) = &next {
                    let mut pool = lock(&self.pool);
                    pool.taken += 1;
                    // Others that are more urgent, or that wait for longer, go first.
                    if !pool.ready.is_empty() {
                        pool.ready.push(op.clone());
                        next = take(&mut pool, |_| true);
                    }
                }
            }
            pool = lock(&self.pool);
            pool.running -= 1;
        }
    }

    /// One thread more, within the limit.
    fn add_thread(self: &Arc<Self>) {
        let mut pool = lock(&self.pool);
        if pool.threads >= MOST_THREADS {
            return;
        }
        pool.threads += 1;
        drop(pool);
        let engine = self.clone();
        let work = move || engine.work();
        if std::thread::Builder::new().name("warpgrind queue".into()).spawn(work).is_err() {
            lock(&self.pool).threads -= 1;
        }
    }

    /// Waits until an operation is done, running ready ones of its lane meanwhile.
    pub fn wait(self: &Arc<Self>, op: &Op) {
        while !op.is_done() {
            let by_any = |ready: &Op| matches!(&lock(&ready.state).task, Some((_, RunBy::Any)));
            let helped = take(&mut lock(&self.pool), |ready| ready.lane == op.lane && by_any(ready));
            if let Some(ready) = helped {
                run(&ready);
                self.finish(&ready);
                continue;
            }
            self.waiters.fetch_add(1, SeqCst);
            let mut guard = lock(&self.wait);
            // What becomes ready meanwhile goes to workers.
            while !op.is_done() {
                guard = self.done.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            drop(guard);
            self.waiters.fetch_sub(1, SeqCst);
        }
    }

    /// Waits until an operation is done or the time is over; whether it is done. Runs nothing.
    pub fn wait_timeout(&self, op: &Op, most: Duration) -> bool {
        let until = Instant::now() + most;
        self.waiters.fetch_add(1, SeqCst);
        let mut guard = lock(&self.wait);
        while !op.is_done() {
            let Some(rest) = until.checked_duration_since(Instant::now()) else { break };
            guard = self.done.wait_timeout(guard, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(guard);
        self.waiters.fetch_sub(1, SeqCst);
        op.is_done()
    }
}

/// Takes the first of the most urgent operations that are wanted.
fn take(pool: &mut Pool, wanted: impl Fn(&Op) -> bool) -> Option<Arc<Op>> {
    let best = pool.ready.iter().enumerate().filter(|(_, op)| wanted(op));
    let (at, _) = best.min_by_key(|(at, op)| (op.priority, *at))?;
    pool.taken += 1;
    Some(pool.ready.remove(at))
}

fn run(op: &Op) {
    let task = lock(&op.state).task.take();
    attempt(task, op.number);
}

/// Runs a task. One that panics is over too: whoever waits for it must not wait for ever.
fn attempt(task: Option<(Task, RunBy)>, number: u64) {
    if let Some((task, _)) = task {
        // The message was printed; what a task should leave behind when it panics is its own concern.
        let _ = catch_unwind(AssertUnwindSafe(|| task(number)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(run: impl FnOnce() + Send + 'static) -> Option<(Task, RunBy)> {
        Some((Box::new(|_| run()), RunBy::Any))
    }

    #[test]
    fn operations_run_once_in_order_of_their_dependencies() {
        let engine = Engine::new(2);
        let log: Arc<Mutex<Vec<u32>>> = Arc::default();
        let mut last: Vec<Arc<Op>> = Vec::new();
        for at in 0..200 {
            let log = log.clone();
            let op = engine.submit(1, 0, &last, task(move || lock(&log).push(at)));
            last = vec![op];
        }
        engine.wait(&last[0]);
        assert_eq!(*lock(&log), (0..200).collect::<Vec<_>>());
        assert!(last[0].finished().is_some());
    }

    #[test]
    fn a_join_waits_for_all_branches() {
        let engine = Engine::new(2);
        let count = Arc::new(AtomicU64::new(0));
        let branches: Vec<_> = (0..50)
            .map(|lane| {
                let count = count.clone();
                engine.submit(
                    lane,
                    0,
                    &[],
                    task(move || {
                        count.fetch_add(1, SeqCst);
                    }),
                )
            })
            .collect();
        let join = engine.submit(99, 0, &branches, None);
        engine.wait(&join);
        assert_eq!(count.load(SeqCst), 50);
    }

    #[test]
    fn a_task_that_panics_is_over() {
        let engine = Engine::new(2);
        for by in [RunBy::Any, RunBy::Worker, RunBy::OwnThread] {
            let broken = engine.submit(1, 0, &[], Some((Box::new(|_| panic!("on purpose")), by)));
            let after = engine.submit(2, 0, &[broken], task(|| ()));
            engine.wait(&after);
        }
    }

    #[test]
    fn operations_that_wait_for_later_ones_make_progress() {
        let engine = Engine::new(1);
        let stage = Arc::new(AtomicU64::new(0));
        let waits: Vec<_> = (0..6u64)
            .map(|at| {
                let stage = stage.clone();
                let wait = move || {
                    while stage.load(SeqCst) != 5 - at {
                        std::thread::yield_now();
                    }
                    stage.fetch_add(1, SeqCst);
                };
                engine.submit(at, 0, &[], task(wait))
            })
            .collect();
        let join = engine.submit(99, 0, &waits, None);
        engine.wait(&join);
        assert_eq!(stage.load(SeqCst), 6);
    }
}
