"""Writes the PTX that jumps.cu loads: kernels of so many jumps over so many lines of eight instructions each (jN_S)."""

import passes

COUNTS = {
    2: (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 430),
    4: (2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 60, 64, 120, 220, 300, 430),
    8: (4, 8, 12, 16, 24, 32, 48, 64, 120, 215),
    16: (4, 8, 16, 32),
}


def kernel(name, jumps, lines):
    setup = [
        "add.u64 %d1, %d1, %d0; setp.eq.u32 %p0, %r1, 0; mov.u32 %r4, 0; setp.ne.u32 %p3, %r0, 0;",
        "cvt.rn.f32.u32 %f0, %r1;",
    ]
    body = []
    for jump in range(jumps):
        body.append(f"@%p3 bra.uni J{jump};")
        body += ["fma.rn.f32 %f0, %f0, %f8, %f8;"] * (8 * lines - 2)
        body.append(f"J{jump}: fma.rn.f32 %f0, %f0, %f8, %f8;")
    return passes.kernel(name, setup, body, [])


print(passes.HEADER)
for lines, counts in COUNTS.items():
    for jumps in counts:
        print(kernel(f"j{jumps}_{lines}", jumps, lines))
