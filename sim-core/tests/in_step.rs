//! Warps that go in step: all of them read before the first has written.

use std::sync::Arc;

use sim_core::{Backend, DeviceConfig, Dim3, Launch, Outcome, RunOptions, Simulator};

/// Each thread keeps what it reads of a word, and adds 1 to the word.
const TEXT: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry reads(.param .u64 word, .param .u64 seen) {
    .reg .b64 %a, %b, %o; .reg .b32 %t, %n, %c, %x;
    ld.param.u64 %a, [word];
    ld.param.u64 %b, [seen];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %t, %c, %n, %t;
    mul.wide.u32 %o, %t, 4;
    add.u64 %b, %b, %o;
    ld.relaxed.gpu.global.u32 %x, [%a];
    red.relaxed.gpu.global.add.u32 [%a], 1;
    st.global.u32 [%b], %x;
    ret;
}";

/// What the threads of four blocks of two warps have read.
fn seen(in_step: u64) -> Vec<u32> {
    let source = ptx_frontend::Source::new("reads.ptx", TEXT.as_bytes().to_vec());
    let module = Arc::new(ptx_frontend::parse(source).module.unwrap());
    let simulator = Simulator::new(DeviceConfig::h200());
    let (word, seen) = (simulator.alloc(4, "word").unwrap(), simulator.alloc(1024, "seen").unwrap());
    simulator.write(word, &[0; 4]).unwrap();
    let module = simulator.load(module).unwrap();
    let launch = Launch {
        kernel: "reads".into(),
        grid: Dim3::new(4, 1, 1),
        block: Dim3::new(64, 1, 1),
        cluster: None,
        shared_bytes: 0,
        params: [word.to_le_bytes(), seen.to_le_bytes()].concat(),
        cooperative: false,
    };
    let options = RunOptions { jobs: 1, in_step, ..RunOptions::default() };
    let report = simulator.launch(module, &launch, &options).unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let mut bytes = [0; 1024];
    simulator.read(seen, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

#[test]
fn all_read_before_the_first_has_written() {
    assert_eq!(seen(u64::MAX), [0; 256]);
    // Otherwise a block is over before the next one begins.
    assert_eq!(seen(0)[64..].iter().filter(|&&read| read == 0).count(), 0);
    // After so many instructions, it is as if they had never been in step: of 8 warps with 13 each.
    assert!(seen(16).iter().any(|&read| read != 0));
}
