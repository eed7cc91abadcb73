"""The tensors that recipes are cooked of, and how a recipe is written down."""

from __future__ import annotations

from typing import NamedTuple

import torch

x = torch.tensor([[0.3, -0.7, 1.2], [0.9, 0.1, -0.4]])
y = torch.tensor([[1.3, 0.7, 0.2], [-0.9, 0.6, 0.4]])
v = torch.tensor([0.3, -0.7, 1.2])
one = torch.tensor([0.8])
zero_d = torch.tensor(0.8)
square = torch.tensor([[2.0, 0.3], [0.1, 1.5]])
cube = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
image = torch.linspace(-1, 1, 96).reshape(2, 3, 4, 4)
i = torch.tensor([0, 1, 0])
ints = torch.tensor([[1, 2, 3], [4, 5, 6]])
mask = torch.tensor([[True, False, True], [False, True, False]])


class Recipe(NamedTuple):
    """One call of the operation `name`."""

    name: str
    args: tuple[object, ...]
    kwargs: dict[str, object]


def call(name: str, *args: object, **kwargs: object) -> Recipe:
    """Write down one call; facts tell arguments apart, so a tensor that is given twice becomes two."""
    distinct: list[object] = []
    for value in args:
        twice = isinstance(value, torch.Tensor) and any(value is other for other in distinct)
        distinct.append(value.clone() if twice and isinstance(value, torch.Tensor) else value)
    return Recipe(name, tuple(distinct), kwargs)
