//! What was found, in the formats that other programs read: SARIF 2.1.0, JUnit's XML, workflow commands of GitHub.
//!
//! All are made from the JSON documents, whose fields `cli/REPORT.md` promises, so that every command that finds things has
//! them. SARIF is written as JSON values: its kept crate would bring seventeen others for a few fields.

use indexmap::IndexMap;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

use crate::triage::{LITMUS, MISMATCH};

/// A place in a text; lines and columns from 1 on, 0 where they are not known.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u64,
    column: u64,
    end_line: u64,
    end_column: u64,
}

impl Place {
    fn of(place: &Value) -> Option<Place> {
        let number = |name: &str| place[name].as_u64().unwrap_or(0);
        Some(Place {
            file: place["file"].as_str()?.to_owned(),
            line: number("line"),
            column: number("column"),
            end_line: number("end_line"),
            end_column: number("end_column"),
        })
    }

    fn sarif(&self) -> Value {
        let mut region = serde_json::Map::new();
        let members = [
            ("startLine", self.line),
            ("startColumn", self.column),
            ("endLine", self.end_line),
            ("endColumn", self.end_column),
        ];
        // SARIF counts from 1; a column needs its line.
        let known = members.into_iter().filter(|&(_, value)| self.line > 0 && value > 0);
        region.extend(known.map(|(name, value)| (name.to_owned(), value.into())));
        let mut physical = json!({ "artifactLocation": { "uri": uri(&self.file) } });
        if !region.is_empty() {
            physical["region"] = region.into();
        }
        json!({ "physicalLocation": physical })
    }
}

/// A path as a URI reference: what may not stand in one is written in percents.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let escaped = path.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    scheme.to_owned() + &escaped.collect::<String>()
}

/// Something found.
#[derive(Debug)]
pub(super) struct Issue {
    /// Its stable name: a kind of finding, the code of a diagnostic.
    pub(super) rule: String,
    is_error: bool,
    pub(super) message: String,
    pub(super) notes: Vec<String>,
    /// The first is where it is; the others explain it.
    pub(super) places: Vec<Place>,
    /// The same in every run.
    pub(super) fingerprint: Option<String>,
    /// Whether it is expected: the name of a status.
    pub(super) status: String,
    /// Why it is suppressed.
    pub(super) reason: Option<String>,
    /// The finding as the document has it; null for what is none.
    pub(super) finding: Value,
}

impl Issue {
    /// With what its JSON object says of whether it is expected.
    fn judged(self, of: &Value) -> Issue {
        let some = |name: &str| of[name].as_str().map(str::to_owned);
        let status = some("status").unwrap_or(self.status);
        Issue { fingerprint: some("fingerprint"), reason: some("reason"), status, ..self }
    }

    /// The same for equal ones; what has no fingerprint is no other's equal, and has its number.
    pub(super) fn key(&self, number: usize) -> String {
        match &self.fingerprint {
            Some(fingerprint) => format!("{} {} {fingerprint}", self.rule, self.status),
            None => number.to_string(),
        }
    }

    /// Whether it counts.
    pub(super) fn is_new(&self) -> bool {
        self.status == "new"
    }

    fn text(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("\n{note}"));
        self.message.clone() + &notes.collect::<String>()
    }
}

/// What was looked at as one: a launch, a file, a litmus test.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    seconds: Option<f64>,
    output: String,
    pub(super) issues: Vec<Issue>,
    /// The launch as the document has it; null for what is none.
    pub(super) launch: Value,
}

impl Case {
    fn new(name: impl Into<String>, issues: Vec<Issue>) -> Case {
        Case { name: name.into(), seconds: None, output: String::new(), issues, launch: Value::Null }
    }
}

fn list<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of[name].as_array().into_iter().flatten()
}

fn text(of: &Value) -> String {
    of.as_str().unwrap_or_default().to_owned()
}

