"""f32 and f64 arithmetic: every rounding, .ftz, .sat, NaN and infinity, and what is exact of the approximate functions."""

from emit import case, write
from reference import F32, F64, add, div, fma, minmax, mul, sqrt

MODES = ("rn", "rz", "rm", "rp")
INF, NAN = float("inf"), 0x7FC12345
F32_VALUES = {
    "one": 0x3F800000, "tiny": 0x00800000, "sub": 0x00000001, "sub2": 0x007FFFFF, "max": 0x7F7FFFFF, "inf": 0x7F800000,
    "nan": 0x7FC12345, "snan": 0x7F800001, "third": 0x3EAAAAAB, "ulp": 0x34000000, "half_ulp": 0x33800000,
    "odd": 0x3F800001, "pi": 0x40490FDB, "big": 0x4B800001, "zero": 0,
}
F64_VALUES = {
    "one": 0x3FF0000000000000, "tiny": 0x0010000000000000, "sub": 1, "sub2": 0x000FFFFFFFFFFFFF, "max": 0x7FEFFFFFFFFFFFFF,
    "inf": 0x7FF0000000000000, "nan": 0x7FF8000000012345, "snan": 0x7FF0000000000001, "third": 0x3FD5555555555555,
    "ulp": 0x3CB0000000000000, "half_ulp": 0x3CA0000000000000, "odd": 0x3FF0000000000001, "pi": 0x400921FB54442D18,
    "big": 0x4340000000000001, "zero": 0,
}
PAIRS = ["one half_ulp", "one -half_ulp", "-one half_ulp", "odd half_ulp", "-odd -half_ulp", "one sub", "-one sub", "third third",
         "pi -third", "pi pi", "-pi third", "big one", "max max", "-max -max", "max ulp", "max -ulp", "tiny -sub", "tiny third", "sub sub", "sub -sub",
         "sub2 sub", "zero zero", "zero -zero", "-zero -zero", "one -one", "inf one", "inf -inf", "-inf -inf", "inf zero",
         "nan one", "one nan", "snan zero", "odd odd", "-odd big"]


def values(f, row):
    table = F32_VALUES if f is F32 else F64_VALUES
    return tuple(table[n.lstrip("-")] | (f.sign if n[0] == "-" else 0) for n in row.split())


def loose(f, u):
    """NaN payloads of f64 arithmetic are not part of the contract yet."""
    return "nan" if f is F64 and f.is_nan(u) else u


def rounded(f, op, arity, function, rows):
    """One case: an instruction in all four roundings."""
    t = f.name
    names = "abc"[:arity]
    operands = ", ".join("%" + n for n in names)
    return case(f"{op}_{t}", " ".join(f"{n}:{t}" for n in names), " ".join(f"{m}:{t}" for m in MODES),
                "\n".join(f"{op}.{m}.{t} %{m}, {operands};" for m in MODES), [values(f, r) for r in rows],
                lambda *v: tuple(loose(f, function(f, *v, mode=m)) for m in MODES))


# Subnormal results that are not exact are left out under .ftz: whether the flush
# happens before or after rounding is not said.
FTZ_PAIRS = ["sub one", "-sub one", "one sub2", "sub sub", "-sub sub2", "sub -zero", "tiny tiny", "tiny -odd", "sub inf", "zero -sub",
             "sub nan", "third pi"]


def sub(f, a, b, **k):
    return add(f, a, b, subtract=True, **k)


def mad_cases():
    triples = ["one one half_ulp", "odd odd -one", "odd odd ulp", "third pi -one", "-third pi one", "max pi -max", "max one ulp",
               "pi sub sub", "tiny third sub", "tiny tiny one", "-tiny tiny one", "one one -one", "-one one one", "zero one -zero",
               "-zero one -zero", "inf one -inf", "inf zero one", "inf one one", "nan one one", "one snan one", "one one nan", "one inf inf",
               "big odd -big", "sub one -sub", "max max -inf", "odd third -third"]
    for f in (F32, F64):
        t = f.name
        cases = [rounded(f, "fma", 3, fma, triples), rounded(f, "mad", 3, fma, triples[:8])]
        if f is F32:
            flushed = ["sub one one", "sub max sub", "one sub2 -zero", "-one sub zero", "tiny tiny sub", "odd odd -one"]
            cases.append(case("fma_ftz_sat_f32", "a:f32 b:f32 c:f32", "ftz:f32 sat:f32 both:f32",
                              "fma.rn.ftz.f32 %ftz, %a, %b, %c;\nfma.rn.sat.f32 %sat, %a, %b, %c;\nfma.rn.ftz.sat.f32 %both, %a, %b, %c;",
                              [values(f, r) for r in flushed + ["pi pi one", "-pi pi one", "third one third", "nan one one", "inf one one", "-inf one one"]],
                              lambda a, b, c: (fma(f, a, b, c, ftz=True), fma(f, a, b, c, sat=True), fma(f, a, b, c, ftz=True, sat=True))))
        write(f"float/fma_{t}", *cases)


