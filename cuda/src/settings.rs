//! Settings from the environment, which `warpgrind exec` sets.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use sim_core::{DeviceConfig, RunOptions};

/// What the environment says.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The devices.
    pub device: DeviceConfig,
    /// How many.
    pub devices: usize,
    /// How launches are run that were not picked for further checks.
    pub plain: RunOptions,
    /// How those are run that were.
    pub checked: RunOptions,
    /// Which launches are picked.
    pub pick: Pick,
    /// Whether picked launches are noted for the parent, and what they executed is printed.
    pub record: bool,
    pub stats: bool,
    /// Whether messages have colours.
    pub color: Color,
    /// The folder that the parent made.
    pub session: Option<PathBuf>,
    /// Where picked launches are written as launch files.
    pub save: Option<PathBuf>,
}

/// Whether messages have colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    /// On terminals.
    Auto,
    Always,
    Never,
}

/// Which launches are checked further.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pick {
    /// Part of the kernel's name.
    pub filter: Option<String>,
    /// Of those that fit, how many are passed over, and how many are taken then.
    pub skip: u64,
    pub count: Option<u64>,
}

/// A variable; one that is set to nothing counts as not set.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = variable(name)?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => {
            eprintln!("warpgrind: {name}={text} is not a number and counts for nothing");
            None
        }
    }
}

impl Settings {
    /// Those of this process, read once.
    pub(crate) fn of_process() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let tools = std::env::var("WARPGRIND_TOOL").unwrap_or_default();
            let tool = |name: &str| tools.split(',').any(|tool| tool == name);
            let path = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
            let is_set = |name: &str| path(name).is_some();
            let h200 = DeviceConfig::h200();
            let device = DeviceConfig {
                track_initialization: tool("initcheck"),
                sm: number("WARPGRIND_SM").unwrap_or(h200.sm),
                multiprocessors: number("WARPGRIND_MULTIPROCESSORS").unwrap_or(h200.multiprocessors).max(1),
                global_memory: number("WARPGRIND_MEMORY").unwrap_or(h200.global_memory),
                ..h200
            };
            let plain = RunOptions {
                jobs: number("WARPGRIND_JOBS").unwrap_or(0),
                seed: number("WARPGRIND_SEED").unwrap_or(0),
                timeout: number("WARPGRIND_TIMEOUT_MS").map(Duration::from_millis),
                interrupt: Some(crate::signals::ASKED.clone()),
                ..RunOptions::default()
            };
            if let Some(bytes) = number("WARPGRIND_HOST_MEMORY") {
                sim_core::limit_host_memory(bytes);
            }
            let stats = is_set("WARPGRIND_STATS");
            let checked = RunOptions {
                initcheck: tool("initcheck"),
                synccheck: tool("synccheck"),
                watcher: tool("racecheck").then(racecheck::watcher),
                count_memory: stats,
                ..plain.clone()
            };
            let pick = Pick {
                filter: variable("WARPGRIND_FILTER"),
                skip: number("WARPGRIND_LAUNCH_SKIP").unwrap_or(0),
                count: number("WARPGRIND_LAUNCH_COUNT"),
            };
            Settings {
                device,
                devices: number("WARPGRIND_DEVICES").unwrap_or(1).min(64),
                plain,
                checked,
                pick,
                record: is_set("WARPGRIND_RECORD"),
                stats,
                color: match std::env::var("WARPGRIND_COLOR").as_deref() {
                    Ok("always") => Color::Always,
                    Ok("never") => Color::Never,
                    _ => Color::Auto,
                },
                session: path("WARPGRIND_SESSION"),
                save: path("WARPGRIND_SAVE_LAUNCHES"),
            }
        })
    }
}
