#!/usr/bin/env python3
"""Records what the numerics of the simulator still has to learn from an sm_90 device.

python3 dump.py OUTDIR        (needs libcuda.so.1 only)
python3 dump.py --ptx FILE    (writes the PTX, for a check with ptxas)

Files: curves*.bin  containers of compressed second differences (sqrt, tanh, rcp64h, rsq64h)
       half.bin     2^16 entries each, u16 little endian, in the order printed in half.txt
       probes.txt   one line a probe: name, operands, result (hexadecimal)
"""
import ctypes, os, struct, sys, zlib

# ---- curves: second differences of f over consecutive words --------------------------------------
CURVES = {
    "sqrt": "sqrt.approx.ftz.f32 %r5, %r4;",
    "tanh": "tanh.approx.f32 %r5, %r4;",
    "rcp64h": "mov.b64 %d1, {%r0, %r4}; rcp.approx.ftz.f64 %d2, %d1; mov.b64 {%r6, %r5}, %d2;",
    "rsq64h": "mov.b64 %d1, {%r0, %r4}; rsqrt.approx.ftz.f64 %d2, %d1; mov.b64 {%r6, %r5}, %d2;",
}
HALF = {
    "tanh.f16": "tanh.approx.f16 %h2, %h1;", "tanh.bf16": "tanh.approx.bf16 %h2, %h1;",
    "ex2.f16": "ex2.approx.f16 %h2, %h1;", "ex2.bf16": "ex2.approx.ftz.bf16 %h2, %h1;",
    "oob.f16.a": "fma.rn.oob.f16 %h2, %h1, 0x3c00, 0x0000;", "oob.f16.b": "fma.rn.oob.f16 %h2, 0x3c00, %h1, 0x0000;",
    "oob.f16.c": "fma.rn.oob.f16 %h2, 0x3c00, 0x4000, %h1;", "oob.bf16.a": "fma.rn.oob.bf16 %h2, %h1, 0x3f80, 0x0000;",
    "oob.bf16.c": "fma.rn.oob.bf16 %h2, 0x3f80, 0x4000, %h1;",
    "relu.f16": "fma.rn.relu.f16 %h2, %h1, 0x3c00, 0x8000;", "sat.f16": "add.sat.f16 %h2, %h1, 0x8000;",
    "rni.f16": "cvt.rni.f16.f16 %h2, %h1;", "rni.bf16": "cvt.rni.bf16.bf16 %h2, %h1;",
    "neg.f16": "neg.f16 %h2, %h1;", "neg.bf16": "neg.bf16 %h2, %h1;", "bf16_f16": "cvt.rn.bf16.f16 %h2, %h1;",
    "f16_bf16": "cvt.rn.f16.bf16 %h2, %h1;",
}
F = lambda x: struct.unpack("<I", struct.pack("<f", x))[0]
Q = lambda x: struct.unpack("<Q", struct.pack("<d", x))[0]
NZ, INF, N32 = 0x80000000, 0x7f800000, [0x7f800001, 0xffc00000, 0x7fc12345]
NZ6, INF6 = 1 << 63, 0x7ff0000000000000
N64 = [0x7ff8000000000001, 0xfff8000000000002, 0x7ff0000000000003]
P = []
def p(ins, *cases):
    for c in cases: P.append((ins, c if isinstance(c, tuple) else (c,)))
# operands: %r1 %r2 %r3 (32 bit), %d1 %d2 %d3 (64 bit), %h1 %h2 %h3 (16 bit); result in %r0, %d0 or %h0
for op in ("add", "mul"): p(f"{op}.rn.sat.f32 %r0, %r1, %r2;", (NZ, NZ), (F(-1.0), 0), (NZ, F(1.0)), (N32[0], 0))
p("fma.rn.sat.f32 %r0, %r1, %r2, %r3;", (F(-1.0), 0, NZ), (F(-1.0), F(1e-30), NZ))
p("cvt.sat.f32.f32 %r0, %r1;", NZ, N32[0], F(-1.0))
p("add.sat.f16 %h0, %h1, %h2;", (0x8000, 0x8000), (0xbc00, 0), (0x7e00, 0)); p("mul.sat.f16 %h0, %h1, %h2;", (0xbc00, 0))
p("fma.rn.relu.f16 %h0, %h1, %h2, %h3;", (0xbc00, 0, 0x8000), (0x7c00, 0, 0), (0xbc00, 0x3c00, 0), (0x8001, 0x0001, 0x8000))
p("fma.rn.relu.bf16 %h0, %h1, %h2, %h3;", (0xbf80, 0, 0x8000), (0x7f80, 0, 0), (0x8001, 0x0001, 0x8000))
for t in ("f16x2", "bf16x2"):
    for m in ("", ".satfinite", ".relu", ".relu.satfinite"):
        for r in ("rn", "rz"): p(f"cvt.{r}{m}.{t}.f32 %r0, %r1, %r2;", (NZ, 0x80000001), (N32[0], N32[1]), (INF, INF | NZ), (0x477fefff, 0x477ff000), (0x7f7fffff, 0xff7fffff))
