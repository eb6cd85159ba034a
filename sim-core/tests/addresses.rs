//! Addresses beside and far from every window: an access there is a finding, whatever it is, and never a panic.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Error, FindingKind, Launch, Outcome, RunOptions, Simulator};

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

fn launch(text: &str, cluster: Option<Dim3>) -> Result<(Outcome, Vec<(FindingKind, String)>), Error> {
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.as_bytes().to_vec()));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}\n{text}")));
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module)?;
    let pointer = simulator.alloc(4096, "out")?;
    simulator.fill(pointer, 4096, &[0])?;
    let launch = Launch {
        kernel: "k".into(),
        grid: Dim3::from(2),
        cluster,
        block: Dim3::from(32),
        shared_bytes: 0,
        params: pointer.to_le_bytes().to_vec(),
        cooperative: false,
    };
    let report = simulator.launch(id, &launch, &RunOptions::default())?;
    let findings = report.findings.into_iter().map(|finding| (finding.kind, finding.message));
    Ok((report.outcome, findings.collect()))
}

/// A kernel of this body; `%d0` is the global buffer.
fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.const .align 16 .b8 c[16];\n.visible .entry k(.param .u64 out) {{
            .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .pred %p;
            .shared .align 16 .b8 s[16]; .shared .align 8 .b64 bar; .local .align 16 .b8 l[16];
            ld.param.u64 %d0, [out]; mov.b64 %d6, 0; mov.u32 %r1, 0; mov.u32 %r2, 0;
            {body}
            ret;
        }}\n"
    )
}

/// What can be done at an address of a state space.
fn accesses(space: &str, address: &str) -> Vec<String> {
    let dot = if space == "generic" { String::new() } else { format!(".{space}") };
    let mut list = vec![
        format!("ld{dot}.u8 %r1, {address};"),
        format!("ld{dot}.u32 %r1, {address};"),
        format!("ld{dot}.u64 %d5, {address};"),
        format!("ld{dot}.v4.u32 {{%r1, %r2, %r3, %r4}}, {address};"),
    ];
    if matches!(space, "shared" | "generic" | "local" | "global") {
        list.extend([
            format!("st{dot}.u8 {address}, %r1;"),
            format!("st{dot}.u32 {address}, %r1;"),
            format!("st{dot}.v2.u64 {address}, {{%d6, %d6}};"),
        ]);
    }
    if matches!(space, "shared" | "generic" | "global") {
        list.extend([
            format!("atom{dot}.add.u32 %r1, {address}, 1;"),
            format!("red{dot}.max.u64 {address}, 1;"),
            format!("atom{dot}.cas.b64 %d5, {address}, %d6, %d6;"),
        ]);
    }
    if space == "shared" {
        list.extend([
            format!("cp.async.ca.shared.global {address}, [%d0], 4;"),
            format!("cp.async.cg.shared.global {address}, [%d0], 16, %r1;"),
            format!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r1, %r2, %r3, %r4}}, {address};"),
            format!("stmatrix.sync.aligned.m8n8.x1.shared.b16 {address}, {{%r1}};"),
            format!("mbarrier.init.shared.b64 {address}, 1;"),
            format!("mbarrier.arrive.shared.b64 %d5, {address};"),
            format!("mbarrier.test_wait.shared.b64 %p, {address}, %d6;"),
            format!(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes {address}, [%d0], 32, [bar];"
            ),
            format!("cp.async.bulk.global.shared::cta.bulk_group [%d0], {address}, 32;"),
        ]);
    }
    list
}

/// Distances from a variable of 16 bytes.
const OFFSETS: &[i64] = &[
    -4,
    -16,
    -64,
    -1024,
    -1028,
    -1040,
    -2048,
    -4096,
    -65536,
    128,
    1024,
    65536,
    262_144,
    0x0100_0000,
    0x0200_0000,
    0x7fff_fff0,
    -0x8000_0000,
];

