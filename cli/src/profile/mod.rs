//! `warpgrind profile`: what launches cost, by Nsight Compute's names.

mod calibrate;
mod code;
mod html;
mod program;
mod trace;

use std::path::Path;
use std::rc::Rc;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value as Json, json};
use sim_core::{DeviceConfig, LaunchReport, Outcome, RunOptions};
use tools::Tool;
use warpgrind::profile::assemble::AssembleError;
use warpgrind::profile::csv::{self, Launched};
use warpgrind::profile::kernels::{Executed, Kernels, Measured, Noted, Timing, Toolchain};
use warpgrind::profile::limit::Limit;
use warpgrind::profile::machine;
use warpgrind::profile::ncu::{self, Pick, Profiler, RecordError};
use warpgrind::profile::time::{self, Chip, Untimed};
use warpgrind::profile::{Profile, Section, number, rollup};
use warpgrind::run::Placed;
use warpgrind::{Module, Options, Plan};

use crate::args::{Global, ProfileArgs};
use crate::exit::{Exit, Failure, quoted_list};
use crate::files::{can_replace, replace};
use crate::interrupt::Interrupt;
use crate::progress;
use crate::report::{Console, SCHEMA};
use crate::run::{exit_of, read_launch_file};
use code::Said;
use program::Saved;

/// A launch, and what is said of it.
struct Launch {
    measured: Measured,
    report: LaunchReport,
    /// Which of the modules it is of.
    module: usize,
}

/// What all launches of the command gave.
struct Session<'a> {
    args: &'a ProfileArgs,
    console: &'a Console,
    toolchain: Toolchain,
    modules: Vec<Module>,
    /// What is known of the kernels of each of them.
    kernels: Vec<Rc<Kernels>>,
    launches: Vec<Launch>,
    /// Kernels that were launched and not asked for.
    others: Vec<String>,
}

pub(crate) fn profile(args: &ProfileArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    if let Some(file) = &args.calibrate {
        return calibrate::calibrate(file, args, console);
    }
    let interrupt = Interrupt::watch()?;
    let limit = Limit::of(&interrupt.any);
    for file in [&args.record, &args.trace, &args.report] {
        file.as_deref().map(can_replace).transpose()?;
    }
    let imported = match (&args.import, &args.record) {
        (Some(page), _) => Some(import(page)?),
        (None, Some(page)) => Some(record(page, args, &limit)?),
        (None, None) => None,
    };
    let mut toolchain =
        Toolchain::find(args.ptxas.as_deref(), args.nvdisasm.as_deref()).map_err(tool_failed)?;
    toolchain.assembler.as_mut().into_iter().for_each(|assembler| assembler.limit = limit.clone());
    if toolchain.assembler.is_none() && args.nvdisasm.is_some() {
        return Err(Failure::usage("`--nvdisasm` needs an assembler too").help("`--ptxas` names one"));
    }
    let (modules, kernels, launches, others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut session = Session { args, console, toolchain, modules, kernels, launches, others };
    let folder;
    let mut exit = Exit::Clean;
    let files = match (&args.file, &args.program[..]) {
        (Some(file), []) => vec![file.clone()],
        (None, [_, ..]) => {
            folder = Saved::make()?;
            let ran = folder.run(args, global, console, &interrupt)?;
            if let Some(interrupted) = interrupt.exit() {
                return Ok(interrupted);
            }
            let Some(ran) = ran else { return Ok(Exit::Usage) };
            exit = ran.exit;
            ran.files
        }
        _ => return Err(Failure::usage("name a launch file, or a program behind `--`")),
    };
    for file in &files {
        let done = session.file(file, global, &interrupt);
        // What was ended went wrong for that alone.
        if let Some(interrupted) = interrupt.exit() {
            return Ok(interrupted);
        }
        exit = exit.max(done?);
    }
    session.check_kernels()?;
    session.check_names()?;
    session.show(exit, imported.as_deref())?;
    session.trace()?;
    session.report(exit)?;
    Ok(exit)
}

/// The file of a chip: of one that is known by name, or what stands in a file.
fn chip_text(chip: &Path) -> Result<String, Failure> {
    if let Some(known) = chip.to_str().and_then(Chip::known) {
        return Ok(known.to_owned());
    }
    std::fs::read_to_string(chip).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", chip.display()))
            .help("chips that need no file are h200 and h100")
    })
}

