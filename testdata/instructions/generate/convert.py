"""cvt between every pair of types, cvt.pack, and the packed 8-bit formats."""

from emit import bits, case, write
from integer import corners
from reference import (BF16, E4M3, E5M2, F16, F32, F64, clamp, float_to_float, float_to_int, int_to_float, mask, read, relu_, round_to_integral_float,
                       signed, width)

INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
ROUND_INT = ("rni", "rzi", "rmi", "rpi")
MODES = ("rn", "rz", "rm", "rp")
FLOATS = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64"}


def numbers(f):
    """Values whose conversions to integers differ by rounding, at and beyond every limit."""
    plain = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 126.5, 127.5, 128.0, 254.5, 255.5, 256.0, 32767.5, 32768.0, 65535.5, 65536.0,
             2147483520.0, 2147483647.5, 2147483648.0, 4294967040.0, 4294967295.5, 4294967296.0, 9.2e18, 2.0**63, 1.8e19, 2.0**64, 1e30]
    if f in (F16, BF16):
        plain = plain[:18] + ([2.0**31, 2.0**32, 2.0**63, 2.0**64] if f is BF16 else [])
    out = []
    for v in plain:
        for s in (v, -v):
            u = float_to_float(f, F64, bits("f64", s))
            if u not in out and not f.is_inf(u):
                out.append(u)
    return out + [f.infinity, f.infinity | f.sign, f.nan, f.sign | 1, 1]


def int_to_int():
    cases = []
    for s in INTS:
        values = corners(width(s)) + [0x55 & mask(width(s)), 0xAA & mask(width(s))]
        cases.append(case(f"from_{s}", f"a:{s}", " ".join(f"{d}_:{d}" for d in INTS if d != s), "\n".join(f"cvt.{d}.{s} %{d}_, %a;" for d in INTS if d != s),
                          values, lambda a, s=s: tuple(read(s, a) for d in INTS if d != s)))
        # .sat is for destinations that cannot hold every source value.
        low, high = clamp(-(1 << 70), s), clamp(1 << 70, s)
        sat = [d for d in INTS if clamp(low, d) != low or clamp(high, d) != high]
        cases.append(case(f"saturate_{s}", f"a:{s}", " ".join(f"{d}_:{d}" for d in sat), "\n".join(f"cvt.sat.{d}.{s} %{d}_, %a;" for d in sat),
                          values + [300 & mask(width(s)), -300 & mask(width(s)), 70000 & mask(width(s)), -70000 & mask(width(s))],
                          lambda a, s=s, sat=sat: tuple(clamp(read(s, a), d) for d in sat)))
    write("convert/integer", *cases)
    write("convert/wide_registers",
          case("narrow_types_in_wide_registers", "a:b64", "u8_:b32 s8_:b32 u16_:b64 s16_:b32 s8_64:b64",
               """cvt.u8.u64 %u8_, %a;
               cvt.s8.s64 %s8_, %a;
               cvt.u16.u64 %u16_, %a;
               cvt.s16.s64 %s16_, %a;
               cvt.s64.s8 %s8_64, %a;""",
               [0, 0x1234567890ABCDEF, 0xFEDCBA9876543280, 0x7F, 0x80, 0xFFFF, 0x8000],
               lambda a: (a & 0xFF, signed(a, 8), a & 0xFFFF, signed(a, 16), signed(a, 8))))


def int_to_floats():
    cases = []
    for s in INTS:
        w = width(s)
        values = corners(w) + [v & mask(w) for v in (0xFFFFFF80, 0x1000001, 0x1000003, 0x20000000000001, 0x20000000000003, 0x7FFFFFBFFFFFFFFF, 0x801, 0x803)]
        for f in (F32, F64, F16, BF16):
            n = FLOATS[f]
            modes = MODES
            cases.append(case(f"{s}_to_{n}", f"a:{s}", " ".join(f"{m}:{n}" for m in modes), "\n".join(f"cvt.{m}.{n}.{s} %{m}, %a;" for m in modes), values,
                              lambda a, s=s, f=f, modes=modes: tuple(int_to_float(f, s, a, m) for m in modes), bytes_=f is BF16))
    write("convert/integer_to_float", *[c for c in cases if "_to_f32" in c or "_to_f64" in c])
    write("convert/integer_to_half", *[c for c in cases if "_to_f16" in c or "_to_bf16" in c])


