//! Atomics the short way give what they give the general way, which watched launches take.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Launch, Outcome, RunOptions, SimdLevel, Simulator};

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
/// Threads of a block: a full warp and a part of one.
const THREADS: u32 = 48;
const BLOCKS: u32 = 2;
/// Words of each of a block's arrays: indices, both operands, results, cells.
const WORDS: u32 = 64;
const ARRAYS: u32 = 5;

/// Where cells lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Space {
    Global,
    Shared,
    /// Shared memory by 64-bit addresses.
    Wide,
}

/// What becomes of the old value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Result {
    /// It goes to a register of its own.
    Own,
    /// It replaces an operand.
    Operand,
    /// It is written but not read.
    Unread,
    /// There is none.
    None,
}

/// A kernel in which each thread, except those at multiples of `every`, does an atomic three times.
fn kernel(op: &str, space: Space, result: Result, every: u32) -> String {
    let (cells, wide) = match space {
        Space::Global => ("add.u64 %d2, %d1, %d3;", "global"),
        Space::Shared => ("add.u32 %r9, %r9, %r3;", "shared"),
        Space::Wide => ("add.u32 %r9, %r9, %r3; cvt.u64.u32 %d2, %r9;", "shared"),
    };
    let address = if space == Space::Shared { "%r9" } else { "%d2" };
    let operands = if op.starts_with("cas") { "%r4, %r5" } else { "%r4" };
    let atomic = match result {
        Result::Own => format!("atom.{wide}.{op} %r6, [{address}], {operands};"),
        Result::Operand => format!("atom.{wide}.{op} %r4, [{address}], {operands};"),
        Result::Unread => format!("atom.{wide}.{op} %r7, [{address}], {operands};"),
        Result::None => format!("red.{wide}.{op} [{address}], {operands};"),
    };
    let out = if result == Result::Operand { "%r4" } else { "%r6" };
    let bytes = 4 * WORDS;
    format!(
        "{HEADER}.visible .entry k(.param .u64 p) {{
            .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %d<8>;
            .shared .align 4 .b8 cells[{bytes}];
            ld.param.u64 %d0, [p];
            mov.u32 %r0, %tid.x;
            mov.u32 %r1, %ctaid.x;
            mad.wide.u32 %d0, %r1, {}, %d0;
            mul.wide.u32 %d4, %r0, 4;
            add.u64 %d5, %d0, %d4;
            add.u64 %d1, %d0, {};
            ld.global.u32 %r3, [%d5];
            shl.b32 %r3, %r3, 2;
            cvt.u64.u32 %d3, %r3;
            ld.global.u32 %r4, [%d5+{bytes}];
            ld.global.u32 %r5, [%d5+{}];
            mov.u32 %r9, cells;
            shl.b32 %r10, %r0, 2;
            add.u32 %r11, %r9, %r10;
            ld.global.u32 %r8, [%d5+{}];
            st.shared.u32 [%r11], %r8;
            {cells}
            bar.sync 0;
            rem.u32 %r2, %r0, {every};
            setp.ne.u32 %p1, %r2, 0;
            mov.u32 %r6, 0;
            mov.u32 %r2, 0;
        AGAIN:
            @%p1 {atomic}
            add.u32 %r2, %r2, 1;
            setp.lt.u32 %p2, %r2, 3;
            @%p2 bra AGAIN;
            bar.sync 0;
            st.global.u32 [%d5+{}], {out};
            {}
            ret;
        }}\n",
        ARRAYS * bytes,
        4 * bytes,
        2 * bytes,
        4 * bytes,
        3 * bytes,
        if space == Space::Global {
            String::new()
        } else {
            format!("ld.shared.u32 %r8, [%r11]; st.global.u32 [%d5+{}], %r8;", 4 * bytes)
        },
    )
}

/// All memory after a launch.
fn run(simulator: &Simulator, module: sim_core::ModuleId, input: &[u8], options: &RunOptions) -> Vec<u8> {
    let pointer = simulator.alloc(input.len() as u64, "words").unwrap();
    simulator.write(pointer, input).unwrap();
    let launch = Launch::new("k", BLOCKS, THREADS, pointer.to_le_bytes().to_vec());
    let report = simulator.launch(module, &launch, options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.findings);
    let mut output = vec![0; input.len()];
    simulator.read(pointer, &mut output).unwrap();
    simulator.free(pointer).unwrap();
    output
}

#[test]
fn the_short_way_gives_what_the_general_one_does() {
    let mut state = 5u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let values =
        [0, 1, 2, 5, u32::MAX, 1 << 31, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0x7fc0_0001, 0x0080_0001];
    let ops = [
        "add.u32", "add.s32", "add.f32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32",
        "xor.b32", "exch.b32", "cas.b32", "inc.u32", "dec.u32",
    ];
    let levels = [SimdLevel::Baseline, SimdLevel::Avx2, SimdLevel::Avx512];
    let config = DeviceConfig { global_memory: 1 << 24, ..DeviceConfig::h200() };
    for op in ops {
        for space in [Space::Global, Space::Shared, Space::Wide] {
            for result in [Result::Own, Result::Operand, Result::Unread, Result::None] {
                if result == Result::None && (op.starts_with("exch") || op.starts_with("cas")) {
                    continue;
                }
                let every = [64, 2, 3][random() as usize % 3];
                let text = kernel(op, space, result, every);
                let parsed =
                    ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.clone().into_bytes()));
                let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
                let module = Arc::new(parsed.module.unwrap_or_else(|| panic!("{messages:?}\n{text}")));
                for level in levels {
                    let simulator = Simulator::with_level(config.clone(), level);
                    let id = simulator.load(module.clone()).unwrap();
                    // All lanes at one cell, at a few, and anywhere.
                    for cells in [1, 3, WORDS] {
                        let mut words = Vec::new();
                        for array in 0..BLOCKS * ARRAYS {
                            for _ in 0..WORDS {
                                words.push(match array % ARRAYS {
                                    0 => random() % cells,
                                    _ if random() % 4 == 0 => random(),
                                    _ => values[random() as usize % values.len()],
                                });
                            }
                        }
                        let input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                        let options =
                            |jobs, count_memory| RunOptions { jobs, count_memory, ..RunOptions::default() };
                        let expected = run(&simulator, id, &input, &options(1, true));
                        for jobs in [1, 2] {
                            let found = run(&simulator, id, &input, &options(jobs, false));
                            assert!(
                                found == expected,
                                "{op} {space:?} {result:?} {level:?}, {cells} cells, every {every}, {jobs} jobs"
                            );
                        }
                    }
                }
            }
        }
    }
}
