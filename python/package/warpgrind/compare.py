"""A launch on the simulator beside expected arrays, a recording, or a CUDA device.

>>> import numpy as np, warpgrind
>>> kernel = warpgrind.load("testdata/ptx/sm_90-lineinfo/saxpy.ptx")["saxpy"]
>>> x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
>>> plan = kernel.plan(1, 256, 256, 2.0, x, y)
>>> warpgrind.compare(plan, expected={"saxpy_param_3": 2 * x + 1})
<Comparison of saxpy with expected arrays: agrees>
>>> comparison = warpgrind.compare(plan, expected={"saxpy_param_3": 2 * x})
>>> comparison.buffers[0].differing, comparison.buffers[0].first
(256, 0)
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from ._command import path as command
from ._native import Error, LaunchError, Plan
from .markup import preformatted

#: Element types of arrays as numpy has them; of those that it does not have, the bits.
_BITS = {"bf16": "u2", "e4m3": "u1", "e5m2": "u1"}


class DifferenceError(Error):
    """Two sides that had to agree do not; :attr:`comparison` says where."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(str(comparison))
        self.comparison = comparison


@dataclass(frozen=True)
class DeviceIdentity:
    """A CUDA device, for those who read about it."""

    name: str
    #: Its compute capability.
    capability: str
    #: The CUDA version of its driver.
    cuda: str
    #: Whether its compiler was allowed to fuse products and sums.
    contraction: bool
    #: How much its compiler optimised, 0 to 4.
    optimization: int

    def __str__(self) -> str:
        return f"{self.name} (CUDA {self.cuda})"


@dataclass(frozen=True)
class LaunchEnd:
    """How a launch ended on one side."""

    #: The class of what stopped it: ``illegal-address``, ``trap``, ...; ``None`` if it completed.
    fault: str | None
    message: str
    #: What it printed.
    output: str


@dataclass(frozen=True)
class LaunchDifference:
    """A launch on both sides. A side that stopped earlier has none; nor have expected arrays."""

    kernel: str
    simulator: LaunchEnd | None
    other: LaunchEnd | None
    same_end: bool
    #: Of what was printed: ``equal``, ``other-order``, ``different``, ``not-compared``.
    printed: str


@dataclass(frozen=True)
class BufferDifference:
    """An array on both sides."""

    name: str
    simulator: np.ndarray = field(repr=False)
    other: np.ndarray = field(repr=False)
    #: Values compared.
    values: int
    #: Values that are not accepted.
    differing: int
    #: The index of the first of them, in the order of memory.
    first: int | None
    #: The largest distance, accepted or not, in units in the last place or as a difference of integers.
    largest: int
    #: How far values are apart, and how many are.
    histogram: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        if not self.differing:
            return f"{self.name}: {self.values} values agree"
        at = np.unravel_index(self.first or 0, self.simulator.shape)
        where = f"first at [{', '.join(str(int(axis)) for axis in at)}]: {self.simulator[at]}, not {self.other[at]}"
        return f"{self.name}: {self.differing} of {self.values} values differ, by {self.largest} at most; {where}"


@dataclass(frozen=True, repr=False)
class Comparison:
    """What the simulator made of a launch beside what something else did."""

    kernels: tuple[str, ...]
    #: The other side: a device, the name of a recording's device, or ``None`` for expected arrays.
    device: DeviceIdentity | None
    agrees: bool
    #: Whose doing a difference is, if it is known: ``simulator``, ``optimiser`` or ``order``.
    cause: str | None
    #: Whether the PTX has products and sums that a compiler may fuse.
    contractable: bool
    launches: tuple[LaunchDifference, ...]
    buffers: tuple[BufferDifference, ...]

    def check(self) -> Comparison:
        """Itself, or :class:`DifferenceError` if the sides do not agree."""
        if not self.agrees:
            raise DifferenceError(self)
        return self

    def _of(self) -> str:
        other = "expected arrays" if self.device is None else str(self.device)
        return f"{', '.join(dict.fromkeys(self.kernels))} with {other}: {'agrees' if self.agrees else 'differs'}"

    def __repr__(self) -> str:
        return f"<Comparison of {self._of()}>"

    def __str__(self) -> str:
        lines = [self._of()]
        for launch in self.launches:
            if not launch.same_end:
                both = (("simulator", launch.simulator), ("other", launch.other))
                sides = [f"{side}: {end.message}" for side, end in both if end]
                lines.append(f"  {launch.kernel} ends otherwise: {'; '.join(sides)}")
            if launch.printed == "different":
                lines.append(f"  {launch.kernel} prints something else")
        lines += [f"  {buffer}" for buffer in self.buffers]
        lines += [f"  the difference is the {self.cause}'s doing"] if self.cause else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "<tr><th>array</th><th>values</th><th>differing</th><th>largest</th><th>how far apart</th></tr>"
        rows = "".join(
            f"<tr><td>{html.escape(of.name)}</td><td>{of.values}</td><td>{of.differing}</td><td>{of.largest}</td>"
            f"<td>{html.escape(', '.join(f'{count} {name}' for name, count in of.histogram))}</td></tr>"
            for of in self.buffers
        )
        return f"<div>{preformatted(str(self))}<table>{head}{rows}</table></div>"


