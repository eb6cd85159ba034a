//! Compares instructions with what an H200 answered: `probes.txt`, `tables.txt`, `pairs.txt` and
//! `video.txt` in `testdata/h200`, described in the README there.
//!
//! Instructions become a kernel whose threads take one row of operands each, so that parser, decoding,
//! semantics and numerics are all under test.

use numerics::certificate::hash_run;
use sim_core::{Backend, DeviceConfig, Dim3, Launch, Outcome, RunOptions, Simulator};
use std::fmt::Write;
use std::sync::Arc;
use testkit::part;
use testkit::random::Random;

const PROBES: &str = include_str!("../../testdata/h200/probes.txt");
const TABLES: &str = include_str!("../../testdata/h200/tables.txt");
const PAIRS: &str = include_str!("../../testdata/h200/pairs.txt");
const VIDEO: &str = include_str!("../../testdata/h200/video.txt");

const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n";
const THREADS: u32 = 64;

/// True if `text` names the register `%<kind><number>` itself.
fn names(text: &str, kind: char, number: usize) -> bool {
    let register = format!("%{kind}{number}");
    text.match_indices(&register)
        .any(|(at, _)| !text[at + register.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// The kind letter and width in bits of operand or result `number`.
fn register(text: &str, number: usize) -> Option<(char, u32)> {
    [('h', 16), ('r', 32), ('d', 64)].into_iter().find(|&(kind, _)| names(text, kind, number))
}

/// A kernel `k` that reads operands 1 to 3 of thread `i` from `in + 24 i` and writes result 0 of
/// snippet `s` to `out + 8 (s * count + i)`. Address 4 is the thread's scratch in shared memory, address
/// 5 one in global memory, in place of operand 3.
fn kernel(snippets: &[String], count: u32) -> String {
    let mut ptx = format!(
        "{HEAD}.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<8>; .reg .b64 %a<8>; .reg .pred %p<4>;\n\
         .shared .align 8 .b8 scratch[{}];\n\
         mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mov.u32 %r10, %tid.x;\n\
         mad.lo.u32 %r11, %r8, %r9, %r10;\n\
         ld.param.u64 %a0, [in]; ld.param.u64 %a1, [out];\n\
         mul.wide.u32 %a2, %r11, 24; add.u64 %a2, %a0, %a2; add.u64 %a5, %a2, 16;\n\
         mul.wide.u32 %a3, %r11, 8; add.u64 %a3, %a1, %a3;\n\
         mov.u64 %a4, scratch; mul.wide.u32 %a6, %r10, 8; add.u64 %a4, %a4, %a6;\n",
        8 * THREADS
    );
    let all = snippets.concat();
    for number in 1..=3 {
        // A destination of an auxiliary instruction may bear a number too; loading it does no harm.
        if let Some((kind, width)) = register(&all, number) {
            writeln!(ptx, "ld.global.b{width} %{kind}{number}, [%a2+{}];", 8 * (number - 1)).unwrap();
        }
    }
    for (s, snippet) in (0u32..).zip(snippets) {
        let (kind, width) = register(snippet, 0).unwrap_or_else(|| panic!("no result in `{snippet}`"));
        writeln!(ptx, "{snippet}\nst.global.b{width} [%a3+{}], %{kind}0;", 8 * s * count).unwrap();
    }
    ptx + "ret;\n}\n"
}

/// The results of each snippet for rows of operands; an error says what went wrong before there were
/// any.
fn run(simulator: &Simulator, snippets: &[String], rows: &[[u64; 3]]) -> Result<Vec<Vec<u64>>, String> {
    let count = (rows.len() as u32).next_multiple_of(THREADS);
    let source = ptx_frontend::Source::new("probe", kernel(snippets, count).into_bytes());
    let parsed = ptx_frontend::parse(source);
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
    let module = parsed.module.ok_or_else(|| messages.join("; "))?;
    let text = |e: sim_core::Error| e.to_string();
    let id = simulator.load(Arc::new(module)).map_err(text)?;
    let mut bytes: Vec<u8> = rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(24 * count as usize, 0);
    let input = simulator.alloc(bytes.len() as u64, "in").map_err(text)?;
    let mut results = vec![0; 8 * count as usize * snippets.len()];
    let output = simulator.alloc(results.len() as u64, "out").map_err(text)?;
    simulator.write(input, &bytes).map_err(text)?;
    simulator.write(output, &results).map_err(text)?;
    let launch = Launch::new(
        "k",
        Dim3::new(count / THREADS, 1, 1),
        Dim3::new(THREADS, 1, 1),
        [input, output].iter().flat_map(|pointer| pointer.to_le_bytes()).collect(),
    );
    let report = simulator.launch(id, &launch, &RunOptions::default()).map_err(text)?;
    if report.outcome != Outcome::Completed || !report.findings.is_empty() {
        return Err(format!("{:?} {:?}", report.outcome, report.findings));
    }
    simulator.read(output, &mut results).map_err(text)?;
    simulator.free(input).map_err(text)?;
    simulator.free(output).map_err(text)?;
    simulator.unload(id).map_err(text)?;
    let words: Vec<u64> = results.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
    Ok(words.chunks(count as usize).map(|of_snippet| of_snippet[..rows.len()].to_vec()).collect())
}

/// [`run`] of one snippet.
fn run_one(simulator: &Simulator, snippet: &str, rows: &[[u64; 3]]) -> Result<Vec<u64>, String> {
    run(simulator, &[snippet.to_owned()], rows).map(|mut results| results.remove(0))
}

/// Fails with the lines that say what differs.
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differ from the H200:\n{}", wrong.len(), wrong.join("\n"));
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|e| panic!("`{text}`: {e}"))
}

/// Instructions with their rows of operands and results.
struct Probe {
    instructions: &'static str,
    rows: Vec<[u64; 3]>,
    results: Vec<u64>,
}

/// All but those of the matrix units, whose sums are compared in `numerics`.
fn probes() -> Vec<Probe> {
    let mut probes: Vec<Probe> = Vec::new();
    for line in PROBES.lines().take_while(|line| !line.starts_with("mma ")) {
        match line.strip_prefix("  ") {
            None => probes.push(Probe { instructions: line, rows: Vec::new(), results: Vec::new() }),
            Some(row) => {
                let (operands, result) = row.split_once(" = ").expect("operands = result");
                let mut words = [0; 3];
                for (word, text) in words.iter_mut().zip(operands.split(' ')) {
                    *word = hexadecimal(text);
                }
                let probe = probes.last_mut().expect("an instruction first");
                probe.rows.push(words);
                probe.results.push(hexadecimal(result));
            }
        }
    }
    probes
}

#[test]
fn instructions_answer_as_the_device() {
    let simulator = Simulator::new(DeviceConfig::h200());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for Probe { instructions, rows, results } in probes() {
        match run_one(&simulator, instructions, &rows) {
            Err(message) => wrong.push(format!("{instructions}: {message}")),
            Ok(got) => {
                compared += rows.len();
                for ((row, got), want) in rows.iter().zip(got).zip(results) {
                    if got != want {
                        wrong.push(format!("{instructions} of {row:x?}: {got:#x}, device {want:#x}"));
                    }
                }
            }
        }
    }
    none(&wrong);
    assert!(compared > 1400, "only {compared} probes");
}

#[test]
fn tables_hash_as_the_devices() {
    let simulator = Simulator::new(DeviceConfig::h200());
    let mut wrong = Vec::new();
    for line in TABLES.lines() {
        let mut fields = line.split('\t');
        let (Some(instructions), Some(first), Some(hash)) = (fields.next(), fields.next(), fields.next())
        else {
            panic!("`{line}`: three fields are wanted");
        };
        let first = hexadecimal(first) as u32;
        let rows: Vec<[u64; 3]> = (0..0x1_0000).map(|i| [u64::from(first + i), 0, 0]).collect();
        match run_one(&simulator, instructions, &rows) {
            Err(message) => wrong.push(format!("{instructions}: {message}")),
            Ok(results) => {
                let got = hash_run(first, |u| results[(u - first) as usize] as u32);
                if got != hexadecimal(hash) {
                    wrong.push(format!("{instructions} from {first:#x}: {got:#x}"));
                }
            }
        }
    }
    none(&wrong);
}

/// Runs recorded for each line of `pairs.txt`: run `i` has the inputs from `4087 i * 65536` on.
const RUNS: usize = 16;

/// Operands 1 to 3 for the word `u`, as the recording made them: 32-bit words `u`, `b`, `c`, or the
/// 64-bit words that these form.
fn operands(instruction: &str, u: u32) -> [u64; 3] {
    let b = u.wrapping_mul(0x9e37_79b9);
    let c = (b ^ b >> 15).wrapping_mul(0x85eb_ca6b);
    let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let words = [u, b, c].map(u64::from);
    let pairs = [pair(b, u), pair(u, c), pair(c, b)];
    [1, 2, 3].map(|n| match register(instruction, n) {
        Some(('d', _)) => pairs[n - 1],
        _ => words[n - 1],
    })
}

#[test]
fn operations_on_random_operands_hash_as_the_devices() {
    let simulator = Simulator::new(DeviceConfig::h200());
    let mut wrong = Vec::new();
    for (index, line) in part(8, PAIRS.lines().enumerate()) {
        let (instruction, hashes) = line.split_once('\t').expect("an instruction and hashes");
        let (_of_all, hashes) = hashes.split_once('\t').expect("the hash of all and those of runs");
        let hashes: Vec<u64> = hashes.split(' ').map(hexadecimal).collect();
        assert_eq!(hashes.len(), RUNS);
        // One of the runs, another for each instruction.
        let at = index * 5 % RUNS;
        let first = (4087 * at as u32) << 16;
        let rows: Vec<[u64; 3]> = (0..0x1_0000).map(|i| operands(instruction, first + i)).collect();
        match run_one(&simulator, instruction, &rows) {
            Err(message) => wrong.push(format!("{instruction}: {message}")),
            Ok(results) => {
                let fold = |r: u64| (r ^ r >> 32) as u32;
                let got = hash_run(first, |u| fold(results[(u - first) as usize]));
                if got != hashes[at] {
                    wrong.push(format!("{instruction} from {first:#x}: {got:#x}"));
                }
            }
        }
    }
    none(&wrong);
}

/// Operands of the video instructions, as the recording made them.
fn video_rows() -> Vec<[u64; 3]> {
    #[rustfmt::skip]
    const EDGES: [u32; 12] = [
        0, 1, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x00ff_0080, 0x7f80_ff01, 0x8000_8000, 0x7fff_7fff,
        0xffff_0000, 0x0000_ffff, 0x12f3_e456,
    ];
    let mut random = Random(7);
    let mut pick = || {
        let v = random.next();
        u64::from(match v >> 60 & 3 {
            1 | 3 => EDGES[(v % 12) as usize],
            2 => (v >> 8) as u32,
            _ => (v >> 8) as u32 & 0xff | ((v >> 20) as u32 & 3) << 30,
        })
    };
    (0..64).map(|_| [pick(), pick(), pick()]).collect()
}

/// The forms of a video instruction with given types and modifiers, in the order of the recording.
fn video_forms(head: &str) -> Vec<String> {
    let dot = |s: &str| if s.is_empty() { String::new() } else { format!(".{s}") };
    let parts: Vec<&str> = head.split('.').collect();
    let selects: &[[&str; 2]] = match parts[0] {
        "vset" => &[["", ""], ["b1", "h0"]],
        "vshl" | "vshr" => &[["", ""], ["b1", "b2"], ["h1", "b0"], ["b3", "h1"]],
        "vmad" => &[["", ""], ["b1", "h0"], ["h1", "b3"], ["h0", "h1"]],
        _ => &[["", ""], ["b1", "b2"], ["h1", "h0"], ["b3", ""]],
    };
    if parts[0] == "vmad" {
        let [d, a, b] = [parts[1], parts[2], parts[3]];
        let signed = a == "s32" || b == "s32";
        // A negated operand makes the result signed.
        let negated: &[&str] = match (head.contains(".po"), d, signed) {
            (true, _, _) | (_, "u32", _) => &[""],
            (_, _, true) => &["", "a", "b", "c"],
            _ => &["a", "b", "c"],
        };
        let sign = |name: &str, of: &str| if name == of { "-" } else { "" };
        let form = |[x, y]: &[&str; 2], of: &&str| {
            let (na, nb, nc) = (sign("a", of), sign("b", of), sign("c", of));
            format!("{head} %r0, {na}%r1{}, {nb}%r2{}, {nc}%r3;", dot(x), dot(y))
        };
        return selects.iter().flat_map(|s| negated.iter().map(move |of| form(s, of))).collect();
    }
    let finishes = ["", "add", "min", "max", "b0", "b1", "b2", "b3", "h0", "h1"];
    let form = |finish: &str, [x, y]: &[&str; 2]| {
        let (second, part) = if finish.len() == 2 { ("", finish) } else { (finish, "") };
        let third = if finish.is_empty() { "" } else { ", %r3" };
        format!("{head}{} %r0{}, %r1{}, %r2{}{third};", dot(second), dot(part), dot(x), dot(y))
    };
    finishes.iter().flat_map(|finish| selects.iter().map(move |s| form(finish, s))).collect()
}

#[test]
fn video_forms_hash_as_the_devices() {
    let simulator = Simulator::new(DeviceConfig::h200());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for line in VIDEO.lines() {
        let (head, want) = line.split_once('\t').expect("an instruction and a hash");
        let forms = video_forms(head);
        match run(&simulator, &forms, &video_rows()) {
            Err(message) => wrong.push(format!("{head}: {message}")),
            Ok(results) => {
                compared += forms.len();
                let hash = results
                    .iter()
                    .flatten()
                    .fold(0u64, |hash, &result| hash.wrapping_mul(1_099_511_628_211).wrapping_add(result));
                if hash != hexadecimal(want) {
                    wrong.push(head.to_owned());
                }
            }
        }
    }
    none(&wrong);
    assert_eq!(compared, 5440);
}
