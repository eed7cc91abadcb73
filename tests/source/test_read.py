"""Which files are looked at: those that speak of torch, and pieces of training loops."""

from __future__ import annotations

import pytest

from gradlint.source.read import is_about_torch, mentions_torch

STEP = "def step(self, loss):\n    self.optimizer.zero_grad()\n    loss.backward()\n    self.optimizer.step()\n"


@pytest.mark.parametrize("imports", ["", "import torch\n", "import numpy as np\n", "from .hooks import Hook\n"])
def test_a_training_step_is_looked_at(imports: str) -> None:
    """The networks of a project are often made in another file."""
    assert is_about_torch(imports + STEP)
    assert mentions_torch((imports + STEP).encode())


@pytest.mark.parametrize("imports", ["from tinygrad import Tensor\n", "import jittor as jt\n", "import paddle\n"])
def test_a_step_of_another_framework_is_not(imports: str) -> None:
    """Their optimizers have a method `zero_grad`, too."""
    assert not is_about_torch(imports + STEP)


def test_a_backward_alone_says_nothing() -> None:
    """Beside imports that are not known, it may be anybody's."""
    assert is_about_torch("import numpy\nloss.backward()\n")
    assert not is_about_torch("import browser\nbrowser.backward()\n")
    assert not mentions_torch(b"browser.backward()")
