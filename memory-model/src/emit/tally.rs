//! The kernels around a test's: one that sets memory before it, and one that counts outcomes behind it.
//!
//! The table is a hash table with open addressing: entries of the outcome's hash (0: free), how many instances had it, and its numbers.
//! In front of it are the number of instances that found no place, and how many warps of the test are through.

use super::frame::{HEADER, addresses, entry};
use super::{Kernel, Memory, OUTCOMES, PREPARE, TALLY};
use crate::program::{Litmus, LocId, Operand, address_value};
use std::fmt::Write as _;

/// A loop over the instances in which a thread has every so-manieth, and all lanes of a warp take part: `%t4` instance, `%t0` distance, `%t1`
/// instances; `%p1` says that there is no such instance.
const EACH: &str = "    mov.u32 %t4, %tid.x;
    mov.u32 %t2, %ctaid.x;
    mov.u32 %t3, %ntid.x;
    mad.lo.u32 %t4, %t2, %t3, %t4;
    mov.u32 %t0, %nctaid.x;
    mul.lo.u32 %t0, %t0, %t3;
    ld.param.u32 %t1, [instances];
EACH:
    and.b32 %t2, %t4, 0xffffffe0;
    setp.ge.u32 %p0, %t2, %t1;
    @%p0 exit;
    setp.ge.u32 %p1, %t4, %t1;
    @%p1 bra PAST;
";

/// Both kernels.
pub(super) fn text(litmus: &Litmus, kernel: &Kernel) -> String {
    let mut out = String::new();
    prepare(&mut out, litmus, kernel);
    tally(&mut out, kernel);
    out
}

fn head(out: &mut String, name: &str, kernel: &Kernel) {
    out.push_str(&entry(name));
    let _ = write!(
        out,
        "    .reg .pred %p<3>;\n    .reg .b32 %t<9>;\n    .reg .b64 %d<9>;\n    .reg .b64 %l<{}>;\n    .reg .b64 %v<{}>;\n",
        kernel.memory.len().max(1),
        kernel.values(),
    );
}

/// Initial values into memory, zeros into results, gates and table.
fn prepare(out: &mut String, litmus: &Litmus, kernel: &Kernel) {
    head(out, PREPARE, kernel);
    // The table's words, whichever thread comes by.
    let _ = write!(
        out,
        "    mov.u32 %t4, %tid.x;
    mov.u32 %t2, %ctaid.x;
    mov.u32 %t3, %ntid.x;
    mad.lo.u32 %t4, %t2, %t3, %t4;
    mov.u32 %t0, %nctaid.x;
    mul.lo.u32 %t0, %t0, %t3;
    ld.param.u64 %d2, [table];
    cvta.to.global.u64 %d2, %d2;
CLEAR:
    setp.ge.u32 %p0, %t4, {};
    @%p0 bra CLEARED;
    mul.wide.u32 %d3, %t4, 8;
    add.u64 %d3, %d2, %d3;
    st.global.b64 [%d3], 0;
    add.u32 %t4, %t4, %t0;
    bra CLEAR;
CLEARED:
",
        kernel.table_bytes() / 8,
    );
    out.push_str(EACH);
    addresses(out, kernel);
    for word in 0..kernel.result_bytes() / 8 {
        let _ = writeln!(out, "    st.global.b64 [%d0+{}], 0;", 8 * word);
    }
    out.push_str("    st.global.b32 [%d1], 0;\n");
    for (index, memory) in kernel.memory.iter().enumerate() {
        let value = match litmus.program.locations[index].initial {
            Operand::Const(value) => value as u64,
            Operand::Address(LocId(location)) => {
                let _ = writeln!(out, "    st.global.b64 [%l{index}], %l{location};");
                continue;
            }
            Operand::Reg(_) => 0,
        };
        let bits = 8 * memory.bytes.min(8);
        let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
        for at in (0..memory.bytes).step_by(4) {
            let part = if at < 8 { (value >> (8 * at)) as u32 } else { 0 };
            let _ = writeln!(out, "    st.global.b32 [%l{index}+{at}], {part};");
        }
    }
    out.push_str("PAST:\n    add.u32 %t4, %t4, %t0;\n    bra EACH;\n}\n");
}

