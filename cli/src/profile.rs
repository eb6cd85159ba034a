//! `warpgrind profile`: what launches cost, by Nsight Compute's names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use comfy_table::{CellAlignment, Table, presets};
use reports::plural;
use serde_json::{Value as Json, json};
use sim_core::{DeviceConfig, LaunchReport, Outcome, RunOptions};
use tools::Tool;
use warpgrind::profile::assemble::{AssembleError, Assembler, Resources};
use warpgrind::profile::csv::{self, Launched};
use warpgrind::profile::{Profile, Section, number};
use warpgrind::run::Placed;
use warpgrind::{Module, Options, Plan};

use crate::args::{Global, ProfileArgs};
use crate::exit::{Exit, Failure, quoted_list};
use crate::interrupt::Interrupt;
use crate::report::{Console, SCHEMA};
use crate::run::{exit_of, read_launch_file};

/// A launch, and what is said of it.
struct Measured {
    profile: Profile,
    report: LaunchReport,
    /// Whether the registers are an estimate of ours.
    estimated: bool,
    /// Which of the modules it is of.
    module: usize,
}

/// What all launches of the command gave.
struct Session<'a> {
    args: &'a ProfileArgs,
    console: &'a Console,
    assembler: Option<Assembler>,
    modules: Vec<Module>,
    launches: Vec<Measured>,
    /// Kernels that were launched and not asked for.
    others: Vec<String>,
}

pub(crate) fn profile(args: &ProfileArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let interrupt = Interrupt::watch()?;
    let imported = args.import.as_deref().map(import).transpose()?;
    let assembler = match Assembler::find(args.ptxas.as_deref()) {
        Err(AssembleError::Missing) => None,
        found => Some(found.map_err(tool_failed)?),
    };
    let mut session =
        Session { args, console, assembler, modules: Vec::new(), launches: Vec::new(), others: Vec::new() };
    let folder;
    let mut exit = Exit::Clean;
    let files = match (&args.file, &args.program[..]) {
        (Some(file), []) => vec![file.clone()],
        (None, [_, ..]) => {
            folder = Saved::make()?;
            let Some(ran) = folder.run(args, global, console)? else { return Ok(Exit::Usage) };
            exit = ran.exit;
            ran.files
        }
        _ => return Err(Failure::usage("name a launch file, or a program behind `--`")),
    };
    for file in &files {
        exit = exit.max(session.file(file, global, &interrupt)?);
        if let Some(interrupted) = interrupt.exit() {
            return Ok(interrupted);
        }
    }
    session.check_kernels()?;
    session.check_names()?;
    session.show(exit, imported.as_deref())?;
    Ok(exit)
}

fn tool_failed(error: AssembleError) -> Failure {
    Failure::usage(error.to_string()).help("`--ptxas` names the assembler of a CUDA toolkit")
}

/// The launches of a raw page.
fn import(path: &Path) -> Result<Vec<Launched>, Failure> {
    let read = std::fs::read(path);
    let bytes = read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let launches = csv::read(&String::from_utf8_lossy(&bytes));
    launches.map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))
}

/// Launches of a program, as launch files in a folder that goes with this.
struct Saved(PathBuf);

impl Saved {
    fn make() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("warpgrind-profile-{}", std::process::id()));
        let made = std::fs::create_dir_all(&path);
        made.map_err(|error| Failure::usage(format!("cannot make {}: {error}", path.display())))?;
        Ok(Self(path))
    }

    /// Runs the program as `exec` does; nothing if it could not be started, which was said.
    fn run(&self, args: &ProfileArgs, global: &Global, console: &Console) -> Result<Option<Ran>, Failure> {
        let problem = |error: std::io::Error| Failure::usage(format!("cannot run the program: {error}"));
        let launches = self.0.join("launches");
        let summary = self.0.join("exec.json");
        let mut command = Command::new(std::env::current_exe().map_err(problem)?);
        command.arg("exec").arg("--save-launches").arg(&launches).arg("--json").arg(&summary);
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                command.arg(name).arg(value);
            }
        };
        option("--filter", args.kernel.clone());
        option("--launch-skip", args.launch_skip.map(|count| count.to_string()));
        option("--launch-count", args.launch_count.map(|count| count.to_string()));
        option("--timeout", args.timeout.map(|time| format!("{}ms", time.as_millis().max(1))));
        option("--jobs", (global.jobs != 0).then(|| global.jobs.to_string()));
        // What the program prints is its own, and does not stand between the numbers.
        command.arg("--").args(&args.program).stdout(std::io::stderr());
        let status = command.status().map_err(problem)?;
        // It is written when the program has ended, however that was.
        let Some(summary) = std::fs::read(&summary).ok().and_then(|text| serde_json::from_slice(&text).ok())
        else {
            return Ok(None);
        };
        let mut files = Vec::new();
        if launches.is_dir() {
            launch_files(&launches, &mut files).map_err(problem)?;
            files.sort();
        }
        if files.is_empty() {
            return Err(none_launched(&summary, args));
        }
        if status.success() {
            return Ok(Some(Ran { files, exit: Exit::Clean }));
        }
        console
            .err(format!("warpgrind: the program ended with {status}; what it launched before is shown\n"));
        Ok(Some(Ran { files, exit: Exit::Faulted }))
    }
}

