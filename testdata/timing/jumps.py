"""Writes the PTX that jumps.cu loads: kernels of so many jumps over so many lines of eight instructions each (jN_S)."""

COUNTS = {
    2: (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 430),
    4: (2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 60, 64, 120, 220, 300, 430),
    8: (4, 8, 12, 16, 24, 32, 48, 64, 120, 215),
    16: (4, 8, 16, 32),
}


def kernel(name, jumps, lines):
    text = [
        f".visible .entry {name}(.param .u64 out, .param .u32 passes, .param .f32 a)",
        "{",
        ".reg .f32 %f<10>; .reg .u32 %r<12>; .reg .u64 %d<6>; .reg .pred %p<4>;",
        "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [passes]; ld.param.f32 %f8, [a];",
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r2, 8; mul.wide.u32 %d1, %r3, 4;",
        "add.u64 %d1, %d1, %d0; setp.eq.u32 %p0, %r1, 0; mov.u32 %r4, 0; setp.ne.u32 %p3, %r0, 0;",
        "cvt.rn.f32.u32 %f0, %r1;",
        "L: mov.u32 %r5, %clock;",
    ]
    for jump in range(jumps):
        text.append(f"@%p3 bra.uni J{jump};")
        text += ["fma.rn.f32 %f0, %f0, %f8, %f8;"] * (8 * lines - 2)
        text.append(f"J{jump}: fma.rn.f32 %f0, %f0, %f8, %f8;")
    text += [
        "mov.u32 %r6, %clock; sub.u32 %r7, %r6, %r5; @%p0 st.global.u32 [%d1], %r7;",
        "add.u64 %d1, %d1, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r0; @%p1 bra L;",
        "setp.eq.f32 %p2, %f0, 0f3F9DF3B6; @%p2 st.global.f32 [%d0], %f0; ret;",
        "}",
    ]
    return "\n".join(text)


print(".version 8.0\n.target sm_90\n.address_size 64")
for lines, counts in COUNTS.items():
    for jumps in counts:
        print(kernel(f"j{jumps}_{lines}", jumps, lines))
