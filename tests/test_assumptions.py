"""Assumptions: what a finding rests on is said, and no error rests on a guess."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradlint import check_paths, check_source
from gradlint.entrypoints.cli import main
from gradlint.interpreter.sides import without_sides
from gradlint.judgement import MOST_ASSUMPTIONS
from tests.harness.report import report_of, written

GUESSED = """\
import torch


def train(model, optimizer, data):
    for x in data:
        loss = model(x).sum()
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
"""

OPERATIONS = (
    *("abs", "ceil", "clone", "cos", "erf", "exp", "floor", "frac", "log"),
    *("neg", "relu", "round", "rsqrt", "sigmoid", "sin", "sqrt", "tan"),
)

DEFAULT = """\
import torch


def update(w=torch.ones(3, requires_grad=True), times=2):
    if times == 2:
        w.requires_grad_(True)
        w.mul_(2)
"""

CERTAIN = """\
import torch


def train(model, optimizer, rate=0.1):
    w = torch.ones(3, requires_grad=True)
    w += rate
    model(w).sum().backward()
    optimizer.step()
"""

TRAIN = """\
import torch
from engine import train

model = torch.nn.Linear(3, 1)
train(model, torch.optim.SGD(model.parameters(), lr=0.1), [torch.ones(2, 3)])
"""

ROWS = """\
import torch
import torch.nn.functional as F


def step(layer: torch.nn.Linear, first, second):
    loss = F.mse_loss(layer(first), second, reduction="none")
    (2 * loss).backward()
"""

KNOWN_ROWS = """\
import torch
import torch.nn.functional as F


def step(x):
    layer = torch.nn.Linear(3, 1)
    loss = F.mse_loss(layer(torch.ones(5, 3)), torch.ones(5, 1), reduction="none")
    loss.backward()
"""

COLUMN = """\
import torch
import torch.nn.functional as F

layer = torch.nn.Linear(3, 1)


def step(x: torch.Tensor, y: torch.Tensor):
    return F.mse_loss(layer(x.reshape(-1, 3)), y.flatten())
"""


def test_a_finding_that_rests_on_names_says_so_and_is_no_error() -> None:
    """Nobody in sight calls the function."""
    [finding] = check_source(GUESSED)
    assert (finding.code, finding.severity) == ("GRD502", "warning")
    assert [one.text for one in finding.assumptions] == [
        "`model` is a network, by its name",
        "`optimizer` is an optimizer, by its use",
        "`data` is data, which has no graph, by its name",
    ]
    assert finding.assumptions[0].place.span.start.row == 4


def test_a_finding_that_rests_on_many_assumptions_is_info() -> None:
    """Each call is another assumption."""
    calls = "".join(f"        watch_{number}(model)\n" for number in range(MOST_ASSUMPTIONS + 1))
    many = GUESSED.replace("        loss = model(x)", f"{calls}        loss = model(x)")
    few = GUESSED.replace("        loss = model(x)", "        watch(model)\n        loss = model(x)")
    severities = [[one.severity for one in check_source(text) if one.code == "GRD502"] for text in (few, many)]
    assert severities == [["warning"], ["info"]]
    page = Path(__file__).parents[1] / "docs" / "how-it-works.md"
    assert f"more than {MOST_ASSUMPTIONS} different assumptions" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("data):", f"data, {', '.join(f'option_{number}=0' for number in range(MOST_ASSUMPTIONS))}):"),
        ("(x)", f"(x.{'().'.join(OPERATIONS)}())"),
    ],
)
def test_what_is_assumed_of_many_alike_is_one_assumption(old: str, new: str) -> None:
    """That nobody gives options, however many there are, and that no operation of tensors trains."""
    severities = [one.severity for one in check_source(GUESSED.replace(old, new, 1)) if one.code == "GRD502"]
    assert severities == ["warning"]


@pytest.mark.parametrize(("slip", "name"), [("optimizer.step", "step"), ("optimizer.zero_gard()", "zero_gard")])
def test_a_slip_rests_on_its_name_alone_whatever_is_assumed_before_it(slip: str, name: str) -> None:
    """Nobody writes it for anything else, so it is no less certain below other guesses."""
    report = next(one for one in check_source(GUESSED.replace("optimizer.step()", slip)) if one.code != "GRD502")
    assert report.severity == "warning"
    [assumed] = report.assumptions
    assert assumed.text.startswith(f"`{name}` is ")


def test_a_default_is_no_fact_where_nobody_in_sight_calls() -> None:
    """The finding is there because of the default, and says so."""
    findings = check_source(DEFAULT)
    assert {finding.severity for finding in findings} <= {"warning", "info"}


def test_a_finding_that_is_there_without_assumptions_rests_on_none() -> None:
    """The function has assumptions, and the write to a leaf needs none of them."""
    [finding] = [one for one in check_source(CERTAIN) if one.code == "GRD101"]
    assert finding.severity == "error"
    assert finding.assumptions == ()


def test_assumptions_stand_in_json() -> None:
    """By kind, text and place."""
    [entry] = json.loads(written("json", report_of(*check_source(GUESSED, "a.py"))))
    assert entry["assumptions"][0] == {
        "kind": "name",
        "text": "`model` is a network, by its name",
        "cell": None,
        "location": {"row": 4, "column": 11},
    }


def test_a_batch_of_several_rows_is_an_assumption() -> None:
    """Of one row, a loss without reduction has one element, and torch accepts it."""
    [finding] = check_source(ROWS)
    assert (finding.code, finding.severity) == ("GRD201", "warning")
    assert [(one.kind, one.text) for one in finding.assumptions] == [
        ("size", "`nn.functional.mse_loss` gets a batch of several rows")
    ]
    assert finding.assumptions[0].place.span.start.row == 6


def test_a_size_that_is_known_is_no_assumption() -> None:
    """The batch has five rows."""
    [finding] = check_source(KNOWN_ROWS)
    assert (finding.code, finding.severity, finding.assumptions) == ("GRD201", "error", ())


def test_a_column_against_a_row_is_as_certain_as_their_sizes() -> None:
    """Of one row both shapes have one element."""
    [finding] = check_source(COLUMN)
    assert (finding.code, finding.severity) == ("GRD702", "warning")
    assert [one.kind for one in finding.assumptions] == ["size"]
    [finding] = check_source(COLUMN.replace("(-1, 3)", "(5, 3)").replace("y.flatten()", "torch.ones(5)"))
    assert (finding.code, finding.severity, finding.assumptions) == ("GRD702", "error", ())


def test_a_caller_in_another_file_proves_a_finding(tmp_path: Path) -> None:
    """The file alone assumes what `model` is; the other gives it one."""
    engine, train = tmp_path / "engine.py", tmp_path / "train.py"
    engine.write_text(GUESSED, encoding="utf-8")
    [alone] = check_paths([engine]).findings
    train.write_text(TRAIN, encoding="utf-8")
    assert (alone.severity, len(alone.assumptions)) == ("warning", 3)
    [proven] = check_paths([engine, train]).findings
    assert (proven.filename, proven.span) == (alone.filename, alone.span)
    assert (proven.severity, proven.assumptions) == ("error", ())


HALVED = """import torch


