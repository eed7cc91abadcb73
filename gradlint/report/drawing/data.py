"""A drawing as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from gradlint.domain.drawing import Drawing


def as_json(drawing: Drawing) -> str:
    """Return all of a drawing: nodes, links, leaves."""
    return json.dumps({**asdict(drawing), "certain": drawing.certain}, indent=2)


def leaves_as_json(drawing: Drawing) -> str:
    """Return the leaves of a drawing, each with the cuts that keep a gradient from it."""
    leaves = [{**asdict(one), "cuts": [asdict(drawing.steps[number]) for number in one.cuts]} for one in drawing.leaves]
    raises = any(step.raises for step in drawing.steps)
    named = {"filename": drawing.filename, "row": drawing.row, "title": drawing.title}
    return json.dumps({**named, "others": drawing.others, "raises": raises, "leaves": leaves}, indent=2)
