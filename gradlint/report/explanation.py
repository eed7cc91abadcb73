"""An explanation as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from gradlint.explain import Explanation, Note, Value


def as_text(explanation: Explanation) -> str:
    """For people: row by row what is believed, then what limits it, and what is found."""
    return "\n".join(_lines(explanation))


def as_json(explanation: Explanation) -> str:
    """For programs: the same, with the facts of each value by name."""
    data = {
        "filename": explanation.filename,
        "reached": explanation.reached,
        "values": [asdict(value) for value in explanation.values],
        "not_followed": [asdict(note) for note in explanation.given_up],
        "detectors": {what: list(who) for what, who in explanation.looked},
        "findings": [
            {"code": one.code, "row": one.span.start.row, "message": one.message} for one in explanation.findings
        ],
    }
    return json.dumps(data, indent=2, default=str)


def _lines(explanation: Explanation) -> Iterator[str]:
    row = None
    for value in explanation.values:
        if value.row != row:
            row = value.row
            yield f"{explanation.filename}:{row}"
        yield from _value(value)
    if not explanation.values:
        why = "no expression begins there" if explanation.reached else "no path of the interpreter comes there"
        yield f"{explanation.filename}: {why}"
    for note in explanation.given_up:
        yield f"  not followed: {_note(note)}"
    for what, who in explanation.looked:
        yield f"  {what} heard by: {', '.join(who)}"
    for one in explanation.findings:
        yield f"  {one.code} {one.name}: {one.message}"
    if not explanation.findings:
        yield "  no finding here"


def _value(value: Value) -> Iterator[str]:
    yield f"  {value.column:>3}  {value.name}: {'  |  '.join(value.paths)}"
    yield from (f"         {_note(note)}" for note in value.notes)


def _note(note: Note) -> str:
    return note.text if note.row is None else f"{note.text} (line {note.row})"