/// Addresses as they are.
const PLACES: &[u64] = &[
    0,
    4,
    0x3f8,
    0x3fe,
    0xffff_fff0,
    0xffff_ffff,
    0x0100_0400,
    0x1_0000_0000,
    0x7e00_0000_0000 - 16,
    0x7dff_ffff_fffe,
    0x7e00_0000_0000,
    0x7e00_ffff_fff0,
    0x7e01_0000_0000 - 2,
    0x7e01_0000_0000,
    0x7e80_0000_0000 - 8,
    0x7e80_0000_0000,
    0x7e80_ffff_fffc,
    0x7ea0_0000_0000 - 4,
    0x7ec0_0000_0000 - 4,
    0x7ec0_0000_0008,
    0x7ec1_0000_0000 - 4,
    0x7fff_ffff_ffff_fff0,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    0xffff_ffff_ffff_ffff,
];

fn check(text: &str) {
    let (outcome, findings) = launch(text, None).unwrap();
    let expected = [
        FindingKind::OutOfBounds,
        FindingKind::Misaligned,
        FindingKind::NullPointer,
        FindingKind::WriteToReadOnly,
        FindingKind::WrongSpace,
        // In the part of the window that another block of a cluster would have.
        FindingKind::IllegalInstruction,
    ];
    let fine = outcome == Outcome::Faulted && findings.iter().all(|(kind, _)| expected.contains(kind));
    assert!(fine, "{outcome:?} {findings:?}\n{text}");
}

#[test]
fn accesses_beside_a_variable_are_out_of_bounds() {
    let variables =
        [("shared", "s", "%d1"), ("shared", "s", "%r9"), ("local", "l", "%d1"), ("const", "c", "%d1")];
    for offset in OFFSETS {
        for (space, variable, register) in variables {
            // The end of the static shared memory is not a variable's end.
            if space == "shared" && (0..24).contains(offset) {
                continue;
            }
            let width = if register == "%r9" { 32 } else { 64 };
            for access in accesses(space, &format!("[{register}+{offset}]")) {
                check(&kernel(&format!("mov.u{width} {register}, {variable}; {access}")));
            }
            // The same with the variable in the operand.
            for access in accesses(space, &format!("[{variable}+{offset}]")).iter().take(6) {
                check(&kernel(access));
            }
            if space != "const" && width == 64 {
                for access in accesses("generic", &format!("[{register}+{offset}]")) {
                    let to =
                        format!("mov.u64 {register}, {variable}; cvta.{space}.u64 {register}, {register};");
                    check(&kernel(&format!("{to} {access}")));
                }
            }
        }
    }
}

#[test]
fn accesses_at_any_address_are_findings() {
    for place in PLACES {
        for space in ["shared", "local", "global", "const", "generic"] {
            for access in accesses(space, "[%d1]") {
                check(&kernel(&format!("mov.u64 %d1, {place:#x}; {access}")));
            }
        }
        for access in accesses("shared", "[%r9]") {
            check(&kernel(&format!("mov.u32 %r9, {:#x}; {access}", *place as u32)));
        }
        check(&kernel(&format!("mov.u64 %d1, {place:#x}; cp.async.ca.shared.global [s], [%d1], 16;")));
    }
}

#[test]
fn parameters_end_where_they_end() {
    for offset in [8i64, 12, 16, 4096, 65528, 0x7fff_fff8, 1 << 32, i64::MAX - 7, i64::MAX, -24, i64::MIN] {
        check(&kernel(&format!("ld.param.u64 %d1, [out+{offset}];")));
        check(&kernel(&format!("mov.u64 %d2, out; ld.param.u64 %d1, [%d2+{offset}];")));
        check(&kernel(&format!("ld.local.u64 %d1, [l+{}];", offset.checked_add(8).unwrap_or(offset))));
    }
}

