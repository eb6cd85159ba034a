#!/usr/bin/env python3
"""Writes the instruction tests that are tables of values; the others are written by hand.

Run it here with no arguments. --check ASSEMBLER assembles every test, these and the hand-written ones, with that
ptxas, for the target that each names.
"""

import pathlib
import re
import subprocess
import sys

import compare
import convert
import floats
import halves
import integer
import matrix
import video

for group in (integer, floats, halves, convert, compare, video, matrix):
    group.all_()

if sys.argv[1:2] == ["--check"]:
    bad = 0
    for path in sorted(pathlib.Path(__file__).resolve().parent.parent.rglob("*.ptx")):
        target = re.search(r"^\.target\s+(\w+)", path.read_text(), re.M)[1]
        done = subprocess.run([sys.argv[2], f"-arch={target}", "-o", "/dev/null", path], capture_output=True, text=True)
        errors = [l for l in (done.stdout + done.stderr).splitlines() if "error" in l or "fatal" in l]
        if done.returncode:
            bad += 1
            print("\n".join(errors[:6]) or done.stderr)
    sys.exit(bad and f"{bad} files are not accepted")
