#!/usr/bin/env python3
"""Runs the suites of clients under `warpgrind exec`, and compares what they say with what is expected.

    suites/run.py --python env/bin/python --sources DIR [SUITE …]

`suites.toml` beside this file says what each suite consists of, how many of its tests pass, and why the others do not. A suite
is run where its package is installed for one of the Pythons, and the project's sources are in the folder of its name in DIR; a
crate of Rust is its sources, which Cargo builds. A
test that ends the process or its CUDA context takes no other test along: the rest goes on in a new process. The exit status is 1
if a test failed that should not have, or the numbers differ.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: Outcomes that want an explanation.
FAILURES = ("failed", "crashed")


def installed(python, distribution):
    """The version of a distribution that a Python has."""
    program = f"from importlib.metadata import version; print(version({distribution!r}))"
    tried = subprocess.run([python, "-c", program], capture_output=True, text=True)
    return tried.stdout.strip() if tried.returncode == 0 else None


def outcomes_in(file):
    """(outcome, why) by test, and whether the last process came to its end."""
    outcomes, ended = {}, False
    if file.exists():
        for line in map(json.loads, file.read_text().splitlines()):
            ended = "ended" in line
            if "test" in line:
                outcomes[line["test"]] = (line["outcome"], line["why"])
    return outcomes, ended


def run_shard(suite, part, file, start, folder, environment, log, end):
    """The outcomes of a part's shard, in as many processes as it takes; what is known when the time is over."""
    while True:
        before = len(outcomes_in(file)[0])
        limit = None if math.isinf(end) else max(end - time.monotonic(), 1)
        try:
            subprocess.run(
                [*start, *part.split()],
                cwd=folder, env=environment | {"SUITE_OUTCOMES": str(file)}, timeout=limit,
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            pass
        found, ended = outcomes_in(file)
        if ended or len(found) == before or time.monotonic() >= end:
            break
    prefix = part + " " if len(suite["tests"]) > 1 and "::" not in part else ""
    found = {name if name.startswith(part) else prefix + name: was for name, was in found.items()}
    if not ended:
        found[" ".join(part.split())] = ("failed", "its tests did not come to their end; the log says why")
    return found


def run_pytest(name, suite, python, folder, command, environment, options):
    """Runs each part of a suite, each of its shards in a process of its own."""
    through = ["-m", suite["through"]] if command and "through" in suite else []
    pytest = ["-m", "pytest", "-q", "-p", "outcomes", f"--rootdir={folder}", "--continue-on-collection-errors"]
    # Each process shall see the tests in the same order.
    pytest += ["-p", "no:randomly"]
    start = [*command, python, "-P", "-W", "ignore", *through, *pytest, *suite.get("arguments", [])]
    environment |= {"SUITE_LIMIT": str(suite.get("limit", 120)), "SUITE_SAMPLE": str(suite.get("sample", 0))}
    outcomes, running = {}, []
    end = time.monotonic() + options.seconds
    with (
        tempfile.TemporaryDirectory() as scratch,
        open(options.logs / f"{name}.log", "w") as log,
        concurrent.futures.ThreadPoolExecutor(options.jobs) as pool,
    ):
        if options.only_failed:
            before = json.loads(options.only_failed.read_text()).get(name, {})
            only = Path(scratch) / "only.json"
            only.write_text(json.dumps([test for test, (outcome, _) in before.items() if outcome in FAILURES]))
            environment["SUITE_ONLY"] = str(only)
        for number, part in enumerate(suite["tests"]):
            for shard in range(options.jobs):
                file = Path(scratch) / f"{number}-{shard}.jsonl"
                own = environment | {"SUITE_SHARD": f"{shard}/{options.jobs}"}
                running.append(pool.submit(run_shard, suite, part, file, start, folder, own, log, end))
        for shard in running:
            outcomes |= shard.result()
    return outcomes


#: What the tests of a crate say of each, between which kernels print, and before what one that failed has said.
CARGO_TEST = re.compile(r"^test (?=.+ \.\.\. )", re.MULTILINE)
CARGO_OUTCOME = re.compile(r"(ok|FAILED|ignored)(?:, .*)?$", re.MULTILINE)
CARGO_FAILURE = re.compile(r"^---- (.+?) stdout ----\n(.*?)(?=^---- |^failures:$)", re.MULTILINE | re.DOTALL)
CARGO_WORDS = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def run_cargo(name, suite, folder, command, environment, options):
    """Builds the tests of a crate, and runs them one after the other."""
    cargo = ["cargo", "test", "--no-fail-fast", *suite["cargo"].split()]
    built = subprocess.run([*cargo, "--no-run"], cwd=folder, env=environment, capture_output=True, text=True)
    if built.returncode:
        return f"its tests are not built: {built.stderr.strip().splitlines()[-1:]}"
    limit = None if math.isinf(options.seconds) else options.seconds
    start = [*command, *cargo, "--", "--test-threads=1", *suite.get("arguments", [])]
    try:
        ran = subprocess.run(
            start, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, errors="replace"
        )
        said = ran.stdout
    except subprocess.TimeoutExpired as over:
        said = (over.stdout or b"").decode(errors="replace")
    (options.logs / f"{name}.log").write_text(said)
    outcomes = {}
    for one in CARGO_TEST.split(said)[1:]:
        test, _, words = one.partition(" ... ")
        if outcome := CARGO_OUTCOME.search(words):
            outcomes[test.removesuffix(" - should panic")] = (CARGO_WORDS[outcome[1]], "")
    for test, words in CARGO_FAILURE.findall(said):
        lines = [line.strip() for line in words.splitlines() if line.strip()]
        panic = next((at for at, line in enumerate(lines) if "panicked at" in line), -1)
        outcomes[test] = ("failed", " ".join(lines[panic + 1 : panic + 2]))
    if "test result:" not in said:
        outcomes["the whole"] = ("failed", "its tests did not come to their end; the log says why")
    return outcomes


def run(name, suite, options):
    """The version that is here and the outcomes of a suite, or why it is not run."""
    folder = options.sources / suite.get("sources", name) if options.sources else None
    if not (folder and folder.is_dir()):
        return None, "no sources"
    command = [] if options.real_device else [options.warpgrind, "exec", "--memory", suite.get("memory", "8G")]
    command += [*suite.get("options", []), "--"] if command else []
    if "cargo" in suite:
        version = tomllib.loads((folder / "Cargo.toml").read_text())["package"]["version"]
        environment = dict(os.environ) | suite.get("environment", {})
        return version, run_cargo(name, suite, folder, command, environment, options)
    found = ((python, installed(python, suite["distribution"])) for python in options.python)
    python, version = next(((python, version) for python, version in found if version), (None, None))
    if python is None:
        return None, "not installed"
    if missing := [needed for needed in suite.get("needs", []) if installed(python, needed) is None]:
        return None, f"not installed: {', '.join(missing)}"
    # The suite runs in another folder.
    python = os.path.abspath(python) if os.sep in python else python
    # pytest names tests by their files in the folder only if both are told without links.
    folder = (folder / suite.get("folder", ".")).resolve()
    environment = dict(os.environ)
    environment.pop("LD_LIBRARY_PATH", None)
    paths = [str(HERE), *(str(folder / path) for path in suite.get("paths", [])), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    environment |= suite.get("environment", {})
    return version, run_pytest(name, suite, python, folder, command, environment, options)


def judge(suite, outcomes):
    """Failures without an explanation, and explanations without a failure."""
    failed = {test: why for test, (outcome, why) in outcomes.items() if outcome in FAILURES}
    unexplained, unused = dict(failed), []
    for known in suite.get("failing", []):
        for key, of in (("tests", lambda test: test), ("messages", failed.get)):
            for pattern in known.get(key, []):
                matching = [test for test in failed if fnmatch.fnmatchcase(of(test), pattern)]
                unused += [] if matching else [pattern]
                for test in matching:
                    unexplained.pop(test, None)
    return unexplained, unused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--warpgrind", default="warpgrind", help="the command")
    parser.add_argument("--python", action="append", default=[], help="a Python that has clients; may be given again")
    parser.add_argument("--sources", type=Path, help="a folder with projects' sources, each in a folder of its name")
    parser.add_argument("--logs", type=Path, default=Path("suite-logs"), help="where what the suites print goes")
    parser.add_argument("--table", type=Path, default=HERE / "suites.toml", help="what there is and what is expected of it")
    parser.add_argument("--json", type=Path, help="writes the outcome of each test to this file")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side, which share a suite's tests")
    parser.add_argument("--seconds", type=float, default=math.inf, help="how long a suite may run")
    parser.add_argument("--real-device", action="store_true", help="on this machine's GPU instead, to compare")
    parser.add_argument("--only-failed", type=Path, metavar="JSON", help="only what failed in the run that wrote this file")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="which suites; all without a name")
    options = parser.parse_args()
    options.sources = options.sources and options.sources.resolve()
    if os.sep in options.warpgrind:
        options.warpgrind = os.path.abspath(options.warpgrind)
    options.logs.mkdir(parents=True, exist_ok=True)
    suites = tomllib.loads(options.table.read_text())
    if unknown := [name for name in options.suites if name not in suites]:
        parser.error(f"no suite {unknown[0]}; there are {', '.join(suites)}")
    everything, wrong = {}, False
    row = "{:<16} {:<10} {:>7} {:>7} {:>8} {:>8}  {}"
    print(row.format("suite", "version", "passed", "failed", "skipped", "seconds", "as expected"))
    for name in options.suites or suites:
        suite, begun = suites[name], time.monotonic()
        version, outcomes = run(name, suite, options)
        if isinstance(outcomes, str):
            print(row.format(name, "", "", "", "", "", f"not run: {outcomes}"), flush=True)
            continue
        everything[name] = outcomes
        count = collections.Counter("failed" if outcome == "crashed" else outcome for outcome, _ in outcomes.values())
        numbers = {word: count[word] for word in ("passed", "failed", "skipped")}
        unexplained, passing = judge(suite, outcomes)
        same_version = version == suite.get("version")
        expected = suite.get("expected", numbers) if same_version else numbers
        alike = not unexplained and numbers == expected
        wrong |= not alike
        verdict = "yes" if alike and same_version else "yes, but another version" if alike else "NO"
        seconds = round(time.monotonic() - begun)
        print(row.format(name, version or "", *numbers.values(), seconds, verdict), flush=True)
        if numbers != expected:
            print(f"    expected: {', '.join(f'{number} {word}' for word, number in expected.items())}")
        for test, why in unexplained.items():
            print(f"    not explained: {test}: {why}")
        for pattern in passing:
            print(f"    nothing fails of: {pattern}")
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))
    sys.exit(wrong)


if __name__ == "__main__":
    main()
