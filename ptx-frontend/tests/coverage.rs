//! The instruction table against what NVIDIA's assembler accepts: one sample per form of the
//! coverage list, recorded verdicts of ptxas on instructions and modules, and what the table itself enumerates.

use std::collections::{BTreeMap, BTreeSet};

use ptx_frontend::{Form, Severity, Source, define_externs, forms, link, parse};
use testkit::samples::{sm, version, wrap};

const SAMPLES: &str = include_str!("../../testdata/coverage/samples.csv");
const VERDICTS: &str = include_str!("../../testdata/coverage/ptxas-verdicts.txt");
const MODULES: &str = include_str!("../../testdata/coverage/ptxas-modules.txt");
const DISAGREEMENTS: &str = include_str!("../../testdata/coverage/ptxas-disagreements.txt");

/// For each line the codes of its errors; the module is split so that no error is cut off.
fn judge(lines: &[&str], ptx: &str, target: &str) -> Vec<Vec<String>> {
    let mut judged = Vec::new();
    for part in lines.chunks(60) {
        let (text, first_line) = wrap(part, ptx, target);
        let parsed = parse(Source::new("coverage.ptx", text.into_bytes()));
        let mut codes = vec![Vec::new(); part.len()];
        for error in parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error) {
            let (line, _) = parsed.source.line_column(error.span.start);
            let at = line.wrapping_sub(first_line) as usize;
            let Some(codes) = codes.get_mut(at) else {
                panic!("{ptx} {target}: error outside the instructions: {} {}", error.code, error.message);
            };
            codes.push(format!("{} {}", error.code, error.message));
        }
        judged.append(&mut codes);
    }
    judged
}

/// One line of the coverage list.
struct Sample<'a> {
    version: &'a str,
    target: &'a str,
    accepted: Vec<&'a str>,
    exact: bool,
    text: &'a str,
}

/// The fields of a CSV line; fields with commas stand in double quotes.
fn fields(line: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let end = quoted.find('"').expect("a closing quote");
                (&quoted[..end], &quoted[end + 1..])
            }
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None => return fields,
        }
    }
}

fn samples() -> Vec<Sample<'static>> {
    let lines = SAMPLES.lines().skip(1);
    lines
        .map(|line| match fields(line).as_slice() {
            &[_, _, version, target, accepted, exact, text] => Sample {
                version,
                target,
                accepted: accepted.split_whitespace().collect(),
                exact: exact == "exact",
                text,
            },
            other => panic!("{other:?}"),
        })
        .collect()
}

/// The first PTX version that knows a target.
fn introduced(target: &str) -> &'static str {
    match (sm(target), target.ends_with('f')) {
        (_, true) => "8.8",
        (0..=13, _) => "1.2",
        (20..=21, _) => "2.0",
        (30..=39, _) => "4.0",
        (50, _) => "4.0",
        (52, _) => "4.1",
        (53, _) => "4.2",
        (60..=62, _) => "5.0",
        (70, _) => "6.0",
        (72, _) => "6.1",
        (75, _) => "6.3",
        (80, _) => "7.0",
        (86, _) => "7.1",
        (87, _) => "7.4",
        (89..=90, _) if !target.ends_with('a') => "7.8",
        (90, _) => "8.0",
        (100..=101, _) => "8.6",
        (120, _) => "8.7",
        (103 | 121, _) => "8.8",
        (110, _) => "9.0",
        _ => "9.3",
    }
}

fn newer<'a>(left: &'a str, right: &'a str) -> &'a str {
    if version(left) >= version(right) { left } else { right }
}

