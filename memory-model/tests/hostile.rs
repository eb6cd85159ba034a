//! Hostile input: damaged tests, and tests made to be expensive. Nothing panics, and nothing takes much longer
//! than its time limit.
//!
//! `WARPGRIND_FUZZ=50` damages fifty times as many tests.

use memory_model::model::ModelName;
use memory_model::{Limits, Options, Property, check, parse, parse_nvlitmus};
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use testkit::litmus::Random;

/// The time limit of each check, and what a check, and reading with all checks, may take on a busy machine.
const LIMIT: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

fn options(model: ModelName, property: Property) -> Options {
    let limits = Limits { time: Some(LIMIT), ..Limits::default() };
    Options { model, property, limits, outcomes: true, explain: true, ..Options::default() }
}

/// Reads and checks a text; how many tests were in it.
fn survive(text: &str, nvlitmus: bool, pick: usize) -> usize {
    let start = Instant::now();
    let tests = match nvlitmus {
        true => parse_nvlitmus(text),
        false => parse(text).map(|test| vec![test]),
    };
    let read = start.elapsed();
    let count = match tests {
        Ok(tests) => {
            let property = Property::ALL[pick % 4];
            let model = ModelName::ALL[pick / 4 % 4];
            for test in tests.iter().take(3) {
                let start = Instant::now();
                let verdict = check(test, &options(model, property));
                let took = start.elapsed();
                assert!(took < LATE, "{took:?} instead of {LIMIT:?}:\n{}", &text[..text.len().min(2000)]);
                for shown in verdict.witness.iter() {
                    let _ = (shown.table(), shown.dot(&test.name));
                }
                let _: Vec<_> = verdict.cuts.iter().map(|cut| (cut.text(), cut.dot(&test.name))).collect();
            }
            tests.len()
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            let _: Vec<_> = errors.iter().take(3).map(|e| e.render("file", text)).collect();
            0
        }
    };
    let took = start.elapsed();
    assert!(took < PATIENCE, "{took:?}, of which {read:?} to read:\n{}", &text[..text.len().min(2000)]);
    count
}

const PIECES: [&str; 40] = [
    "|",
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "@",
    "=",
    "==",
    "&",
    "%",
    "+",
    "-",
    "\\/",
    "/\\",
    "~",
    "\"",
    "(*",
    "*)",
    "<<",
    "//",
    "r0",
    "x",
    "P0",
    "LC00",
    "LC00:",
    "st.weak",
    "atom",
    ".gpu",
    ".v4",
    ".u8",
    "9223372036854775807",
    "-1",
    "0x",
    "exists",
    "locations",
];

/// Damages a text in one place, or a few.
fn damage(random: &mut Random, text: &str) -> String {
    let mut bytes = text.to_owned();
    for _ in 0..1 + random.below(3) {
        let boundary = |bytes: &str, at: usize| (at..=bytes.len()).find(|&i| bytes.is_char_boundary(i));
        let start = boundary(&bytes, random.below(bytes.len() + 1)).unwrap_or(0);
        let end = boundary(&bytes, (start + random.below(20)).min(bytes.len())).unwrap_or(start);
        match random.below(6) {
            0 => bytes.replace_range(start..end, ""),
            1 => bytes.insert_str(start, PIECES[random.below(PIECES.len())]),
            2 => bytes.replace_range(start..end, PIECES[random.below(PIECES.len())]),
            3 => {
                let piece = bytes[start..end].to_owned();
                let to = boundary(&bytes, random.below(bytes.len() + 1)).unwrap_or(0);
                bytes.insert_str(to, &piece);
            }
            4 => {
                // Lines change places.
                let mut lines: Vec<&str> = bytes.lines().collect();
                let (a, b) = (random.below(lines.len().max(1)), random.below(lines.len().max(1)));
                if a < lines.len() && b < lines.len() {
                    lines.swap(a, b);
                }
                bytes = lines.join("\n");
            }
            _ => bytes.insert(start, ['\0', '\u{feff}', 'é', '\r', '\t', '\u{202e}'][random.below(6)]),
        }
    }
    bytes
}

fn files(folder: &str) -> Vec<String> {
    let path = format!("{}/testdata/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(&path)
        .unwrap_or_else(|e| panic!("{path}: {e}"))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "litmus"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("text")).collect()
}

#[test]
fn damaged_tests() {
    let times = std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut texts = files("litmus");
    texts.extend(files("termination"));
    texts.extend(
        (0..22).map(|seed| testkit::litmus::litmus(seed, testkit::litmus::FLAVOURS[seed as usize % 11])),
    );
    let nvlitmus = ".global x;\n.surfref s virtually aliases x;\nd0.b0.t0 {\n  $0, 1;\n  $1\n}\nd0.b1.t0 {\n  \
        ld.acquire.cta r0, [x] == 1;\n}\n$2(r0 == 1 && x != 3) as seen;\n$$\nst [x] | fence.proxy.surface; | \
        permit\nsust [s] | | assert\n";
    let (mut whole, mut tried) = (0, 0);
    for round in 0..12 * times {
        for (index, text) in texts.iter().enumerate() {
            let mut random = Random::new(round * 1000 + index as u64);
            whole += survive(&damage(&mut random, text), false, random.below(16));
            tried += 1;
        }
        for index in 0..20 {
            let mut random = Random::new(round * 1000 + 500 + index);
            whole += survive(&damage(&mut random, nvlitmus), true, random.below(16));
            tried += 1;
        }
    }
    eprintln!("{whole} of {tried} damaged tests still had a meaning");
    assert!(whole * 20 > tried && whole < tried);
}

