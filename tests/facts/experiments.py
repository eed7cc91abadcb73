"""Calls of torch that say whether a claim of a page holds, by what they do and not as the tools have measured it."""

from __future__ import annotations

from typing import Any

import torch

from gradlint.facts.row import alias_of
from tools.facts.call import Call, Run, differentiable_labels, run, tensors_in
from tools.facts.probe import REFUSALS
from tools.facts.probes import gradient


def runs(call: Call) -> bool:
    """Whether torch takes the call."""
    try:
        run(call)
    except REFUSALS:
        return False
    return True


def is_zero(call: Call, label: str) -> bool:
    """Whether no gradient of an input has an element other than zero."""
    return not any(bool(one.any()) for one in gradients(call, label))


def loss_of(state: Run) -> Any | None:
    outputs = [one for one in state.outputs.values() if one.requires_grad]
    real = [torch.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in outputs]
    return sum((one.sum() for one in real), torch.zeros(())) if outputs else None


def gradients(call: Call, label: str) -> list[Any]:
    state = run(call, frozenset({label}))
    loss = loss_of(state)
    assert loss is not None
    found = torch.autograd.grad(loss, state.leaves[label], allow_unused=True)
    return [one for one in found if one is not None]


def sizes_agree(call: Call, label: str) -> bool:
    leaves = run(call, frozenset({label})).leaves[label]
    return [one.shape for one in gradients(call, label)] == [one.shape for one in leaves]


def write_raises(call: Call, label: str, name: str) -> bool:
    """Whether backward raises after a write to an input."""
    state = run(call, frozenset({label}))
    loss = loss_of(state)
    with torch.no_grad():
        for tensor in state.inputs[name]:
            tensor.zero_()
    return backward_raises(loss, "modified by an inplace operation")


def write_passes(call: Call, label: str, name: str) -> bool:
    return not write_raises(call, label, name)


def second_raises(call: Call, label: str) -> bool:
    loss = loss_of(run(call, frozenset({label})))
    assert not backward_raises(loss, "")
    return backward_raises(loss, "second time")


def second_passes(call: Call, label: str) -> bool:
    return not second_raises(call, label)


def refused(call: Call, label: str) -> bool:
    """Whether backward refuses a combination of arguments by an error of its own."""
    loss = loss_of(run(call, frozenset({label})))
    try:
        if loss is not None:
            loss.backward()
    except RuntimeError:
        return True
    return False


def backward_raises(loss: Any | None, text: str) -> bool:
    if loss is None:
        return False
    try:
        loss.backward()
    except RuntimeError as error:
        assert text in str(error), error
        return True
    return False


def raises(call: Call, label: str) -> bool:
    """Whether the call itself refuses an input that requires grad."""
    try:
        run(call, frozenset({label}))
    except RuntimeError:
        return True
    return False


def takes(call: Call, label: str) -> bool:
    return not raises(call, label)


def type_refused(call: Call, label: str, wanted: str) -> bool:
    """Whether torch raises if an argument has a type, and if all that were of its type have."""
    dtype, former = getattr(torch, wanted), next(tensors_in(call.named[label])).dtype
    of_label = {id(one) for one in tensors_in(call.named[label])}
    alone = call.with_tensors(lambda one: one.to(dtype) if id(one) in of_label else one)
    alike = call.with_tensors(lambda one: one.to(dtype) if one.dtype is former else one)
    return not runs(alone) and not runs(alike)


def is_alias(call: Call, label: str) -> bool:
    """Whether a result is the alias of an input that a label of the table says."""
    said, state = alias_of(label), run(call, frozenset(differentiable_labels(call)) - _refusing(call))
    output = state.outputs[said.output]
    if said.kind == "same":
        return any(output is one for one in state.inputs[said.of])
    shared = any(_storage(output) == _storage(one) for one in state.inputs[said.of])
    tracked = output._is_view() and (
        output.requires_grad or not any(one.requires_grad for one in state.inputs[said.of])
    )
    return shared and tracked is (said.kind == "view")


def _refusing(call: Call) -> frozenset[str]:
    return frozenset(label for label in differentiable_labels(call) if raises(call, label))


def _storage(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else id(tensor)


def are_new(call: Call) -> bool:
    """Whether no result shares memory with an input."""
    state = run(call)
    memory = {_storage(one) for found in state.inputs.values() for one in found if one.numel()}
    return not any(_storage(one) in memory for one in state.outputs.values() if one.numel())


def is_written(call: Call, label: str) -> bool:
    return any(run(call).written(label))


def is_kept(call: Call, label: str) -> bool:
    """Whether an input has the values and the version that it had before the call."""
    state = run(call)
    pairs = zip(state.inputs[label], state.before[label], strict=True)
    return not any(state.written(label)) and all(torch.equal(one.nan_to_num(), two.nan_to_num()) for one, two in pairs)


def writes_the_same(call: Call, in_place_call: Call) -> bool:
    """Whether a variant in place writes to its first tensor what the operation returns."""
    expected, state = run(call).result, run(in_place_call)
    first = next(iter(state.inputs))
    assert isinstance(expected, torch.Tensor)
    return state.written(first)[0] and torch.allclose(state.inputs[first][0], expected, equal_nan=True)


def is_not_finite(call: Call, label: str, number: str, kinds: str) -> bool:
    """Whether a gradient is infinite or NaN where a number fills its tensor."""
    found = gradient.nonfinite(call, label).get(f"nonfinite:{label}:{number}", frozenset())
    return any(kind in found for kind in ("inf", "nan") if kind in kinds)
