//! Nsight Compute, where the user has it and a device: what the device counts of a program's launches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sim_core::tools::counter_names;
use thiserror::Error;

use super::assemble::candidates;
use super::csv::{self, Launched};
use super::limit::Limit;
use super::{machine, time};

/// Why a device's numbers could not be read.
#[derive(Error, Debug)]
pub enum RecordError {
    /// No profiler was found.
    #[error("ncu is not found")]
    Missing,
    /// It could not be run, or what it wrote could not be read.
    #[error("cannot run {path}: {error}")]
    Run {
        /// What was to be run.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It wrote no launch.
    #[error("{path} counted no launch: {message}")]
    Nothing {
        /// The profiler.
        path: PathBuf,
        /// What it says.
        message: String,
    },
}

/// Which launches are read.
#[derive(Clone, Default, Debug)]
pub struct Pick {
    /// What the kernels' names contain, as CUDA writes them.
    pub kernel: Option<String>,
    /// How many of those are passed over.
    pub skip: Option<u64>,
    /// How many are taken.
    pub count: Option<u64>,
    /// Whether the program is ended behind the last one.
    pub kill: bool,
}

/// What Nsight Compute made of a program.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its raw page, as it wrote it.
    pub page: String,
    /// The launches of the page.
    pub launches: Vec<Launched>,
}

/// Nsight Compute's command `ncu`.
#[derive(Clone, Debug)]
pub struct Profiler {
    path: PathBuf,
}

impl Profiler {
    /// The one that is named, or that of `CUDA_HOME`, `CUDA_PATH`, `PATH`, or of the system's toolkit.
    ///
    /// # Errors
    /// There is none.
    pub fn find(named: Option<&Path>) -> Result<Self, RecordError> {
        let path = match named {
            Some(path) => Some(path.to_owned()),
            None => candidates("ncu").into_iter().find(|path| path.is_file()),
        };
        Ok(Self { path: path.ok_or(RecordError::Missing)? })
    }

    /// Runs a program on the machine's device and reads these numbers of its launches, with the clocks as they are and caches
    /// that are empty when a launch begins. What the program prints goes to the standard error output.
    ///
    /// # Errors
    /// The profiler cannot be run, or counted no launch: there is no device, it may not be read, or the program launched
    /// nothing that is picked.
    pub fn record(
        &self,
        program: &[OsString],
        names: &[String],
        pick: &Pick,
        limit: &Limit,
    ) -> Result<Recorded, RecordError> {
        let failed = |error| RecordError::Run { path: self.path.clone(), error };
        // Apart from what the program prints.
        let log = tempfile::Builder::new().prefix("warpgrind-").suffix(".csv").tempfile().map_err(failed)?;
        let mut command = Command::new(&self.path);
        command.args(["--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw"]);
        command.args(["--section", "LaunchStats", "--section", "Occupancy", "--section", SOURCES]);
        command.arg("--force-overwrite").arg("--log-file").arg(log.path());
        let single: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| !is_of_sources(name)).collect();
        if !single.is_empty() {
            command.arg("--metrics").arg(single.join(","));
        }
        if let Some(kernel) = &pick.kernel {
            command.args(["--kernel-name-base", "demangled", "--kernel-name"]);
            command.arg(format!("regex:.*{}.*", escaped(kernel)));
        }
        for (option, count) in [("--launch-skip", pick.skip), ("--launch-count", pick.count)] {
            if let Some(count) = count {
                command.arg(option).arg(count.to_string());
            }
        }
        if pick.kill {
            command.args(["--kill", "yes"]);
        }
        command.args(program).stdin(Stdio::null()).stdout(std::io::stderr());
        let mut child = command.spawn().map_err(failed)?;
        let status = limit.wait(&mut child).map_err(failed)?;
        let page = String::from_utf8_lossy(&std::fs::read(log.path()).map_err(failed)?).into_owned();
        let launches = csv::read(&page).unwrap_or_default();
        if launches.is_empty() {
            let message = complaint(&page).unwrap_or_else(|| format!("it ended with {status}"));
            return Err(RecordError::Nothing { path: self.path.clone(), message });
        }
        Ok(Recorded { page, launches })
    }
}

/// The numbers that are said here and that a device has, too, by name.
pub fn names() -> Vec<String> {
    let counted = counter_names().map(|name| name.into_owned());
    let executed = machine::metrics::names().map(str::to_owned);
    let mut names: Vec<String> =
        counted.chain(executed).chain(time::names()).filter(|name| has(name)).collect();
    names.sort();
    names.dedup();
    names
}

/// The section that has what is derived from the lines of a kernel.
const SOURCES: &str = "SourceCounters";

/// Whether a number comes with that section, and is not known to the profiler without it.
fn is_of_sources(name: &str) -> bool {
    name.starts_with("derived__") || name.starts_with("memory_")
}

/// Whether a device has a number of this name.
pub fn has(name: &str) -> bool {
    !name.starts_with("ptx__")
}

/// A text as a regular expression that only it matches.
fn escaped(text: &str) -> String {
    let escape = |letter: char| (!letter.is_alphanumeric() && letter != '_').then_some('\\');
    text.chars().flat_map(|letter| escape(letter).into_iter().chain([letter])).collect()
}

/// What the profiler says went wrong: its first error, or else its last warning.
fn complaint(page: &str) -> Option<String> {
    let said = |mark: &'static str| page.lines().filter_map(move |line| line.strip_prefix(mark));
    let text = said("==ERROR==").next().or(said("==WARNING==").next_back())?;
    Some(text.trim().trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that the profiler does not know costs the whole recording.
    #[test]
    fn numbers_of_a_device_are_known_to_it() {
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");
        let mut known = std::collections::BTreeSet::new();
        for folder in ["counters/recordings", "timing/recordings"] {
            for entry in std::fs::read_dir(testdata.join(folder)).unwrap() {
                let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
                known.extend(text.lines().next().unwrap_or("").split(',').map(str::to_owned));
            }
        }
        // In its own lists of names, though no reading of them is kept.
        let listed = [
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "gpu__time_duration.sum",
            "l1tex__t_requests_pipe_tex.sum",
            "sm__cycles_active.max",
            "sm__cycles_active.min",
            "sm__inst_executed.max",
            "sm__inst_executed.min",
            "sm__inst_issued.avg.per_cycle_active",
            "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
            "smsp__inst_executed.max",
            "smsp__inst_executed.min",
            "smsp__issue_active.sum",
        ];
        known.extend(listed.map(str::to_owned));
        let unknown: Vec<String> = names().into_iter().filter(|name| !known.contains(name)).collect();
        assert_eq!(unknown, [""; 0]);
    }

    #[test]
    fn names_are_no_expressions() {
        assert_eq!(escaped("f<int, 3>(x*)"), "f\\<int\\,\\ 3\\>\\(x\\*\\)");
    }

    #[test]
    fn errors_come_before_warnings() {
        let page = "==PROF== Connected\n==WARNING== No kernels were profiled.\n==ERROR== No device.\n";
        assert_eq!(complaint(page).unwrap(), "No device");
        assert_eq!(complaint("==WARNING== a.\n==WARNING== b.\n").unwrap(), "b");
        assert_eq!(complaint("nothing"), None);
    }
}
