"""The formulas of nodes, each executed: what autograd gives for a call must be what the formula gives."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

import torch
import torchgen  # type: ignore[import-untyped]
from torch.utils._python_dispatch import TorchDispatchMode
from torchgen.packaged.autograd.load_derivatives import load_derivatives  # type: ignore[import-untyped]

from tools.derivatives import by_hand
from tools.derivatives.helpers import SkippedError, names_for
from tools.derivatives.readable import is_missing, kernel, readable
from tools.facts.call import Call, is_differentiable, map_tensors, run, tensors_in
from tools.facts.probe import REFUSALS

MOST = 8
"""How many calls of each overload a formula is executed on."""


class Source(NamedTuple):
    """One derivative in torch's file."""

    node: str
    function: str
    argument: str
    formula: str


class NativeCall(NamedTuple):
    """A call below autograd, its arguments by the names of the schema."""

    function: Any
    named: Mapping[str, object]


def sources() -> list[Source]:
    """Return all derivatives of torch's own file, by node."""
    folder = os.path.join(os.path.dirname(torchgen.__file__), "packaged")
    native = f"{folder}/ATen/native"
    infos, _ = load_derivatives(
        f"{folder}/autograd/derivatives.yaml", f"{native}/native_functions.yaml", f"{native}/tags.yaml"
    )
    return [
        Source(info.op, str(info.func.func.name), "input" if argument == "self" else argument, one.original_formula)
        for by_key in infos.values()
        for key, info in by_key.items()
        if key == "Default" and info.op
        for one in info.derivatives
        for argument in one.var_names
    ]


