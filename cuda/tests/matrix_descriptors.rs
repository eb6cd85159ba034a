//! Descriptors of `wgmma` that no program should make: bits that mean nothing, starts inside a pattern, offsets that overlap
//! and two ways of swizzling (`testdata/h200/matrix_descriptors.txt`).

mod support;

use std::fmt::Write as _;

use support::recorded::{Driver, Given, check};
use testkit::random::Random;

/// Bytes of dynamic shared memory, and where they begin.
const SHARED: u32 = 40 << 10;
const FIRST: u64 = 1 << 10;
/// Bytes of D.
const RESULT: usize = 64 * 8 * 4;

/// A product of 64 by 16 with 16 by 8 elements.
#[derive(Debug)]
struct Case {
    descriptors: [u64; 2],
    transposed: [u32; 2],
}

/// Bits of a descriptor that mean nothing.
const RESERVED: u64 = 0x3 << 14 | 0x3 << 30 | 0x7 << 46 | 0x3ff << 52;

impl Case {
    fn new(seed: u64) -> Case {
        let random = &mut Random::new(seed);
        let mode = random.below(4);
        let descriptors = [0, 1].map(|_| {
            // At most 17 KB behind a start in the first half.
            let start = FIRST / 16 + random.below(1 << 10);
            let (leading, stride) = (random.below(128), random.below(128));
            let base = if random.once_in(2) { 0 } else { random.below(8) };
            let mode = if random.once_in(3) { random.below(4) } else { mode };
            let reserved = if random.once_in(3) { 0 } else { random.next() & RESERVED };
            start | leading << 16 | stride << 32 | base << 49 | mode << 62 | reserved
        });
        Case { descriptors, transposed: [0, 1].map(|_| random.below(2) as u32) }
    }

    fn kernel(&self) -> String {
        format!("product_{}{}", self.transposed[0], self.transposed[1])
    }
}

/// A kernel for each way in which the matrices may lie.
fn module() -> String {
    let mut text =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
            .to_string();
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        write!(
            text,
            "
.visible .entry product_{a}{b}(.param .u64 a, .param .u64 b, .param .u64 out)
{{
    .reg .pred %p; .reg .b16 %h; .reg .b32 %i, %v, %at; .reg .b64 %a, %b, %out, %o; .reg .f32 %d<4>;
    ld.param.u64 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %out, [out];
    mov.u32 %i, %tid.x;
fill:
    mul.lo.u32 %v, %i, 40503;
    shr.u32 %v, %v, 7;
    and.b32 %v, %v, 31;
    add.s32 %v, %v, -16;
    cvt.rn.f16.s32 %h, %v;
    mov.u32 %at, tile;
    mad.lo.u32 %at, %i, 2, %at;
    st.shared.b16 [%at], %h;
    add.u32 %i, %i, 128;
    setp.lt.u32 %p, %i, {elements};
    @%p bra fill;
    fence.proxy.async;
    bar.sync 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, %a, %b, 0, 1, 1, {a}, {b};
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mov.u32 %i, %tid.x;
    mad.wide.u32 %o, %i, 16, %out;
    st.global.v4.f32 [%o], {{%d0, %d1, %d2, %d3}};
    ret;
}}
",
            elements = SHARED / 2
        )
        .expect("a string");
    }
    text
}

struct Fixture {
    module: u64,
    out: u64,
}

fn run(driver: &Driver, fixture: &mut Fixture, case: &Case) -> Given {
    let function = driver.function(fixture.module, &case.kernel());
    let parameters = [case.descriptors[0], case.descriptors[1], fixture.out].map(u64::to_le_bytes);
    match driver.launch(function, 1, SHARED, &parameters.each_ref().map(|bytes| &bytes[..])) {
        0 => Ok(driver.read(fixture.out, RESULT)),
        code => Err(code),
    }
}

#[test]
fn descriptors_are_read_as_on_an_h200() {
    let cases: Vec<Case> = (0..400).map(Case::new).collect();
    let start = |driver: &Driver| Fixture { module: driver.module(&module()), out: driver.alloc(RESULT) };
    let text = |case: &Case| format!("{case:x?}");
    check(include_str!("../../testdata/h200/matrix_descriptors.txt"), &cases, &[], start, text, run);
}
