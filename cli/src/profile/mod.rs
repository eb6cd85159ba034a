//! `warpgrind profile`: what launches cost, by Nsight Compute's names.

mod calibrate;
mod code;
mod html;
mod program;
mod timeline;
mod trace;

use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;

use comfy_table::{CellAlignment, Table, presets};
use protocol::operations::{self, Doing, Id, Note, Submission};
use serde_json::{Value as Json, json};
use sim_core::{DeviceConfig, LaunchReport, LaunchedGrid, Metrics, Outcome, RunOptions};
use tools::Tool;
use warpgrind::profile::assemble::AssembleError;
use warpgrind::profile::csv::{self, Launched};
use warpgrind::profile::kernels::{Executed, Kernels, Measured, Noted, RELEASE, Timing, Toolchain};
use warpgrind::profile::limit::Limit;
use warpgrind::profile::machine;
use warpgrind::profile::ncu::{self, Pick, Profiler, RecordError};
use warpgrind::profile::statements;
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
use trace::{Launches, Shown};

/// A launch, and what is said of it.
struct Launch {
    measured: Measured,
    outcome: Outcome,
    metrics: Vec<Metrics>,
    /// Whether a kernel launched it.
    by_kernel: bool,
    /// Why there is no way through machine code of NVIDIA's assembler, if there is none.
    missing: &'static str,
    /// Which of the modules it is of.
    module: usize,
    /// The operation of a stream that it is.
    operation: Id,
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
    /// What was done in streams; without a program, the launches one behind the other.
    operations: Vec<Note>,
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
    let asking = limit.within(Some(args.timeout.unwrap_or(RELEASE)));
    let toolchain = Toolchain::find(args.ptxas.as_deref(), args.nvdisasm.as_deref(), &asking);
    if let Some(interrupted) = interrupt.exit() {
        return Ok(interrupted);
    }
    let mut toolchain = toolchain.map_err(tool_failed)?;
    toolchain.assembler.as_mut().into_iter().for_each(|assembler| assembler.limit = limit.clone());
    if toolchain.assembler.is_none() && args.nvdisasm.is_some() {
        return Err(Failure::usage("`--nvdisasm` needs an assembler too").help("`--ptxas` names one"));
    }
    let mut session = Session::new(args, console, toolchain);
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
            session.operations = ran.operations;
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
    let text = error.to_string();
    let help = match &error {
        AssembleError::Run { error, .. } if error.kind() == ErrorKind::Interrupted => {
            return Failure::new(Exit::Faulted, text).help("`--timeout` says how long it may take");
        }
        AssembleError::Run { .. } => "`--ptxas` and `--nvdisasm` name the tools of a CUDA toolkit",
        AssembleError::Disassembly { .. } | AssembleError::NoSuchDisassembler(_) => {
            "`--nvdisasm` names the disassembler of the assembler's release"
        }
        _ => "`--ptxas` names the assembler of a CUDA toolkit",
    };
    Failure::usage(text).help(help)
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

impl<'a> Session<'a> {
    fn new(args: &'a ProfileArgs, console: &'a Console, toolchain: Toolchain) -> Self {
        let (modules, kernels, launches) = (Vec::new(), Vec::new(), Vec::new());
        let (others, operations) = (Vec::new(), Vec::new());
        Session { args, console, toolchain, modules, kernels, launches, others, operations }
    }

    /// Runs the launches of a file.
    fn file(&mut self, file: &Path, global: &Global, interrupt: &Interrupt) -> Result<Exit, Failure> {
        let console = self.console;
        let (plan, module) = read_launch_file(file, &mut |diagnostic, source, elsewhere| {
            console.diagnostic(diagnostic, source, elsewhere);
        })?;
        let module = statements::apart(&module).unwrap_or(module);
        let options = Options {
            tools: vec![Tool::Counters],
            jobs: global.jobs,
            max_instructions: self.args.max_instructions,
            timeout: self.args.timeout,
            ..Options::default()
        };
        let kernels = self.kernels_of(&module)?;
        let at = self.modules.len();
        let before = self.launches.len();
        let exit = self.launches(&plan, &module, &options, &kernels, interrupt, at)?;
        self.place_in_streams(before, file);
        self.modules.push(module);
        self.kernels.push(kernels);
        Ok(exit)
    }

