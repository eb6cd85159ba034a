//! What requests do to a launch that is debugged.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use base64::Engine;
use debugger::format::Format;
use debugger::points::Location;
use debugger::program::Line;
use debugger::types::Space;
use debugger::{Debugger, Focus, Reason, Step};
use reports::finding::{self, Sources};
use serde_json::{Value, json};
use sim_core::{CudaPlace, WarpId};

use super::client::{Client, Request};
use super::values::{Reference, References, memory_reference, select, value, variables};

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
    set: HashMap<String, Vec<u32>>,
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
struct Standing {
    references: References,
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

fn text_of(error: debugger::Error) -> String {
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
                    if self.stands(&mut standing, &reason) {
                        return;
                    }
                }
                Err(text) => self.client.answer(&request, Err(text)),
            }
        }
        self.kept.over = true;
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

    // --- Breakpoints ---

    /// Sets breakpoints in the place of those that were set for the same.
    fn replace(&mut self, key: &str, wanted: Vec<(Result<Location, String>, &Value)>) -> Value {
        for id in self.kept.set.remove(key).unwrap_or_default() {
            self.debugger.points_mut().delete(id);
        }
        let (mut ids, mut answers) = (Vec::new(), Vec::new());
        for (location, given) in wanted {
            let added = location.and_then(|location| self.add(key, location, given));
            answers.push(match added {
                Ok(id) => {
                    ids.push(id);
                    self.breakpoint(id)
                }
                Err(text) => json!({"verified": false, "message": text}),
            });
        }
        self.kept.set.insert(key.to_owned(), ids);
        json!({"breakpoints": answers})
    }

    fn add(&mut self, text: &str, location: Location, given: &Value) -> Result<u32, String> {
        let condition = given["condition"].as_str().map(str::trim).filter(|text| !text.is_empty());
        let hits = given["hitCondition"].as_str().map(|text| text.trim_start_matches([' ', '>', '=']).trim());
        let hits = match hits.filter(|text| !text.is_empty()).map(str::parse::<u64>) {
            None => 1,
            Some(Ok(hits)) => hits,
            Some(Err(_)) => return Err("a hit condition is a number".into()),
        };
        let point = self.debugger.add_breakpoint(location, text, condition, None, false).map_err(text_of)?;
        let id = point.id;
        let points = self.debugger.points_mut();
        let own = points.breakpoints.iter_mut().filter(|point| point.id == id);
        own.for_each(|point| point.ignore = hits.saturating_sub(1));
        Ok(id)
    }

    fn breakpoint(&self, id: u32) -> Value {
        let point = self.debugger.points().breakpoints.iter().find(|point| point.id == id);
        let Some(point) = point else { return json!({"verified": false}) };
        let mut answer = json!({"id": id, "verified": !point.places.is_empty()});
        match (point.line, point.places.first()) {
            (Some(line), Some((position, _))) => {
                answer["line"] = json!(number(line));
                answer["source"] = self.source(line);
                answer["instructionReference"] = json!(format!("{position:#x}"));
            }
            _ => answer["message"] = json!("this code has no such place"),
        }
        answer
    }

    fn set_breakpoints(&mut self, given: &Value) -> Value {
        let source = &given["source"];
        let path = source["path"].as_str().or(source["name"].as_str()).unwrap_or_default();
        let wanted = given["breakpoints"].as_array().into_iter().flatten().map(|wanted| {
            let line = wanted["line"].as_u64().and_then(|line| u32::try_from(line).ok());
            let line = line.filter(|line| *line > 0).ok_or_else(|| "a breakpoint has a line".to_owned());
            (line.map(|line| Location::Line(path.to_owned(), line)), wanted)
        });
        self.replace(path, wanted.collect())
    }

    fn set_function_breakpoints(&mut self, given: &Value) -> Value {
        let wanted = given["breakpoints"].as_array().into_iter().flatten();
        let wanted = wanted.map(|wanted| {
            (Ok(Location::Function(wanted["name"].as_str().unwrap_or_default().into())), wanted)
        });
        self.replace("function", wanted.collect())
    }

    fn set_instruction_breakpoints(&mut self, given: &Value) -> Value {
        let wanted = given["breakpoints"].as_array().into_iter().flatten().map(|wanted| {
            let reference = wanted["instructionReference"].as_str().unwrap_or_default();
            let offset = wanted["offset"].as_i64().unwrap_or(0);
            let at = hexadecimal(reference).and_then(|at| at.checked_add_signed(offset));
            let at = at.and_then(|at| u32::try_from(at).ok());
            (at.map(Location::Position).ok_or_else(|| format!("{reference} is no instruction")), wanted)
        });
        self.replace("instruction", wanted.collect())
    }

    fn data_breakpoint_info(&mut self, given: &Value, standing: &Standing) -> Result<Value, String> {
        let name = given["name"].as_str().unwrap_or_default();
        self.select_frame(given, standing);
        // Of a part, how one writes it.
        let inside = given["variablesReference"].as_u64().and_then(|number| standing.references.get(number));
        let text = match inside {
            Some(Reference::Inside(focus, frame, _, written)) => {
                select(&mut self.debugger, focus, frame);
                match name {
                    _ if name.starts_with('[') => format!("({written}){name}"),
                    _ if name.starts_with('*') => name.to_owned(),
                    _ => format!("({written}).{name}"),
                }
            }
            _ => name.to_owned(),
        };
        let id = match self.debugger.add_watchpoint(&text, false, true) {
            Ok(id) => id,
            Err(error) => return Ok(json!({"dataId": null, "description": error.to_string()})),
        };
        let points = self.debugger.points();
        let range = points.watchpoints.iter().find(|point| point.id == id).map(|point| point.range);
        self.debugger.points_mut().delete(id);
        let range = range.ok_or("it cannot be watched")?;
        // What is watched is memory, whoever is in focus later.
        let focus = self.debugger.focus();
        let at = self.debugger.thread(focus);
        let data = json!([text, focus.warp.block, at.x, at.y, at.z, self.debugger.frame()]).to_string();
        Ok(json!({
            "dataId": data,
            "description": format!("{text} ({} bytes at {:#x})", range.bytes, range.address),
            "accessTypes": ["read", "write", "readWrite"],
            "canPersist": false,
        }))
    }

    fn set_data_breakpoints(&mut self, given: &Value) -> Value {
        for id in self.kept.set.remove("data").unwrap_or_default() {
            self.debugger.points_mut().delete(id);
        }
        let (before, frame) = (self.debugger.focus(), self.debugger.frame());
        let (mut ids, mut answers) = (Vec::new(), Vec::new());
        for wanted in given["breakpoints"].as_array().into_iter().flatten() {
            let data = serde_json::from_str(wanted["dataId"].as_str().unwrap_or_default());
            let data: Value = data.unwrap_or_default();
            let (reads, writes) = match wanted["accessType"].as_str() {
                Some("read") => (true, false),
                Some("readWrite") => (true, true),
                _ => (false, true),
            };
            let small = |at: usize| data[at].as_u64().and_then(|part| u32::try_from(part).ok()).unwrap_or(0);
            let block = self.debugger.block(data[1].as_u64().unwrap_or(0));
            let thread = sim_core::Dim3::new(small(2), small(3), small(4));
            let added = self.debugger.set_focus(block, thread).and_then(|()| {
                // In a frame that is gone is nothing that could be watched.
                let _ = self.debugger.set_frame(small(5) as usize);
                self.debugger.add_watchpoint(data[0].as_str().unwrap_or_default(), reads, writes)
            });
            answers.push(match added {
                Ok(id) => {
                    ids.push(id);
                    json!({"id": id, "verified": true})
                }
                Err(error) => json!({"verified": false, "message": error.to_string()}),
            });
        }
        select(&mut self.debugger, before, frame);
        self.kept.set.insert("data".into(), ids);
        json!({"breakpoints": answers})
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
    fn source(&self, line: Line) -> Value {
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

    fn select_frame(&mut self, given: &Value, standing: &Standing) -> (Focus, usize) {
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
        let reference = given["memoryReference"].as_str().unwrap_or_default();
        let (space, text) = match reference.split_once(':') {
            Some(("shared", text)) => (Space::Shared, text),
            Some(("local", text)) => (Space::Local, text),
            Some(("param", text)) => (Space::Param, text),
            _ => (Space::Generic, reference),
        };
        let address = hexadecimal(text).ok_or_else(|| format!("{reference} is no address"))?;
        let address = address.wrapping_add_signed(given["offset"].as_i64().unwrap_or(0));
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

fn number(line: Line) -> u32 {
    let (Line::Cuda(_, number) | Line::Ptx(_, number)) = line;
    number
}

fn hexadecimal(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn format(given: &Value) -> Format {
    match given["format"]["hex"].as_bool() {
        Some(true) => Format::Hexadecimal,
        _ => Format::Natural,
    }
}