def float_to_ints():
    for f, n in FLOATS.items():
        cases = []
        for d in INTS:
            cases.append(case(f"{n}_to_{d}", f"a:{n}", " ".join(f"{m}:{d}" for m in ROUND_INT), "\n".join(f"cvt.{m}.{d}.{n} %{m}, %a;" for m in ROUND_INT),
                              numbers(f), lambda a, d=d: tuple(float_to_int(f, a, d, m) for m in ROUND_INT), bytes_=f is BF16))
        if f is F32:
            cases.append(case("ftz_to_s32", "a:f32", "up:s32 down:s32 kept:s32", "cvt.rpi.ftz.s32.f32 %up, %a;\ncvt.rmi.ftz.s32.f32 %down, %a;\ncvt.rpi.s32.f32 %kept, %a;",
                              [1, 0x80000001, 0x007FFFFF, 0x00800000, 0.5, -0.5],
                              lambda a: (float_to_int(F32, a, "s32", "rpi", True), float_to_int(F32, a, "s32", "rmi", True), float_to_int(F32, a, "s32", "rpi"))))
        write(f"convert/{n}_to_integer", *cases)


F32_TO_NARROW = [0x3F800000, 0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001, 0xBF801001, 0x3F808000, 0x3F818000, 0x3F807FFF, 0xBF808001, 0x477FE000, 0x477FEFFF, 0x477FF000,
                 0xC77FF000, 0x47800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC12345, 0xFF800001, 0x38800000, 0x387FFFFF, 0x387FC000, 0x33800000, 0x33000000,
                 0x33000001, 0xB3C00000, 0x00000001, 0x80000001, 0x00400000, 0x00008000, 0x00018000, 0x0000FFFF, 0, 0x80000000]