    /// Which operations the launches of a file are, from that of a number on. What a kernel launches belongs to its own.
    fn place_in_streams(&mut self, first: usize, file: &Path) {
        let saved = operations::saved(&self.operations);
        let of_program = file.parent().and_then(|folder| saved.get(folder).copied());
        let mut last = first.checked_sub(1).and_then(|at| self.launches.get(at)).map(|of| of.operation);
        for launch in &mut self.launches[first..] {
            launch.operation = match (of_program, last) {
                (Some(known), _) => known,
                (None, Some(last)) if launch.by_kernel => last,
                (None, last) => {
                    let (id, after) = ((0, last.map_or(0, |of| of.1 + 1)), last.map(|of| of.1));
                    let what = Doing::Kernel(launch.measured.profile.kernel.clone());
                    let after = after.into_iter().collect();
                    self.operations.push(Note::Submitted(Submission {
                        id,
                        thread: 0,
                        device: 0,
                        stream: None,
                        blocking: true,
                        in_order: true,
                        after,
                        what,
                    }));
                    id
                }
            };
            last = Some(launch.operation);
        }
    }

    /// What is known of a module's kernels. Launches of a program are files with the same text again and again, which need be
    /// assembled only once.
    fn kernels_of(&self, module: &Module) -> Result<Rc<Kernels>, Failure> {
        let texts =
            |of: &Module| of.checked().sources.iter().map(|source| source.text.clone()).collect::<Vec<_>>();
        let own = texts(module);
        let same = self.modules.iter().rposition(|known| texts(known) == own);
        if let Some(known) = same.and_then(|at| self.kernels.get(at)) {
            return Ok(Rc::clone(known));
        }
        let mut toolchain = self.toolchain.clone();
        if let Some(assembler) = &mut toolchain.assembler {
            assembler.limit = assembler.limit.within(self.args.timeout);
        }
        toolchain.kernels(module).map(Rc::new).map_err(tool_failed)
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
        let accepted = !self.args.program.is_empty();
        let backend = options.simulator();
        let placed = Placed::new(plan, module, &backend)?;
        let mut exit = Exit::Clean;
        let wanted = |name: &str| {
            let kernel = self.args.kernel.as_deref();
            kernel.is_none_or(|part| name.contains(part) || reports::readable(name).contains(part))
        };
        for (number, launch) in placed.launches().iter().enumerate() {
            let what = format!("{}: grid {}, block {}", launch.kernel, launch.grid, launch.block);
            noted.limit = limit.within(self.args.timeout);
            noted.clear();
            let mut run = kernels.schedule(&launch.kernel, run.clone());
            run.registers = kernels.registers(launch, accepted);
            let report =
                progress::during(self.console.is_human(), what.clone(), || placed.launch(number, &run))?;
            exit = exit.max(exit_of(&report));
            let completed = report.outcome == Outcome::Completed;
            let is_first = number == 0 && at == 0 && self.begins_with_the_first();
            let LaunchReport { outcome, metrics, launched, .. } = report;
            // Of the grids that it launched, each is shown as if the program had.
            let outcome = if launched.is_empty() { outcome } else { Outcome::Completed };
            let own = LaunchedGrid { launch: launch.clone(), outcome, metrics };
            for (place, grid) in std::iter::once(own).chain(launched).enumerate() {
                if !wanted(&grid.launch.kernel) {
                    self.others.push(reports::readable(&grid.launch.kernel).into_owned());
                    continue;
                }
                let LaunchedGrid { launch, outcome, metrics } = grid;
                let by_kernel = place > 0;
                let mut measured = progress::during(self.console.is_human(), what.clone(), || {
                    let of = (outcome, &metrics[..], is_first && !by_kernel);
                    kernels.measured(module, &launch, of, &noted)
                });
                // What is not known because time is up is as if the launch had not come to its end.
                if completed && matches!(measured.timed, Err(Untimed::Ended)) {
                    exit = exit.max(Exit::Faulted);
                }
                self.complete(&mut measured.profile);
                self.launches.push(Launch {
                    missing: self.missing(kernels, &measured),
                    measured,
                    outcome,
                    metrics,
                    by_kernel,
                    module: at,
                    operation: Id::default(),
                });
            }
            if !completed {
                break;
            }
        }
        Ok(exit)
    }

