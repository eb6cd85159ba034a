//! Breakpoints that clients set.

use debugger::points::Location;
use serde_json::{Value, json};

use super::adapter::{Adapter, Standing, hexadecimal, number, text_of};
use super::values::{place, select, written};

impl Adapter<'_, '_, '_, '_> {
    /// Sets breakpoints in the place of those that were set for the same.
    pub(super) fn replace(&mut self, key: &str, wanted: Vec<(Result<Location, String>, &Value)>) -> Value {
        for id in self.kept.set.remove(key).unwrap_or_default() {
            self.kept.logs.remove(&id);
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

    pub(super) fn add(&mut self, text: &str, location: Location, given: &Value) -> Result<u32, String> {
        let condition = given["condition"].as_str().map(str::trim).filter(|text| !text.is_empty());
        let hits = given["hitCondition"].as_str().map(|text| text.trim_start_matches([' ', '>', '=']).trim());
        let hits = match hits.filter(|text| !text.is_empty()).map(str::parse::<u64>) {
            None => 1,
            Some(Ok(hits)) => hits,
            Some(Err(_)) => return Err("a hit condition is a number".into()),
        };
        let point = self.debugger.add_breakpoint(location, text, condition, None, false).map_err(text_of)?;
        let id = point.id;
        if let Some(message) = given["logMessage"].as_str().filter(|message| !message.is_empty()) {
            self.kept.logs.insert(id, message.to_owned());
        }
        let points = self.debugger.points_mut();
        let own = points.breakpoints.iter_mut().filter(|point| point.id == id);
        own.for_each(|point| point.ignore = hits.saturating_sub(1));
        Ok(id)
    }

    pub(super) fn breakpoint(&self, id: u32) -> Value {
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

    pub(super) fn set_breakpoints(&mut self, given: &Value) -> Value {
        let source = &given["source"];
        let path = source["path"].as_str().or(source["name"].as_str()).unwrap_or_default();
        let wanted = given["breakpoints"].as_array().into_iter().flatten().map(|wanted| {
            let line = wanted["line"].as_u64().and_then(|line| u32::try_from(line).ok());
            let line = line.filter(|line| *line > 0).ok_or_else(|| "a breakpoint has a line".to_owned());
            (line.map(|line| Location::Line(path.to_owned(), line)), wanted)
        });
        self.replace(path, wanted.collect())
    }

    pub(super) fn set_function_breakpoints(&mut self, given: &Value) -> Value {
        let wanted = given["breakpoints"].as_array().into_iter().flatten();
        let wanted = wanted.map(|wanted| {
            (Ok(Location::Function(wanted["name"].as_str().unwrap_or_default().into())), wanted)
        });
        self.replace("function", wanted.collect())
    }

    pub(super) fn set_instruction_breakpoints(&mut self, given: &Value) -> Value {
        let wanted = given["breakpoints"].as_array().into_iter().flatten().map(|wanted| {
            let reference = wanted["instructionReference"].as_str().unwrap_or_default();
            let offset = wanted["offset"].as_i64().unwrap_or(0);
            let at = hexadecimal(reference).and_then(|at| at.checked_add_signed(offset));
            let at = at.and_then(|at| u32::try_from(at).ok());
            (at.map(Location::Position).ok_or_else(|| format!("{reference} is no instruction")), wanted)
        });
        self.replace("instruction", wanted.collect())
    }

    pub(super) fn data_breakpoint_info(
        &mut self,
        given: &Value,
        standing: &Standing,
    ) -> Result<Value, String> {
        let name = given["name"].as_str().unwrap_or_default();
        self.select_frame(given, standing);
        let inside = given["variablesReference"].as_u64().and_then(|number| standing.references.get(number));
        if let Some(reference) = &inside {
            let (focus, frame) = place(reference);
            select(&mut self.debugger, focus, frame);
        }
        let text = written(inside.as_ref(), name);
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

    pub(super) fn set_data_breakpoints(&mut self, given: &Value) -> Value {
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

    /// The lines of a text that have code.
    pub(super) fn breakpoint_locations(&self, given: &Value) -> Value {
        let source = &given["source"];
        let path = source["path"].as_str().or(source["name"].as_str()).unwrap_or_default();
        let small = |name: &str| given[name].as_u64().and_then(|line| u32::try_from(line).ok());
        let first = small("line").unwrap_or(1);
        let last = small("endLine").unwrap_or(first);
        let program = self.debugger.program();
        let mut lines = Vec::new();
        for file in program.files(path) {
            let mut next = first;
            while let Some((line, _)) = program.at_line(file, next).filter(|(line, _)| number(*line) <= last)
            {
                lines.push(number(line));
                next = number(line).saturating_add(1);
            }
        }
        lines.sort_unstable();
        lines.dedup();
        let lines: Vec<Value> = lines.into_iter().map(|line| json!({"line": line})).collect();
        json!({"breakpoints": lines})
    }

    /// Says what log points say, where all that was reached are such; false otherwise.
    pub(super) fn logs(&mut self, ids: &[u32]) -> bool {
        let messages: Option<Vec<String>> = ids.iter().map(|id| self.kept.logs.get(id).cloned()).collect();
        let Some(messages) = messages else { return false };
        for message in messages {
            let (mut text, mut rest) = (String::new(), &message[..]);
            while let Some((before, after)) = rest.split_once('{') {
                let Some((expression, after)) = after.split_once('}') else { break };
                text += before;
                let shown = self.debugger.show(expression, debugger::format::Format::Natural);
                text += &shown.unwrap_or_else(|error| format!("<{error}>"));
                rest = after;
            }
            text += rest;
            self.client.event("output", json!({"category": "console", "output": text + "\n"}));
        }
        true
    }
}
