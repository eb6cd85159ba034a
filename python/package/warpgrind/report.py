"""What came of a launch: how it ended, what was found, what it did."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import Any

from ._native import Error, Report as _Report
from .markup import preformatted
from .profile import Profile


@dataclass(frozen=True)
class Place:
    """A place in PTX, with the lines of CUDA that it was compiled from, innermost inlined call first."""

    file: str
    line: int
    column: int
    function: str
    text: str
    cuda: tuple[tuple[str, int, int], ...] = ()

    @classmethod
    def _of(cls, of: dict[str, Any] | None) -> Place | None:
        if of is None:
            return None
        ptx = of["ptx"]
        cuda = tuple((at["file"], at["line"], at["column"]) for at in of.get("cuda") or ())
        return cls(ptx["file"], ptx["line"], ptx["column"], of["function"], ptx.get("text", ""), cuda)


@dataclass(frozen=True)
class Finding:
    """Something that a kernel does wrong; equal ones of several threads are one. ``str`` gives it as the command prints it."""

    #: The stable name of what it is: ``out-of-bounds``, ``data-race``, ...
    kind: str
    #: Whether the thread could not go on.
    fault: bool
    message: str
    notes: tuple[str, ...]
    help: tuple[str, ...]
    kernel: str
    place: Place | None
    #: The other access of a race, say.
    other_place: Place | None
    #: How often it happened over all threads.
    count: int
    #: All of it, as ``warpgrind run --format json`` gives it.
    json: dict[str, Any] = field(repr=False, compare=False)
    text: str = field(repr=False, compare=False)

    @classmethod
    def _of(cls, document: str, text: str) -> Finding:
        of = json.loads(document)
        return cls(
            of["kind"],
            of["fault"],
            of["message"],
            tuple(of["notes"]),
            tuple(of["help"]),
            of["kernel"],
            Place._of(of["place"]),
            Place._of(of["other_place"]),
            of["count"],
            of,
            text,
        )

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        colour = "#b00020" if self.fault else "#8a5a00"
        title = f'<b style="color:{colour}">{html.escape(self.kind)}</b> in <code>{html.escape(self.kernel)}</code>'
        return f"<div>{title}{preformatted(self.text)}</div>"


class Report:
    """What came of a launch."""

    def __init__(self, native: _Report) -> None:
        self._native = native
        self._findings: tuple[Finding, ...] | None = None

    @property
    def outcome(self) -> str:
        """``completed``, ``faulted``, ``deadlock``, ``limit-reached`` or ``unsupported``."""
        return self._native.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, equal ones once; the first hundred are kept."""
        if self._findings is None:
            self._findings = tuple(Finding._of(*of) for of in self._native.findings())
        return self._findings

    @property
    def is_clean(self) -> bool:
        """Whether every thread ended and nothing was found."""
        return self._native.found == 0 and self._native.outcome == "completed"

    @property
    def output(self) -> str:
        """What the kernel printed."""
        return self._native.output.decode(errors="replace")

    @property
    def stats(self) -> dict[str, Any]:
        """What the kernel did: instructions, branches, barriers, seconds, and memory traffic if it is counted."""
        stats: dict[str, Any] = self.to_dict()["stats"]
        return stats

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """What tools measured."""
        metrics: list[dict[str, Any]] = self.to_dict().get("metrics", [])
        return metrics

    @property
    def profile(self) -> Profile | None:
        """What it costs, if it was launched with ``profile=True``."""
        native = self._native.profile
        return None if native is None else Profile(native, self)

    @property
    def text(self) -> str:
        """The findings as the command prints them, and how the launch ended."""
        return "".join(finding.text for finding in self.findings) + self._native.summary

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``warpgrind run --format json`` gives it for a launch."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        found = self._native.found
        kernel = self.to_dict()["kernel"]
        return f"<Report of {kernel}: {self.outcome}{f', {found} found' if found else ''}>"

    def _repr_html_(self) -> str:
        rows = "".join(finding._repr_html_() for finding in self.findings)
        return f"<div>{rows}{preformatted(self._native.table)}</div>"


class FindingError(Error):
    """A kernel did something wrong; :attr:`report` says all of it."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.text)
        self.report = report
