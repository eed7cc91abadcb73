"""Probe: what `out=` does when an input requires grad."""

from __future__ import annotations

from dataclasses import replace

import torch

from tools.facts.call import Call, run
from tools.facts.probes import Facts
from tools.facts.probes.saved import gradients, leaves_of, tracked_outputs, weighted_sums


def observe(call: Call, requiring: frozenset[str]) -> Facts:
    """Say whether `out=` `raises` at the call, in backward (`late`), `cuts` the graph, or `works`."""
    plain = run(call)
    fresh = [torch.empty_like(t) for t in plain.outputs.values()]
    out = fresh[0] if isinstance(plain.result, torch.Tensor) else tuple(fresh)
    with_out = replace(call, kwargs={**call.kwargs, "out": out}, named={**call.named, "out": out})
    run(with_out)
    try:
        state = run(with_out, requiring)
    except RuntimeError as error:
        if "automatic differentiation" not in str(error):
            raise
        return {"out": frozenset({"raises"})}
    outputs = tracked_outputs(state)
    if not outputs:
        return {"out": frozenset({"cuts"})}
    try:
        gradients(weighted_sums(outputs), leaves_of(state))
    except RuntimeError:  # Whatever the message, the gradient is refused in backward and not at the call.
        return {"out": frozenset({"late"})}
    return {"out": frozenset({"works"})}