/// A program that ended.
struct Ran {
    /// Its launches.
    files: Vec<PathBuf>,
    /// Whether it ended well.
    exit: Exit,
}

/// Why there is nothing to show of a program.
fn none_launched(summary: &Json, args: &ProfileArgs) -> Failure {
    let count = |name: &str| summary["counts"][name].as_u64().unwrap_or(0);
    match (count("processes"), count("launches")) {
        (0, _) => Failure::usage("the program used no CUDA device, so there is nothing to measure")
            .help("a program that has CUDA's runtime in it uses the device once `libcuda.so.1` is asked for"),
        (_, 0) => Failure::usage("the program launched no kernel"),
        (_, launched) => {
            let launched = plural(launched, "kernel");
            let message = match &args.kernel {
                Some(name) => {
                    format!("the program launched {launched}, none of which was picked by `{name}`")
                }
                None => format!("the program launched {launched}, and all were passed over"),
            };
            Failure::usage(message).help("--kernel, --launch-skip and --launch-count say which are picked")
        }
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        // What cannot be taken away stays in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn launch_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            launch_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

impl Session<'_> {
    /// Runs the launches of a file.
    fn file(&mut self, file: &Path, global: &Global, interrupt: &Interrupt) -> Result<Exit, Failure> {
        let console = self.console;
        let (plan, module) = read_launch_file(file, &mut |diagnostic, source, elsewhere| {
            console.diagnostic(diagnostic, source, elsewhere);
        })?;
        let options = Options {
            tools: vec![Tool::Counters],
            jobs: global.jobs,
            max_instructions: self.args.max_instructions,
            timeout: self.args.timeout,
            ..Options::default()
        };
        let resources = self.resources(&module)?;
        let at = self.modules.len();
        let exit = self.launches(&plan, &module, &options, &resources, interrupt, at)?;
        self.modules.push(module);
        Ok(exit)
    }

    fn launches(
        &mut self,
        plan: &Plan,
        module: &Module,
        options: &Options,
        resources: &BTreeMap<String, (Resources, bool)>,
        interrupt: &Interrupt,
        at: usize,
    ) -> Result<Exit, Failure> {
        let run = RunOptions { interrupt: Some(interrupt.any.clone()), ..options.run_options() };
        let backend = options.simulator();
        let placed = Placed::new(plan, module, &backend)?;
        let device = DeviceConfig::h200();
        let mut exit = Exit::Clean;
        let wanted = |name: &str| {
            let kernel = self.args.kernel.as_deref();
            kernel.is_none_or(|part| name.contains(part) || reports::readable(name).contains(part))
        };
        let mut measured = Vec::new();
        for (number, launch) in placed.launches().iter().enumerate() {
            let report = placed.launch(number, &run)?;
            exit = exit.max(exit_of(&report));
            let completed = report.outcome == Outcome::Completed;
            if wanted(&launch.kernel) {
                let (of, estimated) = resources.get(&*launch.kernel).copied().unwrap_or_default();
                let of = if estimated { Resources { stack: u32::MAX, ..of } } else { of };
                let profile = Profile::new(&device, launch, &of, report.metrics.first());
                measured.push(Measured { profile, report, estimated, module: at });
            } else {
                self.others.push(reports::readable(&launch.kernel).into_owned());
            }
            if !completed {
                break;
            }
        }
        self.launches.extend(measured);
        Ok(exit)
    }

    /// What the kernels take: as the assembler says, or estimated.
    fn resources(&self, module: &Module) -> Result<BTreeMap<String, (Resources, bool)>, Failure> {
        let mut known = BTreeMap::new();
        let target = machine_target(module);
        if let Some(assembler) = &self.assembler {
            for source in &module.checked().sources {
                let kernels = assembler.resources(source.text.as_bytes(), target).map_err(tool_failed)?;
                known.extend(kernels.into_iter().map(|(name, resources)| (name, (resources, false))));
            }
        }
        for info in sim_core::inspect(module.checked()) {
            let shared = u32::try_from(info.shared_bytes).unwrap_or(u32::MAX);
            let declared = u32::try_from(info.local_bytes).unwrap_or(u32::MAX);
            let guess = Resources { registers: info.registers, shared, ..Resources::default() };
            // Estimates say nothing of local memory.
            known.entry(info.name.to_string()).or_insert((guess, true)).0.declared = declared;
        }
        Ok(known)
    }

    /// Refuses a name that no kernel has.
    fn check_kernels(&self) -> Result<(), Failure> {
        match &self.args.kernel {
            Some(name) if self.launches.is_empty() => {
                Err(Failure::usage(format!("no kernel that was launched has `{name}` in its name"))
                    .suggest(name, self.others.iter().map(String::as_str)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses names of numbers that no launch has.
    fn check_names(&self) -> Result<(), Failure> {
        for name in &self.args.metrics {
            if !self.launches.iter().any(|launch| launch.profile.value(name).is_some()) {
                let known: Vec<&str> = self.known().collect();
                let failure = Failure::usage(format!("there is no metric `{name}`"));
                return Err(failure.suggest(name, known).help("cli/PROFILE.md lists them"));
            }
        }
        Ok(())
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        self.launches.iter().flat_map(|launch| launch.profile.values.iter().map(|value| &*value.name))
    }

    /// Whether a number was asked for.
    fn wants(&self, name: &str) -> bool {
        if !self.args.metrics.is_empty() {
            return self.args.metrics.iter().any(|metric| metric == name);
        }
        self.args.section.is_empty() || self.has(Section::of(name))
    }

    fn has(&self, section: Section) -> bool {
        self.args
            .section
            .iter()
            .any(|name| Section::ALL.iter().any(|(known, text)| *known == section && *text == name.as_str()))
    }

    fn show(&self, exit: Exit, imported: Option<&[Launched]>) -> Result<(), Failure> {
        let beside = imported.map(|imported| self.beside(imported)).transpose()?;
        if !self.console.is_human() {
            self.console.json(&self.document(exit, beside.as_deref()));
            return Ok(());
        }
        if self.args.csv {
            let profiles: Vec<Profile> = self.launches.iter().map(|launch| launch.profile.clone()).collect();
            self.console.out(csv::write("warpgrind", &profiles, |name| self.wants(name)));
            return Ok(());
        }
        for (at, launch) in self.launches.iter().enumerate() {
            self.console.out(self.text(
                launch,
                beside.as_ref().and_then(|beside| beside[at]),
                beside.is_some(),
            ));
        }
        Ok(())
    }

    /// The imported launch of each of ours: that of the same kernel, in their order.
    fn beside<'a>(&self, imported: &'a [Launched]) -> Result<Vec<Option<&'a Launched>>, Failure> {
        let mut left: Vec<Option<&Launched>> = imported.iter().map(Some).collect();
        let plain = |name: &str| {
            let name = reports::readable(name).into_owned();
            name.split(['(', '<']).next().unwrap_or("").trim().trim_start_matches("void ").to_owned()
        };
        let found = self.launches.iter().map(|launch| {
            let name = plain(&launch.profile.kernel);
            let other = left.iter_mut().find(|other| other.is_some_and(|other| plain(&other.kernel) == name));
            other.and_then(Option::take)
        });
        let found: Vec<Option<&Launched>> = found.collect();
        if found.iter().all(Option::is_none) {
            let mut names: Vec<String> = imported.iter().map(|other| plain(&other.kernel)).collect();
            names.dedup();
            let failure = Failure::usage("the imported page has no launch of the kernels that were measured");
            return Err(match names.is_empty() {
                true => failure.help("it has no launch at all"),
                false => failure.help(format!("it has {}", quoted_list(&names))),
            });
        }
        Ok(found)
    }

    /// A launch as text, beside that of an imported page if it has one.
    fn text(&self, launch: &Measured, beside: Option<&Launched>, imported: bool) -> String {
        let Profile { kernel, grid, block, values } = &launch.profile;
        let mut text = format!("{}: grid {grid}, block {block}\n", reports::readable(kernel));
        let how = match (&self.assembler, launch.estimated) {
            (Some(assembler), false) => format!("ptxas {}", assembler.version),
            _ => "an estimate, since ptxas is not found".into(),
        };
        text += &format!("  registers and shared memory: {how}\n");
        if launch.report.outcome != Outcome::Completed {
            let how = reports::outcome_name(launch.report.outcome);
            text += &format!("  it did not complete ({how}): `warpgrind run` says why\n");
        }
        if imported && beside.is_none() {
            text += "  the imported page has no such launch, or no more of them\n";
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for value in values.iter().filter(|value| self.wants(&value.name)) {
            let theirs = beside.map(|launched| {
                launched.values.iter().find(|(name, _)| *name == value.name).map(|(_, theirs)| *theirs)
            });
            let asked = !self.args.metrics.is_empty();
            match theirs {
                Some(None) => continue,
                None if value.value == 0.0 && !asked => continue,
                _ => {}
            }
            let name = format!("  {}", value.name);
            match theirs.flatten() {
                Some(theirs) => {
                    table.add_row([name, value.text(), number(theirs), difference(value.value, theirs)])
                }
                None => table.add_row([name, value.text(), value.unit.to_owned()]),
            };
        }
        for column in 1..=usize::from(beside.is_some()) + 1 {
            if let Some(column) = table.column_mut(column).filter(|_| column == 1 || beside.is_some()) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().for_each(|line| text += &format!("{}\n", line.trim_end()));
        let lines = self.args.section.is_empty() && self.args.metrics.is_empty() || self.has(Section::Source);
        if let Some(metrics) = launch.report.metrics.first().filter(|_| lines) {
            let module = self.modules[launch.module].checked();
            text += &reports::metrics::lines(metrics, module);
        }
        text
    }

    fn document(&self, exit: Exit, beside: Option<&[Option<&Launched>]>) -> Json {
        let launches = self.launches.iter().enumerate().map(|(at, launch)| {
            let Profile { kernel, grid, block, values } = &launch.profile;
            let wanted = || values.iter().filter(|value| self.wants(&value.name));
            let numbers: serde_json::Map<String, Json> =
                wanted().map(|value| (value.name.clone(), whole(value.value))).collect();
            let theirs = beside.and_then(|beside| beside[at]).map(|launched| {
                let known = &launched.values;
                let both = wanted().filter_map(|value| {
                    let (_, theirs) = known.iter().find(|(name, _)| *name == value.name)?;
                    Some((value.name.clone(), whole(*theirs)))
                });
                both.collect::<serde_json::Map<String, Json>>()
            });
            json!({
                "kernel": reports::readable(kernel),
                "grid": [grid.x, grid.y, grid.z],
                "block": [block.x, block.y, block.z],
                "outcome": reports::outcome_name(launch.report.outcome),
                "resources_estimated": launch.estimated,
                "metrics": numbers,
                "imported": theirs,
            })
        });
        json!({
            "schema": SCHEMA,
            "command": "profile",
            "exit_code": exit.code(),
            "ptxas": self.assembler.as_ref().map(|assembler| &assembler.version),
            "launches": launches.collect::<Vec<_>>(),
        })
    }
}

/// What ptxas makes for an H200: PTX of older targets runs there, too.
fn machine_target(module: &Module) -> &'static str {
    match module.checked().target.to_string().ends_with("90a") {
        true => "sm_90a",
        false => "sm_90",
    }
}

/// A number as JSON has it: whole ones without a point.
fn whole(value: f64) -> Json {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// How far ours is from theirs.
fn difference(ours: f64, theirs: f64) -> String {
    if number(ours) == number(theirs) {
        "equal".into()
    } else if theirs == 0.0 {
        "not 0".into()
    } else {
        format!("{:+.2} %", 100.0 * (ours - theirs) / theirs)
    }
}
