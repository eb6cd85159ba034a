#!/usr/bin/env python3
"""Compares a table of mappings with what kernels execute: one kernel a row and a scope, as `atomics.cpp` prints them.

    rows.py WARPGRIND PTX TABLE

Compilers leave the choice among orders to functions of a library, so each kernel is run, and what it executed is looked at.
"""

import json
import re
import subprocess
import sys

warpgrind, ptx, table = sys.argv[1:]
text_of_kernels = open(ptx).read()
WORDS = {"relaxed", "acquire", "release", "acq_rel", "sc", "cta", "gpu", "sys"}
LEVELS = {"": "gpu", "gl": "gpu", "cta": "cta", "sys": "sys"}


def accesses(kernel):
    """The fences and accesses that a kernel executes, as tables write them."""
    # The first parameter is the word; what a compiler adds to it are numbers.
    head = re.search(rf"\.entry {kernel}\(([^)]*)\)", text_of_kernels)[1]
    arguments = ["-a", "i32[1]=0"] + ["-a", "0"] * (head.count(".param") - 1)
    command = [warpgrind, "run", ptx, "-e", kernel, "-b", "1", *arguments, "--tool", "counters", "--format", "json"]
    ran = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    places = (line["place"]["ptx"] for line in ran["launches"][0]["metrics"][0]["instructions"])
    executed = {place["line"]: place["text"] for place in places}
    found = []
    for _, text in sorted(executed.items()):
        kind, *parts = text.split()[0].rstrip(";").split(".")
        words = [part for part in parts if part in WORDS]
        if "volatile" in parts and "global" in parts:
            words = ["relaxed", "sys"]
        if kind in ("atom", "red") and not words:
            words = ["relaxed", "gpu"]
        if kind == "membar":
            words = ["sc", LEVELS[parts[0] if parts else ""]]
        elif kind in ("ld", "st") and not words:
            # Of others a load without an order is of the table for a jump.
            if "global" not in parts or kernel.split("_")[-2] != "na":
                continue
            words = ["weak"]
        elif kind not in ("ld", "st", "atom", "red", "fence"):
            continue
        found.append(".".join(["fence" if kind == "membar" else kind, *words]))
    return "; ".join(found)


rows = (line.split(None, 1) for line in open(table) if line.strip() and not line.startswith("#"))
rows = {name: becomes.strip() for name, becomes in rows}
kernels = re.findall(r"\.entry (\w*?(load|store|rmw|fence)_(\w+)_(cta|gpu|sys))\(", text_of_kernels)
wrong = set(rows) - {f"{operation}.{order}" for _, operation, order, _ in kernels}
for kernel, operation, order, scope in kernels:
    expected, made = rows[f"{operation}.{order}"].replace("$", scope), accesses(kernel)
    if made != expected:
        wrong.add(f"{operation}.{order} in {scope}: the table has `{expected}`, the kernel `{made}`")
print("\n".join(sorted(wrong)) or f"{len(rows)} rows in {len(kernels)} kernels as expected")
sys.exit(bool(wrong))
