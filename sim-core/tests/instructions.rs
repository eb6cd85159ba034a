//! Runs the instruction tests of `testdata/instructions/`.

use std::time::Duration;

use sim_core::{AsyncPolicy, DeviceConfig, RunOptions, Simulator};
use testkit::case::{self, Case, Param, Role, Want};
use testkit::executor::{self, same};
use testkit::levels::Levels;

#[test]
fn every_file_holds_well_formed_cases() {
    let mut total = 0;
    for (name, text) in executor::files() {
        let cases = case::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!cases.is_empty(), "{name} holds no case");
        assert_eq!(cases.len(), text.matches(".entry ").count(), "{name}: a kernel without a case");
        for case in &cases {
            let head = format!(".entry {}(", case.entry);
            let from =
                text.find(&head).unwrap_or_else(|| panic!("{name}: no kernel {}", case.entry)) + head.len();
            let list = &text[from..from + text[from..].find(')').unwrap()];
            let declared: Vec<&str> = list
                .split(',')
                .filter_map(|p| p.split_whitespace().last())
                .map(|p| p.split('[').next().unwrap())
                .collect();
            let given: Vec<&str> = case.params.iter().map(|p| p.name.as_str()).collect();
            assert_eq!(given, declared, "{name}: parameters of {}", case.entry);
            let checked = case.fault.is_some()
                || case.prints.is_some()
                || case.params.iter().any(|p| matches!(&p.role, Role::Buffer { before, after, .. }
                    if after.iter().zip(before.chunks(p.element.size)).any(|(w, b)| *w != Want::Any && word(b) != *w)));
            assert!(checked, "{name}: {} expects nothing", case.entry);
        }
        total += cases.len();
    }
    assert!(total >= 600, "only {total} cases");
}

fn word(bytes: &[u8]) -> Want {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Want::Bits(u64::from_le_bytes(word))
}

fn one(text: &str) -> Case {
    let mut cases = case::parse(text).unwrap();
    assert_eq!(cases.len(), 1);
    cases.remove(0)
}

fn after(param: &Param) -> &[Want] {
    match &param.role {
        Role::Buffer { after, .. } => after,
        Role::Value(_) => panic!("{} is no buffer", param.name),
    }
}

#[test]
fn a_table_is_a_launch_with_a_thread_a_row() {
    let case = one(
        "//@ case k: three rows\n//@ table a:s32 x:f32 -> d:u8\n//@   -1 0x3f800000 -> 255\n//@   2 1.5 -> _\n//@   3 inf -> 0x7\nrest",
    );
    assert_eq!((case.entry.as_str(), case.label.as_str(), case.block), ("k", "three rows", [3, 1, 1]));
    assert_eq!(after(&case.params[0]), [Want::Bits(0xffff_ffff), Want::Bits(2), Want::Bits(3)]);
    assert_eq!(
        after(&case.params[1]),
        [Want::Bits(0x3f80_0000), Want::Bits(0x3fc0_0000), Want::Bits(0x7f80_0000)]
    );
    assert_eq!(after(&case.params[2]), [Want::Bits(255), Want::Any, Want::Bits(7)]);
    let Role::Buffer { before, .. } = &case.params[2].role else { panic!() };
    assert_eq!(before, &[case::POISON; 3]);
}

#[test]
fn lists_repeat_count_and_continue() {
    let case = one(
        "//@ case k\n//@ launch grid=2,3 block=4,5,6 shared=7 cooperative\n//@ in a u16 = 5*2 1..3\n//@   6..2/2 -1\n//@ inout b f64 = 1.0 0.0 -> nan -0.0\n//@ sorted b\n//@ limit 9",
    );
    assert_eq!(
        (case.grid, case.block, case.shared, case.cooperative, case.limit),
        ([2, 3, 1], [4, 5, 6], 7, true, Some(9))
    );
    let bits: Vec<Want> = [5, 5, 1, 2, 3, 6, 4, 2, 0xffff].map(Want::Bits).into();
    assert_eq!(after(&case.params[0]), bits);
    assert_eq!(after(&case.params[1]), [Want::Nan, Want::Bits(1 << 63)]);
    assert!(matches!(case.params[1].role, Role::Buffer { sorted: true, .. }));
}

#[test]
fn values_are_aligned_in_the_parameter_buffer() {
    let case = one(
        "//@ case k\n//@ scalar a u8 = 1\n//@ scalar b u32 = 0x01020304\n//@ out d u32 = 0\n//@ bytes s u16 = 1 2 3\n//@ scalar c u8 = 9",
    );
    let expected = [1, 0, 0, 0, 4, 3, 2, 1, 0xef, 0xbe, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 9];
    assert_eq!(case.param_bytes(&[0xbeef]), expected);
}

