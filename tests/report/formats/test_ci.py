"""`github`, `azure` and `gitlab`: what CI servers read, by the rules of their own readers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gradlint.domain.finding import Position, Span
from gradlint.report.concise import said, said_with_hint
from gradlint.report.fingerprint import fingerprints
from gradlint.report.paths import checkout
from gradlint.report.printable import steerless
from tests.harness.report import NAMES, TEXT, finding, odd_findings, report_of, written

Command = tuple[str, dict[str, str], str]


def as_github(line: str) -> Command:
    """A command, its properties and its text, as the runner splits them (actions/runner, ActionCommand.TryParseV2)."""
    assert line.startswith("::")
    end = line.index("::", 2)
    name, _, rest = line[2:end].partition(" ")
    marks = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    return (
        name,
        _properties(rest.strip(), ",", marks),
        _unescaped(line[end + 2 :], {**marks, "%3A": "%3A", "%2C": "%2C"}),
    )


def as_azure(line: str) -> Command:
    """The same as the agent does it (microsoft/azure-pipelines-agent, Command.TryParse)."""
    begin = line.index("##vso[") + len("##vso[")
    end = line.index("]", begin)
    name, _, rest = line[begin:end].partition(" ")
    marks = {"%3B": ";", "%0D": "\r", "%0A": "\n", "%5D": "]", "%AZP25": "%"}
    return name, _properties(rest, ";", marks), _unescaped(line[end + 1 :], marks)


def _properties(text: str, separator: str, marks: Mapping[str, str]) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(separator) if part)
    return {key: _unescaped(value, marks) for key, _, value in pairs}


def _unescaped(text: str, marks: Mapping[str, str]) -> str:
    for mark, letter in marks.items():
        text = text.replace(mark, letter)
    return text


def shown(name: str) -> str:
    """A name with what would steer a terminal written out, but for line ends."""
    return "".join(letter if letter in "\r\n" else steerless(letter) for letter in name)


def test_github_reads_what_was_meant() -> None:
    """Names and texts come back whole, one command a line."""
    findings = odd_findings()
    commands = [as_github(line) for line in written("github", report_of(*findings)).splitlines()]
    assert [(name, properties["file"]) for name, properties, _ in commands] == [
        ("error", shown(name)) for name in NAMES
    ]
    assert [text for _, _, text in commands] == [said_with_hint(one) for one in findings]
    assert commands[0][1] == {
        "file": "a b.py",
        "title": "GRD101 leaf-inplace",
        "line": "2",
        "endLine": "2",
        "col": "1",
        "endColumn": "8",
    }
    assert written("github", report_of()) == ""


@pytest.mark.parametrize(("severity", "command"), [("error", "error"), ("warning", "warning"), ("info", "notice")])
def test_github_has_three_levels(severity: str, command: str) -> None:
    """And takes no columns where rows differ."""
    rows = Span(Position(1, 4), Position(2, 3))
    one = finding(severity=severity, span=rows)  # type: ignore[arg-type]
    [line] = written("github", report_of(one)).splitlines()
    assert line == f"::{command} file=a.py,line=1,endLine=2,title=GRD101 leaf-inplace::torch raises"


def test_azure_reads_what_was_meant() -> None:
    """As above; it knows errors and warnings."""
    findings = odd_findings()
    commands = [as_azure(line) for line in written("azure", report_of(*findings)).splitlines()]
    assert [properties["sourcepath"] for _, properties, _ in commands] == [shown(name) for name in NAMES]
    assert [text for _, _, text in commands] == [said(one) for one in findings]
    name, properties, _ = as_azure(written("azure", report_of(finding(severity="info"))))
    assert (name, properties) == (
        "task.logissue",
        {"type": "warning", "sourcepath": "a.py", "linenumber": "2", "columnnumber": "1", "code": "GRD101"},
    )
    assert written("azure", report_of()) == ""


def test_gitlab_has_what_it_requires() -> None:
    """A fingerprint that is the only one of its kind, a severity of its scale, and a path without `./`."""
    findings = (*odd_findings(), finding("./a.py"), finding("./a.py", severity="info", code="GRD102"))
    issues = json.loads(written("gitlab", report_of(*findings)))
    assert [issue["location"]["path"] for issue in issues] == [*NAMES, "a.py", "a.py"]
    assert {issue["severity"] for issue in issues} == {"major", "info"}
    assert len({issue["fingerprint"] for issue in issues}) == len(findings)
    assert issues[0] == {
        "type": "issue",
        "check_name": "GRD101",
        "description": f"GRD101 leaf-inplace: {said(findings[0])}",
        "categories": ["Bug Risk"],
        "severity": "major",
        "fingerprint": fingerprints(findings, {one.filename: TEXT for one in findings})[0],
        "location": {"path": "a b.py", "lines": {"begin": 2, "end": 2}},
    }
    assert json.loads(written("gitlab", report_of())) == []


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BUILD_SOURCESDIRECTORY"])
def test_paths_begin_at_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Where the job works in a folder of the repository; what a variable names elsewhere does not count."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    root = checkout({variable: str(tmp_path)})
    assert written("github", report_of(finding(), root=root)).startswith("::error file=sub/a.py,")
    assert checkout({variable: str(tmp_path / "other")}) is checkout({}) is None


def test_junit_has_no_line_for_a_cell() -> None:
    """Rows of cells are not those of the notebook."""
    cell = finding(span=Span(Position(2, 1), Position(2, 4), 3))
    cases = [line for line in written("junit", report_of(finding(), cell)).splitlines() if "<testcase" in line]
    assert [" line=" in case for case in cases] == [True, False]
