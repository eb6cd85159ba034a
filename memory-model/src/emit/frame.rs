//! What the kernels of a module have in common: parameters, places of an instance, the table of outcomes.

use super::Kernel;
use std::fmt::Write as _;

/// Bytes in front of the entries.
pub(super) const HEADER: usize = 16;
/// Where the number of warps is that are through.
pub(super) const LEFT: usize = 8;

/// Parameters in the order of [`Kernel::params`]: size in bytes and name.
const PARAMETERS: [(u32, &str); 25] = [
    (8, "memory"),
    (8, "results"),
    (8, "gates"),
    (8, "scratch"),
    (8, "table"),
    (4, "instances"),
    (4, "counted"),
    (4, "batches"),
    (4, "groups"),
    (4, "lanes"),
    (4, "rounds"),
    (4, "turn"),
    (4, "instance_stride"),
    (4, "location_stride"),
    (4, "spread"),
    (4, "patience"),
    (4, "gate"),
    (4, "delay"),
    (4, "gap"),
    (4, "prime"),
    (4, "seed"),
    (4, "stress"),
    (4, "stress_mask"),
    (4, "stress_stride"),
    (4, "stress_stores"),
];

/// The head of a kernel with these parameters, up to its body.
pub(super) fn entry(name: &str) -> String {
    let parameters: Vec<String> =
        PARAMETERS.iter().map(|(bytes, name)| format!("    .param .u{} {name}", bytes * 8)).collect();
    format!("\n.visible .entry {name}(\n{}\n)\n{{\n", parameters.join(",\n"))
}

/// `%l`, `%d0` and `%d1` of the instance `%t4`; `%t8`, `%d2` and `%d3` are used.
pub(super) fn addresses(out: &mut String, kernel: &Kernel) {
    out.push_str(
        "    ld.param.u64 %d2, [memory];
    cvta.to.global.u64 %d2, %d2;
    ld.param.u32 %t8, [instance_stride];
    mul.wide.u32 %d3, %t4, %t8;
    add.u64 %d2, %d2, %d3;
    ld.param.u32 %t8, [location_stride];
",
    );
    for index in 0..kernel.memory.len() {
        let _ = write!(out, "    mul.wide.u32 %d3, %t8, {index};\n    add.u64 %l{index}, %d2, %d3;\n");
    }
    let _ = write!(
        out,
        "    ld.param.u64 %d0, [results];
    cvta.to.global.u64 %d0, %d0;
    mul.wide.u32 %d3, %t4, {};
    add.u64 %d0, %d0, %d3;
    ld.param.u64 %d1, [gates];
    cvta.to.global.u64 %d1, %d1;
    mul.wide.u32 %d3, %t4, 4;
    add.u64 %d1, %d1, %d3;
",
        kernel.result_bytes(),
    );
}