for m in ("rn", "rz", "rn.relu", "rz.relu"): p(f"cvt.{m}.tf32.f32 %r0, %r1;", *N32, NZ, 0x80000001, 0x7f7fffff, INF, 0x3f801000, 0x3f803000, 0x00001000)
p("cvt.rna.tf32.f32 %r0, %r1;", *N32, 0x7f7fffff, 0x3f801000); p("cvt.rna.satfinite.tf32.f32 %r0, %r1;", *N32, 0x7f7fffff, INF, NZ | INF, 0x7fffffff)
# flush of results near the smallest normal number
near = [(0x3f7fffff, 0x00800000), (0x3f7ffffe, 0x00800000), (0x3f7fffff, 0x00800001), (0x3f800001, 0x007fffff), (0x3f000000, 0x00ffffff), (0x3f000000, 0x00fffffe), (0x34000001, 0x0bfffffe), (0x20000000 | 0x7fffff, 0x1fffffff)]
for r in ("rn", "rz", "rm", "rp"):
    p(f"mul.{r}.ftz.f32 %r0, %r1, %r2;", *near, *[(a | NZ, b) for a, b in near])
    p(f"fma.{r}.ftz.f32 %r0, %r1, %r2, %r3;", *[(a, b, c) for a, b in near for c in (0, NZ, 0x80800000, 0x00800000)], (0x1f800000, 0x1f800000, 0x80800000), (0x1f800000, 0x9f800000, 0x00800000), (0x1f000000, 0x9f000000, 0x00800000), (0x1e000000, 0x9e000000, 0x00800000))
    p(f"add.{r}.ftz.f32 %r0, %r1, %r2;", (0x00800001, 0x80800000), (0x00800000, 0x80800000), (0, NZ), (0x00ffffff, 0x80800000))
    p(f"div.{r}.ftz.f32 %r0, %r1, %r2;", (0x3f7fffff, 0x7e800000), (0x3f7ffffe, 0x7e800000), (0x40000000, 0x7f000001), (0x3fffffff, 0x7f000000), (0xbfffffff, 0x7f000000), (0x3f7fffff, 0x7e800001))
    p(f"cvt.{r}.ftz.f32.f64 %r0, %d1;", 0x380fffffdfffffff, 0x380fffffe0000000, 0x380fffffefffffff, 0x380ffffff0000000, 0x380fffffffffffff, 0x3810000000000000, 0xb80fffffe0000000, 0xb80ffffff0000000, N64[0])
    p(f"add.{r}.f64 %d0, %d1, %d2;", (Q(1.0), Q(-1.0)), (NZ6, 0)); p(f"fma.{r}.f64 %d0, %d1, %d2, %d3;", (Q(1.0), Q(-1.0), Q(1.0)))
