"""A drawing in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.drawing import Drawing, Step
from gradlint.report.drawing.words import Leaves, cells, leaf_at, state_of

_SHAPES = {"leaf": "ellipse", "cut": "octagon", "unknown": "box", "operation": "box"}
_STYLES = {
    "raises": 'style="filled,bold" fillcolor="#f8d7c8" color="#b33a00"',
    "gets": 'style=filled fillcolor="#cfe3f5" color="#0b5394"',
    "none": 'style="filled,dashed" fillcolor="#f0f0f0" color="#555555"',
    "open": 'style=dashed color="#555555"',
    "plain": 'color="#333333"',
}


def as_dot(drawing: Drawing) -> str:
    """Return a graph whose edges run the way that a gradient flows: from the loss to the leaves."""
    return "\n".join(_lines(drawing))


def _lines(drawing: Drawing) -> Iterator[str]:
    leaves = leaf_at(drawing)
    yield "digraph tape {"
    yield '  node [fontname="Helvetica" fontsize=11 margin="0.12,0.06"]'
    for step in drawing.steps:
        style = _STYLES[state_of(step, leaves.get(step.number))]
        yield f"  n{step.number} [label={_label(drawing, step, leaves)} shape={_SHAPES[step.kind]} {style}]"
    for link in drawing.links:
        style = _link_style(drawing, link.target, link.certain)
        yield f"  n{link.source} -> n{link.target}{style}"
    yield "}"


def _link_style(drawing: Drawing, target: int, certain: bool) -> str:
    if drawing.steps[target].kind == "cut":
        return ' [style=dashed arrowhead=tee color="#555555"]'
    return "" if certain else " [style=dashed]"


def _label(drawing: Drawing, step: Step, leaves: Leaves) -> str:
    text = "\n".join(cells(drawing, step, leaves))
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
