"""setp, set, selp and slct."""

from emit import case, write
from floats import PAIRS, values
from integer import pairs
from reference import COMPARISONS, F32, F64, UNORDERED, compare_floats, compare_numbers, read, width


def all_():
    cases = []
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        ops = COMPARISONS + (("lo", "ls", "hi", "hs") if t[0] == "u" else ())
        cases.append(case(f"setp_{t}", f"a:{t} b:{t}", " ".join(f"{o}_:pred" for o in ops), "\n".join(f"setp.{o}.{t} %{o}_, %a, %b;" for o in ops),
                          pairs(width(t)), lambda a, b, t=t, ops=ops: tuple(compare_numbers(o, read(t, a), read(t, b)) for o in ops)))
    for w in (16, 32, 64):
        cases.append(case(f"setp_b{w}", f"a:b{w} b:b{w}", "eq_:pred ne_:pred", f"setp.eq.b{w} %eq_, %a, %b;\nsetp.ne.b{w} %ne_, %a, %b;", pairs(w)[:6],
                          lambda a, b: (a == b, a != b)))
    # The second destination combines the complement of the comparison with the same predicate.
    combined = ("and", "or", "xor")
    fold = {"and": lambda t, c: t and c, "or": lambda t, c: t or c, "xor": lambda t, c: t != c}
    body = "setp.ne.u32 %in, %c, 0;\n" + "\n".join(f"setp.lt.{b}.s32 %p_{b}|%q_{b}, %a, %b, %in;\nsetp.lt.{b}.s32 %n_{b}, %a, %b, !%in;" for b in combined)
    cases.append(case("setp_combined", "a:s32 b:s32 c:u32", " ".join(f"{x}_{b}:pred" for b in combined for x in "pqn"), body,
                      [(a, b, c) for a, b in ((1, 2), (2, 1), (1, 1)) for c in (0, 1)],
                      lambda a, b, c: tuple(fold[o](x, y) for o in combined for x, y in ((a < b, bool(c)), (not a < b, bool(c)), (a < b, not c))),
                      scratch=".reg .pred %in;"))
    write("compare/setp_integer", *cases)

    ops = COMPARISONS + UNORDERED + ("num", "nan")
    cases = []
    rows = PAIRS + ["zero sub", "-sub sub", "nan nan", "one one", "-one -one", "-inf max"]
    for f in (F32, F64):
        t = f.name
        cases.append(case(f"setp_{t}", f"a:{t} b:{t}", " ".join(f"{o}_:pred" for o in ops), "\n".join(f"setp.{o}.{t} %{o}_, %a, %b;" for o in ops),
                          [values(f, r) for r in rows], lambda a, b: tuple(compare_floats(o, f, a, b) for o in ops)))
    cases.append(case("setp_ftz_f32", "a:f32 b:f32", "eq_:pred lt_:pred neu_:pred", "setp.eq.ftz.f32 %eq_, %a, %b;\nsetp.lt.ftz.f32 %lt_, %a, %b;\nsetp.neu.ftz.f32 %neu_, %a, %b;",
                      [values(F32, r) for r in ("sub zero", "zero sub", "-sub sub", "sub2 tiny", "-tiny -sub", "nan sub", "one one")],
                      lambda a, b: tuple(compare_floats(o, F32, a, b, ftz=True) for o in ("eq", "lt", "neu"))))
    write("compare/setp_float", *cases)

    one, ones = 0x3F800000, 0xFFFFFFFF
    cases = [case("set_s32", "a:s32 b:s32", "u:u32 s:s32 f:f32", "set.lt.u32.s32 %u, %a, %b;\nset.ge.s32.s32 %s, %a, %b;\nset.ne.f32.s32 %f, %a, %b;", pairs(32),
                  lambda a, b: (lambda x, y: (ones * (x < y), ones * (x >= y), one * (x != y)))(read("s32", a), read("s32", b))),
             case("set_u64", "a:u64 b:u64", "u:u32 f:f32", "set.hi.u32.u64 %u, %a, %b;\nset.ls.f32.u64 %f, %a, %b;", pairs(64), lambda a, b: (ones * (a > b), one * (a <= b))),
             case("set_f32", "a:f32 b:f32", "u:u32 f:f32 unordered:u32", "set.lt.u32.f32 %u, %a, %b;\nset.ge.f32.f32 %f, %a, %b;\nset.gtu.ftz.u32.f32 %unordered, %a, %b;",
                  [values(F32, r) for r in rows], lambda a, b: (ones * compare_floats("lt", F32, a, b), one * compare_floats("ge", F32, a, b), ones * compare_floats("gtu", F32, a, b, ftz=True))),
             case("set_f64_and", "a:f64 b:f64 c:u32", "u:u32 n:f32", "setp.ne.u32 %in, %c, 0;\nset.le.and.u32.f64 %u, %a, %b, %in;\nset.le.xor.f32.f64 %n, %a, %b, !%in;",
                  [values(F64, r) + (c,) for r in ("one pi", "pi one", "nan one", "zero -zero") for c in (0, 1)],
                  lambda a, b, c: (ones * bool(compare_floats("le", F64, a, b) and c), one * (compare_floats("le", F64, a, b) != (not c))), scratch=".reg .pred %in;")]
    write("compare/set", *cases)

    cases = [case(f"selp_{t}", f"a:{t} b:{t} c:u32", f"d:{t} n:{t}", f"setp.ne.u32 %in, %c, 0;\nselp.{t} %d, %a, %b, %in;\nselp.{t} %n, %a, %b, !%in;",
                  [p + (c,) for p in pairs(width(t))[1:4] for c in (0, 1)], lambda a, b, c: (a if c else b, b if c else a), scratch=".reg .pred %in;")
             for t in ("b16", "s16", "u32", "b32", "s64", "b64")]
    cases += [case(f"selp_{t}", f"a:{t} b:{t} c:u32", f"d:{t}", f"setp.ne.u32 %in, %c, 0;\nselp.{t} %d, %a, %b, %in;",
                   [values(f, r) + (c,) for r in ("nan snan", "-zero sub") for c in (0, 1)], lambda a, b, c: a if c else b, scratch=".reg .pred %in;")
              for f, t in ((F32, "f32"), (F64, "f64"))]
    write("compare/selp", *cases)

    signs = [0, 1, -1 & 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000]
    cases = [case(f"slct_{t}", f"a:{t} b:{t} c:s32", f"d:{t}", f"slct.{t}.s32 %d, %a, %b, %c;", [(1, 2, c) for c in signs], lambda a, b, c: b if c >> 31 else a) for t in ("u16", "b32", "s64")]
    table = ["zero", "-zero", "one", "-one", "sub", "-sub", "nan", "inf", "-inf"]
    nonnegative = lambda c, ftz: compare_floats("ge", F32, c, 0, ftz)
    cases.append(case("slct_float", "a:u32 b:u32 c:f32", "d:u32 ftz:u32", "slct.u32.f32 %d, %a, %b, %c;\nslct.ftz.u32.f32 %ftz, %a, %b, %c;",
                      [(10, 20) + values(F32, r) for r in table], lambda a, b, c: (a if nonnegative(c, False) else b, a if nonnegative(c, True) else b)))
    write("compare/slct", *cases)
