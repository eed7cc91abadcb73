"""The parameters by module as a table for the terminal, short enough to be read at the end of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradlint.domain.run import Run
from gradlint.report.printable import printable
from gradlint.report.run.modules import Module, modules

MOST = 12
_LONGEST = 40
_HEADS = ("module", "parameters", "gradient norm", "update/weight", "zeros", "dead units", "inactive")


def table(run: Run) -> Iterator[str]:
    """Yield the lines; none where nothing was measured. Of many modules, those with the most zeros are shown."""
    every = modules(run)
    if not run.points or not every:
        return
    kept = sorted(range(len(every)), key=lambda at: every[at].concern, reverse=True)[:MOST]
    rows = [_HEADS, *(_row(every[at]) for at in sorted(kept))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS))]
    for row in rows:
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"  {row[0].ljust(widths[0])}  {'  '.join(numbers)}".rstrip()
    if len(every) > MOST:
        yield f"  and {len(every) - MOST} more modules"
    if run.holder is not None:
        yield f"  tensors in variables: {growth(run)}"


def growth(run: Run) -> str:
    """Return how the tensors that the program holds become more, and what holds most of those that came last."""
    counts = ", ".join(f"{count:,} after {at:,} iterations" for at, count in run.tensors[-3:])
    return f"{counts}; most of the last ones are in {printable(run.holder or '')}"


def _row(module: Module) -> tuple[str, ...]:
    name = printable(module.name if module.name == module.layer else f"{module.name} {module.layer}".strip())
    dead = "" if module.units is None else f"{module.dead} of {module.units}"
    return (
        name if len(name) <= _LONGEST else f"...{name[3 - _LONGEST :]}",
        f"{module.elements:,}",
        number(module.gradient),
        number(module.update),
        "" if module.zeros is None else percent(module.zeros),
        dead,
        "" if module.inactive is None else str(module.inactive),
    )


def number(value: float | None) -> str:
    """Return a number with three digits; `none` for one that is not there."""
    if value is None:
        return "none"
    return f"{value:.3g}" if math.isfinite(value) else str(value)


def percent(share: float) -> str:
    """Return a share; neither 0 nor 100 per cent is said of what is not quite that."""
    rounded = f"{share * 100:.0f}"
    if rounded in ("0", "100") and share not in (0, 1):
        return "<1 %" if share < 0.5 else ">99 %"
    return f"{rounded} %"
