"""Optimizers: a step writes in place to every parameter that has a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import libcst as cst

from gradlint.detect import loop_order as order
from gradlint.detect.frozen import is_absent, note_idle_step
from gradlint.detect.optimizers import SOURCES, holds_unknown, sources_of, stepped
from gradlint.domain.announcement import GradientReleased, ParametersGiven, ParametersTaken, Stepped
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import (
    Bound,
    External,
    Function,
    Instance,
    Mapping,
    NoGradient,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Write,
)
from gradlint.domain.walk import inputs, leaves
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.calls import call_in_place
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.inplace import bump
from gradlint.interpreter.torch.tensor import SUMMARY, known_tensor, tensor_at

Method: TypeAlias = "Callable[[Machine, State, Ref, Args, cst.CSTNode], Value]"


def is_optimizer_path(path: str) -> bool:
    """Whether a library class is an optimizer."""
    return path.startswith("torch.optim.") and "lr_scheduler" not in path and "swa_utils" not in path


def new_optimizer(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """torch.optim.X(params, ...)"""
    ref = state.new(Instance(External(path), {}, {}, False, node))
    fill_optimizer(machine, state, ref, args, node)
    order.made(machine, state, ref)
    return ref


def supposed_optimizer(machine: Machine, state: State, params: tuple[Ref, ...], node: cst.CSTNode) -> Ref:
    """An optimizer that a file does not show: it holds these parameters, and perhaps others."""
    machine.holdings.unknown_holder = True
    _admit(machine, state, list(params), node)
    attrs = {"<params>": params, "<open>": True, SOURCES: ()}
    ref = state.new(Instance(External("torch.optim.Optimizer"), attrs, {}, True, None))
    machine.optimizers.append(ref.id)
    return ref


def fill_optimizer(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> None:
    """What an optimizer's constructor does: it takes leaves, and at least one."""
    unknown = args.open or holds_unknown(machine, state, args.get(0, "params"))
    sources = sources_of(machine, state, args.get(0, "params"), node)
    for module in sources:
        machine.announce(state, ParametersGiven(node, module))
    shared: list[Ref] = []
    params, is_open = _collect(machine, state, args.get(0, "params"), node, shared)
    _admit(machine, state, params, node)
    _tell_shared(machine, state, shared, node)
    given = args.get(0, "params")
    if known_tensor(machine, state, given) is not None:
        faults.refused(machine, "optimizer-wants-a-list", node)
    else:
        # Absence is certain only if it is so on every path that gets here.
        empty = not params and not is_open and not args.open and _is_empty(state, given)
        machine.emptied[node] = machine.emptied.get(node, not machine.expected) and empty
    record_ = state[ref]
    assert isinstance(record_, Instance)
    machine.holdings.unknown_holder |= unknown
    attrs = {**record_.attrs, "<params>": tuple(params), "<open>": is_open, SOURCES: sources}
    groups = (state.new(Mapping({"params": state.new(Sequence(tuple(params), "list", is_open))}, True)),)
    attrs["param_groups"] = state.new(Sequence(groups, "list", is_open))
    state.put(ref.id, record_._replace(attrs=attrs, config=dict(args.keywords)))


def _admit(machine: Machine, state: State, params: list[Ref], node: cst.CSTNode) -> None:
    """An optimizer takes leaves, and non-leaves that retain their gradient."""
    machine.announce(state, ParametersTaken(node, params))
    for param in params:
        record = tensor_at(state, param)
        if record.leaf is False and record.retains is False:
            related = [] if record.syntax is None else [(record.syntax, "this operation makes it no leaf")]
            faults.refused(machine, "nonleaf-optimizer", node, related=related)
            machine.holdings.offered |= {leaf.syntax for leaf in leaves([record.node], inputs)}
        if record.node.leaf is not None:
            machine.holdings.held.add(record.node.leaf)