    /// Why the way of a launch through machine code of NVIDIA's assembler is not known, if it is not.
    fn missing(&self, kernels: &Kernels, measured: &Measured) -> &'static str {
        match &self.toolchain {
            _ if measured.executed.is_some() => "the way through that of ptxas was not found",
            Toolchain { assembler: None, .. } => "ptxas is not found",
            Toolchain { disassembler: None, .. } => "nvdisasm is not found",
            _ if kernels.is_launching(&measured.profile.kernel) => {
                "the kernel launches others, which code of the driver does"
            }
            _ => "what ptxas makes of the PTX has no such kernel",
        }
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
        Ok(Some(Timing { chip, blocks: self.args.sample }))
    }

    /// Writes the timeline that is asked for.
    fn trace(&self) -> Result<(), Failure> {
        let (Some(path), Some(timing)) = (&self.args.trace, self.timing()?) else { return Ok(()) };
        let mut launches = Launches::new();
        for launch in &self.launches {
            let Measured { profile, timed: Ok(timed), .. } = &launch.measured else { continue };
            let kernel = reports::readable(&profile.kernel).into_owned();
            let share = profile.value("launch__waves_per_multiprocessor").unwrap_or(1.0).min(1.0);
            launches.entry(launch.operation).or_default().push(Shown { kernel, timed, share });
        }
        let events = trace::events(&timing.chip, &self.operations, &launches);
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
    fn beside<'i>(&self, imported: &'i [Launched]) -> Result<Vec<Option<&'i Launched>>, Failure> {
        let mut left: Vec<Option<&Launched>> = imported.iter().map(Some).collect();
        let plain = |name: &str| csv::own_name(&reports::readable(name)).to_owned();
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
        let by = if launch.by_kernel { ", launched by a kernel" } else { "" };
        let mut text = format!("{}: grid {grid}, block {block}{by}\n", reports::readable(kernel));
        let how = match (&self.toolchain.assembler, launch.measured.estimated) {
            (Some(assembler), false) => format!("ptxas {}", assembler.version),
            (Some(_), true) => "an estimate, since ptxas says nothing of this kernel".into(),
            (None, _) => "an estimate, since ptxas is not found".into(),
        };
        text += &format!("  registers and shared memory: {how}\n");
        let how = code::how(launch);
        text += &format!("  machine instructions: {how}\n");
        if launch.measured.spun > 0 {
            text += &format!(
                "  waiting: {} turns of loops in which threads wait for others are left out\n",
                launch.measured.spun
            );
        }
        match &launch.measured.timed {
            Ok(timed) => text += &format!("  time: {}\n", code::timed_how(timed, launch.missing)),
            Err(Untimed::NotAsked) => {}
            Err(_) if launch.outcome != Outcome::Completed => {}
            Err(why) => text += &format!("  time: not known, as {why}\n"),
        }
        if launch.outcome != Outcome::Completed {
            let how = reports::outcome_name(launch.outcome);
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
        if let Some(metrics) = launch.metrics.first().filter(|_| lines) {
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
                "launched_by_kernel": launch.by_kernel,
                "outcome": reports::outcome_name(launch.outcome),
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
