"""Writes the PTX that cold.cu loads: kernels of so many lines of eight instructions, each of which waits for the one before (d) or
not (i)."""


def kernel(name, lines, waits):
    text = [
        f".visible .entry {name}(.param .u64 out, .param .u32 passes, .param .f32 a)",
        "{",
        ".reg .f32 %f<10>; .reg .u32 %r<12>; .reg .u64 %d<6>; .reg .pred %p<4>;",
        "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [passes]; ld.param.f32 %f8, [a];",
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r2, 8; mul.wide.u32 %d1, %r3, 4;",
        "add.u64 %d1, %d1, %d0; setp.eq.u32 %p0, %r1, 0; mov.u32 %r4, 0;",
        *[f"cvt.rn.f32.u32 %f{k}, %r1;" for k in range(8)],
        "L: mov.u32 %r5, %clock;",
    ]
    for _ in range(lines):
        for k in range(8):
            of = 0 if waits else k
            text.append(f"fma.rn.f32 %f{of}, %f{of}, %f8, %f8;")
    text += [
        "mov.u32 %r6, %clock; sub.u32 %r7, %r6, %r5; @%p0 st.global.u32 [%d1], %r7;",
        "add.u64 %d1, %d1, 4; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %r0; @%p1 bra L;",
        *[f"add.f32 %f0, %f0, %f{k};" for k in range(1, 8)],
        "setp.eq.f32 %p2, %f0, 0f3F9DF3B6; @%p2 st.global.f32 [%d0], %f0; ret;",
        "}",
    ]
    return "\n".join(text)


print(".version 8.0\n.target sm_90\n.address_size 64")
for lines in (256, 512, 896, 1000, 1100, 1280, 1720):
    print(kernel(f"d{lines}", lines, True))
    print(kernel(f"i{lines}", lines, False))
print(kernel("evict", 2500, False))
