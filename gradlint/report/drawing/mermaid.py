"""A drawing as a Mermaid flowchart, which code hosts show in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gradlint.domain.drawing import Drawing, Step
from gradlint.report.drawing.words import Leaves, cells, leaf_at, state_of

_SHAPES = {"leaf": ("([", "])"), "cut": ("{{", "}}"), "unknown": ("[", "]"), "operation": ("[", "]")}
_CLASSES = """\
  classDef raises fill:#f8d7c8,stroke:#b33a00,stroke-width:3px,color:#111
  classDef gets fill:#cfe3f5,stroke:#0b5394,color:#111
  classDef none fill:#f0f0f0,stroke:#555,stroke-dasharray:4 3,color:#111
  classDef open stroke:#777,stroke-dasharray:4 3"""


def as_mermaid(drawing: Drawing) -> str:
    """Return a flowchart whose arrows run the way that a gradient flows."""
    return "\n".join(_lines(drawing))


def _lines(drawing: Drawing) -> Iterator[str]:
    leaves = leaf_at(drawing)
    yield "flowchart TD"
    for step in drawing.steps:
        left, right = _SHAPES[step.kind]
        state = state_of(step, leaves.get(step.number))
        ending = f":::{state}" if state != "plain" else ""
        yield f'  n{step.number}{left}"{_label(drawing, step, leaves)}"{right}{ending}'
    for link in drawing.links:
        plain = link.certain and drawing.steps[link.target].kind != "cut"
        yield f"  n{link.source} {'-->' if plain else '-.->'} n{link.target}"
    yield _CLASSES


def _label(drawing: Drawing, step: Step, leaves: Leaves) -> str:
    return "<br/>".join(escape(one).replace("#", "#35;") for one in cells(drawing, step, leaves))
