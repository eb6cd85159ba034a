//! What is said of a device, by keys that stand in braces in `properties.txt` and `log.txt`. What a board measures and a simulated
//! one does not is `N/A` there; the rest is what an H200 says that does nothing.

use std::time::{SystemTime, UNIX_EPOCH};

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
            "timestamp" => Moment::now().sorted(),
            _ => unreachable!("a key of this module's files: {key}"),
        }
    }
}

/// A moment of universal time.
pub(super) struct Moment {
    days: u64,
    milliseconds: u64,
}

const DAY: u64 = 86_400_000;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Moment {
    pub(super) fn now() -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        Moment { days: since / DAY, milliseconds: since % DAY }
    }

    /// Year, month from 1 and day.
    fn date(&self) -> (u64, u64, u64) {
        // Years begin with March, so that the leap day is their last one; 719,468 days lie between that calendar's beginning and 1970.
        let days = self.days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let from_january = if month < 10 { month + 3 } else { month - 9 };
        (era * 400 + year + u64::from(from_january <= 2), from_january, day - (153 * month + 2) / 5 + 1)
    }

    fn clock(&self) -> String {
        let seconds = self.milliseconds / 1000;
        format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// `2026/11/27 20:07:46.379`
    fn sorted(&self) -> String {
        let (year, month, day) = self.date();
        format!("{year:04}/{month:02}/{day:02} {}.{:03}", self.clock(), self.milliseconds % 1000)
    }

    /// `Fri Nov 27 20:07:44 2026`
    pub(super) fn spoken(&self) -> String {
        let (year, month, day) = self.date();
        let weekday = WEEKDAYS[(self.days % 7) as usize];
        format!("{weekday} {} {day:2} {} {year}", MONTHS[month as usize - 1], self.clock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, spoken, sorted) in [
            (0, "Thu Jan  1 00:00:00 1970", "1970/01/01 00:00:00.000"),
            (951_782_400, "Tue Feb 29 00:00:00 2000", "2000/02/29 00:00:00.000"),
            (1_795_810_064, "Fri Nov 27 20:07:44 2026", "2026/11/27 20:07:44.000"),
            (4_107_542_399, "Sun Feb 28 23:59:59 2100", "2100/02/28 23:59:59.000"),
        ] {
            let at: u64 = seconds * 1000;
            let moment = Moment { days: at / DAY, milliseconds: at % DAY };
            assert_eq!((moment.spoken(), moment.sorted()), (spoken.to_owned(), sorted.to_owned()));
        }
    }
}