#[test]
fn shared_memory_of_others_is_only_in_a_cluster() {
    let text = kernel("mov.u64 %d1, s; ld.shared.u32 %r1, [%d1+16777216];");
    let kinds = |cluster| {
        let (_, findings) = launch(&text, cluster).unwrap();
        findings.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    // A device calls it an illegal instruction, of a cluster for the block of rank 0 alone.
    assert_eq!(kinds(None), [FindingKind::IllegalInstruction]);
    assert_eq!(kinds(Some(Dim3::from(2))), [FindingKind::IllegalInstruction]);
}

#[test]
fn variables_that_are_too_large_are_refused() {
    for size in [1u64 << 19, (1 << 32) - 1, 1 << 32, (1 << 32) + 4, 1 << 33, (1 << 63) - 8] {
        for space in ["local", "shared"] {
            let text = kernel(&format!(".{space} .align 8 .b8 large[{size}]; ld.{space}.u32 %r1, [large];"));
            let error = launch(&text, None).unwrap_err();
            assert!(matches!(error, Error::InvalidLaunch(_)), "{error}");
        }
        // In a function that is called.
        let function = format!(
            "{HEADER}.func f() {{ .reg .b32 %r<4>; .local .align 8 .b8 large[{size}];
                 ld.local.u32 %r1, [large+8]; ret; }}"
        );
        let text = kernel("call f;").replace(HEADER, &function);
        let (_, findings) = launch(&text, None).unwrap();
        assert_eq!(findings[0].0, FindingKind::StackOverflow);
    }
}

/// The 32-bit words at the start of the buffer after a kernel of this body.
fn words(text: &str, count: usize, shared_bytes: u32) -> Vec<u32> {
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.as_bytes().to_vec()));
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}\n{text}")));
    let simulator = Simulator::new(DeviceConfig::h200());
    let id = simulator.load(module).unwrap();
    let pointer = simulator.alloc(4096, "out").unwrap();
    let launch = Launch {
        kernel: "k".into(),
        grid: Dim3::from(1),
        cluster: None,
        block: Dim3::from(1),
        shared_bytes,
        params: pointer.to_le_bytes().to_vec(),
        cooperative: false,
    };
    let report = simulator.launch(id, &launch, &RunOptions::default()).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}\n{text}", report.findings);
    let mut bytes = vec![0; 4 * count];
    simulator.read(pointer, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Alignments and sizes of static variables, the alignment of dynamic shared memory and its size; then what an
/// H200 says (driver 580.159): the addresses, `%total_smem_size`, `%dynamic_smem_size`, `%aggr_smem_size`.
type Layout<'a> = (&'a [(u32, u32)], Option<u32>, u32, &'a [u32]);

const LAYOUTS: &[Layout<'_>] = &[
    (&[], None, 0, &[0, 0, 0x400]),
    (&[], None, 1000, &[0x400, 1000, 0x7e8]),
    (&[], Some(4), 100, &[0x400, 0x80, 100, 0x464]),
    (&[], Some(1024), 100, &[0x400, 0x80, 100, 0x464]),
    (&[(4, 4)], None, 0, &[0x400, 0x80, 0, 0x404]),
    (&[(4, 5)], Some(1), 100, &[0x400, 0x410, 0x80, 100, 0x474]),
    (&[(4, 4)], Some(16), 100, &[0x400, 0x410, 0x80, 100, 0x474]),
    (&[(4, 4)], Some(128), 100, &[0x400, 0x480, 0x100, 100, 0x4e4]),
    (&[(4, 4)], Some(1024), 100, &[0x400, 0x800, 0x480, 100, 0x864]),
    (&[(1, 1), (8, 8), (4, 4), (2, 2)], None, 0, &[0x400, 0x408, 0x410, 0x414, 0x80, 0, 0x416]),
    (&[(4, 100), (16, 16), (128, 4), (4, 4)], None, 0, &[0x400, 0x470, 0x480, 0x484, 0x100, 0, 0x488]),
    (
        &[(1, 3), (1024, 8), (4, 4), (512, 600), (256, 1)],
        None,
        0,
        &[0x400, 0x800, 0x808, 0xa00, 0xd00, 0x980, 0, 0xd01],
    ),
    (
        &[(1024, 8), (4, 4), (512, 600), (256, 1)],
        Some(1024),
        64,
        &[0x400, 0x408, 0x600, 0x900, 0xc00, 0x880, 64, 0xc40],
    ),
    (&[(4, 4), (2048, 8)], None, 0, &[0x400, 0xc00, 0x880, 0, 0xc08]),
    (&[(16, 40000)], Some(16), 190_000, &[0x400, 0xa040, 0x38280, 190_000, 0x38670]),
];

#[test]
fn shared_variables_lie_where_a_device_puts_them() {
    // Older targets are compiled for the device, which lays its memory out as for its own.
    for target in ["sm_90", "sm_80", "sm_70"] {
        for &(variables, dynamic, bytes, expected) in LAYOUTS {
            let mut declared: String = (0..)
                .zip(variables)
                .map(|(at, (align, size))| format!(".shared .align {align} .b8 v{at}[{size}];\n"))
                .collect();
            let mut names: Vec<String> = (0..variables.len()).map(|at| format!("v{at}")).collect();
            if let Some(align) = dynamic {
                declared += &format!(".extern .shared .align {align} .b8 dynamic[];\n");
                names.push("dynamic".into());
            }
            let first = names.first().map_or(String::new(), |name| {
                format!("mov.u64 %d1, {name}; cvta.shared.u64 %d1, %d1; st.global.u32 [%d0+256], %d1;")
            });
            names.extend(["%total_smem_size", "%dynamic_smem_size"].map(String::from));
            let mut expected = expected.to_vec();
            if target == "sm_90" {
                let reserved = ["begin", "end", "cap", "0", "1"];
                names.push("%aggr_smem_size".into());
                names.extend(reserved.map(|which| format!("%reserved_smem_offset_{which}")));
                expected.extend([0, 0x120, 0x400, 0, 0]);
            } else {
                expected.pop();
            }
            let body: String = (0..)
                .zip(&names)
                .map(|(at, name)| format!("mov.u32 %r1, {name}; st.global.u32 [%d0+{}], %r1;\n", 4 * at))
                .collect();
            let text = format!(
                "{}{declared}.visible .entry k(.param .u64 out) {{
                    .reg .b32 %r1; .reg .b64 %d<2>; ld.param.u64 %d0, [out]; {body} {first} ret; }}\n",
                HEADER.replace("sm_90", target)
            );
            assert_eq!(words(&text, names.len(), bytes), expected, "{text}");
            if names[0].starts_with(['v', 'd']) {
                // Windows begin at multiples of 4 GiB.
                assert_eq!(words(&text, 65, bytes)[64], 0x400);
            }
        }
    }
}

