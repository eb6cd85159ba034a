//! Devices, comparisons and recordings, for people and for programs; `cli/REPORT.md` describes the documents.

use std::path::{Path, PathBuf};

use device::{Driver, Properties};
use ptx_frontend::{Diagnostic, Elsewhere, Severity, Source};
use serde::Serialize;
use warpgrind::array::{Array, Element};
use warpgrind::compare::cause::Cause;
use warpgrind::compare::difference::{Bin, Difference};
use warpgrind::compare::verdict::{self, BufferVerdict, LaunchVerdict, Printed, Verdict};
use warpgrind::compare::{DeviceIdentity, Sides};
use warpgrind::run::LaunchEnd;

use crate::exit::{Exit, Failure};
use crate::report::{Console, DiagnosticJson, FailureJson, Message, SCHEMA, index, plural};

const CONTRACTION: &str = "the PTX leaves its compiler free to fuse products and sums, which changes how they round; \
                           `--no-contraction` forbids it";

/// The devices, or why there are none.
pub(super) fn devices(found: Result<(Driver, Vec<Properties>), Failure>, exit: Exit, console: &Console) {
    if !console.is_human() {
        let (driver, devices, error) = match &found {
            Ok((driver, devices)) => (Some(driver), &devices[..], None),
            Err(failure) => (None, &[][..], Some(failure)),
        };
        console.json(&DevicesJson {
            schema: SCHEMA,
            command: "devices",
            exit_code: exit.code(),
            error: error.map(FailureJson::from),
            driver: driver.map(|driver| DriverJson {
                library: driver.path().display().to_string(),
                cuda: format!("{}.{}", driver.version().major, driver.version().minor),
            }),
            devices: devices.iter().map(DeviceJson::from).collect(),
        });
        return;
    }
    match found {
        Ok((driver, devices)) => {
            for device in devices {
                console.out(format!(
                    "{}: {}, compute capability {}, {}, {:.1} GiB\n",
                    device.index,
                    device.name,
                    device.capability(),
                    plural(device.multiprocessors.into(), "multiprocessor"),
                    device.memory as f64 / (1u64 << 30) as f64
                ));
            }
            console.out(format!("driver: {} ({})\n", driver.version(), driver.path().display()));
        }
        Err(failure) => console.failure(&failure),
    }
}

#[derive(Serialize)]
struct DevicesJson {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    error: Option<FailureJson>,
    driver: Option<DriverJson>,
    devices: Vec<DeviceJson>,
}

#[derive(Serialize)]
struct DriverJson {
    library: String,
    cuda: String,
}

#[derive(Serialize)]
struct DeviceJson {
    index: u32,
    name: String,
    capability: String,
    multiprocessors: u32,
    memory: u64,
    shared_per_block: u32,
}

impl From<&Properties> for DeviceJson {
    fn from(device: &Properties) -> Self {
        Self {
            index: device.index,
            name: device.name.clone(),
            capability: device.capability(),
            multiprocessors: device.multiprocessors,
            memory: device.memory,
            shared_per_block: device.shared_per_block,
        }
    }
}

