"""The page on graphs shows what the commands print of its program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlint.entrypoints.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "graph.md"
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_output_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line."""
    monkeypatch.chdir(tmp_path)
    programs = [text for kind, text in BLOCKS if kind == "python"]
    Path("train.py").write_text(programs[0], encoding="utf-8")
    for text in (text for kind, text in BLOCKS if kind == "console"):
        command, *lines = text.splitlines()
        assert main(command.split()[2:]) == 0
        assert capsys.readouterr().out.splitlines() == lines
