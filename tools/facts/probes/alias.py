"""Probe: which outputs alias which inputs, how a write to them is taken, and what the call itself writes."""

from __future__ import annotations

import torch

from tools.facts.call import Call, Run, is_differentiable, run
from tools.facts.probes import Facts

_OVERLAP = ("refer to a single memory location", "more than one element of the written-to tensor")
_MULTI = "function that returns multiple views"
_REFUSED = ("leaf Variable", "is a view and is being modified", "a view of a leaf")


def observe(call: Call, requiring: frozenset[str]) -> Facts:
    """Return the aliases of inputs among the outputs, and the writes with and without a new version."""
    state = run(call, requiring)
    writes = frozenset(label for label in state.inputs if any(state.written(label)))
    return {
        "hidden": _hidden(state),
        "writes": writes,
        "views": frozenset(
            f"{out}{kind}{_answer_to_write(call, requiring, out)}"
            for out, tensor in state.outputs.items()
            for kind in _aliases(tensor, state)
        ),
    }


def _aliases(output: torch.Tensor, state: Run) -> list[str]:
    found = []
    for label, tensors in state.inputs.items():
        for tensor in tensors:
            if output is tensor:
                return [f"same:{label}"]
            if _share(output, tensor):
                found.append(_kind(output, tensor) + label + _own_version(output, tensor))
    return found


def _share(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout is not torch.strided or b.layout is not torch.strided or not a.numel() or not b.numel():
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _kind(output: torch.Tensor, tensor: torch.Tensor) -> str:
    tracked = output._is_view() and (output.requires_grad or not tensor.requires_grad)
    return "view:" if tracked else "share:"


def _own_version(output: torch.Tensor, tensor: torch.Tensor) -> str:
    version = output._version
    torch.autograd.graph.increment_version(tensor)
    shared = output._version == version + 1
    return "" if shared else "/nover"


def _answer_to_write(call: Call, requiring: frozenset[str], label: str) -> str:
    """Write to the output in grad mode on a fresh run; say if torch refuses because of the kind of view."""
    output = run(call, requiring).outputs[label]
    try:
        output.logical_not_() if output.dtype is torch.bool else output.mul_(2)
    except RuntimeError as error:
        if _MULTI in str(error):
            return "!multi"
        if any(text in str(error) for text in _OVERLAP):
            return "!overlap"
        if any(text in str(error) for text in _REFUSED):
            return "!refused"
        raise
    return ""


def _hidden(state: Run) -> frozenset[str]:
    """Return the inputs whose numbers changed although their version did not move."""
    return frozenset(
        label
        for label, tensors in state.inputs.items()
        for new, old, written in zip(tensors, state.before[label], state.written(label), strict=True)
        if not written and not _equal(new.detach(), old)
    )


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return True  # The object was given other storage (`resize_`, `set_`), its numbers were not overwritten.
    if is_differentiable(a):
        return torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)
    return torch.equal(a, b)
