//! The debugger of a launch, as an object.
//!
//! A launch that runs step by step stands on the stack of whoever runs it, so a thread of its own has it; what is asked of it
//! goes there as a closure, and the answer comes back.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use debugger::data::Data;
use debugger::format::Format;
use debugger::points::{Location, Points, Stepping};
use debugger::program::Line;
use debugger::types::Space;
use debugger::{Debugger as Engine, Focus, Reason, Step};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use reports::finding::{self, Sources};
use sim_core::{AccessKind, Dim3, WaitsFor};
use tools::Tool;
use warpgrind::run::Placed;
use warpgrind::{Options, debug};

use crate::error::{Error, run_error};
use crate::plan::Plan;
use crate::wait::LOOK;

/// Something that is to be done with the launch.
type Job = Box<dyn for<'d, 's, 'g> FnOnce(&mut Engine<'d, 's, 'g>) + Send>;

/// A launch under the debugger.
#[pyclass(frozen, module = "warpgrind._native")]
pub(crate) struct Debugger {
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<PyResult<()>>>>,
    interrupt: Arc<AtomicBool>,
    root: Option<PathBuf>,
}

type Extents = (u32, u32, u32);
/// A finding: its number, its time if that is known, its kind, and what the command prints.
type Known = (usize, Option<u64>, &'static str, String);

fn extents(at: Dim3) -> Extents {
    (at.x, at.y, at.z)
}

/// Where it stands, and why.
#[derive(IntoPyObject)]
struct Stop {
    reason: &'static str,
    text: String,
    breakpoints: Vec<u32>,
    finding: Option<usize>,
    old: Option<String>,
    new: Option<String>,
    access: Option<&'static str>,
    time: u64,
    block: Extents,
    thread: Extents,
    warp: u32,
    lane: u32,
    /// Of a thread that is there.
    place: Option<Place>,
}

#[derive(IntoPyObject)]
struct Place {
    function: String,
    file: String,
    line: u32,
    ptx: u32,
    position: u32,
    instruction: String,
    inlined: bool,
}

#[derive(IntoPyObject)]
struct Waiting {
    block: Extents,
    warp: u32,
    lanes: u32,
    waits: Option<String>,
    file: String,
    line: u32,
    instruction: String,
}

/// Data, to be made an object of Python's.
struct Object(Data);

impl<'py> IntoPyObject<'py> for Object {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            Data::Nothing => py.None().into_bound(py),
            Data::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Data::Int(value) => value.into_pyobject(py)?.into_any(),
            Data::Float(value) => value.into_pyobject(py)?.into_any(),
            Data::List(list) => {
                let list = PyList::new(py, list.into_iter().map(Object).collect::<Vec<_>>())?;
                list.into_any()
            }
            Data::Struct(members) => {
                let dict = PyDict::new(py);
                for (name, value) in members {
                    dict.set_item(name, Object(value))?;
                }
                dict.into_any()
            }
        })
    }
}

fn refused(error: debugger::Error) -> PyErr {
    Error::new_err(error.to_string())
}

fn line_number(line: Line) -> u32 {
    let (Line::Cuda(_, number) | Line::Ptx(_, number)) = line;
    number
}

/// The selected frame.
fn place(engine: &Engine<'_, '_, '_>, at: usize) -> Option<Place> {
    let frames = engine.frames().ok()?;
    let frame = frames.get(at)?;
    let program = engine.program();
    let line = frame.line?;
    let ptx = program.place(frame.position).map_or(0, |place| line_number(place.ptx));
    Some(Place {
        function: frame.function.clone(),
        file: program.file(line).to_owned(),
        line: line_number(line),
        ptx,
        position: frame.position,
        instruction: program.text(frame.position),
        inlined: frame.inlined,
    })
}