def float_to_floats():
    # Widening is exact; narrowing rounds.
    f64 = [0x3FF0000000000000, 0x3FF0000010000000, 0x3FF0000030000000, 0x3FF000000FFFFFFF, 0xBFF0000010000001, 0x47EFFFFFE0000000, 0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000,
           0xC7EFFFFFF0000001, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0x3810000000000000, 0x380FFFFFFFFFFFFF, 0x36A0000000000000,
           0x3690000000000000, 0x3690000000000001, 0xB6B8000000000000, 1, 0x8000000000000001, 0]
    cases = [case("f64_to_f32", "a:f64", " ".join(f"{m}:f32" for m in MODES), "\n".join(f"cvt.{m}.f32.f64 %{m}, %a;" for m in MODES), f64,
                  lambda a: tuple(float_to_float(F32, F64, a, m) for m in MODES)),
             case("f64_to_f32_ftz_sat", "a:f64", "ftz:f32 sat:f32", "cvt.rn.ftz.f32.f64 %ftz, %a;\ncvt.rn.sat.f32.f64 %sat, %a;",
                  [a for a in f64 if a not in (0x380FFFFFFFFFFFFF, 0x8000000000000001)] + [0xBFF0000000000000, 0x3FE0000000000000],
                  lambda a: (float_to_float(F32, F64, a, ftz=True), float_to_float(F32, F64, a, sat=True))),
             case("f32_to_f64", "a:f32", "d:f64 ftz:f64", "cvt.f64.f32 %d, %a;\ncvt.ftz.f64.f32 %ftz, %a;", [a for a in F32_TO_NARROW],
                  lambda a: tuple("nan" if F32.is_nan(a) else float_to_float(F64, F32, a, ftz=z) for z in (False, True)))]
    write("convert/f32_f64", *cases)

    cases = []
    for f in (F16, BF16):
        n = FLOATS[f]
        modes = MODES if f is F16 else ("rn", "rz", "rm", "rp")
        cases.append(case(f"f32_to_{n}", "a:f32", " ".join(f"{m}:{n}" for m in modes), "\n".join(f"cvt.{m}.{n}.f32 %{m}, %a;" for m in modes), F32_TO_NARROW,
                          lambda a, f=f: tuple(float_to_float(f, F32, a, m) for m in modes)))
        forms = [(f"{m}{'_relu' * r}{'_fin' * s}", f".{m}{'.relu' * r}{'.satfinite' * s}", dict(mode=m, relu=r, satfinite=s)) for m in ("rn", "rz") for r in (False, True)
                 for s in (False, True) if r or s]
        positive_zero = [a for a in F32_TO_NARROW if a >> 31 == 0 or a in (0xBF801001, 0xC77FF000, 0xFF7FFFFF, 0xFF800000)]
        cases.append(case(f"f32_to_{n}_clamped", "a:f32", " ".join(f"{c}:{n}" for c, _, _ in forms), "\n".join(f"cvt{m}.{n}.f32 %{c}, %a;" for c, m, _ in forms), positive_zero,
                          lambda a, f=f: tuple(float_to_float(f, F32, a, **k) for _, _, k in forms)))
        forms = [("d", ".rn", {}), ("rz", ".rz", dict(mode="rz"))]
        cases.append(case(f"f32_to_{n}x2", "a:f32 b:f32", "d:b32 rz:b32", "\n".join(f"cvt{m}.{n}x2.f32 %{c}, %a, %b;" for c, m, _ in forms),
                          list(zip(F32_TO_NARROW, F32_TO_NARROW[5:] + F32_TO_NARROW[:5])),
                          lambda a, b, f=f: tuple(float_to_float(f, F32, a, **k) << 16 | float_to_float(f, F32, b, **k) for _, _, k in forms)))
        cases.append(case(f"f32_to_{n}x2_relu", "a:f32 b:f32", "d:b32", f"cvt.rn.relu.{n}x2.f32 %d, %a, %b;", list(zip(positive_zero, positive_zero[3:] + positive_zero[:3])),
                          lambda a, b, f=f: float_to_float(f, F32, a, relu=True) << 16 | float_to_float(f, F32, b, relu=True)))
    write("convert/f32_to_half", *cases)

    cases = []
    specials = {F16: [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0x3C01, 0xBC01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x3800, 0x3555, 0x4248],
                BF16: [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x3F80, 0x3F81, 0xBF81, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x3F00, 0x3EAB, 0x4049, 0x4780, 0x3380]}
    for f in (F16, BF16):
        n = FLOATS[f]
        cases.append(case(f"{n}_to_wider", f"a:{n}", "f:f32 d:f64", f"cvt.f32.{n} %f, %a;\ncvt.f64.{n} %d, %a;", specials[f],
                          lambda a, f=f: (float_to_float(F32, f, a), float_to_float(F64, f, a))))
        cases.append(case(f"f64_to_{n}", "a:f64", f"rn:{n} rz:{n}", f"cvt.rn.{n}.f64 %rn, %a;\ncvt.rz.{n}.f64 %rz, %a;",
                          f64 + [0x3FF0040000000000, 0x3FF0020000000001, 0x40EFFC0000000000, 0x40EFFE0000000000, 0x3E70000000000000, 0x3FF0100000000001],
                          lambda a, f=f: (float_to_float(f, F64, a), float_to_float(f, F64, a, "rz"))))
        cases.append(case(f"{n}_to_integral", f"a:{n}", " ".join(f"{m}:{n}" for m in ROUND_INT), "\n".join(f"cvt.{m}.{n}.{n} %{m}, %a;" for m in ROUND_INT),
                          numbers(f), lambda a, f=f: tuple(round_to_integral_float(f, a, m) for m in ROUND_INT)))
    cases.append(case("f16_to_bf16", "a:f16", "rn:bf16 rz:bf16", "cvt.rn.bf16.f16 %rn, %a;\ncvt.rz.bf16.f16 %rz, %a;", specials[F16],
                      lambda a: (float_to_float(BF16, F16, a), float_to_float(BF16, F16, a, "rz"))))
    cases.append(case("bf16_to_f16", "a:bf16", "rn:f16 rz:f16", "cvt.rn.f16.bf16 %rn, %a;\ncvt.rz.f16.bf16 %rz, %a;", specials[BF16],
                      lambda a: (float_to_float(F16, BF16, a), float_to_float(F16, BF16, a, "rz"))))
    write("convert/half", *cases)

    cases = [case(f"{n}_to_integral", f"a:{n}", " ".join(f"{m}:{n}" for m in ROUND_INT), "\n".join(f"cvt.{m}.{n}.{n} %{m}, %a;" for m in ROUND_INT), numbers(f),
                  lambda a, f=f: tuple("nan" if f.is_nan(a) else round_to_integral_float(f, a, m) for m in ROUND_INT)) for f, n in ((F32, "f32"), (F64, "f64"))]
    cases.append(case("f32_to_integral_ftz_sat", "a:f32", "ftz:f32 sat:f32", "cvt.rpi.ftz.f32.f32 %ftz, %a;\ncvt.rni.sat.f32.f32 %sat, %a;",
                      [1, 0x80000001, 0.25, 0.75, 1.5, -3.0, 0x7F800000, 0xFF800000],
                      lambda a: (round_to_integral_float(F32, a, "rpi", True), F32.saturate(round_to_integral_float(F32, a, "rni")))))
    cases.append(case("f32_f32", "a:f32", "ftz:f32 sat:f32", "cvt.ftz.f32.f32 %ftz, %a;\ncvt.sat.f32.f32 %sat, %a;", [1, 0x80000001, 0.25, 1.0, 1.5, -3.0, 0x7F800000, 0xFF800000],
                      lambda a: (F32.flush(a), F32.saturate(a))))
    write("convert/to_integral", *cases)


