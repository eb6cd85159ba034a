#!/usr/bin/env python3
"""Time and memory of many launches from Python, beside the command's: ``measure_launches.py [LAUNCHES]``.

One block of 256 threads computes x = a x + y on 256 numbers, over and over: with arrays that are copied for each launch, with
arrays that stay on the device, with mapped ones, and as a launch file of as many launches.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import warpgrind
from kernels import SAXPY
from warpgrind._command import path

THREADS = 256


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(name: str, launches: int, launch) -> None:
    for _ in range(min(launches, 1000)):
        launch()
    # Their memory is there before.
    times = np.ones(launches)
    before = resident()
    for at in range(launches):
        began = time.perf_counter()
        launch()
        times[at] = time.perf_counter() - began
    grown = resident() - before
    median, mean = 1e6 * np.median(times), 1e6 * times.mean()
    print(f"{name:28} {median:8.1f} us a launch, {mean:8.1f} on average  {grown / 1024:+8.0f} KiB", flush=True)


def command(launches: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "saxpy.ptx").write_text(SAXPY)
        buffers = "".join(f'[buffers.{name}]\ntype = "f32"\nshape = {THREADS}\ninit = 1\n' for name in "xy")
        launch = f'[[launch]]\nkernel = "saxpy"\ngrid = 1\nblock = {THREADS}\nargs = ["x", "y", 0.5]\n'
        file = Path(folder, "saxpy.toml")
        file.write_text('modules = ["saxpy.ptx"]\n' + buffers + launch * launches)
        began = time.perf_counter()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([path(), "run", "--jobs", "1", file], check=True, **quiet)
        seconds = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{'warpgrind run':28} {seconds:8.2f} s  {1e6 * seconds / launches:8.1f} us a launch  {most:8.0f} KiB in all")


def main() -> None:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    module = warpgrind.load(SAXPY, jobs=1)
    kernel = module["saxpy"][1, THREADS]
    x, y = np.ones(THREADS, np.float32), np.ones(THREADS, np.float32)
    measure("numpy arrays, copied", launches, lambda: kernel(x, y, 0.5))
    ours, theirs = module.array(x), module.array(y)
    measure("arrays on the device", launches, lambda: kernel(ours, theirs, 0.5))
    mapped, other = module.mapped(x), module.mapped(y)
    measure("mapped arrays", launches, lambda: kernel(mapped, other, 0.5))
    command(launches)
    for size in (1 << 20, 1 << 26):
        x = np.zeros(size // 4, np.float32)
        began = time.perf_counter()
        module.array(x).numpy()
        print(f"{size >> 20} MiB to the device and back: {1e3 * (time.perf_counter() - began):.2f} ms")


if __name__ == "__main__":
    main()
