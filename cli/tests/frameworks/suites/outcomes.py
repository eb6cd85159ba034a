"""A pytest plugin: writes the outcome of each test down as soon as it is known, and goes on where a process ended.

A test may end its process, or the CUDA context that the tests of a process share. What was known by then is in the
file that `SUITE_OUTCOMES` names, a line of JSON a test; the next process takes the tests that are not in it. Several
processes may share a suite: each takes the tests of its shard.
"""

import ctypes
import faulthandler
import json
import os
import re
import sys

import pytest

FILE = os.environ["SUITE_OUTCOMES"]
#: Seconds that a test may take.
LIMIT = float(os.environ["SUITE_LIMIT"])
#: Which of how many shards this process runs.
SHARD, SHARDS = map(int, os.environ.get("SUITE_SHARD", "0/1").split("/"))
#: How many of a test's parameters are run at most; all without a number.
SAMPLE = int(os.environ.get("SUITE_SAMPLE", "0"))
#: A file with the tests that are run alone, as a JSON list; all without it.
ONLY = os.environ.get("SUITE_ONLY")

#: What a context answers once a kernel's error has ended it.
LOST = {700, 702, 710, 714, 715, 716, 717, 718, 719, 721}


def write(**line):
    with open(FILE, "a") as out:
        out.write(json.dumps(line) + "\n")


def known():
    """The tests that have begun in an earlier process."""
    if not os.path.exists(FILE):
        return set()
    with open(FILE) as lines:
        return {line["test"] for line in map(json.loads, lines) if "test" in line}


def context_is_lost():
    """Whether the device's primary context, which frameworks use, answers nothing but an error any more."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    state, flags, context = ctypes.c_int(), ctypes.c_uint(), ctypes.c_void_p()
    driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(state))
    if not state.value or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) != 0:
        return False
    driver.cuCtxPushCurrent_v2(context)
    lost = driver.cuCtxSynchronize() in LOST
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))
    driver.cuDevicePrimaryCtxRelease_v2(0)
    return lost


def sample(items):
    """The same tests with few of their parameters each, which lie evenly among all of them."""
    alike = {}
    for item in items:
        # pytest has parameters in brackets, absl numbers them.
        alike.setdefault(re.sub(r"(\[.*|\d+)$", "", item.nodeid), []).append(item)
    kept = set()
    for several in alike.values():
        count = min(SAMPLE, len(several))
        kept.update(several[number * len(several) // count] for number in range(count))
    return [item for item in items if item in kept]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    begun = known()
    chosen = sample(items) if SAMPLE else items
    if ONLY:
        with open(ONLY) as only:
            wanted = set(json.load(only))
        chosen = [item for item in items if item.nodeid in wanted]
    own = chosen[SHARD::SHARDS]
    left = [item for item in own if item.nodeid not in begun]
    kept = set(left)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = left


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    write(test=item.nodeid, outcome="crashed", why="it ended the process, or took too long")
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=sys.__stderr__)
    item.suite_outcome = ("passed", "")
    yield
    faulthandler.cancel_dump_traceback_later()
    outcome, why = item.suite_outcome
    if context_is_lost():
        # Later tests get a new one; that a test passes and leaves it so is no good sign.
        item.session.shouldstop = "the context is lost"
        outcome, why = "failed", why or "it left a lost context"
    write(test=item.nodeid, outcome=outcome, why=why)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    report = result.get_result()
    if report.outcome == "passed" or item.suite_outcome[0] == "failed":
        return
    why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longreprtext
    lines = [line for line in str(why).splitlines() if line.strip()] or [""]
    errors = [line for line in lines if line.startswith("E ")] or lines[-1:]
    # The first line of pytest's that has an error says what was raised.
    item.suite_outcome = ("skipped" if report.skipped else "failed", errors[0].lstrip("E ")[:300])


def pytest_collectreport(report):
    if report.failed:
        lines = report.longreprtext.splitlines()
        errors = [line for line in lines if line.startswith("E ")] or lines[-1:] or [""]
        write(test=report.nodeid, outcome="failed", why="not collected: " + errors[-1].lstrip("E ")[:300])


def pytest_sessionfinish(session):
    if not session.shouldstop:
        write(ended=True)
