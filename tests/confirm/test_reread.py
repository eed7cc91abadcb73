"""The second reading, alone: it knows objects, and none of the reasons of the gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest

from gradlint.confirm.gate.admit import admit
from tests.confirm.examples import BAD, GOOD
from tests.confirm.test_safety import ADMITTED


class Reads(Protocol):
    """What this is about."""

    def doubt(self, script: str, probes: tuple[str, ...] = ()) -> str | None:
        """Return why not."""


DOUBTED = {
    "import os\n": "`os` is <module 'os'",
    "import torch.hub\n": "`torch.hub itself` is <module 'torch.hub'",
    "from torch import hub\n": "`hub` is <module 'torch.hub'",
    "from torch import save\n": "`save` is <function save",
    "from torch.distributions.transforms import F\nF.importlib.import_module\n": "`F.importlib.import_module` is",
    "import torch\nF = torch.nn.modules.linear.F\n": "`torch.nn.modules.linear.F` is <module",
    "import torch\ntorch.os.mkdir\n": "`torch.os.mkdir` is",
    "import torch\nx = [torch]\n": "the module `torch` is a value",
    "import torch\nx = torch.nn\n": "`torch.nn` is <module",
    "import torch\ntorch = 1\n": "the module `torch` is also something else",
    "import torch\ntorch.nn.functional.relu = 1\n": "`torch.nn.functional.relu` is set",
    "import torch\ntorch.Tensor.__dict__\n": "`__dict__`",
    "x = (y for y in [1]).gi_frame\n": "`gi_frame`",
    "x = 1 .__class__.__base__\n": "`__base__`",
    "x = eval\n": "the builtin `eval`",
    "match 1:\n    case int(real=x):\n        pass\n": "Match",
}


@pytest.fixture(scope="module")
def reader() -> Iterator[Reads]:
    """One that knows this torch."""
    pytest.importorskip("torch", reason="torch is not installed, and nothing else can say what its names are")
    from gradlint.confirm.worker.reread import Reader

    yield Reader()


@pytest.mark.parametrize(("script", "said"), DOUBTED.items(), ids=DOUBTED.values())
def test_it_doubts_by_itself(reader: Reads, script: str, said: str) -> None:
    """Of an object that is not allowed it says which one it is."""
    assert (reader.doubt(script) or "").startswith(said)


@pytest.mark.parametrize("script", ADMITTED)
def test_it_agrees_with_the_gate(reader: Reads, script: str) -> None:
    """On what computes."""
    assert reader.doubt(script) is None


def test_it_agrees_on_the_examples_of_the_rules(reader: Reads) -> None:
    """On each that the gate lets through as it is, which are nearly all."""
    codes = [bad.code for _, bad in BAD.values()] + [good.code for _, good in GOOD.values()]
    admitted = [code for code in codes if not admit(code)]
    assert len(admitted) > 0.8 * len(codes)
    assert {code: said for code in admitted if (said := reader.doubt(code)) is not None} == {}


def test_probes_are_read_too(reader: Reads) -> None:
    """In the names of the program."""
    assert reader.doubt("import torch\nw = torch.ones(2)\n", ("w.grad is None",)) is None
    assert reader.doubt("import torch\n", ("torch.load",)) is not None
