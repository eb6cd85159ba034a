//! What requests do to a launch that is debugged.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use base64::Engine;
use debugger::format::Format;
use debugger::program::Line;
use debugger::types::Space;
use debugger::{Debugger, Focus, Reason, Step};
use reports::finding::{self, Sources};
use serde_json::{Value, json};
use sim_core::{CudaPlace, WarpId};

use super::client::{Client, Request};
use super::values::{Reference, References, memory_reference, place, select, value, variables, written};

/// What the adapter can do.
pub(super) fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsDataBreakpoints": true,
        "supportsInstructionBreakpoints": true,
        "supportsSteppingGranularity": true,
        "supportsDisassembleRequest": true,
        "supportsReadMemoryRequest": true,
        "supportsWriteMemoryRequest": true,
        "supportsSetVariable": true,
        "supportsSetExpression": true,
        "supportsCompletionsRequest": true,
        "supportsLogPoints": true,
        "supportsBreakpointLocationsRequest": true,
        "supportsLoadedSourcesRequest": true,
        "supportsRestartRequest": true,
        "supportsExceptionInfoRequest": true,
        "supportsValueFormattingOptions": true,
        "supportsTerminateRequest": true,
        "exceptionBreakpointFilters": [{
            "filter": "findings", "label": "Findings", "default": true,
            "description": "Stop where something is found: an access out of bounds, a fault, a deadlock",
        }],
    })
}

/// What outlives a launch.
pub(super) struct Kept {
    source_root: Option<PathBuf>,
    stop_on_entry: bool,
    /// Of every launch, not only of the first.
    pub(super) at_each: bool,
    stop_at_end: bool,
    configured: bool,
    /// Breakpoints by what set them.
    pub(super) set: HashMap<String, Vec<u32>>,
    /// By breakpoint: what it says instead of standing still.
    pub(super) logs: HashMap<u32, String>,
    findings: bool,
    /// Nothing more is to be debugged.
    pub(super) over: bool,
}

impl Kept {
    pub(super) fn new(source_root: Option<PathBuf>, stop_on_entry: bool, stop_at_end: bool) -> Self {
        let set = HashMap::new();
        Kept {
            source_root,
            stop_on_entry,
            at_each: false,
            stop_at_end,
            configured: false,
            set,
            logs: HashMap::new(),
            findings: true,
            over: false,
        }
    }
}

/// A launch that a client debugs.
pub(super) struct Adapter<'a, 'p, 's, 'g> {
    pub(super) debugger: Debugger<'p, 's, 'g>,
    pub(super) client: &'a mut Client,
    pub(super) kept: &'a mut Kept,
}

/// What is known of where the launch stands.
#[derive(Default)]
pub(super) struct Standing {
    pub(super) references: References,
    frames: Vec<(Focus, usize)>,
    finding: Option<usize>,
    printed: usize,
}

/// What a request leads to.
enum Done {
    Body(Value),
    /// The launch ran, and stands still for a reason; the request was answered.
    Ran(Reason),
    Leave,
}

pub(super) fn text_of(error: debugger::Error) -> String {
    error.to_string()
}

impl Adapter<'_, '_, '_, '_> {
    /// Answers requests until the launch is over or left.
    pub(super) fn run(&mut self) {
        let mut standing = Standing::default();
        self.debugger.stop_at_findings(self.kept.findings);
        if self.kept.configured {
            let stops = self.kept.stop_on_entry && self.kept.at_each;
            let reason = if stops { Reason::Started } else { self.debugger.restart() };
            if self.stands(&mut standing, &reason) {
                return;
            }
        }
        while let Some(request) = self.client.next() {
            match self.request(&request, &mut standing) {
                Ok(Done::Body(body)) => self.client.answer(&request, Ok(body)),
                Ok(Done::Leave) => {
                    self.client.answer(&request, Ok(Value::Null));
                    self.kept.over = true;
                    return;
                }
                Ok(Done::Ran(reason)) => {
                    let reason = self.past_logs(reason, &request);
                    if self.stands(&mut standing, &reason) {
                        return;
                    }
                }
                Err(text) => self.client.answer(&request, Err(text)),
            }
        }
        self.kept.over = true;
    }

