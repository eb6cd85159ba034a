"""``pytest --warpgrind[=TOOL,…]``: the CUDA that tests call runs on simulated devices, and findings fail the tests.

The test process is started again under ``warpgrind exec``; with xdist its workers inherit that. After each test the
kernels that it left running are waited for, and what was found since the last look fails it, with the report in its output.

Tests that load PTX themselves have the fixture :func:`warpgrind_device`, with or without the option.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .module import Module

#: Set by ``warpgrind exec``: the folder in which processes note their launches.
SESSION = "WARPGRIND_SESSION"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpgrind")
    group.addoption(
        "--warpgrind",
        nargs="?",
        const="",
        default=None,
        metavar="TOOL,…",
        help="run CUDA on simulated devices; with tools: racecheck, initcheck, synccheck",
    )
    group.addoption(
        "--warpgrind-args", default="", metavar="ARGS", help="further options of `warpgrind exec`, in one string, such as '--suppressions known.toml'"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    args[:] = without_value(args)


def without_value(args: Sequence[str]) -> list[str]:
    """``--warpgrind tests`` is an option and a folder, which argparse would take for the option's value."""
    return ["--warpgrind=" if argument == "--warpgrind" else argument for argument in args]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "warpgrind(**options): options of `warpgrind.load` for the fixture warpgrind_device")
    config.addinivalue_line("markers", "real_device: needs a real CUDA device; skipped with --warpgrind")
    if config.getoption("--warpgrind") is None:
        return
    config.pluginmanager.register(Findings(), "warpgrind-findings")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Starts the process again where CUDA's libraries are ours."""
    if config.getoption("--warpgrind") is None or os.environ.get(SESSION) or config.option.help:
        return
    from ._command import path

    program = path()
    tools = [tool for tool in config.getoption("--warpgrind").split(",") if tool]
    command = [program, "exec", "--json", os.devnull]
    for tool in tools:
        command += ["--tool", tool]
    command += shlex.split(config.getoption("--warpgrind-args"))
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [*command, "--", sys.executable, "-m", "pytest", *without_value(config.invocation_params.args)])


class FreshDevice:
    """Loads modules on devices that nothing else was on; with one job, so that a seed gives one schedule."""

    def __init__(self, **options: Any) -> None:
        #: What modules are loaded with, unless a call says otherwise.
        self.options = {"jobs": 1, **options}

    def load(self, *sources: Any, **options: Any) -> Module:
        """As :func:`warpgrind.load`."""
        from . import load

        return load(*sources, **{**self.options, **options})

    def compile(self, source: str, **options: Any) -> Module:
        """As :func:`warpgrind.compile`; skips the test where NVRTC is not installed."""
        from . import nvrtc

        if not nvrtc.is_installed():
            pytest.skip("NVRTC is not installed")
        return nvrtc.compile(source, **{**self.options, **options})


@pytest.fixture
def warpgrind_device(request: pytest.FixtureRequest) -> FreshDevice:
    """A fresh simulated device: ``warpgrind_device.load(ptx)["kernel"][grid, block](…)``; findings are raised.

    It has the tools of ``--warpgrind=TOOL,…``, and the options of the marker ``warpgrind``.
    """
    tools = request.config.getoption("--warpgrind") or ""
    options: dict[str, Any] = {"tools": [tool for tool in tools.split(",") if tool]}
    for marker in reversed(list(request.node.iter_markers("warpgrind"))):
        options.update(marker.kwargs)
    return FreshDevice(**options)


class Findings:
    """Looks after each test at what its kernels did."""

    def __init__(self) -> None:
        folder = os.environ.get(SESSION, "")
        self._notes = os.path.join(folder, f"{os.getpid()}.jsonl")
        self._read = 0

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item.get_closest_marker("real_device"):
            pytest.skip("needs a real CUDA device")

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        found = self._since()
        if not found:
            return
        texts = [text(finding) for finding in found]
        if report.outcome != "passed":
            # It has failed for a reason of its own.
            report.sections.append(("Warpgrind", "\n".join(texts)))
        else:
            count = f"{len(found)} finding" + ("s" if len(found) > 1 else "")
            report.outcome = "failed"
            report.longrepr = f"warpgrind: {count} in the kernels of this test\n\n" + "\n".join(texts)

    def _since(self) -> list[dict[str, Any]]:
        """What was found since the last look and nobody expects, once all kernels have ended."""
        wait()
        if not os.path.exists(self._notes):
            return []
        with open(self._notes, "rb") as notes:
            notes.seek(self._read)
            lines = notes.readlines()
        # The last line may not be whole yet.
        lines = [line for line in lines if line.endswith(b"\n")]
        self._read += sum(map(len, lines))
        launches = [launch for launch in map(json.loads, lines) if launch.get("picked", True)]
        found = [finding for launch in launches for finding in launch.get("findings", ())]
        return [finding for finding in found if finding.get("status", "new") == "new"]


def wait() -> None:
    """Waits for the kernels of this process."""
    try:
        code = ctypes.CDLL("libwarpgrind_cuda.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return
    # Errors of kernels are the test's to see.
    code.warpgrind_cuCtxSynchronize()


def text(finding: dict[str, Any]) -> str:
    """A finding as a few lines."""
    lines = [f"{finding['kind']}: {finding['message']}", f"  in kernel {finding['kernel']}"]
    for place in (finding.get("place"), finding.get("other_place")):
        if place:
            cuda = [f"{at['file']}:{at['line']}" for at in place.get("cuda") or ()]
            ptx = place["ptx"]
            lines.append("  at " + ", ".join([*cuda, f"{ptx['file']}:{ptx['line']}"]))
    lines += [f"  note: {note}" for note in finding.get("notes", ())]
    lines += [f"  help: {advice}" for advice in finding.get("help", ())]
    return "\n".join(lines)
