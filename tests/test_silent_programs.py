"""The page on programs without a finding shows what gradlint says of them: the findings, and the lines of `explain`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlint.entrypoints.cli import main
from tests.harness.judge import finding_complaints
from tests.harness.lint import findings_of
from tests.harness.marks import marks_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "development" / "silent-programs.md"
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_programs_have_the_findings_that_are_marked() -> None:
    """Three have none."""
    programs = [text for kind, text in BLOCKS if kind == "python"]
    assert [finding_complaints(marks_of(text), findings_of(text)) for text in programs] == [[]] * 6
    assert sum(not marks_of(text).findings for text in programs) == 3


def test_the_output_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the program above, in order; lines may be left out."""
    monkeypatch.chdir(tmp_path)
    for kind, text in BLOCKS:
        if kind == "python":
            Path("train.py").write_text(text, encoding="utf-8")
            continue
        command, *shown = text.splitlines()
        assert main(command.split()[2:]) == 0
        said = iter(capsys.readouterr().out.splitlines())
        assert [line for line in shown if line not in said] == []