fn stop(engine: &Engine<'_, '_, '_>, root: Option<&PathBuf>, reason: &Reason) -> Stop {
    let focus = engine.focus();
    let mut stop = Stop {
        reason: "",
        text: String::new(),
        breakpoints: Vec::new(),
        finding: None,
        old: None,
        new: None,
        access: None,
        time: engine.time(),
        block: extents(engine.block(focus.warp.block)),
        thread: extents(engine.thread(focus)),
        warp: focus.warp.warp,
        lane: focus.lane,
        place: place(engine, engine.frame()),
    };
    match reason {
        Reason::Started => stop.reason = "started",
        Reason::Stepped => stop.reason = "stepped",
        Reason::Exited => stop.reason = "exited",
        Reason::Ended => stop.reason = "ended",
        Reason::Interrupted => stop.reason = "interrupted",
        Reason::Beginning => stop.reason = "beginning",
        Reason::Breakpoints(ids) => {
            stop.reason = "breakpoint";
            stop.breakpoints.clone_from(ids);
        }
        Reason::Condition(id, error) => {
            stop.reason = "condition";
            stop.breakpoints.push(*id);
            stop.text = error.to_string();
        }
        Reason::Watchpoint { id, hit, old, new } => {
            stop.reason = "watchpoint";
            stop.breakpoints.push(*id);
            (stop.old, stop.new) = (Some(old.clone()), Some(new.clone()));
            stop.access = Some(match hit.kind {
                AccessKind::Read => "read",
                AccessKind::Write => "write",
                AccessKind::Atomic | AccessKind::Reduction => "atomic",
            });
        }
        Reason::Finding(at) => {
            stop.reason = "finding";
            stop.finding = Some(at + 1);
            let module = engine.program().module();
            let sources = Sources { module, root: root.map(PathBuf::as_path) };
            let all = engine.found().get(*at).map_or(&[][..], |found| &found.findings);
            stop.text = all.iter().map(|found| finding::message(found, &sources).plain()).collect();
        }
    }
    stop
}

