//! Findings that are expected, from outside: exit codes, files and formats. `cli/SUPPRESSIONS.md` is among the transcripts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn warpgrind(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpgrind")).current_dir(folder).args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_page_quotes_the_file() {
    let page = std::fs::read_to_string(root().join("cli/SUPPRESSIONS.md")).unwrap();
    let quoted = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(quoted, std::fs::read_to_string(root().join("cli/tests/data/suppressions.toml")).unwrap());
}

/// A kernel that stores past the end of its buffer at two lines of CUDA, and traps at a third if there is one.
struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    fn new() -> Program {
        Program { folder: tempfile::tempdir().unwrap() }
    }

    /// Writes both texts: `lines` of CUDA, of which those with a number are the stores of so many bytes behind the end.
    fn write(&self, lines: &[&str]) {
        let mut body = String::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(offset) = line.split(['[', ']']).nth(1) {
                body += &format!(".loc 1 {} 3\n@%q st.global.u32 [%p+{offset}], 1;\n", at + 1);
            }
        }
        let ptx = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b64 %p; .reg .b32 %t; .reg .pred %q;\nld.param.u64 %p, [p];\nmov.u32 %t, %tid.x;\nsetp.ge.u32 %q, %t, 0;\n{body}ret;\n}}\n"
        );
        std::fs::write(self.folder.path().join("k.ptx"), ptx).unwrap();
        std::fs::write(self.folder.path().join("k.cu"), lines.join("\n") + "\n").unwrap();
    }

    fn run(&self, options: &[&str]) -> Output {
        let args = ["run", "k.ptx", "-a", "u32[1]=0"];
        warpgrind(self.folder.path(), &[&args[..], options].concat())
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.folder.path().join(name)).unwrap()).unwrap()
    }
}

