"""What a launch costs, by Nsight Compute's names."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .markup import preformatted

if TYPE_CHECKING:
    from . import _native
    from .report import Report

#: Groups of numbers, in the order in which they are shown.
SECTIONS = ("launch", "occupancy", "memory", "instructions", "source", "code")


@dataclass(frozen=True)
class Metric:
    """A number with its unit."""

    name: str
    #: ``inst``, ``sector``, ``byte``, ``%``, or nothing.
    unit: str
    #: The group that it belongs to: ``launch``, ``occupancy``, ``memory``, ``instructions``.
    section: str
    value: float

    @property
    def text(self) -> str:
        """As it stands in tables."""
        return f"{self.value:.0f}" if self.value == int(self.value) else f"{self.value:.2f}"


@dataclass(frozen=True)
class Opcode:
    """How often machine instructions of an opcode were executed."""

    name: str
    warps: int
    threads: int


class Profile(Mapping[str, float]):
    """The numbers of a launch by name, as ``warpgrind profile`` gives them.

    What accesses cost is counted as an H200 counts it; registers and shared memory are ptxas's where it is found, and machine
    instructions are known with ptxas and nvdisasm.
    """

    def __init__(self, native: _native.Profile, report: Report) -> None:
        #: The kernel's PTX name.
        self.kernel: str = native["kernel"]
        #: The launch.
        self.report = report
        #: The release of the assembler; without one, registers are an estimate.
        self.ptxas: str | None = native["ptxas"]
        self.metrics: tuple[Metric, ...] = tuple(
            Metric(name, unit, section, value) for name, unit, section, value in native["values"]
        )
        #: Warps whose way through the machine code is known, and those of whom it is not; ``None`` without machine code.
        self.warps_followed: tuple[int, int] | None = native["warps"]
        #: Machine instructions by opcode, if the way of all warps is known.
        self.opcodes: tuple[Opcode, ...] = tuple(Opcode(*of) for of in native["opcodes"])
        #: The lines that have the most of what could be avoided.
        self.lines: str = native["lines"]
        self._by_name = {metric.name: metric for metric in self.metrics}

    def __getitem__(self, name: str) -> float:
        return self._by_name[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def metric(self, name: str) -> Metric:
        """The number of a name with its unit."""
        return self._by_name[name]

    def __repr__(self) -> str:
        return f"<Profile of {self.kernel}: {len(self)} numbers>"

    def __str__(self) -> str:
        width = max((len(name) for name in self), default=0)
        rows = [f"  {metric.name:<{width}}  {metric.text} {metric.unit}".rstrip() for metric in self.metrics if metric.value]
        return "\n".join([f"{self.kernel}: {self._how()}", *rows, *self.lines.splitlines()])

    def _how(self) -> str:
        return f"ptxas {self.ptxas}" if self.ptxas else "registers and shared memory are an estimate, as ptxas is not found"

    def _repr_html_(self) -> str:
        parts = [f"<div><b>{html.escape(self.kernel)}</b>, {html.escape(self._how())}</div>"]
        for section in SECTIONS:
            rows = "".join(
                f"<tr><td><code>{html.escape(metric.name)}</code></td><td>{metric.text}</td><td>{metric.unit}</td></tr>"
                for metric in self.metrics
                if metric.section == section and metric.value
            )
            if rows:
                shown = " open" if section == "memory" else ""
                parts.append(f"<details{shown}><summary>{section}</summary><table>{rows}</table></details>")
        if self.opcodes:
            rows = "".join(
                f"<tr><td><code>{html.escape(of.name)}</code></td><td>{of.warps}</td><td>{of.threads}</td></tr>"
                for of in self.opcodes
            )
            head = "<tr><th>opcode</th><th>warps</th><th>threads</th></tr>"
            parts.append(f"<details><summary>machine instructions</summary><table>{head}{rows}</table></details>")
        if self.lines:
            parts.append(preformatted(self.lines))
        return f"<div>{''.join(parts)}</div>"