/// The notes, then what would help.
fn notes(of: &Value) -> Vec<String> {
    let note = list(of, "notes").map(|note| format!("note: {}", text(note)));
    note.chain(list(of, "help").map(|help| format!("help: {}", text(help)))).collect()
}

fn finding(of: &Value) -> Issue {
    let places = [&of["place"], &of["other_place"]].into_iter().flat_map(|place| {
        // Where people wrote it, then what it was compiled to.
        list(place, "cuda").chain(std::iter::once(&place["ptx"])).filter_map(Place::of).collect::<Vec<_>>()
    });
    let message = format!("{} (kernel {})", text(&of["message"]), text(&of["kernel"]));
    let issue = Issue {
        notes: notes(of),
        places: places.collect(),
        finding: of.clone(),
        ..plain(&text(&of["kind"]), message, None)
    };
    issue.judged(of)
}

fn diagnostic(of: &Value) -> Issue {
    let labels = list(of, "labels").filter_map(|label| Place::of(&label["place"]));
    let issue = Issue {
        is_error: of["severity"] == "error",
        notes: notes(of),
        places: Place::of(&of["place"]).into_iter().chain(labels).collect(),
        ..plain(&text(&of["code"]), text(&of["message"]), None)
    };
    issue.judged(of)
}

fn failure(of: &Value) -> Option<Issue> {
    let place = Place::of(&of["place"]);
    (!of.is_null()).then(|| Issue { notes: notes(of), ..plain("error", text(&of["message"]), place) })
}

