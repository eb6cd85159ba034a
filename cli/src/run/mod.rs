//! `warpgrind run`: a plan from the command line or a launch file, and its execution.

mod execute;
mod launch_toml;
mod outputs;
mod params;
mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use ptx_frontend::{Diagnostic, Elsewhere, Module, Source, StateSpace, Symbol};
use sim_core::{Backend, Dim3, RunOptions};

use crate::args::{Global, RunArgs, Tool};
use crate::array::{MAX_TEXT, read_file};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::modules;
use crate::report::{Console, RunReporter};
use crate::value::{self, Arg, BufferSpec, Output};
use plan::{BufferPlan, LaunchPlan};

pub(crate) use outputs::{Contents, Ended, Outputs, Said, hex, outputs};
pub(crate) use plan::Plan;

pub(crate) use params::{dimensions_text, parameters, type_text};

/// Elements printed when no number is given.
pub(crate) const PRINTED: u64 = 16;

/// Runs the command on this backend and says how it ended.
pub(crate) fn run(args: &RunArgs, global: &Global, console: &Console, backend: &dyn Backend) -> Exit {
    let mut reporter = RunReporter::new(console, args.stats);
    let result = try_run(args, global, console, backend, &mut reporter);
    reporter.finish(result)
}

fn try_run(
    args: &RunArgs,
    global: &Global,
    console: &Console,
    backend: &dyn Backend,
    reporter: &mut RunReporter<'_>,
) -> Result<Exit, Failure> {
    let interrupt = Interrupt::watch()?;
    let options = RunOptions {
        interrupt: Some(interrupt.any.clone()),
        jobs: global.jobs,
        seed: args.seed,
        max_instructions: args.max_instructions,
        timeout: args.timeout,
        initcheck: args.tool.contains(&Tool::Initcheck),
        synccheck: args.tool.contains(&Tool::Synccheck),
        count_memory: args.stats,
        watcher: args.tool.contains(&Tool::Racecheck).then(racecheck::watcher),
        source_root: args.source_root.clone(),
        ..RunOptions::default()
    };
    let (mut plan, module) = prepare(args, reporter)?;
    for text in &args.print {
        add_print(&mut plan, &module, text)?;
    }
    execute::execute(&plan, Arc::new(module), &options, &interrupt, backend, console.is_human(), reporter)
}

/// The plan and the module it is about.
fn prepare(args: &RunArgs, reporter: &mut RunReporter<'_>) -> Result<(Plan, Module), Failure> {
    let is_launch_file = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    match &args.files[..] {
        [path] if is_launch_file(path) => {
            refuse_launch_options(args)?;
            read_launch_file(path, &mut |diagnostic, source, elsewhere| {
                reporter.diagnostic(diagnostic, source, elsewhere);
            })
        }
        files if files.iter().any(is_launch_file) => {
            Err(Failure::usage("a launch file names its PTX files itself; give it alone"))
        }
        files => {
            let sources = files.iter().map(|path| modules::read_source(path)).collect::<Result<_, _>>()?;
            let module = modules::load(sources, &mut |diagnostic, source, elsewhere| {
                reporter.diagnostic(diagnostic, source, elsewhere);
            })?;
            Ok((plan_from_args(args, &module)?, module))
        }
    }
}

/// The plan of a launch file, and its module.
pub(crate) fn read_launch_file(
    path: &Path,
    report: &mut dyn FnMut(&Diagnostic, &Source, &[Elsewhere]),
) -> Result<(Plan, Module), Failure> {
    let plan = launch_toml::parse(path, read_file(path, MAX_TEXT)?)?;
    let sources = plan
        .modules
        .iter()
        .map(|(path, place)| {
            modules::read_source(&modules::join(&plan.directory, path))
                .map_err(|failure| failure.at(plan.source.as_ref(), place))
        })
        .collect::<Result<_, _>>()?;
    let module = modules::load(sources, report)?;
    Ok((plan, module))
}

fn refuse_launch_options(args: &RunArgs) -> Result<(), Failure> {
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
        Some((option, _)) => Err(Failure::usage(format!("`{option}` cannot be given with a launch file"))
            .help("change the `[[launch]]` section of the file instead")),
        None => Ok(()),
    }
}

/// The plan of a single launch. Buffers defined in arguments get the argument's name, or else that
/// of the kernel's parameter.
fn plan_from_args(args: &RunArgs, module: &Module) -> Result<Plan, Failure> {
    let kernel = modules::find_kernel(module, args.entry.as_deref())?;
    let kernel = &module.functions[kernel.index()];
    let parameters = params::parameters(module, kernel);
    let mut buffers: IndexMap<String, BufferPlan> = IndexMap::new();
    let mut launch_args = Vec::new();
    for (at, text) in args.args.iter().enumerate() {
        let parsed = value::parse_arg(text);
        let (name, arg) = parsed.map_err(|error| Failure::usage(error).context(format!("argument {at}")))?;
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
        match value::parse_arg(text) {
            Ok((Some(name), Arg::Buffer(spec))) => define(&mut buffers, &name, spec)?,
            Ok(_) => {
                let message = format!("`--buffer {text}` names no buffer");
                return Err(Failure::usage(message).help("write for example `--buffer 'y=f32[1024]=0'`"));
            }
            Err(error) => return Err(Failure::usage(error).context(format!("`--buffer {text}`"))),
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
    Ok(Plan {
        source: None,
        directory: PathBuf::new(),
        modules: Vec::new(),
        buffers,
        variables,
        launches: vec![launch],
    })
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
        Some(Output::File(path)) => vec![path],
        _ => Vec::new(),
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
    args: &[(Arg, plan::Place)],
    buffers: &IndexMap<String, BufferPlan>,
    module: &Module,
) -> IndexMap<String, BufferPlan> {
    let names = args.iter().filter_map(|(arg, _)| match arg {
        Arg::Reference { name, .. } => Some(name),
        _ => None,
    });
    let names = names.filter(|name| !buffers.contains_key(*name) && is_memory_variable(module, name));
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
    if is_memory_variable(module, &name) {
        plan.variables.entry(name).or_default().print = Some(count);
        return Ok(());
    }
    Err(params::unknown_buffer(&name, plan))
}

/// Whether the module has a variable of this name that the host can read.
fn is_memory_variable(module: &Module, name: &str) -> bool {
    match module.symbol(name) {
        Some(Symbol::Variable(id)) => {
            matches!(module.variables[id.index()].space, StateSpace::Global | StateSpace::Const)
        }
        _ => false,
    }
}

/// Where paths of a plan lead.
fn path_in(plan: &Plan, path: &Path) -> PathBuf {
    plan.directory.join(path)
}