#[test]
fn a_baseline_survives_lines_that_move() {
    let program = Program::new();
    program.write(&["start", "p[4096] = 1;", "end"]);
    let written = program.run(&["--write-baseline", "b.json"]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    assert!(stderr(&written).ends_with("1 finding written to b.json\n"), "{}", stderr(&written));
    program.write(&["// more", "start", "", "", "  p[4096]  =  1;", "end"]);
    let moved = program.run(&["--baseline", "b.json", "--report", "r.sarif"]);
    assert_eq!(moved.status.code(), Some(0), "{}", stderr(&moved));
    assert!(stderr(&moved).ends_with("left out: 1 known finding\n"), "{}", stderr(&moved));
    assert_eq!(program.json("r.sarif")["runs"][0]["results"][0]["baselineState"], "unchanged");

    program.write(&["p[8192] = 1;"]);
    let gone = program.run(&["--baseline", "b.json", "--report", "r.sarif"]);
    assert_eq!(gone.status.code(), Some(5));
    let note = "note: out-of-bounds in k at k.cu:2 is in the baseline and was not seen\n";
    assert!(stderr(&gone).ends_with(note), "{}", stderr(&gone));
    let results = &program.json("r.sarif")["runs"][0]["results"];
    assert_eq!(
        (&results[0]["baselineState"], &results[1]["baselineState"]),
        (&"new".into(), &"absent".into())
    );
}

#[test]
fn a_suppression_counts_in_every_format() {
    let program = Program::new();
    program.write(&["p[4096] = 1;"]);
    let file = program.folder.path().join("s.toml");
    std::fs::write(&file, "[[suppression]]\nfile = \"k.cu\"\nline = 1\nreason = \"<why>\"\n").unwrap();
    for (format, has) in [
        ("json", "\"status\": \"suppressed\""),
        ("sarif", "\"justification\": \"<why>\""),
        ("junit", "failures=\"0\""),
        ("github", ""),
    ] {
        let output = program.run(&["--suppressions", "s.toml", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(has) && !text.contains("::error"), "{format}: {text}");
    }
    for (name, has) in
        [("r.html", "Suppressed: &lt;why&gt;"), ("r.json", "\"suppressed\": 1"), ("r.xml", "testsuite")]
    {
        let output = program.run(&["--suppressions", "s.toml", "--report", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let text = std::fs::read_to_string(program.folder.path().join(name)).unwrap();
        assert!(text.contains(has), "{name}: {text}");
    }
}

#[test]
fn unused_suppressions_are_an_error_if_they_shall_be() {
    let program = Program::new();
    program.write(&["nothing"]);
    std::fs::write(
        program.folder.path().join("s.toml"),
        "[[suppression]]\nkind = \"trap\"\nreason = \"r\"\n",
    )
    .unwrap();
    for (level, code, said) in [
        ("ignore", 0, ""),
        ("warn", 0, "warning: s.toml:1: this suppression matches nothing\n"),
        ("error", 1, "error: s.toml:1: this suppression matches nothing\n"),
    ] {
        let output = program.run(&["--suppressions", "s.toml", "--unused-suppressions", level]);
        assert_eq!(output.status.code(), Some(code), "{level}");
        let rest = stderr(&output);
        let rest = rest.split_once('\n').unwrap().1;
        assert_eq!(rest, said, "{level}");
    }
}

#[test]
fn check_and_litmus_have_expectations_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (bad, unsupported) = ("cli/tests/data/invalid.ptx", "cli/tests/data/unsupported.ptx");
    let baseline = path("b.json");
    let litmus = "memory-model/testdata/litmus/MP+rel+acq.litmus";
    for (verb, files, code) in [("check", &[bad, unsupported][..], 3), ("litmus", &[litmus], 1)] {
        let run = |options: &[&str]| warpgrind(&root(), &[&[verb], files, options].concat());
        let first = run(&[]);
        assert_eq!(first.status.code(), Some(code), "{verb}: {}", stderr(&first));
        assert_eq!(run(&["--write-baseline", &baseline]).status.code(), Some(0), "{verb}");
        let known = run(&["--baseline", &baseline]);
        assert_eq!(known.status.code(), Some(0), "{verb}: {}", stderr(&known));
    }
    let suppressed = path("s.toml");
    std::fs::write(
        &suppressed,
        "[[suppression]]\nkind = \"unsupported\"\nfile = \"data/*.ptx\"\nreason = \"r\"\n",
    )
    .unwrap();
    let output = warpgrind(&root(), &["check", unsupported, "--suppressions", &suppressed]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn values_that_differ_are_suppressed_and_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = "cli/tests/data/mismatch.toml";
    let text = "[[suppression]]\nkind = \"mismatch\"\nkernel = \"y\"\nfile = \"mismatch.toml\"\nreason = \"rounded\"\n";
    let (suppressions, baseline) = (folder.path().join("s.toml"), folder.path().join("b.json"));
    let (suppressions, baseline) = (suppressions.to_str().unwrap(), baseline.to_str().unwrap());
    std::fs::write(suppressions, text).unwrap();
    let run = |args: &[&str]| warpgrind(&root(), &[&["run", file], args].concat());
    let plain = run(&["--print-suppressions"]);
    assert_eq!(plain.status.code(), Some(1));
    assert!(stderr(&plain).contains("kind = \"mismatch\"\nkernel = \"y\"\n"), "{}", stderr(&plain));
    let known = |output: Output, how: &str| {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stderr(&output);
        assert!(text.contains(&format!("y: not as expected, 1 {how} finding\n")), "{text}");
        assert!(!text.contains("error"), "{text}");
    };
    known(run(&["--suppressions", suppressions]), "suppressed");
    known(run(&["--write-baseline", baseline]), "known");
    known(run(&["--baseline", baseline]), "known");
    let sarif = run(&["--suppressions", suppressions, "--format", "sarif"]);
    let sarif: Value = serde_json::from_slice(&sarif.stdout).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["suppressions"][0]["justification"]),
        (&"mismatch".into(), &"rounded".into())
    );
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 10);
}

#[test]
fn litmus_tests_that_are_not_well_formed_are_suppressed_and_known() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("bad.litmus", "PTX bad\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.wek x, 1 ;\nexists (x == 1)\n");
    write(
        "s.toml",
        "[[suppression]]\nkind = \"L006\"\nfile = \"bad.litmus\"\nline = 4\nreason = \"a draft\"\n",
    );
    let run = |args: &[&str]| warpgrind(folder.path(), &[&["litmus", "bad.litmus"], args].concat());
    assert_eq!(run(&[]).status.code(), Some(3));
    for (args, how) in [
        (["--suppressions", "s.toml"], "suppressed"),
        (["--write-baseline", "b.json"], "known"),
        (["--baseline", "b.json"], "known"),
    ] {
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, format!("bad.litmus: no test, 1 {how} finding\n"));
        assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
    }
    let sarif = run(&["--suppressions", "s.toml", "--format", "sarif"]);
    let sarif: Value = serde_json::from_slice(&sarif.stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "L006");
    // What cannot be read is no finding.
    assert_eq!(
        warpgrind(folder.path(), &["litmus", "no.litmus", "--write-baseline", "c.json"]).status.code(),
        Some(2)
    );
}