fn column(lines: impl Iterator<Item = String>, assertion: &str) -> String {
    let mut text = "PTX big\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n".to_owned();
    for line in lines {
        let _ = writeln!(text, "{line} | {line} ;");
    }
    text + assertion
}

#[test]
fn expensive_tests() {
    let assertion = "exists (x == 1)\n";
    let many_threads = |n: usize| {
        let places: Vec<String> = (0..n).map(|t| format!("P{t}@cta {t},gpu 0")).collect();
        let cells = vec!["atom.relaxed.gpu.add r0, x, 1"; n].join(" | ");
        format!("PTX threads\n{{ x=0; }}\n{} ;\n{cells} ;\n{assertion}", places.join(" | "))
    };
    let cases = [
        // Values that multiply with each instruction.
        column((0..60).map(|i| format!("atom.relaxed.gpu.add r{i}, x, r{}", i.max(1) - 1)), assertion),
        column(
            (0..200).map(|i| format!("ld.weak r{i}, x ;;\nst.weak x, r{i}").replace(";;\n", "| ;\n")),
            assertion,
        ),
        column(
            (0..40).flat_map(|i| {
                [
                    format!("ld.weak r{}, x", 2 * i),
                    format!("mul r{}, r{}, 3", 2 * i + 1, 2 * i),
                    format!("add r{}, r{}, {i}", 2 * i + 1, 2 * i + 1),
                    format!("st.weak x, r{}", 2 * i + 1),
                ]
            }),
            assertion,
        ),
        // A value with as many ways to it as there are paths through sixty diamonds.
        column(
            std::iter::once("ld.weak r0, x".to_owned())
                .chain((0..60).map(|_| "add r0, r0, r0".to_owned()))
                .chain(["st.weak x, r0".to_owned()]),
            assertion,
        ),
        column(
            (0..40).flat_map(|i| {
                [format!("atom.relaxed.gpu.add r{}, x, r{i}", i + 1), format!("mul r{0}, r{0}, r{i}", i + 1)]
            }),
            assertion,
        ),
        // Paths that double with each branch.
        column(
            (0..60).flat_map(|i| {
                [
                    "ld.weak r0, x".to_owned(),
                    format!("beq r0, {i}, LC{i}"),
                    "st.weak y, 1".into(),
                    format!("LC{i}:"),
                ]
            }),
            assertion,
        ),
        column((0..300).map(|i| format!("st.relaxed.gpu x, {i}")), assertion),
        column((0..300).map(|_| "fence.sc.gpu".to_owned()), assertion),
        column((0..300).map(|_| "bar.cta.sync 0, 0, 2".to_owned()), assertion),
        column(
            (0..500).map(|i| format!("ld.relaxed.gpu.v4.u8 {{r0, r1, r2, r3}}, x+{}", i % 500)),
            assertion,
        ),
        column((0..9000).map(|_| "fence.acq_rel.gpu".to_owned()), assertion),
        column((0..10_001).map(|_| "mov r0, 1".to_owned()), assertion),
        many_threads(40),
        many_threads(200),
        many_threads(1001),
        // Loops in loops.
        column(
            (0..12)
                .map(|i| format!("LC{i}: "))
                .chain(["atom.relaxed.gpu.exch r0, x, r0".into()])
                .chain((0..12).map(|i| format!("bne r0, {i}, LC{i}"))),
            assertion,
        ),
        format!(
            "PTX deep\n{{ x=0; }}\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists {}x == 1{}\n",
            "(".repeat(50_000),
            ")".repeat(50_000)
        ),
        format!(
            "PTX wide\n{{ x=0; }}\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists ({})\n",
            vec!["x == 1"; 20_000].join(" /\\ ")
        ),
        format!(
            "PTX names\n{{ {} }}\nP0@cta 0,gpu 0 ;\nst.weak x1, 1 ;\nexists (x1 == 1)\n",
            (0..5000).map(|i| format!("x{i} = {i};")).collect::<String>()
        ),
        format!(
            "PTX {}\n{{ x=0; }}\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 1)\n",
            "n".repeat(1_000_000)
        ),
        "(*".repeat(200_000),
        "\"".repeat(200_001),
        "PTX x\n{".repeat(50_000),
        "|".repeat(500_000),
        format!("PTX x\n{{ x=0; }}\n{}", "P0@cta 0,gpu 0 |".repeat(5000)),
        format!(
            "PTX x\n{{ x=0; }}\nP0@cta 4294967295,gpu 4294967296 ;\nst.weak x, 99999999999999999999 ;\nexists (x == {})\n",
            "9".repeat(10_000)
        ),
    ];
    for (index, text) in cases.iter().enumerate() {
        let start = Instant::now();
        for property in 0..4 {
            survive(text, false, property);
            survive(text, index % 2 == 0, property + 4 * (index % 4));
        }
        eprintln!("case {index}: {:?}", start.elapsed());
    }
}