def _tell_shared(machine: Machine, state: State, shared: Iterable[Ref], node: cst.CSTNode, subject: str = "") -> None:
    """A parameter in two groups is refused; in a loop, several may look like one."""
    for one in shared if not machine.iterations else ():
        record = tensor_at(state, one)
        if SUMMARY not in record.tags:
            related = [] if record.syntax is None else [(record.syntax, "the parameter is made here")]
            faults.refused(machine, "parameter-in-two-groups", node, subject, related)
            return


def _is_empty(state: State, value: Value) -> bool:
    """Whether a list is empty itself; a group without parameters is let pass."""
    if isinstance(value, Ref):
        record = state[value]
        return isinstance(record, Sequence) and (not record.items or record.kind in ("iterator", "generator"))
    return value == ()


def _collect(
    machine: Machine, state: State, value: Value, node: cst.CSTNode, shared: list[Ref] | None = None
) -> tuple[list[Ref], bool]:
    """The tensors in parameters, lists of them, or groups; `shared` gets those that are in two groups."""
    found: dict[int, Ref] = {}
    items = items_of(machine, state, value, node) if known_tensor(machine, state, value) is None else Sequence(())
    is_open = items.open
    settled = True
    for item in items.items:
        if type(item) is tuple and len(item) == 2:
            item = item[1]
        tensor = known_tensor(machine, state, item)
        if tensor is not None:
            found[tensor.id] = tensor
        elif isinstance(item, Ref) and isinstance(state[item], Mapping):
            group = state[item]
            assert isinstance(group, Mapping)
            inner = group.items.get("params")
            single = known_tensor(machine, state, inner)
            if single is not None:
                found[single.id] = single
                continue
            more, more_open = _collect(machine, state, inner, node)
            settled = settled and not _is_picked(state, inner)
            if shared is not None and settled:
                shared.extend(one for one in more if one.id in found)
            found.update({one.id: one for one in more})
            is_open = is_open or more_open or inner is None
        else:
            is_open = True
    return list(found.values()), is_open


def _is_picked(state: State, items: Value) -> bool:
    """Whether tests that are not decided may have picked what is in a list: each group may hold the others' rest."""
    return isinstance(items, Ref) and state.undecided_since(items.id)


def _params(state: State, ref: Ref) -> tuple[Ref, ...]:
    record = state[ref]
    assert isinstance(record, Instance)
    params = record.attrs.get("<params>", ())
    return params if isinstance(params, tuple) else ()


