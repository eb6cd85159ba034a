#!/usr/bin/env python3
"""Compares what `warpgrind profile` says of programs with what Nsight Compute read of them on a device.

    compare.py LIST --programs DIR --pages DIR [--record] [--chip h100] [--keep DIR] [--only NAME,…]

LIST has a program a line: its name in DIR, and its arguments; `public.txt` beside this is the one that PROFILE.md speaks of.
The page of a program is NAME.csv, as `ncu --csv --page raw` writes it; with --record, on a machine with a device, Nsight Compute
writes it first. Printed are, as Markdown, how many pairs of launch and number are equal, each that is not, and how far off
elapsed cycles are. With --keep the answers stay in a folder, and programs that have one there are not run again.
"""

import argparse
import json
import math
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

# What a model says, or what a device never says twice alike (PROFILE.md, "What is exact").
MODELLED = re.compile(
    r"gpc__|gpu__|dram__|lts__|sm__cycles|sm__inst_issued|sm__warps_active|smsp__average|smsp__issue|smsp__cycles"
    r"|l1tex__t_output_wavefronts|per_second|per_cycle|l1tex__data_bank_conflicts|l1tex__data_pipe_lsu_wavefronts"
    # Of a multiprocessor or sub-core: which blocks it gets is a matter of time.
    r"|\.(min|max)$"
)
CYCLES, DURATION = "gpc__cycles_elapsed.max", "gpu__time_duration.sum"


def run(options, name, arguments):
    """What `warpgrind profile` says of a program, or why it says nothing, and how long it took."""
    kept = options.keep and options.keep / f"{name}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text())
    how = "--record" if options.record else "--import"
    command = [options.warpgrind, "profile", "--chip", options.chip, how, options.pages / f"{name}.csv"]
    command += ["--launch-count", str(options.launches), "--kill", "--format", "json", *options.with_, "--"]
    command += [options.programs / name, *arguments]
    begun = time.monotonic()
    bound = lambda: resource.setrlimit(resource.RLIMIT_AS, (options.memory << 30, options.memory << 30))
    environment = os.environ | {"LD_LIBRARY_PATH": f"{options.programs}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(
        command, preexec_fn=bound, env=environment, cwd=options.programs, start_new_session=True, **pipes
    )
    try:
        out, said = process.communicate(timeout=options.timeout)
        answer = json.loads(out) if out else {"launches": []}
        answer |= {"said": said.decode(errors="replace")[-4000:], "status": process.returncode}
    except subprocess.TimeoutExpired:
        # The program is a child of its own.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        answer = {"launches": [], "said": f"took more than {options.timeout:g} s", "status": 124}
    except json.JSONDecodeError as error:
        answer = {"launches": [], "said": f"no JSON: {error}", "status": 1}
    answer.setdefault("launches", [])
    answer["seconds"] = time.monotonic() - begun
    if kept:
        kept.write_text(json.dumps(answer))
    return answer


def short(kernel):
    """A kernel's name without its parameters and template arguments."""
    name = re.sub(r"^void ", "", kernel).split("(")[0].split("<")[0]
    return name or kernel


