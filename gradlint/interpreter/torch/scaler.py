"""`GradScaler` and learning rate schedulers: objects that stand between a loop and its optimizer.

What a scaler refuses was measured with torch 2.13: `step` or `unscale_` twice before `update`, `unscale_` behind
`step`, and `update` with neither before it.
"""

from __future__ import annotations

import libcst as cst

from gradlint.detect.loop_order import OrderOf, StagesOf, order_of, params_of, scheduled
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Ref, Tensor, Value, Write
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.inplace import bump
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, tensor_at

SCALERS = frozenset({"torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.amp.grad_scaler.GradScaler",
                     "torch.cuda.amp.grad_scaler.GradScaler", "torch.cpu.amp.GradScaler"})  # fmt: skip
_SCHEDULERS = "torch.optim.lr_scheduler."

_SILENT = frozenset({"ReduceLROnPlateau", "SequentialLR", "ChainedScheduler"})
"""Schedulers that do not complain of a step before the optimizer's (measured), or step others."""


def is_scheduler_path(path: str) -> bool:
    """Whether a library class is a learning rate scheduler."""
    return path.startswith(_SCHEDULERS) or path == "torch.optim.swa_utils.SWALR"


def new_helper(state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """A scaler, or a scheduler with its optimizer."""
    attrs: dict[str, Value] = {}
    if is_scheduler_path(path):
        attrs["optimizer"] = args.get(0, "optimizer")
    ref = state.new(Instance(External(path), attrs, dict(args.keywords), True, node))
    if path in SCALERS and args.keywords.get("enabled", True) is not False:
        state.decide(StagesOf(ref.id), Stages(()))
    return ref


class Stages:
    """How far a scaler is with its optimizers since the last update: pairs of an optimizer and "unscaled" or "stepped".

    An object of its own, for facts are the same only if they are one.
    """

    def __init__(self, stages: tuple[tuple[int, str], ...]) -> None:
        self.of = dict(stages)

    def with_stage(self, optimizer: int, stage: str) -> Stages:
        """The stages once an optimizer has got further."""
        return Stages((*self.of.items(), (optimizer, stage)))


def call_helper(
    machine: Machine, state: State, ref: Ref, record: Instance, name: str, args: Args, node: cst.CSTNode
) -> Value:
    """A method of a scaler or a scheduler."""
    assert isinstance(record.cls, External)
    if is_scheduler_path(record.cls.path):
        if name == "step":
            _scheduler_step(state, record, args, node)
        return machine.unknown()
    method = _METHODS.get(name)
    return method(machine, state, ref, args, node) if method is not None else machine.unknown()


def _scheduler_step(state: State, record: Instance, args: Args, node: cst.CSTNode) -> None:
    """torch warns where no step of the optimizer came before; a number of the turn that is given is not skipped."""
    optimizer = record.attrs.get("optimizer")
    assert isinstance(record.cls, External)
    if (
        isinstance(optimizer, Ref)
        and not (args.positional or args.keywords)
        and record.cls.path.rpartition(".")[2] not in _SILENT
    ):
        scheduled(state, optimizer, node)


def _scale(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """scale(outputs): each tensor times the scale."""
    value = args.get(0, "outputs")
    tensor = known_tensor(machine, state, value)
    if tensor is None:
        items = items_of(machine, state, value, node)
        if items.open or not items.items:
            return machine.program.opaque(machine, state, args.values(), node)
        return tuple(_scale(machine, state, ref, Args((item,)), node) for item in items.items)
    factor = new_tensor(state, Node("scale", node), grad=False, dtype="float32", shape=())
    scaled = call_tensor_method(machine, state, tensor, "mul", Args((factor,)), node)
    if isinstance(scaled, Ref):
        machine.scaled.add(tensor_at(state, scaled).node.id)
    return scaled


def _stages(state: State, ref: Ref) -> Stages | None:
    found = state.facts.get(StagesOf(ref.id))
    return found if isinstance(found, Stages) else None


def _unscale(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """unscale_(optimizer): the gradients are divided in place."""
    optimizer = args.get(0, "optimizer")
    stages = _stages(state, ref)
    if not isinstance(optimizer, Ref) or not params_of(state, optimizer.id):
        state.decide(StagesOf(ref.id), None)
        return None
    if stages is not None and optimizer.id in stages.of:
        how = "twice before" if stages.of[optimizer.id] == "unscaled" else "behind `step` and before"
        faults.noticed(machine, "amp-order", node, f"`unscale_` stands {how} `update`: torch raises here")
    for param in params_of(state, optimizer.id):
        record = state.heap.get(param.id)
        if isinstance(record, Tensor) and isinstance(record.accumulated, Ref):
            bump(machine, state, record.accumulated, Write(node, "unscale_"))
    order = order_of(state, optimizer.id)
    if order is not None:
        state.decide(OrderOf(optimizer.id), order._replace(scaled=False))
    if stages is not None:
        state.decide(StagesOf(ref.id), stages.with_stage(optimizer.id, "unscaled"))
    return None


def _step(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """step(optimizer): unscales what is not unscaled yet, and steps unless a gradient is infinite."""
    optimizer = args.get(0, "optimizer")
    if not isinstance(optimizer, Ref) or not params_of(state, optimizer.id):
        state.decide(StagesOf(ref.id), None)
        return machine.program.opaque(machine, state, args.values(), node)
    stages, order = _stages(state, ref), order_of(state, optimizer.id)
    if stages is not None:
        stage = stages.of.get(optimizer.id)
        if stage == "stepped":
            faults.noticed(machine, "amp-order", node, "`step` stands twice before `update`: torch raises here")
        elif stage is None and order is not None and order.filled is not None and order.scaled is False:
            related = ((order.filled, "the loss of this backward is not scaled"),)
            subject = "it unscales gradients that were never scaled: torch raises, or the step is far too small"
            faults.noticed(machine, "amp-order", node, subject, related)
        state.decide(StagesOf(ref.id), stages.with_stage(optimizer.id, "stepped"))
    if order is not None:
        state.decide(OrderOf(optimizer.id), order._replace(scaled=False))
    return OPTIMIZER_METHODS["step"](machine, state, optimizer, Args(args.positional[1:]), node)


def _update(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """update(): the scale for the next turn."""
    stages = _stages(state, ref)
    if stages is not None and not stages.of and not args.positional and not args.keywords:
        faults.noticed(machine, "amp-order", node, "`update` stands before `step` and `unscale_`: torch raises here")
    record = state[ref]
    assert isinstance(record, Instance)
    if record.config.get("enabled", True) is not False:
        state.decide(StagesOf(ref.id), Stages(()))
    return None


_METHODS = {"scale": _scale, "unscale_": _unscale, "step": _step, "update": _update}
