"""The calls to measure: torch's own test samples (`op_db`, `module_db`), varied, and the recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from tools.facts.call import Call, ModuleSpec, is_differentiable, tensors_in
from tools.facts.names import attribute, callable_of, is_property, spellings_of
from tools.facts.probe import REFUSALS, key_of
from tools.facts.signature import Overload, bind, overloads_of

LARGEST = 20_000
_DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)


class _Calls(TorchFunctionMode):
    """Remembers the named calls of torch that are made under it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[RawCall] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # Reading an attribute is what a wrapper does on the way, not the call it stands for.
        names = tuple(name for name in spellings_of(func) if not is_property(name))
        if names:
            self.calls.append(RawCall(names, tuple(args), dict(kwargs)))
        return func(*args, **kwargs)


class RawCall(NamedTuple):
    """A call of torch: all names of the callable, and the arguments."""

    names: tuple[str, ...]
    args: tuple[object, ...]
    kwargs: dict[str, object]


def call_made(
    name: str, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> RawCall:
    """Return the call that a test's wrapper stands for: one of this name, or else the first it makes."""
    raw = RawCall((name,), tuple(args), dict(kwargs))
    if function is attribute(name):
        return raw
    seen = _Calls()
    with seen:
        function(*args, **kwargs)
    named = [call for call in seen.calls if name in call.names]
    return (named or seen.calls or [raw])[0]


def named_call(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Call | None:
    """Return the call of `name`, its arguments named; None if no overload takes them."""
    function = callable_of(name)
    bound = bind(overloads_of(name, attribute(name)), args, kwargs)
    if bound is None:
        return None
    kept = {k: v for k, v in kwargs.items() if k != "out"}
    return Call(name, function, args, kept, {k: v for k, v in bound.items() if k != "out"})


def of_op(op: Any, dtype: torch.dtype | None = None) -> Iterator[tuple[str, tuple[object, ...], dict[str, object]]]:
    """Yield (spelling, args, kwargs) of the call that each test sample of the op really makes."""
    used = dtype or next((d for d in _DTYPES if d in op.dtypes), None)
    if used is None or used not in op.dtypes:
        return
    torch.manual_seed(0)
    for sample in op.sample_inputs("cpu", used, requires_grad=False):
        args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
        if _unfit(args) or _unfit(kwargs):
            continue
        try:
            raw = call_made(op.name, op.op, args, kwargs)
        except REFUSALS:  # Samples that need another device or library refuse to run at all.
            continue
        spelling = op.name if op.name in raw.names else raw.names[0]
        if attribute(spelling) is not None and not spelling.startswith("torch."):
            yield spelling, raw.args, raw.kwargs


def _unfit(value: object) -> bool:
    """Empty tensors tell nothing: nothing of them is saved, and they obey every rule of size."""
    tensors = list(tensors_in(value))
    return any(t.layout is not torch.strided or not 0 < t.numel() <= LARGEST for t in tensors)


def diverse(calls: Iterable[Call], limit: int) -> list[Call]:
    """Choose up to `limit` calls, taking first those whose kinds of arguments, flags and ranks are new."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in calls:
        groups.setdefault(_kind_of_call(call), []).append(call)
    chosen: list[Call] = []
    depth = 0
    while len(chosen) < limit and any(len(g) > depth for g in groups.values()):
        chosen += [g[depth] for g in groups.values() if len(g) > depth]
        depth += 1
    return chosen[:limit]


def _kind_of_call(call: Call) -> tuple[object, ...]:
    named: dict[str, object] = dict(call.named)
    if call.module is not None:
        named = {**call.module.constructor, **named, "training": call.module.training}
    return tuple((name, key_of(value), _rank(value)) for name, value in sorted(named.items()))


def _rank(value: object) -> int:
    tensors = list(tensors_in(value))
    empty = any(not t.numel() for t in tensors)
    return -1 if empty else max((t.ndim for t in tensors), default=0)


def varied(calls: Sequence[Call], overloads: tuple[Overload, ...]) -> Iterator[Call]:
    """Yield calls in other layouts, in double precision, with numbers for tensors, with `inplace=True`."""
    for call in calls[:6]:
        yield call.with_tensors(_permuted)
        yield call.with_tensors(lambda t: t.double() if t.is_floating_point() else t)
    for call in calls[:4]:
        yield from _with_numbers(call)
    if any(p.name == "inplace" for overload in overloads for p in overload):
        for call in calls[:6]:
            changed = bind(overloads, call.args, {**call.kwargs, "inplace": True})
            if changed is not None:
                yield replace(call, kwargs={**call.kwargs, "inplace": True}, named=changed)


def _permuted(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same numbers laid out in the opposite order of dimensions (dense, not contiguous)."""
    if tensor.ndim < 2:
        return tensor
    order = list(range(tensor.ndim - 1, -1, -1))
    return tensor.permute(order).contiguous().permute(order)


def _with_numbers(call: Call) -> Iterator[Call]:
    for i, value in enumerate(call.args):
        if i and isinstance(value, torch.Tensor) and is_differentiable(value):
            for number in (2.0, 0.5):
                args = (*call.args[:i], number, *call.args[i + 1 :])
                changed = named_call(call.name, args, call.kwargs)
                if changed is not None:
                    yield changed


def of_module(info: Any) -> Iterator[Call]:
    """Yield the test samples of a module, in training and in evaluation mode."""
    for training in (True, False):
        torch.manual_seed(0)
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for sample in inputs:
            forward = sample.forward_input
            if forward is None or _unfit(forward.args) or _unfit(forward.kwargs):
                continue
            constructor = sample.constructor_input
            yield module_call(
                info.module_cls, constructor.args, constructor.kwargs, forward.args, forward.kwargs, training
            )


def module_call(
    cls: type[torch.nn.Module],
    constructor_args: tuple[object, ...],
    constructor_kwargs: Mapping[str, object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    training: bool,
) -> Call:
    """Return the call of a new module of the class on the arguments."""
    torch.manual_seed(0)
    instance = cls(*constructor_args, **constructor_kwargs)
    name = f"nn.{cls.__name__}"
    hashed: Any = cls  # Classes are hashable, though the metaclass of modules hides it from mypy.
    constructor = bind(overloads_of(name, hashed), constructor_args, constructor_kwargs)
    named = bind(forward_overloads(cls), args, kwargs)
    if constructor is None or named is None:
        raise TypeError(f"{name} does not take {constructor_args} {constructor_kwargs} and {len(args)} inputs")
    spec = ModuleSpec(instance, constructor, training)
    return Call(name, cls.forward, args, kwargs, named, spec)


def module_class(name: str) -> type[torch.nn.Module]:
    """Return the module class of that name."""
    found = attribute(name)
    assert isinstance(found, type) and issubclass(found, torch.nn.Module)
    return found


def forward_overloads(cls: type[torch.nn.Module]) -> tuple[Overload, ...]:
    """Return the signature of the module's `forward` without the module itself."""
    found = overloads_of(f"nn.{cls.__name__}.forward", cls.forward)
    return tuple(overload[1:] for overload in found)
