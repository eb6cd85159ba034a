"""f16 and bf16 arithmetic, single and packed."""

from emit import case, write
from reference import BF16, F16, add, compare_floats, fma, minmax, mul

VALUES = {
    F16: dict(one=0x3C00, odd=0x3C01, tiny=0x0400, sub=0x0001, sub2=0x03FF, max=0x7BFF, inf=0x7C00, nan=0x7E55, third=0x3555, half_ulp=0x1000,
              pi=0x4248, big=0x6801, zero=0),
    BF16: dict(one=0x3F80, odd=0x3F81, tiny=0x0080, sub=0x0001, sub2=0x007F, max=0x7F7F, inf=0x7F80, nan=0x7FC5, third=0x3EAB, half_ulp=0x3B80,
               pi=0x4049, big=0x4381, zero=0),
}
PAIRS = ["one half_ulp", "odd half_ulp", "-one half_ulp", "third third", "pi pi", "-pi third", "max max", "max -max", "big one", "tiny -sub", "sub sub",
         "sub2 odd", "tiny third", "zero -zero", "-zero -zero", "one -one", "inf one", "inf -inf", "inf zero", "nan one", "one nan", "nan nan", "-one third"]
TRIPLES = ["one one half_ulp", "odd odd -one", "third pi -one", "-third pi one", "max pi -max", "pi sub sub", "tiny third sub", "zero one -zero",
           "-zero one -zero", "inf one -inf", "inf zero one", "nan one one", "one one nan", "big odd -big", "max max -inf", "-one pi third", "sub2 one tiny"]


def values(f, row):
    return tuple(VALUES[f][n.lstrip("-")] | (f.sign if n[0] == "-" else 0) for n in row.split())


def pack(low, high):
    return low | high << 16


def packed(function):
    """Applies a 16-bit operation to both halves."""
    return lambda *v: pack(function(*(x & 0xFFFF for x in v)), function(*(x >> 16 for x in v)))


def packed_rows(f, rows):
    """Pairs each row with the one after the next, so that both halves differ."""
    return [tuple(pack(a, b) for a, b in zip(values(f, r), values(f, rows[(k + 2) % len(rows)]))) for k, r in enumerate(rows)]


def both(op, f, arity, forms, rows, label=""):
    """A scalar and a packed case; forms are (column, modifiers, function)."""
    names = "abc"[:arity]
    operands = ", ".join("%" + n for n in names)
    n = f.name
    entry = f"{op}_{label}_{n}" if label else f"{op}_{n}"
    scalar = case(entry, " ".join(f"{x}:{n}" for x in names), " ".join(f"{c}:{n}" for c, _, _ in forms),
                  "\n".join(f"{op}{m}.{n} %{c}, {operands};" for c, m, _ in forms), [values(f, r) for r in rows],
                  lambda *v: tuple(g(f, *v) for _, _, g in forms))
    double = case(f"{entry}x2", " ".join(f"{x}:b32" for x in names), " ".join(f"{c}:b32" for c, _, _ in forms),
                  "\n".join(f"{op}{m}.{n}x2 %{c}, {operands};" for c, m, _ in forms), packed_rows(f, rows),
                  lambda *v: tuple(packed(lambda *w: g(f, *w))(*v) for _, _, g in forms))
    return [scalar, double]


def sub(f, a, b, **k):
    return add(f, a, b, subtract=True, **k)


def with_(function, **k):
    return lambda f, *v: function(f, *v, **k)


