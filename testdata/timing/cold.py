"""Writes the PTX that cold.cu loads: kernels of so many lines of eight instructions, each of which waits for the one before (d) or
not (i)."""


import passes


def kernel(name, lines, waits):
    setup = [
        "add.u64 %d1, %d1, %d0; setp.eq.u32 %p0, %r1, 0; mov.u32 %r4, 0;",
        *[f"cvt.rn.f32.u32 %f{k}, %r1;" for k in range(8)],
    ]
    body = []
    for _ in range(lines):
        for k in range(8):
            of = 0 if waits else k
            body.append(f"fma.rn.f32 %f{of}, %f{of}, %f8, %f8;")
    return passes.kernel(name, setup, body, [f"add.f32 %f0, %f0, %f{k};" for k in range(1, 8)])


print(passes.HEADER)
for lines in (256, 512, 896, 1000, 1100, 1280, 1720):
    print(kernel(f"d{lines}", lines, True))
    print(kernel(f"i{lines}", lines, False))
print(kernel("evict", 2500, False))
