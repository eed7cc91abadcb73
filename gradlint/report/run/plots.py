"""Plots as SVG, in the colours of the page around them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise, zip_longest
from typing import TypeGuard

Values = Sequence["float | None"]

_WIDTH, _HEIGHT = 480, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 8, 10, 28
_SPARK = (140, 26)


def chart(title: str, points: Sequence[int], values: Values) -> str:
    """Return values over iterations with axes: a logarithmic one where they span more than two powers of ten."""
    known = [one for one in values if _is_number(one)]
    if not known:
        return ""
    is_log = min(known) > 0 and max(known) / min(known) > 100
    low, high = _span([_scaled(one, is_log) for one in known])
    first, last = points[0], max(points[-1], points[0] + 1)

    def at(point: float, value: float) -> tuple[float, float]:
        across = (point - first) / (last - first)
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _y(value, low, high, _HEIGHT - _BOTTOM, _TOP)

    lines = [f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{escape(title)}</title>']
    for value in _ticks(low, high):
        _, y = at(first, value)
        shown = 10**value if is_log else value
        lines.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        lines.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown:.3g}</text>')
    for point, anchor in ((first, "start"), (last, "end")):
        x, _ = at(point, low)
        lines.append(f'<text x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{point + 1:,}</text>')
    x = (_LEFT + _WIDTH - _RIGHT) / 2
    lines.append(f'<text x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">iteration</text>')
    rows = [
        (point, at(point, _scaled(one, is_log))) for point, one in zip(points, values, strict=True) if _is_number(one)
    ]
    lines.append(f'<path class="between" d="M{"L".join(f"{x:.1f} {y:.1f}" for _, (x, y) in rows)}"/>')
    near = min((after - before for before, after in pairwise(points)), default=1)
    pieces: list[tuple[float, float] | None] = []
    for (point, place), following in zip_longest(rows, (one for one, _ in rows[1:])):
        pieces.append(place)
        if following is not None and following - point > near:
            pieces.append(None)  # Nobody watched there.
    lines += _line(pieces)
    return "".join((*lines, "</svg>"))


def spark(title: str, values: Values) -> str:
    """Return values as a line of the height of a row, on a logarithmic scale; zeros lie at its bottom."""
    width, height = _SPARK
    known = [math.log10(one) for one in values if _is_number(one) and one > 0]
    low, high = _span(known) if known else (0.0, 1.0)
    step = (width - 6) / max(1, len(values) - 1)
    rows: list[tuple[float, float] | None] = []
    for at, one in enumerate(values):
        if not _is_number(one):
            rows.append(None)
            continue
        y = _y(math.log10(one), low, high, height - 4, 4) if one > 0 else height - 2.0
        rows.append((3 + at * step, y))
    lines = "".join(_line(rows))
    return f'<svg class="spark" viewBox="0 0 {width} {height}" role="img"><title>{escape(title)}</title>{lines}</svg>'


def _line(rows: Sequence[tuple[float, float] | None]) -> Iterator[str]:
    """Yield a line through the points, with gaps where there are none; a point without neighbours is a dot."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for row in rows:
        if row is None:
            pieces.append([])
        else:
            pieces[-1].append(row)
    for piece in filter(None, pieces):
        if len(piece) == 1:
            yield f'<circle class="dot" cx="{piece[0][0]:.1f}" cy="{piece[0][1]:.1f}" r="2"/>'
        else:
            yield f'<path class="line" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in piece)}"/>'


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _scaled(value: float | None, is_log: bool) -> float:
    assert value is not None, "what is not there is drawn by nobody"
    return math.log10(value) if is_log else value


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high - low > 1e-12 * max(abs(low), abs(high), 1e-300) else (low - 0.5, high + 0.5)


def _y(value: float, low: float, high: float, bottom: float, top: float) -> float:
    return bottom - (value - low) / (high - low) * (bottom - top)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers in a span, three to six."""
    size = 10 ** math.floor(math.log10((high - low) / 3))
    step = next(one * size for one in (5, 2, 1) if (high - low) / (one * size) >= 2)
    return [at * step for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