impl Debugger {
    /// Has something done with the launch, with the interpreter's lock free; Ctrl-C has what runs stand still.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl for<'d, 's, 'g> FnOnce(&mut Engine<'d, 's, 'g>) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let (answer, answered) = channel();
        let job: Job = Box::new(move |engine| {
            // Somebody waits for it, below.
            let _ = answer.send(work(engine));
        });
        let closed = || Error::new_err("the debugger is closed");
        {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.as_ref().ok_or_else(closed)?.send(job).map_err(|_| closed())?;
        }
        let interrupt = &self.interrupt;
        py.detach(move || {
            let mut raised = None;
            loop {
                match answered.recv_timeout(LOOK) {
                    Ok(result) => return raised.map_or(result, Err),
                    Err(RecvTimeoutError::Disconnected) => return Err(closed()),
                    Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            interrupt.store(true, Relaxed);
                            raised = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    }

    /// The same for what runs the launch.
    fn run(
        &self,
        py: Python<'_>,
        work: impl for<'d, 's, 'g> FnOnce(&mut Engine<'d, 's, 'g>) -> debugger::Result<Reason> + Send + 'static,
    ) -> PyResult<Stop> {
        let root = self.root.clone();
        self.interrupt.store(false, Relaxed);
        self.ask(py, move |engine| {
            let reason = work(engine).map_err(refused)?;
            Ok(stop(engine, root.as_ref(), &reason))
        })
    }
}

fn location(engine: &Engine<'_, '_, '_>, text: &str) -> debugger::Result<Location> {
    let frames = engine.frames().ok();
    let current = frames.and_then(|frames| frames.get(engine.frame())?.line);
    Location::read(text, current.or_else(|| engine.program().place(0).map(|place| place.line())))
}

fn step_of(name: &str) -> PyResult<Step> {
    Ok(match name {
        "step" => Step::Line,
        "next" => Step::LineOver,
        "stepi" => Step::Instruction,
        "nexti" => Step::InstructionOver,
        "finish" => Step::Out,
        "until" => Step::Past,
        other => return Err(Error::new_err(format!("`{other}` is no step"))),
    })
}

fn space(name: &str) -> PyResult<Space> {
    Ok(match name {
        "generic" | "global" => Space::Generic,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Param,
        other => return Err(Error::new_err(format!("`{other}` is none of global, shared, local and param"))),
    })
}

#[pymethods]
impl Debugger {
    /// That of a launch of a plan; those before it run to their ends.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &Plan,
        launch: usize,
        tools: Vec<String>,
        seed: u64,
        source_root: Option<PathBuf>,
    ) -> PyResult<Self> {
        let named = |name: &String| {
            Tool::named(name).ok_or_else(|| Error::new_err(format!("there is no tool `{name}`")))
        };
        let options = Options {
            tools: tools.iter().map(named).collect::<PyResult<_>>()?,
            jobs: 1,
            seed,
            source_root: source_root.clone(),
            ..Options::default()
        };
        let (plan, module) = plan.parts();
        if launch >= plan.launches.len() {
            return Err(Error::new_err(format!(
                "there is no launch {launch}; the plan has {}",
                reports::plural(plan.launches.len() as u64, "launch")
            )));
        }
        let (plan, module) = (plan.clone(), module.clone());
        let interrupt = Arc::new(AtomicBool::new(false));
        let (jobs, asked) = channel::<Job>();
        let own = interrupt.clone();
        let (ready, begun) = channel::<()>();
        let thread = std::thread::Builder::new().name("debugger".into()).spawn(move || -> PyResult<()> {
            let simulator = options.inspectable_simulator();
            let placed = Placed::new(&plan, &module, &simulator).map_err(|error| run_error(&error))?;
            let mut points = Points::default();
            let mut direct = |mut engine: Engine<'_, '_, '_>, at: usize| {
                if at < launch {
                    return engine.finish();
                }
                // Nobody waits any more where a kernel launches others.
                let _ = ready.send(());
                while let Ok(job) = asked.recv() {
                    job(&mut engine);
                }
                false
            };
            debug::launches(&placed, &module, &simulator, &options, &own, &mut points, &mut direct)
                .map_err(|error| run_error(&error))?;
            Ok(())
        });
        let thread = thread.map_err(|error| Error::new_err(format!("cannot start a thread: {error}")))?;
        // What cannot be launched is said now.
        if py.detach(move || begun.recv()).is_err() {
            return match thread.join() {
                Ok(Err(error)) => Err(error),
                _ => Err(Error::new_err("the launch could not be debugged")),
            };
        }
        let (jobs, thread) = (Mutex::new(Some(jobs)), Mutex::new(Some(thread)));
        Ok(Self { jobs, thread, interrupt, root: source_root })
    }