#[test]
fn every_sample_is_accepted_from_its_minimum_on() {
    let samples = samples();
    assert!(samples.len() > 400, "{}", samples.len());
    let mut wrong = Vec::new();
    for sample in &samples {
        // What is older than ptxas can target was taken from the manual for whole groups of forms, of
        // which some are younger: those are tried at the oldest target that ptxas has.
        let oldest = if sample.exact { sample.target } else { "sm_50" };
        let minimum = newer(sample.version, introduced(oldest));
        let mut contexts = vec![(minimum, oldest)];
        contexts.extend(sample.accepted.iter().map(|target| ("9.4", *target)));
        if sample.accepted.is_empty() {
            contexts.push(("9.4", "sm_90"));
            contexts.retain(|(_, target)| sm(target) >= sm(sample.target));
        }
        for (ptx, target) in contexts {
            let codes = &judge(&[sample.text], ptx, target)[0];
            if !codes.is_empty() {
                wrong.push(format!("{ptx} {target}: {}: {codes:?}", sample.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn samples_are_refused_below_their_minimum() {
    const VERSIONS: [&str; 40] = [
        "2.0", "2.1", "2.2", "2.3", "3.0", "3.1", "3.2", "4.0", "4.1", "4.2", "4.3", "5.0", "6.0", "6.1",
        "6.2", "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0",
        "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1", "9.2", "9.3",
    ];
    const TARGETS: [&str; 13] = [
        "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_89",
        "sm_90", "sm_100",
    ];
    let (mut wrong, mut by_version, mut by_target) = (Vec::new(), 0, 0);
    for sample in samples().iter().filter(|sample| sample.exact) {
        let mut check = |ptx: &str, target: &str| {
            let codes = &judge(&[sample.text], ptx, target)[0];
            if !codes.iter().any(|code| code.starts_with("E06")) {
                wrong.push(format!("{ptx} {target}: {}: {codes:?}", sample.text));
            }
        };
        // One version earlier, if that knows the target.
        let earlier = VERSIONS.iter().rev().find(|older| version(older) < version(sample.version));
        if let Some(earlier) = earlier
            && version(earlier) >= version(introduced(sample.target))
        {
            by_version += 1;
            check(earlier, sample.target);
        }
        // One target below, in the newest version.
        let below = TARGETS.iter().rev().find(|below| sm(below) < sm(sample.target));
        if let Some(below) = below {
            by_target += 1;
            check("9.4", below);
        }
    }
    assert!(by_version > 60 && by_target > 150, "{by_version} {by_target}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn verdicts_are_those_of_ptxas_but_for_the_listed_ones() {
    let mut modules: BTreeMap<(&str, &str), Vec<(&str, bool)>> = BTreeMap::new();
    let mut module = ("", "");
    for line in VERDICTS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix("@ ") {
            module = header.split_once(' ').expect("version and target");
        } else {
            let (verdict, text) = line.split_at(1);
            modules.entry(module).or_default().push((text, verdict == "+"));
        }
    }
    let (mut total, mut differing) = (0, BTreeSet::new());
    for ((ptx, target), lines) in &modules {
        let texts: Vec<&str> = lines.iter().map(|(text, _)| *text).collect();
        for ((text, accepted), codes) in lines.iter().zip(judge(&texts, ptx, target)) {
            total += 1;
            if *accepted != codes.is_empty() {
                let verdict = if *accepted { '+' } else { '-' };
                differing.insert(format!("{ptx} {target} {verdict}{text}"));
            }
        }
    }
    assert!(total > 10_000, "{total}");
    let known: BTreeSet<String> =
        DISAGREEMENTS.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let new: Vec<&String> = differing.difference(&known).collect();
    let gone: Vec<&String> = known.difference(&differing).collect();
    assert!(new.is_empty() && gone.is_empty(), "new: {new:#?}\ngone: {gone:#?}");
    assert!(known.len() * 250 < total, "{} of {total}", known.len());
}

#[test]
fn forms_accept_what_they_enumerate() {
    let instructions = testkit::samples::instructions();
    let forms: BTreeSet<Form> = instructions.iter().map(|instruction| instruction.form).collect();
    assert!(forms.len() > 600, "{}", forms.len());
    let mut modules: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for instruction in &instructions {
        modules.entry((instruction.version, instruction.target)).or_default().push(&instruction.text);
    }
    let mut wrong = Vec::new();
    for ((ptx, target), texts) in &modules {
        for (text, codes) in texts.iter().zip(judge(texts, ptx, target)) {
            if !codes.is_empty() {
                wrong.push(format!("{ptx} {target}: {text}: {codes:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}

#[test]
fn instances_are_distinct_and_hold_the_samples() {
    for form in forms().filter(|form| form.group() != "memory" && form.group() != "wgmma") {
        let instances = form.instances();
        let set: BTreeSet<_> = instances.iter().collect();
        assert_eq!(set.len(), instances.len(), "{}", form.notation());
        for sample in form.samples() {
            assert!(set.contains(&sample), "{}: {sample:?}", form.notation());
        }
    }
}

/// Whole modules, each in a line of its own: declarations, and what the instruction table has no say in. Lines
/// that are judged otherwise end in the reason.
#[test]
fn modules_are_judged_as_by_ptxas_but_for_the_marked_ones() {
    let mut wrong = Vec::new();
    let mut total = 0;
    for line in MODULES.lines().filter(|line| !line.starts_with('#')) {
        total += 1;
        let (header, text) = line[1..].split_once("] ").expect("[version target] text");
        let (ptx, target) = header[1..].split_once(' ').expect("version and target");
        let size = if version(ptx) >= version("2.3") { ".address_size 64\n" } else { "" };
        let text = format!(".version {ptx}\n.target {target}\n{size}{text}\n");
        let parsed = parse(Source::new("module.ptx", text.into_bytes()));
        let accepted = parsed.module.is_some_and(|mut module| {
            define_externs(&mut module);
            link(vec![module]).is_ok()
        });
        if (accepted == line.starts_with('+')) == line.contains("// differs: ") {
            wrong.push(line);
        }
    }
    assert!(total > 300, "{total}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
