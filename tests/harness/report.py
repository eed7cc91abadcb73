"""Reports of findings that put formats to the test: names, messages and places that are odd, and fixes."""

from __future__ import annotations

from collections.abc import Mapping

from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Edit, Finding, Fix, Position, Related, Severity, Span
from gradlint.report.formats import writer
from gradlint.report.paint import Paint
from gradlint.report.report import Report
from gradlint.rules.registry import all_rules

NAMES = (
    "a b.py",
    "line\nend\r.py",
    "::error file=x::y.py",
    "100%25,;].py",
    "<b>&amp;|`*_[x](y).py",
    "bad\udcff\x1b[31m.py",
    "梯度/x.py",
    "a='\".py",
)
"""Names of files that mean something to one format or another."""
MESSAGE = "`a|b` and <b>bold</b> %0A ::error::\n##[group] *x* [y](z) & \x1b[31m 梯度 `"
TEXT = "梯度 = torch.ones(2)\n梯度 += 1\n"
HERE = Span(Position(2, 1), Position(2, 8))
FIX = Fix(
    "write it under no_grad",
    (
        Edit(Span(Position(1, 1), Position(1, 1)), "import torch\n"),
        Edit(Span(Position(2, 4), Position(2, 6)), "-="),
    ),
    safe=True,
)


def finding(
    filename: str = "a.py",
    message: str = "torch raises",
    span: Span = HERE,
    *,
    code: str = "GRD101",
    severity: Severity = "error",
    fix: Fix | None = None,
    hint: str | None = None,
    verdict: Confirmation | None = None,
) -> Finding:
    """A finding in `TEXT`, which the first row explains, and a row of another file."""
    name = next(rule.name for rule in all_rules() if rule.code == code)
    first = Related(Span(Position(1, 1), Position(1, 3)), "the leaf is made here")
    other = Related(Span(Position(9, 2), Position(9, 4)), "called from here", "b c.py")
    related = (first, other)
    rows = (span.start.row, span.end.row)
    return Finding(code, name, message, severity, "raises", filename, span, rows, hint, related, fix, verdict)


def odd_findings() -> tuple[Finding, ...]:
    """One in each of the files with odd names, in their order, with an odd message and hint."""
    return tuple(finding(name, MESSAGE, fix=FIX, hint="take it\nout") for name in NAMES)


def report_of(
    *findings: Finding, paint: Paint | None = None, texts: Mapping[str, str] | None = None, root: str | None = None
) -> Report:
    """A report about files with `TEXT`, whose fixes would all be made."""
    known = {one.filename: TEXT for one in findings} if texts is None else texts
    return Report(findings, known, all_rules(), lambda one: one.fix is not None, paint or Paint(), root=root)


def written(name: str, report: Report) -> str:
    """What a format makes of a report, as it goes to standard output."""
    return "".join(f"{piece}\n" for piece in writer(name)(report))
