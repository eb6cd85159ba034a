"""The frame of the kernels of cold.py and jumps.py: thread 0 of each block writes what each pass over a body takes."""

HEADER = ".version 8.0\n.target sm_90\n.address_size 64"


def kernel(name, setup, body, end):
    """Lines before all passes, in each of them, and behind them, where what %f0 holds is kept from being left out."""
    return "\n".join([
        f".visible .entry {name}(.param .u64 out, .param .u32 passes, .param .f32 a)",
        "{",
        ".reg .f32 %f<10>; .reg .u32 %r<12>; .reg .u64 %d<6>; .reg .pred %p<4>;",
        "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [passes]; ld.param.f32 %f8, [a];",
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r2, 8; mul.wide.u32 %d1, %r3, 4;",
        *setup,
        "L: mov.u32 %r5, %clock;",
        *body,
        "mov.u32 %r6, %clock; sub.u32 %r7, %r6, %r5; @%p0 st.global.u32 [%d1], %r7;",
        "add.u64 %d1, %d1, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r0; @%p1 bra L;",
        *end,
        "setp.eq.f32 %p2, %f0, 0f3F9DF3B6; @%p2 st.global.f32 [%d0], %f0; ret;",
        "}",
    ])