fn tool_failed(error: AssembleError) -> Failure {
    let help = match &error {
        AssembleError::Disassembly { .. } => "`--nvdisasm` names the disassembler of the assembler's release",
        _ => "`--ptxas` names the assembler of a CUDA toolkit",
    };
    Failure::usage(error.to_string()).help(help)
}

/// The launches of a raw page.
fn import(path: &Path) -> Result<Vec<Launched>, Failure> {
    let read = std::fs::read(path);
    let bytes = read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let launches = csv::read(&String::from_utf8_lossy(&bytes));
    launches.map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))
}

/// The launches of the program on this machine's device; their raw page is kept.
fn record(page: &Path, args: &ProfileArgs, limit: &Limit) -> Result<Vec<Launched>, Failure> {
    let names = match &args.metrics[..] {
        [] => ncu::names(),
        asked => asked.iter().filter(|name| ncu::has(name)).cloned().collect(),
    };
    if names.is_empty() {
        return Err(Failure::usage("a device has none of the numbers that `--metrics` names"));
    }
    let (kernel, skip, count) = (args.kernel.clone(), args.launch_skip, args.launch_count);
    let pick = Pick { kernel, skip, count, kill: args.kill };
    let recorded = Profiler::find(args.ncu.as_deref())
        .and_then(|profiler| profiler.record(&args.program, &names, &pick, limit))
        .map_err(|error| {
            let help = match &error {
                RecordError::Nothing { .. } => "`warpgrind devices` says whether there is a device",
                _ => "`--ncu` names Nsight Compute's command; without a device, `--import` reads a page of another machine",
            };
            Failure::new(Exit::NoDevice, error.to_string()).help(help)
        })?;
    replace(page, recorded.page.as_bytes())?;
    Ok(recorded.launches)
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
        let kernels = self.kernels_of(&module)?;
        let at = self.modules.len();
        let exit = self.launches(&plan, &module, &options, &kernels, interrupt, at)?;
        self.modules.push(module);
        self.kernels.push(kernels);
        Ok(exit)
    }

    /// What is known of a module's kernels. Launches of a program are files with the same text again and again, which need be
    /// assembled only once.
    fn kernels_of(&self, module: &Module) -> Result<Rc<Kernels>, Failure> {
        let texts =
            |of: &Module| of.checked().sources.iter().map(|source| source.text.clone()).collect::<Vec<_>>();
        let own = texts(module);
        let same = self.modules.iter().rposition(|known| texts(known) == own);
        match same.and_then(|at| self.kernels.get(at)) {
            Some(known) => Ok(Rc::clone(known)),
            None => self.toolchain.kernels(module).map(Rc::new).map_err(tool_failed),
        }
    }

    fn launches(
        &mut self,
        plan: &Plan,
        module: &Module,
        options: &Options,
        kernels: &Kernels,
        interrupt: &Interrupt,
        at: usize,
    ) -> Result<Exit, Failure> {
        let mut noted = Noted::new(self.timing()?);
        let limit = Limit::of(&interrupt.any);
        let mut run = RunOptions { interrupt: Some(interrupt.any.clone()), ..options.run_options() };
        run.tools.extend(kernels.watch(&noted));
        let run = kernels.schedule(run);
        let backend = options.simulator();
        let placed = Placed::new(plan, module, &backend)?;
        let mut exit = Exit::Clean;
        let wanted = |name: &str| {
            let kernel = self.args.kernel.as_deref();
            kernel.is_none_or(|part| name.contains(part) || reports::readable(name).contains(part))
        };
        let mut launches = Vec::new();
        for (number, launch) in placed.launches().iter().enumerate() {
            let what = format!("{}: grid {}, block {}", launch.kernel, launch.grid, launch.block);
            noted.limit = limit.within(self.args.timeout);
            let report =
                progress::during(self.console.is_human(), what.clone(), || placed.launch(number, &run))?;
            exit = exit.max(exit_of(&report));
            let completed = report.outcome == Outcome::Completed;
            if wanted(&launch.kernel) {
                let is_first = number == 0 && at == 0 && self.begins_with_the_first();
                let mut measured = progress::during(self.console.is_human(), what, || {
                    kernels.measured(module, launch, (&report, is_first), &noted)
                });
                // What is not known because time is up is as if the launch had not come to its end.
                if completed && matches!(measured.timed, Err(Untimed::Ended)) {
                    exit = exit.max(Exit::Faulted);
                }
                self.complete(&mut measured.profile);
                launches.push(Launch { measured, report, module: at });
            } else {
                self.others.push(reports::readable(&launch.kernel).into_owned());
            }
            if !completed {
                break;
            }
        }
        self.launches.extend(launches);
        Ok(exit)
    }

    /// Whether the first launch that is run here is the first of its process.
    fn begins_with_the_first(&self) -> bool {
        let all = self.args.kernel.is_none() && self.args.launch_skip.is_none_or(|skip| skip == 0);
        all || self.args.program.is_empty()
    }

    /// Adds numbers that are asked for in another form than that in which they are counted.
    fn complete(&self, profile: &mut Profile) {
        let form = |name: &String| Some((name.clone(), rollup::value(profile, &DeviceConfig::h200(), name)?));
        let asked: Vec<(String, f64)> = self.args.metrics.iter().filter_map(form).collect();
        profile.add(&asked);
    }

    /// On what launches are timed, if they are.
    fn timing(&self) -> Result<Option<Timing>, Failure> {
        if self.args.no_time {
            return Ok(None);
        }
        let path = &self.args.chip;
        let chip = Chip::from_toml(&chip_text(path)?)
            .map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))?;
        Ok(Some(Timing { chip, blocks: self.args.sample.max(1) }))
    }

    /// Writes the timeline that is asked for.
    fn trace(&self) -> Result<(), Failure> {
        let (Some(path), Some(timing)) = (&self.args.trace, self.timing()?) else { return Ok(()) };
        let timed = self.launches.iter().filter_map(|launch| {
            let kernel = reports::readable(&launch.measured.profile.kernel).into_owned();
            Some((kernel, launch.measured.timed.as_ref().ok()?))
        });
        let events = trace::events(&timing.chip, timed);
        replace(path, events.to_string().as_bytes())
    }

    /// Writes the page that is asked for.
    fn report(&self, exit: Exit) -> Result<(), Failure> {
        let Some(path) = &self.args.report else { return Ok(()) };
        let chip = self.timing()?.map_or_else(Chip::h200, |timing| timing.chip);
        let texts = self.launches.iter().map(|launch| {
            let module = self.modules[launch.module].checked();
            (launch, code::text_of(module, &launch.measured.profile.kernel))
        });
        replace(path, html::page(&chip, &texts.collect::<Vec<_>>(), exit.code()).as_bytes())
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

    /// Says which of the numbers that are asked for no launch has, and refuses to go on if that is all of them.
    fn check_names(&self) -> Result<(), Failure> {
        let has =
            |name: &&String| self.launches.iter().any(|launch| launch.measured.profile.value(name).is_some());
        let (known, unknown): (Vec<&String>, Vec<&String>) = self.args.metrics.iter().partition(has);
        let Some(name) = unknown.first() else { return Ok(()) };
        if !known.is_empty() {
            let list = quoted_list(&unknown);
            self.console.err(format!(
                "warpgrind: of these launches it is not known: {list}; cli/PROFILE.md lists what is\n"
            ));
            return Ok(());
        }
        if machine::metrics::names().any(|known| known == *name) {
            return Err(self.without_machine_code(name));
        }
        let untimed = self.launches.iter().find_map(|launch| launch.measured.timed.as_ref().err());
        if let Some(why) = untimed.filter(|_| time::names().contains(*name)) {
            return Err(Failure::usage(format!("`{name}` is not known of these launches, as {why}")));
        }
        let failure = Failure::usage(format!("there is no metric `{name}`"));
        Err(failure.suggest(name, self.known()).help("cli/PROFILE.md lists them"))
    }

    /// Why a number of machine instructions is not known.
    fn without_machine_code(&self, name: &str) -> Failure {
        if self.toolchain.disassembler.is_none() {
            return Failure::usage(format!(
                "`{name}` counts machine instructions, and there is no machine code"
            ))
            .help("ptxas and nvdisasm are looked for in CUDA_HOME, PATH and NVIDIA's Python packages");
        }
        Failure::usage(format!("`{name}` is not known of these launches"))
            .help("it depends on values that the PTX does not say, or their way through the machine code was not found")
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        self.launches
            .iter()
            .flat_map(|launch| launch.measured.profile.values.iter().map(|value| &*value.name))
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
            let profiles: Vec<Profile> =
                self.launches.iter().map(|launch| launch.measured.profile.clone()).collect();
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
            let name = plain(&launch.measured.profile.kernel);
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
    fn text(&self, launch: &Launch, beside: Option<&Launched>, imported: bool) -> String {
        let Profile { kernel, grid, block, values } = &launch.measured.profile;
        let mut text = format!("{}: grid {grid}, block {block}\n", reports::readable(kernel));
        let how = match (&self.toolchain.assembler, launch.measured.estimated) {
            (Some(assembler), false) => format!("ptxas {}", assembler.version),
            _ => "an estimate, since ptxas is not found".into(),
        };
        text += &format!("  registers and shared memory: {how}\n");
        let how = code::how(launch.measured.executed.as_ref(), launch.report.outcome);
        text += &format!("  machine instructions: {how}\n");
        if launch.measured.spun > 0 {
            text += &format!(
                "  waiting: {} turns of loops in which threads wait for others are left out\n",
                launch.measured.spun
            );
        }
        match &launch.measured.timed {
            Ok(timed) => {
                text += &format!("  time: {}\n", code::timed_how(timed, launch.measured.executed.is_some()))
            }
            Err(Untimed::NotAsked) => {}
            Err(_) if launch.report.outcome != Outcome::Completed => {}
            Err(why) => text += &format!("  time: not known, as {why}\n"),
        }
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
        if let Some(executed) = launch.measured.executed.as_ref().filter(|executed| executed.is_known()) {
            let all = self.args.section.is_empty() && self.args.metrics.is_empty();
            if all || self.has(Section::Instructions) {
                text += &executed.opcodes();
            }
            if self.has(Section::Code) {
                text += &executed.source(
                    self.modules[launch.module].checked(),
                    kernel,
                    launch.measured.timed.as_ref().ok(),
                );
            }
        }
        text
    }

    fn document(&self, exit: Exit, beside: Option<&[Option<&Launched>]>) -> Json {
        let launches = self.launches.iter().enumerate().map(|(at, launch)| {
            let Profile { kernel, grid, block, values } = &launch.measured.profile;
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
                "resources_estimated": launch.measured.estimated,
                "timed": match &launch.measured.timed {
                    Ok(timed) => json!({
                        "blocks": timed.blocks.0, "of": timed.blocks.1, "sampling_error": timed.sampling,
                        "machine_code_estimated": timed.lowered,
                    }),
                    Err(why) => json!({ "not_known": why.to_string() }),
                },
                "turns_of_waiting_left_out": launch.measured.spun,
                "machine_code": launch.measured.executed.as_ref().map(Executed::json),
                "metrics": numbers,
                "imported": theirs,
            })
        });
        json!({
            "schema": SCHEMA,
            "command": "profile",
            "exit_code": exit.code(),
            "ptxas": self.toolchain.assembler.as_ref().map(|assembler| &assembler.version),
            "nvdisasm": self.toolchain.disassembler.is_some(),
            "launches": launches.collect::<Vec<_>>(),
        })
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