def _step(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """step(closure=None): parameters without a gradient are left out."""
    made = state[ref]
    if isinstance(made, Instance) and made.attrs.get("<open>") is False:
        note_idle_step(machine, state, ref, _params(state, ref), node)
    result: Value = None
    closure = args.get(0, "closure")
    if isinstance(closure, (int, float)) or known_tensor(machine, state, closure) is not None:
        faults.refused(machine, "closure-missing", node, "value")
        return machine.unknown("raised")
    backwards = machine.backwards
    if closure is not None:
        for _ in range(_evaluations(state, ref)):
            result = call_in_place(machine, state, closure, Args(), node)
            if machine.backwards == backwards:
                _judge_closure(machine, state, ref, closure, result, node)
            if isinstance(closure, Function):
                # What the closure has filled is used before it is called again.
                order.stepped(machine, state, ref, node)
    if closure is None and not args.open and _wants_closure(state, ref):
        faults.refused(machine, "closure-missing", node)
    if closure is None:
        _judge_scaled(machine, state, ref, node)
        order.stepped(machine, state, ref, node)
    elif not isinstance(closure, Function):
        order.handed_out(machine, state, (ref,))
    stepped(machine, state, ref, frozenset(param.id for param in _params(state, ref)), node)
    machine.announce(state, Stepped(node, ref, _params(state, ref)))
    for param in _params(state, ref):
        record = state.heap.get(param.id)
        if not isinstance(record, Tensor) or record.grad is False:
            continue
        certain = isinstance(record.accumulated, Ref)
        absent = not certain and is_absent(state, param, record.accumulated)
        if not absent:
            bump(machine, state, param, Write(node, "optimizer.step", certain))
    return result


def _judge_closure(machine: Machine, state: State, ref: Ref, closure: Value, result: Value, node: cst.CSTNode) -> None:
    """A closure gives a loss back through which nothing has been backpropagated: the step finds no new gradients."""
    function = closure.function if isinstance(closure, Bound) else closure
    loss, known = known_tensor(machine, state, result), order.order_of(state, ref.id)
    if not isinstance(function, Function) or loss is None or known is None or known.filled is not None:
        return
    root = tensor_at(state, loss).node
    if root.leaf is None and root.tracked is True and root.id not in state.freed and root.id not in state.spent:
        related = ((function.code.node, "this closure runs no backward"),)
        faults.noticed(machine, "closure-missing", node, "", related)


def _judge_scaled(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """A step on the gradients of a scaled loss that no scaler has unscaled."""
    known = order.order_of(state, ref.id)
    if known is not None and known.filled is not None and known.scaled is True:
        related = ((known.filled, "this is the backward of a scaled loss"),)
        subject = "it uses gradients that are still scaled: call `scaler.step(optimizer)`"
        faults.noticed(machine, "amp-order", node, subject, related)


def _wants_closure(state: State, ref: Ref) -> bool:
    """Whether a step cannot do without a closure; an optimizer of the program's own may have a step of its own."""
    record = state[ref]
    return isinstance(record, Instance) and record.cls == External("torch.optim.LBFGS")


def _evaluations(state: State, ref: Ref) -> int:
    """How often a step calls its closure: LBFGS does so again and again, unless told otherwise."""
    record = state[ref]
    assert isinstance(record, Instance)
    several = isinstance(record.cls, External) and record.cls.path.endswith(".LBFGS")
    return 2 if several and "max_iter" not in record.config else 1


def _zero_grad(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    order.zeroed(machine, state, _params(state, ref), node)
    for param in _params(state, ref):
        clear_gradient(machine, state, param, args, node)
    return None


def clear_gradient(machine: Machine, state: State, param: Ref, args: Args, node: cst.CSTNode) -> None:
    """zero_grad(set_to_none=True): gradients are dropped, or set to zero in place."""
    record = state.heap.get(param.id)
    if not isinstance(record, Tensor):
        return
    drop = args.get(0, "set_to_none", True)
    if drop is True:
        machine.announce(state, GradientReleased(node, record.accumulated))
        state.put(param.id, record._replace(accumulated=NoGradient(record.syntax, fresh_address())))
    elif is_absent(state, param, record.accumulated):
        return
    elif drop is False:
        if isinstance(record.accumulated, Ref):
            bump(machine, state, record.accumulated, Write(node, "zero_grad"))
    else:
        state.put(param.id, record._replace(accumulated=Unknown("gradient")))


def _add_group(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    group = args.get(0, "param_group")
    more, more_open = _collect(machine, state, (group,), node)
    record = state[ref]
    assert isinstance(record, Instance)
    _admit(machine, state, more, node)
    held = set(_params(state, ref))
    subject = "all" if all(one in held for one in more) and not more_open else ""
    _tell_shared(machine, state, (one for one in more if one in held), node, subject)
    attrs = {**record.attrs, "<params>": (*_params(state, ref), *more)}
    attrs["<open>"] = record.attrs.get("<open>", True) or more_open
    state.put(ref.id, record._replace(attrs=attrs))
    return None


def _nothing(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    return machine.unknown()


OPTIMIZER_METHODS: dict[str, Method] = {
    "step": _step,
    "zero_grad": _zero_grad,
    "add_param_group": _add_group,
    "state_dict": _nothing,
    "load_state_dict": _nothing,
}
