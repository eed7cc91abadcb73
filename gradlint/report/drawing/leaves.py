"""The leaves of a drawing for the terminal: who gets a gradient, who does not and why, and which optimizer holds it."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.drawing import Drawing, LeafFact, Step
from gradlint.report.drawing.words import fate, head, line, listed, node_name, size, title


def as_list(drawing: Drawing) -> str:
    """Return a line for each leaf, those that get a gradient first."""
    order = sorted(
        drawing.leaves,
        key=lambda one: (one.gets is False, one.gets is None, not one.used, one.spot.row if one.spot else 0),
    )
    rows = [_cells(drawing, one) for one in order]
    widths = [max(len(row[at]) for row in rows) for at in range(4)] if rows else []
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows]
    return "\n".join(
        [title(drawing), *(lines or ["it was not computed from any leaf that requires grad"]), *_raises(drawing)]
    )


def in_words(drawing: Drawing) -> str:
    """Return what a picture shows, for those who do not see it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in drawing.leaves:
        groups.setdefault((fate(one), "" if one.gets else why(drawing, one)), []).append(one.label)
    said = (f"{listed(names)}: {got}{reason and f' ({reason})'}" for (got, reason), names in groups.items())
    return ". ".join([f"The graph of {title(drawing)}", *said, *_raises(drawing)])


def _cells(drawing: Drawing, leaf: LeafFact) -> tuple[str, ...]:
    held = f"held by {', '.join(leaf.optimizers)}" if leaf.optimizers else "held by no optimizer"
    said = held if leaf.gets else "; ".join(filter(None, [held, why(drawing, leaf)]))
    return f"  {leaf.label}", size(leaf.shape, leaf.dtype), line(leaf.spot), fate(leaf), said


def why(drawing: Drawing, leaf: LeafFact) -> str:
    """Return why a leaf gets no gradient, or may get none."""
    if not leaf.used:
        return "not used" if leaf.gets is False else "not known to be used"
    cuts = [drawing.steps[number] for number in leaf.cuts]
    return "; ".join(dict.fromkeys(_cut(one) for one in cuts))


def _cut(step: Step) -> str:
    of = "" if step.label is None else f" of `{step.label}`"
    return f"{node_name(step)}{of} at {line(step.spot)}"


def _raises(drawing: Drawing) -> Iterator[str]:
    """Yield why a backward gives none of them a gradient."""
    for step in drawing.steps:
        stale = next((one for one in step.saves if one.raises), None)
        if stale is not None:
            where = "where nobody saw it" if stale.written is None else f"at {line(stale.written)}"
            yield f"backward raises: what `{head(step)}` saved is written {where}"
            return
        if step.freed is not None:
            yield f"backward raises: the backward at {line(step.freed)} has freed `{head(step)}`"
            return
