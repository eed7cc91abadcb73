"""The plugin in a real flake8, from an installation of its own."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradlint
from gradlint.entrypoints.flake8 import Plugin

ROOT = Path(gradlint.__file__).parents[1]
SOURCE = """\
import torch
w = torch.ones(3, requires_grad=True)
w += 1
"""
FOUND = "a.py:3:1: GRD101 `+=` writes in place to the leaf `w`, which requires grad: torch raises here"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the metadata by which flake8 finds the plugin, as the wheel would have it."""
    info = tmp_path / "site" / "torch_gradlint-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-gradlint\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[flake8.extension]\nGRD = gradlint.entrypoints.flake8:Plugin\n")
    return info.parent


def flake8(installed: Path, tmp_path: Path, source: str, *arguments: str) -> list[str]:
    """The lines that flake8 prints about a file."""
    folder = tmp_path / "checked"
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text(source)
    result = subprocess.run(
        [sys.executable, "-m", "flake8", *arguments, "a.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])},
        timeout=120,
    )
    assert result.stderr == ""
    return result.stdout.splitlines()


@pytest.mark.parametrize(
    ("source", "arguments", "expected"),
    [
        (SOURCE, [], [FOUND]),
        (SOURCE, ["--select", "GRD1"], [FOUND]),
        (SOURCE, ["--select", "E,W"], []),
        (SOURCE, ["--extend-ignore", "GRD101"], []),
        (SOURCE.replace("+= 1", "+= 1  # noqa"), [], []),
        (SOURCE.replace("+= 1", "+= 1  # noqa: GRD101"), [], []),
        (SOURCE.replace("+= 1", "+= 1  # noqa: E501"), [], [FOUND]),
        (SOURCE.replace("+= 1", "+= 1  # noqa"), ["--disable-noqa"], [FOUND]),
        (SOURCE.replace("+= 1", "+= (\n    1\n)  # noqa: GRD101"), [], []),
        (SOURCE.replace("+= 1", "+= (\n    1\n)  # noqa: GRD101"), ["--disable-noqa"], [FOUND]),
        (SOURCE + "# gradlint: noqa\n", [], []),
        (SOURCE.replace("+= 1", "+= 1  # gradlint: ignore[GRD101]"), [], []),
        (SOURCE + "# flake8: noqa\n", [], []),
    ],
)
def test_codes_and_comments(
    installed: Path, tmp_path: Path, source: str, arguments: list[str], expected: list[str]
) -> None:
    """flake8 selects; a comment counts as it does for `gradlint check`."""
    assert flake8(installed, tmp_path, source, *arguments) == expected


def test_flake8_knows_the_plugin(installed: Path, tmp_path: Path) -> None:
    """By its name and version."""
    assert "gradlint: 0.1.0" in " ".join(flake8(installed, tmp_path, SOURCE, "--version"))


def test_a_file_that_does_not_mention_torch_costs_nothing(installed: Path) -> None:
    """Not even the import of the parser."""
    program = (
        "import sys; from gradlint.entrypoints.flake8 import Plugin; import ast\n"
        "print(list(Plugin(ast.parse(''), ['import os\\n'], 'a.py').run()), 'libcst' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert result.stdout == "[] False\n"


@pytest.mark.usefixtures("fake_world")
def test_a_crash_of_ours_does_not_end_the_run_of_flake8() -> None:
    """It is told as what flake8 understands."""
    lines = ["import torch\n", "crash\n"]
    ((row, column, text, kind),) = Plugin(ast.parse("".join(lines)), lines, "a.py").run()
    assert (row, column, kind) == (1, 0, Plugin)
    assert text.startswith("GRD000 internal error of gradlint: RuntimeError: the fake interpreter broke")