    /// Ends it: what is left of the launch is not run.
    fn close(&self, py: Python<'_>) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            self.interrupt.store(true, Relaxed);
            // A failure was told to whoever asked.
            let _ = py.detach(|| thread.join());
        }
    }

    fn restart(&self, py: Python<'_>) -> PyResult<Stop> {
        self.run(py, |engine| Ok(engine.restart()))
    }

    fn go_on(&self, py: Python<'_>) -> PyResult<Stop> {
        self.run(py, |engine| Ok(engine.go_on()))
    }

    fn go_back(&self, py: Python<'_>) -> PyResult<Stop> {
        self.run(py, |engine| Ok(engine.go_back()))
    }

    fn step(&self, py: Python<'_>, how: &str, times: u64) -> PyResult<Stop> {
        let step = step_of(how)?;
        self.run(py, move |engine| engine.step(step, times))
    }

    fn step_back(&self, py: Python<'_>, how: &str, times: u64) -> PyResult<Stop> {
        let step = step_of(how)?;
        self.run(py, move |engine| engine.step_back(step, times))
    }

    fn advance_to(&self, py: Python<'_>, place: String) -> PyResult<Stop> {
        self.run(py, move |engine| engine.advance_to(&location(engine, &place)?))
    }

    fn go_to(&self, py: Python<'_>, time: u64) -> PyResult<Stop> {
        self.run(py, move |engine| Ok(engine.go_to(time)))
    }

    fn last_write(&self, py: Python<'_>, text: String) -> PyResult<Stop> {
        self.run(py, move |engine| engine.last_write(&text, false))
    }

    fn open(&self, py: Python<'_>, number: usize, other: bool) -> PyResult<Stop> {
        self.run(py, move |engine| {
            let at = number.checked_sub(1).unwrap_or(usize::MAX);
            if other { engine.open_other(at) } else { engine.open(at) }
        })
    }

    /// Where it stands.
    fn where_it_is(&self, py: Python<'_>) -> PyResult<Stop> {
        self.run(py, |engine| Ok(if engine.session().is_over() { Reason::Ended } else { Reason::Stepped }))
    }

    fn add_breakpoint(
        &self,
        py: Python<'_>,
        place: String,
        condition: Option<String>,
        temporary: bool,
    ) -> PyResult<(u32, Vec<u32>)> {
        self.ask(py, move |engine| {
            let found = location(engine, &place).map_err(refused)?;
            let point = engine.add_breakpoint(found, &place, condition.as_deref(), None, temporary);
            let point = point.map_err(refused)?;
            Ok((point.id, point.places.iter().map(|(position, _)| *position).collect()))
        })
    }

    fn add_watchpoint(&self, py: Python<'_>, text: String, reads: bool, writes: bool) -> PyResult<u32> {
        self.ask(py, move |engine| engine.add_watchpoint(&text, reads, writes).map_err(refused))
    }

    /// Takes a breakpoint or watchpoint away, or all; whether there was one.
    fn delete(&self, py: Python<'_>, id: Option<u32>) -> PyResult<bool> {
        self.ask(py, move |engine| {
            let points = engine.points_mut();
            Ok(match id {
                Some(id) => points.delete(id),
                None => {
                    points.breakpoints.clear();
                    points.watchpoints.clear();
                    true
                }
            })
        })
    }

    fn set(&self, py: Python<'_>, by_warp: bool, stops_at_findings: bool) -> PyResult<()> {
        self.ask(py, move |engine| {
            engine.points_mut().settings.stepping = if by_warp { Stepping::Warp } else { Stepping::Lane };
            engine.stop_at_findings(stops_at_findings);
            Ok(())
        })
    }

    /// The value of an expression.
    fn value(&self, py: Python<'_>, text: String) -> PyResult<Object> {
        self.ask(py, move |engine| engine.data(&text).map(Object).map_err(refused))
    }

    /// The same as text.
    fn text(&self, py: Python<'_>, text: String, letter: Option<char>) -> PyResult<String> {
        let format = match letter.map(|letter| Format::letter(letter).ok_or(letter)) {
            None => Format::Natural,
            Some(Ok(format)) => format,
            Some(Err(letter)) => return Err(Error::new_err(format!("`{letter}` is no format"))),
        };
        self.ask(py, move |engine| engine.show(&text, format).map_err(refused))
    }

    /// The type of an expression, or one that is named, with its parts.
    fn type_of(&self, py: Python<'_>, text: String) -> PyResult<String> {
        self.ask(py, move |engine| engine.type_of(&text).map(|ty| ty.describe()).map_err(refused))
    }

    /// The values in all lanes of the warp or block in focus, by thread; none where there is none.
    fn across(&self, py: Python<'_>, text: String, block: bool) -> PyResult<Vec<(Extents, Option<Object>)>> {
        self.ask(py, move |engine| {
            let (bound, _) = engine.bind(&text).map_err(refused)?;
            let warps = (!block).then_some(engine.focus().warp.warp);
            let rows = engine.across_data(&bound, warps).map_err(refused)?;
            let row = |(focus, value): (Focus, debugger::Result<Data>)| {
                (extents(engine.thread(focus)), value.ok().map(Object))
            };
            Ok(rows.into_iter().map(row).collect())
        })
    }

    fn assign(&self, py: Python<'_>, text: String) -> PyResult<bool> {
        self.ask(py, move |engine| engine.assign(&text).map_err(refused))
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        of: &str,
        address: u64,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let of = space(of)?;
        let bytes = self.ask(py, move |engine| {
            let mut bytes = Vec::new();
            let room = bytes.try_reserve_exact(count);
            room.map_err(|_| Error::new_err(format!("there is no room for {count} bytes")))?;
            bytes.resize(count, 0);
            engine.read(of, address, &mut bytes).map_err(refused)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn write(&self, py: Python<'_>, of: &str, address: u64, bytes: Vec<u8>) -> PyResult<()> {
        let of = space(of)?;
        self.ask(py, move |engine| engine.write(of, address, &bytes).map_err(refused))
    }

    fn focus(&self, py: Python<'_>, block: Option<Extents>, thread: Option<Extents>) -> PyResult<Stop> {
        self.run(py, move |engine| {
            let own = engine.focus();
            let dim = |(x, y, z): Extents| Dim3::new(x, y, z);
            let block = block.map_or(engine.block(own.warp.block), dim);
            let thread = thread.map_or(engine.thread(own), dim);
            engine.set_focus(block, thread)?;
            Ok(Reason::Stepped)
        })
    }

    fn frame(&self, py: Python<'_>, number: usize) -> PyResult<Stop> {
        self.run(py, move |engine| engine.set_frame(number).map(|()| Reason::Stepped))
    }

    fn frames(&self, py: Python<'_>) -> PyResult<Vec<Place>> {
        self.ask(py, |engine| {
            let count = engine.frames().map_err(refused)?.len();
            Ok((0..count).filter_map(|at| place(engine, at)).collect())
        })
    }

    /// Names that can be used where it stands: `arguments`, `locals`, `shared`, `buffers` or `registers`.
    fn names(&self, py: Python<'_>, of: String) -> PyResult<Vec<String>> {
        self.ask(py, move |engine| {
            let scope = engine.scope_here();
            Ok(match &*of {
                "arguments" => scope.arguments(),
                "locals" => scope.locals(),
                "shared" => scope.shared().into_iter().map(|(name, ..)| name).collect(),
                "buffers" => scope.buffers(),
                "registers" => scope.registers().into_iter().map(|(name, _)| name).collect(),
                other => return Err(Error::new_err(format!("there are no names of `{other}`"))),
            })
        })
    }

    /// What is found so far, or known from a tool: number, time if that is known, kind, what the command prints.
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<Known>> {
        let root = self.root.clone();
        self.ask(py, move |engine| {
            let module = engine.program().module().clone();
            let sources = Sources { module: &module, root: root.as_deref() };
            let all = engine.found().iter().zip(1..);
            let rows = all.flat_map(|(found, number)| {
                let row = |one: &sim_core::Finding| {
                    (number, found.time, one.kind.name(), finding::message(one, &sources).plain())
                };
                found.findings.iter().map(row).collect::<Vec<_>>()
            });
            Ok(rows.collect())
        })
    }

    /// Where the lanes of all resident warps are, group by group.
    fn warps(&self, py: Python<'_>) -> PyResult<Vec<Waiting>> {
        self.ask(py, |engine| {
            let look = engine.session().look();
            let program = engine.program();
            let mut rows = Vec::new();
            for block in look.blocks() {
                for warp in block.warps() {
                    for group in warp.groups() {
                        let Some(place) = program.place(group.position()) else { continue };
                        let line = place.line();
                        rows.push(Waiting {
                            block: extents(block.position()),
                            warp: warp.index(),
                            lanes: group.lanes(),
                            waits: match group.waits_for() {
                                WaitsFor::Nothing => None,
                                WaitsFor::Barrier(number) => Some(format!("barrier {number}")),
                                WaitsFor::Lanes(lanes) => Some(format!("lanes {lanes:#x}")),
                                WaitsFor::Cluster => Some("cluster".into()),
                                WaitsFor::Warpgroup => Some("warpgroup".into()),
                            },
                            file: program.file(line).to_owned(),
                            line: line_number(line),
                            instruction: program.text(group.position()),
                        });
                    }
                }
            }
            Ok(rows)
        })
    }

    /// What the kernel printed so far.
    fn output<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let output = self.ask(py, |engine| Ok(engine.session().output()))?;
        Ok(PyBytes::new(py, &output))
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        // The thread goes when nobody can ask it any more; what it runs stands still soon.
        self.interrupt.store(true, Relaxed);
    }
}
