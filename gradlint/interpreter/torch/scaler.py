"""`GradScaler` and learning rate schedulers: objects that stand between a loop and its optimizer.

What a scaler refuses was measured with torch 2.13: `step` or `unscale_` twice before `update`, `unscale_` after
`step`, and `update` with neither before it. What `unscale_` divides, alone or within `step`, may not be float16.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import libcst as cst

from gradlint.domain.announcement import LossScaled, NumberBackpropagated, Scheduled, Unscaled
from gradlint.domain.graph import Node
from gradlint.domain.otherwise import may_be_another
from gradlint.domain.refusal.training_loop import ScalerOutOfOrder
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Ref, Tensor, Unknown, Value, Write
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch.arguments import refuses_arguments
from gradlint.interpreter.torch.inplace import bump
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS
from gradlint.interpreter.torch.parameters import members_of
from gradlint.interpreter.torch.scaler_stages import (
    begin_stages,
    enter_stage,
    forget_stages,
    invalidate_gradients,
    stages_of,
)
from gradlint.interpreter.torch.tensor import as_tensor, known_tensor, new_tensor, origin_of_number, tensor_at

SCALERS = frozenset({"torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.amp.grad_scaler.GradScaler",
                     "torch.cuda.amp.grad_scaler.GradScaler", "torch.cpu.amp.GradScaler"})  # fmt: skip
BYPASSED = "an optimizer steps past its scaler"
"""What a path passes where `update` then finds nothing done because of an earlier mistake."""

_SCHEDULERS = "torch.optim.lr_scheduler."
_DEEPEST = 3
"""How deep lists of outputs are followed: one may hold itself."""


def is_scheduler_path(path: str) -> bool:
    """Return whether a library class is a learning rate scheduler."""
    return path.startswith(_SCHEDULERS) or path == "torch.optim.swa_utils.SWALR"


def new_helper(state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """Return a scaler, or a scheduler with its optimizer."""
    attrs: dict[str, Value] = {}
    if is_scheduler_path(path):
        attrs["optimizer"] = args.get(0, "optimizer")
    ref = state.new(Instance(External(path), attrs, dict(args.keywords), True, node))
    if path in SCALERS and args.keywords.get("enabled", True) is not False:
        begin_stages(state, ref)
    return ref


def call_helper(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """Call a method of a scaler or a scheduler."""
    assert isinstance(record.cls, External)
    if is_scheduler_path(record.cls.path):
        return call_scheduler(machine, state, ref, record.cls.path, name, args, node)
    method = _METHODS.get(name)
    return method(machine, state, ref, args, node) if method is not None else Unknown()


def call_scheduler(
    machine: Machine, state: State, ref: Ref, path: str, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """Call a method that a scheduler has from torch's class at a path."""
    if name == "step":
        if not may_be_another(state, ref) and refuses_arguments(machine, state, f"{path}.step", args, node):
            return Unknown("raised")
        epoch = bool(args.positional or args.keywords)
        machine.announce(state, Scheduled(node, path, state.at(ref, Instance).attrs.get("optimizer"), epoch))
    return Unknown()


