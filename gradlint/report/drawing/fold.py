"""Calls folded into one node each, so that a large drawing shows its modules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gradlint.domain.drawing import Call, Drawing, Step


def folded(drawing: Drawing, depth: int) -> Drawing:
    """Return the drawing with one node for what each call more than `depth` levels down has recorded.

    Leaves and cuts stay. A call that is made again, as in a loop, is the same one.
    """
    calls = {one.number: one.home[: depth + 1] for one in drawing.steps if _is_inside(one, depth)}
    groups: dict[tuple[Call, ...], list[Step]] = {}
    for step in drawing.steps:
        if step.number in calls:
            groups.setdefault(calls[step.number], []).append(step)
    groups = {call: group for call, group in groups.items() if len(group) > 1}
    steps: list[Step] = []
    numbers: dict[int, int] = {}
    for step in drawing.steps:
        group = groups.get(calls[step.number]) if step.number in calls else None
        if group is None or group[0] is step:
            shown = step if group is None else _one(group, calls[step.number])
            numbers.update({one.number: len(steps) for one in group or (step,)})
            steps.append(replace(shown, number=len(steps)))
    links = (replace(one, source=numbers[one.source], target=numbers[one.target]) for one in drawing.links)
    kept = tuple(dict.fromkeys(one for one in links if one.source != one.target))
    leaves = tuple(
        replace(one, number=numbers.get(one.number, -1), cuts=_moved(one.cuts, numbers)) for one in drawing.leaves
    )
    return replace(drawing, steps=tuple(steps), links=kept, leaves=leaves)


def _is_inside(step: Step, depth: int) -> bool:
    return step.kind in ("operation", "unknown") and len(step.home) > depth


def _one(group: list[Step], home: tuple[Call, ...]) -> Step:
    """Return the node of a call: its result is that of the first, its troubles are those of all."""
    first, call = group[0], home[-1]
    saves = tuple(kept for one in group for kept in one.saves if kept.raises)
    freed = next((one.freed for one in group if one.freed is not None), None)
    return replace(
        first, kind="operation", names=(f"{len(group)} nodes",), op=call.code, label=call.code, spot=call, inner=(),
        saves=saves, saves_more=False, freed=freed, home=home[:-1], certain=all(one.certain for one in group),
    )  # fmt: skip


def _moved(cuts: Iterable[int], numbers: dict[int, int]) -> tuple[int, ...]:
    return tuple(numbers[one] for one in cuts)