def tf32():
    def tf(a, mode, relu=False):
        if F32.is_nan(a):
            return None
        if mode == "rna":
            r = a if F32.is_inf(a) else a + 0x1000
        elif mode == "rz":
            r = a
        else:
            r = a if F32.is_inf(a) else a + 0xFFF + (a >> 13 & 1)
        r &= 0xFFFFE000
        return relu_(F32, r) if relu else r
    write("convert/tf32",
          case("tf32", "a:f32", "rna:b32 rn:b32 rz:b32", "cvt.rna.tf32.f32 %rna, %a;\ncvt.rn.tf32.f32 %rn, %a;\ncvt.rz.tf32.f32 %rz, %a;",
               [0x3F800000, 0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001, 0xBF801000, 0x7F7FFFFF, 0x7F7FEFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0, 0x80000000, 0x40490FDB, 0x00001000, 0x00000FFF],
               lambda a: (tf(a, "rna"), tf(a, "rn"), tf(a, "rz"))),
          case("tf32_relu", "a:f32", "rn:b32 rz:b32", "cvt.rn.relu.tf32.f32 %rn, %a;\ncvt.rz.relu.tf32.f32 %rz, %a;",
               [0x3F801000, 0x3F803000, 0xBF801000, 0x7F7FEFFF, 0xFF800000, 0x40490FDB, 0xC0490FDB],
               lambda a: (tf(a, "rn", True), tf(a, "rz", True))))


