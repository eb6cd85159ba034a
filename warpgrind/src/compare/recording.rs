//! Recordings: what a device made of a launch file, kept in a file.
//!
//! A recording is a gzip file. Its content is a line of JSON, `Head`, and then the bytes of the buffers that have
//! changed, in the order of the head. gzip's checksum and length cover everything, so that a truncated or damaged file
//! is noticed; the head's first fields say what it is and which version of the format.

use std::io::{BufRead, BufReader, Read, Write};

use device::OptLevel;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sim_core::FaultClass;
use thiserror::Error;

use super::DeviceIdentity;
use crate::array::{Array, Element, count};
use crate::module::Module;
use crate::run::{Contents, InputDigest, LaunchEnd, Outputs, hex};

const FORMAT: &str = "warpgrind recording";
/// Grows when an older program could not read the file rightly. Version 1 had one level of optimisation.
const VERSION: u32 = 2;
/// The largest head that is read: a launch file that needs more is no launch file.
const MAX_HEAD: u64 = 16 << 20;

/// Why a recording cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file is something else.
    #[error("not a recording: {0}")]
    NoRecording(&'static str),
    /// A newer program made it.
    #[error("version {0} of the format; this program reads versions 1 to {VERSION}")]
    Version(u32),
    /// The end is missing.
    #[error("the recording is truncated")]
    Truncated,
    /// Checksum or compression are wrong.
    #[error("the recording is damaged: {0}")]
    Damaged(std::io::Error),
    /// It is whole, but what it says does not fit together or does not fit the plan.
    #[error("{0}")]
    Inconsistent(String),
    /// It is one of other PTX or other inputs.
    #[error("the recording was made with other {what}")]
    OfOther {
        /// `PTX` or `inputs`.
        what: &'static str,
        /// The first thing that differs.
        detail: String,
    },
    /// It does not hold this level of optimisation.
    #[error("the recording does not hold level {wanted} of optimisation")]
    Level {
        /// What is asked for.
        wanted: u8,
        /// What it holds.
        held: u8,
    },
    /// It cannot be made.
    #[error("cannot make the recording: {0}")]
    Unwritable(std::io::Error),
}

/// The line of JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    #[serde(flatten)]
    body: Body,
}

