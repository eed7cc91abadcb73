"""What can be told of a call of torch: its name, the tensors that it is given, their versions and flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from gradlint.concrete.calls import tensors_in

Tensor = torch.Tensor
PLAIN: set[tuple[type, ...]] = {(), (Tensor,)}
"""What torch hands to a mode as the classes of what an operation is given, where none has a `__torch_function__`."""
_DRAWS = frozenset({"uniform_", "normal_", "trunc_normal_"})
CONSTANTS = frozenset({"constant_", "zeros_", "ones_", "eye_", "dirac_", "fill_", "zero_"})


def requires_grad(tensor: Tensor) -> bool:
    """Return the flag; torch raises where it would have to rebase a view that it does not.

    A view made under `no_grad` bears the flag of its base, and has no graph.
    """
    try:
        if not tensor.requires_grad:
            return False
        return tensor.grad_fn is not None or (
            tensor.is_leaf and (tensor._base is None or not tensor._base.requires_grad)
        )
    except RuntimeError:
        return False


def look(args: tuple[Any, ...], kwargs: Mapping[str, Any], given: list[Tensor], before: list[int]) -> None:
    """Note the tensors among arguments, and their versions."""
    for one in args:
        if isinstance(one, Tensor):
            given.append(one)
        elif isinstance(one, (list, tuple, dict)):
            given += tensors_in((one,))
    if kwargs:
        given += tensors_in(kwargs.values())
    before += versions(given)


def versions(tensors: list[Tensor]) -> list[int]:
    """Return the version counters; a tensor of inference mode has none."""
    try:
        return [one._version for one in tensors]
    except RuntimeError:
        return [-1 if one.is_inference() else one._version for one in tensors]


def name_of(func: Any) -> str:
    """Return how an operation is called: `exp`, `add_`, `index assignment`; `nn.functional.relu`."""
    name: str = getattr(func, "__name__", type(func).__name__)
    if getattr(func, "__module__", None) == "torch.nn.functional":
        return f"nn.functional.{name}"
    return _NAMES.get(name, name)


def draws(func: Any, name: str) -> bool:
    """Return whether an operation fills a tensor with random numbers: one of its own, or of `torch.nn.init`."""
    initialises = getattr(func, "__module__", None) == "torch.nn.init" and name not in CONSTANTS
    return initialises or name in _DRAWS


_NAMES = {
    "__setitem__": "index assignment",
    "__getitem__": "index",
    "__rsub__": "sub",
    "rsub": "sub",
    "__rpow__": "pow",
    "__rdiv__": "div",
    "__rtruediv__": "div",
    "__matmul__": "matmul",
    "__rmatmul__": "matmul",
    "true_divide": "div",
}