/// A launch without what is kept of it elsewhere.
fn launch_alone(of: &Value) -> Value {
    let names = ["grid", "block", "seed", "outcome", "process"];
    names
        .into_iter()
        .map(|name| (name.to_owned(), of[name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn launch(number: usize, of: &Value) -> Case {
    let mut issues: Vec<Issue> = list(of, "findings").map(finding).collect();
    if of["outcome"] != "completed" && issues.is_empty() {
        issues.push(plain("not-completed", format!("the launch ended: {}", text(&of["outcome"])), None));
    }
    Case {
        name: format!("launch {number}: {}", text(&of["kernel"])),
        seconds: of["stats"]["time"].as_f64(),
        output: text(&of["output"]),
        issues,
        launch: launch_alone(of),
    }
}

fn comparison(of: &Value) -> Case {
    let wrong = of["mismatches"].as_u64().unwrap_or(0);
    let name = text(&of["name"]);
    let message = || format!("`{name}`: {wrong} of {} values are not as expected", of["elements"]);
    let issues = (wrong > 0).then(|| plain(MISMATCH, message(), Place::of(&of["place"])).judged(of));
    Case::new(format!("values of {name}"), issues.into_iter().collect())
}

fn file(of: &Value) -> Case {
    let name = text(&of["file"]);
    let unsupported = list(of, "unsupported").map(|what| {
        let line = what["lines"][0].as_u64().unwrap_or(0);
        let place = Place { file: name.clone(), line, column: 0, end_line: 0, end_column: 0 };
        plain("unsupported", format!("{} is not supported", text(&what["what"])), Some(place)).judged(what)
    });
    let issues =
        failure(&of["error"]).into_iter().chain(list(of, "diagnostics").map(diagnostic)).chain(unsupported);
    let issues = issues.collect();
    Case::new(name, issues)
}

fn litmus(of: &Value) -> Case {
    let file = text(&of["file"]);
    let place = Place { file: file.clone(), line: 0, column: 0, end_line: 0, end_column: 0 };
    let reason = of["reason"].as_str().map_or(String::new(), |reason| format!(": {reason}"));
    let verdict = text(&of["verdict"]);
    let said = |what: String| format!("{what} ({} of {})", text(&of["property"]), text(&of["model"]));
    let issue = match of["holds"].as_bool() {
        // A file that holds no test.
        _ if of["name"].is_null() => failure(&of["error"]),
        Some(true) => None,
        Some(false) => Some(plain(LITMUS, said(format!("does not hold: {verdict}{reason}")), Some(place))),
        None => Some(plain(LITMUS, said(format!("{verdict}{reason}")), Some(place))),
    };
    let issue = issue.map(|issue| issue.judged(&of["expected"]));
    let issues = issue.into_iter().chain(list(of, "diagnostics").map(diagnostic));
    let name = of["name"].as_str().unwrap_or(&file).to_owned();
    Case { seconds: of["seconds"].as_f64(), ..Case::new(name, issues.collect()) }
}

fn plain(rule: &str, message: String, place: Option<Place>) -> Issue {
    let places = place.into_iter().collect();
    Issue {
        rule: rule.into(),
        is_error: true,
        message,
        notes: Vec::new(),
        places,
        fingerprint: None,
        status: "new".into(),
        reason: None,
        finding: Value::Null,
    }
}

/// Everything that a document speaks of.
pub(super) fn cases(document: &Value) -> Vec<Case> {
    let early: Vec<Issue> = failure(&document["error"])
        .into_iter()
        .chain(list(document, "diagnostics").map(diagnostic))
        .collect();
    let mut cases = Vec::new();
    if !early.is_empty() {
        cases.push(Case::new(text(&document["command"]), early));
    }
    cases.extend(list(document, "launches").enumerate().map(|(at, of)| launch(at + 1, of)));
    cases.extend(list(document, "comparisons").map(comparison));
    cases.extend(list(document, "files").filter(|of| of["exit_code"].is_u64()).map(file));
    cases.extend(list(document, "tests").map(litmus));
    cases
}

/// What the baseline knows and was not seen.
fn gone(document: &Value) -> impl Iterator<Item = Issue> + use<'_> {
    list(&document["triage"], "gone").map(|known| {
        let place = Place::of(known).filter(|place| !place.file.is_empty());
        let text = text(&known["text"]);
        let message = format!(
            "in the baseline, and not seen any more{}{text}",
            if text.is_empty() { "" } else { ": " }
        );
        let issue = plain(known["kind"].as_str().unwrap_or_default(), message, place).judged(known);
        Issue { status: "absent".into(), ..issue }
    })
}

/// What all cases have, equal issues once with how often they were seen, in the order in which they were first seen.
fn merged(document: &Value) -> Vec<(Issue, u64)> {
    let mut merged: IndexMap<String, (Issue, u64)> = IndexMap::new();
    for (at, issue) in cases(document).into_iter().flat_map(|case| case.issues).enumerate() {
        merged.entry(issue.key(at)).or_insert((issue, 0)).1 += 1;
    }
    merged.into_values().collect()
}

/// SARIF 2.1.0 of a document.
pub(crate) fn sarif(document: &Value) -> String {
    let mut issues = merged(document);
    issues.extend(gone(document).map(|issue| (issue, 1)));
    let mut rules: Vec<&str> = issues.iter().map(|(issue, _)| &*issue.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let compared = document["triage"]["baseline"].is_string();
    let results = issues.iter().map(|(issue, seen)| {
        let mut result = json!({
            "ruleId": issue.rule,
            "ruleIndex": rules.binary_search(&&*issue.rule).unwrap_or_default(),
            "level": if issue.is_error { "error" } else { "warning" },
            "message": { "text": issue.text() },
        });
        let mut places = issue.places.iter().map(Place::sarif);
        if let Some(first) = places.next() {
            result["locations"] = json!([first]);
            let related: Vec<Value> = places.collect();
            if !related.is_empty() {
                result["relatedLocations"] = related.into();
            }
        }
        if let Some(fingerprint) = &issue.fingerprint {
            result["partialFingerprints"] = json!({ "warpgrind/v1": fingerprint });
        }
        if *seen > 1 {
            result["occurrenceCount"] = (*seen).into();
        }
        if compared {
            result["baselineState"] = match &*issue.status {
                "known" => "unchanged".into(),
                "absent" => "absent".into(),
                _ => "new".into(),
            };
        }
        if issue.status == "suppressed" {
            result["suppressions"] = json!([{ "kind": "external", "justification": issue.reason }]);
        }
        result
    });
    let results: Vec<Value> = results.collect();
    let rules: Vec<Value> = rules.iter().map(|rule| json!({ "id": rule })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "warpgrind",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{ "executionSuccessful": document["error"].is_null() }],
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// JUnit's XML of a document: a test case for each launch, file or litmus test.
pub(crate) fn junit(document: &Value) -> String {
    let name = format!("warpgrind {}", text(&document["command"]));
    let mut suite = TestSuite::new(name.trim());
    for mut case in cases(document) {
        case.issues.retain(Issue::is_new);
        let errors = case.issues.iter().filter(|issue| issue.is_error).count();
        let status = match case.issues.iter().find(|issue| issue.is_error) {
            None => TestCaseStatus::success(),
            Some(first) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                let more = if errors > 1 { format!(", and {} more", errors - 1) } else { String::new() };
                status.set_type(first.rule.as_str()).set_message(format!("{}{more}", first.message));
                status.set_description(case.issues.iter().map(described).collect::<String>());
                status
            }
        };
        let mut test = TestCase::new(case.name, status);
        test.set_classname(name.trim());
        if let Some(seconds) = case.seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
            test.set_time(std::time::Duration::from_secs_f64(seconds));
        }
        let warnings: String =
            case.issues.iter().filter(|issue| errors == 0 && !issue.is_error).map(described).collect();
        if !(case.output.is_empty() && warnings.is_empty()) {
            test.set_system_out(case.output + &warnings);
        }
        suite.add_test_case(test);
    }
    let mut report = Report::new("warpgrind");
    report.add_test_suite(suite);
    report.to_string().unwrap_or_default()
}

fn described(issue: &Issue) -> String {
    let places = issue.places.iter().map(|place| format!("\n  at {}:{}", place.file, place.line));
    let level = if issue.is_error { "error" } else { "warning" };
    format!("{level}[{}]: {}{}\n", issue.rule, issue.text(), places.collect::<String>())
}

/// Workflow commands of GitHub: a line an issue, which it shows beside the source.
pub(crate) fn github(document: &Value) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let line = |(issue, seen): (Issue, u64)| {
        let level = if issue.is_error { "error" } else { "warning" };
        let mut line = format!("::{level} title={}", property(&format!("warpgrind: {}", issue.rule)));
        if let Some(place) = issue.places.first() {
            line += &format!(",file={}", property(&place.file));
            for (name, number) in [("line", place.line), ("col", place.column)] {
                if number > 0 {
                    line += &format!(",{name}={number}");
                }
            }
        }
        let times = if seen > 1 { format!(" (seen {seen} times)") } else { String::new() };
        format!("{line}::{}{times}\n", data(&issue.text()))
    };
    merged(document).into_iter().filter(|(issue, _)| issue.is_new()).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        let ptx = json!({ "file": "k.ptx", "line": 9, "column": 5, "end_line": 9, "end_column": 20 });
        let place =
            json!({ "function": "k", "ptx": ptx, "cuda": [{ "file": "a b.cu", "line": 3, "column": 7 }] });
        json!({
            "command": "run", "error": null, "diagnostics": [],
            "launches": [
                { "kernel": "k", "outcome": "faulted", "output": "", "stats": { "time": 0.5 }, "findings": [
                    { "kind": "out-of-bounds", "message": "read of <4> bytes\n100%", "notes": ["near, x"], "help": [],
                      "kernel": "k", "place": place, "other_place": null }] },
                { "kernel": "k", "outcome": "completed", "output": "hi & bye\u{1}\n", "stats": { "time": 0.25 }, "findings": [] },
            ],
            "comparisons": [{ "name": "y", "mismatches": 2, "elements": 4 }],
        })
    }

    #[test]
    fn workflow_commands_escape_what_ends_them() {
        assert_eq!(
            github(&document()),
            "::error title=warpgrind%3A out-of-bounds,file=a b.cu,line=3,col=7::read of <4> bytes%0A100%25 (kernel k)%0Anote: near, x\n\
             ::error title=warpgrind%3A mismatch::`y`: 2 of 4 values are not as expected\n"
        );
    }

    #[test]
    fn sarif_has_rules_results_and_places() {
        let log: Value = serde_json::from_str(&sarif(&document())).unwrap();
        let run = &log["runs"][0];
        let rules: Vec<_> = list(&run["tool"]["driver"], "rules").map(|rule| text(&rule["id"])).collect();
        assert_eq!(rules, ["mismatch", "out-of-bounds"]);
        let first = &run["results"][0];
        assert_eq!((&first["ruleIndex"], &first["level"]), (&json!(1), &json!("error")));
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.cu");
        assert_eq!(place["region"], json!({ "startLine": 3, "startColumn": 7 }));
        assert_eq!(first["relatedLocations"][0]["physicalLocation"]["region"]["endColumn"], 20);
        assert!(run["results"][1]["locations"].is_null());
        assert!(first["baselineState"].is_null() && first["partialFingerprints"].is_null());
    }

    #[test]
    fn equal_findings_of_several_launches_are_one_result() {
        let mut document = document();
        document["launches"][0]["findings"][0]["fingerprint"] = "f00".into();
        document["launches"][1]["findings"] = document["launches"][0]["findings"].clone();
        let log: Value = serde_json::from_str(&sarif(&document)).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!(
            (&results[0]["occurrenceCount"], &results[1]["occurrenceCount"]),
            (&json!(2), &Value::Null)
        );
        assert_eq!(github(&document).lines().count(), 2);
        assert!(github(&document).contains("(seen 2 times)"));
        assert!(junit(&document).contains(r#"failures="3""#), "a case is a launch");
    }

    #[test]
    fn what_is_expected_is_said_in_sarif_and_left_out_elsewhere() {
        let mut document = document();
        let finding = &mut document["launches"][0]["findings"][0];
        finding["fingerprint"] = "f00".into();
        finding["status"] = "suppressed".into();
        finding["reason"] = "known to the vendor".into();
        document["triage"] = json!({ "baseline": "b.json", "gone": [
            { "fingerprint": "ba5", "kind": "trap", "kernel": "k", "file": "k.cu", "line": 8, "text": "__trap();" }] });
        let log: Value = serde_json::from_str(&sarif(&document)).unwrap();
        let results = &log["runs"][0]["results"];
        assert_eq!(results[0]["suppressions"][0]["justification"], "known to the vendor");
        assert_eq!(results[0]["partialFingerprints"]["warpgrind/v1"], "f00");
        let states: Vec<String> =
            results.as_array().unwrap().iter().map(|of| text(&of["baselineState"])).collect();
        assert_eq!(states, ["new", "new", "absent"]);
        assert_eq!(results[2]["locations"][0]["physicalLocation"]["region"]["startLine"], 8);
        assert!(junit(&document).contains(r#"failures="1""#), "the values differ");
        assert!(!github(&document).contains("out-of-bounds"));
        document["launches"][0]["findings"][0]["status"] = "known".into();
        let log: Value = serde_json::from_str(&sarif(&document)).unwrap();
        assert_eq!(log["runs"][0]["results"][0]["baselineState"], "unchanged");
        assert!(log["runs"][0]["results"][0]["suppressions"].is_null());
    }

    #[test]
    fn junit_has_a_case_a_launch() {
        let xml = junit(&document());
        assert!(
            xml.contains(r#"<testsuite name="warpgrind run" tests="3" skipped="0" errors="0" failures="2">"#),
            "{xml}"
        );
        assert!(xml.contains(r#"type="out-of-bounds""#) && xml.contains("read of &lt;4&gt; bytes"), "{xml}");
        assert!(xml.contains("hi &amp; bye") && !xml.contains('\u{1}'), "{xml}");
    }
}
