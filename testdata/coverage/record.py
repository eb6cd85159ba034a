#!/usr/bin/env python3
"""Records what ptxas says of the modules in ptxas-modules.txt: `record.py PTXAS`.

A line is a verdict (`+` accepts, `-` refuses), version and target in brackets, and the module without its
header. Lines keep their order; the verdict of a new one may be left out.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FILE = pathlib.Path(__file__).with_name("ptxas-modules.txt")


def accepted(ptxas: str, version: str, target: str, text: str) -> bool:
    size = ".address_size 64\n" if tuple(map(int, version.split("."))) >= (2, 3) else ""
    # What this ptxas does not make code for any more is assembled for a target that it does.
    real = target if int(re.sub(r"\D", "", target)) >= 75 else "sm_90"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "m.ptx")
        source.write_text(f".version {version}\n.target {target}\n{size}{text}\n")
        command = [ptxas, "-arch", real, source, "-o", source.with_suffix(".cubin")]
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


def main() -> None:
    lines = []
    for line in FILE.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            lines.append(line)
            continue
        version, target, text = re.fullmatch(r"[+-]?\[(\S+) (\S+)\] (.*)", line).groups()
        verdict = "+" if accepted(sys.argv[1], version, target, text) else "-"
        lines.append(f"{verdict}[{version} {target}] {text}")
    FILE.write_text("\n".join(lines) + "\n")


main()
