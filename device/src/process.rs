//! A device that another process uses, so that a kernel's fault or endless loop costs that process only.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_frontend::Module;
use sim_core::{Backend, DevicePtr, Error, Launch, LaunchReport, ModuleId, RunOptions};

use crate::error::OpenError;
use crate::jit::Image;
use crate::options::Options;
use crate::properties::{DriverVersion, Properties};
use crate::protocol::{Answer, Identity, Request, receive, send};

/// The program that uses the device: it calls [`crate::serve`].
#[derive(Clone, Debug)]
pub struct Server {
    /// Its file.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// A device used by a process of its own.
///
/// When a kernel faults or exceeds [`RunOptions::timeout`], that process is ended and the next request starts a new
/// one. Memory and modules from before are gone then: freeing and unloading them is accepted, everything else about
/// them is answered with [`Error::Lost`].
#[derive(Debug)]
pub struct DeviceProcess {
    server: Server,
    options: Options,
    identity: Identity,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<Connection>,
    /// The process's numbers of modules.
    modules: HashMap<ModuleId, u32>,
    next_module: u32,
    /// Why the last process was ended.
    lost: Option<String>,
}

#[derive(Debug)]
struct Connection {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Connection {
    /// Starts the process and opens the device there.
    fn open(server: &Server, options: &Options) -> Result<(Self, Identity), OpenError> {
        let failed = |what: &str, error: std::io::Error| OpenError::Process(format!("{what}: {error}"));
        let mut child = Command::new(&server.program)
            .args(&server.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed("did not start", error))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(OpenError::Process("has no standard streams".into()));
        };
        let mut connection = Self { child, requests, answers: BufReader::new(answers) };
        match connection.ask(&Request::Open(options.clone())) {
            Ok(Answer::Opened(opened)) => opened.map(|identity| (connection, identity)),
            Ok(_) => Err(OpenError::Process("gave a wrong answer".into())),
            Err(why) => Err(OpenError::Process(why)),
        }
    }

