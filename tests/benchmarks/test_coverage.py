"""Counting the torch calls of a text, and telling the known from the missing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.coverage import main, module_of, names_in, report, share
from benchmarks.torch_known import how_known
from benchmarks.torch_uses import uses_in

PROGRAM = """\
import numpy as np
import torch as T
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.conv import Conv2d
from torch.optim import Adam as Optimizer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x: T.Tensor):
        x = F.relu(self.norm(self.conv(x)))
        names = "a,b".split(",")
        return x.split(2), names.index("a")


def train(net, data):
    optimizer = Optimizer(net.parameters())
    device = T.device("cpu")
    for batch in data:
        optimizer.zero_grad()
        loss = net(batch.to(device)).mean()
        loss.backward()
        optimizer.step()
        array = np.zeros(3).reshape(1, 3)
        kept = T.ones(3).mul_(2).add(1)
        T.no_such_function(kept, array)
"""

EXPECTED = Counter(
    {
        "nn.Conv2d": 1,
        "nn.BatchNorm2d": 1,
        "nn.functional.relu": 1,
        "Tensor.split": 1,
        "Module.parameters": 1,
        "optim.Adam": 1,
        "device": 1,
        "Optimizer.zero_grad": 1,
        "Optimizer.step": 1,
        "Tensor|Module.to": 1,
        "Tensor.backward": 1,
        "ones": 1,
        "Tensor.mul_": 1,
        "Tensor.add": 1,
        "no_such_function": 1,
    }
)


def test_each_torch_call_is_counted_by_its_name() -> None:
    """`.mean()` of the result of an unknown function is not counted: an array has it too, and the file has arrays."""
    assert Counter(names_in(PROGRAM)) == EXPECTED


def test_a_use_has_its_line() -> None:
    lines = {use.name: use.line for use in uses_in(PROGRAM)}
    assert lines["Tensor.mul_"] == PROGRAM.splitlines().index("        kept = T.ones(3).mul_(2).add(1)") + 1


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("nn.Conv2d", "row"),
        ("Tensor.mul_", "row"),
        ("autograd.grad", "written"),
        ("Tensor.backward", "written"),
        ("nn.Sequential", "written"),
        ("optim.Adam", "written"),
        ("distributions.Normal", "written"),
        ("utils.data.DataLoader", "written"),
        ("Module.parameters", "written"),
        ("cuda.FloatTensor", "written"),
        ("cuda.is_available", "no operation"),
        ("device", "no operation"),
        ("no_such_function", "missing"),
        ("Tensor.no_such_method_", "missing"),
        ("Module.no_such_method", "missing"),
        ("distributed.all_reduce", "missing"),
    ],
)
def test_how_a_name_is_known(name: str, how: str) -> None:
    assert how_known(name) == how


def test_what_may_be_either_must_be_known_of_both() -> None:
    assert how_known("Tensor|Module.to") == "row"
    assert how_known("Tensor|Module.no_such_method") == "missing"


def test_what_is_no_operation_stands_in_neither_figure() -> None:
    assert share(Counter({"device": 90, "add": 3, "no_such_function": 1})) == 75.0


def test_the_report_names_what_is_missing_with_its_count() -> None:
    text = report(Counter({"add": 6, "no_such_function": 2}))
    assert "6 of      8 calls known,  75.00 %" in text
    assert text.endswith("missing: 2 call sites of 1 names\n     2 no_such_function")


def test_relative_imports_are_resolved_from_where_the_file_stands(tmp_path: Path) -> None:
    package = tmp_path / "torch" / "nn"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    assert module_of(package / "losses.py") == "torch.nn.losses"
    text = "# torch\nfrom . import functional as F\nfrom .. import add\nF.relu(add(1, 2))\n"
    assert list(names_in(text, "torch.nn.losses")) == ["add", "nn.functional.relu"]
    assert list(names_in(text, module_of(package / "__init__.py"))) == ["add", "nn.functional.relu"]


def test_the_command_counts_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.py").write_text("import torch\ntorch.add(1, 2)\n")
    (tmp_path / "two.py").write_text("import torch\nprint 'no Python 3'\n")
    assert main([str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "1 of      1 calls known, 100.00 %, 1 files are no Python 3" in out
    (tmp_path / "one.py").write_text("import torch\ntorch.no_such_function(1, 2)\n")
    assert main([str(tmp_path)]) == 1
