//! A kernel that becomes worth compiling in the middle of a block, some warps of which are through: every thread of every
//! block still does its work.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Engine, Launch, RunOptions, Simulator};

const THREADS: u32 = 256;
const BLOCKS: u32 = 8;
/// Values that are kept through the loop: warps of so many registers run four at a time.
const KEPT: u32 = 48;

/// What threads have left that each mark a place of their own, after `turns` turns of three instructions and `more`.
fn marked(turns: u32, more: u32) -> Vec<u32> {
    let each = |form: &dyn Fn(u32) -> String| (0..KEPT).map(form).collect::<String>();
    let (made, used) = (
        each(&|at| format!("mad.lo.u32 %x{at}, %t, {}, %b;\n", at + 3)),
        each(&|at| format!("add.u32 %n, %n, %x{at};\n")),
    );
    let rest = "xor.b32 %n, %n, %t;\n".repeat(more as usize);
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .pred %p<3>;\n\
         .reg .b32 %t, %b, %n, %i, %x<{KEPT}>;\n.reg .b64 %q, %o;\nld.param.u64 %q, [p];\nmov.u32 %t, %tid.x;\n\
         mov.u32 %b, %ctaid.x;\nmad.lo.u32 %b, %b, {THREADS}, %t;\nmul.wide.u32 %o, %b, 8;\nadd.u64 %q, %q, %o;\n\
         st.global.u32 [%q], 1;\n{made}mov.u32 %n, 0;\nmov.u32 %i, {turns};\nAGAIN:\nadd.u32 %i, %i, -1;\n\
         setp.ne.u32 %p1, %i, 0;\n@%p1 bra AGAIN;\n{rest}{used}st.global.u32 [%q+4], %n;\nret;\n}}\n"
    );
    let simulator = Simulator::new(DeviceConfig::h200());
    let parsed = ptx_frontend::parse(ptx_frontend::Source::new("k.ptx", text.into()));
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let id = simulator.load(Arc::new(module)).unwrap();
    let bytes = 8 * u64::from(THREADS * BLOCKS);
    let out = simulator.alloc(bytes, "out").unwrap();
    simulator.fill(out, bytes, &[0]).unwrap();
    let launch = Launch::new("k", BLOCKS, THREADS, out.to_le_bytes().to_vec());
    let options = RunOptions { engine: Engine::Auto, jobs: 1, ..RunOptions::default() };
    let report = simulator.launch(id, &launch, &options).unwrap();
    assert_eq!(report.findings.len(), 0, "{:?}", report.findings);
    let mut read = vec![0; bytes as usize];
    simulator.read(out, &mut read).unwrap();
    read.chunks(8).map(|word| u32::from_le_bytes(word[..4].try_into().unwrap())).collect()
}

#[test]
fn warps_that_are_through_begin_again_with_the_next_block() {
    // A turn of eight warps is 80,000 instructions: four end with it if each runs 20,000. Code pays in the fourth block.
    for turns in 6_630..=6_632 {
        for more in 0..3 {
            let missing = marked(turns, more).iter().filter(|mark| **mark != 1).count();
            assert_eq!(missing, 0, "{turns} turns and {more}");
        }
    }
}
