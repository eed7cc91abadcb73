"""The page on graphs shows what the commands print of its program."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradlint.entrypoints.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "graph.md"
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(*arguments: str) -> list[str]:
    """The drawing that a run of the page's program prints: it raises, and the drawing stands below the traceback."""
    environment = {**os.environ, "PYTHONPATH": str(PAGE.parents[1])}
    told = [sys.executable, "-m", "gradlint", *arguments]
    ran = subprocess.run(told, env=environment, capture_output=True, text=True, check=False)
    lines = ran.stderr.splitlines()
    return lines[lines.index("loss.backward() at train.py:15") :]


def test_the_output_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line; of the release of torch, not of its build."""
    monkeypatch.chdir(tmp_path)
    programs = [text for kind, text in BLOCKS if kind == "python"]
    Path("train.py").write_text(programs[0], encoding="utf-8")
    for text in (text for kind, text in BLOCKS if kind == "console"):
        command, *lines = text.splitlines()
        if ("--confirm" in command or " run " in command) and importlib.util.find_spec("torch") is None:
            continue
        if command.startswith("$ gradlint run"):
            assert lines == run(*command.split()[2:])
            continue
        assert main(command.split()[2:]) == 0
        printed = re.sub(r"(\(torch [0-9.]+)\+\w+\)", r"\1)", capsys.readouterr().out)
        assert printed.splitlines() == lines
