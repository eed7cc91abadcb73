"""The shipped derivatives against torch: nodes are recorded again, and formulas executed again."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import pytest

from gradlint.facts import load
from gradlint.facts.derivatives import formula_lines, formulas_of, node_lines, of, recorded_lines
from gradlint.facts.spelling import look_up

torch = pytest.importorskip("torch")
if torch.__version__.split("+")[0] != load().torch.split("+")[0]:
    pytest.skip(f"the table speaks of torch {load().torch}", allow_module_level=True)

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402 (these import torch)

from tools.derivatives import formulas, graphs  # noqa: E402
from tools.facts import samples  # noqa: E402
from tools.facts.call import Call  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Torch's own samples use what torch itself has deprecated.

OPERATIONS = {
    "add": "AddBackward0",
    "mul": "MulBackward0",
    "div": "DivBackward0",
    "exp": "ExpBackward0",
    "log": "LogBackward0",
    "sqrt": "SqrtBackward0",
    "sigmoid": "SigmoidBackward0",
    "tanh": "TanhBackward0",
    "sum": "SumBackward1",
    "mean": "MeanBackward1",
    "amax": "AmaxBackward0",
    "softmax": "SoftmaxBackward0",
    "log_softmax": "LogSoftmaxBackward0",
    "addmm": "AddmmBackward0",
    "bmm": "BmmBackward0",
    "where": "WhereBackward0",
    "gather": "GatherBackward0",
    "cat": "CatBackward0",
    "cumsum": "CumsumBackward0",
    "nn.functional.relu": "ReluBackward0",
    "nn.functional.silu": "SiluBackward0",
    "nn.functional.mse_loss": "MseLossBackward0",
    "nn.functional.layer_norm": "NativeLayerNormBackward0",
    "nn.functional.embedding": "EmbeddingBackward0",
}


@cache
def calls_of(name: str) -> list[Call]:
    made = [samples.named_call(*one) for op in op_db if op.name == name for one in samples.of_op(op)]
    return [call for call in made if call is not None]


def test_formulas_hold() -> None:
    calls = [call for name in OPERATIONS for call in calls_of(name)]
    assert formulas.nodes(calls, only=set(OPERATIONS.values())) == {
        node: _shipped()["nodes"][node] for node in OPERATIONS.values()
    }


@pytest.mark.parametrize("name", OPERATIONS)
def test_nodes_are_recorded(name: str) -> None:
    prepared = [graphs.ready(call) for call in calls_of(name)]
    found = [graph for one in prepared if one is not None and (graph := graphs.graph_of(one[0])) is not None]
    assert OPERATIONS[name] in {end for graph in found for end in graph.ends}
    assert {end for graph in found for end in graph.ends} <= set(of(name).ends)


def _shipped() -> dict[str, Any]:
    text = resources.files("gradlint.facts").joinpath("derivatives.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def test_the_file_speaks_of_the_same_torch() -> None:
    assert _shipped()["torch"] == load().torch.split("+")[0]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("addmm", "for mat1: grad @ mat2.T * alpha"),
        ("relu", "for input: grad * (result > 0)"),
        ("log", "for input: grad.div(input)"),
        ("softmax", "for input: result * (grad - (grad * result).sum(dim, keepdim=True))"),
        ("log_softmax", "for input: grad - result.exp() * grad.sum(dim, keepdim=True)"),
        ("cat", "for tensors: grad, cut along dim into the parts that were joined"),
        ("angle", "for input: 0 for real numbers"),
    ],
)
def test_derivatives(name: str, line: str) -> None:
    entry = look_up(load(), name)
    assert entry is not None
    assert line in [shown.partition("  [")[0] for shown in formula_lines(entry)]


def test_cross_entropy_is_composite() -> None:
    entry = look_up(load(), "F.cross_entropy")
    assert entry is not None
    assert formula_lines(entry)[0].startswith("for input: grad * (softmax(input, 1) - one_hot(target))")
    assert recorded_lines(entry)[0].startswith("composite: of NllLossBackward0")


def test_a_leaf_written_through_a_view_has_copy_slices() -> None:
    entry = look_up(load(), "add_")
    assert entry is not None
    assert node_lines(entry) == ["AddBackward0; written through a view, the base has CopySlices"]
    base = torch.zeros(3)
    base[:1].add_(torch.ones(1, requires_grad=True))
    assert base.grad_fn.name().endswith("CopySlices")


def test_what_has_no_derivative_says_so() -> None:
    assert formulas_of("AcoshBackward1") == {"input": "!"}
