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
from kernels import RACE, RACE_LAUNCH


def main() -> None:
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "race.ptx").write_text(RACE)
        file = Path(folder, "race.toml")
        file.write_text(RACE_LAUNCH)
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
