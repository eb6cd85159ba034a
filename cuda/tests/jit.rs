//! nvJitLink's stand-in: the codes of NVIDIA's for good and bad options and inputs. Where the toolkit of CUDA 13.0 is
//! installed (`CUDA_HOME`), NVIDIA's own library must give them too.

mod support;

use std::ffi::CString;
use std::path::Path;

use support::{at, call, driver, folder, open, out};

const CUBIN: u64 = 1;
const PTX: u64 = 2;
const LTO: u64 = 3;
const FATBIN: u64 = 4;
const OBJECT: u64 = 5;
const ANY: u64 = 10;

const GOOD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
const CALLS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func foo();\n\
                     .visible .entry c() { call foo; ret; }\n";
const CALLED: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func foo() { ret; }\n";
const WRONG: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { bogus; }\n";
const ELSE: &str = "something else";

/// Options; inputs; the codes of creating, of adding each input, of completing; whether there is machine code, PTX.
type Case = (&'static str, &'static [(u64, &'static str)], &'static str);

const CASES: &[Case] = &[
    ("-arch=sm_90", &[], "0 0 0 3"),
    ("-arch=sm_90a -O3 -lineinfo -maxrregcount=32 -Xptxas=-v -kernels-used=k", &[(PTX, GOOD)], "0 0 0 0 3"),
    ("", &[], "2 6 6 3"),
    ("-arch=sm_00", &[], "1 6 6 3"),
    ("-arch=foo", &[], "1 6 6 3"),
    ("-arch", &[], "1 6 6 3"),
    ("-arch=sm_12345", &[], "17 6 6 3"),
    ("-bogus", &[], "1 6 6 3"),
    ("-arch=sm_90 --lto", &[], "1 6 6 3"),
    ("-arch=sm_90 -O9", &[(PTX, GOOD)], "1 6 6 6 3"),
    ("-arch=sm_90 -ptx", &[], "11 6 6 6"),
    ("-arch=compute_90", &[], "11 6 6 3"),
    ("-arch=sm_90", &[(PTX, CALLS), (PTX, CALLED)], "0 0 0 0 0 3"),
    ("-arch=sm_90", &[(PTX, WRONG)], "0 4 0 0 3"),
    ("-arch=sm_75", &[(PTX, GOOD)], "0 4 0 0 3"),
    (
        "-arch=sm_90",
        &[(PTX, ELSE), (CUBIN, ELSE), (LTO, ELSE), (FATBIN, ELSE), (OBJECT, ELSE)],
        "0 12 12 12 12 12 0 0 3",
    ),
    ("-arch=sm_90", &[(ANY, GOOD), (ANY, ELSE), (0, GOOD), (99, GOOD), (PTX, "")], "0 0 8 12 12 3 0 0 3"),
    ("-arch=sm_90", &[(LTO, "\u{1}")], "0 12 0 0 3"),
    ("-arch=sm_90 -lto", &[(PTX, GOOD)], "0 0 5 6 3"),
    ("-arch=sm_90 -dlto", &[], "0 5 6 3"),
    ("-arch=sm_90 -lto -ptx", &[(PTX, GOOD)], "0 0 12 6 6"),
    ("-arch=sm_90 -lto -ptx", &[(LTO, ELSE)], "0 12 5 6 6"),
    // There, the device code is there all the same, and cannot be used.
    ("-arch=sm_90", &[(PTX, CALLS)], "0 0 6 * 3"),
];

fn codes(library: usize, options: &str, inputs: &[(u64, &str)]) -> String {
    let options: Vec<CString> =
        options.split_whitespace().map(|option| CString::new(option).expect("no zero byte")).collect();
    let pointers: Vec<u64> = options.iter().map(|option| option.as_ptr() as u64).collect();
    let mut linker = 0u64;
    let mut list =
        vec![call(library, "nvJitLinkCreate", &[out(&mut linker), pointers.len() as u64, at(&pointers[..])])];
    for (kind, input) in inputs {
        // Texts end in a zero byte that does not count.
        let input = CString::new(*input).expect("no zero byte");
        let input = input.as_bytes();
        let arguments = [linker, *kind, at(input), input.len() as u64, at(c"in".to_bytes_with_nul())];
        list.push(call(library, "nvJitLinkAddData", &arguments));
    }
    list.push(call(library, "nvJitLinkComplete", &[linker]));
    let mut size = 0u64;
    for kind in ["Cubin", "Ptx"] {
        list.push(call(library, &format!("nvJitLinkGetLinked{kind}Size"), &[linker, out(&mut size)]));
    }
    assert_eq!(call(library, "nvJitLinkDestroy", &[out(&mut linker)]), 0);
    list.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn differences(library: usize) -> Vec<String> {
    let mut list = Vec::new();
    for (options, inputs, expected) in CASES {
        let got = codes(library, options, inputs);
        let same =
            got.split(' ').zip(expected.split(' ')).all(|(got, expected)| got == expected || expected == "*");
        if !same || got.split(' ').count() != expected.split(' ').count() {
            let kinds: Vec<u64> = inputs.iter().map(|(kind, _)| *kind).collect();
            list.push(format!("`{options}` {kinds:?}: {got}, not {expected}"));
        }
    }
    // Null, what is over, what is gone.
    let mut linker = 0u64;
    let options = [c"-arch=sm_90".as_ptr() as u64];
    let mut give = |name: &str, arguments: &[u64], expected: u32| {
        let got = call(library, name, arguments);
        if got != expected {
            list.push(format!("{name} {arguments:?}: {got}, not {expected}"));
        }
    };
    give("nvJitLinkCreate", &[0, 1, at(&options)], 10);
    give("nvJitLinkCreate", &[out(&mut linker), 1, 0], 10);
    give("nvJitLinkVersion", &[0, 0], 10);
    give("nvJitLinkDestroy", &[0], 10);
    give("nvJitLinkComplete", &[0], 10);
    give("nvJitLinkCreate", &[out(&mut linker), 1, at(&options)], 0);
    let made = linker;
    let text = CString::new(GOOD).expect("no zero byte");
    let input = [made, PTX, at(text.as_bytes()), GOOD.len() as u64, 0];
    give("nvJitLinkGetErrorLogSize", &[made, 0], 10);
    give("nvJitLinkAddFile", &[made, PTX, 0], 10);
    give("nvJitLinkAddFile", &[made, PTX, at(c"/no/such/file".to_bytes_with_nul())], 3);
    give("nvJitLinkAddData", &input, 0);
    give("nvJitLinkComplete", &[made], 0);
    give("nvJitLinkGetLinkedCubin", &[made, 0], 10);
    give("nvJitLinkComplete", &[made], 6);
    give("nvJitLinkAddData", &input, 6);
    give("nvJitLinkDestroy", &[out(&mut linker)], 0);
    give("nvJitLinkDestroy", &[out(&mut linker)], 10);
    list
}

#[test]
fn nvjitlink_answers_as_nvidias() {
    driver();
    for version in ["12", "13"] {
        let list = differences(open(&folder().join(format!("libnvJitLink.so.{version}"))) as usize);
        assert!(list.is_empty(), "{version}: {list:#?}");
    }
    let home = std::env::var_os("CUDA_HOME").unwrap_or_default();
    let real = ["lib64", "lib"].map(|folder| Path::new(&home).join(folder).join("libnvJitLink.so.13"));
    match real.iter().find(|path| path.is_file()) {
        Some(path) => {
            let library = open(path) as usize;
            let (mut major, mut minor) = (0u32, 0u32);
            call(library, "nvJitLinkVersion", &[out(&mut major), out(&mut minor)]);
            let list = if (major, minor) == (13, 0) { differences(library) } else { Vec::new() };
            assert!(list.is_empty(), "NVIDIA's: {list:#?}");
        }
        None => eprintln!("NVIDIA's library is not compared: set CUDA_HOME to the toolkit's folder"),
    }
}

#[test]
fn a_limit_of_registers_is_part_of_the_image() {
    driver();
    let library = open(&folder().join("libnvJitLink.so.13")) as usize;
    for (limit, kept) in [(None, false), (Some(c"-maxrregcount=40"), true)] {
        let options: Vec<u64> = [Some(c"-arch=sm_90"), limit]
            .into_iter()
            .flatten()
            .map(|option| option.as_ptr() as u64)
            .collect();
        let text = CString::new(GOOD).expect("no zero byte");
        let mut linker = 0u64;
        let give = |name: &str, arguments: &[u64]| assert_eq!(call(library, name, arguments), 0, "{name}");
        give("nvJitLinkCreate", &[out(&mut linker), options.len() as u64, at(&options[..])]);
        give("nvJitLinkAddData", &[linker, PTX, at(text.as_bytes()), GOOD.len() as u64, 0]);
        give("nvJitLinkComplete", &[linker]);
        let mut size = 0u64;
        give("nvJitLinkGetLinkedCubinSize", &[linker, out(&mut size)]);
        let mut image = vec![0u8; size as usize];
        give("nvJitLinkGetLinkedCubin", &[linker, image.as_mut_ptr() as u64]);
        give("nvJitLinkDestroy", &[out(&mut linker)]);
        assert!(image.starts_with(b"\x7fELF"), "a cubin");
        assert_eq!(String::from_utf8_lossy(&image).contains(".maxnreg 40"), kept);
    }
}