def _scale(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """scale(outputs): each tensor times the scale."""
    value = args.get(0, "outputs")
    return value if _is_disabled(state, ref) else _scaled(machine, state, value, node)


def _scaled(machine: Machine, state: State, value: Value, node: cst.CSTNode, depth: int = _DEEPEST) -> Value:
    tensor = known_tensor(machine, state, value)
    live = isinstance(value, Unknown) and value.origin is not None and value.origin.live
    if tensor is None and (live or (isinstance(value, Unknown) and machine.assumes)):
        tensor = as_tensor(machine, state, value, node)  # As the sum of the losses that a network gives.
    number = origin_of_number(value)
    if number is not None:
        machine.announce(state, NumberBackpropagated(node, number))  # `scale` refuses it (measured).
        return Unknown("raised")
    if tensor is None:
        items = known_items(state, value) if depth else None
        if not items:
            return unknown_call(machine, state, (value,), node)
        return tuple(_scaled(machine, state, item, node, depth - 1) for item in items)
    factor = new_tensor(state, Node("scale", node), grad=False, dtype="float32", shape=())
    scaled = call_tensor_method(machine, state, tensor, "mul", Args((factor,)), node)
    if isinstance(scaled, Ref):
        machine.announce(state, LossScaled(node, tensor_at(state, scaled).node))
    return scaled


def _unscale(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """unscale_(optimizer): the gradients are divided in place."""
    optimizer = args.get(0, "optimizer")
    params = members_of(state, optimizer) if isinstance(optimizer, Ref) else ()
    if not isinstance(optimizer, Ref) or not params:
        invalidate_gradients(machine, state, node)  # Whose gradients are unscaled, nobody can tell.
        return None
    if _is_disabled(state, ref):
        return None
    former = _former(state, ref, optimizer)
    if former in ("unscaled", "stepped"):
        machine.emit(ScalerOutOfOrder(node, "unscaled twice" if former == "unscaled" else "unscaled after step"))
    elif _in_half(state, params):
        machine.emit(ScalerOutOfOrder(node, "half"))
    for param in params:
        record = state.heap.get(param.id)
        if isinstance(record, Tensor) and isinstance(record.accumulated, Ref):
            bump(machine, state, record.accumulated, Write(node, "unscale_"))
    machine.announce(state, Unscaled(node, optimizer, "unscale_", former))
    enter_stage(state, ref, optimizer, "unscaled")
    return None


def _divides(state: State, optimizer: Ref) -> bool:
    """Return whether an optimizer may divide the gradients itself, as fused ones do."""
    return state.at(optimizer, Instance).config.get("fused") not in (None, False)


def _in_half(state: State, params: Iterable[Ref]) -> bool:
    """Return whether a parameter of half precision has a gradient."""
    records = [record for param in params if isinstance(record := state.heap.get(param.id), Tensor)]
    return any(one.dtype == "float16" and isinstance(one.accumulated, Ref) for one in records)


def _former(state: State, scaler: Ref, optimizer: Ref) -> Literal["nothing", "unscaled", "stepped", "unknown"]:
    """Return what a scaler has done with an optimizer since it was updated last."""
    stages = stages_of(state, scaler)
    return stages.of.get(optimizer.id, "nothing" if stages.whole else "unknown")


def _step(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """step(optimizer): unscales what is not unscaled yet, and steps unless a gradient is infinite."""
    optimizer = args.get(0, "optimizer")
    if not isinstance(optimizer, Ref) or not members_of(state, optimizer):
        forget_stages(state, ref)
        return unknown_call(machine, state, args.values(), node)
    if not _is_disabled(state, ref):
        former = _former(state, ref, optimizer)
        if former == "stepped":
            machine.emit(ScalerOutOfOrder(node, "stepped twice"))
        elif former == "nothing" and not _divides(state, optimizer) and _in_half(state, members_of(state, optimizer)):
            machine.emit(ScalerOutOfOrder(node, "half"))
        machine.announce(state, Unscaled(node, optimizer, "step", former))
        enter_stage(state, ref, optimizer, "stepped")
    return OPTIMIZER_METHODS["step"](machine, state, optimizer, Args(args.positional[1:]), node)


def _update(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """update(): the scale for the next iteration."""
    stages = stages_of(state, ref)
    if stages.whole and not stages.of and not args.positional and not args.keywords:
        machine.emit(ScalerOutOfOrder(node, "updated first"), unless=BYPASSED)
    if not _is_disabled(state, ref):
        begin_stages(state, ref)
    return None


def _is_disabled(state: State, ref: Ref) -> bool:
    """Return whether a scaler was made with `enabled=False`: it accepts anything."""
    return state.at(ref, Instance).config.get("enabled", True) is False


_METHODS = {"scale": _scale, "unscale_": _unscale, "step": _step, "update": _update}
