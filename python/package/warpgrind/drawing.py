"""Executions of litmus tests as pictures: a column a thread, program order downwards, relations as arrows.

The layout is what diagrams of executions have everywhere, and follows from threads and program order alone; a general
layout of graphs would lose the columns.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

#: Pixels: of a character of the monospaced font, of a box, and between boxes.
CHARACTER, LINE, MARGIN, COLUMN_GAP, ROW_GAP = 7.3, 16, 10, 130, 34

#: Colours of relations; those of other names are purple.
COLOURS = {"po": "#777777", "rf": "#c62828", "co": "#1565c0", "fr": "#d84315", "sync": "#2e7d32"}

#: Where on the height of a box arrows of a relation begin and end, so that they do not lie on each other.
HEIGHTS = {"rf": 0.3, "co": 0.45, "fr": 0.7, "sync": 0.15, "sc": 0.85}


class Shown(Protocol):
    """An event, as far as it is drawn."""

    @property
    def label(self) -> str: ...
    @property
    def thread(self) -> int | None: ...
    @property
    def line(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def action(self) -> str: ...


@dataclass(frozen=True)
class Arrow:
    """An edge of a relation between events by index."""

    source: int
    target: int
    relation: str
    #: Whether it is what the picture is about.
    bold: bool = False


@dataclass(frozen=True)
class _Box:
    column: int
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def svg(events: Sequence[Shown], arrows: Iterable[Arrow], title: str) -> str:
    """The picture, as a document of its own."""
    arrows = list(arrows)
    boxes, heads, width, height = _places(events, arrows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="ui-monospace, monospace" font-size="12">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#ffffff"/>',
        _text(width / 2, MARGIN + 13, title, 'text-anchor="middle" font-weight="bold" fill="#222222"'),
    ]
    for x, y, name in heads:
        parts.append(_text(x, y, name, 'text-anchor="middle" font-weight="bold" fill="#555555"'))
    names = sorted({(arrow.relation, _colour(arrow)) for arrow in arrows})
    tips = {colour: f"tip{at}" for at, colour in enumerate(sorted({colour for _, colour in names}))}
    for colour, tip in tips.items():
        parts.append(
            f'<marker id="{tip}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        )
    labels = []
    # Lines first, then what is read.
    drawn: set[tuple[int, int]] = set()
    for arrow in arrows:
        ends = arrow.source, arrow.target
        path, x, y = _path(boxes, arrow, ends in drawn)
        drawn.add(ends)
        colour = _colour(arrow)
        stroke = f'stroke="{colour}" stroke-width="{2.4 if arrow.bold else 1.3}"'
        parts.append(f'<path d="{path}" fill="none" {stroke} marker-end="url(#{tips[colour]})"/>')
        halo = 'stroke="#ffffff" stroke-width="4" paint-order="stroke" text-anchor="middle"'
        labels.append(_text(x, y + 4, arrow.relation, f'{halo} fill="{colour}"'))
    for at, event in sorted(boxes.items()):
        parts += _event(events[at], event)
    return "".join([*parts, *labels, "</svg>"])


def _lines(event: Shown) -> list[str]:
    head = f"{event.label}: {event.action}"
    return [head] if event.thread is None else [head, f"{event.text}  (line {event.line})"]


def _places(
    events: Sequence[Shown], arrows: Sequence[Arrow]
) -> tuple[dict[int, _Box], list[tuple[float, float, str]], float, float]:
    """Boxes by event, the names above columns, and the size of all."""
    used = {end for arrow in arrows for end in (arrow.source, arrow.target)}
    first = [at for at, event in enumerate(events) if event.thread is None and at in used]
    threads = sorted({event.thread for event in events if event.thread is not None})
    boxes: dict[int, _Box] = {}
    heads: list[tuple[float, float, str]] = []
    top = MARGIN + 30
    x = float(MARGIN)
    if first:
        for at in first:
            width = _width([events[at]])
            boxes[at] = _Box(-1, x, top, width, LINE + 8)
            x += width + 30
    wide = x - 30 if first else 0.0
    below = top + (LINE + 8 + 40 if first else 0) + 22
    # Two names stand side by side between columns.
    longest = max((len(arrow.relation) for arrow in arrows), default=0)
    apart = max(COLUMN_GAP, 2 * longest * CHARACTER + 70)
    x, lowest = MARGIN + (50.0 if first else 20.0), below
    for column, thread in enumerate(threads):
        members = [at for at, event in enumerate(events) if event.thread == thread]
        width, y = _width([events[at] for at in members]), below
        heads.append((x + width / 2, below - 8, f"P{thread}"))
        for at in members:
            boxes[at] = _Box(column, x, y, width, 2 * LINE + 10)
            y += 2 * LINE + 10 + ROW_GAP
        lowest = max(lowest, y - ROW_GAP)
        x += width + apart
    lanes = ROW_GAP / 2 if any(_passes(boxes, arrow) for arrow in arrows) else 0
    bulge = 60 if any(_bulges(boxes, arrow) for arrow in arrows) else 0
    return boxes, heads, max(x - apart + bulge + 20, wide) + MARGIN, lowest + 2 * MARGIN + lanes


def _width(events: Iterable[Shown]) -> float:
    longest = max(len(line) for event in events for line in _lines(event))
    return longest * CHARACTER + 18


def _bulges(boxes: dict[int, _Box], arrow: Arrow) -> bool:
    """Whether it leads round other boxes of its own column."""
    one, other = boxes[arrow.source], boxes[arrow.target]
    return one.column == other.column and not (other.y > one.y and other.y - one.y < one.height + ROW_GAP + 1)


def _passes(boxes: dict[int, _Box], arrow: Arrow) -> bool:
    """Whether it leads below the columns between."""
    one, other = boxes[arrow.source], boxes[arrow.target]
    return min(one.column, other.column) >= 0 and abs(one.column - other.column) > 1


def _path(boxes: dict[int, _Box], arrow: Arrow, another: bool) -> tuple[str, float, float]:
    """The line of an arrow, and where its name stands; ``another`` one has the same ends."""
    one, other = boxes[arrow.source], boxes[arrow.target]
    share = HEIGHTS.get(arrow.relation, 0.6)
    if one.column < 0 <= other.column:
        # From an initial value, down beside the column.
        x, y, lane = other.x, other.y + share * other.height, other.x - 14 - 22 * share
        middle, below = one.middle, one.y + one.height
        path = f"M{middle:.1f} {below:.1f}C{middle:.1f} {below + 30:.1f} {lane:.1f} {below + 4:.1f} {lane:.1f} {below + 40:.1f}"
        return f"{path}L{lane:.1f} {y - 12:.1f}Q{lane:.1f} {y:.1f} {x:.1f} {y:.1f}", lane, y - 18
    if _passes(boxes, arrow):
        # Between the rows, so that it does not pass behind the boxes of the columns between.
        right = one.column < other.column
        step = 26 if right else -26
        x1, x2 = (one.x + one.width, other.x) if right else (one.x, other.x + other.width)
        y1, y2 = one.y + share * one.height, other.y + share * other.height
        gap = one.y - ROW_GAP / 2 if other.y < one.y else one.y + one.height + ROW_GAP / 2
        gap += (share - 0.5) * ROW_GAP / 2
        path = f"M{x1:.1f} {y1:.1f}Q{x1 + step:.1f} {y1:.1f} {x1 + step:.1f} {(y1 + gap) / 2:.1f}"
        path += f"T{x1 + 2 * step:.1f} {gap:.1f}L{x2 - 2 * step:.1f} {gap:.1f}"
        path += f"Q{x2 - step:.1f} {gap:.1f} {x2 - step:.1f} {(y2 + gap) / 2:.1f}T{x2:.1f} {y2:.1f}"
        return path, x1 + 2.4 * step, gap
    if one.column != other.column:
        right = one.column < other.column
        x1, x2 = (one.x + one.width, other.x) if right else (one.x, other.x + other.width)
        y1, y2 = one.y + share * one.height, other.y + share * other.height
        bend = (x2 - x1) / 3
        path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        # Near its beginning, so that the names of arrows that cross do not meet; of two that do not cross, one near its end.
        half = len(arrow.relation) * CHARACTER / 2 + 12
        share = half / abs(x2 - x1)
        # A line that bends leaves its beginning slowly, and comes to its end so.
        along = (half if right else -half), (y2 - y1) * share * (0.4 + share)
        return (path, x2 - along[0], y2 - along[1]) if another else (path, x1 + along[0], y1 + along[1])
    if _bulges(boxes, arrow):
        x = one.x + one.width
        y1, y2 = one.y + share * one.height, other.y + share * other.height
        return f"M{x:.1f} {y1:.1f}C{x + 70:.1f} {y1:.1f} {x + 70:.1f} {y2:.1f} {x:.1f} {y2:.1f}", x + 54, (y1 + y2) / 2
    # To the next one of its thread: program order in the middle, others beside it.
    x = one.x + one.width * (0.5 if arrow.relation == "po" else 0.25 + share / 1.5)
    return f"M{x:.1f} {one.y + one.height:.1f}L{x:.1f} {other.y:.1f}", x + 16, (one.y + one.height + other.y) / 2


def _colour(arrow: Arrow) -> str:
    return "#6a1b9a" if arrow.bold else COLOURS.get(arrow.relation, "#6a1b9a")


def _event(event: Shown, box: _Box) -> list[str]:
    initial = event.thread is None
    corner, fill = (12, "#f4f4f4") if initial else (4, "#eef3fb")
    parts = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{corner}" '
        f'fill="{fill}" stroke="#8a97ab"/>'
    ]
    for at, line in enumerate(_lines(event)):
        colour = "#111111" if at == 0 else "#5f6b7a"
        parts.append(_text(box.x + 9, box.y + LINE * (at + 1) + 1, line, f'fill="{colour}"'))
    return parts


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style} xml:space="preserve">{html.escape(text)}</text>'
