"""The `rdjson` format: a document of reviewdog, which comments on pull requests and suggests fixes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from gradlint.domain.finding import Edit, Finding, Position, Severity, Span
from gradlint.fixes.edits import Text
from gradlint.report.address import DOCS
from gradlint.report.concise import said, said_with_hint
from gradlint.report.report import Report
from gradlint.source.read import split_lines

_SEVERITIES: Mapping[Severity, str] = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def write(report: Report) -> Iterator[str]:
    """Yield one document."""
    files = {name: _File(Text(text), split_lines(text)) for name, text in report.texts.items()}
    diagnostics = [_diagnostic(finding, report, files) for finding in report.placed]
    yield json.dumps({"source": {"name": "gradlint", "url": DOCS}, "diagnostics": diagnostics}, indent=2)


class _File(NamedTuple):
    """A text with its rows, found once for all findings in it."""

    text: Text
    rows: Sequence[str]


def _diagnostic(finding: Finding, report: Report, files: Mapping[str, _File]) -> dict[str, object]:
    file = files.get(finding.filename) or _File(Text(""), [""])
    url = report.url(finding.code)
    return {
        "message": said_with_hint(finding),
        "location": {"path": report.path(finding.filename), "range": _range(finding.span, file.rows)},
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, **({"url": url} if url else {})},
        "suggestions": [_suggestion(finding.fix.edits, file)] if finding.fix and report.fixes(finding) else [],
        "related_locations": list(_related(finding, report, files)),
        "original_output": f"{finding.code} {finding.name}: {said(finding)}",
    }


def _related(finding: Finding, report: Report, files: Mapping[str, _File]) -> Iterator[dict[str, object]]:
    """Yield the places that explain a finding; in a file whose text is not at hand there is no telling the column."""
    for other in finding.related:
        filename = other.filename or finding.filename
        file = files.get(filename)
        rows = {"start": {"line": other.span.start.row}, "end": {"line": other.span.end.row}}
        span = rows if file is None else _range(other.span, file.rows)
        yield {"message": other.message, "location": {"path": report.path(filename), "range": span}}


def _range(span: Span, rows: Sequence[str]) -> dict[str, object]:
    return {"start": _position(span.start, rows), "end": _position(span.end, rows)}


def _position(position: Position, rows: Sequence[str]) -> dict[str, int]:
    """Return a position, its column counted in bytes of UTF-8, as reviewdog does."""
    row = rows[position.row - 1] if position.row <= len(rows) else ""
    before = position.column - 1
    size = len(row[:before].encode(errors="surrogatepass")) + max(before - len(row), 0)
    return {"line": position.row, "column": size + 1}


def _suggestion(edits: Sequence[Edit], file: _File) -> dict[str, object]:
    """Return one suggestion for all edits of a fix, with what stands between them: one alone would break the program.

    Suggestions of one diagnostic are taken for alternatives.
    """
    ordered = sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))
    stretches = [
        (file.text.offset(one.span.end), file.text.offset(other.span.start)) for one, other in pairwise(ordered)
    ]
    between = [file.text.text[start:end] for start, end in stretches]
    parts = (edit.content + after for edit, after in zip(ordered, [*between, ""], strict=True))
    whole = Span(ordered[0].span.start, ordered[-1].span.end)
    return {"range": _range(whole, file.rows), "text": "".join(parts)}