def halved(x, sizes, halves):
    if sizes is None:
        sizes = x.shape[1:]
    if halves:
        return x.view(len(x), *sizes) / 2
    return x.sum()
"""

CALLS_HALVED = """import sys

import torch
from halved import halved

halved(torch.ones(4, 3), (5,), "--half" in sys.argv)
"""


@pytest.mark.parametrize(
    ("old", "new", "severity", "assumed"),
    [
        ("", "", "warning", ["`halves` is true in the call from another file"]),
        ("if halves:", "if len(x):", "error", []),
        ("x.sum()", "torch.ones(3, 4).view(13)", "error", []),
        ("x.view(len(x), *sizes)", "torch.ones(3, 4).view(13)", "error", []),
    ],
    ids=["open", "decided", "on the other side", "by itself"],
)
def test_an_open_test_in_another_file_is_an_assumption(
    tmp_path: Path, old: str, new: str, severity: str, assumed: list[str]
) -> None:
    """With just these values nobody may ever go there; what the other file shows by itself does not rest on them."""
    halved, calls = tmp_path / "halved.py", tmp_path / "calls.py"
    halved.write_text(HALVED.replace(old, new) if old else HALVED, encoding="utf-8")
    calls.write_text(CALLS_HALVED, encoding="utf-8")
    finding = check_paths([halved, calls]).findings[-1]
    assert (finding.code, finding.severity) == ("GRD704", severity)
    assert [one.text for one in finding.assumptions] == assumed


def test_what_happens_however_a_test_comes_out_rests_on_none() -> None:
    """Each of two tests may come out either way, and then one that must be true."""
    every = {frozenset({(1, one), (2, two), (3, True)}) for one in (True, False) for two in (True, False)}
    assert min(without_sides(every), key=len) == {(3, True)}
    assert min(without_sides(set(list(every)[:3])), key=len) != {(3, True)}


def test_explain_shows_the_assumptions_of_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the value that they are about; others were made on the way there."""
    path = tmp_path / "a.py"
    path.write_text(GUESSED, encoding="utf-8")
    assert main(["explain", f"{path}:6"]) == 0
    lines = capsys.readouterr().out.split("\n")
    [row] = [number for number, line in enumerate(lines) if line.lstrip().startswith("16  model: ")]
    assert lines[row + 1] == "         assumed (name): `model` is a network, by its name (line 4)"
    assert "  assumed on the way (use): `optimizer` is an optimizer, by its use (line 4)" in lines


def test_explain_shows_the_assumptions_of_a_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As data: what it is drawn from, the text, the place."""
    path = tmp_path / "a.py"
    path.write_text(ROWS, encoding="utf-8")
    assert main(["explain", f"{path}:7", "--output-format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assumed = {
        "kind": "size",
        "text": "`nn.functional.mse_loss` gets a batch of several rows",
        "cell": None,
        "location": {"row": 6, "column": 12},
    }
    assert [value["assumptions"] for value in data["values"] if value["name"] == "loss"] == [[assumed]]
    assert data["assumptions"] == data["findings"][0]["assumptions"] == [assumed]