/// What is known of the format before the version is.
#[derive(Deserialize)]
struct Beginning {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Body {
    /// The program that recorded.
    program: String,
    device: DeviceIdentity,
    /// The PTX texts in order.
    ptx: Vec<InputDigest>,
    inputs: Vec<InputDigest>,
    launches: Vec<End>,
    /// Null if the last launch stopped early.
    buffers: Option<Vec<Stored>>,
    /// A second run of the device gave the same.
    #[serde(default = "yes")]
    repeats: bool,
    /// What the device gave with its optimiser off, if that was run.
    #[serde(default)]
    unoptimised: Option<Unoptimised>,
}

fn yes() -> bool {
    true
}

/// What the device gave with its optimiser off. The buffers that differ from the first ones follow them.
#[derive(Serialize, Deserialize)]
struct Unoptimised {
    launches: Vec<End>,
    buffers: Option<Vec<Stored>>,
}

/// What is in a recording.
pub struct Recorded {
    /// The device.
    pub identity: DeviceIdentity,
    /// At the level of optimisation that `identity` says.
    pub outputs: Outputs,
    /// Another run gave the same.
    pub repeats: bool,
    /// With the optimiser off, if that was run beside.
    pub unoptimised: Option<Outputs>,
}

impl Recorded {
    /// The recording as one of this level of optimisation.
    ///
    /// # Errors
    /// [`RecordingError::Level`]
    pub fn at(mut self, level: OptLevel) -> Result<Self, RecordingError> {
        let recorded = self.identity.optimization;
        if recorded == level {
            return Ok(self);
        }
        match self.unoptimised.take() {
            Some(outputs) if level == OptLevel::OFF => {
                self.identity.optimization = level;
                Ok(Self { outputs, ..self })
            }
            _ => Err(RecordingError::Level { wanted: level.number(), held: recorded.number() }),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct End {
    kernel: String,
    fault: Option<String>,
    message: String,
    output: String,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    #[serde(rename = "type")]
    element: String,
    shape: Vec<u64>,
    /// The bytes follow the head; otherwise the contents are those before the first launch, or for a device whose
    /// optimiser was off those with it on.
    changed: bool,
}

fn ends(outputs: &Outputs) -> Vec<End> {
    let end = |ended: &LaunchEnd| End {
        kernel: ended.kernel.clone(),
        fault: ended.fault.map(|class| class.name().to_string()),
        message: ended.message.clone(),
        output: latin1(&ended.output),
    };
    outputs.launches.iter().map(end).collect()
}

fn stored(buffer: &Contents, changed: bool) -> Stored {
    Stored {
        name: buffer.name.clone(),
        element: buffer.array.element.name().into(),
        shape: buffer.array.shape.clone(),
        changed,
    }
}

/// Buffers of a device whose optimiser was off, and whether each differs from that with it on.
fn beside<'a>(outputs: &'a Outputs, first: &Outputs) -> Option<Vec<(&'a Contents, bool)>> {
    let first = first.buffers.as_deref().unwrap_or_default();
    let differs = |(at, buffer): (usize, &'a Contents)| {
        let before = first.get(at).map_or(&buffer.before, |first| &first.array.bytes);
        (buffer, buffer.array.bytes != *before)
    };
    outputs.buffers.as_ref().map(|buffers| buffers.iter().enumerate().map(differs).collect())
}

/// The content of the file.
///
/// # Errors
/// [`RecordingError::Unwritable`]
pub fn write(module: &Module, recorded: &Recorded) -> Result<Vec<u8>, RecordingError> {
    let Recorded { identity, outputs, repeats, unoptimised } = recorded;
    let off = unoptimised.as_ref().map(|off| (off, beside(off, outputs)));
    let head = Head {
        format: FORMAT.into(),
        version: VERSION,
        body: Body {
            program: format!("warpgrind {}", env!("CARGO_PKG_VERSION")),
            device: identity.clone(),
            ptx: ptx(module),
            inputs: outputs.inputs.clone(),
            launches: ends(outputs),
            buffers: outputs
                .buffers
                .as_ref()
                .map(|buffers| buffers.iter().map(|buffer| stored(buffer, buffer.changed())).collect()),
            repeats: *repeats,
            unoptimised: off.as_ref().map(|(off, buffers)| Unoptimised {
                launches: ends(off),
                buffers: buffers.as_ref().map(|buffers| {
                    buffers.iter().map(|(buffer, differs)| stored(buffer, *differs)).collect()
                }),
            }),
        },
    };
    let failed = RecordingError::Unwritable;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    serde_json::to_writer(&mut encoder, &head).map_err(|error| failed(error.into()))?;
    encoder.write_all(b"\n").map_err(failed)?;
    for buffer in outputs.buffers.iter().flatten().filter(|buffer| buffer.changed()) {
        encoder.write_all(&buffer.array.bytes).map_err(failed)?;
    }
    let off = off.as_ref().and_then(|(_, buffers)| buffers.as_ref());
    for (buffer, _) in off.into_iter().flatten().filter(|(_, differs)| *differs) {
        encoder.write_all(&buffer.array.bytes).map_err(failed)?;
    }
    encoder.finish().map_err(failed)
}

/// Reads the recording of what `simulator` and `module` describe.
///
/// # Errors
/// It is none, or one of something else.
pub fn read(bytes: &[u8], module: &Module, simulator: &Outputs) -> Result<Recorded, RecordingError> {
    if bytes.get(..2) != Some(&[0x1f, 0x8b]) {
        return Err(RecordingError::NoRecording("it is no gzip file"));
    }
    let mut content = BufReader::new(GzDecoder::new(bytes));
    parse(&mut content, module, simulator).map_err(|wrong| {
        // What is wrong may be so because the file is damaged, which shows at its end.
        match std::io::copy(&mut content, &mut std::io::sink()) {
            Ok(_) => wrong,
            Err(error) => damaged(error),
        }
    })
}

/// Whether the recorded device was let fuse products and sums; what is wrong with a recording is [`read`]'s to say.
pub fn contracted(bytes: &[u8]) -> bool {
    let mut line = Vec::new();
    let read = BufReader::new(GzDecoder::new(bytes)).take(MAX_HEAD).read_until(b'\n', &mut line);
    read.ok()
        .and_then(|_| serde_json::from_slice::<Head>(&line).ok())
        .is_none_or(|head| head.body.device.contraction)
}

fn parse(
    content: &mut impl BufRead,
    module: &Module,
    simulator: &Outputs,
) -> Result<Recorded, RecordingError> {
    let mut line = Vec::new();
    content.by_ref().take(MAX_HEAD).read_until(b'\n', &mut line).map_err(damaged)?;
    let no_head = || RecordingError::NoRecording("it does not begin with a recording's line of JSON");
    let beginning: Beginning = serde_json::from_slice(&line).map_err(|_| no_head())?;
    if beginning.format != FORMAT {
        return Err(no_head());
    }
    if !(1..=VERSION).contains(&beginning.version) {
        return Err(RecordingError::Version(beginning.version));
    }
    let head: Head = serde_json::from_slice(&line)
        .map_err(|error| wrong(format!("the recording's line of JSON is wrong: {error}")))?;
    let body = head.body;
    same("PTX", &body.ptx, &ptx(module))?;
    same("inputs", &body.inputs, &simulator.inputs)?;
    let launches = body.launches.into_iter().map(End::ended).collect::<Result<Vec<_>, _>>()?;
    let known = simulator.buffers.as_deref();
    let buffers = match body.buffers {
        Some(stored) => Some(read_buffers(stored, content, known, |known| known.before.clone())?),
        None => None,
    };
    let outputs = Outputs { inputs: body.inputs, launches, buffers };
    let unoptimised = match body.unoptimised {
        Some(off) => {
            let launches = off.launches.into_iter().map(End::ended).collect::<Result<Vec<_>, _>>()?;
            // Contents that are not in the file are those of the first level, or else those before the launches.
            let first = outputs.buffers.as_deref();
            let buffers = match (off.buffers, first) {
                (Some(stored), Some(first)) => {
                    Some(read_buffers(stored, content, Some(first), |first| first.array.bytes.clone())?)
                }
                (Some(stored), None) => {
                    Some(read_buffers(stored, content, known, |known| known.before.clone())?)
                }
                (None, _) => None,
            };
            Some(Outputs { inputs: outputs.inputs.clone(), launches, buffers })
        }
        None => None,
    };
    // The checksum is looked at when the end is reached.
    let mut rest = [0];
    match content.read(&mut rest).map_err(damaged)? {
        0 => Ok(Recorded { identity: body.device, outputs, repeats: body.repeats, unoptimised }),
        _ => Err(wrong("the recording goes on behind its end")),
    }
}

fn damaged(error: std::io::Error) -> RecordingError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => RecordingError::Truncated,
        _ => RecordingError::Damaged(error),
    }
}

fn wrong(message: impl Into<String>) -> RecordingError {
    RecordingError::Inconsistent(message.into())
}

/// Refuses a recording of something else; names the first thing that differs.
fn same(what: &'static str, recorded: &[InputDigest], now: &[InputDigest]) -> Result<(), RecordingError> {
    let refused = |detail: String| Err(RecordingError::OfOther { what, detail });
    if let Some((one, other)) = recorded.iter().zip(now).find(|(one, other)| one != other) {
        return refused(match one.what == other.what {
            true => format!("{}: SHA-256 {} recorded, {} now", one.what, one.sha256, other.sha256),
            false => format!("{} recorded where {} is now", one.what, other.what),
        });
    }
    match (recorded.get(now.len()), now.get(recorded.len())) {
        (Some(more), _) => refused(format!("{} was recorded and is not there now", more.what)),
        (_, Some(more)) => refused(format!("{} was not recorded", more.what)),
        (None, None) => Ok(()),
    }
}

fn ptx(module: &Module) -> Vec<InputDigest> {
    let digest = |(at, source): (usize, &ptx_frontend::Source)| InputDigest {
        what: format!("PTX file {at}"),
        sha256: hex(&Sha256::digest(source.text.as_bytes())),
    };
    module.checked().sources.iter().enumerate().map(digest).collect()
}

impl End {
    fn ended(self) -> Result<LaunchEnd, RecordingError> {
        let fault = match self.fault {
            None => None,
            Some(name) => Some(FaultClass::from_name(&name).ok_or_else(|| {
                wrong(format!("the recording names a class of faults `{name}` that does not exist"))
            })?),
        };
        let output = bytes_of(&self.output)
            .ok_or_else(|| wrong("the recording holds printed characters that are no bytes"))?;
        Ok(LaunchEnd { kernel: self.kernel, fault, message: self.message, output })
    }
}

/// Buffers as the recording has them. Inputs are known to be the same, so the simulator's say which there must be.
fn read_buffers(
    stored: Vec<Stored>,
    content: &mut impl Read,
    // Without the simulator's buffers there is nothing to compare with, but the file is read to its end.
    known: Option<&[Contents]>,
    unchanged: impl Fn(&Contents) -> Vec<u8>,
) -> Result<Vec<Contents>, RecordingError> {
    if known.is_some_and(|known| known.len() != stored.len()) {
        return Err(wrong("the recording has another number of buffers than the launch file"));
    }
    let mut buffers = Vec::new();
    for (at, stored) in stored.into_iter().enumerate() {
        let other =
            || wrong(format!("the recording's buffer `{}` is not as the launch file has it", stored.name));
        let element = Element::from_name(&stored.element).ok_or_else(other)?;
        let count = count(&stored.shape).map_err(|error| wrong(error.to_string()))?;
        let size = count.checked_mul(element.bytes() as u64).ok_or_else(other)?;
        let known = known.map(|known| &known[at]);
        if known.is_some_and(|known| {
            known.name != stored.name || known.array.element != element || known.array.shape != stored.shape
        }) {
            return Err(other());
        }
        let before = known.map(|known| known.before.clone()).unwrap_or_default();
        let bytes = if stored.changed {
            let mut bytes = Vec::new();
            if content.by_ref().take(size).read_to_end(&mut bytes).map_err(damaged)? as u64 != size {
                return Err(damaged(std::io::ErrorKind::UnexpectedEof.into()));
            }
            bytes
        } else {
            known.map(&unchanged).unwrap_or_default()
        };
        let array = Array { element, shape: stored.shape.clone(), bytes };
        buffers.push(Contents { name: stored.name, array, before });
    }
    Ok(buffers)
}

/// Bytes as characters of the same numbers, since JSON holds only text.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}
