"""Norms of gradients and updates, measured around the steps of optimizers, without autograd and random numbers.

What is measured depends on the run alone. At most `MOST` iterations are kept: when there are more, every second one is
left out, of those that are there and of those to come.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from gradlint.domain.run import Series

Tensor = torch.Tensor

MOST = 40
_PART = 4096
"""Updates are measured on so many elements of a parameter, so that no second copy of a network is made."""

_AXES: dict[type[nn.Module], int] = {nn.Linear: 0, nn.Conv1d: 0, nn.Conv2d: 0, nn.Conv3d: 0}
_AXES |= {nn.ConvTranspose1d: 1, nn.ConvTranspose2d: 1, nn.ConvTranspose3d: 1}
"""The dimension of a weight along which the units of a layer lie."""


@dataclass
class _Parameter:
    """What is known of a parameter; `alive` are the units that have got a gradient."""

    tensor: weakref.ref[Tensor]
    number: int
    name: str = ""
    module: str = ""
    layer: str = ""
    shape: tuple[int, ...] = ()
    axis: int | None = None
    values: list[tuple[float, float, float] | None] = field(default_factory=list)
    alive: Tensor | None = None


class _Begun(NamedTuple):
    """A step that is measured: its parameters, parts of them before it, and what it is given."""

    parameters: list[_Parameter]
    tensors: list[Tensor]
    parts: list[Tensor]
    norms: list[Tensor]
    filled: list[Tensor]


class Measures:
    """Measures the iterations that are due. A mistake here ends the measuring, and says why."""

    def __init__(self) -> None:
        self.points: list[int] = []
        self.losses: list[float | None] = []
        self.failed: str | None = None
        self.is_naming = True
        """Whether the modules that are called are noted, for the names of parameters."""
        self._every = 1
        self._watched = 0
        self._modules: dict[int, weakref.ref[nn.Module]] = {}
        self._parameters: dict[int, _Parameter] = {}
        self._loss: Tensor | None = None
        self._begun: _Begun | None = None
        self.moved: bool | None = None
        """Whether the last step has changed a parameter; None where it had no gradient, or nothing was measured."""

    @property
    def is_due(self) -> bool:
        """Return whether this iteration is measured."""
        return not self._watched % self._every and self.failed is None

    def entered(self, module: nn.Module) -> None:
        """Note a module that is called."""
        self._modules.setdefault(id(module), weakref.ref(module))

    def backpropagated(self, roots: list[Tensor]) -> None:
        """Note the loss of an iteration."""
        if self.is_due and len(roots) == 1 and roots[0].numel() == 1:
            self._loss = roots[0].detach().clone()

    def step_begins(self, optimizer: Any) -> None:
        """Measure what a step is about to use."""
        if not self.is_due:
            return
        if self.is_naming:
            self._name()
        try:
            with torch.no_grad():
                self._begun = self._measured(optimizer)
        except Exception as error:  # A kind of tensor for which torch cannot compute this.
            self._fail(error)

    def step_ended(self) -> None:
        """Measure what a step has changed."""
        begun, self._begun, self.moved = self._begun, None, None
        if begun is not None and begun.tensors:
            try:
                self._note(begun)
            except Exception as error:
                self._fail(error)

    def _note(self, begun: _Begun) -> None:
        with torch.no_grad():
            changes = torch._foreach_sub([_part(one) for one in begun.tensors], begun.parts)
            numbers = [*_numbers(begun.norms), *_numbers(begun.filled)]
            numbers += [*_numbers(_norms(list(changes))), *_numbers(_norms(begun.parts))]
        count = len(begun.tensors)
        if any(norm > 0 for norm in numbers[:count]):
            self.moved = any(change != 0 for change in numbers[2 * count : 3 * count])
        for at, one in enumerate(begun.parameters):
            norm, filled, change, weight = numbers[at::count]
            ratio = change / weight if weight else float("inf") if change else 0.0
            zeros = 1 - filled / begun.tensors[at].numel()
            one.values += [None] * (len(self.points) - len(one.values))
            one.values[len(self.points) :] = [(norm, ratio, zeros)]

    def iteration_ended(self, number: int) -> None:
        """Note the number of a watched iteration."""
        if self.is_due:
            self.losses.append(None if self._loss is None else float(self._loss))
            self.points.append(number)
            if len(self.points) > MOST:
                self._thin()
        self._loss = None
        self._watched += 1

    def _thin(self) -> None:
        self._every *= 2
        self.points, self.losses = self.points[::2], self.losses[::2]
        for one in self._parameters.values():
            one.values = one.values[::2]

    def _fail(self, error: Exception) -> None:
        self.failed = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"

    def _measured(self, optimizer: Any) -> _Begun:
        given = [one for group in optimizer.param_groups for one in group["params"]]
        for one in given:
            self._parameter(one)
        tensors = [one for one in given if one.grad is not None and one.grad.layout is torch.strided and one.numel()]
        parameters = [self._parameter(one) for one in tensors]
        gradients = [one.grad for one in tensors]
        for known, gradient in zip(parameters, gradients, strict=True):
            if known.axis is not None:
                rows = gradient if not known.axis else gradient.transpose(0, known.axis)
                alive = rows.flatten(1).any(1)
                known.alive = alive if known.alive is None else known.alive | alive
        parts = [_part(one).clone() for one in tensors]
        return _Begun(parameters, tensors, parts, _norms(gradients), list(map(torch.count_nonzero, gradients)))

    def _parameter(self, tensor: Tensor) -> _Parameter:
        known = self._parameters.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            number = len(self._parameters)
            known = _Parameter(weakref.ref(tensor), number, f"parameter {number}", shape=tuple(tensor.shape))
            self._parameters[id(tensor)] = known
        return known

    def _name(self) -> None:
        """Name parameters by the outermost modules that were called."""
        self.is_naming = False
        called = [module for one in self._modules.values() if (module := one()) is not None]
        inner = {id(below) for module in called for below in module.modules() if below is not module}
        roots = [module for module in called if id(module) not in inner]
        self._modules.clear()
        for root in roots:
            prefix = "" if len(roots) == 1 else type(root).__name__
            for path, module in root.named_modules():
                where = ".".join(filter(None, (prefix, path)))
                for name, tensor in module.named_parameters(recurse=False):
                    one = self._parameter(tensor)
                    if one.layer:
                        continue  # It is shared with a module that comes before.
                    one.name, one.module = ".".join(filter(None, (where, name))), where
                    one.layer = type(module).__name__
                    one.axis = _AXES.get(type(module)) if name == "weight" else None

    def series(self, inactive: Callable[[weakref.ref[Tensor]], int | None] = lambda _: None) -> Iterator[Series]:
        """Yield what was measured of each parameter in the iterations that have ended, with its `inactive` units."""
        count = len(self.points)
        for one in sorted(self._parameters.values(), key=lambda one: one.number):
            values = [*one.values[:count], *[None] * (count - len(one.values))]
            yield Series(
                one.name,
                one.module,
                one.layer,
                one.shape,
                _product(one.shape),
                tuple(None if value is None else value[0] for value in values),
                tuple(None if value is None else value[1] for value in values),
                tuple(None if value is None else value[2] for value in values),
                None if one.alive is None else one.alive.numel(),
                None if one.alive is None else int((~one.alive).sum()),
                inactive(one.tensor),
            )


def _part(tensor: Tensor) -> Tensor:
    """Return elements of a tensor, from all over it."""
    step = tensor.numel() // _PART
    return tensor.detach() if step < 2 else tensor.detach().reshape(-1)[::step]


def _norms(tensors: list[Tensor]) -> list[Tensor]:
    """Return the norms, in no type of so small a range that they overflow there."""
    if any(one.dtype is torch.float16 for one in tensors):
        return [torch.linalg.vector_norm(one, dtype=torch.float32) for one in tensors]
    return list(torch._foreach_norm(tensors)) if tensors else []


def _numbers(tensors: list[Tensor]) -> list[float]:
    """Return the numbers, which an accelerator hands over at once."""
    if len({(one.device, one.dtype) for one in tensors}) > 1:
        return [float(one) for one in tensors]
    numbers: list[float] = torch.stack(tensors).tolist() if tensors else []
    return numbers


def _product(sizes: Iterable[int]) -> int:
    product = 1
    for one in sizes:
        product *= one
    return product
