"""The names that formulas may use when they are executed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional
from torch.nn import grad as of_convolutions


class SkippedError(Exception):
    """The formula does not speak of this call."""


def names_for(
    named: Mapping[str, object], schema: Any, outputs: Sequence[torch.Tensor], grads: Sequence[torch.Tensor]
) -> dict[str, Any]:
    """Return torch's functions, the arguments of a call, its results, and their gradients."""
    arguments: dict[str, Any] = {("input" if name == "self" else name): value for name, value in named.items()}
    results: dict[str, Any] = {f"result{i}": one for i, one in enumerate(outputs)}
    results |= {f"grad_{one.name}": grad for one, grad in zip(schema.returns, grads, strict=False) if one.name}
    results |= {one.name: value for one, value in zip(schema.returns, outputs, strict=False) if one.name}
    bound = {**arguments, **results, "result": outputs[0], "grad": grads[0], "grads": list(grads)}
    return {**_of_torch(), **_Helpers(bound).names(), **bound}


def _of_torch() -> dict[str, Any]:
    functions = {name: getattr(torch, name) for name in dir(torch) if not name.startswith("_")}
    more = {
        "one_hot": functional.one_hot,
        "softplus": functional.softplus,
        "inv": torch.linalg.inv,
        "pi": math.pi,
        "inf": math.inf,
    }
    more |= {name: getattr(torch, name) for name in ("special_i1",) if hasattr(torch, name)}
    python = {"largest": max, "sum": _sum, "range": range, "sorted": sorted, "list": list}
    plain = {name: _numeric(name) for name in ("sqrt", "log", "exp")}
    return {**functions, **more, **python, **plain}


def _sum(value: Any, *arguments: Any) -> Any:
    return value.sum(*arguments) if isinstance(value, torch.Tensor) else sum(value)


def _numeric(name: str) -> Any:
    of_tensors, of_numbers = getattr(torch, name), getattr(math, name)
    return lambda value: of_tensors(value) if isinstance(value, torch.Tensor) else of_numbers(value)


class _Helpers:
    """What formulas say in words: expanding over the reduced dimensions, picking, dividing by the mean's count."""

    def __init__(self, bound: Mapping[str, Any]) -> None:
        self._bound = bound

    def names(self) -> dict[str, Any]:
        names = ("skip", "spread", "over", "means", "picked", "count", "full", "layer_norm_input")
        return {
            name: getattr(self, name) for name in (*names, "conv_input", "conv_weight", "pooled", "channels", "across")
        }

    def skip(self) -> torch.Tensor:
        raise SkippedError

    def _dims(self) -> list[int]:
        dim, shape = self._bound.get("dim"), self._bound["input"]
        if dim is None or dim == []:
            return list(range(shape.ndim))
        return [one % max(shape.ndim, 1) for one in ([dim] if isinstance(dim, int) else dim)]

    def spread(self, value: torch.Tensor) -> torch.Tensor:
        """Expand what was reduced to the shape of the input."""
        of = self._bound["input"]
        if not self._bound.get("keepdim", False) and of.ndim:
            for dim in sorted(self._dims()):
                value = value.unsqueeze(dim)
        return value.expand_as(of)

    def over(self, value: torch.Tensor) -> torch.Tensor:
        """Sum over the reduced dimensions, which are kept."""
        return value.sum(self._dims(), keepdim=True) if value.ndim else value.sum()

    def means(self) -> torch.Tensor:
        of: torch.Tensor = self._bound["input"]
        return of.mean(self._dims(), keepdim=True)

    def picked(self, grad: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        """Return zeros with the gradient at the indices of a reduction."""
        of: torch.Tensor = self._bound["input"]
        dim = self._bound["dim"]
        if not self._bound.get("keepdim", False) and of.ndim:
            grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
        return torch.zeros_like(of).scatter(dim, indices, grad) if of.ndim else grad

    def count(self) -> float:
        """Return by what the mean of a loss divides."""
        tensors = (self._bound["input"], self._bound["target"])
        shape = torch.broadcast_shapes(*(one.shape for one in tensors))  # type: ignore[no-untyped-call]
        return float(math.prod(shape)) if self._bound["reduction"] == 1 else 1.0

    def full(self, indices: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor, ...]:
        if any(one is None for one in indices):
            raise SkippedError
        return tuple(one for one in indices if one is not None)

    def layer_norm_input(self) -> torch.Tensor:
        bound = self._bound
        dims = list(range(-len(bound["normalized_shape"]), 0))
        g = bound["grad"] if bound["weight"] is None else bound["grad"] * bound["weight"]
        x = (bound["input"] - bound["result1"]) * bound["result2"]
        found: torch.Tensor = bound["result2"] * (g - g.mean(dims, keepdim=True) - x * (g * x).mean(dims, keepdim=True))
        return found

    def channels(self, value: torch.Tensor) -> torch.Tensor:
        """Sum over all dimensions but that of the channels."""
        return value.sum([dim for dim in range(value.ndim) if dim != 1])

    def across(self, value: torch.Tensor) -> torch.Tensor:
        """Shape a value per channel so that it broadcasts with the input."""
        return value.reshape([1, -1, *[1] * (self._bound["input"].ndim - 2)])

    def _spaced(self) -> tuple[Any, ...]:
        return tuple(self._bound[name] for name in ("stride", "padding", "dilation", "groups"))

    def conv_input(self) -> torch.Tensor:
        return self._conv("input")

    def conv_weight(self) -> torch.Tensor:
        return self._conv("weight")

    def _conv(self, of: str) -> torch.Tensor:
        count = self._bound["grad"].ndim - 2
        function = getattr(of_convolutions, f"conv{count}d_{of}", None)
        if function is None or not all(list(self._bound["input"].shape[:1])):
            raise SkippedError
        given = (
            (self._bound["input"].shape, self._bound["weight"])
            if of == "input"
            else (self._bound["input"], self._bound["weight"].shape)
        )
        found: torch.Tensor = function(*given, self._bound["grad"], *self._spaced())
        return found

    def pooled(self) -> torch.Tensor:
        """Divide each window's gradient among its elements, for windows that neither overlap nor are padded."""
        bound = self._bound
        kernel, stride, of = bound["kernel_size"], bound["stride"], bound["input"]
        plain = list(stride or kernel) == list(kernel) and not any(bound["padding"]) and not bound["divisor_override"]
        if not plain or any(n % k for n, k in zip(of.shape[-2:], kernel, strict=True)):
            raise SkippedError
        grad: torch.Tensor = bound["grad"]
        size: int = kernel[0] * kernel[1]
        return grad.repeat_interleave(kernel[0], -2).repeat_interleave(kernel[1], -1) / size
