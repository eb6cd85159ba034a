#!/usr/bin/env python3
"""record.py PTXAS FOLDER LAUNCHES.toml...: writes into FOLDER what `launch` needs to run launch files on a device: the machine
code that PTXAS makes of their PTX, and a manifest NAME.list with the contents of buffers in NAME.list.data."""
import pathlib
import re
import struct
import subprocess
import sys
import tomllib

FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "s8": "b", "s16": "h",
           "s32": "i", "s64": "q", "b8": "B", "b16": "H", "b32": "I", "b64": "Q", "f16": "e", "f32": "f", "f64": "d",
           "float32": "f", "float64": "d"}
MASK = (1 << 64) - 1


def outputs(seed, count):
    for i in range(count):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield z ^ z >> 31


def number(text):
    text = str(text)
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def flat(values):
    return [x for value in values for x in flat(value)] if isinstance(values, list) else [values]


def contents(spec, position, folder):
    kind = spec["type"]
    shape = spec.get("shape")
    count = 1
    for extent in shape if isinstance(shape, list) else [shape or 1]:
        count *= extent
    init = spec.get("init", 0)
    if isinstance(init, list):
        values = flat(init)
    elif not isinstance(init, str):
        values = [init] * count
    else:
        words = init.split(":")
        if words[0] == "seq":
            start = number(words[1]) if len(words) > 1 else 0
            step = number(words[2]) if len(words) > 2 else 1
            values = [start + i * step for i in range(count)]
        elif words[0] == "cycle":
            items = [number(x) for x in words[1].split(",")]
            values = [items[i % len(items)] for i in range(count)]
        elif words[0] in ("random", "randint"):
            spans = [word for word in words[1:] if ".." in word]
            seeds = [int(word) for word in words[1:] if ".." not in word]
            seed = seeds[0] if seeds else position
            is_float = kind in ("f16", "bf16", "f32", "f64")
            if spans:
                low, high = (number(x) for x in spans[0].split(".."))
            else:
                low, high = 0, 1
            if words[0] == "random" and is_float:
                values = [low + (z >> 11) * 2.0**-53 * (high - low) for z in outputs(seed, count)]
            elif spans:
                values = [low + (z * (high - low) >> 64) for z in outputs(seed, count)]
            else:
                values = list(outputs(seed, count))
        elif words[0].startswith("@"):
            raise SystemExit(f"{init}: files are not read")
        else:
            values = [number(x) for x in init.split(",")]
    if shape is not None and len(values) == 1:
        values = values * count
    code = FORMATS["u16" if kind == "bf16" else kind]
    if kind == "bf16":
        values = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    if code in "BHIQbhiq":
        bits = 8 * struct.calcsize(code)
        values = [int(value) & (1 << bits) - 1 for value in values]
        code = code.upper()
    return struct.pack(f"<{len(values)}{code}", *values)


def parameters(ptx, kernel):
    found = re.search(r"\.entry\s+" + re.escape(kernel) + r"\s*\(([^)]*)\)", ptx)
    if not found:
        return []
    return re.findall(r"\.param(?:\s+\.align\s+\d+)?\s+\.(\w+)(?:\s*\.ptr[^,]*?)?\s+([\w$%]+)", found.group(1))


def extents(value, otherwise=1):
    value = value if isinstance(value, list) else [value]
    return value + [otherwise] * (3 - len(value))


def kernel_name(ptx, name):
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
    if name is None and len(entries) == 1:
        return entries[0]
    if name in entries:
        return name
    plain = re.sub(r"\(.*", "", name)
    near = [entry for entry in entries if f"{len(plain)}{plain}" in entry]
    if len(near) != 1:
        raise SystemExit(f"{name}: {near}")
    return near[0]


def argument(value, kind, buffers):
    if isinstance(value, list):
        parts = [argument(part, "b64", buffers) for part in value]
        return f"{sum(int(part.split()[0]) for part in parts)} " + " ".join(part.split(maxsplit=1)[1] for part in parts)
    if isinstance(value, str):
        name, _, offset = value.removeprefix("&").partition("+")
        if name in buffers:
            return f"1 &{buffers[name]}+{offset or 0}"
        typed, _, rest = value.partition(":")
        if typed == "hex":
            return f"1 x{rest}"
        kind, value = typed, number(rest)
    code = FORMATS[kind]
    if isinstance(value, float) and code in "IQ":
        code = "f" if code == "I" else "d"
    if code in "fde":
        return "1 x" + struct.pack("<" + code, value).hex()
    return "1 x" + struct.pack("<" + code.upper(), value & (1 << 8 * struct.calcsize(code)) - 1).hex()


def main():
    ptxas, folder, *files = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file in map(pathlib.Path, files):
        plan = tomllib.loads(file.read_text())
        [module] = plan["modules"]
        source = (file.parent / module).resolve()
        ptx = source.read_text()
        arch = re.search(r"\.target\s+(\w+)", ptx).group(1)
        cubin = f"{source.parent.name}_{source.stem}.cubin"
        subprocess.run([ptxas, f"-arch={'sm_90a' if arch == 'sm_90a' else 'sm_90'}", "-o", folder / cubin, source], check=True)
        data = bytearray()
        lines = [f"module {cubin}"]
        numbers = {}

        def place(spec, position):
            if "init" not in spec:
                spec = {**spec, "init": 0}
            bytes_ = contents(spec, position, file.parent)
            at = -1 if not any(bytes_) else len(data)
            if at >= 0:
                data.extend(bytes_)
            return f"{len(bytes_)} {at}"

        for name, spec in plan.get("buffers", {}).items():
            lines.append("buffer " + place(spec, len(numbers)))
            numbers[name] = len(numbers)
        for name, spec in plan.get("variables", {}).items():
            if "init" in spec:
                if "type" not in spec:
                    found = re.search(r"\.(\w+)\s+" + name + r"\[(\d+)\]", ptx)
                    spec = {"type": "f32" if found.group(1) == "b8" else found.group(1), **spec}
                lines.append(f"variable {name} " + place(spec, 0))
        for launch in plan["launch"]:
            kernel = kernel_name(ptx, launch.get("kernel"))
            kinds = [kind for kind, _ in parameters(ptx, kernel)]
            args = [argument(value, kind, numbers) for value, kind in zip(launch.get("args", []), kinds)]
            assert len(args) == len(kinds) == len(launch.get("args", [])), (file, kernel, kinds)
            cluster = extents(launch["cluster"]) if "cluster" in launch else [0, 0, 0]
            words = [kernel, *extents(launch["grid"]), *extents(launch["block"]), *cluster, launch.get("shared", 0),
                     int(launch.get("cooperative", False)), len(args), *args]
            lines.append("launch " + " ".join(map(str, words)))
        (folder / f"{file.stem}.list").write_text("\n".join(lines) + "\n")
        (folder / f"{file.stem}.list.data").write_bytes(data)


main()
