"""Names below `torch` that are no operations: dtypes, and classes whose instances are no tensors."""

from __future__ import annotations

import torch


def dtypes() -> dict[str, str]:
    """Return each name of a dtype with its kind: float, complex, int, bool, or other."""
    named = {name: getattr(torch, name) for name in dir(torch)}
    return {name: _kind(value) for name, value in named.items() if isinstance(value, torch.dtype)}


def _kind(dtype: torch.dtype) -> str:
    if dtype is torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    if dtype.is_floating_point:
        return "float"
    return "int" if str(dtype).removeprefix("torch.").lstrip("u").startswith("int") else "other"


def plain_classes() -> list[str]:
    """Return the classes directly below `torch` whose instances are neither tensors nor modules."""
    found = []
    for name in dir(torch):
        value = getattr(torch, name)
        public = isinstance(value, type) and not name.startswith("_")
        # Classes such as `torch.FloatTensor` are made by a metaclass of their own and make tensors.
        if public and type(value) is type and not issubclass(value, (torch.Tensor, torch.nn.Module)):
            found.append(name)
    return found
