"""The `junit` format: XML that CI servers show as failed tests, a suite for each file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree as Xml

from gradlint.domain.finding import Finding
from gradlint.report.concise import said, said_with_hint
from gradlint.report.place import place_of, within
from gradlint.report.printable import printable
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield one document; where nothing is found it holds one test that passed, as servers refuse an empty one."""
    number = len(report.standing)
    root = Xml.Element("testsuites", name="gradlint", tests=f"{max(number, 1)}", failures=f"{number}", errors="0")
    for filename, group in groupby(report.standing, key=lambda finding: finding.filename):
        findings = list(group)
        name = printable(report.path(filename))
        suite = _suite(root, name, len(findings), len(findings))
        for finding in findings:
            _case(suite, finding, name)
    if not number:
        Xml.SubElement(_suite(root, "gradlint", 1, 0), "testcase", classname="gradlint", name="no findings", time="0")
    Xml.indent(root)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield Xml.tostring(root, encoding="unicode")


def _suite(root: Xml.Element, name: str, tests: int, failures: int) -> Xml.Element:
    counts = {"tests": f"{tests}", "failures": f"{failures}", "errors": "0", "skipped": "0"}
    return Xml.SubElement(root, "testsuite", {"name": name, **counts})


def _case(suite: Xml.Element, finding: Finding, filename: str) -> None:
    """Add a finding; XML has no control characters, not even escaped ones, so all text is made printable."""
    title = f"{finding.code} {finding.name} at {within(finding.span)}"
    row = {"line": f"{finding.span.start.row}"} if finding.span.cell is None else {}
    place = {"file": filename, **row, "time": "0"}
    case = Xml.SubElement(suite, "testcase", {"classname": filename.removesuffix(".py"), "name": title, **place})
    failure = Xml.SubElement(case, "failure", type=finding.severity, message=said(finding))
    failure.text = f"{place_of(filename, finding.span)}: {said_with_hint(finding)}"