/// Presents the results of `compare` and `record`, one launch file after the other.
pub(super) struct Reporter<'a> {
    console: &'a Console,
    command: &'static str,
    tolerance: Option<u64>,
    worst: Exit,
    diagnostics: Vec<DiagnosticJson>,
    files: Vec<FileJson>,
    agreed: u64,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(console: &'a Console, command: &'static str, tolerance: Option<u64>) -> Self {
        Self {
            console,
            command,
            tolerance,
            worst: Exit::Clean,
            diagnostics: Vec::new(),
            files: Vec::new(),
            agreed: 0,
        }
    }

    /// A diagnostic of the front end, about the file whose result comes next.
    pub(super) fn diagnostic(
        &mut self,
        diagnostic: &Diagnostic,
        source: &Source,
        elsewhere: &[Elsewhere],
        json: DiagnosticJson,
    ) {
        match self.console.is_human() {
            true => self.console.diagnostic(diagnostic, source, elsewhere),
            false => self.diagnostics.push(json),
        }
    }

    fn add(&mut self, file: &Path, exit: Exit, error: Option<&Failure>, result: FileResult) {
        self.worst = self.worst.max(exit);
        if !self.console.is_human() {
            self.files.push(FileJson {
                file: file.display().to_string(),
                exit_code: exit.code(),
                error: error.map(FailureJson::from),
                diagnostics: std::mem::take(&mut self.diagnostics),
                result,
            });
        } else if let Some(failure) = error {
            self.console.err(format!("{}: not done\n", file.display()));
            self.console.failure(failure);
        }
    }

    /// A launch file on both sides.
    pub(super) fn compared(&mut self, file: &Path, sides: Result<Sides, Failure>) {
        let sides = match sides {
            Ok(sides) => sides,
            Err(failure) => {
                let result = FileResult::default();
                return self.add(file, failure.exit, Some(&failure), result);
            }
        };
        let verdict = verdict::compare(&sides.simulator, &sides.device, self.tolerance);
        let exit = if verdict.agrees() { Exit::Clean } else { Exit::Findings };
        self.agreed += u64::from(verdict.agrees());
        if self.console.is_human() {
            self.human(file, &sides, &verdict);
        }
        let result = FileResult {
            device: Some(sides.identity.clone()),
            launches: Some(verdict.launches.iter().map(LaunchJson::from).collect()),
            buffers: Some(verdict.buffers.iter().map(BufferJson::from).collect()),
            cause: Some(sides.cause.map(Cause::name)),
            recording: None,
        };
        self.add(file, exit, None, result);
    }

    fn human(&self, file: &Path, sides: &Sides, verdict: &Verdict<'_>) {
        let (file, identity) = (file.display(), &sides.identity);
        for launch in &verdict.launches {
            if let Some(message) = launch_message(launch, identity) {
                self.console.err(format!("{file}\n{}\n", message.render()));
            }
        }
        for buffer in verdict.buffers.iter().filter(|buffer| buffer.difference.differing > 0) {
            let mut message = buffer_message(buffer, identity);
            if buffer.simulator.element.is_float() && sides.contractable && identity.contraction {
                message.help.push(CONTRACTION.into());
            }
            self.console.err(format!("{file}\n{}\n", message.render()));
        }
        if verdict.agrees() {
            self.console.out(format!("{file}: {}\n", agreement(verdict, identity)));
        } else {
            let cause = sides.cause.map_or(String::new(), |cause| format!(": {}", cause_text(cause)));
            self.console.out(format!("{file}: differs from {identity}{cause}\n"));
        }
    }

    /// A launch file that was recorded: where, of what device, in how many bytes.
    pub(super) fn recorded(
        &mut self,
        file: &Path,
        result: Result<(PathBuf, DeviceIdentity, usize), Failure>,
    ) {
        match result {
            Ok((path, identity, bytes)) => {
                if self.console.is_human() {
                    let path = path.display();
                    self.console.out(format!("{path}: {} of {identity}\n", plural(bytes as u64, "byte")));
                }
                self.agreed += 1;
                let recording = Some(RecordingJson { path: path.display().to_string(), bytes });
                let result = FileResult { device: Some(identity), recording, ..FileResult::default() };
                self.add(file, Exit::Clean, None, result);
            }
            Err(failure) => self.add(file, failure.exit, Some(&failure), FileResult::default()),
        }
    }

    /// Ends the report; the gravest exit code of all files.
    pub(super) fn finish(self) -> Exit {
        if !self.console.is_human() {
            self.console.json(&Document {
                schema: SCHEMA,
                command: self.command,
                exit_code: self.worst.code(),
                files: self.files,
            });
        }
        self.worst
    }
}