def distribution(title, errors):
    """One row of the table of errors."""
    if not errors:
        return f"| {title} | 0 | | | | |"
    sizes = sorted(abs(error) for error, *_ in errors)
    ours, theirs = [math.log(e[2]) for e in errors], [math.log(e[3]) for e in errors]
    pearson = statistics.correlation(ours, theirs) if len(set(ours)) > 1 and len(set(theirs)) > 1 else float("nan")
    ninth = sizes[min(len(sizes) - 1, len(sizes) * 9 // 10)]
    worst = sorted(errors, key=lambda error: -abs(error[0]))[:5]
    named = ", ".join(f"{name} {100 * error:+.0f}" for error, name, *_ in worst)
    return f"| {title} | {len(errors)} | {statistics.mean(sizes):.1%} | {ninth:.1%} | {pearson:.3f} | {named} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("--programs", type=lambda text: Path(text).absolute(), required=True)
    parser.add_argument("--pages", type=lambda text: Path(text).absolute(), required=True)
    parser.add_argument("--record", action="store_true", help="write the pages, too")
    parser.add_argument("--warpgrind", default="warpgrind")
    parser.add_argument("--chip", default="h200", help="the chip on which the pages were made")
    parser.add_argument("--launches", type=int, default=4, help="how many launches of a program")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a program")
    parser.add_argument("--memory", type=int, default=12, help="GiB of address space a program")
    parser.add_argument("--keep", type=lambda text: Path(text).absolute())
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--with", dest="with_", action="append", default=[], help="one more argument of `profile`")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)

    lines = [line.split() for line in options.list.read_text().splitlines() if line and not line.startswith("#")]
    errors, unequal, missing, silent, rows = [], {}, {}, [], []
    seen = {}
    equal_in_all = pairs_in_all = unsaid_in_all = 0
    for number, (name, *arguments) in enumerate(lines):
        if options.only and name not in options.only:
            continue
        answer = run(options, name, arguments)
        # Every second one is held out: no number of a chip may be chosen by it.
        held_out = number % 2 == 1
        equal = pairs = unsaid = 0
        launches = [launch for launch in answer["launches"] if launch.get("imported")]
        if not launches:
            silent.append((name, answer["said"].strip().splitlines()[-1:] or [f"ended with {answer['status']}"]))
        own = []
        for launch in launches:
            kernel, ours, theirs = short(launch["kernel"]), launch["metrics"], launch["imported"]
            same = (name, kernel, *launch["grid"], *launch["block"])
            for metric, value in theirs.items():
                if MODELLED.search(metric):
                    continue
                both = seen.setdefault((*same, metric), (set(), set()))
                both[0].add(ours.get(metric))
                both[1].add(value)
                pairs += 1
                if metric not in ours:
                    unsaid += 1
                    missing.setdefault((name, kernel), []).append(metric)
                # Pages round what is no whole number.
                elif math.isclose(ours[metric], value, rel_tol=1e-9, abs_tol=0 if float(ours[metric]).is_integer() else 0.00501):
                    equal += 1
                else:
                    unequal.setdefault((name, kernel), []).append((metric, ours[metric], value, same))
            if CYCLES in ours and CYCLES in theirs:
                error = ours[CYCLES] / theirs[CYCLES] - 1
                entry = (error, f"{name}:{kernel}", ours[CYCLES], theirs[CYCLES], theirs.get(DURATION, 0), held_out)
                own.append(error)
                errors.append((*entry, bool((launch.get("timed") or {}).get("machine_code_estimated"))))
            else:
                silent.append((f"{name}:{kernel}", [str(launch.get("untimed") or "no time")]))
        equal_in_all, pairs_in_all, unsaid_in_all = equal_in_all + equal, pairs_in_all + pairs, unsaid_in_all + unsaid
        cycles = " ".join(f"{100 * error:+.1f}" for error in own)
        rows.append(
            f"| {name} | {'held out' if held_out else ''} | {len(launches)} | {equal} | {pairs - equal - unsaid} | {unsaid}"
            f" | {cycles} | {answer['seconds']:.1f} |"
        )
        print(rows[-1], file=sys.stderr, flush=True)

    print("| program | | launches | equal | not equal | not said | error of cycles, % | seconds |\n|---|---|---|---|---|---|---|---|")
    print(*rows, sep="\n")
    said = pairs_in_all - unsaid_in_all
    # A device that counts otherwise at each of the same launches cannot be met.
    varies = lambda metric, _ours, _theirs, same: len(seen[(*same, metric)][0]) == 1 < len(seen[(*same, metric)][1])
    varied = sum(varies(*entry) for entries in unequal.values() for entry in entries)
    print(
        f"\n{equal_in_all} of {pairs_in_all} pairs are equal, {said - equal_in_all} not (of {varied} the "
        f"device itself says something else at each of the same launches), {unsaid_in_all} are not said.\n"
    )
    for (name, kernel), list_ in unequal.items():
        own = [entry for entry in list_ if not varies(*entry)]
        of = ", ".join(f"{metric} {ours:.10g} for {theirs:.10g}" for metric, ours, theirs, _ in own[:6])
        also = f", {len(list_) - len(own)} where the device varies" if len(own) < len(list_) else ""
        print(f"* {name}:{kernel}: {len(own)} not equal{also}: {of}{' …' if len(own) > 6 else ''}")
    for (name, kernel), list_ in missing.items():
        print(f"* {name}:{kernel}: {len(list_)} not said: {', '.join(list_[:4])}{' …' if len(list_) > 4 else ''}")
    for name, why in silent:
        print(f"* {name}: {' '.join(why)}")
    print("\n| elapsed cycles | launches | mean error | nine in ten below | Pearson of logarithms | worst five, % |\n|---|---|---|---|---|---|")
    long = [entry for entry in errors if entry[4] >= 5000]
    print(distribution("all", errors))
    print(distribution("held out", [entry for entry in errors if entry[5]]))
    print(distribution("others", [entry for entry in errors if not entry[5]]))
    print(distribution("5 us and more", long))
    print(distribution("5 us and more, held out", [entry for entry in long if entry[5]]))
    print(distribution("below 5 us", [entry for entry in errors if entry[4] < 5000]))
    print(distribution("machine code of our making", [entry for entry in errors if entry[6]]))


if __name__ == "__main__":
    main()
