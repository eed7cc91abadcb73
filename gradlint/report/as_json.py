"""The `json` format: a list of objects in the shape of ruff's, for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from gradlint.domain.finding import Assumed, Edit, Finding, Fix, Position, Related


def as_json(findings: Iterable[Finding], urls: Mapping[str, str | None]) -> str:
    """Return all findings in one document; `urls` gives the page about each code."""
    return json.dumps([_finding(finding, urls.get(finding.code)) for finding in findings], indent=2)


def _finding(finding: Finding, url: str | None) -> dict[str, object]:
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "hint": finding.hint,
        "severity": finding.severity,
        "effect": finding.effect,
        "filename": finding.filename,
        "location": _position(finding.span.start),
        "end_location": _position(finding.span.end),
        "related": [_related(other, finding) for other in finding.related],
        "assumptions": assumptions(finding.assumptions),
        "url": url,
        "fix": None if finding.fix is None else _fix(finding.fix),
        **({} if finding.confirmation is None else {"confirmation": asdict(finding.confirmation)}),
    }


def assumptions(assumed: Iterable[Assumed]) -> list[dict[str, object]]:
    """Return what something rests on: what each assumption is drawn from, its text, and its place."""
    return [{"kind": one.kind, "text": one.text, "location": _position(one.place.span.start)} for one in assumed]


def _related(related: Related, finding: Finding) -> dict[str, object]:
    return {
        "filename": related.filename or finding.filename,
        "location": _position(related.span.start),
        "message": related.message,
    }


def _fix(fix: Fix) -> dict[str, object]:
    return {
        "message": fix.message,
        "applicability": "safe" if fix.safe else "unsafe",
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, object]:
    return {"content": edit.content, "location": _position(edit.span.start), "end_location": _position(edit.span.end)}


def _position(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}