    /// Goes on from log points as the request says.
    fn past_logs(&mut self, mut reason: Reason, request: &Request) -> Reason {
        while let Reason::Breakpoints(ids) = &reason
            && self.logs(ids)
        {
            reason = match &*request.command {
                "reverseContinue" => self.debugger.go_back(),
                // A step that met one is as far as it came.
                "next" | "stepIn" | "stepOut" | "stepBack" => Reason::Stepped,
                _ => self.debugger.go_on(),
            };
        }
        reason
    }

    fn warps(&self) -> u64 {
        (self.debugger.session().launch().block.count() as u64).div_ceil(32).max(1)
    }

    fn thread_id(&self, warp: WarpId) -> u64 {
        1 + warp.block * self.warps() + u64::from(warp.warp)
    }

    fn warp(&self, given: &Value) -> Result<WarpId, String> {
        let at = given["threadId"].as_u64().and_then(|id| id.checked_sub(1));
        let at = at.ok_or("there is no such thread")?;
        let warps = self.warps();
        match u128::from(at / warps) < self.debugger.session().launch().grid.count() {
            true => Ok(WarpId { block: at / warps, warp: (at % warps) as u32 }),
            false => Err("there is no such thread".into()),
        }
    }

    /// The lane of a warp that is looked at: that in focus, or the lowest that is there.
    fn lane(&self, warp: WarpId) -> Focus {
        let own = self.debugger.focus();
        if own.warp == warp {
            return own;
        }
        let look = self.debugger.session().look();
        let groups = look.block(warp.block).and_then(|block| Some(block.warp(warp.warp)?.groups()));
        let lane = groups.and_then(|groups| Some(groups.first()?.lanes().trailing_zeros())).unwrap_or(0);
        Focus { warp, lane }
    }

    /// Tells the client why the launch stands still; whether it is left.
    fn stands(&mut self, standing: &mut Standing, reason: &Reason) -> bool {
        standing.references.clear();
        standing.frames.clear();
        standing.finding = None;
        let output = self.debugger.session().output();
        if output.len() > standing.printed {
            let text = String::from_utf8_lossy(&output[standing.printed..]).into_owned();
            self.client.event("output", json!({"category": "stdout", "output": text}));
            standing.printed = output.len();
        }
        if self.client.gone {
            self.kept.over = true;
            return true;
        }
        let (word, text) = match reason {
            Reason::Started => ("entry", String::new()),
            Reason::Stepped => ("step", String::new()),
            Reason::Breakpoints(_) => ("breakpoint", String::new()),
            Reason::Condition(_, error) => {
                ("breakpoint", format!("the condition cannot be computed: {error}"))
            }
            Reason::Watchpoint { old, new, .. } => ("data breakpoint", format!("{old} -> {new}")),
            Reason::Finding(at) => {
                standing.finding = Some(*at);
                let finding = self.debugger.found()[*at].findings.first();
                ("exception", finding.map(|finding| finding.message.clone()).unwrap_or_default())
            }
            Reason::Exited => ("step", "the thread has exited".into()),
            Reason::Interrupted => ("pause", String::new()),
            Reason::Beginning => ("step", "this is where the launch begins".into()),
            Reason::Ended if !self.kept.stop_at_end => return true,
            Reason::Ended => ("pause", "the launch is over".into()),
        };
        let ids = match reason {
            Reason::Breakpoints(ids) => ids.clone(),
            Reason::Watchpoint { id, .. } => vec![*id],
            _ => Vec::new(),
        };
        let thread = self.thread_id(self.debugger.focus().warp);
        self.client.event(
            "stopped",
            json!({
                "reason": word, "description": text, "text": text, "threadId": thread,
                "allThreadsStopped": true, "hitBreakpointIds": ids,
            }),
        );
        false
    }

