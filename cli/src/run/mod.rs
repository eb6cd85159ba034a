//! `warpgrind run`: a plan from the command line or a launch file, and its execution.

mod execute;

pub(crate) use execute::exit_of;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use ptx_frontend::{Diagnostic, Elsewhere, Source};
use sim_core::{Dim3, RunOptions};
use warpgrind::module::join;
use warpgrind::plan::{
    Arg, BufferPlan, BufferSpec, LaunchPlan, Output, PRINTED, Place, parameters, parse_arg, unknown_buffer,
};
use warpgrind::run::is_memory_variable;
use warpgrind::{Module, Options, Plan};

use crate::args::{Global, LaunchArgs, RunArgs, note_engine};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::modules;
use crate::report::{Console, RunReporter};
use crate::triage::Triage;

/// Runs the command and says how it ended.
pub(crate) fn run(args: &RunArgs, global: &Global, console: &Console) -> Result<Exit, Failure> {
    let triage = Triage::open(&args.findings, console)?;
    let mut reporter = RunReporter::new(console, &triage, args);
    let result = try_run(args, global, console, &mut reporter);
    reporter.finish(result)
}

fn try_run(
    args: &RunArgs,
    global: &Global,
    console: &Console,
    reporter: &mut RunReporter<'_>,
) -> Result<Exit, Failure> {
    let option = format!("`--async {}`", args.asynchrony.name());
    tools::check_async(&args.tool, args.asynchrony, &option)?;
    let interrupt = Interrupt::watch()?;
    let options = Options {
        tools: args.tool.clone(),
        jobs: global.jobs,
        seed: args.seed,
        asynchrony: args.asynchrony,
        engine: args.engine,
        max_instructions: args.max_instructions,
        timeout: args.timeout,
        contraction: !args.launch.no_contraction,
        as_optimised: args.launch.as_optimised,
        count_memory: args.stats,
        source_root: args.source_root.clone(),
    };
    note_engine(args.engine);
    let run_options = RunOptions { interrupt: Some(interrupt.any.clone()), ..options.run_options() };
    let (mut plan, module) = prepare(&args.files, &args.launch, &mut |diagnostic, source, elsewhere| {
        reporter.diagnostic(diagnostic, source, elsewhere);
    })?;
    for text in &args.print {
        add_print(&mut plan, &module, text)?;
    }
    let backend = options.simulator();
    execute::execute(&plan, &module, &run_options, &interrupt, &backend, console.is_human(), reporter)
}

/// What is told of texts that are read.
pub(crate) type Diagnose<'a> = &'a mut dyn FnMut(&Diagnostic, &Source, &[Elsewhere]);

/// The plan of a launch file or of arguments, and the module it is about.
pub(crate) fn prepare(
    files: &[PathBuf],
    args: &LaunchArgs,
    report: Diagnose<'_>,
) -> Result<(Plan, Module), Failure> {
    let is_launch_file = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    match files {
        [path] if is_launch_file(path) => {
            refuse_launch_options(
                args,
                "a launch file",
                "change the `[[launch]]` section of the file instead",
            )?;
            read_launch_file(path, report)
        }
        files if files.iter().any(is_launch_file) => {
            Err(Failure::usage("a launch file names its PTX files itself; give it alone"))
        }
        files => {
            let sources = files.iter().map(|path| modules::read_source(path)).collect::<Result<_, _>>()?;
            let module = modules::load(sources, report)?;
            Ok((plan_from_args(args, &module)?, module))
        }
    }
}

/// The plan of a launch file, and its module.
pub(crate) fn read_launch_file(path: &Path, report: Diagnose<'_>) -> Result<(Plan, Module), Failure> {
    let plan = Plan::read(path)?;
    let sources = plan
        .modules
        .iter()
        .map(|(path, place)| {
            modules::read_source(&join(&plan.directory, path))
                .map_err(|failure| failure.at(plan.text_place(place)))
        })
        .collect::<Result<_, _>>()?;
    let module = modules::load(sources, report)?;
    Ok((plan, module))
}

/// Refuses options that say what a launch is, where something else does.
pub(crate) fn refuse_launch_options(args: &LaunchArgs, beside: &str, help: &str) -> Result<(), Failure> {
    let given = [
        ("--entry", args.entry.is_some()),
        ("--grid", args.grid.is_some()),
        ("--block", args.block.is_some()),
        ("--cluster", args.cluster.is_some()),
        ("--shared", args.shared.is_some()),
        ("--cooperative", args.cooperative),
        ("--arg", !args.args.is_empty()),
        ("--buffer", !args.buffer.is_empty()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(Failure::usage(format!("`{option}` cannot be given with {beside}")).help(help))
        }
        None => Ok(()),
    }
}