/// Halide's kernels have dynamic shared memory, no variable for it, and count from 0, where a device has what it keeps for itself.
#[test]
fn memory_that_a_kernel_has_no_name_for_begins_at_0() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
            .reg .b32 %r<4>; .reg .b64 %d<2>; ld.param.u64 %d0, [out]; mov.u32 %r1, 77; mov.u64 %d1, 0;
            st.shared.u32 [%d1], %r1; st.shared.v2.u32 [%d1+1016], {{%r1, %r1}}; atom.shared.add.u32 %r2, [%d1+1020], 5;
            ld.shared.u32 %r3, [%d1+1020]; ld.shared.u32 %r2, [%d1]; add.u32 %r3, %r3, %r2; st.global.u32 [%d0], %r3; ret; }}\n"
    );
    assert_eq!(words(&text, 1, 1152), [77 + 77 + 5]);
    let (outcome, findings) = launch(&text, None).unwrap();
    assert_eq!(outcome, Outcome::Faulted);
    assert_eq!(findings[0].0, FindingKind::OutOfBounds, "a null pointer where there is no memory");
}

#[test]
fn local_variables_are_aligned() {
    for align in (0..13).map(|bits| 1u32 << bits) {
        let variables = format!(".local .align 4 .b8 small[4]; .local .align {align} .b8 large[8];");
        let store = "mov.u64 %d1, large; cvta.local.u64 %d2, %d1; st.global.u32 [%d0], %d1;
             st.global.u32 [%d0+4], %d2; st.local.u8 [large], %r1; mov.u64 %d1, small; st.local.u8 [%d1], %r1;";
        let registers = ".reg .b32 %r<4>; .reg .b64 %d<4>;";
        let text = format!(
            "{HEADER}.func f(.param .u64 out) {{ {registers} {variables} ld.param.u64 %d0, [out]; {store} ret; }}
             .visible .entry k(.param .u64 out) {{ {registers} {variables} ld.param.u64 %d0, [out]; {store}
                add.u64 %d0, %d0, 8;
                {{ .param .b64 a; st.param.b64 [a], %d0; call f, (a); }}
                ret; }}\n"
        );
        let places = words(&text, 4, 0);
        assert!(places.iter().all(|place| place % align == 0), "{align}: {places:x?}");
    }
}