    fn request(&mut self, request: &Request, standing: &mut Standing) -> Result<Done, String> {
        let given = &request.arguments;
        match &*request.command {
            "setBreakpoints" => Ok(Done::Body(self.set_breakpoints(given))),
            "setFunctionBreakpoints" => Ok(Done::Body(self.set_function_breakpoints(given))),
            "setInstructionBreakpoints" => Ok(Done::Body(self.set_instruction_breakpoints(given))),
            "setExceptionBreakpoints" => {
                let filters = given["filters"].as_array();
                self.kept.findings = filters.is_some_and(|all| all.iter().any(|filter| filter == "findings"));
                self.debugger.stop_at_findings(self.kept.findings);
                Ok(Done::Body(Value::Null))
            }
            "dataBreakpointInfo" => self.data_breakpoint_info(given, standing).map(Done::Body),
            "setDataBreakpoints" => Ok(Done::Body(self.set_data_breakpoints(given))),
            "configurationDone" => {
                self.kept.configured = true;
                self.client.answer(request, Ok(Value::Null));
                let stops = self.kept.stop_on_entry;
                Ok(Done::Ran(if stops { Reason::Started } else { self.debugger.restart() }))
            }
            "restart" => {
                self.client.answer(request, Ok(Value::Null));
                Ok(Done::Ran(match self.kept.stop_on_entry {
                    true => self.debugger.go_to(0),
                    false => self.debugger.restart(),
                }))
            }
            "breakpointLocations" => Ok(Done::Body(self.breakpoint_locations(given))),
            "loadedSources" => Ok(Done::Body(self.loaded_sources())),
            "completions" => Ok(Done::Body(self.completions(given, standing))),
            "setVariable" => {
                let number = given["variablesReference"].as_u64().unwrap_or(0);
                let inside = standing.references.get(number);
                let inside = inside.ok_or("there is nothing of this reference any more")?;
                let at = place(&inside);
                select(&mut self.debugger, at.0, at.1);
                let text = written(Some(&inside), given["name"].as_str().unwrap_or_default());
                self.assign(&text, given, at, standing).map(Done::Body)
            }
            "setExpression" => {
                let at = self.select_frame(given, standing);
                let text = given["expression"].as_str().unwrap_or_default();
                self.assign(text, given, at, standing).map(Done::Body)
            }
            "writeMemory" => self.write_memory(given).map(Done::Body),
            "threads" => Ok(Done::Body(self.threads())),
            "stackTrace" => self.stack(given, standing).map(Done::Body),
            "scopes" => Ok(Done::Body(self.scopes(given, standing))),
            "variables" => {
                let number = given["variablesReference"].as_u64().unwrap_or(0);
                let reference =
                    standing.references.get(number).ok_or("there is nothing of this reference any more")?;
                let (start, count) =
                    (given["start"].as_u64().unwrap_or(0), given["count"].as_u64().unwrap_or(0));
                let (debugger, references) = (&mut self.debugger, &mut standing.references);
                let found = variables(debugger, references, &reference, start, count, format(given));
                Ok(Done::Body(json!({"variables": found})))
            }
            "evaluate" => self.evaluate(given, standing).map(Done::Body),
            "exceptionInfo" => self.exception(standing).map(Done::Body),
            "source" => self.source_text(given).map(Done::Body),
            "disassemble" => self.disassemble(given).map(Done::Body),
            "readMemory" => self.read_memory(given).map(Done::Body),
            "continue" => {
                self.client.answer(request, Ok(json!({"allThreadsContinued": true})));
                if self.debugger.session().is_over() {
                    // From its end there is only the next launch.
                    self.kept.stop_at_end = false;
                    return Ok(Done::Ran(Reason::Ended));
                }
                Ok(Done::Ran(self.debugger.go_on()))
            }
            "reverseContinue" => {
                self.client.answer(request, Ok(Value::Null));
                Ok(Done::Ran(self.debugger.go_back()))
            }
            "next" | "stepIn" | "stepOut" | "stepBack" => self.step(request),
            "pause" => {
                // What ran stands still already.
                self.client.interrupt.store(false, Relaxed);
                Ok(Done::Body(Value::Null))
            }
            "disconnect" | "terminate" => Ok(Done::Leave),
            other => Err(format!("`{other}` is not supported")),
        }
    }

    fn step(&mut self, request: &Request) -> Result<Done, String> {
        let given = &request.arguments;
        let focus = self.lane(self.warp(given)?);
        select(&mut self.debugger, focus, 0);
        let by_instruction = given["granularity"] == "instruction";
        let step = match (&*request.command, by_instruction) {
            ("stepIn", true) => Step::Instruction,
            ("stepIn", false) => Step::Line,
            ("stepOut", _) => Step::Out,
            (_, true) => Step::InstructionOver,
            (_, false) => Step::LineOver,
        };
        let reason = match &*request.command {
            "stepBack" => self.debugger.step_back(step, 1),
            _ => self.debugger.step(step, 1),
        };
        let reason = reason.map_err(text_of)?;
        self.client.answer(request, Ok(Value::Null));
        Ok(Done::Ran(reason))
    }

