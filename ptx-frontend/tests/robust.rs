//! No bytes make the front end panic, hang or overflow the stack.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use ptx_frontend::{Parsed, Source, parse, render::render_all};

const SAMPLE: &str = include_str!("sample.ptx");

/// Parses and renders; a module comes out exactly if there is no error.
fn check(text: impl Into<Vec<u8>>) -> Parsed {
    let parsed = parse(Source::new("x.ptx", text.into()));
    let errors = parsed.diagnostics.iter().any(|d| d.severity == ptx_frontend::Severity::Error);
    assert_eq!(parsed.module.is_none(), errors);
    for diagnostic in &parsed.diagnostics {
        let length = parsed.source.text.len();
        assert!(diagnostic.span.range().end <= length && diagnostic.span.start <= diagnostic.span.end);
        assert!(parsed.source.text.is_char_boundary(diagnostic.span.start as usize));
        assert!(
            ptx_frontend::codes::ALL.iter().any(|(code, _)| *code == diagnostic.code)
                || is_table_code(diagnostic)
        );
    }
    render_all(&parsed.diagnostics, &parsed.source, false);
    parsed
}

/// The instruction table keeps its own list of codes.
fn is_table_code(diagnostic: &ptx_frontend::Diagnostic) -> bool {
    ["E04", "E05", "E06"].iter().any(|prefix| diagnostic.code.0.starts_with(prefix))
}

/// Parses a hostile text within a time that a quadratic algorithm would miss by far.
fn quick(text: String) -> Parsed {
    let megabytes = text.len() as f64 / 1e6;
    let start = Instant::now();
    let parsed = check(text);
    let limit = Duration::from_secs_f64(5.0 + 5.0 * megabytes);
    assert!(start.elapsed() < limit, "{:?} for {megabytes} MB", start.elapsed());
    parsed
}

fn in_kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"
    )
}

#[test]
fn the_sample_is_accepted() {
    let parsed = check(SAMPLE);
    assert!(parsed.diagnostics.is_empty(), "{}", render_all(&parsed.diagnostics, &parsed.source, false));
}

#[test]
fn every_cut_of_the_sample_ends() {
    for end in (0..SAMPLE.len()).filter(|&end| SAMPLE.is_char_boundary(end)) {
        check(&SAMPLE[..end]);
    }
}

#[test]
fn every_missing_token_of_the_sample_ends() {
    let words: Vec<&str> =
        SAMPLE.split_inclusive([' ', ',', ';', '\n', '{', '}', '(', ')', '[', ']']).collect();
    for missing in 0..words.len() {
        let text: String =
            words.iter().enumerate().filter(|&(at, _)| at != missing).map(|(_, w)| *w).collect();
        check(text);
    }
}

/// A register of module scope, which is an error, outlives the functions after it.
#[test]
fn module_scope_registers() {
    let text = ".version 9.0\n.target sm_90\n.reg .b32 r; .reg .b32 q<3>;\n.func f { mov.b32 r, 1; ret; }\n\
        .func g { .reg .b32 r<2>; mov.b32 r1, r; mov.b32 q1, r; ret; }";
    assert!(check(text).module.is_none());
}

#[test]
fn deep_nesting() {
    const N: usize = 200_000;
    let nested = |n: usize| in_kernel(&format!("{}{}", "{".repeat(n), "}".repeat(n)));
    assert!(quick(nested(900)).module.is_some());
    assert_eq!(quick(nested(N)).diagnostics.len(), 1);
    for (open, close) in
        [("{", ""), ("(", ")"), ("[", "]"), ("-", ""), ("1?", ""), ("{ .reg .b32 a<3>; bra L;", "}")]
    {
        quick(in_kernel(&format!("{}{}", open.repeat(N), close.repeat(N))));
        quick(in_kernel(&format!("mov.u32 %r1, {}1{};", open.repeat(N), close.repeat(N))));
        quick(in_kernel(&format!("ld.global.u32 %r1, [{}1{}];", open.repeat(N), close.repeat(N))));
        quick(format!(
            ".version 9.0\n.target sm_90\n.global .u32 x[] = {}1{};",
            open.repeat(N),
            close.repeat(N)
        ));
    }
    quick(format!(".version 9.0\n.target sm_90\n.global .u32 x{} = {}1", "[1]".repeat(N), "{".repeat(N)));
}