    /// The answer, or what became of the process.
    fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        let answer = send(&mut self.requests, request).and_then(|()| receive(&mut self.answers));
        match answer {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(match self.child.wait() {
                Ok(status) => format!("ended: {status}"),
                Err(error) => format!("ended: {error}"),
            }),
            Err(error) => Err(format!("does not answer: {error}")),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A kernel that still runs ends with the process; waiting leaves no zombie behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl DeviceProcess {
    /// Starts a process that opens the device.
    pub fn open(server: Server, options: Options) -> Result<Self, OpenError> {
        let (connection, identity) = Connection::open(&server, &options)?;
        let state = State { connection: Some(connection), ..State::default() };
        Ok(Self { server, options, identity, state: Mutex::new(state) })
    }

    /// What device it is.
    pub fn properties(&self) -> &Properties {
        &self.identity.properties
    }

    /// The driver's version.
    pub fn driver_version(&self) -> DriverVersion {
        self.identity.version
    }

    /// The driver's library.
    pub fn library(&self) -> &Path {
        &self.identity.library
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, state: &mut State, request: &Request) -> Result<Answer, Error> {
        if state.connection.is_none() {
            let (connection, _) = Connection::open(&self.server, &self.options)
                .map_err(|error| Error::Lost(error.to_string()))?;
            state.connection = Some(connection);
        }
        let answer = match &mut state.connection {
            Some(connection) => connection.ask(request),
            None => Err("is not there".into()),
        };
        match answer {
            Ok(Answer::Refused(refusal)) => match refusal.into() {
                Error::InvalidAddress(text) => Err(state.lost_or(Error::InvalidAddress(text))),
                error => Err(error),
            },
            Ok(answer) => Ok(answer),
            Err(why) => {
                let why = format!("the process that used the device {why}");
                state.abandon(why.clone());
                Err(Error::Lost(why))
            }
        }
    }

    fn request(&self, request: &Request) -> Result<Answer, Error> {
        self.ask(&mut self.state(), request)
    }
}

impl State {
    fn module(&self, module: ModuleId) -> Result<u32, Error> {
        let unknown = || self.lost_or(Error::Backend(format!("module {} is not loaded", module.0)));
        self.modules.get(&module).copied().ok_or_else(unknown)
    }

    /// The error, or that what it is about was lost.
    fn lost_or(&self, error: Error) -> Error {
        match &self.lost {
            Some(why) => Error::Lost(format!("what the device held was lost: {why}")),
            None => error,
        }
    }

    /// Ends the process.
    fn abandon(&mut self, why: String) {
        self.connection = None;
        self.modules.clear();
        self.lost = Some(why);
    }
}

fn wrong_answer<T>() -> Result<T, Error> {
    Err(Error::Backend("the process for the device gave a wrong answer".into()))
}

impl Backend for DeviceProcess {
    fn name(&self) -> String {
        self.identity.properties.name.clone()
    }

    fn load(&self, module: Arc<Module>) -> Result<ModuleId, Error> {
        let mut state = self.state();
        match self.ask(&mut state, &Request::Load(Image::of(&module)))? {
            Answer::Module(number) => {
                let id = ModuleId(state.next_module);
                state.next_module += 1;
                state.modules.insert(id, number);
                Ok(id)
            }
            _ => wrong_answer(),
        }
    }

    fn unload(&self, module: ModuleId) -> Result<(), Error> {
        let mut state = self.state();
        match (state.modules.remove(&module), &state.lost) {
            (Some(number), _) => self.ask(&mut state, &Request::Unload(number)).map(|_| ()),
            (None, Some(_)) if module.0 < state.next_module => Ok(()),
            (None, _) => state.module(module).map(|_| ()),
        }
    }

    fn variable(&self, module: ModuleId, name: &str) -> Result<(DevicePtr, u64), Error> {
        let mut state = self.state();
        let number = state.module(module)?;
        match self.ask(&mut state, &Request::Variable(number, name.into()))? {
            Answer::Range(pointer, bytes) => Ok((pointer, bytes)),
            _ => wrong_answer(),
        }
    }

    fn alloc(&self, bytes: u64, _label: &str) -> Result<DevicePtr, Error> {
        match self.request(&Request::Alloc(bytes))? {
            Answer::Pointer(pointer) => Ok(pointer),
            _ => wrong_answer(),
        }
    }

    fn free(&self, pointer: DevicePtr) -> Result<(), Error> {
        let mut state = self.state();
        if state.connection.is_none() && state.lost.is_some() {
            return Ok(());
        }
        match self.ask(&mut state, &Request::Free(pointer)) {
            // It went away with an earlier process, which is as good as freed.
            Err(Error::Lost(_)) if state.lost.is_some() && state.connection.is_some() => Ok(()),
            result => result.map(|_| ()),
        }
    }

    fn write(&self, to: DevicePtr, bytes: &[u8]) -> Result<(), Error> {
        self.request(&Request::Write(to, bytes.to_vec())).map(|_| ())
    }

    fn read(&self, from: DevicePtr, bytes: &mut [u8]) -> Result<(), Error> {
        match self.request(&Request::Read(from, bytes.len() as u64))? {
            Answer::Bytes(read) if read.len() == bytes.len() => {
                bytes.copy_from_slice(&read);
                Ok(())
            }
            _ => wrong_answer(),
        }
    }

    fn fill(&self, to: DevicePtr, bytes: u64, pattern: &[u8]) -> Result<(), Error> {
        self.request(&Request::Fill(to, bytes, pattern.to_vec())).map(|_| ())
    }

    /// Runs a launch. Schedule, instruction limit and checks of `options` are the simulator's; the time limit holds
    /// here too.
    fn launch(&self, module: ModuleId, launch: &Launch, options: &RunOptions) -> Result<LaunchReport, Error> {
        let mut state = self.state();
        let number = state.module(module)?;
        let answer = self.ask(&mut state, &Request::Launch(number, launch.into(), options.timeout))?;
        let Answer::Ended(ended) = answer else { return wrong_answer() };
        if ended.stop.is_some() {
            state.abandon(format!("kernel `{}` did not come to its end", launch.kernel));
        }
        ended.report(launch)
    }
}
