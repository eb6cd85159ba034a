"""Integer arithmetic, extended precision, bit fields, logic and shifts."""

from emit import case, write
from reference import clamp, mask, read, signed, truncated_div, width

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")
# Corner values as fractions of the range, so that every width gets its own.
PATTERNS = (0, 1, 2, 7, 0x1234567890ABCDEF, 0xFEDCBA9876543210, 0x8000000080008080, 0x00FF00FF00FF00FF)


def corners(w):
    top = 1 << (w - 1)
    return [0, 1, mask(w), top, top - 1, top + 1, 0x1234567890ABCDEF & mask(w), 0xFEDCBA9876543211 & mask(w)]


def pairs(w):
    c = corners(w)
    picks = [(0, 0), (1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (4, 1), (3, 3), (4, 4), (3, 4), (6, 7), (7, 6), (5, 3), (6, 6)]
    return [(c[i], c[j]) for i, j in picks]


def triples(w):
    c = corners(w)
    third = (0, 1, 2, 3, 4, 6, 7, 5, 2, 1, 0, 3, 4, 6)
    return [(a, b, c[k]) for (a, b), k in zip(pairs(w), third)]


def reg(t):
    return width(t)


def simple(op, types, function, arity=2, rows=None):
    """Cases `op_type` of an instruction `op.type` with operands of one type."""
    names = "abc"[:arity]
    out = []
    for t in types:
        w = width(t)
        values = rows(w) if rows else {1: lambda w: [(v,) for v in corners(w)], 2: pairs, 3: triples}[arity](w)
        out.append(case(f"{op.replace('.', '_')}_{t}", " ".join(f"{n}:{t}" for n in names), f"d:{t}",
                        f"{op}.{t} %d, {', '.join('%' + n for n in names)};", values,
                        lambda *v, t=t: function(t, *(read(t, x) for x in v))))
    return out


def add_sub():
    write("integer/add", *simple("add", TYPES, lambda t, a, b: a + b),
          case("add_sat_s32", "a:s32 b:s32", "d:s32", "add.sat.s32 %d, %a, %b;", pairs(32),
               lambda a, b: clamp(signed(a, 32) + signed(b, 32), "s32")),
          case("add_u16x2", "a:b32 b:b32", "d:b32", "add.u16x2 %d, %a, %b;", pairs(32),
               lambda a, b: (a + b & 0xFFFF) | ((a >> 16) + (b >> 16) & 0xFFFF) << 16),
          case("add_s16x2", "a:b32 b:b32", "d:b32", "add.s16x2 %d, %a, %b;", pairs(32),
               lambda a, b: (a + b & 0xFFFF) | ((a >> 16) + (b >> 16) & 0xFFFF) << 16))
    write("integer/sub", *simple("sub", TYPES, lambda t, a, b: a - b),
          case("sub_sat_s32", "a:s32 b:s32", "d:s32", "sub.sat.s32 %d, %a, %b;", pairs(32),
               lambda a, b: clamp(signed(a, 32) - signed(b, 32), "s32")))
    write("integer/immediate",
          case("immediates", "a:u32", "add:u32 neg:u32 hex:u32 bin:u32 oct:u32 expr:u32 uns:u32",
               """add.u32 %add, %a, 5;
               add.s32 %neg, %a, -7;
               and.b32 %hex, %a, 0xff00ff00;
               xor.b32 %bin, %a, 0b1010;
               or.b32 %oct, %a, 0777;
               add.u32 %expr, %a, 3 + 4 * (2 << 3) - 1;
               sub.u32 %uns, %a, 4000000000U;""",
               [0, 1, 0x80000000, 0xFFFFFFFF, 0x12345678],
               lambda a: (a + 5, a - 7, a & 0xFF00FF00, a ^ 10, a | 0o777, a + 66, a - 4000000000)))


def products():
    write("integer/mul_lo", *simple("mul.lo", TYPES, lambda t, a, b: a * b))
    write("integer/mul_hi", *simple("mul.hi", TYPES, lambda t, a, b: a * b >> width(t)))
    wide = [case(f"mul_wide_{t}", f"a:{t} b:{t}", f"d:{t[0]}{2 * width(t)}", f"mul.wide.{t} %d, %a, %b;", pairs(width(t)),
                 lambda a, b, t=t: read(t, a) * read(t, b)) for t in TYPES[:4]]
    write("integer/mul_wide", *wide)
    write("integer/mad", *simple("mad.lo", TYPES, lambda t, a, b, c: a * b + c, 3),
          *simple("mad.hi", TYPES, lambda t, a, b, c: (a * b >> width(t)) + c, 3),
          *[case(f"mad_wide_{t}", f"a:{t} b:{t} c:{t[0]}{2 * width(t)}", f"d:{t[0]}{2 * width(t)}",
                 f"mad.wide.{t} %d, %a, %b, %c;",
                 [(a, b, c) for (a, b), c in zip(pairs(width(t)), corners(2 * width(t)) * 2)],
                 lambda a, b, c, t=t: read(t, a) * read(t, b) + c) for t in TYPES[:4]],
          case("mad_hi_sat_s32", "a:s32 b:s32 c:s32", "d:s32", "mad.hi.sat.s32 %d, %a, %b, %c;", triples(32),
               lambda a, b, c: clamp((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32), "s32")))

    def low24(t, v):
        return signed(v, 24) if t == "s32" else v & mask(24)

    rows = [(1, 1), (0xFFFFFF, 0xFFFFFF), (0x800000, 2), (0x7FFFFF, 0x7FFFFF), (0xFF000003, 0xAB000005),
            (0x123456, 0x654321), (0xFFFFFF, 2), (0x800000, 0x800000)]
    cases = []
    for t in ("u32", "s32"):
        cases.append(case(f"mul24_{t}", f"a:{t} b:{t}", f"lo:{t} hi:{t}",
                          f"mul24.lo.{t} %lo, %a, %b;\nmul24.hi.{t} %hi, %a, %b;", rows,
                          lambda a, b, t=t: (low24(t, a) * low24(t, b), low24(t, a) * low24(t, b) >> 16)))
        cases.append(case(f"mad24_{t}", f"a:{t} b:{t} c:{t}", f"lo:{t} hi:{t}",
                          f"mad24.lo.{t} %lo, %a, %b, %c;\nmad24.hi.{t} %hi, %a, %b, %c;",
                          [r + (c,) for r, c in zip(rows, corners(32))],
                          lambda a, b, c, t=t: (low24(t, a) * low24(t, b) + c, (low24(t, a) * low24(t, b) >> 16) + c)))
    cases.append(case("mad24_hi_sat_s32", "a:s32 b:s32 c:s32", "d:s32", "mad24.hi.sat.s32 %d, %a, %b, %c;",
                      [(0x7FFFFF, 0x7FFFFF, 0x7FFFFFFF), (0x800000, 0x7FFFFF, 0x80000000), (0x400000, 0x100, 5),
                       (0x7FFFFF, 0x7FFFFF, 0x7FFFFFFF)],
                      lambda a, b, c: clamp((low24("s32", a) * low24("s32", b) >> 16) + signed(c, 32), "s32")))
    write("integer/mul24", *cases)


def quotients():
    def rows(w):
        c = corners(w)
        return [(c[i], c[j]) for i, j in ((0, 1), (1, 2), (2, 1), (3, 4), (4, 5), (6, 7), (7, 6), (3, 1), (2, 5), (6, 5))] + \
            [(1000 & mask(w), 7), (-1000 & mask(w), 7), (1000 & mask(w), -7 & mask(w)), (-1000 & mask(w), -7 & mask(w))]
    write("integer/div", *simple("div", TYPES, lambda t, a, b: truncated_div(a, b), rows=rows))
    write("integer/rem", *simple("rem", TYPES, lambda t, a, b: a - b * truncated_div(a, b), rows=rows))


def small():
    write("integer/abs_neg", *simple("abs", ("s16", "s32", "s64"), lambda t, a: abs(a), 1),
          *simple("neg", ("s16", "s32", "s64"), lambda t, a: -a, 1))
    packed = []
    for op, pick in (("min", min), ("max", max)):
        for t in ("u16x2", "s16x2"):
            def both(a, b, pick=pick, s=t[0] == "s"):
                lanes = [pick(signed(a >> k, 16) if s else a >> k & 0xFFFF, signed(b >> k, 16) if s else b >> k & 0xFFFF)
                         for k in (0, 16)]
                return (lanes[0] & 0xFFFF) | (lanes[1] & 0xFFFF) << 16
            packed.append(case(f"{op}_{t}", "a:b32 b:b32", "d:b32", f"{op}.{t} %d, %a, %b;",
                               pairs(32) + [(0x7FFF8000, 0x80007FFF), (0x0001FFFF, 0xFFFF0001)], both))
        packed.append(case(f"{op}_relu_s32", "a:s32 b:s32", "d:s32", f"{op}.relu.s32 %d, %a, %b;", pairs(32),
                           lambda a, b, pick=pick: max(0, pick(signed(a, 32), signed(b, 32)))))
    write("integer/min_max", *simple("min", TYPES, lambda t, a, b: min(a, b)),
          *simple("max", TYPES, lambda t, a, b: max(a, b)), *packed)
    write("integer/sad", *simple("sad", TYPES, lambda t, a, b, c: c + abs(a - b), 3))


def bits_():
    def one(op, w, f):
        return case(f"{op}_b{w}", f"a:b{w}", "d:u32" if op != "brev" else f"d:b{w}", f"{op}.b{w} %d, %a;",
                    corners(w) + [1 << (w // 2), 0x0F0F0F0F0F0F0F0F & mask(w)], f)
    write("integer/count", *[one("popc", w, lambda a: a.bit_count()) for w in (32, 64)],
          *[one("clz", w, lambda a, w=w: w - a.bit_length()) for w in (32, 64)],
          *[one("brev", w, lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2)) for w in (32, 64)])

    def bfind(t, a, shift):
        w = width(t)
        if a < 0:
            a = ~a
        if a == 0:
            return 0xFFFFFFFF
        return w - a.bit_length() if shift else a.bit_length() - 1
    write("integer/bfind", *[
        case(f"bfind_{t}", f"a:{t}", "d:u32 shift:u32", f"bfind.{t} %d, %a;\nbfind.shiftamt.{t} %shift, %a;",
             corners(width(t)) + [mask(width(t)) - 1, 0x10],
             lambda a, t=t: (bfind(t, read(t, a), False), bfind(t, read(t, a), True))) for t in ("u32", "s32", "u64", "s64")])

    def fns(m, base, offset):
        offset = signed(offset, 32)
        if offset == 0:
            return base if m >> base & 1 else 0xFFFFFFFF
        step = 1 if offset > 0 else -1
        left = abs(offset)
        while 0 <= base < 32:
            left -= m >> base & 1
            if left == 0:
                return base
            base += step
        return 0xFFFFFFFF
    write("integer/fns", case("fns", "m:b32 base:b32 offset:s32", "d:b32", "fns.b32 %d, %m, %base, %offset;",
                              [(0xAAAAAAAA, b, o) for b, o in ((3, 1), (3, -1), (2, 1), (2, -1), (0, 0), (1, 0), (0, 16), (0, 17), (31, -16), (31, -17))] +
                              [(0, 0, 1), (0xFFFFFFFF, 31, 1), (0xFFFFFFFF, 31, 2), (0x80000001, 0, 2), (0x80000001, 31, -2)], fns))

    fields = [(0, 0), (0, 1), (0, 8), (4, 8), (8, 0), (24, 8), (24, 16), (31, 1), (31, 5), (32, 4), (40, 3), (0, 32), (0, 64),
              (60, 8), (63, 1), (64, 1), (255, 255), (0, 255), (3, 61), (16, 16), (0x104, 0x208)]

    def field(w, pos, n):
        """Position and length count modulo 256 in 32 bits only (checked on an H200)."""
        return (pos, n) if w == 64 else (pos & 0xFF, n & 0xFF)

    def bfe(t, a, pos, n):
        w = width(t)
        pos, n = field(w, pos, n)
        sign = 0 if n == 0 or t[0] == "u" else a >> min(pos + n - 1, w - 1) & 1
        return sum((a >> pos + i & 1 if i < n and pos + i < w else sign) << i for i in range(w))
    write("integer/bfe", *[
        case(f"bfe_{t}", f"a:b{width(t)} pos:u32 len:u32", f"d:b{width(t)}", f"bfe.{t} %d, %a, %pos, %len;",
             [(a & mask(width(t)), p, n) for p, n in fields for a in ((0x8765432187654321,) if p % 2 else (0xF0E1D2C3B4A59687,))],
             lambda a, p, n, t=t: bfe(t, a, p, n)) for t in ("u32", "s32", "u64", "s64")])

    def bfi(w, a, b, pos, n):
        pos, n = field(w, pos, n)
        for i in range(min(n, w)):
            if pos + i < w:
                b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
        return b
    write("integer/bfi", *[
        case(f"bfi_b{w}", f"a:b{w} b:b{w} pos:u32 len:u32", f"d:b{w}", f"bfi.b{w} %d, %a, %b, %pos, %len;",
             [(0xA5A5A5A55A5A5A5A & mask(w), 0xFFFFFFFF00000000 >> (64 - w) // 2 & mask(w), p, n) for p, n in fields],
             lambda a, b, p, n, w=w: bfi(w, a, b, p, n)) for w in (32, 64)])

    def szext(t, wrap, a, n):
        if n >= 32 and not wrap:
            return a
        n &= 31
        if n == 0:
            return 0
        return signed(a & mask(n), n) if t == "s32" else a & mask(n)
    amounts = (0, 1, 7, 8, 16, 31, 32, 33, 40, 0xFFFFFFFF)
    write("integer/szext", *[
        case(f"szext_{t}", f"a:b32 n:u32", "clamp:b32 wrap:b32", f"szext.clamp.{t} %clamp, %a, %n;\nszext.wrap.{t} %wrap, %a, %n;",
             [(0x89ABCDEF, n) for n in amounts] + [(0x7654BA98, n) for n in amounts[1:6]],
             lambda a, n, t=t: (szext(t, False, a, n), szext(t, True, a, n))) for t in ("u32", "s32")])

    def bmsk(wrap, a, b):
        if wrap:
            a, b = a & 31, b & 31
        if a >= 32:
            return 0
        return mask(min(b, 32)) << a & mask(32)
    write("integer/bmsk", case("bmsk", "a:b32 b:b32", "clamp:b32 wrap:b32",
                               "bmsk.clamp.b32 %clamp, %a, %b;\nbmsk.wrap.b32 %wrap, %a, %b;",
                               [(1, 2), (0, 0), (0, 32), (0, 31), (4, 28), (4, 29), (31, 1), (31, 2), (32, 1), (33, 3), (5, 32), (5, 33), (0, 0xFFFFFFFF)],
                               lambda a, b: (bmsk(False, a, b), bmsk(True, a, b))))


def dots():
    def lanes(v, n, w, t):
        return [signed(v >> w * i, w) if t == "s32" else v >> w * i & mask(w) for i in range(n)]
    rows = [(0, 0, 0), (0x01020304, 0x05060708, 100), (0xFFFFFFFF, 0xFFFFFFFF, 0), (0x80808080, 0x80808080, 1),
            (0x7F7F7F7F, 0x80808080, 0xFFFFFFFF), (0x12F3E456, 0xA7B8091C, 0x7FFFFFFF), (0xFF00FF00, 0x00FF00FF, 0x80000000)]
    cases = []
    for at in ("u32", "s32"):
        for bt in ("u32", "s32"):
            cases.append(case(f"dp4a_{at}_{bt}", "a:b32 b:b32 c:b32", "d:b32", f"dp4a.{at}.{bt} %d, %a, %b, %c;", rows,
                              lambda a, b, c, at=at, bt=bt: c + sum(x * y for x, y in zip(lanes(a, 4, 8, at), lanes(b, 4, 8, bt)))))
            for half in ("lo", "hi"):
                cases.append(case(f"dp2a_{half}_{at}_{bt}", "a:b32 b:b32 c:b32", "d:b32", f"dp2a.{half}.{at}.{bt} %d, %a, %b, %c;", rows,
                                  lambda a, b, c, at=at, bt=bt, k=2 * (half == "hi"):
                                  c + sum(x * y for x, y in zip(lanes(a, 2, 16, at), lanes(b, 4, 8, bt)[k:k + 2]))))
    write("integer/dot_products", *cases)


def carries():
    cases = []
    for w in (32, 64):
        full = mask(2 * w)
        wide = [(0, 0), (1, full), (full, full), (mask(w), 1), (1 << w, 1 << w), (full >> 1, 1), (0x1234567890ABCDEF1122334455667788 & full, 0xFEDCBA98765432100FEDCBA987654321 & full)]
        rows = [(a & mask(w), a >> w, b & mask(w), b >> w) for a, b in wide]
        for name, sign in (("add", 1), ("sub", -1)):
            cases.append(case(f"{name}_{2 * w}", f"a0:u{w} a1:u{w} b0:u{w} b1:u{w}", f"d0:u{w} d1:u{w} carry:u{w}",
                              f"""{name}.cc.u{w} %d0, %a0, %b0;
                              {name}c.cc.u{w} %d1, %a1, %b1;
                              {name}c.u{w} %carry, 0, 0;""", rows,
                              lambda a0, a1, b0, b1, w=w, sign=sign: (
                                  lambda r: (r, r >> w, r >> 2 * w))((a0 | a1 << w) + sign * (b0 | b1 << w))))
            cases.append(case(f"{name}_{3 * w}_signed_tail", f"a0:u{w} a1:u{w} b0:u{w} b1:u{w}", f"d0:s{w} d1:s{w} d2:s{w}",
                              f"""{name}.cc.s{w} %d0, %a0, %b0;
                              {name}c.cc.s{w} %d1, %a1, %b1;
                              {name}c.s{w} %d2, %a0, %b1;""", rows,
                              lambda a0, a1, b0, b1, w=w, sign=sign: (
                                  lambda r: (r, r >> w, r >> 2 * w))((a0 | a1 << w | a0 << 2 * w) + sign * (b0 | b1 << w | b1 << 2 * w))))
        rows = [(a, b, c, c ^ mask(w)) for a, b, c in triples(w)]
        cases.append(case(f"mad_cc_{w}", f"a:u{w} b:u{w} c0:u{w} c1:u{w}", f"lo:u{w} hi:u{w} carry:u{w}",
                          f"""mad.lo.cc.u{w} %lo, %a, %b, %c0;
                          madc.hi.cc.u{w} %hi, %a, %b, %c1;
                          addc.u{w} %carry, 0, 0;""", rows,
                          lambda a, b, c0, c1, w=w: (lambda r: (r, r >> w, r >> 2 * w))(a * b + (c0 | c1 << w))))
        cases.append(case(f"madc_lo_{w}", f"a:u{w} b:u{w} c0:u{w} c1:u{w}", f"d:u{w} hi:u{w}",
                          f"""{{
                          .reg .b{w} %t;
                          mad.hi.cc.u{w} %t, %a, %b, %c0;
                          madc.lo.cc.u{w} %d, %a, %b, %c1;
                          madc.hi.u{w} %hi, %a, %a, 0;
                          }}""", rows,
                          lambda a, b, c0, c1, w=w: (lambda s: (s, (a * a >> w) + (s >> w)))(
                              (a * b & mask(w)) + c1 + ((a * b >> w) + c0 >> w))))
    write("integer/carry", *cases)


def logic():
    cases = []
    for w in (16, 32, 64):
        cases.append(case(f"logic_b{w}", f"a:b{w} b:b{w}", f"and_:b{w} or_:b{w} xor_:b{w} not_:b{w} cnot_:b{w}",
                          f"and.b{w} %and_, %a, %b;\nor.b{w} %or_, %a, %b;\nxor.b{w} %xor_, %a, %b;\nnot.b{w} %not_, %a;\ncnot.b{w} %cnot_, %a;",
                          pairs(w), lambda a, b: (a & b, a | b, a ^ b, ~a, a == 0)))
    cases.append(case("logic_pred", "a:u32 b:u32", "and_:pred or_:pred xor_:pred not_:pred",
                      """setp.ne.u32 %p, %a, 0;
                      setp.ne.u32 %q, %b, 0;
                      and.pred %and_, %p, %q;
                      or.pred %or_, %p, %q;
                      xor.pred %xor_, %p, %q;
                      not.pred %not_, %p;""",
                      [(0, 0), (0, 1), (1, 0), (1, 1)], lambda a, b: (a & b, a | b, a ^ b, 1 - a), scratch=".reg .pred %p, %q;"))
    write("logic/and_or_xor_not", *cases)

    def lop3(table, a, b, c):
        return sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))
    tables = (0x00, 0x80, 0xFE, 0x96, 0xCA, 0xE8, 0x1A, 0xFF)
    body = "\n".join(f"lop3.b32 %t{t:02x}, %a, %b, %c, 0x{t:02x};" for t in tables)
    rows = [(0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA), (0x12345678, 0x9ABCDEF0, 0x0F1E2D3C), (0, 0xFFFFFFFF, 0x55555555)]
    write("logic/lop3",
          case("lop3", "a:b32 b:b32 c:b32", " ".join(f"t{t:02x}:b32" for t in tables), body, rows,
               lambda a, b, c: tuple(lop3(t, a, b, c) for t in tables)),
          case("lop3_bool", "a:b32 b:b32 c:b32 q:u32", "d:b32 p_or:pred p_and:pred",
               """setp.ne.u32 %in, %q, 0;
               lop3.or.b32 %d|%p_or, %a, %b, %c, 0x96, %in;
               lop3.and.b32 _|%p_and, %a, %b, %c, 0x80, !%in;""",
               [r + (q,) for r in rows + [(1, 1, 0), (0, 0, 0)] for q in (0, 1)],
               lambda a, b, c, q: (a ^ b ^ c, a ^ b ^ c != 0 or q, a & b & c != 0 and not q), scratch=".reg .pred %in;"))


def shifts():
    amounts = (0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 0x80000000, 0xFFFFFFFF)
    cases = []
    for w in (16, 32, 64):
        value = 0x9234567890ABCDE7 >> (64 - w)
        cases.append(case(f"shift_b{w}", f"a:b{w} n:u32", f"shl:b{w} shr_u:b{w} shr_s:b{w} shr_b:b{w}",
                          f"shl.b{w} %shl, %a, %n;\nshr.u{w} %shr_u, %a, %n;\nshr.s{w} %shr_s, %a, %n;\nshr.b{w} %shr_b, %a, %n;",
                          [(value, n) for n in amounts] + [(value >> 1, 3), (value >> 1, 200)],
                          lambda a, n, w=w: (a << min(n, w), a >> min(n, w), signed(a, w) >> min(n, w), a >> min(n, w))))
    write("logic/shift", *cases)

    def shf(left, wrap, a, b, c):
        n = c & 31 if wrap else min(c, 32)
        both = b << 32 | a
        return both << n >> 32 if left else both >> n
    body = "\n".join(f"shf.{d}.{m}.b32 %{d}_{m}, %a, %b, %c;" for d in "lr" for m in ("clamp", "wrap"))
    write("logic/funnel_shift",
          case("shf", "a:b32 b:b32 c:u32", " ".join(f"{d}_{m}:b32" for d in "lr" for m in ("clamp", "wrap")), body,
               [(0x89ABCDEF, 0x01234567, n) for n in (0, 1, 4, 16, 31, 32, 33, 48, 63, 64, 0xFFFFFFFF)],
               lambda a, b, c: tuple(shf(d == "l", m == "wrap", a, b, c) for d in "lr" for m in ("clamp", "wrap"))))

    def prmt(a, b, c):
        source = b << 32 | a
        out = 0
        for k in range(4):
            pick = c >> 4 * k & 15
            byte = source >> 8 * (pick & 7) & 0xFF
            out |= (0xFF * (byte >> 7) if pick & 8 else byte) << 8 * k
        return out
    modes = {"f4e": lambda s, k: s + k, "b4e": lambda s, k: (s - k) % 8, "rc8": lambda s, k: s, "ecl": lambda s, k: max(s, k),
             "ecr": lambda s, k: min(s, k), "rc16": lambda s, k: 2 * (s & 1) + (k & 1)}

    def special(mode, a, b, c):
        source = b << 32 | a
        return sum((source >> 8 * modes[mode](c & 3, k) & 0xFF) << 8 * k for k in range(4))
    write("logic/prmt",
          case("prmt", "a:b32 b:b32 c:b32", "d:b32", "prmt.b32 %d, %a, %b, %c;",
               [(0x83C28180, 0x47C60544, c) for c in (0x3210, 0x7654, 0x0123, 0x4567, 0x5140, 0x8888, 0xFEDC, 0xBA98, 0x0F0F, 0xFFFF3210, 0x7777)], prmt),
          case("prmt_modes", "a:b32 b:b32 c:b32", " ".join(f"{m}:b32" for m in modes),
               "\n".join(f"prmt.b32.{m} %{m}, %a, %b, %c;" for m in modes),
               [(0x03020100, 0x07060504, c) for c in (0, 1, 2, 3, 4, 0xFFFFFFFE)],
               lambda a, b, c: tuple(special(m, a, b, c) for m in modes)))


def all_():
    for f in (add_sub, products, quotients, small, bits_, dots, carries, logic, shifts):
        f()