#[test]
fn hostile_counts_cost_nothing() {
    let parsed = quick(in_kernel(".reg .b64 %x<4294967295>; mov.u64 %x4294967294, 1; mov.u64 %x0, 2;"));
    let module = parsed.module.expect("accepted");
    let function = &module.functions[0];
    assert_eq!(function.registers.len(), 2);
    quick(format!(".version 9.0\n.target sm_90\n.global .b8 x<{}>;", u64::MAX));
    quick(format!(".version 9.0\n.target sm_90\n.global .b8 x[{0}][{0}];", u64::MAX));
    quick(".version 9.0\n.target sm_90\n.global .b8 x[][1000000000] = {{1},{2},{3}};".to_owned());
    quick(in_kernel("L0: t: .branchtargets L<18446744073709551615>;"));
    let lists: String = (0..10_000).map(|at| format!("t{at}: .branchtargets L<60000>;\n")).collect();
    quick(in_kernel(&lists));
    quick(in_kernel(&".global .u32 g<60000>; { }".repeat(10_000)));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unless optimised")]
fn long_and_repeated_things() {
    const N: usize = 100_000;
    for unit in [
        ";",
        "}",
        "\0 ",
        "\u{fffd}",
        "# \n",
        "\"",
        "/*",
        "@",
        "@!%p1 ",
        ".reg .b32 a;",
        ".reg .b32 a<3>;",
        "L: ",
        "bra M;",
        "{ bra M; }",
        "mov.u32 %r1, undefined;",
        "mov.u32 undefined1, 5",
        ".loc 1 2 3 ",
        "nosuch %r1;",
        "add.nosuch %r1;",
        "%r1 ",
        "\n@@DWARF .byte 0\n",
        "call f;",
        ".pragma \"x\";",
        ".global .u32 a[1] = {1",
        "{1,",
        "1+",
        "1,",
        "a.b.c",
        "x::y",
        "0x",
        "1e",
        "é",
    ] {
        quick(unit.repeat(N));
        quick(in_kernel(&unit.repeat(N)));
    }
    quick(format!("{}{}", SAMPLE, " ".repeat(20 << 20)));
    quick(in_kernel(&format!("mov.u32 %r1, {};", "1".repeat(5 << 20))));
    quick(in_kernel(&format!("{}: bra {0};", "a".repeat(5 << 20))));
    quick(in_kernel(&format!("mov.u32 %r1, {};", "x".repeat(5 << 20))));
    quick(in_kernel(&format!("add{} %r1, %r1, %r1;", ".u32".repeat(1 << 18))));
    quick(in_kernel(&format!("add{} %r1, %r1, %r1;", " .u32".repeat(1 << 18))));
    let many: String = (0..N).map(|at| format!("mov.u32 %r1, name{at};\n")).collect();
    let parsed = quick(in_kernel(&many));
    assert!(parsed.diagnostics.last().expect("errors").message.contains("more errors"));
    let labels: String = (0..N).map(|at| format!("L{at}: bra L{};\n", N - 1 - at)).collect();
    assert!(quick(in_kernel(&labels)).module.is_some());
}

/// How many cases each property is tried with; `PROPTEST_CASES` sets it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        check(bytes);
    }

    #[test]
    fn random_tokens(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..120)) {
        let text = words.join(" ");
        check(text.clone());
        check(in_kernel(&text));
    }

    #[test]
    fn mutated_sample(edits in proptest::collection::vec((0..SAMPLE.len(), 0usize..12, any::<u8>()), 1..8)) {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        for (at, removed, put) in edits {
            let at = at.min(bytes.len());
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, [put]);
        }
        check(bytes);
    }

    #[test]
    fn spliced_sample(from in 0..SAMPLE.len(), length in 0usize..400, to in 0..SAMPLE.len()) {
        let bytes = SAMPLE.as_bytes();
        let piece = &bytes[from..(from + length).min(bytes.len())];
        let mut text = bytes[..to].to_vec();
        text.extend_from_slice(piece);
        text.extend_from_slice(&bytes[to..]);
        check(text);
    }
}

const WORDS: &[&str] = &[
    ".version",
    "9.0",
    ".target",
    "sm_90",
    ".address_size",
    "64",
    ".visible",
    ".extern",
    ".entry",
    ".func",
    ".param",
    ".reg",
    ".b32",
    ".u64",
    ".pred",
    ".v4",
    ".align",
    ".ptr",
    ".global",
    ".shared",
    ".const",
    ".local",
    "k",
    "f",
    "%r1",
    "%r<9>",
    "%p1",
    "%tid.x",
    "%v.y",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    ":",
    "+",
    "-",
    "@",
    "!",
    "|",
    "=",
    "<",
    ">",
    "?",
    "_",
    "1",
    "0x7fU",
    "1.5",
    "0f3f800000",
    "\"s\"",
    "mov.u32",
    "ld.global.u32",
    "call",
    "bra",
    "L",
    "ret",
    "add.s32",
    ".loc",
    ".file",
    ".section",
    ".debug_str",
    ".pragma",
    ".branchtargets",
    ".callprototype",
    ".alias",
    ".maxntid",
    "generic",
    "0xFF00",
    "WARP_SZ",
    "\n",
    "%",
];

/// Sizes, alignments and offsets at the edges of 32 and 64 bits are judged, laid out, linked and printed.
#[test]
fn sizes_of_any_magnitude_are_judged() {
    const SIZES: [&str; 9] = [
        "0",
        "1",
        "4294967295",
        "4294967296",
        "1099511627776",
        "4611686018427387904",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
    ];
    const ALIGNS: [&str; 5] = ["1", "16", "128", "1073741824", "2147483648"];
    let mut accepted = 0;
    for space in [".global", ".const", ".shared", ".local", ".param", ".extern .shared", ".extern .global"] {
        for (first, second) in SIZES.iter().flat_map(|first| SIZES.map(|second| (first, second))) {
            let align = ALIGNS[(first.len() + second.len()) % ALIGNS.len()];
            let variables = format!(
                "{space} .align {align} .b8 x[{first}], y[{second}]; {space} .v4 .b32 z[{first}][{second}];"
            );
            let outside = !space.ends_with(".local") && !space.ends_with(".param");
            let (module, body) = if outside { (&*variables, "") } else { ("", &*variables) };
            let text = format!(
                ".version 9.0\n.target sm_90\n.address_size 64\n{module}\n.visible .entry k(.param .align {align} \
                 .b8 p[{first}], .param .b64 q) {{ .reg .b32 %r; .reg .b64 %d; {body} mov.u64 %d, {second}; \
                 ld.param.u32 %r, [p+{first}]; ld.global.u32 %r, [%d+{second}]; ret; }}\n"
            );
            for text in [text.clone(), text.replace(&format!("p[{first}]"), "p[8]")] {
                if let Some(module) = check(text).module {
                    accepted += 1;
                    module.to_ptx();
                    let _ = ptx_frontend::link(vec![module.clone(), module]);
                }
            }
        }
    }
    assert!(accepted > 50, "{accepted}");
}
