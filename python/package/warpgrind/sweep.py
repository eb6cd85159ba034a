"""Thousands of launches, seeds and litmus tests over the workers of an engine that is there already.

An item of work is a file and how to look at it; workers run the command ``warpgrind`` for each, so that nothing that one
does reaches another. Results stream in, equal findings are one, and a journal keeps what was done:

>>> import warpgrind
>>> work = warpgrind.seeds("testdata/launches/saxpy_out_of_bounds.toml", range(3))
>>> result = warpgrind.sweep(work)
>>> result
<Sweep: 3 of 3 done, 3 with findings, 1 finding>
>>> found, = result.findings
>>> found.kind, found.kernel, len(found.seen)
('out-of-bounds', 'saxpy', 3)
>>> print(found.command)
warpgrind run --seed 0 testdata/launches/saxpy_out_of_bounds.toml
"""

from __future__ import annotations

import html
import json
import math
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._command import path
from ._native import Error
from .markup import preformatted

#: Items that are handed to the engine before the first must be done.
AHEAD = 1024


@dataclass(frozen=True)
class Work:
    """A file and how it is looked at: the verb of the command, its file, its options."""

    verb: str
    file: str
    options: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The command, to run it alone."""
        return ["warpgrind", self.verb, *self.options, self.file]


@dataclass(frozen=True)
class Result:
    """What came of an item of work."""

    work: Work
    #: The command's; ``None`` if there was no document.
    exit_code: int | None
    #: The command's JSON document.
    document: dict[str, Any] = field(repr=False)
    #: Why there is none, or what the command could not do.
    error: str | None = None

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What was found in launches."""
        return [of for launch in self.document.get("launches", ()) for of in launch["findings"]]


@dataclass
class Found:
    """A finding that items of work have in common."""

    kind: str
    kernel: str
    message: str
    #: Where: file and line, of CUDA if that is known, else of PTX; of both accesses of a race.
    places: tuple[str, ...]
    #: The items that found it.
    seen: list[Work]

    @property
    def command(self) -> str:
        """What shows it again."""
        first = min(self.seen, key=lambda work: (work.file, work.options))
        return shlex.join(first.command)


def launches(folder: str | os.PathLike[str], *, tools: Iterable[str] = (), seeds: Iterable[int] = (0,)) -> list[Work]:
    """Every launch file in a folder, as ``warpgrind exec --save-launches`` leaves them, once for each seed."""
    files = sorted(Path(folder).rglob("*.toml"))
    if not files:
        raise Error(f"there is no launch file in {folder}\nhelp: `warpgrind exec --save-launches FOLDER` writes them")
    every = list(seeds)
    return [work for file in files for work in _seeds(file, every, tools)]


def seeds(file: str | os.PathLike[str], seeds: Iterable[int], *, tools: Iterable[str] = ()) -> list[Work]:
    """A launch file under many schedules. One job and a seed give one schedule, so that each can be had again."""
    return _seeds(file, seeds, tools)


def _seeds(file: str | os.PathLike[str], seeds: Iterable[int], tools: Iterable[str]) -> list[Work]:
    chosen = [option for tool in tools for option in ("--tool", tool)]
    return [Work("run", os.fspath(file), ("--seed", str(seed), *chosen)) for seed in seeds]


def litmus_tests(folder: str | os.PathLike[str], *options: str) -> list[Work]:
    """Every litmus test in a folder, with options of ``warpgrind litmus``."""
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix in (".litmus", ".test") or _is_kernel(path))
    return [Work("litmus", os.fspath(file), options) for file in files]


def _is_kernel(path: Path) -> bool:
    return path.suffix == ".ptx" and b"//@ litmus" in path.read_bytes()


def run(work: Work) -> Result:
    """Does an item of work in this process's machine."""
    command = [path(), "--format", "json", "--jobs", "1", work.verb, *work.options, work.file]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip() or f"the command ended with {done.returncode} and said nothing"
        return Result(work, None, {}, said)
    error = document.get("error")
    return Result(work, document["exit_code"], document, error and error["message"])


