"""`gradlint op NAME` answers from the shipped table."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from gradlint.entrypoints.op import op


def page(*arguments: str) -> str:
    result = CliRunner().invoke(op, list(arguments))
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("max", "x.max() at x = [1, 3, 3]: value 3, gradient [0, 0.5, 0.5]"),
        ("max", "x.max(dim=0).values at x = [1, 3, 3]: value 3, gradient [0, 1, 0]"),
        ("amax", "x.amax(dim=0) at x = [1, 3, 3]: value 3, gradient [0, 0.5, 0.5]"),
        ("abs", "x.abs() at x = [-2, 0, 2]: value [2, 0, 2], gradient [-1, 0, 1]"),
        ("where", "torch.where(x > 0, x, 2 * x) at x = [-1, 0, 1]: value [-2, 0, 1], gradient [2, 2, 1]"),
        ("where", "torch.where(x > 0, x.log(), 0.0) at x = [0, 1]: value [0, 0], gradient [nan, 1]"),
        ("sign", "no gradient other than zero flows back"),
        ("ceil", "no gradient other than zero flows back"),
        ("argmax", "the result never requires grad"),
        ("argmin", "the result never requires grad"),
        ("lt", "the result never requires grad"),
        ("eq", "the result never requires grad"),
        ("sqrt", "gradient for input = 0 is infinite, though the result is finite"),
        ("log", "gradient for input = 0 is infinite, and so is the result"),
        ("pow", "x ** 0.5 at x = [0, 4]: value [0, 2], gradient [inf, 0.25]"),
        ("softmax", "saves           for input: the result"),
        ("cat", "saves           for tensors: nothing"),
        ("mean", "x.mean() at x = [1, 2, 3, 4]: value 2.5, gradient [0.25, 0.25, 0.25, 0.25]"),
        ("split", "one of several views: writing to it in place raises"),
        ("detach", "shares memory, outside the graph, with input"),
        ("x.data", "with a version counter of its own"),
        ("nn.BatchNorm2d", "writes unseen"),
        ("Tensor.mul_", "keeps a copy    for other: input"),
        ("floor_divide", "backward raises, for torch has no derivative"),
    ],
)
def test_pages(name: str, line: str) -> None:
    assert line in page(name)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("max", "max"),
        ("torch.max", "max"),
        ("Tensor.max", "Tensor.max"),
        ("torch.Tensor.abs_", "Tensor.abs_"),
        ("abs_", "abs_"),
        ("F.relu", "nn.functional.relu"),
        ("nn.functional.relu", "nn.functional.relu"),
        ("torch.nn.ReLU", "nn.ReLU"),
        ("ReLU", "nn.ReLU"),
        ("x.abs", "Tensor.abs"),
        ("x.abs()", "Tensor.abs"),
        ("cross_entropy", "nn.functional.cross_entropy"),
        ("init.normal_", "nn.init.normal_"),
        ("*=", "Tensor.__imul__"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert json.loads(page(spelling, "--output-format", "json"))["name"] == name


def test_json_holds_the_row() -> None:
    found = json.loads(page("nn.functional.relu", "--output-format", "json"))
    assert found["saved"] == {
        "input": {
            "argument": "inplace",
            "cases": {"-": [">"], "False": [">"], "True": [">", "input"]},
            "otherwise": {"may": [">", "input"], "must": [">"]},
        }
    }
    assert (found["samples"] > 20, found["origin"]) == (True, "op_db")


def test_a_misspelt_name() -> None:
    result = CliRunner().invoke(op, ["sofmax"])
    expected = "gradlint: the table of torch operations has no 'sofmax'. Did you mean softmax, fmax, nn.Softmax?\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", expected)


def test_a_name_like_none() -> None:
    result = CliRunner().invoke(op, ["qqqqqq"])
    assert (result.exit_code, result.stderr) == (
        2,
        "gradlint: the table of torch operations has no 'qqqqqq'.\n",
    )