class _Native(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the calls that reach the operations with a derivative of their own."""

    def __init__(self, wanted: frozenset[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: dict[str, list[NativeCall]] = defaultdict(list)
        self._wanted = wanted

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::") + (
            f".{func._overloadname}" if func._overloadname != "default" else ""
        )
        real = any(one.is_floating_point() for one in tensors_in((args, kwargs)))
        if real and name in self._wanted and len(self.found[name]) < MOST:
            given = zip((one.name for one in func._schema.arguments), args, strict=False)
            named = {**dict(given), **(kwargs or {})}
            self.found[name].append(NativeCall(func, map_tensors(named, _kept)))  # type: ignore[arg-type]
        return func(*args, **(kwargs or {}))


def _kept(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()


def native_calls(calls: Iterable[Call], wanted: frozenset[str]) -> dict[str, list[NativeCall]]:
    """Return the calls of native operations that calls of torch make."""
    mode = _Native(wanted)
    for call in calls:
        try:
            with mode:
                run(call)
        except REFUSALS:
            continue
    return mode.found


def nodes(calls: Iterable[Call], only: Container[str] | None = None) -> dict[str, dict[str, str]]:
    """Return by node and argument the formula that was executed, or by which function torch computes it."""
    found = [source for source in sources() if only is None or source.node in only]
    native = native_calls(calls, frozenset(source.function for source in found))
    result: dict[str, dict[str, str]] = defaultdict(dict)
    for source in found:
        of_node = result[source.node]
        of_node.setdefault("of", source.function.partition(".")[0].rstrip("_") or source.function)
        if source.argument not in of_node:
            shown = _shown(source, native.get(source.function, []))
            if shown:
                of_node[source.argument] = shown
    return {node: texts for node, texts in sorted(result.items()) if len(texts) > 1}


def _shown(source: Source, calls: list[NativeCall]) -> str:
    """Return what a page says of the argument: `!` before it, torch has no derivative; `=` before it, a function."""
    if is_missing(source.formula):
        return "!"
    by_hands = by_hand.NODES.get(source.node, {}).get(source.argument)
    for candidate in filter(None, (by_hands, readable(source.formula))):
        text: str
        text, code = candidate if isinstance(candidate, tuple) else (candidate, candidate)
        if holds(code, source, calls):
            return text.replace("zeros_like(grad)", "0").replace("0 * grad", "0")
    if by_hands is not None:
        raise AssertionError(f"{source.node}: the formula for {source.argument} does not hold")
    computed = kernel(source.formula)
    return f"={computed}" if computed is not None else ""


def holds(code: str, source: Source, calls: Iterable[NativeCall]) -> bool:
    """Return whether the formula gives what autograd gives, for every call that it speaks of, and for one at least."""
    argument = "self" if source.argument == "input" and source.function.partition(".")[0] else source.argument
    outcomes = [one for call in calls if (one := _agrees(code, source, argument, call)) is not None]
    return bool(outcomes) and all(outcomes)


def _agrees(code: str, source: Source, argument: str, call: NativeCall) -> bool | None:
    """Return whether the formula is right for a call; None for one that it does not speak of."""
    name = argument if argument in call.named else source.argument
    value = call.named.get(name)
    if not any(is_differentiable(one) and not one.is_complex() for one in tensors_in(value)):
        return None
    leaves = map_tensors(value, lambda t: t.double().requires_grad_() if t.is_floating_point() else t)
    # An argument that is optional and was not given counts as what the schema says.
    defaults = {one.name: one.default_value for one in call.function._schema.arguments if one.has_default_value()}
    doubled = map_tensors(dict(call.named), lambda t: t.double() if t.is_floating_point() else t)
    assert isinstance(doubled, dict)
    named: dict[str, object] = {**defaults, **doubled, name: leaves}
    torch.manual_seed(0)
    try:
        result = call.function(**named)
    except REFUSALS:  # Some take no double precision.
        return None
    outputs = list(tensors_in(result))
    flowing = [one for one in outputs if one.grad_fn is not None and one.grad_fn.name() == source.node]
    if not flowing or any(one.is_complex() or one.layout is not torch.strided for one in outputs):
        return None
    grads = [torch.randn_like(one) if one.is_floating_point() else one for one in outputs]
    try:
        gotten = torch.autograd.grad(
            flowing,
            [one for one in tensors_in(leaves) if one.requires_grad],
            [grad for grad, one in zip(grads, outputs, strict=True) if one in _Identity(flowing)],
            allow_unused=True,
        )
    except REFUSALS:
        return None
    if any(one is not None and one.layout is not torch.strided for one in gotten):
        return None
    detached = map_tensors(named, lambda t: t.detach())
    assert isinstance(detached, dict)
    names = names_for(detached, call.function._schema, [one.detach() for one in outputs], grads)
    try:
        given = eval(code, names)
    except SkippedError:
        return None
    except (*REFUSALS, NameError, SyntaxError, AssertionError):
        return False
    return same(given, gotten)


class _Identity:
    """Tensors as a collection that is asked by identity."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self._ids = {id(tensor) for tensor in tensors}

    def __contains__(self, tensor: object) -> bool:
        return id(tensor) in self._ids


def same(given: object, gotten: tuple[torch.Tensor | None, ...]) -> bool:
    """Return whether a formula gives the gradients."""
    if isinstance(given, (int, float)) and len(gotten) == 1 and gotten[0] is not None:
        given = torch.full_like(gotten[0], given)
    values = list(tensors_in(given))
    return len(values) == len(gotten) and all(
        (one is None and not value.any()) or (one is not None and _fits(value, one))
        for value, one in zip(values, gotten, strict=True)
    )


def _fits(value: torch.Tensor, gradient: torch.Tensor) -> bool:
    """Return whether a formula gives the gradient, but for what backward sums over broadcast dimensions."""
    try:
        shape = torch.broadcast_shapes(value.shape, gradient.shape)  # type: ignore[no-untyped-call]
        summed = value.expand(shape).sum_to_size(gradient.shape)
    except RuntimeError:
        return False
    return torch.allclose(summed.double(), gradient.double(), rtol=1e-4, atol=1e-6, equal_nan=True)
