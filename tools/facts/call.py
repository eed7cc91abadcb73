"""One call of torch, kept as a template, and its runs with fresh tensors."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import torch

Labelled = dict[str, list[torch.Tensor]]


@dataclass(frozen=True)
class ModuleSpec:
    """A module as a template: its instance, the constructor's named arguments, and its mode.

    If it is `grouped`, all its parameters are spoken of together, as `p.*`, and so are its buffers.
    """

    instance: torch.nn.Module
    constructor: Mapping[str, object]
    training: bool
    grouped: bool = False

    def label(self, kind: str, name: str) -> str:
        """Return the label of a parameter (`p`) or buffer (`b`)."""
        return f"{kind}.*" if self.grouped else f"{kind}.{name}"


@dataclass(frozen=True)
class Call:
    """A call of the operation `name`. `named` gives each argument the name under which facts speak of it."""

    name: str
    function: Callable[..., object]
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    named: Mapping[str, object]
    module: ModuleSpec | None = None

    def with_tensors(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        """Return the call with each tensor argument changed; one that occurs twice stays one object."""
        memo: dict[int, torch.Tensor] = {}

        def once(tensor: torch.Tensor) -> torch.Tensor:
            if id(tensor) not in memo:
                memo[id(tensor)] = change(tensor)
            return memo[id(tensor)]

        def through(value: object) -> object:
            return map_tensors(value, once)

        return replace(
            self,
            args=tuple(through(a) for a in self.args),
            kwargs={k: through(v) for k, v in self.kwargs.items()},
            named={k: through(v) for k, v in self.named.items()},
        )


def map_tensors(value: object, change: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """Rebuild a nest of lists, tuples and dicts with each tensor replaced."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {k: map_tensors(v, change) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        rebuilt: object = value._make(map_tensors(v, change) for v in value)
        return rebuilt
    if type(value) is list:
        return [map_tensors(v, change) for v in value]
    return tuple([map_tensors(v, change) for v in value]) if type(value) is tuple else value


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """Yield the tensors in a nest of lists, tuples and dicts, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for item in value:
            yield from tensors_in(item)


def is_differentiable(tensor: torch.Tensor) -> bool:
    """Say whether a tensor of this dtype may require grad."""
    return tensor.is_floating_point() or tensor.is_complex()


@dataclass
class Run:
    """One execution: the tensors that went in, the leaves behind them, their old values, the outputs."""

    inputs: Labelled
    leaves: Labelled
    before: Labelled
    outputs: dict[str, torch.Tensor] = field(default_factory=dict)
    result: object = None
    versions: dict[str, list[int]] = field(default_factory=dict)

    def add(self, label: str, tensor: torch.Tensor) -> None:
        """Note an input as it is before the call."""
        self.inputs.setdefault(label, []).append(tensor)
        self.before.setdefault(label, []).append(tensor.detach().clone())
        self.versions.setdefault(label, []).append(tensor._version)

    def written(self, label: str) -> list[bool]:
        """Say of each input under the label whether its version has moved on."""
        return [t._version != v for t, v in zip(self.inputs[label], self.versions[label], strict=True)]

    def everything(self) -> Labelled:
        """Return inputs and outputs by label."""
        return {**self.inputs, **{label: [t] for label, t in self.outputs.items()}}


def differentiable_labels(call: Call) -> tuple[str, ...]:
    """Return the labels of the inputs and parameters that may require grad."""
    labels = [k for k, v in call.named.items() if any(is_differentiable(t) for t in tensors_in(v))]
    if call.module is not None:
        labels += [call.module.label("p", name) for name, _ in call.module.instance.named_parameters()]
    return tuple(dict.fromkeys(labels))


def run(call: Call, requiring: frozenset[str] = frozenset()) -> Run:
    """Execute the call on fresh non-leaf copies of its tensors, those under `requiring` requiring grad."""
    state = Run({}, {}, {})
    label_of = {id(t): label for label, value in call.named.items() for t in tensors_in(value)}

    def fresh(tensor: torch.Tensor) -> torch.Tensor:
        label = label_of[id(tensor)]
        leaf = tensor.detach().clone()
        if label in requiring and is_differentiable(leaf):
            leaf.requires_grad_()
            state.leaves.setdefault(label, []).append(leaf)
        copied = leaf.clone()
        state.add(label, copied)
        return copied

    ready = call.with_tensors(fresh)
    function = ready.function if call.module is None else _fresh_module(call.module, requiring, state)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Deprecations of torch's own test samples say nothing about autograd.
        state.result = function(*ready.args, **ready.kwargs)
    outputs = list(tensors_in(state.result))
    if state.result is None:
        # A statement such as `x[i] = y`: what it leaves behind is the tensor that it wrote to.
        outputs = [t for label, ts in state.inputs.items() if any(state.written(label)) for t in ts]
    single = isinstance(state.result, torch.Tensor) or (state.result is None and len(outputs) == 1)
    state.outputs = {">" if single else f">{i}": t for i, t in enumerate(outputs)}
    return state


def _fresh_module(spec: ModuleSpec, requiring: frozenset[str], state: Run) -> torch.nn.Module:
    module = copy.deepcopy(spec.instance).train(spec.training)
    for name, parameter in module.named_parameters():
        label = spec.label("p", name)
        parameter.requires_grad_(label in requiring)
        if label in requiring:
            state.leaves.setdefault(label, []).append(parameter)
        state.add(label, parameter)
    for name, buffer in module.named_buffers():
        state.add(spec.label("b", name), buffer)
    return module
