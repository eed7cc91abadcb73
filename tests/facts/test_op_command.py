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


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("torch.autograd.grad", "torch.autograd.grad"),
        ("torch.func.grad", "torch.func.grad"),
        ("torch.sparse.mm", "torch.sparse.mm"),
        ("vmap", "torch.func.vmap"),
        ("jacrev", "torch.func.jacrev"),
        ("loss.backward()", "torch.Tensor.backward"),
        ("retain_grad", "torch.Tensor.retain_grad"),
        ("checkpoint", "torch.utils.checkpoint.checkpoint"),
        ("clip_grad_value_", "torch.nn.utils.clip_grad_value_"),
        ("rsample", "torch.distributions.Distribution.rsample"),
        ("spectral_norm", "torch.nn.utils.parametrizations.spectral_norm"),
        ("nn.Sequential", "torch.nn.Sequential"),
        ("fake_quantize", "torch.fake_quantize_per_tensor_affine"),
        ("x[0]", "torch.Tensor.__getitem__"),
        ("x[mask] = 0", "torch.Tensor.__setitem__"),
        ("rnn.pad_sequence", "torch.nn.utils.rnn.pad_sequence"),
    ],
)
def test_what_leads_to_a_page(name: str, title: str) -> None:
    assert page(name).splitlines()[0] == title


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("vmp", "vmap"),
        ("rsampel", "rsample"),
        ("retain_grads", "retain_grad"),
        ("register_hok", "register_hook"),
        ("checkpont", "checkpoint"),
        ("clip_grad", "clip_grad_norm_"),
        ("fake_quant", "fake_quantize"),
        ("crossentropy", "nn.functional.cross_entropy"),
        ("backwards", "backward"),
    ],
)
def test_what_may_have_been_meant(name: str, meant: str) -> None:
    result = CliRunner().invoke(op, [name])
    assert result.exit_code == 2
    assert meant in result.stderr.rstrip("?\n").partition("Did you mean ")[2].split(", ")


def test_names_that_torch_had_and_names_without_a_page() -> None:
    assert CliRunner().invoke(op, ["torch.symeig"]).stderr == (
        "gradlint: torch has no torch.symeig any more; use torch.linalg.eigh.\n"
    )
    assert CliRunner().invoke(op, ["save"]).stderr == (
        "gradlint: torch has torch.save, but the table of operations has no page on it.\n"
    )


def test_json_has_what_the_page_has() -> None:
    found = json.loads(page("addmm", "--output-format", "json"))
    assert (found["nodes"], found["composite"]) == (["AddmmBackward0"], "never")
    assert found["derivatives"]["AddmmBackward0"]["mat2"] == "mat1.T @ grad * alpha"
    assert json.loads(page("add", "--output-format", "json"))["sums_over_expanded"]
    assert json.loads(page("no_grad", "--output-format", "json"))["statements"][0]["shown_by"]
    both = json.loads(page("x[i]", "--output-format", "json"))
    assert both["statements"]
    assert "IndexBackward0" in both["nodes"]