#[test]
fn comparing_shows_what_differs() {
    let case = one("//@ case k\n//@ table a:u32 -> d:f32\n//@   7 -> 1.0\n//@   8 -> nan\n//@   9 -> _");
    let bytes = |v: [u32; 3]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let d = &case.params[1];
    assert_eq!(case.compare(d, &bytes([0x3f80_0000, 0x7fff_ffff, 5])), Ok(()));
    let error = case.compare(d, &bytes([0x3f80_0001, 0x7f80_0000, 5])).unwrap_err();
    assert_eq!(
        error,
        "d[0] for a=0x00000007 (7) is 0x3f800001 (1.0000001e0), not 0x3f800000 (1e0)\n  d[1] for a=0x00000008 (8) is 0x7f800000 (inf), not a NaN"
    );
    let case = one("//@ case k\n//@ out d u8 = 1 2 3\n//@ sorted d");
    assert_eq!(case.compare(&case.params[0], &[3, 1, 2]), Ok(()));
    assert!(case.compare(&case.params[0], &[3, 1, 1]).is_err());
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, message) in [
        ("//@ in a u32 = 1", "line 1: no `//@ case` before this line"),
        ("//@ case k\n//@ in a u33 = 1", "line 2: `u33` is no element type"),
        ("//@ case k\n//@ in a u8 = 256", "line 2: `256` is too wide for this type"),
        ("//@ case k\n//@ in a u8 = 0x100", "line 2: `0x100` is too wide for this type"),
        ("//@ case k\n//@ in a u8 = _", "line 2: `_` and `nan` are for outputs"),
        ("//@ case k\n//@ in a f16 = 1.0", "line 2: `1.0`: halves are given as bits in hexadecimal"),
        ("//@ case k\n//@ inout a u8 = 1 2 -> 3", "line 2: 2 elements before, 1 after"),
        (
            "//@ case k\n//@ table a:u8 -> d:u8\n//@   1 2 -> 3",
            "line 2: `1 2 -> 3` has 2 values for 1 columns",
        ),
        ("//@ case k\n//@ sorted d", "line 2: no buffer `d` before this line"),
        ("//@ case k\n//@ prints text", "line 2: a quoted text is wanted"),
        ("//@ case k\n//@ launch gird=3", "line 2: unknown launch setting `gird=3`"),
        ("//@ case k\n//@ expect d", "line 2: unknown directive `expect`"),
        ("//@ case k\n//@ device differs", "line 2: `device differs|undefined: reason` is wanted"),
        ("//@ case k\n//@ device is: other", "line 2: `is` is neither differs nor undefined"),
    ] {
        assert_eq!(case::parse(text).unwrap_err(), message, "{text}");
    }
}

/// Runs every case of some files, at each SIMD level and with one job and several, and returns those that failed, with why.
fn run_all(options: &RunOptions, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let simulator = Levels::default();
    let mut failures = Vec::new();
    for (name, text) in executor::files().into_iter().filter(|(_, text)| wanted(text)) {
        let module = executor::module(&name, &text);
        for case in case::parse(&text).unwrap() {
            let options = RunOptions { max_instructions: case.limit, ..options.clone() };
            let result = module
                .clone()
                .and_then(|module| executor::run(&simulator, module, &case, &options, same::kind));
            if let Err(message) = result {
                failures.push((format!("{name} {}", case.entry), message));
            }
        }
    }
    failures
}

fn check(options: &RunOptions, wanted: impl Fn(&str) -> bool) {
    let failures = run_all(options, wanted);
    let text: Vec<String> = failures.iter().map(|(name, message)| format!("{name}\n  {message}")).collect();
    assert!(text.is_empty(), "{} cases fail:\n{}", text.len(), text.join("\n"));
}

fn options() -> RunOptions {
    RunOptions { timeout: Some(Duration::from_secs(20)), ..RunOptions::default() }
}

#[test]
fn the_simulator_agrees() {
    check(&options(), |_| true);
}

#[test]
fn the_simulator_agrees_with_one_job_and_a_random_schedule() {
    check(&RunOptions { jobs: 1, seed: 7, ..options() }, |_| true);
}

/// Whoever has waited for an asynchronous operation does not see when it was done.
#[test]
fn the_simulator_agrees_where_operations_are_done_late() {
    for (asynchrony, seed) in [(AsyncPolicy::Late, 0), (AsyncPolicy::Random, 1), (AsyncPolicy::Random, 2)] {
        check(&RunOptions { asynchrony, seed, ..options() }, |text| text.contains("async"));
    }
}

/// What is as on a device that optimises, each case of it other than without.
#[test]
fn what_an_optimiser_makes_is_followed() {
    let mut wrong = Vec::new();
    for (name, text) in executor::files_in("optimised") {
        let module = executor::module(&name, &text).unwrap();
        for case in case::parse(&text).unwrap() {
            let given = [true, false].map(|as_optimised| {
                let simulator = Simulator::new(DeviceConfig { as_optimised, ..DeviceConfig::h200() });
                executor::run(&simulator, module.clone(), &case, &options(), same::kind)
            });
            match given {
                [Err(message), _] => wrong.push(format!("{name} {}\n  {message}", case.entry)),
                [_, Ok(())] => wrong.push(format!("{name} {}: nothing of it is rewritten", case.entry)),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
