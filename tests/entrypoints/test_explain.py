"""`gradlint explain FILE[:LINE[:COL]]`: what is believed, why something is unknown, and who looked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gradlint
from gradlint import check_source
from gradlint.entrypoints.cli import main

PROGRAM = """\
import torch
import mylib

w = torch.ones(3, requires_grad=True)
y = w.exp()
loss = mylib.wrap(y.sum())
loss.backward()
if False:
    z = w
w += 1
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program, as a file."""
    path = tmp_path / "a.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def explained(place: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What the command prints for a place that it can explain."""
    assert main(["explain", place, *options]) == 0
    return capsys.readouterr().out


def test_a_tensor_is_shown_with_its_maker(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A leaf that requires grad, at its version."""
    out = explained(f"{program}:5", capsys)
    assert "w: Tensor[3] float32 grad leaf v0" in out
    assert "made by `Tensor.exp` (line 5)" in out


def test_who_saved_a_tensor_is_shown(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`exp` keeps its result for backward."""
    assert "saved at v0 by `Tensor.exp` for its backward (line 5)" in explained(f"{program}:6", capsys)


def test_an_unknown_value_names_the_call_that_it_came_from(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The loss went through a library that is not read."""
    out = explained(f"{program}:7", capsys)
    assert "loss: unknown" in out
    assert "the result of `mylib.wrap(y.sum())`, which is not followed (line 6)" in out


def test_a_finding_of_the_line_is_shown(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside what is believed."""
    assert "GRD101 leaf-inplace" in explained(f"{program}:10", capsys)


def test_a_line_that_is_never_reached_says_so(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No belief is made up for it."""
    assert "no path of the interpreter comes there" in explained(f"{program}:9", capsys)


def test_a_column_picks_one_expression(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns count from 1."""
    data = json.loads(explained(f"{program}:6:19", capsys, "--output-format", "json"))
    assert {value["column"] for value in data["values"]} == {19}
    assert data["values"][-1]["facts"]["requires_grad"] is True


def test_without_a_line_the_whole_file_is_explained(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each row that was reached has a heading."""
    out = explained(str(program), capsys)
    assert f"{program}:4\n" in out
    assert f"{program}:10\n" in out


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("{}:11:1:1", "no such file or directory"),
        ("{}:11", "has 10 lines, and no line 11"),
        ("{}:0", "no line 0"),
        ("{}:4:38", "a.py:4 has 37 columns, and no column 38"),
        ("{}:4:0", "a.py:4 has 37 columns, and no column 0"),
        ("{}.missing:3", "no such file or directory"),
    ],
)
def test_a_place_that_is_none_is_one_clear_line(
    program: Path, capsys: pytest.CaptureFixture[str], place: str, message: str
) -> None:
    """Exit code 2, and nothing on standard output."""
    assert main(["explain", place.format(program)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", "0 lines"), ("x = 1", "1 line"), ("x = 1\r\n\n", "2 lines"), ("x = 1\r\f\ny = '\u2028'\n", "3 lines")],
)
def test_lines_are_counted_as_python_counts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, lines: str
) -> None:
    """With and without an end of the last one; form feeds and Unicode separators end none."""
    path = tmp_path / "a.py"
    path.write_bytes(text.encode())
    assert main(["explain", f"{path}:9"]) == 2
    assert f"a.py has {lines}, and no line 9" in capsys.readouterr().err


def test_a_file_that_does_not_parse_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the row of the mistake."""
    path = tmp_path / "broken.py"
    path.write_text("import torch\nx = (\n", encoding="utf-8")
    assert main(["explain", f"{path}:1"]) == 2
    assert f"{path}:" in capsys.readouterr().err


def test_reveal_returns_its_argument_and_reports_what_is_believed() -> None:
    """At run time it does nothing; where the program is checked, the finding is the answer."""
    value = object()
    assert gradlint.reveal(value) is value
    text = "import torch\nfrom gradlint import reveal\nreveal(torch.ones(2, requires_grad=True))\n"
    [finding] = check_source(text)
    assert (finding.code, finding.severity) == ("GRD004", "info")
    assert finding.message == "revealed: Tensor[2] float32 grad leaf v0"
