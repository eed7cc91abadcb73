"""The words that all formats of a drawing share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from gradlint.domain.drawing import Drawing, Kept, LeafFact, Spot, Step

_GETS = {True: "gets a gradient", False: "gets no gradient", None: "may get a gradient"}
LONGEST = 36
"""How many characters of an expression stand for a value without a name."""


Leaves: TypeAlias = "dict[int, LeafFact]"
"""The leaves that are drawn, by their numbers."""


def line(spot: Spot | None) -> str:
    """Return where something stands: `line 7`, or `model.py:7` in another file."""
    if spot is None:
        return ""
    return f"line {spot.row}" if spot.filename is None else f"{spot.filename}:{spot.row}"


def shortened(text: str) -> str:
    """Return a piece of code that is not too long for a cell."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def head(step: Step) -> str:
    """Return how the program calls what a node has computed: a variable, or the expression."""
    if step.label is not None:
        return step.label
    return shortened(step.spot.code) if step.spot is not None else step.op


def node_name(step: Step) -> str:
    """Return torch's name of a node; several where it is not known which, and a question mark where it is not sure."""
    if step.kind == "cut":
        return f"cut: {CUTS.get(step.op, step.op)}"
    if not step.names:
        return f"? ({step.op})"
    names = " or ".join(step.names[:MOST_NAMES]) + (" or ..." if len(step.names) > MOST_NAMES else "")
    return names if step.certain else f"{names} ?"


MOST_NAMES = 3

CUTS = {
    "no_grad": "torch.no_grad()",
    "grad-off": "grad mode switched off",
    "nondiff": "not differentiable",
    "integer": "cast to integers",
    "item": "a Python number",
    "data": ".data",
    "detach": "detach()",
    "numpy": "a NumPy array",
    "rewrap": "values copied into a new tensor",
    "leaf": "made a leaf",
    "parameter": "made a parameter",
    "custom": "backward of the custom function gives none",
    "checkpoint": "checkpoint",
    "sample": "sample() of a distribution",
    "gradient": "a gradient without a graph",
    "grad": "a gradient without a graph",
}
"""The kinds of cuts for people."""


def size(shape: tuple[int | None, ...] | None, dtype: str | None) -> str:
    """Return shape and element type, as far as they are known: `[4, ?] float32`."""
    sizes = "[?...]" if shape is None else f"[{', '.join('?' if one is None else str(one) for one in shape)}]"
    return f"{sizes} {dtype}" if dtype is not None else sizes


def saved(one: Kept) -> str:
    """Return what a node has saved, at which version, and why a backward raises if it does."""
    name = one.name if one.name is not None else one.what
    text = name if one.version is None else f"{name} v{one.version}"
    text += f", now v{one.now}" if one.now != one.version else ""
    if one.written is None:
        return f"{text}: written where nobody saw it" if one.unseen else text
    return (
        f"{text}: written at {line(one.written)}" if one.now is not None else f"{text}, written at {line(one.written)}"
    )


def notes(step: Step) -> list[str]:
    """Return what else is to be said of a node: what it saves, and why a backward through it raises."""
    parts = list(dict.fromkeys(saved(one) for one in step.saves)) + (["..."] if step.saves_more else [])
    found = [f"saves {'; '.join(parts)}"] if parts else []
    if step.freed is not None:
        found.append(f"freed by the backward at {line(step.freed)}")
    if step.raises:
        found.append("-> backward raises")
    if step.inner and step.certain:
        found.append(f"with {', '.join(step.inner)}")
    return found


def fate(leaf: LeafFact | None) -> str:
    """Return whether a leaf gets a gradient."""
    if leaf is None:
        return ""
    return "gets a gradient of zeros" if leaf.zero else _GETS[leaf.gets]


def leaf_at(drawing: Drawing) -> Leaves:
    """Return the leaves that are drawn, by their numbers."""
    return {one.number: one for one in drawing.leaves if one.number >= 0}


def behind(drawing: Drawing, cut: int) -> list[str]:
    """Return the names of the leaves behind a cut."""
    return [one.label for one in drawing.leaves if cut in one.cuts]


def listed(names: Iterable[str], most: int = 4) -> str:
    """Return names in a row, and how many others there are."""
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def title(drawing: Drawing) -> str:
    """Return what is drawn, and that it is one of several."""
    also = f" (one of {drawing.others + 1} graphs: other paths or iterations differ)" if drawing.others else ""
    return f"{drawing.title} at {drawing.filename}:{drawing.row}{also}"


def state_of(step: Step, leaf: LeafFact | None) -> str:
    """Return what a box tells by its look: `raises`, `gets`, `none` (no gradient), `open` (not known) or `plain`."""
    if step.kind == "leaf":
        return {True: "gets", False: "none", None: "open"}[leaf.gets if leaf is not None else None]
    if step.kind == "cut":
        return "none"
    return "raises" if step.raises else "plain" if step.certain else "open"


def cells(drawing: Drawing, step: Step, leaves: Leaves) -> list[str]:
    """Return what a box says, line by line."""
    place = line(step.spot)
    if step.kind == "cut":
        names = behind(drawing, step.number)
        return [node_name(step), f"{head(step)}, {place}", f"none for {listed(names)}" if names else ""]
    shape = size(step.shape, step.dtype)
    if step.kind == "leaf":
        return [head(step), f"{node_name(step)}, {place}", shape, fate(leaves.get(step.number))]
    return [node_name(step), f"{head(step)}, {place}", shape, *notes(step)]
