"""Frameworks that train: Lightning calls `training_step`, a trainer of transformers `compute_loss`.

Each zeroes, backpropagates what comes back, and steps.
"""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.announcement import NumberBackpropagated, StepCalled
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, External, Function, Instance, Mapping, Ref, Sequence, Unknown, Value
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.python.calls import run_body
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.reachable import contents, known_items
from gradlint.interpreter.torch.backward_call import tensor_backward
from gradlint.interpreter.torch.parameters import module_base
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.torch.tensor import known_tensor, origin_of_number, tensor_at
from gradlint.interpreter.world.placeholders import supposed_arguments


def is_lightning(state: State, record: Instance) -> bool:
    """Return whether an object is a Lightning module."""
    base = module_base(state, record)
    return base is not None and base.endswith(".LightningModule")


def _manual_backward(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """self.manual_backward(loss, ...) is loss.backward(...)"""
    given = args.get(0, "loss")
    number, loss = origin_of_number(given), known_tensor(machine, state, given)
    if number is not None:
        machine.announce(state, NumberBackpropagated(node, number))
        invalidate_gradients(machine, state, node)
    if loss is not None:
        tensor_backward(machine, state, loss, Args(args.positional[1:], args.keywords, args.open), node)
    elif number is None:
        invalidate_gradients(machine, state, node)
    return None


def _optimizers(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """self.optimizers(): what `configure_optimizers` has made, one by itself and several in a list; made once."""
    record = state.at(ref, Instance)
    if not isinstance(record.inner, values.Kept):
        configure = find_in_class(state, record.cls, "configure_optimizers") if isinstance(record.cls, Ref) else None
        if not isinstance(configure, Function):
            return Unknown()
        made = _listed(state, machine.call(state, Bound(ref, configure), Args(), node))
        record = state.at(ref, Instance)
        state.put(ref.id, record._replace(inner=values.Kept(made)))
        return made
    return record.inner.value


def _listed(state: State, value: Value) -> Value:
    """Return the optimizers that `configure_optimizers` returns: one or several, beside schedulers or in a dict."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    items = known_items(state, value)
    if isinstance(record, Mapping):
        return record.items.get("optimizer", Unknown())
    if items is None:
        return value
    inner = [state.heap.get(one.id) if isinstance(one, Ref) else one for one in items]
    if items and isinstance(inner[0], Sequence):
        return _listed(state, items[0])
    several = tuple(_listed(state, one) for one in items)
    return several[0] if len(several) == 1 else several


METHODS: dict[str, Method] = {
    "manual_backward": _manual_backward,
    "optimizers": _optimizers,
    # These keep numbers: Lightning detaches what it is given.
    **dict.fromkeys(("log", "log_dict", "print", "save_hyperparameters"), lambda *_: None),
}
"""Methods that Lightning gives its modules, beside those of torch."""


def is_configuration(state: State, function: Function, receiver: Value) -> bool:
    """Return whether a method names a framework's optimizers: it trains with these, and does nothing else."""
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    return function.code.name == "configure_optimizers" and isinstance(record, Instance) and is_lightning(state, record)


def run_method(machine: Machine, state: State, function: Function, args: Args) -> list[tuple[State, Value]]:
    """Run a function that nothing calls, and then what its framework does with the result."""
    receiver = args.get(0, "")
    if _is_loss_of_trainer(state, function, receiver):
        return _loss_computed(machine, state, function, args)
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    if _EVALUATES.fullmatch(function.code.name) and isinstance(record, Instance) and is_lightning(state, record):
        off = values.Context("no_grad", syntax=function.code.node)
        function = replace(function, modes=(*function.modes, off))
    results = run_body(machine, state, function, args, function.code.node)
    for end, value in results:
        if is_configuration(end, function, receiver) and isinstance(receiver, Ref):
            end.put(receiver.id, end.at(receiver, Instance)._replace(inner=values.Kept(_listed(end, value))))
        step_taken(machine, end, function, receiver, value)
    return results


_EVALUATES = re.compile(r"(on_)?(validation|test|predict)_(step|start|end|(batch|epoch)_(start|end))")
"""Methods that Lightning calls with gradients off (`inference_mode`, or `no_grad` where a trainer is told so)."""


def step_taken(machine: Machine, state: State, function: Function, receiver: Value, returned: Value) -> None:
    """Do what follows a `training_step`: the framework backpropagates the loss, unless the module optimizes by hand."""
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    if function.code.name != "training_step" or not isinstance(record, Instance) or not is_lightning(state, record):
        return
    if _is_automatic(state, record):
        step = _backpropagate(machine, state, function, returned)
        for one in contents(state, (record.inner.value,)) if isinstance(record.inner, values.Kept) else ():
            made = state.heap.get(one.id) if isinstance(one, Ref) else None
            if isinstance(one, Ref) and isinstance(made, Instance) and isinstance(made.inner, values.OptimizerState):
                machine.announce(state, StepCalled(step, one))


def _backpropagate(machine: Machine, state: State, function: Function, returned: Value) -> cst.CSTNode:
    """Backpropagate what a step returns; return where that is."""
    loss = _loss(state, returned)
    tensor = known_tensor(machine, state, loss)
    syntax = loss.syntax if isinstance(loss, Unknown) else None if tensor is None else tensor_at(state, tensor).syntax
    syntax = syntax or function.code.node
    if tensor is not None:
        tensor_backward(machine, state, tensor, Args(), syntax)
    elif (number := origin_of_number(loss)) is not None:
        machine.announce(state, NumberBackpropagated(syntax, number))
    return syntax


TRAINER = re.compile(r"(transformers|trl|setfit|sentence_transformers)\.(\w+\.)*\w*Trainer$")
"""Classes whose `compute_loss` their library calls and backpropagates."""


def _is_loss_of_trainer(state: State, function: Function, receiver: Value) -> bool:
    """Return whether a method is `compute_loss(self, model, inputs, ...)` of a trainer of the transformers library."""
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    cls = state[record.cls] if isinstance(record, Instance) and isinstance(record.cls, Ref) else None
    if function.code.name != "compute_loss" or not isinstance(cls, values.Class):
        return False
    return any(isinstance(base, External) and TRAINER.match(base.path) for base in cls.order)


def _loss_computed(machine: Machine, state: State, function: Function, args: Args) -> list[tuple[State, Value]]:
    """Run `compute_loss` as the trainer does, with its model and a batch, and backpropagate what it returns."""
    where = function.code.node
    given = supposed_arguments(machine, state, where, function, trains=True)
    if any(param.name == "return_outputs" for param in function.code.params):
        given["return_outputs"] = False
    results = run_body(machine, state, function, args._replace(keywords={**args.keywords, **given}), where)
    for end, value in results:
        _backpropagate(machine, end, function, value)
    return []


def _is_automatic(state: State, record: Instance) -> bool:
    """Return whether the module leaves the optimization to the framework.

    A property may say that it does not, and a hook `backward` of its own runs instead of that of the loss.
    """
    own = isinstance(record.cls, Ref) and isinstance(state[record.cls], values.Class)
    stated = record.attrs.get("automatic_optimization", True)
    hooks = ("automatic_optimization", "backward")
    return stated is True and not (own and any(find_in_class(state, record.cls, one) is not None for one in hooks))


def _loss(state: State, returned: Value) -> Value:
    """Return the loss that a step returns: itself, or under its name in a dict."""
    record = state.heap.get(returned.id) if isinstance(returned, Ref) else None
    if isinstance(record, Mapping):
        return record.items.get("loss")
    return None if isinstance(record, Sequence) else returned