    // --- Where it stands ---

    fn threads(&self) -> Value {
        let look = self.debugger.session().look();
        let mut threads = Vec::new();
        for block in look.blocks() {
            for warp in block.warps().filter(|warp| !warp.groups().is_empty()) {
                let id = WarpId { block: block.index(), warp: warp.index() };
                let at = block.position();
                let name = format!("block ({},{},{}) warp {}", at.x, at.y, at.z, warp.index());
                threads.push((self.thread_id(id), name));
            }
        }
        threads.sort();
        if threads.is_empty() {
            // A client wants one as long as it debugs.
            threads.push((self.thread_id(self.debugger.focus().warp), "the launch is over".into()));
        }
        let threads: Vec<Value> =
            threads.into_iter().map(|(id, name)| json!({"id": id, "name": name})).collect();
        json!({"threads": threads})
    }

    /// A text as clients know it: a file, or a number by which they ask for it.
    pub(super) fn source(&self, line: Line) -> Value {
        let program = self.debugger.program();
        let name = program.file(line);
        let found = match line {
            Line::Ptx(..) => Path::new(name).is_file().then(|| name.to_owned()),
            Line::Cuda(..) => {
                let place = CudaPlace { file: name.into(), line: 1, column: 0, function: None };
                let root = self.kept.source_root.as_deref();
                let sources = Sources { module: program.module(), root };
                let mut ids = (0..program.module().sources.len() as u32).map(ptx_frontend::SourceId);
                ids.find_map(|id| Some(sources.cuda(&place, id)?.0))
            }
        };
        let base = Path::new(name).file_name();
        let base = base.map_or(name.into(), |name| name.to_string_lossy().into_owned());
        match (found, line) {
            (Some(path), _) => {
                let absolute = std::fs::canonicalize(&path).unwrap_or(path.into());
                json!({"name": base, "path": absolute})
            }
            (None, Line::Ptx(at, _)) => json!({"name": base, "sourceReference": at + 1}),
            (None, Line::Cuda(..)) => {
                json!({"name": base, "path": name, "presentationHint": "deemphasize"})
            }
        }
    }

    fn stack(&mut self, given: &Value, standing: &mut Standing) -> Result<Value, String> {
        let focus = self.lane(self.warp(given)?);
        let frames = self.debugger.frames_of(focus).map_err(text_of)?;
        let start = given["startFrame"].as_u64().unwrap_or(0) as usize;
        let levels = given["levels"].as_u64().filter(|levels| *levels > 0);
        let levels = levels.map_or(usize::MAX, |levels| levels as usize);
        let mut shown = Vec::new();
        for (at, frame) in frames.iter().enumerate().skip(start).take(levels) {
            standing.frames.push((focus, at));
            let mut one = json!({
                "id": standing.frames.len(),
                "name": frame.function,
                "line": frame.line.map_or(0, number),
                "column": 1,
                "instructionPointerReference": format!("{:#x}", frame.position),
            });
            if let Some(line) = frame.line {
                one["source"] = self.source(line);
            }
            shown.push(one);
        }
        Ok(json!({"stackFrames": shown, "totalFrames": frames.len()}))
    }

    pub(super) fn select_frame(&mut self, given: &Value, standing: &Standing) -> (Focus, usize) {
        let number = given["frameId"].as_u64().and_then(|id| usize::try_from(id).ok()?.checked_sub(1));
        let found = number.and_then(|number| standing.frames.get(number)).copied();
        let (focus, frame) = found.unwrap_or((self.debugger.focus(), self.debugger.frame()));
        select(&mut self.debugger, focus, frame);
        (focus, frame)
    }

