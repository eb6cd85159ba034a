"""Litmus tests: what the PTX memory model allows a small program to do, and why.

>>> import warpgrind
>>> verdict = warpgrind.litmus('''PTX MP
... { data=0; flag=0; }
...  P0@cta 0,gpu 0          | P1@cta 1,gpu 0           ;
...  st.weak data, 1         | ld.acquire.gpu r0, flag  ;
...  st.release.gpu flag, 1  | ld.weak r1, data         ;
... exists (1:r0 == 1 /\\\\ 1:r1 == 0)''')
>>> verdict
<Verdict of MP: forbidden>
>>> verdict.holds
False
>>> for outcome in verdict.outcomes:
...     print(outcome.values)
{'1:r0': 0, '1:r1': 0}
{'1:r0': 0, '1:r1': 1}
{'1:r0': 1, '1:r1': 1}
>>> verdict.cuts[0].axiom
'Causality'
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from . import _native
from ._native import Error
from .drawing import Arrow, svg

#: What tests are written in: herd7's format, NVIDIA's, or PTX with a ``//@ litmus`` header.
Form = Literal["litmus", "nvlitmus", "ptx"]
#: What is asked of a test.
Property = Literal["assertion", "termination", "races", "barrier-divergence"]

_FORMS: dict[str, Form] = {".test": "nvlitmus", ".ptx": "ptx"}


@dataclass(frozen=True)
class Event:
    """What an instruction does to memory in one execution."""

    #: A short name: ``a``, ``b``, ..., or ``ix`` for the initial value of ``x``.
    label: str
    #: The number of its thread; initial values have none.
    thread: int | None
    #: The line of the test, from 1; 0 for initial values.
    line: int
    #: The instruction.
    text: str
    #: What it does: ``R y = 1``, ``F.sc.gpu``.
    action: str


@dataclass(frozen=True)
class Execution:
    """One execution: events, and relations between them as pairs of their indices."""

    name: str
    events: tuple[Event, ...]
    #: ``po``, ``rf``, ``co``, ``fr``, ``sc``, ``sync``; orders as their immediate steps.
    relations: dict[str, tuple[tuple[int, int], ...]]

    def _repr_svg_(self) -> str:
        arrows = [Arrow(*edge, name) for name, edges in self.relations.items() for edge in edges]
        return svg(self.events, arrows, self.name)


@dataclass(frozen=True)
class Step:
    """An edge of a cycle, between events by index."""

    source: int
    relation: str
    target: int


@dataclass(frozen=True)
class Cut:
    """An execution that an axiom forbids, with the cycle that breaks it."""

    name: str
    axiom: str
    #: The section of the PTX manual that states it.
    section: str
    events: tuple[Event, ...]
    #: Reads with the writes that they read from, by index.
    reads_from: tuple[tuple[int, int], ...]
    cycle: tuple[Step, ...]

    def __str__(self) -> str:
        label = [event.label for event in self.events]
        steps = [f"{label[step.source]} -{step.relation}-> {label[step.target]}" for step in self.cycle]
        return f"{self.axiom} ({self.section}): {', '.join(steps)}"

    def _repr_svg_(self) -> str:
        bold = {(step.source, step.target): step.relation for step in self.cycle}
        arrows = [Arrow(*edge, "po", bold.get(edge) == "po") for edge in self._program_order()]
        arrows += [Arrow(write, read, "rf") for read, write in self.reads_from]
        drawn = {(arrow.source, arrow.target) for arrow in arrows if arrow.bold}
        arrows += [
            Arrow(step.source, step.target, step.relation, True)
            for step in self.cycle
            if (step.source, step.target) not in drawn
        ]
        return svg(self.events, arrows, f"{self.name}: forbidden by {self.axiom}")

    def _program_order(self) -> list[tuple[int, int]]:
        last: dict[int, int] = {}
        edges = []
        for at, event in enumerate(self.events):
            if event.thread is not None:
                if event.thread in last:
                    edges.append((last[event.thread], at))
                last[event.thread] = at
        return edges


@dataclass(frozen=True)
class Outcome:
    """Values that the observed registers and locations have together in the end."""

    values: dict[str, int]
    #: Whether the assertion's condition holds of it.
    satisfies: bool
    #: Whether the model allows it, if that is known.
    allowed: bool | None
    #: How many executions show it, with ``count=True``.
    executions: int | None
    #: How many instances on the simulator showed it, with ``simulate=``.
    simulated: int | None


@dataclass(frozen=True)
class Simulated:
    """How the instances on the simulator went."""

    #: Those that ended.
    complete: int
    #: Those with a thread that gave up waiting.
    incomplete: int
    #: Why there are no more of them, or none.
    error: str | None


@dataclass(frozen=True)
class Race:
    """Two accesses that race."""

    #: ``mixed-size``, ``proxy``, ``insufficient scope``, ``weak against strong`` or ``weak against weak``.
    kind: str
    #: Thread, line and text of each.
    accesses: tuple[tuple[int, int, str], ...]

    def __str__(self) -> str:
        both = [f"P{thread}:{line} `{text}`" for thread, line, text in self.accesses]
        return f"{' and '.join(both)}, {self.kind}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """What the memory model says of a test."""

    name: str
    #: The model that was asked.
    model: str
    #: What was asked: the assertion, or a property.
    asked: str
    #: As it stands in the test.
    assertion: str | None
    #: Whether the assertion, or the property, holds; ``None`` if that is not decided or not defined.
    holds: bool | None
    #: ``allowed``, ``forbidden``, ``always``, ``not always``; ``terminates``, ``may run for ever``; ``race-free``,
    #: ``racy``; ``converges``, ``diverges``; ``undefined``, ``unknown``.
    verdict: str
    #: Why it is unknown or undefined, or what it depends on.
    reason: str | None
    #: Seconds that the check took.
    seconds: float
    #: How often loops were entered at most.
    bound: int
    outcomes: tuple[Outcome, ...]
    #: Whether these are all.
    outcomes_complete: bool
    simulated: Simulated | None
    race: Race | None
    #: One that decides the verdict, if there is one.
    execution: Execution | None
    #: What forbids the executions that would decide it otherwise.
    cuts: tuple[Cut, ...]

    @property
    def alarms(self) -> tuple[Outcome, ...]:
        """Outcomes that the simulator showed and the model forbids: there should be none."""
        return tuple(outcome for outcome in self.outcomes if outcome.simulated and outcome.allowed is False)

    def __repr__(self) -> str:
        return f"<Verdict of {self.name}: {self.verdict}>"

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}" + (f", {self.assertion}" if self.assertion else "")]
        lines += [f"  {self.reason}"] if self.reason else []
        lines += [f"  race: {self.race}"] if self.race else []
        lines += [f"  {cut}" for cut in self.cuts]
        for outcome in self.outcomes:
            values = ", ".join(f"{name} = {value}" for name, value in outcome.values.items())
            lines.append(f"  {values}" + "".join(f", {cell}" for cell in self._remarks(outcome)))
        return "\n".join(lines)

    def _remarks(self, outcome: Outcome) -> list[str]:
        remarks = ["satisfies the condition"] if outcome.satisfies else []
        if outcome.allowed is not True:
            remarks.append("forbidden" if outcome.allowed is False else "not decided")
        if outcome.executions is not None:
            remarks.append(f"{outcome.executions} executions")
        if outcome.simulated is not None:
            remarks.append(f"seen {outcome.simulated} times")
        return remarks

    def _repr_svg_(self) -> str | None:
        """The execution that decides it, or the first one that is forbidden."""
        shown = self.execution or next(iter(self.cuts), None)
        return None if shown is None else shown._repr_svg_()

    def _repr_html_(self) -> str:
        colour = {True: "#2e7d32", False: "#b00020", None: "#8a5a00"}[self.holds]
        head = f'<b>{html.escape(self.name)}</b>: <b style="color:{colour}">{html.escape(self.verdict)}</b>'
        lines = [head + (f" <code>{html.escape(self.assertion)}</code>" if self.assertion else "")]
        lines += [html.escape(text) for text in (self.reason, self.race and f"race: {self.race}") if text]
        parts = [f"<div>{'<br>'.join(lines)}</div>", self._table()]
        picture = self._repr_svg_()
        return f"<div>{''.join(parts)}{picture or ''}</div>"

    def _table(self) -> str:
        if not self.outcomes:
            return ""
        names = list(self.outcomes[0].values)
        counted = any(outcome.executions is not None for outcome in self.outcomes)
        seen = self.simulated is not None
        heads = [*names, "condition", "model", *["executions"] * counted, *["simulated"] * seen]
        rows = []
        for outcome in self.outcomes:
            judged = {True: "allowed", False: "forbidden", None: "not decided"}[outcome.allowed]
            cells: list[object] = [*outcome.values.values(), "holds" if outcome.satisfies else "", judged]
            cells += [outcome.executions] * counted + [outcome.simulated] * seen
            weight = ' style="font-weight:bold"' if outcome.satisfies else ""
            rows.append(f"<tr{weight}>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
        more = "" if self.outcomes_complete else "<tr><td>and perhaps others</td></tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}{more}</tbody></table>"


def litmus(
    test: str | bytes | os.PathLike[str],
    *,
    name: str | None = None,
    form: Form | None = None,
    model: str | os.PathLike[str] = "isa",
    property: Property = "assertion",
    bound: int | None = None,
    count: bool = False,
    explain: bool = True,
    timeout: float = 120.0,
    simulate: int | None = None,
    weak: bool = False,
    seed: int = 1,
) -> Verdict:
    """Decides what the memory model allows a litmus test to do.

    test: the text of a test, or a path to a file. A text is told from a path by its lines.
    name: of several tests in a text, the one of this name.
    form: what it is written in; files say it by their ending, texts with a ``//@ litmus`` line are PTX.
    model: ``isa``, the newest text of the manual; ``cat-7.5`` and ``cat-6.0``, the published models; ``sc``; or a path
        to a file in the cat language.
    property: what is asked: the ``assertion`` as written, ``termination``, ``races``, ``barrier-divergence``.
    bound: how often a loop is entered; without it 1, 2, 4 and 8 are tried until the verdict is settled.
    count: whether the executions behind each outcome are counted.
    explain: whether an execution, or what forbids it, is given.
    timeout: seconds after which the verdict is ``unknown``. Ctrl-C ends the check.
    simulate, weak, seed: how many instances run on the simulator, whether its memory shows weak behaviour, and what
        chooses schedules.

    Raises :class:`LitmusError` with every mistake at its place.
    """
    text, title, form = _read(test, form)
    chosen = os.fspath(model)
    file = chosen if chosen.endswith(".cat") else None
    built_in = "isa" if file else chosen
    found = _native.litmus(
        text, title, form, built_in, file, property, bound, count, explain, timeout, simulate, weak, seed
    )
    names = [of["name"] for of in found]
    if name is not None:
        found = [of for of in found if of["name"] == name]
    if len(found) != 1:
        wrong = f"there is no test `{name}`" if name is not None else f"there are {len(names)} tests"
        raise Error(f"{wrong} in {title}\nhelp: `name=` chooses one of {', '.join(names)}")
    return _verdict(found[0], chosen, property)


def _read(test: str | bytes | os.PathLike[str], form: Form | None) -> tuple[bytes, str, Form]:
    if isinstance(test, bytes) or isinstance(test, str) and "\n" in test:
        text = test.encode() if isinstance(test, str) else test
        return text, "<litmus>", form or ("ptx" if b"//@ litmus" in text else "litmus")
    path = Path(os.fspath(test))
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from None
    return text, str(path), form or _FORMS.get(path.suffix, "litmus")


def _events(of: Sequence[_native.LitmusEvent]) -> tuple[Event, ...]:
    return tuple(Event(**event) for event in of)


def _verdict(of: _native.LitmusTest, model: str, property: str) -> Verdict:
    name, shown, race = of["name"], of["execution"], of["race"]
    execution = shown and Execution(
        name, _events(shown["events"]), {relation: tuple(sorted(edges)) for relation, edges in shown["relations"]}
    )
    cuts = [
        Cut(
            name,
            cut["axiom"],
            cut["section"],
            _events(cut["events"]),
            tuple(cut["reads_from"]),
            tuple(Step(*step) for step in cut["cycle"]),
        )
        for cut in of["cuts"]
    ]
    outcomes = [
        Outcome(dict(zip(of["observables"], outcome["values"], strict=True)), *_judged(outcome)) for outcome in of["outcomes"]
    ]
    return Verdict(
        name,
        model,
        property,
        of["assertion"],
        of["holds"],
        of["verdict"],
        of["reason"],
        of["seconds"],
        of["bound"],
        tuple(outcomes),
        of["outcomes_complete"],
        of["simulated"] and Simulated(**of["simulated"]),
        race and Race(race["class"], tuple(race["accesses"])),
        execution,
        tuple(cuts),
    )


def _judged(of: _native.LitmusOutcome) -> tuple[bool, bool | None, int | None, int | None]:
    return of["satisfies"], of["allowed"], of["executions"], of["simulated"]
