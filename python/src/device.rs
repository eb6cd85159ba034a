//! A simulated device with a module on it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptx_frontend::{Function, Source};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use reports::readable;
use sim_core::{AsyncPolicy, Backend, Dim3, Error as DeviceError, Poll};
use tools::Tool;
use warpgrind::module::read_source;
use warpgrind::plan::{Arg, LaunchPlan, Scalar, describe, parameters};
use warpgrind::{Element, Module, Options, RunError, Session};

use crate::error::{Error, LaunchError, module_error, run_error};
use crate::mapped::Adopted;
use crate::plan::{BufferOf, Plan, reference};
use crate::profile::Profiler;
use crate::report::Report;
use crate::turn::Turns;
use crate::wait::{interruptible, on_this_thread};

/// A device with a module on it: launches, and memory that stays. One thing happens on it at a time.
#[pyclass(frozen, module = "warpgrind._native")]
pub(crate) struct Device {
    session: Session,
    /// Memory of Python's that kernels have as it is. It outlives the session.
    adopted: Adopted,
    options: Options,
    profiler: OnceLock<Profiler>,
    turns: Turns,
}

/// Blocks, threads and such in x, y and z.
type Extents = (u32, u32, u32);

/// A launch, as Python writes it in a tuple.
#[derive(FromPyObject)]
struct Request(String, Extents, Extents, u32, Option<Extents>, bool, Vec<Argument>);

impl Request {
    fn plan(self) -> PyResult<LaunchPlan> {
        let Self(kernel, grid, block, shared_bytes, cluster, cooperative, arguments) = self;
        let extents = |(x, y, z)| Dim3::new(x, y, z);
        let args = arguments.into_iter().map(|argument| Ok((argument.arg()?, None)));
        Ok(LaunchPlan {
            kernel: Some(kernel),
            grid: extents(grid),
            block: extents(block),
            cluster: cluster.map(extents),
            shared_bytes,
            cooperative,
            args: args.collect::<PyResult<_>>()?,
            place: None,
        })
    }
}

/// An argument: a PTX number as it is written, bits of a type, the bytes of a structure, an address, or a plan's buffer.
#[derive(FromPyObject)]
enum Argument {
    #[pyo3(transparent)]
    Typed((String, u64)),
    #[pyo3(transparent)]
    Address(u64),
    #[pyo3(transparent)]
    Number(String),
    #[pyo3(transparent)]
    Bytes(Vec<u8>),
    /// The name of a plan's buffer.
    #[pyo3(transparent)]
    Buffer((String,)),
}

impl Argument {
    fn arg(self) -> PyResult<Arg> {
        Ok(match self {
            Argument::Typed((name, bits)) => {
                let element = Element::from_name(&name).ok_or_else(|| {
                    LaunchError::new_err(format!("numbers of type {name} are no arguments"))
                })?;
                let text = if element.is_float() { element.hex(bits) } else { element.show(bits) };
                Arg::Scalar(Scalar { element: Some(element), text })
            }
            Argument::Address(address) => Arg::Scalar(address.into()),
            Argument::Number(text) => Arg::Scalar(Scalar { element: None, text }),
            Argument::Bytes(bytes) => Arg::Bytes(bytes),
            Argument::Buffer((name,)) => reference(name),
        })
    }
}

fn device_error(error: DeviceError) -> PyErr {
    run_error(&RunError::from(error))
}

#[pymethods]
impl Device {
    /// Checks, links and loads PTX: texts with the names that stand for them in messages, and files.
    #[new]
    #[pyo3(signature = (texts, files, tools, seed, asynchrony, jobs, timeout, max_instructions, contraction, as_optimised, count_memory, source_root))]
    fn new(
        py: Python<'_>,
        texts: Vec<(String, Vec<u8>)>,
        files: Vec<std::path::PathBuf>,
        tools: Vec<String>,
        seed: u64,
        asynchrony: &str,
        jobs: usize,
        timeout: Option<f64>,
        max_instructions: Option<u64>,
        contraction: bool,
        as_optimised: bool,
        count_memory: bool,
        source_root: Option<std::path::PathBuf>,
    ) -> PyResult<Self> {
        let named = |name: &String| {
            let known: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
            Tool::named(name).ok_or_else(|| {
                Error::new_err(format!("there is no tool `{name}`\nhelp: the tools are {}", known.join(", ")))
            })
        };
        let tools = tools.iter().map(named).collect::<PyResult<Vec<Tool>>>()?;
        let names = AsyncPolicy::ALL.map(AsyncPolicy::name).join(", ");
        let asynchrony = AsyncPolicy::named(asynchrony)
            .ok_or_else(|| Error::new_err(format!("`{asynchrony}` is none of {names}")))?;
        let option = format!("asynchrony=\"{}\"", asynchrony.name());
        tools::check_async(&tools, asynchrony, &option)
            .map_err(|clash| Error::new_err(format!("{}\nhelp: {}", clash.message, clash.help)))?;
        let timeout = timeout
            .map(|seconds| {
                Duration::try_from_secs_f64(seconds).map_err(|error| Error::new_err(error.to_string()))
            })
            .transpose()?;
        let options = Options {
            tools,
            jobs,
            seed,
            asynchrony,
            max_instructions,
            timeout,
            contraction,
            as_optimised,
            count_memory,
            source_root,
            ..Options::default()
        };
        py.detach(|| {
            let mut sources: Vec<Source> =
                texts.into_iter().map(|(name, text)| Source::new(name, text)).collect();
            for file in &files {
                sources.push(read_source(file).map_err(|error| module_error(&error.into()))?);
            }
            let module = Module::link(sources).map_err(|error| module_error(&error))?;
            let session = Session::new(&module, &options).map_err(|error| run_error(&error))?;
            Ok(Self {
                session,
                adopted: Adopted::default(),
                options,
                profiler: OnceLock::new(),
                turns: Turns::new(),
            })
        })
    }

