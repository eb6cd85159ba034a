"""Writes instruction tests: a table of inputs and expected outputs beside the kernel that computes them."""

import pathlib
import struct

from reference import FORMATS, F32, F64, width

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = """// Written by generate/; the expected values come from generate/reference.py.
.version 9.0
.target sm_90
.address_size 64
"""


def bits(type_, value):
    """The bits of a Python number in a type; integers are taken as they are."""
    if isinstance(value, float):
        if type_ == "f64":
            return struct.unpack("<Q", struct.pack("<d", value))[0]
        if type_ == "f32":
            return struct.unpack("<I", struct.pack("<f", value))[0]
        f = FORMATS[type_]
        u = struct.unpack("<Q", struct.pack("<d", value))[0]
        if F64.is_inf(u):
            return f.infinity | (f.sign if value < 0 else 0)
        return f.round(F64.value(u), "rn", F64.negative(u))
    return value & ((1 << width(type_)) - 1)


def text(type_, u):
    """A value as the test files write it: short decimals, otherwise the bits in hexadecimal."""
    if u is None:
        return "_"
    if u == "nan":
        return "nan"
    w = width(type_)
    if type_ in ("f32", "f64"):
        f = F32 if type_ == "f32" else F64
        if not f.is_nan(u):
            v = struct.unpack("<f", struct.pack("<I", u))[0] if type_ == "f32" else struct.unpack("<d", struct.pack("<Q", u))[0]
            s = repr(v)
            if len(s) <= 6 and "e" not in s:
                return s
    elif type_[0] == "s":
        v = u - (1 << w) if u >> (w - 1) else u
        if -9999 <= v <= 9999:
            return str(v)
    elif type_[0] == "u" and u <= 9999 or type_ == "pred":
        return str(u)
    return f"0x{u:0{w // 4}x}"


def case(entry, inputs, outputs, body, rows, evaluate, label=None, scratch="", bytes_=False):
    """One kernel with its table.

    inputs, outputs: names with types ("a:u32 b:u32"); type pred is a predicate in the body and a u32 0 or 1 in
    memory. body: instructions on %name registers. rows: tuples of input values. evaluate: from the input bits to
    the tuple of output bits (or one), where "nan" is any NaN and None any value. bytes_: 8-bit values sit in 8-bit
    registers, as cvt to and from bf16 insists.
    """
    ins = [c.split(":") for c in inputs.split()]
    outs = [c.split(":") for c in outputs.split()]
    lines = [f"//@ case {entry}" + (f": {label}" if label else ""), f"//@ table {inputs} -> {outputs.replace(':pred', ':u32')}"]
    table = []
    for row in rows:
        row = row if isinstance(row, tuple) else (row,)
        given = [bits(t, v) for (_, t), v in zip(ins, row)]
        assert len(given) == len(ins), (entry, row)
        result = evaluate(*given)
        result = result if isinstance(result, tuple) else (result,)
        assert len(result) == len(outs), (entry, result)
        wanted = [r if r in (None, "nan") else int(r) & ((1 << width(t)) - 1) for (_, t), r in zip(outs, result)]
        table.append(([text(t, g) for (_, t), g in zip(ins, given)], [text(t, w) for (_, t), w in zip(outs, wanted)]))
    for column in range(len(ins)):
        wide = max(len(r[0][column]) for r in table)
        for r in table:
            r[0][column] = r[0][column].rjust(wide)
    for column in range(len(outs)):
        wide = max(len(r[1][column]) for r in table)
        for r in table:
            r[1][column] = r[1][column].rjust(wide)
    lines += [f"//@   {' '.join(i)} -> {' '.join(o)}" for i, o in table]
    return "\n".join(lines) + "\n" + kernel(entry, ins, outs, body, scratch, 8 if bytes_ else 16)


def kernel(entry, ins, outs, body, scratch, least):
    registers = {}
    for name, t in ins + outs:
        kind = "pred" if t == "pred" else f"b{max(least, width(t))}"
        registers.setdefault(kind, []).append(f"%{name}")
    registers.setdefault("b32", []).insert(0, "%i")
    registers.setdefault("b64", []).extend(f"%{name}_at" for name, _ in ins + outs)
    if any(t == "pred" for _, t in outs):
        registers["b32"].append("%flag")
    out = [f".visible .entry {entry}({', '.join(f'.param .u64 {name}' for name, _ in ins + outs)})", "{"]
    for kind in ("pred", "b8", "b16", "b32", "b64", "b128"):
        if kind in registers:
            out.append(f"\t.reg .{kind} {', '.join(registers[kind])};")
    out += [f"\t{line}" for line in scratch.strip().split("\n") if line]
    out.append("\tmov.u32 %i, %tid.x;")
    for name, t in ins + outs:
        out.append(f"\tld.param.u64 %{name}_at, [{name}];")
        out.append(f"\tmad.wide.u32 %{name}_at, %i, {width(t) // 8}, %{name}_at;")
    for name, t in ins:
        out.append(f"\tld.global.{memory_type(t)} %{name}, [%{name}_at];")
    out += [f"\t{line.strip()}" for line in body.strip().split("\n")]
    for name, t in outs:
        if t == "pred":
            out += [f"\tselp.u32 %flag, 1, 0, %{name};", f"\tst.global.u32 [%{name}_at], %flag;"]
        else:
            out.append(f"\tst.global.{memory_type(t)} [%{name}_at], %{name};")
    return "\n".join(out + ["\tret;", "}"]) + "\n"


def memory_type(t):
    return t if t in ("u8", "s8") else "b32" if t == "pred" else f"b{width(t)}"


def write(path, *cases):
    path = ROOT / f"{path}.ptx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "\n" + "\n".join(cases))