    fn scopes(&mut self, given: &Value, standing: &mut Standing) -> Value {
        let (focus, frame) = self.select_frame(given, standing);
        let mut scope = |name: &str, expensive: bool, reference: Reference| {
            let number = standing.references.add(reference);
            let hint = name.to_lowercase();
            json!({"name": name, "presentationHint": hint, "variablesReference": number, "expensive": expensive})
        };
        json!({"scopes": [
            scope("Locals", false, Reference::Locals(focus, frame)),
            scope("Registers", true, Reference::Registers(focus, frame)),
            scope("Shared", false, Reference::Shared(focus, frame)),
            scope("Special", false, Reference::Special(focus, frame)),
            scope("Buffers", true, Reference::Buffers(focus, frame)),
        ]})
    }

    fn evaluate(&mut self, given: &Value, standing: &mut Standing) -> Result<Value, String> {
        let at = self.select_frame(given, standing);
        let text = given["expression"].as_str().unwrap_or_default();
        if let Some((place, value)) = text.strip_prefix("set var ").and_then(|text| text.split_once('=')) {
            return self.assign(place.trim(), &json!({"value": value.trim()}), at, standing).map(
                |mut shown| {
                    shown["result"] = shown["value"].take();
                    shown
                },
            );
        }
        let (bound, parsed) = self.debugger.bind(text).map_err(text_of)?;
        if let Some(across) = parsed.across.as_deref() {
            let warps = (across != "block").then_some(at.0.warp.warp);
            let rows = self.debugger.across(&bound, format(given), warps).map_err(text_of)?;
            let rows = rows.into_iter().map(|(_, shown)| shown.unwrap_or_else(text_of));
            return Ok(json!({"result": rows.collect::<Vec<_>>().join(" "), "variablesReference": 0}));
        }
        let mut shown = value(&self.debugger, &mut standing.references, at, &bound, text, format(given))?;
        shown["result"] = shown["value"].take();
        Ok(shown)
    }

    /// Gives something a value, and shows what it holds then.
    fn assign(
        &mut self,
        place: &str,
        given: &Value,
        at: (Focus, usize),
        standing: &mut Standing,
    ) -> Result<Value, String> {
        let to = given["value"].as_str().unwrap_or_default();
        self.debugger.assign(&format!("{place} = {to}")).map_err(text_of)?;
        let (bound, _) = self.debugger.bind(place).map_err(text_of)?;
        value(&self.debugger, &mut standing.references, at, &bound, place, format(given))
    }

    fn write_memory(&mut self, given: &Value) -> Result<Value, String> {
        let (space, address) = memory(given)?;
        let data = given["data"].as_str().unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD.decode(data);
        let bytes = bytes.map_err(|error| format!("the data are not base64: {error}"))?;
        self.debugger.write(space, address, &bytes).map_err(text_of)?;
        Ok(json!({"bytesWritten": bytes.len()}))
    }

    /// The texts that have code.
    fn loaded_sources(&self) -> Value {
        let program = self.debugger.program();
        let lines: Vec<Line> = program.texts().collect();
        json!({"sources": lines.into_iter().map(|line| self.source(line)).collect::<Vec<_>>()})
    }

    /// Names that begin as what is typed does.
    fn completions(&mut self, given: &Value, standing: &Standing) -> Value {
        self.select_frame(given, standing);
        let text = given["text"].as_str().unwrap_or_default();
        let column = given["column"].as_u64().unwrap_or(1).saturating_sub(1) as usize;
        let before: String = text.chars().take(column).collect();
        let start =
            before.rfind(|c: char| !(c.is_alphanumeric() || "_$%".contains(c))).map_or(0, |at| at + 1);
        let begun = before.get(start..).unwrap_or_default();
        let scope = self.debugger.scope_here();
        let names = scope.arguments().into_iter().chain(scope.locals()).chain(scope.buffers());
        let names = names.chain(scope.shared().into_iter().map(|(name, ..)| name));
        let names = names.chain(scope.registers().into_iter().map(|(name, _)| name));
        let built_in = ["threadIdx", "blockIdx", "blockDim", "gridDim"].map(str::to_owned);
        let mut names: Vec<String> = names.chain(built_in).filter(|name| name.starts_with(begun)).collect();
        names.sort();
        names.dedup();
        let length = begun.chars().count();
        let target = |name: String| json!({"label": name, "start": column - length, "length": length});
        json!({"targets": names.into_iter().take(1000).map(target).collect::<Vec<_>>()})
    }