def all_():
    for f in (F32, F64):
        t = f.name
        w = f.bits
        for op, function in (("add", add), ("sub", sub), ("mul", mul)):
            cases = [rounded(f, op, 2, function, PAIRS)]
            # The form with no rounding modifier is round to nearest even.
            cases.append(case(f"{op}_{t}_default", f"a:{t} b:{t}", f"d:{t}", f"{op}.{t} %d, %a, %b;", [values(f, r) for r in PAIRS[:12]],
                              lambda a, b, function=function: loose(f, function(f, a, b))))
            if f is F32:
                cases.append(case(f"{op}_ftz_f32", "a:f32 b:f32", "rn:f32 rz:f32",
                                  f"{op}.ftz.f32 %rn, %a, %b;\n{op}.rz.ftz.f32 %rz, %a, %b;", [values(f, r) for r in FTZ_PAIRS],
                                  lambda a, b, function=function: tuple(function(f, a, b, mode=m, ftz=True) for m in ("rn", "rz"))))
                cases.append(case(f"{op}_sat_f32", "a:f32 b:f32", "sat:f32 rm:f32 ftz:f32",
                                  f"{op}.sat.f32 %sat, %a, %b;\n{op}.rm.sat.f32 %rm, %a, %b;\n{op}.ftz.sat.f32 %ftz, %a, %b;",
                                  [values(f, r) for r in ("third third", "pi one", "-pi -one", "pi -pi", "nan one", "inf one", "-inf one", "inf -inf",
                                                          "half_ulp one", "one -half_ulp", "third -one")],
                                  lambda a, b, function=function: (function(f, a, b, sat=True), function(f, a, b, mode="rm", sat=True), function(f, a, b, ftz=True, sat=True))))
            write(f"float/{op}_{t}", *cases)

        extra = ["one third", "one pi", "pi one", "max sub", "sub max", "tiny big", "-tiny big", "one zero", "-one zero", "zero zero", "zero one",
                 "third odd", "odd third", "sub2 odd", "inf one", "one inf"]
        cases = [rounded(f, "div", 2, div, PAIRS + extra)]
        if f is F32:
            cases.append(case("div_ftz_f32", "a:f32 b:f32", "d:f32", "div.rn.ftz.f32 %d, %a, %b;",
                              [values(f, r) for r in ("sub one", "one sub", "-sub sub", "third pi", "tiny max", "inf sub")],
                              lambda a, b: div(f, a, b, ftz=True)))
        write(f"float/div_{t}", *cases)

        one = F32_VALUES["one"] if f is F32 else F64_VALUES["one"]
        singles = list(F32_VALUES) + ["-" + n for n in ("one", "third", "zero", "inf", "pi", "sub")]
        unary = [rounded(f, "rcp", 1, lambda f, a, mode: div(f, one, a, mode), singles)]
        unary.append(rounded(f, "sqrt", 1, sqrt, singles + ["big"]))
        if f is F32:
            unary.append(case("rcp_sqrt_ftz_f32", "a:f32", "rcp:f32 root:f32", "rcp.rn.ftz.f32 %rcp, %a;\nsqrt.rn.ftz.f32 %root, %a;",
                              [values(f, n) for n in ("sub", "-sub", "sub2", "one", "pi", "zero", "-zero")],
                              lambda a: (div(f, one, a, ftz=True), sqrt(f, a, ftz=True))))
        write(f"float/rcp_sqrt_{t}", *unary)

        signs = [values(f, n) for n in singles]
        cases = [case(f"abs_neg_{t}", f"a:{t}", f"abs_:{t} neg_:{t}", f"abs.{t} %abs_, %a;\nneg.{t} %neg_, %a;",
                      [s for s in signs if not f.is_nan(s[0])], lambda a: (a & ~f.sign, a ^ f.sign)),
                 case(f"copysign_{t}", f"a:{t} b:{t}", f"d:{t}", f"copysign.{t} %d, %a, %b;",
                      [values(f, r) for r in ("one -pi", "-one -pi", "-one zero", "pi -zero", "zero -inf", "-inf one")],
                      lambda a, b: b & ~f.sign | a & f.sign)]
        kinds = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
        cases.append(case(f"testp_{t}", f"a:{t}", " ".join(f"{k}:pred" for k in kinds), "\n".join(f"testp.{k}.{t} %{k}, %a;" for k in kinds),
                          [s for s in signs if not f.is_zero(s[0])],
                          lambda a: (not f.is_nan(a) and not f.is_inf(a), f.is_inf(a), not f.is_nan(a), f.is_nan(a),
                                     not (f.is_nan(a) or f.is_inf(a) or f.is_subnormal(a)), f.is_subnormal(a))))
        if f is F32:
            cases.append(case("abs_neg_ftz_f32", "a:f32", "abs_:f32 neg_:f32", "abs.ftz.f32 %abs_, %a;\nneg.ftz.f32 %neg_, %a;",
                              [values(f, n) for n in ("sub", "-sub", "sub2", "tiny", "-one")],
                              lambda a: (f.flush(a) & ~f.sign, f.flush(a) ^ f.sign)))
        write(f"float/sign_{t}", *cases)

        pairs = [values(f, r) for r in PAIRS + ["nan nan", "zero -zero", "-zero zero", "sub -sub", "one third"]]
        cases = []
        for op, largest in (("min", False), ("max", True)):
            if f is F64:
                cases.append(case(f"{op}_f64", "a:f64 b:f64", "d:f64", f"{op}.f64 %d, %a, %b;", pairs,
                                  lambda a, b, largest=largest: loose(f, minmax(f, a, b, largest))))
                continue
            cases.append(case(f"{op}_f32", "a:f32 b:f32", "d:f32 ftz:f32 nan_:f32 ftz_nan:f32",
                              f"{op}.f32 %d, %a, %b;\n{op}.ftz.f32 %ftz, %a, %b;\n{op}.NaN.f32 %nan_, %a, %b;\n{op}.ftz.NaN.f32 %ftz_nan, %a, %b;", pairs,
                              lambda a, b, largest=largest: tuple(minmax(f, a, b, largest, ftz=z, nan=n) for n in (False, True) for z in (False, True))))
            cases.append(case(f"{op}_xorsign_f32", "a:f32 b:f32", "d:f32", f"{op}.xorsign.abs.f32 %d, %a, %b;",
                              [p for p in pairs if not (f.is_nan(p[0]) or f.is_nan(p[1]))],
                              lambda a, b, largest=largest: minmax(f, a, b, largest, xorsign=True)))
        write(f"float/min_max_{t}", *cases)
    mad_cases()
    approximate()


