//! Checkpoints of processes: the states that an H200 says, and that nobody gets past a lock.

mod support;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use support::{at, call, driver, out};

const RUNNING: i32 = 0;
const LOCKED: i32 = 1;
const CHECKPOINTED: i32 = 2;

fn state(process: u64) -> (u32, i32) {
    let mut state = 77;
    (call(driver(), "cuCheckpointProcessGetState", &[process, out(&mut state)]), state)
}

/// A step that leads nowhere from where the process is gives an error and changes nothing.
#[test]
fn steps_are_those_of_an_h200() {
    assert_eq!(call(driver(), "cuInit", &[0]), 0);
    let own = u64::from(std::process::id());
    let step = |name: &str| call(driver(), &format!("cuCheckpointProcess{name}"), &[own, 0]);
    let (none, illegal) = (0, 401);
    for (name, code, then) in [
        ("Unlock", illegal, RUNNING),
        ("Restore", illegal, RUNNING),
        ("Checkpoint", illegal, RUNNING),
        ("Lock", none, LOCKED),
        ("Lock", illegal, LOCKED),
        ("Restore", illegal, LOCKED),
        ("Checkpoint", none, CHECKPOINTED),
        ("Checkpoint", illegal, CHECKPOINTED),
        ("Unlock", illegal, CHECKPOINTED),
        ("Lock", illegal, CHECKPOINTED),
        ("Restore", none, LOCKED),
        ("Unlock", none, RUNNING),
    ] {
        assert_eq!((step(name), state(own)), (code, (0, then)), "{name}");
    }
    // One that has no devices, one that is none, and numbers of none.
    assert_eq!([1, 99_999_999, 0, u64::MAX].map(|process| state(process).0), [3, 304, 304, 304]);
    assert_eq!(call(driver(), "cuCheckpointProcessGetState", &[own, 0]), 1);
    let mut thread = 0i32;
    assert_eq!(call(driver(), "cuCheckpointProcessGetRestoreThreadId", &[own, out(&mut thread)]), 0);
    assert!(thread > 0);
    let reserved = [1u64 << 32, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(call(driver(), "cuCheckpointProcessLock", &[own, at(&reserved[..])]), 1);

    // A call of another thread waits as long as the process is locked.
    assert_eq!(step("Lock"), 0);
    let through = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut count = 0i32;
            assert_eq!(call(driver(), "cuDeviceGetCount", &[out(&mut count)]), 0);
            through.store(true, SeqCst);
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!through.load(SeqCst));
        assert_eq!(step("Unlock"), 0);
    });
    assert!(through.load(SeqCst));
}
