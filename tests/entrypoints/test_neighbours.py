"""Our comments beside ruff, flake8 and mypy, each of which reads a file with all forms of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradlint.check import check_source

SOURCE = """\
import torch

w = torch.ones(2, requires_grad=True)
w.data.add_(1)  # gradlint: ignore[GRD301]
w.data.add_(2)  # gradlint: noqa: GRD301
w.data.add_(3)  # noqa: GRD301
# gradlint: disable-next-line[GRD301]
w.data.add_(4)
# gradlint: disable[GRD301]
w.data.add_(5)
# gradlint: enable[GRD301]
n: int = w.data.add_(6)  # type: ignore[assignment]  # gradlint: ignore[GRD301]
"""
EXTERNAL = ("--config", 'lint.external = ["GRD"]', "--config", 'lint.task-tags = ["gradlint"]')


def ran(folder: Path, *arguments: str) -> str:
    """What a tool prints about the file, and what it makes of it."""
    (folder / "a.py").write_text(SOURCE)
    command = [sys.executable, "-m", *arguments, "a.py"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("ruff", "check", "--no-cache", "--isolated", "--quiet", "--select", "E,F,RUF,ERA", *EXTERNAL),
        ("flake8", "--isolated"),
        ("mypy", "--warn-unused-ignores", "--cache-dir", "/dev/null", "--config-file", "", "--no-error-summary"),
    ],
)
def test_other_tools_leave_our_comments_alone(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Not even the strict ones say anything, and we need each comment."""
    (tmp_path / "torch.pyi").write_text("def ones(n: int, requires_grad: bool) -> Tensor: ...\nclass Tensor:\n")
    with (tmp_path / "torch.pyi").open("a") as stub:
        stub.write("    data: Tensor\n    def add_(self, n: int) -> Tensor: ...\n")
    assert ran(tmp_path, *arguments) == ""
    assert check_source(SOURCE) == ()


def test_ruff_deletes_foreign_codes_unless_it_is_told(tmp_path: Path) -> None:
    """With `lint.external` it does not; and what only we read it never touches."""
    fix = ("ruff", "check", "--no-cache", "--isolated", "--quiet", "--fix", "--select", "RUF")
    ran(tmp_path, *fix)
    assert (tmp_path / "a.py").read_text() == SOURCE.replace("  # noqa: GRD301", "")
    ran(tmp_path, *fix, *EXTERNAL)
    assert (tmp_path / "a.py").read_text() == SOURCE
