//! Kernels of tensor and bulk copies, each of which makes one copy.

use std::fmt::Write as _;

/// Operations of reductions, and the types of a map for which a device has them.
pub(crate) const REDUCTIONS: [(&str, &[usize]); 8] = [
    ("add", &[2, 3, 4, 6, 7, 8, 9, 10, 11, 12]),
    ("min", &[2, 3, 4, 5, 6, 9]),
    ("max", &[2, 3, 4, 5, 6, 9]),
    ("inc", &[2]),
    ("dec", &[2]),
    ("and", &[2, 3, 4]),
    ("or", &[2, 3, 4]),
    ("xor", &[2, 3, 4]),
];

/// Reductions of bulk copies to global memory.
pub(crate) const BULK: [&str; 21] = [
    "add.u32",
    "add.s32",
    "add.u64",
    "add.f32",
    "add.f64",
    "add.noftz.f16",
    "add.noftz.bf16",
    "min.u32",
    "min.s32",
    "min.u64",
    "min.s64",
    "min.f16",
    "max.bf16",
    "max.u32",
    "max.s64",
    "inc.u32",
    "dec.u32",
    "and.b32",
    "or.b64",
    "xor.b32",
    "xor.b64",
];

/// The bytes of a tensor map.
#[repr(C, align(64))]
pub(crate) struct Aligned(pub(crate) [u8; 128]);

/// What all kernels begin with: shared memory is filled, an mbarrier is made.
const BEGINS: &str = "
    (.param .align 64 .b8 map[128], .param .align 8 .b8 args[48], .param .u64 in, .param .u64 out)
{
    .shared .align 8 .b64 bar;
    .reg .pred %p, %first, %done; .reg .b16 %o<3>;
    .reg .b32 %c<5>, %i, %t, %s, %dst, %bar, %v, %n, %bytes, %tries; .reg .b64 %map, %in, %out, %at;
    mov.b64 %map, map;
    cvta.param.u64 %map, %map;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    ld.param.u32 %c0, [args];
    ld.param.u32 %c1, [args+4];
    ld.param.u32 %c2, [args+8];
    ld.param.u32 %c3, [args+12];
    ld.param.u32 %c4, [args+16];
    ld.param.u16 %o0, [args+20];
    ld.param.u16 %o1, [args+22];
    ld.param.u16 %o2, [args+24];
    ld.param.u32 %bytes, [args+28];
    ld.param.u32 %dst, [args+32];
    ld.param.u32 %n, [args+36];
    mov.u32 %s, s;
    add.u32 %dst, %dst, %s;
    mov.u32 %bar, bar;
    mov.u32 %t, %tid.x;
    setp.eq.u32 %first, %t, 0;
    shl.b32 %i, %t, 4;
    @%first mbarrier.init.shared::cta.b64 [%bar], 1;
fill:
    setp.ge.u32 %p, %i, %n;
    @%p bra filled;
    cvt.u64.u32 %at, %i;
    add.u64 %at, %at, %in;
    add.u32 %v, %i, %s;
    .reg .b32 %w<4>;
    ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%at];
    st.shared.v4.b32 [%v], {%w0, %w1, %w2, %w3};
    add.u32 %i, %i, 2048;
    bra fill;
filled:
    fence.proxy.async;
    bar.sync 0;
";

/// What kernels end with that load: the mbarrier completes, or never does; shared memory is shown.
const LOADED: &str = "
    @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %bytes;
    mov.u32 %tries, 0;
wait:
    mbarrier.test_wait.parity.shared::cta.b64 %done, [%bar], 0;
    @%done bra waited;
    nanosleep.u32 100;
    add.u32 %tries, %tries, 1;
    setp.lt.u32 %p, %tries, 20000;
    @%p bra wait;
waited:
    selp.u32 %v, 1, 0, %done;
    @%first st.global.u32 [%out], %v;
    shl.b32 %i, %t, 4;
show:
    setp.ge.u32 %p, %i, %n;
    @%p bra shown;
    cvt.u64.u32 %at, %i;
    add.u64 %at, %at, %out;
    add.u32 %v, %i, %s;
    ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%v];
    st.global.v4.b32 [%at+16], {%w0, %w1, %w2, %w3};
    add.u32 %i, %i, 2048;
    bra show;
shown:
    ret;
}
";

/// What kernels end with that write to global memory.
const STORED: &str = "
    @%first cp.async.bulk.commit_group;
    @%first cp.async.bulk.wait_group 0;
    ret;
}
";

/// The kernels: of each rank and kind of copy one, and of bulk copies.
pub(crate) fn module() -> String {
    let mut text =
        String::from(".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n");
    let mut kernel = |name: String, copy: String, ends: &str| {
        write!(text, ".visible .entry {name}{BEGINS}    @%first {copy};\n{ends}").expect("a string");
    };
    for rank in 1..=5 {
        let list = (0..rank).map(|number| format!("%c{number}")).collect::<Vec<_>>().join(", ");
        let arrival = "mbarrier::complete_tx::bytes [%dst], [%map, {";
        let load = format!("cp.async.bulk.tensor.{rank}d.shared::cluster.global");
        kernel(format!("load_tile_{rank}"), format!("{load}.tile.{arrival}{list}}}], [%bar]"), LOADED);
        let mut stores = |name: &str, operation: &str| {
            let store = format!("{operation}.bulk_group [%map, {{{list}}}], [%dst]");
            kernel(format!("{name}_tile_{rank}"), store.replace("MODE", "tile"), STORED);
            if rank > 2 {
                kernel(format!("{name}_im2col_{rank}"), store.replace("MODE", "im2col_no_offs"), STORED);
            }
        };
        stores("store", &format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.MODE"));
        for (name, _) in REDUCTIONS {
            stores(name, &format!("cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{name}.MODE"));
        }
        if rank > 2 {
            let offsets = (0..rank - 2).map(|number| format!("%o{number}")).collect::<Vec<_>>().join(", ");
            let load = format!("{load}.im2col.{arrival}{list}}}], [%bar], {{{offsets}}}");
            kernel(format!("load_im2col_{rank}"), load, LOADED);
        }
    }
    for (number, name) in BULK.iter().enumerate() {
        let operation = format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}");
        kernel(format!("bulk_{number}"), format!("{operation} [%out], [%dst], %bytes"), STORED);
    }
    let operation = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%dst], %bytes";
    kernel(format!("bulk_{}", BULK.len()), operation.into(), STORED);
    let operation =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%dst], [%in], %bytes, [%bar]";
    kernel(format!("bulk_{}", BULK.len() + 1), operation.into(), LOADED);
    text
}
