//! What is said of a device, by keys that stand in braces in `properties.txt` and `log.txt`. What a board measures and a simulated
//! one does not is `N/A` there; the rest is what an H200 says that does nothing.

use std::time::SystemTime;

use chrono::{DateTime, Utc};
use device::NvmlDevice;

/// What all devices have in common.
pub(super) struct Machine {
    pub(super) driver: String,
    pub(super) cuda: (i32, i32),
    pub(super) count: u32,
}

impl Machine {
    /// The text with its keys replaced.
    pub(super) fn fill(&self, text: &str, device: &NvmlDevice) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (key, after) = behind.split_once('}').unwrap_or((behind, ""));
            filled += before;
            filled += &self.fact(key, device);
            rest = after;
        }
        filled + rest
    }

    fn fact(&self, key: &str, device: &NvmlDevice) -> String {
        let memory = |bytes: u64| format!("{} MiB", bytes >> 20);
        let (major, minor) = device.compute_capability;
        match key {
            "name" => device.name.clone(),
            "uuid" => device.uuid.clone(),
            "index" => device.index.to_string(),
            "count" => self.count.to_string(),
            "driver" => self.driver.clone(),
            "bus_id" => device.bus_id.clone(),
            "bus" => device.bus_id.split(':').nth(1).unwrap_or_default().into(),
            "board" => format!("{:#x}", (device.index + 1) << 8),
            "compute_cap" => format!("{major}.{minor}"),
            "memory.total" => memory(device.total),
            "memory.used" => memory(device.used),
            "memory.free" => memory(device.total - device.used),
            "clocks.sm" => format!("{} MHz", device.clocks.0),
            "clocks.memory" => format!("{} MHz", device.clocks.1),
            "ecc" => device.ecc.map_or("N/A", |on| if on { "Enabled" } else { "Disabled" }).into(),
            "timestamp" => sorted(SystemTime::now().into()),
            _ => unreachable!("a key of this module's files: {key}"),
        }
    }
}

/// The moment as properties have it: `2026/11/27 20:07:46.379`, of universal time.
fn sorted(at: DateTime<Utc>) -> String {
    at.format("%Y/%m/%d %H:%M:%S%.3f").to_string()
}

/// The same as the log says it: `Fri Nov 27 20:07:44 2026`.
pub(super) fn spoken(at: DateTime<Utc>) -> String {
    at.format("%a %b %e %H:%M:%S %Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        assert_eq!(spoken(at("2026-11-27T20:07:44Z")), "Fri Nov 27 20:07:44 2026");
        assert_eq!(spoken(at("1970-01-01T00:00:00Z")), "Thu Jan  1 00:00:00 1970");
        assert_eq!(sorted(at("2026-11-27T20:07:46.379Z")), "2026/11/27 20:07:46.379");
    }
}
