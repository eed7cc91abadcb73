"""Measures of silent faults, which the lines `# shows:` of examples call by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

import torch

Loss = Callable[[], torch.Tensor]

_NUDGES = (1e-3, 1e-1, 1.0, 10.0)
_STEP = 1e-3
_TOLERANCE = 2e-2


def grad_is_none(t: torch.Tensor) -> bool:
    """Whether no gradient arrived at a tensor."""
    return t.grad is None


def grad_is_zero(t: torch.Tensor) -> bool:
    """Whether a gradient arrived and is zero everywhere."""
    return t.grad is not None and not bool(t.grad.any())


def has_nan(t: torch.Tensor) -> bool:
    """Whether a tensor holds a NaN."""
    return bool(torch.isnan(t).any())


def changes_with(loss_fn: Loss, t: torch.Tensor) -> bool:
    """Whether the value of a loss depends on a tensor, tried with nudges of several sizes in both directions.

    Steps count as a dependence too: an argmax that changes for one of the nudges does.
    """
    before, kept = _value(loss_fn), t.detach().clone()
    direction = torch.randn(t.shape, generator=torch.Generator().manual_seed(0), dtype=t.dtype)
    try:
        return any(
            not torch.equal(_value_at(loss_fn, t, kept + sign * nudge * direction), before)
            for nudge in _NUDGES
            for sign in (1, -1)
        )
    finally:
        _put(t, kept)


def differs_from_finite_differences(
    loss_fn: Loss, t: torch.Tensor, grad: torch.Tensor | None = None, at: torch.Tensor | None = None
) -> bool:
    """Whether a gradient is not the slope of the loss, as central differences measure it.

    The gradient is `t.grad` unless `grad` names another. The slope is taken at `at`, or where `t` stands now.
    """
    got = t.grad if grad is None else grad
    if got is None:
        raise ValueError("there is no gradient to compare; `grad_is_none` asks for that")
    slope = _slope(loss_fn, t, t.detach().clone() if at is None else at.detach().clone())
    room = _TOLERANCE * (1 + slope.abs())
    return bool(((got - slope).abs() > room).any())


def graph_size(t: torch.Tensor) -> int:
    """How many nodes of the graph a backward from this tensor can reach."""
    seen: set[object] = set()
    waiting = [t.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return len(seen)


def grows(fn: Callable[[], object], turns: int = 4) -> bool:
    """Whether the graph kept alive by what `fn` returns becomes larger with each turn."""
    sizes = [sum(graph_size(t) for t in _tensors(fn())) for _ in range(turns)]
    return all(before < after for before, after in itertools.pairwise(sizes))


def _tensors(value: object) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _slope(loss_fn: Loss, t: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    kept, slope = t.detach().clone(), torch.zeros_like(at).flatten()
    try:
        for index in range(at.numel()):
            step = torch.zeros_like(at).flatten()
            step[index] = _STEP
            step = step.reshape(at.shape)
            rise = _value_at(loss_fn, t, at + step) - _value_at(loss_fn, t, at - step)
            slope[index] = rise.sum() / (2 * _STEP)
    finally:
        _put(t, kept)
    return slope.reshape(at.shape)


def _value_at(loss_fn: Loss, t: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    _put(t, value)
    return _value(loss_fn)


def _value(loss_fn: Loss) -> torch.Tensor:
    """The loss as float64, with the same random numbers each time."""
    torch.manual_seed(0)
    return torch.as_tensor(loss_fn()).detach().double().clone()


def _put(t: torch.Tensor, value: torch.Tensor) -> None:
    # Through `.data`, since the graphs of the program that is measured must not notice the write.
    t.data.copy_(value)


MEASURES: Mapping[str, Callable[..., object]] = {
    measure.__name__: measure
    for measure in (
        grad_is_none,
        grad_is_zero,
        has_nan,
        changes_with,
        differs_from_finite_differences,
        graph_size,
        grows,
    )
}
