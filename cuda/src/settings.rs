//! Settings from the environment, which `warpgrind exec` sets.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use protocol::Color;
use reports::triage::Policy;
use sim_core::{AsyncPolicy, DeviceConfig, Engine, RunOptions};
use tools::Tool;

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
    /// Bytes that they may take.
    pub save_most: Option<u64>,
    /// Where it is noted what devices are to do.
    pub operations: Option<PathBuf>,
    /// Where each of those waits for whoever debugs it.
    pub hold: Option<PathBuf>,
    /// Which findings are expected, and whether a suppression is printed for each that is not.
    pub policy: Policy,
    pub print_suppressions: bool,
}

/// Which launches are checked further.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pick {
    /// Part of the kernel's name.
    pub filter: Option<String>,
    /// Of those that fit, how many are passed over, and how many are taken then.
    pub skip: u64,
    pub count: Option<u64>,
    /// Whether the program ends with them.
    pub kill: bool,
}

impl Settings {
    /// Those of this process, read once.
    pub(crate) fn of_process() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let told = protocol::Settings::read(
                |name| std::env::var_os(name),
                |name, text| {
                    eprintln!("warpgrind: {name}={} means nothing and counts for nothing", text.display())
                },
            );
            Settings::new(told)
        })
    }

    fn new(told: protocol::Settings) -> Settings {
        let named = told.tools.unwrap_or_default();
        let asked: Vec<Tool> = named.iter().filter_map(|name| Tool::named(name)).collect();
        let tools = tools::factories(&asked);
        let h200 = DeviceConfig::h200();
        let devices = told.devices.unwrap_or(1).min(64) as usize;
        let device = DeviceConfig {
            track_initialization: tools.iter().any(|tool| tool.tracks_initialization()),
            sm: told.sm.unwrap_or(h200.sm),
            multiprocessors: told.multiprocessors.unwrap_or(h200.multiprocessors).max(1),
            global_memory: told.memory.unwrap_or(h200.global_memory),
            multicast: devices > 1,
            ..h200
        };
        let plain = RunOptions {
            jobs: told.jobs.unwrap_or(0),
            seed: told.seed.unwrap_or(0),
            asynchrony: told.asynchrony.as_deref().and_then(AsyncPolicy::named).unwrap_or_default(),
            engine: told.engine.as_deref().and_then(Engine::named).unwrap_or_default(),
            timeout: told.timeout,
            interrupt: Some(crate::signals::ASKED.clone()),
            ..RunOptions::default()
        };
        if let Some(bytes) = told.host_memory {
            sim_core::limit_host_memory(bytes);
        }
        let checked = RunOptions { tools, count_memory: told.stats.is_some(), ..plain.clone() };
        Settings {
            device,
            devices,
            plain,
            checked,
            pick: Pick {
                filter: told.filter,
                skip: told.launch_skip.unwrap_or(0),
                count: told.launch_count,
                kill: told.kill.is_some(),
            },
            record: told.record.is_some(),
            stats: told.stats.is_some(),
            color: told.color.unwrap_or(Color::Auto),
            session: told.session,
            save: told.save_launches,
            save_most: told.save_most,
            operations: told.operations,
            hold: told.hold,
            policy: told.triage.as_deref().and_then(policy).unwrap_or_default(),
            print_suppressions: told.print_suppressions.is_some(),
        }
    }
}

/// What is expected, as the parent wrote it.
fn policy(file: &Path) -> Option<Policy> {
    let policy = std::fs::read_to_string(file).ok().and_then(|text| Policy::from_text(&text));
    if policy.is_none() {
        eprintln!("warpgrind: {} says nothing of what findings are expected; all count", file.display());
    }
    policy
}
