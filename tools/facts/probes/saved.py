"""Probe: what backward needs of the call's inputs and outputs, and whether a second backward may follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from tools.facts.call import Call, Run, is_differentiable, run
from tools.facts.probes import Facts

_MODIFIED = (
    "has been modified by an inplace operation",
    # What is saved is one of several views of the tensor (the layers' states inside an LSTM).
    "is a view and its base or another view of its base has been modified inplace",
)
_FREED = "Trying to backward through the graph a second time"
_NO_DERIVATIVE = ("is not implemented", "not differentiable", "not implemented for", "not yet implemented")


class UnderivableError(Exception):
    """Torch lets the output require grad but has no derivative for it."""


def tracked_outputs(state: Run) -> list[torch.Tensor]:
    """Return the outputs that carry a graph."""
    return [t for t in state.outputs.values() if t.requires_grad and is_differentiable(t)]


def weighted_sums(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Consume outputs as later code would: by a constant weight, which saves nothing of the outputs."""
    generator = torch.Generator().manual_seed(1)
    return [(o * torch.rand(o.shape, generator=generator).add_(0.5)).sum() for o in outputs if not o.is_sparse]


def gradients(totals: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """Return the gradients of the totals, keeping the graph; complex totals get the gradient 1."""
    ones = [torch.ones_like(t) for t in totals]
    found = torch.autograd.grad(totals, leaves, ones, retain_graph=True, allow_unused=True)
    return list(found)


def leaves_of(state: Run) -> list[torch.Tensor]:
    """Return all leaves that require grad."""
    return [leaf for leaves in state.leaves.values() for leaf in leaves]


def observe(call: Call, requiring: frozenset[str]) -> Facts:
    """Return what is saved, copied and freed if exactly `requiring` require grad.

    Raises `UnderivableError` when torch has no derivative.
    """
    state = run(call, requiring)
    outputs = tracked_outputs(state)
    if not outputs:
        return {"saved": frozenset(), "copies": frozenset(), "freed": frozenset()}
    totals, leaves = weighted_sums(outputs), leaves_of(state)
    try:
        gradients(totals, leaves)
    except (RuntimeError, NotImplementedError) as error:
        if any(text in str(error) for text in _NO_DERIVATIVE):
            raise UnderivableError(str(error)) from error
        raise
    saved = frozenset(label for label, tensors in state.everything().items() if _needs(tensors, totals, leaves))
    return {"saved": saved, "copies": _copies(call, requiring), "freed": _freed(call, requiring)}


def _needs(tensors: Sequence[torch.Tensor], totals: list[torch.Tensor], leaves: list[torch.Tensor]) -> bool:
    """Move the tensors' versions on, ask backward whether it minds, and put the versions back."""
    plain = [t for t in tensors if t.layout is torch.strided]
    versions = [t._version for t in plain]
    for tensor in plain:
        torch.autograd.graph.increment_version(tensor)
    try:
        gradients(totals, leaves)
    except RuntimeError as error:
        if not any(text in str(error) for text in _MODIFIED):
            raise
        return True
    finally:
        _put_back(plain, versions)
    return False


def _put_back(tensors: Sequence[torch.Tensor], versions: Sequence[int]) -> None:
    """Set the versions of tensors: before torch 2.7, one by one."""
    set_versions: Callable[..., None] = torch._C._autograd._unsafe_set_version_counter
    try:
        set_versions(tuple(tensors), tuple(versions))
    except TypeError:
        for tensor, version in zip(tensors, versions, strict=True):
            set_versions(tensor, version)


def _freed(call: Call, requiring: frozenset[str]) -> frozenset[str]:
    """Return `yes` if a second backward raises; the sum that consumes the outputs saves nothing itself."""
    state = run(call, requiring)
    totals, leaves = [o.sum() for o in tracked_outputs(state)], leaves_of(state)
    ones = [torch.ones_like(t) for t in totals]
    torch.autograd.grad(totals, leaves, ones, allow_unused=True)
    try:
        torch.autograd.grad(totals, leaves, ones, allow_unused=True)
    except RuntimeError as error:
        if _FREED not in str(error):
            raise
        return frozenset({"yes"})
    return frozenset()


def silent(call: Call, requiring: frozenset[str]) -> Facts:
    """Really write to each input after the call; return those that change gradients without an error."""
    wrong = set()
    for label in run(call, requiring).inputs:
        state = run(call, requiring)
        outputs, leaves = tracked_outputs(state), leaves_of(state)
        if not outputs or any(o is t for o in outputs for t in state.inputs[label]):
            continue
        totals = weighted_sums(outputs)
        expected = gradients(totals, leaves)
        with torch.no_grad():
            for tensor in state.inputs[label]:
                if is_differentiable(tensor):
                    tensor.mul_(1.5).add_(0.25)
        try:
            found = gradients(totals, leaves)
        except RuntimeError as error:
            if not any(text in str(error) for text in _MODIFIED):
                raise
            continue
        if not all(_close(a, b) for a, b in zip(expected, found, strict=True)):
            wrong.add(label)
    return {"silent": frozenset(wrong)}


def _close(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    return a is b or (a is not None and b is not None and torch.allclose(a, b, rtol=1e-4, equal_nan=True))


def _copies(call: Call, requiring: frozenset[str]) -> frozenset[str]:
    """Return the inputs that were overwritten and whose old value is kept in a private copy."""
    packed: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        state = run(call, requiring)
    mine = {t.untyped_storage().data_ptr() for group in state.everything().values() for t in group}
    private = [t.detach() for t in packed if t.untyped_storage().data_ptr() not in mine]
    return frozenset(
        label
        for label in state.inputs
        for old, written in zip(state.before[label], state.written(label), strict=True)
        if written and any(_same(old, t) for t in private)
    )


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