    /// What may be wrong with the PTX.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let remarks = self.session.module().warnings().iter();
        remarks
            .map(|of| ptx_frontend::render::render(&of.diagnostic, &of.source, &of.elsewhere, false))
            .collect()
    }

    /// The kernels: PTX name, readable name, parameters as they are declared.
    #[getter]
    fn kernels(&self) -> Vec<(String, String, Vec<String>)> {
        let module = self.session.module().checked();
        let of = |kernel: &Function| {
            let parameters = parameters(module, kernel).into_iter().map(describe).collect();
            (kernel.name.to_string(), readable(&kernel.name).into_owned(), parameters)
        };
        module.kernels().map(|(_, kernel)| of(kernel)).collect()
    }

    /// The PTX name of the kernel that a name stands for; without one, of the only kernel.
    #[pyo3(signature = (name=None))]
    fn kernel(&self, name: Option<&str>) -> PyResult<String> {
        let kernel = self.session.module().kernel(name);
        kernel.map(|kernel| kernel.name.to_string()).map_err(|error| run_error(&error.into()))
    }

    /// Address and bytes of a `.global` or `.const` variable.
    fn variable(&self, name: &str) -> PyResult<(u64, u64)> {
        self.session.variable(name).map_err(|error| run_error(&error))
    }

    /// Allocates memory, which findings call by this name.
    fn allocate(&self, py: Python<'_>, bytes: u64, name: &str) -> PyResult<u64> {
        self.alone(py, || self.session.device().alloc(bytes, name).map_err(device_error))
    }

    /// Gives it back.
    fn free(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        self.alone(py, || self.session.device().free(address).map_err(device_error))
    }

    /// Copies bytes to the device.
    fn write(&self, py: Python<'_>, address: u64, bytes: PyBuffer<u8>) -> PyResult<()> {
        let bytes = bytes.to_vec(py)?;
        self.alone(py, || self.session.device().write(address, &bytes).map_err(device_error))
    }

    /// Copies bytes from the device, as many as there is room for.
    fn read(&self, py: Python<'_>, address: u64, into: PyBuffer<u8>) -> PyResult<()> {
        let mut bytes = vec![0; into.len_bytes()];
        self.alone(py, || self.session.device().read(address, &mut bytes).map_err(device_error))?;
        into.copy_from_slice(py, &bytes)
    }

    /// Lets kernels have an array's memory as it is, at its own address, until it is released.
    fn adopt(&self, py: Python<'_>, bytes: PyBuffer<u8>, name: &str) -> PyResult<u64> {
        let start = self.adopted.start(py, &bytes)?;
        // The session's own bookkeeping is short; launches that run are not waited for.
        let address = self.adopted.adopt(self.session.device(), start, bytes, name)?;
        Ok(address)
    }

    /// Ends that, once no kernel runs.
    fn release(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        let bytes = self.alone(py, || {
            self.session.device().free(address).map_err(device_error)?;
            Ok(self.adopted.forget(address))
        })?;
        drop(bytes);
        Ok(())
    }

    /// Runs a kernel to its end, or until a signal's handler raises an exception.
    fn launch(&self, py: Python<'_>, launch: Request, profile: bool) -> PyResult<Report> {
        let plan = launch.plan()?;
        let launch = self.session.prepare(&plan).map_err(|error| run_error(&error))?;
        let module = self.session.module();
        let work = |interrupt: &Arc<AtomicBool>, poll: Option<&Poll>| {
            let mut options = self.options.run_options();
            options.interrupt = Some(interrupt.clone());
            options.poll = poll.cloned();
            let found = Profiler::noted(interrupt);
            let profiler = if profile { Some(self.profiler()?) } else { None };
            if let Some(profiler) = profiler {
                if !self.options.tools.contains(&Tool::Counters) {
                    options.tools.extend(tools::factories(&[Tool::Counters]));
                }
                options.tools.extend(profiler.kernels.watch(&found));
                options = profiler.kernels.schedule(&launch.kernel, options);
            }
            let _turn = self.turns.take(interrupt, poll)?;
            options.alone = self.adopted.is_empty();
            let report = self.session.run(&launch, &options).map_err(|error| run_error(&error))?;
            let profile = profiler.map(|profiler| profiler.measured(module, &launch, &report, &found));
            Ok((options, report, profile))
        };
        let alone = self.options.jobs == 1 || launch.grid.count() == 1;
        let (options, report, profile) = match alone {
            true => on_this_thread(py, work)?,
            false => interruptible(py, |interrupt| work(interrupt, None))?,
        };
        let (module, root) = (module.clone(), self.options.source_root.clone());
        Ok(Report { module, root, launch, options, report, profile })
    }

    /// The same launch as a plan, whose arguments name these buffers.
    fn plan(&self, launch: Request, buffers: Vec<BufferOf>) -> PyResult<Plan> {
        Plan::of(self.session.module().clone(), launch.plan()?, buffers)
    }
}

impl Device {
    /// Does something when it is its turn, with the interpreter's lock free.
    fn alone<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
        py.detach(|| {
            let _turn = self.turns.take(&AtomicBool::new(false), None)?;
            work()
        })
    }

    /// What profiles are made with, from the first profile on.
    fn profiler(&self) -> PyResult<&Profiler> {
        if let Some(known) = self.profiler.get() {
            return Ok(known);
        }
        let made = Profiler::of(self.session.module())?;
        Ok(self.profiler.get_or_init(|| made))
    }
}