def all_():
    for f in (F16, BF16):
        n = f.name
        for op, function in (("add", add), ("sub", sub), ("mul", mul)):
            forms = [("d", "", function), ("rn", ".rn", function)]
            if f is F16:
                forms.append(("ftz", ".ftz", with_(function, ftz=True)))
            cases = both(op, f, 2, forms, PAIRS)
            if f is F16:
                cases += both(op, f, 2, [("d", ".sat", with_(function, sat=True))], [p for p in PAIRS if "zero" not in p], "sat")
            write(f"half/{op}_{n}", *cases)
        forms, clamped = [("d", ".rn", fma)], [("relu", ".rn.relu", with_(fma, relu=True))]
        if f is F16:
            forms.append(("ftz", ".rn.ftz", with_(fma, ftz=True)))
            clamped.append(("sat", ".rn.sat", with_(fma, sat=True)))
        # What a negative zero becomes under .sat and .relu is not said.
        write(f"half/fma_{n}", *both("fma", f, 3, forms, TRIPLES),
              *both("fma", f, 3, clamped, [t for t in TRIPLES if "zero" not in t], "clamped"))
        pairs = PAIRS + ["zero sub", "-sub sub", "-zero zero"]
        cases = []
        for op, largest in (("min", False), ("max", True)):
            forms = [("d", "", with_(minmax, largest=largest)), ("nan_", ".NaN", with_(minmax, largest=largest, nan=True))]
            if f is F16:
                forms.append(("ftz", ".ftz", with_(minmax, largest=largest, ftz=True)))
            cases += both(op, f, 2, forms, pairs)
            cases += both(op, f, 2, [("d", ".xorsign.abs", with_(minmax, largest=largest, xorsign=True))], [p for p in pairs if "nan" not in p],
                          "xorsign")
        write(f"half/min_max_{n}", *cases)
        numbers = [k for k in VALUES[f] if k != "nan"]
        cases = both("neg", f, 1, [("d", "", lambda f, a: a ^ f.sign)], numbers)
        cases += both("abs", f, 1, [("d", "", lambda f, a: a & ~f.sign)], ["-" + k for k in numbers])
        write(f"half/abs_neg_{n}", *cases)

        compares = ("eq", "lt", "ge", "neu", "ltu", "num", "nan")
        cases = [case(f"setp_{n}", f"a:{n} b:{n}", " ".join(f"{c}_:pred" for c in compares),
                      "\n".join(f"setp.{c}.{n} %{c}_, %a, %b;" for c in compares), [values(f, r) for r in pairs],
                      lambda a, b: tuple(compare_floats(c, f, a, b) for c in compares)),
                 case(f"setp_{n}x2", "a:b32 b:b32", "low:pred high:pred low_and:pred high_and:pred",
                      f"""setp.lt.{n}x2 %low|%high, %a, %b;
                      setp.ge.and.{n}x2 %low_and|%high_and, %a, %b, %low;""", packed_rows(f, pairs),
                      lambda a, b: (lambda l, h, gl, gh: (l, h, gl and l, gh and l))(
                          *(compare_floats("lt", f, a >> k & 0xFFFF, b >> k & 0xFFFF) for k in (0, 16)),
                          *(compare_floats("ge", f, a >> k & 0xFFFF, b >> k & 0xFFFF) for k in (0, 16)))),
                 case(f"set_{n}", f"a:{n} b:{n}", f"f:{n} h:u16 w:u32",
                      f"set.le.{n}.{n} %f, %a, %b;\nset.gtu.u16.{n} %h, %a, %b;\nset.eq.u32.{n} %w, %a, %b;", [values(f, r) for r in pairs],
                      lambda a, b: (VALUES[f]["one"] if compare_floats("le", f, a, b) else 0, 0xFFFF if compare_floats("gtu", f, a, b) else 0,
                                    0xFFFFFFFF if compare_floats("eq", f, a, b) else 0)),
                 case(f"set_{n}x2", "a:b32 b:b32", "f:b32 w:b32", f"set.le.{n}x2.{n}x2 %f, %a, %b;\nset.neu.u32.{n}x2 %w, %a, %b;", packed_rows(f, pairs),
                      lambda a, b: (packed(lambda x, y: VALUES[f]["one"] if compare_floats("le", f, x, y) else 0)(a, b),
                                    packed(lambda x, y: 0xFFFF if compare_floats("neu", f, x, y) else 0)(a, b)))]
        write(f"half/compare_{n}", *cases)