/// `agrees with NVIDIA H200 (CUDA 13.0): 3 buffers, 300 values`
fn agreement(verdict: &Verdict<'_>, identity: &DeviceIdentity) -> String {
    let mut text = format!("agrees with {identity}: ");
    match verdict.launches.last().and_then(|launch| launch.simulator?.fault) {
        Some(class) => text.push_str(&format!("both stop at a fault of class {}", class.name())),
        None => text.push_str(&format!(
            "{}, {}",
            plural(verdict.buffers.len() as u64, "buffer"),
            plural(verdict.values(), "value")
        )),
    }
    let largest = verdict.buffers.iter().map(|buffer| buffer.difference.largest).max().unwrap_or(0);
    if largest > 0 {
        text.push_str(&format!(", at most {largest} ulp apart"));
    }
    if verdict.launches.iter().any(|launch| launch.simulator.is_some_and(|ended| !ended.output.is_empty())) {
        text.push_str(match verdict.launches.iter().any(|launch| launch.printed == Printed::OtherOrder) {
            true => ", the printed lines in another order",
            false => ", and what is printed",
        });
    }
    text
}

/// Whose doing a difference is, for people.
fn cause_text(cause: Cause) -> &'static str {
    match cause {
        Cause::Simulator { optimiser_too: false } => {
            "the simulator's doing: the device gives the same with its optimiser off"
        }
        Cause::Simulator { optimiser_too: true } => {
            "the simulator's doing, and the optimiser's: with it off the device gives something else, but not what \
             the simulator gives"
        }
        Cause::Optimiser => "the doing of the device's optimiser: with it off (`--device-opt 0`) both agree",
        Cause::Order => "the doing of the order of threads: the device differs from itself, run by run",
    }
}

fn mismatch(title: String, notes: Vec<String>, help: Vec<String>) -> Message {
    Message {
        severity: Severity::Error,
        id: Some("mismatch".to_string()),
        title,
        excerpts: Vec::new(),
        notes,
        help,
    }
}

fn launch_message(launch: &LaunchVerdict<'_>, identity: &DeviceIdentity) -> Option<Message> {
    let words =
        |ended: Option<&LaunchEnd>| ended.map_or("not run".to_string(), |ended| ended.message.clone());
    if !launch.same_end {
        let mut help = Vec::new();
        if let (Some(Some(_)), Some(None)) =
            (launch.simulator.map(|ended| ended.fault), launch.device.map(|ended| ended.fault))
        {
            help.push(
                "a device notices only accesses outside of its pages and some misuse; the simulator checks every byte"
                    .to_string(),
            );
        }
        return Some(mismatch(
            format!("`{}` ends in another way than on {identity}", launch.kernel),
            vec![
                format!("simulator: {}", words(launch.simulator)),
                format!("device: {}", words(launch.device)),
            ],
            help,
        ));
    }
    match &launch.printed {
        Printed::Different(line, simulator, device) => Some(mismatch(
            format!("`{}` prints something else than on {identity}", launch.kernel),
            vec![format!(
                "the line {line:?}: {simulator} times on the simulator, {device} times on the device"
            )],
            Vec::new(),
        )),
        _ => None,
    }
}

fn buffer_message(buffer: &BufferVerdict<'_>, identity: &DeviceIdentity) -> Message {
    let difference = &buffer.difference;
    let element = buffer.simulator.element;
    let mut notes = Vec::new();
    if let Some(first) = difference.first {
        let show = |array: &Array| format!("{} ({})", array.show(first), element.hex(array.bits(first)));
        notes.push(format!(
            "first at {}: {} on the simulator, {} on the device",
            index(buffer.simulator, first),
            show(buffer.simulator),
            show(buffer.device)
        ));
    }
    notes.push(format!(
        "{} of {} differ; the largest difference is {}{}",
        difference.differing,
        plural(difference.values as u64, "value"),
        difference.largest,
        unit(element)
    ));
    notes.push(histogram(difference, element));
    mismatch(format!("`{}` is not as on {identity}", buffer.name), notes, Vec::new())
}

fn unit(element: Element) -> &'static str {
    if element.is_float() { " ulp" } else { "" }
}

