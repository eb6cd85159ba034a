//! Variables of CUDA C++ in debug information, as nvcc writes it, and as nobody should.

use debugger::dwarf::{Information, Location};
use debugger::types::Type;
use proptest::prelude::*;

const TEXT: &str = include_str!("../../testdata/ptx/debugger-debug/variables.ptx");

/// Where a line of the source begins in the text, for the last time.
fn at(line: u32) -> u64 {
    let mark = format!("\t.loc\t1 {line} ");
    TEXT.rfind(&mark).unwrap() as u64 + mark.len() as u64 + 2
}

fn names(line: u32) -> Vec<(String, String)> {
    let information = Information::read(TEXT);
    let found = information.variables(at(line), 0);
    found.into_iter().map(|variable| (variable.name.clone(), variable.ty.to_string())).collect()
}

fn strings(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, ty)| ((*name).to_owned(), (*ty).to_owned())).collect()
}

#[test]
fn variables_are_those_of_the_innermost_block() {
    assert_eq!(names(11), strings(&[("w", "int"), ("v", "int")]));
    let outer = [
        ("q", "Point"),
        ("local", "float [4]"),
        ("i", "int"),
        ("u", "unsigned int"),
        ("d", "double"),
        ("s", "float [4][8]"),
        ("a", "float *"),
        ("p", "Point *"),
        ("mode", "Mode"),
        ("n", "int"),
    ];
    assert_eq!(names(27), strings(&outer));
    let inner = names(30);
    assert_eq!(inner[..2], strings(&[("z", "int"), ("k", "int")]));
    assert_eq!(inner[2..], strings(&outer));
}

#[test]
fn types_have_members_and_names() {
    let information = Information::read(TEXT);
    let Some(Type::Struct(point)) = information.type_named("struct Point") else { panic!() };
    let members: Vec<_> =
        point.members.iter().map(|member| (&*member.name, member.ty.to_string(), member.offset)).collect();
    let expected = [("x", "int", 0), ("y", "float [3]", 4), ("next", "Point *", 16)];
    assert_eq!(members, expected.map(|(name, ty, offset)| (name, ty.to_owned(), offset)));
    let Some(Type::Enum(_, _, names)) = information.type_named("Mode") else { panic!() };
    assert_eq!(
        names.iter().map(|(name, value)| (&**name, *value)).collect::<Vec<_>>(),
        [("Fast", 0), ("Slow", 5)]
    );
    assert_eq!(information.type_named("counter"), Some(&Type::UNSIGNED));
    assert_eq!(information.type_named("nothing"), None);
}

#[test]
fn variables_are_in_registers_and_behind_symbols() {
    let information = Information::read(TEXT);
    let place = |name: &str, line| information.variable(name, at(line), 0).unwrap().location.clone();
    assert!(matches!(place("i", 27), Location::Register(name) if name.starts_with("%r")));
    assert!(matches!(place("n", 27), Location::Symbol(name, 0) if name.ends_with("_param_3")));
    assert!(matches!(place("local", 27), Location::Symbol(name, 24) if name == "__local_depot1"));
    assert!(matches!(place("k", 30), Location::List(list) if !list.is_empty()));
    assert!(information.variable("k", at(17), 0).is_none());
}

#[test]
fn a_text_without_information_has_none() {
    for text in ["", ".section .debug_info", ".section .debug_info {", "\t.section\t.debug_info\n{ .b32 x+ }"]
    {
        assert!(Information::read(text).is_empty(), "{text}");
    }
}

#[test]
fn namespaces_without_end_end() {
    // A unit, in it a namespace of which each holds the next one.
    let abbreviations = ".b8 1, 17, 1, 0, 0, 2, 57, 1, 0, 0, 0";
    let deep = 200_000;
    let entries = ".b8 1\n".to_owned() + &".b8 2\n".repeat(deep);
    let bytes = 7 + 1 + deep;
    let text = format!(
        "\t.section\t.debug_abbrev\n{{\n{abbreviations}\n}}\n\t.section\t.debug_info\n{{\n.b32 {bytes}\n.b8 2, 0\n\
         .b32 .debug_abbrev\n.b8 8\n{entries}}}\n"
    );
    assert!(Information::read(&text).is_empty());
}

/// Member functions, bases, bit fields, unions and an inlined function, as nvcc and clang write them.
const MEMBERS: [&str; 2] = [
    include_str!("../../testdata/ptx/debugger-debug/members.ptx"),
    include_str!("../../testdata/ptx/clang/members-O0.ptx"),
];

#[test]
fn structures_have_bases_bit_fields_and_unions() {
    for text in MEMBERS {
        let information = Information::read(text);
        let flags = information.type_named("Flags").unwrap();
        let described =
            "struct Flags {\n    unsigned int kind : 3;\n    int level : 5;\n    unsigned int rest : 24;\n}";
        assert_eq!(flags.describe(), described);
        let Type::Struct(found) = flags else { panic!() };
        let bits: Vec<_> = found.members.iter().map(|member| (member.offset, member.bits)).collect();
        assert_eq!(bits, [(0, Some((0, 3))), (0, Some((3, 5))), (0, Some((8, 24)))]);
        let described = information.type_named("Box").unwrap().describe();
        let body = described.split_once(' ').unwrap().1;
        let expected = "Box : public Shape {\n    float width;\n    float height;\n    Flags flags;\n    \
                        union {\n        int whole;\n        float part;\n    };\n}";
        assert_eq!(body, expected);
    }
}

#[test]
fn inlined_functions_have_callers_and_variables_of_their_own() {
    for text in MEMBERS {
        let information = Information::read(text);
        let places = (0..text.len() as u64).step_by(8);
        let found = places.map(|at| (at, information.inlined(at))).find(|(_, found)| !found.is_empty());
        let (at, found) = found.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].function, "_Z4halff");
        assert!((44..=46).contains(&found[0].line), "{found:?}");
        let names = |level| {
            let mut names: Vec<&str> =
                information.variables(at, level).into_iter().map(|variable| &*variable.name).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(0), ["result", "value"]);
        assert_eq!(names(1), ["area", "box", "out", "scale"]);
        assert!(names(2).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Numbers of the sections become others: whatever is read, it ends.
    #[test]
    fn broken_information_ends(seed in any::<u64>(), every in 3u64..400) {
        let start = TEXT.find(".section").unwrap();
        let mut state = seed | 1;
        let broken = TEXT[start..].lines().map(|line| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match line.strip_prefix(".b8 ") {
                Some(_) if state.is_multiple_of(every) => format!(".b8 {}\n", (state >> 20) as u8),
                _ => format!("{line}\n"),
            }
        });
        let text = TEXT[..start].to_owned() + &broken.collect::<String>();
        let information = Information::read(&text);
        for line in [11, 17, 27, 30] {
            for variable in information.variables(at(line), 0) {
                prop_assert!(variable.ty.to_string().len() < 1 << 20);
            }
        }
    }
}
