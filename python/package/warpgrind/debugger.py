"""A launch under a debugger that goes back, for scripts that explore.

>>> import numpy as np, warpgrind
>>> kernel = warpgrind.load("testdata/ptx/sm_90-lineinfo/saxpy.ptx")["saxpy"]
>>> x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
>>> with kernel[1, 256].debug(256, 2.0, x, y) as debugger:
...     stop = debugger.last_write("saxpy_param_3[3]") if debugger.goto("end").reason == "ended" else None
...     print(stop.reason, stop.thread, stop.old, stop.new)
watchpoint (3, 0, 0) 1 7
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import _native
from ._native import LaunchError, Plan

Position = int | tuple[int, ...]


@dataclass(frozen=True)
class Frame:
    """A call frame, or a function that is inlined into the next one."""

    function: str
    #: The CUDA source and line, or those of the PTX where they are not known.
    file: str
    line: int
    #: The line in the PTX text.
    ptx: int
    #: Position of the instruction in the code.
    position: int
    #: The instruction that is executed next in it, as PTX has it.
    instruction: str
    inlined: bool


@dataclass(frozen=True)
class Stop:
    """Why a launch stands still, and where."""

    #: ``breakpoint``, ``watchpoint``, ``finding``, ``stepped``, ``condition`` (it cannot be computed), ``exited``, ``ended``,
    #: ``interrupted``, ``beginning``.
    reason: str
    #: What the command would print of a finding or of a condition.
    text: str
    #: Numbers of the breakpoints, or of the watchpoint.
    breakpoints: tuple[int, ...]
    #: The number of the finding, as :meth:`Debugger.findings` counts them.
    finding: int | None
    #: What watched memory held before and holds then, and how it is accessed: ``read``, ``write`` or ``atomic``.
    old: str | None
    new: str | None
    access: str | None
    #: Warp instructions that have run.
    time: int
    #: The thread in focus.
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    warp: int
    lane: int
    #: Where it is, in the selected frame; ``None`` if it is not there any more.
    place: Frame | None

    def __str__(self) -> str:
        where = "" if self.place is None else f" at {self.place.file}:{self.place.line}"
        return f"{self.reason}{where}, block {self.block}, thread {self.thread}, time {self.time}"


@dataclass(frozen=True)
class Group:
    """Lanes of a warp that are at one place."""

    block: tuple[int, int, int]
    warp: int
    #: One bit a lane.
    lanes: int
    #: What they wait for: ``barrier 1``, ``lanes 0x3``, ``cluster``, ``warpgroup``; ``None`` if they can run.
    waits: str | None
    file: str
    line: int
    instruction: str


@dataclass(frozen=True)
class Known:
    """A finding that can be gone to."""

    number: int
    #: Warp instructions that had run behind it, once that is known.
    time: int | None
    kind: str
    text: str


class Debugger:
    """A launch that runs step by step, forward and back, on a simulated device of its own: arrays that it was given stay as
    they are.

    Places are ``FILE:LINE``, a line, a kernel or function, or ``*POSITION``, expressions those of C, as at the prompt of
    ``warpgrind debug``. It is a context manager; :meth:`close` ends it.
    """

    def __init__(
        self,
        plan: Plan | str | os.PathLike[str],
        *,
        launch: int = 0,
        tools: str | Iterable[str] = (),
        seed: int = 0,
        source_root: str | os.PathLike[str] | None = None,
    ) -> None:
        """plan: a launch (:meth:`Kernel.plan`), or the path of a launch file.

        launch: which of its launches; those before run first.
        tools: ``racecheck`` and others, whose findings are then known from the beginning: the launch runs once before.
        seed: chooses the schedule; 0 is round robin.
        source_root: folder that paths of CUDA sources are relative to.
        """
        if not isinstance(plan, Plan):
            plan = Plan.read(os.fspath(plan))
        tools = [tools] if isinstance(tools, str) else list(tools)
        root = None if source_root is None else os.fspath(source_root)
        self._native = _native.Debugger(plan, launch, tools, seed, root)
        self._by_warp = False
        self._stops_at_findings = True

    def __enter__(self) -> Debugger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; what is left of the launch is not run."""
        self._native.close()

    # What it stands still at.

    def break_at(self, place: str | int, condition: str | None = None, *, temporary: bool = False) -> int:
        """Has it stand still before a place, where a condition holds in any thread there; the breakpoint's number.

        Raises :class:`Error` if no code is there.
        """
        number, positions = self._native.add_breakpoint(str(place), condition, temporary)
        if not positions:
            self._native.delete(number)
            raise LaunchError(f"no code is at {place}")
        return number

    def watch(self, expression: str, *, reads: bool = False, writes: bool = True) -> int:
        """Has it stand still behind accesses to what an expression lies at; the watchpoint's number."""
        return self._native.add_watchpoint(expression, reads, writes)

    def delete(self, number: int | None = None) -> None:
        """Takes a breakpoint or watchpoint away, or all of them."""
        if not self._native.delete(number):
            raise LaunchError(f"there is no breakpoint {number}")

    @property
    def steps_by_warp(self) -> bool:
        """Whether steps are those of all lanes of the warp in focus; otherwise they are those of the thread."""
        return self._by_warp

    @steps_by_warp.setter
    def steps_by_warp(self, value: bool) -> None:
        self._by_warp = value
        self._native.set(self._by_warp, self._stops_at_findings)

    @property
    def stops_at_findings(self) -> bool:
        """Whether it stands still where something is found."""
        return self._stops_at_findings

    @stops_at_findings.setter
    def stops_at_findings(self, value: bool) -> None:
        self._stops_at_findings = value
        self._native.set(self._by_warp, self._stops_at_findings)

    # Running.

    def run(self) -> Stop:
        """From the beginning of the launch to the next stop."""
        return _stop(self._native.restart())

    def continue_(self) -> Stop:
        """On to the next stop."""
        return _stop(self._native.go_on())

    def step(self, times: int = 1) -> Stop:
        """To another line of the source."""
        return _stop(self._native.step("step", times))

    def next(self, times: int = 1) -> Stop:
        """The same, over calls."""
        return _stop(self._native.step("next", times))

    def stepi(self, times: int = 1) -> Stop:
        """One instruction of PTX."""
        return _stop(self._native.step("stepi", times))

    def nexti(self, times: int = 1) -> Stop:
        """The same, over calls."""
        return _stop(self._native.step("nexti", times))

    def finish(self) -> Stop:
        """Out of the function."""
        return _stop(self._native.step("finish", 1))

    def until(self, place: str | int | None = None) -> Stop:
        """Until the thread in focus is at a place; without one, at a line further down."""
        if place is None:
            return _stop(self._native.step("until", 1))
        return _stop(self._native.advance_to(str(place)))

    # Going back.

    def reverse_continue(self) -> Stop:
        """Back to the last stop."""
        return _stop(self._native.go_back())

    def reverse_step(self, times: int = 1) -> Stop:
        """Back to the line before."""
        return _stop(self._native.step_back("step", times))

    def reverse_next(self, times: int = 1) -> Stop:
        """The same, over calls."""
        return _stop(self._native.step_back("next", times))

    def reverse_stepi(self, times: int = 1) -> Stop:
        """One instruction back."""
        return _stop(self._native.step_back("stepi", times))

    def reverse_nexti(self, times: int = 1) -> Stop:
        """The same, over calls."""
        return _stop(self._native.step_back("nexti", times))

    def reverse_finish(self) -> Stop:
        """Back to the call of the function."""
        return _stop(self._native.step_back("finish", 1))

    def goto(self, time: int | str) -> Stop:
        """To when so many warp instructions have run; ``"start"`` and ``"end"``."""
        if time == "start":
            return _stop(self._native.go_to(0))
        if time == "end":
            return _stop(self._native.go_to((1 << 64) - 1))
        return _stop(self._native.go_to(int(time)))

    def last_write(self, expression: str) -> Stop:
        """Back to the last write of what an expression lies at: before the instruction, with its thread in focus."""
        return _stop(self._native.last_write(expression))

    def open(self, finding: int, *, other: bool = False) -> Stop:
        """To a finding: before the instruction that it is about; with ``other`` to the earlier of its two accesses."""
        return _stop(self._native.open(finding, other))

    # Looking.

    @property
    def stop(self) -> Stop:
        """Where it stands."""
        return _stop(self._native.where_it_is())

    def focus(self, *, block: Position | None = None, thread: Position | None = None) -> Stop:
        """Puts a thread into focus: by its block in the grid and its position in the block."""
        return _stop(self._native.focus(_position(block), _position(thread)))

    def frame(self, number: int) -> Stop:
        """Selects a call frame; the innermost is 0."""
        return _stop(self._native.frame(number))

    @property
    def frames(self) -> list[Frame]:
        """Those of the thread in focus, the innermost first."""
        return [Frame(**frame) for frame in self._native.frames()]

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression in the selected frame: a number (addresses and enumerators, too), a truth value, a list of
        an array's elements, or a dictionary of a structure's members."""
        return self._native.value(expression)

    def __setitem__(self, place: str, value: Any) -> None:
        """Changes memory or a register. From there on the launch goes another way; going back behind it takes it back."""
        self._native.assign(f"{place} = {_written(value)}")

    def text(self, expression: str, format: str | None = None) -> str:
        """A value as the prompt shows it; formats are gdb's letters."""
        return self._native.text(expression, format)

    def type(self, text: str) -> str:
        """The type of an expression, or one that is named, with its parts."""
        return self._native.type_of(text)

    def across(self, expression: str, *, block: bool = False) -> dict[tuple[int, int, int], Any]:
        """The values in all threads of the warp in focus, or of its block; ``None`` where a thread is elsewhere or gone."""
        return dict(self._native.across(expression, block))

    def read(self, address: int, count: int, *, space: str = "global") -> bytes:
        """Memory: ``global``, or offsets of ``shared``, ``local`` or ``param``."""
        return self._native.read(space, address, count)

    def write(self, address: int, values: bytes, *, space: str = "global") -> None:
        """Changes memory, as :meth:`__setitem__` does."""
        self._native.write(space, address, values)

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters of the function by name, where debug information names them."""
        return self._named("arguments")

    @property
    def locals(self) -> dict[str, Any]:
        """Variables in scope by name; ``None`` for what has no value here."""
        return self._named("locals")

    @property
    def shared(self) -> dict[str, Any]:
        """Variables of the block's shared memory."""
        return self._named("shared")

    @property
    def registers(self) -> dict[str, Any]:
        """Registers by their names in PTX."""
        return self._named("registers")

    @property
    def buffers(self) -> list[str]:
        """The names of arrays that the launch was given; they are values of expressions."""
        return self._native.names("buffers")

    @property
    def findings(self) -> list[Known]:
        """What was found so far, or is known from a tool."""
        return [Known(*finding) for finding in self._native.findings()]

    @property
    def groups(self) -> list[Group]:
        """Where the lanes of all resident warps are, and what they wait for."""
        return [Group(**group) for group in self._native.warps()]

    @property
    def output(self) -> str:
        """What the kernel printed so far."""
        return self._native.output().decode(errors="replace")

    def _named(self, of: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name in self._native.names(of):
            try:
                values[name] = self._native.value(name)
            except _native.Error:
                values[name] = None
        return values

    def __repr__(self) -> str:
        try:
            return f"<Debugger: {self.stop}>"
        except _native.Error as error:
            return f"<Debugger: {error}>"


def _stop(native: Any) -> Stop:
    place = native.pop("place")
    native["breakpoints"] = tuple(native["breakpoints"])
    return Stop(**native, place=None if place is None else Frame(**place))


def _position(of: Position | None) -> tuple[int, int, int] | None:
    if of is None:
        return None
    parts = tuple(int(part) for part in of) if isinstance(of, (tuple, list)) else (int(of),)
    if not 1 <= len(parts) <= 3 or any(not 0 <= part < 1 << 32 for part in parts):
        raise LaunchError(f"{of!r} is no position\nhelp: one to three numbers from 0 on")
    x, y, z = parts + (0,) * (3 - len(parts))
    return x, y, z


def _written(value: Any) -> str:
    """A number as expressions have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return value
    if hasattr(value, "item"):
        return _written(value.item())
    raise LaunchError(f"a {type(value).__name__} is no value of a register or of memory")