/// `3 values equal, 1 by 1 ulp, 2 by 4 to 7 ulp`
fn histogram(difference: &Difference, element: Element) -> String {
    let parts = difference.histogram.iter().map(|&(bin, count)| match bin {
        Bin::NanBits => format!("{count} NaNs with other bits"),
        Bin::NanAndNumber => format!("{count} NaNs against numbers"),
        bin => match bin.range() {
            Some((0, _)) | None => format!("{} equal", plural(count as u64, "value")),
            Some((first, last)) if first == last => format!("{count} by {first}{}", unit(element)),
            Some((first, last)) => format!("{count} by {first} to {last}{}", unit(element)),
        },
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    command: &'static str,
    exit_code: u8,
    files: Vec<FileJson>,
}

#[derive(Serialize)]
struct FileJson {
    file: String,
    exit_code: u8,
    error: Option<FailureJson>,
    diagnostics: Vec<DiagnosticJson>,
    #[serde(flatten)]
    result: FileResult,
}

#[derive(Serialize, Default)]
struct FileResult {
    device: Option<DeviceIdentity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launches: Option<Vec<LaunchJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffers: Option<Vec<BufferJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Option<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<RecordingJson>,
}

#[derive(Serialize)]
struct RecordingJson {
    path: String,
    bytes: usize,
}

#[derive(Serialize)]
struct LaunchJson {
    kernel: String,
    agrees: bool,
    simulator: Option<EndJson>,
    device: Option<EndJson>,
    printed: &'static str,
}

#[derive(Serialize)]
struct EndJson {
    fault: Option<&'static str>,
    message: String,
    output: String,
}

impl From<&LaunchEnd> for EndJson {
    fn from(ended: &LaunchEnd) -> Self {
        Self {
            fault: ended.fault.map(|class| class.name()),
            message: ended.message.clone(),
            output: String::from_utf8_lossy(&ended.output).into_owned(),
        }
    }
}

impl From<&LaunchVerdict<'_>> for LaunchJson {
    fn from(launch: &LaunchVerdict<'_>) -> Self {
        Self {
            kernel: launch.kernel.to_string(),
            agrees: launch.same_end && !matches!(launch.printed, Printed::Different(..)),
            simulator: launch.simulator.map(EndJson::from),
            device: launch.device.map(EndJson::from),
            printed: match launch.printed {
                Printed::Equal => "equal",
                Printed::OtherOrder => "other-order",
                Printed::Different(..) => "different",
                Printed::NotCompared => "not-compared",
            },
        }
    }
}

#[derive(Serialize)]
struct BufferJson {
    name: String,
    #[serde(rename = "type")]
    element: &'static str,
    shape: Vec<u64>,
    values: usize,
    differing: usize,
    largest_ulp: u64,
    first: Option<FirstJson>,
    histogram: Vec<BinJson>,
}

#[derive(Serialize)]
struct FirstJson {
    index: usize,
    position: Vec<u64>,
    simulator: String,
    device: String,
    simulator_bits: String,
    device_bits: String,
}

#[derive(Serialize)]
struct BinJson {
    kind: &'static str,
    from: Option<u64>,
    to: Option<u64>,
    count: usize,
}

impl From<&BufferVerdict<'_>> for BufferJson {
    fn from(buffer: &BufferVerdict<'_>) -> Self {
        let (one, other) = (buffer.simulator, buffer.device);
        let difference = &buffer.difference;
        Self {
            name: buffer.name.to_string(),
            element: one.element.name(),
            shape: one.shape.clone(),
            values: difference.values,
            differing: difference.differing,
            largest_ulp: difference.largest,
            first: difference.first.map(|at| FirstJson {
                index: at,
                position: one.position(at),
                simulator: one.show(at),
                device: other.show(at),
                simulator_bits: one.element.hex(one.bits(at)),
                device_bits: one.element.hex(other.bits(at)),
            }),
            histogram: difference
                .histogram
                .iter()
                .map(|&(bin, count)| BinJson {
                    kind: match bin {
                        Bin::Equal => "equal",
                        Bin::NanBits => "nan-bits",
                        Bin::Apart(_) => "apart",
                        Bin::NanAndNumber => "nan-and-number",
                    },
                    from: bin.range().map(|(from, _)| from),
                    to: bin.range().map(|(_, to)| to),
                    count,
                })
                .collect(),
        }
    }
}
