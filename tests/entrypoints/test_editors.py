"""What docs/editors.md says that editors should parse is what gradlint prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import gradlint
from tests.entrypoints.conftest import Run

PAGE = (Path(gradlint.__file__).parents[1] / "docs" / "editors.md").read_text(encoding="utf-8")
LINE = "train.py:2:1: error: GRD101 leaf-inplace: torch raises here"


def test_the_command_for_buffers_prints_the_line(run: Run) -> None:
    """From standard input, under the name of the file."""
    (command,) = set(re.findall(r"`gradlint (check --quiet .*?) FILE -`", PAGE))
    done = run(*command.split(), "train.py", "-", stdin=b"import torch\nfault_a\n")
    assert (done.code, done.out, done.err) == (1, [LINE], [])


def test_the_problem_matcher_reads_the_line() -> None:
    """VS Code's, with its groups."""
    (block,) = re.findall(r"```json\n(\{\n.*?\n\})\n```", PAGE, re.DOTALL)
    pattern = json.loads(block)["tasks"][0]["problemMatcher"]["pattern"]
    names = ("file", "line", "column", "severity", "code", "message")
    found = re.match(pattern["regexp"], LINE)
    assert found is not None
    values = [found[pattern[name]] for name in names]
    assert values == ["train.py", "2", "1", "error", "GRD101", "leaf-inplace: torch raises here"]
