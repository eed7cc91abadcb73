"""From names in a program to rows of the facts table."""

from __future__ import annotations

from functools import cache

from gradlint.facts import Entry, load


@cache
def fact(name: str) -> Entry | None:
    """Return the entry of a name below `torch`; None if the table has none."""
    return load().find(name)


@cache
def method_fact(name: str) -> Entry | None:
    """Return the entry of a method of tensors."""
    return fact(f"Tensor.{name}")


@cache
def star_names(path: str) -> frozenset[str]:
    """Return the names that `from path import *` binds, as far as the table knows them."""
    prefix = path.removeprefix("torch").removeprefix(".")
    prefix = f"{prefix}." if prefix else ""
    names = {name.removeprefix(prefix) for name in load() if name.startswith(prefix)}
    names |= _OWN.get(prefix, set())
    return frozenset(name for name in names if "." not in name)


_OWN = {
    "": {"nn", "optim", "autograd", "Tensor", "no_grad", "enable_grad", "tensor", "inference_mode"},
    "nn.": {"Module", "Parameter", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"},
}