/// The plan of a single launch. Buffers defined in arguments get the argument's name, or else that
/// of the kernel's parameter.
fn plan_from_args(args: &LaunchArgs, module: &Module) -> Result<Plan, Failure> {
    let kernel = module.kernel(args.entry.as_deref())?;
    let parameters = parameters(module.checked(), kernel);
    let mut buffers: IndexMap<String, BufferPlan> = IndexMap::new();
    let mut launch_args = Vec::new();
    for (at, text) in args.args.iter().enumerate() {
        let parsed = parse_arg(text);
        let (name, arg) = parsed.map_err(|error| Failure::from(error).context(format!("argument {at}")))?;
        let spec = match arg {
            Arg::Buffer(spec) => spec,
            arg => {
                launch_args.push((arg, None));
                continue;
            }
        };
        let name = name
            .or_else(|| parameters.get(at).map(|parameter| parameter.name.to_string()))
            .unwrap_or_else(|| format!("argument {at}"));
        define(&mut buffers, &name, spec)?;
        launch_args.push((Arg::Reference { name, offset: 0 }, None));
    }
    for text in &args.buffer {
        match parse_arg(text) {
            Ok((Some(name), Arg::Buffer(spec))) => define(&mut buffers, &name, spec)?,
            Ok(_) => {
                let message = format!("`--buffer {text}` names no buffer");
                return Err(Failure::usage(message).help("write for example `--buffer 'y=f32[1024]=0'`"));
            }
            Err(error) => return Err(Failure::from(error).context(format!("`--buffer {text}`"))),
        }
    }
    let variables = referred_variables(&launch_args, &buffers, module);
    let launch = LaunchPlan {
        kernel: Some(kernel.name.to_string()),
        grid: args.grid.unwrap_or(Dim3::ONE),
        block: args.block.unwrap_or(Dim3::ONE),
        cluster: args.cluster,
        shared_bytes: args.shared.unwrap_or(0),
        cooperative: args.cooperative,
        args: launch_args,
        place: None,
    };
    Ok(Plan { buffers, variables, launches: vec![launch], ..Plan::default() })
}

/// Adds a buffer under its name.
fn define(
    buffers: &mut IndexMap<String, BufferPlan>,
    name: &str,
    mut spec: BufferSpec,
) -> Result<(), Failure> {
    let output = spec.output.take();
    let print = matches!(output, Some(Output::Print)).then_some(PRINTED);
    let save = match output {
        Some(Output::File(path)) => Some(path),
        _ => None,
    };
    let plan = BufferPlan { spec, save, print, ..BufferPlan::default() };
    match buffers.insert(name.to_owned(), plan) {
        Some(_) => Err(Failure::usage(format!("two buffers are called `{name}`"))
            .help(format!("`&{name}` passes the address of the first one again"))),
        None => Ok(()),
    }
}

/// The variables of the module that arguments name as `&variable`.
fn referred_variables(
    args: &[(Arg, Place)],
    buffers: &IndexMap<String, BufferPlan>,
    module: &Module,
) -> IndexMap<String, BufferPlan> {
    let names = args.iter().filter_map(|(arg, _)| match arg {
        Arg::Reference { name, .. } => Some(name),
        _ => None,
    });
    let names =
        names.filter(|name| !buffers.contains_key(*name) && is_memory_variable(module.checked(), name));
    names.map(|name| (name.clone(), BufferPlan::default())).collect()
}

/// Adds `--print NAME[:N]`: a buffer by name or position, or a variable of the module.
fn add_print(plan: &mut Plan, module: &Module, text: &str) -> Result<(), Failure> {
    let (name, count) = match text.rsplit_once(':') {
        Some((name, count)) => {
            let wrong =
                |_| Failure::usage(format!("`{count}` in `--print {text}` is not a number of elements"));
            (name, count.parse().map_err(wrong)?)
        }
        None => (text, PRINTED),
    };
    let by_position = || match plan.launches.first()?.args.get(name.parse::<usize>().ok()?)? {
        (Arg::Reference { name, .. }, _) => Some(name.clone()),
        _ => None,
    };
    let name =
        if plan.buffers.contains_key(name) { name.to_string() } else { by_position().unwrap_or(name.into()) };
    if let Some(buffer) = plan.buffers.get_mut(&name) {
        buffer.print = Some(count);
        return Ok(());
    }
    if is_memory_variable(module.checked(), &name) {
        plan.variables.entry(name).or_default().print = Some(count);
        return Ok(());
    }
    Err(unknown_buffer(&name, plan).into())
}
