#!/usr/bin/env python3
"""Compares what `warpgrind profile` says of programs with what Nsight Compute read of them on a device.

    compare.py LIST… --programs DIR --pages DIR [--record] [--chip h100] [--keep DIR] [--only NAME,…] [--without-tools]

A LIST has a program a line: its name in DIR, and its arguments; `public.txt` and the others beside this are those that PROFILE.md
speaks of (`tables.sh` prints all of its tables). Comments of a list say what is held out (`# held out: all`, or `even places`), and
what is told apart (`# apart: NAME…`). The page of a program is NAME.csv, as `ncu --csv --page raw` writes it; with --record, on a
machine with a device, Nsight Compute writes it first. Printed are, as Markdown, how many pairs of launch and number are equal, each
that is not, how far off elapsed cycles and memory's bytes are, and how fast that was. With --keep the answers stay in a folder, and
programs that have one there are not run again.
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
from dataclasses import dataclass
from pathlib import Path

# What a model says, or what a device never says twice alike (PROFILE.md, "What is exact").
MODELLED = re.compile(
    r"gpc__|gpu__|dram__|lts__|sm__cycles|sm__inst_issued|sm__warps_active|smsp__average|smsp__issue|smsp__cycles"
    r"|l1tex__t_output_wavefronts|per_second|per_cycle|l1tex__data_bank_conflicts|l1tex__data_pipe_lsu_wavefronts"
    # Of a multiprocessor or sub-core: which blocks it gets is a matter of time.
    r"|\.(min|max)$"
)
CYCLES, DURATION = "gpc__cycles_elapsed.max", "gpu__time_duration.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
# Where NVIDIA's tools are looked for.
HOMES = ("CUDA_HOME", "CUDA_PATH")


def environment(options):
    """That of the programs: with their folder for libraries, and with NVIDIA's tools, or none."""
    own = os.environ | {"LD_LIBRARY_PATH": f"{options.programs}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    if options.without_tools:
        own = {name: value for name, value in own.items() if name not in HOMES}
        folders = own.get("PATH", "").split(os.pathsep)
        own["PATH"] = os.pathsep.join(folder for folder in folders if not (Path(folder) / "ptxas").exists())
    return own


def run(options, name, arguments):
    """What `warpgrind profile` says of a program, or why it says nothing, and how long it took."""
    kept = options.keep and options.keep / f"{name}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text())
    how = "--record" if options.record else "--import"
    command = [options.warpgrind, "profile", "--chip", options.chip, how, options.pages / f"{name}.csv"]
    command += ["--launch-count", str(options.launches), "--kill", "--format", "json", *options.with_, "--"]
    command += [options.programs / name, *arguments]
    begun, busy = time.monotonic(), processor_time()
    bound = lambda: resource.setrlimit(resource.RLIMIT_AS, (options.memory << 30, options.memory << 30))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(
        command, preexec_fn=bound, env=environment(options), cwd=options.programs, start_new_session=True, **pipes
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
    answer["processor"] = processor_time() - busy
    if kept:
        kept.write_text(json.dumps(answer))
    return answer


def processor_time():
    """Seconds of a processor that commands took until now."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def short(kernel):
    """A kernel's name without its parameters and template arguments."""
    name = re.sub(r"^void ", "", kernel).split("(")[0].split("<")[0]
    return name or kernel


@dataclass
class Timed:
    """A launch whose elapsed cycles both say."""

    error: float
    name: str
    ours: float
    theirs: float
    nanoseconds: float
    # The list, and whether the program is `held out`, `others` or told `apart`.
    list: str
    kind: str
    estimated: bool

    def long(self):
        return self.nanoseconds >= 5000


def programs(path):
    """Each program of a list: its name, its arguments, and what kind it is of."""
    text = path.read_text().splitlines()
    said = dict(re.findall(r"^# (held out|apart): (.*)$", "\n".join(text), re.MULTILINE))
    apart, held_out = said.get("apart", "").split(), said.get("held out", "")
    lines = [line.split() for line in text if line and not line.startswith("#")]
    for number, (name, *arguments) in enumerate(lines):
        out = held_out == "all" or held_out == "even places" and number % 2 == 1
        yield name, arguments, "apart" if name in apart else "held out" if out else "others"


class Pairs:
    """Numbers of launches that are equal, or not, or not said."""

    def __init__(self):
        self.equal = self.all = self.unsaid = 0
        self.unequal, self.missing, self.seen = {}, {}, {}

    def add(self, program, launch):
        kernel, ours, theirs = short(launch["kernel"]), launch["metrics"], launch["imported"]
        same = (program, kernel, *launch["grid"], *launch["block"])
        for metric, value in theirs.items():
            if MODELLED.search(metric):
                continue
            both = self.seen.setdefault((*same, metric), (set(), set()))
            both[0].add(ours.get(metric))
            both[1].add(value)
            self.all += 1
            if metric not in ours:
                self.unsaid += 1
                self.missing.setdefault((program, kernel), []).append(metric)
            # Pages round what is no whole number.
            elif math.isclose(ours[metric], value, rel_tol=1e-9, abs_tol=0 if float(ours[metric]).is_integer() else 0.00501):
                self.equal += 1
            else:
                self.unequal.setdefault((program, kernel), []).append((metric, ours[metric], value, same))

    def varies(self, metric, same):
        """A device that counts otherwise at each of the same launches cannot be met."""
        ours, theirs = self.seen[(*same, metric)]
        return len(ours) == 1 < len(theirs)

    def print(self):
        varied = sum(self.varies(metric, same) for list_ in self.unequal.values() for metric, _, _, same in list_)
        print(
            f"\n{self.equal} of {self.all} pairs are equal, {self.all - self.unsaid - self.equal} not (of {varied} the "
            f"device itself says something else at each of the same launches), {self.unsaid} are not said.\n"
        )
        for (name, kernel), list_ in self.unequal.items():
            own = [(metric, ours, theirs) for metric, ours, theirs, same in list_ if not self.varies(metric, same)]
            of = ", ".join(f"{metric} {ours:.10g} for {theirs:.10g}" for metric, ours, theirs in own[:6])
            also = f", {len(list_) - len(own)} where the device varies" if len(own) < len(list_) else ""
            print(f"* {name}:{kernel}: {len(own)} not equal{also}: {of}{' …' if len(own) > 6 else ''}")
        for (name, kernel), list_ in self.missing.items():
            print(f"* {name}:{kernel}: {len(list_)} not said: {', '.join(list_[:4])}{' …' if len(list_) > 4 else ''}")


def distribution(title, errors):
    """One row of the table of errors."""
    if not errors:
        return f"| {title} | 0 | | | | |"
    sizes = sorted(abs(timed.error) for timed in errors)
    ours, theirs = [math.log(timed.ours) for timed in errors], [math.log(timed.theirs) for timed in errors]
    pearson = statistics.correlation(ours, theirs) if len(set(ours)) > 1 and len(set(theirs)) > 1 else float("nan")
    ninth = sizes[min(len(sizes) - 1, len(sizes) * 9 // 10)]
    worst = sorted(errors, key=lambda timed: -abs(timed.error))[:5]
    named = ", ".join(f"{timed.name} {100 * timed.error:+.0f}" for timed in worst)
    return f"| {title} | {len(errors)} | {statistics.mean(sizes):.1%} | {ninth:.1%} | {pearson:.3f} | {named} |"


def print_errors(lists, errors):
    """The table of errors of elapsed cycles."""
    print("\n| elapsed cycles | launches | mean error | nine in ten below | Pearson of logarithms | worst five, % |\n|---|---|---|---|---|---|")
    groups = [(f"{list_}, {kind}", [timed for timed in errors if (timed.list, timed.kind) == (list_, kind)])
              for list_ in lists for kind in ("held out", "others", "apart")]
    groups += [("held out, all lists", [timed for timed in errors if timed.kind == "held out"]),
               ("all but those told apart", [timed for timed in errors if timed.kind != "apart"])]
    for title, group in groups:
        if group:
            print(distribution(title, group))
            print(distribution("of these 5 us and more", [timed for timed in group if timed.long()]))
            print(distribution("of these below 5 us", [timed for timed in group if not timed.long()]))
    print(distribution("machine code of our making", [timed for timed in errors if timed.estimated]))


def print_memory(launches):
    """How many launches that have more than a megabyte read, or written, are within a tenth, and which are not."""
    for metric in ("dram__bytes_read.sum", "dram__bytes_write.sum"):
        both = [(name, launch["metrics"][metric], launch["imported"][metric]) for name, launch in launches
                if launch["imported"].get(metric, 0) > 1e6 and metric in launch["metrics"]]
        off = [(name, ours, theirs) for name, ours, theirs in both if abs(ours / theirs - 1) > 0.1]
        named = ", ".join(f"{name} {ours / 1e6:.2f} for {theirs / 1e6:.2f} MB" for name, ours, theirs in off)
        print(f"\n{metric}: {len(both) - len(off)} of {len(both)} launches within 10 %{': ' if off else ''}{named}")


def print_speed(speeds):
    """Millions of warp instructions a second of the processor, of commands that are not over at once."""
    speeds = sorted((rate, name) for rate, seconds, name in speeds if seconds >= 4)
    if speeds:
        print("\nM warp instructions a second: " + ", ".join(f"{name} {rate / 1e6:.2f}" for rate, name in speeds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="+", metavar="LIST")
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
    parser.add_argument("--without-tools", action="store_true", help="hide NVIDIA's assembler")
    parser.add_argument("--with", dest="with_", action="append", default=[], help="one more argument of `profile`")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)

    pairs, errors, silent, rows, compared, speeds = Pairs(), [], [], [], [], []
    listed = [(path.name, *program) for path in options.lists for program in programs(path)]
    for list_, name, arguments, kind in listed:
        if options.only and name not in options.only:
            continue
        answer = run(options, name, arguments)
        launches = [launch for launch in answer["launches"] if launch.get("imported")]
        if not launches:
            silent.append((name, answer["said"].strip().splitlines()[-1:] or [f"ended with {answer['status']}"]))
        before, own = (pairs.equal, pairs.all, pairs.unsaid), []
        for launch in launches:
            pairs.add(name, launch)
            kernel, ours, theirs = short(launch["kernel"]), launch["metrics"], launch["imported"]
            compared.append((f"{name}:{kernel}", launch))
            if CYCLES in ours and CYCLES in theirs:
                error = ours[CYCLES] / theirs[CYCLES] - 1
                estimated = bool((launch.get("timed") or {}).get("machine_code_estimated"))
                own.append(error)
                errors.append(Timed(
                    error, f"{name}:{kernel}", ours[CYCLES], theirs[CYCLES], theirs.get(DURATION, 0), list_, kind, estimated
                ))
            else:
                silent.append((f"{name}:{kernel}", [str(launch.get("untimed") or "no time")]))
        executed = sum(launch["metrics"].get(INSTRUCTIONS, 0) for launch in answer["launches"])
        if executed:
            speeds.append((executed / answer["processor"], answer["processor"], name))
        equal, all_, unsaid = (now - then for now, then in zip((pairs.equal, pairs.all, pairs.unsaid), before))
        cycles = " ".join(f"{100 * error:+.1f}" for error in own)
        rows.append(
            f"| {name} | {kind} | {len(launches)} | {equal} | {all_ - equal - unsaid} | {unsaid}"
            f" | {cycles} | {answer['seconds']:.1f} |"
        )
        print(rows[-1], file=sys.stderr, flush=True)

    print("| program | | launches | equal | not equal | not said | error of cycles, % | seconds |\n|---|---|---|---|---|---|---|---|")
    print(*rows, sep="\n")
    pairs.print()
    for name, why in silent:
        print(f"* {name}: {' '.join(why)}")
    print_errors([path.name for path in options.lists], errors)
    print_memory(compared)
    print_speed(speeds)


if __name__ == "__main__":
    main()
