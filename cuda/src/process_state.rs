//! Whether the process may call CUDA's functions: a word in a file in memory, which other processes find by its name among the
//! process's descriptors (`driver/checkpoint.rs`).

use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use crate::memory_file::file_in_memory;
use crate::shared_page::{PAGE, SharedPage};

/// The name of the file.
pub(crate) const NAME: &str = "warpgrind-process-state";

// `CUprocessState`
pub(crate) const RUNNING: u64 = 0;
pub(crate) const LOCKED: u64 = 1;
pub(crate) const CHECKPOINTED: u64 = 2;

/// How often a call that waits looks again.
const INTERVAL: Duration = Duration::from_millis(1);

static OWN: OnceLock<Option<SharedPage>> = OnceLock::new();

fn new_page() -> Option<SharedPage> {
    SharedPage::of(file_in_memory(NAME, PAGE as u64).ok()?).ok()
}

/// Lets other processes find this one's state.
pub(crate) fn announce() {
    OWN.get_or_init(new_page);
}

/// Waits as long as the process may not call CUDA's functions; those that change the state always may.
pub(crate) fn wait_while_locked(name: &str) {
    let Some(Some(own)) = OWN.get() else { return };
    while own.words()[0].load(SeqCst) != RUNNING && !name.starts_with("cuCheckpoint") {
        std::thread::sleep(INTERVAL);
    }
}
