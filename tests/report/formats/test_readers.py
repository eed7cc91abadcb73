"""`junit`, `pylint`, `rdjson`, `markdown`, `grouped`: read by the libraries and programs that they are for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from diff_cover.violationsreporters.violations_reporter import PylintDriver
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from gradlint.domain.finding import Position, Span
from gradlint.report.concise import said, said_with_hint
from gradlint.report.paint import Paint
from gradlint.report.printable import printable
from tests.harness.report import FIX, MESSAGE, NAMES, finding, odd_findings, report_of, written
from tests.harness.schema import PUBLISHED, mistakes, read

SCHEMA = read(PUBLISHED / "rdjson.json")


def test_junitparser_reads_a_failed_test_for_each_finding() -> None:
    """Two in one file stand in one suite; XML has no letters that cannot be printed."""
    findings = (finding(), finding(severity="info", code="GRD102"), *odd_findings())
    suites = list(JUnitXml.fromstring(written("junit", report_of(*findings)).encode()))
    assert [suite.name for suite in suites] == ["a.py", *map(printable, NAMES)]
    assert [suite.failures for suite in suites] == [2] + [1] * len(NAMES)
    cases = [case for suite in suites for case in suite]
    assert [case.name for case in cases[:2]] == ["GRD101 leaf-inplace at 2:1", "GRD102 leaf-view-inplace at 2:1"]
    failures = [case.result[0] for case in cases]
    assert [(failure.type, failure.message) for failure in failures] == [(one.severity, said(one)) for one in findings]
    assert failures[2].text == f"a b.py:2:1: {said_with_hint(findings[2])}"


def test_junitparser_reads_a_passed_test_where_nothing_is_found() -> None:
    """Servers take a report without tests for a mistake."""
    document = JUnitXml.fromstring(written("junit", report_of()).encode())
    assert (document.tests, document.failures) == (1, 0)
    assert [case.is_passed for suite in document for case in suite] == [True]


def test_diff_cover_reads_pylint() -> None:
    """All but files with a colon in their names, for which pylint's own lines have no room either."""
    readable = [name for name in NAMES if ":" not in name]
    report = report_of(*odd_findings(), finding("sub/./a.py"))
    violations = PylintDriver().parse_reports([written("pylint", report)])
    assert {name: [one.line for one in found] for name, found in violations.items()} == {
        **{printable(name).replace("\\", "/"): [2] for name in readable},
        "sub/a.py": [2],
    }
    assert violations["sub/a.py"][0].message == "GRD101: (leaf-inplace), : torch raises"
    assert PylintDriver().parse_reports([written("pylint", report_of())]) == {}


def rdjson(*findings: Any) -> list[dict[str, Any]]:
    """The diagnostics of a document that the schema of reviewdog allows."""
    document = json.loads(written("rdjson", report_of(*findings)))
    assert mistakes(document, SCHEMA) == []
    diagnostics: list[dict[str, Any]] = document["diagnostics"]
    return diagnostics


def place(line: int, column: int) -> dict[str, int]:
    """A position of reviewdog's."""
    return {"line": line, "column": column}


def test_reviewdog_counts_bytes() -> None:
    """Columns of UTF-8, from 1; in a file that is not at hand there are only rows."""
    [found] = rdjson(finding(span=Span(Position(2, 3), Position(2, 8)), severity="info"))
    assert found["severity"] == "INFO"
    assert found["location"] == {"path": "a.py", "range": {"start": place(2, 7), "end": place(2, 12)}}
    ranges = [one["location"]["range"] for one in found["related_locations"]]
    assert ranges == [{"start": place(1, 1), "end": place(1, 7)}, {"start": {"line": 9}, "end": {"line": 9}}]


def test_reviewdog_gets_one_suggestion_for_all_edits() -> None:
    """With what stands between them; none where there is no fix to make."""
    [found] = rdjson(finding(fix=FIX))
    assert found["suggestions"] == [
        {
            "range": {"start": place(1, 1), "end": place(2, 10)},
            "text": "import torch\n梯度 = torch.ones(2)\n梯度 -=",
        }
    ]
    assert rdjson(finding())[0]["suggestions"] == rdjson() == []
    assert [one["location"]["path"] for one in rdjson(*odd_findings())] == list(NAMES)


def cells(text: str) -> list[list[str]]:
    """The rows of the only table as a reader sees them, its code in backticks."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            rows.append([])
        if token.type == "inline":
            marks = ("`" if child.type == "code_inline" else "" for child in token.children or ())
            parts = zip(marks, token.children or (), strict=True)
            rows[-1].append("".join(f"{mark}{child.content}{mark}" for mark, child in parts))
    return rows


def test_a_reader_of_markdown_sees_what_was_meant() -> None:
    """No name and no message makes markup, but for code."""
    findings = (*odd_findings(), finding(message="`x[0]` is a `*leaf*`", severity="warning"))
    head, *rows = cells(written("markdown", report_of(*findings)))
    assert head == ["Place", "Severity", "Rule", "Message"]
    names = [*map(printable, NAMES), "a.py"]
    assert [row[0] for row in rows] == [f"{name}:2:1" for name in names]
    assert {row[2] for row in rows} == {"GRD101 leaf-inplace"}
    assert [row[3] for row in rows] == [
        said(one).replace("`a|b`", "a|b") if one.message == MESSAGE else one.message for one in findings
    ]
    assert written("markdown", report_of()) == "gradlint: no findings.\n"


def test_grouped_names_a_file_once() -> None:
    """And makes columns of places."""
    far = Span(Position(12, 10), Position(12, 11))
    report = report_of(finding(), finding(span=far, fix=FIX), finding("b\n.py"), paint=Paint())
    assert written("grouped", report) == (
        "a.py:\n  2:1    GRD101 torch raises\n  12:10  GRD101 [*] torch raises\n\n"
        "b\\n.py:\n  2:1  GRD101 torch raises\n\n"
    )
    assert written("grouped", report_of()) == ""


@pytest.mark.parametrize("name", ["concise", "full", "grouped", "pylint", "github", "azure"])
def test_formats_of_lines_hold_nothing_that_steers(name: str) -> None:
    """No control character and no lone surrogate, wherever text of others stands."""
    lines = written(name, report_of(*odd_findings())).split("\n")
    assert all(line.isprintable() for line in lines)
