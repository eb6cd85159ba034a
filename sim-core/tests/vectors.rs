//! Aligned vectors of up to 16 bytes are accessed at once, as devices do it: other blocks never see a part.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Launch, Outcome, RunOptions, SimdLevel, Simulator};

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// How often a vector is written.
const WRITES: u32 = if cfg!(debug_assertions) { 2_000 } else { 60_000 };

/// Stores of a vector of equal parts, which block 0 does again and again.
fn writer(operation: &str, element: &str, count: usize) -> String {
    let registers = if element == "b64" { "%d3" } else { "%r3" };
    let list = vec![registers; count].join(", ");
    let value = if count == 1 { list } else { format!("{{{list}}}") };
    let vector = if count == 1 { String::new() } else { format!(".v{count}") };
    format!("{operation}{vector}.{element} [%d1], {value};")
}

/// Loads of it that the other blocks do, and a comparison of its parts.
fn reader(operation: &str, element: &str, count: usize) -> String {
    let first = if element == "b64" { 4 } else { 10 };
    let class = if element == "b64" { "%d" } else { "%r" };
    let names: Vec<String> = (first..first + count).map(|at| format!("{class}{at}")).collect();
    let mut text = format!("{operation}.v{count}.{element} {{{}}}, [%d1];\n", names.join(", "));
    let compared = if element == "b8" { "b16" } else { element };
    for other in &names[1..] {
        // A predicate that stays set once they differ.
        text += &format!("setp.ne.or.{compared} %p2, {}, {other}, %p2;\n", names[0]);
    }
    text
}