class Sweep:
    """What came of all work so far."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.results: list[Result] = []
        self._found: dict[tuple[Any, ...], Found] = {}

    def add(self, result: Result) -> None:
        """Takes a result in; equal findings are merged."""
        self.results.append(result)
        for of in result.findings:
            places = tuple(_place(place) for place in (of["place"], of["other_place"]) if place)
            # Which access came first differs from schedule to schedule.
            key = (of["kind"], of["kernel"], tuple(sorted(places)))
            found = self._found.setdefault(key, Found(of["kind"], of["kernel"], of["message"], places, []))
            if result.work not in found.seen[-1:]:
                found.seen.append(result.work)

    @property
    def findings(self) -> list[Found]:
        """What was found, in the order of kernels and places."""
        return [self._found[key] for key in sorted(self._found, key=lambda key: (key[1], key[2], key[0]))]

    @property
    def failed(self) -> list[Result]:
        """Work of which nothing is known, with the reason."""
        return [result for result in self.results if result.error is not None]

    def __repr__(self) -> str:
        bad = sum(bool(result.findings) for result in self.results)
        failed = f", {len(self.failed)} failed" if self.failed else ""
        many = "" if len(self._found) == 1 else "s"
        return (
            f"<Sweep: {len(self.results)} of {self.total} done, {bad} with findings, "
            f"{len(self._found)} finding{many}{failed}>"
        )

    def _repr_html_(self) -> str:
        head = "<tr><th>finding</th><th>kernel</th><th>where</th><th>seen by</th><th>again</th></tr>"
        cells = [
            (of.kind, of.kernel, "\n".join(of.places), f"{len(of.seen)} of {self.total}", of.command)
            for of in self.findings
        ]
        rows = "".join(
            "<tr>" + "".join(f"<td>{preformatted(cell)}</td>" for cell in row) + "</tr>"
            for row in cells
        )
        return f"<div>{html.escape(repr(self))}<table>{head}{rows}</table></div>"


def _place(place: dict[str, Any]) -> str:
    at = next(iter(place["cuda"]), None) or place["ptx"] or {"file": place["function"], "line": 0}
    return f"{at['file']}:{at['line']}"


def sweep(
    work: Iterable[Work],
    executor: Any = None,
    *,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> Sweep:
    """Does all work and returns what came of it.

    executor: any ``concurrent.futures.Executor``, or a client of Dask's ``distributed``, which gives the work of a worker
        that dies to others; without one as many commands run as this machine has cores. Workers need this package, and
        the files at the same paths.
    journal: a file to which each result is added when it is there. With ``resume`` what stands in it is not done again.
    progress: whether a line on standard error says how far it is; where that is a terminal, if not said.
    on_result: is called with each result, in the order in which they come.

    If the engine ends, or Ctrl-C is pressed, the exception has what is known so far as ``sweep``.
    """
    work = list(dict.fromkeys(work))
    result = Sweep(len(work))
    kept = _read(journal) if journal is not None and resume else {}
    for item in work:
        if item in kept:
            result.add(kept[item])
    left = [item for item in work if item not in kept]
    show = _Progress(sys.stderr.isatty() if progress is None else progress, len(result.results))
    notes = None if journal is None else open(journal, "a" if resume else "w", encoding="utf-8")
    own = ThreadPoolExecutor(os.cpu_count()) if executor is None else None
    engine = own or (executor.get_executor() if hasattr(executor, "get_executor") else executor)
    try:
        for done in _stream(engine, left):
            if notes is not None:
                notes.write(_line(done))
                notes.flush()
            result.add(done)
            show(result)
            if on_result is not None:
                on_result(done)
    except BaseException as error:
        error.sweep = result  # type: ignore[attr-defined]
        raise
    finally:
        show.end()
        if notes is not None:
            notes.close()
        if own is not None:
            own.shutdown(cancel_futures=True)
    return result


def _stream(engine: Executor, work: list[Work]) -> Iterator[Result]:
    """Results as they come, with a bounded number of items under way."""
    waiting = iter(work)
    under_way: dict[Future[Result], Work] = {}

    def fill() -> None:
        for item in waiting:
            under_way[engine.submit(run, item)] = item
            if len(under_way) >= AHEAD:
                break

    fill()
    try:
        while under_way:
            # One at a time: what is put in meanwhile is waited for, too.
            done = next(as_completed(under_way))
            del under_way[done]
            yield done.result()
            fill()
    finally:
        for future in under_way:
            future.cancel()


def _line(result: Result) -> str:
    work = {"verb": result.work.verb, "file": result.work.file, "options": result.work.options}
    of = {"work": work, "exit_code": result.exit_code, "document": result.document, "error": result.error}
    return json.dumps(of) + "\n"


def _read(journal: str | os.PathLike[str]) -> dict[Work, Result]:
    """What a journal holds; a last line that is not whole was not done."""
    kept: dict[Work, Result] = {}
    try:
        lines = Path(journal).read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return kept
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        # What is added later begins a line of its own.
        Path(journal).write_text("".join(whole), encoding="utf-8")
    for number, line in enumerate(whole, 1):
        try:
            of = json.loads(line)
            work = Work(of["work"]["verb"], of["work"]["file"], tuple(of["work"]["options"]))
            kept[work] = Result(work, of["exit_code"], of["document"], of["error"])
        except (ValueError, KeyError, TypeError):
            raise Error(f"{os.fspath(journal)}:{number} is no line of a journal") from None
    return kept


class _Progress:
    """A line that says how far it is, how fast it goes and how long it will take, twice a second at most."""

    def __init__(self, shown: bool, kept: int) -> None:
        self._shown, self._last, self._width = shown, 0.0, 0
        self._kept, self._began = kept, time.monotonic()

    def __call__(self, sweep: Sweep) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last <= 0.5 and len(sweep.results) < sweep.total:
            return
        # What a journal knew was not done now.
        rate = (len(sweep.results) - self._kept) / max(now - self._began, 1e-9)
        left = sweep.total - len(sweep.results)
        line = f"{repr(sweep)[1:-1]}, {rate:.1f} a second" + (f", {_duration(left / rate)} left" if left and rate else "")
        padding = " " * (self._width - len(line))
        self._last, self._width = now, len(line)
        print(f"\r{line}{padding}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._width:
            print(file=sys.stderr)


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