def approximate():
    """Only results that the manual fixes: special values, and arguments whose results are exact."""
    inf, ninf, nan = 0x7F800000, 0xFF800000, 0x7FFFFFFF
    f32 = lambda *rows: [((a,), r) for a, r in rows]

    def table(entry, op, rows):
        wanted = {a: r for (a,), r in rows}
        return case(entry, "a:f32", "d:f32", f"{op} %d, %a;", [a for a, _ in rows], lambda a: wanted[a])
    one, two, half, four = 0x3F800000, 0x40000000, 0x3F000000, 0x40800000
    neg = 0x80000000
    write("float/approximate",
          table("rcp_approx_f32", "rcp.approx.f32", f32((one, one), (two, half), (neg | four, neg | 0x3E800000), (inf, 0), (ninf, neg), (0, inf), (neg, ninf), (NAN, nan),
                                                       (0x00800000, 0x7E800000), (0x7F000000, 0x00400000), (0x00400000, 0x7F000000))),
          table("rcp_approx_ftz_f32", "rcp.approx.ftz.f32", f32((two, half), (0x00400000, inf), (neg | 1, ninf), (inf, 0))),
          table("rsqrt_approx_f32", "rsqrt.approx.f32", f32((one, one), (four, half), (0x3E800000, two), (0, inf), (neg, ninf), (inf, 0), (ninf, nan), (neg | one, nan), (NAN, nan))),
          table("sqrt_approx_f32", "sqrt.approx.f32", f32((0, 0), (neg, neg), (inf, inf), (ninf, nan), (neg | one, nan), (NAN, nan))),
          table("ex2_approx_f32", "ex2.approx.f32", f32((0, one), (neg, one), (one, two), (neg | one, half), (0x41200000, 0x44800000), (inf, inf), (ninf, 0), (NAN, nan), (0x43000000, inf),
                                                       (0xC3160000, 0))),
          table("ex2_approx_ftz_f32", "ex2.approx.ftz.f32", f32((1, one), (neg | 1, one), (two, four), (0xC3160000, 0))),
          table("lg2_approx_f32", "lg2.approx.f32", f32((one, 0), (two, one), (half, 0xBF7FFFFE), (0x44800000, 0x41200000), (0, ninf), (neg, ninf), (inf, inf), (ninf, nan), (neg | one, nan), (NAN, nan))),
          table("sin_approx_f32", "sin.approx.f32", f32((0, 0), (neg, neg), (inf, nan), (ninf, nan), (NAN, nan))),
          table("cos_approx_f32", "cos.approx.f32", f32((0, one), (neg, one), (inf, nan), (ninf, nan), (NAN, nan))),
          table("tanh_approx_f32", "tanh.approx.f32", f32((0, 0), (neg, neg), (inf, one), (ninf, neg | one))),
          case("div_approx_f32", "a:f32 b:f32", "approx:f32 full:f32", "div.approx.f32 %approx, %a, %b;\ndiv.full.f32 %full, %a, %b;",
               [(one, two), (four, two), (neg | two, four), (0, one), (one, inf), (inf, two)],
               lambda a, b: (div(F32, a, b),) * 2))