def f8():
    pairs = [0x3F800000, 0x3F880000, 0x3F980000, 0x3F900000, 0x43E00000, 0x43E80000, 0x43E80001, 0x43F00000, 0x44000000, 0x47600000, 0x47700000, 0x47800000, 0xC7800000, 0x3C000000,
             0x3B800000, 0x3A800000, 0x3A800001, 0x3B000000, 0x37800000, 0x37000000, 0x37000001, 0x38000000, 0xBF880000, 0x7F800000, 0xFF800000, 0x7FC00000, 0, 0x80000000, 0x40490FDB, 0xC2F70000]
    cases = []
    for f in (E4M3, E5M2):
        n = f.name

        def down(u, source, f=f, relu=False):
            r = float_to_float(f, source, u, satfinite=True)
            return (0 if f.negative(r) and not f.is_nan(r) else r) if relu else r
        cases.append(case(f"f32_to_{n}x2", "a:f32 b:f32", "d:b16", f"cvt.rn.satfinite.{n}x2.f32 %d, %a, %b;", list(zip(pairs, pairs[7:] + pairs[:7])),
                          lambda a, b, down=down: down(a, F32) << 8 | down(b, F32)))
        cases.append(case(f"f32_to_{n}x2_relu", "a:f32 b:f32", "d:b16", f"cvt.rn.satfinite.relu.{n}x2.f32 %d, %a, %b;",
                          [p for p in zip(pairs, pairs[7:] + pairs[:7]) if 0x80000000 not in p], lambda a, b, down=down: down(a, F32, relu=True) << 8 | down(b, F32, relu=True)))
        halves = [0x3C00, 0x3C40, 0x3CC0, 0xBC40, 0x5F00, 0x5F40, 0x5F80, 0x7B00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x1C00, 0x1400, 0x1401, 0x0001, 0x0200, 0x0300, 0, 0x8000]
        cases.append(case(f"f16x2_to_{n}x2", "a:b32", "d:b16", f"cvt.rn.satfinite.{n}x2.f16x2 %d, %a;", [l | h << 16 for l, h in zip(halves, halves[5:] + halves[:5])],
                          lambda a, down=down: down(a >> 16, F16) << 8 | down(a & 0xFFFF, F16)))
        every = list(range(256))
        cases.append(case(f"{n}x2_to_f16x2", "a:b16", "d:b32", f"cvt.rn.f16x2.{n}x2 %d, %a;", [a | (a * 7 + 3) % 256 << 8 for a in every[::2] + every[127::128]],
                          lambda a, f=f: float_to_float(F16, f, a >> 8) << 16 | float_to_float(F16, f, a & 0xFF)))
    write("convert/f8", *cases)


def pack():
    def pk(t, a, b, c=0):
        w = width(t)
        a, b = clamp(signed(a, 32), t) & mask(w), clamp(signed(b, 32), t) & mask(w)
        return a << w | b | (c << 2 * w & mask(32))
    rows = [(1, 2, 0x12345678), (-1, 300, 0xFFFF), (70000, -70000, 0), (127, -128, 0xABCD), (128, -129, 1), (0x7FFFFFFF, -0x80000000, 5), (15, -8, 0x1111), (16, -9, 0)]
    rows = [(a & mask(32), b & mask(32), c) for a, b, c in rows]
    write("convert/pack",
          *[case(f"pack_{t}", "a:s32 b:s32", "d:b32", f"cvt.pack.sat.{t}.s32 %d, %a, %b;", [r[:2] for r in rows], lambda a, b, t=t: pk(t, a, b)) for t in ("u16", "s16")],
          *[case(f"pack_{t}", "a:s32 b:s32 c:b32", "d:b32", f"cvt.pack.sat.{t}.s32.b32 %d, %a, %b, %c;", rows, lambda a, b, c, t=t: pk(t, a, b, c)) for t in ("u8", "s8", "u4", "s4", "u2", "s2")])


def all_():
    for f in (int_to_int, int_to_floats, float_to_ints, float_to_floats, tf32, f8, pack):
        f()