def compare(
    launch: Plan | str | os.PathLike[str],
    *,
    expected: Mapping[str, Any] | None = None,
    ulp: int | None = None,
    abs: float = 0.0,
    rel: float = 0.0,
    nan_bits: bool = False,
    recording: str | os.PathLike[str] | None = None,
    device: int = 0,
    driver: str | os.PathLike[str] | None = None,
    optimization: int = 4,
    contraction: bool = True,
    as_optimised: bool = False,
    packed: bool = False,
    jobs: int = 0,
    timeout: float = 60.0,
) -> Comparison:
    """Runs a launch on the simulator, and sets what it leaves beside ``expected`` arrays, a ``recording``, or a device.

    launch: of :meth:`Kernel.plan`, or a launch file.
    expected: arrays by name; those of a plan are named as the kernel's parameters.
    ulp: how many units in the last place values may be apart. With expected arrays ``abs`` and ``rel`` are accepted, too,
        and any NaN equals any other unless ``nan_bits``. Without ``ulp``, a device's bits must be the simulator's.
    recording: a file of :func:`record`.
    device, driver: the device's number and the driver's library, if neither is given above.
    optimization: how much the device's compiler optimises, 0 to 4.
    contraction, as_optimised: as for :func:`load`.
    packed: buffers of the device side by side, rather than each at the end of its pages.
    jobs, timeout: worker threads of the simulator; seconds that a launch may take.

    Raises :class:`NoDeviceError` if there is no device, and :class:`RecordingError` if the recording is of something else.
    """
    if expected is not None and recording is not None:
        raise LaunchError("compare with expected arrays or with a recording, not with both")
    if expected is None and (abs or rel or nan_bits):
        raise LaunchError("`abs`, `rel` and `nan_bits` are for expected arrays\nhelp: `ulp` is for devices and recordings")
    plan = _plan(launch)
    # A device is used by a process of the command's.
    program = "" if expected is not None or recording is not None else command()
    how = _how(jobs, timeout, optimization, contraction, as_optimised, driver, device, packed, program)
    if expected is not None:
        wanted = [buffer(name, np.asarray(values)) for name, values in expected.items()]
        return _comparison(plan, plan.with_expected(how, wanted, (ulp or 0, abs, rel, nan_bits)))
    if recording is not None:
        return _comparison(plan, plan.with_recording(how, ulp, os.fspath(recording)))
    return _comparison(plan, plan.with_device(how, ulp))


def record(
    launch: Plan | str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    device: int = 0,
    driver: str | os.PathLike[str] | None = None,
    optimization: int = 4,
    contraction: bool = True,
    packed: bool = False,
    timeout: float = 60.0,
) -> DeviceIdentity:
    """Runs a launch on a CUDA device and keeps what it gives in a file, to :func:`compare` with where there is none.

    Raises :class:`NoDeviceError` if there is no device.
    """
    plan = _plan(launch)
    how = _how(0, timeout, optimization, contraction, False, driver, device, packed, command())
    identity, content = plan.record(how)
    Path(file).write_bytes(content)
    return DeviceIdentity(**identity)


def _plan(launch: Plan | str | os.PathLike[str]) -> Plan:
    return launch if isinstance(launch, Plan) else Plan.read(os.fspath(launch))


def _how(
    jobs: int,
    timeout: float,
    optimization: int,
    contraction: bool,
    as_optimised: bool,
    driver: str | os.PathLike[str] | None,
    device: int,
    packed: bool,
    program: str,
) -> _native.How:
    return {
        "jobs": jobs,
        "timeout": timeout,
        "optimization": optimization,
        "contraction": contraction,
        "as_optimised": as_optimised,
        "driver": None if driver is None else os.fspath(driver),
        "device": device,
        "packed": packed,
        "program": program,
    }


def buffer(name: str, array: np.ndarray) -> _native.BufferOf:
    """An array taken apart; what is no number of a device's is taken as its bytes."""
    if array.dtype.hasobject:
        raise LaunchError(f"`{name}` is an array of Python objects, which no device can hold")
    whole = np.ascontiguousarray(array)
    if whole.dtype.kind == "b":
        whole = whole.view(np.uint8)
    if whole.dtype.kind not in "iuf" or whole.dtype.itemsize > 8:
        whole = np.frombuffer(whole.tobytes(), np.uint8)
    shape = array.shape if whole.size == array.size else whole.shape
    return name, whole.dtype.name, list(shape), whole.tobytes()


def _comparison(plan: Plan, of: _native.Compared) -> Comparison:
    def end(of: _native.End | None) -> LaunchEnd | None:
        return of and LaunchEnd(*of)

    def array(of: _native.Differing, content: bytes) -> np.ndarray:
        element = of["element"]
        kind = _BITS.get(element) or f"{element[0]}{int(element[1:]) // 8}"
        return np.frombuffer(content, kind).reshape(of["shape"])

    identity = of["identity"]
    launches = [
        LaunchDifference(one["kernel"], end(one["simulator"]), end(one["other"]), one["same_end"], one["printed"])
        for one in of["launches"]
    ]
    buffers = [
        BufferDifference(
            one["name"],
            array(one, one["simulator"]),
            array(one, one["other"]),
            one["values"],
            one["differing"],
            one["first"],
            one["largest"],
            tuple(one["histogram"]),
        )
        for one in of["buffers"]
    ]
    return Comparison(
        tuple(plan.kernels),
        identity and DeviceIdentity(**identity),
        of["agrees"],
        of["cause"],
        of["contractable"],
        tuple(launches),
        tuple(buffers),
    )
