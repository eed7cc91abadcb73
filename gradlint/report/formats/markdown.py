"""The `markdown` format: a table, for a comment on a pull request or the summary of a job."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradlint.report.concise import said
from gradlint.report.place import place_of
from gradlint.report.printable import printable
from gradlint.report.report import Report

_CODE = re.compile(r"`([^`]+)`")
_MARKS = re.compile(r"([\\`*_\[\]<>|~&$])")
_HEAD = "| Place | Severity | Rule | Message |\n| --- | --- | --- | --- |"


def write(report: Report) -> Iterator[str]:
    """Yield a row for each finding; where there is none, a sentence instead of the table."""
    yield _HEAD if report.standing else "gradlint: no findings."
    for finding in report.standing:
        place = _escaped(place_of(printable(report.path(finding.filename)), finding.span))
        url = report.url(finding.code)
        title = _escaped(f"{finding.code} {finding.name}")
        rule = f"[{title}](<{url}>)" if url else title
        yield f"| {place} | {finding.severity} | {rule} | {_message(said(finding))} |"


def _message(text: str) -> str:
    """Return a message with its code as code; a bar would end the cell even there."""
    parts = _CODE.split(text)
    written = [_escaped(part) if index % 2 == 0 else _code(part) for index, part in enumerate(parts)]
    return "".join(written)


def _code(text: str) -> str:
    """Return code; what the rules of tables would change in it is left to backslashes."""
    return f"`{text}`" if text.strip() == text and not {"|", "\\"} & {*text} else _escaped(text)


def _escaped(text: str) -> str:
    """Return a text in which no mark means anything."""
    return _MARKS.sub(r"\\\1", text)
