"""An explanation as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from gradlint.domain.finding import Assumed, Finding
from gradlint.explain import Explanation, Note, Value
from gradlint.report.as_json import assumptions


def as_text(explanation: Explanation) -> str:
    """For people: row by row what is believed, then what limits it, and what is found."""
    return "\n".join(_lines(explanation))


def as_json(explanation: Explanation) -> str:
    """For programs: the same, with the facts of each value by name."""
    data = {
        "filename": explanation.filename,
        "reached": explanation.reached,
        "values": [{**asdict(value), "assumptions": assumptions(value.assumptions)} for value in explanation.values],
        "assumptions": assumptions(explanation.assumptions),
        "not_followed": [asdict(note) for note in explanation.given_up],
        "detectors": {what: list(who) for what, who in explanation.looked},
        "findings": [_finding(one) for one in explanation.findings],
    }
    return json.dumps(data, indent=2, default=str)


def _finding(one: Finding) -> dict[str, object]:
    row = one.span.start.row
    return {"code": one.code, "row": row, "message": one.message, "assumptions": assumptions(one.assumptions)}


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
    shown = {one for value in explanation.values for one in value.assumptions}
    yield from (f"  assumed on the way {_assumed(one)}" for one in explanation.assumptions if one not in shown)
    for note in explanation.given_up:
        yield f"  not followed: {_note(note)}"
    for what, who in explanation.looked:
        yield f"  {what} heard by: {', '.join(who)}"
    for one in explanation.findings:
        yield f"  {one.code} {one.name}: {one.message}"
        yield from (f"    rests on {_assumed(each)}" for each in one.assumptions)
    if not explanation.findings:
        yield "  no finding here"


def _value(value: Value) -> Iterator[str]:
    yield f"  {value.column:>3}  {value.name}: {'  |  '.join(value.paths)}"
    yield from (f"         {_note(note)}" for note in value.notes)
    yield from (f"         assumed {_assumed(one)}" for one in value.assumptions)


def _assumed(one: Assumed) -> str:
    """Return an assumption: what it is drawn from, the text, and the place, which may be in another file."""
    row = one.place.span.start.row
    place = f"line {row}" if one.place.filename is None else f"{one.place.filename}:{row}"
    return f"({one.kind}): {one.text} ({place})"


def _note(note: Note) -> str:
    return note.text if note.row is None else f"{note.text} (line {note.row})"
