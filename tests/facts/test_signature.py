"""Signatures read from torch, and the naming of arguments by them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tools.facts.names import attribute  # noqa: E402 (these import torch)
from tools.facts.signature import bind, overloads_of  # noqa: E402
from tools.facts.table import signature_text  # noqa: E402


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mul", "input~#,other~#,*,out~=None"),
        ("max", "input~,*,out~=None|input~,other~,*,out~=None|input~,dim,keepdim=False,*,out~=None"),
        ("add", "input~#,other~#,*,alpha=1,out~=None"),
        ("where", "condition~|condition~,input~#,other~#,*,out~=None"),
        ("Tensor.where", "input~,condition~,other~#"),
        ("Tensor.split", "tensor~,split_size,dim=0"),
        ("Tensor.view", "input~,dtype|input~,size|input~,*size"),
        ("Tensor.data", "input~"),
        ("nn.functional.relu", "input~,inplace=False"),
        ("nn.ReLU", "inplace=False"),
        ("nn.Tanh", ""),
        ("linalg.norm", "input~,ord=None,dim=None,keepdim=False,*,dtype=None,out~=None"),
    ],
)
def test_signatures(name: str, expected: object) -> None:
    assert signature_text(overloads_of(name, attribute(name))) == expected


X = torch.ones(2)


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "expected"),
    [
        ("max", (X, X), {}, ["input", "other"]),
        ("max", (X, 0), {}, ["input", "dim"]),
        ("max", (X,), {"dim": 0}, ["input", "dim"]),
        ("mul", (X, 2.0), {}, ["input", "other"]),
        ("Tensor.view", (X, 1, 2), {}, ["input", "size"]),
        ("Tensor.view", (X, torch.int32), {}, ["input", "dtype"]),
        (
            "nn.functional.max_pool2d",
            (X, 2),
            {"return_indices": True},
            ["input", "kernel_size", "return_indices"],
        ),
    ],
)
def test_bind(name: str, args: tuple[object, ...], kwargs: dict[str, object], expected: object) -> None:
    bound = bind(overloads_of(name, attribute(name)), args, kwargs)
    assert bound is not None
    assert list(bound) == expected


def test_a_call_that_fits_no_overload() -> None:
    assert bind(overloads_of("exp", torch.exp), (X, X, X), {}) is None
