"""Which layers of torch exclude one another: asked of torch's own classes."""

from __future__ import annotations

import inspect
from itertools import permutations

import pytest

from gradlint.interpreter.python.builtins.reflection import _are_apart

nn = pytest.importorskip("torch.nn")


def test_no_layer_excludes_one_that_it_extends() -> None:
    """`ReLU6` is a `Hardtanh`; `Conv2d` and `BatchNorm2d` have nothing in common but `Module`."""
    layers = {name: one for name, one in vars(nn).items() if inspect.isclass(one) and issubclass(one, nn.Module)}
    related = [pair for pair in permutations(layers, 2) if issubclass(layers[pair[0]], layers[pair[1]])]
    assert len(related) > 100
    assert [pair for pair in related if _are_apart(*(f"torch.nn.{name}" for name in pair))] == []
    assert _are_apart("torch.nn.Conv2d", "torch.nn.BatchNorm2d")
