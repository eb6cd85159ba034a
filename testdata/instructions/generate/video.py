"""The video instructions: scalar ones on selected bytes and halves, packed ones on two halves or four bytes.

sm_90 has no video unit. Where the manual's pseudocode and what an H200 does differ, these follow the device: see
`numerics/src/video.rs`, which lists the differences."""

from emit import case, write
from reference import clamp, mask, signed

ROWS = [(0, 0, 0), (0x01020304, 0x05060708, 100), (0xFFFFFFFF, 1, 0x7FFFFFFF), (0x80008000, 0x7FFF7FFF, 0x80000000), (0x80FF7F01, 0x7F80FF02, 5),
        (0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), (0x12F3E456, 0xA7B8091C, 0x55667788), (0x80000000, 0x80000000, 1)]
OPS = {
    "vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min, "vmax": max,
    "vavrg": lambda a, b: a + b + (a + b >= 0) >> 1,
}


def part(v, t, select):
    """A selected byte, half or word of a register, extended by its type."""
    w = {"": 32, "b": 8, "h": 16}[select[:1]]
    v = v >> w * int(select[1:] or 0) & mask(w)
    return signed(v, w) if t == "s32" else v


def merge(select, value, c):
    w = {"b": 8, "h": 16}[select[0]]
    at = w * int(select[1:])
    if select == "h1":
        value >>= 16  # the upper half of the result, not the lower
    return (value & mask(w)) << at | c & ~(mask(w) << at)


def saturate(value, t, select=""):
    return clamp(value, t[0] + str({"": 32, "b": 8, "h": 16}[select[:1]]))


def dotted(s):
    return f".{s}" if s else ""


def scalar(op, d, a, b, asel="", bsel="", dsel="", sat=False, second="", function=None, extra=""):
    """One case: op.d.a.b with selectors, saturation, a secondary operation or a merge."""
    function = function or OPS[op]
    types = f".{d}.{a}.{b}"
    name = "_".join(x for x in (op, d, a, b, extra.strip("."), "sat" * sat, second, dsel and "d" + dsel, asel and "a" + asel, bsel and "b" + bsel) if x)
    c = ", %c" if second or dsel else ""
    text = f"{op}{types}{'.sat' * sat}{extra}{dotted(second)} %d{dotted(dsel)}, %a{dotted(asel)}, %b{dotted(bsel)}{c};"

    def evaluate(x, y, z):
        t = function(part(x, a, asel), part(y, b, bsel))
        if sat and extra and dsel:
            t = saturate(signed(t & mask(34), 34), d)
        elif sat and dsel:
            t = saturate(t if t >= 0 else 1 << 32, d, dsel)
        elif sat and d == "u32" and not extra:
            t = max(t, 0)
        elif sat:
            t = saturate(t, d)
        if second in ("min", "max"):
            t = signed(t & mask(32), 32) if op in ("vadd", "vsub") else t
            z = signed(z, 32) if d == "s32" else z
            t = t if d == "s32" else t & mask(64)
        if second:
            return {"add": t + z, "min": min(t, z), "max": max(t, z)}[second]
        return merge(dsel, t, z) if dsel else t
    return case(name, "a:b32 b:b32 c:b32", "d:b32", text, ROWS, evaluate)


