#!/usr/bin/env python3
"""A sweep over Dask's distributed scheduler with two worker processes, of which one is killed on the way.

``measure_sweep.py [LAUNCHES]``: seeds of a racy kernel, each a process of the command's.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

import warpgrind

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry last(.param .u64 p) {
    .reg .b32 %r; .reg .b64 %rd;
    ld.param.u64 %rd, [p];
    mov.u32 %r, %ctaid.x;
    st.global.u32 [%rd], %r;
    ret;
}
"""
LAUNCH = """
modules = ["race.ptx"]
[buffers.p]
type = "u32"
shape = 1
init = 0
[[launch]]
kernel = "last"
grid = 4
block = 1
args = ["p"]
"""


def main() -> None:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "race.ptx").write_text(PTX)
        file = Path(folder, "race.toml")
        file.write_text(LAUNCH)
        work = warpgrind.seeds(file, range(launches), tools=["racecheck"])
        with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            victim = next(iter(cluster.workers.values())).pid
            done = 0

            def kill(_: warpgrind.Result) -> None:
                nonlocal done
                done += 1
                if done == launches // 3:
                    os.kill(victim, signal.SIGKILL)
                    print(f"killed a worker after {done} launches", flush=True)

            journal = Path(folder, "journal")
            began = time.perf_counter()
            result = warpgrind.sweep(work, client, journal=journal, on_result=kill)
            seconds = time.perf_counter() - began
            lines = journal.read_text().count("\n")
        print(f"{result!r}\n{seconds:.1f} s, {launches / seconds:.1f} a second, {lines} lines in the journal")
        for found in result.findings:
            print(f"{found.kind} at {' and '.join(found.places)}, seen by {len(found.seen)}; {len(result.failed)} failed")


if __name__ == "__main__":
    main()
