"""NVIDIA's apex, whose mixed precision older programs use: what it wraps is given back.

Read in its documentation: `amp.initialize(models, optimizers)` returns both, patched in place; `amp.scale_loss(loss,
optimizers)` is a context that gives the loss times a scale, and unscales the gradients at its end.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Unknown, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.tensor import as_tensor


def _initialize(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """initialize(models, optimizers=None, ...): models alone, or both."""
    if args.open:
        return unknown_call(machine, state, args.values(), node)
    models, optimizers = args.get(0, "models"), args.get(1, "optimizers")
    return models if optimizers is None else (models, optimizers)


def _scale_loss(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """with scale_loss(loss, optimizers) as scaled_loss"""
    loss = as_tensor(machine, state, args.get(0, "loss"), node)
    scaled = None if loss is None else call_tensor_method(machine, state, loss, "mul", Args((Unknown("number"),)), node)
    return Context("other", former=Unknown() if scaled is None else scaled)


def _wrapped(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """DistributedDataParallel(module, ...), convert_syncbn_model(module): the module."""
    return args.positional[0] if args.positional else unknown_call(machine, state, args.values(), node)


APEX: dict[str, Native] = {
    "apex.amp.initialize": _initialize,
    "apex.amp.scale_loss": _scale_loss,
    "apex.parallel.DistributedDataParallel": _wrapped,
    "apex.parallel.convert_syncbn_model": _wrapped,
}
