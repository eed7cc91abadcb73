"""Findings as data, in the shape of ruff's, for programs; `schemas/findings-1.json` describes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from gradlint.domain.finding import Assumed, Finding, Fix, Related, Span
from gradlint.report.fingerprint import by_finding
from gradlint.report.report import Report

VERSION = 1
"""It changes when a key goes or means something else; a reader has to bear new keys."""


def as_data(report: Report) -> Iterator[dict[str, object]]:
    """Yield the findings of a report."""
    marks = by_finding(report.findings, report.texts, report.root)
    return (_finding(finding, report.url(finding.code), marks[finding]) for finding in report.findings)


def _finding(finding: Finding, url: str | None, fingerprint: str) -> dict[str, object]:
    return {
        "version": VERSION,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "hint": finding.hint,
        "severity": finding.severity,
        "effect": finding.effect,
        "filename": finding.filename,
        "cell": finding.span.cell,
        **_location(finding.span),
        "related": [_related(other, finding) for other in finding.related],
        "assumptions": assumptions(finding.assumptions),
        "url": url,
        "fingerprint": fingerprint,
        "fix": None if finding.fix is None else _fix(finding.fix),
        **({} if finding.confirmation is None else {"confirmation": asdict(finding.confirmation)}),
        **({} if finding.run is None else {"run": {**asdict(finding.run), "text": finding.run.said}}),
    }


def assumptions(assumed: Iterable[Assumed]) -> list[dict[str, object]]:
    """Return what something rests on: what each assumption is drawn from, its text, and its place."""
    return [
        {"kind": one.kind, "text": one.text, "cell": one.place.span.cell, "location": one.place.span.start._asdict()}
        for one in assumed
    ]


def _related(related: Related, finding: Finding) -> dict[str, object]:
    filename = related.filename or finding.filename
    place = {"filename": filename, "cell": related.span.cell, "location": related.span.start._asdict()}
    return {**place, "message": related.message}


def _fix(fix: Fix) -> dict[str, object]:
    edits = [{"content": edit.content, "cell": edit.span.cell, **_location(edit.span)} for edit in fix.edits]
    return {"message": fix.message, "applicability": "safe" if fix.safe else "unsafe", "edits": edits}


def _location(span: Span) -> dict[str, object]:
    return {"location": span.start._asdict(), "end_location": span.end._asdict()}
