//! The instruction table against what NVIDIA's assembler accepts: one sample per form of the
//! coverage list, recorded verdicts of ptxas, and what the table itself enumerates.

use std::collections::{BTreeMap, BTreeSet};

use ptx_frontend::{
    Form, OperandKind, OperandRole, PtxVersion, ScalarType, Severity, Source, StateSpace, forms, parse,
};

const SAMPLES: &str = include_str!("../../testdata/coverage/samples.csv");
const VERDICTS: &str = include_str!("../../testdata/coverage/ptxas-verdicts.txt");
const DISAGREEMENTS: &str = include_str!("../../testdata/coverage/ptxas-disagreements.txt");

/// A module that declares everything the recorded instructions name, with one instruction a line.
struct Wrapped {
    text: String,
    first_line: u32,
}

fn version(text: &str) -> PtxVersion {
    let (major, minor) = text.split_once('.').expect("major.minor");
    PtxVersion::new(major.parse().expect("a number"), minor.parse().expect("a number"))
}

fn sm(target: &str) -> u32 {
    let digits = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    digits.parse().expect("a target such as sm_90a")
}

fn wrap(lines: &[&str], ptx: &str, target: &str) -> Wrapped {
    let at = version(ptx);
    let mut text = format!(".version {ptx}\n.target {target}\n");
    if at >= PtxVersion::new(2, 3) {
        text.push_str(".address_size 64\n");
    }
    text.push_str(
        ".global .align 128 .b8 gbuf[256];\n.shared .align 128 .b8 sbuf[256];\n\
         .const .align 16 .b8 cbuf[64];\n.global .texref txr;\n.global .surfref sfr;\n\
         .visible .entry k(.param .u64 parm, .param .b32 parm32) {\n\
         .reg .pred %p<9>;\n.reg .b8 %xb<4>;\n.reg .u8 %xu<4>;\n.reg .s8 %xs<4>;\n\
         .reg .b16 %h<9>;\n.reg .u16 %hu<9>;\n.reg .s16 %hs<9>;\n.reg .b32 %r<300>;\n\
         .reg .u32 %ru<9>;\n.reg .s32 %rs<9>;\n.reg .f32 %f<300>;\n.reg .b64 %d<40>;\n\
         .reg .u64 %du<9>;\n.reg .s64 %ds<9>;\n.reg .f64 %fd<9>;\n",
    );
    if at >= PtxVersion::new(4, 2) && sm(target) >= 53 {
        text.push_str(".reg .f16 %hf<9>;\n.reg .f16x2 %hh<9>;\n");
    }
    if at >= PtxVersion::new(8, 3) && sm(target) >= 70 {
        text.push_str(".reg .b128 %q<9>;\n");
    }
    text.push_str(".local .align 16 .b8 lbuf[64];\n");
    let first_line = text.lines().count() as u32 + 1;
    for line in lines {
        if line.starts_with("ts:") {
            text.push_str(&format!("{line};\n"));
        } else {
            text.push_str(&format!("{{ {line}; }}\n"));
        }
    }
    text.push_str("L0: ret;\n}\n");
    Wrapped { text, first_line }
}

/// For each line the codes of its errors; the module is split so that no error is cut off.
fn judge(lines: &[&str], ptx: &str, target: &str) -> Vec<Vec<String>> {
    let mut judged = Vec::new();
    for part in lines.chunks(60) {
        let wrapped = wrap(part, ptx, target);
        let parsed = parse(Source::new("coverage.ptx", wrapped.text.into_bytes()));
        let mut codes = vec![Vec::new(); part.len()];
        for error in parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error) {
            let (line, _) = parsed.source.line_column(error.span.start);
            let at = line.wrapping_sub(wrapped.first_line) as usize;
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

/// Operands that fit an [`OperandKind`], from the names that [`wrap`] declares.
fn operand(kind: &OperandKind, at: &mut usize) -> String {
    *at += 1;
    let register = |at: usize| match (kind.ty, kind.ty.bits().next_multiple_of(8)) {
        (ScalarType::Pred, _) => format!("%p{}", at % 8 + 1),
        (_, 8) => format!("%xb{}", at % 4),
        (_, 16) => format!("%h{}", at % 8 + 1),
        (_, 32) => format!("%r{}", at % 250),
        (_, 64) => format!("%d{}", at % 39),
        _ => format!("%q{}", at % 8),
    };
    match &kind.role {
        OperandRole::Destination | OperandRole::Source { .. } => {
            let value = if kind.elements == 0 {
                register(*at)
            } else {
                let elements: Vec<String> = (0..kind.elements as usize).map(|n| register(*at + n)).collect();
                format!("{{{}}}", elements.join(","))
            };
            if kind.paired { format!("{value}|%p7") } else { value }
        }
        OperandRole::Constant { low, high } => {
            if *low == i64::MIN { 0 } else { *high.min(&128).max(low) }.to_string()
        }
        OperandRole::Address(StateSpace::Shared | StateSpace::SharedCluster) => "[%r0]".to_owned(),
        OperandRole::Address(_) => "[%d0]".to_owned(),
        OperandRole::TensorAddress => "[%r0]".to_owned(),
        OperandRole::Handle => "%d0".to_owned(),
        OperandRole::List(inner) => {
            let inner: Vec<String> = inner.iter().map(|kind| operand(kind, at)).collect();
            let inner: Vec<&str> = inner.iter().map(|text| text.trim_matches(['[', ']'])).collect();
            format!("[{}]", inner.join(","))
        }
        OperandRole::Label => "L0".to_owned(),
        OperandRole::Sink => "_".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A target that has the form.
fn target(form: Form) -> &'static str {
    let targets = form.minimum().targets;
    let has = |start: &str| targets.iter().any(|target| target.starts_with(start));
    if targets.is_empty() || has("sm_100") {
        "sm_100a"
    } else if has("sm_103") {
        "sm_103a"
    } else if has("sm_12") {
        "sm_120a"
    } else if has("sm_90a") {
        "sm_90a"
    } else {
        "sm_100a"
    }
}

#[test]
fn forms_accept_what_they_enumerate() {
    let mut modules: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let mut seen = 0;
    for form in forms() {
        let opcode = form.opcode().text();
        if matches!(opcode, "call" | "brx") {
            continue;
        }
        seen += 1;
        let old = matches!(opcode, "shfl" | "vote") || form.notation().starts_with("wmma");
        for modifiers in form.samples() {
            let words: String = modifiers.iter().map(ToString::to_string).collect();
            let module = match opcode {
                "shfl" | "vote" if !words.contains(".sync") => ("6.3", "sm_62"),
                "wmma" if old && !words.contains(".aligned") => ("6.2", "sm_70"),
                _ => ("9.4", target(form)),
            };
            let lists = form.operand_kinds(&modifiers);
            assert!(!lists.is_empty(), "{}: {words}", form.notation());
            for kinds in lists {
                let mut at = 0;
                let operands: Vec<String> = kinds.iter().map(|kind| operand(kind, &mut at)).collect();
                modules.entry(module).or_default().push(format!("{opcode}{words} {}", operands.join(",")));
            }
        }
    }
    assert!(seen > 600, "{seen}");
    let mut wrong = Vec::new();
    for ((ptx, target), lines) in &modules {
        let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
        for (text, codes) in texts.iter().zip(judge(&texts, ptx, target)) {
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