for o in ("mul", "add"): p(f"{o}.ftz.f16 %h0, %h1, %h2;", (0x3bff, 0x0400), (0x3bfe, 0x0400), (0x03ff, 0x3c00), (0x0401, 0x8400))
p("fma.rn.ftz.f16 %h0, %h1, %h2, %h3;", (0x3bff, 0x0400, 0), (0x3bfe, 0x0400, 0), (0x03ff, 0x3c00, 0x0400))
# .f64 NaN rules
pairs = [(N64[0], N64[1]), (N64[1], N64[0]), (N64[2], N64[0]), (N64[0], N64[2]), (Q(1.0), N64[2]), (N64[2], Q(1.0)), (INF6, INF6 | NZ6), (0, INF6), (0, 0), (INF6, INF6)]
for o in ("add.rn", "sub.rn", "mul.rn", "div.rn", "add.rz", "div.rp", "min", "max"): p(f"{o}.f64 %d0, %d1, %d2;", *pairs)
tr = [(a, b, c) for a in (N64[0], Q(1.0), N64[2]) for b in (N64[1], Q(2.0)) for c in (0x7ff8000000000007, Q(3.0), 0x7ff0000000000009)] + [(INF6, 0, 0x7ff8000000000007), (INF6, 0, Q(1.0)), (INF6, Q(1.0), INF6 | NZ6)]
p("fma.rn.f64 %d0, %d1, %d2, %d3;", *tr); p("fma.rz.f64 %d0, %d1, %d2, %d3;", *tr[:6])
un = [*N64, Q(-1.0), NZ6, 0, INF6, INF6 | NZ6, 1, NZ6 | 1, 0x000fffffffffffff, Q(2.0), Q(3.0), Q(1e-300)]
for o in ("neg.f64", "abs.f64", "sqrt.rn.f64", "rcp.rn.f64", "sqrt.rz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64", "rcp.approx.ftz.f64", "cvt.rni.f64.f64", "cvt.sat.f64.f64"): p(f"{o} %d0, %d1;", *un)
for d in ("f32", "f16", "bf16"): p(f"cvt.rn.{d}.f64 {'%r0' if d == 'f32' else '%h0'}, %d1;", *un, Q(65520.0), Q(1e300))
p("cvt.f64.f32 %d0, %r1;", *N32, 1); p("cvt.ftz.f64.f32 %d0, %r1;", *N32, 1); p("cvt.f64.f16 %d0, %h1;", 0x7c01, 0xfe00, 0x7e55, 1); p("cvt.f64.bf16 %d0, %h1;", 0x7f81, 0xffc0, 0x7fd5, 1)
p("cvt.f32.bf16 %r0, %h1;", 0x7f81, 0xffc0, 1); p("cvt.ftz.f32.bf16 %r0, %h1;", 0x7f81, 0xffc0, 0x7fd5, 1, 0x8001); p("cvt.f32.f16 %r0, %h1;", 0x7c01, 0xfe00)
p("cvt.rni.f32.f32 %r0, %r1;", *N32, 0x80000001, F(-0.5), F(2.5)); p("cvt.rpi.ftz.f32.f32 %r0, %r1;", 1, NZ | 1)
for o in ("neg.f32", "abs.f32", "neg.ftz.f32"): p(f"{o} %r0, %r1;", *N32, 1, NZ)
for t in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
    d = {"8": "%r0", "6": "%h0", "2": "%r0", "4": "%d0"}[t[-1]]
    p(f"cvt.rzi.{t}.f32 {d}, %r1;", *N32, INF, NZ | INF, F(-1.5), F(3e38)); p(f"cvt.rzi.{t}.f64 {d}, %d1;", *N64, INF6, INF6 | NZ6, Q(-1.5), Q(1e300))
    p(f"cvt.rzi.{t}.f16 {d}, %h1;", 0x7c01, 0xfe00, 0x7c00, 0xfc00)
    if t[1:] != "8": p(f"cvt.rzi.{t}.bf16 {d}, %h1;", 0x7f81, 0xffc0, 0x7f80, 0xff80)
    if t[1:] in ("16", "32", "64"):
        r = {"16": ("%h0", "%h1", "%h2"), "32": ("%r0", "%r1", "%r2"), "64": ("%d0", "%d1", "%d2")}[t[1:]]
        top = 1 << (int(t[1:]) - 1)
        for o in ("div", "rem"): p(f"{o}.{t} {', '.join(r)};", (7, 0), (0, 0), (top, 0), (top, 2 * top - 1), (2 * top - 3, 2))
for r in ("rn", "rz", "rp"):
    p(f"cvt.{r}.f16.u32 %h0, %r1;", 100000, 65519, 65520, 2049, 0xffffffff); p(f"cvt.{r}.bf16.s64 %h0, %d1;", (1 << 63), 257, (1 << 62) - 1); p(f"cvt.{r}.f32.u64 %r0, %d1;", (1 << 64) - 1, 0x8000008000000001)
