"""Matrix instructions on small integers, so that every sum is exact in every type; and moves of matrices.

Layouts are the formulas of the manual (9.7.14.5 and 9.7.14.6), each written out for its shape, and know
nothing of the simulator's.
"""

import pathlib
import random
import struct

HERE = pathlib.Path(__file__).resolve().parent.parent / "matrix"
HEAD = """// Written by ../generate/generate.py.
.version 9.0
.target sm_90
.address_size 64
"""


def f16(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def e4m3(x):
    if x == 0:
        return 0
    exponent = abs(x).bit_length() - 1
    fraction = (abs(x) << 3 >> exponent) & 7
    return (x < 0) << 7 | (exponent + 7) << 3 | fraction


def integer(bits):
    return lambda x: x & ((1 << bits) - 1)


# Bits of an element, range of values, encoding.
TYPES = {
    "f16": (16, (-8, 8), f16),
    "bf16": (16, (-8, 8), lambda x: f32(x) >> 16),
    "tf32": (32, (-8, 8), f32),
    "f32": (32, (-99, 99), f32),
    "f64": (64, (-8, 8), f64),
    "e4m3": (8, (-8, 8), e4m3),
    "e5m2": (8, (-4, 4), lambda x: f16(x) >> 8),
    "s32": (32, (-999, 999), integer(32)),
    "s8": (8, (-128, 127), integer(8)),
    "u8": (8, (0, 255), integer(8)),
    "s4": (4, (-8, 7), integer(4)),
    "u4": (4, (0, 15), integer(4)),
    "b1": (1, (0, 1), integer(1)),
}


def matrix(rng, rows, columns, ty):
    low, high = TYPES[ty][1]
    return [[rng.randint(low, high) for _ in range(columns)] for _ in range(rows)]


def place_a(m, per, lane, element):
    """Row and column of an element of A; also of what a sparse A stores."""
    register, at = divmod(element, per)
    row = lane // 4 + (register % 2 * 8 if m == 16 else 0)
    block = register // 2 if m == 16 else register
    return row, lane % 4 * per + at + block * 4 * per


def place_b(per, lane, element):
    register, at = divmod(element, per)
    return lane % 4 * per + at + register * 4 * per, lane // 4


def place_c(lane, element):
    return lane // 4 + element // 2 * 8, lane % 4 * 2 + element % 2


def words(ty, count, place, values):
    """Registers of a fragment with `count` elements a lane, by register and lane."""
    bits, _, encode = TYPES[ty]
    width = 64 if bits == 64 else 32
    per = width // bits
    out = []
    for register in range(-(-count // per)):
        for lane in range(32):
            word = 0
            for at in range(per):
                row, column = place(lane, register * per + at)
                word |= encode(values[row][column]) << (at * bits)
            out.append(word)
    return out


def listed(name, role, ty, values, after=None):
    width = 64 if ty == "f64" else 32
    text = " ".join(f"{v:#x}" for v in values)
    return f"//@ {role} {name} b{width} = {text}\n"


def registers(ty, list_):
    return len(list_) // 32


def kernel(name, instruction, operands, sparse=None):
    """A kernel of one warp; operands are (name, type, registers), D last."""
    classes = {"f32": "f32", "f64": "f64"}
    params = [n for n, _, _ in operands[:-1]] + (["e"] if sparse is not None else []) + ["d"]
    text = f".visible .entry {name}(" + ", ".join(f".param .u64 {p}" for p in params) + ")\n{\n"
    text += "\t.reg .b32 %t, %re;\n\t.reg .b64 %p;\n"
    for n, ty, count in operands:
        text += f"\t.reg .{classes.get(ty, 'b32')} %{n}<{count}>;\n"
    text += "\tmov.u32 %t, %tid.x;\n"

    def move(n, ty, count, load):
        size = 8 if ty == "f64" else 4
        kind = classes.get(ty, "b32")
        out = f"\tld.param.u64 %p, [{n}];\n\tmad.wide.u32 %p, %t, {size}, %p;\n"
        for r in range(count):
            at = r * 32 * size
            out += f"\tld.global.{kind} %{n}{r}, [%p+{at}];\n" if load else f"\tst.global.{kind} [%p+{at}], %{n}{r};\n"
        return out

    for n, ty, count in operands[:-1]:
        text += move(n, ty, count, True)
    if sparse is not None:
        text += "\tld.param.u64 %p, [e];\n\tmad.wide.u32 %p, %t, 4, %p;\n\tld.global.b32 %re, [%p];\n"
    vectors = ["{" + ", ".join(f"%{n}{r}" for r in range(count)) + "}" for n, _, count in operands]
    order = [vectors[-1]] + vectors[:-1]
    text += f"\t{instruction} {', '.join(order)}" + (f", %re, {sparse}" if sparse is not None else "") + ";\n"
    text += move(*operands[-1], False)
    return text + "\tret;\n}\n"


def saturate(x):
    return max(-(2**31), min(2**31 - 1, x))


def dense(rng, shape, types, suffix="", operation=None):
    m, n, k = shape
    d, a, b, c = types
    values = [matrix(rng, m, k, a), matrix(rng, k, n, b), matrix(rng, m, n, c)]
    combine = operation or (lambda x, y: x * y)
    result = [
        [sum(combine(values[0][i][j], values[1][j][col]) for j in range(k)) + values[2][i][col] for col in range(n)]
        for i in range(m)
    ]
    per = max(1, 32 // TYPES[a][0])
    lists = [
        words(a, m * k // 32, lambda l, e: place_a(m, per, l, e), values[0]),
        words(b, k * n // 32, lambda l, e: place_b(per, l, e), values[1]),
        words(c, m * n // 32, place_c, values[2]),
    ]
    expected = words(d, m * n // 32, place_c, result)
    middle = ".satfinite" if suffix == "satfinite" else ""
    end = f".{suffix}" if suffix.endswith("popc") else ""
    instruction = f"mma.sync.aligned.m{m}n{n}k{k}.row.col{middle}.{d}.{a}.{b}.{c}{end}"
    name = "_".join(["mma", f"m{m}n{n}k{k}", d, a, b] + ([suffix.replace(".", "_")] if suffix else []))
    return case(name, instruction, types, lists, expected)


def case(name, instruction, types, lists, expected, metadata=None, selector=None):
    d, a, b, c = types
    text = f"\n//@ case {name}\n//@ launch block=32\n"
    for operand, ty, list_ in zip("abc", (a, b, c), lists):
        text += listed(operand, "in", ty, list_)
    if metadata is not None:
        text += listed("e", "in", "b32", metadata)
    text += listed("d", "out", d, expected)
    operands = [(o, t, registers(t, l)) for o, t, l in zip("abcd", (a, b, c, d), lists + [expected])]
    return text + kernel(name, instruction, operands, selector)


def quad(rng, a_layout, b_layout, types):
    """m8n8k4 on .f16: four products (9.7.14.5.1)."""
    d, a, b, c = types
    products = []
    for _ in range(4):
        products.append([matrix(rng, 8, 4, "f16"), matrix(rng, 4, 8, "f16"), matrix(rng, 8, 8, "f16")])
    for p in products:
        p.append(
            [[sum(p[0][i][j] * p[1][j][n] for j in range(4)) + p[2][i][n] for n in range(8)] for i in range(8)]
        )

    def high(lane):
        return 4 if lane >= 16 else 0

    def in_a(lane, i):
        return (lane % 4 + high(lane), i) if a_layout == "row" else (i + high(lane), lane % 4)

    def in_b(lane, i):
        return (lane % 4, i + high(lane)) if b_layout == "row" else (i, lane % 4 + high(lane))

    def in_c(ty):
        def place(lane, i):
            if ty == "f16":
                return lane % 4 + high(lane), i
            return (lane & 1) + (i & 2) + high(lane), (i & 4) + (lane & 2) + (i & 1)

        return place

    def fragment(ty, count, place, which):
        bits, _, encode = TYPES[ty]
        per = 32 // bits
        out = []
        for register in range(count // per):
            for lane in range(32):
                word = 0
                for at in range(per):
                    row, column = place(lane, register * per + at)
                    word |= encode(products[lane // 4 % 4][which][row][column]) << (at * bits)
                out.append(word)
        return out

    lists = [fragment("f16", 4, in_a, 0), fragment("f16", 4, in_b, 1), fragment(c, 8, in_c(c), 2)]
    expected = fragment(d, 8, in_c(d), 3)
    name = f"mma_m8n8k4_{a_layout}_{b_layout}_{d}_{c}"
    instruction = f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c}"
    return case(name, instruction, types, lists, expected)


def sparse(rng, shape, types, selector, ordered):
    """Metadata: 9.7.14.6.1 and the figures of 9.7.14.6.2."""
    m, n, k = shape
    d, a, b, c = types
    bits = TYPES[a][0]
    pair = 2 if bits == 4 else 1
    width = 2 if a == "tf32" else 4
    chunks = k // (width * pair)
    full = [[0] * k for _ in range(16)]
    stored = [[] for _ in range(16)]
    nibbles = [[0] * chunks for _ in range(16)]
    low, high = TYPES[a][1]
    for row in range(16):
        for chunk in range(chunks):
            if width == 2:
                kept = [rng.randrange(2)]
                nibbles[row][chunk] = 0b1110 if kept[0] else 0b0100
            else:
                kept = sorted(rng.sample(range(4), 2))
                nibbles[row][chunk] = kept[0] | kept[1] << 2
            for index in kept:
                for at in range(pair):
                    value = rng.randint(low, high)
                    full[row][(chunk * width + index) * pair + at] = value
                    stored[row].append(value)
    metadata = [0x44444444] * 32
    for row in range(16):
        for chunk in range(chunks):
            if bits >= 16:
                # A thread holds rows g and g + 8, four chunks of each.
                threads = max(1, chunks // 4)
                thread, nibble = chunk // 4, chunk % 4 + row // 8 * 4
            else:
                # A thread holds eight chunks of one row.
                threads = chunks // 4
                thread, nibble = row // 8 + chunk // 8 * 2, chunk % 8
            lane = row % 8 * 4 + selector * threads + thread
            metadata[lane] = metadata[lane] & ~(15 << nibble * 4) | nibbles[row][chunk] << nibble * 4
    values_b, values_c = matrix(rng, k, n, b), matrix(rng, m, n, c)
    result = [
        [sum(full[i][j] * values_b[j][col] for j in range(k)) + values_c[i][col] for col in range(n)] for i in range(m)
    ]
    per = max(1, 32 // bits)
    lists = [
        words(a, m * k // 64, lambda l, e: place_a(m, per, l, e), stored),
        words(b, k * n // 32, lambda l, e: place_b(per, l, e), values_b),
        words(c, m * n // 32, place_c, values_c),
    ]
    expected = words(d, m * n // 32, place_c, result)
    variant = "sp::ordered_metadata" if ordered else "sp"
    instruction = f"mma.{variant}.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{b}.{c}"
    name = "_".join(["mma_sp", f"m{m}n{n}k{k}", d, a, b, f"f{selector}"])
    return case(name, instruction, types, lists, expected, metadata, selector)


def wmma(rng, shape, types, a_layout, b_layout, c_layout, names):
    """D = A * B + C from memory to memory, so that no fragment's layout shows."""
    m, n, k = shape
    d, a, b, c = types
    values = [matrix(rng, m, k, a), matrix(rng, k, n, b), matrix(rng, m, n, c)]
    xor = a == "b1"
    result = [
        [
            sum((x ^ y) if xor else x * y for x, y in ((values[0][i][j], values[1][j][col]) for j in range(k)))
            + values[2][i][col]
            for col in range(n)
        ]
        for i in range(m)
    ]

    def memory(ty, layout, rows, stride):
        bits, _, encode = TYPES[ty]
        lines = rows if layout == "row" else [list(line) for line in zip(*rows)]
        number = 0
        for at, line in enumerate(lines):
            for position, value in enumerate(line):
                number |= encode(value) << ((at * stride + position) * bits)
        size = max(8, bits)
        total = ((len(lines) - 1) * stride + len(lines[0])) * bits
        return [number >> at & ((1 << size) - 1) for at in range(0, total, size)], size

    def stride(ty, layout, rows):
        line = len(rows[0]) if layout == "row" else len(rows)
        return line + 256 // TYPES[ty][0]

    strides = [
        stride(a, a_layout, values[0]),
        stride(b, b_layout, values[1]),
        stride(c, c_layout, values[2]),
        stride(d, c_layout, result),
    ]
    shape_text = f"m{m}n{n}k{k}"
    name = "_".join(["wmma", shape_text, d, a, c, a_layout, b_layout, c_layout])
    text = f"\n//@ case {name}\n//@ launch block=32\n"
    for operand, ty, layout, rows, s in zip("abc", (a, b, c), (a_layout, b_layout, c_layout), values, strides):
        list_, size = memory(ty, layout, rows, s)
        text += f"//@ in {operand} b{size} = " + " ".join(f"{v:#x}" for v in list_) + "\n"
    # What lies between rows stays as it was.
    list_, size = memory(d, c_layout, result, strides[3])
    line = (n if c_layout == "row" else m) * TYPES[d][0] // size
    gap = strides[3] * TYPES[d][0] // size
    filled = int("a5" * (size // 8), 16)
    shown = [f"{v:#x}" if at % gap < line else f"{filled:#x}" for at, v in enumerate(list_)]
    text += f"//@ out d b{size} = " + " ".join(shown) + "\n"
    fa, fb, fc, fd = names
    kind = {"f32": "f32", "f64": "f64"}
    text += f".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{{\n\t.reg .b64 %p;\n"
    for operand, ty, count in zip("abcd", (a, b, c, d), (fa, fb, fc, fd)):
        text += f"\t.reg .{kind.get(ty, 'b32')} %{operand}<{count}>;\n"
    vector = lambda o, count: "{" + ", ".join(f"%{o}{r}" for r in range(count)) + "}"
    for operand, ty, layout, count, s in zip("abc", (a, b, c), (a_layout, b_layout, c_layout), (fa, fb, fc), strides):
        text += f"\tld.param.u64 %p, [{operand}];\n"
        text += f"\twmma.load.{operand}.sync.aligned.{layout}.{shape_text}.global.{ty} {vector(operand, count)}, [%p], {s};\n"
    op = ".xor.popc" if xor else ""
    written = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{b}.{c}"
    text += f"\twmma.mma{op}.sync.aligned.{a_layout}.{b_layout}.{shape_text}.{written} {vector('d', fd)}, {vector('a', fa)}, {vector('b', fb)}, {vector('c', fc)};\n"
    text += f"\tld.param.u64 %p, [d];\n\twmma.store.d.sync.aligned.{c_layout}.{shape_text}.global.{d} [%p], {vector('d', fd)}, {strides[3]};\n"
    return text + "\tret;\n}\n"


def rows(op, count, trans, generic):
    """ldmatrix and stmatrix of `count` matrices; row i comes from (or goes to) row 7 * i of the tile, modulo 32."""
    tile = [[row * 8 + column for column in range(8)] for row in range(32)]
    order = [7 * i % 32 for i in range(32)]

    def element(matrix_, row, column):
        return (matrix_ * 8 + (column if trans else row), row if trans else column)

    # Halves of each register of each lane: the row that the lane i gave, and the column.
    halves = [
        element(register, lane // 4, lane % 4 * 2 + half) for register in range(count) for lane in range(32) for half in (0, 1)
    ]
    name = "_".join([op, f"x{count}"] + ["trans"] * trans + ["generic"] * generic)
    space = "" if generic else ".shared"
    vector = "{" + ", ".join(f"%r{r}" for r in range(count)) + "}"
    text = f"\n//@ case {name}\n//@ launch block=32\n"
    load = op == "ldmatrix"
    if load:
        text += "//@ in a u16 = " + " ".join(str(v) for row in tile for v in row) + "\n"
        text += "//@ out d u16 = " + " ".join(str(tile[order[i]][column]) for i, column in halves) + "\n"
    else:
        text += "//@ in a u16 = " + " ".join(str(1000 + at) for at in range(len(halves))) + "\n"
        stored = {(order[i], column): 1000 + at for at, (i, column) in enumerate(halves)}
        text += "//@ out d u16 = " + " ".join(str(stored.get((r, c), 0)) for r in range(32) for c in range(8)) + "\n"
    text += f".visible .entry {name}(.param .u64 a, .param .u64 d)\n{{\n\t.shared .align 16 .b8 tile[512];\n"
    text += "\t.reg .b32 %t, %s, %x, %r<4>;\n\t.reg .b64 %p, %w, %g;\n\t.reg .pred %q;\n"
    text += "\tmov.u32 %t, %tid.x;\n\tmov.u32 %s, tile;\n\tmad.lo.u32 %s, %t, 16, %s;\n"
    if load:
        text += "\tld.param.u64 %p, [a];\n\tmad.wide.u32 %p, %t, 16, %p;\n"
        text += "\tld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%p];\n\tst.shared.v4.b32 [%s], {%r0, %r1, %r2, %r3};\n"
    else:
        text += "\tmov.b32 %x, 0;\n\tst.shared.v4.b32 [%s], {%x, %x, %x, %x};\n"
        text += "\tld.param.u64 %p, [a];\n\tmad.wide.u32 %p, %t, 4, %p;\n"
        text += "".join(f"\tld.global.b32 %r{r}, [%p+{r * 128}];\n" for r in range(count))
    text += "\tbar.warp.sync 0xffffffff;\n\tmul.lo.u32 %x, %t, 7;\n\tand.b32 %x, %x, 31;\n\tmov.u32 %s, tile;\n\tmad.lo.u32 %s, %x, 16, %s;\n"
    # What lanes beyond the rows hold does not matter.
    text += f"\tsetp.ge.u32 %q, %t, {8 * count};\n\tselp.b32 %s, -1, %s, %q;\n"
    address = "%s"
    if generic:
        text += "\tcvt.u64.u32 %w, %s;\n\tcvta.shared.u64 %g, %w;\n"
        address = "%g"
    instruction = f"{op}.sync.aligned.m8n8.x{count}{'.trans' if trans else ''}{space}.b16"
    if load:
        text += f"\t{instruction} {vector}, [{address}];\n\tld.param.u64 %p, [d];\n\tmad.wide.u32 %p, %t, 4, %p;\n"
        text += "".join(f"\tst.global.b32 [%p+{r * 128}], %r{r};\n" for r in range(count))
    else:
        text += f"\t{instruction} [{address}], {vector};\n\tbar.warp.sync 0xffffffff;\n"
        text += "\tmov.u32 %s, tile;\n\tmad.lo.u32 %s, %t, 16, %s;\n\tld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%s];\n"
        text += "\tld.param.u64 %p, [d];\n\tmad.wide.u32 %p, %t, 16, %p;\n\tst.global.v4.b32 [%p], {%r0, %r1, %r2, %r3};\n"
    return text + "\tret;\n}\n"


def movmatrix():
    halves = [(lane % 4 * 2 + half) * 8 + lane // 4 for lane in range(32) for half in (0, 1)]
    text = "\n//@ case movmatrix\n//@ launch block=32\n//@ in a u16 = 0..63\n"
    text += "//@ out d u16 = " + " ".join(map(str, halves)) + "\n"
    text += ".visible .entry movmatrix(.param .u64 a, .param .u64 d)\n{\n\t.reg .b32 %t, %x;\n\t.reg .b64 %p;\n"
    text += "\tmov.u32 %t, %tid.x;\n\tld.param.u64 %p, [a];\n\tmad.wide.u32 %p, %t, 4, %p;\n\tld.global.b32 %x, [%p];\n"
    text += "\tmovmatrix.sync.aligned.m8n8.trans.b16 %x, %x;\n"
    return text + "\tld.param.u64 %p, [d];\n\tmad.wide.u32 %p, %t, 4, %p;\n\tst.global.b32 [%p], %x;\n\tret;\n}\n"


def all_():
    rng = random.Random(14)
    HERE.mkdir(exist_ok=True)
    text = HEAD
    for shape, types in [
        ((16, 8, 8), ("f16", "f16", "f16", "f16")),
        ((16, 8, 16), ("f32", "f16", "f16", "f32")),
        ((16, 8, 8), ("f32", "bf16", "bf16", "f32")),
        ((16, 8, 16), ("f32", "bf16", "bf16", "f32")),
        ((16, 8, 4), ("f32", "tf32", "tf32", "f32")),
        ((16, 8, 8), ("f32", "tf32", "tf32", "f32")),
        ((16, 8, 32), ("f32", "e4m3", "e5m2", "f32")),
        ((16, 8, 16), ("f16", "e5m2", "e4m3", "f16")),
        ((8, 8, 4), ("f64", "f64", "f64", "f64")),
        ((16, 8, 4), ("f64", "f64", "f64", "f64")),
        ((16, 8, 8), ("f64", "f64", "f64", "f64")),
    ]:
        text += dense(rng, shape, types)
    for a, b, types in [("row", "col", ("f16", "f16")), ("col", "row", ("f32", "f32")), ("col", "col", ("f32", "f16"))]:
        text += quad(rng, a, b, (types[0], "f16", "f16", types[1]))
    (HERE / "mma_float.ptx").write_text(text)
    text = HEAD
    for shape, types in [
        ((8, 8, 16), ("s32", "s8", "u8", "s32")),
        ((16, 8, 16), ("s32", "u8", "u8", "s32")),
        ((16, 8, 32), ("s32", "s8", "s8", "s32")),
        ((8, 8, 32), ("s32", "s4", "s4", "s32")),
        ((16, 8, 64), ("s32", "u4", "s4", "s32")),
    ]:
        text += dense(rng, shape, types)
    text += dense(rng, (8, 8, 128), ("s32", "b1", "b1", "s32"), "xor.popc", lambda x, y: x ^ y)
    text += dense(rng, (16, 8, 256), ("s32", "b1", "b1", "s32"), "and.popc", lambda x, y: x & y)
    (HERE / "mma_integer.ptx").write_text(text)
    text = HEAD
    for shape, types, selector, ordered in [
        ((16, 8, 16), ("f16", "f16", "f16", "f16"), 3, True),
        ((16, 8, 32), ("f32", "bf16", "bf16", "f32"), 1, False),
        ((16, 8, 8), ("f32", "tf32", "tf32", "f32"), 2, False),
        ((16, 8, 16), ("f32", "tf32", "tf32", "f32"), 0, True),
        ((16, 8, 64), ("f32", "e4m3", "e4m3", "f32"), 0, True),
        ((16, 8, 32), ("s32", "s8", "u8", "s32"), 1, False),
        ((16, 8, 64), ("s32", "u8", "u8", "s32"), 0, True),
        ((16, 8, 64), ("s32", "s4", "s4", "s32"), 1, True),
        ((16, 8, 128), ("s32", "u4", "s4", "s32"), 0, False),
    ]:
        text += sparse(rng, shape, types, selector, ordered)
    (HERE / "mma_sparse.ptx").write_text(text)
    text = HEAD
    for shape, types, layouts, names in [
        ((16, 16, 16), ("f32", "f16", "f16", "f16"), ("row", "col", "row"), (8, 8, 4, 8)),
        ((8, 32, 16), ("f16", "f16", "f16", "f16"), ("col", "row", "col"), (8, 8, 4, 4)),
        ((32, 8, 16), ("f32", "bf16", "bf16", "f32"), ("row", "row", "col"), (8, 2, 8, 8)),
        ((16, 16, 8), ("f32", "tf32", "tf32", "f32"), ("col", "col", "row"), (4, 4, 8, 8)),
        ((8, 8, 4), ("f64", "f64", "f64", "f64"), ("row", "col", "col"), (1, 1, 2, 2)),
        ((8, 32, 16), ("s32", "s8", "s8", "s32"), ("col", "row", "row"), (1, 4, 8, 8)),
        ((16, 16, 16), ("s32", "u8", "u8", "s32"), ("row", "col", "col"), (2, 2, 8, 8)),
        ((8, 8, 32), ("s32", "s4", "s4", "s32"), ("row", "col", "row"), (1, 1, 2, 2)),
        ((8, 8, 128), ("s32", "b1", "b1", "s32"), ("row", "col", "col"), (1, 1, 2, 2)),
    ]:
        text += wmma(rng, shape, types, *layouts, names)
    (HERE / "wmma.ptx").write_text(text)
    text = HEAD
    for op in ("ldmatrix", "stmatrix"):
        for count in (1, 2, 4):
            for trans in (False, True):
                text += rows(op, count, trans, generic=count == 2)
    (HERE / "rows.ptx").write_text(text + movmatrix())
