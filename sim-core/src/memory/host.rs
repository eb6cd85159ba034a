//! The host's memory, which device memory is made of: what there is, and a watch over what is left.
//!
//! Allocating takes nothing of it, touching does. When little is left, launches, fills and copies end with a message
//! instead of the process by the system's hand.

use std::fs::read_to_string;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use crate::error::Error;

/// Memory of the host for this process, limits of control groups included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostMemory {
    /// Bytes in all.
    pub total: u64,
    /// Bytes that can still be touched.
    pub available: u64,
}

/// Bytes that this process may have of it.
static MOST: AtomicU64 = AtomicU64::new(u64::MAX);

/// Lets this process have so many bytes of the host's memory at most.
pub fn limit_host_memory(bytes: u64) {
    MOST.store(bytes, Relaxed);
}

/// What the host has; `None` where it does not say.
pub fn host_memory() -> Option<HostMemory> {
    let mut found = system()?;
    let most = MOST.load(Relaxed);
    if most < found.total {
        // Pages in memory are the second number.
        let own = read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse::<u64>().ok()? * 4096;
        found = HostMemory { total: most, available: found.available.min(most.saturating_sub(own)) };
    }
    Some(found)
}

fn system() -> Option<HostMemory> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
    };
    let mut found = HostMemory { total: field("MemTotal:")?, available: field("MemAvailable:")? };
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    for line in groups.lines() {
        // Hierarchy, controllers, path; version 2 has no controllers.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, most, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        let place = format!("{root}{path}");
        for group in Path::new(&place).ancestors().take_while(|group| group.starts_with(root)) {
            let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
            let (Some(most), Some(used)) = (number(most), number(used)) else { continue };
            // Files that can be dropped count as used.
            let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
            let files = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
            let files: u64 = files.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            found.total = found.total.min(most);
            found.available = found.available.min(most.saturating_sub(used.saturating_sub(files)));
        }
    }
    Some(found)
}

/// What is left untouched for everything else on the host.
fn reserve(total: u64) -> u64 {
    (total / 32).max(256 << 20).min(total / 4)
}

/// Bytes of device memory that this process has.
static HELD: AtomicU64 = AtomicU64::new(0);
/// Whether too little is left.
static SPENT: AtomicBool = AtomicBool::new(false);

/// How often the watch looks: in this time a few cores touch less than the reserve.
const PERIOD: Duration = Duration::from_millis(10);
/// Part of the available memory from which on it is watched. The tools' books take a multiple of what kernels touch.
const PART: u64 = 16;

/// Counts device memory that a process gets.
pub(super) fn hold(bytes: u64) {
    static MANY: OnceLock<u64> = OnceLock::new();
    static WATCH: Once = Once::new();
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    if held < CHUNK || WATCH.is_completed() {
        return;
    }
    if held > *MANY.get_or_init(|| host_memory().map_or(u64::MAX, |host| host.available / PART)) {
        WATCH.call_once(|| {
            // Without the thread nothing is watched, as before.
            let _ = std::thread::Builder::new().name("warpgrind memory".into()).spawn(watch);
        });
    }
}

/// Counts what it gives back.
pub(super) fn give_back(bytes: u64) {
    HELD.fetch_sub(bytes, Relaxed);
}

fn watch() {
    while let Some(host) = host_memory() {
        SPENT.store(host.available < reserve(host.total), Relaxed);
        std::thread::sleep(PERIOD);
    }
}

/// Whether so little memory of the host is left that launches end.
#[inline(always)]
pub fn host_memory_is_spent() -> bool {
    SPENT.load(Relaxed)
}

/// Why a launch ends then.
#[cold]
pub(crate) fn spent() -> String {
    let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    let host = host_memory().unwrap_or(HostMemory { total: 0, available: 0 });
    let (held, total, left) = (HELD.load(Relaxed), host.total, host.available);
    format!(
        "the memory of this host is used up: it has {}, {} are left, and the program has {} of device memory",
        gigabytes(total),
        gigabytes(left),
        gigabytes(held)
    )
}

/// Bytes that are touched at once by the host.
pub(crate) const CHUNK: u64 = 64 << 20;

/// Asks before the host touches memory of the device.
///
/// # Errors
/// Too little is left.
pub(crate) fn ask(bytes: u64) -> Result<(), Error> {
    if bytes < CHUNK && !host_memory_is_spent() {
        return Ok(());
    }
    match host_memory() {
        Some(host) if host.available < reserve(host.total) + bytes.min(CHUNK) => {
            Err(Error::HostMemory { requested: bytes, available: host.available, total: host.total })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_says_what_it_has() {
        if let Some(host) = host_memory() {
            assert!(host.total >= host.available && host.total > 1 << 20, "{host:?}");
            assert!(reserve(host.total) <= host.total / 4);
        }
        assert_eq!(ask(1), Ok(()));
    }
}
