"""A drawing as a tree for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradlint.domain.drawing import Drawing, LeafFact, Step
from gradlint.report.drawing.words import behind, fate, head, leaf_at, line, listed, node_name, notes, size, title

DEEPEST = 24
"""How many levels are indented; below them the level is a number."""

WIDEST = 44
"""How wide a column becomes at most before it pushes the others on."""


class _Row(NamedTuple):
    """A line of the tree: its cells, the last of which is as long as it is."""

    cells: tuple[str, ...]


def as_tree(drawing: Drawing) -> str:
    """Return the tree: a node a line, its inputs below it; a node that several others use is written out once."""
    rows = list(_rows(drawing))
    widths = [min(max(len(row.cells[at]) for row in rows), WIDEST) for at in range(4)]
    lines = ["  ".join(_padded(row.cells, widths)).rstrip() for row in rows]
    return "\n".join([title(drawing), *lines, *_unused(drawing)])


def _padded(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    yield from (cell.ljust(width) for cell, width in zip(cells, widths, strict=False))
    yield from cells[len(widths) :]


def _rows(drawing: Drawing) -> Iterator[_Row]:
    leaves = leaf_at(drawing)
    below: dict[int, list[int]] = {}
    for link in drawing.links:
        below.setdefault(link.source, []).append(link.target)
    seen: set[int] = set()
    stack: list[tuple[int, str, str, int]] = [(0, "", "", 0)]
    while stack:
        number, own, under, depth = stack.pop()
        step = drawing.steps[number]
        prefix = own if depth <= DEEPEST else f"... level {depth} `- "
        if number in seen and step.kind != "leaf":
            yield _Row((f"{prefix}{head(step)}", node_name(step), "", "", "(above)"))
            continue
        seen.add(number)
        yield _row(drawing, step, prefix, leaves.get(number))
        children = below.get(number, [])
        for at in reversed(range(len(children))):
            last = at == len(children) - 1
            further = under + ("   " if last else "|  ")
            stack.append((children[at], under + ("`- " if last else "|- "), further[: 3 * DEEPEST], depth + 1))


def _row(drawing: Drawing, step: Step, prefix: str, leaf: LeafFact | None) -> _Row:
    if step.kind == "cut":
        name = f"--- {node_name(step)} ---"
        names = behind(drawing, step.number)
        said = f"{listed(names)} get{'s' if len(names) == 1 else ''} none this way" if names else ""
        return _Row((f"{prefix}{head(step)}", name, line(step.spot), "", said))
    said = "  ".join([*([fate(leaf)] if step.kind == "leaf" else []), *notes(step)])
    return _Row((f"{prefix}{head(step)}", node_name(step), line(step.spot), size(step.shape, step.dtype), said))


def _unused(drawing: Drawing) -> Iterator[str]:
    """Yield a line on what optimizers hold and the tensor was not computed from."""
    found = [one for one in drawing.leaves if not one.used]
    if found:
        how = "not used by it" if found[0].gets is False else "not known to be used by it"
        yield f"{how}, though held by an optimizer: {listed(one.label for one in found)}"
