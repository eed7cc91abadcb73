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


PROGRAM = next(text for kind, text in BLOCKS if kind == "python")
SESSIONS = [text.splitlines() for kind, text in BLOCKS if kind == "console"]


def test_the_output_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line; of the release of torch, not of its build."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM, encoding="utf-8")
    for command, *lines in SESSIONS:
        if " run " in command or ("--confirm" in command and importlib.util.find_spec("torch") is None):
            continue
        assert main(command.split()[2:]) == 0
        printed = re.sub(r"(\(torch [0-9.]+)\+\w+\)", r"\1)", capsys.readouterr().out)
        assert printed.splitlines() == lines


@pytest.mark.skipif(sys.version_info < (3, 11), reason="of an instruction this Python knows the row alone")
def test_the_drawing_of_a_run_is_that_of_the_command(tmp_path: Path) -> None:
    """The program raises, and the drawing stands below the traceback."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    ((command, *lines),) = [one for one in SESSIONS if " run " in one[0]]
    told = [sys.executable, "-m", "gradlint", *command.split()[2:]]
    environment = {**os.environ, "PYTHONPATH": str(PAGE.parents[1])}
    ran = subprocess.run(told, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.stderr.splitlines()[-len(lines) :] == lines