    fn exception(&self, standing: &Standing) -> Result<Value, String> {
        let findings = standing.finding.map(|at| &self.debugger.found()[at].findings);
        let first = findings.and_then(|findings| findings.first()).ok_or("it does not stand at a finding")?;
        let program = self.debugger.program();
        let sources = Sources { module: program.module(), root: self.kept.source_root.as_deref() };
        let all = findings.into_iter().flatten();
        let text: String = all.map(|found| finding::message(found, &sources).plain()).collect();
        Ok(json!({
            "exceptionId": first.kind.name(),
            "description": first.message,
            "breakMode": "always",
            "details": {"message": text, "typeName": first.kind.name()},
        }))
    }

    fn source_text(&self, given: &Value) -> Result<Value, String> {
        let number = given["sourceReference"].as_u64().filter(|number| *number > 0);
        let number = number.or(given["source"]["sourceReference"].as_u64());
        let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let module = self.debugger.program().module();
        let source = at.and_then(|at| module.sources.get(at)).ok_or("there is no such text")?;
        Ok(json!({"content": &*source.text}))
    }

    fn disassemble(&self, given: &Value) -> Result<Value, String> {
        let reference = given["memoryReference"].as_str().unwrap_or_default();
        let base = hexadecimal(reference).and_then(|at| i64::try_from(at).ok());
        let base = base.ok_or_else(|| format!("{reference} is no instruction"))?;
        let offset = |name: &str| given[name].as_i64().unwrap_or(0);
        let first = base.saturating_add(offset("offset")).saturating_add(offset("instructionOffset"));
        let count = offset("instructionCount").clamp(0, 1 << 16);
        let program = self.debugger.program();
        let instruction = |at: i64| {
            let position = u32::try_from(at).ok();
            match position.and_then(|position| Some((position, program.place(position)?))) {
                Some((position, place)) => {
                    let line = place.line();
                    json!({
                        "address": format!("{at:#x}"), "instruction": program.text(position),
                        "location": self.source(line), "line": number(line),
                    })
                }
                // A client asks for more than there is, and wants as many as it asked for.
                None => json!({
                    "address": format!("{}{:#x}", if at < 0 { "-" } else { "" }, at.unsigned_abs()),
                    "instruction": "", "presentationHint": "invalid",
                }),
            }
        };
        let instructions: Vec<Value> = (first..first.saturating_add(count)).map(instruction).collect();
        Ok(json!({"instructions": instructions}))
    }

    fn read_memory(&mut self, given: &Value) -> Result<Value, String> {
        let (space, address) = memory(given)?;
        let count = given["count"].as_u64().unwrap_or(0).min(1 << 20) as usize;
        // As far as there is memory: more bytes are there only if fewer are.
        let mut bytes = vec![0; count];
        let (mut there, mut beyond) = (0, count + 1);
        let mut next = count;
        while beyond - there > 1 {
            match self.debugger.read(space, address, &mut bytes[..next]) {
                Ok(()) => there = next,
                Err(_) => beyond = next,
            }
            next = (there + beyond) / 2;
        }
        Ok(json!({
            "address": memory_reference(space, address),
            "unreadableBytes": count - there,
            "data": base64::engine::general_purpose::STANDARD.encode(&bytes[..there]),
        }))
    }
}

pub(super) fn number(line: Line) -> u32 {
    let (Line::Cuda(_, number) | Line::Ptx(_, number)) = line;
    number
}

pub(super) fn hexadecimal(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The place in memory that a client names.
fn memory(given: &Value) -> Result<(Space, u64), String> {
    let reference = given["memoryReference"].as_str().unwrap_or_default();
    let (space, text) = match reference.split_once(':') {
        Some(("shared", text)) => (Space::Shared, text),
        Some(("local", text)) => (Space::Local, text),
        Some(("param", text)) => (Space::Param, text),
        _ => (Space::Generic, reference),
    };
    let address = hexadecimal(text).ok_or_else(|| format!("{reference} is no address"))?;
    Ok((space, address.wrapping_add_signed(given["offset"].as_i64().unwrap_or(0))))
}

fn format(given: &Value) -> Format {
    match given["format"]["hex"].as_bool() {
        Some(true) => Format::Hexadecimal,
        _ => Format::Natural,
    }
}
