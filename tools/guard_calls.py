"""Calls of torch's functions by their source: what is known of their arguments, and what torch says."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch

from gradlint.facts.deciding import OPEN, Described, Known, Listed, Shaped

OF_CLASS = "self_"
"""Before the parameters of a module's constructor, in the tests of its `forward`."""


@cache
def known_of(source: str) -> Known:
    """Return what the tests know of the value of an expression."""
    return known_value(eval(source, {"torch": torch}))


def known_value(value: Any) -> Known:
    if isinstance(value, torch.Tensor):
        bounds = (value.min().item(), value.max().item()) if value.numel() and not value.is_complex() else None
        return Shaped(tuple(value.shape), str(value.dtype).removeprefix("torch."), bounds)
    if isinstance(value, torch.utils.data.Sampler):
        return Described(frozenset())
    if isinstance(value, torch.optim.Optimizer):
        groups = (OPEN,) * len(value.param_groups)
        return Described(frozenset({"Optimizer"}), {"param_groups": groups, "defaults": tuple(value.defaults)})
    if isinstance(value, (types.FunctionType, types.MethodType)):
        return Described(frozenset({"function"}))
    if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return Described(frozenset({type(value).__name__}))
    if isinstance(value, torch.nn.Module):
        return Described(frozenset({"Module"}))
    if isinstance(value, (tuple, list)):
        return (Listed if isinstance(value, list) else tuple)(map(known_value, value))
    return value if isinstance(value, (bool, int, float, str, type(None))) else OPEN


def called_with(path: str, given: Mapping[str, str], on: str = "") -> str:
    """Return the source of a call: that of a module, with what belongs to its constructor, or of a method of `on`."""
    made = {name.removeprefix(OF_CLASS): one for name, one in given.items() if name.startswith(OF_CLASS)}
    now = {name: one for name, one in given.items() if not name.startswith(OF_CLASS)}
    if on:
        return f"{on}.{path.rpartition('.')[2]}({written(now)})"
    if path.endswith(".forward"):
        return f"{path.removesuffix('.forward')}({written(made)})({written(now)})"
    return f"{path}({written(now)})"


def written(arguments: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in arguments.items())


def error_of(call: str) -> tuple[str | None, str]:
    """Return the type and the text of the error that a call raises."""
    try:
        eval(call, {"torch": torch})
    except Exception as error:
        return type(error).__name__, str(error)
    return None, ""