p("cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x7fff, 0x807e, 0x0801); p("cvt.rn.f16x2.e5m2x2 %r0, %h1;", 0x7dfe, 0x7cfc, 0x0180, 0x7fff); p("cvt.rn.relu.f16x2.e5m2x2 %r0, %h1;", 0xfcff, 0x8081)
for t in ("e4m3x2", "e5m2x2"):
    p(f"cvt.rn.satfinite.{t}.f16x2 %h0, %r1;", 0x7e00fe00, 0x7c00fc00, 0x5f005f80, 0x80010001); p(f"cvt.rn.satfinite.relu.{t}.f32 %h0, %r1, %r2;", (NZ, F(-1.0)), (N32[0], N32[1]))
for o in ("min", "max"):
    for m in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz"): p(f"{o}{m}.f32 %r0, %r1, %r2;", (NZ, 0), (0, NZ), (N32[0], F(-1.0)), (F(-1.0), N32[1]), (N32[0], N32[1]), (NZ | 1, 2), (F(-2.0), F(1.0)))
    for m in ("", ".NaN", ".xorsign.abs"): p(f"{o}{m}.bf16 %h0, %h1, %h2;", (0x7f81, 0xbf80), (0xffc0, 0x7fc0), (0x8001, 0x0002))
p("bfe.s32 %r0, %r1, %r2, %r3;", (0x80000000, 40, 3), (0x40000000, 29, 0), (0x12345678, 260, 8)); p("bfe.s64 %d0, %d1, %r2, %r3;", (1 << 63, 70, 3), (1 << 63, 60, 200))
p("fns.b32 %r0, %r1, %r2, %r3;", (0xffffffff, 33, 1), (0xffffffff, 31, 0x80000000), (0, 0, 0), (8, 3, 0))
p("sub.cc.u32 %r3, %r1, %r2; addc.u32 %r0, 0, 0;", (1, 2), (2, 1)); p("add.cc.u32 %r3, %r1, %r2; subc.u32 %r0, 5, 0;", (0xffffffff, 1), (1, 1))
p("vadd.s32.s32.s32.sat %r0.h1, %r1, %r2, %r3;", (0xfffffffb, 0, 0)); p("vmad.u32.u32.u32.sat %r0, %r1, %r2, %r3;", (0xffffffff, 2, 0)); p("vadd.u32.u32.u32.max %r0, %r1, %r2, %r3;", (0x7fffffff, 1, 0xffffffff))
# matrix units: lane 0 holds row 0 of A at k = 0, 1 (a0) and 8, 9 (a2), column 0 of B likewise, and C[0][0]
M = []
def m(kind, a, b, c): M.append((kind, a, b, c))
bf = lambda x: F(x) >> 16
T = 2.0 ** -76
pk = lambda lo, hi=0: lo | hi << 16
for c in (0, NZ, 1, 0x00800000): m("bf16", (pk(bf(1.5 * T)), 0), (pk(bf(T)), 0), c)
m("bf16", (pk(bf(1.5 * 2.0**-75)), 0), (pk(bf(2.0**-75)), 0), 0)
m("bf16", (pk(bf(1.5 * T), bf(2.0**100)), 0), (pk(bf(T), 0), 0), 0)       # a zero product with a large exponent
m("bf16", (pk(bf(2.0**-60), bf(2.0**100)), 0), (pk(bf(2.0**-60), 0), 0), 0)
m("bf16", (pk(0x7f7f), 0), (pk(0x7f7f), 0), 0); m("bf16", (pk(0x7f7f), 0), (pk(0xff7f), 0), 0)  # overflow
m("bf16", (pk(0x7f7f, 0x7f7f), 0), (pk(0x3f80, 0x3f80), 0), 0x7f7fffff)
for s in (0, 0x8000): m("f16", (pk(s), 0), (pk(0x3c00), 0), s << 16)        # sign of an exact zero
m("f16", (pk(0x8000, 0x8000), pk(0x8000, 0x8000)), (pk(0x3c00, 0x3c00), pk(0x3c00, 0x3c00)), NZ)
m("f16", (pk(0x3c00), 0), (pk(0x3c00), 0), F(-1.0)); m("f16", (pk(0x3c00, 0xbc00), 0), (pk(0x3c00, 0x3c00), 0), 0)
for k in range(22, 28):                                                    # fraction bits and truncation
    for s in (1.0, -1.0):
        m("f16", (pk(0x3c00), 0), (pk(0x3c00), 0), F(s * 2.0**-k)); m("f16", (pk(0x3c00, 0xbc00), 0), (pk(0x3c00, 0x3c00), 0), F(s * 1.75 * 2.0**-k))
        h = struct.unpack("<H", struct.pack("<e", s * 2.0 ** -(k - 12)))[0]
        m("f16", (pk(0x3c00, h), 0), (pk(0x3c00, 0x0c00), 0), 0)           # 2^-12 * 2^-(k-12)
        m("f16", (pk(0x3c00, h), pk(h, h)), (pk(0x3c00, 0x0c00), pk(0x0c00, 0x0c00)), 0)
m("f16", (pk(0x3e00), 0), (pk(0x3e00), 0), F(2.0**-24)); m("f16", (pk(0x3e00), 0), (pk(0x3e00), 0), F(2.0**-23))  # 2.25: is the exponent that of the operands
m("f16", (pk(1), 0), (pk(1), 0), 0); m("f16", (pk(1), 0), (pk(1), 0), 1); m("f16", (pk(1), 0), (pk(0x7bff), 0), 0)
m("f16", (pk(0x7c00), 0), (pk(0), 0), 0); m("f16", (pk(0x7c00), 0), (pk(0xbc00), 0), INF); m("f16", (pk(0x7e01), 0), (pk(0), 0), 0)
for c in (0, 0x8000, 0x3c00, 0x7bff, 0x0001): m("f16f16", (pk(0x3c01, 0x1001), 0), (pk(0x3c01, 0x1001), 0), c)
m("f16f16", (pk(0x7bff), 0), (pk(0x4000), 0), 0); m("f16f16", (pk(0x3c00, 0x0c00), 0), (pk(0x3c00, 0x0c00), 0), 0x3c00); m("f16f16", (pk(0x8000), 0), (pk(0x3c00), 0), 0x8000)
m("f16f16", (pk(0x3c00, 0x0401), 0), (pk(0x3c00, 0x3400), 0), 0); m("f16f16", (pk(1), 0), (pk(1), 0), 0)

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
def ptx():
    o = HEAD
    regs = ".reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<8>; .reg .b64 %a<8>; .reg .pred %p<4>;"
    idx = "mov.u32 %r8, %ctaid.x; mov.u32 %r9, %ntid.x; mov.u32 %r10, %tid.x; mad.lo.u32 %r11, %r8, %r9, %r10;"
    for n, i in CURVES.items():
        o += f".visible .entry curve_{n}(.param .u64 out, .param .u32 base) {{ {regs} {idx} mov.u32 %r0, 0; ld.param.u64 %a0, [out]; ld.param.u32 %r7, [base]; add.u32 %r4, %r7, %r11; {i} mul.wide.u32 %a1, %r11, 4; add.u64 %a2, %a0, %a1; st.global.u32 [%a2], %r5; ret; }}\n"
    o += f".visible .entry second(.param .u64 in, .param .u64 out, .param .u64 bad) {{ {regs} {idx} ld.param.u64 %a0, [in]; ld.param.u64 %a1, [out]; ld.param.u64 %a5, [bad]; mul.wide.u32 %a2, %r11, 4; add.u64 %a3, %a0, %a2; ld.global.s32 %r1, [%a3]; ld.global.s32 %r2, [%a3+4]; ld.global.s32 %r3, [%a3+8]; sub.s32 %r4, %r3, %r2; sub.s32 %r5, %r2, %r1; sub.s32 %r6, %r4, %r5; cvt.u64.u32 %a4, %r11; add.u64 %a4, %a1, %a4; cvt.sat.s8.s32 %r7, %r6; st.global.u8 [%a4], %r7; setp.ne.s32 %p1, %r6, %r7; @%p1 red.global.add.u32 [%a5], 1; ret; }}\n"
    for k, (n, i) in enumerate(HALF.items()):
        i = i.replace("%h2", "%h6")
        import re
        consts = ""
        for j, c in enumerate(re.findall(r"0x[0-9a-f]{4}", i)):
            consts += f"mov.b16 %h{3 + j}, {c}; "; i = i.replace(c, f"%h{3 + j}", 1)
        o += f".visible .entry half_{k}(.param .u64 out) {{ {regs} {idx} {consts} ld.param.u64 %a0, [out]; cvt.u16.u32 %h1, %r11; {i} mul.wide.u32 %a1, %r11, 2; add.u64 %a2, %a0, %a1; st.global.b16 [%a2], %h6; ret; }}\n"
    seen = {}
    for ins, _ in P:
        if ins in seen: continue
        k = seen[ins] = len(seen)
        import re
        w = lambda n: re.search(rf"%([rdh]){n}\b", ins)
        ld = ""
        for n in (1, 2, 3):
            g = w(n)
            if g: ld += f"ld.global.b{dict(r=32, d=64, h=16)[g.group(1)]} %{g.group(1)}{n}, [%a3+{8 * (n - 1)}]; "
        g = w(0).group(1)
        o += f".visible .entry probe_{k}(.param .u64 in, .param .u64 out) {{ {regs} {idx} ld.param.u64 %a0, [in]; ld.param.u64 %a1, [out]; mul.wide.u32 %a2, %r11, 24; add.u64 %a3, %a0, %a2; mul.wide.u32 %a4, %r11, 8; add.u64 %a5, %a1, %a4; {ld} {ins} st.global.b{dict(r=32, d=64, h=16)[g]} [%a5], %{g}0; ret; }}\n"
    for kind in ("bf16", "f16"):
        o += f".visible .entry mma_{kind}(.param .u64 in, .param .u64 out) {{ {regs} .reg .f32 %f<8>; mov.u32 %r10, %tid.x; ld.param.u64 %a0, [in]; ld.param.u64 %a1, [out]; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %f1, 0f00000000; mov.b32 %f2, 0f00000000; setp.eq.u32 %p1, %r10, 0; @%p1 ld.global.b32 %r1, [%a0]; @%p1 ld.global.b32 %r2, [%a0+4]; @%p1 ld.global.b32 %r3, [%a0+8]; @%p1 ld.global.b32 %r4, [%a0+12]; @%p1 ld.global.b32 %f1, [%a0+16]; mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 {{%f3,%f4,%f5,%f6}}, {{%r1,%r5,%r2,%r5}}, {{%r3,%r4}}, {{%f1,%f2,%f2,%f2}}; @%p1 st.global.b32 [%a1], %f3; ret; }}\n"
    o += f".visible .entry mma_f16f16(.param .u64 in, .param .u64 out) {{ {regs} mov.u32 %r10, %tid.x; ld.param.u64 %a0, [in]; ld.param.u64 %a1, [out]; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; setp.eq.u32 %p1, %r10, 0; @%p1 ld.global.b32 %r1, [%a0]; @%p1 ld.global.b32 %r2, [%a0+4]; @%p1 ld.global.b32 %r3, [%a0+8]; @%p1 ld.global.b32 %r4, [%a0+12]; @%p1 ld.global.b32 %r6, [%a0+16]; mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {{%r7,%r8}}, {{%r1,%r5,%r2,%r5}}, {{%r3,%r4}}, {{%r6,%r5}}; and.b32 %r7, %r7, 0xffff; @%p1 st.global.b32 [%a1], %r7; ret; }}\n"
    return o, seen

def main(out):
    cu = ctypes.CDLL("libcuda.so.1")
    def ok(r, what):
        if r: raise SystemExit(f"{what}: CUDA error {r}")
    vp, u64 = ctypes.c_void_p, ctypes.c_uint64
    dev, ctx, mod = ctypes.c_int(), vp(), vp()
    ok(cu.cuInit(0), "init"); ok(cu.cuDeviceGet(ctypes.byref(dev), 0), "device")
    ok(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev), "context"); ok(cu.cuCtxSetCurrent(ctx), "context")
    text, seen = ptx()
    ok(cu.cuModuleLoadData(ctypes.byref(mod), ctypes.c_char_p(text.encode() + b"\0")), "module")
    def alloc(n):
        d = u64(); ok(cu.cuMemAlloc_v2(ctypes.byref(d), ctypes.c_size_t(n)), "alloc"); return d
    def get(d, n):
        b = ctypes.create_string_buffer(n); ok(cu.cuMemcpyDtoH_v2(b, d, ctypes.c_size_t(n)), "copy"); return b.raw
    def put(d, b): ok(cu.cuMemcpyHtoD_v2(d, ctypes.c_char_p(b), ctypes.c_size_t(len(b))), "copy")
    def launch(name, grid, block, *args):
        f = vp(); ok(cu.cuModuleGetFunction(ctypes.byref(f), mod, name.encode()), name)
        arr = (vp * len(args))(*[ctypes.cast(ctypes.pointer(a), vp) for a in args])
        ok(cu.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, None, arr, None), name); ok(cu.cuCtxSynchronize(), name)
    os.makedirs(out, exist_ok=True)
    N = 1 << 23
    raw, dd, bad = alloc(4 * N + 4096), alloc(N), alloc(4)
    files = {}
    def curve(file, name, base, n):
        put(bad, b"\0\0\0\0")
        launch(f"curve_{name}", (n + 1024) // 512, 512, raw, ctypes.c_uint32(base))
        launch("second", n // 512, 512, raw, dd, bad)
        first = get(raw, 8); escapes = struct.unpack("<I", get(bad, 4))[0]
        z = zlib.compress(get(dd, n), 9) if escapes == 0 else b""
        if escapes:  # not smooth: store plainly
            z = zlib.compress(get(raw, 4 * n), 6)
        files.setdefault(file, b"")
        files[file] += struct.pack("<8sIIII", name.encode(), base, n, escapes, len(z)) + first + z
        print(name, hex(base), n, "escapes", escapes, "bytes", len(z), flush=True)
    for e in (127, 128): curve("curves0.bin", "sqrt", e << 23, N)
    for sign in (0, 1): curve("curves0.bin", "rcp64h", 0x3ff00000 | sign << 31, 1 << 20)
    for e in (0x3fe, 0x3ff): curve("curves0.bin", "rsq64h", e << 20, 1 << 20)
    for e in (0, 1, 2, 0x7fd, 0x7fe, 0x7ff):
        for n in ("rcp64h", "rsq64h"): curve("curves0.bin", n, e << 20, 4096)
    for i, e in enumerate(range(107, 133)): curve(f"curves{1 + i // 7}.bin", "tanh", e << 23, N)
    curve("curves4.bin", "tanh", (127 << 23) | 1 << 31, N)
    for f, b in files.items(): open(os.path.join(out, f), "wb").write(b)
    blob = b""
    h = alloc(1 << 17)
    for k in range(len(HALF)):
        launch(f"half_{k}", 128, 512, h); blob += get(h, 1 << 17)
    open(os.path.join(out, "half.bin"), "wb").write(zlib.compress(blob, 9)); open(os.path.join(out, "half.txt"), "w").write("\n".join(HALF) + "\n")
    lines = []
    i_, o_ = alloc(64), alloc(64)
    for ins, c in P:
        put(i_, b"".join(struct.pack("<Q", v & (1 << 64) - 1) for v in (list(c) + [0, 0, 0])[:3])); put(o_, b"\0" * 8)
        launch(f"probe_{seen[ins]}", 1, 1, i_, o_)
        lines.append(f"{ins}\t{' '.join('%x' % v for v in c)}\t{struct.unpack('<Q', get(o_, 8))[0]:x}")
    for kind, a, b, c in M:
        put(i_, struct.pack("<5I", *a, *b, c)); put(o_, b"\0" * 8)
        launch(f"mma_{kind}", 1, 32, i_, o_)
        lines.append(f"mma {kind}\t{' '.join('%x' % v for v in (*a, *b, c))}\t{struct.unpack('<I', get(o_, 4))[0]:x}")
    open(os.path.join(out, "probes.txt"), "w").write("\n".join(lines) + "\n")
    print(len(lines), "probes")

if __name__ == "__main__":
    if sys.argv[1] == "--ptx": open(sys.argv[2], "w").write(ptx()[0])
    else: main(sys.argv[1])
