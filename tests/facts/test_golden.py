"""The shipped table against torch: a sample of names is measured again, and each call must lie inside its
row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradlint.facts import Row, load

torch = pytest.importorskip("torch")
if torch.__version__.split("+")[0] != load().torch.split("+")[0]:
    pytest.skip(f"the table speaks of torch {load().torch}", allow_module_level=True)

from tools.facts import agree, points, units  # noqa: E402 (these import torch)

GOLDEN = [
    "mul", "add", "sub", "div", "pow", "matmul", "exp", "sqrt", "log", "sigmoid", "tanh", "sum", "mean",
    "max", "min", "amax", "cumsum", "prod", "abs", "sign", "round", "floor", "argmax", "eq", "where",
    "clamp", "masked_fill", "cat", "stack", "split", "chunk", "unbind", "transpose", "reshape", "view",
    "expand", "squeeze", "gather", "index_select", "index_add", "scatter", "softmax", "log_softmax",
    "nn.functional.relu", "nn.functional.dropout", "nn.functional.linear", "nn.functional.layer_norm",
    "nn.functional.mse_loss", "nn.functional.conv2d", "nn.functional.embedding", "kron", "norm", "std",
    "__getitem__", "linalg.norm", "nn.ReLU", "nn.Linear", "nn.BatchNorm2d", "nn.Dropout",
    "nn.CrossEntropyLoss", "nn.MSELoss", "nn.Embedding",
]  # fmt: skip
RECIPES = [
    f"recipe Tensor.{name}"
    for name in ("data", "detach", "numpy", "item", "to", "__setitem__", "__iadd__", "__matmul__")
]
UNITS = units.all_units(units.GLANCE)


def row_of(name: str) -> Row:
    """The row of a name that the table has."""
    entry = load().find(name)
    assert entry is not None
    return entry.row


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore")  # Torch's own samples use what torch itself has deprecated.
@pytest.mark.parametrize("name", [*GOLDEN, *RECIPES])
def test_calls_lie_inside_their_rows(name: str) -> None:
    measured = UNITS[name]()
    wrong = []
    for spelling, records in measured.records.items():
        row = row_of(spelling)
        for record in agree.comparable(records, row):
            wrong += [(spelling, v) for v in agree.verdicts(row, record) if v.kind in ("must", "may")]
    assert wrong == []
    assert sum(not record.failure for records in measured.records.values() for record in records) >= 2


@pytest.mark.parametrize("name", sorted(points.POINTS))
def test_special_points(name: str) -> None:
    shipped = [list(point) for point in row_of(name).points]
    assert shipped == points.measured(name)
