//! What is on the page, whatever the texts are.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// A text that would be a script, an attribute and a style.
const HOSTILE: &str =
    "</script></style><script>alert(1)</script>\" onload='x' <img src=x onerror=alert(2)> &amp; ` \u{202e}";

fn finding(kind: &str, kernel: &str, file: &str, status: &str) -> Value {
    let excerpt = |of: &str, language: &str, line: u64| {
        json!({ "of": of, "language": language, "file": file, "line": line, "text": "  y[i] = x[i]; // <b>", "start": 2,
                "end": 6, "function": null, "above": ["// above"], "below": ["}"] })
    };
    json!({
        "kind": kind, "message": format!("race at {file}"), "notes": [format!("near {kernel}")], "help": [], "kernel": kernel,
        "place": { "function": kernel, "cuda": [{ "file": file, "line": 7, "column": 3 }], "ptx": null,
                   "callers": [{ "function": kernel, "ptx": { "file": file, "line": 3 } }] },
        "other_place": { "function": kernel, "cuda": [], "ptx": null, "callers": [] },
        "threads": [{ "blocks": { "first": [0, 0, 0], "last": [1, 0, 0] },
                      "threads": [{ "first": [3, 0, 0], "last": [9, 0, 0] }] }],
        "count": 14, "fingerprint": format!("{kind}{kernel}"), "status": status, "reason": (status == "suppressed").then_some(file),
        "excerpts": [excerpt("place", "cuda", 7), excerpt("place", "ptx", 48), excerpt("other_place", "ptx", 50)],
    })
}

fn document(kernel: &str, file: &str) -> Value {
    let launch = |seed: u64, findings: Vec<Value>| {
        json!({ "kernel": kernel, "grid": [4, 1, 1], "block": [32, 1, 1], "seed": seed, "jobs": 0, "outcome": "completed",
                "findings": findings, "dropped_findings": 0, "output": "", "stats": { "time": 0.25 }, "process": 77 })
    };
    json!({
        "command": "exec", "exit_code": 1, "program": ["./app", file],
        "counts": { "processes": 2, "launches": 2 },
        "launches": [
            launch(1, vec![finding("data-race", kernel, file, "new"), finding("trap", "other", file, "suppressed")]),
            launch(2, vec![finding("data-race", kernel, file, "new"), finding("misaligned", kernel, file, "known")]),
        ],
        "triage": { "baseline": file, "gone": [{ "kind": "trap", "kernel": kernel, "file": file, "line": 3, "text": file }],
                    "unused": [{ "origin": file, "reason": kernel }] },
    })
}

/// Elements of this name, by what begins them.
fn count(page: &str, start: &str) -> usize {
    page.matches(start).count()
}

#[test]
fn equal_findings_are_one_and_stand_by_kind_and_kernel() {
    let page = page(&document("_Z5scalePffi", "a.cu"));
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{page}");
    assert_eq!(count(&page, "<details class=\"finding\""), 3);
    assert_eq!(count(&page, "<section class=\"kind\""), 3);
    assert!(page.contains("<h3><code>scale(float*, float, int)</code></h3>"), "{page}");
    assert!(page.contains("1 finding, 1 known, 1 suppressed"), "{page}");
    assert!(page.contains("<span class=\"status new\">") && !page.contains("class=\"status\""), "{page}");
    // What is new is open and comes first.
    assert!(page.contains("open data-kind=\"data-race\""), "{page}");
    assert!(page.contains("<details class=\"finding\" data-kind=\"misaligned\""), "{page}");
    assert!(page.find("<h2>data-race").unwrap() < page.find("<h2>misaligned").unwrap());
    assert!(page.contains("Seen 2 times") && page.contains("--seed 2 --jobs 1"), "{page}");
    assert!(page.contains("Suppressed: a.cu") && page.contains("process 77"), "{page}");
    assert!(page.contains("block (0…1, 0, 0), thread (3…9, 0, 0)"), "{page}");
    assert!(page.contains("In the baseline, not seen any more"), "{page}");
    assert!(page.contains("Suppressions that match nothing"), "{page}");
}

#[test]
fn both_places_stand_beside_each_other_with_their_marks() {
    let page = page(&document("k", "a.cu"));
    assert_eq!(count(&page, "<div class=\"sides pair\">"), 3);
    assert_eq!(count(&page, "<h4>Here</h4>"), 3);
    assert_eq!(count(&page, "<h4>And here</h4>"), 3);
    let marked = "<th scope=\"row\">48</th><td><code>  <mark>y[i]</mark> = x[i]; // &lt;b&gt;</code></td>";
    assert_eq!(count(&page, marked), 3, "{page}");
    assert!(page.contains("<th scope=\"row\">47</th><td><code>// above</code></td>"), "{page}");
}

#[test]
fn nothing_that_others_chose_becomes_markup() {
    let page = page(&document(HOSTILE, HOSTILE));
    let harmless = super::page(&document("k", "a.cu"));
    for start in ["<script", "</script", "<style", "</style", "<img", "<section", "<details", "<tr", "<code"]
    {
        assert_eq!(count(&page, start), count(&harmless, start), "{start}");
    }
    assert!(!page.contains("<b>") && !page.contains("\" onload='x'"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
}

#[test]
fn nothing_is_fetched() {
    let page = page(&document("k", "a.cu"));
    assert!(page.contains("default-src 'none'"), "{page}");
    for start in ["src=", "href=\"http", "url(", "@import", "fetch(", "<link"] {
        assert!(!page.contains(start), "{start}");
    }
}

#[test]
fn other_commands_have_a_page_too() {
    let place = json!({ "file": "a.ptx", "line": 3, "column": 1, "end_line": 3, "end_column": 4 });
    let document = json!({ "command": "check", "exit_code": 3, "files": [{ "file": "a.ptx", "exit_code": 3, "error": null,
        "diagnostics": [{ "code": "E0404", "severity": "error", "message": "no <such> thing", "place": place, "labels": [],
                          "help": ["say `so` or `not", "``"], "status": "new", "fingerprint": "f", "reason": null }], "unsupported": [] }] });
    let page = page(&document);
    assert!(page.contains("<h2>E0404</h2>") && page.contains("no &lt;such&gt; thing"), "{page}");
    assert!(page.contains("help: say <code>so</code> or `not") && page.contains("a.ptx:3"), "{page}");
    let empty = super::page(&json!({ "command": "run", "exit_code": 0, "launches": [] }));
    assert!(empty.contains("Nothing was found.") && empty.contains("no new findings"), "{empty}");
}

proptest! {
    #[test]
    fn no_text_gets_out(kernel: String, file: String) {
        let page = page(&document(&kernel, &file));
        prop_assert_eq!(count(&page, "<details class=\"finding\""), 3);
        prop_assert_eq!(count(&page, "<script"), 1);
    }
}