def scalars():
    cases = []
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        cases += [scalar(op, "s32", "s32", "s32"), scalar(op, "u32", "u32", "u32", sat=True), scalar(op, "s32", "u32", "s32", sat=True),
                  scalar(op, "s32", "s32", "u32", "b0", "h1", sat=True), scalar(op, "u32", "s32", "s32", "h1", "b3", dsel="b2", sat=True),
                  scalar(op, "s32", "s32", "s32", "b1", "b2", dsel="h1"), scalar(op, "s32", "s32", "s32", "h0", "h1", second="add", sat=True),
                  scalar(op, "s32", "s32", "s32", "b3", "b3", second="min"), scalar(op, "u32", "u32", "u32", "b0", "b0", second="max")]
    write("video/scalar", *cases)

    cases = []
    for op, shift in (("vshl", lambda a, n: a << n), ("vshr", lambda a, n: a >> n)):
        for mode in ("clamp", "wrap"):
            def function(a, n, shift=shift, mode=mode):
                return shift(a, n & 31 if mode == "wrap" else min(n, 32))
            for d, a, asel, bsel, k in (("u32", "u32", "", "b0", {}), ("s32", "s32", "h1", "b1", {}), ("u32", "u32", "b0", "b0", dict(sat=True, dsel="h0")),
                                        ("s32", "s32", "b3", "b2", dict(second="add"))):
                cases.append(scalar(op, d, a, "u32", asel, bsel, function=function, extra="." + mode, **k))
    write("video/shift", *cases)

    cases = []
    compare = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    for cmp, f in compare.items():
        for a, b, asel, bsel in (("s32", "s32", "b0", "b1"), ("u32", "s32", "h0", "h1")):
            cases.append(case(f"vset_{cmp}_{a}_{b}", "a:b32 b:b32 c:b32", "d:b32 m:b32 s:b32",
                              f"vset.{a}.{b}.{cmp} %d, %a.{asel}, %b.{bsel};\nvset.{a}.{b}.{cmp} %m.b2, %a.{asel}, %b.{bsel}, %c;\nvset.{a}.{b}.{cmp}.add %s, %a.{asel}, %b.{bsel}, %c;",
                              ROWS, lambda x, y, z, f=f, a=a, b=b, asel=asel, bsel=bsel: (lambda t: (t, merge("b2", t, z), t + z))(int(f(part(x, a, asel), part(y, b, bsel))))))
    write("video/vset", *cases)

    def vmad(a, b, c, at, bt, asel, bsel, negate="", po=False, sat=False, scale=0):
        """negate: letters of the negated operands."""
        flip = ("a" in negate) != ("b" in negate)
        final_signed = "s32" in (at, bt) or flip or "c" in negate
        word = lambda v, t, select: part(v, t if select else "s32", select)
        t = word(a, at, asel) * word(b, bt, bsel)
        c = signed(c, 32)
        t = -t if flip else t
        t += -c if "c" in negate and not flip else c
        t = t + po >> scale
        return clamp(t, "s32" if final_signed else "u32") if sat else t
    cases = []
    forms = [("s32", "s32", "", "", {}), ("u32", "u32", "h0", "h1", {}), ("s32", "u32", "b0", "b3", dict(sat=True)), ("u32", "u32", "", "", dict(sat=True)),
             ("s32", "s32", "h1", "h0", dict(scale=7)), ("s32", "s32", "h1", "h0", dict(scale=15, sat=True)), ("u32", "u32", "b1", "b2", dict(po=True)),
             ("s32", "s32", "b1", "b2", dict(negate="a")), ("s32", "s32", "h1", "b2", dict(negate="c", sat=True))]
    for k, (at, bt, asel, bsel, o) in enumerate(forms):
        sign = lambda n: "-" if n in o.get("negate", "") else ""
        dtype = "s32" if "s32" in (at, bt) else "u32"
        text = (f"vmad.{dtype}.{at}.{bt}{'.po' * o.get('po', False)}{'.sat' * o.get('sat', False)}{'.shr%d' % o['scale'] if 'scale' in o else ''} "
                f"%d, {sign('a')}%a{dotted(asel)}, {sign('b')}%b{dotted(bsel)}, {sign('c')}%c;")
        cases.append(case(f"vmad_{k}", "a:b32 b:b32 c:b32", "d:b32", text, ROWS,
                          lambda a, b, c, at=at, bt=bt, asel=asel, bsel=bsel, o=o: vmad(a, b, c, at, bt, asel, bsel, **o)))
    write("video/vmad", *cases)


def packed_case(op, n, d, a, b, asel="", bsel="", dmask="", sat=False, accumulate=False, compare=""):
    w = 32 // n
    letter = {2: "h", 4: "b"}[n]
    a_lanes = [int(x) for x in reversed(asel)] if asel else list(range(n))
    b_lanes = [int(x) for x in reversed(bsel)] if bsel else list(range(n, 2 * n))
    chosen = [int(x) for x in dmask] if dmask else list(range(n))
    dtypes = "" if compare else f".{d}"
    name = "_".join(x for x in (f"{op}{n}", compare, d, a, b, "sat" * sat, "add" * accumulate, asel and "a" + asel, bsel and "b" + bsel, dmask and "d" + dmask) if x)
    sel = lambda s: f".{letter}{s}" if s else ""
    text = (f"{op}{n}{dtypes}.{a}.{b}{dotted(compare)}{'.sat' * sat}{'.add' * accumulate} %d{sel(dmask)}, %a{sel(asel)}, %b{sel(bsel)}, %c;")

    def evaluate(x, y, z):
        source = y << 32 | x
        pick = lambda k, t: (lambda v: signed(v, w) if t == "s32" else v)(source >> w * k & mask(w))
        lanes = []
        for i in range(n):
            p, q = pick(a_lanes[i], a), pick(b_lanes[i], b)
            t = {"eq": p == q, "lt": p < q, "ge": p >= q, "ne": p != q}[compare] if compare else OPS[op](p, q)
            lanes.append(clamp(t, f"{d[0]}{w}") if sat else int(t))
        if accumulate:
            return z + sum(lanes[i] for i in chosen)
        return sum((lanes[i] if i in chosen else z >> w * i) % (1 << w) << w * i for i in range(n))
    return case(name, "a:b32 b:b32 c:b32", "d:b32", text, ROWS, evaluate)


def all_():
    scalars()
    cases = []
    for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
        cases += [packed_case(op, 2, "s32", "s32", "s32"), packed_case(op, 2, "u32", "u32", "u32", sat=True), packed_case(op, 2, "s32", "u32", "s32", "03", "21", dmask="1", sat=True),
                  packed_case(op, 2, "u32", "u32", "u32", accumulate=True)]
    write("video/packed_halves", *cases)
    cases = []
    for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
        cases += [packed_case(op, 4, "s32", "s32", "s32", sat=True), packed_case(op, 4, "u32", "u32", "u32"), packed_case(op, 4, "u32", "s32", "u32", "0437", "2516", dmask="20"),
                  packed_case(op, 4, "s32", "s32", "s32", accumulate=True, dmask="321")]
    write("video/packed_bytes", *cases)
    cases = []
    for cmp in ("eq", "lt", "ge", "ne"):
        cases += [packed_case("vset", 2, "u32", "s32", "s32", compare=cmp), packed_case("vset", 4, "u32", "u32", "u32", compare=cmp, dmask="310"),
                  packed_case("vset", 4, "u32", "s32", "u32", compare=cmp, accumulate=True)]
    write("video/packed_vset", *cases)