/// Runs a writer beside readers; how often a reader saw parts of two writes.
fn torn(write: &str, read: &str, narrow: bool, level: SimdLevel) -> u32 {
    // Elements of 8 bits live in registers of 16.
    let kind = if narrow { "b16" } else { "b32" };
    let value = if narrow { "cvt.u16.u32 %r3, %r2;" } else { "mov.b32 %r3, %r2;" };
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 p) {{
            .reg .pred %p<4>; .reg .{kind} %r3; .reg .b32 %r2, %r4, %r5, %r6;
            .reg .{kind} %r10, %r11, %r12, %r13; .reg .b64 %d<8>; .reg .b128 %q;
            ld.param.u64 %d1, [p];
            mov.u32 %r4, %ctaid.x;
            mov.u32 %r2, 0;
            mov.u32 %r6, 0;
            setp.ne.u32 %p1, %r4, 0;
            @%p1 bra READ;
        WRITE:
            {value}
            cvt.u64.u32 %d3, %r2;
            mov.b128 %q, {{%d3, %d3}};
            {write}
            add.u32 %r2, %r2, 1;
            setp.ne.u32 %p1, %r2, {WRITES};
            @%p1 bra WRITE;
            st.relaxed.gpu.global.u32 [%d1+64], 1;
            ret;
        READ:
            setp.ne.u32 %p2, %r2, %r2;
            {read}
            @%p2 add.u32 %r6, %r6, 1;
            ld.relaxed.gpu.global.u32 %r5, [%d1+64];
            setp.eq.u32 %p1, %r5, 0;
            @%p1 bra READ;
            red.relaxed.gpu.global.add.u32 [%d1+68], %r6;
            ret;
        }}\n"
    );
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.clone().into_bytes()));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}\n{text}")));
    let simulator = Simulator::with_level(DeviceConfig::h200(), level);
    let id = simulator.load(module).unwrap();
    let pointer = simulator.alloc(128, "words").unwrap();
    simulator.fill(pointer, 128, &[0]).unwrap();
    let launch = Launch::new("k", 2, 1, pointer.to_le_bytes().to_vec());
    let options = RunOptions { jobs: 2, ..RunOptions::default() };
    let report = simulator.launch(id, &launch, &options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}\n{text}", report.findings);
    let mut bytes = [0; 4];
    simulator.read(pointer + 68, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

#[test]
fn no_block_sees_half_a_vector() {
    let levels = [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512];
    let mut failed = Vec::new();
    for level in levels.into_iter().filter(|&level| level <= SimdLevel::detect()) {
        let mut check = |write: String, read: String, narrow: bool| {
            let seen = torn(&write, &read, narrow, level);
            if seen > 0 {
                failed.push(format!("{level:?}: {seen} torn by `{write}`"));
            }
        };
        for (element, count) in
            [("b8", 2), ("b8", 4), ("b16", 2), ("b16", 4), ("b32", 2), ("b32", 4), ("b64", 2)]
        {
            for strength in ["", ".relaxed.gpu", ".volatile"] {
                // Global and generic addresses.
                for space in [".global", ""] {
                    let (store, load) = (format!("st{strength}{space}"), format!("ld{strength}{space}"));
                    let narrow = matches!(element, "b8" | "b16");
                    check(writer(&store, element, count), reader(&load, element, count), narrow);
                }
            }
        }
        // Single elements that vectors of smaller ones read, and atomics.
        let pairs = reader("ld.global", "b32", 2);
        let doubles = reader("ld.relaxed.gpu.global", "b64", 2);
        let both = "mad.wide.u32 %d3, %r2, 1, 0; shl.b64 %d7, %d3, 32; or.b64 %d3, %d3, %d7;";
        for write in [
            "st.global.b64 [%d1], %d3;",
            "st.relaxed.gpu.global.b64 [%d1], %d3;",
            "atom.global.exch.b64 %d2, [%d1], %d3;",
        ] {
            check(format!("{both} {write}"), pairs.clone(), false);
        }
        check("red.global.add.u64 [%d1], 0x100000001;".into(), pairs.clone(), false);
        check("atom.global.exch.b128 %q, [%d1], %q;".into(), doubles.clone(), false);
        check("st.relaxed.sys.global.b128 [%d1], %q;".into(), doubles, false);
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Vectors through registers and shared memory, three times so that all short ways are taken, by one full and one
/// half warp; threads at multiples of `every` do nothing. Elements come out in the opposite order.
#[test]
fn vectors_move_as_their_elements_would() {
    let threads = 48u64;
    for level in [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512] {
        for (element, count, bytes) in [("b32", 2u64, 8u64), ("b32", 4, 16), ("b64", 2, 16), ("b16", 4, 8)] {
            for every in [64, 2, 3] {
                let class = match element {
                    "b64" => "%e",
                    "b16" => "%h",
                    _ => "%f",
                };
                let list = |order: &mut dyn Iterator<Item = u64>| {
                    order.map(|at| format!("{class}{at}")).collect::<Vec<_>>().join(", ")
                };
                let (forward, back) = (list(&mut (0..count)), list(&mut (0..count).rev()));
                let text = format!(
                    "{HEADER}.visible .entry k(.param .u64 p) {{
                        .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<4>;
                        .reg .b16 %h<4>; .reg .b32 %f<4>; .reg .b64 %e<2>;
                        .shared .align 16 .b8 own[{}];
                        ld.param.u64 %d0, [p];
                        mov.u32 %r0, %tid.x;
                        mul.lo.u32 %r1, %r0, {bytes};
                        mul.wide.u32 %d1, %r0, {bytes};
                        add.u64 %d1, %d1, %d0;
                        mov.u32 %r2, own;
                        add.u32 %r2, %r2, %r1;
                        rem.u32 %r3, %r0, {every};
                        setp.ne.u32 %p1, %r3, 0;
                        mov.u32 %r4, 0;
                    AGAIN:
                        @%p1 ld.global.v{count}.{element} {{{forward}}}, [%d1];
                        @%p1 st.shared.v{count}.{element} [%r2], {{{back}}};
                        @%p1 ld.shared.v{count}.{element} {{{forward}}}, [%r2];
                        @%p1 st.global.v{count}.{element} [%d1+8192], {{{forward}}};
                        add.u64 %d1, %d1, {};
                        add.u32 %r4, %r4, 1;
                        setp.ne.u32 %p2, %r4, 3;
                        @%p2 bra AGAIN;
                        ret;
                    }}\n",
                    threads * bytes,
                    threads * bytes,
                );
                let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into_bytes()));
                let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
                let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}")));
                let simulator = Simulator::with_level(DeviceConfig::h200(), level);
                let id = simulator.load(module).unwrap();
                let pointer = simulator.alloc(16384, "words").unwrap();
                let input: Vec<u8> = (0..8192u32).map(|at| (at * 31 % 251) as u8).collect();
                simulator.write(pointer, &input).unwrap();
                simulator.fill(pointer + 8192, 8192, &[0]).unwrap();
                let launch = Launch::new("k", 1, Dim3::from(threads as u32), pointer.to_le_bytes().to_vec());
                let report = simulator.launch(id, &launch, &RunOptions::default()).unwrap();
                assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
                let mut output = vec![0; 8192];
                simulator.read(pointer + 8192, &mut output).unwrap();
                let size = (bytes / count) as usize;
                let mut expected = vec![0; 8192];
                for vector in (0..3 * threads).filter(|vector| !(vector % threads).is_multiple_of(every)) {
                    let at = (vector * bytes) as usize..((vector + 1) * bytes) as usize;
                    let elements = input[at.clone()].chunks(size).rev().flatten().copied();
                    expected[at].iter_mut().zip(elements).for_each(|(to, from)| *to = from);
                }
                assert!(output == expected, "{level:?} v{count}.{element}, without each {every}th");
            }
        }
    }
}