/// The type under which a word of a location is read, sign and all.
fn word_type(memory: &Memory) -> String {
    let bytes = memory.element.clamp(1, 8);
    format!(".{}{}", if memory.signed { 's' } else { 'u' }, 8 * bytes)
}

/// Each instance's numbers into the table; one lane for all of its warp that have the same.
fn tally(out: &mut String, kernel: &Kernel) {
    head(out, TALLY, kernel);
    out.push_str(EACH);
    addresses(out, kernel);
    let words = kernel.result_bytes() / 8;
    for word in 0..words {
        let _ = writeln!(out, "    ld.global.b64 %v{word}, [%d0+{}];", 8 * word);
    }
    for (value, &(location, index)) in (words..).zip(&kernel.words) {
        let memory = &kernel.memory[location];
        let at = index * memory.element;
        let _ = writeln!(out, "    ld.global{} %v{value}, [%l{location}+{at}];", word_type(memory));
    }
    // Addresses are other numbers in each instance.
    for value in kernel.threads as usize..kernel.values() {
        for (at, memory) in kernel.memory.iter().enumerate() {
            let number = address_value(memory.location);
            let _ = write!(
                out,
                "    setp.eq.u64 %p0, %v{value}, %l{at};\n    selp.b64 %v{value}, {number}, %v{value}, %p0;\n"
            );
        }
    }
    out.push_str("    mov.b64 %d4, 0x9e3779b97f4a7c15;\n");
    for value in 0..kernel.values() {
        let _ = write!(
            out,
            "    xor.b64 %d4, %d4, %v{value};
    mul.lo.u64 %d4, %d4, 0xff51afd7ed558ccd;
    shr.u64 %d5, %d4, 32;
    xor.b64 %d4, %d4, %d5;
"
        );
    }
    let _ = write!(
        out,
        "    or.b64 %d4, %d4, 1;
    ld.param.u32 %t8, [counted];
    setp.ge.u32 %p1, %t4, %t8;
PAST:
    @%p1 mov.b64 %d4, 0;
    match.any.sync.b64 %t5, %d4, 0xffffffff;
    mov.u32 %t6, %lanemask_lt;
    and.b32 %t6, %t5, %t6;
    setp.ne.u32 %p0, %t6, 0;
    or.pred %p0, %p0, %p1;
    @%p0 bra MORE;
    popc.b32 %t5, %t5;
    cvt.u64.u32 %d5, %t5;
    ld.param.u64 %d2, [table];
    cvta.to.global.u64 %d2, %d2;
    shr.u64 %d3, %d4, 40;
    cvt.u32.u64 %t6, %d3;
    mov.u32 %t7, {OUTCOMES};
PROBE:
    and.b32 %t6, %t6, {};
    mul.wide.u32 %d3, %t6, {};
    add.u64 %d3, %d2, %d3;
    atom.relaxed.gpu.global.cas.b64 %d6, [%d3+{HEADER}], 0, %d4;
    setp.eq.u64 %p0, %d6, %d4;
    @%p0 bra ADD;
    setp.eq.u64 %p0, %d6, 0;
    @%p0 bra FIRST;
    add.u32 %t6, %t6, 1;
    sub.u32 %t7, %t7, 1;
    setp.ne.u32 %p0, %t7, 0;
    @%p0 bra PROBE;
    red.relaxed.gpu.global.add.u64 [%d2], %d5;
    bra MORE;
FIRST:
",
        OUTCOMES - 1,
        kernel.entry_bytes(),
    );
    for value in 0..kernel.values() {
        let _ = writeln!(out, "    st.global.b64 [%d3+{}], %v{value};", HEADER + 16 + 8 * value);
    }
    let _ = write!(
        out,
        "ADD:
    red.relaxed.gpu.global.add.u64 [%d3+{}], %d5;
MORE:
    add.u32 %t4, %t4, %t0;
    bra EACH;
}}
",
        HEADER + 8,
    );
}
