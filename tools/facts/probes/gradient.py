"""Probe: gradients that are exactly zero, missing, or not finite."""

from __future__ import annotations

import torch

from tools.facts.call import Call, is_differentiable, run, tensors_in
from tools.facts.probes import Facts
from tools.facts.probes.saved import gradients, leaves_of, tracked_outputs, weighted_sums

REDRAWS = 3
FILLS = (0.0, 1.0, -1.0, 100.0)


def zero(call: Call, label: str) -> Facts:
    """Return whether the gradient for `label` is exactly zero, or None, also on redrawn inputs.

    Nothing is learnt of a call that gets no more than a single number.
    """
    sizes = [t.numel() for t in tensors_in(list(call.named.values()))]
    if not all(sizes) or max(sizes, default=0) <= 1:
        return {}  # The softmax of a single number has no slope, that of a row has.
    verdict = _vanishes(call, label)
    generator = torch.Generator().manual_seed(2)
    for _ in range(REDRAWS):
        if verdict is None:
            break
        other = redrawn(call, generator)
        try:
            again = _vanishes(other, label)
        except RuntimeError:  # The redrawn numbers lie outside the operation's domain (Cholesky and its like).
            continue
        verdict = verdict if again == verdict else None
    return {
        "zero": frozenset({label}) if verdict == "zero" else frozenset(),
        "unreached": frozenset({label}) if verdict == "none" else frozenset(),
    }


def _vanishes(call: Call, label: str) -> str | None:
    state = run(call, frozenset({label}))
    outputs = tracked_outputs(state)
    if not outputs:
        return "none"
    found = gradients(weighted_sums(outputs), leaves_of(state))
    if all(g is None for g in found):
        return "none"
    return "zero" if all(g is None or not g.count_nonzero() for g in found) else None


def redrawn(call: Call, generator: torch.Generator) -> Call:
    """Return the call with new numbers between 0.1 and 0.9 in its floating tensors, of the same layout."""

    def draw(tensor: torch.Tensor) -> torch.Tensor:
        if not is_differentiable(tensor):
            return tensor
        numbers = torch.rand(tensor.shape, generator=generator) * 0.8 + 0.1
        return tensor.detach().clone().copy_(numbers)

    return call.with_tensors(draw)


def nonfinite(call: Call, label: str) -> Facts:
    """Fill the tensors under `label` with a number; return for each fill what is not finite.

    `inf` and `nan` speak of the gradient, `*` says that the output is not finite either.
    """
    facts: Facts = {}
    chosen = {id(t) for t in tensors_in(call.named[label])}
    for number in FILLS:

        def fill(tensor: torch.Tensor, number: float = number) -> torch.Tensor:
            return torch.full_like(tensor, number) if id(tensor) in chosen else tensor

        try:
            facts[f"nonfinite:{label}:{number:g}"] = _not_finite(call.with_tensors(fill), label)
        except (
            RuntimeError,
            ValueError,
        ):  # Torch refuses the number itself (an invalid probability, a singular matrix).
            continue
    return facts


def _not_finite(call: Call, label: str) -> frozenset[str]:
    state = run(call, frozenset({label}))
    outputs = tracked_outputs(state)
    if not outputs:
        return frozenset()
    found = [g for g in gradients(weighted_sums(outputs), leaves_of(state)) if g is not None]
    kinds = {"nan" for g in found if g.isnan().any()} | {"inf" for g in found if g.isinf().any()}
    if kinds and not all(o.isfinite().all() for o in outputs):
        kinds.add("*")
    return frozenset(kinds)
